# SPDX-License-Identifier: Apache-2.0
"""Scenarios: what users and adversaries gain from sanitized tables by mining them (Sramka et al. 2010).

A good utility is what miners tell of the original's `target` from a table, a bad utility how much nearer
their predictions come to the original than the table itself. Both are sums over rows of the original;
a row that is not published, or whose true value is missing, adds nothing.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from anon.anonymize import PrivacyWarning, anonymize
from anon.check import metadata_of
from anon.classes import Cells, at_rows, group
from anon.compare import cells_of_rows
from anon.encode import Codes, Domain, available_threads, coded_columns, encode, narrowed
from anon.errors import DataError, UsageError, did_you_mean
from anon.files import not_written, opened, replacing
from anon.interest import (
    ERRORS,
    Accuracy,
    ErrorFunction,
    Floats,
    Ints,
    Weight,
    applied,
    distances,
    ends_of,
    nearer,
    of_labels,
    of_numbers,
    on_lattice,
    single_values,
    values_of,
    weights,
)
from anon.methods import ENFORCING, GROWING, TRIVIAL, Anatomy, Method, Progress
from anon.miners import (
    CATEGORY_MINERS,
    NUMBER_MINERS,
    Miner,
    cells_of_values,
    cross_predict,
    features,
    folds,
    numbers,
    shown,
)
from anon.plain import as_plain
from anon.privacy import measure
from anon.read import Source, read_source, read_table
from anon.release import Release
from anon.requirements import Requirement, check_list
from anon.schema import Attribute, Role, Schema, check_names, is_measurable, value_type

if TYPE_CHECKING:
    from anon.report import Section

Bools = npt.NDArray[np.bool_]

PRESETS: dict[str, dict[str, Any]] = {
    "A": {"nearness": 0.0, "chosen": None},
    "B": {"nearness": 100.0, "chosen": None},
    "C": {"nearness": 0.0, "chosen": 0.05},
}
"""The scenarios of Sramka et al. 4.4: all rows, any nearer prediction; all, exact; a chosen 5 %, nearer."""
USERS = ("naive Bayes", "C4.5-like tree", "random forest")  # of Sramka et al. 4.3
USERS_OF_NUMBERS = ("linear regression", "regression tree", "random forest")
OPTIONS = ("numeric", "missing", "on_infeasible", "seed")


# --- parameters


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
        if isinstance(self.method, Anatomy):
            raise UsageError(
                f"sanitization {self.name!r}: a bucketization does not tell the sensitive value of a row"
            )
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
    is as for `anon.interest.weights`.
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


# --- results


@dataclass(frozen=True)
class Decline:
    """One miner's utility on the original and on a sanitized table.

    `decline` = 1 - u_san/u_orig, at least 0; None where u_orig <= 0, or the miner's time was spent before
    it had predicted all rows of a table. `limits` tells what kept it from all rows or folds.
    """

    miner: str
    family: str
    u_orig: float
    u_san: float
    finished: bool = True
    limits: tuple[str, ...] = ()

    @property
    def decline(self) -> float | None:
        """How much of the utility is lost (Sramka et al. 2.3)."""
        if self.u_orig <= 0 or not self.finished:
            return None
        return max(1 - self.u_san / self.u_orig, 0.0)


@dataclass(frozen=True)
class Preservation:
    """Good utility of one sanitized table: (1 - delta, L)-utility-preserving, L being `by_miner`."""

    sanitization: str
    target: str
    by_miner: tuple[Decline, ...]

    @property
    def delta(self) -> float | None:
        """The greatest decline; None where that of no miner is defined."""
        return max((one.decline for one in self.by_miner if one.decline is not None), default=None)

    @property
    def worst_miner(self) -> str | None:
        """The miner whose utility declines most; the first of several."""
        return next((one.miner for one in self.by_miner if one.decline == self.delta is not None), None)

    @property
    def statement(self) -> str:
        """The (1 - delta, L) statement in words."""
        counted = [one.miner for one in self.by_miner if one.decline is not None]
        left_out = [one.miner for one in self.by_miner if one.decline is None]
        without = f"; undefined for {', '.join(left_out)}" if left_out else ""
        if self.delta is None:
            return f"{self.sanitization}: the decline of utility for {self.target!r} is undefined{without}"
        return (
            f"{self.sanitization} is ({1 - self.delta:.2%}, L)-utility-preserving for {self.target!r}, "
            f"L = {{{', '.join(counted)}}}: the utility of none of these miners declines by more than "
            f"{self.delta:.2%}{without}"
        )


@dataclass(frozen=True)
class Antiutility:
    """One miner's bad utility, and how many of its predictions (of any weight) are nearer."""

    miner: str
    family: str
    u_bad: float
    n_nearer: int
    limits: tuple[str, ...] = ()


