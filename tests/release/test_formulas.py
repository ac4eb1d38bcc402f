# SPDX-License-Identifier: Apache-2.0
"""Text that spreadsheets run as formulas: told, and guarded by an apostrophe where that is wanted."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anon
import anon.release.write
from anon.command.entry import main
from anon.errors import DataError, UsageError
from anon.release.formulas import guarded, guarded_names, is_formula

FORMULAS = [
    "=1+1",
    "+1-2",
    "-x",
    "@SUM(A1)",
    "\t=1",
    "\r5",
    "=",
    "-",
    "+",
    "--5",
    "-5 ",
    "-5\n",
    "+1e",
    "-1.2.3",
]
NO_FORMULAS = ["", "x", "'=1", " =1", "5", "-5", "+5.0", "-.5e-3", "-5.", "+inf", "-nan", "-12ms", "[-5, 3]"]
SCHEMA = anon.Schema([anon.nominal("q")], ["s"], neutral="rest")


def runs(text: str | None) -> bool:
    """The slow twin of `is_formula`."""
    if not text or text[0] not in "=+-@\t\r":
        return False
    number = text.lstrip("+-") if text[:2].count("-") + text[:2].count("+") == 1 else text
    if number in ("inf", "nan"):
        return False
    unit = re.sub("(ms|us|ns|s)$", "", number, count=1)
    if unit.endswith("\n") or not unit.isascii() or not set(unit) <= set("0123456789.eE+-"):
        return True
    try:
        float(unit)
    except ValueError:
        return True
    return unit[0] in "+-"


def cells(path: Path) -> list[list[str]]:
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


@given(
    st.lists(
        st.none()
        | st.text("=+-@\t\r'15.eEinfasmu \n", max_size=6)
        | st.sampled_from(FORMULAS + NO_FORMULAS)
        | st.text(max_size=4)
    )
)
def test_formulas_are_those_of_the_twin(texts: list[str | None]) -> None:
    whole = pa.array(["=", "-", *texts, "@"], pa.large_string())
    for array in (pa.array(texts, pa.large_string()), whole[2:-1]):
        assert is_formula(array).to_pylist() == [runs(text) for text in texts]
        assert guarded(array).to_pylist() == [f"'{text}" if runs(text) else text for text in texts]


def test_what_a_formula_is() -> None:
    assert is_formula(pa.array(FORMULAS, pa.large_string())).to_pylist() == [True] * len(FORMULAS)
    assert is_formula(pa.array(NO_FORMULAS, pa.large_string())).to_pylist() == [False] * len(NO_FORMULAS)


def table(notes: Any = None) -> pa.Table:
    notes = ["=1+1", "@x", "-5", "'x", None, "=1+1"] if notes is None else notes
    return pa.table({"q": ["=a", "=a", "b", "b", "-c", "-c"], "s": list("xyxyxy"), "=n": notes})


def release_of(source: Any, **options: Any) -> anon.Release:
    return anon.anonymize(source, SCHEMA, require=[anon.KAnonymity(2)], order="input", **options)


@pytest.mark.parametrize("engine", ["local", "stream"])
def test_a_csv_file_is_guarded(tmp_path: Path, engine: str) -> None:
    pyarrow.parquet.write_table(table(), tmp_path / "in.parquet")
    release = release_of(anon.read_source(tmp_path / "in.parquet", engine=engine))
    out = tmp_path / "out.csv"
    note = (
        r"is no number: 4 cells of column 'q', 3 cells of column '=n', 1 names of columns; "
        r"csv_guard=True puts an apostrophe before each$"
    )
    with pytest.warns(anon.PrivacyWarning, match=note):
        release.write(out)
    assert cells(out)[1] == ["=a", "x", "=1+1"]
    release.write(out, csv_guard=True)
    assert cells(out) == [
        ["q", "s", "'=n"],
        *(["'=a", "x", "'=1+1"], ["'=a", "y", "'@x"], ["b", "x", "-5"]),
        *(["b", "y", "'x"], ["'-c", "x", ""], ["'-c", "y", "'=1+1"]),
    ]
    assert anon.check(out, SCHEMA, require=[anon.KAnonymity(2), anon.LDiversity(2)]).unmet == ()
    release.write(tmp_path / "out.parquet")  # and tells nothing


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string()), pa.string_view()]
)
def test_columns_of_any_text_are_guarded(tmp_path: Path, kind: pa.DataType) -> None:
    texts = 2 * [*FORMULAS, None, *NO_FORMULAS]
    notes = pa.array(texts, pa.string())
    notes = notes.dictionary_encode().cast(kind) if pa.types.is_dictionary(kind) else notes.cast(kind)
    data = pa.table({"q": ["b"] * len(texts), "n": notes, "number": [-5, -6] * (len(texts) // 2)})
    release = anon.anonymize(data, anon.Schema(["q"], neutral="rest"), method=anon.Identity(), order="input")
    release.write(tmp_path / "out.csv", csv_guard=True)
    assert [row[1] for row in cells(tmp_path / "out.csv")[1:]] == [
        f"'{text}" if text in FORMULAS else text or "" for text in texts
    ]


def test_a_bucketization_is_guarded_in_both_files(tmp_path: Path) -> None:
    data = pa.table({"q": ["=a", "b", "-c", "d"], "=s": ["=x", "+y", "-5", None], "@t": [-5, -6, -7, -8]})
    schema = anon.Schema([anon.nominal("q")], ["=s", "@t"])
    release = anon.anonymize(data, schema, require=[anon.LDiversity(2)], publish="bucketization")
    out = tmp_path / "out.csv"
    with pytest.warns(anon.PrivacyWarning) as caught:
        release.write(out)
    notes = [str(one.message).split("is no number: ")[1].split(";")[0] for one in caught]
    assert notes == ["2 cells of column 'q'", "8 cells of column 'attribute', 2 cells of column 'value'"]
    release.write(out, csv_guard=True)
    assert sorted(row[0] for row in cells(out)[1:]) == ["'-c", "'=a", "b", "d"]
    second = cells(tmp_path / "out.sensitive.csv")
    assert second[0] == ["attribute", "class_id", "value", "count"]
    values = sorted((row[0], row[2]) for row in second[1:])
    assert values == [
        *(("'=s", ""), ("'=s", "'+y"), ("'=s", "'=x"), ("'=s", "-5")),
        *(("'@t", "-5"), ("'@t", "-6"), ("'@t", "-7"), ("'@t", "-8")),
    ]
    shown = anon.Schema(["q"], ["'=s", anon.numeric("'@t")])
    measured = anon.check(out, shown, require=[anon.LDiversity(2)])
    assert (measured.unmet, measured.by_sensitive["'@t"].t_ordered) == (
        (),
        release.privacy().by_sensitive["@t"].t_ordered,
    )


@pytest.mark.parametrize("notes", [["=a", "'=a", "x", "x", "x", "x"], ["'=a", "x", "x", "x", "x", "=a"]])
@pytest.mark.parametrize("rows", [1, 100])
def test_values_that_become_equal_are_refused(
    tmp_path: Path, notes: list[str], rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(anon.release.write, "ROW_GROUP", rows)  # the two stand in different pieces
    out = tmp_path / "out.csv"
    out.write_text("old")
    with pytest.raises(DataError, match=r"column '=n': .* makes 1 of its values equal to others") as caught:
        release_of(table(notes)).write(out, csv_guard=True)
    assert (caught.value.column, caught.value.count, caught.value.value) == ("=n", 1, "'=a")
    assert "=a" not in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]
    assert out.read_text() == "old"
    release_of(table(["'=a", *"xxxxx"])).write(out, csv_guard=True)
    with pytest.raises(DataError, match="column 'q'"):
        release_of(table().set_column(0, "q", pa.array(["=a", "=a", "'=a", "'=a", "b", "b"]))).write(
            out, csv_guard=True
        )


def test_names_that_become_equal_are_refused(tmp_path: Path) -> None:
    assert guarded_names(["a", "=a", "'=b", "-5"]) == ["a", "'=a", "'=b", "-5"]
    data = table().append_column("'=n", pa.array(["x"] * 6))
    with pytest.raises(DataError, match=r"columns '=n' and \"'=n\": .* makes their names equal") as caught:
        release_of(data).write(tmp_path / "out.csv", csv_guard=True)
    assert caught.value.column == "'=n"
    assert [*tmp_path.iterdir()] == []


def test_other_formats_need_no_guard(tmp_path: Path) -> None:
    for suffix in ("parquet", "feather"):
        with pytest.raises(UsageError, match=r"csv_guard=True is for CSV files: end .* in \.csv"):
            release_of(table()).write(tmp_path / f"out.{suffix}", csv_guard=True)
    assert [*tmp_path.iterdir()] == []


def test_the_command_tells_and_guards(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    people, out = tmp_path / "people.csv", str(tmp_path / "out.csv")
    people.write_text('q,note\na,=1\na,"=1"\nb,x\nb,-2\n', encoding="utf-8")
    words = ["anonymize", str(people), "-o", out, "--quasi", "q", "--neutral", "note", "--k", "2"]
    note = "2 cells of column 'note'; --csv-guard puts an apostrophe before each"
    assert main([*words, "-q"]) == 0
    assert re.fullmatch(f"note: spreadsheets run as formulas .*{note}\n", capsys.readouterr().err)
    assert main([*words, "--json"]) == 0
    [warning, known] = json.loads(capsys.readouterr().out)["notes"]
    assert warning.endswith(note)
    assert known.startswith("known: k = 2; with the neutral columns: k = 1, 2 of 4 rows unique")
    assert main([*words, "-q", "--csv-guard"]) == 0
    assert capsys.readouterr().err == ""
    assert sorted(row[1] for row in cells(Path(out))[1:]) == ["'=1", "'=1", "-2", "x"]
    assert main(["check", out, "--quasi", "q", "--k", "2", "-q"]) == 0
    job = tmp_path / "job.toml"
    ends, roles = 'input = "people.csv"\noutput = "job.csv"\n', 'quasi = ["q"]\nneutral = ["note"]\n'
    job.write_text(f"{ends}{roles}k = 2\ncsv_guard = true\n")
    assert main(["anonymize", "--config", str(job), "-q"]) == 0
    assert (tmp_path / "job.csv").read_text().count("'=1") == 2
    assert main(["anonymize", "--config", str(job), "-q", "--no-csv-guard"]) == 0
    assert (tmp_path / "job.csv").read_text().count("'=1") == 0
    capsys.readouterr()
    for other in (
        ["-o", str(tmp_path / "out.parquet")],
        ["--engine", "spark", "-o", str(tmp_path / "folder.csv")],
    ):
        assert main([*words[:2], *words[4:], *other, "--csv-guard"]) == 2
        assert "--csv-guard is for CSV files: end the name of the output in .csv" in capsys.readouterr().err
    people.write_text("q,note\na,=1\na,'=1\nb,x\nb,-2\n", encoding="utf-8")
    assert main([*words, "-q", "--csv-guard"]) == 2
    assert capsys.readouterr().err == (
        "error: column 'note': an apostrophe before formulas (--csv-guard) makes 1 of its values equal to "
        "others; recode these, choose Parquet, or leave the guard out\n"
    )
    assert main([*words[:3], str(tmp_path / "way_out.parquet"), *words[4:], "-q"]) == 0
