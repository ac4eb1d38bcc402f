# SPDX-License-Identifier: Apache-2.0
"""Slow twin of `anoncore.sse`: every error is summed anew over the pairs of a group, all cuts are tried.

Sums are exact where points are whole numbers; what is divided is divided in the order of the kernel, so that
what the two compare rounds alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from math import inf
from typing import Any

from reference.diversity import width

Point = Sequence[float]
Apart = Callable[[Any, Any], float]
Passes = Callable[[list[Any]], bool]
LEAST_GAIN = 1e-9
WORD = 2**64 - 1


def apart(one: Point, two: Point) -> float:
    return sum((x - y) ** 2 for x, y in zip(one, two, strict=True))


def mixed(x: int) -> int:
    x = x + 0x9E3779B97F4A7C15 & WORD
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & WORD
    x = (x ^ x >> 27) * 0x94D049BB133111EB & WORD
    return x ^ x >> 31


class Pool:
    """Points and the group of each, of k to `most`; `passes` says of sensitive values whether a group may
    have them, `values` are those of the points.
    """

    def __init__(
        self,
        points: Sequence[Point],
        labels: Sequence[int],
        k: int,
        distance: Apart = apart,
        most: int | None = None,
        passes: Passes = lambda values: True,
        values: Sequence[Any] = (),
    ) -> None:
        self.n, self.k, self.labels = len(points), k, list(labels)
        self.most, self.rule, self.values = most or 2 * k - 1, passes, values or [0] * self.n
        self.apart = [[distance(one, two) for two in points] for one in points]
        self.least = LEAST_GAIN * self.error()

    @property
    def n_groups(self) -> int:
        return max(self.labels) + 1

    def members(self, g: int) -> list[int]:
        return [i for i in range(self.n) if self.labels[i] == g]

    def far(self, i: int, g: int) -> float:
        """The distances of a row from those of a group."""
        return sum(self.apart[i][j] for j in self.members(g))

    def total(self, g: int) -> float:
        return sum(self.far(i, g) for i in self.members(g)) / 2

    def error(self) -> float:
        return sum((self.total(g) / len(self.members(g)) for g in range(self.n_groups)), 0.0)

    def grown(self, i: int, g: int) -> float:
        """What group g gains in error by row i."""
        n, total = len(self.members(g)), self.total(g)
        return (total + self.far(i, g)) / (n + 1) - total * (1.0 / n)

    def passes(self, group: list[int]) -> bool:
        return self.rule([self.values[i] for i in group])

    def fair(self, g: int, out: int, into: int) -> bool:
        """Whether group g passes without one row, and with another; those of equal values may change."""
        if out >= 0 and into >= 0 and self.values[out] == self.values[into]:
            return True
        return self.passes([i for i in self.members(g) if i != out] + [into] * (into >= 0))

    def step(self, i: int) -> bool:
        """The best move or swap of row i after which both groups pass, if any gains."""
        a, k = self.labels[i], self.k
        own, n, total = self.far(i, a), len(self.members(a)), self.total(a)
        best, way = -self.least, None
        if n > k:
            shrunk = (total - own) / (n - 1) - total * (1.0 / n)
            for b in range(self.n_groups):
                room = b != a and len(self.members(b)) < self.most
                if room and shrunk + self.grown(i, b) < best and self.fair(a, i, -1) and self.fair(b, -1, i):
                    best, way = shrunk + self.grown(i, b), (b, -1)
        far = [self.far(i, b) for b in range(self.n_groups)]
        for j in range(self.n):
            b, d = self.labels[j], self.apart[i][j]
            if b != a:
                here = (self.far(j, a) - own - d) * (1.0 / n)
                there = (far[b] - self.far(j, b) - d) * (1.0 / len(self.members(b)))
                if here + there < best and self.fair(a, i, j) and self.fair(b, j, i):
                    best, way = here + there, (b, j)
        if way is None:
            return False
        self.labels[i] = way[0]
        if way[1] >= 0:
            self.labels[way[1]] = a
        return True

    def descend(self) -> float:
        i = since = 0
        while since < self.n:
            since = 0 if self.step(i) else since + 1
            i = (i + 1) % self.n
        return self.error()

    def deal(self) -> bool:
        left, groups = list(range(self.n)), 0
        while left:
            r = min(left, key=lambda i: (-sum(self.apart[i][j] for j in left), i))
            near = sorted(left, key=lambda i: (i != r, self.apart[r][i], i))
            n = len(near) if len(near) < 2 * self.k else self.k
            while n < len(near) and (len(near) - n < self.k or not self.passes(near[:n])):
                n += 1
            for i in near[:n]:
                self.labels[i] = groups
            left = [i for i in left if i not in near[:n]]
            groups += 1
        return all(len(self.members(g)) <= self.most and self.passes(self.members(g)) for g in range(groups))

    def line_up(self) -> bool:
        r = min(range(self.n), key=lambda i: (-sum(self.apart[i]), i))
        s = min(range(self.n), key=lambda i: (-self.apart[r][i], i))
        order = sorted(range(self.n), key=lambda i: (self.apart[r][i] - self.apart[s][i], i))
        cost, step = [inf] * self.n + [0.0], [0] * self.n
        for i in reversed(range(self.n)):
            for size in range(self.k, min(self.most, self.n - i) + 1):
                run = order[i : i + size]
                x = sum(self.apart[one][two] for one in run for two in run) / 2 / size + cost[i + size]
                if x < cost[i] and self.passes(run):
                    cost[i], step[i] = x, size
        if cost[0] == inf:
            return False
        at = groups = 0
        while at < self.n:
            for i in order[at : at + step[at]]:
                self.labels[i] = groups
            at, groups = at + step[at], groups + 1
        return True

    def dissolve(self) -> bool:
        last = self.n_groups - 1
        if last < 1 or self.n > last * self.most:
            return False

        def gain(i: int, b: int) -> float:
            n, total = len(self.members(b)), self.total(b)
            return (total + self.far(i, b)) / (n + 1) - total / n

        for i in self.members(0):
            free = [b for b in range(1, last + 1) if len(self.members(b)) < self.most]
            free = [b for b in free if self.fair(b, -1, i)]
            if not free:
                return False
            self.labels[i] = min(free, key=lambda b: (gain(i, b), b))
        self.labels = [0 if g == last else g for g in self.labels]
        return True

    def again(self) -> bool:
        """Whether the labels were bettered."""
        before = best = self.error()
        kept = self.labels.copy()

        def keep() -> None:
            nonlocal best, kept
            error = self.descend()
            if error < best - self.least:
                best, kept = error, self.labels.copy()

        if before <= 0:
            return False
        keep()
        for anew in (self.deal, self.line_up):
            if anew():
                keep()
        if best < before:
            self.labels = kept.copy()
            if self.dissolve():
                keep()
        self.labels = kept
        return best < before


def mean(points: Sequence[Point]) -> Point:
    return [sum(column) / len(points) for column in zip(*points, strict=True)]


def refine(
    points: Sequence[Point],
    groups: Sequence[list[int]],
    k: int,
    q: int,
    tried: Sequence[int],
    seeds: Sequence[int],
    distance: Apart = apart,
    middle: Callable[[Sequence[Point]], Point] = mean,
    most: int | None = None,
    passes: Passes = lambda values: True,
    sensitive: Sequence[Any] = (),
) -> tuple[list[list[int]], list[int]]:
    """The groups, and the name of the pool last tried with each."""
    n_most = sum(map(len, groups)) // k
    slots = [*map(list, groups), *([] for _ in range(n_most - len(groups)))]
    marks, begun = [*tried, *[0] * (n_most - len(tried))], [*seeds, *[1] * (n_most - len(seeds))]

    def center(g: int) -> Point:
        return middle([points[row] for row in slots[g]])

    for g in range(n_most):
        if not slots[g] or not begun[g]:
            continue
        others = [h for h in range(n_most) if slots[h] and h != g]
        near = [g, *sorted(others, key=lambda h: (distance(center(g), center(h)), h))[:q]]
        name = sum(mixed(sum(map(mixed, slots[h])) & WORD) for h in near) & WORD
        if len(near) == 1 or name == marks[g]:
            continue
        marks[g] = name
        rows = [row for h in near for row in slots[h]]
        labels = [i for i, h in enumerate(near) for _ in slots[h]]
        values = [sensitive[row] for row in rows] if sensitive else []
        pool = Pool([points[row] for row in rows], labels, k, distance, most, passes, values)
        if not pool.again():
            continue
        near += [h for h in range(n_most) if not slots[h]][: max(pool.n_groups - len(near), 0)]
        for i, h in enumerate(near):
            slots[h] = [row for row, label in zip(rows, pool.labels, strict=True) if label == i]
            marks[h] = 0
    live = [g for g in range(n_most) if slots[g]]
    return [slots[g] for g in live], [marks[g] for g in live]


def gower_of(attributes: Sequence[dict[str, Any]]) -> Apart:
    """Gower's distance of two rows of codes."""

    def distance(one: Sequence[int], two: Sequence[int]) -> float:
        total = 0.0
        for x, y, attribute in zip(one, two, attributes, strict=True):
            total += width(attribute, [x, y], "byun", attribute["weight"])
        return total

    return distance


