# SPDX-License-Identifier: Apache-2.0
import numpy as np
import numpy.typing as npt

from anoncore.curve import Widths
from anoncore.requirement import Conjunction

Offsets = npt.NDArray[np.int64]

def repair(
    widths: Widths,
    records: npt.NDArray[np.int32],
    sensitive: npt.NDArray[np.int32],
    offsets: Offsets,
    rules: Conjunction,
    units: npt.NDArray[np.uint32] | None = None,
    failing: npt.NDArray[np.bool_] | None = None,
) -> Offsets: ...
