# SPDX-License-Identifier: Apache-2.0
"""A way to make a release, and the compact text that says many."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from anon.errors import UsageError, did_you_mean
from anon.methods import TGC, Anatomy, Curve, Identity, KMembers, Method, Mondrian, Suppress
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
)

if TYPE_CHECKING:
    from anon.command.job import Job

MOST_POINTS = 100_000  # of a grid


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


# --- configurations


def grid(text: str, base: Job | None = None) -> list[Configuration]:
    """The configurations of a compact grid: `k=10,50,100 t=0.05:0.4:8 method=mondrian,curve`.

    Names are the flags of `anon anonymize` with `_` for `-`; each takes values with commas between, or
    start:stop:count, evenly spaced with both ends. All combinations are meant, the last name varying
    fastest. What `base`, a job, says of requirements and method holds where the grid says nothing.
    """
    from anon.command.job import OF_GRID, load_job

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


def as_configurations(asked: Any) -> list[Configuration]:
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


def unique(names: Sequence[str]) -> list[str]:
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
