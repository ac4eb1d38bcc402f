# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import itertools
import threading
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_diversity import attribute_of, attributes, closeness_of
from test_kmembers import AGES, PAY, contents, encoded
from test_kmembers import people as people_of

from anon.encoding import encode
from anon.encoding.domain import Encoded
from anon.errors import DataError, InfeasibleError, UsageError
from anon.methods.task import Task
from anon.methods.tgc import TGC, Trial, partition, select_thresholds
from anon.schema import Schema, numeric
from anoncore import tgc
from anoncore.attribute import Attribute
from reference import tgc as slow

DTYPES = [np.uint8, np.uint16, np.uint32]


def line(n_values: int, **more: Any) -> dict[str, Any]:
    return {
        "kind": "ordered",
        "n_values": n_values,
        "positions": list(range(n_values)),
        "weight": 1.0,
        **more,
    }


# LS table 2: age (10, 15, .. 30), height (170, 175), postcode (30, 32), salary (20, 65) as codes.
MICRODATA = [
    [0, 0, 0, 0],
    [1, 1, 1, 0],
    [1, 0, 0, 1],
    [2, 1, 1, 1],
    [2, 0, 0, 0],
    [3, 1, 1, 0],
    [3, 0, 0, 1],
    [4, 1, 1, 1],
]
AGE = line(5, positions=[0, 5, 10, 15, 20])
HEIGHT = line(2, positions=[0, 5])
POSTCODE = line(2, positions=[0, 2])
SALARY = line(2, positions=[0, 45])
TABLE_3 = [[0, 1], [2, 3], [4, 5], [6, 7]]
TABLE_4 = [[0, 2], [1, 3], [4, 6], [5, 7]]


def objective_of(objective: dict[str, Any]) -> tgc.Objective:
    sensitive = objective["sensitive"]
    return tgc.Objective(
        [attribute_of(one, "q-diversity", one["weight"]) for one in objective["attributes"]],
        [closeness_of(one, r, printed) for one, r, printed, _ in sensitive],
        [weight for *_, weight in sensitive],
        w_u=objective["w_u"],
        w_p=objective["w_p"],
    )


def ls_objective(w_u: float, w_p: float) -> dict[str, Any]:
    return {
        "attributes": [AGE, HEIGHT, POSTCODE],
        "sensitive": [(SALARY, 1.0, False, 1.0)],
        "w_u": w_u,
        "w_p": w_p,
    }


def classes_of(home: Any) -> list[list[int]]:
    home = np.asarray(home)
    return sorted(np.flatnonzero(home == c).tolist() for c in range(home.max(initial=-1) + 1))


def grow(
    codes: Any, offsets: Any, objective: Any, k: int, delta: float, dtype: Any = np.uint8, **more: Any
) -> Any:
    table = np.array(codes, dtype).reshape(len(codes), -1)
    home, n = tgc.grow(table, np.array(offsets, np.int64), objective_of(objective), k, delta, **more)
    return home.tolist(), n


@pytest.mark.parametrize("mend", [False, True])
@pytest.mark.parametrize(
    ("w_u", "delta", "classes"),
    [
        (1.0, 0.1, TABLE_4),
        (1.0, 1.0, [list(range(8))]),
        (0.5, 0.3, TABLE_4),
    ],
)
def test_algorithm_1_on_table_2(w_u: float, delta: float, classes: Any, mend: bool) -> None:
    home, n = grow(MICRODATA, [0, 8], ls_objective(w_u, 1 - w_u), 2, delta, mend=mend)
    assert (classes_of(home), n) == (classes, len(classes))


def test_algorithm_1_may_reject_everything() -> None:
    objective = ls_objective(1.0, 0.0)
    home, n = grow(MICRODATA, [0, 8], objective, 2, 0.05, mend=False)
    assert (home, n) == ([-1] * 8, 0)
    home = tgc.reinsert(np.array(MICRODATA, np.uint8), np.array(home), objective_of(objective)).tolist()
    assert home == [0] * 8
    assert classes_of(grow(MICRODATA, [0, 8], objective, 2, 0.05)[0]) == TABLE_4


def test_wtd_of_table_2() -> None:
    rows = [MICRODATA[0], MICRODATA[2]]
    assert slow.wtd(ls_objective(0.5, 0.5), rows) == pytest.approx(7 / 24, abs=1e-15)


