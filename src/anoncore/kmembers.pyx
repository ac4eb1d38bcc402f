# SPDX-License-Identifier: Apache-2.0
# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Greedy k-member clustering (Byun et al. 2007), exact and not quadratic.

Equal rows are one record. A kd-tree over the records that still have rows bounds from its boxes what
a cluster's width would become; a node is opened only while its bound is not beaten, so that the
answer, ties included, is that of comparing every row. Widths are counted in a unit in which all of them
are whole, so that sums are exact and equal costs tie. Where such numbers would be too large for that (or a
line has positions that are not whole) they are summed attribute by attribute, in the order given, for rows and for
boxes alike: rounding is monotone, so a bound never exceeds what it bounds.
"""

from math import lcm

import numpy as np

from cpython.exc cimport PyErr_CheckSignals
from libc.string cimport memcpy

from anoncore.attribute cimport Attribute, Extent, ancestor, counted_extents_of, span, width_of
from anoncore.diversity cimport (
    Cell, Closeness, Nearness, Spread, contribution_with, join_cell, join_spread, leave_cell, leave_spread, width,
    width_with,
)
from anoncore.doors import MOST_ROWS, all_of, array_of, codes_of, parts_of, whole
from anoncore.memory cimport take as take_array
from anoncore.types cimport FLAT, ORDERED, TREE, code_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

cdef enum:
    LEAF = 16           # records below which a node is not split
    TABLE = 256         # domains up to this size have their widths tabulated
    DEEP = 64           # level from which nodes are halved by codes instead of positions
    CHUNK = 1 << 16     # rows joined between two calls of `progress`

cdef uint32_t NONE = 0xFFFFFFFF

MOST_EXACT = 2**53


# The growing cluster, and what each code of each attribute would make of its width.
cdef struct Cluster:
    int64_t m
    const Extent* extents   # of weight 1
    double* units       # what widths are multiplied by
    Cell* cells
    double** table      # by code; NULL for a domain too large to tabulate
    double* low_at      # ORDERED, untabulated, no null: where the values present begin and end
    double* high_at
    bint* plain         # whether that is so
    int64_t* low        # the codes that leave the width as it is; beyond them it grows with the
    int64_t* high       #   distance. Flat attributes: the codes of `mask` (bit = code mod 64)
    uint64_t* mask
    double* inside      # the width as it is
    double* outside     # FLAT: the width with one more label


# A kd-tree over the live records. The children of node i are child[i] and child[i] + 1; a leaf has
# child 0 and the live slots begin[i]..end[i] - 1. Codes of slot s start at codes[m * s], the least and
# greatest code below node i at box[2 * m * i] and box[2 * m * i + m].
cdef struct Index:
    int64_t m
    int32_t n_nodes
    int32_t n_built       # live records when it was built
    int32_t n_live
    int32_t* record       # by slot
    int32_t* slot         # by record
    int32_t* leaf         # by record
    int32_t* child
    int32_t* parent
    int32_t* begin
    int32_t* end
    uint64_t* mask        # m per node: the codes of a flat attribute
    uint32_t* first_row   # lowest live row below; NONE: all rows are taken


# The rows of each record, and which of them are still to be clustered.
cdef struct Rows:
    const int64_t* offsets
    const uint32_t* rows
    int64_t* first        # by record: its lowest live row is rows[first]
    int32_t* record       # by row
    uint8_t* live         # by row
    int64_t n_live


# A node in the queue of a search; slot >= 0: a leaf whose best record is known. No record below it
# comes before (value, row). Both only grow with the cluster, so an old entry is still a bound.
cdef struct Entry:
    double value
    uint32_t row
    int32_t node
    int32_t slot
    int32_t stamp


cdef struct Queue:
    Entry* entries
    int32_t n
    int32_t stamp         # entries with another stamp are out of date


# The same for the objective of protection: live combinations of sensitive values.
cdef struct Sensitive:
    int64_t p
    const Nearness* nearness
    Spread* spreads
    double* units         # what sums of contributions are multiplied by
    double** table        # by code: that sum over the pairs of rows if it joined, times its unit
    const int64_t* codes  # p per combination
    const int64_t* offsets
    const uint32_t* rows
    int64_t* first
    int32_t* combination  # by row
    int32_t* alive        # the combinations with live rows
    int64_t n_alive


# ---- the growing cluster

cdef void tabulate(Cluster* cluster, int64_t a) noexcept nogil:
    cdef const Extent* extent = &cluster.extents[a]
    cdef const Cell* cell = &cluster.cells[a]
    cdef double* table = cluster.table[a]
    cdef int64_t code
    cluster.inside[a] = cluster.units[a] * width(extent, cell)
    cluster.low[a] = cell.low if cell.valued else extent.n_values
    cluster.high[a] = extent.n_values if cell.null else cell.high
    if extent.kind == FLAT:
        cluster.outside[a] = cluster.units[a] * extent.full
        if not cell.null:
            cluster.outside[a] = cluster.units[a] * width_of(extent, 0, 0, 0, cell.n_distinct + 1)
    if table != NULL:
        for code in range(extent.n_values + 1):
            table[code] = cluster.units[a] * width_with(extent, cell, code)
        return
    cluster.plain[a] = extent.kind == ORDERED and not cell.null
    if cluster.plain[a]:
        cluster.low_at[a] = extent.positions[cell.low]
        cluster.high_at[a] = extent.positions[cell.high]


cdef inline double width_if(const Cluster* cluster, int64_t a, int64_t code) noexcept nogil:
    cdef const Extent* extent = &cluster.extents[a]
    cdef double at, low, high
    if cluster.table[a] != NULL:
        return cluster.table[a][code]
    if cluster.plain[a] and code < extent.n_values:
        at = extent.positions[code]
        low = cluster.low_at[a] if cluster.low_at[a] < at else at
        high = cluster.high_at[a] if cluster.high_at[a] > at else at
        return cluster.units[a] * ((high - low) / extent.whole)
    return cluster.units[a] * width_with(extent, &cluster.cells[a], code)


cdef bint join(Cluster* cluster, const code_t* codes) noexcept nogil:
    # Returns whether any width changed, or could change otherwise.
    cdef int64_t a
    cdef Cell before
    cdef Cell* cell
    cdef bint changed = False
    for a in range(cluster.m):
        cell = &cluster.cells[a]
        before = cell[0]
        join_cell(&cluster.extents[a], cell, codes[a])
        cluster.mask[a] |= (<uint64_t>1) << (codes[a] & 63)
        if (before.null != cell.null or before.valued != cell.valued or before.low != cell.low
                or before.high != cell.high or before.n_distinct != cell.n_distinct):
            tabulate(cluster, a)
            changed = True
    return changed


cdef void leave(Cluster* cluster, const code_t* codes) noexcept nogil:
    cdef int64_t a
    for a in range(cluster.m):
        leave_cell(&cluster.extents[a], &cluster.cells[a], codes[a])
        cluster.mask[a] = 0


cdef inline double loss_with(const Cluster* cluster, const code_t* codes) noexcept nogil:
    cdef double total = 0.0
    cdef int64_t a
    for a in range(cluster.m):
        total += width_if(cluster, a, codes[a])
    return total


cdef double least(const Cluster* cluster, const code_t* box, const uint64_t* mask) noexcept nogil:
    # No record in the box makes the cluster's loss less than this.
    cdef double total = 0.0
    cdef int64_t a, low, high, m = cluster.m
    for a in range(m):
        if cluster.extents[a].kind == FLAT:
            total += cluster.inside[a] if mask[a] & cluster.mask[a] else cluster.outside[a]
            continue
        low = box[a]
        high = box[m + a]
        if high < cluster.low[a]:
            total += width_if(cluster, a, high)
        elif low > cluster.high[a]:
            total += width_if(cluster, a, low)
        else:
            total += cluster.inside[a]
    return total


cdef double most(const Cluster* cluster, const code_t* box) noexcept nogil:
    # No record in the box is further than this from the one row in the cluster.
    cdef double total = 0.0, at_low, at_high
    cdef int64_t a, m = cluster.m
    for a in range(m):
        at_low = width_if(cluster, a, box[a])
        at_high = width_if(cluster, a, box[m + a])
        total += at_low if at_low > at_high else at_high
    return total


# ---- the tree

cdef int64_t cut_of(const Extent* extent, int64_t low, int64_t high, bint deep) noexcept nogil:
    # Where to cut codes low..high: {<= cut | > cut}, low <= cut < high. Nulls first, then the middle.
    cdef int64_t middle = low + (high - low) // 2, beyond
    cdef int32_t node, top
    cdef double at
    if high == extent.n_values:
        return high - 1
    if extent.kind == ORDERED and not deep:
        at = extent.positions[low] + (extent.positions[high] - extent.positions[low]) / 2
        beyond = high
        while beyond - low > 1:
            middle = low + (beyond - low) // 2
            if extent.positions[middle] <= at:
                low = middle
            else:
                beyond = middle
        return low
    if extent.kind == TREE:
        top = ancestor(extent, extent.leaf[low], high)
        node = extent.leaf[middle]
        while extent.parent[node] != top:
            node = extent.parent[node]
        if extent.last[node] >= high or (
                extent.first[node] > low and middle - extent.first[node] < extent.last[node] - middle):
            return extent.first[node] - 1
        return extent.last[node]
    return middle


cdef bint fit_leaf(Index* index, const Rows* rows, const code_t* codes, code_t* box, int32_t node) noexcept nogil:
    # The bounds of a leaf with live records, from its slots. Returns whether they changed.
    cdef int64_t m = index.m, a, slot
    cdef code_t low, high, code
    cdef uint64_t mask
    cdef uint32_t row, first_row = NONE
    cdef bint changed
    cdef code_t* own = box + 2 * m * node
    for slot in range(index.begin[node], index.end[node]):
        row = rows.rows[rows.first[index.record[slot]]]
        if row < first_row:
            first_row = row
    changed = first_row != index.first_row[node]
    index.first_row[node] = first_row
    if first_row == NONE:
        return changed
    for a in range(m):
        low = high = codes[m * index.begin[node] + a]
        mask = 0
        for slot in range(index.begin[node], index.end[node]):
            code = codes[m * slot + a]
            if code < low:
                low = code
            if code > high:
                high = code
            mask |= (<uint64_t>1) << (code & 63)
        changed |= own[a] != low or own[m + a] != high or index.mask[m * node + a] != mask
        own[a] = low
        own[m + a] = high
        index.mask[m * node + a] = mask
    return changed


cdef bint fit_inner(Index* index, code_t* box, int32_t node) noexcept nogil:
    # The bounds of a node from its children's. Returns whether they changed.
    cdef int64_t m = index.m, a
    cdef int32_t left = index.child[node], right = index.child[node] + 1
    cdef code_t* own = box + 2 * m * node
    cdef const code_t* one
    cdef const code_t* two
    cdef code_t low, high
    cdef uint64_t mask
    cdef uint32_t first_row
    cdef bint changed
    if index.first_row[left] == NONE:
        left = right
    elif index.first_row[right] == NONE:
        right = left
    first_row = index.first_row[left]
    if index.first_row[right] < first_row:
        first_row = index.first_row[right]
    changed = first_row != index.first_row[node]
    index.first_row[node] = first_row
    if first_row == NONE:
        return changed
    one = box + 2 * m * left
    two = box + 2 * m * right
    for a in range(m):
        low = one[a] if one[a] < two[a] else two[a]
        high = one[m + a] if one[m + a] > two[m + a] else two[m + a]
        mask = index.mask[m * left + a] | index.mask[m * right + a]
        changed |= own[a] != low or own[m + a] != high or index.mask[m * node + a] != mask
        own[a] = low
        own[m + a] = high
        index.mask[m * node + a] = mask
    return changed


cdef void swap_slots(Index* index, code_t* codes, int64_t one, int64_t two) noexcept nogil:
    cdef int64_t a, m = index.m
    cdef code_t code
    cdef int32_t record = index.record[one]
    for a in range(m):
        code = codes[m * one + a]
        codes[m * one + a] = codes[m * two + a]
        codes[m * two + a] = code
    index.record[one] = index.record[two]
    index.record[two] = record


cdef int64_t divide(Index* index, const Cluster* cluster, code_t* codes, const code_t* own,
                    int64_t begin, int64_t end, bint deep) noexcept nogil:
    # Cuts the widest attribute of the box `own` and returns the first slot of the upper part.
    cdef int64_t a, widest = 0, m = index.m, cut
    cdef double spread, greatest = -1.0
    for a in range(m):
        if own[a] < own[m + a]:
            spread = cluster.units[a] * span(&cluster.extents[a], own[a], own[m + a], 2)
            if spread > greatest:
                greatest = spread
                widest = a
    cut = cut_of(&cluster.extents[widest], own[widest], own[m + widest], deep)
    while begin < end:
        if codes[m * begin + widest] <= cut:
            begin += 1
        else:
            end -= 1
            swap_slots(index, codes, begin, end)
    return begin


cdef void build(Index* index, const Rows* rows, const Cluster* cluster, code_t* codes, code_t* box) noexcept nogil:
    # Over the slots 0..n_live - 1, level by level: parents come before their children.
    cdef int32_t node = 0, level = 0, level_end = 1
    cdef int64_t middle, slot
    index.n_nodes = 1
    index.n_built = index.n_live
    index.parent[0] = -1
    index.begin[0] = 0
    index.end[0] = index.n_live
    while node < index.n_nodes:
        if node == level_end:
            level += 1
            level_end = index.n_nodes
        index.child[node] = 0
        fit_leaf(index, rows, codes, box, node)
        middle = index.begin[node]
        if index.end[node] - index.begin[node] > LEAF:
            middle = divide(index, cluster, codes, box + 2 * index.m * node, index.begin[node], index.end[node],
                            level >= DEEP)
        if index.begin[node] < middle < index.end[node]:  # equal records are not divided
            index.child[node] = index.n_nodes
            index.begin[index.n_nodes] = index.begin[node]
            index.end[index.n_nodes] = <int32_t>middle
            index.begin[index.n_nodes + 1] = <int32_t>middle
            index.end[index.n_nodes + 1] = index.end[node]
            index.parent[index.n_nodes] = index.parent[index.n_nodes + 1] = node
            index.n_nodes += 2
        else:
            for slot in range(index.begin[node], index.end[node]):
                index.leaf[index.record[slot]] = node
                index.slot[index.record[slot]] = <int32_t>slot
        node += 1


cdef void rebuild(Index* index, const Rows* rows, const Cluster* cluster, code_t* codes, code_t* box) noexcept nogil:
    # Moves the live records to the front and builds the tree over them.
    cdef int64_t slot, n = 0
    for slot in range(index.n_built):
        if rows.first[index.record[slot]] < rows.offsets[index.record[slot] + 1]:
            if slot != n:
                swap_slots(index, codes, n, slot)
            n += 1
    for slot in range(n, index.n_built):
        index.slot[index.record[slot]] = <int32_t>slot
    build(index, rows, cluster, codes, box)


cdef void take(Index* index, Rows* rows, code_t* codes, code_t* box, uint32_t row) noexcept nogil:
    # The row is clustered: it leaves its record, the record its leaf with the last row.
    cdef int32_t record = rows.record[row], node = index.leaf[record], slot, last
    cdef int64_t end = rows.offsets[record + 1]
    rows.live[row] = 0
    rows.n_live -= 1
    if rows.rows[rows.first[record]] != row:
        return
    while rows.first[record] < end and not rows.live[rows.rows[rows.first[record]]]:
        rows.first[record] += 1
    if rows.first[record] == end:
        index.n_live -= 1
        index.end[node] -= 1
        last = index.end[node]
        slot = index.slot[record]
        swap_slots(index, codes, slot, last)
        index.slot[index.record[slot]] = slot
        index.slot[record] = last
    if not fit_leaf(index, rows, codes, box, node):
        return
    node = index.parent[node]
    while node >= 0 and fit_inner(index, box, node):
        node = index.parent[node]


# ---- the search

cdef inline bint before(const Entry* one, const Entry* two) noexcept nogil:
    return one.value < two.value or (one.value == two.value and one.row < two.row)


cdef void sink(Queue* queue, int32_t i) noexcept nogil:
    cdef Entry entry = queue.entries[i]
    cdef int32_t child = 2 * i + 1
    while child < queue.n:
        if child + 1 < queue.n and before(&queue.entries[child + 1], &queue.entries[child]):
            child += 1
        if not before(&queue.entries[child], &entry):
            break
        queue.entries[i] = queue.entries[child]
        i = child
        child = 2 * i + 1
    queue.entries[i] = entry


cdef void rise(Queue* queue, int32_t i) noexcept nogil:
    cdef Entry entry = queue.entries[i]
    while i > 0 and before(&entry, &queue.entries[(i - 1) // 2]):
        queue.entries[i] = queue.entries[(i - 1) // 2]
        i = (i - 1) // 2
    queue.entries[i] = entry


cdef void drop_top(Queue* queue) noexcept nogil:
    queue.n -= 1
    if queue.n:
        queue.entries[0] = queue.entries[queue.n]
        sink(queue, 0)


cdef void scan(Entry* entry, const Index* index, const Rows* rows, const Cluster* cluster,
               const code_t* codes, double sign) noexcept nogil:
    # The best record of a leaf that has live ones, by sign * loss.
    cdef int64_t slot
    cdef double value
    cdef uint32_t row
    entry.slot = -1
    for slot in range(index.begin[entry.node], index.end[entry.node]):
        value = sign * loss_with(cluster, codes + index.m * slot)
        if entry.slot < 0 or value <= entry.value:
            row = rows.rows[rows.first[index.record[slot]]]
            if entry.slot < 0 or value < entry.value or row < entry.row:
                entry.value = value
                entry.row = row
                entry.slot = <int32_t>slot


cdef inline void set_nearest(Entry* entry, const Index* index, const Cluster* cluster, const code_t* box,
                             int32_t node) noexcept nogil:
    entry.node = node
    entry.slot = -1
    entry.row = index.first_row[node]
    entry.value = least(cluster, box + 2 * index.m * node, index.mask + index.m * node)


cdef inline void set_furthest(Entry* entry, const Index* index, const Cluster* cluster, const code_t* box,
                              int32_t node) noexcept nogil:
    entry.node = node
    entry.row = index.first_row[node]
    entry.value = -most(cluster, box + 2 * index.m * node)


cdef void start_nearest(Queue* queue, const Index* index, const Cluster* cluster, const code_t* box) noexcept nogil:
    queue.n = 1
    queue.stamp = 0
    queue.entries[0].stamp = 0
    set_nearest(&queue.entries[0], index, cluster, box, 0)


cdef uint32_t nearest(Queue* queue, const Index* index, const Rows* rows, const Cluster* cluster,
                      const code_t* codes, const code_t* box) noexcept nogil:
    # Best first: the row that comes first by (loss, row). Its leaf stays on top, marked as out of date.
    cdef Entry* top = &queue.entries[0]
    cdef int32_t child, side
    while True:
        if top.stamp != queue.stamp:
            if index.first_row[top.node] == NONE:
                drop_top(queue)
                continue
            top.stamp = queue.stamp
            if top.slot < 0:
                set_nearest(top, index, cluster, box, top.node)
            else:
                scan(top, index, rows, cluster, codes, 1.0)
            sink(queue, 0)
        elif top.slot >= 0:
            top.stamp = queue.stamp - 1
            return top.row
        elif index.child[top.node] == 0:
            scan(top, index, rows, cluster, codes, 1.0)
            sink(queue, 0)
        else:
            child = index.child[top.node]
            drop_top(queue)
            for side in range(2):
                if index.first_row[child + side] != NONE:
                    set_nearest(&queue.entries[queue.n], index, cluster, box, child + side)
                    queue.entries[queue.n].stamp = queue.stamp
                    queue.n += 1
                    rise(queue, queue.n - 1)


cdef uint32_t furthest(Entry* stack, const Index* index, const Rows* rows, const Cluster* cluster,
                       const code_t* codes, const code_t* box) noexcept nogil:
    # Depth first, the further child first: the row that comes first by (-loss, row).
    cdef Entry best, entry
    cdef Entry* pushed
    cdef int32_t n = 1, child, side
    best.value = 1.0
    best.row = NONE
    set_furthest(&stack[0], index, cluster, box, 0)
    while n:
        n -= 1
        entry = stack[n]
        if not before(&entry, &best):
            continue
        child = index.child[entry.node]
        if child == 0:
            scan(&entry, index, rows, cluster, codes, -1.0)
            if before(&entry, &best):
                best = entry
            continue
        pushed = &stack[n]
        for side in range(2):
            if index.first_row[child + side] != NONE:
                set_furthest(&stack[n], index, cluster, box, child + side)
                if before(&stack[n], &best):
                    n += 1
        if &stack[n] - pushed == 2 and before(&pushed[0], &pushed[1]):
            entry = pushed[0]
            pushed[0] = pushed[1]
            pushed[1] = entry
    return best.row


# ---- the objective of protection

cdef inline double pairs_with(const Nearness* nearness, const Spread* spread, int64_t code) noexcept nogil:
    # Sum of contributions over ordered pairs of rows after `code` joins.
    return spread.pairs + 2.0 * contribution_with(nearness, spread, code) + nearness.unit


cdef uint32_t search_sensitive(Sensitive* sensitive, const Rows* rows) noexcept nogil:
    # The lowest live row among those that make the sum of S-diversities least; all clusters have one size.
    cdef int64_t i = 0, a, code, combination, p = sensitive.p
    cdef double value, best = 0.0
    cdef uint32_t row, best_row = NONE
    for a in range(p):
        for code in range(sensitive.nearness[a].n_values):
            sensitive.table[a][code] = sensitive.units[a] * pairs_with(&sensitive.nearness[a], &sensitive.spreads[a], code)
    while i < sensitive.n_alive:
        combination = sensitive.alive[i]
        while (sensitive.first[combination] < sensitive.offsets[combination + 1]
               and not rows.live[sensitive.rows[sensitive.first[combination]]]):
            sensitive.first[combination] += 1
        if sensitive.first[combination] == sensitive.offsets[combination + 1]:
            sensitive.n_alive -= 1
            sensitive.alive[i] = sensitive.alive[sensitive.n_alive]
            continue
        value = 0.0
        for a in range(p):
            value += sensitive.table[a][sensitive.codes[p * combination + a]]
        row = sensitive.rows[sensitive.first[combination]]
        if best_row == NONE or value < best or (value == best and row < best_row):
            best = value
            best_row = row
        i += 1
    return best_row


cdef void join_sensitive(Sensitive* sensitive, uint32_t row) noexcept nogil:
    cdef int64_t a
    for a in range(sensitive.p):
        join_spread(&sensitive.nearness[a], &sensitive.spreads[a],
                    sensitive.codes[sensitive.p * sensitive.combination[row] + a])


cdef void leave_sensitive(Sensitive* sensitive, uint32_t row) noexcept nogil:
    cdef int64_t a
    for a in range(sensitive.p):
        leave_spread(&sensitive.nearness[a], &sensitive.spreads[a],
                     sensitive.codes[sensitive.p * sensitive.combination[row] + a])


# ---- the clustering

cdef inline const code_t* codes_at(const Index* index, const Rows* rows, const code_t* codes,
                                   uint32_t row) noexcept nogil:
    return codes + index.m * index.slot[rows.record[row]]


cdef int64_t grow_some(Index* index, Rows* rows, Cluster* cluster, Queue* queue, Sensitive* sensitive,
                       code_t* codes, code_t* box, uint32_t* previous, int64_t k, int64_t limit,
                       uint32_t* members) noexcept nogil:
    # Clusters until fewer than k rows are left or `limit` rows are taken; returns the rows taken.
    # IN/OUT previous: the row from which the next seed is the furthest. OUT members: k rows a cluster.
    cdef int64_t n = 0, j
    cdef uint32_t row
    while rows.n_live >= k and n < limit:
        if index.n_live < index.n_built // 2:
            rebuild(index, rows, cluster, codes, box)
        join(cluster, codes_at(index, rows, codes, previous[0]))
        row = furthest(queue.entries, index, rows, cluster, codes, box)
        leave(cluster, codes_at(index, rows, codes, previous[0]))
        previous[0] = row
        members[n] = row
        take(index, rows, codes, box, row)
        if sensitive != NULL:
            join_sensitive(sensitive, row)
            for j in range(1, k):
                row = search_sensitive(sensitive, rows)
                members[n + j] = row
                take(index, rows, codes, box, row)
                join_sensitive(sensitive, row)
            for j in range(k):
                leave_sensitive(sensitive, members[n + j])
        elif k > 1:
            join(cluster, codes_at(index, rows, codes, row))
            start_nearest(queue, index, cluster, box)
            for j in range(1, k):
                row = nearest(queue, index, rows, cluster, codes, box)
                members[n + j] = row
                take(index, rows, codes, box, row)
                if join(cluster, codes_at(index, rows, codes, row)):
                    queue.stamp += 1
            for j in range(k):
                leave(cluster, codes_at(index, rows, codes, members[n + j]))
        n += k
    return n


cdef void set_increases(Cluster* cluster, Sensitive* sensitive, const Index* index, const Rows* rows,
                        const code_t* codes, const uint32_t* members, int64_t size, const uint32_t* left,
                        int64_t n_left, double* increases, int64_t stride) noexcept nogil:
    # OUT increases[stride * i]: what left[i] would add to the objective of a cluster. Attribute by attribute it is
    # whole before it is multiplied; S-diversities get one denominator, for that of two clusters to compare.
    cdef double old = <double>size, new = <double>(size + 1), both, total
    cdef int64_t i, a
    cdef const code_t* own
    cdef const int64_t* values
    for i in range(size):
        if sensitive != NULL:
            join_sensitive(sensitive, members[i])
        else:
            own = codes_at(index, rows, codes, members[i])
            for a in range(cluster.m):
                join_cell(&cluster.extents[a], &cluster.cells[a], own[a])
    both = (old * old) * (new * new)
    for i in range(n_left):
        total = 0.0
        if sensitive != NULL:
            values = sensitive.codes + sensitive.p * sensitive.combination[left[i]]
            for a in range(sensitive.p):
                total += sensitive.units[a] * (
                    (old * old) * pairs_with(&sensitive.nearness[a], &sensitive.spreads[a], values[a])
                    - (new * new) * sensitive.spreads[a].pairs)
            increases[stride * i] = total / both
        else:
            own = codes_at(index, rows, codes, left[i])
            for a in range(cluster.m):
                total += cluster.units[a] * (new * width_with(&cluster.extents[a], &cluster.cells[a], own[a])
                                             - old * width(&cluster.extents[a], &cluster.cells[a]))
            increases[stride * i] = total
    for i in range(size):
        if sensitive != NULL:
            leave_sensitive(sensitive, members[i])
        else:
            own = codes_at(index, rows, codes, members[i])
            for a in range(cluster.m):
                leave_cell(&cluster.extents[a], &cluster.cells[a], own[a])


cdef void place(Cluster* cluster, Sensitive* sensitive, const Index* index, const Rows* rows,
                const code_t* codes, const uint32_t* members, int64_t n_clusters, int64_t k,
                const uint32_t* left, int64_t n_left, int64_t* home, double* increases,
                uint32_t* scratch) noexcept nogil:
    # Each leftover in turn to the cluster to which it adds least; ties: the first. OUT home.
    # `increases` (n_left x n_clusters) is kept up to date: a row changes its new cluster's column only.
    cdef int64_t c, i, j, size
    cdef double* own
    for c in range(n_clusters):
        set_increases(cluster, sensitive, index, rows, codes, members + k * c, k, left, n_left,
                      increases + c, n_clusters)
    for i in range(n_left):
        own = increases + n_clusters * i
        home[i] = 0
        for c in range(1, n_clusters):
            if own[c] < own[home[i]]:
                home[i] = c
        if i + 1 == n_left:
            break
        size = k
        for j in range(k):
            scratch[j] = members[k * home[i] + j]
        for j in range(i + 1):
            if home[j] == home[i]:
                scratch[size] = left[j]
                size += 1
        set_increases(cluster, sensitive, index, rows, codes, scratch, size, left + i + 1, n_left - i - 1,
                      own + n_clusters + home[i], n_clusters)


cdef void set_cluster(Cluster* cluster, list keep, tuple attributes, int64_t k) except *:
    # No cluster gets 2k rows.
    cdef int64_t a, m = len(attributes)
    cdef double* units = <double*>take_array(keep, m, sizeof(double))
    cdef const Extent* extents = counted_extents_of(attributes, 2 * k, units, keep)
    cluster.m = m
    cluster.units = units
    cluster.extents = extents
    cluster.cells = <Cell*>take_array(keep, m, sizeof(Cell))
    cluster.table = <double**>take_array(keep, m, sizeof(double*))
    cluster.low_at = <double*>take_array(keep, m, sizeof(double))
    cluster.high_at = <double*>take_array(keep, m, sizeof(double))
    cluster.plain = <bint*>take_array(keep, m, sizeof(bint))
    cluster.low = <int64_t*>take_array(keep, m, sizeof(int64_t))
    cluster.high = <int64_t*>take_array(keep, m, sizeof(int64_t))
    cluster.mask = <uint64_t*>take_array(keep, m, sizeof(uint64_t))
    cluster.inside = <double*>take_array(keep, m, sizeof(double))
    cluster.outside = <double*>take_array(keep, m, sizeof(double))
    for a in range(m):
        if extents[a].kind == FLAT:
            cluster.cells[a].present = <uint8_t*>take_array(keep, extents[a].n_values, 1)
        if extents[a].n_values <= TABLE:
            cluster.table[a] = <double*>take_array(keep, extents[a].n_values + 1, sizeof(double))


cdef void set_rows(Rows* rows, list keep, const int64_t[::1] offsets, const uint32_t[::1] by_record) except *:
    cdef int64_t n_records = offsets.shape[0] - 1, n = by_record.shape[0], record, i
    rows.offsets = &offsets[0]
    rows.rows = &by_record[0]
    rows.first = <int64_t*>take_array(keep, n_records, sizeof(int64_t))
    rows.record = <int32_t*>take_array(keep, n, sizeof(int32_t))
    rows.live = <uint8_t*>take_array(keep, n, 1)
    rows.n_live = n
    for record in range(n_records):
        rows.first[record] = offsets[record]
        for i in range(offsets[record], offsets[record + 1]):
            rows.record[by_record[i]] = <int32_t>record
            rows.live[by_record[i]] = 1
    keep.append((offsets, by_record))


cdef void set_index(Index* index, list keep, int64_t m, int64_t n_records) except *:
    cdef int64_t record, n_nodes = 2 * n_records
    index.m = m
    index.n_live = <int32_t>n_records
    index.record = <int32_t*>take_array(keep, n_records, sizeof(int32_t))
    index.slot = <int32_t*>take_array(keep, n_records, sizeof(int32_t))
    index.leaf = <int32_t*>take_array(keep, n_records, sizeof(int32_t))
    index.child = <int32_t*>take_array(keep, n_nodes, sizeof(int32_t))
    index.parent = <int32_t*>take_array(keep, n_nodes, sizeof(int32_t))
    index.begin = <int32_t*>take_array(keep, n_nodes, sizeof(int32_t))
    index.end = <int32_t*>take_array(keep, n_nodes, sizeof(int32_t))
    index.mask = <uint64_t*>take_array(keep, n_nodes * m, sizeof(uint64_t))
    index.first_row = <uint32_t*>take_array(keep, n_nodes, sizeof(uint32_t))
    for record in range(n_records):
        index.record[record] = <int32_t>record


def _units_of(closeness, k):
    # Multiples of 1 / `unit` of each attribute that are whole, where sums over all pairs of a cluster are exact that way.
    units = [(<Closeness>one).nearness.unit for one in closeness]
    if all(unit == int(unit) for unit in units):
        times = lcm(*map(int, units))
        if len(units) * times * (2 * k) ** 4 < MOST_EXACT:
            return [times // int(unit) for unit in units]
    return [1.0 / unit for unit in units]


cdef void set_sensitive(Sensitive* sensitive, list keep, closeness, const int64_t[:, ::1] codes,
                        const int64_t[::1] offsets, const uint32_t[::1] rows, int64_t k) except *:
    cdef int64_t a, i, c, p = len(closeness), n_combinations = codes.shape[0]
    cdef Closeness one
    cdef Nearness* nearness = <Nearness*>take_array(keep, p, sizeof(Nearness))
    sensitive.p = p
    sensitive.nearness = nearness
    sensitive.spreads = <Spread*>take_array(keep, p, sizeof(Spread))
    sensitive.units = <double*>take_array(keep, p, sizeof(double))
    sensitive.table = <double**>take_array(keep, p, sizeof(double*))
    each = _units_of(closeness, k)
    for a in range(p):
        one = closeness[a]
        nearness[a] = one.nearness
        sensitive.units[a] = each[a]
        sensitive.spreads[a].counts = <double*>take_array(keep, one.n_counts, sizeof(double))
        sensitive.spreads[a].sums = <double*>take_array(keep, one.n_counts, sizeof(double))
        sensitive.table[a] = <double*>take_array(keep, one.nearness.n_values, sizeof(double))
    sensitive.codes = &codes[0, 0]
    sensitive.offsets = &offsets[0]
    sensitive.rows = &rows[0]
    sensitive.first = <int64_t*>take_array(keep, n_combinations, sizeof(int64_t))
    sensitive.combination = <int32_t*>take_array(keep, rows.shape[0], sizeof(int32_t))
    sensitive.alive = <int32_t*>take_array(keep, n_combinations, sizeof(int32_t))
    sensitive.n_alive = n_combinations
    for c in range(n_combinations):
        sensitive.alive[c] = <int32_t>c
        sensitive.first[c] = offsets[c]
        for i in range(offsets[c], offsets[c + 1]):
            sensitive.combination[rows[i]] = <int32_t>c
    keep.append((closeness, codes, offsets, rows))


def _records_of(codes, offsets, rows, limits):
    # Records with codes <= limits, whose rows are 0..n-1, ascending in each record; all checked, and copies
    # but for the codes: `progress` may change what it was given.
    rows = array_of(rows, np.uint32, 1, "rows").copy()
    offsets = parts_of(offsets, len(rows), "offsets").copy()
    n = len(rows)
    if codes.shape[1] != len(limits) or codes.shape[1] == 0:
        raise ValueError("one column of codes per attribute, and at least one attribute")
    if not 0 < codes.shape[0] < 2**30 or n >= MOST_ROWS:
        raise ValueError("there must be 1 to 2**30 - 1 records and less than 2**32 - 1 rows")
    if codes.min() < 0 or (codes.max(axis=0) > limits).any():
        raise ValueError("a code lies beyond its attribute's domain")
    if len(offsets) != len(codes) + 1:
        raise ValueError("offsets must divide the rows into one part per record")
    descends = rows[1:] <= rows[:n - 1]
    descends[offsets[1:len(codes)] - 1] = False
    seen = np.zeros(n, bool)
    seen[rows[rows < n]] = True
    if descends.any() or not seen.all():
        raise ValueError("rows must be 0..n-1, each once, ascending in every record")
    return codes, offsets, rows


def grow(codes, offsets, rows, attributes, k, start, *, sensitive=None, progress=None):
    """Cluster rows 0..n-1 greedily, k at a time (Byun et al. 2007, as settled in the definitions).

    Record i has the codes `codes[i]` (uint8, uint16 or uint32, one per attribute, records distinct)
    and the rows `rows[offsets[i]:offsets[i + 1]]` (uint32, ascending). `attributes` are
    `attribute.Attribute`s. The first seed is the row furthest from row `start`, each next one the row
    furthest from the seed before; the distance is the loss of the pair. A cluster grows to k by the
    row with which its loss, the sum of its widths, is least. Fewer than k leftovers go, in row order,
    each to the cluster whose size times loss grows least. Ties: the lowest row, the first cluster.

    With `sensitive` = (closeness, codes, offsets, rows), the distinct combinations of sensitive values
    in the same form (`diversity.Closeness` per attribute, int64 codes), clusters grow by the row with
    which the sum of S-diversities is least, leftovers go where that sum grows least; seeds as before.

    `progress(done, total)` is called between chunks of rows. Returns (members, left, home): `members`
    (uint32, n_clusters x k) in the order of growth, `left` (uint32) the leftovers and `home` (int64)
    their clusters. A query costs about O(log n) where records are dense.
    """
    attributes = all_of(attributes, Attribute, "attributes")
    codes = codes_of(codes, 2, "codes")
    codes, offsets, rows = _records_of(codes, offsets, rows, [attribute.n_values for attribute in attributes])
    k = whole(k, 1, len(rows), "k")
    start = whole(start, 0, len(rows) - 1, "start")
    if sensitive is not None:
        if not isinstance(sensitive, tuple | list) or len(sensitive) != 4:
            raise ValueError("sensitive must be closeness, codes, offsets and rows")
        closeness = all_of(sensitive[0], Closeness, "closeness")
        values = array_of(sensitive[1], np.int64, 2, "the codes of sensitive values").copy()
        sensitive = (closeness, *_records_of(values, *sensitive[2:], [one.n_values - 1 for one in closeness]))
        if len(sensitive[3]) != len(rows):
            raise ValueError("the combinations of sensitive values must have the same rows")
    if codes.dtype == np.uint8:
        return _grow[uint8_t](codes, offsets, rows, attributes, k, start, sensitive, progress)
    if codes.dtype == np.uint16:
        return _grow[uint16_t](codes, offsets, rows, attributes, k, start, sensitive, progress)
    return _grow[uint32_t](codes, offsets, rows, attributes, k, start, sensitive, progress)


cdef tuple _grow(const code_t[:, ::1] codes, const int64_t[::1] offsets, const uint32_t[::1] rows, tuple attributes,
                 int64_t k, uint32_t start, sensitive, progress):
    cdef int64_t n = rows.shape[0], m = codes.shape[1], n_records = codes.shape[0], n_clusters, done = 0
    cdef list keep = []
    cdef Cluster cluster
    cdef Rows live
    cdef Index index
    cdef Queue queue
    cdef Sensitive by_sensitive
    cdef Sensitive* objective = NULL
    set_cluster(&cluster, keep, attributes, k)
    set_rows(&live, keep, offsets, rows)
    set_index(&index, keep, m, n_records)
    if sensitive is not None:
        set_sensitive(&by_sensitive, keep, sensitive[0], sensitive[1], sensitive[2], sensitive[3], k)
        objective = &by_sensitive
    queue.entries = <Entry*>take_array(keep, 2 * n_records + 2, sizeof(Entry))
    cdef code_t* slots = <code_t*>take_array(keep, n_records * m, sizeof(code_t))
    cdef code_t* box = <code_t*>take_array(keep, 4 * n_records * m, sizeof(code_t))
    memcpy(slots, &codes[0, 0], n_records * m * sizeof(code_t))
    n_clusters = n // k
    members = np.empty((n_clusters, k), np.uint32)
    cdef uint32_t[:, ::1] members_view = members
    with nogil:
        build(&index, &live, &cluster, slots, box)
    while live.n_live >= k:
        with nogil:
            done += grow_some(&index, &live, &cluster, &queue, objective, slots, box, &start, k, CHUNK,
                              &members_view[0, 0] + done)
        PyErr_CheckSignals()
        if progress is not None:
            progress(done, n)
    left = np.flatnonzero(np.asarray(<uint8_t[:n]>live.live)).astype(np.uint32)
    home = np.zeros(len(left), np.int64)
    if len(left) == 0:
        return members, left, home
    cdef uint32_t[::1] left_view = left
    cdef int64_t[::1] home_view = home
    cdef uint32_t* own = <uint32_t*>take_array(keep, 2 * k, sizeof(uint32_t))
    cdef double* increases = <double*>take_array(keep, left_view.shape[0] * n_clusters, sizeof(double))
    with nogil:
        place(&cluster, objective, &index, &live, slots, &members_view[0, 0], n_clusters, k, &left_view[0],
              left_view.shape[0], &home_view[0], increases, own)
    return members, left, home
