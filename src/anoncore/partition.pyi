# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from anoncore.attribute import Attribute
from anoncore.requirement import Conjunction

Codes = npt.NDArray[Any]  # uint8, uint16 or uint32
Tracked = tuple[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike]
Histogram = tuple[int, npt.ArrayLike, npt.ArrayLike, Sequence[Tracked]]

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
    units: Codes | None = None,
    rows: npt.NDArray[np.uint32] | None = None,
    parts: npt.NDArray[np.int64] | None = None,
    chooser: str = "widest",
    priority: Sequence[int] = (),
    nearest: bool = True,
    rival: bool = False,
    relaxed: bool = False,
    n_threads: int = 1,
    progress: Callable[[int, int], object] | None = None,
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]: ...
def turns(
    attributes: Sequence[Attribute],
    low: npt.ArrayLike,
    high: npt.ArrayLike,
    distinct: npt.ArrayLike,
    *,
    chooser: str = "widest",
    priority: Sequence[int] = (),
) -> list[int]: ...
def best_cut(
    attributes: Sequence[Attribute],
    histograms: Iterable[Histogram],
    conjunction: Conjunction,
    *,
    chooser: str = "widest",
    nearest: bool = True,
    rival: bool = False,
    relaxed: bool = False,
) -> tuple[int, list[int], list[int], float, int] | None: ...
