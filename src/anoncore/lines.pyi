# SPDX-License-Identifier: Apache-2.0
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

def lines(
    codes: Sequence[npt.NDArray[np.uint32] | None],
    starts: Sequence[npt.NDArray[np.int64]],
    texts: Sequence[npt.NDArray[np.uint8]],
    n_rows: int,
) -> npt.NDArray[np.uint8]: ...
