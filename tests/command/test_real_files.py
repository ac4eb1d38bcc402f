# SPDX-License-Identifier: Apache-2.0
"""Files as people have them: read right, or one hint that is. Traps have the numbers of their list."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pytest

import anon
from anon.command import parse
from anon.command.entry import main
from anon.errors import DataError, UsageError


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    """The command's exit code, and what it says."""
    code = main([str(word) for word in words])
    told = capsys.readouterr()
    return code, told.out, told.err


def columns_of(path: Path, **reading: Any) -> dict[str, list[Any]]:
    return anon.read_table(path, **reading).to_pydict()


# --- names of columns


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["a,b", "c"], ["a", "b", "c"]),
        (['"age, in years",zip'], ["age, in years", "zip"]),
        (['" zip " , a ,"say ""x"""'], [" zip ", "a", 'say "x"']),
        ([" zip "], [" zip "]),
        (["a, b"], ["a", "b"]),
        (["k=v"], ["k=v"]),
        (['5" pipe,b'], ['5" pipe', "b"]),
    ],
)
def test_trap_42_a_list_names_every_column(words: list[str], names: list[str]) -> None:
    assert parse.names(words) == names


@pytest.mark.parametrize("word", ["", "a,", "a,,b", ",", '""'])
def test_trap_42_an_empty_name_in_a_list_is_refused(word: str) -> None:
    with pytest.raises(UsageError, match="a list of columns has an empty name"):
        parse.names([word])


def test_trap_42_a_name_with_an_equals_sign_before_another() -> None:
    assert parse.pairs("--kind", ['"k=v"=numeric', "a=x=y"]) == {"k=v": "numeric", "a": "x=y"}
    assert parse.linked(['"k=v"="a,b",c']) == [["k=v", "a,b", "c"]]
    assert parse.importance('"a,b"=2,c=1') == {"a,b": 2.0, "c": 1.0}
    assert anon.read_table({"k=v": ["1", "97"]}, null='"k=v"=97').to_pydict() == {"k=v": ["1", None]}
    for wrong in ("=x", "a=", "a"):
        with pytest.raises(UsageError):
            parse.pairs("--kind", [wrong])


