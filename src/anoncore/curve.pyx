# SPDX-License-Identifier: Apache-2.0
# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Classes cut from a space-filling curve, improved by moves and swaps."""

import numpy as np

from anoncore.doors import all_of, array_of, codes_of, one_of, parts_of, whole

from libc.math cimport INFINITY
from libc.string cimport memcpy, memmove

from anoncore.attribute cimport Attribute
from anoncore.memory cimport fits, take
from anoncore.requirement cimport Conjunction, Rules, passes
from anoncore.sort cimport sort_keys
from anoncore.types cimport code_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t


cdef enum:
    WINDOW = 16         # classes behind a class among which its partners are sought
    MOST_DEALT = 512    # rows of neighbors dealt anew together

cdef int64_t MOST_ROWS = 1 << 30  # sums of losses stay below 2**62
cdef int64_t NEVER = <int64_t>1 << 62
cdef int64_t FAILING = <int64_t>1 << 30


# --- Hilbert index -------------------------------------------------------------------------------


cdef extern from *:
    int trailing_zeros "__builtin_ctzll" (uint64_t word) nogil


cdef void spread_grid(const uint32_t[::1] grid, const int64_t[::1] starts, int m, int bits, int per_word,
                      int n_words, uint64_t* spread) noexcept nogil:
    # Each code's bits where they belong among those of all attributes: levels of m bits, the finest lowest,
    # `per_word` levels to a word, `n_words` words to a code.
    cdef int64_t i
    cdef int a, level
    for a in range(m):
        for i in range(starts[a], starts[a + 1]):
            for level in range(bits):
                if (grid[i] >> level) & 1:
                    spread[i * n_words + level // per_word] |= <uint64_t>1 << (level % per_word * m + m - 1 - a)


cdef void hilbert_rows(const code_t[:, ::1] codes, const uint64_t* spread, const int64_t[::1] starts,
                       int bits, int per_word, int n_words, uint64_t[:, ::1] keys) noexcept nogil:
    # Hamilton 2006, algorithm 2, with one word of m bits per level, coarsest first.
    cdef int64_t i
    cdef int a, m = <int>codes.shape[1], level, used, direction, turn, back, part, word_id
    cdef uint64_t mask = ~<uint64_t>0 >> (64 - m)
    cdef uint64_t mixed = 0, word, entry, key
    for i in range(codes.shape[0]):
        entry = 0
        direction = 0
        key = 0
        used = 0
        word_id = 0
        part = -1
        for level in range(bits - 1, -1, -1):
            if part != level // per_word:
                part = level // per_word
                mixed = 0
                for a in range(m):
                    mixed |= spread[(starts[a] + codes[i, a]) * n_words + part]
            turn = direction + 1 if direction + 1 < m else 0
            back = m - turn
            word = ((mixed >> (level - part * per_word) * m) & mask) ^ entry
            if turn:
                word = ((word >> turn) | (word << back)) & mask
            word ^= word >> 1
            word ^= word >> 2
            word ^= word >> 4
            if m > 8:
                word ^= word >> 8
                word ^= word >> 16
                word ^= word >> 32
            if used + m <= 64:
                key = (key << m) | word if m < 64 else word
                used += m
            else:
                keys[i, word_id] = (key << (64 - used)) | (word >> (used + m - 64))
                word_id += 1
                used += m - 64
                key = word & (~<uint64_t>0 >> (64 - used))
            if used == 64:
                keys[i, word_id] = key
                word_id += 1
                key = 0
                used = 0
            direction = turn
            if word and word != mask:  # m trailing ones turn by m, which is not at all
                direction += trailing_zeros(~(word if word & 1 else word - 1))
                if direction >= m:
                    direction -= m
            if word:
                word = (word - 1) & ~<uint64_t>1
                word ^= word >> 1
                if turn:
                    word = ((word << turn) | (word >> back)) & mask
                entry ^= word
        if used:
            keys[i, word_id] = key << (64 - used)


cdef void hilbert_wide_rows(const code_t[:, ::1] codes, const uint32_t[::1] grid, const int64_t[::1] starts,
                            int bits, uint8_t* entry, uint8_t* word, uint64_t[:, ::1] keys) noexcept nogil:
    # The same with a byte for each bit of a level's word, the highest first, for any number of attributes.
    cdef int64_t i, m = codes.shape[1], a, at, turn, direction, ones, used
    cdef int level
    cdef uint8_t before
    for i in range(codes.shape[0]):
        for a in range(m):
            entry[a] = 0
        direction = 0
        used = 0
        for level in range(bits - 1, -1, -1):
            turn = direction + 1 if direction + 1 < m else 0
            before = 0
            for a in range(m):  # turned right, and the rank of that Gray code
                at = a - turn if a >= turn else a - turn + m
                before ^= ((grid[starts[at] + codes[i, at]] >> level) & 1) ^ entry[at]
                word[a] = before
                keys[i, used >> 6] |= <uint64_t>before << (63 - (used & 63))
                used += 1
            ones = 0
            while ones < m and word[m - 1 - ones]:
                ones += 1
            direction = turn
            if ones == m:
                ones = 0
            elif ones == 0:
                # of the rank less one: the zeros at its end, if it is not 0
                while ones < m and not word[m - 1 - ones]:
                    ones += 1
                if ones == m:
                    continue
            direction += ones
            if direction >= m:
                direction -= m
            # The rank less one, made even; its Gray code turned back is the way to the next entry.
            a = m - 1
            while not word[a]:
                word[a] = 1
                a -= 1
            word[a] = 0
            word[m - 1] = 0
            before = 0
            for a in range(m):
                at = a - turn if a >= turn else a - turn + m
                entry[at] ^= word[a] ^ before
                before = word[a]


cdef enum:
    PERIODS = 16  # rows compared at a time


cdef bint codes_within(const code_t* codes, int64_t n, const code_t* most, int64_t m) noexcept nogil:
    # Is no code of these rows greater than its column's most? `most` holds PERIODS rows.
    cdef int64_t i = 0, j, at = 0
    cdef bint beyond = False
    for i in range(n // PERIODS):
        for j in range(PERIODS * m):
            beyond |= codes[at + j] > most[j]
        at += PERIODS * m
    for j in range(n % PERIODS * m):
        beyond |= codes[at + j] > most[j]
    return not beyond


cdef int check_codes(const code_t[:, ::1] codes, const int64_t[::1] starts) except -1:
    # Every code of attribute a must be one of starts[a + 1] - starts[a].
    cdef int64_t n = codes.shape[0], m = codes.shape[1], i, a, n_codes
    cdef list keep = []
    cdef code_t* most = <code_t*>take(keep, PERIODS * m, sizeof(code_t))
    cdef bint within
    if n == 0:
        return 0
    for a in range(m):
        n_codes = starts[a + 1] - starts[a]
        if n_codes == 0:
            raise ValueError("codes: every one must have a place on the grid")
        for i in range(PERIODS):
            most[i * m + a] = <code_t>min(n_codes - 1, <int64_t><code_t>~0)
    with nogil:
        within = codes_within(&codes[0, 0], n, most, m)
    if not within:
        raise ValueError("codes: every one must have a place on the grid")
    return 0


def _hilbert(const code_t[:, ::1] codes, const uint32_t[::1] grid, const int64_t[::1] starts, int bits):
    cdef int64_t m = codes.shape[1]
    cdef int per_word, n_words
    cdef list keep = []
    cdef uint64_t* spread
    cdef uint8_t* entry
    cdef uint8_t* word
    check_codes(codes, starts)
    keys = np.zeros((codes.shape[0], (m * bits + 63) // 64), np.uint64)
    cdef uint64_t[:, ::1] view = keys
    if m > 64:
        entry = <uint8_t*>take(keep, m, sizeof(uint8_t))
        word = <uint8_t*>take(keep, m, sizeof(uint8_t))
        with nogil:
            hilbert_wide_rows(codes, grid, starts, bits, entry, word, view)
        return keys
    per_word = <int>(64 // m)
    n_words = (bits + per_word - 1) // per_word
    spread = <uint64_t*>take(keep, starts[m] * n_words, sizeof(uint64_t))
    with nogil:
        spread_grid(grid, starts, <int>m, bits, per_word, n_words, spread)
        hilbert_rows(codes, spread, starts, bits, per_word, n_words, view)
    return keys


def hilbert(codes, grid, starts, bits):
    """Hilbert index of each row (Hamilton 2006, "Compact Hilbert indices", algorithm 2).

    Code c of attribute a lies at `grid[starts[a] + c]` < 2**bits (`bits` in 1..32) on the grid's axis a.
    Returns uint64 (n x words): the m * bits bits of the index from the most significant bit of word 0 on.
    """
    codes = codes_of(codes, 2, "codes")
    grid = array_of(grid, np.uint32, 1, "grid")
    starts = parts_of(starts, len(grid), "starts", empty=True)
    bits = whole(bits, 1, 32, "bits")
    if codes.shape[1] < 1 or len(starts) != codes.shape[1] + 1:
        raise ValueError("starts must divide the grid into the codes of every attribute, one or more")
    if len(grid) and int(np.max(grid)) >> bits:
        raise ValueError("grid: every place must be less than 2**bits")
    return _hilbert(codes, grid, starts, bits)


# --- Sorting -------------------------------------------------------------------------------------


cdef int check_rows(const uint32_t[::1] rows, int64_t n) except -1:
    if rows.shape[0] and int(np.max(rows)) >= n:
        raise ValueError(f"rows must be row numbers below {n}")
    return 0


def sort_rows(keys, rows):
    """`rows` (uint32) stably sorted by `keys[row]` (uint64)."""
    cdef const uint64_t[::1] key_of = array_of(keys, np.uint64, 1, "keys")
    one = array_of(rows, np.uint32, 1, "rows").copy()
    other = np.empty_like(one)
    cdef uint32_t[::1] given_rows = one, spare_rows = other
    cdef int64_t n = given_rows.shape[0], i
    cdef list keep = []
    cdef uint64_t* key = <uint64_t*>take(keep, n, sizeof(uint64_t))
    cdef uint64_t* key_2 = <uint64_t*>take(keep, n, sizeof(uint64_t))
    cdef uint32_t* row
    cdef uint32_t* row_2
    check_rows(given_rows, key_of.shape[0])
    if n == 0:
        return one
    row, row_2 = &given_rows[0], &spare_rows[0]
    with nogil:
        for i in range(n):
            key[i] = key_of[row[i]]
        sort_keys(&key, &row, &key_2, &row_2, n, 0)
    return one if row == &given_rows[0] else other


# --- Widths --------------------------------------------------------------------------------------


cdef class Widths:
    """Widths of the cells of m attributes as integers: sums are exact, whatever their order.

    `attributes` are `attribute.Attribute`s, one or more. A whole domain is its weight times `unit`
    wide, all domains together at most 2**28; nulls alone are 0 wide, nulls together with values a whole domain.
    """

    def __cinit__(self, attributes):  # it runs exactly once
        attributes = all_of(attributes, Attribute, "attributes")
        cdef int64_t m = len(attributes)
        n_values = [one.n_values for one in attributes]
        weights = [one.weight for one in attributes]
        positions = [one.positions for one in attributes]
        trees = [one.tree for one in attributes]
        spans = [one.node_widths for one in attributes]
        if m < 1 or sum(weights) == INFINITY:
            raise ValueError("there must be one or more attributes, and the sum of their weights finite")
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
            full_width = int(weights[a] * self.unit)
            if a in ordered:
                full[field[a]] = full_width
                places.append(_coordinates(positions[a] - positions[a][:1], full_width))
            else:
                places.append(np.arange(n_values[a] + 1))
        nodes = _nodes([(n_values[a], int(weights[a] * self.unit), trees[a], spans[a]) for a in tree])
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
    places = np.rint(positions / reach * whole) if reach > 0 else np.zeros(len(positions))
    return np.append(places, 2 * whole)


def _set_widths(n_values, whole):
    # Widths of 0, 1, ..., n_values values, then of null together with values.
    steps = np.maximum(np.arange(n_values + 1) - 1, 0)
    return np.append(np.rint(steps * (whole / max(n_values - 1, 1))), whole)


def _nodes(trees):
    # All trees in one numbering. Above each root stands a node that also holds null.
    starts, leaves, lasts, parents, node_widths = [0], [], [], [], []
    n_nodes = 0
    for n_values, whole, (parent, first, last, leaf), spans in trees:
        parent, first, last = (np.asarray(part, np.int64) for part in (parent, first, last))
        top, null = n_nodes + len(first), n_nodes + len(first) + 1
        leaves.append(np.append(np.asarray(leaf, np.int64)[:n_values] + n_nodes, null))
        lasts.append(np.append(last, [n_values, n_values]))
        parents.append(np.append(np.where(parent < 0, top, parent + n_nodes), [-1, top]))
        node_widths.append(np.append(np.rint(spans * whole), [whole, 0]))
        starts.append(starts[len(starts) - 1] + n_values + 1)
        n_nodes += len(first) + 2
    join = lambda parts: np.concatenate([*parts, [0]]).astype(np.int32)
    return np.array(starts, np.int64), join(leaves), join(lasts), join(parents), join(node_widths)


cdef bint place_rows(const code_t[:, ::1] codes, const uint32_t[::1] rows, const int64_t* starts,
                     const int32_t* place, const int64_t* field, int64_t stride, int32_t* records) noexcept nogil:
    # False if some code has no place.
    cdef int64_t i, a, at, m = codes.shape[1]
    for i in range(rows.shape[0]):
        for a in range(m):
            at = starts[a] + codes[rows[i], a]
            if at >= starts[a + 1]:
                return False
            records[i * stride + field[a]] = place[at]
    return True


def _place(Widths widths, const code_t[:, ::1] codes, const uint32_t[::1] rows, int32_t[:, ::1] records):
    cdef bint placed
    with nogil:
        placed = place_rows(codes, rows, &widths.starts[0], &widths.place[0], &widths.field[0], widths.c.stride,
                            &records[0, 0])
    if not placed:
        raise ValueError("codes: every one must be a value of its attribute, or null")


def place(widths, codes, rows):
    """The records (int32, one per entry of `rows`) of these rows of `codes`, in this order."""
    cdef Widths of = one_of(Widths, widths, "widths")
    codes, rows = codes_of(codes, 2, "codes"), array_of(rows, np.uint32, 1, "rows")
    if codes.shape[1] != of.n_attributes:
        raise ValueError("codes must have one column per attribute")
    check_rows(rows, len(codes))
    records = np.zeros((len(rows), of.c.stride), np.int32)
    if len(rows):
        _place(of, codes, rows, records)
    return records


cdef void most_of_fields(const Space* space, uint32_t* most) noexcept nogil:
    # The greatest number that a record may have in each field; fields that only pad have 0.
    cdef int f
    for f in range(space.n_ordered):
        most[f] = 2 * space.full[f]
    for f in range(space.n_trees):
        most[space.n_ordered + f] = <uint32_t>(space.tree_starts[f + 1] - space.tree_starts[f]) - 1
    for f in range(space.n_flat):
        most[space.n_ordered + space.n_trees + f] = space.null_code[f]


cdef const int32_t[:, ::1] records_of(Widths widths, records) except *:
    cdef list keep = []
    cdef int64_t i, stride = widths.c.stride
    cdef uint32_t* most = <uint32_t*>take(keep, PERIODS * stride, sizeof(uint32_t))
    cdef const int32_t[:, ::1] rows = array_of(records, np.int32, 2, "records")
    cdef bint within = rows.shape[1] == stride and rows.shape[0] <= MOST_ROWS
    if within and rows.shape[0]:
        for i in range(PERIODS):
            most_of_fields(&widths.c, most + i * stride)
        with nogil:  # a negative number is a large one without sign
            within = codes_within(<const uint32_t*>&rows[0, 0], rows.shape[0], most, stride)
    if not within:
        raise ValueError("records must be those of these widths, 2**30 at most")
    return rows


cdef const int32_t[:, ::1] sensitive_of(Conjunction rules, sensitive, int64_t n) except *:
    cdef const int32_t[:, ::1] codes = array_of(sensitive, np.int32, 2, "sensitive")
    cdef int64_t i, a, n_sensitive = rules.c.n_sensitive
    if codes.shape[0] != n or codes.shape[1] != n_sensitive:
        raise ValueError("the rules need the sensitive codes of every row")
    if n > rules.c.n_rows:
        raise ValueError(f"the rules are those of a table of {rules.c.n_rows} rows, not of {n}")
    for i in range(n):
        for a in range(n_sensitive):
            if not 0 <= codes[i, a] < rules.c.n_values[a]:
                raise ValueError("sensitive: every code must be one of its attribute")
    return codes


# --- Requirements --------------------------------------------------------------------------------


# Sensitive counts of one class in the form that `passes` reads; `rules` is NULL where only sizes matter.
cdef struct Tally:
    const Rules* rules
    const int32_t* sensitive   # codes of the sensitive attributes, row by row
    int n_sensitive
    int64_t cap                # rows that a class can have at most
    int64_t size
    int64_t** values           # per attribute: room for `cap`, n_present of them
    int64_t** counts
    int64_t* n_present


cdef Tally tally_for(list keep, rules, sensitive, int64_t n, int64_t cap) except *:
    cdef Tally tally
    cdef Conjunction conjunction
    cdef const int32_t[:, ::1] codes
    cdef int a
    tally.rules = NULL
    tally.sensitive = NULL
    tally.n_sensitive = 0
    tally.cap = cap
    tally.size = 0
    tally.values = NULL
    tally.counts = NULL
    tally.n_present = NULL
    if rules is None:
        return tally
    conjunction = one_of(Conjunction, rules, "rules")
    if conjunction.c.by_units or conjunction.c.min_units:
        raise ValueError("rules on units are not for this kernel, which counts rows")
    if conjunction.c.n_sensitive == 0:
        return tally
    codes = sensitive_of(conjunction, sensitive, n)
    keep.append(codes)
    tally.rules = &conjunction.c
    tally.sensitive = &codes[0, 0] if n else NULL
    tally.n_sensitive = conjunction.c.n_sensitive
    tally.values = <int64_t**>take(keep, tally.n_sensitive, sizeof(int64_t*))
    tally.counts = <int64_t**>take(keep, tally.n_sensitive, sizeof(int64_t*))
    tally.n_present = <int64_t*>take(keep, tally.n_sensitive, sizeof(int64_t))
    for a in range(tally.n_sensitive):
        tally.values[a] = <int64_t*>take(keep, cap, sizeof(int64_t))
        tally.counts[a] = <int64_t*>take(keep, cap, sizeof(int64_t))
    return tally


cdef inline void clear(Tally* tally) noexcept nogil:
    cdef int a
    tally.size = 0
    for a in range(tally.n_sensitive):
        tally.n_present[a] = 0


cdef void count(Tally* tally, int64_t row) noexcept nogil:
    cdef int64_t i, n, code
    cdef int64_t* values
    cdef int64_t* counts
    cdef int a
    tally.size += 1
    for a in range(tally.n_sensitive):
        code = tally.sensitive[row * tally.n_sensitive + a]
        values = tally.values[a]
        counts = tally.counts[a]
        n = tally.n_present[a]
        i = n
        while i > 0 and values[i - 1] > code:
            i -= 1
        if i > 0 and values[i - 1] == code:
            counts[i - 1] += 1
            continue
        fits(n + 1, tally.cap)
        memmove(values + i + 1, values + i, (n - i) * sizeof(int64_t))
        memmove(counts + i + 1, counts + i, (n - i) * sizeof(int64_t))
        values[i] = code
        counts[i] = 1
        tally.n_present[a] = n + 1


cdef inline bint tally_passes(Tally* tally) noexcept nogil:
    return passes(tally.rules, tally.size, <const int64_t* const*>tally.values,
                  <const int64_t* const*>tally.counts, tally.n_present)


# --- Cuts ----------------------------------------------------------------------------------------


cdef void find_previous(const Space* space, const int32_t* records, int64_t n, int32_t* latest,
                        int32_t* previous) noexcept nogil:
    # Per row and set: the last row before with the same value, -1 if there is none.
    cdef int64_t i, at
    cdef int f, first_flat = space.n_ordered + space.n_trees
    for i in range(n):
        for f in range(space.n_flat):
            at = space.set_starts[f] + records[i * space.stride + first_flat + f]
            previous[i * space.n_flat + f] = latest[at]
            latest[at] = <int32_t>i


# The bounds of a growing class, and per set how many values and nulls it has.
cdef struct Bounds:
    int32_t* low
    int32_t* high
    int32_t* n_values
    int32_t* n_nulls


cdef inline void relax(const Space* space, const int32_t* records, const int32_t* previous, int64_t n, int64_t i,
                       int64_t k, int64_t most, int64_t step, Tally* tally, int64_t* best, int32_t* length,
                       int stride, int n_ordered, Bounds scratch) noexcept nogil:
    # Extend the best cuts of the first i rows by one class that starts at row i.
    cdef int32_t* low = scratch.low
    cdef int32_t* high = scratch.high
    cdef int32_t* n_values = scratch.n_values
    cdef int32_t* n_nulls = scratch.n_nulls
    cdef int64_t j, counted = i, last = min(i + most, n), loss, next_end = min((i + k + step - 1) // step * step, n)
    cdef int f, first_flat = n_ordered + space.n_trees
    cdef int32_t width
    for f in range(stride):
        low[f] = records[i * stride + f]
        high[f] = low[f]
    for f in range(space.n_flat):
        n_values[f] = 0
        n_nulls[f] = 0
    clear(tally)
    for j in range(i, last):
        widen(low, high, records + j * stride, stride)
        for f in range(space.n_flat):
            if previous[j * space.n_flat + f] < i:
                if records[j * stride + first_flat + f] == space.null_code[f]:
                    n_nulls[f] = 1
                else:
                    n_values[f] += 1
        if j + 1 < next_end:
            continue
        next_end = min(next_end + step, n)
        width = spans(space, low, high, n_ordered)
        for f in range(space.n_flat):
            width += set_width(space, f, n_values[f], n_nulls[f])
        loss = best[i] + (j + 1 - i) * width
        if loss >= best[j + 1]:
            continue
        if tally.rules != NULL:
            while counted <= j:
                count(tally, counted)
                counted += 1
            if not tally_passes(tally):
                # Left to repair; better than no cut at all.
                loss += (j + 1 - i) * FAILING
                if loss >= best[j + 1]:
                    continue
        best[j + 1] = loss
        length[j + 1] = <int32_t>(j + 1 - i)


cdef inline void relax_all(const Space* space, const int32_t* records, const int32_t* previous, int64_t n, int64_t k,
                           int64_t most, int64_t step, Tally* tally, int64_t* best, int32_t* length,
                           int stride, int n_ordered, Bounds scratch) noexcept nogil:
    cdef int64_t i = -step
    while i + step <= n - k:
        i += step
        if best[i] != NEVER:
            relax(space, records, previous, n, i, k, most, step, tally, best, length, stride, n_ordered, scratch)


cdef enum:
    NARROW = 72  # fields of a record whose bounds lie on the stack, where the compiler knows them best


cdef void cut_rows(const Space* space, const int32_t* records, const int32_t* previous, int64_t n, int64_t k,
                   int64_t most, int64_t step, Tally* tally, Bounds wide, int64_t* best,
                   int32_t* length) noexcept nogil:
    cdef int32_t[NARROW] low, high, n_values, n_nulls
    cdef Bounds scratch = Bounds(&low[0], &high[0], &n_values[0], &n_nulls[0])
    if space.stride == 8 and space.n_ordered == 8:
        relax_all(space, records, previous, n, k, most, step, tally, best, length, 8, 8, scratch)
    elif space.stride <= NARROW:
        relax_all(space, records, previous, n, k, most, step, tally, best, length, space.stride, space.n_ordered,
                  scratch)
    else:
        relax_all(space, records, previous, n, k, most, step, tally, best, length, space.stride, space.n_ordered,
                  wide)


def cut(widths, records, k, max_size, step=1, rules=None, sensitive=None):
    """The cuts of these rows, in this order, into classes of k..max_size rows with the least total loss.

    Rows are cut before every `step`-th only (1..k), unless no such cuts exist.
    `records` are those of `place`; the loss of a class is its rows times the sum of its widths. With
    `rules`, `sensitive` (int32, n x s) has the sensitive codes, and each row of a class that fails costs
    2**30 more. `max_size` is at least 2k-1. Returns `offsets` (int64, n_classes + 1); fewer than 2k rows
    are one class. Of equally good classes that end at the same row the longest is taken. Dynamic
    programming, O(n m max_size / step).
    """
    k = whole(k, 1, 1 << 30, "k")
    cdef int64_t least = k, most = whole(max_size, 2 * k - 1, 1 << 30, "max_size")
    cdef int64_t between = whole(step, 1, k, "step")
    cdef Widths of = one_of(Widths, widths, "widths")
    cdef const int32_t[:, ::1] rows = records_of(of, records)
    cdef int64_t n = rows.shape[0], i
    cdef list keep = []
    cdef Tally tally = tally_for(keep, rules, sensitive, n, min(most, n))
    cdef const Space* space = &of.c
    cdef Bounds wide
    cdef int32_t* previous
    cdef int32_t* latest
    cdef int64_t* best
    cdef int32_t* length
    if n < 2 * least:
        return np.array([0, n] if n else [0], np.int64)
    best = <int64_t*>take(keep, n + 1, sizeof(int64_t))
    length = <int32_t*>take(keep, n + 1, sizeof(int32_t))
    previous = <int32_t*>take(keep, n * space.n_flat, sizeof(int32_t))
    latest = <int32_t*>take(keep, space.set_starts[space.n_flat], sizeof(int32_t))
    wide.low = <int32_t*>take(keep, space.stride, sizeof(int32_t))
    wide.high = <int32_t*>take(keep, space.stride, sizeof(int32_t))
    wide.n_values = <int32_t*>take(keep, space.n_flat, sizeof(int32_t))
    wide.n_nulls = <int32_t*>take(keep, space.n_flat, sizeof(int32_t))
    with nogil:
        for i in range(1, n + 1):
            best[i] = NEVER
        for i in range(space.set_starts[space.n_flat]):
            latest[i] = -1
        find_previous(space, &rows[0, 0], n, latest, previous)
        cut_rows(space, &rows[0, 0], previous, n, least, most, between, &tally, wide, best, length)
        if best[n] == NEVER:
            cut_rows(space, &rows[0, 0], previous, n, least, most, 1, &tally, wide, best, length)
    ends = []
    i = n
    while i > 0:
        ends.append(i)
        i -= length[i]
    return np.array([0, *ends[::-1]], np.int64)


# --- Order of the classes ------------------------------------------------------------------------


cdef bint mean_places(const code_t[:, ::1] codes, const uint32_t[::1] rows, const int64_t[::1] offsets,
                      const uint8_t[::1] grid, const int64_t[::1] starts, uint8_t[:, ::1] out) noexcept nogil:
    # False if some code has no place.
    cdef int64_t c, i, a, total, size, n_codes, code
    cdef const uint8_t* places
    for c in range(offsets.shape[0] - 1):
        size = offsets[c + 1] - offsets[c]
        for a in range(codes.shape[1]):
            total = 0
            places = &grid[0] + starts[a]
            n_codes = starts[a + 1] - starts[a]
            for i in range(offsets[c], offsets[c + 1]):
                code = codes[rows[i], a]
                if code >= n_codes:
                    return False
                total += places[code]
            out[c, a] = <uint8_t>(total // size)
    return True


def _centers(const code_t[:, ::1] codes, const uint32_t[::1] rows, const int64_t[::1] offsets,
             const uint8_t[::1] grid, const int64_t[::1] starts, uint8_t[:, ::1] out):
    cdef bint placed
    with nogil:
        placed = mean_places(codes, rows, offsets, grid, starts, out)
    if not placed:
        raise ValueError("codes: every one must have a place on the grid")


def centers(codes, rows, offsets, grid, starts):
    """Mean place of the rows of each class on every attribute's axis, rounded down (uint8, n_classes x m).

    Class c holds `rows[offsets[c]:offsets[c + 1]]` of `codes` (at least one); code c of attribute a lies at
    `grid[starts[a] + c]`.
    """
    codes, rows = codes_of(codes, 2, "codes"), array_of(rows, np.uint32, 1, "rows")
    offsets = parts_of(offsets, len(rows), "offsets")
    grid = array_of(grid, np.uint8, 1, "grid")
    starts = parts_of(starts, len(grid), "starts", empty=True)
    if len(starts) != codes.shape[1] + 1:
        raise ValueError("starts must divide the grid into the codes of every attribute")
    check_rows(rows, len(codes))
    if not len(grid) and codes.size:
        raise ValueError("codes: every one must have a place on the grid")
    out = np.empty((len(offsets) - 1, codes.shape[1]), np.uint8)
    _centers(codes, rows, offsets, grid, starts, out)
    return out


# --- Refinement ----------------------------------------------------------------------------------


# The classes of one block. Slot c holds `size[c]` rows; a free slot has size 0. What depends on the
# rows of a slot is kept beside them: bounds, numbers of values and nulls of each set, and per member
# the bounds and the width of the others.
cdef struct Pool:
    const Space* space
    Tally* tally
    const int32_t* records
    int n_ordered
    int stride
    int64_t k
    int64_t cap
    int64_t n_slots
    int32_t* size
    int32_t* width
    int32_t* low
    int32_t* high
    int32_t* n_values
    int32_t* n_nulls
    int32_t* member
    int32_t* rest              # width without this member
    int32_t* rest_low
    int32_t* rest_high
    uint8_t* alone             # per member and set: no other member has this value
    uint8_t* shared            # per member and set: the class compared with has it too
    int32_t* seen              # per value of every set, of passing use; all 0 between calls
    int32_t* union_rows        # up to most_dealt rows being dealt anew
    int32_t* saved
    int32_t* grown_widths      # of the class that grows, with each row of `union_rows` that is left
    int64_t most_dealt


cdef inline int64_t loss_of(const Pool* pool, int64_t c) noexcept nogil:
    return <int64_t>pool.size[c] * pool.width[c]


cdef inline const int32_t* sets_of(const Pool* pool, int32_t row) noexcept nogil:
    return pool.records + <int64_t>row * pool.stride + pool.n_ordered + pool.space.n_trees


cdef void refresh(Pool* pool, int64_t c) noexcept nogil:
    # Recompute what depends on the rows of slot c.
    cdef const Space* space = pool.space
    cdef int64_t n = pool.size[c], first = c * pool.cap, i, at
    cdef int stride = pool.stride, f, n_flat = space.n_flat
    cdef int32_t* low = pool.low + c * stride
    cdef int32_t* high = pool.high + c * stride
    cdef int32_t* rest_low = pool.rest_low + first * stride
    cdef int32_t* rest_high = pool.rest_high + first * stride
    cdef const int32_t* record
    cdef const int32_t* sets
    cdef int32_t* n_values = pool.n_values + c * n_flat
    cdef int32_t* n_nulls = pool.n_nulls + c * n_flat
    cdef uint8_t* alone
    cdef int32_t total, values, nulls
    for f in range(stride):
        low[f] = BEYOND
        high[f] = -BEYOND
    for i in range(n):
        record = pool.records + <int64_t>pool.member[first + i] * stride
        for f in range(stride):
            rest_low[i * stride + f] = low[f]
            rest_high[i * stride + f] = high[f]
        widen(low, high, record, stride)
    pool.width[c] = spans(space, low, high, pool.n_ordered)
    for f in range(stride):
        low[f] = BEYOND
        high[f] = -BEYOND
    for i in range(n - 1, -1, -1):
        record = pool.records + <int64_t>pool.member[first + i] * stride
        for f in range(stride):
            at = i * stride + f
            rest_low[at] = low[f] if low[f] < rest_low[at] else rest_low[at]
            rest_high[at] = high[f] if high[f] > rest_high[at] else rest_high[at]
        widen(low, high, record, stride)
        pool.rest[first + i] = 0
        if n > 1:
            pool.rest[first + i] = spans(space, rest_low + i * stride, rest_high + i * stride, pool.n_ordered)
    if n_flat == 0:
        return
    for f in range(n_flat):
        n_values[f] = 0
        n_nulls[f] = 0
    for i in range(n):
        sets = sets_of(pool, pool.member[first + i])
        for f in range(n_flat):
            at = space.set_starts[f] + sets[f]
            if pool.seen[at] == 0:
                if sets[f] == space.null_code[f]:
                    n_nulls[f] += 1
                else:
                    n_values[f] += 1
            pool.seen[at] += 1
    for f in range(n_flat):
        pool.width[c] += set_width(space, f, n_values[f], n_nulls[f])
    for i in range(n):
        sets = sets_of(pool, pool.member[first + i])
        alone = pool.alone + (first + i) * n_flat
        total = 0
        for f in range(n_flat):
            values = n_values[f]
            nulls = n_nulls[f]
            alone[f] = pool.seen[space.set_starts[f] + sets[f]] == 1
            if alone[f]:
                if sets[f] == space.null_code[f]:
                    nulls -= 1
                else:
                    values -= 1
            total += set_width(space, f, values, nulls)
        if n > 1:
            pool.rest[first + i] += total
    for i in range(n):
        sets = sets_of(pool, pool.member[first + i])
        for f in range(n_flat):
            pool.seen[space.set_starts[f] + sets[f]] = 0


cdef void compare_sets(Pool* pool, int64_t a, int64_t b) noexcept nogil:
    # Per member of a: which of its values occur in b as well?
    cdef int64_t i
    cdef int f
    cdef uint8_t* shared
    cdef const int32_t* sets
    for i in range(pool.size[b]):
        sets = sets_of(pool, pool.member[b * pool.cap + i])
        for f in range(pool.space.n_flat):
            pool.seen[pool.space.set_starts[f] + sets[f]] = 1
    for i in range(pool.size[a]):
        sets = sets_of(pool, pool.member[a * pool.cap + i])
        shared = pool.shared + (a * pool.cap + i) * pool.space.n_flat
        for f in range(pool.space.n_flat):
            shared[f] = pool.seen[pool.space.set_starts[f] + sets[f]] != 0
    for i in range(pool.size[b]):
        sets = sets_of(pool, pool.member[b * pool.cap + i])
        for f in range(pool.space.n_flat):
            pool.seen[pool.space.set_starts[f] + sets[f]] = 0


cdef inline int32_t changed_sets(const Pool* pool, int64_t c, int64_t out, int64_t b, int64_t into) noexcept nogil:
    # Width of the sets of slot c without its member `out` (-1: with all) and with member `into` of slot b.
    cdef const Space* space = pool.space
    cdef const int32_t* gained = sets_of(pool, pool.member[b * pool.cap + into])
    cdef const int32_t* lost = gained if out < 0 else sets_of(pool, pool.member[c * pool.cap + out])
    cdef const uint8_t* alone = NULL if out < 0 else pool.alone + (c * pool.cap + out) * space.n_flat
    cdef const uint8_t* shared = pool.shared + (b * pool.cap + into) * space.n_flat
    cdef int32_t total = 0, values, nulls
    cdef int f
    for f in range(space.n_flat):
        values = pool.n_values[c * space.n_flat + f]
        nulls = pool.n_nulls[c * space.n_flat + f]
        if out < 0 or lost[f] != gained[f]:
            if alone != NULL and alone[f]:
                if lost[f] == space.null_code[f]:
                    nulls -= 1
                else:
                    values -= 1
            if not shared[f]:
                if gained[f] == space.null_code[f]:
                    nulls += 1
                else:
                    values += 1
        total += set_width(space, f, values, nulls)
    return total


cdef bint satisfied(Pool* pool, int64_t c, int64_t out, int32_t into) noexcept nogil:
    # Does slot c pass without its member `out` (-1: with all) and with row `into` (-1: none)?
    cdef int64_t i
    if pool.tally.rules == NULL:
        return True
    clear(pool.tally)
    for i in range(pool.size[c]):
        if i != out:
            count(pool.tally, pool.member[c * pool.cap + i])
    if into >= 0:
        count(pool.tally, into)
    return tally_passes(pool.tally)


cdef bint improve(Pool* pool, int64_t a, int64_t b) noexcept nogil:
    # Best move or swap between two classes, again and again, until none lowers the loss.
    # Candidates in this order, of equal ones the first: moves from a, moves from b, swaps.
    cdef int64_t cap = pool.cap, best, gain, best_i, best_j, i, j, most_b, taken
    cdef int64_t c, d
    cdef int side, stride = pool.stride
    cdef int32_t width_a, width_b, row
    cdef const int32_t* record
    cdef bint changed = False
    while True:
        best = 0
        best_i = -1
        best_j = -1
        if pool.space.n_flat:
            compare_sets(pool, a, b)
            compare_sets(pool, b, a)
        for side in range(2):
            c = a if side == 0 else b
            d = b if side == 0 else a
            if pool.size[c] <= pool.k or pool.size[d] >= cap:
                continue
            for i in range(pool.size[c]):
                taken = loss_of(pool, c) - <int64_t>(pool.size[c] - 1) * pool.rest[c * cap + i] - pool.width[d]
                if taken <= best:
                    continue
                record = pool.records + <int64_t>pool.member[c * cap + i] * stride
                width_b = joined_spans(pool.space, pool.n_ordered, pool.low + d * stride, pool.high + d * stride,
                                       record, record)
                if pool.space.n_flat:
                    width_b += changed_sets(pool, d, -1, c, i)
                gain = taken + pool.width[d] + loss_of(pool, d) - <int64_t>(pool.size[d] + 1) * width_b
                if gain > best and satisfied(pool, c, i, -1) and satisfied(pool, d, -1, pool.member[c * cap + i]):
                    best = gain
                    best_i = i if side == 0 else -1
                    best_j = i if side == 1 else -1
        most_b = 0
        for j in range(pool.size[b]):
            gain = <int64_t>pool.size[b] * (pool.width[b] - pool.rest[b * cap + j])
            if gain > most_b:
                most_b = gain
        for i in range(pool.size[a]):
            taken = <int64_t>pool.size[a] * (pool.width[a] - pool.rest[a * cap + i])
            if taken + most_b <= best:
                continue
            for j in range(pool.size[b]):
                gain = <int64_t>pool.size[b] * (pool.width[b] - pool.rest[b * cap + j])
                if taken + gain <= best:
                    continue
                record = pool.records + <int64_t>pool.member[b * cap + j] * stride
                width_a = joined_spans(pool.space, pool.n_ordered, pool.rest_low + (a * cap + i) * stride,
                                       pool.rest_high + (a * cap + i) * stride, record, record)
                if pool.space.n_flat:
                    width_a += changed_sets(pool, a, i, b, j)
                gain += <int64_t>pool.size[a] * (pool.width[a] - width_a)
                if gain <= best:
                    continue
                record = pool.records + <int64_t>pool.member[a * cap + i] * stride
                width_b = joined_spans(pool.space, pool.n_ordered, pool.rest_low + (b * cap + j) * stride,
                                       pool.rest_high + (b * cap + j) * stride, record, record)
                if pool.space.n_flat:
                    width_b += changed_sets(pool, b, j, a, i)
                gain = <int64_t>pool.size[a] * (pool.width[a] - width_a)
                gain += <int64_t>pool.size[b] * (pool.width[b] - width_b)
                if gain > best and satisfied(pool, a, i, pool.member[b * cap + j]) and satisfied(
                        pool, b, j, pool.member[a * cap + i]):
                    best = gain
                    best_i = i
                    best_j = j
        if best == 0:
            return changed
        changed = True
        if best_i >= 0 and best_j >= 0:
            row = pool.member[a * cap + best_i]
            pool.member[a * cap + best_i] = pool.member[b * cap + best_j]
            pool.member[b * cap + best_j] = row
        elif best_i >= 0:
            move(pool, a, best_i, b)
        else:
            move(pool, b, best_j, a)
        refresh(pool, a)
        refresh(pool, b)


cdef inline void move(Pool* pool, int64_t c, int64_t i, int64_t d) noexcept nogil:
    fits(pool.size[d] + 1, pool.cap)
    pool.member[d * pool.cap + pool.size[d]] = pool.member[c * pool.cap + i]
    pool.size[d] += 1
    pool.size[c] -= 1
    pool.member[c * pool.cap + i] = pool.member[c * pool.cap + pool.size[c]]


cdef inline int32_t grown_width(const Pool* pool, int64_t c, int32_t row, int bit) noexcept nogil:
    # Width of growing slot c with one more row; its sets are the values with this bit in `seen`.
    cdef const Space* space = pool.space
    cdef const int32_t* record = pool.records + <int64_t>row * pool.stride
    cdef const int32_t* sets = record + pool.n_ordered + space.n_trees
    cdef int32_t total = joined_spans(space, pool.n_ordered, pool.low + c * pool.stride,
                                      pool.high + c * pool.stride, record, record)
    cdef int32_t values, nulls
    cdef int f
    for f in range(space.n_flat):
        values = pool.n_values[c * space.n_flat + f]
        nulls = pool.n_nulls[c * space.n_flat + f]
        if not (pool.seen[space.set_starts[f] + sets[f]] >> bit) & 1:
            if sets[f] == space.null_code[f]:
                nulls += 1
            else:
                values += 1
        total += set_width(space, f, values, nulls)
    return total


cdef bint grow(Pool* pool, int64_t c, int32_t row, int bit) noexcept nogil:
    # May other rows now widen it otherwise than before?
    cdef const Space* space = pool.space
    cdef const int32_t* record = pool.records + <int64_t>row * pool.stride
    cdef const int32_t* sets = record + pool.n_ordered + space.n_trees
    cdef int f
    pool.width[c] = grown_width(pool, c, row, bit)
    cdef bint changed = grown(pool.low + c * pool.stride, pool.high + c * pool.stride, record, pool.stride)
    for f in range(space.n_flat):
        if not (pool.seen[space.set_starts[f] + sets[f]] >> bit) & 1:
            changed = True
            pool.seen[space.set_starts[f] + sets[f]] |= <int32_t>1 << bit
            if sets[f] == space.null_code[f]:
                pool.n_nulls[c * space.n_flat + f] += 1
            else:
                pool.n_values[c * space.n_flat + f] += 1
    fits(pool.size[c] + 1, pool.cap)
    pool.member[c * pool.cap + pool.size[c]] = row
    pool.size[c] += 1
    return changed


cdef void empty(Pool* pool, int64_t c) noexcept nogil:
    cdef int f
    pool.size[c] = 0
    pool.width[c] = 0
    for f in range(pool.stride):
        pool.low[c * pool.stride + f] = BEYOND
        pool.high[c * pool.stride + f] = -BEYOND
    for f in range(pool.space.n_flat):
        pool.n_values[c * pool.space.n_flat + f] = 0
        pool.n_nulls[c * pool.space.n_flat + f] = 0


cdef void deal_anew(Pool* pool, int64_t* slots, int n_old, int64_t spare) noexcept nogil:
    # The rows of n_old classes, grown anew from their outermost row, then improved; kept if the loss falls.
    cdef int64_t old_size[8]
    cdef int64_t n = 0, n_left, before = 0, after = 0, best, cost, i, at, c, n_grown = 0, most = n_old
    cdef int32_t* left
    cdef int32_t* widths = pool.grown_widths
    cdef int32_t row
    cdef bint failed = False
    cdef int g, h
    for g in range(n_old):
        c = slots[g]
        old_size[g] = pool.size[c]
        before += loss_of(pool, c)
        fits(n + pool.size[c], pool.most_dealt)
        memcpy(pool.saved + n, pool.member + c * pool.cap, pool.size[c] * sizeof(int32_t))
        n += pool.size[c]
    if before == 0:
        return
    if spare >= 0:
        slots[n_old] = spare
        most += 1
    left = pool.union_rows
    memcpy(left, pool.saved, n * sizeof(int32_t))
    n_left = n
    at = 0
    for i in range(1, old_size[0]):
        if pool.rest[slots[0] * pool.cap + i] < pool.rest[slots[0] * pool.cap + at]:
            at = i
    while n_left >= pool.k and n_grown < most:
        c = slots[n_grown]
        empty(pool, c)
        while True:
            row = left[at]
            n_left -= 1
            memmove(left + at, left + at + 1, (n_left - at) * sizeof(int32_t))
            memmove(widths + at, widths + at + 1, (n_left - at) * sizeof(int32_t))
            if grow(pool, c, row, <int>n_grown):
                for i in range(n_left):
                    widths[i] = grown_width(pool, c, left[i], <int>n_grown)
            if pool.size[c] >= pool.k and satisfied(pool, c, -1, -1):
                break
            if n_left == 0 or pool.size[c] == pool.cap:
                failed = True
                break
            at = 0
            for i in range(n_left):
                if widths[i] < widths[at]:
                    at = i
                    if widths[at] == pool.width[c]:  # none is less
                        break
        n_grown += 1
        if failed:
            break
        at = 0
        for i in range(n_left):
            if widths[i] > widths[at]:
                at = i
    if not failed:
        for i in range(n_left):
            best = NEVER
            at = -1
            for g in range(n_grown):
                c = slots[g]
                if pool.size[c] == pool.cap:
                    continue
                cost = <int64_t>(pool.size[c] + 1) * grown_width(pool, c, left[i], g) - loss_of(pool, c)
                if cost < best:
                    best = cost
                    at = g
            if at < 0:
                failed = True
                break
            grow(pool, slots[at], left[i], <int>at)
    for i in range(n):
        for g in range(pool.space.n_flat):
            pool.seen[pool.space.set_starts[g] + sets_of(pool, pool.saved[i])[g]] = 0
    if not failed and pool.tally.rules != NULL:
        for g in range(n_grown):
            if not satisfied(pool, slots[g], -1, -1):
                failed = True
    if not failed:
        for g in range(n_grown):
            refresh(pool, slots[g])
        for g in range(n_grown):
            for h in range(g + 1, n_grown):
                improve(pool, slots[g], slots[h])
        for g in range(n_grown):
            after += loss_of(pool, slots[g])
    if failed or after >= before:
        n = 0
        for g in range(n_old):
            c = slots[g]
            pool.size[c] = <int32_t>old_size[g]
            memcpy(pool.member + c * pool.cap, pool.saved + n, old_size[g] * sizeof(int32_t))
            n += old_size[g]
            refresh(pool, c)
        if spare >= 0:
            empty(pool, spare)
    else:
        for g in range(n_grown, most):
            empty(pool, slots[g])


cdef int32_t joined_width(Pool* pool, int64_t a, int64_t b, int64_t limit) noexcept nogil:
    # Width of two classes together, or some number beyond `limit` if that is more; the values of a's sets
    # are marked in `seen` by 1.
    cdef const Space* space = pool.space
    cdef int32_t total = joined_spans(space, pool.n_ordered, pool.low + a * pool.stride, pool.high + a * pool.stride,
                                      pool.low + b * pool.stride, pool.high + b * pool.stride)
    cdef const int32_t* values_a = pool.n_values + a * space.n_flat
    cdef const int32_t* values_b = pool.n_values + b * space.n_flat
    cdef const int32_t* nulls_a = pool.n_nulls + a * space.n_flat
    cdef const int32_t* nulls_b = pool.n_nulls + b * space.n_flat
    cdef int32_t least = total, values
    cdef int64_t i
    cdef int f
    cdef const int32_t* sets
    for f in range(space.n_flat):
        least += set_width(space, f, max(values_a[f], values_b[f]), nulls_a[f] | nulls_b[f])
    if space.n_flat == 0 or least > limit:
        return least
    for f in range(space.n_flat):
        values = values_a[f]
        for i in range(pool.size[b]):
            sets = sets_of(pool, pool.member[b * pool.cap + i])
            if pool.seen[space.set_starts[f] + sets[f]] == 0:
                pool.seen[space.set_starts[f] + sets[f]] = 2
                if sets[f] != space.null_code[f]:
                    values += 1
        for i in range(pool.size[b]):
            sets = sets_of(pool, pool.member[b * pool.cap + i])
            if pool.seen[space.set_starts[f] + sets[f]] == 2:
                pool.seen[space.set_starts[f] + sets[f]] = 0
        total += set_width(space, f, values, nulls_a[f] | nulls_b[f])
    return total


cdef void mark(Pool* pool, int64_t a, int32_t mark) noexcept nogil:
    cdef int64_t i
    cdef int f
    for i in range(pool.size[a]):
        for f in range(pool.space.n_flat):
            pool.seen[pool.space.set_starts[f] + sets_of(pool, pool.member[a * pool.cap + i])[f]] = mark


cdef void refine_block(Pool* pool, int64_t n_classes, int64_t reach) noexcept nogil:
    cdef int64_t slots[8]
    cdef int64_t costs[8]
    cdef int64_t a, b, cost, limit, together, spare = n_classes
    cdef int n, j
    cdef int32_t width
    for a in range(n_classes):
        if pool.size[a] == 0 or pool.width[a] == 0:
            continue
        mark(pool, a, 1)
        n = 0
        for b in range(a + 1, min(a + 1 + WINDOW, n_classes)):
            if pool.size[b] == 0:
                continue
            limit = reach * (<int64_t>pool.width[a] + pool.width[b]) // 100
            width = joined_width(pool, a, b, limit)
            if width > limit:
                continue
            cost = <int64_t>(pool.size[a] + pool.size[b]) * width - loss_of(pool, a) - loss_of(pool, b)
            n = keep_partner(costs, slots + 1, n, cost, b)
        mark(pool, a, 0)
        if n == 0:
            continue
        slots[0] = a
        together = pool.size[a]
        for j in range(n):
            improve(pool, a, slots[j + 1])
            together += pool.size[slots[j + 1]]
        if together <= MOST_DEALT:
            deal_anew(pool, slots, n + 1, spare if spare < pool.n_slots else -1)
            if spare < pool.n_slots and pool.size[spare]:
                spare += 1


def refine(widths, records, offsets, k, max_size, reach, rules=None, sensitive=None):
    """Lower the loss of these classes by moves, swaps and dealing neighbors anew; it never rises.

    Class c holds the rows offsets[c]..offsets[c+1]-1 of `records` (those of `place`), k to `max_size` of
    them; classes next to each other should be neighbors in space. Each class is worked on with at most
    2 of the 16 behind it: those whose union with it is at most `reach` percent as wide as the two
    together and adds least loss. With `rules`, which every class passes at first and at last,
    `sensitive` (int32, n x s) has the sensitive codes. Returns (rows uint32, offsets int64, loss before,
    loss after): the same rows, class by class.
    """
    cdef int64_t before = 0, after = 0, i, c
    cdef int64_t least = whole(k, 2, 1 << 20, "k"), cap = whole(max_size, k, 1 << 20, "max_size")
    cdef int64_t percent = whole(reach, 0, 1 << 20, "reach")
    cdef Widths of = one_of(Widths, widths, "widths")
    cdef const int32_t[:, ::1] given_rows = records_of(of, records)
    cdef int64_t n = given_rows.shape[0]
    cdef const int64_t[::1] bounds = parts_of(offsets, n, "offsets")
    cdef int64_t n_classes = bounds.shape[0] - 1, n_slots = n_classes + n_classes // 8 + 1
    cdef int n_flat = of.c.n_flat, stride = of.c.stride
    cdef list keep = []
    cdef Pool pool
    cdef Tally tally
    sizes = np.diff(bounds)
    if n_classes < 1 or sizes.min() < least or sizes.max() > cap:
        raise ValueError("offsets must divide the records into classes of k..max_size rows")
    tally = tally_for(keep, rules, sensitive, n, cap)
    result = np.empty(n, np.uint32)
    ends = np.zeros(n_slots + 1, np.int64)
    cdef uint32_t[::1] rows_view = result
    cdef int64_t[::1] ends_view = ends
    pool.space = &of.c
    pool.tally = &tally
    pool.records = &given_rows[0, 0]
    pool.n_ordered = of.c.n_ordered
    pool.stride = stride
    pool.k = least
    pool.cap = cap
    pool.n_slots = n_slots
    pool.most_dealt = (PARTNERS + 1) * cap
    pool.size = <int32_t*>take(keep, n_slots, sizeof(int32_t))
    pool.width = <int32_t*>take(keep, n_slots, sizeof(int32_t))
    pool.low = <int32_t*>take(keep, n_slots * stride, sizeof(int32_t))
    pool.high = <int32_t*>take(keep, n_slots * stride, sizeof(int32_t))
    pool.n_values = <int32_t*>take(keep, n_slots * n_flat, sizeof(int32_t))
    pool.n_nulls = <int32_t*>take(keep, n_slots * n_flat, sizeof(int32_t))
    pool.member = <int32_t*>take(keep, n_slots * cap, sizeof(int32_t))
    pool.rest = <int32_t*>take(keep, n_slots * cap, sizeof(int32_t))
    pool.rest_low = <int32_t*>take(keep, n_slots * cap * stride, sizeof(int32_t))
    pool.rest_high = <int32_t*>take(keep, n_slots * cap * stride, sizeof(int32_t))
    pool.alone = <uint8_t*>take(keep, n_slots * cap * n_flat, sizeof(uint8_t))
    pool.shared = <uint8_t*>take(keep, n_slots * cap * n_flat, sizeof(uint8_t))
    pool.seen = <int32_t*>take(keep, of.c.set_starts[n_flat], sizeof(int32_t))
    pool.union_rows = <int32_t*>take(keep, pool.most_dealt, sizeof(int32_t))
    pool.saved = <int32_t*>take(keep, pool.most_dealt, sizeof(int32_t))
    pool.grown_widths = <int32_t*>take(keep, pool.most_dealt, sizeof(int32_t))
    with nogil:
        for c in range(n_classes):
            pool.size[c] = <int32_t>(bounds[c + 1] - bounds[c])
            for i in range(pool.size[c]):
                pool.member[c * cap + i] = <int32_t>(bounds[c] + i)
            refresh(&pool, c)
            before += loss_of(&pool, c)
        refine_block(&pool, n_classes, percent)
        n = 0
        n_classes = 0
        for c in range(n_slots):
            if pool.size[c] == 0:
                continue
            for i in range(pool.size[c]):
                rows_view[n] = <uint32_t>pool.member[c * cap + i]
                n += 1
            n_classes += 1
            ends_view[n_classes] = n
            after += loss_of(&pool, c)
    return result, ends[: n_classes + 1], before, after
