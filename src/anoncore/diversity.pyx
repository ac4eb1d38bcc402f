# SPDX-License-Identifier: Apache-2.0
# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Q-diversity and S-diversity (Loukides & Shao 2008).

Methods that grow classes call the inline functions of diversity.pxd. `pairwise_contribution`,
`s_diversity_of_prefixes` and `q_diversity_of_prefixes`, which nothing else uses, are how tests reach these.
"""

import numpy as np

from anoncore.doors import array_of, one_of, parts_of, real

from anoncore.attribute cimport Attribute, Extent, ancestor, width_of
from anoncore.memory cimport take
from anoncore.types cimport ORDERED, TREE, int32_t, int64_t, uint8_t

TOLERANCE = 1e-9  # a pair at exactly the distance r is within reach


cdef class Closeness:
    """How much two values of a sensitive attribute give each other away (Loukides & Shao 2008, definition 2.3).

    Null has no place. Two values contribute pc = 1 - |difference| / range on a
    line and 1 - (leaves below the LCA - 1) / n_values in a tree if pc >= 1 - r (within 1e-9), else 0.
    Flat labels are a tree with one level, so that two different ones contribute 1 / n_values;
    `printed=True` takes the paper's formula to the letter, 1 - 1 / n_values.
    """

    def __cinit__(self, attribute, *, r, printed=False):  # it runs exactly once
        cdef Attribute of = one_of(Attribute, attribute, "attribute")
        cdef int32_t kind = of.extent.kind
        cdef int64_t n_values = of.extent.n_values
        r = real(r, "r")
        if not 0 <= r <= 1:
            raise ValueError("r must be between 0 and 1")
        line = of.positions
        unit, other = float(max(n_values, 1)), 0.0
        reach_low = reach_high = np.zeros(1, np.int64)
        node_gain = np.zeros(1)
        if kind == ORDERED:
            span = float(line[n_values - 1] - line[0]) if n_values else 0.0
            reach = (r + TOLERANCE) * span
            reach_low = np.searchsorted(line, line - reach, "left").astype(np.int64)
            reach_high = np.searchsorted(line, line + reach, "right").astype(np.int64) - 1
            unit = span if span > 0 else 1.0
        elif kind == TREE:
            parent, first, last, _ = of.tree
            units = n_values - (last.astype(np.float64) - first)
            units[last - first > (r + TOLERANCE) * n_values] = 0.0
            node_gain = units.copy()
            node_gain[1:] -= units[parent[1:]]
        else:
            apart = 1 if printed else n_values - 1
            if apart <= (r + TOLERANCE) * n_values:
                other = float(n_values - apart)
        cdef const double[::1] gain_view = node_gain
        cdef const int64_t[::1] low_view = reach_low if len(reach_low) else np.zeros(1, np.int64)
        cdef const int64_t[::1] high_view = reach_high if len(reach_high) else np.zeros(1, np.int64)
        self.nearness.kind = kind
        self.nearness.n_values = n_values
        self.nearness.unit = unit
        self.nearness.other = other
        self.nearness.positions = of.extent.positions
        self.nearness.reach_low = &low_view[0]
        self.nearness.reach_high = &high_view[0]
        self.nearness.leaf = of.extent.leaf
        self.nearness.parent = of.extent.parent
        self.nearness.node_gain = &gain_view[0]
        self.n_counts = n_values + 1 if kind == ORDERED else len(node_gain) if kind == TREE else max(n_values, 1)
        self.keep = of, gain_view, low_view, high_view

    @property
    def n_values(self):
        """Number of values."""
        return self.nearness.n_values


cdef bint ascends(const int64_t[::1] offsets, const int64_t[::1] values, int64_t n_codes) noexcept nogil:
    # Are the values of every class ascending distinct codes < n_codes?
    cdef int64_t c, i
    for c in range(offsets.shape[0] - 1):
        for i in range(offsets[c], offsets[c + 1]):
            if values[i] < 0 or values[i] >= n_codes or (i > offsets[c] and values[i] <= values[i - 1]):
                return False
    return True


def _codes_of(values, n_codes, name):
    codes = array_of(values, np.int64, 1, name)
    if len(codes) and not 0 <= int(codes.min()) <= int(codes.max()) < n_codes:
        raise ValueError(f"{name} must be values of the attribute")
    return codes


cdef double class_width(const Extent* extent, const int64_t* values, int64_t n) noexcept nogil:
    # `values` ascend; null, if present, is the last.
    cdef int64_t i, n_values = n
    cdef int32_t node = 0
    if n and values[n - 1] == extent.n_values:
        n_values = n - 1
        if n_values:
            return extent.full
    if n_values == 0:
        return 0.0
    if extent.kind == TREE:
        node = ancestor(extent, extent.leaf[values[0]], values[n_values - 1])
    return width_of(extent, values[0], values[n_values - 1], node, n_values)


def q_diversity(attribute, offsets, values):
    """Width of every class on one attribute: Q-diversity if the attribute's loss says so (definition 2.1).

    Class c has the distinct codes `values[offsets[c]:offsets[c + 1]]` (int64, ascending). Returns
    float64, one per class; an empty class is 0. O(n_values + depth) per class.
    """
    cdef Attribute of = one_of(Attribute, attribute, "attribute")
    cdef const int64_t[::1] codes = array_of(values, np.int64, 1, "values")
    cdef const int64_t[::1] bounds = parts_of(offsets, len(codes), "offsets", empty=True)
    cdef int64_t c
    if not ascends(bounds, codes, of.extent.n_values + 1):
        raise ValueError("offsets and values must list the ascending distinct codes of every class")
    out = np.empty(bounds.shape[0] - 1)
    cdef double[::1] out_view = out
    cdef const int64_t* first = &codes[0] if codes.shape[0] else NULL
    with nogil:
        for c in range(out_view.shape[0]):
            out_view[c] = class_width(&of.extent, first + bounds[c], bounds[c + 1] - bounds[c])
    return out


cdef double ordered_pairs(const Nearness* nearness, const int64_t* values, const int64_t* counts,
                          int64_t n) noexcept nogil:
    # Two pointers follow the first value within reach; sums run over (first within reach .. i - 1),
    # positions being taken from the class's first value. Each pair of values counts twice.
    cdef int64_t i, start = 0
    cdef double origin = nearness.positions[values[0]], at, near = 0.0, near_sum = 0.0, pairs = 0.0, count
    for i in range(n):
        at = nearness.positions[values[i]] - origin
        while values[start] < nearness.reach_low[values[i]]:
            near -= <double>counts[start]
            near_sum -= <double>counts[start] * (nearness.positions[values[start]] - origin)
            start += 1
        count = <double>counts[i]
        pairs += count * (2.0 * (near * nearness.unit - (at * near - near_sum)) + count * nearness.unit)
        near += count
        near_sum += count * at
    return pairs


cdef double tree_pairs(const Nearness* nearness, const int64_t* values, const int64_t* counts,
                       int64_t n, double* by_node) noexcept nogil:
    # Pairs whose LCA is v number count(v)**2 less its children's: the sum telescopes into node_gain.
    # `by_node` is zero before and after.
    cdef int64_t i
    cdef int32_t node
    cdef double pairs = 0.0
    for i in range(n):
        node = nearness.leaf[values[i]]
        while node >= 0:
            by_node[node] += <double>counts[i]
            node = nearness.parent[node]
    for i in range(n):
        node = nearness.leaf[values[i]]
        while node >= 0 and by_node[node] != 0.0:
            pairs += nearness.node_gain[node] * (by_node[node] * by_node[node])
            by_node[node] = 0.0
            node = nearness.parent[node]
    return pairs


cdef double flat_pairs(const Nearness* nearness, const int64_t* counts, int64_t n, double size) noexcept nogil:
    cdef int64_t i
    cdef double same = 0.0
    for i in range(n):
        same += <double>counts[i] * <double>counts[i]
    return nearness.other * (size * size) + (nearness.unit - nearness.other) * same


def s_diversity(closeness, offsets, values, counts):
    """S-diversity of every class on one sensitive attribute (definition 2.4); low is good.

    The mean of the pairwise contribution over all ordered pairs of rows, a row with itself included.
    Class c has `counts[i]` (int64, > 0) rows with code `values[i]` for i in
    `offsets[c]..offsets[c + 1] - 1`, codes ascending. Returns float64, one per class; an empty class
    is 0. With m distinct values in a class O(m) on a line and for labels, O(m * depth) in a tree.
    """
    cdef Closeness of = one_of(Closeness, closeness, "closeness")
    cdef const int64_t[::1] codes = array_of(values, np.int64, 1, "values")
    cdef const int64_t[::1] rows = array_of(counts, np.int64, 1, "counts")
    cdef const int64_t[::1] bounds = parts_of(offsets, len(codes), "offsets", empty=True)
    cdef const Nearness* nearness = &of.nearness
    cdef list keep = []
    cdef int64_t c, i, n
    cdef double size, pairs
    if not ascends(bounds, codes, nearness.n_values):
        raise ValueError("offsets and values must list the ascending distinct codes of every class, without null")
    if rows.shape[0] != codes.shape[0] or (rows.shape[0] and np.min(rows) < 1):
        raise ValueError("counts: every listed value needs a positive one")
    out = np.empty(bounds.shape[0] - 1)
    cdef double[::1] out_view = out
    cdef double* by_node = <double*>take(keep, of.n_counts if nearness.kind == TREE else 0, sizeof(double))
    with nogil:
        for c in range(out_view.shape[0]):
            n = bounds[c + 1] - bounds[c]
            if n == 0:
                out_view[c] = 0.0
                continue
            i = bounds[c]
            size = 0.0
            for i in range(bounds[c], bounds[c + 1]):
                size += <double>rows[i]
            i = bounds[c]
            if nearness.kind == ORDERED:
                pairs = ordered_pairs(nearness, &codes[i], &rows[i], n)
            elif nearness.kind == TREE:
                pairs = tree_pairs(nearness, &codes[i], &rows[i], n, by_node)
            else:
                pairs = flat_pairs(nearness, &rows[i], n, size)
            out_view[c] = pairs / (nearness.unit * (size * size))
    return out


cdef double pair(const Nearness* nearness, Spread* spread, int64_t u, int64_t v) noexcept nogil:
    cdef double near
    join_spread(nearness, spread, u)
    near = contribution_with(nearness, spread, v)
    leave_spread(nearness, spread, u)
    return near / nearness.unit


def pairwise_contribution(closeness, u, v):
    """The pairwise contribution of the values u[i] and v[i] (definition 2.3), 0 below 1 - r; float64."""
    cdef Closeness of = one_of(Closeness, closeness, "closeness")
    cdef const int64_t[::1] one = _codes_of(u, of.n_values, "u"), other = _codes_of(v, of.n_values, "v")
    cdef int64_t i, n = one.shape[0]
    cdef list keep = []
    cdef Spread spread = spread_of(keep, of)
    if other.shape[0] != n:
        raise ValueError("u and v must have the same length")
    out = np.empty(n)
    cdef double[::1] out_view = out
    with nogil:
        for i in range(n):
            out_view[i] = pair(&of.nearness, &spread, one[i], other[i])
    return out


cdef Spread spread_of(list keep, Closeness closeness) except *:
    # An empty one.
    cdef Spread spread
    spread.size = spread.pairs = 0.0
    spread.counts = <double*>take(keep, closeness.n_counts, sizeof(double))
    spread.sums = <double*>take(keep, closeness.n_counts, sizeof(double))
    return spread


def s_diversity_of_prefixes(closeness, codes):
    """S-diversity of the class of the rows 0..i, for every i, each row joining in turn; float64.

    `codes` (int64) are the rows' values. The form that growing methods use: O(log n_values) per row
    on a line, O(depth) in a tree, O(1) for labels.
    """
    cdef Closeness of = one_of(Closeness, closeness, "closeness")
    cdef const int64_t[::1] code = _codes_of(codes, of.n_values, "codes")
    cdef int64_t i, n = code.shape[0]
    cdef list keep = []
    cdef Spread spread = spread_of(keep, of)
    out = np.empty(n)
    cdef double[::1] out_view = out
    with nogil:
        for i in range(n):
            out_view[i] = s_diversity_with(&of.nearness, &spread, code[i])
            join_spread(&of.nearness, &spread, code[i])
    return out


def q_diversity_of_prefixes(attribute, codes):
    """Width of the class of the rows 0..i, for every i, each row joining in turn; float64.

    `codes` (int64) may hold null. The form that growing methods use: O(1) per row, O(depth) in a tree.
    """
    cdef Attribute of = one_of(Attribute, attribute, "attribute")
    cdef const int64_t[::1] code = _codes_of(codes, of.n_values + 1, "codes")
    cdef int64_t i, n = code.shape[0]
    cdef list keep = []
    cdef Cell cell
    out = np.empty(n)
    cdef double[::1] out_view = out
    cell.null = cell.valued = False
    cell.low = cell.high = cell.n_distinct = 0
    cell.node = 0
    cell.present = <uint8_t*>take(keep, of.n_values, sizeof(uint8_t))
    with nogil:
        for i in range(n):
            out_view[i] = width_with(&of.extent, &cell, code[i])
            join_cell(&of.extent, &cell, code[i])
    return out
