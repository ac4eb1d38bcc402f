# SPDX-License-Identifier: Apache-2.0
"""How many people are alone with their quasi-identifiers in the population, estimated from a sample.

All that is used of the sample is its histogram: how many classes have i rows. u classes hold its n rows,
n_1 of them one row; the share of the population that was drawn is pi, and N = n/pi its size.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from anon.errors import UsageError

Model = Literal["dankar", "zayatz", "pitman", "snb", "thinned"]
Floats = npt.NDArray[np.float64]

RULE_CHANGES = 0.1  # above this fraction Dankar's rule no longer asks Pitman's model


@dataclass(frozen=True)
class Histogram:
    """`counts[j]` classes have `sizes[j]` rows (ascending, both int64 and above 0)."""

    sizes: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int64]

    @property
    def n_rows(self) -> int:
        return int(self.sizes @ self.counts)

    @property
    def n_classes(self) -> int:
        return int(self.counts.sum())

    def of_size(self, size: int) -> int:
        """Classes with `size` rows."""
        return int(self.counts[self.sizes == size].sum())


@dataclass(frozen=True)
class PopulationUniques:
    """The estimated number of people who are alone in the population.

    `count` of the `population`, which is `share` of it; `model` names the estimator that spoke and
    `why` it did; `estimates` holds every one that was tried, None where it has no estimate.
    `boundary` says that the likelihood of Pitman's model is greatest at alpha = 0, the edge.
    """

    count: float
    share: float
    population: float
    model: str
    why: str
    estimates: dict[str, float | None]
    boundary: bool = False


@dataclass(frozen=True)
class Pitman:
    """Parameters of the Ewens-Pitman model with greatest likelihood."""

    theta: float
    alpha: float

    @property
    def boundary(self) -> bool:
        """Is the likelihood greatest at the edge, alpha = 0?"""
        return self.alpha == 0.0

    def uniques(self, population: float, exact: bool = False) -> float:
        """Expected people alone among `population`; `exact` without Stirling's approximation."""
        theta, alpha = self.theta, self.alpha
        if not exact:
            return math.exp(_log_gamma_ratio(theta + alpha, 1 - alpha) + alpha * math.log(population))
        return math.exp(
            math.log(population)
            + _log_gamma_ratio(theta + population, alpha - 1)
            + _log_gamma_ratio(theta + alpha, 1 - alpha)
        )


def histogram(class_sizes: npt.NDArray[np.int64]) -> Histogram:
    """How many classes have how many rows; classes without a row are none."""
    sizes, counts = np.unique(class_sizes[class_sizes > 0], return_counts=True)
    return Histogram(sizes.astype(np.int64), counts.astype(np.int64))


def population_uniques(sample: Histogram, fraction: float, model: Model = "dankar") -> PopulationUniques:
    """People alone in a population of which `fraction` was sampled, by one model or by Dankar's rule.

    The rule (Dankar et al. 2012): up to a fraction of 0.1 Pitman's model, or Zayatz's where that has no
    estimate; above it the smaller of the slide negative binomial's (SNB) and Zayatz's, or Zayatz's alone.
    A sample without a unique row gives 0. UsageError where the one model asked for has no estimate.
    """
    if model not in get_args(Model):
        known = ", ".join(map(repr, get_args(Model)))
        raise UsageError(f"model={model!r}: choose one of {known}")
    refuse_fraction(fraction)
    people = sample.n_rows / fraction
    estimates: dict[str, float | None] = {}
    boundary = False
    if sample.of_size(1) == 0:
        spoke: str = "none" if model == "dankar" else model
        return PopulationUniques(0.0, 0.0, people, spoke, "no row of the sample is unique", {spoke: 0.0})
    if fraction == 1:
        alone = float(sample.of_size(1))
        why = "the sample is the population"
        return PopulationUniques(alone, alone / people, people, "count", why, {"count": alone})
    if model == "pitman" or (model == "dankar" and fraction <= RULE_CHANGES):
        fitted = pitman(sample)
        boundary = fitted is not None and fitted.boundary
        estimates["pitman"] = None if fitted is None else min(fitted.uniques(people), people)
    if model == "snb" or (model == "dankar" and fraction > RULE_CHANGES):
        estimates["snb"] = snb(sample, fraction)
    if model == "thinned":
        estimates["thinned"] = min(thinned(sample, fraction), people)
    if model in ("zayatz", "dankar"):
        estimates["zayatz"] = zayatz(sample, fraction)
    spoke, why = _rule(estimates, fraction) if model == "dankar" else (model, "asked for")
    count = estimates[spoke]
    if count is None:
        raise UsageError(f"{model} has no estimate for this sample: leave the model to Dankar's rule")
    return PopulationUniques(
        count, count / people, people, spoke, why, estimates, boundary and spoke == "pitman"
    )


