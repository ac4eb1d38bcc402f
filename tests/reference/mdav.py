# SPDX-License-Identifier: Apache-2.0
"""Slow twin of `anoncore.mdav`: every row is compared with every other, every partition with every other.

Attributes are dicts as in `reference.diversity`, with a `weight`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from math import fsum
from typing import Any

from reference.diversity import width

Row = Sequence[Any]


def rounds(
    n: int, k: int, furthest: Callable[[list[int]], int], apart: Callable[[int, int], float]
) -> list[list[int]]:
    """The groups of MDAV; `furthest` of some rows is the one furthest from their middle."""
    left, groups = list(range(n)), []

    def take(row: int) -> None:
        group = sorted(left, key=lambda other: (apart(row, other), other))[:k]
        groups.append(sorted(group))
        left[:] = [each for each in left if each not in group]

    while len(left) >= 2 * k:
        r = furthest(left)
        if len(left) < 3 * k:
            take(r)
            break
        s = min(left, key=lambda row: (-apart(r, row), row))
        take(r)
        take(s)
    return [*groups, left] if left else groups


def mdav(points: Sequence[Row], weights: Sequence[float], k: int) -> list[list[int]]:
    """Groups of rows of numbers."""

    def distance(row: Row, place: Sequence[float], scale: int = 1) -> float:
        total = 0.0
        for x, y, weight in zip(row, place, weights, strict=True):
            total += weight * (scale * x - y) ** 2
        return total

    def furthest(left: list[int]) -> int:
        sums = [fsum(points[row][a] for row in left) for a in range(len(weights))]
        return min(left, key=lambda row: (-distance(points[row], sums, len(left)), row))

    return rounds(len(points), k, furthest, lambda one, two: distance(points[two], points[one]))


def gower(codes: Sequence[Row], attributes: Sequence[dict[str, Any]], k: int) -> list[list[int]]:
    """Groups of rows of codes."""

    def apart(one: int, two: int) -> float:
        total = 0.0
        for a, attribute in enumerate(attributes):
            pair = [codes[one][a], codes[two][a]]
            total += width(attribute, pair, "byun", attribute["weight"])
        return total

    def furthest(left: list[int]) -> int:
        medoid = min(left, key=lambda row: (fsum(apart(row, other) for other in left), row))
        return min(left, key=lambda row: (-apart(medoid, row), row))

    return rounds(len(codes), k, furthest, apart)


def optimal(values: Sequence[Any], k: int) -> list[int]:
    """Where the best groups begin and end, of all partitions of sorted values into runs."""
    numbers = [Fraction(value) for value in values]

    def error(begin: int, end: int) -> Fraction:
        part = numbers[begin:end]
        return sum((x * x for x in part), Fraction(0)) - sum(part) ** 2 / len(part)

    def partitions(begin: int) -> Iterator[list[int]]:
        left = len(numbers) - begin
        if left < 2 * k:
            yield [begin]
        for size in range(k, min(2 * k, left - k + 1)):
            yield from ([begin, *rest] for rest in partitions(begin + size))

    def rank(starts: list[int]) -> tuple[Fraction, list[int]]:
        ends = [*starts[1:], len(numbers)]
        return sum(map(error, starts, ends), Fraction(0)), [b - e for b, e in zip(starts, ends, strict=True)]

    return [*min(partitions(0), key=rank), len(numbers)]
