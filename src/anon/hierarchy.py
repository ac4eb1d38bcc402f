# SPDX-License-Identifier: Apache-2.0
"""Generalization hierarchies: trees of labels for nominal attributes, levels of intervals for numbers.

What a user writes (`intervals`, `prefix`, `dates`, a nested dict, a CSV file) is a `Hierarchy`; it
knows no data. Resolved on a domain it becomes a `Tree` (nominal) or `Levels` (numeric).
"""

from __future__ import annotations

import copy
import csv
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from anon.errors import DataError, UsageError

CALENDAR = ("month", "quarter", "year", "decade")


@dataclass(frozen=True, repr=False)
class Intervals:
    """Levels of half-open intervals `[i * width, (i + 1) * width)`, one level per width."""

    widths: tuple[int | float, ...]

    def __repr__(self) -> str:
        return f"intervals({', '.join(map(repr, self.widths))})"


@dataclass(frozen=True, repr=False)
class Prefix:
    """The first n characters of a string, one level per n; a string of fewer is its own node."""

    lengths: tuple[int, ...]

    def __repr__(self) -> str:
        return f"prefix({', '.join(map(repr, self.lengths))})"


@dataclass(frozen=True, repr=False)
class Dates:
    """Calendar units of a date or timestamp, one level per unit."""

    units: tuple[str, ...]

    def __repr__(self) -> str:
        return f"dates({', '.join(map(repr, self.units))})"


@dataclass(frozen=True, repr=False)
class Nested:
    """A hierarchy written as a dict from one root to its children: dicts again, or lists of leaves."""

    root: Mapping[str, Any]

    def __repr__(self) -> str:
        return repr(self.root)


@dataclass(frozen=True, repr=False)
class CsvFile:
    """A CSV file in ARX's format: one row per leaf, from the leaf to the root."""

    path: str

    def __repr__(self) -> str:
        return repr(self.path)


Hierarchy = Intervals | Prefix | Dates | Nested | CsvFile


def intervals(*widths: int | float) -> Intervals:
    """Half-open intervals of each width, aligned at 0; widths need not nest (dates: days, times: seconds)."""
    if not widths:
        raise UsageError("intervals() needs at least one width")
    for width in widths:
        if isinstance(width, bool) or not isinstance(width, int | float) or not 0 < width < math.inf:
            raise UsageError("every width of intervals() must be a finite number above 0")
    if len(set(widths)) < len(widths):
        raise UsageError("intervals() lists a width twice")
    return Intervals(widths)


def prefix(*lengths: int) -> Prefix:
    """The first n characters of a label, one level per n, finest or coarsest first."""
    if not lengths:
        raise UsageError("prefix() needs at least one length")
    for length in lengths:
        if isinstance(length, bool) or not isinstance(length, int) or length < 1:
            raise UsageError("every length of prefix() must be a whole number above 0")
    if len(set(lengths)) < len(lengths):
        raise UsageError("prefix() lists a length twice")
    return Prefix(lengths)


def dates(*units: str) -> Dates:
    """Calendar units, any of "month", "quarter", "year", "decade"."""
    if not units:
        raise UsageError(f"dates() needs at least one unit of {', '.join(CALENDAR)}")
    for unit in units:
        if unit not in CALENDAR:
            raise UsageError(f"dates() knows the units {', '.join(CALENDAR)}, not {unit!r}")
    if len(set(units)) < len(units):
        raise UsageError("dates() lists a unit twice")
    return Dates(units)


def as_hierarchy(written: Any, column: str) -> Hierarchy:
    """What the user wrote for a column, as a Hierarchy: dicts become Nested, paths CsvFile."""
    if isinstance(written, Intervals | Prefix | Dates | Nested | CsvFile):
        return written
    if isinstance(written, Mapping):
        return Nested(copy.deepcopy(dict(written)))
    if isinstance(written, str | os.PathLike):
        return CsvFile(os.fspath(written))
    raise UsageError(
        f"column {column!r}: a hierarchy is intervals(), prefix(), dates(), a nested dict or the path "
        f"of a CSV file, not {type(written).__name__}"
    )


def hierarchy_to_dict(hierarchy: Hierarchy) -> Any:
    """A hierarchy as a job file writes it: a path, or a table with one key."""
    match hierarchy:
        case Intervals():
            return {"intervals": list(hierarchy.widths)}
        case Prefix():
            return {"prefix": list(hierarchy.lengths)}
        case Dates():
            return {"dates": list(hierarchy.units)}
        case Nested():
            return {"tree": copy.deepcopy(dict(hierarchy.root))}
        case CsvFile():
            return hierarchy.path


