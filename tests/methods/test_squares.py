# SPDX-License-Identifier: Apache-2.0
"""Curve(loss="sse"): classes of little squared error as a release, and what it refuses."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anon
from anon.errors import DataError, InfeasibleError, UsageError
from anon.methods import squares
from anon.methods.repair import pack
from anoncore import sse

pytestmark = pytest.mark.filterwarnings("ignore::anon.PrivacyWarning")

SCHEMA = anon.Schema(["x", "y"], ["ill"])
TREE = {"*": {"coast": ["n", "s"], "inland": ["w", "e", "m"]}}
MIXED = anon.Schema(
    ["x", anon.nominal("c"), anon.ordinal("size", ["s", "m", "l"]), anon.nominal("where", hierarchy=TREE)],
    ["ill"],
)


def firms(n: int, seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    size = rng.lognormal(size=n)
    return {
        "x": np.round(100 * size, 1),
        "y": np.round(50 * size * rng.lognormal(0, 0.5, n)),
        "ill": rng.choice(["a", "b", "c"], n),
    }


def people(n: int, seed: int = 0) -> dict[str, Any]:
    """Numbers, labels, sizes and places, some of them missing."""
    rng = np.random.default_rng(seed)
    table = {
        "x": np.round(rng.lognormal(size=n), 1).tolist(),
        "c": rng.choice(["a", "b", "c"], n, p=[0.7, 0.2, 0.1]).tolist(),
        "size": rng.choice(["s", "m", "l"], n).tolist(),
        "where": rng.choice(["n", "s", "w", "e", "m"], n).tolist(),
        "ill": rng.choice(["a", "b", "c"], n).tolist(),
    }
    for name, row in (("x", 3), ("c", 5), ("size", 5), ("where", 9)):
        table[name][row % n] = None
    return table


def gower(release: anon.Release) -> float:
    """What is minimized: over classes, the distances of their pairs over their rows."""
    encoded, classes = release.encoded, release.classes
    attributes = [domain.measured("byun") for domain in encoded.quasi]
    return float(sse.spread(pack(encoded.quasi_codes), attributes, classes.rows, classes.offsets).sum())


def masked(table: Any, k: int, method: Any, schema: anon.Schema = SCHEMA, **more: Any) -> anon.Release:
    require = [anon.KAnonymity(k), *more.pop("require", [])]
    return anon.anonymize(table, schema, require=require, method=method, **{"numeric": "mean", **more})


def error(release: anon.Release) -> float:
    numbers = release.utility().numbers
    assert numbers is not None
    return float(numbers.sse_sst)


def groups_of(release: anon.Release) -> set[frozenset[int]]:
    """The classes, as sets of row numbers."""
    return {
        frozenset(part.tolist()) for part in np.split(release.classes.rows, release.classes.offsets[1:-1])
    }


@pytest.mark.parametrize("k", [3, 10])
def test_it_loses_less_than_mdav_and_than_ranges(k: int) -> None:
    table = firms(2000)
    best, balanced = (
        error(masked(table, k, anon.Curve(effort, loss="sse"))) for effort in ("best", "balanced")
    )
    assert best <= balanced < 0.98 * error(masked(table, k, anon.Microaggregation()))
    assert balanced < error(masked(table, k, anon.Curve()))


@pytest.mark.parametrize("numeric", ["interval", "mean", "median"])
def test_every_requirement_holds_of_the_file(numeric: Any, tmp_path: Path) -> None:
    require = [anon.LDiversity(2, "distinct"), anon.TCloseness(0.4, "equal")]
    release = masked(firms(400), 4, anon.Curve(loss="sse"), require=require, numeric=numeric)
    path = tmp_path / "masked.csv"
    release.write(path)
    shown = pa.csv.read_csv(path)
    counts = shown.group_by(["x", "y"]).aggregate([([], "count_all")])["count_all"].to_pylist()
    assert min(counts) >= 4
    assert len(counts) > 20
    privacy = release.privacy()
    assert privacy.k >= 4
    assert privacy.by_sensitive["ill"].l_distinct >= 2
    assert privacy.by_sensitive["ill"].t_equal <= 0.4


@pytest.mark.parametrize("k", [3, 10])
def test_mixed_tables_lie_nearer_than_in_mdavs_groups(k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    table = people(1500)
    mdav = gower(masked(table, k, anon.Microaggregation(), MIXED))
    best, balanced = (
        gower(masked(table, k, anon.Curve(effort, loss="sse"), MIXED)) for effort in ("best", "balanced")
    )
    assert best <= balanced < 0.98 * mdav
    monkeypatch.setattr(squares, "MIXED_ROWS", 300)
    assert gower(masked(table, k, anon.Curve("best", loss="sse"), MIXED)) < mdav


@pytest.mark.parametrize("numeric", ["interval", "mean", "median"])
def test_every_requirement_holds_of_the_file_of_a_mixed_table(numeric: Any, tmp_path: Path) -> None:
    require = [anon.LDiversity(2, "distinct"), anon.TCloseness(0.4, "equal")]
    release = masked(people(400), 4, anon.Curve(loss="sse"), MIXED, require=require, numeric=numeric)
    path = tmp_path / "masked.csv"
    release.write(path)
    shown = pa.csv.read_csv(path)
    columns = [name for name in shown.column_names if name != "ill"]
    counts = shown.group_by(columns).aggregate([([], "count_all")])["count_all"].to_pylist()
    assert min(counts) == release.privacy().k >= 4
    assert len(counts) == release.classes.n_classes > 20
    assert release.privacy().by_sensitive["ill"].l_distinct >= 2
    assert release.privacy().by_sensitive["ill"].t_equal <= 0.4


@pytest.mark.parametrize(("made", "schema", "loss"), [(firms, SCHEMA, error), (people, MIXED, gower)])
@pytest.mark.parametrize("require", [[anon.LDiversity(3, "distinct")], [anon.TCloseness(0.15, "equal")]])
def test_requirements_hold_inside_the_refinement(
    made: Any, schema: anon.Schema, loss: Any, require: Any
) -> None:
    """Merged afterwards, classes lose more; so do those that ranges make under the same requirements."""
    table = made(1200)
    ours, repaired, ranges = (
        loss(masked(table, 3, method, schema, require=require, n_threads=2))
        for method in (anon.Curve(loss="sse"), anon.Microaggregation(), anon.Curve())
    )
    assert ours < 0.9 * repaired
    assert ours < ranges


def test_classes_of_a_mixed_table_show_median_and_mode() -> None:
    """And classes whose cells are equal stay apart, until they show the same."""
    schema = anon.Schema(["x", "c", anon.ordinal("size", ["s", "m", "l"])])
    table = {"x": [0, 0, 9, 90, 99, 99], "c": list("aabbbc"), "size": list("smmlls")}
    shown = masked(table, 3, anon.Curve(loss="sse"), schema, order="input").table.to_pylist()
    assert [tuple(row.values()) for row in shown] == [(3.0, "a", "m")] * 3 + [(96.0, "b", "l")] * 3
    twice = {"x": [0, 0, 9, 9, 0, 9], "c": list("aaaaab"), "size": ["s"] * 6}
    release = masked(twice, 2, anon.Curve(loss="sse"), schema, order="input")
    assert sorted(map(sorted, groups_of(release))) == [[0, 1, 4], [2, 3, 5]]


@pytest.mark.parametrize("effort", ["balanced", "best"])
@pytest.mark.parametrize(("made", "schema"), [(firms, SCHEMA), (people, MIXED)])
@pytest.mark.parametrize("require", [[], [anon.LDiversity(3, "distinct")]])
def test_neither_threads_nor_the_order_of_rows_matter(
    effort: Any, made: Any, schema: anon.Schema, require: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of rows that are not equal; equal ones may change places."""
    for name, value in (("BLOCK_GROUPS", 16), ("START_ROWS", 60), ("MIXED_ROWS", 60)):
        monkeypatch.setattr(squares, name, value)
    table = pa.table(made(600))
    order = np.random.default_rng(1).permutation(600)

    def groups(table: pa.Table, n_threads: int) -> Any:
        method = anon.Curve(effort, loss="sse")
        release = masked(table, 3, method, schema, require=require, n_threads=n_threads)
        rows = table.to_pylist()
        return Counter(tuple(sorted(str(rows[row]) for row in group)) for group in groups_of(release))

    one = groups(table, 1)
    assert one == groups(table, 4)
    assert one == groups(table.take(order), 2)


