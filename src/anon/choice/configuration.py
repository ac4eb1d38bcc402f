# SPDX-License-Identifier: Apache-2.0
"""A way to make a release, and the compact text that says many."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, get_origin

from anon.errors import UsageError, did_you_mean
from anon.methods import LIMITS, METHOD, METHOD_OPTIONS, Limits, Method, Mondrian, read_method
from anon.release import PUBLISHED, Numeric, OfClasses
from anon.requirements import REQUIREMENT_OPTIONS, Option, Requirement, check_list, read_requirements

MOST_POINTS = 100_000  # of a grid

GRID_OPTIONS = {
    each.key: each for each in (*REQUIREMENT_OPTIONS, METHOD, *METHOD_OPTIONS, *PUBLISHED, *LIMITS)
}
"""What a grid may vary."""


@dataclass(frozen=True)
class Configuration:
    """One release to try: what it must satisfy, by which method, published how; the share of
    rows that may be left out, and the seconds of the search.
    """

    require: tuple[Requirement, ...] = ()
    method: Method = field(default_factory=Mondrian)
    publish: OfClasses = "generalization"
    numeric: Numeric = "interval"
    suppress: float = 0
    time_limit: float | None = None

    def __post_init__(self) -> None:
        check_list(self.require)
        object.__setattr__(self, "require", tuple(self.require))

    @property
    def limits(self) -> Limits:
        """What the search may cost; UsageError where these are no limits."""
        return Limits.of(self.suppress, self.time_limit)

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Every setting that is not a default, as plain numbers and text, by the names of the flags."""
        settings: dict[str, Any] = {"method": self.method.word}
        for requirement in self.require:
            of = "" if requirement.sensitive is None else f"[{requirement.sensitive}]"
            for name, value in requirement.settings().items():
                key, number = f"{name}{of}", 2
                while settings.get(key, value) != value:
                    key, number = f"{name}{of}#{number}", number + 1
                settings[key] = value
        for name, value in self.method.settings().items():
            settings[f"{settings['method']}.{name}" if name in settings else name] = value
        for key in ("suppress", "time_limit"):
            if getattr(self, key):
                settings[key] = getattr(self, key)
        return settings | {"publish": self.publish} | ({} if self._plain else {"numeric": self.numeric})

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
        return " + ".join(dict.fromkeys(each.family for each in self.require)) or "none"

    @property
    def _plain(self) -> bool:
        return self.numeric == "interval"


# --- configurations


def grid(text: str, base: Mapping[str, Any] | None = None) -> list[Configuration]:
    """The configurations of a compact grid: `k=10,50,100 t=0.05:0.4:8 method=mondrian,curve`.

    Names are the flags of `anon anonymize` with `_` for `-`; each takes values with commas between, or
    start:stop:count, evenly spaced with both ends. All combinations are meant, the last name varying
    fastest. What `base` says by the same names holds where the grid says nothing.
    """
    values: dict[str, list[Any]] = {}
    for word in text.split():
        name, equals, listed = word.partition("=")
        if not (name and equals and listed):
            raise UsageError(f"a grid is written name=value,value ...; {word!r} is not")
        if name not in GRID_OPTIONS:
            hint = did_you_mean(name, GRID_OPTIONS)
            raise UsageError(f"a grid has no {name!r}; {hint}its names are {', '.join(GRID_OPTIONS)}")
        if name in values:
            raise UsageError(f"a grid names {name!r} once, with commas between the values")
        values[name] = _listed(name, listed)
    if not values:
        raise UsageError("the grid is empty; write, for example, k=10,50,100 method=mondrian,curve")
    if math.prod(map(len, values.values())) > MOST_POINTS:
        raise UsageError(f"the grid has more than {MOST_POINTS} combinations")
    checked = {
        name: [_checked(GRID_OPTIONS[name], each) for each in listed] for name, listed in values.items()
    }
    configurations = []
    for combination in itertools.product(*checked.values()):
        asked = {**(base or {}), **dict(zip(checked, combination, strict=True))}
        further = (*PUBLISHED, *LIMITS)
        published = {each.key: asked[each.key] for each in further if asked.get(each.key) is not None}
        method = read_method(asked.get("method") or Mondrian.name, asked)
        configurations.append(Configuration(tuple(read_requirements(asked)), method, **published))
    return configurations


def _checked(option: Option, value: Any) -> Any:
    """A value of a grid as a job would hold it; an option that takes a list is given one item at a time."""
    return option.check([value] if get_origin(option.kind) is list else value)


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
    configurations: list[Configuration] = []
    for each in listed:
        if not isinstance(each, str | Configuration):
            raise UsageError(f"a configuration is a Configuration or a grid, not {type(each).__name__}")
        configurations += grid(each) if isinstance(each, str) else [each]
    if not configurations:
        raise UsageError("there is no configuration to try: give a grid such as 'k=10,50,100'")
    return list(dict.fromkeys(configurations))


def unique(names: Sequence[str]) -> list[str]:
    """The names, a number behind those that were there before: `Custom` requirements may share one."""
    seen: Counter[str] = Counter()
    numbered = []
    for name in names:
        seen[name] += 1
        numbered.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return numbered
