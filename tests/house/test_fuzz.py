# SPDX-License-Identifier: Apache-2.0
"""The fuzzers' inputs, replayed; and a proof for each that its bytes reach what it is for."""

from __future__ import annotations

import importlib
import warnings
from pathlib import Path

import pytest

import anon
import fuzz
from fuzz import check_tables, hierarchy_csv, job_file, query_text, release_cells

INPUTS = [(name, path) for name in fuzz.NAMES for path in sorted((fuzz.CORPUS / name).iterdir())]


@pytest.mark.parametrize(("name", "path"), INPUTS, ids=lambda part: getattr(part, "name", part))
def test_an_input_ends_well(name: str, path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        importlib.import_module(f"fuzz.{name}").target(path.read_bytes())


def test_every_fuzzer_has_inputs() -> None:
    assert {name for name, _ in INPUTS} == set(fuzz.NAMES)


class Reached(Exception):
    """What a fuzzer is for was called."""


@pytest.mark.parametrize(
    ("module", "name", "data"),
    [
        (job_file, "load_job", b"k = 5"),
        (hierarchy_csv, "encode", b"\x00a;*\nb;*\nc;*\n"),
        (release_cells, "_check", b"\x00[1, 2]"),
        (query_text, "answer", b"int >= 2 & text = a"),
    ],
)
def test_bytes_reach_the_reader(
    module: object, name: str, data: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def reached(*arguments: object, **options: object) -> None:
        raise Reached

    monkeypatch.setattr(module, name, reached)
    with pytest.raises(Reached):
        module.target(data)  # type: ignore[attr-defined]


def test_tables_reach_check(monkeypatch: pytest.MonkeyPatch) -> None:
    """Most inputs must be measured: a table that is always refused would test nothing but refusals."""
    measured = []
    check = anon.check

    def noting(*arguments: object, **options: object) -> object:
        found = check(*arguments, **options)  # type: ignore[arg-type]
        measured.append(found)
        return found

    monkeypatch.setattr(anon, "check", noting)
    for path in (fuzz.CORPUS / "check_tables").iterdir():
        check_tables.target(path.read_bytes())
    assert len(measured) > 5
