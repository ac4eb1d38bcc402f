# SPDX-License-Identifier: Apache-2.0
"""The main job: table -> encoded -> classes -> release, verified."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import pyarrow as pa

from anon.encoding import Encoded, encode
from anon.engines import check_arguments, make, notes_on_neutral
from anon.errors import PrivacyWarning
from anon.methods import Effort, Method, Progress, chosen
from anon.release import Release, recheck_noise
from anon.requirements import Requirement
from anon.schema import Schema
from anon.tables import check_publishable, read_source, read_table
from anon.threads import available_threads
from anon.verbs.inspect import identifying_neutral


def anonymize(
    table: Any,
    schema: Schema,
    *,
    require: Sequence[Requirement] = (),
    method: Method | None = None,
    effort: Effort | None = None,
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
        Default: that of `effort`. KMembers and TGC need a k; Identity, Suppress and Laplace enforce nothing
        and accept no requirement.
    effort : "fast" | "balanced" | "best", only without a method
        How long to seek classes that lose little: Mondrian(), Curve("balanced") (the default) or
        Curve("best"). Of a table that stays in its files only "fast" is made, and that is the default.
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
    by_method = chosen(method, effort)
    check_arguments(schema, by_method, require, publish, numeric, order, on_infeasible, seed, progress)
    n_threads = available_threads(n_threads)
    tell = progress or (lambda stage, done, total: None)

    tell("read", 0, 1)
    source = read_source(table)
    in_files = None if isinstance(source.table, pa.Table) else "of a table that stays in its files"
    method = chosen(method, effort, in_files)
    noise: dict[str, Any] | None = None
    notes: list[str] = []
    if method.perturbs:
        original = read_table(source)
        source = replace(source, table=original)
        source, schema, noise, notes = method.perturb(source, schema, n_threads, progress)
        recheck_noise(original, source.table, noise)
    tell("encode", 0, 1)
    encoded = encode(source.table, schema, missing=missing, n_threads=n_threads)
    check_publishable(encoded.table.schema)
    notes += _notes_on_neutral(encoded, noise)
    if len(encoded.suppressed) == encoded.n_rows:
        notes.append("every row misses a value and is suppressed: the release is empty")
    made = make(
        encoded,
        method,
        require,
        publish=publish,
        seed=seed,
        n_threads=n_threads,
        progress=progress,
        trivial=on_infeasible == "trivial",
    )
    if made.impossible is not None:
        notes.append(f"{made.impossible}; this one-class release can be measured, not written")
    elif made.require and made.classes.n_classes == 1:
        notes.append("only one class satisfies the requirements: every quasi-identifier is fully generalized")

    tell("recode", 0, 1)
    release = made.release(
        publish=publish if noise is None else "perturbation",
        noise=noise,
        numeric=numeric,
        order=order,
        missing=missing,
        seed=seed,
        warnings=notes,
        sources=[str(path) for path in source.paths],
        file_schema=source.schema,
    )
    for note in notes:
        warnings.warn(note, PrivacyWarning, stacklevel=2)
    return release


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
    return notes_on_neutral(neutral, distinct, of_rows)
