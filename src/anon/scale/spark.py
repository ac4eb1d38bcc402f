# SPDX-License-Identifier: Apache-2.0
"""Anonymize and check tables of any size on Spark; the driver holds domains and counts, never rows.

The top of Mondrian's tree is built from counts summed over the cluster, level by level, until every
node fits one task; the rows are then shuffled once, by node, and each node is finished by the same
kernels as on one machine. docs/spark.md tells what each step reads, moves and holds.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import pyarrow as pa

import anon.errors
import anon.recheck
from anon import privacy
from anon.anonymize import PrivacyWarning, check_arguments, classes_of
from anon.cells import MISSING, Rendering, render, texts, to_levels
from anon.classes import Classes, cells, full_cells
from anon.encode import Domain, Encoded, Missing, code_type, encode_like, narrowed
from anon.entropy import keyed, new_key, permutation, system
from anon.errors import DataError, UsageError
from anon.inspection import IDENTIFYING_SHARE, role_of_name
from anon.methods import TGC, Curve, Method, Mondrian, Progress, Task
from anon.release import CLASS_ID, Publish, recode, refuse_clashes
from anon.requirements import Custom, Requirement, check_list, infeasible
from anon.scale.spark_buckets import bucket_counts, sensitive_rows, values_of
from anon.scale.spark_classes import (
    OTHER_ROWS,
    arrow_schema,
    cell,
    class_counts,
    combinations,
    domain_of,
    holds_others,
    measured,
    merged,
    named,
    null_matching,
    put_together,
    risk_of,
    too_many,
)
from anon.scale.spark_tree import (
    CHUNK_BYTES,
    CHUNK_ROWS,
    Batches,
    Ints,
    Node,
    Plan,
    chunks_of,
    gathered,
    one_batch,
    packed,
    routed,
    top_tree,
    unpacked,
)
from anon.schema import Attribute, Role, Schema, check_names, is_text, kind_of, value_type

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

MOST_VALUES = 10_000_000  # of a domain: its histogram is held by one task, its values by the driver
NODE_ROWS = 1_000_000  # of a node that one task finishes, where the data can be cut that small
ROWS_PER_PART = 32  # that a task gathers for each node before it sends them, on average at least
ROWS_PER_CHECK = 10_000_000  # whose classes one task of the last check reads


def anonymize_spark(
    df: DataFrame,
    schema: Schema,
    *,
    require: Sequence[Requirement] = (),
    method: Mondrian | TGC | Curve | None = None,
    publish: Publish = "generalization",
    numeric: Rendering = "interval",
    missing: Missing = "category",
    seed: int = 0,
    node_rows: int = NODE_ROWS,
    progress: Progress | None = None,
) -> DataFrame | tuple[DataFrame, DataFrame]:
    """Anonymize a Spark DataFrame: the release satisfies every requirement, or there is none.

    Parameters are those of `anon.anonymize`; `node_rows` is how many rows one task finishes, and as
    few as the data lets it. Mondrian's classes are those of one machine (relaxed: as multisets of
    quasi-identifiers and sensitive values); TGC and Curve work inside the nodes of a strict Mondrian tree.

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
    method = Mondrian() if method is None else method
    _refuse_others(df)
    check_asked(
        *(schema, method, require),
        publish=publish,
        numeric=numeric,
        seed=seed,
        node_rows=node_rows,
        progress=progress,
    )
    tell = progress or (lambda stage, done, total: None)
    tell("domains", 0, 1)
    read = _read(df, schema, method, missing)
    notes = _notes_on_neutral(df, read.schema, read.arrow)
    impossible = infeasible(require, read.sensitive, read.counts, read.n_kept)
    if impossible is not None:
        raise impossible
    _refuse_missing(read, method)
    plan = Plan(read.quasi, read.sensitive, read.target, read.counts, read.n_kept, tuple(require), method)
    plan.rules()
    if not read.n_kept:
        notes.append("every row misses a value and is suppressed: the release is empty")
    shown = _published_schema(read, publish, numeric)
    with _own_errors(), _batches_of_bytes(df):
        chunks = _chunks(read, plan, publish).persist()
        try:
            nodes = top_tree(chunks, plan, node_rows, tell)
            tell("partition", 0, 1)
            whole = _solved(chunks, nodes, read, plan, publish, numeric, seed, shown).persist()
            try:
                tell("check", 0, 1)
                n_classes = _recheck(whole, read, plan, publish, shown)
            except BaseException:
                whole.unpersist()
                raise
        finally:
            chunks.unpersist()
    if n_classes == 1:
        notes.append("only one class satisfies the requirements: every quasi-identifier is fully generalized")
    for note in notes:
        warnings.warn(note, PrivacyWarning, stacklevel=2)
    if publish == "generalization":
        return whole
    pair = whole.drop(*(domain.name for domain in read.sensitive)), _sensitive_table(whole, read)
    try:
        with _own_errors(), _batches_of_bytes(df):
            for one in pair:
                one.persist().count()
    except BaseException:
        for one in pair:
            one.unpersist()
        raise
    finally:
        whole.unpersist()
    return pair


