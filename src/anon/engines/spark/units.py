# SPDX-License-Identifier: Apache-2.0
"""Cuts of a node where units are counted, from histograms of each unit's least and greatest code.

All rows of a unit lie in one task, so that the counts of tasks add up. Units on the left of a boundary are
those whose least code lies below it, on the right those whose greatest does not; the parts of a many-way cut
count each unit once in each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from anon.encoding import Domain
from anon.engines.spark.frames import Ints, Sums, summed
from anon.engines.spark.histograms import Cut
from anon.methods import Mondrian
from anon.schema import lca
from anoncore.requirement import Conjunction, passing_classes

ROWS = 0  # the first of the counts of a node and attribute; three more for units, and for each tracked column
LEAST, GREATEST, PART = 1, 2, 3


class Pairs(NamedTuple):
    """Distinct (unit, tracked code) of a node, how often by a code of the attribute, ascending.

    Keys are `code * n + tracked`, with the least code of the pair, the greatest, and the number of the part
    of a many-way cut, one for each part that the pair has rows in.
    """

    least: tuple[Ints, Ints]
    greatest: tuple[Ints, Ints]
    part: tuple[Ints, Ints]


@dataclass(frozen=True)
class UnitHistogram:
    """The rows of a node by the codes of one attribute, its units, and its units by tracked codes.

    `parts` are the codes at which the parts of a many-way cut begin, null's last; none without a tree.
    """

    values: Ints
    below: Ints
    units: Pairs
    tracked: tuple[Pairs, ...]
    parts: Ints
    has_null: bool


def parts_of(domain: Domain, low: int, last: int, has_null: bool) -> Ints:
    """Where the children of the lowest ancestor of codes low..last begin, and null; none without a tree."""
    if domain.tree is None:
        return np.empty(0, np.int64)
    tree = domain.tree
    node = int(lca(tree, [low], [last])[0]) if low <= last < domain.n_values else -1
    children = np.flatnonzero(tree.parent == node) if node >= 0 else np.empty(0, np.int64)
    starts = tree.first[children] if len(children) else np.array([low] if node >= 0 else [], np.int64)
    return np.sort(np.append(starts, [domain.n_values] if has_null else [])).astype(np.int64)


@dataclass
class UnitSums:
    """What one task counts of a node and attribute: rows of every unit, put together at the end."""

    parts: Ints
    n_codes: int
    n_tracked: Sequence[int]
    rows: list[tuple[Ints, Ints]] = field(default_factory=list)
    ends: dict[int, list[npt.NDArray[np.int64]]] = field(default_factory=dict)
    inside: dict[int, list[npt.NDArray[np.int64]]] = field(default_factory=dict)

    def add(self, units: Ints, codes: Ints, tracked: Sequence[Ints]) -> None:
        """Rows of these units, with these codes of the attribute and of the tracked columns."""
        self.rows.append(np.unique(codes, return_counts=True))
        for j, seen in enumerate([np.zeros_like(codes), *tracked]):
            self.ends.setdefault(j, []).append(_ends(units, seen, codes, codes))
            if len(self.parts):
                part = np.searchsorted(self.parts, codes, side="right") - 1
                self.inside.setdefault(j, []).append(_distinct(units, seen, part))

    def into(self, sums: Sums, node: int, attribute: int) -> None:
        """Add up, under numbers that `read_histogram` knows."""
        codes, counts = summed(self.rows)
        sums.add_counted((node, attribute, ROWS), codes, counts)
        for j, n in enumerate([1, *self.n_tracked]):
            _, seen, least, greatest = _ends(*np.concatenate(self.ends[j], axis=1))
            sums.add((node, attribute, 3 * j + LEAST), least * n + seen, self.n_codes * n)
            sums.add((node, attribute, 3 * j + GREATEST), greatest * n + seen, self.n_codes * n)
            if j in self.inside:
                _, seen, part = _distinct(*np.concatenate(self.inside[j], axis=1))
                sums.add((node, attribute, 3 * j + PART), part * n + seen, len(self.parts) * n)


def _ends(units: Ints, seen: Ints, least: Ints, greatest: Ints) -> npt.NDArray[np.int64]:
    """Each unit and tracked code once, with the least and the greatest code of the attribute."""
    order = np.lexsort((seen, units))
    units, seen, least, greatest = (each[order] for each in (units, seen, least, greatest))
    new = np.ones(len(units), np.bool_)
    new[1:] = (units[1:] != units[:-1]) | (seen[1:] != seen[:-1])
    starts = np.flatnonzero(new)
    return np.stack(
        [units[new], seen[new], np.minimum.reduceat(least, starts), np.maximum.reduceat(greatest, starts)]
    )


def _distinct(units: Ints, seen: Ints, part: Ints) -> npt.NDArray[np.int64]:
    """Each unit, tracked code and part once."""
    order = np.lexsort((part, seen, units))
    rows = np.stack([units, seen, part])[:, order]
    new = np.ones(len(order), np.bool_)
    new[1:] = (rows[:, 1:] != rows[:, :-1]).any(axis=0)
    return rows[:, new]


def read_histogram(
    table: pa.Table, attribute: int, n_tracked: int, parts: Ints, null_code: int
) -> UnitHistogram:
    """One attribute's histogram from the `Sums` that the tasks counted of a node."""
    chosen = table.filter(pa.array(table["attribute"].to_numpy() == attribute))
    found: dict[int, list[tuple[Ints, Ints]]] = {}
    for kind, keys, counts in zip(chosen["tracked"], chosen["keys"], chosen["counts"], strict=True):
        pair = (np.frombuffer(keys.as_buffer(), np.int64), np.frombuffer(counts.as_buffer(), np.int64))
        found.setdefault(kind.as_py(), []).append(pair)
    none = [(np.empty(0, np.int64), np.empty(0, np.int64))]
    values, rows = summed(found[ROWS])
    pairs = [
        Pairs(*(summed(found.get(3 * j + kind, none)) for kind in (LEAST, GREATEST, PART)))
        for j in range(n_tracked + 1)
    ]
    below = np.concatenate([[0], np.cumsum(rows)])
    has_null = bool(values[-1] == null_code)
    return UnitHistogram(values, below, pairs[0], tuple(pairs[1:]), parts, has_null)


