# SPDX-License-Identifier: Apache-2.0
# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Mondrian: recursive median cuts (LeFevre et al. 2006).

A row becomes one record (its codes, its row number, its sensitive codes), packed once. A node of
the recursion is a run of records in one of two buffers; a cut copies it, part by part and in
order, to the same place in the other buffer. So every node knows its place beforehand, and
neither threads nor scheduling can change the answer:

    depth 0   buffer A  [ 0 ........................ n )
    depth 1   buffer B  [ left ........ )[ right ..... )
    depth 2   buffer A  [ .. )[ ..class )[ ... )[ .... )
"""

from libc.math cimport log
from libc.string cimport memcpy, memset

from collections.abc import Iterable
from itertools import pairwise

import numpy as np

from anoncore.doors import MOST_ROWS, all_of, array_of, codes_of, given, one_of, parts_of, whole
from anoncore.threads import in_threads, until_done

from anoncore.attribute cimport Attribute, Extent, ancestor, extents_of, span
from anoncore.memory cimport Array, extend as extend_array, fits, growing, reserve, take
from anoncore.requirement cimport Conjunction, Rules, passes
from anoncore.sort cimport sort_keys
from anoncore.types cimport (
    FLAT, TREE, code_t, field_t, int32_t, int64_t, row_t, uint8_t, uint16_t, uint32_t, uint64_t,
)

# One vector instruction each, if the compiler does not unroll the loops first.
cdef extern from *:
    """
    #define ANON_WIDEN(name, code_t)                                                          \
    static void name(const code_t* record, code_t* least, code_t* most) {                     \
        _Pragma("GCC unroll 1")                                                               \
        for (int j = 0; j < (int)(16 / sizeof(code_t)); j++)                                  \
            least[j] = record[j] < least[j] ? record[j] : least[j];                           \
        _Pragma("GCC unroll 1")                                                               \
        for (int j = 0; j < (int)(16 / sizeof(code_t)); j++)                                  \
            most[j] = record[j] > most[j] ? record[j] : most[j];                              \
    }
    ANON_WIDEN(anon_widen_8, uint8_t)
    ANON_WIDEN(anon_widen_16, uint16_t)
    ANON_WIDEN(anon_widen_32, uint32_t)
    """
    void widen_8 "anon_widen_8"(const uint8_t*, uint8_t*, uint8_t*) noexcept nogil
    void widen_16 "anon_widen_16"(const uint16_t*, uint16_t*, uint16_t*) noexcept nogil
    void widen_32 "anon_widen_32"(const uint32_t*, uint32_t*, uint32_t*) noexcept nogil
    int lowest_bit "__builtin_ctzll"(unsigned long long) noexcept nogil

# A node with more rows is cut as a task of its own; nodes with at most so many together are one with all below.
SUBTREE_ROWS = 1 << 17
PACK_ROWS = 1 << 18

cdef enum Chooser:
    WIDEST
    MOST_REPEATED
    LEAST_REPEATED
    INFORMATION_GAIN

CHOOSERS = {
    "widest": WIDEST,
    "most-repeated": MOST_REPEATED,
    "least-repeated": LEAST_REPEATED,
    "information-gain": INFORMATION_GAIN,
}

# Codes are counted in a table if it has at most DENSE cells per row (or 256 cells), else sorted.
cdef int64_t DENSE = 2
# Counts per (code, sensitive code) are kept in a grid if it has at most so many cells per row.
cdef int64_t GRID_PER_ROW = 4
cdef int64_t GRID_CELLS = 1 << 18
# The sensitive values of a node are listed by a scan of a bitmap of at most so many values per row.
cdef int64_t SCAN = 256
cdef int64_t PACK_BLOCK = 1024
cdef double TIE = 1e-12


cdef struct Node:
    int64_t start
    int64_t size
    int32_t depth  # its records lie in buffer depth & 1


# What all tasks read. Of `buffers`, `rows` and `starts` each task writes its own rows' part.
cdef struct Table:
    uint8_t* buffers[2]
    int64_t stride  # bytes of a record: codes, row number (row_t), tracked codes and unit (uint32 each)
    int64_t width  # bytes of a code
    int64_t n_attributes
    const Extent* attributes
    const Rules* rules
    int64_t row_offset
    int64_t tracked_offset
    int64_t n_sensitive  # tracked columns that requirements test
    int64_t n_tracked  # ... plus the target, if there is one
    int64_t unit_offset  # place of the unit's code (uint32) in a record that has one
    int64_t min_units  # units that every part must have; 0 where they are not counted
    bint by_units  # of tested columns a unit counts once per code that it has
    int64_t* base  # per tracked column: its first cell in a vector of counts; then the vector's length
    int64_t max_codes
    const int64_t* rank  # per attribute: lower ones are tried first, whatever their key
    Chooser chooser
    bint nearest
    bint rival  # both cuts about the median are weighed, not the first that is allowed
    bint relaxed
    row_t* rows
    uint8_t* starts


# Parts are runs of codes: part p begins at codes[p]. `quota` rows equal to codes[1] go left (relaxed).
cdef struct Cut:
    int64_t attribute
    int64_t n_parts
    int64_t quota
    double disorder  # weighted entropy of the target
    uint32_t* codes
    int64_t* sizes


# What `count_values` must find out of an attribute; each includes those before.
cdef enum Detail:
    MIDDLE  # the value in the middle of the rows and the one after
    VALUES  # all values
    TRACKED  # ... and which rows have them, in a grid or on demand


# A tracked column of rows that are elsewhere: of each value the first entry, of each entry a code and its rows.
cdef struct Listed:
    const int64_t* starts
    const int64_t* codes
    const int64_t* rows


# Scratch of one task, sized for its largest node.
cdef struct Work:
    const uint8_t* records  # the node's
    int64_t n
    uint32_t* low  # per attribute
    uint32_t* high
    double* key
    uint8_t* exact
    uint8_t* tried
    # the values of one attribute present in the node
    int64_t counted  # which attribute, -1 none
    Detail detail  # how far
    int64_t d
    uint32_t* counts
    uint32_t* values
    int64_t* below  # below[i]: rows with a value before values[i]; below[d] = n
    uint64_t* keys
    uint64_t* spare
    bint gridded
    uint32_t* grid  # tracked counts per code
    bint grouped
    row_t* order  # rows of the node by value
    const Listed* listed  # per tracked column, in place of records; NULL where there are any
    # tracked counts: of the node, and left of two boundaries
    bint totaled
    uint32_t* total
    uint32_t* left[2]
    uint32_t* gone[2]  # by units: of those with no row beyond the boundary; else `left`
    int64_t at[2]  # left[s] counts values[0..at[s]); -1 unset
    int64_t first_direction  # the one that left[0] follows
    # units: those seen on either side of a cut, and which boundaries leave enough on both
    uint64_t* seen[2]
    uint64_t mask  # length of each, less one
    uint64_t generation  # what was noted before this one is not there
    bint ranged
    int64_t first_cut
    int64_t last_cut
    # by units: pairs of unit and code, and per place in `order` and tracked column whether the row's
    # pair is not there before it, or not behind it
    uint64_t* pairs
    int64_t pairs_length
    bint marked
    uint8_t* first
    uint8_t* last
    uint64_t* bits  # of one tracked column's codes; zero between uses
    int64_t** present  # per tracked column: codes in the node, ascending
    int64_t* n_present
    int64_t** part_values
    int64_t** part_counts
    int64_t* n_part
    int64_t* ends  # value index after each part of a many-way cut
    Cut* cut
    Cut* best
    Cut two_cuts[2]
    Array* pending  # of nodes


cdef int64_t power_above(int64_t n):
    """The least power of two above n."""
    cdef int64_t power = 1
    while power <= n:
        power *= 2
    return power


cdef void set_work(Work* w, list keep, const Table* t, int64_t n) except *:
    """Scratch for nodes of at most n rows."""
    cdef int64_t j, size, largest = 0, most = max(n, 1)
    cdef int64_t d = min(t.max_codes, most), across = t.base[t.n_tracked]
    w.low = <uint32_t*>take(keep, t.n_attributes, sizeof(uint32_t))
    w.high = <uint32_t*>take(keep, t.n_attributes, sizeof(uint32_t))
    w.key = <double*>take(keep, t.n_attributes, sizeof(double))
    w.exact = <uint8_t*>take(keep, t.n_attributes, 1)
    w.tried = <uint8_t*>take(keep, t.n_attributes, 1)
    w.counts = <uint32_t*>take(keep, min(t.max_codes, max(256, DENSE * most)), sizeof(uint32_t))
    w.values = <uint32_t*>take(keep, d + 1, sizeof(uint32_t))
    w.below = <int64_t*>take(keep, d + 1, sizeof(int64_t))
    w.ends = <int64_t*>take(keep, d + 1, sizeof(int64_t))
    for j in range(2):
        w.two_cuts[j].codes = <uint32_t*>take(keep, d + 1, sizeof(uint32_t))
        w.two_cuts[j].sizes = <int64_t*>take(keep, d + 1, sizeof(int64_t))
    w.cut = &w.two_cuts[0]
    w.best = &w.two_cuts[1]
    w.pending = growing(keep, 1, sizeof(Node))
    w.present = <int64_t**>take(keep, t.n_tracked, sizeof(int64_t*))
    w.part_values = <int64_t**>take(keep, t.n_tracked, sizeof(int64_t*))
    w.part_counts = <int64_t**>take(keep, t.n_tracked, sizeof(int64_t*))
    w.n_present = <int64_t*>take(keep, t.n_tracked, sizeof(int64_t))
    w.n_part = <int64_t*>take(keep, t.n_tracked, sizeof(int64_t))
    for j in range(t.n_tracked):
        size = t.base[j + 1] - t.base[j]
        largest = max(largest, size)
        # one more than there can be: a code is written before it is known to count
        w.present[j] = <int64_t*>take(keep, min(size, most) + 1, sizeof(int64_t))
        w.part_values[j] = <int64_t*>take(keep, min(size, most) + 1, sizeof(int64_t))
        w.part_counts[j] = <int64_t*>take(keep, min(size, most) + 1, sizeof(int64_t))
    if t.n_tracked or t.min_units:
        w.order = <row_t*>take(keep, most, sizeof(row_t))
    if t.min_units:
        w.generation = 0
        w.mask = power_above(2 * min(t.min_units, most)) - 1
        for j in range(2):
            w.seen[j] = <uint64_t*>take(keep, w.mask + 1, sizeof(uint64_t))
    if t.by_units:
        w.pairs_length = power_above(2 * most)
        w.pairs = <uint64_t*>take(keep, w.pairs_length, sizeof(uint64_t))
        w.first = <uint8_t*>take(keep, most * t.n_tracked, 1)
        w.last = <uint8_t*>take(keep, most * t.n_tracked, 1)
    if t.n_tracked:
        w.grid = <uint32_t*>take(keep, min(GRID_PER_ROW * most, GRID_CELLS), sizeof(uint32_t))
        w.total = <uint32_t*>take(keep, across, sizeof(uint32_t))
        w.left[0] = <uint32_t*>take(keep, across, sizeof(uint32_t))
        w.left[1] = <uint32_t*>take(keep, across, sizeof(uint32_t))
        for j in range(2):
            w.gone[j] = <uint32_t*>take(keep, across, sizeof(uint32_t)) if t.by_units else w.left[j]
        w.bits = <uint64_t*>take(keep, min(largest, SCAN * most) // 64 + 1, sizeof(uint64_t))
    if t.max_codes > 256 or t.n_tracked:
        size = min(most, max(t.max_codes // DENSE, largest // SCAN) + 1)
        w.keys = <uint64_t*>take(keep, size, sizeof(uint64_t))
        w.spare = <uint64_t*>take(keep, size, sizeof(uint64_t))


# ---- passes over the records of a node ----


cdef void extend(const code_t* codes, int64_t lanes, int64_t n, int64_t m,
                 uint32_t* low, uint32_t* high) noexcept nogil:
    """Least and greatest code of each of m attributes; n >= 2.

    Sixteen bytes of every record at a time; what lies behind the codes is ignored. The last record
    is copied: behind it another thread may be writing.
    """
    cdef code_t least[16]
    cdef code_t most[16]
    cdef const code_t* record
    cdef int64_t first = 0, i, j
    while first < m:
        record = codes + (n - 1) * lanes + first
        if first + 16 // <int64_t>sizeof(code_t) <= lanes:
            memcpy(least, record, 16)
        else:
            memset(least, 0, sizeof(least))
            memcpy(least, record, (lanes - first) * sizeof(code_t))
        memcpy(most, least, 16)
        for i in range(n - 1):
            record = codes + first + i * lanes
            if code_t is uint8_t:
                widen_8(record, least, most)
            elif code_t is uint16_t:
                widen_16(record, least, most)
            else:
                widen_32(record, least, most)
        for j in range(min(16 // <int64_t>sizeof(code_t), m - first)):
            low[first + j] = least[j]
            high[first + j] = most[j]
        first += 16 // <int64_t>sizeof(code_t)


cdef void tally(const code_t* codes, int64_t lanes, int64_t n, uint32_t low, uint32_t* counts) noexcept nogil:
    """counts[c - low] += 1 for every row's code c."""
    cdef int64_t i
    for i in range(n):
        counts[codes[i * lanes] - low] += 1


