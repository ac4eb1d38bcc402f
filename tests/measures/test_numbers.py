# SPDX-License-Identifier: Apache-2.0
"""What became of numbers: the values of the definition, the slow twin, and tables with known answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import anon
from anon.command.entry import main
from anon.errors import UsageError
from anon.measures import COSTS, handed_out, utility_tables
from anon.measures.numbers import MEASURES, Numbers, linked, logistic, numbers_from, pmse_of
from reference import numbers as twin

pytestmark = pytest.mark.filterwarnings("ignore::anon.PrivacyWarning")

X = [1, 2, 3, 10, 11, 12, 20, 21, 30, 31, 32]
Y = [1, 3, 2, 10, 12, 11, 5, 6, 30, 28, 33]
SCHEMA = anon.Schema(["x", "y"], neutral=["id"])


def masked(k: int, numeric: Any = "mean") -> anon.Release:
    require = [anon.KAnonymity(k)]
    table = {"x": X, "y": Y}
    schema = anon.Schema(["x", "y"])
    return anon.anonymize(table, schema, require=require, method=anon.Microaggregation(), numeric=numeric)


def paired(before: Any, after: Any) -> Numbers:
    before, after = np.array(before, np.float64), np.array(after, np.float64)
    names = tuple(f"a{a}" for a in range(before.shape[1]))
    return Numbers(names, before, after, np.arange(len(before)))


@pytest.mark.parametrize(
    ("k", "il1s", "eigen", "near", "error"),
    [(3, 2.8353704, 0.8038243, 7, 0.0604872), (2, 4.4875391, 0.5915769, 6, 0.1553678)],
)
def test_the_values_of_the_definition(k: int, il1s: float, eigen: float, near: int, error: float) -> None:
    numbers = masked(k).utility().numbers
    assert numbers.il1s_sum == pytest.approx(il1s, abs=5e-8)
    assert numbers.il1s == pytest.approx(il1s / 22, abs=5e-8)
    assert numbers.eigen == pytest.approx(eigen, abs=5e-8)
    assert numbers.interval_risk(0.3) == near / 11
    assert numbers.sse_sst == pytest.approx(error, abs=5e-8)
    assert numbers.linkage == pytest.approx(3 / 11)
    assert numbers.il_correl == pytest.approx(0, abs=1e-12)


def test_propensities_of_the_definition() -> None:
    assert pmse_of(np.array([0.25, 0.75, 0.5, 0.5]), 2, 2) == (0.03125, 1.0)


ROWS = st.lists(st.lists(st.integers(-20, 20), min_size=3, max_size=3), min_size=3, max_size=25)


@given(ROWS, st.data())
def test_measures_equal_their_twins(before: list[list[int]], data: st.DataObject) -> None:
    after = data.draw(st.lists(st.sampled_from(before), min_size=len(before), max_size=len(before)))
    numbers = paired(before, after)
    if not twin.varied(before):
        assert (numbers.sse_sst, numbers.il1s, numbers.linkage) == (None, None, None)
        return
    assert numbers.sse_sst == pytest.approx(twin.sse_sst(before, after))
    assert numbers.il1s_sum == pytest.approx(twin.il1s_sum(before, after))
    assert numbers.linkage == pytest.approx(twin.linkage(before, after))
    assert numbers.interval_risk(0.7) == pytest.approx(twin.d_risk(before, after, 0.7), abs=1e-9)
    assume(len(twin.varied(before)) == len(twin.varied(after)) == 3)
    away = [
        abs(twin.correlation(before, a, b) - twin.correlation(after, a, b))
        for a, b in ((0, 1), (0, 2), (1, 2))
    ]
    assert numbers.correlation_max == pytest.approx(max(away), abs=1e-9)
    assert numbers.correlation_mean == pytest.approx(sum(away) / 3, abs=1e-9)


def test_chances_equal_their_twins() -> None:
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.normal(size=(40, 2)), rng.normal(0.5, 1, (30, 2))])
    label = np.repeat([0, 1], [40, 30])
    p, k = logistic(rows, label.astype(np.float64))
    assert k == 3
    assert p.tolist() == pytest.approx(twin.logistic(rows.tolist(), label.tolist()), abs=1e-6)
    doubled, k = logistic(rows[:, [0, 1, 1]], label.astype(np.float64))
    assert k == 3
    assert doubled == pytest.approx(p)


def test_the_ratio_is_one_where_rows_are_drawn_from_the_original() -> None:
    """The mean of 200 ratios, each chi-square of three degrees over 3: its deviation is 0.06."""
    rng = np.random.default_rng(4)
    tables = rng.normal(size=(200, 300, 3))
    ratios = [Numbers(("a", "b", "c"), each, rng.choice(each, 300)).pmse_ratio for each in tables]
    assert np.mean(np.array(ratios, np.float64)) == pytest.approx(1, abs=0.25)


def test_a_tree_tells_what_a_line_does_not() -> None:
    rng = np.random.default_rng(5)
    before = rng.normal(size=(400, 2))
    shifted = Numbers(("a", "b"), before, rng.normal(size=(400, 2)) * [3.0, 1.0])
    assert shifted.pmse_by_tree(10)[1] > 1.15
    same = Numbers(("a", "b"), before, rng.normal(size=(400, 2)))
    assert same.pmse_by_tree(10)[1] == pytest.approx(1, abs=0.1)
    assert same.pmse_by_tree(10) == same.pmse_by_tree(10)


def test_nothing_changed() -> None:
    rows = np.random.default_rng(1).normal(size=(30, 3))
    told = paired(rows, rows).to_dict()
    assert (told["d_risk"], told["linkage"], told["linkage_rows"]) == (1, 1, 30)
    for name in MEASURES:
        if name not in ("n_rows", "n_left_out", "d_risk", "linkage", "linkage_rows"):
            assert told[name] == pytest.approx(0, abs=1e-12), name


def test_il_correl_of_three_columns() -> None:
    rng = np.random.default_rng(2)
    before, after = rng.normal(size=(2, 50, 3))
    after[:, 1] += after[:, 0]
    one, two = (np.diag(np.linalg.inv(np.corrcoef(each.T))) for each in (before, after))
    one, two = one / np.sqrt((one**2).sum()), two / np.sqrt((two**2).sum())
    assert paired(before, after).il_correl == pytest.approx(np.sqrt(((one - two) ** 2).sum() / 2))


def test_what_has_no_meaning_is_none() -> None:
    rows = np.random.default_rng(1).normal(size=(20, 2))
    constant = paired(np.column_stack([rows[:, 0], np.ones(20)]), rows)
    assert (constant.eigen, constant.il_correl, constant.correlation_max) == (None, None, None)
    assert constant.sse_sst == pytest.approx(0)  # of the first column alone
    twice = paired(rows[:, [0, 0]], rows)
    assert (twice.eigen, twice.il_correl) == (None, None)
    unpaired = Numbers(("a", "b"), rows, rows[:10])
    assert (unpaired.sse_sst, unpaired.il1s, unpaired.d_risk, unpaired.linkage) == (None,) * 4
    assert unpaired.quantiles is not None
    assert unpaired.pmse is not None


def test_rows_that_miss_a_number_are_left_out() -> None:
    nan = np.nan
    before = [np.array([1.0, 2.0, nan, 4.0, 6.0])]
    numbers = numbers_from(["x"], before, [np.array([4.5, nan, 3.0, 2.5])], np.array([3, 4, 2, 1]))
    assert numbers.before.ravel().tolist() == [1, 2, 4, 6]
    assert numbers.after.ravel().tolist() == [4.5, 2.5]
    assert numbers.row is not None
    assert numbers.row.tolist() == [2, 1]
    assert numbers.n_left_out == 3


def test_record_linkage_of_a_large_table_looks_at_some_rows() -> None:
    rows = np.random.default_rng(3).normal(size=(200, 2))
    assert linked(rows, rows, most=200 * 50) == (1.0, 50)
    assert linked(rows, np.zeros((200, 2)), most=10**9) == (pytest.approx(1 / 200), 200)


@pytest.mark.parametrize("method", [anon.Noise(0.1), anon.RankSwap(0.2)])
def test_compare_knows_the_pairs_by_an_id(method: Any) -> None:
    table = {"x": [*range(100)], "y": np.random.default_rng(0).normal(size=100), "id": [*range(100)]}
    release = anon.anonymize(table, SCHEMA, method=method)
    with pytest.raises(UsageError, match=r"anon\.compare"):
        _ = release.utility().numbers
    of_pairs = anon.compare(table, release.table, SCHEMA, id="id").numbers
    assert of_pairs.names == ("x", "y")
    by_id = {row["id"]: [row["x"], row["y"]] for row in release.table.to_pylist()}
    before = np.column_stack([table["x"], table["y"]]).tolist()
    assert of_pairs.sse_sst == pytest.approx(twin.sse_sst(before, [by_id[i] for i in range(100)]))
    alone = anon.compare(table, release.table, SCHEMA).numbers
    assert alone.sse_sst is None
    assert alone.correlation_max == pytest.approx(of_pairs.correlation_max)


def test_dates_are_measured_in_their_ticks() -> None:
    days = pa.array(range(0, 120, 10), pa.int32()).cast(pa.date32())
    table = pa.table({"day": days, "n": range(12)})
    schema = anon.Schema(["day", "n"])
    release = anon.anonymize(
        table, schema, require=[anon.KAnonymity(3)], method=anon.Microaggregation(), numeric="median"
    )
    assert release.utility().numbers.interval_risk(100.0) == 1
    assert anon.compare(table, release.table, schema).numbers.quantiles == pytest.approx(
        release.utility().numbers.quantiles
    )


def test_intervals_are_no_numbers_and_nothing_is_handed_out() -> None:
    with pytest.raises(UsageError, match="publish means or medians"):
        _ = masked(3, "interval").utility().numbers
    assert "numbers" not in masked(3, "interval").utility().to_dict()
    told = masked(3).utility().to_dict()
    assert set(told["numbers"]) == set(MEASURES)
    [table] = [each for each in utility_tables(told) if each.title == "What became of the numbers"]
    assert len(table.rows) == 12
    assert {f"numbers.{name}" for name in MEASURES} <= set(COSTS)
    assert "numbers" not in handed_out(told, COSTS)


def test_an_axis_of_a_frontier() -> None:
    tried = [
        anon.Configuration((anon.KAnonymity(k),), anon.Microaggregation(), numeric="mean") for k in (2, 3)
    ]
    schema = anon.Schema(["x", "y"])
    swept = anon.frontier({"x": X, "y": Y}, schema, tried, privacy="k", utility="numbers.il1s")
    assert [round(22 * point.utility, 6) for point in swept.points[:2]] == [4.487539, 2.83537]


def test_the_command_tells_them(tmp_path: Path, capsys: Any) -> None:
    source, out = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text("x,y\n" + "".join(f"{x},{y}\n" for x, y in zip(X, Y, strict=True)))
    masked(3).write(out)
    assert main(["compare", str(source), str(out), "--quasi", "x,y", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["numbers"]
    assert told["eigen"] == pytest.approx(0.8038243, abs=5e-8)
    assert main(["compare", str(source), str(out), "--quasi", "x,y", "--all"]) == 0
    assert "numbers.eigen" in capsys.readouterr().out


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning", "ignore:invalid:RuntimeWarning")
def test_numbers_too_large_for_correlations_have_none() -> None:
    table = {"x": [1e300, -1e300, 2.0, 3.0], "y": [1.0, 2.0, 4.0, 3.0]}
    release = anon.anonymize(
        table,
        anon.Schema(["x", "y"]),
        require=[anon.KAnonymity(2)],
        method=anon.Microaggregation(),
        numeric="mean",
    )
    found = release.utility().to_dict()["numbers"]
    assert found["eigen"] is None
    assert found["correlation_max"] is None
