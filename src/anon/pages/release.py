# SPDX-License-Identifier: Apache-2.0
"""The report of a release: the owner's, and the one that may be handed out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from anon.engines import balanced_instead
from anon.html import Audience, Figure, Section, Table, number, sentence
from anon.html import rows as rows_of
from anon.measures import (
    COSTS,
    OF_PRIVACY,
    handed_out,
    privacy_tables,
    risk_of_sizes,
    sizes_before,
    utility_tables,
)
from anon.pages.decision import Cover, Decision, decide, facts_of, first_of, limits
from anon.pages.drawn import (
    before_and_after,
    class_figures,
    lattice_figures,
    loss_figures,
    population_figures,
)
from anon.pages.origin import Origin, Report, origin_section, released_section
from anon.pages.parts import (
    about,
    asked_of,
    asked_tables,
    at_a_glance,
    groups,
    made_tables,
    mean_risk,
    notes,
    privacy_sections,
    worst_class,
)
from anon.pages.terms import terms_of
from anon.plain import as_plain
from anon.release import note_on_perturbed

if TYPE_CHECKING:
    from anon.measures import Privacy, Utility
    from anon.release import Release


def of_release(
    release: Release,
    *,
    privacy: Privacy | None = None,
    utility: Utility | None = None,
    origin: Origin | None = None,
    audience: Audience = "owner",
    cover: Cover | None = None,
) -> Report:
    """What was asked of a release, what holds, what it cost, and how to make it again.

    `privacy` is that of the release, with `per_class` where the page is the owner's, and `utility` what it
    lost; they are measured where they are not given. What is for the `public` is rounded, and tells
    neither how the release came about nor of its worst class. The `cover` is what people write on it.
    """
    privacy = privacy or release.privacy(per_class=True, neutral=True)
    utility = utility or release.utility()
    origin, cover = origin or Origin(), cover or Cover()
    if audience == "public":
        return _handed_out_release(release, privacy, utility, origin, cover)
    encoded = release.encoded
    generalized = release.publish == "generalization"
    codes = {
        domain.name: release.cells[i].of_class
        if generalized
        else encoded.quasi_codes[i][release.classes.rows]
        for i, domain in enumerate(encoded.quasi)
    }
    roles = _roles(release)
    of_classes = (*before_and_after(release.published), *class_figures(privacy), *population_figures(privacy))
    of_loss = loss_figures(utility)
    of_lattice = lattice_figures(release)
    worst, of_worst = worst_class(privacy, release)
    asked = [asked_of(requirement, privacy) for requirement in release.requirements]
    measured = privacy.to_dict()
    decision = decision_of(release, measured, privacy)
    before = risk_of_sizes(*np.unique(sizes_before(release.published), return_counts=True), (2, 5, 10))
    facts: dict[str, Any] = {
        "audience": "owner",
        "cover": cover.to_dict(),
        "decision": decision.to_dict(),
        "before": as_plain(before),
        "release": release.summary(),
        "roles": {name: list(names) for name, names in release.metadata["roles"].items()},
        "asked": asked,
        "privacy": measured,
        "utility": utility.to_dict(),
        "worst_class": worst,
        "mean_risk": mean_risk(codes, release.n_rows),
        "figures": {
            figure.title: rows_of(figure) for figure in (*of_lattice, *of_classes, *of_worst, *of_loss)
        },
        "lattice": None if release.lattice is None else release.lattice.to_dict(),
        "levels": _levels(release, utility),
        "ends_of_one": dict(release.ends_of_one),
        "balanced": balanced_facts(release, utility),
        "warnings": list(release.warnings),
        "origin": origin.to_dict(),
        "verdict": decision.verdict,
    }
    summary, intact = facts["release"], release.publish == "bucketization"
    sections = [
        Section(
            "In short",
            (
                f"{number(summary['rows'])} rows are published in {number(summary['classes'])} "
                f"{groups(intact, summary['classes'])}; {number(summary['suppressed'])} rows are suppressed.",
                *decision.further,
                *(f"Warning: {warning}" for warning in release.warnings),
                *(f"Note: {note}." for note in release.notes),
                *_on_balanced(facts["balanced"]),
                *_on_ends(release),
                *notes(intact),
            ),
            (at_a_glance(measured, facts["utility"]),),
        ),
        Section("What was asked", tables=(*asked_tables(asked), *made_tables(facts))),
        *_lattice_sections(facts, of_lattice),
        *privacy_sections(measured, facts, of_classes, of_worst),
        Section("What it cost", (), utility_tables(facts["utility"]), of_loss),
        origin_section(facts),
    ]
    risk, population = measured["prosecutor"], measured["population"]
    in_population = measured["population_before"]
    told = (
        ("rows", summary["rows"]),
        ("suppressed rows", summary["suppressed"]),
        (f"rows of the smallest {'bucket' if intact else 'class'} (k)", measured["k"]),
        ("mean risk of re-identification", facts["before"]["prosecutor"]["mean"], risk["mean"]),
        ("greatest risk of re-identification", facts["before"]["prosecutor"]["max"], risk["max"]),
        *(
            [
                (
                    "greatest risk in the population (journalist)",
                    *([in_population["journalist"]["max"]] if in_population else []),
                    population["journalist"]["max"],
                )
            ]
            if population
            else []
        ),
        ("information loss (gcp)", facts["utility"]["gcp"]),
    )
    first = first_of(decision, cover, roles, told, _limits(release, roles))
    title = cover.title or "Report of a release"
    return Report(title, facts, tuple(sections), first, terms_of(release.requirements))


def _roles(release: Release) -> dict[str, list[str]]:
    """All columns of the table, by role."""
    roles = {name: list(names) for name, names in release.metadata["roles"].items()}
    identifying = [f"{name} (identifying)" for name in release.encoded.schema.identifying]
    return {**roles, "unpublished": [*release.encoded.unpublished, *identifying]}


def _limits(release: Release, roles: Mapping[str, Any]) -> tuple[str, ...]:
    return limits(roles, bounds_sensitive=any(each.tests_sensitive for each in release.requirements))


def decision_of(release: Release, measured: Mapping[str, Any], privacy: Privacy | None = None) -> Decision:
    """Whether the release holds, and what qualifies it: the owner is told more, by `privacy`."""
    perturbed = note_on_perturbed(release.perturbed_by)
    facts = facts_of(
        measured,
        intact=release.publish == "bucketization",
        privacy=privacy,
        neutral=[name for name in release.neutral if not release.is_mean(name)],
        others=[sentence(perturbed)] if perturbed else [],
    )
    if not release.meets_requirements:
        facts = [*(sentence(why) for why in release.warnings), *facts]
    is_met = release.meets_requirements if release.requirements else None
    verdict = _verdict(release, bool(facts))
    return decide(is_met, verdict, verdict, facts)


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


def _handed_out_release(
    release: Release, privacy: Privacy, utility: Utility, origin: Origin, cover: Cover
) -> Report:
    roles = {name: list(names) for name, names in release.metadata["roles"].items()}
    measured = handed_out(privacy.to_dict(), OF_PRIVACY)
    lost = handed_out(utility.to_dict(estimates=False), COSTS)
    for part in (measured, lost):  # a column that was left out has its name nowhere
        part["by_sensitive"] = {
            name: each for name, each in part["by_sensitive"].items() if name in roles["sensitive"]
        }
    decision = decision_of(release, measured)
    facts: dict[str, Any] = {
        "audience": "public",
        "cover": cover.to_dict(),
        "decision": decision.to_dict(),
        "release": {
            name: value
            for name, value in release.summary().items()
            if name not in ("rows", "suppressed", "suppressed for", "classes", "rounds", "not published")
        },
        "roles": roles,
        "asked": [asked_of(requirement, privacy, "public") for requirement in release.requirements],
        "privacy": measured,
        "utility": lost,
        "origin": origin.public_dict(),
        "verdict": decision.verdict,
    }
    bucketized = release.publish == "bucketization"
    sections = [
        Section(
            "In short",
            (
                about(measured, bucketized),
                *decision.further,
                *notes(bucketized),
            ),
            (at_a_glance(facts["privacy"], facts["utility"]),),
        ),
        Section("What was asked", tables=(*asked_tables(facts["asked"]), *made_tables(facts))),
        Section("What holds", (), privacy_tables(measured)),
        Section("What it cost", (), utility_tables(lost)),
        released_section(facts),
    ]
    told = (
        ("rows, at least", measured["n_rows"]),
        (f"rows of the smallest {'bucket' if bucketized else 'class'} (k)", measured["k"]),
        ("mean risk of re-identification", measured["prosecutor"]["mean"]),
        ("greatest risk of re-identification", measured["prosecutor"]["max"]),
        ("information loss (gcp)", lost.get("gcp")),
    )
    first = first_of(decision, cover, roles, told, _limits(release, roles))
    title = cover.title or "About a release"
    return Report(title, facts, tuple(sections), first, terms_of(release.requirements))


def _verdict(release: Release, is_qualified: bool) -> str:
    if not release.meets_requirements:
        return "The requirements cannot be met: this release can be measured, and was not written."
    if not release.requirements:
        return "Nothing was required. The independent check of the rows and of the published cells passed."
    if is_qualified:
        return (
            f"What was required ({', '.join(map(str, release.requirements))}) holds, as an independent check "
            "of the published cells found. It has to be weighed against this:"
        )
    return (
        "Every requirement is met: before it was written the release was read back from its published cells, "
        "grouped again, and tested by code that shares nothing with the method."
    )
