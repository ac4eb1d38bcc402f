# SPDX-License-Identifier: Apache-2.0
"""What every method says of itself, and what it is handed beside the table and its own parameters."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal, Self, TypeVar

import numpy as np

from anon.classes import Cells, Classes
from anon.encoding import Domain, Encoded
from anon.entropy import Entropy, system
from anon.errors import InfeasibleError, Parameter, UsageError
from anon.methods.common import Shared
from anon.methods.people import Crowd
from anon.requirements import Declared, Option, Requirement, flag
from anon.schema import Schema
from anon.tables import Source
from anoncore.requirement import Conjunction

Result = TypeVar("Result")
Progress = Callable[[str, int, int], None]
"""Called as progress(stage, done, total), from the calling thread."""


@dataclass(frozen=True)
class Task:
    """The requirements to enforce, and the means to do so.

    `rules` is the compiled conjunction, `rng` draws where a search starts, `entropy` whatever hides
    something, `n_threads` is the number of worker threads (>= 1), `progress` is told how far the work has
    come. `start` are classes that pass, from which Curve may begin; a search ends at its `deadline`. `shared`
    is there where other tasks on the table need some of the same.
    """

    rules: Conjunction
    rng: np.random.Generator
    n_threads: int = 1
    progress: Progress | None = None
    entropy: Entropy = system
    start: Classes | None = None
    deadline: Deadline | None = None
    shared: Shared | None = None

    @property
    def is_late(self) -> bool:
        """Whether a search must end now."""
        return self.deadline is not None and self.deadline.is_over()

    def start_of(self, compute: Callable[[], Classes]) -> Classes:
        """Mondrian's classes, which another task may have made."""
        return compute() if self.shared is None else self.shared.common.get(self.shared.start, compute)

    def order_of(self, what: Hashable, compute: Callable[[], Result]) -> Result:
        """The rows in the order that `what` names, in which another task may have put them."""
        if self.shared is None or self.shared.table is None:
            return compute()
        return self.shared.common.get(self.shared.order(what), compute)


class Deadline:
    """A moment so many seconds ahead; `cut_short` is whether some search asked after it."""

    def __init__(self, seconds: float) -> None:
        self.end = time.monotonic() + seconds
        self.cut_short = False

    def is_over(self) -> bool:
        """Whether it has passed; a search that asks and is told so ends there."""
        over = time.monotonic() >= self.end
        self.cut_short |= over
        return over


def counts_units(rules: Conjunction) -> bool:
    """Whether some rule cannot be tested without knowing whose a row is."""
    return rules.min_units > 0 or rules.by_units


LIMITS = (
    Option("suppress", float, "The greatest share of rows to leave out, so that the others lose less (0)."),
    Option("time_limit", float, "Curve, full-domain: seconds of search (no limit)."),
)


@dataclass(frozen=True)
class Limits:
    """What a release may cost: the greatest share of rows to leave out, and the seconds of a search."""

    suppress: Fraction = Fraction(0)
    time_limit: float | None = None

    @classmethod
    def of(cls, suppress: Any, time_limit: Any) -> Self:
        """The limits as given; UsageError where they are none."""
        is_share = isinstance(suppress, int | float | Fraction) and not isinstance(suppress, bool)
        if not is_share or not 0 <= suppress < 1:
            raise UsageError("suppress is the greatest share of rows to leave out: at least 0 and below 1")
        is_time = isinstance(time_limit, int | float) and not isinstance(time_limit, bool)
        if time_limit is not None and (not is_time or time_limit <= 0):
            raise UsageError("time_limit must be seconds above 0")
        return cls(Fraction(str(suppress)), time_limit)


NO_LIMITS = Limits()


