# SPDX-License-Identifier: Apache-2.0
"""The one radix sort."""

from libc.string cimport memset

from anoncore.types cimport int64_t, row_t, uint32_t, uint64_t

cdef enum:
    FEW = 32         # so many keys are sorted by insertion
    SMALL = 1 << 12  # so many by digits of 8 bits, more by 11


cdef inline void sort_few(uint64_t* key, row_t* row, int64_t n, int low) noexcept nogil:
    cdef int64_t i, j
    cdef uint64_t k
    cdef row_t r = 0
    for i in range(1, n):
        k = key[i]
        if row != NULL:
            r = row[i]
        j = i
        while j > 0 and key[j - 1] >> low > k >> low:
            key[j] = key[j - 1]
            if row != NULL:
                row[j] = row[j - 1]
            j -= 1
        key[j] = k
        if row != NULL:
            row[j] = r


cdef inline void sort_keys(uint64_t** keys, row_t** rows, uint64_t** spare_keys, row_t** spare_rows, int64_t n,
                           int low) noexcept nogil:
    """Stable sort of n < 2**32 keys by their bits `low`..63; `rows` (NULL: none) go along.

    The result is in *keys and *rows, which may have been swapped with the scratch. Digits that do not
    vary cost nothing.
    """
    cdef uint32_t starts[2048]
    cdef uint64_t* key = keys[0]
    cdef uint64_t* to_key = spare_keys[0]
    cdef row_t* row = NULL if rows == NULL else rows[0]
    cdef row_t* to_row = NULL if rows == NULL else spare_rows[0]
    cdef uint64_t varying = 0, mask
    cdef int64_t i, at
    cdef uint32_t total, size
    cdef int bits = 8 if n <= SMALL else 11, shift = low
    if n <= FEW:
        sort_few(key, row, n, low)
        return
    for i in range(1, n):
        varying |= key[i] ^ key[0]
    mask = (1 << bits) - 1
    while shift < 64 and varying >> shift:
        if varying >> shift & mask:
            memset(starts, 0, (mask + 1) * sizeof(uint32_t))
            for i in range(n):
                starts[key[i] >> shift & mask] += 1
            total = 0
            for i in range(<int64_t>mask + 1):
                size = starts[i]
                starts[i] = total
                total += size
            for i in range(n):
                at = starts[key[i] >> shift & mask]
                starts[key[i] >> shift & mask] += 1
                to_key[at] = key[i]
                if row != NULL:
                    to_row[at] = row[i]
            key, to_key = to_key, key
            row, to_row = to_row, row
        shift += bits
    keys[0], spare_keys[0] = key, to_key
    if rows != NULL:
        rows[0], spare_rows[0] = row, to_row
