# SPDX-License-Identifier: Apache-2.0
"""What the names on a page mean, and which section of docs/definitions.md defines them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from anon.html import Term
from anon.measures import BY_ALL, BY_CLASS, COSTS, title_of
from anon.requirements import Requirement

_SCENARIOS, _REQUIREMENTS, _PRIVACY, _UTILITY = (
    "Scenarios and noise",
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
        "people expected to be found (global risk)": "the sum of the risks of all rows",
        "mean risk of a row (marketer)": "the chance that a row is linked rightly, mean over rows",
        "greatest risk of a row (journalist)": "the chance to find the person of the row that is found most "
        "easily",
        "rows with a risk above …": "rows whose person is found in the population with a greater chance",
        "rows alone in the table (sample uniques)": "rows that no other row of the table looks like",
        "people alone in the population, …": "people whom nobody else in the population looks like",
        "the same by …": "people alone in the population, as another model estimates it",
        "sampling fraction": "the share of the population that the table holds",
        "rows that some set of attributes singles out": "rows with a minimal sample unique: a smallest set "
        "of attributes in which no other row is equal",
        "minimal sample uniques of …": "smallest sets of so many attributes in which one row is alone",
        "sum of all scores": "what all rows score by their minimal sample uniques (SUDA)",
        "greatest score": "the score of the row with the most and smallest minimal sample uniques (SUDA)",
        "greatest DIS-SUDA score": "the greatest score as a chance that a match of the row is right",
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
        title_of("ncp"): "what the cells of one attribute lose: zero as it was, one where nothing is left",
        title_of("ordered_loss"): "the same with every attribute taken as ordered codes, to compare tools",
        title_of("qd"): "Q-diversity: the width of a class in that attribute, mean over classes",
        title_of("qd_rows"): "Q-diversity, mean over rows",
        title_of("sd"): "S-diversity: how close the sensitive values of a class are, mean over classes",
        title_of("sd_rows"): "S-diversity, mean over rows",
        "suppressed rows": "rows of the input of which nothing is published",
    },
}

_OF_SCENARIOS = {
    "delta": "the greatest decline of the utility of a miner",
    "u orig": "what a miner's predictions are worth, learned from the original",
    "u san": "what they are worth, learned from the sanitized table",
    "decline": "the share of a miner's utility that is lost",
    "average": "the mean of the bad utility over miners",
    "worst": "the greatest bad utility of a miner",
    "u bad": "how many people, weighed, a miner predicts more nearly than the table shows them",
    "n nearer": "rows that are predicted more nearly than the table shows them",
    "a know": BY_ALL["a_know"].meaning,
    "a acc": BY_ALL["a_acc"].meaning,
    "a know filled": "that with the nearer predictions of the worst miner filled in",
    "a acc filled": "that with the nearer predictions of the worst miner filled in",
}
SCENARIO_TERMS: Mapping[str, Term] = {
    name: Term(meaning, _SCENARIOS) for name, meaning in _OF_SCENARIOS.items()
}
"""On the page of a scenario `delta` is another one than that of δ-disclosure."""

TERMS: Mapping[str, Term] = {
    **{name: Term(each.meaning, _PRIVACY) for name, each in {**BY_CLASS, **BY_ALL}.items() if each.meaning},
    **{
        name: Term(each.meaning, _UTILITY)
        for key, each in COSTS.items()
        for name in (key, title_of(key))
        if each.meaning and "." not in key
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
