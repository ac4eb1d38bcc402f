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


def partners(
    profile: Sequence[int],
    area: Sequence[int],
    order: Sequence[int],
    seekers: Sequence[int],
    swapped: list[int],
    most: int,
) -> list[int]:
    """For each seeker the record that it is swapped with, -1: none; `swapped` is marked."""
    partner = []
    for i in seekers:
        able = [
            j for j in order if not swapped[j] and profile[j] == profile[i] and area[j] != area[i]
        ]  # most preferred first
        if swapped[i] or not able or sum(j >= 0 for j in partner) == most:
            partner.append(-1)
            continue
        partner.append(able[0])
        swapped[i] = swapped[able[0]] = 1
    return partner
