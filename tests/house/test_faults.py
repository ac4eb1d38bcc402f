# SPDX-License-Identifier: Apache-2.0
"""What may go wrong around a run: it ends with a message, and its output is whole or absent."""

from __future__ import annotations

import ctypes
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import anon
import anon.tables.read
import faults
from anon import datasets
from anon.release.columns import NOTES_ON_BUCKETS
from anon.release.metadata import read_metadata, sensitive_path

N_ROWS = 20_000
PAIR = ["--publish", "bucketization"]


@pytest.fixture(scope="module")
def census(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A census in a file."""
    path = tmp_path_factory.mktemp("census") / "census.parquet"
    datasets.write_census(N_ROWS, 0, str(path))
    return path


def run(source: Path, output: Path, *more: str, **options: Any) -> subprocess.CompletedProcess[str]:
    words = faults.command(source, output, *more)
    return subprocess.run(words, capture_output=True, text=True, check=False, **options)


def is_told(done: subprocess.CompletedProcess[str], message: str) -> bool:
    """One line of error, and the exit code of trouble with data."""
    lines = done.stderr.splitlines()
    return done.returncode == 2 and len(lines) == 1 and lines[0].startswith("error: ") and message in lines[0]


# --- kills


def test_a_killed_run_leaves_its_output_whole_or_absent(tmp_path: Path) -> None:
    assert sum(faults.kills(6, 200_000, 0, tmp_path).values()) == 6


class Killed(BaseException):
    """The process is no more: nothing that it calls does anything."""


def dead_after(steps: int, monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Let a process die at a number of steps among those that change what a folder lists."""
    taken = 0

    def step(call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any, **options: Any) -> Any:
            nonlocal taken
            taken += 1
            if taken > steps:
                raise Killed
            return call(*arguments, **options)

        return counted

    for name in ("link", "unlink", "replace"):
        monkeypatch.setattr(os, name, step(getattr(os, name)))
    return lambda: taken


def buckets(classes: int = 2) -> Any:
    """A bucketization of twelve rows."""
    table = {"age": list(range(12)), "illness": list("abc" * 4)}
    schema = anon.Schema(["age"], ["illness"])
    return anon.anonymize(table, schema, require=[anon.KAnonymity(12 // classes)], publish="bucketization")


@pytest.mark.parametrize("suffix", ["parquet", "feather", "csv"])
@pytest.mark.parametrize("old", [False, True])
def test_a_kill_between_two_files_mixes_no_pair(tmp_path: Path, suffix: str, old: bool) -> None:
    path = tmp_path / f"out.{suffix}"
    seen, steps = set(), 0
    while True:
        for each in tmp_path.iterdir():
            each.unlink()
        if old:
            buckets().write(path)
        before = faults.fingerprint(path), faults.fingerprint(sensitive_path(path))
        with pytest.MonkeyPatch.context() as monkeypatch:
            taken = dead_after(steps, monkeypatch)
            try:
                buckets(4).write(path)
                done = True
            except Killed:
                done = False
        now = faults.fingerprint(path), faults.fingerprint(sensitive_path(path))
        if now[0] is None:
            seen.add("absent")
        elif now == before:
            seen.add("old")
        else:
            assert now[1] not in (None, before[1]), f"mixed files after {steps} steps"
            seen.add("new")
        if done:
            break
        steps += 1
    assert steps == taken() >= (5 if old else 2)
    assert seen == {"absent", "new", *["old"] * old}


def test_halves_of_two_runs_are_refused(tmp_path: Path) -> None:
    table = {"age": list(range(12)), "illness": list("abc" * 4)}
    for name in ("one", "two"):
        buckets().write(tmp_path / f"{name}.parquet")
        assert anon.check(tmp_path / f"{name}.parquet").k == 6
    one, two = (read_metadata(tmp_path / f"{name}.parquet") for name in ("one", "two"))
    assert one is not None
    assert two is not None
    assert one.pop("pair") != two.pop("pair")
    assert one == two
    shutil.copy(tmp_path / "two.sensitive.parquet", tmp_path / "one.sensitive.parquet")
    with pytest.raises(anon.DataError, match="written by different runs"):
        anon.check(tmp_path / "one.parquet")
    with pytest.raises(anon.DataError, match="written by different runs"):
        anon.compare(table, tmp_path / "one.parquet")
    with pytest.raises(anon.DataError, match="written by different runs"):
        anon.check(tmp_path / "two.parquet", sensitive_table=buckets_of(tmp_path))


def buckets_of(folder: Path) -> Path:
    """The sensitive table of a third run."""
    buckets().write(folder / "three.feather")
    return folder / "three.sensitive.feather"


# --- no room, no right, no input, no memory


def crowded(kilobytes: int, words: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """A command with a small file system on a folder, which lists the folder at its end.

    Where no file system may be mounted, the system refuses bytes beyond the first of every file.
    """
    script = (
        f'mount -t tmpfs -o size={kilobytes}k tmpfs "{folder}" || exit 99; "$@"; code=$?; '
        f'ls -A "{folder}"; exit $code'
    )
    for how in ("-m", "-rm"):
        done = subprocess.run(
            ["unshare", how, "sh", "-c", script, "sh", *words], capture_output=True, text=True, check=False
        )
        if done.returncode not in (1, 99):
            return done

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (kilobytes << 10, resource.RLIM_INFINITY))

    done = subprocess.run(words, capture_output=True, text=True, check=False, preexec_fn=limit)
    done.stdout += "\n".join(os.listdir(folder))
    return done


@pytest.mark.parametrize(
    ("suffix", "more"), [("parquet", []), ("feather", []), ("csv", []), ("parquet", PAIR)]
)
def test_no_room(census: Path, tmp_path: Path, suffix: str, more: list[str]) -> None:
    done = crowded(64, faults.command(census, tmp_path / f"out.{suffix}", *more), tmp_path)
    assert is_told(done, "nothing was written"), done
    assert "No space left on device" in done.stderr or "File too large" in done.stderr
    assert done.stdout == ""


def without_rights() -> None:
    """Root, too, obeys the modes of files."""
    if os.geteuid() == 0:
        for right in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
            assert ctypes.CDLL(None).prctl(24, right, 0, 0, 0) == 0  # PR_CAPBSET_DROP


@pytest.mark.parametrize(("more", "old"), [([], False), (PAIR, True)])
def test_a_folder_that_may_only_be_read(census: Path, tmp_path: Path, more: list[str], old: bool) -> None:
    output = tmp_path / "out.parquet"
    if old:
        output.write_bytes(b"old")
    tmp_path.chmod(0o555)
    try:
        done = run(census, output, *more, preexec_fn=without_rights)
    finally:
        tmp_path.chmod(0o755)
    assert is_told(done, "Permission denied; nothing was written"), done
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"old"] * old


def test_an_input_that_may_not_be_read(census: Path, tmp_path: Path) -> None:
    source = tmp_path / "in.parquet"
    shutil.copy(census, source)
    source.chmod(0)
    done = run(source, tmp_path / "out.parquet", preexec_fn=without_rights)
    assert is_told(done, "Permission denied"), done
    assert os.listdir(tmp_path) == ["in.parquet"]


@pytest.mark.parametrize("step", ["common_format", "_read_parquet", "check_data", "_checked"])
def test_an_input_that_vanishes(
    census: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """From the moment that its rows are read a file is needed no more; before, its loss is told."""
    source = tmp_path / "in.parquet"
    shutil.copy(census, source)
    call = getattr(anon.tables.read, step)

    def late(*arguments: Any, **options: Any) -> Any:
        source.unlink(missing_ok=True)
        return call(*arguments, **options)

    monkeypatch.setattr(anon.tables.read, step, late)
    if step in ("common_format", "_read_parquet"):
        with pytest.raises(anon.DataError, match=r"in\.parquet"):
            anon.read_table(source)
    else:
        assert anon.read_table(source).num_rows == N_ROWS


STARVED = """
import contextlib, resource, sys
import anon.command.entry, anon.command.releases, anon.public
import anon.datasets, anon.methods  # what is needed is loaded before memory ends

@contextlib.contextmanager
def progress(quiet):
    limited = []
    def tell(stage, done, total):
        if stage == {stage!r} and not limited:
            limited.append(stage)
            pages = int(open("/proc/self/statm").read().split()[0])
            resource.setrlimit(resource.RLIMIT_AS, (pages * 4096 + {more}, resource.RLIM_INFINITY))
    yield tell

anon.command.releases.progress_line = progress
sys.exit(anon.command.entry.main())
"""


@pytest.mark.parametrize("stage", ["encode", "partition"])
def test_no_memory(tmp_path: Path, stage: str) -> None:
    """The system grants no more memory from some stage on.

    Not while the writer's thread starts: CPython waits for ever for a thread that had no memory to begin.
    """
    source, output = tmp_path / "in.parquet", tmp_path / "out.parquet"
    datasets.write_census(300_000, 0, str(source))
    words = faults.command(source, output, "--threads", "1")[3:]
    program = STARVED.format(stage=stage, more=4 << 20)
    done = subprocess.run(
        [sys.executable, "-c", program, *words], capture_output=True, text=True, check=False, timeout=600
    )
    assert is_told(done, "not enough memory"), done
    assert os.listdir(tmp_path) == ["in.parquet"]


# --- several runs in one folder


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as pool:
        yield pool


@pytest.mark.parametrize("more", [[], PAIR])
def test_runs_in_one_folder_do_not_collide(
    census: Path, tmp_path: Path, pool: ThreadPoolExecutor, more: list[str]
) -> None:
    names = ["same.parquet"] * 3 + ["other.parquet"]
    for done in pool.map(lambda name: run(census, tmp_path / name, *more), names):
        told = done.stderr.splitlines()
        assert done.returncode == 0
        assert told[:-1] == ([f"note: {note}" for note in NOTES_ON_BUCKETS] if more else [])
        assert told[-1].startswith("note: 10 columns have no role and are not published: ")
    paths = {tmp_path / name for name in names}
    assert set(tmp_path.iterdir()) == paths | {sensitive_path(path) for path in paths if more}
    for path in paths:
        assert anon.check(path).n_rows == N_ROWS


def test_writers_of_one_pair_take_turns(tmp_path: Path) -> None:
    """Six threads write pairs of two kinds to one name; whoever is last, both halves are theirs."""
    path = tmp_path / "out.csv"
    releases = [buckets(classes) for classes in (2, 4)] * 3
    with ThreadPoolExecutor(6) as pool:
        for _ in range(5):
            list(pool.map(lambda release: release.write(path), releases))
            ids = pa.csv.read_csv(path)["class_id"].unique()
            listed = pa.csv.read_csv(sensitive_path(path))["class_id"].unique()
            assert set(ids.to_pylist()) == set(listed.to_pylist())
            assert len(os.listdir(tmp_path)) == 2
