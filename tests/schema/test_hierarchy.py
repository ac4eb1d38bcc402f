# SPDX-License-Identifier: Apache-2.0
"""Trees and levels against answers worked out by hand, and every way in which a hierarchy can be wrong."""

from __future__ import annotations

import datetime as dt
import math
import os
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anon.encoding.domain import Domain
from anon.encoding.table import encode
from anon.errors import DataError, UsageError
from anon.schema.attribute import nominal, numeric
from anon.schema.hierarchy.declared import (
    Hierarchy,
    as_hierarchy,
    dates,
    hierarchy_from_dict,
    intervals,
    prefix,
)
from anon.schema.hierarchy.levels import Levels
from anon.schema.hierarchy.tree import Tree, lca
from anon.schema.schema import Schema


def tree_on(labels: list[str], hierarchy: Any) -> Tree:
    tree = (
        encode(pa.table({"q": pa.array(labels, pa.string())}), Schema([nominal("q", hierarchy)]))
        .quasi[0]
        .tree
    )
    assert tree is not None
    return tree


def levels_on(values: Any, hierarchy: Any) -> tuple[Levels, Domain]:
    column = values if isinstance(values, pa.Array) else pa.array(values)
    domain = encode(pa.table({"q": column}), Schema([numeric("q", hierarchy)])).quasi[0]
    assert domain.levels is not None
    return domain.levels, domain


def sets(levels: Levels, domain: Domain, level: int) -> dict[Any, str | None]:
    """Value -> label of its set at a level (None: not listed)."""
    labels = [levels.labels[s] if s >= 0 else None for s in levels.of_code[level]]
    return dict(zip(domain.values.to_pylist(), labels, strict=True))


def nested(tree: Tree, node: int = 0) -> Any:
    """A tree as nested tuples of labels."""
    below = [v for v in range(len(tree.labels)) if tree.parent[v] == node]
    return (tree.labels[node], *(nested(tree, v) for v in below)) if below else tree.labels[node]


def write(directory: Path, text: str | bytes) -> Path:
    path = directory / "hierarchy.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


# --- Trees ---------------------------------------------------------------------------------------

EDUCATION = {
    "*": {
        "Higher": {"Undergraduate": ["Bachelors", "Some-college"], "Graduate": ["Masters"]},
        "Secondary": ["HS-grad", "11th"],
        "None": None,
    }
}


def test_a_tree_is_pruned_to_the_domain_and_keeps_the_hierarchys_order() -> None:
    tree = tree_on(["11th", "Masters", "Some-college", "Bachelors"], EDUCATION)
    assert nested(tree) == (
        "*",
        ("Higher", ("Undergraduate", "Bachelors", "Some-college"), ("Graduate", "Masters")),
        ("Secondary", "11th"),
    )
    assert tree.labels == (
        "*",
        "Higher",
        "Undergraduate",
        "Bachelors",
        "Some-college",
        "Graduate",
        "Masters",
        "Secondary",
        "11th",
    )
    assert tree.parent.tolist() == [-1, 0, 1, 2, 2, 1, 5, 0, 7]
    assert tree.first.tolist() == [0, 0, 0, 0, 1, 2, 2, 3, 3]
    assert tree.last.tolist() == [3, 2, 1, 0, 1, 2, 2, 3, 3]
    assert tree.depth.tolist() == [0, 1, 2, 3, 3, 2, 3, 1, 2]
    assert tree.leaf.tolist() == [3, 4, 6, 8]
    assert tree.height == 3
    assert all(a.dtype == np.int32 for a in (tree.parent, tree.first, tree.last, tree.depth, tree.leaf))
    assert repr(tree) == "Tree(nodes=9, leaves=4, height=3)"


def test_the_lowest_node_that_holds_the_whole_domain_is_the_root() -> None:
    assert nested(tree_on(["Bachelors", "Some-college"], EDUCATION)) == (
        "Undergraduate",
        "Bachelors",
        "Some-college",
    )
    assert nested(tree_on(["Masters"], EDUCATION)) == "Masters"
    assert tree_on(["Masters"], EDUCATION).height == 0


