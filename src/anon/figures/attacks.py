# SPDX-License-Identifier: Apache-2.0
"""Figures of attacks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from anon.html import WIDTH, Axis, Figure, Plot, legend, words_of

SIDES = ("people in the table", "people never in it", "naive attacker")


def attack_rates(bars: Sequence[Mapping[str, Any]]) -> Figure:
    """How often attacks succeed: a bar for each of `SIDES`, with its interval.

    Each bar has `attack`, `side`, and `rate`, `low` and `high` in 0..1.
    """
    shown = [{**bar, **{name: 100 * float(bar[name]) for name in ("rate", "low", "high")}} for bar in bars]
    attacks = list(dict.fromkeys(bar["attack"] for bar in shown))
    upwards = tuple(reversed(attacks))
    plot = Plot(
        Axis("successes in percent", 0, 100),
        Axis("", -0.5, len(attacks) - 0.5, labels=upwards),
        WIDTH,
        66 * max(len(attacks), 1) + 52,
    )
    for bar in shown:
        side = SIDES.index(bar["side"])
        place = upwards.index(bar["attack"]) + 0.28 * (1 - side)
        plot.box(0, bar["rate"], place - 0.12, place + 0.12, side, words_of(bar))
        plot.line([(bar["low"], place), (bar["high"], place)], "ink")
    return Figure(
        "How often attacks succeed",
        (legend(SIDES), plot.panel()),
        "Of each attack the success on people in the table, on people who never were in it, and of a naive "
        "attacker, with intervals as lines: what the release adds is how far the first bar reaches beyond "
        "the second.",
        tuple(shown),
    )
