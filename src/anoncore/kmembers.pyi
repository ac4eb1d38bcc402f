# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from anoncore.attribute import Attribute
from anoncore.diversity import Closeness

def grow(
    codes: npt.NDArray[Any],
    offsets: npt.NDArray[np.int64],
    rows: npt.NDArray[np.uint32],
    attributes: Sequence[Attribute],
    k: int,
    start: int,
    *,
    sensitive: tuple[
        Sequence[Closeness], npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.uint32]
    ]
    | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32], npt.NDArray[np.int64]]: ...
