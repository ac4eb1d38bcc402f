# SPDX-License-Identifier: Apache-2.0
"""Miners: features of cells worked by hand, folds, and predictions that depend on nothing but the table."""

from __future__ import annotations

import subprocess
import sys
import threading
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_utility import LUNG, release_of

import anon
from anon.encoding.table import encode
from anon.miners import learners, matrix
from anon.miners.cross import cross_predict, folds
from anon.miners.matrix import attributes, cells_of_values, features, shown
from anon.miners.miner import Miner
from anon.miners.sets import CATEGORY_MINERS, NUMBER_MINERS

pytestmark = pytest.mark.filterwarnings("ignore::anon.PrivacyWarning")


def seen(table: dict[str, Any], quasi: Any, classes: list[list[int]], **options: Any) -> list[list[float]]:
    """The features of a release of one quasi-identifier, rows as in the classes (one row each is shown)."""
    release = release_of(table, [quasi], classes, **options)
    X = features(shown(release.published))
    return [X[at].tolist() for at in np.argsort(release.classes.rows)]


def original(column: list[Any], attribute: Any) -> list[list[float]]:
    encoded = encode(pa.table({"q": pa.array(column)}), anon.Schema([attribute]))
    return features([cells_of_values(encoded.quasi[0], encoded.quasi_codes[0])]).tolist()


# --- features


def test_an_interval_is_its_midpoint_and_width() -> None:
    # 10, 14 | 30, 50 on the line that starts at 10: [0, 4] and [20, 40]
    assert seen({"q": [10, 14, 30, 50]}, "q", [[0, 1], [2, 3]]) == [[2, 4], [2, 4], [30, 20], [30, 20]]
    assert original([10, 14, 30], "q") == [[0], [4], [20]]  # every width is 0, which says nothing


def test_a_level_is_its_interval() -> None:
    # [0, 5) reaches over 0..4, [20, 25) over 20 alone: the domain ends there
    table, quasi = {"q": [0, 1, 2, 20]}, anon.numeric("q", anon.intervals(5))
    assert seen(table, quasi, [[0], [1, 2], [3]], numeric="level") == [[2, 4]] * 3 + [[20, 0]]
    # not so where the same cells are published as they are
    assert seen(table, quasi, [[0], [1, 2], [3]]) == [[0, 0], [1.5, 1], [1.5, 1], [20, 0]]


@pytest.mark.parametrize(("numeric", "values"), [("midpoint", [0, 0, 3.5]), ("mean", [0, 0, 3.5])])
def test_midpoints_and_means_are_numbers(numeric: str, values: list[float]) -> None:
    # 1, 4 | 6: midpoint and mean 2.5, and 6 lies 3.5 above
    assert seen({"q": [1, 4, 6]}, "q", [[0, 1], [2]], numeric=numeric) == [[value] for value in values]


def test_a_node_is_one_hot_on_every_level() -> None:
    # nodes in order, without the root: cancer (which says what Cancer says), other, virus (likewise HIV),
    # lung, Flu, Bronchitis, Pneumonia. No cell lies below lung, so that its leaves are left out.
    table = {"q": ["Cancer", "HIV", "Flu", "Bronchitis", "Pneumonia"]}
    rows = seen(table, anon.nominal("q", LUNG), [[0], [1], [2, 3, 4]])
    cancer, hiv, lung = rows[0], rows[1], rows[2]
    assert (cancer, hiv, lung) == ([1, 0, 0, 0], [0, 1, 1, 0], [0, 1, 0, 1])
    assert rows[3] == rows[4] == lung
    # "other" is all that a cell of it says
    assert seen(table, anon.nominal("q", LUNG), [[0], [1, 2], [3], [4]])[1] == [0, 1, 0, 0, 0]


def test_a_set_gives_each_value_an_equal_share() -> None:
    rows = seen({"q": list("abc")}, "q", [[0, 1], [2]])
    assert rows == [[0.5, 0.5, 0], [0.5, 0.5, 0], [0, 0, 1]]


def test_null_has_a_mark() -> None:
    # nulls only lie in the middle of the line 0..8
    assert original([1, 9, None], "q") == [[0, 0], [8, 0], [4, 1]]
    assert original(["a", "b", None], "q") == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    assert seen({"q": pa.array([1, None, 9])}, "q", [[0, 1], [2]]) == [[0, 1], [0, 1], [8, 0]]