@dataclass(frozen=True, repr=False)
class Attack:
    """Bad utility of one sanitized table: (average, worst, worst_miner)-privacy-losing.

    `a_know` and `a_acc` are the gains of Brickell & Shmatikov on the table, the worst over sensitive
    attributes, `a_know_filled` and `a_acc_filled` those on the table with the nearer predictions of the
    worst miner filled in (Sramka et al. 3); None where the table shows noise, something else than single
    sensitive values, or no sensitive attribute beside the target. `chosen` are the rows of the original
    that the adversary is after (uint32, ascending), None for all.
    """

    sanitization: str
    target: str
    scenario: str
    nearness: float
    by_miner: tuple[Antiutility, ...]
    chosen: npt.NDArray[np.uint32] | None = None
    a_know: float | None = None
    a_acc: float | None = None
    a_know_filled: float | None = None
    a_acc_filled: float | None = None

    @property
    def average(self) -> float:
        """Mean bad utility over the miners; 0 where the target is not published."""
        return math.fsum(one.u_bad for one in self.by_miner) / max(len(self.by_miner), 1)

    @property
    def worst(self) -> float:
        """The greatest bad utility of a miner."""
        return max((one.u_bad for one in self.by_miner), default=0.0)

    @property
    def worst_miner(self) -> str | None:
        """The miner that attains it, the first of several; None where none predicts anything nearer."""
        return next((one.miner for one in self.by_miner if one.u_bad == self.worst and one.n_nearer), None)

    @property
    def statement(self) -> str:
        """The privacy-losing statement in words."""
        return (
            f"{self.sanitization} is ({self.average:.1f}, {self.worst:g}, {self.worst_miner or 'no miner'})-"
            f"privacy-losing for {self.target!r} in scenario {self.scenario}"
        )

    def __repr__(self) -> str:
        return (
            f"Attack({self.sanitization!r}, {self.target!r}, {self.scenario!r}, average={self.average}, "
            f"worst={self.worst}, worst_miner={self.worst_miner!r})"
        )


