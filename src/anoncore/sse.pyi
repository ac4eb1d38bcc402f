# SPDX-License-Identifier: Apache-2.0
import numpy as np
import numpy.typing as npt

def refine(
    points: npt.NDArray[np.float64],
    rows: npt.NDArray[np.uint32],
    offsets: npt.NDArray[np.int64],
    k: int,
    q: int,
    tried: npt.NDArray[np.uint64],
    seeds: npt.NDArray[np.uint8],
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64], npt.NDArray[np.uint64]]: ...
def cut(points: npt.NDArray[np.float64], k: int) -> npt.NDArray[np.int64]: ...
