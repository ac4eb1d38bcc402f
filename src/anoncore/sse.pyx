# SPDX-License-Identifier: Apache-2.0
# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Groups of near rows: the best cuts of a line of rows, and pools of near groups.

The error of a group of n rows is T / n, T the sum of the distances of its pairs: of rows of numbers their squared
ones, so that it is the squared error; of rows of codes Gower's, so that it is half the distance of a row from one of
its group, itself among them, in the mean and times n. A pool is a few groups near each other: with the distances of
its pairs stored, and for each row their sum over each group, a move or a swap of rows costs O(1) to judge and
O(rows) to make.
"""

import numpy as np

from libc.math cimport INFINITY
from libc.string cimport memmove, memset

from anoncore.attribute cimport Attribute, Extent
from anoncore.curve cimport sensitive_of
from anoncore.doors import all_of, array_of, codes_of, given, one_of, parts_of, whole
from anoncore.hash cimport mixed
from anoncore.memory cimport take
from anoncore.metric cimport Metric, apart, metric_of, pair
from anoncore.requirement cimport Conjunction, Rules, passes
from anoncore.types cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

cdef double LEAST_GAIN = 1e-9  # of the pool's error: what a step must gain at least
GREATEST = 1e100  # of a coordinate: no square overflows


# Rows 0..n - 1 of the pool: `row` their numbers, `apart[i * most + j]` their distances, `label` their groups. Group
# g < n_groups has `size[g]` rows, `total[g]` the distances of its pairs, `sum[g * most + i]` those of row i from its
# rows, `share[g]` = 1 / size. `kept` is the best labels so far. Where there are rules, row i has value
# `value[a][kind[a * most + i]]` of sensitive attribute a, and `count[(g * n_sensitive + a) * most + v]` rows of group g
# have value v; group `spare` is none.
cdef struct Pool:
    int64_t n
    int64_t most
    int64_t k
    int64_t n_groups
    uint32_t* row
    double* apart
    int32_t* label
    int32_t* kept
    int64_t* size
    double* total
    double* share
    double* sum
    double* own         # of row i from its own group
    double* far
    int32_t* order
    double* place
    double* cost
    int64_t* step
    double least
    int64_t cap         # rows of a group, at most
    int64_t spare
    const Rules* rules  # NULL: only sizes matter
    int64_t n_sensitive
    const int32_t* sensitive  # by row, a column per attribute
    int64_t** value     # ascending, n_value[a] of them
    int64_t* n_value
    int32_t* kind
    int64_t* count
    int64_t** tested    # what `passes` reads of a group
    int64_t** tested_count
    int64_t* n_tested


# ---- requirements

cdef void tell_apart(Pool* pool) noexcept nogil:
    # The sensitive values of the pool's rows.
    cdef int64_t a, i, v, n, code
    cdef int64_t* value
    for a in range(pool.n_sensitive):
        value, n = pool.value[a], 0
        for i in range(pool.n):
            code = pool.sensitive[<int64_t>pool.row[i] * pool.n_sensitive + a]
            v = n
            while v > 0 and value[v - 1] > code:
                v -= 1
            if v > 0 and value[v - 1] == code:
                continue
            memmove(value + v + 1, value + v, (n - v) * sizeof(int64_t))
            value[v] = code
            n += 1
        pool.n_value[a] = n
        for i in range(pool.n):
            code, v = pool.sensitive[<int64_t>pool.row[i] * pool.n_sensitive + a], 0
            while value[v] < code:
                v += 1
            pool.kind[a * pool.most + i] = <int32_t>v


cdef inline void tally(Pool* pool, int64_t g, int64_t i, int64_t by) noexcept nogil:
    # Row i joins a group, or leaves it.
    cdef int64_t a
    for a in range(pool.n_sensitive):
        pool.count[(g * pool.n_sensitive + a) * pool.most + pool.kind[a * pool.most + i]] += by


cdef inline void clear(Pool* pool, int64_t g) noexcept nogil:
    cdef int64_t a
    for a in range(pool.n_sensitive):
        memset(pool.count + (g * pool.n_sensitive + a) * pool.most, 0, pool.n_value[a] * sizeof(int64_t))


cdef inline bint alike(const Pool* pool, int64_t i, int64_t j) noexcept nogil:
    # Have the two rows the same sensitive values?
    cdef int64_t a
    for a in range(pool.n_sensitive):
        if pool.kind[a * pool.most + i] != pool.kind[a * pool.most + j]:
            return False
    return True


cdef bint fair(Pool* pool, int64_t g, int64_t size, int64_t out, int64_t into) noexcept nogil:
    # Does group g pass, of `size` rows without row `out` and with row `into` (-1: none)?
    cdef int64_t a, v, n, c
    cdef const int64_t* count
    cdef const int32_t* kind
    if pool.rules == NULL:
        return True
    for a in range(pool.n_sensitive):
        count = pool.count + (g * pool.n_sensitive + a) * pool.most
        kind = pool.kind + a * pool.most
        n = 0
        for v in range(pool.n_value[a]):
            c = count[v] - (out >= 0 and kind[out] == v) + (into >= 0 and kind[into] == v)
            if c > 0:
                pool.tested[a][n] = pool.value[a][v]
                pool.tested_count[a][n] = c
                n += 1
        pool.n_tested[a] = n
    return passes(pool.rules, size, <const int64_t* const*>pool.tested, <const int64_t* const*>pool.tested_count,
                  pool.n_tested)


# ---- a pool

cdef double measure(Pool* pool) noexcept nogil:
    # Sums and sizes of the labels. OUT their error.
    cdef int64_t i, j, g, most = pool.most
    cdef double* sum
    cdef const double* apart
    for g in range(pool.n_groups):
        pool.size[g] = 0
        pool.total[g] = 0.0
        clear(pool, g)
        sum = pool.sum + g * most
        for i in range(pool.n):
            sum[i] = 0.0
    for j in range(pool.n):
        g = pool.label[j]
        pool.size[g] += 1
        tally(pool, g, j, 1)
        sum = pool.sum + g * most
        apart = pool.apart + j * most
        for i in range(pool.n):
            sum[i] += apart[i]
    for i in range(pool.n):
        pool.own[i] = pool.sum[pool.label[i] * most + i]
        pool.total[pool.label[i]] += pool.own[i]
    for g in range(pool.n_groups):
        pool.total[g] *= 0.5
        pool.share[g] = 1.0 / pool.size[g]
    return error_of(pool)


cdef double error_of(const Pool* pool) noexcept nogil:
    cdef double error = 0.0
    cdef int64_t g
    for g in range(pool.n_groups):
        error += pool.total[g] / pool.size[g]
    return error


cdef void change(Pool* pool, int64_t i, int64_t b) noexcept nogil:
    # Row i goes to group b.
    cdef int64_t a = pool.label[i], j, most = pool.most
    cdef const double* apart = pool.apart + i * most
    cdef double* less = pool.sum + a * most
    cdef double* more = pool.sum + b * most
    pool.total[a] -= less[i]
    pool.total[b] += more[i]
    for j in range(pool.n):
        less[j] -= apart[j]
        more[j] += apart[j]
    pool.size[a] -= 1
    pool.size[b] += 1
    tally(pool, a, i, -1)
    tally(pool, b, i, 1)
    pool.label[i] = <int32_t>b


cdef void settle(Pool* pool, int64_t a, int64_t b) noexcept nogil:
    # After changes between a and b.
    cdef int64_t j
    pool.share[a] = 1.0 / pool.size[a]
    pool.share[b] = 1.0 / pool.size[b]
    for j in range(pool.n):
        if pool.label[j] == a or pool.label[j] == b:
            pool.own[j] = pool.sum[pool.label[j] * pool.most + j]


cdef double descend(Pool* pool) noexcept nogil:
    # Of every row in turn the best move or swap after which both groups pass, until none gains. OUT the error. The
    # sums, which rounding blurs, are taken anew after n steps; where these have gained nothing, it ends.
    cdef int64_t i, j, a, b, most = pool.most, other, goal, since = 0, n = pool.n, n_steps = 0
    cdef double best, delta, own, share, error, before = INFINITY
    cdef const double* apart
    cdef const double* of_a
    measure(pool)
    i = 0
    while since < n:
        a = pool.label[i]
        best, other, goal = -pool.least, -1, -1
        own = pool.own[i]
        if pool.size[a] > pool.k:
            share = (pool.total[a] - own) / (pool.size[a] - 1) - pool.total[a] * pool.share[a]
            for b in range(pool.n_groups):
                if b != a and pool.size[b] < pool.cap:
                    delta = share + (
                        (pool.total[b] + pool.sum[b * most + i]) / (pool.size[b] + 1) - pool.total[b] * pool.share[b]
                    )
                    if delta < best and fair(pool, a, pool.size[a] - 1, i, -1) and fair(
                            pool, b, pool.size[b] + 1, -1, i):
                        best, goal, other = delta, b, -1
        apart, of_a, share = pool.apart + i * most, pool.sum + a * most, pool.share[a]
        for b in range(pool.n_groups):
            pool.far[b] = pool.sum[b * most + i]
        for j in range(n):
            b = pool.label[j]
            delta = (of_a[j] - own - apart[j]) * share + (pool.far[b] - pool.own[j] - apart[j]) * pool.share[b]
            if delta < best and b != a and (alike(pool, i, j) or (
                    fair(pool, a, pool.size[a], i, j) and fair(pool, b, pool.size[b], j, i))):
                best, goal, other = delta, b, j
        if goal >= 0:
            change(pool, i, goal)
            if other >= 0:
                change(pool, other, a)
            settle(pool, a, goal)
            since = 0
            n_steps += 1
            if n_steps == n:
                n_steps = 0
                error = measure(pool)
                if error > before - pool.least:
                    break
                before = error
        else:
            since += 1
        i = i + 1 if i + 1 < n else 0
    return measure(pool)


cdef int64_t furthest(const Pool* pool, const double* far) noexcept nogil:
    # The first row without a label of greatest `far`.
    cdef int64_t i, found = -1
    for i in range(pool.n):
        if pool.label[i] < 0 and (found < 0 or far[i] > far[found]):
            found = i
    return found


cdef bint deal(Pool* pool) noexcept nogil:
    # Groups around the row furthest from the mean of those that are left, each with its k nearest, and more of them
    # until it passes; fewer than k that are left join it. OUT whether all groups pass.
    cdef int64_t i, j, g = 0, left = pool.n, r, found, most = pool.most, taken, goal
    cdef const double* apart
    cdef bint passing = True
    for i in range(pool.n):
        pool.label[i] = -1
        pool.far[i] = 0.0
        apart = pool.apart + i * most
        for j in range(pool.n):
            pool.far[i] += apart[j]
    while left:
        r = furthest(pool, pool.far)
        apart = pool.apart + r * most
        goal = left if left < 2 * pool.k else pool.k
        taken = 0
        clear(pool, g)
        while left and (taken < goal or left < pool.k or not fair(pool, g, taken, -1, -1)):
            found = r if taken == 0 else -1
            if taken:
                for i in range(pool.n):
                    if pool.label[i] < 0 and (found < 0 or apart[i] < apart[found]):
                        found = i
            pool.label[found] = <int32_t>g
            tally(pool, g, found, 1)
            taken += 1
            left -= 1
            for i in range(pool.n):
                pool.far[i] -= pool.apart[found * most + i]
        passing = passing and taken <= pool.cap and fair(pool, g, taken, -1, -1)
        g += 1
    pool.n_groups = g
    return passing


cdef bint line_up(Pool* pool) noexcept nogil:
    # The best cuts of the rows along the line between two that are far apart. OUT whether there are any that pass.
    cdef int64_t i, j, h, r = 0, s = 0, n = pool.n, most = pool.most, k = pool.k, at
    cdef int32_t row
    cdef double total, x
    for i in range(n):
        pool.far[i] = 0.0
        for j in range(n):
            pool.far[i] += pool.apart[i * most + j]
        if pool.far[i] > pool.far[r]:
            r = i
    for i in range(n):
        if pool.apart[r * most + i] > pool.apart[r * most + s]:
            s = i
    for i in range(n):  # insertion: pools are small
        x = pool.apart[r * most + i] - pool.apart[s * most + i]
        j = i
        while j > 0 and pool.place[j - 1] > x:
            pool.place[j] = pool.place[j - 1]
            pool.order[j] = pool.order[j - 1]
            j -= 1
        pool.place[j] = x
        pool.order[j] = <int32_t>i
    pool.cost[n] = 0.0
    for i in range(n - 1, -1, -1):
        pool.cost[i] = INFINITY
        total = 0.0
        clear(pool, pool.spare)
        for j in range(1, min(pool.cap, n - i) + 1):
            row = pool.order[i + j - 1]
            tally(pool, pool.spare, row, 1)
            for h in range(i, i + j - 1):
                total += pool.apart[row * most + pool.order[h]]
            if j >= k:
                x = total / j + pool.cost[i + j]
                if x < pool.cost[i] and fair(pool, pool.spare, j, -1, -1):
                    pool.cost[i] = x
                    pool.step[i] = j
    if pool.cost[0] == INFINITY:
        return False
    pool.n_groups = at = 0
    while at < n:
        for i in range(at, at + pool.step[at]):
            pool.label[pool.order[i]] = <int32_t>pool.n_groups
        at += pool.step[at]
        pool.n_groups += 1
    return True


cdef bint dissolve(Pool* pool, int64_t gone) noexcept nogil:
    # The rows of a group go, one by one, where the error grows least and the group passes, as far as there is room.
    cdef int64_t i, b, to, last = pool.n_groups - 1
    cdef double best, delta
    if last < 1 or pool.n > last * pool.cap:
        return False
    measure(pool)
    for i in range(pool.n):
        if pool.label[i] != gone:
            continue
        best, to = INFINITY, -1
        for b in range(pool.n_groups):
            if b != gone and pool.size[b] < pool.cap:
                delta = (pool.total[b] + pool.sum[b * pool.most + i]) / (pool.size[b] + 1) - pool.total[b] / pool.size[b]
                if (delta < best or to < 0) and fair(pool, b, pool.size[b] + 1, -1, i):
                    best, to = delta, b
        if to < 0:
            return False
        change(pool, i, to)
    for i in range(pool.n):
        if pool.label[i] == last:
            pool.label[i] = <int32_t>gone
    pool.n_groups = last
    return True


cdef int64_t keep_best(Pool* pool, double* best, double error, int64_t n_kept) noexcept nogil:
    # Keeps the labels where their error is less. OUT the number of groups that are kept.
    cdef int64_t i
    if error < best[0] - pool.least:
        best[0] = error
        n_kept = pool.n_groups
        for i in range(pool.n):
            pool.kept[i] = pool.label[i]
    return n_kept


cdef bint again(Pool* pool) noexcept nogil:
    # Whether the pool's rows are grouped better, as `kept` then says.
    cdef int64_t i, n_kept, n_before = pool.n_groups
    cdef double before = measure(pool), best
    pool.least = LEAST_GAIN * before
    best = before
    if before <= 0.0:
        return False
    n_kept = keep_best(pool, &best, descend(pool), n_before)
    if deal(pool):
        n_kept = keep_best(pool, &best, descend(pool), n_kept)
    if line_up(pool):
        n_kept = keep_best(pool, &best, descend(pool), n_kept)
    if best < before:
        for i in range(pool.n):
            pool.label[i] = pool.kept[i]
        pool.n_groups = n_kept
        if dissolve(pool, 0):
            n_kept = keep_best(pool, &best, descend(pool), n_kept)
    pool.n_groups = n_kept
    return best < before


# ---- groups

# Group g < n has `size[g]` rows at `row[g * most]`, its center at `center[a * n + g]`, `name[g]` says which rows, by
# their numbers `id`. Size 0: there is none. The center is the mean, of codes the medoid.
cdef struct Groups:
    const Metric* metric
    const uint32_t* id
    int64_t n
    int64_t m
    int64_t most
    uint32_t* row
    int64_t* size
    double* center
    uint64_t* name
    double* distance
    double* width       # by code, from one


cdef int64_t medoid(const Metric* metric, const double* points, const uint32_t* rows, int64_t n) noexcept nogil:
    # The row of the least sum of distances from the others; ties: the first.
    cdef int64_t i, j, best = 0
    cdef double total, least = INFINITY
    for i in range(n):
        total = 0.0
        for j in range(n):
            total += apart(metric, points + <int64_t>rows[i] * metric.m, points + <int64_t>rows[j] * metric.m)
        if total < least:
            best, least = i, total
    return rows[best]


cdef void place(Groups* groups, int64_t g, const double* points) noexcept nogil:
    cdef int64_t i, a, middle = -1
    cdef double sum
    groups.name[g] = 0
    for i in range(groups.size[g]):
        groups.name[g] += mixed(groups.id[groups.row[g * groups.most + i]])
    groups.name[g] = mixed(groups.name[g])
    if groups.metric.extents != NULL:
        if groups.size[g]:
            middle = medoid(groups.metric, points, groups.row + g * groups.most, groups.size[g])
        for a in range(groups.m):
            groups.center[a * groups.n + g] = points[middle * groups.m + a] if middle >= 0 else 0.0
        return
    for a in range(groups.m):
        sum = 0.0
        for i in range(groups.size[g]):
            sum += points[<int64_t>groups.row[g * groups.most + i] * groups.m + a]
        groups.center[a * groups.n + g] = sum / groups.size[g] if groups.size[g] else INFINITY


cdef int64_t nearest(Groups* groups, int64_t g, int64_t q, int64_t* near) noexcept nogil:
    # The group itself, and the q nearest ones. OUT their number.
    cdef int64_t a, h, i, n = 1
    cdef double x, t
    cdef double* distance = groups.distance
    cdef const double* center
    cdef const Extent* extent
    for h in range(groups.n):
        distance[h] = 0.0
    for a in range(groups.m):
        center = groups.center + a * groups.n
        x = center[g]
        if groups.metric.extents != NULL:
            extent = &groups.metric.extents[a]
            if extent.n_values < groups.n:
                for h in range(extent.n_values + 1):
                    groups.width[h] = pair(extent, x, <double>h)
                for h in range(groups.n):
                    distance[h] += groups.width[<int64_t>center[h]]
            else:
                for h in range(groups.n):
                    distance[h] += pair(extent, x, center[h])
            continue
        for h in range(groups.n):
            t = center[h] - x
            distance[h] += t * t
    near[0] = g
    t = INFINITY
    for h in range(groups.n):
        if distance[h] < t and groups.size[h] and h != g:
            i = n if n <= q else q
            while i > 1 and distance[near[i - 1]] > distance[h]:
                near[i] = near[i - 1]
                i -= 1
            near[i] = h
            n = n + 1 if n <= q else n
            if n > q:
                t = distance[near[q]]
    return n


cdef void improve(Groups* groups, Pool* pool, const double* points, int64_t q, int64_t* near, uint64_t* tried,
                  const uint8_t* seed) noexcept nogil:
    # Each group in turn with its nearest, unless their pool was tried.
    cdef int64_t g, h, i, j, n_near, slot, fresh, m = groups.m
    cdef uint64_t name
    cdef const double* one
    for g in range(groups.n):
        if groups.size[g] == 0 or not seed[g]:
            continue
        n_near = nearest(groups, g, q, near)
        name = 0
        for h in range(n_near):
            name += groups.name[near[h]]
        if n_near == 1 or name == tried[g]:
            continue
        pool.n, pool.n_groups = 0, n_near
        for h in range(n_near):
            for i in range(groups.size[near[h]]):
                pool.row[pool.n] = groups.row[near[h] * groups.most + i]
                pool.label[pool.n] = <int32_t>h
                pool.n += 1
        for i in range(pool.n):
            pool.apart[i * pool.most + i] = 0.0
            one = points + <int64_t>pool.row[i] * m
            for j in range(i):
                pool.apart[i * pool.most + j] = pool.apart[j * pool.most + i] = apart(
                    groups.metric, one, points + <int64_t>pool.row[j] * m)
        tried[g] = name
        if pool.rules != NULL:
            tell_apart(pool)
        if not again(pool):
            continue
        fresh = 0
        while n_near < pool.n_groups:
            while groups.size[fresh]:
                fresh += 1
            near[n_near] = fresh
            n_near += 1
            fresh += 1
        for h in range(n_near):
            groups.size[near[h]] = 0
        for i in range(pool.n):
            slot = near[pool.kept[i]]
            groups.row[slot * groups.most + groups.size[slot]] = pool.row[i]
            groups.size[slot] += 1
        for h in range(n_near):
            place(groups, near[h], points)
            tried[near[h]] = 0


cdef within(points):
    if not (np.abs(points) <= GREATEST).all():
        raise ValueError("points must be finite and at most 1e100")


def refine(points, rows, offsets, k, q, tried, seeds, most=None, rules=None, sensitive=None):
    """Groups with less squared error: (rows, offsets, tried).

    Group g holds k to `most` (2k - 1 where there is none) of the points (float64, n x m, up to 1e100):
    `rows[offsets[g]:offsets[g + 1]]`. Every group whose `seeds` (uint8) is not 0 is in turn pooled with the q groups of nearest mean (ties: the first).
    The rows of a pool are improved by moves and swaps; dealt anew, around the row furthest from the mean of those
    that are left, and improved; cut anew, along the line between two that are far apart (the least error), and
    improved; and if one of these lowered the error, the first group is dissolved, and the others improved. The
    least error is taken. `tried` (uint64) names the pool that was last tried with each group, 0 for none: it is
    not tried again. A new group is a seed.

    With `rules`, of whose sensitive attributes `sensitive` (int32, n x s) has the codes of the points, every change
    leaves groups that pass: a group dealt anew takes more of its nearest until it does.
    """
    points = array_of(points, np.float64, 2, "points")
    cdef int64_t m = whole(points.shape[1], 1, 2**16, "the number of coordinates")
    rows, offsets = groups_in(rows, offsets, points.shape[0])
    sensitive = codes_for(rules, sensitive, points.shape[0], rows)
    points = points[rows]
    within(points)
    cdef Metric metric
    ones = np.ones(m)
    cdef const double[::1] weight = ones
    metric.m, metric.extents, metric.weight, metric.scale = m, NULL, &weight[0], 1.0
    return _refined(points, &metric, rows, offsets, k, q, tried, seeds, most, rules, sensitive)


def gower(codes, attributes, rows, offsets, k, q, tried, seeds, most=None, rules=None, sensitive=None):
    """Groups of rows of codes with less error under Gower's distance: (rows, offsets, tried).

    `codes` (n x m) are those of the attributes, as of `mdav.gower`. The mean of a group is its medoid, the row of
    least sum of distances from the others (ties: the first), the row furthest from the mean that of the greatest.
    Otherwise as `refine`.
    """
    given(codes=codes, attributes=attributes)
    codes = codes_of(codes, 2, "codes")
    attributes = all_of(attributes, Attribute, "attributes")
    rows, offsets = groups_in(rows, offsets, codes.shape[0])
    sensitive = codes_for(rules, sensitive, codes.shape[0], rows)
    codes = codes[rows]
    cdef list keep = []
    cdef Metric metric = metric_of(codes, attributes, keep)
    points = np.ascontiguousarray(codes, np.float64)
    return _refined(points, &metric, rows, offsets, k, q, tried, seeds, most, rules, sensitive)


def spread(codes, attributes, rows, offsets):
    """The error of each group of rows of codes under Gower's distance (float64): of n rows T / n, T the sum of the
    distances of its pairs.

    Group g holds the rows `rows[offsets[g]:offsets[g + 1]]` of `codes`, as of `mdav.gower`.
    """
    given(codes=codes, attributes=attributes)
    codes = codes_of(codes, 2, "codes")
    attributes = all_of(attributes, Attribute, "attributes")
    cdef int64_t g, i, j
    rows, offsets = groups_in(rows, offsets, codes.shape[0])
    codes = codes[rows]
    cdef list keep = []
    cdef Metric metric = metric_of(codes, attributes, keep)
    points = np.ascontiguousarray(codes, np.float64)
    cdef const double[:, ::1] view = points
    cdef const int64_t[::1] offset = offsets
    errors = np.zeros(len(offsets) - 1)
    cdef double[::1] error = errors
    with nogil:
        for g in range(error.shape[0]):
            for i in range(offset[g], offset[g + 1]):
                for j in range(offset[g], i):
                    error[g] += apart(&metric, &view[i, 0], &view[j, 0])
            error[g] /= offset[g + 1] - offset[g]
    return errors


cdef tuple groups_in(rows, offsets, n_points):
    n_points = whole(n_points, 1, 2**31 - 1, "the number of points")
    rows = array_of(rows, np.uint32, 1, "rows")
    offsets = parts_of(offsets, whole(len(rows), 1, 2**31 - 1, "the number of rows"), "offsets")
    if rows.max() >= n_points:
        raise ValueError("rows must be numbers of points")
    return rows, offsets


cdef codes_for(rules, sensitive, int64_t n_points, rows):
    # The sensitive codes that the rules read of these rows; None where they read none.
    cdef Conjunction conjunction
    if rules is None:
        return None
    conjunction = one_of(Conjunction, rules, "rules")
    if conjunction.c.by_units or conjunction.c.min_units:
        raise ValueError("rules on units are not for this kernel, which counts rows")
    if conjunction.c.n_sensitive == 0:
        return None
    sensitive_of(conjunction, sensitive, n_points)
    return np.ascontiguousarray(np.asarray(sensitive, np.int32)[rows])


cdef tuple _refined(points, const Metric* metric, rows, offsets, k, q, tried, seeds, largest, rules, sensitive):
    # `points[i]`, and `sensitive[i]`, are those of row `rows[i]`.
    cdef int64_t n = len(rows), m = metric.m, i, g, n_given, at = 0
    cdef int64_t least = whole(k, 1, n, "k"), most = 2 * least - 1, near_most = whole(q, 1, 64, "q")
    if largest is not None:
        most = max(most, min(whole(largest, most, 2**31 - 1, "most"), n))
    tried = array_of(tried, np.uint64, 1, "tried")
    seeds = array_of(seeds, np.uint8, 1, "seeds")
    n_given = len(offsets) - 1
    if np.diff(offsets).min() < least or np.diff(offsets).max() > most:
        raise ValueError("groups must have k to 2k - 1 rows, or to `most`")
    if len(tried) != n_given or len(seeds) != n_given:
        raise ValueError("tried and seeds must be one per group")
    cdef list keep = []
    cdef Pool pool
    cdef Groups groups
    cdef const uint32_t[::1] row = rows
    cdef Conjunction conjunction
    cdef const int32_t[:, ::1] given_codes
    groups.metric = metric
    groups.n, groups.m, groups.most, groups.id = n // least, m, most, &row[0]
    cdef int64_t n_rooms = (near_most + 1) * most, n_labels = n_rooms // least + 1
    groups.row = <uint32_t*>take(keep, groups.n * most, sizeof(uint32_t))
    groups.size = <int64_t*>take(keep, groups.n, sizeof(int64_t))
    groups.center = <double*>take(keep, groups.n * m, sizeof(double))
    groups.name = <uint64_t*>take(keep, groups.n, sizeof(uint64_t))
    groups.distance = <double*>take(keep, groups.n, sizeof(double))
    groups.width = <double*>take(keep, groups.n, sizeof(double))
    pool.most, pool.k = n_rooms, least
    pool.row = <uint32_t*>take(keep, n_rooms, sizeof(uint32_t))
    pool.apart = <double*>take(keep, n_rooms * n_rooms, sizeof(double))
    pool.label = <int32_t*>take(keep, n_rooms, sizeof(int32_t))
    pool.kept = <int32_t*>take(keep, n_rooms, sizeof(int32_t))
    pool.size = <int64_t*>take(keep, n_labels, sizeof(int64_t))
    pool.total = <double*>take(keep, n_labels, sizeof(double))
    pool.share = <double*>take(keep, n_labels, sizeof(double))
    pool.sum = <double*>take(keep, n_labels * n_rooms, sizeof(double))
    pool.own = <double*>take(keep, n_rooms, sizeof(double))
    pool.far = <double*>take(keep, n_rooms, sizeof(double))
    pool.order = <int32_t*>take(keep, n_rooms, sizeof(int32_t))
    pool.place = <double*>take(keep, n_rooms, sizeof(double))
    pool.cost = <double*>take(keep, n_rooms + 1, sizeof(double))
    pool.step = <int64_t*>take(keep, n_rooms, sizeof(int64_t))
    pool.cap, pool.spare, pool.rules, pool.n_sensitive = most, n_labels - 1, NULL, 0
    if sensitive is not None:
        conjunction = rules
        pool.rules, pool.n_sensitive = &conjunction.c, conjunction.c.n_sensitive
        given_codes = sensitive
        pool.sensitive = &given_codes[0, 0]
        pool.value = <int64_t**>take(keep, pool.n_sensitive, sizeof(int64_t*))
        pool.tested = <int64_t**>take(keep, pool.n_sensitive, sizeof(int64_t*))
        pool.tested_count = <int64_t**>take(keep, pool.n_sensitive, sizeof(int64_t*))
        for i in range(pool.n_sensitive):
            pool.value[i] = <int64_t*>take(keep, n_rooms, sizeof(int64_t))
            pool.tested[i] = <int64_t*>take(keep, n_rooms, sizeof(int64_t))
            pool.tested_count[i] = <int64_t*>take(keep, n_rooms, sizeof(int64_t))
        pool.n_value = <int64_t*>take(keep, pool.n_sensitive, sizeof(int64_t))
        pool.n_tested = <int64_t*>take(keep, pool.n_sensitive, sizeof(int64_t))
        pool.kind = <int32_t*>take(keep, pool.n_sensitive * n_rooms, sizeof(int32_t))
        pool.count = <int64_t*>take(keep, n_labels * pool.n_sensitive * n_rooms, sizeof(int64_t))
    cdef int64_t* near = <int64_t*>take(keep, n_labels + near_most, sizeof(int64_t))
    cdef const double[:, ::1] view = points
    cdef const int64_t[::1] offset = offsets
    marks = np.zeros(groups.n, np.uint64)
    marks[:n_given] = tried
    begun = np.ones(groups.n, np.uint8)
    begun[:n_given] = seeds
    cdef uint64_t[::1] mark = marks
    cdef const uint8_t[::1] seed = begun
    with nogil:
        for g in range(groups.n):
            if g < n_given:
                groups.size[g] = offset[g + 1] - offset[g]
                for i in range(groups.size[g]):
                    groups.row[g * most + i] = <uint32_t>(offset[g] + i)
            place(&groups, g, &view[0, 0])
        improve(&groups, &pool, &view[0, 0], near_most, near, &mark[0], &seed[0])
    found = np.empty(n, np.uint32)
    cdef uint32_t[::1] out = found
    sizes = np.empty(groups.n, np.int64)
    for g in range(groups.n):
        sizes[g] = groups.size[g]
        for i in range(groups.size[g]):
            out[at] = row[groups.row[g * most + i]]
            at += 1
    live = sizes > 0
    return found, np.concatenate([[0], np.cumsum(sizes[live])]).astype(np.int64), marks[live]


# ---- one line

cdef void _cuts(const double* x, int64_t n, int64_t m, int64_t k, double* cost, int64_t* step,
                double* sum) noexcept nogil:
    # OUT, by first row: the least error of the rows from it on, and the size of its group.
    cdef int64_t i, j, a
    cdef double q, y, own
    cost[n] = 0.0
    for i in range(n - 1, -1, -1):
        cost[i] = INFINITY
        q = 0.0
        for a in range(m):
            sum[a] = 0.0
        for j in range(1, min(2 * k - 1, n - i) + 1):
            own = 0.0
            for a in range(m):
                y = x[(i + j - 1) * m + a] - x[i * m + a]
                q += y * y
                sum[a] += y
                own += sum[a] * sum[a]
            if j >= k:
                own = max(q - own / j, 0.0) + cost[i + j]
                if own < cost[i]:
                    cost[i] = own
                    step[i] = j


def cut(points, k):
    """Where the groups of least squared error of points in this order begin, and the last ends (int64).

    `points` (float64, n x m, up to 1e100) are in groups of k to 2k - 1 neighbors (Hansen & Mukherjee 2003: the
    shortest path). Ties: the first group as small as can be, then the next.
    """
    points = array_of(points, np.float64, 2, "points")
    cdef int64_t n = whole(points.shape[0], 1, 2**31 - 1, "the number of points"), at = 0
    cdef int64_t m = whole(points.shape[1], 1, 2**16, "the number of coordinates")
    cdef int64_t least = whole(k, 1, n, "k")
    within(points)
    cdef list keep = []
    cdef double* cost = <double*>take(keep, n + 1, sizeof(double))
    cdef int64_t* step = <int64_t*>take(keep, n, sizeof(int64_t))
    cdef double* sum = <double*>take(keep, m, sizeof(double))
    cdef const double[:, ::1] view = points
    with nogil:
        _cuts(&view[0, 0], n, m, least, cost, step, sum)
    offsets = [0]
    while at < n:
        at += step[at]
        offsets.append(at)
    return np.array(offsets, np.int64)
