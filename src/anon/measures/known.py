# SPDX-License-Identifier: Apache-2.0
"""What neutral columns, which are published as they are, add to what an attacker knows.

Counts are of all rows, and exact. A sample chooses which columns are looked at one by one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from anon.classes import Cells, Classes
from anon.encoding import Codes, Encoded, equal_codes
from anon.measures.risk import Risk, prosecutor_risk
from anon.threads import in_threads
from anoncore.classes import few_candidates, group, split

Rows = npt.NDArray[np.uint32]
Ints = npt.NDArray[np.int64]
Ends = tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]

MOST_SAMPLED = 10_000  # rows, in whole classes
LEAST_EXPECTED = 10  # disagreements that chance would bring, for none to say that a column tells another
MOST_DISAGREEING = 0.01  # of those that chance would bring
LEAST_FEW = 0.01  # share of rows with fewer than k candidates
MOST_ALIKE = 0.01  # of pairs of rows of a class, that the columns by which it is first parted leave alike
FEW_CODES = 1 << 12  # of a column that is looked at beside another one, each with each
MOST_CODES = 1 << 30  # of one that only tells rows apart
FEW = 1 / 64  # of all rows: they are parted by all columns that are left at once
SHIFT = np.uint64(32)


@dataclass(frozen=True)
class Telling:
    """A neutral column that tells of others: quasi-identifiers that it narrows, sensitive ones it copies.

    Whoever knows such a quasi-identifier of a person, and which values of the column go with it, is left with
    fewer than k rows of the class for `n_narrowed` people (the most over quasi-identifiers). For `n_copied`
    rows the column tells the sensitive value, or the sensitive value the column.
    """

    narrows: tuple[str, ...]
    copies: tuple[str, ...]
    n_narrowed: int
    n_copied: int


@dataclass(frozen=True, kw_only=True)
class Known:
    """Classes as they are to who knows the neutral columns too: k, rows that are unique, prosecutor's risk.

    `columns` tell of others; `not_counted` are columns of a type whose values cannot be compared.
    """

    k: int
    sample_uniques: int
    prosecutor: Risk
    columns: Mapping[str, Telling]
    not_counted: tuple[str, ...] = ()


def known(
    encoded: Encoded,
    classes: Classes,
    names: Sequence[str],
    *,
    intact: bool = False,
    at_risk: Sequence[float] = (2, 5, 10),
    k: int | None = None,
    cells: Sequence[Cells] = (),
    n_threads: int = 1,
) -> Known:
    """What the neutral columns `names` of a table add to its `classes`.

    `k` is what the classes are to have, by default what they have; `intact` says that the quasi-identifiers
    are published as they are, so that nothing narrows them. `cells`, where given, are what each class shows.
    """
    sizes = classes.sizes
    if not len(sizes):
        return Known(k=0, sample_uniques=0, prosecutor=prosecutor_risk(sizes, sizes, at_risk), columns={})
    k = int(sizes.min()) if k is None else k
    sample = _sampled(encoded, classes)
    drawn = in_threads(n_threads, lambda name: sample.codes_of(encoded.column(name), name), names)
    seen = {name: codes for name, codes in zip(names, drawn, strict=True) if codes is not None}
    all_pairs = in_threads(
        n_threads, lambda codes: _tells(encoded, sample, codes, k, intact), list(seen.values())
    )
    pairs = {name: pair for name, pair in zip(seen, all_pairs, strict=True) if any(pair)}
    rounds = _rounds(sample, seen, pairs)
    whole = _whole(encoded, list(pairs), {}, n_threads, FEW_CODES)
    ends = {one.domain.name: _ends_of(one) for one in cells}
    columns = {}
    for name, (narrows, copies) in pairs.items():
        telling = _telling(encoded, classes, whole[name], narrows, copies, k, ends, n_threads)
        if telling.n_narrowed or telling.n_copied:
            columns[name] = telling
    size, count = _grouped(encoded, classes, rounds, whole, n_threads)
    return Known(
        k=int(size.min()),
        sample_uniques=int(count[size == 1].sum()),
        prosecutor=prosecutor_risk(size * count, size, at_risk),
        columns=columns,
        not_counted=tuple(name for name in names if name not in seen),
    )


@dataclass(frozen=True)
class _Sample:
    """Rows of whole classes, evenly spread over the classes, and the offsets of these.

    `order` sorts the rows. `quasi` and `sensitive` are the codes of the rows; `varies` tells for each
    quasi-identifier whether a class has several values.
    """

    rows: Rows
    offsets: Ints
    order: Ints
    quasi: tuple[Codes, ...]
    sensitive: tuple[Codes, ...]
    varies: tuple[bool, ...]

    def codes_of(self, column: pa.ChunkedArray, name: str) -> Codes | None:
        """Codes of the rows in another column, equal where its values are; None if none can be."""
        codes = equal_codes(_taken(column, self.rows[self.order]), name, FEW_CODES)
        if codes is None:
            return None
        placed = np.empty_like(codes)
        placed[self.order] = codes
        return placed

    def alike(self, codes: Codes) -> float:
        """The share of the pairs of rows of one class that have one code."""
        sizes = np.diff(self.offsets)
        number = np.repeat(np.arange(len(sizes), dtype=np.uint32), sizes)
        _, count = _pairs(number, codes)
        return float(np.sum(count * (count - 1))) / max(float(np.sum(sizes * (sizes - 1))), 1.0)


def _sampled(encoded: Encoded, classes: Classes) -> _Sample:
    n_classes = classes.n_classes
    step = max(1, -(-len(classes.rows) // MOST_SAMPLED))
    chosen = np.arange(0, n_classes, min(step, n_classes))
    starts, ends = classes.offsets[chosen], classes.offsets[chosen + 1]
    ends = np.minimum(ends, starts + MOST_SAMPLED)
    # in an order that is the same for every release of these classes
    rows = np.concatenate([np.sort(classes.rows[a:b]) for a, b in zip(starts, ends, strict=True)])
    offsets = np.concatenate([[0], np.cumsum(ends - starts)]).astype(np.int64)
    quasi = tuple(codes[rows] for codes in encoded.quasi_codes)
    return _Sample(
        rows,
        offsets,
        np.argsort(rows),
        quasi,
        tuple(codes[rows] for codes in encoded.sensitive_codes),
        tuple(_varies(offsets, codes) for codes in quasi),
    )


def _taken(column: pa.ChunkedArray, rows: Rows) -> pa.ChunkedArray:
    """Some rows, which ascend, of a column, chunk by chunk."""
    ends = np.cumsum([len(chunk) for chunk in column.chunks], dtype=np.int64)
    cuts = [0, *np.searchsorted(rows, ends)]
    taken = [
        chunk.take(pa.array(rows[a:b] - np.uint32(end - len(chunk))))
        for chunk, end, a, b in zip(column.chunks, ends, cuts, cuts[1:], strict=False)
    ]
    return pa.chunked_array(taken, column.type)


def _rounds(sample: _Sample, seen: Mapping[str, Codes], whole: Collection[str]) -> list[list[str]]:
    """The columns in the order in which rows are told apart, those first that leave few of a class alike.

    Columns of a round are taken together: in the first those that it takes to leave few; in the second those
    of which all codes are known anyhow.
    """
    alike = {name: sample.alike(codes) for name, codes in seen.items()}
    order = sorted(seen, key=lambda name: alike[name])
    first: list[str] = []
    left = 1.0
    while len(first) < len(order) and left > MOST_ALIKE:
        left *= alike[order[len(first)]]
        first.append(order[len(first)])
    second = [name for name in order if name in whole and name not in first]
    later = [[name] for name in order if name not in first and name not in whole]
    return [names for names in (first, second, *later) if names]


def _whole(
    encoded: Encoded,
    names: Sequence[str],
    known: Mapping[str, Codes],
    n_threads: int,
    most_codes: int = MOST_CODES,
) -> dict[str, Codes]:
    """Codes of every row in these columns, of which some may be known already; `most_codes` of numbers."""

    def coded(name: str) -> Codes:
        codes = equal_codes(encoded.column(name), name, most_codes)
        assert codes is not None
        return codes

    missing = [name for name in dict.fromkeys(names) if name not in known]
    return {**known, **dict(zip(missing, in_threads(n_threads, coded, missing), strict=True))}


def _grouped(
    encoded: Encoded,
    classes: Classes,
    rounds: Sequence[Sequence[str]],
    whole: Mapping[str, Codes],
    n_threads: int,
) -> tuple[Ints, Ints]:
    """The sizes of groups of rows alike in class and columns, ascending, and how many groups have each.

    Rows that are alone stay so whatever else is known, and are left out as soon as they are.
    """
    n_alone, rows, offsets = 0, classes.rows, classes.offsets
    waiting = list(rounds)
    while waiting and len(rows):
        names = waiting.pop(0)
        if len(rows) < FEW * encoded.n_rows:
            names, waiting = [*names, *(name for some in waiting for name in some)], []
        if 2 * len(rows) > encoded.n_rows or all(name in whole for name in names):
            known = _whole(encoded, names, whole, n_threads)
            columns = [known[name] for name in names]
            alone, rows, offsets = split(columns, rows, offsets, n_threads)
        else:
            ordered = np.sort(rows)
            place = np.empty(encoded.n_rows, np.uint32)
            place[ordered] = np.arange(len(ordered), dtype=np.uint32)
            columns = _taken_codes(encoded, names, ordered, whole, n_threads)
            alone, left, offsets = split(columns, place[rows], offsets, n_threads)
            rows = ordered[left]
        n_alone += alone
    size, count = np.unique(np.diff(offsets), return_counts=True)
    if n_alone:
        ones = size == 1
        n_alone += int(count[ones].sum())
        size, count = np.append(1, size[~ones]), np.append(n_alone, count[~ones])
    return size.astype(np.int64), count.astype(np.int64)


def _taken_codes(
    encoded: Encoded, names: Sequence[str], rows: Rows, whole: Mapping[str, Codes], n_threads: int
) -> list[Codes]:
    """Codes of some rows, which ascend, in these columns."""

    def coded(name: str) -> Codes:
        if name in whole:
            return whole[name][rows]
        codes = equal_codes(_taken(encoded.column(name), rows), name, MOST_CODES)
        assert codes is not None
        return codes

    return in_threads(n_threads, coded, names)


def _tells(
    encoded: Encoded, sample: _Sample, codes: Codes, k: int, intact: bool
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Of which quasi-identifiers a column narrows the cells, which sensitive ones it copies, by a sample."""
    narrows: tuple[str, ...] = ()
    if not intact:
        shuffled = np.random.default_rng(0).permutation(codes)
        narrows = tuple(
            domain.name
            for domain, quasi, varies in zip(encoded.quasi, sample.quasi, sample.varies, strict=True)
            if varies and (_is_function(quasi, codes) or _leaves_few(sample, quasi, codes, shuffled, k))
        )
    copies = tuple(
        domain.name
        for domain, sensitive in zip(encoded.sensitive, sample.sensitive, strict=True)
        if _is_function(sensitive, codes) or _is_function(codes, sensitive)
    )
    return narrows, copies


