# SPDX-License-Identifier: Apache-2.0
"""One fuzzer under atheris, or all of them one after the other; see the package."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence

from fuzz import CORPUS, NAMES, SECONDS


def fuzz(name: str, options: Sequence[str]) -> None:
    """Run one target with libFuzzer's options; ends the process."""
    import atheris

    # what is imported here for the first time, the target's module and all of ours that it needs, is
    # instrumented
    with atheris.instrument_imports(include=["anon"]):
        target = importlib.import_module(f"fuzz.{name}").target
    found = tempfile.mkdtemp(prefix=f"fuzz-{name}-")
    print(f"new inputs and findings are in {found}", file=sys.stderr)
    ours = [
        *(f"-timeout={SECONDS}", "-rss_limit_mb=4096", "-max_len=512"),  # atheris keeps what is longer
        *(f"-artifact_prefix={found}/", "-print_final_stats=1"),
    ]
    atheris.Setup([name, *ours, *options, found, str(CORPUS / name)], target)
    atheris.Fuzz()


def main(words: Sequence[str]) -> int:
    """Exit code 1 where a fuzzer found something."""
    if words and words[0] in NAMES:
        fuzz(words[0], words[1:])
    failed = 0
    for name in NAMES:
        start = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-m", "fuzz", name, *words],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        executed = re.findall(r"number_of_executed_units:\s*(\d+)", done.stderr)
        end = "nothing found" if done.returncode == 0 else f"exit code {done.returncode}"
        runs, took = (executed or ["?"])[-1], time.monotonic() - start
        print(f"fuzz: {name}: {runs} runs, {took:.0f} s, {end}", flush=True)
        if done.returncode:
            failed = 1
            print(done.stdout[-2000:], done.stderr[-6000:], flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
