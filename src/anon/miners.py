# SPDX-License-Identifier: Apache-2.0
"""Miners: classifiers and regressors with fixed parameters, run on what a table shows.

They stand for the families of Weka that Sramka et al. 2010 (4.4) take as the reference set, by
scikit-learn (extra `eval`). Attributes become numbers by `features`, and `cross_predict` runs miners
over folds in parallel; neither the order of the columns' rows nor the number of threads changes a
prediction, except where a miner's time is spent.
"""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from anon.classes import Cells
from anon.encode import Codes, Domain, available_threads, encode_column
from anon.errors import UsageError
from anon.hierarchy import lca
from anon.methods.task import Progress
from anon.populations import reach, single_cells
from anon.schema import Attribute

if TYPE_CHECKING:
    from anon.release import Release

Matrix = npt.NDArray[np.float64]

MOST_COLUMNS = 64  # of one attribute: its most frequent values or nodes
SECONDS = 600.0  # processor time of one miner of ours on one table


@dataclass(frozen=True)
class Miner:
    """A kind of estimator, and how much of it is run.

    `build(seed)` makes a new estimator with `fit(X, y)` and `predict(X)`; X is a float64 matrix, y int64
    labels or float64 numbers. It is fitted on at most `max_rows` rows, drawn by the seed; once it has
    spent `seconds` of processor time on a table, no further fold is begun. Both are told where they bite.
    """

    name: str
    family: str
    build: Callable[[int], Any]
    max_rows: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        if not callable(self.build):
            raise UsageError(f"miner {self.name!r}: build must be a function from a seed to an estimator")
        if self.max_rows is not None and self.max_rows < 1:
            raise UsageError(f"miner {self.name!r}: max_rows must be at least 1")
        if self.seconds is not None and not self.seconds > 0:
            raise UsageError(f"miner {self.name!r}: seconds must be above 0")

    def __repr__(self) -> str:
        return f"Miner({self.name!r}, {self.family!r}, max_rows={self.max_rows}, seconds={self.seconds})"


@dataclass(frozen=True, repr=False)
class Prediction:
    """What one miner predicted: `values[i]` for row i where `made[i]` (bool), of the type of the labels.

    `n_train` is the greatest number of rows that it was fitted on, `seconds` the processor time spent.
    `limits` tells in words what kept it from all rows or folds, and whether it converged.
    """

    miner: str
    values: npt.NDArray[Any]
    made: npt.NDArray[np.bool_]
    n_train: int
    seconds: float
    limits: tuple[str, ...]

    def __repr__(self) -> str:
        return f"Prediction({self.miner!r}, made={int(self.made.sum())}, limits={list(self.limits)!r})"


# --- features


def cells_of_values(domain: Domain, codes: Codes) -> Cells:
    """A column of single values as cells, one per row: what the original shows, or a table with noise."""
    return replace(single_cells(replace(domain, levels=None)), of_class=codes.astype(np.uint32))


def numbers(name: str, values: pa.Array | pa.ChunkedArray) -> Cells:
    """A column of numbers, dates or times that stand in no known domain, as cells."""
    column = values if isinstance(values, pa.ChunkedArray) else pa.chunked_array([values])
    return cells_of_values(*encode_column(column, Attribute(name, "numeric")))


def shown(release: Release) -> tuple[Cells, ...]:
    """Per quasi-identifier the cell that each published row shows, in the order of `release.classes.rows`.

    Midpoints and means are the numbers themselves. Only with `numeric="level"` do domains keep levels.
    """
    of_row = np.repeat(np.arange(release.classes.n_classes), release.classes.sizes)
    found = []
    for cells, columns in zip(release.cells, release.published, strict=True):
        domain = cells.domain
        if domain.kind == "numeric" and release.numeric in ("midpoint", "mean"):
            found.append(numbers(domain.name, columns[0].values.take(pa.array(columns[0].index[of_row]))))
            continue
        if release.numeric != "level":
            domain = replace(domain, levels=None)
        found.append(replace(cells, domain=domain, of_class=cells.of_class[of_row]))
    return tuple(found)


