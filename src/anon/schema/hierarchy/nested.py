# SPDX-License-Identifier: Apache-2.0
"""Levels of numbers that nest, as a tree."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from anon.schema.hierarchy.declared import Hierarchy, Intervals
from anon.schema.hierarchy.levels import Levels
from anon.schema.hierarchy.tree import Tree, readonly


@dataclass(frozen=True, repr=False)
class NestedLevels:
    """The tree of levels that nest: its leaves are the finest level's sets, its root the whole domain.

    Code c of the domain lies in leaf `leaf_of_code[c]` (uint32). `widths[v]` (float64) is how much wider
    than a leaf node v is, as a share of the domain: what rows lose beside what all lose by the finest level.
    """

    tree: Tree
    leaf_of_code: npt.NDArray[np.uint32]
    widths: npt.NDArray[np.float64]


def nested(
    hierarchy: Hierarchy | None, levels: Levels | None, positions: npt.NDArray[np.float64] | None
) -> NestedLevels | None:
    """The levels of a numeric attribute as a tree; None where they do not nest, or there are none."""
    if levels is None or positions is None or not len(positions) or crossing(hierarchy, levels):
        return None
    n = len(positions)
    of_code = [row for row in levels.of_code if (row >= 0).all()]
    if not of_code:  # no set is smaller than the domain
        of_code = [np.zeros(n, np.int32)]
        labels, first, last, level = ["*"], [0], [n - 1], [0]
        reach = [0.0]
    else:
        labels, first, last, level, reach = ["*"], [0], [n - 1], [len(of_code)], [1.0]
        length = float(positions[-1]) or 1.0
        for g, row in enumerate(of_code):
            starts = np.flatnonzero(np.append(True, row[1:] != row[:-1]))
            if len(starts) != len(np.unique(row)):
                return None  # values of a set that do not follow each other
            labels += [levels.labels[s] for s in row[starts]]
            first += starts.tolist()
            last += [*(starts[1:] - 1).tolist(), n - 1]
            level += [g] * len(starts)
            reach += ((levels.upper[row[starts]] - levels.lower[row[starts]]) / length).tolist()
    order = sorted(range(len(first)), key=lambda v: (first[v], -level[v]))  # preorder
    finest = of_code[0]
    leaf_of_code = np.cumsum(np.append(False, finest[1:] != finest[:-1])).astype(np.uint32)
    parent, path = np.full(len(order), -1, np.int32), [-1]
    depth = np.zeros(len(order), np.int32)
    for number, v in enumerate(order):
        while len(path) > 1 and last[order[path[-1]]] < first[v]:
            path.pop()
        if len(path) > 1 and last[v] > last[order[path[-1]]]:
            return None  # lies in two sets of the level above
        parent[number], depth[number] = path[-1], len(path) - 1
        path.append(number)
    is_leaf = np.array([level[v] == 0 for v in order])
    least = max((reach[v] for v in order if level[v] == 0), default=0.0)
    widths = np.array([0.0 if level[v] == 0 else max(reach[v] - least, 0.0) for v in order])
    for number in range(len(order) - 1, 0, -1):  # no set is less wide than its part
        widths[parent[number]] = max(widths[parent[number]], widths[number])
    tree = Tree(
        tuple(labels[v] for v in order),
        readonly(parent),
        readonly(leaf_of_code[[first[v] for v in order]].astype(np.int32)),
        readonly(leaf_of_code[[last[v] for v in order]].astype(np.int32)),
        readonly(depth),
        readonly(np.flatnonzero(is_leaf).astype(np.int32)),
    )
    return NestedLevels(tree, leaf_of_code, readonly(widths))


def crossing(hierarchy: Hierarchy | None, levels: Levels) -> tuple[Any, Any, Intervals] | None:
    """Two widths that do not nest, of those that part the domain, and the nearest intervals that do; None
    where all nest.
    """
    if not isinstance(hierarchy, Intervals):
        return None
    shown = {levels.names[g] for g in set(levels.level.tolist())}
    widths = [width for width in sorted(hierarchy.widths) if str(width) in shown]
    mended, found = widths[:1], None
    for finer, width in pairwise(widths):
        if Fraction(str(width)) % Fraction(str(finer)):
            found = found or (finer, width)
        step = Fraction(str(mended[-1]))
        times = max(round(Fraction(str(width)) / step), 2)
        near = step * times
        mended.append(int(near) if near.denominator == 1 else float(near))
    return None if found is None else (*found, Intervals(tuple(mended)))
