# SPDX-License-Identifier: Apache-2.0
"""Anonymize and check tables of any size on Spark; the driver holds domains and counts, never rows.

The top of Mondrian's tree is built from counts summed over the cluster, level by level, until every
node fits one task; the rows are then shuffled once, by node, and each node is finished by the same
kernels as on one machine. docs/spark.md tells what each step reads, moves and holds.
"""

from __future__ import annotations

import json
import math
import re
import secrets
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

import anon.errors
import anon.recheck
from anon import privacy
from anon.anonymize import PrivacyWarning, check_arguments, classes_of
from anon.cells import Rendering, render, texts
from anon.classes import Classes, Counts, cells, full_cells
from anon.encode import Codes, Domain, Encoded, Missing, code_type, encode_column, encode_like, narrowed
from anon.errors import DataError, UsageError
from anon.inspection import IDENTIFYING_SHARE, role_of_name
from anon.methods import TGC, Curve, Method, Mondrian, Progress, Task
from anon.release import CLASS_ID, Publish, recode
from anon.requirements import Custom, Requirement, check_list, compile, infeasible
from anon.scale.cuts import (
    Cut,
    Histogram,
    Span,
    Tracked,
    best,
    find,
    halves_pass,
    needs_distinct,
    tracked_counts,
    turns,
)
from anon.schema import Attribute, Role, Schema, check_names, is_text, kind_of, value_type

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

MOST_VALUES = 10_000_000  # of a domain: its histogram is held by one task, its values by the driver
NODE_ROWS = 1_000_000  # of a node that one task finishes, where the data can be cut that small
CHUNK_ROWS = 1 << 18  # encoded and routed at a time
CHUNK_BYTES = 1 << 26
ROWS_PER_CHECK = 10_000_000  # whose classes one task of the last check reads

Ints = npt.NDArray[np.int64]
Batches = Iterator[pa.RecordBatch]


@dataclass(frozen=True)
class _Tie:
    """How the rows equal to the median of a relaxed cut are shared out.

    In the order of these `columns` of codes, those up to `codes` go to the left. With `shares`, of the
    rows that equal `codes` only so many of each chunk do.
    """

    columns: tuple[int, ...] = ()
    codes: tuple[int, ...] = ()
    shares: Mapping[int, int] | None = None


@dataclass(frozen=True)
class _Node:
    """A node of the top of the tree: where its rows go, if it is cut.

    Rows with a code of `attribute` from `codes[p]` on, and before `codes[p + 1]`, go to `children[p]`,
    but those with `codes[1]` where there is a `tie`.
    """

    attribute: int = -1
    codes: tuple[int, ...] = ()
    children: tuple[int, ...] = ()
    tie: _Tie | None = None


