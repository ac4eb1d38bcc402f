# SPDX-License-Identifier: Apache-2.0
"""Rows from files into the order of publication, without ever holding them all.

The columns to be published are read once more. Each batch is divided by where its rows are to stand
in the release (ranges of a fixed number of positions) and written to one nameless file; then range
after range is read back and put in order.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from anon.encoding import Codes, Domain, Encoded, code_type, encode_like
from anon.errors import DataError, Parameter, RecheckError
from anon.tables import BATCH_ROWS, Scan, nameless

LEAST_PIECE = 1 << 12
NOWHERE = 2**32 - 1  # the position of a suppressed row
POSITION = ""  # the name of the column of positions; a table may have one of the same name

Rows = npt.NDArray[np.uint32]
Take = Callable[[Rows, Rows], Any]


@contextmanager
def spilled(
    encoded: Encoded,
    names: Sequence[str],
    takeable: Callable[[pa.ChunkedArray, str], pa.ChunkedArray],
    rows: Rows,
    folder: Path,
) -> Iterator[Spilled]:
    """The columns `names` of an Encoded over a Scan, ready to be taken in the order of `rows`.

    `rows` are row numbers of the table, each at most once. Columns are held as `takeable` makes them.
    The temporary file is in the scan's folder, or in `folder` where it has none.
    """
    scan = encoded.table
    folder = scan.folder or folder
    with nameless(folder) as file:
        spill = Spilled(encoded, names, rows, file, folder)
        first = 0
        for table in scan.select(names).batches() if names else ():
            spill.add([takeable(table.column(name), name) for name in names], first)
            first += table.num_rows
        spill.finish()
        yield spill


class Spilled:
    """Columns of rows in a file; `load` brings those of `piece` positions into memory, `take` gives them."""

    def __init__(
        self, encoded: Encoded, names: Sequence[str], rows: Rows, file: BinaryIO, folder: Path
    ) -> None:
        scan: Scan = encoded.table
        self.names = list(names)
        self.rows = rows
        self.piece = BATCH_ROWS
        self._memory = scan.memory
        self._position = np.full(scan.num_rows, NOWHERE, np.uint32)
        self._position[rows] = np.arange(len(rows), dtype=np.uint32)
        self._file, self._folder = file, folder
        self._end = 0
        self._extents: dict[int, list[tuple[int, int]]] = {}
        self._schema: pa.Schema = None
        self._words: dict[str, _Words] = {}
        self._columns: dict[str, pa.Array] = {}
        self._known: list[tuple[Domain, Codes]] = [
            (domain, codes)
            for domain, codes in zip(
                (*encoded.quasi, *encoded.sensitive),
                (*encoded.quasi_codes, *encoded.sensitive_codes),
                strict=True,
            )
            if domain.name in self.names and domain.n_codes <= BATCH_ROWS
        ]

    def add(self, columns: Sequence[pa.ChunkedArray], first: int) -> None:
        """Spill the rows of one batch, the first of which is row `first` of the table."""
        n_rows = len(columns[0])
        if first == 0:
            width = 4 + sum(column.nbytes for column in columns) // n_rows
            self.piece = max(LEAST_PIECE, min(BATCH_ROWS, self._memory // 16 // width))
        position = self._position[first : first + n_rows]
        published = np.flatnonzero(position != NOWHERE)
        piece = position[published] // self.piece
        piece = piece.astype(code_type(int(piece.max(initial=0)) + 1))
        order = np.argsort(piece, kind="stable")
        piece, order = piece[order], published[order]
        arrays = [pa.array(position[order])]
        for name, column in zip(self.names, columns, strict=True):
            if pa.types.is_dictionary(column.type):
                words = self._words.setdefault(name, _Words(column.type))
                arrays.append(words.codes(column, order))
            else:
                arrays.append(_one(column).take(pa.array(order)))
        batch = pa.RecordBatch.from_arrays(arrays, [POSITION, *self.names])
        self._schema = batch.schema
        bounds = [0, *(np.flatnonzero(np.diff(piece)) + 1).tolist(), len(piece)]
        try:
            for start, stop in pairwise(bounds):
                if stop > start:
                    buffer = batch.slice(start, stop - start).serialize()
                    self._file.write(buffer)
                    self._extents.setdefault(int(piece[start]), []).append((self._end, buffer.size))
                    self._end += buffer.size
        except OSError as error:
            raise self._full(error) from error

    def finish(self) -> None:
        """All batches are there."""
        try:
            self._file.flush()
        except OSError as error:
            raise self._full(error) from error
        self._position = np.empty(0, np.uint32)
        for words in self._words.values():
            words.finish()

    def load(self, start: int) -> None:
        """Hold the rows at positions `start` (a multiple of `piece`) to `start` + `piece`.

        Raises RecheckError where they are not the rows that belong there: sensitive attributes and
        intact quasi-identifiers are compared with the codes that the classes were made from.
        """
        rows = self.rows[start : start + self.piece]
        if not self.names:
            return
        batches = [
            pa.ipc.read_record_batch(
                pa.py_buffer(os.pread(self._file.fileno(), length, offset)), self._schema
            )
            for offset, length in (self._extents.get(start // self.piece, []) if len(rows) else [])
        ]
        table = pa.Table.from_batches(batches, self._schema)
        position = table.column(0).to_numpy().astype(np.int64) - start
        order = np.full(len(rows), -1, np.int64)
        if len(position) == len(rows) and (position < len(rows)).all():
            order[position] = np.arange(len(rows))
        if (order < 0).any():
            raise _misplaced()
        for i, name in enumerate(self.names, 1):
            column = _one(table.column(i)).take(pa.array(order))
            self._columns[name] = self._words[name].of(column) if name in self._words else column
        if len(rows):
            self._check(rows)

    def take(self, name: str) -> Take:
        """The column that is held, whatever rows are asked for: those of the piece, in order."""
        return lambda rows, of_row: self._columns[name]

    def _check(self, rows: Rows) -> None:
        domains = [domain for domain, _ in self._known]
        table = pa.table({domain.name: self._columns[domain.name] for domain in domains})
        for read, (_, codes) in zip(encode_like(table, domains), self._known, strict=True):
            if (read != codes[rows]).any():
                raise _misplaced()

    def _full(self, error: OSError) -> DataError:
        return DataError(
            f"the folder {str(self._folder)!r} does not take the rows: {error.strerror}; nothing was "
            "written; name a folder with more room ",
            Parameter("as spill", "with --spill"),
        )


def _misplaced() -> RecheckError:
    return RecheckError(
        "spilled rows came back as others; the input has changed, or this is a fault of the tool; "
        "nothing was written"
    )


class _Words:
    """The values of a column that is stored as dictionaries: one for all batches.

    It ends up with the published values only, in order unless the column's own order counts.
    """

    def __init__(self, arrow_type: pa.DataType) -> None:
        self.type = arrow_type
        self.values = pa.array([], arrow_type.value_type)
        self.used = np.zeros(0, np.bool_)
        self.last: tuple[pa.Array, npt.NDArray[np.uint32]] | None = None
        self.new_code: pa.Array = None

    def codes(self, column: pa.ChunkedArray, order: npt.NDArray[np.int64]) -> pa.Array:
        """The rows `order` of a column as numbers of values (uint32, null for a missing one)."""
        parts = [self._code_of(chunk.dictionary).take(chunk.indices) for chunk in column.chunks]
        codes = pa.concat_arrays(parts).take(pa.array(order))
        self.used[codes.drop_null().to_numpy()] = True
        return codes

    def _code_of(self, dictionary: pa.Array) -> pa.Array:
        if self.last is None or not dictionary.equals(self.last[0]):
            new = pc.index_in(dictionary, value_set=self.values).is_null()
            new = pc.and_(new, dictionary.is_valid())
            if pc.any(new).as_py():
                self.values = pa.concat_arrays([self.values, dictionary.filter(new).unique()])
                more = len(self.values) - len(self.used)
                self.used = np.append(self.used, np.zeros(more, np.bool_))
            codes = pc.index_in(dictionary, value_set=self.values).cast(pa.uint32())
            self.last = dictionary, pc.if_else(dictionary.is_valid(), codes, pa.scalar(None, pa.uint32()))
        return self.last[1]

    def finish(self) -> None:
        """Keep the values that occur, ascending unless they have an order of their own."""
        used = np.flatnonzero(self.used)
        values = self.values.take(pa.array(used))
        if not self.type.ordered:
            ascending = pc.array_sort_indices(values).to_numpy()
            used, values = used[ascending], values.take(pa.array(ascending))
        fits = len(values) <= np.iinfo(self.type.index_type.to_pandas_dtype()).max
        new_code = np.zeros(len(self.used), np.int64)
        new_code[used] = np.arange(len(used))
        self.new_code = pa.array(new_code, self.type.index_type if fits else pa.int64())
        self.values = values

    def of(self, codes: pa.Array) -> pa.Array:
        """The values behind these numbers, as a dictionary where its type can hold them."""
        codes = self.new_code.take(codes)
        if codes.type != self.type.index_type:
            return self.values.take(codes)
        return pa.DictionaryArray.from_arrays(codes, self.values, ordered=self.type.ordered)


def _one(column: pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
