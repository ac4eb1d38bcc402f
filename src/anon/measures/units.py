# SPDX-License-Identifier: Apache-2.0
"""Measures of units: the persons that several rows may belong to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from anon.classes import Classes, group
from anon.encoding import Codes, Units
from anon.measures.risk import Risk, prosecutor_risk


@dataclass(frozen=True)
class UnitRisk:
    """What a release tells of the units that its rows belong to.

    `k` is the fewest units of a class, `alone` the number of classes that hold one unit. An attacker who
    knows one row of a unit finds it with one over the units of that row's class: `risk` is of each unit's
    least protected row. One who knows all its rows sees a bag of cells: `k_bags` is the fewest units with the
    same bag (Nergiz 2009).
    """

    n_units: int
    k: int
    k_bags: int
    alone: int
    risk: Risk


def unit_risk(
    classes: Classes, units: Units, at_risk: Sequence[float] = (2, 5, 10), n_threads: int = 1
) -> UnitRisk:
    """Measure the published rows of `classes`, one unit code per row of the table."""
    if not classes.n_classes:
        return UnitRisk(0, 0, 0, 0, Risk(0.0, 0.0, dict.fromkeys(at_risk, 0.0)))
    class_of_row = np.repeat(np.arange(classes.n_classes, dtype=np.uint32), classes.sizes)
    unit_of_row = units.codes[classes.rows]
    sizes = units_of_classes(classes, units, n_threads)
    rows, starts = _by_unit(unit_of_row, class_of_row, n_threads)
    found_among = np.minimum.reduceat(sizes[class_of_row[rows]], starts[:-1])
    among, n_with = np.unique(found_among, return_counts=True)
    risk = prosecutor_risk(n_with, among, at_risk)
    bags = _least_bag(class_of_row[rows], starts, n_threads)
    return UnitRisk(len(starts) - 1, int(sizes.min()), bags, int(np.count_nonzero(sizes == 1)), risk)


def units_of_classes(classes: Classes, units: Units, n_threads: int = 1) -> npt.NDArray[np.int64]:
    """How many units the rows of each class belong to."""
    class_of_row = np.repeat(np.arange(classes.n_classes, dtype=np.uint32), classes.sizes)
    pairs = group((class_of_row, units.codes[classes.rows]), n_threads=n_threads)
    of_pair = class_of_row[pairs.rows[pairs.offsets[:-1]]]
    return np.bincount(of_pair, minlength=classes.n_classes).astype(np.int64)


def once_per_unit(classes: Classes, codes: Sequence[Codes], units: Units, n_threads: int = 1) -> Classes:
    """The classes with one row for each unit and value of the columns `codes` that it has in a class."""
    class_of_row = np.repeat(np.arange(classes.n_classes, dtype=np.uint32), classes.sizes)
    columns = [column[classes.rows] for column in (*codes, units.codes)]
    alike = group((class_of_row, *columns), n_threads=n_threads)
    first = alike.rows[alike.offsets[:-1]]  # by class, as that is what they are grouped by first
    sizes = np.bincount(class_of_row[first], minlength=classes.n_classes)
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return Classes(classes.rows[first], offsets, classes.suppressed)


def _by_unit(
    units: Codes, classes: npt.NDArray[np.uint32], n_threads: int
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]:
    """Rows by unit, those of one unit by class, and where each unit's begin (n_units + 1)."""
    alike = group((units, classes), n_threads=n_threads)
    rows = alike.rows
    new = np.flatnonzero(np.diff(units[rows].astype(np.int64), prepend=-1))
    return rows, np.append(new, len(rows)).astype(np.int64)


def _least_bag(classes: npt.NDArray[np.uint32], starts: npt.NDArray[np.int64], n_threads: int) -> int:
    """The fewest units whose rows, in ascending order of class, lie in the same classes."""
    lengths = np.diff(starts)
    least = len(lengths)
    for length in np.unique(lengths):
        first = starts[:-1][lengths == length]
        ids = np.zeros(len(first), np.uint32)
        for place in range(int(length)):
            alike = group((ids, classes[first + place]), n_threads=n_threads)
            ids[alike.rows] = np.repeat(np.arange(alike.n_classes, dtype=np.uint32), alike.sizes)
            if alike.n_classes == len(first):
                break
        least = min(least, int(np.bincount(ids).min()))
    return least
