# SPDX-License-Identifier: Apache-2.0
"""A data frame read: its domains, and its rows as codes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

import anon.errors
from anon.encoding import Codes, Domain, Missing, code_type, encode_like, encode_weights, narrowed
from anon.engines.spark.classes import arrow_schema, cell, domain_of, named, too_many
from anon.engines.spark.frames import (
    CHUNK_BYTES,
    CHUNK_ROWS,
    Batches,
    Ints,
    gathered,
    one_batch,
    packed,
    stream,
    unpacked,
)
from anon.engines.spark.tree import Plan
from anon.errors import CATEGORY, SUPPRESS, DataError, UsageError
from anon.methods import Method, Mondrian
from anon.schema import Attribute, Schema, check_names, kind_of

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

BY_ATTRIBUTE = "attribute long, values binary"  # what a task counted of a column's values
NO_ROWS = "the table has no rows"
BATCHES = {
    "spark.sql.execution.arrow.maxBytesPerBatch": str(CHUNK_BYTES),
    "spark.sql.execution.arrow.maxRecordsPerBatch": str(CHUNK_ROWS // 4),
}
MOST_VALUES = 10_000_000  # of a domain: its histogram is held by one task, its values by the driver
ROWS_PER_TASK = 1_000_000  # that share their units with no other
ROWS_PER_PART = 32  # that a task gathers for each node before it sends them, on average at least


@dataclass(frozen=True)
class ReadFrame:
    """What a DataFrame holds, and `chunks`: its rows to be published, persisted. The `schema` is bound.

    `quasi` are the domains of the whole table, `sensitive` and `counts` those of the published rows.
    """

    df: DataFrame
    arrow: pa.Schema
    schema: Schema
    chunks: DataFrame
    quasi: tuple[Domain, ...]
    sensitive: tuple[Domain, ...]
    target: Domain | None
    counts: tuple[Ints, ...]
    n_kept: int


def read_frame(df: DataFrame, schema: Schema, method: Method, missing: Missing, publish: str) -> ReadFrame:
    """Read a DataFrame once: what it holds, and its rows as chunks, which the caller unpersists."""
    from pyspark.sql.functions import isnan, lit
    from pyspark.sql.types import DoubleType, FloatType

    if missing not in get_args(Missing):
        raise UsageError(f"missing must be one of {', '.join(get_args(Missing))}")
    arrow = arrow_schema(df)
    bound = schema.bind(arrow)
    _check_method(bound, method, arrow)
    n_rows = 0 if bound.unit is None else check_units(df, bound.unit, arrow)
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
    ranked = isinstance(method, Mondrian) and method.relaxed
    chunks = _chunked(df, bound, arrow, attributes, kept, publish, n_rows, ranked).persist()
    try:
        domains = _domains(chunks, attributes, arrow)
        for domain, rows, _ in domains[:n]:
            if missing == "error" and domain.has_null:
                raise DataError(
                    f"column {domain.name!r} is missing in {int(rows[-1])} rows; fill it, or choose ",
                    CATEGORY,
                    " or 'suppress'",
                    column=domain.name,
                    count=int(rows[-1]),
                )
    except BaseException:
        chunks.unpersist()
        raise
    m = len(bound.quasi)
    sensitive, counts = [], []
    for domain, _, rows in domains[m:n]:
        occurs = rows > 0
        sensitive.append(narrowed(domain, occurs) if missing == "suppress" else domain)
        counts.append(rows[occurs] if missing == "suppress" else rows)
    return ReadFrame(
        df,
        arrow,
        bound,
        chunks,
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
    schemas = _of_values(attributes, arrow)
    n_rows, n_bytes = 4 * CHUNK_ROWS, CHUNK_BYTES

    def count(batches: Batches) -> Batches:
        for table in gathered(batches, n_rows, n_bytes):
            is_kept = table["kept"].to_numpy()
            columns = zip(table.columns[:-1], schemas, strict=True)
            yield _by_attribute([[_counted(column, is_kept, of)[0]] for column, of in columns], schemas)

    columns = [named(attribute.name).alias(str(a)) for a, attribute in enumerate(attributes)]
    counted = df.select(*columns, kept.alias("kept")).mapInArrow(count, BY_ATTRIBUTE)
    return _added_up(counted, attributes, schemas)


def _domains(
    chunks: DataFrame, attributes: Sequence[Attribute], arrow: pa.Schema
) -> list[tuple[Domain, Ints, Ints]]:
    """As `domains_of`, of the rows that chunks were made of."""
    schemas = _of_values(attributes, arrow)

    def collect(batches: Batches) -> Batches:
        for batch in filter(len, batches):
            values = batch["values"].flatten()
            places = [pa.array(np.arange(a, len(values), len(schemas))) for a in range(len(schemas))]
            parts = [list(unpacked(values.take(at), of)) for at, of in zip(places, schemas, strict=True)]
            yield _by_attribute(parts, schemas)

    return _added_up(chunks.select("values").mapInArrow(collect, BY_ATTRIBUTE), attributes, schemas)


def _of_values(attributes: Sequence[Attribute], arrow: pa.Schema) -> list[pa.Schema]:
    """What is counted of the values of each column."""
    return [
        pa.schema([("value", arrow.field(one.name).type), ("rows", pa.int64()), ("kept", pa.int64())])
        for one in attributes
    ]


def _counted(
    column: pa.ChunkedArray, kept: npt.NDArray[np.bool_], schema: pa.Schema
) -> tuple[pa.RecordBatch, Codes]:
    """The values of a column with their rows and kept rows, and the place of every row's value among them."""
    encoded = pc.dictionary_encode(column.combine_chunks(), null_encoding="encode")
    place, n = encoded.indices.to_numpy(), len(encoded.dictionary)
    rows = np.bincount(place, minlength=n)
    kept_rows = rows if kept.all() else np.bincount(place[kept], minlength=n)
    counted = pa.RecordBatch.from_arrays(
        [encoded.dictionary, pa.array(rows), pa.array(kept_rows)], schema=schema
    )
    return counted, place.astype(code_type(n))


