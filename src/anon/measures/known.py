# SPDX-License-Identifier: Apache-2.0
"""What neutral columns, which are published as they are, add to what an attacker knows.

Counts are of all rows, and exact. A sample chooses which columns are looked at one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from anon.classes import Classes
from anon.encoding import Codes, Encoded, equal_codes
from anon.measures.risk import Risk, prosecutor_risk
from anoncore.classes import group

Rows = npt.NDArray[np.uint32]
Ints = npt.NDArray[np.int64]

MOST_SAMPLED = 10_000  # rows, in whole classes
LEAST_EXPECTED = 10  # disagreements that chance would bring, for none to say that a column tells another
MOST_DISAGREEING = 0.01  # of those that chance would bring
LEAST_FEW = 0.01  # share of rows with fewer than k candidates
PAIRS_AT_ONCE = 1 << 16  # of a class and a value
MOST_IN_TABLE = 1 << 26  # pairs of values
SHIFT, LOW = np.uint64(32), np.uint64(0xFFFFFFFF)
AT_ONCE = 3  # columns by which rows are grouped together


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
    n_threads: int = 1,
) -> Known:
    """What the neutral columns `names` of a table add to its `classes`.

    `k` is what the classes are to have, by default what they have; `intact` says that the quasi-identifiers
    are published as they are, so that nothing narrows them.
    """
    sizes = classes.sizes
    if not len(sizes):
        return Known(k=0, sample_uniques=0, prosecutor=prosecutor_risk(sizes, sizes, at_risk), columns={})
    k = int(sizes.min()) if k is None else k
    sample, class_of = _sampled(classes)
    seen, not_counted = {}, []
    for name in names:
        codes = equal_codes(_taken(encoded, name, sample), name)
        if codes is None:
            not_counted.append(name)
        else:
            seen[name] = codes
    told = {name: _tells(encoded, sample, class_of, codes, k, intact) for name, codes in seen.items()}
    of_class = np.zeros(encoded.n_rows, np.uint32)
    of_class[classes.rows] = np.repeat(np.arange(len(sizes), dtype=np.uint32), sizes)
    columns = {}
    for name, (narrows, copies) in told.items():
        if narrows or copies:
            telling = _telling(encoded, classes, of_class, name, narrows, copies, k, n_threads)
            if telling.n_narrowed or telling.n_copied:
                columns[name] = telling
    alone, repeated = _grouped(encoded, classes, of_class, _by_cost(seen), n_threads)
    every = np.concatenate([np.ones(alone, np.int64), repeated])
    return Known(
        k=int(every.min()),
        sample_uniques=int(np.count_nonzero(every == 1)),
        prosecutor=prosecutor_risk(every, every, at_risk),
        columns=columns,
        not_counted=tuple(not_counted),
    )


def _taken(encoded: Encoded, name: str, rows: Rows | None) -> pa.ChunkedArray:
    column = encoded.column(name)
    return column if rows is None else column.take(pa.array(rows))


def _sampled(classes: Classes) -> tuple[Rows, Rows]:
    """Rows of whole classes, evenly spread over the classes, and the class of each among those sampled."""
    n_classes = classes.n_classes
    step = max(1, -(-len(classes.rows) // MOST_SAMPLED))
    chosen = np.arange(0, n_classes, min(step, n_classes))
    starts, ends = classes.offsets[chosen], classes.offsets[chosen + 1]
    ends = np.minimum(ends, starts + MOST_SAMPLED)
    rows = np.concatenate([classes.rows[a:b] for a, b in zip(starts, ends, strict=True)])
    return rows, np.repeat(np.arange(len(chosen), dtype=np.uint32), ends - starts)


def _by_cost(seen: Mapping[str, Codes]) -> list[str]:
    """Columns in the order in which they are grouped by: soon those that leave few rows, and cheap ones."""
    n_distinct = {name: int(codes.max(initial=0)) + 1 for name, codes in seen.items()}
    return sorted(n_distinct, key=lambda name: (-min(n_distinct[name], 1000), n_distinct[name]))


def _grouped(
    encoded: Encoded, classes: Classes, of_class: Rows, names: Sequence[str], n_threads: int
) -> tuple[int, Ints]:
    """How many rows are alone with their class and these columns, and the sizes of the groups of others.

    Rows that are alone stay so whatever else is known, and are left out as soon as they are.
    """
    n_alone = int(np.count_nonzero(classes.sizes == 1))
    sizes = classes.sizes[classes.sizes > 1]
    rows, group_of = classes.rows, of_class
    if n_alone:
        rows = rows[np.repeat(classes.sizes > 1, classes.sizes)]
    for start in range(0, len(names), AT_ONCE):
        if not len(rows):
            break
        whole = len(rows) == encoded.n_rows
        columns = []
        for name in names[start : start + AT_ONCE]:
            codes = equal_codes(_taken(encoded, name, None if whole else rows), name)
            assert codes is not None
            if whole:
                columns.append(codes)
            else:
                placed = np.zeros(encoded.n_rows, codes.dtype)
                placed[rows] = codes
                columns.append(placed)
        members, offsets = group([group_of, *columns], np.sort(rows), n_threads)
        sizes = np.diff(offsets)
        several = sizes > 1
        n_alone += int(np.count_nonzero(~several))
        rows = members[np.repeat(several, sizes)]
        sizes = sizes[several]
        group_of = np.zeros(encoded.n_rows, np.uint32)
        group_of[rows] = np.repeat(np.arange(len(sizes), dtype=np.uint32), sizes)
    return n_alone, sizes


def _tells(
    encoded: Encoded, rows: Rows, class_of: Rows, codes: Codes, k: int, intact: bool
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Of which quasi-identifiers a column narrows the cells, which sensitive ones it copies, by a sample."""
    narrows = (
        ()
        if intact
        else tuple(
            domain.name
            for domain, quasi in zip(encoded.quasi, encoded.quasi_codes, strict=True)
            if _varies(class_of, quasi[rows])
            and (_is_function(quasi[rows], codes) or _leaves_few(class_of, quasi[rows], codes, k))
        )
    )
    copies = tuple(
        domain.name
        for domain, sensitive in zip(encoded.sensitive, encoded.sensitive_codes, strict=True)
        if _is_function(sensitive[rows], codes) or _is_function(codes, sensitive[rows])
    )
    return narrows, copies


