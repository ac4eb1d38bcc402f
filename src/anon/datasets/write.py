# SPDX-License-Identifier: Apache-2.0
"""A table written block by block."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa

from anon.errors import UsageError
from anon.tables import not_written, opened, replacing


def write_table(table: pa.Table, path: str | os.PathLike[str], *, most: int = 0o666) -> None:
    """Write a table to a .parquet, .feather, .arrow, .ipc or .csv file, which appears when it is complete.

    `most` are the rights that the umask may leave: 0o600 is a file for its owner alone.
    """
    write_batches(table.to_batches(), table.schema, Path(path), table.num_rows, None, most)


def check_output(path: str | os.PathLike[str]) -> None:
    """Raise UsageError where `write_table` cannot write to `path`: before long work, not after it."""
    _writer(Path(path))
    if not Path(path).parent.is_dir():
        raise UsageError(f"the folder {Path(path).parent} does not exist")


def write_batches(
    batches: Iterable[pa.RecordBatch],
    schema: pa.Schema,
    path: Path,
    n_rows: int,
    progress: Callable[[str, int, int], None] | None,
    most: int = 0o666,
) -> None:
    """Stream the batches to a temporary file beside `path`, which takes its name when complete."""
    check_output(path)
    open_writer = _writer(path)
    try:
        with (
            replacing([path], most) as [temporary],
            opened(temporary) as file,
            open_writer(file, schema) as writer,
        ):
            done = 0
            for batch in batches:
                writer.write_batch(batch)
                done += batch.num_rows
                if progress is not None:
                    progress("write", done, n_rows)
    except OSError as error:
        raise not_written(str(path), error) from error


def _writer(path: Path) -> Any:
    match path.suffix.lower():
        case ".parquet":
            import pyarrow.parquet

            return pyarrow.parquet.ParquetWriter
        case ".feather" | ".arrow" | ".ipc":
            return pa.ipc.new_file
        case ".csv":
            import pyarrow.csv

            return pyarrow.csv.CSVWriter
        case _:
            raise UsageError(
                f"cannot tell the format of {path.name}: end it in .parquet, .feather, .arrow, .ipc or .csv"
            )
