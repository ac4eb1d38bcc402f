# SPDX-License-Identifier: Apache-2.0
"""Learning across buckets: beats the buckets where the other columns tell, and nothing where they do not."""

from __future__ import annotations

from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import anon
from anon.attackers import Attack, Learning, Linkability
from anon.attackers.learning import _balanced, _likeliest

pytestmark = pytest.mark.filterwarnings("ignore::anon.PrivacyWarning")

TOLD = ["age", "sex", "race", "marital_status", "education", "workclass", "postcode"]


def learned(table: pa.Table, schema: anon.Schema, **more: Any) -> Attack:
    release = anon.anonymize(table, schema, method=anon.Anatomy(3), publish="bucketization")
    attacked = anon.attack(table, release, attacks=["learning"], **more)
    assert attacked.notes == ()
    assert attacked.learning is not None
    return attacked.learning


@pytest.fixture(scope="module")
def census() -> pa.Table:
    return anon.datasets.census(1_500, 1).select([*TOLD, "relationship"])


def test_a_value_that_the_others_tell_is_learned(census: pa.Table) -> None:
    found = learned(census, anon.Schema(TOLD, ["relationship"]), control=census.slice(0, 100))
    assert found.target.tries == 1_500
    assert found.target.low > 0.8
    assert 0.3 < found.naive.rate < 0.4  # l = 3 promises a third
    assert found.risk is not None
    assert found.risk.low > 0.7
    assert found.verdict == "attack succeeded"
    assert found.control is None
    assert found.worst == "relationship"
    assert "cannot be tried. Risk over the naive attacker: " in found.words


def test_a_value_that_nothing_tells_is_not(census: pa.Table) -> None:
    rng = np.random.default_rng(0)
    at = census.column_names.index("relationship")
    mixed = census["relationship"].take(pa.array(rng.permutation(census.num_rows)))
    table = census.set_column(at, "relationship", mixed)
    found = learned(table, anon.Schema(TOLD, ["relationship"]), targets=700)
    assert found.target.tries == 700
    assert found.target.low < found.naive.high + 0.05
    assert found.target.rate < 0.45


def test_a_large_release_is_learned_from_a_sample(census: pa.Table) -> None:
    schema = anon.Schema(TOLD, ["relationship"])
    release = anon.anonymize(census, schema, method=anon.Anatomy(3), publish="bucketization")
    whole, sampled, same, again = (
        anon.attack(census, release, attacks=[Learning(most_rows=most)], seed=seed, n_threads=n).learning
        for most, seed, n in ((None, 0, 1), (400, 0, 1), (400, 0, 2), (400, 1, 1))
    )
    assert whole is not None
    assert sampled is not None
    assert again is not None
    assert sampled == same
    assert dict(whole.facts) == {"n_trained": 1_500, "n_rows": 1_500}
    assert whole.more == ""
    assert 390 <= sampled.facts["n_trained"] <= 400
    assert sampled.facts["n_rows"] == 1_500
    assert f"trained on {sampled.facts['n_trained']} of 1,500 rows" in sampled.words
    assert sampled.target.tries == 1_500
    assert again.target != sampled.target
    with pytest.raises(anon.UsageError, match="most_rows"):
        Learning(most_rows=0)


def test_a_sample_teaches_nearly_as_much(census: pa.Table) -> None:
    """Of nine releases: buckets are drawn, and one release in ten teaches a sample of its rows less."""
    schema = anon.Schema(TOLD, ["relationship"])
    rates: dict[int | None, list[float]] = {None: [], 400: []}
    for _ in range(9):
        release = anon.anonymize(census, schema, method=anon.Anatomy(3), publish="bucketization")
        for most, of_release in rates.items():
            found = anon.attack(census, release, attacks=[Learning(most_rows=most)]).learning
            assert found is not None
            of_release.append(found.target.rate)
    assert median(rates[None]) > median(rates[400]) > 0.75


def test_one_bucket_is_drawn_however_large(census: pa.Table) -> None:
    release = anon.anonymize(
        census, anon.Schema(TOLD, ["relationship"]), require=[anon.KAnonymity(700)], publish="bucketization"
    )
    found = anon.attack(census, release, attacks=[Learning(most_rows=2)]).learning
    assert found is not None
    assert 700 <= found.facts["n_trained"] < 1_500


def test_files(tmp_path: Path) -> None:
    n = 60
    rng = np.random.default_rng(3)
    columns = {
        "sex": rng.choice(["f", "m"], n),
        "age": rng.integers(20, 60, n),
        "ill": rng.choice(list("xyz"), n),
    }
    table, schema = pa.table(columns), anon.Schema(["sex", "age"], ["ill"])
    anon.anonymize(table, schema, method=anon.Anatomy(2), publish="bucketization").write(tmp_path / "r.csv")
    attacked = anon.attack(table, tmp_path / "r.csv", schema)
    assert attacked.learning is not None
    assert [*attacked.learning.parts] == ["ill"]
    assert attacked.learning.target.tries == n
    assert "learning" in attacked.to_dict()
    with pytest.raises(anon.UsageError, match="no sensitive attribute 'age'"):
        anon.attack(table, tmp_path / "r.csv", schema, attacks=[Learning(["age"])])


def test_the_counts_of_buckets_are_kept() -> None:
    rng = np.random.default_rng(1)
    counted = np.array([[1.0, 2.0, 1.0], [2.0, 1.0, 1.0]])
    share = _balanced(rng.normal(size=(2, 4, 3)), counted)
    assert share.sum(axis=2) == pytest.approx(np.ones((2, 4)))
    assert share.sum(axis=1) == pytest.approx(counted, abs=1e-3)


def test_ties_go_to_the_least_code() -> None:
    points, values = np.array([0, 0, 2, 2, 2]), np.array([1, 0, 2, 1, 2])
    shares = np.array([0.5, 0.5, 0.3, 0.5, 0.3])
    assert _likeliest(points, values, shares, 4).tolist() == [0, -1, 2, -1]


def test_a_generalization_is_not_attacked_so(census: pa.Table) -> None:
    schema = anon.Schema(TOLD, ["relationship"])
    release = anon.anonymize(census, schema, require=[anon.KAnonymity(5)], method=anon.Mondrian())
    found = anon.attack(census, release, control=census, attacks=["learning", Linkability()], targets=10)
    assert [*found.attacks] == ["linkability"]
    assert ["bucketizations" in note for note in found.notes] == [True]


def test_people_without_a_row_are_not_tried() -> None:
    """Null is a value as others are; who equals no row of the release has no bucket."""
    table = pa.table({"age": [20, 30, None, 40, 50, 60], "ill": list("xyxyxy")})
    schema = anon.Schema(["age"], ["ill"])
    release = anon.anonymize(table.slice(0, 4), schema, method=anon.Anatomy(2), publish="bucketization")
    found = anon.attack(table, release, attacks=["learning"]).learning
    assert found is not None
    assert found.target.tries == 4
