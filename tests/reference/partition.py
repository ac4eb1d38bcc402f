# SPDX-License-Identifier: Apache-2.0
"""Mondrian in plain Python, straight from the definitions; recursive and slow."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

Row = Sequence[int]


@dataclass
class Attribute:
    """One quasi-identifier. `positions` makes it ordered, `parent`/`leaf` a tree, neither a flat set.

    `parent[v]` is the parent of node v (-1 above the root), `leaf[c]` the node of code c. Code
    `n_values` is null.
    """

    n_values: int
    weight: float = 1.0
    positions: Sequence[float] | None = None
    parent: Sequence[int] | None = None
    leaf: Sequence[int] | None = None

    def path(self, code: int) -> list[int]:
        """Nodes from the root to a leaf."""
        assert self.parent is not None
        assert self.leaf is not None
        nodes = [self.leaf[code]]
        while self.parent[nodes[0]] >= 0:
            nodes.insert(0, self.parent[nodes[0]])
        return nodes

    def common(self, codes: set[int]) -> list[int]:
        """Nodes from the root to the lowest common ancestor."""
        paths = [self.path(code) for code in codes]
        together = []
        for nodes in zip(*paths, strict=False):
            if len(set(nodes)) > 1:
                break
            together.append(nodes[0])
        return together

    def leaves(self, node: int) -> int:
        """Number of codes below a node."""
        return sum(node in self.path(code) for code in range(self.n_values))

    def child(self, codes: set[int], code: int) -> int:
        """The child of the codes' lowest common ancestor above one of them (itself if it is a leaf)."""
        nodes, path = self.common(codes), self.path(code)
        return path[min(len(nodes), len(path) - 1)]

    def width(self, present: set[int]) -> float:
        """Normalized width times the weight."""
        values = present - {self.n_values}
        if len(present) == 1:
            return 0.0
        if values != present:
            return self.weight
        if self.positions is not None:
            span = self.positions[self.n_values - 1] - self.positions[0]
            return (self.positions[max(values)] - self.positions[min(values)]) / span * self.weight
        if self.parent is not None:
            return (self.leaves(self.common(values)[-1]) - 1) / (self.n_values - 1) * self.weight
        return (len(values) - 1) / (self.n_values - 1) * self.weight


def best_cut(
    codes: Sequence[Row],
    attributes: Sequence[Attribute],
    node: list[int],
    order: Sequence[int],
    passes: Callable[[list[int]], bool],
    *,
    target: Sequence[int] | None = None,
    nearest: bool = True,
    rival: bool = False,
    relaxed: bool = False,
) -> list[list[int]] | None:
    """The parts of a node whose attributes are tried in this order; with a target of all the purest."""

    def split_at(a: int, value: int) -> list[list[int]]:
        return [[r for r in node if codes[r][a] < value], [r for r in node if codes[r][a] >= value]]

    def allowed(parts: list[list[int]]) -> bool:
        return all(part and passes(part) for part in parts)

    def cut(a: int) -> list[list[int]] | None:
        attribute, n = attributes[a], len(node)
        present = sorted({codes[r][a] for r in node})
        ranked = sorted(node, key=lambda r: codes[r][a])
        middle = codes[ranked[math.ceil(n / 2) - 1]][a]
        tries = []
        if len(present) == 1:
            return None
        if attribute.parent is not None:
            values = set(present) - {attribute.n_values}
            child = {v: attribute.child(values, v) for v in values}
            if nearest and not relaxed:
                for value in present[1:]:
                    below = {child[v] for v in values if v < value}
                    above = {child[v] for v in values if v >= value}
                    if not below & above and min(len(below), len(above)) <= 1:
                        tries.append(split_at(a, value))
                tries.sort(key=lambda parts: (abs(2 * len(parts[0]) - n), len(parts[0])))
            many: dict[int, list[int]] = {}
            for r in ranked:
                many.setdefault(child.get(codes[r][a], -1), []).append(r)
            tries.append([[r for r in node if r in set(part)] for part in many.values()])
        elif relaxed:
            left = set(ranked[: math.ceil(n / 2)])
            tries.append([[r for r in node if r in left], [r for r in node if r not in left]])
        elif nearest:
            tries = [split_at(a, value) for value in present[1:]]
            tries.sort(key=lambda parts: (abs(2 * len(parts[0]) - n), len(parts[0])))
        else:
            tries = [split_at(a, middle + 1), split_at(a, middle)]
            if rival and all(map(allowed, tries)) and left_over(tries[1]) < left_over(tries[0]) - 1e-12:
                return tries[1]
        return next((parts for parts in tries if allowed(parts)), None)

    def entropy(part: list[int]) -> float:
        assert target is not None
        return sum(c / len(part) * math.log(len(part) / c) for c in Counter(target[r] for r in part).values())

    def left_over(parts: list[list[int]]) -> float:
        return sum(len(part) / len(node) * entropy(part) for part in parts)

    if target is None:
        return next((parts for a in order if (parts := cut(a)) is not None), None)
    best, least = None, math.inf
    for a in order:
        parts = cut(a)
        if parts is not None and left_over(parts) < least - 1e-12:
            best, least = parts, left_over(parts)
    return best


def turns(
    codes: Sequence[Row],
    attributes: Sequence[Attribute],
    node: list[int],
    chooser: str = "widest",
    priority: Sequence[int] = (),
) -> list[int]:
    """The attributes in the order in which they are tried."""

    def key(a: int) -> float:
        present = {codes[r][a] for r in node}
        if chooser == "information-gain":
            return 0
        if chooser == "most-repeated":
            return len(present)
        if chooser == "least-repeated":
            return -len(present)
        return -attributes[a].width(present)

    return [*priority, *sorted((a for a in range(len(attributes)) if a not in priority), key=key)]


def partition(
    codes: Sequence[Row],
    attributes: Sequence[Attribute],
    passes: Callable[[list[int]], bool],
    *,
    target: Sequence[int] | None = None,
    rows: Sequence[int] | None = None,
    chooser: str = "widest",
    priority: Sequence[int] = (),
    nearest: bool = True,
    rival: bool = False,
    relaxed: bool = False,
) -> list[list[int]]:
    """Classes, from left to right. `codes[row][a]`; `passes(rows of a part)` is the requirement."""

    def recurse(node: list[int]) -> list[list[int]]:
        order = turns(codes, attributes, node, chooser, priority)
        options: dict[str, Any] = {"target": target, "nearest": nearest, "rival": rival, "relaxed": relaxed}
        parts = best_cut(codes, attributes, node, order, passes, **options)
        if parts is None:
            return [node]
        return [found for part in parts for found in recurse(part)]

    everything = list(range(len(codes))) if rows is None else list(rows)
    return recurse(everything) if everything else []