def _varies(offsets: Ints, codes: Codes) -> bool:
    """Has a class several values?"""
    return bool(np.any(np.minimum.reduceat(codes, offsets[:-1]) != np.maximum.reduceat(codes, offsets[:-1])))


def _is_function(of: Codes, codes: Codes) -> bool:
    """Does one column tell the other, where chance would have brought disagreements?"""
    pair, count = _pairs(of, codes)
    of_pair = pair >> SHIFT
    starts = np.flatnonzero(np.diff(of_pair, prepend=of_pair[:1] + np.uint64(1)))
    n, most = len(codes), np.maximum.reduceat(count, starts)
    share = np.bincount(codes) / n
    expected = (n - len(starts)) * (1 - float(np.sum(share * share)))
    return expected >= LEAST_EXPECTED and n - int(most.sum()) <= MOST_DISAGREEING * expected


def _leaves_few(sample: _Sample, quasi: Codes, codes: Codes, shuffled: Codes, k: int) -> bool:
    """Have clearly more people than by chance, as a shuffled column tells it, fewer than k candidates?"""
    rows = np.arange(len(codes), dtype=np.uint32)
    few, by_chance = (few_candidates(quasi, each, rows, sample.offsets, k) for each in (codes, shuffled))
    return few >= LEAST_FEW * len(codes) and few >= 2 * by_chance


