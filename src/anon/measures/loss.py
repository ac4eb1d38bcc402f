# SPDX-License-Identifier: Apache-2.0
"""What the cells of a release lose."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from anon.classes import Cells, Classes, Counts, Published, intact_cells, reach, sensitive_counts
from anon.encoding import Codes, Domain
from anon.schema import lca
from anon.threads import in_threads
from anoncore.diversity import Closeness, s_diversity

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[Any]

PAIRS_AT_ONCE = 1 << 22  # classes are joined with points in blocks of about as many pairs
CLASSES_AT_ONCE = 1 << 12


@dataclass(frozen=True)
class AttributeLoss:
    """What one quasi-identifier lost: `ncp`, `ordered_loss`, `entropy` and `precision` per row,
    suppressed ones included, `qd` per class and `qd_rows` per row. `precision` is None without a tree.
    """

    ncp: float
    ordered_loss: float
    entropy: float
    precision: float | None
    qd: float
    qd_rows: float


@dataclass(frozen=True)
class CellLoss:
    """The measures that need cells; see `Utility`."""

    gcp: float
    ordered_loss: float
    entropy: float
    precision: float | None
    um: float
    um_rows: float
    by_attribute: Mapping[str, AttributeLoss]


@dataclass(frozen=True)
class SensitiveDiversity:
    """S-diversity of one sensitive attribute: mean over classes, and over rows."""

    sd: float | None
    sd_rows: float | None


def sum_of(numbers: Sequence[float | None]) -> float | None:
    known = [number for number in numbers if number is not None]
    return math.fsum(known) if len(known) == len(numbers) else None


def s_diversity_of(domain: Domain, counts: Counts | None, sizes: Ints, r: float) -> SensitiveDiversity:
    if counts is None or not len(sizes):
        return SensitiveDiversity(0.0, 0.0)
    if counts.table[domain.n_values :].any():
        return SensitiveDiversity(None, None)
    closeness = Closeness(domain.attribute, r=r)
    sd = s_diversity(closeness, counts.offsets, counts.values.astype(np.int64), counts.counts)
    return SensitiveDiversity(dot(sd) / len(sizes), dot(sd, sizes) / int(sizes.sum()))


def dot(*factors: Ints) -> float:
    """Sum of products, rounded once: the order of the terms does not matter."""
    return math.fsum(np.prod(factors, axis=0).tolist())


# --- losses of cells


@dataclass(frozen=True)
class Shown:
    """One quasi-identifier: its distinct cells, the rows and classes that show each, and the count of
    every code in the original.
    """

    cells: Cells
    rows: Ints
    classes: Ints
    original: Ints


def shown(published: Published) -> Iterator[Shown]:
    classes = published.classes
    for i, (domain, frequency) in enumerate(
        zip(published.original.quasi, _frequencies(published), strict=True)
    ):
        if published.cells is not None:
            cells = published.cells[i]
            rows = np.bincount(cells.of_class, classes.sizes, len(cells.low)).astype(np.int64)
            yield Shown(cells, rows, np.bincount(cells.of_class, minlength=len(cells.low)), frequency)
        elif published.intact is not None:
            rows = np.bincount(published.intact[i][classes.rows], minlength=domain.n_codes)
            yield Shown(intact_cells(domain), rows, rows, frequency)


def _frequencies(published: Published) -> list[Ints]:
    """Rows of the original with each code, per quasi-identifier."""
    original = published.original
    whole = Classes(
        np.arange(original.n_rows, dtype=np.uint32),
        np.array([0, original.n_rows], np.int64),
        np.empty(0, np.uint32),
    )

    def count(domain: Domain, codes: Codes) -> Ints:
        return sensitive_counts(whole, codes, domain.n_codes).table

    return in_threads(published.n_threads, count, original.quasi, original.quasi_codes)


def cell_loss(published: Published) -> CellLoss:
    n_rows, n_suppressed = published.original.n_rows, published.n_suppressed
    by_attribute: dict[str, AttributeLoss] = {}
    totals: dict[str, list[float]] = {name: [] for name in ("ncp", "ordered", "level", "qd", "qd_rows")}
    lost, whole = [], []
    for one in shown(published):
        domain, n_shown = one.cells.domain, max(int(one.classes.sum()), 1)
        width = _q_diversity(one.cells, published.by_level)
        total = {
            "ncp": dot(ncp_of_cells(one.cells, published.by_level), one.rows) + n_suppressed,
            "ordered": dot(_ordered_loss(one.cells), one.rows) + n_suppressed,
            "qd": dot(width, one.classes) / n_shown,
            "qd_rows": (dot(width, one.rows) + n_suppressed) / n_rows,
        }
        if domain.tree is not None:
            total["level"] = dot(_level(one.cells), one.rows) + n_suppressed
        lost.append(_surprise(one.cells, one.rows, one.original, n_suppressed))
        whole.append(_surprise(None, np.array([n_rows]), one.original, 0))
        by_attribute[domain.name] = AttributeLoss(
            ncp=total["ncp"] / n_rows,
            ordered_loss=total["ordered"] / n_rows,
            entropy=lost[-1] / whole[-1] if whole[-1] else 0.0,
            precision=1 - total["level"] / n_rows if "level" in total else None,
            qd=total["qd"],
            qd_rows=total["qd_rows"],
        )
        for name, value in total.items():
            totals[name].append(value)
    n_cells = max(n_rows * len(by_attribute), 1)
    n_tree_cells = n_rows * len(totals["level"])
    return CellLoss(
        gcp=math.fsum(totals["ncp"]) / n_cells,
        ordered_loss=math.fsum(totals["ordered"]) / n_cells,
        entropy=math.fsum(lost) / math.fsum(whole) if math.fsum(whole) else 0.0,
        precision=1 - math.fsum(totals["level"]) / n_tree_cells if n_tree_cells else None,
        um=math.fsum(totals["qd"]),
        um_rows=math.fsum(totals["qd_rows"]),
        by_attribute=by_attribute,
    )


def ncp_of_rows(published: Published) -> Iterator[Floats]:
    """Per quasi-identifier the NCP of every published row, class by class."""
    classes = published.classes
    for i, domain in enumerate(published.original.quasi):
        if published.cells is not None:
            cells = published.cells[i]
            of_cell = ncp_of_cells(cells, published.by_level)
            yield np.repeat(of_cell[cells.of_class], classes.sizes)
        elif published.intact is not None:
            of_code = ncp_of_cells(intact_cells(domain), published.by_level)
            yield of_code[published.intact[i][classes.rows]]


def ncp_of_cells(cells: Cells, by_level: bool) -> Floats:
    """NCP of each distinct cell: range share, leaves under the LCA, or values of the set."""
    if cells.domain.positions is not None:
        return _range_share(cells, by_level)
    return _with_null(cells, (values_per_cell(cells) - 1) / max(cells.domain.n_values - 1, 1))


def _q_diversity(cells: Cells, by_level: bool) -> Floats:
    """Q-diversity of each distinct cell (Loukides & Shao, definition 2.1)."""
    if cells.domain.positions is not None:
        return _range_share(cells, by_level)
    return _with_null(cells, values_per_cell(cells) / max(cells.domain.n_values, 1))


def _range_share(cells: Cells, by_level: bool) -> Floats:
    positions = cells.domain.positions
    assert positions is not None
    ends = reach(cells, by_level)
    assert ends is not None
    lower, upper = ends
    span = positions[-1] - positions[0]
    return _with_null(cells, (upper - lower) / (span or 1.0))


def _ordered_loss(cells: Cells) -> Floats:
    low, high = _ends(cells)
    return _with_null(cells, (high - low) / max(cells.domain.n_values - 1, 1))


def _level(cells: Cells) -> Floats:
    """Level of each cell's node over the height of the tree; leaves are 0, on short branches too."""
    tree = cells.domain.tree
    assert tree is not None
    low, high = _ends(cells)
    level = (tree.height - tree.depth[lca(tree, low, high)]) / max(tree.height, 1)
    return _with_null(cells, np.where(low == high, 0.0, level))


