# SPDX-License-Identifier: Apache-2.0
"""Numbers and sentences as people read them."""

from __future__ import annotations

import math


def number(value: float) -> str:
    """A number for people: whole ones in full, others to four digits."""
    if isinstance(value, int) or not math.isfinite(value):
        return f"{value:,}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def sentence(words: str) -> str:
    """Words with a capital first and a full stop last."""
    return f"{words[:1].upper()}{words[1:].removesuffix('.')}."
