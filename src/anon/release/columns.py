# SPDX-License-Identifier: Apache-2.0
"""The columns of a release as they are written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from anon.classes import Column
from anon.release.metadata import CLASS_ID
from anon.release.recoded import Recoded
from anon.schema import value_type
from anon.tables import Scan, takeable

if TYPE_CHECKING:
    from anon.release.spill import Spilled
ROWS_AT_ONCE = 1 << 17

NOTES_ON_BUCKETS = (
    "the quasi-identifiers are published intact: everybody sees who is in the table, and the neutral "
    "columns belong to that person",
    "the requirements bound what a bucket tells by itself; whoever learns from all buckets together which "
    "quasi-identifiers go with which sensitive values may find most people's own: "
    "docs/security.md, Learning across buckets",
)
"""What a bucketization does not hide; said wherever one is written or measured."""


@dataclass(frozen=True)
class _Field:
    """A published column: `take(rows, of_row)` makes it for some rows; `written` is its type in a file."""

    name: str
    written: pa.DataType
    take: Callable[[npt.NDArray[np.uint32], npt.NDArray[np.uint32]], pa.Array | pa.ChunkedArray]
    nullable: bool = True
    cells: bool = False


def in_memory(column: _Field) -> pa.DataType:
    """Cells of text stay dictionaries in memory."""
    if column.cells and _is_text(column.written):
        return pa.dictionary(pa.int32(), column.written)
    return column.written


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def fields_of(release: Recoded, spill: Spilled | None = None) -> list[_Field]:
    """The published columns in the order of the input; neutral and sensitive ones from `spill` if given."""
    table = release.encoded.table
    known = release.file_schema
    published = columns_of(release)
    hidden = hidden_columns(release)
    secret = {domain.name for domain in release.encoded.sensitive}
    fields = []
    for described in table.schema:
        name = described.name
        if name in hidden:
            continue
        if published.get(name):
            fields += [
                _Field(one.name, one.values.type, _cell_column(one), cells=True) for one in published[name]
            ]
            continue
        if name in release.coded:
            one = release.coded[name]
            fields.append(_Field(name, one.values.type, _coded_column(one), cells=True))
            continue
        column = takeable(_column(table, name), name)
        means = release.mean_weights if name == release.encoded.schema.sampling_weight else None
        if means is not None:
            fields.append(_Field(name, means.type, _taken(means), described.nullable))
            continue
        written = column.type
        as_read = written == described.type and not pa.types.is_nested(written)
        if as_read and known is not None and known.get_field_index(name) >= 0:
            written = known.field(name).type
        if spill is not None:
            kept = spill.take(name)
        else:
            whole = not len(release.classes.suppressed) or isinstance(table, Scan)  # of a Scan the type alone
            kept = _kept(column, release.classes.rows, complete=whole)
        if name in secret and pa.types.is_floating(value_type(column.type)):
            kept = _as_counted(kept)
        fields.append(_Field(name, written, kept, described.nullable))
    if release.publish == "bucketization":
        fields.append(_Field(CLASS_ID, pa.int64(), lambda rows, of_row: pa.array(of_row.astype(np.int64))))
    return fields


def columns_of(release: Recoded) -> dict[str, tuple[Column, ...]]:
    """What is shown of each quasi-identifier; nothing of one that is left intact."""
    return {cells.domain.name: columns for cells, columns in zip(release.cells, release.columns, strict=True)}


def hidden_columns(release: Recoded) -> set[str]:
    """Columns that the release leaves out, or puts in its second table."""
    apart = release.encoded.sensitive if release.publish == "bucketization" else ()
    return {*release.dropped, *(domain.name for domain in apart)}


def _column(table: pa.Table | Scan, name: str) -> pa.ChunkedArray:
    """The column of a table; of a Scan, an empty one of its type."""
    if isinstance(table, pa.Table):
        return table.column(name)
    return pa.chunked_array([], table.schema.field(name).type)


def _coded_column(column: Column) -> Callable[[npt.NDArray[np.uint32], npt.NDArray[np.uint32]], pa.Array]:
    """The same of a column that has an index for every row of the table; null, if any, is the last value."""
    values = column.values.drop_null()

    def take(rows: npt.NDArray[np.uint32], of_row: npt.NDArray[np.uint32]) -> pa.Array:
        index = column.index[rows].astype(np.int32)
        return pa.DictionaryArray.from_arrays(pa.array(index, mask=index == len(values)), values)

    return take


def _cell_column(column: Column) -> Callable[[npt.NDArray[np.uint32], npt.NDArray[np.uint32]], pa.Array]:
    """A quasi-identifier's column: text as dictionary indices, numbers and marks as such."""
    if not _is_text(column.values.type):
        return lambda rows, of_row: column.values.take(pa.array(column.index[of_row]))
    index, words = column.index.astype(np.int32), column.values
    if not words.null_count:
        return lambda rows, of_row: pa.DictionaryArray.from_arrays(pa.array(index[of_row]), words)
    null = words.is_null().to_numpy(zero_copy_only=False)
    index, null, words = (np.cumsum(~null) - 1).astype(np.int32)[index], null[index], words.drop_null()
    return lambda rows, of_row: pa.DictionaryArray.from_arrays(
        pa.array(index[of_row], mask=null[of_row]), words
    )


