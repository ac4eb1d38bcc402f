# SPDX-License-Identifier: Apache-2.0
"""One column: its kind, its hierarchy, its weight."""

from __future__ import annotations

import datetime as dt
import math
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, get_args

import pyarrow as pa

from anon.errors import DataError, UsageError, did_you_mean
from anon.schema.columns import Kind, as_word, kind_of
from anon.schema.hierarchy.declared import (
    CALENDAR,
    Dates,
    Hierarchy,
    Intervals,
    Prefix,
    as_hierarchy,
    hierarchy_from_dict,
    hierarchy_to_dict,
)
from anon.schema.hierarchy.rows import label_of

CODING = ("least", "top", "bottom", "ends")  # what an attribute says of values that are shown coarser
_DIGITS = re.compile(r"([1-9][0-9]?) digits?")


class Role(Enum):
    """What a column is to an attacker. A column without one is not published."""

    IDENTIFYING = "identifying"
    QUASI = "quasi-identifying"
    SENSITIVE = "sensitive"
    NEUTRAL = "neutral"


@dataclass(frozen=True, repr=False)
class Attribute:
    """One column: its kind (None: taken from the Arrow type), hierarchy, order and weight (> 0).

    The weight multiplies the attribute's widths and losses in every method, never in a measure.
    Nothing finer than `least` is published (a width, a calendar unit, a prefix length, or how many steps
    above the values of a hierarchy), values from `top` on and up to `bottom` are one value each; the ends
    of intervals are rounded outward to multiples of `ends`, or to so many "digits". Of a sensitive attribute
    requirements and measures are about what is so recoded. Made by `numeric`, `ordinal` and `nominal`, or
    by its bare name in a `Schema`.
    """

    name: str
    kind: Kind | None = None
    hierarchy: Hierarchy | None = None
    order: tuple[Any, ...] | None = None
    weight: float = 1.0
    least: int | float | str | None = None
    top: int | float | str | None = None
    bottom: int | float | str | None = None
    ends: int | float | str | None = None

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
                        f"anon.nominal({self.name!r}, prefix(...)) or --kind {as_word(self.name, 'nominal')}"
                    )
                raise UsageError(
                    f"column {self.name!r}: this hierarchy is not for a {self.kind} attribute; numbers and "
                    "dates take intervals(), dates() or a CSV file; labels prefix(), a dict or a CSV file"
                    f"{way_out}"
                )
        self._check_coding()

    def _check_coding(self) -> None:
        """Raise UsageError where `least`, `top` or `bottom` have no meaning for this kind and hierarchy."""
        where = f"column {self.name!r}"
        for key in ("top", "bottom"):
            end = getattr(self, key)
            if isinstance(end, dt.date):
                object.__setattr__(self, key, end.isoformat())
            elif end is not None and (
                isinstance(end, bool)
                or not isinstance(end, int | float | str)
                or (isinstance(end, float) and not math.isfinite(end))
            ):
                raise UsageError(f"{where}: {key} must be a number, or a date or time")
            if end is not None and self.kind not in (None, "numeric"):
                raise UsageError(f"{where}: {key} is for numbers and dates, not for a {self.kind} attribute")
        least, hierarchy = self.least, self.hierarchy
        if self.ends is not None:
            self._check_ends(where)
        if least is None:
            return
        if self.kind == "ordinal":
            raise UsageError(f"{where}: least is not for an ordinal attribute, which has no levels")
        is_number = isinstance(least, int | float) and not isinstance(least, bool) and 0 < least < math.inf
        listed: tuple[Any, ...] | None = None
        if self.kind == "nominal" or isinstance(hierarchy, Prefix):
            if hierarchy is None:
                raise UsageError(f"{where}: least names a level: give a hierarchy, such as prefix(3)")
            if not (is_number and isinstance(least, int)):
                raise UsageError(f"{where}: least must be a prefix length, or steps above the values")
            listed = hierarchy.lengths if isinstance(hierarchy, Prefix) else None
        elif self.kind == "numeric":
            if not (is_number or least in CALENDAR):
                raise UsageError(f"{where}: least must be a width, or one of {', '.join(CALENDAR)}")
            if isinstance(hierarchy, Intervals):
                listed = hierarchy.widths
            elif isinstance(hierarchy, Dates):
                listed = hierarchy.units
            elif hierarchy is not None:
                raise UsageError(
                    f"{where}: least of numbers takes intervals() or dates(), not a file or dict"
                )
        if listed is not None and least not in listed:
            levels = ", ".join(map(str, listed))
            raise UsageError(f"{where}: least is no level of {hierarchy!r}; its levels are {levels}")

    def _check_ends(self, where: str) -> None:
        """Raise UsageError where the ends of intervals cannot be rounded like this."""
        ends = self.ends
        if self.kind not in (None, "numeric"):
            raise UsageError(f"{where}: ends is for numbers, not for a {self.kind} attribute")
        if self.least is not None:
            raise UsageError(
                f"{where}: cells end where intervals of levels do, of least or FullDomain: "
                "leave out ends or least"
            )
        is_step = isinstance(ends, int | float) and not isinstance(ends, bool) and 0 < ends < math.inf
        if not (is_step or self.digits):
            raise UsageError(f'{where}: ends must be a number above 0, or text such as "2 digits"')

    @property
    def digits(self) -> int | None:
        """The digits that the ends of intervals keep, if `ends` says so."""
        match = _DIGITS.fullmatch(self.ends) if isinstance(self.ends, str) else None
        return None if match is None else int(match[1])

    @property
    def is_coded(self) -> bool:
        """Is something shown coarser than a method cut it?"""
        return not self.least is self.top is self.bottom is self.ends is None

    def uncoded(self) -> Attribute:
        """The attribute without `least`, `top`, `bottom` and `ends`: as measures of what was lost see it."""
        return replace(self, least=None, top=None, bottom=None, ends=None)

    def __repr__(self) -> str:
        arguments = [repr(self.name)]
        if self.order is not None:
            arguments.append(repr(list(self.order)))
        if self.hierarchy is not None:
            arguments.append(f"hierarchy={self.hierarchy!r}")
        if self.weight != 1.0:
            arguments.append(f"weight={self.weight!r}")
        for key in CODING:
            if getattr(self, key) is not None:
                arguments.append(f"{key}={getattr(self, key)!r}")
        if self.kind is None:
            if len(arguments) == 1:
                return arguments[0]
            return f"Attribute({', '.join(arguments)})"
        return f"{self.kind}({', '.join(arguments)})"