def test_trap_42_flags_reach_every_column(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = tmp_path / "a.csv", tmp_path / "out.csv"
    path.write_text('"age, in years", zip ,k=v\n1,x,3\n1,x,4\n')
    words = ["anonymize", path, "-o", out, "--k", "2", "-q"]
    assert run(capsys, *words, "--quasi", '"age, in years"," zip "', "--sensitive", "k=v")[0] == 0
    assert columns_of(out)[" zip "] == ["x", "x"]
    assert run(capsys, *words, "--quasi", " zip ", "--kind", '"k=v"=nominal', "--sensitive", "k=v")[0] == 0
    code, _, said = run(capsys, *words, "--quasi", "zip,k=v")
    assert code == 2
    assert "no column 'zip'; ' zip ' differs from it by white space alone" in said
    assert """'" zip "'; of CSV, Excel, SPSS, Stata and SAS files --trim drops the blanks""" in said
    assert run(capsys, *words, "--quasi", "zip,k=v", "--trim")[0] == 0
    path.write_text("zip , zip,ill\n1,x,3\n1,x,4\n")  # both would have one name
    said = run(capsys, *words, "--quasi", "zip", "--sensitive", "ill")[2]
    assert "'zip ' differs from it by white space alone" in said
    assert "--trim" not in said


@pytest.mark.parametrize("engine", ["local", "stream"])
def test_trap_42_a_column_without_a_name_is_refused(
    tmp_path: Path, engine: Literal["local", "stream"]
) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a,,b,\n1,2,3,4\n")
    with pytest.raises(DataError, match=r"of its 4 columns these have no name.*: number 2, 4; name them"):
        anon.read_source(path, engine=engine)
    with pytest.raises(DataError, match="these have no name"):
        anon.read_table({"": [1], "a": [2]})
    assert anon.read_source(path, engine=engine, header=False).table.num_rows == 2


def test_every_duplicate_of_a_header_is_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a,b,a,c,b,b\n1,2,3,4,5,6\n")
    code, _, said = run(capsys, "inspect", path)
    assert code == 2
    assert "has 2 columns named 'a', 3 named 'b'; rename all but one of each" in said
    assert said.rstrip().endswith("or read the first line as a row (--no-header)")
    assert run(capsys, "inspect", path, "--no-header")[0] == 0


# --- what a CSV file means


@pytest.mark.parametrize("engine", ["local", "stream"])
@pytest.mark.parametrize(
    ("lines", "is_suspected"),
    [
        (["Ann,34,2020-01-02", "Bob,41,2021-01-02"], True),
        (["34,1.5", "41,2.5"], True),
        (["M,yes", "F,no", "M,yes"], True),
        (["name,age", "Ann,34"], False),
        (["region,2019,2020", "north,3,4"], False),
        (["sex,smokes", "M,yes", "F,no"], False),
        (["1,age", "1,34"], False),
    ],
)
def test_a_first_line_that_looks_like_a_row(
    lines: list[str], is_suspected: bool, engine: Literal["local", "stream"], tmp_path: Path
) -> None:
    path = tmp_path / "a.csv"
    path.write_text("\n".join(lines) + "\n")
    notes = anon.read_source(path, engine=engine).notes
    assert (
        any("looks like the rows below it" in each and "--no-header" in each for each in notes)
        == is_suspected
    )
    assert not anon.read_source(path, engine=engine, header=False).notes


def test_a_suspicious_first_line_is_said_by_every_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.csv"
    path.write_text("34,M\n35,F\n36,M\n34,F\n35,M\n")
    said = "looks like the rows below it"
    assert said in run(capsys, "inspect", path)[2]
    assert said in run(capsys, "check", path, "--quasi", "34")[2]
    assert said in run(capsys, "anonymize", path, "-o", tmp_path / "o.csv", "--quasi", "34", "--k", "2")[2]


@pytest.mark.parametrize("engine", ["local", "stream"])
@pytest.mark.parametrize(
    ("texts", "options", "values"),
    [
        (["1,006", "12", "2,000,000"], {"thousands": ","}, [1006, 12, 2000000]),
        (["1.006", "12", "2.000,5"], {"thousands": ".", "decimal": ","}, [1006.0, 12.0, 2000.5]),
        (["1'006.5", "-3"], {"thousands": "'"}, [1006.5, -3.0]),
        (["1,006", "007"], {"thousands": ","}, ["1,006", "007"]),
        (["1,006", "x"], {"thousands": ","}, ["1,006", "x"]),
        (["1,06", "1,006"], {"thousands": ","}, ["1,06", "1,006"]),
        (["1,006", "2,000"], {}, ["1,006", "2,000"]),
    ],
)
def test_trap_41_thousands(
    texts: list[str],
    options: dict[str, Any],
    values: list[Any],
    engine: Literal["local", "stream"],
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.csv"
    path.write_text("x;y\n" + "".join(f"{text};a\n" for text in texts))
    table = anon.read_source(path, engine=engine, **options).table
    read = table if isinstance(table, pa.Table) else table.whole()
    assert read["x"].to_pylist() == values
    assert [type(one) for one in read["x"].to_pylist()] == [type(one) for one in values]


def note_of(values: list[str]) -> str:
    return str(anon.inspect({"x": values}).columns[0].note)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (
            ["31"] * 998 + ["unknown", "32"],
            "999 of 1000 values of column 'x' are numbers, the first other is in row 999",
        ),
        (
            ["31"] * 998 + ["165 cm", "32"],
            "999 of 1000 values of column 'x' are numbers, the first other is in row 999",
        ),
        (["2", "1,5"], "numbers with a decimal comma, the first in row 2"),
        (
            ["2", "1,006"],
            "with commas, the first in row 2; they are labels as they stand: of a CSV file --thousands ,",
        ),
        (
            ["2", "1,006.5"],
            "with thousands marks, the first in row 2; they are labels as they stand: --thousands , reads",
        ),
        (
            ["2", "1.006,5"],
            "--thousands . --decimal , reads those of a CSV file (thousands='.', decimal=',')",
        ),
        (
            ["2024-01-01", "2024-01-02", "2024-01-03", "05/01/2024"],
            "3 of 4 values of column 'x' are days as in 1980-12-31, the first other is in row 4",
        ),
        (
            ["a", "b ", "b"],
            "1 of the 3 labels of column 'x' differ from others by blanks alone, the first with "
            "blanks in row 2",
        ),
        ([" a", " b"], "every label of column 'x' has blanks at its ends, the first with blanks in row 1"),
    ],
)
def test_trap_41_nearly_numbers_and_days_are_noted(values: list[str], said: str) -> None:
    assert said in note_of(values)


