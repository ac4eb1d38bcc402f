# SPDX-License-Identifier: Apache-2.0
"""How far a file has been read, told while it is."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any, TypeVar

import pyarrow as pa

from anon.tables.formats import COMPRESSED

T = TypeVar("T")
Progress = Callable[[str, int, int], None]
EVERY = 0.1  # seconds


def read_watched(path: Path, read: Callable[[Any], T], progress: Progress | None, done: int, total: int) -> T:
    """`read(file)`; this thread tells `progress` meanwhile how many bytes are read, after `done`."""
    if progress is None:
        return read(os.fspath(path))
    result: list[T] = []
    failure: list[BaseException] = []
    with watched(path) as (file, place):

        def work() -> None:
            try:
                result.append(read(file))
            except BaseException as error:
                failure.append(error)

        reader = Thread(target=work, daemon=True)
        reader.start()
        while reader.is_alive():
            reader.join(EVERY)
            progress("read", min(done + place(), total), total)
    if failure:
        raise failure[0]
    return result[0]


@contextmanager
def watched(path: Path) -> Iterator[tuple[pa.NativeFile, Callable[[], int]]]:
    """What a file holds, not compressed, as Arrow reads it by its name; how many of its bytes are read."""
    codec = COMPRESSED.get(path.suffix.lower())
    with pa.OSFile(os.fspath(path)) as file:
        descriptor = os.dup(file.fileno())  # Arrow may close its own once all is read
        try:
            plain = file if codec is None else pa.CompressedInputStream(file, codec)
            yield plain, lambda: os.lseek(descriptor, 0, os.SEEK_CUR)
        finally:
            os.close(descriptor)
