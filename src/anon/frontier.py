# SPDX-License-Identifier: Apache-2.0
"""Choosing the release: a sweep over configurations, its points, and the efficient frontier.

Every configuration is a release, made and checked as `anonymize` does, measured and dropped; privacy
and utility are never added up (Li & Li 2009, 4). One point is more efficient than another if it is as
good on both axes and better on one. The two special cases (4.3) are always points: the table without its
quasi-identifiers ("trivial") and the table as it is ("original").
"""

from __future__ import annotations

import ctypes
import hashlib
import itertools
import json
import math
import operator
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, fields, is_dataclass, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from threading import Lock
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

import anon
from anon.anonymize import check_arguments, partitioned, table_counts
from anon.cells import texts
from anon.classes import group
from anon.encode import Encoded, Missing, available_threads, encode, encode_column, of_published_rows
from anon.errors import AnonError, InfeasibleError, UsageError, did_you_mean
from anon.files import replacing
from anon.methods import (
    PERTURBING,
    TGC,
    Anatomy,
    Curve,
    Identity,
    KMembers,
    Method,
    Mondrian,
    Progress,
    Suppress,
    Task,
)
from anon.plain import as_plain
from anon.populations import Populations, large_populations, u_loss
from anon.privacy import GREATEST_IS_WORST, of_intact
from anon.privacy import measure as measure_privacy
from anon.read import read_source
from anon.release import Release, recode
from anon.requirements import (
    AlphaK,
    BetaLikeness,
    Custom,
    DeltaDisclosure,
    KAnonymity,
    LDiversity,
    Requirement,
    SDiversityBound,
    TCloseness,
    check_list,
    compile,
    infeasible,
)
from anon.schema import Attribute, Schema, check_names
from anon.utility import measure as measure_utility
from anon.workload import Workload, answer, parse_queries, preset, true_counts

if TYPE_CHECKING:
    from anon.job import Job

# Is the greatest value the worst one?
OF_PRIVACY: Mapping[str, bool] = MappingProxyType(
    GREATEST_IS_WORST | {"k": False, "prosecutor.max": True, "prosecutor.mean": True, "sample_uniques": True}
)
OF_UTILITY: Mapping[str, bool] = MappingProxyType(
    dict.fromkeys(
        (
            *("u_loss", "gcp", "ordered_loss", "entropy", "um", "um_rows", "pm", "pm_rows", "avg_wtd"),
            *("dm", "c_avg", "class_size", "n_suppressed", "kl", "count_error"),
        ),
        True,
    )
    | {"precision": False}
)
OF_INTACT = ("prosecutor.max", "prosecutor.mean", "sample_uniques")  # of a bucketization's quasi-identifiers
OF_COUNTS = ("pm", "pm_rows", "avg_wtd", "kl")  # of utility, need the sensitive values of every class
MEASURES: Mapping[str, bool] = MappingProxyType(dict(OF_PRIVACY) | dict(OF_UTILITY))

MOST_POINTS = 100_000  # of a grid

Relation = Literal["better", "worse", "tie", "incomparable"]
Cost = tuple[float, float]  # on the two axes; the lower, the better


