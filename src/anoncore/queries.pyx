# SPDX-License-Identifier: Apache-2.0
# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Estimates from a release: overlaps of predicates with cells, sensitive counts, and COUNT queries.

A box is one class of a generalized release, or one row of a bucketization, with a cell per
attribute; a group is what a box takes its sensitive values from: the class itself, or the bucket.
Every value of a cell is taken as equally likely, attributes as independent (Li & Li 2009, 4.2).
"""

import numpy as np

from anoncore.bits cimport count_bits, lowest_bit
from anoncore.doors import MOST_ROWS, array_of, given, parts_of, whole
from anoncore.threads import in_threads
from anoncore.populations import _columns_of, _predicates_of
from anoncore.memory cimport take
from anoncore.types cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from libc.math cimport fmax, fmin
from libc.string cimport memcpy, memset


cdef void on_line(const double[::1] lower, const double[::1] upper, const uint32_t[::1] low,
                  const uint32_t[::1] high, const uint8_t[::1] null, bint unit,
                  int64_t run, int64_t stop, const uint32_t[::1] first, const uint32_t[::1] last,
                  const double[::1] run_lower, const double[::1] run_upper,
                  double[::1] share, uint8_t[::1] kind) noexcept nogil:
    # The predicate of the runs run..stop - 1, ascending, against every cell of an ordered attribute or a tree.
    cdef int64_t i, r, high_r, n = low.shape[0]
    cdef double inside, size, common
    cdef bint touched, holds
    for i in range(n):
        share[i] = 0.0
        kind[i] = 0
        if low[i] > high[i]:
            continue
        inside = 0.0
        touched = holds = False
        # the first run that does not end before the cell begins
        r = run
        high_r = stop
        while r < high_r:
            if run_upper[(r + high_r) // 2] < lower[i]:
                r = (r + high_r) // 2 + 1
            else:
                high_r = (r + high_r) // 2
        for r in range(r, stop):
            if run_lower[r] > upper[i]:
                break
            common = fmin(upper[i], run_upper[r]) - fmax(lower[i], run_lower[r]) + unit
            if common > 0.0:
                inside += common
                touched = True
            elif not unit and common == 0.0:
                # one common point; the upper end of a run need not belong to it
                touched = touched or (first[r] <= high[i] and last[r] >= low[i])
            holds = holds or (first[r] <= low[i] and high[i] <= last[r])
        size = upper[i] - lower[i] + unit
        if size > 0.0:
            share[i] = inside / (size + null[i]) if unit else (0.5 if null[i] else 1.0) * (inside / size)
        elif holds:
            share[i] = 0.5 if null[i] else 1.0
        if unit:
            holds = inside >= size
        if touched or holds:
            kind[i] = 2 if holds and not null[i] else 1


cdef void in_sets(const int64_t[::1] offsets, const uint32_t[::1] codes, const uint8_t[::1] null,
                  const uint8_t[::1] member, double[::1] share, uint8_t[::1] kind) noexcept nogil:
    # The predicate of the member codes against every cell of a flat nominal attribute.
    cdef int64_t i, k, inside, size, n = null.shape[0]
    for i in range(n):
        size = offsets[i + 1] - offsets[i]
        inside = 0
        for k in range(offsets[i], offsets[i + 1]):
            inside += member[codes[k]]
        share[i] = <double> inside / <double> (size + null[i]) if size else 0.0
        kind[i] = 0 if inside == 0 else (2 if inside == size and not null[i] else 1)


def overlaps(low, high, null, reach, sets, offsets, first, last, run_reach, unit):
    """The share of every cell of one attribute that lies inside each predicate.

    Cells have codes low..high (uint32, low > high: null only), `null` (bool) and either a `reach`
    (lower, upper: float64, on the attribute's line) or `sets` of codes (offsets int64, codes uint32).
    Predicate p holds the codes first[r]..last[r] (uint32) of the runs r in offsets[p]..offsets[p + 1] - 1
    (int64); with a reach, run r covers `run_reach` (lower[r], upper[r]), and these ascend. `unit`: a cell consists of
    the points lower, lower + 1, ..., upper; otherwise of the length between, and one without length
    is inside where its codes are. Null is one more equally likely value (by length: half of all).
    Returns the shares (float64, predicates x cells) and what is possible (uint8): 0 no row of the
    cell meets the predicate, 1 some may, 2 all do.
    """
    low, high = array_of(low, np.uint32, 1, "low"), array_of(high, np.uint32, 1, "high")
    null = array_of(null, np.uint8, 1, "null")
    first, last = array_of(first, np.uint32, 1, "first"), array_of(last, np.uint32, 1, "last")
    offsets = parts_of(offsets, len(first), "offsets", empty=True)
    n_cells, n_predicates = len(low), len(offsets) - 1
    if len(high) != n_cells or len(null) != n_cells or (reach is None) == (sets is None):
        raise ValueError("low, high and null must have one length, and cells either a reach or sets")
    if len(first) != len(last) or np.any(first > last):
        raise ValueError("a run must have first <= last")
    share = np.empty((n_predicates, n_cells))
    kind = np.empty((n_predicates, n_cells), np.uint8)
    if reach is not None:
        lower, upper = _ends_of(reach, "reach")
        run_lower, run_upper = _ends_of(run_reach, "run_reach")
        if len(lower) != n_cells or len(upper) != n_cells or len(run_lower) != len(first) or len(run_upper) != len(first):
            raise ValueError("a reach must have one lower and one upper end for each cell or run")
        for p in range(n_predicates):
            on_line(lower, upper, low, high, null, unit, offsets[p], offsets[p + 1], first, last,
                    run_lower, run_upper, share[p], kind[p])
        return share, kind
    if not isinstance(sets, tuple | list) or len(sets) != 2:
        raise ValueError("sets must be offsets and codes")
    codes = array_of(sets[1], np.uint32, 1, "the codes of sets")
    set_offsets = parts_of(sets[0], len(codes), "the offsets of sets", empty=True)
    if len(set_offsets) != n_cells + 1:
        raise ValueError("every cell needs its set")
    n_codes = int(codes.max()) + 1 if len(codes) else 0
    for p in range(n_predicates):
        member = np.zeros(n_codes, np.uint8)
        for r in range(offsets[p], offsets[p + 1]):
            member[first[r] : int(last[r]) + 1] = 1
        in_sets(set_offsets, codes, null, member, share[p], kind[p])
    return share, kind


def _ends_of(reach, name):
    """The lower and the upper ends of a reach, checked."""
    if not isinstance(reach, tuple | list) or len(reach) != 2:
        raise ValueError(f"{name} must be lower and upper ends")
    return [array_of(ends, np.float64, 1, name) for ends in reach]


cdef int64_t weigh(const uint32_t* box, const double* weight, int64_t n, const uint32_t* cell,
                   const double* share, uint32_t* kept, double* kept_weight) noexcept nogil:
    # The boxes with a share above 0, their weights multiplied by it; returns how many.
    cdef int64_t i, n_kept = 0
    cdef double part
    for i in range(n):
        part = share[cell[box[i]]]
        kept[n_kept] = box[i]
        kept_weight[n_kept] = weight[i] * part
        n_kept += part > 0.0
    return n_kept


def reconstruct(cells, shares, groups, offsets, values, counts, n_values, parent, attribute, predicate, start, stop):
    """Estimated counts of sensitive values in the populations start..stop - 1 (float64, x n_values).

    `cells[a, b]` (uint32) is the cell of box b on attribute a, `shares[a]` (float64, predicates x cells)
    the part of each cell inside each predicate, whose product over a population's predicates is a
    box's weight. Group g holds the values `values[offsets[g]:offsets[g + 1]]` (uint32) `counts` times
    each (int64). With `groups` None box b is group b and adds weight times count; otherwise
    `groups[b]` (uint32, not descending) is its bucket, which adds weights/size times count.
    Population i adds predicate `predicate[i]` of `attribute[i]` (int32) to population `parent[i]`
    (int64, -1: none), which comes before it; populations are in depth-first order.
    """
    n_values = whole(n_values, 0, MOST_ROWS, "n_values")
    cell_codes, shares, groups = _boxes_of(cells, shares, groups)
    lists = _lists_of(offsets, values, counts, n_values)
    cdef const uint32_t[:, ::1] cell = cell_codes
    cdef const int64_t[::1] begins = lists[0], listed = lists[2]
    cdef const uint32_t[::1] value = lists[1]
    cdef int64_t n_attributes = cell.shape[0], n_boxes = cell.shape[1], n_groups = begins.shape[0] - 1
    cdef int64_t i, j, k, e, d, n, g, first, end
    cdef bint buckets = groups is not None
    cdef double weight
    _check_groups(groups, n_boxes, n_groups)
    parent = array_of(parent, np.int64, 1, "parent")
    attribute = array_of(attribute, np.int32, 1, "attribute")
    predicate = array_of(predicate, np.int32, 1, "predicate")
    if not len(parent) == len(attribute) == len(predicate):
        raise ValueError("parent, attribute and predicate must have one length")
    end = whole(stop, 0, len(parent), "stop")
    first = whole(start, 0, end, "start")
    if np.any(parent >= np.arange(len(parent))) or np.any(parent < -1):
        raise ValueError("a parent must come before its population")
    table = np.concatenate([np.empty(0), *(share.ravel() for share in shares)])
    bases = np.cumsum([0, *(share.size for share in shares)])
    widths = np.array([share.shape[1] for share in shares], np.int64)
    heights = np.array([share.shape[0] for share in shares], np.int64)
    if len(parent) and (attribute.min() < 0 or attribute.max() >= n_attributes or predicate.min() < 0
                        or np.any(predicate >= heights[attribute])):
        raise ValueError("a population names an attribute or a predicate that does not exist")
    cdef const double[::1] share_of = table
    cdef const int64_t[::1] row_of = np.ascontiguousarray(bases[attribute] + predicate * widths[attribute], np.int64)
    cdef const int64_t[::1] above = parent
    cdef const int32_t[::1] on = attribute
    cdef const uint32_t[::1] group = groups if buckets else np.empty(0, np.uint32)
    cdef const int64_t[::1] sizes = np.add.reduceat(np.append(lists[2], 0), lists[0][:n_groups]) if n_groups and buckets else np.empty(0, np.int64)
    chain = []
    i = parent[first] if first < end else -1
    while i >= 0:
        chain.append(i)
        i = parent[i]
    cdef const int64_t[::1] todo = np.array([*chain[::-1], *range(first, end)], np.int64)
    cdef int64_t n_chain = len(chain)
    depths = np.zeros(len(todo), np.int64)
    position = {-1: -1}
    for k in range(len(todo)):
        if above[todo[k]] not in position:
            raise ValueError("populations must be in depth-first order")
        depths[k] = 0 if above[todo[k]] < 0 else depths[position[above[todo[k]]]] + 1
        position[todo[k]] = k
    cdef const int64_t[::1] depth = depths
    n_levels = int(depths.max()) + 2 if len(todo) else 1
    # per level: the boxes of a population, one more than there can be, and their weights
    cdef list keep = []
    cdef uint32_t** box = <uint32_t**>take(keep, n_levels, sizeof(uint32_t*))
    cdef double** weights = <double**>take(keep, n_levels, sizeof(double*))
    cdef int64_t* lengths = <int64_t*>take(keep, n_levels, sizeof(int64_t))
    for d in range(n_levels):
        box[d] = <uint32_t*>take(keep, n_boxes + 1, sizeof(uint32_t))
        weights[d] = <double*>take(keep, n_boxes + 1, sizeof(double))
    estimates = np.zeros((end - first, n_values))
    cdef double[:, ::1] estimate = estimates
    with nogil:
        lengths[0] = n_boxes
        for i in range(n_boxes):
            box[0][i] = <uint32_t> i
            weights[0][i] = 1.0
        for k in range(todo.shape[0]):
            i = todo[k]
            d = depth[k]
            n = weigh(box[d], weights[d], lengths[d], &cell[on[i], 0], &share_of[row_of[i]], box[d + 1],
                      weights[d + 1])
            lengths[d + 1] = n
            if k < n_chain:
                continue
            j = 0
            while j < n:
                weight = weights[d + 1][j]
                if buckets:
                    g = group[box[d + 1][j]]
                    j += 1
                    while j < n and group[box[d + 1][j]] == g:
                        weight += weights[d + 1][j]
                        j += 1
                    weight /= sizes[g]
                else:
                    g = box[d + 1][j]
                    j += 1
                for e in range(begins[g], begins[g + 1]):
                    estimate[i - first, value[e]] += weight * listed[e]
    return estimates


def _boxes_of(cells, shares, groups):
    """The cells of boxes, the shares of cells and the groups of boxes (or None), each checked."""
    given(shares=shares)
    cells = array_of(cells, np.uint32, 2, "cells")
    shares = [array_of(share, np.float64, 2, "shares") for share in shares]
    if len(shares) != len(cells):
        raise ValueError("every attribute needs its shares")
    for share, column in zip(shares, cells):
        if len(column) and int(column.max()) >= share.shape[1]:
            raise ValueError("a box has a cell that its attribute's shares do not cover")
    return cells, shares, None if groups is None else array_of(groups, np.uint32, 1, "groups")


def _check_groups(groups, n_boxes, n_groups):
    if groups is None:
        if n_boxes != n_groups:
            raise ValueError("without groups every box is one")
    elif len(groups) != n_boxes or np.any(groups[1:] < groups[: max(n_boxes - 1, 0)]) or (n_boxes and int(groups.max()) >= n_groups):
        raise ValueError("groups must give every box or row a group, ascending")


def _lists_of(offsets, values, counts, n_values):
    """The values of groups and how often each is held, checked."""
    values, counts = array_of(values, np.uint32, 1, "values"), array_of(counts, np.int64, 1, "counts")
    offsets = parts_of(offsets, len(counts), "offsets")
    if len(values) != len(counts):
        raise ValueError("every count needs its value")
    if len(values) and (int(values.max()) >= n_values or not 1 <= int(counts.min()) <= int(counts.max()) <= MOST_ROWS):
        raise ValueError("a value lies beyond n_values, or a count is not one of rows")
    return offsets, values, counts


# ---------------------------------------------------------------- COUNT queries

cdef enum:
    WORDS = 128  # of a block of rows, whose bitmaps are in the cache together
    BLOCK = 8192
    CHUNK = 1 << 16  # rows of one task
    FEW_RUNS = 20  # a predicate of more is looked up row by row


cdef void widen(const uint8_t* codes, int64_t width, int64_t start, int64_t n, uint32_t* wide) noexcept nogil:
    # wide[i] = code of row start + i
    cdef int64_t i
    cdef const uint16_t* middle = <const uint16_t*> codes
    if width == 1:
        for i in range(n):
            wide[i] = codes[start + i]
    elif width == 2:
        for i in range(n):
            wide[i] = middle[start + i]
    else:
        memcpy(wide, codes + start * 4, n * 4)


cdef void mark(const uint32_t* code, const uint32_t* interval, int64_t n, int64_t n_bounds,
               uint64_t* below) noexcept nogil:
    # below[j] becomes the bitmap of the rows whose code lies below bound j: in the intervals 0..j.
    cdef int64_t i, j
    memset(below, 0, (n_bounds + 1) * WORDS * sizeof(uint64_t))
    for i in range(n):
        below[<int64_t> interval[code[i]] * WORDS + (i >> 6)] |= <uint64_t> 1 << (i & 63)
    for j in range(1, n_bounds):
        for i in range(WORDS):
            below[j * WORDS + i] |= below[(j - 1) * WORDS + i]


cdef void combine(const uint64_t* below, const uint32_t* bounds, int64_t n, uint64_t* bits) noexcept nogil:
    # The rows below an odd number of the bounds at which a predicate begins and ends.
    cdef int64_t i, k
    cdef const uint64_t* one
    memset(bits, 0, WORDS * sizeof(uint64_t))
    for k in range(n):
        one = below + <int64_t> bounds[k] * WORDS
        for i in range(WORDS):
            bits[i] ^= one[i]


cdef void transpose(uint64_t* x) noexcept nogil:
    # Bit j of x[i] becomes bit i of x[j], for 64 words (Warren, Hacker's Delight, 7-3).
    cdef int j = 32, k
    cdef uint64_t mask = 0xFFFFFFFF, swapped
    while j:
        k = 0
        while k < 64:
            swapped = ((x[k] >> j) ^ x[k + j]) & mask
            x[k] ^= swapped << j
            x[k + j] ^= swapped
            k = (k + j + 1) & ~j
        j >>= 1
        mask ^= mask << j


cdef void look_up(const uint32_t* code, int64_t n, const uint64_t* members, int64_t stride, const int64_t* items,
                  int64_t n_items, uint64_t* bits) noexcept nogil:
    # The rows inside up to 64 predicates: bit t of members[code * stride] says whether item t holds the code.
    cdef int64_t i, k, t
    cdef uint64_t[64] words
    for t in range(n_items):
        memset(bits + items[t] * WORDS, 0, WORDS * sizeof(uint64_t))
    for i in range((n + 63) >> 6):
        for k in range(64):
            words[k] = members[code[i * 64 + k] * stride] if i * 64 + k < n else 0
        transpose(words)
        for t in range(n_items):
            bits[items[t] * WORDS + i] = words[t]


cdef void settle(int64_t group, int64_t n_met, const uint8_t* member, const int64_t[::1] offsets,
                 const uint32_t[::1] values, const int64_t[::1] counts, const int64_t[::1] sizes,
                 double* estimate, int64_t* least, int64_t* most) noexcept nogil:
    # Add a bucket of which `n_met` rows meet the conditions on quasi-identifiers.
    cdef int64_t e, asked = 0
    for e in range(offsets[group], offsets[group + 1]):
        asked += counts[e] * member[values[e]]
    estimate[0] += <double> (n_met * asked) / <double> sizes[group]
    least[0] += max(n_met + asked - sizes[group], 0)
    most[0] += min(n_met, asked)


# One column of codes, of `width` bytes each.
cdef struct Column:
    const uint8_t* codes
    int64_t width


def _count_chunk(_Index index, int64_t start, int64_t stop, buckets):
    """How many of the rows start..stop - 1 meet each query; with buckets their three bounds instead."""
    cdef const int64_t[::1] interval_starts = index.interval_starts, n_bounds = index.n_bounds
    cdef const int64_t[::1] item_starts = index.item_starts, bound_offsets = index.bound_offsets
    cdef const uint32_t[::1] intervals = index.intervals, bounds = index.bounds
    cdef const int64_t[::1] many = index.many, many_starts = index.many_starts, strides = index.strides
    cdef const int64_t[::1] member_starts = index.member_starts, query_offsets = index.query_offsets
    cdef const uint64_t[::1] members = index.members
    cdef const int32_t[::1] query_items = index.query_items
    cdef int64_t n_columns = len(index.columns), n_queries = query_offsets.shape[0] - 1
    cdef list keep = []
    cdef const Column* columns = index.c
    cdef uint32_t* code = <uint32_t*>take(keep, BLOCK, sizeof(uint32_t))
    cdef uint64_t* below = <uint64_t*>take(keep, (int(np.max(n_bounds)) + 1) * WORDS, sizeof(uint64_t))
    cdef uint64_t* bits = <uint64_t*>take(keep, item_starts[n_columns] * WORDS, sizeof(uint64_t))
    cdef uint64_t* met = <uint64_t*>take(keep, WORDS, sizeof(uint64_t))
    cdef bint bucketized = buckets is not None
    cdef const uint32_t[::1] group = None
    cdef const int64_t[::1] offsets = None, counts = None, sizes = None
    cdef const uint32_t[::1] values = None
    cdef const uint8_t[:, ::1] asked = None
    cdef const int32_t[::1] asks = None
    if bucketized:
        group, offsets, values, counts, sizes, asked, asks = buckets
    totals = np.zeros(n_queries, np.int64)
    estimates, leasts, mosts = np.zeros(n_queries), np.zeros(n_queries, np.int64), np.zeros(n_queries, np.int64)
    cdef int64_t[::1] total = totals, least = leasts, most = mosts
    cdef double[::1] estimate = estimates
    # the bucket that a query is in, and how many of its rows were met so far
    cdef int64_t[::1] inside = np.full(n_queries, -1, np.int64), n_met = np.zeros(n_queries, np.int64)
    cdef int64_t b, low, n, c, t, q, k, i, g
    cdef uint64_t word
    with nogil:
        for b in range((stop - start + BLOCK - 1) // BLOCK):
            low = start + b * BLOCK
            n = min(stop - low, <int64_t> BLOCK)
            for c in range(n_columns):
                if item_starts[c] == item_starts[c + 1]:
                    continue
                widen(columns[c].codes, columns[c].width, low, n, code)
                mark(code, &intervals[interval_starts[c]], n, n_bounds[c], below)
                for t in range(item_starts[c], item_starts[c + 1]):
                    combine(below, &bounds[bound_offsets[t]], bound_offsets[t + 1] - bound_offsets[t],
                            &bits[t * WORDS])
                for t in range(many_starts[c], many_starts[c + 1], 64):
                    look_up(code, n, &members[member_starts[c] + (t - many_starts[c]) // 64], strides[c],
                            &many[t], min(many_starts[c + 1] - t, <int64_t> 64), bits)
            for q in range(n_queries):
                memcpy(met, &bits[query_items[query_offsets[q]] * WORDS], WORDS * sizeof(uint64_t))
                for k in range(query_offsets[q] + 1, query_offsets[q + 1]):
                    for i in range(WORDS):
                        met[i] &= bits[query_items[k] * WORDS + i]
                if not bucketized:
                    total[q] += count_bits(met, WORDS)
                    continue
                for i in range(WORDS):
                    word = met[i]
                    while word:
                        g = group[low + (i << 6) + lowest_bit(word)]
                        word &= word - 1
                        if g != inside[q]:
                            if n_met[q]:
                                settle(inside[q], n_met[q], &asked[asks[q], 0], offsets, values, counts, sizes,
                                       &estimate[q], &least[q], &most[q])
                            inside[q] = g
                            n_met[q] = 0
                        n_met[q] += 1
        if bucketized:
            for q in range(n_queries):
                if n_met[q]:
                    settle(inside[q], n_met[q], &asked[asks[q], 0], offsets, values, counts, sizes,
                           &estimate[q], &least[q], &most[q])
    return (estimates, leasts, mosts) if bucketized else (totals,)


cdef class _Index:
    """Columns, predicates and queries as `_count_chunk` reads them."""

    cdef list keep
    cdef const Column* c
    cdef readonly int64_t n_rows
    cdef readonly int64_t n_queries
    cdef object columns, item_starts, intervals, interval_starts, n_bounds, bounds, bound_offsets, members
    cdef object member_starts, strides, many, many_starts, query_items, query_offsets

    def __cinit__(self, columns, predicates, queries):
        cdef const uint8_t[::1] view
        cdef Column* each
        columns, predicates, queries = _queries_of(columns, predicates, queries)
        self.columns = columns
        self.n_rows = len(columns[0])
        self.n_queries = len(queries)
        self.keep = []
        each = <Column*>take(self.keep, len(columns), sizeof(Column))
        self.c = each
        for at, column in enumerate(columns):
            each[at].width = column.itemsize
            if self.n_rows:
                view = column.view(np.uint8)
                each[at].codes = &view[0]
        self.item_starts = np.concatenate([[0], np.cumsum([len(listed[0]) - 1 for listed in predicates])])
        intervals, bounds, n_bounds, bound_lengths = [], [], [], []
        members, strides, many = [], [], []
        for column, (offsets, first, last), start in zip(columns, predicates, self.item_starts):
            n_codes = int(column.max()) + 1 if len(column) else 1
            begin = np.minimum(first.astype(np.int64), n_codes)
            end = np.minimum(last.astype(np.int64) + 1, n_codes)
            few = np.diff(offsets) <= FEW_RUNS
            marked = np.repeat(few, np.diff(offsets))
            ends = np.unique(np.concatenate([begin[marked], end[marked]]))
            intervals.append(np.searchsorted(ends, np.arange(n_codes), side="right").astype(np.uint32))
            n_bounds.append(len(ends))
            of_few = np.repeat(np.arange(len(few)), np.diff(offsets))[marked]
            both = np.concatenate([begin[marked], end[marked]])
            order = np.argsort(np.concatenate([of_few, of_few]), kind="stable")
            bounds.append(np.searchsorted(ends, both[order]).astype(np.uint32))
            bound_lengths.append(2 * np.diff(offsets) * few)
            looked_up = np.flatnonzero(~few)
            stride = (len(looked_up) + 63) // 64
            # +1 where a run begins, -1 behind its end; no two runs of a predicate share either
            change = np.zeros((n_codes + 1, stride * 64), np.int8)
            of_run = np.repeat(np.cumsum(~few) - 1, np.diff(offsets))[~marked]
            change[begin[~marked], of_run] += 1
            change[end[~marked], of_run] -= 1
            member = np.cumsum(change[:n_codes], axis=0, dtype=np.int8).view(np.uint8)
            members.append(np.packbits(member, axis=1, bitorder="little").view("<u8").astype(np.uint64).ravel())
            strides.append(stride)
            many.append(start + looked_up)
        none = np.zeros(1, np.uint32)  # has an address where there is nothing else
        self.intervals = np.concatenate(intervals)
        self.interval_starts = np.cumsum([0, *map(len, intervals)])[: len(columns)]
        self.n_bounds = np.array(n_bounds, np.int64)
        self.bounds = np.concatenate([*bounds, none])
        self.bound_offsets = np.concatenate([[0], np.cumsum(np.concatenate(bound_lengths))]).astype(np.int64)
        self.members = np.concatenate([*members, none.astype(np.uint64)])
        self.member_starts = np.cumsum([0, *map(len, members)])[: len(columns)]
        self.strides = np.array(strides, np.int64)
        self.many = np.concatenate([*many, none]).astype(np.int64)
        self.many_starts = np.cumsum([0, *map(len, many)])
        at, column_of = np.nonzero(queries >= 0)
        self.query_items = (self.item_starts[column_of] + queries[at, column_of]).astype(np.int32)
        self.query_offsets = np.searchsorted(at, np.arange(len(queries) + 1)).astype(np.int64)


def _queries_of(columns, predicates, queries):
    """Columns, their predicates and queries, checked."""
    columns = _columns_of(columns, "columns")
    predicates = _predicates_of(predicates, len(columns), empty=True)
    queries = array_of(queries, np.int32, 2, "queries")
    if not columns or queries.shape[1] != len(columns):
        raise ValueError("every column needs its predicates and its column of queries")
    for (offsets, _, _), chosen in zip(predicates, queries.T):
        if len(chosen) and (int(chosen.max()) >= len(offsets) - 1 or int(chosen.min()) < -1):
            raise ValueError("a query names a predicate that does not exist")
    if len(queries) and np.any(np.max(queries, axis=1) < 0):
        raise ValueError("a query needs at least one condition")
    return columns, predicates, queries


def count(columns, predicates, queries, n_threads=1):
    """How many rows meet each query (int64).

    `columns` are code columns (uint8, uint16 or uint32). `predicates[a]` = (offsets int64, first uint32,
    last uint32) lists those of column a: predicate p holds the codes first[r]..last[r] (inclusive)
    of the runs r = offsets[p]..offsets[p + 1] - 1. Query q asks for rows that meet predicate
    `queries[q, a]` (int32, -1: none) of every column a. Rows are taken block by block: bitmaps of
    all predicates, then their conjunctions.
    """
    n_threads = whole(n_threads, 1, MOST_ROWS, "n_threads")
    index = _Index(columns, predicates, queries)
    tasks = [(index, low, min(low + CHUNK, index.n_rows), None) for low in range(0, index.n_rows, CHUNK)]
    total = np.zeros(index.n_queries, np.int64)
    for (part,) in in_threads(_count_chunk, tasks, n_threads):
        total += part
    return total


def count_buckets(columns, predicates, queries, groups, offsets, values, counts, asked, asks, n_threads=1):
    """Estimate, least and most of each query's count from buckets (float64, int64, int64).

    Arguments as in `count`, but the rows are those of the buckets `groups` (uint32, ascending) and the
    columns quasi-identifiers only. Bucket g holds the sensitive values `values[offsets[g]:offsets[g + 1]]`
    (uint32) `counts` times each (int64); query q asks for the values v with `asked[asks[q], v]` (bool,
    int32). With q rows of a bucket b that meet the other conditions and c rows of the asked values
    it adds q*c/|b|, max(0, q + c - |b|) and min(q, c).
    """
    n_threads = whole(n_threads, 1, MOST_ROWS, "n_threads")
    index = _Index(columns, predicates, queries)
    groups = array_of(groups, np.uint32, 1, "groups")
    asked, asks = _asked_of(asked, asks, index.n_queries)
    offsets, values, counts = _lists_of(offsets, values, counts, asked.shape[1])
    n_groups = len(offsets) - 1
    _check_groups(groups, index.n_rows, n_groups)
    sizes = np.add.reduceat(np.append(counts, 0), offsets[:n_groups]) if n_groups else np.empty(0, np.int64)
    bounds = [0]
    while bounds[len(bounds) - 1] < index.n_rows:
        start = bounds[len(bounds) - 1]
        full = int(np.searchsorted(groups, groups[min(start + CHUNK, index.n_rows) - 1], side="right"))
        bounds.append(full)
    buckets = (groups, offsets, values, counts, sizes, asked, asks)
    tasks = [(index, low, high, buckets) for low, high in zip(bounds, bounds[1:])]
    results = (np.zeros(index.n_queries), np.zeros(index.n_queries, np.int64), np.zeros(index.n_queries, np.int64))
    for parts in in_threads(_count_chunk, tasks, n_threads):
        for result, part in zip(results, parts):
            result += part
    return results


def _asked_of(asked, asks, n_queries):
    """The sets of sensitive values, and which one each query asks for, checked."""
    asked, asks = array_of(asked, np.uint8, 2, "asked"), array_of(asks, np.int32, 1, "asks")
    if len(asks) != n_queries or (n_queries and not 0 <= int(asks.min()) <= int(asks.max()) < len(asked)):
        raise ValueError("every query must ask for one of the sets of sensitive values")
    if asked.size and int(asked.max()) > 1:
        raise ValueError("asked must be yes or no")
    return asked, asks


def _estimate_block(const uint32_t[:, ::1] cells, const double[::1] shares, const uint8_t[::1] kinds,
                    const int64_t[::1] query_offsets, const int64_t[::1] query_rows, const int32_t[::1] query_columns,
                    const int64_t[::1] offsets, const uint32_t[::1] values, const int64_t[::1] counts,
                    const uint8_t[:, ::1] asked, const int32_t[::1] asks, int64_t first, int64_t end,
                    double[::1] estimate, int64_t[::1] least, int64_t[::1] most):
    cdef int64_t n_boxes = cells.shape[1], q, b, k, e, at, rows
    cdef double weight
    cdef uint8_t kind
    with nogil:
        for q in range(first, end):
            for b in range(n_boxes):
                weight = 1.0
                kind = 2
                for k in range(query_offsets[q], query_offsets[q + 1]):
                    at = query_rows[k] + cells[query_columns[k], b]
                    kind = min(kind, kinds[at])
                    if kind == 0:
                        break
                    weight *= shares[at]
                if kind == 0:
                    continue
                rows = 0
                for e in range(offsets[b], offsets[b + 1]):
                    rows += counts[e] * asked[asks[q], values[e]]
                estimate[q] += weight * rows
                most[q] += rows
                if kind == 2:
                    least[q] += rows


def estimate(cells, shares, kinds, queries, offsets, values, counts, asked, asks, n_threads=1):
    """Estimate, least and most of each query's count from a generalized release (float64, int64, int64).

    Class b shows the cells `cells[a, b]` (uint32); predicate p of attribute a has the part
    `shares[a][p, cell]` (float64) of a cell, of whose rows `kinds[a][p, cell]` (uint8) says whether none
    (0), some (1) or all (2) can meet it. Query q asks for predicate `queries[q, a]` (int32, -1: none)
    and for the sensitive values v with `asked[asks[q], v]` (bool, int32); class b holds the values
    `values[offsets[b]:offsets[b + 1]]` (uint32) `counts` times each (int64).
    """
    given(kinds=kinds)
    n_threads = whole(n_threads, 1, MOST_ROWS, "n_threads")
    cells, shares, _ = _boxes_of(cells, shares, None)
    kinds = [array_of(kind, np.uint8, 2, "kinds") for kind in kinds]
    queries = array_of(queries, np.int32, 2, "queries")
    asked, asks = _asked_of(asked, asks, len(queries))
    offsets, values, counts = _lists_of(offsets, values, counts, asked.shape[1])
    _check_groups(None, cells.shape[1], len(offsets) - 1)
    heights = np.array([share.shape[0] for share in shares], np.int64)
    widths = np.array([share.shape[1] for share in shares], np.int64)
    if queries.shape[1] != len(shares) or np.any(queries >= heights) or np.any(queries < -1):
        raise ValueError("a query names a predicate that does not exist")
    if [kind.shape for kind in kinds] != [share.shape for share in shares]:
        raise ValueError("kinds must have the shapes of shares")
    at, column_of = np.nonzero(queries >= 0)
    bases = np.cumsum([0, *(share.size for share in shares)])
    results = (np.zeros(len(queries)), np.zeros(len(queries), np.int64), np.zeros(len(queries), np.int64))
    fixed = (
        cells,
        np.concatenate([np.empty(0), *(share.ravel() for share in shares)]),
        np.concatenate([np.empty(0, np.uint8), *(kind.ravel() for kind in kinds)]),
        np.searchsorted(at, np.arange(len(queries) + 1)).astype(np.int64),
        np.ascontiguousarray(bases[column_of] + queries[at, column_of] * widths[column_of], np.int64),
        column_of.astype(np.int32),
        offsets, values, counts, asked, asks,
    )
    tasks = [(*fixed, low, min(low + 16, len(queries)), *results) for low in range(0, len(queries), 16)]
    in_threads(_estimate_block, tasks, n_threads)
    return results
