# SPDX-License-Identifier: Apache-2.0
"""Twin of `anoncore.suda` and `anon.measures.suda`: every set of columns is tried on every row."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Any


def minimal_uniques(
    codes: Sequence[Sequence[int]], nulls: Sequence[int], single: Sequence[int], max_size: int
) -> set[tuple[int, int]]:
    """(row, mask) of every minimal unique; `single[row]` is whether one row of the table has these codes."""
    n = len(single)
    found: set[tuple[int, int]] = set()
    for size in range(1, max_size + 1):
        for each in combinations(range(len(codes)), size):
            keys = [tuple(codes[a][i] for a in each) for i in range(n)]
            has_all = [all(codes[a][i] != nulls[a] for a in each) for i in range(n)]
            for i in range(n):
                alike = [j for j in range(n) if has_all[j] and keys[j] == keys[i]]
                is_minimal = not any(row == i and {*each} >= bits(mask) for row, mask in found)
                if has_all[i] and alike == [i] and single[i] and is_minimal:
                    found.add((i, sum(1 << a for a in each)))
    return found


def bits(mask: int) -> set[int]:
    return {a for a in range(64) if mask >> a & 1}


def of_row(cells: Sequence[Any], others: Sequence[Sequence[Any]], max_size: int) -> list[tuple[int, ...]]:
    """The minimal sets of columns on which a row is alone; None is null."""
    minimal: list[tuple[int, ...]] = []
    for size in range(1, max_size + 1):
        for each in combinations(range(len(cells)), size):
            if any(cells[a] is None for a in each) or any(set(small) <= set(each) for small in minimal):
                continue
            if not any(all(other[a] == cells[a] for a in each) for other in others):
                minimal.append(each)
    return minimal


def scores(
    rows: Sequence[Sequence[Any]], max_size: int, ihsn: bool = False
) -> tuple[list[float], list[float]]:
    """The score of every row, and the contribution of every column in percent."""
    m = len(rows[0])
    total, by_column = [], [0.0] * m
    for i, cells in enumerate(rows):
        others = [other for j, other in enumerate(rows) if j != i]
        score = 0.0
        for each in of_row(cells, others, max_size):
            s = len(each)
            weight = float(math.factorial(m - s))
            if ihsn:
                weight = (2 ** (m - s) - 1) * math.factorial(s) * math.factorial(m - s) / math.factorial(m)
            score += weight
            for a in each:
                by_column[a] += weight
        total.append(score)
    whole = sum(total)
    return total, [100 * each / whole if whole else 0.0 for each in by_column]


def dis(scores: Sequence[float], rows: Sequence[Sequence[Any]], pi: float) -> tuple[float, list[float]]:
    """The DIS fraction, and the DIS-SUDA score of every row."""
    counts = [list(map(tuple, rows)).count(tuple(row)) for row in rows]
    alone, pairs = counts.count(1), counts.count(2) // 2
    theta = 0.0 if not alone else alone * pi / (alone * pi + 2 * pairs * (1 - pi))
    q = 1 + (8 - len(rows[0])) / 20
    inverse = sum(s**-q for s in scores if s > 0)
    return theta, [1 / (1 + (alone / theta - alone) / (s**q * inverse)) if s > 0 else 0.0 for s in scores]
