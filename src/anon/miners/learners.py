# SPDX-License-Identifier: Apache-2.0
"""Learners of our own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from inspect import signature
from typing import Any

import numpy as np
import numpy.typing as npt

from anon.miners.miner import Matrix


def learner(path: str, **parameters: Any) -> Callable[[int], Any]:
    """An estimator of scikit-learn, by its module and name; parameters that are made by a seed are made."""

    def build(seed: int) -> Any:
        module, _, name = path.rpartition(".")
        kind = getattr(import_module(f"sklearn.{module}"), name)
        given = {key: value(seed) if callable(value) else value for key, value in parameters.items()}
        if "random_state" in signature(kind).parameters:
            given["random_state"] = seed
        return kind(**given)

    return build


def chain(*builders: Callable[[int], Any]) -> Callable[[int], Any]:
    """Transformers and the estimator that they feed."""
    return lambda seed: import_module("sklearn.pipeline").make_pipeline(*(build(seed) for build in builders))


def scaled(path: str, **parameters: Any) -> Callable[[int], Any]:
    """An estimator of features with mean 0 and variance 1."""
    return chain(learner("preprocessing.StandardScaler"), learner(path, **parameters))


def standardized(path: str, **parameters: Any) -> Callable[[int], Any]:
    """The same, of labels scaled likewise."""
    return learner(
        "compose.TransformedTargetRegressor",
        regressor=scaled(path, **parameters),
        transformer=learner("preprocessing.StandardScaler"),
    )


class NaiveBayes:
    """Naive Bayes with one factor per attribute (John & Langley 1995, as in Weka).

    Labels by their counts, one added to each; numbers by a normal density, whose deviation is at least a
    sixth of the mean distance of neighboring values. A label that was not seen says nothing.
    """

    def fit(self, X: Matrix, y: npt.NDArray[Any], nominal: npt.NDArray[np.bool_] | None = None) -> None:
        self.labels, codes = np.unique(y, return_inverse=True)
        rows = np.bincount(codes)
        self.prior = np.log((rows + 1) / (len(y) + len(rows)))
        is_label = np.zeros(X.shape[1], np.bool_) if nominal is None else nominal
        self.factors: list[Matrix | tuple[Matrix, Matrix]] = []
        for column, by_counts in zip(X.T, is_label, strict=True):
            if by_counts:
                values = column.astype(np.int64)
                counts = np.zeros((values.max() + 1, len(rows)))
                np.add.at(counts, (values, codes), 1)
                seen = counts.sum(axis=1) > 0
                share = (counts + 1) / (rows + seen.sum())
                self.factors.append(np.where(seen[:, None], np.log(share), 0.0))
            else:
                gaps = np.diff(np.unique(column))
                mean = np.bincount(codes, column) / rows
                deviation = np.sqrt(np.bincount(codes, (column - mean[codes]) ** 2) / rows)
                least = (gaps.mean() if len(gaps) else 0.01) / 6
                self.factors.append((mean, np.maximum(deviation, least)))

    def predict(self, X: Matrix) -> npt.NDArray[Any]:
        blocks = [self._best(X[first : first + 8192]) for first in range(0, len(X), 8192)]
        return np.asarray(self.labels[np.concatenate(blocks)])

    def _best(self, X: Matrix) -> npt.NDArray[np.int64]:
        """The number of the likeliest label of each row; the first of several."""
        logarithm = np.tile(self.prior, (len(X), 1))
        for column, factor in zip(X.T, self.factors, strict=True):
            if isinstance(factor, tuple):
                mean, deviation = factor
                logarithm -= ((column[:, None] - mean) / deviation) ** 2 / 2 + np.log(deviation)
            else:
                values = column.astype(np.int64)
                seen = values < len(factor)
                logarithm[seen] += factor[values[seen]]
        return np.asarray(logarithm.argmax(axis=1))


BINS = 16


def bin_ends(column: Matrix, is_label: bool) -> Matrix:
    """The values of a column, or of a number with more of them the ends of 16 bins of equally many rows."""
    ends = np.unique(column)
    if len(ends) > BINS and not is_label:
        ends = np.unique(np.quantile(column, np.arange(1, BINS + 1) / BINS))
    return ends


class OneDependence:
    """Averaged one-dependence estimators (Webb et al. 2005), as in Weka with m-estimates.

    Of a row x the label y with the greatest sum of P(y, x_i) prod_j P(x_j | y, x_i) over the attributes i
    whose value was seen; shares are of counts to which 1 is added in all. Numbers are in bins. Counts of
    two values and a label are kept where they are not 0.
    """

    def fit(self, X: Matrix, y: npt.NDArray[Any], nominal: npt.NDArray[np.bool_] | None = None) -> None:
        self.labels, codes = np.unique(y, return_inverse=True)
        is_label = np.zeros(X.shape[1], np.bool_) if nominal is None else nominal
        self.ends = [bin_ends(*each) for each in zip(X.T, is_label, strict=True)]
        self.is_label, self.n_rows = is_label, len(X)
        values = self._values(X)
        m, n_labels = X.shape[1], len(self.labels)
        self.n_values = [len(ends) for ends in self.ends]
        self.alone = [np.zeros((n + 1, n_labels)) for n in self.n_values]  # the last value was not seen
        for column, counts in zip(values, self.alone, strict=True):
            np.add.at(counts, (column, codes), 1)
        self.together = {
            (i, j): self._counted(self._pair(values, i, j), codes) for j in range(m) for i in range(j)
        }

    def predict(self, X: Matrix) -> npt.NDArray[Any]:
        rows, of_row = np.unique(np.stack(self._values(X), axis=1), axis=0, return_inverse=True)
        size = max((1 << 22) // ((X.shape[1] + 1) * len(self.labels)), 1)
        blocks = [self._best([*rows[first : first + size].T]) for first in range(0, len(rows), size)]
        return np.asarray(self.labels[np.concatenate(blocks)][of_row.reshape(-1)])

    def _values(self, X: Matrix) -> list[npt.NDArray[np.int64]]:
        """The number of each cell's value; one more than there are where it was not seen."""
        found = []
        for column, ends, is_label in zip(X.T, self.ends, self.is_label, strict=True):
            at = np.searchsorted(ends if is_label else ends[:-1], column)
            known = ends[np.minimum(at, len(ends) - 1)] == column
            found.append(np.where(known, at, len(ends)) if is_label else at)
        return found

    def _pair(self, values: Sequence[npt.NDArray[np.int64]], i: int, j: int) -> npt.NDArray[np.int64]:
        return values[i] * (self.n_values[j] + 1) + values[j]

    def _counted(self, pairs: npt.NDArray[np.int64], codes: npt.NDArray[Any]) -> tuple[Any, Any]:
        """The pairs of values that were seen, ascending, and a sparse matrix of their rows by label."""
        seen, at = np.unique(pairs, return_inverse=True)
        build = import_module("scipy.sparse").coo_matrix
        shape = (len(seen) + 1, len(self.labels))  # the last row is that of all others
        return seen, build((np.ones(len(at)), (at, codes)), shape=shape).tocsr()

    def _best(self, values: Sequence[npt.NDArray[np.int64]]) -> npt.NDArray[np.int64]:
        """The number of the likeliest label of each row; the first of several."""
        alone = [counts[column] for counts, column in zip(self.alone, values, strict=True)]
        logs = [
            np.log((rows + 1 / (n * len(self.labels))) / (self.n_rows + 1))
            for rows, n in zip(alone, self.n_values, strict=True)
        ]
        for (i, j), (seen, counts) in self.together.items():
            pairs = self._pair(values, i, j)
            at = np.minimum(np.searchsorted(seen, pairs), len(seen) - 1)
            rows = counts[np.where(seen[at] == pairs, at, len(seen))].toarray()
            logs[i] += np.log((rows + 1 / self.n_values[j]) / (alone[i] + 1))
            logs[j] += np.log((rows + 1 / self.n_values[i]) / (alone[j] + 1))
        was_seen = [rows.any(axis=1, keepdims=True) for rows in alone]
        if not all(each.all() for each in was_seen):  # where no value was, the prior decides
            prior = np.log(self.alone[0].sum(axis=0) + 1)
            logs = [np.where(seen, log, -np.inf) for seen, log in zip(was_seen, logs, strict=True)]
            logs.append(np.where(np.any(was_seen, axis=0), -np.inf, prior))
        greatest = np.max([log.max(axis=1, keepdims=True) for log in logs], axis=0)
        return np.asarray(np.sum([np.exp(log - greatest) for log in logs], axis=0).argmax(axis=1))


