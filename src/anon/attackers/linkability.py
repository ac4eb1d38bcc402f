# SPDX-License-Identifier: Apache-2.0
"""Linkability: do two parts of what is known of a person lead to one row of the release?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from anon.attackers.nearest import People, nearest_rows
from anon.attackers.result import Attack, Bools, tried, worst_of
from anon.attackers.seen import Column, Ints, Seen
from anon.errors import UsageError

NEUTRAL = "neutral columns known"


@dataclass(frozen=True)
class Linkability:
    """One who knows some quasi-identifiers of a person from one source, and others from another.

    For the list `first` and for the list `second` (default: the quasi-identifiers in turn, and these and the
    columns published as they are) the nearest `n_neighbors` rows of the release are sought by Gower's
    distance to cells, rows equally near in a random order. The attack succeeds if the two share a row.
    """

    first: Sequence[str] = ()
    second: Sequence[str] = ()
    n_neighbors: int = 1

    name = "linkability"

    def run(self, seen: Seen, people: People, asked: int, seed: int, confidence: float) -> Attack | str:
        """The attack, or why it cannot be tried."""
        if self.first or self.second:
            sides = [self._side(seen, names) for names in (self.first, self.second)]
            return self._tried(seen, sides, people, seed, confidence)
        if len(seen.quasi) < 2:
            return "linkability needs two lists of columns, and there is one quasi-identifier"
        parts = {}
        for known, columns in (("quasi-identifiers", seen.quasi), (NEUTRAL, (*seen.quasi, *seen.neutral))):
            if known != NEUTRAL or seen.neutral:
                sides = [list(columns[0::2]), list(columns[1::2])]
                parts[known] = self._tried(seen, sides, people, seed, confidence)
        return worst_of(self.name, parts)

    def _tried(
        self,
        seen: Seen,
        sides: Sequence[Sequence[Column]],
        people: People,
        seed: int,
        confidence: float,
    ) -> Attack:
        rng = np.random.default_rng([seed, 1])
        found = []
        for columns in sides:
            salts = rng.integers(0, 2**64, len(people), np.uint64)
            found.append(nearest_rows(seen, seen.boxes(columns), people, salts, self.n_neighbors))
        linked = _share(*found)
        n = len(people.targets)
        shape = n, min(self.n_neighbors, seen.n_released)
        at_random = [rng.integers(0, seen.n_released, shape) for _ in sides]
        return tried(
            self.name,
            linked[:n],
            linked[n:] if seen.n_control else None,
            _share(*at_random),
            confidence,
            lists=[[one.cells.domain.name for one in columns] for columns in sides],
        )

    def _side(self, seen: Seen, names: Sequence[str]) -> list[Column]:
        """The columns of one list, none of which is in the other."""
        known = {column.cells.domain.name: column for column in (*seen.quasi, *seen.neutral)}
        if not names or {*self.first} & {*self.second}:
            raise UsageError("linkability takes two lists of columns that share none")
        for name in names:
            if name not in known:
                raise UsageError(f"linkability: nobody knows column {name!r}; choose of {', '.join(known)}")
        return [known[name] for name in names]


def _share(first: Ints, second: Ints) -> Bools:
    """Do two sets of rows share one, person by person?"""
    same: Bools = ((first[:, :, None] == second[:, None, :]) & (first[:, :, None] >= 0)).any(axis=(1, 2))
    return same
