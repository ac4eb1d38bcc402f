# SPDX-License-Identifier: Apache-2.0
"""Twin of `anoncore.populations`: every conjunction is tried on every row."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product


def held(predicate: int, offsets: Sequence[int], first: Sequence[int], last: Sequence[int]) -> set[int]:
    """The codes that a predicate holds."""
    runs = range(int(offsets[predicate]), int(offsets[predicate + 1]))
    return {code for run in runs for code in range(int(first[run]), int(last[run]) + 1)}


def mine(
    columns: Sequence[Sequence[int]],
    predicates: Sequence[tuple[Sequence[int], Sequence[int], Sequence[int]]],
    min_count: int,
    sensitive: Sequence[Sequence[int]] = (),
    n_values: Sequence[int] = (),
) -> list[tuple[tuple[tuple[int, int], ...], int, list[list[int]]]]:
    """Per population its (column, predicate) pairs, its support and the counts of each sensitive column."""
    sets = [[held(p, *listed) for p in range(len(listed[0]) - 1)] for listed in predicates]
    found = []
    for chosen in product(*(range(-1, len(each)) for each in sets)):
        pairs = tuple((a, p) for a, p in enumerate(chosen) if p >= 0)
        rows = [
            row for row in range(len(columns[0])) if all(int(columns[a][row]) in sets[a][p] for a, p in pairs)
        ]
        if pairs and len(rows) >= max(min_count, 1):
            counts = [
                [sum(int(column[row]) == value for row in rows) for value in range(n)]
                for column, n in zip(sensitive, n_values, strict=True)
            ]
            found.append((pairs, len(rows), counts))
    return sorted(found)
