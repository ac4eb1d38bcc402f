# SPDX-License-Identifier: Apache-2.0
"""Microaggregation: its groups as a release, and what it refuses."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace
from pathlib import Path
from statistics import median_low
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anon
from anon.command.entry import main
from anon.errors import DataError, InfeasibleError, RecheckError, UsageError
from anon.release.recheck import recheck
from reference import mdav as twin

pytestmark = pytest.mark.filterwarnings("ignore::anon.PrivacyWarning")

X = [1, 2, 3, 10, 11, 12, 20, 21, 30, 31, 32]
Y = [1, 3, 2, 10, 12, 11, 5, 6, 30, 28, 33]
TWO = anon.Schema(["x", "y"])


def masked(table: Any, schema: anon.Schema, k: int, **more: Any) -> anon.Release:
    method = more.pop("method", anon.Microaggregation())
    require = [anon.KAnonymity(k), *more.pop("require", [])]
    return anon.anonymize(table, schema, require=require, method=method, **{"numeric": "mean", **more})


def groups_of(release: anon.Release) -> set[frozenset[int]]:
    """The classes, as sets of row numbers."""
    parts = np.split(release.classes.rows, release.classes.offsets[1:-1])
    return {frozenset(part.tolist()) for part in parts}


@pytest.mark.parametrize(
    ("k", "groups"),
    [
        (3, [[9, 10, 11], [1, 2, 3], [4, 5, 6, 7, 8]]),
        (2, [[11, 9], [1, 2], [10, 8], [3, 4], [5, 6, 7]]),
    ],
)
@pytest.mark.parametrize("ties", ["rank", "input"])
def test_the_groups_of_the_definition(k: int, groups: list[list[int]], ties: Any) -> None:
    release = masked({"x": X, "y": Y}, TWO, k, method=anon.Microaggregation(ties=ties))
    assert groups_of(release) == {frozenset(row - 1 for row in group) for group in groups}
    assert release.privacy().k == k


@given(st.data())
@settings(max_examples=40)
def test_a_release_shows_the_twins_groups(data: st.DataObject) -> None:
    row = st.tuples(st.integers(0, 9), st.integers(0, 4))
    rows = data.draw(st.lists(row, min_size=2, max_size=40))
    k = data.draw(st.integers(1, min(5, len(rows))))
    rows.sort()
    columns = [[each[a] for each in rows] for a in (0, 1)]
    points = np.array(rows, np.float64)
    varied = [a for a in (0, 1) if points[:, a].std() > 0] or [0]
    weights = [1 / points[:, a].var() if points[:, a].std() > 0 else 1.0 for a in varied]
    groups = twin.mdav(points[:, varied].tolist(), weights, k)
    numeric = data.draw(st.sampled_from(["mean", "median"]))
    middle = np.mean if numeric == "mean" else median_low
    shown: Counter[tuple[float, ...]] = Counter()
    for group in groups:
        shown[tuple(float(middle([column[i] for i in group])) for column in columns)] += len(group)
    table = masked(dict(zip("xy", columns, strict=True)), TWO, k, numeric=numeric).table
    assert Counter(zip(*(map(float, table[name].to_pylist()) for name in "xy"), strict=True)) == shown


def test_groups_with_equal_cells_stay_apart_and_with_equal_means_are_one() -> None:
    x = [0, 0, 9, 0, 9, 9]
    schema = anon.Schema(["x", "y"])
    apart = masked({"x": [0, 0, 9, 9, 9, 9], "y": [0, 1, 8, 9, 8, 8]}, schema, 2)
    assert apart.classes.n_classes == 3
    assert len(set(apart.cells[0].of_class.tolist())) == 2
    alike = masked({"x": x, "y": [5] * 6}, schema, 3)
    assert alike.classes.n_classes == 2
    assert masked({"x": [4] * 9, "y": [5] * 9}, schema, 3).classes.n_classes == 1


@pytest.mark.parametrize("numeric", ["interval", "bounds", "midpoint", "mean", "median"])
def test_the_file_has_the_k_that_is_claimed(numeric: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    table = {
        "x": rng.integers(0, 30, 300),
        "y": rng.lognormal(size=300),
        "region": rng.choice(["n", "s", "w"], 300),
        "ill": rng.choice(["a", "b", "c"], 300),
    }
    schema = anon.Schema(["x", "y", "region"], ["ill"])
    require = [anon.LDiversity(2, "distinct"), anon.TCloseness(0.4, "equal")]
    release = masked(table, schema, 4, numeric=numeric, require=require)
    path = tmp_path / "masked.csv"
    release.write(path)
    shown = pa.csv.read_csv(path)
    columns = [name for name in shown.column_names if name != "ill"]
    counts = shown.group_by(columns).aggregate([([], "count_all")])["count_all"].to_pylist()
    assert min(counts) == release.privacy().k >= 4
    assert len(counts) == release.classes.n_classes > 10
    assert release.privacy().by_sensitive["ill"].l_distinct >= 2


def test_a_wrong_median_is_found() -> None:
    release = masked({"x": X, "y": Y}, TWO, 3, numeric="median")
    [x, y] = release.columns
    for values in ([3, 12, 31], [2, 11, 31], [2, 12, 33]):
        wrong = replace(x[0], values=pa.array(values))
        with pytest.raises(RecheckError, match="a number that is not the one of its rows"):
            recheck(release.encoded, release.classes, [[wrong], y], [], numeric="median")


LABELS = anon.Schema(["x", anon.nominal("c"), anon.ordinal("size", ["s", "m", "l"])])


@given(st.data())
@settings(max_examples=40)
def test_labels_stand_for_those_of_their_group(data: st.DataObject) -> None:
    """Mode of nominal ones, null among them, ties the least; lower median of ordinal ones, nulls left out."""
    row = st.tuples(st.integers(0, 3), st.sampled_from(["a", "b", "{x, y}", None]), st.sampled_from("sml"))
    rows = data.draw(st.lists(row, min_size=1, max_size=25))
    rows = [(x, c, None if i % 5 == 4 else size) for i, (x, c, size) in enumerate(rows)]
    table = {name: [each[a] for each in rows] for a, name in enumerate(("x", "c", "size"))}
    table["c"][0], table["size"][0] = "a", "m"
    release = masked(table, LABELS, data.draw(st.integers(1, min(4, len(rows)))))
    cells = release.table.to_pydict()
    for start, stop in itertools.pairwise(release.classes.offsets.tolist()):
        group = release.classes.rows[start:stop].tolist()
        counts = Counter(table["c"][i] for i in group)
        mode = min(counts, key=lambda c: (-counts[c], c is None, c or ""))
        assert set(cells["c"][start:stop]) == {'"{x, y}"' if mode == "{x, y}" else mode or "missing"}
        sizes = sorted("sml".index(table["size"][i]) for i in group if table["size"][i])
        middle = "sml"[median_low(sizes)] if sizes else "missing"
        assert set(cells["size"][start:stop]) == {middle}


@pytest.mark.parametrize(("column", "label"), [(1, "b"), (1, "missing"), (2, "l"), (2, "missing")])
def test_a_wrong_label_is_found(column: int, label: str) -> None:
    table = {"x": [1] * 5, "c": ["a", "a", "b", "b", "c"], "size": ["s", "s", "m", "m", "l"]}
    release = masked(table, LABELS, 5)
    assert [each[0].values.to_pylist() for each in release.columns[1:]] == [["a"], ["m"]]
    wrong = list(release.columns)
    wrong[column] = (replace(wrong[column][0], values=pa.array([label])),)
    with pytest.raises(RecheckError, match="a label that does not stand for its rows"):
        recheck(release.encoded, release.classes, wrong, [], numeric="mean", middles=True)


def test_labels_of_a_file_are_no_cells(tmp_path: Path) -> None:
    table = {"x": [1] * 6, "c": list("aabbcc")}
    schema = anon.Schema(["c"], neutral=["x"])
    release = masked(table, schema, 3)
    release.write(tmp_path / "out.parquet")
    utility = anon.compare(table, tmp_path / "out.parquet", schema)
    with pytest.raises(UsageError, match="by one label of each class"):
        _ = utility.gcp
    assert anon.check(tmp_path / "out.parquet", schema).k == release.privacy().k


def test_coded_labels_have_no_middle() -> None:
    schema = anon.Schema([anon.numeric("x", top=9), "c"])
    with pytest.raises(UsageError, match="least level, top or bottom"):
        masked({"x": [1, 2, 30, 40], "c": list("aabb")}, schema, 2, numeric="median")


def test_medians_leave_nulls_out() -> None:
    table = {"x": [1, 2, None, None, 7, 8, 9, None], "c": list("aaaabbbb")}
    shown = masked(table, anon.Schema(["x", "c"]), 4, numeric="median").table.to_pylist()
    assert {(row["x"], row["x_missing"], row["c"]) for row in shown} == {(1, True, "a"), (8, True, "b")}


def test_optimal_groups() -> None:
    shown = masked({"x": X}, anon.Schema(["x"]), 3, method=anon.Microaggregation("optimal")).table
    parts = np.split(np.array(X), twin.optimal(X, 3)[1:-1])
    assert sorted(shown["x"].to_pylist()) == [part.mean() for part in parts for _ in part]


@pytest.mark.parametrize("names", [["x", "c"], ["c"], ["x", "y"]])
def test_optimal_groups_are_of_one_number(names: list[str]) -> None:
    table = {"x": X, "y": Y, "c": list("aaabbbcccdd")}
    with pytest.raises(UsageError, match="a single quasi-identifier"):
        masked(table, anon.Schema(names), 3, method=anon.Microaggregation("optimal"))


def test_missing_numbers_are_refused_and_can_be_left_out() -> None:
    table = {"x": [1, None, 3, 4, 5, 6], "y": [1.0, None, 2.0, None, 5.0, 6.0]}
    with pytest.raises(
        DataError, match="'x' and 'y': 2 rows miss a number, the first of them row 2"
    ) as caught:
        masked(table, TWO, 2)
    assert (caught.value.row, caught.value.count) == (1, 2)
    assert masked(table, TWO, 2, missing="suppress").n_rows == 4


def test_too_few_rows() -> None:
    with pytest.raises(InfeasibleError, match="the largest k is 3"):
        masked({"x": [1, 2, 3]}, anon.Schema(["x"]), 4)


@pytest.mark.parametrize("method", ["Mdav", None])
def test_unknown_groups_are_refused(method: Any) -> None:
    with pytest.raises(UsageError, match="method must be 'mdav' or 'optimal'"):
        anon.Microaggregation(method)


def test_tiny_and_huge_numbers_are_grouped_as_others() -> None:
    x = np.random.default_rng(2).normal(size=50)
    groups = [groups_of(masked({"x": x * s, "y": x**2}, TWO, 3)) for s in (1.0, 2.0**-700, 2.0**600)]
    assert groups[0] == groups[1] == groups[2]


def test_the_command(tmp_path: Path, capsys: Any) -> None:
    source, out = tmp_path / "in.csv", tmp_path / "out.csv"
    pa.csv.write_csv(pa.table({"x": X, "y": Y}), source)
    flags = ["--quasi", "x,y", "--k", "3", "--method", "microaggregation", "--numeric", "mean"]
    assert main(["anonymize", str(source), "-o", str(out), *flags]) == 0
    assert sorted(set(pa.csv.read_csv(out)["x"].to_pylist())) == [2.0, 14.8, 31.0]
    capsys.readouterr()
    assert main(["check", str(out), "--quasi", "x,y", "--k", "3"]) == 0
