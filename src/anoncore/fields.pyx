# SPDX-License-Identifier: Apache-2.0
# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Fields of a CSV text: of each column every text once, and by its number in every row."""

import numpy as np

from anoncore.doors import array_of, given, parts_of, whole
from anoncore.hash cimport mixed
from anoncore.memory cimport Array, extend, growing, release, reserve, take
from anoncore.types cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from libc.string cimport memchr, memcmp, memcpy, memset

cdef extern from "Python.h":
    const bint IS_LITTLE "PY_LITTLE_ENDIAN"

MOST_TEXT = 2**31 - 1  # bytes of one call
MOST_COLUMNS = 2**24
MOST_SEED = 2**64 - 1
cdef enum:
    NEWLINE = 10
    RETURN = 13
    QUOTE = 34
    FIRST_SLOTS = 64
    NOT_PLAIN = -1  # in the place of a number
    NO_MEMORY = -2


cdef struct Field:
    const uint8_t* at  # without the quotes around it
    uint64_t hash
    int32_t size
    bint doubled       # its quotes are


cdef struct Column:
    Array* fields  # the distinct ones, in the order in which they were met
    Array* slots   # a power of two, half of them free at least: 0, or 1 + the number of a field
    int64_t n_missing  # how many of them, the first ones, stand for no value
    int32_t* codes


cdef inline uint64_t _hash(const Field* field, const uint8_t* end, uint64_t seed) noexcept nogil:
    """`end` of the bytes that may be read."""
    cdef uint64_t hashed = seed ^ <uint64_t>field.size, word
    cdef const uint8_t* at = field.at
    cdef int64_t left = field.size
    while left >= 8:
        memcpy(&word, at, 8)
        hashed = mixed(hashed ^ word)
        at += 8
        left -= 8
    if left:
        word = 0
        if IS_LITTLE and end - at >= 8:
            memcpy(&word, at, 8)
            word &= ((<uint64_t>1) << (8 * left)) - 1
        else:
            memcpy(&word, at, left)
        hashed = mixed(hashed ^ word)
    return hashed


cdef bint _rehash(Column* column, int64_t n_slots) noexcept nogil:
    cdef const Field* fields = <const Field*>column.fields.at
    cdef uint32_t* slots
    cdef int64_t i
    cdef uint64_t slot
    release(column.slots)
    if not reserve(column.slots, n_slots):
        return False
    slots = <uint32_t*>extend(column.slots, n_slots)
    memset(slots, 0, n_slots * sizeof(uint32_t))
    for i in range(column.fields.length):
        slot = fields[i].hash & <uint64_t>(n_slots - 1)
        while slots[slot]:
            slot = (slot + 1) & <uint64_t>(n_slots - 1)
        slots[slot] = <uint32_t>(i + 1)
    return True


cdef inline int64_t _number(Column* column, const Field* field) noexcept nogil:
    """The number of a field among the distinct ones, of which it may be a further one; NO_MEMORY."""
    cdef const Field* fields = <const Field*>column.fields.at
    cdef const Field* other
    cdef const uint32_t* slots = <const uint32_t*>column.slots.at
    cdef uint64_t last = <uint64_t>(column.slots.length - 1), slot = field.hash & last
    cdef int64_t n = column.fields.length
    while slots[slot]:
        other = &fields[slots[slot] - 1]
        if (
            other.hash == field.hash
            and other.size == field.size
            and memcmp(other.at, field.at, field.size) == 0
        ):
            return slots[slot] - 1
        slot = (slot + 1) & last
    if not reserve(column.fields, 1):
        return NO_MEMORY
    (<Field*>extend(column.fields, 1))[0] = field[0]
    if 2 * (n + 1) > column.slots.length:
        if not _rehash(column, 2 * column.slots.length):
            return NO_MEMORY
    else:
        (<uint32_t*>column.slots.at)[slot] = <uint32_t>(n + 1)
    return n


