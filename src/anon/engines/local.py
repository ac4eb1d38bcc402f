# SPDX-License-Identifier: Apache-2.0
"""Encoded rows become classes that hold every requirement."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from anon.classes import Cells, Classes, cells, full_cells, merge
from anon.encoding import Encoded, of_published_rows
from anon.entropy import Entropy, permutation, system
from anon.errors import InfeasibleError, Parameter, UsageError
from anon.methods import Identity, Method, Progress, Suppress, Task, repair
from anon.release import Publish, Release, recode
from anon.requirements import Requirement, check_list, compile, infeasible
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
    sensitive attribute) count the `n_rows` published rows of the table, of which `encoded` may be a part.
    """

    encoded: Encoded
    counts: tuple[npt.NDArray[np.int64], ...]
    n_rows: int

    @classmethod
    def whole(cls, encoded: Encoded) -> Self:
        """The published rows of `encoded`, which are the whole table."""
        judged, counts = of_published_rows(encoded), []
        for domain, codes in zip(judged.sensitive, judged.sensitive_codes, strict=True):
            rows = np.bincount(codes, minlength=domain.n_codes)
            rows -= np.bincount(codes[judged.suppressed], minlength=domain.n_codes)
            counts.append(rows.astype(np.int64))
        return cls(judged, tuple(counts), encoded.n_rows - len(encoded.suppressed))

    def rules(self, require: Sequence[Requirement]) -> Conjunction:
        """The requirements as one test; UsageError where one makes no sense for the table."""
        return compile(require, self.encoded.sensitive, self.counts, self.n_rows)


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
        }
        return recode(self.encoded, self.classes, self.cells, **(known | more))


def make(
    encoded: Encoded,
    method: Method,
    require: Sequence[Requirement],
    *,
    publish: Publish = "generalization",
    judged: Judged | None = None,
    seed: int | Sequence[int] = 0,
    n_threads: int = 1,
    progress: Progress | None = None,
    entropy: Entropy = system,
    trivial: bool = False,
) -> Made:
    """The method's classes of encoded rows, each holding every requirement, and their cells.

    `judged` are the same rows as requirements see them, by default the whole table. Raises
    InfeasibleError where no classes hold the requirements; with `trivial` all rows then become one class.
    """
    judged = Judged.whole(encoded) if judged is None else judged
    require = (*require, *method.implied())
    impossible = infeasible(require, judged.encoded.sensitive, judged.counts, judged.n_rows)
    if impossible is not None and not trivial:
        raise impossible
    rng = np.random.default_rng(seed)
    task = Task(judged.rules(require), rng, n_threads, progress, entropy)
    if progress is not None:
        progress("partition", 0, 1)
    method = method if impossible is None else Suppress("quasi")
    classes = _classes(judged.encoded, method, task, require, publish)
    starred = method == Suppress("quasi")
    shown = full_cells(encoded, classes) if starred else cells(encoded, classes, n_threads)
    return Made(encoded, classes, shown, require, method, publish, impossible, task)


def _classes(
    encoded: Encoded, method: Method, task: Task, require: Sequence[Requirement], publish: str
) -> Classes:
    """The method's classes; where it does not enforce every requirement itself, merged until all hold."""
    if len(encoded.suppressed) == encoded.n_rows:
        method = Identity()  # no row is left from which a class could grow
    if publish == "bucketization" and method.chooses:
        encoded = replace(encoded, draw=permutation(encoded.n_rows, task.entropy))
    k = max((r.least_rows or 1 for r in require), default=1)
    classes = method.classes(encoded, task, k)
    if method.grows and publish == "generalization":
        classes, _ = merge(classes, cells(encoded, classes, task.n_threads), task.n_threads)
    if not method.repaired:
        return classes
    if (
        publish == "bucketization"
    ):  # a deal that hides who has which value is not undone by cuts that follow it
        return repair(classes, encoded, task.rules, ties=method.ties, cut=False)
    repaired = repair(classes, encoded, task.rules, ties=method.ties)
    if repaired.n_classes == classes.n_classes:
        return repaired
    repaired, _ = merge(repaired, cells(encoded, repaired, task.n_threads), task.n_threads)
    return repair(repaired, encoded, task.rules, ties=method.ties, cut=False)


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
