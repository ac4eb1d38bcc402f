# SPDX-License-Identifier: Apache-2.0
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[Any]  # uint8, uint16 or uint32

class Widths:
    unit: float
    def __init__(
        self,
        n_values: Sequence[int],
        weights: Sequence[float],
        positions: Sequence[npt.NDArray[np.float64] | None],
        trees: Sequence[tuple[npt.NDArray[np.int32], ...] | None],
    ) -> None: ...
    @property
    def n_attributes(self) -> int: ...

def hilbert(
    codes: Codes, grid: npt.NDArray[np.uint32], starts: npt.NDArray[np.int64], bits: int
) -> npt.NDArray[np.uint64]: ...
def sort_rows(keys: npt.NDArray[np.uint64], rows: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]: ...
def place(widths: Widths, codes: Codes, rows: npt.NDArray[np.uint32]) -> npt.NDArray[np.int32]: ...
def cut(widths: Widths, records: npt.NDArray[np.int32], k: int) -> npt.NDArray[np.int64]: ...
