# SPDX-License-Identifier: Apache-2.0
"""The top of Mondrian's tree on Spark, from counts summed over the cluster, level by level.

A level takes two passes over the codes: what every open node holds of every quasi-identifier (which
says whose turn it is), and the pairs of that attribute's codes and the sensitive ones (which say where
it is cut, and whether both sides pass). A relaxed cut through equal values takes one more pass per column.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from anon.encoding import Codes, Domain, code_type
from anon.engines.spark.frames import (
    LONGS,
    Batches,
    Ints,
    Sums,
    light,
    table_of_sums,
    unpacked,
)
from anon.engines.spark.histograms import Cut, cut_of, halves_pass, histogram_of
from anon.engines.spark.units import UnitSums, cut_by_units, parts_of, read_histogram, units_with
from anon.methods import Method, Mondrian, Progress
from anon.methods.mondrian import priority
from anon.requirements import Requirement, compile
from anoncore.attribute import Attribute
from anoncore.partition import turns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Span(NamedTuple):
    """What a node has of one attribute: the least and greatest code (null the last), and how many codes.

    `last` is the greatest but null, -1 without one (with a tree, where units are counted).
    """

    low: int
    high: int
    distinct: int
    last: int = -1


@dataclass(frozen=True)
class Tie:
    """How the rows equal to the median of a relaxed cut are shared out.

    In the order of these `columns` of codes, those up to `codes` go to the left. With `shares`, of the
    rows that equal `codes` only so many of each chunk do.
    """

    columns: tuple[int, ...] = ()
    codes: tuple[int, ...] = ()
    shares: Mapping[int, int] | None = None


@dataclass(frozen=True)
class Node:
    """A node of the top of the tree: where its rows go, if it is cut.

    Rows with a code of `attribute` from `codes[p]` on, and before `codes[p + 1]`, go to `children[p]`,
    but those with `codes[1]` where there is a `tie`.
    """

    attribute: int = -1
    codes: tuple[int, ...] = ()
    children: tuple[int, ...] = ()
    tie: Tie | None = None


@dataclass(frozen=True)
class Plan:
    """All that a task must know; domains without their values where only codes are looked at."""

    quasi: tuple[Domain, ...]
    sensitive: tuple[Domain, ...]
    target: Domain | None
    counts: tuple[Ints, ...]
    n_rows: int
    require: tuple[Requirement, ...]
    method: Method
    unit: str | None = None
    n_units: int = 0
    unit_counts: tuple[Ints, ...] = ()

    @property
    def tree(self) -> Mondrian:
        """The method that cuts the top of the tree: for the growing ones, Mondrian with its defaults."""
        return self.method if isinstance(self.method, Mondrian) else Mondrian()

    @property
    def domains(self) -> tuple[Domain, ...]:
        """Of the columns of codes."""
        return (*self.quasi, *self.sensitive, *(() if self.target is None else (self.target,)))

    @property
    def attributes(self) -> list[Attribute]:
        """Quasi-identifiers as the kernels read them."""
        return [domain.attribute for domain in self.quasi]

    @property
    def coded(self) -> list[int]:
        """The quasi-identifiers some codes of which are published as one."""
        return [number for number, domain in enumerate(self.quasi) if domain.coding is not None]

    @property
    def codes_schema(self) -> pa.Schema:
        """Of a chunk of codes: one column per domain, then those of `coded` as they were before.

        Where units are counted the last column is a hash of the unit.
        """
        columns = dict(enumerate(self.domains)) | {-1 - number: self.quasi[number] for number in self.coded}
        return pa.schema(
            [
                (str(number), pa.from_numpy_dtype(code_type(domain.n_codes)))
                for number, domain in columns.items()
            ]
            + [("unit", pa.int64())] * (self.unit is not None)
        )

    def light(self) -> Plan:
        """The plan without the values of its domains."""
        return replace(
            self,
            quasi=tuple(map(light, self.quasi)),
            sensitive=tuple(map(light, self.sensitive)),
            target=None if self.target is None else light(self.target),
        )

    def rules(self) -> Any:
        """The requirements against the whole table; by units once theirs are counted."""
        rules = compile(self.require, self.sensitive, self.counts, self.n_rows)
        if self.unit is None or not self.unit_counts or not rules.n_sensitive:
            return rules
        return compile(self.require, self.sensitive, self.unit_counts, self.n_rows, by_units=True)

    def tracked(self) -> list[int]:
        """Which columns of codes are counted beside an attribute's; the target comes last."""
        first = len(self.quasi)
        tested = range(first, first + len(self.sensitive)) if self.rules().n_sensitive else range(0)
        if self.tree.target is None:
            return list(tested)
        names = [domain.name for domain in self.sensitive]
        own = self.target is None
        return [*tested, first + (names.index(self.tree.target) if own else len(names))]


