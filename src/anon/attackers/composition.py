# SPDX-License-Identifier: Apache-2.0
"""Two releases of overlapping people: who is left as a candidate for whom (Ganta et al. 2008)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from anon.classes import group, group_numbers, rows_inside, take
from anon.encoding import Codes, Encoded, encode
from anon.errors import DataError, UsageError
from anon.html import Table, result_html, sentence
from anon.release import bucket_ids, is_bucketized, metadata_of, refuse_sensitive_half
from anon.schema import Schema, check_schema
from anon.tables import Source, as_written, read_source
from anon.threads import available_threads
from anon.verbs import coded_as_released, generalized, intact_codes
from anoncore.classes import count_common

if TYPE_CHECKING:
    from anon.tables import Scan

Family = tuple[npt.NDArray[np.int64], npt.NDArray[np.uint32]]
MOST_INSIDE = 1 << 28  # people inside classes, each counted in each of its classes: 1 GB
AT_RISK = (2, 5, 10, 20)


@dataclass(frozen=True, repr=False)
class Composition:
    """How few rows of the original can be a person's, for whoever has two releases.

    `candidates` (int64, one per row of the original) counts the rows that lie inside some class of the first
    release and some class of the second whose cells hold the person; 0 for a row that one of the releases has
    no class for. `alone` are the least numbers by the first and by the second release, of the same people.
    """

    candidates: npt.NDArray[np.int64]
    alone: tuple[int, int]

    @property
    def n_persons(self) -> int:
        """Rows of the original that both releases have a class for."""
        return int(np.count_nonzero(self.candidates))

    @property
    def k(self) -> int:
        """The least number of candidates; 0 where the releases have nobody in common."""
        return int(self.candidates[self.candidates > 0].min()) if self.n_persons else 0

    def below(self, k: int) -> int:
        """Persons with fewer than k candidates."""
        if isinstance(k, bool) or not isinstance(k, int) or k < 1:
            raise UsageError("k must be a whole number of at least 1")
        return int(np.count_nonzero((self.candidates > 0) & (self.candidates < k)))

    def words(self, k: int | None = None) -> list[str]:
        """What this says, and what it does not; `k` is what each release was asked for."""
        if not self.n_persons:
            return ["the two releases have nobody in common, by their cells: neither narrows the other"]
        asked = self.alone if k is None else (k, k)
        n = self.below(min(asked))
        return [
            f"with both releases the person with the fewest candidates has {self.k:,} (with the first alone "
            f"{self.alone[0]:,}, with the second {self.alone[1]:,}); {n:,} of {self.n_persons:,} people "
            f"({n / self.n_persons:.1%}) have fewer than {min(asked):,}",
            "this counts rows that can be a person's, and does not say what is told of them: candidates who "
            "share a sensitive value tell it, and values that only one of the two releases shows leave fewer",
        ]

    def to_dict(self) -> dict[str, Any]:
        """The numbers, ready for JSON."""
        return {
            "k": self.k,
            "k_first": self.alone[0],
            "k_second": self.alone[1],
            "n_rows": len(self.candidates),
            "n_persons": self.n_persons,
            "below": {str(k): self.below(k) for k in AT_RISK},
        }

    def _repr_html_(self) -> str:
        rows = [("people in both", self.n_persons), ("least number of candidates", self.k)]
        rows += [(f"people with fewer than {k}", self.below(k)) for k in AT_RISK]
        return result_html(
            "\n".join(map(sentence, self.words())), Table("Two releases", ("what", "value"), tuple(rows))
        )

    def __repr__(self) -> str:
        return f"Composition(k={self.k}, n_persons={self.n_persons}, alone={self.alone})"


def composition(
    first: Any, second: Any, original: Any, schema: Schema, *, n_threads: int | None = None
) -> Composition:
    """Count who is left as a candidate for each person once two releases are laid side by side.

    A candidate of a person is a row of the original that lies inside some class of the first release and some
    class of the second whose cells hold the person. Releases are generalizations or bucketizations, of any
    tool, as for `compare`; in a bucketization the classes are its buckets, which hold people by their intact
    quasi-identifiers: then candidates are those whose sensitive values can be the person's.

    Parameters
    ----------
    first, second : as for `compare`
    original : as for `anonymize`
        The owner's table, with everybody who is in either; released rows have no identity.
    schema : Schema
        The roles, with the hierarchies and orders of the releases' cells.
    n_threads : int, optional
        Default: the processors this process may use. The answer does not depend on it.

    Raises
    ------
    DataError
        A cell cannot be read, or the original lacks a value that is shown; names column and row.
    UsageError
        A release shows no cells, or its cells overlap so much that candidates cannot be listed.
    """
    threads = available_threads(n_threads)
    check_schema(schema)
    people = read_source(original)
    labels = [each.name for each in schema.quasi if each.kind in ("nominal", "ordinal")]
    people = as_written(people, [name for name in labels if name in people.table.column_names])
    sources = [read_source(each) for each in (first, second)]
    sides = []
    for which, source in zip(("first", "second"), sources, strict=True):
        refuse_sensitive_half(source, schema)
        try:
            sides.append(_encoded(people.table, schema, source, threads))
        except DataError as error:
            raise _told_of(which, error) from None
    points = group([codes for each in sides for codes in each.quasi_codes], n_threads=threads)
    rows = points.rows[points.offsets[:-1]]
    families = []
    for which, source, encoded in zip(("first", "second"), sources, sides, strict=True):
        try:
            families.append(_sets_of(which, encoded, rows, source, schema, threads))
        except DataError as error:
            raise _told_of(which, error) from None
    counts, alone = _candidates(families, points.sizes, threads)
    of_row = group_numbers(points.rows, points.offsets)
    candidates = counts[of_row]
    candidates.flags.writeable = False
    return Composition(candidates, alone)


def _told_of(which: str, error: DataError) -> DataError:
    said = f"the {which} release: {error}"
    return DataError(said, column=error.column, row=error.row, count=error.count, value=error.value)


def _encoded(table: pa.Table | Scan, schema: Schema, source: Source, n_threads: int) -> Encoded:
    """The quasi-identifiers of the original, coded as the release says where the schema says nothing."""
    roles = coded_as_released(Schema(schema.quasi), metadata_of(source), table.schema)
    return encode(table, roles, n_threads=n_threads).original


def _sets_of(
    which: str,
    encoded: Encoded,
    rows: npt.NDArray[np.uint32],
    source: Source,
    schema: Schema,
    n_threads: int,
) -> Family:
    """Of each of these rows of the original the classes of a release whose cells hold it, in CSR form."""
    table, metadata = source.table, metadata_of(source)
    points = [codes[rows] for codes in encoded.quasi_codes]
    if is_bucketized(source, metadata, schema):
        [ids] = bucket_ids(table, n_threads).quasi_codes
        return _buckets_of(points, intact_codes(encoded, table, metadata, n_threads), ids, n_threads)
    published, _ = generalized(encoded, table, metadata, n_threads)
    if published.cells is None:
        raise UsageError(f"the {which} release cannot be laid beside another: {published.refusal}")
    inside = rows_inside(published.cells, points, MOST_INSIDE, n_threads)
    if inside is None:
        raise UsageError(
            f"the cells of the {which} release overlap so much that its {published.classes.n_classes:,} "
            f"classes hold more than {MOST_INSIDE:,} people, each counted in all of hers: lay a part of the "
            "original's rows beside the two"
        )
    offsets, members = inside
    of_class = np.repeat(np.arange(len(offsets) - 1, dtype=np.uint32), np.diff(offsets))
    by_row = group([members], n_threads=n_threads).rows if len(members) else np.empty(0, np.uint32)
    return _ends(members, len(rows)), of_class[by_row]


def _buckets_of(points: Sequence[Codes], intact: Sequence[Codes], ids: Codes, n_threads: int) -> Family:
    """Likewise of a bucketization: the buckets with a row of the same quasi-identifiers."""
    n = len(points[0])
    both = [np.concatenate([*pair]).astype(np.uint32) for pair in zip(points, intact, strict=True)]
    equal = group(both, n_threads=n_threads)
    numbers = group_numbers(equal.rows, equal.offsets)
    pairs = group([numbers[n:], ids], n_threads=n_threads)
    first = pairs.rows[pairs.offsets[:-1]]
    return take(_ends(numbers[n:][first], equal.n_classes), ids[first].astype(np.uint32), numbers[:n])


def _ends(numbers: npt.NDArray[np.uint32], n: int) -> npt.NDArray[np.int64]:
    """Offsets of n lists, by how often each number occurs."""
    return np.concatenate([[0], np.cumsum(np.bincount(numbers, minlength=n))]).astype(np.int64)


def _candidates(
    families: Sequence[Family], weights: npt.NDArray[np.int64], n_threads: int
) -> tuple[npt.NDArray[np.int64], tuple[int, int]]:
    """The candidates of each element, and the least number by each family alone.

    Elements that are in one class of either and in the same two are one: so cost goes by pairs of classes.
    """
    n = len(weights)
    single = np.logical_and.reduce([np.diff(offsets) == 1 for offsets, _ in families])
    keys = []
    for offsets, sets in families:
        key = np.arange(n) + int(sets.max(initial=0)) + 1
        key[single] = sets[offsets[:-1][single]]
        keys.append(key.astype(np.uint32))
    alike = group(keys, n_threads=n_threads)
    rows = alike.rows[alike.offsets[:-1]]
    fewer = [take(offsets, sets, rows) for offsets, sets in families]
    pairs = np.add.reduceat(weights[alike.rows], alike.offsets[:-1]) if n else weights
    counts = count_common(fewer[0], fewer[1], pairs, n_threads)
    there = np.flatnonzero(counts).astype(np.uint32)
    first, second = (_least(one, pairs, there, n_threads) for one in fewer)
    return counts[group_numbers(alike.rows, alike.offsets)], (first, second)


def _least(
    family: Family, weights: npt.NDArray[np.int64], elements: npt.NDArray[np.uint32], n_threads: int
) -> int:
    """The least weight of all who share a set with one of these elements, each in some; 0 of no element.

    It is counted where the heaviest set alone does not say that another has less.
    """
    if not len(elements):
        return 0
    heavy = np.bincount(family[1], np.repeat(weights, np.diff(family[0])))  # whole numbers below 2**53
    offsets, sets = take(*family, elements)
    most = np.maximum.reduceat(heavy[sets], offsets[:-1]).astype(np.int64)
    is_one = np.diff(offsets) == 1
    least = int(most[is_one].min(initial=np.iinfo(np.int64).max))
    unsure = elements[~is_one & (most < least)]
    return int(count_common(family, family, weights, n_threads, elements=unsure).min(initial=least))
