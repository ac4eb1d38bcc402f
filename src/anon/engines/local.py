# SPDX-License-Identifier: Apache-2.0
"""Encoded rows become classes that hold every requirement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from anon.classes import Cells, Classes, cells, full_cells, merge
from anon.encoding import Encoded
from anon.entropy import permutation
from anon.errors import UsageError
from anon.methods import Identity, Method, Progress, Suppress, Task, repair
from anon.requirements import Requirement, check_list
from anon.schema import Schema


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
        raise UsageError(f"{type(method).__name__} enforces nothing: drop the requirements or use Mondrian()")
    if method.needs_k and not any(r.least_rows for r in require):
        raise UsageError(
            f"{type(method).__name__} grows classes of at least k rows: "
            "ask for KAnonymity(k) or AlphaK(alpha, k)"
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


def partitioned(
    encoded: Encoded,
    judged: Encoded,
    method: Method,
    task: Task,
    require: Sequence[Requirement],
    publish: str,
) -> tuple[Classes, tuple[Cells, ...]]:
    """The method's classes and their cells; `judged` is `of_published_rows(encoded)`."""
    classes = classes_of(judged, method, task, require, publish)
    if method == Suppress("quasi"):
        return classes, full_cells(encoded, classes)
    return classes, cells(encoded, classes, task.n_threads)


def classes_of(
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
    return repair(classes, encoded, task.rules, ties=method.ties) if method.repaired else classes


def table_counts(encoded: Encoded) -> tuple[npt.NDArray[np.int64], ...]:
    """Rows of every sensitive value among the rows to be published."""
    counts = []
    for domain, codes in zip(encoded.sensitive, encoded.sensitive_codes, strict=True):
        whole = np.bincount(codes, minlength=domain.n_codes)
        whole -= np.bincount(codes[encoded.suppressed], minlength=domain.n_codes)
        counts.append(whole.astype(np.int64))
    return tuple(counts)
