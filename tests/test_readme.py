# SPDX-License-Identifier: Apache-2.0
"""The README is run: every command, every example, and the output it shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", TEXT, re.DOTALL)
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
COMMANDS = [line for kind, body in BLOCKS if kind == "sh" for line in body.splitlines()]


def run(command: str, folder: Path) -> str:
    """Run one README command in a folder, with this interpreter's `anon` and `python` first on the path."""
    shims = folder / "bin"
    shims.mkdir(exist_ok=True)
    for name, call in (("anon", "-m anon"), ("python", "")):
        (shims / name).write_text(f'#!/bin/sh\nexec {sys.executable} {call} "$@"\n')
        (shims / name).chmod(0o755)
    environment = os.environ | {"PATH": f"{shims}:{os.environ['PATH']}"}
    done = subprocess.run(
        command, shell=True, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the commands run one after the other; the job file and the benches are there."""
    folder = tmp_path_factory.mktemp("readme")
    (folder / "job.toml").write_text(next(body for kind, body in BLOCKS if kind == "toml"))
    (folder / "benches").symlink_to(ROOT / "benches")
    (folder / "pyproject.toml").symlink_to(ROOT / "pyproject.toml")
    return folder


def test_the_first_two_commands_are_single_lines_that_ci_runs() -> None:
    shells = [body for kind, body in BLOCKS if kind == "sh"]
    assert all(len(body.splitlines()) == 1 for body in shells[:2])
    assert "anon demo" in shells[0]
    assert "pytest" in shells[1]
    assert "README.md" in (ROOT / ".ci" / "run").read_text()


@pytest.mark.parametrize("command", COMMANDS[2:])
def test_every_other_command_runs(command: str, folder: Path) -> None:
    run(command, folder)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_example_prints_what_the_page_shows(page: Path, tmp_path: Path) -> None:
    blocks = re.findall(r"```(\w+)\n(.*?)```", page.read_text(), re.DOTALL)
    for (kind, program), (next_kind, shown) in pairwise([*blocks, ("", "")]):
        if kind == "python":
            (tmp_path / "example.py").write_text(program)
            printed = run("python example.py", tmp_path)
            assert printed == (shown if next_kind == "text" else "")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_link_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)]+)\)", page.read_text()):
        assert (page.parent / target).exists(), target
