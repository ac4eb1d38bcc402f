# SPDX-License-Identifier: Apache-2.0
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[Any]  # uint8, uint16 or uint32
Predicates = tuple[npt.NDArray[np.int64], npt.NDArray[np.uint32], npt.NDArray[np.uint32]]

def mine(
    columns: Sequence[Codes],
    predicates: Sequence[Predicates],
    min_count: int,
    sensitive: Sequence[Codes] = (),
    n_values: Sequence[int] = (),
    n_threads: int = 1,
) -> tuple[
    npt.NDArray[np.int64],
    npt.NDArray[np.int32],
    npt.NDArray[np.int32],
    npt.NDArray[np.int64],
    list[npt.NDArray[np.int64]],
]: ...