def test_features_without_news_are_left_out() -> None:
    assert original(["a", "a"], "q") == [[0], [0]]
    assert seen({"q": [1, 2, 3]}, "q", [[0, 1, 2]]) == [[0], [0], [0]]  # everything is *
    assert features([]).shape == (0, 1)


def test_many_labels_are_cut_to_the_most_frequent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrix, "MOST_COLUMNS", 2)
    # b and d stand twice, then a comes first among equals, but there are two places
    assert original(list("abbcdd"), "q") == [[0, 0], [1, 0], [1, 0], [0, 0], [0, 1], [0, 1]]
    tree = anon.nominal("q", {"*": {"x": ["a", "b"], "y": ["c", "d"]}})
    # x 3, y 3, b 2, d 2 (the leaves of one row each are out as well)
    assert original(list("abbcdd"), tree) == [[1, 0]] * 3 + [[0, 1]] * 3


def test_nothing_of_the_original_is_in_the_features() -> None:
    # two tables that differ inside the cells, the ends aside
    first = seen({"q": [1, 2, 5, 9, 9]}, "q", [[0, 1, 2], [3, 4]])
    second = seen({"q": [1, 4, 5, 9, 9]}, "q", [[0, 1, 2], [3, 4]])
    assert first == second


# --- attributes


def test_a_number_is_itself_and_any_other_cell_a_label() -> None:
    table = {"q": [10, 14, 30, 50], "s": list("abab")}
    release = release_of(table, [anon.numeric("q"), anon.nominal("s")], [[0, 1], [2], [3]])
    seen_as = attributes(shown(release.published))
    assert seen_as.nominal.tolist() == [True, True]
    assert [seen_as.X[at].tolist() for at in np.argsort(release.classes.rows)] == [
        *([0, 1], [0, 1], [1, 0], [2, 2])  # [10, 14], 30, 50; {a, b} comes second of the sets
    ]
    encoded = encode(pa.table({"q": [10, 14, 30], "s": pa.array([1, None, 1])}), anon.Schema(["q", "s"]))
    plain = attributes(
        [cells_of_values(*pair) for pair in zip(encoded.quasi, encoded.quasi_codes, strict=True)]
    )
    assert plain.nominal.tolist() == [False, True]  # null is one more label
    assert plain.X.T.tolist() == [[0, 4, 20], [0, 1, 0]]


def test_naive_bayes_by_hand() -> None:
    # labels of class 0: x x y, of class 1: y; with one added to each (3, 2) of 5 and (1, 2) of 3
    X = np.array([[0.0, 1], [0, 3], [1, 2], [1, 8]])
    bayes = learners.NaiveBayes()
    bayes.fit(X, np.array([0, 0, 0, 1]), np.array([True, False]))
    assert np.exp(bayes.prior).tolist() == pytest.approx([4 / 6, 2 / 6])
    shares, (mean, deviation) = bayes.factors
    assert np.exp(shares).tolist() == [pytest.approx([3 / 5, 1 / 3]), pytest.approx([2 / 5, 2 / 3])]
    # 1, 2, 3 and 8 lie 7/3 apart on the average; a single number has a sixth of that
    assert mean.tolist() == [2, 8]
    assert deviation.tolist() == pytest.approx([np.sqrt(2 / 3), 7 / 18])
    # a label that was not seen leaves the numbers and the prior
    assert bayes.predict(np.array([[0.0, 2], [1, 8], [5, 2], [5, 8]])).tolist() == [0, 1, 0, 1]


def slow_one_dependence(X: Any, y: Any, row: Any) -> list[float]:
    """P(y, x) of each label, summed over the attributes whose value was seen."""
    labels, n_values = np.unique(y), [len(np.unique(column)) for column in X.T]
    sums = []
    for label in labels:
        total = 0.0
        for i, value in enumerate(row):
            if not (X[:, i] == value).any():
                continue
            beside = (y == label) & (X[:, i] == value)
            term = (beside.sum() + 1 / (len(labels) * n_values[i])) / (len(X) + 1)
            for j in set(range(len(row))) - {i}:
                both = (beside & (X[:, j] == row[j])).sum()
                term *= (both + 1 / n_values[j]) / (beside.sum() + 1)
            total += term
        sums.append(total)
    return sums


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 40), st.integers(1, 4), st.integers(2, 4))
def test_one_dependence_equals_the_plain_sum(seed: int, n_rows: int, m: int, n_values: int) -> None:
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, n_values, (n_rows, m)).astype(float), rng.integers(0, 3, n_rows)
    bayes = learners.OneDependence()
    bayes.fit(X, y, np.ones(m, np.bool_))
    tried = rng.integers(0, n_values + 1, (30, m)).astype(float)  # some values were not seen
    for row, label in zip(tried, bayes.predict(tried), strict=True):
        sums = slow_one_dependence(X, y, row)
        best = sums[np.unique(y).tolist().index(label)]
        if any(sums):
            assert best == pytest.approx(max(sums), rel=1e-9)
        else:
            assert label == np.bincount(y).argmax()


