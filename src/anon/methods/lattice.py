# SPDX-License-Identifier: Apache-2.0
"""The lattice of full-domain recodings: its nodes judged, and the best of them found.

A node has one level per attribute. It is judged on the distinct combinations of codes, whose classes are
rolled up from those of the nearest finer node that is known. Orders of visiting (Flash: Kohlmayer et al.
2012) do not change what is found: the feasible node of least score, ties by least sum of levels and then
by the levels in schema order.
"""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from anon.classes import group
from anon.encoding import Codes, Domain, Encoded
from anon.methods.people import AtNodes, Floats, levels_of_codes
from anon.methods.quality import Quality
from anon.requirements import KAnonymity, Requirement, compile
from anon.schema import Ladder
from anoncore.lattice import Lattice, roll_up
from anoncore.requirement import passing_classes

SAME = 1e-9  # scores nearer than this are equal
MOST_NODES = 10_000_000
MOST_WAITING = 250_000  # nodes of a larger lattice that are remembered
MOST_KEPT = 1 << 24  # classes of nodes that are kept to roll up from

Node = tuple[int, ...]


@dataclass(frozen=True, repr=False)
class Base:
    """The distinct combinations of quasi-identifier codes, and what is counted of each.

    Combination i has the codes `codes[i]` (uint32, n x m) and `counts[i]` rows (int64); row
    `rows[offsets[i]:offsets[i + 1]]` of the table are its rows. Per sensitive attribute `values[a]` holds the
    combination, code and number of rows of each pair that occurs (int64, sorted). Where units
    count, `n_units` of them, `unit_of_row` has each row's (as `rows`), a code is code * n_units + unit, and
    `pairs` are the combinations and units that occur together.
    """

    codes: npt.NDArray[np.uint32]
    counts: npt.NDArray[np.int64]
    rows: npt.NDArray[np.uint32]
    offsets: npt.NDArray[np.int64]
    values: tuple[tuple[npt.NDArray[np.int64], ...], ...]
    n_codes: tuple[int, ...]
    n_units: int = 0
    unit_of_row: npt.NDArray[Any] | None = None
    pairs: tuple[npt.NDArray[np.int64], ...] = ()

    @property
    def n_rows(self) -> int:
        return int(self.counts.sum())

    def part(self, combinations: npt.NDArray[np.intp]) -> Base:
        """Some of the combinations (ascending), without their row numbers; bags cannot be told from it."""
        new = np.full(len(self.counts), -1, np.int64)
        new[combinations] = np.arange(len(combinations))

        def renumbered(counted: tuple[npt.NDArray[np.int64], ...]) -> tuple[npt.NDArray[np.int64], ...]:
            if not counted:
                return ()
            number = new[counted[0]]
            return number[number >= 0], *(each[number >= 0] for each in counted[1:])

        return replace(
            self,
            codes=self.codes[combinations],
            counts=self.counts[combinations],
            rows=self.rows[:0],
            offsets=self.offsets[:1],
            values=tuple(map(renumbered, self.values)),
            pairs=renumbered(self.pairs),
        )


@dataclass(frozen=True, repr=False)
class Judged:
    """What a node's classes are worth: which are suppressed, their rows, the score; infinite if infeasible.

    `absorbing` is whether the node fails, if it does, by tests that no union of classes fails: then all finer
    nodes fail too.
    """

    n_suppressed: int
    score: float
    feasible: bool
    absorbing: bool


@dataclass(frozen=True, repr=False)
class Found:
    """The best node, and what was seen on the way. `visited` has every judged node; not `optimal` where the
    time was up before all others were ruled out.
    """

    node: Node
    score: float
    n_suppressed: int
    optimal: bool
    visited: dict[Node, Judged]


def base_of(columns: Sequence[Codes], encoded: Encoded, n_threads: int) -> Base:
    """The combinations of codes in these columns, of the rows that are not suppressed."""
    classes = group(columns, encoded.suppressed, n_threads)
    first = classes.rows[classes.offsets[:-1]]
    codes = np.column_stack([column[first].astype(np.uint32) for column in columns])
    values, n_codes = [], []
    of_row = np.repeat(np.arange(classes.n_classes, dtype=np.int64), classes.sizes)
    ones = np.ones(len(of_row), np.int64)
    units = encoded.units
    of_unit = np.empty(0, np.int64) if units is None else units.codes[classes.rows].astype(np.int64)
    for domain, column in zip(encoded.sensitive, encoded.sensitive_codes, strict=True):
        codes_here, n = column[classes.rows].astype(np.int64), domain.n_codes
        if units is not None:
            codes_here, n = codes_here * units.n + of_unit, n * units.n
        n_codes.append(n)
        values.append(_counted(of_row * n + codes_here, ones, n))
    pairs = () if units is None else _counted(of_row * units.n + of_unit, ones, units.n)
    return Base(
        np.ascontiguousarray(codes),
        classes.sizes.astype(np.int64),
        classes.rows,
        classes.offsets,
        tuple(values),
        tuple(n_codes),
        0 if units is None else units.n,
        None if units is None else of_unit,
        pairs,
    )


