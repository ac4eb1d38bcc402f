# SPDX-License-Identifier: Apache-2.0
"""The distinct values of a column in the order of their first row, and which each row has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from anon.encoding.domain import MILLISECONDS_PER_DAY, MOST_VALUES, Codes, code_type
from anon.errors import DataError
from anon.schema import is_text, value_type
from anon.threads import in_threads

if TYPE_CHECKING:
    from anon.tables import Scan
BLOCK = 1 << 16  # rows recoded at a time: temporaries stay in the cache


@dataclass(frozen=True)
class Factors:
    """A column as positions in a list of values, which may repeat and may be null.

    Chunk i's indices (an Arrow array of integers, nulls for missing) count from `offsets[i]` in `values`.
    `room` makes the array for the codes.
    """

    values: pa.Array
    chunks: tuple[pa.Array, ...]
    offsets: tuple[int, ...]
    room: Callable[[int, np.dtype[Any]], Codes] = np.empty

    def blocks(self) -> Any:
        """Pieces of the column in row order: first row, positions in `values` (len(values): null)."""
        row = 0
        for chunk, offset in zip(self.chunks, self.offsets, strict=True):
            for start in range(0, len(chunk), BLOCK):
                block = chunk.slice(start, BLOCK)
                valid = None if block.null_count == 0 else np.asarray(block.is_valid())
                block = block.fill_null(0) if valid is not None else block
                positions = block.to_numpy(zero_copy_only=False).astype(np.intp)
                positions += offset
                if valid is not None:
                    positions[~valid] = len(self.values)
                yield row, positions
                row += len(positions)

    def used(self) -> npt.NDArray[np.bool_]:
        """Which values occur; one entry more than values, for null."""
        used = np.zeros(len(self.values) + 1, dtype=np.bool_)
        for _, positions in self.blocks():
            used[positions] = True
        return used

    def recode(self, code_of: npt.NDArray[Any]) -> Codes:
        """`code_of` (one entry per value, one for null) of every row."""
        codes = self.room(sum(map(len, self.chunks)), code_of.dtype)
        same = np.array_equal(code_of, np.arange(len(code_of)))
        for row, positions in self.blocks():
            part = codes[row : row + len(positions)]
            if same:
                part[:] = positions
            else:
                np.take(code_of, positions, out=part, mode="clip")
        codes.flags.writeable = False
        return codes

    def rows_of(self, marked: npt.NDArray[np.bool_]) -> tuple[int, int, Any]:
        """First row, number of rows and first value among the marked values (one entry per value)."""
        first, count, value = -1, 0, None
        marked = np.append(marked, False)
        for row, positions in self.blocks():
            hits = marked[positions]
            if first < 0 and hits.any():
                first = row + int(np.argmax(hits))
                try:
                    value = self.values[int(positions[np.argmax(hits)])].as_py()
                except (OverflowError, ValueError):  # a date that Python has not
                    value = None
            count += int(np.count_nonzero(hits))
        return first, count, value


def each_column(
    table: pa.Table | Scan,
    described: Sequence[Any],
    make: Callable[[Factors, Any], Any],
    n_threads: int,
    tell: Callable[[int, int], None] = lambda done, total: None,
) -> list[Any]:
    """`make(factors, description)` of every described column (by its `name`), by as many threads.

    `tell` is told how much is done: columns, or rows of a table that stays in its files.
    """
    if isinstance(table, pa.Table):

        def made(each: Any) -> Any:
            return make(factors_of(table.column(each.name), each.name), each)

        return in_threads(n_threads, made, described, progress=lambda done: tell(done, len(described)))
    n_read = 0
    gathering = [_Gathering(each.name) for each in described]
    for part in table.select([each.name for each in described]).batches() if described else ():
        in_threads(n_threads, lambda each, part=part: each.add(part.column(each.name)), gathering)
        n_read += part.num_rows
        tell(n_read, table.num_rows)
    return in_threads(n_threads, lambda each, one: make(one.factors(table.empty), each), described, gathering)


class _Gathering:
    """Factors of a column that comes in parts: of each part only narrow indices and its values are kept."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.values: list[pa.Array] = []
        self.n_values = 0
        self.chunks: list[pa.Array] = []
        self.offsets: list[int] = []
        self.most_values = MOST_VALUES

    def add(self, column: pa.ChunkedArray) -> None:
        """Take the next rows of the column."""
        part = factors_of(column, self.name)
        if not (self.values and part.values.equals(self.values[-1])):
            self.values.append(part.values)
            self.n_values += len(part.values)
        narrow = _index_type(len(part.values))
        start = self.n_values - len(part.values)
        self.chunks += [chunk.cast(narrow) for chunk in part.chunks]
        self.offsets += [start + offset for offset in part.offsets]
        if self.n_values > self.most_values:
            self._unite()

    def _unite(self) -> None:
        """Values that came in several parts become one."""
        united = pa.concat_arrays(self.values).dictionary_encode()
        narrow = _index_type(len(united.dictionary))
        self.chunks = [
            united.indices.slice(offset).take(chunk).cast(narrow)
            for chunk, offset in zip(self.chunks, self.offsets, strict=True)
        ]
        self.offsets = [0] * len(self.chunks)
        self.values, self.n_values = [united.dictionary], len(united.dictionary)
        self.most_values = max(MOST_VALUES, 2 * self.n_values)

    def factors(self, room: Callable[[int, np.dtype[Any]], Codes]) -> Factors:
        """The column; what was gathered goes over into it."""
        chunks, self.chunks = tuple(self.chunks), []
        return Factors(pa.concat_arrays(self.values), chunks, tuple(self.offsets), room)


