# SPDX-License-Identifier: Apache-2.0
# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Repair: classes that fail a conjunction of requirements are merged with neighbors along a curve."""

import numpy as np

from anoncore.doors import array_of, one_of, parts_of

from libc.string cimport memcpy

from anoncore.curve cimport BEYOND, Space, Widths, joined_spans, records_of, sensitive_of, set_width, widen
from anoncore.memory cimport Array, extend, growing, release, reserve, take
from anoncore.requirement cimport Conjunction, Rules, passes
from anoncore.sort cimport sort_keys
from anoncore.types cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

cdef enum:
    REACH = 32          # classes before and behind a failing one that it may be merged with

cdef int64_t NEVER = <int64_t>1 << 62


# Classes in curve order. What is present in a class, per flat attribute and then per sensitive one, is a list
# of values (ascending) and counts: `length` of each at `values` and `counts`, indexed by class and list. At
# first these lie one behind the other in `first_values` and `first_counts`; a merged class has lists of its own.
# By units the values of a sensitive list are pairs of code and unit; where a rule asks for units, they have
# a list behind the others.
cdef struct Mergers:
    const Space* space
    const Rules* rules
    int n_lists
    int n_sensitive
    const uint32_t* units      # of every row, or NULL
    int64_t n_classes
    int64_t* size
    int64_t* width
    int32_t* low
    int32_t* high
    int64_t* before            # live neighbors in curve order, -1 and n_classes beyond the ends
    int64_t* behind
    int64_t* home
    uint8_t* failing           # fails whatever the rules say, until it is merged once
    int64_t* length
    const int64_t** values
    const int64_t** counts
    Array* first_values
    Array* first_counts
    Array* own_values
    Array* own_counts
    Array* joined_values       # one each: of passing use
    Array* joined_counts
    uint64_t* keys             # of passing use, by row of a class
    uint64_t* spare
    int64_t** tested_values    # by units, of passing use: the codes of a class and how many units have each
    int64_t** tested_counts
    int64_t* n_tested


cdef int64_t list_values(const int32_t* codes, const uint32_t* units, int64_t n, int64_t step, uint64_t* scratch,
                         uint64_t* spare, Array* values, Array* counts) noexcept nogil:
    # Append the distinct codes (or units, or pairs of both), ascending, and their counts; returns how many, or
    # -1 if memory is short.
    cdef int64_t i, j, n_values = 0
    cdef int64_t* value
    cdef int64_t* count
    for i in range(n):
        scratch[i] = 0 if codes == NULL else <uint64_t>codes[i * step]
        if units != NULL:
            scratch[i] = scratch[i] << 32 | units[i]
    sort_keys(&scratch, NULL, &spare, NULL, n, 0)
    for i in range(n):
        n_values += i == 0 or scratch[i] != scratch[i - 1]
    if not (reserve(values, n_values) and reserve(counts, n_values)):
        return -1
    value = <int64_t*>extend(values, n_values)
    count = <int64_t*>extend(counts, n_values)
    j = -1
    for i in range(n):
        if i == 0 or scratch[i] != scratch[i - 1]:
            j += 1
            value[j] = scratch[i]
            count[j] = 0
        count[j] += 1
    return n_values


cdef bint list_all(Mergers* classes, const int32_t[:, ::1] records, const int32_t[:, ::1] sensitive,
                   const int64_t[::1] offsets) noexcept nogil:
    # The first lists of every class; False if memory is short.
    cdef int64_t c, at, start = 0
    cdef int l, n_flat = classes.space.n_flat, first_flat = classes.space.n_ordered + classes.space.n_trees
    cdef const uint32_t* units = NULL
    for c in range(classes.n_classes):
        for l in range(classes.n_lists):
            at = c * classes.n_lists + l
            if l < n_flat:
                classes.length[at] = list_values(
                    &records[offsets[c], first_flat + l], NULL, classes.size[c], records.shape[1], classes.keys,
                    classes.spare, classes.first_values, classes.first_counts)
            elif l < n_flat + classes.n_sensitive:
                if classes.rules.by_units:
                    units = classes.units + offsets[c]
                classes.length[at] = list_values(
                    &sensitive[offsets[c], l - n_flat], units, classes.size[c], sensitive.shape[1], classes.keys,
                    classes.spare, classes.first_values, classes.first_counts)
            else:
                classes.length[at] = list_values(
                    NULL, classes.units + offsets[c], classes.size[c], 1, classes.keys, classes.spare,
                    classes.first_values, classes.first_counts)
            if classes.length[at] < 0:
                return False
    for at in range(classes.n_classes * classes.n_lists):
        classes.values[at] = <const int64_t*>classes.first_values.at + start
        classes.counts[at] = <const int64_t*>classes.first_counts.at + start
        start += classes.length[at]
    return True