def test_lca() -> None:
    tree = tree_on(["11th", "Masters", "Some-college", "Bachelors"], EDUCATION)
    assert [tree.labels[v] for v in lca(tree, [0, 0, 0, 3, 1], [0, 1, 2, 3, 3])] == [
        "Bachelors",
        "Undergraduate",
        "Higher",
        "11th",
        "*",
    ]
    assert lca(tree, np.array([0], np.uint8), np.array([2], np.uint8)).dtype == np.int32
    assert lca(tree, [], []).shape == (0,)
    lone = tree_on(["Masters"], EDUCATION)
    assert lca(lone, 0, 0) == 0


@settings(max_examples=60)
@given(st.data())
def test_trees_of_random_paths(data: Any) -> None:
    """Ranges, parents and LCAs agree with sets of leaves, for any tree and any part of its leaves."""
    n = data.draw(st.integers(1, 12))
    groups = [[f"g{level}.{data.draw(st.integers(0, 2))}" for level in (1, 2)] for _ in range(n)]
    rows = [(f"v{i}", f"{b}/{a}", b, "*") for i, (a, b) in enumerate(groups)]
    kept = data.draw(st.lists(st.sampled_from([row[0] for row in rows]), min_size=1, unique=True))
    root: dict[str, Any] = {}
    for leaf, a, b, _ in rows:
        root.setdefault(b, {}).setdefault(a, []).append(leaf)
    domain = encode(pa.table({"q": kept}), Schema([nominal("q", {"*": root})])).quasi[0]
    tree, leaves = domain.tree, domain.values.to_pylist()
    assert tree is not None
    holders = {row[0]: set(row) for row in rows}
    for v, label in enumerate(tree.labels):
        below = set(leaves[tree.first[v] : tree.last[v] + 1])
        assert below == {leaf for leaf in leaves if label in holders[leaf]}
        if v:
            assert tree.parent[v] < v
            assert tree.depth[v] == tree.depth[tree.parent[v]] + 1
    assert [tree.labels[v] for v in tree.leaf] == leaves
    low = data.draw(st.integers(0, len(leaves) - 1))
    high = data.draw(st.integers(low, len(leaves) - 1))
    holding = [v for v in range(len(tree.labels)) if tree.first[v] <= low and high <= tree.last[v]]
    deepest = max(holding, key=lambda v: int(tree.depth[v]))
    assert lca(tree, low, high) == deepest


def test_prefixes_of_postcodes() -> None:
    tree = tree_on(["02139", "02138", "02215", "10001"], prefix(4, 3, 2))
    assert nested(tree) == (
        "*",
        ("02", ("021", ("0213", "02138", "02139")), ("022", ("0221", "02215"))),
        ("10", ("100", ("1000", "10001"))),
    )
    assert nested(tree_on(["ab", "ac"], prefix(1))) == ("a", "ab", "ac")


def test_a_string_shorter_than_the_prefix_is_its_own_node() -> None:
    assert nested(tree_on(["0", "02", "0213", ""], prefix(3, 1))) == (
        "*",
        "",
        ("0…", "0", "02", ("021", "0213")),
    )


def test_a_prefix_node_never_takes_the_label_of_a_value() -> None:
    """A00 the value and A00 the group must not read the same in a release (trap 27)."""
    tree = tree_on(["A00", "A00.1", "B", "B2", "B…"], prefix(3, 1))
    assert len(set(tree.labels)) == len(tree.labels)
    assert nested(tree) == ("*", ("A", ("A00…", "A00", "A00.1")), ("B……", "B", "B2", "B…"))
    assert nested(tree_on(["*", "a"], prefix(1))) == ("**", "*", "a")


def test_prefixes_do_not_depend_on_the_order_in_which_lengths_are_given() -> None:
    labels = ["02139", "02138", "2139"]
    assert nested(tree_on(labels, prefix(2, 4, 3))) == nested(tree_on(labels, prefix(4, 3, 2)))