class Method(Declared):
    """A way to make classes, or to perturb a table before; every method is a frozen dataclass of this kind.

    `name` is what a job, a grid and --method call it; where `forms` lists names, each stands for some fixed
    parameters. `enforces` is whether it accepts requirements, `grows` whether it makes classes of at
    least k rows, `needs_k` whether a k must be asked for; the growing ones leave to repair what is
    `repaired`, and units where they do not themselves see to them (`counts_units`; `counts_bags`: their bags
    of cells too). `keeps_households`: the rows of one show the same in its columns. `perturbs` is whether it
    changes the table, `recodes` whether it chooses levels of whole columns first, `places_nulls` whether it
    makes single cells null, `searches` whether it may be told to end, `on_spark` whether Spark runs it.
    `ties` orders equal rows.
    """

    name: ClassVar[str]
    forms: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    enforces: ClassVar[bool] = True
    grows: ClassVar[bool] = False
    needs_k: ClassVar[bool] = False
    repaired: ClassVar[bool] = False
    counts_units: ClassVar[bool] = False
    counts_bags: ClassVar[bool] = False
    keeps_households: ClassVar[bool] = False
    perturbs: ClassVar[bool] = False
    recodes: ClassVar[bool] = False
    searches: ClassVar[bool] = False
    places_nulls: ClassVar[bool] = False
    on_spark: ClassVar[bool] = False
    ties: Any = "rank"

    @classmethod
    def names(cls) -> tuple[str, ...]:
        return tuple(cls.forms) or (cls.name,)

    @property
    def word(self) -> str:
        """Its name, with the parameters that belong to the name."""
        for name, fixed in self.forms.items():
            if all(getattr(self, parameter) == value for parameter, value in fixed.items()):
                return name
        return self.name

    @classmethod
    def asked(cls, name: str, values: Mapping[str, Any]) -> Self:
        """The one that a name and values by key ask for."""
        for key in cls.needs:
            if values.get(key) is None:
                raise UsageError(f"--method {name} needs {flag(key)}")
        return cls.of(values, **cls.forms.get(name, {}))

    @property
    def keeps_groups(self) -> bool:
        """Whether classes with equal cells stay apart where each shows its own mean or median."""
        return False

    @property
    def chooses(self) -> bool:
        """Whether it is the method's choice which of equal rows go into which class."""
        return self.grows

    def settings(self) -> dict[str, Any]:
        fixed = self.forms.get(self.word, {})
        return {key: value for key, value in super().settings().items() if key not in fixed}

    def implied(self) -> tuple[Requirement, ...]:
        """The requirements that it enforces without being asked."""
        return ()

    def demands(self, require: Sequence[Requirement]) -> tuple[Requirement, ...]:
        """What is asked for, and what it implies; UsageError where it cannot enforce that."""
        for each in require:
            if each.by_matching:
                raise UsageError(
                    f"{each}: no test of one class decides it: use ",
                    Parameter("LocalSuppression()", "--method local-suppression"),
                    ", or ask for ",
                    Parameter(f"KAnonymity({each.least_rows})", "--k-nulls own"),
                )
        return (*require, *self.implied())

    def check_published(self, publish: str, numeric: str) -> None:
        """Raise UsageError where what it makes cannot be published like this."""

    def needs_complete(self, sensitive: Sequence[Domain]) -> bool:
        """Whether no sensitive value may be missing; UsageError where an attribute must be given."""
        return False

    def shares(self, shared: Shared) -> list[Hashable]:
        """The keys by which it asks for what other tasks may have computed."""
        return []

    def classes(self, encoded: Encoded, task: Task, k: int) -> Classes:
        """Classes of the rows of `encoded` that are not suppressed; `k` counts for those that grow."""
        raise NotImplementedError

    def nulled(
        self, encoded: Encoded, task: Task, require: Sequence[Requirement], limits: Limits
    ) -> tuple[Classes, tuple[Cells, ...]]:
        """Classes of rows that show the same once cells are null, and these cells."""
        raise NotImplementedError

    def recoded(
        self,
        encoded: Encoded,
        judged: Encoded,
        require: Sequence[Requirement],
        limits: Limits,
        crowd: Crowd | None = None,
    ) -> tuple[Encoded, Method, Any]:
        """The table with the levels chosen for its columns, and without the rows that fail there; the method
        that applies these levels; what was seen on the way. `judged` are the rows as requirements see them,
        `crowd` those that look at people.
        """
        raise NotImplementedError

    def perturb(
        self, source: Source, schema: Schema, n_threads: int, progress: Progress | None
    ) -> tuple[Source, Schema, dict[str, Any], list[str]]:
        """The changed table, its schema, what its metadata says of the noise, and warnings for the owner."""
        raise NotImplementedError


def refuse_few(n_rows: int, k: int) -> None:
    """Raise InfeasibleError where there are fewer rows than one class has."""
    if n_rows < k:
        raise InfeasibleError(
            f"k = {k} cannot be met by {n_rows} rows: ask for at most {n_rows}",
            requirement=k,
            tightest=n_rows or None,
        )


TIES = Option(
    "ties",
    Literal["rank", "input"],
    "K-Members, TGC, Curve and microaggregation break ties by rank (default) or input.",
)
LOSS = Option(
    "loss",
    Literal["ncp", "byun", "ordered", "sse"],
    "ncp (default); byun for K-Members; ordered or sse (squared error) for Curve.",
)
STRATA = Option(
    "strata",
    str,
    "PRAM: a column each of whose values has its own matrix. Local suppression: compare inside.",
)
