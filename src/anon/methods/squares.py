# SPDX-License-Identifier: Apache-2.0
"""Least squares: groups of near rows with little error, for `Curve(loss="sse")`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from anon.classes import Classes, ranges, ranked_rows, starts_of_sizes
from anon.encoding import Encoded
from anon.methods.hilbert import Axes, curve_order
from anon.methods.microaggregation import refuse_missing, standardized
from anon.methods.repair import pack, repair, sensitive_of
from anon.methods.task import Task, refuse_few
from anon.threads import in_threads
from anoncore import curve, mdav, sse
from anoncore.attribute import Attribute
from anoncore.requirement import Conjunction

START_ROWS, MIXED_ROWS = 1000, 8192  # of a block, at most, in which MDAV makes the start
BLOCK_GROUPS = 1024  # at most so many are worked on by one call, whatever the number of threads
MOST_POOLED, LEAST_NEAR = 135, 2  # rows: pools are of fewer groups where these are large
MOST, MOST_ROWS = 6, 60  # with requirements beside k, groups of up to 6k rows, or 60, are refined
REFINED_K = 100  # larger groups are not refined: that takes a time that grows with k
LEAST_GAIN = 1e-3  # a pass that lowers the error by less ends the search
HOT, HOT_NEAR = 5.0, 12  # groups of so many times the mean error are pooled with so many
HOT_PASSES = 20
COLD = 0.02  # groups of less than this share of the mean error stay, unless others are pooled with them
SHARES = (0.5, 0.38, 0.62)  # where groups are cut into blocks, pass by pass, so that no border stays

Effort = Literal["balanced", "best"]
Points = npt.NDArray[np.float64]
Rows = npt.NDArray[np.uint32]
Offsets = npt.NDArray[np.int64]
Marks = npt.NDArray[np.uint64]
Seeds = npt.NDArray[np.uint8]  # of each group, whether a pool is made around it


@dataclass(frozen=True)
class Search:
    """How many nearest groups make a pool with each, and how many passes are made."""

    near: int
    passes: int


SEARCH = {"balanced": Search(4, 4), "best": Search(8, 20)}


@dataclass(frozen=True)
class Groups:
    """Group g holds the rows `rows[offsets[g]:offsets[g + 1]]`; `tried[g]` names the pool it was in."""

    rows: Rows
    offsets: Offsets
    tried: Marks

    @classmethod
    def joined(cls, parts: Sequence[Groups]) -> Groups:
        return cls(
            np.concatenate([part.rows for part in parts]),
            starts_of_sizes(np.concatenate([np.diff(part.offsets) for part in parts])),
            np.concatenate([part.tried for part in parts]),
        )

    def these(self, groups: npt.NDArray[Any]) -> Groups:
        """Some groups, in their order."""
        first, end = self.offsets[groups], self.offsets[groups + np.int64(1)]
        return Groups(self.rows[ranges(first, end)], starts_of_sizes(end - first), self.tried[groups])


@dataclass(frozen=True)
class Demand:
    """Groups have at most `most` rows and pass the rules, where there are any; `sensitive` codes by row."""

    most: int
    rules: Conjunction | None = None
    sensitive: npt.NDArray[np.int32] | None = None


class Space(Protocol):
    """Rows that are more or less near each other."""

    def starts(self, k: int, n_threads: int) -> list[Groups]:
        """Groups of k to 2k - 1 rows to start from."""

    def errors(self, groups: Groups) -> Points:
        """The error of each group."""

    def blocks(self, groups: Groups, number: int, n_threads: int) -> list[Rows]:
        """Groups in blocks of at most `BLOCK_GROUPS` near ones; other blocks in each pass, by its number."""

    def refined(self, groups: Groups, k: int, near: int, seeds: Seeds, demand: Demand) -> Groups:
        """The groups after a pass of `sse.refine` over the pools around the seeds."""


def partition(
    encoded: Encoded,
    effort: Effort,
    ties: Literal["rank", "input"],
    task: Task,
    k: int,
    other: Callable[[], Classes],
) -> Classes:
    """Classes of k to 2k - 1 rows; with requirements of sensitive values larger ones, too.

    Then these classes, repaired, or the `other` ones, which pass, are refined once more under the
    requirements: those of less error.
    """
    k = max(k, task.rules.min_size)
    if len(encoded.kept) == 0:
        return Classes(encoded.kept, np.zeros(1, np.int64), encoded.suppressed)
    refuse_few(len(encoded.kept), k)
    rows, space = space_of(encoded, ties, task.n_threads)
    groups = groups_of(space, k, effort, task)
    if task.rules.n_sensitive:
        place = np.empty(encoded.n_rows, np.uint32)
        place[rows] = np.arange(len(rows), dtype=np.uint32)
        own = Classes(rows[groups.rows], groups.offsets, encoded.suppressed)
        starts = (repair(own, encoded, task.rules, ties=ties), other())
        groups = least(space, [_untried(place[each.rows], each.offsets) for each in starts])
        demand = Demand(max(MOST * k, MOST_ROWS), task.rules, sensitive_of(encoded, rows))
        groups = improved(space, groups, k, effort, task, demand)
    return Classes(rows[groups.rows], groups.offsets, encoded.suppressed)


def space_of(encoded: Encoded, ties: Literal["rank", "input"], n_threads: int) -> tuple[Rows, Space]:
    """The rows that are not suppressed, in an order that does not depend on the input's unless `ties` do."""
    if all(domain.kind == "numeric" for domain in encoded.quasi):
        rows = ranked_rows(encoded, n_threads) if ties == "rank" else encoded.kept
        refuse_missing(encoded, rows)
        numbers, weights = standardized(encoded.quasi, [codes[rows] for codes in encoded.quasi_codes])
        return rows, Numbers(numbers * np.sqrt(weights))
    axes = Axes.of(encoded, "ncp")
    rows = curve_order(encoded, axes, ties, n_threads)
    codes = pack([column[rows] for column in encoded.quasi_codes])
    return rows, Mixed(codes, [domain.measured("byun") for domain in encoded.quasi], axes)


