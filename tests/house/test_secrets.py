# SPDX-License-Identifier: Apache-2.0
"""No cell of a table is in anything that is said or written about it.

Tables of marked values go through every door with every kind of fault; messages, reprs, warnings,
progress, logs, metadata, names of files and the bytes of what is written are searched for the marks.
"""

from __future__ import annotations

import dataclasses
import logging
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

import anon
from anon.classes.reading import reader
from anon.command import entry as cli
from anon.encoding.table import encode
from anon.measures.query_text import parse_queries
from anon.release.metadata import read_metadata, sensitive_path

# Marks: a word, a number, a decimal, a day and a moment that nothing else here holds.
WORD, NUMBER, DAY = "Xq7vSecret", 7340917, "2177-11-23"
MARKS = re.compile(r"Xq7v|7340917|7,340,917|7\.340917|7340|2177")

ROWS = {
    "name": [f"{WORD}Name{i}" for i in range(8)],
    "age": [NUMBER + i for i in range(8)],
    "town": [f"{WORD}Town{i // 2}" for i in range(8)],
    "born": [f"{DAY[:-1]}{i}" for i in range(8)],
    "illness": [f"{WORD}Illness{i % 3}" for i in range(8)],
    "note": [f"{WORD}Note{i}" for i in range(8)],
}
TABLE = pa.table(ROWS).set_column(3, "born", pa.array(ROWS["born"]).cast(pa.date32()))
SCHEMA = anon.Schema(["age", "town", "born"], ["illness"], ["name"], neutral="rest")


def told(error: BaseException) -> str:
    """Everything that an error says by itself, and what is said of where it came from."""
    said = []
    each: BaseException | None = error
    while each is not None:
        said += [str(each), repr(each)]
        each = each.__cause__ or (None if each.__suppress_context__ else each.__context__)
    return "\n".join(said)


def nothing_of(text: str) -> bool:
    return MARKS.search(text) is None


# --- what goes wrong


def damaged(**columns: Any) -> pa.Table:
    """The table with other columns."""
    return pa.table({name: columns.get(name, TABLE[name]) for name in TABLE.column_names})


def hierarchy(folder: Path, text: str) -> anon.Schema:
    """A schema whose towns have a hierarchy in a file."""
    (folder / "tree.csv").write_text(text)
    return anon.Schema([anon.nominal("town", str(folder / "tree.csv"))], ["illness"], ["name"])


def csv(folder: Path, text: str | bytes) -> Path:
    path = folder / "in.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


