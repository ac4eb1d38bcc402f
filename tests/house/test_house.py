# SPDX-License-Identifier: Apache-2.0
"""Rules of the house that a machine can check."""

from __future__ import annotations

import ast
import importlib
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = sorted(path.stem for path in (ROOT / "src" / "anoncore").glob("*.pyx"))
SOURCES = [
    path
    for folder in ("src", "tests", "benches")
    for pattern in ("*.py", "*.pyi", "*.pyx", "*.pxd")
    for path in sorted((ROOT / folder).rglob(pattern))
    if path.stat().st_size
]


def functions(path: Path) -> set[str]:
    """Names of the top-level functions of a Python file or stub."""
    return {
        node.name
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")
    }


def imports(path: Path) -> set[str]:
    """Every module named by an import statement anywhere in a file."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{name.name}" for name in node.names} | {str(node.module)}
    return found


@pytest.mark.parametrize("room", ROOMS)
def test_every_kernel_has_a_stub_a_twin_and_a_bench(room: str) -> None:
    module = importlib.import_module(f"anoncore.{room}")
    kernels = {
        name
        for name, thing in vars(module).items()
        if not name.startswith("_") and inspect.isroutine(thing) and thing.__module__ == module.__name__
    }
    assert functions(ROOT / "src" / "anoncore" / f"{room}.pyi") == kernels
    if not kernels:  # a description that others read
        return
    assert kernels <= functions(ROOT / "tests" / "reference" / f"{room}.py")
    assert {f"test_{name}" for name in kernels} <= functions(
        next((ROOT / "benches").rglob(f"test_{room}.py"))
    )


@pytest.mark.parametrize("path", sorted((ROOT / "tests" / "reference").glob("*.py")), ids=lambda p: p.stem)
def test_a_twin_imports_nothing_of_ours(path: Path) -> None:
    assert not {name for name in imports(path) if name.split(".")[0] in ("anon", "anoncore")}


def test_the_recheck_shares_nothing_with_the_methods() -> None:
    forbidden = ("anon.methods", "anon.requirements", "anoncore")
    modules = [
        *(ROOT / "src" / "anon" / "release").glob("recheck*.py"),
        ROOT / "src/anon/release/readback.py",
    ]
    assert len(modules) > 2
    for module in modules:
        named = imports(module)
        assert not {name for name in named if name.startswith(forbidden)}


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_source_file_names_its_license(path: Path) -> None:
    assert path.read_text().startswith("# SPDX-License-Identifier: Apache-2.0\n")


@pytest.mark.parametrize(
    ("module", "unwanted"),
    [
        ("anoncore", ["pyarrow", "pandas", "anon"]),
        (
            "anon",
            ["pandas", "polars", "sklearn", "numba", "matplotlib", "pydantic", "typer", "rich"],
        ),
        ("anon.command.entry", ["pandas", "polars", "sklearn", "numba", "matplotlib"]),
    ],
)
def test_importing_stays_light(module: str, unwanted: list[str]) -> None:
    program = f"import sys, {module}; print([m for m in {unwanted!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
