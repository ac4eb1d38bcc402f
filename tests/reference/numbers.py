# SPDX-License-Identifier: Apache-2.0
"""Slow twins of the measures of numbers: one cell, one row, one pair of columns after the other."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, sqrt
from statistics import mean, pstdev, stdev

Rows = Sequence[Sequence[float]]


def varied(before: Rows) -> list[int]:
    """The columns that are not constant."""
    return [a for a in range(len(before[0])) if len({row[a] for row in before}) > 1]


def sse_sst(before: Rows, after: Rows) -> float:
    """Squared error over the sum of squares, columns divided by their population deviation."""
    error, whole = 0.0, 0.0
    for a in varied(before):
        spread, middle = pstdev(row[a] for row in before), mean(row[a] for row in before)
        for x, y in zip(before, after, strict=True):
            error += ((x[a] - y[a]) / spread) ** 2
            whole += ((x[a] - middle) / spread) ** 2
    return error / whole


def il1s_sum(before: Rows, after: Rows) -> float:
    """Sum of distances of cells, over the square root of 2 and the deviation."""
    total = 0.0
    for a in varied(before):
        spread = stdev(row[a] for row in before)
        total += sum(abs(x[a] - y[a]) / (sqrt(2) * spread) for x, y in zip(before, after, strict=True))
    return total


def correlation(rows: Rows, a: int, b: int) -> float:
    """Pearson's correlation of two columns."""
    one, two = ([row[each] for row in rows] for each in (a, b))
    middle, other = mean(one), mean(two)
    shared = sum((x - middle) * (y - other) for x, y in zip(one, two, strict=True))
    return shared / sqrt(sum((x - middle) ** 2 for x in one) * sum((y - other) ** 2 for y in two))


def d_risk(before: Rows, after: Rows, kappa: float) -> float:
    """Share of rows with every number near the released one."""
    reach = [kappa * stdev(row[a] for row in after) for a in range(len(after[0]))]
    inside = [
        all(abs(x[a] - y[a]) <= reach[a] for a in range(len(reach)))
        for x, y in zip(before, after, strict=True)
    ]
    return sum(inside) / len(inside)


def linkage(before: Rows, after: Rows) -> float:
    """Expected share of rows whose nearest released row is their own."""
    columns = varied(before)
    spread = {a: pstdev(row[a] for row in before) for a in columns}
    found = 0.0
    for i, x in enumerate(before):
        away = [sum(((x[a] - y[a]) / spread[a]) ** 2 for a in columns) for y in after]
        nearest = [j for j, d in enumerate(away) if d <= min(away) * (1 + 1e-12)]
        found += (i in nearest) / len(nearest)
    return found / len(before)


def logistic(rows: Rows, label: Sequence[int], steps: int = 4000) -> list[float]:
    """Chances by plain ascent of the likelihood on standardized columns."""
    columns = varied(rows)
    middle = {a: mean(row[a] for row in rows) for a in columns}
    spread = {a: pstdev(row[a] for row in rows) for a in columns}
    design = [[1.0, *((row[a] - middle[a]) / spread[a] for a in columns)] for row in rows]
    weights = [0.0] * len(design[0])
    chances = [0.5] * len(rows)
    for _ in range(steps):
        chances = [1 / (1 + exp(-sum(w * x for w, x in zip(weights, row, strict=True)))) for row in design]
        for a in range(len(weights)):
            gain = sum((y - p) * row[a] for y, p, row in zip(label, chances, design, strict=True))
            weights[a] += gain * 2 / len(rows)
    return chances
