# SPDX-License-Identifier: Apache-2.0
"""Rows that stay in their files against the table in memory: time, memory, and how both grow."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from anon import datasets

QUASI = "age,sex,race,marital_status,education,workclass,native_country,hours_per_week"


@pytest.fixture(scope="module")
def census(tmp_path_factory: pytest.TempPathFactory, n_rows: int) -> Path:
    """A census of 15 columns in a Parquet file."""
    path = tmp_path_factory.mktemp("bench") / "census.parquet"
    datasets.write_census(n_rows, 0, str(path))
    return path


def run(source: Path, engine: str) -> tuple[float, int]:
    """Seconds and peak bytes of the command in a fresh interpreter."""
    target = source.with_name("release.parquet")
    arguments = ["anonymize", str(source), "-o", str(target), "--quasi", QUASI, "--k", "10", "--quiet"]
    program = f"""
from anon.command.entry import main
assert main({[*arguments, "--engine", engine]!r}) == 0
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""
    start = time.perf_counter()
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return time.perf_counter() - start, int(ended.stdout) * 1024


def test_stream(versus: Any, census: Path, n_rows: int) -> None:
    """The whole command, streaming against in memory."""
    versus(
        f"--engine stream, {n_rows:,} rows x 15 columns, 8 QIs, k = 10",
        lambda: run(census, "stream"),
        "--engine local",
        lambda: run(census, "local"),
        bar=3.0,
        rounds=1,
    )


def test_stream_memory(benchmark: Any, capsys: pytest.CaptureFixture[str], census: Path, n_rows: int) -> None:
    """Peak memory of both engines, one run each."""
    _, local = run(census, "local")
    _, streamed = benchmark.pedantic(run, (census, "stream"), rounds=1)
    with capsys.disabled():
        print(
            f"\npeak memory, {n_rows:,} rows: {streamed / 2**30:.2f} GiB streamed, "
            f"{local / 2**30:.2f} GiB in memory | ratio {streamed / local:.2f}"
        )


@pytest.mark.slow
def test_ten_times_the_rows(benchmark: Any, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """100 million rows against 10 million; 100 million take at most 6 GiB."""
    taken = []
    for n in (10_000_000, 100_000_000):
        source = tmp_path / "census.parquet"
        datasets.write_census(n, 0, str(source))
        taken.append(
            benchmark.pedantic(run, (source, "stream"), rounds=1) if taken else run(source, "stream")
        )
    (seconds, _), (longer, peak) = taken
    with capsys.disabled():
        print(
            f"\n100,000,000 rows: {longer:.0f} s, {longer / seconds:.1f} x 10,000,000 rows (bar <= 12), "
            f"peak {peak / 2**30:.2f} GiB (bar <= 6)"
        )
