# SPDX-License-Identifier: Apache-2.0
"""Data shuffling: values re-dealt by a model of their ranks (Muralidhar & Sarathy 2006)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from anon.errors import DataError, UsageError
from anon.methods.perturbation import (
    COLUMNS,
    Change,
    ColumnPerturbation,
    Floats,
    by_value,
    column_names,
    floats,
    normal,
    not_constant,
    ordered,
    quantile,
)
from anon.requirements import Option

LEAST_ROOT = 1e-8  # of a correlation matrix; lesser eigenvalues are raised to it


@dataclass(frozen=True)
class Shuffle(ColumnPerturbation):
    """The values of the numeric columns `columns` re-dealt among the rows; enforces nothing.

    Who gets which value is drawn from a normal model of the ranks given the numeric columns `by`, which
    stay: a row's new values depend on these and on chance, and on nothing else of the row. Rank
    correlations stay as they are in expectation, and so do the values of each column and the places of
    those that are missing. The columns `by` must miss no value.
    """

    name: ClassVar[str] = "shuffle"
    kind: ClassVar[str] = "shuffle"
    what: ClassVar[str] = "shuffling"
    needs: ClassVar[tuple[str, ...]] = ("by",)
    options: ClassVar[tuple[Option, ...]] = (
        Option("by", list[str], "Shuffling: numeric columns that stay and steer it.", read=tuple),
        COLUMNS,
    )

    by: Sequence[str]
    columns: Sequence[str] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", column_names(self.columns))
        names = column_names(self.by)
        if names is None:
            raise UsageError("by must name the columns that steer the shuffling and stay")
        object.__setattr__(self, "by", names)

    def needed(self) -> tuple[str, ...]:
        return tuple(self.by)

    def change(self, table: pa.Table, names: Sequence[str]) -> Change:
        fixed = np.column_stack([_steering(table, name) for name in self.by])
        moved = np.column_stack([floats(table.column(name), name) for name in names])
        for at, name in enumerate(names):
            not_constant(moved[:, at], name)
        wanted = scores(fixed, moved, normal(moved.size).reshape(moved.shape))
        columns = {}
        for at, name in enumerate(names):
            order = ordered(table.column(name), name)
            rows = np.arange(table.num_rows)
            present = np.flatnonzero(~np.isnan(moved[:, at]))
            rows[by_value(wanted[at], present)] = order
            columns[name] = table.column(name).combine_chunks().take(pa.array(rows))
        return Change(columns, {name: {"by": list(self.by)} for name in names})


def _steering(table: pa.Table, name: str) -> Floats:
    plain = table.column(name).type
    if not (pa.types.is_integer(plain) or pa.types.is_floating(plain) or pa.types.is_decimal(plain)):
        raise UsageError(f"column {name!r} holds {plain}: shuffling is steered by numbers alone")
    values = floats(table.column(name), name)
    missing = np.isnan(values)
    if missing.any():
        row, count = int(np.argmax(missing)), int(np.count_nonzero(missing))
        raise DataError(
            f"column {name!r} misses {count} values, the first in row {row + 1}, and cannot steer the "
            "shuffling: fill them, drop these rows, or name other columns",
            column=name,
            row=row,
            count=count,
        )
    not_constant(values, name)
    return values


def ranks(values: Floats) -> Floats:
    """Ranks from 1 on; equal values share the mean of theirs."""
    order = by_value(values, np.arange(len(values)))
    in_order = values[order]
    starts = np.flatnonzero(np.append(True, in_order[1:] != in_order[:-1])[: len(values)])
    counts = np.diff(np.append(starts, len(values)))
    shared = np.empty(len(values))
    shared[order] = np.repeat(starts + (counts + 1) / 2, counts)
    return shared


def scores(fixed: Floats, moved: Floats, drawn: Floats) -> list[Floats]:
    """What each column of `moved` is re-ordered by: its normal scores given those of `fixed`, drawn anew.

    `drawn` are standard normal, one for each value of `moved`, whose missing values are not-a-number.
    """
    n, q = fixed.shape
    whole = ~np.isnan(moved).any(axis=1)
    of_fixed = [ranks(column) for column in fixed.T]
    ranked = of_fixed if whole.all() else [ranks(column) for column in fixed[whole].T]
    correlations = normal_correlations([*ranked, *(ranks(column) for column in moved[whole].T)])
    steering = [quantile((column - 0.5) / n) for column in of_fixed]
    slopes = np.linalg.solve(correlations[:q, :q], correlations[:q, q:])
    rest = correlations[q:, q:] - correlations[q:, :q] @ slopes
    roots, vectors = np.linalg.eigh((rest + rest.T) / 2)
    root = vectors * np.sqrt(np.maximum(roots, 0)) @ vectors.T
    parts = list(zip([*steering, *drawn.T], np.vstack([slopes, root]), strict=True))
    return [np.asarray(sum(column * share[at] for column, share in parts)) for at in range(moved.shape[1])]


def normal_correlations(ranked: Sequence[Floats]) -> npt.NDArray[np.float64]:
    """2 sin(pi rho / 6) of Spearman's rho, of ranks of rows that miss nothing, made positive definite."""
    if len(ranked[0]) < 2 or any((column == column[0]).all() for column in ranked):
        raise DataError(
            "the rows that miss no value are too few or too alike to shuffle by: name less columns"
        )
    matrix = 2 * np.sin(np.pi / 6 * np.corrcoef(ranked))
    np.fill_diagonal(matrix, 1)
    roots, vectors = np.linalg.eigh(matrix)
    if roots.min() < LEAST_ROOT:
        matrix = vectors * np.maximum(roots, LEAST_ROOT) @ vectors.T
        matrix /= np.sqrt(np.outer(np.diag(matrix), np.diag(matrix)))
    return np.asarray(matrix)