@dataclass(frozen=True, repr=False)
class ScenarioResult:
    """What every sanitization preserves for users and gives away to adversaries.

    `left_out` are the columns that no miner can use, `warnings` what was told of the releases.
    """

    good: tuple[Preservation, ...]
    bad: tuple[Attack, ...]
    left_out: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def tables(self) -> dict[str, pa.Table]:
        """Arrow tables: utility and privacy; declines and antiutility by miner; chosen rows."""
        good, bad = self.good, self.bad
        declines = [(each, one) for each in good for one in each.by_miner]
        attacks = [(each, one) for each in bad for one in each.by_miner]
        text, real, whole = pa.string(), pa.float64(), pa.int64()
        chosen = [(each, each.chosen.tolist()) for each in bad if each.chosen is not None]
        return {
            "utility": _table(
                good,
                ("sanitization", text, lambda each: each.sanitization),
                ("target", text, lambda each: each.target),
                ("delta", real, lambda each: each.delta),
                ("worst_miner", text, lambda each: each.worst_miner),
                ("statement", text, lambda each: each.statement),
            ),
            "declines": _table(
                declines,
                ("sanitization", text, lambda pair: pair[0].sanitization),
                ("target", text, lambda pair: pair[0].target),
                ("miner", text, lambda pair: pair[1].miner),
                ("family", text, lambda pair: pair[1].family),
                ("u_orig", real, lambda pair: pair[1].u_orig),
                ("u_san", real, lambda pair: pair[1].u_san),
                ("decline", real, lambda pair: pair[1].decline),
                ("limits", text, lambda pair: "; ".join(pair[1].limits)),
            ),
            "privacy": _table(
                bad,
                ("sanitization", text, lambda each: each.sanitization),
                ("target", text, lambda each: each.target),
                ("scenario", text, lambda each: each.scenario),
                ("nearness", real, lambda each: each.nearness),
                ("average", real, lambda each: each.average),
                ("worst", real, lambda each: each.worst),
                ("worst_miner", text, lambda each: each.worst_miner),
                *((name, real, lambda each, name=name: getattr(each, name)) for name in _GAINS),
            ),
            "antiutility": _table(
                attacks,
                ("sanitization", text, lambda pair: pair[0].sanitization),
                ("target", text, lambda pair: pair[0].target),
                ("scenario", text, lambda pair: pair[0].scenario),
                ("miner", text, lambda pair: pair[1].miner),
                ("family", text, lambda pair: pair[1].family),
                ("u_bad", real, lambda pair: pair[1].u_bad),
                ("n_nearer", whole, lambda pair: pair[1].n_nearer),
                ("limits", text, lambda pair: "; ".join(pair[1].limits)),
            ),
            "chosen": _table(
                [(each, row) for each, rows in chosen for row in rows],
                ("sanitization", text, lambda pair: pair[0].sanitization),
                ("target", text, lambda pair: pair[0].target),
                ("scenario", text, lambda pair: pair[0].scenario),
                ("row", whole, lambda pair: pair[1]),
            ),
        }

    def shown(self) -> list[tuple[str, tuple[str, ...], tuple[tuple[Any, ...], ...]]]:
        """Title, header and rows of the tables as people read them."""
        return list(_shown(self).values())

    def to_dict(self) -> dict[str, Any]:
        """The tables as lists of rows, ready for JSON; `row` counts from 0."""
        plain: dict[str, Any] = {name: table.to_pylist() for name, table in self.tables().items()}
        return dict(as_plain(plain | {"left_out": self.left_out, "warnings": self.warnings}))

    def write(self, folder: str | os.PathLike[str]) -> None:
        """Write the tables to Parquet files in a folder, all or none; it is made where it is not there."""
        tables = self.tables()
        try:
            Path(folder).mkdir(parents=True, exist_ok=True)
            with replacing([Path(folder) / f"{name}.parquet" for name in tables]) as temporary:
                for path, table in zip(temporary, tables.values(), strict=True):
                    with opened(path) as file:
                        pq.write_table(table, file)
        except OSError as error:
            raise not_written(f"to {str(folder)!r}", error) from error

    def __repr__(self) -> str:
        return f"ScenarioResult(good={len(self.good)}, bad={len(self.bad)})"


NAMES = ("utility", "declines", "privacy", "antiutility", "chosen")  # of the tables of a result
_GAINS = ("a_know", "a_know_filled", "a_acc", "a_acc_filled")
_TITLES = {
    "utility": ("Utility decline", ("sanitization", "target", "delta", "worst_miner")),
    "declines": (
        "Utility by miner",
        ("sanitization", "target", "miner", "u_orig", "u_san", "decline", "limits"),
    ),
    "privacy": (
        "Bad utility",
        ("sanitization", "target", "scenario", "average", "worst", "worst_miner", *_GAINS),
    ),
    "antiutility": (
        "Bad utility by miner",
        ("sanitization", "target", "scenario", "miner", "u_bad", "n_nearer", "limits"),
    ),
}


def _table(items: Sequence[Any], *columns: tuple[str, pa.DataType, Callable[[Any], Any]]) -> pa.Table:
    return pa.table({name: pa.array(map(value, items), kind) for name, kind, value in columns})


