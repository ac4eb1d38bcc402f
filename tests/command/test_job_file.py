# SPDX-License-Identifier: Apache-2.0
"""Columns without a role stay behind, and `anon inspect -o` writes the roles down."""

from __future__ import annotations

import html
import json
import re
import tomllib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import anon
from anon import verbs
from anon.command.entry import main
from anon.command.job import load_job

NAMES = ["age", "disease", "shade", 'a "b"\\\t\x7f, ü']
ROLES = ["--quasi", "age", "--sensitive", "disease", "--k", "2"]


@pytest.fixture
def people(tmp_path: Path) -> str:
    columns = [[1, 2, 3, 4], [*"abab"], [*"xyxy"], [*"pppq"]]
    pq.write_table(pa.table(dict(zip(NAMES, columns, strict=True))), tmp_path / "people.parquet")
    return str(tmp_path / "people.parquet")


def test_a_column_without_a_role_is_not_published_and_named(
    people: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.parquet"
    assert main(["anonymize", people, "-o", str(out), *ROLES]) == 0
    shown = capsys.readouterr()
    assert "note: 2 columns have no role and are not published: 'shade', 'a \"b\"" in shown.err
    assert "4 rows in 2 classes" in shown.out
    written = pq.read_table(out)
    assert written.column_names == ["age", "disease"]
    assert b"shade" not in out.read_bytes()
    assert main(["anonymize", people, "-o", str(out), *ROLES, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["release"]["not published"] == NAMES[2:]
    assert any("neutral=[...] or --neutral A,B" in note for note in told["notes"])


@pytest.mark.parametrize(("flag", "kept"), [("*", NAMES), ("shade", NAMES[:3])])
def test_neutral_columns_are_published(people: str, tmp_path: Path, flag: str, kept: list[str]) -> None:
    out = tmp_path / "out.parquet"
    assert main(["anonymize", people, "-o", str(out), *ROLES, "--neutral", flag, "--quiet"]) == 0
    assert pq.read_table(out).column_names == kept


def test_a_neutral_quasi_identifier_is_one_error(people: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["anonymize", people, "-o", "out.parquet", *ROLES, "--neutral", "shade,age"]
    assert main(words) == 2
    said = "column 'age' is named both as quasi-identifying and as neutral; name it once"
    assert capsys.readouterr().err == f"error: {said}\n"


@pytest.mark.parametrize("audience", ["owner", "public"])
def test_the_page_names_them_to_the_owner_alone(people: str, tmp_path: Path, audience: str) -> None:
    page, flag = tmp_path / "page.html", "--report" if audience == "owner" else "--report-public"
    assert main(["anonymize", people, "-o", str(tmp_path / "o.parquet"), *ROLES, flag, str(page), "-q"]) == 0
    assert ("'shade'" in html.unescape(page.read_text())) == (audience == "owner")
    assert ("not published" in page.read_text()) == (audience == "owner")


def test_inspect_writes_a_job_that_can_be_edited_and_run(
    people: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "jobs").mkdir()
    path = tmp_path / "jobs" / "job.toml"
    assert main(["inspect", people, "-o", str(path)]) == 0
    text = path.read_text()
    roles, kinds = text.split("[kind]")
    for column in verbs.inspect(people).columns:
        [line] = [line for line in roles.splitlines() if json.dumps(column.name)[:6] in line]
        assert line.endswith(f"{column.type}, {column.n_distinct} values: {column.why}")
        assert (json.dumps(column.name) in kinds) == (column.name in ("age", "disease"))
    job = load_job(str(path), {})
    assert Path(job.input or "").resolve() == Path(people)
    assert (job.quasi, job.sensitive, job.neutral) == (["age"], ["disease"], [])
    assert job.kind == {"age": "numeric", "disease": "nominal"}
    assert main(["anonymize", "--config", str(path), "-o", str(tmp_path / "o.parquet"), "--k", "2"]) == 0
    edited = text.replace('    # "', '    "')
    assert tomllib.loads(edited)["neutral"] == NAMES[2:]
    capsys.readouterr()
    assert main(["inspect", people, "-o", str(path)]) == 2
    assert "exists, and is not written over" in capsys.readouterr().err
    assert path.read_text() == text
    assert main(["inspect", people, "-o", str(tmp_path / "none" / "job.toml")]) == 2


def test_streamed_rows_follow(people: str, tmp_path: Path) -> None:
    source = anon.read_source(people, engine="stream")
    release = anon.anonymize(source, anon.Schema(["age"], neutral=["shade"]), require=[anon.KAnonymity(2)])
    assert release.encoded.unpublished == ("disease", NAMES[3])
    release.write(tmp_path / "out.parquet")
    assert pq.read_table(tmp_path / "out.parquet").column_names == ["age", "shade"]


def test_levels_are_given_by_a_flag(people: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "levels.parquet"
    words = ["anonymize", people, "-o", str(out), *ROLES, "--method", "full-domain", "--levels"]
    assert main([*words, "1"]) == 0
    assert pq.read_table(out)["age"].to_pylist() == ["*"] * 4
    out.unlink()
    assert main([*words, "a"]) == 2
    assert "--levels takes whole numbers" in capsys.readouterr().err
    assert not out.exists()


def test_the_command_speaks_of_flags(people: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["anonymize", people, "-o", str(tmp_path / "out.csv"), *ROLES]
    assert main([*words, "--k-count", "units"]) == 2
    assert "name the column with --unit" in capsys.readouterr().err
    pq.write_table(
        pa.table({"home": [1, 2], "age": [1, 2], "disease": ["a", "b"]}), tmp_path / "homes.parquet"
    )
    homes = ["anonymize", str(tmp_path / "homes.parquet"), *words[2:], "--unit", "home", "--household", "age"]
    assert main([*homes, "--method", "curve"]) == 2
    assert "use --method mondrian; or leave out --household" in capsys.readouterr().err
    assert main([*words, "--publish", "bucketization", "--k", "4", "--all"]) == 0
    shown = capsys.readouterr()
    assert "the sensitive values of all rows are told together" in shown.err
    assert "fully generalized" not in shown.err
    assert re.search(r"published unchanged +none\n", shown.out)


def test_a_unit_and_weights_are_proposed_and_the_job_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pq.write_table(
        pa.table(
            {
                "hid": [i // 2 for i in range(80)],
                "age": [20 + i % 31 for i in range(80)],
                "dx": [*"ab"] * 40,
                "design_weight": [1.5 + i % 7 for i in range(80)],
            }
        ),
        tmp_path / "survey.parquet",
    )
    path, out = tmp_path / "job.toml", tmp_path / "out.parquet"
    assert main(["inspect", str(tmp_path / "survey.parquet"), "-o", str(path)]) == 0
    shown, text = capsys.readouterr().out, path.read_text()
    assert "identifying, unit" in shown
    assert "neutral, sampling weight" in shown
    assert "unit = \"hid\"  # int64, 40 values: its name has 'hid': a number or key" in text
    assert "sampling_weight = \"design_weight\"  # double, 7 values: its name has 'design weight'" in text
    schema = load_job(str(path), {}).roles()
    assert schema == anon.Schema(
        [anon.numeric("age")], [anon.nominal("dx")], unit="hid", sampling_weight="design_weight"
    )
    assert main(["anonymize", "--config", str(path), "-o", str(out), "--k", "5", "-q"]) == 0
    assert pq.read_table(out).column_names == ["age", "dx", "design_weight"]
    assert main(["check", str(out), "--config", str(path), "-q"]) == 0


@pytest.mark.parametrize("command", ["check", "suda"])
def test_a_weight_that_is_no_column_is_refused(
    people: str, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--quasi", "age,disease", "--sampling-weight"]
    assert main([command, people, *words, "shad"]) == 2
    assert "the table has no column 'shad'; did you mean 'shade'?" in capsys.readouterr().err
    if command == "suda":
        assert main([command, people, *words, "shade", "-q"]) == 0


def test_how_a_csv_file_was_read_stands_in_the_job(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("born;size;wage\n01.02.1999;1,5;1.000 \n03.04.1980;1,7;- \n")
    reading = ["--date", "born=%d.%m.%Y", "--decimal", ",", "--thousands", ".", "--trim", "--null", "wage=-"]
    assert main(["inspect", str(tmp_path / "in.csv"), *reading, "-o", str(tmp_path / "job.toml")]) == 0
    options = load_job(str(tmp_path / "job.toml"), {}).read_options()
    assert options["date"] == {"born": "%d.%m.%Y"}
    assert options["trim"] is True
    columns = ["--quasi", "born,size", "--k", "2", "-o", str(tmp_path / "out.parquet")]
    assert main(["anonymize", "--config", str(tmp_path / "job.toml"), *columns]) == 0
