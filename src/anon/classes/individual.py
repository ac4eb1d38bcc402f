# SPDX-License-Identifier: Apache-2.0
"""Individual risk: how likely a row's person is found by someone who searches the population.

f sample rows look alike, and F are estimated to do so in the population. Given f, the true number is taken
as negative binomial with p = f/F (Benedetti & Franconi 1998; Polettini 2003), and the risk is the
expectation of one over it. Arrays are float64, one entry per class or row.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from anon.errors import UsageError

Method = Literal["exact", "approx"]
Floats = npt.NDArray[np.float64]

_EPSILON = 2.0**-53
_RECURSED = 32  # below this f the series is too long where p is small
_LONGEST = 60.0  # exp(-60) of the integrand is left out


def individual_risk(
    f: npt.ArrayLike, population: npt.ArrayLike, method: Method = "exact", at_once: int = 1 << 16
) -> Floats:
    """E(1/F | f) of each pair of f sample rows (at least 1, whole or not) and F >= f of the population.

    F below f is taken as f, infinite F gives 0. `method="approx"` is p/(f - q) for f > 2, with q = 1 - p,
    as sdcMicro computes it by default. Relative error below 1e-12, `at_once` pairs at a time.
    """
    if method not in get_args(Method):
        known = ", ".join(map(repr, get_args(Method)))
        raise UsageError(f"method={method!r}: choose one of {known}")
    rows = np.atleast_1d(np.asarray(f, np.float64))
    people = np.maximum(np.atleast_1d(np.asarray(population, np.float64)), rows)
    rows, people = np.broadcast_arrays(rows, people)
    if not (rows >= 1).all():
        raise UsageError("individual risk is of classes with at least one row")
    risk = np.empty(len(rows))
    for start in range(0, len(rows), at_once):
        block = slice(start, start + at_once)
        risk[block] = _risk(rows[block], people[block], method)
    return risk


def _risk(f: Floats, people: Floats, method: Method) -> Floats:
    p = f / people
    q = (people - f) / people  # not 1 - p, which loses digits near p = 1
    q[np.isinf(people)] = 1.0
    risk = np.zeros(len(f))
    left = p > 0
    if method == "approx":
        plain = left & (f > 2)
        risk[plain] = p[plain] / (f[plain] - q[plain])
        left &= ~plain
    by_series = left & ((p > 0.5) | (f >= _RECURSED))
    left &= ~by_series
    by_recursion = left & (f == np.floor(f))
    by_integral = left & ~by_recursion
    for where, compute in ((by_series, _series), (by_recursion, _recursion), (by_integral, _integral)):
        if where.any():
            risk[where] = compute(f[where], p[where], q[where])
    return risk


def _series(f: Floats, p: Floats, q: Floats) -> Floats:
    """(p/f) times the sum over j of q^j j!/((f + 1)...(f + j)): all terms positive, no cancellation."""
    term = np.ones(len(f))
    total = np.ones(len(f))
    j = 0
    while (term > _EPSILON * total).any():
        j += 1
        term *= j * q / (f + j)
        total += term
    return p / f * total


def _recursion(f: Floats, p: Floats, q: Floats) -> Floats:
    """Whole f and p <= 1/2: from f = 1, (p/q) ln(1/p), by r_f = (p/q) (1/(f - 1) - r_(f - 1))."""
    odds = p / q
    risk = odds * -np.log(p)
    further = np.flatnonzero(f > 1)
    for step in range(2, int(f.max()) + 1):
        risk[further] = odds[further] * (1 / (step - 1) - risk[further])
        further = further[f[further] > step]
    return risk


def _integral(f: Floats, p: Floats, q: Floats) -> Floats:
    """(1/f) times the integral of p exp(-v)/(p + q exp(-v/f)) over v >= 0, by panels of length 1."""
    total = np.zeros(len(f))
    nodes = np.transpose(np.polynomial.legendre.leggauss(12))  # which takes long to import
    for start in np.arange(0.0, _LONGEST, 1.0):
        for node, weight in nodes:
            v = start + (node + 1) / 2
            total += weight / 2 * np.exp(-v) * p / (p + q * np.exp(-v / f))
    return total / f


def household_risk(risk: Floats, members: npt.NDArray[np.integer]) -> Floats:
    """For every row the chance that a member of its household is found, 1 - prod(1 - r).

    `members` numbers each row's household, from 0.
    """
    with np.errstate(divide="ignore"):
        missed = np.log1p(-np.minimum(risk, 1.0))
    certain = np.bincount(members, risk >= 1)  # log1p(-1) is infinite, and a sum of those is no number
    summed = np.bincount(members, np.where(risk < 1, missed, 0.0))
    by_household = np.where(certain > 0, 1.0, -np.expm1(summed))
    return np.asarray(by_household[members])
