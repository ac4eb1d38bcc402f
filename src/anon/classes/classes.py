# SPDX-License-Identifier: Apache-2.0
"""Equivalence classes, and the cells that a release shows for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

import anoncore.classes as kernel
from anon.encoding import Codes, Encoded

_AT_ONCE = 1 << 18


@dataclass(frozen=True, repr=False)
class Classes:
    """A partition of a table's rows, in CSR form.

    `rows` (uint32) lists the row numbers of the table class by class; class c holds
    `rows[offsets[c]:offsets[c + 1]]` (`offsets` int64, n_classes + 1). `suppressed` (uint32,
    ascending) are the rows that belong to no class. Every row of the table is in exactly one. With
    households, `rows[together[g]:together[g + 1]]` are some whose classes show the same in their columns.
    """

    rows: npt.NDArray[np.uint32]
    offsets: npt.NDArray[np.int64]
    suppressed: npt.NDArray[np.uint32]
    together: npt.NDArray[np.int64] | None = None

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.offsets) - 1

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        """Rows of each class."""
        return np.diff(self.offsets)

    def __repr__(self) -> str:
        return (
            f"Classes(n_classes={self.n_classes}, rows={len(self.rows)}, suppressed={len(self.suppressed)})"
        )


@dataclass(frozen=True, repr=False)
class Counts:
    """How often each class holds each value of one sensitive attribute, in CSR form.

    Class c holds the codes `values[offsets[c]:offsets[c + 1]]` (uint32, ascending) `counts` times
    each (int64, > 0). `table[v]` (int64) is the count of code v in all classes together.
    """

    offsets: npt.NDArray[np.int64]
    values: npt.NDArray[np.uint32]
    counts: npt.NDArray[np.int64]
    table: npt.NDArray[np.int64]

    def __repr__(self) -> str:
        return f"Counts(n_classes={len(self.offsets) - 1}, n_values={len(self.table)})"


def group(
    columns: Sequence[Codes], suppressed: npt.NDArray[np.uint32] | None = None, n_threads: int = 1
) -> Classes:
    """Classes of the rows with equal codes in every column, ascending by their tuple of codes.

    `columns` are code columns (uint8, uint16, uint32) of one length; the rows `suppressed` belong
    to no class. Inside a class rows ascend.
    """
    left_out = np.empty(0, np.uint32) if suppressed is None else suppressed
    rows = None
    if len(left_out):
        published = np.ones(len(columns[0]), np.bool_)
        published[left_out] = False
        rows = np.flatnonzero(published).astype(np.uint32)
    return Classes(*kernel.group(columns, rows, n_threads), left_out)


def ranked_rows(encoded: Encoded, n_threads: int = 1) -> npt.NDArray[np.uint32]:
    """The rows to be published by rank: quasi-identifier codes in schema order, then `encoded.ties`, then
    position in the input (spec 0). Methods draw and break ties in this order.
    """
    columns = (*encoded.quasi_codes, *encoded.ties)
    return group(columns, encoded.suppressed, n_threads).rows


def equal_rows(both: Sequence[Codes], classes: Classes, n_threads: int = 1) -> npt.NDArray[np.int64]:
    """How many rows of another table, whose codes follow the table's in `both`, equal each class's rows."""
    n_rows = len(classes.rows) + len(classes.suppressed)
    members, bounds = kernel.group(both, None, n_threads)
    numbers = group_numbers(members, bounds)
    others = np.bincount(numbers[n_rows:], minlength=len(bounds) - 1)
    return others[numbers[classes.rows[classes.offsets[:-1]]]]


def group_numbers(members: npt.NDArray[np.uint32], bounds: npt.NDArray[np.int64]) -> npt.NDArray[np.uint32]:
    """For each grouped element the number of its group (uint32), from the kernel's groups in CSR form."""
    numbers = np.empty(len(members), np.uint32)
    numbers[members] = np.repeat(np.arange(len(bounds) - 1, dtype=np.uint32), np.diff(bounds))
    return numbers


def sensitive_counts(classes: Classes, codes: Codes, n_codes: int, n_threads: int = 1) -> Counts:
    """Counts per class of one column of codes, all below `n_codes`."""
    offsets, values, counts = kernel.value_counts(codes, classes.rows, classes.offsets, n_codes, n_threads)
    # whole numbers below 2**53, so the sum in float64 is exact; block by block, as bincount copies
    table = np.zeros(n_codes)
    for start in range(0, len(values), _AT_ONCE):
        block = slice(start, start + _AT_ONCE)
        table += np.bincount(values[block], counts[block], n_codes)
    return Counts(offsets, values, counts, table.astype(np.int64))


def starts_of_sizes(sizes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Offsets (n + 1) of consecutive runs of these sizes."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def ranges(first: npt.NDArray[np.int64], end: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The integers first[0]..end[0]-1, first[1]..end[1]-1, ... in one array."""
    sizes = end - first
    return np.repeat(first - starts_of_sizes(sizes)[:-1], sizes) + np.arange(sizes.sum())
