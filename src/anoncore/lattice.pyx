# SPDX-License-Identifier: Apache-2.0
# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Full-domain recoding: the classes of a node of the lattice, made from those of a finer node."""

import numpy as np

from anoncore.doors import MOST_ROWS, all_of, array_of, one_of
from anoncore.memory cimport take
from anoncore.types cimport int64_t, uint32_t, uint64_t

cdef uint64_t MIX = 0x9E3779B97F4A7C15  # 2**64 / golden ratio


cdef class Lattice:
    """Distinct combinations of codes, and the label of every code at every level.

    `codes` (uint32, n x m) are the combinations; `labels[a][g]` (uint32, one per code of attribute a) the
    labels at its level g, each below the number of codes.
    """

    cdef readonly int64_t n_combinations
    cdef readonly tuple n_levels
    cdef tuple labels
    cdef tuple n_labels
    cdef const uint32_t[:, ::1] codes

    def __cinit__(self, codes, labels):
        self.codes = array_of(codes, np.uint32, 2, "codes").copy()  # nobody changes what is checked below
        self.n_combinations = self.codes.shape[0]
        if self.n_combinations > MOST_ROWS:
            raise ValueError("codes have more than 2**32 - 1 rows")
        self.labels = tuple(tuple(array_of(one, np.uint32, 1, "labels").copy()
                                  for one in all_of(levels, object, "labels"))
                            for levels in all_of(labels, object, "labels"))
        if len(self.labels) != self.codes.shape[1]:
            raise ValueError("labels must be given for every attribute")
        for a, levels in enumerate(self.labels):
            if not levels or len({len(one) for one in levels}) > 1:
                raise ValueError("every attribute needs levels, all of them with one label per code")
            n_codes = len(levels[0])
            if self.n_combinations and int(np.max(self.codes[:, a])) >= n_codes:
                raise ValueError("a code lies beyond its labels")
            if any(int(np.max(one, initial=0)) >= max(n_codes, 1) for one in levels):
                raise ValueError("a label is not below the number of codes")
        self.n_levels = tuple(map(len, self.labels))
        self.n_labels = tuple(tuple(int(np.max(one, initial=0)) + 1 for one in levels) for levels in self.labels)


cdef inline uint64_t key_of(const uint32_t* codes, const uint32_t** labels, const uint64_t* radix,
                            int64_t m) noexcept nogil:
    # Exact where every radix is the product of the numbers of labels before it; a hash otherwise.
    cdef uint64_t key = 0
    cdef int64_t a
    for a in range(m):
        key += labels[a][codes[a]] * radix[a]
    return key


cdef inline bint alike(const uint32_t* x, const uint32_t* y, const uint32_t** labels, int64_t m) noexcept nogil:
    cdef int64_t a
    for a in range(m):
        if labels[a][x[a]] != labels[a][y[a]]:
            return False
    return True


cdef int64_t unite(const uint32_t[:, ::1] codes, const uint32_t** labels, const uint64_t* radix, bint exact,
                   const uint32_t[::1] members, const int64_t[::1] counts, uint32_t* slot, uint64_t n_slots,
                   uint64_t* keys, uint32_t* first, int64_t* united, uint32_t[::1] number) noexcept nogil:
    # slot: class + 1, or 0. OUT per class its key, first member and rows; per member its class.
    cdef int64_t n = members.shape[0], m = codes.shape[1], i, n_classes = 0
    cdef uint64_t key, at
    cdef uint32_t c
    for i in range(n):
        key = key_of(&codes[members[i], 0], labels, radix, m)
        at = key * MIX
        at = (at ^ (at >> 32)) & (n_slots - 1)
        while True:
            c = slot[at]
            if c == 0:
                slot[at] = <uint32_t>(n_classes + 1)
                keys[n_classes] = key
                first[n_classes] = members[i]
                united[n_classes] = counts[i]
                number[i] = <uint32_t>n_classes
                n_classes += 1
                break
            c -= 1
            if keys[c] == key and (exact or alike(&codes[members[i], 0], &codes[first[c], 0], labels, m)):
                united[c] += counts[i]
                number[i] = c
                break
            at = (at + 1) & (n_slots - 1)
    return n_classes


def roll_up(lattice, node, members, counts):
    """Classes with equal labels at a node united (LeFevre et al. 2005, Incognito, 3.1).

    `node` has the level of each attribute. `members` (uint32) are combinations that stand for one class
    of a finer node each, `counts` (int64) the rows of these classes. Returns (first, rows, number): of
    every united class the first of its members (uint32) and its rows (int64), in the order of these
    members, and the united class of every member (uint32). Takes O(members x attributes).
    """
    cdef Lattice asked = one_of(Lattice, lattice, "lattice")
    cdef const uint32_t[::1] view_m = array_of(members, np.uint32, 1, "members"), labels
    cdef const int64_t[::1] view_n = array_of(counts, np.int64, 1, "counts")
    cdef int64_t m = asked.codes.shape[1], n = view_m.shape[0], a, n_classes = 0
    cdef list keep = []
    cdef const uint32_t** of_code = <const uint32_t**>take(keep, m, sizeof(uint32_t*))
    cdef uint64_t* radix = <uint64_t*>take(keep, m, sizeof(uint64_t))
    cdef bint exact
    cdef uint64_t n_slots = 16
    levels = [int(one_of(int, level, "a level of node")) for level in all_of(node, object, "node")]
    if len(levels) != m or not all(0 <= levels[a] < asked.n_levels[a] for a in range(m)):
        raise ValueError("node must have one of the levels of every attribute")
    if view_n.shape[0] != n or n > MOST_ROWS or (n and int(np.max(view_m)) >= asked.n_combinations):
        raise ValueError("members must be rows of codes, and counts one for each of them")
    if n and not 0 <= int(np.min(view_n)) <= int(np.max(view_n)) <= int(np.sum(view_n)) <= MOST_ROWS:
        raise ValueError("counts must be those of at most 2**32 - 1 rows")
    product = 1
    for a in range(m):
        labels = asked.labels[a][levels[a]]
        keep.append(labels)
        of_code[a] = &labels[0] if labels.shape[0] else NULL
        radix[a] = product & 0xFFFFFFFFFFFFFFFF
        product *= asked.n_labels[a][levels[a]]
    exact = product <= 1 << 64
    for a in range(0 if exact else m):
        radix[a] = MIX * <uint64_t>(2 * a + 3) | 1
    while n_slots < 2 * <uint64_t>n:
        n_slots *= 2
    first, united, number = np.empty(n, np.uint32), np.empty(n, np.int64), np.empty(n, np.uint32)
    cdef uint32_t[::1] view_first = first, view_number = number
    cdef int64_t[::1] view_united = united
    cdef uint32_t* slot = <uint32_t*>take(keep, n_slots, sizeof(uint32_t))
    cdef uint64_t* keys = <uint64_t*>take(keep, n, sizeof(uint64_t))
    if n:
        with nogil:
            n_classes = unite(asked.codes, of_code, radix, exact, view_m, view_n, slot, n_slots, keys,
                              &view_first[0], &view_united[0], view_number)
    return first[:n_classes].copy(), united[:n_classes].copy(), number