def check_asked(
    schema: Schema,
    method: Method,
    require: Sequence[Requirement],
    *,
    publish: Publish = "generalization",
    numeric: Rendering = "interval",
    seed: int = 0,
    node_rows: int = NODE_ROWS,
    progress: Progress | None = None,
) -> None:
    """UsageError where no DataFrame can be anonymized like this, as `anonymize_spark`."""
    check_arguments(schema, method, require, publish, numeric, "class", "error", seed, progress)
    if not isinstance(method, Mondrian | TGC | Curve):
        raise UsageError(f"{type(method).__name__} does not run on Spark: use Mondrian, TGC or Curve")
    if isinstance(method, Mondrian) and method.relaxed and method.target is not None:
        raise UsageError("relaxed cuts by information gain do not run on Spark: choose one of the two")
    if isinstance(method, Mondrian) and method.relaxed and publish == "bucketization":
        raise UsageError(
            "relaxed cuts deal equal rows out by their sensitive values on Spark, which buckets would tell: "
            "use relaxed=False, or publish a generalization"
        )
    if getattr(method, "ties", "rank") != "rank":
        raise UsageError('rows have no order on Spark: use ties="rank"')
    _refuse_custom(require)
    if numeric not in get_args(Rendering):
        raise UsageError(f"numeric must be one of {', '.join(get_args(Rendering))}")
    if isinstance(node_rows, bool) or not isinstance(node_rows, int) or node_rows < 1:
        raise UsageError("node_rows must be a whole number of at least 1")


def check_spark(
    df: DataFrame,
    schema: Schema,
    *,
    sensitive_table: DataFrame | None = None,
    at_risk: Sequence[float] = (2, 5, 10),
    require: Sequence[Requirement] = (),
) -> privacy.Privacy:
    """Measure the privacy of a released Spark DataFrame, whoever made it.

    As `anon.check` of a table in memory, but for what numbers the classes: `per_class`, `worst` and
    `worst_cells`. Of a bucketization give the pair of tables; in the second, values are text, so name a
    numeric attribute as one in the schema.

    Raises
    ------
    UsageError, DataError
        As `anon.check`, a row being named by no number; a domain of more than 10 million values is refused.
    RecheckError
        The DataFrame gave other rows when it was read again.
    """
    for each in (df,) if sensitive_table is None else (df, sensitive_table):
        _refuse_others(each)
    check_list(require)
    _refuse_custom(require)
    names = [attribute.name for attribute in schema.quasi]
    with _own_errors(), _batches_of_bytes(df):
        if df.isEmpty():
            raise DataError("the table has no rows")
        if sensitive_table is not None:
            measured = _of_buckets(df, sensitive_table, names, schema.sensitive, at_risk, require)
        else:
            measured = _of_cells(df, names, schema.sensitive, at_risk, require)
        return replace(measured, roles_from="given")


