# SPDX-License-Identifier: Apache-2.0
"""Threads: how many, and work divided among them."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from anon.errors import Parameter, UsageError
from anoncore import threads

T = TypeVar("T")
MOST_THREADS = 1024


def available_threads(asked: int | None = None) -> int:
    """The number of threads asked for; if None, of processors this process may run on."""
    if asked is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        n_threads = 0 if isinstance(asked, bool | np.bool_) else operator.index(asked)
    except TypeError:
        n_threads = 0
    if not 1 <= n_threads <= MOST_THREADS:
        raise UsageError(
            Parameter("n_threads", "--threads"),
            f" must be None or a whole number from 1 to {MOST_THREADS}",
        )
    return n_threads


def in_threads(
    n_threads: int,
    work: Callable[..., T],
    *items: Sequence[Any],
    progress: Callable[[int], object] | None = None,
) -> list[T]:
    """`list(map(work, *items))` by as many threads; by the caller's own where one is enough.

    `progress(done)` hears from the calling thread how many are done.
    """
    return threads.in_threads(work, list(zip(*items, strict=False)), n_threads, progress)
