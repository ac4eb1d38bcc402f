# SPDX-License-Identifier: Apache-2.0
"""Plain Python twin of `anoncore.merge`; attributes, classes and `passes` as in `reference.curve`."""

from __future__ import annotations

from collections.abc import Sequence

from reference.curve import Attribute, Row, Rule, loss

REACH = 32


def repair(
    attributes: Sequence[Attribute], table: Sequence[Row], classes: Sequence[Sequence[int]], passes: Rule
) -> list[list[int]]:
    """Spec 4: failing classes (in curve order) merged with neighbors until all pass or one is left."""
    live = [list(rows) for rows in classes]
    for rows in [list(rows) for rows in classes]:
        place = next((p for p, other in enumerate(live) if other == rows), None)
        if place is None:
            continue
        while not passes(live[place]) and len(live) > 1:
            nearby = [
                p for p in range(max(place - REACH, 0), min(place + REACH + 1, len(live))) if p != place
            ]

            def increase(p: int, place: int = place) -> int:
                return (
                    loss(attributes, table, live[place] + live[p])
                    - loss(attributes, table, live[place])
                    - loss(attributes, table, live[p])
                )

            partner = min(nearby, key=lambda p: (increase(p), p))
            place, gone = sorted((place, partner))
            live[place] = live[place] + live[gone]
            del live[gone]
    return live
