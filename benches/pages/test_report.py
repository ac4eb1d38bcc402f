# SPDX-License-Identifier: Apache-2.0
"""The owner's report of a release of Adult: what it takes beyond the release, and how large it is."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

import anon
from anon import pages

DATA = Path(os.environ.get("ANON_DATA", "../shared/data")) / "adult"
QUASI = ["age", "workclass", "education", "marital-status", "race", "sex", "native-country"]


@pytest.mark.adult
def test_report_of_adult(benchmark: Any, capsys: pytest.CaptureFixture[str]) -> None:
    schema = anon.Schema(QUASI, ["occupation"])
    release = anon.anonymize(anon.datasets.adult(DATA), schema, require=[anon.KAnonymity(10)])

    def run() -> str:
        return pages.of_release(release).html()

    start = time.process_time()
    html = run()
    seconds = time.process_time() - start
    benchmark.pedantic(run, rounds=3)
    with capsys.disabled():
        print(
            f"\nreport of {release.n_rows:,} rows: {seconds:.2f} s of processor time (bar <= 2.5), "
            f"{len(html.encode()) / 1e6:.2f} MB (bar <= 1.5)"
        )
