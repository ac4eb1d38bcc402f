# SPDX-License-Identifier: Apache-2.0
"""Figures that people expect, as Vega-Lite charts: drawn offline to PNG and SVG, interactive in a report."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from anon.errors import UsageError
from anon.html import COLORS, HEIGHT, INK, WIDTH, Figure, altair_library, png, svg, write

MOST_BINS = 30


def save(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write the figure to a .png, .svg or .html file, whole or not at all; the last is interactive."""
    from anon.html import Section, page

    suffix = Path(path).suffix.lower()
    if suffix == ".png":
        content = png(figure)
    elif suffix == ".svg":
        content = svg(figure).encode()
    elif suffix == ".html":
        content = page(figure.title, [Section("Figure", figures=(figure,))]).encode()
    else:
        raise UsageError(f"{os.fspath(path)!r} does not tell its format; end it in .png, .svg or .html")
    write(content, path)


# The figures


def tradeoff(points: Sequence[Mapping[str, Any]], privacy: str, utility: str) -> Figure:
    """Releases by two measures, `privacy` and `utility` by name, with the line of the efficient ones.

    Each point has a `name`, a `requirement` (a color and a shape of its own), `privacy`, `utility` and
    whether it is `efficient`; points that lack a finite measure are left out.
    """
    alt = altair_library()
    known = [
        dict(point)
        for point in points
        if all(point[axis] is not None and math.isfinite(point[axis]) for axis in ("privacy", "utility"))
    ]
    base = alt.Chart(alt.Data(values=known)).encode(
        x=alt.X("privacy:Q", title=f"privacy: {privacy}"),
        y=alt.Y("utility:Q", title=f"utility: {utility}"),
    )
    line = (
        base.transform_filter("datum.efficient")
        .mark_line(color=INK, strokeWidth=1.5)
        .encode(order=alt.Order("privacy:Q"))
    )
    picked = alt.selection_point(fields=["requirement"], bind="legend")
    marks = (
        base.mark_point(size=80, filled=True)
        .encode(
            color=alt.Color("requirement:N", title="requirement"),
            shape=alt.Shape("requirement:N", title="requirement"),
            opacity=alt.condition(picked, alt.value(1.0), alt.value(0.15)),
            tooltip=[f"{name}:N" for name in ("name", "requirement", "privacy", "utility", "efficient")],
        )
        .add_params(picked)
    )
    return Figure(
        "Privacy against utility",
        _sized(line + marks),
        "Each mark is a release; the line joins the efficient ones, which no other release beats on one axis "
        "without being beaten on the other.",
    )


def frontier(swept: Any) -> Figure:
    """The points of an `anon.Frontier` on its two axes."""
    points = [
        {name: getattr(point, name) for name in ("name", "requirement", "privacy", "utility", "efficient")}
        for point in swept.points
        if point.satisfied
    ]
    return tradeoff(points, swept.privacy, swept.utility)


