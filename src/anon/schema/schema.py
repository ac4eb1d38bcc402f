# SPDX-License-Identifier: Apache-2.0
"""What each column of a table is: its role, its kind, its hierarchy, its weight."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Literal

import pyarrow as pa

from anon.errors import UsageError
from anon.schema.attribute import Attribute, Role, attribute_from_dict, attribute_to_dict, bound, known_keys
from anon.schema.columns import check_names, check_unique, listed_in


@dataclass(frozen=True, repr=False)
class Schema:
    """The roles of a table's columns; a column that is not named has none and is not published.

    `quasi` and `sensitive` take names or Attributes, `identifying` and `neutral` names; identifying columns
    are dropped from every release, neutral ones are published as they are. `neutral="rest"` names all
    columns without another role. `linked` are lists of quasi-identifiers that tell of each other, such as
    `["age", "birth_year"]`: methods cut by the first, and each other is published as its own cell of each
    class. A bare name takes its kind from the Arrow type: numbers, dates and times are numeric, strings and
    booleans nominal. `unit` names the column that tells whose a row is, where
    somebody has several: requirements then count these persons (or other units), and the column is dropped.
    `household` names quasi-identifiers that all rows of a unit share, and show alike in a release.
    `sampling_weight` names the column that tells how many people a row of a sample stands for.
    """

    quasi: tuple[Attribute, ...]
    sensitive: tuple[Attribute, ...] = ()
    identifying: tuple[str, ...] = ()
    neutral: tuple[str, ...] | Literal["rest"] = ()
    linked: tuple[tuple[str, ...], ...] = ()
    unit: str | None = None
    household: tuple[str, ...] = ()
    sampling_weight: str | None = None

    def __init__(
        self,
        quasi: Iterable[str | Attribute],
        sensitive: Iterable[str | Attribute] = (),
        identifying: Iterable[str | Attribute] = (),
        neutral: Iterable[str | Attribute] | Literal["rest"] = (),
        linked: Iterable[Iterable[str | Attribute]] = (),
        *,
        unit: str | None = None,
        household: Iterable[str] = (),
        sampling_weight: str | None = None,
    ) -> None:
        named = _attributes(quasi, "quasi")
        groups = _linked(linked, [attribute.name for attribute in named])
        known = {attribute.name for attribute in named}
        further = [each for group in groups for each in group[1:] if each.name not in known]
        object.__setattr__(self, "quasi", (*named, *further))
        object.__setattr__(self, "linked", tuple(tuple(each.name for each in group) for group in groups))
        object.__setattr__(self, "sensitive", _attributes(sensitive, "sensitive"))
        names = tuple(attribute.name for attribute in _attributes(identifying, "identifying"))
        object.__setattr__(self, "identifying", names)
        object.__setattr__(self, "neutral", _neutral(neutral))
        self._set_units(unit, household, sampling_weight)
        if not self.quasi:
            raise UsageError("a schema needs at least one quasi-identifier")
        role_of: dict[str, Role] = {}
        for name, role in self._roles():
            if name in role_of:
                other = role_of[name]
                twice = (
                    f"twice as {role.value}"
                    if other is role
                    else f"both as {other.value} and as {role.value}"
                )
                raise UsageError(f"column {name!r} is named {twice}; name it once")
            role_of[name] = role

    def _set_units(self, unit: str | None, household: Iterable[str], sampling_weight: str | None) -> None:
        """Whom requirements count, and how much a row stands for."""
        quasi = {attribute.name for attribute in self.quasi}
        sensitive = {attribute.name for attribute in self.sensitive}
        for key, name in (("unit", unit), ("sampling_weight", sampling_weight)):
            if name is not None and (not isinstance(name, str) or not name):
                raise UsageError(f"{key} takes the name of one column")
            for role, names in (("quasi", quasi), ("sensitive", sensitive)):
                if name in names:
                    raise UsageError(f"column {name!r} is named as {key} and as {role}: name it once")
        if unit is not None and unit == sampling_weight:
            raise UsageError(f"column {unit!r} is named as unit and as sampling_weight: name it once")
        if sampling_weight is not None and sampling_weight in self.identifying:
            raise UsageError(
                f"column {sampling_weight!r} is named as sampling_weight and as identifying: name it once"
            )
        if isinstance(household, str) or not isinstance(household, Iterable):
            raise UsageError("household takes a list of quasi-identifiers")
        shared = tuple(household)
        if shared and unit is None:
            raise UsageError("household needs unit: name the column that tells a row's household")
        for name in shared:
            if name not in quasi:
                raise UsageError(
                    f"household names {name!r}, which is not a quasi-identifier; name it in quasi"
                )
            if shared.count(name) > 1:
                raise UsageError(f"household names {name!r} twice; name it once")
        object.__setattr__(self, "unit", unit)
        object.__setattr__(self, "household", shared)
        object.__setattr__(self, "sampling_weight", sampling_weight)

    @property
    def dropped(self) -> tuple[str, ...]:
        """The columns that identify: no release shows them."""
        also = () if self.unit is None else (self.unit,)
        return tuple(dict.fromkeys((*self.identifying, *also)))

    def _roles(self) -> list[tuple[str, Role]]:
        return [
            *((attribute.name, Role.QUASI) for attribute in self.quasi),
            *((attribute.name, Role.SENSITIVE) for attribute in self.sensitive),
            *((name, Role.IDENTIFYING) for name in self.dropped),
            *((name, Role.NEUTRAL) for name in ([] if self.neutral == "rest" else self.neutral)),
            *((name, Role.NEUTRAL) for name in (self.sampling_weight,) if name is not None),
        ]

    def role(self, name: str) -> Role | None:
        """The role of a column; None where it has none, and so is not published."""
        return self._by_name.get(name, Role.NEUTRAL if self.neutral == "rest" else None)

    @cached_property
    def _by_name(self) -> dict[str, Role]:
        return dict(self._roles())

    def by_role(self, columns: Iterable[str]) -> dict[str, tuple[str, ...]]:
        """The columns of a table that is measured: "quasi", "sensitive" and "others"."""
        quasi, sensitive = (tuple(each.name for each in part) for part in (self.quasi, self.sensitive))
        others = tuple(name for name in columns if name not in (*quasi, *sensitive))
        return {"quasi": quasi, "sensitive": sensitive, "others": others}

    def bind(self, columns: pa.Schema) -> Schema:
        """This schema with every kind settled for a table of the given Arrow schema, and "rest" as names.

        Raises DataError where a column does not exist, is there twice, or cannot be read as its kind.
        """
        check_unique(columns.names)
        roles = self._roles()
        check_names([name for name, _ in roles], columns.names)
        named = self._by_name
        others = Role.NEUTRAL if self.neutral == "rest" else None
        return Schema(
            [bound(attribute, columns.field(attribute.name).type) for attribute in self.quasi],
            [bound(attribute, columns.field(attribute.name).type) for attribute in self.sensitive],
            self.identifying,
            [
                name
                for name in columns.names
                if named.get(name, others) is Role.NEUTRAL and name != self.sampling_weight
            ],
            self.linked,
            unit=self.unit,
            household=self.household,
            sampling_weight=self.sampling_weight,
        )

    @property
    def follows(self) -> dict[str, str]:
        """Of each linked column that no method cuts, the one that is cut in its place."""
        return {name: first for first, *others in self.linked for name in others}

    def uncoded(self) -> Schema:
        """This schema without least levels, top and bottom codes."""
        return replace(self, quasi=tuple(each.uncoded() for each in self.quasi))

    def unjudged(self, names: Iterable[str]) -> Schema:
        """This schema with these sensitive attributes as neutral columns, of which nothing is measured."""
        left = tuple(each for each in self.sensitive if each.name not in names)
        moved = [each.name for each in self.sensitive if each.name in names]
        neutral = self.neutral if self.neutral == "rest" else (*self.neutral, *moved)
        return replace(self, sensitive=left, neutral=neutral) if moved else self

    @property
    def coded(self) -> tuple[str, ...]:
        """The quasi-identifiers with a least level, a top or a bottom code."""
        return tuple(attribute.name for attribute in self.quasi if attribute.is_coded)

    @property
    def all_coded(self) -> tuple[str, ...]:
        """The sensitive attributes, too."""
        return tuple(each.name for each in (*self.quasi, *self.sensitive) if each.is_coded)

    def published(self, columns: Iterable[str]) -> list[str]:
        """Those of a table's columns of which a release shows something."""
        roles = dict(self._roles())
        other = Role.NEUTRAL if self.neutral == "rest" else None
        return [name for name in columns if roles.get(name, other) not in (None, Role.IDENTIFYING)]

    def unpublished(self, columns: Iterable[str]) -> list[str]:
        """Those of a table's columns that have no role."""
        named = {name for name, _ in self._roles()}
        return [] if self.neutral == "rest" else [name for name in columns if name not in named]

    def to_dict(self) -> dict[str, Any]:
        """The schema as plain lists, dicts, strings and numbers: what a job file holds."""
        return {
            "quasi": [attribute_to_dict(attribute) for attribute in self.quasi],
            "sensitive": [attribute_to_dict(attribute) for attribute in self.sensitive],
            "identifying": list(self.identifying),
            "neutral": "rest" if self.neutral == "rest" else list(self.neutral),
            **({"linked": [list(group) for group in self.linked]} if self.linked else {}),
            **({} if self.unit is None else {"unit": self.unit}),
            **({"household": list(self.household)} if self.household else {}),
            **({} if self.sampling_weight is None else {"sampling_weight": self.sampling_weight}),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Schema:
        """The inverse of `to_dict`; keys that mean nothing are refused."""
        known_keys(data, tuple(each.name for each in fields(cls)), "a schema")
        return cls(
            [attribute_from_dict(item) for item in listed_in(data, "quasi")],
            [attribute_from_dict(item) for item in listed_in(data, "sensitive")],
            [attribute_from_dict(item) for item in listed_in(data, "identifying")],
            "rest"
            if data.get("neutral") == "rest"
            else [attribute_from_dict(item) for item in listed_in(data, "neutral")],
            listed_in(data, "linked"),
            unit=data.get("unit"),
            household=listed_in(data, "household"),
            sampling_weight=data.get("sampling_weight"),
        )

    def __repr__(self) -> str:
        parts = [f"quasi={list(self.quasi)!r}"]
        if self.sensitive:
            parts.append(f"sensitive={list(self.sensitive)!r}")
        if self.identifying:
            parts.append(f"identifying={list(self.identifying)!r}")
        if self.neutral:
            parts.append(f"neutral={self.neutral if self.neutral == 'rest' else list(self.neutral)!r}")
        if self.linked:
            parts.append(f"linked={[list(group) for group in self.linked]!r}")
        for name, value in (("unit", self.unit), ("household", list(self.household))):
            parts += [f"{name}={value!r}"] if value else []
        if self.sampling_weight is not None:
            parts.append(f"sampling_weight={self.sampling_weight!r}")
        return f"Schema({', '.join(parts)})"


def _neutral(names: Iterable[str | Attribute] | Literal["rest"]) -> tuple[str, ...] | Literal["rest"]:
    if isinstance(names, str):
        if names == "rest":
            return "rest"
        raise UsageError('neutral must be a list of names, or "rest" for all columns without another role')
    return tuple(attribute.name for attribute in _attributes(names, "neutral"))


def _linked(groups: Iterable[Iterable[str | Attribute]], quasi: Sequence[str]) -> list[tuple[Attribute, ...]]:
    """The groups of linked columns, whose first is a quasi-identifier and whose others follow one alone."""
    if isinstance(groups, str | Attribute) or not isinstance(groups, Iterable):
        raise UsageError('linked must be a list of lists of names, such as [["age", "birth_year"]]')
    made = [_attributes(group, "each group of linked") for group in groups]
    followers: set[str] = set()
    for group in made:
        names = [each.name for each in group]
        if len(names) < 2 or len(set(names)) < len(names):
            raise UsageError("a group of linked columns names a quasi-identifier and others that go with it")
        if names[0] not in quasi:
            raise UsageError(f"linked: {names[0]!r} must be a quasi-identifier, which {names[1]!r} goes with")
        if again := followers & set(names[1:]):
            raise UsageError(f"column {min(again)!r} is linked twice; link it once")
        followers |= set(names[1:])
    for group in made:
        if group[0].name in followers:
            raise UsageError(
                f"column {group[0].name!r} is linked to another and has columns linked to it; link all to one"
            )
    return made


def check_schema(schema: object, *, or_none: bool = False) -> None:
    """Raise UsageError unless it is a Schema, or may be None and is."""
    if not (isinstance(schema, Schema) or (or_none and schema is None)):
        raise UsageError(
            f"schema must be an anon.Schema, not {type(schema).__name__}: write anon.Schema(quasi=[...])"
        )


def _attributes(items: Iterable[str | Attribute], role: str) -> tuple[Attribute, ...]:
    if isinstance(items, str | Attribute) or not isinstance(items, Iterable):
        raise UsageError(f"{role} must be a list of names or attributes")
    attributes = []
    for item in items:
        if not isinstance(item, str | Attribute):
            raise UsageError(f"{role} must hold names or attributes, not {type(item).__name__}")
        attributes.append(Attribute(item) if isinstance(item, str) else item)
    return tuple(attributes)
