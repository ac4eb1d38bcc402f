# SPDX-License-Identifier: Apache-2.0
"""Encoded rows become classes that hold every requirement."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from anon.classes import Cells, Classes, cells, full_cells, group, merge, to_levels
from anon.encoding import Encoded, of_published_rows
from anon.entropy import Entropy, permutation, system
from anon.errors import InfeasibleError, Parameter, UsageError
from anon.methods import (
    NO_LIMITS,
    Identity,
    Lattice,
    Limits,
    Method,
    Progress,
    Suppress,
    Task,
    counts_units,
    repair,
)
from anon.release import Publish, Release, recode
from anon.requirements import KAnonymity, Requirement, check_list, compile, counting, infeasible
from anon.schema import Role, Schema, role_of_name
from anoncore.requirement import Conjunction


def check_arguments(
    schema: Schema,
    method: Method,
    require: Sequence[Requirement],
    publish: str,
    numeric: str,
    order: str,
    on_infeasible: str,
    seed: int,
    progress: Progress | None,
    limits: Limits = NO_LIMITS,
) -> None:
    """Raise UsageError where an argument of `anonymize` is none of its values, or two do not go together."""
    if not isinstance(schema, Schema):
        raise UsageError(f"schema must be an anon.Schema, not {type(schema).__name__}")
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise UsageError("seed must be a whole number of at least 0")
    if progress is not None and not callable(progress):
        raise UsageError("progress must be a function of (stage, done, total)")
    check_list(require)
    if not isinstance(method, Method):
        raise UsageError(f"method must be one of anon's methods, not {type(method).__name__}")
    if require and not method.enforces:
        raise UsageError(
            f"{type(method).__name__} enforces nothing: drop the requirements or use ",
            Parameter("Mondrian()", "--method mondrian"),
        )
    if method.needs_k and not any(r.least_rows for r in require):
        raise UsageError(
            f"{type(method).__name__} grows classes of at least k rows: ask for ",
            Parameter("KAnonymity(k) or AlphaK(alpha, k)", "--k"),
        )
    if not require and method.enforces and not method.implied():
        raise UsageError("nothing is required: ask for at least one requirement, for example KAnonymity(10)")
    method.check_published(publish, numeric)
    if not method.recodes and limits != NO_LIMITS:
        raise UsageError(
            f"{type(method).__name__} suppresses no rows and does not search: leave out suppress and "
            "time_limit, or use ",
            Parameter("FullDomain()", "--method full-domain"),
        )
    if schema.coded and (publish == "bucketization" or method.perturbs):
        what = "a bucketization" if publish == "bucketization" else type(method).__name__
        raise UsageError(
            f"column {schema.coded[0]!r} has a least level, top or bottom, which {what} cannot show: it "
            "publishes values, not cells; recode the column before, or publish generalizations"
        )
    for name, value, allowed in (
        ("publish", publish, ("generalization", "bucketization")),
        ("order", order, ("class", "input")),
        ("on_infeasible", on_infeasible, ("error", "trivial")),
    ):
        if value not in allowed:
            raise UsageError(f"{name} must be one of {', '.join(allowed)}")


@dataclass(frozen=True, repr=False)
class Judged:
    """Rows as requirements see them, and the table that they compare a class with.

    `encoded` holds just the sensitive values of the published rows; `counts` (int64, one per code of each
    sensitive attribute) count the `n_rows` published rows of the table, of which `encoded` may be a part;
    then `of_units` are the table's `unit_counts`.
    """

    encoded: Encoded
    counts: tuple[npt.NDArray[np.int64], ...]
    n_rows: int
    of_units: tuple[npt.NDArray[np.int64], ...] | None = None

    @classmethod
    def whole(cls, encoded: Encoded) -> Self:
        """The published rows of `encoded`, which are the whole table."""
        judged, counts = of_published_rows(encoded), []
        for domain, codes in zip(judged.sensitive, judged.sensitive_codes, strict=True):
            rows = np.bincount(codes, minlength=domain.n_codes)
            rows -= np.bincount(codes[judged.suppressed], minlength=domain.n_codes)
            counts.append(rows.astype(np.int64))
        return cls(judged, tuple(counts), encoded.n_rows - len(encoded.suppressed))

    @cached_property
    def n_units(self) -> int | None:
        """Units that have a published row; None where the schema names none."""
        units = self.encoded.units
        return None if units is None else int(np.count_nonzero(np.bincount(units.codes[self.encoded.kept])))

    @cached_property
    def unit_counts(self) -> tuple[npt.NDArray[np.int64], ...]:
        """The units with each code of each sensitive attribute (int64)."""
        if self.of_units is not None:
            return self.of_units
        units, counts = self.encoded.units, []
        assert units is not None
        for domain, codes in zip(self.encoded.sensitive, self.encoded.sensitive_codes, strict=True):
            pairs = group((codes, units.codes), self.encoded.suppressed)
            of_pair = codes[pairs.rows[pairs.offsets[:-1]]]
            counts.append(np.bincount(of_pair, minlength=domain.n_codes).astype(np.int64))
        return tuple(counts)

    def rules(self, require: Sequence[Requirement]) -> Conjunction:
        """The requirements as one test; UsageError where one makes no sense for the table."""
        rules = compile(require, self.encoded.sensitive, self.counts, self.n_rows)
        if self.n_units is None or not rules.n_sensitive:
            return rules
        return compile(require, self.encoded.sensitive, self.unit_counts, self.n_rows, by_units=True)

    def impossible(self, require: Sequence[Requirement]) -> InfeasibleError | None:
        """Why no release meets the requirements, if the table as one class does not."""
        rules = self.rules(require)
        counts = self.unit_counts if rules.by_units else self.counts
        return infeasible(require, self.encoded.sensitive, counts, self.n_rows, self.n_units)


@dataclass(frozen=True, repr=False)
class Made:
    """Classes that hold every one of `require`, or one class where that is `impossible`.

    `require` is what was asked and what the method implies, `method` the one that made the classes.
    """

    encoded: Encoded
    classes: Classes
    cells: tuple[Cells, ...]
    require: tuple[Requirement, ...]
    method: Method
    publish: Publish
    impossible: InfeasibleError | None
    task: Task
    lattice: Lattice | None = None

    def release(self, **more: Any) -> Release:
        """The release that shows the cells, verified; `more` is what else `recode` takes."""
        dropped = [domain.name for domain in self.encoded.sensitive if self.method == Suppress("sensitive")]
        known: dict[str, Any] = {
            "requirements": self.require,
            "method": self.method,
            "publish": self.publish,
            "meets_requirements": self.impossible is None,
            "dropped": dropped,
            "n_threads": self.task.n_threads,
            "entropy": self.task.entropy,
            "lattice": self.lattice,
        }
        return recode(self.encoded, self.classes, self.cells, **(known | more))


def make(
    encoded: Encoded,
    method: Method,
    require: Sequence[Requirement],
    *,
    publish: Publish = "generalization",
    numeric: str = "interval",
    judged: Judged | None = None,
    seed: int | Sequence[int] = 0,
    n_threads: int = 1,
    progress: Progress | None = None,
    entropy: Entropy = system,
    trivial: bool = False,
    limits: Limits = NO_LIMITS,
) -> Made:
    """The method's classes of encoded rows, each holding every requirement, and their cells.

    `judged` are the same rows as requirements see them, by default the whole table. Raises
    InfeasibleError where no classes hold the requirements; with `trivial` all rows then become one class.
    `limits` are those of a method that may suppress rows or search for long.
    """
    judged = Judged.whole(encoded) if judged is None else judged
    if encoded.schema.household:
        _check_households(method, publish, numeric)
    unit = encoded.schema.unit if encoded.units else None
    require = counting((*require, *method.implied()), unit, method.counts_bags)
    impossible = judged.impossible(require)
    if impossible is not None and not trivial:
        raise impossible
    lattice = None
    if method.recodes and impossible is None:
        encoded, method, lattice = method.recoded(encoded, judged.encoded, require, limits)
        judged = Judged.whole(encoded)
    rng = np.random.default_rng(seed)
    task = Task(judged.rules(require), rng, n_threads, progress, entropy)
    if progress is not None:
        progress("partition", 0, 1)
    method = method if impossible is None else Suppress("quasi")
    classes = _classes(judged.encoded.cut(), method, task, require, publish, numeric)
    starred = method == Suppress("quasi")
    columns = full_cells(encoded, classes) if starred else cells(encoded, classes, n_threads)
    return Made(encoded, classes, columns, require, method, publish, impossible, task, lattice)


def _check_households(method: Method, publish: str, numeric: str) -> None:
    """Raise UsageError where the rows of a household would not show the same."""
    what: tuple[str | Parameter, ...] = ()
    if method.perturbs or (method.enforces and not method.keeps_households):
        what = (
            f"{type(method).__name__} does not keep households together: use ",
            Parameter("Mondrian()", "--method mondrian"),
        )
    elif publish == "bucketization":
        what = ("a bucketization leaves quasi-identifiers intact",)
    elif numeric in ("midpoint", "mean"):
        what = (f"numeric={numeric!r} is of classes, not of households: choose interval, bounds or level",)
    if what:
        raise UsageError(*what, "; or leave out ", Parameter("household=", "--household"))


def _classes(
    encoded: Encoded, method: Method, task: Task, require: Sequence[Requirement], publish: str, numeric: str
) -> Classes:
    """The method's classes; where it does not enforce every requirement itself, merged until all hold."""
    if len(encoded.suppressed) == encoded.n_rows:
        method = Identity()  # no row is left from which a class could grow
    if publish == "bucketization" and method.chooses:
        encoded = replace(encoded, draw=permutation(encoded.n_rows, task.entropy))
    k = max((r.least_rows or 1 for r in require), default=1)
    counts_rows = not counts_units(task.rules) or not method.enforces
    of_method = task
    if not counts_rows and not method.counts_units:  # it sees to the rows, the repair to whose they are
        of_method = replace(task, rules=compile([KAnonymity(task.rules.min_size)], (), (), task.rules.n_rows))
    classes = method.classes(encoded, of_method, k)
    if method.grows and publish == "generalization":
        classes, _ = merge(classes, cells(encoded, classes, task.n_threads), task.n_threads)
    if method.repaired or of_method is not task:
        # a deal that hides who has which value is not undone by cuts that follow it
        classes = _repaired(classes, encoded, method, task, may_cut=publish == "generalization")
    if task.rules.by_units and not counts_rows and publish == "generalization":
        return _settled(classes, encoded, method, task, numeric)
    return classes


