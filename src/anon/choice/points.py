# SPDX-License-Identifier: Apache-2.0
"""What a sweep found: points, the efficient ones, prices."""

from __future__ import annotations

import itertools
import json
import math
import os
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from anon.choice.configuration import Configuration
from anon.choice.dominance import MEASURES, Cost, Point, Relation, bounds, cost_of, dominates, is_measured
from anon.errors import InfeasibleError, UsageError
from anon.methods import Identity, Suppress
from anon.plain import as_plain


@dataclass(frozen=True)
class Price:
    """What privacy costs between two neighbors on the frontier.

    Going from `less_private` to `more_private` gains `privacy_gained` and loses `utility_lost` (both at
    least 0, in the units of the axes); `price` is the second over the first, NaN where that has no value.
    """

    less_private: Point
    more_private: Point
    privacy_gained: float
    utility_lost: float
    price: float


@dataclass(frozen=True, repr=False)
class Frontier:
    """The points of a sweep, in the order they were asked for, the special cases last.

    `privacy` and `utility` name the measures of the two axes. Efficient points are those that meet
    their requirements and that no other such point dominates.
    """

    points: tuple[Point, ...]
    privacy: str
    utility: str
    n_rows: int

    @property
    def efficient(self) -> tuple[Point, ...]:
        """The efficient points, the most private first."""
        return tuple(sorted((point for point in self.points if point.efficient), key=self.cost))

    def cost(self, point: Point) -> Cost:
        """The point on both axes, turned so that less is better."""
        return cost_of(point, self.privacy, self.utility)

    def relation(self, one: Point, other: Point) -> Relation:
        """How one point compares with another: "incomparable" where each is better on one axis.

        A point that could not be measured is incomparable with every other.
        """
        a, b = self.cost(one), self.cost(other)
        if dominates(a, b):
            return "better"
        if dominates(b, a):
            return "worse"
        return "tie" if a == b and is_measured(a) else "incomparable"

    @property
    def ties(self) -> tuple[tuple[Point, ...], ...]:
        """Points that are equal on both axes, group by group."""
        groups: dict[Cost, list[Point]] = {}
        for point in self.points:
            if is_measured(self.cost(point)):
                groups.setdefault(self.cost(point), []).append(point)
        return tuple(tuple(group) for group in groups.values() if len(group) > 1)

    def choose(self, **bound: float) -> Point:
        """The point that is best on one axis among those that keep a bound on the other.

        `choose(max_prosecutor_mean=0.05)`, `choose(max_gcp=0.2)`; of an axis where more is better the bound
        is `min_`, as in `choose(min_k=10)`. The original table is never chosen. Raises InfeasibleError,
        with the tightest bound that can be kept, where no point keeps this one.
        """
        allowed = bounds(self.privacy, self.utility)
        if len(bound) != 1 or next(iter(bound)) not in allowed:
            raise UsageError(f"choose takes one bound, {' or '.join(allowed)}")
        [(asked, limit)] = bound.items()
        axis, name = allowed[asked]
        most = limit if MEASURES[name] else -limit
        costs = [
            (self.cost(point), point)
            for point in self.points
            if point.satisfied and point.name != ORIGINAL and is_measured(self.cost(point))
        ]
        kept = [(cost[1 - axis], cost[axis], i) for i, (cost, _) in enumerate(costs) if cost[axis] <= most]
        if kept:
            return costs[min(kept)[2]][1]
        tightest = min((cost[axis] for cost, _ in costs), default=None)
        if tightest is None:
            raise InfeasibleError("no point was measured, so that none can be chosen")
        tightest = tightest if MEASURES[name] else -tightest
        raise InfeasibleError(
            f"no point keeps {asked} = {limit:g}: the {'least' if MEASURES[name] else 'greatest'} {name} "
            f"is {tightest:g}",
            requirement=asked,
            tightest=tightest,
        )

    @property
    def knee(self) -> Point | None:
        """The efficient point furthest below the chord between the ends of the frontier.

        The scales of the axes do not matter. None where no point lies below the chord.
        """
        curve = [point for point in self.efficient if all(map(math.isfinite, self.cost(point)))]
        if len(curve) < 3:
            return None
        (p_first, u_first), (p_last, u_last) = self.cost(curve[0]), self.cost(curve[-1])
        width, height = p_last - p_first, u_first - u_last
        if not (width and height):
            return None

        def depth(point: Point) -> float:
            p, u = self.cost(point)
            return 1 - (p - p_first) / width - (u - u_last) / height

        deepest = max(curve[1:-1], key=depth)
        return deepest if depth(deepest) > 0 else None

    @property
    def prices(self) -> tuple[Price, ...]:
        """The slope between each two neighbors on the frontier, the most private first."""
        distinct = [next(group) for _, group in itertools.groupby(self.efficient, self.cost)]
        return tuple(self._price(one, other) for one, other in itertools.pairwise(distinct))

    def _price(self, more_private: Point, less_private: Point) -> Price:
        (p_more, u_more), (p_less, u_less) = self.cost(more_private), self.cost(less_private)
        gained, lost = p_less - p_more, u_more - u_less
        price = lost / gained if math.isfinite(gained) and math.isfinite(lost) else math.nan
        return Price(less_private, more_private, gained, lost, price)

    @cached_property
    def table(self) -> pa.Table:
        """A line per point; `parameters` is JSON. `n_better` others are better, and so on."""
        columns: dict[str, Any] = {
            name: [getattr(point, name) for point in self.points] for name in ("name", "requirement")
        }
        columns["parameters"] = [json.dumps(as_plain(point.parameters)) for point in self.points]
        for name in dict.fromkeys(name for point in self.points for name in point.measures):
            columns[name] = [point.measures.get(name, math.nan) for point in self.points]
        for name in ("classes", "seconds", "satisfied", "why", "efficient"):
            columns[name] = [getattr(point, name) for point in self.points]
        p, u = np.array([self.cost(point) for point in self.points]).T
        relations = np.zeros((len(p), 3), np.int64)
        for i in range(len(p)):
            as_good, as_bad = (p <= p[i]) & (u <= u[i]), (p >= p[i]) & (u >= u[i])
            relations[i] = [np.sum(as_good & ~as_bad), np.sum(as_bad & ~as_good), np.sum(as_good & as_bad)]
        columns["n_better"], columns["n_worse"], ties = relations.T
        columns["n_tie"] = np.maximum(ties - 1, 0)  # a point ties with itself, unless it was not measured
        columns["n_incomparable"] = len(p) - 1 - columns["n_better"] - columns["n_worse"] - columns["n_tie"]
        return pa.table(columns)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain lists, text and numbers, ready for JSON."""
        knee = self.knee
        return {
            "n_rows": self.n_rows,
            "privacy": self.privacy,
            "utility": self.utility,
            "points": [point.to_dict() for point in self.points],
            "efficient": [point.name for point in self.efficient],
            "knee": None if knee is None else knee.name,
            "prices": [
                as_plain(
                    {f.name: getattr(price, f.name) for f in fields(price)}
                    | {"less_private": price.less_private.name, "more_private": price.more_private.name}
                )
                for price in self.prices
            ],
            "ties": [[point.name for point in group] for group in self.ties],
        }

    def plot(self, path: str | os.PathLike[str]) -> None:
        """Draw the points and the frontier to an SVG, PNG or HTML file, chosen by the suffix of `path`."""
        from anon import figures

        figures.save(figures.frontier(self), path)

    def _repr_html_(self) -> str:
        from anon import figures
        from anon.choice.notebook import frontier_html

        return frontier_html(self.to_dict(), figures.frontier(self))

    def __repr__(self) -> str:
        return (
            f"Frontier({len(self.points)} points, {len(self.efficient)} efficient, "
            f"{self.privacy!r} against {self.utility!r})"
        )


TRIVIAL, ORIGINAL = "trivial", "original"
SPECIAL = {TRIVIAL: Configuration((), Suppress("quasi")), ORIGINAL: Configuration((), Identity())}
