# SPDX-License-Identifier: Apache-2.0
"""Sums that are exact in 128 bits, or that lose nothing to the number of their terms."""

from anoncore.types cimport int64_t, uint64_t

cdef extern from *:
    """
    typedef __int128 anon_int128;
    typedef unsigned __int128 anon_uint128;
    """
    ctypedef long long int128 "anon_int128"
    ctypedef unsigned long long uint128 "anon_uint128"


# The counts t of an ordered attribute in the table, by code; the table has n rows, below 2**32.
cdef struct Line:
    const int64_t* ranks          # ranks before each code, and in all
    const int64_t* cumulative     # sum of t up to and including each code
    const uint64_t* areas         # sum of `cumulative` over the ranks before each code, and of all


cdef inline int128 area(const Line* line, int64_t start, int64_t stop, uint64_t reached,
                        int64_t size) noexcept nogil:
    # Sum over the ranks with codes in [start, stop) of |reached - size * cumulative|: `reached` (n times
    # the rows of a class of `size` rows up to here) is constant, `cumulative` does not descend.
    cdef int64_t low = start, high = stop, middle, i
    cdef uint64_t there
    cdef int128 total = 0
    if stop - start <= 4:
        for i in range(start, stop):
            if line.ranks[i + 1] > line.ranks[i]:
                there = <uint64_t> size * line.cumulative[i]
                total += reached - there if reached > there else there - reached
        return total
    while low < high:
        middle = low + (high - low) // 2
        if <uint64_t> size * line.cumulative[middle] <= reached:
            low = middle + 1
        else:
            high = middle
    cdef int128 below = <int128> reached * (line.ranks[low] - line.ranks[start])
    below -= <int128> (line.areas[low] - line.areas[start]) * size
    cdef int128 above = <int128> (line.areas[stop] - line.areas[low]) * size
    above -= <int128> reached * (line.ranks[stop] - line.ranks[low])
    return below + above


# A sum of doubles and what rounding took from it (Knuth's two-sum); `total + lost` is the sum, as if
# rounded from one of twice the precision.
cdef struct Sum:
    double total
    double lost


cdef inline void add_to(Sum* sum, double term) noexcept nogil:
    cdef double total = sum.total + term
    cdef double part = total - sum.total
    sum.lost += (sum.total - (total - part)) + (term - part)
    sum.total = total
