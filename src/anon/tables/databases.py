# SPDX-License-Identifier: Apache-2.0
"""Tables of databases: read in a transaction that only reads, written in one that is whole or undone.

PostgreSQL and DuckDB are asked through their ADBC drivers (extra `db`), SQLite through the library that
Python has: a second one in a process would not heed the locks of the first. No database promises an order of
rows: where it matters, the rows are asked for in the order in which they were written.
"""

from __future__ import annotations

import os
import re
import secrets
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote

import pyarrow as pa

from anon.errors import DataError, Parameter, UsageError, did_you_mean
from anon.schema import check_unique, is_text, names_listed
from anon.tables.formats import check_data, wanted_names
from anon.tables.places import RELEASE_TABLE, TABLE, Place, parts_of, quoted
from anon.tables.refusals import refusal
from anon.tables.sql_types import (
    UNENDING,
    Written,
    as_declared,
    as_written,
    expression,
    in_arrow,
    in_columns,
    of_sqlite,
    rows_of,
    written,
)

DRIVERS = {
    "PostgreSQL": ("adbc_driver_postgresql.dbapi",),
    "SQLite": ("sqlite3",),
    "DuckDB": ("adbc_driver_manager.dbapi", "adbc_driver_duckdb"),
}
MODULES = ("adbc_driver_manager", "duckdb", "_duckdb", "sqlite3")  # whose errors are told in other words
LONGEST_WAIT = 5.0  # seconds for the lock of an SQLite file
MOST_EXACT = 1 << 53  # whole numbers up to it are exact as floats
ROWS_AT_ONCE = 1 << 16
COLUMNS_AT_ONCE = 500  # whose types are asked for
_TABLES = {  # schema, name, whether the name alone means it, whether it is a view, what it is, what it shows
    "PostgreSQL": """
        SELECT n.nspname::text, c.relname::text, pg_table_is_visible(c.oid), c.relkind NOT IN ('r', 'p'),
            concat(extract(epoch FROM pg_postmaster_start_time()), ' ', d.oid, ' ', c.oid), NULL
        FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
            JOIN pg_database d ON d.datname = current_database()
        WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname <> 'information_schema'
            AND n.nspname !~ '^pg_' ORDER BY 1, 2""",
    "SQLite": """
        SELECT 'main', name, 1, type = 'view', name, CASE type WHEN 'view' THEN sql END FROM sqlite_master
        WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite!_%' ESCAPE '!' ORDER BY name""",
    "DuckDB": """
        SELECT table_schema, table_name, table_schema = current_schema(), table_type = 'VIEW',
            concat(table_schema, chr(0), table_name),
            (SELECT any_value(sql) FROM duckdb_views() WHERE database_name = current_database()
                AND schema_name = table_schema AND view_name = table_name)
        FROM information_schema.tables WHERE table_catalog = current_database() ORDER BY ALL""",
}
_PLACE_OF_ROW = {"PostgreSQL": "ctid", "SQLite": "rowid", "DuckDB": "rowid"}


@dataclass(frozen=True)
class _Listed:
    """A table that is there; `identity` tells it from all others, and nothing about it.

    `query` is that of a view, but PostgreSQL's, which itself keeps the tables that its views need.
    """

    schema: str
    name: str
    is_near: bool
    is_view: bool
    identity: str
    query: str | None

    @property
    def said(self) -> str:
        return self.name if self.is_near else f"{self.schema}.{self.name}"


def read_database(
    place: Place, table: str | None, query: str | None, columns: Sequence[str] | None
) -> tuple[pa.Table, tuple[str, ...]]:
    """The table of this name, or what a query gives; and what the tables that were read are.

    Without either it is the only table that there is. Raises UsageError or DataError where it cannot be had.
    """
    if table is not None and query is not None:
        raise UsageError("a table and a query are given: name one of them")
    with _open(place) as cursor:
        there = _tables(cursor, place)
        if query is not None:
            relation, name = f"({query.strip().rstrip(';')}\n) AS asked", None
            found = _named_in(query, there)
        else:
            found = [one := _chosen(there, place, table)]
            relation, name = quoted(one.schema, one.name), one.name
        names, declared = _columns(cursor, place, relation, name)
        check_unique(names, str(place))
        wanted = names if columns is None else wanted_names(columns, names)
        result = _select(cursor, place, relation, wanted, declared)
    check_data(result, str(place), is_text)
    return result, tuple(one.identity for one in _with_needed(found, there))


