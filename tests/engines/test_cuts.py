# SPDX-License-Identifier: Apache-2.0
"""Cuts chosen from histograms are the kernel's: whole trees of them end in the same classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anon
from anon.encoding.domain import Encoded
from anon.encoding.table import encode
from anon.engines.local import Judged
from anon.engines.spark.frames import Sums
from anon.engines.spark.histograms import Histogram, cut_of
from anon.engines.spark.units import UnitSums, cut_by_units, parts_of, read_histogram
from anon.methods import Task
from anon.methods.mondrian import partition, priority
from anon.requirements.conjunction import compile, counting
from anoncore.partition import turns

TREE = {"top": {"left": ["a", "b"], "right": {"one": ["c"], "d": ["d1", "d2"]}, "e": ["e"]}}
REQUIRE: list[list[Any]] = [
    [anon.KAnonymity(2)],
    [anon.KAnonymity(3), anon.LDiversity(2, "distinct", sensitive="s")],
    [anon.TCloseness(0.35, "equal")],
    [anon.KAnonymity(2), anon.TCloseness(0.2, "ordered", sensitive="n"), anon.AlphaK(0.8, 2, sensitive="s")],
    [anon.LDiversity(1.4), anon.SDiversityBound(1.6, r=0.8)],
    [anon.BetaLikeness(1.5, sensitive="s")],
]
METHODS = [
    anon.Mondrian(),
    anon.Mondrian(cuts="median"),
    anon.Mondrian(split="most-repeated"),
    anon.Mondrian(split="least-repeated", cuts="median"),
    anon.Mondrian(split=["t", "d"]),
    anon.Mondrian(split="information-gain", target="s"),
    anon.Mondrian(split="information-gain", target="neutral", cuts="median"),
    anon.Mondrian(split="information-gain", target="s", cuts="medians"),
]


def histogram(a: int, codes: npt.NDArray[Any], tracked: Sequence[tuple[npt.NDArray[Any], int]]) -> Histogram:
    """Counted row by row."""
    values, at, rows = np.unique(codes, return_inverse=True, return_counts=True)
    pairs = []
    for column, n_codes in tracked:
        key, count = np.unique(at.astype(np.int64) * n_codes + column, return_counts=True)
        starts = np.searchsorted(key // n_codes, np.arange(len(values) + 1))
        pairs.append((starts, key % n_codes, count))
    return Histogram(a, values.astype(np.int64), np.concatenate([[0], np.cumsum(rows)]), pairs)


def nodes(
    encoded: Encoded, method: anon.Mondrian, rules: Any, target: Any, node_rows: int
) -> list[npt.NDArray[np.intp]]:
    """The rows of the nodes of at most `node_rows` rows, or that no cut divides."""
    described = [domain.attribute for domain in encoded.quasi]
    first = priority(encoded.quasi, encoded.quasi, method.split)
    tracked = [
        (codes, domain.n_codes)
        for domain, codes in zip(encoded.sensitive, encoded.sensitive_codes, strict=True)
        if rules.n_sensitive
    ]
    if target is not None:
        tracked.append((target, int(target.max()) + 1))
    pending, leaves = [encoded.kept.astype(np.intp)], []
    while pending:
        rows = pending.pop()
        cut = None
        if len(rows) > node_rows:
            inside = [codes[rows] for codes in encoded.quasi_codes]
            spans = zip(*((one.min(), one.max(), len(np.unique(one))) for one in inside), strict=True)
            order = turns(described, *spans, chooser=method.chooser, priority=first)
            counted = [histogram(a, inside[a], [(codes[rows], n) for codes, n in tracked]) for a in order]
            cut = cut_of(counted, described, method, rules, [n for _, n in tracked])
        if cut is None:
            leaves.append(rows)
            continue
        part = np.searchsorted(cut.codes[1:], inside[cut.attribute], side="right")
        parts = [rows[part == p] for p in range(len(cut.sizes))]
        assert tuple(map(len, parts)) == cut.sizes
        pending += parts
    return leaves


def target_of(encoded: Encoded, method: anon.Mondrian) -> Any:
    if method.target == "s":
        return encoded.sensitive_codes[0]
    if method.target == "neutral":
        column = encoded.table["neutral"].combine_chunks()
        return np.unique(column.to_numpy(zero_copy_only=False), return_inverse=True)[1].astype(np.uint8)
    return None


def optional(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(values, values, values, st.none())


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    """Rows with many ties and some nulls in attributes of every kind."""
    row = st.tuples(
        optional(st.integers(0, 6)),
        optional(st.sampled_from("wxyz")),
        optional(st.sampled_from(["a", "b", "c", "d1", "d2", "e"])),
        st.sampled_from(["low", "mid", "high"]),
        optional(st.sampled_from("pqr")),
        st.integers(0, 3),
        st.sampled_from("uv"),
    )
    rows = draw(st.lists(row, min_size=2, max_size=40))
    first = (1, "w", "a", "low", "p", 1, "u")
    columns = zip(first, *rows, strict=True)
    types = [pa.int64(), pa.string(), pa.string(), pa.string(), pa.string(), pa.int64(), pa.string()]
    names = ["i", "f", "t", "d", "s", "n", "neutral"]
    return pa.table(
        {name: pa.array(list(c), kind) for name, c, kind in zip(names, columns, types, strict=True)}
    )


SCHEMA = anon.Schema(
    [anon.numeric("i", weight=1.5), "f", anon.nominal("t", TREE), anon.ordinal("d", ["low", "mid", "high"])],
    ["s", "n"],
    neutral="rest",
)


@settings(max_examples=150)
@given(tables(), st.sampled_from(METHODS), st.sampled_from(REQUIRE), st.sampled_from([1, 8]))
def test_a_tree_of_cuts_ends_in_the_kernels_classes(
    table: pa.Table, method: anon.Mondrian, require: list[Any], node_rows: int
) -> None:
    if any(isinstance(one, anon.SDiversityBound) for one in require):
        table = table.filter(pa.compute.is_valid(table["s"]))
    encoded = encode(table, SCHEMA)
    counts = [
        np.bincount(codes, minlength=domain.n_codes)
        for domain, codes in zip(encoded.sensitive, encoded.sensitive_codes, strict=True)
    ]
    rules = compile(require, encoded.sensitive, counts, encoded.n_rows)
    expected = partition(encoded, method, Task(rules, np.random.default_rng(0)))
    found = nodes(encoded, method, rules, target_of(encoded, method), node_rows)
    classes = {
        frozenset(expected.rows[start:stop].tolist())
        for start, stop in zip(expected.offsets[:-1], expected.offsets[1:], strict=True)
    }
    if node_rows == 1:
        assert {frozenset(rows.tolist()) for rows in found} == classes
    else:  # every class lies in one node
        of_row = np.empty(encoded.n_rows, int)
        for number, rows in enumerate(found):
            of_row[rows] = number
        assert all(len({of_row[row] for row in one}) == 1 for one in classes)


def nodes_of_units(
    encoded: Encoded, method: anon.Mondrian, rules: Any, node_rows: int, n_tasks: int
) -> list[npt.NDArray[np.intp]]:
    """As `nodes`, where units are counted: each in one of some tasks, whose sums are added up."""
    assert encoded.units is not None
    whose = encoded.units.codes.astype(np.int64)
    described = [domain.attribute for domain in encoded.quasi]
    first = priority(encoded.quasi, encoded.quasi, method.split)
    tracked = list(zip(encoded.sensitive_codes, encoded.sensitive, strict=True)) if rules.n_sensitive else []
    sizes = [domain.n_codes for _, domain in tracked]
    pending, leaves = [encoded.kept.astype(np.intp)], []
    while pending:
        rows = pending.pop()
        inside = [codes[rows].astype(np.int64) for codes in encoded.quasi_codes]
        spans = zip(*((one.min(), one.max(), len(np.unique(one))) for one in inside), strict=True)
        cut = None
        for a in (
            turns(described, *spans, chooser=method.chooser, priority=first) if len(rows) > node_rows else ()
        ):
            domain, codes = encoded.quasi[a], inside[a]
            plain = codes[codes < domain.n_values]
            ends = (int(plain.min()), int(plain.max())) if len(plain) else (0, -1)
            parts = parts_of(domain, *ends, bool((codes == domain.n_values).any()))
            sums = Sums()
            for task in range(n_tasks):
                some = whose[rows] % n_tasks == task
                one = UnitSums(parts, domain.n_codes, sizes)
                for half in np.array_split(np.flatnonzero(some), 2):
                    one.add(
                        whose[rows][half], codes[half], [c[rows][half].astype(np.int64) for c, _ in tracked]
                    )
                if some.any():
                    one.into(sums, 0, a)
            table = pa.Table.from_batches([sums.batch()])
            found = read_histogram(table, a, len(sizes), parts, domain.n_values)
            cut = cut_by_units(found, a, method, rules, sizes)
            if cut is not None:
                break
        if cut is None:
            leaves.append(rows)
            continue
        part = np.searchsorted(cut.codes[1:], inside[cut.attribute], side="right")
        shared = [rows[part == p] for p in range(len(cut.sizes))]
        assert tuple(map(len, shared)) == cut.sizes
        pending += shared
    return leaves


@settings(max_examples=200)
@given(
    tables(),
    st.sampled_from(METHODS[:5]),
    st.sampled_from([[anon.KAnonymity(k, count="units")] for k in (2, 3)] + REQUIRE),
    st.sampled_from([1, 8]),
    st.integers(1, 3),
    st.randoms(use_true_random=False),
)
def test_a_tree_of_cuts_by_units_ends_in_the_kernels_classes(
    table: pa.Table, method: anon.Mondrian, require: list[Any], node_rows: int, n_tasks: int, random: Any
) -> None:
    if any(isinstance(one, anon.SDiversityBound) for one in require):
        table = table.filter(pa.compute.is_valid(table["s"]))
    whose = [random.randrange(max(len(table) // 2, 1)) for _ in range(len(table))]
    schema = anon.Schema(SCHEMA.quasi, SCHEMA.sensitive, unit="unit", neutral="rest")
    encoded = encode(table.append_column("unit", pa.array(whose)), schema)
    judged = Judged.whole(encoded)
    require = list(counting(require, "unit"))
    rules = judged.rules(require)
    expected = partition(encoded, method, Task(rules, np.random.default_rng(0)))
    found = nodes_of_units(encoded, method, rules, node_rows, n_tasks)
    classes = [set(one.tolist()) for one in np.split(expected.rows, expected.offsets[1:-1])]
    if node_rows == 1:
        assert sorted(map(sorted, classes)) == sorted(sorted(rows.tolist()) for rows in found)
    else:  # every class lies in one node
        assert all(any(one <= set(rows.tolist()) for rows in found) for one in classes)


@pytest.mark.parametrize("method", METHODS[:5], ids=repr)
def test_many_values_and_few_that_pass(method: anon.Mondrian) -> None:
    """Two SAs tied to the position, so that many boundaries near the middle are refused."""
    rng = np.random.default_rng(3)
    n = 3000
    i = rng.integers(0, 1500, n)
    table = pa.table(
        {
            "i": i,
            "f": rng.choice(list("abcdefghijkl"), n),
            "t": rng.choice(["a", "b", "c", "d1", "d2", "e"], n),
            "d": rng.choice(["low", "mid", "high"], n),
            "s": np.where(i < 700, "p", rng.choice(["p", "q", "r"], n)),
            "n": (i // 400) % 4,
        }
    )
    encoded = encode(table, SCHEMA)
    counts = [
        np.bincount(codes, minlength=domain.n_codes)
        for domain, codes in zip(encoded.sensitive, encoded.sensitive_codes, strict=True)
    ]
    require = [anon.KAnonymity(5), anon.TCloseness(0.15, "equal")]
    rules = compile(require, encoded.sensitive, counts, n)
    expected = partition(encoded, method, Task(rules, np.random.default_rng(0)))
    found = nodes(encoded, method, rules, None, 1)
    assert expected.n_classes > 5
    assert {frozenset(rows.tolist()) for rows in found} == {
        frozenset(expected.rows[start:stop].tolist())
        for start, stop in zip(expected.offsets[:-1], expected.offsets[1:], strict=True)
    }
