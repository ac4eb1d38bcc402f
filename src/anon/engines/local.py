# SPDX-License-Identifier: Apache-2.0
"""Encoded rows become classes that hold every requirement."""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from anon.classes import BY_NUMBER, Cells, Classes, cells, full_cells, group, merge, to_levels
from anon.encoding import Encoded, of_published_rows
from anon.engines.left_out import Attempt, better, passing, with_less_loss
from anon.entropy import Entropy, permutation, system
from anon.errors import InfeasibleError, Parameter, UsageError
from anon.methods import (
    NO_LIMITS,
    Common,
    Crowd,
    Deadline,
    Estimate,
    Identity,
    Lattice,
    Limits,
    Method,
    Progress,
    Shared,
    Suppress,
    Task,
    counts_units,
    estimate_balanced,
    repair,
)
from anon.release import Publish, Release, recode, shows_middles
from anon.requirements import KAnonymity, Requirement, check_list, compile, counting, infeasible
from anon.schema import Role, Schema, check_schema, role_of_name
from anon.threads import available_threads
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
    check_schema(schema)
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
    method.demands(require)
    method.check_published(publish, numeric)
    _check_people(schema, method, require, publish, numeric)
    _check_limits(schema, method, publish, limits)
    rounded = [attribute.name for attribute in schema.quasi if attribute.ends is not None]
    if rounded and numeric == "level":
        raise UsageError(
            f"column {rounded[0]!r} has ends to be rounded, and numeric='level' shows its levels: leave out "
            "one of the two"
        )
    if rounded and method.places_nulls:
        raise UsageError(
            f"column {rounded[0]!r} has ends to be rounded, and {type(method).__name__} shows values: "
            "leave out the ends"
        )
    if schema.all_coded and (method.perturbs or method.places_nulls):
        raise UsageError(
            f"column {schema.all_coded[0]!r} has a least level, top or bottom, which {type(method).__name__} "
            "cannot show: it publishes values, not cells; recode the column before, or publish cells"
        )
    for name, value, allowed in (
        ("publish", publish, ("generalization", "bucketization")),
        ("order", order, ("class", "input")),
        ("on_infeasible", on_infeasible, ("error", "trivial")),
    ):
        if value not in allowed:
            raise UsageError(f"{name} must be one of {', '.join(allowed)}")


def _check_limits(schema: Schema, method: Method, publish: str, limits: Limits) -> None:
    """Raise UsageError where rows cannot be left out, or there is no search to end."""
    suppress = Parameter("suppress=", "--suppress")
    if limits.time_limit is not None and not method.searches:
        raise UsageError(
            f"{type(method).__name__} does not search: leave out ",
            Parameter("time_limit=", "--time-limit"),
            ", or use ",
            Parameter("Curve() or FullDomain()", "--method curve or full-domain"),
        )
    if not limits.suppress or method.recodes or method.places_nulls:
        return
    if method.perturbs or not method.enforces:
        what = f"{type(method).__name__} makes no classes whose loss a row could lower"
    elif publish == "bucketization":
        what = "the cells of a bucketization lose nothing that leaving rows out would lower"
    elif schema.unit is not None:
        what = f"{type(method).__name__} leaves out rows, and units are counted"
    else:
        return
    raise UsageError(
        f"{what}: leave out ", suppress, ", or use ", Parameter("FullDomain()", "--method full-domain")
    )


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
    `left_out` counts the rows that belong to none, by reason.
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
    left_out: Mapping[str, int] = field(default_factory=dict)

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
            "left_out": self.left_out,
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
    common: Common | None = None,
) -> Made:
    """The method's classes of encoded rows, each holding every requirement, and their cells.

    `judged` are the same rows as requirements see them, by default the whole table. Raises
    InfeasibleError where no classes hold the requirements; with `trivial` all rows then become one class.
    `limits` say how many rows may be left out, and for how long a method may search. In `common` is
    what other releases of the same table, without units, have computed, by the keys of `shared_keys`.
    """
    asked = require
    judged = Judged.whole(encoded) if judged is None else judged
    if encoded.schema.household:
        _check_households(method, publish, numeric)
    _check_people(encoded.schema, method, require, publish, numeric)
    unit = encoded.schema.unit if encoded.units else None
    require = counting(method.demands(require), unit, method.counts_bags)
    crowd = Crowd.of(require, encoded, numeric == "level", n_threads)
    impossible = judged.impossible(require) or (None if crowd is None else crowd.impossible())
    if impossible is not None and not trivial:
        raise impossible
    lattice, before = None, len(encoded.suppressed)
    if method.recodes and impossible is None:
        encoded, method, lattice = method.recoded(encoded, judged.encoded, require, limits, crowd)
        judged = Judged.whole(encoded)
    deadline = None if limits.time_limit is None else Deadline(limits.time_limit)
    if progress is not None:
        progress("partition", 0, 1)
    if method.places_nulls and impossible is None:
        task = Task(judged.rules(require), np.random.default_rng(seed), n_threads, progress, entropy)
        classes, columns = method.nulled(encoded, task, require, limits)
        left_out = {"missing values": before, "no value left": len(classes.suppressed) - before}
        left_out = {reason: n for reason, n in left_out.items() if n}
        encoded = replace(encoded, suppressed=classes.suppressed)
        return Made(encoded, classes, columns, require, method, publish, None, task, None, left_out)
    method = method if impossible is None else Suppress("quasi")

    def attempt(
        encoded: Encoded, judged: Judged, start: Classes | None = None, shared: Shared | None = None
    ) -> Attempt:
        rules, rng = judged.rules(require), np.random.default_rng(seed)
        cut = judged.encoded.cut()
        if numeric == "level" and publish == "generalization" and not method.recodes:
            cut = cut.by_levels()
        task = Task(rules, rng, n_threads, progress, entropy, None, deadline, shared)
        rest = None if start is None else passing(start, cut, task)
        task = replace(task, start=rest)
        classes = _classes(cut, method, task, require, publish, numeric)
        return better(Attempt(encoded, cut, task, classes), rest, numeric)

    def again(encoded: Encoded, rest: Classes) -> Attempt | None:
        judged = Judged.whole(encoded)
        return attempt(encoded, judged, rest) if judged.impossible(require) is None else None

    shared = None if common is None else _shared(common, asked, publish, numeric)
    whole = made = attempt(encoded, judged, shared=shared)
    left_out = {"missing values": before, "classes that fail": len(encoded.suppressed) - before}
    if limits.suppress and impossible is None and lattice is None:
        made = with_less_loss(made, method, limits.suppress, numeric, again)
        left_out = {"missing values": before, "outliers": len(made.encoded.suppressed) - before}
    encoded, classes = made.encoded, made.classes
    if crowd is not None and impossible is None and lattice is None:
        classes = _crowded(classes, made.cut, crowd, method, made.task)
        if made is not whole and crowd.failing(classes).any():  # too few people look like what is left
            made, encoded, left_out = whole, whole.encoded, {"missing values": before}
            classes = _crowded(whole.classes, whole.cut, crowd, method, whole.task)
        if made.task.rules.by_units:
            classes = _settled(classes, made.cut, method, made.task, numeric)
    starred = method == Suppress("quasi")
    columns = full_cells(encoded, classes) if starred else cells(encoded, classes, n_threads)
    left_out = {reason: n for reason, n in left_out.items() if n}
    return Made(encoded, classes, columns, require, method, publish, impossible, made.task, lattice, left_out)


