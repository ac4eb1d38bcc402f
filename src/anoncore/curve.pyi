# SPDX-License-Identifier: Apache-2.0
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from anoncore.attribute import Attribute
from anoncore.requirement import Conjunction

Codes = npt.NDArray[Any]  # uint8, uint16 or uint32
Rows = npt.NDArray[np.uint32]
Offsets = npt.NDArray[np.int64]

class Widths:
    unit: float
    def __init__(self, attributes: Sequence[Attribute]) -> None: ...
    @property
    def n_attributes(self) -> int: ...

def hilbert(
    codes: Codes, grid: npt.NDArray[np.uint32], starts: Offsets, bits: int
) -> npt.NDArray[np.uint64]: ...
def sort_rows(keys: npt.NDArray[np.uint64], rows: Rows) -> Rows: ...
def place(widths: Widths, codes: Codes, rows: Rows) -> npt.NDArray[np.int32]: ...
def cut(
    widths: Widths,
    records: npt.NDArray[np.int32],
    k: int,
    max_size: int,
    step: int = 1,
    rules: Conjunction | None = None,
    sensitive: npt.NDArray[np.int32] | None = None,
) -> Offsets: ...
def centers(
    codes: Codes, rows: Rows, offsets: Offsets, grid: npt.NDArray[np.uint8], starts: Offsets
) -> npt.NDArray[np.uint8]: ...
def refine(
    widths: Widths,
    records: npt.NDArray[np.int32],
    offsets: Offsets,
    k: int,
    max_size: int,
    reach: int,
    rules: Conjunction | None = None,
    sensitive: npt.NDArray[np.int32] | None = None,
) -> tuple[Rows, Offsets, int, int]: ...
