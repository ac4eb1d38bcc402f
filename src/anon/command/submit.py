# SPDX-License-Identifier: Apache-2.0
"""A job file on a cluster: `spark-submit submit.py job.toml`."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the job file named on the command line as `anon anonymize --engine spark --json` does."""
    from anon.command.entry import main as command

    if len(sys.argv) != 2:
        sys.stderr.write("error: name one job file: spark-submit submit.py job.toml\n")
        sys.exit(2)
    sys.exit(command(["anonymize", "--config", sys.argv[1], "--engine", "spark", "--json"]))


if __name__ == "__main__":
    main()