class Target:
    """A new table, in a transaction: what was written can be read before anybody sees it."""

    def __init__(self, cursor: Any, place: Place, schema: str | None) -> None:
        self._cursor, self._place, self._schema = cursor, place, schema
        self._name = f"anon_{secrets.token_hex(8)}"
        self._columns: list[Written] = []

    def create(self, schema: pa.Schema) -> None:
        """Make the table, of these columns."""
        self._columns = written(self._place.kind, schema)
        columns = zip(schema.names, self._columns, strict=True)
        described = ", ".join(f"{quoted(name)} {column.sql}" for name, column in columns)
        self._cursor.execute(f"CREATE TABLE {self._quoted} ({described})")

    def write_table(self, table: pa.Table) -> None:
        """Add rows."""
        table = as_written(self._place.kind, table, self._columns)
        if self._place.kind == "SQLite":
            marks = ", ".join("?" * table.num_columns)
            self._cursor.executemany(f"INSERT INTO {self._quoted} VALUES ({marks})", rows_of(table))
            return
        options = {} if self._schema is None else {"db_schema_name": self._schema}
        self._cursor.adbc_ingest(self._name, table, mode="append", **options)

    def read(self, columns: Sequence[str] | None) -> pa.Table:
        """These columns of all rows (None: all), in the order in which they were written."""
        names, declared = _columns(self._cursor, self._place, self._quoted, self._name)
        order = _PLACE_OF_ROW[self._place.kind]
        wanted = names if columns is None else wanted_names(columns, names)
        return _select(self._cursor, self._place, self._quoted, wanted, declared, order)

    def take(self, name: str, replaced: bool) -> None:
        """Give the table its name, in place of another if that is `replaced`."""
        if replaced:
            self._cursor.execute(f"DROP TABLE {quoted(self._schema, name)}")
        self._cursor.execute(f"ALTER TABLE {self._quoted} RENAME TO {quoted(name)}")

    @property
    def _quoted(self) -> str:
        return quoted(self._schema, self._name)


@contextmanager
def new_table(place: Place, table: str | None, replace: bool, sources: Sequence[str]) -> Iterator[Target]:
    """A table that is there, whole, when the block succeeds, and else is not, or is as it was.

    It is refused where a table of the name is there, unless it is to be `replace`d, is no view and is none of
    the `sources`, which are what `read_database` tells of the tables that it read. A file that is not there
    appears when its table is whole.
    """
    schema, name = parts_of(_said(table))
    if place.kind != "PostgreSQL" and not os.path.exists(place.where):
        with _new_file(Path(os.path.realpath(place.where))) as path, _open(place, path) as cursor:
            target = Target(cursor, place, schema)
            yield target
            target.take(name, False)
            cursor.connection.commit()
        return
    with _open(place, place.where) as cursor:
        there = _in_its_place(_tables(cursor, place), place, schema, name, replace, sources)
        target = Target(cursor, place, schema)
        yield target
        target.take(name if there is None else there.name, there is not None)
        cursor.connection.commit()


@contextmanager
def _new_file(path: Path) -> Iterator[str]:
    """Where to make a file that gets this path when it is whole, unless another has it by then."""
    with TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent) as folder:
        made = Path(folder) / path.name
        yield str(made)
        try:
            os.link(made, path)
        except FileExistsError:
            raise DataError(
                f"{str(path)!r} was made by another program meanwhile; nothing was written"
            ) from None


def check_target(place: Place, table: str | None, replace: bool, sources: Sequence[str]) -> None:
    """Raise before the work where `new_table` would refuse the name, or the database cannot be had."""
    schema, name = parts_of(_said(table))
    if place.kind == "PostgreSQL" or os.path.exists(place.where):
        with _open(place) as cursor:
            _in_its_place(_tables(cursor, place), place, schema, name, replace, sources)
    else:
        _drivers(place)


def identities(place: Place, table: str | None, query: str | None) -> tuple[str, ...]:
    """What the tables are that `read_database` would read."""
    with _open(place) as cursor:
        there = _tables(cursor, place)
        found = _named_in(query, there) if query is not None else [_chosen(there, place, table)]
        return tuple(one.identity for one in _with_needed(found, there))


# --- Connections


@contextmanager
def _open(place: Place, written: str | None = None) -> Iterator[Any]:
    """A cursor in a transaction that only reads, or writes to `written`; it ends undone unless committed."""
    with (
        _refusing(place),
        closing(_connect(place, written)) as connection,
        closing(connection.cursor()) as cursor,
    ):
        if place.kind == "PostgreSQL":
            if written is None:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            cursor.execute("SET LOCAL TIME ZONE 'UTC'")
        try:
            yield cursor
        finally:
            with suppress(Exception):
                connection.rollback()