@dataclass(frozen=True)
class _Plan:
    """All that a task must know; domains without their values where only codes are looked at."""

    quasi: tuple[Domain, ...]
    sensitive: tuple[Domain, ...]
    target: Domain | None
    counts: tuple[Ints, ...]
    n_rows: int
    require: tuple[Requirement, ...]
    method: Method

    @property
    def tree(self) -> Mondrian:
        """The method that cuts the top of the tree: for the growing ones, Mondrian with its defaults."""
        return self.method if isinstance(self.method, Mondrian) else Mondrian()

    @property
    def domains(self) -> tuple[Domain, ...]:
        """Of the columns of codes."""
        return (*self.quasi, *self.sensitive, *(() if self.target is None else (self.target,)))

    @property
    def codes_schema(self) -> pa.Schema:
        """Of a chunk of codes: one column per domain, and a hash of everything else in the row."""
        fields = [
            (str(number), pa.from_numpy_dtype(code_type(domain.n_codes)))
            for number, domain in enumerate(self.domains)
        ]
        return pa.schema([*fields, ("hash", pa.int64())])

    def light(self) -> _Plan:
        """The plan without the values of its domains."""
        return replace(
            self,
            quasi=tuple(map(_light, self.quasi)),
            sensitive=tuple(map(_light, self.sensitive)),
            target=None if self.target is None else _light(self.target),
        )

    def rules(self) -> Any:
        """The requirements against the whole table."""
        return compile(self.require, self.sensitive, self.counts, self.n_rows)

    def tracked(self) -> list[int]:
        """Which columns of codes are counted beside an attribute's; the target comes last."""
        first = len(self.quasi)
        tested = range(first, first + len(self.sensitive)) if self.rules().n_sensitive else range(0)
        if self.tree.target is None:
            return list(tested)
        names = [domain.name for domain in self.sensitive]
        own = self.target is None
        return [*tested, first + (names.index(self.tree.target) if own else len(names))]


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
) -> Any:
    """Anonymize a Spark DataFrame: the release satisfies every requirement, or there is none.

    Parameters are those of `anon.anonymize`; `node_rows` is how many rows one task finishes, and as
    few as the data lets it. Mondrian's classes are those of one machine (relaxed: as multisets of
    quasi-identifiers and sensitive values); TGC and Curve work inside the nodes of a strict Mondrian tree.

    Returns the published DataFrame, or for a bucketization the pair (table, sensitive table). It is
    computed, checked and persisted: write it, then call `unpersist()`.

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
    check_arguments(schema, method, require, publish, "class", "error", seed, progress)
    if not isinstance(method, Mondrian | TGC | Curve):
        raise UsageError(f"{type(method).__name__} does not run on Spark: use Mondrian, TGC or Curve")
    if isinstance(method, Mondrian) and method.relaxed and method.target is not None:
        raise UsageError("relaxed cuts by information gain do not run on Spark: choose one of the two")
    if getattr(method, "ties", "rank") != "rank":
        raise UsageError('rows have no order on Spark: use ties="rank"')
    if any(isinstance(one, Custom) for one in require):
        raise UsageError("a requirement of your own does not run on Spark: use one of anon's")
    if isinstance(node_rows, bool) or not isinstance(node_rows, int) or node_rows < 1:
        raise UsageError("node_rows must be a whole number of at least 1")
    tell = progress or (lambda stage, done, total: None)
    tell("domains", 0, 1)
    read = _read(df, schema, method, missing)
    notes = _notes_on_neutral(df, read.schema, read.arrow)
    impossible = infeasible(require, read.sensitive, read.counts, read.n_kept)
    if impossible is not None:
        raise impossible
    _refuse_missing(read, method)
    plan = _Plan(read.quasi, read.sensitive, read.target, read.counts, read.n_kept, tuple(require), method)
    plan.rules()
    if not read.n_kept:
        notes.append("every row misses a value and is suppressed: the release is empty")
    shown = _published_schema(read, publish, numeric)
    with _own_errors():
        chunks = _chunks(read, plan, publish).persist()
        try:
            nodes = _top_tree(chunks, plan, node_rows, tell)
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
    return whole.drop(*(domain.name for domain in read.sensitive)), _sensitive_table(whole, read)


# --- domains, by distributed aggregation


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


def _named(name: str) -> Column:
    from pyspark.sql.functions import col

    return col("`" + name.replace("`", "``") + "`")


def _read(df: DataFrame, schema: Schema, method: Mondrian | TGC | Curve, missing: Missing) -> _Read:
    from pyspark.sql.functions import isnan, lit
    from pyspark.sql.types import DoubleType, FloatType

    if missing not in get_args(Missing):
        raise UsageError(f"missing must be one of {', '.join(get_args(Missing))}")
    arrow = df.limit(0).toArrow().schema
    bound = schema.bind(arrow)
    _check_method(bound, method, arrow)
    attributes = [*bound.quasi, *bound.sensitive]
    n = len(attributes)
    wanted = method.target if isinstance(method, Mondrian) else None
    if wanted is not None and wanted not in [attribute.name for attribute in bound.sensitive]:
        attributes.append(Attribute(wanted, "nominal"))
    kept = lit(True)
    for attribute in attributes[:n] if missing == "suppress" else ():
        column = _named(attribute.name)
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
        for table in _gathered(batches, n_rows, n_bytes):
            shown, ones = table["kept"].cast(pa.int64()), np.ones(table.num_rows, np.int64)
            counted = []
            for column, fields in zip(table.columns[:-1], schemas, strict=True):
                alone = pa.table({"value": column, "rows": ones, "kept": shown})
                counted.append(_packed(_one_batch(_added(alone, fields))))
            yield pa.RecordBatch.from_pydict({"attribute": list(range(len(counted))), "values": counted})

    def add(table: pa.Table) -> pa.Table:
        a = table["attribute"][0].as_py()
        added = _added(pa.Table.from_batches(_unpacked(table["values"], schemas[a])), schemas[a])
        few = added.num_rows <= most
        return pa.table({"attribute": [a], "values": [_packed(_one_batch(added)) if few else None]})

    columns = [_named(name).alias(str(a)) for a, name in enumerate(names)]
    counted = df.select(*columns, kept.alias("kept")).mapInArrow(count, "attribute long, values binary")
    found = counted.groupBy("attribute").applyInArrow(add, "attribute long, values binary").toArrow()
    if not found.num_rows:
        raise DataError("the table has no rows")
    batches = dict(zip(found["attribute"].to_pylist(), found["values"], strict=True))
    domains = []
    for a, attribute in enumerate(attributes):
        if not batches[a].is_valid:
            raise DataError(
                f"column {attribute.name!r} has more than {most} values, too many for a domain on Spark; "
                "round it: dates to days, times to minutes, numbers to fewer digits, codes to a prefix",
                column=attribute.name,
            )
        batch = pa.ipc.read_record_batch(batches[a].as_buffer(), schemas[a])
        domain, codes = _domain(pa.chunked_array([batch["value"]]), attribute)
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


def _domain(values: pa.ChunkedArray, attribute: Attribute) -> tuple[Domain, Codes]:
    """As `encode_column`; on Spark rows have no numbers that an error could name."""
    try:
        return encode_column(values, attribute)
    except DataError as error:
        if error.row is None:
            raise
        where = re.compile(r"in row \d+|in \d+ rows, the first of them row \d+")
        raise DataError(
            where.sub(f"in {error.count} of its distinct values", str(error)),
            column=attribute.name,
            count=error.count,
            value=error.value,
        ) from None


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
        sums = [one(_named(name)) for name in counted for one in (approx_count_distinct, count)]
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


# --- codes


def _light(domain: Domain) -> Domain:
    return replace(domain, values=pa.nulls(domain.n_values), levels=None)


def _kept_columns(read: _Read, publish: str) -> list[str]:
    """The columns that are published as they are."""
    hidden = set(read.schema.identifying)
    if publish == "generalization":
        hidden |= {domain.name for domain in read.quasi}
    return [name for name in read.arrow.names if name not in hidden]


def _chunks(read: _Read, plan: _Plan, publish: str) -> DataFrame:
    """The rows, many to a chunk: a batch of codes, and a batch of the columns published as they are."""
    from pyspark.sql.functions import lit, xxhash64

    kept = _kept_columns(read, publish)
    hashable = [name for name in kept if "map<" not in read.rows.schema[name].dataType.simpleString()]
    digest = xxhash64(*map(_named, hashable)) if hashable else lit(0).cast("long")
    names = list(dict.fromkeys([*(domain.name for domain in plan.domains), *kept]))
    position = {name: number for number, name in enumerate(names)}
    columns = [_named(name).alias(str(number)) for name, number in position.items()]
    domains = [replace(domain, name=str(position[domain.name])) for domain in plan.domains]
    labels = [domain.name for domain in plan.domains]
    codes_schema = plan.codes_schema
    rest_schema = _rest_schema(read, publish)
    rest = [str(position[name]) for name in kept]
    n_rows, n_bytes = CHUNK_ROWS, CHUNK_BYTES

    def encode(batches: Batches) -> Batches:
        first = _partition() << 32
        for number, table in enumerate(_gathered(batches, n_rows, n_bytes)):
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
            arrays.append(table.column("hash").combine_chunks())
            kept = table.select(rest).rename_columns(rest_schema.names).cast(rest_schema)
            yield pa.RecordBatch.from_pydict(
                {
                    "codes": [_packed(pa.RecordBatch.from_arrays(arrays, schema=codes_schema))],
                    "rest": [_packed(_one_batch(kept))],
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
    return pa.schema(
        [
            pa.field(str(number), read.arrow.field(name).type)
            for number, name in enumerate(_kept_columns(read, publish))
        ]
    )


def _gathered(batches: Batches, n_rows: int, n_bytes: int) -> Iterator[pa.Table]:
    """The rows of small batches, a chunk at a time."""
    held: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        if batch.num_rows == 0:
            continue
        held.append(batch)
        rows += batch.num_rows
        size += batch.nbytes
        if rows >= n_rows or size >= n_bytes:
            yield pa.Table.from_batches(held)
            held, rows, size = [], 0, 0
    if held:
        yield pa.Table.from_batches(held)


def _one_batch(table: pa.Table) -> pa.RecordBatch:
    if table.num_columns == 0:
        return pa.RecordBatch.from_struct_array(pa.array([{}] * table.num_rows, pa.struct([])))
    return table.combine_chunks().to_batches()[0]


def _packed(batch: pa.RecordBatch) -> bytes:
    return bytes(batch.serialize())


def _unpacked(column: pa.ChunkedArray | pa.Array, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for value in column:
        yield pa.ipc.read_record_batch(value.as_buffer(), schema)


@dataclass(frozen=True)
class _Chunk:
    """Columns of codes of some rows, and the number of these rows' chunk."""

    number: int
    codes: list[Codes]
    n: int


