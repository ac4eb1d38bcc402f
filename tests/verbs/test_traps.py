# SPDX-License-Identifier: Apache-2.0
"""Small tables of people on which a release that meets every requirement gave somebody away."""

from __future__ import annotations

import datetime as dt
import warnings
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