cdef inline int32_t list_width(const Space* space, int f, int64_t n_present, bint has_null) noexcept nogil:
    return set_width(space, f, <int32_t>n_present - has_null, has_null)


cdef bint fails(Mergers* classes, int64_t c) noexcept nogil:
    cdef int64_t at = c * classes.n_lists + classes.space.n_flat, i, d
    cdef int a
    if classes.failing[c]:
        return True
    if classes.rules.min_units and classes.length[at + classes.n_sensitive] < classes.rules.min_units:
        return True
    if classes.rules.by_units:
        for a in range(classes.n_sensitive):
            d = -1
            for i in range(classes.length[at + a]):
                if d < 0 or classes.tested_values[a][d] != classes.values[at + a][i] >> 32:
                    d += 1
                    classes.tested_values[a][d] = classes.values[at + a][i] >> 32
                    classes.tested_counts[a][d] = 0
                classes.tested_counts[a][d] += 1
            classes.n_tested[a] = d + 1
        return not passes(classes.rules, classes.size[c], <const int64_t* const*>classes.tested_values,
                          <const int64_t* const*>classes.tested_counts, classes.n_tested)
    return not passes(classes.rules, classes.size[c], <const int64_t* const*>(classes.values + at),
                      <const int64_t* const*>(classes.counts + at), classes.length + at)


cdef int64_t merged_width(const Mergers* classes, int64_t a, int64_t b) noexcept nogil:
    cdef const Space* space = classes.space
    cdef int64_t total = joined_spans(
        space, space.n_ordered, classes.low + a * space.stride, classes.high + a * space.stride,
        classes.low + b * space.stride, classes.high + b * space.stride)
    cdef int64_t i, j, n_a, n_b, n_common
    cdef const int64_t* values_a
    cdef const int64_t* values_b
    cdef bint has_null
    cdef int f
    for f in range(space.n_flat):
        values_a = classes.values[a * classes.n_lists + f]
        values_b = classes.values[b * classes.n_lists + f]
        n_a = classes.length[a * classes.n_lists + f]
        n_b = classes.length[b * classes.n_lists + f]
        has_null = values_a[n_a - 1] == space.null_code[f] or values_b[n_b - 1] == space.null_code[f]
        i = 0
        j = 0
        n_common = 0
        while i < n_a and j < n_b:
            if values_a[i] == values_b[j]:
                n_common += 1
                i += 1
                j += 1
            elif values_a[i] < values_b[j]:
                i += 1
            else:
                j += 1
        total += list_width(space, f, n_a + n_b - n_common, has_null)
    return total


cdef bint keep_joined(const Array* joined, Array* own) noexcept nogil:
    own.length = 0
    if not reserve(own, joined.length):
        return False
    memcpy(extend(own, joined.length), joined.at, joined.length * sizeof(int64_t))
    return True


cdef bint merge_lists(Mergers* classes, int64_t a, int64_t b) noexcept nogil:
    # The lists at a (an index of class and list) take up those at b; False if memory is short.
    cdef int64_t i = 0, j = 0, n_a = classes.length[a], n_b = classes.length[b]
    cdef const int64_t* values_a = classes.values[a]
    cdef const int64_t* values_b = classes.values[b]
    cdef const int64_t* counts_a = classes.counts[a]
    cdef const int64_t* counts_b = classes.counts[b]
    cdef int64_t* value
    cdef int64_t* count
    classes.joined_values.length = 0
    classes.joined_counts.length = 0
    if not (reserve(classes.joined_values, n_a + n_b) and reserve(classes.joined_counts, n_a + n_b)):
        return False
    while i < n_a or j < n_b:
        value = <int64_t*>extend(classes.joined_values, 1)
        count = <int64_t*>extend(classes.joined_counts, 1)
        if j == n_b or (i < n_a and values_a[i] < values_b[j]):
            value[0] = values_a[i]
            count[0] = counts_a[i]
            i += 1
        elif i == n_a or values_b[j] < values_a[i]:
            value[0] = values_b[j]
            count[0] = counts_b[j]
            j += 1
        else:
            value[0] = values_a[i]
            count[0] = counts_a[i] + counts_b[j]
            i += 1
            j += 1
    if not (keep_joined(classes.joined_values, &classes.own_values[a])
            and keep_joined(classes.joined_counts, &classes.own_counts[a])):
        return False
    release(&classes.own_values[b])
    release(&classes.own_counts[b])
    classes.values[a] = <const int64_t*>classes.own_values[a].at
    classes.counts[a] = <const int64_t*>classes.own_counts[a].at
    classes.length[a] = classes.own_values[a].length
    classes.length[b] = 0
    return True


