# SPDX-License-Identifier: Apache-2.0
"""Twin of `anoncore.swap`: lists of ranks that are left."""

from __future__ import annotations

from collections.abc import Sequence


def swapped(draws: Sequence[float], window: int) -> list[int]:
    """For each rank the rank whose value it takes."""
    source = list(range(len(draws)))
    left = set(source)
    for i, draw in enumerate(draws):
        if i in left:
            partners = [j for j in range(i + 1, min(i + window, len(draws) - 1) + 1) if j in left]
            if partners:
                j = partners[int(draw * len(partners))]
                source[i], source[j] = j, i
                left -= {i, j}
    return source
