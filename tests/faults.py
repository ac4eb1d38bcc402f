# SPDX-License-Identifier: Apache-2.0
"""A run that is killed leaves its output whole or absent.

    python tests/faults.py --kills 50 --rows 10000000 --seed 0

A census is anonymized again and again, in memory, into buckets and streamed, and killed (SIGKILL) at
random moments, half of them anywhere in the run and half while it writes. Kill i is drawn from
seed + i. After each the output must be what was there before, nothing, or a whole release that holds
its k.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

import anon
from anon import datasets
from anon.release.metadata import sensitive_path

K = 10
ROLES = ["--quasi", "age,sex,education,postcode", "--sensitive", "occupation", "--k", str(K)]


def command(source: Path, output: Path, *more: str) -> list[str]:
    """The command that anonymizes a census."""
    words = [sys.executable, "-m", "anon", "anonymize", str(source), "-o", str(output)]
    return [*words, *ROLES, "--quiet", *more]


def fingerprint(path: Path) -> str | None:
    """A file's contents in short; None where there is none."""
    if not path.exists():
        return None
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def state(output: Path, before: tuple[str | None, ...], n_rows: int) -> str:
    """What a killed run left: "old", "absent" or "whole"; AssertionError where it is anything else."""
    files = [output, sensitive_path(output)]
    now = tuple(map(fingerprint, files))
    if now[0] is None:
        return "absent"
    if now == before:
        return "old"
    found = anon.check(output)
    assert found.k >= K, "a release that does not hold its k"
    assert found.n_rows == n_rows, "a release without all its rows"
    return "whole"


def left_behind(folder: Path, output: Path) -> None:
    """Fails where a killed run left more than hidden files, or an unfinished one that others can read."""
    for path in folder.iterdir():
        if path in (output, sensitive_path(output)) or path.suffix == ".source":
            continue
        assert path.name.startswith(f".{output.stem}"), f"{path.name} is no hidden file of the output"
        if path.suffix == ".tmp" and path.stat().st_mode & 0o077:
            assert pq.read_metadata(path).num_rows, f"{path.name} is unfinished and others can read it"


@dataclass(frozen=True)
class Whole:
    """A run that was let be: its files, and the seconds before it wrote and in all."""

    files: tuple[Path, ...]
    writes: float
    took: float


def let_be(source: Path, folder: Path, more: list[str]) -> Whole:
    """Run to the end, and move the output away."""
    output = folder / "out.parquet"
    start = time.monotonic()
    running = subprocess.Popen(command(source, output, *more))
    writes = 0.0
    while running.poll() is None:
        if not writes and any(path.suffix == ".tmp" for path in folder.iterdir()):
            writes = time.monotonic() - start
        time.sleep(0.002)
    took = time.monotonic() - start
    assert running.returncode == 0
    aside = folder / f"{'-'.join(['whole', *more])}.source"
    aside.mkdir()
    files = [path for path in (output, sensitive_path(output)) if path.exists()]
    return Whole(tuple(path.rename(aside / path.name) for path in files), writes, took)


def kill(source: Path, folder: Path, n_rows: int, seed: int, whole: Whole, more: list[str]) -> str:
    """One run, killed; what it left."""
    rng = random.Random(seed)
    output = folder / "out.parquet"
    if rng.random() < 0.5:
        for path in whole.files:
            shutil.copy(path, folder)
    before = fingerprint(output), fingerprint(sensitive_path(output))
    start = 0 if rng.random() < 0.5 else whole.writes
    running = subprocess.Popen(command(source, output, *more))
    time.sleep(rng.uniform(start, whole.took))
    running.send_signal(signal.SIGKILL)
    running.wait()
    found = state(output, before, n_rows)
    left_behind(folder, output)
    for path in folder.iterdir():
        if path.suffix != ".source":
            path.unlink()
    return found


def kills(number: int, n_rows: int, seed: int, folder: Path) -> Counter[str]:
    """How often a killed run left the old files, none, or whole new ones."""
    source = folder / "census.source"
    datasets.write_census(n_rows, 0, str(folder / "census.parquet"))
    os.rename(folder / "census.parquet", source)
    kinds: list[list[str]] = [[], ["--publish", "bucketization"], ["--engine", "stream"]]
    wholes = [let_be(source, folder, more) for more in kinds]
    drawn = [(seed + i, i % len(kinds)) for i in range(number)]
    return Counter(kill(source, folder, n_rows, one, wholes[kind], kinds[kind]) for one, kind in drawn)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        tally = kills(asked.kills, asked.rows, asked.seed, Path(folder))
    ends = ", ".join(f"{word} {count}" for word, count in sorted(tally.items()))
    print(
        f"faults: {asked.kills} kills of a run on {asked.rows} rows from seed {asked.seed}, "
        f"0 partial, {time.monotonic() - start:.0f} s ({ends})"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
