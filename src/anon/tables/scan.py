# SPDX-License-Identifier: Apache-2.0
"""A table whose rows stay in its files, which are read in batches as often as they are needed.

Batches hold what `anon.tables.read` makes of the same files: the same columns, types and values. Of a CSV
file the types are settled by reading it before; they are those that Arrow's reader finds for the
whole file, not for its beginning.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.ipc as pa_ipc
import pyarrow.parquet as pq

from anon.errors import DataError
from anon.schema import check_unique
from anon.tables.csv import Csv, is_number, is_unsafe, to_agree
from anon.tables.formats import (
    COMPRESSED,
    Format,
    check_data,
    common_schema,
    file_name,
    index_columns,
    no_rows,
    raise_if_out_of_memory,
    stored_as_dictionary,
    unreadable,
    wanted_names,
)
from anon.tables.inferred import AS_WRITTEN
from anon.tables.memory import Meaning, in_plain_types, plain_schema, with_columns
from anon.tables.watch import Progress, watched
from anon.tables.written import Written, written_in

BATCH_ROWS = 1 << 20
UNIT_ROWS = 1 << 16  # rows that a Parquet file is read by: batches are made of whole units
MOST_BATCH_BYTES = 1 << 30
PAGES = 1 << 17  # bytes of a Parquet column read ahead

LOOSER = [
    *(pa.null(), pa.int64(), pa.bool_(), pa.date32(), pa.time32("s")),
    *(pa.timestamp("s"), pa.timestamp("s", "UTC"), pa.timestamp("ns"), pa.timestamp("ns", "UTC")),
    *(pa.float64(), pa.string()),
]
"""The types that Arrow tries for a column of a CSV file, in its order; it takes the first that reads all."""

PASSES = 3  # over a CSV file, in which the types of its columns are settled

_UNREAD_COLUMN = re.compile(r"In CSV column #(\d+): CSV conversion error")

Read = Callable[[Sequence[str]], Iterator[pa.Table]]
Tell = Callable[[int], None]


@dataclass(frozen=True, repr=False)
class Scan:
    """A table in files: `schema`, `num_rows`, and `batches()` instead of columns.

    Texts that a Parquet file stores as dictionaries are dictionaries in `schema`; `file_schema` has
    the columns' own types. Batches take about `memory` / 16 bytes. `folder` is where codes and
    spilled rows go (None: codes in memory, rows beside the release). Files that change between two
    readings are refused.
    """

    schema: pa.Schema
    file_schema: pa.Schema
    num_rows: int
    memory: int
    folder: Path | None
    read: Read
    paths: tuple[Path, ...]
    state: tuple[tuple[int, int, int], ...]
    meaning: Meaning

    @property
    def column_names(self) -> list[str]:
        """The names of the columns."""
        return list(self.schema.names)

    @property
    def num_columns(self) -> int:
        """Number of columns."""
        return len(self.schema.names)

    def select(self, names: Sequence[str]) -> Scan:
        """The table with these columns only."""
        fields, own = ([each.field(name) for name in names] for each in (self.schema, self.file_schema))
        return replace(self, schema=pa.schema(fields), file_schema=pa.schema(own))

    def batches(self) -> Iterator[pa.Table]:
        """The rows in order, in tables of `schema` with at most `BATCH_ROWS` rows; read ahead by one."""
        self._refuse_change()
        n_rows = 0
        for table in ahead(_joined(self._units(), min(self.memory // 16, MOST_BATCH_BYTES))):
            n_rows += table.num_rows
            yield table
        self._refuse_change()
        if n_rows != self.num_rows:
            raise _changed()

    def head(self) -> pa.Table:
        """The first batch."""
        return next(_joined(self._units(), min(self.memory // 16, MOST_BATCH_BYTES)))

    def whole(self) -> pa.Table:
        """All rows in memory."""
        return pa.concat_tables(self.batches()).unify_dictionaries()

    def empty(self, n: int, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
        """An array for `n` codes, in a nameless file of `folder` where there is one."""
        if self.folder is None or n == 0:
            return np.empty(n, dtype)
        with nameless(self.folder) as file:
            size = n * dtype.itemsize
            _reserve(file, size, self.folder)
            return np.asarray(np.memmap(file, dtype, "r+", shape=(n,)))

    def _units(self) -> Iterator[pa.Table]:
        names = self.column_names
        first_row = 0
        for table in self.read(names):
            plain = in_plain_types(table.select(names))
            yield self.meaning.of_table(plain, first_row).cast(self.schema)
            first_row += table.num_rows

    def _refuse_change(self) -> None:
        try:
            same = _state(self.paths) == self.state
        except OSError:
            same = False
        if not same:
            raise _changed()

    def __repr__(self) -> str:
        return f"Scan({len(self.paths)} files, n_rows={self.num_rows}, n_columns={self.num_columns})"


def _changed() -> DataError:
    return DataError("the input has changed while it was read; nothing was written, start again")


def scan(
    paths: Sequence[Path],
    format: Format,
    columns: Sequence[str] | None,
    csv: Csv,
    memory: int,
    folder: str | os.PathLike[str] | None,
    meaning: Meaning,
    progress: Progress | None = None,
) -> Scan:
    """The table in these files of one format. All but `meaning` as for `read_source`.

    `meaning` is what the user says of columns.
    """
    state = _state(paths)
    if format == "csv":
        batch_schema, own, n_rows, read = _csv_files(paths, csv, progress)
    else:
        batch_schema, own, n_rows, read = (_parquet if format == "parquet" else _feather)(paths)
    indexes = index_columns(batch_schema)
    names = [name for name in batch_schema.names if name not in indexes]
    names = names if columns is None else wanted_names(columns, names)
    if not names:
        raise DataError("the table has no columns")
    if n_rows == 0:
        raise no_rows(paths)
    meaning.check(batch_schema)
    whole = Scan(
        meaning.of_schema(plain_schema(batch_schema)).remove_metadata(),
        meaning.of_schema(plain_schema(own)).remove_metadata(),
        n_rows,
        memory,
        None if folder is None else Path(folder),
        read,
        tuple(paths),
        state,
        meaning,
    )
    return whole.select(names)


def table_bytes(paths: Sequence[Path], format: Format) -> int:
    """How much memory the files' table takes, about; of CSV files a guess, which is rather too great."""
    size = {"parquet": _parquet_bytes, "feather": _feather_bytes, "csv": _csv_bytes}[format]
    return sum(map(size, paths))


