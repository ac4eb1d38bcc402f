# SPDX-License-Identifier: Apache-2.0
"""A release written to a file, whole or not at all."""

from __future__ import annotations

import base64
import json
import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from anon.errors import UsageError
from anon.release.columns import columns_of, fields_of, hidden_columns, rows_taken
from anon.release.formulas import Formulas
from anon.release.metadata import CSV, FEATHER, METADATA_KEY, PAIR, PARQUET
from anon.release.recoded import Recoded
from anon.schema import Schema, value_type
from anon.tables import (
    PROGRAM_OF_SUFFIX,
    CsvWriter,
    Labels,
    Program,
    Source,
    ahead,
    check_held,
    labels_of,
    opened,
    takeable,
    target_of,
    write_program,
)
from anon.tables import written as sql_types

if TYPE_CHECKING:
    from anon.release.spill import Spilled
    from anon.tables import Target
ROW_GROUP = 1 << 20  # rows held in release order at a time while writing


class _Sink(Protocol):
    def write_table(self, table: pa.Table) -> None: ...


_Open = Callable[[Any, pa.Schema, pa.Schema, Mapping[str, Any]], Any]


@contextmanager
def _parquet(
    path: Path, in_memory: pa.Schema, written: pa.Schema, metadata: Mapping[str, Any]
) -> Iterator[_Sink]:
    """Dictionaries are written as they are; the Arrow schema in the file names the original types."""
    schema = base64.b64encode(written.serialize().to_pybytes()).decode()
    with opened(path) as file, pq.ParquetWriter(file, in_memory, store_schema=False) as writer:
        writer.add_key_value_metadata({"ARROW:schema": schema, METADATA_KEY: json.dumps(metadata)})
        yield writer


@contextmanager
def _feather(
    path: Path, in_memory: pa.Schema, written: pa.Schema, metadata: Mapping[str, Any]
) -> Iterator[_Sink]:
    schema = written.with_metadata({METADATA_KEY: json.dumps(metadata)})
    options = pa.ipc.IpcWriteOptions(compression="lz4" if pa.Codec.is_available("lz4") else None)
    with opened(path) as file, pa.ipc.new_file(file, schema, options=options) as writer:
        yield _Casting(writer, written)


@contextmanager
def csv(path: Path, in_memory: pa.Schema, written: pa.Schema, metadata: Mapping[str, Any]) -> Iterator[_Sink]:
    """Every string is quoted, null is an empty field without quotes; moments with a zone are in UTC."""
    plain = pa.schema([pa.field(f.name, _in_csv(value_type(f.type))) for f in written])
    with opened(path) as file:
        yield CsvWriter(file, plain)


@contextmanager
def to_table(
    target: Target, in_memory: pa.Schema, written: pa.Schema, metadata: Mapping[str, Any]
) -> Iterator[_Sink]:
    """A table of a database."""
    target.create(written)
    yield target


@contextmanager
def to_program(
    path: Path,
    in_memory: pa.Schema,
    written: pa.Schema,
    metadata: Mapping[str, Any],
    *,
    program: Program,
    labels: Mapping[str, Labels],
) -> Iterator[_Sink]:
    """The file of another program, which is made of the whole table."""
    plain = pa.schema([pa.field(f.name, value_type(f.type)) for f in written])
    check_held(program, plain)
    parts: list[pa.Table] = []
    yield _Kept(parts, plain)
    with opened(path) as file:
        write_program(file, program, pa.concat_tables([plain.empty_table(), *parts]), labels)


@dataclass(frozen=True)
class _Kept:
    """A sink that keeps its tables, in the types of the file."""

    parts: list[pa.Table]
    schema: pa.Schema

    def write_table(self, table: pa.Table) -> None:
        self.parts.append(table.cast(self.schema))


def _in_csv(kind: pa.DataType) -> pa.DataType:
    """The type as which a column is written to CSV: of moments in the zone of cells."""
    zoned = pa.types.is_timestamp(kind) and kind.tz is not None
    return pa.timestamp(kind.unit, "UTC") if zoned else kind


@dataclass(frozen=True)
class _Casting:
    """A sink that gives its tables the types of the file first."""

    sink: Any
    schema: pa.Schema

    def write_table(self, table: pa.Table) -> None:
        self.sink.write_table(table.cast(self.schema).combine_chunks())


FORMAT: Mapping[_Open, str] = {_parquet: "Parquet", _feather: "Feather", csv: "CSV"}


def is_path(path: Any) -> bool:
    """Text that the system can take as a file name, or a Path of it."""
    try:
        name = os.fspath(path)
        return isinstance(name, str) and b"\0" not in os.fsencode(name)
    except (TypeError, UnicodeEncodeError):
        return False


