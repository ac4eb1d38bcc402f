# SPDX-License-Identifier: Apache-2.0
"""Cross-validation: every row predicted by a miner that did not see it."""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from anon.errors import UsageError
from anon.methods.task import Progress
from anon.miners.miner import Matrix, Miner, Prediction
from anon.threads import available_threads


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


def fitted_predict(
    miners: Sequence[Miner], X: Matrix, y: npt.NDArray[Any], others: Matrix, seed: int, n_threads: int
) -> list[npt.NDArray[Any]]:
    """What each miner, fitted on rows `X` with the labels `y`, predicts of other rows.

    It is fitted on at most its `max_rows`, drawn by the seed. UsageError as for `cross_predict`.
    """
    both, tested = np.concatenate([X, others]), np.arange(len(X), len(X) + len(others))
    labels = np.concatenate([y, np.zeros(len(others), y.dtype)])

    def run(miner: Miner) -> npt.NDArray[Any]:
        trained = np.arange(len(X))
        if miner.max_rows is not None and len(X) > miner.max_rows:
            trained = np.sort(np.random.default_rng(seed).choice(trained, miner.max_rows, replace=False))
        return _predicted(miner, seed, both, labels, trained, tested)[0]

    with _quiet() as calm, ThreadPoolExecutor(n_threads, initializer=calm) as pool:
        return list(pool.map(run, miners))


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
