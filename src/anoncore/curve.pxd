# SPDX-License-Identifier: Apache-2.0
"""Widths of cells in integer units: what the cuts, the refinement and the repair minimize."""

from anoncore.requirement cimport Conjunction
from anoncore.types cimport int32_t, int64_t

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

# What a caller hands over, checked.
cdef const int32_t[:, ::1] records_of(Widths widths, records) except *
cdef const int32_t[:, ::1] sensitive_of(Conjunction rules, sensitive, int64_t n) except *
