# SPDX-License-Identifier: Apache-2.0
"""Requirements on the people of the population that a table was sampled from."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, get_args

import numpy as np
import numpy.typing as npt

from anon.classes import UniquesModel, histogram, individual_risk, population_uniques
from anon.encoding import Domain
from anon.errors import Parameter, UsageError
from anon.requirements.option import Option
from anon.requirements.requirement import (
    Bools,
    Counts,
    People,
    Real,
    Requirement,
    exact,
    integer,
    plural,
    real,
    set_parameter,
    written,
)

_MOST_ROWS = 2**32
_CLOSE = 1e-12  # relative, of sums of weights and of risks


class OfPeople(Requirement):
    """A requirement on the F people of the population who look like the f rows of a class.

    F is counted in the table `population`, inside the cells of the class; it is estimated of a
    `sampling_fraction`; without either it is the sum of the schema's sampling weights. A `population` is
    anything that `anonymize` takes as a table.
    """

    @property
    def _fraction(self) -> Real | None:
        fraction: Real | None = getattr(self, "sampling_fraction", None)
        return fraction

    @property
    def _population(self) -> Any:
        return getattr(self, "population", None)

    def _check_source(self) -> None:
        """Refuse two sources; by `source`, its path or identity, a population is told from others."""
        if self._population is not None:
            is_path = isinstance(self._population, str)
            set_parameter(self, "source", self._population if is_path else id(self._population))
        if self._fraction is not None and self._population is not None:
            raise UsageError(
                f"{type(self).__name__}: say what is known of the population in one way, by a table of it "
                "or by the sampling fraction"
            )
        if self._fraction is not None:
            fraction = real("sampling_fraction", self._fraction, above=0, most=1)
            set_parameter(self, "sampling_fraction", fraction)

    @property
    def people(self) -> People | None:
        if self._fraction is not None:
            return None
        return "weights" if self._population is None else "table"

    @property
    def cacheable(self) -> bool:  # type: ignore[override]
        return self.people != "table"

    @property
    def on_spark(self) -> bool:  # type: ignore[override]
        return self.people is None

    @property
    def absorbing(self) -> bool:
        return True

    @classmethod
    def of(cls, values: Mapping[str, Any], **fixed: Any) -> Any:
        if not any(values.get(option.key) is not None for option in cls.options if _is_fraction(option)):
            fixed["population"] = values.get("population")
        return super().of(values, **fixed)

    def settings(self) -> dict[str, Any]:
        return {
            key: value for key, value in super().settings().items() if key not in ("population", "source")
        }

    @property
    def _known_by(self) -> str:
        match self.people:
            case None:
                assert self._fraction is not None
                return f"sampling fraction {written(self._fraction)}"
            case "table":
                return "table of the population"
        return "sampling weights"

    def _repr(self, **parameters: Any) -> str:
        """The parameters without a table, of which a file says that there was one."""
        if self._fraction is not None:
            parameters["sampling_fraction"] = self._fraction
        words = [f"{name}={value!r}" for name, value in parameters.items()]
        words += ["population=..."] if self._population is not None else []
        return f"{type(self).__name__}({', '.join(words)})"


@dataclass(frozen=True, repr=False)
class KMap(OfPeople):
    """At least k people of the population look like every row.

    People are those of a `population` table inside the cells of a class, or the sum of its sampling weights.
    Of a table that is a `sampling_fraction` of the population it is enforced with a `significance`, as
    k'-anonymity (El Emam & Dankar 2008): k' is the least j up to k with P(X >= j) <= `significance`, X the
    Poisson number of rows, with mean k times the fraction, that k people give; `truncated` knows that it is
    not 0. If there is none, k' is k.
    """

    options: ClassVar[tuple[Option, ...]] = (
        Option(
            "k_map",
            int,
            "k-map: people like each row, by --population, --k-map-fraction or --sampling-weight.",
            "k",
        ),
        Option("k_map_fraction", float, "Sampling fraction of the k-map.", "sampling_fraction"),
        Option(
            "k_map_significance", float, "Significance of the k-map by a fraction (0.05).", "significance"
        ),
    )

    k: int
    sampling_fraction: Real | None = None
    significance: Real = 0.05
    truncated: bool = True
    population: Any = field(default=None, compare=False)
    source: Any = field(default=None, init=False)

    def __post_init__(self) -> None:
        set_parameter(self, "k", integer("k", self.k))
        self._check_source()
        set_parameter(self, "significance", real("significance", self.significance, above=0, most=1))

    @cached_property
    def least_rows(self) -> int | None:
        """k', the rows that every class must have; None where people are counted."""
        if self.sampling_fraction is None:
            return None
        return _k_prime(self.k, float(self.sampling_fraction), float(self.significance), self.truncated)

    @property
    def family(self) -> str:
        return "k-map"

    def holds(self, privacy: Any) -> dict[str, tuple[Any, str]]:
        return {} if self.least_rows is None else {"k'": (self.least_rows, "k")}

    def rules(self, domains: Sequence[Domain], table_counts: Sequence[Counts]) -> list[tuple[Any, ...]]:
        return [] if self.least_rows is None else [("size", self.least_rows)]

    def enough(self, rows: Counts, people: npt.NDArray[np.float64]) -> Bools:
        return np.asarray(people >= self.k * (1 - _CLOSE))

    def explain_people(self, rows: int, people: float) -> tuple[str, Any]:
        most = math.floor(people * (1 + _CLOSE))
        return f"{_in_words(people)} look like all rows together, so the largest k is {most}", most

    def _explain_rows(self, n_rows: int) -> tuple[str, Any]:
        assert self.sampling_fraction is not None
        fraction, significance = float(self.sampling_fraction), float(self.significance)
        most = _least(lambda k: _k_prime(k, fraction, significance, self.truncated) > n_rows, self.k) - 1
        return f"it needs {self.least_rows} rows of the table's {n_rows}, so the largest k is {most}", most

    def __str__(self) -> str:
        return f"{self.k}-map ({self._known_by})"

    def __repr__(self) -> str:
        if self.sampling_fraction is None:
            return self._repr(k=self.k)
        return (
            f"KMap(k={self.k}, sampling_fraction={self.sampling_fraction!r}, "
            f"significance={self.significance!r}, truncated={self.truncated})"
        )


