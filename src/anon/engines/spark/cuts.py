# SPDX-License-Identifier: Apache-2.0
"""Mondrian's choice of a cut from histograms alone: the rule of `anoncore.partition`, without the rows.

A node of the tree is known by counts: per attribute the rows with each code, and the rows with each
pair of that code and a sensitive code. That is all the rule asks for, so counts summed over many
machines lead to the same cut as the rows on one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from anon.encoding import Domain
from anon.methods import Mondrian
from anoncore.requirement import Conjunction, passing_classes

Ints = npt.NDArray[np.int64]

TIE = 1e-12  # entropies that differ by less are equal, as in the kernel
CELLS_AT_ONCE = 1 << 22  # of the counts of parts that are tested together


@dataclass(frozen=True)
class Tracked:
    """Rows of a node by pairs of codes: `count[i]` rows have the attribute's `values[at[i]]` and `code[i]`.

    Ascending by (at, code), counts > 0; `n_codes` is the number of codes that there are in the table.
    """

    at: Ints
    code: Ints
    count: Ints
    n_codes: int


@dataclass(frozen=True)
class Histogram:
    """The codes of one attribute that occur in a node, ascending, and the rows before each.

    `below` has one entry more, the rows of the node. `tracked` counts pairs with each sensitive
    attribute that is tested, and last with the target of "information-gain".
    """

    values: Ints
    below: Ints
    tracked: tuple[Tracked, ...] = ()

    @property
    def n(self) -> int:
        """Rows of the node."""
        return int(self.below[-1])


@dataclass(frozen=True)
class Cut:
    """Parts are runs of codes: part p begins at `codes[p]` and has `sizes[p]` rows.

    A relaxed cut between equal codes sends the first `quota` rows (> 0) with `codes[1]` to the left. It
    is not tested yet: `left` counts the tracked codes of the rows before those, `total` of the node.
    """

    codes: tuple[int, ...]
    sizes: tuple[int, ...]
    disorder: float = 0.0
    quota: int = 0
    left: tuple[Ints, ...] = ()
    total: tuple[Ints, ...] = ()


@dataclass(frozen=True)
class Span:
    """What a node holds of one attribute: the least and greatest code (null the last), and how many codes."""

    low: int
    high: int
    distinct: int


def needs_distinct(domain: Domain, method: Mondrian) -> bool:
    """Must the distinct codes be counted to know when the attribute's turn is?"""
    if method.split in ("most-repeated", "least-repeated"):
        return True
    is_flat = domain.kind == "nominal" and domain.tree is None
    return is_flat and method.split != "information-gain"


def turns(domains: Sequence[Domain], spans: Sequence[Span], method: Mondrian) -> list[int]:
    """The attributes that can be cut, in the order in which they are tried in a node."""
    priority = [] if isinstance(method.split, str) else list(method.split)
    names = [domain.name for domain in domains]

    def key(a: int) -> tuple[int, float]:
        rank = priority.index(names[a]) if names[a] in priority else len(priority)
        if method.split == "information-gain":
            return rank, 0.0
        if method.split == "most-repeated":
            return rank, spans[a].distinct
        if method.split == "least-repeated":
            return rank, -spans[a].distinct
        return rank, -width(domains[a], spans[a])

    return sorted((a for a in range(len(domains)) if spans[a].low < spans[a].high), key=key)


def width(domain: Domain, span: Span) -> float:
    """Normalized width in a node times the attribute's weight."""
    if span.high == domain.n_values:
        return domain.weight
    if domain.positions is not None:
        reach = float(domain.positions[-1] - domain.positions[0])
        inside = float(domain.positions[span.high] - domain.positions[span.low])
        return inside / reach * domain.weight if reach > 0 else 0.0
    if domain.tree is None:
        return (span.distinct - 1) / (domain.n_values - 1) * domain.weight
    node = _ancestor(domain, span.low, span.high)
    return int(domain.tree.last[node] - domain.tree.first[node]) / (domain.n_values - 1) * domain.weight


