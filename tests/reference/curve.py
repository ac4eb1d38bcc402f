# SPDX-License-Identifier: Apache-2.0
"""Plain Python twins of `anoncore.curve`.

An attribute is (n_values, weight, positions or None, tree or None), tree = (parent, first, last, leaf);
a code equal to n_values is null. A class is a list of row numbers, a row a list of codes. `passes` is
a function from a list of row numbers to a bool.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

Attribute = tuple[int, float, Sequence[float] | None, tuple[Sequence[int], ...] | None]
Row = Sequence[int]
Rule = Callable[[Sequence[int]], bool]

WINDOW, PARTNERS, MOST_DEALT = 16, 2, 512


# --- Hilbert index: the cells of a cube are visited in Gray code order, each entered at a corner and left at
# --- another; inside each the curve is rotated and mirrored so that it begins and ends there (Hamilton 2006).


def hilbert(points: Sequence[Sequence[int]], bits: int) -> list[int]:
    """Hilbert index of each point (coordinates 0..2**bits-1), m * bits bits."""
    return [_index(point, bits) for point in points]


def _index(point: Sequence[int], bits: int) -> int:
    m = len(point)
    entry, direction, index = 0, 0, 0
    for level in reversed(range(bits)):
        corner = 0
        for coordinate in point:
            corner = 2 * corner + (coordinate >> level & 1)
        step = _gray_rank(_rotate(corner ^ entry, -(direction + 1), m), m)
        index = index << m | step
        entry ^= _rotate(_entry(step), direction + 1, m)
        direction = (direction + _direction(step, m) + 1) % m
    return index


def _rotate(word: int, by: int, m: int) -> int:
    by %= m
    return (word << by | word >> (m - by)) & (2**m - 1)


def _gray(step: int) -> int:
    return step ^ step >> 1


def _gray_rank(word: int, m: int) -> int:
    step = 0
    while word:
        step, word = step ^ word, word >> 1
    return step


def _entry(step: int) -> int:
    return 0 if step == 0 else _gray(2 * ((step - 1) // 2))


def _direction(step: int, m: int) -> int:
    if step == 0:
        return 0
    odd = step if step % 2 else step - 1
    ones = 0
    while odd >> ones & 1:
        ones += 1
    return ones % m


def sort_rows(keys: Sequence[int], rows: Sequence[int]) -> list[int]:
    """`rows` stably sorted by their keys."""
    return sorted(rows, key=lambda row: keys[row])


# --- widths


def _whole(attributes: Sequence[Attribute], a: int) -> int:
    return int(attributes[a][1] * (2.0**28 / (sum(weight for _, weight, _, _ in attributes) or 1.0)))


def _coordinate(attributes: Sequence[Attribute], a: int, code: int) -> int:
    n_values, _, positions, _ = attributes[a]
    assert positions is not None
    whole = _whole(attributes, a)
    if code == n_values:
        return 2 * whole
    reach = positions[n_values - 1]
    return round(positions[code] / reach * whole) if reach > 0 else 0


def width(attributes: Sequence[Attribute], a: int, codes: Sequence[int]) -> int:
    """Width of a cell that holds these codes of attribute a."""
    n_values, _, positions, tree = attributes[a]
    whole = _whole(attributes, a)
    values = set(codes) - {n_values}
    if not values:
        return 0
    if n_values in codes:
        return whole
    if positions is not None:
        return _coordinate(attributes, a, max(values)) - _coordinate(attributes, a, min(values))
    if tree is None:
        return round((len(values) - 1) * (whole / max(n_values - 1, 1)))
    parent, first, last, leaf = tree
    node = leaf[min(values)]
    while not all(first[node] <= code <= last[node] for code in values):
        node = parent[node]
    return round((last[node] - first[node]) / max(n_values - 1, 1) * whole)


def loss(attributes: Sequence[Attribute], table: Sequence[Row], rows: Sequence[int]) -> int:
    """Rows of a class times the sum of its widths."""
    return len(rows) * sum(
        width(attributes, a, [table[row][a] for row in rows]) for a in range(len(attributes))
    )


def place(attributes: Sequence[Attribute], table: Sequence[Row], rows: Sequence[int]) -> list[list[int]]:
    """Records: coordinates of ordered attributes up to a multiple of 4 fields, codes of trees, of sets."""
    ordered = [a for a, (_, _, positions, _) in enumerate(attributes) if positions is not None]
    trees = [
        a for a, (_, _, positions, tree) in enumerate(attributes) if positions is None and tree is not None
    ]
    sets = [a for a, (_, _, positions, tree) in enumerate(attributes) if positions is None and tree is None]
    records = []
    for row in rows:
        record = [_coordinate(attributes, a, table[row][a]) for a in ordered]
        record += [0] * (-len(record) % 4)
        record += [table[row][a] for a in (*trees, *sets)]
        records.append(record + [0] * (-len(record) % 4))
    return records


# --- methods


def cut(
    attributes: Sequence[Attribute],
    table: Sequence[Row],
    k: int,
    max_size: int,
    step: int = 1,
    passes: Rule | None = None,
) -> list[int]:
    """Offsets of the best cuts of the table; a row of a failing class costs 2**30 more."""
    n = len(table)
    if n < 2 * k:
        return [0, n] if n else [0]
    best: list[tuple[int, list[int]] | None] = [(0, [0])] + [None] * n
    for end in range(1, n + 1):
        for start in range(max(end - max_size, 0), end - k + 1):
            before = best[start]
            if before is None or (end % step and end < n):
                continue
            rows = range(start, end)
            cost = before[0] + loss(attributes, table, rows)
            if passes is not None and not passes(rows):
                cost += len(rows) * 2**30
            now = best[end]
            if now is None or cost < now[0]:
                best[end] = (cost, [*before[1], end])
    last = best[n]
    return cut(attributes, table, k, max_size, 1, passes) if last is None else last[1]


def centers(
    table: Sequence[Row], classes: Sequence[Sequence[int]], grids: Sequence[Sequence[int]]
) -> list[list[int]]:
    """Mean place of the rows of each class on every axis, rounded down."""
    return [
        [sum(grid[table[row][a]] for row in rows) // len(rows) for a, grid in enumerate(grids)]
        for rows in classes
    ]


def refine(
    attributes: Sequence[Attribute],
    table: Sequence[Row],
    classes: Sequence[Sequence[int]],
    k: int,
    max_size: int,
    reach: int,
    passes: Rule | None = None,
) -> list[list[int]]:
    """The classes after one pass: each improved together with its nearest partners, then dealt anew."""
    return _Refinement(attributes, table, classes, k, max_size, reach, passes).result()


class _Refinement:
    def __init__(self, attributes: Any, table: Any, classes: Any, k: int, most: int, reach: int, passes: Any):
        self.attributes, self.table, self.k, self.most = attributes, table, k, most
        self.passes: Rule = passes or (lambda rows: True)
        n = len(classes)
        self.slots = [list(rows) for rows in classes] + [[] for _ in range(n // 8 + 1)]
        spare = n
        for a in range(n):
            if not self.slots[a] or self.width(self.slots[a]) == 0:
                continue
            partners = []
            for b in range(a + 1, min(a + 1 + WINDOW, n)):
                if not self.slots[b]:
                    continue
                both = self.slots[a] + self.slots[b]
                if self.width(both) > reach * (self.width(self.slots[a]) + self.width(self.slots[b])) // 100:
                    continue
                cost = self.loss(both) - self.loss(self.slots[a]) - self.loss(self.slots[b])
                partners.append((cost, b))
            partners = sorted(partners)[:PARTNERS]
            for _, b in partners:
                self.improve(a, b)
            together = [a, *(b for _, b in partners)]
            if partners and sum(len(self.slots[c]) for c in together) <= MOST_DEALT:
                self.deal_anew(together, spare if spare < len(self.slots) else None)
                if spare < len(self.slots) and self.slots[spare]:
                    spare += 1

    def result(self) -> list[list[int]]:
        return [rows for rows in self.slots if rows]

    def width(self, rows: Sequence[int]) -> int:
        return self.loss(rows) // len(rows)

    def loss(self, rows: Sequence[int]) -> int:
        return loss(self.attributes, self.table, rows)

    def improve(self, a: int, b: int) -> None:
        while True:
            rows_a, rows_b = self.slots[a], self.slots[b]
            candidates = []
            if len(rows_a) > self.k and len(rows_b) < self.most:
                candidates += [(_without(rows_a, i), [*rows_b, rows_a[i]]) for i in range(len(rows_a))]
            if len(rows_b) > self.k and len(rows_a) < self.most:
                candidates += [([*rows_a, rows_b[j]], _without(rows_b, j)) for j in range(len(rows_b))]
            for i in range(len(rows_a)):
                for j in range(len(rows_b)):
                    new_a = [*rows_a[:i], rows_b[j], *rows_a[i + 1 :]]
                    new_b = [*rows_b[:j], rows_a[i], *rows_b[j + 1 :]]
                    candidates.append((new_a, new_b))
            now = self.loss(rows_a) + self.loss(rows_b)
            best, choice = 0, None
            for new_a, new_b in candidates:
                gain = now - self.loss(new_a) - self.loss(new_b)
                if gain > best and self.passes(new_a) and self.passes(new_b):
                    best, choice = gain, (new_a, new_b)
            if choice is None:
                return
            self.slots[a], self.slots[b] = choice

    def deal_anew(self, together: list[int], spare: int | None) -> None:
        old = [list(self.slots[c]) for c in together]
        before = sum(map(self.loss, old))
        if before == 0:
            return
        places = together + ([] if spare is None else [spare])
        left = [row for rows in old for row in rows]
        gains = [self.width(old[0]) - self.width(_without(old[0], i)) for i in range(len(old[0]))]
        at = gains.index(max(gains))
        new: list[list[int]] = []
        while len(left) >= self.k and len(new) < len(places):
            rows = [left.pop(at)]
            while len(rows) < self.k or not self.passes(rows):
                if not left or len(rows) == self.most:
                    return
                widths = [self.width([*rows, row]) for row in left]
                rows.append(left.pop(widths.index(min(widths))))
            new.append(rows)
            if left:
                widths = [self.width([*rows, row]) for row in left]
                at = widths.index(max(widths))
        for row in left:
            costs = [
                (self.loss([*rows, row]) - self.loss(rows), g)
                for g, rows in enumerate(new)
                if len(rows) < self.most
            ]
            if not costs:
                return
            new[min(costs)[1]].append(row)
        if not all(map(self.passes, new)):
            return
        for c in places:
            self.slots[c] = []
        for c, rows in zip(places, new, strict=False):
            self.slots[c] = rows
        for g in range(len(new)):
            for h in range(g + 1, len(new)):
                self.improve(places[g], places[h])
        if sum(self.loss(self.slots[c]) for c in places if self.slots[c]) >= before:
            for c in places:
                self.slots[c] = []
            for c, rows in zip(together, old, strict=True):
                self.slots[c] = rows


def _without(rows: Sequence[int], i: int) -> list[int]:
    # The last row takes the place of the one that leaves.
    rest = list(rows)
    rest[i] = rest[-1]
    return rest[:-1]