def features(columns: Sequence[Cells]) -> Matrix:
    """Cells as numbers (float64, rows x features); `of_class` of every column has one entry per row.

    A cell of a numeric or ordinal attribute gives its midpoint and width; cells of a domain with levels
    are the levels' intervals. One of a tree is one-hot on every level: 1 for each node, the root aside,
    that holds it. One of a flat attribute gives each value of its set an equal share. A further feature
    marks null, and a cell of nulls only has 0 elsewhere, on a line the middle of the domain. Features
    that are the same in all rows are left out, and of the values or nodes of one attribute all but the
    `MOST_COLUMNS` most frequent. Where nothing is left there is one feature, 0 in every row.
    """
    n_rows = len(columns[0].of_class) if columns else 0
    parts = []
    for cells in columns:
        block = _block(cells)
        used = block[np.bincount(cells.of_class, minlength=len(block)) > 0]
        varied = (used != used[:1]).any(axis=0)
        parts.append(block[:, varied][cells.of_class])
    matrix = np.concatenate([np.empty((n_rows, 0)), *parts], axis=1)
    return matrix if matrix.shape[1] else np.zeros((n_rows, 1))


def _block(cells: Cells) -> Matrix:
    """The features of each distinct cell."""
    domain, empty = cells.domain, cells.low > cells.high
    rows = np.bincount(cells.of_class, minlength=len(cells.low))
    if cells.set_offsets is not None and cells.set_codes is not None:
        block = _shares(cells.set_offsets, cells.set_codes, domain.n_values, rows)
    elif domain.tree is not None:
        block = _nodes(cells, rows)
    else:
        reached = reach(cells, by_level=True)
        assert reached is not None
        assert domain.positions is not None
        middle = domain.positions[-1] / 2 if domain.n_values else 0.0
        low, high = (np.where(empty, middle, end) for end in reached)
        block = np.stack([low / 2 + high / 2, high - low], axis=1)
    return np.column_stack([block, cells.null.astype(np.float64)])


def _shares(
    offsets: npt.NDArray[np.int64], codes: npt.NDArray[np.uint32], n_values: int, rows: npt.NDArray[np.int64]
) -> Matrix:
    sizes = np.diff(offsets)
    of_set = np.repeat(np.arange(len(sizes)), sizes)
    share = 1 / sizes[of_set]
    kept = _most(np.bincount(codes, share * rows[of_set], n_values))
    column = np.full(n_values, -1)
    column[kept] = np.arange(len(kept))
    block = np.zeros((len(sizes), len(kept)))
    held = column[codes] >= 0
    block[of_set[held], column[codes[held]]] = share[held]
    return block


def _nodes(cells: Cells, rows: npt.NDArray[np.int64]) -> Matrix:
    tree, empty = cells.domain.tree, cells.low > cells.high
    assert tree is not None
    low, high = np.where(empty, 0, cells.low), np.where(empty, 0, cells.high)
    below = np.bincount(lca(tree, low, high), np.where(empty, 0, rows), len(tree.labels))
    for node in range(len(below) - 1, 0, -1):
        below[tree.parent[node]] += below[node]
    # an only child says what its parent says
    same = (tree.first == tree.first[tree.parent]) & (tree.last == tree.last[tree.parent])
    below[same] = 0
    below[0] = 0
    kept = _most(below)
    inside = (tree.first[kept] <= low[:, None]) & (high[:, None] <= tree.last[kept])
    return (inside & ~empty[:, None]).astype(np.float64)


