# SPDX-License-Identifier: Apache-2.0
"""The `anon` command: what reaches the engine, what is printed, and how every failure ends.

The engine's doors are stood in for, so that each failure can be made to happen; the command is run
end to end in the tests of the engine.
"""

from __future__ import annotations

import ast
import errno
import html
import inspect
import json
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import anon
from anon import datasets
from anon.command import ends as ends_module
from anon.command import releases, trials
from anon.command.app import load
from anon.command.entry import main
from anon.command.job import Job
from anon.errors import DataError, InfeasibleError, RecheckError, UsageError
from anon.release import note_on_unpublished

SECRET = "Mary Smith"


@dataclass
class FakePrivacy:
    per_class: pa.Table | None = None
    unmet: tuple[str, ...] | None = None
    roles_from: str | None = None
    notes: tuple[str, ...] = ()

    known = None

    def to_dict(self) -> dict[str, Any]:
        return {
            "k": 10,
            "delta": float("inf"),
            "prosecutor": {"max": 0.1, "at_risk": {"5": 0.25}},
            "worst": {"k": 7654321},
            "joint": {"delta": 3.5},
            "by_sensitive": {
                "ill": {"delta": float("inf"), "worst": {}},
                "paid": {"delta": 1.25, "worst": {}},
            },
        }


PRIVACY = {
    "k": 10,
    "delta": "inf",
    "prosecutor": {"max": 0.1, "at_risk": {"5": 0.25}},
    "worst": {"k": 7654321},
    "joint": {"delta": 3.5},
    "by_sensitive": {"ill": {"delta": "inf", "worst": {}}, "paid": {"delta": 1.25, "worst": {}}},
}


UTILITY = {
    "n_rows": 1234,
    "n_suppressed": 34,
    "n_classes": 99,
    "class_size": 12.1212,
    "min_support": 0.05,
    "u_loss": 0.0625,
    "gcp": 0.125,
    "precision": None,
    "kl": "inf",
    "by_attribute": {"age": {"ncp": 0.25, "precision": None}, "zip": {"ncp": 0.0, "precision": None}},
    "by_sensitive": {"ill": {"sd": 0.75}},
}


class FakeUtility:
    def to_dict(self) -> dict[str, Any]:
        return UTILITY


@dataclass
class FakeRelease:
    warnings: tuple[str, ...] = ("column 'key' identifies people",)
    publish = "generalization"
    notes = ()
    meets_requirements: bool = True
    effort = None
    gcp = 0.125

    def summary(self) -> dict[str, Any]:
        return {"rows": 1234, "classes": 99, "suppressed": 0}

    def privacy(self, **options: Any) -> FakePrivacy:
        return FakePrivacy()

    def write(self, path: str) -> None:
        Path(path).write_text("release")


@dataclass
class Engine:
    """What the command asked of the engine; `failure` is raised by its next call."""

    calls: dict[str, Any] = field(default_factory=dict)
    failure: BaseException | None = None
    release: FakeRelease = field(default_factory=FakeRelease)

    def anonymize(self, source: Any, schema: Any, **options: Any) -> FakeRelease:
        self.calls |= {"source": source, "schema": schema.to_dict(), **options}
        if self.failure is not None:
            raise self.failure
        if options["progress"] is not None:
            options["progress"]("split", 1, 2)
        return self.release

    def check(self, source: Any, schema: Any = None, **options: Any) -> FakePrivacy:
        self.calls |= {"source": source, "schema": schema and schema.to_dict(), **options}
        return FakePrivacy(pa.table({"size": [3, 4]}) if options.get("per_class") else None)

    def compare(self, original: Any, released: Any, schema: Any = None, **options: Any) -> FakeUtility:
        self.calls |= {"schema": schema and schema.to_dict(), **options}
        return FakeUtility()

    def read_source(self, source: Any, typed: Any = None, progress: Any = None, **options: Any) -> Any:
        self.calls |= {"read": source, "reading": options, Path(source).name: options}
        if self.failure is not None:
            raise self.failure
        return pa.table({"age": [1, 2], "name": [SECRET, SECRET]})


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Engine:
    engine = Engine()
    for name in ("anonymize", "check", "compare", "read_source"):
        monkeypatch.setattr(anon, name, getattr(engine, name), raising=False)
    return engine


@pytest.fixture
def people(tmp_path: Path) -> str:
    path = tmp_path / "people.csv"
    path.write_text("age,name\n1,x\n", encoding="utf-8")
    return str(path)


@pytest.fixture
def out(tmp_path: Path) -> str:
    return str(tmp_path / "release.csv")


@pytest.fixture
def asked(people: str, out: str) -> list[str]:
    """The shortest complete command."""
    return ["anonymize", people, "-o", out, "--quasi", "age", "--k", "10"]


def test_flags_reach_the_engine(engine: Engine, people: str, out: str) -> None:
    flags = [
        *("--quasi", "age, zip", "--quasi", "education", "--sensitive", "disease", "--identifying", "name"),
        *("--neutral", "*"),
        *(
            "--hierarchy",
            "zip=prefix:4,2",
            "--hierarchy",
            "age=intervals:5,10",
            "--ordinal",
            "education=low<high",
        ),
        *("--kind", "zip=nominal", "--weight", "age=2.5"),
        *(
            "--k",
            "10",
            "--l",
            "3",
            "--l-kind",
            "distinct",
            "--t",
            "0.2",
            "--t-distance",
            "js",
            "--alpha",
            "0.5",
        ),
        *(
            "--split",
            "zip,age",
            "--cuts",
            "median",
            "--relaxed",
            "--numeric",
            "bounds",
            "--missing",
            "suppress",
        ),
        *("--order", "input", "--publish", "generalization", "--on-infeasible", "trivial", "--seed", "3"),
        *("--threads", "2", "--null", "?", "--null", "NA", "--delimiter", ";", "--encoding", "latin-1"),
    ]
    assert main(["anonymize", people, "-o", out, *flags]) == 0
    calls = engine.calls
    assert calls["read"] == people
    assert calls["reading"] == {"null": ["?", "NA"], "delimiter": ";", "encoding": "latin-1"}
    assert calls["require"] == [
        anon.KAnonymity(10),
        anon.LDiversity(3, "distinct"),
        anon.TCloseness(0.2, "js"),
        anon.AlphaK(0.5, 10),
    ]
    assert calls["method"] == anon.Mondrian(split=["zip", "age"], cuts="median", relaxed=True)
    options = ("numeric", "missing", "order", "publish", "on_infeasible", "seed", "n_threads", "progress")
    assert [calls[name] for name in options] == [
        *("bounds", "suppress", "input", "generalization", "trivial", 3, 2, None)
    ]
    assert calls["schema"] == {
        "quasi": [
            {"name": "age", "hierarchy": {"intervals": [5, 10]}, "weight": 2.5},
            {"name": "zip", "kind": "nominal", "hierarchy": {"prefix": [4, 2]}},
            {"name": "education", "kind": "ordinal", "order": ["low", "high"]},
        ],
        "sensitive": ["disease"],
        "identifying": ["name"],
        "neutral": "rest",
    }