def model_estimates(sample: Histogram, fraction: float) -> dict[str, float | None]:
    """What every model estimates; None where it has no estimate."""
    fitted = pitman(sample) if sample.of_size(1) and fraction < 1 else None
    alone = float(sample.of_size(1))
    people = sample.n_rows / fraction
    whole = alone if fraction == 1 or not alone else None
    return {
        "pitman": whole if fitted is None else min(fitted.uniques(people), people),
        "zayatz": zayatz(sample, fraction),
        "snb": snb(sample, fraction) if whole is None else whole,
        "thinned": min(thinned(sample, fraction), people),
    }


def refuse_fraction(fraction: float) -> None:
    """Raise UsageError unless it is a sampling fraction."""
    if not 0 < fraction <= 1:
        raise UsageError(f"A sampling fraction lies above 0 and at most at 1, not at {fraction}.")


def _rule(estimates: dict[str, float | None], fraction: float) -> tuple[str, str]:
    """Which model Dankar's rule lets speak, and why."""
    by_zayatz = estimates["zayatz"]
    assert by_zayatz is not None
    if fraction <= RULE_CHANGES:
        if estimates["pitman"] is not None:
            return "pitman", f"a fraction of at most {RULE_CHANGES}"
        return "zayatz", "Pitman's model has no estimate"
    by_snb = estimates["snb"]
    if by_snb is None:
        return "zayatz", "the slide negative binomial model has no estimate"
    smaller = "snb" if by_snb < by_zayatz else "zayatz"
    return smaller, f"the smaller of two at a fraction above {RULE_CHANGES}"


def zayatz(sample: Histogram, fraction: float) -> float:
    """Zayatz 1991: of the sample's unique rows, those whose class has one row in the population too."""
    alone = sample.of_size(1)
    if alone == 0:
        return 0.0
    n_rows = sample.n_rows
    once = _drawn_once(sample.sizes, n_rows, n_rows / fraction)
    return alone / fraction * alone * fraction / float(sample.counts @ once)


