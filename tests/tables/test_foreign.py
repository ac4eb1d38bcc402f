# SPDX-License-Identifier: Apache-2.0
"""Files of other programs: read with their labels and missing codes, or named with a way out."""

from __future__ import annotations

import datetime
import gzip
import json
import sqlite3
import zipfile
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat
import pytest

import anon
from anon.command import main

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
RELATED = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
PEOPLE = pd.DataFrame(
    {
        "age": [23, 97, None],
        "sex": [1, 2, 1],
        "region": [1, 2, 3],
        "name": ["Ana", "", "Cleo"],
        "born": [datetime.date(1999, 1, 31), None, datetime.date(2001, 5, 6)],
        "income": [1.5, 2, 3],
    }
)
LABELS = {"sex": {1: "male", 2: "female"}, "region": {1: "north"}}


def workbook(path: Path, **sheets: list[list[Any]]) -> Path:
    """The least that is an Excel file."""

    def cell(value: Any) -> str:
        if value is None:
            return "<c/>"
        if isinstance(value, bool):
            return f'<c t="b"><v>{int(value)}</v></c>'
        if isinstance(value, str):
            return f'<c t="inlineStr"><is><t xml:space="preserve">{escape(value)}</t></is></c>'
        return f"<c><v>{value}</v></c>"

    def part(kind: str, i: int) -> str:
        return f'<Relationship Id="r{i}" Type="{RELATED}/{kind}" Target='

    with zipfile.ZipFile(path, "w") as file:
        file.writestr("[Content_Types].xml", f'<Types xmlns="{PACKAGE}/content-types"/>')
        file.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{PACKAGE}/relationships">{part("officeDocument", 1)}"xl/workbook.xml"/>'
            "</Relationships>",
        )
        named = (f'<sheet name="{name}" sheetId="{i}" r:id="r{i}"/>' for i, name in enumerate(sheets, 1))
        file.writestr(
            "xl/workbook.xml",
            f'<workbook xmlns="{MAIN}" xmlns:r="{RELATED}"><sheets>{"".join(named)}</sheets></workbook>',
        )
        parts = (f'{part("worksheet", i)}"worksheets/sheet{i}.xml"/>' for i, _ in enumerate(sheets, 1))
        file.writestr(
            "xl/_rels/workbook.xml.rels",
            f'<Relationships xmlns="{PACKAGE}/relationships">{"".join(parts)}</Relationships>',
        )
        for i, rows in enumerate(sheets.values(), 1):
            lines = "".join(f"<row>{''.join(map(cell, row))}</row>" for row in rows)
            file.writestr(
                f"xl/worksheets/sheet{i}.xml",
                f'<worksheet xmlns="{MAIN}"><sheetData>{lines}</sheetData></worksheet>',
            )
    return path


def test_spss_labels_missing_codes_and_days(tmp_path: Path) -> None:
    path = tmp_path / "people.sav"
    pyreadstat.write_sav(PEOPLE, path, variable_value_labels=LABELS, missing_ranges={"age": [97]})
    table = anon.read_table(path)
    assert table.to_pydict() == {
        "age": [23, None, None],
        "sex": ["male", "female", "male"],
        "region": [1, 2, 3],  # two of its codes have no label
        "name": ["Ana", None, "Cleo"],
        "born": PEOPLE["born"].tolist(),
        "income": [1.5, 2.0, 3.0],
    }
    assert table.schema.field("age").type == pa.int64()
    assert table.schema.field("born").type == pa.date32()
    assert anon.read_table(path, columns=["sex"]).column_names == ["sex"]


def test_stata_and_sas(tmp_path: Path) -> None:
    stata, sas = tmp_path / "people.dta", tmp_path / "people.xpt"
    pyreadstat.write_dta(PEOPLE, stata, variable_value_labels=LABELS)
    pyreadstat.write_xport(PEOPLE.drop(columns="born"), sas)
    assert anon.read_table(stata)["sex"].to_pylist() == ["male", "female", "male"]
    assert anon.read_table(stata)["born"].to_pylist() == PEOPLE["born"].tolist()
    assert anon.read_table(sas)["age"].to_pylist() == [23, 97, None]
    assert anon.read_table(sas, null=["age=97"])["age"].to_pylist() == [23, None, None]