@dataclass(frozen=True)
class Chunk:
    """Columns of codes of some rows, and the number of these rows' chunk; the last may be of units."""

    number: int
    codes: list[Codes]
    n: int


def chunks_of(batch: pa.RecordBatch, schema: pa.Schema) -> Iterator[Chunk]:
    """The chunks in the columns `chunk` and `codes`, whose schema is `Plan.codes_schema`."""
    yield from map(chunk_of, batch["chunk"].to_pylist(), unpacked(batch["codes"], schema))


def chunk_of(number: int, codes: pa.RecordBatch) -> Chunk:
    return Chunk(number, [column.to_numpy(zero_copy_only=True) for column in codes.columns], codes.num_rows)


def routed(nodes: Sequence[Node], chunk: Chunk) -> dict[int, npt.NDArray[np.uint32]]:
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


def _goes_left(tie: Tie, chunk: Chunk, rows: npt.NDArray[np.uint32]) -> npt.NDArray[np.bool_]:
    """Which of the rows equal to the median go to the left."""
    left, equal = np.zeros(len(rows), np.bool_), np.ones(len(rows), np.bool_)
    for column, code in zip(tie.columns, tie.codes, strict=True):
        codes = chunk.codes[column][rows]
        left |= equal & (codes < code)
        equal &= codes == code
    if tie.shares is not None:
        equal[np.flatnonzero(equal)[tie.shares.get(chunk.number, 0) :]] = False
    return np.asarray(left | equal)


def top_tree(chunks: DataFrame, plan: Plan, node_rows: int, tell: Progress) -> list[Node]:
    """Mondrian's tree from the root down to nodes of at most `node_rows` rows, or that no cut divides."""
    nodes, sizes, rules = [Node()], [plan.n_rows], plan.rules()
    plan = plan.light()
    open_nodes = [0]
    while True:
        large = [one for one in open_nodes if sizes[one] > node_rows and sizes[one] >= 2 * rules.min_size]
        if not large:
            return nodes
        tell("tree", plan.n_rows - sum(sizes[one] for one in large), plan.n_rows)
        spans = _spans(chunks, plan, nodes, large)
        waiting = {one: _turns(plan, spans[one]) for one in large}
        open_nodes = []
        while waiting := {one: order for one, order in waiting.items() if order}:
            at_once = len(plan.quasi) if plan.tree.target is not None else 1
            asked = {one: order[:at_once] for one, order in waiting.items()}
            if plan.unit is None:
                cuts = _cuts(chunks, plan, nodes, asked)
            else:
                cuts = _unit_cuts(
                    chunks, plan, nodes, {one: (a, spans[one][a]) for one, [a] in asked.items()}
                )
            tied = {one: (spans[one], cut) for one, cut in cuts.items() if cut.quota}
            shared = _shared_out(chunks, plan, nodes, tied) if tied else {}
            for one in asked:
                cut = cuts.get(one)
                if cut is None or (cut.quota and one not in shared):
                    waiting[one] = waiting[one][at_once:]
                    continue
                children = tuple(range(len(nodes), len(nodes) + len(cut.sizes)))
                nodes[one] = Node(cut.attribute, cut.codes, children, shared.get(one))
                nodes += [Node()] * len(children)
                sizes += cut.sizes
                open_nodes += children
                del waiting[one]


def _turns(plan: Plan, spans: Sequence[Span]) -> list[int]:
    """The attributes that can be cut, in the order in which they are tried in a node."""
    first = priority(plan.quasi, plan.quasi, plan.tree.split)
    low, high, distinct, _ = zip(*spans, strict=True)
    return turns(plan.attributes, low, high, distinct, chooser=plan.tree.chooser, priority=first)


def _needs_distinct(domain: Domain, method: Mondrian) -> bool:
    """Must the distinct codes be counted to know when the attribute's turn is?"""
    is_flat = domain.kind == "nominal" and domain.tree is None
    return method.chooser != "information-gain" and (is_flat or method.chooser != "widest")


