# SPDX-License-Identifier: Apache-2.0
"""Anonymize and check tables of any size on Spark; the driver holds domains and counts, never rows.

The top of Mondrian's tree is built from counts summed over the cluster, level by level, until every
node fits one task; the rows are then shuffled once, by node, and each node is finished by the same
kernels as on one machine. docs/spark.md tells what each step reads, moves and holds.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import pyarrow as pa

from anon.classes import Classes, Rendering, full_cells, render, texts, to_levels
from anon.encoding import Domain, Encoded, Missing
from anon.engines.local import check_arguments, notes_on_neutral
from anon.engines.spark.check import refuse_custom, refuse_others
from anon.engines.spark.classes import (
    OTHER_ROWS,
    class_counts,
    counts_of_slices,
    counts_of_units,
    holds_others,
    merged,
    merged_units,
    named,
)
from anon.engines.spark.frames import Batches, Ints, rows_of
from anon.engines.spark.read import (
    ReadFrame,
    batches_of_bytes,
    coded_chunks,
    kept_columns,
    own_errors,
    read_frame,
    refuse_missing,
)
from anon.engines.spark.solve import NODE_ROWS, solved
from anon.engines.spark.tree import Plan, top_tree, unit_totals
from anon.errors import DataError, Parameter, PrivacyWarning, RecheckError, UsageError
from anon.methods import METHODS, Effort, Method, Mondrian, Progress, chosen
from anon.release import (
    CLASS_ID,
    Publish,
    Weights,
    check_weights,
    failing_groups,
    note_on_kept_weights,
    note_on_one_class,
    refuse_clashes,
    unmet,
)
from anon.requirements import Requirement, counting, infeasible
from anon.schema import IDENTIFYING_SHARE, Role, Schema, kind_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
ROWS_PER_CHECK = 10_000_000  # whose classes one task of the last check reads


def anonymize_spark(
    df: DataFrame,
    schema: Schema,
    *,
    require: Sequence[Requirement] = (),
    method: Method | None = None,
    effort: Effort | None = None,
    publish: Publish = "generalization",
    numeric: Rendering = "interval",
    missing: Missing = "category",
    weights: Weights = "class-mean",
    seed: int = 0,
    node_rows: int = NODE_ROWS,
    progress: Progress | None = None,
) -> DataFrame | tuple[DataFrame, DataFrame]:
    """Anonymize a Spark DataFrame: the release satisfies every requirement, or there is none.

    Parameters are those of `anon.anonymize`, of whose efforts only "fast" is made, which is the default;
    `node_rows` is how many rows one task finishes, and as few as the data lets it. Mondrian's classes are
    those of one machine (relaxed: as multisets of quasi-identifiers and sensitive values); TGC and Curve
    work inside the nodes of a strict Mondrian tree.

    Returns the published DataFrame, or for a bucketization the pair (table, sensitive table). It is
    computed, checked and persisted: write it, then call `unpersist()` (of a pair, on both).

    Raises
    ------
    UsageError, DataError
        As `anon.anonymize`; a domain of more than 10 million values is refused.
    InfeasibleError
        No release can meet a requirement; names the tightest value that can be met.
    RecheckError
        The finished release failed its own independent check (a fault of the tool).
    """
    made = release_spark(
        *(df, schema),
        require=require,
        method=method,
        effort=effort,
        publish=publish,
        numeric=numeric,
        missing=missing,
        weights=weights,
        seed=seed,
        node_rows=node_rows,
        progress=progress,
    )
    for note in made.notes:
        warnings.warn(note, PrivacyWarning, stacklevel=2)
    frames = _in_place_of(made.held, df, *made.frames)
    return (frames[0], frames[1]) if publish == "bucketization" else frames[0]


@dataclass(frozen=True)
class Made:
    """A release: the DataFrames to write, computed from `held`, which is persisted, and `notes` on it.

    `totals` are the sensitive attributes and the rows with each of their codes, `n_rows` all published rows.
    """

    frames: tuple[DataFrame, ...]
    held: DataFrame
    totals: tuple[tuple[Domain, Ints], ...]
    n_rows: int
    notes: tuple[str, ...]


def release_spark(
    df: DataFrame,
    schema: Schema,
    *,
    require: Sequence[Requirement] = (),
    method: Method | None = None,
    effort: Effort | None = None,
    publish: Publish = "generalization",
    numeric: Rendering = "interval",
    missing: Missing = "category",
    weights: Weights = "class-mean",
    seed: int = 0,
    node_rows: int = NODE_ROWS,
    progress: Progress | None = None,
    recheck: bool = True,
) -> Made:
    """As `anonymize_spark`, the rows being persisted as bytes where Spark has no need to look at them.

    Without `recheck` a release whose files tell all of it is not computed before it is written: whoever
    writes it then gives the files to `measure_release`.
    """
    method = chosen(method, effort, "on Spark")
    refuse_others(df)
    check_asked(
        *(schema, method, require),
        publish=publish,
        numeric=numeric,
        weights=weights,
        seed=seed,
        node_rows=node_rows,
        progress=progress,
    )
    tell = progress or (lambda stage, done, total: None)
    tell("domains", 0, 1)
    with own_errors(), batches_of_bytes(df):
        read = read_frame(df, schema, method, missing, publish)
        try:
            return _made(read, require, method, publish, numeric, weights, seed, node_rows, tell, recheck)
        except BaseException:
            read.chunks.unpersist()
            raise


def write_release(made: Made, folders: Sequence[str]) -> None:
    """Write the tables of a release as Parquet into folders, which may exist."""
    for frame, folder in zip(made.frames, folders, strict=True):
        with own_errors(), batches_of_bytes(frame):
            frame.write.mode("overwrite").parquet(folder)


def _made(
    read: ReadFrame,
    require: Sequence[Requirement],
    method: Method,
    publish: Publish,
    numeric: Rendering,
    weights: Weights,
    seed: int,
    node_rows: int,
    tell: Progress,
    recheck: bool,
) -> Made:
    from pyspark.sql.types import StructField, StructType

    notes = _notes_on_neutral(read.df, read.schema, read.arrow)
    unit = read.schema.unit
    require = counting(require, unit)
    if unit is None:
        _refuse_impossible(require, read, read.counts)
    refuse_missing(read, method)
    plan = Plan(read.quasi, read.sensitive, read.target, read.counts, read.n_kept, require, method, unit)
    plan.rules()
    if not read.n_kept:
        notes.append("every row misses a value and is suppressed: the release is empty")
    release_schema = _published_schema(read, publish, numeric)
    hidden = "unit"
    while hidden in release_schema.names:
        hidden += "_"
    codes = coded_chunks(read, plan).persist()
    try:
        if unit is not None and read.n_kept:
            plan = unit_totals(codes, plan)
            by_units = plan.rules().by_units
            counts = plan.unit_counts if by_units else read.counts
            _refuse_impossible(require, read, counts, plan.n_units)
        nodes = top_tree(codes, plan, node_rows, tell)
    finally:
        codes.unpersist()
    tell("partition", 0, 1)
    kept_weights = read.schema.sampling_weight is not None and weights == "keep"
    as_rows = unit is not None or publish == "bucketization"  # of which parts are read, several times
    fields = list(release_schema.fields)
    if unit is not None:
        fields.append(StructField(hidden, read.df.schema[unit].dataType))
    shape, totals = StructType(fields), tuple(zip(read.sensitive, read.counts, strict=True))
    solve = partial(solved, read, nodes, plan, publish, numeric, weights, seed, hidden)
    if not (recheck or kept_weights or as_rows):
        return Made((solve(shape),), read.chunks, totals, read.n_kept, tuple(notes))
    held = solve(shape if as_rows else None)
    rows = held if as_rows else held.mapInArrow(rows_of, shape)
    held.persist()
    try:
        tell("check", 0, 1)
        n_classes = _recheck(held, rows, read, plan, publish, release_schema, hidden)
        if kept_weights:
            notes.append(_note_on_weights(rows, read, publish, release_schema))
    except BaseException:
        held.unpersist()
        raise
    read.chunks.unpersist()
    if n_classes == 1:
        notes.append(note_on_one_class(publish))
    frames: tuple[DataFrame, ...] = (rows if unit is None else rows.drop(hidden),)
    if publish == "bucketization":
        first = rows.drop(hidden, *(domain.name for domain in read.sensitive))
        frames = (first, _sensitive_table(rows, read))
    return Made(frames, held, totals, read.n_kept, tuple(notes))


def _refuse_impossible(
    require: Sequence[Requirement], read: ReadFrame, counts: Sequence[Ints], n_units: int | None = None
) -> None:
    impossible = infeasible(require, read.sensitive, counts, read.n_kept, n_units)
    if impossible is not None:
        raise impossible


def _in_place_of(whole: DataFrame, df: DataFrame, *made: DataFrame) -> tuple[DataFrame, ...]:
    """What was made of a persisted DataFrame, persisted; that one no longer is."""
    try:
        with own_errors(), batches_of_bytes(df):
            for one in made:
                one.persist().count()
    except BaseException:
        for one in made:
            one.unpersist()
        raise
    finally:
        whole.unpersist()
    return made


def check_asked(
    schema: Schema,
    method: Method,
    require: Sequence[Requirement],
    *,
    publish: Publish = "generalization",
    numeric: Rendering = "interval",
    weights: Weights = "class-mean",
    seed: int = 0,
    node_rows: int = NODE_ROWS,
    progress: Progress | None = None,
) -> None:
    """UsageError where no DataFrame can be anonymized like this, as `anonymize_spark`."""
    check_arguments(schema, method, require, publish, numeric, "class", "error", seed, progress)
    check_weights(weights)
    if schema.household:
        raise UsageError("household is not for Spark: anonymize on one machine, or leave it out")
    counting(require, schema.unit)
    if schema.unit is not None and isinstance(method, Mondrian):
        for asked, words in (
            (method.relaxed, "relaxed cuts do"),
            (method.target is not None, "information gain does"),
        ):
            if asked:
                raise UsageError(
                    f"{words} not run on Spark where units are counted: use Mondrian() without, "
                    "or anonymize on one machine"
                )
    coded = [attribute.name for attribute in schema.sensitive if attribute.is_coded]
    if coded:
        raise UsageError(
            f"sensitive column {coded[0]!r} has a least level, top or bottom, which Spark does not know: "
            "recode the column before, or anonymize on one machine"
        )
    if schema.linked:
        raise UsageError("linked columns do not run on Spark: leave them out, or cut by each (quasi)")
    if not method.on_spark:
        *some, last = (each.__name__ for each in METHODS if each.on_spark)
        raise UsageError(f"{type(method).__name__} does not run on Spark: use {', '.join(some)} or {last}")
    if getattr(method, "loss", None) == "sse":
        raise UsageError(
            "squared errors are not lowered on Spark: use ", Parameter('loss="ncp"', "--loss ncp")
        )
    if isinstance(method, Mondrian) and method.relaxed and method.target is not None:
        raise UsageError("relaxed cuts by information gain do not run on Spark: choose one of the two")
    if isinstance(method, Mondrian) and method.relaxed and publish == "bucketization":
        raise UsageError(
            "relaxed cuts deal equal rows out by their sensitive values on Spark, which buckets would tell: "
            "use relaxed=False, or publish a generalization"
        )
    if getattr(method, "ties", "rank") != "rank":
        raise UsageError("rows have no order on Spark: use ", Parameter('ties="rank"', "--ties rank"))
    refuse_custom(require)
    if numeric not in get_args(Rendering):
        raise UsageError(f"numeric must be one of {', '.join(get_args(Rendering))}")
    if numeric == "median":
        raise UsageError("medians are not made on Spark: use ", Parameter('numeric="mean"', "--numeric mean"))
    if isinstance(node_rows, bool) or not isinstance(node_rows, int) or node_rows < 1:
        raise UsageError("node_rows must be a whole number of at least 1")


def _notes_on_neutral(df: DataFrame, schema: Schema, arrow: pa.Schema) -> list[str]:
    """Warnings of columns that are published as they are and may identify people."""
    from pyspark.sql.functions import approx_count_distinct, count

    neutral = [
        field
        for field in df.schema.fields
        if schema.role(field.name) is Role.NEUTRAL and field.name != schema.sampling_weight
    ]
    counted = []
    for field in neutral:
        try:
            kind_of(field.name, arrow.field(field.name).type)
        except DataError:
            continue
        counted.append(field.name)
    distinct: set[str] = set()
    if counted:
        sums = [one(named(name)) for name in counted for one in (approx_count_distinct, count)]
        counts = df.agg(*sums).first()
        assert counts is not None
        distinct = {
            name
            for name, values, rows in zip(counted, counts[::2], counts[1::2], strict=True)
            if rows > 1 and values > IDENTIFYING_SHARE * rows
        }
    return notes_on_neutral((field.name for field in neutral), distinct)


def _published_schema(read: ReadFrame, publish: Publish, numeric: Rendering) -> Any:
    """The columns of the release, as Spark names their types; what cannot be shown so is refused."""
    from pyspark.sql.types import (
        BooleanType,
        DoubleType,
        LongType,
        StringType,
        StructField,
        StructType,
    )

    quasi = {domain.name: domain for domain in read.quasi}
    one_class = Classes(np.zeros(0, np.uint32), np.zeros(2, np.int64), np.zeros(0, np.uint32))
    fields: list[Any] = []
    derived = []
    names = read.schema.published(read.arrow.names)
    for name in names:
        field, domain = read.df.schema[name], quasi.get(name)
        if domain is None or publish == "bucketization":
            fields.append(StructField(field.name, _without_metadata(field.dataType)))
            continue
        [whole] = full_cells(
            Encoded(pa.table({}), read.schema, (domain,), (), (), (), one_class.rows), one_class
        )
        if numeric == "level" and domain.kind == "numeric":
            to_levels(whole)
        for column in render(whole, "midpoint" if numeric == "mean" else numeric):
            kind = column.values.type
            if pa.types.is_string(kind) or pa.types.is_large_string(kind):
                spark_type: Any = StringType()
            elif pa.types.is_boolean(kind):
                spark_type = BooleanType()
            elif kind == pa.float64() and numeric in ("midpoint", "mean"):
                spark_type = DoubleType()
            else:
                spark_type = field.dataType
            fields.append(StructField(column.name, spark_type))
            derived.append((column.name, field.name))
    refuse_clashes(names, derived, publish)
    if publish == "bucketization":
        fields.append(StructField(CLASS_ID, LongType()))
    return StructType(fields)


def _without_metadata(kind: Any) -> Any:
    """The same type, whose fields at any depth say nothing beside their names: Spark writes all of it."""
    from pyspark.sql.types import ArrayType, MapType, StructField, StructType

    if isinstance(kind, ArrayType):
        return ArrayType(_without_metadata(kind.elementType), kind.containsNull)
    if isinstance(kind, MapType):
        key, value = (_without_metadata(each) for each in (kind.keyType, kind.valueType))
        return MapType(key, value, kind.valueContainsNull)
    if isinstance(kind, StructType):
        return StructType([StructField(f.name, _without_metadata(f.dataType), f.nullable) for f in kind])
    return kind


def _recheck(
    held: DataFrame,
    rows: DataFrame,
    read: ReadFrame,
    plan: Plan,
    publish: str,
    release_schema: Any,
    hidden: str,
) -> int:
    """Raise RecheckError unless every class, as published, meets every requirement; how many there are.

    Units, where there are any, are counted by the column `hidden`, which is not published. The rows are
    persisted as such, or as `slices`.
    """
    names, sensitive, require = _shown(read, publish, release_schema), read.sensitive, plan.require
    m, s, by_units = len(names), len(sensitive), plan.unit is not None
    totals = plan.unit_counts if by_units else read.counts

    def test(batches: Batches) -> Batches:
        pieces = list(batches)
        table = pa.Table.from_batches(pieces) if pieces else None
        if table is None or not table.num_rows:
            return
        n_units = None
        if by_units:
            sizes, n_units, of_sensitive = merged_units(table, m, s)
            others = any(
                (codes >= one.n_codes).any()
                for one, (_, codes, _) in zip(sensitive, of_sensitive, strict=True)
            )
        else:
            sizes, of_sensitive = merged(table, m, s)
            others = holds_others(sensitive, totals, of_sensitive)
        entries = {
            domain.name: (domain, *entry) for domain, entry in zip(sensitive, of_sensitive, strict=True)
        }
        counts = {domain.name: rows for domain, rows in zip(sensitive, totals, strict=True)}
        failing = [1] * len(require) if others else failing_groups(require, sizes, entries, counts, n_units)
        yield pa.RecordBatch.from_pydict(
            {
                "classes": [len(sizes)],
                "rows": [int(sizes.sum())],
                "others": [int(others)],
                "failing": [failing],
            },
            schema=pa.schema(
                [(name, pa.int64()) for name in ("classes", "rows", "others")]
                + [("failing", pa.list_(pa.int64()))]
            ),
        )

    if by_units:
        counted = counts_of_units(rows, names, sensitive, hidden)
    elif held is rows:
        counted = class_counts(rows, names, sensitive)
    else:
        counted = counts_of_slices(held, release_schema, names, sensitive)
    counted = counted.repartition(read.n_kept // ROWS_PER_CHECK + 1, *(f"q{i}" for i in range(m)))
    sums = counted.mapInArrow(test, "classes long, rows long, others long, failing array<long>").toArrow()
    n_classes, n_rows, others = (sum(sums[name].to_pylist()) for name in ("classes", "rows", "others"))
    if n_rows != read.n_kept or others:
        raise RecheckError(
            f"{read.n_kept} rows were to be published and {n_rows} are, or other values; {OTHER_ROWS}"
        )
    for number, requirement in enumerate(require):
        failing = sum(counts[number] for counts in sums["failing"].to_pylist())
        if failing and by_units and type(requirement).__name__ != "KAnonymity":
            raise UsageError(
                f"{failing} classes that look alike in several nodes together do not meet {requirement!r}: "
                "ask for less, let one task finish more rows (node_rows), or anonymize on one machine"
            )
        if failing:
            raise unmet(requirement, failing, n_classes)
    return int(n_classes)


def _shown(read: ReadFrame, publish: str, release_schema: Any) -> list[str]:
    """The columns that rows of one class have alike."""
    kept = set(kept_columns(read.schema, read.arrow, publish))
    if publish == "bucketization":
        return [CLASS_ID]
    return [field.name for field in release_schema.fields if field.name not in kept]


def _note_on_weights(whole: DataFrame, read: ReadFrame, publish: str, release_schema: Any) -> str:
    """The warning of weights that are kept, with how many rows they tell apart."""
    weight = str(read.schema.sampling_weight)
    names = [*_shown(read, publish, release_schema), weight]
    together = whole.groupBy(*map(named, names)).count()
    return note_on_kept_weights(weight, together.where("count = 1").count(), read.n_kept)


def _sensitive_table(whole: DataFrame, read: ReadFrame) -> DataFrame:
    """Attribute, class id, value (as text, null for a missing one) and count."""
    counted = class_counts(whole, [CLASS_ID], read.sensitive)
    domains = [
        replace(domain, values=pa.array(texts(domain.values), pa.string())) for domain in read.sensitive
    ]

    def list_values(batches: Batches) -> Batches:
        for batch in batches:
            for j, domain in enumerate(domains):
                lengths = batch[f"code{j}"].value_lengths().to_numpy()
                codes = batch[f"code{j}"].flatten().to_numpy()
                yield pa.RecordBatch.from_pydict(
                    {
                        "attribute": [domain.name] * len(codes),
                        CLASS_ID: np.repeat(batch["q0"].to_numpy(), lengths),
                        "value": domain.values.take(pa.array(codes, mask=codes >= domain.n_values)),
                        "count": batch[f"count{j}"].flatten(),
                    }
                )

    return counted.mapInArrow(list_values, f"attribute string, {CLASS_ID} long, value string, count long")
