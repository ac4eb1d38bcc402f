# SPDX-License-Identifier: Apache-2.0
"""How far a file has been read, told while it is."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any, TypeVar

import pyarrow as pa

from anon.tables.formats import COMPRESSED

T = TypeVar("T")
Progress = Callable[[str, int, int], None]
EVERY = 0.1  # seconds


def read_watched(path: Path, read: Callable[[Any], T], progress: Progress | None, done: int, total: int) -> T:
    """`read(file)`; meanwhile `progress` hears, from this thread, how many bytes are read, past `done`.

    A compressed file is not watched: where it is in the text is not known.
    """
    if progress is None or path.suffix.lower() in COMPRESSED:
        return read(os.fspath(path))
    result: list[T] = []
    failure: list[BaseException] = []
    with pa.OSFile(os.fspath(path)) as file:

        def work() -> None:
            try:
                result.append(read(file))
            except BaseException as error:
                failure.append(error)

        reader, descriptor = Thread(target=work, daemon=True), file.fileno()
        reader.start()
        while reader.is_alive():
            reader.join(EVERY)
            progress("read", min(done + os.lseek(descriptor, 0, os.SEEK_CUR), total), total)
    if failure:
        raise failure[0]
    return result[0]
