# SPDX-License-Identifier: Apache-2.0
"""Cells as the numbers that miners learn from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from anon.classes import Cells, Published, reach, single_cells
from anon.encoding import Codes, Domain, encode_column
from anon.miners.miner import Attributes, Matrix
from anon.schema import Attribute, lca

MOST_COLUMNS = 64  # of one attribute: its most frequent values or nodes
LONGEST_LINE = 1e30


def cells_of_values(domain: Domain, codes: Codes) -> Cells:
    """A column of single values as cells, one per row: what the original shows, or a table with noise."""
    return replace(single_cells(replace(domain, levels=None)), of_class=codes.astype(np.uint32))


def numbers(name: str, values: pa.Array | pa.ChunkedArray) -> Cells:
    """A column of numbers, dates or times that stand in no known domain, as cells."""
    column = values if isinstance(values, pa.ChunkedArray) else pa.chunked_array([values])
    return cells_of_values(*encode_column(column, Attribute(name, "numeric")))


def shown(published: Published) -> tuple[Cells, ...]:
    """Per quasi-identifier the cell that each published row shows, in the order of `classes.rows`.

    Midpoints and means are the numbers themselves. Only by levels do domains keep levels. Nothing of a
    release without cells.
    """
    of_row = np.repeat(np.arange(published.classes.n_classes), published.classes.sizes)
    columns = []
    for cells, numbered in zip(published.cells or (), published.numbers, strict=False):
        if numbered is not None:
            values = numbered.values.take(pa.array(numbered.index[of_row]))
            columns.append(numbers(cells.domain.name, values))
        else:
            domain = cells.domain if published.by_level else replace(cells.domain, levels=None)
            columns.append(replace(cells, domain=domain, of_class=cells.of_class[of_row]))
    return tuple(columns)


def features(columns: Sequence[Cells]) -> Matrix:
    """Cells as numbers (float64, rows x features); `of_class` of every column has one entry per row.

    A cell of a numeric or ordinal attribute gives its midpoint and width; cells of a domain with levels
    are the levels' intervals. One of a tree is one-hot on every level: 1 for each node, the root aside,
    that holds it. One of a flat attribute gives each value of its set an equal share. A further feature
    marks null, and a cell of nulls only has 0 elsewhere, on a line the middle of the domain. Features
    that are the same in all rows are left out, and of the values or nodes of one attribute all but the
    `MOST_COLUMNS` most frequent. Where nothing is left there is one feature, 0 in every row.
    """
    n_rows = len(columns[0].of_class) if columns else 0
    parts = []
    for cells in columns:
        block = _block(cells)
        used = block[np.bincount(cells.of_class, minlength=len(block)) > 0]
        varied = (used != used[:1]).any(axis=0)
        parts.append(block[:, varied][cells.of_class])
    matrix = np.concatenate([np.empty((n_rows, 0)), *parts], axis=1)
    return matrix if matrix.shape[1] else np.zeros((n_rows, 1))


def attributes(columns: Sequence[Cells]) -> Attributes:
    """Cells as one column per attribute; `of_class` of every column has one entry per row.

    A numeric attribute that shows a number in every row is that number, in positions on its line. Any other
    is a label: each distinct cell as it is published, a null too, is one more of them.
    """
    pairs = [_column(cells) for cells in columns]
    n_rows = len(columns[0].of_class) if columns else 0
    X = np.stack([column for column, _ in pairs], axis=1) if pairs else np.zeros((n_rows, 1))
    return Attributes(X, np.array([is_label for _, is_label in pairs] or [True]))


def _column(cells: Cells) -> tuple[npt.NDArray[np.float64], bool]:
    """One attribute: its number or that of its label in every row, and whether it is a label."""
    shown_as = np.arange(len(cells.low))
    reached = reach(cells, by_level=True)
    if cells.domain.kind == "numeric" and reached is not None:
        low, high = reached
        used = np.bincount(cells.of_class, minlength=len(low)) > 0
        if ((low == high) & ~cells.null)[used].all():
            return low[cells.of_class] / _unit(cells.domain), False
        empty = cells.low > cells.high
        shown_as = np.unique([low, high, cells.null, empty], axis=1, return_inverse=True)[1].reshape(-1)
    labels = np.unique(shown_as[cells.of_class], return_inverse=True)[1].reshape(-1)
    return labels.astype(np.float64), True


def _unit(domain: Domain) -> float:
    """What positions are divided by: 1, but of a line so long that single precision or squares overflow."""
    end = float(domain.positions[-1]) if domain.positions is not None and domain.n_values else 0.0
    return end if end > LONGEST_LINE else 1.0


def _block(cells: Cells) -> Matrix:
    """The features of each distinct cell."""
    domain, empty = cells.domain, cells.low > cells.high
    rows = np.bincount(cells.of_class, minlength=len(cells.low))
    if cells.set_offsets is not None and cells.set_codes is not None:
        block = _shares(cells.set_offsets, cells.set_codes, domain.n_values, rows)
    elif domain.tree is not None:
        block = _nodes(cells, rows)
    else:
        reached = reach(cells, by_level=True)
        assert reached is not None
        assert domain.positions is not None
        middle = domain.positions[-1] / 2 if domain.n_values else 0.0
        low, high = (np.where(empty, middle, end) / _unit(domain) for end in reached)
        block = np.stack([low / 2 + high / 2, high - low], axis=1)
    return np.column_stack([block, cells.null.astype(np.float64)])


def _shares(
    offsets: npt.NDArray[np.int64], codes: npt.NDArray[np.uint32], n_values: int, rows: npt.NDArray[np.int64]
) -> Matrix:
    sizes = np.diff(offsets)
    of_set = np.repeat(np.arange(len(sizes)), sizes)
    share = 1 / sizes[of_set]
    kept = _most(np.bincount(codes, share * rows[of_set], n_values))
    column = np.full(n_values, -1)
    column[kept] = np.arange(len(kept))
    block = np.zeros((len(sizes), len(kept)))
    has_column = column[codes] >= 0
    block[of_set[has_column], column[codes[has_column]]] = share[has_column]
    return block


def _nodes(cells: Cells, rows: npt.NDArray[np.int64]) -> Matrix:
    tree, empty = cells.domain.tree, cells.low > cells.high
    assert tree is not None
    low, high = np.where(empty, 0, cells.low), np.where(empty, 0, cells.high)
    below = np.bincount(lca(tree, low, high), np.where(empty, 0, rows), len(tree.labels))
    for node in range(len(below) - 1, 0, -1):
        below[tree.parent[node]] += below[node]
    # an only child says what its parent says
    same = (tree.first == tree.first[tree.parent]) & (tree.last == tree.last[tree.parent])
    below[same] = 0
    below[0] = 0
    kept = _most(below)
    inside = (tree.first[kept] <= low[:, None]) & (high[:, None] <= tree.last[kept])
    return (inside & ~empty[:, None]).astype(np.float64)


def _most(frequency: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Places of the greatest frequencies above 0, in ascending order; the lower place wins a tie."""
    kept = np.argsort(-frequency, kind="stable")[:MOST_COLUMNS]
    return np.sort(kept[frequency[kept] > 0])