def _chunks_of(batch: pa.RecordBatch, schema: pa.Schema) -> Iterator[_Chunk]:
    for number, held in zip(batch["chunk"].to_pylist(), _unpacked(batch["codes"], schema), strict=True):
        yield _Chunk(number, [column.to_numpy(zero_copy_only=True) for column in held.columns], held.num_rows)


# --- the top of the tree


def _routed(nodes: Sequence[_Node], chunk: _Chunk) -> dict[int, npt.NDArray[np.uint32]]:
    """The rows of a chunk that each leaf of the tree has, in their order."""
    leaves: dict[int, npt.NDArray[np.uint32]] = {}
    pending = [(0, np.arange(chunk.n, dtype=np.uint32))]
    while pending:
        number, rows = pending.pop()
        if not len(rows):
            continue
        node = nodes[number]
        if node.attribute < 0:
            leaves[number] = rows
            continue
        inside = chunk.codes[node.attribute][rows]
        if len(node.children) == 2:
            right = inside >= node.codes[1]
            if node.tie is not None:
                equal = np.flatnonzero(inside == node.codes[1])
                right[equal[_goes_left(node.tie, chunk, rows[equal])]] = False
            pending += [(node.children[0], rows[~right]), (node.children[1], rows[right])]
        else:
            part = np.searchsorted(node.codes[1:], inside, side="right")
            pending += [(child, rows[part == p]) for p, child in enumerate(node.children)]
    return dict(sorted(leaves.items()))


def _goes_left(tie: _Tie, chunk: _Chunk, rows: npt.NDArray[np.uint32]) -> npt.NDArray[np.bool_]:
    """Which of the rows equal to the median go to the left."""
    left, equal = np.zeros(len(rows), np.bool_), np.ones(len(rows), np.bool_)
    for column, code in zip(tie.columns, tie.codes, strict=True):
        held = chunk.codes[column][rows]
        left |= equal & (held < code)
        equal &= held == code
    if tie.shares is not None:
        equal[np.flatnonzero(equal)[tie.shares.get(chunk.number, 0) :]] = False
    return np.asarray(left | equal)


def _top_tree(chunks: DataFrame, plan: _Plan, node_rows: int, tell: Progress) -> list[_Node]:
    """Mondrian's tree from the root down to nodes of at most `node_rows` rows, or that no cut divides."""
    nodes, sizes, rules = [_Node()], [plan.n_rows], plan.rules()
    chunks, plan = chunks.select("chunk", "codes"), plan.light()
    open_nodes = [0]
    while True:
        large = [one for one in open_nodes if sizes[one] > node_rows and sizes[one] >= 2 * rules.min_size]
        if not large:
            return nodes
        tell("tree", plan.n_rows - sum(sizes[one] for one in large), plan.n_rows)
        spans = _spans(chunks, plan, nodes, large)
        waiting = {one: turns(plan.quasi, spans[one], plan.tree) for one in large}
        open_nodes = []
        while waiting := {one: order for one, order in waiting.items() if order}:
            at_once = len(plan.quasi) if plan.tree.target is not None else 1
            asked = {one: order[:at_once] for one, order in waiting.items()}
            found = _cuts(chunks, plan, nodes, asked)
            tied = {one: (a, spans[one], cut) for (one, a), cut in found.items() if cut.quota}
            shared = _shared_out(chunks, plan, nodes, tied) if tied else {}
            for one, attributes in asked.items():
                chosen = best([None if one in tied else found.get((one, a)) for a in attributes])
                if chosen is None and one not in shared:
                    waiting[one] = waiting[one][at_once:]
                    continue
                attribute = attributes[chosen or 0]
                cut = found[one, attribute]
                children = tuple(range(len(nodes), len(nodes) + len(cut.sizes)))
                nodes[one] = _Node(attribute, cut.codes, children, shared.get(one))
                nodes += [_Node()] * len(children)
                sizes += cut.sizes
                open_nodes += children
                del waiting[one]


def _spans(
    chunks: DataFrame, plan: _Plan, nodes: Sequence[_Node], asked: Sequence[int]
) -> dict[int, list[Span]]:
    """What each of the nodes holds of every quasi-identifier."""
    m, codes_schema, wanted = len(plan.quasi), plan.codes_schema, frozenset(asked)
    counted = [needs_distinct(domain, plan.tree) for domain in plan.quasi]

    def collect(batches: Batches) -> Batches:
        held: dict[tuple[int, int], list[npt.NDArray[Any]]] = {}
        for batch in batches:
            for chunk in _chunks_of(batch, codes_schema):
                for node, rows in _routed(nodes, chunk).items():
                    if node not in wanted:
                        continue
                    for a in range(m):
                        inside = chunk.codes[a][rows]
                        present = _distinct(inside) if counted[a] else _ends(inside)
                        held.setdefault((node, a), []).append(present.astype(np.uint32))
                        if len(held[node, a]) > 32:
                            held[node, a] = [_union(held[node, a], counted[a])]
        packed = [_union(some, counted[a]).tobytes() for (_, a), some in held.items()]
        yield _table(node=[one for one, _ in held], attribute=[a for _, a in held], codes=packed)

    def unite(table: pa.Table) -> pa.Table:
        node, attribute = table["node"][0].as_py(), table["attribute"].to_numpy()
        spans = []
        for a in range(m):
            some = table["codes"].filter(pa.array(attribute == a))
            codes = np.unique(np.concatenate([np.frombuffer(one.as_buffer(), np.uint32) for one in some]))
            spans.append((int(codes[0]), int(codes[-1]), len(codes)))
        low, high, distinct = zip(*spans, strict=True)
        return pa.table(
            {"node": [node] * m, "attribute": range(m), "low": low, "high": high, "distinct": distinct}
        )

    counted_rows = chunks.mapInArrow(collect, "node long, attribute long, codes binary")
    found = counted_rows.groupBy("node").applyInArrow(
        unite, "node long, attribute long, low long, high long, distinct long"
    )
    spans: dict[int, list[Span]] = {one: [Span(0, 0, 0)] * m for one in asked}
    for row in found.toArrow().to_pylist():
        spans[row["node"]][row["attribute"]] = Span(row["low"], row["high"], row["distinct"])
    return spans


