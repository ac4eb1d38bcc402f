# SPDX-License-Identifier: Apache-2.0
"""A node of the tree by its counts, which lead the kernel's rule to the same cut as the rows would."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from anon.engines.spark.frames import Ints, summed
from anon.methods import Mondrian
from anoncore.attribute import Attribute
from anoncore.partition import best_cut
from anoncore.requirement import Conjunction, passing_classes


class Histogram(NamedTuple):
    """The rows of a node by the codes of one attribute, as `anoncore.partition.best_cut` takes them."""

    attribute: int
    values: Ints
    below: Ints
    tracked: list[tuple[Ints, Ints, Ints]]

    def counts(self, sizes: Sequence[int], first: int, end: int) -> tuple[Ints, ...]:
        """Rows with each of the `sizes[j]` codes of tracked column j, among those with values[first:end]."""
        by_column = []
        for (starts, codes, rows), n_codes in zip(self.tracked, sizes, strict=True):
            inside = slice(starts[first], starts[end])
            counts = np.zeros(n_codes, np.int64)
            np.add.at(counts, codes[inside], rows[inside])
            by_column.append(counts)
        return tuple(by_column)


@dataclass(frozen=True)
class Cut:
    """Parts are runs of codes of an attribute: part p begins at `codes[p]` and has `sizes[p]` rows.

    A relaxed cut between equal codes sends the first `quota` rows (> 0) with `codes[1]` to the left. It
    is not tested yet: `left` counts the tracked codes of the rows before those, `total` of the node.
    """

    attribute: int
    codes: tuple[int, ...]
    sizes: tuple[int, ...]
    quota: int = 0
    left: tuple[Ints, ...] = ()
    total: tuple[Ints, ...] = ()


def histogram_of(table: pa.Table, attribute: int, n_tracked: Sequence[int]) -> Histogram:
    """One attribute's histogram from the `Sums` that the tasks counted."""
    chosen = table.filter(pa.array(table["attribute"].to_numpy() == attribute))
    parts: dict[int, list[tuple[Ints, Ints]]] = {}
    for j, keys, counts in zip(chosen["tracked"], chosen["keys"], chosen["counts"], strict=True):
        pair = (np.frombuffer(keys.as_buffer(), np.int64), np.frombuffer(counts.as_buffer(), np.int64))
        parts.setdefault(j.as_py(), []).append(pair)
    pairs = [summed(parts[j]) for j in range(max(len(n_tracked), 1))]
    keys, rows = pairs[0]
    values, first = np.unique(keys // n_tracked[0] if n_tracked else keys, return_index=True)
    below = np.concatenate([[0], np.cumsum(np.add.reduceat(rows, first))])
    tracked = []
    for (keys, rows), n_codes in zip(pairs, n_tracked, strict=False):
        starts = np.searchsorted(keys // n_codes, values)
        tracked.append((np.append(starts, len(keys)), keys % n_codes, rows))
    return Histogram(attribute, values, below, tracked)


def cut_of(
    histograms: Sequence[Histogram],
    attributes: Sequence[Attribute],
    method: Mondrian,
    rules: Conjunction,
    n_tracked: Sequence[int],
) -> Cut | None:
    """The node's cut, if it has one; a relaxed one may still have to be tested."""
    best = best_cut(
        attributes,
        histograms,
        rules,
        chooser=method.chooser,
        nearest=method.cuts == "nearest",
        rival=method.cuts == "medians",
        relaxed=method.relaxed,
    )
    if best is None:
        return None
    attribute, codes, sizes, _, quota = best
    cut = Cut(attribute, tuple(codes), tuple(sizes), quota)
    if not quota:
        return cut
    [one] = [each for each in histograms if each.attribute == attribute]
    at = int(np.searchsorted(one.values, codes[1]))
    left, total = one.counts(n_tracked, 0, at), one.counts(n_tracked, 0, len(one.values))
    return Cut(cut.attribute, cut.codes, cut.sizes, quota, left, total)


def halves_pass(rules: Conjunction, cut: Cut, left: Sequence[Ints]) -> bool:
    """Do both sides of a relaxed cut pass, the left one with these counts of the tracked codes?"""
    offsets, values, counts = [], [], []
    for one, whole in zip(left, cut.total, strict=True):
        sides = np.stack([one, whole - one])
        side, code = np.nonzero(sides)
        offsets.append(np.searchsorted(side, np.arange(3)))
        values.append(code)
        counts.append(sides[side, code])
    tested = slice(rules.n_sensitive)
    passes = passing_classes(rules, np.array(cut.sizes), offsets[tested], values[tested], counts[tested])
    return bool(passes.all())
