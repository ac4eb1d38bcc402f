# SPDX-License-Identifier: Apache-2.0
"""The reports of risk in the population and of special uniques; both are the owner's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anon import figures
from anon.html import Section, number, rows
from anon.measures import risk_table, suda_tables
from anon.pages.decision import Cover, cover_alone
from anon.pages.origin import Origin, Report, origin_section

if TYPE_CHECKING:
    from anon.verbs import RowRisk, Suda


def of_risk(risk: RowRisk, *, origin: Origin | None = None, cover: Cover | None = None) -> Report:
    """How likely the people of a table are found in the population, and how sure the estimate is."""
    drawn = [figures.individual_risks({"table": risk.individual})]
    if risk.by != "table" and risk.n_rows:
        drawn.append(figures.uniques_by_fraction(risk.uniques_by_fraction(), risk.sampling_fraction))
    facts: dict[str, Any] = {
        "audience": "owner",
        "cover": (cover or Cover()).to_dict(),
        **risk.to_dict(),
        "figures": {figure.title: rows(figure) for figure in drawn},
        "origin": (origin or Origin()).to_dict(),
        "verdict": "Nothing was required.",
    }
    short = (
        f"Of {number(risk.n_rows)} people {number(risk.expected)} are expected to be found by whoever looks "
        f"for all of them in the population; the greatest risk of one is {number(risk.max)}."
    )
    told = [
        ("rows", risk.n_rows),
        ("people expected to be found", facts["expected"]),
        ("greatest risk in the population (journalist)", facts["max"]),
    ]
    sections = (Section("In short", (short,), (risk_table(facts),), tuple(drawn)), origin_section(facts))
    first = cover_alone(cover or Cover(), told)
    return Report((cover or Cover()).title or "Report of risk in the population", facts, sections, first)


def of_suda(
    suda: Suda, *, riskiest: int = 20, origin: Origin | None = None, cover: Cover | None = None
) -> Report:
    """Which rows few attributes single out, by number, and what each attribute contributes."""
    drawn = (figures.contributions(suda.contributions),)
    listed = suda.riskiest(riskiest).to_pylist()
    facts: dict[str, Any] = {
        "audience": "owner",
        "cover": (cover or Cover()).to_dict(),
        **suda.to_dict(),
        "riskiest": listed,
        "figures": {figure.title: rows(figure) for figure in drawn},
        "origin": (origin or Origin()).to_dict(),
        "verdict": "Nothing was required.",
    }
    short = (
        f"Of {number(suda.n_rows)} rows {number(suda.n_unique)} are singled out by some set of attributes. "
        "Rows are told by their number in the table, from 1."
    )
    told = [("rows", suda.n_rows), ("rows that are singled out", suda.n_unique)]
    sections = (Section("In short", (short,), suda_tables(facts, listed), drawn), origin_section(facts))
    first = cover_alone(cover or Cover(), told)
    return Report((cover or Cover()).title or "Report of special uniques", facts, sections, first)
