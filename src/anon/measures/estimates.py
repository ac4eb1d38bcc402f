# SPDX-License-Identifier: Apache-2.0
"""A release as estimates see it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import anoncore.queries as queries_kernel
from anon.classes import Cells, Counts, Published, Reach, intact_cells, reach
from anon.encoding import Domain
from anon.errors import UsageError


@dataclass(frozen=True, repr=False)
class Predicates:
    """Predicates on one attribute: sets of its values.

    Predicate p is called `labels[p]` and holds the codes `first[r]..last[r]` (uint32, inclusive, ascending)
    of the runs r in `offsets[p]..offsets[p + 1] - 1` (int64). On an ordered attribute run r reaches from
    `lower[r]` to `upper[r]` (float64, on the domain's line), whether or not those places occur.
    """

    domain: Domain
    labels: tuple[str, ...]
    offsets: npt.NDArray[np.int64]
    first: npt.NDArray[np.uint32]
    last: npt.NDArray[np.uint32]
    lower: npt.NDArray[np.float64] | None = None
    upper: npt.NDArray[np.float64] | None = None

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        return f"Predicates({self.domain.name!r}, {len(self)})"


def members_of(predicates: Predicates, n_codes: int) -> npt.NDArray[np.bool_]:
    """Which codes each predicate holds (predicates x codes)."""
    member = np.zeros((len(predicates), n_codes), np.bool_)
    for p, (start, stop) in enumerate(zip(predicates.offsets, predicates.offsets[1:], strict=False)):
        for run in range(start, stop):
            member[p, predicates.first[run] : int(predicates.last[run]) + 1] = True
    return member


# What a release says


@dataclass(frozen=True, repr=False)
class Boxes:
    """A release as estimates see it.

    Box b shows cell `cells[a, b]` (uint32) of quasi-identifier a. A box of a generalized release is a
    class (`groups` None), of a bucketization a row, whose class is `groups[b]` (uint32, ascending).
    `quasi_cells[a]` describes the cells of a (in a bucketization one per code, `intact_cells`),
    `reaches[a]` where they begin and end (`reach`). `sensitive_counts[s]` counts the values of sensitive
    attribute s per class, in the codes of the original's domain (others follow them); None where it is not
    published.
    """

    cells: npt.NDArray[np.uint32]
    groups: npt.NDArray[np.uint32] | None
    quasi_cells: tuple[Cells, ...]
    reaches: tuple[Reach | None, ...]
    sizes: npt.NDArray[np.int64]
    sensitive_counts: tuple[Counts | None, ...]

    def __repr__(self) -> str:
        return f"Boxes({self.cells.shape[1]}, {'classes' if self.groups is None else 'rows'})"


def boxes(published: Published) -> Boxes:
    """The boxes of a release: its classes with their cells, or the rows of its buckets."""
    original, classes, cells = published.original, published.classes, published.cells
    if cells is not None:
        reaches = tuple(reach(one, by_level=published.by_level) for one in cells)
        of_class = _stacked([one.of_class for one in cells], classes.n_classes)
        return Boxes(of_class, None, cells, reaches, classes.sizes, published.counts)
    if published.intact is None:
        raise UsageError(published.refusal)
    groups = np.repeat(np.arange(classes.n_classes, dtype=np.uint32), classes.sizes)
    quasi_cells = tuple(map(intact_cells, original.quasi))
    rows = _stacked([codes[classes.rows] for codes in published.intact], len(classes.rows))
    return Boxes(rows, groups, quasi_cells, tuple(map(reach, quasi_cells)), classes.sizes, published.counts)


def _stacked(columns: Sequence[npt.NDArray[Any]], n: int) -> npt.NDArray[np.uint32]:
    stacked = np.empty((len(columns), n), np.uint32)
    for row, column in zip(stacked, columns, strict=True):
        row[:] = column
    return stacked


def overlaps(
    cells: Cells, reach: Reach | None, predicates: Predicates
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.uint8]]:
    """The share of each cell inside each predicate, and whether it can and must be (predicates x cells)."""
    domain = cells.domain
    sets, run_reach = None, None
    if cells.set_offsets is not None and cells.set_codes is not None:
        sets = (cells.set_offsets, cells.set_codes)
    elif predicates.lower is None or predicates.upper is None:
        run_reach = (predicates.first.astype(np.float64), predicates.last.astype(np.float64))
    else:
        run_reach = (predicates.lower, predicates.upper)
    return queries_kernel.overlaps(
        cells.low,
        cells.high,
        cells.null,
        reach,
        sets,
        predicates.offsets,
        predicates.first,
        predicates.last,
        run_reach,
        domain.positions is None or domain.unit_lattice,
    )