# --- CSV in ARX's format -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "a;x;*\nb;x;*\nc;y;*\n",
        "a,x,*\nb,x,*\nc,y,*",
        "value;group;all\na;x;*\nb;x;*\nc;y;*\n",
        "\ufeffa;x;*\r\nb;x;*\r\n\r\nc;y;*\r\n",
        '"a";"x";"*"\nb;x;*\nc;y;*\nunused;y;*\n',
        "a;a;x;*\nb;b;x;*\nc;y;*;*\n",  # equal neighbors are one node
        "a;x;*\na;x;*\nb;x;*\nc;y;*\n",
    ],
)
def test_csv_in_every_dress(tmp_path: Path, text: str) -> None:
    assert nested(tree_on(["a", "b", "c"], write(tmp_path, text))) == ("*", ("x", "a", "b"), ("y", "c"))


def test_csv_labels_may_hold_commas(tmp_path: Path) -> None:
    tree = tree_on(["Paris", "Paris, TX"], write(tmp_path, "Paris;France;*\nParis, TX;USA;*\n"))
    assert nested(tree) == ("*", ("France", "Paris"), ("USA", "Paris, TX"))
    tree = tree_on(["Paris", "Paris, TX"], write(tmp_path, 'Paris,France,*\n"Paris, TX",USA,*\n'))
    assert nested(tree) == ("*", ("France", "Paris"), ("USA", "Paris, TX"))


