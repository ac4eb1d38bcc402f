# SPDX-License-Identifier: Apache-2.0
"""Spark with two executors of one core: seconds per row against one machine, and the bytes it shuffles."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import anon
from anon.datasets.people import census_schema, write_census
from anon.engines.spark.anonymize import anonymize_spark

REQUIRE = [anon.KAnonymity(10), anon.LDiversity(2, "distinct", sensitive="occupation")]


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from pyspark.sql import SparkSession

    folder = tmp_path_factory.mktemp("spark")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local-cluster[2,1,4096]")
    for key, value in {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "2g",
        "spark.executor.memory": "4g",
        "spark.local.dir": str(folder),
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": folder.as_uri(),
        "spark.eventLog.rolling.enabled": "false",
        "spark.eventLog.compress": "false",
    }.items():
        builder = builder.config(key, value)
    started = builder.getOrCreate()
    started.conf.set("anon.events", str(folder))
    yield started
    started.stop()


def shuffled(folder: Path) -> dict[int, int]:
    """Bytes that each stage has written to the shuffle so far."""
    stages: dict[int, int] = {}
    [log] = [path for path in folder.iterdir() if path.is_file() and path.name.startswith("app-")]
    for line in log.read_text().splitlines():
        event = json.loads(line)
        if event["Event"] == "SparkListenerTaskEnd":
            written = event["Task Metrics"]["Shuffle Write Metrics"]["Shuffle Bytes Written"]
            stages[event["Stage ID"]] = stages.get(event["Stage ID"], 0) + written
    return stages


def test_anonymize_spark(spark: Any, n_rows: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Slope from a tenth of the rows to all of them; the bars are 8 x the local cost and 1.5 x the bytes."""
    schema = census_schema()
    folder = Path(spark.conf.get("anon.events"))
    seconds, stages = {}, {}
    for n in (n_rows // 10, n_rows):
        path = tmp_path / f"{n}.parquet"
        write_census(n, 0, path)
        before = sum(shuffled(folder).values())
        start = time.perf_counter()
        spans: list[tuple[str, float]] = []
        release = anonymize_spark(
            spark.read.parquet(str(path)),
            schema,
            require=REQUIRE,
            node_rows=max(n_rows // 10, 1),
            progress=lambda stage, done, total, spans=spans: spans.append((stage, time.perf_counter())),
        )
        release.write.parquet(str(tmp_path / f"{n}.out"))
        seconds[n] = time.perf_counter() - start
        release.unpersist()
        time.sleep(2)  # the log is written by another thread
        stages[n] = sum(shuffled(folder).values()) - before, max(shuffled(folder).values())
        ends = [at for _, at in spans[1:]] + [start + seconds[n]]
        spans_in_words = " ".join(
            f"{stage} {end - at:.1f}" for (stage, at), end in zip(spans, ends, strict=True)
        )
        with capsys.disabled():
            print(f"\nSpark, {n} rows: {seconds[n]:.1f} s ({spans_in_words})")
    start = time.perf_counter()
    anon.anonymize(path, schema, require=REQUIRE).write(tmp_path / "local.parquet")
    local = time.perf_counter() - start
    slope = (seconds[n_rows] - seconds[n_rows // 10]) / (n_rows - n_rows // 10)
    arrow = pq.read_table(path).drop_columns(list(schema.identifying)).nbytes
    total, rows = stages[n_rows]
    with capsys.disabled():
        print(
            f"per row {slope * 1e6:.2f} us, local {local / n_rows * 1e6:.2f} us: "
            f"{slope / (local / n_rows):.1f} x (bar 8); rows shuffled {rows / arrow:.2f} x their Arrow size, "
            f"all shuffles {total / arrow:.2f} x (bar 1.5)"
        )
