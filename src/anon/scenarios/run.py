# SPDX-License-Identifier: Apache-2.0
"""One run of a scenario: the original by rank, its sanitized tables, and what miners predict of them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from anon.classes import Cells, at_rows, group
from anon.encoding import Domain, coded_columns, encode
from anon.errors import ORDER_OF_INPUT, DataError, PrivacyWarning, UsageError
from anon.methods import Progress
from anon.miners import Miner, attributes, cells_of_values, cross_predict, features, folds, numbers, shown
from anon.release import Release, metadata_of
from anon.scenarios.asked import Sanitization
from anon.scenarios.interest import Floats, Ints, Weight, weights
from anon.scenarios.views import Bools, Predicted, View, moved, within
from anon.schema import Attribute, Schema, check_names, is_measurable, value_type
from anon.tables import Source, read_source, read_table
from anon.verbs import anonymize, cells_of_rows


class Run:
    """One run: the original by rank, and what was found of it already."""

    def __init__(
        self,
        table: Any,
        schema: Schema,
        targets: Sequence[str],
        n_folds: int,
        seed: int,
        n_threads: int,
        progress: Progress | None,
    ) -> None:
        if schema.all_coded:
            raise UsageError(
                f"column {schema.all_coded[0]!r} has a least level, top or bottom, which scenarios do not "
                "know: recode the column before"
            )
        self.schema, self.n_folds, self.seed = schema, n_folds, seed
        self.n_threads, self.progress = n_threads, progress
        self.warnings: list[str] = []
        self.source = read_source(table)
        everything = replace(schema, neutral="rest")  # also what no release shows may be predicted
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
        return folds(len(self.ranked), self.n_folds, self.seed)

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
        options = {"seed": self.seed, **sanitization.options}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrivacyWarning)  # told in the result
            release = anonymize(
                self.source,
                self.schema,
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
            if column in noisy and domain.kind != "numeric":
                raise UsageError(
                    f"{name} perturbs column {column!r}, which holds no numbers: scenarios take perturbed "
                    "numbers alone"
                )
            if column in noisy:
                published[column] = numbers(column, release.encoded.column(column).take(pa.array(rows)))
            elif column not in published and column not in release.dropped:
                published[column] = cells_of_values(domain, codes[rows])
        return View(name, self.rank[rows], self._ordered(published), not noisy)

    def _given(self, name: str, source: Source) -> View:
        table, metadata = read_table(source), metadata_of(source)
        if table.num_rows != len(self.ranked):
            raise DataError(
                f"{name} has {table.num_rows} rows and the original {len(self.ranked)}: row i of one must be "
                "row i of the other"
            )
        if metadata is not None and metadata.get("order") != "input":
            raise UsageError(
                f"{name} is a release in another order of rows: publish it with ", ORDER_OF_INPUT
            )
        if metadata is not None and metadata["publish"] == "bucketization":
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
                cells = cells_of_rows(domain, attribute, table, metadata, self.n_threads)
                if metadata is None or metadata["numeric"] != "level":
                    cells = replace(cells, domain=replace(domain, levels=None))
            published[column] = at_rows(cells, self.ranked)
        noisy = metadata is not None and metadata["publish"] == "perturbation"
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

    def predict(
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
        progress = None if self.progress is None else within(self.progress, f"{view.name}, {target}")
        predictions = cross_predict(
            miners,
            features(predictors) if predictors else np.zeros((len(at), 1)),
            y[at],
            fold,
            self.seed,
            attributes=attributes(predictors) if predictors else None,
            n_threads=self.n_threads,
            progress=progress,
        )
        return [
            Predicted(miner, at[one.made], one.values[one.made], bool(one.made.all()), one.limits)
            for miner, one in zip(miners, predictions, strict=True)
        ]

    def truth_of(self, view: View, target: str) -> tuple[Domain, Ints]:
        """The domain of an attribute, and the true code in each row of a table; -1 where it is missing."""
        domain, codes = self.columns[target]
        truth = codes[self.ranked[view.at]].astype(np.int64)
        return domain, np.where(truth < domain.n_values, truth, -1)
