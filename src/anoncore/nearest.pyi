# SPDX-License-Identifier: Apache-2.0
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.uint32]

def rows(
    cells: Codes,
    parts: Sequence[Floats],
    picks: Codes,
    offsets: Ints,
    salts: npt.NDArray[np.uint64],
    n_neighbors: int,
    n_threads: int = 1,
) -> Ints: ...
def guesses(
    cells: Codes,
    parts: Sequence[Floats],
    picks: Codes,
    shares: Floats,
    groups: Codes,
    offsets: Ints,
    values: Codes,
    counts: Ints,
    n_values: int,
    n_threads: int = 1,
) -> Ints: ...
def expected(
    cells: Codes, parts: Sequence[Floats], picks: Codes, sizes: Ints, n_threads: int = 1
) -> Floats: ...
