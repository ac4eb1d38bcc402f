# SPDX-License-Identifier: Apache-2.0
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.uint32]
Offsets = npt.NDArray[np.int64]
Counts = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]

def overlaps(
    low: Codes,
    high: Codes,
    null: npt.NDArray[np.bool_],
    reach: tuple[Reals, Reals] | None,
    sets: tuple[Offsets, Codes] | None,
    offsets: Offsets,
    first: Codes,
    last: Codes,
    run_reach: tuple[Reals, Reals] | None,
    unit: bool,
) -> tuple[Reals, npt.NDArray[np.uint8]]: ...
def reconstruct(
    cells: Codes,
    shares: Sequence[Reals],
    groups: Codes | None,
    offsets: Offsets,
    values: Codes,
    counts: Counts,
    n_values: int,
    parent: npt.NDArray[np.int64],
    attribute: npt.NDArray[np.int32],
    predicate: npt.NDArray[np.int32],
    start: int,
    stop: int,
) -> Reals: ...
def count(
    columns: Sequence[npt.NDArray[Any]],
    predicates: Sequence[tuple[Offsets, Codes, Codes]],
    queries: npt.NDArray[np.int32],
    n_threads: int = 1,
) -> Counts: ...
def count_buckets(
    columns: Sequence[npt.NDArray[Any]],
    predicates: Sequence[tuple[Offsets, Codes, Codes]],
    queries: npt.NDArray[np.int32],
    groups: Codes,
    offsets: Offsets,
    values: Codes,
    counts: Counts,
    asked: npt.NDArray[np.bool_],
    asks: npt.NDArray[np.int32],
    n_threads: int = 1,
) -> tuple[Reals, Counts, Counts]: ...
def estimate(
    cells: Codes,
    shares: Sequence[Reals],
    kinds: Sequence[npt.NDArray[np.uint8]],
    queries: npt.NDArray[np.int32],
    offsets: Offsets,
    values: Codes,
    counts: Counts,
    asked: npt.NDArray[np.bool_],
    asks: npt.NDArray[np.int32],
    n_threads: int = 1,
) -> tuple[Reals, Counts, Counts]: ...