def _connect(place: Place, written: str | None) -> Any:
    drivers = _drivers(place)
    if place.kind == "PostgreSQL":
        return drivers[0].connect(place.where)
    path = os.path.realpath(place.where if written is None else written)
    if place.kind == "SQLite":
        uri = f"file:{quote(path)}?mode={'ro' if written is None else 'rwc'}"
        connection = drivers[0].connect(uri, uri=True, isolation_level=None, timeout=LONGEST_WAIT)
        connection.execute("BEGIN")
        return connection
    settings = {"enable_external_access": "false", "lock_configuration": "true"}
    if "duckdb" in sys.modules and os.path.exists(path):  # no lock of the file keeps this process out
        sys.modules["duckdb"].connect(path, read_only=True, config=settings).close()
    options = {"path": path, **settings}
    if written is None:
        options["access_mode"] = "READ_ONLY"
    return drivers[0].connect(
        driver=drivers[1].driver_path(), entrypoint="duckdb_adbc_init", db_kwargs=options
    )


def _drivers(place: Place) -> list[Any]:
    try:
        return [import_module(name) for name in DRIVERS[place.kind]]
    except ImportError:
        raise UsageError(f"{place}: install the extra `db` to read and write {place.kind}") from None


@contextmanager
def _refusing(place: Place) -> Iterator[None]:
    """Errors of drivers in words of ours, which hold no host, no user and no value."""
    try:
        yield
    except Exception as error:
        if type(error).__module__.partition(".")[0] not in MODULES:
            raise
        raise refusal(error, place) from None


# --- What is there


def _tables(cursor: Any, place: Place) -> list[_Listed]:
    where = "" if place.kind == "PostgreSQL" else os.path.realpath(place.where)
    cursor.execute(_TABLES[place.kind])
    return [
        _Listed(
            *(schema, name, bool(near), bool(view)),
            *(sha256(f"{place.kind} {where} {what}".encode()).hexdigest(), query),
        )
        for schema, name, near, view, what, query in cursor.fetchall()
    ]


def _chosen(there: Sequence[_Listed], place: Place, table: str | None) -> _Listed:
    """The table of this name, or the only one; DataError where there is none, or there are several."""
    names = [one.said for one in there]
    if table is None:
        if len(there) == 1:
            return there[0]
        if not there:
            raise DataError(f"{place} has no table")
        raise DataError(f"{place} has several tables: {names_listed(names)}; name one: ", TABLE)
    schema, name = parts_of(table)
    found = _found(there, place, schema, name)
    if found is None:
        hint = did_you_mean(table, names).strip() or f"its tables are {names_listed(names) or 'none'}"
        raise DataError(f"{place} has no table {table!r}; {hint}")
    return found


def _found(there: Sequence[_Listed], place: Place, schema: str | None, name: str) -> _Listed | None:
    """The table of this name; SQLite and DuckDB do not tell apart letters of another case."""

    def alike(ours: str, theirs: str) -> bool:
        return ours == theirs or (place.kind != "PostgreSQL" and ours.casefold() == theirs.casefold())

    for one in there:
        if alike(one.name, name) and (one.is_near if schema is None else alike(one.schema, schema)):
            return one
    return None


def _named_in(query: str, there: Sequence[_Listed]) -> list[_Listed]:
    """The tables whose names are words of a query, in any quotes; all where names are written by escapes."""
    if re.search(r"\bu&\s*\"", query, re.IGNORECASE):
        return list(there)

    def is_named(name: str) -> bool:
        written = {name, *(name.replace(mark, 2 * mark) for mark in '"`]')}
        words = "|".join(map(re.escape, written))
        return re.search(rf"(?<!\w)({words})(?!\w)", query, re.IGNORECASE) is not None

    return [one for one in there if is_named(one.name)]


def _with_needed(found: Sequence[_Listed], there: Sequence[_Listed]) -> list[_Listed]:
    """These tables and those that views among them show."""
    reached = {one.identity: one for one in found}
    waiting = list(found)
    while waiting:
        for one in _named_in(waiting.pop().query or "", there):
            if one.identity not in reached:
                reached[one.identity] = one
                waiting.append(one)
    return list(reached.values())


def _said(table: str | None) -> str:
    if table is None:
        raise UsageError("a release in a database is a table: name it: ", RELEASE_TABLE)
    return table


def _in_its_place(
    there: Sequence[_Listed],
    place: Place,
    schema: str | None,
    name: str,
    replace: bool,
    sources: Sequence[str],
) -> _Listed | None:
    """The table that a new one of this name replaces; raises where it may not."""
    found = _found(there, place, schema, name)
    if found is None:
        return None
    if found.identity in sources:
        raise UsageError(f"table {name!r} is also an input, which is never overwritten: name another")
    if found.is_view:
        raise UsageError(f"{name!r} is a view, or no table of this database alone: name another table")
    if not replace:
        raise UsageError(
            f"{place} has a table {name!r}: name another, or replace it: ",
            Parameter("replace=True", "--replace"),
        )
    return found