def _index_type(n_values: int) -> pa.DataType:
    return pa.from_numpy_dtype(code_type(n_values))


def factors_of(column: pa.ChunkedArray, name: str) -> Factors:
    plain = value_type(column.type)
    if pa.types.is_timestamp(plain) and plain.tz:
        try:
            pc.local_timestamp(pa.scalar(0, plain))
        except pa.ArrowException:
            raise DataError(
                f"column {name!r} has an unknown time zone, {plain.tz!r}; cast it to UTC", column=name
            ) from None
    try:
        factors = _split(column)
    except pa.ArrowInvalid:  # decimals with more digits than their type says
        raise DataError(
            f"column {name!r} holds values that its type, {column.type}, cannot have; make it again",
            column=name,
        ) from None
    if is_text(plain):
        try:
            factors.values.validate(full=True)
        except pa.ArrowException:
            raise DataError(f"column {name!r} holds text that is not UTF-8; decode it", column=name) from None
    return factors


def _split(column: pa.ChunkedArray) -> Factors:
    if pa.types.is_dictionary(column.type):
        chunks = column.chunks
        dictionaries: list[pa.Array] = []
        offsets: list[int] = []
        end = 0
        for chunk in chunks:
            if not dictionaries or not chunk.dictionary.equals(dictionaries[-1]):
                dictionaries.append(chunk.dictionary)
                end += len(chunk.dictionary)
            offsets.append(end - len(chunk.dictionary))
        values = pa.concat_arrays(_comparable(each) for each in dictionaries)
        return Factors(values, tuple(chunk.indices for chunk in chunks), tuple(offsets))
    if pa.types.is_decimal(column.type) and column.type.bit_width < 128:
        column = column.cast(pa.decimal128(column.type.precision, column.type.scale))
    chunks = column.dictionary_encode().chunks or [pa.array([], column.type).dictionary_encode()]
    values = _comparable(chunks[-1].dictionary)
    return Factors(values, tuple(chunk.indices for chunk in chunks), (0,) * len(chunks))


def _comparable(values: pa.Array) -> pa.Array:
    """The same values in a type that Arrow can sort; NaN is null, and -0.0 is 0.0."""
    types = pa.types
    if is_text(values.type):
        return values.cast(pa.large_string())
    if types.is_floating(values.type):
        numbers = values.cast(pa.float32()) if types.is_float16(values.type) else values
        numbers = pc.add(numbers, pa.scalar(0, numbers.type))
        return pc.if_else(pc.is_nan(numbers), pa.scalar(None, numbers.type), numbers)
    if types.is_date64(values.type):
        # the day of an instant that is none (Arrow asks for whole days, but does not enforce them)
        days = values.view(pa.int64()).fill_null(0).to_numpy() // MILLISECONDS_PER_DAY
        days = np.clip(days, -(2**31), 2**31 - 1).astype(np.int32)
        return pa.array(days, mask=np.asarray(values.is_null())).view(pa.date32())
    if types.is_decimal(values.type):
        precision, scale = values.type.precision, values.type.scale
        if scale < 0:
            return values.cast(pa.decimal256(76))
        if values.type.bit_width < 128:
            return values.cast(pa.decimal128(precision, scale))
    return values