def ahead(tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """The same tables, the next of which is made while one is used."""
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, tables, None)
        while (table := coming.result()) is not None:
            coming = pool.submit(next, tables, None)
            yield table


@contextmanager
def nameless(folder: Path) -> Iterator[BinaryIO]:
    """A file without a name, which only this process can reach, and which ends with it, however it ends."""
    with ExitStack() as stack:
        try:
            file = stack.enter_context(tempfile.TemporaryFile(dir=folder))
        except OSError as error:
            raise DataError(
                f"the folder {str(folder)!r} takes no temporary files: {error.strerror}"
            ) from error
        yield file


def _reserve(file: BinaryIO, size: int, folder: Path) -> None:
    """Take the room on the disk now: a full disk is an error here, and the process's end in a mapped file."""
    try:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file.fileno(), 0, size)
        else:
            file.truncate(size)
    except OSError as error:
        raise DataError(
            f"the folder {str(folder)!r} has no room for {size} bytes: {error.strerror}"
        ) from error


def _state(paths: Iterable[Path]) -> tuple[tuple[int, int, int], ...]:
    stats = [os.stat(path) for path in paths]
    return tuple((each.st_ino, each.st_size, each.st_mtime_ns) for each in stats)


def _joined(tables: Iterable[pa.Table], most_bytes: int) -> Iterator[pa.Table]:
    """Tables put together, and cut, to have BATCH_ROWS rows or about `most_bytes` bytes."""
    parts: list[pa.Table] = []
    n_rows = n_bytes = 0
    for table in tables:
        for start in range(0, table.num_rows, BATCH_ROWS):
            part = table.slice(start, BATCH_ROWS)
            if parts and n_rows + part.num_rows > BATCH_ROWS:
                yield pa.concat_tables(parts)
                parts, n_rows, n_bytes = [], 0, 0
            parts.append(part)
            n_rows, n_bytes = n_rows + part.num_rows, n_bytes + part.nbytes
            if n_bytes >= most_bytes:
                yield pa.concat_tables(parts)
                parts, n_rows, n_bytes = [], 0, 0
    if parts:
        yield pa.concat_tables(parts)


