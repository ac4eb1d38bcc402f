# SPDX-License-Identifier: Apache-2.0
# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Classes cut from a space-filling curve, improved by moves and swaps, mended by merging."""

import numpy as np

from anoncore.types cimport FLAT, ORDERED, TREE, code_t, int32_t, int64_t, uint32_t, uint64_t


cdef int64_t NEVER = <int64_t>1 << 62


# --- Hilbert index -------------------------------------------------------------------------------


cdef inline int trailing_ones(uint64_t word) noexcept nogil:
    cdef int n = 0
    while word & 1:
        word >>= 1
        n += 1
    return n


cdef void hilbert_rows(const code_t[:, ::1] codes, const uint32_t[::1] grid, const int64_t[::1] starts,
                       int bits, uint64_t[:, ::1] keys) noexcept nogil:
    # Hamilton 2006, algorithm 2: one word of m bits per level of the grid, coarsest level first.
    cdef int64_t i
    cdef int a, m = <int>codes.shape[1], level, used, direction, turn, back, word_id
    cdef uint64_t mask = (<uint64_t>1 << m) - 1 if m < 64 else ~<uint64_t>0
    cdef uint64_t word, entry, key
    cdef uint32_t[64] point
    for i in range(codes.shape[0]):
        for a in range(m):
            point[a] = grid[starts[a] + codes[i, a]]
        entry = 0
        direction = 0
        key = 0
        used = 0
        word_id = 0
        for level in range(bits - 1, -1, -1):
            word = 0
            for a in range(m):
                word = (word << 1) | ((point[a] >> level) & 1)
            turn = direction + 1 if direction + 1 < m else 0
            back = m - turn
            word ^= entry
            if turn:
                word = ((word >> turn) | (word << back)) & mask
            word ^= word >> 1
            word ^= word >> 2
            word ^= word >> 4
            if m > 8:
                word ^= word >> 8
                word ^= word >> 16
                word ^= word >> 32
            if used == 64:
                keys[i, word_id] = key
                word_id += 1
                key = 0
                used = 0
            if used + m <= 64:
                key = (key << m) | word if m < 64 else word
                used += m
            else:
                keys[i, word_id] = (key << (64 - used)) | (word >> (used + m - 64))
                word_id += 1
                used += m - 64
                key = word & ((<uint64_t>1 << used) - 1)
            direction = turn
            if word:
                direction = (direction + trailing_ones(word if word & 1 else word - 1)) % m
                word = (word - 1) & ~<uint64_t>1
                word ^= word >> 1
                if turn:
                    word = ((word << turn) | (word >> back)) & mask
                entry ^= word
        keys[i, word_id] = key << (64 - used) if used < 64 else key


