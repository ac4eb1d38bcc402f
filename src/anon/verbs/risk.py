# SPDX-License-Identifier: Apache-2.0
"""How likely each row's person is found in the population."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from anon.classes import Classes, group, household_risk, individual_risk, refuse_smaller
from anon.encoding import Units, encode, encode_units
from anon.errors import Parameter, UsageError
from anon.measures import (
    Frequencies,
    Model,
    PopulationUniques,
    frequencies,
    model_estimates,
    population_uniques,
    refuse_fraction,
    risk_html,
)
from anon.measures import histogram as histogram_of
from anon.plain import as_plain
from anon.schema import Schema, check_schema
from anon.tables import read_table
from anon.threads import available_threads
from anon.verbs.check import labels_as_written, measured_roles, read_with_roles, starred_rows
from anon.verbs.people import people_inside

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class HouseholdRisk:
    """Risk of the rows with their households: that one of its members is found.

    `individual` is float64, one per row, NaN where the row has no risk. `expected_rows` sums it over rows,
    `expected_households` over the `n_households`.
    """

    individual: Floats
    n_households: int
    expected_rows: float
    expected_households: float

    def to_dict(self) -> dict[str, Any]:
        """The numbers of the whole table."""
        return {
            name: getattr(self, name) for name in ("n_households", "expected_rows", "expected_households")
        }

    def __repr__(self) -> str:
        return f"HouseholdRisk(n_households={self.n_households}, expected_rows={self.expected_rows:.6g})"


@dataclass(frozen=True, repr=False)
class RowRisk:
    """The risk of every row of a table in the population.

    `individual` (float64) has one entry per row, `sample` and `population` the f rows and F people that look
    like it. A row that is suppressed (`*`, or null, in every quasi-identifier) has NaN, 0 and 0, and counts
    nowhere. `by` says what F is known from: a "table" of the population, where the risk is 1/F; the "sampling
    fraction" or "weights", where it is E(1/F | f). `class_sizes` are the rows of each class.
    """

    individual: Floats
    sample: Floats
    population: Floats
    by: Literal["table", "sampling fraction", "weights"]
    class_sizes: npt.NDArray[np.int64]
    sampling_fraction: float
    at_risk: tuple[float, ...] = (2, 5, 10, 20)
    household: HouseholdRisk | None = None
    model: Model = "dankar"
    counted: PopulationUniques | None = field(default=None, repr=False)

    @property
    def n_rows(self) -> int:
        """Rows that have a risk."""
        return int(np.count_nonzero(self.sample))

    @property
    def n_suppressed(self) -> int:
        """Rows that have none."""
        return len(self.individual) - self.n_rows

    @cached_property
    def expected(self) -> float:
        """The global risk: the number of people that are expected to be found, the sum over rows."""
        return float(np.nansum(self.individual))

    @property
    def mean(self) -> float:
        """The mean risk of a row, the marketer's."""
        return self.expected / self.n_rows if self.n_rows else 0.0

    @cached_property
    def max(self) -> float:
        """The greatest risk of a row, the journalist's."""
        return float(np.nanmax(self.individual)) if self.n_rows else 0.0

    def above(self, threshold: float) -> int:
        """How many rows have a risk greater than `threshold`."""
        if not 0 <= threshold <= 1:
            raise UsageError(f"A risk lies between 0 and 1; {threshold} is no threshold.")
        return int(np.count_nonzero(self.individual > threshold))

    @property
    def sample_uniques(self) -> int:
        """Rows alone with what they show."""
        return int(np.count_nonzero(self.class_sizes == 1))

    @cached_property
    def population_uniques(self) -> PopulationUniques | None:
        """People alone in the population: counted in a table of it, else estimated by a model that is named.

        None where the table is a release, whose cells hide who is alone in the population.
        """
        if self.by == "table" or not self.n_rows:
            return self.counted
        return population_uniques(histogram_of(self.class_sizes), self.sampling_fraction, self.model)

    def uniques_by_fraction(self) -> list[dict[str, Any]]:
        """What each model estimates, were the table another share of the population: `fraction`, `model` and
        `uniques`, for fractions from a tenth of its own up to 1.
        """
        sample = histogram_of(self.class_sizes)
        points: list[dict[str, Any]] = []
        own = self.sampling_fraction
        below, above = np.geomspace(own / 10, own, 7)[:-1], np.geomspace(own, 1, 7)
        above[0], above[-1] = own, 1.0
        for fraction in np.unique([*below, *above]).tolist():
            for model, count in model_estimates(sample, fraction).items():
                if count is not None:
                    points.append({"fraction": fraction, "model": model, "uniques": count})
        return points

    def per_row(self) -> pa.Table:
        """`row` (from 1), `sample`, `population` and `risk` of every row, in the order of the table."""
        columns = {
            "row": np.arange(1, len(self.individual) + 1),
            "sample": self.sample,
            "population": self.population,
            "risk": self.individual,
        }
        if self.household is not None:
            columns["household_risk"] = self.household.individual
        return pa.table({name: pa.array(values, from_pandas=True) for name, values in columns.items()})

    def to_dict(self) -> dict[str, Any]:
        """The numbers of the whole table, ready for JSON; nothing of single rows."""
        return {
            "by": self.by,
            "n_rows": self.n_rows,
            "n_suppressed": self.n_suppressed,
            "n_classes": len(self.class_sizes),
            "sampling_fraction": self.sampling_fraction,
            "expected": self.expected,
            "mean": self.mean,
            "max": self.max,
            "above": {f"{x:g}": self.above(1 / x if x >= 1 else x) for x in self.at_risk},
            "sample_uniques": self.sample_uniques,
            "population_uniques": as_plain(self.population_uniques),
            "household": None if self.household is None else self.household.to_dict(),
        }

    def _repr_html_(self) -> str:
        return risk_html(self.to_dict(), self.individual)

    def __repr__(self) -> str:
        return (
            f"RowRisk(n_rows={self.n_rows}, by={self.by!r}, expected={self.expected:.6g}, max={self.max:.6g})"
        )


