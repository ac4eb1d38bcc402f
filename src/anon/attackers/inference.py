# SPDX-License-Identifier: Apache-2.0
"""Inference: is a person's secret guessed from the release?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from anon.attackers.nearest import People, guesses
from anon.attackers.result import Attack, Bools, tried, worst_of
from anon.attackers.seen import Column, Floats, Ints, Secret, Seen
from anon.classes import Cells, and_ranges, single_cells
from anon.encoding import Codes, Domain
from anon.errors import UsageError
from anon.miners import CATEGORY_MINERS, NUMBER_MINERS, Miner, features, fitted_predict

MINERS = ("naive Bayes", "C4.5-like tree", "random forest", "regression tree")
MOST_ROWS = 20_000  # that a miner is fitted on
MOST_LABELS = 256  # of a secret that miners learn
MAJORITY = "majority of the nearest"


@dataclass(frozen=True)
class Inference:
    """One who knows all quasi-identifiers of a person, with and without the columns published as they are.

    The secret is guessed as the most frequent sensitive value of the nearest classes, all at the least
    distance (ties: the least code), and by `miners` of the scenarios, fitted on the release. A guess is right
    if it equals the truth, or, of a number, if it lies within `tolerance` times it. `sensitive` are the
    secrets that are guessed (all).
    """

    sensitive: Sequence[str] | None = None
    miners: Sequence[str | Miner] = MINERS
    tolerance: float = 0.05

    name = "inference"

    def run(self, seen: Seen, people: People, asked: int, seed: int, confidence: float) -> Attack | str:
        """The attack, or why it cannot be tried."""
        known = {secret.domain.name: secret for secret in seen.secrets}
        chosen = known if self.sensitive is None else self.sensitive
        for name in chosen:
            if name not in known:
                raise UsageError(f"inference: the release shows no sensitive attribute {name!r}")
        if not known:
            return "inference needs a sensitive attribute that the release shows"
        by_sensitive = {}
        for name in chosen:
            parts = dict(self._tried(seen, known[name], people, seed, confidence))
            by_sensitive[name] = worst_of(name, parts)
        return worst_of(self.name, by_sensitive)

    def _tried(
        self, seen: Seen, secret: Secret, people: People, seed: int, confidence: float
    ) -> Iterator[tuple[str, Attack]]:
        """Every attacker of one secret, by what it does."""
        truth = np.concatenate([secret.original[people.targets], secret.control[people.control]]).astype(
            np.int64
        )
        n = len(people.targets)
        most = int(np.argmax(secret.margin))
        naive = self._right(secret.domain, np.full(n, most), truth[:n])

        def attack(right: Bools) -> Attack:
            against = right[n:] if seen.n_control else None
            return tried(secret.domain.name, right[:n], against, naive, confidence)

        for also, columns in (("", seen.quasi), (", neutral columns known", (*seen.quasi, *seen.neutral))):
            if also and not seen.neutral:
                continue
            guess = guesses(seen, seen.boxes(columns, by_bucket=True), secret, people)
            yield MAJORITY + also, attack(self._right(secret.domain, guess, truth))
            miners = self._miners(secret)
            if secret.of_row is None or not miners:
                continue
            rng = np.random.default_rng([seed, 3])
            rows = np.arange(seen.n_released)
            if len(rows) > MOST_ROWS:
                rows = np.sort(rng.choice(rows, MOST_ROWS, replace=False))
            X = features(
                [_joined(one, rows, codes) for one, codes in zip(columns, people.codes(columns), strict=True)]
            )
            y: npt.NDArray[Any] = secret.of_row[rows].astype(np.int64)
            numbers = _numbers(secret.domain)
            if numbers is not None:
                has_value = y < len(numbers)
                X = np.concatenate([X[: len(rows)][has_value], X[len(rows) :]])
                rows, y = rows[has_value], numbers[y[has_value]]
            if not len(rows):
                continue
            predicted = fitted_predict(miners, X[: len(rows)], y, X[len(rows) :], seed, seen.n_threads)
            for miner, values in zip(miners, predicted, strict=True):
                yield miner.name + also, attack(self._right(secret.domain, values, truth))

    def _miners(self, secret: Secret) -> list[Miner]:
        """The miners that can learn this secret."""
        of_numbers = _numbers(secret.domain) is not None
        reference = {miner.name: miner for miner in (NUMBER_MINERS if of_numbers else CATEGORY_MINERS)}
        known = {miner.name for miner in (*CATEGORY_MINERS, *NUMBER_MINERS)}
        for miner in self.miners:
            if not isinstance(miner, Miner) and miner not in known:
                raise UsageError(f"there is no miner {miner!r}; there are {', '.join(sorted(known))}")
        if not of_numbers and secret.domain.n_codes > MOST_LABELS:
            return []
        named = [
            miner if isinstance(miner, Miner) else reference[miner]
            for miner in self.miners
            if isinstance(miner, Miner) or miner in reference
        ]
        return list({miner.name: miner for miner in named}.values())

    def _right(self, domain: Domain, guess: npt.NDArray[Any], truth: Ints) -> Bools:
        """Which guesses, codes of the domain or numbers, are right."""
        numbers = _numbers(domain)
        if numbers is None:
            return np.asarray(guess == truth, np.bool_)
        true = np.append(numbers, np.nan)[np.minimum(truth, len(numbers))]
        if guess.dtype.kind == "f":
            said = guess
            right = np.zeros(len(guess), np.bool_)
        else:
            said = np.append(numbers, np.nan)[np.minimum(guess, len(numbers))]
            right = guess == truth
        return np.asarray(right | (np.abs(said - true) <= self.tolerance * np.abs(true)), np.bool_)


def _numbers(domain: Domain) -> Floats | None:
    """The values of a domain of numbers; None of dates, times and labels."""
    if domain.kind != "numeric" or pa.types.is_temporal(domain.values.type):
        return None
    return np.asarray(domain.values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), np.float64)


def _joined(column: Column, rows: Ints, codes: Codes) -> Cells:
    """What these released rows show, and then single values, as one column of cells."""
    shown, single = column.cells, single_cells(column.cells.domain)
    of_class = np.concatenate([shown.of_class[rows], len(shown.low) + codes]).astype(np.uint32)
    both = and_ranges(shown, single.low, single.high, single.null)
    domain = replace(shown.domain, levels=None)
    return replace(both, domain=domain, of_class=of_class, shown_as=(), level=None, blank=None)