_Opened = tuple[pa.Schema, pa.Schema, int, Read]
"""The types of the batches, the columns' own types, the number of rows, and how to read columns."""


# --- Parquet -------------------------------------------------------------------------------------


def _parquet(paths: Sequence[Path]) -> _Opened:
    schemas, n_rows = [], 0
    compact: set[str] | None = None
    for path in paths:
        try:
            with pq.ParquetFile(path) as file:
                schemas.append(file.schema_arrow)
                n_rows += file.metadata.num_rows
                as_dictionary = stored_as_dictionary(file)
        except (pa.ArrowException, OSError, UnicodeError) as error:
            raise_if_out_of_memory(error)
            raise unreadable(path, "parquet") from None
        check_unique(schemas[-1].names, file_name(path))
        compact = as_dictionary if compact is None else compact & as_dictionary
    dictionaries = sorted(compact or ())
    batch_schema = common_schema(paths, [_schema_as_read(path, dictionaries) for path in paths])

    def read(names: Sequence[str]) -> Iterator[pa.Table]:
        for path in paths:
            try:
                with pq.ParquetFile(
                    path, read_dictionary=dictionaries, buffer_size=PAGES, pre_buffer=False
                ) as file:
                    for batch in file.iter_batches(UNIT_ROWS, columns=list(names)):
                        yield pa.Table.from_batches([batch]).replace_schema_metadata(None)
            except (pa.ArrowException, OSError) as error:
                raise_if_out_of_memory(error)
                raise unreadable(path, "parquet") from None

    return batch_schema.with_metadata(schemas[0].metadata), common_schema(paths, schemas), n_rows, read


def _parquet_bytes(path: Path) -> int:
    try:
        stored = pq.read_metadata(path)
    except (pa.ArrowException, OSError) as error:
        raise_if_out_of_memory(error)
        raise unreadable(path, "parquet") from None
    n_bytes = 0
    for group in map(stored.row_group, range(stored.num_row_groups)):
        for chunk in map(group.column, range(group.num_columns)):
            width = 4 if chunk.physical_type in ("BYTE_ARRAY", "INT32", "FLOAT") else 8
            n_bytes += max(chunk.total_uncompressed_size, width * chunk.num_values)
    return n_bytes


def _schema_as_read(path: Path, dictionaries: Sequence[str]) -> pa.Schema:
    with pq.ParquetFile(path, read_dictionary=dictionaries) as file:
        return file.schema_arrow


# --- Feather -------------------------------------------------------------------------------------


def _feather(paths: Sequence[Path]) -> _Opened:
    schemas, n_rows = [], 0
    for path in paths:
        with _record_batches(path) as (schema, batches):
            check_unique(schema.names, file_name(path))
            schemas.append(schema)
        with _record_batches(path, schema.names[:1]) as (_, batches):
            n_rows += sum(batch.num_rows for batch in batches)
    batch_schema = common_schema(paths, schemas).with_metadata(schemas[0].metadata)

    def read(names: Sequence[str]) -> Iterator[pa.Table]:
        for path in paths:
            with _record_batches(path, names) as (_, batches):
                for batch in batches:
                    table = pa.Table.from_batches([batch]).replace_schema_metadata(None).select(list(names))
                    check_data(table, file_name(path), lambda column: not pa.types.is_date64(column))
                    yield table

    return batch_schema, batch_schema, n_rows, read


@contextmanager
def _record_batches(
    path: Path, names: Sequence[str] | None = None
) -> Iterator[tuple[pa.Schema, Iterator[pa.RecordBatch]]]:
    """The schema of an Arrow file or stream, and its batches with the named columns."""
    try:
        with pa.OSFile(os.fspath(path)) as file:  # a map of a file that is cut short would end the process
            if file.read(4) == b"FEA1":
                raise DataError(
                    f"{file_name(path)} is Feather version 1; write it again as version 2 or Parquet"
                )
            file.seek(0)
            try:
                schema = pa_ipc.open_file(file).schema
                wanted = _only(schema, names)
                batches = _of_file(pa_ipc.open_file(file, options=wanted))
            except pa.ArrowInvalid:
                file.seek(0)
                schema = pa_ipc.open_stream(file).schema
                wanted = _only(schema, names)
                file.seek(0)
                batches = iter(pa_ipc.open_stream(file, options=wanted))
            yield schema, batches
    except (pa.ArrowException, OSError, UnicodeError) as error:
        raise_if_out_of_memory(error)
        raise unreadable(path, "feather") from None


