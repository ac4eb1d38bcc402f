# SPDX-License-Identifier: Apache-2.0
"""Any table -> codes and domains. Missing values end here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

if TYPE_CHECKING:
    from anon.hierarchy import Levels, Tree
    from anon.schema import Schema

Codes = npt.NDArray[Any]  # uint8, uint16 or uint32
Kind = Literal["numeric", "ordinal", "nominal"]


@dataclass(frozen=True, repr=False)
class Domain:
    """The values of one attribute, in the order of their codes.

    Code c < len(values) stands for `values[c]` (an Arrow array without nulls): sorted values for a
    numeric attribute, the given order for an ordinal one, depth-first leaves for a nominal one with
    a tree, sorted labels otherwise. If `has_null`, code len(values) is null.
    `positions` (float64) places each code on the attribute's line, starting at 0: differences of
    values for a numeric attribute (integers and dates in units, decimals in units of their scale),
    ranks for an ordinal one; None for a nominal one.
    `unit_lattice` is True where every multiple of one unit between the ends is a possible value
    (integers, dates, decimals), False for floats and timestamps, which have length instead.
    """

    name: str
    kind: Kind
    values: pa.Array
    has_null: bool
    positions: npt.NDArray[np.float64] | None = None
    unit_lattice: bool = False
    tree: Tree | None = None
    levels: Levels | None = None
    weight: float = 1.0

    @property
    def n_values(self) -> int:
        """|D_a|: number of distinct values, null not counted."""
        return len(self.values)

    @property
    def n_codes(self) -> int:
        """Number of codes, null's included."""
        return len(self.values) + self.has_null

    def __repr__(self) -> str:
        return f"Domain({self.name!r}, {self.kind}, n_values={self.n_values}, has_null={self.has_null})"


@dataclass(frozen=True, repr=False)
class Encoded:
    """A table whose quasi-identifiers and sensitive attributes are codes.

    `table` holds the original rows without the identifying columns. `quasi[i]` describes
    `quasi_codes[i]` (uint8, uint16 or uint32, narrowest that fits, one per row of `table`);
    likewise `sensitive`. `suppressed` (uint32, ascending) are rows left out by
    `missing="suppress"`; they keep their codes but belong to no class.
    """

    table: pa.Table
    schema: Schema
    quasi: tuple[Domain, ...]
    quasi_codes: tuple[Codes, ...]
    sensitive: tuple[Domain, ...]
    sensitive_codes: tuple[Codes, ...]
    suppressed: npt.NDArray[np.uint32]

    @property
    def n_rows(self) -> int:
        """Rows of the table, suppressed ones included."""
        return int(self.table.num_rows)

    def __repr__(self) -> str:
        return (
            f"Encoded(n_rows={self.n_rows}, quasi={len(self.quasi)}, sensitive={len(self.sensitive)}, "
            f"suppressed={len(self.suppressed)})"
        )
