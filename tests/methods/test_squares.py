# SPDX-License-Identifier: Apache-2.0
"""Curve(loss="sse"): classes of little squared error as a release, and what it refuses."""

from __future__ import annotations

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

pytestmark = pytest.mark.filterwarnings("ignore::anon.PrivacyWarning")

SCHEMA = anon.Schema(["x", "y"], ["ill"])


def firms(n: int, seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    size = rng.lognormal(size=n)
    return {
        "x": np.round(100 * size, 1),
        "y": np.round(50 * size * rng.lognormal(0, 0.5, n)),
        "ill": rng.choice(["a", "b", "c"], n),
    }


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


@pytest.mark.parametrize("effort", ["balanced", "best"])
def test_neither_threads_nor_the_order_of_rows_matter(effort: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(squares, "BLOCK_GROUPS", 16)
    monkeypatch.setattr(squares, "START_ROWS", 60)
    table = pa.table(firms(600))
    order = np.random.default_rng(1).permutation(600)
    one = masked(table, 3, anon.Curve(effort, loss="sse"), n_threads=1)
    four = masked(table, 3, anon.Curve(effort, loss="sse"), n_threads=4)
    other = masked(table.take(order), 3, anon.Curve(effort, loss="sse"), n_threads=2)
    assert groups_of(one) == groups_of(four)
    assert groups_of(one) == {frozenset(order[list(group)].tolist()) for group in groups_of(other)}


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


def test_large_classes_are_made_too() -> None:
    release = masked(firms(1000), 150, anon.Curve(loss="sse"))
    assert release.privacy().k >= 150
    assert release.classes.n_classes > 2


def test_what_it_cannot_group_is_refused() -> None:
    method = anon.Curve(loss="sse")
    table = firms(20)
    with pytest.raises(UsageError, match=r"column 'ill': .*Microaggregation\(\)"):
        masked(table, 2, method, anon.Schema(["x", "ill"]))
    with pytest.raises(InfeasibleError, match="20 rows"):
        masked(table, 21, method)
    missing = {**table, "x": [None, *table["x"][1:]]}
    with pytest.raises(DataError, match=r"column 'x': 1 rows miss a number, the first of them row 1"):
        masked(missing, 2, method)
    assert masked(missing, 2, method, missing="suppress").classes.n_classes > 1
    with pytest.raises(UsageError, match="'sse'"):
        anon.Curve(loss="squares")  # type: ignore[arg-type]