def writer_of(path: Path, labels: Mapping[str, Labels]) -> tuple[_Open, str]:
    """What writes the format of this suffix, and the format's name; `labels` are those of columns."""
    suffix = path.suffix.lower()
    for suffixes, opener in ((PARQUET, _parquet), (FEATHER, _feather), (CSV, csv)):
        if suffix in suffixes:
            return opener, FORMAT[opener]
    if suffix in PROGRAM_OF_SUFFIX:
        program = PROGRAM_OF_SUFFIX[suffix]
        return partial(to_program, program=program, labels=labels), program
    known = (*PARQUET, *FEATHER, *CSV, *PROGRAM_OF_SUFFIX)
    raise UsageError(f"{str(path)!r} does not tell its format; end it in {', '.join(known)}")


def labels_of_columns(release: Recoded) -> dict[str, Labels]:
    """What the input's file said of its columns; of those shown as cells, which are no values, no words."""
    cells = columns_of(release)
    found = {}
    for described in release.file_schema or ():
        labels = labels_of(described)
        is_of_cells = bool(cells.get(described.name)) or described.name in release.coded
        found[described.name] = replace(labels, values={}) if is_of_cells else labels
    return found


def check_output(output: str, source: Source, schema: Schema) -> None:
    """Raise before the work where what a table publishes by this schema cannot be written to the output.

    The release may hold more columns, and cells of quasi-identifiers as text; `write` looks again.
    """
    place, program = target_of(output), PROGRAM_OF_SUFFIX.get(Path(output).suffix.lower())
    if place is None and program is None:
        return
    of_cells = {each.name for each in schema.quasi}
    fields = [source.schema.field(name) for name in schema.published(source.schema.names)]
    kinds = [pa.string() if each.name in of_cells else value_type(each.type) for each in fields]
    plain = pa.schema([(each.name, kind) for each, kind in zip(fields, kinds, strict=True)])
    if place is not None:
        sql_types(place.kind, plain)
    elif program is not None:
        check_held(program, plain)


def write_release(
    release: Recoded,
    opener: _Open,
    temporary: Sequence[Any],
    formulas: Sequence[Formulas | None],
    folder: Path,
) -> None:
    """Row group by row group; the next one is gathered while one is written.

    `temporary` is what the opener opens. `formulas` are those of each file of CSV, None for other formats.
    Rows of a streamed table are spilled in the folder.
    """
    rows, of_row = release._rows()
    metadata = release.metadata
    if len(temporary) > 1:
        metadata[PAIR] = secrets.token_hex(16)
    with _spill(release, rows, folder) as spill:
        fields = fields_of(release, spill)
        piece = ROW_GROUP if spill is None else spill.piece

        def part(start: int) -> pa.Table:
            if spill is not None:
                spill.load(start)
            return rows_taken(fields, rows[start : start + piece], of_row[start : start + piece])

        in_memory = part(-(-len(rows) // piece) * piece).schema
        written = pa.schema([pa.field(f.name, f.written, f.nullable) for f in fields])
        parts = ahead(part(start) for start in range(0, len(rows), piece))
        _write_tables(opener, temporary[0], in_memory, written, metadata, parts, formulas[0])
    if len(temporary) > 1:
        table = release.sensitive_table
        _write_tables(opener, temporary[1], table.schema, table.schema, metadata, [table], formulas[1])


def _write_tables(
    opener: _Open,
    path: Any,
    in_memory: pa.Schema,
    written: pa.Schema,
    metadata: Mapping[str, Any],
    tables: Iterable[pa.Table],
    formulas: Formulas | None,
) -> None:
    """One file; the formulas in one of CSV are counted or guarded."""
    with opener(path, in_memory, written if formulas is None else formulas.schema(written), metadata) as sink:
        for table in tables:
            sink.write_table(table if formulas is None else formulas.written(table))
    if formulas is not None:
        formulas.refuse_clashes()


def _spill(
    release: Recoded, rows: npt.NDArray[np.uint32], folder: Path
) -> AbstractContextManager[Spilled | None]:
    """The neutral, sensitive and intact columns of a table in files, to be had in the order of `rows`."""
    encoded = release.encoded
    if isinstance(encoded.table, pa.Table):
        return nullcontext()
    from anon.release.spill import spilled

    cells, hidden = columns_of(release), hidden_columns(release) | set(release.coded)
    names = [name for name in encoded.table.column_names if name not in hidden and not cells.get(name)]
    return spilled(encoded, names, takeable, rows, folder)


def unwritable(release: Recoded, opener: _Open) -> str:
    """Why a file format does not take the table, by column."""
    if opener is csv:
        for column in fields_of(release):
            kind = value_type(column.written)
            if pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
                return f"CSV cannot hold column {column.name!r} of type {kind}; choose Parquet"
    return "its format does not hold a column of this table; choose Parquet"


def refuse_source(target: Path, sources: Sequence[str]) -> None:
    """Raise UsageError where the output would replace an input."""
    for source in sources:
        with suppress(OSError):
            if os.path.samefile(source, target):
                raise UsageError(f"{str(target)!r} is also an input; write the release to another file")
