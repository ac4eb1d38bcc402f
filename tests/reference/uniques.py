# SPDX-License-Identifier: Apache-2.0
"""Twin of `anon.classes.uniques`: whole numbers, and sums of single terms."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction


def zayatz(histogram: Mapping[int, int], people: int) -> float:
    n = sum(size * count for size, count in histogram.items())
    u = sum(histogram.values())
    alone = histogram.get(1, 0)

    def once(size: int) -> Fraction:
        if size > people or n - 1 > people - size:
            return Fraction(0)
        return Fraction(size * math.comb(people - size, n - 1), math.comb(people, n))

    total = sum((Fraction(count, u) * once(size) for size, count in histogram.items()), Fraction(0))
    return float(Fraction(alone * people, n) * Fraction(alone, u) * once(1) / total) if alone else 0.0


def likelihood(histogram: Mapping[int, int], theta: float, alpha: float) -> float:
    """Logarithm of the Ewens-Pitman sampling formula, up to what does not depend on the parameters."""
    n = sum(size * count for size, count in histogram.items())
    u = sum(histogram.values())
    terms = [math.log(theta + l * alpha) for l in range(1, u)]
    terms += [-math.log(theta + i) for i in range(1, n)]
    for size, count in histogram.items():
        terms += [count * math.log(l - alpha) for l in range(1, size)]
    return math.fsum(terms)


def shlosser(histogram: Mapping[int, int], pi: float) -> float:
    def total(term: object) -> float:
        return math.fsum(count * term(size) for size, count in histogram.items())  # type: ignore[operator]

    first = total(lambda i: i * pi**2 * (1 - pi**2) ** (i - 1))
    second = total(lambda i: (1 - pi) ** i * ((1 + pi) ** i - 1))
    third = total(lambda i: (1 - pi) ** i) / total(lambda i: i * pi * (1 - pi) ** (i - 1))
    return sum(histogram.values()) + histogram.get(1, 0) * first / second * third**2


def snb_counts(classes: float, pi: float, alpha: float, beta: float) -> tuple[float, float]:
    """Expected classes with one and two rows in the sample."""
    y = (1 - pi) * (1 - beta)
    one = classes * pi * (beta / (1 - y)) ** alpha * (1 + alpha * y / (1 - y))
    two = classes * alpha * beta**alpha * pi**2 * (1 - beta) / 2
    return one, two * (1 - y) ** -(alpha + 2) * (2 - (1 - alpha) * y)


def thinned(histogram: Mapping[int, int], pi: float) -> float:
    """Normal equations of the quadratic through (0, ln n_1), by Cramer's rule."""
    logs = [math.log(0.5) * (1 - step / 40) for step in range(40)]
    sums = {"11": 0.0, "12": 0.0, "22": 0.0, "y1": 0.0, "y2": 0.0}
    for x in logs:
        s = math.exp(x)
        unique = math.fsum(count * size * s * (1 - s) ** (size - 1) for size, count in histogram.items())
        y = math.log(unique / histogram[1])
        for name, term in (("11", x * x), ("12", x**3), ("22", x**4), ("y1", x * y), ("y2", x * x * y)):
            sums[name] += unique * term
    determinant = sums["11"] * sums["22"] - sums["12"] ** 2
    slope = (sums["y1"] * sums["22"] - sums["y2"] * sums["12"]) / determinant
    curve = (sums["11"] * sums["y2"] - sums["12"] * sums["y1"]) / determinant
    far = -math.log(pi)
    return histogram[1] * math.exp(slope * far + curve * far * far)
