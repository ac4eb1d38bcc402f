# SPDX-License-Identifier: Apache-2.0
"""Small tables of people on which a release that meets every requirement gave somebody away."""

from __future__ import annotations

import datetime as dt
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import anon


def released(table: pa.Table, schema: anon.Schema, k: int) -> tuple[anon.Release, str]:
    """The release, and all that is warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", anon.PrivacyWarning)
        release = anon.anonymize(table, schema, require=[anon.KAnonymity(k)])
    return release, "\n".join(str(one.message) for one in caught)


def test_trap_36_an_id_that_repeats() -> None:
    table = pa.table({"patient_id": [1, 1, 1, 2, 2, 2], "age": [30, 31, 32, 40, 41, 42], "dx": [*"abcabc"]})
    roles = {column.name: column.role for column in anon.inspect(table).columns}
    assert roles == {"patient_id": "identifying", "age": "quasi-identifying", "dx": "sensitive"}
    _, said = released(table, anon.Schema(["age"], ["dx"], neutral=["patient_id"]), 3)
    assert "column 'patient_id' is neutral but by its name it identifies people" in said


@pytest.mark.parametrize("name", ["patient", "x"])
@pytest.mark.parametrize("role", ["identifying", "neutral"])
def test_trap_37_a_class_of_15_visits_is_three_patients(name: str, role: str) -> None:
    patient = np.repeat(np.arange(200), 5)
    visits = np.random.default_rng(0).integers(0, 4, 1000).astype(str)
    table = pa.table({name: patient, "age": 18 + patient % 66, "dx": visits})
    roles: dict[str, Any] = {role: [name]}
    release, said = released(table, anon.Schema(["age"], ["dx"], **roles), 5)
    assert release.privacy().k == 15
    fact = "repeats inside classes, and k counts rows: counted by it the release has k = 3"
    assert f"column {name!r} {fact}" in said
    asked = anon.Schema(["age"], ["dx"], unit=name)
    counted = anon.anonymize(table, asked, require=[anon.KAnonymity(5)]).privacy().units
    assert counted is not None
    assert counted.k >= 5


def test_trap_50_names_and_amounts() -> None:
    table = {
        "first": ["Ann", "Bob", "Cy", "Di", "Ann", "Ed", "Flo", "Gus"],
        "last": ["Roe", "Doe", "Roe", "Poe", "Doe", "Coe", "Roe", "Doe"],
        "dob": [dt.date(1950 + year, 1, 1) for year in (31, 44, 27, 52, 63, 31, 27, 44)],
        "telephone": ["yes", "none"] * 4,
        "expend": [1201, 2310, 3412, 4590, 5001, 6313, 7045, 8277],
        "wave": [3] * 8,
    }
    columns = {column.name: column for column in anon.inspect(pa.table(table)).columns}
    assert {name: column.role for name, column in columns.items()} == {
        "first": "identifying",
        "last": "identifying",
        "dob": "quasi-identifying",
        "telephone": "neutral",
        "expend": "sensitive",
        "wave": "neutral",
    }
    assert columns["dob"].why.startswith("its name has 'dob': age, sex, origin or a date of life")


def test_trap_51_a_neutral_column_that_is_a_quasi_identifier() -> None:
    rng = np.random.default_rng(0)
    grade = rng.integers(0, 16, 400)
    table = pa.table(
        {
            "education": [f"e{one}" for one in grade],
            "education-num": grade,
            "age": rng.integers(18, 80, 400),
            "dx": rng.integers(0, 3, 400).astype(str),
        }
    )
    release, said = released(table, anon.Schema(["education", "age"], ["dx"], neutral=["education-num"]), 5)
    measured = release.privacy(neutral=True)
    assert measured.k >= 5
    assert measured.known is not None
    assert measured.known.k == 1
    assert "column 'education-num' is neutral and narrows 'education' inside classes" in said
    assert "--linked education=education-num" in said


@pytest.mark.parametrize("kind", [pa.int64(), pa.string(), pa.date32(), pa.null()])
def test_trap_48_a_column_without_values(kind: pa.DataType, tmp_path: Path) -> None:
    table = pa.table({"age": pa.nulls(4, kind), "sex": [*"mmff"], "dx": pa.nulls(4, kind)})
    roles = anon.Schema(["age", "sex"], ["dx"])
    measured = anon.check(table, roles)
    assert (measured.k, measured.l_distinct) == (2, 1)
    for method in (anon.Curve(), anon.Mondrian(), anon.KMembers(), anon.FullDomain()):
        release = anon.anonymize(table, roles, require=[anon.KAnonymity(2)], method=method)
        for suffix in ("csv", "parquet", "feather"):
            release.write(tmp_path / f"r.{suffix}")
            assert anon.check(tmp_path / f"r.{suffix}", roles).k == 2
        assert anon.read_table(tmp_path / "r.csv")["sex"].to_pylist() in ([*"mmff"], [*"ffmm"])
    assert anon.compare(table, tmp_path / "r.parquet", roles).gcp == 0


def test_trap_39_one_value_and_missing_ones_are_shown_as_they_are(tmp_path: Path) -> None:
    table = {"smoker": ["yes", "yes", None, None], "age": [1, 2, 3, 4]}
    roles = anon.Schema(["smoker", "age"])
    release = anon.anonymize(table, roles, require=[anon.KAnonymity(2)])
    for suffix in ("csv", "parquet", "feather"):
        release.write(tmp_path / f"r.{suffix}")
        assert anon.check(tmp_path / f"r.{suffix}", roles).k == 2
    assert {*anon.read_table(tmp_path / "r.csv")["smoker"].to_pylist()} == {"yes", "missing"}


@pytest.mark.parametrize("age", [["*"] * 4, [None] * 4])
def test_a_column_that_another_tool_suppressed_is_lost(age: list[str | None]) -> None:
    original = {"age": [1, 2, 3, 4], "sex": [*"mmff"]}
    compared = anon.compare(original, {"age": age, "sex": [*"mmff"]}, anon.Schema(["age", "sex"]))
    assert compared.by_attribute["age"].ncp == 1
    assert compared.by_attribute["sex"].ncp == 0


@pytest.mark.filterwarnings("ignore::anon.PrivacyWarning")
def test_trap_55_days_and_one_zone_everywhere(tmp_path: Path) -> None:
    berlin = pa.timestamp("us", "Europe/Berlin")
    table = pa.table(
        {
            "stay": [dt.timedelta(days=1 + 2 * (i % 2)) for i in range(4)],
            "ward": [dt.timedelta(hours=12 + i) for i in range(4)],
            "clock": [dt.time(12 + i, 30) for i in range(4)],
            "seen": pa.array([dt.datetime(2020, 1, 1, i) for i in range(4)], berlin),
            "left": pa.array([dt.datetime(2020, 7, 1, i // 2) for i in range(4)], berlin),
        }
    )
    roles = anon.Schema(["stay", "ward", "clock", "seen"], neutral=["left"])
    release = anon.anonymize(table, roles, require=[anon.KAnonymity(2)], method=anon.Mondrian())
    release.write(tmp_path / "r.csv")
    text = (tmp_path / "r.csv").read_text()
    assert {*anon.read_table(tmp_path / "r.csv")["stay"].to_pylist()} <= {"1 day", "3 days", "*"}
    assert "hours" in text
    assert "us" not in text
    assert ":30:00" in text
    assert "+0" not in text
    assert text.count("Z") >= 8
    assert anon.compare(table, tmp_path / "r.csv", roles).gcp == pytest.approx(release.utility().gcp)


def test_pandas_days_and_whole_numbers_that_miss_values() -> None:
    import pandas as pd

    frame = pd.DataFrame(
        {
            "born": pd.to_datetime(["2020-01-01", None, "2020-03-01"]),
            "seen": pd.to_datetime(["2020-01-01 12:00", None, "2020-03-01 00:00"]),
            "children": [1, None, 3],
            "height": [1.5, None, 2],
            "whole": [1.0, 2.0, 3.0],
            "none": [float("nan")] * 3,
        }
    )
    seen = str(pa.Array.from_pandas(frame["seen"]).type)
    kinds = [str(kind) for kind in anon.read_table(frame).schema.types]
    assert kinds == ["date32[day]", seen, "int64", "double", "double", "double"]
    assert anon.read_table(frame)["children"].to_pylist() == [1, None, 3]
