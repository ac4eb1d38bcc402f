# SPDX-License-Identifier: Apache-2.0
"""A sweep as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from anon.html import Table

PRICE = ("privacy_gained", "utility_lost", "price")


def frontier_tables(swept: Mapping[str, Any]) -> tuple[Table, Table, Table]:
    """The tables of `Frontier.to_dict()`: the efficient points, all that were measured, and the others."""
    recorded = (name for point in swept["points"] for name in point["measures"])
    measures = tuple(dict.fromkeys((swept["privacy"], swept["utility"], *recorded)))

    def table(title: str, points: Sequence[Mapping[str, Any]]) -> Table:
        rows = (
            (point["name"], *map(point["measures"].get, measures), point["classes"], point["seconds"])
            for point in points
        )
        return Table(title, ("release", *measures, "classes", "seconds"), tuple(rows))

    by_name = {point["name"]: point for point in swept["points"]}
    missed = [(point["name"], point["why"]) for point in swept["points"] if not point["satisfied"]]
    return (
        table("The efficient releases", [by_name[name] for name in swept["efficient"]]),
        table("Measured", [point for point in swept["points"] if point["satisfied"]]),
        Table("Not satisfied", ("release", "why"), tuple(missed)),
    )