# --- running


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
        if not isinstance(self.schema, Schema):
            raise UsageError(f"schema must be an anon.Schema, not {type(self.schema).__name__}")
        if isinstance(self.sanitizations, str) or not isinstance(self.sanitizations, Sequence):
            raise UsageError("sanitizations must be a list")
        sanitizations = tuple(_named(i, each) for i, each in enumerate(self.sanitizations))
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
        run = _Run(self, targets, available_threads(n_threads), progress)
        good: list[list[Preservation]] = [[] for _ in self.good]
        bad: list[list[Attack]] = [[] for _ in self.bad]
        for sanitization in self.sanitizations:
            view = run.sanitized(sanitization)
            for kept, utility in zip(good, self.good, strict=True):
                kept.append(run.preservation(view, utility))
            for lost, threat in zip(bad, self.bad, strict=True):
                lost.append(run.attack(view, threat))
        return ScenarioResult(
            tuple(each for kept in good for each in kept),
            tuple(each for lost in bad for each in lost),
            run.left_out,
            tuple(run.warnings),
        )

    def __repr__(self) -> str:
        return f"Scenario({len(self.sanitizations)} sanitizations)"


def _moved(original: pa.ChunkedArray, given: pa.ChunkedArray) -> Ints:
    """The rows in which two columns of the same values, each as often, differ; none of other columns."""
    kind = value_type(original.type)
    try:
        both = pa.chunked_array([*original.cast(kind).chunks, *given.cast(kind).chunks], kind)
        coded = both.combine_chunks().dictionary_encode(null_encoding="encode")
    except pa.ArrowException:  # values of another type are not the same
        return np.empty(0, np.int64)
    first, second = np.split(coded.indices.to_numpy(), 2)
    n_values = len(coded.dictionary)
    same = np.array_equal(np.bincount(first, minlength=n_values), np.bincount(second, minlength=n_values))
    return np.flatnonzero(first != second) if same else np.empty(0, np.int64)


def _named(i: int, given: Any) -> Sanitization:
    if isinstance(given, Sanitization):
        return given
    if type(given) in ENFORCING | GROWING | TRIVIAL:
        return Sanitization(repr(given), given)
    if isinstance(given, Release):
        raise UsageError(
            'give the release\'s table, published with order="input", or a Sanitization that makes it'
        )
    return Sanitization(f"table {i + 1}", table=given)


@dataclass(frozen=True, repr=False)
class _View:
    """A table as miners see it: row i is that of rank `at[i]` (ascending) of the original.

    `columns` has one cell per row for each published attribute. `comparable` is False where some of
    them show noise. `mined` keeps predictions, which several utilities may share, `gains` those of the table
    as it is.
    """

    name: str
    at: Ints
    columns: Mapping[str, Cells]
    comparable: bool = True
    mined: dict[Any, list[_Predicted]] = field(default_factory=dict)
    gains: list[tuple[float | None, float | None]] = field(default_factory=list)


