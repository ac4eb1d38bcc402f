# SPDX-License-Identifier: Apache-2.0
"""Local suppression as a method: against its slow twin, on the definition's tables, and what it refuses."""

from __future__ import annotations

import json
import os
import warnings
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anon
from anon.command.entry import main
from anon.errors import InfeasibleError, UsageError
from reference import nulling as twin

A, B, C = "1112223", "1122211", "1211221"
THREE = {"a": list(A), "b": list(B), "c": list(C)}
SMALL = {"gender": list("xxxyyy"), "education": list("npppss")}


def wildcard(k: int) -> anon.KAnonymity:
    return anon.KAnonymity(k, nulls="wildcard")


def released(table: dict[str, Any], require: Any = 2, method: Any = None, **more: Any) -> anon.Release:
    """Named columns are quasi-identifiers but for `s`, `h` and `w`."""
    quasi = [name for name in table if name not in ("s", "h", "w")]
    roles = {"sensitive": ["s"] if "s" in table else [], "neutral": ["h"] if "h" in table else []}
    schema = anon.Schema(quasi, sampling_weight="w" if "w" in table else None, **roles)
    demands = [wildcard(require)] if isinstance(require, int) else require
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", anon.PrivacyWarning)
        return anon.anonymize(
            table, schema, require=demands, method=method or anon.LocalSuppression(), order="input", **more
        )


def nulls(release: anon.Release, quasi: Any) -> list[int]:
    return [release.table[name].null_count for name in quasi]


def test_the_tables_of_the_definition() -> None:
    """No more nulls than sdcMicro's 2, 6, 3 and 7; with all pairs 4."""
    assert sum(nulls(released(SMALL, 2), SMALL)) == 2
    assert sum(nulls(released(SMALL, 3), SMALL)) == 2
    assert sum(nulls(released({"gender": list("xxxxxx"), "education": SMALL["education"]}, 3), SMALL)) == 1
    release = released(THREE, 2)
    assert sum(nulls(release, THREE)) == 4
    assert (release.privacy().k, release.privacy().k_matching) == (1, 2)
    pairs = released(THREE, 2, anon.LocalSuppression(subsets=2))
    assert sum(nulls(pairs, THREE)) == 3
    assert pairs.requirements == (anon.SubsetAnonymity(2, 2),)


def test_how_many_rows_match_in_what_sdcmicro_makes() -> None:
    """Its output of the three columns, blanks as dots: wildcard counts 3523442, k = 1 by own category."""
    cells = ["111", "1·2", "12·", "221", "·2·", "·1·", "31·"]
    columns = {name: [None if row[a] == "·" else row[a] for row in cells] for a, name in enumerate("abc")}
    assert (
        twin.counts([[columns[name][i] for name in "abc"] for i in range(7)], [0, 1, 2])
        == anon.risk(columns, anon.Schema(list("abc")), sampling_fraction=0.5, nulls="wildcard")
        .sample.astype(int)
        .tolist()
    )


@st.composite
def tables(draw: st.DrawFn) -> dict[str, Any]:
    n, m = draw(st.integers(3, 9)), draw(st.integers(1, 4))
    values = st.lists(st.sampled_from([1, 1, 2, 3, None]), min_size=n, max_size=n).filter(any)
    return {f"q{a}": pa.array(draw(values), pa.int16()) for a in range(m)}


