# SPDX-License-Identifier: Apache-2.0
"""Any source of a table -> pyarrow.Table, with no value changed on the way.

Files are Parquet, Arrow IPC (Feather), CSV, or those of `anon.tables.foreign`; a directory or glob
pattern is one table. A table of a database is asked for. In CSV a
column is numeric, boolean, a date or a timestamp only if every field that is not empty is one;
otherwise all its fields are strings exactly as written. Integers with leading zeros (postcodes) and
integers too long to be told apart as floats keep a column a string. An empty field is missing; `NA`
and its like are values unless `null` lists them.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pyarrow as pa
import pyarrow.ipc as pa_ipc
import pyarrow.parquet as pq

from anon.errors import DataError, UsageError
from anon.schema import check_unique, is_text, name_and_value, value_type
from anon.tables.csv import Csv, trimmed_names
from anon.tables.foreign import foreign_kind, read_foreign
from anon.tables.formats import (
    FORMAT_OF_SUFFIX,
    check_data,
    common_format,
    common_schema,
    file_name,
    files_of,
    index_columns,
    no_rows,
    raise_if_out_of_memory,
    stored_as_dictionary,
    unreadable,
    wanted_names,
)
from anon.tables.inferred import AS_WRITTEN, with_one_dictionary
from anon.tables.memory import Meaning, from_memory, in_plain_types, plain_schema, with_columns
from anon.tables.places import place_of
from anon.tables.source import Engine, Source
from anon.tables.suspicions import note_on_names, notes_on_csv
from anon.tables.watch import Progress

ONLY_CSV = "null, delimiter, encoding, decimal, thousands and header are for CSV files only"
OF_CSV = ("null", "delimiter", "encoding", "decimal", "thousands", "header", "sheet")
WORKING_COPIES = 2.5  # what an anonymization takes at most, in sizes of its table
LEAST_MEMORY = 1 << 24
STEPS = 50  # in which a Parquet file is read while somebody looks on
_MEMORY = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(?:([KMGT])(?:i?B)?|B)?\s*", re.IGNORECASE)


def read_table(source: Any, **options: Any) -> pa.Table:
    """The table of `read_source`, which takes the same options but for `engine`: it is whole in memory."""
    read = read_local(source, **options)
    table = read.table if isinstance(read.table, pa.Table) else read.table.whole()
    return _plain_texts(table) if read.format == "csv" else table


def read_local(source: Any, *, engine: Engine | None = None, **options: Any) -> Source:
    """As `read_source` with `engine="local"`, the only one taken."""
    if engine not in (None, "local"):
        raise UsageError("the table is read whole here: leave out the engine, or name the local one")
    return read_source(source, engine="local", **options)


def read_source(
    source: Any,
    *,
    columns: Sequence[str] | None = None,
    null: str | Iterable[str] = (),
    delimiter: str | None = None,
    encoding: str = "utf-8",
    decimal: str = ".",
    header: bool = True,
    thousands: str | None = None,
    trim: bool = False,
    typed: Iterable[str] | None = None,
    sheet: str | None = None,
    date: Mapping[str, str] | None = None,
    table: str | None = None,
    query: str | None = None,
    engine: Engine | None = None,
    memory: int | str | None = None,
    spill: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Source:
    """Read a table from a path, several paths, a database, Arrow data, a data frame or a dict of arrays.

    A Source is given back as it is.

    `columns` are those wanted (None: all). `null` lists the texts that stand for a missing value: `NA`
    in every column of a CSV file, `age=97` in one column of any source. `date` gives the format of a
    column of text that holds days, as `datetime.strptime` takes it: `{"born": "%d.%m.%Y"}`.

    For CSV only: `delimiter` is found from the first line if None, `decimal` is the mark in numbers
    ("." or ","), `thousands` the one that groups their digits, and without a `header` the columns are
    `column 1`, `column 2`, …. Days that are all written 31.12.1999, one after the 12th, are read as days.
    `typed` names the columns that are more than text (None: all): cells of the others are kept as they
    stand, `1.50` or `True`. A file that starts with the mark of UTF-16 is read as that.

    `trim` drops blanks at the ends of texts of any source; texts of blanks alone are then missing. Names of
    columns of CSV, Excel, SPSS, Stata and SAS files lose theirs, too, and a note says which. `sheet` names
    the sheet of an Excel file. Excel, SPSS, Stata and SAS files (extra `files`) are read whole.

    A database (extra `db`) is an SQLite or DuckDB file, or a PostgreSQL URI without a password, such as
    `postgresql://user@host/name`. `table` names a table or a view of it (`visits`, `clinic.visits`, or
    `"a.b"` in double quotes), `query` is a SELECT instead. It is read whole, in a transaction that only
    reads; its rows have no order.

    With `engine="stream"` the rows stay in their files, which are read again, in batches, whenever
    they are needed; everything that takes a Source takes such a one, with the same results. None
    chooses: "stream" where the files would need more than `memory` (bytes, or text like "4G";
    default half of the machine's). `spill` is a folder for temporary files: then codes are kept
    there too. Without it they are in memory, and rows are spilled beside the release. `progress` is told how
    many bytes of the files have been read, as that of `anonymize` is of its stages.

    Raises DataError where a table cannot be had, or has two columns of one name, or no rows.
    """
    if isinstance(source, Source):
        return source
    if engine not in (None, *get_args(Engine)):
        raise UsageError(f"engine must be one of {', '.join(get_args(Engine))}")
    if spill is not None and not os.path.isdir(spill):  # also where nothing is spilled today
        raise UsageError(f"there is no folder {os.fspath(spill)!r} for temporary files; make it")
    budget = bytes_of(memory)
    everywhere, by_column = _markers((null,) if isinstance(null, str) else null)
    meaning = Meaning(by_column, date or {}, trim)
    how = Csv(
        everywhere,
        delimiter,
        encoding,
        decimal,
        header,
        tuple(date or ()),
        thousands,
        None if typed is None else frozenset(typed),
        trim,
    )
    place = place_of(source)
    if place is not None:
        if not how.is_plain or sheet is not None:
            raise UsageError(ONLY_CSV)
        if engine == "stream":
            raise UsageError(f"a {place.kind} table is read whole: leave out engine='stream'")
        from anon.tables.databases import read_database

        asked, identities = read_database(place, table, query, columns)
        return _checked(Source(asked, asked.schema, identities=identities), meaning, columns is None)
    if table is not None or query is not None:
        raise UsageError("a table or a query is asked of a database: PostgreSQL, SQLite or DuckDB")
    if isinstance(source, str | os.PathLike):
        paths = files_of([source])
    elif (
        isinstance(source, list | tuple) and source and all(isinstance(s, str | os.PathLike) for s in source)
    ):
        paths = files_of(source)
    else:
        if not how.is_plain:
            raise UsageError(ONLY_CSV)
        if engine == "stream":
            raise UsageError("a table in memory cannot be streamed: name its file")
        given = from_memory(source)
        check_unique(given.column_names)
        given = given if columns is None else given.select(wanted_names(columns, given.column_names))
        # strings in memory are trusted, to look at each would cost as much as to encode it
        check_data(given, "the table", lambda column: pa.types.is_dictionary(column))
        return _checked(Source(given, given.schema), meaning, columns is None)

    kind = foreign_kind(paths)
    if kind is not None or sheet is not None:
        if not how.is_plain:
            raise UsageError(ONLY_CSV)
        if engine == "stream":
            raise UsageError(f"{kind or 'the'} files are read whole: leave out engine='stream'")
        foreign = read_foreign(paths, kind or "other", sheet)
        names = trimmed_names(foreign.column_names) if trim else foreign.column_names
        renamed = [name for name, before in zip(names, foreign.column_names, strict=True) if name != before]
        told = read_source(foreign.rename_columns(names), columns=columns, null=null, date=date, trim=trim)
        return replace(told, notes=(*told.notes, *note_on_names(renamed)))
    format = common_format(paths)
    if format != "csv" and not how.is_plain:
        raise UsageError(ONLY_CSV)
    from anon.tables.scan import scan, table_bytes

    if engine == "stream" or (engine is None and WORKING_COPIES * table_bytes(paths, format) > budget):
        rows = scan(paths, format, columns, how, budget, spill, meaning, progress)
        notes = notes_on_csv(how, paths, rows.head()) if format == "csv" else ()
        return Source(rows, rows.file_schema, format, tuple(paths), how, notes=notes)
    if format == "parquet":
        return _checked(_read_parquet(paths, columns, progress), meaning, columns is None)
    tables = (
        how.tables(paths, columns, progress) if format == "csv" else [_read_feather(path) for path in paths]
    )
    for path, each in zip(paths, tables, strict=True):
        check_unique(each.column_names, file_name(path))
        if format == "feather":  # a date64 need not be a whole day: it is read as its day
            check_data(each, file_name(path), lambda column: not pa.types.is_date64(column))
    schema = common_schema(paths, [each.schema for each in tables])
    whole = pa.concat_tables(each.select(schema.names).cast(schema) for each in tables)
    whole = whole if columns is None else whole.select(wanted_names(columns, whole.column_names))
    own = whole.schema
    if format == "csv":  # texts that repeat are dictionaries in memory alone
        whole = _with_one_dictionary_each(whole)
        own = _schema_of_values(own)
    notes = notes_on_csv(how, paths, whole) if format == "csv" else ()
    return _checked(Source(whole, own, format, tuple(paths), how, notes=notes), meaning, columns is None)


def as_written(source: Source, names: Iterable[str]) -> Source:
    """The source with these columns of its CSV files as text, every field as it stands there.

    Columns of other formats, and those that are text already, stay as they are.
    """
    schema = source.table.schema
    names = [name for name in names if not is_text(value_type(schema.field(name).type))]
    if source.csv is None or source.format != "csv" or not names:
        return source
    csv = replace(source.csv, text=(*source.csv.text, *names))
    if not isinstance(source.table, pa.Table):
        from anon.tables.scan import scan

        scanned = source.table
        rows = scan(
            source.paths, "csv", scanned.column_names, csv, scanned.memory, scanned.folder, scanned.meaning
        )
        return replace(source, table=rows, schema=rows.file_schema, csv=csv)
    written = _with_one_dictionary_each(pa.concat_tables(csv.tables(source.paths, names)))
    if written.num_rows != source.table.num_rows:
        raise DataError("the input has changed while it was read; start again")
    table = source.table
    for name in names:
        table = table.set_column(table.column_names.index(name), name, written.column(name))
    return replace(source, table=table, schema=_schema_of_values(table.schema), csv=csv)


def _with_one_dictionary_each(table: pa.Table) -> pa.Table:
    """Texts of CSV files as one dictionary per column, where it holds them all."""
    coded = [i for i, kind in enumerate(table.schema.types) if kind == AS_WRITTEN]
    return with_columns(table, {i: with_one_dictionary(table.column(i)) for i in coded})


def _schema_of_values(schema: pa.Schema) -> pa.Schema:
    """The types of the values, in dictionaries or not."""
    return pa.schema([field.with_type(value_type(field.type)) for field in schema])


def _plain_texts(table: pa.Table) -> pa.Table:
    """The table without dictionaries."""
    return table.cast(_schema_of_values(table.schema))


def reading(path: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of reading: those of CSV only for a file that is not known to be another, those of
    databases only for one of these.
    """
    if place_of(path) is not None:
        options = {name: value for name, value in options.items() if name not in OF_CSV}
    else:
        options = {name: value for name, value in options.items() if name not in ("table", "query")}
    if FORMAT_OF_SUFFIX.get(Path(path).suffix.lower(), "csv") == "csv":
        return dict(options)
    kept = {name: value for name, value in options.items() if name not in OF_CSV}
    of_columns = [each for each in options.get("null") or () if "=" in each]
    return kept | ({"null": of_columns} if of_columns else {})


def _markers(null: Iterable[str]) -> tuple[tuple[str, ...], dict[str, frozenset[str]]]:
    """The texts that are missing in every column, and those of one, `age=97`."""
    everywhere, by_column = [], defaultdict(set)
    for marker in null:
        pair = name_and_value(marker)
        if pair is None:
            everywhere.append(marker)
        else:
            by_column[pair[0]].add(pair[1])
    return tuple(everywhere), {name: frozenset(texts) for name, texts in by_column.items()}


def _checked(source: Source, meaning: Meaning, whole: bool) -> Source:
    if source.table.num_columns == 0:
        raise DataError("the table has no columns")
    if source.table.num_rows == 0:
        raise no_rows(source.paths)
    table = in_plain_types(source.table)
    if whole:
        meaning.check(table.schema)
    return replace(
        source, table=meaning.of_table(table), schema=meaning.of_schema(plain_schema(source.schema))
    )


def bytes_of(memory: int | str | None) -> int:
    """A number of bytes, or text like "512M", "4G" or "4 GiB"; None: half of the machine's memory."""
    if memory is None:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    if isinstance(memory, int) and not isinstance(memory, bool) and memory >= LEAST_MEMORY:
        return memory
    match = _MEMORY.fullmatch(memory) if isinstance(memory, str) else None
    if match is not None:
        n_bytes = int(float(match[1]) * 1024 ** " KMGT".index((match[2] or " ").upper()))
        if n_bytes >= LEAST_MEMORY:
            return n_bytes
    raise UsageError('memory must be at least 16M: a number of bytes, or text like "512M" or "4G"')


def _read_feather(path: Path) -> pa.Table:
    try:
        with pa.OSFile(os.fspath(path)) as file:  # a map would change, or fault, with the file
            if file.read(4) == b"FEA1":
                raise DataError(
                    f"{file_name(path)} is Feather version 1; write it again as version 2 or Parquet"
                )
            file.seek(0)
            try:
                table = pa_ipc.open_file(file).read_all()
            except pa.ArrowInvalid:
                file.seek(0)
                table = pa_ipc.open_stream(file).read_all()
        return _without_index(table)
    except (pa.ArrowException, OSError, UnicodeError) as error:
        raise_if_out_of_memory(error)
        raise unreadable(path, "feather") from None


def _read_parquet(paths: Sequence[Path], columns: Sequence[str] | None, progress: Progress | None) -> Source:
    schemas: list[pa.Schema] = []
    dictionaries: set[str] | None = None
    for path in paths:
        try:
            with pq.ParquetFile(path) as file:
                schemas.append(file.schema_arrow)
                names = schemas[-1].names
                compact = stored_as_dictionary(file)
        except (pa.ArrowException, OSError, UnicodeError) as error:
            raise_if_out_of_memory(error)
            raise unreadable(path, "parquet") from None
        check_unique(names, file_name(path))
        dictionaries = compact if dictionaries is None else dictionaries & compact
    schema = common_schema(paths, schemas)
    wanted = schema.names if columns is None else wanted_names(columns, schema.names)
    indexes = index_columns(schemas[0])
    wanted = [name for name in wanted if name not in indexes]
    tables = []
    sizes = [os.stat(path).st_size for path in paths]
    for i, path in enumerate(paths):
        try:
            with pq.ParquetFile(path, read_dictionary=sorted(dictionaries or ())) as file:
                table = _row_groups(file, wanted, progress, sum(sizes[:i]), sizes[i], sum(sizes))
                tables.append(table.select(wanted).replace_schema_metadata(None))
        except (pa.ArrowException, OSError) as error:
            raise_if_out_of_memory(error)
            raise unreadable(path, "parquet") from None
    schema = pa.schema([schema.field(name) for name in wanted])
    as_read = common_schema(paths, [table.schema for table in tables])
    table = pa.concat_tables(table.cast(as_read) for table in tables).unify_dictionaries()
    return Source(table, schema, "parquet", tuple(paths))


def _row_groups(
    file: pq.ParquetFile, names: Sequence[str], progress: Progress | None, done: int, size: int, total: int
) -> pa.Table:
    """The table; read in parts where `progress` hears how far of `total` bytes it has come."""
    n = file.num_row_groups
    if progress is None or n == 0:
        return file.read(columns=names)
    step, parts = -(-n // STEPS), []
    for first in range(0, n, step):
        parts.append(file.read_row_groups(range(first, min(first + step, n)), columns=names))
        progress("read", done + size * min(first + step, n) // n, total)
    return pa.concat_tables(parts)


def _without_index(table: pa.Table) -> pa.Table:
    indexes = index_columns(table.schema)
    table = table.select([i for i, name in enumerate(table.column_names) if name not in indexes])
    return table.replace_schema_metadata(None)
