# SPDX-License-Identifier: Apache-2.0
"""Columns that are published as they are: only their values, whatever the layout held beside them.

Arrow's arrays can hold more than they show: the values of a null struct, dictionary values that no row
has, lists as places in a buffer of all rows, views of such buffers, metadata of fields at any depth.
Here such columns become structs, lists and maps of plain values, in buffers of their own.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from anon.errors import DataError

MOST_LEVELS = 64  # of a type: one inside another

Indices = npt.NDArray[np.int64]  # rows of an array; -1 for a null


def check_publishable(schema: pa.Schema) -> None:
    """Raise DataError where a column has no type in which it could be published."""
    for field in schema:
        published_type(field.type, field.name)


def published_type(kind: pa.DataType, name: str) -> pa.DataType:
    """The type in which the column `name` of this type is published; DataError where there is none.

    A dictionary of values that can be put in order stays one. Others, runs, views and extension types are
    their values; what is inside of a nested type too, and its fields have no metadata.
    """
    try:
        if pa.types.is_dictionary(kind):
            values = _bare(kind.value_type)
            if values == kind.value_type and not pa.types.is_nested(values):
                return kind if kind.ordered or _has_order(values) else values
            return values
        return _bare(kind)
    except pa.ArrowNotImplementedError:
        raise DataError(
            f"column {name!r} of type {kind} cannot be published; "
            "convert it, or make it identifying to drop it",
            column=name,
        ) from None


def takeable(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """The column in its `published_type`, whose rows can be taken without more than they show."""
    published = published_type(column.type, name)
    if _is_clean(column.type, published):
        return column
    return pa.chunked_array([values_alone(chunk) for chunk in column.chunks], published)


def values_type(kind: pa.DataType) -> pa.DataType | None:
    """The type of `values_alone`; None where there is none."""
    try:
        return _bare(kind)
    except pa.ArrowNotImplementedError:
        return None


def values_alone(array: pa.Array) -> pa.Array:
    """The values of an array without dictionaries, runs and views, in buffers that hold nothing else."""
    return _rebuilt(array, np.arange(len(array), dtype=np.int64))


def _is_clean(kind: pa.DataType, published: pa.DataType) -> bool:
    """Does Arrow's own `take` of this type leave nothing but the values of the rows?"""
    return kind.equals(published, check_metadata=True) and not _has_struct(kind)


def _has_struct(kind: pa.DataType) -> bool:
    """Is there a struct in it, under whose nulls its fields may have values?"""
    if pa.types.is_struct(kind) or pa.types.is_map(kind):
        return True
    return bool(pa.types.is_nested(kind)) and _has_struct(kind.value_type)


def _bare(kind: pa.DataType, level: int = 0) -> pa.DataType:
    """The type of the values alone; ArrowNotImplementedError where they cannot be put in another order."""
    types = pa.types
    if level > MOST_LEVELS or types.is_union(kind):
        raise pa.ArrowNotImplementedError
    if isinstance(kind, pa.BaseExtensionType):
        return _bare(kind.storage_type, level + 1)
    if types.is_dictionary(kind) or types.is_run_end_encoded(kind):
        return _long(_bare(kind.value_type, level + 1), level)
    if types.is_string_view(kind):
        return pa.large_string()
    if types.is_binary_view(kind):
        return pa.large_binary()
    if types.is_struct(kind):
        return pa.struct([pa.field(field.name, _bare(field.type, level + 1)) for field in kind])
    if types.is_map(kind):
        return pa.map_(_bare(kind.key_type, level + 1), _bare(kind.item_type, level + 1))
    if types.is_nested(kind):
        item = pa.field(kind.value_field.name, _bare(kind.value_type, level + 1))
        if types.is_fixed_size_list(kind):
            return pa.list_(item, kind.list_size)
        return pa.list_(item) if types.is_list(kind) else pa.large_list(item)
    _refuse_untakeable(kind)
    return kind


def _long(kind: pa.DataType, level: int) -> pa.DataType:
    """Room for texts that a dictionary inside of a nested type held once and rows hold many times."""
    if level == 0:
        return kind
    return {pa.string(): pa.large_string(), pa.binary(): pa.large_binary()}.get(kind, kind)


