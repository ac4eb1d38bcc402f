# SPDX-License-Identifier: Apache-2.0
"""Columns of a CSV file that was read once, as text, in the types that their texts have.

The types are those that Arrow's reader of CSV finds; it is shown each column's distinct texts instead of
its rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa
import pyarrow.csv as pa_csv

AS_WRITTEN = pa.dictionary(pa.int32(), pa.string())
BLOCK = 1 << 24  # bytes of CSV that are read at a time
HEAD = 1000  # texts by which most columns are told to be text
MOST_CELLS = 1 << 20  # that are typed at a time, but for one column's own
MOST_BYTES = 1 << 28  # of their texts


def coded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column `AS_WRITTEN`: with one dictionary where texts repeat, of plain texts where they do not."""
    if 2 * sum(len(chunk.dictionary) for chunk in column.chunks) > len(column):
        return column.cast(pa.string())
    return with_one_dictionary(column)


def with_one_dictionary(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column `AS_WRITTEN` with the same dictionary everywhere; of plain texts where one cannot hold all."""
    try:
        return column.unify_dictionaries()
    except pa.ArrowCapacityError:  # 2 GiB
        return column.cast(pa.string())


def texts_of(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The texts of a column as `coded` left it: its dictionary, or the column itself."""
    if not pa.types.is_dictionary(column.type):
        return column
    return pa.chunked_array([each.dictionary for each in column.chunks[:1]], pa.string())


def as_values(column: pa.ChunkedArray, values: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column with these values in the place of its `texts_of`."""
    if not pa.types.is_dictionary(column.type):
        return values
    by_code = values.combine_chunks()
    return pa.chunked_array([by_code.take(chunk.indices) for chunk in column.chunks], values.type)


def inferred(
    texts: Mapping[int, pa.ChunkedArray], convert: pa_csv.ConvertOptions
) -> dict[int, pa.ChunkedArray]:
    """The texts of some columns in the types that Arrow's reader finds; columns of text are left out.

    `convert` tells how it reads them, and forces no types.
    """
    heads = _read({at: each.slice(0, HEAD) for at, each in texts.items()}, convert)
    short = {at: head for at, head in heads.items() if len(texts[at]) <= HEAD}
    longer = {at: texts[at] for at in heads.keys() - short.keys() if heads[at].type != pa.string()}
    found = short | _read(longer, convert)
    return {at: each for at, each in found.items() if each.type != pa.string()}


def _read(texts: Mapping[int, pa.ChunkedArray], convert: pa_csv.ConvertOptions) -> dict[int, pa.ChunkedArray]:
    """The same of columns of text, too."""
    found = {}
    for columns in _alike(texts):
        n_rows = max(len(each) for each in columns.values())
        written = pa.BufferOutputStream()
        padded = [
            pa.chunked_array([*each.chunks, pa.nulls(n_rows - len(each), pa.string())])
            for each in columns.values()
        ]
        pa_csv.write_csv(pa.table(padded, names=[str(at) for at in columns]), written)
        parse = pa_csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False)
        text = written.getvalue()
        # a row of one column was in a block of the file; those of several need not be
        block = BLOCK if len(columns) == 1 else max(len(text), 1)
        read = pa_csv.read_csv(pa.BufferReader(text), pa_csv.ReadOptions(block_size=block), parse, convert)
        for (at, each), column in zip(columns.items(), read.columns, strict=True):
            found[at] = column.slice(0, len(each))
    return found


def _alike(texts: Mapping[int, pa.ChunkedArray]) -> Iterator[dict[int, pa.ChunkedArray]]:
    """The columns in groups that are about as long: the reader starts once for each."""
    group: dict[int, pa.ChunkedArray] = {}
    n_bytes = 0
    for at in sorted(texts, key=lambda at: len(texts[at])):
        first, size = next(iter(group.values()), ()), texts[at].nbytes
        is_much = len(texts[at]) * (len(group) + 1) > MOST_CELLS or n_bytes + size > MOST_BYTES
        if group and (len(texts[at]) > 2 * len(first) or is_much):
            yield group
            group, n_bytes = {}, 0
        group[at] = texts[at]
        n_bytes += size
    if group:
        yield group