def _by_attribute(parts: Sequence[Sequence[pa.RecordBatch]], schemas: Sequence[pa.Schema]) -> pa.RecordBatch:
    """What was counted of each column, added up, as BY_ATTRIBUTE."""
    added = [_added(pa.Table.from_batches(some), of) for some, of in zip(parts, schemas, strict=True)]
    return pa.RecordBatch.from_pydict(
        {"attribute": list(range(len(added))), "values": [packed(one_batch(table)) for table in added]}
    )


def _added(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Rows and kept rows of every value that occurs."""
    summed = table.group_by("value", use_threads=False).aggregate([("rows", "sum"), ("kept", "sum")])
    return summed.select(["value", "rows_sum", "kept_sum"]).rename_columns(schema.names).cast(schema)


def _added_up(
    counted: DataFrame, attributes: Sequence[Attribute], schemas: Sequence[pa.Schema]
) -> list[tuple[Domain, Ints, Ints]]:
    """Domains, rows and kept rows of what tasks counted (BY_ATTRIBUTE)."""
    most = MOST_VALUES

    def add(table: pa.Table) -> pa.Table:
        a = table["attribute"][0].as_py()
        added = _added(pa.Table.from_batches(unpacked(table["values"], schemas[a])), schemas[a])
        few = added.num_rows <= most
        values = pa.array([packed(one_batch(added)) if few else None], pa.binary())
        return pa.table({"attribute": [a], "values": values})

    per_column = counted.groupBy("attribute").applyInArrow(add, BY_ATTRIBUTE).toArrow()
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


def check_units(df: DataFrame, name: str, arrow: pa.Schema) -> int:
    """How many rows there are; DataError unless a column of this name tells of every one whose it is."""
    from pyspark.sql.functions import count, count_if, lit

    check_names([name], df.columns)
    kind_of(name, arrow.field(name).type)
    unknown = cell(named(name), df.schema[name].dataType).isNull()
    [missing, n_rows] = df.agg(count_if(unknown), count(lit(1))).first() or (0, 0)
    if missing:
        raise DataError(
            f"column {name!r}, the unit, is missing in {missing} rows; nobody knows whose these rows are: "
            "fill it, or leave them out",
            column=name,
            count=missing,
        )
    return int(n_rows)


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


def kept_columns(schema: Schema, arrow: pa.Schema, publish: str) -> list[str]:
    """The columns that are published as they are."""
    hidden = {attribute.name for attribute in schema.quasi} if publish == "generalization" else set()
    return [name for name in schema.published(arrow.names) if name not in hidden]


def _chunked(
    df: DataFrame,
    schema: Schema,
    arrow: pa.Schema,
    attributes: Sequence[Attribute],
    kept: Column,
    publish: str,
    n_rows: int,
    ranked: bool,
) -> DataFrame:
    """The rows, many to a chunk: of the `kept` ones codes in the chunk's own values and the columns that are
    published as they are, both as bytes, or null where no row is kept; and of each attribute the values of
    all rows, with what `domains_of` counts of them.

    The rows of a unit, of `n_rows` in all, go to one task. With `ranked` those of a task are in the order of
    their hash.
    """
    from pyspark.sql.functions import lit, xxhash64

    shown = kept_columns(schema, arrow, publish)
    hashable = [name for name in shown if "map<" not in df.schema[name].dataType.simpleString()]
    digest = xxhash64(*map(named, hashable)) if hashable else lit(0).cast("long")
    names = list(dict.fromkeys([*(attribute.name for attribute in attributes), *shown]))
    position = {name: str(number) for number, name in enumerate(names)}
    columns = [named(name).alias(number) for name, number in position.items()]
    values_of, rest_schema = _of_values(attributes, arrow), schema_of_rest(schema, arrow, publish)
    places = [position[attribute.name] for attribute in attributes]
    rest = [*(position[name] for name in shown), *rest_schema.names[len(shown) :]]
    most_rows, most_bytes = CHUNK_ROWS, CHUNK_BYTES

    def encode(batches: Batches) -> Batches:
        first = _partition() << 32
        for number, table in enumerate(gathered(batches, most_rows, most_bytes)):
            is_kept = table["kept"].to_numpy()
            counted = [_counted(table[at], is_kept, of) for at, of in zip(places, values_of, strict=True)]
            codes = pa.table({str(i): place for i, (_, place) in enumerate(counted)})
            for name in whose:
                codes = codes.append_column("unit", table[name])
            if not is_kept.all():
                codes, table = (one.filter(pa.array(is_kept)) for one in (codes, table))
            published = table.select(rest).rename_columns(rest_schema.names).cast(rest_schema)
            some = table.num_rows > 0
            yield pa.RecordBatch.from_pydict(
                {
                    "codes": pa.array([stream(codes) if some else None], pa.binary()),
                    "values": [[packed(values) for values, _ in counted]],
                    "rest": pa.array([packed(one_batch(published)) if some else None], pa.binary()),
                    "chunk": [first + number],
                }
            )

    rows, whose = df, []
    if schema.unit is not None:  # all rows of a unit go to one task, and are told apart by it
        unit = cell(named(schema.unit), df.schema[schema.unit].dataType)
        n_tasks = int(str(df.sparkSession.conf.get("spark.sql.shuffle.partitions")))
        rows = rows.repartition(max(n_tasks, n_rows // ROWS_PER_TASK + 1), xxhash64(unit))
        columns += [unit.alias("unit"), xxhash64(unit).alias("whose")]
        digest, whose = xxhash64(digest, unit), ["whose"]
    selected = rows.select(*columns, digest.alias("hash"), kept.alias("kept"))
    if ranked:  # rows that tie are told apart by their place
        selected = selected.sortWithinPartitions("hash")
    return selected.mapInArrow(encode, "codes binary, values array<binary>, rest binary, chunk long")


def _partition() -> int:
    """The number of the partition that this task works on."""
    from pyspark import TaskContext

    task = TaskContext.get()
    assert task is not None
    return task.partitionId()


def schema_of_rest(schema: Schema, arrow: pa.Schema, publish: str) -> pa.Schema:
    """Of a chunk's columns published as they are: by number, a hash of them, the unit."""
    names = kept_columns(schema, arrow, publish)
    columns = [(str(i), arrow.field(name).type) for i, name in enumerate(names)]
    unit = [] if schema.unit is None else [("unit", arrow.field(schema.unit).type)]
    return pa.schema([*columns, ("hash", pa.int64()), *unit])


def coder(read: ReadFrame, plan: Plan) -> Callable[[pa.RecordBatch], Iterator[pa.RecordBatch]]:
    """What gives the codes of chunks in the domains of the whole table, as `Plan.codes_schema`."""
    attributes = [Attribute(domain.name) for domain in plan.domains]
    values_of, codes_schema, coded = _of_values(attributes, read.arrow), plan.codes_schema, plan.coded
    labels, n = [domain.name for domain in plan.domains], len(plan.domains)
    domains = [replace(domain, name="value") for domain in plan.domains]

    def code(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        for packed_codes, values in zip(batch["codes"], batch["values"], strict=True):
            own = pa.ipc.open_stream(packed_codes.as_buffer()).read_all()
            codes = []
            for i, of in enumerate(values_of):
                known = pa.ipc.read_record_batch(values.values[i].as_buffer(), of).select(["value"])
                [code_of] = encode_like(pa.Table.from_batches([known]), [domains[i]])
                column = code_of[own.column(i).to_numpy()]
                if (column >= domains[i].n_codes).any():
                    raise DataError(
                        f"column {labels[i]!r} holds other values than when it was first read; "
                        "persist or checkpoint the DataFrame before it is anonymized",
                        column=labels[i],
                    )
                codes.append(column)
            shown = [
                column if domain.coding is None else domain.coding.coded(column)
                for column, domain in zip(codes, domains, strict=True)
            ]
            units = [column.to_numpy() for column in own.columns[n:]]
            arrays = [
                pa.array(column.astype(field.type.to_pandas_dtype(), copy=False))
                for column, field in zip(
                    [*shown, *(codes[i] for i in coded), *units], codes_schema, strict=True
                )
            ]
            yield pa.RecordBatch.from_arrays(arrays, schema=codes_schema)

    return code


def coded_chunks(read: ReadFrame, plan: Plan) -> DataFrame:
    """The numbers of the chunks that hold rows, and their codes."""
    code = coder(read, plan)

    def encode(batches: Batches) -> Batches:
        for batch in map(with_rows, batches):
            codes = [packed(one) for one in code(batch)]
            yield pa.RecordBatch.from_pydict({"chunk": batch["chunk"], "codes": pa.array(codes, pa.binary())})

    chunks = read.chunks.select("chunk", "codes", "values")
    return chunks.mapInArrow(encode, "chunk long, codes binary")


def with_rows(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The chunks that hold rows to be published."""
    return batch.filter(batch["codes"].is_valid())


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
    """Spark hands rows to Python in batches of bytes, not of 10,000: chunks and columns alike."""
    conf, before = df.sparkSession.conf, {key: df.sparkSession.conf.get(key, None) for key in BATCHES}
    for key, value in BATCHES.items():
        conf.set(key, value)
    try:
        yield
    finally:
        for key, held in before.items():
            if held is None:
                conf.unset(key)
            else:
                conf.set(key, held)
