# SPDX-License-Identifier: Apache-2.0
# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Microaggregation: MDAV (Domingo-Ferrer & Torra 2005, "generic"), and the best groups of one attribute.

MDAV is exact and not quadratic where its rows are numbers: a kd-tree over the rows that are left bounds
distances from its boxes, and a node is opened only while its bound is not beaten; how far rows are from the mean
is remembered, and how far it has moved since. The answer, ties included, is that of comparing every row. Distances are summed attribute by attribute, in the order given, for
rows and for boxes alike: rounding is monotone, so a bound never lies on the wrong side of what it bounds.
Nodes fit the rows that are left as closely as they can; the tree is built anew when half of its rows are gone.
"""

import numpy as np

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport INFINITY, fabs, fma, sqrt

from anoncore.attribute cimport Attribute, Extent
from anoncore.doors import all_of, array_of, codes_of, given, whole
from anoncore.memory cimport take
from anoncore.metric cimport Metric, apart, metric_of, pair
from anoncore.types cimport FLAT, ORDERED, TREE, int32_t, int64_t, uint32_t

cdef enum:
    LEAF = 16           # rows up to which a node is not split
    CHUNK = 1 << 14     # rows grouped between two calls of `progress`
    MOST_LOOKS = 64     # rows looked at on the outside before the tree is asked

cdef uint32_t NONE = 0xFFFFFFFF
cdef double ALIKE = 2.0**-96  # sums of squares that differ by less, relative to them, are a tie
GREATEST = 1e140  # of a coordinate: no square of a difference, times a square of the rows, is infinite


# A kd-tree over the rows that are left. The children of node i are child[i] and child[i] + 1; a leaf has child 0
# and the slots begin[i]..end[i] - 1. The coordinates of slot s start at at[m * s], the least and greatest ones
# below node i at box[2 * m * i] and box[2 * m * i + m].
cdef struct Index:
    int64_t m
    int64_t n_left
    int64_t n_built       # rows when it was built
    int32_t n_nodes
    double* at
    uint32_t* row         # by slot
    int32_t* slot         # by row; -1: it is gone
    int32_t* leaf         # by row
    int32_t* child
    int32_t* parent
    int32_t* begin
    int32_t* end
    double* box
    uint32_t* first       # the lowest row below; NONE: none is left


# The nearest rows seen, a heap with the furthest on top; ties: the greatest row.
cdef struct Near:
    double* distance
    uint32_t* row
    int64_t n
    int64_t k


# ---- distances

cdef inline double least(const Metric* metric, const double* q, const double* box) noexcept nogil:
    # No row in the box is nearer than this.
    cdef double total = 0.0, low, high
    cdef int64_t a, m = metric.m
    if metric.extents != NULL:
        for a in range(m):
            if q[a] < box[a]:
                total += pair(&metric.extents[a], q[a], box[a])
            elif q[a] > box[m + a]:
                total += pair(&metric.extents[a], q[a], box[m + a])
        return total
    for a in range(m):
        low = metric.scale * box[a] - q[a]
        high = q[a] - metric.scale * box[m + a]
        low = low if low > high else high
        low = low if low > 0.0 else 0.0
        total += metric.weight[a] * (low * low)
    return total


cdef inline double most(const Metric* metric, const double* q, const double* box) noexcept nogil:
    # No row in the box is further than this.
    cdef double total = 0.0, low, high
    cdef int64_t a, m = metric.m
    if metric.extents != NULL:
        for a in range(m):
            low = pair(&metric.extents[a], q[a], box[a])
            high = pair(&metric.extents[a], q[a], box[m + a])
            total += low if low > high else high
        return total
    for a in range(m):
        low = q[a] - metric.scale * box[a]
        high = metric.scale * box[m + a] - q[a]
        low = low if low > high else high
        total += metric.weight[a] * (low * low)
    return total


# ---- the tree

cdef inline double extent_of(const Metric* metric, const double* box, int64_t a) noexcept nogil:
    cdef double t
    if metric.extents != NULL:
        return pair(&metric.extents[a], box[a], box[metric.m + a])
    t = box[metric.m + a] - box[a]
    return metric.weight[a] * (t * t)


cdef bint fit_leaf(Index* index, int32_t node) noexcept nogil:
    # The bounds of a leaf from its slots. Returns whether they changed.
    cdef int64_t m = index.m, a, slot
    cdef double low, high, x
    cdef uint32_t first = NONE
    cdef bint changed
    cdef double* box = index.box + 2 * m * node
    for slot in range(index.begin[node], index.end[node]):
        if index.row[slot] < first:
            first = index.row[slot]
    changed = first != index.first[node]
    index.first[node] = first
    if first == NONE:
        return changed
    for a in range(m):
        low = high = index.at[m * index.begin[node] + a]
        for slot in range(index.begin[node] + 1, index.end[node]):
            x = index.at[m * slot + a]
            low = x if x < low else low
            high = x if x > high else high
        changed |= box[a] != low or box[m + a] != high
        box[a] = low
        box[m + a] = high
    return changed


cdef bint fit_inner(Index* index, int32_t node) noexcept nogil:
    # The bounds of a node from its children's. Returns whether they changed.
    cdef int64_t m = index.m, a
    cdef int32_t left = index.child[node], right = left + 1
    cdef double low, high
    cdef uint32_t first
    cdef bint changed
    cdef double* box = index.box + 2 * m * node
    cdef const double* one
    cdef const double* two
    if index.first[left] == NONE:
        left = right
    elif index.first[right] == NONE:
        right = left
    first = index.first[left] if index.first[left] < index.first[right] else index.first[right]
    changed = first != index.first[node]
    index.first[node] = first
    if first == NONE:
        return changed
    one = index.box + 2 * m * left
    two = index.box + 2 * m * right
    for a in range(m):
        low = one[a] if one[a] < two[a] else two[a]
        high = one[m + a] if one[m + a] > two[m + a] else two[m + a]
        changed |= box[a] != low or box[m + a] != high
        box[a] = low
        box[m + a] = high
    return changed


cdef void swap_slots(Index* index, int64_t one, int64_t two) noexcept nogil:
    cdef int64_t a, m = index.m
    cdef double x
    cdef uint32_t row = index.row[one]
    for a in range(m):
        x = index.at[m * one + a]
        index.at[m * one + a] = index.at[m * two + a]
        index.at[m * two + a] = x
    index.row[one] = index.row[two]
    index.row[two] = row


cdef void halve(Index* index, int64_t begin, int64_t end, int64_t middle, int64_t a) noexcept nogil:
    # Orders the slots so that none before `middle` has a greater coordinate `a` than one from it on.
    cdef int64_t m = index.m, low = begin, high = end - 1, i, j
    cdef double x, y, z, pivot
    while low < high:
        x, y, z = index.at[m * low + a], index.at[m * ((low + high) // 2) + a], index.at[m * high + a]
        pivot = max(min(x, y), min(max(x, y), z))
        i, j = low, high
        while i <= j:
            while index.at[m * i + a] < pivot:
                i += 1
            while index.at[m * j + a] > pivot:
                j -= 1
            if i <= j:
                swap_slots(index, i, j)
                i += 1
                j -= 1
        if middle <= j:
            high = j
        elif middle >= i:
            low = i
        else:
            return


cdef void build(Index* index, const Metric* metric) noexcept nogil:
    # Over the slots 0..n_left - 1, level by level: parents come before their children.
    cdef int64_t slot, a, widest, middle, m = index.m
    cdef int32_t node = 0, child
    cdef double extent, greatest
    index.n_nodes = 1
    index.n_built = index.n_left
    index.parent[0] = -1
    index.begin[0] = 0
    index.end[0] = <int32_t>index.n_left
    while node < index.n_nodes:
        index.child[node] = 0
        fit_leaf(index, node)
        widest, greatest = 0, -1.0
        for a in range(m):
            extent = extent_of(metric, index.box + 2 * m * node, a)
            if extent > greatest:
                widest, greatest = a, extent
        if index.end[node] - index.begin[node] > LEAF:
            middle = (<int64_t>index.begin[node] + index.end[node]) // 2
            halve(index, index.begin[node], index.end[node], middle, widest)
            child = index.n_nodes
            index.child[node] = child
            index.begin[child] = index.begin[node]
            index.end[child] = <int32_t>middle
            index.begin[child + 1] = <int32_t>middle
            index.end[child + 1] = index.end[node]
            index.parent[child] = index.parent[child + 1] = node
            index.n_nodes += 2
        else:
            for slot in range(index.begin[node], index.end[node]):
                index.leaf[index.row[slot]] = node
                index.slot[index.row[slot]] = <int32_t>slot
        node += 1


cdef void rebuild(Index* index, const Metric* metric) noexcept nogil:
    # Moves the rows that are left to the front and builds the tree over them.
    cdef int64_t n = 0, slot
    for slot in range(index.n_built):
        if index.slot[index.row[slot]] >= 0:
            if slot != n:
                swap_slots(index, slot, n)
            n += 1
    build(index, metric)


cdef void remove(Index* index, uint32_t row) noexcept nogil:
    cdef int32_t node = index.leaf[row], slot = index.slot[row], last = index.end[node] - 1
    cdef bint changed
    if slot != last:
        swap_slots(index, slot, last)
        index.slot[index.row[slot]] = slot
    index.slot[row] = -1
    index.end[node] = last
    index.n_left -= 1
    changed = fit_leaf(index, node)
    while changed and index.parent[node] >= 0:
        node = index.parent[node]
        changed = fit_inner(index, node)


# ---- queries

cdef void far(const Index* index, const Metric* metric, int32_t node, const double* q, double* best,
              uint32_t* row) noexcept nogil:
    # IN and OUT: the greatest distance seen, and the lowest row that has it.
    cdef int64_t slot, m = index.m
    cdef int32_t one, two
    cdef double d, e
    if index.child[node] == 0:
        for slot in range(index.begin[node], index.end[node]):
            d = apart(metric, q, index.at + m * slot)
            if d > best[0] or (d == best[0] and index.row[slot] < row[0]):
                best[0] = d
                row[0] = index.row[slot]
        return
    one = index.child[node]
    two = one + 1
    d = -1.0 if index.first[one] == NONE else most(metric, q, index.box + 2 * m * one)
    e = -1.0 if index.first[two] == NONE else most(metric, q, index.box + 2 * m * two)
    if e > d or (e == d and index.first[two] < index.first[one]):
        one, two = two, one
        d, e = e, d
    if d > best[0] or (d == best[0] and index.first[one] < row[0]):
        far(index, metric, one, q, best, row)
    if e > best[0] or (e == best[0] and index.first[two] < row[0]):
        far(index, metric, two, q, best, row)


cdef inline bint beyond(const Near* near, int64_t i, double distance, uint32_t row) noexcept nogil:
    # Does entry i come after this?
    return near.distance[i] > distance or (near.distance[i] == distance and near.row[i] > row)


cdef void push(Near* near, double distance, uint32_t row) noexcept nogil:
    # One more, in place of the furthest where there are k.
    cdef int64_t i, other
    if near.n < near.k:
        i = near.n
        near.n += 1
        while i > 0:
            other = (i - 1) // 2
            if beyond(near, other, distance, row):
                break
            near.distance[i] = near.distance[other]
            near.row[i] = near.row[other]
            i = other
    else:
        i = 0
        while 2 * i + 1 < near.n:
            other = 2 * i + 1
            if other + 1 < near.n and beyond(near, other + 1, near.distance[other], near.row[other]):
                other += 1
            if not beyond(near, other, distance, row):
                break
            near.distance[i] = near.distance[other]
            near.row[i] = near.row[other]
            i = other
    near.distance[i] = distance
    near.row[i] = row


cdef inline bint open(const Near* near, double distance, uint32_t row) noexcept nogil:
    # Could a row from `row` on, no nearer than this, be among the nearest?
    return row != NONE and (near.n < near.k or beyond(near, 0, distance, row))


cdef void nearest(const Index* index, const Metric* metric, int32_t node, const double* q, Near* near) noexcept nogil:
    cdef int64_t slot, m = index.m
    cdef int32_t one, two
    cdef double d, e
    if index.child[node] == 0:
        for slot in range(index.begin[node], index.end[node]):
            d = apart(metric, q, index.at + m * slot)
            if open(near, d, index.row[slot]):
                push(near, d, index.row[slot])
        return
    one = index.child[node]
    two = one + 1
    d = least(metric, q, index.box + 2 * m * one)
    e = least(metric, q, index.box + 2 * m * two)
    if e < d or (e == d and index.first[two] < index.first[one]):
        one, two = two, one
        d, e = e, d
    if open(near, d, index.first[one]):
        nearest(index, metric, one, q, near)
    if open(near, e, index.first[two]):
        nearest(index, metric, two, q, near)


# ---- where the middle is: the sum of numbers, or how far each code is from all rows

cdef inline void add(double* sum, double* error, double x) noexcept nogil:
    # `sum` is the nearest float to sum + error, also after x is added (Knuth's two-sum).
    cdef double s = sum[0] + x, b = s - sum[0], t
    error[0] += (sum[0] - (s - b)) + (x - b)
    t = s + error[0]
    error[0] -= t - s
    sum[0] = t


cdef void total_of_line(const Extent* extent, const int64_t* count, double* total) noexcept nogil:
    # OUT, by code: the sum of the widths of the pairs with each row that is left.
    cdef int64_t code, n = extent.n_values, below = 0, above = 0
    cdef double left = 0.0, right = 0.0
    for code in range(n):
        above += count[code]
        right += count[code] * extent.positions[code]
    total[n] = extent.weight * above
    for code in range(n):
        below += count[code]
        above -= count[code]
        left += count[code] * extent.positions[code]
        right -= count[code] * extent.positions[code]
        total[code] = (below * extent.positions[code] - left) + (right - above * extent.positions[code])
        total[code] = extent.weight * (total[code] / extent.whole) + extent.weight * count[n]


cdef void total_of_tree(const Extent* extent, const int64_t* count, int64_t* before, double* total) noexcept nogil:
    # `before` (n_values + 1) is scratch: rows before each code.
    cdef int64_t code, n = extent.n_values, rows, more
    cdef int32_t node
    before[0] = 0
    for code in range(n):
        before[code + 1] = before[code] + count[code]
    total[n] = extent.weight * before[n]
    for code in range(n):
        node = extent.leaf[code]
        rows = count[code]
        total[code] = 0.0
        while node > 0:
            node = extent.parent[node]
            more = before[extent.last[node] + 1] - before[extent.first[node]]
            total[code] += extent.node_width[node] * (more - rows)
            rows = more
        total[code] = extent.weight * total[code] + extent.weight * count[n]


cdef void total_of_set(const Extent* extent, const int64_t* count, int64_t n_left, double* total) noexcept nogil:
    cdef int64_t code
    for code in range(extent.n_values + 1):
        total[code] = extent.weight * (n_left - count[code])


# What the middle is made of: for numbers sums and their errors; for codes rows by code, and the sum of the widths
# of their pairs with all rows, both with n_values + 1 entries per attribute from start[a] on.
cdef struct Middle:
    double* sum
    double* error
    int64_t* start
    int64_t* count
    int64_t* before
    double* total


cdef void leave(Middle* middle, const Metric* metric, const double* x) noexcept nogil:
    cdef int64_t a
    for a in range(metric.m):
        if metric.extents != NULL:
            middle.count[middle.start[a] + <int64_t>x[a]] -= 1
        else:
            add(&middle.sum[a], &middle.error[a], -x[a])


cdef uint32_t medoid(Middle* middle, const Index* index, const Metric* metric) noexcept nogil:
    # The row with the least sum of distances from all that are left; ties: the lowest.
    cdef int64_t a, slot, start, m = index.m
    cdef int32_t node
    cdef double d, best = INFINITY
    cdef uint32_t row = NONE
    cdef const Extent* extent
    for a in range(m):
        extent = &metric.extents[a]
        start = middle.start[a]
        if extent.kind == ORDERED:
            total_of_line(extent, middle.count + start, middle.total + start)
        elif extent.kind == TREE:
            total_of_tree(extent, middle.count + start, middle.before, middle.total + start)
        else:
            total_of_set(extent, middle.count + start, index.n_left, middle.total + start)
    for node in range(index.n_nodes):
        if index.child[node] != 0:
            continue
        for slot in range(index.begin[node], index.end[node]):
            d = 0.0
            for a in range(m):
                d += middle.total[middle.start[a] + <int64_t>index.at[m * slot + a]]
            if d < best or (d == best and index.row[slot] < row):
                best = d
                row = index.row[slot]
    return row


# ---- the row furthest from the mean

# Every row by how far it was from the mean when it was looked at, a heap with the furthest on top. The mean moves
# little: no row is further from it now than key + moved, where its key is its distance then, less `moved` then.
cdef struct Outside:
    double* key
    uint32_t* row
    int64_t n
    double moved          # the length of the way of the mean so far, and what rounding may have hidden
    double slack          # what rounding may hide of one distance
    double* mean
    double* looked_key    # the rows looked at in one search
    uint32_t* looked_row


cdef void sink(Outside* outside, int64_t i, double key, uint32_t row) noexcept nogil:
    # The entry in place i or below, where it belongs.
    cdef int64_t other
    while 2 * i + 1 < outside.n:
        other = 2 * i + 1
        if other + 1 < outside.n and outside.key[other + 1] > outside.key[other]:
            other += 1
        if outside.key[other] <= key:
            break
        outside.key[i] = outside.key[other]
        outside.row[i] = outside.row[other]
        i = other
    outside.key[i] = key
    outside.row[i] = row


cdef void rise(Outside* outside, double key, uint32_t row) noexcept nogil:
    cdef int64_t i = outside.n, other
    outside.n += 1
    while i > 0:
        other = (i - 1) // 2
        if outside.key[other] >= key:
            break
        outside.key[i] = outside.key[other]
        outside.row[i] = outside.row[other]
        i = other
    outside.key[i] = key
    outside.row[i] = row


cdef void move(Outside* outside, const Metric* metric, const double* sum, double n_left) noexcept nogil:
    cdef double way = 0.0, t, mean
    cdef int64_t a
    for a in range(metric.m):
        mean = sum[a] / n_left
        t = mean - outside.mean[a]
        way += metric.weight[a] * (t * t)
        outside.mean[a] = mean
    outside.moved += sqrt(way) * (1.0 + 1e-12) + outside.slack


cdef void lay_out(Outside* outside, const Metric* metric, const double* sum, const double* points, int64_t n) noexcept nogil:
    # All rows, and how far they are from the mean at the start; `slack` and `mean` are zero before.
    cdef int64_t i, a
    cdef double x
    for a in range(metric.m):
        x = 0.0
        for i in range(n):
            x = max(x, fabs(points[metric.m * i + a]))
        outside.slack += 32 * 2.0**-53 * sqrt(metric.weight[a]) * x
        outside.mean[a] = sum[a] / n
    outside.n = n
    for i in range(n):
        outside.key[i] = sqrt(apart(metric, sum, points + metric.m * i)) / n
        outside.row[i] = <uint32_t>i
    for i in range(n // 2, -1, -1):
        sink(outside, i, outside.key[i], outside.row[i])


cdef uint32_t outermost(Outside* outside, const Index* index, const Metric* metric, const double* sum,
                        const double* points) noexcept nogil:
    # The row furthest from the mean; ties: the lowest. `metric.scale` is the number of rows.
    cdef int64_t n_looked = 0, i
    cdef double best = -1.0, d, bound
    cdef uint32_t row, found = NONE
    cdef bint whole_heap = True
    while outside.n:
        row = outside.row[0]
        bound = (outside.key[0] + outside.moved) * (1.0 + 1e-12) + outside.slack
        if bound * metric.scale < sqrt(best) if best > 0.0 else False:
            break
        if index.slot[row] >= 0:
            if n_looked == MOST_LOOKS:
                whole_heap = False
                break
            d = apart(metric, sum, points + metric.m * row)
            if d > best or (d == best and row < found):
                best = d
                found = row
            outside.looked_key[n_looked] = sqrt(d) / metric.scale - outside.moved
            outside.looked_row[n_looked] = row
            n_looked += 1
        outside.n -= 1
        sink(outside, 0, outside.key[outside.n], outside.row[outside.n])
    for i in range(n_looked):
        rise(outside, outside.looked_key[i], outside.looked_row[i])
    if not whole_heap:
        far(index, metric, 0, sum, &best, &found)
    return found


# ---- groups

cdef int64_t take_group(Index* index, Metric* metric, Middle* middle, Near* near, const double* points,
                        uint32_t row, uint32_t* rows) noexcept nogil:
    # The k rows nearest to `row` leave the tree. OUT their numbers.
    cdef int64_t i
    near.n = 0
    nearest(index, metric, 0, points + index.m * row, near)
    for i in range(near.n):
        rows[i] = near.row[i]
        leave(middle, metric, points + index.m * near.row[i])
        remove(index, near.row[i])
    return near.n


cdef int64_t group_some(Index* index, Metric* metric, Middle* middle, Outside* outside, Near* near,
                        const double* points, int64_t most_rows, uint32_t* rows) noexcept nogil:
    # Groups of k rows, one behind the other, until `most_rows` are grouped or fewer than 2k are left.
    cdef int64_t n = 0, k = near.k
    cdef uint32_t r, s
    cdef double best
    while index.n_left >= 2 * k and n < most_rows:
        if index.n_left * 2 < index.n_built:
            rebuild(index, metric)
        r = s = NONE
        best = -1.0
        if metric.extents != NULL:
            s = medoid(middle, index, metric)
            far(index, metric, 0, points + index.m * s, &best, &r)
        else:
            metric.scale = <double>index.n_left  # n times the distance from the mean: exact for whole numbers
            move(outside, metric, middle.sum, metric.scale)
            r = outermost(outside, index, metric, middle.sum, points)
            metric.scale = 1.0
        if index.n_left < 3 * k:
            n += take_group(index, metric, middle, near, points, r, rows + n)
            break
        best, s = -1.0, NONE
        far(index, metric, 0, points + index.m * r, &best, &s)
        n += take_group(index, metric, middle, near, points, r, rows + n)
        n += take_group(index, metric, middle, near, points, s, rows + n)
    return n


cdef tuple _groups(const double[:, ::1] points, Metric* metric, Middle* middle, int64_t k, list keep, progress):
    cdef int64_t n = points.shape[0], m = points.shape[1], i, a, done = 0, n_groups, part
    cdef int64_t n_nodes = n // (LEAF // 4) + 3
    cdef Index index
    cdef Near near
    cdef Outside outside
    index.m = m
    index.n_left = n
    index.at = <double*>take(keep, n * m, sizeof(double))
    index.row = <uint32_t*>take(keep, n, sizeof(uint32_t))
    index.slot = <int32_t*>take(keep, n, sizeof(int32_t))
    index.leaf = <int32_t*>take(keep, n, sizeof(int32_t))
    index.child = <int32_t*>take(keep, n_nodes, sizeof(int32_t))
    index.parent = <int32_t*>take(keep, n_nodes, sizeof(int32_t))
    index.begin = <int32_t*>take(keep, n_nodes, sizeof(int32_t))
    index.end = <int32_t*>take(keep, n_nodes, sizeof(int32_t))
    index.box = <double*>take(keep, n_nodes * 2 * m, sizeof(double))
    index.first = <uint32_t*>take(keep, n_nodes, sizeof(uint32_t))
    near.k = k
    near.distance = <double*>take(keep, k, sizeof(double))
    near.row = <uint32_t*>take(keep, k, sizeof(uint32_t))
    for i in range(n):
        index.row[i] = <uint32_t>i
        for a in range(m):
            index.at[m * i + a] = points[i, a]
    if metric.extents == NULL:
        outside.key = <double*>take(keep, n, sizeof(double))
        outside.row = <uint32_t*>take(keep, n, sizeof(uint32_t))
        outside.mean = <double*>take(keep, m, sizeof(double))
        outside.looked_key = <double*>take(keep, MOST_LOOKS, sizeof(double))
        outside.looked_row = <uint32_t*>take(keep, MOST_LOOKS, sizeof(uint32_t))
        outside.moved = outside.slack = 0.0
        metric.scale = <double>n
        lay_out(&outside, metric, middle.sum, &points[0, 0], n)
        metric.scale = 1.0
    rows = np.empty(n, np.uint32)
    cdef uint32_t[::1] view = rows
    with nogil:
        build(&index, metric)
    while True:
        with nogil:
            part = group_some(&index, metric, middle, &outside, &near, &points[0, 0], CHUNK, &view[done])
        done += part
        PyErr_CheckSignals()
        if progress is not None:
            progress(done, n)
        if part == 0 or index.n_left < 2 * k:
            break
    n_groups = done // k
    left = np.ones(n, np.bool_)
    left[rows[:done]] = False
    rows[done:] = np.flatnonzero(left)
    offsets = np.arange(n_groups + (done < n) + 1, dtype=np.int64) * k
    offsets[len(offsets) - 1] = n
    return rows, offsets


def mdav(points, weights, k, *, progress=None):
    """MDAV of rows of numbers: (rows, offsets), groups in the order of their making.

    `points` (float64, n x m, up to 1e140) are the numbers, `weights` (m, above 0) what a squared difference
    is multiplied by: one over the variance. Group g holds `rows[offsets[g]:offsets[g + 1]]`
    (uint32, int64): k rows, the last one up to 2k - 1. While 3k rows are left, the one furthest from their
    mean, and the one furthest from that, each make a group with their k - 1 nearest; of 2k to 3k - 1 the
    furthest from the mean makes one, and the rest is one. Ties go to the lowest row. `progress(rows, n)`.
    """
    points = array_of(points, np.float64, 2, "points").copy()  # `progress` may change what it was given
    cdef int64_t n = whole(points.shape[0], 1, 2**31 - 1, "the number of points")
    cdef int64_t m = whole(points.shape[1], 1, 2**16, "the number of coordinates"), a, i
    weights = array_of(weights, np.float64, 1, "weights").copy()
    k = whole(k, 1, n, "k")
    if not (np.abs(points) <= GREATEST).all():
        raise ValueError("points must be finite and at most 1e140")
    if len(weights) != m or not ((weights > 0) & (weights <= 1e100 / np.maximum(np.square(points).max(0), 1))).all():
        raise ValueError("weights must be above 0, one per coordinate, and make no weighted square exceed 1e100")
    cdef list keep = [points, weights]
    cdef const double[:, ::1] view = points
    cdef const double[::1] weight = weights
    cdef Metric metric
    cdef Middle middle
    metric.m, metric.extents, metric.weight, metric.scale = m, NULL, &weight[0], 1.0
    middle.sum = <double*>take(keep, m, sizeof(double))
    middle.error = <double*>take(keep, m, sizeof(double))
    for i in range(n):
        for a in range(m):
            add(&middle.sum[a], &middle.error[a], view[i, a])
    return _groups(view, &metric, &middle, k, keep, progress)


def gower(codes, attributes, k, *, progress=None):
    """MDAV of rows of codes under Gower's distance, with the medoid in place of the mean: (rows, offsets).

    `codes` (n x m) are those of the attributes, whose `loss` is "byun": two codes are as far apart as they are
    wide (Gower 1971: share of the range, level of the common ancestor over the height, or 0 and 1; a null and
    a value 1). The medoid is the row of least sum of distances from all that are left. Otherwise as `mdav`. Each
    step looks at every row that is left once, for the medoid: n**2 / 2k looks in all.
    """
    given(codes=codes, attributes=attributes)
    codes = codes_of(codes, 2, "codes")
    attributes = all_of(attributes, Attribute, "attributes")
    cdef int64_t n = whole(codes.shape[0], 1, 2**31 - 1, "the number of rows")
    cdef int64_t m = whole(codes.shape[1], 1, 2**16, "the number of attributes"), a, i, total = 0, widest = 0
    k = whole(k, 1, n, "k")
    cdef list keep = []
    cdef Metric metric = metric_of(codes, attributes, keep)
    cdef Middle middle
    middle.start = <int64_t*>take(keep, m, sizeof(int64_t))
    for a in range(m):
        middle.start[a] = total
        total += metric.extents[a].n_values + 1
        widest = max(widest, metric.extents[a].n_values + 1)
    middle.count = <int64_t*>take(keep, total, sizeof(int64_t))
    middle.total = <double*>take(keep, total, sizeof(double))
    middle.before = <int64_t*>take(keep, widest, sizeof(int64_t))
    points = np.ascontiguousarray(codes, np.float64)
    keep.append(points)
    cdef const double[:, ::1] view = points
    for i in range(n):
        for a in range(m):
            middle.count[middle.start[a] + <int64_t>view[i, a]] += 1
    return _groups(view, &metric, &middle, k, keep, progress)


# ---- one attribute

cdef void _shortest(const double* x, int64_t n, int64_t k, double* cost, double* error, int64_t* size) noexcept nogil:
    # OUT, by first row: the least cost of grouping the rows from it on, and the size of its group.
    cdef int64_t i, j, most_rows
    cdef double s, q, y, own, rest, total, low, part, more, best, best_error
    cost[n] = error[n] = 0.0
    for i in range(n - 1, -1, -1):
        best, best_error = INFINITY, 0.0
        s = q = 0.0
        most_rows = 2 * k - 1 if n >= 2 * k else n
        for j in range(1, min(most_rows, n - i) + 1):
            y = x[i + j - 1] - x[i]
            s += y
            q += y * y
            if (j < k and n >= k) or cost[i + j] == INFINITY:
                continue
            own = j * q - s * s  # the squared error, times the size; exact for whole numbers
            own = own if own > 0.0 else 0.0
            part = own / j
            rest = cost[i + j]
            total = part + rest
            y = total - part
            # what rounding took from the quotient and the sum
            low = error[i + j] + fma(-part, <double>j, own) / j + ((part - (total - y)) + (rest - y))
            more = (total - best) + (low - best_error)
            if best == INFINITY or more <= best * ALIKE:
                size[i] = j
                if best == INFINITY or more < 0.0:
                    best, best_error = total, low
        cost[i], error[i] = best, best_error


def optimal(values, k):
    """Where the groups of least squared error of sorted numbers begin, and the last ends (int64).

    `values` (float64, ascending) are in groups of k to 2k - 1 neighbors, fewer than 2k are one group (Hansen &
    Mukherjee 2003: the shortest path). Ties: the first group as large as can be, then the next.
    """
    values = array_of(values, np.float64, 1, "values")
    cdef int64_t n = whole(len(values), 1, 2**31 - 1, "the number of values"), at = 0
    cdef int64_t least_rows = whole(k, 1, n, "k")
    if not (np.abs(values) <= GREATEST).all() or (np.diff(values) < 0).any():
        raise ValueError("values must be ascending, finite and at most 1e140")
    cdef list keep = []
    cdef const double[::1] x = values
    cdef double* cost = <double*>take(keep, n + 1, sizeof(double))
    cdef double* error = <double*>take(keep, n + 1, sizeof(double))
    cdef int64_t* size = <int64_t*>take(keep, n, sizeof(int64_t))
    with nogil:
        _shortest(&x[0], n, least_rows, cost, error, size)
    offsets = [0]
    while at < n:
        at += size[at]
        offsets.append(at)
    return np.array(offsets, np.int64)
