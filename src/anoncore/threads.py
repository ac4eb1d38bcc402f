# SPDX-License-Identifier: Apache-2.0
"""The one driver of threads: Python threads over calls that release the GIL."""

from __future__ import annotations

import concurrent.futures
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

T = TypeVar("T")
Item = tuple[Any, ...]  # the arguments of one call


def in_threads(
    work: Callable[..., T],
    items: Sequence[Item],
    n_threads: int,
    progress: Callable[[int], object] | None = None,
) -> list[T]:
    """`[work(*item) for item in items]` by at most `n_threads` threads, the caller's own where one is enough.

    `progress(done)` hears from the calling thread how many results there are.
    """
    results: list[T] = []

    def collect(ended: Iterable[T]) -> list[T]:
        for result in ended:
            results.append(result)
            if progress is not None:
                progress(len(results))
        return results

    n_threads = min(n_threads, len(items))
    if n_threads < 2:
        return collect(work(*item) for item in items)
    with concurrent.futures.ThreadPoolExecutor(n_threads) as pool:
        return collect(pool.map(lambda item: work(*item), items))


def until_done(
    work: Callable[..., tuple[Sequence[Item], int]],
    items: Sequence[Item],
    n_threads: int,
    progress: Callable[[int], object] | None = None,
    stop: Callable[[], object] | None = None,
) -> None:
    """Call `work(*item)` for these items, and for all those that calls return with the amount that they did.

    By `n_threads` threads, while this one waits, or by this one where one is enough and nobody listens;
    `progress(done)` hears from it the amount done so far. However it ends, no thread is left. Where that is
    by an error or an interruption, `stop()` is called before the calls that still run are waited for, so
    that they may end sooner.
    """
    done = 0
    if n_threads < 2 and progress is None:
        left = list(items)
        while left:
            left += work(*left.pop())[0]
        return
    pool = concurrent.futures.ThreadPoolExecutor(n_threads)
    try:
        pending = {pool.submit(work, *item) for item in items}
        while pending:
            finished, pending = concurrent.futures.wait(
                pending, return_when=concurrent.futures.FIRST_COMPLETED
            )
            for call in finished:
                more, amount = call.result()
                done += amount
                pending |= {pool.submit(work, *item) for item in more}
            if progress is not None:
                progress(done)
    except BaseException:
        if stop is not None:
            stop()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