def test_a_first_line_that_is_data_is_no_header(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="2 roots \\('all', '\\*'\\)"):
        tree_on(["a", "b"], write(tmp_path, "a;x;all\nb;y;*\n"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1;x;*\n2;x;*\n1;y;*\n", "label '1' has two parents, 'x' and 'y'"),
        (
            "10;[10,20[;[0,20[;*\n11;[10,20[;[10,30[;*\n",
            r"label '\[10,20\[' has two parents, '\[0,20\[' and '\[10,30\['",
        ),
        ("1;x;*\nx;y;*\n", "label 'x' is a leaf and also a node above '1'"),
        ("1;1;*\n2;1;*\n", "label '1' is a leaf and also a node above '2'"),
        ("1;x;y;x\n", "label 'x' stands above itself"),
        ("1;x;y\n2;x;z\n", "label 'x' has two parents, 'y' and 'z'"),
        ("1;x\n2;y\n", r"2 roots \('x', 'y'\); put one label"),
        ("1\n2\n", "2 roots"),
        ("1;x;*\n2;*\n", "line 2: 2 fields where the first line has 3"),
        ("1;x;*;\n2;x;*\n", "line 2: 3 fields where the first line has 4"),
        ("", "is empty"),
        ("\n\n", "is empty"),
        ('1;"x;*\n', "line 1: "),
        (b"1;\xff;*\n", r"is not UTF-8 \(byte 2\)"),
    ],
)
@pytest.mark.parametrize("kind", ["nominal", "numeric"])
def test_csv_that_is_no_hierarchy_is_refused(
    tmp_path: Path, text: str | bytes, message: str, kind: str
) -> None:
    """Trap 8 and its whole kind, for trees and for the levels of a numeric attribute."""
    path = write(tmp_path, text)
    attribute, column = (nominal("q", path), ["1"]) if kind == "nominal" else (numeric("q", path), [1])
    with pytest.raises(DataError, match=message) as caught:
        encode(pa.table({"q": column}), Schema([attribute]))
    assert "'q'" in str(caught.value)
    assert str(path) in str(caught.value)
    assert caught.value.column == "q"


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"'q' .*nowhere.csv.* cannot be read: No such file"):
        tree_on(["a"], tmp_path / "nowhere.csv")
    with pytest.raises(DataError, match="cannot be read: it is no regular file"):
        tree_on(["a"], tmp_path)


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ({"x": ["a"], "y": ["b"]}, r"2 roots \('x', 'y'\)"),
        ({"*": {"x": ["a"], "y": ["a"]}}, "label 'a' has two parents, 'x' and 'y'"),
        ({"*": {"x": {"y": ["a"]}, "z": {"y": ["b"]}}}, "label 'y' has two parents, 'x' and 'z'"),
        ({"*": {"a": ["b"], "c": ["a"]}}, "'a' is a leaf and also a node above 'b'"),
        ({"*": {"x": []}}, "empty list"),
        ({"*": {}}, "empty dict"),
        ({}, "empty dict"),
    ],
)
def test_a_dict_that_is_no_hierarchy_is_refused(tree: Any, message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        tree_on(["a"], tree)
    assert caught.value.column == "q"


def test_a_dict_of_things_that_are_no_labels_is_refused() -> None:
    with pytest.raises(UsageError, match="'q': object is not the type of a label"):
        tree_on(["a"], {"*": [object()]})


def test_a_single_leaf_needs_no_list() -> None:
    assert nested(tree_on(["a", "b", "c"], {"*": {"x": "a", "y": ["b"], "c": None}})) == (
        "*",
        ("x", "a"),
        ("y", "b"),
        "c",
    )


def test_labels_of_a_dict_are_what_the_values_are_called() -> None:
    column = pa.array([1.0, 2.5])
    domain = encode(pa.table({"q": column}), Schema([nominal("q", {"*": [2.5, 1.0]})])).quasi[0]
    assert domain.values.to_pylist() == ["2.5", "1"]
    domain = encode(pa.table({"q": [True, False]}), Schema([nominal("q", {"*": [True, False]})])).quasi[0]
    assert domain.values.to_pylist() == ["true", "false"]


# --- Levels --------------------------------------------------------------------------------------


def test_intervals_are_half_open_and_aligned_at_zero() -> None:
    """Trap 9."""
    levels, domain = levels_on([0, 19, 20, 21, 100, -5, 101], intervals(10))
    assert sets(levels, domain, 0) == {
        -5: "[-10, 0)",
        0: "[0, 10)",
        19: "[10, 20)",
        20: "[20, 30)",
        21: "[20, 30)",
        100: "[100, 110)",
        101: "[100, 110)",
    }
    assert levels.lower.tolist() == [0, 5, 15, 25, 105]  # lattice points from -5 on, kept within the domain
    assert levels.upper.tolist() == [4, 14, 24, 34, 106]


def test_the_smallest_listed_interval_that_holds_a_class() -> None:
    levels, _ = levels_on([3, 4, 7, 12, 19, 20, 49, 51], intervals(20, 5, 50))
    low, high = [0, 0, 0, 0, 4, 5, 0, 0], [0, 1, 2, 4, 4, 6, 6, 7]
    labels = [levels.labels[s] if s >= 0 else "*" for s in levels.interval_of(low, high)]
    assert labels == ["[0, 5)", "[0, 5)", "[0, 20)", "[0, 20)", "[15, 20)", "[0, 50)", "[0, 50)", "*"]
    assert levels.interval_of(np.array([[0]], np.uint8), np.array([[1]], np.uint8)).tolist() == [[0]]


def test_an_interval_that_holds_the_whole_domain_is_not_listed() -> None:
    levels, _ = levels_on([3, 4, 7], intervals(5, 100))
    assert levels.labels == ("[0, 5)", "[5, 10)")
    assert levels.interval_of([0, 1], [1, 2]).tolist() == [0, -1]
    # [5, 10) holds all of 5, 6, 7, so that [6, 12) is the smallest listed for 6, 7
    levels, _ = levels_on([5, 6, 7], intervals(5, 6))
    assert levels.labels == ("[0, 6)", "[6, 12)")
    assert levels.interval_of([1, 0, 0], [2, 0, 2]).tolist() == [1, 0, -1]


@pytest.mark.parametrize(
    ("values", "widths", "labels"),
    [
        ([0.3, 0.7, -0.05, 7.0], (0.1,), ["[-0.1, 0)", "[0.3, 0.4)", "[0.7, 0.8)", "[7, 7.1)"]),
        (pa.array([0.3, 0.7], pa.float32()), (0.1,), ["[0.3, 0.4)", "[0.7, 0.8)"]),
        ([Decimal("0.30"), Decimal("1.25")], (0.1,), ["[0.3, 0.4)", "[1.2, 1.3)"]),
        (
            pa.array([Decimal("100"), Decimal("1200")], pa.decimal128(5, -2)),
            (250,),
            ["[0, 250)", "[1000, 1250)"],
        ),
        (
            pa.array([2**64 - 1, 5], pa.uint64()),
            (10,),
            ["[0, 10)", "[18446744073709551610, 18446744073709551620)"],
        ),
        ([-(2**63), 5], (10,), ["[-9223372036854775810, -9223372036854775800)", "[0, 10)"]),
        ([1, 2], (0.5,), ["[1, 1.5)", "[2, 2.5)"]),
        ([1e308, 5.0], (1e308,), [f"[0, 1{'0' * 308})", f"[1{'0' * 308}, 2{'0' * 308})"]),
        (pa.array([3e38, 5], pa.float32()), (1e38,), [f"[0, 1{'0' * 38})", f"[3{'0' * 38}, 4{'0' * 38})"]),
        ([1e22, 5.0], (10,), ["[0, 10)", "[10000000000000000000000, 10000000000000000000010)"]),
        (
            [dt.date(1969, 12, 31), dt.date(1970, 1, 7), dt.date(1970, 1, 8)],
            (7,),
            ["[1969-12-25, 1970-01-01)", "[1970-01-01, 1970-01-08)", "[1970-01-08, 1970-01-15)"],
        ),
        (
            [dt.datetime(2020, 1, 1, 0, 59, 59), dt.datetime(2020, 1, 1, 1)],
            (3600,),
            ["[2020-01-01 00:00:00, 2020-01-01 01:00:00)", "[2020-01-01 01:00:00, 2020-01-01 02:00:00)"],
        ),
        (
            pa.array([0, 300], pa.timestamp("ms", "UTC")),
            (0.25,),
            [
                "[1970-01-01 00:00:00Z, 1970-01-01 00:00:00.25Z)",
                "[1970-01-01 00:00:00.25Z, 1970-01-01 00:00:00.5Z)",
            ],
        ),
        ([dt.time(8, 30), dt.time(23, 30)], (3600,), ["[08:00:00, 09:00:00)", "[23:00:00, 24:00:00)"]),
        (pa.array([59, 60], pa.duration("s")), (60,), ["[0, 60)", "[60, 120)"]),
    ],
)
def test_intervals_of_every_numeric_type(values: Any, widths: Any, labels: list[str]) -> None:
    levels, _ = levels_on(values, intervals(*widths))
    assert list(levels.labels) == labels


@settings(max_examples=100)
@given(
    st.lists(
        st.one_of(st.integers(-400, 400).map(lambda i: i / 20), st.floats(-1e17, 1e17)),
        min_size=2,
        unique=True,
    ),
    st.sampled_from([1, 3, 0.1, 0.05, 2.5, 1e-9]),
)
def test_a_float_lies_between_the_floats_nearest_to_the_ends_of_its_interval(
    values: list[float], width: float
) -> None:
    levels, domain = levels_on(values, intervals(width))
    for value, label in sets(levels, domain, 0).items():
        if label is not None:
            start, stop = (Fraction(end) for end in label[1:-1].split(", "))
            nearest = float(start) <= value < float(stop)
            assert nearest if math.ulp(value) < width / 8 else nearest or start <= Fraction(value) < stop
            assert stop - start == Fraction(str(width))
            assert (start / Fraction(str(width))).denominator == 1


@settings(max_examples=50)
@given(
    st.lists(st.integers(-50, 50), min_size=1),
    st.lists(st.sampled_from([1, 2, 3, 5, 7, 20]), min_size=1, unique=True),
    st.data(),
)
def test_interval_of_is_the_narrowest_listed(values: list[int], widths: list[int], data: Any) -> None:
    levels, domain = levels_on(values, intervals(*widths))
    known = domain.values.to_pylist()
    low = data.draw(st.integers(0, len(known) - 1))
    high = data.draw(st.integers(low, len(known) - 1))
    fitting = [
        w for w in sorted(widths) if known[low] // w == known[high] // w and known[0] // w != known[-1] // w
    ]
    found = int(levels.interval_of(low, high))
    if fitting:
        start = known[low] // fitting[0] * fitting[0]
        assert levels.labels[found] == f"[{start}, {start + fitting[0]})"
        origin, reach = known[0], known[-1] - known[0]
        assert levels.lower[found] == max(0, start - origin)
        assert levels.upper[found] == min(reach, start + fitting[0] - 1 - origin)
    else:
        assert found == -1


@pytest.mark.parametrize(
    "values",
    [
        [dt.date(2020, 1, 15), dt.date(2020, 3, 31), dt.date(2020, 4, 1), dt.date(2020, 12, 31)],
        [
            dt.datetime(2020, 1, 15),
            dt.datetime(2020, 3, 31, 23, 59, 59),
            dt.datetime(2020, 4, 1),
            dt.datetime(2020, 12, 31),
        ],
    ],
)
def test_quarters(values: list[Any]) -> None:
    """Trap 10."""
    levels, domain = levels_on(values, dates("quarter", "month"))
    assert list(sets(levels, domain, 1).values()) == ["2020-Q1", "2020-Q1", "2020-Q2", "2020-Q4"]
    assert list(sets(levels, domain, 0).values()) == ["2020-01", "2020-03", "2020-04", "2020-12"]
    assert levels.labels[int(levels.interval_of(0, 1))] == "2020-Q1"


def test_years_and_decades_also_before_1970() -> None:
    values = [
        dt.date(1899, 12, 31),
        dt.date(1969, 12, 31),
        dt.date(1970, 1, 1),
        dt.date(2009, 6, 1),
        dt.date(2010, 1, 1),
    ]
    levels, domain = levels_on(values, dates("year", "decade"))
    assert list(sets(levels, domain, 0).values()) == ["1899", "1969", "1970", "2009", "2010"]
    assert list(sets(levels, domain, 1).values()) == ["1890s", "1960s", "1970s", "2000s", "2010s"]


def test_calendar_units_cover_their_days() -> None:
    levels, _ = levels_on([dt.date(2020, 1, 20), dt.date(2020, 2, 10), dt.date(2020, 3, 1)], dates("month"))
    # positions count days from 20 January: January ends at 11, February is 12..40, March is cut at 41
    assert levels.lower.tolist() == [0, 12, 41]
    assert levels.upper.tolist() == [11, 40, 41]


def test_months_of_zoned_timestamps_are_local() -> None:
    new_year = dt.datetime(2020, 1, 1, 0, 30, tzinfo=dt.timezone(dt.timedelta(hours=1)))
    values = pa.array([new_year, new_year - dt.timedelta(hours=1)], pa.timestamp("s", "Europe/Berlin"))
    levels, domain = levels_on(values, dates("year"))
    assert list(sets(levels, domain, 0).values()) == ["2019", "2020"]
    assert levels.upper.tolist() == [1800.0, 3600.0]  # 23:30 to midnight; 0:30 is the domain's end


def test_labels_of_a_csv_file_name_leaf_sets_and_are_not_read(tmp_path: Path) -> None:
    path = write(tmp_path, "age;group;any\n1;even-5;*\n2;odd;*\n3;even-5;*\n4;even-5;*\n99;odd;*\n")
    levels, domain = levels_on([1, 2, 3, 4], path)
    assert sets(levels, domain, 1) == {1: "even-5", 2: "odd", 3: "even-5", 4: "even-5"}
    found = levels.interval_of([0, 0, 2, 2, 0], [0, 1, 2, 3, 3])
    assert [levels.labels[s] if s >= 0 else "*" for s in found] == ["1", "*", "3", "even-5", "*"]
    at = levels.labels.index("even-5")
    assert (levels.lower[at], levels.upper[at]) == (0, 3)


@pytest.mark.parametrize(
    ("values", "leaves"),
    [
        ([1, 20], ["1", "20", "1.5", "300000000000000000000"]),
        (pa.array([1, 20], pa.uint8()), ["01", "20.0", "-5", "300"]),
        ([0.1, 20.0], ["0.1", "2e1", "1e400"]),
        (pa.array([0.1, 20.0], pa.float32()), ["0.1", "20"]),
        ([Decimal("0.10"), Decimal("20.00")], ["0.1", "20", "0.123"]),
        ([dt.date(2020, 1, 1), dt.date(2020, 2, 1)], ["2020-01-01", "2020-02-01"]),
        (pa.array([dt.datetime(2020, 1, 1, 1, 2, 3, 4000)], pa.timestamp("ms")), ["2020-01-01 01:02:03.004"]),
    ],
)
def test_leaves_are_read_as_the_columns_numbers(tmp_path: Path, values: Any, leaves: list[str]) -> None:
    levels, domain = levels_on(
        values, write(tmp_path, "".join(f"{leaf};g{i};*\n" for i, leaf in enumerate(leaves)))
    )
    if len(domain.values) > 1:
        assert list(sets(levels, domain, 1).values()) == ["g0", "g1"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1;a;*\ntwo;a;*\n3;b;*\n", "the leaf 'two' is no int64"),
        ("1;a;*\n01;a;*\n", "the leaves '1' and '01' are one number"),
        ("1;a;*\nnan;a;*\n", "the leaf 'nan' is no int64"),
    ],
)
def test_leaves_that_are_no_numbers_are_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        levels_on([1], write(tmp_path, text))
    assert caught.value.column == "q"