@pytest.mark.parametrize(("raw", "classes"), [(True, TABLE_3), (False, TABLE_4)])
def test_algorithm_2_on_table_2(raw: bool, classes: Any) -> None:
    attributes = [{**one, "weight": one["positions"][-1] if raw else 1.0} for one in (AGE, HEIGHT, POSTCODE)]
    rows, offsets = tgc.split(
        np.array(MICRODATA, np.uint8)[:, :3],
        [attribute_of(one, "ncp", one["weight"]) for one in attributes],
        s=2,
        mend=False,
    )
    assert sorted(part.tolist() for part in np.split(rows, offsets[1:-1])) == classes


def test_equal_rows_are_dealt_out_in_turn() -> None:
    def parts_of(n: int, **more: Any) -> Any:
        codes = np.column_stack([np.zeros(n, np.uint8), np.sort(np.arange(n) % 3).astype(np.uint8)])
        near = [closeness_of(line(3), 1.0)]
        rows, offsets = tgc.split(codes, [attribute_of(AGE, "ncp")], near, s=10, limit=0.7, **more)
        parts = np.split(rows, offsets[1:-1])
        assert all(np.ptp(np.bincount(codes[part, 1])) <= 1 for part in parts)
        return [part.tolist() for part in parts]

    rows = list(range(1026))
    halves = [rows[::2], rows[1::2]]
    assert parts_of(1026) == [part[i::2] for part in halves for i in (0, 1)]
    assert len(parts_of(512)) == 1
    assert len(parts_of(1026, mend=False)) == 1


@st.composite
def objectives(draw: st.DrawFn) -> dict[str, Any]:
    weights = st.sampled_from([1.0, 1.0, 2.0, 0.3, 0.0])
    quasi = draw(st.lists(attributes(), max_size=4))
    sensitive = draw(st.lists(attributes(huge=False), min_size=0 if quasi else 1, max_size=2))
    w_u = draw(st.sampled_from([1.0, 0.5, 0.0, 0.7]))
    return {
        "attributes": [one | {"weight": draw(weights)} for one in quasi],
        "sensitive": [
            (one, draw(st.sampled_from([0.0, 0.3, 1.0])), draw(st.booleans()), draw(weights))
            for one in sensitive
        ],
        "w_u": w_u,
        "w_p": 1 - w_u,
    }


@st.composite
def tables(draw: st.DrawFn, max_rows: int = 25) -> Any:
    """(codes, offsets of subspaces, objective); equal rows in runs and apart."""
    objective = draw(objectives())
    row = st.tuples(
        *(st.integers(0, one["n_values"]) for one in objective["attributes"]),
        *(st.integers(0, one["n_values"] - 1) for one, *_ in objective["sensitive"]),
    )
    pool = draw(st.lists(row, min_size=1, max_size=max_rows))
    codes = draw(st.lists(st.sampled_from(pool), min_size=1, max_size=max_rows))
    if draw(st.booleans()):
        codes.sort()
    bounds = draw(st.sets(st.integers(1, len(codes)), max_size=2)) | {0, len(codes)}
    return codes, sorted(bounds), objective


@given(
    tables(),
    st.integers(1, 5),
    st.sampled_from([0.0, 0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 1.0, 3.0]),
    st.booleans(),
    st.sampled_from([None, 0, 3]),
    st.sampled_from(DTYPES[1:]),
)
@settings(max_examples=300, deadline=None)
def test_grow_equals_its_twin(
    table: Any, k: int, delta: float, mend: bool, more: int | None, dtype: Any
) -> None:
    codes, offsets, objective = table
    most = None if more is None else k + more
    assert grow(codes, offsets, objective, k, delta, dtype, mend=mend, most=most) == slow.grow(
        codes, offsets, objective, k, delta, most, mend
    )


@given(st.data(), tables(max_rows=20))
@settings(max_examples=150, deadline=None)
def test_reinsert_equals_its_twin(data: Any, table: Any) -> None:
    codes, _, objective = table
    drawn = data.draw(st.lists(st.integers(-1, 3), min_size=len(codes), max_size=len(codes)))
    present = sorted(set(drawn) - {-1})
    home = [-1 if c == -1 else present.index(c) for c in drawn]
    placed = tgc.reinsert(np.array(codes, np.uint16), np.array(home, np.int64), objective_of(objective))
    assert placed.tolist() == slow.reinsert(codes, home, objective)


