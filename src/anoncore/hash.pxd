# SPDX-License-Identifier: Apache-2.0
"""The one mixing of 64 bits."""

from anoncore.types cimport uint64_t


cdef inline uint64_t mixed(uint64_t x) noexcept nogil:
    # A step of splitmix64.
    x += <uint64_t>0x9E3779B97F4A7C15
    x = (x ^ (x >> 30)) * <uint64_t>0xBF58476D1CE4E5B9
    x = (x ^ (x >> 27)) * <uint64_t>0x94D049BB133111EB
    return x ^ (x >> 31)
