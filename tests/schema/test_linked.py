# SPDX-License-Identifier: Apache-2.0
"""Columns that go with a quasi-identifier: published by class, never cut."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anon
from anon.classes import Classes, blank, cells, full_cells, labels, render
from anon.command.entry import main
from anon.command.job import load_job
from anon.encoding import encode
from anon.release import recode
from anon.release.recheck import recheck
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


@pytest.mark.parametrize("numeric", ["interval", "level", "bounds", "midpoint", "mean"])
def test_what_stands_beside_a_star_is_a_star(numeric: Any, tmp_path: Path) -> None:
    """A state beside a postcode that says nothing would say what the `*` hides."""
    table = people(60).filter(pc.is_valid(people(60)["age"]))
    twins = pa.table({"age": [1, 99] * 5, "birth_year": [1990, 1991] * 5, "sex": ["x"] * 10,
                      "group": ["old"] * 10, "dx": ["a", "b"] * 5})  # fmt: skip
    table = pa.concat_tables([table, twins.cast(table.schema)])
    schema = Schema(
        [anon.numeric("age", hierarchy=anon.intervals(50), weight=0.01), "sex"],
        ["dx"],
        linked=[["age", anon.numeric("birth_year", hierarchy=anon.intervals(50)), anon.nominal("group")]],
    )
    require = [anon.KAnonymity(10)]
    release = anon.anonymize(table, schema, require=require, method=anon.Mondrian(), numeric=numeric)
    shown = release.table.to_pylist()
    if numeric not in ("interval", "level"):
        years = [name for name in release.table.column_names if name.startswith("birth_year")]
        beside = {(row["group"], *(row[name] for name in years)) for row in shown if row["sex"] == "x"}
        assert beside == {("*", *[None] * len(years))}
        assert {row["group"] for row in shown} != {"*"}
        release.write(tmp_path / "out.parquet")
        names = [name for name in release.table.column_names if name != "dx"]
        assert anon.check(tmp_path / "out.parquet", Schema(names, ["dx"])).k == release.privacy().k
        if numeric == "bounds":
            compared = anon.compare(table, tmp_path / "out.parquet", schema)
            assert compared.gcp == release.utility().gcp
        return
    groups = {row["group"] for row in shown if row["age"] != "*"}
    assert groups
    assert groups != {"*"}
    beside = {(row["birth_year"], row["group"]) for row in shown if row["age"] == "*"}
    assert beside == {("*", "*")}
    assert any(row["sex"] == "x" and row["age"] == "*" for row in shown)


def test_the_recheck_wants_a_star_beside_a_star_and_nowhere_else() -> None:
    table = pa.table({"q": [1, 2, 1, 2, 1, 1, 1, 1], "r": [*"abababac"], "t": [1, 2, 3, 4, 5, 6, 7, None]})
    schema = Schema(["q"], linked=[["q", "r", anon.numeric("t")]])
    encoded = encode(table, schema)
    classes = Classes(np.arange(8, dtype=np.uint32), np.array([0, 4, 8]), np.empty(0, np.uint32))
    own = cells(encoded, classes)
    right = [own[0], *(blank(one, np.array([True, False])) for one in own[1:])]
    recheck(encoded, classes, [render(one, "interval") for one in right], [])
    for i in (1, 2):
        wrong = [*right]
        wrong[i] = own[i]
        with pytest.raises(anon.RecheckError, match="beside `\\*`"):
            recheck(encoded, classes, [render(one, "interval") for one in wrong], [])
        wrong[i] = blank(own[i], np.array([True, True]))
        recheck(encoded, classes, [render(one, "interval") for one in wrong], [])  # a suppressed column
    third = Classes(classes.rows, np.array([0, 4, 6, 8]), classes.suppressed)
    own = cells(encoded, third)
    for i in (1, 2):
        wrong = [own[0], *(blank(one, np.array([True, False, False])) for one in own[1:])]
        wrong[i] = blank(own[i], np.array([True, True, False]))
        with pytest.raises(anon.RecheckError, match=r"set|wider|missing"):
            recheck(encoded, third, [render(one, "interval") for one in wrong], [])


@pytest.mark.parametrize("numeric", ["bounds", "midpoint", "mean"])
@pytest.mark.parametrize("first", [anon.nominal("q"), anon.numeric("q")])
def test_numbers_beside_a_star_are_null(first: Any, numeric: Any, tmp_path: Path) -> None:
    q = [*"aabb", *"abab"] if first.kind == "nominal" else [1, 1, 2, 2, 1, 2, 1, 2]
    table = pa.table({"q": q, "sex": [*"ffffmmmm"], "t": [1, 2, 3, 4, 2, 3, None, 3]})
    schema = Schema([first, "sex"], linked=[["q", anon.numeric("t")]])
    encoded = encode(table, schema)
    rows = np.arange(8, dtype=np.uint32)
    classes = Classes(rows, np.array([0, 2, 4, 8]), np.empty(0, np.uint32))
    release = recode(encoded, classes, cells(encoded, classes), numeric=numeric)
    shown = sorted(map(tuple, (row.values() for row in release.table.to_pylist())), key=str)
    t = {"bounds": [(1, 2), (3, 4), (None, None)], "midpoint": [(1.5,), (3.5,), (None,)]}
    expected = t.get(numeric, t["midpoint"])
    marks = {(row[-1 - len(expected[0]) : -1], row[-1]) for row in shown}
    assert marks == {(expected[0], False), (expected[1], False), (expected[2], None)}
    release.write(tmp_path / "out.csv")
    if numeric == "bounds":
        assert anon.compare(table, tmp_path / "out.csv", schema).gcp == release.utility().gcp
    wrong = [render(one, numeric, codes, classes)
             for one, codes in zip(cells(encoded, classes), encoded.quasi_codes, strict=True)]  # fmt: skip
    with pytest.raises(anon.RecheckError, match="'t'"):
        recheck(encoded, classes, wrong, [], numeric=numeric)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.lists(st.sampled_from([None, "a", "b", "c"]), min_size=1, max_size=4), min_size=1, max_size=6
    ),
    st.data(),
)
def test_blank_cells_are_distinct_and_in_order(rows: list[list[str | None]], data: st.DataObject) -> None:
    rows[0][0] = "a"
    flat = [value for held in rows for value in held]
    where = np.array(data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows))))
    bounds = np.cumsum([0, *map(len, rows)])
    classes = Classes(np.arange(len(flat), dtype=np.uint32), bounds, np.empty(0, np.uint32))
    codes = {"a": 1, "b": 2, "c": 3}
    for attribute, table in (
        (anon.nominal("q"), flat),
        (anon.numeric("q"), [None if value is None else codes[value] for value in flat]),
    ):
        encoded = encode(pa.table({"q": table}), Schema([attribute]))
        [own] = cells(encoded, classes)
        shown = blank(own, where)
        whole = labels(full_cells(encoded, classes)[0])[0].as_py()
        expected = [
            whole if hidden else text
            for hidden, text in zip(where, labels(own).take(pa.array(own.of_class)).to_pylist(), strict=True)
        ]
        assert labels(shown).take(pa.array(shown.of_class)).to_pylist() == expected
        assert sorted(set(expected)) == sorted(labels(shown).to_pylist())
        sets = [()] * len(shown.low)
        if shown.set_offsets is not None and shown.set_codes is not None:
            sets = [(b - a, *shown.set_codes[a:b].tolist()) for a, b in pairwise(shown.set_offsets.tolist())]
        keys = list(zip(shown.low.tolist(), shown.high.tolist(), sets, shown.null.tolist(), strict=True))
        assert keys == sorted(keys)


def test_the_order_of_rows_does_not_matter() -> None:
    table = pa.table({"q": [1] * 8 + [2] * 8, "r": [*range(16)], "s": [*"ab"] * 8})
    schema = Schema(["q"], ["s"], linked=[["q", "r"]])
    method = anon.Mondrian(relaxed=True)

    def shown(table: pa.Table) -> list[str]:
        return sorted(map(str, anon.anonymize(table, schema, require=[anon.KAnonymity(4)], method=method)
                          .table.to_pylist()))  # fmt: skip

    assert shown(table) == shown(table.take(pa.array([*reversed(range(16))])))


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
    with pytest.warns(anon.PrivacyWarning, match="column 'name' is linked and so is published, but"):
        anon.anonymize(table, schema, require=K)