def _most(frequency: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Places of the greatest frequencies above 0, in ascending order; the lower place wins a tie."""
    kept = np.argsort(-frequency, kind="stable")[:MOST_COLUMNS]
    return np.sort(kept[frequency[kept] > 0])


# --- predictions


def folds(n_rows: int, n_folds: int, seed: int) -> npt.NDArray[np.int64]:
    """The fold of each row, rows numbered by rank; folds differ by one row at most."""
    if isinstance(n_folds, bool) or not isinstance(n_folds, int) or not 2 <= n_folds <= n_rows:
        raise UsageError(f"n_folds must be a whole number between 2 and the number of rows, {n_rows}")
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise UsageError("seed must be a whole number of at least 0")
    fold = np.empty(n_rows, np.int64)
    fold[np.random.default_rng(seed).permutation(n_rows)] = np.arange(n_rows) % n_folds
    return fold


def cross_predict(
    miners: Sequence[Miner],
    X: Matrix,
    y: npt.NDArray[Any],
    fold: npt.NDArray[np.int64] | None,
    seed: int,
    *,
    n_threads: int | None = None,
    progress: Progress | None = None,
) -> tuple[Prediction, ...]:
    """What each miner predicts of every row, fitted on the rows of the other folds.

    Rows stand in the order of their rank, so that neither draws nor folds depend on that of a table.
    `y` holds labels (int64) or numbers (float64). With `fold` None a miner is fitted on all rows and
    predicts the same rows. Where all labels that it is shown are equal, that is its prediction. Where
    the rows lie in less than two folds there is nothing to learn from, and nothing is predicted.

    Raises UsageError where scikit-learn is missing or an estimator fails.
    """
    threads = available_threads(n_threads)
    n_folds = 1
    if fold is not None:
        present, fold = np.unique(fold, return_inverse=True)
        n_folds = len(present)
        if n_folds < 2:
            nothing, limits = np.zeros(len(y), np.bool_), ("all rows lie in one fold",)
            return tuple(Prediction(each.name, np.zeros_like(y), nothing, 0, 0.0, limits) for each in miners)
    spent = dict.fromkeys(range(len(miners)), 0.0)
    lock = threading.Lock()

    def run(m: int, f: int) -> _Fold | None:
        miner = miners[m]
        if miner.seconds is not None and spent[m] >= miner.seconds:
            return None
        start = time.thread_time()
        tested = np.arange(len(y)) if fold is None else np.flatnonzero(fold == f)
        trained = np.arange(len(y)) if fold is None else np.flatnonzero(fold != f)
        n_offered = len(trained)
        if miner.max_rows is not None and n_offered > miner.max_rows:
            rng = np.random.default_rng([seed, f])
            trained = np.sort(rng.choice(trained, miner.max_rows, replace=False))
        values, converged = _predicted(miner, seed, X, y, trained, tested)
        with lock:
            spent[m] += time.thread_time() - start
        return _Fold(tested, values, len(trained), n_offered, converged)

    done: dict[tuple[int, int], _Fold | None] = {}
    with _quiet() as calm, ThreadPoolExecutor(threads, initializer=calm) as pool:
        tasks: dict[Future[_Fold | None], tuple[int, int]] = {
            pool.submit(run, m, f): (m, f) for m in range(len(miners)) for f in range(n_folds)
        }
        try:
            for future in as_completed(tasks):
                done[tasks[future]] = future.result()
                if progress is not None:
                    m = tasks[future][0]
                    progress(miners[m].name, sum(other == m for other, _ in done), n_folds)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return tuple(
        _gathered(miner, y, [done[m, f] for f in range(n_folds)], spent[m]) for m, miner in enumerate(miners)
    )


@dataclass(frozen=True, repr=False)
class _Fold:
    rows: npt.NDArray[np.int64]
    values: npt.NDArray[Any]
    n_train: int
    n_offered: int
    converged: bool


def _predicted(
    miner: Miner,
    seed: int,
    X: Matrix,
    y: npt.NDArray[Any],
    trained: npt.NDArray[np.int64],
    tested: npt.NDArray[np.int64],
) -> tuple[npt.NDArray[Any], bool]:
    """The predictions, and whether the estimator converged."""
    labels = y[trained]
    if (labels == labels[0]).all():
        return np.full(len(tested), labels[0]), True
    try:
        estimator = miner.build(seed)
        estimator.fit(X[trained], labels)
        values = np.asarray(estimator.predict(X[tested])).astype(y.dtype)
    except UsageError:
        raise
    except Exception as error:
        raise UsageError(f"miner {miner.name!r} failed: {type(error).__name__}") from error
    if values.shape != tested.shape:
        raise UsageError(f"miner {miner.name!r}: predict must give one value per row")
    return values, _converged(estimator)


def _converged(estimator: Any) -> bool:
    """False where an estimator, or one inside it, ended at its `max_iter` short of its tolerance.

    Read off the estimator: what Python does with a warning is one setting for all threads. The iterations
    of boosting are its trees.
    """
    inside = [getattr(estimator, name, None) for name in ("inner", "regressor_")]
    inside += [step for _, step in getattr(estimator, "steps", ())]
    most, made = getattr(estimator, "max_iter", None), getattr(estimator, "n_iter_", None)
    limited = getattr(estimator, "tol", None) is not None and not hasattr(estimator, "n_trees_per_iteration_")
    if limited and most is not None and made is not None and 0 < most <= np.max(made):
        return False
    return all(_converged(each) for each in inside if each is not None)


def _gathered(miner: Miner, y: npt.NDArray[Any], parts: Sequence[_Fold | None], seconds: float) -> Prediction:
    made = [part for part in parts if part is not None]
    values = np.zeros_like(y)
    known = np.zeros(len(y), np.bool_)
    for part in made:
        values[part.rows] = part.values
        known[part.rows] = True
    limits = []
    n_train = max((part.n_train for part in made), default=0)
    n_offered = max((part.n_offered for part in made), default=0)
    if n_train < n_offered:
        limits.append(f"fitted on {n_train} of {n_offered} rows")
    if len(made) < len(parts):
        limits.append(f"{len(made)} of {len(parts)} folds in the {miner.seconds:g} s allowed")
    if unconverged := sum(not part.converged for part in made):
        limits.append(f"not converged in {unconverged} of {len(made)} folds")
    return Prediction(miner.name, values, known, n_train, seconds, tuple(limits))


@contextmanager
def _quiet() -> Iterator[Callable[[], Any]]:
    """One thread inside estimators, and no warning of theirs; gives what a worker thread does first."""
    try:
        threadpool_limits = import_module("threadpoolctl").threadpool_limits
        import_module("sklearn.ensemble")  # only libraries that are loaded can be limited
    except ImportError:
        raise UsageError(
            'miners need scikit-learn, which the extra "eval" installs: pip install "anon[eval]"'
        ) from None

    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        # limits of OpenMP belong to a thread; those of workers end with them
        yield lambda: threadpool_limits(1)


# --- the reference sets


def _made(path: str, **parameters: Any) -> Callable[[int], Any]:
    """An estimator of scikit-learn, by its module and name; parameters that are made by a seed are made."""

    def build(seed: int) -> Any:
        module, _, name = path.rpartition(".")
        kind = getattr(import_module(f"sklearn.{module}"), name)
        given = {key: value(seed) if callable(value) else value for key, value in parameters.items()}
        if "random_state" in signature(kind).parameters:
            given["random_state"] = seed
        return kind(**given)

    return build


def _chain(*builders: Callable[[int], Any]) -> Callable[[int], Any]:
    """Transformers and the estimator that they feed."""
    return lambda seed: import_module("sklearn.pipeline").make_pipeline(*(build(seed) for build in builders))


def _scaled(path: str, **parameters: Any) -> Callable[[int], Any]:
    """An estimator of features with mean 0 and variance 1."""
    return _chain(_made("preprocessing.StandardScaler"), _made(path, **parameters))


def _standardized(path: str, **parameters: Any) -> Callable[[int], Any]:
    """The same, of labels scaled likewise."""
    return _made(
        "compose.TransformedTargetRegressor",
        regressor=_scaled(path, **parameters),
        transformer=_made("preprocessing.StandardScaler"),
    )


class _Binned:
    """Each feature as one of a few bins: its values where they are few, otherwise quantiles."""

    most = 16

    def edges(self, X: Matrix) -> list[Matrix]:
        """The upper ends (inclusive) of all bins but the last, per feature."""
        found = []
        for column in X.T:
            values = np.unique(column)
            if len(values) > self.most:
                values = np.unique(np.quantile(column, np.arange(1, self.most + 1) / self.most))
            found.append(values[:-1])
        return found

    def binned(self, X: Matrix, edges: Sequence[Matrix]) -> npt.NDArray[np.int64]:
        """The bin of every feature of every row."""
        columns = [np.searchsorted(each, column) for each, column in zip(edges, X.T, strict=True)]
        return np.stack(columns, axis=1)


class _NaiveBayes(_Binned):
    """Naive Bayes over bins."""

    def fit(self, X: Matrix, y: npt.NDArray[Any]) -> None:
        self.ends = self.edges(X)
        n_bins = [len(each) + 1 for each in self.ends]
        self.inner = _made("naive_bayes.CategoricalNB", min_categories=n_bins)(0)
        self.inner.fit(self.binned(X, self.ends), y)

    def predict(self, X: Matrix) -> npt.NDArray[Any]:
        return np.asarray(self.inner.predict(self.binned(X, self.ends)))


class _OneRule(_Binned):
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
        found = self.of_bin[np.searchsorted(self.ends, X[:, self.column])]
        return np.asarray(self.labels[found])


class _Nearest:
    """k nearest neighbors of scaled features, k at most the number of rows."""

    def __init__(self, path: str, k: int) -> None:
        self.path, self.k = path, k

    def fit(self, X: Matrix, y: npt.NDArray[Any]) -> None:
        self.inner = _scaled(self.path, n_neighbors=min(self.k, len(X)), algorithm="brute")(0)
        self.inner.fit(X, y)

    def predict(self, X: Matrix) -> npt.NDArray[Any]:
        return np.asarray(self.inner.predict(X))


class _OrMostFrequent:
    """A classifier that refuses some tables, where no feature tells labels apart: their most frequent."""

    def __init__(self, build: Callable[[int], Any], seed: int) -> None:
        self.build, self.seed = build, seed

    def fit(self, X: Matrix, y: npt.NDArray[Any]) -> None:
        self.inner = self.build(self.seed)
        try:
            self.inner.fit(X, y)
        except ValueError:
            self.inner = _MOST_FREQUENT(self.seed)
            self.inner.fit(X, y)

    def predict(self, X: Matrix) -> npt.NDArray[Any]:
        return np.asarray(self.inner.predict(X))


_MOST_FREQUENT = _made("dummy.DummyClassifier", strategy="most_frequent")


def _ours(name: str, family: str, build: Callable[[int], Any], max_rows: int | None = None) -> Miner:
    return Miner(name, family, build, max_rows, SECONDS)


_ADABOOST = _made("ensemble.AdaBoostClassifier", n_estimators=30)
_CENTROID = _scaled("neighbors.NearestCentroid")
_CLASSIFIER, _REGRESSOR = "tree.DecisionTreeClassifier", "tree.DecisionTreeRegressor"

CATEGORY_MINERS: tuple[Miner, ...] = (
    _ours("ZeroR", "baseline", _MOST_FREQUENT),
    _ours("OneR", "rules", lambda seed: _OneRule()),
    _ours("decision stump", "rules", _made(_CLASSIFIER, max_depth=1)),
    _ours("few rules", "rules", _made(_CLASSIFIER, max_leaf_nodes=8)),
    _ours("naive Bayes", "Bayes", lambda seed: _NaiveBayes()),
    _ours("Gaussian naive Bayes", "Bayes", _made("naive_bayes.GaussianNB", var_smoothing=1e-3)),
    _ours(
        "complement naive Bayes",
        "Bayes",
        _chain(_made("preprocessing.MinMaxScaler", clip=True), _made("naive_bayes.ComplementNB")),
    ),
    _ours(
        "C4.5-like tree",
        "trees",
        _made(_CLASSIFIER, criterion="entropy", min_samples_leaf=2, ccp_alpha=2e-4),
    ),
    _ours("CART", "trees", _made(_CLASSIFIER, min_samples_leaf=5, max_depth=12)),
    _ours("random tree", "trees", _made(_CLASSIFIER, max_features="sqrt", splitter="random")),
    _ours(
        "random forest",
        "forests",
        _made("ensemble.RandomForestClassifier", n_estimators=30, min_samples_leaf=2, n_jobs=1),
    ),
    _ours(
        "extra trees",
        "forests",
        _made("ensemble.ExtraTreesClassifier", n_estimators=30, min_samples_leaf=2, n_jobs=1),
    ),
    _ours(
        "bagged trees",
        "forests",
        _made(
            "ensemble.BaggingClassifier",
            estimator=_made(_CLASSIFIER, min_samples_leaf=2, max_depth=20),
            n_estimators=10,
            max_samples=0.5,
            n_jobs=1,
        ),
    ),
    _ours(
        "histogram boosting",
        "boosting",
        _made(
            "ensemble.HistGradientBoostingClassifier",
            learning_rate=0.2,
            max_iter=20,
            max_leaf_nodes=15,
            early_stopping=False,
        ),
        20_000,
    ),
    _ours("AdaBoost", "boosting", partial(_OrMostFrequent, _ADABOOST)),
    _ours(
        "1 nearest neighbor",
        "nearest neighbor",
        lambda seed: _Nearest("neighbors.KNeighborsClassifier", 1),
        5_000,
    ),
    _ours(
        "10 nearest neighbors",
        "nearest neighbor",
        lambda seed: _Nearest("neighbors.KNeighborsClassifier", 10),
        5_000,
    ),
    _ours("nearest centroid", "nearest neighbor", partial(_OrMostFrequent, _CENTROID)),
    _ours("logistic regression", "linear", _scaled("linear_model.LogisticRegression", C=0.1, tol=1e-3)),
    _ours("ridge classifier", "linear", _scaled("linear_model.RidgeClassifier")),
    _ours(
        "linear SVM",
        "SVM",
        _scaled("linear_model.SGDClassifier", alpha=1e-3, max_iter=10, tol=None, n_jobs=1),
    ),
    _ours("RBF SVM", "SVM", _scaled("svm.SVC"), 2_000),
)
"""The reference set for categories; "C4.5-like tree", "random forest" and "naive Bayes" stand for the miners
of Brickell & Shmatikov 2008 (6.2) and of Sramka et al. 2010 (4.3)."""

NUMBER_MINERS: tuple[Miner, ...] = (
    _ours("ZeroR", "baseline", _made("dummy.DummyRegressor", strategy="mean")),
    _ours("median", "baseline", _made("dummy.DummyRegressor", strategy="median")),
    _ours("decision stump", "rules", _made(_REGRESSOR, max_depth=1)),
    _ours("few rules", "rules", _made(_REGRESSOR, max_leaf_nodes=8)),
    _ours("regression tree", "trees", _made(_REGRESSOR, min_samples_leaf=10, max_depth=12)),
    _ours(
        "random forest",
        "forests",
        _made(
            "ensemble.RandomForestRegressor",
            n_estimators=20,
            min_samples_leaf=5,
            max_features=1 / 3,
            max_samples=0.5,
            n_jobs=1,
        ),
    ),
    _ours(
        "extra trees",
        "forests",
        _made(
            "ensemble.ExtraTreesRegressor", n_estimators=20, min_samples_leaf=5, max_features=1 / 3, n_jobs=1
        ),
    ),
    _ours(
        "histogram boosting",
        "boosting",
        _made("ensemble.HistGradientBoostingRegressor", max_iter=60, max_leaf_nodes=15, early_stopping=False),
    ),
    _ours(
        "10 nearest neighbors",
        "nearest neighbor",
        lambda seed: _Nearest("neighbors.KNeighborsRegressor", 10),
        5_000,
    ),
    _ours("linear regression", "linear", _scaled("linear_model.Ridge", alpha=1e-3)),
    _ours("lasso", "linear", _standardized("linear_model.Lasso", alpha=0.01)),
    _ours("robust regression", "linear", _scaled("linear_model.HuberRegressor", max_iter=200)),
    _ours("Bayesian ridge", "Bayes", _scaled("linear_model.BayesianRidge")),
    _ours(
        "RBF network",
        "linear",
        _chain(
            _made("preprocessing.StandardScaler"),
            _made("kernel_approximation.Nystroem"),
            _made("linear_model.Ridge"),
        ),
    ),
    _ours("RBF SVM", "SVM", _standardized("svm.SVR"), 2_000),
)
"""The reference set for numbers."""