def class_sizes(sizes: npt.NDArray[np.int64]) -> Figure:
    """How many classes have how many rows; `sizes` is one number per class."""
    low, high = (int(sizes.min()), int(sizes.max())) if len(sizes) else (0, 0)
    width = -(-(high - low + 1) // MOST_BINS)
    counts = np.bincount((sizes - low) // width, minlength=1)
    bins = [
        {"from": low + i * width, "to": low + (i + 1) * width - 1, "classes": int(count)}
        for i, count in enumerate(counts.tolist())
    ]
    return Figure(
        "Class sizes",
        _bars(bins, "from", "to", "rows of a class", whole=True),
        "The height of a bar is the number of equivalence classes with that many rows: "
        "bars far to the right are people hidden in larger crowds than was asked for.",
    )


def class_losses(loss: Mapping[str, npt.NDArray[np.float64]]) -> Figure:
    """How many classes have which privacy loss; for each sensitive attribute one number per class."""
    alt = altair_library()
    highest = max((float(values.max(initial=0.0)) for values in loss.values()), default=0.0) or 1.0
    edges = np.linspace(0.0, highest, 21)
    bins = [
        {"attribute": name, "from": low, "to": high, "classes": count}
        for name, values in loss.items()
        for low, high, count in zip(
            edges.tolist(), edges[1:].tolist(), np.histogram(values, edges)[0].tolist(), strict=False
        )
    ]
    caption = (
        "Privacy loss is how far a class's sensitive values lie from those of the whole table "
        "(Jensen-Shannon divergence): the further right a class, the more belonging to it gives away."
    )
    title = "Privacy loss of the classes"
    if len(loss) == 1:
        return Figure(title, _bars(bins, "from", "to", "privacy loss of a class", whole=False), caption)
    chart = alt.Chart(alt.Data(values=bins)).encode(
        x=alt.X("from:Q", title="privacy loss of a class, from"),
        y=_classes(bins),
        tooltip=[f"{name}:N" for name in ("attribute", "from", "to", "classes")],
    )
    return Figure(title, marked_lines(chart, "attribute", "sensitive attribute"), caption)


def attribute_bars(values: Mapping[str, float], what: str, title: str) -> Any:
    """A bar for each quasi-identifier, the longest first; `what` names the number, `title` its axis."""
    alt = altair_library()
    bars = [{"attribute": name, what: value} for name, value in values.items()]
    chart = (
        alt.Chart(alt.Data(values=bars))
        .mark_bar(color=COLORS[0])
        .encode(
            x=alt.X(f"{what}:Q", title=title, scale=alt.Scale(domainMin=0)),
            y=alt.Y("attribute:N", title=None, sort="-x"),
            tooltip=["attribute:N", f"{what}:N"],
        )
    )
    return chart.properties(width=WIDTH, height=max(len(bars), 1) * 28)


def attribute_losses(loss: Mapping[str, float]) -> Figure:
    """What each quasi-identifier lost (NCP: 0 intact, 1 nothing left)."""
    return Figure(
        "Loss of each quasi-identifier",
        attribute_bars(loss, "ncp", "information loss (NCP)"),
        "The longer a bar, the wider that attribute's published cells are: zero is the original, "
        "one shows nothing but the whole domain.",
    )


def query_errors(points: Sequence[Mapping[str, Any]], by: str) -> Figure:
    """Errors of COUNT queries; each point has `by` (a number), `average` and `median`, in percent."""
    alt = altair_library()
    long = [
        {by: point[by], "error": name, "percent": point[name]}
        for point in points
        for name in ("average", "median")
    ]
    whole = all(isinstance(point[by], int) for point in points)
    chart = alt.Chart(alt.Data(values=long)).encode(
        x=alt.X(f"{by}:O" if whole else f"{by}:Q", title=by, axis=alt.Axis(labelAngle=0)),
        y=alt.Y("percent:Q", title="relative error in percent", scale=alt.Scale(domainMin=0)),
        tooltip=[f"{by}:N", "error:N", "percent:N"],
    )
    return Figure(
        f"Error of counting queries by {by}",
        marked_lines(chart, "error", None),
        "Each point is the relative error of random COUNT queries answered from the release alone: "
        "the lower, the better the release can stand in for the original.",
    )


def _bars(bins: Sequence[Mapping[str, Any]], low: str, high: str, title: str, *, whole: bool) -> Any:
    """Counts of classes over ranges that follow each other; whole numbers include their upper end."""
    alt = altair_library()
    chart = alt.Chart(alt.Data(values=list(bins)))
    end = f"datum.{high} + 1" if whole else f"datum.{high}"
    marks = chart.transform_calculate(end=end, zero="0").mark_bar(
        color=COLORS[0], stroke="white", strokeWidth=1
    )
    return _sized(
        marks.encode(
            x=alt.X(
                f"{low}:Q",
                title=title,
                scale=alt.Scale(zero=not whole, nice=False),
                axis=alt.Axis(grid=False, **({"tickMinStep": 1, "format": ",d"} if whole else {})),
            ),
            x2="end:Q",
            y=_classes(bins),
            y2="zero:Q",
            tooltip=[f"{name}:N" for name in bins[0]],
        )
    )


def _classes(bins: Sequence[Mapping[str, Any]]) -> Any:
    """An axis of whole numbers."""
    alt = altair_library()
    most = max(each["classes"] for each in bins)
    few = {"values": list(range(most + 1))} if most < 10 else {}
    return alt.Y("classes:Q", title="classes", axis=alt.Axis(format=",d", **few))


def marked_lines(chart: Any, name: str, title: str | None) -> Any:
    """A line with marks for each `name`, told apart by color and by shape."""
    alt = altair_library()
    lines = chart.mark_line().encode(stroke=alt.Stroke(f"{name}:N", legend=None))
    marks = chart.mark_point(filled=True, size=60, opacity=1).encode(
        color=alt.Color(f"{name}:N", title=title), shape=alt.Shape(f"{name}:N", title=title)
    )
    return _sized(lines + marks)


def _sized(chart: Any) -> Any:
    return chart.properties(width=WIDTH, height=HEIGHT)