def _drawn_once(sizes: npt.NDArray[np.int64], n_rows: int, people: float) -> Floats:
    """The chance that `n_rows` drawn from `people` hold exactly one of i given ones, for i in `sizes`.

    It is i (n/N) times the product over j < i - 1 of (N - n - j)/(N - 1 - j).
    """
    j = np.arange(int(sizes.max()) - 1, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        missed = np.log(np.maximum(people - n_rows - j, 0.0) / (people - 1 - j))
    missed[~np.isfinite(missed)] = -np.inf
    summed = np.concatenate([[0.0], np.cumsum(missed)])
    return np.asarray(sizes * (n_rows / people) * np.exp(summed[sizes - 1]))


def pitman(sample: Histogram) -> Pitman | None:
    """The Ewens-Pitman model (Hoshino 2001) of greatest likelihood over 0 <= alpha < 1, theta > -alpha.

    None where the likelihood has no maximum: no two rows look alike, or all do.
    """
    n_rows, n_classes = sample.n_rows, sample.n_classes
    if n_classes in (1, n_rows):
        return None
    # At the best theta of each alpha, how fast the likelihood grows with alpha: at the greatest, not at all.
    best = 0.0
    theta = _theta(sample, 0.0, 1.0)
    if _by_alpha(sample, theta, 0.0) > 0:
        log_theta = math.log(theta)

        def slope(alpha: float) -> float:
            nonlocal log_theta
            at = _theta(sample, alpha, math.exp(log_theta))
            log_theta = math.log(at + alpha)
            return _by_alpha(sample, at, alpha)

        best = _root(slope, 0.0, 1 - 2.0**-40)
        theta = _theta(sample, best, math.exp(log_theta))
    return Pitman(theta, best)


def _theta(sample: Histogram, alpha: float, start: float) -> float:
    """The theta of greatest likelihood for one alpha; `start` is a guess at theta + alpha."""
    slope = _slope_by_theta(sample, alpha)
    low = high = start
    while slope(low - alpha) < 0:
        low /= 8
    while slope(high - alpha) > 0:
        high *= 8
    root = _root(lambda x: slope(math.exp(x) - alpha), math.log(low), math.log(high))
    return math.exp(root) - alpha


def _slope_by_theta(sample: Histogram, alpha: float) -> Callable[[float], float]:
    """The derivative by theta of the likelihood's logarithm: above 0 left of its root."""
    n_rows, n_classes = sample.n_rows, sample.n_classes

    def slope(theta: float) -> float:
        return _reciprocals(theta, alpha, n_classes) - _reciprocals(theta, 1.0, n_rows)

    return slope


def _by_alpha(sample: Histogram, theta: float, alpha: float) -> float:
    """The derivative by alpha of the likelihood's logarithm."""
    new = np.arange(1, sample.n_classes, dtype=np.float64)
    rows = _digamma(sample.sizes - alpha) - _digamma(np.array([1 - alpha]))
    return float(np.sum(new / (theta + new * alpha)) - sample.counts @ rows)


def _reciprocals(theta: float, step: float, stop: int) -> float:
    """Sum over l = 1 .. stop - 1 of 1/(theta + l step)."""
    if step == 0:
        return (stop - 1) / theta
    first = theta / step + 1
    if first > 1e8:  # digits of the difference are lost: the terms hardly differ
        return float(np.sum(1 / (theta + step * np.arange(1, stop, dtype=np.float64))))
    ends = _digamma(np.array([first, first + stop - 1]))
    return float(ends[1] - ends[0]) / step


def snb(sample: Histogram, fraction: float) -> float | None:
    """The slide negative binomial model (Chen & Keller-McNulty 1998): F = 1 + NB(alpha, beta).

    Of the population's classes beta^alpha hold one person. None where the model has no parameters.
    """
    classes = shlosser(sample, fraction) if fraction < 1 else 0.0
    fitted = snb_parameters(sample, fraction, classes) if classes else None
    return None if fitted is None else classes * math.exp(fitted[0] * _log_logistic(fitted[1]))


def snb_parameters(sample: Histogram, fraction: float, classes: float) -> tuple[float, float] | None:
    """Alpha and the logit of beta with which `classes` give the sample's classes of one and two rows."""
    alone, pairs = sample.of_size(1), sample.of_size(2)
    if not alone or not pairs:
        return None
    ratio = pairs / alone

    def alpha_of(logit: float) -> float:
        """That with the ratio of pairs to uniques, the positive root of a quadratic equation."""
        beta, rest = _logistic(logit), _logistic(-logit)
        y = (1 - fraction) * rest
        a = fraction * rest * y
        b = fraction * rest * (2 - y) - 2 * ratio * (fraction + beta - fraction * beta) * y
        c = -2 * ratio * (fraction + beta - fraction * beta) ** 2
        root = math.sqrt(b * b - 4 * a * c)
        return (root - b) / (2 * a) if b < 0 else -2 * c / (b + root)

    def excess(logit: float) -> float:
        rest = _logistic(-logit)
        missed = fraction + _logistic(logit) * (1 - fraction)  # 1 - y, and beta = 1 - y - fraction * rest
        alpha = alpha_of(logit)
        power = _log_logistic(logit) - math.log(missed)
        if rest < 0.5:
            power = math.log1p(-fraction * rest / missed)
        expected = math.log(classes * fraction) + alpha * power
        return expected + math.log1p(alpha * (1 - fraction) * rest / missed) - math.log(alone)

    grid = np.linspace(-34, 34, 137)
    values = [excess(float(logit)) for logit in grid]
    roots = [
        _root(excess, float(grid[i]), float(grid[i + 1]))
        for i in range(len(grid) - 1)
        if values[i] * values[i + 1] < 0
    ]
    return (alpha_of(roots[0]), roots[0]) if roots else None


def _logistic(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def _log_logistic(x: float) -> float:
    return -math.log1p(math.exp(-x))


def shlosser(sample: Histogram, fraction: float) -> float:
    """Classes in the population: the modified Shlosser estimator (Haas & Stokes 1998)."""
    alone = sample.of_size(1)
    i, n, pi = sample.sizes.astype(np.float64), sample.counts.astype(np.float64), fraction
    never = np.exp(i * math.log1p(-pi))
    squared = float(np.sum(i * pi**2 * np.exp((i - 1) * math.log1p(-(pi**2))) * n))
    # (1 - pi)^i ((1 + pi)^i - 1), of which the second factor overflows where i is in the thousands
    again = -float(np.sum(np.exp(i * math.log1p(-pi * pi)) * np.expm1(-i * math.log1p(pi)) * n))
    missed = float(np.sum(never * n))
    once = float(np.sum(i * pi * np.exp((i - 1) * math.log1p(-pi)) * n))
    return sample.n_classes + alone * (squared / again) * (missed / once) ** 2


def thinned(sample: Histogram, fraction: float) -> float:
    """Extrapolated from the sample's own samples: how the number of unique rows grows with what is drawn.

    Of the share s of the sample, U(s) = sum n_i i s (1 - s)^(i - 1) rows are expected to be unique. ln U is
    fitted by a quadratic of ln s from s = 1/2 to 1, weighted by U, through U(1) = n_1, and taken at s = 1/pi.
    No model of the population is behind it.
    """
    i, n = sample.sizes.astype(np.float64), sample.counts.astype(np.float64)
    alone = sample.of_size(1)
    if not alone or fraction >= 1:
        return float(alone)
    logs = np.linspace(math.log(0.5), 0, 41)[:-1]
    by_share = np.array([float(n @ (i * s * np.exp((i - 1) * math.log1p(-s)))) for s in np.exp(logs)])
    weight = np.sqrt(by_share)
    line = np.stack([logs, logs**2], axis=1) * weight[:, None]
    slope, curve = np.linalg.lstsq(line, np.log(by_share / alone) * weight, rcond=None)[0]
    far = -math.log(fraction)
    return float(alone * math.exp(min(slope * far + curve * far**2, 700.0)))


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    """A root between two points where the function's signs differ (Brent 1973), to 1e-13 or its last bit."""
    a, b = low, high
    at_a, at_b = function(a), function(b)
    if at_a * at_b > 0:
        return a if abs(at_a) < abs(at_b) else b
    c, at_c = a, at_a
    step = last = b - a
    for _ in range(200):
        if abs(at_c) < abs(at_b):
            a, b, c, at_a, at_b, at_c = b, c, b, at_b, at_c, at_b
        tolerance = 1e-15 * abs(b) + 1e-16
        middle = (c - b) / 2
        if abs(middle) <= tolerance or at_b == 0:
            break
        if abs(last) >= tolerance and abs(at_a) > abs(at_b):
            s = at_b / at_a
            if a == c:
                p, q = 2 * middle * s, 1 - s
            else:
                t, r = at_a / at_c, at_b / at_c
                p = s * (2 * middle * t * (t - r) - (b - a) * (r - 1))
                q = (t - 1) * (r - 1) * (s - 1)
            p, q = (p, -q) if p > 0 else (-p, q)
            if 2 * p < min(3 * middle * q - abs(tolerance * q), abs(last * q)):
                last, step = step, p / q
            else:
                last = step = middle
        else:
            last = step = middle
        a, at_a = b, at_b
        b += step if abs(step) > tolerance else math.copysign(tolerance, middle)
        at_b = function(b)
        if (at_b > 0) == (at_c > 0):
            c, at_c = a, at_a
            step = last = b - a
    return b


def _digamma(x: npt.NDArray[np.floating]) -> Floats:
    """The logarithmic derivative of the gamma function, for x > 0: shifted to 12, then asymptotic."""
    x = np.array(x, np.float64)
    total = np.zeros(len(x))
    while (small := x < 12).any():
        total[small] -= 1 / x[small]
        x[small] += 1
    z = 1 / (x * x)
    tail = z * (1 / 12 - z * (1 / 120 - z * (1 / 252 - z * (1 / 240 - z * (1 / 132 - z * 691 / 32760)))))
    return np.asarray(total + np.log(x) - 0.5 / x - tail)


def _log_gamma_ratio(x: float, step: float) -> float:
    """Ln of gamma(x + step)/gamma(x), |step| <= 1; for large x without the difference of large numbers."""
    if x < 1e3:
        return math.lgamma(x + step) - math.lgamma(x)
    a = step * (step - 1)
    return step * math.log(x) + a / (2 * x) - a * (2 * step - 1) / (12 * x**2) + a * a / (12 * x**3)
