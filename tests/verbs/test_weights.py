# SPDX-License-Identifier: Apache-2.0
"""Sampling weights: what is published of them, and what they change of the measures."""

from __future__ import annotations

import warnings
from collections import Counter
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anon


def sample(n: int = 150, kind: str = "integer") -> pa.Table:
    rng = np.random.default_rng(0)
    weights: Any = rng.integers(1, 60, n)
    if kind == "float":
        weights = rng.random(n) * 10 + 0.1
    elif kind == "decimal":
        weights = pa.array(
            [Decimal(int(w)).scaleb(-2) for w in rng.integers(1, 9000, n)], pa.decimal128(9, 2)
        )
    return pa.table(
        {
            "age": rng.integers(18, 90, n),
            "sex": rng.choice(["f", "m"], n),
            "disease": rng.choice(["a", "b", "c"], n),
            "w": weights,
        }
    )


SCHEMA = anon.Schema(["age", "sex"], ["disease"], sampling_weight="w")


def by_class(release: anon.Release, shown: list[Any]) -> list[list[Any]]:
    """The weights of each class, of a release whose rows stand class by class."""
    return [shown[a:b] for a, b in pairwise(release.classes.offsets)]


@pytest.mark.parametrize("kind", ["integer", "decimal", "float"])
@pytest.mark.parametrize("engine", ["local", "stream"])
def test_a_class_shows_its_mean(tmp_path: Path, kind: str, engine: Any) -> None:
    table = sample(kind=kind)
    pq.write_table(table, tmp_path / "in.parquet")
    source = anon.read_source(tmp_path / "in.parquet", engine=engine)
    release = anon.anonymize(source, SCHEMA, require=[anon.KAnonymity(5)])
    release.write(tmp_path / "out.parquet")
    written = pq.read_table(tmp_path / "out.parquet")
    assert written.schema.field("w").type == table.schema.field("w").type
    true = table["w"].to_pylist()
    unit = {"integer": 1, "decimal": Decimal("0.01"), "float": 0}[kind]
    for rows, shown in zip(
        pairwise(release.classes.offsets), by_class(release, written["w"].to_pylist()), strict=True
    ):
        weights = [true[row] for row in release.classes.rows[slice(*rows)]]
        assert max(shown) - min(shown) <= unit
        if kind == "float":
            assert sum(shown) == pytest.approx(sum(weights))
        else:
            assert sum(shown) == sum(weights)
    assert release.metadata["weights"] == "class-mean"


def test_kept_weights_are_warned_of() -> None:
    table = sample()
    with pytest.warns(anon.PrivacyWarning, match="keeps its weights") as caught:
        release = anon.anonymize(table, SCHEMA, require=[anon.KAnonymity(5)], weights="keep")
    shown = by_class(release, release.table["w"].to_pylist())
    alone = sum(count == 1 for weights in shown for count in Counter(weights).values())
    assert any(f"{alone} of 150 rows are alone" in str(one.message) for one in caught)
    assert Counter(release.table["w"].to_pylist()) == Counter(table["w"].to_pylist())
    with pytest.raises(anon.UsageError, match="weights must be one of class-mean, keep"):
        anon.anonymize(table, SCHEMA, require=[anon.KAnonymity(5)], weights="mean")  # type: ignore[arg-type]


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 9), st.sampled_from("ab"), st.integers(1, 5), st.sampled_from("xyz")),
        min_size=3,
        max_size=24,
    )
)
def test_weighted_measures_are_those_of_rows_repeated(rows: list[tuple[int, str, int, str]]) -> None:
    """A row of weight w counts as w rows of the same class do."""
    age, sex, weight, disease = map(list, zip(*rows, strict=True))
    table = pa.table({"age": age, "sex": sex, "w": weight, "disease": disease})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", anon.PrivacyWarning)
        release = anon.anonymize(table, SCHEMA, require=[anon.KAnonymity(2)])
    repeated = [row for row, w in enumerate(weight) for _ in range(w)]
    of_class = {
        row: c
        for c, (a, b) in enumerate(pairwise(release.classes.offsets))
        for row in release.classes.rows[a:b].tolist()
    }
    again = pa.table(
        {"class": [of_class[row] for row in repeated], "disease": [disease[row] for row in repeated]}
    )
    expected = anon.check(again, anon.Schema([anon.nominal("class")], ["disease"]))
    measured = release.privacy().weighted
    assert measured.a_acc == pytest.approx(expected.a_acc, abs=1e-12)
    assert measured.a_know == pytest.approx(expected.a_know, abs=1e-12)
    lost = 0.0
    for cells in release.cells:
        domain = cells.domain
        for row, w in enumerate(weight):
            at = cells.of_class[of_class[row]]
            if domain.positions is not None:
                span = float(domain.positions[-1])
                lost += (
                    w
                    * float(domain.positions[cells.high[at]] - domain.positions[cells.low[at]])
                    / (span or 1)
                )
            else:
                n_codes = cells.set_offsets[at + 1] - cells.set_offsets[at]
                lost += w * (n_codes - 1) / max(domain.n_values - 1, 1)
    assert release.utility().weighted.gcp == pytest.approx(lost / sum(weight) / 2)
    assert release.utility().weighted.n == sum(weight)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([2, 0, 3], "'w', the sampling weight, is not a finite number above 0 in row 2"),
        ([2, None, None], r"in 2 rows, the first of them row 2 \(2 missing\)"),
        ([2.0, 1.0, float("inf")], "in row 3"),
        (["a", "b", "c"], "has type string; cast it to numbers"),
    ],
)
def test_bad_weights(weights: list[Any], message: str) -> None:
    table = pa.table({"age": [1, 1, 1], "w": weights})
    with pytest.raises(anon.DataError, match=message):
        anon.anonymize(table, anon.Schema(["age"], sampling_weight="w"), require=[anon.KAnonymity(2)])


def test_a_weight_has_no_other_role() -> None:
    for roles in (
        {"quasi": ["w"]},
        {"quasi": ["a"], "sensitive": ["w"]},
        {"quasi": ["a"], "identifying": ["w"]},
    ):
        with pytest.raises(anon.UsageError, match="'w' is named as sampling_weight and as"):
            anon.Schema(**roles, sampling_weight="w")
