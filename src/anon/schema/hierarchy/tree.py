# SPDX-License-Identifier: Apache-2.0
"""Generalization hierarchies: trees of labels for nominal attributes, levels of intervals for numbers.

What a user writes (`intervals`, `prefix`, `dates`, a nested dict, a CSV file) is a `Hierarchy`; it
knows no data. Resolved on a domain it becomes a `Tree` (nominal) or `Levels` (numeric).
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from anon.errors import DataError
from anon.schema.hierarchy.declared import CsvFile, Hierarchy, Listed, Prefix
from anon.schema.hierarchy.rows import hierarchy_rows, named, placed


@dataclass(frozen=True, repr=False)
class Tree:
    """A hierarchy of labels, pruned to the values of one domain.

    Nodes are numbered depth first (preorder), node 0 is the root; children keep the order of first
    appearance in the hierarchy. `labels[v]` is the node's label, `parent[v]` its parent (-1 for the
    root), `first[v]..last[v]` (inclusive) the codes of the leaves below it, `depth[v]` its distance
    from the root (all int32). `leaf[c]` is the node of code c. Chains of only children are kept.
    """

    labels: tuple[str, ...]
    parent: npt.NDArray[np.int32]
    first: npt.NDArray[np.int32]
    last: npt.NDArray[np.int32]
    depth: npt.NDArray[np.int32]
    leaf: npt.NDArray[np.int32]

    @property
    def height(self) -> int:
        """H: the greatest depth of a leaf."""
        return int(self.depth.max())

    @property
    def listed(self) -> Listed:
        """The tree as a hierarchy that knows no domain."""
        return Listed(self.labels, tuple(self.parent.tolist()))

    def __repr__(self) -> str:
        return f"Tree(nodes={len(self.labels)}, leaves={len(self.leaf)}, height={self.height})"


def lca(tree: Tree, low: npt.ArrayLike, high: npt.ArrayLike) -> npt.NDArray[np.int32]:
    """The node of the lowest common ancestor of the leaf codes low[i]..high[i], for arrays of any shape."""
    node = np.array(tree.leaf[np.asarray(low, dtype=np.intp)])  # of its own: it climbs in place
    last = np.asarray(high).astype(np.int64)
    while len(outside := np.flatnonzero(tree.last[node] < last)):
        node.flat[outside] = tree.parent[node.flat[outside]]
    return node


def prune(tree: Tree, kept: npt.NDArray[np.bool_]) -> Tree:
    """The tree of the leaves with `kept[code]`; its root is the lowest node that holds them all."""
    below = np.concatenate([[0], np.cumsum(kept)]).astype(np.int32)
    first, last = below[tree.first], below[tree.last + 1] - 1
    whole = (first == 0) & (last == below[-1] - 1)
    root = int(np.flatnonzero(whole)[-1])
    nodes = np.flatnonzero((first <= last) & (np.arange(len(first)) >= root))
    renumbered = np.full(len(tree.parent), -1, np.int32)
    renumbered[nodes] = np.arange(len(nodes))
    parent = renumbered[tree.parent[nodes]]
    parent[0] = -1
    return Tree(
        tuple(tree.labels[node] for node in nodes),
        parent,
        first[nodes],
        last[nodes],
        tree.depth[nodes] - tree.depth[root],
        renumbered[tree.leaf[kept]],
    )


class MissingValues(Exception):
    """Some labels of the domain are not in the hierarchy; `missing` (bool) marks them."""

    def __init__(self, missing: npt.NDArray[np.bool_]) -> None:
        super().__init__("values missing from the hierarchy")
        self.missing = missing


def tree_of(hierarchy: Hierarchy, labels: Sequence[str], column: str) -> tuple[Tree, npt.NDArray[np.int64]]:
    """The tree of a nominal attribute, pruned to the labels of its domain.

    Also returns, per code (leaf, depth first), the position of its label in `labels`. Raises
    MissingValues where labels are not leaves of the hierarchy, DataError where it is no hierarchy.
    """
    if isinstance(hierarchy, Prefix):
        parents = _prefix_parents(hierarchy.lengths, labels)
        return _pruned(parents, labels)
    if isinstance(hierarchy, Listed):
        above = [None, *hierarchy.labels]
        parents = {v: above[p + 1] for v, p in zip(hierarchy.labels, hierarchy.parent, strict=True)}
        leaves = set(hierarchy.labels) - set(parents.values())
        _refuse_missing(labels, leaves)
        return _pruned(parents, labels)
    rows = hierarchy_rows(hierarchy, column, set(labels))
    parents, leaves = parents_of(rows, hierarchy, column)
    _refuse_missing(labels, leaves)
    return _pruned(parents, labels)


def _refuse_missing(labels: Sequence[str], leaves: Set[str]) -> None:
    missing = np.fromiter((label not in leaves for label in labels), dtype=np.bool_, count=len(labels))
    if missing.any():
        raise MissingValues(missing)


def _pruned(parents: dict[str, str | None], labels: Sequence[str]) -> tuple[Tree, npt.NDArray[np.int64]]:
    """`parents` holds every node in order of first appearance; `labels` are the leaves that are kept."""
    n_below: dict[str, int] = {}
    for label in labels:
        node: str | None = label
        while node is not None:
            n_below[node] = n_below.get(node, 0) + 1
            node = parents[node]
    kept_children: dict[str, list[str]] = {}
    for label in parents:
        above = parents[label]
        if label in n_below and above is not None:
            kept_children.setdefault(above, []).append(label)
    root = labels[0]
    while n_below[root] < len(labels):
        above = parents[root]
        assert above is not None
        root = above

    position = {label: index for index, label in enumerate(labels)}
    names: list[str] = []
    parent: list[int] = []
    depth: list[int] = []
    first: list[int] = []
    order: list[int] = []
    leaf: list[int] = []
    stack = [(root, -1)]
    while stack:
        label, above_id = stack.pop()
        node_id = len(names)
        names.append(label)
        parent.append(above_id)
        depth.append(0 if above_id < 0 else depth[above_id] + 1)
        first.append(len(leaf))
        below = kept_children.get(label)
        if below is None:
            order.append(position[label])
            leaf.append(node_id)
        else:
            stack.extend((child, node_id) for child in reversed(below))
    last = np.array(first, dtype=np.int32)
    for node_id in range(len(names) - 1, 0, -1):
        last[parent[node_id]] = max(last[parent[node_id]], last[node_id])
    tree = Tree(
        tuple(names),
        frozen(parent),
        frozen(first),
        readonly(last),
        frozen(depth),
        frozen(leaf),
    )
    return tree, np.array(order, dtype=np.int64)


def frozen(values: list[int]) -> npt.NDArray[np.int32]:
    return readonly(np.array(values, dtype=np.int32))


def readonly(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    array.flags.writeable = False
    return array


def _prefix_parents(lengths: Sequence[int], labels: Sequence[str]) -> dict[str, str | None]:
    """Prefix nodes over sorted labels. A node that a label equals, but that holds more, gets a trailing …"""
    values = set(labels)
    n_below: dict[str, int] = {}
    for label in labels:
        for length in lengths:
            if len(label) >= length:
                n_below[label[:length]] = n_below.get(label[:length], 0) + 1
    name: dict[str, str] = {}
    for node in n_below:
        name[node] = node
        while name[node] in values:
            name[node] += "…"
    parents: dict[str, str | None] = {}
    root = "*"
    while root in values:
        root += "*"
    for label in sorted(labels):
        child = label
        for length in sorted(lengths, reverse=True):
            node = label[:length]
            if len(label) >= length and (n_below[node] > 1 or node != label):
                parents[child] = name[node]
                child = name[node]
        parents[child] = root
    parents[root] = None
    return parents


def parents_of(
    rows: list[tuple[str, ...]], hierarchy: Hierarchy, column: str
) -> tuple[dict[str, str | None], set[str]]:
    """Every node's parent (None: root) in order of first appearance, and the leaves."""
    where = placed(hierarchy, column)
    parents: dict[str, str | None] = {}
    leaves = {row[0] for row in rows}
    for row in rows:
        if len(set(row)) < len(row):
            label = next(label for label in row if row.count(label) > 1)
            raise DataError(f"{where}: label {label!r} stands above itself", column=column)
        for node in row[1:]:
            if node in leaves:
                raise DataError(
                    f"{where}: label {node!r} is a leaf and also a node above {row[0]!r}; rename one",
                    column=column,
                )
        for node, above in zip(row, [*row[1:], None], strict=True):
            known = parents.setdefault(node, above)
            if known != above:
                raise DataError(
                    f"{where}: label {node!r} has two parents, {named(known)} and {named(above)}; "
                    "give every label one parent",
                    column=column,
                )
    roots = [node for node, above in parents.items() if above is None]
    if len(roots) != 1:
        listed = ", ".join(map(repr, roots[:5])) + (", …" if len(roots) > 5 else "")
        header = ""
        if isinstance(hierarchy, CsvFile) and [row[-1] for row in rows].count(rows[0][-1]) == 1:
            header = "; if its first line is a header, delete that line"
        raise DataError(
            f"{where} has {len(roots)} roots ({listed}); put one label, such as '*', above all of them"
            f"{header}",
            column=column,
        )
    return parents, leaves
