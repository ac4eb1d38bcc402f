# SPDX-License-Identifier: Apache-2.0
"""The text of a cell, one value at a time, from the rules alone."""

from __future__ import annotations

import json
from collections.abc import Sequence


def quote(label: str) -> str:
    """A label as it stands in a cell."""
    plain = (
        label != ""
        and label == label.strip()
        and not any(mark in label for mark in '{}[],"*')
        and label != "missing"
        and not label.endswith(" or missing")
    )
    return label if plain else json.dumps(label, ensure_ascii=False)


def text(kind: str, domain: Sequence[str], present: set[int], null: bool) -> str:
    """The cell of a class whose rows hold these codes of a domain (its values as text), and null or not.

    `kind`: "numeric", "ordinal" (an interval) or "nominal" (a set).
    """
    if not present:
        return "missing"
    words = [word if kind == "numeric" else quote(word) for word in domain]
    low, high = min(present), max(present)
    if kind == "nominal":
        full = len(present) == len(domain)
        several = "{" + ", ".join(words[code] for code in sorted(present)) + "}"
        body = words[low] if len(present) == 1 else several
    else:
        full = low == 0 and high == len(domain) - 1
        body = words[low] if low == high else f"[{words[low]}, {words[high]}]"
    if full and len(domain) > 1:
        body = "*"
    return body + " or missing" if null else body
