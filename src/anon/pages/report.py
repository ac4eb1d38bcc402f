# SPDX-License-Identifier: Apache-2.0
"""The report of each verb: the sections of its page, and all numbers on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from anon import figures
from anon.choice import PRICE, frontier_tables
from anon.classes import group
from anon.encoding import Codes, encode
from anon.engines import balanced_instead
from anon.html import Audience, Figure, Section, Table, number
from anon.html import rows as rows_of
from anon.measures import (
    COSTS,
    OF_PRIVACY,
    RISK,
    ROLES_FROM_FILE,
    away,
    handed_out,
    privacy_tables,
    utility_tables,
)
from anon.pages.origin import Origin, Report, origin_section, released_section, shortened
from anon.plain import as_plain
from anon.release import CLASS_ID, NOTES_ON_BUCKETS, note_on_perturbed, release_table
from anon.requirements import Requirement
from anon.scenarios import ScenarioResult, sections
from anon.schema import Schema
from anon.verbs import starred_rows

if TYPE_CHECKING:
    from anon.choice import Frontier, Point
    from anon.measures import Privacy, Utility
    from anon.release import Release
    from anon.tables import Scan
from anon.pages.drawn import class_figures, lattice_figures, loss_figures, population_figures


def of_release(
    release: Release,
    *,
    privacy: Privacy | None = None,
    utility: Utility | None = None,
    origin: Origin | None = None,
    audience: Audience = "owner",
) -> Report:
    """What was asked of a release, what holds, what it cost, and how to make it again.

    `privacy` is that of the release, with `per_class` where the page is the owner's, and `utility` what it
    lost; they are measured where they are not given. What is for the `public` is rounded, and tells
    neither how the release came about nor of its worst class.
    """
    privacy = privacy or release.privacy(per_class=True, neutral=True)
    utility = utility or release.utility()
    if audience == "public":
        return _handed_out_release(release, privacy, utility, origin or Origin())
    encoded = release.encoded
    generalized = release.publish == "generalization"
    codes = {
        domain.name: release.cells[i].of_class
        if generalized
        else encoded.quasi_codes[i][release.classes.rows]
        for i, domain in enumerate(encoded.quasi)
    }
    of_classes = (*class_figures(privacy), *population_figures(privacy))
    of_loss = loss_figures(utility)
    of_lattice = lattice_figures(release)
    asked = [_asked(requirement, privacy) for requirement in release.requirements]
    facts: dict[str, Any] = {
        "audience": audience,
        "release": release.summary(),
        "roles": {name: list(names) for name, names in release.metadata["roles"].items()},
        "asked": asked,
        "privacy": privacy.to_dict(),
        "utility": utility.to_dict(),
        "worst_class": _worst_class(privacy),
        "mean_risk": _mean_risk(codes, release.n_rows),
        "figures": {figure.title: rows_of(figure) for figure in (*of_lattice, *of_classes, *of_loss)},
        "lattice": None if release.lattice is None else release.lattice.to_dict(),
        "levels": _levels(release, utility),
        "ends_of_one": dict(release.ends_of_one),
        "balanced": balanced_facts(release, utility),
        "warnings": list(release.warnings),
        "origin": (origin or Origin()).to_dict(),
        "verdict": _verdict(release),
    }
    summary = facts["release"]
    sections = [
        Section(
            "In short",
            (
                f"{number(summary['rows'])} rows are published in {number(summary['classes'])} "
                f"{_groups(release.publish == 'bucketization')}; "
                f"{number(summary['suppressed'])} rows are suppressed.",
                facts["verdict"],
                *(f"Warning: {warning}" for warning in release.warnings),
                *(f"Note: {note}." for note in release.notes),
                *_on_balanced(facts["balanced"]),
                *_on_ends(release),
                *_notes(release.publish == "bucketization"),
            ),
            (_at_a_glance(facts["privacy"], facts["utility"]),),
        ),
        Section("What was asked", tables=(*_asked_tables(asked), *_made_tables(facts))),
        *_lattice_sections(facts, of_lattice),
        *_privacy_sections(facts["privacy"], facts, of_classes),
        Section("What it cost", (), utility_tables(facts["utility"]), of_loss),
        origin_section(facts),
    ]
    return Report("Report of a release", facts, tuple(sections))


def balanced_facts(release: Release, utility: Utility) -> dict[str, Any] | None:
    """Of a release of effort "fast", which lost `of`, about what "balanced" would have lost: as a `share` of
    that, and as `gcp`; from so many `rows`. None of others.
    """
    estimate = balanced_instead(release)
    if estimate is None:
        return None
    share, gcp = estimate.share, utility.gcp
    return {"share": share, "gcp": gcp * share, "of": gcp, "rows": estimate.n_rows}


def _on_balanced(facts: Mapping[str, Any] | None) -> list[str]:
    if facts is None:
        return []
    return [
        f"Note: it was made by effort 'fast'; 'balanced' would have lost about {number(facts['gcp'])} in "
        f"place of {number(facts['of'])} (gcp), estimated from {number(facts['rows'])} rows of whole classes."
    ]


def _on_ends(release: Release) -> list[str]:
    """Which columns show cells that end at the value of one person, and how not to."""
    return [
        f"Note: {number(n)} of {number(release.classes.n_classes)} cells of {name} end at the value of one "
        f"person; ends= (--ends {name}=...) rounds them, top= and bottom= cap them."
        for name, n in release.ends_of_one.items()
        if n
    ]


def _levels(release: Release, utility: Utility) -> list[dict[str, Any]]:
    """Of each quasi-identifier that full-domain recoding recoded: its level, and what is left of it."""
    if release.lattice is None:
        return []
    lattice = release.lattice.to_dict()
    cells = {one.domain.name: one for one in release.cells}
    return [
        {
            "column": name,
            **({"level": lattice["levels"][name]} if "levels" in lattice else {}),
            "highest": height,
            "labels": len(np.unique(cells[name].of_class)) if name in cells else None,
            "ncp": utility.by_attribute[name].ncp if name in cells else None,
        }
        for name, height in lattice["heights"].items()
    ]


def _lattice_sections(facts: Mapping[str, Any], drawn: tuple[Figure, ...]) -> list[Section]:
    seen = facts["lattice"]
    if seen is None:
        return []
    rows = tuple(tuple(each.values()) for each in facts["levels"])
    header = ("column", "level", "highest level", "labels", "information loss (NCP)")
    if "rounds" in seen:
        return [_rounds_section(seen, Table("What is left of each column", (header[0], *header[2:]), rows))]
    cost = f"{seen['quality']} {number(seen['score'])}, {number(seen['suppressed'])} rows suppressed"
    said = {
        None: f"The levels were given: {cost}.",
        True: f"Of {number(seen['nodes'])} recodings {number(seen['judged'])} had to be judged, of which "
        f"{number(seen['feasible'])} are feasible; the best of all was taken: {cost}.",
        False: f"When the search ended {number(seen['judged'])} of {number(seen['nodes'])} recodings were "
        f"judged, and the best of these was taken: {cost}.",
    }
    table = Table("The level of each column", header, rows)
    return [Section("How the columns were recoded", (said[seen["optimal"]],), (table,), drawn)]


def _rounds_section(seen: Mapping[str, Any], columns: Table) -> Section:
    rounds = seen["rounds"]
    said = (
        f"Rows were recoded in {number(len(rounds))} rounds: what did not pass at the levels of one was left "
        f"to the next. On average {number(seen['score'])} of a cell was lost, and "
        f"{number(seen['suppressed'])} rows were suppressed."
    )
    if not seen["optimal"]:
        said += " The search ended before all levels were ruled out: others may lose less."
    header = ("round", "rows", *seen["heights"])
    rows = tuple((i, each["rows"], *each["levels"].values()) for i, each in enumerate(rounds))
    table = Table("The level of each column in each round", header, rows)
    return Section("How the columns were recoded", (said,), (table, columns))


def _handed_out_release(release: Release, privacy: Privacy, utility: Utility, origin: Origin) -> Report:
    roles = {name: list(names) for name, names in release.metadata["roles"].items()}
    measured = handed_out(privacy.to_dict(), OF_PRIVACY)
    lost = handed_out(utility.to_dict(estimates=False), COSTS)
    for part in (measured, lost):  # a column that was left out has its name nowhere
        part["by_sensitive"] = {
            name: each for name, each in part["by_sensitive"].items() if name in roles["sensitive"]
        }
    facts: dict[str, Any] = {
        "audience": "public",
        "release": {
            name: value
            for name, value in release.summary().items()
            if name not in ("rows", "suppressed", "suppressed for", "classes", "rounds", "not published")
        },
        "roles": roles,
        "asked": [_asked(requirement, privacy, "public") for requirement in release.requirements],
        "privacy": measured,
        "utility": lost,
        "origin": origin.public_dict(),
        "verdict": _verdict(release),
    }
    bucketized = release.publish == "bucketization"
    sections = [
        Section(
            "In short",
            (
                _about(measured, bucketized),
                facts["verdict"],
                *(f"Note: {note}." for note in [note_on_perturbed(release.perturbed_by)] if note),
                *_notes(bucketized),
            ),
            (_at_a_glance(facts["privacy"], facts["utility"]),),
        ),
        Section("What was asked", tables=(*_asked_tables(facts["asked"]), *_made_tables(facts))),
        Section("What holds", (), privacy_tables(measured)),
        Section("What it cost", (), utility_tables(lost)),
        released_section(facts),
    ]
    return Report("About a release", facts, tuple(sections))


def _about(measured: Mapping[str, Any], bucketized: bool) -> str:
    return (
        f"At least {number(measured['n_rows'])} rows are in at most {number(measured['n_classes'])} "
        f"{_groups(bucketized)}."
    )


def _made_tables(metadata: Mapping[str, Any]) -> tuple[Table, Table]:
    roles = tuple((role, ", ".join(names) or None) for role, names in metadata["roles"].items())
    return Table("Roles of the columns", ("role", "columns"), roles), release_table(metadata["release"])


def of_check(
    privacy: Privacy,
    table: pa.Table | Scan,
    *,
    require: Sequence[Requirement] = (),
    origin: Origin | None = None,
    audience: Audience = "owner",
) -> Report:
    """What holds of a table that somebody released.

    `privacy` was measured of the `table`, with `per_class` where the page is the owner's; `require` is what
    its `unmet` was asked about. What is for the `public` is rounded.
    """
    origin = origin or Origin()
    asked = [_asked(requirement, privacy, audience) for requirement in require]
    bucketized = CLASS_ID in privacy.worst_cells.get("k", {})
    if privacy.unmet is None:
        verdict = "Nothing was required."
    elif privacy.unmet:
        verdict = f"Not met: {', '.join(privacy.unmet)}."
    else:
        verdict = "Every requirement is met."
    claim = []
    if privacy.roles_from == "file":
        claim = [ROLES_FROM_FILE]
        verdict += " The roles of the columns are the file's own claim."
    if audience == "public":
        facts: dict[str, Any] = {
            "audience": audience,
            **handed_out(privacy.to_dict(), OF_PRIVACY),
            "asked": asked,
            "origin": origin.public_dict(),
            "verdict": verdict,
        }
        handed = (
            Section(
                "In short",
                (*claim, _about(facts, bucketized), verdict, *_notes(bucketized)),
                _asked_tables(asked),
            ),
            Section("What holds", (), privacy_tables(facts)),
            released_section(facts),
        )
        return Report("About a release, checked", facts, handed)
    drawn = (*class_figures(privacy), *population_figures(privacy))
    facts = {
        "audience": audience,
        **privacy.to_dict(),
        "asked": asked,
        "worst_class": _worst_class(privacy),
        "mean_risk": _mean_risk(_shown_codes(table, privacy), privacy.n_rows),
        "figures": {figure.title: rows_of(figure) for figure in drawn},
        "origin": origin.to_dict(),
        "verdict": verdict,
    }
    sections = [
        Section(
            "In short",
            (
                *claim,
                f"The table has {number(privacy.n_rows)} rows in {number(privacy.n_classes)} "
                f"{_groups(bucketized)}.",
                verdict,
                *_notes(bucketized),
            ),
            _asked_tables(asked),
        ),
        *_privacy_sections(facts, facts, drawn),
        origin_section(facts),
    ]
    return Report("Report of a check", facts, tuple(sections))


def _groups(bucketized: bool) -> str:
    if not bucketized:
        return "classes of rows that look alike"
    return "buckets, each of which tells its sensitive values together"


def _notes(bucketized: bool) -> tuple[str, ...]:
    return tuple(f"Note: {note}." for note in NOTES_ON_BUCKETS) if bucketized else ()


def of_comparison(utility: Utility, *, origin: Origin | None = None, audience: Audience = "owner") -> Report:
    """What a release, made by anyone, lost of the original. What is for the `public` is rounded."""
    origin = origin or Origin()
    verdict = "Measured from the published cells; rows need not be in the same order."
    if audience == "public":
        facts: dict[str, Any] = {
            "audience": audience,
            **handed_out(utility.to_dict(estimates=False), COSTS),
            "origin": origin.public_dict(),
            "verdict": verdict,
        }
        handed = (Section("What it cost", (), utility_tables(facts)), released_section(facts))
        return Report("About a release, compared with its original", facts, handed)
    drawn = (*loss_figures(utility), *population_figures(utility))
    facts = {
        "audience": audience,
        **utility.to_dict(),
        "figures": {figure.title: rows_of(figure) for figure in drawn},
        "origin": origin.to_dict(),
        "verdict": verdict,
    }
    short = (
        f"Of {number(facts['n_rows'])} rows {number(facts['n_suppressed'])} are suppressed; the others "
        f"are in {number(facts['n_classes'])} classes of rows that look alike."
    )
    sections = [
        Section("In short", (short,)),
        Section("What it cost", (), utility_tables(facts), drawn),
        origin_section(facts),
    ]
    return Report("Report of a comparison", facts, tuple(sections))


def of_frontier(frontier: Frontier, *, chosen: Point | None = None, origin: Origin | None = None) -> Report:
    """What a `Frontier` found: its points, the efficient ones, the price of privacy, the point `chosen`."""
    drawn = figures.frontier(frontier)
    facts: dict[str, Any] = {
        "audience": "owner",
        **frontier.to_dict(),
        "n_points": len(frontier.points),
        "n_efficient": len(frontier.efficient),
        "chosen": None if chosen is None else chosen.to_dict(),
        "figures": {drawn.title: rows_of(drawn)},
        "origin": (origin or Origin()).to_dict(),
        "verdict": "Every point that counts was checked by the independent re-check of its release, in this "
        "run or, where it comes from the cache, in the run that put it there.",
    }
    knee = "" if facts["knee"] is None else f" The knee is {facts['knee']}: beyond it one axis costs most."
    best = "" if chosen is None else f" Within the bound that was given {chosen.name} is best."
    efficient, measured, missed = frontier_tables(facts)
    prices = tuple(
        (f"{price['more_private']}\nin place of {price['less_private']}", *(price[name] for name in PRICE))
        for price in facts["prices"]
    )
    sections = [
        Section(
            "In short",
            (
                f"Of {number(facts['n_points'])} releases {number(facts['n_efficient'])} are efficient: "
                f"no other is as good on both axes and better on one.{knee}{best}",
            ),
            (efficient,),
            (drawn,),
        ),
        Section(
            "The price of privacy",
            ("What one step along the frontier gains of privacy, and what it loses of utility.",),
            (Table("Between neighbors", ("step", "privacy gained", "utility lost", "price"), prices),),
        ),
        Section("All releases", (), (measured, missed) if missed.rows else (measured,)),
        origin_section(facts),
    ]
    return Report("Report of a frontier", facts, tuple(sections))


def of_scenario(result: ScenarioResult, *, origin: Origin | None = None) -> Report:
    """What sanitizations keep for users and give away to adversaries."""
    facts: dict[str, Any] = {
        "audience": "owner",
        **result.to_dict(),
        "origin": (origin or Origin()).to_dict(),
        "verdict": "Every release that was made here was checked by its independent re-check; tables that "
        "were given are taken as they are.",
    }
    warned = (Section("Warnings", result.warnings),) if result.warnings else ()
    return Report("Report of a scenario", facts, (*sections(result), *warned, origin_section(facts)))


def _asked(requirement: Requirement, privacy: Privacy, audience: Audience = "owner") -> dict[str, Any]:
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


def _asked_tables(asked: Sequence[Mapping[str, Any]]) -> tuple[Table, ...]:
    rows = [
        (one["requirement"], name, each["asked"], each["holds"])
        for one in asked
        for name, each in (one["parameters"] or {None: {"asked": None, "holds": None}}).items()
    ]
    if not rows:
        return ()
    header = ("requirement", "parameter", "asked", "holds")
    return (Table("Requirements, and the tightest parameters that hold", header, tuple(rows)),)


def _at_a_glance(privacy: Mapping[str, Any], utility: Mapping[str, Any]) -> Table:
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


def _verdict(release: Release) -> str:
    if not release.meets_requirements:
        return "The requirements cannot be met: this release can be measured, and was not written."
    if not release.requirements:
        return "Nothing was required. The independent check of the rows and of the published cells passed."
    return (
        "Every requirement is met: before it was written the release was read back from its published cells, "
        "grouped again, and tested by code that shares nothing with the method."
    )


def _worst_class(privacy: Privacy) -> dict[str, Any] | None:
    """The class with the greatest privacy loss, or without sensitive attributes the smallest one."""
    name = "t_js" if "t_js" in privacy.worst else "k"
    if name not in privacy.worst or privacy.per_class is None:
        return None
    return {
        "why": "greatest privacy loss" if name == "t_js" else "fewest rows",
        "size": privacy.per_class["size"][privacy.worst[name]].as_py(),
        "sensitive": privacy.worst_sensitive.get(name),
        "p_loss": privacy.t_js,
        "cells": dict(privacy.worst_cells[name]),
    }


def _shown_codes(table: pa.Table | Scan, privacy: Privacy) -> dict[str, Codes]:
    """Codes of the quasi-identifiers that a table shows; none for a bucketization."""
    names = [name for name in privacy.worst_cells.get("k", {}) if name != CLASS_ID]
    if not names:
        return {}
    encoded = encode(table.select(names), Schema(names))
    starred = starred_rows(encoded) if privacy.n_starred else None
    codes = encoded.quasi_codes
    return dict(zip(names, codes if starred is None else (column[~starred] for column in codes), strict=True))


def _mean_risk(columns: Mapping[str, Codes], n_rows: int) -> dict[str, Any] | None:
    """Classes over rows, of all quasi-identifiers and without each of them, the lowest first; see `RISK`.

    `columns` hold one code per row, or per class.
    """
    if not (columns and n_rows):
        return None

    def risk(names: Sequence[str]) -> float:
        return (group([columns[name] for name in names]).n_classes if names else 1) / n_rows

    without = {name: risk([other for other in columns if other != name]) for name in columns}
    return {"all": risk(list(columns)), "without": dict(sorted(without.items(), key=lambda item: item[1]))}


def _privacy_sections(
    measures: Mapping[str, Any], facts: Mapping[str, Any], drawn: tuple[Figure, ...]
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
        sections.append(Section("The worst class", tuple(paragraphs), (table_of_cells,)))
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
