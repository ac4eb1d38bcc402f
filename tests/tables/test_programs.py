# SPDX-License-Identifier: Apache-2.0
"""Releases as files of SPSS, Stata and Excel: with the labels of their input, read back, whole or absent."""

from __future__ import annotations

import datetime
import stat
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyreadstat
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anon
from anon.command import main
from anon.errors import DataError, UsageError
from anon.tables import Labels, check_held, labels_of, read_source, write_program

SUFFIXES = {".sav": "SPSS", ".dta": "Stata", ".xlsx": "Excel"}
SCHEMA = anon.Schema(["age", "sex"], ["income"], neutral="rest")
REQUIRE = [anon.KAnonymity(3)]
N = 60


@pytest.fixture(scope="module")
def survey(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An SPSS file with labels, one of whose codes nobody has."""
    frame = pd.DataFrame(
        {
            "age": [20.0 + i % 30 for i in range(N)],
            "sex": [1.0 + i % 2 for i in range(N)],
            "region": [float(i % 3) for i in range(N)],
            "work": [float(i % 2) for i in range(N)],
            "income": [1.5 * (i % 7) for i in range(N)],
            "town": [("Ä", "b c", "")[i % 3] for i in range(N)],
            "born": [datetime.date(1980, 1, 1 + i % 20) for i in range(N)],
            "seen": pd.Series(
                [datetime.datetime(2020, 1, 1, 10, 0, i % 10) for i in range(N)], dtype="datetime64[us]"
            ),
        }
    )
    path = tmp_path_factory.mktemp("survey") / "in.sav"
    pyreadstat.write_sav(
        frame,
        path,
        column_labels={"age": "Age in years", "work": "Works"},
        variable_value_labels={
            "sex": {1: "male", 2: "female"},
            "region": {0: "north", 1: "south", 99: "refused"},
            "work": {0: "no", 1: "yes", 9: "Zoe Zebra, who is in no release"},
        },
    )
    return path


def release_of(source: Any, **options: Any) -> Any:
    return anon.anonymize(anon.read_source(source), SCHEMA, require=REQUIRE, **options)


@pytest.mark.filterwarnings("ignore::anon.PrivacyWarning")
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_release_is_written_read_back_and_checked(survey: Path, suffix: str, tmp_path: Path) -> None:
    release = release_of(survey)
    path = tmp_path / f"out{suffix}"
    release.write(path)
    back = anon.read_source(path)
    for name in release.table.column_names:
        ours = [None if value == "" else value for value in release.table.column(name).to_pylist()]
        assert back.table.column(name).to_pylist() == ours, name
    assert anon.check(back, anon.Schema(["age", "sex"], ["income"])).k == release.privacy().k
    assert [each.name for each in tmp_path.iterdir()] == [path.name]
    (tmp_path / "plain").write_text("")
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE((tmp_path / "plain").stat().st_mode)


@pytest.mark.filterwarnings("ignore::anon.PrivacyWarning")
@pytest.mark.parametrize(("suffix", "read"), [(".sav", pyreadstat.read_sav), (".dta", pyreadstat.read_dta)])
def test_columns_keep_the_labels_of_values_that_are_there(
    survey: Path, suffix: str, read: Any, tmp_path: Path
) -> None:
    path = tmp_path / f"out{suffix}"
    release_of(survey).write(path)
    columns, about = read(path, output_format="dict")
    assert set(columns["work"]) == {0, 1}
    assert about.variable_value_labels == {"work": {0: "no", 1: "yes"}, "region": {0: "north", 1: "south"}}
    assert about.column_names_to_labels["work"] == "Works"
    assert about.column_names_to_labels["age"] == "Age in years"
    assert b"Zebra" not in path.read_bytes()
    assert set(columns["sex"]) <= {"male", "female", "*", "{male, female}"}  # cells are texts


@pytest.mark.filterwarnings("ignore::anon.PrivacyWarning")
def test_the_command_writes_them_and_check_passes(
    survey: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    roles = ("--quasi", "age,sex", "--sensitive", "income", "--k", "3")
    for suffix in SUFFIXES:
        path = str(tmp_path / f"out{suffix}")
        assert main(["anonymize", str(survey), "-o", path, *roles, "--neutral", "*", "-q"]) == 0
        assert main(["check", path, *roles]) == 0
    Path(tmp_path, "lists.parquet").write_bytes(b"")
    import pyarrow.parquet as pq

    pq.write_table(
        pa.table({"age": [1, 1, 1], "sex": ["a"] * 3, "parts": [[1]] * 3}), tmp_path / "lists.parquet"
    )
    capsys.readouterr()
    for suffix, program in (*SUFFIXES.items(), (".sqlite", "SQLite")):
        out = [
            "-o",
            str(tmp_path / f"no{suffix}"),
            *(["--release-table", "a"] if program == "SQLite" else []),
        ]
        assert (
            main(
                [
                    "anonymize",
                    str(tmp_path / "lists.parquet"),
                    *out,
                    "--quasi",
                    "age,sex",
                    "--neutral",
                    "*",
                    "--k",
                    "99",
                ]
            )
            == 2
        )
        assert (
            f"{program} holds no column such as 'parts'" in capsys.readouterr().err
        )  # before k is looked at


def table_of(**columns: Any) -> pa.Table:
    n = len(next(iter(columns.values())))
    return pa.table(
        {
            "age": [i % 2 for i in range(n * 4)],
            **{k: pa.concat_arrays([pa.array(v)] * 4) for k, v in columns.items()},
        }
    )


def written(path: Path, **columns: Any) -> pa.Table:
    release = anon.anonymize(
        table_of(**columns), anon.Schema(["age"], neutral="rest"), require=[anon.KAnonymity(2)]
    )
    release.write(path)
    return anon.read_table(path)


@pytest.mark.filterwarnings("ignore::anon.PrivacyWarning")
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_type_comes_back(suffix: str, tmp_path: Path) -> None:
    day, time = datetime.date(2020, 2, 29), datetime.datetime(2020, 2, 29, 23, 59, 58)
    back = written(
        tmp_path / f"a{suffix}",
        truth=[True, False, None],
        whole=[2**53, -(2**53), None],
        part=[0.1, -1e300, None],
        cents=pa.array([Decimal("1.50"), Decimal("-0.01"), None], pa.decimal128(12, 2)),
        text=["007", "=1+1", None],
        mixed=["12", "é\n日本", " a b" if suffix == ".sav" else " a b "],
        none=pa.nulls(3),
        day=[day, None, day],
        time=pa.array([time, None, None], pa.timestamp("us")),
    )
    texts = ["true", "false"] if suffix != ".xlsx" else [True, False]
    assert set(back.column("truth").to_pylist()) == {*texts, None}
    assert set(back.column("whole").to_pylist()) == {2**53, -(2**53), None}
    assert set(back.column("part").to_pylist()) == {0.1, -1e300, None}
    assert set(back.column("cents").to_pylist()) == {1.5, -0.01, None}
    assert set(back.column("text").to_pylist()) == {"007", "=1+1", None}
    assert set(back.column("mixed").to_pylist()) == {"12", "é\n日本", " a b" if suffix == ".sav" else " a b "}
    assert set(back.column("none").to_pylist()) == {None}
    assert set(back.column("day").to_pylist()) == {day, None}
    assert set(back.column("time").to_pylist()) == {time, None}


REFUSED = [  # (suffixes, values, what is said)
    (".sav.dta.xlsx", [[1], [2]], "holds no column such as 'x' of type list"),
    (".sav.dta.xlsx", [b"a", b"b"], "holds no column such as 'x' of type binary"),
    (".sav.dta.xlsx", [datetime.time(1), None], "holds no column such as 'x' of type time"),
    (".sav.dta.xlsx", pa.array([0, 1], pa.timestamp("us", "UTC")), "make it UTC without a zone"),
    (
        ".sav.dta.xlsx",
        pa.array([Decimal(1), None], pa.decimal128(30, 2)),
        "holds no column such as 'x' of type decimal",
    ),
    (".sav.dta.xlsx", [2**53 + 1, 0], "column 'x' holds whole numbers of more than 53 bits in 4 rows"),
    (".sav.dta.xlsx", [-(2**60), 0], "column 'x' holds whole numbers of more than 53 bits in 4 rows"),
    (
        ".sav.dta.xlsx",
        pa.array([2**63, 0], pa.uint64()),
        "column 'x' holds whole numbers of more than 53 bits",
    ),
    (".sav.dta.xlsx", [0.0, float("nan")], "column 'x' holds NaN in 4 rows"),
    (".xlsx", [0.0, float("inf")], "column 'x' holds infinity in 4 rows, the first in row"),
    (".dta", [0.0, 1.7e308], "column 'x' holds numbers beyond its greatest"),
    (".sav.dta.xlsx", ["", None], "column 'x' holds empty texts beside missing values in 4 rows"),
    (".sav", ["a", "b "], "column 'x' holds texts that end in a blank in 4 rows"),
    (".sav.dta", ["a", "b\0c"], "column 'x' holds zero bytes in text"),
    (".xlsx", ["a", "b\x01"], "column 'x' holds control characters in text"),
    (".xlsx", ["a", "_x0041_"], "column 'x' holds control characters in text"),
    (".sav.xlsx", ["a", "b" * 40_000], "column 'x' holds texts that are too long"),
    (".xlsx", [datetime.date(1899, 1, 1), None], "column 'x' holds days before March 1900"),
    (".sav", pa.array([1, None], pa.timestamp("ms")), "column 'x' holds times of less than a second"),
    (
        ".dta.xlsx",
        pa.array([1, None], pa.timestamp("us")),
        "column 'x' holds times of less than a millisecond",
    ),
]


@pytest.mark.filterwarnings("ignore::anon.PrivacyWarning")
@pytest.mark.parametrize(("suffixes", "values", "said"), REFUSED)
def test_what_a_format_cannot_hold_is_refused_by_name(
    suffixes: str, values: Any, said: str, tmp_path: Path
) -> None:
    for suffix in suffixes.split(".")[1:]:
        with pytest.raises(DataError, match=said):
            written(tmp_path / f"a.{suffix}", x=values)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("program", "name", "is_held"),
    [
        ("SPSS", "a b", False),
        ("SPSS", "1a", False),
        ("SPSS", "age.min", True),
        ("SPSS", "ALL", False),
        ("SPSS", "é", True),
        ("SPSS", "x" * 64, True),
        ("SPSS", "x" * 65, False),
        ("Stata", "age.min", False),
        ("Stata", "x" * 32, True),
        ("Stata", "x" * 33, False),
        ("Stata", "int", False),
        ("Excel", "a b: int = [1]", True),
    ],
)
def test_names_that_a_program_does_not_take_are_refused(program: Any, name: str, is_held: bool) -> None:
    schema = pa.schema([("fine", pa.int64()), (name, pa.int64())])
    if is_held:
        check_held(program, schema)
        return
    with pytest.raises(DataError, match=f"{program} takes no column named") as caught:
        check_held(program, schema)
    assert caught.value.column == name


def test_names_that_are_one_to_spss_and_sheets_that_are_too_wide_are_refused() -> None:
    with pytest.raises(DataError, match="does not tell the columns 'Age' and 'AGE' apart"):
        check_held("SPSS", pa.schema([("Age", pa.int64()), ("AGE", pa.int64())]))
    check_held("Stata", pa.schema([("Age", pa.int64()), ("AGE", pa.int64())]))
    with pytest.raises(DataError, match="at most 16,384 columns"):
        check_held("Excel", pa.schema([(f"c{i}", pa.int64()) for i in range(16_385)]))
    with pytest.raises(DataError, match="at most 1,048,575 rows"), open("/dev/null", "wb") as file:
        write_program(file, "Excel", pa.table({"a": np.zeros(1_048_576, bool)}), {})


def test_labels_that_are_too_long_are_refused_and_descriptions_are_cut(tmp_path: Path) -> None:
    table = pa.table({"a": ["é" * 61, "b"]})
    with open(tmp_path / "a.sav", "wb") as file:
        with pytest.raises(DataError, match="column 'a' has labels of more than 120 bytes"):
            write_program(file, "SPSS", table, {"a": Labels(None, {1: "é" * 61, 2: "b"})})
        write_program(file, "SPSS", pa.table({"a": [1.0]}), {"a": Labels("ü" * 200)})
    assert pyreadstat.read_sav(tmp_path / "a.sav")[1].column_labels == ["ü" * 127]


def test_a_release_of_a_streamed_table_and_no_bucketization(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("age,sex,income\n" + "".join(f"{i % 9},{'fm'[i % 2]},{i % 5}\n" for i in range(300)))
    source = read_source(path, engine="stream")
    anon.anonymize(source, SCHEMA, require=REQUIRE).write(tmp_path / "a.dta")
    assert anon.read_table(tmp_path / "a.dta").num_rows == 300
    buckets = anon.anonymize(source, SCHEMA, require=[anon.LDiversity(2)], publish="bucketization")
    with pytest.raises(UsageError, match="bucketization has two tables"):
        buckets.write(tmp_path / "b.sav")


def test_a_missing_library_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr("anon.tables.programs.import_module", absent)
    with pytest.raises(UsageError, match="install the extra `files` to write files of Stata"):
        check_held("Stata", pa.schema([("a", pa.int64())]))


@given(st.text(max_size=9), st.dictionaries(st.floats(allow_nan=False), st.text(max_size=9), max_size=4))
def test_labels_are_kept_by_a_field(description: str, values: dict[float, str]) -> None:
    kept = labels_of(Labels(description or None, values).of(pa.field("a", pa.int64())))
    assert kept == Labels(description or None, values)
