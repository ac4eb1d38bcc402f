# SPDX-License-Identifier: Apache-2.0
"""A scenario as a TOML job file: data, of which nothing is evaluated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from anon.choice import GRID_OPTIONS
from anon.command.job import Job, load_job
from anon.command.options import INPUT, READING, ROLES, RUNNING, WEIGHT, Text
from anon.errors import UsageError
from anon.methods import LIMITS, chosen
from anon.scenarios import (
    ERRORS,
    OPTIONS,
    PRESETS,
    BadUtility,
    ErrorFunction,
    GoodUtility,
    Sanitization,
    Scenario,
)
from anon.tables import read_source, reading

OF_SEARCH = tuple(each.key for each in LIMITS)
SHARED = tuple(each.key for each in (INPUT, *READING, *ROLES, WEIGHT, *RUNNING) if each.key not in OF_SEARCH)
OF_SANITIZATION = ("name", "table", *(key for key in GRID_OPTIONS if key != "publish"), *OPTIONS)


class Made(Job):
    """`[[sanitization]]`: the keys of a method and its requirements as in any job file, or a `table`."""

    name: str | None = None
    table: Text | None = None

    def sanitization(self, options: Mapping[str, Any]) -> Sanitization:
        """The Sanitization it stands for; its table is read with these options."""
        given = self.model_fields_set
        for key in sorted(given.difference(OF_SANITIZATION)):
            raise UsageError(f"{key} is no key of a sanitization")
        if self.table is not None:
            if given - {"name", "table"}:
                raise UsageError("a sanitization has a table or a method, not both")
            table = read_source(self.table, **reading(self.table, {**options, "table": None}))
            return Sanitization(self.name or self.table, table=table)
        method, require = chosen(**self.how()), self.requirements()
        name = self.name or ", ".join([method.word, *map(str, require)])
        further = {key: value for key, value in self.options().items() if key in OPTIONS}
        return Sanitization(name, method, require, options=further)


class Interest(BaseModel):
    """What `[[good]]` and `[[bad]]` have in common."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    target: Text
    miners: list[str] | None = None
    weight: str | float | None = None

    def rule(self) -> str | None:
        """The weight as a rule."""
        return None if self.weight is None else str(self.weight)


class Good(Interest):
    """`[[good]]`: a GoodUtility."""

    error: Literal["accuracy", "absolute-error", "no-false-negatives", "cost-matrix"] = "accuracy"
    scale: float | None = None
    positive: str | None = None
    penalty: float | None = None
    values: dict[str, dict[str, float]] | None = None

    def utility(self) -> GoodUtility:
        """The GoodUtility it stands for."""
        return GoodUtility(self.target, self.miners, self._error(), self.rule())

    def _error(self) -> ErrorFunction:
        kind = ERRORS[self.error]
        given = {
            name: getattr(self, name)
            for name in ("scale", "positive", "penalty", "values")
            if getattr(self, name) is not None
        }
        for name in given:
            if name not in kind.__dataclass_fields__:
                raise UsageError(f"{name} is no parameter of the error function {self.error}")
        if self.error == "cost-matrix" and "values" not in given:
            raise UsageError("a cost-matrix needs values: values.TRUE.PREDICTED = NUMBER")
        made: ErrorFunction = kind(**given)
        return made


class Bad(Interest):
    """`[[bad]]`: a BadUtility."""

    name: str | None = None
    preset: Literal["A", "B", "C"] | None = None
    number_miners: list[str] | None = None
    nearness: float | None = Field(None, ge=0, le=100)
    chosen: float | None = None
    cross_fit: bool | None = None

    def threat(self) -> BadUtility:
        """The BadUtility it stands for."""
        given = {
            name: getattr(self, name)
            for name in ("name", "miners", "number_miners", "nearness", "chosen", "cross_fit")
            if getattr(self, name) is not None
        }
        preset = {"name": self.preset, **PRESETS[self.preset]} if self.preset else {}
        return BadUtility(self.target, weight=self.rule(), **{**preset, **given})


class ScenarioJob(Job):
    """What to read, the roles, `seed` and `threads` as in any job file, and what is compared."""

    sanitization: list[Made] = Field(min_length=1)
    good: list[Good] = Field(default_factory=list)
    bad: list[Bad] = Field(default_factory=list)
    folds: int | None = None

    def scenario(self) -> Scenario:
        """The Scenario it stands for; what it names is read."""
        for key in self.model_fields_set - {*SHARED, "sanitization", "good", "bad", "folds"}:
            raise UsageError(f"{key} is a key of a [[sanitization]] or of other jobs, not of a scenario")
        schema = self.roles()
        if schema is None:
            raise UsageError("no column has a role: name the quasi-identifiers as quasi = [...]")
        if self.input is None:
            raise UsageError("no input: name the file as input = ...")
        return Scenario(
            read_source(self.input, **self.read_options()),
            schema,
            [each.sanitization(self.read_options()) for each in self.sanitization],
            [each.utility() for each in self.good],
            [each.threat() for each in self.bad],
            n_folds=10 if self.folds is None else self.folds,
            seed=self.seed or 0,
        )

    def read(self) -> list[str]:
        """The files that it reads."""
        tables = [each.table for each in self.sanitization if each.table is not None]
        return [*([self.input] if self.input else []), *tables, *self.files()]


def load_scenario(path: str) -> ScenarioJob:
    """The scenario in a TOML file. Relative paths in it start at the file's own folder."""
    job = load_job(path, {}, ScenarioJob)
    assert isinstance(job, ScenarioJob)
    return job
