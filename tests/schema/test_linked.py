# SPDX-License-Identifier: Apache-2.0
"""Columns that go with a quasi-identifier: published by class, never cut."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import anon
from anon.command.entry import main
from anon.command.job import load_job
from anon.schema import Schema

K = [anon.KAnonymity(5)]


def people(n: int = 300) -> pa.Table:
    rng = np.random.default_rng(8)
    age = rng.integers(18, 90, n)
    return pa.table(
        {
            "age": pa.array(age, mask=rng.random(n) < 0.05),
            "birth_year": 2020 - age - rng.integers(0, 2, n),
            "sex": rng.choice(["f", "m"], n),
            "group": np.where(age < 30, "young", np.where(age < 65, "middle", "old")),
            "dx": rng.choice(["a", "b", "c"], n),
        }
    )


LINKED = Schema(["age", "sex"], ["dx"], linked=[["age", "birth_year", anon.nominal("group")]])


def test_linked_columns_are_quasi_identifiers_that_follow() -> None:
    assert [each.name for each in LINKED.quasi] == ["age", "sex", "birth_year", "group"]
    assert LINKED.linked == (("age", "birth_year", "group"),)
    assert LINKED.follows == {"birth_year": "age", "group": "age"}
    for one in (LINKED, LINKED.bind(people().schema)):
        assert Schema.from_dict(one.to_dict()) == one
    named = Schema(["age", "birth_year"], linked=[["age", "birth_year"]])
    assert [each.name for each in named.quasi] == ["age", "birth_year"]


@pytest.mark.parametrize(
    ("linked", "message"),
    [
        ("age", "must be a list of lists"),
        (["age"], "each group of linked must be a list"),
        ([["age"]], "names a quasi-identifier and others"),
        ([["age", "age"]], "names a quasi-identifier and others"),
        ([["dx", "b"]], "'dx' must be a quasi-identifier, which 'b' goes with"),
        ([["age", "b"], ["sex", "b"]], "'b' is linked twice"),
        ([["age", "sex"], ["sex", "b"]], "'sex' is linked to another and has columns linked to it"),
        ([["age", "dx"]], "'dx' is named both as quasi-identifying and as sensitive"),
    ],
)
def test_links_that_cannot_be(linked: Any, message: str) -> None:
    with pytest.raises(anon.UsageError, match=re.escape(message)):
        Schema(["age", "sex"], ["dx"], linked=linked)


@pytest.mark.parametrize("numeric", ["interval", "bounds", "mean"])
@pytest.mark.parametrize(
    "method", [anon.Mondrian(), anon.Mondrian(relaxed=True), anon.Curve(), anon.KMembers(), anon.TGC()]
)
def test_classes_are_those_of_the_columns_that_are_cut(method: Any, numeric: Any, tmp_path: Path) -> None:
    table = people()
    release = anon.anonymize(table, LINKED, require=K, method=method, numeric=numeric)
    plain = anon.anonymize(
        table.drop(["birth_year", "group"]), Schema(["age", "sex"], ["dx"]), require=K, method=method
    )
    if method in (anon.Mondrian(), anon.Curve()) and numeric == "interval":
        assert sorted(release.classes.sizes) == sorted(plain.classes.sizes)
    assert release.privacy().k >= 5
    years = table["birth_year"].to_numpy()
    if numeric == "interval":
        cells = dict(zip(release.classes.rows.tolist(), release.table["birth_year"].to_pylist(), strict=True))
        for rows in np.split(release.classes.rows, release.classes.offsets[1:-1]):
            low, high = years[rows].min(), years[rows].max()
            full = low == years.min() and high == years.max()
            expected = "*" if full else str(low) if low == high else f"[{low}, {high}]"
            assert {cells[row] for row in rows} == {expected}
    out = tmp_path / "out.parquet"
    release.write(out)
    names = [name for name in pq.read_table(out).column_names if name != "dx"]
    assert anon.check(out, Schema(names, ["dx"]), require=K).unmet == ()


def test_the_order_of_rows_does_not_matter() -> None:
    table = pa.table({"q": [1] * 8 + [2] * 8, "r": [*range(16)], "s": [*"ab"] * 8})
    schema = Schema(["q"], ["s"], linked=[["q", "r"]])
    method = anon.Mondrian(relaxed=True)

    def cells(table: pa.Table) -> list[str]:
        return sorted(map(str, anon.anonymize(table, schema, require=[anon.KAnonymity(4)], method=method)
                          .table.to_pylist()))  # fmt: skip

    assert cells(table) == cells(table.take(pa.array([*reversed(range(16))])))


def test_a_flag_and_a_key_say_it_too(tmp_path: Path) -> None:
    pq.write_table(people(), tmp_path / "in.parquet")
    words = ["--quasi", "age,sex", "--sensitive", "dx", "--linked", "age=birth_year,group", "--k", "5", "-q"]
    out = tmp_path / "out.parquet"
    assert main(["anonymize", str(tmp_path / "in.parquet"), "-o", str(out), *words]) == 0
    assert pq.read_table(out).column_names == ["age", "birth_year", "sex", "group", "dx"]
    (tmp_path / "job.toml").write_text('quasi = ["age"]\nlinked = [["age", "b"]]\n[kind]\nb = "nominal"\n')
    schema = load_job(str(tmp_path / "job.toml"), {}).roles()
    assert schema == Schema(["age"], linked=[["age", anon.nominal("b")]])
    assert main(["anonymize", str(tmp_path / "in.parquet"), "-o", str(out), *words, "--linked", "age"]) == 2


def test_a_linked_column_that_names_people_is_warned_of() -> None:
    table = people().append_column("name", pa.array([f"N{row}" for row in range(300)]))
    schema = Schema(["age", "sex"], linked=[["age", "name"]])
    with pytest.warns(anon.PrivacyWarning, match="column 'name' is linked but by its name it identifies"):
        anon.anonymize(table, schema, require=K)
