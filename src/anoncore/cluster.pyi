# SPDX-License-Identifier: Apache-2.0
import numpy as np
import numpy.typing as npt

def deal(counts: npt.NDArray[np.int64], l: int) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]: ...
