# SPDX-License-Identifier: Apache-2.0
"""What became of the numbers of a table that shows numbers in their place: means, noise, swapped values.

Columns are arrays of rows x attributes. What pairs rows knows which row of the original each released row is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from anon.classes import Published
from anon.errors import UsageError
from anon.schema import value_type

Floats = npt.NDArray[np.float64]

KAPPA = 0.05  # half the width of the interval of `d_risk`, in standard deviations
LEVELS = np.arange(1, 20) / 20  # of the quantiles that are compared
MOST_DISTANCES = 1 << 27  # made by record linkage; beyond it looks at some rows alone
SINGULAR = 1e12  # condition number of a correlation matrix that has no inverse
ALIKE = 1e-12  # distances that differ by less, relative to them, are a tie
MEASURES = (
    *("n_rows", "n_left_out", "sse_sst", "il1s", "il1s_sum", "eigen", "il_correl", "correlation_max"),
    *("correlation_mean", "quantiles", "d_risk", "linkage", "linkage_rows", "pmse", "pmse_ratio"),
)

QUICK = ("n_rows", "n_left_out", "sse_sst", "il1s", "correlation_max", "correlation_mean", "quantiles")


@dataclass(frozen=True, repr=False)
class Numbers:
    """How the numbers of a release, `names` in order, differ from those of the original.

    `before` and `after` (rows x attributes) have no missing number; `n_left_out` rows of either table had
    one. `row` tells which row of `before` each of `after` is, None where nobody knows: then `sse_sst`,
    `il1s`, `d_risk` and `linkage` are None. A measure is None too where it is not defined. Constant columns
    of the original take no part in measures of distance; where a column is constant in either table,
    correlations have no meaning. Everything is computed when it is asked for.
    """

    names: tuple[str, ...]
    before: Floats = field(compare=False)
    after: Floats = field(compare=False)
    row: npt.NDArray[np.int64] | None = field(default=None, compare=False)
    n_left_out: int = 0

    @property
    def n_rows(self) -> int:
        """Released rows that are measured."""
        return len(self.after)

    @cached_property
    def _pairs(self) -> tuple[Floats, Floats] | None:
        """Original and released numbers of each pair, columns that vary, in their units."""
        varied = self.before.std(axis=0) > 0 if len(self.before) else np.zeros(len(self.names), np.bool_)
        if self.row is None or not len(self.row) or not varied.any():
            return None
        return self.before[self.row][:, varied], self.after[:, varied]

    def _spread(self, ddof: int) -> Floats:
        spread = self.before.std(axis=0, ddof=min(ddof, len(self.before) - 1))
        return np.asarray(spread[spread > 0])

    @cached_property
    def sse_sst(self) -> float | None:
        """Squared error over the sum of squares, of columns divided by their population deviation."""
        if self._pairs is None:
            return None
        before, after = (part / self._spread(0) for part in self._pairs)
        return float(((before - after) ** 2).sum() / before.size)

    @cached_property
    def il1s_sum(self) -> float | None:
        """Sum over cells of |x - x'|/(sqrt(2)·s), s with n - 1 (Yancey et al. 2002)."""
        if self._pairs is None:
            return None
        before, after = self._pairs
        return float((np.abs(before - after) / (math.sqrt(2) * self._spread(1))).sum())

    @cached_property
    def il1s(self) -> float | None:
        """The mean of that over cells."""
        return None if self.il1s_sum is None or self._pairs is None else self.il1s_sum / self._pairs[0].size

    @cached_property
    def _correlations(self) -> tuple[Floats, Floats] | None:
        """Correlations before and after; None where a column has none, or too large numbers for them."""
        if any(len(each) < 2 or (each == each[0]).all(axis=0).any() for each in (self.before, self.after)):
            return None
        with np.errstate(over="ignore", invalid="ignore"):
            both = _correlations(self.before), _correlations(self.after)
        return both if all(np.isfinite(each).all() for each in both) else None

    @cached_property
    def eigen(self) -> float | None:
        """Sum of |e - e'|/e over the sorted eigenvalues of the correlation matrices."""
        if self._correlations is None:
            return None
        before, after = (np.sort(np.linalg.eigvalsh(each)) for each in self._correlations)
        if before[0] <= before[-1] / SINGULAR:
            return None
        return float((np.abs(before - after) / before).sum())

    @cached_property
    def il_correl(self) -> float | None:
        """Distance, over sqrt(2), of the diagonals of the inverse correlation matrices, each of norm 1."""
        if self._correlations is None or any(np.linalg.cond(each) > SINGULAR for each in self._correlations):
            return None
        one, two = (np.diag(np.linalg.inv(each)) for each in self._correlations)
        return float(np.linalg.norm(one / np.linalg.norm(one) - two / np.linalg.norm(two)) / math.sqrt(2))

    @cached_property
    def _differences(self) -> Floats | None:
        if self._correlations is None or len(self.names) < 2:
            return None
        upper = np.triu_indices(len(self.names), 1)
        return np.asarray(np.abs(self._correlations[0] - self._correlations[1])[upper])

    @cached_property
    def correlation_max(self) -> float | None:
        """Greatest difference of a correlation of two columns."""
        return None if self._differences is None else float(self._differences.max())

    @cached_property
    def correlation_mean(self) -> float | None:
        """Mean difference of the correlations of all pairs of columns."""
        return None if self._differences is None else float(self._differences.mean())

    @cached_property
    def quantiles(self) -> float | None:
        """Mean difference, in deviations (n - 1), of the quantiles 0.05, 0.1 … 0.95 of all columns."""
        if len(self.before) < 2 or not len(self.after) or not len(self._spread(1)):
            return None
        varied = self.before.std(axis=0) > 0
        before, after = (np.quantile(each[:, varied], LEVELS, axis=0) for each in (self.before, self.after))
        return float((np.abs(before - after) / self._spread(1)).mean())

    @property
    def d_risk(self) -> float | None:
        """`interval_risk` of 0.05."""
        return self.interval_risk(KAPPA)

    def interval_risk(self, kappa: float) -> float | None:
        """Share of rows all of whose numbers lie within `kappa` standard deviations (n - 1) of the released
        column around the released ones (Mateo-Sanz, Sebé & Domingo-Ferrer 2004); None without pairs.
        """
        if self.row is None or len(self.after) < 2:
            return None
        reach = kappa * self.after.std(axis=0, ddof=1)
        inside = np.abs(self.before[self.row] - self.after) <= reach
        return float(inside.all(axis=1).mean())

    @cached_property
    def _links(self) -> tuple[float, int] | None:
        if self._pairs is None:
            return None
        before, after = (part / self._spread(0) for part in self._pairs)
        return linked(before, after)

    @property
    def linkage(self) -> float | None:
        """Expected share of rows that record linkage finds: each looks for the nearest released row, by the
        original's standard deviations, and takes one of those equally near at random. Cost: rows times
        different released rows; beyond 2**27 only `linkage_rows` rows, evenly spaced, look.
        """
        return None if self._links is None else self._links[0]

    @property
    def linkage_rows(self) -> int | None:
        """How many rows looked."""
        return None if self._links is None else self._links[1]

    @cached_property
    def _propensity(self) -> tuple[float, float] | None:
        if not len(self.before) or not len(self.after):
            return None
        rows = np.concatenate([self.before, self.after])
        label = np.repeat([0.0, 1.0], [len(self.before), len(self.after)])
        p, k = logistic(rows, label)
        return pmse_of(p, len(self.after), k)

    @property
    def pmse(self) -> float | None:
        """Propensity score MSE by logistic regression on the columns (Woo et al. 2009)."""
        return None if self._propensity is None else self._propensity[0]

    @property
    def pmse_ratio(self) -> float | None:
        """That over its mean where released rows are drawn from the original's anew (Snoke et al. 2018)."""
        return None if self._propensity is None else self._propensity[1]

    def pmse_by_tree(
        self, permutations: int = 50, *, min_rows: int = 5, seed: int = 0
    ) -> tuple[float, float]:
        """Propensity score MSE by a classification tree (CART) with leaves of at least `min_rows` rows, and
        its ratio to the mean over permutations of which row is whose. Needs the extra `eval`.
        """
        tree = _tree(min_rows, seed)
        rows = np.concatenate([self.before, self.after])
        label = np.repeat([0, 1], [len(self.before), len(self.after)])
        share = len(self.after) / len(rows)
        rng = np.random.default_rng(seed)

        def error(labels: npt.NDArray[Any]) -> float:
            return float(((tree(rows, labels) - share) ** 2).mean())

        null = float(np.mean([error(rng.permutation(label)) for _ in range(permutations)]))
        found = error(label)
        return found, found / null if null else math.nan

    def to_dict(self) -> dict[str, Any]:
        """The measures under their names; None where one is not defined."""
        return {name: getattr(self, name) for name in MEASURES}

    def _repr_html_(self) -> str:
        """What is quickly computed."""
        from anon.measures.notebook import numbers_html

        before, after = (part.std(axis=0) for part in (self.before, self.after))
        spread = {name: y / x for name, x, y in zip(self.names, before, after, strict=True) if x > 0}
        return numbers_html({name: getattr(self, name) for name in QUICK}, spread)

    def __repr__(self) -> str:
        return f"Numbers(names={self.names}, rows={self.n_rows}, paired={self.row is not None})"


