# SPDX-License-Identifier: Apache-2.0
"""The main job: table -> encoded -> classes -> release, verified."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from anon.classes import merge, with_coded_sensitive
from anon.encoding import Codes, Encoded, encode
from anon.engines import Made, check_arguments, make, notes_on_neutral
from anon.errors import Parameter, PrivacyWarning, UsageError
from anon.methods import (
    ColumnPerturbation,
    Effort,
    Limits,
    Method,
    Progress,
    Suppress,
    check_beside,
    chosen,
    notes_beside,
)
from anon.release import (
    Release,
    Weights,
    alone_with_weight,
    check_weights,
    metadata_of,
    note_on_kept_weights,
    note_on_one_class,
    recheck_noise,
    with_held,
)
from anon.requirements import Requirement
from anon.schema import Role, Schema, crossing, is_text
from anon.tables import check_publishable, read_source, read_table
from anon.threads import available_threads
from anon.verbs.guess import Seen, tells_people
from anon.verbs.held import held_out, refuse_share
from anon.verbs.inspect import identifying_neutral
from anon.verbs.nearly import note_on_text
from anon.verbs.repeats import notes_on_repeats

ROWS_OF_GUESS = 1 << 17  # by whose values a column is guessed to name people


def anonymize(
    table: Any,
    schema: Schema,
    *,
    require: Sequence[Requirement] = (),
    method: Method | None = None,
    perturb: Sequence[ColumnPerturbation] = (),
    effort: Effort | None = None,
    publish: Literal["generalization", "bucketization"] = "generalization",
    numeric: Literal["interval", "bounds", "midpoint", "mean", "median", "level"] = "interval",
    missing: Literal["category", "suppress", "error"] = "category",
    order: Literal["class", "input"] = "class",
    weights: Weights = "class-mean",
    on_infeasible: Literal["error", "trivial"] = "error",
    suppress: float = 0,
    time_limit: float | None = None,
    control: float | None = None,
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
    method : Mondrian(), Curve(), FullDomain(), LocalSuppression(), KMembers(), TGC(), Anatomy(l), ...
        Or Laplace(epsilon). Default: that of `effort`. KMembers and TGC need a k; Identity, Suppress and
        Laplace enforce nothing and accept no requirement.
    perturb : sequence of Noise(), RankSwap(), RecordSwap(), Pram(), Shuffle()
        What else is changed, beside a method that makes classes: published columns, named by `columns=`, that
        are no quasi-identifiers, and sensitive only where no requirement speaks of them; they then count as
        neutral. Requirements, the re-check and measures of privacy say nothing of their values. The whole
        column takes part, rows that are left out too. Needs the table in memory.
    effort : "fast" | "balanced" | "best", only without a method
        How long to seek classes that lose little: Mondrian(), Curve("balanced") (the default) or
        Curve("best"). Of a table that stays in its files, or where units are counted, only "fast" is made,
        and that is the default.
    publish : "generalization" | "bucketization"
        One table of generalized cells, or intact quasi-identifiers beside a table of sensitive counts.
        What is learned across buckets is not bounded (docs/security.md).
    numeric : "interval" | "bounds" | "midpoint" | "mean" | "median" | "level"
        How the cells of numeric attributes are shown.
    missing : "category" | "suppress" | "error"
        Null is a value of its own, or its rows are not published, or it is an error.
    order : "class" | "input"
        Rows by class and shuffled inside each, or as they came (which lets rows be matched by position).
    weights : "class-mean" | "keep"
        What is published of the schema's sampling weights: the mean of each class, since different weights
        in a class tell its rows apart, or what they are.
    on_infeasible : "error" | "trivial"
        What happens when the demand cannot be met: an error, or a one-class release that can be
        measured but not written.
    suppress : float
        The greatest share of rows that may be left out: where the others then lose less; of FullDomain those
        in classes that fail; of LocalSuppression those of which no value would be left. Not of a
        bucketization, nor where units are counted (but FullDomain).
    time_limit : float, optional
        Seconds after which a search (of Curve or FullDomain) takes the best it has seen; the result then says
        so, and may differ from run to run. Curve ends its pass first.
    control : float, optional
        The share of people, drawn by the operating system, that a second release is made without: the answer
        is the release of all rows, and carries the other as `trial` and the rows held out as `control`, for
        `attack`. Both are the owner's: beside the release the trial tells who was held out. Needs the table
        in memory.
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
    of_units = None if getattr(schema, "unit", None) is None else "where units are counted"
    by_method = chosen(method, effort, of_units)
    limits = Limits.of(suppress, time_limit)
    check_arguments(
        schema, by_method, require, publish, numeric, order, on_infeasible, seed, progress, limits
    )
    check_weights(weights)
    named = check_beside(perturb, schema, by_method, require, publish)
    n_threads = available_threads(n_threads)
    tell = progress or (lambda stage, done, total: None)

    source, roles = read_source(table, progress=progress), schema
    tell("read", 1, 1)
    read_with = list(source.notes)
    if metadata_of(source) is not None:
        read_with.append(
            "the input is a release of this tool already: what is required is counted anew, of its cells as "
            "if they were values; anonymize the original"
        )
    in_files = None if isinstance(source.table, pa.Table) else "of a table that stays in its files"
    refuse_share(control, in_files)
    whole = source
    method = chosen(method, effort, of_units or in_files)
    noise: dict[str, Any] | None = None
    notes: list[str] = []
    if method.perturbs:
        original = read_table(source)
        source = replace(source, table=original)
        source, schema, noise, notes = method.perturb(source, schema, n_threads, progress)
        recheck_noise(original, source.table, noise)
    perturbed: list[dict[str, Any]] = []
    if perturb:
        if in_files is not None:
            raise UsageError(
                "perturb changes whole columns, and the table stays in its files: hold it in memory, ",
                Parameter('read_source(path, engine="local")', "--engine local"),
                ", or leave perturb out",
            )
        before = read_table(source)
        source = replace(source, table=before)
        bound = schema.bind(before.schema)
        for each in perturb:
            source, facts, told = each.changed(source, bound, progress)
            recheck_noise(before, source.table, facts)
            before = source.table
            perturbed.append({"method": repr(each), **facts})
            notes += told
        notes += notes_beside(perturb, schema)
        schema = schema.unjudged(named)
    tell("encode", 0, 1)
    encoded = encode(source.table, schema, missing=missing, n_threads=n_threads, tell=partial(tell, "encode"))
    encoded = with_coded_sensitive(encoded)
    check_publishable(encoded.table.schema)
    notes += read_with
    notes += _notes_on_neutral(encoded, {*named, *(noise["attributes"] if noise else ())})
    notes += _notes_on_names(encoded, method)
    notes += _notes_on_text(encoded)
    if numeric == "level" and publish == "generalization":
        notes += _notes_on_levels(encoded)
    if len(encoded.suppressed) == encoded.n_rows:
        notes.append("every row misses a value and is suppressed: the release is empty")
    made = make(
        encoded,
        method,
        require,
        publish=publish,
        numeric=numeric,
        seed=seed,
        n_threads=n_threads,
        progress=progress,
        trivial=on_infeasible == "trivial",
        limits=limits,
    )
    if made.impossible is not None:
        notes.append(f"{made.impossible}; this one-class release can be measured, not written")
    elif made.require and made.classes.n_classes == 1:
        notes.append(note_on_one_class(publish))

    if n_failing := made.left_out.get("classes that fail"):
        notes.append(f"{n_failing} of {encoded.n_rows} rows are left out, as their classes failed")
    if n_outliers := made.left_out.get("outliers"):
        notes.append(
            f"{n_outliers} of {encoded.n_rows} rows are left out, as the others lose less without them"
        )
    if n_void := made.left_out.get("no value left"):
        notes.append(f"{n_void} of {encoded.n_rows} rows are left out, as no value was left of them")
    if made.method.places_nulls and made.impossible is None and made.classes.n_classes:
        notes.append(_note_on_nulls(made))
    if made.lattice is not None and made.lattice.optimal is False:
        notes.append("the search ended before all levels were ruled out: others may lose less")
    elif made.task.deadline is not None and made.task.deadline.cut_short:
        notes.append("the time limit ended the search: other classes may lose less")
    if made.impossible is None and noise is None:
        table_as_is = source.table
        if isinstance(table_as_is, pa.Table):
            table_as_is = table_as_is.drop_columns([*named])
        notes += notes_on_repeats(table_as_is, schema, made.classes, made.require, n_threads)
    if encoded.weights is not None and weights == "keep" and made.classes.n_classes:
        merged, _ = merge(made.classes, made.cells, n_threads)
        alone = alone_with_weight(merged, encoded.weights)
        notes.append(note_on_kept_weights(schema.sampling_weight, alone, len(merged.rows)))

    tell("recode", 0, 1)
    release = made.release(
        publish=publish if noise is None else "perturbation",
        noise=noise,
        perturbed=perturbed,
        numeric=numeric,
        order=order,
        missing=missing,
        weights=weights,
        seed=seed,
        warnings=notes,
        judge=made.impossible is None,
        sources=[*map(str, source.paths), *source.identities],
        file_schema=source.schema,
    )
    if control is not None:
        asked: dict[str, Any] = {
            **{
                "require": require,
                "method": method,
                "perturb": perturb,
                "publish": publish,
                "numeric": numeric,
            },
            **{"missing": missing, "order": order, "weights": weights, "on_infeasible": on_infeasible},
            **{"suppress": suppress, "time_limit": time_limit, "seed": seed, "n_threads": n_threads},
        }
        tell("trial", 0, 1)
        held = held_out(whole, roles, control, lambda others: anonymize(others, roles, **asked))
        with_held(release, held)
    for note in release.warnings:
        warnings.warn(note, PrivacyWarning, stacklevel=2)
    return release


def _notes_on_levels(encoded: Encoded) -> list[str]:
    """Warnings of levels that do not nest, and so are no tree that cuts follow."""
    notes = []
    for attribute, domain in zip(encoded.schema.quasi, encoded.quasi, strict=True):
        found = None if domain.levels is None else crossing(attribute.hierarchy, domain.levels)
        if found is not None:
            finer, coarser, mended = found
            notes.append(
                f"column {domain.name!r}: intervals of {finer} and of {coarser} do not nest, so that cuts do "
                "not follow them and classes that no interval holds are published as *; the nearest that "
                f"nest are {mended!r}"
            )
    return notes


def _note_on_nulls(made: Made) -> str:
    """What a release with suppressed cells promises, and what it does not."""
    k = int(made.classes.sizes.min())
    n_null = sum(
        int(made.classes.sizes[one.blank[one.of_class]].sum()) for one in made.cells if one.blank is not None
    )
    n_cells = len(made.classes.rows) * len(made.cells)
    return (
        f"{n_null:,} of {n_cells:,} cells are null, and what was required holds where null matches anything, "
        f"which is less than k-anonymity: with null as a value of its own k = {k}; whoever knows whose cells "
        "are null may tell rows apart"
    )


def _notes_on_neutral(encoded: Encoded, changed: set[str]) -> list[str]:
    """Warnings of columns that are published as they are, or by class as linked, and may identify people."""
    named = {domain.name for domain in (*encoded.quasi, *encoded.sensitive)} | changed
    named.add(encoded.schema.sampling_weight or "")
    neutral = [name for name in encoded.table.column_names if name not in named]
    table = encoded.table.select(neutral)
    of_rows = ""
    if neutral and not isinstance(table, pa.Table):
        table = table.head()
        of_rows = f" in the first {table.num_rows} rows" if table.num_rows < encoded.n_rows else ""
    distinct = identifying_neutral(table, neutral)
    return notes_on_neutral(neutral, distinct, of_rows)


def _first_row(codes: Codes, mask: npt.NDArray[np.bool_]) -> int:
    return int(np.argmax(np.append(mask, False)[codes]))


def _notes_on_text(encoded: Encoded) -> list[str]:
    """Warnings of labels that are numbers or days but for some, or are written otherwise than these are."""
    original = encoded.original
    notes = []
    for domain, codes, attribute in (
        *zip(original.quasi, original.quasi_codes, original.schema.quasi, strict=True),
        *zip(original.sensitive, original.sensitive_codes, original.schema.sensitive, strict=True),
    ):
        if domain.kind == "nominal" and attribute.hierarchy is None and is_text(domain.values.type):
            counts = np.bincount(codes, minlength=domain.n_codes)[: domain.n_values]
            where = partial(_first_row, codes)
            notes.append(note_on_text(domain.name, domain.values, counts, where))
    return [note for note in notes if note is not None]


def _notes_on_names(encoded: Encoded, method: Method) -> list[str]:
    """Warnings of columns with a role whose values look like names or keys of people, and are published."""
    original, follows = encoded.original, encoded.schema.follows
    quasi = zip(original.quasi, original.quasi_codes, original.schema.quasi, strict=True)
    sensitive = zip(original.sensitive, original.sensitive_codes, original.schema.sensitive, strict=True)
    notes = []
    for role, columns in ((Role.QUASI, quasi), (Role.SENSITIVE, sensitive)):
        if method == Suppress("quasi" if role is Role.QUASI else "sensitive"):
            continue
        for domain, codes, attribute in columns:
            some = codes[:ROWS_OF_GUESS]
            counts = np.bincount(some, minlength=domain.n_codes)[: domain.n_values]
            present = counts > 0
            counted = pa.StructArray.from_arrays(
                [domain.values.filter(pa.array(present)), pa.array(counts[present])], ["values", "counts"]
            )
            seen = Seen(domain.name, domain.values.type, counted, len(some), int(counts.sum()))
            why = tells_people(seen, attribute.hierarchy is not None or domain.kind == "ordinal")
            if why is not None:
                as_what = "linked" if domain.name in follows else role.value
                notes.append(
                    f"column {domain.name!r} is {as_what} and so is published, but it may identify people: "
                    f"{why}; make it identifying to drop it"
                )
    return notes
