# SPDX-License-Identifier: Apache-2.0
"""Measures as tables, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anon.html import Table
from anon.measures.declared import BY_ALL, BY_CLASS, COSTS

RISK = (
    "The riskiest attribute is the quasi-identifier without which the mean risk would be lowest. The mean "
    "risk is the share of people that an attacker finds who knows their quasi-identifiers and picks one of "
    "the rows that look like them: classes over rows."
)


def privacy_tables(measures: Mapping[str, Any]) -> tuple[Table, ...]:
    """The tables of `Privacy.to_dict()`: of the classes, and of the sensitive attributes."""
    sizes, risk = measures["sizes"], measures["prosecutor"]
    intact = measures.get("intact", False)
    alike = "with their quasi-identifiers" if intact else "in their class"
    identity: list[tuple[Any, ...]] = [
        (f"rows alone {alike}", measures["sample_uniques"]),
        ("greatest risk of re-identification", risk["max"]),
        ("mean risk of re-identification", risk["mean"]),
        *_at_risk("share of rows", risk["at_risk"]),
    ]
    rows: list[tuple[Any, ...]] = [
        *(identity if intact else ()),
        ("rows", measures["n_rows"]),
        *([("suppressed rows", measures["n_suppressed"])] if "n_suppressed" in measures else []),
        ("classes", measures["n_classes"]),
        (f"rows of the smallest {'bucket' if intact else 'class'} (k)", measures["k"]),
        ("rows of a class, mean", sizes["mean"]),
        ("rows of a class, median", sizes["median"]),
        ("rows of the largest class", sizes["max"]),
        *(() if intact else identity),
    ]
    if units := measures.get("units"):
        rows += [
            ("units", units["n_units"]),
            ("units of the smallest class (k of units)", units["k"]),
            ("classes of one unit", units["alone"]),
            ("units with the same bag of cells, at least", units["k_bags"]),
            ("greatest risk of a unit", units["risk"]["max"]),
            ("mean risk of a unit", units["risk"]["mean"]),
            *_at_risk("share of units", units["risk"]["at_risk"]),
        ]
    known = measures.get("known")
    if known:
        rows.append(("k with the neutral columns known", known["k"]))
        rows.append(("rows unique with the neutral columns known", known["sample_uniques"]))
        rows.append(("mean risk with the neutral columns known", known["prosecutor"]["mean"]))
    if measures["n_starred"]:
        rows.append(("rows of * only, set apart", measures["n_starred"]))
        rows.append(("k with those as a class", measures["k_with_starred"]))
    if measures["population"]:
        journalist = measures["population"]["journalist"]
        rows.append(("greatest risk in the population (journalist)", journalist["max"]))
        rows.append(("mean risk in the population (marketer)", measures["population"]["marketer"]))
        rows.extend(_at_risk("share of rows, in the population,", journalist["at_risk"]))
    if measures["null_matching"]:
        rows.append(("k where a missing cell matches anything", measures["null_matching"]["k"]))
    tables = [Table("Classes and risks", ("measure", "value"), tuple(rows))]
    by_sensitive = dict(measures["by_sensitive"])
    if len(by_sensitive) > 1 and measures["joint"] is not None:
        by_sensitive["(joint)"] = measures["joint"]
    known = [
        (f"{name}\n{measure.meaning}", *(each[name] for each in by_sensitive.values()))
        for name, measure in {**BY_CLASS, **BY_ALL}.items()
        if measure.meaning and any(each[name] is not None for each in by_sensitive.values())
    ]
    if known:
        header = ("measure", *by_sensitive)
        tables.append(Table("What is told of the sensitive attributes", header, tuple(known)))
    return tuple(tables)


def utility_tables(measures: Mapping[str, Any]) -> tuple[Table, ...]:
    """The tables of `Utility.to_dict()`: of the whole, and of every column."""
    rows = tuple(
        (f"{name}\n{measure.meaning}", measures[name])
        for name, measure in COSTS.items()
        if measure.meaning and measures.get(name) is not None
    )
    tables = [Table("What was lost", ("measure", "value"), rows)]
    for title, part in (("Quasi-identifiers", "by_attribute"), ("Sensitive attributes", "by_sensitive")):
        by_column = measures[part] or {}
        names = [
            name
            for name in next(iter(by_column.values()), {})
            if any(each[name] is not None for each in by_column.values())
        ]
        if names:
            body = tuple((column, *(each[name] for name in names)) for column, each in by_column.items())
            tables.append(Table(title, ("column", *names), body))
    return tuple(tables)


def _at_risk(what: str, shares: Mapping[Any, float]) -> list[tuple[str, float]]:
    return [
        (f"{what} with a risk above {'one in ' if float(x) >= 1 else ''}{x}", share)
        for x, share in shares.items()
    ]
