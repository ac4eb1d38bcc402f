# SPDX-License-Identifier: Apache-2.0
"""The types of columns in databases: what is asked for, what is made of it, and how it is written."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from anon.errors import DataError
from anon.schema import is_text, value_type
from anon.tables.places import Kind

AS_THEY_ARE = (  # PostgreSQL's types that arrive as what they are
    *("int2", "int4", "int8", "float4", "float8", "numeric", "bool", "text", "varchar", "name"),
    *("date", "time", "timestamp", "timestamptz", "bytea"),
)
CAST_TO = {"money": "numeric", "oid": "int8"}
UNENDING = ("date", "timestamp", "timestamptz")  # these can be infinite
AS_TEXT_IN_DUCKDB = re.compile("BIT|INTERVAL|TIME WITH TIME ZONE|UNION.*|VARIANT|GEOMETRY")
ROWS_AT_ONCE = 1 << 16
MOST_DIGITS = 38  # of a decimal number
EXACT_DIGITS = 15  # of a decimal number that a float tells apart


# --- What is read


def expression(kind: Kind, name: str, declared: str) -> str:
    """What to select of a column of this declared type; `name` is quoted."""
    if kind == "PostgreSQL":
        if declared in AS_THEY_ARE or declared.startswith("_"):
            return name
        return f"CAST({name} AS {CAST_TO.get(declared, 'text')}) AS {name}"
    if kind == "DuckDB" and AS_TEXT_IN_DUCKDB.fullmatch(declared):
        return f"CAST({name} AS VARCHAR) AS {name}"
    return name


def of_sqlite(name: str, kinds: frozenset[str]) -> str:
    """What to select of a column that holds values of these storage classes: one class, or text."""
    if len(kinds) < 2 or kinds == {"integer", "real"}:
        return name
    return f"CAST({name} AS TEXT) AS {name}"


def in_arrow(table: pa.Table) -> pa.Table:
    """A table as a driver gives it, without extension types: decimals get as many digits as they have."""
    columns = zip(table.column_names, table.columns, strict=True)
    return pa.table([_plain(column, name) for name, column in columns], names=table.column_names)


def in_columns(
    parts: Iterable[Sequence[tuple[Any, ...]]], names: Sequence[str], classes: Sequence[frozenset[str]]
) -> pa.Table:
    """Rows that SQLite gives, in parts, as a table of columns that hold these storage classes."""
    kinds = [_type_of(each) for each in classes]
    chunks: list[list[pa.Array]] = [[] for _ in names]
    for rows in parts:
        for kept, values, kind in zip(chunks, zip(*rows, strict=True), kinds, strict=True):
            kept.append(pa.array(values, kind))
    columns = zip(chunks, kinds, strict=True)
    return pa.table([pa.chunked_array(kept, kind) for kept, kind in columns], names=list(names))


def _type_of(classes: frozenset[str]) -> pa.DataType:
    """The type of a column of these storage classes, as `of_sqlite` asks for it."""
    if classes == {"integer", "real"}:
        return pa.float64()
    if len(classes) > 1:
        return pa.large_string()
    one = {"integer": pa.int64(), "real": pa.float64(), "text": pa.large_string(), "blob": pa.large_binary()}
    return one[next(iter(classes))] if classes else pa.null()


def rows_of(table: pa.Table) -> Iterator[tuple[Any, ...]]:
    """The rows of a table as SQLite takes them: days and times as text."""
    columns = [
        column.cast(pa.string()) if pa.types.is_temporal(column.type) else column for column in table.columns
    ]
    for start in range(0, table.num_rows, ROWS_AT_ONCE):
        yield from zip(*(column.slice(start, ROWS_AT_ONCE).to_pylist() for column in columns), strict=True)


def as_declared(table: pa.Table, declared: Mapping[str, str]) -> pa.Table:
    """A table of SQLite, which stores days as text and truth values as numbers.

    A column that is declared to hold days, times or truth values holds them where all its values are that.
    """
    columns = [
        _declared(column, declared.get(name, "").upper())
        for name, column in zip(table.column_names, table.columns, strict=True)
    ]
    return pa.table(columns, names=table.column_names)


def _plain(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):
        column = pa.chunked_array([chunk.storage for chunk in column.chunks], kind.storage_type)
        return _decimals(column, name) if getattr(kind, "type_name", None) == "numeric" else column
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        return column.cast(pa.timestamp(kind.unit, "UTC"))
    return column


def _declared(column: pa.ChunkedArray, declared: str) -> pa.ChunkedArray:
    kind = column.type
    with suppress(pa.ArrowInvalid):  # left as it is stored
        if is_text(kind) and declared == "DATE":
            return column.cast(pa.date32())
        if is_text(kind) and declared in ("DATETIME", "TIMESTAMP"):
            return column.cast(pa.timestamp("us"))
        if pa.types.is_int64(kind) and declared in ("BOOLEAN", "BOOL"):
            truth = pc.all(pc.is_in(column, pa.array([0, 1, None]))).as_py()
            return column.cast(pa.bool_()) if truth else column
    return column


def _decimals(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """Texts of numbers as decimals of as many digits as they have."""
    plain = pc.match_substring_regex(column, r"^-?[0-9]+(\.[0-9]+)?$")
    if count := pc.sum(pc.invert(plain)).as_py():
        raise DataError(
            f"column {name!r} holds NaN or infinity in {count} rows, which are no decimal numbers; cast it "
            "to float8 in a query, or exclude these rows",
            column=name,
            count=count,
        )
    parts = pc.extract_regex(column, r"^-?0*(?P<whole>[0-9]*)(?P<dot>\.(?P<part>[0-9]*))?$")
    whole, part = (
        pc.max(pc.utf8_length(pc.struct_field(parts, each))).as_py() or 0 for each in ("whole", "part")
    )
    if whole + part > MOST_DIGITS:
        raise DataError(
            f"column {name!r} holds numbers of more than {MOST_DIGITS} digits; cast it to float8 or text in "
            "a query",
            column=name,
        )
    return column.cast(pa.decimal128(max(whole + part, 1), part))


# --- What is written


@dataclass(frozen=True)
class Written:
    """How a column is written: its type in SQL, and the type that its values get before."""

    sql: str
    arrow: pa.DataType


def written(kind: Kind, schema: pa.Schema) -> list[Written]:
    """How the columns are written; DataError where the database has no type for one of them."""
    return [_written(kind, field.name, value_type(field.type)) for field in schema]


def _written(kind: Kind, name: str, arrow: pa.DataType) -> Written:
    for is_one, sql, given in _TYPES:
        if is_one(arrow):
            word = sql[_KINDS.index(kind)]
            if word is not None:
                return Written(word, given or arrow)
    if pa.types.is_decimal(arrow) and arrow.scale >= 0:
        if kind != "SQLite" and arrow.precision <= MOST_DIGITS:
            return Written(
                f"NUMERIC({arrow.precision}, {arrow.scale})", pa.decimal128(arrow.precision, arrow.scale)
            )
        if arrow.precision <= EXACT_DIGITS:
            return Written("DOUBLE", pa.float64())
    raise DataError(
        f"{kind} holds no column such as {name!r} of type {arrow}; make it text or numbers, or write Parquet",
        column=name,
    )


def as_written(kind: Kind, table: pa.Table, columns: Sequence[Written]) -> pa.Table:
    """A table in the types of its columns; DataError for values that these would change or do not hold."""
    made = []
    for name, column, to in zip(table.column_names, table.columns, columns, strict=True):
        can_be_nan = kind == "SQLite" and pa.types.is_floating(column.type)
        if can_be_nan and (count := pc.sum(pc.is_nan(column)).as_py()):
            raise DataError(
                f"column {name!r} holds NaN in {count} rows, which SQLite does not hold; make them null, or "
                "write Parquet",
                column=name,
                count=count,
            )
        try:
            made.append(column.cast(to.arrow))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            raise DataError(
                f"column {name!r} of type {value_type(column.type)} holds values that {kind}'s {to.sql} does "
                "not; make them text, or write Parquet",
                column=name,
            ) from None
    return pa.table(made, names=table.column_names)


_KINDS: Sequence[Kind] = ("PostgreSQL", "SQLite", "DuckDB")
_Row = tuple[Callable[[pa.DataType], bool], Sequence[str | None], pa.DataType | None]


def _same(sql: str) -> Sequence[str | None]:
    return (sql, sql, sql)


def _zoned(kind: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(kind) and kind.tz is not None)


_TYPES: Sequence[_Row] = (
    (pa.types.is_boolean, _same("BOOLEAN"), None),
    (lambda kind: kind in (pa.int8(), pa.uint8(), pa.int16()), _same("SMALLINT"), pa.int16()),
    (lambda kind: kind in (pa.uint16(), pa.int32()), _same("INTEGER"), pa.int32()),
    (pa.types.is_integer, _same("BIGINT"), pa.int64()),
    (lambda kind: kind in (pa.float16(), pa.float32()), ("REAL", "DOUBLE", "REAL"), pa.float32()),
    (pa.types.is_float64, ("DOUBLE PRECISION", "DOUBLE", "DOUBLE"), None),
    (is_text, _same("TEXT"), pa.large_string()),
    (pa.types.is_null, _same("TEXT"), pa.string()),
    (pa.types.is_binary, ("BYTEA", "BLOB", "BLOB"), None),
    (pa.types.is_date, _same("DATE"), pa.date32()),
    (_zoned, ("TIMESTAMP WITH TIME ZONE", None, "TIMESTAMP WITH TIME ZONE"), pa.timestamp("us", "UTC")),
    (lambda kind: pa.types.is_timestamp(kind) and kind.tz is None, _same("TIMESTAMP"), pa.timestamp("us")),
    (pa.types.is_time, ("TIME", None, "TIME"), pa.time64("us")),
)