def _ends(cells: Cells) -> tuple[Ints, Ints]:
    """Lowest and highest code of each cell; 0 for a cell of nulls only."""
    empty = cells.low > cells.high
    return np.where(empty, 0, cells.low).astype(np.int64), np.where(empty, 0, cells.high).astype(np.int64)


def values_per_cell(cells: Cells) -> Ints:
    """How many values of the domain each cell covers; null is none."""
    if cells.set_offsets is not None:
        return np.diff(cells.set_offsets)
    return np.where(cells.low > cells.high, 0, cells.high.astype(np.int64) - cells.low + 1)


def _with_null(cells: Cells, width: Floats) -> Floats:
    """Nulls only are 0 wide, nulls together with values 1."""
    empty = cells.low > cells.high
    return np.where(empty, 0.0, np.where(cells.null, 1.0, width))


def _surprise(cells: Cells | None, rows: Ints, original: Ints, n_suppressed: int) -> float:
    """Sum of -ln(f(v) / f(cell)) over the rows of the original, f counting its rows.

    Suppressed rows, and all rows where `cells` is None, show the whole domain.
    """
    n_rows = int(original.sum())
    inside = np.array([n_rows]) if cells is None else _frequency(cells, original)
    present = original[original > 0]
    terms = (rows[rows > 0] * np.log(inside[rows > 0])).tolist()
    terms += (-present * np.log(present)).tolist()
    return math.fsum([*terms, n_suppressed * float(np.log(n_rows))])


def _frequency(cells: Cells, original: Ints) -> Ints:
    """Rows of the original inside each cell."""
    n_values = cells.domain.n_values
    if cells.set_offsets is not None and cells.set_codes is not None:
        below = np.concatenate([[0], np.cumsum(original[cells.set_codes])])
        inside = np.diff(below[cells.set_offsets])
    else:
        below = np.concatenate([[0], np.cumsum(original[:n_values])])
        low, high = _ends(cells)
        inside = np.where(cells.low > cells.high, 0, below[high + 1] - below[low])
    return np.asarray(inside + cells.null * original[n_values:].sum())
