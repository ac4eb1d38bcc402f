# SPDX-License-Identifier: Apache-2.0
"""Results that several releases of one table have in common."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from concurrent.futures import Future
from dataclasses import dataclass
from threading import Lock
from typing import Any, TypeVar

Result = TypeVar("Result")


class Common:
    """Results by key: who asks first computes one, all others are given the same.

    `asked` lists every key as often as it will be asked for. A result is held from the first time to the
    last, and not at all where there is only one.
    """

    def __init__(self, asked: Iterable[Hashable]) -> None:
        self._left: dict[Hashable, int] = {}
        for key in asked:
            self._left[key] = self._left.get(key, 0) + 1
        self._held: dict[Hashable, Future[Any]] = {}
        self._lock = Lock()

    def get(self, key: Hashable, compute: Callable[[], Result]) -> Result:
        """What `compute` returns, or did when it was called for this key; whoever asks meanwhile waits."""
        with self._lock:
            left = self._left[key] = self._left.get(key, 1) - 1
            held = self._held.pop(key, None)
            future: Future[Result] = held or Future()
            if left > 0:
                self._held[key] = future
        if held is None:
            try:
                future.set_result(compute())
            except BaseException as error:
                future.set_exception(error)
        return future.result()


@dataclass(frozen=True)
class Shared:
    """Where a task keeps what others on the same table need too: `start`, Mondrian's classes, and the rows in
    some order. `rules` names the rows with their rules, `table` the rows alone, which are not shared where
    they are ordered at random (None).
    """

    common: Common
    rules: Hashable
    table: Hashable | None

    @property
    def start(self) -> Hashable:
        return "start", self.rules

    def order(self, what: Hashable) -> Hashable:
        return "order", what, self.table
