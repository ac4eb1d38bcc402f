# SPDX-License-Identifier: Apache-2.0
"""Figures of risk in the population."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from anon.figures.plots import attribute_bars, marked_lines
from anon.html import Figure, altair_library

N_BINS = 20


def individual_risks(risks: Mapping[str, npt.NDArray[np.float64]]) -> Figure:
    """How many rows have which individual risk, of one table or of several, such as "before" and "after".

    Each is one number per row, NaN where a row has no risk. The axis of rows is logarithmic.
    """
    alt = altair_library()
    known = {name: values[~np.isnan(values)] for name, values in risks.items()}
    edges = np.linspace(
        0, max((float(each.max(initial=0)) for each in known.values()), default=0) or 1, N_BINS + 1
    )
    bins = [
        {"table": name, "from": low, "to": high, "rows": count}
        for name, values in known.items()
        for low, high, count in zip(
            edges.tolist(), edges[1:].tolist(), np.histogram(values, edges)[0].tolist(), strict=False
        )
        if count
    ]
    chart = alt.Chart(alt.Data(values=bins)).encode(
        x=alt.X("from:Q", title="risk of a row, from"),
        y=alt.Y("rows:Q", title="rows", scale=alt.Scale(type="log", domainMin=1)),
        tooltip=[f"{name}:N" for name in ("table", "from", "to", "rows")],
    )
    return Figure(
        "Individual risk of the rows",
        marked_lines(chart, "table", None),
        "Each mark is the number of rows whose risk of being found in the population lies in a range: rows "
        "far to the right are those to look after.",
    )


def population_risks(sides: Mapping[str, Sequence[int]]) -> Figure:
    """How many rows have a risk in the population of which order of magnitude, such as "before" and "after".

    `sides[name][i]` rows have a risk above 2**-(i + 1) and up to 2**-i.
    """
    alt = altair_library()
    bins = [
        {"table": name, "up to": 2.0**-i, "rows": count}
        for name, counts in sides.items()
        for i, count in enumerate(counts)
        if count
    ]
    chart = alt.Chart(alt.Data(values=bins)).encode(
        x=alt.X("up to:Q", title="risk of a row, up to", scale=alt.Scale(type="log", base=2)),
        y=alt.Y("rows:Q", title="rows", scale=alt.Scale(type="log", domainMin=1)),
        tooltip=[f"{name}:N" for name in ("table", "up to", "rows")],
    )
    return Figure(
        "Risk of the rows in the population",
        marked_lines(chart, "table", None),
        "Each mark is the number of rows whose risk of being found in the population lies between half of it "
        "and it: what was done moved rows to the left.",
    )


def uniques_by_fraction(points: Sequence[Mapping[str, Any]], fraction: float) -> Figure:
    """Estimated population uniques if the table were another share of the population; `fraction` is its own.

    Each point has `fraction`, `model` and `uniques`.
    """
    alt = altair_library()
    chart = alt.Chart(alt.Data(values=list(points))).encode(
        x=alt.X("fraction:Q", title="sampling fraction", scale=alt.Scale(type="log")),
        y=alt.Y(
            "uniques:Q", title="people alone in the population", scale=alt.Scale(type="symlog", domainMin=0)
        ),
        tooltip=[f"{name}:N" for name in ("model", "fraction", "uniques")],
    )
    return Figure(
        "Population uniques by sampling fraction",
        marked_lines(chart, "model", "model"),
        "How many people each model takes to be alone in the population, were the table that share of it "
        f"(it is {fraction:g}): where the lines lie far apart, the estimate rests on the model.",
    )


def contributions(shares: Mapping[str, float]) -> Figure:
    """What each quasi-identifier contributes to the scores of special uniques, in percent."""
    return Figure(
        "Contribution of each quasi-identifier",
        attribute_bars(shares, "percent", "percent of all scores"),
        "The longer a bar, the more of the small sets that single rows out hold that attribute: recoding it "
        "protects most.",
    )
