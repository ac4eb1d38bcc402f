# SPDX-License-Identifier: Apache-2.0
"""Singling out: does a condition that one released row meets hold for exactly one person?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import numpy.typing as npt

from anon.attackers.nearest import People
from anon.attackers.rates import Rate, wilson
from anon.attackers.result import Attack, tried, worst_of
from anon.attackers.seen import Column, Ints, Seen
from anon.classes import Cells, and_ranges, group, population_counts

MOST_SETS = 24  # of attributes, from whose cells conditions are made
CODES = npt.NDArray[np.uint32]


@dataclass(frozen=True)
class SinglingOut:
    """One who writes conditions from the release alone, each of which one released row meets.

    Univariate: a cell that one row shows, or a bound beyond which one row lies. Multivariate: the cells of a
    row in `attributes` columns (in 2 or more, up to all). It succeeds if exactly one person of the original
    meets the condition. In a control table smaller than the original as many conditions hold for one person
    as would in one of its size: see `scaled`.
    """

    attributes: int | None = None

    name = "singling out"

    def run(self, seen: Seen, people: People, asked: int, seed: int, confidence: float) -> Attack | str:
        """The attack, of at most `asked` conditions of each kind."""
        rng = np.random.default_rng([seed, 4])
        parts = {}
        for name, made, by_luck in (
            ("univariate", _univariate(seen, asked, rng), _values(seen, asked, rng)),
            ("multivariate", *self._multivariate(seen, asked, rng)),
        ):
            parts[name] = self._tried(seen, name, made, by_luck, confidence)
        return worst_of(self.name, parts)

    def _tried(
        self, seen: Seen, name: str, made: Sequence[Cells], by_luck: Sequence[Cells], confidence: float
    ) -> Attack:
        sides = [[column.original for column in seen.quasi], [column.control for column in seen.quasi]]
        n_made = len(made[0].of_class)
        hit = population_counts(made, sides[0], seen.n_threads) == 1
        lucky = population_counts(by_luck, sides[0], seen.n_threads) == 1 if n_made else np.zeros(0, np.bool_)
        others: Rate | None = None
        if seen.n_control:
            counts = population_counts(made, sides[1], seen.n_threads)
            others = scaled(counts, seen.n_control, seen.n_original, confidence)
        return tried(name, hit, others, lucky, confidence, conditions=n_made)

    def _multivariate(
        self, seen: Seen, n: int, rng: np.random.Generator
    ) -> tuple[Sequence[Cells], Sequence[Cells]]:
        """Conditions that one row meets, and as many of cells that are drawn one by one."""
        m = len(seen.quasi)
        sizes = range(2, m + 1) if self.attributes is None else [min(self.attributes, m)]
        sets = [each for size in sizes for each in combinations(range(m), size)] or [tuple(range(m))]
        if len(sets) > MOST_SETS:
            all_of_them = sets[-1]
            sets = [sets[i] for i in np.sort(rng.choice(len(sets) - 1, MOST_SETS - 1, replace=False))]
            sets.append(all_of_them)
        each = -(-n // len(sets))
        rows, chosen = [np.empty(0, np.int64)], []
        for columns in sets:
            alone = group([seen.quasi[a].cells.of_class for a in columns], n_threads=seen.n_threads)
            unique = alone.rows[alone.offsets[:-1][alone.sizes == 1]].astype(np.int64)
            some = np.sort(rng.choice(unique, min(each, len(unique)), replace=False))
            rows.append(some)
            chosen += [columns] * len(some)
        drawn = np.concatenate(rows)
        kept = np.sort(rng.permutation(len(drawn))[:n])
        asked = np.zeros((m, len(kept)), np.bool_)
        for i, at in enumerate(kept.tolist()):
            asked[list(chosen[at]), i] = True
        made, lucky = [], []
        for column, is_asked in zip(seen.quasi, asked, strict=True):
            shown = column.cells.of_class
            made.append(_with_any(column, shown[drawn[kept]], is_asked))
            lucky.append(_with_any(column, shown[rng.integers(0, seen.n_released, len(kept))], is_asked))
        return made, lucky


def _univariate(seen: Seen, n: int, rng: np.random.Generator) -> Sequence[Cells]:
    """A condition for every cell that one row shows, and for every bound that one row lies beyond."""
    found: list[tuple[int, int, int]] = []  # column, and cell, or bounds beyond the cells
    extra: list[list[tuple[int, int]]] = []
    for a, column in enumerate(seen.quasi):
        cells = column.cells
        times = np.bincount(cells.of_class, minlength=len(cells.low))
        found += [(a, cell, 0) for cell in np.flatnonzero(times == 1).tolist()]
        bounds = []
        used = np.flatnonzero((times > 0) & (cells.low <= cells.high))
        if cells.domain.positions is not None and len(used):
            top, bottom = int(cells.low[used].max()), int(cells.high[used].min())
            if times[used][cells.low[used] >= top].sum() == 1:
                bounds.append((top, cells.domain.n_values - 1))
            if times[used][cells.high[used] <= bottom].sum() == 1:
                bounds.append((0, bottom))
        found += [(a, -1, i) for i in range(len(bounds))]
        extra.append(bounds)
    if len(found) > n:
        found = [found[i] for i in np.sort(rng.choice(len(found), n, replace=False))]
    conditions = []
    for a, column in enumerate(seen.quasi):
        low, high = np.array(extra[a], np.uint32).reshape(-1, 2).T
        wider = and_ranges(column.cells, low, high, np.zeros(len(low), np.bool_))
        first = len(column.cells.low)
        which = [(first + i if cell < 0 else cell) if b == a else 0 for b, cell, i in found]
        asked = np.array([b == a for b, _, _ in found], np.bool_)
        conditions.append(_with_any(replace(column, cells=wider), np.array(which, np.uint32), asked))
    return conditions


def _values(seen: Seen, n: int, rng: np.random.Generator) -> Sequence[Cells]:
    """As many conditions on one column each, whose value is drawn from all there are."""
    of_column = rng.integers(0, len(seen.quasi), n)
    conditions = []
    for a, column in enumerate(seen.quasi):
        domain = column.cells.domain
        code = rng.integers(0, max(domain.n_values, 1), n).astype(np.uint32)
        values = np.arange(max(domain.n_values, 1), dtype=np.uint32)
        offsets = None if column.cells.set_offsets is None else np.arange(len(values) + 1)
        sets = None if offsets is None else values
        single = Cells(domain, code, values, values, np.zeros(len(values), np.bool_), offsets, sets)
        conditions.append(_with_any(replace(column, cells=single), code, of_column == a))
    return conditions


def _with_any(column: Column, cell: CODES, asked: npt.NDArray[np.bool_]) -> Cells:
    """Of each condition a cell of this column, or one that holds everything, where nothing is asked of it."""
    cells, domain = column.cells, column.cells.domain
    last = max(domain.n_values, 1) - 1
    wider = and_ranges(cells, np.array([0]), np.array([last]), np.array([domain.has_null]))
    of_class = np.where(asked, cell, len(cells.low)).astype(np.uint32)
    return replace(wider, of_class=of_class, shown_as=(), level=None, blank=None)


def scaled(counts: Ints, n_control: int, n_original: int, confidence: float) -> Rate:
    """The rate of conditions that would hold for exactly one person of a control table as large as the
    original, from how many of a smaller one meet each.

    The numbers of people that conditions hold for are taken as negative binomial, with the shares of 0 and of
    1 that were counted: with mean a/b in the table that there is, nobody meets (1 + 1/b)^-a of them, and one
    person a/(1 + b) times as many. In a table t times as large it is a·t/(b + t)·(b/(b + t))^a for one. Where
    the tables have one size the rate is what was counted.
    """
    n = len(counts)
    if n == 0 or n_control == n_original:
        return wilson(int(np.count_nonzero(counts == 1)), n, confidence)
    none, one = (float(np.mean(counts == times)) for times in (0, 1))
    times = n_original / n_control
    return wilson(round(n * _one_of(none, one, times)), n, confidence)


def _one_of(none: float, one: float, times: float) -> float:
    if one == 0:
        return 0.0
    if none == 0:
        return one
    ratio = -math.log(none) * none / one  # (1 + b)·ln(1 + 1/b), which falls to 1
    if ratio <= 1 + 1e-9:
        mean = -math.log(none)
        return times * mean * math.exp(-times * mean)
    low, high = -60.0, 60.0
    for _ in range(200):
        middle = (low + high) / 2
        b = math.exp(middle)
        low, high = (middle, high) if (1 + b) * math.log1p(1 / b) > ratio else (low, middle)
    b = math.exp(low)
    a = one / none * (1 + b)
    return min(a * times / (b + times) * math.exp(-a * math.log1p(times / b)), 1.0)