@given(tables(), st.integers(1, 3), st.integers(0, 2))
@settings(max_examples=60, deadline=None)
def test_cells_are_those_of_the_twin(table: dict[str, Any], k: int, how: int) -> None:
    names = [*table]
    codes = {
        name: {v: i for i, v in enumerate(sorted({*table[name].drop_null().to_pylist()}))} for name in names
    }
    n_values = [len(codes[name]) for name in names]
    rows = [
        tuple(codes[name].get(v, len(codes[name])) for name, v in zip(names, row, strict=True))
        for row in zip(*(table[name].to_pylist() for name in names), strict=True)
    ]
    sets, tiers, costs = [(1 << len(names)) - 1], [0] * len(names), [1] * len(names)
    method = anon.LocalSuppression()
    if how == 1:
        size = max(len(names) - 1, 1)
        method = anon.LocalSuppression(subsets=size)
        sets = [sum(1 << a for a in some) for some in combinations(range(len(names)), size)]
    elif how == 2:
        method = anon.LocalSuppression(importance={names[0]: 2.5})
        costs = [5] + [2] * (len(names) - 1)
    order = sorted(rows)
    n = len(rows)
    masks = twin.null_cells(order, n_values, [0] * n, 0, sets, [k] * len(sets), tiers, costs)
    expected = [
        tuple(None if mask >> a & 1 else code for a, code in enumerate(row))
        for row, mask in zip(order, masks, strict=True)
    ]
    left = [row for row in expected if set(row) != {None}]
    if not left:
        with pytest.raises(InfeasibleError, match="no value left"):
            released(table, k, method, suppress=0.99)
        return
    release = released(table, k, method, suppress=0.99)
    made = [
        tuple(None if v is None else codes[name][v] for name, v in row.items())
        for row in release.table.to_pylist()
    ]
    assert Counter(made) == Counter(left)
    assert len(release.classes.suppressed) == n - len(left)


def test_what_is_not_null_is_as_it_was(tmp_path: Path) -> None:
    table = {
        "age": pa.array([30, 30, 31, 40, 40, None], pa.int64()),
        "zip": ["02138", "02138", "02138", "10001", "10002", "10001"],
        "s": list("abcabc"),
    }
    release = released(table, 2)
    for suffix in ("parquet", "feather"):
        release.write(tmp_path / f"out.{suffix}")
    for before, after in zip(zip(*table.values(), strict=True), release.table.to_pylist(), strict=True):
        for old, new in zip(before, after.values(), strict=True):
            assert new is None or new == (old.as_py() if isinstance(old, pa.Scalar) else old)
    assert release.table.schema.field("age").type == pa.int64()
    schema = anon.Schema(["age", "zip"], ["s"])
    measured = anon.check(tmp_path / "out.parquet", schema, require=[wildcard(2)])
    assert measured.unmet == ()
    assert measured.k_matching == release.privacy().k_matching >= 2
    assert anon.check(tmp_path / "out.parquet", schema, require=[wildcard(6)]).unmet


def test_a_null_cell_loses_everything() -> None:
    release = released(SMALL, 2)
    assert release.utility().gcp == pytest.approx(2 / 12)
    assert release.utility().by_attribute["education"].ncp == pytest.approx(2 / 6)


def test_importance_says_which_cells_go() -> None:
    table = {"a": list("112233"), "b": list("123456")}
    assert nulls(released(table, 2, anon.LocalSuppression(importance=["b"]), suppress=0.5), table) != [0, 6]
    cheap = released(table, 2, anon.LocalSuppression(importance=["a", "b"]))
    assert nulls(cheap, table)[0] == 0
    dear = released(table, 2, anon.LocalSuppression(importance={"b": 100}), suppress=0.9)
    assert nulls(dear, table)[1] < nulls(cheap, table)[1]


def test_subsets_of_several_sizes_hold_together() -> None:
    method = anon.LocalSuppression(subsets={1: 3, 2: 2})
    release = released(THREE, [], method)
    assert release.requirements == (anon.SubsetAnonymity(3, 1), anon.SubsetAnonymity(2, 2))
    cells = [list(row.values()) for row in release.table.to_pylist()]
    for size, k in ((1, 3), (2, 2)):
        for some in combinations(range(3), size):
            assert all(count is None or count >= k for count in twin.counts(cells, some))
    schema = anon.Schema(list("abc"))
    assert anon.check(release.table, schema, require=release.requirements).unmet == ()
    assert anon.check(release.table, schema, require=[anon.SubsetAnonymity(7, 1)]).unmet


def test_strata_keep_apart() -> None:
    table = {"a": list("1212"), "b": list("1122"), "h": list("xxyy")}
    release = released(table, 2, anon.LocalSuppression(strata="h"))
    cells = [[row["a"], row["b"]] for row in release.table.to_pylist()]
    for rows in (cells[:2], cells[2:]):
        assert min(count or 2 for count in twin.counts(rows, [0, 1])) >= 2