def _varies(class_of: Rows, codes: Codes) -> bool:
    """Has a class several values?"""
    return len(_pairs(class_of, codes)[0]) > len(np.unique(class_of))


def _is_function(of: Codes, codes: Codes) -> bool:
    """Does one column tell the other, where chance would have brought disagreements?"""
    pair, count = _pairs(of, codes)
    of_pair = pair >> SHIFT
    starts = np.flatnonzero(np.diff(of_pair, prepend=of_pair[:1] + np.uint64(1)))
    n, most = len(codes), np.maximum.reduceat(count, starts)
    share = np.bincount(codes) / n
    expected = (n - len(starts)) * (1 - float(np.sum(share * share)))
    return expected >= LEAST_EXPECTED and n - int(most.sum()) <= MOST_DISAGREEING * expected


def _leaves_few(class_of: Rows, quasi: Codes, codes: Codes, k: int) -> bool:
    """Have clearly more people than by chance, as a shuffled column tells it, fewer than k candidates?"""
    shuffled = np.random.default_rng(0).permutation(codes)
    few, by_chance = (_n_few(class_of, quasi, each, k) for each in (codes, shuffled))
    return few >= LEAST_FEW * len(codes) and few >= 2 * by_chance


def _n_few(class_of: Rows, quasi: Codes, codes: Codes, k: int) -> int:
    """Rows with fewer than k candidates, rows of their class whose value goes with their quasi-identifier.

    Values that are in one row somewhere go together. `class_of` ascends.
    """
    goes = _goes_with(quasi, codes)
    starts = np.flatnonzero(np.diff(class_of.astype(np.int64), prepend=-1))
    sizes = np.diff(starts, append=len(class_of))
    # in a class with one value of the quasi-identifier every row goes with it
    alike = np.minimum.reduceat(quasi, starts) == np.maximum.reduceat(quasi, starts)
    n_few = int(sizes[alike & (sizes < k)].sum())
    mixed = np.repeat(~alike, sizes)
    if not mixed.any():
        return n_few
    class_of, quasi, codes = class_of[mixed], quasi[mixed], codes[mixed]
    left, n_left = _pairs(class_of, quasi)
    right, n_right = _pairs(class_of, codes)
    ends = np.searchsorted(right >> SHIFT, np.arange(int(class_of[-1]) + 2, dtype=np.uint64))
    for start in range(0, len(left), PAIRS_AT_ONCE):
        pairs = left[start : start + PAIRS_AT_ONCE]
        in_class = (pairs >> SHIFT).astype(np.int64)
        lengths = ends[in_class + 1] - ends[in_class]
        firsts = np.cumsum(lengths) - lengths
        at = np.repeat(ends[in_class] - firsts, lengths) + np.arange(lengths.sum())
        fits = goes(np.repeat(pairs & LOW, lengths), right[at] & LOW)
        candidates = np.add.reduceat(n_right[at] * fits, firsts)
        n_few += int(n_left[start : start + PAIRS_AT_ONCE][candidates < k].sum())
    return n_few