cdef int64_t _rows(
    const uint8_t* at,
    int64_t size,
    int64_t n_columns,
    Column** columns,
    const uint8_t* ends,
    uint8_t delimiter,
    int64_t most,
    uint64_t seed,
) noexcept nogil:
    """Number the fields of all rows, of which `most` can be whole; how many there are, or why not.

    `ends` tells the bytes that no field without quotes around it holds.
    """
    cdef const uint8_t* end = at + size
    cdef int64_t n_rows = 0, j, number
    cdef Field field
    while at < end:
        if at[0] == NEWLINE:  # an empty line is no row
            at += 1
            continue
        if at[0] == RETURN and at + 1 < end and at[1] == NEWLINE:
            at += 2
            continue
        if n_rows == most:
            return NOT_PLAIN
        for j in range(n_columns):
            field.doubled = False
            if at < end and at[0] == QUOTE:
                at += 1
                field.at = at
                while True:
                    at = <const uint8_t*>memchr(at, QUOTE, end - at) if at < end else NULL
                    if at == NULL:
                        return NOT_PLAIN
                    if at + 1 == end or at[1] != QUOTE:
                        break
                    field.doubled = True
                    at += 2
                field.size = <int32_t>(at - field.at)
                at += 1
            else:
                field.at = at
                while at < end and not ends[at[0]]:
                    at += 1
                field.size = <int32_t>(at - field.at)
            if j < n_columns - 1:
                if at == end or at[0] != delimiter:
                    return NOT_PLAIN
                at += 1
            elif at < end:
                if at[0] == RETURN and at + 1 < end:
                    at += 1
                if at[0] != NEWLINE:
                    return NOT_PLAIN
                at += 1
            if columns[j] != NULL:
                field.hash = _hash(&field, end, seed)
                number = _number(columns[j], &field)
                if number < 0:
                    return number
                number -= columns[j].n_missing
                columns[j].codes[n_rows] = <int32_t>number if number >= 0 else -1
        n_rows += 1
    return n_rows


cdef void _copy(const Field* fields, int64_t n, int64_t* start, uint8_t* to) noexcept nogil:
    """The fields one after another, and where each starts."""
    cdef int64_t i, j, at = 0
    for i in range(n):
        start[i] = at
        if not fields[i].doubled:
            memcpy(to + at, fields[i].at, fields[i].size)
            at += fields[i].size
            continue
        j = 0
        while j < fields[i].size:
            to[at] = fields[i].at[j]
            at += 1
            j += 2 if fields[i].at[j] == QUOTE else 1
    start[n] = at


cdef object _distinct(const Field* fields, int64_t first, int64_t end):
    """Where each field from `first` on starts, and all of them."""
    cdef int64_t i, total = 0, n = end - first
    for i in range(first, end):
        total += fields[i].size
    starts, words = np.empty(n + 1, np.int64), np.empty(total, np.uint8)
    cdef int64_t[::1] start = starts
    cdef uint8_t[::1] to = words
    cdef uint8_t nothing
    with nogil:
        _copy(fields + first, n, &start[0], &to[0] if total else &nothing)
    return starts, words[: starts[n]]


cdef int64_t _newlines(const uint8_t* at, int64_t n) noexcept nogil:
    cdef int64_t i, total = 0
    for i in range(n):
        total += at[i] == NEWLINE
    return total


cdef int64_t _whole_rows(const uint8_t* at, int64_t n) noexcept nogil:
    cdef int64_t i, n_quotes = 0
    for i in range(n):
        n_quotes += at[i] == QUOTE
    for i in range(n, 0, -1):
        if at[i - 1] == QUOTE:
            n_quotes -= 1
        elif at[i - 1] == NEWLINE and n_quotes % 2 == 0:
            return i
    return 0


def whole_rows(text):
    """How many bytes of a CSV text (uint8) are rows with their ends: up to its last newline outside of quotes."""
    given(text=text)
    bytes_of = array_of(text, np.uint8, 1, "text")
    cdef const uint8_t[::1] of_text = bytes_of
    cdef int64_t n = len(bytes_of), end = 0
    if n:
        with nogil:
            end = _whole_rows(&of_text[0], n)
    return end


