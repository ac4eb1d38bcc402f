# SPDX-License-Identifier: Apache-2.0
"""Other tools, asked in an environment of their own: pycanon pins every library it uses.

$ANON_PEERS_PYTHON is the interpreter that has them (`pip install pycanon==1.3.6 anonypy==0.2.1`);
tests that ask one are marked `peers`.
"""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any


def ask(program: str, job: Any) -> Any:
    """What a program prints last, as JSON, given `job` as JSON, in a process of its own."""
    done = subprocess.run(
        [os.environ["ANON_PEERS_PYTHON"], "-c", program],
        input=json.dumps(job),
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])
