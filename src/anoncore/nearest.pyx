# SPDX-License-Identifier: Apache-2.0
# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""What a release shows nearest to a person: rows, what their classes hold, and how many rows are expected there.

A release is boxes: box b shows cell `cells[a, b]` of attribute a, for `sizes[b]` rows. What person t has of
attribute a lies `parts[a][picks[a, t], cell]` from each cell (a distance, or the share of the cell that it is).
Every person is looked at apart, and boxes are taken in their order, so that threads change nothing. Boxes
that follow each other and share their first cells share what these add up to, and are passed over together
where that is too much: boxes that are sorted are a tree, and most of it is never seen.
"""

import numpy as np

from libc.math cimport INFINITY

from anoncore.doors import MOST_ROWS, array_of, given, parts_of, whole
from anoncore.hash cimport mixed
from anoncore.memory cimport take
from anoncore.threads import in_threads
from anoncore.types cimport int64_t, uint16_t, uint32_t, uint64_t

AT_ONCE = 16  # persons of a task
cdef int64_t SAMPLED = 64  # of so many boxes one is looked at first, for a bound


cdef struct Part:
    const double* table     # a row for each value
    int64_t n_cells
    const uint32_t* cell    # of each box
    const uint32_t* pick    # of each person


cdef class _Boxes:
    """Attributes of boxes and persons, checked."""

    cdef list keep
    cdef Part* parts
    cdef const uint16_t* shared  # how many of the first cells of a box are those of the box before
    cdef int64_t n_parts
    cdef readonly int64_t n_boxes
    cdef readonly int64_t n_persons

    def __cinit__(self, cells, parts, picks):
        cdef const double[:, ::1] table
        cdef const uint32_t[:, ::1] cell, pick
        given(parts=parts)
        cells, picks = array_of(cells, np.uint32, 2, "cells"), array_of(picks, np.uint32, 2, "picks")
        parts = [array_of(part, np.float64, 2, "parts") for part in parts]
        cdef const uint16_t[::1] same
        if not len(cells) == len(parts) == len(picks) or not 0 < len(parts) < 2**16:
            raise ValueError("cells, parts and picks must each have a row for every attribute, and there must be one")
        for part, of_boxes, of_persons in zip(parts, cells, picks):
            if not (part >= 0).all() or not np.isfinite(part).all():
                raise ValueError("parts must be finite numbers of at least 0")
            if (len(of_persons) and int(of_persons.max()) >= part.shape[0]) or (
                len(of_boxes) and int(of_boxes.max()) >= part.shape[1]
            ):
                raise ValueError("a box or a person has a cell or a value that parts lack")
        change = cells[:, 1:] != cells[:, : max(cells.shape[1] - 1, 0)]
        first = np.where(change.any(axis=0), change.argmax(axis=0), len(parts))
        same = shared = np.concatenate([np.zeros(1), first]).astype(np.uint16)
        self.shared = &same[0]
        self.keep = [cells, parts, picks, shared]
        self.n_parts, self.n_boxes, self.n_persons = len(parts), cells.shape[1], picks.shape[1]
        self.parts = <Part*>take(self.keep, self.n_parts, sizeof(Part))
        cell, pick = cells, picks
        for a in range(self.n_parts):
            table = parts[a]
            self.parts[a].n_cells = table.shape[1]
            self.parts[a].table = &table[0, 0] if table.size else NULL
            self.parts[a].cell = &cell[a, 0] if self.n_boxes else NULL
            self.parts[a].pick = &pick[a, 0] if self.n_persons else NULL


cdef inline double part_of(const Part* part, int64_t box, int64_t person) noexcept nogil:
    return part.table[part.pick[person] * part.n_cells + part.cell[box]]


cdef int64_t next_within(const Part* parts, int64_t n_parts, const uint16_t* shared, int64_t n_boxes, int64_t box,
                         int64_t person, double most, double* sums) noexcept nogil:
    # The first box from `box` on whose distance is at most `most`, n_boxes if none; sums[n_parts] is the distance.
    # sums[a] is that of the first a cells of the box before.
    cdef int64_t a = shared[box] if box < n_boxes else 0
    while box < n_boxes:
        while a < n_parts:
            sums[a + 1] = sums[a] + part_of(&parts[a], box, person)
            if sums[a + 1] > most:
                break
            a += 1
        if a == n_parts and sums[n_parts] <= most:
            return box
        box += 1
        while box < n_boxes and shared[box] > a:
            box += 1
        if box < n_boxes:
            a = shared[box]
    return n_boxes


cdef double bound(const Part* parts, int64_t n_parts, int64_t n_boxes, int64_t person) noexcept nogil:
    # The least distance of some of the boxes.
    cdef double least = INFINITY, near
    cdef int64_t a, box = 0
    while box < n_boxes:
        near = 0.0
        for a in range(n_parts):
            near += part_of(&parts[a], box, person)
            if near > least:
                break
        if near < least:
            least = near
        box += SAMPLED
    return least


def _rows(_Boxes boxes, const int64_t[::1] offsets, const uint64_t[::1] salts, int64_t n_neighbors, int64_t first,
          int64_t end, int64_t[:, ::1] out):
    cdef list keep = []
    cdef double* apart = <double*>take(keep, n_neighbors, sizeof(double))
    cdef uint64_t* order = <uint64_t*>take(keep, n_neighbors, sizeof(uint64_t))
    cdef const Part* parts = boxes.parts
    cdef double* sums = <double*>take(keep, boxes.n_parts + 1, sizeof(double))
    cdef int64_t t, b, row, n, i, n_parts = boxes.n_parts, n_boxes = boxes.n_boxes
    cdef double near, most
    cdef uint64_t key
    with nogil:
        for t in range(first, end):
            n = 0
            most = bound(parts, n_parts, n_boxes, t) if n_neighbors == 1 else INFINITY
            b = -1
            while True:
                b = next_within(parts, n_parts, boxes.shared, n_boxes, b + 1, t, most, sums)
                if b == n_boxes:
                    break
                near = sums[n_parts]
                for row in range(offsets[b], offsets[b + 1]):
                    key = mixed(salts[t] ^ mixed(<uint64_t> row))
                    if n == n_neighbors and (near > apart[n - 1] or (near == apart[n - 1] and key >= order[n - 1])):
                        continue
                    i = n if n < n_neighbors else n - 1
                    while i > 0 and (near < apart[i - 1] or (near == apart[i - 1] and key < order[i - 1])):
                        apart[i], order[i], out[t, i] = apart[i - 1], order[i - 1], out[t, i - 1]
                        i -= 1
                    apart[i], order[i], out[t, i] = near, key, row
                    if n < n_neighbors:
                        n += 1
                    if n == n_neighbors:
                        most = apart[n - 1]


def rows(cells, parts, picks, offsets, salts, n_neighbors, n_threads=1):
    """For each person the rows that lie nearest (int64, persons x n_neighbors; -1 where there are fewer).

    The distance of a box is the sum of `parts`. Box b has the rows `offsets[b]`..`offsets[b + 1] - 1`; among
    rows equally near those with the least hash of person's salt (`salts`, uint64) and row come first, which is
    a random order of them for each person.
    """
    boxes = _Boxes(cells, parts, picks)
    offsets = array_of(offsets, np.int64, 1, "offsets")
    n_rows = whole(offsets.max(initial=0), 0, MOST_ROWS, "the number of rows")
    offsets = parts_of(offsets, n_rows, "offsets")
    salts = array_of(salts, np.uint64, 1, "salts")
    n_neighbors = whole(n_neighbors, 1, 1 << 20, "n_neighbors")
    n_threads = whole(n_threads, 1, MOST_ROWS, "n_threads")
    if len(offsets) - 1 != boxes.n_boxes or len(salts) != boxes.n_persons:
        raise ValueError("every box needs its rows, every person its salt")
    out = np.full((boxes.n_persons, n_neighbors), -1, np.int64)
    fixed = (boxes, offsets, salts, n_neighbors)
    starts = range(0, boxes.n_persons, AT_ONCE)
    in_threads(_rows, [(*fixed, low, min(low + AT_ONCE, boxes.n_persons), out) for low in starts], n_threads)
    return out


def _guesses(_Boxes boxes, const double[::1] shares, const uint32_t[::1] groups, const int64_t[::1] offsets,
             const uint32_t[::1] values, const int64_t[::1] counts, int64_t n_values, int64_t first, int64_t end,
             int64_t[::1] guess):
    cdef list keep = []
    cdef double* votes = <double*>take(keep, n_values, sizeof(double))
    cdef uint32_t* voted = <uint32_t*>take(keep, n_values, sizeof(uint32_t))
    cdef const Part* parts = boxes.parts
    cdef double* sums = <double*>take(keep, boxes.n_parts + 1, sizeof(double))
    cdef int64_t t, b, e, v, n_voted, n_parts = boxes.n_parts, n_boxes = boxes.n_boxes
    cdef double near, most
    with nogil:
        for t in range(first, end):
            most = bound(parts, n_parts, n_boxes, t)
            n_voted = 0
            b = -1
            while True:
                b = next_within(parts, n_parts, boxes.shared, n_boxes, b + 1, t, most, sums)
                if b == n_boxes:
                    break
                near = sums[n_parts]
                if near < most:
                    for v in range(n_voted):
                        votes[voted[v]] = 0.0
                    n_voted = 0
                    most = near
                for e in range(offsets[groups[b]], offsets[groups[b] + 1]):
                    v = values[e]
                    if votes[v] == 0.0:
                        voted[n_voted] = <uint32_t> v
                        n_voted += 1
                    votes[v] += shares[b] * <double> counts[e]
            for e in range(n_voted):
                v = voted[e]
                if guess[t] < 0 or votes[v] > votes[guess[t]] or (votes[v] == votes[guess[t]] and v < guess[t]):
                    guess[t] = v
            for e in range(n_voted):
                votes[voted[e]] = 0.0


def guesses(cells, parts, picks, shares, groups, offsets, values, counts, n_values, n_threads=1):
    """For each person the most frequent sensitive value of the nearest boxes (int64); the least of several.

    All boxes at the least distance vote. Box b has the sensitive values of its group, `groups[b]` (uint32):
    group g holds the codes `values[offsets[g]:offsets[g + 1]]` (uint32, below `n_values`) `counts` times each
    (int64, above 0), of which the box has the share `shares[b]` (float64, above 0). -1 without boxes.
    """
    boxes = _Boxes(cells, parts, picks)
    n_values = whole(n_values, 1, MOST_ROWS, "n_values")
    n_threads = whole(n_threads, 1, MOST_ROWS, "n_threads")
    shares, groups = array_of(shares, np.float64, 1, "shares"), array_of(groups, np.uint32, 1, "groups")
    values, counts = array_of(values, np.uint32, 1, "values"), array_of(counts, np.int64, 1, "counts")
    offsets = parts_of(offsets, len(values), "offsets")
    if not len(shares) == len(groups) == boxes.n_boxes or len(counts) != len(values):
        raise ValueError("every box needs a share and a group, every value its count")
    if len(groups) and int(groups.max()) >= len(offsets) - 1:
        raise ValueError("a box is of a group that does not exist")
    if len(values) and int(values.max()) >= n_values:
        raise ValueError("a sensitive value lies beyond their number")
    if not (shares > 0).all() or not np.isfinite(shares).all() or not (counts > 0).all():
        raise ValueError("shares and counts must be finite and above 0")
    guess = np.full(boxes.n_persons, -1, np.int64)
    fixed = (boxes, shares, groups, offsets, values, counts, n_values)
    starts = range(0, boxes.n_persons, AT_ONCE)
    in_threads(_guesses, [(*fixed, low, min(low + AT_ONCE, boxes.n_persons), guess) for low in starts], n_threads)
    return guess


def _expected(_Boxes boxes, const int64_t[::1] sizes, int64_t first, int64_t end, double[::1] score):
    cdef list keep = []
    cdef double* shares = <double*>take(keep, boxes.n_parts + 1, sizeof(double))
    cdef const Part* parts = boxes.parts
    cdef const uint16_t* shared = boxes.shared
    cdef int64_t t, b, a, n_parts = boxes.n_parts, n_boxes = boxes.n_boxes
    shares[0] = 1.0
    with nogil:
        for t in range(first, end):
            b = a = 0
            while b < n_boxes:
                while a < n_parts:
                    shares[a + 1] = shares[a] * part_of(&parts[a], b, t)
                    if shares[a + 1] == 0.0:
                        break
                    a += 1
                if a == n_parts:
                    score[t] += <double> sizes[b] * shares[n_parts]
                b += 1
                while b < n_boxes and shared[b] > a:
                    b += 1
                if b < n_boxes:
                    a = shared[b]


def expected(cells, parts, picks, sizes, n_threads=1):
    """How many rows a release lets one expect at each person's values (float64): the sum over boxes of
    `sizes[b]` (int64, at least 0) times the product of `parts`.
    """
    boxes = _Boxes(cells, parts, picks)
    sizes = array_of(sizes, np.int64, 1, "sizes")
    n_threads = whole(n_threads, 1, MOST_ROWS, "n_threads")
    if len(sizes) != boxes.n_boxes or (len(sizes) and int(sizes.min()) < 0):
        raise ValueError("every box needs its number of rows")
    score = np.zeros(boxes.n_persons)
    starts = range(0, boxes.n_persons, AT_ONCE)
    in_threads(_expected, [(boxes, sizes, low, min(low + AT_ONCE, boxes.n_persons), score) for low in starts],
               n_threads)
    return score
