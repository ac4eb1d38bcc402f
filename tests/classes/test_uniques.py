# SPDX-License-Identifier: Apache-2.0
"""Population uniques: values of ARX, values of slow twins, and what each rule lets speak."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anon.classes import uniques
from anon.classes.uniques import (
    Histogram,
    histogram,
    pitman,
    population_uniques,
    shlosser,
    snb,
    snb_parameters,
    zayatz,
)
from anon.errors import UsageError
from reference import uniques as twin

FIRST = {1: 60, 2: 20, 3: 10, 5: 4}
SECOND = {1: 60, 2: 12, 3: 5, 5: 4, 20: 3}


def of(classes: dict[int, int]) -> Histogram:
    sizes = np.array(sorted(classes), np.int64)
    return Histogram(sizes, np.array([classes[int(size)] for size in sizes], np.int64))


def test_the_values_of_arx() -> None:
    first, second = of(FIRST), of(SECOND)
    assert zayatz(first, first.n_rows / 1500) == pytest.approx(269.6510338, abs=5e-8)
    assert zayatz(first, first.n_rows / 600) == pytest.approx(127.0722049, abs=5e-8)
    fitted = pitman(second)
    assert fitted is not None
    assert not fitted.boundary
    assert (fitted.theta, fitted.alpha) == pytest.approx((7.449814, 0.6622251), rel=1e-7)
    assert fitted.uniques(2000) == pytest.approx(306.960302, rel=1e-6)
    assert fitted.uniques(2000, exact=True) == pytest.approx(306.609561, rel=1e-6)


def test_at_the_edge_uniques_are_theta() -> None:
    """Where the likelihood falls from alpha = 0 on; ARX lets alpha go below 0 there."""
    fitted = pitman(of(FIRST))
    assert fitted is not None
    assert fitted.boundary
    assert fitted.uniques(1500) == pytest.approx(106.825426, rel=1e-7)
    assert population_uniques(of(FIRST), of(FIRST).n_rows / 1500).boundary


def test_the_slide_negative_binomial_model() -> None:
    second = of(SECOND)
    fraction = second.n_rows / 2000
    assert shlosser(second, fraction) == pytest.approx(412.133, abs=5e-4)
    assert snb(second, fraction) == pytest.approx(276.510973, abs=5e-7)


HISTOGRAMS = st.dictionaries(st.integers(2, 12), st.integers(1, 9), min_size=1, max_size=4)


@given(HISTOGRAMS, st.integers(1, 30), st.integers(1, 40))
def test_zayatz_is_that_of_the_twin(classes: dict[int, int], alone: int, times: int) -> None:
    classes = classes | {1: alone}
    n = sum(size * count for size, count in classes.items())
    people = n * times // 3 + n
    found = zayatz(of(classes), n / people)
    assert found == pytest.approx(twin.zayatz(classes, people), rel=1e-9)


@given(HISTOGRAMS, st.integers(1, 30))
@settings(deadline=None)
def test_no_other_parameters_are_likelier(classes: dict[int, int], alone: int) -> None:
    classes = classes | {1: alone}
    fitted = pitman(of(classes))
    assert fitted is not None
    best = twin.likelihood(classes, fitted.theta, fitted.alpha)
    for alpha in {fitted.alpha, *(a for a in (fitted.alpha - 0.01, fitted.alpha + 0.01) if 0 <= a < 1)}:
        for theta in (fitted.theta * 0.99, fitted.theta * 1.01, fitted.theta + 0.01, fitted.theta - 0.01):
            if theta > -alpha:
                assert twin.likelihood(classes, theta, alpha) <= best + 1e-9 * abs(best)


@given(HISTOGRAMS, st.integers(1, 60), st.floats(0.02, 0.9))
@settings(deadline=None)
def test_snb_solves_its_equations(classes: dict[int, int], alone: int, fraction: float) -> None:
    classes = classes | {1: alone, 2: 3}
    sample = of(classes)
    in_population = shlosser(sample, fraction)
    assert in_population == pytest.approx(twin.shlosser(classes, fraction), rel=1e-9)
    fitted = snb_parameters(sample, fraction, in_population)
    assert (fitted is None) == (snb(sample, fraction) is None)
    if fitted is not None and fitted[1] < 12:  # nearer to beta = 1 the twin loses its digits
        alpha, logit = fitted
        expected = twin.snb_counts(in_population, fraction, alpha, 1 / (1 + math.exp(-logit)))
        assert expected == pytest.approx((alone, 3), rel=1e-6)


@pytest.mark.parametrize(
    ("classes", "fraction", "spoke"),
    [
        (SECOND, 0.1, "pitman"),
        (SECOND, 0.11, "snb"),
        ({1: 60, 3: 5}, 0.5, "zayatz"),  # no pairs
        ({1: 60}, 0.1, "zayatz"),  # nothing to fit
        ({2: 60}, 0.1, "none"),
        (SECOND, 1, "count"),
    ],
)
def test_which_model_speaks(classes: dict[int, int], fraction: float, spoke: str) -> None:
    found = population_uniques(of(classes), fraction)
    assert found.model == spoke
    assert found.why
    assert found.estimates[spoke] == found.count
    if spoke == "snb":
        assert found.count == min(each for each in found.estimates.values() if each is not None)


@given(HISTOGRAMS, st.integers(1, 30), st.floats(0.05, 0.9))
@settings(deadline=None)
def test_thinned_is_that_of_the_twin(classes: dict[int, int], alone: int, fraction: float) -> None:
    classes = classes | {1: alone}
    assert uniques.thinned(of(classes), fraction) == pytest.approx(twin.thinned(classes, fraction), rel=1e-6)


def test_thinned_goes_on_where_uniques_follow_a_power() -> None:
    """All rows alone: every share of them is alone, and so is the population."""
    assert uniques.thinned(of({1: 50}), 0.1) == pytest.approx(500)
    assert uniques.thinned(of(SECOND), 1) == 60


def test_all_of_a_sample_without_equals_are_alone() -> None:
    assert population_uniques(of({1: 60}), 0.1).count == pytest.approx(600)


def test_the_whole_population_is_counted() -> None:
    assert population_uniques(of(SECOND), 1).count == 60


def test_one_model_can_be_asked() -> None:
    assert population_uniques(of(SECOND), 0.05, "zayatz").model == "zayatz"
    with pytest.raises(UsageError, match="snb has no estimate"):
        population_uniques(of({1: 60}), 0.1, "snb")
    with pytest.raises(UsageError, match="choose one of"):
        population_uniques(of(FIRST), 0.1, "best")  # type: ignore[arg-type]
    for fraction in (0, 1.01, math.nan):
        with pytest.raises(UsageError, match="sampling fraction"):
            population_uniques(of(FIRST), fraction)


def test_a_histogram_counts_classes_by_size() -> None:
    found = histogram(np.array([3, 1, 1, 0, 3, 3], np.int64))
    assert (found.sizes.tolist(), found.counts.tolist()) == ([1, 3], [2, 3])
    assert (found.n_rows, found.n_classes, found.of_size(2)) == (11, 5, 0)


def test_large_numbers_keep_their_digits() -> None:
    for x in (0.5, 3.0, 11.9, 1e3, 1e7):
        step = 1e-5 * x
        slope = (math.lgamma(x + step) - math.lgamma(x - step)) / (2 * step)
        assert uniques._digamma(np.array([x]))[0] == pytest.approx(slope, rel=1e-6, abs=1e-8)
    for x in (900.0, 1100.0):
        ratio = math.lgamma(x + 0.3) - math.lgamma(x)
        assert uniques._log_gamma_ratio(x, 0.3) == pytest.approx(ratio, rel=1e-11)


def test_classes_of_many_thousand_rows_leave_shlossers_estimate_a_number() -> None:
    large = of({1: 60, 2: 20, 20_000: 1})  # of which none is missed by a fifth of the population
    assert shlosser(large, 0.2) == pytest.approx(twin.shlosser({1: 60, 2: 20}, 0.2) + 1, rel=1e-12)
    estimate = snb(large, 0.2)
    assert estimate is None or math.isfinite(estimate)