def test_leaves_that_are_no_dates_are_refused() -> None:
    with pytest.raises(DataError, match="the leaf 'soon' is no date32"):
        levels_on([dt.date(2020, 1, 1)], {"*": ["2020-01-01", "soon"]})


@pytest.mark.parametrize(
    ("values", "hierarchy", "message"),
    [
        ([1, 2], dates("year"), "dates\\(\\) is for dates and timestamps, not for int64"),
        ([dt.time(8)], dates("year"), "not for time64"),
        ([dt.date(2020, 1, 1)], intervals(0.5), "whole days"),
        ([dt.datetime(2020, 1, 1)], intervals(1e-9), "resolution"),
    ],
)
def test_levels_that_do_not_fit_the_type_are_refused(values: Any, hierarchy: Hierarchy, message: str) -> None:
    with pytest.raises(UsageError, match=f"'q'.*{message}"):
        levels_on(values, hierarchy)


@pytest.mark.parametrize("value", [5, 5.5, dt.date(2020, 1, 1)])
def test_a_constant_column_has_levels_without_sets(value: Any) -> None:
    levels, _ = levels_on([value, value], intervals(10))
    assert levels.labels == ()
    assert levels.interval_of([0], [0]).tolist() == [-1]


def chain(n_levels: int) -> Any:
    """A dict of so many levels above its one leaf."""
    node: Any = ["a"]
    for level in range(n_levels):
        node = {str(level): node}
    return node


