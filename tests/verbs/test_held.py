# SPDX-License-Identifier: Apache-2.0
"""Rows held out of a release, for attackers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import anon
from anon.errors import UsageError

SCHEMA = anon.Schema(["age", "sex"], sensitive=["disease"])


def people(n: int = 200) -> pa.Table:
    rng = np.random.default_rng(0)
    return pa.table(
        {
            "age": rng.integers(18, 90, n),
            "sex": rng.choice(["f", "m"], n),
            "disease": rng.choice(["flu", "cold", "none"], n),
            "person": np.arange(n) // 4,
        }
    )


def test_the_release_is_of_all_rows_and_the_trial_of_the_others() -> None:
    table = people()
    release = anon.anonymize(table, SCHEMA, require=[anon.KAnonymity(5)], control=0.2)
    assert release.table.num_rows == 200
    assert release.control is not None
    assert release.trial is not None
    assert release.control.num_rows == 40
    assert release.control.column_names == table.column_names
    assert release.trial.table.num_rows == 160
    assert release.trial.privacy().k >= 5
    assert release.trial.trial is None
    assert release.held is not None
    both = pa.concat_tables([release.held.original, release.control])
    assert both.sort_by("age").to_pylist() != table.to_pylist()
    assert sorted(map(str, both.to_pylist())) == sorted(map(str, table.to_pylist()))


def test_who_is_held_out_is_drawn_anew_whatever_the_seed() -> None:
    drawn = [
        anon.anonymize(people(), SCHEMA, require=[anon.KAnonymity(5)], control=0.2, seed=7).control
        for _ in range(2)
    ]
    assert drawn[0] != drawn[1]


def test_all_rows_of_a_person_are_held_out_together() -> None:
    schema = anon.Schema(["age", "sex"], sensitive=["disease"], unit="person")
    release = anon.anonymize(people(), schema, require=[anon.KAnonymity(5)], control=0.2)
    assert release.held is not None
    ours, theirs = ({*table["person"].to_pylist()} for table in (release.held.original, release.held.control))
    assert not ours & theirs
    assert len(theirs) == 10


def test_what_is_written_says_nothing_of_the_rows_held_out(tmp_path: Path) -> None:
    release = anon.anonymize(people(), SCHEMA, require=[anon.KAnonymity(5)], control=0.2)
    assert release.is_sealed
    release.write(tmp_path / "release.parquet")
    assert [each.name for each in tmp_path.iterdir()] == ["release.parquet"]
    assert "control" not in json.dumps(release.metadata)
    assert "trial" not in json.dumps(release.metadata)


def test_a_trial_is_written_by_that_word_alone_and_for_its_owner(tmp_path: Path) -> None:
    release = anon.anonymize(people(), SCHEMA, require=[anon.KAnonymity(5)], control=0.2)
    assert release.trial is not None
    with pytest.raises(UsageError, match="tells who was held out"):
        release.trial.write(tmp_path / "trial.parquet")
    with pytest.raises(UsageError, match="this is no trial"):
        release.write(tmp_path / "release.parquet", trial=True)
    with pytest.raises(UsageError, match="write it to a file"):
        release.trial.write(tmp_path / "trial.sqlite", table="trial", trial=True)
    assert not [*tmp_path.iterdir()]
    release.trial.write(tmp_path / "trial.parquet", trial=True)
    assert (tmp_path / "trial.parquet").stat().st_mode & 0o777 == 0o600
    assert anon.check(tmp_path / "trial.parquet").k >= 5
    release.write(tmp_path / "release.parquet")


@pytest.mark.parametrize("share", [0, 1, -0.1, 0.001, "half", True, float("nan")])
def test_shares_that_leave_nobody_are_refused(share: Any) -> None:
    with pytest.raises(UsageError, match="control"):
        anon.anonymize(people(), SCHEMA, require=[anon.KAnonymity(5)], control=share)


def test_a_table_in_its_files_is_refused_by_name(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    pq.write_table(people(), tmp_path / "people.parquet")
    source = anon.read_source(tmp_path / "people.parquet", engine="stream")
    with pytest.raises(UsageError, match="stays in its files"):
        anon.anonymize(source, SCHEMA, require=[anon.KAnonymity(5)], control=0.2)