def test_what_is_not_asked_is_left_to_the_engine(
    engine: Engine, asked: list[str], people: str, out: str
) -> None:
    assert main(asked) == 0
    assert set(engine.calls) == {
        *("read", "reading", "people.csv", "source", "schema", "require", "progress")
    }
    assert (engine.calls["read"], engine.calls["reading"]) == (people, {})
    assert Path(out).read_text() == "release"


def test_a_job_file_and_flags(engine: Engine, tmp_path: Path, people: str) -> None:
    job = tmp_path / "job.toml"
    job.write_text(
        'input = "people.csv"\noutput = "r.csv"\nquasi = ["age"]\nk = 10\nseed = 1\n', encoding="utf-8"
    )
    assert main(["anonymize", "--config", str(job), "--k", "5"]) == 0
    assert engine.calls["read"] == people
    assert engine.calls["require"] == [anon.KAnonymity(5)]
    assert engine.calls["seed"] == 1
    assert (tmp_path / "r.csv").exists()


@pytest.mark.parametrize(
    "command", [releases.anonymize, releases.check, releases.compare, trials.frontier, trials.inspect]
)
def test_every_flag_is_a_key_of_a_job_or_read_by_its_command(command: Any) -> None:
    """A parameter that is neither would do nothing: a job takes its keys from the parameters by name."""
    [function] = ast.parse(textwrap.dedent(inspect.getsource(command))).body
    assert isinstance(function, ast.FunctionDef)
    read = {each.id for line in function.body for each in ast.walk(line) if isinstance(each, ast.Name)}
    assert {argument.arg for argument in function.args.args} <= read
    named = {each.name for each in load(command.__name__).params}
    assert named - read - set(Job.model_fields) <= {"config", "help_all", "show_values", "query"}
    assert {"delimiter", "encoding", "null"} <= named


