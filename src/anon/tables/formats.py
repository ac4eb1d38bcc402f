# SPDX-License-Identifier: Apache-2.0
"""The files of a table: their format, their common schema, and what is wrong with them."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pyarrow.parquet as pq

from anon.errors import DataError, UsageError
from anon.schema import check_names, is_text, names_listed
from anon.threads import available_threads, in_threads

Format = Literal["parquet", "feather", "csv"]

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
COMPRESSED = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4"}
FEW_ROWS = 1 << 16  # checked sooner than a thread has begun


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


def files_of(sources: Sequence[str | os.PathLike[str]]) -> list[Path]:
    """The files meant, those of a directory or pattern in the order of their names."""
    files: list[Path] = []
    for source in sources:
        path = Path(source)
        if not os.fspath(source):
            raise UsageError("the path of the table is empty")
        if path.is_dir():
            inside = sorted(path.rglob("*"))
            matches = [each for each in inside if not any(p[0] in "._" for p in each.relative_to(path).parts)]
            if any("=" in each.name and each.is_dir() for each in matches):
                raise DataError(
                    f"the directories in {str(path)!r} hold the values of a column in their names; "
                    "read them with pyarrow.dataset and pass the table"
                )
            matches = [each for each in matches if _suffix(each) in FORMAT_OF_SUFFIX]
        elif path.is_file():
            matches = [path]
        else:
            matches = sorted(map(Path, glob.glob(os.fspath(source), recursive=True)))
        matches = [each for each in matches if each.is_file()]
        if not matches and path.is_dir():
            raise DataError(f"there is no file {', '.join(FORMAT_OF_SUFFIX)} in {os.fspath(source)!r}")
        if not matches:
            raise DataError(f"there is no file {os.fspath(source)!r}")
        files += matches
    return files


def common_format(paths: Sequence[Path]) -> Format:
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
    """The schema of files that are one table: the columns of the first, of the same types in all.

    A column without values has any type.
    """
    fields = list(schemas[0])
    for path, schema in zip(paths, schemas, strict=True):
        here, first = set(schema.names), set(schemas[0].names)
        if here != first:
            lacks, more = sorted(first - here), sorted(here - first)
            differs = [f"lacks {names_listed(lacks)}"] * bool(lacks) + [
                f"has {names_listed(more)} more"
            ] * bool(more)
            raise DataError(
                f"{file_name(path)} {' and '.join(differs)}, beside {file_name(paths[0])}; "
                "one table has the same columns"
            )
        for i, field in enumerate(map(schema.field, schemas[0].names)):
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


def bytes_in_files(path: Path) -> pa.NativeFile:
    return pa.input_stream(os.fspath(path), compression="detect")
