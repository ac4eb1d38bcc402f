# SPDX-License-Identifier: Apache-2.0
"""k-map and individual risk as requirements: values of the definitions, and releases that are checked."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anon
from anon.classes import individual_risk
from anon.errors import InfeasibleError, UsageError
from anon.release.recheck_requirements import OF_ROWS

AGES = {"age": list(range(20, 60)) * 3, "sex": list("mf") * 60}
SCHEMA = anon.Schema([anon.numeric("age"), "sex"])


@pytest.mark.parametrize(
    ("k", "fraction", "significance", "truncated", "plain"),
    [
        (5, 0.1, 0.05, 3, 3),
        (10, 0.2, 0.05, 6, 6),
        (5, 0.5, 0.01, 5, 5),
        (20, 0.1, 0.1, 5, 5),
        (20, 0.2, 0.05, 9, 9),
    ],
)
def test_rows_for_a_k_map(k: int, fraction: float, significance: float, truncated: int, plain: int) -> None:
    assert anon.KMap(k, fraction, significance).least_rows == truncated
    assert anon.KMap(k, fraction, significance, truncated=False).least_rows == plain


def test_the_risk_of_the_least_rows_is_just_small_enough() -> None:
    asked = anon.MaxRisk(0.02, 0.1)
    rows = asked.least_rows
    risk = individual_risk([rows - 1, rows], [10 * (rows - 1), 10 * rows])
    assert risk[0] > 0.02 >= risk[1]
    assert anon.MaxRisk(0.2, 1).least_rows == 5  # the sample is the population: 1/f
    assert anon.MaxRisk(1, 0.5).least_rows == 1


@given(st.integers(1, 60), st.floats(0.01, 1), st.floats(0.001, 0.5), st.floats(0.002, 1), st.booleans())
def test_the_recheck_agrees(
    k: int, fraction: float, significance: float, threshold: float, truncated: bool
) -> None:
    sizes = np.arange(1, 200)
    for asked in (
        anon.KMap(k, fraction, significance, truncated),
        anon.MaxRisk(threshold, fraction),
    ):
        passes = OF_ROWS[type(asked).__name__](asked, sizes)
        assert (passes == (sizes >= asked.least_rows)).all(), asked


@pytest.mark.parametrize("asked", [anon.KMap(10, 0.2), anon.MaxRisk(0.03, 0.1)])
@pytest.mark.parametrize("method", [anon.Mondrian(), anon.Curve(), anon.KMembers()])
def test_a_release_meets_it(asked: Any, method: Any, tmp_path: Any) -> None:
    release = anon.anonymize(AGES, SCHEMA, require=[asked], method=method)
    assert release.privacy().k >= asked.least_rows > 1
    release.write(tmp_path / "out.parquet")
    checked = anon.check(tmp_path / "out.parquet", SCHEMA, require=[asked, anon.KMap(1000, 0.2)])
    assert checked.unmet == (str(anon.KMap(1000, 0.2)),)
    assert release.utility().k_source == "measured"
    compared = anon.compare(AGES, tmp_path / "out.parquet", SCHEMA)
    assert compared.c_avg == release.utility().c_avg


def test_what_no_table_can_meet_says_what_it_could() -> None:
    table = pa.table({"age": [1, 2, 3], "sex": list("mmf")})
    with pytest.raises(InfeasibleError, match="so the largest k is 5") as raised:
        anon.anonymize(table, SCHEMA, require=[anon.KMap(100, 0.1)])
    assert anon.KMap(raised.value.tightest, 0.1).least_rows == 3
    assert anon.KMap(raised.value.tightest + 1, 0.1).least_rows > 3
    with pytest.raises(InfeasibleError, match="so the least risk is") as raised:
        anon.anonymize(table, SCHEMA, require=[anon.MaxRisk(0.001, 0.1)])
    assert anon.MaxRisk(raised.value.tightest, 0.1).least_rows == 3


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        (anon.KMap, {"k": 0}),
        (anon.KMap, {"sampling_fraction": 0}),
        (anon.KMap, {"sampling_fraction": 1.1}),
        (anon.KMap, {"significance": 0}),
        (anon.MaxRisk, {"threshold": 0}),
        (anon.MaxRisk, {"threshold": 1.5}),
        (anon.MaxRisk, {"sampling_fraction": -1}),
    ],
)
def test_parameters_without_meaning_are_refused(kind: Any, wrong: dict[str, Any]) -> None:
    right: Any = anon.KMap(5, 0.1) if kind is anon.KMap else anon.MaxRisk(0.1, 0.1)
    with pytest.raises(UsageError):
        dataclasses.replace(right, **wrong)
