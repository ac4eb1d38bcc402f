# SPDX-License-Identifier: Apache-2.0
"""A release as a table of facts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anon.html import Table


def release_table(summary: Mapping[str, Any]) -> Table:
    """The table of `Release.summary()`."""
    rows = tuple(
        (name, ", ".join(value) or "none" if isinstance(value, list) else value)
        for name, value in summary.items()
    )
    return Table("The release", ("what", "value"), rows)
