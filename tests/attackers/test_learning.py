# SPDX-License-Identifier: Apache-2.0
"""Learning across buckets: beats the buckets where the other columns tell, and nothing where they do not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import anon
from anon.attackers import learning
from anon.attackers.learning import _balanced, _likeliest

pytestmark = pytest.mark.filterwarnings("ignore::anon.PrivacyWarning")

TOLD = ["age", "sex", "race", "marital_status", "education", "workclass", "postcode"]


def bucketized(table: pa.Table, schema: anon.Schema, l: int = 3) -> dict[str, Any]:
    release = anon.anonymize(table, schema, method=anon.Anatomy(l), publish="bucketization")
    return {"released": release.table, "sensitive_table": release.sensitive_table}


@pytest.fixture(scope="module")
def census() -> pa.Table:
    return anon.datasets.census(1_500, 1).select([*TOLD, "relationship"])


def test_a_value_that_the_others_tell_is_learned(census: pa.Table) -> None:
    schema = anon.Schema(TOLD, ["relationship"])
    [found] = learning(census, schema=schema, **bucketized(census, schema)).values()
    assert found.target.tries == 1_500
    assert found.target.low > 0.8
    assert 0.3 < found.naive.rate < 0.4  # l = 3 promises a third
    assert found.risk is not None
    assert found.risk.low > 0.7
    assert found.verdict == "not compared"
    assert "requirements do not bound it" in found.words


def test_a_value_that_nothing_tells_is_not(census: pa.Table) -> None:
    rng = np.random.default_rng(0)
    at = census.column_names.index("relationship")
    mixed = census["relationship"].take(pa.array(rng.permutation(census.num_rows)))
    table = census.set_column(at, "relationship", mixed)
    schema = anon.Schema(TOLD, ["relationship"])
    found = learning(table, schema=schema, **bucketized(table, schema))["relationship"]
    assert found.target.low < found.naive.high + 0.05
    assert found.target.rate < 0.45
    # who is guessed worse than by the buckets alone has failed, and nothing is said to be safe
    failed = anon.attackers.Learning("s", found.naive, found.naive)
    assert failed.verdict == "attack failed"
    assert "not to say that the release is safe" in failed.words


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
    found = learning(table, tmp_path / "r.csv", schema)
    assert list(found) == ["ill"]
    assert found["ill"].target.tries == n


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
    with pytest.raises(anon.UsageError, match="attacks bucketizations"):
        learning(census, release.table, schema)
    with pytest.raises(anon.UsageError, match=r"an anon\.Schema"):
        learning(census, release.table, TOLD)  # type: ignore[arg-type]
