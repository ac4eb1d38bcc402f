# SPDX-License-Identifier: Apache-2.0
# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Q-diversity, S-diversity and weighted tuple diversity (Loukides & Shao 2008)."""

import numpy as np

from anoncore.types cimport FLAT, ORDERED, TREE, int32_t, int64_t, uint8_t

TOLERANCE = 1e-9  # a pair at exactly the distance r is within reach


cdef int32_t _kind(int64_t n_values, positions, tree) except -1:
    if not 0 <= n_values < 2**31:
        raise ValueError("n_values must be at least 0 and less than 2**31")
    if positions is not None and tree is not None:
        raise ValueError("an attribute has positions or a tree, not both")
    return ORDERED if positions is not None else TREE if tree is not None else FLAT


def _line(n_values, positions):
    # Positions as float64, checked to ascend.
    if positions is None:
        return np.zeros(1)
    positions = np.ascontiguousarray(positions, np.float64)
    if len(positions) != n_values:
        raise ValueError("one position per value")
    if not np.isfinite(positions).all() or (np.diff(positions) < 0).any():
        raise ValueError("positions must be finite and ascending")
    return positions


def _tree(n_values, tree):
    # (parent, first, last, leaf) as int32 arrays, checked so that climbing ends at the root, node 0.
    if tree is None:
        return tuple(np.zeros(1, np.int32) for _ in range(4))
    parent, first, last, leaf = (np.ascontiguousarray(part, np.int32) for part in tree)
    n_nodes = len(parent)
    if len(leaf) != n_values or len(first) != n_nodes or len(last) != n_nodes or n_nodes == 0:
        raise ValueError("a tree has one leaf per value, and a parent, a first and a last per node")
    inner = np.arange(1, n_nodes)
    if parent[0] != -1 or (parent[1:] < 0).any() or (parent[1:] >= inner).any():
        raise ValueError("nodes are numbered from the root 0, parents before children")
    if first[0] != 0 or last[0] != n_values - 1:
        raise ValueError("the root holds every value")
    if (first[1:] < first[parent[1:]]).any() or (last[1:] > last[parent[1:]]).any() or (first > last).any():
        raise ValueError("a node's leaves are among its parent's")
    codes = np.arange(n_values)
    if (leaf < 0).any() or (leaf >= n_nodes).any() or (first[leaf] != codes).any() or (last[leaf] != codes).any():
        raise ValueError("the leaf of a value holds that value only")
    return parent, first, last, leaf


cdef class Attribute:
    """A quasi-identifier as the kernels read it: what a set of its codes is wide.

    Codes are 0..n_values - 1 and n_values for null. `positions` (float64, ascending) make it ordered,
    `tree` = (parent, first, last, leaf) (int32, as in `anon.hierarchy.Tree`) a tree; with neither it is
    a flat set. `loss` says how a set of values is measured; every width is multiplied by `weight`:

    - "ncp": range share; (leaves below the LCA - 1) / (n_values - 1); (distinct - 1) / (n_values - 1)
    - "byun": range share; level of the LCA / height of the tree, a leaf 0; 1 for two or more labels
    - "q-diversity" (Loukides & Shao 2008, definition 2.1): range share; leaves / n_values; distinct / n_values

    Nulls alone are 0 wide, nulls together with values 1.
    """

    def __init__(self, int64_t n_values, positions=None, tree=None, *, loss="ncp", double weight=1.0):
        cdef int32_t kind = _kind(n_values, positions, tree)
        if loss not in ("ncp", "byun", "q-diversity"):
            raise ValueError("loss must be ncp, byun or q-diversity")
        if not (weight >= 0 and np.isfinite(weight)):
            raise ValueError("weight must be finite and at least 0")
        line = _line(n_values, positions)
        parent, first, last, leaf = _tree(n_values, tree)
        leaves = last.astype(np.float64) - first + 1
        base, cap, whole = 1.0, float(n_values), float(n_values - 1)
        node_width = (leaves - 1) / max(n_values - 1, 1)
        if kind == ORDERED:
            whole = line[n_values - 1] - line[0] if n_values else 0.0
        elif loss == "q-diversity":
            base, whole = 0.0, float(n_values)
            node_width = leaves / max(n_values, 1)
        elif loss == "byun":
            cap, whole = 1.0, 1.0
            node_width = _levels(parent, leaf)
        cdef const double[::1] positions_view = line, width_view = node_width
        cdef const int32_t[::1] leaf_view = leaf if len(leaf) else np.zeros(1, np.int32)
        cdef const int32_t[::1] parent_view = parent, first_view = first, last_view = last
        self.extent.kind = kind
        self.extent.n_values = n_values
        self.extent.weight = weight
        self.extent.whole = whole if whole > 0 else 1.0
        self.extent.positions = &positions_view[0] if line.size else NULL
        self.extent.leaf = &leaf_view[0]
        self.extent.parent = &parent_view[0]
        self.extent.first = &first_view[0]
        self.extent.last = &last_view[0]
        self.extent.node_width = &width_view[0]
        self.extent.base = base
        self.extent.cap = cap
        self.n_nodes = len(parent)
        self.keep = positions_view, width_view, leaf_view, parent_view, first_view, last_view

    @property
    def n_values(self):
        """Number of values, null not counted."""
        return self.extent.n_values