ITSELF: dict[str, Any] = {"x": ["a"]}
ITSELF |= {"y": ITSELF, "z": ITSELF}


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: intervals(),
        lambda: intervals(0),
        lambda: intervals(-1),
        lambda: intervals(float("inf")),
        lambda: intervals(5, 5),
        lambda: intervals("5"),
        lambda: intervals(True),
        lambda: prefix(),
        lambda: prefix(0),
        lambda: prefix(1.5),
        lambda: prefix(2, 2),
        lambda: dates(),
        lambda: dates("week"),
        lambda: dates("year", "year"),
        lambda: as_hierarchy(5, "q"),
        lambda: as_hierarchy("", "q"),
        lambda: hierarchy_from_dict("", "q"),
        lambda: intervals(10**400),
        lambda: as_hierarchy(chain(5000), "q"),
        lambda: hierarchy_from_dict({"tree": chain(101)}, "q"),
        lambda: as_hierarchy(ITSELF, "q"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(wrong: Any) -> None:
    with pytest.raises(UsageError):
        wrong()


def test_a_dict_may_have_a_hundred_levels() -> None:
    hierarchy = as_hierarchy(chain(99), "q")
    assert tree_on(["a"], hierarchy).labels == ("a",)


@pytest.mark.parametrize("path", ["/dev/zero", "fifo"])
def test_a_file_that_never_ends_is_refused(tmp_path: Path, path: str) -> None:
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(DataError, match=r"'q' .* it is no regular file"):
        tree_on(["a"], tmp_path / path)
    with pytest.raises(DataError, match="null character"):
        tree_on(["a"], "a\0b")


@pytest.mark.parametrize("at", [0, 1])
def test_a_field_too_long_for_a_label_is_refused(tmp_path: Path, at: int) -> None:
    lines = ["a;*", "b;*"]
    lines[at] = "a" * 200_000 + ";*"
    with pytest.raises(DataError, match=f"line {at + 1}: field larger than field limit"):
        tree_on(["a"], write(tmp_path, "\n".join(lines)))


def test_a_header_above_several_roots_is_spoken_of(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"3 roots .*; if its first line is a header, delete that line"):
        tree_on(["a", "b"], write(tmp_path, "town;country\na;x\nb;y\na2;x\nb2;y\n"))
    with pytest.raises(DataError, match=r"2 roots .* above all of them$"):
        tree_on(["a", "b"], write(tmp_path, "a;x\na2;x\nb;y\nb2;y\n"))


@pytest.mark.parametrize("leaf", ["1e999999999", "-1e999999999", "1e-999999999"])
@pytest.mark.parametrize(
    "values", [pa.array([1, 2]), pa.array([1.0, 2.0]), pa.array([1, 2]).cast(pa.decimal128(30, 2))]
)
def test_a_leaf_beyond_every_number_is_no_value_of_the_column(
    tmp_path: Path, values: pa.Array, leaf: str
) -> None:
    levels, domain = levels_on(values, write(tmp_path, f"1;low;*\n{leaf};low;*\n2;high;*\n"))
    assert sets(levels, domain, 1) == {1: "low", 2: "high"}


@pytest.mark.parametrize(
    ("values", "hierarchy"),
    [
        (pa.array([1.0, 1e300]), intervals(1e-320)),
        (pa.array([dt.date(2020, 1, 1), dt.date(2021, 1, 1)]), intervals(1e308)),
        (pa.array([1, 2], pa.timestamp("s")), intervals(1e30)),
        (pa.array([Decimal("1.5"), Decimal("-2.5")]), intervals(1e308)),
    ],
    ids=str,
)
def test_levels_beyond_the_type_are_refused(values: pa.Array, hierarchy: Hierarchy) -> None:
    with pytest.raises(UsageError, match=r"'q': .* is too fine or too coarse for its"):
        levels_on(values, hierarchy)


@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_calendar_units_may_reach_beyond_the_type(zone: str | None) -> None:
    values = pa.array([-(2**63), 0, 2**63 - 1], pa.timestamp("ns", zone))
    levels, domain = levels_on(values, dates("decade"))
    assert levels.labels == ("1670s", "1970s", "2260s")
    assert domain.positions is not None
    assert levels.lower[0] == 0
    assert levels.upper[0] < domain.positions[1] < levels.upper[1]
    assert levels.lower[2] < levels.upper[2] == domain.positions[-1]
