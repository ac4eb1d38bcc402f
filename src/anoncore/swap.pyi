# SPDX-License-Identifier: Apache-2.0
import numpy as np
import numpy.typing as npt

def swapped(draws: npt.NDArray[np.float64], window: int) -> npt.NDArray[np.int64]: ...