cdef bint merge(Mergers* classes, int64_t a, int64_t b) noexcept nogil:
    # Class a (the earlier one) takes up class b; False if memory is short.
    cdef int stride = classes.space.stride, l
    classes.width[a] = merged_width(classes, a, b)
    widen(classes.low + a * stride, classes.high + a * stride, classes.low + b * stride, stride)
    widen(classes.low + a * stride, classes.high + a * stride, classes.high + b * stride, stride)
    for l in range(classes.n_lists):
        if not merge_lists(classes, a * classes.n_lists + l, b * classes.n_lists + l):
            return False
    classes.size[a] += classes.size[b]
    classes.home[b] = a
    classes.failing[a] = 0
    classes.behind[classes.before[b]] = classes.behind[b]
    if classes.behind[b] < classes.n_classes:
        classes.before[classes.behind[b]] = classes.before[b]
    return True


cdef bint repair_classes(Mergers* classes) noexcept nogil:
    # False if memory is short.
    cdef int64_t p, a, b, cost, best, partner, n_after
    cdef int i
    for p in range(classes.n_classes):
        if classes.home[p] != p:
            continue
        a = p
        while fails(classes, a):
            b = a
            for i in range(REACH):
                if classes.before[b] < 0:
                    break
                b = classes.before[b]
            best = NEVER
            partner = -1
            n_after = 0
            while b < classes.n_classes:
                if b > a:
                    n_after += 1
                    if n_after > REACH:
                        break
                if b != a:
                    cost = (classes.size[a] + classes.size[b]) * merged_width(classes, a, b)
                    cost -= classes.size[a] * classes.width[a] + classes.size[b] * classes.width[b]
                    if cost < best:
                        best = cost
                        partner = b
                b = classes.behind[b]
            if partner < 0:
                break
            if not merge(classes, min(a, partner), max(a, partner)):
                return False
            a = min(a, partner)
    for p in range(classes.n_classes):
        classes.home[p] = classes.home[classes.home[p]]
    return True


cdef bint lay_out(Mergers* classes, const int32_t[:, ::1] records, const int32_t[:, ::1] sensitive,
                  const int64_t[::1] offsets) noexcept nogil:
    # The classes as they are at first; False if memory is short.
    cdef int64_t c, i
    cdef int f, stride = classes.space.stride
    for c in range(classes.n_classes):
        classes.size[c] = offsets[c + 1] - offsets[c]
        classes.before[c] = c - 1
        classes.behind[c] = c + 1
        for f in range(stride):
            classes.low[c * stride + f] = BEYOND
            classes.high[c * stride + f] = -BEYOND
        for i in range(offsets[c], offsets[c + 1]):
            widen(classes.low + c * stride, classes.high + c * stride, &records[i, 0], stride)
    if not list_all(classes, records, sensitive, offsets):
        return False
    for c in range(classes.n_classes):
        classes.width[c] = merged_width(classes, c, c)
    return True