def risk(
    source: Any,
    schema: Schema | None = None,
    *,
    population: Any = None,
    sampling_fraction: float | None = None,
    method: Literal["exact", "approx"] = "exact",
    model: Model = "dankar",
    nulls: Literal["own", "wildcard"] = "own",
    alpha: float = 1.0,
    compat: Literal["sdcmicro"] | None = None,
    at_risk: Sequence[float] = (2, 5, 10, 20),
    n_threads: int | None = None,
) -> RowRisk:
    """The risk that each row's person is found by who searches the population.

    The table is a sample of the population, or a release of one. What is known of the population is said by
    `population` or by `sampling_fraction`; without either by the schema's sampling weights.

    Parameters
    ----------
    source : as for `anonymize`
    schema : Schema, optional
        The quasi-identifiers, and the column of sampling weights; with a `population` kinds and hierarchies
        are used too. Where `unit` names whose a row is, such as a household's number, the risk that one of
        its rows is found is told too. Without a schema the table must be a release of this package that
        says its roles itself.
    population : as `source`, optional
        A table of the population: the risk of a row is one over the people inside its cells.
    sampling_fraction : float in (0, 1], optional
        The share of the population that was drawn.
    method : "exact" or "approx"
        Of the individual risk; "approx" is sdcMicro's default.
    model : "dankar", "zayatz", "pitman", "snb" or "thinned"
        Which model estimates the population uniques; "dankar" is the rule that chooses one of the next three.
    nulls : "own" or "wildcard"
        Is a missing value one more value, or does it match anything? A match with a row that lacks a value
        then weighs `alpha`, and a row that lacks all is suppressed; `compat="sdcmicro"` counts it as sdcMicro
        does.
    at_risk : sequence of float
        Thresholds, as shares, or x for 1/x where x >= 1.
    n_threads : int, optional
        Default: the processors this process may use. The answer does not depend on it.

    Raises
    ------
    UsageError
        Roles are missing, or not exactly one thing is said of the population.
    DataError
        A weight is missing or not above 0; or the population has fewer people than the table in some class.
    """
    threads = available_threads(n_threads)
    check_schema(schema, or_none=True)
    weight, unit = (None, None) if schema is None else (schema.sampling_weight, schema.unit)
    if (population is None) + (sampling_fraction is None) != 1 and (
        weight is None or population is not None or sampling_fraction is not None
    ):
        raise UsageError(
            "say what is known of the population in one way: a table of it (",
            Parameter("population", "--population"),
            "), the share of it that the table is (",
            Parameter("sampling_fraction", "--sampling-fraction"),
            "), or the column that says how many people each row stands for (",
            Parameter("sampling_weight of the schema", "--sampling-weight"),
            ")",
        )
    if population is not None or sampling_fraction is not None:
        weight = None
    if sampling_fraction is not None:
        refuse_fraction(sampling_fraction)
    given, metadata = read_with_roles(source, schema)
    if schema is not None and given.format == "csv":
        given = labels_as_written(given, schema)
    table = given.table
    counted = None
    by: Literal["table", "sampling fraction", "weights"]
    if population is not None:
        if nulls != "own":
            raise UsageError(
                "in a table of the population a missing value is one more value: leave nulls out"
            )
        by = "table"
        people = read_table(population)
        roles = schema or measured_roles(metadata, None)
        classes, inside, alone = people_inside(table, roles, metadata, people, threads)
        refuse_smaller(classes, inside)
        counts = Frequencies(classes, classes.sizes.astype(np.float64), inside.astype(np.float64))
        by_class = 1 / counts.population
        n_people = float(people.num_rows)
        fraction = table.num_rows / n_people
        if alone is not None:
            counted = PopulationUniques(
                float(alone), alone / n_people, n_people, "count", "the population is known", {"count": alone}
            )
    else:
        roles = Schema(measured_roles(metadata, schema).uncoded().quasi, sampling_weight=weight)
        encoded = encode(table, roles, n_threads=threads)
        starred = starred_rows(encoded) if metadata is None else None
        left_out = None if starred is None else np.flatnonzero(starred).astype(np.uint32)
        classes = group(encoded.quasi_codes, left_out, threads)
        first = classes.rows[classes.offsets[:-1]]
        cells = [codes[first] for codes in encoded.quasi_codes]
        missing = [codes == domain.n_values for domain, codes in zip(encoded.quasi, cells, strict=True)]
        counts = frequencies(
            classes, cells, missing, encoded.weights, nulls=nulls, alpha=alpha, compat=compat
        )
        of_row = encoded.weights
        by = "weights" if of_row is not None else "sampling fraction"
        if sampling_fraction is not None:
            fraction = float(sampling_fraction)
            counts = Frequencies(classes, counts.f, counts.f / fraction)
        else:
            assert of_row is not None
            total = float(np.maximum(of_row[classes.rows], 1.0).sum())
            fraction = len(classes.rows) / total if total else 1.0
        by_class = _by_class(counts, method, sampling_fraction)
    individual, sample, of_population = (
        _at_rows(classes, values, table.num_rows, empty)
        for values, empty in ((by_class, np.nan), (counts.f, 0.0), (counts.population, 0.0))
    )
    return RowRisk(
        individual,
        sample,
        of_population,
        by,
        classes.sizes[counts.f > 0],
        fraction,
        tuple(at_risk),
        None if unit is None else _households(individual, encode_units(table, unit)),
        model,
        counted,
    )


