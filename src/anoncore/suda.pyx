# SPDX-License-Identifier: Apache-2.0
# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Minimal sample uniques (Elliot; Manning, Haglin & Keane 2008): sets of columns on which a row is alone.

Sets are searched depth first, each split off its largest subset's groups of rows that look alike: a row
that is alone there is alone in whatever is larger, and is dropped. Sets come in the order of their bits as
numbers, so that every subset of a set comes before it, and a row's own earlier sets tell whether one more
is minimal.
"""

import numpy as np

from anoncore.doors import MOST_ROWS, array_of, codes_of, whole
from anoncore.memory cimport Array, extend, fits, growing, release, reserve, take
from anoncore.types cimport code_t, int64_t, uint8_t, uint32_t, uint64_t

cdef int64_t MOST_SETS = <int64_t>0xFFFFFFFE

# `next` is the number, from 1, of the row's set before; 0: none.
cdef struct Set:
    uint64_t mask
    uint32_t next
    uint32_t row


# `rows[d]` are the rows that look like another one on the d columns of the set at hand, in the `n_groups[d]`
# groups that `bounds[d]` parts; `single[row]` is whether the row has no equal on all columns.
cdef struct Search:
    int64_t n
    int64_t max_size
    const int64_t* nulls
    const uint8_t* single
    uint32_t** rows
    uint32_t** bounds
    int64_t* n_groups
    uint32_t* count
    uint32_t* place
    uint32_t* touched
    uint8_t* has_single
    uint32_t* last
    Array* sets


cdef inline bint alone(Search* s, uint64_t mask, uint32_t row) noexcept nogil:
    """Keep the set as one on which the row is alone, unless a subset of it is. False: memory is short."""
    cdef Set* sets = <Set*>s.sets.at
    cdef uint32_t at = s.last[row]
    cdef Set* added
    if not s.single[row]:
        return True
    while at:
        if sets[at - 1].mask & ~mask == 0:
            return True
        at = sets[at - 1].next
    if s.sets.length >= MOST_SETS or not reserve(s.sets, 1):
        return False
    added = <Set*>extend(s.sets, 1)
    added.mask, added.next, added.row = mask, s.last[row], row
    s.last[row] = <uint32_t>s.sets.length
    return True


cdef bint split(const code_t* column, Search* s, int64_t depth, uint64_t mask, int64_t null,
                bint keep) noexcept nogil:
    """Split the groups at `depth` by one more column, `mask` with it: who is alone, and, to `keep`, the others.

    A group that the column does not split is dropped: on larger sets it tells nothing that they do not tell
    without it. False: memory is short.
    """
    cdef uint32_t* rows = s.rows[depth]
    cdef uint32_t* bounds = s.bounds[depth]
    cdef uint32_t* to = s.rows[depth + 1]
    cdef uint32_t* bounds_to = s.bounds[depth + 1]
    cdef int64_t g, i, start, stop, n_to = 0, n_groups = 0, n_touched, n_alone
    cdef int64_t code, other
    cdef uint32_t row
    if keep:
        bounds_to[0] = 0
    for g in range(s.n_groups[depth]):
        start, stop = bounds[g], bounds[g + 1]
        if stop - start == 2:
            code, other = column[rows[start]], column[rows[start + 1]]
            if code != other:
                if code != null and not alone(s, mask, rows[start]):
                    return False
                if other != null and not alone(s, mask, rows[start + 1]):
                    return False
            continue
        n_touched = n_alone = 0
        for i in range(start, stop):
            code = column[rows[i]]
            if code == null:
                continue
            if s.count[code] == 0:
                s.touched[n_touched] = <uint32_t>code
                n_touched += 1
                s.has_single[code] = 0
            s.count[code] += 1
            s.has_single[code] |= s.single[rows[i]]
        if n_touched == 1 and s.count[s.touched[0]] == stop - start:
            s.count[s.touched[0]] = 0
            continue
        for i in range(n_touched):
            code = s.touched[i]
            if s.count[code] == 1:
                n_alone += 1
            elif keep and s.has_single[code]:
                s.place[code] = <uint32_t>n_to
                n_to += s.count[code]
                n_groups += 1
                fits(n_to, s.n)
                bounds_to[n_groups] = <uint32_t>n_to
        if n_alone or keep:
            for i in range(start, stop):
                row = rows[i]
                code = column[row]
                if code == null:
                    continue
                if s.count[code] == 1:
                    if not alone(s, mask, row):
                        return False
                elif keep and s.has_single[code]:
                    to[s.place[code]] = row
                    s.place[code] += 1
        for i in range(n_touched):
            s.count[s.touched[i]] = 0
    if keep:
        s.n_groups[depth + 1] = n_groups
    return True


cdef bint search(const code_t* codes, Search* s, int64_t depth, uint64_t mask, int64_t lowest) noexcept nogil:
    """Every set that adds columns below `lowest` to `mask`, of `depth` columns. False: memory is short."""
    cdef int64_t b
    cdef bint keep
    for b in range(lowest):
        keep = b > 0 and depth + 1 < s.max_size
        if not split(codes + b * s.n, s, depth, mask | (<uint64_t>1 << b), s.nulls[b], keep):
            return False
        if keep and s.n_groups[depth + 1] and not search(codes, s, depth + 1, mask | (<uint64_t>1 << b), b):
            return False
    return True


def _search(const code_t[:, ::1] codes, const int64_t[::1] nulls, const uint8_t[::1] single, int64_t max_size,
            int64_t n_codes):
    cdef list keep = []
    cdef int64_t m = codes.shape[0], n = codes.shape[1], d, i
    cdef Search s
    cdef bint enough
    s.n, s.max_size, s.nulls, s.single = n, max_size, &nulls[0], &single[0]
    s.rows = <uint32_t**>take(keep, max_size + 1, sizeof(uint32_t*))
    s.bounds = <uint32_t**>take(keep, max_size + 1, sizeof(uint32_t*))
    s.n_groups = <int64_t*>take(keep, max_size + 1, sizeof(int64_t))
    for d in range(max_size):
        s.rows[d] = <uint32_t*>take(keep, n, sizeof(uint32_t))
        s.bounds[d] = <uint32_t*>take(keep, n // 2 + 2, sizeof(uint32_t))
    s.count = <uint32_t*>take(keep, n_codes, sizeof(uint32_t))
    s.place = <uint32_t*>take(keep, n_codes, sizeof(uint32_t))
    s.touched = <uint32_t*>take(keep, n_codes, sizeof(uint32_t))
    s.has_single = <uint8_t*>take(keep, n_codes, sizeof(uint8_t))
    s.last = <uint32_t*>take(keep, n, sizeof(uint32_t))
    s.sets = growing(keep, 1, sizeof(Set))
    for i in range(n):
        s.rows[0][i] = <uint32_t>i
    s.bounds[0][1] = <uint32_t>n
    s.n_groups[0] = 1
    with nogil:
        enough = search(&codes[0, 0], &s, 0, 0, m)
    if not enough:
        raise MemoryError
    rows, masks = np.empty(s.sets.length, np.uint32), np.empty(s.sets.length, np.uint64)
    _copy(s.sets, rows, masks)
    return rows, masks


cdef _copy(Array* sets, uint32_t[::1] rows, uint64_t[::1] masks):
    cdef Set* listed = <Set*>sets.at
    cdef int64_t i
    for i in range(sets.length):
        rows[i], masks[i] = listed[i].row, listed[i].mask
    release(sets)


def minimal_uniques(codes, nulls, single, max_size):
    """Every minimal set of at most `max_size` columns on which some row is alone.

    `codes` is a matrix of codes (uint8, uint16 or uint32), one line for each of 1 to 64 columns; rows are
    distinct, and `single` (uint8, 0 or 1) says which of them stand for one row of the table: only these
    can be alone. A row whose code is `nulls[a]` (int64, -1 for none) takes no part in sets that hold column a.
    Returns the rows (uint32) and their sets (uint64, bit a for column a), by set; a row may have many.
    """
    codes = codes_of(codes, 2, "codes")
    m, n = codes.shape
    whole(m, 1, 64, "the number of columns")
    whole(n, 0, MOST_ROWS, "the number of rows")
    nulls, single = array_of(nulls, np.int64, 1, "nulls"), array_of(single, np.uint8, 1, "single")
    if len(nulls) != m or len(single) != n:
        raise ValueError("nulls are one per column, and single one per row")
    if len(single) and single.max() > 1:
        raise ValueError("single must be 0 or 1")
    if nulls.min() < -1 or nulls.max() > MOST_ROWS:
        raise ValueError("nulls must be codes, or -1")
    max_size = min(whole(max_size, 1, MOST_ROWS, "max_size"), m)
    if n == 0:
        return np.empty(0, np.uint32), np.empty(0, np.uint64)
    if n == 1:  # which looks like no other: alone on every column that it has
        has = np.flatnonzero(codes[:, 0].astype(np.int64) != nulls) if single[0] else np.empty(0, np.int64)
        return np.zeros(len(has), np.uint32), np.uint64(1) << has.astype(np.uint64)
    return _search(codes, nulls, single, max_size, int(codes.max()) + 1)
