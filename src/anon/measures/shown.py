# SPDX-License-Identifier: Apache-2.0
"""What a release shows of each attribute: how widely, in which shares, and what goes together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from anon.classes import Cells, Classes, Counts, Published, full_cells, group, reach, texts
from anon.encoding import Domain
from anon.measures.loss import Floats, Ints, shown, values_per_cell
from anon.schema import lca

MOST_VALUES = 12  # of an attribute that are shown one by one
MOST_BINS = 10  # of an attribute, for what goes together
MOST_ROWS = 1_000_000  # of the original that associations are counted in, evenly spread
CLASSES_AT_ONCE = 1 << 14
WIDTHS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)
SHARES = (0.01, 0.05, 0.1, 0.25, 0.5)


def widths(published: Published) -> list[dict[str, Any]]:
    """Of each quasi-identifier the share of all rows whose cell has which width, the finest first.

    That is the level in the attribute's tree; the number of values of integers, days, orders and sets; the
    part of the range of other numbers. Suppressed rows are told apart.
    """
    n_rows = max(published.original.n_rows, 1)
    rows = []
    for one in shown(published):
        names, of_cell = _kinds(one.cells, published.by_level)
        counted = np.bincount(of_cell, one.rows, len(names))
        share = dict(zip(names, (counted / n_rows).tolist(), strict=True))
        share["suppressed"] = published.n_suppressed / n_rows
        rows += [
            {"attribute": one.cells.domain.name, "published": name, "share": value}
            for name, value in share.items()
            if value
        ]
    return rows


def _kinds(cells: Cells, by_level: bool) -> tuple[list[str], Ints]:
    """Names of widths, the finest first, and which of them each cell has."""
    domain = cells.domain
    is_null, is_full = cells.low > cells.high, _is_full(cells)
    width: npt.NDArray[Any]
    edges: tuple[float, ...] | None
    if cells.level is not None and (cells.level >= 0).all():
        width, edges, names = cells.level, None, [f"level {i}" for i in range(int(cells.level.max()) + 1)]
    elif domain.tree is not None:
        low, high = (np.where(is_null, 0, ends).astype(np.int64) for ends in (cells.low, cells.high))
        height = domain.tree.height
        width = np.where(low == high, 0, height - domain.tree.depth[lca(domain.tree, low, high)])
        edges, names = None, ["the value itself", *(f"level {i}" for i in range(1, height + 1))]
    elif domain.positions is not None and domain.kind == "numeric" and not domain.unit_lattice:
        ends = reach(cells, by_level)
        assert ends is not None
        span = float(domain.positions[-1] - domain.positions[0]) if domain.n_values else 0.0
        width, edges = (ends[1] - ends[0]) / (span or 1.0), (0.0, *SHARES)
        names = ["one value", *(f"up to {share:.0%} of the range" for share in SHARES), "more of the range"]
    else:
        ends = reach(cells, by_level) if domain.unit_lattice else None
        width = values_per_cell(cells) if ends is None else np.where(is_null, 0, ends[1] - ends[0] + 1)
        edges = WIDTHS
        between = (
            f"{low + 1} to {high} values" if high > low + 1 else f"{high} values"
            for low, high in pairwise(WIDTHS)
        )
        names = ["one value", *between, f"more than {WIDTHS[-1]} values"]
    which = np.asarray(width, np.int64) if edges is None else np.searchsorted(edges, width)
    which = np.where(is_full, len(names), np.where(is_null, len(names) + 1, which))
    return [*names, "everything", "missing"], which


def _is_full(cells: Cells) -> npt.NDArray[np.bool_]:
    n_values = cells.domain.n_values
    return (values_per_cell(cells) >= n_values) if n_values > 1 else np.zeros(len(cells.low), np.bool_)


def distributions(published: Published) -> list[dict[str, Any]]:
    """Of each quasi-identifier the shares of its values, or of ranges of them, before and as released.

    Of a cell every value that the original has there is taken to be equally likely.
    """
    rows = []
    for one in shown(published):
        domain = one.cells.domain
        bins = _ranges(domain) if domain.positions is not None else _most_frequent(domain, one.original)
        original = np.bincount(bins.of_code, one.original, len(bins.names))
        released = one.rows @ _spread(one.cells, bins)
        for name, before, after in zip(
            bins.names,
            (original / max(original.sum(), 1)).tolist(),
            (released / max(one.rows.sum(), 1)).tolist(),
            strict=True,
        ):
            rows.append({"attribute": domain.name, "value": name, "original": before, "released": after})
    return rows


@dataclass(frozen=True)
class _Bins:
    """Which bin each code is in (null's too, last), and what they are called."""

    of_code: Ints
    names: list[str]


def _ranges(domain: Domain) -> _Bins:
    """Ranges of ordered values, of equal width."""
    n = domain.n_values
    assert domain.positions is not None
    if n <= MOST_VALUES:
        return _with_missing(domain, np.arange(n), texts(domain.values))
    edges = np.linspace(domain.positions[0], domain.positions[-1], MOST_VALUES + 1)[1:-1]
    of_code = np.searchsorted(edges, domain.positions[:n], side="right")
    of_code = np.unique(of_code, return_inverse=True)[1]
    return _with_missing(domain, of_code, _range_names(domain, of_code))


def _range_names(domain: Domain, of_code: Ints) -> list[str]:
    starts = np.flatnonzero(np.diff(of_code, prepend=-1))
    ends = np.append(starts[1:], len(of_code)) - 1
    low, high = (texts(domain.values.take(each)) for each in (starts, ends))
    return [a if a == b else f"{a} to {b}" for a, b in zip(low, high, strict=True)]


def _most_frequent(domain: Domain, frequency: Ints) -> _Bins:
    """The most frequent labels, in the order of their frequency, and all others together."""
    n = domain.n_values
    order = np.argsort(-frequency[:n], kind="stable")
    kept = order[: MOST_VALUES if n <= MOST_VALUES else MOST_VALUES - 1]
    of_code = np.full(n, len(kept))
    of_code[kept] = np.arange(len(kept))
    names = texts(domain.values.take(kept))
    return _with_missing(domain, of_code, [*names, f"{n - len(kept)} others"] if len(kept) < n else names)


def _with_missing(domain: Domain, of_code: Ints, names: list[str]) -> _Bins:
    if not domain.has_null:
        return _Bins(of_code, names)
    return _Bins(np.append(of_code, len(names)), [*names, "missing"])


def _spread(cells: Cells, bins: _Bins) -> Floats:
    """The share of each cell in each bin."""
    n_values, n_bins = cells.domain.n_values, len(bins.names)
    inside = np.zeros((len(cells.low), n_bins))
    if cells.set_offsets is not None and cells.set_codes is not None:
        of_set = np.repeat(np.arange(len(cells.low)), np.diff(cells.set_offsets))
        np.add.at(inside, (of_set, bins.of_code[cells.set_codes]), 1.0)
    elif n_values:
        below = np.zeros((n_values + 1, n_bins))
        below[np.arange(1, n_values + 1), bins.of_code[:n_values]] = 1.0
        below = np.cumsum(below, axis=0)
        empty = cells.low > cells.high
        low, high = (np.where(empty, 0, each).astype(np.int64) for each in (cells.low, cells.high))
        inside = np.where(empty[:, None], 0.0, below[high + 1] - below[low])
    if cells.domain.has_null:
        inside[cells.null, bins.of_code[n_values]] += 1.0
    return np.asarray(inside / np.maximum(inside.sum(axis=1, keepdims=True), 1.0))


@dataclass(frozen=True)
class Associations:
    """Cramér's V (0 to 1; NaN where an attribute has one value) of each two attributes, as square arrays."""

    names: tuple[str, ...]
    original: Floats
    released: Floats


def associations(published: Published, most: int = 10) -> Associations:
    """How strongly attributes go together, quasi-identifiers and sensitive ones, `most` of them.

    Values are put in at most ten bins. Of a cell every value that the original has there is taken to be
    equally likely, and attributes inside a class to be independent. Sensitive attributes of a generalization
    go together as they did, since they stand in the same rows.
    """
    original, classes = published.original, published.classes
    quasi = list(zip(original.quasi, original.quasi_codes, strict=True))
    told = [i for i, counts in enumerate(published.counts) if counts is not None]
    n_quasi = max(min(len(quasi), most - len(told)), 0)
    told = told[: most - n_quasi]
    columns = [*quasi[:n_quasi], *((original.sensitive[i], original.sensitive_codes[i]) for i in told)]
    step = -(-original.n_rows // MOST_ROWS) or 1
    taken = [codes[::step].astype(np.int64) for _, codes in columns]
    bins = [_even(domain, codes) for (domain, _), codes in zip(columns, taken, strict=True)]
    binned = [one.of_code[codes] for one, codes in zip(bins, taken, strict=True)]
    n = len(columns)
    before, after = np.full((n, n), np.nan), np.full((n, n), np.nan)
    joint: dict[tuple[int, int], Floats] = {}
    for chunk in _chunks(classes.n_classes):
        parts = [
            _of_quasi(published, i, bins[i], chunk)
            if i < n_quasi
            else _of_counts(published.counts[told[i - n_quasi]], bins[i], chunk)
            for i in range(n)
        ]
        weight = classes.sizes[chunk.start : chunk.stop, None].astype(np.float64)
        for i in range(n):
            for j in range(i):
                joint[i, j] = joint.get((i, j), 0.0) + (parts[i] * weight).T @ parts[j]
    for i in range(n):
        for j in range(i):
            size = len(bins[i].names), len(bins[j].names)
            flat = np.bincount(binned[i] * size[1] + binned[j], minlength=size[0] * size[1])
            before[i, j] = before[j, i] = _cramers_v(flat.reshape(size).astype(np.float64))
            is_intact = (i < n_quasi and published.intact is not None) or (
                j >= n_quasi and published.intact is None
            )
            released = before[i, j] if is_intact else _cramers_v(joint.get((i, j), np.zeros(size)))
            after[i, j] = after[j, i] = released
    return Associations(tuple(domain.name for domain, _ in columns), before, after)


def _chunks(n_classes: int) -> Iterator[range]:
    for start in range(0, n_classes, CLASSES_AT_ONCE):
        yield range(start, min(start + CLASSES_AT_ONCE, n_classes))


def _even(domain: Domain, codes: Ints) -> _Bins:
    """Bins of about as many rows: neighbors of an ordered attribute, else the most frequent labels."""
    frequency = np.bincount(codes, minlength=domain.n_codes)
    if domain.positions is None and domain.n_values > MOST_BINS:
        order = np.argsort(-frequency[: domain.n_values], kind="stable")
        of_code = np.full(domain.n_values, MOST_BINS - 1)
        of_code[order[: MOST_BINS - 1]] = np.arange(MOST_BINS - 1)
    elif domain.n_values > MOST_BINS:
        below = np.cumsum(frequency[: domain.n_values]) - frequency[: domain.n_values]
        of_code = np.minimum(below * MOST_BINS // max(int(frequency.sum()), 1), MOST_BINS - 1)
    else:
        of_code = np.arange(domain.n_values)
    return _with_missing(domain, of_code, [str(i) for i in range(int(of_code.max(initial=0)) + 1)])


def _of_quasi(published: Published, i: int, bins: _Bins, chunk: range) -> Floats:
    """The share of the rows of each class in each bin."""
    classes = published.classes
    if published.cells is not None:
        cells = published.cells[i]
        return _spread(cells, bins)[cells.of_class[chunk.start : chunk.stop]]
    assert published.intact is not None
    sizes = classes.sizes[chunk.start : chunk.stop]
    rows = classes.rows[classes.offsets[chunk.start] : classes.offsets[chunk.stop]]
    of_class = np.repeat(np.arange(len(sizes)), sizes)
    return _shares(of_class, bins.of_code[published.intact[i][rows]], np.ones(len(rows)), len(sizes), bins)


def _of_counts(counts: Counts | None, bins: _Bins, chunk: range) -> Floats:
    assert counts is not None
    start, stop = counts.offsets[chunk.start], counts.offsets[chunk.stop]
    of_class = np.repeat(np.arange(len(chunk)), np.diff(counts.offsets[chunk.start : chunk.stop + 1]))
    of_value = bins.of_code[np.minimum(counts.values[start:stop], len(bins.of_code) - 1)]
    return _shares(of_class, of_value, counts.counts[start:stop], len(chunk), bins)


def _shares(of_class: Ints, of_bin: Ints, weights: Any, n_classes: int, bins: _Bins) -> Floats:
    size = len(bins.names)
    held = np.bincount(of_class * size + of_bin, weights, n_classes * size).reshape(n_classes, size)
    return np.asarray(held / np.maximum(held.sum(axis=1, keepdims=True), 1))


def _cramers_v(table: Floats) -> float:
    """Of a table of counts; NaN where one side has a single value."""
    kept = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    least = min(kept.shape) - 1
    if least < 1:
        return float("nan")
    total = kept.sum()
    expected = np.outer(kept.sum(axis=1), kept.sum(axis=0)) / total
    chi_squared = float(((kept - expected) ** 2 / expected).sum())
    return float(min(np.sqrt(chi_squared / (total * least)), 1.0))


# --- what it is compared with


def totals_only(published: Published) -> Published:
    """A release of the same rows that shows no quasi-identifier, and sensitive values in total."""
    rows = published.classes.rows
    one = Classes(rows, np.array([0, len(rows)], np.int64), published.classes.suppressed)
    counts = tuple(None if each is None else _total(each) for each in published.counts)
    return replace(
        published,
        classes=one,
        counts=counts,
        cells=full_cells(published.original, one),
        intact=None,
        by_level=False,
        numbers=(None,) * len(published.original.quasi),
        weights=None,
    )


def _total(counts: Counts) -> Counts:
    held = np.flatnonzero(counts.table)
    return Counts(
        np.array([0, len(held)], np.int64), held.astype(np.uint32), counts.table[held], counts.table
    )


def sizes_before(published: Published) -> Ints:
    """How many rows of the original are equal in all quasi-identifiers, of each group of such rows."""
    return group(published.original.quasi_codes, n_threads=published.n_threads).sizes


def sizes_after(published: Published) -> Ints:
    """How many published rows look alike: classes, or rows with the same intact values."""
    if published.intact is None:
        return published.classes.sizes
    rows = published.classes.rows
    return group([codes[rows] for codes in published.intact], n_threads=published.n_threads).sizes


def most_frequent(counts: Counts, class_id: int, domain: Domain, most: int = 5) -> Sequence[dict[str, Any]]:
    """The most frequent sensitive values of a class, with their shares there and in all classes together."""
    start, stop = counts.offsets[class_id], counts.offsets[class_id + 1]
    values, held = counts.values[start:stop], counts.counts[start:stop]
    order = np.argsort(-held, kind="stable")[:most]
    words = [*texts(domain.values), "missing"]
    in_class, in_table = max(int(held.sum()), 1), max(int(counts.table.sum()), 1)
    return [
        {
            "value": words[int(values[i])],
            "class": float(held[i] / in_class),
            "table": float(counts.table[values[i]] / in_table),
        }
        for i in order.tolist()
    ]
