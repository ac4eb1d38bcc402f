# SPDX-License-Identifier: Apache-2.0
"""The command line: options, job files, words on the terminal, and `main`."""

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code; also where it is stopped before its parts are imported."""
    try:
        from anon.command.entry import main as run
    except KeyboardInterrupt:
        print("error: stopped by SIGINT", file=sys.stderr)
        return 130
    return run(arguments)


__all__ = ["main"]