def _repaired(classes: Classes, encoded: Encoded, method: Method, task: Task, may_cut: bool) -> Classes:
    """Classes that pass; where some were cut anew, also with those that then look alike as one."""
    repaired = repair(classes, encoded, task.rules, ties=method.ties, cut=may_cut)
    if not may_cut or repaired.n_classes == classes.n_classes:
        return repaired
    repaired, _ = merge(repaired, cells(encoded, repaired, task.n_threads), task.n_threads)
    return repair(repaired, encoded, task.rules, ties=method.ties, cut=False)


def _settled(classes: Classes, encoded: Encoded, method: Method, task: Task, numeric: str) -> Classes:
    """Classes that all pass, also where those that look alike are one.

    By units two classes that pass may fail together: one whose values a unit of the other has too.
    """
    if numeric in ("midpoint", "mean"):
        raise UsageError(
            f"numeric={numeric!r} makes classes look alike, which may then not meet what is required of the "
            "units' sensitive values: choose interval, bounds or level"
        )
    while True:
        columns = cells(encoded, classes, task.n_threads)
        if numeric == "level":
            columns = tuple(to_levels(one) if one.domain.kind == "numeric" else one for one in columns)
        merged, _ = merge(classes, columns, task.n_threads)
        if merged.n_classes == classes.n_classes:
            return classes
        mended = repair(merged, encoded, task.rules, ties=method.ties, cut=False)
        if classes.together is not None:
            if mended.n_classes < merged.n_classes:
                raise UsageError(
                    "classes of several households look alike and together do not meet what is required of "
                    "sensitive values: ask for less, or leave out household="
                )
            return classes
        classes = mended


def notes_on_neutral(neutral: Iterable[str], distinct: Container[str], of_rows: str = "") -> list[str]:
    """Warnings of columns published as they are: most values (`of_rows`) differ, or the name tells people."""
    neutral = list(neutral)
    return [
        f"column {name!r} is neutral but more than 90 % of its values{of_rows} are distinct: "
        "it may identify people; make it identifying to drop it"
        for name in neutral
        if name in distinct
    ] + [
        f"column {name!r} is neutral but by its name it identifies people; make it identifying to drop it"
        for name in neutral
        if name not in distinct and role_of_name(name) is Role.IDENTIFYING
    ]