class _Run:
    """One run: the original by rank, and what was found of it already."""

    def __init__(
        self, scenario: Scenario, targets: Sequence[str], n_threads: int, progress: Progress | None
    ) -> None:
        self.scenario, self.n_threads, self.progress = scenario, n_threads, progress
        self.warnings: list[str] = []
        self.source = read_source(scenario.table)
        self.encoded = encode(self.source.table, scenario.schema, n_threads=n_threads)
        self.columns, self.left_out = coded_columns(self.encoded, n_threads)
        # every column as a quasi-identifier, for rules and records
        self.whole = replace(
            self.encoded,
            quasi=tuple(domain for domain, _ in self.columns.values()),
            quasi_codes=tuple(codes for _, codes in self.columns.values()),
            sensitive=(),
            sensitive_codes=(),
        )
        self.ranked = group(self.whole.quasi_codes, n_threads=n_threads).rows.astype(np.int64)
        self.rank = np.empty(len(self.ranked), np.int64)
        self.rank[self.ranked] = np.arange(len(self.ranked))
        for target in targets:
            self._check(target)
        self.original = _View(
            "the original",
            np.arange(len(self.ranked)),
            {
                name: cells_of_values(domain, codes[self.ranked])
                for name, (domain, codes) in self.columns.items()
            },
        )
        self._weights: dict[int, Floats] = {}

    @cached_property
    def folds(self) -> Ints:
        """The fold of every row, by rank."""
        return folds(len(self.ranked), self.scenario.n_folds, self.scenario.seed)

    def _check(self, target: str) -> None:
        check_names([target], self.source.table.column_names)
        if target not in self.columns:
            raise UsageError(f"column {target!r} is identifying, or holds nothing that can be predicted")

    def weights(self, weight: Weight) -> Floats:
        """The weight of every row, by rank."""
        if id(weight) not in self._weights:
            self._weights[id(weight)] = weights(weight, self.whole)[self.ranked]
        return self._weights[id(weight)]

    # tables

    def sanitized(self, sanitization: Sanitization) -> _View:
        """The table that a sanitization makes, or was given."""
        if sanitization.table is not None:
            return self._given(sanitization.name, read_source(sanitization.table))
        options = {"seed": self.scenario.seed, **sanitization.options}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrivacyWarning)  # told in the result
            release = anonymize(
                self.source,
                self.scenario.schema,
                require=sanitization.require,
                method=sanitization.method,
                n_threads=self.n_threads,
                progress=None if self.progress is None else _within(self.progress, sanitization.name),
                **options,
            )
        self.warnings += [f"{sanitization.name}: {warning}" for warning in release.warnings]
        return self._released(sanitization.name, release)

    def _released(self, name: str, release: Release) -> _View:
        order = np.argsort(self.rank[release.classes.rows])
        rows = release.classes.rows[order].astype(np.int64)
        noisy = set(release.noise["attributes"]) if release.noise is not None else set()
        published = {cells.domain.name: at_rows(cells, order) for cells in shown(release)}
        for column, (domain, codes) in self.columns.items():
            if column in noisy:
                published[column] = numbers(column, release.encoded.column(column).take(pa.array(rows)))
            elif column not in published and column not in release.dropped:
                published[column] = cells_of_values(domain, codes[rows])
        return _View(name, self.rank[rows], self._ordered(published), not noisy)

    def _given(self, name: str, source: Source) -> _View:
        table, told = read_table(source), metadata_of(source)
        if table.num_rows != len(self.ranked):
            raise DataError(
                f"{name} has {table.num_rows} rows and the original {len(self.ranked)}: row i of one must be "
                "row i of the other"
            )
        if told is not None and told.get("order") != "input":
            raise UsageError(f'{name} is a release in another order of rows: publish it with order="input"')
        if told is not None and told["publish"] == "bucketization":
            raise UsageError(f"{name} is a bucketization, which does not tell the sensitive value of a row")
        self._check_order(name, table)
        attributes = {
            each.name: each for each in (*self.encoded.schema.quasi, *self.encoded.schema.sensitive)
        }
        published = {}
        for column, (domain, _) in self.columns.items():
            plain = None if column not in table.column_names else value_type(table.schema.field(column).type)
            if plain is None and f"{column}_min" not in table.column_names:
                continue
            if domain.kind == "numeric" and plain is not None and is_measurable(plain):
                cells = numbers(column, table.column(column))
            else:
                attribute = attributes.get(column, Attribute(column, domain.kind))
                cells = cells_of_rows(domain, attribute, table, told, self.n_threads)
                if told is None or told["numeric"] != "level":
                    cells = replace(cells, domain=replace(domain, levels=None))
            published[column] = at_rows(cells, self.ranked)
        noisy = told is not None and told["publish"] == "perturbation"
        return _View(name, self.original.at, self._ordered(published), not noisy)

    def _check_order(self, name: str, table: pa.Table) -> None:
        """Refuse a table that has a neutral column of the original in another order of rows.

        Of a sensitive one it may be what the sanitization does, and is a warning.
        """
        quasi, sensitive = (
            {each.name for each in role}
            for role in (self.encoded.schema.quasi, self.encoded.schema.sensitive)
        )
        for column in self.columns:
            if column in quasi or column not in table.column_names:
                continue
            rows = _moved(self.encoded.column(column), table.column(column))
            if not len(rows):
                continue
            row, count = int(rows[0]), len(rows)
            what = (
                f"{name} has the values of column {column!r} in another order: {count} rows differ, "
                f"the first of them row {row + 1}"
            )
            if column not in sensitive:
                raise DataError(
                    f"{what}; row i of one must be row i of the other: sort it like the original, or leave "
                    "out a column that was shuffled on purpose",
                    column=column,
                    row=row,
                    count=count,
                )
            self.warnings.append(f"{what}; its rows must be in the order of the original")

    def _ordered(self, published: Mapping[str, Cells]) -> dict[str, Cells]:
        return {name: published[name] for name in self.columns if name in published}

    # mining

    def _predict(
        self,
        view: _View,
        target: str,
        miners: Sequence[Miner],
        y: npt.NDArray[Any],
        known: Bools,
        cross: bool,
    ) -> list[_Predicted]:
        """What miners predict of the rows with `known` labels y from the other columns of a table."""
        key = target, tuple(miners), y.dtype.kind, cross
        if key not in view.mined:
            view.mined[key] = self._mine(view, target, miners, y, known, cross)
        return view.mined[key]

    def _mine(
        self,
        view: _View,
        target: str,
        miners: Sequence[Miner],
        y: npt.NDArray[Any],
        known: Bools,
        cross: bool,
    ) -> list[_Predicted]:
        at = np.flatnonzero(known)
        fold = None
        if cross:
            fold = self.folds[view.at[at]]
            if len(np.unique(fold)) < 2:
                at = at[:0]
        if not len(at):
            return [_Predicted(miner, at, y[at]) for miner in miners]
        predictors = [at_rows(cells, at) for name, cells in view.columns.items() if name != target]
        told = None if self.progress is None else _within(self.progress, f"{view.name}, {target}")
        found = cross_predict(
            miners,
            features(predictors) if predictors else np.zeros((len(at), 1)),
            y[at],
            fold,
            self.scenario.seed,
            n_threads=self.n_threads,
            progress=told,
        )
        return [
            _Predicted(miner, at[one.made], one.values[one.made], bool(one.made.all()), one.limits)
            for miner, one in zip(miners, found, strict=True)
        ]

    def _truth(self, view: _View, target: str) -> tuple[Domain, Ints]:
        """The domain of an attribute, and the true code in each row of a table; -1 where it is missing."""
        domain, codes = self.columns[target]
        truth = codes[self.ranked[view.at]].astype(np.int64)
        return domain, np.where(truth < domain.n_values, truth, -1)

    def preservation(self, view: _View, utility: GoodUtility) -> Preservation:
        """The good utility of a table, miner by miner, beside that of the original."""
        pairs = zip(self._utility(self.original, utility), self._utility(view, utility), strict=True)
        return Preservation(
            view.name,
            utility.target,
            tuple(
                Decline(
                    before.miner.name,
                    before.miner.family,
                    u_orig,
                    u_san,
                    before.finished and after.finished,
                    tuple(dict.fromkeys((*before.limits, *after.limits))),
                )
                for (u_orig, before), (u_san, after) in pairs
            ),
        )

    def _utility(self, view: _View, utility: GoodUtility) -> list[tuple[float, _Predicted]]:
        target = utility.target
        domain, truth = self._truth(view, target)
        numeric = domain.kind == "numeric"
        reference, default = (NUMBER_MINERS, USERS_OF_NUMBERS) if numeric else (CATEGORY_MINERS, USERS)
        miners = _chosen_miners(utility.miners, reference, default)
        weight = self.weights(utility.weight)[view.at]
        error = utility.error
        assert not isinstance(error, str)
        cells = view.columns.get(target)
        if cells is None:
            limits = ("the column is not published",)
            nothing = np.empty(0, np.int64)
            return [(0.0, _Predicted(miner, nothing, nothing, limits=limits)) for miner in miners]
        y: npt.NDArray[Any] = cells.of_class.astype(np.int64)
        if numeric:
            lower, upper = ends_of(cells)
            y = (lower / 2 + upper / 2)[y]
        known = (cells.low <= cells.high)[cells.of_class]
        found = []
        for one in self._predict(view, target, miners, y, known, cross=True):
            scored = truth[one.at] >= 0
            at, values = one.at[scored], one.values[scored]
            if numeric:
                worth = of_numbers(error, on_lattice(values, domain), values_of(domain)[truth[at]], domain)
            else:
                worth = of_labels(error, values, truth[at], cells, domain)
            found.append((float(np.sum(weight[at] * worth)), one))
        return found

    # attacks

    def attack(self, view: _View, threat: BadUtility) -> Attack:
        """The bad utility of a table, miner by miner, and the gains with and without predictions."""
        target, chosen = threat.target, self._chosen(threat.chosen)
        weight = self.weights(threat.weight)
        if chosen is not None:
            weight = np.where(np.isin(self.ranked, chosen), weight, 0.0)
        results: list[Antiutility] = []
        worst: tuple[float, _Filled] | None = None
        for one, filled in self._nearer(view, threat):
            u_bad = float(np.sum(weight[view.at[filled.at]]))
            results.append(Antiutility(one.miner.name, one.miner.family, u_bad, len(filled.at), one.limits))
            if len(filled.at) and (worst is None or u_bad > worst[0]):
                worst = u_bad, filled
        if not view.gains:
            view.gains.append(self._gains(view))
        [before] = view.gains
        after = before if worst is None else self._gains(view, target, worst[1])
        if self.encoded.schema.role(target) is not Role.QUASI:
            after = (None, None)
        return Attack(
            view.name,
            target,
            threat.name,
            threat.nearness,
            tuple(results),
            chosen,
            *before,
            *after,
        )

    def _chosen(self, share: float | None) -> npt.NDArray[np.uint32] | None:
        """The rows that an adversary is after: drawn by rank, so that the order of rows does not matter."""
        if share is None:
            return None
        n_chosen = max(math.floor(Fraction(str(share)) * len(self.ranked)), 1)
        picked = np.random.default_rng(self.scenario.seed).choice(len(self.ranked), n_chosen, replace=False)
        return np.sort(self.ranked[picked]).astype(np.uint32)

    def _nearer(self, view: _View, threat: BadUtility) -> list[tuple[_Predicted, _Filled]]:
        """What each miner predicts nearer to the truth than the table shows."""
        target = threat.target
        cells = view.columns.get(target)
        if cells is None:
            return []
        domain, truth = self._truth(view, target)
        known = (cells.low <= cells.high)[cells.of_class]
        shown_as_numbers = domain.kind == "numeric" and _shows_values(cells)
        if shown_as_numbers:
            _refuse_other_times(domain, cells.domain, view.name)
            miners = _chosen_miners(threat.number_miners, NUMBER_MINERS)
            y: npt.NDArray[Any] = ends_of(cells)[0][cells.of_class]
        else:
            miners = _chosen_miners(threat.miners, CATEGORY_MINERS)
            y = cells.of_class.astype(np.int64)
        found = []
        for one in self._predict(view, target, miners, y, known, threat.cross_fit):
            scored = truth[one.at] >= 0
            at, values = one.at[scored], one.values[scored]
            true = truth[at]
            if shown_as_numbers:
                values, numbers = on_lattice(values, domain), values_of(domain)[true]
                apart = [_apart(threat.distance, each, numbers) for each in (values, y[at])]
                same = values == numbers
            else:
                apart = [distances(cells, each, true, threat.distance) for each in (values, y[at])]
                same = single_values(cells)[values] & (cells.low[values] == true)
            near = nearer(apart[0], apart[1], same, threat.nearness)
            found.append((one, _Filled(at[near], values[near])))
        return found

    def _gains(
        self, view: _View, target: str = "", filled: _Filled | None = None
    ) -> tuple[float | None, float | None]:
        """A_know and A_acc of a table, with predictions of `target` filled in.

        None where the table shows noise, or something else than single values of a sensitive attribute.
        """
        if not view.comparable or not self.encoded.sensitive:
            return None, None
        domains = list(self.encoded.sensitive)
        sensitive: list[Codes | None] = []
        for i, domain in enumerate(domains):
            cells = view.columns.get(domain.name)
            if cells is not None and not _shows_values(cells):
                return None, None
            if cells is None:
                sensitive.append(None)
            else:
                domains[i], codes = _values_shown(cells)
                sensitive.append(codes)
        quasi: list[Codes] = [np.zeros(len(view.at), np.uint32)]
        for domain in self.encoded.quasi:
            cells = view.columns.get(domain.name)
            if cells is None:
                continue
            codes = cells.of_class
            if filled is not None and domain.name == target:
                if filled.values.dtype == np.float64:
                    shown_values = ends_of(cells)[0][codes]
                    shown_values[(cells.low > cells.high)[codes]] = np.nan
                    shown_values[filled.at] = filled.values
                    codes = np.unique(shown_values, return_inverse=True)[1].astype(np.uint32)
                else:
                    codes = codes.copy()
                    codes[filled.at] = filled.values
            quasi.append(codes)
        measured = measure(
            group(quasi, n_threads=self.n_threads),
            domains,
            sensitive,
            at_risk=(),
            joint=False,
            n_threads=self.n_threads,
        )
        return measured.a_know, measured.a_acc


