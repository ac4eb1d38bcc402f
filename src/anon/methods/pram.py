# SPDX-License-Identifier: Apache-2.0
"""The post-randomization method: categories drawn by a matrix that is published (Gouweleeuw et al. 1998)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from anon.classes import texts
from anon.entropy import uniform
from anon.errors import DataError, Parameter, UsageError
from anon.methods.perturbation import COLUMNS, Change, ColumnPerturbation, Floats, column_names
from anon.methods.task import STRATA
from anon.requirements import Option

Codes = npt.NDArray[np.int64]

MOST_VALUES = 1024
SINGULAR = 1e12  # condition number of a matrix that no estimate can undo


@dataclass(frozen=True)
class Pram(ColumnPerturbation):
    """Each cell of the columns `columns` is drawn from its value's row of a matrix; enforces nothing.

    The matrix is `matrix[column][value][new value]`, a probability (0 where it is left out); or its diagonal
    is drawn evenly from `pd` to 1 and the rest of each row is even. `invariant` makes of either a matrix
    under which the counts stay as they are in expectation, `alpha` times it and 1 - `alpha` times no
    change. `strata` names a column: each of its values has a matrix of its own. `pram_estimate` estimates
    the original counts; the matrix stands in `release.noise` and in the metadata of the file.
    """

    name: ClassVar[str] = "pram"
    kind: ClassVar[str] = "pram"
    what: ClassVar[str] = "PRAM"
    of_numbers: ClassVar[bool] = False
    options: ClassVar[tuple[Option, ...]] = (
        Option("pd", float, "PRAM: least probability that a value stays (0.8)."),
        Option("invariant", bool, "PRAM: keep the counts in expectation (default: not).", off="plain"),
        Option("pram_alpha", float, "PRAM: share of an invariant matrix that changes (0.5).", "alpha"),
        STRATA,
        COLUMNS,
    )

    pd: float = 0.8
    matrix: Mapping[Any, Mapping[Any, Mapping[Any, float]]] | None = field(default=None, repr=False)
    invariant: bool = False
    alpha: float = 0.5
    strata: str | None = None
    columns: Sequence[str] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", column_names(self.columns))
        for parameter in ("pd", "alpha"):
            value = getattr(self, parameter)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
                raise UsageError(f"{parameter} must be a number from 0 to 1")
        if self.pd == 1 and self.matrix is None:
            raise UsageError("pd = 1 changes nothing: it must be below 1")
        if self.matrix is not None and not isinstance(self.matrix, Mapping):
            raise UsageError('matrix must map columns to values to probabilities: {"sex": {"F": {"F": 0.9, …')
        if self.matrix is not None and self.columns is None:
            object.__setattr__(self, "columns", column_names(list(self.matrix)))

    def needed(self) -> tuple[str, ...]:
        return () if self.strata is None else (self.strata,)

    def change(self, table: pa.Table, names: Sequence[str]) -> Change:
        strata, of_row = [""], np.zeros(table.num_rows, np.int64)
        if self.strata is not None:
            values, of_row = _encoded(table.column(self.strata), self.strata)
            of_row[of_row < 0] = len(values)
            strata = [*texts(values), "missing"][: int(of_row.max(initial=0)) + 1]
        columns, attributes = {}, {}
        for name in names:
            values, codes = _encoded(table.column(name), name)
            given: Floats | None = None
            if self.matrix is not None:
                values, given, number = self._given(name, values)
                codes = np.append(number, -1)[codes]
            matrices = []
            changed = codes.copy()
            for stratum in range(len(strata)):
                rows = np.flatnonzero((of_row == stratum) & (codes >= 0))
                counts = np.bincount(codes[rows], minlength=len(values))
                first = (
                    with_diagonal(self.pd + (1 - self.pd) * uniform(len(values))) if given is None else given
                )
                matrix = invariant(first, counts, self.alpha) if self.invariant else first
                matrices.append(matrix)
                changed[rows] = redrawn(codes[rows], matrix, uniform(len(rows)))
            columns[name] = values.take(pa.array(changed, mask=changed < 0))
            listed = {each: matrix.tolist() for each, matrix in zip(strata, matrices, strict=True)}
            attributes[name] = {
                "values": texts(values),
                **(
                    {"matrix": listed[""]}
                    if self.strata is None
                    else {"strata": self.strata, "matrices": listed}
                ),
            }
        return Change(columns, attributes)

    def _given(self, name: str, values: pa.Array) -> tuple[pa.Array, Floats, Codes]:
        """All values of the given matrix, the matrix, and the number in it of each value of the table."""
        assert self.matrix is not None
        rows = self.matrix.get(name)
        if rows is None:
            raise UsageError(f"column {name!r} has no matrix: give it one, or leave it out of columns")
        try:
            known = pa.array(list(rows), values.type)
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            raise UsageError(f"the matrix of column {name!r} has values that are not {values.type}") from None
        code = {value: at for at, value in enumerate(known.to_pylist())}
        missing = [value for value in values.to_pylist() if value not in code]
        if missing:
            raise DataError(
                f"the matrix of column {name!r} has no row for {len(missing)} of its values",
                value=repr(missing[0]),
                column=name,
            )
        matrix = np.zeros((len(code), len(code)))
        for at, (value, row) in enumerate(rows.items()):
            for other, probability in row.items():
                if other not in code:
                    raise UsageError(f"the matrix of column {name!r} has no row for a value that it draws")
                matrix[at, code[other]] = probability
            if not (matrix[at] >= 0).all() or abs(matrix[at].sum() - 1) > 1e-9:
                raise DataError(
                    f"row {at + 1} of the matrix of column {name!r} must be probabilities that sum to 1",
                    value=repr(value),
                    column=name,
                )
        return known, matrix, np.array([code[value] for value in values.to_pylist()], np.int64)


def with_diagonal(diagonal: Floats) -> Floats:
    """The matrix with this diagonal whose rows are even otherwise and sum to 1."""
    n = len(diagonal)
    if n < 2:
        return np.ones((n, n))
    matrix = np.repeat(((1 - diagonal) / (n - 1))[:, None], n, axis=1)
    np.fill_diagonal(matrix, diagonal)
    return matrix


def invariant(matrix: Floats, counts: npt.ArrayLike, alpha: float) -> Floats:
    """Alpha P Q + (1 - alpha) I, Q the Bayes reverse of P under these counts, which it keeps in expectation.

    Values with no count are not drawn from and stay as they are.
    """
    weights = np.asarray(counts, np.float64)
    joint = matrix * weights[:, None]  # true value x drawn value
    drawn = joint.sum(axis=0)
    reverse = np.where(
        drawn[:, None] > 0, joint.T / np.where(drawn > 0, drawn, 1)[:, None], np.eye(len(weights))
    )
    return np.asarray(alpha * matrix @ reverse + (1 - alpha) * np.eye(len(weights)))


def redrawn(codes: Codes, matrix: Floats, draws: Floats) -> Codes:
    """For every code the least new one whose cumulated probability exceeds its draw, from 0 to below 1."""
    changed = np.empty_like(codes)
    order = np.argsort(codes, kind="stable")
    bounds = np.searchsorted(codes[order], np.arange(len(matrix) + 1))
    for code in range(len(matrix)):
        rows = order[bounds[code] : bounds[code + 1]]
        possible = np.flatnonzero(matrix[code] > 0)
        cumulated = np.cumsum(matrix[code, possible])
        cumulated[-1:] = 1
        changed[rows] = possible[np.searchsorted(cumulated, draws[rows], side="right")]
    return changed


def pram_estimate(counts: npt.ArrayLike, matrix: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Unbiased estimates (float64) of the original counts, and their covariance matrix.

    Parameters
    ----------
    counts : array
        How often each value occurs in the release, in the order of the matrix.
    matrix : array
        Row: true value, column: published value; each row sums to 1.

    Raises
    ------
    UsageError
        The matrix is not one, or singular: then no counts can be estimated.
    """
    observed, drawn = np.asarray(counts, np.float64), np.asarray(matrix, np.float64)
    if (
        drawn.shape != (len(observed), len(observed))
        or not np.allclose(drawn.sum(axis=1), 1)
        or (drawn < 0).any()
    ):
        raise UsageError("matrix must have one row of probabilities that sum to 1 for each of the counts")
    if np.linalg.cond(drawn) > SINGULAR:
        raise UsageError(
            "the matrix is singular: different original counts give the same, none can be estimated"
        )
    inverse = np.linalg.inv(drawn.T)
    estimate = inverse @ observed
    spread = np.diag(drawn.T @ estimate) - (drawn.T * estimate) @ drawn
    return estimate, inverse @ spread @ inverse.T


def _encoded(column: pa.ChunkedArray, name: str) -> tuple[pa.Array, Codes]:
    """The sorted values of the column, and the number of each row's, -1 where it is missing."""
    encoded = column.combine_chunks().dictionary_encode()
    values, codes = encoded.dictionary, encoded.indices.fill_null(-1).to_numpy().astype(np.int64)
    if len(values) > MOST_VALUES:
        raise UsageError(
            f"column {name!r} has {len(values)} values; a matrix may have {MOST_VALUES}: recode the column, "
            "or leave it out of ",
            Parameter("columns", "--columns"),
        )
    order = pc.sort_indices(values).to_numpy()
    rank = np.empty(len(order) + 1, np.int64)
    rank[order], rank[-1] = np.arange(len(order)), -1
    return values.take(pa.array(order)), rank[codes]