def _levels(parent, leaf):
    # (height - depth) / height of every node; 0 for leaves, short branches being padded there.
    depth = np.zeros(len(parent), np.int64)
    for node in range(1, len(parent)):
        depth[node] = depth[parent[node]] + 1
    height = max(int(depth.max()), 1)
    level = (height - depth) / height
    level[leaf] = 0.0
    return level


cdef class Closeness:
    """How much two values of a sensitive attribute give each other away (Loukides & Shao 2008, definition 2.3).

    Arguments as for `Attribute`, without null. Two values contribute pc = 1 - |difference| / range on a
    line and 1 - (leaves below the LCA - 1) / n_values in a tree if pc >= 1 - r (within 1e-9), else 0.
    Flat labels are a tree with one level, so that two different ones contribute 1 / n_values;
    `printed=True` takes the paper's formula to the letter, 1 - 1 / n_values.
    """

    def __init__(self, int64_t n_values, positions=None, tree=None, *, double r, bint printed=False):
        cdef int32_t kind = _kind(n_values, positions, tree)
        if not 0 <= r <= 1:
            raise ValueError("r must be between 0 and 1")
        line = _line(n_values, positions)
        parent, first, last, leaf = _tree(n_values, tree)
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
            units = n_values - (last.astype(np.float64) - first)
            units[last - first > (r + TOLERANCE) * n_values] = 0.0
            node_gain = units.copy()
            node_gain[1:] -= units[parent[1:]]
        else:
            apart = 1 if printed else n_values - 1
            if apart <= (r + TOLERANCE) * n_values:
                other = float(n_values - apart)
        cdef const double[::1] positions_view = line, gain_view = node_gain
        cdef const int64_t[::1] low_view = reach_low if len(reach_low) else np.zeros(1, np.int64)
        cdef const int64_t[::1] high_view = reach_high if len(reach_high) else np.zeros(1, np.int64)
        cdef const int32_t[::1] leaf_view = leaf if len(leaf) else np.zeros(1, np.int32)
        cdef const int32_t[::1] parent_view = parent
        self.nearness.kind = kind
        self.nearness.n_values = n_values
        self.nearness.unit = unit
        self.nearness.other = other
        self.nearness.positions = &positions_view[0] if line.size else NULL
        self.nearness.reach_low = &low_view[0]
        self.nearness.reach_high = &high_view[0]
        self.nearness.leaf = &leaf_view[0]
        self.nearness.parent = &parent_view[0]
        self.nearness.node_gain = &gain_view[0]
        self.n_counts = n_values + 1 if kind == ORDERED else len(parent) if kind == TREE else max(n_values, 1)
        self.keep = positions_view, gain_view, low_view, high_view, leaf_view, parent_view

    @property
    def n_values(self):
        """Number of values."""
        return self.nearness.n_values