def groups_of(space: Space, k: int, effort: Effort, task: Task) -> Groups:
    """Groups of k to 2k - 1 of n rows (n >= k) with little error; fewer than 2k are one."""
    return improved(space, least(space, space.starts(k, task.n_threads)), k, effort, task, Demand(2 * k - 1))


def least(space: Space, starts: Sequence[Groups]) -> Groups:
    """The groups of the least error."""
    return min(starts, key=lambda each: float(space.errors(each).sum()))


def improved(space: Space, groups: Groups, k: int, effort: Effort, task: Task, demand: Demand) -> Groups:
    """Passes over the groups until they gain little; those of more rows than may be stay as they are."""
    n_threads, progress = task.n_threads, task.progress
    large = np.diff(groups.offsets) > demand.most
    if not 1 < k <= REFINED_K or large.all():
        return groups
    aside, groups = groups.these(np.flatnonzero(large)), groups.these(np.flatnonzero(~large))
    search, hot_too = SEARCH[effort], effort == "best"
    stages = [(search.near, search.passes, False), (HOT_NEAR, HOT_PASSES * hot_too, True)]
    errors = space.errors(groups)
    for near, n_passes, only_hot in stages:
        for number in range(n_passes):
            seeds = errors > (HOT if only_hot else COLD) * errors.mean()
            if task.is_late or not seeds.any():
                break
            groups = _pass(space, groups, k, near, number, seeds, n_threads, demand)
            if progress is not None:
                progress("refine", number + 1, n_passes)
            before, errors = errors.sum(), space.errors(groups)
            if before - errors.sum() <= LEAST_GAIN * before:
                break
    return Groups.joined([groups, aside])


