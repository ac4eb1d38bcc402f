# SPDX-License-Identifier: Apache-2.0
"""`anon.risk`: the risk of every row in the population, in Python and as a command."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import anon
from anon.command.entry import main
from anon.errors import DataError, UsageError

TABLE = pa.table(
    {
        "a": list("11122311"),
        "b": list("11112212"),
        "w": [10, 20, 15, 8, 30, 5, 12, 40],
        "h": list("11223334"),
    }
)
SCHEMA = anon.Schema(["a", "b"])
WEIGHTED = anon.Schema(["a", "b"], sampling_weight="w")
HOUSEHOLDS = anon.Schema(["a", "b"], unit="h", sampling_weight="w")


def test_the_table_of_sdcmicro() -> None:
    found = anon.risk(TABLE, HOUSEHOLDS, method="approx")
    assert (found.sample.tolist(), found.population.tolist()) == (
        [4, 4, 4, 1, 1, 1, 4, 1],
        [57, 57, 57, 8, 30, 5, 57, 40],
    )
    assert (found.by, found.n_rows, found.sample_uniques) == ("weights", 8, 4)
    assert found.expected == pytest.approx(1.0027204, abs=5e-8)
    assert found.mean == found.expected / 8
    assert found.max == found.individual[5] == pytest.approx(0.4023595, abs=5e-8)
    assert [found.above(x) for x in (0.4, 0.2, found.max)] == [1, 2, 0]
    assert found.household is not None
    of_row = found.household.individual
    # h 1 holds rows 1 and 2, h 2 rows 3 and 4, h 3 rows 5 to 7, h 4 row 8
    assert of_row[[0, 2, 4, 7]] == pytest.approx([0.0451918, 0.3131302, 0.4845106, 0.0945867], abs=5e-8)
    assert found.household.expected_rows == pytest.approx(2.2647625, abs=5e-8)
    assert found.household.expected_households == pytest.approx(of_row[[0, 2, 4, 7]].sum())
    assert found.household.n_households == 4


def test_a_sampling_fraction_and_equal_weights_are_one() -> None:
    by_fraction = anon.risk(TABLE, SCHEMA, sampling_fraction=0.05)
    by_weights = anon.risk(TABLE.set_column(2, "w", pa.array([20.0] * 8)), WEIGHTED)
    assert by_fraction.individual.tolist() == pytest.approx(by_weights.individual.tolist(), rel=1e-14)
    assert by_fraction.population_uniques == by_weights.population_uniques
    assert by_fraction.max == pytest.approx(math.log(20) / 19)


def test_a_table_of_the_population_is_counted() -> None:
    people = {"a": list("1111111122223311"), "b": list("1111111111222122")}
    found = anon.risk(TABLE, SCHEMA, population=people)
    # 11: eight, 21: two, 22: two, 32: none of 3 but one, 12: two
    assert found.population.tolist() == [8, 8, 8, 2, 2, 1, 8, 2]
    assert found.individual.tolist() == pytest.approx([1 / 8] * 3 + [0.5, 0.5, 1, 1 / 8, 0.5])
    assert (found.by, found.sampling_fraction) == ("table", 0.5)
    assert found.population_uniques is not None
    assert (found.population_uniques.count, found.population_uniques.model) == (2, "count")


def test_a_release_is_read_by_its_cells() -> None:
    table = {"age": [20, 21, 30, 31], "sex": list("mmff")}
    people = {"age": [20, 21, 20, 30, 31, 31, 40], "sex": list("mmmfffm")}
    schema = anon.Schema([anon.numeric("age"), "sex"])
    release = anon.anonymize(table, schema, require=[anon.KAnonymity(2)])
    for roles in (None, schema):
        found = anon.risk(release.table, roles, population=people)
        assert sorted(found.population) == [3, 3, 3, 3]
        assert found.population_uniques is None
    privacy = release.privacy(population=people)
    assert privacy.population is not None
    assert privacy.population_before is not None
    assert (privacy.population.marketer, privacy.population.n_below) == (pytest.approx(1 / 3), 0)
    assert privacy.population_before.marketer == pytest.approx((0.5 + 1 + 1 + 0.5) / 4)
    checked = anon.check(release.table, population=people)
    compared = anon.compare(table, release.table, schema, population=people)
    assert checked.population is not None
    assert checked.population.journalist.max == compared.population.journalist.max  # type: ignore[union-attr]
    assert compared.population_before == privacy.population_before
    by_fraction = anon.compare(table, release.table, schema, sampling_fraction=0.5)
    assert by_fraction.population_before == release.privacy(sampling_fraction=0.5).population_before


def test_suppressed_rows_have_no_risk() -> None:
    table = {"a": ["1", "1", "*", "2"], "b": ["1", "1", "*", "1"]}
    found = anon.risk(table, SCHEMA, sampling_fraction=0.5)
    assert (found.n_rows, found.n_suppressed, found.sample_uniques) == (3, 1, 1)
    assert math.isnan(found.individual[2])
    assert found.expected == pytest.approx(np.nansum(found.individual))
    nothing = anon.risk({"a": [None], "b": [None]}, SCHEMA, sampling_fraction=0.5, nulls="wildcard")
    assert (nothing.n_rows, nothing.mean, nothing.max, nothing.population_uniques) == (0, 0.0, 0.0, None)


def test_missing_values_match_anything_when_asked() -> None:
    table = {"a": ["1", "1", None], "b": ["1", "2", "1"]}
    assert anon.risk(table, SCHEMA, sampling_fraction=0.5).sample.tolist() == [1, 1, 1]
    found = anon.risk(table, SCHEMA, sampling_fraction=0.5, nulls="wildcard", alpha=0.5)
    assert found.sample.tolist() == [1.5, 1, 2]


def test_every_row_can_be_written(tmp_path: Path) -> None:
    pq.write_table(TABLE, tmp_path / "in.parquet")
    out = tmp_path / "rows.parquet"
    words = ["risk", str(tmp_path / "in.parquet"), "--quasi", "a,b", "--sampling-weight", "w"]
    assert main([*words, "--unit", "h", "--per-row", str(out), "--quiet"]) == 0
    rows = pq.read_table(out)
    assert rows.column_names == ["row", "sample", "population", "risk", "household_risk"]
    assert rows["row"].to_pylist() == list(range(1, 9))
    assert main([*words, "--per-row", str(tmp_path / "in.parquet")]) == 2


def test_the_command_says_what_the_result_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pq.write_table(TABLE, tmp_path / "in.parquet")
    words = ["risk", str(tmp_path / "in.parquet"), "--quasi", "a,b", "--sampling-fraction", "0.05"]
    assert main([*words, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    found = anon.risk(TABLE, SCHEMA, sampling_fraction=0.05).to_dict()
    assert {name: value for name, value in told.items() if name != "audience"} == found
    assert main(words) == 0
    shown = capsys.readouterr().out
    assert "known from the sampling fraction" in shown
    assert "estimated by zayatz" not in shown
    assert "rows with a risk above one in 10" in shown


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "say what is known of the population in one way"),
        ({"population": TABLE, "sampling_fraction": 0.5}, "in one way"),
        ({"sampling_fraction": 0}, "sampling fraction lies above 0"),
        ({"sampling_fraction": 0.5, "nulls": "any"}, "choose one of 'own', 'wildcard'"),
        ({"population": TABLE, "nulls": "wildcard"}, "leave nulls out"),
    ],
)
def test_bad_input_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises((DataError, UsageError), match=message):
        anon.risk(TABLE, SCHEMA, **options)


def test_a_unit_that_is_no_column_is_named() -> None:
    with pytest.raises(DataError, match="the table has no column 'nosuch'"):
        anon.risk(TABLE, anon.Schema(["a"], unit="nosuch"), sampling_fraction=0.5)


def test_rows_with_bad_weights_are_counted() -> None:
    table = TABLE.set_column(2, "w", pa.array([1.0, 0.0, None, math.nan, 2.0, -1.0, math.inf, 1.0]))
    with pytest.raises(DataError, match=r"column 'w', .* in 5 rows, the first of them row 2") as raised:
        anon.risk(table, WEIGHTED)
    assert (raised.value.row, raised.value.count, raised.value.column) == (1, 5, "w")


def test_a_population_that_is_too_small_is_counted() -> None:
    with pytest.raises(DataError, match=r"^1 classes have more rows .* that of row 1:") as raised:
        anon.risk(TABLE, SCHEMA, population=TABLE.slice(1))
    assert (raised.value.row, raised.value.count) == (0, 1)
    with pytest.raises(DataError, match="the population does not hold the table"):
        anon.risk(TABLE, SCHEMA, population={"a": ["1"], "b": ["1"]})


def test_thresholds_are_risks() -> None:
    with pytest.raises(UsageError, match="between 0 and 1"):
        anon.risk(TABLE, SCHEMA, sampling_fraction=0.5).above(2)


def test_a_notebook_shows_numbers_without_values() -> None:
    found = anon.risk(TABLE, SCHEMA, sampling_fraction=0.05)
    html = found._repr_html_()
    assert "sample uniques" in html
    assert html.count("<table") == html.count("</table>") == 1
    assert repr(found).startswith("RowRisk(n_rows=8, by='sampling fraction', expected=")


def test_weights_of_the_schema_count_through_every_door(tmp_path: Path) -> None:
    table = pa.table({"age": [20, 20, 30, 30, 31, 31], "w": [4.0, 6.0, 2.0, 8.0, 5.0, 5.0]})
    schema = anon.Schema([anon.numeric("age")], sampling_weight="w")
    release = anon.anonymize(table, schema, require=[anon.KAnonymity(2)])
    path = tmp_path / "out.parquet"
    release.write(path)
    expected = (1 - math.log(5) / 4) / 4  # f = 2, F = 10: p/q - (p/q)^2 ln(1/p)
    compared = anon.compare(table, path, schema)
    for found in (release.privacy(), anon.check(path, schema), compared):
        assert found.population is not None
        assert found.population.by == "weights"
        assert found.population.marketer == pytest.approx(expected)
    assert compared.population_before == release.privacy().population_before
    assert anon.risk(path, schema).mean == pytest.approx(expected)
    by_fraction = anon.risk(path, schema, sampling_fraction=1)
    assert (by_fraction.by, by_fraction.mean) == ("sampling fraction", 0.5)


def test_a_population_without_the_tables_values_does_not_hold_it() -> None:
    table, people = {"age": [20, 30, 41, 41]}, {"age": [20, 20, 30]}
    with pytest.raises(
        DataError, match="'age' has values that nobody in the population has in 2 rows, the first"
    ) as raised:
        anon.risk(table, anon.Schema(["age"]), population=people)
    assert (raised.value.row, raised.value.count) == (2, 2)
