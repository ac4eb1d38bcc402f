# SPDX-License-Identifier: Apache-2.0
"""Sampling weights: what is published of them, and what they change of the measures."""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import replace
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
from anon.classes import Classes, Published, counts_of
from anon.workload import answer, random_queries


def sample(n: int = 150, kind: str = "integer") -> pa.Table:
    rng = np.random.default_rng(0)
    weights: Any = rng.integers(1, 60, n)
    if kind == "float":
        weights = rng.random(n) * 10 + 0.1
    elif kind == "single":
        weights = pa.array(rng.random(n) * 10 + 0.1, pa.float32())
    elif kind == "half":
        weights = pa.array((rng.random(n) * 10 + 0.1).astype(np.float16))
    elif kind == "large":
        weights = rng.integers(2**60, 2**63, n)
    elif kind == "long decimal":
        weights = pa.array([Decimal(int(w)) / 2**20 for w in rng.integers(1, 9000, n)], pa.decimal128(38, 24))
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


UNIT: dict[str, Any] = {
    "integer": 1,
    "large": 1,
    "decimal": Decimal("0.01"),
    "long decimal": Decimal(1).scaleb(-24),
    "float": 0,
    "single": 0,
    "half": 0,
}


@pytest.mark.parametrize("kind", UNIT)
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
    for rows, shown in zip(
        pairwise(release.classes.offsets), by_class(release, written["w"].to_pylist()), strict=True
    ):
        weights = [true[row] for row in release.classes.rows[slice(*rows)]]
        assert min(shown) >= min(weights)
        assert max(shown) - min(shown) <= UNIT[kind]
        if UNIT[kind] == 0:
            assert sum(shown) == pytest.approx(sum(weights), rel=1e-3 if kind == "half" else 1e-6)
        else:
            assert sum(shown) == sum(weights)
    assert release.metadata["weights"] == "class-mean"


def test_means_add_nothing_to_what_is_known() -> None:
    """The mean of a class tells no row of it from another; weights that are kept do."""
    table = sample()
    shown = anon.anonymize(table, SCHEMA, require=[anon.KAnonymity(5)])
    assert shown.privacy(neutral=True).known is None
    assert shown.summary()["published unchanged"] == []
    assert not any("narrows" in each for each in shown.warnings)
    beside = anon.Schema(["age"], ["disease"], neutral=["sex"], sampling_weight="w")
    alike = anon.Schema(["age"], ["disease"], neutral=["sex"])
    one, other = (
        anon.anonymize(table, each, require=[anon.KAnonymity(5)]).privacy(neutral=True).known
        for each in (beside, alike)
    )
    assert one is not None
    assert one == other
    with pytest.warns(anon.PrivacyWarning, match="keeps its weights"):
        kept = anon.anonymize(table, SCHEMA, require=[anon.KAnonymity(5)], weights="keep")
    known = kept.privacy(neutral=True).known
    assert known is not None
    assert known.sample_uniques


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


def repeated_release(release: anon.Release) -> Published:
    """What is published, with every row as often as its weight says, in the same classes and cells."""
    original, classes = release.encoded.original, release.classes
    assert original.weights is not None
    times = original.weights.astype(int)
    starts = np.concatenate([[0], np.cumsum(times)])
    rows = [np.arange(starts[row], starts[row + 1]) for row in classes.rows]
    bounds = np.concatenate([[0], np.cumsum(times[classes.rows])])[classes.offsets]
    many = replace(
        original,
        table=original.table.take(pa.array(np.repeat(np.arange(len(times)), times))),
        quasi_codes=tuple(np.repeat(codes, times) for codes in original.quasi_codes),
        sensitive_codes=tuple(np.repeat(codes, times) for codes in original.sensitive_codes),
        weights=None,
    )
    of_many = Classes(np.concatenate(rows).astype(np.uint32), bounds.astype(np.int64), np.empty(0, np.uint32))
    shown = release.published
    return replace(
        shown,
        original=many,
        classes=of_many,
        counts=counts_of(many, of_many),
        intact=None if shown.intact is None else many.quasi_codes,
        weights=None,
    )


@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, 2**32), st.sampled_from(["generalization", "bucketization"]), st.sampled_from([0.05, 0.3])
)
def test_weighted_estimates_are_those_of_rows_repeated(seed: int, publish: Any, min_support: float) -> None:
    rng = np.random.default_rng(seed)
    table = pa.table(
        {
            "age": rng.integers(0, 12, 40),
            "sex": rng.choice(["f", "m"], 40),
            "city": rng.choice(["a", "b", "c", "d"], 40),
            "disease": rng.choice(["x", "y", "z"], 40),
            "income": rng.integers(0, 5, 40),
            "w": rng.integers(1, 6, 40),
        }
    )
    tree = {"*": {"ab": ["a", "b"], "cd": ["c", "d"]}}
    schema = anon.Schema(
        [anon.numeric("age", hierarchy=anon.intervals(3, 6)), "sex", anon.nominal("city", hierarchy=tree)],
        ["disease", "income"],
        sampling_weight="w",
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", anon.PrivacyWarning)
        release = anon.anonymize(table, schema, require=[anon.KAnonymity(4)], publish=publish)
    many = repeated_release(release)
    weighted = release.utility(min_support=min_support).weighted
    assert weighted.u_loss == pytest.approx(anon.u_loss(many, min_support).u_loss, abs=1e-12)
    workload = random_queries(many.original, 2, 0.2, n=25, seed=seed)
    ours, expected = answer(workload, release).weighted, answer(workload, many)
    for name in ("true", "estimated", "least", "most"):
        assert getattr(ours, name) == pytest.approx(getattr(expected, name), abs=1e-9)
    assert ours.average == pytest.approx(expected.average)
    if publish == "generalization":
        assert expected.weighted is None
        assert "weighted" not in expected.to_dict()


def test_compare_pairs_weights_with_the_rows_of_the_file(tmp_path: Path) -> None:
    """The rows of a file stand class by class, not as in the original."""
    table = sample(60)
    release = anon.anonymize(table, SCHEMA, require=[anon.KAnonymity(5)])
    release.write(tmp_path / "out.parquet")
    compared = anon.compare(table, tmp_path / "out.parquet", SCHEMA).weighted
    ours = release.utility().weighted
    assert compared.gcp == pytest.approx(ours.gcp)
    assert compared.n == ours.n
    # within a class the file shows means: about the same, as sensitive values go with other weights
    assert compared.u_loss == pytest.approx(ours.u_loss, abs=0.02)
    told = anon.compare(table, tmp_path / "out.parquet", SCHEMA).to_dict()["weighted"]
    assert told == {"n": compared.n, "gcp": compared.gcp, "u_loss": compared.u_loss}


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([2, 0, 3], "'w', the sampling weight, is not a finite number above 0 in row 2"),
        ([2, None, None], r"in 2 rows, the first of them row 2 \(2 missing\)"),
        ([2.0, 1.0, float("inf")], "in row 3"),
        ([1e308, 1e308, 1.0], "'w', the sampling weight, adds up to more than a float holds"),
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


@pytest.mark.parametrize("kind", ["float", "single"])
def test_the_order_that_is_drawn_does_not_show_in_a_mean(kind: str) -> None:
    """Floats are added up in the order of the table: a job that is run again shows the same digits."""
    made = [
        anon.anonymize(sample(400, kind), SCHEMA, require=[anon.KAnonymity(20)], order="input").table["w"]
        for _ in range(3)
    ]
    assert made[0].equals(made[1])
    assert made[0].equals(made[2])