def measure_release(
    made: DataFrame | tuple[DataFrame, DataFrame],
    names: Sequence[str],
    sensitive: Sequence[Attribute],
    require: Sequence[Requirement] = (),
) -> privacy.Privacy:
    """Measure what `anonymize_spark` made, whose quasi-identifiers are the columns `names`.

    `require` is what `unmet` is asked about. Cells that read `missing` are missing, and rows of `*` only
    are rows like others.
    """
    from pyspark.sql.functions import lit, nullif

    df, second = made if isinstance(made, tuple) else (made, None)
    with _own_errors(), _batches_of_bytes(df):
        if df.isEmpty():
            nothing = put_together([], {one.name: np.zeros(0, np.int64) for one in sensitive}, None, (), ())
            return replace(nothing, combined=nothing.combined if second is None else None)
        if second is not None:
            return _of_buckets(df, second, names, sensitive, require=require)
        for field in arrow_schema(df):
            if field.name in names and is_text(field.type):
                df = df.withColumn(field.name, nullif(named(field.name), lit(MISSING)))
        return _of_cells(df, names, sensitive, require=require, apart=False)


def _of_cells(
    df: DataFrame,
    names: Sequence[str],
    sensitive: Sequence[Attribute],
    at_risk: Sequence[float] = (2, 5, 10),
    require: Sequence[Requirement] = (),
    *,
    apart: bool = True,
) -> privacy.Privacy:
    """The measures of rows in classes of equal cells; rows of `*` only may be set apart."""
    from pyspark.sql.functions import lit

    arrow = arrow_schema(df)
    bound = Schema(names, sensitive).bind(arrow)
    kept, n_starred = lit(True), 0
    if apart and all(is_text(value_type(arrow.field(name).type)) for name in names):
        starred = reduce(and_, (named(name).eqNullSafe("*") for name in names))
        kept, n_starred = ~starred, df.where(starred).count()
    found = [(d, rows) for d, _, rows in _domains(df, bound.sensitive, kept, arrow)] if sensitive else []
    _compile(require, found)
    df, domains = df.where(kept), [domain for domain, _ in found]
    joint = combinations(df, domains)
    counted = class_counts(df, names, domains, joint=joint is not None)
    told = measured(counted, len(names), found, joint, require)
    matching = None
    if any(part["missing"] for part in told):
        counted.persist()
        try:
            matching = null_matching(counted, len(names), [domain.name for domain in domains])
        finally:
            counted.unpersist()
    whole = put_together(told, {domain.name: rows for domain, rows in found}, joint, require, at_risk)
    return replace(
        whole,
        n_suppressed=n_starred,
        n_starred=n_starred,
        k_with_starred=min(whole.k or n_starred, n_starred) if n_starred else None,
        null_matching=matching,
    )


def _of_buckets(
    df: DataFrame,
    second: DataFrame,
    names: Sequence[str],
    sensitive: Sequence[Attribute],
    at_risk: Sequence[float] = (2, 5, 10),
    require: Sequence[Requirement] = (),
) -> privacy.Privacy:
    """The measures of a bucketization: of its buckets, and the risk of its intact quasi-identifiers."""
    from pyspark.sql.functions import count

    Schema(names).bind(arrow_schema(df))
    rows = sensitive_rows(df, second)
    values = values_of(rows, sensitive, MOST_VALUES) if sensitive else []
    found = [(each.domain, each.rows) for each in values]
    _compile(require, found)
    told = measured(bucket_counts(df, rows, values), 1, found, None, require)
    whole = put_together(told, {domain.name: total for domain, total in found}, None, require, at_risk)
    cells = [cell(named(name), df.schema[name].dataType).alias(f"q{i}") for i, name in enumerate(names)]
    alike = df.select(*cells).groupBy(*(f"q{i}" for i in range(len(names)))).count()
    sizes = alike.groupBy("count").agg(count("count").alias("classes")).toArrow()
    size, n_of_size = (sizes[name].to_numpy() for name in ("count", "classes"))
    if np.sum(size * n_of_size) != whole.n_rows:
        raise anon.errors.RecheckError(f"the table has other rows than when it was first read; {OTHER_ROWS}")
    return replace(whole, combined=None, **risk_of(size, n_of_size, at_risk))


