# SPDX-License-Identifier: Apache-2.0
# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""How far the sensitive values of each class are from those of the table, and how concentrated.

Every function takes the counts of the classes in CSR form: class c holds the values
`values[offsets[c]:offsets[c + 1]]` (uint32, ascending) `counts` times each (int64, > 0), and
`table_counts[v]` (int64) is the count of value v in all classes together. A class costs its values,
not the domain's: the absent ones enter in closed form. Counts of a table are below 2**32.
"""

import numpy as np

from anoncore.arithmetic cimport Line, Sum, add_to, area, int128, uint128
from anoncore.classes import _class_blocks
from anoncore.doors import MOST_ROWS, array_of, parts_of, whole
from anoncore.threads import in_threads
from anoncore.memory cimport take
from anoncore.types cimport int32_t, int64_t, uint32_t, uint64_t

from libc.math cimport INFINITY, M_LN2, fabs, fmax, fmin, log
from libc.stdlib cimport qsort
from libc.string cimport memcpy


def _rows(counts):
    # The sum, or the greatest count where that alone is too many: sums of smaller ones do not overflow.
    most = int(counts.max(initial=0))
    return most if most > MOST_ROWS else int(counts.sum())


def _sizes_of(offsets, counts):
    """Where the counts of each class lie, and the counts, checked."""
    counts = array_of(counts, np.int64, 1, "counts")
    offsets = parts_of(offsets, len(counts), "offsets")
    if len(counts) and int(counts.min()) < 1:
        raise ValueError("a count is not positive")
    if _rows(counts) > MOST_ROWS:
        raise ValueError("the classes hold 2**32 rows or more")
    return offsets, counts


def _counts_of(offsets, values, counts, table_counts):
    """`_sizes_of` with the values, below those of the table, and the table's counts."""
    offsets, counts = _sizes_of(offsets, counts)
    values = array_of(values, np.uint32, 1, "values")
    table_counts = array_of(table_counts, np.int64, 1, "table_counts")
    if len(values) != len(counts) or (len(values) and int(values.max()) >= len(table_counts)):
        raise ValueError("a value lies beyond table_counts, or values and counts differ in length")
    if len(table_counts) and int(table_counts.min()) < 0:
        raise ValueError("a count of the table is negative")
    if _rows(table_counts) > MOST_ROWS or _rows(counts) > _rows(table_counts):
        raise ValueError("the classes hold more rows than the table, or the table 2**32 or more")
    return offsets, values, counts, table_counts


def _pace(n_threads, block):
    """Both checked: how many threads, and about how many values a task takes."""
    return whole(n_threads, 1, MOST_ROWS, "n_threads"), whole(block, 1, MOST_ROWS, "block")


cdef int ascending(const void* a, const void* b) noexcept nogil:
    cdef int64_t x = (<const int64_t*> a)[0]
    cdef int64_t y = (<const int64_t*> b)[0]
    return (x > y) - (x < y)


def _concentration_block(const int64_t[::1] offsets, const int64_t[::1] counts, int64_t first, int64_t end,
                         int64_t[::1] size, int64_t[::1] largest, double[::1] entropy,
                         double[:, ::1] recursive, int64_t[::1] l_recursive):
    cdef int64_t c, i, j, n, total, tail, kept
    cdef Sum weighted
    cdef double[1024] small  # x ln x of small counts
    cdef list keep = []
    cdef int64_t longest = np.max(np.diff(offsets[first:end + 1]))
    cdef int64_t* ordered = <int64_t*>take(keep, longest, sizeof(int64_t))
    with nogil:
        small[0] = 0.0
        for i in range(1, 1024):
            small[i] = i * log(<double> i)
        for c in range(first, end):
            n = offsets[c + 1] - offsets[c]
            memcpy(ordered, &counts[offsets[c]], n * sizeof(int64_t))
            if n <= 24:
                for i in range(1, n):
                    kept = ordered[i]
                    j = i
                    while j > 0 and ordered[j - 1] > kept:
                        ordered[j] = ordered[j - 1]
                        j -= 1
                    ordered[j] = kept
            else:
                qsort(ordered, n, sizeof(int64_t), ascending)
            total = 0
            weighted = Sum(0, 0)
            l_recursive[c] = 0
            for i in range(n):
                total += ordered[i]
                add_to(&weighted, small[ordered[i]] if ordered[i] < 1024 else ordered[i] * log(<double> ordered[i]))
                # total is r_l + ... + r_m for l = n - i
                if l_recursive[c] == 0 and ordered[n - 1] < 3 * total:
                    l_recursive[c] = n - i
            size[c] = total
            largest[c] = ordered[n - 1]
            entropy[c] = fmax(log(<double> total) - (weighted.total + weighted.lost) / total, 0.0) if n > 1 else 0.0
            l_recursive[c] = max(l_recursive[c], 1)
            tail = total
            for i in range(4):
                tail -= ordered[n - 1 - i] if i < n else 0
                recursive[c, i] = <double> largest[c] / tail if tail > 0 else INFINITY


