# SPDX-License-Identifier: Apache-2.0
"""The driver of threads: calls that still run are told to stop before they are waited for."""

from __future__ import annotations

import threading

import pytest

from anoncore.threads import until_done


def test_calls_that_run_are_told_to_stop_before_they_are_waited_for() -> None:
    began, told, ended = threading.Event(), threading.Event(), []

    def work(name: str) -> tuple[tuple[()], int]:
        if name == "long":
            began.set()
            ended.append(told.wait(timeout=60))
        else:
            began.wait(timeout=60)
        return (), 1

    def interrupt(done: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        until_done(work, [("short",), ("long",)], 2, interrupt, told.set)
    assert ended == [True]


def test_what_ends_by_itself_is_not_told_to_stop() -> None:
    steps: list[int] = []
    until_done(lambda n: ([(n - 1,)] if n else [], 1), [(3,)], 2, steps.append, pytest.fail)
    assert steps == [1, 2, 3, 4]