def hilbert(const code_t[:, ::1] codes, const uint32_t[::1] grid, const int64_t[::1] starts, int bits):
    """Hilbert index of each row (Hamilton 2006, "Compact Hilbert indices", algorithm 2).

    Code c of attribute a lies at `grid[starts[a] + c]` < 2**bits of the grid's axis a. Returns
    uint64 (n x words), the m * bits bits of the index from the most significant bit of word 0 on.
    """
    cdef int64_t m = codes.shape[1]
    if not 1 <= m <= 64 or not 1 <= bits <= 32:
        raise ValueError("hilbert takes 1..64 attributes and 1..32 bits")
    if starts.shape[0] < m + 1 or grid.shape[0] < starts[m]:
        raise ValueError("grid must cover every code of every attribute")
    keys = np.zeros((codes.shape[0], (m * bits + 63) // 64), np.uint64)
    cdef uint64_t[:, ::1] view = keys
    with nogil:
        hilbert_rows(codes, grid, starts, bits, view)
    return keys


# --- Sorting -------------------------------------------------------------------------------------


cdef void radix_pass(const uint64_t* keys, const uint32_t* rows, int64_t n, int shift,
                     int64_t* starts, uint64_t* keys_out, uint32_t* rows_out) noexcept nogil:
    cdef int64_t i, at
    for i in range(n):
        at = starts[(keys[i] >> shift) & 2047]
        starts[(keys[i] >> shift) & 2047] = at + 1
        keys_out[at] = keys[i]
        rows_out[at] = rows[i]


def sort_rows(const uint64_t[::1] keys, const uint32_t[::1] rows):
    """`rows` (uint32) stably sorted by `keys[row]` (uint64): radix sort, digits that do not vary skipped."""
    cdef int64_t n = rows.shape[0], i, total, count
    cdef int digit, shift
    key_pair = np.empty((2, n), np.uint64)
    row_pair = np.empty((2, n), np.uint32)
    counts_array = np.zeros((6, 2048), np.int64)
    cdef uint64_t[:, ::1] key_view = key_pair
    cdef uint32_t[:, ::1] row_view = row_pair
    cdef int64_t[:, ::1] counts = counts_array
    cdef int now = 0
    if n == 0:
        return row_pair[0]
    if int(np.max(rows)) >= keys.shape[0]:
        raise ValueError("every row must have a key")
    with nogil:
        for i in range(n):
            key_view[0, i] = keys[rows[i]]
            row_view[0, i] = rows[i]
            for digit in range(6):
                counts[digit, (key_view[0, i] >> (11 * digit)) & 2047] += 1
        for digit in range(6):
            shift = 11 * digit
            if counts[digit, (key_view[now, 0] >> shift) & 2047] == n:
                continue
            total = 0
            for i in range(2048):
                count = counts[digit, i]
                counts[digit, i] = total
                total += count
            radix_pass(&key_view[now, 0], &row_view[now, 0], n, shift, &counts[digit, 0],
                       &key_view[1 - now, 0], &row_view[1 - now, 0])
            now = 1 - now
    return row_pair[now]


# --- Widths --------------------------------------------------------------------------------------


cdef class Widths:
    """Widths of the cells of m attributes as integers: sums are exact, whatever their order.

    `n_values[a]` is |D_a|; a code equal to it is null. `positions[a]` (float64, one per value,
    ascending from 0) makes attribute a ordered; `trees[a]` = (parent, first, last, leaf), int32
    arrays as in `anon.hierarchy.Tree`, makes it a tree; with neither it is a flat set. A whole
    domain is `weights[a]` * `unit` wide, all domains together at most 2**28.
    """

    def __init__(self, n_values, weights, positions, trees):
        cdef int64_t m = len(n_values)
        if not 1 <= m <= MAX_ATTRIBUTES:
            raise ValueError("from 1 to 64 attributes are possible")
        if not len(weights) == len(positions) == len(trees) == m:
            raise ValueError("n_values, weights, positions and trees must have one entry per attribute")
        ordered = [a for a in range(m) if positions[a] is not None]
        tree = [a for a in range(m) if positions[a] is None and trees[a] is not None]
        flat = [a for a in range(m) if positions[a] is None and trees[a] is None]
        self.unit = 2.0**28 / (sum(weights) or 1.0)
        self.c.n_ordered = (len(ordered) + 3) // 4 * 4
        self.c.n_trees = len(tree)
        self.c.n_flat = len(flat)
        self.c.stride = (self.c.n_ordered + len(tree) + len(flat) + 3) // 4 * 4
        field = np.empty(m, np.int64)
        field[ordered] = np.arange(len(ordered))
        field[tree] = self.c.n_ordered + np.arange(len(tree))
        field[flat] = self.c.n_ordered + len(tree) + np.arange(len(flat))
        places, full = [], np.zeros(self.c.n_ordered + 1, np.int32)
        for a in range(m):
            whole = int(weights[a] * self.unit)
            if a in ordered:
                full[field[a]] = whole
                places.append(_coordinates(np.asarray(positions[a], np.float64)[: n_values[a]], whole))
            else:
                places.append(np.arange(n_values[a] + 1))
        nodes = _nodes([(n_values[a], int(weights[a] * self.unit), trees[a]) for a in tree])
        sets = [_set_widths(n_values[a], int(weights[a] * self.unit)) for a in flat]
        cdef const int32_t[::1] full_view = full
        cdef const int64_t[::1] tree_starts = nodes[0], set_starts = _starts([len(one) for one in sets])
        cdef const int32_t[::1] leaf = nodes[1], last = nodes[2], parent = nodes[3], node_width = nodes[4]
        cdef const int32_t[::1] set_width = np.concatenate([*sets, [0]]).astype(np.int32)
        cdef const int32_t[::1] null_code = np.array([*(n_values[a] for a in flat), 0], np.int32)
        self.c.full = &full_view[0]
        self.c.tree_starts = &tree_starts[0]
        self.c.leaf = &leaf[0]
        self.c.last = &last[0]
        self.c.parent = &parent[0]
        self.c.node_width = &node_width[0]
        self.c.set_starts = &set_starts[0]
        self.c.set_width = &set_width[0]
        self.c.null_code = &null_code[0]
        self.keep = (full, *nodes, set_starts, set_width, null_code)
        self.starts = _starts([len(one) for one in places])
        self.place = np.concatenate(places).astype(np.int32)
        self.field = field

    @property
    def n_attributes(self):
        """Number of attributes."""
        return self.starts.shape[0] - 1


def _starts(lengths):
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)


def _coordinates(positions, whole):
    # Null lies so far off that its distance from every value is at least the whole domain.
    reach = positions[len(positions) - 1] if len(positions) else 0.0
    return np.append(np.rint(positions * (whole / reach)) if reach > 0 else np.zeros(len(positions)), 2 * whole)


def _set_widths(n_values, whole):
    # Widths of 0, 1, ..., n_values values, then of null together with values.
    return np.append(np.rint(np.maximum(np.arange(n_values + 1) - 1, 0) * (whole / max(n_values - 1, 1))), whole)


def _nodes(trees):
    # All trees in one numbering. Above each root stands a node that also holds null.
    starts, leaves, lasts, parents, node_widths = [0], [], [], [], []
    n_nodes = 0
    for n_values, whole, (parent, first, last, leaf) in trees:
        first, last = np.asarray(first, np.int64), np.asarray(last, np.int64)
        top, null = n_nodes + len(first), n_nodes + len(first) + 1
        leaves.append(np.append(np.asarray(leaf, np.int64)[:n_values] + n_nodes, null))
        lasts.append(np.append(last, [n_values, n_values]))
        parents.append(np.append(np.where(np.asarray(parent) < 0, top, np.asarray(parent, np.int64) + n_nodes), [-1, top]))
        node_widths.append(np.append(np.rint((last - first) * (whole / max(n_values - 1, 1))), [whole, 0]))
        starts.append(starts[len(starts) - 1] + n_values + 1)
        n_nodes += len(first) + 2
    join = lambda parts: np.concatenate([*parts, [0]]).astype(np.int32)
    return np.array(starts, np.int64), join(leaves), join(lasts), join(parents), join(node_widths)


cdef void place_rows(const code_t[:, ::1] codes, const uint32_t[::1] rows, const int64_t* starts,
                     const int32_t* place, const int64_t* field, int64_t stride, int32_t* records) noexcept nogil:
    cdef int64_t i, a, m = codes.shape[1]
    for i in range(rows.shape[0]):
        for a in range(m):
            records[i * stride + field[a]] = place[starts[a] + codes[rows[i], a]]


def place(Widths widths, const code_t[:, ::1] codes, const uint32_t[::1] rows):
    """The records (int32, one per entry of `rows`) of these rows of `codes`, in this order."""
    if codes.shape[1] != widths.starts.shape[0] - 1:
        raise ValueError("codes must have one column per attribute")
    records = np.zeros((rows.shape[0], widths.c.stride), np.int32)
    cdef int32_t[:, ::1] view = records
    if rows.shape[0]:
        if int(np.max(rows)) >= codes.shape[0]:
            raise ValueError("every row must be one of codes")
        with nogil:
            place_rows(codes, rows, &widths.starts[0], &widths.place[0], &widths.field[0],
                       widths.c.stride, &view[0, 0])
    return records


cdef inline void widen(int32_t* low, int32_t* high, const int32_t* record, int stride) noexcept nogil:
    cdef int f
    for f in range(stride):
        low[f] = low[f] if low[f] < record[f] else record[f]
        high[f] = high[f] if high[f] > record[f] else record[f]


cdef inline int32_t spans(const Space* space, const int32_t* low, const int32_t* high, int n_ordered) noexcept nogil:
    # Width of the ordered and the tree attributes together.
    cdef int32_t total = 0, span, node
    cdef int f
    for f in range(n_ordered):
        span = high[f] - low[f]
        total += span if span < space.full[f] else space.full[f]
    for f in range(space.n_trees):
        node = space.leaf[space.tree_starts[f] + low[n_ordered + f]]
        while space.last[node] < high[n_ordered + f]:
            node = space.parent[node]
        total += space.node_width[node]
    return total


cdef inline int32_t set_width(const Space* space, int f, int32_t n_values, bint has_null) noexcept nogil:
    if not has_null:
        return space.set_width[space.set_starts[f] + n_values]
    return space.set_width[space.set_starts[f + 1] - 1] if n_values else 0


# --- Cuts ----------------------------------------------------------------------------------------


cdef inline void relax(const Space* space, const int32_t* records, const int32_t* previous, int64_t n, int64_t i,
                       int64_t k, int64_t* best, int32_t* length, int stride, int n_ordered) noexcept nogil:
    # Extend the cuts of the first i rows by one class that starts at row i.
    cdef int32_t[72] low, high
    cdef int32_t[64] n_values, has_null
    cdef int64_t j, last = i + 2 * k - 1, loss
    cdef int f, first_flat = n_ordered + space.n_trees
    cdef int32_t total
    if last > n:
        last = n
    for f in range(stride):
        low[f] = records[i * stride + f]
        high[f] = low[f]
    for f in range(space.n_flat):
        n_values[f] = 0
        has_null[f] = 0
    for j in range(i, last):
        widen(low, high, records + j * stride, stride)
        for f in range(space.n_flat):
            if previous[j * space.n_flat + f] < i:
                if records[j * stride + first_flat + f] == space.null_code[f]:
                    has_null[f] = 1
                else:
                    n_values[f] += 1
        if j + 1 - i < k:
            continue
        total = spans(space, low, high, n_ordered)
        for f in range(space.n_flat):
            total += set_width(space, f, n_values[f], has_null[f])
        loss = best[i] + (j + 1 - i) * total
        if loss < best[j + 1]:
            best[j + 1] = loss
            length[j + 1] = <int32_t>(j + 1 - i)


cdef void cut_rows(const Space* space, const int32_t* records, const int32_t* previous, int64_t n, int64_t k,
                   int64_t* best, int32_t* length) noexcept nogil:
    cdef int64_t i
    for i in range(n - k + 1):
        if best[i] == NEVER:
            continue
        if space.stride == 8 and space.n_ordered == 8:
            relax(space, records, previous, n, i, k, best, length, 8, 8)
        else:
            relax(space, records, previous, n, i, k, best, length, space.stride, space.n_ordered)


def cut(Widths widths, const int32_t[:, ::1] records, int64_t k):
    """The cuts of these rows, in this order, into classes of k..2k-1 rows with the least total loss.

    `records` are those of `place`; the loss of a class is its rows times the sum of its widths.
    Returns `offsets` (int64, n_classes + 1); fewer than k rows are one class. Dynamic programming, O(n k m).
    Ties: the longer last class.
    """
    cdef int64_t n = records.shape[0], i
    if k < 1 or k > 2**30:
        raise ValueError("k must be in 1..2**30")
    if records.shape[1] != widths.c.stride:
        raise ValueError("records must be those of these widths")
    if n < 2 * k:
        return np.array([0, n] if n else [0], np.int64)
    best_array = np.full(n + 1, NEVER, np.int64)
    best_array[0] = 0
    length_array = np.zeros(n + 1, np.int32)
    cdef const int32_t[:, ::1] previous = _previous(np.asarray(records), widths.c.n_ordered + widths.c.n_trees, widths.c.n_flat)
    cdef int64_t[::1] best = best_array
    cdef int32_t[::1] length = length_array
    with nogil:
        cut_rows(&widths.c, &records[0, 0], &previous[0, 0], n, k, &best[0], &length[0])
    ends = []
    i = n
    while i > 0:
        ends.append(i)
        i -= length[i]
    return np.array([0, *ends[::-1]], np.int64)


def _previous(records, first, n_flat):
    # Per row and flat attribute: the last row before with the same code, -1 if there is none.
    n = len(records)
    previous = np.full((n, max(n_flat, 1)), -1, np.int32)
    for f in range(n_flat):
        codes = records[:, first + f]
        order = np.argsort(codes, kind="stable").astype(np.int32)
        before, row = order[: n - 1], order[1:]
        same = codes[before] == codes[row]
        previous[row[same], f] = before[same]
    return previous