@given(st.data(), tables(max_rows=20), st.integers(1, 4))
@settings(max_examples=100, deadline=None)
def test_improve_equals_its_twin(data: Any, table: Any, k: int) -> None:
    codes, offsets, objective = table
    home: list[int] = []
    for start, stop in itertools.pairwise(offsets):
        n_classes = max((stop - start) // k, 1)
        first = max(home, default=-1) + 1
        home += data.draw(st.permutations([first + i % n_classes for i in range(stop - start)]))
    k = min([*np.bincount(home).tolist(), k])
    improved = tgc.improve(
        np.array(codes, np.uint16), np.array(offsets), np.array(home), objective_of(objective), k
    )
    assert improved.tolist() == slow.improve(codes, offsets, home, objective, k)
    assert loss_of(codes, improved, objective) <= loss_of(codes, home, objective) + 1e-9
    assert np.bincount(improved).min() >= k


def test_an_interrupted_improvement_ends_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    objective = objective_of({"attributes": [line(10)], "sensitive": [], "w_u": 1.0, "w_p": 0.0})
    codes, home = np.array([[0], [9], [0], [9]], np.uint8), np.array([0, 0, 1, 1])
    improved = tgc.improve(codes, np.array([0, 4]), home, objective, 2)
    assert sorted(np.flatnonzero(improved == improved[0])) == [0, 2]

    def interrupted(work: Any, items: Any, n_threads: int, progress: Any, stop: Any) -> None:
        stop()
        for item in items:
            work(*item)

    monkeypatch.setattr(tgc, "until_done", interrupted)
    assert tgc.improve(codes, np.array([0, 4]), home, objective, 2).tolist() == home.tolist()


def loss_of(codes: Any, home: Any, objective: Any) -> float:
    """The sum over classes of size times weighted tuple diversity."""
    return sum(len(part) * slow.wtd(objective, [codes[row] for row in part]) for part in classes_of(home))


@given(
    st.data(),
    tables(max_rows=40),
    st.integers(1, 6),
    st.sampled_from([None, 0.3, 0.6, 1.0, 1.4]),
    st.sampled_from([None, 10, 20]),
    st.booleans(),
)
@settings(max_examples=300, deadline=None)
def test_split_equals_its_twin(data: Any, table: Any, s: int, limit: Any, limited: Any, mend: bool) -> None:
    codes, _, objective = table
    dtype = data.draw(st.sampled_from(DTYPES[1:]))
    quasi, sensitive = objective["attributes"], [one[:3] for one in objective["sensitive"]]
    if not quasi:
        quasi = [line(4)]
        codes = [(data.draw(st.integers(0, 4)), *row) for row in codes]
    rows, offsets = tgc.split(
        np.array(codes, dtype),
        [attribute_of(one, "ncp", one["weight"]) for one in quasi],
        [closeness_of(*one) for one in sensitive],
        s=s,
        limit=np.inf if limit is None else limit,
        limited=limited,
        mend=mend,
    )
    parts = [part.tolist() for part in np.split(rows, offsets[1:-1])]
    assert parts == slow.split(codes, quasi, sensitive, s, limit, limited, mend)


@pytest.mark.parametrize("s", [1, 2])
def test_split_peels_as_deep_as_the_values_ask(s: int) -> None:
    # positions whose best cut takes the last rows alone: more levels than any halving has
    codes = [[code] for code in range(150) for _ in range(s)]
    positions = [100.0**power for power in range(-149, 1)]
    quasi = line(150, positions=positions)
    rows, offsets = tgc.split(np.array(codes, np.uint8), [attribute_of(quasi, "ncp", 1.0)], s=s)
    parts = [part.tolist() for part in np.split(rows, offsets[1:-1])]
    assert len(parts) == 150
    assert parts == slow.split(codes, [quasi], [], s, mend=True)


@pytest.mark.parametrize(
    ("codes", "offsets", "k", "delta", "most"),
    [
        ([[9, 0, 0, 0]], [0, 1], 1, 1.0, None),
        ([[0, 0, 0, 2]], [0, 1], 1, 1.0, None),
        ([[0, 0, 0]], [0, 1], 1, 1.0, None),
        ([[0, 0, 0, 0]], [0, 0, 1], 1, 1.0, None),
        ([[0, 0, 0, 0]], [0, 2], 1, 1.0, None),
        ([[0, 0, 0, 0]], [0, 1], 0, 1.0, None),
        ([[0, 0, 0, 0]], [0, 1], 2, 1.0, 1),
        ([[0, 0, 0, 0]], [0, 1], 1, float("nan"), None),
    ],
)
def test_grow_checks_its_input(codes: Any, offsets: Any, k: int, delta: float, most: Any) -> None:
    with pytest.raises(ValueError, match=r"code|offsets|k must|delta must"):
        grow(codes, offsets, ls_objective(0.5, 0.5), k, delta, most=most)


def test_kernels_take_no_rows_and_read_only_arrays() -> None:
    objective = objective_of(ls_objective(0.5, 0.5))
    none = np.empty((0, 4), np.uint8)
    home, n = tgc.grow(none, np.array([0]), objective, 2, 0.3)
    assert (len(home), n, len(tgc.reinsert(none, home, objective))) == (0, 0, 0)
    rows, offsets = tgc.split(none[:, :1], [attribute_of(AGE)], s=2)
    assert (len(rows), offsets.tolist()) == (0, [0])
    table, bounds = np.array(MICRODATA, np.uint32), np.array([0, 8])
    for array in (table, bounds):
        array.flags.writeable = False
    home, _ = tgc.grow(table, bounds, objective, 2, 0.05, mend=False)
    home.flags.writeable = False
    tgc.reinsert(table, home, objective)
    tgc.split(table[:, :1], [attribute_of(AGE, "ncp")], s=2)
    assert table.tolist() == MICRODATA


def test_other_arguments_are_checked() -> None:
    table = np.array(MICRODATA, np.uint8)
    objective = objective_of(ls_objective(0.5, 0.5))
    for home in ([-2] * 8, [0] * 7, [0, 2, *[-1] * 6]):
        with pytest.raises(ValueError, match="class"):
            tgc.reinsert(table, np.array(home), objective)
    for arguments in ({"s": 0}, {"s": 1, "limit": float("nan")}):
        with pytest.raises(ValueError, match=r"s must|limit must"):
            tgc.split(table[:, :1], [attribute_of(AGE)], **arguments)
    for weights in ({"w_u": 0.5, "w_p": 0.4}, {"w_u": 1.5, "w_p": -0.5}):
        with pytest.raises(ValueError, match="sum to 1"):
            tgc.Objective([], **weights)
    with pytest.raises(ValueError, match="weights"):
        tgc.Objective([], [closeness_of(SALARY, 1.0)], [-1.0], w_u=0, w_p=1)


def test_threads_share_the_work_and_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 5, (3000, 4)).astype(np.uint8)
    codes[:, 1:] %= 2
    objective = objective_of(ls_objective(0.5, 0.5))
    ncp = [attribute_of(one, "ncp") for one in (AGE, HEIGHT, POSTCODE)]

    def run(n_threads: int) -> Any:
        told: list[tuple[int, int]] = []
        rows, offsets = tgc.split(
            codes[:, :3], ncp, s=20, n_threads=n_threads, progress=lambda *done: told.append(done)
        )
        home, _ = tgc.grow(
            codes[rows],
            offsets,
            objective,
            4,
            0.3,
            n_threads=n_threads,
            progress=lambda *done: told.append(done),
        )
        assert told.count((3000, 3000)) == 2
        return rows.tolist(), offsets.tolist(), home.tolist()

    plain = run(1)
    monkeypatch.setattr(tgc, "SUBTREE_ROWS", 1)
    monkeypatch.setattr(tgc, "CHUNK_ROWS", 1)
    threads: set[int] = set()
    monkeypatch.setattr(threading.Thread, "run", watched(threading.Thread.run, threads))
    assert run(2) == plain
    assert len(threads) >= 2