def hierarchy_from_dict(data: Any, column: str) -> Hierarchy:
    """The inverse of `hierarchy_to_dict`."""
    if isinstance(data, str):
        return CsvFile(data)
    if isinstance(data, Mapping) and len(data) == 1:
        (key, value), *_ = data.items()
        makers: dict[str, Callable[..., Hierarchy]] = {
            "intervals": intervals,
            "prefix": prefix,
            "dates": dates,
        }
        if key in makers and isinstance(value, list | tuple):
            return makers[key](*value)
        if key == "tree" and isinstance(value, Mapping):
            return Nested(value)
    raise UsageError(
        f"column {column!r}: a hierarchy is the path of a CSV file or a table with one of the keys "
        "intervals, prefix, dates (lists) or tree (nested tables)"
    )


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

    def __repr__(self) -> str:
        return f"Tree(nodes={len(self.labels)}, leaves={len(self.leaf)}, height={self.height})"


def lca(tree: Tree, low: npt.ArrayLike, high: npt.ArrayLike) -> npt.NDArray[np.int32]:
    """The node of the lowest common ancestor of the leaf codes low[i]..high[i], for arrays of any shape."""
    node = tree.leaf[np.asarray(low, dtype=np.intp)]
    last = np.asarray(high).astype(np.int64)
    outside = tree.last[node] < last
    while outside.any():
        node = np.where(outside, tree.parent[node], node)
        outside = tree.last[node] < last
    return np.asarray(node, dtype=np.int32)


def children(tree: Tree) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    """The children of every node in CSR form: node v has `nodes[offsets[v]:offsets[v + 1]]`, ascending."""
    counts = np.bincount(tree.parent[1:], minlength=len(tree.parent))
    offsets = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    nodes = 1 + np.argsort(tree.parent[1:], kind="stable")
    return nodes.astype(np.int32), offsets


def n_leaves(tree: Tree) -> npt.NDArray[np.int32]:
    """The number of leaves below every node (a leaf: 1)."""
    return tree.last - tree.first + np.int32(1)


@dataclass(frozen=True, repr=False)
class Levels:
    """Named sets of a numeric attribute's values, level by level from the finest, on one domain.

    Set s is called `labels[s]`, belongs to level `level[s]` (int32) and reaches from `lower[s]` to
    `upper[s]` (float64, positions on the domain's line, clipped to it; the first and last lattice
    point that the set covers, or on floats and timestamps its two ends). `of_code[g, c]` (int32) is
    the set of level g that holds code c. `run[g, c]` (int32) numbers the runs of consecutive codes of
    one set; two codes with the same run have every code between them in that set too.
    """

    names: tuple[str, ...]
    labels: tuple[str, ...]
    level: npt.NDArray[np.int32]
    lower: npt.NDArray[np.float64]
    upper: npt.NDArray[np.float64]
    of_code: npt.NDArray[np.int32]
    run: npt.NDArray[np.int32]

    def interval_of(self, low: npt.ArrayLike, high: npt.ArrayLike) -> npt.NDArray[np.int32]:
        """The smallest set that holds all codes low[i]..high[i], -1 where none but the whole domain does."""
        first, last = np.asarray(low, dtype=np.intp), np.asarray(high, dtype=np.intp)
        found = np.full(first.shape, -1, dtype=np.int32)
        for of_code, run in zip(self.of_code[::-1], self.run[::-1], strict=True):
            found = np.where(run[first] == run[last], of_code[first], found)
        everything = (first == 0) & (last == self.of_code.shape[1] - 1)
        return np.where(everything, np.int32(-1), found)

    def __repr__(self) -> str:
        return f"Levels({', '.join(self.names)}; sets={len(self.labels)})"


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
    rows = _rows(hierarchy, column, set(labels))
    parents, leaves = _parents(rows, hierarchy, column)
    missing = np.fromiter((label not in leaves for label in labels), dtype=np.bool_, count=len(labels))
    if missing.any():
        raise MissingValues(missing)
    return _pruned(parents, labels)


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
        _frozen(parent),
        _frozen(first),
        _readonly(last),
        _frozen(depth),
        _frozen(leaf),
    )
    return tree, np.array(order, dtype=np.int64)


def _frozen(values: list[int]) -> npt.NDArray[np.int32]:
    return _readonly(np.array(values, dtype=np.int32))


