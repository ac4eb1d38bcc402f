# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from anoncore.attribute import Attribute

def mdav(
    points: npt.NDArray[np.float64],
    weights: npt.NDArray[np.float64],
    k: int,
    *,
    progress: Callable[[int, int], object] | None = None,
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]: ...
def gower(
    codes: npt.NDArray[Any],
    attributes: Sequence[Attribute],
    k: int,
    *,
    progress: Callable[[int, int], object] | None = None,
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]: ...
def optimal(values: npt.NDArray[np.float64], k: int) -> npt.NDArray[np.int64]: ...
