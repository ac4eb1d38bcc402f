# SPDX-License-Identifier: Apache-2.0
# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Rows dealt into buckets of distinct values: Anatomy."""

import numpy as np

from anoncore.doors import MOST_ROWS, array_of, whole
from anoncore.types cimport int64_t, uint32_t


cdef void deal_rounds(int64_t* left, int64_t m, int64_t n_rounds, int64_t l, uint32_t* taken) noexcept nogil:
    # `left` is descending and stays so: of the values tied with the l-th largest the last ones are
    # taken, so that subtracting one keeps the order. IN/OUT left (m), OUT taken (n_rounds x l).
    cdef int64_t i, turn, first, last, beyond, middle, tied
    for turn in range(n_rounds):
        tied = left[l - 1]
        first = l - 1
        while first > 0 and left[first - 1] == tied:
            first -= 1
        last = l - 1
        beyond = m
        while beyond - last > 1:
            middle = last + (beyond - last) // 2
            if left[middle] == tied:
                last = middle
            else:
                beyond = middle
        for i in range(first):
            taken[turn * l + i] = <uint32_t>i
            left[i] -= 1
        for i in range(l - first):
            taken[turn * l + first + i] = <uint32_t>(last - i)
            left[last - i] -= 1


def deal(counts, l):
    """Deal the values of a sensitive attribute into buckets of l distinct ones (Xiao & Tao 2006, figure 3).

    While at least l values are left, each bucket takes one row of each of the l most frequent.
    `counts` (int64, descending, all > 0) are the rows of each value. Returns (taken, left):
    `taken` (uint32, n_buckets x l) lists the values of each bucket, `left` (int64) what remains of
    each value. O(l + log n_values) per bucket.
    """
    cdef int64_t m, n_rounds, each = whole(l, 1, MOST_ROWS, "l")
    ordered = array_of(counts, np.int64, 1, "counts")
    m = len(ordered)
    if m and (ordered.min() < 1 or (ordered[1:] > ordered[:m - 1]).any()):
        raise ValueError("counts must be positive and descending")
    if m and (ordered[0] > MOST_ROWS or ordered.sum() > MOST_ROWS):
        raise ValueError("counts must be those of at most 2**32 - 1 rows")
    n_rounds = _n_rounds(ordered, each)
    taken = np.empty((n_rounds, each), np.uint32)
    left = ordered.copy()
    cdef int64_t[::1] left_view = left
    cdef uint32_t[:, ::1] taken_view = taken
    if n_rounds:
        with nogil:
            deal_rounds(&left_view[0], m, n_rounds, each, &taken_view[0, 0])
    return taken, left


def _n_rounds(counts, l):
    # The most buckets b with sum(min(count, b)) >= l * b: taking the most frequent first reaches it.
    low, high = 0, int(counts.sum()) // l
    while low < high:
        middle = (low + high + 1) // 2
        if int(np.minimum(counts, middle).sum()) >= l * middle:
            low = middle
        else:
            high = middle - 1
    return low
