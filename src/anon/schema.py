# SPDX-License-Identifier: Apache-2.0
"""What each column of a table is: its role, its kind, its hierarchy, its weight."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Literal, get_args

import pyarrow as pa

from anon.errors import DataError, UsageError, did_you_mean
from anon.hierarchy import (
    Dates,
    Hierarchy,
    Intervals,
    Prefix,
    as_hierarchy,
    hierarchy_from_dict,
    hierarchy_to_dict,
    label_of,
)

Kind = Literal["numeric", "ordinal", "nominal"]


class Role(Enum):
    """What a column is to an attacker."""

    IDENTIFYING = "identifying"
    QUASI = "quasi-identifying"
    SENSITIVE = "sensitive"
    NEUTRAL = "neutral"


@dataclass(frozen=True, repr=False)
class Attribute:
    """One column: its kind (None: taken from the Arrow type), hierarchy, order and weight (> 0).

    The weight multiplies the attribute's widths and losses in every method, never in a measure.
    Made by `numeric`, `ordinal` and `nominal`, or by its bare name in a `Schema`.
    """

    name: str
    kind: Kind | None = None
    hierarchy: Hierarchy | None = None
    order: tuple[Any, ...] | None = None
    weight: float = 1.0

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise UsageError(f"a column's name must be a string, not {type(self.name).__name__}")
        if self.kind is not None and self.kind not in get_args(Kind):
            raise UsageError(f"column {self.name!r}: kind must be one of {', '.join(get_args(Kind))}")
        weight = self.weight
        most = sys.float_info.max
        if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 < weight <= most:
            raise UsageError(f"column {self.name!r}: weight must be a finite number above 0")
        if (self.kind == "ordinal") != (self.order is not None):
            raise UsageError(
                f"column {self.name!r}: an order is needed for, and only for, an ordinal attribute"
            )
        if self.order is not None:
            object.__setattr__(self, "order", tuple(self.order))
            if not self.order:
                raise UsageError(f"column {self.name!r}: the order is empty")
            if len({label_of(value, self.name) for value in self.order}) < len(self.order):
                raise UsageError(f"column {self.name!r}: the order lists a value twice")
        if self.hierarchy is not None:
            object.__setattr__(self, "hierarchy", as_hierarchy(self.hierarchy, self.name))
            fits = {
                "numeric": not isinstance(self.hierarchy, Prefix),
                "nominal": not isinstance(self.hierarchy, Intervals | Dates),
            }
            if not fits.get(self.kind or "", self.kind is None):
                way_out = ""
                if isinstance(self.hierarchy, Dates):
                    way_out = "; dates in text are read where all of them are ISO, such as 1980-12-31"
                if isinstance(self.hierarchy, Prefix):
                    way_out = (
                        "; to publish its first characters declare it nominal, by "
                        f"anon.nominal({self.name!r}, prefix(...)) or --kind {self.name}=nominal"
                    )
                raise UsageError(
                    f"column {self.name!r}: this hierarchy is not for a {self.kind} attribute; numbers and "
                    "dates take intervals(), dates() or a CSV file; labels prefix(), a dict or a CSV file"
                    f"{way_out}"
                )

    def __repr__(self) -> str:
        arguments = [repr(self.name)]
        if self.order is not None:
            arguments.append(repr(list(self.order)))
        if self.hierarchy is not None:
            arguments.append(f"hierarchy={self.hierarchy!r}")
        if self.weight != 1.0:
            arguments.append(f"weight={self.weight!r}")
        if self.kind is None:
            if len(arguments) == 1:
                return arguments[0]
            return f"Attribute({', '.join(arguments)})"
        return f"{self.kind}({', '.join(arguments)})"


def numeric(name: str, hierarchy: Any = None, weight: float = 1.0) -> Attribute:
    """A number, date or time. `hierarchy`: `intervals`, `dates`, a nested dict or an ARX CSV file."""
    return Attribute(name, "numeric", hierarchy, None, weight)


def ordinal(name: str, order: Iterable[Any], weight: float = 1.0) -> Attribute:
    """Labels with an order, lowest first. Every value of the column must be listed."""
    if isinstance(order, str) or not isinstance(order, Iterable):
        raise UsageError(f"column {name!r}: the order must be a list of values")
    return Attribute(name, "ordinal", None, tuple(order), weight)


def nominal(name: str, hierarchy: Any = None, weight: float = 1.0) -> Attribute:
    """Labels without an order. `hierarchy`: `prefix`, a nested dict or a CSV file in ARX's format."""
    return Attribute(name, "nominal", hierarchy, None, weight)


