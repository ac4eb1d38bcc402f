# SPDX-License-Identifier: Apache-2.0
"""What measures show of themselves in a notebook: of their `to_dict()`, so no value of a table is in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from anon.figures import attribute_losses, contributions, individual_risks
from anon.html import bar_figure, folded, number, result_html
from anon.measures.tables import KNOWN_FROM, numbers_table, privacy_tables, risk_table, suda_tables
from anon.measures.tables import utility_tables as tables_of_utility

Floats = npt.NDArray[np.float64]


def privacy_html(measures: Mapping[str, Any]) -> str:
    """Of `Privacy.to_dict()`."""
    risk, intact = measures["prosecutor"], measures.get("intact", False)
    groups, one = ("buckets", "bucket") if intact else ("classes", "class")
    words = [
        f"{number(measures['n_rows'])} rows in {number(measures['n_classes'])} {groups}; the smallest {one} "
        f"has {number(measures['k'])} rows (k).",
        f"Who knows the quasi-identifiers of a person is right about the row with a chance of up to "
        f"{number(risk['max'])}, on average {number(risk['mean'])}.",
    ]
    if known := measures.get("known"):
        words.append(
            f"Who knows the neutral columns too: up to {number(known['prosecutor']['max'])}, on average "
            f"{number(known['prosecutor']['mean'])}; k is then {number(known['k'])}."
        )
    words += [
        f"Of {name}, the most frequent value of a {one} has a share of up to {number(each['alpha'])}; "
        f"a {one} has at least {number(each['l_distinct'])} distinct values."
        for name, each in measures["by_sensitive"].items()
        if each["alpha"] is not None
    ]
    unmet = measures.get("unmet")
    if unmet is not None:
        words.insert(0, f"Not met: {'; '.join(unmet)}." if unmet else "All that was required is met.")
    shares: dict[str, float | None] = {"greatest risk": risk["max"], "mean risk": risk["mean"]}
    if known:
        shares["mean, neutral known"] = known["prosecutor"]["mean"]
    if population := measures["population"]:
        shares["greatest in the population"] = population["journalist"]["max"]
    told = {f"{name}: greatest share": each["alpha"] for name, each in measures["by_sensitive"].items()}
    first, *others = privacy_tables(measures)
    return result_html(
        "\n".join(words),
        bar_figure("Risks of being found, and what is told, from 0 to 1", shares | told, high=1),
        first,
        folded("What is told of the sensitive attributes, and more", *others),
    )


def utility_html(measures: Mapping[str, Any]) -> str:
    """Of `Utility.to_dict()`."""
    words = [
        f"{number(measures['n_rows'])} rows, of which {number(measures['n_suppressed'])} are suppressed."
    ]
    loss = {name: each["ncp"] for name, each in (measures["by_attribute"] or {}).items()}
    if measures.get("gcp") is not None:
        words.append(
            f"A cell lost {number(measures['gcp'])} on average (GCP): zero is the original, at one nothing "
            "is left."
        )
        if loss:
            most = max(loss, key=lambda name: float(loss[name]))
            words.append(f"Most was lost of {most}: {number(loss[most])}.")
    first, *others = tables_of_utility(measures)
    return result_html(
        "\n".join(words),
        attribute_losses(loss) if loss else None,
        first,
        folded("Column by column", *others),
    )


def numbers_html(measures: Mapping[str, Any], spread: Mapping[str, float]) -> str:
    """Of some of `Numbers.to_dict()`; `spread` is the deviation of each column over what it was."""
    words = f"{number(measures['n_rows'])} rows that show numbers are compared with the original."
    if measures["correlation_max"] is not None:
        words += f" A correlation changed by up to {number(measures['correlation_max'])}."
    drawn = bar_figure("Spread of each column, as a share of what it was", spread)
    return result_html(words, drawn, numbers_table(measures))


def answers_html(measures: Mapping[str, Any]) -> str:
    """Of `Answers.to_dict()`."""
    errors = {f"{float(at):.0%} of the queries, up to": error for at, error in measures["quantiles"].items()}
    words = (
        f"Of {number(measures['n_queries'])} COUNT queries {number(measures['n_counted'])} count somebody in "
        "the original. Answered from the release alone they are "
        f"{number(measures['average'])} percent off on average, half of them by no more than "
        f"{number(measures['median'])} percent."
    )
    return result_html(
        words,
        bar_figure("Relative error in percent", errors),
        bar_figure("Average error in percent of the queries about each column", measures["by_attribute"]),
    )


def risk_html(measured: Mapping[str, Any], individual: Floats) -> str:
    """Of `RowRisk.to_dict()`, and the risk of every row, NaN where it has none."""
    words = (
        f"Of {number(measured['n_rows'])} people {number(measured['expected'])} are expected to be found by "
        f"who searches the population, which is known from {KNOWN_FROM[measured['by']]}.\n"
        f"The greatest risk of a row is {number(measured['max'])}, the mean {number(measured['mean'])}."
    )
    return result_html(words, individual_risks({"this table": individual}), risk_table(measured))


def suda_html(measured: Mapping[str, Any], riskiest: Sequence[Mapping[str, Any]]) -> str:
    """Of `Suda.to_dict()`, and the rows of greatest score, by number."""
    words = (
        f"{number(measured['n_unique'])} of {number(measured['n_rows'])} rows are singled out by some set of "
        "quasi-identifiers."
    )
    shares = dict(sorted(measured["contributions"].items(), key=lambda item: -item[1]))
    if measured["n_unique"]:
        first = next(iter(shares))
        words += (
            f"\n{first} takes part in {number(shares[first])} percent of all scores: recoding it protects "
        )
        words += "most."
    table, *others = suda_tables(measured, riskiest)
    return result_html(
        words, contributions(shares), table, folded("By quasi-identifier, and the riskiest rows", *others)
    )
