# SPDX-License-Identifier: Apache-2.0
"""Job files: any bytes as TOML, then everything that a job is asked for."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from anon.command.job import load_job
from anon.errors import AnonError

FOLDER = Path(tempfile.mkdtemp(prefix="fuzz-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None))


def target(data: bytes) -> None:
    """Load the file and ask the job for its schema, requirements, method and options."""
    path = FOLDER / "job.toml"
    path.write_bytes(data)
    with suppress(AnonError):
        job = load_job(str(path), {})
        for ask in (
            job.read_options,
            job.files,
            job.roles,
            job.requirements,
            job.configured_method,
            job.options,
        ):
            with suppress(AnonError):
                ask()
