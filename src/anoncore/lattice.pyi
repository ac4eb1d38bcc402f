# SPDX-License-Identifier: Apache-2.0
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

class Lattice:
    n_combinations: int
    n_levels: tuple[int, ...]
    def __init__(
        self, codes: npt.NDArray[np.uint32], labels: Sequence[Sequence[npt.NDArray[np.uint32]]]
    ) -> None: ...

def roll_up(
    lattice: Lattice,
    node: Sequence[int],
    members: npt.NDArray[np.uint32],
    counts: npt.NDArray[np.int64],
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64], npt.NDArray[np.uint32]]: ...