@dataclass(frozen=True)
class Configuration:
    """One release to try: what it must satisfy, by which method, published how."""

    require: tuple[Requirement, ...] = ()
    method: Method = field(default_factory=Mondrian)
    publish: Literal["generalization", "bucketization"] = "generalization"
    numeric: Literal["interval", "bounds", "midpoint", "mean", "level"] = "interval"

    def __post_init__(self) -> None:
        check_list(self.require)
        object.__setattr__(self, "require", tuple(self.require))

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Every setting that is not a default, as plain numbers and text, by the names of the flags."""
        told: dict[str, Any] = {"method": _method_name(self.method)}
        for requirement in self.require:
            of = "" if requirement.sensitive is None else f"[{requirement.sensitive}]"
            for name, value in _settings(requirement).items():
                key, number = f"{name}{of}", 2
                while told.get(key, value) != value:
                    key, number = f"{name}{of}#{number}", number + 1
                told[key] = value
        for name, value in _settings(self.method).items():
            if name != "what":
                told[f"{told['method']}.{name}" if name in told else name] = value
        return told | {"publish": self.publish} | ({} if self._plain else {"numeric": self.numeric})

    @property
    def name(self) -> str:
        """The configuration in a line: `mondrian k=10 t=0.2 generalization`."""
        words = [
            str(value) if name in ("method", "publish") else f"{name}={value}"
            for name, value in self.parameters.items()
        ]
        return " ".join(words)

    @property
    def requirement(self) -> str:
        """The kinds of requirement, without their parameters: `k-anonymity + t-closeness`."""
        return " + ".join(dict.fromkeys(map(_family, self.require))) or "none"

    @property
    def _plain(self) -> bool:
        return self.numeric == "interval"


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
        told = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "configuration"}
        return dict(as_plain(told))


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
        return _cost(point, self.privacy, self.utility)

    def relation(self, one: Point, other: Point) -> Relation:
        """How one point compares with another: "incomparable" where each is better on one axis.

        A point that could not be measured is incomparable with every other.
        """
        a, b = self.cost(one), self.cost(other)
        if dominates(a, b):
            return "better"
        if dominates(b, a):
            return "worse"
        return "tie" if a == b and _is_measured(a) else "incomparable"

    @property
    def ties(self) -> tuple[tuple[Point, ...], ...]:
        """Points that are equal on both axes, group by group."""
        groups: dict[Cost, list[Point]] = {}
        for point in self.points:
            if _is_measured(self.cost(point)):
                groups.setdefault(self.cost(point), []).append(point)
        return tuple(tuple(group) for group in groups.values() if len(group) > 1)

    def choose(self, **bound: float) -> Point:
        """The point that is best on one axis among those that keep a bound on the other.

        `choose(max_p_loss=0.2)`, `choose(max_u_loss=0.03)`; of an axis where more is better the bound
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
            if point.satisfied and point.name != ORIGINAL and _is_measured(self.cost(point))
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
        told: dict[str, Any] = {
            name: [getattr(point, name) for point in self.points] for name in ("name", "requirement")
        }
        told["parameters"] = [json.dumps(as_plain(point.parameters)) for point in self.points]
        for name in dict.fromkeys(name for point in self.points for name in point.measures):
            told[name] = [point.measures.get(name, math.nan) for point in self.points]
        for name in ("classes", "seconds", "satisfied", "why", "efficient"):
            told[name] = [getattr(point, name) for point in self.points]
        p, u = np.array([self.cost(point) for point in self.points]).T
        relations = np.zeros((len(p), 3), np.int64)
        for i in range(len(p)):
            as_good, as_bad = (p <= p[i]) & (u <= u[i]), (p >= p[i]) & (u >= u[i])
            relations[i] = [np.sum(as_good & ~as_bad), np.sum(as_bad & ~as_good), np.sum(as_good & as_bad)]
        told["n_better"], told["n_worse"], ties = relations.T
        told["n_tie"] = np.maximum(ties - 1, 0)  # a point ties with itself, unless it was not measured
        told["n_incomparable"] = len(p) - 1 - told["n_better"] - told["n_worse"] - told["n_tie"]
        return pa.table(told)

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
        from anon.report import frontier_tables, html_of

        return html_of(frontier_tables(self.to_dict())[0])

    def __repr__(self) -> str:
        return (
            f"Frontier({len(self.points)} points, {len(self.efficient)} efficient, "
            f"{self.privacy!r} against {self.utility!r})"
        )