def _distinct(codes: Codes) -> npt.NDArray[Any]:
    return np.unique(codes) if codes.itemsize > 2 else np.flatnonzero(np.bincount(codes))


def _ends(codes: Codes) -> Codes:
    return np.array([codes.min(), codes.max()])


def _union(some: Sequence[npt.NDArray[Any]], counted: bool) -> npt.NDArray[Any]:
    every = np.concatenate(some)
    return np.unique(every) if counted else _ends(every)


def _table(**columns: Any) -> pa.RecordBatch:
    types = {"codes": pa.binary(), "keys": pa.binary(), "counts": pa.binary()}
    arrays = [pa.array(values, types.get(name, pa.int64())) for name, values in columns.items()]
    return pa.RecordBatch.from_arrays(arrays, names=list(columns))


def _cuts(
    chunks: DataFrame, plan: _Plan, nodes: Sequence[_Node], asked: Mapping[int, Sequence[int]]
) -> dict[tuple[int, int], Cut]:
    """The cuts of the attributes asked about in each node, from counts of pairs of codes."""
    tracked = [plan.domains[column].n_codes for column in plan.tracked()]

    def choose(table: pa.Table) -> pa.Table:
        node = table["node"][0].as_py()
        rules = plan.rules()
        rows = []
        for a in asked[node]:
            cut = find(plan.quasi[a], _histogram(table, a, tracked), plan.tree, rules)
            if cut is not None:
                left, total = (
                    [one for held in some for one in held.tolist()] for some in (cut.left, cut.total)
                )
                rows.append([node, a, cut.disorder, cut.quota, cut.codes, cut.sizes, left, total])
        columns = list(zip(*rows, strict=True)) or [()] * 8
        return pa.table(
            [
                pa.array(map(list, some), _LONGS)
                if name in lists
                else pa.array(some, kinds.get(name, pa.int64()))
                for name, some in zip(names, columns, strict=True)
            ],
            names,
        )

    lists, kinds = ("codes", "sizes", "left", "total"), {"disorder": pa.float64()}
    names = ["node", "attribute", "disorder", "quota", *lists]
    types = "node long, attribute long, disorder double, quota long, " + ", ".join(
        f"{name} array<long>" for name in lists
    )
    found = _pairs(chunks, plan, nodes, asked, {}).groupBy("node").applyInArrow(choose, types)
    return {
        (row["node"], row["attribute"]): Cut(
            tuple(row["codes"]),
            tuple(row["sizes"]),
            row["disorder"],
            row["quota"],
            _by_column(row["left"], tracked),
            _by_column(row["total"], tracked),
        )
        for row in found.toArrow().to_pylist()
    }


_LONGS = pa.list_(pa.int64())


def _by_column(counts: Sequence[int], sizes: Sequence[int]) -> tuple[Ints, ...]:
    """Counts of the codes of several columns, one after the other."""
    if not len(counts):
        return ()
    return tuple(np.split(np.array(counts, np.int64), np.cumsum(sizes)[:-1]))


def _pairs(
    chunks: DataFrame,
    plan: _Plan,
    nodes: Sequence[_Node],
    asked: Mapping[int, Sequence[int]],
    within: Mapping[int, Sequence[tuple[int, int]]],
) -> DataFrame:
    """Per task, node, column asked about and tracked column: the rows with each pair of codes.

    `within` restricts a node to the rows with these codes of some columns.
    """
    codes_schema, tracked = plan.codes_schema, plan.tracked()
    sizes = [domain.n_codes for domain in plan.domains]

    def collect(batches: Batches) -> Batches:
        sums = _Sums()
        for chunk in (one for batch in batches for one in _chunks_of(batch, codes_schema)):
            for node, rows in _routed(nodes, chunk).items():
                for column, code in within.get(node, ()):
                    rows = rows[chunk.codes[column][rows] == code]
                for a in asked.get(node, ()):
                    inside = chunk.codes[a][rows].astype(np.int64)
                    if not tracked:
                        sums.add((node, a, 0), inside, sizes[a])
                    for j, column in enumerate(tracked):
                        keys = inside * sizes[column] + chunk.codes[column][rows]
                        sums.add((node, a, j), keys, sizes[a] * sizes[column])
        yield sums.batch()

    types = "node long, attribute long, tracked long, keys binary, counts binary"
    return chunks.mapInArrow(collect, types)


@dataclass
class _Sharing:
    """A relaxed cut on its way to the row where its left part ends: `quota` rows within these codes."""

    pending: list[int]
    within: list[tuple[int, int]]
    quota: int
    left: list[Ints]
    whole: bool = False


def _shared_out(
    chunks: DataFrame,
    plan: _Plan,
    nodes: Sequence[_Node],
    tied: Mapping[int, tuple[int, Sequence[Span], Cut]],
) -> dict[int, _Tie]:
    """Where the rows equal to the median are divided, for the relaxed cuts whose parts pass.

    Rows are ranked by their codes in schema order, then by their sensitive codes: the row at the cut is
    found column by column, and rows that are equal in all are taken chunk by chunk.
    """
    m, n = len(plan.quasi), len(plan.quasi) + len(plan.sensitive)
    states = {}
    for one, (a, spans, cut) in tied.items():
        pending = [c for c in range(n) if c >= m or (c != a and spans[c].low < spans[c].high)]
        states[one] = _Sharing(pending, [(a, cut.codes[1])], cut.quota, list(cut.left))
    while searching := {one: held for one, held in states.items() if held.pending and not held.whole}:
        _advance(chunks, plan, nodes, searching)
    alike = {one: held for one, held in states.items() if not held.whole}
    shares = _shares(chunks, plan, nodes, alike) if alike else {}
    for held in alike.values():  # rows that are equal in all have one code of every tracked column
        code_of = dict(held.within)
        for count, column in zip(held.left, plan.tracked(), strict=True):
            count[code_of[column]] += held.quota
    rules = plan.rules()
    return {
        one: _Tie(
            tuple(column for column, _ in held.within[1:]),
            tuple(code for _, code in held.within[1:]),
            shares.get(one),
        )
        for one, held in states.items()
        if halves_pass(rules, tied[one][2], held.left)
    }