def concentration(offsets, counts, n_threads=1, block=1 << 16):
    """What the counts of each class alone say.

    Returns size (int64), largest count r_1 (int64), entropy in nats (float64), the r_1/(r_l + ... + r_m)
    that c must exceed for recursive (c,l)-diversity at l = 2, 3, 4, 5 (float64, n_classes x 4, infinite
    where the sum is 0), and the greatest l at c = 3 (int64, at least 1).
    """
    n_threads, block = _pace(n_threads, block)
    offsets, counts = _sizes_of(offsets, counts)
    n = len(offsets) - 1
    results = (np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n), np.empty((n, 4)), np.empty(n, np.int64))
    in_threads(
        _concentration_block,
        [(offsets, counts, *run, *results) for run in _class_blocks(offsets, block)],
        n_threads,
    )
    return results


def _distances_block(const int64_t[::1] offsets, const uint32_t[::1] values, const int64_t[::1] counts,
                     const int64_t[::1] table_counts, const double[::1] surprise, int64_t n_rows,
                     int64_t first, int64_t end, double[::1] js, double[::1] equal, double[::1] quotient,
                     double[::1] present, double[::1] gain, double[::1] enhanced):
    cdef int64_t c, i, size, covered
    cdef uint64_t a, b, surplus
    cdef double x, y, total, most, best, ratio, middle, relative
    cdef bint beyond
    cdef Sum divergence
    with nogil:
        for c in range(first, end):
            size = 0
            for i in range(offsets[c], offsets[c + 1]):
                size += counts[i]
            total = <double> (<uint64_t> n_rows * <uint64_t> size)
            covered = 0
            surplus = 0
            divergence = Sum(0, 0)
            most = best = 0.0
            beyond = False
            for i in range(offsets[c], offsets[c + 1]):
                # p : q = a : b exactly
                a = <uint64_t> counts[i] * <uint64_t> n_rows
                b = <uint64_t> table_counts[values[i]] * <uint64_t> size
                covered += table_counts[values[i]]
                if a == b:
                    continue
                x = <double> a
                y = <double> b
                if b == 0:
                    add_to(&divergence, x * M_LN2)
                    surplus += a
                    most = best = INFINITY
                    beyond = True
                    continue
                # ln p/q and ln q/m, m = (p + q)/2
                ratio = log(x / y)
                middle = log(2.0 * y / (x + y))
                add_to(&divergence, x * (ratio + middle) + y * middle)
                most = fmax(most, fabs(ratio))
                if a > b:
                    surplus += a - b
                    relative = <double> (a - b) / y
                    best = fmax(best, relative)
                    if relative - surprise[values[i]] > 1e-12:
                        beyond = True
            js[c] = 0.5 * ((divergence.total + divergence.lost) / total + M_LN2 * (n_rows - covered) / n_rows)
            js[c] = fmax(fmin(js[c], M_LN2), 0.0)
            equal[c] = surplus / total
            present[c] = most
            quotient[c] = most if covered == n_rows else INFINITY
            gain[c] = best
            enhanced[c] = INFINITY if beyond else best


