# SPDX-License-Identifier: Apache-2.0
"""Hierarchy files: any bytes as the hierarchy of a nominal, a numeric and a date attribute."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path

import pyarrow as pa

import anon
from anon.encoding.table import encode
from anon.errors import AnonError

FOLDER = Path(tempfile.mkdtemp(prefix="fuzz-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None))
TABLES = [
    (anon.nominal, pa.table({"q": ["a", "b", "c", None]})),
    (anon.numeric, pa.table({"q": [1, 2, 30]})),
    (anon.numeric, pa.table({"q": [0.5, 1e300]})),
    (anon.numeric, pa.table({"q": pa.array([0, 20000], pa.date32())})),
]


def target(data: bytes) -> None:
    """Encode a table with the hierarchy; the first byte says which."""
    path = FOLDER / "tree.csv"
    path.write_bytes(data[1:])
    kind, table = TABLES[data[0] % len(TABLES) if data else 0]
    with suppress(AnonError):
        encode(table, anon.Schema([kind("q", str(path))]), n_threads=1)
