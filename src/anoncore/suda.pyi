# SPDX-License-Identifier: Apache-2.0
from typing import Any

import numpy as np
import numpy.typing as npt

def minimal_uniques(
    codes: npt.NDArray[Any],  # uint8, uint16 or uint32
    nulls: npt.NDArray[np.int64],
    single: npt.NDArray[np.uint8],
    max_size: int,
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint64]]: ...