def distances(offsets, values, counts, table_counts, n_threads=1, block=1 << 16):
    """Distance of each class's distribution P from the table's Q, six ways (float64 each).

    JS(Q, P) in nats (Li & Li 4.1); half the sum of |p - q| (A_diff, Brickell & Shmatikov def. 4);
    max |ln p/q| over the values of the table, infinite where one is absent (A_quot, their def. 1), and
    over those that the class has;
    the greatest (p - q)/q over values with p > q (basic beta-likeness), and the same, infinite where
    one exceeds -ln q by more than 1e-12 (enhanced; Cao & Karras 2012).
    """
    n_threads, block = _pace(n_threads, block)
    arrays = _counts_of(offsets, values, counts, table_counts)
    n_rows = int(arrays[3].sum())
    results = [np.empty(len(arrays[0]) - 1) for _ in range(6)]
    surprise = -np.log(np.maximum(arrays[3], 1) / max(n_rows, 1))
    in_threads(
        _distances_block,
        [(*arrays, surprise, n_rows, *run, *results) for run in _class_blocks(arrays[0], block)],
        n_threads,
    )
    return tuple(results)


def _ordered_block(const int64_t[::1] offsets, const uint32_t[::1] values, const int64_t[::1] counts,
                   const int64_t[::1] ranks, const int64_t[::1] sums, const uint64_t[::1] areas, int64_t first,
                   int64_t end, double[::1] distance):
    cdef int64_t c, i, size, position, n_values = sums.shape[0]
    cdef uint64_t rows, n_rows = <uint64_t> sums[n_values - 1]
    cdef int128 moved
    cdef Line line
    line.ranks = &ranks[0]
    line.cumulative = &sums[0]
    line.areas = &areas[0]
    with nogil:
        for c in range(first, end):
            size = 0
            for i in range(offsets[c], offsets[c + 1]):
                size += counts[i]
            position = 0
            rows = 0
            moved = 0
            for i in range(offsets[c], offsets[c + 1]):
                moved += area(&line, position, values[i], rows * n_rows, size)
                rows += <uint64_t> counts[i]
                position = values[i]
            moved += area(&line, position, n_values, rows * n_rows, size)
            distance[c] = <double> moved / (<double> (n_rows * <uint64_t> size) * (n_values - 1))


def ordered(offsets, values, counts, table_counts, n_threads=1, block=1 << 16):
    """Ordered earth mover's distance of each class from the table (float64, in 0..1).

    1/(m - 1) times the sum over ranks i of |sum over j <= i of (p_j - q_j)|, m values; 0 for m < 2
    (Li, Li & Venkatasubramanian 2007).
    """
    n_threads, block = _pace(n_threads, block)
    arrays = _counts_of(offsets, values, counts, table_counts)
    distance = np.zeros(len(arrays[0]) - 1)
    if len(arrays[3]) < 2:
        return distance
    sums = np.cumsum(arrays[3])
    areas = np.concatenate([np.zeros(1, np.uint64), np.cumsum(sums.astype(np.uint64))])
    ranks = np.arange(len(areas))
    in_threads(
        _ordered_block,
        [(*arrays[:3], ranks, sums, areas, *run, distance) for run in _class_blocks(arrays[0], block)],
        n_threads,
    )
    return distance


