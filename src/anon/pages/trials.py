# SPDX-License-Identifier: Apache-2.0
"""The reports of a comparison, of a frontier and of a scenario."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from anon import figures
from anon.choice import PRICE, frontier_tables
from anon.html import Audience, Section, Table, number
from anon.html import rows as rows_of
from anon.measures import COSTS, handed_out, utility_tables
from anon.pages.decision import Cover, cover_alone
from anon.pages.drawn import before_and_after, loss_figures, population_figures
from anon.pages.miners import gained_by_adversaries, in_short, kept_for_users
from anon.pages.origin import Origin, Report, origin_section, released_section
from anon.pages.terms import SCENARIO_TERMS
from anon.scenarios import ScenarioResult, sections

if TYPE_CHECKING:
    from anon.choice import Frontier, Point
    from anon.measures import Utility


def of_comparison(
    utility: Utility,
    *,
    origin: Origin | None = None,
    audience: Audience = "owner",
    cover: Cover | None = None,
) -> Report:
    """What a release, made by anyone, lost of the original. What is for the `public` is rounded."""
    origin, cover = origin or Origin(), cover or Cover()
    original = utility.published.original
    roles = {
        "quasi": [domain.name for domain in original.quasi],
        "sensitive": [domain.name for domain in original.sensitive],
    }
    verdict = "Measured from the published cells; rows need not be in the same order."
    if audience == "public":
        facts: dict[str, Any] = {
            "audience": audience,
            "cover": cover.to_dict(),
            **handed_out(utility.to_dict(estimates=False), COSTS),
            "origin": origin.public_dict(),
            "verdict": verdict,
        }
        handed = (Section("What it cost", (), utility_tables(facts)), released_section(facts))
        first = cover_alone(cover, [("information loss (gcp)", facts.get("gcp"))], **roles)
        return Report(cover.title or "About a release, compared with its original", facts, handed, first)
    drawn = (
        *before_and_after(utility.published),
        *loss_figures(utility),
        *population_figures(utility),
    )
    facts = {
        "audience": audience,
        "cover": cover.to_dict(),
        "roles": roles,
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
    told = [
        ("rows", facts["n_rows"]),
        ("suppressed rows", facts["n_suppressed"]),
        ("information loss (gcp)", facts["gcp"]),
        ("utility loss (u_loss)", facts["u_loss"]),
    ]
    first = cover_alone(cover, told, **roles)
    return Report(cover.title or "Report of a comparison", facts, tuple(sections), first)


def of_frontier(
    frontier: Frontier,
    *,
    chosen: Point | None = None,
    origin: Origin | None = None,
    cover: Cover | None = None,
) -> Report:
    """What a `Frontier` found: its points, the efficient ones, the price of privacy, the point `chosen`."""
    drawn = figures.frontier(frontier, chosen)
    facts: dict[str, Any] = {
        "audience": "owner",
        "cover": (cover or Cover()).to_dict(),
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
    cover = cover or Cover()
    told = [("releases that were tried", facts["n_points"]), ("efficient ones", facts["n_efficient"])]
    return Report(cover.title or "Report of a frontier", facts, tuple(sections), cover_alone(cover, told))


def of_scenario(
    result: ScenarioResult, *, origin: Origin | None = None, cover: Cover | None = None
) -> Report:
    """What sanitizations keep for users and give away to adversaries."""
    cover = cover or Cover()
    good, bad = kept_for_users(result), gained_by_adversaries(result)
    facts: dict[str, Any] = {
        "audience": "owner",
        "cover": cover.to_dict(),
        **result.to_dict(),
        "figures": {figure.title: rows_of(figure) for figure in (*good, *bad)},
        "origin": (origin or Origin()).to_dict(),
        "verdict": "Every release that was made here was checked by its independent re-check; tables that "
        "were given are taken as they are.",
    }
    facts["in_short"] = in_short(result)
    short = Section("In short", (*facts["in_short"], *(f"Warning: {each}" for each in result.warnings)))
    drawn = {"What users keep": good, "What adversaries gain": bad}
    found = [replace(each, figures=drawn.get(each.heading, ())) for each in sections(result)]
    tried = {row["sanitization"] for name in ("utility", "privacy") for row in facts[name]}
    miners = {row["miner"] for name in ("declines", "antiutility") for row in facts[name]}
    told = [("sanitizations", len(tried)), ("miners", len(miners))]
    facts |= {"compared": dict(told)}
    first = cover_alone(cover, told)
    title = cover.title or "Report of a scenario"
    return Report(title, facts, (short, *found, origin_section(facts)), first, SCENARIO_TERMS)
