# SPDX-License-Identifier: Apache-2.0
"""How wide a class is on a quasi-identifier, and how near its sensitive values are to each other.

Both in a form that grows with the class: a `Cell` follows one quasi-identifier of a growing class, a
`Spread` one sensitive attribute; adding a row costs what changes, never the size of the class.
"""

from anoncore.attribute cimport Extent, ancestor, width_of
from anoncore.types cimport FLAT, ORDERED, TREE, int32_t, int64_t, uint8_t


# The codes of a growing class on one attribute.
cdef struct Cell:
    bint null
    bint valued          # some code is not null; the fields below are valid only then
    int64_t low          # ORDERED: least and greatest code; TREE: first and last leaf of the LCA
    int64_t high
    int32_t node         # TREE: the LCA
    int64_t n_distinct   # FLAT
    uint8_t* present     # FLAT: by code, 1 if present; zero before the first row joins


cdef inline double width(const Extent* extent, const Cell* cell) noexcept nogil:
    if not cell.valued:
        return 0.0
    if cell.null:
        return extent.full
    return width_of(extent, cell.low, cell.high, cell.node, cell.n_distinct)


cdef inline double width_with(const Extent* extent, const Cell* cell, int64_t code) noexcept nogil:
    # The width after `code` joins.
    cdef int64_t low = code, high = code, n_distinct = 1
    cdef int32_t node = 0
    if code == extent.n_values:
        return extent.full if cell.valued else 0.0
    if cell.null:
        return extent.full
    if extent.kind == ORDERED:
        if cell.valued:
            low = cell.low if cell.low < code else code
            high = cell.high if cell.high > code else code
    elif extent.kind == TREE:
        node = ancestor(extent, cell.node, code) if cell.valued else extent.leaf[code]
    else:
        n_distinct = cell.n_distinct + (cell.present[code] == 0) if cell.valued else 1
    return width_of(extent, low, high, node, n_distinct)


cdef inline void join_cell(const Extent* extent, Cell* cell, int64_t code) noexcept nogil:
    if code == extent.n_values:
        cell.null = True
        return
    if not cell.valued:
        cell.low = cell.high = code
        cell.n_distinct = 0
        cell.node = extent.leaf[code] if extent.kind == TREE else 0
    cell.valued = True
    if extent.kind == TREE:
        cell.node = ancestor(extent, cell.node, code)
        cell.low = extent.first[cell.node]
        cell.high = extent.last[cell.node]
        return
    if code < cell.low:
        cell.low = code
    if code > cell.high:
        cell.high = code
    if extent.kind == FLAT and cell.present[code] == 0:
        cell.present[code] = 1
        cell.n_distinct += 1


cdef inline void leave_cell(const Extent* extent, Cell* cell, int64_t code) noexcept nogil:
    # Empties the cell once it was called for every code that joined.
    if extent.kind == FLAT and code < extent.n_values:
        cell.present[code] = 0
    cell.null = False
    cell.valued = False


# How much two values of one sensitive attribute give each other away: the pairwise contribution
# (Loukides & Shao 2008, definition 2.3), 0 below 1 - r, in units of 1 / `unit`: whole numbers for
# nominal attributes and for whole positions, so that sums are exact below 2**53.
cdef struct Nearness:
    int32_t kind
    int64_t n_values
    double unit                  # the contribution of a value with itself
    double other                 # FLAT: of two different values
    const double* positions      # ORDERED
    const int64_t* reach_low     # ORDERED: first and last code within reach of each code
    const int64_t* reach_high
    const int32_t* leaf          # TREE
    const int32_t* parent
    const double* node_gain      # TREE: contribution of a pair whose LCA is the node, less its parent's


# The values of a growing class on one sensitive attribute.
cdef struct Spread:
    double size
    double pairs       # the sum of contributions over ordered pairs of rows
    double* counts     # ORDERED: n_values + 1, a Fenwick tree; TREE: by node; FLAT: by value
    double* sums       # ORDERED: n_values + 1, a Fenwick tree of positions


