# SPDX-License-Identifier: Apache-2.0
"""What a sweep shows of itself in a notebook."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anon.choice.tables import frontier_tables
from anon.html import Figure, Table, folded, number, result_html


def frontier_html(swept: Mapping[str, Any], drawn: Figure) -> str:
    """Of `Frontier.to_dict()`, and its figure."""
    measured = [point for point in swept["points"] if point["satisfied"]]
    efficient, knee = swept["efficient"], swept["knee"]
    words = f"{len(efficient)} of {len(measured)} releases are efficient: no other is better on both axes."
    if knee is not None:
        words += f" The knee, where more privacy begins to cost more, is {knee}."
    first, others, missed = frontier_tables(swept)
    return result_html(
        words,
        drawn,
        first,
        folded("All that was asked for", *(table for table in (others, missed) if table.rows)),
    )


def point_html(point: Mapping[str, Any]) -> str:
    """Of `Point.to_dict()`."""
    if not point["satisfied"]:
        return result_html(f"{point['name']}: {point['why']}")
    words = (
        f"{point['name']}: {number(point['classes'])} classes, made in {number(point['seconds'])} seconds."
    )
    words += " No other release of the sweep is better on both axes." if point["efficient"] else ""
    return result_html(words, Table("Measures", ("measure", "value"), tuple(point["measures"].items())))