def repair(widths, records, sensitive, offsets, rules, units=None, failing=None):
    """Merge classes that fail the rules with neighbors until every class passes, or one is left.

    Class c holds rows offsets[c]..offsets[c+1]-1 (at least one) of `records` (those of `place`) and of
    `sensitive` (int32, n x s), and of `units` (uint32) where the rules count them; classes are in curve order. Each failing class in turn is merged with
    that of the 32 live classes before and 32 after it with which the loss grows least (ties: the earlier),
    until it passes; the union stands at the earlier place. A class marked in `failing` (bool) fails until it is
    merged with one at least, for what only the caller can test. Returns per class (int64) the number of the class
    that it ends up in.
    """
    cdef Widths of = one_of(Widths, widths, "widths")
    cdef Conjunction conjunction = one_of(Conjunction, rules, "rules")
    cdef const int32_t[:, ::1] rows = records_of(of, records)
    cdef int64_t n = rows.shape[0]
    cdef const int64_t[::1] bounds = parts_of(offsets, n, "offsets")
    cdef int64_t n_classes = bounds.shape[0] - 1
    cdef int n_sensitive = <int>conjunction.c.n_sensitive, a
    cdef int stride = of.c.stride, n_lists = of.c.n_flat + n_sensitive + (conjunction.c.min_units > 0)
    cdef const uint32_t[::1] numbers
    cdef const uint8_t[::1] marks
    cdef const int32_t[:, ::1] codes = None
    cdef Mergers classes
    cdef list keep = []
    cdef bint done
    if conjunction.c.n_sensitive:
        codes = sensitive_of(conjunction, sensitive, n)
    if (units is None) != (conjunction.c.min_units == 0 and not conjunction.c.by_units):
        raise ValueError("units are needed where rules count them, and only there")
    home = np.arange(n_classes, dtype=np.int64)
    if n_classes == 0:
        return home
    cdef int64_t[::1] home_view = home
    cdef int64_t most = np.max(np.diff(bounds))
    classes.space = &of.c
    classes.rules = &conjunction.c
    classes.n_lists = n_lists
    classes.n_sensitive = n_sensitive
    classes.units = NULL
    if units is not None:
        numbers = array_of(units, np.uint32, 1, "units")
        if numbers.shape[0] != n:
            raise ValueError("units must be one number per row")
        classes.units = &numbers[0]
        classes.tested_values = <int64_t**>take(keep, n_sensitive, sizeof(int64_t*))
        classes.tested_counts = <int64_t**>take(keep, n_sensitive, sizeof(int64_t*))
        classes.n_tested = <int64_t*>take(keep, n_sensitive, sizeof(int64_t))
        for a in range(n_sensitive):
            classes.tested_values[a] = <int64_t*>take(keep, conjunction.c.n_values[a], sizeof(int64_t))
            classes.tested_counts[a] = <int64_t*>take(keep, conjunction.c.n_values[a], sizeof(int64_t))
    classes.n_classes = n_classes
    classes.home = &home_view[0]
    classes.size = <int64_t*>take(keep, n_classes, sizeof(int64_t))
    classes.width = <int64_t*>take(keep, n_classes, sizeof(int64_t))
    classes.failing = <uint8_t*>take(keep, n_classes, sizeof(uint8_t))
    if failing is not None:
        marks = array_of(failing, np.bool_, 1, "failing").view(np.uint8)
        if marks.shape[0] != n_classes:
            raise ValueError("failing must be one mark per class")
        memcpy(classes.failing, &marks[0], n_classes)
    classes.before = <int64_t*>take(keep, n_classes, sizeof(int64_t))
    classes.behind = <int64_t*>take(keep, n_classes, sizeof(int64_t))
    classes.low = <int32_t*>take(keep, n_classes * stride, sizeof(int32_t))
    classes.high = <int32_t*>take(keep, n_classes * stride, sizeof(int32_t))
    classes.length = <int64_t*>take(keep, n_classes * n_lists, sizeof(int64_t))
    classes.values = <const int64_t**>take(keep, n_classes * n_lists, sizeof(int64_t*))
    classes.counts = <const int64_t**>take(keep, n_classes * n_lists, sizeof(int64_t*))
    classes.keys = <uint64_t*>take(keep, most, sizeof(uint64_t))
    classes.spare = <uint64_t*>take(keep, most, sizeof(uint64_t))
    classes.first_values = growing(keep, 1, sizeof(int64_t))
    classes.first_counts = growing(keep, 1, sizeof(int64_t))
    classes.own_values = growing(keep, n_classes * n_lists, sizeof(int64_t))
    classes.own_counts = growing(keep, n_classes * n_lists, sizeof(int64_t))
    classes.joined_values = growing(keep, 1, sizeof(int64_t))
    classes.joined_counts = growing(keep, 1, sizeof(int64_t))
    with nogil:
        done = lay_out(&classes, rows, codes, bounds) and repair_classes(&classes)
    if not done:
        raise MemoryError
    return home
