# SPDX-License-Identifier: Apache-2.0
"""One thread that answers, so that requests do not wait, and what it has to say to the pages that listen."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any

Part = dict[str, Any]
"""What the page is told: the `html` of the part with an `id`, a stage of the work, or values of controls."""

HEARTBEAT = 2.0  # seconds, within which a page that went away is noticed


class Superseded(Exception):
    """The work is not wanted any more."""


class Channel:
    """Parts for every page that listens, the latest of each again for one that comes later."""

    def __init__(self) -> None:
        self.listeners: dict[asyncio.Queue[Part], asyncio.AbstractEventLoop] = {}
        self.latest: dict[str, Part] = {}
        self.lock = threading.Lock()

    def tell(self, part: Part) -> None:
        """Send a part, from any thread."""
        with self.lock:
            if "html" in part:
                self.latest[part["id"]] = part
            listeners = list(self.listeners.items())
        for queue, loop in listeners:
            loop.call_soon_threadsafe(queue.put_nowait, part)

    async def listen(self) -> AsyncIterator[Part | None]:
        """Parts as they come; None where there was none for a while."""
        queue: asyncio.Queue[Part] = asyncio.Queue()
        with self.lock:
            for part in self.latest.values():
                queue.put_nowait(part)
            self.listeners[queue] = asyncio.get_running_loop()
        try:
            while True:
                try:
                    yield await asyncio.wait_for(queue.get(), HEARTBEAT)
                except TimeoutError:
                    yield None
        finally:
            with self.lock:
                del self.listeners[queue]


Task = Callable[[Callable[[str, int, int], None]], None]


class Worker:
    """Tasks one after the other; one that `supersedes` others ends what runs, and what waits as it begins."""

    def __init__(self) -> None:
        self.waiting: deque[tuple[int, Task]] = deque()
        self.changed = threading.Condition()
        self.number = 0  # of the last task that superseded others
        self.busy = self.stopped = False
        self.thread = threading.Thread(target=self._run, name="anon explore", daemon=True)
        self.thread.start()

    def put(self, task: Task, supersedes: bool = False) -> None:
        """Have a task done."""
        with self.changed:
            if supersedes:
                self.number += 1
            self.waiting.append((self.number, task))
            self.changed.notify()

    def stop(self) -> None:
        """End what runs, and the thread, within some seconds."""
        with self.changed:
            self.stopped = True
            self.waiting.clear()
            self.number += 1
            self.changed.notify()
        self.thread.join(5)

    def _run(self) -> None:
        while True:
            with self.changed:
                self.busy = False
                self.changed.wait_for(lambda: self.waiting or self.stopped)
                if self.stopped:
                    return
                (number, task), self.busy = self.waiting.popleft(), True

            def progress(stage: str, done: int, total: int, number: int = number) -> None:
                if number != self.number:
                    raise Superseded

            with suppress(Superseded):
                task(progress)