cdef void tally_grid(const code_t* codes, int64_t lanes, int64_t n, uint32_t low, uint32_t* counts,
                     const Table* t, const uint8_t* tracked, uint32_t* grid) noexcept nogil:
    """`tally`, and in the same pass grid[c - low, base[j] + s] += 1 for every tracked code s."""
    cdef int64_t i, j, n_tracked = t.n_tracked, stride = t.stride, across = t.base[t.n_tracked]
    cdef uint32_t c
    cdef uint32_t* cells
    cdef const uint32_t* seen
    for i in range(n):
        c = codes[i * lanes] - low
        counts[c] += 1
        cells = grid + c * across
        seen = <const uint32_t*>(tracked + i * stride)
        cells[seen[0]] += 1  # most tables have one
        for j in range(1, n_tracked):
            cells[t.base[j] + seen[j]] += 1


cdef void tally_buckets(const code_t* codes, int64_t lanes, int64_t n, uint32_t low, int32_t shift,
                        uint32_t* counts) noexcept nogil:
    """`tally` of codes in buckets of 2**shift."""
    cdef int64_t i
    for i in range(n):
        counts[(codes[i * lanes] - low) >> shift] += 1


cdef int64_t gather_bucket(const code_t* codes, int64_t lanes, int64_t n, uint32_t low, int32_t shift,
                           uint32_t bucket, uint64_t* keys) noexcept nogil:
    """`gather_keys` of the rows in one bucket; how many they are."""
    cdef int64_t i, size = 0
    cdef uint32_t c
    for i in range(n):
        c = codes[i * lanes] - low
        keys[size] = (<uint64_t>c << 32) | <uint64_t>i
        size += (c >> shift) == bucket
    return size


cdef void gather_keys(const code_t* codes, int64_t lanes, int64_t n, uint32_t low,
                      uint64_t* keys) noexcept nogil:
    """keys[i] = (code - low, i)."""
    cdef int64_t i
    for i in range(n):
        keys[i] = (<uint64_t>(codes[i * lanes] - low) << 32) | <uint64_t>i


cdef void group(const code_t* codes, int64_t lanes, int64_t n, uint32_t low, uint32_t* begins,
                row_t* order) noexcept nogil:
    """Rows by code, in order; begins[c - low] is where the next row of code c goes."""
    cdef int64_t i
    cdef uint32_t c
    for i in range(n):
        c = codes[i * lanes] - low
        order[begins[c]] = <row_t>i
        begins[c] += 1


cdef void count_left(const code_t* codes, int64_t lanes, int64_t n, uint32_t threshold, int64_t quota,
                     const Table* t, const uint8_t* tracked, uint32_t* left) noexcept nogil:
    """Tracked counts of the rows below the threshold and of the first `quota` rows that equal it."""
    cdef int64_t i, j, n_tracked = t.n_tracked, stride = t.stride
    cdef uint32_t c, goes
    cdef const uint32_t* seen
    for i in range(n):
        c = codes[i * lanes]
        goes = (c < threshold) | ((c == threshold) & (quota > 0))
        quota -= c == threshold
        seen = <const uint32_t*>(tracked + i * stride)
        left[seen[0]] += goes
        for j in range(1, n_tracked):
            left[t.base[j] + seen[j]] += goes


cdef inline void copy_record(uint8_t* target, const uint8_t* source, int64_t stride) noexcept nogil:
    cdef int64_t b
    if stride == 16:
        memcpy(target, source, 16)
    elif stride == 24:
        memcpy(target, source, 24)
    else:
        for b in range(0, stride, 8):
            memcpy(target + b, source + b, 8)


cdef inline void scatter_halves(const code_t* codes, int64_t lanes, int64_t n, uint32_t threshold,
                                int64_t quota, bint shares, const uint8_t* source, int64_t stride,
                                uint8_t* left, uint8_t* right) noexcept nogil:
    """Rows below the threshold to the left, the others to the right, in order.

    With `shares` the first `quota` rows equal to the threshold go to the left too. No branch on
    the code: it would be mispredicted half the time.
    """
    cdef int64_t i, goes
    cdef uint32_t c
    for i in range(n):
        c = codes[i * lanes]
        goes = c < threshold
        if shares:
            goes |= (c == threshold) & (quota > 0)
            quota -= c == threshold
        goes = -goes
        copy_record(right + ((left - right) & goes), source + i * stride, stride)
        left += stride & goes
        right += stride & ~goes


cdef void scatter(const code_t* codes, int64_t lanes, int64_t n, const Cut* cut,
                  const uint8_t* source, int64_t stride, uint8_t* target, int64_t* ends) noexcept nogil:
    """Copy the records part by part, in order. `codes` is the cut's attribute."""
    cdef int64_t i, p, first, last, middle
    cdef uint32_t c, threshold = cut.codes[1]
    cdef uint8_t* right = target + cut.sizes[0] * stride
    if cut.n_parts == 2:  # constants, so that each call compiles to a loop of its own
        if cut.quota:
            scatter_halves(codes, lanes, n, threshold, cut.quota, True, source, stride, target, right)
        elif stride == 16:
            scatter_halves(codes, lanes, n, threshold, 0, False, source, 16, target, right)
        elif stride == 24:
            scatter_halves(codes, lanes, n, threshold, 0, False, source, 24, target, right)
        else:
            scatter_halves(codes, lanes, n, threshold, 0, False, source, stride, target, right)
        return
    ends[0] = 0
    for p in range(1, cut.n_parts):
        ends[p] = ends[p - 1] + cut.sizes[p - 1]
    for i in range(n):
        c = codes[i * lanes]
        first = 0  # the last part that begins at c or before
        last = cut.n_parts
        while last - first > 1:
            middle = (first + last) // 2
            if cut.codes[middle] <= c:
                first = middle
            else:
                last = middle
        copy_record(target + ends[first] * stride, source + i * stride, stride)
        ends[first] += 1


