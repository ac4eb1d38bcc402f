# SPDX-License-Identifier: Apache-2.0
"""What every bench shares: the number of rows, and a comparison with a yardstick in the same run."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--rows", type=int, default=1_000_000, help="rows of the big tables (the published figures: 10000000)"
    )
    parser.addoption("--rounds", type=int, default=3, help="times at most that a bench is run")


os.environ.setdefault("ANON_DATA", str(Path(__file__).parents[2] / "shared" / "data"))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """A bench of the Adult data says so when the files are absent."""
    if item.get_closest_marker("adult") and not (Path(os.environ["ANON_DATA"]) / "adult").exists():
        pytest.skip("the Adult files are absent: set ANON_DATA to the folder that holds adult/adult.data")


@pytest.fixture(scope="session")
def n_rows(request: pytest.FixtureRequest) -> int:
    """Rows of the big tables of this run."""
    return int(request.config.getoption("--rows"))


@pytest.fixture
def versus(
    benchmark: Any, capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest
) -> Callable[..., float]:
    """Time `ours` against `yardstick`, interleaved in one process, best of three; print and return the ratio.

    `what` and `against` say exactly what is run (dtype, settings, versions); `bar` is the greatest
    ratio ours/yardstick that the project promises. Printed, never asserted: machines are noisy.
    """

    def compare(
        what: str,
        ours: Callable[[], Any],
        against: str,
        yardstick: Callable[[], Any],
        bar: float | None = None,
        rounds: int = 3,
    ) -> float:
        theirs: list[float] = []
        own: list[float] = []

        def run_yardstick() -> None:
            start = time.perf_counter()
            yardstick()
            theirs.append(time.perf_counter() - start)

        def run_ours() -> None:
            start = time.perf_counter()
            ours()
            own.append(time.perf_counter() - start)

        most = request.config.getoption("--rounds")
        benchmark.pedantic(run_ours, setup=run_yardstick, rounds=min(rounds, most))
        ratio = min(own) / min(theirs)
        benchmark.extra_info |= {"what": what, "against": against, "ratio": ratio, "bar": bar}
        promise = "" if bar is None else f" (bar <= {bar:.3g})"
        with capsys.disabled():
            print(
                f"\n{what}: {min(own):.3f} s | {against}: {min(theirs):.3f} s | "
                f"ratio {ratio:.3f}{promise} | Python {platform.python_version()}"
            )
        return ratio

    return compare