cdef bint is_csr(const int64_t[::1] offsets, const int64_t[::1] values, int64_t n_codes) noexcept nogil:
    # Do offsets divide all of `values` into classes of ascending distinct codes < n_codes?
    cdef int64_t c, i
    if offsets.shape[0] == 0 or offsets[0] != 0 or offsets[offsets.shape[0] - 1] != values.shape[0]:
        return False
    for c in range(offsets.shape[0] - 1):
        if offsets[c + 1] < offsets[c] or offsets[c + 1] > values.shape[0]:
            return False
        for i in range(offsets[c], offsets[c + 1]):
            if values[i] < 0 or values[i] >= n_codes or (i > offsets[c] and values[i] <= values[i - 1]):
                return False
    return True


cdef double class_width(const Extent* extent, const int64_t* values, int64_t n) noexcept nogil:
    # `values` ascend; null, if present, is the last.
    cdef int64_t i, n_values = n
    cdef int32_t node = 0
    if n and values[n - 1] == extent.n_values:
        n_values = n - 1
        if n_values:
            return extent.weight
    if n_values == 0:
        return 0.0
    if extent.kind == TREE:
        node = node_above(extent, extent.leaf[values[0]], values[n_values - 1])
    return width_of(extent, values[0], values[n_values - 1], node, n_values)


def q_diversity(Attribute attribute, const int64_t[::1] offsets, const int64_t[::1] values):
    """Width of every class on one attribute: Q-diversity if the attribute's loss says so (definition 2.1).

    Class c has the distinct codes `values[offsets[c]:offsets[c + 1]]` (int64, ascending). Returns
    float64, one per class; an empty class is 0. O(n_values + depth) per class.
    """
    cdef int64_t c
    if not is_csr(offsets, values, attribute.extent.n_values + 1):
        raise ValueError("offsets and values must list the ascending distinct codes of every class")
    out = np.empty(offsets.shape[0] - 1)
    cdef double[::1] out_view = out
    cdef const int64_t* codes = &values[0] if values.shape[0] else NULL
    with nogil:
        for c in range(out_view.shape[0]):
            out_view[c] = class_width(&attribute.extent, codes + offsets[c], offsets[c + 1] - offsets[c])
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


def s_diversity(
    Closeness closeness, const int64_t[::1] offsets, const int64_t[::1] values, const int64_t[::1] counts
):
    """S-diversity of every class on one sensitive attribute (definition 2.4); low is good.

    The mean of the pairwise contribution over all ordered pairs of rows, a row with itself included.
    Class c has `counts[i]` (int64, > 0) rows with code `values[i]` for i in
    `offsets[c]..offsets[c + 1] - 1`, codes ascending. Returns float64, one per class; an empty class
    is 0. With m distinct values in a class O(m) on a line and for labels, O(m * depth) in a tree.
    """
    cdef int64_t c, i, n
    cdef double size, pairs
    if not is_csr(offsets, values, closeness.nearness.n_values):
        raise ValueError("offsets and values must list the ascending distinct codes of every class, without null")
    if counts.shape[0] != values.shape[0] or (counts.shape[0] and np.min(counts) < 1):
        raise ValueError("every listed value needs a positive count")
    cdef const Nearness* nearness = &closeness.nearness
    out = np.empty(offsets.shape[0] - 1)
    cdef double[::1] out_view = out, by_node = np.zeros(closeness.n_counts if nearness.kind == TREE else 1)
    with nogil:
        for c in range(out_view.shape[0]):
            n = offsets[c + 1] - offsets[c]
            if n == 0:
                out_view[c] = 0.0
                continue
            i = offsets[c]
            size = 0.0
            for i in range(offsets[c], offsets[c + 1]):
                size += <double>counts[i]
            i = offsets[c]
            if nearness.kind == ORDERED:
                pairs = ordered_pairs(nearness, &values[i], &counts[i], n)
            elif nearness.kind == TREE:
                pairs = tree_pairs(nearness, &values[i], &counts[i], n, &by_node[0])
            else:
                pairs = flat_pairs(nearness, &counts[i], n, size)
            out_view[c] = pairs / (nearness.unit * (size * size))
    return out


cdef double pair(const Nearness* nearness, Spread* spread, int64_t u, int64_t v) noexcept nogil:
    cdef double near
    join_spread(nearness, spread, u)
    near = contribution_with(nearness, spread, v)
    leave_spread(nearness, spread, u)
    return near / nearness.unit