def gower(
    codes: Sequence[Point],
    attributes: Sequence[dict[str, Any]],
    groups: Sequence[list[int]],
    k: int,
    q: int,
    tried: Sequence[int],
    seeds: Sequence[int],
    most: int | None = None,
    passes: Passes = lambda values: True,
    sensitive: Sequence[Any] = (),
) -> tuple[list[list[int]], list[int]]:
    """The same for rows of codes."""
    distance = gower_of(attributes)

    def medoid(rows: Sequence[Point]) -> Point:
        return min(rows, key=lambda row: sum(distance(row, other) for other in rows))

    return refine(codes, groups, k, q, tried, seeds, distance, medoid, most, passes, sensitive)


def spread(
    codes: Sequence[Point], attributes: Sequence[dict[str, Any]], groups: Sequence[list[int]]
) -> list[float]:
    """The error of each group: the distances of its pairs over its rows."""
    distance = gower_of(attributes)
    totals = [
        sum(distance(codes[one], codes[two]) for i, one in enumerate(group) for two in group[:i])
        for group in groups
    ]
    return [total / len(group) for total, group in zip(totals, groups, strict=True)]


def error_of(points: Sequence[Point]) -> Fraction:
    """The squared error of one group."""
    total = Fraction(0)
    for column in zip(*points, strict=True):
        numbers = list(map(Fraction, column))
        total += sum(x * x for x in numbers) - sum(numbers) ** 2 / len(numbers)
    return total


def cut(points: Sequence[Point], k: int) -> list[int]:
    """Where the best runs begin, and the last ends."""
    n = len(points)

    def partitions(begin: int) -> Iterator[list[int]]:
        if begin == n:
            yield [n]
        for size in range(k, min(2 * k, n - begin + 1)):
            yield from ([begin, *rest] for rest in partitions(begin + size))

    def error(starts: list[int]) -> Fraction:
        return sum((error_of(points[begin:end]) for begin, end in pairwise(starts)), Fraction(0))

    return min(partitions(0), key=lambda starts: (error(starts), starts))
