# SPDX-License-Identifier: Apache-2.0
"""Results as JSON has them: the one rule for numbers that JSON lacks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any


def as_plain(value: Any) -> Any:
    """Dataclasses, mappings and sequences as dicts and lists, ready for JSON.

    An infinite number is "inf" or "-inf"; one that does not exist (NaN) is None, as what was not measured.
    """
    if is_dataclass(value):
        return {f.name: as_plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): as_plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [as_plain(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(float(value))  # NumPy's have other names
    return value