# --- Columns and rows


def _columns(cursor: Any, place: Place, relation: str, table: str | None) -> tuple[list[str], dict[str, str]]:
    """The columns of a table, or of a query (None), and their types as the database calls them."""
    if place.kind == "DuckDB":
        cursor.execute(f"DESCRIBE SELECT * FROM {relation}")
        described = [(str(row[0]), str(row[1])) for row in cursor.fetchall()]
        return [name for name, _ in described], dict(described)
    cursor.execute(f"SELECT * FROM {relation} LIMIT 0")
    if place.kind == "PostgreSQL":
        fields = cursor.fetch_arrow_table().schema
        kinds = {field.name: (field.metadata or {}).get(b"POSTGRESQL:type", b"") for field in fields}
        return fields.names, {name: kind.decode() for name, kind in kinds.items()}
    names = [str(described[0]) for described in cursor.description]
    if table is None:  # columns of a query have no declared types
        return names, {}
    cursor.execute("SELECT name, type FROM pragma_table_info(?)", (table,))
    return names, dict(cursor.fetchall())


def _select(
    cursor: Any,
    place: Place,
    relation: str,
    names: Sequence[str],
    declared: dict[str, str],
    order: str | None = None,
) -> pa.Table:
    columns = [quoted(name) for name in names]
    ordered = "" if order is None else f" ORDER BY {order}"
    if place.kind == "SQLite":
        classes = _storage_classes(cursor, relation, columns)
        _refuse_inexact(cursor, relation, dict(zip(names, classes, strict=True)))
        columns = [of_sqlite(*each) for each in zip(columns, classes, strict=True)]
        cursor.execute(f"SELECT {', '.join(columns)} FROM {relation}{ordered}")
        parts = iter(lambda: cursor.fetchmany(ROWS_AT_ONCE), [])
        return as_declared(in_columns(parts, names, classes), declared)
    kinds = [declared.get(name, "") for name in names]
    if place.kind == "PostgreSQL":
        _refuse_infinite(cursor, relation, dict(zip(names, kinds, strict=True)))
    columns = [expression(place.kind, *each) for each in zip(columns, kinds, strict=True)]
    cursor.execute(f"SELECT {', '.join(columns)} FROM {relation}{ordered}")
    return in_arrow(cursor.fetch_arrow_table().rename_columns(list(names)))


def _storage_classes(cursor: Any, relation: str, columns: Sequence[str]) -> list[frozenset[str]]:
    """What each column of an SQLite table holds beside null: a column may hold values of several types."""
    found: list[frozenset[str]] = []
    for start in range(0, len(columns), COLUMNS_AT_ONCE):
        part = columns[start : start + COLUMNS_AT_ONCE]
        asked = ", ".join(f"group_concat(DISTINCT typeof({name}))" for name in part)
        cursor.execute(f"SELECT {asked} FROM {relation}")
        found += [frozenset((each or "").split(",")) - {"null", ""} for each in cursor.fetchone()]
    return found


def _refuse_inexact(cursor: Any, relation: str, classes: Mapping[str, frozenset[str]]) -> None:
    """Raise DataError for whole numbers that would lose digits because others in the column are no such."""
    for name in (name for name, each in classes.items() if each == {"integer", "real"}):
        column = quoted(name)
        cursor.execute(
            f"SELECT count(*) FROM {relation} WHERE typeof({column}) = 'integer' "
            f"AND {column} NOT BETWEEN {-MOST_EXACT} AND {MOST_EXACT}"
        )
        if count := cursor.fetchone()[0]:
            raise DataError(
                f"column {name!r} holds {count} whole numbers of more than 53 bits beside others; cast it to "
                "text in a query",
                column=name,
                count=count,
            )


def _refuse_infinite(cursor: Any, relation: str, declared: Mapping[str, str]) -> None:
    """Raise DataError for a day or a time that never comes: Arrow has no such value."""
    ending = [name for name, kind in declared.items() if kind in UNENDING]
    if not ending:
        return
    counted = ", ".join(f"count(*) FILTER (WHERE NOT isfinite({quoted(name)}))" for name in ending)
    cursor.execute(f"SELECT {counted} FROM {relation}")
    for name, count in zip(ending, cursor.fetchone(), strict=True):
        if count:
            raise DataError(
                f"column {name!r} holds infinity in {count} rows, which is no date; leave these out in a "
                "query, or make them null there",
                column=name,
                count=count,
            )
