# SPDX-License-Identifier: Apache-2.0
# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Lines of a table of text: the cells of each row put one after another."""

import numpy as np

from anoncore.doors import MOST_ROWS, array_of, given, parts_of, whole
from anoncore.memory cimport take
from anoncore.types cimport int64_t, uint8_t, uint32_t

from libc.string cimport memcpy


cdef struct Column:
    const uint32_t* codes  # NULL: row i has text i
    const int64_t* start
    const uint8_t* text


cdef int64_t _size(const Column* column, int64_t n_rows) noexcept nogil:
    """Bytes of the column's cells."""
    cdef int64_t i, code, total = 0
    if column.codes == NULL:
        return column.start[n_rows]
    for i in range(n_rows):
        code = column.codes[i]
        total += column.start[code + 1] - column.start[code]
    return total


cdef void _lines(const Column* columns, int64_t n_columns, int64_t n_rows, uint8_t* to) noexcept nogil:
    cdef int64_t i, j, code, start, size
    for i in range(n_rows):
        for j in range(n_columns):
            code = i if columns[j].codes == NULL else <int64_t>columns[j].codes[i]
            start = columns[j].start[code]
            size = columns[j].start[code + 1] - start
            memcpy(to, columns[j].text + start, size)
            to += size


def lines(codes, starts, texts, n_rows):
    """The bytes of all cells, row by row and in each row column by column (uint8).

    Of column j the text of number c is `texts[j][starts[j][c]:starts[j][c + 1]]` (uint8, and int64 that begin
    at 0 and end at its size); row i has number `codes[j][i]` (uint32), or i where `codes[j]` is None.
    Separators, ends of lines and quotes belong to the texts.
    """
    given(codes=codes, starts=starts, texts=texts)
    cdef int64_t n = whole(n_rows, 0, MOST_ROWS, "n_rows"), j, n_columns, n_texts, total = 0
    for name, parts in (("codes", codes), ("starts", starts), ("texts", texts)):
        if not isinstance(parts, (list, tuple)):
            raise ValueError(f"{name} must be a list, with an item per column")
    n_columns = len(codes)
    if len(starts) != n_columns or len(texts) != n_columns:
        raise ValueError("codes, starts and texts must have an item per column")
    if n_columns == 0 or n == 0:
        return np.empty(0, np.uint8)
    cdef list keep = []
    cdef Column* columns = <Column*>take(keep, n_columns, sizeof(Column))
    cdef const uint32_t[::1] of_rows
    cdef const int64_t[::1] begin
    cdef const uint8_t[::1] bytes_of
    for j in range(n_columns):
        text = array_of(texts[j], np.uint8, 1, "texts")
        start = parts_of(starts[j], len(text), "starts", empty=True)
        n_texts = len(start) - 1
        columns[j].codes = NULL
        if codes[j] is None:
            if n_texts != n:
                raise ValueError("a column without codes must have a text per row")
        else:
            numbers = array_of(codes[j], np.uint32, 1, "codes")
            if len(numbers) != n or int(numbers.max()) >= n_texts:
                raise ValueError("codes must be numbers of texts, one per row")
            of_rows = numbers
            columns[j].codes = &of_rows[0]
            keep.append(numbers)
        begin = start
        columns[j].start = &begin[0]
        columns[j].text = <const uint8_t*>columns[j].start  # of no bytes none are copied, but from somewhere
        if len(text):
            bytes_of = text
            columns[j].text = &bytes_of[0]
        keep += [start, text]
    with nogil:
        for j in range(n_columns):
            total += _size(&columns[j], n)
    out = np.empty(total, np.uint8)
    cdef uint8_t[::1] to = out
    if total:
        with nogil:
            _lines(columns, n_columns, n, &to[0])
    return out
