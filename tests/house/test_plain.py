# SPDX-License-Identifier: Apache-2.0
"""Results as JSON: the rule for numbers that JSON lacks, and that every result keeps it."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anon
from anon import datasets
from anon.command.entry import main
from anon.measures import answers, workload
from anon.plain import as_plain

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
NESTED = st.recursive(
    SCALARS,
    lambda inside: st.lists(inside) | st.lists(inside).map(tuple) | st.dictionaries(st.text(), inside),
)


@dataclass
class Held:
    loss: float
    parts: tuple[Any, ...]


def test_numbers_that_json_lacks_by_hand() -> None:
    held = Held(math.inf, (math.nan, -math.inf, np.float64("inf"), 0.5, {2: math.nan}))
    assert as_plain(held) == {"loss": "inf", "parts": [None, "-inf", "inf", 0.5, {"2": None}]}


@given(NESTED)
def test_what_is_plain_is_what_json_reads_back(value: Any) -> None:
    plain = as_plain(value)
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert as_plain(plain) == plain


def results() -> dict[str, Any]:
    people = datasets.census(200, 0).select(["age", "sex", "occupation"])
    schema = anon.Schema(quasi=["age", "sex"], sensitive=["occupation"])
    release = anon.anonymize(people, schema, require=[anon.KAnonymity(5)])
    encoded = release.encoded
    queries = workload.random_queries(encoded, 1, 0.1, 5)
    return {
        "privacy": release.privacy(),
        "utility": release.utility(),
        "answers": answers.answer(queries, release),
        "frontier": anon.frontier(people, schema, "k=5,300", measures=["beta", "kl", "delta"]),
        "inspection": anon.inspect(people),
    }


@pytest.mark.parametrize("of", ["privacy", "utility", "answers", "frontier", "inspection"])
def test_every_result_is_ready_for_json(of: str) -> None:
    told = results()[of].to_dict()
    assert json.loads(json.dumps(told, allow_nan=False)) == told


def test_a_failure_is_ready_for_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pq.write_table(datasets.census(20, 0), tmp_path / "people.parquet")
    words = ["anonymize", str(tmp_path / "people.parquet"), "-o", str(tmp_path / "release.parquet")]
    assert main([*words, "--quasi", "age", "--k", "50", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["requirement"], told["tightest"]) == ("50-anonymity", 20)
