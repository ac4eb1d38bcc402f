# SPDX-License-Identifier: Apache-2.0
"""Any source of a table -> pyarrow.Table, with no value changed on the way.

Files are Parquet, Arrow IPC (Feather) or CSV; a directory or glob pattern is one table. In CSV a
column is numeric, boolean, a date or a timestamp only if every field that is not empty is one;
otherwise all its fields are strings exactly as written. Integers with leading zeros (postcodes) and
integers too long to be told apart as floats keep a column a string. An empty field is missing; `NA`
and its like are values unless `null` lists them.
"""

from __future__ import annotations

import codecs
import csv
import glob
import io
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.ipc as pa_ipc
import pyarrow.parquet as pq

from anon.columns import values_alone, values_type
from anon.encode import available_threads, in_threads
from anon.errors import DataError, UsageError
from anon.schema import check_names, check_unique, is_measurable, is_text, value_type

if TYPE_CHECKING:
    from anon.scale.scan import Scan

Format = Literal["parquet", "feather", "csv"]
Engine = Literal["local", "stream"]

FORMAT_OF_SUFFIX: dict[str, Format] = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".feather": "feather",
    ".arrow": "feather",
    ".arrows": "feather",
    ".ipc": "feather",
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
}
COMPRESSED = {".gz", ".bz2", ".zst", ".lz4"}

WORKING_COPIES = 2.5  # what an anonymization takes at most, in sizes of its table
LEAST_MEMORY = 1 << 24
CSV_BLOCK = 1 << 24  # bytes of a CSV file that are read at a time
FEW_ROWS = 1 << 16  # checked sooner than a thread has begun
_MEMORY = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(?:([KMGT])(?:i?B)?|B)?\s*", re.IGNORECASE)

# An integer that would not survive as a number: a leading zero, or more digits than a float holds.
UNSAFE_INTEGER = r"^\s*[+-]?0\d+\s*$"
UNSAFE_FLOAT = r"^\s*[+-]?(0\d+(\.\d*)?|\d{16,})\s*$"
AS_WRITTEN = pa.dictionary(pa.int32(), pa.string())


@dataclass(frozen=True, repr=False)
class Source:
    """A table as read, and what a writer needs to give it back in the same form.

    `schema` holds the columns' own types: `table` may hold strings as dictionaries where that is
    how the file stores them. `format` is None and `paths` empty for a table that was in memory.
    `table` is a Scan where the rows stay in the files. `csv` is how CSV files are read.
    """

    table: pa.Table | Scan
    schema: pa.Schema
    format: Format | None = None
    paths: tuple[Path, ...] = ()
    csv: Csv | None = None

    def __repr__(self) -> str:
        where = "memory" if self.format is None else f"{len(self.paths)} {self.format}"
        return f"Source({where}, n_rows={self.table.num_rows}, n_columns={self.table.num_columns})"


