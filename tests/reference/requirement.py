# SPDX-License-Identifier: Apache-2.0
"""The requirements, straight from their definitions, over whole domains."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from math import log
from typing import Any

Counts = Sequence[int]  # rows with every value of the domain, absent ones 0


def passing_classes(
    table_counts: Sequence[Counts],
    n_rows: int,
    rules: Sequence[tuple[Any, ...]],
    classes: Sequence[Sequence[Counts]],
) -> list[bool]:
    """Does each class (per sensitive attribute: counts over the domain) pass every rule?"""
    return [all(passes(table_counts, n_rows, rule, counts) for rule in rules) for counts in classes]


def passes(
    table_counts: Sequence[Counts], n_rows: int, rule: tuple[Any, ...], counts: Sequence[Counts]
) -> bool:
    kind, *rest = rule
    size = sum(counts[0])
    if kind == "size":
        return size >= rest[0]
    if kind == "s_diversity":
        bound, r, lines = rest
        return s_diversity(table_counts, r, lines, counts) <= bound + 1e-9
    a, x = rest[0], rest[1]
    c = counts[a]
    t = table_counts[a]
    p = [Fraction(count, size) for count in c]
    q = [Fraction(count, n_rows) for count in t]
    if kind == "distinct":
        return sum(count > 0 for count in c) >= x
    if kind == "share":
        return max(p) <= x
    if kind == "recursive":
        ranked = sorted(c, reverse=True)
        return rest[2] == 1 or ranked[0] < x * sum(ranked[rest[2] - 1 :])
    if kind == "entropy":
        return -sum(float(s) * log(s) for s in p if s) >= log(x) - 1e-12
    if kind == "js":
        return js(p, q) <= x + 1e-12
    if kind == "equal":
        return sum(abs(s - u) for s, u in zip(p, q, strict=True)) / 2 <= x
    if kind == "ordered":
        return ordered(p, q) <= x
    if kind == "hierarchical":
        return hierarchical(p, q, rest[2]) <= x
    if kind == "delta":
        return all(s > 0 and abs(log(s / u)) < x - 1e-12 for s, u in zip(p, q, strict=True) if u)
    if kind == "delta_present":
        return all(u > 0 and abs(log(s / u)) < x - 1e-12 for s, u in zip(p, q, strict=True) if s)
    if kind in ("beta", "enhanced_beta"):
        for s, u in zip(p, q, strict=True):
            if s > u:
                gain = (s - u) / u
                if gain > x or (kind == "enhanced_beta" and gain > -log(u) + 1e-12):
                    return False
        return True
    raise ValueError(kind)


def js(p: Sequence[Fraction], q: Sequence[Fraction]) -> float:
    def kl(a: Sequence[Fraction], b: Sequence[Fraction]) -> float:
        return sum(float(s) * log(s / u) for s, u in zip(a, b, strict=True) if s)

    m = [(s + u) / 2 for s, u in zip(p, q, strict=True)]
    return (kl(p, m) + kl(q, m)) / 2


def ordered(p: Sequence[Fraction], q: Sequence[Fraction]) -> Fraction:
    """Over the ranks of the values that the table has."""
    gaps = [s - u for s, u in zip(p, q, strict=True) if u]
    if len(gaps) == 1:
        return Fraction(0)
    return sum(abs(gap) for gap in accumulate(gaps)) / (len(gaps) - 1)


def hierarchical(p: Sequence[Fraction], q: Sequence[Fraction], tree: Any) -> Fraction:
    """`tree` = (parent, first, last, depth, leaf), pruned here to the values that the table has."""
    parent, first, last, depth, leaf = ([int(x) for x in part] for part in tree)
    kept = [code for code in range(len(leaf)) if q[code]]

    def below(node: int) -> list[int]:
        return [code for code in kept if first[node] <= code <= last[node]]

    root = max(v for v in range(len(parent)) if below(v) == kept)  # the deepest: parents come first
    height = max(depth[leaf[code]] for code in kept) - depth[root]
    if height == 0:
        return Fraction(0)
    total = Fraction(0)
    for node in range(len(parent)):
        extra = [
            sum(p[code] - q[code] for code in below(child))
            for child in range(len(parent))
            if parent[child] == node
        ]
        gains, losses = sum(max(e, 0) for e in extra), sum(max(-e, 0) for e in extra)
        total += Fraction(height - (depth[node] - depth[root]), height) * min(gains, losses)
    return total


def s_diversity(
    table_counts: Sequence[Counts], r: float, lines: Sequence[Any], counts: Sequence[Counts]
) -> float:
    """Sum over the attributes named in `lines` of the mean closeness over ordered pairs of rows."""
    total = 0.0
    for a, line in lines:
        present = [code for code, count in enumerate(table_counts[a]) if count]
        rows = [code for code, count in enumerate(counts[a]) for _ in range(count)]
        pairs = [closeness(i, j, present, line) for i in rows for j in rows]
        total += sum(pc for pc in pairs if pc >= 1 - r - 1e-9) / len(pairs)
    return total


def closeness(i: int, j: int, present: Sequence[int], line: Any) -> float:
    if i == j:
        return 1.0
    if line is None:
        return 1 / len(present)
    if isinstance(line, tuple):
        _, first, last, _, _ = line
        leaves = min(
            sum(f <= code <= g for code in present)
            for f, g in zip(first, last, strict=True)
            if f <= min(i, j) and max(i, j) <= g
        )
        return 1 - (leaves - 1) / len(present)
    places = [line[code] for code in present]
    return float(1 - abs(line[i] - line[j]) / (max(places) - min(places)))
