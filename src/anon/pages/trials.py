# SPDX-License-Identifier: Apache-2.0
"""The reports of a comparison, of a frontier and of a scenario."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anon import figures
from anon.choice import PRICE, frontier_tables
from anon.html import Audience, Section, Table, number
from anon.html import rows as rows_of
from anon.measures import COSTS, handed_out, utility_tables
from anon.pages.drawn import before_and_after, loss_figures, population_figures
from anon.pages.origin import Origin, Report, origin_section, released_section
from anon.scenarios import ScenarioResult, sections

if TYPE_CHECKING:
    from anon.choice import Frontier, Point
    from anon.measures import Utility


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
    drawn = (
        *before_and_after(utility.published),
        *loss_figures(utility),
        *population_figures(utility),
    )
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
    drawn = figures.frontier(frontier, chosen)
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
