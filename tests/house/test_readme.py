# SPDX-License-Identifier: Apache-2.0
"""The README and the documentation are run: every command, every example, and the output they show."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from warm import serving

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", TEXT, re.DOTALL)
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
COMMANDS = [line for kind, body in BLOCKS if kind == "sh" for line in body.splitlines()]
BENCHES = next(command for command in COMMANDS if "pytest benches" in command)


def run(command: str, folder: Path, client: str = "") -> str:
    """Run one command in a folder, with this interpreter's `anon` and `python` first on the path.

    A client of `warm.py` stands for them where there is one, but for a program that is read from a pipe.
    """
    shims = folder / "bin"
    shims.mkdir(exist_ok=True)
    python = f"{sys.executable} {'-IS ' if client else ''}{client}"
    for name, call in (
        ("anon", f'exec {python} -m anon "$@"'),
        ("python", f'[ "$1" = - ] && exec {sys.executable} "$@"; exec {python} "$@"'),
    ):
        (shims / name).write_text(f"#!/bin/sh\n{call}\n")
        (shims / name).chmod(0o755)
    here = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment = here | {"PATH": f"{shims}:{os.environ['PATH']}", "COLUMNS": "100"}
    done = subprocess.run(
        command, shell=True, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def test_the_first_two_commands_are_single_lines_that_ci_runs() -> None:
    shells = [body for kind, body in BLOCKS if kind == "sh"]
    assert all(len(body.splitlines()) == 1 for body in shells[:2])
    assert "anon demo" in shells[0]
    assert "pytest" in shells[1]
    assert "README.md" in (ROOT / ".ci" / "run").read_text()


def test_every_other_command_runs(tmp_path: Path) -> None:
    """One after the other in one folder, where the job file is."""
    (tmp_path / "job.toml").write_text(next(body for kind, body in BLOCKS if kind == "toml"))
    for command in COMMANDS[2:]:
        if command != BENCHES:
            run(command, tmp_path)


ROOMS = {path.name for path in (ROOT / "benches").iterdir() if path.is_dir() and any(path.glob("test_*.py"))}
LONG = ("anoncore", "choice", "methods")
SWEEPS = ("choice", "methods")  # of few rows they show as much; others assert what only many rows have


@pytest.mark.numba
@pytest.mark.polars
@pytest.mark.parametrize("rooms", [*([room] for room in LONG), sorted(ROOMS - set(LONG))], ids="-".join)
def test_every_bench_runs(rooms: list[str], tmp_path: Path) -> None:
    """Once, a part of them at a time: it asserts what comes out, never how long it takes."""
    for name in ("benches", "pyproject.toml"):
        (tmp_path / name).symlink_to(ROOT / name)
    command = BENCHES.replace("benches", " ".join(f"benches/{room}" for room in rooms))
    once = "--rounds 1 --benchmark-min-rounds 1 --benchmark-max-time 0.000001 -p no:cacheprovider"
    rows = "--rows 2000" if rooms[0] in SWEEPS else ""
    run(f"{command} {once} {rows}", tmp_path)


def name(page: Path) -> str:
    return str(page.relative_to(ROOT).with_suffix(""))


NEEDED = {
    "docs/howto/jupyter": [pytest.mark.polars],
    "docs/kernels": [pytest.mark.numba],
    "docs/scenarios": [pytest.mark.opendp],
    "docs/spark": [pytest.mark.java],
}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Runs the programs of pages in a warm Python; the README's commands start as they do for users."""
    with serving(tmp_path_factory.mktemp("warm")) as client:
        yield client


@pytest.mark.parametrize(
    "page", [pytest.param(page, marks=NEEDED.get(name(page), []), id=name(page)) for page in PAGES]
)
def test_every_example_prints_what_the_page_shows(page: Path, tmp_path: Path, client: str) -> None:
    """A page's blocks run one after the other in one folder; a `toml` block is its job file.

    The README's commands have a test of their own above.
    """
    blocks = re.findall(r"```(\w+)\n(.*?)```", page.read_text(), re.DOTALL)
    for (kind, program), (next_kind, shown) in pairwise([*blocks, ("", "")]):
        if kind == "python":
            (tmp_path / "example.py").write_text(program)
            printed = run("python example.py", tmp_path, client)
            assert printed == (shown if next_kind == "text" else "")
        elif kind == "toml":
            (tmp_path / "job.toml").write_text(program)
        elif kind == "sh" and page.parent != ROOT:
            printed = run(program, tmp_path, client)
            assert next_kind != "text" or printed == shown
        else:
            assert kind in {"sh", "text", "cython", "java", "r"}, kind  # calls of other tools are quoted


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_link_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)]+)\)", page.read_text()):
        assert (page.parent / target.partition("#")[0]).exists(), target


@pytest.mark.docs
def test_the_site_lists_every_page(tmp_path: Path) -> None:
    """Built with warnings as errors; a page that is in no menu, or a reference to nothing, is one."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"]
    done = subprocess.run(
        [*command, "--config-file", ROOT / "mkdocs.yml", "--site-dir", tmp_path / "site"],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "site" / "index.html").stat().st_size > 1000