@given(st.data())
@settings(max_examples=30, deadline=None)
def test_any_table_is_grouped(data: st.DataObject) -> None:
    number = st.one_of(st.integers(0, 3), st.floats(-1e300, 1e300))
    columns = data.draw(st.lists(st.tuples(number, number), min_size=1, max_size=30))
    k = data.draw(st.integers(1, len(columns)))
    table = {"x": [float(x) for x, _ in columns], "y": [float(y) for _, y in columns]}
    release = masked(table, k, anon.Curve(loss="sse"), anon.Schema(["x", "y"]), numeric="interval")
    assert release.privacy().k >= k
    assert sum(release.classes.sizes) == len(columns)


@given(st.data())
@settings(max_examples=30, deadline=None)
def test_any_mixed_table_is_grouped(data: st.DataObject) -> None:
    row = st.tuples(
        st.one_of(st.none(), st.floats(-1e300, 1e300)),
        st.sampled_from(["a", "b", None]),
        st.sampled_from("sml"),
        st.sampled_from("nswem"),
    )
    rows = data.draw(st.lists(row, min_size=1, max_size=25))
    table = {name: [each[a] for each in rows] for a, name in enumerate(("x", "c", "size", "where"))} | {
        "ill": ["a"] * len(rows)
    }
    table["x"][0], table["c"][0] = 1.0, "a"
    k = data.draw(st.integers(1, len(rows)))
    numeric = data.draw(st.sampled_from(["interval", "median"]))
    release = masked(table, k, anon.Curve(loss="sse"), MIXED, numeric=numeric)
    assert release.privacy().k >= k
    assert sum(release.classes.sizes) == len(rows)


def test_large_classes_are_made_too() -> None:
    release = masked(firms(1000), 150, anon.Curve(loss="sse"))
    assert release.privacy().k >= 150
    assert release.classes.n_classes > 2


def test_what_it_cannot_group_is_refused() -> None:
    method = anon.Curve(loss="sse")
    table = firms(20)
    with pytest.raises(InfeasibleError, match="20 rows"):
        masked(table, 21, method)
    missing = {**table, "x": [None, *table["x"][1:]]}
    with pytest.raises(DataError, match=r"column 'x': 1 rows miss a number, the first of them row 1"):
        masked(missing, 2, method)
    assert masked(missing, 2, method, missing="suppress").classes.n_classes > 1
    with pytest.raises(UsageError, match="'sse'"):
        anon.Curve(loss="squares")  # type: ignore[arg-type]
