# SPDX-License-Identifier: Apache-2.0
"""The lattice of full-domain recodings as a figure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from itertools import product
from typing import Any

from anon.html import WIDTH, Axis, Figure, Plot, legend, words_of
from anon.methods import Lattice

MOST_DRAWN = 400  # nodes; of a larger lattice those that were judged are drawn, the best of them first
MOST_LINKED = 150  # nodes between which the lines are drawn
MOST_NAMED = 8  # nodes side by side that bear their levels
STATES = ("best", "feasible", "infeasible", "not visited")
_TOLD = ("levels", "state", "score", "suppressed")

Node = tuple[int, ...]


def lattice(seen: Lattice) -> Figure:
    """The nodes that full-domain recoding could choose from, by their sums of levels, and what they lose."""
    drawn = sorted(_drawn(seen), key=lambda node: (sum(node), node))
    places = dict(_placed(drawn))
    rows = [_row(seen, node, *places[node]) for node in drawn]
    sums = [row["sum"] for row in rows]
    widest = max(Counter(sums).values())
    reach = max(widest / 2, 1.0)
    plot = Plot(
        Axis("", -reach, reach, labels=()),
        Axis("sum of the levels", min(sums) - 0.5, max(sums) + 0.6, whole=True),
        WIDTH,
        40 * min(sum(seen.heights) + 1, 12) + 40,
        grid=False,
        is_bare=True,
    )
    if len(drawn) <= MOST_LINKED:
        for node in drawn:
            for above in _successors(node, seen.heights):
                if above in places:
                    plot.line([places[node], places[above]], "faint")
    scores = [row["score"] for row in rows if row["score"] is not None]
    low, high = min(scores, default=0.0), max(scores, default=1.0)
    for row in rows:
        series, tip = STATES.index(row["state"]), words_of({name: row[name] for name in _TOLD})
        paler = 1.0 if row["score"] is None or high == low else 1 - 0.65 * (row["score"] - low) / (high - low)
        plot.mark(row["place"], row["sum"], series, tip, hollow=row["score"] is None, opacity=paler, size=1.2)
        if row["state"] == "best":
            plot.ring(row["place"], row["sum"], tip)
        if widest <= MOST_NAMED:
            x, y = plot.at(row["place"], row["sum"])
            plot.text(x, y - 10, row["levels"])
    caption = (
        f"Each mark is a level for every one of {', '.join(seen.names)}, in this order: at the bottom all "
        "values are as they are, at the top none is left. The circle is around the node that was taken; the "
        f"paler a filled mark, the more is lost ({seen.quality}); hollow ones leave out too many rows or "
        "were ruled out unseen."
    )
    if len(drawn) < seen.n_nodes:
        caption += " Of this lattice only nodes that were judged are drawn."
    return Figure("The lattice of recodings", (legend(STATES), plot.panel()), caption, tuple(rows))


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
