# SPDX-License-Identifier: Apache-2.0
"""Kullback-Leibler divergence of the joint distribution."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from anon.classes import Cells, Classes, Published, group, intact_cells, reach
from anon.encoding import Codes
from anon.measures.loss import CLASSES_AT_ONCE, PAIRS_AT_ONCE, Floats, Ints, dot, values_per_cell


def kl_divergence(published: Published) -> float:
    """KL divergence of the reconstructed QI-SA distribution from that of the original; see `Utility.kl`."""
    original = published.original
    if not published.classes.n_classes:
        return math.inf
    columns = list(original.quasi_codes)
    coded = any(domain.coding is not None for domain in original.quasi)
    if published.intact is not None and not coded:
        # points get numbers that both tables share
        rows = published.classes.rows
        columns = [
            np.concatenate([codes, published_codes[rows]])
            for codes, published_codes in zip(columns, published.intact, strict=True)
        ]
    points = group(columns, n_threads=published.n_threads)
    point_of = np.empty(len(columns[0]), np.int64)
    point_of[points.rows] = np.repeat(np.arange(points.n_classes), points.sizes)
    codes = [column[points.rows[points.offsets[:-1]]].astype(np.int64) for column in columns]
    joined: Iterator[tuple[Ints, Ints, Floats]]
    if published.intact is None:
        assert published.cells is not None
        joined = _in_cells(codes, published.cells, published.classes.n_classes, published.by_level)
    elif coded:
        joined = _in_coded_buckets(codes, published)
    else:
        joined = _in_buckets(point_of[original.n_rows :], published.classes)
    values = [
        (counts.offsets, counts.values.astype(np.int64), counts.counts, domain.n_codes, of_row)
        for domain, counts, of_row in zip(
            original.sensitive, published.counts, original.sensitive_codes, strict=True
        )
        if counts is not None
    ]
    if not values:
        n_classes = published.classes.n_classes
        one_value = np.zeros(n_classes, np.int64), published.classes.sizes, 1
        values = [(np.arange(n_classes + 1), *one_value, np.zeros(original.n_rows, np.uint8))]
    entries = [_Entries(point_of[: original.n_rows], points.n_classes, *value) for value in values]
    for point, class_id, weight in joined:
        for one in entries:
            one.add(point, class_id, weight)
    return math.fsum(one.divergence(len(published.classes.rows)) for one in entries) / len(entries)


class _Entries:
    """The distinct (point, sensitive value) pairs of the original, and the estimated rows of each."""

    def __init__(
        self,
        point_of: Ints,
        n_points: int,
        offsets: Ints,
        values: Ints,
        counts: Ints,
        n_codes: int,
        of_row: Codes,
    ) -> None:
        self.n_codes = n_codes
        self.keys, self.true = np.unique(point_of * n_codes + of_row, return_counts=True)
        self.offsets = np.searchsorted(self.keys, np.arange(n_points + 1) * n_codes)
        self.estimated = np.zeros(len(self.keys))
        self.class_keys = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets)) * n_codes + values
        self.class_counts = counts

    def add(self, point: Ints, class_id: Ints, weight: Floats) -> None:
        """Each class puts the share `weight` of its rows on its point."""
        pair, entry = _expanded(self.offsets[point], self.offsets[point + 1])
        key = class_id[pair] * self.n_codes + self.keys[entry] % self.n_codes
        at = np.minimum(np.searchsorted(self.class_keys, key), len(self.class_keys) - 1)
        count = np.where(self.class_keys[at] == key, self.class_counts[at], 0)
        self.estimated += np.bincount(entry, weight[pair] * count, len(self.estimated))

    def divergence(self, n_published: int) -> float:
        if (self.estimated == 0).any():
            return math.inf
        share = self.true / self.true.sum()
        return max(0.0, dot(share, np.log(share / (self.estimated / n_published))))


def _expanded(start: Ints, stop: Ints) -> tuple[Ints, Ints]:
    """All (i, j) with start[i] <= j < stop[i]."""
    lengths = stop - start
    i = np.repeat(np.arange(len(start)), lengths)
    return i, np.arange(len(i)) - np.repeat(np.cumsum(lengths) - lengths - start, lengths)


def _in_buckets(point_of: Ints, classes: Classes) -> Iterator[tuple[Ints, Ints, Floats]]:
    """The points of each bucket, with the share of its rows that each has."""
    n_classes = classes.n_classes
    of_row = np.repeat(np.arange(n_classes), classes.sizes)
    key, count = np.unique(point_of * n_classes + of_row, return_counts=True)
    for first in range(0, len(key), PAIRS_AT_ONCE):
        point, class_id = np.divmod(key[first : first + PAIRS_AT_ONCE], n_classes)
        yield point, class_id, count[first : first + PAIRS_AT_ONCE] / classes.sizes[class_id]


def _in_coded_buckets(codes: Sequence[Ints], published: Published) -> Iterator[tuple[Ints, Ints, Floats]]:
    """The same where rows show coded values: each is spread over the points that they stand for."""
    classes, intact = published.classes, published.intact
    assert intact is not None
    bucket = np.repeat(np.arange(classes.n_classes, dtype=np.uint32), classes.sizes)
    alike = group([bucket, *(column[classes.rows] for column in intact)], n_threads=published.n_threads)
    first = alike.rows[alike.offsets[:-1]]
    cells = [
        replace(intact_cells(domain), of_class=column[classes.rows[first]].astype(np.uint32))
        for domain, column in zip(published.original.quasi, intact, strict=True)
    ]
    share = alike.sizes / classes.sizes[bucket[first]]
    for point, box, weight in _in_cells(codes, cells, alike.n_classes, by_level=False):
        yield point, bucket[first[box]].astype(np.int64), weight * share[box]


def _in_cells(
    codes: Sequence[Ints], cells_of: Sequence[Cells], n_classes: int, by_level: bool
) -> Iterator[tuple[Ints, Ints, Floats]]:
    """The points inside each class's cells, with the share of its rows that each is expected to have.

    `codes` are the points' codes per quasi-identifier, ascending as tuples. Attribute by attribute the
    classes are joined with the prefixes of the points that lie in their cells.
    """
    node = np.zeros(len(codes[0]), np.int64)
    levels = []
    for column, cells in zip(codes, cells_of, strict=True):
        keys, node = np.unique(node * cells.domain.n_codes + column, return_inverse=True)
        levels.append((keys, cells))
    for first in range(0, n_classes, CLASSES_AT_ONCE):
        class_id = np.arange(first, min(first + CLASSES_AT_ONCE, n_classes))
        node, weight = np.zeros(len(class_id), np.int64), np.ones(len(class_id))
        for keys, cells in levels:
            cell = cells.of_class[class_id].astype(np.int64)
            pair, node = _children(keys, cells, node, cell)
            class_id, weight = class_id[pair], weight[pair]
            code = keys[node] % cells.domain.n_codes
            weight = weight * _share(cells, by_level, cell[pair], code)
            kept = weight > 0
            class_id, weight, node = class_id[kept], weight[kept], node[kept]
        yield node, class_id, weight


def _children(keys: Ints, cells: Cells, node: Ints, cell: Ints) -> tuple[Ints, Ints]:
    """For pairs of a prefix and a cell, the longer prefixes that may be inside: (pair, longer prefix)."""
    base = node * cells.domain.n_codes
    start = np.searchsorted(keys, base + cells.low[cell])
    stop = np.maximum(start, np.searchsorted(keys, base + cells.high[cell] + 1))
    pair, longer = _expanded(start, stop)
    if not cells.null.any():
        return pair, longer
    null_key = base + cells.domain.n_values
    at = np.minimum(np.searchsorted(keys, null_key), len(keys) - 1)
    with_null = np.flatnonzero(cells.null[cell] & (keys[at] == null_key))
    return np.concatenate([pair, with_null]), np.concatenate([longer, at[with_null]])


def _share(cells: Cells, by_level: bool, cell: Ints, code: Ints) -> Floats:
    """The share of cell `cell[i]` that lies on code `code[i]`."""
    domain = cells.domain
    n_places = values_per_cell(cells).astype(np.float64)
    if domain.positions is not None and domain.unit_lattice:
        ends = reach(cells, by_level)
        assert ends is not None
        lower, upper = ends
        n_places = np.where(n_places > 0, upper - lower + 1, 0.0)
    on_null = np.where(cells.null, 1.0, 0.0)
    valued = n_places > 0
    if domain.positions is not None and not domain.unit_lattice:
        on_null[cells.null & valued] = 0.5
    else:
        on_null[cells.null] /= n_places[cells.null] + 1
    share = np.where(valued, (1 - on_null) / np.maximum(n_places, 1), 0.0)[cell]
    if cells.set_offsets is not None and cells.set_codes is not None:
        of_set = np.repeat(np.arange(len(cells.low)), np.diff(cells.set_offsets))
        members = of_set * domain.n_codes + cells.set_codes
        key = cell * domain.n_codes + code
        at = np.minimum(np.searchsorted(members, key), max(len(members) - 1, 0))
        share = np.where(members[at] == key if len(members) else False, share, 0.0)
    return np.where(code == domain.n_values, on_null[cell], share)