K2 = [anon.KAnonymity(2)]
MORE: list[Any] = [[None, *[NUMBER] * 7], [None, *[WORD] * 7]]
FAULTS: dict[str, Callable[[Path], Any]] = {
    "k beyond the rows": lambda folder: anon.anonymize(TABLE, SCHEMA, require=[anon.KAnonymity(9)]),
    "l beyond the values": lambda folder: anon.anonymize(TABLE, SCHEMA, require=[anon.LDiversity(7)]),
    "alpha beyond the share": lambda folder: anon.anonymize(
        damaged(illness=[WORD] * 8), SCHEMA, require=[anon.AlphaK(0.5, 2)]
    ),
    "missing value refused": lambda folder: anon.anonymize(
        damaged(age=MORE[0]), SCHEMA, require=K2, missing="error"
    ),
    "missing sensitive value": lambda folder: anon.anonymize(
        damaged(illness=MORE[1]), SCHEMA, require=[anon.SDiversityBound(1)]
    ),
    "text for a number": lambda folder: anon.anonymize(
        TABLE, anon.Schema([anon.numeric("town")], ["illness"], ["name"]), require=K2
    ),
    "value out of order": lambda folder: anon.anonymize(
        TABLE, anon.Schema([anon.ordinal("town", ["a", "b"])], ["illness"], ["name"]), require=K2
    ),
    "value out of the hierarchy": lambda folder: anon.anonymize(
        TABLE, hierarchy(folder, "a;*\nb;*\n"), require=K2
    ),
    "level without a hierarchy": lambda folder: anon.anonymize(TABLE, SCHEMA, require=K2, numeric="level"),
    "nested column as a quasi-identifier": lambda folder: anon.anonymize(
        damaged(town=[[WORD]] * 8), SCHEMA, require=K2
    ),
    "class_id taken": lambda folder: anon.anonymize(
        TABLE.append_column("class_id", TABLE["note"]), SCHEMA, require=K2, publish="bucketization"
    ),
    "derived name taken": lambda folder: anon.anonymize(
        TABLE.append_column("age_min", TABLE["note"]), SCHEMA, require=K2, numeric="bounds"
    ),
    "text that is not UTF-8": lambda folder: anon.anonymize(
        damaged(town=pa.array([WORD.encode() + b"\xff"] * 8).cast(pa.string(), safe=False)),
        SCHEMA,
        require=K2,
    ),
    "CSV of unlike rows": lambda folder: anon.read_table(csv(folder, f"a,b\n{WORD},{NUMBER}\n{WORD}\n")),
    "CSV with an open quote": lambda folder: anon.read_table(csv(folder, f'a,b\n"{WORD},{NUMBER}\n')),
    "CSV in another encoding": lambda folder: anon.read_table(
        csv(folder, f"a,b\n{WORD},".encode() + b"\xe9\xff\n")
    ),
    "CSV without rows": lambda folder: anon.read_table(csv(folder, "a,b\n")),
    "Parquet cut off": lambda folder: _cut(folder),
    "partitions named by values": lambda folder: _partitioned(folder),
    "column that is not there": lambda folder: anon.anonymize(TABLE, anon.Schema(["ages"]), require=K2),
    "written where nothing is": lambda folder: anon.anonymize(TABLE, SCHEMA, require=K2).write(
        folder / "no" / "out.parquet"
    ),
    "nested column in CSV": lambda folder: anon.anonymize(
        damaged(note=[[WORD]] * 8), SCHEMA, require=K2
    ).write(folder / "out.csv"),
    "cell that is none": lambda folder: reader(encode(TABLE, SCHEMA).quasi[0])(f"[{NUMBER}, {WORD}]"),
    "query on a value that is none": lambda folder: parse_queries(encode(TABLE, SCHEMA), ["town=Nowhere"]),
    "comparison with a foreign cell": lambda folder: anon.compare(
        TABLE, damaged(town=[f"{WORD}Elsewhere"] * 8), anon.Schema(["town"], ["illness"])
    ),
    "comparison with a foreign value": lambda folder: anon.compare(
        TABLE, damaged(illness=[f"{WORD}Elsewhere"] * 8), anon.Schema(["town"], ["illness"])
    ),
    "comparison with more rows": lambda folder: anon.compare(
        TABLE, pa.concat_tables([TABLE, TABLE]), anon.Schema(["town"], ["illness"])
    ),
    "half a bucketization": lambda folder: _half(folder),
    "buckets of unlike sizes": lambda folder: _unlike(folder),
    "population of other types": lambda folder: anon.anonymize(TABLE, SCHEMA, require=K2).privacy(
        population=damaged(age=ROWS["town"])
    ),
}