@pytest.mark.parametrize("engine", ["local", "stream"])
def test_blanks_at_the_ends_are_dropped_on_request(
    engine: Literal["local", "stream"], tmp_path: Path
) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a,b,c\n1, x, 2\n 2,x , \n")
    kept = anon.read_source(path, engine=engine).table
    told = anon.read_source(path, engine=engine, trim=True).table
    texts = [each if isinstance(each, pa.Table) else each.whole() for each in (kept, told)]
    assert texts[0].to_pydict()["b"] == [" x", "x "]
    assert texts[1].to_pydict() == {"a": [1, 2], "b": ["x", "x"], "c": ["2", None]}
    assert (
        anon.read_table({"a": pa.array(["x ", "x"]).dictionary_encode()}, trim=True)["a"].to_pylist()
        == ["x"] * 2
    )


@pytest.mark.parametrize("engine", ["local", "stream"])
@pytest.mark.parametrize(
    ("days", "is_read"),
    [
        (["01.02.1939", "13.12.1940"], True),
        (["1.2.1939", "", "31.1.1940"], True),
        (["01.02.1939", "02.12.1940"], False),  # could be months
        (["01.02.1939", "31.02.1940"], False),
        (["01.02.1939", "13.12.40"], False),
        (["01/02/1939", "13/12/1940"], False),
    ],
)
def test_trap_53_days_are_read_where_they_cannot_be_months(
    days: list[str], is_read: bool, engine: Literal["local", "stream"], tmp_path: Path
) -> None:
    path = tmp_path / "a.csv"
    path.write_text("x,born\n" + "".join(f"a,{day}\n" for day in days))
    kind = anon.read_source(path, engine=engine).table.schema.field("born").type
    assert kind == (pa.date32() if is_read else pa.string())
    if is_read:
        named = anon.read_source(path, engine=engine, date={"born": "%d.%m.%Y"}).table
        plain = anon.read_source(path, engine=engine).table
        read = [each if isinstance(each, pa.Table) else each.whole() for each in (named, plain)]
        assert read[0].equals(read[1])