def read_table(source: Any, **options: Any) -> pa.Table:
    """The table of `read_source`, which takes the same options but for `engine`: it is whole in memory."""
    table = read_local(source, **options).table
    return table if isinstance(table, pa.Table) else table.whole()


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
    engine: Engine | None = None,
    memory: int | str | None = None,
    spill: str | os.PathLike[str] | None = None,
) -> Source:
    """Read a table from a path, several paths, Arrow data, a data frame or a dict of arrays.

    A Source is given back as it is.

    `columns` are those wanted (None: all). For CSV only: `null` lists the texts that stand for a
    missing value, `delimiter` is found from the first line if None.

    With `engine="stream"` the rows stay in their files, which are read again, in batches, whenever
    they are needed; everything that takes a Source takes such a one, with the same results. None
    chooses: "stream" where the files would need more than `memory` (bytes, or text like "4G";
    default half of the machine's). `spill` is a folder for temporary files: then codes are kept
    there too. Without it they are in memory, and rows are spilled beside the release.

    Raises DataError where a table cannot be had, or has two columns of one name, or no rows.
    """
    if isinstance(source, Source):
        return source
    if engine not in (None, *get_args(Engine)):
        raise UsageError(f"engine must be one of {', '.join(get_args(Engine))}")
    if spill is not None and not os.path.isdir(spill):  # also where nothing is spilled today
        raise UsageError(f"there is no folder {os.fspath(spill)!r} for temporary files; make it")
    budget = bytes_of(memory)
    markers = (null,) if isinstance(null, str) else tuple(null)
    if isinstance(source, str | os.PathLike):
        paths = _files([source])
    elif (
        isinstance(source, list | tuple) and source and all(isinstance(s, str | os.PathLike) for s in source)
    ):
        paths = _files(source)
    else:
        if markers or delimiter is not None or encoding != "utf-8":
            raise UsageError("null, delimiter and encoding are for CSV files only")
        if engine == "stream":
            raise UsageError("a table in memory cannot be streamed: name its file")
        table = _from_memory(source)
        check_unique(table.column_names)
        table = table if columns is None else table.select(wanted_names(columns, table.column_names))
        # strings in memory are trusted, to look at each would cost as much as to encode it
        check_data(table, "the table", lambda column: pa.types.is_dictionary(column))
        return _checked(Source(table, table.schema))

    format = _format(paths)
    if format != "csv" and (markers or delimiter is not None or encoding != "utf-8"):
        raise UsageError("null, delimiter and encoding are for CSV files only")
    from anon.scale.scan import scan, table_bytes

    how = Csv(markers, delimiter, encoding)
    if engine == "stream" or (engine is None and WORKING_COPIES * table_bytes(paths, format) > budget):
        rows = scan(paths, format, columns, how, budget, spill)
        return Source(rows, rows.file_schema, format, tuple(paths), how)
    if format == "parquet":
        return _checked(_read_parquet(paths, columns))
    tables = how.tables(paths, columns) if format == "csv" else [_read_feather(path) for path in paths]
    for path, each in zip(paths, tables, strict=True):
        check_unique(each.column_names, file_name(path))
        if format == "feather":  # a date64 need not be a whole day: it is read as its day
            check_data(each, file_name(path), lambda column: not pa.types.is_date64(column))
    schema = common_schema(paths, [each.schema for each in tables])
    table = pa.concat_tables(each.cast(schema) for each in tables)
    table = table if columns is None else table.select(wanted_names(columns, table.column_names))
    return _checked(Source(table, table.schema, format, tuple(paths), how))


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
        from anon.scale.scan import scan

        held = source.table
        rows = scan(source.paths, "csv", held.column_names, csv, held.memory, held.folder)
        return replace(source, table=rows, schema=rows.file_schema, csv=csv)
    written = pa.concat_tables(csv.tables(source.paths, names))
    if written.num_rows != source.table.num_rows:
        raise DataError("the input has changed while it was read; start again")
    table = source.table
    for name in names:
        table = table.set_column(table.column_names.index(name), name, written.column(name))
    return replace(source, table=table, schema=table.schema, csv=csv)


