# SPDX-License-Identifier: Apache-2.0
"""Least squares: groups of near rows of numbers with little squared error, for `Curve(loss="sse")`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from anon.classes import Classes, ranked_rows
from anon.encoding import Encoded
from anon.errors import Parameter, UsageError
from anon.methods.microaggregation import refuse_missing, standardized
from anon.methods.repair import ranges, starts_of_sizes
from anon.methods.task import Task, refuse_few
from anon.threads import in_threads
from anoncore import curve, mdav, sse

START_ROWS = 1000  # of a block, at most, in which MDAV makes the start
BLOCK_GROUPS = 1024  # at most so many are worked on by one call, whatever the number of threads
MOST_POOLED, LEAST_NEAR = 135, 2  # rows: pools are of fewer groups where these are large
REFINED_K = 100  # larger groups are not refined: that takes a time that grows with k
LEAST_GAIN = 1e-3  # a pass that lowers the error by less ends the search
HOT, HOT_NEAR = 5.0, 12  # groups of so many times the mean error are pooled with so many
HOT_PASSES = 20
SHARES = (0.5, 0.38, 0.62)  # where groups are cut into blocks, pass by pass, so that no border stays

Effort = Literal["balanced", "best"]
Points = npt.NDArray[np.float64]
Rows = npt.NDArray[np.uint32]
Offsets = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Search:
    """How many nearest groups make a pool with each, and how many passes are made."""

    near: int
    passes: int


SEARCH = {"balanced": Search(4, 4), "best": Search(8, 20)}


@dataclass(frozen=True)
class Groups:
    """Group g holds the points `rows[offsets[g]:offsets[g + 1]]`; `tried[g]` names the pool it was in."""

    rows: Rows
    offsets: Offsets
    tried: npt.NDArray[np.uint64]

    def errors(self, points: Points) -> Points:
        """The squared error of each group."""
        placed = points[self.rows]
        sizes = np.diff(self.offsets)
        centers = np.add.reduceat(placed, self.offsets[:-1]) / sizes[:, None]
        placed -= np.repeat(centers, sizes, axis=0)
        return np.asarray(np.add.reduceat(np.square(placed).sum(axis=1), self.offsets[:-1]))

    def centers(self, points: Points) -> Points:
        """The mean of each group."""
        sums = np.add.reduceat(points[self.rows], self.offsets[:-1])
        return np.asarray(sums / np.diff(self.offsets)[:, None])


def partition(
    encoded: Encoded, effort: Effort, ties: Literal["rank", "input"], task: Task, k: int
) -> Classes:
    """Classes of k to 2k - 1 rows; requirements beside k are left to the repair."""
    categories = [domain.name for domain in encoded.quasi if domain.kind != "numeric"]
    if categories:
        raise UsageError(
            f"column {' and '.join(map(repr, categories))}: the squared error is one of numbers: use ",
            Parameter("Microaggregation()", "--method microaggregation"),
            ", which groups categories too",
        )
    rows = ranked_rows(encoded, task.n_threads) if ties == "rank" else encoded.kept
    k = max(k, task.rules.min_size)
    if len(rows) == 0:
        return Classes(rows, np.zeros(1, np.int64), encoded.suppressed)
    refuse_few(len(rows), k)
    refuse_missing(encoded, rows)
    numbers, weights = standardized(encoded.quasi, [codes[rows] for codes in encoded.quasi_codes])
    members, offsets = groups_of(numbers * np.sqrt(weights), k, effort, task)
    return Classes(rows[members], offsets, encoded.suppressed)


def groups_of(points: Points, k: int, effort: Effort, task: Task) -> tuple[Rows, Offsets]:
    """Groups of k to 2k - 1 of n points (n x m, n >= k) with little squared error; fewer than 2k are one."""
    n_threads, progress = task.n_threads, task.progress
    starts = (by_curve(points, k), by_blocks(points, k, n_threads))
    groups = min(starts, key=lambda each: float(each.errors(points).sum()))
    if not 1 < k <= REFINED_K:
        return groups.rows, groups.offsets
    search, hot_too = SEARCH[effort], effort == "best"
    stages = [(search.near, search.passes, False), (HOT_NEAR, HOT_PASSES * hot_too, True)]
    for near, n_passes, only_hot in stages:
        for number in range(n_passes):
            errors = groups.errors(points)
            seeds = errors > HOT * errors.mean() if only_hot else np.ones(len(errors), np.bool_)
            if task.is_late or not seeds.any():
                break
            groups = _pass(points, groups, k, near, number, seeds, n_threads)
            if progress is not None:
                progress("refine", number + 1, n_passes)
            if errors.sum() - groups.errors(points).sum() <= LEAST_GAIN * errors.sum():
                break
    return groups.rows, groups.offsets


def _untried(rows: Rows, offsets: Offsets) -> Groups:
    return Groups(rows, offsets, np.zeros(len(offsets) - 1, np.uint64))


def by_curve(points: Points, k: int) -> Groups:
    """The best cuts of the points along a Hilbert curve over linear scales."""
    m = points.shape[1]
    bits = max(min(64 // m, 16), 4)
    low, high = points.min(axis=0), points.max(axis=0)
    places = ((points - low) / np.where(high > low, high - low, 1) * (2**bits - 1) + 0.5).astype(np.uint32)
    grid = np.tile(np.arange(2**bits, dtype=np.uint32), m)
    keys = curve.hilbert(places, grid, np.arange(m + 1, dtype=np.int64) << bits, bits)
    rows = np.arange(len(points), dtype=np.uint32)
    for word in reversed(range(keys.shape[1])):
        rows = curve.sort_rows(np.ascontiguousarray(keys[:, word]), rows)
    return _untried(rows, sse.cut(points[rows], k))


def by_blocks(points: Points, k: int, n_threads: int) -> Groups:
    """MDAV in blocks of near points."""
    blocks = bisected(points, max(START_ROWS, 4 * k))
    weights = np.ones(points.shape[1])

    def group(block: Rows) -> tuple[Rows, Offsets]:
        rows, offsets = mdav.mdav(points[block], weights, k)
        return block[rows], np.diff(offsets)

    parts = in_threads(n_threads, group, blocks)
    sizes = np.concatenate([part[1] for part in parts])
    return _untried(np.concatenate([part[0] for part in parts]), starts_of_sizes(sizes))


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


def _pass(
    points: Points,
    groups: Groups,
    k: int,
    near: int,
    number: int,
    seeds: npt.NDArray[np.bool_],
    n_threads: int,
) -> Groups:
    """Pools around some groups, block by block."""
    near = max(min(near, MOST_POOLED // (2 * k - 1) - 1), LEAST_NEAR)

    def work(block: Rows) -> tuple[Rows, Offsets, npt.NDArray[np.uint64]]:
        first, end = groups.offsets[block], groups.offsets[block + np.int64(1)]
        rows = groups.rows[ranges(first, end)]
        found, ends, tried = sse.refine(
            points,
            rows,
            starts_of_sizes(end - first),
            k,
            near,
            groups.tried[block],
            seeds[block].astype(np.uint8),
        )
        return found, np.diff(ends), tried

    parts = in_threads(
        n_threads, work, bisected(groups.centers(points), BLOCK_GROUPS, SHARES[number % len(SHARES)], number)
    )
    return Groups(
        np.concatenate([part[0] for part in parts]),
        starts_of_sizes(np.concatenate([part[1] for part in parts])),
        np.concatenate([part[2] for part in parts]),
    )
