# SPDX-License-Identifier: Apache-2.0
"""Scenarios: what users and adversaries gain from sanitized tables by mining them (Sramka et al. 2010).

A good utility is what miners tell of the original's `target` from a table, a bad utility how much nearer
their predictions come to the original than the table itself. Both are sums over rows of the original;
a row that is not published, or whose true value is missing, adds nothing.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from anon.classes import Cells, at_rows, group
from anon.encoding import Codes, Domain, coded_columns, encode
from anon.errors import DataError, PrivacyWarning, UsageError
from anon.measures import measure_privacy as measure
from anon.methods import Progress
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
from anon.release import Release, metadata_of
from anon.scenarios.asked import USERS, USERS_OF_NUMBERS, BadUtility, GoodUtility, Sanitization
from anon.scenarios.interest import (
    Floats,
    Ints,
    Weight,
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
from anon.scenarios.result import Antiutility, Attack, Decline, Preservation, ScenarioResult
from anon.scenarios.views import (
    Bools,
    Filled,
    Predicted,
    View,
    chosen_miners,
    distance_between,
    moved,
    named_release,
    refuse_other_times,
    shows_values,
    values_shown,
    within,
)
from anon.schema import Attribute, Role, Schema, check_names, is_measurable, value_type
from anon.tables import Source, read_source, read_table
from anon.threads import available_threads
from anon.verbs import anonymize, cells_of_rows


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


class _Run:
    """One run: the original by rank, and what was found of it already."""

    def __init__(
        self, scenario: Scenario, targets: Sequence[str], n_threads: int, progress: Progress | None
    ) -> None:
        self.scenario, self.n_threads, self.progress = scenario, n_threads, progress
        self.warnings: list[str] = []
        self.source = read_source(scenario.table)
        everything = replace(scenario.schema, neutral="rest")  # also what no release shows may be predicted
        self.encoded = encode(self.source.table, everything, n_threads=n_threads)
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
        self.original = View(
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

    def sanitized(self, sanitization: Sanitization) -> View:
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
                progress=None if self.progress is None else within(self.progress, sanitization.name),
                **options,
            )
        self.warnings += [f"{sanitization.name}: {warning}" for warning in release.warnings]
        return self._released(sanitization.name, release)

    def _released(self, name: str, release: Release) -> View:
        order = np.argsort(self.rank[release.classes.rows])
        rows = release.classes.rows[order].astype(np.int64)
        noisy = set(release.noise["attributes"]) if release.noise is not None else set()
        published = {cells.domain.name: at_rows(cells, order) for cells in shown(release.published)}
        names = release.encoded.table.column_names
        for column in (name for name in self.columns if name in names):
            domain, codes = self.columns[column]
            if column in noisy:
                published[column] = numbers(column, release.encoded.column(column).take(pa.array(rows)))
            elif column not in published and column not in release.dropped:
                published[column] = cells_of_values(domain, codes[rows])
        return View(name, self.rank[rows], self._ordered(published), not noisy)

    def _given(self, name: str, source: Source) -> View:
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
        return View(name, self.original.at, self._ordered(published), not noisy)

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
            rows = moved(self.encoded.column(column), table.column(column))
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
        view: View,
        target: str,
        miners: Sequence[Miner],
        y: npt.NDArray[Any],
        known: Bools,
        cross: bool,
    ) -> list[Predicted]:
        """What miners predict of the rows with `known` labels y from the other columns of a table."""
        key = target, tuple(miners), y.dtype.kind, cross
        if key not in view.mined:
            view.mined[key] = self._mine(view, target, miners, y, known, cross)
        return view.mined[key]

    def _mine(
        self,
        view: View,
        target: str,
        miners: Sequence[Miner],
        y: npt.NDArray[Any],
        known: Bools,
        cross: bool,
    ) -> list[Predicted]:
        at = np.flatnonzero(known)
        fold = None
        if cross:
            fold = self.folds[view.at[at]]
            if len(np.unique(fold)) < 2:
                at = at[:0]
        if not len(at):
            return [Predicted(miner, at, y[at]) for miner in miners]
        predictors = [at_rows(cells, at) for name, cells in view.columns.items() if name != target]
        told = None if self.progress is None else within(self.progress, f"{view.name}, {target}")
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
            Predicted(miner, at[one.made], one.values[one.made], bool(one.made.all()), one.limits)
            for miner, one in zip(miners, found, strict=True)
        ]

    def _truth(self, view: View, target: str) -> tuple[Domain, Ints]:
        """The domain of an attribute, and the true code in each row of a table; -1 where it is missing."""
        domain, codes = self.columns[target]
        truth = codes[self.ranked[view.at]].astype(np.int64)
        return domain, np.where(truth < domain.n_values, truth, -1)

    def preservation(self, view: View, utility: GoodUtility) -> Preservation:
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

    def _utility(self, view: View, utility: GoodUtility) -> list[tuple[float, Predicted]]:
        target = utility.target
        domain, truth = self._truth(view, target)
        numeric = domain.kind == "numeric"
        reference, default = (NUMBER_MINERS, USERS_OF_NUMBERS) if numeric else (CATEGORY_MINERS, USERS)
        miners = chosen_miners(utility.miners, reference, default)
        weight = self.weights(utility.weight)[view.at]
        error = utility.error
        assert not isinstance(error, str)
        cells = view.columns.get(target)
        if cells is None:
            limits = ("the column is not published",)
            nothing = np.empty(0, np.int64)
            return [(0.0, Predicted(miner, nothing, nothing, limits=limits)) for miner in miners]
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

    def attack(self, view: View, threat: BadUtility) -> Attack:
        """The bad utility of a table, miner by miner, and the gains with and without predictions."""
        target, chosen = threat.target, self._chosen(threat.chosen)
        weight = self.weights(threat.weight)
        if chosen is not None:
            weight = np.where(np.isin(self.ranked, chosen), weight, 0.0)
        results: list[Antiutility] = []
        worst: tuple[float, Filled] | None = None
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

    def _nearer(self, view: View, threat: BadUtility) -> list[tuple[Predicted, Filled]]:
        """What each miner predicts nearer to the truth than the table shows."""
        target = threat.target
        cells = view.columns.get(target)
        if cells is None:
            return []
        domain, truth = self._truth(view, target)
        known = (cells.low <= cells.high)[cells.of_class]
        shown_as_numbers = domain.kind == "numeric" and shows_values(cells)
        if shown_as_numbers:
            refuse_other_times(domain, cells.domain, view.name)
            miners = chosen_miners(threat.number_miners, NUMBER_MINERS)
            y: npt.NDArray[Any] = ends_of(cells)[0][cells.of_class]
        else:
            miners = chosen_miners(threat.miners, CATEGORY_MINERS)
            y = cells.of_class.astype(np.int64)
        found = []
        for one in self._predict(view, target, miners, y, known, threat.cross_fit):
            scored = truth[one.at] >= 0
            at, values = one.at[scored], one.values[scored]
            true = truth[at]
            if shown_as_numbers:
                values, numbers = on_lattice(values, domain), values_of(domain)[true]
                apart = [distance_between(threat.distance, each, numbers) for each in (values, y[at])]
                same = values == numbers
            else:
                apart = [distances(cells, each, true, threat.distance) for each in (values, y[at])]
                same = single_values(cells)[values] & (cells.low[values] == true)
            near = nearer(apart[0], apart[1], same, threat.nearness)
            found.append((one, Filled(at[near], values[near])))
        return found

    def _gains(
        self, view: View, target: str = "", filled: Filled | None = None
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
            if cells is not None and not shows_values(cells):
                return None, None
            if cells is None:
                sensitive.append(None)
            else:
                domains[i], codes = values_shown(cells)
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
