# SPDX-License-Identifier: Apache-2.0
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[Any]
Rows = npt.NDArray[np.uint32]
Offsets = npt.NDArray[np.int64]

def group(
    columns: Sequence[Codes], rows: Rows | None = None, n_threads: int = 1, block_rows: int = 262144
) -> tuple[Rows, Offsets]: ...
def split(
    columns: Sequence[Codes], rows: Rows, offsets: Offsets, n_threads: int = 1, block_rows: int = 65536
) -> tuple[int, Rows, Offsets]: ...
def few_candidates(
    of: Codes,
    by: Codes,
    rows: Rows,
    offsets: Offsets,
    k: int,
    ends: tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]] | None = None,
    n_threads: int = 1,
    block_rows: int = 65536,
) -> int: ...
def value_counts(
    codes: Codes, rows: Rows, offsets: Offsets, n_values: int, n_threads: int = 1, block_rows: int = 131072
) -> tuple[Offsets, npt.NDArray[np.uint32], npt.NDArray[np.int64]]: ...
def boxes(
    codes: Codes,
    rows: Rows,
    offsets: Offsets,
    null_code: int = -1,
    n_threads: int = 1,
    block_rows: int = 131072,
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32], npt.NDArray[np.bool_]]: ...
def shuffle(
    rows: Rows,
    offsets: Offsets,
    random: npt.NDArray[np.uint64],
    n_threads: int = 1,
    block_rows: int = 262144,
) -> Rows: ...
def count_inside(
    columns: Sequence[Codes], cells: Sequence[tuple[Any, ...]], n_threads: int = 1, block: int = 4096
) -> npt.NDArray[np.int64]: ...
def find_inside(
    columns: Sequence[Codes],
    cells: Sequence[tuple[Any, ...]],
    most: int,
    n_threads: int = 1,
    block: int = 4096,
) -> tuple[Offsets, Rows] | None: ...
def count_common(
    first: tuple[Offsets, Rows],
    second: tuple[Offsets, Rows],
    weights: npt.NDArray[np.int64],
    n_threads: int = 1,
    block: int = 4096,
    elements: Rows | None = None,
) -> npt.NDArray[np.int64]: ...
