# SPDX-License-Identifier: Apache-2.0
# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Recut: neighboring classes are pooled and cut again, top down, each time by the cut that loses least.

A pool of n rows is cut in two, and each part again, until no part can be cut. Candidates for a cut are the
places of an order of the rows. Every field of a record gives one or two: its numbers ascending (ties by
the two widest fields of the pool, then by place in the pool); for a tree also the children of the common
ancestor, most rows first; for a set its values, most rows first. The loss of every place of an order
comes from two sweeps, forth and back, with the bounds of what was passed:

    order    r r r r r r r | r r r r r r          loss = i * width(first i) + (n - i) * width(the rest)
    forth    ------------> i
    back                     <----------

The rows of a pool are sorted once per field; a cut divides the sorted rows and keeps their order.
"""

import numpy as np

from anoncore.doors import one_of, parts_of, whole

from libc.string cimport memcpy, memset

from anoncore.curve cimport BEYOND, PARTNERS, Space, Widths, grown, joined_span, keep_partner, records_of, sensitive_of, set_width
from anoncore.memory cimport fits, take
from anoncore.requirement cimport Conjunction, Rules, passes
from anoncore.sort cimport sort_keys
from anoncore.types cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t


cdef enum:
    WINDOW = 16         # classes behind a class among which its partners are sought
    MARGIN = 16         # a part has at least one of so many rows
    MERGED = 96         # keys that are sorted by merging, at most
    POOLED = 1 << 14    # rows that are pooled, at most, or
    TIMES_LEAST = 16    # so many times the least class if that is more
    TRIES = 12          # places of an order at which requirements are tested, at most
    NEARBY = 64         # and one of so many rows lies between two of them
    SHORT = 8           # places of an order that are looked through together, at least
    MEAN_STRATUM = 4    # rows of a combination of sensitive values, in the mean, at least
    FEW_VALUES = 64     # of a sensitive attribute: they are numbered without sorting
    EVENLY = 2          # fields by which rows are dealt in equal shares where no other cut passes

cdef int64_t NEVER = <int64_t>1 << 62
cdef int64_t MOST_LEAST = 1 << 30  # rows of all classes together


cdef extern from *:
    int ones "__builtin_popcountll" (uint64_t word) noexcept nogil


cdef void first_codes(const Space* space, int32_t* first) noexcept nogil:
    # Per node of every tree the first code below it.
    cdef int64_t i
    cdef int32_t code, node
    cdef int f
    for f in range(space.n_trees):
        code = 0
        for i in range(space.tree_starts[f], space.tree_starts[f + 1]):
            node = space.leaf[i]
            while node >= 0 and first[node] < 0:
                first[node] = code
                node = space.parent[node]
            code += 1


# --- Sorting -------------------------------------------------------------------------------------


cdef uint64_t* sorted_keys(uint64_t* keys, uint64_t* other, int64_t n, int low) noexcept nogil:
    # Keys whose bits below `low` rise, sorted; they lie in one of the two arrays. By merging where they are few.
    cdef int64_t start, end, i, j, middle, at, run = 12
    cdef uint64_t key
    cdef bint is_right
    if n > MERGED:
        sort_keys(&keys, NULL, &other, NULL, n, low)
        return keys
    for start in range(0, n, 12):
        end = min(start + 12, n)
        for i in range(start + 1, end):
            key = keys[i]
            j = i
            while j > start and keys[j - 1] > key:
                keys[j] = keys[j - 1]
                j -= 1
            keys[j] = key
    while run < n:
        start = 0
        while start < n:
            middle = min(start + run, n)
            end = min(middle + run, n)
            i = start
            j = middle
            at = start
            if middle < end and keys[middle - 1] > keys[middle]:
                while i < middle and j < end:  # without a branch that nobody can predict
                    is_right = keys[j] < keys[i]
                    other[at] = keys[j] if is_right else keys[i]
                    j += is_right
                    i += not is_right
                    at += 1
            memcpy(other + at, keys + i, (middle - i) * sizeof(uint64_t))
            at += middle - i
            memcpy(other + at, keys + j, (end - j) * sizeof(uint64_t))
            start = end
        keys, other = other, keys
        run *= 2
    return keys


# --- Pools ---------------------------------------------------------------------------------------


# The rows that are cut, numbered 0..n-1 as they came; `capacity` of them fit. `orders` has them sorted by each of
# the `n_fields` fields, part by part: the rows of a part stand at the same places in all of them.
cdef struct Pool:
    const Space* space
    const int32_t* first       # per node of every tree
    const Rules* rules         # NULL where only sizes matter
    const int32_t* sensitive   # of all rows
    int n_sensitive
    int64_t least
    int64_t capacity
    int64_t n
    int n_fields
    int32_t* rows
    int32_t* records
    int32_t* orders
    int32_t* order             # on trial
    int32_t* best_order
    int64_t* forth             # loss of a cut before row i of the order on trial
    int64_t* least_loss        # of each of its stretches, and where
    int64_t* least_at
    uint64_t* keys
    uint64_t* other_keys
    uint8_t* is_left
    int32_t* low
    int32_t* high
    int32_t* node
    int32_t* ancestor          # per tree, of the part that is cut
    int32_t* n_values
    int32_t* n_nulls
    int32_t* width             # per field, of a part
    int32_t* wide_fields       # those that have width, widest first
    int32_t* sorted_fields     # those that had, in the pool
    int n_sorted
    int sorted_field           # the widest of them
    int64_t* seen              # per value of every set: the last sweep that met it
    int64_t sweep
    int64_t* run_starts        # runs of an order, of passing use
    int64_t* left              # parts yet to be cut: where they start
    int64_t* ends              # of the finished parts
    int64_t n_ends
    int64_t loss               # of the finished parts
    int64_t loss_before        # of the pool as one part
    int32_t* number_of         # of passing use, per value of an attribute that has few
    int32_t* value_number      # per sensitive attribute and row: which of the values present in the pool
    int64_t* value             # those
    int64_t* n_present
    int64_t* count             # of passing use, for both sides of a cut
    int64_t* count_left
    int64_t* values_part
    int64_t* counts_part
    int64_t* n_part
    int64_t** lists            # per sensitive attribute: where its part of `values_part` starts, then of `counts_part`
    int64_t n_strata           # combinations of sensitive values in the pool; 0 while they are not looked at
    int32_t* stratum           # per row
    uint64_t* combined
    uint8_t* is_read           # per sensitive attribute: does a requirement read it?
    int32_t* by_values         # those, fewest values present first
    int64_t* stratum_size
    int64_t* stratum_passed


cdef Pool pool_for(list keep, Widths of, rules, const int32_t[:, ::1] sensitive, int64_t least,
                   int64_t capacity) except *:
    cdef Pool pool
    cdef Conjunction conjunction
    cdef const Space* space = &of.c
    cdef int64_t n_nodes = 0, i
    cdef int s
    cdef int32_t* first
    for i in range(space.tree_starts[space.n_trees]):
        n_nodes = max(n_nodes, space.leaf[i] + 1)  # of each tree the last is null's
    first = <int32_t*>take(keep, n_nodes, sizeof(int32_t))
    memset(first, 255, n_nodes * sizeof(int32_t))
    first_codes(space, first)
    pool.space = space
    pool.first = first
    pool.rules = NULL
    pool.sensitive = NULL
    pool.n_sensitive = 0
    if rules is not None:
        conjunction = rules
        pool.rules = &conjunction.c
        pool.n_sensitive = conjunction.c.n_sensitive
        pool.sensitive = &sensitive[0, 0]
    s = pool.n_sensitive
    pool.least = least
    pool.capacity = capacity
    pool.n = 0
    pool.n_fields = space.n_ordered + space.n_trees + space.n_flat
    pool.rows = <int32_t*>take(keep, capacity, sizeof(int32_t))
    pool.records = <int32_t*>take(keep, capacity * space.stride, sizeof(int32_t))
    pool.orders = <int32_t*>take(keep, capacity * pool.n_fields, sizeof(int32_t))
    pool.order = <int32_t*>take(keep, capacity, sizeof(int32_t))
    pool.best_order = <int32_t*>take(keep, capacity, sizeof(int32_t))
    pool.forth = <int64_t*>take(keep, capacity + 1, sizeof(int64_t))
    pool.least_loss = <int64_t*>take(keep, capacity // SHORT + 1, sizeof(int64_t))
    pool.least_at = <int64_t*>take(keep, capacity // SHORT + 1, sizeof(int64_t))
    pool.keys = <uint64_t*>take(keep, capacity, sizeof(uint64_t))
    pool.other_keys = <uint64_t*>take(keep, capacity, sizeof(uint64_t))
    pool.is_left = <uint8_t*>take(keep, capacity, sizeof(uint8_t))
    pool.low = <int32_t*>take(keep, space.stride, sizeof(int32_t))
    pool.high = <int32_t*>take(keep, space.stride, sizeof(int32_t))
    pool.node = <int32_t*>take(keep, space.n_trees, sizeof(int32_t))
    pool.n_values = <int32_t*>take(keep, space.n_flat, sizeof(int32_t))
    pool.n_nulls = <int32_t*>take(keep, space.n_flat, sizeof(int32_t))
    pool.width = <int32_t*>take(keep, pool.n_fields, sizeof(int32_t))
    pool.wide_fields = <int32_t*>take(keep, pool.n_fields, sizeof(int32_t))
    pool.sorted_fields = <int32_t*>take(keep, pool.n_fields, sizeof(int32_t))
    pool.n_sorted = 0
    pool.sorted_field = 0
    pool.ancestor = <int32_t*>take(keep, space.n_trees, sizeof(int32_t))
    pool.n_strata = 0
    pool.stratum = <int32_t*>take(keep, capacity if s else 0, sizeof(int32_t))
    pool.is_read = <uint8_t*>take(keep, s, sizeof(uint8_t))
    pool.by_values = <int32_t*>take(keep, s, sizeof(int32_t))
    for i in range(s):
        pool.is_read[i] = pool.rules.s_diversity != NULL
    for i in range(pool.rules.n_rules if s else 0):
        pool.is_read[pool.rules.rules[i].sensitive] = True
    pool.combined = <uint64_t*>take(keep, capacity if s else 0, sizeof(uint64_t))
    pool.stratum_size = <int64_t*>take(keep, capacity if s else 0, sizeof(int64_t))
    pool.stratum_passed = <int64_t*>take(keep, capacity if s else 0, sizeof(int64_t))
    pool.seen = <int64_t*>take(keep, space.set_starts[space.n_flat], sizeof(int64_t))
    pool.sweep = 0
    pool.run_starts = <int64_t*>take(keep, capacity + 1, sizeof(int64_t))
    pool.left = <int64_t*>take(keep, capacity + 1, sizeof(int64_t))
    pool.ends = <int64_t*>take(keep, capacity, sizeof(int64_t))
    pool.n_ends = 0
    pool.loss = 0
    pool.loss_before = 0
    pool.number_of = <int32_t*>take(keep, FEW_VALUES, sizeof(int32_t))
    pool.value_number = <int32_t*>take(keep, capacity * s, sizeof(int32_t))
    pool.value = <int64_t*>take(keep, capacity * s, sizeof(int64_t))
    pool.n_present = <int64_t*>take(keep, s, sizeof(int64_t))
    pool.count = <int64_t*>take(keep, capacity * s, sizeof(int64_t))
    pool.count_left = <int64_t*>take(keep, capacity * s, sizeof(int64_t))
    pool.values_part = <int64_t*>take(keep, capacity * s, sizeof(int64_t))
    pool.counts_part = <int64_t*>take(keep, capacity * s, sizeof(int64_t))
    pool.n_part = <int64_t*>take(keep, s, sizeof(int64_t))
    pool.lists = <int64_t**>take(keep, 2 * s, sizeof(int64_t*))
    for i in range(s):
        pool.lists[i] = pool.values_part + i * capacity
        pool.lists[s + i] = pool.counts_part + i * capacity
    return pool


# --- Widths of what a sweep has passed -----------------------------------------------------------


cdef inline void start_sweep(Pool* pool) noexcept nogil:
    cdef int f
    for f in range(pool.space.stride):
        pool.low[f] = BEYOND
        pool.high[f] = -1
    for f in range(pool.space.n_trees):
        pool.node[f] = -1
    for f in range(pool.space.n_flat):
        pool.n_values[f] = 0
        pool.n_nulls[f] = 0
    pool.sweep += 1


cdef inline bint take_up(Pool* pool, int32_t row) noexcept nogil:
    # Is what was passed wider, or may it be, with this row?
    cdef const Space* space = pool.space
    cdef const int32_t* record = pool.records + <int64_t>row * space.stride
    cdef const int32_t* sets = record + space.n_ordered + space.n_trees
    cdef bint changed = grown(pool.low, pool.high, record, space.stride)
    cdef int64_t at
    cdef int f
    for f in range(space.n_flat):
        at = space.set_starts[f] + sets[f]
        if pool.seen[at] != pool.sweep:
            pool.seen[at] = pool.sweep
            changed = True
            if sets[f] == space.null_code[f]:
                pool.n_nulls[f] = 1
            else:
                pool.n_values[f] += 1
    return changed


cdef inline int32_t climb(const Pool* pool, int f, int32_t node, int32_t bottom, int32_t top) noexcept nogil:
    # The lowest node above `node` (-1: none yet) of tree f that holds the codes bottom..top.
    if node < 0:
        node = pool.space.leaf[pool.space.tree_starts[f] + bottom]
    while pool.space.last[node] < top or pool.first[node] > bottom:
        node = pool.space.parent[node]
    return node


cdef inline int32_t passed_width(Pool* pool) noexcept nogil:
    cdef const Space* space = pool.space
    cdef int n = space.n_ordered, f
    cdef int32_t total = joined_span(pool.low, pool.high, pool.low, pool.high, space.full, n)
    for f in range(space.n_trees):
        pool.node[f] = climb(pool, f, pool.node[f], pool.low[n + f], pool.high[n + f])
        total += space.node_width[pool.node[f]]
    for f in range(space.n_flat):
        total += set_width(space, f, pool.n_values[f], pool.n_nulls[f])
    return total


cdef int32_t measure(Pool* pool, const int32_t* order, int64_t n) noexcept nogil:
    # Width of these rows; leaves that of every field in `width`, and in `node` the common ancestors.
    cdef const Space* space = pool.space
    cdef int64_t i
    cdef int32_t total
    cdef int f, first_flat = space.n_ordered + space.n_trees
    start_sweep(pool)
    for i in range(n):
        take_up(pool, order[i])
    total = passed_width(pool)
    for f in range(space.n_ordered):
        pool.width[f] = min(pool.high[f] - pool.low[f], space.full[f])
    for f in range(space.n_trees):
        pool.width[space.n_ordered + f] = space.node_width[pool.node[f]]
    for f in range(space.n_flat):
        pool.width[first_flat + f] = set_width(space, f, pool.n_values[f], pool.n_nulls[f])
    return total


cdef int widest_first(Pool* pool) noexcept nogil:
    # List the fields that have width; returns how many.
    cdef int f, j, n = 0
    for f in range(pool.n_fields):
        if pool.width[f] == 0:
            continue
        j = n
        while j > 0 and pool.width[pool.wide_fields[j - 1]] < pool.width[f]:
            pool.wide_fields[j] = pool.wide_fields[j - 1]
            j -= 1
        pool.wide_fields[j] = f
        n += 1
    return n


# --- Requirements --------------------------------------------------------------------------------


cdef void number_values(Pool* pool) noexcept nogil:
    # The sensitive values that are present in the pool, ascending, and which of them every row has; of the attributes
    # that no requirement reads there are none.
    cdef int64_t i, n = pool.n, number, n_values
    cdef int a, s = pool.n_sensitive
    cdef uint64_t* keys
    cdef uint64_t code
    for a in range(s):
        if not pool.is_read[a]:
            pool.n_present[a] = 0
            continue
        n_values = pool.rules.n_values[a]
        if n_values <= FEW_VALUES:
            memset(pool.number_of, 0, n_values * sizeof(int32_t))
            for i in range(n):
                pool.number_of[pool.sensitive[<int64_t>pool.rows[i] * s + a]] = 1
            number = 0
            for i in range(n_values):
                if pool.number_of[i]:
                    pool.value[a * pool.capacity + number] = i
                    pool.number_of[i] = <int32_t>number
                    number += 1
            for i in range(n):
                pool.value_number[a * pool.capacity + i] = pool.number_of[pool.sensitive[<int64_t>pool.rows[i] * s + a]]
            pool.n_present[a] = number
            continue
        for i in range(n):
            code = pool.sensitive[<int64_t>pool.rows[i] * s + a]
            pool.keys[i] = code << 32 | <uint64_t>i
        keys = sorted_keys(pool.keys, pool.other_keys, n, 32)
        number = -1
        for i in range(n):
            if i == 0 or keys[i] >> 32 != keys[i - 1] >> 32:
                number += 1
                pool.value[a * pool.capacity + number] = <int64_t>(keys[i] >> 32)
            pool.value_number[a * pool.capacity + <uint32_t>keys[i]] = <int32_t>number
        pool.n_present[a] = number + 1


cdef void count_part(Pool* pool, const int32_t* order, int64_t n, int64_t* count) noexcept nogil:
    cdef int64_t i
    cdef int a
    cdef int64_t* here
    cdef const int32_t* number
    for a in range(pool.n_sensitive):
        here = count + a * pool.capacity
        number = pool.value_number + a * pool.capacity
        memset(here, 0, pool.n_present[a] * sizeof(int64_t))
        for i in range(n if pool.n_present[a] else 0):
            here[number[order[i]]] += 1


cdef bint part_passes(Pool* pool, int64_t size, bint is_rest) noexcept nogil:
    # Do `size` rows pass with the counts of `count_left` (of one side), or with what those leave of `count`?
    cdef int64_t v, n_present, here
    cdef const int64_t* left
    cdef const int64_t* all_rows
    cdef int64_t* values
    cdef int64_t* counts
    cdef int a, s = pool.n_sensitive
    for a in range(s):
        left = pool.count_left + a * pool.capacity
        all_rows = pool.count + a * pool.capacity
        values = pool.values_part + a * pool.capacity
        counts = pool.counts_part + a * pool.capacity
        n_present = 0
        for v in range(pool.n_present[a]):
            here = all_rows[v] - left[v] if is_rest else left[v]
            values[n_present] = pool.value[a * pool.capacity + v]
            counts[n_present] = here
            n_present += here > 0
        pool.n_part[a] = n_present
    return passes(pool.rules, size, <const int64_t* const*>pool.lists, <const int64_t* const*>(pool.lists + s),
                  pool.n_part)


cdef bint both_pass(Pool* pool, const int32_t* order, int64_t n, int64_t i) noexcept nogil:
    # Do the first i of these n rows pass, and the others? `count` has the counts of all. The fewer rarely do.
    if 2 * i <= n:
        count_part(pool, order, i, pool.count_left)
        return part_passes(pool, i, False) and part_passes(pool, n - i, True)
    count_part(pool, order + i, n - i, pool.count_left)
    return part_passes(pool, n - i, False) and part_passes(pool, i, True)


cdef void number_strata(Pool* pool) noexcept nogil:
    # Which combination of sensitive values every row has: of the attribute with fewest values present, and of the
    # next ones while a combination has MEAN_STRATUM rows in the mean.
    cdef int64_t i, n = pool.n, number
    cdef uint64_t code
    cdef uint64_t* keys
    cdef int a, j, s = 0
    for a in range(pool.n_sensitive):
        if not pool.is_read[a]:
            continue
        j = s
        while j > 0 and pool.n_present[pool.by_values[j - 1]] > pool.n_present[a]:
            pool.by_values[j] = pool.by_values[j - 1]
            j -= 1
        pool.by_values[j] = a
        s += 1
    memcpy(pool.stratum, pool.value_number + pool.by_values[0] * pool.capacity, n * sizeof(int32_t))
    pool.n_strata = pool.n_present[pool.by_values[0]]
    for j in range(1, s):
        for i in range(n):
            code = pool.stratum[i]
            pool.keys[i] = code << 32 | <uint64_t>pool.value_number[pool.by_values[j] * pool.capacity + i]
        memcpy(pool.combined, pool.keys, n * sizeof(uint64_t))
        keys = sorted_keys(pool.keys, pool.other_keys, n, 0)
        number = 0
        for i in range(n):
            if i == 0 or keys[i] != keys[number - 1]:
                keys[number] = keys[i]
                number += 1
        if number * MEAN_STRATUM > n:
            return
        for i in range(n):
            pool.stratum[i] = <int32_t>place_of(keys, number, pool.combined[i])
        pool.n_strata = number


cdef int64_t place_of(const uint64_t* keys, int64_t n, uint64_t key) noexcept nogil:
    # Where a key stands among n ascending ones.
    cdef int64_t low = 0, high = n, middle
    while high - low > 1:
        middle = (low + high) // 2
        if keys[middle] <= key:
            low = middle
        else:
            high = middle
    return low


cdef void order_evenly(Pool* pool, const int32_t* rows, int64_t n) noexcept nogil:
    # In `order`: the rows such that every stretch holds the combinations in equal shares, each as they came.
    cdef int64_t i
    cdef uint64_t number
    cdef uint64_t* keys
    memset(pool.stratum_size, 0, pool.n_strata * sizeof(int64_t))
    memset(pool.stratum_passed, 0, pool.n_strata * sizeof(int64_t))
    for i in range(n):
        pool.stratum_size[pool.stratum[rows[i]]] += 1
    for i in range(n):
        number = 2 * pool.stratum_passed[pool.stratum[rows[i]]] + 1
        pool.stratum_passed[pool.stratum[rows[i]]] += 1
        pool.keys[i] = (number << 31) // <uint64_t>pool.stratum_size[pool.stratum[rows[i]]] << 32 | <uint64_t>i
    keys = sorted_keys(pool.keys, pool.other_keys, n, 32)
    for i in range(n):
        pool.order[i] = rows[<uint32_t>keys[i]]


# --- The best cut --------------------------------------------------------------------------------


cdef void least_of_stretch(Pool* pool, int64_t first, int64_t last, int64_t length, int64_t s) noexcept nogil:
    # The first least loss of the places `first`..`last` that are in stretch s.
    cdef int64_t i, at = first + s * length, loss = NEVER
    pool.least_at[s] = at
    for i in range(at, min(at + length, last + 1)):
        if pool.forth[i] < loss:
            loss = pool.forth[i]
            pool.least_at[s] = i
    pool.least_loss[s] = loss


cdef int64_t best_place(Pool* pool, const int32_t* order, int64_t n, int64_t margin, int64_t* best) noexcept nogil:
    # Where to cut these rows so that their loss falls below `best`, which is then that loss; 0: nowhere.
    cdef int64_t i, last = n - margin, from_end, loss, at = 0, here, tried, gap = n // NEARBY, limit = best[0]
    cdef int64_t stretch, n_stretches, s
    cdef int32_t width = 0
    start_sweep(pool)
    for i in range(1, last + 1):
        if take_up(pool, order[i - 1]) and i > margin:
            width = passed_width(pool)
        elif i == margin:
            width = passed_width(pool)
        if i >= margin:
            pool.forth[i] = i * width
            if pool.forth[i] >= limit:  # and so is that of all after it
                last = i - 1
                break
    if last < margin:
        return 0
    start_sweep(pool)
    for i in range(n - 1, margin - 1, -1):
        from_end = n - i
        if take_up(pool, order[i]) and from_end > margin:
            width = passed_width(pool)
        elif from_end == margin:
            width = passed_width(pool)
        if from_end >= margin:
            loss = from_end * width
            if loss >= limit:
                margin = i + 1
                break
            if i <= last:
                pool.forth[i] += loss
    if pool.rules == NULL:
        for i in range(margin, last + 1):
            if pool.forth[i] < best[0]:
                best[0] = pool.forth[i]
                at = i
        return at
    # The least of every stretch of the places, so that each try looks through one and its neighbors only.
    stretch = max(gap, SHORT)
    n_stretches = (last - margin) // stretch + 1
    for s in range(n_stretches):
        least_of_stretch(pool, margin, last, stretch, s)
    for tried in range(TRIES):
        loss = best[0]
        here = 0
        for s in range(n_stretches):
            if pool.least_loss[s] < loss:
                loss = pool.least_loss[s]
                here = pool.least_at[s]
        if here == 0:
            return 0
        if both_pass(pool, order, n, here):
            best[0] = loss
            return here
        for i in range(max(here - gap, margin), min(here + gap, last) + 1):
            pool.forth[i] = NEVER
        s = (here - margin) // stretch
        for i in range(max(s - 1, 0), min(s + 2, n_stretches)):
            least_of_stretch(pool, margin, last, stretch, i)
    return 0


cdef bint order_runs(Pool* pool, int field, const int32_t* sorted_rows, int64_t n) noexcept nogil:
    # In `order`: the rows child by child (of a tree) or value by value (of a set), most rows first. False if that is
    # how they are sorted, and for a set of one value.
    cdef const Space* space = pool.space
    cdef int64_t i, j, start, n_runs = 0, at
    cdef int32_t code, ancestor, node, last = -1
    cdef int f = field - space.n_ordered
    cdef bint is_tree = f < space.n_trees, moved = False
    cdef uint64_t length
    if is_tree:
        ancestor = pool.ancestor[f]
    for i in range(n):
        code = pool.records[<int64_t>sorted_rows[i] * space.stride + field]
        if i and code <= last:
            continue
        pool.run_starts[n_runs] = i
        n_runs += 1
        last = code
        if is_tree:
            node = space.leaf[space.tree_starts[f] + code]
            while node != ancestor and space.parent[node] != ancestor:
                node = space.parent[node]
            last = space.last[node]
    pool.run_starts[n_runs] = n
    # Falling length, then rising place.
    for i in range(n_runs):
        length = <uint64_t>(pool.run_starts[i + 1] - pool.run_starts[i])
        pool.keys[i] = (<uint64_t>pool.n - length) << 32 | <uint64_t>i
        moved |= i > 0 and pool.keys[i] < pool.keys[i - 1]
    if is_tree and not moved:
        return False
    cdef uint64_t* keys = sorted_keys(pool.keys, pool.other_keys, n_runs, 32)
    at = 0
    for i in range(n_runs):
        j = <uint32_t>keys[i]
        start = pool.run_starts[j]
        memcpy(pool.order + at, sorted_rows + start, (pool.run_starts[j + 1] - start) * sizeof(int32_t))
        at += pool.run_starts[j + 1] - start
    return True


cdef void sort_rows(Pool* pool, int field, const int32_t* rows, int32_t* into) noexcept nogil:
    # These rows of the pool, stably sorted by a field.
    cdef int64_t i, n = pool.n
    cdef uint64_t value
    cdef uint64_t* keys
    for i in range(n):
        value = pool.records[<int64_t>rows[i] * pool.space.stride + field]
        pool.keys[i] = value << 32 | <uint64_t>i
    keys = sorted_keys(pool.keys, pool.other_keys, n, 32)
    for i in range(n):
        into[i] = rows[<uint32_t>keys[i]]


cdef void sort_pool(Pool* pool, int n_wide) noexcept nogil:
    # The rows by every field that has width; ties by the two widest, then by place.
    cdef int64_t i
    cdef int j
    for i in range(pool.n):
        pool.order[i] = <int32_t>i
    if n_wide > 1:
        sort_rows(pool, pool.wide_fields[1], pool.order, pool.best_order)
        memcpy(pool.order, pool.best_order, pool.n * sizeof(int32_t))
    sort_rows(pool, pool.wide_fields[0], pool.order, pool.best_order)
    for j in range(n_wide):
        sort_rows(pool, pool.wide_fields[j], pool.best_order, pool.orders + pool.wide_fields[j] * pool.capacity)


cdef void try_order(Pool* pool, const int32_t* order, int64_t n, int64_t margin, int64_t* best, int64_t* at) noexcept nogil:
    cdef int64_t place = best_place(pool, order, n, margin, best)
    if place:
        at[0] = place
        memcpy(pool.best_order, order, n * sizeof(int32_t))


cdef int64_t best_cut(Pool* pool, int64_t start, int64_t n) noexcept nogil:
    # Rows of the left part of the best cut of the part at start..start + n - 1, in `best_order`; 0: there is none.
    cdef const Space* space = pool.space
    cdef int64_t margin = max(pool.least, n // MARGIN), best = NEVER, at = 0
    cdef const int32_t* rows
    cdef int j, field, n_wide = widest_first(pool)
    memcpy(pool.ancestor, pool.node, space.n_trees * sizeof(int32_t))
    if pool.rules != NULL:
        count_part(pool, pool.orders + pool.sorted_field * pool.capacity + start, n, pool.count)
    for j in range(n_wide):
        field = pool.wide_fields[j]
        rows = pool.orders + field * pool.capacity + start
        if field < space.n_ordered + space.n_trees:
            try_order(pool, rows, n, margin, &best, &at)
        if field >= space.n_ordered and order_runs(pool, field, rows, n):
            try_order(pool, pool.order, n, margin, &best, &at)
    if at == 0 and pool.n_strata:
        for j in range(min(n_wide, EVENLY)):
            order_evenly(pool, pool.orders + pool.wide_fields[j] * pool.capacity + start, n)
            try_order(pool, pool.order, n, margin, &best, &at)
    return at


cdef void divide_part(Pool* pool, int64_t start, int64_t n, int64_t n_left) noexcept nogil:
    # The first `n_left` of `best_order` before the others, in every order of the part.
    cdef int64_t i, left, right
    cdef int32_t* rows
    cdef int32_t row
    cdef int j
    for i in range(n):
        pool.is_left[pool.best_order[i]] = i < n_left
    for j in range(pool.n_sorted):
        rows = pool.orders + pool.sorted_fields[j] * pool.capacity + start
        left = 0
        right = 0
        for i in range(n):
            row = rows[i]
            rows[left] = row
            pool.order[right] = row
            left += pool.is_left[row]
            right += not pool.is_left[row]
        memcpy(rows + n_left, pool.order, right * sizeof(int32_t))


cdef void cut_pool(Pool* pool) noexcept nogil:
    # Cut the n rows of `rows`: the parts are those of the order by `sorted_field` that `ends` divides.
    cdef int64_t n = pool.n, i, start, end, left, n_left = 0
    cdef int32_t width
    pool.n_ends = 0
    pool.loss = 0
    for i in range(n):
        pool.order[i] = <int32_t>i
    width = measure(pool, pool.order, n)
    pool.loss_before = n * width
    pool.n_sorted = widest_first(pool)
    pool.sorted_field = pool.wide_fields[0] if pool.n_sorted else 0
    memcpy(pool.sorted_fields, pool.wide_fields, pool.n_sorted * sizeof(int32_t))
    if pool.n_sorted == 0 or n < 2 * pool.least:
        memcpy(pool.orders + pool.sorted_field * pool.capacity, pool.order, n * sizeof(int32_t))
        pool.ends[0] = n
        pool.n_ends = 1
        pool.loss = n * width
        return
    if pool.rules != NULL:
        number_values(pool)
        number_strata(pool)
    sort_pool(pool, pool.n_sorted)
    # The parts that wait, the next one last, each up to where the one before it starts.
    pool.left[0] = n
    n_left = 1
    start = 0
    while n_left:
        end = pool.left[n_left - 1]
        if end - start < n:  # all of them are measured
            width = measure(pool, pool.orders + pool.sorted_field * pool.capacity + start, end - start)
        left = 0
        if width and end - start >= 2 * pool.least:
            left = best_cut(pool, start, end - start)
        if left:
            divide_part(pool, start, end - start, left)
            fits(n_left + 1, pool.capacity + 1)
            pool.left[n_left] = start + left
            n_left += 1
            continue
        pool.loss += (end - start) * width
        fits(pool.n_ends + 1, pool.capacity)
        pool.ends[pool.n_ends] = end
        pool.n_ends += 1
        n_left -= 1
        start = end


cdef void gather(Pool* pool, const int32_t* records) noexcept nogil:
    # The records of the rows of the pool.
    cdef int64_t i, stride = pool.space.stride
    for i in range(pool.n):
        memcpy(pool.records + i * stride, records + pool.rows[i] * stride, stride * sizeof(int32_t))


cdef tuple tested(rules, sensitive, int64_t n, int64_t least):
    # The rules if they look at sensitive codes, these codes, and the rows of the least class that may pass.
    if rules is None:
        return None, None, least
    least = max(least, least_of(rules))
    if not rules.n_sensitive:
        return None, None, least
    return rules, sensitive_of(rules, sensitive, n), least


cdef int64_t least_of(rules) except -1:
    # Rows of the least class that may pass.
    cdef Conjunction conjunction = one_of(Conjunction, rules, "rules")
    if conjunction.c.by_units or conjunction.c.min_units:
        raise ValueError("rules on units are not for this kernel, which counts rows")
    return min(conjunction.c.min_size, MOST_LEAST)


def divide(widths, records, offsets, k, rules=None, sensitive=None):
    """Cut every class by itself, for as long as a cut into parts of at least k rows is there.

    Class c holds the rows offsets[c]..offsets[c+1]-1 (at least one) of `records` (those of `place`). With `rules`,
    which every class passes at first and at last, `sensitive` (int32, n x s) has the sensitive codes.
    Returns (rows uint32, offsets int64, loss before, loss after): the same rows, class by class.
    """
    cdef int64_t before = 0, after = 0, i, c, n, n_ends = 0
    cdef int64_t least = whole(k, 1, MOST_LEAST, "k")
    cdef Widths of = one_of(Widths, widths, "widths")
    cdef const int32_t[:, ::1] table = records_of(of, records)
    cdef const int64_t[::1] bounds = parts_of(offsets, table.shape[0], "offsets")
    cdef int64_t n_classes = bounds.shape[0] - 1
    cdef const int32_t[:, ::1] codes = None
    cdef list keep = []
    cdef Pool pool
    rules, codes, least = tested(rules, sensitive, table.shape[0], least)
    result = np.empty(table.shape[0], np.uint32)
    if n_classes == 0:
        return result, np.zeros(1, np.int64), 0, 0
    ends = np.zeros(table.shape[0] // least + n_classes + 1, np.int64)
    cdef uint32_t[::1] rows_view = result
    cdef int64_t[::1] ends_view = ends
    pool = pool_for(keep, of, rules, codes, least, int(np.max(np.diff(bounds))))
    with nogil:
        n = 0
        for c in range(n_classes):
            pool.n = bounds[c + 1] - bounds[c]
            for i in range(pool.n):
                pool.rows[i] = <int32_t>(bounds[c] + i)
            gather(&pool, &table[0, 0])
            cut_pool(&pool)
            before += pool.loss_before
            after += pool.loss
            for i in range(pool.n_ends):
                n_ends += 1
                ends_view[n_ends] = n + pool.ends[i]
            for i in range(pool.n):
                rows_view[n + i] = <uint32_t>pool.rows[pool.orders[pool.sorted_field * pool.capacity + i]]
            n += pool.n
    return result, ends[: n_ends + 1], before, after


# --- A pass over classes -------------------------------------------------------------------------


# The classes of one block. The rows of slot c are chained: first_row[c], then next_row of each; a free slot has
# size 0. Fields are bounds of ordered attributes, and per tree the common ancestor, per set a bit for each of
# its values (of more than 64, for each of their remainders) and whether it has null.
cdef struct Block:
    int64_t n_slots
    int64_t most_pooled
    int64_t* size
    int32_t* width
    int32_t* first_row
    int32_t* next_row
    int32_t* low
    int32_t* high
    int32_t* node
    uint64_t* bits
    uint8_t* has_null


cdef void describe(Pool* pool, Block* block, int64_t c, const int32_t* order, int64_t n) noexcept nogil:
    # Slot c holds these rows of the pool.
    cdef const Space* space = pool.space
    cdef int64_t i
    cdef const int32_t* sets
    cdef uint64_t bits
    cdef bint has_null
    cdef int f
    block.size[c] = n
    block.width[c] = measure(pool, order, n)
    memcpy(block.low + c * space.n_ordered, pool.low, space.n_ordered * sizeof(int32_t))
    memcpy(block.high + c * space.n_ordered, pool.high, space.n_ordered * sizeof(int32_t))
    memcpy(block.node + c * space.n_trees, pool.node, space.n_trees * sizeof(int32_t))
    for f in range(space.n_flat):
        bits = 0
        has_null = False
        for i in range(n):
            sets = pool.records + <int64_t>order[i] * space.stride + space.n_ordered + space.n_trees
            if sets[f] == space.null_code[f]:
                has_null = True
            else:
                bits |= <uint64_t>1 << (sets[f] & 63)
        block.bits[c * space.n_flat + f] = bits
        block.has_null[c * space.n_flat + f] = has_null
    block.first_row[c] = pool.rows[order[0]]
    for i in range(n - 1):
        block.next_row[pool.rows[order[i]]] = pool.rows[order[i + 1]]
    block.next_row[pool.rows[order[n - 1]]] = -1


cdef void pour(Pool* pool, const Block* block, int64_t c) noexcept nogil:
    # The rows of slot c join the pool.
    cdef int32_t row = block.first_row[c]
    fits(pool.n + block.size[c], pool.capacity)
    while row >= 0:
        pool.rows[pool.n] = row
        pool.n += 1
        row = block.next_row[row]


cdef inline int64_t joined_width(const Pool* pool, const Block* block, int64_t a, int64_t b,
                                 int64_t limit) noexcept nogil:
    # Width of two classes together, or some number beyond `limit` if that is more; sets of more than 64 values may
    # seem narrower than they are.
    cdef const Space* space = pool.space
    cdef int n = space.n_ordered, f
    cdef int64_t total = joined_span(block.low + a * n, block.high + a * n, block.low + b * n, block.high + b * n,
                                     space.full, n)
    cdef int64_t at_a = a * space.n_flat, at_b = b * space.n_flat
    cdef int32_t node, other
    if total > limit:
        return total
    for f in range(space.n_flat):
        total += set_width(space, f, ones(block.bits[at_a + f] | block.bits[at_b + f]),
                           block.has_null[at_a + f] | block.has_null[at_b + f])
    if total > limit:
        return total
    for f in range(space.n_trees):
        node = block.node[a * space.n_trees + f]
        other = block.node[b * space.n_trees + f]
        while space.last[node] < space.last[other] or pool.first[node] > pool.first[other]:
            node = space.parent[node]
        total += space.node_width[node]
    return total


cdef inline int64_t loss_of(const Block* block, int64_t c) noexcept nogil:
    return block.size[c] * block.width[c]


cdef int find_partners(const Pool* pool, const Block* block, int64_t a, int64_t n_classes, int64_t reach,
                       int64_t* slots) noexcept nogil:
    # After slot a, at slots[0], those that it is pooled with; returns how many they are.
    cdef int64_t[PARTNERS] costs
    cdef int64_t b, limit, width, cost
    cdef int n = 0
    slots[0] = a
    for b in range(a + 1, min(a + 1 + WINDOW, n_classes)):
        if block.size[b] == 0 or block.size[a] + PARTNERS * block.size[b] > block.most_pooled:
            continue
        limit = reach * (<int64_t>block.width[a] + block.width[b]) // 100
        width = joined_width(pool, block, a, b, limit)
        if width > limit:
            continue
        cost = (block.size[a] + block.size[b]) * width - loss_of(block, a) - loss_of(block, b)
        n = keep_partner(costs, slots + 1, n, cost, b)
    return n


cdef void recut_block(Pool* pool, Block* block, const int32_t* records, int64_t n_classes, int64_t reach) noexcept nogil:
    cdef int64_t slots[PARTNERS + 1]
    cdef int64_t a, c, spare = n_classes, before, start
    cdef const int32_t* order
    cdef int n, j
    for a in range(n_classes):
        if block.size[a] == 0 or block.width[a] == 0:
            continue
        n = find_partners(pool, block, a, n_classes, reach, slots)
        if n == 0:
            continue
        pool.n = 0
        before = 0
        for j in range(n + 1):
            pour(pool, block, slots[j])
            before += loss_of(block, slots[j])
        gather(pool, records)
        cut_pool(pool)
        if pool.loss >= before or spare + pool.n_ends - (n + 1) > block.n_slots:
            continue
        order = pool.orders + pool.sorted_field * pool.capacity
        start = 0
        for j in range(pool.n_ends):
            c = slots[j] if j <= n else spare
            spare += j > n
            describe(pool, block, c, order + start, pool.ends[j] - start)
            start = pool.ends[j]
        for j in range(pool.n_ends, n + 1):
            block.size[slots[j]] = 0


def recut(widths, records, offsets, k, reach, rules=None, sensitive=None):
    """Lower the loss of these classes by pooling neighbors and cutting the pool again; it never rises.

    Class c holds the rows offsets[c]..offsets[c+1]-1 of `records` (those of `place`), at least k of them; classes
    next to each other should be neighbors in space. Each class is pooled with at most 2 of the 16 behind
    it: those whose union with it is at most `reach` percent as wide as the two together and adds least
    loss. With `rules`, which every class passes at first and at last, `sensitive` (int32, n x s) has the
    sensitive codes. Returns (rows uint32, offsets int64, loss before, loss after): the same rows, class
    by class.
    """
    cdef int64_t before = 0, after = 0, i, c, n, n_ends
    cdef int64_t least = whole(k, 1, MOST_LEAST, "k"), percent = whole(reach, 0, 1 << 20, "reach")
    cdef Widths of = one_of(Widths, widths, "widths")
    cdef const int32_t[:, ::1] table = records_of(of, records)
    cdef const int64_t[::1] bounds = parts_of(offsets, table.shape[0], "offsets")
    cdef int64_t n_classes = bounds.shape[0] - 1
    cdef const int32_t[:, ::1] codes = None
    cdef list keep = []
    cdef Pool pool
    cdef Block block
    cdef int32_t row
    sizes = np.diff(bounds)
    if n_classes and sizes.min() < least:
        raise ValueError("offsets must divide the records into classes of at least k rows")
    rules, codes, least = tested(rules, sensitive, table.shape[0], least)
    result = np.empty(table.shape[0], np.uint32)
    if n_classes == 0:
        return result, np.zeros(1, np.int64), 0, 0
    block.most_pooled = max(POOLED, TIMES_LEAST * least)
    pool = pool_for(keep, of, rules, codes, least, min(max(block.most_pooled, int(sizes.max())), table.shape[0]))
    block.n_slots = n_classes + table.shape[0] // least + 1
    ends = np.zeros(block.n_slots + 1, np.int64)
    cdef uint32_t[::1] rows_view = result
    cdef int64_t[::1] ends_view = ends
    block.size = <int64_t*>take(keep, block.n_slots, sizeof(int64_t))
    block.width = <int32_t*>take(keep, block.n_slots, sizeof(int32_t))
    block.first_row = <int32_t*>take(keep, block.n_slots, sizeof(int32_t))
    block.next_row = <int32_t*>take(keep, table.shape[0], sizeof(int32_t))
    block.low = <int32_t*>take(keep, block.n_slots * of.c.n_ordered, sizeof(int32_t))
    block.high = <int32_t*>take(keep, block.n_slots * of.c.n_ordered, sizeof(int32_t))
    block.node = <int32_t*>take(keep, block.n_slots * of.c.n_trees, sizeof(int32_t))
    block.bits = <uint64_t*>take(keep, block.n_slots * of.c.n_flat, sizeof(uint64_t))
    block.has_null = <uint8_t*>take(keep, block.n_slots * of.c.n_flat, sizeof(uint8_t))
    with nogil:
        for c in range(n_classes):
            pool.n = bounds[c + 1] - bounds[c]
            for i in range(pool.n):
                pool.rows[i] = <int32_t>(bounds[c] + i)
                pool.order[i] = <int32_t>i
            gather(&pool, &table[0, 0])
            describe(&pool, &block, c, pool.order, pool.n)
            before += loss_of(&block, c)
        recut_block(&pool, &block, &table[0, 0], n_classes, percent)
        n = 0
        n_ends = 0
        for c in range(block.n_slots):
            if block.size[c] == 0:
                continue
            row = block.first_row[c]
            while row >= 0:
                rows_view[n] = <uint32_t>row
                n += 1
                row = block.next_row[row]
            n_ends += 1
            ends_view[n_ends] = n
            after += loss_of(&block, c)
    return result, ends[: n_ends + 1], before, after
