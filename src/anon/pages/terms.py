# SPDX-License-Identifier: Apache-2.0
"""What the names on a page mean, and which section of docs/definitions.md defines them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from anon.html import Term
from anon.measures import BY_ALL, BY_CLASS, COSTS
from anon.requirements import Requirement

_REQUIREMENTS, _PRIVACY, _UTILITY = (
    "Requirements: a test on one class against the table",
    "Privacy measures",
    "Utility measures",
)

_MEANINGS = {
    _PRIVACY: {
        "rows of the smallest class (k)": "k: the fewest people who look alike in the release",
        "rows of the smallest bucket (k)": "k: the fewest people whose sensitive values are told together",
        "k with the neutral columns known": "k for an attacker who knows the neutral columns too",
        "mean risk of re-identification": "the share of people found by whoever knows their "
        "quasi-identifiers and picks one of the rows that look alike: classes over rows (prosecutor)",
        "greatest risk of re-identification": "one over the rows of the smallest class: the chance to pick "
        "the row of somebody in it (prosecutor)",
        "mean risk in the population (marketer)": "the share of the rows that are linked rightly by whoever "
        "links all of them to the population",
        "greatest risk in the population (journalist)": "the chance to pick the right person of the "
        "population for the row that is found most easily",
        "rows of a class, mean": "rows over classes",
        "rows of a class, median": "half of the classes have as many rows, or fewer",
        "rows of the largest class": "the greatest crowd that looks alike",
        "rows alone in their class": "people whom whoever knows their quasi-identifiers finds for sure",
        "rows alone with their quasi-identifiers": "people whom whoever knows their quasi-identifiers finds "
        "for sure",
        "share of rows with a risk above …": "people who are found with a greater chance than that by "
        "whoever knows their quasi-identifiers (prosecutor)",
        "share of rows, in the population, …": "rows whose person is found in the population with a greater "
        "chance than that (journalist)",
        "mean risk without it": "the mean risk of re-identification were that attribute not published",
        "classes": "groups of rows that look alike in every quasi-identifier",
        "people alone in the population (estimated)": "rows of the table that nobody else in the population "
        "looks like, as a model estimates it",
        "greatest privacy loss of a class (p_loss)": BY_ALL["p_loss"].meaning,
    },
    _UTILITY: {
        "mean information loss of a cell (gcp)": COSTS["gcp"].meaning,
        "information loss (gcp)": COSTS["gcp"].meaning,
        "information loss (NCP)": "what the cells of one attribute lose: zero as it was, one where nothing "
        "is left",
        "utility loss (u_loss)": COSTS["u_loss"].meaning,
        "ncp": "what the cells of one attribute lose: zero as it was, one where nothing is left",
        "ordered_loss": "the same with every attribute taken as ordered codes, to compare tools",
        "qd": "Q-diversity: the width of a class in that attribute, mean over classes",
        "qd_rows": "Q-diversity, mean over rows",
        "sd": "S-diversity: how close the sensitive values of a class are, mean over classes",
        "sd_rows": "S-diversity, mean over rows",
        "suppressed rows": "rows of the input of which nothing is published",
    },
}

TERMS: Mapping[str, Term] = {
    **{name: Term(each.meaning, _PRIVACY) for name, each in {**BY_CLASS, **BY_ALL}.items() if each.meaning},
    **{
        name: Term(each.meaning, _UTILITY) for name, each in COSTS.items() if each.meaning and "." not in name
    },
    **{
        name.removeprefix("numbers."): Term(each.meaning, _UTILITY)
        for name, each in COSTS.items()
        if each.meaning and name.startswith("numbers.")
    },
    **{
        name: Term(meaning, section)
        for section, names in _MEANINGS.items()
        for name, meaning in names.items()
    },
}


def terms_of(require: Iterable[Requirement] = ()) -> Mapping[str, Term]:
    """All terms, and these requirements, as the first line of their definition has them."""
    asked = {}
    for requirement in require:
        said = (type(requirement).__doc__ or "").strip().partition("\n")[0].rstrip(".")
        if said and not said.startswith(type(requirement).__name__):
            asked[str(requirement)] = Term(said, _REQUIREMENTS)
    return {**TERMS, **asked}
