# SPDX-License-Identifier: Apache-2.0
"""Requirements on the risk in the population that a table was sampled from."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from anon.classes import individual_risk
from anon.encoding import Domain
from anon.errors import UsageError
from anon.requirements.option import Option, flag
from anon.requirements.requirement import Counts, Real, Requirement, integer, real, set_parameter, written

_MOST_ROWS = 2**32


@dataclass(frozen=True)
class KMap(Requirement):
    """At least k people of the population look like every row, with a given significance.

    Of a table that is a `sampling_fraction` of the population it is enforced as k'-anonymity (El Emam &
    Dankar 2008): k' is the least j up to k with P(X >= j) <= `significance`, X the Poisson number of rows,
    with mean k times the fraction, that k people give; `truncated` knows that it is not 0. If there is none,
    k' is k.
    """

    options: ClassVar[tuple[Option, ...]] = (
        Option("k_map", int, "k-map: people of the population like each row.", "k"),
        Option("k_map_fraction", float, "Sampling fraction of the k-map.", "sampling_fraction"),
        Option("k_map_significance", float, "Significance of the k-map (0.05).", "significance"),
    )

    k: int
    sampling_fraction: Real
    significance: Real = 0.05
    truncated: bool = True

    def __post_init__(self) -> None:
        set_parameter(self, "k", integer("k", self.k))
        fraction = real("sampling_fraction", self.sampling_fraction, above=0, most=1)
        set_parameter(self, "sampling_fraction", fraction)
        set_parameter(self, "significance", real("significance", self.significance, above=0, most=1))

    @classmethod
    def refuse_alone(cls, values: Any) -> None:
        super().refuse_alone(values)
        _refuse_without(values, "k_map", "k_map_fraction")

    @cached_property
    def least_rows(self) -> int:
        """k', the rows that every class must have."""
        return _k_prime(self.k, float(self.sampling_fraction), float(self.significance), self.truncated)

    @property
    def family(self) -> str:
        return "k-map"

    def holds(self, privacy: Any) -> dict[str, tuple[Any, str]]:
        return {"k'": (self.least_rows, "k")}

    def rules(self, domains: Sequence[Domain], table_counts: Sequence[Counts]) -> list[tuple[Any, ...]]:
        return [("size", self.least_rows)]

    def _explain_rows(self, n_rows: int) -> tuple[str, Any]:
        fraction, significance = float(self.sampling_fraction), float(self.significance)
        most = _least(lambda k: _k_prime(k, fraction, significance, self.truncated) > n_rows, self.k) - 1
        return f"it needs {self.least_rows} rows of the table's {n_rows}, so the largest k is {most}", most

    def __str__(self) -> str:
        return f"{self.k}-map (sampling fraction {written(self.sampling_fraction)})"


@dataclass(frozen=True)
class MaxRisk(Requirement):
    """No row's individual risk is above the threshold, in a population that a fraction was sampled of.

    The risk is E(1/F | f), see `anon.risk`; it falls with the rows f of a class, so that every class needs as
    many as make it small enough.
    """

    options: ClassVar[tuple[Option, ...]] = (
        Option("max_risk", float, "Greatest individual risk in the population.", "threshold"),
        Option("max_risk_fraction", float, "Sampling fraction of that risk.", "sampling_fraction"),
    )

    threshold: Real
    sampling_fraction: Real

    def __post_init__(self) -> None:
        set_parameter(self, "threshold", real("threshold", self.threshold, above=0, most=1))
        fraction = real("sampling_fraction", self.sampling_fraction, above=0, most=1)
        set_parameter(self, "sampling_fraction", fraction)

    @classmethod
    def refuse_alone(cls, values: Any) -> None:
        super().refuse_alone(values)
        _refuse_without(values, "max_risk", "max_risk_fraction")

    @cached_property
    def least_rows(self) -> int:
        """The rows with which a class has the risk."""
        return _least(lambda rows: self._risk(rows) <= float(self.threshold) * (1 + 1e-12), _MOST_ROWS)

    @property
    def family(self) -> str:
        return "individual risk"

    def holds(self, privacy: Any) -> dict[str, tuple[Any, str]]:
        return {"rows of a class": (self.least_rows, "k")}

    def rules(self, domains: Sequence[Domain], table_counts: Sequence[Counts]) -> list[tuple[Any, ...]]:
        return [("size", self.least_rows)]

    def _risk(self, rows: int) -> float:
        return float(individual_risk(rows, rows / float(self.sampling_fraction))[0])

    def _explain_rows(self, n_rows: int) -> tuple[str, Any]:
        least = self._risk(n_rows)
        return f"it needs classes of {self.least_rows} rows, so the least risk is {least:.6g}", least

    def __str__(self) -> str:
        fraction = written(self.sampling_fraction)
        return f"individual risk of at most {written(self.threshold)} (sampling fraction {fraction})"


def _refuse_without(values: Any, key: str, other: str) -> None:
    if values.get(key) is not None and values.get(other) is None:
        raise UsageError(f"{flag(key)} needs {flag(other)}")


def _k_prime(k: int, fraction: float, significance: float, truncated: bool) -> int:
    mean = k * fraction
    left = -math.expm1(-mean)  # P(X >= j), from j = 1
    given = left if truncated else 1.0
    for j in range(1, k + 1):
        if left <= significance * given:
            return j
        left -= math.exp(j * math.log(mean) - mean - math.lgamma(j + 1))
    return k


def _least(holds: Callable[[int], bool], most: int) -> int:
    """The least number from 1 to `most` from which on something holds; `most` where nothing does before."""
    low, high = 0, 1
    while high < most and not holds(high):
        low, high = high, 2 * high
    high = min(high, most)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