def _goes_with(first: Codes, second: Codes) -> Callable[[Any, Any], npt.NDArray[np.bool_]]:
    """Are two values in one row somewhere?"""
    n_first, n_second = int(first.max()) + 1, int(second.max()) + 1
    if n_first * n_second <= MOST_IN_TABLE:
        table = np.zeros((n_first, n_second), np.bool_)
        table[first, second] = True
        return lambda one, other: table[one.astype(np.int64), other.astype(np.int64)]
    known_pairs, _ = _pairs(first, second)

    def occur(one: Any, other: Any) -> npt.NDArray[np.bool_]:
        pairs = one << SHIFT | other
        at = np.minimum(np.searchsorted(known_pairs, pairs), len(known_pairs) - 1)
        same: npt.NDArray[np.bool_] = known_pairs[at] == pairs
        return same

    return occur


def _pairs(first: Codes, second: Codes) -> tuple[npt.NDArray[np.uint64], Ints]:
    """The distinct pairs of two columns, the first in the high 32 bits, ascending; how often each occurs."""
    return np.unique(first.astype(np.uint64) << SHIFT | second.astype(np.uint64), return_counts=True)


def _telling(
    encoded: Encoded,
    classes: Classes,
    of_class: Rows,
    name: str,
    narrows: tuple[str, ...],
    copies: tuple[str, ...],
    k: int,
    n_threads: int,
) -> Telling:
    codes = equal_codes(encoded.column(name), name)
    assert codes is not None
    rows = np.sort(classes.rows)
    n_narrowed = n_copied = 0
    ordered, shown = of_class[classes.rows], codes[classes.rows]
    for domain, quasi in zip(encoded.quasi, encoded.quasi_codes, strict=True):
        if domain.name in narrows:
            n_narrowed = max(n_narrowed, _n_few(ordered, quasi[classes.rows], shown, k))
    for domain, sensitive in zip(encoded.sensitive, encoded.sensitive_codes, strict=True):
        if domain.name in copies:
            n_copied = max(
                n_copied,
                *(_n_told(of, by, rows, n_threads) for of, by in ((sensitive, codes), (codes, sensitive))),
            )
    return Telling(narrows, copies, n_narrowed, n_copied)


def _n_told(of: Codes, by: Codes, rows: Rows, n_threads: int) -> int:
    """Rows whose value of one column is the most frequent that goes with their value of the other."""
    members, offsets = group([by, of], rows, n_threads)
    value = by[members[offsets[:-1]]]
    starts = np.flatnonzero(np.diff(value.astype(np.int64), prepend=-1))
    return int(np.maximum.reduceat(np.diff(offsets), starts).sum())