def test_excel(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [["age", "sex", "member", "mixed", 2019], [30, "f", True, 1, 0.5], [None, None, False, "x", 2]]
    path = workbook(tmp_path / "people.xlsx", People=rows, Empty=[])
    assert anon.read_table(path).to_pydict() == {
        "age": [30, None],
        "sex": ["f", None],
        "member": [True, False],
        "mixed": ["1", "x"],
        "2019": [0.5, 2.0],
    }
    several = workbook(tmp_path / "several.xlsx", A=rows, B=[["b"], [1]])
    with pytest.raises(anon.DataError, match="has several sheets: 'A', 'B'; name one: sheet="):
        anon.read_table(several)
    assert anon.read_table(several, sheet="B").to_pydict() == {"b": [1]}
    with pytest.raises(anon.UsageError, match="has no sheet 'C'; its sheets are 'A', 'B'"):
        anon.read_table(several, sheet="C")
    assert main(["inspect", str(several)]) == 2
    assert "name one: --sheet" in capsys.readouterr().err
    assert main(["inspect", str(several), "--sheet", "A"]) == 0


def test_an_excel_file_is_anonymized(tmp_path: Path) -> None:
    rows = [["age", "disease"], *([30 + i, "flu" if i % 2 else "ulcer"] for i in range(8))]
    path, out = workbook(tmp_path / "people.xlsx", Sheet=rows), tmp_path / "out.csv"
    asked = ["anonymize", str(path), "-o", str(out), "--quasi", "age", "--sensitive", "disease", "--k", "4"]
    assert main(asked) == 0
    assert main(["check", str(out), "--quasi", "age", "--sensitive", "disease", "--k", "4"]) == 0


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([["a"]], "has no rows"),
        ([["a", ""], [1, 2]], "column 2 has no name in the first row"),
        ([["a", "a"], [1, 2]], "'a'"),
    ],
)
def test_what_an_excel_file_lacks(rows: list[list[Any]], message: str, tmp_path: Path) -> None:
    with pytest.raises(anon.AnonError, match=message):
        anon.read_table(workbook(tmp_path / "a.xlsx", A=rows))


@pytest.mark.parametrize("suffix", ["sav", "dta", "xpt", "xlsx"])
def test_what_is_damaged_is_said(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"people.{suffix}"
    if suffix == "xlsx":
        workbook(path, A=[["a"], [1]])
        with zipfile.ZipFile(path) as whole, zipfile.ZipFile(tmp_path / "cut.xlsx", "w") as cut:
            for name in set(whole.namelist()) - {"xl/worksheets/sheet1.xml"}:
                cut.writestr(name, whole.read(name))
        path = tmp_path / "cut.xlsx"
    else:
        writer = {"sav": pyreadstat.write_sav, "dta": pyreadstat.write_dta, "xpt": pyreadstat.write_xport}
        writer[suffix](PEOPLE.drop(columns="born"), path)
        path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(anon.DataError, match="is damaged"):
        anon.read_table(path)


def test_others_are_named(tmp_path: Path) -> None:
    def message(content: bytes) -> str:
        path = tmp_path / "people"
        path.write_bytes(content)
        with pytest.raises(anon.DataError) as refusal:
            anon.read_table([path])
        return str(refusal.value)

    database = sqlite3.connect(tmp_path / "d.db")
    database.execute("create table t (a)")
    database.commit()
    assert "an SQLite database: name it alone" in message((tmp_path / "d.db").read_bytes())
    assert "JSON lines" in message(json.dumps({"a": 1}).encode() + b"\n")
    assert "pandas.read_json" in message(json.dumps([{"a": 1}]).encode())
    assert "an RData file" in message(gzip.compress(b"RDX3\nX\n"))
    assert "an RDS file" in message(b"X\n\0\0\0\3")
    assert "a web page" in message(b"<!DOCTYPE html>")
    assert "a DuckDB database: name it alone" in message(bytes(8) + b"DUCK")
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as file:
        file.writestr("a.csv", "a\n1\n")
    assert "a ZIP archive" in message((tmp_path / "a.zip").read_bytes())


def test_one_table_has_one_format(tmp_path: Path) -> None:
    workbook(tmp_path / "a.xlsx", A=[["a"], [1]])
    pq.write_table(pa.table({"a": [1]}), tmp_path / "b.parquet")
    with pytest.raises(anon.DataError, match="one table has one format"):
        anon.read_table([tmp_path / "a.xlsx", tmp_path / "b.parquet"])


def test_without_the_extra_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = workbook(tmp_path / "a.xlsx", A=[["a"], [1]])
    monkeypatch.setitem(__import__("sys").modules, "python_calamine", None)
    with pytest.raises(anon.UsageError, match="is an Excel file: install the extra `files` to read it"):
        anon.read_table(path)


def test_what_is_for_other_files_is_refused(tmp_path: Path) -> None:
    path = workbook(tmp_path / "a.xlsx", A=[["a"], [1]])
    for options, message in (
        ({"delimiter": ";"}, "for CSV files only"),
        ({"engine": "stream"}, "Excel files are read whole"),
    ):
        with pytest.raises(anon.UsageError, match=message):
            anon.read_source(path, **options)
    (tmp_path / "a.csv").write_text("a\n1\n")
    with pytest.raises(anon.UsageError, match="sheet is for Excel files only"):
        anon.read_source(tmp_path / "a.csv", sheet="A")