def _counted(
    keys: npt.NDArray[np.int64], counts: npt.NDArray[np.int64], n_codes: int
) -> tuple[npt.NDArray[np.int64], ...]:
    """Keys class * n_codes + code with their counts, as the class, code and count of each distinct one."""
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    starts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1])) if len(keys) else np.empty(0, np.intp)
    sums = np.add.reduceat(counts[order], starts) if len(keys) else counts
    return keys[starts] // n_codes, keys[starts] % n_codes, sums


@dataclass(frozen=True, repr=False)
class _Table:
    """The classes of a node: of each a combination that stands for it, its rows, its sensitive values."""

    members: npt.NDArray[np.uint32]
    counts: npt.NDArray[np.int64]
    values: tuple[tuple[npt.NDArray[np.int64], ...], ...]
    pairs: tuple[npt.NDArray[np.int64], ...] = ()
    people: tuple[Floats, ...] = ()


@dataclass
class Judge:
    """Judges the nodes of one lattice over one base, from the node `lowest` on, whose labels its codes are.

    `reference` are the counts of the sensitive attributes in the table, where those of the rows that are
    still published do not count. `crowd` counts the people who look like a class, where they count.
    """

    base: Base
    ladders: Sequence[Ladder]
    lowest: Node
    domains: Sequence[Domain]
    sensitive: Sequence[Domain]
    require: Sequence[Requirement]
    most_suppressed: int
    reference: tuple[npt.NDArray[np.int64], ...] | None = None
    crowd: AtNodes | None = None
    quality: Quality = field(init=False)
    _tables: dict[Node, _Table] = field(default_factory=dict)
    _kept: int = 0

    def __post_init__(self) -> None:
        bottom = self.lowest
        # null is a label of its own, and one with the others at the last level
        labels = []
        for ladder, domain in zip(self.ladders, self.domains, strict=True):
            labels.append(levels_of_codes(ladder.height, ladder.of_code, domain.n_codes))
        self.labels = labels
        self.kernel = Lattice(self.base.codes, labels)
        whole = np.arange(len(self.base.counts), dtype=np.uint32)
        people = () if self.crowd is None else self.crowd.people(bottom, whole)
        self._tables[bottom] = _Table(whole, self.base.counts, self.base.values, self.base.pairs, people)
        self._levels = np.array([bottom], np.int64)
        self._sizes = np.array([len(whole)], np.int64)
        self._nodes = [bottom]
        self.k = max((each.least_rows or 1 for each in self.require), default=1)
        totals = [np.ones(domain.n_codes, np.int64) for domain in self.sensitive]
        rules = [rule for each in self.require for rule in each.rules(self.sensitive, totals)]
        self.k_units = max((rule[1] for rule in rules if rule[0] == "units"), default=0)
        self.k_bags = max(
            (each.k for each in self.require if isinstance(each, KAnonymity) and each.count == "unit-bags"),
            default=0,
        )
        self._only_sizes = all(rule[0] in ("size", "units") for rule in rules)
        if self._only_sizes:
            self._tables[bottom] = _Table(whole, self.base.counts, (), self.base.pairs, people)
        # by units a value may be too frequent in two classes together, and in neither alone
        is_sure = self._only_sizes or not self.base.n_units
        self.monotone = is_sure and all(each.monotone for each in self.require)
        self.absorbing = self._only_sizes or (all(each.absorbing for each in self.require) and is_sure)

    def table(self, node: Node) -> _Table:
        """The classes of a node, rolled up from the smallest known table of a finer one."""
        if node in self._tables:
            return self._tables[node]
        known = len(self._nodes)
        finer = np.flatnonzero((self._levels[:known] <= np.array(node)).all(axis=1))
        before = self._tables[self._nodes[int(finer[np.argmin(self._sizes[finer])])]]
        first, counts, number = roll_up(self.kernel, node, before.members, before.counts)
        values = tuple(
            _counted(number[of_class].astype(np.int64) * n_codes + codes, rows, n_codes)
            for (of_class, codes, rows), n_codes in zip(before.values, self.base.n_codes, strict=False)
        )
        pairs: tuple[npt.NDArray[np.int64], ...] = ()
        if before.pairs:
            of_class, units, rows = before.pairs
            n = self.base.n_units
            pairs = _counted(number[of_class].astype(np.int64) * n + units, rows, n)
        people = () if self.crowd is None else self.crowd.people(node, first, number, before.people)
        table = _Table(first, counts, values, pairs, people)
        size = len(first) + sum(len(one[0]) for one in values)
        if self._kept + size <= MOST_KEPT:
            self._kept += size
            self._tables[node] = table
            if len(self._nodes) == len(self._sizes):
                self._levels = np.resize(self._levels, (2 * len(self._sizes), len(node)))
                self._sizes = np.resize(self._sizes, 2 * len(self._sizes))
            self._levels[len(self._nodes)], self._sizes[len(self._nodes)] = node, size
            self._nodes.append(node)
        return table

    def suppressed(self, table: _Table, everything: bool = False) -> tuple[npt.NDArray[np.bool_], bool]:
        """Which classes are suppressed: those that fail against the rows that are still published.

        Also whether all finer nodes fail too. Unless `everything` is asked for, it stops at too many rows.
        """
        out = (table.counts < self.k) | (self._units(table) < self.k_units)
        absorbing: list[Requirement] = []
        others: list[Requirement] = []
        for each in () if self._only_sizes else self.require:
            if each.absorbing and not self.base.n_units:
                absorbing.append(each)
            elif not each.by_levels:
                others.append(each)
        out |= self._short(table, absorbing=True)
        if self._is_beyond(table, out) and not everything:
            return out, True
        if absorbing:
            out = self._failing(table, absorbing, out)
            if self._is_beyond(table, out) and not everything:
                return out, True
        out = out | self._short(table, absorbing=False)
        if self._is_beyond(table, out) and not everything:
            return out, self.most_suppressed == 0 and self.monotone
        while others:
            more = self._failing(table, self.require, out)
            if (more == out).all():
                break
            out = more
            if self._is_beyond(table, out) and not everything:
                return out, self.most_suppressed == 0 and self.monotone
        return out, False

    def _units(self, table: _Table) -> npt.NDArray[np.int64]:
        """The units of every class; none where they do not count."""
        of_class = table.pairs[0] if table.pairs else np.empty(0, np.int64)
        return np.bincount(of_class, minlength=len(table.counts)).astype(np.int64)

    def _short(self, table: _Table, absorbing: bool) -> npt.NDArray[np.bool_]:
        """Which classes too few people, or too many, look like."""
        if self.crowd is None:
            return np.zeros(len(table.counts), np.bool_)
        return self.crowd.short(table.counts, table.people, absorbing)

    def _is_beyond(self, table: _Table, out: npt.NDArray[np.bool_]) -> bool:
        return int(table.counts[out].sum()) > self.most_suppressed

    def classes_of(self, node: Node) -> npt.NDArray[np.uint32]:
        """The class of every combination, in the order of the node's table."""
        whole = np.arange(len(self.base.counts), dtype=np.uint32)
        return roll_up(self.kernel, node, whole, self.base.counts)[2]

    def _failing(
        self, table: _Table, require: Sequence[Requirement], out: npt.NDArray[np.bool_]
    ) -> npt.NDArray[np.bool_]:
        """`out` and the classes that fail against the rows of the others."""
        n = int(table.counts[~out].sum())
        if n == 0:
            return np.ones_like(out)
        offsets, codes, counts, totals = [], [], [], []
        for (of_class, values, rows), n_codes in zip(table.values, self.base.n_codes, strict=True):
            kept = ~out[of_class]
            if self.base.n_units:
                in_table = np.unique(values[kept]) // self.base.n_units
                totals.append(np.bincount(in_table, minlength=n_codes // self.base.n_units).astype(np.int64))
                n_codes //= self.base.n_units
                keys = of_class * n_codes + values // self.base.n_units
                of_class, values, rows = _counted(keys, np.ones(len(keys), np.int64), n_codes)
            else:
                totals.append(np.bincount(values[kept], rows[kept], n_codes).astype(np.int64))
            offsets.append(np.searchsorted(of_class, np.arange(len(table.counts) + 1)).astype(np.int64))
            codes.append(values)
            counts.append(rows)
        if self.reference is not None:
            totals, n = list(self.reference), self.base.n_rows
        asked = compile(require, self.sensitive, totals, n, by_units=self.base.n_units > 0)
        kept_classes = np.flatnonzero(~out)
        passes = passing_classes(
            asked,
            table.counts[kept_classes],
            *_of_classes(kept_classes, offsets, codes, counts),
            self._units(table)[kept_classes] if self.k_units else None,
        )
        out = out.copy()
        out[kept_classes[passes == 0]] = True
        return out

    def rows_of_rare_bags(self, node: Node) -> npt.NDArray[np.bool_]:
        """Which rows belong to a unit whose bag of cells fewer than `k_bags` units have (Nergiz 2009)."""
        base, units = self.base, self.base.unit_of_row
        assert units is not None
        of_row = np.repeat(self.classes_of(node), np.diff(base.offsets)).astype(np.int64)
        order = np.lexsort((of_row, units))
        starts = np.flatnonzero(np.diff(units[order], prepend=-1))
        lengths = np.diff(np.append(starts, len(order)))
        rare = np.zeros(base.n_units, np.bool_)
        for length in np.unique(lengths).tolist():
            first = starts[lengths == length]
            bags = of_row[order[first[:, None] + np.arange(length)]]
            _, of_unit, n_units = np.unique(bags, axis=0, return_inverse=True, return_counts=True)
            rare[units[order[first]]] = (n_units < self.k_bags)[of_unit.ravel()]
        return np.asarray(rare[units], np.bool_)

    def _judge_bags(self, node: Node) -> Judged:
        rare = self.rows_of_rare_bags(node)
        number = self.classes_of(node)
        of_row = np.repeat(number, np.diff(self.base.offsets))
        n_suppressed = int(np.count_nonzero(rare))
        if n_suppressed > self.most_suppressed or n_suppressed == self.base.n_rows:
            return Judged(n_suppressed, np.inf, False, True)
        table = self.table(node)
        parts = [np.bincount(of_row[which], minlength=len(table.counts)) for which in (~rare, rare)]
        members = np.concatenate([table.members[part > 0] for part in parts])
        sizes = np.concatenate([part[part > 0] for part in parts]).astype(np.int64)
        out = np.arange(len(sizes)) >= np.count_nonzero(parts[0])
        return Judged(n_suppressed, self._score(node, members, sizes, out), True, False)

    def judge(self, node: Node) -> Judged:
        if self.k_bags:
            return self._judge_bags(node)
        table = self.table(node)
        out, absorbing = self.suppressed(table)
        n_suppressed = int(table.counts[out].sum())
        feasible = n_suppressed <= self.most_suppressed and n_suppressed < self.base.n_rows
        if not feasible:
            return Judged(n_suppressed, np.inf, False, absorbing)
        if self.crowd is not None and not self.crowd.hold_together(table.counts, table.people, out):
            return Judged(n_suppressed, np.inf, False, self.most_suppressed == 0 and self.monotone)
        return Judged(n_suppressed, self._score(node, table.members, table.counts, out), True, False)

    def _score(
        self,
        node: Node,
        members: npt.NDArray[np.uint32],
        sizes: npt.NDArray[np.int64],
        out: npt.NDArray[np.bool_],
    ) -> float:
        left_out = [
            levels[g][self.base.codes[members[out], a]]
            for a, (levels, g) in enumerate(zip(self.labels, node, strict=True))
        ]
        return self.quality.score(node, sizes, out, left_out)


def _of_classes(
    classes: npt.NDArray[np.intp],
    offsets: Sequence[npt.NDArray[np.int64]],
    codes: Sequence[npt.NDArray[np.int64]],
    counts: Sequence[npt.NDArray[np.int64]],
) -> tuple[list[Any], list[Any], list[Any]]:
    """The CSR counts of some of the classes."""
    taken: tuple[list[Any], list[Any], list[Any]] = ([], [], [])
    for bounds, values, rows in zip(offsets, codes, counts, strict=True):
        sizes = np.diff(bounds)[classes]
        new = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        at = np.repeat(bounds[:-1][classes] - new[:-1], sizes) + np.arange(new[-1])
        for one, part in zip(taken, (new, values[at], rows[at]), strict=True):
            one.append(part)
    return taken


def search(judge: Judge, time_limit: float | None = None) -> Found | None:
    """The best node of the lattice; None where none is feasible."""
    heights = [ladder.height for ladder in judge.ladders]
    shape = tuple(height + 1 for height in heights)
    n_nodes = math.prod(shape)
    ends = None if time_limit is None else time.monotonic() + time_limit
    if n_nodes > MOST_NODES:
        return _best_first(judge, shape, ends)
    grid = np.ix_(*(np.arange(size) for size in shape))
    bounds = np.broadcast_to(np.asarray(judge.quality.bounds(grid), np.float64), shape)
    sums = sum(grid, start=np.zeros((), np.int64))
    # in the order of the bound, the sum of levels, and the levels, as arrays are laid out
    order = np.lexsort((np.broadcast_to(sums, shape).ravel(), np.round(bounds.ravel(), 12)))
    is_open = np.zeros(shape, np.bool_)  # may be the best
    is_open[tuple(slice(low, None) for low in judge.lowest)] = True
    is_failing = np.zeros(shape, np.bool_)
    is_passing = np.zeros(shape, np.bool_)
    seen: dict[Node, Judged] = {}
    least = np.inf
    prunes_up = judge.absorbing or (judge.most_suppressed == 0 and judge.monotone)

    def judged(node: Node) -> Judged:
        nonlocal least
        if node in seen:
            return seen[node]
        one = seen[node] = judge.judge(node)
        above = tuple(slice(g, None) for g in node)
        if one.feasible:
            least = min(least, one.score)
            if prunes_up:
                is_passing[above] = True
        elif one.absorbing:
            is_failing[tuple(slice(None, g + 1) for g in node)] = True
        if (
            not judge.quality.additive
            and judge.quality.bound_of(node, judge.table(node).counts) > least + SAME
        ):
            is_open[above] = False
        is_open[node] = False
        return one

    def path_up(node: Node) -> list[Node]:
        """Open nodes of unknown feasibility, each above the one before."""
        path = [node]
        while True:
            for a in range(len(node)):
                above = (*node[:a], node[a] + 1, *node[a + 1 :])
                if (
                    above[a] <= heights[a]
                    and not is_passing[above]
                    and not is_failing[above]
                    and above not in seen
                ):
                    node = above
                    path.append(node)
                    break
            else:
                return path

    is_late = False
    for at in order:
        node = tuple(int(g) for g in np.unravel_index(int(at), shape))
        if bounds[node] > least + SAME:
            break
        if ends is not None and time.monotonic() > ends and least < np.inf:
            is_late = True
            break
        if prunes_up and is_open[node] and not is_passing[node] and not is_failing[node]:
            path = path_up(node)
            low, high = 0, len(path) - 1
            while low <= high:
                middle = (low + high) // 2
                if judged(path[middle]).feasible:
                    high = middle - 1
                else:
                    low = middle + 1
        if is_open[node] and not is_failing[node]:
            judged(node)
    feasible = {node: one for node, one in seen.items() if one.feasible}
    if not feasible:
        return None
    tied = [node for node, one in feasible.items() if one.score <= least + SAME]
    best = min(tied, key=lambda node: (sum(node), node))
    return Found(best, feasible[best].score, feasible[best].n_suppressed, not is_late, seen)


def _best_first(judge: Judge, shape: tuple[int, ...], ends: float | None) -> Found | None:
    """The same where the lattice has too many nodes to keep a mark of each: by bound, from the bottom.

    It knows a good node before it starts, and ends with the best so far where too many wait.
    """
    seen = _descent(judge, tuple(size - 1 for size in shape), ends)
    least = min(one.score for one in seen.values())
    bottom = judge.lowest
    heap: list[tuple[float, int, Node]] = [(float(judge.quality.bounds(bottom)), sum(bottom), bottom)]
    pushed = {bottom}
    is_late = False
    while heap and heap[0][0] <= least + SAME:
        if len(pushed) > MOST_WAITING or (ends is not None and time.monotonic() > ends):
            is_late = True
            break
        _, total, node = heapq.heappop(heap)
        one = seen[node] = seen.get(node) or judge.judge(node)
        least = min(least, one.score)
        for a in range(len(node)):
            above = (*node[:a], node[a] + 1, *node[a + 1 :])
            if above[a] < shape[a] and above not in pushed:
                bound = float(judge.quality.bounds(above))
                if bound <= least + SAME:
                    pushed.add(above)
                    heapq.heappush(heap, (bound, total + 1, above))
    tied = [node for node, one in seen.items() if one.feasible and one.score <= least + SAME]
    if not tied:
        return None
    best = min(tied, key=lambda node: (sum(node), node))
    return Found(best, seen[best].score, seen[best].n_suppressed, not is_late, seen)


def _descent(judge: Judge, node: Node, ends: float | None) -> dict[Node, Judged]:
    """What is seen on the way down from a node, each step to the best of those one level below."""
    seen = {node: judge.judge(node)}
    while True:
        steps = []
        for a, g in enumerate(node):
            if g > judge.lowest[a] and (ends is None or time.monotonic() < ends):
                below = (*node[:a], g - 1, *node[a + 1 :])
                seen[below] = judge.judge(below)
                steps.append((seen[below].score, below))
        best = min(steps, default=(np.inf, node))
        if best[0] >= seen[node].score:
            return seen
        node = best[1]
