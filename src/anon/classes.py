# SPDX-License-Identifier: Apache-2.0
"""Equivalence classes, and the cells that a release shows for them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from anon.encode import Domain


@dataclass(frozen=True, repr=False)
class Classes:
    """A partition of a table's rows, in CSR form.

    `rows` (uint32) lists the row numbers of the table class by class; class c holds
    `rows[offsets[c]:offsets[c + 1]]` (`offsets` int64, n_classes + 1). `suppressed` (uint32,
    ascending) are the rows that belong to no class. Every row of the table is in exactly one.
    """

    rows: npt.NDArray[np.uint32]
    offsets: npt.NDArray[np.int64]
    suppressed: npt.NDArray[np.uint32]

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.offsets) - 1

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        """Rows of each class."""
        return np.diff(self.offsets)

    def __repr__(self) -> str:
        return f"Classes(n_classes={self.n_classes}, rows={len(self.rows)}, suppressed={len(self.suppressed)})"


@dataclass(frozen=True, repr=False)
class Cells:
    """The distinct cells of one quasi-identifier in a release, and which class shows which.

    Class c shows cell `of_class[c]` (uint32). Cell i covers the codes `low[i]..high[i]`
    (uint32, inclusive; for a flat nominal attribute the codes
    `set_codes[set_offsets[i]:set_offsets[i + 1]]`, ascending, and low and high are the first and
    last of them) and null if `null[i]`. A cell of nulls only has low > high. Cells are distinct,
    ordered by (low, high, set, null).
    """

    domain: Domain
    of_class: npt.NDArray[np.uint32]
    low: npt.NDArray[np.uint32]
    high: npt.NDArray[np.uint32]
    null: npt.NDArray[np.bool_]
    set_offsets: npt.NDArray[np.int64] | None = None
    set_codes: npt.NDArray[np.uint32] | None = None

    def __repr__(self) -> str:
        return f"Cells({self.domain.name!r}, n_cells={len(self.low)}, n_classes={len(self.of_class)})"
