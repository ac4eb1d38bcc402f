# SPDX-License-Identifier: Apache-2.0
"""Tables written as CSV: texts that repeat are quoted once, and copied row by row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from anon.schema import is_text
from anon.tables.durations import duration_texts
from anon.threads import available_threads, in_threads
from anoncore.lines import lines

PIECE = 1 << 16  # rows whose lines are made at a time, by each thread

_Texts = tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]]  # where each starts, and all


@dataclass(frozen=True)
class CsvWriter:
    """Writes tables of `schema`, whose texts may have dictionaries, to a file as Arrow's writer of CSV does.

    Every text is in quotes, null is an empty field without, all else has none; durations, which Arrow does
    not write, are texts as in cells ("3 days"). Raises ArrowInvalid where a type has no text.
    """

    file: Any
    schema: pa.Schema

    def __post_init__(self) -> None:
        header = pa.BufferOutputStream()
        pa_csv.write_csv(self.schema.empty_table(), header)
        self.file.write(header.getvalue())

    def write_table(self, table: pa.Table) -> None:
        """The next rows."""
        last = len(self.schema) - 1
        ends = ["\n" if at == last else "," for at in range(last + 1)]
        columns = [
            _Column.of(column.combine_chunks(), field.type, end)
            for column, field, end in zip(table.columns, self.schema, ends, strict=True)
        ]

        def piece(start: int) -> npt.NDArray[np.uint8]:
            n_rows = min(PIECE, table.num_rows - start)
            parts = [each.slice(start, n_rows) for each in columns]
            codes, texts = [codes for codes, _ in parts], [texts for _, texts in parts]
            return lines(codes, [starts for starts, _ in texts], [words for _, words in texts], n_rows)

        n_threads = available_threads()
        step = PIECE * n_threads
        for first in range(0, table.num_rows, step):
            starts = range(first, min(first + step, table.num_rows), PIECE)
            for each in in_threads(n_threads, piece, starts):
                self.file.write(each)


@dataclass(frozen=True)
class _Column:
    """A column's values (of `coded` ones each once), what they are written as, and what ends a cell."""

    values: pa.Array
    kind: pa.DataType
    end: str
    codes: npt.NDArray[np.uint32] | None = None
    texts: _Texts | None = None

    @classmethod
    def of(cls, column: pa.Array | pa.ChunkedArray, kind: pa.DataType, end: str) -> _Column:
        if isinstance(column, pa.ChunkedArray):  # more than fits one array
            column = pa.concat_arrays([_decoded(chunk, kind) for chunk in column.chunks])
        if not pa.types.is_dictionary(column.type):
            return cls(column, kind, end)
        values = pa.concat_arrays([column.dictionary, pa.nulls(1, column.dictionary.type)])
        codes = pc.fill_null(column.indices.cast(pa.int64()), len(values) - 1)
        return cls(values, kind, end, codes.to_numpy().astype(np.uint32), _written(values, kind, end))

    def slice(self, start: int, n_rows: int) -> tuple[npt.NDArray[np.uint32] | None, _Texts]:
        if self.codes is None or self.texts is None:
            return None, _written(self.values.slice(start, n_rows), self.kind, self.end)
        return self.codes[start : start + n_rows], self.texts


def _decoded(chunk: pa.Array, kind: pa.DataType) -> pa.Array:
    wide = {pa.string(): pa.large_string(), pa.binary(): pa.large_binary()}.get(kind, kind)
    return (chunk.dictionary_decode() if pa.types.is_dictionary(chunk.type) else chunk).cast(wide)


def _written(values: pa.Array, kind: pa.DataType, end: str) -> _Texts:
    """Cells, each with what ends it."""
    types = pa.types
    if types.is_duration(kind):
        return _written(duration_texts(values.cast(kind)), pa.large_string(), end)
    is_bytes = types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind)
    if is_text(kind) or is_bytes:
        plain = (values.cast(pa.large_binary()) if is_bytes else values).cast(pa.large_string())
        if pc.any(pc.match_substring(plain, '"')).as_py():
            plain = pc.replace_substring(plain, '"', '""')
        parts = ['"', plain, f'"{end}', ""]
    else:
        parts = [values.cast(kind).cast(pa.large_string()), end, ""]
    scalars = [pa.scalar(each, pa.large_string()) if isinstance(each, str) else each for each in parts]
    cells = pc.fill_null(pc.binary_join_element_wise(*scalars), pa.scalar(end, pa.large_string()))
    _, offsets, words = cells.buffers()
    starts = np.frombuffer(offsets, np.int64)[cells.offset : cells.offset + len(cells) + 1]
    text = np.frombuffer(words or b"", np.uint8)[starts[0] : starts[-1]]
    return starts - starts[0], text