def test_one_dependence_sees_what_naive_bayes_does_not() -> None:
    # the label says whether two coins agree; the number, in bins, says nothing
    rng = np.random.default_rng(0)
    coins = rng.integers(0, 2, (400, 2))
    X, y = np.column_stack([coins, rng.normal(size=400)]).astype(float), (coins[:, 0] == coins[:, 1]) * 1
    right = {}
    for kind in (learners.NaiveBayes, learners.OneDependence):
        bayes = kind()
        bayes.fit(X, y, np.array([True, True, False]))
        right[kind.__name__] = (bayes.predict(X) == y).mean()
    assert right["OneDependence"] == 1
    assert right["NaiveBayes"] < 0.7


# --- folds


@given(st.integers(2, 200), st.integers(2, 12), st.integers(0, 5))
def test_folds_are_even_and_fixed(n_rows: int, n_folds: int, seed: int) -> None:
    if n_folds > n_rows:
        with pytest.raises(anon.UsageError, match="n_folds"):
            folds(n_rows, n_folds, seed)
        return
    made = folds(n_rows, n_folds, seed)
    sizes = np.bincount(made)
    assert len(sizes) == n_folds
    assert sizes.max() - sizes.min() <= 1
    assert (made == folds(n_rows, n_folds, seed)).all()


def test_another_seed_gives_other_folds() -> None:
    assert (folds(100, 10, 0) != folds(100, 10, 1)).any()


# --- predictions

ALL = (*CATEGORY_MINERS, *NUMBER_MINERS)
FAMILIES = {"Bayes", "trees", "forests", "boosting", "nearest neighbor", "linear", "SVM", "rules", "baseline"}


def test_the_reference_sets() -> None:
    assert len(CATEGORY_MINERS) >= 16
    assert len(NUMBER_MINERS) >= 10
    for one in (CATEGORY_MINERS, NUMBER_MINERS):
        assert len({miner.name for miner in one}) == len(one)
        assert {miner.family for miner in one} == FAMILIES
    assert all(miner.seconds for miner in ALL)
    assert {"ZeroR", "OneR", "naive Bayes", "C4.5-like tree", "random forest"} <= {
        miner.name for miner in CATEGORY_MINERS
    }


@pytest.fixture(scope="module")
def learnable() -> tuple[Any, Any, Any]:
    """Features, a label and a number that follow from them."""
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.normal(40, 12, 300), rng.integers(0, 2, 300), rng.integers(0, 2, 300)])
    y = ((X[:, 0] > 40) | (X[:, 1] == 1)).astype(np.int64)
    return X, y, 2 * X[:, 0] + 10 * X[:, 1]


def test_every_miner_of_categories_learns(learnable: Any) -> None:
    X, y, _ = learnable
    predictions = cross_predict(CATEGORY_MINERS, X, y, folds(len(y), 5, 0), 0)
    right = {one.miner: (one.values == y).mean() for one in predictions}
    assert right["ZeroR"] == np.bincount(y).max() / len(y)
    assert all(one.made.all() and one.n_train == 240 and not one.limits for one in predictions)
    assert min(right.values()) > 0.65
    assert sum(share > 0.9 for share in right.values()) >= 12


def test_every_miner_of_numbers_learns(learnable: Any) -> None:
    X, _, y = learnable
    predictions = {
        one.miner: one.values for one in cross_predict(NUMBER_MINERS, X, y, folds(len(y), 5, 0), 0)
    }
    error = {name: np.abs(values - y).mean() for name, values in predictions.items()}
    base = error.pop("ZeroR")
    error.pop("median")
    assert max(error.values()) < base
    assert error["linear regression"] < 0.01


