# SPDX-License-Identifier: Apache-2.0
"""Twin of `anoncore.nulling`: every count and every gain is taken anew, from all pairs of rows."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations

Cells = list[list[int | None]]


def counts(cells: Cells, attributes: Sequence[int]) -> list[int | None]:
    """Per row the rows that are compatible with it on the attributes; None of one that is null in all.

    Two rows are compatible that are equal, or one of them null, in each. Who is null in all helps nobody.
    """
    return [
        None
        if all(row[a] is None for a in attributes)
        else sum(
            any(other[a] is not None for a in attributes)
            and all(row[a] is None or other[a] is None or row[a] == other[a] for a in attributes)
            for other in cells
        )
        for row in cells
    ]


def sets_of(m: int, size: int) -> list[tuple[int, ...]]:
    return [*combinations(range(m), size)]


def weight_of(cells: Cells, attributes: Sequence[int], row: int, weights: Sequence[int]) -> int:
    """The weights of the rows that are compatible with one, summed."""
    mine = cells[row]
    return sum(
        weight
        for other, weight in zip(cells, weights, strict=True)
        if any(other[a] is not None for a in attributes)
        and all(mine[a] is None or other[a] is None or mine[a] == other[a] for a in attributes)
    )


def worth(cells: Cells, sets: Sequence[Sequence[int]], ks: Sequence[int]) -> int:
    """Over sets and rows the compatible rows, up to k; a row that is null in a whole set counts as k."""
    return sum(
        min(k, k if count is None else count)
        for attributes, k in zip(sets, ks, strict=True)
        for count in counts(cells, attributes)
    )


def passes(cells: Cells, sets: Sequence[Sequence[int]], ks: Sequence[int]) -> bool:
    return all(
        count is None or count >= k
        for attributes, k in zip(sets, ks, strict=True)
        for count in counts(cells, attributes)
    )


def null_cells(
    codes: Sequence[Sequence[int]],
    nulls: Sequence[int],
    weights: Sequence[int],
    unit: int,
    sets: Sequence[int],
    ks: Sequence[int],
    tiers: Sequence[int],
    costs: Sequence[int],
) -> list[int]:
    """Per row the mask of its null cells: those that it had, and those that the greedy method adds."""
    m = len(nulls)
    original: Cells = [[None if row[a] == nulls[a] else row[a] for a in range(m)] for row in codes]
    cells = [list(row) for row in original]
    in_sets = [[a for a in range(m) if mask >> a & 1] for mask in sets]
    every = sorted({a for attributes in in_sets for a in attributes})
    placed: list[tuple[int, int]] = []
    while True:
        below = [
            (count, max(weight_of(cells, attributes, row, weights), count * unit), row)
            for attributes, k in zip(in_sets, ks, strict=True)
            for row, count in enumerate(counts(cells, attributes))
            if count is not None and count < k
        ]
        if not below:
            break
        row = min(below)[-1]
        before = worth(cells, in_sets, ks)
        gains = {}
        for a in every:
            value = cells[row][a]
            if value is not None:
                cells[row][a] = None
                gains[a] = worth(cells, in_sets, ks) - before
                cells[row][a] = value
        useful = [a for a in gains if gains[a] > 0] or list(gains)
        tier = max(tiers[a] for a in useful)
        chosen = max(
            (a for a in useful if tiers[a] == tier),
            key=lambda a: (Fraction(gains[a], costs[a]), -costs[a], a),
        )
        cells[row][chosen] = None
        placed.append((row, chosen))
    for row, a in reversed(placed):
        cells[row][a] = original[row][a]
        if not passes(cells, in_sets, ks):
            cells[row][a] = None
    return [sum(1 << a for a in range(m) if row[a] is None) for row in cells]
