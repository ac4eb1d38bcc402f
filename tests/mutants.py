# SPDX-License-Identifier: Apache-2.0
"""Every mutant of the measures and requirements is killed by a test, or explained.

    python tests/mutants.py --processes 2

In a copy of the checkout, mutmut changes the measures of privacy, the requirements and their slow twin
in one place at a time and runs the tests that reach it. A mutant that no test kills, or reaches, must be
explained in `mutants.toml`: by the functions, the changed text before and after, and the reason why it
cannot or need not be killed.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

ROOT = Path(__file__).parent.parent


@dataclass(frozen=True)
class Change:
    """A mutant: the function ("anon.measures.privacy.Privacy.to_dict") and its lines, before and after."""

    function: str
    before: str
    after: str


def function_of(mutant: str) -> str:
    """The function that mutmut's name of a mutant stands for."""
    module, name = mutant.rpartition("__mutmut_")[0].rsplit(".", 1)
    return f"{module}.{name.removeprefix('x').lstrip('ǁ').replace('ǁ', '.') if 'ǁ' in name else name[2:]}"


def change_of(shown: str) -> Change:
    """What `mutmut show` says: a comment with the mutant's name and status, then a diff."""
    comment, _, _, *diff = shown.splitlines()
    before, after = (
        "\n".join(line[1:].strip() for line in diff if line.startswith(sign)) for sign in ("-", "+")
    )
    return Change(function_of(comment.removeprefix("# ").rpartition(": ")[0]), before, after)


def explains(explained: Change, survivor: Change) -> bool:
    """Does the change of the text `explained.before`, a part of the changed lines, make the survivor?"""
    if explained.function != survivor.function:
        return False
    places = [found.start() for found in re.finditer(re.escape(explained.before), survivor.before)]
    return any(
        survivor.before[:at] + explained.after + survivor.before[at + len(explained.before) :]
        == survivor.after
        for at in places
    )


def read_explained(path: Path) -> list[Change]:
    """Every explained change of every function it is said of; KeyError where a reason is missing."""
    found = []
    for entry in tomllib.loads(path.read_text("utf-8"))["explained"]:
        assert entry["reason"].strip(), "a reason is empty"
        pairs = product(entry["functions"], entry["changes"])
        found += [Change(function, before, after) for function, (before, after) in pairs]
    return found


def unmatched(explained: Sequence[Change], survivors: Sequence[Change]) -> tuple[list[Change], list[Change]]:
    """The survivors without an explanation, and the explanations without a survivor."""
    return (
        [survivor for survivor in survivors if not any(explains(each, survivor) for each in explained)],
        [each for each in explained if not any(explains(each, survivor) for survivor in survivors)],
    )


def mutmut(folder: Path, *words: str) -> str:
    """What mutmut prints in the copy; CalledProcessError, after its words, where it fails."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, "-m", "mutmut", *words], cwd=folder, env=environment, capture_output=True, text=True
    )
    if done.returncode:
        print(done.stdout[-4000:], done.stderr[-4000:], sep="\n", file=sys.stderr)
    done.check_returncode()
    return done.stdout


def run(folder: Path, processes: int) -> dict[str, str]:
    """The status of every mutant, made and run in `folder`.

    The twins are moved to `src`: of names that tests import, mutmut knows only those of files there.
    """
    for name in ("src", "tests"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "corpus"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    (folder / "tests" / "reference").rename(folder / "src" / "reference")
    mutmut(folder, "run", "--max-children", str(processes))
    lines = mutmut(folder, "results", "--all", "true").splitlines()
    return {name.strip(): status for name, _, status in (line.rpartition(": ") for line in lines)}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--processes", type=int, default=1)
    asked = parser.parse_args()
    explained = read_explained(Path(__file__).with_suffix(".toml"))
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        statuses = run(folder, asked.processes)
        left = [mutant for mutant, status in statuses.items() if status not in ("killed", "timeout")]
        survivors = {mutant: change_of(mutmut(folder, "show", mutant)) for mutant in left}
    unexplained, stale = unmatched(explained, list(survivors.values()))
    for mutant, change in survivors.items():
        if change in unexplained:
            print(f"{mutant} ({statuses[mutant]})", change.before, "->", change.after, "", sep="\n")
    for change in stale:
        print(f"no survivor: {change.function}", change.before, "->", change.after, "", sep="\n")
    timed_out = list(statuses.values()).count("timeout")
    print(
        f"mutants: {len(statuses)} mutants, {len(statuses) - timed_out - len(survivors)} killed, "
        f"{timed_out} timed out, {len(survivors)} survived, {len(unexplained)} of them unexplained, "
        f"{time.monotonic() - start:.0f} s"
    )
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
