# SPDX-License-Identifier: Apache-2.0
import numpy as np
import numpy.typing as npt

from anoncore.curve import Offsets, Rows, Widths
from anoncore.requirement import Conjunction

def divide(
    widths: Widths,
    records: npt.NDArray[np.int32],
    offsets: Offsets,
    k: int,
    rules: Conjunction | None = None,
    sensitive: npt.NDArray[np.int32] | None = None,
) -> tuple[Rows, Offsets, int, int]: ...
def recut(
    widths: Widths,
    records: npt.NDArray[np.int32],
    offsets: Offsets,
    k: int,
    reach: int,
    rules: Conjunction | None = None,
    sensitive: npt.NDArray[np.int32] | None = None,
) -> tuple[Rows, Offsets, int, int]: ...