def _pass(
    space: Space,
    groups: Groups,
    k: int,
    near: int,
    number: int,
    seeds: npt.NDArray[np.bool_],
    n_threads: int,
    demand: Demand,
) -> Groups:
    """Pools around some groups, block by block."""
    near = max(min(near, MOST_POOLED // demand.most - 1), LEAST_NEAR)

    def work(block: Rows) -> Groups:
        return space.refined(groups.these(block), k, near, seeds[block].astype(np.uint8), demand)

    return Groups.joined(in_threads(n_threads, work, space.blocks(groups, number, n_threads)))


def _untried(rows: Rows, offsets: Offsets) -> Groups:
    return Groups(rows, offsets, np.zeros(len(offsets) - 1, np.uint64))


@dataclass(frozen=True)
class Numbers:
    """Rows of numbers (n x m), as far apart as their squared distance: the error is the squared one."""

    points: Points

    def starts(self, k: int, n_threads: int) -> list[Groups]:
        ways: list[Callable[[], Any]] = [
            lambda: self._by_curve(k),
            lambda: bisected(self.points, max(START_ROWS, 4 * k)),
        ]
        along, blocks = in_threads(n_threads, lambda way: way(), ways)
        return [along, self._by_blocks(blocks, k, n_threads)]

    def errors(self, groups: Groups) -> Points:
        placed = self.points[groups.rows]
        starts, sizes = groups.offsets[:-1], np.diff(groups.offsets)
        placed -= np.repeat(np.add.reduceat(placed, starts) / sizes[:, None], sizes, axis=0)
        return np.asarray(np.add.reduceat(np.einsum("ia,ia->i", placed, placed), starts))

    def blocks(self, groups: Groups, number: int, n_threads: int) -> list[Rows]:
        return bisected(self._centers(groups), BLOCK_GROUPS, SHARES[number % len(SHARES)], number)

    def refined(self, groups: Groups, k: int, near: int, seeds: Seeds, demand: Demand) -> Groups:
        of_rules = demand.most, demand.rules, demand.sensitive
        of_groups = groups.rows, groups.offsets, k, near, groups.tried, seeds
        return Groups(*sse.refine(self.points, *of_groups, *of_rules))

    def _centers(self, groups: Groups) -> Points:
        sums = np.add.reduceat(self.points[groups.rows], groups.offsets[:-1])
        return np.asarray(sums / np.diff(groups.offsets)[:, None])

    def _by_curve(self, k: int) -> Groups:
        """The best cuts of the points along a Hilbert curve over linear scales."""
        points, m = self.points, self.points.shape[1]
        bits = max(min(64 // m, 16), 4)
        low, high = points.min(axis=0), points.max(axis=0)
        places = ((points - low) / np.where(high > low, high - low, 1) * (2**bits - 1) + 0.5).astype(
            np.uint32
        )
        grid = np.tile(np.arange(2**bits, dtype=np.uint32), m)
        keys = curve.hilbert(places, grid, np.arange(m + 1, dtype=np.int64) << bits, bits)
        rows = np.arange(len(points), dtype=np.uint32)
        for word in reversed(range(keys.shape[1])):
            rows = curve.sort_rows(np.ascontiguousarray(keys[:, word]), rows)
        return _untried(rows, sse.cut(points[rows], k))

    def _by_blocks(self, blocks: list[Rows], k: int, n_threads: int) -> Groups:
        """MDAV in blocks of near points."""
        weights = np.ones(self.points.shape[1])

        def group(block: Rows) -> tuple[Rows, Offsets]:
            return mdav.mdav(self.points[block], weights, k)

        return _in_blocks(group, blocks, n_threads)


@dataclass(frozen=True)
class Mixed:
    """Rows of codes (n x m) along a Hilbert curve, as far apart as Gower has it."""

    codes: npt.NDArray[Any]
    attributes: list[Attribute]
    axes: Axes

    def starts(self, k: int, n_threads: int) -> list[Groups]:
        """MDAV in runs of the curve."""

        def group(block: Rows) -> tuple[Rows, Offsets]:
            return mdav.gower(self.codes[block], self.attributes, k)

        rows = np.arange(len(self.codes), dtype=np.uint32)
        blocks = np.array_split(rows, -(-len(rows) // max(MIXED_ROWS, 4 * k)))
        return [_in_blocks(group, blocks, n_threads)]

    def errors(self, groups: Groups) -> Points:
        return sse.spread(self.codes, self.attributes, groups.rows, groups.offsets)

    def blocks(self, groups: Groups, number: int, n_threads: int) -> list[Rows]:
        order = self.axes.class_order(self.codes, groups.rows, groups.offsets, number + 1, n_threads)
        return np.array_split(order.astype(np.uint32), -(-len(order) // BLOCK_GROUPS))

    def refined(self, groups: Groups, k: int, near: int, seeds: Seeds, demand: Demand) -> Groups:
        of_rules = demand.most, demand.rules, demand.sensitive
        of_groups = groups.rows, groups.offsets, k, near, groups.tried, seeds
        return Groups(*sse.gower(self.codes, self.attributes, *of_groups, *of_rules))


def _in_blocks(group: Callable[[Rows], tuple[Rows, Offsets]], blocks: list[Rows], n_threads: int) -> Groups:
    """The groups of every block."""

    def work(block: Rows) -> Groups:
        rows, offsets = group(block)
        return _untried(block[rows], offsets)

    return Groups.joined(in_threads(n_threads, work, blocks))


def bisected(points: Points, most: int, share: float = 0.5, turn: int = 0) -> list[Rows]:
    """Blocks of at most `most` points, cut across the first principal direction (by `turn` the second or
    third) with `share` of them before.
    """
    todo, blocks = [np.arange(len(points), dtype=np.uint32)], []
    while todo:
        block = todo.pop()
        if len(block) <= most:
            blocks.append(block)
            continue
        of_block = points[block]
        of_block -= of_block.mean(axis=0)
        directions = np.linalg.eigh(np.einsum("ia,ib->ab", of_block, of_block))[1]
        direction = directions[:, -1 - turn % min(3, points.shape[1])]
        order = np.argsort(np.einsum("ia,a->i", of_block, direction), kind="stable")
        at = int(len(block) * share)
        todo += [np.sort(block[order[at:]]), np.sort(block[order[:at]])]
    return blocks
