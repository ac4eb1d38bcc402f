# SPDX-License-Identifier: Apache-2.0
"""Scenarios: what users and adversaries gain from sanitized tables by mining them (Sramka et al. 2010).

A good utility is what miners tell of the original's `target` from a table, a bad utility how much nearer
their predictions come to the original than the table itself. Both are sums over rows of the original;
a row that is not published, or whose true value is missing, adds nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from anon.errors import UsageError
from anon.methods import Progress
from anon.scenarios.asked import BadUtility, GoodUtility
from anon.scenarios.attack import attack
from anon.scenarios.preservation import preservation
from anon.scenarios.result import Attack, Preservation, ScenarioResult
from anon.scenarios.run import Run
from anon.scenarios.views import named_release
from anon.schema import Schema, check_schema
from anon.threads import available_threads


@dataclass(frozen=True, repr=False)
class Scenario:
    """Sanitizations of a table, compared by what users and adversaries gain from them.

    Parameters
    ----------
    table, schema : as for `anonymize`
    sanitizations : list of Sanitization, of methods that require nothing, and of tables
        A table has the rows of the original in their order.
    good : GoodUtility or list of them
    bad : BadUtility or list of them
    n_folds, seed
        Folds of cross-validation and cross-fitting; what folds, chosen rows and miners' draws are fixed by.
    """

    table: Any
    schema: Schema
    sanitizations: Sequence[Any]
    good: GoodUtility | Sequence[GoodUtility] = ()
    bad: BadUtility | Sequence[BadUtility] = ()
    n_folds: int = 10
    seed: int = 0

    def __post_init__(self) -> None:
        good = (self.good,) if isinstance(self.good, GoodUtility) else tuple(self.good)
        bad = (self.bad,) if isinstance(self.bad, BadUtility) else tuple(self.bad)
        if not (good or bad):
            raise UsageError("a scenario needs a good utility, a bad one, or both")
        if not all(isinstance(each, GoodUtility) for each in good) or not all(
            isinstance(each, BadUtility) for each in bad
        ):
            raise UsageError("good takes anon.GoodUtility, bad takes anon.BadUtility, or a list of them")
        check_schema(self.schema)
        if isinstance(self.sanitizations, str) or not isinstance(self.sanitizations, Sequence):
            raise UsageError("sanitizations must be a list")
        sanitizations = tuple(named_release(i, each) for i, each in enumerate(self.sanitizations))
        names = [each.name for each in sanitizations]
        if not names:
            raise UsageError("a scenario needs at least one sanitization")
        if len(set(names)) < len(names):
            raise UsageError("every sanitization needs a name of its own")
        object.__setattr__(self, "sanitizations", sanitizations)
        object.__setattr__(self, "good", good)
        object.__setattr__(self, "bad", bad)

    def run(self, *, n_threads: int | None = None, progress: Progress | None = None) -> ScenarioResult:
        """Sanitize, mine and measure; `progress` is told the folds done, by table and miner.

        The answer depends neither on the number of threads nor on the order of the rows, except where a
        miner's time is spent, and where noise is drawn.
        """
        assert isinstance(self.good, tuple)
        assert isinstance(self.bad, tuple)
        targets = [each.target for each in (*self.good, *self.bad)]
        threads = available_threads(n_threads)
        run = Run(self.table, self.schema, targets, self.n_folds, self.seed, threads, progress)
        good: list[list[Preservation]] = [[] for _ in self.good]
        bad: list[list[Attack]] = [[] for _ in self.bad]
        for sanitization in self.sanitizations:
            view = run.sanitized(sanitization)
            for kept, utility in zip(good, self.good, strict=True):
                kept.append(preservation(run, view, utility))
            for lost, threat in zip(bad, self.bad, strict=True):
                lost.append(attack(run, view, threat))
        return ScenarioResult(
            tuple(each for kept in good for each in kept),
            tuple(each for lost in bad for each in lost),
            run.left_out,
            tuple(run.warnings),
        )

    def __repr__(self) -> str:
        return f"Scenario({len(self.sanitizations)} sanitizations)"