def fields(text, n_columns, wanted, delimiter, starts, missing, seed):
    """Of each of the columns `wanted` (int64, ascending) a number per row, and the texts of the numbers.

    `text` (uint8) is of rows of `n_columns` fields, at least two, divided by the byte `delimiter`. A row ends in
    a newline, before which a carriage return may stand, the last one also with the text; empty lines are no
    rows. A field that begins with a quote ends with the next one that is not doubled; no other has a quote,
    a carriage return or a newline in it. None where `text` is not so. Else a tuple per column: numbers from 0 in
    the order in which the texts are met (int32), where each text starts (int64, one more than there are),
    and all texts (uint8), without the quotes around them, each doubled one once. Number -1 are the `missing`
    texts (uint8), number i of which is `missing[starts[i]:starts[i + 1]]`, its quotes doubled. Who writes a
    text and knows `seed` can make this slow.
    """
    given(text=text, n_columns=n_columns, wanted=wanted, delimiter=delimiter)
    given(starts=starts, missing=missing, seed=seed)
    bytes_of = array_of(text, np.uint8, 1, "text")
    cdef int64_t size = whole(len(bytes_of), 0, MOST_TEXT, "the length of text")
    cdef int64_t n = whole(n_columns, 2, MOST_COLUMNS, "n_columns"), i, j, most = 0, n_rows = 0, n_wanted, number
    cdef int64_t n_missing
    cdef uint64_t seeded = whole(seed, 0, MOST_SEED, "seed")
    cdef int64_t dividing = whole(delimiter, 1, 127, "delimiter")
    if dividing in (QUOTE, NEWLINE, RETURN):
        raise ValueError("delimiter must be no quote and no end of a line")
    numbers = array_of(wanted, np.int64, 1, "wanted")
    if len(numbers) and (numbers.min() < 0 or numbers.max() >= n or (np.diff(numbers) <= 0).any()):
        raise ValueError("wanted must be numbers of columns, ascending")
    apart = array_of(missing, np.uint8, 1, "missing")
    whole(len(apart), 0, MOST_TEXT, "the length of missing")
    begins = parts_of(starts, len(apart), "starts", empty=True)
    n_wanted, n_missing = len(numbers), len(begins) - 1
    cdef const uint8_t[::1] of_text = bytes_of, of_missing = apart
    cdef const int64_t[::1] begin = begins, column_of = numbers
    cdef uint8_t nothing = 0
    cdef const uint8_t* at = &of_text[0] if size else &nothing
    cdef const uint8_t* other = &of_missing[0] if len(apart) else &nothing
    cdef const uint8_t* end = other + len(apart)
    cdef list keep = [], codes = []
    cdef Column* columns = <Column*>take(keep, n_wanted, sizeof(Column))
    cdef Column** of_number = <Column**>take(keep, n, sizeof(Column*))
    cdef Array* arrays = growing(keep, n_wanted, sizeof(Field))
    cdef Array* slots = growing(keep, n_wanted, sizeof(uint32_t))
    cdef uint8_t* ends = <uint8_t*>take(keep, 256, 1)
    cdef int32_t[::1] of_rows
    cdef Field field
    ends[dividing] = ends[QUOTE] = ends[NEWLINE] = ends[RETURN] = 1
    with nogil:  # a row has a delimiter between any two fields, and but for the last one an end
        most = min(_newlines(at, size) + 1, (size + 1) // n)
    for j in range(n_wanted):
        columns[j].fields, columns[j].slots = &arrays[j], &slots[j]
        if not _rehash(&columns[j], FIRST_SLOTS):
            raise MemoryError
        for i in range(n_missing):
            field.at, field.size, field.doubled = other + begin[i], <int32_t>(begin[i + 1] - begin[i]), False
            field.hash = _hash(&field, end, seeded)
            if _number(&columns[j], &field) == NO_MEMORY:
                raise MemoryError
        columns[j].n_missing = columns[j].fields.length
        codes.append(np.empty(most, np.int32))
        if most:
            of_rows = codes[j]
            columns[j].codes = &of_rows[0]
        of_number[column_of[j]] = &columns[j]
    with nogil:
        n_rows = _rows(at, size, n, of_number, ends, <uint8_t>dividing, most, seeded)
    if n_rows == NO_MEMORY:
        raise MemoryError
    if n_rows == NOT_PLAIN:
        return None
    return [
        (codes[j][:n_rows], *_distinct(<const Field*>arrays[j].at, columns[j].n_missing, arrays[j].length))
        for j in range(n_wanted)
    ]
