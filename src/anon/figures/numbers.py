# SPDX-License-Identifier: Apache-2.0
"""Figures of what became of numbers: the distribution of each column, and their correlations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from anon.figures.plots import marked_lines
from anon.html import HEIGHT, INK, WIDTH, Figure, altair_library

LEVELS = np.arange(1, 20) / 20
Floats = npt.NDArray[np.float64]


def marginals(names: Sequence[str], before: Floats, after: Floats) -> Figure:
    """Quantiles of the columns of two tables (rows x columns), those of the first on the horizontal axis.

    Both are in standard deviations from the mean of the first; its constant columns are left out.
    """
    alt = altair_library()
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
    chart = alt.Chart(alt.Data(values=points)).encode(
        x=alt.X("before:Q", title="quantile before, in deviations"),
        y=alt.Y("after:Q", title="quantile after"),
        tooltip=[f"{each}:N" for each in ("column", "quantile", "before", "after")],
    )
    return Figure(
        "Distribution of the numbers",
        marked_lines(chart, "column", None),
        "The quantiles 0.05, 0.1 … 0.95 of each column: where its line rises by as much as it runs to the "
        "right, the column is distributed as before.",
    )


def correlations(names: Sequence[str], before: Floats, after: Floats) -> Figure:
    """The correlation of each pair of columns of two tables; pairs with a constant column are left out."""
    alt = altair_library()
    pairs = []
    varied = [a for a in range(len(names)) if before[:, a].std() > 0 and after[:, a].std() > 0]
    one, two = (np.atleast_2d(np.corrcoef(each[:, varied].T)) for each in (before, after))
    for i in range(len(varied)):
        for j in range(i):
            pair = f"{names[varied[j]]}, {names[varied[i]]}"
            pairs.append({"pair": pair, "before": float(one[i, j]), "after": float(two[i, j])})
    axis = alt.Scale(domain=[-1, 1])
    marks = (
        alt.Chart(alt.Data(values=pairs))
        .mark_point(size=60, filled=True)
        .encode(
            x=alt.X("before:Q", title="correlation before", scale=axis),
            y=alt.Y("after:Q", title="correlation after", scale=axis),
            tooltip=["pair:N", "before:Q", "after:Q"],
        )
    )
    ends = alt.Data(values=[{"before": -1, "after": -1}, {"before": 1, "after": 1}])
    line = alt.Chart(ends).mark_line(color=INK, strokeWidth=1).encode(x="before:Q", y="after:Q")
    return Figure(
        "Correlations of the numbers",
        (line + marks).properties(width=WIDTH, height=HEIGHT),
        "Each mark is a pair of columns: on the line its correlation is what it was.",
    )
