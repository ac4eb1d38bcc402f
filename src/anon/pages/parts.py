# SPDX-License-Identifier: Apache-2.0
"""What pages share: what was asked, the worst class, the riskiest attribute, the sections of privacy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from anon import figures
from anon.classes import Classes, group, sensitive_counts, texts
from anon.encoding import Codes, encode
from anon.html import Audience, Figure, Section, Table, number
from anon.measures import OF_PRIVACY, RISK, away, most_frequent, privacy_tables
from anon.pages.origin import shortened
from anon.plain import as_plain
from anon.release import CLASS_ID, NOTES_ON_BUCKETS, release_table
from anon.requirements import Requirement
from anon.schema import Schema
from anon.verbs import starred_rows

if TYPE_CHECKING:
    from anon.measures import Privacy
    from anon.release import Release
    from anon.tables import Scan


def asked_of(requirement: Requirement, privacy: Privacy, audience: Audience = "owner") -> dict[str, Any]:
    """A requirement in words, its parameters, and the tightest ones that the release meets.

    For the `public` these are rounded, but not beyond what was asked for where that is met.
    """
    of = privacy if requirement.sensitive is None else privacy.by_sensitive[requirement.sensitive]
    parameters = requirement.holds(of)  # what was asked for, and the measure that tells what holds

    def holds(wanted: int | float, name: str) -> Any:
        tightest = getattr(privacy if name.split("_")[0] == "k" else of, name, None)
        if audience == "owner" or tightest is None:
            return as_plain(tightest)
        measure = OF_PRIVACY[name]
        worst = max if measure.greatest_is_worst else min
        rounded = away(tightest, measure)
        met, passed = worst(tightest, wanted) == wanted, worst(rounded, wanted) == rounded
        return as_plain(wanted if met and passed else rounded)

    plain = {name: (_plain_number(wanted), measure) for name, (wanted, measure) in parameters.items()}
    return {
        "requirement": str(requirement),
        "parameters": {
            name: {"asked": as_plain(wanted), "holds": holds(wanted, measure)}
            for name, (wanted, measure) in plain.items()
        },
    }


def _plain_number(value: Any) -> int | float:
    return value if isinstance(value, int | float) else float(value)


def asked_tables(asked: Sequence[Mapping[str, Any]]) -> tuple[Table, ...]:
    rows = [
        (one["requirement"], name, each["asked"], each["holds"])
        for one in asked
        for name, each in (one["parameters"] or {None: {"asked": None, "holds": None}}).items()
    ]
    if not rows:
        return ()
    header = ("requirement", "parameter", "asked", "holds")
    return (Table("Requirements, and the tightest parameters that hold", header, tuple(rows)),)


def made_tables(metadata: Mapping[str, Any]) -> tuple[Table, Table]:
    roles = tuple((role, ", ".join(names) or None) for role, names in metadata["roles"].items())
    return Table("Roles of the columns", ("role", "columns"), roles), release_table(metadata["release"])


def about(measured: Mapping[str, Any], bucketized: bool) -> str:
    return (
        f"At least {number(measured['n_rows'])} rows are in at most {number(measured['n_classes'])} "
        f"{groups(bucketized, measured['n_classes'])}."
    )


def groups(bucketized: bool, n: int) -> str:
    """What `n` classes, or buckets, are."""
    if not bucketized:
        return "class of rows that look alike" if n == 1 else "classes of rows that look alike"
    return f"bucket{'' if n == 1 else 's, each of'} which tells its sensitive values together"


def notes(bucketized: bool) -> tuple[str, ...]:
    return tuple(f"Note: {note}." for note in NOTES_ON_BUCKETS) if bucketized else ()


def at_a_glance(privacy: Mapping[str, Any], utility: Mapping[str, Any]) -> Table:
    intact = privacy.get("intact", False)
    risk = ("mean risk of re-identification", privacy["prosecutor"]["mean"])
    facts = [
        *([risk] if intact else []),
        (f"rows of the smallest {'bucket' if intact else 'class'} (k)", privacy["k"]),
        ("greatest privacy loss of a class (p_loss)", privacy["p_loss"]),
        *([] if intact else [risk]),
        ("mean information loss of a cell (gcp)", utility["gcp"]),
        ("utility loss (u_loss)", utility.get("u_loss")),
    ]
    known = tuple((name, value) for name, value in facts if value is not None)
    return Table("At a glance", ("measure", "value"), known)


def worst_class(
    privacy: Privacy, release: Release | None = None, table: pa.Table | Scan | None = None
) -> tuple[dict[str, Any] | None, tuple[Figure, ...]]:
    """The class with the greatest privacy loss, or without sensitive attributes the smallest one.

    Its figure are its most frequent sensitive values, of a `release` or, by the cells, of a `table` that was
    checked.
    """
    name = "t_js" if "t_js" in privacy.worst else "k"
    if name not in privacy.worst or privacy.per_class is None:
        return None, ()
    class_id, attribute = privacy.worst[name], privacy.worst_sensitive.get(name)
    cells = dict(privacy.worst_cells[name])
    values: list[dict[str, Any]] = []
    if attribute is not None and release is not None:
        at = [domain.name for domain in release.encoded.sensitive].index(attribute)
        counts = release.published.counts[at]
        if counts is not None:
            values = list(most_frequent(counts, class_id, release.encoded.sensitive[at]))
    elif attribute is not None and table is not None and CLASS_ID not in cells:
        values = _values_of(table, cells, attribute)
    facts = {
        "why": "greatest privacy loss" if name == "t_js" else "fewest rows",
        "size": privacy.per_class["size"][class_id].as_py(),
        "sensitive": attribute,
        "p_loss": privacy.t_js,
        "cells": cells,
        "values": values,
    }
    return facts, (figures.worst_class(str(attribute), values),) if values else ()


def _values_of(table: pa.Table | Scan, cells: Mapping[str, Any], attribute: str) -> list[dict[str, Any]]:
    """The most frequent values of a sensitive attribute in the rows that show these cells."""
    encoded = encode(table.select([*cells, attribute]), Schema(list(cells), [attribute]))
    alike = np.ones(encoded.n_rows, np.bool_)
    for domain, codes in zip(encoded.quasi, encoded.quasi_codes, strict=True):
        words = texts(domain.values)
        cell = cells[domain.name]
        alike &= codes == (words.index(cell) if cell in words else domain.n_values)
    domain, codes = encoded.sensitive[0], encoded.sensitive_codes[0]
    if not alike.any():
        return []
    rows = np.append(np.flatnonzero(alike), np.flatnonzero(~alike)).astype(np.uint32)
    offsets = np.unique([0, alike.sum(), len(rows)])  # of one class alone there are no others
    parts = Classes(rows, offsets, np.empty(0, np.uint32))
    return list(most_frequent(sensitive_counts(parts, codes, domain.n_codes), 0, domain))


def shown_codes(table: pa.Table | Scan, privacy: Privacy) -> dict[str, Codes]:
    """Codes of the quasi-identifiers that a table shows; none for a bucketization."""
    names = [name for name in privacy.worst_cells.get("k", {}) if name != CLASS_ID]
    if not names:
        return {}
    encoded = encode(table.select(names), Schema(names))
    starred = starred_rows(encoded) if privacy.n_starred else None
    codes = encoded.quasi_codes
    return dict(zip(names, codes if starred is None else (column[~starred] for column in codes), strict=True))


def mean_risk(columns: Mapping[str, Codes], n_rows: int) -> dict[str, Any] | None:
    """Classes over rows, of all quasi-identifiers and without each of them, the lowest first; see `RISK`.

    `columns` hold one code per row, or per class.
    """
    if not (columns and n_rows):
        return None

    def risk(names: Sequence[str]) -> float:
        return (group([columns[name] for name in names]).n_classes if names else 1) / n_rows

    without = {name: risk([other for other in columns if other != name]) for name in columns}
    return {"all": risk(list(columns)), "without": dict(sorted(without.items(), key=lambda item: item[1]))}


def privacy_sections(
    measures: Mapping[str, Any],
    facts: Mapping[str, Any],
    drawn: tuple[Figure, ...],
    of_worst: tuple[Figure, ...] = (),
) -> list[Section]:
    sections = [Section("What holds", (), privacy_tables(measures), drawn)]
    worst = facts["worst_class"]
    if worst is not None:
        cells = tuple((name, shortened(cell)) for name, cell in worst["cells"].items())
        paragraphs = [f"It has {number(worst['size'])} rows, and was chosen for its {worst['why']}"]
        if worst["p_loss"] is not None and worst["sensitive"] is not None:
            paragraphs[0] += f" ({number(worst['p_loss'])}, of {worst['sensitive']})"
        paragraphs[0] += "."
        table_of_cells = Table("What the release shows of it", ("column", "cell"), cells)
        if worst["values"]:
            top = worst["values"][0]
            paragraphs.append(
                f"Its most frequent {worst['sensitive']} is {shortened(top['value'])}, with a share of "
                f"{number(top['class'])}; in the whole table that share is {number(top['table'])}."
            )
        sections.append(Section("The worst class", tuple(paragraphs), (table_of_cells,), of_worst))
    risk = facts["mean_risk"]
    if risk is not None:
        least, value = next(iter(risk["without"].items()))
        least_without = (
            f"It is {least}." if value < risk["all"] else "Without any single one it stays as it is."
        )
        table = Table(
            "Mean risk without each quasi-identifier",
            ("quasi-identifier", "mean risk without it"),
            tuple(risk["without"].items()),
        )
        all_known = f"{least_without} With all quasi-identifiers the mean risk is {number(risk['all'])}."
        sections.append(Section("The riskiest attribute", (RISK, all_known), (table,)))
    return sections