def _compile(require: Sequence[Requirement], found: Sequence[tuple[Domain, Ints]]) -> None:
    """Raise what a requirement has against these sensitive attributes."""
    for requirement in require:
        requirement.rules([domain for domain, _ in found], [rows for _, rows in found])


def _refuse_custom(require: Sequence[Requirement]) -> None:
    if any(isinstance(one, Custom) for one in require):
        raise UsageError("a requirement of your own does not run on Spark: use one of anon's")


def _refuse_others(df: Any) -> None:
    if not hasattr(df, "mapInArrow"):
        raise UsageError(
            f"give a Spark DataFrame, not {type(df).__name__}: spark.read.parquet(...) makes one"
        )


@dataclass(frozen=True)
class _Read:
    """What a DataFrame holds: `rows` are its rows to be published, `schema` has every kind settled.

    `quasi` are the domains of the whole table, `sensitive` and `counts` those of the published rows.
    """

    rows: DataFrame
    arrow: pa.Schema
    schema: Schema
    quasi: tuple[Domain, ...]
    sensitive: tuple[Domain, ...]
    target: Domain | None
    counts: tuple[Ints, ...]
    n_kept: int


def _read(df: DataFrame, schema: Schema, method: Mondrian | TGC | Curve, missing: Missing) -> _Read:
    from pyspark.sql.functions import isnan, lit
    from pyspark.sql.types import DoubleType, FloatType

    if missing not in get_args(Missing):
        raise UsageError(f"missing must be one of {', '.join(get_args(Missing))}")
    arrow = arrow_schema(df)
    bound = schema.bind(arrow)
    _check_method(bound, method, arrow)
    attributes = [*bound.quasi, *bound.sensitive]
    n = len(attributes)
    wanted = method.target if isinstance(method, Mondrian) else None
    if wanted is not None and wanted not in [attribute.name for attribute in bound.sensitive]:
        attributes.append(Attribute(wanted, "nominal"))
    kept = lit(True)
    for attribute in attributes[:n] if missing == "suppress" else ():
        column = named(attribute.name)
        floating = isinstance(df.schema[attribute.name].dataType, DoubleType | FloatType)
        kept &= ~(column.isNull() | isnan(column)) if floating else column.isNotNull()
    found = _domains(df, attributes, kept, arrow)
    for domain, rows, _ in found[:n]:
        if missing == "error" and domain.has_null:
            raise DataError(
                f"column {domain.name!r} is missing in {int(rows[-1])} rows; "
                "fill it, or choose missing='category' or 'suppress'",
                column=domain.name,
                count=int(rows[-1]),
            )
    m = len(bound.quasi)
    sensitive, counts = [], []
    for domain, _, rows in found[m:n]:
        occurs = rows > 0
        sensitive.append(narrowed(domain, occurs) if missing == "suppress" else domain)
        counts.append(rows[occurs] if missing == "suppress" else rows)
    return _Read(
        df.where(kept) if missing == "suppress" else df,
        arrow,
        bound,
        tuple(domain for domain, _, _ in found[:m]),
        tuple(sensitive),
        found[n][0] if len(found) > n else None,
        tuple(counts),
        int(found[0][2].sum()),
    )


def _check_method(schema: Schema, method: Mondrian | TGC | Curve, arrow: pa.Schema) -> None:
    names = [attribute.name for attribute in schema.quasi]
    if isinstance(method, Mondrian):
        for name in () if isinstance(method.split, str) else method.split:
            if name not in names:
                raise UsageError(
                    f"split names {name!r}, which is not a quasi-identifier: use {', '.join(names)}"
                )
        if method.target in names:
            raise UsageError(
                f"target={method.target!r} is a quasi-identifier: use a neutral or sensitive attribute"
            )
        if method.target is not None:
            check_names([method.target], arrow.names)


