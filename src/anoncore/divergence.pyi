# SPDX-License-Identifier: Apache-2.0
import numpy as np
import numpy.typing as npt

Offsets = npt.NDArray[np.int64]
Counts = npt.NDArray[np.int64]
Values = npt.NDArray[np.uint32]
Nodes = npt.NDArray[np.int32]
Reals = npt.NDArray[np.float64]

def concentration(
    offsets: Offsets, counts: Counts, n_threads: int = 1, block: int = 65536
) -> tuple[Counts, Counts, Reals, Reals, Counts]: ...
def distances(
    offsets: Offsets,
    values: Values,
    counts: Counts,
    table_counts: Counts,
    n_threads: int = 1,
    block: int = 65536,
) -> tuple[Reals, Reals, Reals, Reals, Reals, Reals]: ...
def ordered(
    offsets: Offsets,
    values: Values,
    counts: Counts,
    table_counts: Counts,
    n_threads: int = 1,
    block: int = 65536,
) -> Reals: ...
def hierarchical(
    offsets: Offsets,
    values: Values,
    counts: Counts,
    table_counts: Counts,
    parent: Nodes,
    depth: Nodes,
    leaf: Nodes,
    n_threads: int = 1,
    block: int = 65536,
) -> Reals: ...
