# SPDX-License-Identifier: Apache-2.0
"""Widths and signatures: the only place where one is chosen."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

# A code is the rank of a value in its attribute's domain; null has the last code.
ctypedef fused code_t:
    uint8_t
    uint16_t
    uint32_t

# A second code width, where one function copies codes from one width to another.
ctypedef fused field_t:
    uint8_t
    uint16_t
    uint32_t

# A row number; a kernel call takes at most 2**32 - 1 rows.
ctypedef uint32_t row_t

# How an attribute's codes are read: a line, a tree (codes are leaves, depth first), a plain set.
cdef enum Kind:
    ORDERED = 0
    TREE = 1
    FLAT = 2

# The requirement ABI: does a class with these counts of one sensitive attribute pass?
#   values, counts   the values present in the class, ascending, each with a count > 0
#   table_counts     count of every value 0..n_values-1 in the table of n_rows rows
#   class_size       the sum of counts
# Thread-safe, no allocation, no Python; non-zero means "passes".
ctypedef int32_t (*test_t)(const int64_t* values, const int64_t* counts, int64_t n_present,
                           const int64_t* table_counts, int64_t n_values,
                           int64_t class_size, int64_t n_rows,
                           const void* params) noexcept nogil