def _spans(
    chunks: DataFrame, plan: Plan, nodes: Sequence[Node], asked: Sequence[int]
) -> dict[int, list[Span]]:
    """What each of the nodes holds of every quasi-identifier."""
    m, codes_schema, wanted = len(plan.quasi), plan.codes_schema, frozenset(asked)
    counted = [
        _needs_distinct(domain, plan.tree) or (plan.unit is not None and domain.tree is not None)
        for domain in plan.quasi
    ]
    null_codes = [domain.n_values for domain in plan.quasi]

    def collect(batches: Batches) -> Batches:
        codes_of: dict[tuple[int, int], list[npt.NDArray[Any]]] = {}
        for batch in batches:
            for chunk in chunks_of(batch, codes_schema):
                for node, rows in routed(nodes, chunk).items():
                    if node not in wanted:
                        continue
                    for a in range(m):
                        inside = chunk.codes[a][rows]
                        present = _distinct(inside) if counted[a] else _ends(inside)
                        codes_of.setdefault((node, a), []).append(present.astype(np.uint32))
                        if len(codes_of[node, a]) > 32:
                            codes_of[node, a] = [_union(codes_of[node, a], counted[a])]
        packed = [_union(some, counted[a]).tobytes() for (_, a), some in codes_of.items()]
        yield table_of_sums(
            node=[one for one, _ in codes_of], attribute=[a for _, a in codes_of], codes=packed
        )

    def unite(table: pa.Table) -> pa.Table:
        node, attribute = table["node"][0].as_py(), table["attribute"].to_numpy()
        spans = []
        for a in range(m):
            some = table["codes"].filter(pa.array(attribute == a))
            codes = np.unique(np.concatenate([np.frombuffer(one.as_buffer(), np.uint32) for one in some]))
            last = codes[codes < null_codes[a]]
            spans.append(Span(int(codes[0]), int(codes[-1]), len(codes), int(last[-1]) if len(last) else -1))
        columns = dict(zip(Span._fields, zip(*spans, strict=True), strict=True))
        return pa.table({"node": [node] * m, "attribute": range(m), **columns})

    counted_rows = chunks.mapInArrow(collect, "node long, attribute long, codes binary")
    extents = counted_rows.groupBy("node").applyInArrow(
        unite, "node long, attribute long, low long, high long, distinct long, last long"
    )
    spans: dict[int, list[Span]] = {one: [Span(0, 0, 1)] * m for one in asked}
    for row in extents.toArrow().to_pylist():
        spans[row["node"]][row["attribute"]] = Span(*(row[name] for name in Span._fields))
    return spans


def _distinct(codes: Codes) -> npt.NDArray[Any]:
    return np.unique(codes) if codes.itemsize > 2 else np.flatnonzero(np.bincount(codes))


def _ends(codes: Codes) -> Codes:
    return np.array([codes.min(), codes.max()])


def _union(some: Sequence[npt.NDArray[Any]], counted: bool) -> npt.NDArray[Any]:
    every = np.concatenate(some)
    return np.unique(every) if counted else _ends(every)


def _cuts(
    chunks: DataFrame, plan: Plan, nodes: Sequence[Node], asked: Mapping[int, Sequence[int]]
) -> dict[int, Cut]:
    """The cuts of nodes by the attributes asked about, from counts of pairs of codes."""
    tracked = [plan.domains[column].n_codes for column in plan.tracked()]

    def choose(table: pa.Table) -> pa.Table:
        node = table["node"][0].as_py()
        histograms = [histogram_of(table, a, tracked) for a in asked[node]]
        cut = cut_of(histograms, plan.attributes, plan.tree, plan.rules(), tracked)
        if cut is None:
            return types.empty_table()
        left, total = ([one for counts in some for one in counts.tolist()] for some in (cut.left, cut.total))
        row = (node, cut.attribute, cut.quota, cut.codes, cut.sizes, left, total)
        return pa.table([[value] for value in row], schema=types)

    types = pa.schema([(name, pa.int64()) for name in ("node", "attribute", "quota")])
    types = pa.schema([*types, *((name, LONGS) for name in ("codes", "sizes", "left", "total"))])
    declared = ", ".join(f"{one.name} {'array<long>' if one.type == LONGS else 'long'}" for one in types)
    counted = _pairs(chunks, plan, nodes, asked, {}).groupBy("node").applyInArrow(choose, declared)
    return {
        row["node"]: Cut(
            row["attribute"],
            tuple(row["codes"]),
            tuple(row["sizes"]),
            row["quota"],
            _by_column(row["left"], tracked),
            _by_column(row["total"], tracked),
        )
        for row in counted.toArrow().to_pylist()
    }


