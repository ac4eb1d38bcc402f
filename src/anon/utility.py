# SPDX-License-Identifier: Apache-2.0
"""What a release costs: information loss and utility (spec 3).

Everything but `kl` and `u_loss`, which are computed when they are asked for, is read from the classes
and their distinct cells. Sums are rounded once, so that no measure depends on any order. Suppressed
rows count as fully generalized in losses and DM, and are absent from means over classes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from anon.classes import Cells, Classes, Counts, group, sensitive_counts
from anon.encode import Codes, Domain, Encoded, in_threads
from anon.errors import UsageError
from anon.hierarchy import lca
from anon.plain import as_plain
from anoncore.diversity import Closeness, s_diversity

if TYPE_CHECKING:
    from anon.release import Release

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[Any]

_PAIRS_AT_ONCE = 1 << 22  # classes are joined with points in blocks of about as many pairs
_CLASSES_AT_ONCE = 1 << 12


@dataclass(frozen=True, repr=False)
class Published:
    """What a release shows, in the codes of the original table.

    `classes` lists the published rows, whatever their numbers mean; what is not in it is suppressed.
    `counts[i]` is what each class holds of the i-th sensitive attribute of `original`, None where the
    release leaves it out. `cells[i]` is what each class shows of the i-th quasi-identifier; a
    bucketization has None there and the intact codes of its rows (numbered as in `classes`) in
    `intact`. With neither, `refusal` says why there are no cells. With `by_level` numeric cells are the
    intervals of the attribute's levels. `k_asked` is the k that was demanded.
    """

    original: Encoded
    classes: Classes
    counts: tuple[Counts | None, ...]
    cells: tuple[Cells, ...] | None = None
    intact: tuple[Codes, ...] | None = None
    by_level: bool = False
    k_asked: int | None = None
    n_starred: int = 0
    refusal: str = ""
    n_threads: int = 1

    @property
    def n_suppressed(self) -> int:
        """Rows of the original that are not published."""
        return self.original.n_rows - len(self.classes.rows)

    def __repr__(self) -> str:
        return f"Published(n_classes={self.classes.n_classes}, rows={len(self.classes.rows)})"


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


@dataclass(frozen=True)
class Aligned:
    """What becomes known of a release once its rows are matched with those of the original (`n_rows`).

    `outside`: per quasi-identifier the share of rows whose cell does not hold their value; None where the
    release does not show its cells. `error`: per numeric quasi-identifier the mean distance, in its units
    (dates: days, times: their ticks), between the value and the number shown or the middle of the interval,
    over rows that have both; None where there are none. `changed`: per sensitive attribute the share of
    rows with another value; None where the release leaves it out or separates it from the rows.
    """

    n_rows: int
    outside: Mapping[str, float | None]
    error: Mapping[str, float | None]
    changed: Mapping[str, float | None]


@dataclass(frozen=True, kw_only=True, repr=False)
class Utility:
    """Every measure of information loss of a release.

    `dm` is the discernibility, `class_size` the mean number of rows of a class, `c_avg` that over
    `k`: the k that was asked for, or where none was the one measured (`k_source` says which). `pm` is
    Loukides & Shao's protection (definition 2.5, range `r`), the mean over classes, and `pm_rows` over
    rows; None where a published sensitive value is null. `avg_wtd` weighs UM and PM (definition 3.2)
    by `w_u` and `w_p`. Of the `n_suppressed` rows `n_starred` stand as rows of `*` in a file made by
    another tool. `aligned` is there where `compare` was told to match rows.

    Measures that need the cells raise UsageError where the release does not show them.
    """

    n_rows: int
    n_suppressed: int
    n_starred: int
    n_classes: int
    class_size: float
    dm: int
    c_avg: float
    k: int
    k_source: Literal["asked", "measured"]
    pm: float | None
    pm_rows: float | None
    by_sensitive: Mapping[str, SensitiveDiversity]
    r: float
    w_u: float
    w_p: float
    min_support: float
    loss: CellLoss | None
    aligned: Aligned | None = None
    published: Published = field(compare=False)

    @property
    def _loss(self) -> CellLoss:
        if self.loss is None:
            raise UsageError(self.published.refusal)
        return self.loss

    @property
    def gcp(self) -> float:
        """Global certainty penalty: the mean NCP of all cells of quasi-identifiers."""
        return self._loss.gcp

    @property
    def ordered_loss(self) -> float:
        """GCP with every attribute taken as ordered codes, to compare methods across tools."""
        return self._loss.ordered_loss

    @property
    def um(self) -> float:
        """Loukides & Shao's utility (definition 2.2): sum of Q-diversities, mean over classes.

        Of a bucketization every row counts as a class of its own.
        """
        return self._loss.um

    @property
    def um_rows(self) -> float:
        """The same, mean over rows: one giant class cannot hide among many small ones."""
        return self._loss.um_rows

    @property
    def entropy(self) -> float:
        """Non-uniform entropy: 0 for the original, 1 where every cell is the whole domain."""
        return self._loss.entropy

    @property
    def precision(self) -> float | None:
        """One minus the mean level of the cells over the height of their tree; None without a tree."""
        return self._loss.precision

    @property
    def by_attribute(self) -> Mapping[str, AttributeLoss]:
        """Per quasi-identifier what it lost."""
        return self._loss.by_attribute

    @property
    def avg_wtd(self) -> float | None:
        """Average weighted tuple diversity; None where `pm` is."""
        n_quasi, n_sensitive = len(self._loss.by_attribute), len(self.by_sensitive)
        if self.pm is None:
            return None
        return self.w_u * self.um / max(n_quasi, 1) + self.w_p * self.pm / max(n_sensitive, 1)

    @cached_property
    def kl(self) -> float:
        """KL divergence of the QI-SA distribution reconstructed from the release from the true one.

        The values of a cell are equally likely and attributes independent; integers, dates and
        decimals lie on their lattice, other numbers on the values that the original has in the cell.
        The mean over sensitive attributes; of the QI distribution where there is none. Infinite where
        the release rules out a row of the original, as it does where a suppressed row has no like.
        """
        return kl_divergence(self._estimable())

    @cached_property
    def u_loss(self) -> float:
        """Utility loss of Li & Li (4.2) at `min_support`: mean JS divergence over large populations."""
        return population_loss(self._estimable(), self.min_support)

    def _estimable(self) -> Published:
        if self.loss is None:
            raise UsageError(self.published.refusal)
        for domain, counts in zip(self.published.original.sensitive, self.published.counts, strict=True):
            if counts is None:
                raise UsageError(
                    f"the release leaves {domain.name!r} out, so that nothing can be estimated about it"
                )
        return self.published

    def to_dict(self, *, estimates: bool = True) -> dict[str, Any]:
        """The measures under their names, ready for JSON: an infinite one is "inf", a refused one None.

        Without `estimates` `kl` and `u_loss` are left out, which may take a while.
        """
        plain = {f.name: getattr(self, f.name) for f in fields(self)}
        del plain["loss"], plain["published"]
        for name in (*_CELL_MEASURES, *(("kl", "u_loss") if estimates else ())):
            try:
                plain[name] = getattr(self, name)
            except UsageError:
                plain[name] = None
        return {name: as_plain(value) for name, value in plain.items()}

    def _repr_html_(self) -> str:
        """Without `kl` and `u_loss`, which may take a while."""
        from anon.report import html_of, utility_tables

        return html_of(*utility_tables(self.to_dict(estimates=False)))

    def __repr__(self) -> str:
        gcp = None if self.loss is None else self.loss.gcp
        return f"Utility(n_classes={self.n_classes}, gcp={gcp}, dm={self.dm}, c_avg={self.c_avg})"


_CELL_MEASURES = (
    "gcp",
    "ordered_loss",
    "um",
    "um_rows",
    "avg_wtd",
    "entropy",
    "precision",
    "by_attribute",
)


def measure(
    published: Published,
    *,
    r: float = 1.0,
    w_u: float = 0.5,
    w_p: float = 0.5,
    min_support: float = 0.05,
) -> Utility:
    """Measure what a release lost.

    `r` in [0, 1] is the range of S-diversity, `w_u` + `w_p` = 1 the weights of `avg_wtd`,
    `min_support` in (0, 1] the support of the populations of `u_loss`.
    """
    if not 0 <= r <= 1:
        raise UsageError(f"r lies between 0 and 1, not at {r}")
    if not (0 <= w_u <= 1 and 0 <= w_p <= 1 and abs(w_u + w_p - 1) <= 1e-9):
        raise UsageError("w_u and w_p lie between 0 and 1 and sum to 1")
    if not 0 < min_support <= 1:
        raise UsageError(f"min_support lies above 0 and at most at 1, not at {min_support}")
    classes, n_rows = published.classes, published.original.n_rows
    sizes = classes.sizes
    k = published.k_asked
    if k is None:
        k = int(sizes.min()) if len(sizes) else 0
    class_size = len(classes.rows) / max(classes.n_classes, 1)
    squares = sizes.astype(np.uint64) ** 2  # a square, and the sum, is at most n_rows**2 < 2**64
    by_sensitive = {
        domain.name: _s_diversity(domain, counts, sizes, r)
        for domain, counts in zip(published.original.sensitive, published.counts, strict=True)
    }
    return Utility(
        n_rows=n_rows,
        n_suppressed=published.n_suppressed,
        n_starred=published.n_starred,
        n_classes=classes.n_classes,
        class_size=class_size,
        dm=int(squares.sum()) + published.n_suppressed * n_rows,
        c_avg=class_size / k if k else 0.0,
        k=k,
        k_source="measured" if published.k_asked is None else "asked",
        pm=_sum_of([one.sd for one in by_sensitive.values()]),
        pm_rows=_sum_of([one.sd_rows for one in by_sensitive.values()]),
        by_sensitive=by_sensitive,
        r=r,
        w_u=w_u,
        w_p=w_p,
        min_support=min_support,
        loss=_cell_loss(published) if published.cells is not None or published.intact else None,
        published=published,
    )


def _sum_of(numbers: Sequence[float | None]) -> float | None:
    known = [number for number in numbers if number is not None]
    return math.fsum(known) if len(known) == len(numbers) else None


def _s_diversity(domain: Domain, counts: Counts | None, sizes: Ints, r: float) -> SensitiveDiversity:
    if counts is None or not len(sizes):
        return SensitiveDiversity(0.0, 0.0)
    if counts.table[domain.n_values :].any():
        return SensitiveDiversity(None, None)
    tree = domain.tree
    closeness = Closeness(
        domain.n_values,
        domain.positions,
        None if tree is None else (tree.parent, tree.first, tree.last, tree.leaf),
        r=r,
    )
    sd = s_diversity(closeness, counts.offsets, counts.values.astype(np.int64), counts.counts)
    return SensitiveDiversity(_dot(sd) / len(sizes), _dot(sd, sizes) / int(sizes.sum()))


def _dot(*factors: Ints) -> float:
    """Sum of products, rounded once: the order of the terms does not matter."""
    return math.fsum(np.prod(factors, axis=0).tolist())


# --- losses of cells


@dataclass(frozen=True)
class _Shown:
    """One quasi-identifier: its distinct cells, the rows and classes that show each, and the count of
    every code in the original.
    """

    cells: Cells
    rows: Ints
    classes: Ints
    original: Ints


def _shown(published: Published) -> Iterator[_Shown]:
    classes = published.classes
    for i, (domain, frequency) in enumerate(
        zip(published.original.quasi, _frequencies(published), strict=True)
    ):
        if published.cells is not None:
            cells = published.cells[i]
            rows = np.bincount(cells.of_class, classes.sizes, len(cells.low)).astype(np.int64)
            yield _Shown(cells, rows, np.bincount(cells.of_class, minlength=len(cells.low)), frequency)
        elif published.intact is not None:
            rows = np.bincount(published.intact[i][classes.rows], minlength=domain.n_codes)
            yield _Shown(_single_values(domain), rows, rows, frequency)


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


def _single_values(domain: Domain) -> Cells:
    """A cell for every code."""
    codes = np.arange(domain.n_codes, dtype=np.uint32)
    null = codes == domain.n_values
    low, high = np.where(null, 1, codes).astype(np.uint32), np.where(null, 0, codes).astype(np.uint32)
    flat = domain.kind == "nominal" and domain.tree is None
    ends = np.minimum(np.arange(domain.n_codes + 1), domain.n_values)
    return Cells(
        domain, codes, low, high, null, ends if flat else None, codes[: domain.n_values] if flat else None
    )


def _cell_loss(published: Published) -> CellLoss:
    n_rows, n_suppressed = published.original.n_rows, published.n_suppressed
    by_attribute: dict[str, AttributeLoss] = {}
    totals: dict[str, list[float]] = {name: [] for name in ("ncp", "ordered", "level", "qd", "qd_rows")}
    lost, whole = [], []
    for one in _shown(published):
        domain, n_shown = one.cells.domain, max(int(one.classes.sum()), 1)
        width = _q_diversity(one.cells, published.by_level)
        total = {
            "ncp": _dot(_ncp(one.cells, published.by_level), one.rows) + n_suppressed,
            "ordered": _dot(_ordered_loss(one.cells), one.rows) + n_suppressed,
            "qd": _dot(width, one.classes) / n_shown,
            "qd_rows": (_dot(width, one.rows) + n_suppressed) / n_rows,
        }
        if domain.tree is not None:
            total["level"] = _dot(_level(one.cells), one.rows) + n_suppressed
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


def _ncp(cells: Cells, by_level: bool) -> Floats:
    """NCP of each distinct cell: range share, leaves under the LCA, or values of the set."""
    if cells.domain.positions is not None:
        return _range_share(cells, by_level)
    return _with_null(cells, (_n_values(cells) - 1) / max(cells.domain.n_values - 1, 1))


def _q_diversity(cells: Cells, by_level: bool) -> Floats:
    """Q-diversity of each distinct cell (Loukides & Shao, definition 2.1)."""
    if cells.domain.positions is not None:
        return _range_share(cells, by_level)
    return _with_null(cells, _n_values(cells) / max(cells.domain.n_values, 1))


def _range_share(cells: Cells, by_level: bool) -> Floats:
    positions = cells.domain.positions
    assert positions is not None
    lower, upper = _reach(cells, by_level)
    span = positions[-1] - positions[0]
    return _with_null(cells, (upper - lower) / (span or 1.0))


def _reach(cells: Cells, by_level: bool) -> tuple[Floats, Floats]:
    """Where each cell of an ordered attribute begins and ends on its line."""
    domain = cells.domain
    assert domain.positions is not None
    low, high = _ends(cells)
    lower, upper = domain.positions[low], domain.positions[high]
    if by_level and domain.levels is not None:
        chosen = domain.levels.interval_of(low, high)
        # -1 (no level holds the cell) picks the whole domain
        lower = np.append(domain.levels.lower, domain.positions[0])[chosen]
        upper = np.append(domain.levels.upper, domain.positions[-1])[chosen]
    return lower, upper


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


def _n_values(cells: Cells) -> Ints:
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


# --- estimates


def population_loss(published: Published, min_support: float) -> float:
    """U_loss of the release; see `Utility.u_loss`."""
    from anon.populations import large_populations, u_loss

    threads = published.n_threads
    populations = large_populations(published.original, min_support, n_threads=threads)
    return u_loss(as_release(published), min_support, populations=populations, n_threads=threads).u_loss


def as_release(published: Published) -> Release:
    """What estimates read of a release: its classes, cells and counts, its rows numbered class by class."""
    from anon.release import Release

    original, classes = published.original, published.classes
    rows = np.arange(len(classes.rows), dtype=np.uint32)
    shown = replace(
        original,
        quasi_codes=tuple(codes[classes.rows] for codes in published.intact or ()),
        sensitive_codes=tuple(
            np.repeat(counts.values, counts.counts) for counts in published.counts if counts is not None
        ),
        suppressed=np.empty(0, np.uint32),
    )
    return Release(
        shown,
        Classes(rows, classes.offsets, shown.suppressed),
        published.cells or (),
        (),
        publish="bucketization" if published.cells is None else "generalization",
        numeric="level" if published.by_level else "interval",
    )


def kl_divergence(published: Published) -> float:
    """KL divergence of the reconstructed QI-SA distribution from that of the original; see `Utility.kl`."""
    original = published.original
    if not published.classes.n_classes:
        return math.inf
    columns = list(original.quasi_codes)
    if published.intact is not None:
        # points get numbers that both tables share
        rows = published.classes.rows
        columns = [
            np.concatenate([codes, shown[rows]])
            for codes, shown in zip(columns, published.intact, strict=True)
        ]
    points = group(columns, n_threads=published.n_threads)
    point_of = np.empty(len(columns[0]), np.int64)
    point_of[points.rows] = np.repeat(np.arange(points.n_classes), points.sizes)
    codes = [column[points.rows[points.offsets[:-1]]].astype(np.int64) for column in columns]
    if published.intact is not None:
        joined = _in_buckets(point_of[original.n_rows :], published.classes)
    else:
        joined = _in_cells(codes, published)
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
    held = [_Entries(point_of[: original.n_rows], points.n_classes, *value) for value in values]
    for point, class_id, weight in joined:
        for one in held:
            one.add(point, class_id, weight)
    return math.fsum(one.divergence(len(published.classes.rows)) for one in held) / len(held)


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
        return max(0.0, _dot(share, np.log(share / (self.estimated / n_published))))


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
    for first in range(0, len(key), _PAIRS_AT_ONCE):
        point, class_id = np.divmod(key[first : first + _PAIRS_AT_ONCE], n_classes)
        yield point, class_id, count[first : first + _PAIRS_AT_ONCE] / classes.sizes[class_id]


def _in_cells(codes: Sequence[Ints], published: Published) -> Iterator[tuple[Ints, Ints, Floats]]:
    """The points inside each class's cells, with the share of its rows that each is expected to have.

    `codes` are the points' codes per quasi-identifier, ascending as tuples. Attribute by attribute the
    classes are joined with the prefixes of the points that lie in their cells.
    """
    assert published.cells is not None
    node = np.zeros(len(codes[0]), np.int64)
    levels = []
    for column, cells in zip(codes, published.cells, strict=True):
        keys, node = np.unique(node * cells.domain.n_codes + column, return_inverse=True)
        levels.append((keys, cells))
    for first in range(0, published.classes.n_classes, _CLASSES_AT_ONCE):
        class_id = np.arange(first, min(first + _CLASSES_AT_ONCE, published.classes.n_classes))
        node, weight = np.zeros(len(class_id), np.int64), np.ones(len(class_id))
        for keys, cells in levels:
            cell = cells.of_class[class_id].astype(np.int64)
            pair, node = _children(keys, cells, node, cell)
            class_id, weight = class_id[pair], weight[pair]
            code = keys[node] % cells.domain.n_codes
            weight = weight * _share(cells, published.by_level, cell[pair], code)
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
    n_places = _n_values(cells).astype(np.float64)
    if domain.positions is not None and domain.unit_lattice:
        lower, upper = _reach(cells, by_level)
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
