# SPDX-License-Identifier: Apache-2.0
import numpy as np
import numpy.typing as npt

from anoncore.attribute import Attribute

class Closeness:
    n_counts: int
    n_values: int
    def __init__(self, attribute: Attribute, *, r: float, printed: bool = False) -> None: ...

def q_diversity(
    attribute: Attribute, offsets: npt.NDArray[np.int64], values: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]: ...
def q_diversity_of_prefixes(
    attribute: Attribute, codes: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]: ...
def pairwise_contribution(
    closeness: Closeness, u: npt.NDArray[np.int64], v: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]: ...
def s_diversity(
    closeness: Closeness,
    offsets: npt.NDArray[np.int64],
    values: npt.NDArray[np.int64],
    counts: npt.NDArray[np.int64],
) -> npt.NDArray[np.float64]: ...
def s_diversity_of_prefixes(
    closeness: Closeness, codes: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]: ...
