# SPDX-License-Identifier: Apache-2.0
"""Curve: classes cut from a Hilbert order of the rows, then improved by moves, swaps and dealing anew."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from anon.classes import Classes
from anon.encoding import Codes, Encoded
from anon.errors import InfeasibleError, Parameter, UsageError
from anon.methods.repair import pack, ranges, repair, sensitive_of, starts_of_sizes, widths_of
from anon.methods.task import LOSS, TIES, Method, Task
from anon.requirements import Option
from anoncore import curve, merge
from anoncore.requirement import Conjunction

BLOCK_ROWS = 1 << 16  # rows ordered and cut by one call, whatever the number of threads
BLOCK_CLASSES = 512  # classes refined by one call; fewer where more than so many attributes make them large
WIDE = 64
MOST = 6  # with requirements beside k, classes of up to 6k rows are cut and refined, larger ones split
LARGEST_K = 256  # larger classes are cut, but not refined: that takes a time that grows with k
LEAST_GAIN = 1e-3  # refinement ends when a pass lowers the loss by less
ROW_PASSES = 2_000_000  # small tables are cheap to refine: about so many rows in all passes together,
LEAST_PASSES, MOST_PASSES = 2, 40  # in at least and at most so many passes
# Classes are worked on together if their cells together are at most so many percent as wide as the two;
# the first passes look at the nearest only.
NEAREST, FARTHEST = 80, 95

RowNumbers = npt.NDArray[np.uint32]
Offsets = npt.NDArray[np.int64]
Grid = npt.NDArray[np.uint32]
Result = TypeVar("Result")


@dataclass(frozen=True)
class Curve(Method):
    """Rows in the order of a Hilbert curve, cut into classes of k..2k-1 rows with the least loss.

    `refine` improves the classes by moves and swaps of rows between neighbors, and by dealing the
    rows of neighbors anew (for k up to 256). `loss="ncp"` minimizes NCP (spans of values, trees,
    sets), `"ordered"` the same with every attribute taken as ordered codes. Ties follow the ranks of
    the rows, or their order in the input.
    """

    name: ClassVar[str] = "curve"
    grows: ClassVar[bool] = True
    repaired: ClassVar[bool] = True
    on_spark: ClassVar[bool] = True
    options: ClassVar[tuple[Option, ...]] = (
        LOSS,
        Option("refine", bool, "Curve improves its first classes (default: refine)."),
        TIES,
    )

    refine: bool = True
    loss: Literal["ncp", "ordered"] = "ncp"
    ties: Literal["rank", "input"] = "rank"

    def __post_init__(self) -> None:
        if self.loss not in ("ncp", "ordered"):
            raise UsageError(
                Parameter(f"loss={self.loss!r}", f"--loss {self.loss}"), " is unknown: use 'ncp' or 'ordered'"
            )
        if self.ties not in ("rank", "input"):
            raise UsageError(
                Parameter(f"ties={self.ties!r}", f"--ties {self.ties}"), " is unknown: use 'rank' or 'input'"
            )

    def classes(self, encoded: Encoded, task: Task, k: int) -> Classes:
        return partition(encoded, self, task, k)


def partition(encoded: Encoded, method: Curve, task: Task, k: int) -> Classes:
    """Classes of at least k rows that satisfy `task.rules`."""
    widths = widths_of(encoded.quasi, method.loss)
    axes = Axes.of(encoded, method.loss)
    with ThreadPoolExecutor(task.n_threads) as pool:
        rows = curve_order(encoded, axes, method.ties, pool)
        if 0 < len(rows) < k:
            raise InfeasibleError(
                f"k = {k} cannot be met by {len(rows)} rows: ask for at most {len(rows)}",
                requirement=k,
                tightest=len(rows),
            )
        table = Table(
            pack([column[rows] for column in encoded.quasi_codes]),
            sensitive_of(encoded, rows),
            widths,
            max(k, task.rules.min_size),
            task.rules if task.rules.n_sensitive else None,
        )
        places = np.arange(len(rows), dtype=np.uint32)
        offsets = cut(table, pool)
        if table.rules is not None:
            classes = Classes(rows, offsets, encoded.suppressed)
            classes = repair(classes, encoded, table.rules, loss=method.loss, ties=method.ties)
            place_of_row = np.empty(encoded.n_rows, np.uint32)
            place_of_row[rows] = places
            places, offsets = split_large(table, place_of_row[classes.rows], classes.offsets, pool)
        if method.refine and 1 < table.k <= LARGEST_K:
            places, offsets = refine(table, axes, places, offsets, pool, task.progress)
    return Classes(rows[places], offsets, encoded.suppressed)


@dataclass(frozen=True)
class Table:
    """The rows in curve order, and what their classes must satisfy.

    `codes` (n x m) and `sensitive` (int32, n x s) by row; `rules` is None where only k matters.
    """

    codes: npt.NDArray[Any]
    sensitive: npt.NDArray[np.int32]
    widths: curve.Widths
    k: int
    rules: Conjunction | None

    @property
    def most(self) -> int:
        """Rows of a class that is cut or refined, at most."""
        least = 2 * self.k - 1
        return least if self.rules is None else max(min(MOST * self.k, 2 * LARGEST_K), least)

    @property
    def step(self) -> int:
        """Large classes are cut before every so many rows only, as the time grows with k / step."""
        return max(self.k // 32, 1)

    def records(self, rows: RowNumbers) -> npt.NDArray[np.int32]:
        """Records of these rows."""
        return curve.place(self.widths, self.codes, rows)


@dataclass(frozen=True)
class Axes:
    """Where the codes of each attribute lie on the curve's axes: `grids[a][code]` < 2**bits.

    `order` lists the attributes, finest first: the curve turns slowest around the first of them.
    """

    grids: tuple[Grid, ...]
    bits: int
    order: tuple[int, ...]

    @classmethod
    def of(cls, encoded: Encoded, loss: str) -> Axes:
        """Linear in values or codes, trees by leaf, sets by falling frequency; null far off."""
        domains = encoded.quasi
        finest = max(domain.n_codes for domain in domains)
        bits = max(min((finest - 1).bit_length(), 64 // len(domains)), 4)
        grids = []
        for domain, codes in zip(domains, encoded.quasi_codes, strict=True):
            places = np.arange(domain.n_values, dtype=np.float64)
            if loss == "ncp" and domain.positions is not None:
                places = domain.positions
            elif loss == "ncp" and domain.tree is None:
                counts = np.bincount(codes, minlength=domain.n_codes)[: domain.n_values]
                places[np.argsort(-counts, kind="stable")] = np.arange(domain.n_values)
            # Null lies as far behind the last value as that behind the first.
            end = 2**bits - 1
            shares = places / (places.max(initial=0.0) or 1.0) / (2 if domain.has_null else 1)
            grids.append(np.append(np.rint(shares * end), end).astype(np.uint32))
        order = sorted(range(len(domains)), key=lambda a: (-domains[a].n_values, a))
        return cls(tuple(grids), bits, tuple(order))

    def keys(self, columns: Sequence[Codes]) -> npt.NDArray[np.uint64]:
        """Hilbert indices of rows, given as columns in schema order."""
        grids = [self.grids[a] for a in self.order]
        packed = pack([columns[a] for a in self.order])
        return curve.hilbert(packed, np.concatenate(grids), starts_of(grids), self.bits)


def curve_order(encoded: Encoded, axes: Axes, ties: str, pool: ThreadPoolExecutor) -> RowNumbers:
    """The rows that are not suppressed, along the curve; ties by (codes, `encoded.ties`, input position)."""

    def keys(start: int) -> npt.NDArray[np.uint64]:
        return axes.keys([column[start : start + BLOCK_ROWS] for column in encoded.quasi_codes])

    key = np.concatenate(list(pool.map(keys, range(0, encoded.n_rows, BLOCK_ROWS))))
    rows = encoded.kept
    if ties == "rank":
        blurred = [
            codes
            for domain, codes, grid in zip(encoded.quasi, encoded.quasi_codes, axes.grids, strict=True)
            if len(np.unique(grid[: domain.n_codes])) < domain.n_codes
        ]
        for column in reversed((*blurred, *encoded.ties)):
            rows = curve.sort_rows(column.astype(np.uint64), rows)
    for word in reversed(range(key.shape[1])):
        rows = curve.sort_rows(np.ascontiguousarray(key[:, word]), rows)
    return rows


def cut(table: Table, pool: ThreadPoolExecutor) -> Offsets:
    """Cuts of the rows in curve order with the least loss, block by block."""

    def cut_block(start: int, end: int) -> Offsets:
        records = table.records(np.arange(start, end, dtype=np.uint32))
        sensitive = table.sensitive[start:end]
        ends = curve.cut(table.widths, records, table.k, table.most, table.step, table.rules, sensitive)
        return start + ends[1:]

    n = len(table.codes)
    starts = list(range(0, max(n - table.k + 1, 1), max(BLOCK_ROWS, table.k)))
    return np.concatenate([[0], *pool.map(cut_block, starts, [*starts[1:], n])]).astype(np.int64)


def split_large(
    table: Table, rows: RowNumbers, offsets: Offsets, pool: ThreadPoolExecutor
) -> tuple[RowNumbers, Offsets]:
    """Split classes too large to be refined so that every part passes the rules.

    A class of this size was merged because one sensitive value prevails in its neighborhood. Its rows
    are ordered so that every stretch has the same share of every combination of sensitive values
    (those of one combination along the curve), and cut again; parts that fail are merged with others.
    """
    assert table.rules is not None
    rules = table.rules

    def split(number: int) -> tuple[RowNumbers, npt.NDArray[np.int64]]:
        members = np.sort(rows[offsets[number] : offsets[number + 1]])
        _, stratum = np.unique(table.sensitive[members], axis=0, return_inverse=True)
        members = members[evenly(stratum.reshape(-1))]
        records, sensitive = table.records(members), table.sensitive[members]
        ends = curve.cut(table.widths, records, table.k, table.most, table.step, rules, sensitive)
        home = merge.repair(table.widths, records, sensitive, ends, rules)
        together = np.argsort(np.repeat(home, np.diff(ends)), kind="stable")
        sizes = np.bincount(home, np.diff(ends)).astype(np.int64)
        return members[together], sizes[sizes > 0]

    sizes = np.diff(offsets)
    large = np.flatnonzero(sizes > table.most)
    parts = list(pool.map(split, large))
    kept = np.flatnonzero(sizes <= table.most)
    rows = np.concatenate([rows[ranges(offsets[kept], offsets[kept + 1])], *(part[0] for part in parts)])
    return rows, starts_of_sizes(np.concatenate([sizes[kept], *(part[1] for part in parts)]))


def evenly(stratum: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """An order in which every stretch holds the strata in equal shares, each in its order."""
    sizes = np.bincount(stratum)
    order = np.argsort(stratum, kind="stable")
    numbers = np.arange(len(stratum)) - starts_of_sizes(sizes)[stratum[order]]
    quantile = np.empty(len(stratum))
    quantile[order] = (numbers + 0.5) / sizes[stratum[order]]
    return np.argsort(quantile, kind="stable")


def refine(
    table: Table,
    axes: Axes,
    rows: RowNumbers,
    offsets: Offsets,
    pool: ThreadPoolExecutor,
    progress: Callable[[str, int, int], None] | None,
) -> tuple[RowNumbers, Offsets]:
    """Passes over the classes, each along another curve through their centers, while the loss falls.

    Class c holds `rows[offsets[c]:offsets[c + 1]]`; classes of more than `table.most` rows stay.
    """
    grid = np.concatenate([(axis >> max(axes.bits - 8, 0)) << max(8 - axes.bits, 0) for axis in axes.grids])
    grid, grid_starts = grid.astype(np.uint8), starts_of(axes.grids)
    sizes = np.diff(offsets)
    large = np.flatnonzero(sizes > table.most)
    kept_rows, kept_sizes = rows[ranges(offsets[large], offsets[large + 1])], sizes[large]

    def refine_block(classes: npt.NDArray[np.int64]) -> tuple[Any, ...]:
        members = rows[ranges(offsets[classes], offsets[classes + 1])]
        ends = starts_of_sizes(offsets[classes + 1] - offsets[classes])
        places, ends, before, after = curve.refine(
            table.widths,
            table.records(members),
            ends,
            table.k,
            table.most,
            reach,
            table.rules,
            table.sensitive[members] if table.rules else None,
        )
        members = members[places]
        centers = curve.centers(table.codes, members, ends, grid, grid_starts)
        return members, np.diff(ends), centers, before, after

    size = max(BLOCK_CLASSES * WIDE // max(table.codes.shape[1], WIDE), 1)
    n_passes = min(max(ROW_PASSES // max(len(rows), 1), LEAST_PASSES), MOST_PASSES)
    order = np.flatnonzero(sizes <= table.most)
    for number in range(n_passes if len(order) else 0):
        reach = min(NEAREST + number, FARTHEST)
        blocks = [order[start : start + size] for start in range(0, len(order), size)]
        results = list(pool.map(refine_block, blocks))
        rows = np.concatenate([result[0] for result in results])
        offsets = starts_of_sizes(np.concatenate([result[1] for result in results]))
        before, after = (sum(result[i] for result in results) for i in (3, 4))
        if progress is not None:
            progress("refine", number + 1, n_passes)
        if before - after <= LEAST_GAIN * before:
            break
        order = along_another_curve(np.concatenate([result[2] for result in results]), number + 1, pool)
    if len(order) == 0:
        return rows, offsets
    return np.concatenate([rows, kept_rows]), starts_of_sizes(np.concatenate([np.diff(offsets), kept_sizes]))


def along_another_curve(
    centers: npt.NDArray[np.uint8], number: int, pool: ThreadPoolExecutor
) -> npt.NDArray[np.int64]:
    """Points (n x m, 0..255) along a Hilbert curve that is shifted and turned by the number of the pass."""
    m = centers.shape[1]
    turns = number * np.sqrt(np.arange(2, m + 2) * 2.0 + 1.0)
    shifts = (256 * (turns % 1)).astype(np.uint32)
    axes = np.argsort((turns * np.sqrt(2)) % 1)
    places = np.arange(256, dtype=np.uint32)
    grid = np.concatenate([(places + shift) >> 1 for shift in shifts[axes]])
    starts = starts_of([places] * m)

    def keys(start: int) -> npt.NDArray[np.uint64]:
        points = np.ascontiguousarray(centers[start : start + BLOCK_ROWS, axes])
        return curve.hilbert(points, grid, starts, 8)

    key = np.concatenate(list(pool.map(keys, range(0, len(centers), BLOCK_ROWS))))
    order = np.arange(len(centers), dtype=np.uint32)
    for word in reversed(range(key.shape[1])):
        order = curve.sort_rows(np.ascontiguousarray(key[:, word]), order)
    return order.astype(np.int64)


def starts_of(parts: Iterable[Any]) -> Offsets:
    """Where each part starts in their concatenation, and where the last ends."""
    return starts_of_sizes(np.array([len(part) for part in parts], np.int64))