# ---- what is present in a node ----


cdef void list_values(Work* w, int64_t a, int64_t size, int64_t below) noexcept nogil:
    """The distinct values among `size` sorted keys, before which there are `below` rows."""
    cdef int64_t i
    w.d = 0
    for i in range(size):
        if i == 0 or (w.keys[i] >> 32) != (w.keys[i - 1] >> 32):
            w.values[w.d] = w.low[a] + <uint32_t>(w.keys[i] >> 32)
            w.below[w.d] = below + i
            w.d += 1
    if below + size < w.n:  # what comes next begins after the last value
        w.values[w.d] = w.values[w.d - 1] + 1
        w.below[w.d] = below + size
        w.d += 1
    w.below[w.d] = w.n


cdef void count_middle(const Table* t, Work* w, int64_t a) noexcept nogil:
    """The values about the middle only: those that share a bucket of codes with it."""
    cdef uint32_t bucket = 0, low = w.low[a], range_ = w.high[a] - w.low[a]
    cdef int64_t size, below = 0, lanes = t.stride // t.width
    cdef int64_t n_buckets = max(64, w.n // 4)
    cdef int32_t shift = 0
    cdef const uint8_t* codes = w.records + a * t.width
    while (range_ >> shift) >= n_buckets:
        shift += 1
    memset(w.counts, 0, ((range_ >> shift) + 1) * sizeof(uint32_t))
    if t.width == 2:
        tally_buckets(<const uint16_t*>codes, lanes, w.n, low, shift, w.counts)
    else:
        tally_buckets(<const uint32_t*>codes, lanes, w.n, low, shift, w.counts)
    while below + w.counts[bucket] <= middle_row(t, w):
        below += w.counts[bucket]
        bucket += 1
    if t.width == 2:
        size = gather_bucket(<const uint16_t*>codes, lanes, w.n, low, shift, bucket, w.keys)
    else:
        size = gather_bucket(<const uint32_t*>codes, lanes, w.n, low, shift, bucket, w.keys)
    sort_keys(&w.keys, NULL, &w.spare, NULL, size, 32)
    list_values(w, a, size, below)


cdef int64_t middle_row(const Table* t, const Work* w) noexcept nogil:
    """Rank (from 0) of the row whose value is the middle one: of the cut nearest to n/2, or the median."""
    return w.n // 2 if t.nearest and not t.relaxed else (w.n + 1) // 2 - 1


cdef void count_values(const Table* t, Work* w, int64_t a, Detail detail) noexcept nogil:
    """The distinct values of attribute a and the rows below each, as far as `detail` asks."""
    cdef uint32_t low = w.low[a]
    cdef int64_t i, range_ = <int64_t>w.high[a] - low + 1, lanes = t.stride // t.width
    cdef int64_t d = 0, sum_ = 0
    cdef uint32_t c
    cdef const uint8_t* codes = w.records + a * t.width
    cdef const uint8_t* tracked = w.records + t.tracked_offset
    cdef bint follow = detail == TRACKED
    if w.counted == a and w.detail >= detail:
        return
    w.counted = a
    w.detail = detail
    w.gridded = False
    w.grouped = False
    w.marked = False
    if range_ <= 256 or range_ <= DENSE * w.n:
        memset(w.counts, 0, range_ * sizeof(uint32_t))
        w.gridded = follow and t.n_tracked and not t.by_units and range_ <= min(GRID_PER_ROW * w.n, GRID_CELLS) // t.base[t.n_tracked]
        if w.gridded:
            memset(w.grid, 0, range_ * t.base[t.n_tracked] * sizeof(uint32_t))
            if t.width == 1:
                tally_grid(<const uint8_t*>codes, lanes, w.n, low, w.counts, t, tracked, w.grid)
            elif t.width == 2:
                tally_grid(<const uint16_t*>codes, lanes, w.n, low, w.counts, t, tracked, w.grid)
            else:
                tally_grid(<const uint32_t*>codes, lanes, w.n, low, w.counts, t, tracked, w.grid)
        elif t.width == 1:
            tally(<const uint8_t*>codes, lanes, w.n, low, w.counts)
        elif t.width == 2:
            tally(<const uint16_t*>codes, lanes, w.n, low, w.counts)
        else:
            tally(<const uint32_t*>codes, lanes, w.n, low, w.counts)
        for i in range(range_):
            c = w.counts[i]
            w.values[d] = low + <uint32_t>i
            w.below[d] = sum_
            w.counts[i] = <uint32_t>sum_
            sum_ += c
            d += c != 0
        w.below[d] = w.n
        w.d = d
    elif detail == MIDDLE:
        count_middle(t, w, a)
    else:
        if t.width == 2:
            gather_keys(<const uint16_t*>codes, lanes, w.n, low, w.keys)
        else:
            gather_keys(<const uint32_t*>codes, lanes, w.n, low, w.keys)
        sort_keys(&w.keys, NULL, &w.spare, NULL, w.n, 32)
        list_values(w, a, w.n, 0)
        if follow:
            for i in range(w.n):
                w.order[i] = <row_t>w.keys[i]
        w.grouped = follow


# ---- units ----


cdef inline uint32_t unit_of(const Table* t, const Work* w, int64_t row) noexcept nogil:
    return (<const uint32_t*>(w.records + row * t.stride + t.unit_offset))[0]


cdef inline bint note(uint64_t* seen, uint64_t mask, uint64_t generation, uint32_t unit) noexcept nogil:
    """Add a unit to a set that has room; was it not there?"""
    cdef uint64_t entry = generation << 32 | unit
    cdef uint64_t at = (unit * <uint64_t>0x9E3779B97F4A7C15 >> 32) & mask
    while seen[at] >> 32 == generation:
        if seen[at] == entry:
            return False
        at = (at + 1) & mask
    seen[at] = entry
    return True


cdef bint halves_hold(const code_t* codes, int64_t lanes, uint32_t threshold, int64_t quota,
                      const Table* t, Work* w) noexcept nogil:
    """Do both sides of a cut have rows of enough units? Reads rows until they do."""
    cdef int64_t[2] missing
    cdef int64_t i
    cdef uint32_t c
    cdef int side
    missing[0] = t.min_units
    missing[1] = t.min_units
    w.generation += 1
    for i in range(w.n):
        c = codes[i * lanes]
        side = not ((c < threshold) | ((c == threshold) & (quota > 0)))
        quota -= c == threshold
        if missing[side] > 0:
            missing[side] -= note(w.seen[side], w.mask, w.generation, unit_of(t, w, i))
            if missing[0] + missing[1] == 0:
                return True
    return False


cdef bint enough_units(const Table* t, Work* w, uint32_t threshold, int64_t quota) noexcept nogil:
    cdef int64_t lanes = t.stride // t.width
    cdef const uint8_t* codes = w.records + w.counted * t.width
    if t.width == 1:
        return halves_hold(<const uint8_t*>codes, lanes, threshold, quota, t, w)
    if t.width == 2:
        return halves_hold(<const uint16_t*>codes, lanes, threshold, quota, t, w)
    return halves_hold(<const uint32_t*>codes, lanes, threshold, quota, t, w)


cdef int64_t row_of_enough(const Table* t, Work* w, int64_t start, int64_t stop, int64_t step) noexcept nogil:
    """Of the rows order[start], order[start + step], ... before `stop`: the place with which they have
    enough units; `stop` if they have not.
    """
    cdef int64_t i = start, missing = t.min_units
    w.generation += 1
    while i != stop:
        missing -= note(w.seen[0], w.mask, w.generation, unit_of(t, w, w.order[i]))
        if missing == 0:
            return i
        i += step
    return stop


cdef void set_range(const Table* t, Work* w) noexcept nogil:
    """The boundaries first_cut..last_cut leave enough units on both sides, no others do.

    More values to the left are never fewer units: those of the rows in ascending order decide.
    """
    count_values(t, w, w.counted, TRACKED)
    group_rows(t, w)
    w.ranged = True
    w.first_cut = w.d
    w.last_cut = -1
    cdef int64_t place = row_of_enough(t, w, 0, w.n, 1)
    if place == w.n:
        return
    w.first_cut = last_below(w, place) + 1
    place = row_of_enough(t, w, w.n - 1, -1, -1)
    w.last_cut = last_below(w, place)


# ---- tracked counts ----


cdef inline bint is_new_pair(Work* w, uint64_t mask, uint32_t unit, uint32_t code) noexcept nogil:
    """Add a pair to the set of pairs; was it not there?"""
    cdef uint64_t entry = (<uint64_t>unit << 32 | code) + 1  # 0: free
    # the lower bits of a product know nothing of the unit
    cdef uint64_t at = (entry * <uint64_t>0x9E3779B97F4A7C15 >> 32) & mask
    while w.pairs[at]:
        if w.pairs[at] == entry:
            return False
        at = (at + 1) & mask
    w.pairs[at] = entry
    return True


cdef uint64_t no_pairs(Work* w, int64_t n) noexcept nogil:
    """Empty the set of pairs, to hold up to n; its mask."""
    cdef int64_t length = 2
    while length <= 2 * n:
        length *= 2
    fits(length, w.pairs_length)
    memset(w.pairs, 0, length * sizeof(uint64_t))
    return length - 1


cdef void mark_pairs(const Table* t, Work* w) noexcept nogil:
    """Which rows, by value of the counted attribute, are the first and the last of their pairs.

    The target, which is not tested, counts every row.
    """
    cdef int64_t j, i, m = t.n_tracked
    cdef uint64_t mask
    cdef uint32_t code
    if w.marked:
        return
    group_rows(t, w)
    w.marked = True
    memset(w.first, 1, w.n * m)
    memset(w.last, 1, w.n * m)
    for j in range(t.n_sensitive):
        mask = no_pairs(w, w.n)
        for i in range(w.n):
            code = tracked_of(t, w, w.order[i], j)
            w.first[i * m + j] = is_new_pair(w, mask, unit_of(t, w, w.order[i]), code)
        mask = no_pairs(w, w.n)
        for i in range(w.n - 1, -1, -1):
            code = tracked_of(t, w, w.order[i], j)
            w.last[i * m + j] = is_new_pair(w, mask, unit_of(t, w, w.order[i]), code)


cdef inline uint32_t tracked_of(const Table* t, const Work* w, int64_t row, int64_t j) noexcept nogil:
    return (<const uint32_t*>(w.records + row * t.stride + t.tracked_offset))[j]


cdef void count_pairs(const Table* t, Work* w, int64_t start, int64_t stop, uint32_t* counts) noexcept nogil:
    """Add the tracked counts, by units, of the rows order[start..stop)."""
    cdef int64_t i, j
    cdef uint64_t mask
    cdef uint32_t code
    for j in range(t.n_tracked):
        mask = no_pairs(w, stop - start)
        for i in range(start, stop):
            code = tracked_of(t, w, w.order[i], j)
            counts[t.base[j] + code] += (j >= t.n_sensitive
                                         or is_new_pair(w, mask, unit_of(t, w, w.order[i]), code))


cdef void count_pair_halves(const Table* t, Work* w, uint32_t threshold, int64_t quota) noexcept nogil:
    """left[0] and gone[0] at a cut that shares rows out: by units, the left part is counted, and the right."""
    cdef int64_t i, x, j, cell, n_left = 0, n_right = w.n, row
    cdef uint32_t c
    # the rows that go left before the others, each in order
    for i in range(w.n):
        c = code_at(t, w, i)
        if c < threshold or (c == threshold and quota > 0):
            w.order[n_left] = <row_t>i
            n_left += 1
        else:
            n_right -= 1
            w.order[n_right] = <row_t>i
        quota -= c == threshold
    clear(t, w, w.left[0])
    clear(t, w, w.gone[0])
    count_pairs(t, w, 0, n_left, w.left[0])
    count_pairs(t, w, n_left, w.n, w.gone[0])
    for j in range(t.n_tracked):
        for x in range(w.n_present[j]):
            cell = t.base[j] + w.present[j][x]
            w.gone[0][cell] = w.total[cell] - w.gone[0][cell]


cdef inline uint32_t code_at(const Table* t, const Work* w, int64_t row) noexcept nogil:
    """The code of a row in the counted attribute."""
    cdef const uint8_t* at = w.records + row * t.stride + w.counted * t.width
    if t.width == 1:
        return at[0]
    if t.width == 2:
        return (<const uint16_t*>at)[0]
    return (<const uint32_t*>at)[0]


cdef void clear(const Table* t, Work* w, uint32_t* counts) noexcept nogil:
    """Zero the counts of the codes present in the node."""
    cdef int64_t i, j
    for j in range(t.n_tracked):
        for i in range(w.n_present[j]):
            counts[t.base[j] + w.present[j][i]] = 0


cdef void group_rows(const Table* t, Work* w) noexcept nogil:
    """Rows of the node by value of the counted attribute, if that was not done."""
    cdef int64_t lanes = t.stride // t.width
    cdef const uint8_t* codes = w.records + w.counted * t.width
    if w.grouped:
        return
    w.grouped = True
    if t.width == 1:
        group(<const uint8_t*>codes, lanes, w.n, w.low[w.counted], w.counts, w.order)
    elif t.width == 2:
        group(<const uint16_t*>codes, lanes, w.n, w.low[w.counted], w.counts, w.order)
    else:
        group(<const uint32_t*>codes, lanes, w.n, w.low[w.counted], w.counts, w.order)


cdef void count_rows_left(const Table* t, Work* w, uint32_t threshold, int64_t quota) noexcept nogil:
    """left[0] = tracked counts left of a cut, by a pass over the rows in place."""
    cdef int64_t lanes = t.stride // t.width
    cdef const uint8_t* codes = w.records + w.counted * t.width
    cdef const uint8_t* tracked = w.records + t.tracked_offset
    clear(t, w, w.left[0])
    if t.width == 1:
        count_left(<const uint8_t*>codes, lanes, w.n, threshold, quota, t, tracked, w.left[0])
    elif t.width == 2:
        count_left(<const uint16_t*>codes, lanes, w.n, threshold, quota, t, tracked, w.left[0])
    else:
        count_left(<const uint32_t*>codes, lanes, w.n, threshold, quota, t, tracked, w.left[0])


cdef void move_boundary(const Table* t, Work* w, int64_t i, int64_t j, uint32_t sign, int64_t s) noexcept nogil:
    """The rows with values[i..j) come to the left (`sign` 1) or leave it (-1)."""
    cdef int64_t v, r, cell, m = t.n_tracked
    cdef const uint32_t* codes
    if not t.by_units:
        add_values(t, w, i, j, sign, w.left[s])
        return
    for v in range(w.below[i], w.below[j]):
        codes = <const uint32_t*>(w.records + w.order[v] * t.stride + t.tracked_offset)
        for r in range(m):
            cell = t.base[r] + codes[r]
            w.left[s][cell] += sign * w.first[v * m + r]
            w.gone[s][cell] += sign * w.last[v * m + r]


cdef void add_values(const Table* t, Work* w, int64_t i, int64_t j, uint32_t sign,
                     uint32_t* counts) noexcept nogil:
    """Add the tracked counts of the rows with values[i..j), `sign` times."""
    cdef int64_t v, x, r, across = t.base[t.n_tracked]
    cdef const uint32_t* cells
    if w.gridded:
        for v in range(i, j):
            cells = w.grid + (w.values[v] - w.low[w.counted]) * across
            for x in range(across):
                counts[x] += sign * cells[x]
    elif w.listed != NULL:
        for r in range(t.n_tracked):
            for x in range(w.listed[r].starts[i], w.listed[r].starts[j]):
                counts[t.base[r] + w.listed[r].codes[x]] += sign * <uint32_t>w.listed[r].rows[x]
    else:
        group_rows(t, w)
        for v in range(w.below[i], w.below[j]):
            cells = <const uint32_t*>(w.records + w.order[v] * t.stride + t.tracked_offset)
            for r in range(t.n_tracked):
                counts[t.base[r] + cells[r]] += sign


cdef void count_tracked(const Table* t, Work* w) noexcept nogil:
    """Totals of the node's tracked codes and the list of those present; once per node."""
    cdef int64_t i, j, d, size, stride = t.stride
    cdef const uint8_t* tracked = w.records + t.tracked_offset
    cdef uint32_t* total
    cdef int64_t* present
    cdef uint32_t code
    cdef bint counted = w.gridded or w.listed != NULL
    if w.totaled:
        return
    w.totaled = True
    if counted:
        add_values(t, w, 0, w.d, 1, w.total)
    for j in range(t.n_tracked):
        size = t.base[j + 1] - t.base[j]
        total = w.total + t.base[j]
        present = w.present[j]
        d = 0
        if counted:
            for i in range(size):
                present[d] = i
                d += total[i] != 0
        elif size <= SCAN * w.n:
            for i in range(w.n):
                code = (<const uint32_t*>(tracked + i * stride))[j]
                total[code] += 1
                w.bits[code >> 6] |= <uint64_t>1 << (code & 63)
            for i in range((size + 63) // 64):
                while w.bits[i]:
                    present[d] = 64 * i + lowest_bit(w.bits[i])
                    w.bits[i] &= w.bits[i] - 1
                    d += 1
        else:
            for i in range(w.n):
                code = (<const uint32_t*>(tracked + i * stride))[j]
                if total[code] == 0:
                    w.keys[d] = <uint64_t>code << 32
                    d += 1
                total[code] += 1
            sort_keys(&w.keys, NULL, &w.spare, NULL, d, 32)
            for i in range(d):
                present[i] = <int64_t>(w.keys[i] >> 32)
        w.n_present[j] = d
    if not t.by_units:
        return
    if w.detail == TRACKED:
        group_rows(t, w)
    else:  # no order is needed
        for i in range(w.n):
            w.order[i] = <row_t>i
    clear(t, w, w.total)
    count_pairs(t, w, 0, w.n, w.total)


cdef int64_t reach(const Table* t, Work* w, int64_t direction, int64_t i) noexcept nogil:
    """Which of left[0], left[1] now holds the tracked counts of values[0..i).

    The first boundary is counted in one pass; each direction then moves only what lies between.
    """
    cdef int64_t j, x, cell, s = direction
    if t.by_units:
        mark_pairs(t, w)
    if w.at[0] < 0 and not w.gridded and not w.grouped:
        count_rows_left(t, w, w.values[i], 0)
        w.at[0] = i
        w.first_direction = direction
        return 0
    if w.at[0] < 0:
        clear(t, w, w.left[0])
        clear(t, w, w.gone[0])
        w.at[0] = 0
        w.first_direction = direction
    s = direction != w.first_direction
    if s and w.at[1] < 0:
        for j in range(t.n_tracked):
            for x in range(w.n_present[j]):
                cell = t.base[j] + w.present[j][x]
                w.left[1][cell] = w.left[0][cell]
                w.gone[1][cell] = w.gone[0][cell]
        w.at[1] = w.at[0]
    if w.at[s] <= i:
        move_boundary(t, w, w.at[s], i, 1, s)
    else:
        move_boundary(t, w, i, w.at[s], <uint32_t>-1, s)
    w.at[s] = i
    return s


cdef bint allowed(const Table* t, Work* w, const uint32_t* counts, int64_t size, bint rest) noexcept nogil:
    """Does a part pass every rule, that on units apart? It has the tracked `counts`, or with `rest` the
    node's less those.
    """
    cdef int64_t j, i, d, cell, code, count
    cdef int64_t* values
    cdef int64_t* kept
    for j in range(t.n_sensitive):
        d = 0
        values = w.part_values[j]
        kept = w.part_counts[j]
        for i in range(w.n_present[j]):
            code = w.present[j][i]
            cell = t.base[j] + code
            count = w.total[cell] - counts[cell] if rest else counts[cell]
            values[d] = code
            kept[d] = count
            d += count != 0
        w.n_part[j] = d
    return passes(t.rules, size, <const int64_t* const*>w.part_values, <const int64_t* const*>w.part_counts,
                  w.n_part)


cdef double disorder(const Table* t, Work* w, const uint32_t* counts, int64_t size, bint rest) noexcept nogil:
    """size times the entropy of the target in a part."""
    cdef int64_t j = t.n_tracked - 1
    cdef int64_t i, cell, count
    cdef double sum_ = size * log(<double>size)
    for i in range(w.n_present[j]):
        cell = t.base[j] + w.present[j][i]
        count = w.total[cell] - counts[cell] if rest else counts[cell]
        if count:
            sum_ -= count * log(<double>count)
    return sum_


# ---- one cut per attribute: where it is, if every part passes ----


cdef void set_halves(const Table* t, Work* w, uint32_t code, int64_t size, int64_t quota,
                     const uint32_t* counts) noexcept nogil:
    w.cut.n_parts = 2
    w.cut.quota = quota
    w.cut.codes[0] = w.values[0]
    w.cut.codes[1] = code
    w.cut.sizes[0] = size
    w.cut.sizes[1] = w.n - size
    if t.chooser == INFORMATION_GAIN:
        w.cut.disorder = disorder(t, w, counts, size, False) + disorder(t, w, counts, w.n - size, True)
        w.cut.disorder /= w.n


cdef bint try_boundary(const Table* t, Work* w, int64_t i, int64_t direction) noexcept nogil:
    """Cut between values[i - 1] and values[i]; boundaries of one direction are tried outwards."""
    cdef int64_t size = w.below[i], s = 0
    if size < t.rules.min_size or w.n - size < t.rules.min_size:
        return False
    if t.min_units and not (w.first_cut <= i <= w.last_cut if w.ranged else enough_units(t, w, w.values[i], 0)):
        return False
    if t.n_tracked:
        count_tracked(t, w)
        s = reach(t, w, direction, i)
    if not (allowed(t, w, w.left[s], size, False) and allowed(t, w, w.gone[s], w.n - size, True)):
        return False
    set_halves(t, w, w.values[i], size, 0, w.left[s])
    return True


cdef int64_t last_below(const Work* w, int64_t half) noexcept nogil:
    """The greatest i with below[i] <= half."""
    cdef int64_t first = 0, last = w.d + 1, middle
    while last - first > 1:
        middle = (first + last) // 2
        if w.below[middle] <= half:
            first = middle
        else:
            last = middle
    return first


cdef bint cut_nearest(const Table* t, Work* w) noexcept nogil:
    """The allowed cut nearest to n/2: outwards from the middle, the lower one first in a tie."""
    cdef int64_t down = last_below(w, middle_row(t, w)), up = down + 1
    cdef int64_t k = t.rules.min_size
    cdef bint can_down, can_up
    while True:
        can_down = down >= (w.first_cut if w.ranged else 0) and w.below[down] >= k
        can_up = up < (w.last_cut + 1 if w.ranged else w.d) and w.n - w.below[up] >= k
        if can_down and (not can_up or w.n - 2 * w.below[down] <= 2 * w.below[up] - w.n):
            if try_boundary(t, w, down, 0):
                return True
            down -= 1
        elif can_up:
            if try_boundary(t, w, up, 1):
                return True
            up += 1
        else:
            return False
        if t.min_units and not w.ranged:
            set_range(t, w)  # once more, among the boundaries that leave enough units
            if w.first_cut > w.last_cut:
                return False
            down = min(last_below(w, middle_row(t, w)), w.last_cut)
            up = max(last_below(w, middle_row(t, w)) + 1, w.first_cut)


cdef bint cut_median(const Table* t, Work* w) noexcept nogil:
    """v = value at rank ceil(n/2): {<= v | > v}, else {< v | >= v}; of rivals the one that tells more."""
    cdef int64_t v = last_below(w, middle_row(t, w))
    cdef double least
    if not try_boundary(t, w, v + 1, 0):
        return try_boundary(t, w, v, 0)
    if t.rival:
        least = w.cut.disorder
        if try_boundary(t, w, v, 0) and not better(w.cut.disorder, least):
            w.cut.codes[1] = w.values[v + 1]
            w.cut.sizes[0] = w.below[v + 1]
            w.cut.sizes[1] = w.n - w.below[v + 1]
            w.cut.disorder = least
    return True


cdef bint cut_relaxed(const Table* t, Work* w) noexcept nogil:
    """Left: the first ceil(n/2) rows by value and row order. Without rows a cut through a value is not tested."""
    cdef int64_t half = (w.n + 1) // 2
    cdef int64_t v = last_below(w, middle_row(t, w)), quota = half - w.below[v]
    cdef uint32_t code = w.values[v]
    if w.n - half < t.rules.min_size:
        return False
    if w.below[v + 1] == half:
        if not t.by_units:
            return try_boundary(t, w, v + 1, 0)
        code = w.values[v + 1]  # by units a pass over the rows as below: only values about the middle are known
        quota = 0
    if w.listed != NULL:
        set_halves(t, w, code, half, quota, w.left[0])
        return True
    if t.min_units and not enough_units(t, w, code, quota):
        return False
    if t.n_tracked:
        count_tracked(t, w)
        if t.by_units:
            count_pair_halves(t, w, code, quota)
        else:
            count_rows_left(t, w, code, quota)
    if not (allowed(t, w, w.left[0], half, False) and allowed(t, w, w.gone[0], w.n - half, True)):
        return False
    set_halves(t, w, code, half, quota, w.left[0])
    return True


cdef int32_t child_above(const Extent* a, int32_t node, uint32_t code) noexcept nogil:
    """The child of `node` above a leaf, or the leaf itself if that is `node`."""
    cdef int32_t v = a.leaf[code]
    while v != node and a.parent[v] != node:
        v = a.parent[v]
    return v


cdef bint cut_children(const Table* t, Work* w, const Extent* a, int64_t d) noexcept nogil:
    """All non-empty children of the LCA of values[0..d) at once; null (beyond d) is one more."""
    cdef int32_t lca = ancestor(a, a.leaf[w.values[0]], w.values[d - 1])
    cdef int32_t child
    cdef int64_t i = 0, p = 0, start, size
    cdef double sum_ = 0
    while i < d:
        child = child_above(a, lca, w.values[i])
        w.cut.codes[p] = w.values[i]
        start = w.below[i]
        while i < d and w.values[i] <= <int64_t>a.last[child]:
            i += 1
        w.ends[p] = i
        w.cut.sizes[p] = w.below[i] - start
        p += 1
    if d < w.d:
        w.cut.codes[p] = w.values[d]
        w.cut.sizes[p] = w.n - w.below[d]
        w.ends[p] = w.d
        p += 1
    w.cut.n_parts = p
    w.cut.quota = 0
    for p in range(w.cut.n_parts):
        if w.cut.sizes[p] < t.rules.min_size:
            return False
    if t.min_units:
        group_rows(t, w)
        for p in range(w.cut.n_parts):
            start = 0 if p == 0 else w.below[w.ends[p - 1]]
            if row_of_enough(t, w, start, w.below[w.ends[p]], 1) == w.below[w.ends[p]]:
                return False
    if t.n_tracked:
        count_tracked(t, w)
    for p in range(w.cut.n_parts):
        size = w.cut.sizes[p]
        if t.n_tracked:
            clear(t, w, w.left[0])
            start = 0 if p == 0 else w.ends[p - 1]
            if t.by_units:
                group_rows(t, w)
                count_pairs(t, w, w.below[start], w.below[w.ends[p]], w.left[0])
            else:
                add_values(t, w, start, w.ends[p], 1, w.left[0])
        if not allowed(t, w, w.left[0], size, False):
            return False
        if t.chooser == INFORMATION_GAIN:
            sum_ += disorder(t, w, w.left[0], size, False)
    w.cut.disorder = sum_ / w.n
    return True


cdef bint cut_tree(const Table* t, Work* w, const Extent* a) noexcept nogil:
    """Two parts, cut between children of the LCA (null last), one of them below the LCA; nearest to n/2."""
    cdef int64_t d = w.d - (w.values[w.d - 1] == a.n_values)
    cdef int64_t boundaries[3]
    cdef int64_t n_boundaries = 0, b, best, i, distance, least
    cdef int32_t lca, child
    cdef bint halves
    if t.relaxed or not t.nearest:
        return cut_children(t, w, a, d)
    lca = ancestor(a, a.leaf[w.values[0]], w.values[d - 1])
    if d > 1:
        child = child_above(a, lca, w.values[0])
        i = 1
        while w.values[i] <= <int64_t>a.last[child]:
            i += 1
        boundaries[n_boundaries] = i
        n_boundaries += 1
        child = child_above(a, lca, w.values[d - 1])
        i = d - 1
        while w.values[i - 1] >= <int64_t>a.first[child]:
            i -= 1
        if i != boundaries[0]:
            boundaries[n_boundaries] = i
            n_boundaries += 1
    if d < w.d:
        boundaries[n_boundaries] = d
        n_boundaries += 1
    halves = n_boundaries == 1  # then there are two parts in all
    while n_boundaries:  # ascending, so the first of the nearest is the lower
        best = 0
        least = w.n + 1
        for b in range(n_boundaries):
            distance = 2 * w.below[boundaries[b]] - w.n
            distance = distance if distance >= 0 else -distance
            if distance < least:
                least = distance
                best = b
        if try_boundary(t, w, boundaries[best], 0):
            return True
        n_boundaries -= 1
        for b in range(best, n_boundaries):
            boundaries[b] = boundaries[b + 1]
    return not halves and cut_children(t, w, a, d)


cdef bint cut_counted(const Table* t, Work* w) noexcept nogil:
    """The allowed cut of the counted attribute into w.cut, if there is one."""
    cdef const Extent* attribute = &t.attributes[w.counted]
    w.at[0] = -1
    w.at[1] = -1
    w.ranged = False
    w.cut.attribute = w.counted
    if attribute.kind == TREE:
        return cut_tree(t, w, attribute)
    if t.relaxed:
        return cut_relaxed(t, w)
    if t.nearest:
        return cut_nearest(t, w)
    return cut_median(t, w)


cdef bint cut_attribute(const Table* t, Work* w, int64_t a) noexcept nogil:
    """The allowed cut of attribute a into w.cut, if there is one."""
    cdef bint by_children = t.attributes[a].kind == TREE
    if (t.n_tracked and (by_children or not t.relaxed)) or (t.min_units and by_children):
        count_values(t, w, a, TRACKED)
    else:
        count_values(t, w, a, VALUES if by_children else MIDDLE)
    return cut_counted(t, w)


cdef bint better(double disorder, double least) noexcept nogil:
    """Does a cut take the place of one that was found before it, by what disorder they leave?"""
    return disorder < least - TIE


# ---- the chooser ----


cdef double key_of(const Table* t, int64_t a, int64_t low, int64_t high, int64_t distinct) noexcept nogil:
    """Of two attributes the one with the greater key is tried first; low < high."""
    if t.chooser == INFORMATION_GAIN:
        return 0
    if t.chooser == WIDEST:
        return span(&t.attributes[a], low, high, distinct)
    return distinct if t.chooser == LEAST_REPEATED else -distinct


cdef void prepare_keys(const Table* t, Work* w) noexcept nogil:
    """Keys of all attributes; greater ones are tried first. Flat widths start as upper bounds."""
    cdef int64_t a, distinct
    for a in range(t.n_attributes):
        w.tried[a] = w.low[a] == w.high[a]
        w.exact[a] = True
        if w.tried[a]:
            continue
        distinct = min(<int64_t>w.high[a] - w.low[a] + 1, w.n)
        if t.chooser == WIDEST:
            w.exact[a] = t.attributes[a].kind != FLAT or w.high[a] == t.attributes[a].n_values
        elif t.chooser != INFORMATION_GAIN:
            count_values(t, w, a, VALUES)
            distinct = w.d
        w.key[a] = key_of(t, a, w.low[a], w.high[a], distinct)


cdef int64_t next_attribute(const Table* t, Work* w) noexcept nogil:
    """The next attribute in chooser order, ties by schema order; -1 when all were tried."""
    cdef int64_t a, best
    while True:
        best = -1
        for a in range(t.n_attributes):
            if not w.tried[a] and (best < 0 or t.rank[a] < t.rank[best]
                                   or (t.rank[a] == t.rank[best] and w.key[a] > w.key[best])):
                best = a
        if best < 0 or w.exact[best]:
            return best
        count_values(t, w, best, TRACKED if t.n_tracked and not t.relaxed else VALUES)
        w.key[best] = key_of(t, best, w.low[best], w.high[best], w.d)
        w.exact[best] = True


cdef int64_t split(const Table* t, Work* w, const Node* node) noexcept nogil:
    """Cut a node and copy its parts to the other buffer; the number of parts, or 1 if it is a class."""
    cdef int64_t a, lanes = t.stride // t.width
    cdef uint8_t* target = t.buffers[(node.depth + 1) & 1] + node.start * t.stride
    cdef const uint8_t* codes
    cdef bint is_cut = False
    w.records = t.buffers[node.depth & 1] + node.start * t.stride
    w.n = node.size
    if w.n < 2 or w.n // 2 < t.rules.min_size:
        return 1
    if t.width == 1:
        extend(<const uint8_t*>w.records, lanes, w.n, t.n_attributes, w.low, w.high)
    elif t.width == 2:
        extend(<const uint16_t*>w.records, lanes, w.n, t.n_attributes, w.low, w.high)
    else:
        extend(<const uint32_t*>w.records, lanes, w.n, t.n_attributes, w.low, w.high)
    w.counted = -1
    w.totaled = False
    prepare_keys(t, w)
    a = next_attribute(t, w)
    while a >= 0:
        w.tried[a] = True
        if cut_attribute(t, w, a):
            if not is_cut or better(w.cut.disorder, w.best.disorder):
                w.cut, w.best = w.best, w.cut
            is_cut = True
            if t.chooser != INFORMATION_GAIN:
                break
        a = next_attribute(t, w)
    if w.totaled:
        clear(t, w, w.total)
    if not is_cut:
        return 1
    codes = w.records + w.best.attribute * t.width
    if t.width == 1:
        scatter(<const uint8_t*>codes, lanes, w.n, w.best, w.records, t.stride, target, w.ends)
    elif t.width == 2:
        scatter(<const uint16_t*>codes, lanes, w.n, w.best, w.records, t.stride, target, w.ends)
    else:
        scatter(<const uint32_t*>codes, lanes, w.n, w.best, w.records, t.stride, target, w.ends)
    return w.best.n_parts


cdef void finish(const Table* t, const Node* node) noexcept nogil:
    """A node that is a class: its row numbers to their place."""
    cdef int64_t i
    cdef const uint8_t* ids = t.buffers[node.depth & 1] + node.start * t.stride + t.row_offset
    t.starts[node.start] = 1
    for i in range(node.size):
        t.rows[node.start + i] = (<const row_t*>(ids + i * t.stride))[0]


cdef bint split_all(const Table* t, Work* w) noexcept nogil:
    """Cut the pending nodes and all below them; False where memory is short."""
    cdef int64_t p, n_parts, end
    cdef Node node
    cdef Node* parts
    while w.pending.length:
        w.pending.length -= 1
        node = (<Node*>w.pending.at)[w.pending.length]
        n_parts = split(t, w, &node)
        if n_parts == 1:
            finish(t, &node)
            continue
        if not reserve(w.pending, n_parts):
            return False
        parts = <Node*>extend_array(w.pending, n_parts)
        end = node.start
        for p in range(n_parts):
            parts[p] = Node(end, w.best.sizes[p], node.depth + 1)
            end += w.best.sizes[p]
    return True


# ---- packing ----

cdef void pack_field(const code_t* column, const row_t* rows, int64_t start, int64_t stop,
                     uint8_t* field, int64_t stride, field_t* unused) noexcept nogil:
    """Write one column's codes of rows start..stop into their records."""
    cdef int64_t i
    if rows == NULL:
        for i in range(start, stop):
            (<field_t*>(field + i * stride))[0] = <field_t>column[i]
    else:
        for i in range(start, stop):
            (<field_t*>(field + i * stride))[0] = <field_t>column[rows[i]]


cdef struct Column:
    const void* data
    int64_t width  # bytes of a code in the column
    int64_t offset  # place in the record
    int64_t field  # bytes there


cdef void pack_column(const Column* c, const row_t* rows, int64_t start, int64_t stop,
                      uint8_t* records, int64_t stride) noexcept nogil:
    cdef uint8_t* field = records + c.offset
    if c.width == 1:
        if c.field == 1:
            pack_field(<const uint8_t*>c.data, rows, start, stop, field, stride, <uint8_t*>NULL)
        elif c.field == 2:
            pack_field(<const uint8_t*>c.data, rows, start, stop, field, stride, <uint16_t*>NULL)
        else:
            pack_field(<const uint8_t*>c.data, rows, start, stop, field, stride, <uint32_t*>NULL)
    elif c.width == 2:
        if c.field == 2:
            pack_field(<const uint16_t*>c.data, rows, start, stop, field, stride, <uint16_t*>NULL)
        else:
            pack_field(<const uint16_t*>c.data, rows, start, stop, field, stride, <uint32_t*>NULL)
    else:
        pack_field(<const uint32_t*>c.data, rows, start, stop, field, stride, <uint32_t*>NULL)


cdef void pack(const Column* columns, int64_t n_columns, const row_t* rows, int64_t start, int64_t stop,
               uint8_t* records, uint8_t* other, int64_t stride, int64_t row_offset) noexcept nogil:
    """Records start..stop, a block that stays in the cache at a time.

    Also touches that part of the other buffer, so that its pages are mapped here, by all threads.
    """
    cdef int64_t begin = start, end, i, j
    while begin < stop:
        end = min(begin + PACK_BLOCK, stop)
        for j in range(n_columns):
            pack_column(&columns[j], rows, begin, end, records, stride)
        for i in range(begin, end):
            (<row_t*>(records + i * stride + row_offset))[0] = <row_t>i if rows == NULL else rows[i]
        other[begin * stride] = 0
        begin = end


# ---- the door ----


cdef class _Partition:
    """One run: the shared table and the tasks over it."""

    cdef Table t
    cdef Column* columns
    cdef int64_t n_columns
    cdef int64_t n
    cdef const row_t* chosen  # row numbers, NULL for all
    cdef list keep

    def pack(self, int64_t start, int64_t stop):
        """Pack the records start..stop."""
        if not 0 <= start <= stop <= self.n:
            raise ValueError(f"rows {start} to {stop} of {self.n}")
        with nogil:
            pack(self.columns, self.n_columns, self.chosen, start, stop,
                 self.t.buffers[0], self.t.buffers[1], self.t.stride, self.t.row_offset)

    def cut(self, nodes):
        """Cut nodes (start, size, depth) and all below them, or a large one once; what remains, rows done."""
        cdef int64_t i, start, n_parts = 1, size = 0, largest = 0
        cdef bint subtree, enough = True
        cdef list keep = []
        cdef Work work
        cdef Work* w = &work
        cdef Node node = Node(0, 0, 0)
        w.listed = NULL
        for start, i, _ in nodes:
            if start < 0 or i < 1 or i > self.n - start:
                raise ValueError(f"{i} rows from {start} of {self.n}")
            size += i
            largest = max(largest, i)
        if size == 0:
            return [], 0
        subtree = size <= SUBTREE_ROWS
        set_work(w, keep, &self.t, largest)
        for node.start, node.size, node.depth in nodes:
            if not reserve(w.pending, 1):
                raise MemoryError
            (<Node*>extend_array(w.pending, 1))[0] = node
        with nogil:
            if subtree:
                enough = split_all(&self.t, w)
            else:
                n_parts = split(&self.t, w, &node)
                if n_parts == 1:
                    finish(&self.t, &node)
        if not enough:
            raise MemoryError
        if n_parts == 1:
            return [], size
        parts = []
        for i in range(n_parts):
            parts.append((node.start, w.best.sizes[i], node.depth + 1))
            node.start += w.best.sizes[i]
        return parts, 0


cdef _Partition lay_out(columns, tuple attributes, Conjunction conjunction, sensitive, target, units, rows):
    """Check the columns and choose the layout of a record."""
    cdef _Partition run = _Partition()
    cdef int64_t j, n_table, largest = 1, m, width
    cdef const uint8_t[::1] view
    cdef const row_t[::1] numbers
    given(columns=columns, sensitive=sensitive)
    columns = [codes_of(column, 1, "columns") for column in columns]
    tracked = [codes_of(column, 1, "sensitive") for column in sensitive] if conjunction.c.n_sensitive else []
    m = len(columns)
    if len(tracked) != conjunction.c.n_sensitive:
        raise ValueError(f"{len(tracked)} sensitive columns for {conjunction.c.n_sensitive} tested")
    if m == 0 or m != len(attributes):
        raise ValueError(f"{m} columns for {len(attributes)} attributes")
    n_table = len(columns[0])
    width = max(column.dtype.itemsize for column in columns)
    limits = [attribute.n_values + 1 for attribute in attributes]
    limits += [int(conjunction.c.n_values[j]) for j in range(len(tracked))]
    if target is not None:
        tracked.append(codes_of(target, 1, "target"))
        limits.append(int(tracked[len(tracked) - 1].max(initial=0)) + 1)
    if (units is None) != (conjunction.c.min_units == 0 and not conjunction.c.by_units):
        raise ValueError("units are needed where rules count them, and only there")
    numbered = [] if units is None else [codes_of(units, 1, "units")]
    limits += [MOST_ROWS] * len(numbered)
    run.keep = [conjunction]
    if rows is not None:
        rows = array_of(rows, np.uint32, 1, "rows")
        run.keep.append(rows)
        if len(rows):
            if rows.max() >= n_table:
                raise ValueError("a row number is not below the number of rows")
            numbers = rows
            run.chosen = &numbers[0]
    run.n = n_table if rows is None else len(rows)
    if run.n > conjunction.c.n_rows:
        raise ValueError(f"{run.n} rows for a conjunction on {conjunction.c.n_rows}")
    run.t.n_attributes = m
    run.t.width = width
    run.t.row_offset = (m * width + 3) // 4 * 4
    run.t.tracked_offset = run.t.row_offset + 4
    run.t.n_sensitive = conjunction.c.n_sensitive
    run.t.n_tracked = len(tracked)
    run.t.unit_offset = run.t.tracked_offset + 4 * len(tracked)
    run.t.min_units = conjunction.c.min_units
    run.t.by_units = conjunction.c.by_units and conjunction.c.n_sensitive
    run.t.stride = (run.t.unit_offset + 4 * len(numbered) + 7) // 8 * 8
    run.t.attributes = extents_of(attributes, run.keep)
    run.t.rules = &conjunction.c
    run.n_columns = m + len(tracked) + len(numbered)
    run.columns = <Column*>take(run.keep, run.n_columns, sizeof(Column))
    run.t.base = <int64_t*>take(run.keep, len(tracked) + 1, sizeof(int64_t))
    codes = [*columns, *tracked, *numbered]
    for j in range(run.n_columns):
        column = codes[j]
        if len(column) != n_table:
            raise ValueError("codes must be one per row")
        if n_table and int(column.max()) >= limits[j]:
            raise ValueError(f"column {j} has a code beyond its domain")
        run.keep.append(column)
        run.columns[j].width = column.dtype.itemsize
        if n_table:
            view = column.view(np.uint8)
            run.columns[j].data = &view[0]
        run.columns[j].offset = j * width if j < m else run.t.tracked_offset + 4 * (j - m)
        run.columns[j].field = width if j < m else 4
        if j < m:
            largest = max(largest, limits[j])
        elif j < m + len(tracked):
            run.t.base[j - m + 1] = run.t.base[j - m] + <int64_t>limits[j]
    run.t.max_codes = largest
    for j in range(2):
        run.t.buffers[j] = <uint8_t*>take(run.keep, run.n, run.t.stride)
    return run


cdef set_place(Table* t, nearest, rival, relaxed):
    """Where attributes are cut."""
    if rival and (nearest or relaxed or t.chooser != INFORMATION_GAIN):
        raise ValueError("rival cuts are strict ones about the median, weighed by information-gain")
    t.nearest = nearest
    t.rival = rival
    t.relaxed = relaxed


cdef set_order(Table* t, list keep, n_attributes, chooser, priority):
    """In which order attributes are tried."""
    cdef const int64_t[::1] rank
    given(priority=priority)
    if chooser not in CHOOSERS or (priority and chooser != "widest"):
        raise ValueError("unknown chooser, or a priority beside another chooser than 'widest'")
    places = np.full(n_attributes, len(priority), dtype=np.int64)
    places[[whole(a, 0, n_attributes - 1, "priority") for a in priority]] = np.arange(len(priority))
    rank = places
    keep.append(places)
    t.rank = &rank[0] if n_attributes else NULL
    t.chooser = CHOOSERS[chooser]


def partition(columns, attributes, conjunction, *, sensitive=(), target=None, units=None,
              rows=None, parts=None, chooser="widest", priority=(), nearest=True, rival=False, relaxed=False,
              n_threads=1, progress=None):
    """Mondrian from code columns to classes (LeFevre et al. 2006).

    columns: one code array (uint8, uint16 or uint32, any mix) per `attribute.Attribute`; sensitive: one per
    sensitive attribute of the conjunction (read if it tests any); target: codes for
    "information-gain"; units: codes of the unit (the person) of each row, where the conjunction counts
    units. rows: uint32 row numbers to partition, in the order in which a relaxed cut
    shares out ties; all rows by default. parts: offsets (int64) of consecutive rows that are already apart,
    each of which passes. chooser: "widest", "most-repeated", "least-repeated" or
    "information-gain"; attributes listed in priority come first. rival: of the two cuts about an
    attribute's median that which tells more of the target (only where cuts are strict and not `nearest`),
    else the upper one where it is allowed. progress(done, total) is told
    the rows done, from the calling thread. The answer does not depend on n_threads, and with strict
    cuts not on the order of the rows.
    Returns (rows, offsets): class c holds rows[offsets[c]:offsets[c + 1]] (uint32, int64).
    """
    cdef _Partition run
    cdef row_t[::1] out
    cdef uint8_t[::1] starts
    if (chooser == "information-gain") != (target is not None):
        raise ValueError("a target is needed for information-gain, and only there")
    n_threads = whole(n_threads, 1, MOST_ROWS, "n_threads")
    attributes = all_of(attributes, Attribute, "attributes")
    run = lay_out(columns, attributes, one_of(Conjunction, conjunction, "conjunction"), sensitive, target, units,
                  rows)
    set_order(&run.t, run.keep, len(attributes), chooser, priority)
    result = np.empty(run.n, dtype=np.uint32)
    if run.n == 0:
        return result, np.zeros(1, dtype=np.int64)
    flags = np.zeros(run.n, dtype=np.uint8)
    out = result
    starts = flags
    run.t.rows = &out[0]
    run.t.starts = &starts[0]
    set_place(&run.t, nearest, rival, relaxed)
    whole_rows = np.array([0, run.n], np.int64)
    _drive(run, whole_rows if parts is None else parts_of(parts, run.n, "parts"), n_threads, progress)
    offsets = np.append(np.flatnonzero(flags.view(np.bool_)), run.n).astype(np.int64, copy=False)
    return result, offsets


cdef list batches(nodes):
    """The nodes (start, size, depth) of each task: a large one alone, small ones together."""
    cdef list tasks = [], task = []
    cdef int64_t n_rows = 0
    for node in nodes:
        if task and n_rows + node[1] > SUBTREE_ROWS:
            tasks.append(task)
            task = []
            n_rows = 0
        task.append(node)
        n_rows += node[1]
    return [*tasks, task] if task else tasks


def _drive(_Partition run, parts, n_threads, progress):
    # Pack, then cut the parts node by node.
    def cut(nodes):
        below, size = run.cut(nodes)
        return [(task,) for task in batches(below)], size

    n = run.n
    in_threads(run.pack, [(i, min(i + PACK_ROWS, n)) for i in range(0, n, PACK_ROWS)], n_threads)
    tasks = batches([(start, stop - start, 0) for start, stop in pairwise(np.asarray(parts).tolist())])
    until_done(cut, [(task,) for task in tasks], n_threads,
               None if progress is None else lambda done: progress(done, n))


# ---- the same cuts, from counts alone ----


def turns(attributes, low, high, distinct, *, chooser="widest", priority=()):
    """The attributes that can be cut, in the order in which `partition` tries them in a node.

    low, high, distinct (int64, one each): an attribute's least and greatest code in the node, null the
    greatest, and how many codes it has there, which is read of flat attributes and by the choosers that
    count. A list of attribute numbers.
    """
    cdef tuple described = all_of(attributes, Attribute, "attributes")
    cdef Table table
    cdef Work work
    cdef list keep = [], order = []
    cdef int64_t a, m = len(described)
    low, high, distinct = (array_of(part, np.int64, 1, "low, high and distinct") for part in (low, high, distinct))
    if not len(low) == len(high) == len(distinct) == m:
        raise ValueError("low, high and distinct must have one entry per attribute")
    set_order(&table, keep, m, chooser, priority)
    table.attributes = extents_of(described, keep)
    table.n_attributes = m
    work.key = <double*>take(keep, m, sizeof(double))
    work.exact = <uint8_t*>take(keep, m, 1)
    work.tried = <uint8_t*>take(keep, m, 1)
    for a in range(m):
        if not 0 <= low[a] <= high[a] <= table.attributes[a].n_values or not 1 <= distinct[a] <= high[a] - low[a] + 1:
            raise ValueError(f"attribute {a}: {distinct[a]} codes from {low[a]} to {high[a]} are none of a node")
        work.exact[a] = True
        work.tried[a] = low[a] == high[a]
        if not work.tried[a]:
            work.key[a] = key_of(&table, a, low[a], high[a], distinct[a])
    while (a := next_attribute(&table, &work)) >= 0:
        work.tried[a] = True
        order.append(a)
    return order


cdef tuple cut_histogram(const Table* settings, Conjunction conjunction, histogram):
    """The cut that one attribute allows (see `best_cut`), or None."""
    cdef Table t = settings[0]
    cdef Work work
    cdef Work* w = &work
    cdef list keep = []
    cdef Listed* listed
    cdef const int64_t[::1] view_s, view_c, view_r
    cdef int64_t i, j, d, n, size, largest = 1
    cdef bint is_cut
    a, values, below, tracked = all_of(histogram, object, "a histogram")
    a = whole(a, 0, t.n_attributes - 1, "the attribute of a histogram")
    values = array_of(values, np.int64, 1, "values")
    below = array_of(below, np.int64, 1, "below")
    tracked = all_of(tracked, object, "tracked")
    d = len(values)
    if not d or values[0] < 0 or values[d - 1] > t.attributes[a].n_values or (values[1:] <= values[:d - 1]).any():
        raise ValueError("values must be ascending codes of the attribute, at least one")
    n = below[d] if len(below) == d + 1 else 0
    parts_of(below, n, "below")
    if not 0 < n <= conjunction.c.n_rows or len(tracked) != t.n_tracked:
        raise ValueError(f"{n} rows and {len(tracked)} tracked columns for {conjunction.c.n_rows} and {t.n_tracked}")
    t.base = <int64_t*>take(keep, t.n_tracked + 1, sizeof(int64_t))
    w.listed = listed = <Listed*>take(keep, t.n_tracked, sizeof(Listed))
    for j in range(t.n_tracked):
        starts, codes, rows = (array_of(part, np.int64, 1, "tracked") for part in all_of(tracked[j], object, "tracked"))
        parts_of(starts, len(codes), "starts")
        if len(starts) != d + 1 or len(rows) != len(codes) or (rows <= 0).any() or (rows > n).any() \
                or (np.add.reduceat(rows, starts[:d]) != np.diff(below)).any():
            raise ValueError("the rows with the tracked codes of a value must be positive and sum to its rows")
        if j == t.n_sensitive and codes.min() >= 0:  # the target has no domain of its own
            codes = np.unique(codes, return_inverse=True)[1].astype(np.int64)
        size = conjunction.c.n_values[j] if j < t.n_sensitive else codes.max() + 1
        if codes.min() < 0 or codes.max() >= size:
            raise ValueError(f"tracked column {j} has a code beyond its domain")
        t.base[j + 1] = t.base[j] + size
        largest = max(largest, size)
        keep += [starts, codes, rows]
        view_s, view_c, view_r = starts, codes, rows
        listed[j] = Listed(&view_s[0], &view_c[0], &view_r[0])
    if d < 2:
        return None
    t.max_codes = d
    set_work(w, keep, &t, max(d, largest))
    w.n = n
    w.d = d
    w.counted = a
    w.gridded = w.totaled = False
    w.grouped = True
    for i in range(d):
        w.values[i] = values[i]
        w.below[i] = below[i]
    w.below[d] = n
    with nogil:
        is_cut = cut_counted(&t, w)
    parts = range(w.cut.n_parts if is_cut else 0)
    codes, sizes = [w.cut.codes[i] for i in parts], [w.cut.sizes[i] for i in parts]
    return (a, codes, sizes, w.cut.disorder, w.cut.quota) if is_cut else None


def best_cut(attributes, histograms, conjunction, *, chooser="widest", nearest=True, rival=False, relaxed=False):
    """The cut that `partition` makes in a node of which only counts are known, or None: it is a class.

    histograms: (attribute, values, below, tracked) of each attribute that may be cut, in their turns; no
    more of them are read than decide. values (int64): its codes in the node, ascending; below (int64, one
    more): the rows with codes before each, and last those of the node. tracked: (starts, codes, rows), all
    int64, for each sensitive attribute that the conjunction tests and then for the target of
    "information-gain": at starts[i]:starts[i + 1] the codes that occur beside values[i], and their rows.
    Returns (attribute, codes, sizes, disorder, quota): part p begins at codes[p] and has sizes[p] rows; of the
    rows with codes[1] the first `quota` go to the left. A cut with a quota (relaxed) is not tested:
    counts do not tell which rows those are.
    """
    cdef tuple described = all_of(attributes, Attribute, "attributes")
    cdef Conjunction asked = one_of(Conjunction, conjunction, "conjunction")
    cdef Table table
    cdef list keep = []
    if asked.c.min_units or asked.c.by_units:
        raise ValueError("counts of rows do not tell units")
    memset(&table, 0, sizeof(table))
    set_order(&table, keep, len(described), chooser, ())
    if relaxed and table.chooser == INFORMATION_GAIN:
        raise ValueError("a relaxed cut shares rows out, whose target counts do not tell")
    table.attributes = extents_of(described, keep)
    table.n_attributes = len(described)
    table.rules = &asked.c
    table.n_sensitive = asked.c.n_sensitive
    table.n_tracked = table.n_sensitive + (table.chooser == INFORMATION_GAIN)
    set_place(&table, nearest, rival, relaxed)
    if not isinstance(histograms, Iterable):
        raise ValueError("histograms must be a sequence")
    best = None
    for histogram in histograms:
        cut = cut_histogram(&table, asked, histogram)
        if cut is not None and (best is None or better(cut[3], best[3])):
            best = cut
        if best is not None and table.chooser != INFORMATION_GAIN:
            break
    return best
