# SPDX-License-Identifier: Apache-2.0
# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Swapping: which rank a rank takes its value from (Moore 1996), which record a record is swapped with."""

import numpy as np

from anoncore.doors import MOST_ROWS, array_of, given, whole
from anoncore.memory cimport take
from anoncore.types cimport int64_t, uint8_t, uint32_t


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


cdef struct Lists:
    # Who is left of each profile, most preferred first; up to `passed` (-1: not looked at) all have the head's area.
    int64_t* head
    int64_t* after
    int64_t* before
    int64_t* passed


cdef void unlink(Lists lists, const uint32_t* profile, int64_t i) noexcept nogil:
    cdef int64_t p = profile[i], before = lists.before[i], after = lists.after[i]
    if before >= 0:
        lists.after[before] = after
    elif lists.head[p] == i:
        lists.head[p] = after
    if after >= 0:
        lists.before[after] = before
    if lists.passed[p] == i:
        lists.passed[p] = before


cdef int64_t _pair(
    const uint32_t* profile, const uint32_t* area, const uint32_t* seekers, int64_t n_seekers, int64_t most,
    uint8_t* swapped, Lists lists, int64_t* partner,
) noexcept nogil:
    cdef int64_t at, i, j, p, last, n_pairs = 0
    for at in range(n_seekers):
        i = seekers[at]
        if swapped[i] or n_pairs == most:
            continue
        p = profile[i]
        j = lists.head[p]
        if area[j] == area[i]:
            last = j if lists.passed[p] < 0 else lists.passed[p]
            j = lists.after[last]
            while j >= 0 and area[j] == area[i]:
                last, j = j, lists.after[j]
            lists.passed[p] = last
            if j < 0:
                continue
        partner[at] = j
        swapped[i] = swapped[j] = 1
        n_pairs += 1
        unlink(lists, profile, j)
        unlink(lists, profile, i)
    return n_pairs


def partners(profile, area, order, seekers, swapped, most):
    """For each seeker the record that it is swapped with, -1 where it is with none (int64).

    A seeker takes the first in `order` that is not swapped yet, has its profile and another area. Seekers come
    in their order; one that is swapped already takes nobody, nor does any after `most` pairs. `profile` and
    `area` (uint32, one per record) number what must agree and what must differ, `order` and `seekers` (uint32)
    are numbers of records, each at most once, every seeker in `order`. `swapped` (uint8) says who is swapped,
    and is marked in place.
    """
    given(profile=profile, area=area, order=order, seekers=seekers, swapped=swapped)
    profile, area = array_of(profile, np.uint32, 1, "profile"), array_of(area, np.uint32, 1, "area")
    order, seekers = array_of(order, np.uint32, 1, "order"), array_of(seekers, np.uint32, 1, "seekers")
    cdef int64_t n = len(profile), n_order = len(order), n_seekers = len(seekers), i, at, p
    cdef int64_t limit = whole(most, 0, MOST_ROWS, "most")
    if len(area) != n:
        raise ValueError("area and profile must have one number per record")
    if not isinstance(swapped, np.ndarray) or swapped.dtype != np.uint8 or swapped.shape != (n,):
        raise ValueError("swapped must be uint8, one per record")
    if not swapped.flags.writeable or not swapped.flags.c_contiguous:
        raise ValueError("swapped must be writeable, and in one piece")
    for name, numbers in (("order", order), ("seekers", seekers)):
        if len(numbers) and (int(numbers.max()) >= n or len(np.unique(numbers)) < len(numbers)):
            raise ValueError(f"{name} must be different numbers of records")
    if not np.isin(seekers, order).all():
        raise ValueError("every seeker must be in order")
    partner = np.full(n_seekers, -1, np.int64)
    if n_seekers == 0:
        return partner
    profile = np.unique(profile, return_inverse=True)[1].reshape(-1).astype(np.uint32)
    cdef list keep = []
    cdef int64_t n_profiles = int(profile.max()) + 1
    cdef Lists lists
    lists.head = <int64_t*>take(keep, n_profiles, sizeof(int64_t))
    lists.passed = <int64_t*>take(keep, n_profiles, sizeof(int64_t))
    lists.after = <int64_t*>take(keep, n, sizeof(int64_t))
    lists.before = <int64_t*>take(keep, n, sizeof(int64_t))
    cdef const uint32_t[::1] profiles = profile, areas = area, preferred = order, seeking = seekers
    cdef uint8_t[::1] marks = swapped
    cdef int64_t[::1] found = partner
    with nogil:
        for p in range(n_profiles):
            lists.head[p] = lists.passed[p] = -1
        for i in range(n):
            lists.after[i] = lists.before[i] = -1
        for at in range(n_order - 1, -1, -1):
            i = preferred[at]
            if marks[i]:
                continue
            p = profiles[i]
            lists.after[i] = lists.head[p]
            if lists.head[p] >= 0:
                lists.before[lists.head[p]] = i
            lists.head[p] = i
        _pair(&profiles[0], &areas[0], &seeking[0], n_seekers, limit, &marks[0], lists, &found[0])
    return partner