@dataclass(frozen=True, repr=False)
class MaxRisk(OfPeople):
    """No row's individual risk is above the threshold.

    With a `population` table the risk of a class is 1/F. Otherwise it is E(1/F | f), see `anon.risk`, which
    falls with the rows f of a class and with the people that they stand for, so that every class needs as
    many as make it small enough.
    """

    options: ClassVar[tuple[Option, ...]] = (
        Option(
            "max_risk",
            float,
            "Greatest individual risk, by --population, --max-risk-fraction or --sampling-weight.",
            "threshold",
        ),
        Option("max_risk_fraction", float, "Sampling fraction of that risk.", "sampling_fraction"),
    )

    threshold: Real
    sampling_fraction: Real | None = None
    population: Any = field(default=None, compare=False)
    source: Any = field(default=None, init=False)

    def __post_init__(self) -> None:
        set_parameter(self, "threshold", real("threshold", self.threshold, above=0, most=1))
        self._check_source()

    @cached_property
    def least_rows(self) -> int | None:
        """The rows with which a class has the risk; None where people are counted."""
        if self.sampling_fraction is None:
            return None
        return _least(lambda rows: self._risk(rows) <= float(self.threshold) * (1 + _CLOSE), _MOST_ROWS)

    @property
    def family(self) -> str:
        return "individual risk"

    def holds(self, privacy: Any) -> dict[str, tuple[Any, str]]:
        return {} if self.least_rows is None else {"rows of a class": (self.least_rows, "k")}

    def rules(self, domains: Sequence[Domain], table_counts: Sequence[Counts]) -> list[tuple[Any, ...]]:
        return [] if self.least_rows is None else [("size", self.least_rows)]

    def enough(self, rows: Counts, people: npt.NDArray[np.float64]) -> Bools:
        if self.people == "table":
            return np.asarray(people >= math.ceil(1 / exact(self.threshold)))
        return np.asarray(individual_risk(rows, people) <= float(self.threshold) * (1 + _CLOSE))

    def _risk(self, rows: int) -> float:
        assert self.sampling_fraction is not None
        return float(individual_risk(rows, rows / float(self.sampling_fraction))[0])

    def explain_people(self, rows: int, people: float) -> tuple[str, Any]:
        least = 1 / people if self.people == "table" else float(individual_risk(rows, people)[0])
        return f"{_in_words(people)} look like all rows together, so the least risk is {least:.6g}", least

    def _explain_rows(self, n_rows: int) -> tuple[str, Any]:
        least = self._risk(n_rows)
        return f"it needs classes of {self.least_rows} rows, so the least risk is {least:.6g}", least

    def __str__(self) -> str:
        return f"individual risk of at most {written(self.threshold)} ({self._known_by})"

    def __repr__(self) -> str:
        return self._repr(threshold=self.threshold)