def _readonly(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
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


def _parents(
    rows: list[tuple[str, ...]], hierarchy: Hierarchy, column: str
) -> tuple[dict[str, str | None], set[str]]:
    """Every node's parent (None: root) in order of first appearance, and the leaves."""
    where = _where(hierarchy, column)
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
                    f"{where}: label {node!r} has two parents, {_named(known)} and {_named(above)}; "
                    "give every label one parent",
                    column=column,
                )
    roots = [node for node, above in parents.items() if above is None]
    if len(roots) != 1:
        shown = ", ".join(map(repr, roots[:5])) + (", …" if len(roots) > 5 else "")
        raise DataError(
            f"{where} has {len(roots)} roots ({shown}); put one label, such as '*', above all of them",
            column=column,
        )
    return parents, leaves


def _named(parent: str | None) -> str:
    return "none (it is a root)" if parent is None else repr(parent)


def _where(hierarchy: Hierarchy, column: str) -> str:
    if isinstance(hierarchy, CsvFile):
        return f"the hierarchy of column {column!r} ({hierarchy.path})"
    return f"the hierarchy of column {column!r}"


def _rows(hierarchy: Hierarchy, column: str, values: set[str]) -> list[tuple[str, ...]]:
    """The hierarchy's rows from leaf to root, equal neighbors in a row merged into one node."""
    if isinstance(hierarchy, Nested):
        rows = [tuple(reversed(path)) for path in _paths(hierarchy.root, (), column)]
    elif isinstance(hierarchy, CsvFile):
        rows = [tuple(row) for row in _read_csv(hierarchy, column, values)]
    else:
        raise UsageError(f"column {column!r}: {hierarchy!r} is not a tree of labels")
    return [tuple(label for i, label in enumerate(row) if i == 0 or label != row[i - 1]) for row in rows]


def _paths(node: Any, above: tuple[str, ...], column: str) -> Iterator[tuple[str, ...]]:
    if isinstance(node, Mapping):
        if not node:
            raise DataError(
                f"the hierarchy of column {column!r} has an empty dict; list its leaves", column=column
            )
        for label, below in node.items():
            yield from _paths(below, (*above, _text(label, column)), column)
    elif isinstance(node, list | tuple | set | frozenset):
        if not node:
            raise DataError(
                f"the hierarchy of column {column!r} has an empty list; list its leaves", column=column
            )
        for label in sorted(node, key=str) if isinstance(node, set | frozenset) else node:
            yield (*above, _text(label, column))
    elif node is None:
        yield above
    else:
        yield (*above, _text(node, column))


def _text(label: Any, column: str) -> str:
    if isinstance(label, bool):
        return str(label).lower()
    if isinstance(label, str | int | float):
        return str(label)
    raise UsageError(
        f"the hierarchy of column {column!r} must hold labels, not {type(label).__name__}",
    )


def _read_csv(hierarchy: CsvFile, column: str, values: set[str]) -> list[list[str]]:
    where = _where(hierarchy, column)
    try:
        text = Path(hierarchy.path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(
            f"{where} is not UTF-8 (byte {error.start}); save it as UTF-8", column=column
        ) from None
    except OSError as error:
        raise DataError(f"{where} cannot be read: {error.strerror}", column=column) from None
    try:
        for delimiter in ";,":
            reader = csv.reader(text.splitlines(keepends=True), delimiter=delimiter, strict=True)
            rows = [(reader.line_num, row) for row in reader if row]
            if any(len(row) > 1 for _, row in rows):
                break
    except csv.Error as error:
        raise DataError(f"{where}, line {reader.line_num}: {error}", column=column) from None
    if not rows:
        raise DataError(f"{where} is empty", column=column)
    width = len(rows[0][1])
    for line, row in rows:
        if len(row) != width:
            raise DataError(
                f"{where}, line {line}: {len(row)} fields where the first line has {width}; "
                "every line goes from a leaf to the root",
                column=column,
            )
    has_header = (
        len(rows) > 1
        and len({row[-1] for _, row in rows[1:]}) == 1
        and rows[0][1][-1] != rows[1][1][-1]
        and rows[0][1][0] not in values
    )
    return [row for _, row in rows[has_header:]]


def levels_of(
    hierarchy: Hierarchy,
    values: pa.Array,
    positions: npt.NDArray[np.float64],
    unit_lattice: bool,
    column: str,
) -> Levels:
    """The levels of a numeric attribute on its domain (sorted distinct `values`, their `positions`).

    Raises MissingValues where a CSV file or dict lacks values, DataError where it is no hierarchy.
    """
    raise NotImplementedError
