# SPDX-License-Identifier: Apache-2.0
"""The lattice of full-domain recodings as a figure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from itertools import product
from typing import Any

from anon.html import COLORS, INK, WIDTH, Dot, Figure, altair_library, dots, number
from anon.methods import Lattice

MOST_DRAWN = 400  # nodes; of a larger lattice those that were judged are drawn, the best of them first
MOST_LINKED = 150  # nodes between which the lines are drawn
MOST_NAMED = 8  # nodes side by side that bear their levels
STATES = ("best", "feasible", "infeasible", "not visited")
_SHAPES = ("diamond", "circle", "cross", "stroke")

Node = tuple[int, ...]


def lattice(seen: Lattice) -> Figure:
    """The nodes that full-domain recoding could choose from, by their sums of levels, and what they lose."""
    alt = altair_library()
    drawn = sorted(_drawn(seen), key=lambda node: (sum(node), node))
    places = dict(_placed(drawn))
    rows = [_row(seen, node, *places[node]) for node in drawn]
    x = alt.X("place:Q", axis=None, scale=alt.Scale(nice=False, padding=24))
    y = alt.Y(
        "sum:Q",
        title="sum of the levels",
        scale=alt.Scale(nice=False, padding=16),
        axis=alt.Axis(grid=False, tickMinStep=1, format=",d"),
    )
    base = alt.Chart().encode(x=x, y=y)
    legend = alt.Legend(symbolStrokeColor=COLORS[6], symbolFillColor="white", symbolStrokeWidth=1.5)
    shape = alt.Shape(
        "state:N",
        title="node",
        scale=alt.Scale(domain=list(STATES), range=list(_SHAPES)),
        legend=legend,
    )
    tooltip = [f"{name}:N" for name in ("levels", "state", "score", "suppressed")]
    color = alt.Color("score:Q", title=seen.quality, scale=alt.Scale(range=[COLORS[0], COLORS[1]]))
    scored = (
        base.transform_filter("isValid(datum.score)")
        .mark_point(size=90, filled=True, opacity=1)
        .encode(shape=shape, color=color, tooltip=tooltip)
    )
    others = (
        base.transform_filter("!isValid(datum.score)")
        .mark_point(size=60, filled=False, opacity=1, color=COLORS[6], strokeWidth=1.5)
        .encode(shape=shape, tooltip=tooltip)
    )
    best = base.transform_filter("datum.state == 'best'").mark_point(
        size=260, shape="circle", filled=False, opacity=1, color=INK, strokeWidth=2
    )
    layers = [best, others, scored]
    if len(drawn) <= MOST_LINKED:
        lines = [
            {"place": places[node][0], "sum": sum(node), "to": places[above][0], "next": sum(above)}
            for node in drawn
            for above in _successors(node, seen.heights)
            if above in places
        ]
        if lines:
            links = alt.Chart(alt.Data(values=lines)).mark_rule(color=COLORS[6], opacity=0.35)
            layers.insert(0, links.encode(x=x, x2="to:Q", y=y, y2="next:Q"))
    widest = max(Counter(sum(node) for node in drawn).values())
    if widest <= MOST_NAMED:
        layers.append(base.mark_text(dy=-13, fontSize=11, color=INK).encode(text="levels:N"))
    caption = (
        f"Each mark is a level for every one of {', '.join(seen.names)}, in this order: at the bottom all "
        "values are as they are, at the top none is left. The circle is around the node that was "
        "taken; color is what a node loses, gray those that leave out too many rows or were ruled out unseen."
    )
    if len(drawn) < seen.n_nodes:
        caption += " Of this lattice only nodes that were judged are drawn."
    height = 40 * min(sum(seen.heights) + 1, 12) + 40
    return Figure(
        "The lattice of recodings",
        alt.layer(*layers, data=alt.Data(values=rows)).properties(width=WIDTH, height=height),
        caption,
    )


def small_lattice(seen: Lattice) -> str:
    """The same for a notebook, as SVG made without the libraries of figures."""
    marks = []
    for node, (place, total) in _placed(sorted(_drawn(seen), key=lambda node: (sum(node), node))):
        row = _row(seen, node, place, total)
        levels = ", ".join(f"{name} {level}" for name, level in zip(seen.names, node, strict=True))
        score = "" if row["score"] is None else f", {seen.quality} {number(row['score'])}"
        label = row["levels"] if node == seen.best else ""
        marks.append(
            Dot(place, total, f"{levels}: {row['state']}{score}", label, row["state"] in ("best", "feasible"))
        )
    title = "The lattice of recodings: what passed is filled, the ring is around what was taken"
    return dots(title, marks, "", "sum of the levels")


def _drawn(seen: Lattice) -> list[Node]:
    if seen.n_nodes <= MOST_DRAWN:
        levels = zip(seen.lowest, seen.heights, strict=True)
        return list(product(*(range(low, height + 1) for low, height in levels)))
    judged = seen.judged
    order = sorted(judged, key=lambda node: (node != seen.best, judged[node].score, sum(node), node))
    return order[:MOST_DRAWN]


def _placed(nodes: list[Node]) -> Iterator[tuple[Node, tuple[float, int]]]:
    """Of nodes in order the place from the middle and the sum of levels: all of a sum side by side."""
    sizes, so_far = Counter(map(sum, nodes)), Counter[int]()
    for node in nodes:
        total = sum(node)
        yield node, (so_far[total] - (sizes[total] - 1) / 2, total)
        so_far[total] += 1


def _row(seen: Lattice, node: Node, place: float, total: int) -> dict[str, Any]:
    judged = seen.judged.get(node)
    state = "not visited" if judged is None else "feasible" if judged.feasible else "infeasible"
    is_scored = judged is not None and judged.feasible and math.isfinite(judged.score)
    return {
        "levels": " ".join(map(str, node)),
        "state": "best" if node == seen.best else state,
        "score": judged.score if judged is not None and is_scored else None,
        "suppressed": judged.n_suppressed if judged is not None and is_scored else None,
        "sum": total,
        "place": place,
    }


def _successors(node: Node, heights: Node) -> Iterator[Node]:
    for a, (g, height) in enumerate(zip(node, heights, strict=True)):
        if g < height:
            yield (*node[:a], g + 1, *node[a + 1 :])