@dataclass(frozen=True, repr=False)
class DeltaPresence(OfPeople):
    """That somebody of the population is in the table is known with a probability of `low` to `high` alone.

    Every class of the `population`, recoded by the levels of the release, has a share of `low` to `high` of
    its people in the release (Nergiz, Atzori & Clifton 2007); a class of which nobody is counts as 0. Only
    full-domain recoding recodes a population, so that FullDomain alone enforces it.
    """

    options: ClassVar[tuple[Option, ...]] = (
        Option(
            "presence",
            float,
            "Delta-presence: greatest share in the table of people alike, by --population.",
            "high",
        ),
        Option("presence_low", float, "The least such share (0).", "low"),
    )
    by_levels: ClassVar[bool] = True

    low: Real
    high: Real
    population: Any = field(compare=False)
    source: Any = field(default=None, init=False)

    def __post_init__(self) -> None:
        set_parameter(self, "low", real("low", self.low, least=0, most=1))
        set_parameter(self, "high", real("high", self.high, above=0, most=1))
        if exact(self.low) > exact(self.high):
            raise UsageError(f"low = {written(self.low)} is above high = {written(self.high)}: exchange them")
        if self.population is None:
            raise UsageError(
                "delta-presence is of a table of the population: give ",
                Parameter("population", "--population"),
            )
        self._check_source()

    @classmethod
    def of(cls, values: Mapping[str, Any], **fixed: Any) -> Any:
        return super().of(values, **{"low": 0} | fixed)

    @property
    def absorbing(self) -> bool:
        return False

    @property
    def family(self) -> str:
        return "delta-presence"

    def rules(self, domains: Sequence[Domain], table_counts: Sequence[Counts]) -> list[tuple[Any, ...]]:
        return []

    def enough(self, rows: Counts, people: npt.NDArray[np.float64]) -> Bools:
        f, among = rows.astype(object), people.astype(np.int64).astype(object)
        low, high = exact(self.low), exact(self.high)
        passes = f * high.denominator <= among * high.numerator
        return np.asarray(passes & (f * low.denominator >= among * low.numerator), dtype=np.bool_)

    def holds_together(self, rows: Counts, people: npt.NDArray[np.float64], n_people: float) -> bool:
        return not self.low or int(people.sum()) == n_people

    def explain_people(self, rows: int, people: float) -> tuple[str, Any]:
        share = rows / people
        side = "high" if Fraction(rows) > exact(self.high) * Fraction(int(people)) else "low"
        least = "least" if side == "high" else "greatest"
        return (
            f"{rows} of the {int(people)} people are in the table, so the {least} {side} is {share:.6g}"
        ), share

    def __str__(self) -> str:
        return f"delta-presence of {written(self.low)} to {written(self.high)} ({self._known_by})"

    def __repr__(self) -> str:
        return self._repr(low=self.low, high=self.high)


@dataclass(frozen=True, repr=False)
class PopulationUniqueness(OfPeople):
    """At most a `share` of the population is alone in it with what the release shows, as estimated.

    The `model` estimates it from the sizes of the classes ("dankar", the rule, or one of "zayatz", "pitman",
    "snb" and "thinned"), of a table that is a `sampling_fraction` of the population or has sampling weights.
    It is a requirement on the whole release, tested at the nodes of FullDomain.
    """

    options: ClassVar[tuple[Option, ...]] = (
        Option(
            "population_uniqueness",
            float,
            "Greatest share of people estimated to be alone in the population.",
            "share",
        ),
        Option("uniqueness_fraction", float, "Sampling fraction of that estimate.", "sampling_fraction"),
        Option("uniqueness_model", UniquesModel, "Model of that estimate (dankar).", "model"),
    )
    by_levels: ClassVar[bool] = True

    share: Real
    sampling_fraction: Real | None = None
    model: UniquesModel = "dankar"

    def __post_init__(self) -> None:
        set_parameter(self, "share", real("share", self.share, least=0, most=1))
        self._check_source()
        if self.model not in get_args(UniquesModel):
            known = ", ".join(map(repr, get_args(UniquesModel)))
            raise UsageError(f"model={self.model!r}: choose one of {known}")

    @classmethod
    def of(cls, values: Mapping[str, Any], **fixed: Any) -> Any:
        return super(OfPeople, cls).of(values, **fixed)

    @property
    def absorbing(self) -> bool:
        return False

    @property
    def monotone(self) -> bool:
        return self.model == "zayatz"

    @property
    def family(self) -> str:
        return "population uniqueness"

    def rules(self, domains: Sequence[Domain], table_counts: Sequence[Counts]) -> list[tuple[Any, ...]]:
        return []

    def holds_together(self, rows: Counts, people: npt.NDArray[np.float64], n_people: float) -> bool:
        fraction = self.sampling_fraction
        if fraction is None:
            if not people.sum() > 0:  # nobody says how many people rows stand for
                return False
            fraction = min(1.0, float(rows.sum()) / float(people.sum()))
        try:
            estimated = population_uniques(histogram(rows), float(fraction), self.model)
        except UsageError:  # the model has no estimate
            return False
        return estimated.share <= float(self.share) * (1 + _CLOSE)

    def __str__(self) -> str:
        return (
            f"at most a share of {written(self.share)} alone in the population, by {self.model} "
            f"({self._known_by})"
        )

    def __repr__(self) -> str:
        return self._repr(share=self.share, model=self.model)


def _is_fraction(option: Option) -> bool:
    return option.parameter == "sampling_fraction"


def _in_words(people: float) -> str:
    """People, as many as weights sum up to, or as were counted."""
    return (
        plural(int(people), "person").replace("persons", "people")
        if people == int(people)
        else f"{people:g} people"
    )


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