def _feather_bytes(path: Path) -> int:
    """By the first batch, which is compressed like the others; one alone is not read for this."""
    with _record_batches(path) as (schema, _):
        pass
    with _record_batches(path, schema.names[:1]) as (_, batches):
        n_batches = sum(1 for _ in batches)
    if n_batches < 2:
        return 2 * path.stat().st_size
    with _record_batches(path) as (_, batches):
        return int(n_batches * next(batches).nbytes)


def _only(schema: pa.Schema, names: Sequence[str] | None) -> pa_ipc.IpcReadOptions:
    return pa_ipc.IpcReadOptions(
        included_fields=[] if names is None else [schema.get_field_index(name) for name in names]
    )


def _of_file(file: pa.RecordBatchFileReader) -> Iterator[pa.RecordBatch]:
    for number in range(file.num_record_batches):
        yield file.get_batch(number)


# --- CSV -----------------------------------------------------------------------------------------


def _csv_bytes(path: Path) -> int:
    return path.stat().st_size * (15 if path.suffix.lower() in COMPRESSED else 3)


@dataclass(frozen=True)
class _CsvFile:
    """One file and the type of each of its columns: as Arrow is to read it, and as it is held."""

    csv: Csv
    path: Path
    read_types: dict[str, pa.DataType]
    types: dict[str, pa.DataType]
    n_rows: int

    def batches(self, names: Sequence[str]) -> Iterator[pa.Table]:
        """The named columns, in the types as which they are held."""
        schema = pa.schema([(name, self.types[name]) for name in names])
        to_read = [i for i, name in enumerate(names) if self.is_written(name)]
        read_types = {name: self.read_types[name] for name in names}
        try:
            for batch in _csv_batches(self.csv, self.path, read_types):
                table = pa.Table.from_batches([batch])
                held = {i: self.csv.held(table.column(i), schema.field(i).type) for i in to_read}
                yield with_columns(table, held).cast(schema)
        except (_UnreadColumn, pa.ArrowInvalid):  # they were read so before
            raise _changed() from None

    def is_written(self, name: str) -> bool:
        """Is it read as text that writes numbers with thousands marks, or days?"""
        return bool(self.read_types[name] == pa.string() and self.types[name] != pa.string())


def _csv_files(paths: Sequence[Path], csv: Csv, progress: Progress | None) -> _Opened:
    sizes = [PASSES * os.stat(path).st_size for path in paths]
    files = [_settled(csv, path, told=(progress, sum(sizes[:i]), sum(sizes))) for i, path in enumerate(paths)]
    names = list(files[0].types)
    if all(set(file.types) == set(names) for file in files):
        texts, numbers = to_agree(
            [file.types for file in files],
            lambda name: (table.column(name) for file in files for table in file.batches([name])),
        )
        if texts:
            files = [_settled(csv, path, texts) for path in paths]
        files = [replace(file, types=file.types | dict.fromkeys(numbers, pa.float64())) for file in files]
    batch_schema = common_schema(paths, [pa.schema(list(file.types.items())) for file in files])

    def read(names: Sequence[str]) -> Iterator[pa.Table]:
        for file in files:
            yield from file.batches(names)

    return batch_schema, batch_schema, sum(file.n_rows for file in files), read


