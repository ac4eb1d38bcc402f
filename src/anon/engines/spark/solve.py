# SPDX-License-Identifier: Apache-2.0
"""The nodes of a tree, each finished by the method in one task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from anon.classes import Rendering
from anon.encoding import Encoded, encode_units, encode_weights
from anon.engines.local import Judged, make
from anon.engines.spark.frames import CHUNK_ROWS, SLICES, Batches, one_batch, packed, slices, unpacked
from anon.engines.spark.read import ROWS_PER_PART, ReadFrame, coder, kept_columns, schema_of_rest, with_rows
from anon.engines.spark.tree import Node, Plan, chunk_of, routed
from anon.entropy import keyed, new_key, permutation, system
from anon.release import CLASS_ID, Publish, Weights
from anon.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType
NODE_ROWS = 1_000_000  # of a node that one task finishes, where the data can be cut that small


def solved(
    read: ReadFrame,
    nodes: Sequence[Node],
    plan: Plan,
    publish: Publish,
    numeric: Rendering,
    weights: Weights,
    seed: int,
    hidden: str,
    shape: StructType | None,
) -> DataFrame:
    """The release, of this shape or as `slices`: rows shuffled by node, each then finished where it lies.

    Where units are counted, the column `hidden` has the unit of each row.
    """
    code, rest_schema = coder(read, plan), schema_of_rest(read.schema, read.arrow, publish)

    enough = ROWS_PER_PART * len(nodes)

    def split(batches: Batches) -> Batches:
        parts_of: dict[int, list[tuple[pa.RecordBatch, pa.RecordBatch]]] = {}
        n_rows = 0
        for batch in map(with_rows, batches):
            chunks = batch["chunk"].to_pylist(), code(batch), unpacked(batch["rest"], rest_schema)
            for number, codes, rest in zip(*chunks, strict=True):
                leaves = routed(nodes, chunk_of(number, codes))
                order = pa.array(np.concatenate(list(leaves.values())))
                codes, rest, start = codes.take(order), rest.take(order), 0
                for node, rows in leaves.items():
                    part = (codes.slice(start, len(rows)), rest.slice(start, len(rows)))
                    parts_of.setdefault(node, []).append(part)
                    start += len(rows)
                n_rows += codes.num_rows
                if n_rows >= enough:
                    yield from _parts(parts_of)
                    parts_of, n_rows = {}, 0
        yield from _parts(parts_of)

    solver = _Solver(
        plan,
        read.schema,
        tuple(read.schema.published(read.arrow.names)),
        tuple(kept_columns(read.schema, read.arrow, publish)),
        rest_schema,
        publish,
        numeric,
        weights,
        seed,
        new_key(),
        permutation(len(nodes), system).tolist(),
        hidden,
    )

    def solve(table: pa.Table) -> pa.Table:
        made = solver(table)
        return (
            slices(made) if shape is None else pa.Table.from_batches(made.to_batches(CHUNK_ROWS), made.schema)
        )

    moved = read.chunks.mapInArrow(split, "node long, codes binary, rest binary")
    return moved.groupBy("node").applyInArrow(solve, shape or f"{SLICES} binary")


def _parts(parts_of: Mapping[int, Sequence[tuple[pa.RecordBatch, pa.RecordBatch]]]) -> Batches:
    """The rows of each node, one batch of codes and one of the rest."""
    for node, parts in parts_of.items():
        codes, rest = (pa.Table.from_batches([part[i] for part in parts]) for i in (0, 1))
        columns = {"node": [node], "codes": [packed(one_batch(codes))], "rest": [packed(one_batch(rest))]}
        yield pa.RecordBatch.from_pydict(columns)


@dataclass(frozen=True)
class _Solver:
    """Finishes one node; the column `hidden` tells the last check whose each row is.

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
    weights: Weights
    seed: int
    key: bytes
    place: list[int]
    hidden: str

    def __call__(self, parts: pa.Table) -> pa.Table:
        plan, node = self.plan, parts["node"][0].as_py()
        codes = pa.Table.from_batches(unpacked(parts["codes"], plan.codes_schema))
        rest = pa.Table.from_batches(unpacked(parts["rest"], self.rest_schema))
        order = np.argsort(rest["hash"].to_numpy(), kind="stable")
        columns = [column.to_numpy()[order] for column in codes.columns]
        rest = rest.drop_columns("hash").take(pa.array(order))
        units, unit = None, plan.unit
        if unit is not None:
            whose, rest = rest["unit"], rest.drop_columns("unit")
            units = encode_units(pa.table({unit: whose}), unit)
        rest = rest.rename_columns(list(self.kept))
        m, n = len(plan.quasi), len(plan.domains)
        fine = columns[:m]
        for place, number in enumerate(plan.coded):
            fine[number] = columns[n + place]
        weight = self.schema.sampling_weight
        by_name = {name: rest[name] if name in self.kept else pa.nulls(len(order)) for name in self.names}
        encoded = Encoded(
            pa.table(by_name),
            self.schema,
            plan.quasi,
            tuple(columns[:m]),
            plan.sensitive,
            tuple(columns[m : m + len(plan.sensitive)]),
            np.empty(0, np.uint32),
            units=units,
            weights=None if weight is None else encode_weights(rest, weight),
            fine_codes=tuple(fine) if plan.coded else (),
        )
        made = make(
            encoded,
            plan.method,
            plan.require,
            publish=self.publish,
            judged=Judged(encoded, plan.counts, plan.n_rows, None if unit is None else plan.unit_counts),
            seed=[self.seed, node],
            entropy=keyed(self.key, node),
        )
        # requirements are checked in the whole table, later
        release = made.release(requirements=(), numeric=self.numeric, weights=self.weights)
        rows = release.classes.rows
        if self.publish == "generalization":
            table = release.table
            if unit is not None:
                table = table.append_column(self.hidden, whose.take(pa.array(rows)))
            return _plain(table)
        of_class = np.repeat(np.arange(release.classes.n_classes), release.classes.sizes)
        assert isinstance(encoded.table, pa.Table)  # a node's rows are in memory
        table = encoded.table.take(pa.array(rows))
        table = table.append_column(CLASS_ID, pa.array(of_class + (self.place[node] << 32)))
        return _plain(table if unit is None else table.append_column(self.hidden, whose.take(pa.array(rows))))


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
