# SPDX-License-Identifier: Apache-2.0
import numpy as np
import numpy.typing as npt

def swapped(draws: npt.NDArray[np.float64], window: int) -> npt.NDArray[np.int64]: ...
def partners(
    profile: npt.NDArray[np.uint32],
    area: npt.NDArray[np.uint32],
    order: npt.NDArray[np.uint32],
    seekers: npt.NDArray[np.uint32],
    swapped: npt.NDArray[np.uint8],
    most: int,
) -> npt.NDArray[np.int64]: ...