def _hierarchical_block(const int64_t[::1] offsets, const uint32_t[::1] values, const int64_t[::1] counts,
                        const int32_t[::1] parent, const int32_t[::1] depth, const int32_t[::1] leaf,
                        const int64_t[::1] node_counts, int32_t height, int64_t first, int64_t end,
                        double[::1] distance):
    # rows: the class's rows below a node; seen: the table's rows below its children that the class
    # touches; more, less: the sums of the positive and the negative differences of its children.
    cdef int64_t n_nodes = parent.shape[0]
    cdef list keep = []
    cdef uint64_t* rows = <uint64_t*>take(keep, n_nodes, sizeof(uint64_t))
    cdef uint64_t* seen = <uint64_t*>take(keep, n_nodes, sizeof(uint64_t))
    cdef uint64_t* more = <uint64_t*>take(keep, n_nodes, sizeof(uint64_t))
    cdef uint64_t* less = <uint64_t*>take(keep, n_nodes, sizeof(uint64_t))
    cdef int32_t* touched = <int32_t*>take(keep, n_nodes, sizeof(int32_t))
    cdef int64_t c, i, n_touched
    cdef uint64_t size, a, b, n_rows = <uint64_t> node_counts[0]
    cdef int32_t node, above
    cdef uint128 moved
    with nogil:
        for c in range(first, end):
            n_touched = 0
            size = 0
            for i in range(offsets[c], offsets[c + 1]):
                size += <uint64_t> counts[i]
                node = leaf[values[i]]
                while node >= 0:
                    if rows[node] == 0:
                        touched[n_touched] = node
                        n_touched += 1
                    rows[node] += <uint64_t> counts[i]
                    node = parent[node]
            for i in range(n_touched):
                node = touched[i]
                above = parent[node]
                if above < 0:
                    continue
                a = rows[node] * n_rows
                b = <uint64_t> node_counts[node] * size
                seen[above] += <uint64_t> node_counts[node]
                if a > b:
                    more[above] += a - b
                else:
                    less[above] += b - a
            moved = 0
            for i in range(n_touched):
                node = touched[i]
                less[node] += (<uint64_t> node_counts[node] - seen[node]) * size
                moved += <uint128> (height - depth[node]) * <uint128> min(more[node], less[node])
                rows[node] = seen[node] = more[node] = less[node] = 0
            distance[c] = <double> moved / (<double> (n_rows * size) * height)


def hierarchical(offsets, values, counts, table_counts, parent, depth, leaf, n_threads=1, block=1 << 16):
    """Hierarchical earth mover's distance of each class from the table (float64, in 0..1).

    The sum over inner nodes N of level(N)/H times the smaller of the positive and the negative sum of
    p - q over N's children; level(N) = H - depth(N), H the greatest depth of a leaf, short branches
    padded at the leaf (Li, Li & Venkatasubramanian 2007). The tree's nodes are numbered so that a
    parent comes before its children (int32: `parent`, -1 for node 0; `depth`); value v is node `leaf[v]`.
    """
    n_threads, block = _pace(n_threads, block)
    arrays = _counts_of(offsets, values, counts, table_counts)
    parent, depth, leaf = (
        array_of(nodes, np.int32, 1, name)
        for nodes, name in ((parent, "parent"), (depth, "depth"), (leaf, "leaf"))
    )
    n_nodes = len(parent)
    if len(leaf) != len(arrays[3]) or len(depth) != n_nodes \
            or (len(leaf) and not 0 <= leaf.min() <= leaf.max() < n_nodes) or (n_nodes and depth.min() < 0):
        raise ValueError("the tree does not fit the values: leaf, parent and depth disagree")
    if n_nodes and (parent[0] != -1 or np.any(parent[1:] < 0) or np.any(parent[1:] >= np.arange(1, n_nodes))):
        raise ValueError("a parent must come before its children, and node 0 be the only root")
    if n_nodes and (depth[0] != 0 or np.any(depth[1:] != depth[parent[1:]] + 1)):
        raise ValueError("a node must be one deeper than its parent, and node 0 have depth 0")
    distance = np.zeros(len(arrays[0]) - 1)
    height = int(depth.max()) if n_nodes else 0
    if height == 0:
        return distance
    node_counts = np.zeros(n_nodes, np.int64)
    np.add.at(node_counts, leaf, arrays[3])
    for node in range(n_nodes - 1, 0, -1):
        node_counts[parent[node]] += node_counts[node]
    in_threads(
        _hierarchical_block,
        [(*arrays[:3], parent, depth, leaf, node_counts, height, *run, distance)
         for run in _class_blocks(arrays[0], block)],
        n_threads,
    )
    return distance
