# SPDX-License-Identifier: Apache-2.0
"""The Mondrian kernel against its twin, against tables worked by hand, and against its promises."""

from __future__ import annotations

import concurrent.futures
import ctypes
import itertools
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any, ClassVar, cast

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anoncore.partition
from anon.encoding.domain import Domain, Encoded
from anon.errors import UsageError
from anon.methods import mondrian
from anon.methods.mondrian import Mondrian
from anon.methods.task import Task
from anoncore import attribute as kernel
from anoncore.partition import best_cut, partition, turns
from anoncore.requirement import Conjunction
from reference import partition as twin
from reference.partition import Attribute

WIDTHS = (np.uint8, np.uint16, np.uint32)


def attributes_of(n_values: Any, weights: Any, positions: Any, trees: Any) -> list[kernel.Attribute]:
    """What the kernel knows of several attributes."""
    parts = zip(n_values, positions, trees, weights, strict=True)
    return [kernel.Attribute(n, line, tree, weight=weight) for n, line, tree, weight in parts]


def kernel_attributes(attributes: Sequence[Attribute]) -> list[kernel.Attribute]:
    """The kernel's description of the twin's attributes; nodes of trees are in preorder."""
    trees: list[Any] = []
    for attribute in attributes:
        if attribute.parent is None:
            trees.append(None)
            continue
        paths = [attribute.path(code) for code in range(attribute.n_values)]
        below = [[c for c, path in enumerate(paths) if v in path] for v in range(len(attribute.parent))]
        first = [min(codes) for codes in below]
        last = [max(codes) for codes in below]
        trees.append((attribute.parent, first, last, attribute.leaf))
    return attributes_of(
        [attribute.n_values for attribute in attributes],
        [attribute.weight for attribute in attributes],
        [attribute.positions for attribute in attributes],
        trees,
    )


def size_only(k: int, n: int) -> Conjunction:
    return Conjunction([], n, [("size", k)])


def classes_of(rows: np.ndarray, offsets: np.ndarray) -> list[list[int]]:
    return [rows[a:b].tolist() for a, b in itertools.pairwise(offsets)]


@st.composite
def trees(draw: st.DrawFn, n_values: int) -> tuple[list[int], list[int]]:
    """Parents in preorder and the node of every leaf."""
    parent: list[int] = []
    leaf: list[int] = []

    def grow(above: int, codes: list[int]) -> None:
        node = len(parent)
        parent.append(above)
        if len(codes) == 1 and draw(st.booleans()):
            leaf.append(node)
            return
        if len(codes) == 1:
            grow(node, codes)
            return
        n_parts = draw(st.integers(1 if len(codes) < n_values or above < 0 else 2, len(codes)))
        cuts = sorted(draw(st.permutations(range(1, len(codes))))[: n_parts - 1])
        if not cuts:
            cuts = [1]
        for a, b in zip([0, *cuts], [*cuts, len(codes)], strict=True):
            grow(node, codes[a:b])

    grow(-1, list(range(n_values)))
    return parent, leaf


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[Attribute], np.ndarray]:
    """Attributes of any kind and the codes of up to 60 rows, one column each."""
    n = draw(st.integers(0, 60))
    attributes, columns = [], []
    for _ in range(draw(st.integers(1, 4))):
        n_values = draw(st.sampled_from([1, 2, 3, 5, 8, 12, 300]))
        kind = draw(st.sampled_from(["ordered", "tree", "flat"]))
        if kind == "tree":
            n_values = min(n_values, 12)
        attribute = Attribute(n_values, weight=draw(st.sampled_from([0.5, 1.0, 2.0])))
        if kind == "ordered":
            steps = draw(st.lists(st.integers(1, 9), min_size=n_values, max_size=n_values))
            attribute.positions = np.cumsum([0, *steps[1:]]).astype(float).tolist()
        elif kind == "tree":
            attribute.parent, attribute.leaf = draw(trees(n_values))
        seed = draw(st.integers(0, 2**32 - 1))
        few = draw(st.integers(1, n_values + 1))
        attributes.append(attribute)
        columns.append(np.random.default_rng(seed).integers(n_values + 1 - few, n_values + 1, n))
    return attributes, np.array(columns).reshape(len(columns), n)


def typed(draw: st.DrawFn, column: np.ndarray) -> np.ndarray:
    widths = [width for width in WIDTHS if column.max(initial=0) <= np.iinfo(width).max]
    return column.astype(draw(st.sampled_from(widths)))


@st.composite
def runs(draw: st.DrawFn) -> dict[str, Any]:
    """Arguments of both twins for one run."""
    attributes, codes = draw(tables())
    m, n = codes.shape
    chooser = draw(st.sampled_from(["widest", "most-repeated", "least-repeated", "information-gain"]))
    options: dict[str, Any] = {
        "chooser": chooser,
        "nearest": draw(st.booleans()),
        "relaxed": draw(st.booleans()),
    }
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    if chooser == "information-gain":
        options["target"] = rng.integers(0, draw(st.sampled_from([2, 4, 3000])), n).astype(np.uint16)
        options["rival"] = not (options["nearest"] or options["relaxed"]) and draw(st.booleans())
    if chooser == "widest":
        options["priority"] = draw(st.permutations(range(m)))[: draw(st.integers(0, m))]
    if draw(st.booleans()):
        options["rows"] = rng.permutation(n)[: draw(st.integers(0, n))].astype(np.uint32)
    sizes = draw(st.lists(st.sampled_from([2, 4, 20, 3000]), max_size=2))
    sensitive = [rng.integers(0, size, n) for size in sizes]
    return {
        "attributes": attributes,
        "codes": codes,
        "columns": [typed(draw, column) for column in codes],
        "sensitive": sensitive,
        "sizes": sizes,
        "sensitive_columns": [typed(draw, column) for column in sensitive],
        "k": draw(st.integers(1, 6)),
        "l": draw(st.integers(2, 3)),
        "options": options,
    }


