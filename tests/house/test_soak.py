# SPDX-License-Identifier: Apache-2.0
"""A first part of the soak, and proof that its judgment can fail."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import anon
import soak


@pytest.fixture(scope="module")
def tally() -> Counter[str]:
    """What became of 150 jobs, none of which may fail."""
    tally, faults = soak.soak(150, seed=0)
    assert faults == []
    return tally


def test_the_jobs_end_in_every_way(tally: Counter[str]) -> None:
    assert sum(tally.values()) == 150
    assert {"Mondrian", "Curve", "KMembers", "TGC", "Identity", "Suppress", "infeasible", "refused"} <= set(
        tally
    )
    assert tally["infeasible"] + tally["refused"] < 75


def released(publish: str = "generalization") -> tuple[soak.Job, Any]:
    """A job of twelve rows with two classes, and its release."""
    rng = soak.random.Random(0)
    columns = {
        "q0": soak.Column("int", [*range(12)], pa.array(range(12)), anon.numeric("q0")),
        "q1": soak.Column(
            "tree", list("aabbccddeeff"), pa.array(list("aabbccddeeff")), anon.nominal("q1", soak.TREE)
        ),
        "s0": soak.Column("text", list("xyzxyzxyzxyz"), pa.array(list("xyzxyzxyzxyz")), "s0"),
    }
    arrays = {name: column.array for name, column in columns.items()}
    arrays |= {"name": pa.array(list("abcdefghijkl")), "id": pa.array(range(12), pa.int64())}
    options = {"publish": publish, "numeric": "interval", "missing": "category", "order": "class"}
    options["on_infeasible"] = "error"
    require = [anon.KAnonymity(4), anon.LDiversity(2)]
    job = soak.Job(
        0, rng, columns, ["q0", "q1"], ["s0"], pa.table(arrays), require, anon.Mondrian(), options, "parquet"
    )
    with pytest.warns(anon.PrivacyWarning):
        release = anon.anonymize(job.table, job.schema, require=require, method=job.method, **options)
    return job, release


def _changed(table: pa.Table, name: str, change: Callable[[list[Any]], list[Any]]) -> pa.Table:
    at = table.column_names.index(name)
    return table.set_column(at, name, pa.array(change(table[name].to_pylist())))


@pytest.mark.parametrize(
    ("name", "change", "fault"),
    [
        ("id", lambda values: [*values[1:], 99], "rows are lost"),
        ("s0", lambda values: values[1:] + values[:1], "values of s0 were changed"),
        ("q0", lambda values: ["[0, 4]", *values[1:]], "a cell of q0"),
        ("q1", lambda values: ["N" if value != "N" else "S" for value in values], "a cell of q1"),
        ("q0", lambda values: ["0", *values[1:]], "classes fail 4-anonymity"),
        ("q0", lambda values: ["0", *values[1:]], "privacy: k is 6, not 1"),
    ],
)
def test_the_judge_sees_what_is_wrong(
    tmp_path: Path, name: str, change: Callable[[list[Any]], list[Any]], fault: str
) -> None:
    job, release = released()
    published = soak.through_a_file(job, release, tmp_path)
    assert published is not None
    soak.judge(job, release, *published)
    assert job.faults == []
    table, second, path = published
    soak.judge(job, release, _changed(table, name, change), second, path)
    assert any(fault in each for each in job.faults), job.faults


def test_the_judge_counts_buckets(tmp_path: Path) -> None:
    job, release = released("bucketization")
    published = soak.through_a_file(job, release, tmp_path)
    assert published is not None
    table, second, path = published
    soak.judge(job, release, table, second, path)
    assert job.faults == []
    assert second is not None
    second = second.set_column(3, "count", pc.add(second["count"], 1))
    soak.judge(job, release, table, second, path)
    assert any("bucket's counts" in each for each in job.faults)


def test_a_refusal_without_reason_is_seen() -> None:
    job, _ = released()
    soak.judge_refusal(job)
    assert job.faults == ["infeasible without a reason"]


@pytest.mark.filterwarnings("ignore::anon.PrivacyWarning")
def test_the_judge_counts_units(monkeypatch: pytest.MonkeyPatch) -> None:
    """A release whose classes have enough rows is not one whose classes have enough units."""
    anonymize, faults = anon.anonymize, []

    def by_rows(table: pa.Table, schema: anon.Schema, **options: Any) -> anon.Release:
        alone = anon.Schema(schema.quasi, schema.sensitive, ["name"], neutral="rest")
        return anonymize(table, alone, **options)

    monkeypatch.setattr(anon, "anonymize", by_rows)
    for seed in range(5, 15):
        job = soak.draw(seed)
        if job.n_rows <= 100:
            soak.by_units(job)
        faults += job.faults
    assert any("by units" in fault for fault in faults)