@cache
def _refuse_untakeable(kind: pa.DataType) -> None:
    """Raise ArrowNotImplementedError where Arrow cannot put values of this flat type in another order."""
    pa.array([], kind).take(pa.array([], pa.uint32()))


@cache
def _has_order(kind: pa.DataType) -> bool:
    try:
        pc.array_sort_indices(pa.array([], kind))
    except pa.ArrowNotImplementedError:
        return False
    return True


def _rebuilt(array: pa.Array, indices: Indices, level: int = 0) -> pa.Array:
    """The rows `indices` (-1: null) of an array in buffers of their own, of type `_bare(array.type)`."""
    types, kind = pa.types, array.type
    if isinstance(array, pa.ExtensionArray):
        return _rebuilt(array.storage, indices, level + 1)
    if types.is_dictionary(kind):
        codes = pc.fill_null(array.indices.cast(pa.int64()), -1).to_numpy()
        return _decoded(array.dictionary, _through(codes, indices), level)
    if types.is_run_end_encoded(kind):
        run = np.searchsorted(array.run_ends.to_numpy(), indices + array.offset, side="right")
        return _decoded(array.values, np.where(indices < 0, -1, run), level)
    if types.is_struct(kind):
        present = _valid(array, indices)
        inside = np.where(present, indices, -1)
        children = [_rebuilt(array.field(i), inside, level + 1) for i in range(kind.num_fields)]
        return pa.Array.from_buffers(_bare(kind), len(indices), [_bits(present)], children=children)
    if types.is_nested(kind):
        return _rebuilt_lists(array, indices, level)
    if types.is_string_view(kind) or types.is_binary_view(kind):
        array = array.cast(_bare(kind))
    return array.take(pa.array(indices, mask=indices < 0))


def _rebuilt_lists(array: pa.Array, indices: Indices, level: int) -> pa.Array:
    """`_rebuilt` of lists of any layout, and of maps."""
    kind, present = array.type, _valid(array, indices)
    published = _bare(kind)
    if pa.types.is_fixed_size_list(kind):
        starts = (array.offset + indices) * kind.list_size
        every = np.where(present, starts, -1)[:, None] + np.where(
            present[:, None], np.arange(kind.list_size), 0
        )
        child = _rebuilt(array.values, every.ravel(), level + 1)
        return pa.Array.from_buffers(published, len(indices), [_bits(present)], children=[child])
    offsets = array.offsets.to_numpy().astype(np.int64)
    sizes = np.diff(offsets) if len(offsets) > len(array) else array.sizes.to_numpy().astype(np.int64)
    starts, sizes = (np.where(present, _through(of_all, indices), 0) for of_all in (offsets, sizes))
    ends = np.concatenate([[0], np.cumsum(sizes)])
    every = np.arange(ends[-1]) + np.repeat(starts - ends[:-1], sizes)
    if pa.types.is_map(kind):
        parts = [_rebuilt(array.values.field(i), every, level + 1) for i in range(2)]
        entries = pa.struct([published.key_field, published.item_field])
        child = pa.Array.from_buffers(entries, len(every), [None], children=parts)
    else:
        child = _rebuilt(array.values, every, level + 1)
    width = np.int64 if pa.types.is_large_list(published) else np.int32
    buffers = [_bits(present), pa.py_buffer(ends.astype(width))]
    return pa.Array.from_buffers(published, len(indices), buffers, children=[child])


def _decoded(values: pa.Array, indices: Indices, level: int) -> pa.Array:
    decoded = _rebuilt(values, indices, level + 1)
    return decoded if decoded.type == _long(decoded.type, level) else decoded.cast(_long(decoded.type, level))


def _through(of_all: Indices, indices: Indices) -> Indices:
    """What each of the indices has; -1 for -1."""
    return np.append(of_all, -1)[indices]


def _valid(array: pa.Array, indices: Indices) -> npt.NDArray[np.bool_]:
    """Which of the indices are rows with a value."""
    if not array.null_count:
        return indices >= 0
    return np.append(array.is_valid().to_numpy(zero_copy_only=False), False)[indices]


def _bits(present: npt.NDArray[np.bool_]) -> pa.Buffer | None:
    """A bitmap of validity, or None where all is valid."""
    return None if present.all() else pa.py_buffer(np.packbits(present, bitorder="little"))