def _cut(folder: Path) -> Any:
    pq.write_table(TABLE, folder / "in.parquet")
    whole = (folder / "in.parquet").read_bytes()
    (folder / "in.parquet").write_bytes(whole[: len(whole) // 2])
    return anon.read_table(folder / "in.parquet")


def _partitioned(folder: Path) -> Any:
    (folder / f"town={WORD}").mkdir()
    pq.write_table(TABLE, folder / f"town={WORD}" / "in.parquet")
    return anon.read_table(folder)


def _buckets(folder: Path) -> Path:
    anon.anonymize(TABLE, SCHEMA, require=K2, publish="bucketization").write(folder / "out.parquet")
    return folder / "out.parquet"


def _half(folder: Path) -> Any:
    path = _buckets(folder)
    sensitive_path(path).unlink()
    return anon.check(path)


def _unlike(folder: Path) -> Any:
    path = _buckets(folder)
    second = pq.read_table(sensitive_path(path))
    pq.write_table(second.slice(1), sensitive_path(path))
    return anon.check(path)


@pytest.fixture(autouse=True)
def _warned() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", anon.PrivacyWarning)
        yield


@pytest.mark.parametrize("fault", FAULTS)
def test_no_error_tells_a_value(tmp_path: Path, fault: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with pytest.raises(anon.AnonError) as caught:
        FAULTS[fault](tmp_path)
    assert nothing_of(told(caught.value)), told(caught.value)
    assert nothing_of(caplog.text)


# --- what goes right


def parts(thing: Any, depth: int = 3) -> Iterator[Any]:
    """An object and what its fields and elements are, down to some depth."""
    yield thing
    if depth:
        inside: list[Any] = []
        if dataclasses.is_dataclass(thing):
            inside = [getattr(thing, each.name) for each in dataclasses.fields(thing)]
        elif isinstance(thing, tuple | list):
            inside = list(thing)
        for each in inside:
            yield from parts(each, depth - 1)


@pytest.mark.parametrize("publish", ["generalization", "bucketization"])
@pytest.mark.parametrize("method", [anon.Mondrian(), anon.KMembers(), anon.Curve(), anon.TGC()], ids=repr)
def test_no_repr_warning_or_metadata_tells_a_value(
    publish: str, method: Any, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    stages: list[Any] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        release = anon.anonymize(
            TABLE,
            SCHEMA,
            require=K2,
            method=method,
            publish=publish,
            progress=lambda *stage: stages.append(stage),
        )
    privacy, utility = release.privacy(), release.utility()
    ours = [
        each
        for thing in (release, privacy, utility, anon.read_source(TABLE), SCHEMA, anon.inspect(TABLE))
        for each in parts(thing)
        if type(each).__module__.startswith("anon")
    ]
    assert len({type(each) for each in ours}) > 8
    shown = {name: repr(privacy.worst_cells[name]) for name in privacy.worst_cells}
    for each in ours:
        text = repr(each)
        for cells in shown.values():  # the published cells of the worst classes, which are not secret
            text = text.replace(cells, "")
        assert nothing_of(text), type(each)
    said = [str(release.metadata), str(release.summary()), str(stages), str(utility.to_dict())]
    said += [str(warning.message) for warning in caught]
    assert caught
    assert stages
    assert nothing_of("\n".join(said))
    assert capfd.readouterr() == ("", "")
    assert nothing_of(caplog.text)


def test_an_inspection_tells_no_value() -> None:
    assert nothing_of(str(anon.inspect(TABLE).to_dict()))


# --- the command


@pytest.fixture
def people(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    pa_csv.write_csv(TABLE, path)
    return path


ROLES = ["--quasi", "age,town,born", "--sensitive", "illness", "--identifying", "name"]
COMMANDS = {
    "a release": ["anonymize", "people.csv", "-o", "out.parquet", *ROLES, "--k", "2"],
    "buckets": ["anonymize", "people.csv", "-o", "out.csv", *ROLES, "--k", "2", "--publish", "bucketization"],
    "inspection": ["inspect", "people.csv"],
    "infeasible": ["anonymize", "people.csv", "-o", "out.parquet", *ROLES, "--k", "20"],
    "wrong order": [
        *("anonymize", "people.csv", "-o", "out.parquet", *ROLES, "--k", "2"),
        *("--ordinal", "town=a<b"),
    ],
    "wrong kind": ["anonymize", "people.csv", "-o", "out.csv", *ROLES, "--k", "2", "--kind", "town=numeric"],
    "wrong hierarchy": [
        *("anonymize", "people.csv", "-o", "out.parquet", *ROLES, "--k", "2"),
        *("--hierarchy", "town=tree.csv"),
    ],
    "wrong name": ["check", "people.csv", "--quasi", "towns"],
    "wrong release": ["compare", "people.csv", "other.csv", "--quasi", "town", "--sensitive", "illness"],
}


@pytest.mark.parametrize("json", [[], ["--json"]], ids=["plain", "json"])
@pytest.mark.parametrize("command", COMMANDS)
def test_the_command_tells_and_leaves_no_value(
    people: Path, command: str, json: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: Any
) -> None:
    folder = people.parent
    monkeypatch.chdir(folder)
    (folder / "tree.csv").write_text("a;*\nb;*\n")
    (folder / "other.csv").write_text(f"town,illness\n{WORD}Elsewhere,{WORD}Elsewhere\n")
    before = set(os.listdir(folder))
    code = cli.main([*COMMANDS[command], *json])
    shown = capsys.readouterr()
    if code == 0 and command != "inspection":  # the cells of the worst class, as published
        text = re.sub(r"worst_cells\S* .*|greatest p_loss.*|\"worst_cells\": .*", "", shown.out)
    else:
        text = shown.out
    assert nothing_of(text), text
    assert nothing_of(shown.err), shown.err
    made = set(os.listdir(folder)) - before
    assert made == ({COMMANDS[command][3]} | {"out.sensitive.csv"} & made if code == 0 and made else set())
    for name in made:
        assert nothing_of(name)
        content = (folder / name).read_bytes().decode(errors="replace")
        assert f"{WORD}Name" not in content  # an identifier
    if command == "a release":
        assert nothing_of(str(read_metadata("out.parquet")))


def test_a_crash_tells_no_value(people: Path) -> None:
    """An error that nobody thought of: its text, which may hold a cell, is not shown."""
    program = (
        "import sys, anon, anon.command.entry\n"
        "def fails(*a, **o): raise KeyError(a[0].table['town'][0].as_py())\n"
        "anon.anonymize = fails\n"
        "sys.exit(anon.command.entry.main())\n"
    )
    words = ["anonymize", str(people), "-o", str(people.parent / "out.csv"), *ROLES, "--k", "2"]
    done = subprocess.run(
        [sys.executable, "-c", program, *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 70
    assert "KeyError" in done.stderr
    assert nothing_of(done.stdout + done.stderr)


def test_the_marks_are_found() -> None:
    """A search that finds nothing anywhere would prove nothing."""
    for value in (*ROWS["name"], *ROWS["age"], *ROWS["town"], *ROWS["born"], f"{NUMBER:,}"):
        assert not nothing_of(str(value))
