# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from anoncore.attribute import Attribute
from anoncore.requirement import Conjunction

Codes = npt.NDArray[Any]  # uint8, uint16 or uint32

SUBTREE_ROWS: int
PACK_ROWS: int
CHOOSERS: dict[str, int]

def partition(
    columns: Sequence[Codes],
    attributes: Sequence[Attribute],
    conjunction: Conjunction,
    *,
    sensitive: Sequence[Codes] = (),
    target: Codes | None = None,
    rows: npt.NDArray[np.uint32] | None = None,
    chooser: str = "widest",
    priority: Sequence[int] = (),
    nearest: bool = True,
    relaxed: bool = False,
    n_threads: int = 1,
    progress: Callable[[int, int], object] | None = None,
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]: ...