def _advance(
    chunks: DataFrame, plan: _Plan, nodes: Sequence[_Node], searching: Mapping[int, _Sharing]
) -> None:
    """Follow each cut through one more column."""
    sizes = [plan.domains[column].n_codes for column in plan.tracked()]
    asked = {one: held.pending[:1] for one, held in searching.items()}
    within = {one: held.within for one, held in searching.items()}
    quotas = {one: held.quota for one, held in searching.items()}

    def advance(table: pa.Table) -> pa.Table:
        node = table["node"][0].as_py()
        histogram = _histogram(table, asked[node][0], sizes)
        at = int(np.searchsorted(histogram.below, quotas[node], side="left")) - 1
        cells = [
            [tracked_counts(one, *ends) for one in histogram.tracked] for ends in ((0, at), (at, at + 1))
        ]
        below, equal = ([count for held in some for count in held.tolist()] for some in cells)
        row = [node, int(histogram.values[at]), int(histogram.below[at]), int(histogram.below[at + 1])]
        return pa.table(
            [pa.array([value]) for value in row] + [pa.array([some], _LONGS) for some in (below, equal)],
            ["node", "code", "first", "end", "below", "equal"],
        )

    counted = _pairs(chunks, plan, nodes, asked, within).groupBy("node")
    types = "node long, code long, first long, end long, below array<long>, equal array<long>"
    for row in counted.applyInArrow(advance, types).toArrow().to_pylist():
        held = searching[row["node"]]
        held.whole = row["end"] == held.quota
        for counts in [row["below"], row["equal"]][: 1 + held.whole]:
            held.left = [one + other for one, other in zip(held.left, _by_column(counts, sizes), strict=True)]
        held.within.append((held.pending.pop(0), row["code"]))
        held.quota -= row["first"]


def _shares(
    chunks: DataFrame, plan: _Plan, nodes: Sequence[_Node], states: Mapping[int, _Sharing]
) -> dict[int, dict[int, int]]:
    """How many of the rows that are equal in all go to the left, by chunk."""
    codes_schema = plan.codes_schema
    within = {one: held.within for one, held in states.items()}

    def collect(batches: Batches) -> Batches:
        found = []
        for chunk in (one for batch in batches for one in _chunks_of(batch, codes_schema)):
            for node, rows in _routed(nodes, chunk).items():
                for column, code in within.get(node, ()):
                    rows = rows[chunk.codes[column][rows] == code]
                if node in within and len(rows):
                    found.append((node, chunk.number, len(rows)))
        nodes_of, numbers, rows_of = zip(*found, strict=True) if found else ((), (), ())
        yield _table(node=nodes_of, chunk=numbers, rows=rows_of)

    counted = chunks.mapInArrow(collect, "node long, chunk long, rows long").toArrow().sort_by("chunk")
    shares: dict[int, dict[int, int]] = {one: {} for one in states}
    left = {one: held.quota for one, held in states.items()}
    for row in counted.to_pylist():
        share = min(left[row["node"]], row["rows"])
        if share:
            shares[row["node"]][row["chunk"]] = share
            left[row["node"]] -= share
    return shares


class _Sums:
    """Counts of codes under several names, added up sparsely."""

    def __init__(self) -> None:
        self.held: dict[tuple[int, int, int], list[tuple[Ints, Ints]]] = {}

    def add(self, name: tuple[int, int, int], codes: Ints, n_codes: int) -> None:
        """Count these codes, all below n_codes."""
        if n_codes <= max(4 * len(codes), 1 << 16):
            counts = np.bincount(codes, minlength=n_codes)
            keys = np.flatnonzero(counts)
            counted = keys, counts[keys]
        else:
            counted = np.unique(codes, return_counts=True)
        some = self.held.setdefault(name, [])
        some.append(counted)
        if len(some) > 32:
            self.held[name] = [_summed(some)]

    def batch(self) -> pa.RecordBatch:
        """All of them: node, attribute, tracked column, keys and counts as bytes of int64."""
        node, attribute, tracked = zip(*self.held, strict=True) if self.held else ((), (), ())
        summed = [_summed(some) for some in self.held.values()]
        return _table(
            node=node,
            attribute=attribute,
            tracked=tracked,
            keys=[keys.astype(np.int64).tobytes() for keys, _ in summed],
            counts=[counts.astype(np.int64).tobytes() for _, counts in summed],
        )


def _summed(some: Sequence[tuple[Ints, Ints]]) -> tuple[Ints, Ints]:
    """The distinct keys, ascending, and the sums of their counts."""
    keys, at = np.unique(np.concatenate([keys for keys, _ in some]), return_inverse=True)
    counts = np.zeros(len(keys), np.int64)
    np.add.at(counts, at, np.concatenate([counts for _, counts in some]))
    return keys, counts