@pytest.mark.parametrize("n_rows", [2, 5, 20])
@pytest.mark.parametrize("constant", [False, True])
def test_small_tables_and_many_labels(n_rows: int, constant: bool) -> None:
    rng = np.random.default_rng(1)
    X = np.zeros((n_rows, 2)) if constant else rng.integers(0, 3, (n_rows, 2)).astype(np.float64)
    for fold in (None, folds(n_rows, 2, 0)):
        for y in (np.arange(n_rows), rng.integers(0, 2, n_rows)):
            for one in cross_predict(CATEGORY_MINERS, X, y, fold, 0):
                assert one.made.all()
                assert set(one.values) <= set(y)
        for one in cross_predict(NUMBER_MINERS, X, rng.normal(size=n_rows), fold, 0):
            assert np.isfinite(one.values).all()


def test_threads_and_seeds(learnable: Any) -> None:
    X, y, number = learnable
    chosen = [replace(miner, max_rows=150) for miner in ALL if miner.family in ("forests", "trees", "SVM")]
    for labels in (y, number):
        kind = CATEGORY_MINERS if labels is y else NUMBER_MINERS
        some = [miner for miner in chosen if any(miner.build is each.build for each in kind)]
        one, two = (cross_predict(some, X, labels, folds(len(y), 4, 0), 7, n_threads=n) for n in (1, 3))
        for a, b in zip(one, two, strict=True):
            assert (a.values == b.values).all()
        assert one[0].limits == ("fitted on 150 of 225 rows",)


def test_several_threads_work() -> None:
    seen_by: set[int] = set()
    both = threading.Barrier(2, timeout=120)

    class Meeting:
        def fit(self, X: Any, y: Any) -> None:
            both.wait()
            seen_by.add(threading.get_ident())

        def predict(self, X: Any) -> Any:
            return np.zeros(len(X))

    cross_predict(
        [Miner("mine", "user", lambda seed: Meeting())],
        np.zeros((8, 1)),
        np.arange(8) % 2,
        folds(8, 2, 0),
        0,
        n_threads=2,
    )
    assert len(seen_by) == 2


def test_trained_on_the_rows_that_are_predicted(learnable: Any) -> None:
    X, y, _ = learnable
    [near] = [miner for miner in CATEGORY_MINERS if miner.name == "1 nearest neighbor"]
    [own] = cross_predict([near], X, y, None, 0)
    assert (own.values == y).all()  # each row is its own neighbor