@dataclass(frozen=True, repr=False)
class _Predicted:
    """What a miner predicted of the rows `at` of a view."""

    miner: Miner
    at: Ints
    values: npt.NDArray[Any]
    finished: bool = True
    limits: tuple[str, ...] = ()


@dataclass(frozen=True, repr=False)
class _Filled:
    """Predictions that take the place of what a view shows in the rows `at`: numbers, or numbers of cells."""

    at: Ints
    values: npt.NDArray[Any]


def _chosen_miners(
    given: Sequence[str | Miner] | None, reference: Sequence[Miner], default: Sequence[str] | None = None
) -> tuple[Miner, ...]:
    by_name = {miner.name: miner for miner in reference}
    if given is None:
        return tuple(reference if default is None else [by_name[name] for name in default])
    for miner in given:
        if not isinstance(miner, Miner) and miner not in by_name:
            what = "numbers" if reference is NUMBER_MINERS else "labels"
            raise UsageError(f"miner {miner!r} does not predict {what}; those are {', '.join(by_name)}")
    return tuple(miner if isinstance(miner, Miner) else by_name[miner] for miner in given)


def _shows_values(cells: Cells) -> bool:
    """Whether every row shows a single value, or that it is missing."""
    used = np.bincount(cells.of_class, minlength=len(cells.low)) > 0
    return bool((single_values(cells) | (cells.low > cells.high))[used].all())


