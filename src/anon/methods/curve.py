# SPDX-License-Identifier: Apache-2.0
"""Curve: classes cut from a Hilbert order of the rows, then improved by moves, swaps and dealing anew."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from anon.classes import Classes
from anon.encode import Codes, Domain, Encoded
from anon.errors import UsageError
from anon.methods.repair import repair, widths_of
from anoncore import curve

if TYPE_CHECKING:
    from anoncore.requirement import Conjunction

BLOCK_ROWS = 1 << 16  # rows ordered and cut by one call, whatever the number of threads
BLOCK_CLASSES = 512  # classes refined by one call
LEAST_GAIN = 1e-3  # refinement ends when a pass lowers the loss by less
ROW_PASSES = 4_000_000  # small tables are cheap to refine: about so many rows in all passes together,
LEAST_PASSES, MOST_PASSES = 6, 40  # in at least and at most so many passes

RowNumbers = npt.NDArray[np.uint32]
Offsets = npt.NDArray[np.int64]
Grid = npt.NDArray[np.uint32]
Result = TypeVar("Result")


@dataclass(frozen=True)
class Curve:
    """Rows in the order of a Hilbert curve, cut into classes of k..2k-1 rows with the least loss.

    `refine` improves the classes by moves and swaps of rows between neighbors, and by dealing the
    rows of neighbors anew. `loss="ncp"` minimizes NCP (spans of values, trees, sets), `"ordered"` the
    same with every attribute taken as ordered codes. Ties follow the ranks of the rows, or their
    order in the input.
    """

    refine: bool = True
    loss: Literal["ncp", "ordered"] = "ncp"
    ties: Literal["rank", "input"] = "rank"

    def __post_init__(self) -> None:
        if self.loss not in ("ncp", "ordered"):
            raise UsageError(f"loss={self.loss!r} is unknown: use 'ncp' or 'ordered'")
        if self.ties not in ("rank", "input"):
            raise UsageError(f"ties={self.ties!r} is unknown: use 'rank' or 'input'")


class Task(Protocol):
    """What a method is given beside the table."""

    rules: Conjunction
    n_threads: int
    progress: Callable[[str, int, int], None] | None


def partition(encoded: Encoded, method: Curve, task: Task, k: int) -> Classes:
    """Classes of at least k rows that satisfy `task.rules`."""
    with ThreadPoolExecutor(task.n_threads) as pool:
        axes = Axes.of(encoded, method.loss)
        rows = curve_order(encoded, axes, method.ties, pool)
        codes = pack([column[rows] for column in encoded.quasi_codes])
        widths = widths_of(encoded.quasi, method.loss)
        offsets = cut(codes, widths, k, pool)
        places = np.arange(len(rows), dtype=np.uint32)
        if method.refine and k > 1:
            places, offsets = refine(codes, widths, axes, places, offsets, k, pool, task.progress)
    return Classes(rows[places], offsets, encoded.suppressed)


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
        """Linear in values or codes, trees by leaf, sets by falling frequency; null at the far end."""
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
            end = 2**bits - 1
            reach = places.max(initial=0.0) or 1.0
            grids.append(np.append(np.rint(places * (end / reach)), end).astype(np.uint32))
        order = sorted(range(len(domains)), key=lambda a: (-domains[a].n_values, a))
        return cls(tuple(grids), bits, tuple(order))

    def keys(self, codes: npt.NDArray[Any]) -> npt.NDArray[np.uint64]:
        """Hilbert indices of rows (n x m codes)."""
        columns = np.ascontiguousarray(codes[:, self.order])
        grids = [self.grids[a] for a in self.order]
        return curve.hilbert(columns, np.concatenate(grids), starts_of(grids), self.bits)


def curve_order(encoded: Encoded, axes: Axes, ties: str, pool: ThreadPoolExecutor) -> RowNumbers:
    """The rows that are not suppressed, along the curve; ties by (codes, sensitive codes, input position)."""

    def keys(start: int) -> npt.NDArray[np.uint64]:
        return axes.keys(pack([column[start : start + BLOCK_ROWS] for column in encoded.quasi_codes]))

    key = np.concatenate(list(pool.map(keys, range(0, encoded.n_rows, BLOCK_ROWS))))
    rows = np.setdiff1d(np.arange(encoded.n_rows, dtype=np.uint32), encoded.suppressed, assume_unique=True)
    if ties == "rank":
        blurred = [
            codes
            for domain, codes, grid in zip(encoded.quasi, encoded.quasi_codes, axes.grids, strict=True)
            if len(np.unique(grid[: domain.n_codes])) < domain.n_codes
        ]
        for column in reversed((*blurred, *encoded.sensitive_codes)):
            rows = curve.sort_rows(column.astype(np.uint64), rows)
    for word in reversed(range(key.shape[1])):
        rows = curve.sort_rows(np.ascontiguousarray(key[:, word]), rows)
    return rows


def cut(codes: npt.NDArray[Any], widths: curve.Widths, k: int, pool: ThreadPoolExecutor) -> Offsets:
    """Cuts of rows in curve order (n x m codes) with the least loss, block by block."""

    def cut_block(start: int, end: int) -> Offsets:
        rows = np.arange(start, end, dtype=np.uint32)
        return start + curve.cut(widths, curve.place(widths, codes, rows), k)[1:]

    n = len(codes)
    starts = list(range(0, max(n - k + 1, 1), max(BLOCK_ROWS, k)))
    ends = pool.map(cut_block, starts, [*starts[1:], n])
    return np.concatenate([[0], *ends]).astype(np.int64)


def refine(
    codes: npt.NDArray[Any],
    widths: curve.Widths,
    axes: Axes,
    rows: RowNumbers,
    offsets: Offsets,
    k: int,
    pool: ThreadPoolExecutor,
    progress: Callable[[str, int, int], None] | None,
) -> tuple[RowNumbers, Offsets]:
    """Passes over the classes, each along another curve through their centers, while the loss falls.

    Class c holds `rows[offsets[c]:offsets[c + 1]]` of `codes`, k..2k-1 of them.
    """
    m = codes.shape[1]
    grid = np.concatenate([(axis >> max(axes.bits - 8, 0)) << max(8 - axes.bits, 0) for axis in axes.grids])
    grid, grid_starts = grid.astype(np.uint8), starts_of(axes.grids)

    def refine_block(classes: npt.NDArray[np.int64]) -> tuple[Any, ...]:
        members = rows[ranges(offsets[classes], offsets[classes + 1])]
        ends = starts_of_sizes(offsets[classes + 1] - offsets[classes])
        places, ends, before, after = curve.refine(
            widths, curve.place(widths, codes, members), ends, k, 2 * k - 1
        )
        members = members[places]
        centers = curve.centers(codes, members, ends, grid, grid_starts)
        return members, np.diff(ends), centers, before, after

    n_passes = min(max(ROW_PASSES // max(len(rows), 1), LEAST_PASSES), MOST_PASSES)
    order = np.arange(len(offsets) - 1)
    for number in range(n_passes):
        blocks = [order[start : start + BLOCK_CLASSES] for start in range(0, len(order), BLOCK_CLASSES)]
        results = list(pool.map(refine_block, blocks))
        rows = np.concatenate([result[0] for result in results])
        offsets = starts_of_sizes(np.concatenate([result[1] for result in results]))
        before, after = (sum(result[i] for result in results) for i in (3, 4))
        if progress is not None:
            progress("refine", number + 1, n_passes)
        if before - after <= LEAST_GAIN * before:
            break
        centers = np.concatenate([result[2] for result in results])
        order = along_another_curve(centers, number + 1, pool)
    return rows, offsets


def along_another_curve(
    centers: npt.NDArray[np.uint8], number: int, pool: ThreadPoolExecutor
) -> npt.NDArray[np.int64]:
    """Points (n x m, 0..255) along a Hilbert curve with other axes first and shifted, by the pass's number."""
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


def pack(columns: Sequence[Codes]) -> npt.NDArray[Any]:
    """One row-major matrix of the codes, as wide as the widest column."""
    codes = np.empty((len(columns[0]), len(columns)), np.result_type(*columns))
    for a, column in enumerate(columns):
        codes[:, a] = column
    return codes


def starts_of(parts: Iterable[Any]) -> Offsets:
    """Where each part starts in their concatenation, and where the last ends."""
    return starts_of_sizes(np.array([len(part) for part in parts], np.int64))


def starts_of_sizes(sizes: npt.NDArray[np.int64]) -> Offsets:
    """Offsets (n + 1) of consecutive runs of these sizes."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def ranges(first: Offsets, end: Offsets) -> npt.NDArray[np.int64]:
    """The integers first[0]..end[0]-1, first[1]..end[1]-1, ... in one array."""
    sizes = end - first
    return np.repeat(first - starts_of_sizes(sizes)[:-1], sizes) + np.arange(sizes.sum())
