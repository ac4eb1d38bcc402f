# SPDX-License-Identifier: Apache-2.0
# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Estimates from a release: overlaps of predicates with cells, sensitive counts, and COUNT queries.

A box is one class of a generalized release, or one row of a bucketization, with a cell per
attribute; a group is what a box takes its sensitive values from: the class itself, or the bucket.
Every value of a cell is taken as equally likely, attributes as independent (Li & Li 2009, 4.2).
"""

import numpy as np

from anoncore.types cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from libc.math cimport fmax, fmin


cdef void on_line(const double[::1] lower, const double[::1] upper, const uint32_t[::1] low,
                  const uint32_t[::1] high, const uint8_t[::1] null, bint unit,
                  int64_t run, int64_t stop, const uint32_t[::1] first, const uint32_t[::1] last,
                  const double[::1] run_lower, const double[::1] run_upper,
                  double[::1] share, uint8_t[::1] kind) noexcept nogil:
    # The predicate of the runs run..stop - 1 against every cell of an ordered attribute or a tree.
    cdef int64_t i, r, n = low.shape[0]
    cdef double inside, size, common
    cdef bint touched, holds
    for i in range(n):
        share[i] = 0.0
        kind[i] = 0
        if low[i] > high[i]:
            continue
        inside = 0.0
        touched = holds = False
        for r in range(run, stop):
            common = fmin(upper[i], run_upper[r]) - fmax(lower[i], run_lower[r]) + unit
            if common > 0.0:
                inside += common
                touched = True
            elif not unit and common == 0.0:
                # one common point; the upper end of a run need not belong to it
                touched = touched or (first[r] <= high[i] and last[r] >= low[i])
            holds = holds or (first[r] <= low[i] and high[i] <= last[r])
        size = upper[i] - lower[i] + unit
        if size > 0.0:
            share[i] = inside / (size + null[i]) if unit else (0.5 if null[i] else 1.0) * (inside / size)
        elif holds:
            share[i] = 0.5 if null[i] else 1.0
        if unit:
            holds = inside >= size
        if touched or holds:
            kind[i] = 2 if holds and not null[i] else 1


cdef void in_sets(const int64_t[::1] offsets, const uint32_t[::1] codes, const uint8_t[::1] null,
                  const uint8_t[::1] member, double[::1] share, uint8_t[::1] kind) noexcept nogil:
    # The predicate of the member codes against every cell of a flat nominal attribute.
    cdef int64_t i, k, inside, size, n = null.shape[0]
    for i in range(n):
        size = offsets[i + 1] - offsets[i]
        inside = 0
        for k in range(offsets[i], offsets[i + 1]):
            inside += member[codes[k]]
        share[i] = <double> inside / <double> (size + null[i]) if size else 0.0
        kind[i] = 0 if inside == 0 else (2 if inside == size and not null[i] else 1)


def overlaps(low, high, null, reach, sets, offsets, first, last, run_reach, unit):
    """The share of every cell of one attribute that lies inside each predicate.

    Cells have codes low..high (uint32, low > high: null only), `null` (bool) and either a `reach`
    (lower, upper: float64, on the attribute's line) or `sets` of codes (offsets int64, codes uint32).
    Predicate p holds the codes first[r]..last[r] (uint32) of the runs r in offsets[p]..offsets[p + 1] - 1
    (int64); with a reach, run r covers `run_reach` (lower[r], upper[r]). `unit`: a cell consists of
    the points lower, lower + 1, ..., upper; otherwise of the length between, and one without length
    is inside where its codes are. Null is one more equally likely value (by length: half of all).
    Returns the shares (float64, predicates x cells) and what is possible (uint8): 0 no row of the
    cell meets the predicate, 1 some may, 2 all do.
    """
    low, high = np.ascontiguousarray(low, np.uint32), np.ascontiguousarray(high, np.uint32)
    null = np.ascontiguousarray(null, np.uint8)
    offsets = np.ascontiguousarray(offsets, np.int64)
    first, last = np.ascontiguousarray(first, np.uint32), np.ascontiguousarray(last, np.uint32)
    n_cells, n_predicates = len(low), len(offsets) - 1
    if len(high) != n_cells or len(null) != n_cells or (reach is None) == (sets is None):
        raise ValueError("low, high and null must have one length, and cells either a reach or sets")
    if n_predicates < 0 or offsets[0] != 0 or offsets[n_predicates] != len(first) or len(first) != len(last):
        raise ValueError("offsets must ascend from 0 to the number of runs")
    if np.any(np.diff(offsets) < 0) or np.any(first > last):
        raise ValueError("offsets must not descend, and a run must have first <= last")
    share = np.empty((n_predicates, n_cells))
    kind = np.empty((n_predicates, n_cells), np.uint8)
    if reach is not None:
        lower, upper = (np.ascontiguousarray(end, np.float64) for end in reach)
        run_lower, run_upper = (np.ascontiguousarray(end, np.float64) for end in run_reach)
        if len(lower) != n_cells or len(upper) != n_cells or len(run_lower) != len(first) or len(run_upper) != len(first):
            raise ValueError("a reach must have one lower and one upper end for each cell or run")
        for p in range(n_predicates):
            on_line(lower, upper, low, high, null, unit, offsets[p], offsets[p + 1], first, last,
                    run_lower, run_upper, share[p], kind[p])
        return share, kind
    set_offsets, codes = np.ascontiguousarray(sets[0], np.int64), np.ascontiguousarray(sets[1], np.uint32)
    if len(set_offsets) != n_cells + 1 or set_offsets[0] != 0 or set_offsets[n_cells] != len(codes):
        raise ValueError("the offsets of sets must ascend from 0 to the number of their codes")
    if np.any(np.diff(set_offsets) < 0):
        raise ValueError("the offsets of sets must not descend")
    n_codes = max([int(part.max()) + 1 for part in (codes, last) if len(part)], default=0)
    for p in range(n_predicates):
        member = np.zeros(n_codes, np.uint8)
        for r in range(offsets[p], offsets[p + 1]):
            member[first[r] : int(last[r]) + 1] = 1
        in_sets(set_offsets, codes, null, member, share[p], kind[p])
    return share, kind


cdef int64_t weigh(const uint32_t* box, const double* weight, int64_t n, const uint32_t* cell,
                   const double* share, uint32_t* kept, double* kept_weight) noexcept nogil:
    # The boxes with a share above 0, their weights multiplied by it; returns how many.
    cdef int64_t i, n_kept = 0
    cdef double part
    for i in range(n):
        part = share[cell[box[i]]]
        kept[n_kept] = box[i]
        kept_weight[n_kept] = weight[i] * part
        n_kept += part > 0.0
    return n_kept


def reconstruct(const uint32_t[:, ::1] cells, shares, groups, const int64_t[::1] offsets,
                const uint32_t[::1] values, const int64_t[::1] counts, int64_t n_values,
                parent, attribute, predicate, int64_t start, int64_t stop):
    """Estimated counts of sensitive values in the populations start..stop - 1 (float64, x n_values).

    `cells[a, b]` (uint32) is the cell of box b on attribute a, `shares[a]` (float64, predicates x cells)
    the part of each cell inside each predicate, whose product over a population's predicates is a
    box's weight. Group g holds the values `values[offsets[g]:offsets[g + 1]]` (uint32) `counts` times
    each (int64). With `groups` None box b is group b and adds weight times count; otherwise
    `groups[b]` (uint32, not descending) is its bucket, which adds weights/size times count.
    Population i adds predicate `predicate[i]` of `attribute[i]` (int32) to population `parent[i]`
    (int64, -1: none), which comes before it; populations are in depth-first order.
    """
    cdef int64_t n_attributes = cells.shape[0], n_boxes = cells.shape[1], n_groups = offsets.shape[0] - 1
    cdef int64_t i, j, k, e, d, n, g
    cdef bint buckets = groups is not None
    cdef double weight
    shares = [np.ascontiguousarray(share, np.float64) for share in shares]
    _check_boxes(cells, shares, groups, n_groups)
    _check_lists(offsets, values, counts, n_values)
    parent = np.ascontiguousarray(parent, np.int64)
    attribute = np.ascontiguousarray(attribute, np.int32)
    predicate = np.ascontiguousarray(predicate, np.int32)
    if not (len(parent) == len(attribute) == len(predicate) and 0 <= start <= stop <= len(parent)):
        raise ValueError("parent, attribute and predicate must have one length that holds start..stop")
    if np.any(parent >= np.arange(len(parent))) or np.any(parent < -1):
        raise ValueError("a parent must come before its population")
    table = np.concatenate([np.empty(0), *(share.ravel() for share in shares)])
    bases = np.cumsum([0, *(share.size for share in shares)])
    widths = np.array([share.shape[1] for share in shares], np.int64)
    heights = np.array([share.shape[0] for share in shares], np.int64)
    if len(parent) and (attribute.min() < 0 or attribute.max() >= n_attributes or predicate.min() < 0
                        or np.any(predicate >= heights[attribute])):
        raise ValueError("a population names an attribute or a predicate that does not exist")
    cdef const double[::1] share_of = table
    cdef const int64_t[::1] row_of = np.ascontiguousarray(bases[attribute] + predicate * widths[attribute], np.int64)
    cdef const int64_t[::1] above = parent
    cdef const int32_t[::1] on = attribute
    cdef const uint32_t[::1] group = np.ascontiguousarray(groups, np.uint32) if buckets else np.empty(0, np.uint32)
    cdef const int64_t[::1] sizes = np.add.reduceat(np.append(counts, 0), offsets[:n_groups]) if n_groups and buckets else np.empty(0, np.int64)
    chain = []
    i = parent[start] if start < stop else -1
    while i >= 0:
        chain.append(i)
        i = parent[i]
    cdef const int64_t[::1] todo = np.array([*chain[::-1], *range(start, stop)], np.int64)
    cdef int64_t n_chain = len(chain)
    depths = np.zeros(len(todo), np.int64)
    position = {-1: -1}
    for k in range(len(todo)):
        if above[todo[k]] not in position:
            raise ValueError("populations must be in depth-first order")
        depths[k] = 0 if above[todo[k]] < 0 else depths[position[above[todo[k]]]] + 1
        position[todo[k]] = k
    cdef const int64_t[::1] depth = depths
    n_levels = int(depths.max()) + 2 if len(todo) else 1
    cdef uint32_t[:, ::1] box = np.empty((n_levels, n_boxes + 1), np.uint32)
    cdef double[:, ::1] weights = np.empty((n_levels, n_boxes + 1))
    cdef int64_t[::1] lengths = np.zeros(n_levels, np.int64)
    estimates = np.zeros((stop - start, n_values))
    cdef double[:, ::1] estimate = estimates
    with nogil:
        lengths[0] = n_boxes
        for i in range(n_boxes):
            box[0, i] = <uint32_t> i
            weights[0, i] = 1.0
        for k in range(todo.shape[0]):
            i = todo[k]
            d = depth[k]
            n = weigh(&box[d, 0], &weights[d, 0], lengths[d], &cells[on[i], 0], &share_of[row_of[i]],
                      &box[d + 1, 0], &weights[d + 1, 0])
            lengths[d + 1] = n
            if k < n_chain:
                continue
            j = 0
            while j < n:
                weight = weights[d + 1, j]
                if buckets:
                    g = group[box[d + 1, j]]
                    j += 1
                    while j < n and group[box[d + 1, j]] == g:
                        weight += weights[d + 1, j]
                        j += 1
                    weight /= sizes[g]
                else:
                    g = box[d + 1, j]
                    j += 1
                for e in range(offsets[g], offsets[g + 1]):
                    estimate[i - start, values[e]] += weight * counts[e]
    return estimates


def _check_boxes(cells, shares, groups, n_groups):
    n_boxes = cells.shape[1]
    if len(shares) != cells.shape[0]:
        raise ValueError("every attribute needs its shares")
    for a in range(cells.shape[0]):
        if shares[a].ndim != 2 or (n_boxes and int(np.max(cells[a])) >= shares[a].shape[1]):
            raise ValueError("a box has a cell that its attribute's shares do not cover")
    if groups is None:
        if n_boxes != n_groups:
            raise ValueError("without groups every box is one")
    elif len(groups) != n_boxes or np.any(groups[1:] < groups[: max(n_boxes - 1, 0)]) or (n_boxes and int(groups.max()) >= n_groups):
        raise ValueError("groups must give every box a group, ascending")


def _check_lists(offsets, values, counts, n_values):
    n_groups = len(offsets) - 1
    if n_groups < 0 or offsets[0] != 0 or offsets[n_groups] != len(counts) or len(values) != len(counts):
        raise ValueError("offsets must ascend from 0 to the number of counts, one value for each")
    if np.any(np.diff(offsets) < 1):
        raise ValueError("a group must hold at least one value")
    if len(values) and (int(np.max(values)) >= n_values or int(np.min(counts)) < 1):
        raise ValueError("a value lies beyond n_values, or a count is not positive")
