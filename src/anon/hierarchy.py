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
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from anon.errors import DataError, UsageError

MOST_DIGITS = 400  # before or after the point: more than any type of number holds
MOST_LEVELS = 100  # of a nested dict
CALENDAR = ("month", "quarter", "year", "decade")
TICKS_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


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


@dataclass(frozen=True, repr=False)
class Listed:
    """A hierarchy as the metadata of a release writes it: nodes, each after its parent.

    `parent[v]` is the place of node v's parent in `labels`, -1 for the root, which is the first.
    """

    labels: tuple[str, ...]
    parent: tuple[int, ...]

    def __repr__(self) -> str:
        return f"Listed(nodes={len(self.labels)})"


Hierarchy = Intervals | Prefix | Dates | Nested | CsvFile | Listed


def intervals(*widths: int | float) -> Intervals:
    """Half-open intervals of each width, aligned at 0; widths need not nest (dates: days, times: seconds)."""
    if not widths:
        raise UsageError("intervals() needs at least one width")
    most = sys.float_info.max
    for width in widths:
        if isinstance(width, bool) or not isinstance(width, int | float) or not 0 < width <= most:
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
    if isinstance(written, Hierarchy):
        return written
    if isinstance(written, Mapping):
        return _nested(written, column)
    if isinstance(written, str | os.PathLike):
        return _csv_file(os.fspath(written), column)
    raise UsageError(
        f"column {column!r}: a hierarchy is intervals(), prefix(), dates(), a nested dict or the path "
        f"of a CSV file, not {type(written).__name__}"
    )


def _nested(root: Mapping[str, Any], column: str) -> Nested:
    level: list[Any] = [root]
    for _ in range(MOST_LEVELS):
        dicts = {id(node): node for node in level if isinstance(node, Mapping)}
        level = [below for node in dicts.values() for below in node.values()]
        if not level:
            return Nested(copy.deepcopy(dict(root)))
    raise UsageError(
        f"column {column!r}: the dict of its hierarchy has more than {MOST_LEVELS} levels, or holds itself; "
        "leave levels out"
    )


def _csv_file(path: str, column: str) -> CsvFile:
    if not path:
        raise UsageError(f"column {column!r}: the path of its hierarchy is empty")
    return CsvFile(path)


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
        case Listed():
            return {"labels": list(hierarchy.labels), "parent": list(hierarchy.parent)}


def hierarchy_from_dict(data: Any, column: str) -> Hierarchy:
    """The inverse of `hierarchy_to_dict`."""
    if isinstance(data, str):
        return _csv_file(data, column)
    if isinstance(data, Mapping) and set(data) == {"labels", "parent"}:
        return listed(data, column)
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
            return _nested(value, column)
    raise UsageError(
        f"column {column!r}: a hierarchy is the path of a CSV file or a table with one of the keys "
        "intervals, prefix, dates (lists) or tree (nested tables)"
    )


def listed(data: Any, column: str) -> Listed:
    """The hierarchy that `hierarchy_to_dict` listed, or anybody wrote; DataError where it is none."""
    where = f"the hierarchy of column {column!r}"
    known: Mapping[str, Any] = data if isinstance(data, dict) else {}
    labels, parent = known.get("labels"), known.get("parent")
    if not (isinstance(labels, list) and isinstance(parent, list) and len(labels) == len(parent) > 0):
        raise DataError(f"{where} is broken: it takes labels, and as many places of parents", column=column)
    if not all(isinstance(label, str) for label in labels):
        raise DataError(f"{where} is broken: its labels are text", column=column)
    n_more = len(labels) - len(set(labels))
    if n_more:
        raise DataError(f"{where} is broken: {n_more} of its labels have two parents", column=column)
    if not all(type(above) is int and min(v, 1) <= above + 1 <= v for v, above in enumerate(parent)):
        raise DataError(f"{where} is broken: not every label stands after its parent", column=column)
    return Listed(tuple(labels), tuple(parent))


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