def _domains(
    df: DataFrame, attributes: Sequence[Attribute], kept: Column, arrow: pa.Schema
) -> list[tuple[Domain, Ints, Ints]]:
    """Of some columns the domain, and per code its rows in the table and among the `kept` ones.

    Every task counts the values of its rows, and one task per column adds them up.
    """
    names = [attribute.name for attribute in attributes]
    schemas = [
        pa.schema([("value", arrow.field(name).type), ("rows", pa.int64()), ("kept", pa.int64())])
        for name in names
    ]
    n_rows, n_bytes, most = 4 * CHUNK_ROWS, CHUNK_BYTES, MOST_VALUES

    def count(batches: Batches) -> Batches:
        for table in gathered(batches, n_rows, n_bytes):
            shown, ones = table["kept"].cast(pa.int64()), np.ones(table.num_rows, np.int64)
            counted = []
            for column, fields in zip(table.columns[:-1], schemas, strict=True):
                alone = pa.table({"value": column, "rows": ones, "kept": shown})
                counted.append(packed(one_batch(_added(alone, fields))))
            yield pa.RecordBatch.from_pydict({"attribute": list(range(len(counted))), "values": counted})

    def add(table: pa.Table) -> pa.Table:
        a = table["attribute"][0].as_py()
        added = _added(pa.Table.from_batches(unpacked(table["values"], schemas[a])), schemas[a])
        few = added.num_rows <= most
        values = pa.array([packed(one_batch(added)) if few else None], pa.binary())
        return pa.table({"attribute": [a], "values": values})

    columns = [named(name).alias(str(a)) for a, name in enumerate(names)]
    counted = df.select(*columns, kept.alias("kept")).mapInArrow(count, "attribute long, values binary")
    found = counted.groupBy("attribute").applyInArrow(add, "attribute long, values binary").toArrow()
    if not found.num_rows:
        raise DataError("the table has no rows")
    batches = dict(zip(found["attribute"].to_pylist(), found["values"], strict=True))
    domains = []
    for a, attribute in enumerate(attributes):
        if not batches[a].is_valid:
            raise too_many(attribute.name, most)
        batch = pa.ipc.read_record_batch(batches[a].as_buffer(), schemas[a])
        domain, codes = domain_of(pa.chunked_array([batch["value"]]), attribute)
        rows, shown = (
            np.bincount(codes, batch[name].to_numpy(), domain.n_codes).astype(np.int64)
            for name in ("rows", "kept")
        )
        domains.append((domain, rows, shown))
    return domains