class Always:
    """A miner of the user's own."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def fit(self, X: Any, y: Any) -> None:
        """Learn nothing."""

    def predict(self, X: Any) -> Any:
        return [self.value] * len(X)


def test_a_miner_of_the_users_own() -> None:
    calls: list[Any] = []
    [predicted] = cross_predict(
        [Miner("mine", "user", lambda seed: Always(1))],
        np.zeros((6, 1)),
        np.array([0, 1, 0, 1, 1, 0]),
        np.array([0, 1, 2, 0, 1, 2]),
        0,
        progress=lambda *each: calls.append(each),
    )
    assert predicted.values.tolist() == [1] * 6
    assert calls == [("mine", 1, 3), ("mine", 2, 3), ("mine", 3, 3)]
    assert repr(predicted) == "Prediction('mine', made=6, limits=[])"


def test_a_fold_whose_labels_are_equal_needs_no_miner() -> None:
    def never(seed: int) -> Any:
        raise AssertionError

    [predicted] = cross_predict(
        [Miner("mine", "user", never)], np.zeros((4, 1)), np.ones(4), folds(4, 2, 0), 0
    )
    assert predicted.values.tolist() == [1.0] * 4


@pytest.mark.parametrize("broken", [Always("x"), Always([1, 2]), object()])
def test_a_miner_that_fails_is_named(broken: Any) -> None:
    with pytest.raises(anon.UsageError, match="'mine'") as caught:
        cross_predict(
            [Miner("mine", "user", lambda seed: broken)],
            np.zeros((4, 1)),
            np.array([0, 1, 0, 1]),
            folds(4, 2, 0),
            0,
        )
    assert "x" not in str(caught.value).removeprefix("miner 'mine' failed: ").split()


def test_time_that_is_spent_is_told() -> None:
    class Slow(Always):
        def fit(self, X: Any, y: Any) -> None:
            total = 0
            for i in range(300_000):
                total += i

    [predicted] = cross_predict(
        [Miner("mine", "user", lambda seed: Slow(1), seconds=1e-4)],
        np.zeros((6, 1)),
        np.arange(6) % 2,
        np.array([0, 0, 1, 1, 2, 2]),
        0,
        n_threads=1,
    )
    assert predicted.made.tolist() == [True, True, False, False, False, False]
    assert predicted.limits == ("1 of 3 folds in the 0.0001 s allowed",)
    assert predicted.seconds > 1e-4


def test_warnings_are_told_in_words_and_reach_nobody(learnable: Any) -> None:
    from sklearn.linear_model import LogisticRegression

    X, y, _ = learnable
    before = warnings.showwarning
    [predicted] = cross_predict(
        [Miner("mine", "user", lambda seed: LogisticRegression(max_iter=1))], X, y, folds(len(y), 3, 0), 0
    )
    assert predicted.limits == ("not converged in 3 of 3 folds",)
    assert warnings.showwarning is before


def test_convergence_is_read_off_the_estimator(learnable: Any) -> None:
    from sklearn.linear_model import LogisticRegression

    class Muted(LogisticRegression):  # what other threads do to Python's warnings at any time
        def fit(self, X: Any, y: Any) -> Any:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return super().fit(X, y)

    X, y, _ = learnable
    scaled = learners.chain(learners.learner("preprocessing.StandardScaler"), lambda seed: Muted(max_iter=1))
    for build in (lambda seed: Muted(max_iter=1), scaled):
        [predicted] = cross_predict([Miner("mine", "user", build)], X, y, folds(len(y), 3, 0), 0)
        assert predicted.limits == ("not converged in 3 of 3 folds",)


def test_folds_without_rows_are_no_folds() -> None:
    mine = [Miner("mine", "user", lambda seed: Always(1))]
    y = np.array([0, 1, 0, 1])
    [predicted] = cross_predict(mine, np.zeros((4, 1)), y, np.array([2, 2, 7, 7]), 0)
    assert (predicted.made.all(), predicted.n_train, predicted.limits) == (True, 2, ())
    for fold in (np.array([3, 3, 3, 3]), np.empty(0, np.int64)):
        [none] = cross_predict(mine, np.zeros((len(fold), 1)), y[: len(fold)], fold, 0)
        assert (none.made.any(), none.limits) == (False, ("all rows lie in one fold",))


@pytest.mark.parametrize(
    ("wrong", "what"),
    [
        ({"build": 3}, "build"),
        ({"max_rows": 0}, "max_rows"),
        ({"seconds": 0}, "seconds"),
        ({"reads": "cells"}, "reads"),
    ],
)
def test_wrong_miners(wrong: dict[str, Any], what: str) -> None:
    with pytest.raises(anon.UsageError, match=what):
        replace(CATEGORY_MINERS[0], **wrong)


def test_without_scikit_learn_the_extra_is_named() -> None:
    program = """
import sys
sys.modules["sklearn"] = sys.modules["sklearn.exceptions"] = None
import numpy as np, anon
try:
    anon.miners.cross_predict(anon.miners.CATEGORY_MINERS, np.zeros((4, 1)), np.arange(4), None, 0)
except anon.UsageError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "anon[eval]" in done.stdout


@settings(max_examples=30)
@given(st.permutations(range(12)))
def test_features_follow_the_rows(order: list[int]) -> None:
    rng = np.random.default_rng(0)
    table = pa.table({"n": rng.integers(0, 9, 12), "f": rng.choice(list("abc"), 12)})
    encoded = encode(table, anon.Schema(["n", "f"]))
    moved = encode(table.take(pa.array(order)), anon.Schema(["n", "f"]))
    here, there = (
        features([cells_of_values(*pair) for pair in zip(each.quasi, each.quasi_codes, strict=True)])
        for each in (encoded, moved)
    )
    assert (here[order] == there).all()


@pytest.mark.parametrize(
    ("n_folds", "seed"), [(2.5, 0), (True, 0), (1, 0), (11, 0), (2, -1), (2, 1.5), (2, None)]
)
def test_folds_and_seeds_are_whole_numbers(n_folds: Any, seed: Any) -> None:
    with pytest.raises(anon.UsageError, match="must be a whole number"):
        folds(10, n_folds, seed)