def test_a_flag_that_is_there_twice_is_refused(people: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = [people, "--quasi", "age", "--grid", "k=2"]
    for flag, value in (("--kind", "numeric"), ("--weight", "2"), ("--hierarchy", "intervals:5")):
        assert main(["frontier", *words, flag, f"age={value}", flag, f"age={value}"]) == 2
        assert f"{flag} is given twice for column 'age'" in capsys.readouterr().err


def test_the_report_for_people(engine: Engine, asked: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(asked) == 0
    printed = capsys.readouterr()
    for words in (
        "1,234 rows in 99 classes\n",
        "k = 10, the smallest class has 10",
        "at most 10 %",
        "loss 0.125",
    ):
        assert words in printed.out
    assert "7654321" not in printed.out
    assert main([*asked, "--all"]) == 0
    printed = capsys.readouterr()
    assert re.search(r"rows +1,234", printed.out)
    assert re.search(r"prosecutor.at_risk.5 +0.25", printed.out)
    assert re.search(r"measure +ill +paid +\(joint\)", printed.out)
    assert re.search(r"delta +inf +1.25 +3.5", printed.out)
    assert "7654321" not in printed.out
    assert printed.err == "warning: column 'key' identifies people\n"


def test_quiet_prints_warnings_only(
    engine: Engine, asked: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*asked, "--quiet"]) == 0
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == "warning: column 'key' identifies people\n"


def test_json_is_one_object(
    engine: Engine, asked: list[str], people: str, out: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*asked, "--json"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert printed.out.count("\n") == 1
    assert json.loads(printed.out) == {
        "audience": "owner",
        "input": people,
        "output": out,
        "release": {"rows": 1234, "classes": 99, "suppressed": 0},
        "privacy": PRIVACY,
        "warnings": ["column 'key' identifies people"],
        "notes": [],
    }


def test_a_trivial_release_is_measured_not_written(
    engine: Engine, asked: list[str], out: str, capsys: pytest.CaptureFixture[str]
) -> None:
    engine.release = FakeRelease(meets_requirements=False)
    assert main([*asked, "--on-infeasible", "trivial", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["output"] is None
    assert not os.path.exists(out)


def while_cleaning_up(stopped: BaseException) -> Exception:
    """An error met on the way out of a command that was stopped."""
    error = ValueError(SECRET)
    error.__context__ = RuntimeError(SECRET)
    error.__context__.__context__ = stopped
    return error


@pytest.mark.parametrize(
    ("failure", "code", "message"),
    [
        (
            DataError("column 'age': 3 nulls", column="age", row=4, count=3, value=SECRET),
            2,
            "column 'age': 3 nulls",
        ),
        (UsageError("k must be at least 1"), 2, "k must be at least 1"),
        (InfeasibleError("the largest k is 7", requirement="k", tightest=7), 1, "the largest k is 7"),
        (RecheckError("failed its check"), 1, "failed its check"),
        (ends_module.Stopped(signal.SIGINT), 130, "stopped by SIGINT"),
        (ends_module.Stopped(signal.SIGTERM), 143, "stopped by SIGTERM"),
        (ends_module.Stopped(signal.SIGHUP), 129, "stopped by SIGHUP"),
        (KeyboardInterrupt(), 130, "stopped by SIGINT"),
        (while_cleaning_up(ends_module.Stopped(signal.SIGTERM)), 143, "stopped by SIGTERM"),
        (while_cleaning_up(KeyboardInterrupt()), 130, "stopped by SIGINT"),
        (MemoryError(), 2, "not enough memory for this table"),
        (pa.ArrowMemoryError(SECRET), 2, "not enough memory for this table"),
        (RuntimeError("can't start new thread"), 2, "not enough memory for this table"),
        (
            OSError(errno.ENOSPC, "No space left on device", "release.csv"),
            2,
            "release.csv: No space left on device",
        ),
        (FileNotFoundError(2, "No such file or directory", "x.csv"), 2, "x.csv: No such file or directory"),
        (ValueError(SECRET), 70, "internal error: ValueError at"),
        (pa.ArrowInvalid(SECRET), 70, "internal error: ArrowInvalid at"),
        (RecursionError(SECRET), 70, "internal error: RecursionError at"),
    ],
)
@pytest.mark.parametrize("as_json", [False, True])
def test_every_failure_is_one_message(
    engine: Engine,
    asked: list[str],
    out: str,
    failure: BaseException,
    code: int,
    message: str,
    as_json: bool,
    capsys: pytest.CaptureFixture[str],
) -> None:
    engine.failure = failure
    assert main([*asked, "--json"] if as_json else asked) == code
    printed = capsys.readouterr()
    assert SECRET not in printed.out + printed.err
    assert "Traceback" not in printed.out + printed.err
    if as_json:
        assert printed.err == ""
        answer = json.loads(printed.out)
        assert answer["error"].startswith(message)
        assert answer["exit_code"] == code
    else:
        assert printed.out == ""
        assert printed.err.startswith(f"error: {message}")
        assert printed.err.count("\n") == 1
    assert not os.path.exists(out)


def test_details_of_a_failure_in_json(
    engine: Engine, asked: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    engine.failure = DataError("a null", column="age", row=0, count=3, value=SECRET)
    assert main([*asked, "--json"]) == 2
    assert json.loads(capsys.readouterr().out) == {
        **{"audience": "owner", "error": "a null", "exit_code": 2},
        **{"column": "age", "row": 0, "count": 3},
    }
    engine.failure = InfeasibleError("too much", requirement=("KAnonymity", 9), tightest=7)
    assert main([*asked, "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["tightest"] == 7


def test_the_cell_is_shown_on_demand_only(
    engine: Engine, asked: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    engine.failure = DataError("a null", column="age", value=SECRET)
    assert main([*asked, "--show-values"]) == 2
    assert capsys.readouterr().err == f"error: a null (the value: {SECRET!r})\n"
    assert main([*asked, "--show-values", "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["value"] == SECRET


def test_the_traceback_of_an_internal_error_is_shown_on_demand_only(
    engine: Engine, asked: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    engine.failure = ValueError("details")
    monkeypatch.setenv("ANON_TRACEBACK", "1")
    assert main(asked) == 70
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["anonymize"], "no column has a role: name the quasi-identifiers with --quasi"),
        (["anonymize", "IN", "--quasi", "age"], "nothing is required"),
        (["anonymize", "--quasi", "age", "--k", "2"], "no input"),
        (["anonymize", "IN", "--quasi", "age", "--k", "2"], "no output"),
        (["anonymize", "IN", "-o", "IN", "--quasi", "age", "--k", "2"], "is also an input"),
        (["anonymize", "IN", "-o", ".", "--quasi", "age", "--k", "2"], "is a folder"),
        (["anonymize", "IN", "-o", "/nowhere/x.csv", "--quasi", "age", "--k", "2"], "/nowhere"),
        (["anonymize", "IN", "-o", "OUT", "--quasi", "age,age", "--k", "2"], "column 'age' is named twice"),
        (
            ["anonymize", "IN", "-o", "OUT", "--quasi", "a", "--sensitive", "a", "--k", "2"],
            "column 'a' is named both",
        ),
        (["anonymize", "IN", "-o", "OUT", "--sensitive", "a", "--k", "2"], "at least one quasi-identifier"),
        (["anonymize", "IN", "--quasi", "a", "--hierarchy", "a"], "--hierarchy takes COLUMN=VALUE"),
        (
            ["anonymize", "IN", "--quasi", "a", "--kind", "a=nominal", "--kind", "a=numeric"],
            "--kind is given twice",
        ),
        (["anonymize", "IN", "--quasi", "a", "--weight", "a=heavy"], "--weight takes COLUMN=NUMBER"),
        (
            ["anonymize", "IN", "--quasi", "a", "--cuts", "middle"],
            "--cuts: input should be 'nearest', 'median' or 'medians'",
        ),
        (["anonymize", "--config", "/nowhere/job.toml"], "/nowhere/job.toml: No such file or directory"),
        (["check"], "no file: name the one to check"),
        (["check", "IN", "--risk-k", "5,x"], "--risk-k takes whole numbers"),
    ],
)
def test_wrong_use_is_told(
    engine: Engine,
    arguments: list[str],
    message: str,
    people: str,
    out: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = [{"IN": people, "OUT": out}.get(word, word) for word in arguments]
    assert main(words) == 2
    assert message in capsys.readouterr().err
    assert main([*words, "--json"]) == 2
    assert message in json.loads(capsys.readouterr().out)["error"]
    assert "anonymize" not in engine.calls


def test_the_output_may_not_be_one_of_many_inputs(
    engine: Engine, tmp_path: Path, people: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for source in (str(tmp_path), str(tmp_path / "*.csv")):
        assert main(["anonymize", source, "-o", people, "--quasi", "age", "--k", "2"]) == 2
        assert "is also an input" in capsys.readouterr().err
    os.symlink(people, tmp_path / "link.csv")
    assert main(["anonymize", people, "-o", str(tmp_path / "link.csv"), "--quasi", "age", "--k", "2"]) == 2


@pytest.mark.parametrize(
    "words",
    [
        "check people.csv --quasi age --per-class people.csv",
        "check people.csv --quasi age --per-class second.csv --sensitive-table second.csv",
        "check people.csv --quasi age --per-class people.sensitive.csv",
        "check people.csv --config job.csv --per-class job.csv",
        "check people.csv --config job.csv --per-class zip.csv",
        "check people.csv --quasi age --ordinal age=order.csv --per-class order.csv",
        "anonymize people.csv --quasi age --k 2 --hierarchy age=zip.csv -o zip.csv",
        "anonymize people.csv --quasi age --k 2 --ordinal age=order.csv -o order.csv",
        "anonymize people.csv --quasi age --k 2 --population second.csv -o second.csv",
        "anonymize people.csv --config job.csv -o job.csv",
        "anonymize inner -o inner/deep/people.csv --quasi age --k 2",
        "anonymize people.sensitive.csv -o people.csv --quasi age --k 2 --publish bucketization",
    ],
)
def test_nothing_that_is_read_is_overwritten(
    engine: Engine,
    words: str,
    people: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "inner" / "deep").mkdir(parents=True)
    for name in ("second.csv", "zip.csv", "order.csv", "people.sensitive.csv", "inner/deep/people.csv"):
        (tmp_path / name).write_text("1\n")
    (tmp_path / "job.csv").write_text('quasi = ["age"]\nk = 2\nhierarchy = {age = "zip.csv"}\n')
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.csv")}
    assert main(words.split()) == 2
    assert "is also an input" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.csv")} == before


@pytest.mark.parametrize(
    "words",
    [
        ["anonymize", "", "-o", "x.csv", "--quasi", "age", "--k", "2"],
        ["anonymize", "IN", "-o", "", "--quasi", "age", "--k", "2"],
        ["anonymize", "IN", "-o", "x.csv", "--quasi", "age", "--k", "2", "--population", ""],
        ["anonymize", "--config", ""],
        ["check", "", "--quasi", "age"],
        ["check", "IN", "--quasi", "age", "--per-class", ""],
        ["check", "IN", "--quasi", "age", "--sensitive-table", ""],
        ["compare", "", "IN"],
        ["compare", "IN", ""],
        ["inspect", ""],
        ["demo", "-o", ""],
        ["data", "census", "--rows", "5", "-o", ""],
        ["data", "adult", "", "-o", "x.csv"],
    ],
)
def test_an_empty_path_is_refused(
    engine: Engine,
    words: list[str],
    people: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([people if word == "IN" else word for word in words] + ["--json"]) == 2
    assert "the path is empty" in json.loads(capsys.readouterr().out)["error"]
    assert os.listdir(tmp_path) == ["people.csv"]
    assert engine.calls == {}


@pytest.mark.parametrize(
    "arguments", [["anonymize", "--k", "many"], ["nothing"], ["inspect"], ["demo", "--rows", "0"]]
)
def test_typers_own_errors_exit_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert "Usage" in capsys.readouterr().err
    assert main([*arguments, "--json"]) == 2
    printed = capsys.readouterr()
    assert json.loads(printed.out)["exit_code"] == 2
    assert printed.err == ""


def test_check(engine: Engine, people: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", people, "--all"]) == 0
    assert (engine.calls["schema"], engine.calls["per_class"]) == (None, False)
    assert (engine.calls["require"], engine.calls["sensitive_table"]) == ([], None)
    assert engine.calls["at_risk"] == (2, 5, 10, 20)
    assert "prosecutor.at_risk.5" in capsys.readouterr().out
    flags = ["--quasi", "age", "--sensitive", "ill", "--risk-k", "3", "--null", "?", "--kind", "age=nominal"]
    assert main(["check", people, "--json", *flags]) == 0
    assert json.loads(capsys.readouterr().out) == {"audience": "owner", "roles_from": None, **PRIVACY}
    assert engine.calls["schema"]["quasi"] == [{"name": "age", "kind": "nominal"}]
    assert engine.calls["at_risk"] == (3,)
    assert engine.calls["reading"] == {"null": ["?"]}


def test_check_says_whose_word_the_roles_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    people, release, page = (str(tmp_path / name) for name in ("p.csv", "r.parquet", "page.html"))
    Path(people).write_text("age,ill\n1,flu\n1,cold\n2,flu\n2,cold\n", encoding="utf-8")
    roles = ["--quasi", "age", "--sensitive", "ill"]
    assert main(["anonymize", people, "-o", release, *roles, "--k", "2", "-q"]) == 0

    def first_line(*words: str, code: int = 0) -> str:
        capsys.readouterr()
        assert main(["check", release, *words]) == code
        return capsys.readouterr().out.split("\n")[0]

    assert first_line().startswith("The roles of the columns are the file's own claim: ")
    assert first_line("--k", "3", "--roles-from-file", code=1).startswith("The roles of the columns are")
    assert first_line(*roles, "--k", "2") == "Privacy of r.parquet"
    for words, source in (([], "file"), (roles, "given"), (["--k", "2", "--roles-from-file"], "file")):
        assert main(["check", release, "--json", *words]) == 0
        assert json.loads(capsys.readouterr().out)["roles_from"] == source
    assert main(["check", release, "--k", "2"]) == 2
    message = "name its quasi-identifiers with --quasi, or believe it with --roles-from-file\n"
    assert capsys.readouterr().err.endswith(message)
    assert main(["check", release, "--k", "2", "--roles-from-file", *roles]) == 2
    assert "to be taken from the file with --roles-from-file: choose one" in capsys.readouterr().err
    for words in (["--unit", "age"], ["--sampling-weight", "age"]):  # not left out without a word
        assert main(["check", release, "--k", "2", "--roles-from-file", *words]) == 2
        assert "name its quasi-identifiers with --quasi" in capsys.readouterr().err
    for words, claimed in ((roles, False), (["--roles-from-file"], True)):
        assert main(["check", release, "--k", "2", *words, "--report", page, "-q"]) == 0
        text = html.unescape(Path(page).read_text(encoding="utf-8"))
        assert ("the file's own claim: whoever wrote" in text) == claimed
        assert ("The roles of the columns are the file's own claim." in text) == claimed


def test_check_names_what_a_file_cannot_decide(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    people, tree = str(tmp_path / "p.csv"), str(tmp_path / "ill.csv")
    Path(people).write_text(
        "age,ill\n1,flu\n1,cold\n2,ulcer\n2,colitis\n3,cold\n3,ulcer\n4,flu\n4,colitis\n", encoding="utf-8"
    )
    Path(tree).write_text("flu,lungs,*\ncold,lungs,*\nulcer,gut,*\ncolitis,gut,*\n", encoding="utf-8")
    roles = ["--quasi", "age", "--sensitive", "ill"]
    asked = ["--t", "0.3", "--t-distance", "hierarchical"]
    for suffix in ("csv", "parquet", "feather"):
        release = str(tmp_path / f"r.{suffix}")
        made = [*roles, *asked, "--hierarchy", f"ill={tree}", "--order", "input"]
        assert main(["anonymize", people, "-o", release, *made, "-q"]) == 0
        capsys.readouterr()
        assert main(["check", release, *roles, *asked]) == 2
        message = capsys.readouterr().err
        assert "cannot decide it" in message
        assert "give it with --hierarchy ill=FILE" in message
        assert ("believe the file's own with --roles-from-file" in message) == (suffix != "csv")
        assert main(["check", release, *roles, *asked, "--hierarchy", f"ill={tree}"]) == 0
        if suffix != "csv":
            assert main(["check", release, *asked, "--roles-from-file"]) == 0


def test_check_writes_the_measures_of_every_class(engine: Engine, people: str, tmp_path: Path) -> None:
    path = tmp_path / "classes.csv"
    assert main(["check", people, "--per-class", str(path)]) == 0
    assert main(["check", ".", "--per-class", str(path)]) == 0
    assert pyarrow.csv.read_csv(path).to_pydict() == {"size": [3, 4]}


def test_check_takes_its_columns_from_a_job_file(engine: Engine, people: str, tmp_path: Path) -> None:
    job = tmp_path / "job.toml"
    job.write_text('input = "x.csv"\nquasi = ["age"]\nk = 10\n', encoding="utf-8")
    assert main(["check", people, "--config", str(job)]) == 0
    assert engine.calls["schema"]["quasi"] == ["age"]
    assert engine.calls["require"] == [anon.KAnonymity(10)]


def test_check_takes_the_output_of_a_job_where_no_file_is_named(
    engine: Engine, people: str, tmp_path: Path
) -> None:
    job = tmp_path / "job.toml"
    job.write_text('input = "x.csv"\noutput = "release.csv"\n', encoding="utf-8")
    assert main(["check", "--config", str(job)]) == 0
    assert engine.calls["read"] == str(tmp_path / "release.csv")
    assert main(["check", people, "--config", str(job)]) == 0
    assert engine.calls["read"] == people


@pytest.mark.parametrize("publish", ["generalization", "bucketization"])
def test_a_job_file_tells_how_its_input_is_read_not_its_release(
    tmp_path: Path, publish: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The input has its own delimiter and encoding, and -1 for missing; a mean of a release may be -1."""
    rows = [("-2", "Zürich", "flu"), ("0", "Zürich", "cold"), ("-1", "Genève", "flu"), ("-1", "Bern", "cold")]
    text = "\n".join(map("|".join, [("debt", "city", "ill"), *rows, ""]))
    (tmp_path / "people.csv").write_text(text, encoding="utf-16")
    job = tmp_path / "job.toml"
    job.write_text(
        'input = "people.csv"\noutput = "release.csv"\nquasi = ["debt", "city"]\nsensitive = ["ill"]\n'
        f'delimiter = "|"\nencoding = "utf-16"\nnull = ["-1"]\nk = 2\nl = 2\nnumeric = "mean"\n'
        f'publish = "{publish}"\n'
    )
    config, people, release = ["--config", str(job)], tmp_path / "people.csv", tmp_path / "release.csv"
    assert main(["anonymize", *config, "-q"]) == 0
    assert ("-1" in release.read_text(encoding="utf-8")) == (publish == "generalization")
    assert main(["check", str(release), *config, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["n_rows"], document["unmet"]) == (4, [])
    assert main(["compare", str(people), str(release), *config, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["n_suppressed"] == 0
    # the input itself is read as the job says, also where it is what is checked
    assert main(["check", str(people), *config, "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["k"] == 1
    # a flag is about the file that is named
    (tmp_path / "other.csv").write_text(text, encoding="latin-1")
    words = ["check", str(tmp_path / "other.csv"), *config, "--json"]
    assert main(words) == 2
    assert "is not utf-8" in json.loads(capsys.readouterr().out)["error"]
    assert main([*words, "--encoding", "latin-1"]) == 1
    assert json.loads(capsys.readouterr().out)["n_rows"] == 4


def test_a_job_for_spark_serves_the_commands_that_do_without(
    tmp_path: Path, people: str, capsys: pytest.CaptureFixture[str]
) -> None:
    job = tmp_path / "job.toml"
    job.write_text(
        f'input = "{people}"\nengine = "spark"\nquasi = ["age"]\nsensitive = ["name"]\ngrid = ["k=1"]\n'
    )
    config = ["--config", str(job), "--json"]
    for words in (["check", people], ["compare", people, people], ["frontier"]):
        assert main([*words, *config]) == 0
    capsys.readouterr()
    assert main(["check", people, *config, "--engine", "spark"]) == 2
    assert "engine must be one of local, stream" in capsys.readouterr().out


def test_what_a_job_says_of_csv_is_not_told_to_a_release_in_parquet(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("age;ill\n1;flu\n1;?\n", encoding="utf-8")
    job = tmp_path / "job.toml"
    job.write_text('input = "people.csv"\nquasi = ["age"]\ndelimiter = ";"\nnull = ["?"]\nk = 2\n')
    release = str(tmp_path / "release.parquet")
    assert main(["anonymize", "--config", str(job), "-o", release, "-q"]) == 0
    assert main(["check", release, "--config", str(job), "-q"]) == 0


def test_check_tells_what_is_not_met(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "people.csv"
    path.write_text("age,ill\n1,flu\n1,cold\n2,flu\n2,cold\n", encoding="utf-8")
    words = ["check", str(path), "--quasi", "age", "--sensitive", "ill", "--k", "2"]
    assert main(words) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert "every requirement is met" in printed.out
    words += ["--k", "3", "--l", "3", "--l-kind", "distinct", "--t", "0.1", "--alpha", "0.5", "--beta", "1"]
    assert main(words) == 1
    printed = capsys.readouterr()
    assert "risk of being found: at most 50 %" in printed.out
    unmet = "not met: 3-anonymity; 3-diversity (distinct); (0.5,3)-anonymity\n"
    assert printed.err == unmet
    assert main([*words, "--quiet"]) == 1
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", unmet)
    assert main([*words, "--json"]) == 1
    assert len(json.loads(capsys.readouterr().out)["unmet"]) == 3
    assert main([*words, "--c", "2"]) == 2
    assert "--c is a setting of --l-kind recursive" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("check IN", "name its quasi-identifiers with --quasi"),
        ("check IN --quasi age --l 2", "name one with --sensitive"),
        ("check IN --quasi age --sensitive name --t 0.1 --t-distance ordered", "--t-distance hierarchical"),
        ("anonymize IN -o OUT --quasi age --k 2 --threads 0", "--threads must be None or a whole number"),
        ("anonymize IN -o OUT --quasi age --k 2 --method identity", "use --method mondrian"),
        ("anonymize IN -o OUT --quasi age --method kmembers --l 2 --sensitive name", "ask for --k"),
        (
            "anonymize IN -o OUT --quasi age --sensitive name --l 2 --method anatomy",
            "it needs --publish bucketization",
        ),
    ],
)
def test_errors_speak_of_flags(
    words: str, message: str, people: str, out: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(people).write_text("age,name\n1,x\n2,y\n3,z\n")
    assert main([{"IN": people, "OUT": out}.get(word, word) for word in words.split()]) == 2
    printed = capsys.readouterr().err
    assert message in printed
    assert not re.search(r"schema|[a-z]=|[A-Z][a-z]+\(", printed)


def test_compare(engine: Engine, people: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", people, "release.parquet"]) == 0
    calls = engine.calls
    assert calls["schema"] is None
    assert not {"r", "min_support"} & set(calls)  # left to the engine
    assert calls["sensitive_table"] is None
    assert capsys.readouterr().out.splitlines() == [
        "Utility of release.parquet",
        "  1,200 of 1,234 rows are published, in 99 classes of 12.1 on average",
        "  loss 0.125: of the detail of the quasi-identifiers, 0 is nothing and 1 all (gcp)",
        "    'age' lost 25 %",
        "    'zip' lost nothing",
        "  shares of sensitive values, in groups of 5 % of the rows or more, are off by 0.0625: 0 is nothing "
        "and 0.693 all (u_loss)",
        "  all measures: --all, or --json",
    ]
    assert main(["compare", people, "release.parquet", "--all"]) == 0
    printed = capsys.readouterr().out
    assert re.search(r"Utility of\s+release.parquet", printed)
    assert re.search(r"gcp +0.125", printed)
    assert re.search(r"column +information loss \(ncp\) *\n", printed)
    assert re.search(r"age +0.25", printed)
    assert re.search(r"ill +0.75", printed)
    assert "precision" not in printed
    flags = ["--quasi", "age", "--sensitive", "ill", "--hierarchy", "age=intervals:5", "--r", "0.5"]
    more = ["--sensitive-table", "second.csv", "--min-support", "0.01", "--null", "?", "--json"]
    assert main(["compare", people, "release.parquet", *flags, *more]) == 0
    assert json.loads(capsys.readouterr().out) == {"audience": "owner", **UTILITY}
    assert calls["schema"]["quasi"] == [{"name": "age", "hierarchy": {"intervals": [5]}}]
    assert (calls["r"], calls["min_support"]) == (0.5, 0.01)
    assert calls["sensitive_table"] is not None
    # how CSV is read is said of the CSV files alone
    reading = [calls[name] for name in ("people.csv", "release.parquet", "second.csv")]
    assert reading == [{"null": ["?"]}, {}, {"null": ["?"]}]
    for quiet in ("-q", "--quiet"):
        assert main(["compare", people, "release.parquet", quiet]) == 0
        assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("engine", ["local", "stream"])
def test_of_two_tables_the_one_without_rows_is_named(
    tmp_path: Path, people: str, engine: str, capsys: pytest.CaptureFixture[str]
) -> None:
    empty = pa.table({"age": pa.array([], pa.int64()), "name": pa.array([], pa.string())})
    pa.parquet.write_table(empty, tmp_path / "empty.parquet")
    (tmp_path / "empty.csv").write_text("age,name\n")
    for name in ("empty.parquet", "empty.csv"):
        for pair in ([people, tmp_path / name], [tmp_path / name, people]):
            words = [*map(str, pair), "--quasi", "age", "--engine", engine]
            assert main(["compare", *words]) == 2
            assert capsys.readouterr().err == f"error: file '{tmp_path / name}' has no rows\n"


def test_compare_end_to_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    original, released = str(tmp_path / "people.csv"), str(tmp_path / "release.csv")
    Path(original).write_text("age,ill\n1,flu\n2,flu\n3,cold\n5,cold\n", encoding="utf-8")
    Path(released).write_text("age,ill\n1-2,flu\n1-2,flu\n*,cold\n", encoding="utf-8")
    words = ["compare", original, released, "--quasi", "age", "--sensitive", "ill", "--json"]
    assert main(words) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["n_suppressed"], document["n_starred"], document["n_classes"], document["dm"]) == (
        2,
        1,
        1,
        4 + 8,
    )
    assert document["gcp"] == pytest.approx((2 / 4 + 2) / 4)
    Path(released).write_text(f"age,ill\n1-2,flu\n{SECRET},flu\n", encoding="utf-8")
    assert main(words) == 2
    document = json.loads(capsys.readouterr().out)
    assert (document["column"], document["row"], document["count"]) == ("age", 1, 1)
    assert SECRET not in json.dumps(document)
    assert main([*words[:-1], "--show-values"]) == 2
    assert SECRET in capsys.readouterr().err


def test_compare_says_what_became_of_matched_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    original, released = str(tmp_path / "people.csv"), str(tmp_path / "release.csv")
    rows = [(f"p{i}", 20 + i, "flu" if i % 2 else "cold") for i in range(4)]
    Path(original).write_text("id,age,ill\n" + "".join(f"{a},{b},{c}\n" for a, b, c in rows))
    Path(released).write_text(
        "id,age,ill\np0,[20-21],cold\np1,[20-21],cold\np2,[22-23],cold\np3,[20-21],flu\n"
    )
    words = ["compare", original, released, "--quasi", "age", "--sensitive", "ill", "--id", "id"]
    assert main([*words, "--sampling-fraction", "0.5"]) == 0
    told = capsys.readouterr().out
    assert "all 4 rows are published, in 2 classes of 2 on average" in told
    assert "'age': 25 % of the cells do not hold the value of their row" in told
    assert "'age': cells, or their middles, are 1 from their values on average" in told  # .5, .5, .5, 2.5
    assert "'ill': 25 % of the values changed" in told
    assert re.search(
        r"risk of being found in the population: at most [\d.]+ %, in the original [\d.]+ %", told
    )


def test_of_many_columns_compare_tells_those_that_lost_most(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [f"q{i}" for i in range(15)]
    rows = [[i % 2] * 15 for i in range(6)]
    for name, last in (("people.csv", "1"), ("release.csv", "*")):
        lines = [",".join([*map(str, row[:-1]), str(row[-1]) if last == "1" else last]) for row in rows]
        (tmp_path / name).write_text("\n".join([",".join(names), *lines]) + "\n")
    words = [str(tmp_path / name) for name in ("people.csv", "release.csv")]
    assert main(["compare", *words, "--quasi", ",".join(names)]) == 0
    told = capsys.readouterr().out.splitlines()
    assert told[3] == "    'q14' lost 100 %"
    assert told[4:15] == [f"    'q{i}' lost nothing" for i in range(11)]
    assert told[15] == "    3 other columns lost no more than that"


def test_inspect(engine: Engine, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "people.csv"
    path.write_text(f"age;name\n41;{SECRET}\n43;{SECRET}\n", encoding="utf-8")
    assert main(["inspect", str(path)]) == 0
    printed = capsys.readouterr().out
    assert "people.csv: 2 rows" in printed
    assert "quasi-identifying" in printed
    assert SECRET not in printed
    assert main(["inspect", str(path), "--json", "--delimiter", ";", "--null", "43"]) == 0
    text = capsys.readouterr().out
    assert SECRET not in text
    assert [(column["name"], column["n_null"]) for column in json.loads(text)["columns"]] == [
        ("age", 1),
        ("name", 0),
    ]


def test_demo_writes_both_files_and_checks_the_release(
    engine: Engine, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "made" / "here"
    assert main(["demo", "--rows", "50", "-o", str(folder), "--json"]) == 0
    assert sorted(os.listdir(folder)) == ["census.parquet", "release.parquet"]
    assert pyarrow.parquet.read_table(folder / "census.parquet").equals(datasets.census(50, 0))
    assert engine.calls["source"] == str(folder / "release.parquet")
    assert engine.calls["require"][0] == anon.KAnonymity(10)
    assert json.loads(capsys.readouterr().out)["privacy"]["k"] == 10


def test_data_census(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "people.parquet")
    assert main(["data", "census", "--rows", "30", "--seed", "4", "-o", path]) == 0
    assert capsys.readouterr().out == f"30 rows written to {path}\n"
    assert pyarrow.parquet.read_table(path).equals(datasets.census(30, 4))
    assert main(["data", "census", "--rows", "30", "-o", path, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"audience": "owner", "output": path, "n_rows": 30}
    assert main(["data", "census", "--rows", "30", "-o", path, "--quiet"]) == 0
    assert capsys.readouterr().out == ""


def test_data_adult_names_the_missing_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "adult", str(tmp_path), "-o", str(tmp_path / "a.csv")]) == 2
    assert "adult.data not found" in capsys.readouterr().err
    assert os.listdir(tmp_path) == []


@pytest.mark.adult
def test_data_adult(tmp_path: Path, adult_dir: Path) -> None:
    path = tmp_path / "adult.parquet"
    assert main(["data", "adult", str(adult_dir), "-o", str(path), "--part", "test", "--quiet"]) == 0
    assert pyarrow.parquet.read_metadata(path).num_rows == 15_060


def test_no_bar_in_a_pipe_and_one_on_a_terminal(
    engine: Engine, asked: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(asked) == 0
    assert engine.calls["progress"] is None
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert main(asked) == 0
    assert engine.calls["progress"] is not None
    assert main([*asked, "--quiet"]) == 0
    assert engine.calls["progress"] is None


def test_help_lists_the_commands() -> None:
    finished = subprocess.run(
        [sys.executable, "-m", "anon", "--help"], capture_output=True, text=True, check=True, env=os.environ
    )
    for command in ("anonymize", "check", "compare", "inspect", "demo", "data"):
        assert command in finished.stdout
    document = run(
        "anonymize", "--help-all", capture_output=True, env=os.environ | {"COLUMNS": "300"}
    ).stdout.decode()
    short = run(
        "anonymize", "--help", capture_output=True, env=os.environ | {"COLUMNS": "100"}
    ).stdout.decode()
    assert len(short.splitlines()) < 80
    for words in ("--quasi", "--k ", "--help-all", "What the release must satisfy"):
        assert words in short
    assert "--beta" not in short
    for words in ("<bool>", "<list[str]>"):
        assert words not in short + document + finished.stdout
    for words in (
        *("Columns without a role are not published: --neutral keeps", "month, quarter, year, decade"),
        *("probabilistic (default)", "(3)", "js (default)", "balanced (default)", "generalization (default)"),
        *("interval (default)", "category (default)", "class (default)", "S-diversity (1)", "start (0)"),
    ):
        assert words in document
    modules = (
        "import sys, anon.command; print(*(m for m in ('pyarrow', 'pydantic', 'numpy') if m in sys.modules))"
    )
    loaded = subprocess.run([sys.executable, "-c", modules], capture_output=True, text=True, check=True)
    assert "pydantic" not in loaded.stdout


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_a_signal_in_the_middle_of_writing_leaves_no_file(tmp_path: Path, number: int, code: int) -> None:
    path = tmp_path / "people.parquet"
    command = [sys.executable, "-m", "anon", "data", "census", "--rows", "50000000", "-o", str(path)]
    running = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # under nohup, SIGHUP is ignored
    )
    try:
        for _ in range(600):
            if any(file.stat().st_size > 0 for file in tmp_path.iterdir()):
                break
            time.sleep(0.05)
        running.send_signal(number)
        out, err = running.communicate(timeout=300)
    finally:
        running.kill()
    assert running.returncode == code
    assert out == ""
    assert err.startswith("error: ")
    assert "Traceback" not in err
    assert os.listdir(tmp_path) == []


def test_a_closed_pipe_is_no_failure_of_ours() -> None:
    command = [sys.executable, "-m", "anon", "anonymize", "--help"]
    reading, writing = os.pipe()
    os.close(reading)
    try:
        ended = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    finally:
        os.close(writing)
    assert ended.returncode == 141
    assert ended.stderr == ""


def run(*words: str, **options: Any) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([sys.executable, "-m", "anon", *words], check=False, **options)


def test_what_the_output_cannot_encode_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "\u00fc.csv"
    path.write_text("\u00e4ge,name\n1,x\n2,y\n2,y\n", encoding="utf-8")
    env = os.environ | {"PYTHONIOENCODING": "ascii"}
    finished = run("inspect", str(path), capture_output=True, env=env)
    assert (finished.returncode, finished.stderr) == (0, b"")
    assert b"?ge" in finished.stdout
    finished = run("inspect", str(path), "--json", capture_output=True, env=env)
    assert (finished.returncode, finished.stderr) == (0, b"")
    assert [column["name"] for column in json.loads(finished.stdout)["columns"]] == ["\u00e4ge", "name"]


def test_a_path_that_is_not_utf_8_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    path = os.fsdecode(b"in\xff.csv")
    for words in (["inspect", path], ["check", "x.csv", "--per-class", path], ["demo", "-o", path]):
        assert main([*words, "--json"]) == 2
        assert "the path is not UTF-8" in json.loads(capsys.readouterr().out)["error"]
        assert main(words) == 2
        assert "the path is not UTF-8" in capsys.readouterr().err


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_a_full_or_closed_output_is_no_fault_of_ours(
    people: str, more: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)  # what is not written yet is tried again at the end
    for words, code in ((["check", people, "--quasi", "age"], 2), (["check", people, "--quasi", "ages"], 2)):
        with open("/dev/full", "wb") as full:
            ended = run(*words, *more, stdout=full, stderr=subprocess.PIPE)
            assert run(*words, *more, stdout=full, stderr=full).returncode == code
        assert ended.returncode == code
        assert ended.stderr.startswith(b"error: ")
        assert ended.stderr.count(b"\n") == 1
    for closed in (">&-", "<&- >&- 2>&-"):
        for quasi, code in (("age", 0), ("ages", 2)):
            command = [sys.executable, "-m", "anon", "check", people, "--quasi", quasi, *more]
            ended = subprocess.run(
                ["sh", "-c", f'"$@" {closed}', "sh", *command], capture_output=True, check=False
            )
            assert (ended.returncode, ended.stdout) == (code, b"")
            assert b"Traceback" not in ended.stderr


def test_an_ignored_signal_stays_ignored(
    engine: Engine, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []

    def read(source: Any, **options: Any) -> Any:
        seen.append(signal.getsignal(signal.SIGHUP))

    monkeypatch.setattr(anon, "read_source", read)
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
    try:
        assert main(asked) == 0
    finally:
        signal.signal(signal.SIGHUP, before)
    assert seen == [signal.SIG_IGN]


def test_signals_are_given_back(engine: Engine, asked: list[str]) -> None:
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    assert main(asked) == 0
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before


def test_a_shell_is_told_how_to_complete_a_word(tmp_path: Path) -> None:
    program = tmp_path / "anon"  # completion goes by the program's name
    program.write_text("import sys\nfrom anon.command.entry import main\nsys.exit(main())\n")
    for typed, offered in (("anon comp", "compare"), ("anon check --quas", "--quasi")):
        words = {"_ANON_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(typed.count(" "))}
        finished = subprocess.run(
            [sys.executable, program], capture_output=True, text=True, check=True, env=os.environ | words
        )
        assert (finished.stdout.split(), finished.stderr) == ([offered], "")


def test_on_spark_uris_and_folders_are_left_to_it_and_warnings_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import warnings

    from anon.command import spark as submit

    ran: list[Any] = []

    measured = anon.check(pa.table({"age": ["x", "x"]}), anon.Schema(["age"]))

    def run(job: Any, progress: Any, quiet: bool) -> tuple[anon.Privacy, list[str]]:
        warnings.warn("only one class", anon.PrivacyWarning, stacklevel=2)
        ran.append((job.input, job.output))
        return measured, ["dx"]

    monkeypatch.setattr(submit, "run", run)
    roles = ["--quasi", "age", "--k", "2", "--engine", "spark"]
    ends = [("hdfs://nn:8020/people", "s3a://bucket/release"), ("people.parquet", str(tmp_path))]
    for source, output in ends:
        assert main(["anonymize", source, "-o", output, *roles, "--json"]) == 0
        document = json.loads(capsys.readouterr().out)
        assert document == {
            "audience": "owner",
            "input": source,
            "output": output,
            "privacy": measured.to_dict(),
            "warnings": ["only one class"],
            "notes": [note_on_unpublished(["dx"]), "Spark made it by Mondrian alone (effort fast)"],
        }
    assert ran == ends
    assert main(["anonymize", "a.parquet", "-o", "b.parquet", *roles, "--quiet"]) == 0
    assert capsys.readouterr().err == f"warning: only one class\nnote: {note_on_unpublished(['dx'])}\n"


def test_it_can_be_stopped_while_it_is_imported(tmp_path: Path) -> None:
    (tmp_path / "typer.py").write_text(
        "import os, signal\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)  # as in a terminal\n"
        "os.kill(os.getpid(), signal.SIGINT)\n"
    )
    path = os.pathsep.join([str(tmp_path), *sys.path])
    ended = subprocess.run(
        [sys.executable, "-m", "anon", "--version"],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "error: stopped by SIGINT\n")
