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


cdef struct Look:  # of an attribute at a level of several labels
    int64_t attribute
    const uint32_t* label_of
    uint64_t radix


cdef inline uint64_t key_of(const uint32_t* codes, const Look* looks, int64_t m) noexcept nogil:
    # Exact where every radix is the product of the numbers of labels before it; a hash otherwise.
    cdef uint64_t key = 0
    cdef int64_t a
    for a in range(m):
        key += looks[a].label_of[codes[looks[a].attribute]] * looks[a].radix
    return key


cdef inline bint alike(const uint32_t* x, const uint32_t* y, const Look* looks, int64_t m) noexcept nogil:
    cdef int64_t a
    for a in range(m):
        if looks[a].label_of[x[looks[a].attribute]] != looks[a].label_of[y[looks[a].attribute]]:
            return False
    return True


cdef extern from *:
    """
    #if defined(__GNUC__)
    #define anon_prefetch(address) __builtin_prefetch(address)
    #else
    #define anon_prefetch(address) ((void)0)
    #endif
    """
    void anon_prefetch(const void*) noexcept nogil

cdef enum:
    AHEAD = 32  # members whose slots are fetched before the first of them is looked up


cdef struct Slot:  # of a table with open addressing
    uint64_t key
    uint32_t number  # of the class, + 1; 0 where the slot is free
    uint32_t rows


cdef inline uint64_t place_of(uint64_t key, uint64_t n_slots) noexcept nogil:
    key *= MIX
    return (key ^ (key >> 32)) & (n_slots - 1)


cdef int64_t unite(const uint32_t[:, ::1] codes, const Look* looks, int64_t m, bint exact,
                   const uint32_t[::1] members, const int64_t[::1] counts, int64_t start, Slot* slots,
                   uint64_t n_slots, uint32_t* first, uint64_t* at_slot, int64_t* n_classes,
                   uint32_t[::1] number) noexcept nogil:
    # From member `start` on, until half of the slots are taken; returns the first member that is left.
    # OUT per class its first member and its slot; per member its class.
    cdef int64_t n = members.shape[0], stop, i, made = n_classes[0]
    cdef uint64_t keys[AHEAD]
    cdef uint64_t places[AHEAD]
    cdef uint64_t key, at
    cdef Slot* slot
    while start < n and 2 * <uint64_t>(made + AHEAD) <= n_slots:
        stop = min(start + AHEAD, n)
        for i in range(start, stop):
            key = key_of(&codes[members[i], 0], looks, m) if m else 0  # there may be no column
            keys[i - start] = key
            places[i - start] = place_of(key, n_slots)
            anon_prefetch(&slots[places[i - start]])
        for i in range(start, stop):
            key, at = keys[i - start], places[i - start]
            while True:
                slot = &slots[at]
                if slot.number == 0:
                    slot.key = key
                    slot.number = <uint32_t>(made + 1)
                    slot.rows = <uint32_t>counts[i]
                    first[made] = members[i]
                    at_slot[made] = at
                    number[i] = <uint32_t>made
                    made += 1
                    break
                if slot.key == key and (exact or alike(&codes[members[i], 0], &codes[first[slot.number - 1], 0],
                                                       looks, m)):
                    slot.rows += <uint32_t>counts[i]
                    number[i] = slot.number - 1
                    break
                at = (at + 1) & (n_slots - 1)
        start = stop
    n_classes[0] = made
    return start


cdef void move(const Slot* slots, Slot* larger, uint64_t n_slots, uint64_t* at_slot, int64_t n_classes) noexcept nogil:
    # The classes into a table of more slots.
    cdef int64_t c
    cdef uint64_t at
    for c in range(n_classes):
        at = place_of(slots[at_slot[c]].key, n_slots)
        while larger[at].number:
            at = (at + 1) & (n_slots - 1)
        larger[at] = slots[at_slot[c]]
        at_slot[c] = at


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
    cdef int64_t m = asked.codes.shape[1], n = view_m.shape[0], a, i, n_used = 0, done = 0, n_classes = 0
    cdef list keep = []
    cdef Look* looks = <Look*>take(keep, m, sizeof(Look))
    cdef bint exact
    cdef uint64_t n_slots = 256
    levels = [int(one_of(int, level, "a level of node")) for level in all_of(node, object, "node")]
    if len(levels) != m or not all(0 <= levels[a] < asked.n_levels[a] for a in range(m)):
        raise ValueError("node must have one of the levels of every attribute")
    if view_n.shape[0] != n or n > MOST_ROWS or (n and int(np.max(view_m)) >= asked.n_combinations):
        raise ValueError("members must be rows of codes, and counts one for each of them")
    if n and not 0 <= int(np.min(view_n)) <= int(np.max(view_n)) <= int(np.sum(view_n)) <= MOST_ROWS:
        raise ValueError("counts must be those of at most 2**32 - 1 rows")
    product = 1
    for a in range(m):
        if asked.n_labels[a][levels[a]] > 1:
            labels = asked.labels[a][levels[a]]
            keep.append(labels)
            looks[n_used] = Look(a, &labels[0], product & 0xFFFFFFFFFFFFFFFF)
            product *= asked.n_labels[a][levels[a]]
            n_used += 1
    exact = product <= 1 << 64
    for a in range(0 if exact else n_used):
        looks[a].radix = MIX * <uint64_t>(2 * a + 3) | 1
    first, number = np.empty(n, np.uint32), np.empty(n, np.uint32)
    cdef uint32_t[::1] view_first = first, view_number = number
    cdef uint64_t* at_slot = <uint64_t*>take(keep, n, sizeof(uint64_t))
    while n_slots < <uint64_t>n // 16:
        n_slots *= 2
    cdef Slot* slots = <Slot*>take(keep, n_slots, sizeof(Slot))
    cdef Slot* larger
    while done < n:
        with nogil:
            done = unite(asked.codes, looks, n_used, exact, view_m, view_n, done, slots, n_slots,
                         &view_first[0], at_slot, &n_classes, view_number)
        if done < n:
            larger = <Slot*>take(keep, 4 * n_slots, sizeof(Slot))
            n_slots *= 4
            with nogil:
                move(slots, larger, n_slots, at_slot, n_classes)
            slots = larger
    united = np.empty(n_classes, np.int64)
    cdef int64_t[::1] view_united = united
    for i in range(n_classes):
        view_united[i] = slots[at_slot[i]].rows
    return first[:n_classes].copy(), united, number
