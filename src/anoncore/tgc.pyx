# SPDX-License-Identifier: Apache-2.0
# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Threshold-based greedy clustering with median-based pre-partitioning (Loukides & Shao 2008).

Rows are one matrix of codes: quasi-identifiers, then sensitive attributes. Every order is that of the
rows: seeds, ties and leftovers take the first.
"""

from libc.math cimport INFINITY
from libc.string cimport memcpy, memset

import numpy as np

from cpython.exc cimport PyErr_CheckSignals

from anoncore.attribute cimport Attribute, Extent, ancestor, extents_of, span, width_of
from anoncore.diversity cimport (
    Cell, Closeness, Nearness, Spread, contribution_with, join_cell, join_spread, leave_cell, leave_spread,
    s_diversity_of, s_diversity_with, width, width_with,
)
from anoncore.doors import MOST_ROWS, all_of, array_of, codes_of, one_of, parts_of, real, whole
from anoncore.threads import until_done
from anoncore.memory cimport Array, extend as extend_array, growing, reserve, take as take_array
from anoncore.sort cimport sort_keys
from anoncore.types cimport (
    FLAT, ORDERED, TREE, code_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t,
)

CHUNK_ROWS = 1 << 14    # subspaces are clustered in tasks of at least so many rows
SUBTREE_ROWS = 1 << 16  # larger nodes are halved as one task each, smaller ones with all below them

cdef enum:
    EQUAL = 512         # equal rows that may stay in one subspace
    MATRIX = 1 << 22    # increases of rows by clusters that `reinsert` keeps at a time

cdef double TOLERANCE = 1e-9


cdef struct Terms:
    int64_t m
    int64_t p
    const Extent* extents
    const Nearness* nearness
    const double* weights   # of the sensitive attributes
    double w_u
    double w_p


cdef class Objective:
    """Weighted tuple diversity (definition 3.1): w_u * mean width + w_p * mean weighted S-diversity.

    `attributes` are `attribute.Attribute`s, `closeness` the `diversity.Closeness` of each sensitive
    attribute and `weights` (float64, 1 by default) what its S-diversity is multiplied by. A mean over
    no attribute is 0.
    """

    cdef Terms c
    cdef readonly tuple attributes
    cdef readonly tuple closeness
    cdef list keep

    def __cinit__(self, attributes, closeness=(), weights=None, *, w_u, w_p):  # it runs exactly once
        w_u, w_p = real(w_u, "w_u"), real(w_p, "w_p")
        if not (0 <= w_u <= 1 and 0 <= w_p <= 1) or abs(w_u + w_p - 1) > TOLERANCE:
            raise ValueError("w_u and w_p must lie between 0 and 1 and sum to 1")
        self.keep = []
        self.attributes = all_of(attributes, Attribute, "attributes")
        self.closeness = all_of(closeness, Closeness, "closeness")
        self.c.m = len(self.attributes)
        self.c.p = len(self.closeness)
        self.c.extents = extents_of(self.attributes, self.keep)
        self.c.nearness = nearness_of(self.closeness, self.keep)
        each = np.ones(self.c.p) if weights is None else array_of(weights, np.float64, 1, "weights")
        if len(each) != self.c.p or not np.isfinite(each).all() or np.min(each, initial=0.0) < 0:
            raise ValueError("weights must be finite and at least 0, one per sensitive attribute")
        cdef double* own = <double*>take_array(self.keep, self.c.p, sizeof(double))
        for a in range(self.c.p):
            own[a] = each[a]
        self.c.weights = own
        self.c.w_u = w_u
        self.c.w_p = w_p


cdef const Nearness* nearness_of(tuple closeness, list keep) except NULL:
    cdef Nearness* nearness = <Nearness*>take_array(keep, len(closeness), sizeof(Nearness))
    cdef Closeness one
    cdef int64_t b
    for b in range(len(closeness)):
        one = closeness[b]
        nearness[b] = one.nearness
    keep.append(closeness)
    return nearness


cdef Spread* spreads_of(tuple closeness, list keep) except NULL:
    cdef Spread* spreads = <Spread*>take_array(keep, len(closeness), sizeof(Spread))
    cdef Closeness one
    cdef int64_t b
    for b in range(len(closeness)):
        one = closeness[b]
        spreads[b].counts = <double*>take_array(keep, one.n_counts, sizeof(double))
        spreads[b].sums = <double*>take_array(keep, one.n_counts, sizeof(double))
    return spreads


def _codes_of(codes, attributes, closeness):
    # One column of codes per attribute, none beyond its domain.
    codes = codes_of(codes, 2, "codes")
    if codes.shape[1] != len(attributes) + len(closeness) or codes.shape[1] == 0:
        raise ValueError("one column of codes per attribute, and at least one")
    limits = [one.n_values for one in attributes] + [one.n_values - 1 for one in closeness]
    if len(codes) and (codes.max(axis=0) > limits).any():
        raise ValueError("a code lies beyond its attribute's domain")
    return codes


# ---- pre-partitioning

cdef struct Kd:
    int64_t m
    int64_t p
    const Extent* extents
    const Nearness* nearness
    int64_t s
    double limit
    int64_t limited       # rows up to which parts are limited
    bint mend
    uint32_t* rows        # of the answer
    uint8_t* starts


cdef struct Scratch:
    uint32_t* low
    uint32_t* high
    uint8_t* seen         # by code of a flat attribute; zero between uses
    Spread* spreads[2]    # of the left and the right part
    uint32_t* values      # the codes of one attribute, ascending
    int64_t* below        # by value: rows with a lower one
    uint32_t* counts
    uint64_t* keys
    uint64_t* spare
    Array* pending        # of nodes


# Rows with a code below `code`, and the first `quota` of those that have it, go left.
cdef struct Cut:
    int64_t attribute     # -1: every other row goes left
    uint32_t code
    int64_t quota
    int64_t size          # of the left part; 0: no cut


cdef struct Node:
    int64_t start
    int64_t size
    int32_t depth         # its rows lie in buffer depth & 1


cdef void extend(const code_t* codes, int64_t lanes, int64_t n, int64_t m,
                 uint32_t* low, uint32_t* high) noexcept nogil:
    cdef int64_t i, a
    cdef uint32_t code
    for a in range(m):
        low[a] = high[a] = codes[a]
    for i in range(n):
        for a in range(m):
            code = codes[lanes * i + a]
            low[a] = code if code < low[a] else low[a]
            high[a] = code if code > high[a] else high[a]


cdef int64_t count_labels(const code_t* codes, int64_t lanes, int64_t n, uint8_t* seen) noexcept nogil:
    cdef int64_t i, distinct = 0
    for i in range(n):
        distinct += seen[codes[lanes * i]] == 0
        seen[codes[lanes * i]] = 1
    for i in range(n):
        seen[codes[lanes * i]] = 0
    return distinct


cdef int64_t widest(const Kd* kd, Scratch* w, const code_t* codes, int64_t n) noexcept nogil:
    # The widest attribute, ties: the first; -1 if all are 0 wide.
    cdef int64_t a, best = -1, lanes = kd.m + kd.p
    cdef double here, most = 0.0
    cdef const Extent* extent
    cdef int32_t node
    extend(codes, lanes, n, kd.m, w.low, w.high)
    for a in range(kd.m):
        extent = &kd.extents[a]
        node = 0
        if w.low[a] == w.high[a]:
            continue
        if w.high[a] == extent.n_values:
            here = extent.full
        else:
            if extent.kind == TREE:
                node = ancestor(extent, extent.leaf[w.low[a]], w.high[a])
            here = width_of(extent, w.low[a], w.high[a], node, <int64_t>w.high[a] - w.low[a] + 1)
            if extent.kind == FLAT and here > most:
                here = width_of(extent, 0, 0, 0, count_labels(codes + a, lanes, n, w.seen))
        if here > most:
            most = here
            best = a
    return best


cdef uint32_t code_at(const code_t* codes, int64_t lanes, int64_t n, uint32_t low, uint32_t high,
                      int64_t rank, int64_t* below) noexcept nogil:
    # The code of the row with this rank (from 0) by code. OUT below: the rows with a lower code.
    cdef int64_t counts[256]
    cdef int64_t i
    cdef uint32_t code, digits = 0, range_ = high - low
    cdef int32_t shift = 0
    while range_ >> shift > 255:
        shift += 8
    below[0] = 0
    while True:
        memset(counts, 0, sizeof(counts))
        for i in range(n):
            code = codes[lanes * i] - low
            # the digits above this one are those found (a shift by 32 would be undefined)
            counts[(code >> shift) & 255] += ((code >> shift) >> 8) == ((digits >> shift) >> 8)
        i = 0
        while below[0] + counts[i] <= rank:
            below[0] += counts[i]
            i += 1
        digits |= <uint32_t>i << shift
        if shift == 0:
            return low + digits
        shift -= 8


cdef int64_t list_values(Scratch* w, const code_t* codes, int64_t lanes, int64_t n, uint32_t low,
                         uint32_t high) noexcept nogil:
    # OUT values, below: the distinct codes; returns their number.
    cdef int64_t i, d = 0, range_ = <int64_t>high - low + 1, sum_ = 0
    if range_ <= 2 * n:
        memset(w.counts, 0, range_ * sizeof(uint32_t))
        for i in range(n):
            w.counts[codes[lanes * i] - low] += 1
        for i in range(range_):
            if w.counts[i]:
                w.values[d] = low + <uint32_t>i
                w.below[d] = sum_
                sum_ += w.counts[i]
                d += 1
        return d
    for i in range(n):
        w.keys[i] = codes[lanes * i]
    sort_keys(&w.keys, NULL, &w.spare, NULL, n, 0)
    for i in range(n):
        if i == 0 or w.keys[i] != w.keys[i - 1]:
            w.values[d] = <uint32_t>w.keys[i]
            w.below[d] = i
            d += 1
    return d


cdef Cut halving_cut(const Kd* kd, Scratch* w, const code_t* codes, int64_t n) noexcept nogil:
    # The first half of the rows by code of the widest attribute.
    cdef int64_t lanes = kd.m + kd.p, below = 0
    cdef Cut cut = Cut(widest(kd, w, codes, n), 0, 0, 0)
    if cut.attribute >= 0:
        cut.size = (n + 1) // 2
        cut.code = code_at(codes + cut.attribute, lanes, n, w.low[cut.attribute], w.high[cut.attribute],
                           cut.size - 1, &below)
        cut.quota = cut.size - below
    return cut


cdef Cut narrowing_cut(const Kd* kd, Scratch* w, const code_t* codes, int64_t n) noexcept nogil:
    # Between two values: the cut that lowers the sum of rows times width of its attribute most.
    cdef int64_t a, d, i, left, lanes = kd.m + kd.p, least = kd.s if kd.s > n >> 6 else n >> 6
    cdef double gain, most = 0.0, whole
    cdef const Extent* extent
    cdef Cut cut = Cut(0, 0, 0, 0)
    extend(codes, lanes, n, kd.m, w.low, w.high)
    for a in range(kd.m):
        extent = &kd.extents[a]
        if w.low[a] == w.high[a]:
            continue
        d = list_values(w, codes + a, lanes, n, w.low[a], w.high[a])
        whole = <double>n * span(extent, w.low[a], w.high[a], d)
        for i in range(1, d):
            left = w.below[i]
            if left < least or n - left < least:
                continue
            gain = whole - (<double>left * span(extent, w.low[a], w.values[i - 1], i)
                            + <double>(n - left) * span(extent, w.values[i], w.high[a], d - i))
            if gain > most:
                most = gain
                cut = Cut(a, w.values[i], 0, left)
    return cut


cdef inline bint goes_left(Cut* cut, const code_t* row, int64_t i) noexcept nogil:
    # Asked of rows 0, 1, .. in turn.
    cdef bint left
    if cut.attribute < 0:
        return i & 1 == 0
    left = (row[cut.attribute] < cut.code) | ((row[cut.attribute] == cut.code) & (cut.quota > 0))
    cut.quota -= row[cut.attribute] == cut.code
    return left


cdef bint is_protected(const Kd* kd, Scratch* w, const code_t* codes, int64_t n, Cut cut) noexcept nogil:
    # Is the sum of S-diversities of both parts within the limit?
    cdef int64_t i, b, part, lanes = kd.m + kd.p
    cdef const code_t* row
    cdef double near[2]
    for b in range(kd.p):
        for part in range(2):
            w.spreads[part][b].size = w.spreads[part][b].pairs = 0.0
    for i in range(n):
        row = codes + lanes * i
        part = 1 - goes_left(&cut, row, i)
        for b in range(kd.p):
            join_spread(&kd.nearness[b], &w.spreads[part][b], row[kd.m + b])
    for part in range(2):
        near[part] = 0.0
        for b in range(kd.p):
            near[part] += s_diversity_of(&kd.nearness[b], &w.spreads[part][b])
    for i in range(n):
        for b in range(kd.p):
            leave_spread(&kd.nearness[b], &w.spreads[0][b], codes[lanes * i + kd.m + b])
            leave_spread(&kd.nearness[b], &w.spreads[1][b], codes[lanes * i + kd.m + b])
    return near[0] <= kd.limit + TOLERANCE and near[1] <= kd.limit + TOLERANCE


cdef int64_t halve(const Kd* kd, Scratch* w, const code_t* codes, const uint32_t* rows, int64_t n,
                   code_t* codes_out, uint32_t* rows_out) noexcept nogil:
    # The rows left of the cut in order, then the others. Returns the size of the left part, 0 if the
    # node is final.
    cdef int64_t i, left = 0, right, to, lanes = kd.m + kd.p
    cdef bint large, goes
    cdef Cut cut = Cut(0, 0, 0, 0)
    if n // 2 < kd.s:
        return 0
    large = n > 4 * kd.s
    if kd.mend:
        cut = narrowing_cut(kd, w, codes, n)
    if cut.size == 0 and (large or not kd.mend):
        cut = halving_cut(kd, w, codes, n)
        if cut.size == 0 and kd.mend and n > EQUAL:
            cut.size = (n + 1) // 2
    if cut.size == 0:
        return 0
    if kd.p and n <= kd.limited and not is_protected(kd, w, codes, n, cut):
        return 0
    right = cut.size
    for i in range(n):
        goes = goes_left(&cut, codes + lanes * i, i)
        to = left if goes else right
        memcpy(codes_out + lanes * to, codes + lanes * i, lanes * sizeof(code_t))
        rows_out[to] = rows[i]
        left += goes
        right += 1 - goes
    return cut.size


cdef bint halve_all(const Kd* kd, Scratch* w, code_t* even, code_t* odd, uint32_t* even_rows,
                    uint32_t* odd_rows, Node node) noexcept nogil:
    # A node and all below it. The rows of a node of even depth lie in `even`. False: memory is short.
    cdef int64_t half, at, lanes = kd.m + kd.p
    cdef Node* parts
    if not reserve(w.pending, 1):
        return False
    (<Node*>extend_array(w.pending, 1))[0] = node
    while w.pending.length:
        w.pending.length -= 1
        node = (<Node*>w.pending.at)[w.pending.length]
        at = lanes * node.start
        if node.depth & 1:
            half = halve(kd, w, odd + at, odd_rows + node.start, node.size, even + at, even_rows + node.start)
        else:
            half = halve(kd, w, even + at, even_rows + node.start, node.size, odd + at, odd_rows + node.start)
        if half == 0:
            kd.starts[node.start] = 1
            memcpy(kd.rows + node.start, (odd_rows if node.depth & 1 else even_rows) + node.start,
                   node.size * sizeof(uint32_t))
            continue
        if not reserve(w.pending, 2):
            return False
        parts = <Node*>extend_array(w.pending, 2)
        parts[0] = Node(node.start + half, node.size - half, node.depth + 1)
        parts[1] = Node(node.start, half, node.depth + 1)
    return True


cdef int64_t cut_node(const Kd* kd, Scratch* w, code_t* even, code_t* odd, uint32_t* even_rows,
                      uint32_t* odd_rows, Node node, bint whole) noexcept nogil:
    # The size of the left part if the node is halved and its parts are still to be; else 0. -1: memory is short.
    cdef int64_t half = 0, at = (kd.m + kd.p) * node.start
    if not whole and node.depth & 1:
        half = halve(kd, w, odd + at, odd_rows + node.start, node.size, even + at, even_rows + node.start)
    elif not whole:
        half = halve(kd, w, even + at, even_rows + node.start, node.size, odd + at, odd_rows + node.start)
    if half == 0 and not halve_all(kd, w, even, odd, even_rows, odd_rows, node):
        return -1
    return half


cdef class _Splitting:
    # One run of `split`: what its tasks share.
    cdef Kd kd
    cdef uint8_t* codes[2]
    cdef uint32_t* rows[2]
    cdef int64_t width
    cdef int64_t n_seen
    cdef tuple closeness
    cdef list keep

    def cut(self, int64_t start, int64_t size, int32_t depth):
        # Halve a node, a small one with all below it; returns the nodes that remain, and the rows done.
        cdef list keep = []
        cdef Scratch w
        cdef Node node = Node(start, size, depth)
        cdef int64_t half
        cdef bint whole = size <= SUBTREE_ROWS
        cdef uint8_t* even = self.codes[0]
        cdef uint8_t* odd = self.codes[1]
        w.low = <uint32_t*>take_array(keep, self.kd.m, sizeof(uint32_t))
        w.high = <uint32_t*>take_array(keep, self.kd.m, sizeof(uint32_t))
        w.seen = <uint8_t*>take_array(keep, self.n_seen, 1)
        w.values = <uint32_t*>take_array(keep, size, sizeof(uint32_t))
        w.below = <int64_t*>take_array(keep, size, sizeof(int64_t))
        w.counts = <uint32_t*>take_array(keep, min(2 * size, self.n_seen), sizeof(uint32_t))
        w.keys = <uint64_t*>take_array(keep, size, sizeof(uint64_t))
        w.spare = <uint64_t*>take_array(keep, size, sizeof(uint64_t))
        w.pending = growing(keep, 1, sizeof(Node))
        w.spreads[0] = spreads_of(self.closeness, keep)
        w.spreads[1] = spreads_of(self.closeness, keep)
        with nogil:
            if self.width == 1:
                half = cut_node(&self.kd, &w, even, odd, self.rows[0], self.rows[1], node, whole)
            elif self.width == 2:
                half = cut_node(&self.kd, &w, <uint16_t*>even, <uint16_t*>odd, self.rows[0], self.rows[1], node,
                                whole)
            else:
                half = cut_node(&self.kd, &w, <uint32_t*>even, <uint32_t*>odd, self.rows[0], self.rows[1], node,
                                whole)
        if half < 0:
            raise MemoryError
        if half == 0:
            return [], size
        return [(start, half, depth + 1), (start + half, size - half, depth + 1)], 0


def split(codes, attributes, closeness=(), *, s, limit=INFINITY, limited=None, bint mend=True,
          n_threads=1, progress=None):
    """Subspaces of at least s rows (algorithm 2).

    `codes` (uint8, uint16 or uint32) has one row per row of the table, in row order, and one column
    per `attribute.Attribute` and `diversity.Closeness`. A part is halved at the median of its widest
    attribute, equal codes being shared out in row order and the left half taking the odd row. It is
    final if its halves would have less than s rows, if all its attributes are 0 wide, or if the sum
    of S-diversities of one of its halves would exceed `limit`; that holds for parts of at most `limited`
    rows (None: all).

    With `mend` the cut is the one between two values of an attribute, both parts having at least s and
    1/64 of the rows, that lowers the sum of rows times width of that attribute most. Where there is
    none, a part of more than 4 s rows is halved at the median. A part that is 0 wide is then halved, every
    other row to the left, if it has more than 512 rows: a row costs the distinct rows of its subspace.

    Returns (rows, offsets): subspace i has the rows `rows[offsets[i]:offsets[i + 1]]` (uint32,
    ascending; int64). `progress(done, total)` is told the rows done. O(n log n), whatever `n_threads`.
    """
    cdef _Splitting run = _Splitting()
    cdef uint32_t[::1] out
    cdef uint8_t[::1] starts
    cdef const uint8_t[::1] view
    cdef int64_t i, buffer
    attributes, closeness = all_of(attributes, Attribute, "attributes"), all_of(closeness, Closeness, "closeness")
    codes = _codes_of(codes, attributes, closeness)
    n = len(codes)
    n_threads = whole(n_threads, 1, MOST_ROWS, "n_threads")
    if len(attributes) == 0:
        raise ValueError("there must be an attribute")
    run.keep = []
    run.closeness = closeness
    run.kd.m = len(attributes)
    run.kd.p = len(closeness)
    run.kd.extents = extents_of(attributes, run.keep)
    run.kd.nearness = nearness_of(closeness, run.keep)
    run.kd.s = whole(s, 1, 2**63 - 1, "s")
    run.kd.limit = real(limit, "limit")
    run.kd.limited = n if limited is None else whole(limited, 0, 2**63 - 1, "limited")
    run.kd.mend = mend
    run.width = codes.dtype.itemsize
    run.n_seen = max(one.n_values for one in attributes) + 1
    if n == 0:
        return np.empty(0, np.uint32), np.zeros(1, np.int64)
    view = codes.reshape(-1).view(np.uint8)
    for buffer in range(2):
        run.codes[buffer] = <uint8_t*>take_array(run.keep, view.shape[0], 1)
        run.rows[buffer] = <uint32_t*>take_array(run.keep, n, sizeof(uint32_t))
    memcpy(run.codes[0], &view[0], view.shape[0])
    for i in range(n):
        run.rows[0][i] = <uint32_t>i
    rows, flags = np.empty(n, np.uint32), np.zeros(n, np.uint8)
    out, starts = rows, flags
    run.kd.rows = &out[0]
    run.kd.starts = &starts[0]
    until_done(run.cut, [(0, n, 0)], n_threads, None if progress is None else lambda done: progress(done, n))
    return rows, np.append(np.flatnonzero(flags), n).astype(np.int64)


# ---- a class and its weighted tuple diversity

cdef struct Cluster:
    const Terms* terms
    Cell* cells
    Spread* spreads


cdef void join(Cluster* cluster, const code_t* row) noexcept nogil:
    cdef int64_t a, m = cluster.terms.m
    for a in range(m):
        join_cell(&cluster.terms.extents[a], &cluster.cells[a], row[a])
    for a in range(cluster.terms.p):
        join_spread(&cluster.terms.nearness[a], &cluster.spreads[a], row[m + a])


cdef void leave(Cluster* cluster, const code_t* row) noexcept nogil:
    cdef int64_t a, m = cluster.terms.m
    for a in range(m):
        leave_cell(&cluster.terms.extents[a], &cluster.cells[a], row[a])
    for a in range(cluster.terms.p):
        leave_spread(&cluster.terms.nearness[a], &cluster.spreads[a], row[m + a])


cdef inline double weigh(const Terms* terms, double q, double s) noexcept nogil:
    # wtd from the sums over attributes.
    if terms.m == 0:
        return terms.w_p * (s / terms.p)
    if terms.p == 0:
        return terms.w_u * (q / terms.m)
    return terms.w_u * (q / terms.m) + terms.w_p * (s / terms.p)


cdef double wtd(const Cluster* cluster) noexcept nogil:
    cdef int64_t a
    cdef double q = 0.0, s = 0.0
    for a in range(cluster.terms.m):
        q += width(&cluster.terms.extents[a], &cluster.cells[a])
    for a in range(cluster.terms.p):
        s += cluster.terms.weights[a] * s_diversity_of(&cluster.terms.nearness[a], &cluster.spreads[a])
    return weigh(cluster.terms, q, s)


cdef double wtd_with(const Cluster* cluster, const code_t* row) noexcept nogil:
    cdef int64_t a, m = cluster.terms.m
    cdef double q = 0.0, s = 0.0
    for a in range(m):
        q += width_with(&cluster.terms.extents[a], &cluster.cells[a], row[a])
    for a in range(cluster.terms.p):
        s += cluster.terms.weights[a] * s_diversity_with(
            &cluster.terms.nearness[a], &cluster.spreads[a], row[m + a])
    return weigh(cluster.terms, q, s)


# Classes as lists of rows: head[c], next[head[c]], ..., -1.
cdef struct Lists:
    int64_t n
    int64_t* head
    int64_t* next
    int64_t* size


cdef void load(Cluster* cluster, const code_t* codes, const Lists* lists, int64_t c, bint out) noexcept nogil:
    # All rows of class c join, or with `out` leave.
    cdef int64_t i = lists.head[c], lanes = cluster.terms.m + cluster.terms.p
    while i >= 0:
        if out:
            leave(cluster, codes + lanes * i)
        else:
            join(cluster, codes + lanes * i)
        i = lists.next[i]


cdef void link(Lists* lists, int64_t c, int64_t i) noexcept nogil:
    lists.next[i] = lists.head[c]
    lists.head[c] = i
    lists.size[c] += 1


cdef void weigh_up(const Cluster* cluster, const code_t* codes, const Lists* lists, int64_t c, const int64_t* left,
                   int64_t begin, int64_t end, bint by_size, double* increase) noexcept nogil:
    # increase[lists.n * j + c]: what the row left[j] would add to class c, which is loaded.
    cdef int64_t j, lanes = cluster.terms.m + cluster.terms.p
    cdef double now = wtd(cluster), size = lists.size[c]
    for j in range(begin, end):
        if by_size:
            increase[lists.n * j + c] = (size + 1.0) * wtd_with(cluster, codes + lanes * left[j]) - size * now
        else:
            increase[lists.n * j + c] = wtd_with(cluster, codes + lanes * left[j]) - now


cdef void place(Cluster* cluster, const code_t* codes, Lists* lists, const int64_t* left, int64_t n_left,
                bint by_size, double* increase, int64_t* home) noexcept nogil:
    # Each row, in turn, joins the class to which it adds least (wtd, with `by_size` size times wtd),
    # ties: the first.
    cdef int64_t c, j, best, loaded = -1
    cdef int64_t lanes = cluster.terms.m + cluster.terms.p
    for c in range(lists.n):
        load(cluster, codes, lists, c, False)
        weigh_up(cluster, codes, lists, c, left, 0, n_left, by_size, increase)
        load(cluster, codes, lists, c, True)
    for j in range(n_left):
        best = 0
        for c in range(1, lists.n):
            if increase[lists.n * j + c] < increase[lists.n * j + best]:
                best = c
        home[left[j]] = best
        if best != loaded and loaded >= 0:
            load(cluster, codes, lists, loaded, True)
        link(lists, best, left[j])
        if best == loaded:
            join(cluster, codes + lanes * left[j])
        else:
            load(cluster, codes, lists, best, False)
        loaded = best
        weigh_up(cluster, codes, lists, best, left, j + 1, n_left, by_size, increase)
    if loaded >= 0:
        load(cluster, codes, lists, loaded, True)


# ---- growth

# Equal rows are one record, whose rows are taken in order.
cdef struct Growth:
    Cluster cluster
    double size           # of the growing cluster
    int64_t n             # records
    int64_t* first        # by record: its live rows are rows[first]..rows[end - 1]
    int64_t* end
    double* dead          # by record: infinite if it has no more rows
    uint32_t** codes      # by attribute, then record: code
    double** places       #   and, of ordered attributes, place on the line
    uint8_t* plain        # by attribute: it is ordered and no record has null
    double** widths       # by attribute, then record: of the cluster with the record
    double** near         #   sum of contributions of the record and each row of the cluster
    double* width         # by record: sum of widths
    double* value         # ... and weighted tuple diversity
    int64_t* members
    int64_t* rows
    Lists lists


cdef int32_t compare(const code_t* one, const code_t* two, int64_t lanes) noexcept nogil:
    cdef int64_t a
    for a in range(lanes):
        if one[a] != two[a]:
            return -1 if one[a] < two[a] else 1
    return 0


cdef void sort_rows(const code_t* codes, int64_t lanes, int64_t* rows, int64_t* spare, int64_t n) noexcept nogil:
    # By codes, equal ones in order: runs that are sorted already are merged pairwise.
    cdef int64_t size = 1, begin, middle, end, i, j, to
    while size < n:
        begin = 0
        while begin + size < n:
            middle = begin + size
            end = min(middle + size, n)
            if compare(codes + lanes * rows[middle - 1], codes + lanes * rows[middle], lanes) > 0:
                memcpy(spare, rows + begin, size * sizeof(int64_t))
                i, j, to = 0, middle, begin
                while i < size:
                    if j < end and compare(codes + lanes * rows[j], codes + lanes * spare[i], lanes) < 0:
                        rows[to] = rows[j]
                        j += 1
                    else:
                        rows[to] = spare[i]
                        i += 1
                    to += 1
            begin = end
        size *= 2


cdef void list_records(Growth* g, const code_t* codes, int64_t n) noexcept nogil:
    # The records of rows[0..n), which ascend.
    cdef const Terms* terms = g.cluster.terms
    cdef int64_t i, a, r = -1, m = terms.m, lanes = terms.m + terms.p
    cdef const code_t* row
    for a in range(m):
        g.plain[a] = terms.extents[a].kind == ORDERED
    sort_rows(codes, lanes, g.rows, g.members, n)
    for i in range(n):
        row = codes + lanes * g.rows[i]
        if i == 0 or compare(row, codes + lanes * g.rows[i - 1], lanes) != 0:
            r += 1
            g.first[r] = i
            for a in range(lanes):
                g.codes[a][r] = row[a]
            for a in range(m):
                if row[a] == terms.extents[a].n_values:
                    g.plain[a] = False
                elif terms.extents[a].kind == ORDERED:
                    g.places[a][r] = terms.extents[a].positions[row[a]]
            for a in range(m, lanes):
                if terms.nearness[a - m].kind == ORDERED:
                    g.places[a][r] = terms.nearness[a - m].positions[row[a]]
        g.end[r] = i + 1
    g.n = r + 1


cdef int64_t begin_cluster(Growth* g) noexcept nogil:
    # An empty cluster, and only records with live rows; returns that of the first row.
    cdef int64_t r, a, n = 0, seed = 0, m = g.cluster.terms.m, p = g.cluster.terms.p
    for r in range(g.n):
        if g.first[r] == g.end[r]:
            continue
        if n < r:
            g.first[n] = g.first[r]
            g.end[n] = g.end[r]
            for a in range(m + p):
                g.codes[a][n] = g.codes[a][r]
                g.places[a][n] = g.places[a][r]
        if g.rows[g.first[n]] < g.rows[g.first[seed]]:
            seed = n
        n += 1
    g.n = n
    g.size = 0.0
    memset(g.dead, 0, n * sizeof(double))
    for a in range(p):
        memset(g.near[a], 0, n * sizeof(double))
    return seed


cdef void refresh_width(Growth* g, int64_t a) noexcept nogil:
    cdef const Extent* extent = &g.cluster.terms.extents[a]
    cdef const Cell* cell = &g.cluster.cells[a]
    cdef const uint32_t* codes = g.codes[a]
    cdef const double* places = g.places[a]
    cdef double* widths = g.widths[a]
    cdef double low, high
    cdef double whole = extent.whole, weight = extent.weight
    cdef int64_t r
    if g.plain[a]:
        low = extent.positions[cell.low]
        high = extent.positions[cell.high]
        for r in range(g.n):
            widths[r] = weight * (((places[r] if places[r] > high else high)
                                   - (places[r] if places[r] < low else low)) / whole)
    else:
        for r in range(g.n):
            widths[r] = width_with(extent, cell, codes[r])


cdef void refresh_near(Growth* g, int64_t b, int64_t r) noexcept nogil:
    # One more row, of record r, is in the cluster.
    cdef const Nearness* nearness = &g.cluster.terms.nearness[b]
    cdef Spread* spread = &g.cluster.spreads[b]
    cdef int64_t i
    cdef const uint32_t* codes = g.codes[g.cluster.terms.m + b]
    cdef const double* places = g.places[g.cluster.terms.m + b]
    cdef double* near = g.near[b]
    cdef double at, low, high, unit = nearness.unit
    if nearness.kind != ORDERED:
        join_spread(nearness, spread, codes[r])
        for i in range(g.n):
            near[i] = contribution_with(nearness, spread, codes[i])
        return
    spread.pairs += 2.0 * near[r] + unit
    spread.size += 1.0
    at = places[r]
    low = nearness.positions[nearness.reach_low[codes[r]]]
    high = nearness.positions[nearness.reach_high[codes[r]]]
    for i in range(g.n):
        near[i] += (unit - (places[i] - at if places[i] > at else at - places[i])
                    if (places[i] >= low) & (places[i] <= high) else 0.0)


cdef void take(Growth* g, int64_t r) noexcept nogil:
    # The first live row of record r joins.
    cdef const Terms* terms = g.cluster.terms
    cdef int64_t a, i
    cdef Cell before
    cdef Cell* cell
    cdef const double* widths
    cdef bint changed = False
    g.members[<int64_t>g.size] = g.rows[g.first[r]]
    g.size += 1.0
    g.first[r] += 1
    if g.first[r] == g.end[r]:
        g.dead[r] = INFINITY
    for a in range(terms.m):
        cell = &g.cluster.cells[a]
        before = cell[0]
        join_cell(&terms.extents[a], cell, g.codes[a][r])
        if (before.null != cell.null or before.valued != cell.valued or before.low != cell.low
                or before.high != cell.high or before.n_distinct != cell.n_distinct):
            refresh_width(g, a)
            changed = True
    if changed:
        widths = g.widths[0]
        for i in range(g.n):
            g.width[i] = widths[i]
        for a in range(1, terms.m):
            widths = g.widths[a]
            for i in range(g.n):
                g.width[i] += widths[i]
    for a in range(terms.p):
        refresh_near(g, a, r)


cdef int64_t nearest(Growth* g) noexcept nogil:
    # The record with which the cluster's weighted tuple diversity is least, value[r]; ties: the first row.
    cdef const Terms* terms = g.cluster.terms
    cdef const double* near
    cdef double* value = g.value
    cdef double pairs, unit, scale, weight, least = INFINITY
    cdef double m = terms.m, p = terms.p
    cdef int64_t a, i, best = -1
    for i in range(g.n):
        value[i] = 0.0
    for a in range(terms.p):
        near = g.near[a]
        pairs = g.cluster.spreads[a].pairs
        unit = terms.nearness[a].unit
        scale = unit * ((g.size + 1.0) * (g.size + 1.0))
        weight = terms.weights[a]
        for i in range(g.n):
            value[i] += weight * ((pairs + 2.0 * near[i] + unit) / scale)
    if terms.m == 0:
        for i in range(g.n):
            value[i] = terms.w_p * (value[i] / p) + g.dead[i]
    elif terms.p == 0:
        for i in range(g.n):
            value[i] = terms.w_u * (g.width[i] / m) + g.dead[i]
    else:
        for i in range(g.n):
            value[i] = terms.w_u * (g.width[i] / m) + terms.w_p * (value[i] / p) + g.dead[i]
    for i in range(g.n):
        if value[i] < least or (value[i] == least and best >= 0
                                and g.rows[g.first[i]] < g.rows[g.first[best]]):
            least = value[i]
            best = i
    if best < 0:  # all are infinite
        for i in range(g.n):
            if g.first[i] < g.end[i] and (best < 0 or g.rows[g.first[i]] < g.rows[g.first[best]]):
                best = i
    return best


cdef void cluster_rows(Growth* g, const code_t* codes, int64_t n, int64_t k, int64_t most, double delta,
                       int64_t* home) noexcept nogil:
    # Algorithm 1 on rows[0..n): a cluster grows to `most` rows, while its weighted tuple diversity is at
    # most delta. OUT home: the class of each row of a cluster of at least k.
    cdef int64_t r, i, c, size, live = n, lanes = g.cluster.terms.m + g.cluster.terms.p
    list_records(g, codes, n)
    while live >= k:  # fewer make no cluster
        take(g, begin_cluster(g))
        size = 1
        while size < live and size < most:
            r = nearest(g)
            if g.value[r] > delta + TOLERANCE:
                break
            take(g, r)
            size += 1
        live -= size
        if size >= k:
            c = g.lists.n
            g.lists.n += 1
            g.lists.head[c] = -1
            g.lists.size[c] = 0
            for i in range(size):
                link(&g.lists, c, g.members[i])
                home[g.members[i]] = c
        for i in range(size):
            leave(&g.cluster, codes + lanes * g.members[i])


cdef int64_t pool_rows(Growth* g, const int64_t* home, int64_t n) noexcept nogil:
    # rows[0..) = the rows without a class, ascending; returns their number.
    cdef int64_t i, size = 0
    for i in range(n):
        g.rows[size] = i
        size += home[i] < 0
    return size


cdef int64_t grow_in(Growth* g, const code_t* codes, int64_t n, int64_t k, int64_t most, double delta, bint mend,
                     int64_t* home) noexcept nogil:
    # One subspace; returns its number of classes.
    cdef int64_t i, size
    g.lists.n = 0
    for i in range(n):
        home[i] = -1
    cluster_rows(g, codes, pool_rows(g, home, n), k, most, delta, home)
    if not mend:
        return g.lists.n
    cluster_rows(g, codes, pool_rows(g, home, n), k, k, INFINITY, home)
    if g.lists.n == 0:
        memset(home, 0, n * sizeof(int64_t))
        return 1
    size = pool_rows(g, home, n)
    place(&g.cluster, codes, &g.lists, g.rows, size, True, g.value, home)
    return g.lists.n


cdef void grow_each(Growth* g, const code_t* codes, const int64_t* offsets, int64_t begin, int64_t end, int64_t k,
                    int64_t most, double delta, bint mend, int64_t* home, int64_t* n_classes) noexcept nogil:
    cdef int64_t c, lanes = g.cluster.terms.m + g.cluster.terms.p
    for c in range(begin, end):
        n_classes[c] = grow_in(g, codes + lanes * offsets[c], offsets[c + 1] - offsets[c], k, most, delta, mend,
                               home + offsets[c])


cdef void set_cluster(Cluster* cluster, Objective objective, list keep) except *:
    cdef int64_t a
    cluster.terms = &objective.c
    cluster.cells = <Cell*>take_array(keep, objective.c.m, sizeof(Cell))
    for a in range(objective.c.m):
        if objective.c.extents[a].kind == FLAT:
            cluster.cells[a].present = <uint8_t*>take_array(keep, objective.c.extents[a].n_values, 1)
    cluster.spreads = spreads_of(objective.closeness, keep)


cdef void set_lists(Lists* lists, int64_t n, int64_t n_classes, list keep) except *:
    cdef int64_t c
    lists.n = 0
    lists.next = <int64_t*>take_array(keep, n, sizeof(int64_t))
    lists.head = <int64_t*>take_array(keep, n_classes, sizeof(int64_t))
    lists.size = <int64_t*>take_array(keep, n_classes, sizeof(int64_t))
    for c in range(n_classes):
        lists.head[c] = -1


cdef void set_growth(Growth* g, Objective objective, int64_t n, list keep) except *:
    cdef int64_t a, m = objective.c.m, p = objective.c.p
    set_cluster(&g.cluster, objective, keep)
    set_lists(&g.lists, n, n, keep)
    g.first = <int64_t*>take_array(keep, n, sizeof(int64_t))
    g.end = <int64_t*>take_array(keep, n, sizeof(int64_t))
    g.dead = <double*>take_array(keep, n, sizeof(double))
    g.codes = <uint32_t**>take_array(keep, m + p, sizeof(uint32_t*))
    g.places = <double**>take_array(keep, m + p, sizeof(double*))
    for a in range(m + p):
        g.codes[a] = <uint32_t*>take_array(keep, n, sizeof(uint32_t))
        g.places[a] = <double*>take_array(keep, n, sizeof(double))
    g.plain = <uint8_t*>take_array(keep, m, 1)
    g.widths = <double**>take_array(keep, m, sizeof(double*))
    g.near = <double**>take_array(keep, p, sizeof(double*))
    for a in range(m):
        g.widths[a] = <double*>take_array(keep, n, sizeof(double))
    for a in range(p):
        g.near[a] = <double*>take_array(keep, n, sizeof(double))
    g.width = <double*>take_array(keep, n, sizeof(double))
    g.value = <double*>take_array(keep, n, sizeof(double))
    g.members = <int64_t*>take_array(keep, n, sizeof(int64_t))
    g.rows = <int64_t*>take_array(keep, n, sizeof(int64_t))


cdef class _Growing:
    # One run of `grow`: what its tasks share.
    cdef const uint8_t[::1] codes
    cdef const int64_t[::1] offsets
    cdef int64_t[::1] home
    cdef int64_t[::1] n_classes
    cdef int64_t width
    cdef Objective objective
    cdef int64_t k
    cdef int64_t most
    cdef double delta
    cdef bint mend

    def __init__(self, codes, offsets, home, n_classes, objective, k, most, delta, mend):
        self.codes = codes.reshape(-1).view(np.uint8)
        self.width = codes.dtype.itemsize
        self.offsets, self.home, self.n_classes, self.objective = offsets, home, n_classes, objective
        self.k, self.most, self.delta, self.mend = k, most, delta, mend

    def run(self, int64_t begin, int64_t end):
        # Subspaces begin..end - 1; returns that nothing follows, and the number of their rows.
        cdef list keep = []
        cdef Growth g
        cdef const uint8_t* codes = &self.codes[0]
        set_growth(&g, self.objective, np.diff(self.offsets[begin:end + 1]).max(), keep)
        with nogil:
            if self.width == 1:
                grow_each(&g, codes, &self.offsets[0], begin, end, self.k, self.most, self.delta, self.mend,
                          &self.home[0], &self.n_classes[0])
            elif self.width == 2:
                grow_each(&g, <const uint16_t*>codes, &self.offsets[0], begin, end, self.k, self.most, self.delta,
                          self.mend, &self.home[0], &self.n_classes[0])
            else:
                grow_each(&g, <const uint32_t*>codes, &self.offsets[0], begin, end, self.k, self.most, self.delta,
                          self.mend, &self.home[0], &self.n_classes[0])
        return (), self.offsets[end] - self.offsets[begin]


def grow(codes, offsets, objective, k, delta, *, most=None, bint mend=True, n_threads=1, progress=None):
    """Cluster each subspace by algorithm 1, its rows `offsets[i]..offsets[i + 1] - 1` of `codes`.

    `codes` (uint8, uint16 or uint32) has one column per attribute of the objective, sensitive ones
    last. The first row is a seed; the row with which the cluster's weighted tuple diversity is least
    joins, for as long as that stays at most `delta` and there are fewer than `most` rows (None: any
    number). A cluster of less than k rows is rejected.

    With `mend`, the rows of rejected clusters of a subspace are clustered again without delta, every
    cluster being closed at k rows; the less than k rows then left each go, in turn, to the class whose
    size times weighted tuple diversity grows least; a subspace without a cluster is one class.

    Returns (home, n_classes): the class of each row (int64; -1: rejected, not with `mend`), and the
    number of classes. `progress(done, total)` is told the rows done. O(size of the subspace) per row,
    whatever `n_threads`.
    """
    one_of(Objective, objective, "objective")
    # copies: `progress` may change what it was given
    codes = _codes_of(codes, objective.attributes, objective.closeness).copy()
    bounds = parts_of(offsets, len(codes), "offsets").copy()
    n_threads = whole(n_threads, 1, MOST_ROWS, "n_threads")
    most = 2**63 - 1 if most is None else whole(most, 1, 2**63 - 1, "most")
    k, delta = whole(k, 1, most, "k"), real(delta, "delta")
    home = np.empty(len(codes), np.int64)
    n_classes = np.zeros(len(bounds) - 1, np.int64)
    if len(codes) == 0:
        return home, 0
    run = _Growing(codes, bounds, home, n_classes, objective, k, most, delta, mend)
    chunk = bounds[:len(bounds) - 1] // CHUNK_ROWS
    begins = [0, *np.flatnonzero(np.diff(chunk)) + 1]
    n = len(codes)
    until_done(run.run, list(zip(begins, [*begins[1:], len(chunk)])), n_threads,
            None if progress is None else lambda done: progress(done, n))
    before = np.repeat(np.cumsum(n_classes) - n_classes, np.diff(bounds))
    home[home >= 0] += before[home >= 0]
    return home, int(n_classes.sum())


def reinsert(codes, home, objective, *, progress=None):
    """Put each row with home -1, in row order, into the class whose weighted tuple diversity grows least.

    `codes` and `home` (int64) as for and from `grow`. Ties: the first class; without any class all rows
    are class 0. Returns the new home. `progress(done, total)` is told the rows done. O(rows without a
    class * classes).
    """
    cdef list keep = []
    cdef Cluster cluster
    cdef Lists lists
    cdef int64_t i, at, n_left, block, n_classes, n
    cdef const uint8_t[::1] view
    one_of(Objective, objective, "objective")
    codes = _codes_of(codes, objective.attributes, objective.closeness).copy()  # `progress` may change its own
    placed = array_of(home, np.int64, 1, "home").copy()
    n = len(codes)
    if len(placed) != n or (n and not -1 <= placed.min() <= placed.max() < n):
        raise ValueError("home must hold a class, or -1, per row")
    n_classes = np.max(placed, initial=-1) + 1
    if n_classes == 0:
        return np.zeros(n, np.int64)
    if (np.bincount(placed[placed >= 0], minlength=n_classes) == 0).any():
        raise ValueError("every class must have a row")
    left = np.flatnonzero(placed < 0)
    cdef int64_t[::1] placed_view = placed
    cdef const int64_t[::1] left_view = left
    n_left = len(left)
    set_cluster(&cluster, objective, keep)
    set_lists(&lists, n, n_classes, keep)
    lists.n = n_classes
    for i in range(n):
        if placed_view[i] >= 0:
            link(&lists, placed_view[i], i)
    block = max(MATRIX // n_classes, 16)
    cdef double* increase = <double*>take_array(keep, min(block, n_left) * n_classes, sizeof(double))
    view = codes.reshape(-1).view(np.uint8)
    cdef int64_t width = codes.dtype.itemsize
    for at in range(0, n_left, block):
        with nogil:
            if width == 1:
                place(&cluster, &view[0], &lists, &left_view[at], min(block, n_left - at), False, increase,
                      &placed_view[0])
            elif width == 2:
                place(&cluster, <const uint16_t*>&view[0], &lists, &left_view[at], min(block, n_left - at), False,
                      increase, &placed_view[0])
            else:
                place(&cluster, <const uint32_t*>&view[0], &lists, &left_view[at], min(block, n_left - at), False,
                      increase, &placed_view[0])
        PyErr_CheckSignals()
        if progress is not None:
            progress(min(at + block, n_left), n_left)
    return placed


# ---- improvement

cdef enum:
    NEIGHBORS = 4       # clusters with which one exchanges rows in a pass
    PASSES = 3          # at most


# One of the two clusters that exchange rows: what of it is left without a member, and how near every member is.
cdef struct Side:
    int64_t c
    int64_t n
    int64_t* members
    int64_t* low          # by attribute: the two least codes and the two greatest, null not counted
    int64_t* next_low
    int64_t* high
    int64_t* next_high
    int64_t* n_null
    int64_t* n_distinct   # FLAT: of the codes that are not null
    int64_t** counts      # FLAT: by code
    double* rest          # by member: sum of the widths without it
    double** own          # by sensitive attribute and member: contributions of it and all members
    double** other        #   and of the other side's
    Spread* spreads


# The clusters of one subspace; those of cluster c are members[first[c]..first[c] + size[c] - 1], and there is room for 2k - 1.
cdef struct Exchange:
    const Terms* terms
    int64_t n_clusters
    int64_t* first
    int64_t* size
    int64_t* members
    int64_t* changed      # the last pass in which it was
    int64_t* low          # by cluster and attribute, as of a Side
    int64_t* high
    int64_t* n_null
    int64_t* n_distinct
    double* width         # by cluster: the sum of its widths
    Side sides[2]
    const volatile uint8_t* stopped  # by another thread: no class needs to be looked at any more


cdef inline double pair_of(const Nearness* nearness, int64_t u, int64_t v) noexcept nogil:
    # The contribution of two values, in units.
    cdef double near = 0.0, at
    cdef int32_t node, other
    if nearness.kind == ORDERED:
        if v < nearness.reach_low[u] or v > nearness.reach_high[u]:
            return 0.0
        at = nearness.positions[u] - nearness.positions[v]
        return nearness.unit - (at if at > 0 else -at)
    if nearness.kind == TREE:
        node, other = nearness.leaf[u], nearness.leaf[v]
        while node != other:  # parents are numbered before their children
            if node > other:
                node = nearness.parent[node]
            else:
                other = nearness.parent[other]
        while node >= 0:
            near += nearness.node_gain[node]
            node = nearness.parent[node]
        return near
    return nearness.unit if u == v else nearness.other


cdef inline double width_between(const Extent* extent, int64_t low, int64_t high, int64_t n_null,
                                 int64_t n_distinct) noexcept nogil:
    # Of the values from `low` to `high` (none: low > high), so many of them, and of so many nulls.
    if low > high:
        return 0.0
    if n_null:
        return extent.full
    return width_of(extent, low, high, ancestor(extent, extent.leaf[low], high) if extent.kind == TREE else 0,
                    n_distinct)


cdef inline double width_exchanged(const Extent* extent, const Side* side, int64_t a, int64_t out,
                                   int64_t into) noexcept nogil:
    # The width of attribute `a` without the code `out` and with `into` (-1: none).
    cdef int64_t low = side.low[a], high = side.high[a], n_null = side.n_null[a], n_distinct = side.n_distinct[a]
    if out == extent.n_values:
        n_null -= 1
    elif out >= 0:
        if out == low:
            low = side.next_low[a]
        if out == high:
            high = side.next_high[a]
        if extent.kind == FLAT:
            n_distinct -= side.counts[a][out] == 1
    if into == extent.n_values:
        n_null += 1
    elif into >= 0:
        low = into if into < low else low
        high = into if into > high else high
        if extent.kind == FLAT:
            n_distinct += side.counts[a][into] == (into == out)
    return width_between(extent, low, high, n_null, n_distinct)


cdef void survey(const Exchange* x, Side* side, const code_t* codes) noexcept nogil:
    # Bounds and numbers of the members.
    cdef const Terms* terms = x.terms
    cdef int64_t a, i, code, lanes = terms.m + terms.p
    cdef const Extent* extent
    for a in range(terms.m):
        extent = &terms.extents[a]
        side.low[a] = side.next_low[a] = extent.n_values
        side.high[a] = side.next_high[a] = -1
        side.n_null[a] = side.n_distinct[a] = 0
        for i in range(side.n):
            code = codes[lanes * side.members[i] + a]
            if code == extent.n_values:
                side.n_null[a] += 1
                continue
            if code < side.low[a]:
                side.next_low[a] = side.low[a]
                side.low[a] = code
            elif code < side.next_low[a]:
                side.next_low[a] = code
            if code > side.high[a]:
                side.next_high[a] = side.high[a]
                side.high[a] = code
            elif code > side.next_high[a]:
                side.next_high[a] = code
            if extent.kind == FLAT:
                side.n_distinct[a] += side.counts[a][code] == 0
                side.counts[a][code] += 1


cdef void forget(const Exchange* x, Side* side, const code_t* codes) noexcept nogil:
    # Undo what `survey` counted by code.
    cdef const Terms* terms = x.terms
    cdef int64_t a, i, code, lanes = terms.m + terms.p
    for a in range(terms.m):
        if terms.extents[a].kind == FLAT:
            for i in range(side.n):
                code = codes[lanes * side.members[i] + a]
                if code < terms.extents[a].n_values:
                    side.counts[a][code] = 0


cdef double width_of_side(const Exchange* x, const Side* side) noexcept nogil:
    cdef int64_t a
    cdef double total = 0.0
    for a in range(x.terms.m):
        total += width_exchanged(&x.terms.extents[a], side, a, -1, -1)
    return total


cdef void note(Exchange* x, const Side* side) noexcept nogil:
    # What `find_neighbors` asks of the cluster.
    cdef int64_t a, at = side.c * x.terms.m
    for a in range(x.terms.m):
        x.low[at + a] = side.low[a]
        x.high[at + a] = side.high[a]
        x.n_null[at + a] = side.n_null[a]
        x.n_distinct[at + a] = side.n_distinct[a]
    x.width[side.c] = width_of_side(x, side)


cdef double loss_of(const Exchange* x, const Side* side) noexcept nogil:
    # Size times weighted tuple diversity.
    cdef int64_t a
    cdef double s = 0.0
    for a in range(x.terms.p):
        s += x.terms.weights[a] * s_diversity_of(&x.terms.nearness[a], &side.spreads[a])
    return side.n * weigh(x.terms, x.width[side.c], s)


cdef void weigh_sides(Exchange* x, const code_t* codes) noexcept nogil:
    # All that depends on the members of the two.
    cdef const Terms* terms = x.terms
    cdef int64_t a, i, code, lanes = terms.m + terms.p
    cdef int t
    cdef Side* side
    cdef double total
    for t in range(2):
        side = &x.sides[t]
        survey(x, side, codes)
        note(x, side)
        for i in range(side.n):
            total = 0.0
            for a in range(terms.m):
                total += width_exchanged(&terms.extents[a], side, a, codes[lanes * side.members[i] + a], -1)
            side.rest[i] = total
            for a in range(terms.p):
                join_spread(&terms.nearness[a], &side.spreads[a], codes[lanes * side.members[i] + terms.m + a])
    for t in range(2):
        side = &x.sides[t]
        for i in range(side.n):
            for a in range(terms.p):
                code = codes[lanes * side.members[i] + terms.m + a]
                side.own[a][i] = contribution_with(&terms.nearness[a], &side.spreads[a], code)
                side.other[a][i] = contribution_with(&terms.nearness[a], &x.sides[1 - t].spreads[a], code)


cdef void leave_sides(Exchange* x, const code_t* codes) noexcept nogil:
    cdef const Terms* terms = x.terms
    cdef int64_t a, i, lanes = terms.m + terms.p
    cdef int t
    cdef Side* side
    for t in range(2):
        side = &x.sides[t]
        forget(x, side, codes)
        for i in range(side.n):
            for a in range(terms.p):
                leave_spread(&terms.nearness[a], &side.spreads[a], codes[lanes * side.members[i] + terms.m + a])


cdef double exchanged(const Exchange* x, const code_t* codes, int64_t i, int64_t j, double before,
                      double best) noexcept nogil:
    # What is gained if member i of the first side and member j of the second (-1: none) change places; some number that
    # is not above `best` if that is sure not to be.
    cdef const Terms* terms = x.terms
    cdef const Side* one = &x.sides[0]
    cdef const Side* two = &x.sides[1]
    cdef int64_t a, lanes = terms.m + terms.p
    cdef const code_t* out = codes + lanes * one.members[i]
    cdef const code_t* into = codes + lanes * two.members[j if j >= 0 else 0]
    cdef double size = one.n - (j < 0), other_size = two.n + (j < 0), q = 0.0, other_q = 0.0, s = 0.0, other_s = 0.0
    cdef double pairs, other_pairs, both, unit
    for a in range(terms.p):
        unit = terms.nearness[a].unit
        pairs = one.spreads[a].pairs - 2.0 * one.own[a][i] + unit
        other_pairs = two.spreads[a].pairs + 2.0 * one.other[a][i] + unit
        if j >= 0:
            both = pair_of(&terms.nearness[a], out[terms.m + a], into[terms.m + a])
            pairs += 2.0 * (two.other[a][j] - both) + unit
            other_pairs += unit - 2.0 * (two.own[a][j] + both)
        s += terms.weights[a] * (pairs / (unit * (size * size)))
        other_s += terms.weights[a] * (other_pairs / (unit * (other_size * other_size)))
    if terms.m:
        q = one.rest[i]
        other_q = two.rest[j] if j >= 0 else x.width[two.c]
        if before - (size * weigh(terms, q, s) + other_size * weigh(terms, other_q, other_s)) <= best:
            return best
        q = other_q = 0.0
        for a in range(terms.m):
            q += width_exchanged(&terms.extents[a], one, a, out[a], into[a] if j >= 0 else -1)
            other_q += width_exchanged(&terms.extents[a], two, a, into[a] if j >= 0 else -1, out[a])
    return before - (size * weigh(terms, q, s) + other_size * weigh(terms, other_q, other_s))


cdef void open_sides(Exchange* x, int64_t c, int64_t d) noexcept nogil:
    cdef int t
    cdef int64_t cluster
    for t in range(2):
        cluster = d if t else c
        x.sides[t].c = cluster
        x.sides[t].n = x.size[cluster]
        x.sides[t].members = x.members + x.first[cluster]


cdef bint exchange(Exchange* x, const code_t* codes, int64_t c, int64_t d, int64_t k) noexcept nogil:
    # Each member of cluster c in turn changes places with that of d, or moves there, by which most is gained, if anything.
    cdef Side* one = &x.sides[0]
    cdef Side* two = &x.sides[1]
    cdef int64_t i = 0, j, best_j
    cdef double before, best, gain
    cdef bint changed = False
    open_sides(x, c, d)
    weigh_sides(x, codes)
    while i < one.n:
        before = loss_of(x, one) + loss_of(x, two)
        best = TOLERANCE
        best_j = -2
        for j in range(-1 if one.n > k and two.n < 2 * k - 1 else 0, two.n):
            gain = exchanged(x, codes, i, j, before, best)
            if gain > best:
                best = gain
                best_j = j
        if best_j == -2:
            i += 1
            continue
        leave_sides(x, codes)
        if best_j >= 0:
            one.members[i], two.members[best_j] = two.members[best_j], one.members[i]
            i += 1
        else:
            two.members[two.n] = one.members[i]
            two.n += 1
            one.n -= 1
            one.members[i] = one.members[one.n]
        weigh_sides(x, codes)
        changed = True
    leave_sides(x, codes)
    x.size[c] = one.n
    x.size[d] = two.n
    return changed


cdef double joined_width(const Exchange* x, const code_t* codes, int64_t c, int64_t d) noexcept nogil:
    # The sum of widths of two clusters together; the labels of c are counted on the first side.
    cdef const Terms* terms = x.terms
    cdef int64_t a, i, code, low, high, n_distinct = 0, m = terms.m, lanes = terms.m + terms.p
    cdef const int64_t* members = x.members + x.first[d]
    cdef int64_t* counts
    cdef double total = 0.0
    for a in range(m):
        if terms.extents[a].kind == FLAT:
            counts = x.sides[0].counts[a]
            n_distinct = x.n_distinct[c * m + a]
            for i in range(x.size[d]):
                code = codes[lanes * members[i] + a]
                if code < terms.extents[a].n_values:
                    n_distinct += counts[code] == 0
                    counts[code] += 1
            for i in range(x.size[d]):
                code = codes[lanes * members[i] + a]
                if code < terms.extents[a].n_values:
                    counts[code] -= 1
        low = min(x.low[c * m + a], x.low[d * m + a])
        high = max(x.high[c * m + a], x.high[d * m + a])
        total += width_between(&terms.extents[a], low, high, x.n_null[c * m + a] + x.n_null[d * m + a], n_distinct)
    return total


cdef int64_t find_neighbors(Exchange* x, const code_t* codes, int64_t c, int64_t* neighbors) noexcept nogil:
    # The clusters whose joining c would add least width times rows; without quasi-identifiers some that lie evenly.
    cdef double[NEIGHBORS] costs
    cdef double cost, size = x.size[c], other
    cdef int64_t d, n = 0, j
    if x.terms.m == 0:
        for j in range(1, NEIGHBORS + 1):
            d = max(j * x.n_clusters // (NEIGHBORS + 1), j)
            if d < x.n_clusters:
                neighbors[n] = (c + d) % x.n_clusters
                n += 1
        return n
    open_sides(x, c, c)
    survey(x, &x.sides[0], codes)
    for d in range(x.n_clusters):
        if d == c:
            continue
        other = x.size[d]
        cost = (size + other) * joined_width(x, codes, c, d) - size * x.width[c] - other * x.width[d]
        if n < NEIGHBORS:
            n += 1
        elif cost >= costs[n - 1]:
            continue
        j = n - 1
        while j > 0 and costs[j - 1] > cost:
            costs[j] = costs[j - 1]
            neighbors[j] = neighbors[j - 1]
            j -= 1
        costs[j] = cost
        neighbors[j] = d
    forget(x, &x.sides[0], codes)
    return n


cdef void improve_in(Exchange* x, const code_t* codes, int64_t n, int64_t k, int64_t* home) noexcept nogil:
    # One subspace, its clusters numbered from 0. IN/OUT home.
    cdef int64_t[NEIGHBORS] neighbors
    cdef int64_t i, c, d, j, turn, n_neighbors, at = 0, room = 2 * k - 1
    cdef bint changed
    x.n_clusters = 0
    for i in range(n):
        x.n_clusters = max(x.n_clusters, home[i] + 1)
    memset(x.size, 0, x.n_clusters * sizeof(int64_t))
    for i in range(n):
        x.size[home[i]] += 1
    for c in range(x.n_clusters):
        x.first[c] = at
        at += max(x.size[c], room)
        x.size[c] = 0
        x.changed[c] = 0
    for i in range(n):
        c = home[i]
        x.members[x.first[c] + x.size[c]] = i
        x.size[c] += 1
    for c in range(x.n_clusters):
        open_sides(x, c, c)
        survey(x, &x.sides[0], codes)
        note(x, &x.sides[0])
        forget(x, &x.sides[0], codes)
    for turn in range(1, PASSES + 1):
        changed = False
        for c in range(x.n_clusters):
            if x.stopped[0]:
                return
            n_neighbors = find_neighbors(x, codes, c, neighbors)
            for j in range(n_neighbors):
                d = neighbors[j]
                # what neither changed in this pass nor in the one before was tried then
                if max(x.changed[c], x.changed[d]) >= turn - 1 and exchange(x, codes, c, d, k):
                    x.changed[c] = x.changed[d] = turn
                    changed = True
        if not changed:
            break
    for c in range(x.n_clusters):
        for i in range(x.size[c]):
            home[x.members[x.first[c] + i]] = c


cdef void improve_each(Exchange* x, const code_t* codes, const int64_t* offsets, int64_t begin, int64_t end, int64_t k,
                       int64_t* home) noexcept nogil:
    cdef int64_t c, lanes = x.terms.m + x.terms.p
    for c in range(begin, end):
        improve_in(x, codes + lanes * offsets[c], offsets[c + 1] - offsets[c], k, home + offsets[c])


cdef void set_exchange(Exchange* x, Objective objective, int64_t n, int64_t n_clusters, int64_t most, int64_t k,
                       list keep) except *:
    # For subspaces of at most n rows and n_clusters clusters of at most `most` rows.
    cdef int64_t a, m = objective.c.m, p = objective.c.p
    cdef Side* side
    cdef int t
    x.terms = &objective.c
    x.n_clusters = 0
    x.first = <int64_t*>take_array(keep, n_clusters, sizeof(int64_t))
    x.size = <int64_t*>take_array(keep, n_clusters, sizeof(int64_t))
    x.changed = <int64_t*>take_array(keep, n_clusters, sizeof(int64_t))
    x.members = <int64_t*>take_array(keep, n + n_clusters * (2 * k - 1), sizeof(int64_t))
    x.low = <int64_t*>take_array(keep, n_clusters * m, sizeof(int64_t))
    x.high = <int64_t*>take_array(keep, n_clusters * m, sizeof(int64_t))
    x.n_null = <int64_t*>take_array(keep, n_clusters * m, sizeof(int64_t))
    x.n_distinct = <int64_t*>take_array(keep, n_clusters * m, sizeof(int64_t))
    x.width = <double*>take_array(keep, n_clusters, sizeof(double))
    for t in range(2):
        side = &x.sides[t]
        side.low = <int64_t*>take_array(keep, m, sizeof(int64_t))
        side.next_low = <int64_t*>take_array(keep, m, sizeof(int64_t))
        side.high = <int64_t*>take_array(keep, m, sizeof(int64_t))
        side.next_high = <int64_t*>take_array(keep, m, sizeof(int64_t))
        side.n_null = <int64_t*>take_array(keep, m, sizeof(int64_t))
        side.n_distinct = <int64_t*>take_array(keep, m, sizeof(int64_t))
        side.counts = <int64_t**>take_array(keep, m, sizeof(int64_t*))
        for a in range(m):
            if objective.c.extents[a].kind == FLAT:
                side.counts[a] = <int64_t*>take_array(keep, objective.c.extents[a].n_values, sizeof(int64_t))
        side.rest = <double*>take_array(keep, most, sizeof(double))
        side.own = <double**>take_array(keep, p, sizeof(double*))
        side.other = <double**>take_array(keep, p, sizeof(double*))
        for a in range(p):
            side.own[a] = <double*>take_array(keep, most, sizeof(double))
            side.other[a] = <double*>take_array(keep, most, sizeof(double))
        side.spreads = spreads_of(objective.closeness, keep)


cdef class _Improving:
    # One run of `improve`: what its tasks share.
    cdef const uint8_t[::1] codes
    cdef const int64_t[::1] offsets
    cdef int64_t[::1] home
    cdef int64_t width
    cdef int64_t most
    cdef Objective objective
    cdef int64_t k
    cdef object n_clusters
    cdef volatile uint8_t stopped

    def __init__(self, codes, offsets, home, n_clusters, most, objective, k):
        self.stopped = False
        self.codes = codes.reshape(-1).view(np.uint8)
        self.width = codes.dtype.itemsize
        self.offsets, self.home, self.objective = offsets, home, objective
        self.n_clusters, self.most, self.k = n_clusters, most, k

    def run(self, int64_t begin, int64_t end):
        # Subspaces begin..end - 1; returns that nothing follows, and the number of their rows.
        cdef list keep = []
        cdef Exchange x
        cdef const uint8_t* codes = &self.codes[0]
        set_exchange(&x, self.objective, np.diff(self.offsets[begin:end + 1]).max(),
                     self.n_clusters[begin:end].max(), self.most, self.k, keep)
        x.stopped = &self.stopped
        with nogil:
            if self.width == 1:
                improve_each(&x, codes, &self.offsets[0], begin, end, self.k, &self.home[0])
            elif self.width == 2:
                improve_each(&x, <const uint16_t*>codes, &self.offsets[0], begin, end, self.k, &self.home[0])
            else:
                improve_each(&x, <const uint32_t*>codes, &self.offsets[0], begin, end, self.k, &self.home[0])
        return (), self.offsets[end] - self.offsets[begin]

    def stop(self):
        # What runs ends within one class, and leaves its subspace as it was.
        self.stopped = True


def improve(codes, offsets, home, objective, k, *, n_threads=1, progress=None):
    """Lower the sum over classes of size times weighted tuple diversity by swaps and moves; it never rises.

    The rows of subspace i are `offsets[i]..offsets[i + 1] - 1`; `codes` and `home` (int64, the class of each row) as for
    and from `grow` with `mend`: classes of at least k rows, none in two subspaces, numbered subspace by subspace.
    In up to 3 passes each class works with the 4 of its subspace whose joining would add least width times rows (without
    quasi-identifiers, 4 that lie evenly among all). Each of its rows in turn changes places with the row of the other
    class, or moves there, by which the sum falls most; it moves only from more than k rows to less than 2k - 1.

    Returns the new home. `progress(done, total)` is told the rows done. O(k) per row and pass, beside the search for
    classes; the same whatever `n_threads`.
    """
    one_of(Objective, objective, "objective")
    # copies: `progress` may change what it was given
    codes = _codes_of(codes, objective.attributes, objective.closeness).copy()
    bounds = parts_of(offsets, len(codes), "offsets").copy()
    placed = array_of(home, np.int64, 1, "home").copy()
    n_threads, k = whole(n_threads, 1, MOST_ROWS, "n_threads"), whole(k, 1, MOST_ROWS, "k")
    n = len(codes)
    if len(placed) != n or (n and not 0 <= placed.min() <= placed.max() < n):
        raise ValueError("home must hold a class per row")
    if n == 0:
        return placed
    sizes = np.bincount(placed)
    first, last = np.minimum.reduceat(placed, bounds[:len(bounds) - 1]), np.maximum.reduceat(placed, bounds[:len(bounds) - 1])
    if sizes.min() < k or first[0] != 0 or (first[1:] != last[:len(last) - 1] + 1).any():
        raise ValueError("home must number classes of at least k rows, subspace by subspace")
    before = np.repeat(first, np.diff(bounds))
    placed -= before
    run = _Improving(codes, bounds, placed, last - first + 1, max(2 * k - 1, int(sizes.max())), objective, k)
    chunk = bounds[:len(bounds) - 1] // CHUNK_ROWS
    begins = [0, *np.flatnonzero(np.diff(chunk)) + 1]
    until_done(run.run, list(zip(begins, [*begins[1:], len(chunk)])), n_threads,
            None if progress is None else lambda done: progress(done, n), run.stop)
    return placed + before