def _pairs(first: Codes, second: Codes) -> tuple[npt.NDArray[np.uint64], Ints]:
    """The distinct pairs of two columns, the first in the high 32 bits, ascending; how often each occurs."""
    return np.unique(first.astype(np.uint64) << SHIFT | second.astype(np.uint64), return_counts=True)


def _telling(
    encoded: Encoded,
    classes: Classes,
    codes: Codes,
    narrows: tuple[str, ...],
    copies: tuple[str, ...],
    k: int,
    ends: Mapping[str, Ends],
    n_threads: int,
) -> Telling:
    """Exact counts for a column, of which the sample says what it tells of; `ends` as `_ends_of` cells."""
    n_narrowed = n_copied = 0
    for domain, quasi in zip(encoded.quasi, encoded.quasi_codes, strict=True):
        if domain.name in narrows:
            inside = ends.get(domain.name)
            few = few_candidates(quasi, codes, classes.rows, classes.offsets, k, inside, n_threads)
            n_narrowed = max(n_narrowed, few)
    rows = np.sort(classes.rows) if copies else classes.rows
    for domain, sensitive in zip(encoded.sensitive, encoded.sensitive_codes, strict=True):
        if domain.name in copies:
            n_copied = max(
                n_copied,
                *(_n_told(of, by, rows, n_threads) for of, by in ((sensitive, codes), (codes, sensitive))),
            )
    return Telling(narrows, copies, n_narrowed, n_copied)


def _ends_of(cells: Cells) -> Ends:
    """Of each class the least code of its cell, and the greatest, null being beyond all."""
    null = np.uint32(cells.domain.n_values)
    low = np.where(cells.low > cells.high, null, cells.low)
    high = np.where(cells.null, null, cells.high)
    return low[cells.of_class], high[cells.of_class]


def _n_told(of: Codes, by: Codes, rows: Rows, n_threads: int) -> int:
    """Rows whose value of one column is the most frequent that goes with their value of the other."""
    members, offsets = group([by, of], rows, n_threads)
    value = by[members[offsets[:-1]]]
    starts = np.flatnonzero(np.diff(value.astype(np.int64), prepend=-1))
    return int(np.maximum.reduceat(np.diff(offsets), starts).sum())