def _added(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Rows and kept rows of every value that occurs."""
    summed = table.group_by("value", use_threads=False).aggregate([("rows", "sum"), ("kept", "sum")])
    return summed.select(["value", "rows_sum", "kept_sum"]).rename_columns(schema.names).cast(schema)


def _refuse_missing(read: _Read, method: Method) -> None:
    """What TGC refuses of a whole table it must refuse before the work is shared out."""
    if not isinstance(method, TGC):
        return
    if method.w_p > 0 and not read.sensitive:
        raise UsageError("w_p > 0 needs a sensitive attribute: name one in the schema, or use w_u=1, w_p=0")
    limited = method.prepartition and method.delta_split not in ("auto", None)
    if method.w_p > 0 or method.delta == "auto" or limited:
        for domain, counts in zip(read.sensitive, read.counts, strict=True):
            if domain.has_null:
                raise DataError(
                    f"{domain.name}: {int(counts[-1])} values are missing; "
                    'S-diversity has no place for them: use missing="suppress"',
                    column=domain.name,
                    count=int(counts[-1]),
                )


def _notes_on_neutral(df: DataFrame, schema: Schema, arrow: pa.Schema) -> list[str]:
    """Warnings of columns that are published as they are and may identify people."""
    from pyspark.sql.functions import approx_count_distinct, count

    neutral = [field for field in df.schema.fields if schema.role(field.name) is Role.NEUTRAL]
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
        found = df.agg(*sums).first()
        assert found is not None
        distinct = {
            name
            for name, values, rows in zip(counted, found[::2], found[1::2], strict=True)
            if rows > 1 and values > IDENTIFYING_SHARE * rows
        }
    return [
        f"column {name!r} is neutral but "
        + (
            "more than 90 % of its values are distinct: it may identify people; "
            "make it identifying to drop it"
            if name in distinct
            else "by its name it identifies people; make it identifying to drop it"
        )
        for name in (field.name for field in neutral)
        if name in distinct or role_of_name(name) is Role.IDENTIFYING
    ]


def _kept_columns(read: _Read, publish: str) -> list[str]:
    """The columns that are published as they are."""
    hidden = set(read.schema.identifying)
    if publish == "generalization":
        hidden |= {domain.name for domain in read.quasi}
    return [name for name in read.arrow.names if name not in hidden]


def _chunks(read: _Read, plan: Plan, publish: str) -> DataFrame:
    """The rows, many to a chunk: a batch of codes, and a batch of the columns published as they are."""
    from pyspark.sql.functions import lit, xxhash64

    kept = _kept_columns(read, publish)
    hashable = [name for name in kept if "map<" not in read.rows.schema[name].dataType.simpleString()]
    digest = xxhash64(*map(named, hashable)) if hashable else lit(0).cast("long")
    names = list(dict.fromkeys([*(domain.name for domain in plan.domains), *kept]))
    position = {name: number for number, name in enumerate(names)}
    columns = [named(name).alias(str(number)) for name, number in position.items()]
    domains = [replace(domain, name=str(position[domain.name])) for domain in plan.domains]
    labels = [domain.name for domain in plan.domains]
    codes_schema = plan.codes_schema
    rest_schema = _rest_schema(read, publish)
    rest = [*(str(position[name]) for name in kept), "hash"]
    n_rows, n_bytes = CHUNK_ROWS, CHUNK_BYTES

    def encode(batches: Batches) -> Batches:
        first = _partition() << 32
        for number, table in enumerate(gathered(batches, n_rows, n_bytes)):
            codes = encode_like(table, domains)
            for label, domain, column in zip(labels, domains, codes, strict=True):
                if (column >= domain.n_codes).any():
                    raise DataError(
                        f"column {label!r} holds other values than when it was first read; "
                        "persist or checkpoint the DataFrame before it is anonymized",
                        column=label,
                    )
            arrays = [
                pa.array(column.astype(code_type(domain.n_codes), copy=False))
                for column, domain in zip(codes, domains, strict=True)
            ]
            kept = table.select(rest).rename_columns(rest_schema.names).cast(rest_schema)
            yield pa.RecordBatch.from_pydict(
                {
                    "codes": [packed(pa.RecordBatch.from_arrays(arrays, schema=codes_schema))],
                    "rest": [packed(one_batch(kept))],
                    "chunk": [first + number],
                }
            )

    selected = read.rows.select(*columns, digest.alias("hash"))
    if plan.tree.relaxed:  # rows that tie are told apart by their place
        selected = selected.sortWithinPartitions("hash")
    return selected.mapInArrow(encode, "codes binary, rest binary, chunk long")


def _partition() -> int:
    """The number of the partition that this task works on."""
    from pyspark import TaskContext

    task = TaskContext.get()
    assert task is not None
    return task.partitionId()


def _rest_schema(read: _Read, publish: str) -> pa.Schema:
    """Of a chunk's other batch: the columns published as they are, by number, and a hash of them."""
    kept = enumerate(_kept_columns(read, publish))
    return pa.schema([*((str(i), read.arrow.field(name).type) for i, name in kept), ("hash", pa.int64())])


def _published_schema(read: _Read, publish: Publish, numeric: Rendering) -> Any:
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
    for field in read.rows.schema.fields:
        domain = quasi.get(field.name)
        if field.name in read.schema.identifying:
            continue
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
                shown: Any = StringType()
            elif pa.types.is_boolean(kind):
                shown = BooleanType()
            elif kind == pa.float64() and numeric in ("midpoint", "mean"):
                shown = DoubleType()
            else:
                shown = field.dataType
            fields.append(StructField(column.name, shown))
            derived.append((column.name, field.name))
    refuse_clashes(read.arrow.names, derived, publish)
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


def _solved(
    chunks: DataFrame,
    nodes: Sequence[Node],
    read: _Read,
    plan: Plan,
    publish: Publish,
    numeric: Rendering,
    seed: int,
    shown: Any,
) -> DataFrame:
    """The release: rows shuffled by node, then each node partitioned and recoded where it lies."""
    codes_schema, rest_schema = plan.codes_schema, _rest_schema(read, publish)

    enough = ROWS_PER_PART * len(nodes)

    def split(batches: Batches) -> Batches:
        held: dict[int, list[tuple[pa.RecordBatch, pa.RecordBatch]]] = {}
        n_held = 0
        for batch in batches:
            chunks = chunks_of(batch, codes_schema)
            codes_of, rest_of = unpacked(batch["codes"], codes_schema), unpacked(batch["rest"], rest_schema)
            for chunk, codes, rest in zip(chunks, codes_of, rest_of, strict=True):
                leaves = routed(nodes, chunk)
                order = pa.array(np.concatenate(list(leaves.values())))
                codes, rest, start = codes.take(order), rest.take(order), 0
                for node, rows in leaves.items():
                    part = (codes.slice(start, len(rows)), rest.slice(start, len(rows)))
                    held.setdefault(node, []).append(part)
                    start += len(rows)
                n_held += chunk.n
                if n_held >= enough:
                    yield from _parts(held)
                    held, n_held = {}, 0
        yield from _parts(held)

    solver = _Solver(
        plan,
        read.schema,
        tuple(name for name in read.arrow.names if name not in read.schema.identifying),
        tuple(_kept_columns(read, publish)),
        rest_schema,
        publish,
        numeric,
        seed,
        new_key(),
        permutation(len(nodes), system).tolist(),
    )

    def solve(table: pa.Table) -> pa.Table:
        return solver(table)

    moved = chunks.mapInArrow(split, "node long, codes binary, rest binary")
    return moved.groupBy("node").applyInArrow(solve, shown)


def _parts(held: Mapping[int, Sequence[tuple[pa.RecordBatch, pa.RecordBatch]]]) -> Batches:
    """The rows of each node, one batch of codes and one of the rest."""
    for node, parts in held.items():
        codes, rest = (pa.Table.from_batches([part[i] for part in parts]) for i in (0, 1))
        columns = {"node": [node], "codes": [packed(one_batch(codes))], "rest": [packed(one_batch(rest))]}
        yield pa.RecordBatch.from_pydict(columns)


@dataclass(frozen=True)
class _Solver:
    """Finishes one node.

    Rows come in any order, so they are put in one of their content, by the hash; methods rank by codes:
    whatever is drawn or tied is then the same when a lost task runs again. The order in which a class
    is published is drawn from `key`, made once per release from the operating system's entropy.
    """

    plan: Plan
    schema: Schema
    names: tuple[str, ...]
    kept: tuple[str, ...]
    rest_schema: pa.Schema
    publish: Publish
    numeric: Rendering
    seed: int
    key: bytes
    place: list[int]

    def __call__(self, parts: pa.Table) -> pa.Table:
        plan, node = self.plan, parts["node"][0].as_py()
        codes = pa.Table.from_batches(unpacked(parts["codes"], plan.codes_schema))
        rest = pa.Table.from_batches(unpacked(parts["rest"], self.rest_schema))
        order = np.argsort(rest["hash"].to_numpy(), kind="stable")
        columns = [column.to_numpy()[order] for column in codes.columns]
        rest = rest.drop_columns("hash").rename_columns(list(self.kept)).take(pa.array(order))
        m = len(plan.quasi)
        held = {name: rest[name] if name in self.kept else pa.nulls(len(order)) for name in self.names}
        encoded = Encoded(
            pa.table(held),
            self.schema,
            plan.quasi,
            tuple(columns[:m]),
            plan.sensitive,
            tuple(columns[m : m + len(plan.sensitive)]),
            np.empty(0, np.uint32),
        )
        entropy = keyed(self.key, node)
        task = Task(plan.rules(), np.random.default_rng([self.seed, node]), entropy=entropy)
        classes = classes_of(encoded, plan.method, task, plan.require, self.publish)
        release = recode(
            encoded,
            classes,
            cells(encoded, classes),
            method=plan.method,
            publish=self.publish,
            numeric=self.numeric,
            entropy=entropy,
            n_threads=1,
        )
        if self.publish == "generalization":
            return _plain(release.table)
        rows = release.classes.rows
        number = np.repeat(np.arange(release.classes.n_classes), release.classes.sizes)
        assert isinstance(encoded.table, pa.Table)  # a node's rows are in memory
        table = encoded.table.take(pa.array(rows))
        return _plain(table.append_column(CLASS_ID, pa.array(number + (self.place[node] << 32))))


def _plain(table: pa.Table) -> pa.Table:
    """Without dictionaries and metadata, as Spark takes it."""
    columns = [
        column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        for column in table.columns
    ]
    columns = [
        column.cast(pa.string()) if pa.types.is_large_string(column.type) else column for column in columns
    ]
    return pa.table(dict(zip(table.column_names, columns, strict=True)))


def _recheck(whole: DataFrame, read: _Read, plan: Plan, publish: str, shown: Any) -> int:
    """Raise RecheckError unless every class, as published, meets every requirement; how many there are."""
    kept = set(_kept_columns(read, publish))
    names = [CLASS_ID] if publish == "bucketization" else [f.name for f in shown.fields if f.name not in kept]
    sensitive, totals, require = read.sensitive, read.counts, plan.require
    m, s = len(names), len(sensitive)

    def test(batches: Batches) -> Batches:
        held = list(batches)
        table = pa.Table.from_batches(held) if held else None
        if table is None or not table.num_rows:
            return
        sizes, found = merged(table, m, s)
        entries = {domain.name: (domain, *entry) for domain, entry in zip(sensitive, found, strict=True)}
        others = holds_others(sensitive, totals, found)
        counts = {domain.name: rows for domain, rows in zip(sensitive, totals, strict=True)}
        failing = (
            anon.recheck.failing_groups(require, sizes, entries, counts) if not others else [1] * len(require)
        )
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

    counted = class_counts(whole, names, sensitive)
    counted = counted.repartition(read.n_kept // ROWS_PER_CHECK + 1, *(f"q{i}" for i in range(m)))
    told = counted.mapInArrow(test, "classes long, rows long, others long, failing array<long>").toArrow()
    n_classes, n_rows, others = (sum(told[name].to_pylist()) for name in ("classes", "rows", "others"))
    if n_rows != read.n_kept or others:
        raise anon.errors.RecheckError(
            f"{read.n_kept} rows were to be published and {n_rows} are, or other values; {OTHER_ROWS}"
        )
    for number, requirement in enumerate(require):
        failing = sum(counts[number] for counts in told["failing"].to_pylist())
        if failing:
            raise anon.recheck.unmet(requirement, failing, n_classes)
    return int(n_classes)


def _sensitive_table(whole: DataFrame, read: _Read) -> DataFrame:
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


@contextmanager
def _own_errors() -> Iterator[None]:
    """An error of ours that was raised inside a task is raised as itself."""
    from pyspark.errors import PySparkException

    try:
        yield
    except PySparkException as error:
        found = re.search(r"anon\.errors\.(\w+): (.*)", str(error))
        kind = getattr(anon.errors, found[1], None) if found else None
        if found is None or kind is None:
            raise
        raise kind(found[2]) from None


@contextmanager
def _batches_of_bytes(df: DataFrame) -> Iterator[None]:
    """Spark hands chunks to Python in batches of bytes, not of 10,000 of them."""
    conf, key = df.sparkSession.conf, "spark.sql.execution.arrow.maxBytesPerBatch"
    before = conf.get(key, None)
    conf.set(key, str(CHUNK_BYTES))
    try:
        yield
    finally:
        if before is None:
            conf.unset(key)
        else:
            conf.set(key, before)
