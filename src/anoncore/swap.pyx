# SPDX-License-Identifier: Apache-2.0
# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Rank swapping (Moore 1996): which rank each rank takes its value from."""

import numpy as np

from anoncore.doors import MOST_ROWS, array_of, whole
from anoncore.memory cimport take
from anoncore.types cimport int64_t, uint32_t


cdef void leave(uint32_t* tree, int64_t size, int64_t at) noexcept nogil:
    """Take element `at` out of the counts."""
    at += 1
    while at <= size:
        tree[at] -= 1
        at += at & -at


cdef int64_t below(const uint32_t* tree, int64_t at) noexcept nogil:
    """How many elements below `at` are left."""
    cdef int64_t total = 0
    while at > 0:
        total += tree[at]
        at &= at - 1
    return total


cdef int64_t select(const uint32_t* tree, int64_t size, int64_t top, int64_t number) noexcept nogil:
    """The element left before which `number` are left."""
    cdef int64_t at = 0, step = top
    while step:
        if at + step <= size and tree[at + step] <= number:
            at += step
            number -= tree[at]
        step >>= 1
    return at


cdef void _swap(const double* draws, int64_t* source, uint32_t* tree, int64_t n, int64_t window) noexcept nogil:
    cdef int64_t i, j, end, left, number, top = 1
    while top * 2 <= n:
        top *= 2
    for i in range(1, n + 1):
        tree[i] = <uint32_t>(i & -i)
    for i in range(n):
        source[i] = i
    # Whoever has been passed or swapped has left: below(end) counts those of the window alone.
    for i in range(n):
        if source[i] != i:
            continue
        leave(tree, n, i)
        end = n if window >= n - i else i + window + 1
        left = below(tree, end)
        if left == 0:
            continue
        number = <int64_t>(draws[i] * <double>left)
        if number >= left:
            number = left - 1
        j = select(tree, n, top, number)
        leave(tree, n, j)
        source[i], source[j] = j, i


def swapped(draws, window):
    """For each rank the rank whose value it takes (int64); nobody's differs by more than `window`.

    Ranks are gone through upward. Rank i, if it is not swapped yet, takes the one of number
    floor(draws[i] * count) among the ranks i+1..i+window that are not, in their order; if there is none, it
    keeps its value. `draws` (float64, one per rank) are at least 0 and below 1.
    """
    draws = array_of(draws, np.float64, 1, "draws")
    cdef int64_t n = whole(len(draws), 0, MOST_ROWS, "the number of draws")
    cdef int64_t reach = whole(window, 0, MOST_ROWS, "window")
    if n and not (draws.min() >= 0 and draws.max() < 1):
        raise ValueError("draws must be at least 0 and below 1")
    source = np.empty(n, np.int64)
    if n == 0:
        return source
    cdef list keep = []
    cdef uint32_t* tree = <uint32_t*>take(keep, n + 1, sizeof(uint32_t))
    cdef const double[::1] drawn = draws
    cdef int64_t[::1] to = source
    with nogil:
        _swap(&drawn[0], &to[0], tree, n, reach)
    return source
