# SPDX-License-Identifier: Apache-2.0
"""Spark with executors of their own: they are killed in mid-job, and the release is still the right one."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from test_spark import SCHEMA, rows, session, table

import anon
from anon.engines.spark.anonymize import anonymize_spark

pytestmark = [
    pytest.mark.java,
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Two executors, processes of 1 core and 1 GiB."""
    started = session(
        "local-cluster[2,1,1024]", tmp_path_factory.mktemp("cluster"), **{"spark.executor.memory": "1g"}
    )
    yield started
    started.stop()


def executors(app: str) -> list[int]:
    """Process ids of an application's executors."""
    found = []
    for each in Path("/proc").iterdir():
        if each.name.isdigit():
            try:
                words = (each / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if app.encode() in words and any(b"CoarseGrainedExecutorBackend" in word for word in words):
                found.append(int(each.name))
    return found


@pytest.mark.parametrize("relaxed", [False, True])
def test_executors_killed_in_mid_job(cluster: Any, relaxed: bool) -> None:
    """One dies while the tree is built from cached codes, one while the nodes are finished."""
    context = cluster.sparkContext
    small = table(3000, 11)
    require = [anon.KAnonymity(5), anon.LDiversity(2, "distinct")]
    method = anon.Mondrian(relaxed=relaxed)
    shown = [one.name for one in (*SCHEMA.quasi, *SCHEMA.sensitive)] + ["weight"] * (not relaxed)
    expected = rows(anon.anonymize(small, SCHEMA, require=require, method=method).table.select(shown))
    killed: list[tuple[int, int]] = []
    killers: dict[str, Thread] = {}

    def kill() -> None:
        while not (active := context.statusTracker().getActiveStageIds()):
            time.sleep(0.02)
        time.sleep(0.3)
        victim = executors(context.applicationId)[0]
        os.kill(victim, signal.SIGKILL)
        killed.append((victim, active[0]))

    def progress(stage: str, done: int, total: int) -> None:
        if stage in ("tree", "check") and (stage == "check" or done) and stage not in killers:
            killers[stage] = Thread(target=kill)
            killers[stage].start()

    release = anonymize_spark(
        cluster.createDataFrame(small).repartition(6, "weight"),
        SCHEMA,
        require=require,
        method=method,
        node_rows=300,
        progress=progress,
    )
    for killer in killers.values():
        killer.join()
    assert len(killed) == 2
    assert not set(executors(context.applicationId)) & {victim for victim, _ in killed}
    assert rows(release.select(*shown).toArrow()) == expected
    release.unpersist()