def unit_totals(chunks: DataFrame, plan: Plan) -> Plan:
    """The plan with the units of the table, and those with each code of each sensitive attribute."""
    m, sizes, codes_schema = len(plan.quasi), [domain.n_codes for domain in plan.sensitive], plan.codes_schema

    def collect(batches: Batches) -> Batches:
        held = [chunk.codes for batch in batches for chunk in chunks_of(batch, codes_schema)]
        if not held:
            return
        columns = [np.concatenate([codes[c] for codes in held]) for c in (-1, *range(m, m + len(sizes)))]
        n_units, with_code = units_with(columns[0], [column.astype(np.int64) for column in columns[1:]])
        sums = Sums()
        sums.add_counted((0, 0, 0), np.zeros(1, np.int64), np.array([n_units]))
        for j, codes in enumerate(with_code):
            sums.add((0, 0, j + 1), codes, sizes[j])
        yield sums.batch()

    types = "node long, attribute long, tracked long, keys binary, counts binary"
    table = chunks.mapInArrow(collect, types).toArrow()
    totals = [np.zeros(n, np.int64) for n in (1, *sizes)]
    for j, keys, counts in zip(table["tracked"].to_pylist(), table["keys"], table["counts"], strict=True):
        totals[j][np.frombuffer(keys.as_buffer(), np.int64)] += np.frombuffer(counts.as_buffer(), np.int64)
    return replace(plan, n_units=int(totals[0][0]), unit_counts=tuple(totals[1:]))


def _unit_cuts(
    chunks: DataFrame, plan: Plan, nodes: Sequence[Node], asked: Mapping[int, tuple[int, Span]]
) -> dict[int, Cut]:
    """The cuts of nodes by the attribute asked about, where units are counted."""
    columns, codes_schema = plan.tracked(), plan.codes_schema
    sizes = [domain.n_codes for domain in plan.domains]
    tracked = [sizes[column] for column in columns]
    parts = {
        one: parts_of(plan.quasi[a], span.low, span.last, span.high == plan.quasi[a].n_values)
        for one, (a, span) in asked.items()
    }

    def collect(batches: Batches) -> Batches:
        held: dict[int, UnitSums] = {}
        for chunk in (one for batch in batches for one in chunks_of(batch, codes_schema)):
            for node, rows in routed(nodes, chunk).items():
                if node not in asked:
                    continue
                a = asked[node][0]
                codes, *seen = (chunk.codes[c][rows].astype(np.int64) for c in (a, *columns))
                one = held.setdefault(node, UnitSums(parts[node], sizes[a], tracked))
                one.add(chunk.codes[-1][rows], codes, seen)
        sums = Sums()
        for node, one in held.items():
            one.into(sums, node, asked[node][0])
        yield sums.batch()

    def choose(table: pa.Table) -> pa.Table:
        node = table["node"][0].as_py()
        a = asked[node][0]
        histogram = read_histogram(table, a, len(tracked), parts[node], plan.quasi[a].n_values)
        cut = cut_by_units(histogram, a, plan.tree, plan.rules(), tracked)
        if cut is None:
            return types.empty_table()
        row = (node, cut.attribute, cut.codes, cut.sizes)
        return pa.table([[value] for value in row], schema=types)

    types = pa.schema([("node", pa.int64()), ("attribute", pa.int64()), ("codes", LONGS), ("sizes", LONGS)])
    counted = chunks.mapInArrow(
        collect, "node long, attribute long, tracked long, keys binary, counts binary"
    )
    found = counted.groupBy("node").applyInArrow(
        choose, "node long, attribute long, codes array<long>, sizes array<long>"
    )
    return {
        row["node"]: Cut(row["attribute"], tuple(row["codes"]), tuple(row["sizes"]))
        for row in found.toArrow().to_pylist()
    }


def _by_column(counts: Sequence[int], sizes: Sequence[int]) -> tuple[Ints, ...]:
    """Counts of the codes of several columns, one after the other."""
    if not len(counts):
        return ()
    return tuple(np.split(np.array(counts, np.int64), np.cumsum(sizes)[:-1]))


