# SPDX-License-Identifier: Apache-2.0
"""Files of other programs, told by their first bytes: Excel, SPSS, Stata and SAS are read, others named.

Reading takes the extra `files`. A column whose every value has a label is its labels, and its field keeps
both; codes that the file
calls missing are missing, as is an empty text. Numbers that are whole are integers.
"""

from __future__ import annotations

import datetime
import gzip
import zipfile
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa

from anon.errors import DataError, Parameter, UsageError
from anon.schema import check_unique
from anon.tables.formats import common_schema, file_name
from anon.tables.programs import Labels, as_read

FIRST_BYTES = 64
OTHERS: tuple[tuple[bytes, str], ...] = (
    (b"SQLite format 3\0", "an SQLite database: name it alone"),
    (b"%PDF", "a PDF file: ask for the table itself"),
    (b"<!DOCTYPE", "a web page: save the table itself as CSV"),
    (b"<html", "a web page: save the table itself as CSV"),
    (b"<?xml", "an XML file: save the table as CSV"),
    (b"RDX", "an RData file: write.csv(table, row.names = FALSE) in R writes it as CSV"),
    (b"X\n\0\0\0", "an RDS file: write.csv(table, row.names = FALSE) in R writes it as CSV"),
    (b'{"', "a JSON file: pyarrow.json.read_json reads JSON lines, pass its table to anon"),
    (b"[{", "a JSON file: pandas.read_json reads it, pass its frame to anon"),
    (b"[\n", "a JSON file: pandas.read_json reads it, pass its frame to anon"),
    (b"{\n", "a JSON file: pandas.read_json reads it, pass its frame to anon"),
)
SAS = bytes(12) + bytes.fromhex("c2ea8160b31411cfbd92080009c7318c181f1011")
OLD_STATA = {105, *range(108, 116)}  # releases whose first byte is their number
OLD_MARKS = {bytes([order, 1, 0]) for order in (1, 2)}  # byte order, file type, unused
MOST_EXACT = 2**53  # whole numbers up to it are exact in a file that stores floats


def foreign_kind(paths: Sequence[Path]) -> str | None:
    """Excel, SPSS, Stata or SAS, where these files are that; None for what `anon` reads itself.

    Raises DataError where they are several of these, or of another program.
    """
    kinds = {path: _kind_of(path) for path in paths}
    first = kinds[paths[0]]
    for path, kind in kinds.items():
        if kind != first:
            ours, theirs = (each or "none of Excel, SPSS, Stata and SAS" for each in (kind, first))
            raise DataError(
                f"{file_name(path)} is {ours} where {file_name(paths[0])} is {theirs}; "
                "one table has one format"
            )
    return first


def read_foreign(paths: Sequence[Path], kind: str, sheet: str | None) -> pa.Table:
    """The table in these files. `sheet` names that of Excel files that have several.

    Raises UsageError where the extra `files` is missing, DataError where a file cannot be read.
    """
    if sheet is not None and kind != "Excel":
        raise UsageError(Parameter("sheet", "--sheet"), " is for Excel files only")
    tables = []
    for path in paths:
        columns, labels = (_excel(path, sheet), {}) if kind == "Excel" else _statistical(path, kind)
        said = [labels.get(name, Labels()) for name in columns]
        tables.append(as_read(list(columns), [typed(values) for values in columns.values()], said))
    schema = common_schema(paths, [table.schema for table in tables])
    return pa.concat_tables(table.select(schema.names).cast(schema) for table in tables)


def typed(values: Iterable[Any]) -> pa.Array:
    """Python values as a column: whole numbers as integers, days as dates, several kinds as text."""
    given = [None if value == "" or value != value else value for value in values]
    kinds = {type(value) for value in given if value is not None}
    if kinds <= {int, float}:
        whole = all(v is None or (abs(v) <= MOST_EXACT and v == int(v)) for v in given)
        return pa.array([None if v is None else int(v) for v in given] if whole else given)
    if kinds <= {datetime.date, datetime.datetime}:
        clock = datetime.time()
        if all(type(v) is not datetime.datetime or v.time() == clock for v in given):
            days = [v.date() if type(v) is datetime.datetime else v for v in given]
            return pa.array(days, pa.date32())
        return pa.array(
            [v if type(v) is not datetime.date else datetime.datetime.combine(v, clock) for v in given],
            pa.timestamp("us"),
        )
    if len(kinds) == 1:
        return pa.array(given)
    return pa.array([None if v is None else _text(v) for v in given], pa.string())


