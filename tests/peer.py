# SPDX-License-Identifier: Apache-2.0
"""Other tools, asked in an environment of their own: pycanon pins every library it uses.

$ANON_PEERS_PYTHON is the interpreter that has them (`pip install pycanon==1.3.6 anonypy==0.2.1`).
"""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any

import pytest


def ask(program: str, job: Any) -> Any:
    """What a program prints last, as JSON, given `job` as JSON, in a process of its own."""
    interpreter = os.environ.get("ANON_PEERS_PYTHON")
    if interpreter is None:
        message = (
            "other tools are not measured beside us: set ANON_PEERS_PYTHON to an interpreter that has them"
        )
        if os.environ.get("ANON_REQUIRE_DATA") == "1":
            pytest.fail(message)
        pytest.skip(message)
    done = subprocess.run(
        [interpreter, "-c", program], input=json.dumps(job), capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])
