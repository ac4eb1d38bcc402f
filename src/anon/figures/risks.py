# SPDX-License-Identifier: Apache-2.0
"""Figures of risk in the population."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from anon.figures.plots import attribute_rows
from anon.html import Axis, Figure, bars, lines, log_axis

N_BINS = 20


def individual_risks(risks: Mapping[str, npt.NDArray[np.float64]]) -> Figure:
    """How many rows have which individual risk, of one table or of several, such as "before" and "after".

    Each is one number per row, NaN where a row has no risk. The axis of rows is logarithmic.
    """
    known = {name: values[~np.isnan(values)] for name, values in risks.items()}
    highest = max((float(each.max(initial=0)) for each in known.values()), default=0) or 1
    edges = np.linspace(0, highest, N_BINS + 1)
    bins = [
        {"table": name, "from": low, "to": high, "rows": count}
        for name, values in known.items()
        for low, high, count in zip(
            edges.tolist(), edges[1:].tolist(), np.histogram(values, edges)[0].tolist(), strict=False
        )
        if count
    ]
    x = Axis("risk of a row, from", -highest * 0.03, highest)
    y = log_axis("rows", [1, *(row["rows"] for row in bins)])
    return Figure(
        "Individual risk of the rows",
        lines(bins, "from", "rows", "table", x, y, names=list(risks)),
        "Each mark is the number of rows whose risk of being found in the population lies in a range: rows "
        "far to the right are those to look after.",
        tuple(bins),
    )


def population_risks(sides: Mapping[str, Sequence[int]]) -> Figure:
    """How many rows have a risk in the population of which order of magnitude, such as "before" and "after".

    `sides[name][i]` rows have a risk above 2**-(i + 1) and up to 2**-i.
    """
    bins: list[dict[str, Any]] = [
        {"table": name, "up to": 2.0**-i, "rows": count}
        for name, counts in sides.items()
        for i, count in enumerate(counts)
        if count
    ]
    x = log_axis("risk of a row, up to", [row["up to"] for row in bins])
    y = log_axis("rows", [1, *(row["rows"] for row in bins)])
    return Figure(
        "Risk of the rows in the population",
        lines(bins, "up to", "rows", "table", x, y, names=list(sides)),
        "Each mark is the number of rows whose risk of being found in the population lies between half of it "
        "and it: what was done moved rows to the left.",
        tuple(bins),
    )


def uniques_by_fraction(points: Sequence[Mapping[str, Any]], fraction: float) -> Figure:
    """Estimated population uniques if the table were another share of the population; `fraction` is its own.

    Each point has `fraction`, `model` and `uniques`.
    """
    x = log_axis("sampling fraction", [point["fraction"] for point in points])
    y = log_axis("people alone in the population", [point["uniques"] for point in points], zero=True)
    return Figure(
        "Population uniques by sampling fraction",
        lines(points, "fraction", "uniques", "model", x, y),
        "How many people each model takes to be alone in the population, were the table that share of it "
        f"(it is {fraction:g}): where the lines lie far apart, the estimate rests on the model.",
        tuple(points),
    )


def contributions(shares: Mapping[str, float]) -> Figure:
    """What each quasi-identifier contributes to the scores of special uniques, in percent."""
    rows = attribute_rows(shares, "percent")
    return Figure(
        "Contribution of each quasi-identifier",
        (bars(rows, "attribute", "percent", "percent of all scores"),),
        "The longer a bar, the more of the small sets that single rows out hold that attribute: recoding it "
        "protects most.",
        rows,
    )
