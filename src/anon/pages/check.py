# SPDX-License-Identifier: Apache-2.0
"""The report of a check: of a table that somebody released."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from anon.html import Audience, Section, number, sentence
from anon.html import rows as rows_of
from anon.measures import OF_PRIVACY, ROLES_FROM_FILE, handed_out, privacy_tables
from anon.pages.decision import Cover, decide, facts_of, first_of, limits
from anon.pages.drawn import class_figures, population_figures, risk_figures
from anon.pages.origin import Origin, Report, origin_section, released_section
from anon.pages.parts import (
    about,
    asked_of,
    asked_tables,
    groups,
    mean_risk,
    notes,
    privacy_sections,
    shown_codes,
    worst_class,
)
from anon.pages.terms import terms_of
from anon.release import CLASS_ID
from anon.requirements import Requirement

if TYPE_CHECKING:
    from anon.measures import Privacy
    from anon.tables import Scan


def of_check(
    privacy: Privacy,
    table: pa.Table | Scan,
    *,
    require: Sequence[Requirement] = (),
    origin: Origin | None = None,
    audience: Audience = "owner",
    cover: Cover | None = None,
) -> Report:
    """What holds of a table that somebody released.

    `privacy` was measured of the `table`, with `per_class` where the page is the owner's; `require` is what
    its `unmet` was asked about. What is for the `public` is rounded.
    """
    origin, cover = origin or Origin(), cover or Cover()
    asked = [asked_of(requirement, privacy, audience) for requirement in require]
    bucketized = CLASS_ID in privacy.worst_cells.get("k", {})
    is_public, claimed = audience == "public", privacy.roles_from == "file"
    measured = handed_out(privacy.to_dict(), OF_PRIVACY) if is_public else privacy.to_dict()
    qualified = facts_of(
        measured,
        intact=bucketized,
        privacy=None if is_public else privacy,
        others=[
            *(["The roles of the columns are the file's own claim."] if claimed else []),
            *(sentence(note) for note in privacy.notes),
        ],
    )
    unmet = privacy.unmet
    decision = decide(
        None if unmet is None else not unmet,
        "Nothing was required."
        if unmet is None
        else f"What was required ({', '.join(map(str, require))}) holds of this table"
        + (", but know:" if qualified else "."),
        f"Not met: {', '.join(unmet or ())}.",
        qualified,
    )
    roles = {name: list(names) for name, names in (privacy.roles or {}).items()}
    facts: dict[str, Any] = {
        "audience": audience,
        "cover": cover.to_dict(),
        "decision": decision.to_dict(),
        **measured,
        "roles": roles,
        "asked": asked,
        "origin": origin.public_dict() if is_public else origin.to_dict(),
        "verdict": decision.verdict,
    }
    claim = [ROLES_FROM_FILE] if claimed else []
    told = (
        ("rows, at least" if is_public else "rows", measured["n_rows"]),
        (f"rows of the smallest {'bucket' if bucketized else 'class'} (k)", measured["k"]),
        ("mean risk of re-identification", measured["prosecutor"]["mean"]),
        ("greatest risk of re-identification", measured["prosecutor"]["max"]),
        (
            "greatest risk in the population (journalist)",
            measured["population"]["journalist"]["max"] if measured.get("population") else None,
        ),
    )
    bounds = any(each.tests_sensitive for each in require)
    first = first_of(decision, cover, roles, told, limits(roles, bounds_sensitive=bounds))
    terms = terms_of(require)
    if is_public:
        handed = (
            Section(
                "In short",
                (*claim, about(facts, bucketized), *decision.further, *notes(bucketized)),
                asked_tables(asked),
            ),
            Section("What holds", (), privacy_tables(facts)),
            released_section(facts),
        )
        return Report(cover.title or "About a release, checked", facts, handed, first, terms)
    drawn = (*risk_figures(privacy), *class_figures(privacy), *population_figures(privacy))
    worst, of_worst = worst_class(privacy, table=table)
    facts |= {
        "worst_class": worst,
        "mean_risk": mean_risk(shown_codes(table, privacy), privacy.n_rows),
        "figures": {figure.title: rows_of(figure) for figure in (*drawn, *of_worst)},
    }
    sections = [
        Section(
            "In short",
            (
                *claim,
                f"The table has {number(privacy.n_rows)} rows in {number(privacy.n_classes)} "
                f"{groups(bucketized, privacy.n_classes)}.",
                *decision.further,
                *notes(bucketized),
            ),
            asked_tables(asked),
        ),
        *privacy_sections(facts, facts, drawn, of_worst),
        origin_section(facts),
    ]
    return Report(cover.title or "Report of a check", facts, tuple(sections), first, terms)