def _correlations(rows: Floats) -> Floats:
    return np.atleast_2d(np.corrcoef(rows, rowvar=False))


def linked(before: Floats, after: Floats, most: int = MOST_DISTANCES) -> tuple[float, int]:
    """The expected share of rows i of `before` whose nearest row of `after` is row i, ties shared, and how
    many rows were looked at: all, or as many, evenly spaced, as make no more than `most` distances.
    """
    places, place_of, counts = np.unique(after, axis=0, return_inverse=True, return_counts=True)
    place_of = place_of.reshape(-1)
    n_looking = min(len(before), max(most // len(places), 1))
    looking = np.linspace(0, len(before) - 1, n_looking).astype(np.int64)
    at_once = max((1 << 21) // len(places), 1)
    found = []
    for start in range(0, n_looking, at_once):
        rows = looking[start : start + at_once]
        distance = np.zeros((len(rows), len(places)))
        for a in range(before.shape[1]):
            distance += (before[rows, a][:, None] - places[None, :, a]) ** 2
        near = distance <= distance.min(axis=1)[:, None] * (1 + ALIKE)
        own = near[np.arange(len(rows)), place_of[rows]]
        found += (own / (near @ counts)).tolist()
    return math.fsum(found) / n_looking, n_looking


def pmse_of(p: Floats, n_released: int, k: int) -> tuple[float, float]:
    """Propensity score MSE of the chances `p` of being a released row, `n_released` of them, and its ratio to
    the mean that a logistic regression with `k` parameters, the intercept among them, has where the released
    rows are drawn from the original's, (k - 1)(1 - c)**2·c/N for a share c of N rows.
    """
    n, share = len(p), n_released / len(p)
    error = math.fsum((p - share) ** 2) / n
    null = (k - 1) * (1 - share) ** 2 * share / n
    return error, error / null if null else math.nan


def logistic(rows: Floats, label: Floats) -> tuple[Floats, int]:
    """Chances by logistic regression on the columns and an intercept, and how many parameters it has.

    Newton's steps; columns that others determine make no parameter. Where the tables can be told apart
    without fail the likelihood has no maximum: the last of 30 steps counts.
    """
    spread = rows.std(axis=0)
    columns = (rows - rows.mean(axis=0))[:, spread > 0] / spread[spread > 0]
    design = np.column_stack([np.ones(len(rows)), columns])
    k = int(np.linalg.matrix_rank(design.T @ design, hermitian=True))
    weights = np.zeros(design.shape[1])
    p = np.full(len(rows), 0.5)
    for _ in range(30):
        p = 1 / (1 + np.exp(-np.clip(design @ weights, -30, 30)))
        curvature = (design * (p * (1 - p))[:, None]).T @ design
        step = np.linalg.pinv(curvature, hermitian=True) @ (design.T @ (label - p))
        weights = weights + step
        if np.abs(step).max() < 1e-10:
            break
    return 1 / (1 + np.exp(-np.clip(design @ weights, -30, 30))), k


def _tree(min_rows: int, seed: int) -> Callable[[Floats, npt.NDArray[Any]], Floats]:
    try:
        kind = import_module("sklearn.tree").DecisionTreeClassifier
    except ImportError:
        raise UsageError(
            'a tree needs scikit-learn, which the extra "eval" installs: pip install "anon[eval]"'
        ) from None

    def chances(rows: Floats, label: npt.NDArray[Any]) -> Floats:
        fitted = kind(min_samples_leaf=min_rows, random_state=seed).fit(rows, label)
        return np.asarray(fitted.predict_proba(rows)[:, -1])

    return chances


# --- the numbers of tables


def as_floats(values: pa.Array | pa.ChunkedArray, kind: pa.DataType) -> Floats:
    """Numbers as they are, dates and times of type `kind` as ticks; not-a-number for null."""
    values = values.cast(value_type(values.type))
    if pa.types.is_temporal(kind):
        values = values.cast(kind, safe=False).cast(pa.int64() if kind.bit_width == 64 else pa.int32())
    return np.asarray(values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), np.float64)


def numbers_from(
    names: Sequence[str], before: Sequence[Floats], after: Sequence[Floats], row: npt.NDArray[Any] | None
) -> Numbers:
    """The columns of both tables, not-a-number where missing: rows that miss a number are left out."""
    tables = [np.column_stack(columns) for columns in (before, after)]
    whole = [np.asarray(~np.isnan(each).any(axis=1)) for each in tables]
    if row is not None:
        whole[1] &= whole[0][row]
        row = (np.cumsum(whole[0]) - 1)[row[whole[1]]]
    n_left_out = sum(int(np.count_nonzero(~each)) for each in whole)
    kept = [each[rows] for each, rows in zip(tables, whole, strict=True)]
    return Numbers(tuple(names), kept[0], kept[1], row, n_left_out)


def numbers_of(published: Published) -> Numbers:
    """Those of a release of ours that shows midpoints, means or medians; UsageError where it shows none."""
    original, classes = published.original, published.classes
    shown = [i for i, column in enumerate(published.numbers) if column is not None]
    if not shown:
        how = "compare the tables, anon.compare(original, released, id=...)"
        raise UsageError(
            "the release shows no column by numbers that stand for those of known rows: "
            + (how if published.refusal else "publish means or medians")
        )
    in_order = np.argsort(classes.rows)  # sums of floats depend on it, and rows of a class have none
    class_of = np.repeat(np.arange(classes.n_classes), classes.sizes)[in_order]
    before, after = [], []
    for i in shown:
        domain, column = original.quasi[i], published.numbers[i]
        assert column is not None
        kind = domain.values.type
        values = np.append(as_floats(domain.values, kind), np.nan)
        before.append(values[original.quasi_codes[i]])
        after.append(as_floats(column.values, kind)[column.index[class_of]])
    names = [original.quasi[i].name for i in shown]
    return numbers_from(names, before, after, classes.rows[in_order].astype(np.int64))
