# SPDX-License-Identifier: Apache-2.0
"""Twins of `anoncore.divergence`: dense distributions as fractions, definitions word for word."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise


def _dense(
    offsets: Sequence[int], values: Sequence[int], counts: Sequence[int], n_values: int
) -> Iterator[list[int]]:
    for start, stop in pairwise(offsets):
        row = [0] * n_values
        for i in range(int(start), int(stop)):
            row[int(values[i])] = int(counts[i])
        yield row


def _shares(counts: Sequence[int]) -> list[Fraction]:
    total = sum(int(count) for count in counts)
    return [Fraction(int(count), total) for count in counts]


def concentration(offsets: Sequence[int], counts: Sequence[int]) -> list[tuple[object, ...]]:
    """Per class: size, largest count, entropy, the bound of c at l = 2..5, the greatest l at c = 3."""
    results = []
    for start, stop in pairwise(offsets):
        ranked = sorted((int(count) for count in counts[start:stop]), reverse=True)
        shares = [float(share) for share in _shares(ranked)]
        tails = [sum(ranked[first - 1 :]) for first in range(1, len(ranked) + 1)]
        bounds = [ranked[0] / tails[i - 1] if i <= len(ranked) else math.inf for i in (2, 3, 4, 5)]
        allowed = [i + 1 for i, tail in enumerate(tails) if ranked[0] < 3 * tail]
        entropy = -math.fsum(share * math.log(share) for share in shares)
        results.append((sum(ranked), ranked[0], entropy, bounds, max([1, *allowed])))
    return results


def distances(
    offsets: Sequence[int], values: Sequence[int], counts: Sequence[int], table_counts: Sequence[int]
) -> list[tuple[float, ...]]:
    """Per class: JS, half the sum of |p - q|, max |ln p/q|, of those present, the greatest gain, enhanced."""
    table = _shares(table_counts)
    results = []
    for row in _dense(offsets, values, counts, len(table)):
        pairs = list(zip(_shares(row), table, strict=True))
        kl_p = math.fsum(float(p) * math.log(2 * p / (p + q)) for p, q in pairs if p)
        kl_q = math.fsum(float(q) * math.log(2 * q / (p + q)) for p, q in pairs if q)
        equal = sum(abs(p - q) for p, q in pairs) / 2
        quotient = max(abs(math.log(p / q)) if p else math.inf for p, q in pairs if q)
        present = max(abs(math.log(p / q)) for p, q in pairs if p)
        gains = [((p - q) / q, -math.log(q)) for p, q in pairs if p > q]
        gain = max((float(g) for g, _ in gains), default=0.0)
        beyond = any(g > limit + 1e-12 for g, limit in gains)
        enhanced = math.inf if beyond else gain
        results.append(((kl_p + kl_q) / 2, float(equal), quotient, present, gain, enhanced))
    return results


def ordered(
    offsets: Sequence[int], values: Sequence[int], counts: Sequence[int], table_counts: Sequence[int]
) -> list[float]:
    """Per class: 1/(m - 1) times the sum of the absolute cumulative differences."""
    table = _shares(table_counts)
    results = []
    for row in _dense(offsets, values, counts, len(table)):
        shares = _shares(row)
        ahead = [abs(sum(shares[: i + 1]) - sum(table[: i + 1])) for i in range(len(table))]
        results.append(float(sum(ahead) / (len(table) - 1)) if len(table) > 1 else 0.0)
    return results


def hierarchical(
    offsets: Sequence[int],
    values: Sequence[int],
    counts: Sequence[int],
    table_counts: Sequence[int],
    parent: Sequence[int],
    depth: Sequence[int],
    leaf: Sequence[int],
) -> list[float]:
    """Per class: over inner nodes, level share times the smaller of gains and losses of the children."""
    table = _shares(table_counts)
    height = max(int(d) for d in depth)

    def below(node: int, amounts: Sequence[Fraction]) -> Fraction:
        total = Fraction(0)
        for code, amount in enumerate(amounts):
            above = int(leaf[code])
            while above >= 0:
                if above == node:
                    total += amount
                above = int(parent[above])
        return total

    results = []
    for row in _dense(offsets, values, counts, len(table)):
        surplus = [p - q for p, q in zip(_shares(row), table, strict=True)]
        moved = Fraction(0)
        for node in range(len(parent)):
            children = [below(child, surplus) for child in range(len(parent)) if parent[child] == node]
            gains = sum((d for d in children if d > 0), Fraction(0))
            losses = sum((-d for d in children if d < 0), Fraction(0))
            moved += (height - int(depth[node])) * min(gains, losses)
        results.append(float(moved / height) if height else 0.0)
    return results