def _by_class(
    counts: Frequencies, method: Literal["exact", "approx"], sampling_fraction: float | None
) -> Floats:
    """The individual risk of each class; of one fraction once for each number of rows."""
    risk = np.full(len(counts.f), np.nan)
    has = counts.f > 0
    if sampling_fraction is None:
        risk[has] = individual_risk(counts.f[has], counts.population[has], method)
    elif has.any():
        sizes, where = np.unique(counts.f[has], return_inverse=True)
        risk[has] = individual_risk(sizes, sizes / sampling_fraction, method)[where]
    return risk


def _at_rows(classes: Classes, values: Floats, n_rows: int, empty: float) -> Floats:
    """What each row has of its class; `empty` where it has none."""
    of_row = np.full(n_rows, empty)
    of_row[classes.rows] = np.repeat(values, classes.sizes)
    of_row.flags.writeable = False
    return of_row


def _households(individual: Floats, units: Units) -> HouseholdRisk:
    known = ~np.isnan(individual)
    _, households = np.unique(units.codes[known], return_inverse=True)
    of_row = np.full(len(individual), np.nan)
    of_row[known] = household_risk(individual[known], households)
    n_households = int(households.max(initial=-1)) + 1
    by_household = np.zeros(n_households)
    by_household[households] = of_row[known]
    of_row.flags.writeable = False
    return HouseholdRisk(of_row, n_households, float(np.nansum(of_row)), float(by_household.sum()))
