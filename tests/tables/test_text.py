# SPDX-License-Identifier: Apache-2.0
"""CSV as it is written: marks, separators, decimal commas, no header, texts that are missing."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import anon
from anon.command import main

ENGINES = pytest.mark.parametrize("engine", ["local", "stream"])


def read(path: Path, engine: Any, **options: Any) -> dict[str, list[Any]]:
    table = anon.read_source(path, engine=engine, **options).table
    return (table if isinstance(table, pa.Table) else table.whole()).to_pydict()


def written(path: Path, text: str, encoding: str = "utf-8") -> Path:
    path.write_bytes(text.encode(encoding))
    return path


@ENGINES
def test_a_line_that_names_the_separator(engine: Any, tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", "sep=;\r\na,b;c\r\n1,5;x\r\n2;y\r\n")
    assert read(path, engine) == {"a,b": ["1,5", "2"], "c": ["x", "y"]}
    assert read(path, engine, decimal=",") == {"a,b": [1.5, 2.0], "c": ["x", "y"]}
    with pytest.raises(anon.DataError, match=r"line 3: 3 fields where the header has 2"):
        anon.read_table(written(path, "sep=;\na;b\n1;2;3\n"))


@ENGINES
def test_decimal_commas(engine: Any, tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", "a;zip\n26,8;01\n-1,25;99\n3;00\n")
    assert read(path, engine) == {"a": ["26,8", "-1,25", "3"], "zip": ["01", "99", "00"]}
    assert read(path, engine, decimal=",") == {"a": [26.8, -1.25, 3.0], "zip": ["01", "99", "00"]}
    assert read(written(path, "a;b\n01,5;1\n2,5;2\n"), engine, decimal=",")["a"] == ["01,5", "2,5"]


@ENGINES
def test_without_a_header(engine: Any, tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", "\n1;x\n2;y\n")
    assert read(path, engine, header=False) == {"column 1": [1, 2], "column 2": ["x", "y"]}


@ENGINES
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig"])
def test_the_mark_of_unicode_names_the_encoding(engine: Any, encoding: str, tmp_path: Path) -> None:
    mark = "" if encoding in ("utf-16", "utf-8-sig") else "\ufeff"
    path = written(tmp_path / "a.csv", f"{mark}a;b\nä;1\né;2\n", encoding)
    assert read(path, engine) == {"a": ["ä", "é"], "b": [1, 2]}


@pytest.mark.parametrize(
    ("text", "encoding"),
    [("a,b\nä,“x”\n", "cp1252"), ("a,b\nä,x\n", "latin-1"), ("a\n\x81\xe4\n", "latin-1")],
)
def test_the_encoding_that_is_proposed_reads_the_file(text: str, encoding: str, tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", text, encoding)
    with pytest.raises(anon.DataError, match=f"try --encoding {encoding}, which reads all of it"):
        anon.read_table(path)
    assert read(path, "local", encoding=encoding)["a"] == [text.splitlines()[1].partition(",")[0]]


@ENGINES
def test_a_text_is_missing_in_one_column(engine: Any, tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", "age,hhsize,score\n97,2,10\n98,2,97\n")
    assert read(path, engine, null="age=97") == {"age": [None, 98], "hhsize": [2, 2], "score": [10, 97]}
    assert read(path, engine, null=["age=97", "score=10"])["score"] == [None, 97]
    for marker, message in (
        ("agee=97", "no column 'agee'; did you mean 'age'"),
        ("age=x", "column 'age' is int64"),
    ):
        with pytest.raises(anon.DataError, match=message):
            read(path, engine, null=marker)


def test_a_text_is_missing_in_one_column_of_any_source() -> None:
    table = pa.table({"a": ["x", "y"], "b": pa.array(["q", "r"]).dictionary_encode(), "c": [1.5, 2.0]})
    found = anon.read_table(table, null=["a=x", "b=r", "c=2"])
    assert found.to_pydict() == {"a": [None, "y"], "b": ["q", None], "c": [1.5, None]}


@ENGINES
def test_files_with_their_columns_in_another_order(engine: Any, tmp_path: Path) -> None:
    written(tmp_path / "1.csv", "age,zip,dx\n1,2,3\n")
    written(tmp_path / "2.csv", "zip,dx,age\n02,x,7\n")
    assert read(tmp_path, engine) == {"age": [1, 7], "zip": ["2", "02"], "dx": ["3", "x"]}
    written(tmp_path / "2.csv", "zip,dy,age\n02,x,7\n")
    with pytest.raises(anon.DataError, match=r"2.csv' lacks 'dx' and has 'dy' more, beside file"):
        read(tmp_path, engine)


@ENGINES
def test_days_by_their_format(engine: Any, tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", "born,x\n01.02.1939,1\n,2\n31.12.2001,3\n?,4\n")
    days = [date(1939, 2, 1), None, date(2001, 12, 31), None]
    asked = {"date": {"born": "%d.%m.%Y"}}
    assert read(path, engine, **asked, null="born=?") == {"born": days, "x": [1, 2, 3, 4]}
    with pytest.raises(
        anon.DataError, match=r"column 'born': 1 values are no dates.*first in row 4;"
    ) as wrong:
        read(path, engine, **asked)
    assert (wrong.value.row, wrong.value.count, wrong.value.value) == (3, 1, "?")
    assert "?" not in str(wrong.value)
    assert "--null born=TEXT" in wrong.value.in_flags
    with pytest.raises(anon.DataError, match="column 'x': 4 values are no dates of the format '%Y'"):
        read(path, engine, date={"x": "%Y"})
    with pytest.raises(anon.DataError, match="column 'x' is int64, no text"):
        anon.read_table({"x": [1]}, date={"x": "%Y"})
    with pytest.raises(anon.DataError, match="no column 'bron'; did you mean 'born'"):
        read(path, engine, date={"bron": "%Y"})


def test_days_of_a_file_are_cut_as_days(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", "Geburtsdatum\n" + "".join(f"{d:02}.02.1939\n" for d in range(1, 11)))
    out = tmp_path / "out.csv"
    asked = ["anonymize", str(path), "-o", str(out), "--quasi", "Geburtsdatum", "--k", "5"]
    assert main([*asked, "--date", "Geburtsdatum=%d.%m.%Y"]) == 0
    assert sorted(set(out.read_text().splitlines()[1:])) == [
        '"[1939-02-01, 1939-02-05]"',
        '"[1939-02-06, 1939-02-10]"',
    ]
