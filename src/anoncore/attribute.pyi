# SPDX-License-Identifier: Apache-2.0
import numpy as np
import numpy.typing as npt

Nodes = npt.ArrayLike
Line = npt.NDArray[np.float64]

class Attribute:
    n_values: int
    loss: str
    weight: float
    denominator: float
    is_whole: bool
    positions: Line | None
    tree: tuple[npt.NDArray[np.int32], ...] | None
    node_widths: npt.NDArray[np.float64] | None
    def __init__(
        self,
        n_values: int,
        positions: npt.ArrayLike | None = None,
        tree: tuple[Nodes, Nodes, Nodes, Nodes] | None = None,
        *,
        loss: str = "ncp",
        weight: float = 1.0,
        widths: npt.ArrayLike | None = None,
    ) -> None: ...
