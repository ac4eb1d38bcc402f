# SPDX-License-Identifier: Apache-2.0
"""What each column of a table is: its role, its kind, its hierarchy, its weight."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
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
    class. A bare name takes its kind from the Arrow type: numbers, dates and
    times are numeric, strings and booleans nominal.
    """

    quasi: tuple[Attribute, ...]
    sensitive: tuple[Attribute, ...] = ()
    identifying: tuple[str, ...] = ()
    neutral: tuple[str, ...] | Literal["rest"] = ()
    linked: tuple[tuple[str, ...], ...] = ()

    def __init__(
        self,
        quasi: Iterable[str | Attribute],
        sensitive: Iterable[str | Attribute] = (),
        identifying: Iterable[str | Attribute] = (),
        neutral: Iterable[str | Attribute] | Literal["rest"] = (),
        linked: Iterable[Iterable[str | Attribute]] = (),
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

    def _roles(self) -> list[tuple[str, Role]]:
        return [
            *((attribute.name, Role.QUASI) for attribute in self.quasi),
            *((attribute.name, Role.SENSITIVE) for attribute in self.sensitive),
            *((name, Role.IDENTIFYING) for name in self.identifying),
            *((name, Role.NEUTRAL) for name in ([] if self.neutral == "rest" else self.neutral)),
        ]

    def role(self, name: str) -> Role | None:
        """The role of a column; None where it has none, and so is not published."""
        return dict(self._roles()).get(name, Role.NEUTRAL if self.neutral == "rest" else None)

    def bind(self, columns: pa.Schema) -> Schema:
        """This schema with every kind settled for a table of the given Arrow schema, and "rest" as names.

        Raises DataError where a column does not exist, is there twice, or cannot be read as its kind.
        """
        check_unique(columns.names)
        check_names([name for name, _ in self._roles()], columns.names)
        return Schema(
            [bound(attribute, columns.field(attribute.name).type) for attribute in self.quasi],
            [bound(attribute, columns.field(attribute.name).type) for attribute in self.sensitive],
            self.identifying,
            [name for name in columns.names if self.role(name) is Role.NEUTRAL],
            self.linked,
        )

    @property
    def follows(self) -> dict[str, str]:
        """Of each linked column that no method cuts, the one that is cut in its place."""
        return {name: first for first, *others in self.linked for name in others}

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
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Schema:
        """The inverse of `to_dict`; keys that mean nothing are refused."""
        known_keys(data, ("quasi", "sensitive", "identifying", "neutral", "linked"), "a schema")
        return cls(
            [attribute_from_dict(item) for item in listed_in(data, "quasi")],
            [attribute_from_dict(item) for item in listed_in(data, "sensitive")],
            [attribute_from_dict(item) for item in listed_in(data, "identifying")],
            "rest"
            if data.get("neutral") == "rest"
            else [attribute_from_dict(item) for item in listed_in(data, "neutral")],
            listed_in(data, "linked"),
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


def _attributes(items: Iterable[str | Attribute], role: str) -> tuple[Attribute, ...]:
    if isinstance(items, str | Attribute) or not isinstance(items, Iterable):
        raise UsageError(f"{role} must be a list of names or attributes")
    attributes = []
    for item in items:
        if not isinstance(item, str | Attribute):
            raise UsageError(f"{role} must hold names or attributes, not {type(item).__name__}")
        attributes.append(Attribute(item) if isinstance(item, str) else item)
    return tuple(attributes)