def _pairs(
    chunks: DataFrame,
    plan: Plan,
    nodes: Sequence[Node],
    asked: Mapping[int, Sequence[int]],
    within: Mapping[int, Sequence[tuple[int, int]]],
) -> DataFrame:
    """Per task, node, column asked about and tracked column: the rows with each pair of codes.

    `within` restricts a node to the rows with these codes of some columns.
    """
    codes_schema, tracked = plan.codes_schema, plan.tracked()
    sizes = [domain.n_codes for domain in plan.domains]

    def collect(batches: Batches) -> Batches:
        sums = Sums()
        for chunk in (one for batch in batches for one in chunks_of(batch, codes_schema)):
            for node, rows in routed(nodes, chunk).items():
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
    plan: Plan,
    nodes: Sequence[Node],
    tied: Mapping[int, tuple[Sequence[Span], Cut]],
) -> dict[int, Tie]:
    """Where the rows equal to the median are divided, for the relaxed cuts whose parts pass.

    Rows are ranked by their codes in schema order, then by their sensitive codes: the row at the cut is
    found column by column, and rows that are equal in all are taken chunk by chunk.
    """
    m, n = len(plan.quasi), len(plan.quasi) + len(plan.sensitive)
    states = {}
    for one, (spans, cut) in tied.items():
        a = cut.attribute
        pending = [c for c in range(n) if c >= m or (c != a and spans[c].low < spans[c].high)]
        states[one] = _Sharing(pending, [(a, cut.codes[1])], cut.quota, list(cut.left))
    while searching := {one: state for one, state in states.items() if state.pending and not state.whole}:
        _advance(chunks, plan, nodes, searching)
    alike = {one: state for one, state in states.items() if not state.whole}
    shares = _shares(chunks, plan, nodes, alike) if alike else {}
    for state in alike.values():  # rows that are equal in all have one code of every tracked column
        code_of = dict(state.within)
        for count, column in zip(state.left, plan.tracked(), strict=True):
            count[code_of[column]] += state.quota
    rules = plan.rules()
    return {
        one: Tie(
            tuple(column for column, _ in state.within[1:]),
            tuple(code for _, code in state.within[1:]),
            shares.get(one),
        )
        for one, state in states.items()
        if halves_pass(rules, tied[one][1], state.left)
    }


def _advance(chunks: DataFrame, plan: Plan, nodes: Sequence[Node], searching: Mapping[int, _Sharing]) -> None:
    """Follow each cut through one more column."""
    sizes = [plan.domains[column].n_codes for column in plan.tracked()]
    asked = {one: state.pending[:1] for one, state in searching.items()}
    within = {one: state.within for one, state in searching.items()}
    quotas = {one: state.quota for one, state in searching.items()}

    def advance(table: pa.Table) -> pa.Table:
        node = table["node"][0].as_py()
        histogram = histogram_of(table, asked[node][0], sizes)
        at = int(np.searchsorted(histogram.below, quotas[node], side="left")) - 1
        counts = [histogram.counts(sizes, *ends) for ends in ((0, at), (at, at + 1))]
        below, equal = ([count for of_column in some for count in of_column.tolist()] for some in counts)
        row = [node, int(histogram.values[at]), int(histogram.below[at]), int(histogram.below[at + 1])]
        return pa.table(
            [pa.array([value]) for value in row] + [pa.array([some], LONGS) for some in (below, equal)],
            ["node", "code", "first", "end", "below", "equal"],
        )

    counted = _pairs(chunks, plan, nodes, asked, within).groupBy("node")
    types = "node long, code long, first long, end long, below array<long>, equal array<long>"
    for row in counted.applyInArrow(advance, types).toArrow().to_pylist():
        state = searching[row["node"]]
        state.whole = row["end"] == state.quota
        for counts in [row["below"], row["equal"]][: 1 + state.whole]:
            state.left = [
                one + other for one, other in zip(state.left, _by_column(counts, sizes), strict=True)
            ]
        state.within.append((state.pending.pop(0), row["code"]))
        state.quota -= row["first"]


def _shares(
    chunks: DataFrame, plan: Plan, nodes: Sequence[Node], states: Mapping[int, _Sharing]
) -> dict[int, dict[int, int]]:
    """How many of the rows that are equal in all go to the left, by chunk."""
    codes_schema = plan.codes_schema
    within = {one: state.within for one, state in states.items()}

    def collect(batches: Batches) -> Batches:
        entries = []
        for chunk in (one for batch in batches for one in chunks_of(batch, codes_schema)):
            for node, rows in routed(nodes, chunk).items():
                for column, code in within.get(node, ()):
                    rows = rows[chunk.codes[column][rows] == code]
                if node in within and len(rows):
                    entries.append((node, chunk.number, len(rows)))
        nodes_of, numbers, rows_of = zip(*entries, strict=True) if entries else ((), (), ())
        yield table_of_sums(node=nodes_of, chunk=numbers, rows=rows_of)

    counted = chunks.mapInArrow(collect, "node long, chunk long, rows long").toArrow().sort_by("chunk")
    shares: dict[int, dict[int, int]] = {one: {} for one in states}
    left = {one: state.quota for one, state in states.items()}
    for row in counted.to_pylist():
        share = min(left[row["node"]], row["rows"])
        if share:
            shares[row["node"]][row["chunk"]] = share
            left[row["node"]] -= share
    return shares
