# SPDX-License-Identifier: Apache-2.0
"""A data frame read: its domains, and its rows as codes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, get_args

import numpy as np
import pyarrow as pa

import anon.errors
from anon.encoding import Domain, Missing, encode_like, encode_weights, narrowed
from anon.engines.spark.classes import arrow_schema, cell, domain_of, named, too_many
from anon.engines.spark.frames import (
    CHUNK_BYTES,
    CHUNK_ROWS,
    Batches,
    Ints,
    gathered,
    one_batch,
    packed,
    unpacked,
)
from anon.engines.spark.tree import Plan
from anon.errors import CATEGORY, SUPPRESS, DataError, UsageError
from anon.methods import Method, Mondrian
from anon.schema import Attribute, Schema, check_names, kind_of

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

NO_ROWS = "the table has no rows"
MOST_VALUES = 10_000_000  # of a domain: its histogram is held by one task, its values by the driver
ROWS_PER_TASK = 1_000_000  # that share their units with no other
ROWS_PER_PART = 32  # that a task gathers for each node before it sends them, on average at least


@dataclass(frozen=True)
class ReadFrame:
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


def read_frame(df: DataFrame, schema: Schema, method: Method, missing: Missing) -> ReadFrame:
    from pyspark.sql.functions import isnan, lit
    from pyspark.sql.types import DoubleType, FloatType

    if missing not in get_args(Missing):
        raise UsageError(f"missing must be one of {', '.join(get_args(Missing))}")
    arrow = arrow_schema(df)
    bound = schema.bind(arrow)
    _check_method(bound, method, arrow)
    if bound.unit is not None:
        check_units(df, bound.unit, arrow)
    if bound.sampling_weight is not None:
        check_sampling_weights(df, bound.sampling_weight, arrow)
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
    domains = domains_of(df, attributes, kept, arrow)
    for domain, rows, _ in domains[:n]:
        if missing == "error" and domain.has_null:
            raise DataError(
                f"column {domain.name!r} is missing in {int(rows[-1])} rows; fill it, or choose ",
                CATEGORY,
                " or 'suppress'",
                column=domain.name,
                count=int(rows[-1]),
            )
    m = len(bound.quasi)
    sensitive, counts = [], []
    for domain, _, rows in domains[m:n]:
        occurs = rows > 0
        sensitive.append(narrowed(domain, occurs) if missing == "suppress" else domain)
        counts.append(rows[occurs] if missing == "suppress" else rows)
    return ReadFrame(
        df.where(kept) if missing == "suppress" else df,
        arrow,
        bound,
        tuple(domain for domain, _, _ in domains[:m]),
        tuple(sensitive),
        domains[n][0] if len(domains) > n else None,
        tuple(counts),
        int(domains[0][2].sum()),
    )


def _check_method(schema: Schema, method: Method, arrow: pa.Schema) -> None:
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
            check_names([method.target], schema.published(arrow.names))


def domains_of(
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
            is_kept, ones = table["kept"].cast(pa.int64()), np.ones(table.num_rows, np.int64)
            counted = []
            for column, fields in zip(table.columns[:-1], schemas, strict=True):
                alone = pa.table({"value": column, "rows": ones, "kept": is_kept})
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
    per_column = counted.groupBy("attribute").applyInArrow(add, "attribute long, values binary").toArrow()
    if not per_column.num_rows:
        raise DataError(NO_ROWS)
    batches = dict(zip(per_column["attribute"].to_pylist(), per_column["values"], strict=True))
    domains = []
    for a, attribute in enumerate(attributes):
        if not batches[a].is_valid:
            raise too_many(attribute.name, most)
        batch = pa.ipc.read_record_batch(batches[a].as_buffer(), schemas[a])
        domain, codes = domain_of(pa.chunked_array([batch["value"]]), attribute)
        rows, kept_rows = (
            np.bincount(codes, batch[name].to_numpy(), domain.n_codes).astype(np.int64)
            for name in ("rows", "kept")
        )
        domains.append((domain, rows, kept_rows))
    return domains


def _added(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Rows and kept rows of every value that occurs."""
    summed = table.group_by("value", use_threads=False).aggregate([("rows", "sum"), ("kept", "sum")])
    return summed.select(["value", "rows_sum", "kept_sum"]).rename_columns(schema.names).cast(schema)


def check_units(df: DataFrame, name: str, arrow: pa.Schema) -> None:
    """Raise DataError unless there is a column of this name that tells of every row whose it is."""
    check_names([name], df.columns)
    kind_of(name, arrow.field(name).type)
    count = df.where(cell(named(name), df.schema[name].dataType).isNull()).count()
    if count:
        raise DataError(
            f"column {name!r}, the unit, is missing in {count} rows; nobody knows whose these rows are: "
            "fill it, or leave them out",
            column=name,
            count=count,
        )