def _values_shown(cells: Cells) -> tuple[Domain, Codes]:
    """What the rows of such a column show: a domain of just these values, and the code of every row."""
    domain = cells.domain
    codes = np.where(cells.low > cells.high, domain.n_values, cells.low)[cells.of_class]
    used = np.bincount(codes, minlength=domain.n_codes) > 0
    return narrowed(domain, used), (np.cumsum(used) - 1)[codes].astype(np.uint32)


def _apart(distance: Any, shown: Floats, true: Floats) -> Floats:
    return np.abs(shown - true) if distance is None else applied(distance, shown, shown, true)


def _refuse_other_times(domain: Domain, published: Domain, name: str) -> None:
    ours, theirs = domain.values.type, published.values.type
    if ours != theirs and (pa.types.is_temporal(ours) or pa.types.is_temporal(theirs)):
        raise UsageError(
            f"column {domain.name!r} holds {theirs} in {name} and {ours} in the original: convert one"
        )


def _within(progress: Progress, name: str) -> Progress:
    return lambda stage, done, total: progress(f"{name}: {stage}", done, total)


# --- the section of a report


def sections(result: ScenarioResult) -> list[Section]:
    """What a report shows of a scenario."""
    from anon.report import Section, Table

    parts = (
        ("What users keep", result.good, ("utility", "declines")),
        ("What adversaries gain", result.bad, ("privacy", "antiutility")),
    )
    shown = {name: Table(title, header, rows) for name, (title, header, rows) in _shown(result).items()}
    return [
        Section(heading, tuple(each.statement for each in told), tuple(shown[name] for name in names))
        for heading, told, names in parts
        if told
    ]


def _shown(result: ScenarioResult) -> dict[str, tuple[str, tuple[str, ...], tuple[tuple[Any, ...], ...]]]:
    """Title, header and rows of the tables that people are shown; those without rows are left out."""
    tables = result.tables()
    found = {}
    for name, (title, columns) in _TITLES.items():
        rows = tuple(tuple(row.values()) for row in tables[name].select(list(columns)).to_pylist())
        if rows:
            found[name] = title, tuple(column.replace("_", " ") for column in columns), rows
    return found
