# SPDX-License-Identifier: Apache-2.0
"""A conjunction of requirements, evaluated on the sensitive counts of one class."""

from anoncore.types cimport int32_t, int64_t, test_t


# One requirement on one sensitive attribute.
cdef struct Rule:
    test_t test
    const void* params
    int32_t sensitive  # index of the sensitive attribute whose counts are tested


# Everything `passes` reads. Immutable once built; any number of threads may share it.
cdef struct Rules:
    int64_t min_size       # no class with fewer rows passes (k, or what l-diversity implies); >= 1
    int64_t min_units      # no class with rows of fewer units passes; 0 where none are counted. Callers test it
    bint by_units          # sensitive counts are of units: each counts once per value that it has
    int32_t n_rules
    const Rule* rules
    int32_t n_sensitive    # number of sensitive attributes; 0 when only sizes are asked for
    const int64_t* n_values              # per sensitive attribute: size of its domain, null included
    const int64_t* const* table_counts   # per sensitive attribute: count of every value in the table
    const int64_t* totals  # per sensitive attribute: the sum of its table_counts
    int64_t n_rows         # rows of the table
    const void* s_diversity  # the bound on the sum of S-diversities, or NULL


cdef class Conjunction:
    cdef Rules c
    cdef object keep  # owns every buffer that `c` points to
    cdef readonly tuple table_diversities


# Does a class of `size` rows (at most n_rows) pass every rule but that on its number of units? Per sensitive attribute a: values[a] ascending,
# counts[a] > 0, n_present[a] of them. With n_sensitive = 0 the three pointers are not read.
cdef bint passes(const Rules* rules, int64_t size,
                 const int64_t* const* values, const int64_t* const* counts,
                 const int64_t* n_present) noexcept nogil
