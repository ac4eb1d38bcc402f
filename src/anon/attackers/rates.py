# SPDX-License-Identifier: Apache-2.0
"""How often attackers succeed, with intervals, and what is left of it once luck is taken off.

Rates are those of Wilson (1927): with s successes in n tries and z of the two-sided level the centre is
(s + z²/2)/(n + z²), the half-width z/(n + z²)·√(s(n - s)/n + z²/4). Residual risks are those of anonymeter
(Giomi et al. 2023).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

from anon.errors import UsageError

CONFIDENCE = 0.95
Verdict = Literal["attack succeeded", "attack failed", "attack works on everybody", "not compared"]


@dataclass(frozen=True)
class Rate:
    """The rate of an attack: the centre of Wilson's interval, and its ends, in 0..1.

    Of `tries` so many were `successes`. Where nothing could be tried all are 0.
    """

    rate: float
    low: float
    high: float
    successes: int
    tries: int

    @property
    def error(self) -> float:
        """Half the width of the interval."""
        return max(self.rate - self.low, self.high - self.rate)

    def __str__(self) -> str:
        return f"{percent(self.rate)} ({percent(self.low)} to {percent(self.high)})"


@dataclass(frozen=True)
class Risk:
    """What is left of a rate once another is taken off, with its interval; at most 1, uncut below 0."""

    rate: float
    low: float
    high: float

    def __str__(self) -> str:
        rate, low, high = (max(each, 0.0) for each in (self.rate, self.low, self.high))
        return f"{percent(rate)} ({percent(low)} to {percent(high)})"


def percent(share: float) -> str:
    """A share of 0..1 in words."""
    text = f"{100 * share:.1f}".removesuffix(".0")
    return f"{text} %"


def z_of(confidence: float) -> float:
    """The z of a two-sided level: 1.96 at 0.95."""
    if not isinstance(confidence, int | float) or isinstance(confidence, bool) or not 0 < confidence < 1:
        raise UsageError("confidence must be a number between 0 and 1, such as 0.95")
    return NormalDist().inv_cdf(0.5 + confidence / 2)


def wilson(successes: int, tries: int, confidence: float = CONFIDENCE) -> Rate:
    """The rate of so many successes, by Wilson's interval."""
    z = z_of(confidence)
    if not 0 <= successes <= tries:
        raise UsageError(f"{successes} successes in {tries} tries: there are from none to as many as tries")
    if tries == 0:
        return Rate(0.0, 0.0, 0.0, 0, 0)
    whole = tries + z * z
    centre = (successes + z * z / 2) / whole
    half = z / whole * math.sqrt(successes * (tries - successes) / tries + z * z / 4)
    # with none or all successes one end is exactly 0 or 1, which rounding would miss
    low = 0.0 if successes == 0 else max(centre - half, 0.0)
    high = 1.0 if successes == tries else min(centre + half, 1.0)
    return Rate(centre, low, high, successes, tries)


def residual(target: Rate, other: Rate) -> Risk | None:
    """The risk that a release adds: (t - c)/(1 - c) of the rates on targets and on others, with its interval.

    Its error is √[(e_t/(1 - c))² + ((1 - t)e_c/(1 - c)²)²], with the errors of the rates. None where the
    others' rate is 1; 0 where nothing could be tried.
    """
    if target.tries == 0:
        return Risk(0.0, 0.0, 0.0)
    if other.tries == 0 or other.rate >= 1:
        return None
    left = 1 - other.rate
    rate = (target.rate - other.rate) / left
    error = math.hypot(target.error / left, (1 - target.rate) * other.error / left**2)
    return Risk(rate, rate - error, min(rate + error, 1.0))


def advantage_of(target: Rate, other: Rate) -> Risk:
    """The rate on targets less that on others, with its interval: what telling members apart is worth."""
    rate, error = target.rate - other.rate, math.hypot(target.error, other.error)
    return Risk(rate, rate - error, min(rate + error, 1.0))


def verdict(target: Rate, naive: Rate, control: Rate | None) -> Verdict:
    """What came of an attack. "attack failed" says that this attacker did; it does not say "safe".

    It failed where a naive attacker does as well; it works on everybody where people who were never in the
    table are hit as often, so that the release of their rows is not what harms.
    """
    over_naive = residual(target, naive)
    if target.tries == 0 or (over_naive is not None and over_naive.low <= 0):
        return "attack failed"
    if control is None or control.tries == 0:
        return "not compared"
    risk = residual(target, control)
    if risk is None or risk.low <= 0:
        return "attack works on everybody"
    return "attack succeeded"