def bounds(privacy: str, utility: str) -> dict[str, tuple[int, str]]:
    """The bounds that `Frontier.choose` takes: `max_p_loss` -> 0 (the first axis), "p_loss"."""
    return {
        f"{'max' if MEASURES[name] else 'min'}_{name}": (axis, name)
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
    measured = sorted((cost, i) for i, cost in enumerate(costs) if _is_measured(cost))
    least: float | None = None  # on the second axis, of all costs less on the first
    for _, equal in itertools.groupby(measured, lambda each: each[0][0]):
        same = list(equal)
        best = same[0][0][1]
        if least is None or best < least:
            least = best
            for cost, i in same:
                efficient[i] = cost[1] == best
    return efficient


# --- configurations


def grid(text: str, base: Job | None = None) -> list[Configuration]:
    """The configurations of a compact grid: `k=10,50,100 t=0.05:0.4:8 method=mondrian,curve`.

    Names are the flags of `anon anonymize` with `_` for `-`; each takes values with commas between, or
    start:stop:count, evenly spaced with both ends. All combinations are meant, the last name varying
    fastest. What `base`, a job, says of requirements and method holds where the grid says nothing.
    """
    from anon.job import OF_GRID, load_job

    values: dict[str, list[Any]] = {}
    for word in text.split():
        name, equals, listed = word.partition("=")
        if not (name and equals and listed):
            raise UsageError(f"a grid is written name=value,value ...; {word!r} is not")
        if name not in OF_GRID:
            hint = did_you_mean(name, OF_GRID)
            raise UsageError(f"a grid has no {name!r}; {hint}its names are {', '.join(OF_GRID)}")
        if name in values:
            raise UsageError(f"a grid names {name!r} once, with commas between the values")
        values[name] = [[each] if name == "split" else each for each in _listed(name, listed)]
    if not values:
        raise UsageError("the grid is empty; write, for example, k=10,50,100 method=mondrian,curve")
    if math.prod(map(len, values.values())) > MOST_POINTS:
        raise UsageError(f"the grid has more than {MOST_POINTS} combinations")
    told = {} if base is None else base.model_dump(include=set(OF_GRID), exclude_unset=True)
    found = []
    for combination in itertools.product(*values.values()):
        job = load_job(None, told | dict(zip(values, combination, strict=True)))
        settings = {name: value for name, value in job.options().items() if name in ("publish", "numeric")}
        found.append(Configuration(tuple(job.requirements()), job.configured_method(), **settings))
    return found


def _listed(name: str, text: str) -> list[Any]:
    """The values of one name of a grid; ranges are exact decimals."""
    ends = text.split(":")
    if len(ends) == 1:
        return [_value(item) for item in text.split(",")]
    try:
        start, stop = Fraction(ends[0]), Fraction(ends[1])
        count = int(ends[2])
        if len(ends) > 3 or not 1 <= count <= MOST_POINTS:
            raise ValueError
    except (ValueError, IndexError, ZeroDivisionError):
        raise UsageError(
            f"{name}={text}: a range is start:stop:count, as in t=0.05:0.4:8, with at most "
            f"{MOST_POINTS} values"
        ) from None
    step = (stop - start) / max(count - 1, 1)
    places = [start + step * i for i in range(count)]
    return [int(place) if place.denominator == 1 else float(place) for place in places]


def _value(text: str) -> Any:
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _configurations(asked: Any) -> list[Configuration]:
    """A grid, or a list of grids and configurations; one that is there twice is tried once."""
    listed = [asked] if isinstance(asked, str | Configuration) else asked
    if not isinstance(listed, Iterable):
        raise UsageError("configurations must be a grid such as 'k=10,50', or a list of configurations")
    found: list[Configuration] = []
    for each in listed:
        if not isinstance(each, str | Configuration):
            raise UsageError(f"a configuration is a Configuration or a grid, not {type(each).__name__}")
        found += grid(each) if isinstance(each, str) else [each]
    if not found:
        raise UsageError("there is no configuration to try: give a grid such as 'k=10,50,100'")
    return list(dict.fromkeys(found))


_METHOD_NAMES: Mapping[type[Any], str] = {
    Mondrian: "mondrian",
    KMembers: "kmembers",
    TGC: "tgc",
    Curve: "curve",
    Anatomy: "anatomy",
    Identity: "identity",
}
_SETTING_NAMES = {"kind": "l_kind", "distance": "t_distance", "bound": "s_bound", "cfunc": ""}


def _method_name(method: Any) -> str:
    if isinstance(method, Suppress):
        return f"suppress-{method.what}"
    return _METHOD_NAMES.get(type(method), type(method).__name__)


def _settings(thing: Any) -> dict[str, Any]:
    """The fields of a requirement or method that are not defaults, by the names of the flags."""
    told = {}
    for each in fields(thing):
        name, value = _SETTING_NAMES.get(each.name, each.name), getattr(thing, each.name)
        shown = (
            name and value != each.default and not (name == "sensitive" and isinstance(thing, Requirement))
        )
        if shown or (name == "c" and thing.kind == "recursive"):
            told[name] = _written(value)
    return told


def _written(value: Any) -> Any:
    if isinstance(value, tuple):
        return "+".join(map(str, value))
    return value if isinstance(value, int | float | str) else str(value)


def _unique(names: Sequence[str]) -> list[str]:
    """The names, a number behind those that were there before: `Custom` requirements may share one."""
    seen: Counter[str] = Counter()
    told = []
    for name in names:
        seen[name] += 1
        told.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return told


def _family(requirement: Requirement) -> str:
    match requirement:
        case LDiversity(kind=kind):
            return "l-diversity" if kind == "probabilistic" else f"{kind} l-diversity"
        case TCloseness(distance=distance):
            return "t-closeness" if distance == "js" else f"{distance} t-closeness"
        case BetaLikeness(enhanced=enhanced):
            return "enhanced β-likeness" if enhanced else "β-likeness"
        case Custom(name=name):
            return name
    families: Mapping[type[Any], str] = {
        KAnonymity: "k-anonymity",
        DeltaDisclosure: "δ-disclosure",
        AlphaK: "(α,k)-anonymity",
        SDiversityBound: "S-diversity",
    }
    return families.get(type(requirement), type(requirement).__name__)


# --- the sweep

M_MMAP_THRESHOLD = -3  # of glibc's malloc.h
TRIVIAL, ORIGINAL = "trivial", "original"
SPECIAL = {TRIVIAL: Configuration((), Suppress("quasi")), ORIGINAL: Configuration((), Identity())}


@dataclass(frozen=True, repr=False)
class _Sweep:
    """What all points share: the table in codes, and what is asked of every release.

    Mondrian's packed copy of the table is the most that a point needs: `splitting` lets one point have
    it at a time, with `all_threads`.
    """

    encoded: Encoded
    judged: Encoded
    counts: tuple[npt.NDArray[np.int64], ...]
    measures: tuple[str, ...]
    min_support: float
    populations: Populations | None
    workload: Workload | None
    answers: npt.NDArray[np.int64] | None
    seed: int
    n_threads: int
    all_threads: int
    splitting: Lock
    cache: Path | None
    key: bytes


@dataclass(frozen=True)
class _Outcome:
    """What is learned from one release, and kept in the cache: numbers, and why there are none."""

    measures: Mapping[str, float]
    classes: int
    seconds: float
    satisfied: bool
    why: str | None


def frontier(
    table: Any,
    schema: Schema,
    configurations: str | Iterable[str | Configuration],
    *,
    privacy: str = "p_loss",
    utility: str = "u_loss",
    measures: Iterable[str] = (),
    min_support: float = 0.05,
    workload: Callable[[Encoded], Workload] | Sequence[str] | None = None,
    missing: Missing = "category",
    cache: str | os.PathLike[str] | None = None,
    n_threads: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Frontier:
    """Try every configuration on a table, and place each on a measure of privacy and one of utility.

    Parameters
    ----------
    table, schema, missing, seed, n_threads, progress
        As for `anonymize`. Points are made side by side, one thread each; the answer is the same for
        every number of threads, and that of `anonymize` with the same seed.
    configurations : grid, or a list of grids and Configurations
        `k=10,50,100 t=0.05:0.4:8 method=mondrian,curve publish=generalization,bucketization`; see `grid`.
    privacy, utility : names of measures
        The two axes; any two of `MEASURES`. `count_error` is the average relative error of `workload`.
    measures : names of measures
        Recorded beside those of the axes.
    min_support : float
        Support of the populations of `u_loss`.
    workload : function of the encoded table, or a list of queries
        The COUNT queries of `count_error`; default: Li & Li's preset, drawn with `seed`.
    cache : folder, optional
        Points are kept there as soon as they are measured, and taken from there when the same is asked of
        the same table: an interrupted sweep goes on. The files hold measures, no cell; their names are
        hashes. Points with a `Custom` requirement are not kept.

    Raises
    ------
    UsageError, DataError
        The parameters or the table cannot be used as asked. What no release can meet, or one method
        refuses or fails at, is not an error but a point that says so.
    """
    tried = _configurations(configurations)
    names = tuple(dict.fromkeys((privacy, utility, *([measures] if isinstance(measures, str) else measures))))
    check_measures(names)
    if privacy == utility:
        raise UsageError(f"both axes are {privacy!r}: choose two measures")
    for one in tried:
        check_arguments(
            schema, one.method, one.require, one.publish, one.numeric, "class", "error", seed, progress
        )
        if type(one.method) in PERTURBING:
            raise UsageError("a sweep measures cells, and noise has none: compare it in a scenario")
    threads = available_threads(n_threads)
    tell = progress or (lambda stage, done, total: None)

    tell("read", 0, 1)
    source = read_source(table)
    tell("encode", 0, 1)
    encoded = encode(source.table, schema, missing=missing, n_threads=threads)
    sweep = _prepared(encoded, tried, names, min_support, workload, seed, cache, threads)
    pa.default_memory_pool().release_unused()
    tell("points", 0, len(SPECIAL) + len(tried))
    workers = min(threads, len(tried))
    done = 0
    with ThreadPoolExecutor(workers) as pool:
        try:
            outcomes = []
            for some, of_each in ((SPECIAL.values(), threads), (tried, threads // workers)):
                coming = [pool.submit(_outcome, replace(sweep, n_threads=of_each), one) for one in some]
                for each in as_completed(coming):
                    each.result()
                    done += 1
                    tell("points", done, len(SPECIAL) + len(tried))
                outcomes.append([each.result() for each in coming])
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    words = _unique([one.name for one in tried])
    special = [
        _point(None, name, name, outcome, privacy, utility)
        for name, outcome in zip(SPECIAL, outcomes[0], strict=True)
    ]
    points = [
        *(
            _point(one, name, one.requirement, outcome, privacy, utility)
            for one, name, outcome in zip(tried, words, outcomes[1], strict=True)
        ),
        *special,
    ]
    costs = [_cost(one, privacy, utility) for one in points]
    efficient = undominated(costs)
    return Frontier(
        tuple(replace(one, efficient=best) for one, best in zip(points, efficient, strict=True)),
        privacy,
        utility,
        encoded.n_rows,
    )


def _prepared(
    encoded: Encoded,
    tried: Sequence[Configuration],
    names: tuple[str, ...],
    min_support: float,
    workload: Callable[[Encoded], Workload] | Sequence[str] | None,
    seed: int,
    cache: str | os.PathLike[str] | None,
    n_threads: int,
) -> _Sweep:
    """Everything that is computed once. Demands that make no sense for the table are refused here."""
    judged = of_published_rows(encoded)
    counts = table_counts(judged)
    n_kept = encoded.n_rows - len(encoded.suppressed)
    needy = [name for name in names if name in GREATEST_IS_WORST or name == "u_loss"]
    if needy and not encoded.sensitive:
        raise UsageError(f"{needy[0]} is about sensitive attributes: name one in the schema")
    for one in tried:
        compile(one.require, judged.sensitive, counts, n_kept)
        if one.publish == "bucketization" and not encoded.sensitive:
            raise UsageError("a bucketization needs a sensitive attribute: name one in the schema")
    populations, queries, answers = None, None, None
    if "u_loss" in names:
        populations = large_populations(encoded, min_support, n_threads=n_threads)
    if "count_error" in names:
        if workload is None:
            queries = preset(encoded, "li", seed=seed, qd=min(4, len(encoded.quasi)))
        else:
            queries = workload(encoded) if callable(workload) else parse_queries(encoded, workload)
        answers = true_counts(queries, encoded, n_threads)
    key = b""
    if cache is not None:
        cache = _folder(cache)
        codes = (encoded.quasi_codes, encoded.sensitive_codes, encoded.suppressed)
        key = _digest(anon.__version__, encoded.quasi, encoded.sensitive, codes, names, queries, seed)
        key += _digest(None if populations is None else populations.min_support)
    return _Sweep(
        *(encoded, judged, counts, names, min_support, populations, queries, answers),
        *(seed, n_threads, n_threads, Lock(), cache, key),
    )


def _outcome(sweep: _Sweep, one: Configuration) -> _Outcome:
    """From the cache, or made, measured and put there."""
    path = _cached_at(sweep, one)
    if path is not None and (known := _read_outcome(path)) is not None:
        return known
    try:
        outcome = _made(sweep, one)
    except Exception as error:
        # A fault of the tool: the other points stand, and this one is not kept: it may be mended by then.
        why = f"the method failed ({type(error).__name__}): run this configuration alone to see why"
        return _Outcome({}, 0, 0.0, False, why)
    if path is not None:
        with replacing([path]) as [temporary]:
            temporary.write_text(json.dumps({f.name: getattr(outcome, f.name) for f in fields(outcome)}))
    return outcome


def _made(sweep: _Sweep, one: Configuration) -> _Outcome:
    start = time.perf_counter()
    try:
        release = _release(sweep, one)
    except AnonError as error:
        return _Outcome({}, 0, time.perf_counter() - start, False, str(error))
    seconds = time.perf_counter() - start
    return _Outcome(_measured(sweep, release), release.classes.n_classes, seconds, True, None)


def _release(sweep: _Sweep, one: Configuration) -> Release:
    """The release that `anonymize` makes, with all its checks; the original has intact cells."""
    encoded, judged, counts = sweep.encoded, sweep.judged, sweep.counts
    if one is SPECIAL[ORIGINAL]:
        same = group(encoded.quasi_codes, encoded.suppressed, sweep.n_threads)
        return Release(encoded, same, (), (), method=one.method, publish="bucketization")
    n_kept = encoded.n_rows - len(encoded.suppressed)
    require = one.require
    if isinstance(one.method, Anatomy):
        require = (*require, LDiversity(one.method.l, "probabilistic", sensitive=one.method.sensitive))
    impossible = infeasible(require, judged.sensitive, counts, n_kept)
    if impossible is not None:
        raise impossible
    rules = compile(require, judged.sensitive, counts, n_kept)
    alone = isinstance(one.method, Mondrian)
    task = Task(rules, np.random.default_rng(sweep.seed), sweep.all_threads if alone else sweep.n_threads)
    with sweep.splitting if alone else nullcontext():
        classes, shown = partitioned(encoded, judged, one.method, task, require, one.publish)
    return recode(
        encoded,
        classes,
        shown,
        require,
        method=one.method,
        publish=one.publish,
        numeric=one.numeric,
        dropped=[domain.name for domain in encoded.sensitive if one.method == Suppress("sensitive")],
        n_threads=sweep.n_threads,
        entropy=np.random.default_rng(0),  # sums are rounded in the order of the classes
    )


def _measured(sweep: _Sweep, release: Release) -> dict[str, float]:
    """The measures asked for; NaN where the release does not allow one."""
    found: dict[str, float] = {}
    of_privacy: Any = None
    of_utility: Any = None
    for name in sweep.measures:
        try:
            if name == "u_loss":
                loss = u_loss(release, populations=sweep.populations, n_threads=sweep.n_threads)
                value: Any = loss.u_loss
            elif name == "count_error":
                assert sweep.workload is not None
                told = answer(sweep.workload, release, true=sweep.answers, n_threads=sweep.n_threads)
                value = told.average
            elif name in OF_PRIVACY:
                of_privacy = of_privacy or _privacy(sweep, release)
                value = operator.attrgetter(name)(of_privacy)
            else:
                if of_utility is None:
                    counted = any(each in OF_COUNTS for each in sweep.measures)
                    shown = release.as_published(counted=counted, n_threads=sweep.n_threads)
                    of_utility = measure_utility(shown)
                value = getattr(of_utility, name)
        except UsageError:
            value = None
        found[name] = math.nan if value is None else value
    return found


def _privacy(sweep: _Sweep, release: Release) -> Any:
    """`Release.privacy` without what no axis is about: the joint attribute, nulls that match anything."""
    measured = measure_privacy(
        release.classes,
        sweep.judged.sensitive,
        [None if domain.name in release.dropped else codes for domain, codes in _sensitive(sweep)],
        joint=False,
        n_threads=sweep.n_threads,
    )
    if release.publish == "bucketization" and any(name in OF_INTACT for name in sweep.measures):
        intact = group(sweep.encoded.quasi_codes, sweep.encoded.suppressed, sweep.n_threads)
        measured = of_intact(measured, intact)
    return measured


def _sensitive(sweep: _Sweep) -> Iterable[tuple[Any, Any]]:
    return zip(sweep.judged.sensitive, sweep.judged.sensitive_codes, strict=True)


def let_memory_go() -> None:
    """For a process of one sweep: freed arrays go back to the system at once. glibc would raise the size
    from which they do, 128 KiB, as a program runs, and then keep for every thread what its largest point
    needed.
    """
    with suppress(OSError, TypeError, AttributeError):  # another C library has other ways
        ctypes.CDLL(None).mallopt(M_MMAP_THRESHOLD, 1 << 17)


def _point(
    configuration: Configuration | None,
    name: str,
    requirement: str,
    outcome: _Outcome,
    privacy: str,
    utility: str,
) -> Point:
    return Point(
        configuration=configuration,
        name=name,
        requirement=requirement,
        parameters={} if configuration is None else configuration.parameters,
        measures=outcome.measures,
        privacy=outcome.measures.get(privacy, math.nan),
        utility=outcome.measures.get(utility, math.nan),
        classes=outcome.classes,
        seconds=outcome.seconds,
        satisfied=outcome.satisfied,
        why=outcome.why,
        efficient=False,
    )


def _cost(point: Point, privacy: str, utility: str) -> Cost:
    return (
        point.privacy if MEASURES[privacy] else -point.privacy,
        point.utility if MEASURES[utility] else -point.utility,
    )


def _is_measured(cost: Cost) -> bool:
    return not (math.isnan(cost[0]) or math.isnan(cost[1]))


# --- the cache


def _folder(cache: str | os.PathLike[str]) -> Path:
    path = Path(cache)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"the cache {str(cache)!r} cannot be used: {os.strerror(error.errno or 0)}; name a folder"
        ) from None
    return path


def _cached_at(sweep: _Sweep, one: Configuration) -> Path | None:
    """The file of a point, named by a hash of all that its outcome depends on."""
    if sweep.cache is None or any(isinstance(each, Custom) for each in one.require):
        return None
    target = getattr(one.method, "target", None)
    codes = None
    if target is not None:  # it may be neutral, and so not among the codes
        try:
            check_names([target], sweep.encoded.table.column_names)
            codes = encode_column(sweep.encoded.column(target), Attribute(target, "nominal"))[1]
        except AnonError:
            return None  # the point tells why
    name = hashlib.sha256(sweep.key + _digest(repr(one), codes)).hexdigest()
    return sweep.cache / f"{name}.json"


_CONSTANTS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def _read_outcome(path: Path) -> _Outcome | None:
    """What the cache holds of a point; a file that is not whole counts as absent."""
    try:
        held = json.loads(path.read_text(), parse_constant=_CONSTANTS.__getitem__)
        outcome = _Outcome(**held)
    except (OSError, ValueError, TypeError, KeyError):
        return None
    numbers = isinstance(outcome.measures, dict) and all(
        isinstance(value, int | float) for value in outcome.measures.values()
    )
    kinds = isinstance(outcome.classes, int) and isinstance(outcome.seconds, int | float)
    whole = numbers and kinds and isinstance(outcome.satisfied, bool)
    return outcome if whole and (outcome.measures or not outcome.satisfied) else None


def _digest(*things: Any) -> bytes:
    """SHA-256 of the content of arrays, texts, numbers and dataclasses of these."""
    digest = hashlib.sha256()

    def feed(thing: Any) -> None:
        digest.update(f"{type(thing).__name__}:".encode())
        if isinstance(thing, np.ndarray):
            digest.update(f"{thing.dtype}{thing.shape}".encode())
            digest.update(np.ascontiguousarray(thing).data)
        elif isinstance(thing, pa.Array):
            digest.update(str(thing.type).encode())
            feed(texts(thing))
        elif is_dataclass(thing):
            for each in fields(thing):
                feed(getattr(thing, each.name))
        elif isinstance(thing, list | tuple):
            digest.update(f"{len(thing)}".encode())
            for item in thing:
                feed(item)
        else:
            text = repr(thing).encode()
            digest.update(f"{len(text)}:".encode() + text)

    feed(things)
    return digest.digest()