def run_kernel(run: dict[str, Any], **more: Any) -> tuple[np.ndarray, np.ndarray]:
    n = run["codes"].shape[1]
    counts = [np.bincount(s, minlength=d) for s, d in zip(run["sensitive"], run["sizes"], strict=True)]
    rules: list[Any] = [("size", run["k"])]
    rules += [("distinct", a, run["l"]) for a in range(len(counts))]
    return partition(
        run["columns"],
        kernel_attributes(run["attributes"]),
        Conjunction(counts, n, rules),
        sensitive=run["sensitive_columns"],
        **run["options"],
        **more,
    )


def passes_of(run: dict[str, Any]) -> Callable[[list[int]], bool]:
    def passes(rows: list[int]) -> bool:
        diverse = all(len({int(s[r]) for r in rows}) >= run["l"] for s in run["sensitive"])
        return len(rows) >= run["k"] and diverse

    return passes


def run_twin(run: dict[str, Any]) -> list[list[int]]:
    return twin.partition(run["codes"].T.tolist(), run["attributes"], passes_of(run), **run["options"])


@settings(max_examples=400, deadline=None)
@given(runs())
def test_partition_equals_its_twin(run: dict[str, Any]) -> None:
    rows, offsets = run_kernel(run)
    assert (rows.dtype, offsets.dtype) == (np.uint32, np.int64)
    assert classes_of(rows, offsets) == run_twin(run)


def histogram(codes: np.ndarray, a: int, tracked: Sequence[np.ndarray]) -> Any:
    """The counts of attribute a in these rows, as `best_cut` takes them."""
    values, at, rows = np.unique(codes[a], return_inverse=True, return_counts=True)
    pairs = []
    for column in tracked:
        (of, code), count = np.unique([at, column.astype(np.int64)], axis=1, return_counts=True)
        pairs.append((np.searchsorted(of, np.arange(len(values) + 1)), code, count))
    return a, values, np.concatenate([[0], np.cumsum(rows)]), pairs


