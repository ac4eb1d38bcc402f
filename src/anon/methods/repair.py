# SPDX-License-Identifier: Apache-2.0
"""Repair: classes that fail a requirement are merged with neighbors, and cut again; for growing methods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from anon.classes import Classes, ranges, ranked_rows, sensitive_counts, starts_of_sizes
from anon.encoding import Codes, Domain, Encoded
from anon.schema import lca
from anoncore import curve, merge, recut
from anoncore.requirement import Conjunction, passing_classes

Ties = Literal["rank", "input"]
RowNumbers = npt.NDArray[np.uint32]
Offsets = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


def repair(
    classes: Classes,
    encoded: Encoded,
    rules: Conjunction,
    *,
    ties: Ties = "rank",
    cut: bool = True,
    failing: npt.NDArray[np.bool_] | None = None,
) -> Classes:
    """Merge every class that fails the rules with neighbors until all pass or one class is left; with `cut`
    what was merged is cut again into classes that pass, as far as it can be.

    Neighbors are the 32 classes before and after it along a Hilbert curve through the centers of the
    classes' cells (ties: the class with the lowest row, by rank or by input position); the one with
    which the loss grows least is taken. A class that the caller marks as `failing` is merged once at least.
    Where all pass the classes come back as they are, else in the order of the curve.
    """
    of_units = encoded.units is not None and (rules.min_units > 0 or rules.by_units)
    if classes.n_classes == 0:
        return classes
    if failing is None and not of_units and pass_rules(encoded, rules, classes.rows, classes.offsets).all():
        return classes
    order = class_order(classes, encoded, ties)
    first, end = classes.offsets[order], classes.offsets[order + 1]
    rows = classes.rows[ranges(first, end)]
    offsets = starts_of_sizes(end - first)
    widths = widths_of(encoded.quasi, "ncp")
    records = curve.place(widths, pack(encoded.quasi_codes), rows)
    units = encoded.units.codes[rows].astype(np.uint32) if encoded.units is not None and of_units else None
    marks = None if failing is None else failing[order]
    home = merge.repair(widths, records, sensitive_of(encoded, rows), offsets, rules, units, marks)
    sizes = np.bincount(home, weights=end - first, minlength=len(home)).astype(np.int64)
    together = np.argsort(home, kind="stable")
    rows = rows[ranges(offsets[together], offsets[together + 1])]
    ends = starts_of_sizes(sizes[sizes > 0])
    if cut and units is None and len(ends) < len(offsets):
        merged = np.bincount(home, minlength=len(home))[sizes > 0] > 1
        ranks = row_numbers(encoded, ties)[rows].astype(np.uint64)
        class_of = np.repeat(np.arange(len(merged), dtype=np.uint64), np.diff(ends))
        rows = rows[np.argsort(class_of << np.uint64(32) | ranks)]
        rows, ends = _cut_again(encoded, rows, ends, merged, widths, rules)
    return Classes(rows, ends, classes.suppressed)


def pass_rules(encoded: Encoded, rules: Conjunction, rows: RowNumbers, offsets: Offsets) -> Bools:
    """Which classes pass the rules, of rows."""
    classes = Classes(rows, offsets, np.empty(0, np.uint32))
    sensitive = zip(encoded.sensitive, encoded.sensitive_codes, strict=True) if rules.n_sensitive else ()
    counted = [sensitive_counts(classes, codes, domain.n_codes) for domain, codes in sensitive]
    return passing_classes(
        rules,
        classes.sizes,
        [each.offsets for each in counted],
        [each.values.astype(np.int64) for each in counted],
        [each.counts for each in counted],
    ).astype(np.bool_)


def _cut_again(
    encoded: Encoded,
    rows: RowNumbers,
    offsets: Offsets,
    merged: npt.NDArray[np.bool_],
    widths: curve.Widths,
    rules: Conjunction,
) -> tuple[RowNumbers, Offsets]:
    """The classes, those that were `merged` cut by themselves into parts that pass."""
    sizes = np.diff(offsets)
    class_of = np.repeat(np.arange(len(sizes)), sizes)
    of_merged = rows[merged[class_of]]
    records = curve.place(widths, pack(encoded.quasi_codes), of_merged)
    sensitive = sensitive_of(encoded, of_merged)
    places, ends, *_ = recut.divide(
        widths, records, starts_of_sizes(sizes[merged]), rules.min_size, rules, sensitive
    )
    return (
        np.concatenate([rows[~merged[class_of]], of_merged[places]]),
        starts_of_sizes(np.concatenate([sizes[~merged], np.diff(ends)])),
    )


def class_order(classes: Classes, encoded: Encoded, ties: Ties = "rank") -> npt.NDArray[np.int64]:
    """The classes along a Hilbert curve through the centers of their cells, each scaled to 0..255."""
    centers = [
        _centers(domain, codes[classes.rows], classes.offsets)
        for domain, codes in zip(encoded.quasi, encoded.quasi_codes, strict=True)
    ]
    m = len(centers)
    grid = np.tile(np.arange(256, dtype=np.uint32), m)
    keys = curve.hilbert(pack(centers), grid, np.arange(m + 1, dtype=np.int64) * 256, 8)
    lowest = np.minimum.reduceat(row_numbers(encoded, ties)[classes.rows], classes.offsets[:-1])
    order = np.argsort(lowest).astype(np.uint32)
    for word in reversed(range(keys.shape[1])):
        order = curve.sort_rows(np.ascontiguousarray(keys[:, word]), order)
    return order.astype(np.int64)


def row_numbers(encoded: Encoded, ties: Ties) -> RowNumbers:
    """Of every row its rank by (codes in schema order, sensitive codes, input position), or its position."""
    rows = np.arange(encoded.n_rows, dtype=np.uint32)
    if ties == "input":
        return rows
    ranked = ranked_rows(encoded)
    ranks = np.zeros_like(rows)
    ranks[ranked] = np.arange(len(ranked), dtype=np.uint32)
    return ranks


def _centers(domain: Domain, codes: Codes, offsets: Offsets) -> npt.NDArray[np.uint8]:
    # Nulls lie at 255 in a class of nulls only, and do not count in others.
    starts = offsets[:-1]
    null = codes == domain.n_values
    low = np.minimum.reduceat(codes, starts).astype(np.int64)
    high = np.maximum.reduceat(np.where(null, 0, codes), starts).astype(np.int64)
    nulls_only = low == domain.n_values
    low[nulls_only] = 0
    reach = float(max(domain.n_values - 1, 0))
    if domain.positions is not None:
        reach = float(domain.positions[-1]) if domain.n_values else 0.0
        middle = domain.positions[low] / 2 + domain.positions[high] / 2 if domain.n_values else low * 0.0
    elif domain.tree is not None:
        node = lca(domain.tree, low, high)
        middle = (domain.tree.first[node] + domain.tree.last[node]) / 2
    else:
        class_of_row = np.repeat(np.arange(len(starts)), np.diff(offsets))
        present = np.unique(class_of_row[~null] * domain.n_codes + codes[~null])
        sums = np.bincount(present // domain.n_codes, present % domain.n_codes, len(starts))
        middle = sums / np.maximum(np.bincount(present // domain.n_codes, minlength=len(starts)), 1)
    scaled = np.floor(middle / reach * 255 + 0.5) if reach > 0 else np.zeros(len(starts))
    return np.where(nulls_only, 255, scaled).astype(np.uint8)


def widths_of(domains: Sequence[Domain], loss: str = "ncp") -> curve.Widths:
    """Widths of the cells of these attributes; with `loss="ordered"` every one is a line of ranks."""
    if loss == "ordered":
        domains = [
            replace(domain, positions=np.arange(float(domain.n_values)), tree=None) for domain in domains
        ]
    return curve.Widths([domain.attribute for domain in domains])


def sensitive_of(encoded: Encoded, rows: RowNumbers) -> npt.NDArray[np.int32]:
    """The sensitive codes of these rows, one column per attribute."""
    codes = np.empty((len(rows), len(encoded.sensitive_codes)), np.int32)
    for a, column in enumerate(encoded.sensitive_codes):
        codes[:, a] = column[rows]
    return codes


def pack(columns: Sequence[Codes]) -> npt.NDArray[Any]:
    """One row-major matrix of the codes, as wide as the widest column."""
    codes = np.empty((len(columns[0]), len(columns)), np.result_type(*columns))
    for a, column in enumerate(columns):
        codes[:, a] = column
    return codes
