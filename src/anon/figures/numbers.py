# SPDX-License-Identifier: Apache-2.0
"""Figures of what became of numbers: the distribution of each column, and their correlations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from anon.html import WIDTH, Axis, Figure, Plot, lines, words_of

LEVELS = np.arange(1, 20) / 20
Floats = npt.NDArray[np.float64]


def marginals(names: Sequence[str], before: Floats, after: Floats) -> Figure:
    """Quantiles of the columns of two tables (rows x columns), those of the first on the horizontal axis.

    Both are in standard deviations from the mean of the first; its constant columns are left out.
    """
    points: list[dict[str, Any]] = []
    for a, name in enumerate(names):
        middle, spread = before[:, a].mean(), before[:, a].std()
        if not spread:
            continue
        at = [(np.quantile(each[:, a], LEVELS) - middle) / spread for each in (before, after)]
        points += [
            {"column": name, "quantile": q, "before": x, "after": y}
            for q, x, y in zip(LEVELS.tolist(), at[0].tolist(), at[1].tolist(), strict=True)
        ]
    return Figure(
        "Distribution of the numbers",
        lines(
            points,
            "before",
            "after",
            "column",
            _around("quantile before, in deviations", [point["before"] for point in points]),
            _around("quantile after", [point["after"] for point in points]),
        ),
        "The quantiles 0.05, 0.1 … 0.95 of each column: where its line rises by as much as it runs to the "
        "right, the column is distributed as before.",
        tuple(points),
    )


def _around(title: str, values: Sequence[float]) -> Axis:
    low, high = min(values, default=0.0), max(values, default=1.0)
    more = (high - low) * 0.05 or 0.5
    return Axis(title, low - more, high + more)


def correlations(names: Sequence[str], before: Floats, after: Floats) -> Figure:
    """The correlation of each pair of columns of two tables; pairs with a constant column are left out."""
    pairs: list[dict[str, Any]] = []
    varied = [a for a in range(len(names)) if before[:, a].std() > 0 and after[:, a].std() > 0]
    one, two = (np.atleast_2d(np.corrcoef(each[:, varied].T)) for each in (before, after))
    for i in range(len(varied)):
        for j in range(i):
            pair = f"{names[varied[j]]}, {names[varied[i]]}"
            pairs.append({"pair": pair, "before": float(one[i, j]), "after": float(two[i, j])})
    plot = Plot(Axis("correlation before", -1, 1), Axis("correlation after", -1, 1), WIDTH, WIDTH * 0.8)
    plot.line([(-1, -1), (1, 1)], "quiet")
    for each in pairs:
        plot.mark(each["before"], each["after"], 0, words_of(each))
    return Figure(
        "Correlations of the numbers",
        (plot.panel(),),
        "Each mark is a pair of columns: on the line its correlation is what it was.",
        tuple(pairs),
    )
