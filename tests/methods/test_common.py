# SPDX-License-Identifier: Apache-2.0
"""Results that several releases share: computed once, held no longer than they are asked for."""

from __future__ import annotations

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest

from anon.methods import Common


class Result:
    pass


def test_who_asks_first_computes_and_the_last_lets_go() -> None:
    common = Common(["twice", "twice", "once"])
    first = common.get("twice", Result)
    held = weakref.ref(first)
    assert common.get("once", Result) is not first
    del first
    gc.collect()
    assert held() is not None
    second = common.get("twice", pytest.fail)
    assert second is held()
    del second
    gc.collect()
    assert held() is None
    assert isinstance(common.get("twice", Result), Result)  # asked for more often than was said
    assert isinstance(common.get("never", Result), Result)


def test_all_threads_are_given_the_same_and_the_same_error() -> None:
    together, calls = Barrier(4), []

    def compute() -> Any:
        calls.append(1)
        if len(calls) == 2:
            raise ValueError("cannot")
        return Result()

    def ask(common: Common) -> Any:
        together.wait()
        try:
            return common.get("key", compute)
        except ValueError as error:
            return str(error)

    with ThreadPoolExecutor(4) as pool:
        for _ in range(2):
            common = Common(["key"] * 4)
            found = list(pool.map(ask, [common] * 4))
            assert len(set(map(id, found))) == 1 or set(found) == {"cannot"}
    assert len(calls) == 2