class OneRule:
    """The one attribute whose values, each with its most frequent label, err least (Holte 1993).

    Numbers are in bins.
    """

    def fit(self, X: Matrix, y: npt.NDArray[Any], nominal: npt.NDArray[np.bool_] | None = None) -> None:
        self.labels, codes = np.unique(y, return_inverse=True)
        is_label = np.zeros(X.shape[1], np.bool_) if nominal is None else nominal
        best = -1
        for j, column in enumerate(X.T):
            ends = bin_ends(column, is_label[j])
            counts = np.zeros((len(ends), len(self.labels)), np.int64)
            np.add.at(counts, (np.searchsorted(ends[:-1], column), codes), 1)
            if (right := int(counts.max(axis=1).sum())) > best:
                best, self.column, self.ends, self.of_bin = right, j, ends[:-1], counts.argmax(axis=1)

    def predict(self, X: Matrix) -> npt.NDArray[Any]:
        return np.asarray(self.labels[self.of_bin[np.searchsorted(self.ends, X[:, self.column])]])


class Nearest:
    """k nearest neighbors of scaled features, k at most the number of rows."""

    def __init__(self, path: str, k: int) -> None:
        self.path, self.k = path, k

    def fit(self, X: Matrix, y: npt.NDArray[Any]) -> None:
        self.inner = scaled(self.path, n_neighbors=min(self.k, len(X)), algorithm="brute")(0)
        self.inner.fit(X, y)

    def predict(self, X: Matrix) -> npt.NDArray[Any]:
        return np.asarray(self.inner.predict(X))


class OrMostFrequent:
    """A classifier that refuses some tables, where no feature tells labels apart: their most frequent."""

    def __init__(self, build: Callable[[int], Any], seed: int) -> None:
        self.build, self.seed = build, seed

    def fit(self, X: Matrix, y: npt.NDArray[Any]) -> None:
        self.inner = self.build(self.seed)
        try:
            self.inner.fit(X, y)
        except ValueError:
            self.inner = MOST_FREQUENT(self.seed)
            self.inner.fit(X, y)

    def predict(self, X: Matrix) -> npt.NDArray[Any]:
        return np.asarray(self.inner.predict(X))


MOST_FREQUENT = learner("dummy.DummyClassifier", strategy="most_frequent")
