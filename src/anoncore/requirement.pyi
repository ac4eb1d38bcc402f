# SPDX-License-Identifier: Apache-2.0
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

class Conjunction:
    table_diversities: tuple[float, ...]
    def __init__(
        self,
        table_counts: Sequence[npt.NDArray[np.int64]],
        n_rows: int,
        rules: Sequence[tuple[Any, ...]],
        by_units: bool = False,
    ) -> None: ...
    @property
    def min_units(self) -> int: ...
    @property
    def by_units(self) -> bool: ...
    @property
    def min_size(self) -> int: ...
    @property
    def n_sensitive(self) -> int: ...
    @property
    def n_rows(self) -> int: ...

def passing_classes(
    conjunction: Conjunction,
    sizes: npt.NDArray[np.int64],
    offsets: Sequence[npt.NDArray[np.int64]],
    values: Sequence[npt.NDArray[np.int64]],
    counts: Sequence[npt.NDArray[np.int64]],
    units: npt.NDArray[np.int64] | None = None,
) -> npt.NDArray[np.uint8]: ...