def _settled(
    csv: Csv, path: Path, as_text: Iterable[str] = (), told: tuple[Progress | None, int, int] = (None, 0, 0)
) -> _CsvFile:
    """A file with the types of its columns, found by reading it; those of `as_text` are strings.

    `told` is who is told how far it is read, and the bytes before it and of all files, by `PASSES`.
    """
    progress, done, total = told
    size = os.stat(path).st_size

    def tell(number: int) -> Tell | None:
        """Who is told where pass `number` is."""
        return None if progress is None else lambda at: progress("types", done + number * size + at, total)

    read, parse, convert, header = csv.options(path)
    types = dict.fromkeys(csv.texts(header, as_text), pa.string())
    csv.check_ends(path, header, parse.delimiter)
    convert.column_types = types
    try:
        with pa_csv.open_csv(os.fspath(path), read, parse, convert) as reader:
            read_types = {field.name: field.type for field in reader.schema}
    except (pa.ArrowException, UnicodeError, OSError) as error:
        raise_if_out_of_memory(error)
        raise csv.fault(path, parse.delimiter) from None
    if pa.binary() in read_types.values():
        raise csv.fault(path, parse.delimiter)
    n_rows = -1
    while n_rows < 0:
        try:
            n_rows = sum(batch.num_rows for batch in _csv_batches(csv, path, read_types, tell(0)))
        except _UnreadColumn as unread:
            name = list(read_types)[unread.number]
            if read_types[name] == LOOSER[-1]:
                raise csv.fault(path, parse.delimiter) from None
            read_types[name] = LOOSER[LOOSER.index(read_types[name]) + 1]
    try:
        read_types, held = _kept_apart(csv, path, read_types, tell(1))
        texts = [name for name, kind in held.items() if kind == pa.string() and name not in types]
        held |= _written(csv, path, texts, tell(2))
    except _UnreadColumn:  # all were read so before
        raise _changed() from None
    if progress is not None:  # the last passes end early, or are spared
        progress("types", done + PASSES * size, total)
    return _CsvFile(csv, path, read_types, held, n_rows)


def _kept_apart(
    csv: Csv, path: Path, read_types: dict[str, pa.DataType], tell: Tell | None
) -> tuple[dict[str, pa.DataType], dict[str, pa.DataType]]:
    """The types to read and to hold: numbers told apart by more than their value are text, times are
    microseconds where these hold them all.
    """
    numbers = {name: kind for name, kind in read_types.items() if is_number(kind)}
    times = {name: kind for name, kind in read_types.items() if pa.types.is_timestamp(kind)}
    unsafe: set[str] = set()
    fine: set[str] = set()
    if numbers or times:
        for batch in _csv_batches(csv, path, dict.fromkeys(numbers, AS_WRITTEN) | times, tell):
            for name in numbers.keys() - unsafe:
                if is_unsafe([batch.column(name).dictionary], numbers[name]):
                    unsafe.add(name)
            for name in times.keys() - fine:
                try:
                    batch.column(name).cast(pa.timestamp("us", times[name].tz))
                except pa.ArrowInvalid:
                    fine.add(name)
    read_types = read_types | dict.fromkeys(unsafe, pa.string())
    rounded = {name: pa.timestamp("us", kind.tz) for name, kind in times.items() if name not in fine}
    return read_types, read_types | rounded


def _written(csv: Csv, path: Path, texts: Sequence[str], tell: Tell | None) -> dict[str, pa.DataType]:
    """The types of those columns of text that write numbers with thousands marks, or days."""
    seen = dict.fromkeys(texts, Written())
    strings = dict.fromkeys(texts, pa.string())
    for batch in _csv_batches(csv, path, strings, tell) if texts else ():
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            seen[name] &= written_in([column], csv.thousands, csv.decimal)
        if not any(each.is_something for each in seen.values()):
            break
    return {name: each.type for name, each in seen.items() if each.type is not None}


class _UnreadColumn(Exception):
    """A column (its number in the file) that cannot be read as its type."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def _csv_batches(
    csv: Csv, path: Path, types: dict[str, pa.DataType], tell: Tell | None = None
) -> Iterator[pa.RecordBatch]:
    """The named columns, read as these types; `tell` hears how many bytes of the file are read."""
    read, parse, convert, _ = csv.options(path)
    convert.column_types, convert.include_columns = types, list(types)
    try:
        with (
            watched(path) as (file, place),
            pa_csv.open_csv(file, read, parse, convert) as reader,
        ):
            for batch in reader:
                yield batch
                if tell is not None:
                    tell(place())
    except (pa.ArrowException, UnicodeError, OSError) as error:
        raise_if_out_of_memory(error)
        unread = _UNREAD_COLUMN.match(str(error))
        raise csv.fault(path, parse.delimiter) if unread is None else _UnreadColumn(int(unread[1])) from None
