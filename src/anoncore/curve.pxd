# SPDX-License-Identifier: Apache-2.0
"""Widths of cells in integer units: what the cuts, the refinement and the repair minimize."""

from anoncore.requirement cimport Conjunction
from anoncore.types cimport int32_t, int64_t

cdef enum:
    BEYOND = 1 << 30    # more than any field of a record
    PARTNERS = 2        # classes that one is pooled with


# A row is a record of int32 fields: ordered attributes (padded to a multiple of 4), then trees,
# then flat attributes (padded again).
cdef struct Space:
    int n_ordered
    int n_trees
    int n_flat
    int stride
    const int32_t* full          # per ordered field: width of the whole domain
    const int64_t* tree_starts   # per tree: where its codes begin in `leaf`
    const int32_t* leaf          # node of every code
    const int32_t* last          # per node: last code below it
    const int32_t* parent
    const int32_t* node_width
    const int64_t* set_starts    # per flat attribute: where its widths begin in `set_width`
    const int32_t* set_width     # width of 0, 1, 2, ... values, then of null together with values
    const int32_t* null_code     # per flat attribute


cdef class Widths:
    cdef Space c
    cdef readonly double unit
    cdef const int64_t[::1] starts
    cdef const int32_t[::1] place
    cdef const int64_t[::1] field
    cdef object keep


# `records` of `place`, and the `sensitive` codes of n rows (a column per attribute that the rules read), checked.
cdef const int32_t[:, ::1] records_of(Widths widths, records) except *
cdef const int32_t[:, ::1] sensitive_of(Conjunction rules, sensitive, int64_t n) except *


# Four fields at a time, in words that compilers turn into vector instructions of any processor.
cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>

    typedef int32_t anon_lanes __attribute__((vector_size(16)));

    static inline anon_lanes anon_load(const int32_t* from) {
        anon_lanes lanes;
        memcpy(&lanes, from, sizeof lanes);
        return lanes;
    }
    static inline anon_lanes anon_least(anon_lanes a, anon_lanes b) {
        anon_lanes less = a < b;
        return (a & less) | (b & ~less);
    }
    static inline anon_lanes anon_most(anon_lanes a, anon_lanes b) {
        anon_lanes more = a > b;
        return (a & more) | (b & ~more);
    }
    static inline void anon_widen(int32_t* low, int32_t* high, const int32_t* record, int n) {
        for (int f = 0; f < n; f += 4) {
            anon_lanes here = anon_load(record + f);
            anon_lanes bottom = anon_least(anon_load(low + f), here), top = anon_most(anon_load(high + f), here);
            memcpy(low + f, &bottom, sizeof bottom);
            memcpy(high + f, &top, sizeof top);
        }
    }
    static inline int anon_any(anon_lanes a) {
        int64_t halves[2];
        memcpy(halves, &a, sizeof halves);
        return (halves[0] | halves[1]) != 0;
    }
    static inline int anon_grown(int32_t* low, int32_t* high, const int32_t* record, int n) {
        anon_lanes outside = {0, 0, 0, 0};
        for (int f = 0; f < n; f += 4) {
            anon_lanes here = anon_load(record + f);
            outside |= (here < anon_load(low + f)) | (here > anon_load(high + f));
        }
        if (!anon_any(outside))
            return 0;
        anon_widen(low, high, record, n);
        return 1;
    }
    static inline int32_t anon_span(const int32_t* low, const int32_t* high, const int32_t* low_2,
                                    const int32_t* high_2, const int32_t* full, int n) {
        anon_lanes total = {0, 0, 0, 0};
        for (int f = 0; f < n; f += 4) {
            anon_lanes bottom = anon_least(anon_load(low + f), anon_load(low_2 + f));
            anon_lanes top = anon_most(anon_load(high + f), anon_load(high_2 + f));
            total += anon_least(top - bottom, anon_load(full + f));
        }
        return total[0] + total[1] + total[2] + total[3];
    }
    """
    # Bounds that take up one more record; n is a multiple of 4.
    void widen "anon_widen" (int32_t* low, int32_t* high, const int32_t* record, int n) noexcept nogil
    # The same; were they changed?
    bint grown "anon_grown" (int32_t* low, int32_t* high, const int32_t* record, int n) noexcept nogil
    # Sum of the widths, each at most full, of n fields of two boxes together; n is a multiple of 4.
    int32_t joined_span "anon_span" (const int32_t* low, const int32_t* high, const int32_t* low_2,
                                     const int32_t* high_2, const int32_t* full, int n) noexcept nogil


cdef inline int32_t joined_spans(const Space* space, int n_ordered, const int32_t* low, const int32_t* high,
                                 const int32_t* low_2, const int32_t* high_2) noexcept nogil:
    # Width of the ordered and the tree attributes of two boxes together.
    cdef int32_t total = joined_span(low, high, low_2, high_2, space.full, n_ordered), bottom, top, node
    cdef int f
    for f in range(space.n_trees):
        bottom = low[n_ordered + f] if low[n_ordered + f] < low_2[n_ordered + f] else low_2[n_ordered + f]
        top = high[n_ordered + f] if high[n_ordered + f] > high_2[n_ordered + f] else high_2[n_ordered + f]
        node = space.leaf[space.tree_starts[f] + bottom]
        while space.last[node] < top:
            node = space.parent[node]
        total += space.node_width[node]
    return total


cdef inline int32_t spans(const Space* space, const int32_t* low, const int32_t* high, int n_ordered) noexcept nogil:
    # Width of the ordered and the tree attributes together.
    return joined_spans(space, n_ordered, low, high, low, high)


cdef inline int keep_partner(int64_t* costs, int64_t* partners, int n, int64_t cost, int64_t partner) noexcept nogil:
    # A partner among the n cheapest so far, ascending by cost and the first one first; returns how many there are.
    cdef int j
    if n < PARTNERS:
        n += 1
    elif cost >= costs[n - 1]:
        return n
    j = n - 1
    while j > 0 and costs[j - 1] > cost:
        costs[j] = costs[j - 1]
        partners[j] = partners[j - 1]
        j -= 1
    costs[j] = cost
    partners[j] = partner
    return n


cdef inline int32_t set_width(const Space* space, int f, int32_t n_values, bint has_null) noexcept nogil:
    if not has_null:
        return space.set_width[space.set_starts[f] + n_values]
    return space.set_width[space.set_starts[f + 1] - 1] if n_values else 0
