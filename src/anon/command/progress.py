# SPDX-License-Identifier: Apache-2.0
"""A line of progress on the terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Progress = Callable[[str, int, int], None]


@contextmanager
def progress_line(quiet: bool) -> Iterator[Progress | None]:
    """A bar for the stage that a run is in, on a terminal's stderr; None in a pipe."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress as Bars

    with Bars(console=Console(stderr=True), transient=True) as bars:
        tasks: dict[str, Any] = {}

        def update(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                for before in tasks.values():  # stages follow each other
                    bars.update(before, visible=False)
                tasks[stage] = bars.add_task(stage, total=total)
            bars.update(tasks[stage], completed=done, total=total, visible=done < total)

        yield update
