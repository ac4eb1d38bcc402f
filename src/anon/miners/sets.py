# SPDX-License-Identifier: Apache-2.0
"""Miners: classifiers and regressors with fixed parameters, run on what a table shows.

They stand for the families of Weka that Sramka et al. 2010 (4.4) take as the reference set, by
scikit-learn (extra `eval`). Attributes become numbers by `features`, and `cross_predict` runs miners
over folds in parallel; neither the order of the columns' rows nor the number of threads changes a
prediction, except where a miner's time is spent.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from anon.miners.learners import (
    MOST_FREQUENT,
    NaiveBayes,
    Nearest,
    OneDependence,
    OneRule,
    OrMostFrequent,
    chain,
    learner,
    scaled,
    standardized,
)
from anon.miners.miner import SECONDS, Miner


def _ours(name: str, family: str, build: Callable[[int], Any], max_rows: int | None = None) -> Miner:
    return Miner(name, family, build, max_rows, SECONDS)


_ADABOOST = learner("ensemble.AdaBoostClassifier", n_estimators=30)
_CENTROID = scaled("neighbors.NearestCentroid")
_CLASSIFIER, _REGRESSOR = "tree.DecisionTreeClassifier", "tree.DecisionTreeRegressor"

CATEGORY_MINERS: tuple[Miner, ...] = (
    _ours("ZeroR", "baseline", MOST_FREQUENT),
    replace(_ours("OneR", "rules", lambda seed: OneRule()), reads="attributes"),
    _ours("decision stump", "rules", learner(_CLASSIFIER, max_depth=1)),
    _ours("few rules", "rules", learner(_CLASSIFIER, max_leaf_nodes=8)),
    replace(_ours("naive Bayes", "Bayes", lambda seed: NaiveBayes()), reads="attributes"),
    replace(
        _ours("averaged one-dependence Bayes", "Bayes", lambda seed: OneDependence(), 50_000),
        reads="attributes",
    ),
    _ours("Gaussian naive Bayes", "Bayes", learner("naive_bayes.GaussianNB", var_smoothing=1e-3)),
    _ours(
        "complement naive Bayes",
        "Bayes",
        chain(learner("preprocessing.MinMaxScaler", clip=True), learner("naive_bayes.ComplementNB")),
    ),
    _ours(
        "C4.5-like tree",
        "trees",
        learner(_CLASSIFIER, criterion="entropy", min_samples_leaf=2, ccp_alpha=2e-4),
    ),
    _ours("CART", "trees", learner(_CLASSIFIER, min_samples_leaf=5, max_depth=12)),
    _ours("random tree", "trees", learner(_CLASSIFIER, max_features="sqrt", splitter="random")),
    _ours(
        "random forest",
        "forests",
        learner("ensemble.RandomForestClassifier", n_estimators=10, n_jobs=1),
    ),
    _ours(
        "extra trees",
        "forests",
        learner("ensemble.ExtraTreesClassifier", n_estimators=30, min_samples_leaf=2, n_jobs=1),
    ),
    _ours(
        "bagged trees",
        "forests",
        learner(
            "ensemble.BaggingClassifier",
            estimator=learner(_CLASSIFIER, min_samples_leaf=2, max_depth=20),
            n_estimators=10,
            max_samples=0.5,
            n_jobs=1,
        ),
    ),
    _ours(
        "histogram boosting",
        "boosting",
        learner(
            "ensemble.HistGradientBoostingClassifier",
            learning_rate=0.2,
            max_iter=20,
            max_leaf_nodes=15,
            early_stopping=False,
        ),
        20_000,
    ),
    _ours("AdaBoost", "boosting", partial(OrMostFrequent, _ADABOOST)),
    _ours(
        "1 nearest neighbor",
        "nearest neighbor",
        lambda seed: Nearest("neighbors.KNeighborsClassifier", 1),
        5_000,
    ),
    _ours(
        "10 nearest neighbors",
        "nearest neighbor",
        lambda seed: Nearest("neighbors.KNeighborsClassifier", 10),
        5_000,
    ),
    _ours("nearest centroid", "nearest neighbor", partial(OrMostFrequent, _CENTROID)),
    _ours("logistic regression", "linear", scaled("linear_model.LogisticRegression", C=0.1, tol=1e-3)),
    _ours("ridge classifier", "linear", scaled("linear_model.RidgeClassifier")),
    _ours(
        "linear SVM",
        "SVM",
        scaled("linear_model.SGDClassifier", alpha=1e-3, max_iter=10, tol=None, n_jobs=1),
    ),
    _ours("RBF SVM", "SVM", scaled("svm.SVC"), 2_000),
)
"""The reference set for categories; "C4.5-like tree", "random forest" and "naive Bayes" stand for the miners
of Brickell & Shmatikov 2008 (6.2) and of Sramka et al. 2010 (4.3)."""

NUMBER_MINERS: tuple[Miner, ...] = (
    _ours("ZeroR", "baseline", learner("dummy.DummyRegressor", strategy="mean")),
    _ours("median", "baseline", learner("dummy.DummyRegressor", strategy="median")),
    _ours("decision stump", "rules", learner(_REGRESSOR, max_depth=1)),
    _ours("few rules", "rules", learner(_REGRESSOR, max_leaf_nodes=8)),
    _ours("regression tree", "trees", learner(_REGRESSOR, min_samples_leaf=10, max_depth=12)),
    _ours(
        "random forest",
        "forests",
        learner(
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
        learner(
            "ensemble.ExtraTreesRegressor", n_estimators=20, min_samples_leaf=5, max_features=1 / 3, n_jobs=1
        ),
    ),
    _ours(
        "histogram boosting",
        "boosting",
        learner(
            "ensemble.HistGradientBoostingRegressor", max_iter=60, max_leaf_nodes=15, early_stopping=False
        ),
    ),
    _ours(
        "10 nearest neighbors",
        "nearest neighbor",
        lambda seed: Nearest("neighbors.KNeighborsRegressor", 10),
        5_000,
    ),
    _ours("linear regression", "linear", scaled("linear_model.Ridge", alpha=1e-3)),
    _ours("lasso", "linear", standardized("linear_model.Lasso", alpha=0.01)),
    _ours("robust regression", "linear", scaled("linear_model.HuberRegressor", max_iter=200)),
    _ours("Bayesian ridge", "Bayes", scaled("linear_model.BayesianRidge")),
    _ours(
        "RBF network",
        "linear",
        chain(
            learner("preprocessing.StandardScaler"),
            learner("kernel_approximation.Nystroem"),
            learner("linear_model.Ridge"),
        ),
    ),
    _ours("RBF SVM", "SVM", standardized("svm.SVR"), 2_000),
)
"""The reference set for numbers."""