@settings(max_examples=400, deadline=None)
@given(runs())
def test_a_cut_from_counts_is_the_twins_from_rows(run: dict[str, Any]) -> None:
    options = dict(run["options"])
    chosen, target = options.pop("rows", None), options.pop("target", None)
    priority = options.pop("priority", ())
    node = list(range(run["codes"].shape[1])) if chosen is None else chosen.tolist()
    if len(node) < 2 or (options["relaxed"] and target is not None):
        return
    codes, described = run["codes"][:, node], kernel_attributes(run["attributes"])
    rows = run["codes"].T.tolist()
    order = turns(
        described,
        codes.min(1),
        codes.max(1),
        [len(np.unique(column)) for column in codes],
        chooser=options["chooser"],
        priority=priority,
    )
    slow = twin.turns(rows, run["attributes"], node, options.pop("chooser"), priority)
    assert order == [a for a in slow if codes[a].min() < codes[a].max()]

    counts = [np.bincount(s, minlength=d) for s, d in zip(run["sensitive"], run["sizes"], strict=True)]
    rules: list[Any] = [("size", run["k"]), *(("distinct", a, run["l"]) for a in range(len(counts)))]
    conjunction = Conjunction(counts, run["codes"].shape[1], rules)
    tracked = [column[node] for column in (*run["sensitive"], *([] if target is None else [target]))]
    histograms = [histogram(codes, a, tracked) for a in order]
    if options["relaxed"]:  # one attribute at a time: a cut with a quota ends the search
        histograms, order = histograms[:1], order[:1]
    cut = best_cut(described, histograms, conjunction, chooser=run["options"]["chooser"], **options)
    parts = twin.best_cut(
        rows,
        run["attributes"],
        node,
        order,
        passes_of(run),
        target=target,
        **options,
    )
    if cut is None:
        assert parts is None
        return
    a, first, sizes, _, quota = cut
    if quota:
        ranked = sorted(node, key=lambda row: rows[row][a])
        assert sizes == [(len(node) + 1) // 2, len(node) // 2]
        assert [rows[ranked[0]][a], rows[ranked[sizes[0] - 1]][a]] == first
        assert quota == sum(rows[row][a] == first[1] for row in ranked[: sizes[0]])
        assert (parts is not None) == all(map(passes_of(run), (ranked[: sizes[0]], ranked[sizes[0] :])))
        return
    assert parts is not None
    part_of = np.searchsorted(first[1:], codes[a], side="right")
    assert [sorted(np.array(node)[part_of == p].tolist()) for p in range(len(sizes))] == [
        sorted(part) for part in parts
    ]
    assert sizes == [len(part) for part in parts]


@st.composite
def runs_of_units(draw: st.DrawFn) -> dict[str, Any]:
    """Runs whose rows belong to units; some units have many rows, and some values are a unit's own."""
    run = draw(runs())
    n = run["codes"].shape[1]
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    units = rng.integers(0, draw(st.sampled_from([1, 4, 15, 60])), n)
    units[rng.random(n) < draw(st.sampled_from([0, 0, 0.5]))] = 0
    for column in run["columns"]:
        if draw(st.booleans()):  # as of a person, the same in all rows
            _, first, of_row = np.unique(units, return_index=True, return_inverse=True)
            column[:] = column[first][of_row]
    return run | {
        "codes": np.array(run["columns"]).reshape(run["codes"].shape).astype(np.int64),
        "units": units * 70_000 if draw(st.booleans()) else units,
        "share": Fraction(draw(st.sampled_from(["1", "0.7", "0.5", "0.4"]))),
        "counts_units": draw(st.booleans()) or not run["sensitive"],
    }


def run_on_units(run: dict[str, Any], **more: Any) -> tuple[np.ndarray, np.ndarray]:
    units, chosen = run["units"], run["options"].get("rows", slice(None))
    counts = []
    for s, d in zip(run["sensitive"], run["sizes"], strict=True):
        pairs = np.unique(np.array([units[chosen], s[chosen]]), axis=1)
        counts.append(np.bincount(pairs[1], minlength=d))
    rules: list[Any] = [("units" if run["counts_units"] else "size", run["k"])]
    rules += [("share", a, run["share"]) for a in range(len(counts))]
    return partition(
        run["columns"],
        kernel_attributes(run["attributes"]),
        Conjunction(counts, run["codes"].shape[1], rules, by_units=True),
        sensitive=run["sensitive_columns"],
        units=units.astype(np.uint32),
        **run["options"],
        **more,
    )


@settings(max_examples=600, deadline=None)
@given(runs_of_units())
def test_units_are_counted_as_the_twin_counts_them(run: dict[str, Any]) -> None:
    units = run["units"].tolist()

    def passes(rows: list[int]) -> bool:
        n_units = len({units[r] for r in rows})
        shares = []
        for s in run["sensitive"]:
            pairs = {(units[r], int(s[r])) for r in rows}
            most = Counter(value for _, value in pairs).most_common(1)[0][1]
            shares.append(Fraction(most, len(pairs)))
        enough = (n_units if run["counts_units"] else len(rows)) >= run["k"]
        return enough and all(share <= run["share"] for share in shares)

    expected = twin.partition(run["codes"].T.tolist(), run["attributes"], passes, **run["options"])
    assert classes_of(*run_on_units(run)) == expected


@pytest.mark.parametrize("n_values", [12, 300])
@pytest.mark.parametrize("asks_values", [False, True])
@pytest.mark.parametrize("seed", range(25))
def test_one_side_of_the_middle_has_few_units(n_values: int, asks_values: bool, seed: int) -> None:
    """One unit has all rows of high codes, or of low ones: the nearest cut lies where others are."""
    rng = np.random.default_rng(seed)
    n = 40
    codes = np.array([rng.integers(0, n_values, n), rng.integers(0, 4, n)])
    units = rng.integers(0, 15, n)
    half = codes[0] > n_values // 2 if seed % 2 else codes[0] < n_values // 2
    units[half] = 0
    secret = rng.integers(0, 3, n)
    run: dict[str, Any] = {
        "attributes": [
            Attribute(n_values, positions=[float(p) for p in range(n_values)]),
            Attribute(4, weight=0.1),
        ],
        "codes": codes,
        "columns": [column.astype(np.uint16) for column in codes],
        "sensitive": [secret] if asks_values else [],
        "sizes": [3] if asks_values else [],
        "sensitive_columns": [secret.astype(np.uint8)] if asks_values else [],
        "k": 3,
        "units": units,
        "share": Fraction(1, 2),
        "counts_units": True,
        "options": {"nearest": True},
    }

    def passes(rows: list[int]) -> bool:
        pairs = {(int(units[r]), int(secret[r])) for r in rows}
        most = max(Counter(value for _, value in pairs).values())
        return len({int(units[r]) for r in rows}) >= 3 and (not asks_values or 2 * most <= len(pairs))

    expected = twin.partition(codes.T.tolist(), run["attributes"], passes, nearest=True)
    assert classes_of(*run_on_units(run)) == expected
    assert len(expected) > 1 or asks_values


@pytest.mark.parametrize("seed", range(25))
def test_relaxed_cuts_by_units_of_more_codes_than_are_tallied(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, n_values = int(rng.integers(4, 40)), 5000
    codes = rng.choice(n_values, n, replace=seed % 2 == 0)
    units, secret = rng.integers(0, max(2, n // 2), n), rng.integers(0, 3, n)
    run: dict[str, Any] = {
        "attributes": [Attribute(n_values, positions=[float(p) for p in range(n_values)])],
        "codes": codes[np.newaxis],
        "columns": [codes.astype(np.uint16)],
        "sensitive": [secret],
        "sizes": [3],
        "sensitive_columns": [secret.astype(np.uint8)],
        "k": 2,
        "units": units,
        "share": Fraction(2, 3),
        "counts_units": True,
        "options": {"relaxed": True},
    }

    def passes(rows: list[int]) -> bool:
        pairs = {(int(units[r]), int(secret[r])) for r in rows}
        most = max(Counter(value for _, value in pairs).values())
        return len({int(units[r]) for r in rows}) >= 2 and 3 * most <= 2 * len(pairs)

    rows: Any = codes[:, np.newaxis].tolist()
    assert classes_of(*run_on_units(run)) == twin.partition(rows, run["attributes"], passes, relaxed=True)


def test_units_are_given_where_they_are_counted_alone() -> None:
    codes = [np.zeros(4, np.uint8)]
    attributes = kernel_attributes([Attribute(1)])
    with pytest.raises(ValueError, match="units are needed"):
        partition(codes, attributes, Conjunction([], 4, [("units", 2)]))
    with pytest.raises(ValueError, match="units are needed"):
        partition(codes, attributes, size_only(2, 4), units=codes[0])


@pytest.mark.parametrize("cuts", ["nearest", "median", "relaxed"])
@pytest.mark.parametrize("n_values", [300, 70_000])
@pytest.mark.parametrize("n_sensitive_values", [0, 3, 70_000])
def test_large_domains_equal_the_twin(cuts: str, n_values: int, n_sensitive_values: int) -> None:
    rng = np.random.default_rng(n_values)
    n = 600
    skewed = np.minimum(rng.exponential(n_values / 50, n), n_values - 1).astype(int)
    codes = np.array([skewed, rng.integers(0, n_values, n), rng.integers(0, n_values + 1, n)])
    positions = np.arange(n_values) / 7
    run = {
        "attributes": [
            Attribute(n_values, positions=positions.tolist()),
            Attribute(n_values),
            Attribute(n_values, positions=positions.tolist()),
        ],
        "codes": codes,
        "columns": [column.astype(np.uint32) for column in codes],
        "sensitive": [rng.integers(0, n_sensitive_values, n)] if n_sensitive_values else [],
        "sizes": [n_sensitive_values] if n_sensitive_values else [],
        "k": 5,
        "l": 3,
        "options": {"nearest": cuts == "nearest", "relaxed": cuts == "relaxed"},
    }
    run["sensitive_columns"] = [column.astype(np.uint32) for column in run["sensitive"]]
    assert classes_of(*run_kernel(run)) == run_twin(run)


def test_a_refused_cut_leaves_nothing_behind() -> None:
    """The tree is refused for its size before the sensitive codes are counted for the next attribute."""
    rng = np.random.default_rng(0)
    n = 60
    codes = np.array([rng.integers(0, 2, n), rng.permutation(300)[:n]])
    codes[0, 0] = 2  # alone in its child of the root
    run = {
        "attributes": [
            Attribute(3, 2.0, parent=[-1, 0, 0, 0], leaf=[1, 2, 3]),
            Attribute(300, positions=[float(p) for p in range(300)]),
        ],
        "codes": codes,
        "columns": [codes[0].astype(np.uint16), codes[1].astype(np.uint16)],
        "sensitive": [rng.integers(0, 2, n)],
        "sizes": [2],
        "k": 4,
        "l": 2,
        "options": {"relaxed": True},
    }
    run["sensitive_columns"] = [column.astype(np.uint8) for column in run["sensitive"]]
    assert len(run_twin(run)) > 4
    assert classes_of(*run_kernel(run)) == run_twin(run)


@settings(max_examples=100, deadline=None)
@given(runs())
def test_sizes_and_rows_are_accounted_for(run: dict[str, Any]) -> None:
    rows, offsets = run_kernel(run)
    chosen = run["options"].get("rows", np.arange(run["codes"].shape[1]))
    assert sorted(rows.tolist()) == sorted(chosen.tolist())
    assert offsets[0] == 0
    assert offsets[-1] == len(rows)
    if len(offsets) > 2:
        passes = passes_of(run)
        assert all(passes(part) for part in classes_of(rows, offsets))


@settings(max_examples=100, deadline=None)
@given(runs(), st.integers(0, 2**32 - 1))
def test_strict_classes_do_not_depend_on_row_order(run: dict[str, Any], seed: int) -> None:
    run["options"] |= {"relaxed": False}
    n = run["codes"].shape[1]
    rows, offsets = run_kernel(run)
    shuffle = np.random.default_rng(seed).permutation(n)  # new row i is old row shuffle[i]
    place = np.argsort(shuffle).astype(np.uint32)
    shuffled = run | {"sensitive": [column[shuffle] for column in run["sensitive"]]}
    for name in ("columns", "sensitive_columns"):
        shuffled[name] = [column[shuffle] for column in run[name]]
    options = dict(run["options"])
    if "rows" in options:
        options["rows"] = place[options["rows"]]
    if "target" in options:
        options["target"] = options["target"][shuffle]
    shuffled_rows, shuffled_offsets = run_kernel(shuffled | {"options": options})
    again = [set(shuffle[part].tolist()) for part in classes_of(shuffled_rows, shuffled_offsets)]
    assert again == [set(part) for part in classes_of(rows, offsets)]


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.booleans())
def test_strict_boxes_of_ordered_attributes_are_disjoint(seed: int, m: int, nearest: bool) -> None:
    rng = np.random.default_rng(seed)
    columns = [rng.integers(0, 9, 200, dtype=np.uint8) for _ in range(m)]
    described = attributes_of([9] * m, [1.0] * m, [np.arange(9.0)] * m, [None] * m)
    parts = classes_of(*partition(columns, described, size_only(3, 200), nearest=nearest))
    boxes = [[(column[part].min(), column[part].max()) for column in columns] for part in parts]
    for i, box in enumerate(boxes):
        for other in boxes[:i]:
            assert any(
                high < other_low or other_high < low
                for (low, high), (other_low, other_high) in zip(box, other, strict=True)
            )


class SeenExecutor(concurrent.futures.ThreadPoolExecutor):
    """Notes which threads ran tasks; slow enough that one worker cannot take them all."""

    workers: ClassVar[set[int]] = set()

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.workers.clear()

    def submit(self, task: Callable[..., Any], /, *args: Any, **more: Any) -> concurrent.futures.Future[Any]:
        def seen() -> Any:
            self.workers.add(threading.get_ident())
            time.sleep(0.0005)
            return task(*args, **more)

        return super().submit(seen)


@pytest.mark.parametrize("relaxed", [False, True])
@pytest.mark.parametrize("chooser", ["widest", "information-gain"])
def test_any_number_of_threads_gives_the_same_bits(
    monkeypatch: pytest.MonkeyPatch, relaxed: bool, chooser: str
) -> None:
    rng = np.random.default_rng(5)
    n = 500
    columns = [rng.integers(0, d, n, dtype=np.uint8) for d in (3, 30, 200)]
    described = attributes_of([3, 30, 200], [1.0] * 3, [None, np.arange(30.0), np.arange(200.0)], [None] * 3)
    sensitive = rng.integers(0, 5, n, dtype=np.uint8)
    conjunction = Conjunction([np.bincount(sensitive)], n, [("size", 4), ("distinct", 0, 3)])
    options: dict[str, Any] = {"sensitive": [sensitive], "relaxed": relaxed, "chooser": chooser}
    if chooser == "information-gain":
        options["target"] = rng.integers(0, 4, n, dtype=np.uint8)
    expected = partition(columns, described, conjunction, **options)
    assert len(expected[1]) > 20
    monkeypatch.setattr(anoncore.partition, "SUBTREE_ROWS", 1)
    monkeypatch.setattr(anoncore.partition, "PACK_ROWS", 7)
    monkeypatch.setattr(concurrent.futures, "ThreadPoolExecutor", SeenExecutor)
    for n_threads in (1, 2, 3, 8):
        SeenExecutor.workers.clear()
        rows, offsets = partition(columns, described, conjunction, n_threads=n_threads, **options)
        assert rows.tobytes() == expected[0].tobytes()
        assert offsets.tobytes() == expected[1].tobytes()
        used = len(SeenExecutor.workers)  # one thread is the caller's own
        assert 2 <= used <= n_threads if n_threads > 1 else used == 0


@pytest.mark.parametrize("n_sensitive_values", [0, 3, 2000])
def test_small_parts_share_a_task(monkeypatch: pytest.MonkeyPatch, n_sensitive_values: int) -> None:
    """A cut of 600 rows in 50 parts, which are cut on: tasks of one part, of a few and of all."""
    rng = np.random.default_rng(6)
    n, d = 600, 50
    columns = [rng.permutation(n).astype(np.uint16) % d, rng.integers(0, 200, n, dtype=np.uint16)]
    tree = [-1] + [0] * d, [0, *range(d)], [d - 1, *range(d)], range(1, d + 1)
    described = attributes_of([d, 200], [10.0, 1.0], [None, np.arange(200.0)], [tree, None])
    rules: list[Any] = [("size", 3)]
    sensitive, counts = [], []
    if n_sensitive_values:
        rules.append(("distinct", 0, 2))
        sensitive = [rng.integers(0, n_sensitive_values, n, dtype=np.uint16)]
        counts = [np.bincount(sensitive[0])]
    conjunction = Conjunction(counts, n, rules)
    expected = partition(columns, described, conjunction, sensitive=sensitive, nearest=False)
    assert len(expected[1]) > 100
    tasks: list[Any] = []

    class Counted(concurrent.futures.ThreadPoolExecutor):
        def submit(self, task: Callable[..., Any], /, *args: Any, **more: Any) -> Any:
            tasks.append(args)
            return super().submit(task, *args, **more)

    monkeypatch.setattr(concurrent.futures, "ThreadPoolExecutor", Counted)
    for subtree_rows, most in ((12, 599), (60, 14), (599, 3), (600, 1)):
        monkeypatch.setattr(anoncore.partition, "SUBTREE_ROWS", subtree_rows)
        tasks.clear()
        rows, offsets = partition(
            columns, described, conjunction, sensitive=sensitive, nearest=False, n_threads=2
        )
        assert rows.tobytes() == expected[0].tobytes()
        assert offsets.tobytes() == expected[1].tobytes()
        assert 1 <= len(tasks) <= most


def test_an_interrupt_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(anoncore.partition, "SUBTREE_ROWS", 1)
    told: list[tuple[int, int]] = []

    def interrupt(done: int, total: int) -> None:
        told.append((done, total))
        if done:
            raise KeyboardInterrupt

    before = threading.active_count()
    column = np.arange(200, dtype=np.uint8)
    described = attributes_of([200], [1.0], [np.arange(200.0)], [None])
    with pytest.raises(KeyboardInterrupt):
        partition([column], described, size_only(2, 200), n_threads=2, progress=interrupt)
    assert 0 < told[-1][0] < 200
    assert threading.active_count() == before


def test_progress_ends_at_all_rows() -> None:
    told: list[tuple[int, int]] = []
    column = np.arange(50, dtype=np.uint8)
    described = attributes_of([50], [1.0], [np.arange(50.0)], [None])
    partition([column], described, size_only(2, 50), progress=lambda *args: told.append(args))
    assert told[-1] == (50, 50)


def cut_values(values: list[int | None], k: int, kind: str = "ordered", **options: Any) -> list[list[Any]]:
    """Classes of a one-attribute table, as lists of its values."""
    domain = sorted({value for value in values if value is not None})
    codes = np.array([len(domain) if v is None else domain.index(v) for v in values], dtype=np.uint8)
    positions = [float(value - domain[0]) for value in domain] if kind == "ordered" else None
    described = attributes_of([len(domain)], [1.0], [positions], [None])
    parts = classes_of(*partition([codes], described, size_only(k, len(values)), **options))
    return [[values[row] for row in part] for part in parts]


def test_pairs_of_eight_ages() -> None:
    for nearest in (True, False):
        assert cut_values([1, 2, 3, 4, 5, 6, 7, 8], 2, nearest=nearest) == [[1, 2], [3, 4], [5, 6], [7, 8]]
    assert cut_values([1, 2, 3, 4, 5, 6, 7], 2, nearest=False) == [[1, 2], [3, 4], [5, 6, 7]]


@pytest.mark.parametrize(
    ("values", "strict", "relaxed"),
    [
        ([1, 1, 1, 1, 2, 2], [4, 2], [3, 3]),
        ([1, 2, 2, 2, 2, 2], [6], [3, 3]),
        ([1, 1, 2, 2, 2, 2], [2, 4], [3, 3]),
    ],
)
def test_ties_at_the_median(values: list[int | None], strict: list[int], relaxed: list[int]) -> None:
    for nearest in (True, False):
        assert [len(part) for part in cut_values(values, 2, nearest=nearest)] == strict
        assert [len(part) for part in cut_values(values, 2, nearest=nearest, relaxed=True)] == relaxed


def test_nearest_looks_beyond_the_median() -> None:
    """N = 8, k = 3: the cuts at the median value 2 leave 1 | 7 and 7 | 1; none is allowed by `median`."""
    values: list[int | None] = [1, 2, 2, 2, 2, 2, 2, 3]
    assert len(cut_values(values, 3)) == 1
    diverse = [0, 0, 0, 1, 0, 1, 1, 1]
    codes = np.arange(8, dtype=np.uint8)
    sensitive = np.array(diverse, dtype=np.uint8)
    described = attributes_of([8], [1.0], [np.arange(8.0)], [None])
    conjunction = Conjunction([np.bincount(sensitive)], 8, [("size", 2), ("distinct", 0, 2)])
    run = {"sensitive": [sensitive]}
    # rows 0..3 hold {0, 1}, rows 4..7 hold {0, 1}: the middle is allowed, nothing further is
    assert classes_of(*partition([codes], described, conjunction, **run)) == [[0, 1, 2, 3], [4, 5, 6, 7]]
    sensitive[3] = 0
    # 4 | 4 is pure on the left, 3 | 5 (the lower of two as near) too, 5 | 3 too, then 6 | 2 is pure right
    conjunction = Conjunction([np.bincount(sensitive)], 8, [("size", 2), ("distinct", 0, 2)])
    assert len(classes_of(*partition([codes], described, conjunction, **run))) == 1
    sensitive[:] = [0, 1, 0, 0, 1, 1, 1, 1]
    # 4 | 4 is pure on the right, 3 | 5 is allowed, 5 | 3 (as near, but higher) is not
    conjunction = Conjunction([np.bincount(sensitive)], 8, [("size", 2), ("distinct", 0, 2)])
    assert classes_of(*partition([codes], described, conjunction, **run)) == [[0, 1, 2], [3, 4, 5, 6, 7]]


def test_missing_values_stay() -> None:
    """The row with a null is on one side of every cut."""
    assert cut_values([1, 2, 3, 4, None], 2) == [[1, 2], [3, 4, None]]
    assert cut_values([1, 1, None, 2, 2], 2, kind="flat") == [[1, 1], [None, 2, 2]]
    assert cut_values([None, 1, None, 1], 2) == [[1, 1], [None, None]]


def test_a_cut_is_found_beside_a_frequent_value() -> None:
    for nearest in (True, False):
        assert cut_values([1, 1, 1, 2, 3, 1], 2, nearest=nearest) == [[1, 1, 1, 1], [2, 3]]


def test_ranges_are_those_of_the_part() -> None:
    """First a (range 10) is cut first; in its left part a spans 1 of 10 and b 5 of 9, so b is next."""
    a = np.array([0, 0, 1, 1, 10, 10, 10, 10], dtype=np.uint8)
    b = np.array([0, 5, 0, 5, 9, 9, 9, 9], dtype=np.uint8)
    described = attributes_of([11, 10], [1.0, 1.0], [np.arange(11.0), np.arange(10.0)], [None] * 2)
    parts = classes_of(*partition([a, b], described, size_only(2, 8)))
    assert parts == [[0, 2], [1, 3], [4, 5, 6, 7]]


TREE = ([-1, 0, 1, 1, 0, 4, 4], [0, 0, 0, 1, 2, 2, 3], [3, 1, 0, 1, 3, 2, 3], [2, 3, 5, 6])


def test_trees_are_cut_between_children() -> None:
    """{{a, b}, {c, d}} with null: the halves first, then single leaves; null goes with the last child."""
    codes = np.array([0, 0, 1, 1, 2, 2, 3, 3, 4, 4], dtype=np.uint8)
    described = attributes_of([4], [1.0], [None], [TREE])
    parts = classes_of(*partition([codes], described, size_only(2, 10)))
    assert parts == [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9]]
    parts = classes_of(*partition([codes], described, size_only(3, 10)))
    assert parts == [[0, 1, 2, 3], [4, 5, 6, 7, 8, 9]]
    median = classes_of(*partition([codes], described, size_only(3, 10), nearest=False))
    assert median == [list(range(10))]  # {a, b}, {c, d} and null at once: two nulls are too few


def test_a_fan_is_cut_one_leaf_from_the_rest_or_all_at_once() -> None:
    """Root with leaves a, b, c of 2, 3 and 4 rows."""
    codes = np.repeat(np.arange(3, dtype=np.uint8), (2, 3, 4))
    described = attributes_of([3], [1.0], [None], [([-1, 0, 0, 0], [0, 0, 1, 2], [2, 0, 1, 2], [1, 2, 3])])

    def sizes(k: int, nearest: bool) -> np.ndarray:
        return np.diff(partition([codes], described, size_only(k, 9), nearest=nearest)[1])

    assert sizes(4, True).tolist() == [5, 4]
    assert sizes(4, False).tolist() == [9]
    assert sizes(2, False).tolist() == [2, 3, 4]


@pytest.mark.parametrize(
    ("n_children", "n_nulls", "tested"),
    [(2, 0, [4]), (1, 3, [4]), (2, 3, [4, 8, 4]), (3, 0, [4, 8, 4])],
    ids=["two children", "one child and null", "two children and null", "three children"],
)
def test_a_refused_cut_of_a_tree_is_not_tested_again(
    n_children: int, n_nulls: int, tested: list[int]
) -> None:
    sizes: list[int] = []

    def refuse(*arguments: Any) -> int:
        sizes.append(arguments[5])
        return arguments[5] == n  # the whole table

    signature = ctypes.CFUNCTYPE(
        ctypes.c_int32,
        *[ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p],
        *[ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p],
    )
    test = signature(refuse)
    address = ctypes.cast(test, ctypes.c_void_p).value
    d, n = max(n_children, 2), 4 * n_children + n_nulls
    column = np.repeat([*range(n_children), d], [4] * n_children + [n_nulls]).astype(np.uint8)
    tree = [-1] + [0] * d, [0, *range(d)], [d - 1, *range(d)], range(1, d + 1)
    conjunction = Conjunction(
        [np.array([n])], n, [("custom", 0, SimpleNamespace(address=address), np.zeros(1))]
    )
    described = attributes_of([d], [1.0], [None], [tree])
    assert len(partition([column], described, conjunction, sensitive=[np.zeros(n, dtype=np.uint8)])[1]) == 2
    assert sizes == tested


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_tiny_tables(n: int, width: type) -> None:
    column = np.arange(n, dtype=width)
    column.flags.writeable = False
    described = attributes_of([max(n, 1)], [1.0], [np.arange(max(n, 1.0))], [None])
    rows, offsets = partition([column], described, size_only(1, n))
    assert rows.tolist() == list(range(n))
    assert offsets.tolist() == list(range(n + 1))
    rows, offsets = partition([column], described, size_only(7, n))
    assert offsets.tolist() == ([0, n] if n else [0])


def test_equal_rows_and_nulls_only_are_one_class() -> None:
    for code in (0, 1):
        column = np.full(40, code, dtype=np.uint8)
        described = attributes_of([1], [1.0], [None], [None])
        assert partition([column], described, size_only(2, 40))[1].tolist() == [0, 40]
        assert partition([column], described, size_only(2, 40), relaxed=True)[1].tolist() == [0, 40]


def test_wrong_arguments_are_refused() -> None:
    column = np.array([0, 1, 2, 3], dtype=np.uint8)
    described = attributes_of([4], [1.0], [None], [None])
    counts = [np.array([2, 2])]
    conjunction = Conjunction(counts, 4, [("distinct", 0, 2)])
    with pytest.raises(ValueError, match="beyond its domain"):
        partition([column + 2], described, size_only(2, 4))
    with pytest.raises(ValueError, match="uint8, uint16 or uint32"):
        partition([column.astype(np.int64)], described, size_only(2, 4))
    with pytest.raises(ValueError, match="one per row"):
        partition([column], described, conjunction, sensitive=[column[:3] // 2])
    with pytest.raises(ValueError, match="0 sensitive columns"):
        partition([column], described, conjunction)
    with pytest.raises(ValueError, match="beyond its domain"):
        partition([column], described, conjunction, sensitive=[column])
    with pytest.raises(ValueError, match="row number"):
        partition([column], described, size_only(2, 4), rows=np.array([4], dtype=np.uint32))
    with pytest.raises(ValueError, match="2 columns for 1"):
        partition([column, column], described, size_only(2, 4))
    with pytest.raises(ValueError, match="target"):
        partition([column], described, size_only(2, 4), chooser="information-gain")
    with pytest.raises(ValueError, match="chooser"):
        partition([column], described, size_only(2, 4), chooser="deepest")
    with pytest.raises(ValueError, match="positions"):
        attributes_of([4], [1.0], [[0.0, 1.0]], [None])
    with pytest.raises(ValueError, match="tree"):
        attributes_of([5], [1.0], [None], [TREE])
    with pytest.raises(ValueError, match="5 rows for a conjunction on 4"):
        partition([np.zeros(5, dtype=np.uint8)], described, size_only(2, 4))


@pytest.mark.parametrize(
    ("part", "place", "value"),
    [
        *[(0, 0, 0), (0, 1, 1), (0, 2, 3), (0, 2, 7), (0, 3, -1), (0, 4, 1)],  # parents
        *[(1, 0, 1), (1, 1, 1), (1, 6, 2), (2, 0, 2), (2, 0, 4), (2, 1, 2), (2, 5, 3)],  # codes below
        *[(3, 0, 3), (3, 0, -1), (3, 1, 7), (3, 1, 2), (3, 3, 4)],  # leaves
    ],
)
def test_arrays_that_are_no_tree_are_refused(part: int, place: int, value: int) -> None:
    attributes_of([4], [1.0], [None], [TREE])
    broken = [list(numbers) for numbers in TREE]
    broken[part][place] = value
    with pytest.raises(ValueError, match="tree"):
        attributes_of([4], [1.0], [None], [tuple(broken)])
    del broken[part][-1]
    with pytest.raises(ValueError, match="tree"):
        attributes_of([4], [1.0], [None], [tuple(broken)])
    with pytest.raises(ValueError, match="tree"):
        attributes_of([4], [1.0], [None], [([], [], [], [0] * 4)])


def test_a_bare_run_has_no_rows() -> None:
    run = anoncore.partition._Partition()
    run.pack(0, 0)
    assert run.cut([]) == ([], 0)
    for start, stop in ((0, 1), (-1, 0), (1, 0), (1, 1)):
        with pytest.raises(ValueError, match="of 0"):
            run.pack(start, stop)
    for start, size in ((0, 0), (0, 1), (-1, 1), (2**62, 1), (-(2**62), 2**63 - 1)):
        with pytest.raises(ValueError, match="of 0"):
            run.cut([(start, size, 0)])


def encoded_table(
    columns: Sequence[np.ndarray], sensitive: np.ndarray, suppressed: Sequence[int] = ()
) -> Encoded:
    """Ordinal attributes q0, q1, ... and a flat sensitive one, as the encoder would give them."""

    def domain(name: str, codes: np.ndarray, ordered: bool) -> Domain:
        n_values = int(codes.max()) + 1
        positions = np.arange(n_values, dtype=np.float64) if ordered else None
        return Domain(name, "ordinal" if ordered else "nominal", pa.array(range(n_values)), False, positions)

    return Encoded(
        pa.table({"row": range(len(sensitive))}),
        cast(Any, None),
        tuple(domain(f"q{i}", codes, True) for i, codes in enumerate(columns)),
        tuple(columns),
        (domain("s", sensitive, False),),
        (sensitive,),
        np.array(suppressed, dtype=np.uint32),
    )


def task(k: int, n_rows: int, n_threads: int) -> Task:
    return Task(size_only(k, n_rows), np.random.default_rng(0), n_threads)


@pytest.mark.parametrize(
    "method", [Mondrian(), Mondrian(relaxed=True), Mondrian(split=["q1"], cuts="median")]
)
def test_suppressed_rows_belong_to_no_class(method: Mondrian) -> None:
    rng = np.random.default_rng(2)
    columns = [rng.integers(0, 20, 100, dtype=np.uint8) for _ in range(2)]
    suppressed = [3, 50, 99]
    encoded = encoded_table(columns, rng.integers(0, 4, 100, dtype=np.uint8), suppressed)
    classes = mondrian.partition(encoded, method, task(5, 97, 2))
    assert classes.suppressed.tolist() == suppressed
    assert sorted([*classes.rows.tolist(), *suppressed]) == list(range(100))
    assert classes.n_classes > 3
    assert classes.sizes.min() >= 5


def test_relaxed_classes_do_not_depend_on_row_order() -> None:
    rng = np.random.default_rng(3)
    columns = np.array([rng.integers(0, d, 300, dtype=np.uint8) for d in (3, 6)])
    sensitive = rng.integers(0, 4, 300, dtype=np.uint8)

    def multisets(order: np.ndarray) -> list[list[tuple[int, ...]]]:
        encoded = encoded_table(list(columns[:, order]), sensitive[order])
        classes = mondrian.partition(encoded, Mondrian(relaxed=True), task(5, 300, 1))
        described = np.vstack([columns, sensitive])[:, order].T
        parts = classes_of(classes.rows, classes.offsets)
        return [sorted(map(tuple, described[part].tolist())) for part in parts]

    expected = multisets(np.arange(300))
    assert len(expected) > 20
    for _ in range(3):
        assert multisets(rng.permutation(300)) == expected


def test_the_priority_list_is_cut_first() -> None:
    """Both orders of two attributes; k allows two cuts of either."""
    columns = [np.tile(np.arange(4, dtype=np.uint8), 4), np.repeat(np.arange(4, dtype=np.uint8), 4)]
    encoded = encoded_table(columns, np.zeros(16, dtype=np.uint8))
    for name, column in (("q0", columns[0]), ("q1", columns[1])):
        classes = mondrian.partition(encoded, Mondrian(split=[name]), task(4, 16, 1))
        assert [set(column[part].tolist()) for part in classes_of(classes.rows, classes.offsets)] == [
            {0},
            {1},
            {2},
            {3},
        ]


def test_information_gain_cuts_what_tells_the_target() -> None:
    columns = [np.tile(np.arange(4, dtype=np.uint8), 4), np.repeat(np.arange(4, dtype=np.uint8), 4)]
    encoded = encoded_table(columns, np.zeros(16, dtype=np.uint8))
    method = Mondrian(split="information-gain", target="t")
    for column in columns:
        target = (column >= 2).astype(np.uint8)
        encoded = replace(encoded, table=pa.table({"t": target}))
        classes = mondrian.partition(encoded, method, task(8, 16, 1))
        parts = classes_of(classes.rows, classes.offsets)
        assert [set(target[part].tolist()) for part in parts] == [{0}, {1}]


@pytest.mark.parametrize(
    ("cuts", "parts"), [("median", [[0, 0, 0, 1, 1], [1, 1, 1]]), ("medians", [[0, 0, 0], [1, 1, 1, 1, 1]])]
)
def test_of_two_medians_the_one_that_tells_more_is_cut(cuts: str, parts: list[list[int]]) -> None:
    # the median is 2: only the cut before it parts the rows whose target is 0 from the others
    column, target = np.array([0, 0, 0, 2, 2, 3, 3, 3], np.uint8), np.array([0, 0, 0, 1, 1, 1, 1, 1])
    encoded = encoded_table([column], np.zeros(8, dtype=np.uint8))
    encoded = replace(encoded, table=pa.table({"t": target}))
    method = Mondrian(split="information-gain", target="t", cuts=cuts)
    classes = mondrian.partition(encoded, method, task(3, 8, 1))
    assert [target[part].tolist() for part in classes_of(classes.rows, classes.offsets)] == parts


@pytest.mark.parametrize(
    "more", [{}, {"nearest": False}, {"nearest": True}, {"nearest": False, "relaxed": True}]
)
def test_rival_cuts_are_weighed_by_a_target(more: dict[str, bool]) -> None:
    column = np.arange(4, dtype=np.uint8)
    gain = {} if more == {"nearest": False} else {"chooser": "information-gain", "target": column}
    with pytest.raises(ValueError, match="rival cuts are strict ones about the median"):
        partition(
            [column], attributes_of([4], [1], [None], [None]), size_only(1, 4), rival=True, **gain, **more
        )


def test_wrong_methods_are_refused() -> None:
    for arguments in (
        {"split": "deepest"},
        {"split": []},
        {"split": ["age", "age"]},
        {"cuts": "middle"},
        {"split": "information-gain"},
        {"target": "income"},
        {"split": 5},
        {"split": None},
        {"split": "information-gain", "target": 5},
        {"cuts": "medians"},
        {"cuts": "medians", "split": "information-gain", "target": "t", "relaxed": True},
    ):
        with pytest.raises(UsageError):
            Mondrian(**arguments)
    encoded = encoded_table([np.zeros(4, dtype=np.uint8)], np.zeros(4, dtype=np.uint8))
    with pytest.raises(UsageError, match="not a quasi-identifier"):
        mondrian.partition(encoded, Mondrian(split=["age"]), task(2, 4, 1))
    method = Mondrian(split="information-gain", target="q0")
    with pytest.raises(UsageError, match="is a quasi-identifier"):
        mondrian.partition(encoded, method, task(2, 4, 1))
    assert hash(Mondrian(split=["q0"])) == hash(Mondrian(split=("q0",)))


@pytest.mark.slow
def test_no_rows_of_a_record_of_megabytes() -> None:
    # An array of no elements is freed as it was allocated, however large one would be.
    m = 1 << 20
    attributes = attributes_of([1] * m, [1.0] * m, [None] * m, [None] * m)
    rows, offsets = partition([np.empty(0, np.uint32)] * m, attributes, Conjunction([], 0, [("size", 2)]))
    assert (rows.tolist(), offsets.tolist()) == ([], [0])