def test_trap_53_files_of_one_table_agree_on_days(tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("born,x\n13.02.1939,a\n")
    (tmp_path / "2.csv").write_text("born,x\n01.02.1939,a\n")
    for engine in ("local", "stream"):
        table = anon.read_source(tmp_path, engine=engine).table
        assert table.schema.field("born").type == pa.string()


@pytest.mark.parametrize("engine", ["local", "stream"])
def test_trap_40_a_marker_that_takes_values_of_others_is_said(
    engine: Literal["local", "stream"], tmp_path: Path
) -> None:
    path = tmp_path / "a.csv"
    path.write_text("age,hhsize,score\n97,2,10\n98,2,97\n97,1,97\n")
    [note] = anon.read_source(path, engine=engine, null="97").notes
    assert "'97' is a missing value in 2 columns: 'age' (2 rows), 'score' (2 rows)" in note
    assert "--null age=97" in note
    of_one = anon.read_source(path, engine=engine, null="age=97")
    assert not of_one.notes
    assert not anon.read_source(path, engine=engine, null="98").notes


def test_trap_40_what_the_command_says_of_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.csv"
    path.write_text("age,hhsize,score\n97,2,10\n98,2,97\n")
    for words in (["inspect", path], ["check", path, "--quasi", "age"]):
        assert "'97' is a missing value in 2 columns" in run(capsys, *words, "--null", "97")[2]
    told = json.loads(run(capsys, "inspect", path, "--null", "97", "--json")[1])
    assert len(told["notes"]) == 1


# --- what a release keeps and notices


@pytest.mark.filterwarnings("ignore::anon.PrivacyWarning")
@pytest.mark.parametrize("engine", ["local", "stream"])
def test_trap_56_neutral_cells_of_csv_stay_as_they_stand(
    engine: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = tmp_path / "a.csv", tmp_path / "out.csv"
    path.write_text("age,a,b,c,d\n1,1.50,True,12:30,-3\n1,2.00,False,01:15,\n")
    words = ["anonymize", path, "--quasi", "age", "--k", "2", "--neutral", "*", "-q", "--engine", engine]
    assert run(capsys, *words, "-o", out)[0] == 0
    kept = anon.read_table(out, typed=[]).to_pylist()
    assert {tuple(row.values()) for row in kept} == {
        ("1", "1.50", "True", "12:30", "-3"),
        ("1", "2.00", "False", "01:15", None),
    }
    assert run(capsys, *words, "-o", tmp_path / "out.parquet")[0] == 0
    kinds = anon.read_table(tmp_path / "out.parquet").schema
    assert [str(kinds.field(name).type) for name in "ab"] == ["double", "bool"]


def test_a_release_given_as_input_is_noticed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = {"age": [*range(20, 60)], "sex": [*"mf"] * 20}
    release = anon.anonymize(table, anon.Schema(["age", "sex"]), require=[anon.KAnonymity(4)])
    for suffix, said in (
        ("parquet", "is a release of this tool already"),
        ("csv", "'age' holds intervals, as a"),
    ):
        release.write(tmp_path / f"r.{suffix}")
        words = [
            "anonymize",
            tmp_path / f"r.{suffix}",
            "-o",
            tmp_path / "o.csv",
            "--quasi",
            "age",
            "--k",
            "2",
        ]
        assert said in run(capsys, *words)[2]
    assert "holds intervals" in run(capsys, "inspect", tmp_path / "r.csv")[2]


# --- the story of a first day


def test_a_german_spreadsheet_becomes_a_release_by_one_hint_at_a_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = tmp_path / "Ämter.csv", tmp_path / "frei.csv"
    rows = [
        f"P{i:03};{20 + i % 40}; {'Köln' if i % 2 else 'Bonn'} ;"
        f"{1 + i % 28:02}.{1 + i % 12:02}.19{50 + i % 40};"
        f"{20 + i % 9},{i % 10};{'Grippe' if i % 3 else 'Husten'}"
        for i in range(120)
    ]
    rows[7] = rows[7].replace(";27;", ";unbekannt;")
    path.write_text("\n".join(["Nr;Alter; Ort ;Geburtsdatum;BMI;Befund", *rows]), encoding="latin-1")

    code, _, said = run(capsys, "inspect", path)
    assert code == 2
    assert "is not utf-8" in said
    assert "try --encoding latin-1, which reads all of it" in said

    reading = ["--encoding", "latin-1"]
    code, shown, said = run(capsys, "inspect", path, *reading)
    assert code == 0
    assert "date32" in shown  # days that cannot be months are read
    assert "119 of 120 values of column 'Alter' are numbers, the first other is in row 8" in said
    assert "--null Alter=TEXT" in said
    assert "every label of column ' Ort ' has blanks at its ends" in said
    assert "--trim" in said
    assert "column 'BMI' holds numbers with a decimal comma" in said
    assert "--decimal ," in said

    reading += ["--null", "Alter=unbekannt", "--decimal", ",", "--trim"]
    said = run(capsys, "inspect", path, *reading)[2]
    assert said.count("note:") == 1
    assert "blanks at the ends of the name of a column are dropped: 'Ort'" in said

    words = ["anonymize", path, "-o", out, "--sensitive", "Befund", "--k", "5"]
    words += ["--identifying", "Nr"]
    words += ["--quasi", "Alter,Ort,Geburtsdatum,BMI"]
    code, _, said = run(capsys, *words, *reading[:-1])
    assert code == 2
    assert "' Ort ' differs from it by white space alone" in said
    assert not out.exists()

    code, told, said = run(capsys, *words, *reading)
    assert code == 0
    assert "holds: 5-anonymity" in told
    assert "labels as they stand" not in said
    roles = anon.Schema(["Alter", "Ort", "Geburtsdatum", "BMI"], ["Befund"])
    assert anon.check(out, roles).k >= 5
    shown = anon.read_table(out).to_pylist()
    assert len(shown) == 120
    assert {row["Ort"] for row in shown} <= {"Köln", "Bonn", "*", "{Bonn, Köln}"}
    assert "Nr" not in shown[0]
    roles_by_hand = ["--quasi", "Alter,Ort,Geburtsdatum,BMI", "--sensitive", "Befund"]
    code, told, said = run(capsys, "check", out, *roles_by_hand, "--k", "50", "-q")
    assert (code, told, said) == (1, "", "not met: 50-anonymity\n")


# --- progress


def test_reading_and_encoding_tell_how_far_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import threading

    from anon.tables import watch

    monkeypatch.setattr(watch, "EVERY", 0.0001)
    monkeypatch.setattr("anon.tables.csv.BLOCK", 1 << 16)
    path = tmp_path / "a.csv"
    path.write_text("a,b\n" + "".join(f"{i % 100},{i % 7}\n" for i in range(100_000)))
    told: list[tuple[str, int, int]] = []

    def tell(*step: Any) -> None:
        assert threading.current_thread() is threading.main_thread()
        told.append(step)

    for engine in ("local", "stream"):
        told.clear()
        source = anon.read_source(path, engine=engine, progress=tell)
        anon.anonymize(
            source,
            anon.Schema(["a", "b"]),
            require=[anon.KAnonymity(5)],
            method=anon.Mondrian(),
            progress=tell,
        )
        encoded = [(done, total) for stage, done, total in told if stage == "encode"]
        assert encoded[-1][0] == encoded[-1][1] == (2 if engine == "local" else 100_000)
        if engine == "local":
            read = [(done, total) for stage, done, total in told if stage == "read"][:-1]
            assert {total for _, total in read} == {path.stat().st_size}
            assert [done for done, _ in read] == sorted(done for done, _ in read)
            assert read[-1][0] > 0
    path.write_text("a,b\n1\n")
    with pytest.raises(DataError, match="line 2"):
        anon.read_source(path, progress=tell)


def test_a_stage_that_has_ended_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    from rich.progress import Progress as Bars

    from anon.command.progress import progress_line

    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    shown: list[dict[str, bool]] = []
    update = Bars.update

    def watching(self: Bars, *words: Any, **options: Any) -> None:
        update(self, *words, **options)
        shown.append({task.description: task.visible for task in self.tasks})

    monkeypatch.setattr(Bars, "update", watching)
    with progress_line(False) as progress:
        assert progress is not None
        for step in (("read", 0, 10), ("read", 4, 10), ("encode", 0, 1), ("encode", 1, 1)):
            progress(*step)
    assert shown[1] == {"read": True}
    assert shown[-2] == {"read": False, "encode": True}
    assert shown[-1] == {"read": False, "encode": False}
