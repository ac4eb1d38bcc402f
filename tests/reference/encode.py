# SPDX-License-Identifier: Apache-2.0
"""Codes and domains, one value at a time."""

from __future__ import annotations

import math
from typing import Any


def is_missing(value: Any) -> bool:
    """Null and NaN."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def encode(column: list[Any], order: list[Any] | None = None) -> tuple[list[Any], list[int]]:
    """The domain in the order of its codes, and every row's code: its rank, missing last."""
    present = [value for value in column if not is_missing(value)]
    domain: list[Any] = []
    for value in order if order is not None else sorted(present):
        if value in present and value not in domain:
            domain.append(value)
    return domain, [len(domain) if is_missing(value) else domain.index(value) for value in column]