def _histogram(table: pa.Table, attribute: int, n_tracked: Sequence[int]) -> Histogram:
    """One attribute's histogram from the parts that the tasks counted."""
    chosen = table.filter(pa.array(table["attribute"].to_numpy() == attribute))
    parts: dict[int, list[tuple[Ints, Ints]]] = {}
    for j, keys, counts in zip(chosen["tracked"], chosen["keys"], chosen["counts"], strict=True):
        pair = (np.frombuffer(keys.as_buffer(), np.int64), np.frombuffer(counts.as_buffer(), np.int64))
        parts.setdefault(j.as_py(), []).append(pair)
    keys, counts = _summed(parts[0])
    of_value = keys // n_tracked[0] if n_tracked else keys
    values, at = np.unique(of_value, return_inverse=True)
    rows = np.zeros(len(values), np.int64)
    np.add.at(rows, at, counts)
    tracked = []
    for j, n_codes in enumerate(n_tracked):
        keys, counts = _summed(parts[j])
        tracked.append(Tracked(np.searchsorted(values, keys // n_codes), keys % n_codes, counts, n_codes))
    return Histogram(values, np.concatenate([[0], np.cumsum(rows)]), tuple(tracked))


# --- every node, by the kernels


def _published_schema(read: _Read, publish: Publish, numeric: Rendering) -> Any:
    """The columns of the release, as Spark names their types."""
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
    fields = []
    for field in read.rows.schema.fields:
        domain = quasi.get(field.name)
        if field.name in read.schema.identifying:
            continue
        if domain is None or publish == "bucketization":
            fields.append(StructField(field.name, field.dataType))
            continue
        [whole] = full_cells(
            Encoded(pa.table({}), read.schema, (domain,), (), (), (), one_class.rows), one_class
        )
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
    if publish == "bucketization":
        fields.append(StructField(CLASS_ID, LongType()))
    return StructType(fields)


def _solved(
    chunks: DataFrame,
    nodes: Sequence[_Node],
    read: _Read,
    plan: _Plan,
    publish: Publish,
    numeric: Rendering,
    seed: int,
    shown: Any,
) -> DataFrame:
    """The release: rows shuffled by node, then each node partitioned and recoded where it lies."""
    codes_schema, rest_schema = plan.codes_schema, _rest_schema(read, publish)

    def split(batches: Batches) -> Batches:
        for batch in batches:
            chunks = _chunks_of(batch, codes_schema)
            codes_of, rest_of = _unpacked(batch["codes"], codes_schema), _unpacked(batch["rest"], rest_schema)
            for chunk, codes, rest in zip(chunks, codes_of, rest_of, strict=True):
                for node, rows in _routed(nodes, chunk).items():
                    part = pa.array(rows)
                    yield pa.RecordBatch.from_pydict(
                        {
                            "node": [node],
                            "codes": [_packed(codes.take(part))],
                            "rest": [
                                _packed(rest.take(part) if rest.num_columns else rest.slice(0, len(rows)))
                            ],
                        }
                    )

    solver = _Solver(
        plan,
        read.schema,
        tuple(name for name in read.arrow.names if name not in read.schema.identifying),
        tuple(_kept_columns(read, publish)),
        rest_schema,
        publish,
        numeric,
        seed,
        secrets.randbits(128),
        np.random.default_rng().permutation(len(nodes)).tolist(),
    )

    def solve(table: pa.Table) -> pa.Table:
        return solver(table)

    moved = chunks.mapInArrow(split, "node long, codes binary, rest binary")
    return moved.groupBy("node").applyInArrow(solve, shown)


@dataclass(frozen=True)
class _Solver:
    """Finishes one node.

    Rows come in any order, so they are put in one of their content (codes, then the hash of the rest):
    whatever is drawn or tied is then the same when a lost task runs again. The order in which a class
    is published is drawn from `secret`, made once per release from the operating system's entropy.
    """

    plan: _Plan
    schema: Schema
    names: tuple[str, ...]
    kept: tuple[str, ...]
    rest_schema: pa.Schema
    publish: Publish
    numeric: Rendering
    seed: int
    secret: int
    place: list[int]

    def __call__(self, parts: pa.Table) -> pa.Table:
        plan, node = self.plan, parts["node"][0].as_py()
        codes = pa.Table.from_batches(_unpacked(parts["codes"], plan.codes_schema))
        rest = pa.Table.from_batches(_unpacked(parts["rest"], self.rest_schema)).rename_columns(
            list(self.kept)
        )
        order = np.argsort(codes["hash"].to_numpy(), kind="stable")
        columns = [column.to_numpy()[order] for column in codes.columns[:-1]]
        rest = rest.take(pa.array(order)) if rest.num_columns else rest
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
        task = Task(plan.rules(), np.random.default_rng([self.seed, node]))
        classes = classes_of(encoded, plan.method, task, plan.require, self.publish)
        release = recode(
            encoded,
            classes,
            cells(encoded, classes),
            method=plan.method,
            publish=self.publish,
            numeric=self.numeric,
            entropy=np.random.default_rng([self.secret, node]),
            n_threads=1,
        )
        if self.publish == "generalization":
            return _plain(release.table)
        rows = release.classes.rows
        number = np.repeat(np.arange(release.classes.n_classes), release.classes.sizes)
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


# --- counts of classes, from what is published


def _class_counts(
    df: DataFrame, shown: Sequence[str], sensitive: Sequence[Domain], *, joint: bool = False
) -> DataFrame:
    """Per class and task its cells `q0`, `q1`, .., its rows, and codes and counts of sensitive values.

    With `joint` also of the combinations of sensitive values, after the last attribute.
    """
    from pyspark.sql.functions import isnan, lit, when
    from pyspark.sql.types import ArrayType, DoubleType, FloatType, LongType, StructField, StructType

    cells_of = [StructField(f"q{i}", df.schema[name].dataType) for i, name in enumerate(shown)]
    lists = [
        StructField(f"{what}{j}", ArrayType(LongType()))
        for j in range(len(sensitive) + joint)
        for what in ("code", "count")
    ]
    domains = [replace(domain, name=f"s{j}") for j, domain in enumerate(sensitive)]
    names = [f"q{i}" for i in range(len(shown))]
    n_rows, n_bytes = 4 * CHUNK_ROWS, CHUNK_BYTES

    def count(batches: Batches) -> Batches:
        for table in _gathered(batches, n_rows, n_bytes):
            group, n_groups = anon.recheck.alike([table[name] for name in names])
            first = np.empty(n_groups, np.int64)
            first[group[::-1]] = np.arange(len(group))[::-1]
            arrays = table.select(names).take(pa.array(first)).combine_chunks().columns
            arrays = [
                column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
                for column in arrays
            ]
            arrays.append(pa.array(np.bincount(group, minlength=n_groups)))
            columns = list(encode_like(table, domains))
            for codes in [*columns, _combined(columns, domains)] if joint else columns:
                values, at = np.unique(codes, return_inverse=True)
                key, rows = np.unique(group * len(values) + at, return_counts=True)
                held, at = np.divmod(key, len(values))
                offsets = pa.array(np.searchsorted(held, np.arange(n_groups + 1)), pa.int32())
                arrays += [
                    pa.ListArray.from_arrays(offsets, pa.array(part.astype(np.int64)))
                    for part in (values[at], rows)
                ]
            labels = [*names, "rows", *(field.name for field in lists)]
            yield pa.RecordBatch.from_arrays(arrays, names=labels)

    columns = []
    for i, name in enumerate(shown):
        column, kind = _named(name), df.schema[name].dataType
        if isinstance(kind, DoubleType | FloatType):  # NaN is null, and -0.0 is 0.0
            column = when(~isnan(column), (column + lit(0.0)).cast(kind))
        columns.append(column.alias(f"q{i}"))
    columns += [_named(domain.name).alias(f"s{j}") for j, domain in enumerate(sensitive)]
    fields = [*cells_of, StructField("rows", LongType()), *lists]
    return df.select(*columns).mapInArrow(count, StructType(fields))


def _merged(table: pa.Table, n_shown: int, n_sensitive: int) -> tuple[Ints, list[tuple[Ints, Ints, Ints]]]:
    """Classes of several tasks made one where their cells are equal: sizes, and (class, code, rows)."""
    group, n_groups = anon.recheck.alike([table[f"q{i}"] for i in range(n_shown)])
    sizes = np.zeros(n_groups, np.int64)
    np.add.at(sizes, group, table["rows"].to_numpy())
    entries = []
    for j in range(n_sensitive):
        codes, counts = (table[f"{what}{j}"].combine_chunks() for what in ("code", "count"))
        lengths = codes.value_lengths().to_numpy()
        held, code = np.repeat(group, lengths), codes.flatten().to_numpy()
        values, at = np.unique(code, return_inverse=True)
        key, rows = _summed([(held * len(values) + at, counts.flatten().to_numpy())])
        held, at = np.divmod(key, len(values))
        entries.append((held, values[at], rows))
    return sizes, entries


def _recheck(whole: DataFrame, read: _Read, plan: _Plan, publish: str, shown: Any) -> int:
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
        sizes, found = _merged(table, m, s)
        entries = {domain.name: (domain, *entry) for domain, entry in zip(sensitive, found, strict=True)}
        unknown = sum(int((code >= domain.n_codes).any()) for domain, _, code, _ in entries.values())
        counts = {domain.name: rows for domain, rows in zip(sensitive, totals, strict=True)}
        failing = (
            anon.recheck.failing_groups(require, sizes, entries, counts)
            if not unknown
            else [1] * len(require)
        )
        yield pa.RecordBatch.from_pydict(
            {"classes": [len(sizes)], "rows": [int(sizes.sum())], "unknown": [unknown], "failing": [failing]},
            schema=pa.schema(
                [(name, pa.int64()) for name in ("classes", "rows", "unknown")]
                + [("failing", pa.list_(pa.int64()))]
            ),
        )

    counted = _class_counts(whole, names, sensitive)
    counted = counted.repartition(read.n_kept // ROWS_PER_CHECK + 1, *(f"q{i}" for i in range(m)))
    told = counted.mapInArrow(test, "classes long, rows long, unknown long, failing array<long>").toArrow()
    n_classes, n_rows, unknown = (sum(told[name].to_pylist()) for name in ("classes", "rows", "unknown"))
    if n_rows != read.n_kept or unknown:
        raise anon.errors.RecheckError(
            f"{read.n_kept} rows were to be published and {n_rows} are, or other values; if the DataFrame "
            "gives other rows each time it is read, persist or checkpoint it first"
        )
    for number, requirement in enumerate(require):
        failing = sum(counts[number] for counts in told["failing"].to_pylist())
        if failing:
            raise anon.recheck.unmet(requirement, failing, n_classes)
    return int(n_classes)


def check_spark(
    df: DataFrame,
    schema: Schema,
    *,
    at_risk: Sequence[float] = (2, 5, 10),
    require: Sequence[Requirement] = (),
) -> privacy.Privacy:
    """Measure the privacy of a released Spark DataFrame, whoever made it.

    As `anon.check`, but for what needs all classes in one place: `null_matching`, `per_class`, `worst` and
    `worst_cells`. A table of a bucketization is not taken.
    """
    from pyspark.sql.functions import lit

    check_list(require)
    if any(isinstance(one, Custom) for one in require):
        raise UsageError("a requirement of your own does not run on Spark: use one of anon's")
    arrow = df.limit(0).toArrow().schema
    names = [attribute.name for attribute in schema.quasi]
    bound = Schema(names, schema.sensitive).bind(arrow)
    starred = lit(all(is_text(value_type(arrow.field(name).type)) for name in names))
    for name in names:
        starred &= _named(name).eqNullSafe("*")
    with _own_errors():
        found = _domains(df, bound.sensitive, ~starred, arrow)
        for requirement in require:
            requirement.rules([domain for domain, _, _ in found], [counts for _, _, counts in found])
        joint = _combinations(df.where(~starred), [domain for domain, _, _ in found])
        told = _measured(df, names, found, joint, require)
    return _privacy(told, found, joint, require, at_risk)


def _combinations(df: DataFrame, domains: Sequence[Domain]) -> tuple[Ints, Ints] | None:
    """The combinations of sensitive values that occur, each as one number, and their rows."""
    if len(domains) < 2:
        return None
    columns = [_named(domain.name).alias(str(j)) for j, domain in enumerate(domains)]
    table = df.select(*columns).groupBy(*map(str, range(len(domains)))).count().toArrow()
    codes = encode_like(table, [replace(domain, name=str(j)) for j, domain in enumerate(domains)])
    return _summed([(_combined(codes, domains), table["count"].to_numpy())])


def _combined(codes: Sequence[Codes], domains: Sequence[Domain]) -> Ints:
    """One number for each combination of codes."""
    if math.prod(domain.n_codes for domain in domains) >= 2**63:
        raise UsageError("the sensitive attributes have too many combinations: check fewer of them at once")
    number = np.zeros(len(codes[0]), np.int64)
    for column, domain in zip(codes, domains, strict=True):
        number = number * domain.n_codes + column
    return number


def _measured(
    df: DataFrame,
    names: Sequence[str],
    found: Sequence[tuple[Domain, Ints, Ints]],
    joint: tuple[Ints, Ints] | None,
    require: Sequence[Requirement],
) -> list[dict[str, Any]]:
    """What every task makes of its classes: sums and extremes, which `_privacy` puts together."""
    sensitive = [(domain, counts) for domain, _, counts in found]
    m, s = len(names), len(sensitive)

    def measure(batches: Batches) -> Batches:
        held = list(batches)
        if not held:
            return
        table = pa.Table.from_batches(held)
        is_star = np.full(table.num_rows, all(is_text(table[f"q{i}"].type) for i in range(m)))
        for i in range(m) if is_star.any() else ():
            is_star &= np.asarray(pc.fill_null(pc.equal(table[f"q{i}"], "*"), False))
        part: dict[str, Any] = {"starred": int(table["rows"].to_numpy()[is_star].sum())}
        table = table.filter(pa.array(~is_star))
        sizes, entries = _merged(table, m, s + (joint is not None))
        part["sizes"] = [each.tolist() for each in np.unique(sizes, return_counts=True)]
        named = {d.name: (d, *entry) for (d, _), entry in zip(sensitive, entries, strict=False)}
        totals = {domain.name: counts for domain, counts in sensitive}
        part["failing"] = anon.recheck.failing_groups(require, sizes, named, totals) if len(sizes) else []
        parts: list[Any] = [
            (domain, counts, *entry) for (domain, counts), entry in zip(sensitive, entries, strict=False)
        ]
        if joint is not None:
            group, code, count = entries[s]
            parts.append((None, joint[1], group, np.searchsorted(joint[0], code), count))
        part["attributes"] = [_extremes(sizes, *one) for one in parts] if len(sizes) else []
        yield pa.RecordBatch.from_pydict({"part": [json.dumps(part)]})

    counted = _class_counts(df, names, [domain for domain, _ in sensitive], joint=joint is not None)
    counted = counted.repartition(*(f"q{i}" for i in range(m)))
    return [
        json.loads(part) for part in counted.mapInArrow(measure, "part string").toArrow()["part"].to_pylist()
    ]


def _extremes(
    sizes: Ints, domain: Domain | None, totals: Ints, group: Ints, code: Ints, count: Ints
) -> dict[str, float]:
    """Of some classes the worst of each measure of one attribute, and the sums that make the others."""
    offsets = np.searchsorted(group, np.arange(len(sizes) + 1)).astype(np.int64)
    counts = Counts(offsets, code.astype(np.uint32), count, totals)
    columns = privacy._columns(counts, domain, 1)
    rest = columns["recursive_c2"]
    told = {
        name: (columns[name].max() if greatest else columns[name].min()).item()
        for name, greatest in privacy._BY_CLASS.items()
        if name in columns
    }
    return told | {
        "know": float(np.sum(sizes * columns["t_equal"])),
        "largest": int(columns["largest"].sum()),
        "entropy": float(np.sum(sizes * columns["entropy"])),
        "ls_c": float(np.where(np.isinf(rest), 0.0, rest).sum()),
        "ls_l": float(columns["l_distinct"].sum()),
    }


def _disclosure(parts: Sequence[Mapping[str, Any]], totals: Ints, n_classes: int) -> privacy.Disclosure:
    """The measures of one attribute from what every task told of it."""
    n_rows = int(totals.sum())
    share = totals[totals > 0] / n_rows
    worst = {
        name: (max if greatest else min)(part[name] for part in parts)
        for name, greatest in privacy._BY_CLASS.items()
        if name in parts[0]
    }
    know, largest, entropy, ls_c, ls_l = (
        math.fsum(part[name] for part in parts) for name in ("know", "largest", "entropy", "ls_c", "ls_l")
    )
    return privacy.Disclosure(
        **worst,
        p_loss=worst["t_js"],
        a_know=know / n_rows,
        a_acc=int(largest - totals.max()) / n_rows,
        gain=max(-float(share @ np.log(share)) - entropy / n_rows, 0.0),
        ls_c=ls_c / n_classes,
        ls_l=ls_l / n_classes,
        worst={},
    )


def _privacy(
    told: Sequence[Mapping[str, Any]],
    found: Sequence[tuple[Domain, Ints, Ints]],
    joint: tuple[Ints, Ints] | None,
    require: Sequence[Requirement],
    at_risk: Sequence[float],
) -> privacy.Privacy:
    """The measures of a whole release."""
    size, n_of_size = (
        np.array([value for part in told for value in part["sizes"][i]], np.int64) for i in (0, 1)
    )
    size, n_of_size = _summed([(size, n_of_size)])
    rows, n_classes, n_starred = size * n_of_size, int(n_of_size.sum()), sum(part["starred"] for part in told)
    parts = [part for part in told if part["sizes"][0]]
    totals = [counts for _, _, counts in found] + ([] if joint is None else [joint[1]])
    measured = [
        _disclosure([part["attributes"][j] for part in parts], counts, n_classes)
        if n_classes
        else privacy._zero()
        for j, counts in enumerate(totals)
    ]
    by_sensitive = {domain.name: one for (domain, _, _), one in zip(found, measured, strict=False)}
    worst, worst_sensitive = privacy._worst(by_sensitive)
    middle = np.searchsorted(np.cumsum(n_of_size), [(n_classes + 1) // 2, n_classes // 2 + 1])
    k = int(size[0]) if n_classes else 0
    failing = [sum(part["failing"][i] for part in parts) for i in range(len(require))]
    return privacy.Privacy(
        **worst,
        n_rows=int(rows.sum()),
        n_suppressed=n_starred,
        n_classes=n_classes,
        k=k,
        sizes=privacy.Sizes(k, float(rows.sum() / n_classes), float(size[middle].mean()), int(size[-1]))
        if n_classes
        else privacy.Sizes(0, 0.0, 0.0, 0),
        prosecutor=privacy._risk(rows, size, Fraction(1), at_risk),
        sample_uniques=int(n_of_size[size == 1].sum()),
        by_sensitive=by_sensitive,
        worst_sensitive=worst_sensitive,
        combined=measured[-1] if measured else None,
        n_starred=n_starred,
        k_with_starred=min(k or n_starred, n_starred) if n_starred else None,
        unmet=tuple(str(one) for one, n in zip(require, failing, strict=True) if n) if require else None,
    )


def _sensitive_table(whole: DataFrame, read: _Read) -> DataFrame:
    """Attribute, class id, value (as text, null for a missing one) and count."""
    counted = _class_counts(whole, [CLASS_ID], read.sensitive)
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