def check_sampling_weights(df: DataFrame, name: str, arrow: pa.Schema) -> None:
    """Raise DataError unless a column is of numbers, all finite and above 0."""
    from pyspark.sql.functions import count_if, isnan, lit

    encode_weights(pa.table({name: pa.array([], arrow.field(name).type)}), name)
    number = named(name).cast("double")
    missing = number.isNull() | isnan(number)
    counts = df.agg(count_if(missing | ~((number > 0) & (number < lit(float("inf"))))), count_if(missing))
    [count, n_missing] = counts.first() or (0, 0)
    if count:
        raise DataError(
            f"column {name!r}, the sampling weight, is not a finite number above 0 in {count} rows"
            f"{f' ({n_missing} missing)' if n_missing else ''}; correct these rows, or leave them out",
            column=name,
            count=count,
        )


def refuse_missing(read: ReadFrame, method: Method) -> None:
    """What a method refuses of a whole table it must refuse before the work is shared out."""
    if method.needs_complete(read.sensitive):
        for domain, counts in zip(read.sensitive, read.counts, strict=True):
            if domain.has_null:
                raise DataError(
                    f"{domain.name}: {int(counts[-1])} values are missing; "
                    "S-diversity has no place for them: use ",
                    SUPPRESS,
                    column=domain.name,
                    count=int(counts[-1]),
                )


def kept_columns(read: ReadFrame, publish: str) -> list[str]:
    """The columns that are published as they are."""
    hidden = {domain.name for domain in read.quasi} if publish == "generalization" else set()
    return [name for name in read.schema.published(read.arrow.names) if name not in hidden]


def chunked(read: ReadFrame, plan: Plan, publish: str) -> DataFrame:
    """The rows, many to a chunk: a batch of codes, and a batch of the columns published as they are."""
    from pyspark.sql.functions import lit, xxhash64

    kept = kept_columns(read, publish)
    hashable = [name for name in kept if "map<" not in read.rows.schema[name].dataType.simpleString()]
    digest = xxhash64(*map(named, hashable)) if hashable else lit(0).cast("long")
    names = list(dict.fromkeys([*(domain.name for domain in plan.domains), *kept]))
    position = {name: number for number, name in enumerate(names)}
    columns = [named(name).alias(str(number)) for name, number in position.items()]
    domains = [replace(domain, name=str(position[domain.name])) for domain in plan.domains]
    labels = [domain.name for domain in plan.domains]
    codes_schema, coded = plan.codes_schema, plan.coded
    rest_schema = schema_of_rest(read, publish)
    rest = [*(str(position[name]) for name in kept), *rest_schema.names[len(kept) :]]
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
            shown = [
                column if domain.coding is None else domain.coding.coded(column)
                for column, domain in zip(codes, domains, strict=True)
            ]
            arrays = [
                pa.array(column.astype(field.type.to_pandas_dtype(), copy=False))
                for column, field in zip(
                    [*shown, *(codes[i] for i in coded), *(table[name].to_numpy() for name in whose)],
                    codes_schema,
                    strict=True,
                )
            ]
            kept = table.select(rest).rename_columns(rest_schema.names).cast(rest_schema)
            yield pa.RecordBatch.from_pydict(
                {
                    "codes": [packed(pa.RecordBatch.from_arrays(arrays, schema=codes_schema))],
                    "rest": [packed(one_batch(kept))],
                    "chunk": [first + number],
                }
            )

    rows, whose = read.rows, []
    if plan.unit is not None:  # all rows of a unit go to one task, and are told apart by it
        unit = cell(named(plan.unit), rows.schema[plan.unit].dataType)
        n_tasks = int(str(rows.sparkSession.conf.get("spark.sql.shuffle.partitions")))
        rows = rows.repartition(max(n_tasks, read.n_kept // ROWS_PER_TASK + 1), xxhash64(unit))
        columns += [unit.alias("unit"), xxhash64(unit).alias("whose")]
        digest, whose = xxhash64(digest, unit), ["whose"]
    selected = rows.select(*columns, digest.alias("hash"))
    if plan.tree.relaxed:  # rows that tie are told apart by their place
        selected = selected.sortWithinPartitions("hash")
    return selected.mapInArrow(encode, "codes binary, rest binary, chunk long")


def _partition() -> int:
    """The number of the partition that this task works on."""
    from pyspark import TaskContext

    task = TaskContext.get()
    assert task is not None
    return task.partitionId()


def schema_of_rest(read: ReadFrame, publish: str) -> pa.Schema:
    """Of a chunk's other batch: the columns published as they are, by number, a hash of them, the unit."""
    columns = [(str(i), read.arrow.field(name).type) for i, name in enumerate(kept_columns(read, publish))]
    unit = read.schema.unit
    return pa.schema(
        [*columns, ("hash", pa.int64()), *([] if unit is None else [("unit", read.arrow.field(unit).type)])]
    )


@contextmanager
def own_errors() -> Iterator[None]:
    """An error of ours that was raised inside a task is raised as itself."""
    from pyspark.errors import PySparkException

    try:
        yield
    except PySparkException as error:
        matched = re.search(r"anon\.errors\.(\w+): (.*)", str(error))
        kind = getattr(anon.errors, matched[1], None) if matched else None
        if matched is None or kind is None:
            raise
        raise kind(matched[2]) from None


@contextmanager
def batches_of_bytes(df: DataFrame) -> Iterator[None]:
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
