# SPDX-License-Identifier: Apache-2.0
"""Rank swapping: a value goes to a row of near rank (Moore 1996)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
import pyarrow as pa

from anon.entropy import uniform
from anon.errors import UsageError
from anon.methods.perturbation import COLUMNS, Change, ColumnPerturbation, column_names, ordered
from anon.requirements import Option, exact
from anoncore.swap import swapped


@dataclass(frozen=True)
class RankSwap(ColumnPerturbation):
    """Values swapped between rows whose ranks differ by at most a share `p` of the rows; enforces nothing.

    Each of the numeric columns `columns` is swapped by itself and keeps its values; missing ones stay.
    """

    name: ClassVar[str] = "rank-swap"
    kind: ClassVar[str] = "rank-swap"
    what: ClassVar[str] = "rank swapping"
    needs: ClassVar[tuple[str, ...]] = ("p",)
    options: ClassVar[tuple[Option, ...]] = (
        Option("p", float, "Rank swapping: greatest difference of ranks, as a share of the rows."),
        COLUMNS,
    )

    p: float | Fraction
    columns: Sequence[str] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", column_names(self.columns))
        if isinstance(self.p, bool) or not isinstance(self.p, int | float | Fraction) or not 0 < self.p <= 1:
            raise UsageError("p must be a share of the rows, above 0 and at most 1")

    def change(self, table: pa.Table, names: Sequence[str]) -> Change:
        columns, attributes = {}, {}
        for name in names:
            order = ordered(table.column(name), name)
            window = math.floor(exact(self.p) * len(order))
            if window < 1:
                raise UsageError(
                    f"column {name!r} has {len(order)} values, and p = {self.p} lets none of them change its "
                    f"rank: p must be at least 1/{max(len(order), 1)}"
                )
            rows = np.arange(table.num_rows)
            rows[order] = order[swapped(uniform(len(order)), window)]
            columns[name] = table.column(name).combine_chunks().take(pa.array(rows))
            attributes[name] = {"p": float(self.p), "owner": {"window": window}}
        return Change(columns, attributes)
