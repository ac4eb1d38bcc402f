# SPDX-License-Identifier: Apache-2.0
"""`anon.suda`: values of sdcMicro, a slow twin, and the command."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anon
from anon import datasets
from anon.command.entry import main
from anon.errors import UsageError
from reference import suda as twin

FIRST = {"a": "111222", "b": "112122", "c": "121112", "d": "111112"}
SECOND = {"a": "11112223", "b": "11122211", "c": "11112231"}


def found(columns: dict[str, str], **options: Any) -> anon.Suda:
    table = {name: [None if cell == "·" else cell for cell in column] for name, column in columns.items()}
    return anon.suda(table, anon.Schema(list(columns)), **options)


def test_a_table_of_sdcmicro() -> None:
    measured = found(FIRST, sampling_fraction=0.1)
    assert measured.scores.tolist() == [1, 6, 2, 2, 2, 10]
    assert list(measured.contributions.values()) == pytest.approx([47.826, 47.826, 52.174, 39.130], abs=5e-4)
    assert measured.dis is not None
    assert measured.dis.tolist() == [1] * 6  # no two rows are a pair
    assert found(FIRST, scores="ihsn").scores.tolist() == pytest.approx([0.25, 1.5, 0.5, 0.5, 0.5, 2.75])


def test_a_table_of_sdcmicro_with_pairs() -> None:
    measured = found(SECOND, sampling_fraction=0.05)
    assert measured.scores.tolist() == [0, 0, 0, 2, 0, 0, 3, 2]
    assert measured.dis_fraction == pytest.approx(0.0731707, abs=5e-8)
    assert measured.dis is not None
    assert measured.dis[[3, 6, 7]] == pytest.approx([0.0640948, 0.1020804, 0.0640948], abs=5e-8)
    assert measured.dis[[0, 1, 2, 4, 5]].tolist() == [0] * 5
    assert list(measured.contributions.values()) == pytest.approx([57.143, 42.857, 42.857], abs=5e-4)


@pytest.mark.adult
def test_rows_of_adult_have_the_score_of_sdcmicro() -> None:
    table = datasets.adult(os.environ["ANON_DATA"] + "/adult").slice(0, 2000)
    names = ["age", "workclass", "education", "marital-status", "occupation", "race", "sex", "native-country"]
    assert anon.suda(table, anon.Schema(names)).scores.sum() == 1228411


@given(st.data(), st.booleans())
@settings(max_examples=60, deadline=None)
def test_scores_are_those_of_the_twin(data: st.DataObject, ihsn: bool) -> None:
    n, m = data.draw(st.integers(1, 9)), data.draw(st.integers(2, 4))
    column = st.lists(st.sampled_from("12·"), min_size=n, max_size=n).map("".join)
    columns = {f"q{a}": data.draw(column) for a in range(m)}
    max_size = data.draw(st.integers(1, m))
    rows = [
        tuple(None if cell == "·" else cell for cell in row) for row in zip(*columns.values(), strict=True)
    ]
    measured = found(columns, max_size=max_size, scores="ihsn" if ihsn else "elliot", sampling_fraction=0.2)
    scores, shares = twin.scores(rows, max_size, ihsn)
    assert measured.scores.tolist() == pytest.approx(scores)
    assert list(measured.contributions.values()) == pytest.approx(shares)
    theta, dis = twin.dis(scores, rows, 0.2)
    assert measured.dis_fraction == pytest.approx(theta)
    assert measured.dis is not None
    assert measured.dis.tolist() == pytest.approx(dis)


def test_sets_can_be_bounded_without_changing_their_weight() -> None:
    measured = found(FIRST, max_size=2)
    whole = found(FIRST)
    assert measured.n_sets == whole.n_sets[:2]
    assert whole.n_sets[2] > 0
    assert measured.scores.sum() == whole.scores.sum() - whole.n_sets[2]


def test_what_a_row_and_a_value_contribute() -> None:
    measured = found(SECOND)
    rows = measured.riskiest(2).to_pylist()
    assert [row["row"] for row in rows] == [7, 4]  # of equal scores the first row
    assert [row["score"] for row in rows] == [3, 2]
    # row 7, (2, 1, 3): alone by c = 3 (2) and by a, b (1)
    assert rows[0]["sets"] == 2
    assert rows[0]["smallest"] == 1
    assert [rows[0][f"{name} %"] for name in "abc"] == pytest.approx([100 / 3, 100 / 3, 200 / 3])
    values = measured.of_values("a").to_pylist()
    assert values[0] == {"value": "2", "score": 3.0, "contribution": pytest.approx(100 / 3)}
    assert measured.riskiest(0).num_rows == 0
    assert len(measured.riskiest(99)) == 3
    with pytest.raises(UsageError, match="choose one of 'a', 'b', 'c'"):
        measured.of_values("z")


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ({"a": "12"}, {}, "at least two quasi-identifiers"),
        (FIRST, {"max_size": 5}, "between 1 and 4"),
        (FIRST, {"max_size": 0}, "between 1 and 4"),
        (FIRST, {"scores": "sum"}, "choose one of 'elliot', 'ihsn'"),
        (FIRST, {"sampling_fraction": 1.5}, "sampling fraction"),
        ({f"q{i}": "12" for i in range(23)}, {}, r"8388607 sets, .* bound their size \(max_size=3\)"),
        ({f"q{i}": "12" for i in range(65)}, {"max_size": 1}, "at most 64"),
    ],
)
def test_bad_input_is_refused(columns: dict[str, str], options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        found(columns, **options)


def test_many_columns_with_bounded_sets() -> None:
    assert found({f"q{i}": "122" for i in range(23)}, max_size=2).scores[0] > 0


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = tmp_path / "in.parquet", tmp_path / "rows.csv"
    pq.write_table(pa.table({name: list(column) for name, column in SECOND.items()}), path)
    words = ["suda", str(path), "--quasi", "a,b,c", "--sampling-fraction", "0.05", "--riskiest", "1"]
    assert main([*words, "--json", "--per-row", str(out)]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["total_score"] == 7
    assert [row["row"] for row in told["riskiest"]] == [7]
    assert out.read_text().splitlines()[0] == '"row","score","dis"'
    assert main(words) == 0
    shown = capsys.readouterr().out
    assert "Contribution to all scores" in shown
    assert "The riskiest rows" in shown
    assert main(["suda", str(path), "--quasi", "a"]) == 2
    assert "at least two" in capsys.readouterr().err
    many = pa.table({f"q{i}": ["1", "2"] for i in range(23)})
    pq.write_table(many, path)
    assert main(["suda", str(path), "--quasi", ",".join(many.column_names)]) == 2
    assert "--max-size 3" in capsys.readouterr().err
    assert main(["suda", str(path), "--quasi", ",".join(many.column_names), "--max-size", "3"]) == 0


def test_a_notebook_shows_numbers_without_values() -> None:
    measured = found({"a": ["secret", "x", "x"], "b": ["y", "y", "z"]})  # type: ignore[dict-item]
    html = measured._repr_html_()
    assert "The riskiest rows" in html
    assert "secret" not in html
    assert repr(measured).startswith("Suda(n_rows=3, n_unique=3")
    assert np.isfinite(measured.scores).all()
