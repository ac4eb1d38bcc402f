# SPDX-License-Identifier: Apache-2.0
"""What the kernels know of an attribute, and how wide a set of its values is."""

from anoncore.types cimport ORDERED, TREE, int32_t, int64_t


# The width of a set of one attribute's codes. Null has code n_values.
cdef struct Extent:
    int32_t kind
    int64_t n_values
    double weight
    double full                # width of nulls together with values
    double whole               # ORDERED: length of the line; FLAT: what `cap` is divided by; never 0
    const double* positions    # ORDERED: place of each code on the line, ascending
    const int32_t* leaf        # TREE: node of each code; parent, first and last code below each node
    const int32_t* parent
    const int32_t* first
    const int32_t* last
    const double* node_width   # TREE: width of the leaves below each node
    double base                # FLAT: d distinct values have width min(d - base, cap) / whole
    double cap


cdef inline double width_of(const Extent* extent, int64_t low, int64_t high, int32_t node,
                            int64_t n_distinct) noexcept nogil:
    # The width of some values: between two codes of a line, below a node, or of a number of labels.
    cdef double distinct
    if extent.kind == ORDERED:
        return extent.weight * ((extent.positions[high] - extent.positions[low]) / extent.whole)
    if extent.kind == TREE:
        return extent.weight * extent.node_width[node]
    distinct = <double>n_distinct - extent.base
    return extent.weight * ((distinct if distinct < extent.cap else extent.cap) / extent.whole)


cdef inline int32_t ancestor(const Extent* extent, int32_t node, int64_t code) noexcept nogil:
    # The lowest node at or above `node` that holds `code`.
    while code < extent.first[node] or code > extent.last[node]:
        node = extent.parent[node]
    return node


# The width of some codes, `distinct` of them, from the least to the greatest; high may be null.
cdef inline double span(const Extent* extent, int64_t low, int64_t high, int64_t distinct) noexcept nogil:
    cdef int32_t node = 0
    if low == high:
        return 0.0
    if high == extent.n_values:
        return extent.full
    if extent.kind == TREE:
        node = ancestor(extent, extent.leaf[low], high)
    return width_of(extent, low, high, node, distinct)


cdef class Attribute:
    cdef Extent extent
    cdef Extent counted             # of weight 1, widths times `denominator`: whole numbers
    cdef readonly double denominator
    cdef readonly bint is_whole     # are they? On a line with a position that is none `denominator` is 1
    cdef readonly str loss
    cdef readonly object positions  # float64 by value, or None
    cdef readonly object tree       # (parent, first, last, leaf), or None
    cdef object widths              # of its nodes, where they were given
    cdef object keep                # owns every buffer that `extent` points to
    cdef const int32_t* own(self, values) except? NULL
    cdef const double* own_reals(self, values) except? NULL


# The extents of these attributes, one behind the other; `keep` owns what they point to.
cdef const Extent* extents_of(tuple attributes, list keep) except NULL

# The same with weight 1 and widths in whole numbers, where they have any; OUT units: what to multiply those of each
# attribute by. Units are whole too where all widths, added up `most` times, are exact that way.
cdef const Extent* counted_extents_of(tuple attributes, int64_t most, double* units, list keep) except NULL

# Per node of a tree its distance from the root.
cdef const int64_t[::1] depths_of(tree) except *