def shared_keys(
    method: Method, require: Sequence[Requirement], publish: Publish, numeric: str
) -> list[Hashable]:
    """The keys by which `make` asks for what other releases of the table may have computed."""
    return method.shares(_shared(Common(()), require, publish, numeric))


def _shared(common: Common, require: Sequence[Requirement], publish: Publish, numeric: str) -> Shared:
    by_level = numeric == "level" and publish == "generalization"
    return Shared(common, (tuple(require), by_level), by_level if publish == "generalization" else None)


def balanced_instead(release: Release) -> Estimate | None:
    """About what share of its loss a release of effort "fast" would have with "balanced", from some of its
    classes; None for others, and where balanced could not be made: of a bucketization, and of units.
    """
    if release.effort != "fast" or release.publish != "generalization" or not release.meets_requirements:
        return None
    if release.encoded.units is not None or not release.n_rows or not release.requirements:
        return None
    if any(attribute.ends is not None for attribute in release.encoded.schema.quasi):
        return None  # classes that round to the same are one: what they were before is not known
    judged = Judged.whole(release.encoded)
    cut = judged.encoded.cut()
    cut = cut.by_levels() if release.numeric == "level" else cut
    task = Task(
        judged.rules(release.requirements), np.random.default_rng(0), n_threads=available_threads(None)
    )
    k = max((r.least_rows or 1 for r in release.requirements), default=1)
    return estimate_balanced(cut, release.classes, task, k)


def _check_people(
    schema: Schema, method: Method, require: Sequence[Requirement], publish: str, numeric: str
) -> None:
    """Raise UsageError where a requirement on people cannot be enforced, or checked in the release."""
    for each in require:
        if each.by_levels and not method.recodes:
            raise UsageError(
                f"{each}: no test of one class decides it: use ",
                Parameter("FullDomain()", "--method full-domain"),
            )
        if each.people is None:
            continue
        if publish == "bucketization":
            raise UsageError(
                f"{each}: a bucketization leaves quasi-identifiers intact: publish a generalization"
            )
        if each.people == "table" and numeric not in ("interval", "level"):
            raise UsageError(
                f"{each}: people are inside cells, which numeric={numeric!r} does not show as such: choose "
                "interval or level"
            )
        if schema.household:
            raise UsageError(
                f"{each}: households are not merged until enough people look alike: leave out ",
                Parameter("household=", "--household"),
            )


def _crowded(classes: Classes, encoded: Encoded, crowd: Crowd, method: Method, task: Task) -> Classes:
    """Classes merged with neighbors, each that fails once at a time, until enough people look like all."""
    while classes.n_classes > 1:
        failing = crowd.failing(classes)
        if not failing.any():
            return classes
        classes = repair(classes, encoded, task.rules, ties=method.ties, cut=False, failing=failing)
    return classes


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
    elif numeric in BY_NUMBER:
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
    if method.grows and publish == "generalization" and not shows_middles(method, numeric):
        classes, _ = merge(classes, cells(encoded, classes, task.n_threads), task.n_threads)
    if method.repaired or of_method is not task or encoded.rounds is not None:
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
    if numeric in BY_NUMBER:
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