def _taken(
    by_row: pa.Array,
) -> Callable[[npt.NDArray[np.uint32], npt.NDArray[np.uint32]], pa.Array | pa.ChunkedArray]:
    return lambda rows, of_row: by_row.take(pa.array(rows))


_Take = Callable[[npt.NDArray[np.uint32], npt.NDArray[np.uint32]], pa.Array | pa.ChunkedArray]


def _as_counted(take: _Take) -> _Take:
    """Sensitive floats as requirements count them: NaN is missing, and -0.0 is 0.0."""

    def taken(rows: npt.NDArray[np.uint32], of_row: npt.NDArray[np.uint32]) -> pa.Array:
        column = take(rows, of_row)
        plain = column.cast(value_type(column.type))
        numbers = plain.to_numpy(zero_copy_only=False) if isinstance(plain, pa.Array) else plain.to_numpy()
        made = pa.array(numbers + 0, plain.type, mask=np.isnan(numbers))
        return made.dictionary_encode().cast(column.type) if made.type != column.type else made

    return taken


def _kept(
    column: pa.ChunkedArray, published: npt.NDArray[np.uint32], complete: bool
) -> Callable[[npt.NDArray[np.uint32], npt.NDArray[np.uint32]], pa.Array | pa.ChunkedArray]:
    """A neutral or sensitive column; a dictionary holds just the published values.

    Unordered dictionaries are sorted: their order of first appearance would tell of the input's order.
    """
    whole = column.combine_chunks()
    if not pa.types.is_dictionary(column.type):
        return lambda rows, of_row: whole.take(pa.array(rows))
    if isinstance(whole, pa.ChunkedArray):  # more than fits one dictionary
        return lambda rows, of_row: whole.take(pa.array(rows)).cast(column.type.value_type)
    indices = whole.indices
    used = indices if complete else indices.take(pa.array(published))
    present = np.zeros(len(whole.dictionary), dtype=np.bool_)
    present[used.drop_null().to_numpy(zero_copy_only=False)] = True
    values = np.flatnonzero(present)
    dictionary = whole.dictionary.take(pa.array(values))
    if not column.type.ordered:
        ascending = pc.array_sort_indices(dictionary).to_numpy()
        values, dictionary = values[ascending], dictionary.take(pa.array(ascending))
    new_index = np.zeros(len(present), dtype=np.int64)
    new_index[values] = np.arange(len(values))
    renumbered = pa.array(new_index, type=column.type.index_type).take(indices)
    return lambda rows, of_row: pa.DictionaryArray.from_arrays(
        renumbered.take(pa.array(rows)), dictionary, ordered=column.type.ordered
    )


def rows_taken(
    fields: Sequence[_Field], rows: npt.NDArray[np.uint32], of_row: npt.NDArray[np.uint32]
) -> pa.Table:
    arrays = [column.take(rows, of_row) for column in fields]
    return pa.Table.from_arrays(
        arrays,
        schema=pa.schema(
            [pa.field(f.name, a.type, f.nullable) for f, a in zip(fields, arrays, strict=True)],
        ),
    )
