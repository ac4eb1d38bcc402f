# SPDX-License-Identifier: Apache-2.0
"""Orders of rows, and of classes, along a Hilbert curve."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from anon.classes import starts_of_sizes
from anon.encoding import Codes, Encoded
from anon.methods.repair import pack
from anon.threads import in_threads
from anoncore import curve

BLOCK_ROWS = 1 << 16  # rows placed by one call, whatever the number of threads

RowNumbers = npt.NDArray[np.uint32]
Offsets = npt.NDArray[np.int64]
Grid = npt.NDArray[np.uint32]


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

    def class_order(
        self, codes: npt.NDArray[Any], rows: RowNumbers, offsets: Offsets, number: int, n_threads: int
    ) -> npt.NDArray[np.int64]:
        """Classes of rows of codes (n x m) along a curve that the number of the pass shifts and turns."""
        grid = np.concatenate(
            [(axis >> max(self.bits - 8, 0)) << max(8 - self.bits, 0) for axis in self.grids]
        )
        centers = curve.centers(codes, rows, offsets, grid.astype(np.uint8), starts_of(self.grids))
        return along_another_curve(centers, number, n_threads)


def curve_order(encoded: Encoded, axes: Axes, ties: str, n_threads: int) -> RowNumbers:
    """The rows that are not suppressed, along the curve; ties by (codes, `encoded.ties`, input position)."""

    def keys(start: int) -> npt.NDArray[np.uint64]:
        return axes.keys([column[start : start + BLOCK_ROWS] for column in encoded.quasi_codes])

    key = np.concatenate(in_threads(n_threads, keys, range(0, encoded.n_rows, BLOCK_ROWS)))
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


def along_another_curve(centers: npt.NDArray[np.uint8], number: int, n_threads: int) -> npt.NDArray[np.int64]:
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

    key = np.concatenate(in_threads(n_threads, keys, range(0, len(centers), BLOCK_ROWS)))
    order = np.arange(len(centers), dtype=np.uint32)
    for word in reversed(range(key.shape[1])):
        order = curve.sort_rows(np.ascontiguousarray(key[:, word]), order)
    return order.astype(np.int64)


def starts_of(parts: Iterable[Any]) -> Offsets:
    """Where each part starts in their concatenation, and where the last ends."""
    return starts_of_sizes(np.array([len(part) for part in parts], np.int64))
