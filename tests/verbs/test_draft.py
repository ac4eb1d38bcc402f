# SPDX-License-Identifier: Apache-2.0
"""Drafted hierarchies are rows from each value to `*`, and are read as hierarchies."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import anon
from anon.command.entry import main
from anon.errors import DataError, UsageError

ZIPS = [f"{2100 + i:05}" for i in range(60)]
JOBS = ["nurse"] * 60 + ["clerk"] * 37 + ["king"] * 2 + ["pilot"]


def rows_of(values: Any, **options: Any) -> dict[str, tuple[str, ...]]:
    drafted = anon.draft_hierarchy({"x": values}, "x", **options)
    assert [row[0] for row in drafted.rows] == list(dict.fromkeys(row[0] for row in drafted.rows))
    assert {row[-1] for row in drafted.rows} == {"*"}
    for level in range(1, len(drafted.rows[0])):  # each level is made of whole sets of the one before
        above = {row[level - 1]: row[level] for row in drafted.rows}
        assert all(above[row[level - 1]] == row[level] for row in drafted.rows)
    return {row[0]: row[1:] for row in drafted.rows}


def test_codes_by_prefix_and_suffix() -> None:
    assert rows_of(ZIPS)["02117"] == ("0211*", "021*", "02*", "0*", "*")
    assert rows_of(ZIPS, by="suffix", levels=[4, 2])["02117"] == ("*2117", "*17", "*")
    assert rows_of(["1234567890123", "1234567890124"])["1234567890123"][:2] == ("1234567890*", "12345678*")


def test_labels_by_frequency() -> None:
    rows = rows_of(JOBS)
    assert rows["nurse"] == ("nurse", "nurse", "*")
    assert rows["king"] == ("king", "other (below 0.05 of the rows)", "*")
    assert rows_of([*JOBS, "x"], levels=[0.02, 0.5])["king"] == (
        "other (below 0.02 of the rows)",
        "other (below 0.5 of the rows)",
        "*",
    )
    name = "other (below 0.05 of the rows)"
    assert rows_of([*JOBS, name], levels=[0.05])["king"] == (f"{name}'", "*")


def test_numbers_and_days() -> None:
    assert rows_of(list(range(18, 90)))["42"] == ("[40, 45)", "[40, 50)", "[0, 50)", "*")
    assert rows_of([1, 2, 3])["3"] == ("[2, 4)", "*")
    assert rows_of([0.5, 99.5])["99.5"][0] == "[95, 100)"
    assert rows_of([5, 5])["5"] == ("*", "*")
    assert rows_of([18, 50], levels=[7])["18"] == ("[14, 21)", "*")
    born = [dt.date(1930 + i, 1 + i % 12, 1) for i in range(50)]
    assert rows_of(born)["1935-06-01"] == ("1935-06", "1935", "1930s", "*")


def test_missing_values_have_no_place() -> None:
    assert [*rows_of(pa.array(["a", None, "b"]).dictionary_encode())] == ["a", "b"]


@pytest.mark.parametrize(
    ("values", "options", "error", "said"),
    [
        (["a"], {"by": "intervals"}, UsageError, "intervals are for numbers"),
        ([1], {"by": "dates"}, UsageError, "dates are for dates and timestamps"),
        (["a"], {"by": "rank"}, UsageError, "by must be one of intervals"),
        (["a"], {"by": "prefix", "levels": [0]}, UsageError, "numbers of characters above 0"),
        (["a"], {"by": "prefix", "levels": ["a"]}, UsageError, "levels by prefix are numbers"),
        (["a"], {"by": "frequency", "levels": [2]}, UsageError, "shares of the rows between 0 and 1"),
        ([None], {}, DataError, "no values to draft"),
    ],
)
def test_what_cannot_be_drafted(values: list[Any], options: Any, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        anon.draft_hierarchy({"x": values}, "x", **options)


def test_a_draft_is_a_hierarchy_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table, zips, out = (tmp_path / name for name in ("t.csv", "zip.csv", "out.csv"))
    table.write_text("zip;job\n" + "".join(f"{z};{j}\n" for z, j in zip(ZIPS, JOBS, strict=False)))
    assert main(["hierarchy", str(table), "zip", "-o", str(zips), "--by", "suffix", "--levels", "3,1"]) == 0
    assert f"60 values on 4 levels by suffix written to {zips}" in capsys.readouterr().out
    words = ["anonymize", str(table), "-o", str(out), "--quasi", "zip", "--k", "4", "-q"]
    assert main([*words, "--hierarchy", f"zip={zips}"]) == 0
    shown = {cell.strip('"') for cell in anon.read_table(out)["zip"].to_pylist()}
    assert shown == {f"*{i}" for i in range(10)}
    assert main(["hierarchy", str(table), "zip", "-o", str(table)]) == 2
    assert "never overwritten" in capsys.readouterr().err
    assert main(["hierarchy", str(table), "zap", "-o", str(zips)]) == 2
    assert "did you mean 'zip'" in capsys.readouterr().err