def reading(path: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of reading, those of CSV only for a file that is not known to be another."""
    if FORMAT_OF_SUFFIX.get(Path(path).suffix.lower(), "csv") == "csv":
        return dict(options)
    return {name: options[name] for name in ("engine", "memory", "spill") if name in options}


def _checked(source: Source) -> Source:
    if source.table.num_columns == 0:
        raise DataError("the table has no columns")
    if source.table.num_rows == 0:
        raise no_rows(source.paths)
    return replace(source, table=in_plain_types(source.table), schema=plain_schema(source.schema))


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """The types as which the columns are held: those that every part of Arrow can work with."""
    return pa.schema([field.with_type(_plain_type(field.type)) for field in schema])


def in_plain_types(table: pa.Table) -> pa.Table:
    """The table with every column in its plain type."""
    schema = table.schema
    kinds = [_plain_type(field.type) for field in schema]
    columns = {
        i: pa.chunked_array([_plain(chunk) for chunk in table.column(i).chunks], type=kind)
        for i, (kind, field) in enumerate(zip(kinds, schema, strict=True))
        if kind != field.type
    }
    return with_columns(table, columns)


def with_columns(table: pa.Table, columns: Mapping[int, pa.ChunkedArray]) -> pa.Table:
    """The table with other columns at these places, all put there at once: one by one is quadratic."""
    if not columns:
        return table
    fields = list(table.schema)
    for i, column in columns.items():
        fields[i] = pa.field(fields[i].name, column.type)
    whole = [columns.get(i, column) for i, column in enumerate(table.columns)]
    return pa.Table.from_arrays(whole, schema=pa.schema(fields, table.schema.metadata))


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


def check_data(table: pa.Table, where: str, in_full: Callable[[pa.DataType], bool]) -> None:
    """Refuse Arrow data that lead out of their buffers; those checked `in_full` also if not valid UTF-8."""

    def is_sound(column: pa.ChunkedArray) -> bool:
        try:
            column.validate(full=in_full(column.type))
        except (pa.ArrowException, IndexError) as error:
            raise_if_out_of_memory(error)
            return False
        return True

    n_threads = available_threads() if table.num_rows > FEW_ROWS else 1
    sound = in_threads(n_threads, is_sound, table.columns)
    for name in [name for name, whole in zip(table.column_names, sound, strict=True) if not whole]:
        raise DataError(
            f"column {name!r} of {where} is damaged: its Arrow data contradict themselves; make it again",
            column=name,
        )


def wanted_names(columns: Sequence[str], names: Sequence[str]) -> list[str]:
    """The wanted ones of a table's names, in its order; DataError where one is unknown."""
    check_names(columns, names)
    wanted = set(columns)
    return [name for name in names if name in wanted]


def file_name(path: Path) -> str:
    """A file as messages name it."""
    return f"file {str(path)!r}"


def no_rows(paths: Sequence[Path]) -> DataError:
    """The error of a table without rows, which may be one of several."""
    return DataError(f"{file_name(paths[0]) if len(paths) == 1 else 'the table'} has no rows")


# --- Files ---------------------------------------------------------------------------------------


def _files(sources: Sequence[str | os.PathLike[str]]) -> list[Path]:
    """The files meant, those of a directory or pattern in the order of their names."""
    files: list[Path] = []
    for source in sources:
        path = Path(source)
        if not os.fspath(source):
            raise UsageError("the path of the table is empty")
        if path.is_dir():
            inside = sorted(path.rglob("*"))
            found = [each for each in inside if not any(p[0] in "._" for p in each.relative_to(path).parts)]
            if any("=" in each.name and each.is_dir() for each in found):
                raise DataError(
                    f"the directories in {str(path)!r} hold the values of a column in their names; "
                    "read them with pyarrow.dataset and pass the table"
                )
            found = [each for each in found if _suffix(each) in FORMAT_OF_SUFFIX]
        elif path.is_file():
            found = [path]
        else:
            found = sorted(map(Path, glob.glob(os.fspath(source), recursive=True)))
        found = [each for each in found if each.is_file()]
        if not found and path.is_dir():
            raise DataError(f"there is no file {', '.join(FORMAT_OF_SUFFIX)} in {os.fspath(source)!r}")
        if not found:
            raise DataError(f"there is no file {os.fspath(source)!r}")
        files += found
    return files


def _format(paths: Sequence[Path]) -> Format:
    formats = {path: _format_of(path) for path in paths}
    first = formats[paths[0]]
    for path, format in formats.items():
        if format != first:
            raise DataError(
                f"{file_name(path)} is {format} where {file_name(paths[0])} is {first}; "
                "one table has one format"
            )
    return first


def _format_of(path: Path) -> Format:
    """The format by the file's first bytes, by its suffix where they do not tell."""
    try:
        with open(path, "rb") as file:
            magic = file.read(8)
    except OSError as error:
        raise DataError(f"{file_name(path)} cannot be read: {error.strerror}") from None
    if not magic:
        raise DataError(f"{file_name(path)} is empty")
    if magic.startswith(b"PAR1"):
        return "parquet"
    if magic.startswith((b"ARROW1", b"FEA1", b"\xff\xff\xff\xff")):
        return "feather"
    format = FORMAT_OF_SUFFIX.get(_suffix(path), "csv")
    if format != "csv":
        raise unreadable(path, format)
    return format


def _suffix(path: Path) -> str:
    """The last suffix that does not tell of compression, in lower case."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    while suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def raise_if_out_of_memory(error: Exception) -> None:
    """Memory or threads that ran out are no fault of a file."""
    if isinstance(error, MemoryError):
        raise error
    if "Failed to launch worker thread" in str(error):
        raise MemoryError("no thread can be started") from None


def unreadable(path: Path, format: Format) -> DataError:
    """The error of a file that is not what its format says."""
    name = {"parquet": "Parquet", "feather": "Arrow IPC (Feather)", "csv": "CSV"}[format]
    return DataError(f"{file_name(path)} is damaged or truncated, or is not {name}; write it again")


def common_schema(paths: Sequence[Path], schemas: Sequence[pa.Schema]) -> pa.Schema:
    """The schema of files that are one table: the same columns in the same order, of the same types.

    A column without values has any type.
    """
    fields = list(schemas[0])
    for path, schema in zip(paths, schemas, strict=True):
        if schema.names != schemas[0].names:
            raise DataError(
                f"{file_name(path)} and {file_name(paths[0])} have different columns; one table has the same"
            )
        for i, field in enumerate(schema):
            ours, theirs = fields[i].type, field.type
            if pa.types.is_null(ours):
                fields[i] = fields[i].with_type(theirs)
            elif ours != theirs and not pa.types.is_null(theirs):
                raise DataError(
                    f"column {field.name!r} is {theirs} in {file_name(path)} and {ours} in "
                    f"{file_name(paths[0])}; cast one of them",
                    column=field.name,
                )
    return pa.schema([field.with_nullable(True) for field in fields])


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


def _read_parquet(paths: Sequence[Path], columns: Sequence[str] | None) -> Source:
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
    for path in paths:
        try:
            with pq.ParquetFile(path, read_dictionary=sorted(dictionaries or ())) as file:
                tables.append(file.read(columns=wanted).select(wanted).replace_schema_metadata(None))
        except (pa.ArrowException, OSError) as error:
            raise_if_out_of_memory(error)
            raise unreadable(path, "parquet") from None
    schema = pa.schema([schema.field(name) for name in wanted])
    as_read = common_schema(paths, [table.schema for table in tables])
    table = pa.concat_tables(table.cast(as_read) for table in tables).unify_dictionaries()
    return Source(table, schema, "parquet", tuple(paths))


def stored_as_dictionary(file: pq.ParquetFile) -> set[str]:
    """The string columns whose values take less room in the file than their lengths alone would."""
    schema = file.schema_arrow
    first = {name: i for i, name in reversed(list(enumerate(schema.names)))}
    sizes = {name: [0, 0] for name, i in first.items() if is_text(schema.field(i).type)}
    stored = file.metadata
    for row_group in map(stored.row_group, range(stored.num_row_groups)):
        for chunk in map(row_group.column, range(row_group.num_columns)):
            size = sizes.get(chunk.path_in_schema)
            if size is not None:
                size[0] += chunk.total_uncompressed_size
                size[1] += chunk.num_values
    return {name for name, (n_bytes, n_values) in sizes.items() if n_bytes < 4 * n_values}


def index_columns(schema: pa.Schema) -> set[str]:
    """The columns in which pandas stored an index that has no name."""
    names = (schema.pandas_metadata or {}).get("index_columns", ())
    return {name for name in names if isinstance(name, str) and name.startswith("__index_level_")}


def _without_index(table: pa.Table) -> pa.Table:
    indexes = index_columns(table.schema)
    table = table.select([i for i, name in enumerate(table.column_names) if name not in indexes])
    return table.replace_schema_metadata(None)


# --- CSV -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Csv:
    """How the CSV files of one table are read."""

    null: tuple[str, ...]
    delimiter: str | None
    encoding: str
    text: tuple[str, ...] = ()  # columns that are strings whatever they hold

    def __post_init__(self) -> None:
        delimiter = self.delimiter
        if delimiter is not None and (
            len(delimiter) != 1 or not delimiter.isascii() or delimiter in '\0\r\n"'
        ):
            raise UsageError(
                "the delimiter of a CSV file must be one character of ASCII, no quote or line end"
            )
        try:
            io.TextIOWrapper(io.BytesIO(), encoding=self.encoding)
        except (LookupError, ValueError):
            raise UsageError(f"there is no encoding {self.encoding!r}") from None

    def tables(self, paths: Sequence[Path], columns: Sequence[str] | None = None) -> list[pa.Table]:
        """One table per file, of types that agree: a column that they type differently is text in all.

        Of one file alone, just the `columns` (None: all).
        """
        columns = columns if len(paths) == 1 else None
        tables = [self.read(path, columns=columns) for path in paths]
        names = tables[0].column_names
        if any(table.column_names != names for table in tables):
            return tables
        texts, numbers = to_agree(
            [dict(zip(names, each.schema.types, strict=True)) for each in tables],
            lambda name: (each.column(name) for each in tables),
        )
        if texts:
            tables = [self.read(path, texts) for path in paths]
        places = [at for at, name in enumerate(names) if name in numbers]
        return [
            with_columns(each, {at: each.column(at).cast(pa.float64()) for at in places}) for each in tables
        ]

    def read(self, path: Path, as_text: Iterable[str] = (), columns: Sequence[str] | None = None) -> pa.Table:
        """One file. `as_text` names more columns that are strings, `columns` those wanted (None: all)."""
        try:
            return self._read(path, (*self.text, *as_text), columns)
        except (pa.ArrowException, OSError, EOFError) as error:
            raise_if_out_of_memory(error)
            raise unreadable(path, "csv") from None

    def options(
        self, path: Path
    ) -> tuple[pa_csv.ReadOptions, pa_csv.ParseOptions, pa_csv.ConvertOptions, list[str]]:
        """What to tell Arrow's reader of a file, and the names of its columns."""
        header, delimiter, n_blank = self._header(path)
        read = pa_csv.ReadOptions(encoding=self.encoding, block_size=CSV_BLOCK, skip_rows=n_blank)
        # in a file of one column an empty line is an empty field
        parse = pa_csv.ParseOptions(
            delimiter=delimiter, newlines_in_values=True, ignore_empty_lines=len(header) > 1
        )
        convert = pa_csv.ConvertOptions(
            null_values=list({"", *self.null}),
            strings_can_be_null=True,
            true_values=["true", "True", "TRUE"],
            false_values=["false", "False", "FALSE"],
        )
        return read, parse, convert, header

    def check_ends(self, path: Path, header: Sequence[str], delimiter: str) -> None:
        """Raise DataError where two columns have one name, or a quote has no end."""
        check_unique(header, file_name(path))
        if self._has_open_quote(path):
            fault = self.fault(path, delimiter)
            if fault.row is not None:
                raise fault

    def _read(self, path: Path, as_text: Iterable[str], columns: Sequence[str] | None) -> pa.Table:
        read, parse, convert, header = self.options(path)
        self.check_ends(path, header, parse.delimiter)
        if columns is not None:
            convert.include_columns = wanted_names(columns, header)
        try:
            convert.column_types = dict.fromkeys(as_text, pa.string())
            table = pa_csv.read_csv(os.fspath(path), read, parse, convert)
            numbers = [f.name for f in table.schema if is_number(f.type)]
            if numbers:
                convert.include_columns = numbers
                convert.column_types = dict.fromkeys(numbers, AS_WRITTEN)
                written = pa_csv.read_csv(os.fspath(path), read, parse, convert)
        except (pa.ArrowException, UnicodeError, OSError) as error:
            raise_if_out_of_memory(error)
            raise self.fault(path, parse.delimiter) from None
        if any(pa.types.is_binary(field.type) for field in table.schema):
            raise self.fault(path, parse.delimiter)
        finished = {i: self._finished(column) for i, column in enumerate(table.columns)}
        place = {name: i for i, name in enumerate(table.column_names)}
        for name, text in zip(numbers, written.columns if numbers else (), strict=True):
            if is_unsafe(text.chunks, table.schema.field(place[name]).type):
                finished[place[name]] = text.cast(pa.string())
        return with_columns(table, finished)

    def _finished(self, column: pa.ChunkedArray) -> pa.ChunkedArray:
        if pa.types.is_timestamp(column.type):
            try:
                return column.cast(pa.timestamp("us", column.type.tz))
            except pa.ArrowInvalid:
                return column
        return column

    def _header(self, path: Path) -> tuple[list[str], str, int]:
        """The names in the first line, the delimiter (the given one, or the one that finds most names),
        and the number of empty lines before.
        """
        n_blank = 0
        with self._text(path) as text:
            try:
                while (first := text.readline()) and not first.strip("\r\n"):
                    n_blank += 1
            except UnicodeError:
                raise self.fault(path, ",") from None
        headers = []
        for each in self.delimiter or ",;\t|":
            with suppress(csv.Error):  # a name, or with another delimiter the whole line, can be too long
                headers.append((next(csv.reader([first], delimiter=each), []), each))
        if not headers:
            raise DataError(
                f"{file_name(path)}, line {n_blank + 1}: the name of a column has more than "
                f"{csv.field_size_limit()} characters; shorten it, or name the --delimiter"
            )
        return *max(headers, key=lambda header: len(header[0])), n_blank

    def _text(self, path: Path) -> io.TextIOWrapper:
        encoding = (
            "utf-8-sig" if self.encoding.lower().replace("_", "-") in ("utf-8", "utf8") else self.encoding
        )
        return io.TextIOWrapper(_bytes(path), encoding=encoding, newline="")

    def fault(self, path: Path, delimiter: str) -> DataError:
        """What is wrong with a file that Arrow could not read, said without its values."""
        decoder = codecs.getincrementaldecoder(self.encoding)()
        n_bytes, n_lines = 0, 1
        hint = "name the encoding that it is in, such as --encoding latin-1"
        with _bytes(path) as file:
            block = b"-"
            while block:
                block = file.read(1 << 20)
                n_bytes += len(block)
                try:
                    n_lines += decoder.decode(block, final=not block).count("\n")
                except UnicodeDecodeError as error:
                    byte = n_bytes - len(error.object) + error.start
                    line = n_lines + error.object[: error.start].count(b"\n")
                    return DataError(
                        f"{file_name(path)} is not {self.encoding}: byte {byte}, in line {line}; {hint}"
                    )
                except UnicodeError:
                    return DataError(f"{file_name(path)} is not {self.encoding}; {hint}")
        with self._text(path) as text:
            rows = csv.reader(text, delimiter=delimiter, strict=True)
            line = n_rows = 0
            try:
                header = next(filter(None, rows), [])
                line = rows.line_num + 1
                for row in rows:
                    if row and len(row) != len(header):
                        ending = "" if header[-1] else " (the last one empty: it ends with a delimiter)"
                        return DataError(
                            f"{file_name(path)}, line {line}: {len(row)} fields where the header has "
                            f"{len(header)}{ending}; quote fields that hold a {delimiter!r}, or name the "
                            "--delimiter",
                            row=n_rows,
                        )
                    line, n_rows = rows.line_num + 1, n_rows + 1
            except csv.Error as error:
                what = "a quote has no proper end; double quotes inside of quotes"
                if "field limit" in str(error):
                    most = csv.field_size_limit()
                    what = f"a field has more than {most} characters; shorten it, or end its quote"
                return DataError(
                    f"{file_name(path)}, line {line}: {what}",
                    row=max(0, n_rows),
                )
        return unreadable(path, "csv") if n_rows else no_rows([path])

    def _has_open_quote(self, path: Path) -> bool:
        n_quotes = 0
        with _bytes(path) as file:
            while block := file.read(1 << 20):
                n_quotes += block.count(b'"')
        return n_quotes % 2 == 1


def is_number(arrow_type: pa.DataType) -> bool:
    """Integers and floats, as which a CSV file's numbers are read."""
    return bool(pa.types.is_integer(arrow_type) or pa.types.is_floating(arrow_type))


def is_unsafe(written: Iterable[pa.Array], arrow_type: pa.DataType) -> bool:
    """Does a column of numbers (`AS_WRITTEN`) hold integers that are told apart by more than their value?"""
    pattern = UNSAFE_INTEGER if pa.types.is_integer(arrow_type) else UNSAFE_FLOAT
    return any(pc.any(pc.match_substring_regex(chunk.dictionary, pattern)).as_py() for chunk in written)


def to_agree(
    types: Sequence[Mapping[str, pa.DataType]], columns: Callable[[str], Iterable[pa.ChunkedArray]]
) -> tuple[set[str], set[str]]:
    """The columns that files of one table type differently: those to be text, and those to be floats.

    `types` are those of each file, `columns` gives the parts of a column. Integers beside floats are
    floats where all can be told apart as such.
    """
    found = {name: {each[name] for each in types} - {pa.null()} for name in types[0]}
    differ = {name for name, kinds in found.items() if len(kinds) > 1}
    floats = {
        name for name in differ if found[name] == {pa.int64(), pa.float64()} and _fit_floats(columns(name))
    }
    return differ - floats, floats


def _fit_floats(parts: Iterable[pa.ChunkedArray]) -> bool:
    """Can the integers of a column be told apart as floats?"""
    try:
        for part in parts:
            part.cast(pa.float64())
    except pa.ArrowInvalid:
        return False
    return True


def _bytes(path: Path) -> pa.NativeFile:
    return pa.input_stream(os.fspath(path), compression="detect")


# --- Memory --------------------------------------------------------------------------------------


def _from_memory(source: Any) -> pa.Table:
    """Arrow data, a data frame or a dict of arrays as a Table. The index of a pandas frame is no column."""
    try:
        if isinstance(source, pa.Table):
            return source
        if isinstance(source, pa.RecordBatch):
            return pa.Table.from_batches([source])
        if isinstance(source, pa.RecordBatchReader):
            return source.read_all()
        if isinstance(source, list | tuple) and source and all(isinstance(b, pa.RecordBatch) for b in source):
            return pa.Table.from_batches(source)
        if isinstance(source, Mapping):
            return _from_arrays(source)
        if type(source).__module__.partition(".")[0] == "pandas" and hasattr(source, "columns"):
            names = [str(name) for name in source.columns]
            check_unique(names)
            return _from_arrays({name: source.iloc[:, i] for i, name in enumerate(names)})
        if hasattr(source, "__arrow_c_stream__") or hasattr(source, "__arrow_c_array__"):
            return pa.table(source)
    except pa.ArrowException:
        raise DataError("the table's Arrow data are not valid") from None
    raise UsageError(
        "a table is a path, Arrow data, a data frame or a dict of arrays, "
        f"not {type(source).__module__}.{type(source).__qualname__}"
    )


def _plain_type(arrow_type: pa.DataType) -> pa.DataType:
    """The type as which a column is held: one that every part of Arrow can work with."""
    types = pa.types
    if _is_of_nested(arrow_type):
        return values_type(arrow_type) or arrow_type  # None: told where it is to be published
    if types.is_dictionary(arrow_type):
        values = _plain_type(arrow_type.value_type)
        sortable = is_text(values) or (is_measurable(values) and not types.is_float16(values))
        return pa.dictionary(arrow_type.index_type, values, arrow_type.ordered) if sortable else values
    if types.is_run_end_encoded(arrow_type):
        return _plain_type(arrow_type.value_type)
    if types.is_string_view(arrow_type):
        return pa.large_string()
    return pa.large_binary() if types.is_binary_view(arrow_type) else arrow_type


def _is_of_nested(arrow_type: pa.DataType) -> bool:
    """A dictionary of, or runs of, values that are no flat ones."""
    types = pa.types
    return bool(types.is_dictionary(arrow_type) or types.is_run_end_encoded(arrow_type)) and bool(
        types.is_nested(arrow_type.value_type)
        or types.is_dictionary(arrow_type.value_type)
        or isinstance(arrow_type.value_type, pa.BaseExtensionType)
    )


def _plain(array: pa.Array) -> pa.Array:
    """An array in its plain type."""
    plain = _plain_type(array.type)
    if plain == array.type:
        return array
    if _is_of_nested(array.type):
        return values_alone(array)
    if pa.types.is_run_end_encoded(array.type):
        run = pa.RunEndEncodedArray.from_arrays(array.run_ends, np.arange(len(array.values)))
        return _plain(array.values).take(pc.run_end_decode(run.slice(array.offset, len(array))))
    if not pa.types.is_dictionary(array.type):
        return array.cast(plain)
    values = _plain(array.dictionary)
    if pa.types.is_dictionary(plain):
        return pa.DictionaryArray.from_arrays(array.indices, values, ordered=plain.ordered)
    return values.take(array.indices)


def _from_arrays(arrays: Mapping[Any, Any]) -> pa.Table:
    check_unique([str(name) for name in arrays])
    columns = {}
    n_rows = None
    for name, values in arrays.items():
        try:
            column = values if isinstance(values, pa.ChunkedArray) else pa.array(values)
        except OverflowError:
            raise DataError(
                f"column {name!r} holds integers of more than 64 bits; make them decimals or strings",
                column=str(name),
            ) from None
        except (pa.ArrowException, TypeError, ValueError):
            raise DataError(
                f"column {name!r} is no array of one type; convert its values to one type", column=str(name)
            ) from None
        if n_rows is not None and len(column) != n_rows:
            raise DataError(
                f"column {name!r} has {len(column)} values where the columns before it have {n_rows}",
                column=str(name),
            )
        n_rows = len(column)
        columns[str(name)] = column
    try:
        return pa.table(columns)
    except UnicodeError:
        raise DataError("a column's name is not valid Unicode; rename it") from None
