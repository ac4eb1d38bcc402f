# SPDX-License-Identifier: Apache-2.0
"""Releases by two measures: which are efficient, and where the others lie."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from anon.html import (
    HEIGHT,
    MOST_SERIES,
    Axis,
    Figure,
    Panel,
    Plot,
    legend,
    number,
    shortened_label,
    words_of,
)

ENDS = ("trivial", "original")  # points that no axis is stretched for
MOST_NAMED = 8  # efficient points that bear their name
_WIDTH, _HEIGHT = 460, 380


def tradeoff(
    points: Sequence[Mapping[str, Any]],
    privacy: str,
    utility: str,
    *,
    knee: str | None = None,
    chosen: str | None = None,
) -> Figure:
    """Releases by two measures, `privacy` and `utility` by name, with the line of the efficient ones.

    Each point has a `name`, a `method` (a color and a shape of its own), a `requirement`, `privacy`,
    `utility` and whether it is `efficient`; points that lack a finite measure are left out. `knee` and
    `chosen` are names of points to be marked. The axes grow by factors; the points of `ENDS` that lie beyond
    the others stand at the edge with an arrow.
    """
    known = [
        dict(point)
        for point in points
        if all(point[axis] is not None and math.isfinite(point[axis]) for axis in ("privacy", "utility"))
    ]
    inner = [point for point in known if point["name"] not in ENDS] or known
    x = _axis(f"privacy: {privacy}", [point["privacy"] for point in inner])
    y = _axis(f"utility: {utility}", [point["utility"] for point in inner])
    methods = list(dict.fromkeys(point["method"] for point in known))
    efficient = sorted((point for point in inner if point["efficient"]), key=lambda p: p["privacy"])
    named = _named(efficient, knee, chosen)

    def drawn(of: Sequence[str], width: float, height: float, title: str) -> Panel:
        plot = Plot(x, y, width, height, title)
        plot.line([(point["privacy"], point["utility"]) for point in efficient], "ink")
        for point in (point for point in known if point["method"] in of):
            at = _inside(x, point["privacy"]), _inside(y, point["utility"])
            is_beyond = at != (point["privacy"], point["utility"])
            series = methods.index(point["method"]) if len(methods) <= MOST_SERIES else 0
            plot.mark(*at, series, words_of(point), hollow=is_beyond, size=1.15)
            if is_beyond:
                plot.words(
                    *at, f"{point['name']}: {number(point['privacy'])}, {number(point['utility'])} ↗", right=9
                )
        marked_first = sorted(efficient, key=lambda point: point["name"] not in (knee, chosen))
        for point in marked_first:
            if point["name"] in (knee, chosen) and point["method"] in of:
                plot.ring(point["privacy"], point["utility"], words_of(point))
            if point["name"] in named and point["method"] in of:
                marked = [w for w, n in (("knee", knee), ("chosen", chosen)) if n == point["name"]]
                words = shortened_label(
                    f"{' and '.join(marked)}: {point['name']}" if marked else point["name"], 40
                )
                plot.words(point["privacy"], point["utility"], words, up=9, right=7)
        return plot.panel()

    panels: tuple[Panel, ...]
    if len(methods) > MOST_SERIES:
        panels = tuple(drawn([method], _WIDTH / 2, HEIGHT, str(method)) for method in methods)
    else:
        panels = (legend(methods, _WIDTH), drawn(methods, _WIDTH, _HEIGHT, ""))
    return Figure(
        "Privacy against utility",
        panels,
        "Each mark is a release; the line joins the efficient ones, which no other release beats on one axis "
        "without being beaten on the other. Circles are around the knee and what was chosen; a hollow mark "
        "at the edge lies beyond the axes.",
        tuple(known),
    )


def frontier(swept: Any, chosen: Any = None) -> Figure:
    """The points of an `anon.Frontier` on its two axes; the knee is marked, and the point `chosen`."""
    points = [
        {
            "name": point.name,
            "method": point.parameters.get("method", point.name),
            **{name: getattr(point, name) for name in ("requirement", "privacy", "utility", "efficient")},
        }
        for point in swept.points
        if point.satisfied
    ]
    knee = swept.knee
    return tradeoff(
        points,
        swept.privacy,
        swept.utility,
        knee=None if knee is None else knee.name,
        chosen=None if chosen is None else chosen.name,
    )


def _axis(title: str, values: Sequence[float]) -> Axis:
    """An axis that grows by factors, with 0 on it where a value is 0; as it is where some are negative."""
    if not values:
        return Axis(title)
    low, high = min(values), max(values)
    if low < 0:
        more = (high - low) * 0.05 or 0.5
        return Axis(title, low - more, high + more)
    if low > 0:
        margin = max((high / low) ** 0.06, 1.05)
        return Axis(title, low / margin, high * margin, "log")
    least = min((value for value in values if value > 0), default=1.0)
    return Axis(title, 0.0, (high or 1.0) * 1.2, "symlog", near=least)


def _inside(axis: Axis, value: float) -> float:
    return min(max(value, axis.low), axis.high)


def _named(efficient: Sequence[Mapping[str, Any]], knee: str | None, chosen: str | None) -> set[str]:
    """The efficient points that bear their names: those that are marked, and others evenly between."""
    marked = {name for name in (knee, chosen) if name is not None}
    step = max(1, -(-len(efficient) // MOST_NAMED))
    return marked | {point["name"] for point in efficient[::step]}