def test_weights_decide_between_equal_counts() -> None:
    """The row whose compatible rows stand for the fewest people is the first to lose a cell."""
    table = {"a": list("1233"), "b": list("1122"), "w": [50.0, 2.0, 5.0, 5.0]}
    release = released(table, 2)
    assert [row["a"] for row in release.table.to_pylist()] == ["1", None, "3", "3"]
    table["w"] = [2.0, 50.0, 5.0, 5.0]
    assert [row["a"] for row in released(table, 2).table.to_pylist()] == [None, "2", "3", "3"]


def test_which_of_equal_rows_loses_a_cell_is_drawn() -> None:
    rows = ["002", "011", "011", "022", "101", "111", "212"]
    table: dict[str, Any] = {name: [row[a] for row in rows] for a, name in enumerate("abc")}
    table["s"] = list("1234567")
    seen = set()
    for _ in range(40):
        of = {row["s"]: row for row in released(table, 3).table.to_pylist()}
        assert {of["2"]["a"], of["3"]["a"]} == {None, "0"}
        seen.add(of["2"]["a"])
    assert len(seen) == 2


def test_a_row_without_a_value_is_left_out() -> None:
    with pytest.raises(InfeasibleError, match="4 of 4 rows would have no value left"):
        released({"a": list("1123"), "b": list("1124")}, 3)
    lonely = {"zip": [*"aaab"]}
    with pytest.raises(InfeasibleError, match=r"1 of 4 rows .*suppress=0\.25") as caught:
        released(lonely, 2)
    assert caught.value.tightest == 0.25
    release = released(lonely, 2, suppress=0.25)
    assert (release.n_rows, len(release.classes.suppressed)) == (3, 1)
    assert "no value was left" in " ".join(release.warnings)


def test_the_weaker_promise_is_told() -> None:
    with pytest.warns(
        anon.PrivacyWarning, match="less than k-anonymity: with null as a value of its own k = 1"
    ):
        release = anon.anonymize(
            SMALL, anon.Schema([*SMALL]), require=[wildcard(2)], method=anon.LocalSuppression()
        )
    assert "matching anything" in str(release.requirements[0])
    assert release.metadata["nulls"] == "wildcard"


@pytest.mark.parametrize(
    ("demands", "more", "message"),
    [
        ([anon.KAnonymity(2)], {}, "less than 2-anonymity"),
        ([wildcard(2), anon.LDiversity(2)], {}, "enforces k alone"),
        ([wildcard(2)], {"method": anon.Mondrian()}, "use LocalSuppression"),
        ([wildcard(2)], {"numeric": "bounds"}, "publishes values or null"),
        ([wildcard(2)], {"publish": "bucketization"}, "publishes values or null"),
        ([wildcard(2)], {"time_limit": 3}, "leave out time_limit"),
        ([], {}, "nothing is required"),
        ([], {"method": anon.LocalSuppression(subsets=2)}, "nothing is required"),
        ([wildcard(2)], {"method": anon.LocalSuppression(subsets=4)}, "there are 2 quasi-identifiers"),
        ([wildcard(2)], {"method": anon.LocalSuppression(importance=["x"])}, "names 'x'"),
        ([wildcard(2)], {"method": anon.LocalSuppression(strata="x")}, "'x'"),
    ],
)
def test_what_it_cannot_do_is_refused(demands: Any, more: dict[str, Any], message: str) -> None:
    with pytest.raises((UsageError, anon.DataError), match=message):
        released(SMALL, demands, **more)


def test_other_roles_are_refused() -> None:
    table = {"a": [1, 1, 2], "b": [1, 2, 2], "p": [1, 1, 2]}
    for schema in (
        anon.Schema(["a", "b"], unit="p"),
        anon.Schema(["a"], linked=[["a", "b"]], identifying=["p"]),
        anon.Schema([anon.numeric("a", top=2), "b"]),
    ):
        with pytest.raises(UsageError):
            anon.anonymize(table, schema, require=[wildcard(2)], method=anon.LocalSuppression())


