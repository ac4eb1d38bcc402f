# SPDX-License-Identifier: Apache-2.0
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from anoncore.attribute import Attribute
from anoncore.requirement import Conjunction

Rows = npt.NDArray[np.uint32]
Offsets = npt.NDArray[np.int64]
Marks = npt.NDArray[np.uint64]

def refine(
    points: npt.NDArray[np.float64],
    rows: Rows,
    offsets: Offsets,
    k: int,
    q: int,
    tried: Marks,
    seeds: npt.NDArray[np.uint8],
    most: int | None = None,
    rules: Conjunction | None = None,
    sensitive: npt.NDArray[np.int32] | None = None,
) -> tuple[Rows, Offsets, Marks]: ...
def gower(
    codes: npt.NDArray[Any],
    attributes: Sequence[Attribute],
    rows: Rows,
    offsets: Offsets,
    k: int,
    q: int,
    tried: Marks,
    seeds: npt.NDArray[np.uint8],
    most: int | None = None,
    rules: Conjunction | None = None,
    sensitive: npt.NDArray[np.int32] | None = None,
) -> tuple[Rows, Offsets, Marks]: ...
def spread(
    codes: npt.NDArray[Any], attributes: Sequence[Attribute], rows: Rows, offsets: Offsets
) -> npt.NDArray[np.float64]: ...
def cut(points: npt.NDArray[np.float64], k: int) -> Offsets: ...
