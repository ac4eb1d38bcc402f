# SPDX-License-Identifier: Apache-2.0
"""Hierarchies as they are declared: intervals, prefixes, dates, nested dicts, files."""

from __future__ import annotations

import copy
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from anon.errors import DataError, UsageError

MOST_DIGITS = 400  # before or after the point: more than any type of number holds
MOST_LEVELS = 100  # of a nested dict
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

    @property
    def ordered(self) -> list[str]:
        """The units, finest first."""
        return sorted(self.units, key=CALENDAR.index)

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


def not_finer(hierarchy: Hierarchy, least: int | float | str) -> Hierarchy:
    """The levels of numbers or dates of which each set is made of whole sets of the least one."""
    if isinstance(hierarchy, Intervals) and not isinstance(least, str):
        step = Fraction(str(least))
        return Intervals(tuple(width for width in hierarchy.widths if Fraction(str(width)) % step == 0))
    if isinstance(hierarchy, Dates):
        coarser = CALENDAR[CALENDAR.index(str(least)) :]
        return Dates(tuple(unit for unit in hierarchy.units if unit in coarser))
    return hierarchy


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
