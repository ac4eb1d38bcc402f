# SPDX-License-Identifier: Apache-2.0
"""Hierarchies in files: a row of nodes for each value."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from anon.errors import DataError, UsageError, did_you_mean
from anon.schema.hierarchy.declared import CsvFile, Hierarchy, Nested


def named(parent: str | None) -> str:
    return "none (it is a root)" if parent is None else repr(parent)


def placed(hierarchy: Hierarchy, column: str) -> str:
    if isinstance(hierarchy, CsvFile):
        return f"the hierarchy of column {column!r} ({hierarchy.path})"
    return f"the hierarchy of column {column!r}"


def hierarchy_rows(hierarchy: Hierarchy, column: str, values: set[str]) -> list[tuple[str, ...]]:
    """The hierarchy's rows from leaf to root, equal neighbors in a row merged into one node."""
    if isinstance(hierarchy, Nested):
        rows = [tuple(reversed(path)) for path in _paths(hierarchy.root, (), column)]
    else:
        assert isinstance(hierarchy, CsvFile)
        rows = [tuple(row) for row in _read_csv(hierarchy, column, values)]
    return [tuple(label for i, label in enumerate(row) if i == 0 or label != row[i - 1]) for row in rows]


def file_rows(hierarchy: CsvFile, column: str, values: set[str]) -> dict[str, tuple[str, ...]]:
    """Of every value that a hierarchy file lists the columns of its row, as they stand there."""
    return {row[0]: tuple(row) for row in _read_csv(hierarchy, column, values)}


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
    where = placed(hierarchy, column)
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
        form, colon, _ = hierarchy.path.partition(":")
        hint = did_you_mean(f"{form}:", ("prefix:", "intervals:", "dates:")) if colon else ""
        hint = hint and f"; {hint.rstrip()}"
        raise DataError(f"{where} cannot be read: {error.strerror}{hint}", column=column) from None
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
