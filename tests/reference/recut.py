# SPDX-License-Identifier: Apache-2.0
"""Plain Python twins of `anoncore.recut`.

Attributes, rows and rules are those of `reference.curve`; `sensitive` has the sensitive codes of every row, a
list per row, of the attributes that the rules read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reference.curve import Attribute, Row, Rule, loss, place, width

WINDOW, PARTNERS, MARGIN, POOLED, TIMES_LEAST = 16, 2, 16, 1 << 14, 16
TRIES, NEARBY, MEAN_STRATUM, EVENLY = 12, 64, 4, 2


def divide(
    attributes: Sequence[Attribute],
    table: Sequence[Row],
    classes: Sequence[Sequence[int]],
    k: int,
    passes: Rule | None = None,
    sensitive: Sequence[Sequence[int]] = (),
) -> list[list[int]]:
    """Every class cut by itself, again and again."""
    of = _Cutter(attributes, table, k, passes, sensitive)
    return [part for rows in classes for part in of.parts(rows)]


def recut(
    attributes: Sequence[Attribute],
    table: Sequence[Row],
    classes: Sequence[Sequence[int]],
    k: int,
    reach: int,
    passes: Rule | None = None,
    sensitive: Sequence[Sequence[int]] = (),
) -> list[list[int]]:
    """The classes after one pass: each pooled with its nearest neighbors, and the pool cut again."""
    of = _Cutter(attributes, table, k, passes, sensitive)
    n = len(classes)
    slots = [list(rows) for rows in classes]
    most = n + sum(map(len, classes)) // k + 1
    for a in range(n):
        if not slots[a] or of.width(slots[a]) == 0:
            continue
        partners = []
        for b in range(a + 1, min(a + 1 + WINDOW, n)):
            if not slots[b] or len(slots[a]) + PARTNERS * len(slots[b]) > max(POOLED, TIMES_LEAST * k):
                continue
            joined = of.joined_width(slots[a] + slots[b])
            if joined > reach * (of.width(slots[a]) + of.width(slots[b])) // 100:
                continue
            cost = (len(slots[a]) + len(slots[b])) * joined - of.loss(slots[a]) - of.loss(slots[b])
            partners.append((cost, b))
        together = [a, *(b for _, b in sorted(partners)[:PARTNERS])]
        if len(together) == 1:
            continue
        parts = of.parts([row for c in together for row in slots[c]])
        if sum(map(of.loss, parts)) >= sum(of.loss(slots[c]) for c in together):
            continue
        if len(slots) + len(parts) - len(together) > most:
            continue
        for c in together:
            slots[c] = []
        for number, part in enumerate(parts):
            if number < len(together):
                slots[together[number]] = part
            else:
                slots.append(part)
    return [rows for rows in slots if rows]


class _Cutter:
    def __init__(self, attributes: Any, table: Any, k: int, passes: Any, sensitive: Any):
        self.attributes, self.table, self.k, self.passes, self.sensitive = (
            attributes,
            table,
            k,
            passes,
            sensitive,
        )
        kinds = [
            "ordered" if positions is not None else "set" if tree is None else "tree"
            for _, _, positions, tree in attributes
        ]
        ordered = [a for a, kind in enumerate(kinds) if kind == "ordered"]
        # The attribute of every field of a record; None pads.
        self.fields = [*ordered, *[None] * (-len(ordered) % 4)]
        self.fields += [a for kind in ("tree", "set") for a, each in enumerate(kinds) if each == kind]
        self.kinds = kinds
        self.records = place(attributes, table, range(len(table)))

    def loss(self, rows: Sequence[int]) -> int:
        return loss(self.attributes, self.table, rows)

    def width(self, rows: Sequence[int]) -> int:
        return self.loss(rows) // len(rows)

    def joined_width(self, rows: Sequence[int]) -> int:
        # Of sets the remainders by 64 are counted.
        total = 0
        for a, kind in enumerate(self.kinds):
            null = self.attributes[a][0]
            codes = [self.table[row][a] for row in rows]
            if kind == "set":
                codes = [code if code == null else code % 64 for code in codes]
            total += width(self.attributes, a, codes)
        return total

    def wide_fields(self, rows: Sequence[int]) -> list[int]:
        # Those that have width, widest first.
        widths = [
            0 if a is None else width(self.attributes, a, [self.table[row][a] for row in rows])
            for a in self.fields
        ]
        return sorted((f for f, each in enumerate(widths) if each), key=lambda f: (-widths[f], f))

    def parts(self, rows: Sequence[int]) -> list[list[int]]:
        wide = self.wide_fields(rows)
        if not wide or len(rows) < 2 * self.k:
            return [list(rows)]
        base = list(rows)
        for field in reversed(wide[:2]):
            base.sort(key=lambda row: self.records[row][field])
        orders = {field: sorted(base, key=lambda row: self.records[row][field]) for field in wide}
        strata = self.strata(rows) if self.passes else {}
        return self.cut(orders, wide[0], strata)

    def cut(self, orders: dict[int, list[int]], main: int, strata: dict[int, int]) -> list[list[int]]:
        rows = orders[main]
        wide = self.wide_fields(rows)
        best = self.best_cut(orders, wide, strata) if wide and len(rows) >= 2 * self.k else None
        if best is None:
            return [rows]
        left = set(best)
        parts = []
        for side in (True, False):
            part = {f: [row for row in order if (row in left) == side] for f, order in orders.items()}
            parts += self.cut(part, main, strata)
        return parts

    def best_cut(
        self, orders: dict[int, list[int]], wide: list[int], strata: dict[int, int]
    ) -> list[int] | None:
        best: tuple[int, list[int] | None] = (2**62, None)
        for field in wide:
            a = self.fields[field]
            assert a is not None
            if self.kinds[a] != "set":
                best = self.tried(orders[field], best)
            if self.kinds[a] != "ordered":
                runs = self.by_length(orders[field], a)
                if self.kinds[a] == "set" or runs != orders[field]:
                    best = self.tried(runs, best)
        if best[1] is None and strata:
            for field in wide[:EVENLY]:
                best = self.tried(_evenly(orders[field], strata), best)
        return best[1]

    def tried(self, order: list[int], best: tuple[int, Any]) -> tuple[int, Any]:
        n = len(order)
        margin, gap = max(self.k, n // MARGIN), n // NEARBY
        losses = {i: self.loss(order[:i]) + self.loss(order[i:]) for i in range(margin, n - margin + 1)}
        for _ in range(TRIES if self.passes else 1):
            at = min((i for i in losses if losses[i] < best[0]), key=lambda i: (losses[i], i), default=None)
            if at is None:
                break
            if self.passes is None or (self.passes(order[:at]) and self.passes(order[at:])):
                return losses[at], order[:at]
            losses = {i: each for i, each in losses.items() if abs(i - at) > gap}
        return best

    def by_length(self, order: list[int], a: int) -> list[int]:
        # Runs of one child of the common ancestor, or of one value, the longest first.
        def run_of(row: int) -> Any:
            code = self.table[row][a]
            n_values, _, _, tree = self.attributes[a]
            if tree is None or code == n_values or any(self.table[other][a] == n_values for other in order):
                # null's sibling is the whole tree
                return code if tree is None else code == n_values
            parent, _, last, leaf = tree
            codes = [self.table[other][a] for other in order]
            ancestor = leaf[min(codes)]
            while last[ancestor] < max(codes):
                ancestor = parent[ancestor]
            node = leaf[code]
            while node != ancestor and parent[node] != ancestor:
                node = parent[node]
            return node

        runs: dict[Any, list[int]] = {}
        for row in order:
            runs.setdefault(run_of(row), []).append(row)
        return [row for run in sorted(runs.values(), key=len, reverse=True) for row in run]

    def strata(self, rows: Sequence[int]) -> dict[int, int]:
        columns = list(zip(*(self.sensitive[row] for row in rows), strict=True))
        columns.sort(key=lambda column: len(set(column)))
        together: list[tuple[int, ...]] = [(value,) for value in columns[0]]
        for column in columns[1:]:
            more = [(*before, value) for before, value in zip(together, column, strict=True)]
            if MEAN_STRATUM * len(set(more)) > len(rows):
                break
            together = more
        return {row: sorted(set(together)).index(each) for row, each in zip(rows, together, strict=True)}


def _evenly(order: list[int], strata: dict[int, int]) -> list[int]:
    sizes: dict[int, int] = {}
    for row in order:
        sizes[strata[row]] = sizes.get(strata[row], 0) + 1
    passed = dict.fromkeys(sizes, 0)
    places = {}
    for row in order:
        stratum = strata[row]
        places[row] = ((2 * passed[stratum] + 1) << 31) // sizes[stratum]
        passed[stratum] += 1
    return sorted(order, key=lambda row: places[row])
