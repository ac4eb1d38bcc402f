# SPDX-License-Identifier: Apache-2.0
"""Which measures a sweep can take, and which points no other beats."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any, Literal

from anon.choice.configuration import Configuration
from anon.errors import UsageError, did_you_mean
from anon.measures import ATTACKS, COSTS, GREATEST_IS_WORST, RISKS
from anon.plain import as_plain

# Is the greatest value the worst one?
OF_PRIVACY: Mapping[str, bool] = MappingProxyType(
    GREATEST_IS_WORST
    | {
        name: RISKS[name].greatest_is_worst
        for name in ("k", "k_units", "prosecutor.max", "prosecutor.mean", "sample_uniques")
    }
)
OF_NUMBERS = (
    *("sse_sst", "il1s", "eigen", "il_correl", "correlation_max", "correlation_mean", "quantiles"),
    *("d_risk", "linkage", "pmse", "pmse_ratio"),
)
OF_UTILITY: Mapping[str, bool] = MappingProxyType(
    {
        name: COSTS[name].greatest_is_worst
        for name in (
            *("u_loss", "gcp", "ordered_loss", "entropy", "um", "um_rows", "pm", "pm_rows", "avg_wtd"),
            *("dm", "c_avg", "class_size", "n_suppressed", "kl", "count_error", "precision"),
            *(f"numbers.{each}" for each in OF_NUMBERS),
        )
    }
)
OF_INTACT = ("prosecutor.max", "prosecutor.mean", "sample_uniques")  # of a bucketization's quasi-identifiers
OF_COUNTS = ("pm", "pm_rows", "avg_wtd", "kl")  # of utility, need the sensitive values of every class
OF_ATTACKS: Mapping[str, bool] = MappingProxyType(
    {name: measure.greatest_is_worst for name, measure in ATTACKS.items()}
)
MEASURES: Mapping[str, bool] = MappingProxyType(dict(OF_PRIVACY) | dict(OF_ATTACKS) | dict(OF_UTILITY))

PRIVACY_AXIS, UTILITY_AXIS = "prosecutor.mean", "gcp"
"""The axes of a sweep that names none: who is found comes before what is learned."""

Relation = Literal["better", "worse", "tie", "incomparable"]
Cost = tuple[float, float]  # on the two axes; the lower, the better


@dataclass(frozen=True)
class Point:
    """One configuration, measured.

    `measures` are by their fixed names, NaN where the release does not allow one; `privacy` and
    `utility` are those of the axes. `seconds` took the making and checking of the release, beside other
    points. A point that is not `satisfied` says `why` and has no measures. `requirement` is the kind of
    requirement. `configuration` is None for the two special cases, "trivial" and "original".
    """

    configuration: Configuration | None
    name: str
    requirement: str
    parameters: Mapping[str, Any]
    measures: Mapping[str, float]
    privacy: float
    utility: float
    classes: int
    seconds: float = field(compare=False)
    satisfied: bool
    why: str | None
    efficient: bool

    def to_dict(self) -> dict[str, Any]:
        """The point as plain values, ready for JSON."""
        entry = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "configuration"}
        return dict(as_plain(entry))


def bounds(privacy: str, utility: str) -> dict[str, tuple[int, str]]:
    """The bounds of `Frontier.choose`: `max_prosecutor_mean` -> 0 (the first axis), "prosecutor.mean"."""
    return {
        f"{'max' if MEASURES[name] else 'min'}_{name.replace('.', '_')}": (axis, name)
        for axis, name in enumerate((privacy, utility))
    }


def check_measures(names: Iterable[str]) -> None:
    """Raise UsageError where there is no measure of such a name."""
    for name in names:
        if name not in MEASURES:
            raise UsageError(
                f"there is no measure {name!r}; {did_you_mean(name, MEASURES)}there are {', '.join(MEASURES)}"
            )


def dominates(one: Cost, other: Cost) -> bool:
    """Is `one` as good as `other` on both axes and better on one? False where a cost is NaN."""
    return one[0] <= other[0] and one[1] <= other[1] and one != other


def undominated(costs: Sequence[Cost]) -> list[bool]:
    """Which costs no other one dominates. A cost with NaN is none of them, and dominates nothing."""
    efficient = [False] * len(costs)
    measured = sorted((cost, i) for i, cost in enumerate(costs) if is_measured(cost))
    least: float | None = None  # on the second axis, of all costs less on the first
    for _, equal in itertools.groupby(measured, lambda each: each[0][0]):
        same = list(equal)
        best = same[0][0][1]
        if least is None or best < least:
            least = best
            for cost, i in same:
                efficient[i] = cost[1] == best
    return efficient


def cost_of(point: Point, privacy: str, utility: str) -> Cost:
    return (
        point.privacy if MEASURES[privacy] else -point.privacy,
        point.utility if MEASURES[utility] else -point.utility,
    )


def is_measured(cost: Cost) -> bool:
    return not (math.isnan(cost[0]) or math.isnan(cost[1]))