def numeric(
    name: str,
    hierarchy: Any = None,
    weight: float = 1.0,
    *,
    least: int | float | str | None = None,
    top: Any = None,
    bottom: Any = None,
    ends: int | float | str | None = None,
) -> Attribute:
    """A number, date or time. `hierarchy`: `intervals`, `dates`, a nested dict or an ARX CSV file.

    Nothing finer than intervals of width `least` (dates: or that calendar unit) is published; values from
    `top` on are published as `>= top`, those up to `bottom` as `<= bottom`. The ends of published intervals
    of numbers are rounded outward to multiples of `ends`, or to so many significant digits ("2 digits").
    """
    return Attribute(name, "numeric", hierarchy, None, weight, least, top, bottom, ends)


def ordinal(name: str, order: Iterable[Any], weight: float = 1.0) -> Attribute:
    """Labels with an order, lowest first. Every value of the column must be listed."""
    if isinstance(order, str) or not isinstance(order, Iterable):
        raise UsageError(f"column {name!r}: the order must be a list of values")
    return Attribute(name, "ordinal", None, tuple(order), weight)


def nominal(name: str, hierarchy: Any = None, weight: float = 1.0, *, least: int | None = None) -> Attribute:
    """Labels without an order. `hierarchy`: `prefix`, a nested dict or a CSV file in ARX's format.

    Nothing finer than `least` is published: a length of the prefix, or the column of the file (1: the one
    after the values).
    """
    return Attribute(name, "nominal", hierarchy, None, weight, least)


def bound(attribute: Attribute, arrow_type: pa.DataType) -> Attribute:
    natural = kind_of(attribute.name, arrow_type)
    if attribute.kind == "numeric" and natural != "numeric" and not pa.types.is_null(arrow_type):
        raise DataError(
            f"column {attribute.name!r} holds {arrow_type}, not numbers or dates; "
            "convert it, or declare it nominal or ordinal",
            column=attribute.name,
        )
    return replace(attribute, kind=attribute.kind or natural)


def attribute_to_dict(attribute: Attribute) -> Any:
    item: dict[str, Any] = {"name": attribute.name}
    if attribute.kind is not None:
        item["kind"] = attribute.kind
    if attribute.hierarchy is not None:
        item["hierarchy"] = hierarchy_to_dict(attribute.hierarchy)
    if attribute.order is not None:
        item["order"] = list(attribute.order)
    if attribute.weight != 1.0:
        item["weight"] = attribute.weight
    item |= {key: getattr(attribute, key) for key in CODING if getattr(attribute, key) is not None}
    return attribute.name if len(item) == 1 else item


def attribute_from_dict(item: Any) -> str | Attribute:
    if isinstance(item, str):
        return item
    if not isinstance(item, Mapping) or not isinstance(item.get("name"), str):
        raise UsageError("an attribute must be a column's name, or a table with a name")
    known_keys(item, ("name", "kind", "hierarchy", "order", "weight", *CODING), f"column {item['name']!r}")
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
        *(item.get(key) for key in CODING),
    )


def known_keys(data: Mapping[str, Any], known: tuple[str, ...], what: str) -> None:
    for key in data:
        if key not in known:
            hint = did_you_mean(str(key), known)
            raise UsageError(f"{what} has no key {key!r}; {hint}the keys are {', '.join(known)}")
