# SPDX-License-Identifier: Apache-2.0
"""A miner, and what it predicted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from anon.errors import UsageError

Matrix = npt.NDArray[np.float64]
Reads = Literal["features", "attributes"]


@dataclass(frozen=True, repr=False)
class Attributes:
    """A table as one column per attribute: numbers, or numbers of labels (0, 1, ...) where `nominal`."""

    X: Matrix
    nominal: npt.NDArray[np.bool_]


SECONDS = 600.0  # processor time of one miner of ours on one table


@dataclass(frozen=True)
class Miner:
    """A kind of estimator, and how much of it is run.

    `build(seed)` makes a new estimator with `fit(X, y)` and `predict(X)`; X is a float64 matrix, y int64
    labels or float64 numbers. One that `reads` "attributes" instead of "features" is given a column per
    attribute, and which of them hold numbers of labels: `fit(X, y, nominal)`. It is fitted on at most
    `max_rows` rows, drawn by the seed; once it has spent `seconds` of processor time on a table, no further
    fold is begun. Both are told where they bite.
    """

    name: str
    family: str
    build: Callable[[int], Any]
    max_rows: int | None = None
    seconds: float | None = None
    reads: Reads = "features"

    def __post_init__(self) -> None:
        if self.reads not in get_args(Reads):
            raise UsageError(f'miner {self.name!r}: reads must be "features" or "attributes"')
        if not callable(self.build):
            raise UsageError(f"miner {self.name!r}: build must be a function from a seed to an estimator")
        if self.max_rows is not None and self.max_rows < 1:
            raise UsageError(f"miner {self.name!r}: max_rows must be at least 1")
        if self.seconds is not None and not self.seconds > 0:
            raise UsageError(f"miner {self.name!r}: seconds must be above 0")

    def __repr__(self) -> str:
        return f"Miner({self.name!r}, {self.family!r}, max_rows={self.max_rows}, seconds={self.seconds})"


@dataclass(frozen=True, repr=False)
class Prediction:
    """What one miner predicted: `values[i]` for row i where `made[i]` (bool), of the type of the labels.

    `n_train` is the greatest number of rows that it was fitted on, `seconds` the processor time spent.
    `limits` tells in words what kept it from all rows or folds, and whether it converged.
    """

    miner: str
    values: npt.NDArray[Any]
    made: npt.NDArray[np.bool_]
    n_train: int
    seconds: float
    limits: tuple[str, ...]

    def __repr__(self) -> str:
        return f"Prediction({self.miner!r}, made={int(self.made.sum())}, limits={list(self.limits)!r})"
