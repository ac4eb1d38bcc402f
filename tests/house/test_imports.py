# SPDX-License-Identifier: Apache-2.0
"""What is imported before it is needed, and the public door."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import anon
from anon.command import main

COSTLY = {
    *(
        "numpy",
        "pyarrow",
        "pyarrow.parquet",
        "pyarrow.fs",
        "pydantic",
        "rich",
        "sklearn",
        "numba",
        "pandas",
        "polars",
    ),
    *(
        "pyspark",
        "altair",
        "duckdb",
        "adbc_driver_manager",
        "openpyxl",
        "pyreadstat",
        "matplotlib",
        "starlette",
        "uvicorn",
    ),
    *("anon.public", "anon.tables", "anon.command.options", "anon.command.releases", "anoncore"),
}
OF_TYPER = {"rich", "pydantic"}
OF_ROOMS = {"numpy", "pyarrow", "pyarrow.parquet", "pyarrow.fs", "anon.public", "anon.tables", "anoncore"}


@pytest.mark.parametrize(
    ("program", "left_out"),
    [
        ("import anon", COSTLY),
        ("import anon; anon.anonymize", COSTLY - OF_ROOMS),
        ("from anon.command import main; main(['--help'])", COSTLY - OF_TYPER),
        ("from anon.command import main; main(['data', '--help'])", COSTLY - OF_TYPER),
        ("from anon.command import main; main(['--version'])", COSTLY - OF_TYPER),
        (
            "from anon.command import main; main(['anonymize', '--help'])",
            COSTLY - OF_ROOMS - OF_TYPER - {"anon.command.options", "anon.command.releases"},
        ),
    ],
)
def test_nothing_costly_is_imported_before_it_is_needed(program: str, left_out: set[str]) -> None:
    told = f"{program}\nimport sys; print('', *sorted(sys.modules), sep='\\n')"
    ran = subprocess.run([sys.executable, "-c", told], check=True, capture_output=True, text=True)
    assert "anon" in ran.stdout.splitlines()
    assert not left_out & set(ran.stdout.splitlines())


@pytest.mark.parametrize(("name", "asked_for"), [("out.csv", False), ("out.sav", True)])
def test_the_command_imports_pandas_only_where_a_format_needs_it(
    tmp_path: Path, name: str, asked_for: bool
) -> None:
    """Arrow would, to ask whether a list is a Series."""
    source = tmp_path / "people.csv"
    source.write_text("age,town\n1,a\n1,b\n2,\n2,b\n")
    asked = ["--quasi", "age", "--neutral", "town", "--k", "2", "--order", "input", "--quiet"]
    words = ["anonymize", str(source), "-o", str(tmp_path / name), *asked]
    told = [sys.executable, "-X", "importtime", "-m", "anon", *words]
    ran = subprocess.run(told, check=True, capture_output=True, text=True)
    assert ("pandas.core" in ran.stderr) == asked_for
    written = anon.read_table(tmp_path / name)
    assert main(words) == 0
    assert anon.read_table(tmp_path / name).equals(written)


def test_the_public_door_opens_by_every_way() -> None:
    program = (
        "import anon\n"
        "assert 'Mondrian' in dir(anon) and '__all__' in dir(anon)\n"
        "kept = anon.Mondrian\n"
        "anon.Mondrian = None\n"  # as tests and users may; asking for others leaves it alone
        "assert not hasattr(anon, 'nothing') and anon.Mondrian is None\n"
        "anon.Mondrian = kept\n"
        "exec('from anon import *')\n"
        "assert set(anon.__all__) <= set(globals()) and Mondrian is kept\n"
        "assert anon.__version__ and anon.errors.DataError is DataError\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
    subprocess.run([sys.executable, "-c", "from anon import *; anonymize, datasets"], check=True)
    with pytest.raises(AttributeError, match="module 'anon' has no attribute 'nothing'"):
        anon.nothing  # type: ignore[attr-defined]  # noqa: B018
    assert pickle.loads(pickle.dumps(anon.KAnonymity(3))) == anon.KAnonymity(3)


@pytest.mark.lint
def test_a_type_checker_knows_the_public_names(tmp_path: Path) -> None:
    (tmp_path / "user.py").write_text(
        "import anon\n"
        "from anon import KAnonymity, Mondrian\n"
        "method: Mondrian = anon.Mondrian()\n"
        "wrong: Mondrian = KAnonymity(3)\n"
        "anon.KAnonymity(k='3')\n"
    )
    asked = ["-m", "mypy", "--strict", "--ignore-missing-imports", "--follow-imports=silent"]
    ran = subprocess.run(
        [sys.executable, *asked, f"--cache-dir={tmp_path}", "user.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert [line.split(":")[1] for line in ran.stdout.splitlines() if " error: " in line] == ["4", "5"], (
        ran.stdout
    )
