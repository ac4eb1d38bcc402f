# SPDX-License-Identifier: Apache-2.0
"""What a scenario asks: sanitizations, good uses and bad ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from anon.errors import UsageError, did_you_mean
from anon.methods import Method
from anon.miners import CATEGORY_MINERS, NUMBER_MINERS, Miner
from anon.requirements import Requirement, check_list
from anon.scenarios.interest import ERRORS, Accuracy, ErrorFunction, Weight

PRESETS: dict[str, dict[str, Any]] = {
    "A": {"nearness": 0.0, "chosen": None},
    "B": {"nearness": 100.0, "chosen": None},
    "C": {"nearness": 0.0, "chosen": 0.05},
}
"""The scenarios of Sramka et al. 4.4: all rows, any nearer prediction; all, exact; a chosen 5 %, nearer."""
USERS = ("naive Bayes", "C4.5-like tree", "random forest")  # of Sramka et al. 4.3
USERS_OF_NUMBERS = ("linear regression", "regression tree", "random forest")
OPTIONS = ("numeric", "missing", "on_infeasible", "suppress", "time_limit", "seed")


@dataclass(frozen=True)
class Sanitization:
    """One way to sanitize the table, with a name: a method with its requirements, or a table.

    A `table` is one that was sanitized elsewhere, its row i that of row i of the original. One that has a
    neutral column of the original in another order is refused; of a sensitive column it is a warning.
    `options` are further arguments of `anonymize`: numeric, missing, on_infeasible and seed.
    """

    name: str
    method: Method | None = None
    require: Sequence[Requirement] = ()
    table: Any = field(default=None, repr=False)
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_list(self.require)
        if not isinstance(self.name, str) or not self.name:
            raise UsageError("a sanitization needs a name")
        if self.table is not None and (self.method is not None or self.require or self.options):
            raise UsageError(f"sanitization {self.name!r}: give a table or a method, not both")
        if self.method is not None:
            try:
                self.method.check_published("generalization", "interval")
            except UsageError:
                raise UsageError(
                    f"sanitization {self.name!r}: a bucketization does not tell the sensitive value of a row"
                ) from None
        unknown = [name for name in self.options if name not in OPTIONS]
        if unknown:
            raise UsageError(
                f"sanitization {self.name!r}: {unknown[0]} is none of the options {', '.join(OPTIONS)}"
            )


@dataclass(frozen=True)
class GoodUtility:
    """What users want: predictions of `target` by miners, worth `error`, in rows of `weight`.

    `target` is predicted from all other published columns, by cross-validation. `miners` are Miners or
    names of the reference set; None: naive Bayes, a C4.5-like tree and a random forest, or for numbers
    linear regression, a regression tree and a random forest. `error` is `Accuracy()`, `AbsoluteError()`,
    `NoFalseNegatives()`, `CostMatrix(...)`, the name of one, or a function of (predicted, true). `weight`
    is as for `anon.scenarios.interest.weights`.
    """

    target: str
    miners: Sequence[str | Miner] | None = None
    error: ErrorFunction | str = field(default_factory=Accuracy)
    weight: Weight = None

    def __post_init__(self) -> None:
        error = self.error
        if isinstance(error, str):
            if error not in ERRORS or error == "cost-matrix":
                named = ", ".join(name for name in ERRORS if name != "cost-matrix")
                raise UsageError(f"the error functions known by name are {named}; or give CostMatrix(...)")
            object.__setattr__(self, "error", ERRORS[error]())
        elif not (isinstance(error, tuple(ERRORS.values())) or callable(error)):
            raise UsageError("error must be an error function, or the name of one")
        _check_miners(self.miners)


@dataclass(frozen=True)
class BadUtility:
    """What an adversary wants: predictions of `target` that are nearer to the truth than what is shown.

    `nearness` is c of "c %-nearer", from 0 (nearer at all) to 100 (exact). `distance` is a function of the
    lower and the upper end of what is shown and of the true number; None: |difference| of numbers, the
    length of intervals, NCP of labels. `weight` as for `GoodUtility`; `chosen` is a share of rows drawn by
    the seed, all others weigh 0. Where numbers are published `number_miners` predict, elsewhere
    `miners`; None: the whole reference set. The adversary of the paper trains on the very release it attacks;
    with `cross_fit` no row is predicted by a miner that saw it.
    """

    target: str
    miners: Sequence[str | Miner] | None = None
    number_miners: Sequence[str | Miner] | None = None
    distance: Callable[[float, float, float], float] | None = None
    nearness: float = 0.0
    weight: Weight = None
    chosen: float | None = None
    cross_fit: bool = False
    name: str = ""

    def __post_init__(self) -> None:
        nearness = self.nearness
        if isinstance(nearness, bool) or not isinstance(nearness, int | float) or not 0 <= nearness <= 100:
            raise UsageError("nearness must be a number from 0 to 100")
        if self.chosen is not None and not 0 < self.chosen <= 1:
            raise UsageError("chosen must be a share of the rows above 0, at most 1")
        if self.distance is not None and not callable(self.distance):
            raise UsageError("distance must be a function of (lower, upper, true)")
        if not isinstance(self.cross_fit, bool):
            raise UsageError("cross_fit must be True or False")
        _check_miners(self.miners)
        _check_miners(self.number_miners)
        if not self.name:
            rows = "all" if self.chosen is None else f"{self.chosen:.3g} of all"
            kind = {0.0: "nearer", 100.0: "exact"}.get(float(nearness), f"{nearness:g} %-nearer")
            object.__setattr__(self, "name", f"{kind}, {rows} rows")

    @classmethod
    def preset(cls, name: str, target: str, **parameters: Any) -> BadUtility:
        """Scenario "A", "B" or "C" of Sramka et al. 4.4 for a target; further parameters replace its own."""
        if name not in PRESETS:
            raise UsageError(f"the presets are {', '.join(PRESETS)}, not {name!r}")
        return cls(target, **{"name": name, **PRESETS[name], **parameters})


def _check_miners(miners: Any) -> None:
    if miners is None:
        return
    if isinstance(miners, str) or not isinstance(miners, Sequence) or not miners:
        raise UsageError("miners must be a list of miners or of their names")
    names = [miner.name if isinstance(miner, Miner) else miner for miner in miners]
    known = {miner.name for miner in (*CATEGORY_MINERS, *NUMBER_MINERS)}
    for miner in miners:
        if not isinstance(miner, Miner) and miner not in known:
            hint = did_you_mean(str(miner), sorted(known))
            raise UsageError(f"no miner is called {miner!r}; {hint}there are {', '.join(sorted(known))}")
    if len(set(names)) < len(names):
        raise UsageError("every miner needs a name of its own")
