# SPDX-License-Identifier: Apache-2.0
import numpy as np
import numpy.typing as npt

_Column = tuple[npt.NDArray[np.int32], npt.NDArray[np.int64], npt.NDArray[np.uint8]]

def whole_rows(text: npt.NDArray[np.uint8]) -> int: ...
def fields(
    text: npt.NDArray[np.uint8],
    n_columns: int,
    wanted: npt.NDArray[np.int64],
    delimiter: int,
    starts: npt.NDArray[np.int64],
    missing: npt.NDArray[np.uint8],
    seed: int,
) -> list[_Column] | None: ...
