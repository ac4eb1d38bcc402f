# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from anoncore.attribute import Attribute
from anoncore.diversity import Closeness

CHUNK_ROWS: int
SUBTREE_ROWS: int

Codes = npt.NDArray[Any]  # uint8, uint16 or uint32

class Objective:
    attributes: tuple[Attribute, ...]
    closeness: tuple[Closeness, ...]
    def __init__(
        self,
        attributes: Sequence[Attribute],
        closeness: Sequence[Closeness] = (),
        weights: Sequence[float] | None = None,
        *,
        w_u: float,
        w_p: float,
    ) -> None: ...

def split(
    codes: Codes,
    attributes: Sequence[Attribute],
    closeness: Sequence[Closeness] = (),
    *,
    s: int,
    limit: float = ...,
    limited: int | None = None,
    mend: bool = True,
    n_threads: int = 1,
    progress: Callable[[int, int], object] | None = None,
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]: ...
def grow(
    codes: Codes,
    offsets: npt.NDArray[np.int64],
    objective: Objective,
    k: int,
    delta: float,
    *,
    most: int | None = None,
    mend: bool = True,
    n_threads: int = 1,
    progress: Callable[[int, int], object] | None = None,
) -> tuple[npt.NDArray[np.int64], int]: ...
def improve(
    codes: Codes,
    offsets: npt.NDArray[np.int64],
    home: npt.NDArray[np.int64],
    objective: Objective,
    k: int,
    *,
    n_threads: int = 1,
    progress: Callable[[int, int], object] | None = None,
) -> npt.NDArray[np.int64]: ...
def reinsert(
    codes: Codes,
    home: npt.NDArray[np.int64],
    objective: Objective,
    *,
    progress: Callable[[int, int], object] | None = None,
) -> npt.NDArray[np.int64]: ...
