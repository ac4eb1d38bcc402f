# SPDX-License-Identifier: Apache-2.0
"""Measures as tables, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from anon.html import Table
from anon.measures.declared import BY_ALL, BY_CLASS, COSTS, title_of

RISK = (
    "The riskiest attribute is the quasi-identifier without which the mean risk would be lowest. The mean "
    "risk is the share of people that an attacker finds who knows their quasi-identifiers and picks one of "
    "the rows that look like them: classes over rows."
)

KNOWN_FROM = {
    "table": "a table of it",
    "sampling fraction": "the sampling fraction",
    "weights": "the weights of the rows",
}


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
    if measures["null_matching"]:
        rows.append(("k where a missing cell matches anything", measures["null_matching"]["k"]))
    tables = [Table("Classes and risks", ("measure", "value"), tuple(rows))]
    if measures["population"]:
        tables.append(population_table(measures["population"], measures.get("population_before")))
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
    if numbers := measures.get("numbers"):
        tables.append(numbers_table(numbers))
    if measures.get("population"):
        tables.append(population_table(measures["population"], measures["population_before"]))
    for title, part in (("Quasi-identifiers", "by_attribute"), ("Sensitive attributes", "by_sensitive")):
        by_column = measures[part] or {}
        names = [
            name
            for name in next(iter(by_column.values()), {})
            if any(each[name] is not None for each in by_column.values())
        ]
        if names:
            body = tuple((column, *(each[name] for name in names)) for column, each in by_column.items())
            tables.append(Table(title, ("column", *map(title_of, names)), body))
    return tuple(tables)


def numbers_table(measures: Mapping[str, Any]) -> Table:
    """The table of `Numbers.to_dict()`, or of a part of it."""
    told = ((f"{name}\n{COSTS[f'numbers.{name}'].meaning}", value) for name, value in measures.items())
    rows = tuple(row for row in told if row[1] is not None and not row[0].endswith("\n"))
    return Table("What became of the numbers", ("measure", "value"), rows)


def risk_table(measured: Mapping[str, Any]) -> Table:
    """The table of `RowRisk.to_dict()`."""
    rows: list[tuple[Any, ...]] = [
        ("rows", measured["n_rows"]),
        *([("suppressed rows", measured["n_suppressed"])] if measured["n_suppressed"] else []),
        ("classes", measured["n_classes"]),
        ("sampling fraction", measured["sampling_fraction"]),
        ("people expected to be found (global risk)", measured["expected"]),
        ("mean risk of a row (marketer)", measured["mean"]),
        ("greatest risk of a row (journalist)", measured["max"]),
        *(
            (f"rows with a risk above {'one in ' if float(x) >= 1 else ''}{x}", count)
            for x, count in measured["above"].items()
        ),
        ("rows alone in the table (sample uniques)", measured["sample_uniques"]),
    ]
    uniques = measured["population_uniques"]
    if uniques is not None:
        how = "counted" if uniques["model"] == "count" else f"estimated by {uniques['model']}"
        rows.append((f"people alone in the population, {how}\n{uniques['why']}", uniques["count"]))
        rows.extend(
            (f"the same by {name}", value)
            for name, value in uniques["estimates"].items()
            if name != uniques["model"]
        )
        if uniques["boundary"]:
            rows.append(("the likelihood is greatest at the edge of Pitman's model", "yes"))
    if measured["household"] is not None:
        of_all = measured["household"]
        rows.append(("households", of_all["n_households"]))
        rows.append(("people expected to be found with their household", of_all["expected_rows"]))
        rows.append(("households expected to be found", of_all["expected_households"]))
    title = f"Risk in the population, known from {KNOWN_FROM[measured['by']]}"
    return Table(title, ("measure", "value"), tuple(rows))


def suda_tables(measured: Mapping[str, Any], riskiest: Sequence[Mapping[str, Any]]) -> tuple[Table, ...]:
    """The tables of `Suda.to_dict()`, and of the rows of greatest score, by number."""
    rows: list[tuple[Any, ...]] = [
        ("rows", measured["n_rows"]),
        ("rows that some set of attributes singles out", measured["n_unique"]),
        *(
            (f"minimal sample uniques of {size} attribute{'s' if size != '1' else ''}", count)
            for size, count in measured["sets_by_size"].items()
        ),
        ("sum of all scores", measured["total_score"]),
        ("greatest score", measured["greatest_score"]),
    ]
    if measured["dis_fraction"] is not None:
        rows.append(("chance that a match of a unique row is right (DIS)", measured["dis_fraction"]))
        rows.append(("greatest DIS-SUDA score", measured["greatest_dis"]))
    shares = sorted(measured["contributions"].items(), key=lambda item: -item[1])
    tables = [
        Table("Special uniques", ("measure", "value"), tuple(rows)),
        Table("Contribution to all scores", ("quasi-identifier", "percent"), tuple(shares)),
    ]
    if riskiest:
        body = tuple(tuple(row.values()) for row in riskiest)
        tables.append(Table("The riskiest rows", tuple(riskiest[0]), body))
    return tuple(tables)


def population_table(after: Mapping[str, Any], before: Mapping[str, Any] | None) -> Table:
    """Risk in the population of a release, beside that of the original where it is known."""
    sides = [_population_rows(each) for each in (before, after) if each is not None]
    header = ("measure", "before", "after") if before is not None else ("measure", "value")
    rows = tuple((what, *(side.get(what) for side in sides)) for what in sides[-1])
    return Table("Risk in the population", header, rows)


def _population_rows(risk: Mapping[str, Any]) -> dict[str, Any]:
    journalist = risk["journalist"]
    rows = {
        "greatest risk in the population (journalist)": journalist["max"],
        "mean risk in the population (marketer)": risk["marketer"],
        **dict(_at_risk("share of rows, in the population,", journalist["at_risk"])),
    }
    uniques = risk.get("uniques")
    if uniques:
        rows["people alone in the population (estimated)"] = uniques["count"]
        if "model" in uniques:
            rows["estimated by"] = f"{uniques['model']}: {uniques['why']}"
    return rows


def _at_risk(what: str, shares: Mapping[Any, float]) -> list[tuple[str, float]]:
    return [
        (f"{what} with a risk above {'one in ' if float(x) >= 1 else ''}{x}", share)
        for x, share in shares.items()
    ]
