# SPDX-License-Identifier: Apache-2.0
"""Data frames as Arrow batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from anon.encoding import Domain

Ints = npt.NDArray[np.int64]
Batches = Iterator[pa.RecordBatch]

CHUNK_ROWS = 1 << 18  # encoded and routed at a time
CHUNK_BYTES = 1 << 26
SLICES = "slices"  # the column of bytes that hold rows, which Spark stores and moves without looking at them

LONGS = pa.list_(pa.int64())


def light(domain: Domain) -> Domain:
    """A domain without its values and levels."""
    return replace(domain, values=pa.nulls(domain.n_values), levels=None)


def gathered(batches: Batches, n_rows: int, n_bytes: int) -> Iterator[pa.Table]:
    """The rows of small batches, a chunk at a time."""
    chunk: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        if batch.num_rows == 0:
            continue
        chunk.append(batch)
        rows += batch.num_rows
        size += batch.nbytes
        if rows >= n_rows or size >= n_bytes:
            yield _whole(chunk)
            chunk, rows, size = [], 0, 0
    if chunk:
        yield _whole(chunk)


def _whole(batches: Sequence[pa.RecordBatch]) -> pa.Table:
    table = pa.Table.from_batches(batches)
    return table.cast(in_utc(table.schema))


def in_utc(schema: pa.Schema) -> pa.Schema:
    """The same types, moments being in UTC: Spark gives them in UTC or in the session's zone."""
    kinds = [
        pa.timestamp(field.type.unit, "UTC")
        if pa.types.is_timestamp(field.type) and field.type.tz
        else field.type
        for field in schema
    ]
    return pa.schema([field.with_type(kind) for field, kind in zip(schema, kinds, strict=True)])


def one_batch(table: pa.Table) -> pa.RecordBatch:
    """The rows of a table, at least one, in one batch."""
    return table.combine_chunks().to_batches()[0]


def packed(batch: pa.RecordBatch) -> bytes:
    """A batch as bytes of Arrow IPC, without its schema."""
    return bytes(batch.serialize())


def stream(table: pa.Table) -> bytes:
    """A table as bytes of an Arrow stream, which knows its schema."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def unpacked(column: pa.ChunkedArray | pa.Array, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The batches of this schema that were `packed`, one per row of a column."""
    for value in column:
        yield pa.ipc.read_record_batch(value.as_buffer(), schema)


def slices(table: pa.Table) -> pa.Table:
    """A table as few rows of bytes, each an Arrow stream of some of its rows: `rows_of` reads them."""
    size = max(1, min(CHUNK_ROWS, CHUNK_BYTES * table.num_rows // max(table.nbytes, 1)))
    pieces = [stream(table.slice(start, size)) for start in range(0, table.num_rows, size)]
    return pa.table({SLICES: pa.array(pieces, pa.binary())})


def rows_of(batches: Batches) -> Batches:
    """The rows of `slices`."""
    for batch in batches:
        for piece in batch[SLICES]:
            yield from pa.ipc.open_stream(piece.as_buffer())


def table_of_sums(**columns: Any) -> pa.RecordBatch:
    types = {"codes": pa.binary(), "keys": pa.binary(), "counts": pa.binary()}
    arrays = [pa.array(values, types.get(name, pa.int64())) for name, values in columns.items()]
    return pa.RecordBatch.from_arrays(arrays, names=list(columns))


class Sums:
    """Counts of codes under several names, added up sparsely."""

    def __init__(self) -> None:
        self.counts: dict[tuple[int, int, int], list[tuple[Ints, Ints]]] = {}

    def add(self, name: tuple[int, int, int], codes: Ints, n_codes: int) -> None:
        """Count these codes, all below n_codes."""
        if n_codes <= max(4 * len(codes), 1 << 16):
            counts = np.bincount(codes, minlength=n_codes)
            keys = np.flatnonzero(counts)
            counted = keys, counts[keys]
        else:
            counted = np.unique(codes, return_counts=True)
        self.add_counted(name, *counted)

    def add_counted(self, name: tuple[int, int, int], keys: Ints, counts: Ints) -> None:
        """Add what was counted before: distinct keys, and how often each is there."""
        some = self.counts.setdefault(name, [])
        some.append((keys, counts))
        if len(some) > 32:
            self.counts[name] = [summed(some)]

    def batch(self) -> pa.RecordBatch:
        """All of them: node, attribute, tracked column, keys and counts as bytes of int64."""
        node, attribute, tracked = zip(*self.counts, strict=True) if self.counts else ((), (), ())
        pairs = [summed(some) for some in self.counts.values()]
        return table_of_sums(
            node=node,
            attribute=attribute,
            tracked=tracked,
            keys=[keys.astype(np.int64).tobytes() for keys, _ in pairs],
            counts=[counts.astype(np.int64).tobytes() for _, counts in pairs],
        )


def summed(some: Sequence[tuple[Ints, Ints]]) -> tuple[Ints, Ints]:
    """The distinct keys, ascending, and the sums of their counts."""
    keys, at = np.unique(np.concatenate([keys for keys, _ in some]), return_inverse=True)
    counts = np.zeros(len(keys), np.int64)
    np.add.at(counts, at, np.concatenate([counts for _, counts in some]))
    return keys, counts
