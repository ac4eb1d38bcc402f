# SPDX-License-Identifier: Apache-2.0
# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Rows -> classes by equal codes; what each class holds of one attribute; the order inside it.

A grouping is in CSR form: class c holds `rows[offsets[c]:offsets[c + 1]]`. Work is cut into blocks
whose size does not depend on the number of threads, so any number gives the same bits.
"""

import numpy as np

from anoncore.doors import array_of, codes_of, parts_of, whole
from anoncore.threads import in_threads

from anoncore.memory cimport Array, extend, fits, growing, reserve, take
from anoncore.sort cimport sort_keys
from anoncore.types cimport code_t, int64_t, row_t, uint8_t, uint16_t, uint32_t, uint64_t

from libc.string cimport memcpy, memset


# One attribute of a key: `codes` has `width` bytes a row and holds codes below `radix`.
cdef struct Column:
    const uint8_t* codes
    int width
    uint64_t radix


def _class_blocks(offsets, block_rows):
    """Cut classes into runs of about `block_rows` rows: [(first class, end class), ...]."""
    n_classes = len(offsets) - 1
    targets = np.arange(block_rows, offsets[n_classes], block_rows)
    cuts = np.unique(np.searchsorted(offsets, targets)).tolist()
    cuts = [0, *(cut for cut in cuts if 0 < cut < n_classes), n_classes]
    return list(zip(cuts, cuts[1:])) if n_classes else []


def _groups_of(rows, offsets, n_rows):
    # The classes, none empty, of a column of n_rows; rows and offsets checked.
    rows = array_of(rows, np.uint32, 1, "rows")
    offsets = parts_of(offsets, len(rows), "offsets")
    if len(rows) and int(rows.max()) >= n_rows:
        raise ValueError("rows: a row number lies beyond the column")
    return rows, offsets


def _work_of(n_threads, block_rows):
    whole(n_threads, 1, 2**31 - 1, "n_threads")
    whole(block_rows, 1, 2**62, "block_rows")


# ---------------------------------------------------------------- group

cdef void pack(const Column* columns, int n_columns, const row_t* rows, int64_t start, int64_t stop,
               uint64_t* key) noexcept nogil:
    # key[i] = mixed-radix number of row i's codes, first column most significant
    cdef int64_t i, low, high
    cdef int c
    cdef uint64_t radix
    cdef const uint8_t* narrow
    cdef const uint16_t* middle
    cdef const uint32_t* wide
    for low in range(start, stop, 4096):
        high = low + 4096 if low + 4096 < stop else stop
        memset(key + low, 0, (high - low) * sizeof(uint64_t))
        for c in range(n_columns):
            radix = columns[c].radix
            if columns[c].width == 1:
                narrow = columns[c].codes
                if rows == NULL:
                    for i in range(low, high):
                        key[i] = key[i] * radix + narrow[i]
                else:
                    for i in range(low, high):
                        key[i] = key[i] * radix + narrow[rows[i]]
            elif columns[c].width == 2:
                middle = <const uint16_t*> columns[c].codes
                if rows == NULL:
                    for i in range(low, high):
                        key[i] = key[i] * radix + middle[i]
                else:
                    for i in range(low, high):
                        key[i] = key[i] * radix + middle[rows[i]]
            else:
                wide = <const uint32_t*> columns[c].codes
                if rows == NULL:
                    for i in range(low, high):
                        key[i] = key[i] * radix + wide[i]
                else:
                    for i in range(low, high):
                        key[i] = key[i] * radix + wide[rows[i]]


cdef Column* columns_of(list keep, list codes, const uint64_t[::1] radices) except NULL:
    # `codes` is to outlive what is read.
    cdef int c
    cdef Column* columns = <Column*> take(keep, len(codes), sizeof(Column))
    cdef const uint8_t[::1] view
    for c in range(<int> len(codes)):
        view = codes[c].view(np.uint8)
        columns[c].codes = &view[0]
        columns[c].width = codes[c].itemsize
        columns[c].radix = radices[c]
    return columns


def _pack_block(list codes, const uint64_t[::1] radices, const uint32_t[::1] rows, int64_t start, int64_t stop,
                int shift, uint64_t[::1] key, int64_t[::1] histogram):
    cdef list keep = []
    cdef int n_columns = <int> len(codes)
    cdef Column* columns = columns_of(keep, codes, radices)
    cdef int64_t i
    cdef const row_t* picked = &rows[0] if rows is not None else NULL
    with nogil:
        pack(columns, n_columns, picked, start, stop, &key[0])
        for i in range(start, stop):
            histogram[<int64_t> (key[i] >> shift)] += 1


def _scatter_block(const uint64_t[::1] key, const uint32_t[::1] rows, int64_t start, int64_t stop, int shift,
                   int64_t[::1] starts, uint64_t[::1] to_key, uint32_t[::1] to_row):
    cdef int64_t i, j, digit
    cdef bint picked = rows is not None
    with nogil:
        for i in range(start, stop):
            digit = <int64_t> (key[i] >> shift)
            j = starts[digit]
            starts[digit] = j + 1
            to_key[j] = key[i]
            to_row[j] = rows[i] if picked else <row_t> i


def _sort_buckets(const int64_t[::1] bounds, int64_t first, int64_t end,
                  uint64_t[::1] key, uint32_t[::1] row, uint64_t[::1] key2, uint32_t[::1] row2):
    """Sort buckets first..end - 1; return how many distinct keys they hold."""
    cdef int64_t b, i, low, high, n_distinct = 0
    cdef uint64_t* home
    cdef uint64_t* one
    cdef uint64_t* other
    cdef row_t* one_row
    cdef row_t* other_row
    with nogil:
        for b in range(first, end):
            low = bounds[b]
            high = bounds[b + 1]
            if low == high:
                continue
            home = one = &key[low]
            one_row = &row[low]
            other = &key2[low]
            other_row = &row2[low]
            sort_keys(&one, &one_row, &other, &other_row, high - low, 0)
            if one != home:
                memcpy(other, one, (high - low) * sizeof(uint64_t))
                memcpy(other_row, one_row, (high - low) * sizeof(row_t))
            n_distinct += 1
            for i in range(low + 1, high):
                n_distinct += key[i] != key[i - 1]
    return n_distinct


def _mark_block(const uint64_t[::1] key, int64_t start, int64_t stop, int64_t[::1] offsets, int64_t n_before):
    """Write the positions in start..stop - 1 at which a class starts."""
    cdef int64_t i
    with nogil:
        for i in range(start, stop):
            if i == 0 or key[i] != key[i - 1]:
                offsets[n_before] = i
                n_before += 1


def _number_block(const int64_t[::1] offsets, const uint32_t[::1] rows, int64_t first, int64_t end, uint32_t[::1] ids):
    cdef int64_t c, i
    with nogil:
        for c in range(first, end):
            for i in range(offsets[c], offsets[c + 1]):
                ids[rows[i]] = <uint32_t> c


def _group_word(columns, radices, rows, n, n_threads, block_rows):
    """Group by columns whose radices multiply to at most 2**64."""
    product = 1
    for radix in radices:
        product *= radix
    bits = (product - 1).bit_length()
    if bits == 0:
        return (np.arange(n, dtype=np.uint32) if rows is None else np.array(rows)), np.array([0, n], np.int64)
    top = min(bits, max(1, min(11, n.bit_length() - 4)))
    shift = bits - top
    radices = np.array(radices, dtype=np.uint64)
    blocks = [(start, min(start + block_rows, n)) for start in range(0, n, block_rows)]
    key = np.empty(n, np.uint64)
    histograms = np.zeros((len(blocks), 1 << top), np.int64)
    in_threads(
        _pack_block,
        [(columns, radices, rows, *block, shift, key, histogram)
         for block, histogram in zip(blocks, histograms)],
        n_threads,
    )
    ends = np.cumsum(histograms.T, dtype=np.int64).reshape(1 << top, len(blocks)).T
    bucket_starts = np.ascontiguousarray(ends - histograms)
    bounds = np.append(bucket_starts[0], n)
    to_key = np.empty(n, np.uint64)
    to_row = np.empty(n, np.uint32)
    in_threads(
        _scatter_block,
        [(key, rows, *block, shift, begin, to_key, to_row) for block, begin in zip(blocks, bucket_starts)],
        n_threads,
    )
    row2 = np.empty(n, np.uint32)
    runs = _class_blocks(bounds, block_rows)
    counts = in_threads(_sort_buckets, [(bounds, *run, to_key, to_row, key, row2) for run in runs], n_threads)
    offsets = np.full(sum(counts) + 1, n, np.int64)
    before = np.cumsum([0] + counts)
    in_threads(
        _mark_block,
        [(to_key, int(bounds[first]), int(bounds[end]), offsets, int(count))
         for (first, end), count in zip(runs, before)],
        n_threads,
    )
    return to_row, offsets


def group(columns, rows=None, n_threads=1, block_rows=1 << 18):
    """Group rows with equal codes in every column.

    `columns` are one-dimensional uint8, uint16 or uint32 arrays of one length; `rows` (uint32,
    distinct) picks the rows to group, all by default. Returns the rows (uint32) class by class, in
    their given order inside a class, and the offsets (int64); classes ascend by their tuple of codes.
    """
    if not isinstance(columns, list | tuple) or not columns:
        raise ValueError("columns must be a list of one column or more")
    columns = [codes_of(column, 1, "columns") for column in columns]
    _work_of(n_threads, block_rows)
    if len({len(column) for column in columns}) != 1:
        raise ValueError("columns must have one length")
    n_rows = len(columns[0])
    if rows is not None:
        rows = array_of(rows, np.uint32, 1, "rows")
        if len(rows) and int(rows.max()) >= n_rows:
            raise ValueError("rows must be row numbers of the columns")
    n = n_rows if rows is None else len(rows)
    if n == 0:
        return np.empty(0, np.uint32), np.zeros(1, np.int64)
    waiting = [(column, int(column.max()) + 1) for column in columns]
    word = []
    product = 1
    while True:
        while waiting and product * waiting[0][1] <= 2**64 and len(word) < 64:
            word.append(waiting.pop(0))
            product *= word[len(word) - 1][1]
        grouped, offsets = _group_word([w[0] for w in word], [w[1] for w in word], rows, n, n_threads, block_rows)
        if not waiting:
            return grouped, offsets
        # the groups so far, numbered in order, lead the next word
        ids = np.zeros(n_rows, np.uint32)
        in_threads(
            _number_block,
            [(offsets, grouped, *run, ids) for run in _class_blocks(offsets, block_rows)],
            n_threads,
        )
        product = len(offsets) - 1
        word = [(ids, product)]


# ---------------------------------------------------------------- classes told apart by further columns

cdef int64_t largest_of(const int64_t[::1] offsets, int64_t first, int64_t end) noexcept nogil:
    cdef int64_t c, largest = 0
    for c in range(first, end):
        largest = max(largest, offsets[c + 1] - offsets[c])
    return largest


cdef int64_t sift(uint64_t* key, row_t* row, int64_t n, uint8_t* buckets) noexcept nogil:
    # Move those of n < 256 keys that share one of 256 `buckets` (zeros, left as zeros) to the front, in order.
    cdef int64_t i, n_left = 0
    for i in range(n):
        buckets[key[i] * <uint64_t> 0x9E3779B97F4A7C15 >> 56] += 1
    for i in range(n):
        if buckets[key[i] * <uint64_t> 0x9E3779B97F4A7C15 >> 56] > 1:
            key[n_left], row[n_left] = key[i], row[i]
            n_left += 1
        else:
            buckets[key[i] * <uint64_t> 0x9E3779B97F4A7C15 >> 56] = 0
    for i in range(n_left):
        buckets[key[i] * <uint64_t> 0x9E3779B97F4A7C15 >> 56] = 0
    return n_left


def _split_block(list codes, const uint64_t[::1] radices, const uint32_t[::1] rows, const int64_t[::1] offsets,
                 int64_t first, int64_t end):
    """Of these classes: how many rows are alone, the rows of the parts that are not, and the sizes of those."""
    cdef list keep = []
    cdef int n_columns = <int> len(codes)
    cdef Column* columns = columns_of(keep, codes, radices)
    cdef int64_t start = offsets[first], n = offsets[end] - start, largest = largest_of(offsets, first, end)
    cdef uint64_t* key = <uint64_t*> take(keep, n, sizeof(uint64_t))
    cdef uint64_t* spare = <uint64_t*> take(keep, largest, sizeof(uint64_t))
    cdef row_t* row = <row_t*> take(keep, n, sizeof(row_t))
    cdef row_t* spare_row = <row_t*> take(keep, largest, sizeof(row_t))
    kept = np.empty(n, np.uint32)
    sizes = np.empty(n // 2, np.int64)
    cdef uint32_t[::1] to_row = kept
    cdef int64_t[::1] size = sizes
    cdef uint64_t* one
    cdef uint64_t* other
    cdef row_t* one_row
    cdef row_t* other_row
    cdef uint8_t buckets[256]
    cdef int64_t c, i, j, low, m, n_alone = 0, n_kept = 0, n_parts = 0
    memset(buckets, 0, 256)
    with nogil:
        pack(columns, n_columns, &rows[start], 0, n, key)
        memcpy(row, &rows[start], n * sizeof(row_t))
        for c in range(first, end):
            low = offsets[c] - start
            m = offsets[c + 1] - offsets[c]
            one = key + low
            one_row = row + low
            other = spare
            other_row = spare_row
            if m < 128:
                n_alone += m
                m = sift(one, one_row, m, buckets)
                n_alone -= m
            sort_keys(&one, &one_row, &other, &other_row, m, 0)
            i = 0
            while i < m:
                j = i + 1
                while j < m and one[j] == one[i]:
                    j += 1
                if j == i + 1:
                    n_alone += 1
                else:
                    fits(n_kept + j - i, n)
                    fits(n_parts + 1, n // 2)
                    memcpy(&to_row[n_kept], one_row + i, (j - i) * sizeof(row_t))
                    n_kept += j - i
                    size[n_parts] = j - i
                    n_parts += 1
                i = j
    return n_alone, kept[:n_kept].copy(), sizes[:n_parts].copy()


def split(columns, rows, offsets, n_threads=1, block_rows=1 << 16):
    """Split classes into parts of rows that agree in further columns too, and leave out rows that are alone.

    `columns` are those of `group`, `rows` (uint32) and `offsets` (int64) the classes, none empty. Returns how
    many rows are alone in their part, and the other parts as rows and offsets: inside a class they ascend by
    their tuple of codes, rows keep their order.
    """
    if not isinstance(columns, list | tuple) or not columns:
        raise ValueError("columns must be a list of one column or more")
    columns = [codes_of(column, 1, "columns") for column in columns]
    if len({len(column) for column in columns}) != 1:
        raise ValueError("columns must have one length")
    rows, offsets = _groups_of(rows, offsets, len(columns[0]))
    _work_of(n_threads, block_rows)
    waiting = [(column, int(column.max(initial=0)) + 1) for column in columns]
    n_alone = 0
    while waiting and len(rows):
        word = []
        product = 1
        while waiting and product * waiting[0][1] <= 2**64 and len(word) < 64:
            word.append(waiting.pop(0))
            product *= word[len(word) - 1][1]
        codes, radices = [column for column, _ in word], np.array([radix for _, radix in word], np.uint64)
        parts = in_threads(
            _split_block,
            [(codes, radices, rows, offsets, *run) for run in _class_blocks(offsets, block_rows)],
            n_threads,
        )
        n_alone += sum(part[0] for part in parts)
        rows = np.concatenate([part[1] for part in parts])
        offsets = np.concatenate([np.zeros(1, np.int64), *(part[2] for part in parts)]).cumsum()
    return n_alone, rows, offsets


cdef enum:
    MOST_PLACES = 1 << 14  # codes of a column that have a place each, 64 KB


# Which codes of two columns are in one row somewhere: `table` (of * n_by + by), or where that were too large
# the pairs in ascending order, `of` in the high 32 bits.
cdef struct Beside:
    const uint8_t* table
    int64_t n_by
    const uint64_t* pairs
    int64_t n_pairs


cdef bint in_pairs(const Beside* known, uint64_t of, uint64_t by) noexcept nogil:
    cdef int64_t low = 0, high = known.n_pairs, middle
    cdef uint64_t pair = of << 32 | by
    while low < high:
        middle = low + (high - low) // 2
        if known.pairs[middle] < pair:
            low = middle + 1
        else:
            high = middle
    return low < known.n_pairs and known.pairs[low] == pair


def _mark_pairs(list codes, const uint64_t[::1] radices, const uint32_t[::1] rows, int64_t start, int64_t stop,
                uint8_t[::1] table):
    # Of rows start..stop - 1 of the columns, or of those that stand there in `rows`.
    cdef list keep = []
    cdef Column* columns = columns_of(keep, codes, radices)
    cdef uint64_t key[4096]
    cdef int64_t i, n, low
    cdef int c
    if rows is None:
        for c in range(2):
            columns[c].codes += start * columns[c].width
    with nogil:
        for low in range(start, stop, 4096):
            n = min(stop - low, 4096)
            if rows is not None:
                pack(columns, 2, &rows[low], 0, n, key)
            else:
                pack(columns, 2, NULL, 0, n, key)
                for c in range(2):
                    columns[c].codes += n * columns[c].width
            for i in range(n):
                table[<int64_t> key[i]] = 1


cdef int64_t keep_distinct(uint64_t* code, int64_t n, int64_t* count, uint32_t* place, int64_t n_places,
                           uint64_t* spare) noexcept nogil:
    # The distinct codes move to the front, with their counts; `place` is of every code, anything, or there is
    # none and the codes are sorted.
    cdef int64_t i, at, n_distinct = 0
    cdef uint64_t* one = code
    cdef uint64_t* other = spare
    if n_places:
        for i in range(n):
            at = place[code[i]]
            if at < n_distinct and code[at] == code[i]:
                count[at] += 1
            else:
                place[code[i]] = <uint32_t> n_distinct
                code[n_distinct] = code[i]
                count[n_distinct] = 1
                n_distinct += 1
        return n_distinct
    sort_keys(&one, NULL, &other, NULL, n, 0)
    if one != code:
        memcpy(code, one, n * sizeof(uint64_t))
    for i in range(n):
        if i == 0 or code[i] != code[n_distinct - 1]:
            code[n_distinct] = code[i]
            count[n_distinct] = 0
            n_distinct += 1
        count[n_distinct - 1] += 1
    return n_distinct


cdef bint all_equal(const uint64_t* code, int64_t n) noexcept nogil:
    cdef int64_t i
    cdef uint64_t differs = 0
    for i in range(1, n):
        differs |= code[i] ^ code[0]
    return differs == 0


cdef int64_t n_in_few(const uint64_t* code, int64_t n, int64_t k, uint32_t* count) noexcept nogil:
    # Rows, k or more, whose code fewer than k of them have; `count` is of every code, zeros, left as zeros.
    cdef int64_t i, n_few = 0
    if all_equal(code, n):
        return 0
    for i in range(n):
        count[code[i]] += 1
    for i in range(n):
        n_few += count[code[i]] < k
    for i in range(n):
        count[code[i]] = 0
    return n_few


def _told_block(list by_codes, const uint64_t[::1] radices, const uint32_t[::1] rows, const int64_t[::1] offsets,
                const uint8_t[::1] looks, int64_t first, int64_t end, int64_t k):
    """Rows of these classes whose code fewer than k rows of the class have; `looks` as in `few_candidates`."""
    cdef list keep = []
    cdef Column* by_column = columns_of(keep, by_codes, radices)
    cdef uint32_t* count = <uint32_t*> take(keep, <int64_t> radices[0], sizeof(uint32_t))
    cdef uint64_t* by = <uint64_t*> take(keep, largest_of(offsets, first, end), sizeof(uint64_t))
    cdef int64_t c, m, n_few = 0
    with nogil:
        for c in range(first, end):
            m = offsets[c + 1] - offsets[c]
            if m < k:
                n_few += m
            elif looks[c]:
                pack(by_column, 1, &rows[offsets[c]], 0, m, by)
                n_few += n_in_few(by, m, k, count)
    return n_few


def _few_block(list of_codes, list by_codes, const uint64_t[::1] radices, const uint8_t[::1] table,
               const uint64_t[::1] pairs, const uint32_t[::1] rows, const int64_t[::1] offsets,
               const uint8_t[::1] looks, int64_t first, int64_t end, int64_t k):
    """Rows of these classes with fewer than k candidates."""
    cdef list keep = []
    cdef Column* of_column = columns_of(keep, of_codes, radices[:1])
    cdef Column* by_column = columns_of(keep, by_codes, radices[1:])
    cdef int64_t largest = largest_of(offsets, first, end)
    cdef uint64_t* left = <uint64_t*> take(keep, largest, sizeof(uint64_t))
    cdef uint64_t* right = <uint64_t*> take(keep, largest, sizeof(uint64_t))
    cdef uint64_t* spare = <uint64_t*> take(keep, largest, sizeof(uint64_t))
    cdef int64_t* n_of = <int64_t*> take(keep, largest, sizeof(int64_t))
    cdef int64_t* n_by = <int64_t*> take(keep, largest, sizeof(int64_t))
    cdef int64_t of_places = <int64_t> radices[0] if radices[0] <= MOST_PLACES else 0
    cdef int64_t by_places = <int64_t> radices[1] if radices[1] <= MOST_PLACES else 0
    cdef uint32_t* place_of = <uint32_t*> take(keep, of_places, sizeof(uint32_t))
    cdef uint32_t* place_by = <uint32_t*> take(keep, by_places, sizeof(uint32_t))
    cdef Beside known
    cdef const uint8_t* beside
    cdef int64_t c, i, j, m, stop, n_left, n_right, total, n_few = 0
    known.table = &table[0] if table is not None else NULL
    known.n_by = <int64_t> radices[1]
    known.pairs = &pairs[0] if pairs is not None else NULL
    known.n_pairs = len(pairs) if pairs is not None else 0
    with nogil:
        for c in range(first, end):
            m = offsets[c + 1] - offsets[c]
            if m < k:
                n_few += m
                continue
            if not looks[c]:
                continue
            pack(of_column, 1, &rows[offsets[c]], 0, m, left)
            if all_equal(left, m):  # every row of the class goes with it
                continue
            n_left = keep_distinct(left, m, n_of, place_of, of_places, spare)
            pack(by_column, 1, &rows[offsets[c]], 0, m, right)
            n_right = keep_distinct(right, m, n_by, place_by, by_places, spare)
            for i in range(n_left):
                total = 0
                j = 0
                while j < n_right and total < k:
                    stop = min(j + 64, n_right)
                    if known.table != NULL:
                        beside = known.table + <int64_t> left[i] * known.n_by
                        for j in range(j, stop):
                            total += n_by[j] * beside[right[j]]
                    else:
                        for j in range(j, stop):
                            if in_pairs(&known, left[i], right[j]):
                                total += n_by[j]
                    j = stop
                if total < k:
                    n_few += n_of[i]
    return n_few


def few_candidates(of, by, rows, offsets, k, ends=None, n_threads=1, block_rows=1 << 16):
    """Count the rows with fewer than k candidates, to whoever knows a row's code in column `of`.

    Candidates are the rows of its class whose code in column `by` is beside the known one in some row, of any
    class. Both columns are uint8, uint16 or uint32 of one length; `rows` (uint32, distinct) and `offsets`
    (int64) are the classes, none empty. With `ends`, two arrays (uint32) with a code for each class between
    which all of its codes in `of` lie, classes are passed over whose codes all go with the same ones.
    """
    of, by = codes_of(of, 1, "of"), codes_of(by, 1, "by")
    if len(of) != len(by):
        raise ValueError("of and by must have one length")
    rows, offsets = _groups_of(rows, offsets, len(of))
    k = whole(k, 0, 2**62, "k")
    _work_of(n_threads, block_rows)
    n = len(rows)
    if not n:
        return 0
    n_of, n_by = int(of.max()) + 1, int(by.max()) + 1
    radices = np.array([n_of, n_by], np.uint64)
    table = pairs = None
    if n_of * n_by <= min(64 * n, 1 << 26):
        # a table for each thread, where they are small
        size = max(-(-n // n_threads), 1 << 16) if n_of * n_by <= 1 << 18 else n
        runs = [(start, min(start + size, n)) for start in range(0, n, size)]
        tables = [np.zeros(n_of * n_by, np.uint8) for _ in runs]
        in_threads(
            _mark_pairs,
            # all rows, in whatever order they stand, are read as the columns stand
            [([of, by], radices, None if n == len(of) else rows, *run, one) for run, one in zip(runs, tables)],
            n_threads,
        )
        table = tables[0]
        for one in tables[1:]:
            table |= one
    else:
        picked, bounds = group([of, by], rows, n_threads)
        firsts = picked[bounds[:len(bounds) - 1]]
        pairs = of[firsts].astype(np.uint64) << np.uint64(32) | by[firsts]
    looks = _looks(ends, len(offsets) - 1, n_of, table)
    runs = _class_blocks(offsets, block_rows)
    # where one column tells the other, the candidates are the rows with the code of the one that is told
    for column, axis in ((by, 1), (of, 0)):
        n_codes = [n_of, n_by][axis]
        if n_codes <= MOST_PLACES and _is_told(table, pairs, n_of, axis):
            radices = np.array([n_codes], np.uint64)
            return sum(in_threads(_told_block, [([column], radices, rows, offsets, looks, *run, k) for run in runs], n_threads))
    return sum(
        in_threads(
            _few_block,
            [([of], [by], radices, table, pairs, rows, offsets, looks, *run, k) for run in runs],
            n_threads,
        )
    )


def _looks(ends, n_classes, n_of, table):
    """Which classes may hold codes that go with different ones (uint8)."""
    if ends is None:
        return np.ones(n_classes, np.uint8)
    low, high = (np.minimum(array_of(end, np.uint32, 1, "ends"), n_of - 1) for end in ends)
    if not len(low) == len(high) == n_classes:
        raise ValueError("ends must be two arrays with a code for each class")
    if table is not None:
        beside = table.reshape(n_of, -1)
        change = np.zeros(n_of, np.int64)
        change[1:] = (beside[1:] != beside[:n_of - 1]).any(axis=1)
        like = change.cumsum()
        low, high = like[low], like[high]
    return (low != high).view(np.uint8)


def _is_told(table, pairs, n_of, axis):
    """Does every code of the first column (axis 1), or of the second (0), stand beside one of the other alone?"""
    if table is not None:
        return bool((np.count_nonzero(table.reshape(n_of, -1), axis=axis) <= 1).all())
    codes = pairs >> np.uint64(32) if axis else np.sort(pairs.astype(np.uint32))
    return bool((codes[1:] != codes[:len(codes) - 1]).all())


# ---------------------------------------------------------------- what a class holds of one column

cdef int64_t count_class(const code_t* codes, const row_t* rows, int64_t size, int64_t n_values,
                         uint32_t* table, uint64_t* code, uint64_t* code2,
                         uint32_t* values, int64_t* counts) noexcept nogil:
    # Distinct codes of one class, ascending, with counts. `table` (n_values zeros, left as zeros)
    # where the class is not much smaller than the domain, a sort otherwise.
    cdef int64_t i, n_present = 0
    if n_values <= 4 * size:
        for i in range(size):
            table[codes[rows[i]]] += 1
        for i in range(n_values):
            if table[i]:
                values[n_present] = <uint32_t> i
                counts[n_present] = table[i]
                table[i] = 0
                n_present += 1
        return n_present
    for i in range(size):
        code[i] = codes[rows[i]]
    sort_keys(&code, NULL, &code2, NULL, size, 0)
    for i in range(size):
        if i == 0 or code[i] != code[i - 1]:
            values[n_present] = <uint32_t> code[i]
            counts[n_present] = 0
            n_present += 1
        counts[n_present - 1] += 1
    return n_present


def _count_block(const code_t[::1] codes, const uint32_t[::1] rows, const int64_t[::1] offsets,
                 int64_t first, int64_t end, int64_t n_values, int64_t[::1] n_present):
    cdef int64_t c, size, largest = 0, bound = 0, position = 0
    for c in range(first, end):
        size = offsets[c + 1] - offsets[c]
        largest = max(largest, size)
        bound += min(size, n_values)
    cdef list keep = []
    cdef uint32_t* table = <uint32_t*> take(keep, n_values if n_values <= 4 * largest else 0, sizeof(uint32_t))
    cdef uint64_t* code = <uint64_t*> take(keep, largest, sizeof(uint64_t))
    cdef uint64_t* code2 = <uint64_t*> take(keep, largest, sizeof(uint64_t))
    values = np.empty(bound, np.uint32)
    counts = np.empty(bound, np.int64)
    cdef uint32_t[::1] value = values
    cdef int64_t[::1] count = counts
    with nogil:
        for c in range(first, end):
            size = offsets[c + 1] - offsets[c]
            fits(position + min(size, n_values), bound)
            n_present[c] = count_class(&codes[0], &rows[offsets[c]], size, n_values, table, code, code2,
                                       &value[position], &count[position])
            position += n_present[c]
    return values[:position], counts[:position]


def value_counts(codes, rows, offsets, n_values, n_threads=1, block_rows=1 << 17):
    """Count the values of one code column in every class.

    `codes` (uint8, uint16 or uint32, all below `n_values`) is a column of the table, `rows` (uint32)
    and `offsets` (int64) the classes, none empty. Returns `value_offsets` (int64, n_classes + 1),
    `values` (uint32, ascending inside a class) and `counts` (int64, > 0).
    """
    codes = codes_of(codes, 1, "codes")
    rows, offsets = _groups_of(rows, offsets, len(codes))
    n_values = whole(n_values, 0, 2**32, "n_values")
    _work_of(n_threads, block_rows)
    if len(codes) and int(codes.max()) >= n_values:
        raise ValueError("codes: one is not below n_values")
    n_present = np.zeros(len(offsets), np.int64)
    parts = in_threads(
        _count_block,
        [(codes, rows, offsets, *run, n_values, n_present[1:]) for run in _class_blocks(offsets, block_rows)],
        n_threads,
    )
    value_offsets = np.cumsum(n_present, dtype=np.int64)
    end = int(n_present.sum())
    values, counts = np.empty(end, np.uint32), np.empty(end, np.int64)
    while parts:  # a part goes as soon as it is copied
        some_values, some_counts = parts.pop()
        start = end - len(some_values)
        values[start:end] = some_values
        counts[start:end] = some_counts
        end = start
    return value_offsets, values, counts


def _box_block(const code_t[::1] codes, const uint32_t[::1] rows, const int64_t[::1] offsets,
               int64_t first, int64_t end, int64_t null_code,
               uint32_t[::1] low, uint32_t[::1] high, uint8_t[::1] null):
    cdef int64_t c, i
    cdef uint32_t code, least, most
    cdef uint8_t missing
    cdef bint has_value
    with nogil:
        for c in range(first, end):
            has_value = False
            missing = 0
            least = 1
            most = 0
            for i in range(offsets[c], offsets[c + 1]):
                code = codes[rows[i]]
                if code == null_code:
                    missing = 1
                elif not has_value:
                    has_value = True
                    least = most = code
                else:
                    least = min(least, code)
                    most = max(most, code)
            low[c] = least
            high[c] = most
            null[c] = missing


def boxes(codes, rows, offsets, null_code=-1, n_threads=1, block_rows=1 << 17):
    """Lowest and highest code of every class in one code column, and whether the class holds null.

    `null_code` (-1: none) is left out of low and high (uint32); a class of nulls only has low 1 and
    high 0. Other arguments as in `value_counts`. Returns low, high and null (bool).
    """
    codes = codes_of(codes, 1, "codes")
    rows, offsets = _groups_of(rows, offsets, len(codes))
    null_code = whole(null_code, -1, 2**32 - 1, "null_code")
    _work_of(n_threads, block_rows)
    n_classes = len(offsets) - 1
    low, high, null = np.empty(n_classes, np.uint32), np.empty(n_classes, np.uint32), np.empty(n_classes, np.uint8)
    in_threads(
        _box_block,
        [(codes, rows, offsets, *run, null_code, low, high, null) for run in _class_blocks(offsets, block_rows)],
        n_threads,
    )
    return low, high, null.view(np.bool_)


# ---------------------------------------------------------------- order inside classes

def _shuffle_block(const int64_t[::1] offsets, int64_t first, int64_t end, const uint64_t[::1] random,
                   uint32_t[::1] rows):
    cdef int64_t c, i, j, start
    cdef uint32_t kept
    with nogil:
        for c in range(first, end):
            start = offsets[c]
            for i in range(offsets[c + 1] - 1, start, -1):
                j = start + <int64_t> (random[i] % <uint64_t> (i - start + 1))
                kept = rows[i]
                rows[i] = rows[j]
                rows[j] = kept


def shuffle(rows, offsets, random, n_threads=1, block_rows=1 << 18):
    """Rows permuted inside every class (Fisher-Yates); `random` (uint64) holds one number per row.

    Returns a new array; with uniform random numbers every order of a class of s rows is drawn with
    equal chance up to s / 2**64.
    """
    rows, offsets = _groups_of(rows, offsets, 2**32)
    rows, random = rows.copy(), array_of(random, np.uint64, 1, "random")
    _work_of(n_threads, block_rows)
    if len(random) != len(rows):
        raise ValueError("random must hold one number per row")
    in_threads(
        _shuffle_block,
        [(offsets, *run, random, rows) for run in _class_blocks(offsets, block_rows)],
        n_threads,
    )
    return rows


# ---------------------------------------------------------------- points inside boxes

# The distinct cells of one attribute, and the cell of every box; `ends` is NULL but for sets.
cdef struct Sides:
    const uint32_t* of_box
    const uint32_t* low
    const uint32_t* high
    const uint8_t* null
    const int64_t* ends
    const uint32_t* codes
    int64_t null_code


cdef bint holds(const Sides* side, uint32_t cell, uint32_t code) noexcept nogil:
    # Is one code inside a cell?
    cdef int64_t low, high, middle
    if code == side.null_code:
        return side.null[cell]
    if code < side.low[cell] or code > side.high[cell]:
        return False
    if side.ends == NULL:
        return True
    low = side.ends[cell]
    high = side.ends[cell + 1]
    while low < high:
        middle = low + (high - low) // 2
        if side.codes[middle] < code:
            low = middle + 1
        else:
            high = middle
    return low < side.ends[cell + 1] and side.codes[low] == code


cdef int compare(const Sides* side, uint32_t cell, uint32_t least, uint32_t most) noexcept nogil:
    # Codes least..most against a cell: 0 none inside, 2 all inside, 1 unknown.
    cdef bint null = side.null[cell]
    if least == most:
        return 2 if holds(side, cell, least) else 0
    if (most < side.low[cell] or least > side.high[cell]) and not (null and most == side.null_code):
        return 0
    if side.ends != NULL or least < side.low[cell]:
        return 1
    if most <= side.high[cell] or (null and most == side.null_code and side.high[cell] + 1 == most):
        return 2
    return 1


cdef inline uint32_t median(uint32_t a, uint32_t b, uint32_t c) noexcept nogil:
    return max(min(a, b), min(max(a, b), c))


cdef inline uint32_t code_at(const uint32_t* points, int64_t m, int64_t axis, const uint32_t* order,
                             int64_t i) noexcept nogil:
    return points[order[i] * m + axis]


cdef uint32_t pivot_of(const uint32_t* points, int64_t m, int64_t axis, const uint32_t* order,
                       int64_t low, int64_t high) noexcept nogil:
    # Median of the first, middle and last code, or of nine codes' in threes: the middle one alone makes
    # columns that rise and fall quadratic.
    cdef int64_t step = (high - 1 - low) // 8, i, middle = low + (high - low) // 2
    cdef uint32_t third[3]
    if high - low < 64:
        return median(code_at(points, m, axis, order, low), code_at(points, m, axis, order, middle),
                      code_at(points, m, axis, order, high - 1))
    for i in range(3):
        third[i] = median(code_at(points, m, axis, order, low + 3 * i * step),
                          code_at(points, m, axis, order, low + (3 * i + 1) * step),
                          code_at(points, m, axis, order, low + (3 * i + 2) * step))
    return median(third[0], third[1], third[2])


cdef void place_median(const uint32_t* points, int64_t m, int64_t axis, uint32_t* order,
                       int64_t low, int64_t high, int64_t middle) noexcept nogil:
    # Reorder order[low:high] so that position `middle` splits it by the points' code on `axis`.
    cdef int64_t below, above, i
    cdef uint32_t pivot, code, kept
    while high - low > 1:
        pivot = pivot_of(points, m, axis, order, low, high)
        below = low
        above = high
        i = low
        while i < above:
            kept = order[i]
            code = points[kept * m + axis]
            if code < pivot:
                order[i] = order[below]
                order[below] = kept
                below += 1
                i += 1
            elif code > pivot:
                above -= 1
                order[i] = order[above]
                order[above] = kept
            else:
                i += 1
        if middle < below:
            high = below
        elif middle >= above:
            low = above
        else:
            return


cdef void build(const uint32_t* points, int64_t m, const double* widths, uint32_t* order, int64_t low, int64_t high,
                int64_t node, uint32_t* least, uint32_t* most) noexcept nogil:
    # Boxes of the node over order[low:high], halved down to 16 points at the median of the axis that is widest
    # beside the boxes to come, whose mean widths are given: the fewest of them reach into both halves.
    cdef int64_t i, a, axis = 0
    cdef uint32_t code
    cdef double width, widest = 0
    for a in range(m):
        least[node * m + a] = most[node * m + a] = points[order[low] * m + a]
        for i in range(low + 1, high):
            code = points[order[i] * m + a]
            least[node * m + a] = min(least[node * m + a], code)
            most[node * m + a] = max(most[node * m + a], code)
        width = (most[node * m + a] - least[node * m + a]) / widths[a]
        if width > widest:
            axis, widest = a, width
    if high - low > 16:
        i = low + (high - low) // 2
        place_median(points, m, axis, order, low, high, i)
        build(points, m, widths, order, low, i, 2 * node + 1, least, most)
        build(points, m, widths, order, i, high, 2 * node + 2, least, most)


def _build_tree(const uint32_t[:, ::1] points, const double[::1] widths, uint32_t[::1] order, uint32_t[:, ::1] least,
                uint32_t[:, ::1] most):
    cdef int64_t n = points.shape[0], m = points.shape[1]
    with nogil:
        build(&points[0, 0], m, &widths[0], &order[0], 0, n, 0, &least[0, 0], &most[0, 0])


cdef inline bint add_rows(Array* found, const uint32_t* rows, int64_t first, int64_t end) noexcept nogil:
    # Append rows[first:end]; False where memory is short.
    if not reserve(found, end - first):
        return False
    memcpy(extend(found, end - first), rows + first, (end - first) * sizeof(uint32_t))
    return True


def _count_boxes(list cells, const uint32_t[:, ::1] points, const int64_t[::1] sums, const uint32_t[:, ::1] least,
                 const uint32_t[:, ::1] most, int64_t first, int64_t end, int64_t[::1] counts,
                 const uint32_t[::1] rows, int64_t limit):
    # Each cell: of_box, low, high, null (uint8), null_code, set_offsets or None, set_codes. Point i is
    # rows[sums[i]:sums[i + 1]]. Up to `limit` rows are found (-1: only counted): those of all boxes, one behind
    # the other, are returned; None where there are more.
    cdef list keep = []
    cdef int64_t m = points.shape[1]
    cdef Sides* sides = <Sides*> take(keep, m, sizeof(Sides))
    cdef int64_t nodes[64]
    cdef int64_t lows[64]
    cdef int64_t highs[64]
    cdef int64_t box, a, i, node, low, high, total, depth
    cdef int relation, inside
    cdef bint finds = limit >= 0, is_short = False
    cdef Array* found = growing(keep, 1, sizeof(uint32_t))
    cdef uint32_t[::1] taken
    cdef const uint32_t[::1] of_box, lowest, highest, codes
    cdef const uint8_t[::1] null
    cdef const int64_t[::1] ends
    for a in range(m):
        of_box, lowest, highest, null, sides[a].null_code = cells[a][:5]
        sides[a].of_box = &of_box[0]
        sides[a].low = &lowest[0]
        sides[a].high = &highest[0]
        sides[a].null = &null[0]
        if cells[a][5] is not None:
            ends, codes = cells[a][5:]
            sides[a].ends = &ends[0]
            sides[a].codes = &codes[0] if codes.shape[0] else NULL
    with nogil:
        for box in range(first, end):
            total = 0
            depth = 1
            nodes[0] = lows[0] = 0
            highs[0] = points.shape[0]
            while depth > 0 and not is_short and (not finds or found.length <= limit):
                depth -= 1
                node = nodes[depth]
                low = lows[depth]
                high = highs[depth]
                inside = 2
                for a in range(m):
                    relation = compare(&sides[a], sides[a].of_box[box], least[node, a], most[node, a])
                    inside = min(inside, relation)
                    if inside == 0:
                        break
                if inside == 2:
                    if finds and not add_rows(found, &rows[0], sums[low], sums[high]):
                        is_short = True
                    total += sums[high] - sums[low]
                elif inside == 1 and high - low <= 16:
                    for i in range(low, high):
                        for a in range(m):
                            if not holds(&sides[a], sides[a].of_box[box], points[i, a]):
                                break
                        else:
                            if finds and not add_rows(found, &rows[0], sums[i], sums[i + 1]):
                                is_short = True
                            total += sums[i + 1] - sums[i]
                elif inside == 1:
                    i = low + (high - low) // 2
                    fits(depth + 2, 64)
                    nodes[depth] = 2 * node + 1
                    lows[depth] = low
                    highs[depth] = i
                    nodes[depth + 1] = 2 * node + 2
                    lows[depth + 1] = i
                    highs[depth + 1] = high
                    depth += 2
            counts[box] = total
    if is_short:
        raise MemoryError
    if not finds or found.length > limit:
        return None
    made = np.empty(found.length, np.uint32)
    if found.length:
        taken = made
        memcpy(&taken[0], found.at, found.length * sizeof(uint32_t))
    return made


def _cells_of(cell):
    # One attribute's cells, checked: of_box, low, high, null (uint8), null_code, set_offsets or None, set_codes.
    if not isinstance(cell, list | tuple) or len(cell) != 7:
        raise ValueError("cells must hold of_box, low, high, null, null_code, set_offsets and set_codes")
    of_box, low, high = (array_of(cell[i], np.uint32, 1, "cells") for i in range(3))
    null = array_of(cell[3], np.bool_, 1, "null").view(np.uint8)
    null_code = whole(cell[4], -1, 2**32 - 1, "null_code")
    if not len(low) == len(high) == len(null) or (len(of_box) and int(of_box.max()) >= len(low)):
        raise ValueError("cells: of_box must name one of the cells low, high and null")
    if cell[5] is None:
        return of_box, low, high, null, null_code, None, None
    codes = array_of(cell[6], np.uint32, 1, "set_codes")
    ends = array_of(cell[5], np.int64, 1, "set_offsets")
    if len(ends) != len(low) + 1 or ends[0] < 0 or (ends[1:] < ends[:len(low)]).any() or ends[len(low)] > len(codes):
        raise ValueError("cells: set_offsets must hold n_cells + 1 positions in set_codes, not descending")
    return of_box, low, high, null, null_code, ends, codes


def count_inside(columns, cells, n_threads=1, block=1 << 12):
    """Count the rows of a table inside each of many boxes.

    `columns` are code columns (uint8, uint16 or uint32). `cells` holds per column (of_box,
    low, high, null, null_code, set_offsets, set_codes): box b shows cell of_box[b], which covers the
    codes low..high (uint32), `null_code` (-1: none) if `null` (bool), and of low..high only those of its
    ascending set where set_offsets is not None. Returns int64, one per box. A k-d tree over the distinct
    rows lets a box pass over what lies outside it or wholly inside.
    """
    columns, kept, n_boxes = _boxes_of("count_inside", columns, cells, n_threads, block)
    counts = np.zeros(n_boxes, np.int64)
    tree = _tree_of(columns, kept, n_boxes, n_threads)
    if tree is not None:
        _each_box(kept, tree, counts, -1, n_threads, block)
    return counts


def find_inside(columns, cells, most, n_threads=1, block=1 << 12):
    """The rows of a table inside each of many boxes; arguments as for `count_inside`.

    Returns offsets (int64, one per box and one) and rows (uint32): those inside box b are
    rows[offsets[b]:offsets[b + 1]], equal ones side by side, in no order that means anything. Where they would
    be more than `most` together, None.
    """
    columns, kept, n_boxes = _boxes_of("find_inside", columns, cells, n_threads, block)
    whole(most, 0, 2**62, "most")
    offsets = np.zeros(n_boxes + 1, np.int64)
    tree = _tree_of(columns, kept, n_boxes, n_threads)
    if tree is None:
        return offsets, np.empty(0, np.uint32)
    found = _each_box(kept, tree, offsets[1:], most, n_threads, block)
    np.cumsum(offsets, out=offsets)
    if any(part is None for part in found) or offsets[n_boxes] > most:
        return None
    return offsets, np.concatenate(found)


def _boxes_of(name, columns, cells, n_threads, block):
    # The columns and cells, checked, and the number of boxes.
    if not isinstance(columns, list | tuple) or not isinstance(cells, list | tuple) or not 0 < len(columns) == len(cells):
        raise ValueError(f"{name} needs columns, one or more, each with its cells")
    columns = [codes_of(column, 1, "columns") for column in columns]
    _work_of(n_threads, block)
    kept = [_cells_of(cell) for cell in cells]
    if len({len(cell[0]) for cell in kept}) != 1:
        raise ValueError("cells: of_box must name a cell for each box")
    return columns, kept, len(kept[0][0])


def _tree_of(columns, cells, n_boxes, n_threads):
    # A k-d tree of the distinct rows: points, where the rows of each begin, boxes of the nodes, rows.
    rows, offsets = group(columns, None, n_threads)
    n = len(offsets) - 1
    if n == 0 or n_boxes == 0:
        return None
    firsts = rows[offsets[:n]]
    points = np.ascontiguousarray(np.stack([column[firsts] for column in columns], axis=1).astype(np.uint32))
    order = np.arange(n, dtype=np.uint32)
    n_nodes = 1
    while (n >> (n_nodes.bit_length() - 1)) > 8:
        n_nodes = 2 * n_nodes + 1
    least = np.empty((n_nodes, len(columns)), np.uint32)
    most = np.empty((n_nodes, len(columns)), np.uint32)
    widths = np.array([1 + _mean_width(*cell[:3]) for cell in cells])
    _build_tree(points, widths, order, least, most)
    sizes = np.diff(offsets)[order]
    sums = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    rows = rows[np.repeat(offsets[:n][order] - sums[:n], sizes) + np.arange(sums[n])]
    return np.ascontiguousarray(points[order]), sums, least, most, rows


def _mean_width(of_box, low, high):
    return (np.maximum(high, low) - low)[of_box].mean(dtype=np.float64)


def _each_box(kept, tree, counts, most_found, n_threads, block):
    points, sums, least, most, rows = tree
    return in_threads(
        _count_boxes,
        [(kept, points, sums, least, most, first, min(first + block, len(counts)), counts, rows, most_found)
         for first in range(0, len(counts), block)],
        n_threads,
    )


# ---------------------------------------------------------------- elements of two families of sets

# Element e is in sets[starts[e]:starts[e + 1]]; set s holds members[bounds[s]:bounds[s + 1]].
cdef struct Family:
    const int64_t* starts
    const uint32_t* sets
    const int64_t* bounds
    const uint32_t* members
    uint32_t* marked        # per set: the number of the element for which it was marked last


def _count_common(list families, const int64_t[::1] weights, const uint32_t[::1] elements, int64_t first, int64_t end,
                  int64_t[::1] counts):
    cdef list keep = []
    cdef Family* of = <Family*> take(keep, 2, sizeof(Family))
    cdef uint32_t* seen = <uint32_t*> take(keep, weights.shape[0], sizeof(uint32_t))
    cdef const int64_t[::1] starts, bounds
    cdef const uint32_t[::1] sets, members
    cdef Family* near
    cdef Family* far
    cdef int64_t at, e, i, j, k, cost, total
    cdef uint32_t mark, other
    for i in range(2):
        starts, sets, bounds, members = families[i]
        of[i].starts = &starts[0]
        of[i].sets = &sets[0] if sets.shape[0] else NULL
        of[i].bounds = &bounds[0]
        of[i].members = &members[0] if members.shape[0] else NULL
        of[i].marked = <uint32_t*> take(keep, bounds.shape[0], sizeof(uint32_t))
    with nogil:
        for at in range(first, end):
            e = elements[at] if elements is not None else at
            mark = at - first + 1
            cost = total = 0
            for i in range(2):
                for j in range(of[i].starts[e], of[i].starts[e + 1]):
                    other = of[i].sets[j]
                    of[i].marked[other] = mark
                    cost += (1 - 2 * i) * (of[i].bounds[other + 1] - of[i].bounds[other])
            near = &of[0] if cost <= 0 else &of[1]
            far = &of[1] if cost <= 0 else &of[0]
            for i in range(near.starts[e], near.starts[e + 1]):
                for j in range(near.bounds[near.sets[i]], near.bounds[near.sets[i] + 1]):
                    other = near.members[j]
                    if seen[other] == mark:
                        continue
                    seen[other] = mark
                    for k in range(far.starts[other], far.starts[other + 1]):
                        if far.marked[far.sets[k]] == mark:
                            total += weights[other]
                            break
            counts[at] = total


def count_common(first, second, weights, n_threads=1, block=1 << 12, elements=None):
    """For each element the weight of those that share a set of both families with it, its own among them.

    `first` and `second` each say of every element which sets of a family it is in: offsets (int64, one per
    element and one) and sets (uint32, in CSR form). `weights` (int64, >= 0) has one entry per element.
    Returns int64, one per element, or per each of `elements` (uint32): 0 for those that are in no set of one of
    the two.
    """
    weights = array_of(weights, np.int64, 1, "weights")
    n = len(weights)
    if n and (int(weights.min()) < 0 or weights.sum(dtype=np.float64) > 2.0**62):
        raise ValueError("weights must be at least 0, and their sum at most 2**62")
    if n > 2**32 - 1:
        raise ValueError("weights has more than 2**32 - 1 elements")
    whole(n_threads, 1, 2**31 - 1, "n_threads")
    whole(block, 1, 2**32 - 2, "block")
    families = [_family_of(*family) for family in (("first", first, n), ("second", second, n))]
    if elements is not None:
        elements = array_of(elements, np.uint32, 1, "elements")
        if len(elements) and int(elements.max()) >= n:
            raise ValueError("elements: there is no element of such a number")
    counts = np.zeros(n if elements is None else len(elements), np.int64)
    in_threads(
        _count_common,
        [
            (families, weights, elements, start, min(start + block, len(counts)), counts)
            for start in range(0, len(counts), block)
        ],
        n_threads,
    )
    return counts


def _family_of(name, given, n):
    # Sets by element, checked, and elements by set.
    if not isinstance(given, list | tuple) or len(given) != 2:
        raise ValueError(f"{name} must hold offsets and sets")
    sets = array_of(given[1], np.uint32, 1, name)
    starts = parts_of(given[0], len(sets), name, True)
    if len(starts) != n + 1:
        raise ValueError(f"{name}: {n} elements but {len(starts) - 1} lists of sets")
    members = np.repeat(np.arange(n, dtype=np.uint32), np.diff(starts))
    order, bounds = group([sets], None)
    dense = np.empty(len(sets), np.uint32)
    dense[order] = np.repeat(np.arange(len(bounds) - 1, dtype=np.uint32), np.diff(bounds))
    return starts, dense, bounds, members[order]