@dataclass(frozen=True, repr=False)
class Levels:
    """Named sets of a numeric attribute's values, level by level from the finest, on one domain.

    Set s is called `labels[s]`, belongs to level `level[s]` (int32) and reaches from `lower[s]` to
    `upper[s]` (float64, positions on the domain's line, clipped to it; the first and last lattice
    point that the set covers, or on floats and timestamps its two ends). A set that holds the whole
    domain is not listed. `of_code[g, c]` (int32) is the set of level g that holds code c, or -1.
    `run[g, c]` (int32) numbers the runs of consecutive codes of one set; two codes with the same run
    have every code between them in that set too.
    """

    names: tuple[str, ...]
    labels: tuple[str, ...]
    level: npt.NDArray[np.int32]
    lower: npt.NDArray[np.float64]
    upper: npt.NDArray[np.float64]
    of_code: npt.NDArray[np.int32]
    run: npt.NDArray[np.int32]

    def interval_of(self, low: npt.ArrayLike, high: npt.ArrayLike) -> npt.NDArray[np.int32]:
        """The smallest set that holds all codes low[i]..high[i]; -1 where none does."""
        first, last = np.asarray(low, dtype=np.intp), np.asarray(high, dtype=np.intp)
        found = np.full(first.shape, -1, dtype=np.int32)
        for of_code, run in zip(self.of_code[::-1], self.run[::-1], strict=True):
            found = np.where((run[first] == run[last]) & (of_code[first] >= 0), of_code[first], found)
        return np.asarray(found, dtype=np.int32)

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
    if isinstance(hierarchy, Listed):
        above = [None, *hierarchy.labels]
        parents = {v: above[p + 1] for v, p in zip(hierarchy.labels, hierarchy.parent, strict=True)}
        leaves = set(hierarchy.labels) - set(parents.values())
        _refuse_missing(labels, leaves)
        return _pruned(parents, labels)
    rows = _rows(hierarchy, column, set(labels))
    parents, leaves = _parents(rows, hierarchy, column)
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
        header = ""
        if isinstance(hierarchy, CsvFile) and [row[-1] for row in rows].count(rows[0][-1]) == 1:
            header = "; if its first line is a header, delete that line"
        raise DataError(
            f"{where} has {len(roots)} roots ({shown}); put one label, such as '*', above all of them"
            f"{header}",
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
    else:
        assert isinstance(hierarchy, CsvFile)
        rows = [tuple(row) for row in _read_csv(hierarchy, column, values)]
    return [tuple(label for i, label in enumerate(row) if i == 0 or label != row[i - 1]) for row in rows]


def _paths(node: Any, above: tuple[str, ...], column: str) -> Iterator[tuple[str, ...]]:
    if isinstance(node, Mapping):
        if not node:
            raise DataError(
                f"the hierarchy of column {column!r} has an empty dict; list its leaves", column=column
            )
        for label, below in node.items():
            yield from _paths(below, (*above, label_of(label, column)), column)
    elif isinstance(node, list | tuple | set | frozenset):
        if not node:
            raise DataError(
                f"the hierarchy of column {column!r} has an empty list; list its leaves", column=column
            )
        for label in sorted(node, key=str) if isinstance(node, set | frozenset) else node:
            yield (*above, label_of(label, column))
    elif node is None:
        yield above
    else:
        yield (*above, label_of(node, column))


def label_of(value: Any, column: str) -> str:
    """The label of a value in an order or a dict: what the value is called as a cell of the column."""
    if isinstance(value, str):
        return value
    try:
        text = pa.scalar(value).cast(pa.string()).as_py()
    except pa.ArrowException:
        text = None
    if text is None:
        raise UsageError(f"column {column!r}: {type(value).__name__} is not the type of a label")
    return str(text)


def _read_csv(hierarchy: CsvFile, column: str, values: set[str]) -> list[list[str]]:
    where = _where(hierarchy, column)
    path = Path(hierarchy.path)
    if path.exists() and not path.is_file():
        raise DataError(f"{where} cannot be read: it is no regular file", column=column)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(
            f"{where} is not UTF-8 (byte {error.start}); save it as UTF-8", column=column
        ) from None
    except OSError as error:
        raise DataError(f"{where} cannot be read: {error.strerror}", column=column) from None
    except ValueError:
        raise DataError(f"{where} cannot be read: its path holds a null character", column=column) from None
    lines = text.splitlines(keepends=True)
    reader = csv.reader(lines[:1], delimiter=";")
    try:
        first = next(reader, [])
        reader = csv.reader(lines, delimiter=";" if len(first) > 1 else ",", strict=True)
        rows = [(reader.line_num, row) for row in reader if row]
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
    try:
        if isinstance(hierarchy, Intervals):
            widths = sorted(hierarchy.widths)
            bins = [_interval_bins(values, width, unit_lattice, column) for width in widths]
            return _levels_of_bins(tuple(map(str, widths)), bins, positions)
        if isinstance(hierarchy, Dates):
            units = sorted(hierarchy.units, key=CALENDAR.index)
            bins = [_calendar_bins(values, unit, column) for unit in units]
            return _levels_of_bins(tuple(units), bins, positions)
    except OverflowError:
        raise UsageError(
            f"column {column!r}: {hierarchy!r} is too fine or too coarse for its {values.type} values"
        ) from None
    return _levels_of_rows(hierarchy, values, positions, column)


@dataclass(frozen=True)
class _Bins:
    """One level of consecutive sets: `of_code[c]` is the set of code c, ascending; per set its label
    and the first and last place it covers (exact, on the line of the values, not of positions).
    """

    of_code: npt.NDArray[np.int64]
    labels: list[str]
    lower: list[Any]
    upper: list[Any]
    origin: Any  # the first value's place on that line


def _levels_of_bins(names: tuple[str, ...], bins: list[_Bins], positions: npt.NDArray[np.float64]) -> Levels:
    """Levels of consecutive sets; a set that holds the whole domain is not listed."""
    labels: list[str] = []
    level: list[int] = []
    lower: list[float] = []
    upper: list[float] = []
    of_code = np.full((len(bins), len(positions)), -1, dtype=np.int32)
    most = int(np.finfo(np.float64).max)
    for g, each in enumerate(bins):
        if len(each.labels) == 1:
            continue
        of_code[g] = each.of_code + len(labels)
        labels += each.labels
        level += [g] * len(each.labels)
        lower += [float(min(end - each.origin, most)) for end in each.lower]
        upper += [float(min(end - each.origin, most)) for end in each.upper]
    reach = positions[-1]
    return Levels(
        names,
        tuple(labels),
        _frozen(level),
        _readonly(np.clip(np.array(lower, dtype=np.float64), 0, reach)),
        _readonly(np.clip(np.array(upper, dtype=np.float64), 0, reach)),
        _readonly(of_code),
        _readonly(of_code.copy()),
    )


def _interval_bins(values: pa.Array, width: int | float, unit_lattice: bool, column: str) -> _Bins:
    """Half-open intervals of one width, aligned at 0, decided exactly (floats: against the float
    nearest to each end, so that 0.3 is in [0.3, 0.4)).
    """
    step = Fraction(str(width))
    types = pa.types
    if types.is_floating(values.type):
        of_value = _float_bins(values.to_numpy(), step)
        ticks = 1
        origin: int | Fraction = Fraction(values[0].as_py())
    else:
        line, ticks = places(values)
        origin = int(line[0])
        if types.is_date(values.type) and step.denominator != 1:
            raise UsageError(f"column {column!r}: intervals() of dates are whole days, not {width}")
        if types.is_temporal(values.type) and (step * ticks).denominator != 1:
            raise UsageError(f"column {column!r}: {width} seconds are no multiple of the column's resolution")
        times, by = step.denominator, step.numerator * ticks
        fits = max(abs(int(line[0])), abs(int(line[-1]))) * times < 1 << 63 and by < 1 << 63
        of_value = line.astype(np.int64 if fits else object) * times // by
    numbers, of_code = np.unique(of_value, return_inverse=True)
    size = step if step.denominator > 1 else int(step)
    starts = [number * size for number in numbers.tolist()]
    stops = [start + size for start in starts]
    labels = [
        f"[{_end_label(start, values.type)}, {_end_label(stop, values.type)})"
        for start, stop in zip(starts, stops, strict=True)
    ]
    if unit_lattice:
        lower = [math.ceil(start * ticks) for start in starts]
        upper = [math.ceil(stop * ticks) - 1 for stop in stops]
        return _Bins(of_code, labels, lower, upper, origin)
    return _Bins(
        of_code, labels, [start * ticks for start in starts], [stop * ticks for stop in stops], origin
    )


def _float_bins(numbers: npt.NDArray[Any], step: Fraction) -> npt.NDArray[Any]:
    """The i with fl(i * step) <= x < fl((i + 1) * step) for every x; where floats are too far apart
    for that, the i with i * step <= x < (i + 1) * step.
    """
    p, q = step.numerator, step.denominator
    with np.errstate(over="ignore"):
        bins = np.floor(numbers.astype(np.float64) / float(step))
        small = ((np.abs(bins) + 2) * p < 2**53) & (q < 2**53)
        dense = small & (float(step) > 4 * np.spacing(np.abs(numbers)))
        # i * p and q are exact, so one division rounds to the float nearest to i * step
        bins -= dense & (numbers < (bins * p / q).astype(numbers.dtype))
        bins += dense & (numbers >= ((bins + 1) * p / q).astype(numbers.dtype))
    if dense.all():
        return bins.astype(np.int64)
    pairs = zip(bins.tolist(), dense.tolist(), numbers.tolist(), strict=True)
    exact = [int(i) if is_dense else math.floor(Fraction(x) / step) for i, is_dense, x in pairs]
    return np.array(exact, dtype=object)


def places(values: pa.Array) -> tuple[npt.NDArray[Any], int]:
    """Integers, decimals, dates and times as whole ticks, and the ticks per 1, per day or per second.

    The ticks are int64 where they fit, uint64 for that type, otherwise Python integers.
    """
    types = pa.types
    if types.is_decimal(values.type):
        return _unscaled(values), 10**values.type.scale
    if types.is_integer(values.type):
        numbers = values.to_numpy()
        return (numbers if types.is_uint64(values.type) else numbers.astype(np.int64)), 1
    integers = values.view(pa.int32() if values.type.bit_width == 32 else pa.int64())
    per_unit = 1 if types.is_date(values.type) else TICKS_PER_SECOND[values.type.unit]
    return integers.to_numpy().astype(np.int64), per_unit


def _unscaled(decimals: pa.Array) -> npt.NDArray[Any]:
    """The integers behind decimals: int64, or Python integers where one is too long."""
    n_words = decimals.type.bit_width // 64
    words = np.frombuffer(decimals.buffers()[1], dtype="<i8")[decimals.offset * n_words :]
    words = np.ascontiguousarray(words[: len(decimals) * n_words].reshape(-1, n_words).T).T
    low = words[:, 0]
    if (words[:, 1:] == (low >> 63)[:, None]).all():
        return low
    integers = words[:, -1].astype(object)
    for i in range(n_words - 2, -1, -1):
        integers = (integers << 64) + words[:, i].view(np.uint64).astype(object)
    return np.asarray(integers)


def _end_label(end: int | Fraction, arrow_type: pa.DataType) -> str:
    """The end of an interval as text: a plain decimal, a date, a timestamp or a time of day."""
    types = pa.types
    if types.is_date(arrow_type):
        return str(np.datetime64(int(end), "D"))
    if types.is_timestamp(arrow_type) or types.is_time(arrow_type):
        day, second = divmod(math.floor(end), 86400)
        clock = f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"
        if types.is_time(arrow_type) and day:
            clock = "24:00:00"
        clock += _decimal(end - math.floor(end))[1:]
        if types.is_time(arrow_type):
            return clock
        return f"{np.datetime64(day, 'D')} {clock}{'Z' if arrow_type.tz else ''}"
    return _decimal(end)


def _decimal(number: int | Fraction) -> str:
    """A number whose denominator divides a power of ten, in plain decimal notation."""
    if isinstance(number, int):
        return str(number)
    decimals = 0
    while (number * 10**decimals).denominator != 1:
        decimals += 1
    digits = str(abs(number.numerator * 10**decimals // number.denominator)).rjust(decimals + 1, "0")
    sign = "-" if number < 0 else ""
    return sign + (f"{digits[:-decimals]}.{digits[-decimals:]}" if decimals else digits)


def _calendar_bins(values: pa.Array, unit: str, column: str) -> _Bins:
    """Months, quarters, years or decades of dates or timestamps (those with a time zone: local ones)."""
    types = pa.types
    if not (types.is_date(values.type) or types.is_timestamp(values.type)):
        raise UsageError(f"column {column!r}: dates() is for dates and timestamps, not for {values.type}")
    zone = values.type.tz if types.is_timestamp(values.type) else None
    ticks, per_unit = places(values)
    # in whole seconds, as nanoseconds may not hold the local time or the ends
    local = (
        values if types.is_date(values.type) else pa.array(ticks // per_unit).view(pa.timestamp("s", zone))
    )
    local = (pc.local_timestamp(local) if zone else local).to_numpy(zero_copy_only=False)
    month = local.astype("datetime64[M]").astype(np.int64)
    n_months = {"month": 1, "quarter": 3, "year": 12, "decade": 120}[unit]
    since = 1970 * 12  # months are counted from year 0, so that decades start at years divisible by 10
    numbers, of_code = np.unique((month + since) // n_months, return_inverse=True)
    labels = [_calendar_label(int(number), unit) for number in numbers]
    ends = (np.append(numbers, numbers + 1) * n_months - since).astype("datetime64[M]")
    if types.is_date(values.type):
        days = ends.astype("datetime64[D]").astype(np.int64).tolist()
    else:
        instants = pa.array(ends.astype("datetime64[s]"))
        if zone:
            instants = pc.assume_timezone(instants, zone, ambiguous="earliest", nonexistent="earliest")
        days = [second * per_unit for second in instants.cast(pa.int64()).to_pylist()]
    starts, stops = days[: len(numbers)], days[len(numbers) :]
    origin = int(ticks[0])
    if types.is_date(values.type):
        stops = [stop - 1 for stop in stops]
    return _Bins(of_code, labels, starts, stops, origin)


def _calendar_label(number: int, unit: str) -> str:
    match unit:
        case "month":
            return f"{number // 12:04}-{number % 12 + 1:02}"
        case "quarter":
            return f"{number // 4:04}-Q{number % 4 + 1}"
        case "year":
            return f"{number:04}"
        case _:
            return f"{number * 10:04}s"


def _levels_of_rows(
    hierarchy: Hierarchy, values: pa.Array, positions: npt.NDArray[np.float64], column: str
) -> Levels:
    """Levels named by the labels of a CSV file or dict; only leaves are read as numbers."""
    rows = list(dict.fromkeys(_rows(hierarchy, column, set(values.cast(pa.string()).to_pylist()))))
    _parents(rows, hierarchy, column)
    leaves = pa.array([_leaf(row[0], values.type, hierarchy, column) for row in rows], type=values.type)
    distinct = pc.value_counts(leaves.drop_null())
    if pc.max(distinct.field("counts")).as_py() not in (None, 1):
        twice = distinct.field("values")[int(np.argmax(distinct.field("counts")))]
        texts = [row[0] for row, leaf in zip(rows, leaves, strict=True) if leaf == twice]
        raise DataError(
            f"{_where(hierarchy, column)}: the leaves {texts[0]!r} and {texts[1]!r} are one number; keep one",
            column=column,
        )
    row_of_code = pc.index_in(values, value_set=leaves)
    if row_of_code.null_count:
        raise MissingValues(np.asarray(row_of_code.is_null()))

    height = max(map(len, rows))
    kept = [rows[i] for i in row_of_code.to_pylist()]
    set_of_label: dict[str, int] = {}
    level: list[int] = []
    of_code = np.full((height, len(values)), -1, dtype=np.int32)
    for g in range(height):
        labels = [row[max(0, g - height + len(row))] for row in kept]
        if len(set(labels)) == 1:
            continue
        for code, label in enumerate(labels):
            if label not in set_of_label:
                set_of_label[label] = len(level)
                level.append(g)
            of_code[g, code] = set_of_label[label]
    run = np.zeros_like(of_code)
    run[:, 1:] = np.cumsum(of_code[:, 1:] != of_code[:, :-1], axis=1)
    lower, upper = np.full(len(level), np.inf), np.full(len(level), -np.inf)
    for codes in of_code:
        listed = codes >= 0
        np.minimum.at(lower, codes[listed], positions[listed])
        np.maximum.at(upper, codes[listed], positions[listed])
    return Levels(
        tuple(f"level {g}" for g in range(height)),
        tuple(set_of_label),
        _frozen(level),
        _readonly(lower),
        _readonly(upper),
        _readonly(of_code),
        _readonly(run),
    )


def _leaf(text: str, arrow_type: pa.DataType, hierarchy: Hierarchy, column: str) -> Any:
    """A leaf as a value of the column's type; None where that type has no such value."""
    types = pa.types
    try:
        if types.is_temporal(arrow_type):
            return pa.scalar(text, type=pa.string()).cast(arrow_type)
        number = Decimal(text)
        if not number.is_finite():
            raise ValueError
        if number and abs(number.adjusted()) > MOST_DIGITS:
            return None
        if types.is_floating(arrow_type):
            value = float(number)
            if math.isinf(value):
                return None
            return value + 0.0
        if types.is_integer(arrow_type):
            return pa.scalar(int(number), type=arrow_type) if number == int(number) else None
        return pa.scalar(number, type=arrow_type)
    except (pa.ArrowInvalid, OverflowError) as error:
        if types.is_temporal(arrow_type):
            raise _no_value(text, arrow_type, hierarchy, column) from error
        return None
    except (ArithmeticError, ValueError) as error:
        raise _no_value(text, arrow_type, hierarchy, column) from error


def _no_value(text: str, arrow_type: pa.DataType, hierarchy: Hierarchy, column: str) -> DataError:
    return DataError(
        f"{_where(hierarchy, column)}: the leaf {text!r} is no {arrow_type}; "
        "correct it, or declare the column nominal",
        column=column,
    )
