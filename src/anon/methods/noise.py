# SPDX-License-Identifier: Apache-2.0
"""Normal noise on numbers: independent, or with the correlations of the data (Brand 2002)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

import numpy as np
import pyarrow as pa

from anon.errors import DataError, UsageError
from anon.methods.perturbation import (
    COLUMNS,
    Change,
    ColumnPerturbation,
    Floats,
    as_numbers,
    column_names,
    floats,
    normal,
    not_constant,
)
from anon.requirements import Option
from anon.schema import Schema

Kind = Literal["additive", "correlated", "correlated2"]
GRID_BITS = 24


@dataclass(frozen=True)
class Noise(ColumnPerturbation):
    """Normal noise on the numeric columns `columns`; enforces nothing, accepts no requirement.

    `noise="additive"` adds to each column noise of `amount` of its standard deviations; `"correlated"`
    adds noise of `amount` times the columns' covariance, which keeps their correlations; `"correlated2"`
    draws values towards their mean by d = sqrt(1 - amount**2) and adds noise of `amount` standard
    deviations, which keeps mean and variance and multiplies correlations by d**2 (amount below 1).
    Columns become floats, rounded to 2**-24 of the noise or less, so that low digits tell nothing.
    """

    name: ClassVar[str] = "noise"
    kind: ClassVar[str] = "noise"
    what: ClassVar[str] = "noise"
    needs: ClassVar[tuple[str, ...]] = ("amount",)
    options: ClassVar[tuple[Option, ...]] = (
        Option("amount", float, "Noise: how much, in standard deviations (correlated: times covariance)."),
        Option("noise", Kind, "Noise: additive (default), correlated or correlated2."),
        COLUMNS,
    )

    amount: float
    noise: Kind = "additive"
    columns: Sequence[str] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", column_names(self.columns))
        if self.noise not in get_args(Kind):
            raise UsageError(f"noise must be one of {', '.join(get_args(Kind))}")
        if isinstance(self.amount, bool) or not isinstance(self.amount, int | float):
            raise UsageError("amount must be a number above 0")
        if not 0 < self.amount < math.inf or (self.noise == "correlated2" and self.amount >= 1):
            most = " and below 1 for correlated2" if self.noise == "correlated2" else ""
            raise UsageError(f"amount must be a finite number above 0{most}")

    def schema_of(self, schema: Schema, names: Sequence[str]) -> Schema:
        return as_numbers(schema, names)

    def change(self, table: pa.Table, names: Sequence[str]) -> Change:
        values = np.column_stack([floats(table.column(name), name) for name in names])
        for at, name in enumerate(names):
            not_constant(values[:, at], name)
        whole = values[~np.isnan(values).any(axis=1)]
        if self.noise == "correlated" and (len(whole) < 2 or (whole == whole[0]).all(axis=0).any()):
            raise DataError(
                f"{len(whole)} rows miss no value, too few or too alike for a covariance: use "
                "additive noise, or name less columns"
            )
        with np.errstate(over="ignore", invalid="ignore"):
            factor, shift, scale = terms(values, float(self.amount), self.noise)
        for at, name in enumerate(names):
            if not np.isfinite(shift[at] + scale[at]):
                raise DataError(
                    f"column {name!r} has values too far apart for noise of amount {self.amount:g}; divide "
                    "them",
                    column=name,
                )
        drawn = normal(values.size).reshape(values.shape)
        noisy = with_noise(values, drawn, float(self.amount), self.noise)
        columns, attributes, warnings = {}, {}, []
        for at, name in enumerate(names):
            grid = math.ldexp(1.0, math.frexp(scale[at])[1] - GRID_BITS)
            column = np.rint(noisy[:, at] / grid) * grid
            column = np.where(np.isfinite(noisy[:, at]) & ~np.isfinite(column), noisy[:, at], column)
            columns[name] = pa.array(column, mask=np.isnan(column))
            attributes[name] = {
                "noise": self.noise,
                "amount": float(self.amount),
                "owner": {"factor": factor, "shift": float(shift[at]), "scale": float(scale[at])},
            }
            low, high = np.nanmin(values[:, at]), np.nanmax(values[:, at])
            outside = np.count_nonzero((column < low) | (column > high)) / np.count_nonzero(~np.isnan(column))
            if outside:
                warnings.append(
                    f"column {name!r}: {outside:.1%} of its values lie outside the original range"
                )
        return Change(columns, attributes, warnings)


def terms(values: Floats, amount: float, noise: Kind) -> tuple[float, Floats, Floats]:
    """A noisy value is factor * x + shift + scale * z, z standard normal; shift and scale by column."""
    spread = np.nanstd(values, axis=0, ddof=1)
    if noise == "additive":
        return 1.0, np.zeros_like(spread), amount * spread
    if noise == "correlated":
        whole = values[~np.isnan(values).any(axis=1)]
        return 1.0, np.zeros_like(spread), np.sqrt(amount) * whole.std(axis=0, ddof=1)
    factor = math.sqrt(1 - amount * amount)
    return factor, (1 - factor) * np.nanmean(values, axis=0), amount * spread


def with_noise(values: Floats, drawn: Floats, amount: float, noise: Kind) -> Floats:
    """The values (rows x columns; not-a-number: missing) with noise made of standard normal draws."""
    factor, shift, scale = terms(values, amount, noise)
    if noise == "correlated":
        drawn = drawn @ _root(np.corrcoef(values[~np.isnan(values).any(axis=1)].T.reshape(len(scale), -1)))
    return np.asarray(factor * values + shift + scale * drawn)


def _root(correlations: Any) -> Floats:
    """A matrix whose square is the correlation matrix; a singular one has it too."""
    roots, vectors = np.linalg.eigh(np.nan_to_num(np.atleast_2d(correlations)))
    return np.asarray(vectors * np.sqrt(np.maximum(roots, 0)) @ vectors.T)
