# SPDX-License-Identifier: Apache-2.0
"""Utility read back from published cells: our own releases bit for bit, and those of other tools."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_utility import LUNG, arrow, release_of, tables

import anon
import anon.measures.utility
from anon.command.entry import main
from anon.release.release import Release

pytestmark = pytest.mark.filterwarnings("ignore::anon.PrivacyWarning")


def told(release: Release) -> pa.Table:
    """The release as a file would hold it: with what it says about itself."""
    return release.table.replace_schema_metadata({"anon": json.dumps(release.metadata)})


def untold(release: Release) -> pa.Table:
    return release.table.replace_schema_metadata(None)


def gcp_of(column: list[Any], shown: list[Any], attribute: Any = "q", **options: Any) -> float:
    """GCP of one column shown by another tool."""
    table = pa.table({"q": pa.array(shown)})
    return anon.compare({"q": pa.array(column)}, table, anon.Schema([attribute]), **options).gcp


# --- our own releases


@given(tables(), st.sampled_from(["interval", "bounds"]))
@settings(max_examples=120)
def test_our_own_release_reads_back_bit_for_bit(made: Any, numeric: Any) -> None:
    columns, schema, classes = made
    if not classes:
        return
    quasi = [schema[name] for name in columns if not name.startswith("s_")]
    sensitive = [schema[name] for name in columns if name.startswith("s_")]
    table = {name: arrow(column) for name, column in columns.items()}
    release = release_of(table, quasi, classes, sensitive, numeric=numeric)
    roles = anon.Schema(quasi, sensitive)
    expected = release.utility(r=0.7)
    found = anon.compare(table, told(release), roles, r=0.7)
    assert found == expected
    assert found.to_dict() == expected.to_dict()  # KL and U_loss too
    # by its looks alone: rows of * are then suppressed rows
    blind = anon.compare(table, untold(release), roles, r=0.7)
    if not blind.n_starred:
        assert blind == expected


@pytest.mark.parametrize("suffix", ["parquet", "feather"])
@pytest.mark.parametrize("numeric", ["interval", "bounds", "level"])
def test_a_written_file_equals_the_release(tmp_path: Path, suffix: str, numeric: Any) -> None:
    rng = np.random.default_rng(5)
    n = 500
    table = {
        "age": pa.array(rng.integers(17, 90, n), mask=rng.random(n) < 0.05),
        "born": pa.array(rng.integers(0, 9000, n).astype(np.int32)).cast(pa.date32()),
        "weight": pa.array(rng.normal(70, 9, n).round(2)),
        "stay": pa.array(rng.integers(0, 500, n)).cast(pa.duration("s")),
        "job": pa.array(rng.choice(["cook", "baker, pastry", "*", "missing", "x or missing"], n)),
        "ill": pa.array(rng.choice(["Cancer", "HIV", "Flu", "Bronchitis", "Pneumonia"], n)),
        "paid": pa.array(rng.integers(0, 30, n)),
    }
    intervals = [
        anon.numeric("age", anon.intervals(5, 20)),
        anon.numeric("born", anon.dates("month", "year")),
        anon.numeric("weight", anon.intervals(5, 10)),
        anon.numeric("stay", anon.intervals(60)),
    ]
    schema = anon.Schema([*intervals, "job", anon.nominal("ill", LUNG)], ["paid"])
    require = [anon.KAnonymity(3), anon.AlphaK(0.9, 4)]
    release = anon.anonymize(table, schema, require=require, numeric=numeric)
    path = tmp_path / f"release.{suffix}"
    release.write(path)
    found, expected = anon.compare(table, path, schema), release.utility()
    assert found == expected
    assert (found.k, found.k_source) == (4, "asked")
    assert found.kl == expected.kl
    assert found.u_loss == expected.u_loss > 0


def test_a_csv_file_is_read_by_its_looks(tmp_path: Path) -> None:
    table = {"age": [1, 2, 3, 4, 50, 60], "job": list("aabbcc"), "s": list("xyxyxy")}
    schema = anon.Schema(["age", "job"], ["s"])
    for numeric in ("interval", "bounds"):
        release = anon.anonymize(table, schema, require=[anon.KAnonymity(2)], numeric=numeric)
        release.write(tmp_path / "release.csv")
        found, expected = anon.compare(table, tmp_path / "release.csv", schema), release.utility()
        assert (found.loss, found.dm, found.pm) == (expected.loss, expected.dm, expected.pm)
        assert found.k_source == "measured"


def test_the_roles_of_our_own_file_need_no_schema(tmp_path: Path) -> None:
    table = {"age": [1, 2, 3, 4], "job": list("aabb"), "s": [1, 1, 2, 3]}
    release = anon.anonymize(table, anon.Schema(["age", "job"], ["s"]), require=[anon.KAnonymity(2)])
    release.write(tmp_path / "release.parquet")
    assert anon.compare(table, tmp_path / "release.parquet") == release.utility()


@pytest.mark.parametrize(
    "attribute", [anon.nominal("q", {"*": ["a", "b"]}), anon.ordinal("q", ["b", "a"])], ids=repr
)
def test_nodes_and_orders_need_a_schema(attribute: Any) -> None:
    table = {"q": ["a", "b"]}
    release = anon.anonymize(table, anon.Schema([attribute]), require=[anon.KAnonymity(2)])
    with pytest.raises(anon.UsageError, match=r"'q'.*order or hierarchy"):
        anon.compare(table, told(release))
    assert anon.compare(table, told(release), anon.Schema([attribute])).gcp == 1


def test_a_table_without_roles_needs_a_schema() -> None:
    with pytest.raises(anon.UsageError, match="roles"):
        anon.compare({"q": [1]}, {"q": [1]})


@pytest.mark.parametrize("numeric", ["midpoint", "mean"])
def test_numbers_in_place_of_cells_refuse_what_needs_cells(numeric: Any) -> None:
    table = {"age": [1, 2, 3, 4, 5, 7], "job": list("aabbbb"), "s": list("xyxyxy")}
    schema = anon.Schema(["age", "job"], ["s"])
    release = anon.anonymize(table, schema, require=[anon.KAnonymity(2)], numeric=numeric)
    found, whole = anon.compare(table, told(release), schema), release.utility()
    assert (found.dm, found.c_avg, found.pm, found.pm_rows) == (
        whole.dm,
        whole.c_avg,
        whole.pm,
        whole.pm_rows,
    )
    for measure in (
        *("gcp", "ordered_loss", "um", "um_rows", "avg_wtd", "entropy", "precision", "by_attribute"),
        *("kl", "u_loss"),
    ):
        with pytest.raises(anon.UsageError, match=f"'age'.*{numeric}"):
            getattr(found, measure)
    assert found.to_dict()["gcp"] is None
    assert "gcp=None" in repr(found)


def test_an_all_starred_class_of_ours_is_a_class() -> None:
    table = {"q": [1, 2, 3], "s": list("aab")}
    schema = anon.Schema(["q"], ["s"])
    release = anon.anonymize(table, schema, method=anon.Suppress("quasi"))
    found = anon.compare(table, told(release), schema)
    assert (found.n_classes, found.n_suppressed, found.n_starred, found.gcp) == (1, 0, 0, 1)
    assert found == release.utility()


def test_a_suppressed_sensitive_attribute_reads_back() -> None:
    table = {"q": [1, 2, 2], "s": list("aab"), "t": [1, 2, 3]}
    schema = anon.Schema(["q"], ["s", "t"])
    release = anon.anonymize(table, schema, method=anon.Suppress("sensitive"))
    found = anon.compare(table, told(release), schema)
    assert found == release.utility()
    assert found.pm == 0
    with pytest.raises(anon.UsageError, match="leaves 's' out"):
        _ = found.kl


# --- buckets


@pytest.mark.parametrize("suffix", ["parquet", "feather", "csv"])
def test_a_bucketized_pair_equals_the_release(tmp_path: Path, suffix: str) -> None:
    rng = np.random.default_rng(2)
    n = 300
    table = {
        "age": pa.array(rng.integers(17, 60, n), mask=rng.random(n) < 0.1),
        "job": pa.array(rng.choice(list("abc"), n)),
        "s": pa.array(rng.choice(["x", "y, z", "*"], n)),
        "paid": pa.array(rng.integers(0, 5, n) / 2),
    }
    schema = anon.Schema(["age", "job"], ["s", "paid"])
    release = anon.anonymize(table, schema, require=[anon.KAnonymity(7)], publish="bucketization")
    path = tmp_path / f"release.{suffix}"
    release.write(path)
    found, expected = anon.compare(table, path, schema), release.utility()
    if suffix == "csv":
        assert found.k_source == "measured"
        assert (found.loss, found.dm, found.by_sensitive) == (
            expected.loss,
            expected.dm,
            expected.by_sensitive,
        )
    else:
        assert found == expected
        assert anon.compare(table, path) == expected
    assert found.kl == expected.kl > 0
    assert found.u_loss == expected.u_loss > 0


def test_a_pair_in_memory_and_one_that_does_not_match() -> None:
    table = {"q": [1, 2, 3, 4], "s": list("abab")}
    schema = anon.Schema(["q"], ["s"])
    release = anon.anonymize(table, schema, require=[anon.KAnonymity(2)], publish="bucketization")
    found = anon.compare(table, untold(release), schema, sensitive_table=release.sensitive_table)
    assert (found.loss, found.kl) == (release.utility().loss, release.utility().kl)
    with pytest.raises(anon.DataError, match="do not belong together"):
        anon.compare(table, untold(release), schema, sensitive_table=release.sensitive_table.slice(1))
    strange = release.sensitive_table.set_column(1, "class_id", pa.array([7, 7, 8, 8]))
    with pytest.raises(anon.DataError, match="do not belong together"):
        anon.compare(table, untold(release), schema, sensitive_table=strange)
    with pytest.raises(anon.DataError, match="sensitive table is not beside it"):
        anon.compare(table, told(release), schema)


# --- what other tools write


@pytest.mark.parametrize(
    ("cell", "width"),
    [
        # the domain 13, 17, 25, 70 is 57 wide; the cell is the last row's
        *[(text, 8 / 57) for text in ("[17, 25]", "[17,25]", "17-25", "[17-25]", "17 – 25", "(13, 25]")],
        *[(text, 8 / 57) for text in ("[17, 26)", "[17, 70[", "]13, 25]", "(13; 70)", "17|25", "{17, 25}")],
        *[(text, 8 / 57) for text in ("17,25", "{25,17}", "[14, 69]", " 17-25 ", "[17.0, 25.0]")],
        *[(text, 12 / 57) for text in ("<=25", "<26", "≤ 25", "<70", "[-5, 25]", "-5-30", "(-inf, 25]")],
        *[(text, 45 / 57) for text in (">=25", "> 17", ">20", "≥25", "[25, inf)", "[18, 100]")],
        *[(text, 0) for text in ("17", "[17, 17]", "17-17", "[14, 24]", "(13, 25)", "17.0")],
        *[(text, 1) for text in ("*", "[13, 70]", "[0, 100]", ">=13", "<1000", "13-70")],
    ],
)
def test_intervals_of_other_tools(cell: str, width: float) -> None:
    shown = ["13", "17", "25", "70", cell]
    assert gcp_of([13, 17, 25, 70, 25], shown, "q") == pytest.approx(width / 5)


@pytest.mark.parametrize(
    ("cell", "width"),
    [("[-3.5, 0.25]", 3.75 / 8), ("-3.5--0.5", 3 / 8), ("<0", 3 / 8), ("[0.1, 1e1)", 0.53125)],
)
def test_intervals_of_floats(cell: str, width: float) -> None:
    column = [-3.5, -0.5, 0.25, 4.5]
    assert gcp_of([*column, 0.25], [*map(str, column), cell]) == pytest.approx(width / 5)


@pytest.mark.parametrize("cell", ["2020-01-01-2020-01-11", "[2020-01-01, 2020-01-11]", "<2020-01-12"])
def test_intervals_of_dates(cell: str) -> None:
    days = [datetime.date(2020, 1, 1), datetime.date(2020, 1, 11), datetime.date(2020, 2, 10)]
    assert gcp_of([*days, days[0]], [*map(str, days), cell]) == pytest.approx(0.25 / 4)


@pytest.mark.parametrize(
    ("cell", "width"),
    [("[low, mid]", 0.5), ("low-mid", 0.5), ("<high", 0.5), (">=mid", 0.5), ("low|high", 1)],
)
def test_intervals_of_an_ordinal_attribute(cell: str, width: float) -> None:
    order = ["low", "mid", "high"]
    assert gcp_of([*order, "mid"], [*order, cell], anon.ordinal("q", order)) == pytest.approx(width / 4)


@pytest.mark.parametrize(
    ("cell", "width"),
    [
        *[(text, 1 / 3) for text in ("{Oslo, Rome}", "Oslo|Rome", "Rome,Oslo", "{Rome,Oslo}", "Oslo | Rome")],
        ("Paris, TX", 0),
        ("Paris, TX|Oslo", 1 / 3),
        ("{Oslo, Rome, Rome}", 1 / 3),
        ("Oslo|Rome|Bonn|Paris, TX", 1),
        ("*", 1),
    ],
)
def test_sets_of_other_tools(cell: str, width: float) -> None:
    cities = ["Oslo", "Rome", "Bonn", "Paris, TX"]
    assert gcp_of([*cities, "Oslo"], [*cities, cell]) == pytest.approx(width / 5)


@pytest.mark.parametrize(
    ("cell", "width"),
    [
        ("lung", 2 / 4),
        ("other", 3 / 4),
        ("*", 1),
        ("Flu", 0),
        ("virus", 0),
        ("Flu|HIV", 3 / 4),
        ("{lung, Flu}", 0.5),
    ],
)
def test_nodes_of_a_tree(cell: str, width: float) -> None:
    ills = ["Cancer", "HIV", "Flu", "Bronchitis", "Pneumonia"]
    assert gcp_of([*ills, "HIV"], [*ills, cell], anon.nominal("q", LUNG)) == pytest.approx(width / 6)


@pytest.mark.parametrize(("cell", "width"), [("young", 4 / 57), ("grey", 45 / 57), ("[0, 20)", 4 / 57)])
def test_names_of_levels(cell: str, width: float, tmp_path: Path) -> None:
    path = tmp_path / "age.csv"
    path.write_text("13;young;*\n17;young;*\n25;grey;*\n70;grey;*\n")
    attribute = anon.numeric("q", str(path))
    assert gcp_of([13, 17, 25, 70, 13], ["13", "17", "25", "70", cell], attribute) == pytest.approx(width / 5)


def test_a_label_above_all_that_occurs(tmp_path: Path) -> None:
    # the tree is pruned to "lung", and the label above it still means everything
    attribute = anon.nominal("q", LUNG)
    assert gcp_of(["Flu", "Bronchitis"], ["Flu", "other"], attribute) == 0.5
    path = tmp_path / "age.csv"
    path.write_text("13;young;anyone\n17;young;anyone\n25;grey;anyone\n", encoding="utf-8")
    assert gcp_of([13, 17], ["13", "anyone"], anon.numeric("q", str(path))) == 0.5


def test_numbers_are_single_values() -> None:
    assert gcp_of([1, 5, 9], [1, 5, 9]) == 0
    assert gcp_of([1, 5, 9], [9.0, 5.0, 1.0]) == 0


@pytest.mark.parametrize("shown", [[5, 5, 5], [1.5, 2.5, 9.0], [1, 1, 9]])
def test_numbers_that_the_rows_do_not_have_hide_their_cells(shown: list[Any]) -> None:
    # means, midpoints or noise: 5 stands once in the original, 2.5 nowhere, 1 once
    found = anon.compare({"q": [1, 5, 9]}, {"q": shown}, anon.Schema(["q"]))
    assert found.dm == sum(shown.count(value) ** 2 for value in set(shown))
    with pytest.raises(anon.UsageError, match=r"'q' by numbers .*midpoints, means or noise"):
        _ = found.gcp
    # said as text they are values of another tool's cells, and nothing more
    assert gcp_of([1.5, 5.0, 9.0], ["5", "5", "5"]) == 0


@pytest.mark.parametrize("suffix", ["parquet", "feather", "csv"])
@pytest.mark.parametrize("numeric", ["midpoint", "mean"])
def test_a_written_file_of_numbers_refuses_what_needs_cells(
    tmp_path: Path, suffix: str, numeric: Any
) -> None:
    table = {"age": [1, 2, 3, 4, 5, 7], "job": list("aabbbb"), "s": list("xyxyxy")}
    schema = anon.Schema(["age", "job"], ["s"])
    release = anon.anonymize(table, schema, require=[anon.KAnonymity(2)], numeric=numeric)
    release.write(tmp_path / f"release.{suffix}")
    found, whole = anon.compare(table, tmp_path / f"release.{suffix}", schema), release.utility()
    assert (found.n_classes, found.dm, found.pm) == (whole.n_classes, whole.dm, whole.pm)
    for measure in ("gcp", "um", "entropy", "kl", "u_loss"):
        with pytest.raises(anon.UsageError, match=f"'age'.*{numeric}"):
            getattr(found, measure)


# --- rows matched by an id


def matched(original: dict[str, Any], shown: dict[str, Any], schema: anon.Schema) -> Any:
    """What an id tells; the rows of the release are turned round."""
    turned = {name: column[::-1] for name, column in shown.items()}
    found = anon.compare(original, turned, schema, id="id").aligned
    assert found == anon.compare(original, shown, schema, id="id").aligned
    return found


def test_cells_that_do_not_hold_their_value() -> None:
    original = {
        "id": [7, 3, 5, 9],
        "n": [1, 2, 8, 9],
        "f": list("abab"),
        "t": ["Flu", "HIV", "Flu", "Cancer"],
        "s": list("xyxy"),
    }
    shown = {
        "id": ["5", "3", "7", "9"],  # rows 2, 1, 0, 3
        "n": ["[1, 2]", "[1, 2]", "[1, 2]", "*"],  # 8 lies outside
        "f": ["b", "{a, b}", "b", "b"],  # a, a are outside
        "t": ["lung", "lung", "Flu", "*"],  # HIV is outside
        "s": list("xxxx"),  # y became x twice
    }
    schema = anon.Schema(["n", "f", anon.nominal("t", LUNG)], ["s"])
    found = matched(original, shown, schema)
    assert (found.n_rows, found.outside) == (4, {"n": 0.25, "f": 0.5, "t": 0.25})
    # 8, 2, 1, 9 from the middles 1.5, 1.5, 1.5, 5
    assert found.error == {"n": (6.5 + 0.5 + 0.5 + 4) / 4}
    assert found.changed == {"s": 0.5}


def test_nulls_and_rows_that_the_release_lacks() -> None:
    original = {"id": [1, 2, 3, 4], "n": pa.array([1, None, 5, None]), "f": pa.array([None, "a", "b", "b"])}
    shown = {
        "id": [1, 2, 3],
        "n": ["missing", "[1, 5] or missing", "5 or missing"],  # 1 is outside
        "f": ["missing", "a", "a or missing"],  # b is outside
    }
    found = anon.compare(original, shown, anon.Schema(["n", "f"]), id="id").aligned
    assert found == anon.measures.utility.Aligned(
        n_rows=3, outside={"n": 1 - 2 / 3, "f": 1 - 2 / 3}, error={"n": 0.0}, changed={}
    )


def test_numbers_have_a_distance_but_no_cells() -> None:
    original = {"id": list("abcd"), "n": [10, 20, 30, 40], "d": pa.array([0, 5, 9, 9], pa.date32())}
    shown = {"id": list("abcd"), "n": [10.5, 18.0, 30.0, 44.0], "d": pa.array([1, 5, 9, 6], pa.date32())}
    found = anon.compare(original, shown, anon.Schema(["n", "d"]), id="id").aligned
    assert found is not None
    assert found.outside == {"n": None, "d": None}
    assert found.error == {"n": (0.5 + 2 + 0 + 4) / 4, "d": (1 + 3) / 4}


@pytest.mark.parametrize("suffix", ["parquet", "feather", "csv"])
@pytest.mark.parametrize("numeric", ["interval", "bounds", "level", "midpoint"])
def test_our_own_cells_hold_their_values(tmp_path: Path, suffix: str, numeric: Any) -> None:
    rng = np.random.default_rng(1)
    n = 200
    table = {
        "id": rng.permutation(n),
        "age": pa.array(rng.integers(0, 60, n), mask=rng.random(n) < 0.1),
        "paid": pa.array(rng.normal(size=n).round(2)),
        "job": rng.choice(list("abc"), n),
        "ill": rng.choice(["Cancer", "HIV", "Flu", "Bronchitis"], n),
        "s": rng.choice(list("xyz"), n),
    }
    quasi = [anon.numeric("age", anon.intervals(5, 20)), anon.numeric("paid", anon.intervals(1)), "job"]
    schema = anon.Schema([*quasi, anon.nominal("ill", LUNG)], ["s"], neutral="rest")
    release = anon.anonymize(table, schema, require=[anon.KAnonymity(4)], numeric=numeric)
    path = tmp_path / f"release.{suffix}"
    release.write(path)
    found = anon.compare(table, path, schema, id="id")
    assert found.aligned is not None
    nothing = None if numeric == "midpoint" else 0
    assert found.aligned.outside == dict.fromkeys(("age", "paid", "job", "ill"), nothing)
    assert found.aligned.changed == {"s": 0}
    assert found.aligned.error["age"] > 0
    assert json.loads(json.dumps(found.to_dict()))["aligned"]["n_rows"] == n
    assert anon.compare(table, path, schema).aligned is None


def test_an_id_in_a_bucketization(tmp_path: Path) -> None:
    table = {"id": [1, 2, 3, 4], "q": [1, 2, 3, 4], "s": list("abab")}
    schema = anon.Schema(["q"], ["s"], neutral="rest")
    release = anon.anonymize(table, schema, require=[anon.KAnonymity(2)], publish="bucketization")
    release.write(tmp_path / "release.csv")
    found = anon.compare(table, tmp_path / "release.csv", schema, id="id").aligned
    assert found == anon.measures.utility.Aligned(
        n_rows=4, outside={"q": 0}, error={"q": 0}, changed={"s": None}
    )


@pytest.mark.parametrize(
    ("ids", "there", "what", "row", "count"),
    [
        ([1, 2, 2, 2], [1, 2, 2, 2], "original has an id that is repeated in 3 rows", 2, 3),
        ([1, 2, 3, 4], [1, 2, 4, 4], "release has an id that is repeated in 2 rows", 3, 2),
        ([1, 2, 3, 4], [1, 2, 7, 4], "release has an id that the original lacks in 1 rows", 3, 1),
        ([1, None, 3, 4], [1, 2, 3, 4], "original has no id in 1 rows", 2, 1),
        ([1, 2, 3, 4], [1, 2, None, None], "release has no id in 2 rows", 3, 2),
        ([None] * 4, [1, 2, 3, 4], "original has no id in 4 rows", 1, 4),
        ([1.0, float("nan"), 3.0, 4.0], [1.0, 2.0, 3.0, 4.0], "original has no id in 1 rows", 2, 1),
    ],
)
def test_ids_that_do_not_tell_rows_apart(
    ids: list[Any], there: list[Any], what: str, row: int, count: int
) -> None:
    original, shown = {"id": pa.array(ids), "q": [1] * 4}, {"id": pa.array(there), "q": [1] * 4}
    with pytest.raises(anon.DataError, match=f"{what}, the first in row {row};") as caught:
        anon.compare(original, shown, anon.Schema(["q"]), id="id")
    assert (caught.value.column, caught.value.row, caught.value.count) == ("id", row - 1, count)


def test_an_id_must_be_neutral_and_in_both_tables() -> None:
    table = {"id": [1, 2], "q": [1, 2], "s": [1, 2]}
    for schema, name in (
        (anon.Schema(["q"], ["s"], ["id"]), "id"),
        (anon.Schema(["q"], ["s"]), "q"),
        (anon.Schema(["q"], ["s"]), "s"),
    ):
        with pytest.raises(anon.UsageError, match=f"'{name}' is .*neutral"):
            anon.compare(table, table, schema, id=name)
    with pytest.raises(anon.DataError, match="no column 'no'"):
        anon.compare(table, table, anon.Schema(["q"]), id="no")
    with pytest.raises(anon.DataError, match="no column 'id'"):
        anon.compare(table, {"q": [1, 2]}, anon.Schema(["q"]), id="id")


def test_the_command_matches_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from anon.command.entry import main

    pq.write_table(pa.table({"id": [1, 2, 3], "q": [1, 5, 9]}), tmp_path / "a.parquet")
    pa.csv.write_csv(pa.table({"id": [3, 2, 1], "q": ["9", "[1, 5]", "[5, 9]"]}), tmp_path / "b.csv")
    words = ["compare", str(tmp_path / "a.parquet"), str(tmp_path / "b.csv"), "--quasi", "q", "--id", "id"]
    assert main([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["aligned"]["outside"] == {"q": pytest.approx(1 / 3)}
    assert main([*words, "--all"]) == 0
    assert "aligned.outside.q" in capsys.readouterr().out
    assert main([*words[:-1], "q"]) == 2
    assert "neutral" in capsys.readouterr().err


# --- bucketized pairs are validated as by check


def test_a_pair_is_validated_as_by_check(tmp_path: Path) -> None:
    table = {"q": [1, 2, 3, 4], "s": list("abab")}
    schema = anon.Schema(["q"], ["s"])
    release = anon.anonymize(table, schema, require=[anon.KAnonymity(2)], publish="bucketization")
    release.write(tmp_path / "r.csv")
    second = release.sensitive_table
    for wrong, what in (
        (second.set_column(3, "count", pa.array([0, 1, 1, 1])), "column 'count'"),
        (second.set_column(3, "count", pa.array(list("abcd"))), "'count' of the sensitive table"),
        (second.set_column(1, "class_id", pa.array(list("abcd"))), "'class_id' of the sensitive table"),
        (second.drop_columns(["value"]), "no column 'value'"),
    ):
        for call in (
            lambda wrong: anon.compare(table, release.table, schema, sensitive_table=wrong),
            lambda wrong: anon.check(release.table, schema, sensitive_table=wrong),
        ):
            with pytest.raises(anon.DataError, match=what):
                call(wrong)
    with pytest.raises(anon.DataError, match="sensitive half of a bucketization"):
        anon.compare(table, tmp_path / "r.sensitive.csv", schema)
    # without its other half it is no bucketization that a CSV could tell of
    (tmp_path / "r.sensitive.csv").unlink()
    assert anon.compare(table, tmp_path / "r.csv", schema).pm == 0


def test_two_columns_of_bounds() -> None:
    table = {"age": pa.array([10, 20, 40, None]), "job": list("aabb")}
    shown = {
        "age_min": pa.array([10, 10, 40, None]),
        "age_max": pa.array([20, 20, 40, None]),
        "job": list("aabb"),
    }
    # a blank pair is a missing value where the original has one: 10/30 twice, 0, 0
    assert anon.compare(table, shown, anon.Schema(["age", "job"])).by_attribute["age"].ncp == pytest.approx(
        1 / 6
    )
    marked = {**shown, "age_missing": [False, True, False, True]}
    found = anon.compare(table, marked, anon.Schema(["age", "job"]))
    assert found.by_attribute["age"].ncp == pytest.approx((1 / 3 + 1 + 0 + 0) / 4)
    assert found.n_classes == 4


def test_a_missing_cell() -> None:
    # the original has no null there: the cell was suppressed
    assert gcp_of(["a", "b", "c"], ["a", None, "c"]) == pytest.approx(1 / 3)
    # it has: the cell is null
    assert gcp_of(["a", None, "c"], ["a", None, "c"]) == 0
    assert gcp_of(["a", None, "c"], ["a or missing", "a or missing", "c"]) == pytest.approx(2 / 3)


def test_a_column_of_missing_cells_only() -> None:
    table = {"a": [1, 2], "b": ["x", "y"]}
    shown = {"a": pa.array([None, None], pa.int64()), "b": ["x", "y"]}
    assert anon.compare(table, shown, anon.Schema(["a", "b"])).gcp == 0.5


def test_trap_26_rows_of_stars_are_suppressed() -> None:
    table = {"a": [1, 2, 3, 4], "b": list("xyxy")}
    shown = {"a": ["[1, 2]", "[1, 2]", "*", "*"], "b": ["*", "*", "*", "*"]}
    found = anon.compare(table, shown, anon.Schema(["a", "b"]))
    assert (found.n_suppressed, found.n_starred, found.n_classes, found.k) == (2, 2, 1, 2)
    # 2² + 2·4; a: 1/3 twice and 1 twice, b: 1 throughout
    assert found.dm == 12
    assert found.gcp == pytest.approx(((2 / 3 + 2) / 4 + 1) / 2)
    assert found.class_size == 2


def test_rows_that_the_release_lacks_are_suppressed() -> None:
    found = anon.compare({"q": [1, 2, 3, 4]}, {"q": ["1-2", "1-2"]}, anon.Schema(["q"]))
    assert (found.n_suppressed, found.n_starred, found.dm) == (2, 0, 4 + 8)
    assert found.gcp == pytest.approx((2 / 3 + 2) / 4)


def test_rows_are_not_aligned() -> None:
    table = {"q": [1, 2, 8, 9], "s": list("aabb")}
    shown = {"q": ["1-2", "8-9", "1-2", "8-9"], "s": list("abab")}
    turned = {name: column[::-1] for name, column in shown.items()}
    schema = anon.Schema(["q"], ["s"])
    first, second = anon.compare(table, shown, schema), anon.compare(table, turned, schema)
    assert first == second
    assert first.kl == second.kl


def test_texts_of_one_cell_make_one_class() -> None:
    found = anon.compare({"q": [1, 2, 3]}, {"q": ["1-2", "[1, 2]", "3"]}, anon.Schema(["q"]))
    assert (found.n_classes, found.k, found.dm) == (2, 1, 5)


@pytest.mark.parametrize(
    ("column", "shown", "row", "count"),
    [
        ([1, 2, 3], ["1-3", "about 2", "soon"], 1, 2),
        ([1, 2, 3], ["1-3", "1-3", "[4, 9]"], 2, 1),
        ([1, 2, 3], ["3-1", "1", "2"], 0, 1),
        ([1, 2, 3], ["1.5", "1", "2"], 0, 1),
        (["a", "b", "c"], ["a", "{a, d}", "c"], 1, 1),
        (["a", "b", "c"], ["a", "b", "group 1"], 2, 1),
    ],
)
def test_a_cell_that_cannot_be_read_is_named(
    column: list[Any], shown: list[str], row: int, count: int
) -> None:
    with pytest.raises(anon.DataError, match=rf"'q' .*row {row + 1};") as caught:
        gcp_of(column, shown)
    assert (caught.value.column, caught.value.row, caught.value.count) == ("q", row, count)
    assert caught.value.value == shown[row]
    assert shown[row] not in str(caught.value)


def test_sensitive_values_that_the_original_lacks() -> None:
    with pytest.raises(anon.DataError, match=r"'s' .*1 values that the original lacks.*row 2"):
        anon.compare({"q": [1, 2], "s": [1, 2]}, {"q": [1, 2], "s": [1, 3]}, anon.Schema(["q"], ["s"]))


def test_more_rows_than_the_original() -> None:
    with pytest.raises(anon.DataError, match="3 rows and the original 2"):
        anon.compare({"q": [1, 2]}, {"q": [1, 2, 2]}, anon.Schema(["q"]))


def test_a_column_that_the_release_lacks() -> None:
    with pytest.raises(anon.DataError, match="no column 'age'"):
        anon.compare({"age": [1, 2]}, {"q": [1, 2]}, anon.Schema(["age"]))


@pytest.mark.adult
def test_adult_reads_back(adult_dir: Path, tmp_path: Path) -> None:
    quasi = ["age", "workclass", "education", "marital-status", "occupation", "race", "sex", "native-country"]
    table = anon.datasets.adult(adult_dir)
    schema = anon.Schema(quasi, ["salary-class"])
    release = anon.anonymize(table, schema, require=[anon.KAnonymity(10)])
    release.write(tmp_path / "release.parquet")
    found, expected = anon.compare(table, tmp_path / "release.parquet"), release.utility()
    assert found == expected
    assert found.kl == expected.kl
    assert found.u_loss == expected.u_loss
    pq.write_table(
        pq.read_table(tmp_path / "release.parquet").replace_schema_metadata(None), tmp_path / "b.parquet"
    )
    blind = anon.compare(table, tmp_path / "b.parquet", schema)
    assert blind.loss == expected.loss


def test_a_job_file_says_r_and_min_support(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = pa.table({"age": list(range(20, 40)), "s": pa.array([1, 2, 3, 9] * 5)})
    pq.write_table(table, tmp_path / "in.parquet")
    schema = anon.Schema(["age"], ["s"])
    anon.anonymize(table, schema, require=[anon.KAnonymity(4)]).write(tmp_path / "out.parquet")
    job = tmp_path / "job.toml"
    job.write_text('quasi = ["age"]\nsensitive = ["s"]\nr = 0.3\nmin_support = 0.5\n')
    files = [str(tmp_path / "in.parquet"), str(tmp_path / "out.parquet"), "--json"]
    assert main(["compare", *files, "--config", str(job)]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (
        main(["compare", *files, "--quasi", "age", "--sensitive", "s", "--r", "0.3", "--min-support", "0.5"])
        == 0
    )
    assert told == json.loads(capsys.readouterr().out)
    assert main(["compare", *files, "--quasi", "age", "--sensitive", "s"]) == 0
    assert told["pm"] != json.loads(capsys.readouterr().out)["pm"]
    assert main(["compare", *files, "--min-support", "nan"]) == 2


def test_a_cell_that_was_suppressed_is_the_whole_domain(tmp_path: Path) -> None:
    """Also in a column that had missing values before, and where labels look like cells."""
    table = {
        "age": [30, 30, 31, 40, 40, 45],
        "sex": list("mmmfff"),
        "edu": ["{a, b}", "{a, b}", "b", None, "missing", "missing"],
        "s": list("xyzxyz"),
    }
    schema = anon.Schema(["age", "sex", "edu"], ["s"])
    require = [anon.KAnonymity(2, nulls="wildcard")]
    with pytest.warns(anon.PrivacyWarning):
        release = anon.anonymize(table, schema, require=require, method=anon.LocalSuppression())
    release.write(tmp_path / "out.parquet")
    ours = release.utility()
    n_null = sum(release.table[name].null_count for name in ("age", "sex", "edu"))
    for theirs in (anon.compare(table, tmp_path / "out.parquet"), anon.compare(table, release.table, schema)):
        assert theirs.gcp == pytest.approx(ours.gcp) == pytest.approx(n_null / 18)
        assert theirs.u_loss == pytest.approx(ours.u_loss)
