# SPDX-License-Identifier: Apache-2.0
# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Large populations: frequent conjunctions of predicates, at most one per attribute (Li & Li 2009, 4.2).

Predicates are vertical bitmaps over rows sorted by their codes, searched depth first. A population
keeps only its words that are not 0, so that a small one costs its rows and not the table's.
"""

import numpy as np

from anoncore.bits cimport count_common, lowest_bit
from anoncore.classes import group
from anoncore.doors import MOST_ROWS, array_of, codes_of, given, parts_of, whole
from anoncore.threads import in_threads
from anoncore.memory cimport Array, extend, growing, release, reserve, take
from anoncore.types cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from libc.string cimport memcpy, memset


TASKS = 16  # the first predicates are shared out among so many at most


def _columns_of(columns, name):
    """Code columns of one length, checked."""
    given(**{name: columns})
    listed = [codes_of(column, 1, name) for column in columns]
    if len({len(column) for column in listed}) > 1:
        raise ValueError(f"{name} must have one length")
    return listed


def _predicates_of(predicates, n_columns, empty=False):
    """The predicates of each column, (offsets, first, last), checked; with `empty` one may hold no code."""
    given(predicates=predicates)
    if len(predicates) != n_columns or any(not isinstance(listed, tuple | list) for listed in predicates):
        raise ValueError("every column needs its predicates")
    checked = []
    for offsets, first, last in predicates:
        first, last = array_of(first, np.uint32, 1, "first"), array_of(last, np.uint32, 1, "last")
        offsets = parts_of(offsets, len(first), "the offsets of predicates", empty)
        if len(first) != len(last) or np.any(first > last):
            raise ValueError("a run must have first <= last")
        inner = np.ones(len(first), np.bool_)
        inner[offsets[: len(offsets) - 1][offsets[1:] > offsets[: len(offsets) - 1]]] = False
        if np.any(inner[1:] & (first[1:] <= last[: max(len(last) - 1, 0)])):
            raise ValueError("the runs of a predicate must ascend and not overlap")
        checked.append((offsets, first, last))
    return checked


def _check(columns, sensitive, n_values):
    if not columns:
        raise ValueError("there must be at least one column")
    if len(n_values) != len(sensitive):
        raise ValueError("every sensitive column needs its number of values")
    for column, n_codes in zip(sensitive, n_values):
        if len(column) != len(columns[0]):
            raise ValueError("columns must have one length")
        if len(column) and int(column.max()) >= n_codes:
            raise ValueError("a sensitive code lies beyond its number of values")


def _holders(offsets, first, last, n_codes):
    """The predicates that hold each code, in CSR form."""
    stop = np.minimum(last.astype(np.int64) + 1, n_codes)
    start = np.minimum(first.astype(np.int64), stop)
    length = stop - start
    total = np.concatenate([[0], np.cumsum(length)])
    codes = np.arange(total[len(length)]) + np.repeat(start - total[:len(length)], length)
    holder = np.repeat(np.repeat(np.arange(len(offsets) - 1, dtype=np.int32), np.diff(offsets)), length)
    order = np.argsort(codes, kind="stable")
    return np.searchsorted(codes[order], np.arange(n_codes + 1)).astype(np.int64), holder[order]


def _mark(const uint32_t[::1] codes, const int64_t[::1] offsets, const int32_t[::1] holders,
          uint64_t[:, ::1] bits):
    """Set bit i of every predicate that holds the code of row i."""
    cdef int64_t i, k, code, n = codes.shape[0]
    with nogil:
        for i in range(n):
            code = codes[i]  # the greatest has a successor in 64 bits only
            for k in range(offsets[code], offsets[code + 1]):
                bits[holders[k], i >> 6] |= <uint64_t> 1 << (i & 63)


cdef int64_t keep_common(const uint64_t* words, const uint32_t* index, const uint64_t* bits, int64_t n,
                         uint64_t* kept, uint32_t* kept_index) noexcept nogil:
    # The words words[i] & bits[index[i]] that are not 0, and where they stand; returns how many.
    cdef int64_t i, n_kept = 0
    cdef uint64_t word
    for i in range(n):
        word = words[i] & bits[index[i]]
        kept[n_kept] = word
        kept_index[n_kept] = index[i]
        n_kept += word != 0
    return n_kept


# What a search found, population by population.
cdef struct Found:
    Array* depth     # int32
    Array* item      # int32
    Array* support   # int64
    Array* counts    # uint32, n_values each


cdef bint search(const uint64_t[:, ::1] bits, const int64_t[::1] next_attribute, const uint32_t[:, ::1] sensitive,
                 const int64_t[::1] base, int64_t n_values, int64_t min_count, int64_t end, int64_t* state,
                 int64_t* lengths, uint64_t** words, uint32_t** index, Found* out) noexcept nogil:
    # Depth first: state[d] is the next item to try at depth d, of those before `end` at depth 0; the
    # population of depth d is words[d][:lengths[d]] at index[d]. False: memory is short.
    cdef int64_t n_items = bits.shape[0], d = 0, t, support, i, row, n_sensitive = sensitive.shape[0]
    cdef int s
    cdef uint64_t word
    cdef uint32_t* counts
    while d >= 0:
        t = state[d]
        if t >= (end if d == 0 else n_items):
            d -= 1
            continue
        state[d] = t + 1
        support = count_common(words[d], index[d], &bits[t, 0], lengths[d])
        if support < min_count:
            continue
        if not (reserve(out.depth, 1) and reserve(out.item, 1) and reserve(out.support, 1)
                and reserve(out.counts, 1)):
            return False
        (<int32_t*>extend(out.depth, 1))[0] = <int32_t> d
        (<int32_t*>extend(out.item, 1))[0] = <int32_t> t
        (<int64_t*>extend(out.support, 1))[0] = support
        counts = <uint32_t*>extend(out.counts, 1)
        memset(counts, 0, n_values * sizeof(uint32_t))
        lengths[d + 1] = keep_common(words[d], index[d], &bits[t, 0], lengths[d], words[d + 1], index[d + 1])
        if n_sensitive:
            for i in range(lengths[d + 1]):
                word = words[d + 1][i]
                row = (<int64_t> index[d + 1][i]) << 6
                while word:
                    for s in range(n_sensitive):
                        counts[base[s] + sensitive[s, row + lowest_bit(word)]] += 1
                    word &= word - 1
        d += 1
        state[d] = next_attribute[t]
    return True


cdef object copied(Array* array, dtype, shape):
    # The array's elements as NumPy's; its own are freed.
    result = np.empty(shape, dtype)
    cdef uint8_t[::1] view = result.reshape(-1).view(np.uint8)
    if view.shape[0]:
        memcpy(&view[0], array.at, view.shape[0])
    release(array)
    return result


def _subtree(const uint64_t[:, ::1] bits, const int64_t[::1] next_attribute, const uint32_t[:, ::1] sensitive,
             const int64_t[::1] base, int64_t n_values, int64_t min_count, int64_t first, int64_t end,
             int64_t n_levels):
    """All populations whose first predicate is one of the items first..end - 1."""
    cdef list keep = []
    cdef int64_t n_words = bits.shape[1], d, i, n
    cdef int64_t* state = <int64_t*>take(keep, n_levels + 1, sizeof(int64_t))
    cdef int64_t* lengths = <int64_t*>take(keep, n_levels + 1, sizeof(int64_t))
    cdef uint64_t** words = <uint64_t**>take(keep, n_levels + 1, sizeof(uint64_t*))
    cdef uint32_t** index = <uint32_t**>take(keep, n_levels + 1, sizeof(uint32_t*))
    cdef Found out
    cdef bint enough
    for d in range(n_levels + 1):
        words[d] = <uint64_t*>take(keep, n_words, sizeof(uint64_t))
        index[d] = <uint32_t*>take(keep, n_words, sizeof(uint32_t))
    for i in range(n_words):
        words[0][i] = <uint64_t> -1
        index[0][i] = <uint32_t> i
    lengths[0] = n_words
    state[0] = first
    out.depth = growing(keep, 1, sizeof(int32_t))
    out.item = growing(keep, 1, sizeof(int32_t))
    out.support = growing(keep, 1, sizeof(int64_t))
    out.counts = growing(keep, 1, max(n_values, 1) * sizeof(uint32_t))
    with nogil:
        enough = search(bits, next_attribute, sensitive, base, n_values, min_count, end, state, lengths, words,
                        index, &out)
    if not enough:
        raise MemoryError
    n = out.depth.length
    return (copied(out.depth, np.int32, n), copied(out.item, np.int32, n), copied(out.support, np.int64, n),
            copied(out.counts, np.uint32, (n, n_values)))


def mine(columns, predicates, min_count, sensitive=(), n_values=(), n_threads=1):
    """Every conjunction of at most one predicate per column that at least `min_count` rows meet.

    `columns` are code columns (uint8, uint16 or uint32). `predicates[a]` = (offsets int64, first uint32,
    last uint32) lists those of column a: predicate p holds the codes first[r]..last[r] (inclusive)
    of the runs r = offsets[p]..offsets[p + 1] - 1. `sensitive` are code columns below `n_values[s]`.
    Populations are ordered by their sequence of (column, predicate), a prefix before what extends
    it; the empty one is not listed. Returns parent (int64: the population without the last
    predicate, -1 if that is empty), the last predicate's column and number (int32), support (int64)
    and, per sensitive column, the counts of its values (int64, populations x n_values[s]).
    """
    given(n_values=n_values)
    columns, sensitive = _columns_of(columns, "columns"), _columns_of(sensitive, "sensitive")
    predicates = _predicates_of(predicates, len(columns))
    n_values = [whole(one, 0, MOST_ROWS, "n_values") for one in n_values]
    _check(columns, sensitive, n_values)
    min_count = max(whole(min_count, 0, 2**63 - 1, "min_count"), 1)
    n_threads = whole(n_threads, 1, MOST_ROWS, "n_threads")
    n = len(columns[0])
    sizes = [len(offsets) - 1 for offsets, _, _ in predicates]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    n_items = int(starts[len(sizes)])
    total_values = sum(n_values)
    if n == 0 or n_items == 0:
        parts = []
    else:
        rows, _ = group(columns, None, n_threads)
        bits = np.zeros((n_items, (n + 63) // 64), np.uint64)
        for a, (column, (offsets, first, last)) in enumerate(zip(columns, predicates)):
            codes = column[rows].astype(np.uint32)
            holders = _holders(offsets, first, last, int(codes.max()) + 1)
            _mark(codes, *holders, bits[starts[a] : starts[a + 1]])
        next_attribute = np.repeat(starts[1:], sizes)
        sensitive_codes = np.empty((len(sensitive), n), np.uint32)
        for s, column in enumerate(sensitive):
            sensitive_codes[s] = column[rows]
        base = np.concatenate([[0], np.cumsum(n_values)]).astype(np.int64)
        step = (n_items + TASKS - 1) // TASKS
        fixed = (bits, next_attribute, sensitive_codes, base, total_values, min_count)
        tasks = [(*fixed, t, min(t + step, n_items), len(columns)) for t in range(0, n_items, step)]
        parts = in_threads(_subtree, tasks, n_threads)
    depth, item, support = (
        np.concatenate([np.empty(0, dtype), *(part[i] for part in parts)])
        for i, dtype in enumerate((np.int32, np.int32, np.int64))
    )
    counts = [np.empty((len(depth), n), np.int64) for n in n_values]
    done = 0
    for *_, part in parts:
        for s, n in enumerate(n_values):
            counts[s][done : done + len(part)] = part[:, sum(n_values[:s]) : sum(n_values[:s]) + n]
        done += len(part)
    column = (np.searchsorted(starts, item, side="right") - 1).astype(np.int32)
    return _parents(depth), column, (item - starts[column]).astype(np.int32), support, counts


def _parents(const int32_t[::1] depth):
    """The nearest population before each that lies one level higher."""
    cdef int64_t i, n = depth.shape[0]
    parents = np.full(n, -1, np.int64)
    cdef int64_t[::1] parent = parents
    cdef int64_t[::1] latest = np.zeros(int(np.max(depth)) + 1 if n else 1, np.int64)
    with nogil:
        for i in range(n):
            latest[depth[i]] = i
            if depth[i] > 0:
                parent[i] = latest[depth[i] - 1]
    return parents
