# SPDX-License-Identifier: Apache-2.0
"""Twins of `anoncore.classes`: dictionaries and lists, one row at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any


def group(columns: Sequence[Sequence[int]], rows: Sequence[int] | None = None) -> tuple[list[int], list[int]]:
    """Rows class by class, classes ascending by their tuple of codes; and the offsets."""
    members: dict[tuple[int, ...], list[int]] = {}
    for row in range(len(columns[0])) if rows is None else rows:
        members.setdefault(tuple(int(column[row]) for column in columns), []).append(int(row))
    grouped: list[int] = []
    offsets = [0]
    for key in sorted(members):
        grouped += members[key]
        offsets.append(len(grouped))
    return grouped, offsets


def split(
    columns: Sequence[Sequence[int]], rows: Sequence[int], offsets: Sequence[int]
) -> tuple[int, list[int], list[int]]:
    """How many rows are alone with their class and codes; the other rows part by part, and their offsets."""
    n_alone, kept, bounds = 0, [], [0]
    for start, stop in pairwise(offsets):
        parts, ends = group(columns, rows[start:stop])
        for a, b in pairwise(ends):
            if b - a == 1:
                n_alone += 1
            else:
                kept += parts[a:b]
                bounds.append(len(kept))
    return n_alone, kept, bounds


def few_candidates(
    of: Sequence[int], by: Sequence[int], rows: Sequence[int], offsets: Sequence[int], k: int
) -> int:
    """Rows with fewer than k rows in their class whose code in `by` is somewhere beside theirs in `of`."""
    beside = {(int(of[row]), int(by[row])) for row in rows}
    classes = [rows[a:b] for a, b in pairwise(offsets)]
    return sum(
        sum((int(of[row]), int(by[other])) in beside for other in members) < k
        for members in classes
        for row in members
    )


def _members(codes: Sequence[int], rows: Sequence[int], offsets: Sequence[int]) -> list[list[int]]:
    return [[int(codes[row]) for row in rows[a:b]] for a, b in pairwise(offsets)]


def value_counts(
    codes: Sequence[int], rows: Sequence[int], offsets: Sequence[int], n_values: int
) -> tuple[list[int], list[int], list[int]]:
    """Per class its distinct codes, ascending, and their counts, in CSR form."""
    value_offsets, values, counts = [0], [], []
    for held in _members(codes, rows, offsets):
        for value, count in sorted(Counter(held).items()):
            assert 0 <= value < n_values
            values.append(value)
            counts.append(count)
        value_offsets.append(len(values))
    return value_offsets, values, counts


def boxes(
    codes: Sequence[int], rows: Sequence[int], offsets: Sequence[int], null_code: int = -1
) -> tuple[list[int], list[int], list[bool]]:
    """Per class the lowest and highest code that is not null, and whether null is there."""
    low, high, null = [], [], []
    for held in _members(codes, rows, offsets):
        present = [code for code in held if code != null_code]
        low.append(min(present, default=1))
        high.append(max(present, default=0))
        null.append(len(present) < len(held))
    return low, high, null


def shuffle(rows: Sequence[int], offsets: Sequence[int], random: Sequence[int]) -> list[int]:
    """Fisher-Yates from the last row of each class down, with one random number per row."""
    shuffled = [int(row) for row in rows]
    for start, stop in pairwise(offsets):
        for i in range(int(stop) - 1, int(start), -1):
            j = int(start) + int(random[i]) % (i - int(start) + 1)
            shuffled[i], shuffled[j] = shuffled[j], shuffled[i]
    return shuffled


def find_inside(
    columns: Sequence[Sequence[int]], cells: Sequence[tuple[Any, ...]], most: int
) -> list[list[int]] | None:
    """Per box the rows, ascending, whose every code lies in the box's cell on that column."""
    found = []
    for box in range(len(cells[0][0])):
        inside = []
        for of_box, low, high, null, null_code, set_offsets, set_codes in cells:
            cell = of_box[box]
            held = set(range(int(low[cell]), int(high[cell]) + 1)) - {null_code}
            if set_offsets is not None:
                held &= {int(code) for code in set_codes[set_offsets[cell] : set_offsets[cell + 1]]}
            inside.append(held | {null_code} if null[cell] else held)
        rows = enumerate(zip(*columns, strict=True))
        found.append(
            [i for i, row in rows if all(int(c) in held for c, held in zip(row, inside, strict=True))]
        )
    return None if sum(map(len, found)) > most else found


def count_inside(columns: Sequence[Sequence[int]], cells: Sequence[tuple[Any, ...]]) -> list[int]:
    """Per box how many rows `find_inside` finds."""
    return [len(rows) for rows in find_inside(columns, cells, 2**62) or ()]


def count_common(first: Sequence[set[int]], second: Sequence[set[int]], weights: Sequence[int]) -> list[int]:
    """For each element the weight of those that share a set of both families with it."""
    elements = list(zip(first, second, weights, strict=True))
    return [sum(int(w) for a, b, w in elements if a & mine and b & other) for mine, other, _ in elements]
