# SPDX-License-Identifier: Apache-2.0
"""The main job: table -> encoded -> classes -> release, verified."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from anon.classes import Cells, Classes, cells, full_cells, merge
from anon.columns import check_publishable
from anon.encode import Encoded, available_threads, encode, of_published_rows
from anon.entropy import permutation
from anon.errors import UsageError
from anon.inspection import identifying_neutral, role_of_name
from anon.methods import (
    ENFORCING,
    GROWING,
    PERTURBING,
    TRIVIAL,
    Anatomy,
    Growing,
    Identity,
    Laplace,
    Method,
    Mondrian,
    Progress,
    Suppress,
    Task,
    repair,
)
from anon.read import read_source, read_table
from anon.recheck import recheck_noise
from anon.release import Release, recode
from anon.requirements import AlphaK, KAnonymity, LDiversity, Requirement, check_list, compile, infeasible
from anon.schema import Role, Schema


class PrivacyWarning(UserWarning):
    """The release holds what was asked for, but something about it deserves a look."""


def anonymize(
    table: Any,
    schema: Schema,
    *,
    require: Sequence[Requirement] = (),
    method: Method | None = None,
    publish: Literal["generalization", "bucketization"] = "generalization",
    numeric: Literal["interval", "bounds", "midpoint", "mean", "level"] = "interval",
    missing: Literal["category", "suppress", "error"] = "category",
    order: Literal["class", "input"] = "class",
    on_infeasible: Literal["error", "trivial"] = "error",
    seed: int = 0,
    n_threads: int | None = None,
    progress: Progress | None = None,
) -> Release:
    """Anonymize a table: the release satisfies every requirement, or there is none.

    Parameters
    ----------
    table : anything with the Arrow PyCapsule interface, a dict of arrays, a path, or a Source
        Parquet, Feather or CSV; a directory or glob is one table. One that would not fit in half of
        the machine's memory stays in its files; `read_source` tells how to choose this oneself.
    schema : Schema
        Which columns are quasi-identifiers, sensitive or identifying; the rest is neutral.
    require : sequence of requirements
        All of them hold in every equivalence class (spec: Brickell & Shmatikov 2008, 4; Li & Li 2009, 2.2).
    method : Mondrian(), KMembers(), TGC(), Curve(), Anatomy(l), Identity(), Suppress(what), Laplace(epsilon)
        Default Mondrian(). KMembers, TGC and Curve need a k; Identity, Suppress and Laplace enforce nothing
        and accept no requirement.
    publish : "generalization" | "bucketization"
        One table of generalized cells, or intact quasi-identifiers beside a table of sensitive counts.
        What is learned across buckets is not bounded (docs/security.md).
    numeric : "interval" | "bounds" | "midpoint" | "mean" | "level"
        How the cells of numeric attributes are shown.
    missing : "category" | "suppress" | "error"
        Null is a value of its own, or its rows are not published, or it is an error.
    order : "class" | "input"
        Rows by class and shuffled inside each, or as they came (which lets rows be matched by position).
    on_infeasible : "error" | "trivial"
        What happens when the demand cannot be met: an error, or a one-class release that can be
        measured but not written.
    seed : int
        Where a method's search starts. Nothing that hides something depends on it: the order inside
        classes, the deal of Anatomy, which of equal people goes into which bucket, and the noise of
        Laplace come from the operating system.
    n_threads : int, optional
        Default: the processors this process may use. The answer does not depend on it.
    progress : callable(stage, done, total), optional
        Told how far the work has come.

    Raises
    ------
    UsageError, DataError
        The parameters or the table cannot be used as asked.
    InfeasibleError
        No release can meet a requirement; names the tightest value that can be met.
    RecheckError
        The finished release failed its own independent check (a fault of the tool).
    """
    method = Mondrian() if method is None else method
    check_arguments(schema, method, require, publish, numeric, order, on_infeasible, seed, progress)
    n_threads = available_threads(n_threads)
    tell = progress or (lambda stage, done, total: None)
    if isinstance(method, Anatomy):
        require = (*require, LDiversity(method.l, "probabilistic", sensitive=method.sensitive))

    tell("read", 0, 1)
    source = read_source(table)
    noise: dict[str, Any] | None = None
    notes: list[str] = []
    if type(method) in PERTURBING:
        original = read_table(source)
        source = replace(source, table=original)
        source, schema, noise, notes = PERTURBING[type(method)](source, schema, method, n_threads, progress)
        recheck_noise(original, source.table, noise)
    tell("encode", 0, 1)
    encoded = encode(source.table, schema, missing=missing, n_threads=n_threads)
    check_publishable(encoded.table.schema)
    judged = of_published_rows(encoded)
    counts = table_counts(judged)
    n_kept = encoded.n_rows - len(encoded.suppressed)
    notes += _notes_on_neutral(encoded, noise)

    if n_kept == 0:
        notes.append("every row misses a value and is suppressed: the release is empty")
    impossible = infeasible(require, judged.sensitive, counts, n_kept)
    if impossible is not None and on_infeasible == "error":
        raise impossible
    task = Task(
        compile(require, judged.sensitive, counts, n_kept), np.random.default_rng(seed), n_threads, progress
    )
    tell("partition", 0, 1)
    if impossible is not None:
        notes.append(f"{impossible}; this one-class release can be measured, not written")
        method = Suppress("quasi")
    classes, shown = partitioned(encoded, judged, method, task, require, publish)
    if require and impossible is None and classes.n_classes == 1:
        notes.append("only one class satisfies the requirements: every quasi-identifier is fully generalized")

    tell("recode", 0, 1)
    release = recode(
        encoded,
        classes,
        shown,
        require,
        method=method,
        publish=publish if noise is None else "perturbation",
        noise=noise,
        numeric=numeric,
        order=order,
        missing=missing,
        seed=seed,
        warnings=notes,
        meets_requirements=impossible is None,
        sources=[str(path) for path in source.paths],
        file_schema=source.schema,
        dropped=[domain.name for domain in encoded.sensitive if method == Suppress("sensitive")],
        n_threads=n_threads,
    )
    for note in notes:
        warnings.warn(note, PrivacyWarning, stacklevel=2)
    return release


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
    if type(method) not in ENFORCING | GROWING | TRIVIAL:
        raise UsageError(f"method must be one of anon's methods, not {type(method).__name__}")
    if require and type(method) in TRIVIAL:
        raise UsageError(f"{type(method).__name__} enforces nothing: drop the requirements or use Mondrian()")
    if isinstance(method, Growing) and not any(isinstance(r, KAnonymity | AlphaK) for r in require):
        raise UsageError(
            f"{type(method).__name__} grows classes of at least k rows: "
            "ask for KAnonymity(k) or AlphaK(alpha, k)"
        )
    if not require and type(method) is Mondrian:
        raise UsageError("nothing is required: ask for at least one requirement, for example KAnonymity(10)")
    if isinstance(method, Anatomy) and publish != "bucketization":
        raise UsageError('Anatomy leaves quasi-identifiers intact: it needs publish="bucketization"')
    if isinstance(method, Laplace) and (publish != "generalization" or numeric != "interval"):
        raise UsageError(
            "Laplace publishes numbers with noise and intact labels: leave publish and numeric out"
        )
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
    if publish == "bucketization" and (isinstance(method, Growing | Anatomy) or _is_relaxed(method)):
        encoded = replace(encoded, draw=permutation(encoded.n_rows, task.entropy))
    if isinstance(method, Growing):
        k = max(r.k for r in require if isinstance(r, KAnonymity | AlphaK))
        classes = GROWING[type(method)](encoded, method, task, k)
        if publish == "generalization":
            classes, _ = merge(classes, cells(encoded, classes, task.n_threads), task.n_threads)
        return repair(classes, encoded, task.rules, ties=method.ties)
    classes = (ENFORCING | TRIVIAL)[type(method)](encoded, method, task)
    return repair(classes, encoded, task.rules) if isinstance(method, Anatomy) else classes


def _is_relaxed(method: Method) -> bool:
    return isinstance(method, Mondrian) and method.relaxed


def table_counts(encoded: Encoded) -> tuple[npt.NDArray[np.int64], ...]:
    """Rows of every sensitive value among the rows to be published."""
    counts = []
    for domain, codes in zip(encoded.sensitive, encoded.sensitive_codes, strict=True):
        whole = np.bincount(codes, minlength=domain.n_codes)
        whole -= np.bincount(codes[encoded.suppressed], minlength=domain.n_codes)
        counts.append(whole.astype(np.int64))
    return tuple(counts)


def _notes_on_neutral(encoded: Encoded, noise: dict[str, Any] | None) -> list[str]:
    """Warnings of columns that are published as they are and may identify people."""
    named = {domain.name for domain in (*encoded.quasi, *encoded.sensitive)} | set(
        noise["attributes"] if noise else ()
    )
    neutral = [name for name in encoded.table.column_names if name not in named]
    table = encoded.table.select(neutral)
    of_rows = ""
    if neutral and not isinstance(table, pa.Table):
        table = table.head()
        of_rows = f" in the first {table.num_rows} rows" if table.num_rows < encoded.n_rows else ""
    distinct = identifying_neutral(table, neutral)
    known = set(distinct)
    notes = [
        f"column {name!r} is neutral but more than 90 % of its values{of_rows} are distinct: "
        "it may identify people; make it identifying to drop it"
        for name in distinct
    ]
    return notes + [
        f"column {name!r} is neutral but by its name it identifies people; make it identifying to drop it"
        for name in neutral
        if name not in known and role_of_name(name) is Role.IDENTIFYING
    ]
