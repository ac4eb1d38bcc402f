# SPDX-License-Identifier: Apache-2.0
"""Twin of `anon.classes.individual` and `anon.measures.frequencies`: sums term by term, rows one by one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any


def individual_risk(f: int, population: float) -> float:
    """E(1/h), h negative binomial: the sum over h >= f of (1/h) C(h - 1, f - 1) p^f q^(h - f)."""
    p = f / population
    q = 1 - p
    terms, chance, h = [], p**f, f
    while chance > 1e-18 * p**f or h * q < 2 * f:
        terms.append(chance / h)
        chance *= q * h / (h + 1 - f)
        h += 1
        if chance == 0:
            break
    return math.fsum(terms)


def household_risk(risk: Sequence[float], members: Sequence[int]) -> list[float]:
    found = []
    for each in members:
        missed = math.prod(1 - Fraction(r) for r, other in zip(risk, members, strict=True) if other == each)
        found.append(float(1 - missed))
    return found


def frequencies(
    rows: Sequence[tuple[Any, ...]],
    weights: Sequence[float],
    alpha: float,
    own: bool = False,
    sdcmicro: bool = False,
) -> list[tuple[float, float]]:
    """(f, F) of each row; None is null, and a match with an unequal row that holds one weighs alpha."""
    counted = []
    for row in rows:
        empty = all(cell is None for cell in row) and not own
        f = people = 0.0
        for other, weight in zip(rows, weights, strict=True):
            share = 1.0
            if other != row:
                if own or any(None not in (a, b) and a != b for a, b in zip(row, other, strict=True)):
                    continue
                if all(cell is None for cell in other) and not (sdcmicro and None in row):
                    continue
                share = alpha if None in other else 1.0
            f, people = f + share, people + share * weight
        if empty:
            f, people = (len(rows), sum(weights)) if sdcmicro else (0.0, 0.0)
        counted.append((float(f), max(float(people), float(f))))
    return counted
