# SPDX-License-Identifier: Apache-2.0
"""Figures of attacks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from anon.html import COLORS, INK, WIDTH, Figure, altair_library

SIDES = ("people in the table", "people never in it", "naive attacker")


def attack_rates(bars: Sequence[Mapping[str, Any]]) -> Figure:
    """How often attacks succeed: a bar for each of `SIDES`, with its interval.

    Each bar has `attack`, `side`, and `rate`, `low` and `high` in 0..1.
    """
    alt = altair_library()
    shown = [{**bar, **{name: 100 * float(bar[name]) for name in ("rate", "low", "high")}} for bar in bars]
    attacks = list(dict.fromkeys(bar["attack"] for bar in shown))
    base = alt.Chart(alt.Data(values=shown)).encode(
        y=alt.Y("attack:N", title=None, sort=attacks),
        yOffset=alt.YOffset("side:N", sort=list(SIDES)),
        tooltip=[f"{name}:N" for name in ("attack", "side", "rate", "low", "high")],
    )
    scale = alt.Scale(domain=[0, 100])
    colors = alt.Scale(domain=list(SIDES), range=list(COLORS[: len(SIDES)]))
    marks = base.mark_bar().encode(
        x=alt.X("rate:Q", title="successes in percent", scale=scale),
        color=alt.Color("side:N", title=None, scale=colors, sort=list(SIDES)),
    )
    intervals = base.mark_rule(color=INK, strokeWidth=1.5).encode(x=alt.X("low:Q"), x2="high:Q")
    return Figure(
        "How often attacks succeed",
        (marks + intervals).properties(width=WIDTH, height=max(len(attacks), 1) * 66),
        "Of each attack the success on people in the table, on people who never were in it, and of a naive "
        "attacker, with intervals as lines: what the release adds is how far the first bar reaches beyond "
        "the second.",
    )