def _kind_of(path: Path) -> str | None:
    try:
        with open(path, "rb") as file:
            first = file.read(FIRST_BYTES)
    except OSError:
        return None  # told by whoever opens it next
    if first.startswith(b"\x1f\x8b"):
        try:
            with gzip.open(path) as file:
                first = file.read(FIRST_BYTES)
        except (OSError, EOFError, zlib.error):
            return None  # told by whoever opens it next
        if not first.startswith(b"RDX") and not first.startswith(b"X\n\0\0\0"):
            return None
    if first.startswith((b"$FL2", b"$FL3")):
        return "SPSS"
    if first.startswith(b"<stata_dta>") or (first[:1] and first[0] in OLD_STATA and first[1:4] in OLD_MARKS):
        return "Stata"
    if first.startswith((SAS, b"HEADER RECORD*******L")):
        return "SAS"
    if first.startswith(b"\xd0\xcf\x11\xe0") or (first.startswith(b"PK\x03\x04") and _is_workbook(path)):
        return "Excel"
    if first[8:12] == b"DUCK":
        raise DataError(f"{file_name(path)} is a DuckDB database: name it alone")
    for start, what in OTHERS:
        if first.startswith(start):
            raise DataError(f"{file_name(path)} is {what}")
    return None


def _is_workbook(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            names = set(archive.namelist())
    except (zipfile.BadZipFile, OSError):
        names = set()
    if {"xl/workbook.xml", "xl/workbook.bin", "content.xml"} & names:
        return True
    raise DataError(f"{file_name(path)} is a ZIP archive: unpack it and name the file inside")


def _library(name: str, path: Path, kind: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        article = "an" if kind in ("Excel", "SPSS") else "a"
        raise UsageError(
            f"{file_name(path)} is {article} {kind} file: install the extra `files` to read it"
        ) from None


def _excel(path: Path, sheet: str | None) -> dict[str, list[Any]]:
    calamine = _library("python_calamine", path, "Excel")
    try:
        workbook = calamine.CalamineWorkbook.from_path(str(path))
        rows_of = {name: workbook.get_sheet_by_name(name).to_python() for name in workbook.sheet_names}
    except calamine.CalamineError:
        raise DataError(f"{file_name(path)} is damaged, encrypted or no Excel file; save it again") from None
    filled = {name: rows for name, rows in rows_of.items() if rows}
    if sheet is not None:
        if sheet not in rows_of:
            raise UsageError(f"{file_name(path)} has no sheet {sheet!r}; its sheets are {_listed(rows_of)}")
    elif len(filled) > 1:
        raise DataError(
            f"{file_name(path)} has several sheets: {_listed(filled)}; name one: ",
            Parameter("sheet=", "--sheet"),
        )
    rows = rows_of[sheet] if sheet is not None else next(iter(filled.values()), [])
    if len(rows) < 2:
        raise DataError(f"{file_name(path)} has no rows")
    names = [_text(name) for name in rows[0]]
    if "" in names:
        at = names.index("") + 1
        raise DataError(f"{file_name(path)}: column {at} has no name in the first row; name it")
    check_unique(names, file_name(path))
    filled_rows = [row for row in rows[1:] if any(value != "" for value in row)]
    return {name: [row[i] for row in filled_rows] for i, name in enumerate(names)}


def _statistical(path: Path, kind: str) -> tuple[dict[str, list[Any]], dict[str, Labels]]:
    pyreadstat = _library("pyreadstat", path, kind)
    read: Callable[..., tuple[Mapping[str, list[Any]], Any]] = {
        "SPSS": pyreadstat.read_sav,
        "Stata": pyreadstat.read_dta,
        "SAS": pyreadstat.read_xport if _is_transport(path) else pyreadstat.read_sas7bdat,
    }[kind]
    try:
        columns, about = read(str(path), output_format="dict")
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, UnicodeDecodeError):
        raise DataError(f"{file_name(path)} is damaged or truncated; save it again in {kind}") from None
    words, descriptions = about.variable_value_labels, about.column_names_to_labels
    labels = {
        name: Labels(
            descriptions.get(name),
            {code: word for code, word in words.get(name, {}).items() if isinstance(code, int | float)},
        )
        for name in columns
    }
    return {name: _labelled(list(values), words.get(name)) for name, values in columns.items()}, labels


def _is_transport(path: Path) -> bool:
    with open(path, "rb") as file:
        return file.read(6) == b"HEADER"


def _labelled(values: list[Any], labels: Mapping[Any, str] | None) -> list[Any]:
    if labels and all(value is None or value in labels for value in values):
        return [None if value is None else labels[value] for value in values]
    return values


def _listed(sheets: Iterable[str]) -> str:
    return ", ".join(map(repr, sheets))


def _text(value: Any) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
