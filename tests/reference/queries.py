# SPDX-License-Identifier: Apache-2.0
"""Twins of `anoncore.queries`: value by value, in fractions."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction


def overlaps(
    low: Sequence[int],
    high: Sequence[int],
    null: Sequence[bool],
    reach: tuple[Sequence[float], Sequence[float]] | None,
    sets: tuple[Sequence[int], Sequence[int]] | None,
    offsets: Sequence[int],
    first: Sequence[int],
    last: Sequence[int],
    run_reach: tuple[Sequence[float], Sequence[float]] | None,
    unit: bool,
) -> tuple[list[list[Fraction]], list[list[int]]]:
    """Per predicate and cell: the share of the cell inside, and 0 none of it, 1 some, 2 all."""
    shares, kinds = [], []
    for p in range(len(offsets) - 1):
        runs = range(int(offsets[p]), int(offsets[p + 1]))
        codes = {code for run in runs for code in range(int(first[run]), int(last[run]) + 1)}
        pairs = []
        for i in range(len(low)):
            a, b = int(low[i]), int(high[i])
            if sets is not None:
                points: set[int] = set(map(int, sets[1][int(sets[0][i]) : int(sets[0][i + 1])]))
                pairs.append(_of_points(points, codes, bool(null[i])))
            elif a > b:
                pairs.append((Fraction(0), 0))
            elif unit:
                assert reach is not None
                assert run_reach is not None
                points = set(range(int(reach[0][i]), int(reach[1][i]) + 1))
                inside: set[int] = set()
                for run in runs:
                    inside |= set(range(int(run_reach[0][run]), int(run_reach[1][run]) + 1))
                pairs.append(_of_points(points, inside, bool(null[i])))
            else:
                assert reach is not None
                assert run_reach is not None
                ends = Fraction(float(reach[0][i])), Fraction(float(reach[1][i]))
                length = Fraction(0)
                some = False
                for run in runs:
                    start = max(ends[0], Fraction(float(run_reach[0][run])))
                    stop = min(ends[1], Fraction(float(run_reach[1][run])))
                    length += max(stop - start, Fraction(0))
                    shares_code = int(first[run]) <= b and a <= int(last[run])
                    some = some or stop > start or (stop == start and shares_code)
                every = any(int(first[run]) <= a and b <= int(last[run]) for run in runs)
                share = length / (ends[1] - ends[0]) if ends[1] > ends[0] else Fraction(every)
                whole = 2 if every and not null[i] else 1 if some or every else 0
                pairs.append((share / 2 if null[i] else share, whole))
        shares.append([share for share, _ in pairs])
        kinds.append([kind for _, kind in pairs])
    return shares, kinds


def _of_points(points: set[int], inside: set[int], null: bool) -> tuple[Fraction, int]:
    if not points or not points & inside:
        return Fraction(0), 0
    return Fraction(len(points & inside), len(points) + null), 2 if points <= inside and not null else 1


def reconstruct(
    cells: Sequence[Sequence[int]],
    shares: Sequence[Sequence[Sequence[float]]],
    groups: Sequence[int] | None,
    offsets: Sequence[int],
    values: Sequence[int],
    counts: Sequence[int],
    n_values: int,
    parent: Sequence[int],
    attribute: Sequence[int],
    predicate: Sequence[int],
    start: int,
    stop: int,
) -> list[list[Fraction]]:
    """Estimated counts of sensitive values: boxes weigh the product of their shares."""
    estimates = []
    for i in range(start, stop):
        pairs = []
        while i >= 0:
            pairs.append((int(attribute[i]), int(predicate[i])))
            i = int(parent[i])
        estimate = [Fraction(0)] * n_values
        for box in range(len(cells[0])):
            weight = Fraction(1)
            for a, p in pairs:
                weight *= Fraction(float(shares[a][p][int(cells[a][box])]))
            group = box if groups is None else int(groups[box])
            listed = range(int(offsets[group]), int(offsets[group + 1]))
            size = 1 if groups is None else sum(int(counts[e]) for e in listed)
            for e in listed:
                estimate[int(values[e])] += weight * int(counts[e]) / size
        estimates.append(estimate)
    return estimates


def _holds(predicates: Sequence[tuple[Sequence[int], ...]], query: Sequence[int]) -> list[set[int] | None]:
    """The codes that a query allows per column, None for any."""
    allowed: list[set[int] | None] = []
    for (offsets, first, last), p in zip(predicates, query, strict=True):
        runs = range(int(offsets[p]), int(offsets[p + 1])) if p >= 0 else range(0)
        codes = {code for run in runs for code in range(int(first[run]), int(last[run]) + 1)}
        allowed.append(codes if p >= 0 else None)
    return allowed


def _meets(columns: Sequence[Sequence[int]], row: int, allowed: Sequence[set[int] | None]) -> bool:
    return all(
        codes is None or int(column[row]) in codes for column, codes in zip(columns, allowed, strict=True)
    )


def count(
    columns: Sequence[Sequence[int]],
    predicates: Sequence[tuple[Sequence[int], ...]],
    queries: Sequence[Sequence[int]],
) -> list[int]:
    """Rows that meet each query."""
    return [
        sum(_meets(columns, row, _holds(predicates, query)) for row in range(len(columns[0])))
        for query in queries
    ]


def count_buckets(
    columns: Sequence[Sequence[int]],
    predicates: Sequence[tuple[Sequence[int], ...]],
    queries: Sequence[Sequence[int]],
    groups: Sequence[int],
    offsets: Sequence[int],
    values: Sequence[int],
    counts: Sequence[int],
    asked: Sequence[Sequence[bool]],
    asks: Sequence[int],
) -> list[tuple[Fraction, int, int]]:
    """Per query the sums over buckets of q c / |b|, max(0, q + c - |b|) and min(q, c)."""
    answers = []
    for query, chosen in zip(queries, asks, strict=True):
        allowed = _holds(predicates, query)
        estimate, least, most = Fraction(0), 0, 0
        for bucket in range(len(offsets) - 1):
            entries = range(int(offsets[bucket]), int(offsets[bucket + 1]))
            size = sum(int(counts[e]) for e in entries)
            c = sum(int(counts[e]) for e in entries if asked[chosen][int(values[e])])
            rows = [row for row in range(len(groups)) if int(groups[row]) == bucket]
            q = sum(_meets(columns, row, allowed) for row in rows)
            estimate += Fraction(q * c, size)
            least += max(0, q + c - size)
            most += min(q, c)
        answers.append((estimate, least, most))
    return answers


def estimate(
    cells: Sequence[Sequence[int]],
    shares: Sequence[Sequence[Sequence[float]]],
    kinds: Sequence[Sequence[Sequence[int]]],
    queries: Sequence[Sequence[int]],
    offsets: Sequence[int],
    values: Sequence[int],
    counts: Sequence[int],
    asked: Sequence[Sequence[bool]],
    asks: Sequence[int],
) -> list[tuple[Fraction, int, int]]:
    """Per query the rows of asked values: weighed by their class's shares, surely, and possibly inside."""
    answers = []
    for query, chosen in zip(queries, asks, strict=True):
        total, least, most = Fraction(0), 0, 0
        for box in range(len(offsets) - 1):
            entries = range(int(offsets[box]), int(offsets[box + 1]))
            rows = sum(int(counts[e]) for e in entries if asked[chosen][int(values[e])])
            cell = [(a, int(p), int(cells[a][box])) for a, p in enumerate(query) if p >= 0]
            weight = Fraction(1)
            for a, p, i in cell:
                weight *= Fraction(float(shares[a][p][i]))
            total += weight * rows
            least += rows * all(kinds[a][p][i] == 2 for a, p, i in cell)
            most += rows * all(kinds[a][p][i] > 0 for a, p, i in cell)
        answers.append((total, least, most))
    return answers