cdef inline void add_below(const Nearness* nearness, const Spread* spread, int64_t code,
                           double* count, double* total) noexcept nogil:
    # OUT count, total: the rows with a code < `code` and the sum of their positions.
    count[0] = total[0] = 0.0
    while code > 0:
        count[0] += spread.counts[code]
        total[0] += spread.sums[code]
        code &= code - 1


cdef inline double contribution_with(const Nearness* nearness, const Spread* spread,
                                     int64_t code) noexcept nogil:
    # The sum of contributions of one more row with this code and each row of the class.
    # O(log n_values) on a line, O(depth) in a tree, O(1) for labels.
    cdef double near = 0.0, at, low = 0, low_sum = 0, middle = 0, middle_sum = 0, high = 0, high_sum = 0
    cdef int32_t node
    if nearness.kind == ORDERED:
        at = nearness.positions[code]
        add_below(nearness, spread, nearness.reach_low[code], &low, &low_sum)
        add_below(nearness, spread, code, &middle, &middle_sum)
        add_below(nearness, spread, nearness.reach_high[code] + 1, &high, &high_sum)
        return ((high - low) * nearness.unit
                - ((at * (middle - low) - (middle_sum - low_sum))
                   + ((high_sum - middle_sum) - at * (high - middle))))
    if nearness.kind == TREE:
        node = nearness.leaf[code]
        while node >= 0:
            near += nearness.node_gain[node] * spread.counts[node]
            node = nearness.parent[node]
        return near
    return nearness.other * spread.size + (nearness.unit - nearness.other) * spread.counts[code]


cdef inline double s_diversity_with(const Nearness* nearness, const Spread* spread,
                                    int64_t code) noexcept nogil:
    # S-diversity (definition 2.4) after `code` joins.
    cdef double size = spread.size + 1.0
    return ((spread.pairs + 2.0 * contribution_with(nearness, spread, code) + nearness.unit)
            / (nearness.unit * (size * size)))


cdef inline double s_diversity_of(const Nearness* nearness, const Spread* spread) noexcept nogil:
    if spread.size == 0.0:
        return 0.0
    return spread.pairs / (nearness.unit * (spread.size * spread.size))


cdef inline void join_spread(const Nearness* nearness, Spread* spread, int64_t code) noexcept nogil:
    cdef int64_t i
    cdef int32_t node
    spread.pairs += 2.0 * contribution_with(nearness, spread, code) + nearness.unit
    spread.size += 1.0
    if nearness.kind == ORDERED:
        i = code + 1
        while i <= nearness.n_values:
            spread.counts[i] += 1.0
            spread.sums[i] += nearness.positions[code]
            i += i & -i
    elif nearness.kind == TREE:
        node = nearness.leaf[code]
        while node >= 0:
            spread.counts[node] += 1.0
            node = nearness.parent[node]
    else:
        spread.counts[code] += 1.0


cdef inline void leave_spread(const Nearness* nearness, Spread* spread, int64_t code) noexcept nogil:
    # Empties the spread, to the bit, once it was called for every code that joined.
    cdef int64_t i
    cdef int32_t node
    spread.size = spread.pairs = 0.0
    if nearness.kind == ORDERED:
        i = code + 1
        while i <= nearness.n_values:
            spread.counts[i] = spread.sums[i] = 0.0
            i += i & -i
    elif nearness.kind == TREE:
        node = nearness.leaf[code]
        while node >= 0:
            spread.counts[node] = 0.0
            node = nearness.parent[node]
    else:
        spread.counts[code] = 0.0


cdef class Closeness:
    cdef Nearness nearness
    cdef readonly int64_t n_counts  # length of a Spread's `counts`, and of its `sums` on a line
    cdef object keep  # owns every buffer that `nearness` points to