@dataclass(frozen=True, repr=False)
class Schema:
    """The roles of a table's columns; a column that is not named is neutral and kept as it is.

    `quasi` and `sensitive` take names or Attributes, `identifying` names; identifying columns are
    dropped from every release. A bare name takes its kind from the Arrow type: numbers, dates and
    times are numeric, strings and booleans nominal.
    """

    quasi: tuple[Attribute, ...]
    sensitive: tuple[Attribute, ...] = ()
    identifying: tuple[str, ...] = ()

    def __init__(
        self,
        quasi: Iterable[str | Attribute],
        sensitive: Iterable[str | Attribute] = (),
        identifying: Iterable[str | Attribute] = (),
    ) -> None:
        object.__setattr__(self, "quasi", _attributes(quasi, "quasi"))
        object.__setattr__(self, "sensitive", _attributes(sensitive, "sensitive"))
        names = tuple(attribute.name for attribute in _attributes(identifying, "identifying"))
        object.__setattr__(self, "identifying", names)
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
        ]

    def role(self, name: str) -> Role:
        """The role of a column; one that the schema does not name is neutral."""
        return dict(self._roles()).get(name, Role.NEUTRAL)

    def bind(self, columns: pa.Schema) -> Schema:
        """This schema with every kind settled for a table of the given Arrow schema.

        Raises DataError where a column does not exist, is there twice, or cannot be read as its kind.
        """
        check_unique(columns.names)
        check_names([name for name, _ in self._roles()], columns.names)
        return Schema(
            [_bound(attribute, columns.field(attribute.name).type) for attribute in self.quasi],
            [_bound(attribute, columns.field(attribute.name).type) for attribute in self.sensitive],
            self.identifying,
        )

    def to_dict(self) -> dict[str, Any]:
        """The schema as plain lists, dicts, strings and numbers: what a job file holds."""
        return {
            "quasi": [_to_dict(attribute) for attribute in self.quasi],
            "sensitive": [_to_dict(attribute) for attribute in self.sensitive],
            "identifying": list(self.identifying),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Schema:
        """The inverse of `to_dict`; keys that mean nothing are refused."""
        _known_keys(data, ("quasi", "sensitive", "identifying"), "a schema")
        return cls(
            [_from_dict(item) for item in _listed(data, "quasi")],
            [_from_dict(item) for item in _listed(data, "sensitive")],
            [_from_dict(item) for item in _listed(data, "identifying")],
        )

    def __repr__(self) -> str:
        parts = [f"quasi={list(self.quasi)!r}"]
        if self.sensitive:
            parts.append(f"sensitive={list(self.sensitive)!r}")
        if self.identifying:
            parts.append(f"identifying={list(self.identifying)!r}")
        return f"Schema({', '.join(parts)})"


def kind_of(name: str, arrow_type: pa.DataType) -> Kind:
    """The kind that a column of this Arrow type has when the schema gives only its name."""
    plain = value_type(arrow_type)
    if is_measurable(plain):
        return "numeric"
    if is_text(plain) or pa.types.is_boolean(plain) or pa.types.is_null(plain):
        return "nominal"
    raise DataError(
        f"column {name!r} has type {arrow_type}, which cannot be a quasi-identifier or a sensitive "
        "attribute; cast it to numbers or strings, or leave it neutral",
        column=name,
    )


def value_type(arrow_type: pa.DataType) -> pa.DataType:
    """The type of a column's values, whether or not they are stored as a dictionary."""
    return arrow_type.value_type if pa.types.is_dictionary(arrow_type) else arrow_type


def is_measurable(arrow_type: pa.DataType) -> bool:
    """Numbers, dates and times: values with a distance."""
    types = pa.types
    return bool(
        types.is_integer(arrow_type)
        or types.is_floating(arrow_type)
        or types.is_decimal(arrow_type)
        or types.is_date(arrow_type)
        or types.is_timestamp(arrow_type)
        or types.is_time(arrow_type)
        or types.is_duration(arrow_type)
    )


def is_text(arrow_type: pa.DataType) -> bool:
    """Strings, whatever their layout."""
    types = pa.types
    return bool(
        types.is_string(arrow_type) or types.is_large_string(arrow_type) or types.is_string_view(arrow_type)
    )


def check_unique(names: Sequence[str], where: str = "the table") -> None:
    """Raise DataError where a table has two columns of one name."""
    before: set[str] = set()
    for name in names:
        if name in before:
            raise DataError(
                f"{where} has {names.count(name)} columns named {name!r}; rename all but one", column=name
            )
        before.add(name)


MOST_NAMED = 100  # columns, in one message


def check_names(names: Iterable[str], columns: Sequence[str]) -> None:
    """Raise DataError where a table has no column of a name that the user gave."""
    known = set(columns)
    for name in names:
        if name not in known:
            listed = ", ".join(map(repr, columns[:MOST_NAMED]))
            listed += f" and {len(columns) - MOST_NAMED} more" if len(columns) > MOST_NAMED else ""
            raise DataError(
                f"the table has no column {name!r}; {did_you_mean(name, columns)}its columns are {listed}",
                column=name,
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


def _bound(attribute: Attribute, arrow_type: pa.DataType) -> Attribute:
    natural = kind_of(attribute.name, arrow_type)
    if attribute.kind == "numeric" and natural != "numeric" and not pa.types.is_null(arrow_type):
        raise DataError(
            f"column {attribute.name!r} holds {arrow_type}, not numbers or dates; "
            "convert it, or declare it nominal or ordinal",
            column=attribute.name,
        )
    return replace(attribute, kind=attribute.kind or natural)


def _to_dict(attribute: Attribute) -> Any:
    item: dict[str, Any] = {"name": attribute.name}
    if attribute.kind is not None:
        item["kind"] = attribute.kind
    if attribute.hierarchy is not None:
        item["hierarchy"] = hierarchy_to_dict(attribute.hierarchy)
    if attribute.order is not None:
        item["order"] = list(attribute.order)
    if attribute.weight != 1.0:
        item["weight"] = attribute.weight
    return attribute.name if len(item) == 1 else item


def _from_dict(item: Any) -> str | Attribute:
    if isinstance(item, str):
        return item
    if not isinstance(item, Mapping) or not isinstance(item.get("name"), str):
        raise UsageError("an attribute must be a column's name, or a table with a name")
    _known_keys(item, ("name", "kind", "hierarchy", "order", "weight"), f"column {item['name']!r}")
    hierarchy = item.get("hierarchy")
    order = item.get("order")
    if order is not None and not isinstance(order, list | tuple):
        raise UsageError(f"column {item['name']!r}: the order must be a list of values")
    return Attribute(
        item["name"],
        item.get("kind"),
        None if hierarchy is None else hierarchy_from_dict(hierarchy, item["name"]),
        None if order is None else tuple(order),
        item.get("weight", 1.0),
    )


def _listed(data: Mapping[str, Any], key: str) -> list[Any]:
    items = data.get(key, [])
    if not isinstance(items, list | tuple):
        raise UsageError(f"{key} must be a list of names or attributes")
    return list(items)


def _known_keys(data: Mapping[str, Any], known: tuple[str, ...], what: str) -> None:
    for key in data:
        if key not in known:
            hint = did_you_mean(str(key), known)
            raise UsageError(f"{what} has no key {key!r}; {hint}the keys are {', '.join(known)}")