def cut_by_units(
    histogram: UnitHistogram,
    attribute: int,
    method: Mondrian,
    rules: Conjunction,
    n_tracked: Sequence[int],
) -> Cut | None:
    """The allowed cut of a node by one attribute, if it has one: that of the kernel (strict cuts)."""
    node = _Node(histogram, attribute, rules, n_tracked)
    if not len(histogram.parts):
        for at in _in_turn(histogram.below) if method.cuts == "nearest" else _about_median(histogram.below):
            if node.passes([0, at, len(histogram.values)]):
                return node.cut([0, at])
        return None
    starts = np.unique(np.searchsorted(histogram.values, histogram.parts))
    starts = starts[starts < len(histogram.values)].tolist()  # of the parts that have rows, null's the last
    if method.cuts == "nearest":
        plain = starts[1:-1] if histogram.has_null else starts[1:]
        ends = {*plain[:1], *plain[-1:], *(starts[-1:] if histogram.has_null else [])}
        middle = int(histogram.below[-1])
        for at in sorted(ends, key=lambda at: (abs(2 * int(histogram.below[at]) - middle), at)):
            if node.passes([0, at, len(histogram.values)]):
                return node.cut([0, at])
        if len(ends) == 1:
            return None
    if len(starts) > 1 and node.children_pass(starts):
        return node.cut(starts)
    return None


def _in_turn(below: Ints) -> Iterator[int]:
    """Boundaries from the one nearest to the middle outwards, the lower one first in a tie."""
    distance = np.abs(2 * below[1:-1] - below[-1])
    yield from (1 + np.argsort(distance, kind="stable")).tolist()


def _about_median(below: Ints) -> Iterator[int]:
    """Behind the median, else before it."""
    middle = int(np.searchsorted(below, (int(below[-1]) + 1) // 2 - 1, side="right")) - 1
    yield from (at for at in (middle + 1, middle) if 0 < at < len(below) - 1)


@dataclass(frozen=True)
class _Node:
    histogram: UnitHistogram
    attribute: int
    rules: Conjunction
    n_tracked: Sequence[int]

    def cut(self, starts: Sequence[int]) -> Cut:
        """The cut into parts that begin at these of the values."""
        below = self.histogram.below[[*starts, len(self.histogram.values)]]
        codes = self.histogram.values[list(starts)]
        return Cut(self.attribute, tuple(codes.tolist()), tuple(np.diff(below).tolist()))

    def passes(self, bounds: Sequence[int]) -> bool:
        """Do both sides of a boundary pass?"""
        sizes = np.diff(self.histogram.below[list(bounds)])
        if (sizes < self.rules.min_size).any():
            return False
        code = int(self.histogram.values[bounds[1]])
        units = _sides(self.histogram.units, code, 1).sum(axis=1)
        if (units < self.rules.min_units).any():
            return False
        counts = [
            _sides(pairs, code, n) for pairs, n in zip(self.histogram.tracked, self.n_tracked, strict=True)
        ]
        return self._allowed(sizes, units, counts)

    def children_pass(self, starts: Sequence[int]) -> bool:
        """Do all parts of the many-way cut pass?"""
        histogram = self.histogram
        sizes = np.diff(histogram.below[[*starts, len(histogram.values)]])
        if (sizes < self.rules.min_size).any():
            return False
        part = np.searchsorted(histogram.parts, histogram.values[list(starts)], side="right") - 1
        dense = []
        for pairs, n in zip((histogram.units, *histogram.tracked), [1, *self.n_tracked], strict=True):
            keys, counts = pairs.part
            of_part = np.zeros((len(histogram.parts), n), np.int64)
            of_part[keys // n, keys % n] = counts
            dense.append(of_part[part])
        return self._allowed(sizes, dense[0].sum(axis=1), dense[1:])

    def _allowed(self, sizes: Ints, units: Ints, counts: Sequence[Ints]) -> bool:
        """Do parts of these sizes and units pass, with these counts of tracked codes?"""
        offsets, values, present = [], [], []
        for one in counts:
            part, code = np.nonzero(one)
            offsets.append(np.searchsorted(part, np.arange(len(sizes) + 1)))
            values.append(code)
            present.append(one[part, code])
        tested = slice(self.rules.n_sensitive)
        passes = passing_classes(self.rules, sizes, offsets[tested], values[tested], present[tested], units)
        return bool(passes.all())


def _sides(pairs: Pairs, code: int, n: int) -> Ints:
    """Counts of the n tracked codes among the units on the left of `code`, and on the right."""
    sides = np.zeros((2, n), np.int64)
    for side, (keys, counts) in enumerate((pairs.least, pairs.greatest)):
        at = int(np.searchsorted(keys, code * n))
        some = slice(0, at) if side == 0 else slice(at, None)
        np.add.at(sides[side], keys[some] % n, counts[some])
    return sides


def units_with(units: Ints, tracked: Sequence[Ints]) -> tuple[int, list[Ints]]:
    """How many units some rows belong to, and of each tracked column the code of every distinct pair."""
    none = np.zeros_like(units)
    return len(np.unique(units)), [_distinct(units, seen, none)[1] for seen in tracked]
