# SPDX-License-Identifier: Apache-2.0
"""The product end to end: the whole command, its memory, `check`, and what importing costs."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

import anon
from anon import datasets
from anon.command import entry as cli

QUASI = ["age", "sex", "race", "marital_status", "education", "workclass", "native_country", "hours_per_week"]


@pytest.fixture(scope="module")
def census(tmp_path_factory: pytest.TempPathFactory, n_rows: int) -> Path:
    """A census of 15 columns in a Parquet file."""
    path = tmp_path_factory.mktemp("bench") / "census.parquet"
    datasets.write_census(n_rows, 0, str(path))
    return path


def installed(beside: Path) -> dict[str, str]:
    """The environment in which modules are compiled once, as those that pip installs are."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPYCACHEPREFIX": str(beside.with_name("compiled"))}


def command(source: Path, target: Path) -> list[str]:
    quasi = ",".join(QUASI)
    return ["anonymize", str(source), "-o", str(target), "--quasi", quasi, "--k", "10", "--quiet"]


def test_command(versus: Any, census: Path, n_rows: int) -> None:
    """The whole command, Parquet to Parquet, against reading and writing the same table."""
    target, copy = census.with_name("release.parquet"), census.with_name("copy.parquet")

    def ours() -> None:
        assert cli.main(command(census, target)) == 0

    def copied() -> None:
        pq.write_table(pq.read_table(census), copy)

    versus(
        f"anon anonymize, {n_rows:,} rows x 15 columns, 8 QIs, k = 10",
        ours,
        f"pyarrow {pa.__version__} read_table + write_table",
        copied,
        bar=1.5,
    )
    assert anon.check(target).k >= 10
    assert pq.read_metadata(target).num_rows == n_rows


def test_csv_to_csv(versus: Any, census: Path, n_rows: int) -> None:
    """The whole command on CSV, its start included, against reading and writing the same file."""
    source, target, copy = (census.with_name(f"{name}.csv") for name in ("in", "out", "copy"))
    pa_csv.write_csv(pq.read_table(census), source)
    quasi = ",".join([*QUASI[:5], "native_country"])
    made = ["anonymize", str(source), "-o", str(target), "--quasi", quasi, "--neutral", "*", "--k", "10"]

    def run(*arguments: str) -> None:
        subprocess.run(
            [sys.executable, "-m", "anon", *arguments], check=True, capture_output=True, env=installed(source)
        )

    def copied() -> None:
        pa_csv.write_csv(pa_csv.read_csv(source), copy)

    against = f"pyarrow {pa.__version__} read_csv + write_csv"
    what = f"{n_rows:,} rows x 15 columns of CSV, 6 QIs"
    versus(
        f"anon anonymize --method mondrian, {what}, k = 10",
        lambda: run(*made, "--method", "mondrian", "--quiet"),
        against,
        copied,
        bar=2.5,
    )


def test_check_csv(benchmark: Any, census: Path, n_rows: int) -> None:
    """`anon check` of a CSV file, its start included; the bar is 1.5 s for a million rows."""
    source = census.with_name("in.csv")
    pa_csv.write_csv(pq.read_table(census), source)
    command = [sys.executable, "-m", "anon", "check", str(source), "--quasi", ",".join(QUASI[:5])]
    how = {"check": True, "capture_output": True, "env": installed(source)}
    benchmark.pedantic(subprocess.run, (command,), how, rounds=3, warmup_rounds=1)


def peak_and_seconds(program: str) -> tuple[int, float]:
    """Peak resident bytes of a fresh interpreter that runs `program`, and its seconds."""
    start = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-c", program])
    _, process.returncode, usage = os.wait4(process.pid, 0)
    assert process.returncode == 0
    return usage.ru_maxrss * 1024, time.perf_counter() - start


def test_command_memory(
    benchmark: Any, capsys: pytest.CaptureFixture[str], census: Path, n_rows: int
) -> None:
    """Peak memory of the command against the size of the table in Arrow, from one run each."""
    arguments = command(census, census.with_name("release.parquet"))
    program = f"from anon.command.entry import main; assert main({arguments!r}) == 0"
    peak, _ = benchmark.pedantic(peak_and_seconds, (program,), rounds=1)
    size = pq.read_table(census).nbytes
    with capsys.disabled():
        print(
            f"\npeak memory of the command, {n_rows:,} rows: {peak / 1e9:.2f} GB | "
            f"the table in Arrow: {size / 1e9:.2f} GB | ratio {peak / size:.2f} (bar <= 2.5)"
        )


def test_check(versus: Any, census: Path, n_rows: int) -> None:
    """`check` on an Arrow table of 8 QIs, 6 of plain strings, against polars' grouping of the same."""
    table = pq.read_table(census, columns=QUASI)
    frame = pl.from_arrow(table)
    schema = anon.Schema(quasi=QUASI)
    groups = frame.group_by(QUASI).len()
    measured = anon.check(table, schema)
    assert (measured.n_classes, measured.k) == (len(groups), groups["len"].min())
    versus(
        f"anon.check, {n_rows:,} rows x 8 QIs (6 of strings)",
        lambda: anon.check(table, schema),
        f"polars {pl.__version__} group_by(8).len()",
        lambda: frame.group_by(QUASI).len(),
        bar=1.5,
    )


@pytest.mark.parametrize("module", ["anoncore.partition", "anon"])
def test_import(benchmark: Any, capsys: pytest.CaptureFixture[str], module: str) -> None:
    """What importing adds to NumPy's own import; best of five fresh interpreters each."""

    def seconds(name: str) -> float:
        return min(peak_and_seconds(f"import numpy, {name}")[1] for _ in range(5))

    taken = {"sys": seconds("sys"), module: benchmark.pedantic(seconds, (module,), rounds=1)}
    with capsys.disabled():
        print(f"\nimport {module}: {(taken[module] - taken['sys']) * 1e3:.0f} ms more than numpy alone")
