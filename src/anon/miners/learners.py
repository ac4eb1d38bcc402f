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


class _Binned:
    """Each feature as one of a few bins: its values where they are few, otherwise quantiles."""

    most = 16

    def edges(self, X: Matrix) -> list[Matrix]:
        """The upper ends (inclusive) of all bins but the last, per feature."""
        edges = []
        for column in X.T:
            values = np.unique(column)
            if len(values) > self.most:
                values = np.unique(np.quantile(column, np.arange(1, self.most + 1) / self.most))
            edges.append(values[:-1])
        return edges

    def binned(self, X: Matrix, edges: Sequence[Matrix]) -> npt.NDArray[np.int64]:
        """The bin of every feature of every row."""
        columns = [np.searchsorted(each, column) for each, column in zip(edges, X.T, strict=True)]
        return np.stack(columns, axis=1)


class NaiveBayes(_Binned):
    """Naive Bayes over bins."""

    def fit(self, X: Matrix, y: npt.NDArray[Any]) -> None:
        self.ends = self.edges(X)
        n_bins = [len(each) + 1 for each in self.ends]
        self.inner = learner("naive_bayes.CategoricalNB", min_categories=n_bins)(0)
        self.inner.fit(self.binned(X, self.ends), y)

    def predict(self, X: Matrix) -> npt.NDArray[Any]:
        return np.asarray(self.inner.predict(self.binned(X, self.ends)))


class OneRule(_Binned):
    """The one feature whose bins, each with its most frequent label, err least (Holte 1993)."""

    def fit(self, X: Matrix, y: npt.NDArray[Any]) -> None:
        self.labels, codes = np.unique(y, return_inverse=True)
        ends = self.edges(X)
        best = -1
        for j, column in enumerate(self.binned(X, ends).T):
            counts = np.zeros((len(ends[j]) + 1, len(self.labels)), np.int64)
            np.add.at(counts, (column, codes), 1)
            if (right := int(counts.max(axis=1).sum())) > best:
                best, self.column, self.ends, self.of_bin = right, j, ends[j], counts.argmax(axis=1)

    def predict(self, X: Matrix) -> npt.NDArray[Any]:
        values = self.of_bin[np.searchsorted(self.ends, X[:, self.column])]
        return np.asarray(self.labels[values])


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
