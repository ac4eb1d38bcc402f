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

import anon
from anon.release import Release
from test_utility import LUNG, arrow, release_of, tables

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
    assert gcp_of([1.5, 5.0, 9.0], [5, 5, 5]) == 0  # another value, as narrow
    assert gcp_of([1, 5, 9], [9.0, 5.0, 1.0]) == 0


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
