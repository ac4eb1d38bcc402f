# SPDX-License-Identifier: Apache-2.0
from typing import Any

import numpy as np
import numpy.typing as npt

def null_cells(
    codes: npt.NDArray[Any],  # uint8, uint16 or uint32
    nulls: npt.NDArray[np.int64],
    weights: npt.NDArray[np.int64],
    unit: int,
    sets: npt.NDArray[np.uint64],
    ks: npt.NDArray[np.int64],
    tiers: npt.NDArray[np.int64],
    costs: npt.NDArray[np.int64],
) -> npt.NDArray[np.uint64]: ...
