# SPDX-License-Identifier: Apache-2.0
"""Rates, residual risks and verdicts."""

from __future__ import annotations

import numpy as np
import pytest

from anon.attackers.rates import Rate, residual, verdict, wilson
from anon.errors import UsageError


def test_the_values_of_the_definition() -> None:
    rate = wilson(10, 100)
    assert (rate.low, rate.high) == (pytest.approx(0.0552291, abs=5e-8), pytest.approx(0.1743657, abs=5e-8))
    assert (wilson(0, 100).low, wilson(0, 100).high) == (0.0, pytest.approx(0.0369935, abs=5e-8))
    assert (wilson(50, 50).low, wilson(50, 50).high) == (pytest.approx(0.9286524, abs=5e-8), 1.0)
    risk = residual(wilson(60, 200), wilson(20, 200))
    assert risk is not None
    assert risk.rate == pytest.approx(0.2198760, abs=5e-8)
    assert risk.high - risk.rate == pytest.approx(0.0795357, abs=5e-8)
    assert risk.rate - risk.low == pytest.approx(0.0795357, abs=5e-8)


def test_what_was_not_tried_has_no_rate_and_all_successes_of_others_no_residual() -> None:
    assert wilson(0, 0) == Rate(0.0, 0.0, 0.0, 0, 0)
    nothing = residual(wilson(0, 0), wilson(0, 0))
    assert nothing is not None
    assert nothing.high == 0
    assert residual(wilson(5, 10), wilson(0, 0)) is None
    assert residual(wilson(5, 10), Rate(1.0, 1.0, 1.0, 9, 9)) is None
    for wrong in ((3, 2), (-1, 2)):
        with pytest.raises(UsageError):
            wilson(*wrong)
    with pytest.raises(UsageError):
        wilson(1, 2, 1.0)


def test_verdicts() -> None:
    often, seldom = wilson(180, 200), wilson(20, 200)
    assert verdict(often, seldom, seldom) == "attack succeeded"
    assert verdict(often, often, seldom) == "attack failed"
    assert verdict(seldom, often, seldom) == "attack failed"
    assert verdict(often, seldom, often) == "attack works on everybody"
    assert verdict(often, seldom, None) == "not compared"
    assert verdict(wilson(0, 0), wilson(0, 0), wilson(0, 0)) == "attack failed"


@pytest.mark.parametrize("rate", [0.02, 0.1, 0.5, 0.9])
def test_intervals_hold_the_rate_as_often_as_they_say(rate: float) -> None:
    rng = np.random.default_rng(20261129)
    rates = [wilson(int(s), 300) for s in rng.binomial(300, rate, 500)]
    share = np.mean([one.low <= rate <= one.high for one in rates])
    print(f"coverage of {rate}: {share:.1%}")
    assert share >= 0.93


@pytest.mark.parametrize(("target", "control"), [(0.1, 0.1), (0.4, 0.1), (0.6, 0.5)])
def test_intervals_of_residual_risk_hold_it_as_often_as_they_say(target: float, control: float) -> None:
    rng = np.random.default_rng(20261130)
    true = (target - control) / (1 - control)
    held = []
    for s, c in zip(rng.binomial(400, target, 500), rng.binomial(300, control, 500), strict=True):
        risk = residual(wilson(int(s), 400), wilson(int(c), 300))
        assert risk is not None
        held.append(risk.low <= true <= risk.high)
    print(f"coverage of {true:.3f}: {np.mean(held):.1%}")
    assert np.mean(held) >= 0.93