def watched(run: Any, threads: set[int]) -> Any:
    """`Thread.run`, noting the threads that run."""

    def noted(self: threading.Thread) -> None:
        threads.add(threading.get_ident())
        run(self)

    return noted


# ---- the method


def people(n: int, seed: int = 1) -> Any:
    """Rows of `encoded`, with half of the jobs the same."""
    table = people_of(n, seed)
    table[: n // 2, 1] = 3
    return table[np.random.default_rng(seed).permutation(n)]


def task(seed: int = 0, n_threads: int = 1, progress: Any = None) -> Task:
    return Task(None, np.random.default_rng(seed), n_threads, progress)


METHODS = [
    TGC(w_u, 1 - w_u, delta=delta, variant=variant)
    for w_u in (1.0, 0.5, 0.0)
    for delta in ("auto", 0.3)
    for variant in ("default", "printed")
]


def name_of(method: TGC) -> str:
    return f"{method.w_u}-{method.delta}-{method.variant}"


@pytest.mark.parametrize("method", METHODS, ids=name_of)
def test_classes_depend_neither_on_the_order_of_the_rows_nor_on_threads(method: TGC) -> None:
    table = people(300)
    classes = partition(encoded(table), method, task(), 4)
    assert sorted(classes.rows.tolist()) == list(range(300))
    assert classes.sizes.min() >= 4
    for seed in (1, 2):
        shuffled = table[np.random.default_rng(seed).permutation(300)]
        assert contents(shuffled, partition(encoded(shuffled), method, task(n_threads=seed), 4)) == contents(
            table, classes
        )


@pytest.mark.parametrize("method", METHODS, ids=name_of)
def test_suppressed_rows_are_in_no_class(method: TGC) -> None:
    table = people(150)
    classes = partition(encoded(table, [3, 149]), method, task(), 5)
    assert sorted([*classes.rows.tolist(), 3, 149]) == list(range(150))
    assert classes.suppressed.tolist() == [3, 149]
    assert classes.sizes.min() >= 5
    assert (classes.rows.dtype, classes.offsets.dtype) == (np.uint32, np.int64)
    shorter = np.delete(table, [3, 149], axis=0)
    assert contents(table, classes) == contents(shorter, partition(encoded(shorter), method, task(), 5))


@pytest.mark.parametrize("method", METHODS, ids=name_of)
def test_partition_equals_the_twins_on_the_rows_in_rank_order(method: TGC) -> None:
    method, k = replace(method, normalize=method.variant == "default", r=0.6), 2
    n = 100 if method.variant == "default" and method.w_u else 36
    table = encoded(people(n))
    table = replace(table, sensitive=(replace(PAY, weight=0.5),))
    thresholds = select_thresholds(table, method, task(), k)
    printed = method.variant == "printed"
    quasi: list[dict[str, Any]] = [
        line(40, weight=2.0),
        {"kind": "flat", "n_values": 6, "weight": 1.0},
        {"kind": "tree", "n_values": 6, "parent": [-1, 0, 1, 1, 1, 0, 5, 5, 5], "leaf": [2, 3, 4, 6, 7, 8]},
    ]
    quasi[2]["weight"] = 1.0
    ranges = [1, 1, 1] if method.normalize else [39, 5, 5]
    wide = [one | {"weight": one["weight"] * times} for one, times in zip(quasi, ranges, strict=True)]
    rows = sorted(np.column_stack([*table.quasi_codes, *table.sensitive_codes]).tolist())
    pay = (line(6), 0.6, printed)
    parts = [list(range(n))]
    if printed or method.w_u or method.delta != "auto":
        s = 5 * k if printed else 20 * k  # most rows differ
        limited = None if printed else 4 * s
        parts = slow.split(rows, wide, [pay], s, thresholds.delta_split, limited, not printed)
    taken = [row for part in parts for row in part]
    ordered = [rows[row] for row in taken]
    offsets = np.cumsum([0, *map(len, parts)]).tolist()
    objective = {
        "attributes": quasi if method.w_u else [],
        "sensitive": [(*pay, 0.5)] if method.w_p else [],
        "w_u": method.w_u,
        "w_p": method.w_p,
    }
    codes = [row[0 if method.w_u else 3 : 4 if method.w_p else 3] for row in ordered]
    most = k if not printed and method.delta == "auto" else None
    home, _ = slow.grow(codes, offsets, objective, k, thresholds.delta, most, not printed)
    if method.deals:
        home = slow.deal(codes, k)
    if method.closes:
        home = slow.improve(codes, offsets, home, objective, k)
    if printed:  # in row order, whatever the subspaces
        back = np.argsort(taken)
        again = slow.reinsert([codes[i] for i in back], [home[i] for i in back], objective)
        home = [again[row] for row in taken]
    classes = partition(table, method, task(), k)
    by_class: dict[int, list[Any]] = {}
    for row, c in zip(ordered, home, strict=True):
        by_class.setdefault(c, []).append(tuple(row))
    expected = sorted(tuple(sorted(held)) for held in by_class.values())
    whole = np.column_stack([*table.quasi_codes, *table.sensitive_codes])
    assert sorted(contents(whole, classes).elements()) == expected


def table_2() -> Encoded:
    table = encoded(np.array(MICRODATA))
    ordered = [
        replace(AGES, positions=np.array(one["positions"], float), values=AGES.values[: one["n_values"]])
        for one in (AGE, HEIGHT, POSTCODE, SALARY)
    ]
    ordered = [replace(domain, weight=1.0, has_null=False) for domain in ordered]
    return replace(table, quasi=tuple(ordered[:3]), sensitive=(ordered[3],))


@pytest.mark.parametrize("variant", ["default", "printed"])
@pytest.mark.parametrize(
    ("w_u", "delta", "classes"), [(1.0, 0.1, TABLE_4), (1.0, 1.0, [list(range(8))]), (0.5, 0.3, TABLE_4)]
)
def test_tables_of_the_paper(w_u: float, delta: float, classes: Any, variant: Any) -> None:
    method = TGC(w_u, 1 - w_u, delta=delta, prepartition=False, ties="input", variant=variant)
    found = partition(table_2(), method, task(), 2)
    assert sorted(sorted(part.tolist()) for part in np.split(found.rows, found.offsets[1:-1])) == classes


@pytest.mark.parametrize(("normalize", "classes"), [(False, TABLE_3), (True, TABLE_4)])
def test_pre_partitioning_of_the_paper(normalize: bool, classes: Any) -> None:
    method = TGC(1, 0, delta=1, s=2, normalize=normalize, variant="printed", ties="input")
    found = partition(table_2(), method, task(), 2)
    assert sorted(sorted(part.tolist()) for part in np.split(found.rows, found.offsets[1:-1])) == classes


def test_rows_are_re_inserted_in_their_order_as_printed() -> None:
    # Subspaces {1, 2, 4} and {0, 3, 5}; row 0 joins {3, 5} before row 2 is asked.
    table = pa.table({"x": [7, 3, 6, 10, 2, 11]})
    method = TGC(1, 0, delta=0.2, s=3, delta_split=None, variant="printed", ties="input")
    found = partition(encode(table, Schema([numeric("x")])), method, task(), 2)
    parts = [sorted(part.tolist()) for part in np.split(found.rows, found.offsets[1:-1])]
    assert sorted(parts) == [[0, 2, 3, 5], [1, 4]]


@pytest.mark.parametrize("variant", ["default", "printed"])
def test_thresholds_are_the_best_of_their_trials(variant: Any) -> None:
    table, method, told = encoded(people(250)), TGC(variant=variant), []
    chosen = select_thresholds(table, method, task(progress=lambda *done: told.append(done)), 4)
    assert chosen == select_thresholds(table, method, task(n_threads=2), 4)
    assert chosen != select_thresholds(table, method, task(seed=1), 4)
    assert told[-1] == ("thresholds", 62, 62)
    deltas = [trial.delta for trial in chosen.trials]
    assert deltas[:6] == [0.25, 0.75, 0.125, 0.375, 0.625, 0.875]
    assert (len(set(deltas)), min(deltas), max(deltas)) == (62, 1 / 64, 63 / 64)

    def score(trial: Trial) -> float:
        return trial.um + trial.pm if variant == "printed" else trial.um / 3 + trial.pm

    assert all(trial.score == pytest.approx(score(trial)) for trial in chosen.trials)
    best = min(chosen.trials, key=lambda trial: (trial.score, trial.delta))
    assert chosen.delta == best.delta
    pay = np.bincount(table.sensitive_codes[0])
    spread = slow.spread(line(6), np.repeat(np.arange(6), pay).tolist(), 1.0)
    floor = 0.0 if variant == "printed" else 1.02 * spread
    assert chosen.delta_split == pytest.approx(max(best.pm, floor))
    assert all(trial.n_classes <= 80 // 4 for trial in chosen.trials)


def test_the_trial_of_a_threshold_is_the_twin_on_the_sample() -> None:
    table, k = encoded(people(60)), 2
    chosen = select_thresholds(table, TGC(1, 0, variant="printed"), task(), k)
    sample = np.sort(np.random.default_rng(0).integers(60, size=40))
    whole = sorted(np.column_stack([*table.quasi_codes, *table.sensitive_codes]).tolist())
    rows = [whole[row] for row in sample]
    quasi: list[dict[str, Any]] = [
        line(40, weight=2.0),
        {"kind": "flat", "n_values": 6, "weight": 1.0},
        {"kind": "tree", "n_values": 6, "parent": [-1, 0, 1, 1, 1, 0, 5, 5, 5], "leaf": [2, 3, 4, 6, 7, 8]},
    ]
    quasi[2]["weight"] = 1.0
    objective = {"attributes": quasi, "sensitive": [], "w_u": 1.0, "w_p": 0.0}
    for trial in chosen.trials[:3]:
        home, n = slow.grow([row[:3] for row in rows], [0, 40], objective, k, trial.delta)
        home = slow.reinsert([row[:3] for row in rows], home, objective)
        classes = [[row for row, c in zip(rows, home, strict=True) if c == each] for each in range(max(n, 1))]
        um = pm = 0.0
        for held in classes:
            for a, one in enumerate(quasi):
                um += slow.width(one, slow.column(held, a), "q-diversity") / len(classes)
            pm += slow.spread(line(6), slow.column(held, 3), 1.0, True) / len(classes)
        assert (trial.um, trial.pm) == (pytest.approx(um), pytest.approx(pm))


def test_thresholds_that_are_given_are_taken() -> None:
    table = encoded(people(50))
    for split, expected in (("auto", None), (None, None), (0.7, 0.7)):
        chosen = select_thresholds(table, TGC(delta=0.2, delta_split=split), task(), 4)
        assert (chosen.delta, chosen.delta_split, chosen.trials) == (0.2, expected, ())
    for split, expected in ((None, None), (0.7, 0.7)):
        assert select_thresholds(table, TGC(delta_split=split), task(), 4).delta_split == expected


def test_the_default_has_no_giant_class() -> None:
    table = people(2000)
    printed = partition(encoded(table), TGC(variant="printed"), task(), 5)
    default = partition(encoded(table), TGC(), task(), 5)
    assert printed.sizes.max() > 10 * 5
    assert default.sizes.max() < 3 * 5


def test_utility_needs_no_sensitive_attribute() -> None:
    table = replace(encoded(people(80)), sensitive=(), sensitive_codes=())
    assert partition(table, TGC(1, 0), task(), 4).sizes.min() >= 4
    assert select_thresholds(table, TGC(1, 0), task(), 4).delta_split is None
    with pytest.raises(UsageError, match="needs a sensitive attribute"):
        partition(table, TGC(), task(), 4)


def test_a_rejected_row_is_clustered_with_accepted_neighbors() -> None:
    table = pa.table({"x": [1, 2, 3, 20, 21], "y": [2, 1, 2, 19, 20]})
    found = partition(encode(table, Schema([numeric("x"), numeric("y")])), TGC(1, 0), task(), 2)
    parts = [sorted(part.tolist()) for part in np.split(found.rows, found.offsets[1:-1])]
    assert sorted(parts) == [[0, 1, 2], [3, 4]]


def test_dealt_rows_have_the_least_s_diversity_of_one_number() -> None:
    rng = np.random.default_rng(0)
    values = rng.permutation(60)
    table = pa.table({"x": rng.integers(0, 9, 60), "pay": values})
    found = partition(encode(table, Schema([numeric("x")], [numeric("pay")])), TGC(0, 1), task(), 4)
    parts = np.split(found.rows, found.offsets[1:-1])
    assert {len(part) for part in parts} == {4}
    # one row of every quarter in each class: no deal has greater distances
    assert all(sorted(values[part] // 15) == [0, 1, 2, 3] for part in parts)


def test_dealt_clusters_of_a_large_table_are_parted(monkeypatch: pytest.MonkeyPatch) -> None:
    table = people(600)
    whole = partition(encoded(table), TGC(0, 1), task(), 4)
    monkeypatch.setattr("anon.methods.tgc.DEALT_CLUSTERS", 10)
    found = partition(encoded(table), TGC(0, 1), task(n_threads=2), 4)
    assert sorted(found.rows.tolist()) == list(range(600))
    assert found.sizes.tolist() == whole.sizes.tolist()
    assert contents(table, found) == contents(table, partition(encoded(table), TGC(0, 1), task(), 4))


def test_who_of_equals_is_dealt_where_is_drawn() -> None:
    table = encoded(people(200))

    def dealt(seed: int) -> Any:
        draw = np.random.default_rng(seed).permutation(200).astype(np.uint32)
        found = partition(replace(table, draw=draw), TGC(0, 1), task(), 4)
        return sorted(sorted(part.tolist()) for part in np.split(found.rows, found.offsets[1:-1]))

    assert dealt(1) == dealt(1) != dealt(2)


def test_refusals_name_the_column_and_the_way_out() -> None:
    table = people(40)
    with pytest.raises(InfeasibleError, match="at most 39") as infeasible:
        partition(encoded(table, [0]), TGC(), task(), 40)
    assert infeasible.value.tightest == 39
    with pytest.raises(UsageError, match="s = 4 is less than k = 5"):
        partition(encoded(table), TGC(s=4), task(), 5)
    table[[4, 7], 3] = 6

    def with_nulls(suppressed: Any = ()) -> Encoded:
        return replace(encoded(table, suppressed), sensitive=(replace(PAY, has_null=True),))

    for method in (TGC(), TGC(1, 0), TGC(1, 0, delta=0.2, delta_split=0.9)):
        with pytest.raises(
            DataError, match=r"pay: 2 values are missing, the first in row 5.*suppress"
        ) as missing:
            partition(with_nulls(), method, task(), 2)
        assert (missing.value.column, missing.value.row, missing.value.count) == ("pay", 4, 2)
    assert partition(with_nulls([4, 7]), TGC(), task(), 2).sizes.min() >= 2
    assert partition(with_nulls(), TGC(1, 0, delta=0.2), task(), 2).sizes.min() >= 2


@pytest.mark.parametrize(
    "wrong",
    [
        {"w_u": 0.5, "w_p": 0.6},
        {"w_u": -0.5, "w_p": 1.5},
        {"w_u": True, "w_p": False},
        {"r": 1.5},
        {"delta": -0.1},
        {"delta": "best"},
        {"delta": float("nan")},
        {"delta": None},
        {"delta_split": "none"},
        {"s": 0},
        {"s": 2.5},
        {"prepartition": 1},
        {"normalize": None},
        {"variant": "paper"},
        {"ties": "random"},
    ],
)
def test_parameters_are_checked(wrong: Any) -> None:
    with pytest.raises(UsageError, match="must"):
        TGC(**wrong)


def test_rows_of_infinite_width_are_clustered_in_order() -> None:
    codes = np.ones((6, 2), np.uint8)
    codes[0] = 0
    wide = [Attribute(2, np.arange(2.0), weight=1.7e308)] * 2
    home, n_classes = tgc.grow(codes, np.array([0, 6]), tgc.Objective(wide, w_u=1, w_p=0), 3, np.inf, most=3)
    assert (home.tolist(), n_classes) == ([0, 0, 0, 1, 1, 1], 2)


def test_progress_may_change_what_reinsert_was_given() -> None:
    # As many classes as make blocks of 64 rows.
    n_classes, n_left = 2**16, 65
    codes = np.zeros((n_classes + n_left, 1), np.uint8)
    home = np.array([*range(n_classes), *[-1] * n_left])
    calls = []

    def spoil(done: int, total: int) -> None:
        calls.append(done)
        codes[:] = 255

    placed = tgc.reinsert(codes, home, tgc.Objective([Attribute(1)], w_u=1, w_p=0), progress=spoil)
    assert calls == [64, 65]
    assert (placed[n_classes:] == 0).all()