def find(domain: Domain, histogram: Histogram, method: Mondrian, rules: Conjunction) -> Cut | None:
    """The attribute's allowed cut, if it has one; a relaxed one may still have to be tested."""
    search = _Search(histogram, method, rules)
    if domain.tree is not None and domain.kind == "nominal":
        return _cut_tree(domain, search)
    if method.relaxed:
        return _cut_relaxed(search)
    if method.cuts == "nearest":
        return search.first(_nearest(histogram, rules.min_size))
    v = int(np.searchsorted(histogram.below, (histogram.n + 1) // 2 - 1, side="right")) - 1
    return search.first(iter((v + 1, v)))


def best(cuts: Sequence[Cut | None]) -> int | None:
    """Which attribute's cut leaves the least disorder: the first of those that are equal."""
    chosen = None
    for a, cut in enumerate(cuts):
        if cut is None:
            continue
        held = None if chosen is None else cuts[chosen]
        if held is None or cut.disorder < held.disorder - TIE:
            chosen = a
    return chosen


def halves_pass(rules: Conjunction, cut: Cut, left: Sequence[Ints]) -> bool:
    """Do both sides of a relaxed cut pass, the left one with these counts of the tracked codes?"""
    sides = [np.stack([held, whole - held]) for held, whole in zip(left, cut.total, strict=True)]
    return bool(_passing(rules, np.array(cut.sizes, np.int64), sides[: rules.n_sensitive]).all())


def _passing(rules: Conjunction, sizes: Ints, grids: Sequence[Ints]) -> npt.NDArray[np.bool_]:
    """Which parts pass, by their sizes and their counts of each sensitive code."""
    offsets, values, counts = [], [], []
    for grid in grids:
        part, code = np.nonzero(grid)
        offsets.append(np.concatenate([[0], np.cumsum(np.bincount(part, minlength=len(sizes)))]))
        values.append(code.astype(np.int64))
        counts.append(grid[part, code])
    return passing_classes(rules, sizes, offsets, values, counts).astype(np.bool_)


def _cut_relaxed(search: _Search) -> Cut | None:
    """The first ceil(n/2) rows by value and rank."""
    histogram = search.histogram
    values, below, n = histogram.values, histogram.below, histogram.n
    half = (n + 1) // 2
    if n - half < search.rules.min_size:
        return None
    v = int(np.searchsorted(below, half - 1, side="right")) - 1
    if below[v + 1] == half:
        return search.first(iter((v + 1,)))
    return Cut(
        (int(values[0]), int(values[v])),
        (half, n - half),
        quota=half - int(below[v]),
        left=tuple(tracked_counts(one, 0, v) for one in histogram.tracked),
        total=tuple(tracked_counts(one, 0, len(values)) for one in histogram.tracked),
    )


def _nearest(histogram: Histogram, least: int) -> Iterator[int]:
    """Boundaries by their distance from the middle, the lower one of two first."""
    below, n = histogram.below, histogram.n
    up = int(np.searchsorted(below, n // 2, side="right"))
    down = up - 1
    while True:
        can_down = down >= 1 and below[down] >= least
        can_up = up < len(below) - 1 and n - below[up] >= least
        if can_down and (not can_up or n - 2 * below[down] <= 2 * below[up] - n):
            yield down
            down -= 1
        elif can_up:
            yield up
            up += 1
        else:
            return


class _Search:
    """Tests parts of one node by the sensitive counts of the runs of codes that make them."""

    def __init__(self, histogram: Histogram, method: Mondrian, rules: Conjunction) -> None:
        self.histogram = histogram
        self.rules = rules
        self.tested = histogram.tracked[: rules.n_sensitive]
        self.target = histogram.tracked[-1] if method.split == "information-gain" else None
        self.halves = method.cuts == "nearest" and not method.relaxed

    def first(self, boundaries: Iterator[int]) -> Cut | None:
        """The first boundary both of whose sides pass; ever more are tested at once."""
        below, n, least = self.histogram.below, self.histogram.n, self.rules.min_size
        widest = max((one.n_codes for one in self.tested), default=1)
        at_once, most = 1, max(CELLS_AT_ONCE // widest, 1)
        while True:
            some = list(islice(boundaries, at_once))
            if not some:
                return None
            large = [i for i in some if least <= below[i] <= n - least]
            parts = [part for i in large for part in ((0, i), (i, len(below) - 1))]
            passes = self.passing(parts)
            for i, left, right in zip(large, passes[::2], passes[1::2], strict=True):
                if left and right:
                    return self.cut([0, i, len(below) - 1])
            at_once = min(at_once * 4, most)

    def passing(self, parts: Sequence[tuple[int, int]]) -> npt.NDArray[np.bool_]:
        """Which of the runs values[i:j] pass every requirement."""
        below = self.histogram.below
        sizes = np.array([below[j] - below[i] for i, j in parts], np.int64)
        grids = [
            np.stack([tracked_counts(one, i, j) for i, j in parts]) if parts else np.zeros((0, 1), np.int64)
            for one in self.tested
        ]
        return _passing(self.rules, sizes, grids)

    def cut(self, ends: Sequence[int]) -> Cut:
        """The cut into the runs between these indices of values."""
        below, values = self.histogram.below, self.histogram.values
        disorder = 0.0
        if self.target is not None:
            for i, j in pairwise(ends):
                disorder += _disorder(tracked_counts(self.target, i, j), int(below[j] - below[i]))
            disorder /= self.histogram.n
        return Cut(
            tuple(int(values[i]) for i in ends[:-1]), tuple(np.diff(below[list(ends)]).tolist()), disorder
        )


def tracked_counts(tracked: Tracked, first: int, end: int) -> Ints:
    """Rows with each tracked code among the rows with values[first:end]."""
    start, stop = np.searchsorted(tracked.at, (first, end))
    counts = np.zeros(tracked.n_codes, np.int64)
    np.add.at(counts, tracked.code[start:stop], tracked.count[start:stop])
    return counts


def _disorder(counts: Ints, size: int) -> float:
    """Size times the entropy of these counts, added in the kernel's order."""
    total = size * math.log(size)
    for count in counts[counts > 0].tolist():
        total -= count * math.log(count)
    return total


def _ancestor(domain: Domain, first: int, last: int) -> int:
    """Lowest common ancestor of the leaves first..last."""
    tree: Any = domain.tree
    node = int(tree.leaf[first])
    while tree.last[node] < last:
        node = int(tree.parent[node])
    return node


def _child_above(domain: Domain, node: int, code: int) -> int:
    """The child of `node` above a leaf, or the leaf itself if that is `node`."""
    tree: Any = domain.tree
    below = int(tree.leaf[code])
    while below != node and tree.parent[below] != node:
        below = int(tree.parent[below])
    return below


def _cut_tree(domain: Domain, search: _Search) -> Cut | None:
    """Between children of the LCA (null last), one side strictly below it; otherwise all children at once."""
    tree: Any = domain.tree
    values, below, n = search.histogram.values, search.histogram.below, search.histogram.n
    d = len(values) - int(values[-1] == domain.n_values)  # null is no leaf
    node = _ancestor(domain, int(values[0]), int(values[d - 1]))
    if search.halves:
        boundaries = []
        if d > 1:
            first = _child_above(domain, node, int(values[0]))
            last = _child_above(domain, node, int(values[d - 1]))
            boundaries.append(int(np.searchsorted(values, tree.last[first], side="right")))
            boundaries.append(int(np.searchsorted(values, tree.first[last], side="left")))
        if d < len(values):
            boundaries.append(d)
        boundaries = sorted(set(boundaries), key=lambda i: (abs(2 * int(below[i]) - n), i))
        found = search.first(iter(boundaries))
        if found is not None or len(boundaries) == 1:
            return found
    ends = [0]
    while ends[-1] < d:
        child = _child_above(domain, node, int(values[ends[-1]]))
        ends.append(int(np.searchsorted(values[:d], tree.last[child], side="right")))
    if d < len(values):
        ends.append(len(values))
    parts = list(pairwise(ends))
    if min(below[j] - below[i] for i, j in parts) < search.rules.min_size:
        return None
    return search.cut(ends) if search.passing(parts).all() else None
