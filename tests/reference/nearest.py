# SPDX-License-Identifier: Apache-2.0
"""Twin of `anoncore.nearest`: every box is looked at by every person."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

MASK = 2**64 - 1


def mixed(x: int) -> int:
    x = (x + 0x9E3779B97F4A7C15) & MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def _of_box(cells: Any, parts: Any, picks: Any, person: int, box: int) -> list[float]:
    return [float(parts[a][picks[a][person]][cells[a][box]]) for a in range(len(parts))]


def rows(
    cells: Any, parts: Any, picks: Any, offsets: Sequence[int], salts: Sequence[int], n_neighbors: int
) -> list[list[int]]:
    """The nearest rows of each person, ties by the hash of salt and row."""
    found = []
    for t in range(len(picks[0])):
        ranked = sorted(
            (sum(_of_box(cells, parts, picks, t, b)), mixed(int(salts[t]) ^ mixed(row)), row)
            for b in range(len(offsets) - 1)
            for row in range(offsets[b], offsets[b + 1])
        )
        nearest = [row for _, _, row in ranked[:n_neighbors]]
        found.append(nearest + [-1] * (n_neighbors - len(nearest)))
    return found


def guesses(
    cells: Any,
    parts: Any,
    picks: Any,
    shares: Sequence[float],
    groups: Sequence[int],
    offsets: Sequence[int],
    values: Sequence[int],
    counts: Sequence[int],
    n_values: int,
) -> list[int]:
    """The most frequent value of all boxes at the least distance, ties by the least code."""
    found = []
    for t in range(len(picks[0])):
        apart = [sum(_of_box(cells, parts, picks, t, b)) for b in range(len(shares))]
        votes: Counter[int] = Counter()
        for b, distance in enumerate(apart):
            if distance == min(apart):
                for e in range(offsets[groups[b]], offsets[groups[b] + 1]):
                    votes[values[e]] += shares[b] * counts[e]
        found.append(min(votes, key=lambda v: (-votes[v], v), default=-1))
    return found


def expected(cells: Any, parts: Any, picks: Any, sizes: Sequence[int]) -> list[float]:
    """Rows expected at each person's values."""
    found = []
    for t in range(len(picks[0])):
        total = 0.0
        for b, size in enumerate(sizes):
            share = 1.0
            for part in _of_box(cells, parts, picks, t, b):
                share *= part
            total += size * share
        found.append(total)
    return found