def test_rows_in_files_are_refused(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    pq.write_table(pa.table(SMALL), tmp_path / "in.parquet")
    source = anon.read_source(tmp_path / "in.parquet", engine="stream")
    schema, method = anon.Schema([*SMALL]), anon.LocalSuppression()
    with pytest.raises(UsageError, match="in memory"):
        anon.anonymize(source, schema, require=[wildcard(2)], method=method)


@pytest.mark.parametrize("given", [{"a": 0}, {"a": "x"}, ["a", "a"], [1], {"a": float("inf")}])
def test_importance_that_is_none(given: Any) -> None:
    with pytest.raises(UsageError, match="importance"):
        anon.LocalSuppression(importance=given)


@pytest.mark.parametrize("given", [0, {2: 0}, "x", {"x": 2}, {}, 1.5, True])
def test_subsets_that_are_none(given: Any) -> None:
    with pytest.raises(UsageError, match="subsets"):
        anon.LocalSuppression(subsets=given)


def test_a_null_label_is_no_null(tmp_path: Path) -> None:
    """A label that reads `missing` is a label: it matches itself alone."""
    table = {"a": ["missing", "missing", "x", "x"], "b": list("1122")}
    release = released(table, 2)
    release.write(tmp_path / "out.parquet")
    assert nulls(release, table) == [0, 0]
    measured = anon.check(tmp_path / "out.parquet", anon.Schema(["a", "b"]), require=[wildcard(3)])
    assert measured.unmet
    assert np.isfinite(measured.k)


# --- the requirement, wherever it is asked


def test_the_requirement_says_what_it_is() -> None:
    k = wildcard(3)
    assert (repr(k), k.settings()) == ("KAnonymity(k=3, nulls='wildcard')", {"k": 3, "k_nulls": "wildcard"})
    assert "missing value matching anything" in str(k)
    assert k.family != anon.KAnonymity(3).family
    with pytest.raises(UsageError, match="choose 'own' or 'wildcard'"):
        anon.KAnonymity(3, nulls="any")
    with pytest.raises(UsageError, match="not for units"):
        anon.KAnonymity(3, "units", "wildcard")
    with pytest.raises(UsageError, match="size"):
        anon.SubsetAnonymity(3, 0)


def test_check_decides_it_on_any_table() -> None:
    """A row of nulls alone helps nobody and needs nobody."""
    schema = anon.Schema(["a", "b"])
    table = {"a": ["1", "1", None, None], "b": ["x", None, "x", None]}
    assert anon.check(table, schema, require=[wildcard(3)]).unmet == ()
    assert anon.check(table, schema, require=[wildcard(4)]).unmet == (str(wildcard(4)),)
    both = anon.check(table, schema, require=[wildcard(3), anon.KAnonymity(2)])
    assert both.unmet == ("2-anonymity",)
    assert anon.check(table, schema, require=[anon.SubsetAnonymity(2, 1)]).unmet == ()
    assert anon.check({"a": [None], "b": [None]}, schema, require=[wildcard(9)]).unmet == ()
    complete = anon.check({"a": ["1", "1"], "b": ["x", "x"]}, schema, require=[wildcard(2)])
    assert (complete.unmet, complete.k_matching) == ((), 2)


def test_check_refuses_what_has_no_meaning() -> None:
    table = {"a": ["1", "1"], "p": [1, 2], "s": ["u", "v"]}
    with pytest.raises(UsageError, match="not for units"):
        anon.check(table, anon.Schema(["a"], unit="p"), require=[wildcard(2)])
    buckets = anon.anonymize(
        {"a": list("1234"), "s": list("uvuv")},
        anon.Schema(["a"], ["s"]),
        require=[anon.LDiversity(2)],
        publish="bucketization",
    )
    with pytest.raises(UsageError, match="bucketization publishes quasi-identifiers intact"):
        anon.check(
            buckets.table,
            anon.Schema(["a"], ["s"]),
            sensitive_table=buckets.sensitive_table,
            require=[wildcard(2)],
        )


def test_spark_refuses_it() -> None:
    from anon.engines.spark.anonymize import check_asked
    from anon.engines.spark.check import refuse_custom

    with pytest.raises(UsageError, match="Spark compares rows by equal cells"):
        refuse_custom([wildcard(2)])
    with pytest.raises(UsageError, match="LocalSuppression does not run on Spark"):
        check_asked(anon.Schema(["a"]), anon.LocalSuppression(), [wildcard(2)])


def test_a_suppressed_value_is_not_in_the_file(tmp_path: Path) -> None:
    table = {"zip": ["only-here-7", "b", "b", "b"], "sex": list("mmmm"), "age": [77123, 2, 2, 2]}
    release = released(table, 3)
    for suffix in ("parquet", "feather", "csv"):
        release.write(tmp_path / f"out.{suffix}")
        written = (tmp_path / f"out.{suffix}").read_bytes()
        assert b"only-here" not in written
        assert (77123).to_bytes(8, "little") not in written
        assert b"77123" not in written


def test_the_command_and_a_job(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, out = str(tmp_path / "in.csv"), str(tmp_path / "out.csv")
    Path(source).write_text("a,b,c\n" + "\n".join(map(",".join, zip(A, B, C, strict=True))) + "\n")
    kinds = [word for name in "abc" for word in ("--kind", f"{name}=nominal")]
    asked = ["--quasi", "a,b,c", *kinds, "--k", "2"]
    way = ["--method", "local-suppression", "--k-nulls", "wildcard", "--importance", "c=1.5,b=1"]
    assert main(["anonymize", source, "-o", out, *asked, *way, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["privacy"]["k"], said["privacy"]["null_matching"]["k"]) == (1, 2)
    assert "less than k-anonymity" in " ".join(said["warnings"])
    assert main(["check", out, *asked, "--k-nulls", "wildcard", "--quiet"]) == 0
    assert main(["check", out, *asked, "--quiet"]) == 1
    assert main(["anonymize", source, "-o", out, *asked, "--method", "local-suppression"]) == 2
    assert "--k 2 --k-nulls wildcard" in capsys.readouterr().err
    job = tmp_path / "job.toml"
    job.write_text(
        f'input = "{source}"\noutput = "{out}"\nquasi = ["a", "b", "c"]\nmethod = "local-suppression"\n'
        "subsets = {1 = 3, 2 = 2}\n"
    )
    assert main(["anonymize", "--config", str(job)]) == 0
    assert "2-anonymity on any 2 quasi-identifiers" in capsys.readouterr().out
    assert main(["check", "--config", str(job), *kinds, "--quiet"]) == 0
    other = tmp_path / "pairs.toml"
    other.write_text(job.read_text().replace("{1 = 3, 2 = 2}", '2\nk = 2\nk_nulls = "wildcard"'))
    assert main(["anonymize", "--config", str(other), *kinds, "--quiet"]) == 0
    assert main(["check", "--config", str(other), *kinds, "--quiet"]) == 0
    assert main(["check", "--config", str(other), *kinds, "--k", "4", "--quiet"]) == 1
    capsys.readouterr()


def test_a_report_says_what_was_promised(tmp_path: Path) -> None:
    from anon import pages

    release = released({**THREE, "s": list("uvwuvwu")}, 2)
    made = {"privacy": release.privacy(), "utility": release.utility()}
    for audience in ("owner", "public"):
        report: Any = pages.of_release(release, **made, audience=audience)
        assert "missing value matching anything" in report.html()
        [asked] = report.facts["asked"]
        assert asked["parameters"] == {"k": {"asked": 2, "holds": 2}}


@pytest.mark.slow
def test_adult_loses_few_cells() -> None:
    """The eight columns as they are, k = 5: fewer nulls than sdcMicro's share of 20.8 % in 5,000 rows."""
    table = anon.datasets.adult(Path(os.environ["ANON_DATA"]) / "adult")
    names = ["age", "workclass", "education", "marital-status", "occupation", "race", "sex", "native-country"]
    release = released({name: table[name] for name in names}, 5)
    assert sum(nulls(release, names)) == 15_340
    assert release.privacy().k_matching == 5