def pairwise_contribution(Closeness closeness, const int64_t[::1] u, const int64_t[::1] v):
    """The pairwise contribution of the values u[i] and v[i] (definition 2.3), 0 below 1 - r; float64."""
    cdef int64_t i, n = u.shape[0]
    if v.shape[0] != n:
        raise ValueError("u and v must have the same length")
    if n and (min(np.min(u), np.min(v)) < 0 or max(np.max(u), np.max(v)) >= closeness.n_values):
        raise ValueError("codes must be values of the attribute")
    out = np.empty(n)
    cdef double[::1] out_view = out
    cdef double[::1] room = np.zeros(2 * closeness.n_counts)
    cdef Spread spread
    spread.size = spread.pairs = 0.0
    spread.counts = &room[0]
    spread.sums = &room[closeness.n_counts]
    with nogil:
        for i in range(n):
            out_view[i] = pair(&closeness.nearness, &spread, u[i], v[i])
    return out


def s_diversity_of_prefixes(Closeness closeness, const int64_t[::1] codes):
    """S-diversity of the class of the rows 0..i, for every i, each row joining in turn; float64.

    `codes` (int64) are the rows' values. The form that growing methods use: O(log n_values) per row
    on a line, O(depth) in a tree, O(1) for labels.
    """
    cdef int64_t i, n = codes.shape[0]
    if n and (np.min(codes) < 0 or np.max(codes) >= closeness.n_values):
        raise ValueError("codes must be values of the attribute")
    out = np.empty(n)
    cdef double[::1] out_view = out
    cdef double[::1] room = np.zeros(2 * closeness.n_counts)
    cdef Spread spread
    spread.size = spread.pairs = 0.0
    spread.counts = &room[0]
    spread.sums = &room[closeness.n_counts]
    with nogil:
        for i in range(n):
            out_view[i] = s_diversity_with(&closeness.nearness, &spread, codes[i])
            join_spread(&closeness.nearness, &spread, codes[i])
    return out


def q_diversity_of_prefixes(Attribute attribute, const int64_t[::1] codes):
    """Width of the class of the rows 0..i, for every i, each row joining in turn; float64.

    `codes` (int64) may hold null. The form that growing methods use: O(1) per row, O(depth) in a tree.
    """
    cdef int64_t i, n = codes.shape[0]
    if n and (np.min(codes) < 0 or np.max(codes) > attribute.n_values):
        raise ValueError("codes must be values of the attribute, or null")
    out = np.empty(n)
    cdef double[::1] out_view = out
    cdef uint8_t[::1] present = np.zeros(attribute.n_values + 1, np.uint8)
    cdef Cell cell
    cell.null = cell.valued = False
    cell.low = cell.high = cell.n_distinct = 0
    cell.node = 0
    cell.present = &present[0]
    with nogil:
        for i in range(n):
            out_view[i] = width_with(&attribute.extent, &cell, codes[i])
            join_cell(&attribute.extent, &cell, codes[i])
    return out


def weighted_tuple_diversity(const double[:, ::1] q, const double[:, ::1] s, double w_u, double w_p):
    """wtd of every class: w_u * mean of its Q-diversities + w_p * mean of its S-diversities (definition 3.1).

    `q` and `s` (float64) have one row per class and one column per quasi-identifier and sensitive
    attribute; a mean over no attribute is 0. (The paper prints m - p for the number of sensitive
    attributes, a slip.)
    """
    cdef int64_t c, a, n = q.shape[0], m = q.shape[1], p = s.shape[1]
    cdef double q_sum, s_sum
    if s.shape[0] != n:
        raise ValueError("q and s must have one row per class")
    if not (0 <= w_u <= 1 and 0 <= w_p <= 1) or abs(w_u + w_p - 1) > TOLERANCE:
        raise ValueError("w_u and w_p must lie between 0 and 1 and sum to 1")
    out = np.empty(n)
    cdef double[::1] out_view = out
    with nogil:
        for c in range(n):
            q_sum = s_sum = 0.0
            for a in range(m):
                q_sum += q[c, a]
            for a in range(p):
                s_sum += s[c, a]
            out_view[c] = w_u * (q_sum / m if m else 0.0) + w_p * (s_sum / p if p else 0.0)
    return out
