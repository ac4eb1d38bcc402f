# SPDX-License-Identifier: Apache-2.0
"""What the documentation makes of the code: nothing is missing or private, notebooks are current."""

from __future__ import annotations

import importlib
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

import anon
from anon.command.entry import app
from anon.command.options import KEYS
from anon.command.scenario_job import Bad, Good

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
REFERENCE = {page.stem: page.read_text() for page in sorted((DOCS / "reference").glob("*.md"))}
NOTEBOOKS = sorted(DOCS.rglob("*.ipynb"))

sys.path.insert(0, str(DOCS))
hooks = importlib.import_module("hooks")
run_notebook = importlib.import_module("run_notebook")
screenshots = importlib.import_module("screenshots")
sys.path.remove(str(DOCS))


def parts(command: Any, name: str = "anon") -> dict[str, Any]:
    """Every command without commands of its own, by what one types."""
    inner = getattr(command, "commands", None)
    if inner is None:
        return {name: command}
    return {k: v for part, each in inner.items() for k, v in parts(each, f"{name} {part}").items()}


def test_the_page_of_the_command_has_every_command_and_flag() -> None:
    page = hooks.on_page_markdown(REFERENCE["command"])
    sections = dict(re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL))
    commands = parts(get_command(app))
    assert list(sections) == list(commands)
    assert len(commands) > 10
    for name, command in commands.items():
        for parameter in command.params:
            for spelled in (*parameter.opts, *parameter.secondary_opts):
                shown = spelled if spelled.startswith("-") else (parameter.metavar or spelled.upper())
                assert f"`{shown}`" in sections[name], (name, shown)


def test_the_page_of_a_job_has_every_key() -> None:
    page = hooks.on_page_markdown(REFERENCE["job"])
    rows = re.findall(r"^\| `(\w+)` \| (.+?) \|", page, re.MULTILINE)
    assert {key.key for key in KEYS} <= {name for name, _ in rows}
    assert {*Good.model_fields, *Bad.model_fields, "perturb", "sanitization"} <= {
        *(name for name, _ in rows),
        *re.findall(r"^## \[\[(\w+)\]\]", page, re.MULTILINE),
    }
    kinds = dict(reversed(rows))
    assert kinds["k"] == "whole number"
    assert kinds["quasi"] == "list of text"
    assert kinds["order"] == '`"class"` `"input"`'
    assert kinds["neutral"] == 'list of text or `"rest"`'
    assert kinds["weight"] == "table: name = number"


def directives(page: str) -> list[tuple[str, dict[str, Any]]]:
    import yaml

    return [
        (name, (yaml.safe_load(options) or {}).get("options", {}))
        for name, options in hooks.DIRECTIVE.findall(page)
    ]


@pytest.mark.docs
def test_the_reference_has_every_public_name_once() -> None:
    names = [name for page in REFERENCE.values() for name, _ in directives(page)]
    assert len(set(names)) == len(names)
    assert {f"anon.{name}" for name in anon.__all__} <= set(names)


@pytest.mark.parametrize("page", REFERENCE)
@pytest.mark.docs
def test_the_reference_shows_public_names_alone(page: str) -> None:
    for name, options in directives(REFERENCE[page]):
        thing = importlib.import_module("anon")
        for part in name.split(".")[1:]:
            thing = getattr(thing, part) if hasattr(thing, part) else importlib.import_module(name)
        for member in options.get("members", ()):
            assert not member.startswith("_")
            assert hasattr(thing, member), (name, member)
    made = hooks.on_page_markdown(REFERENCE[page])
    shown = re.findall(r"^::: (\S+)\n    options:\n(.*?)(?=^\S|\Z)", made, re.MULTILINE | re.DOTALL)
    assert len(shown) == len(directives(REFERENCE[page]))
    for (_, options), (name, _) in zip(shown, directives(REFERENCE[page]), strict=True):
        assert f'heading: "{name}"' in options  # as users write it, not where it is defined
        assert "members: " in options


def test_a_verb_is_not_taken_for_the_module_of_its_name() -> None:
    assert hooks.defined("anon.check") == "anon.verbs.check.check"
    assert hooks.defined("anon.Release") == "anon.release.release.Release"
    assert hooks.defined("anon.figures") == "anon.figures"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_shows_what_its_cells_show(path: Path) -> None:
    """But for seconds, which differ: the text of every result, and the sentences of those that have some."""
    kept = json.loads(path.read_text())
    made = run_notebook.executed(kept)
    assert len(kept["cells"]) > 5
    for before, after in zip(kept["cells"], made["cells"], strict=True):
        assert told(before) == told(after), f"out of date: python docs/run_notebook.py {path}"


def told(cell: dict[str, Any]) -> list[Any]:
    said: list[Any] = []
    for output in cell.get("outputs", []):
        data = output.get("data", {"text/plain": output.get("text")})
        html = "".join(data.get("text/html", []))
        said.append(("".join(data["text/plain"]), re.findall("<p>(.*?)</p>", html), html.count("<svg")))
    return said


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_a_page(path: Path) -> None:
    [page] = [
        page
        for page in DOCS.rglob("*.md")
        if f"<!-- notebook: {path.relative_to(DOCS)} -->" in page.read_text()
    ]
    made = hooks.on_page_markdown(page.read_text())
    cells = json.loads(path.read_text())["cells"]
    assert made.count("```python") == sum(cell["cell_type"] == "code" for cell in cells)
    whole = re.findall('^<div class="shown">.*</div>$', made, re.MULTILINE)  # which Markdown leaves alone
    assert len(whole) == sum(bool(cell.get("outputs")) for cell in cells) > 5


def test_a_notebook_is_run_as_python_runs_it(capsys: pytest.CaptureFixture[str]) -> None:
    code = {"cell_type": "code", "id": "a", "metadata": {}, "outputs": [], "execution_count": None}
    cells = [
        {**code, "source": ["x = 3\n", "print(x)"]},
        {"cell_type": "markdown", "source": ["# no\n"]},
        {**code, "source": ["x + 1"]},
        {**code, "source": ["None"]},
    ]
    first, words, second, third = run_notebook.executed({"cells": cells})["cells"]
    assert first["outputs"] == [{"output_type": "stream", "name": "stdout", "text": ["3\n"]}]
    assert words == cells[1]
    assert second["outputs"][0]["data"] == {"text/plain": ["4"]}
    assert second["execution_count"] == 2
    assert third["outputs"] == []
    assert capsys.readouterr().out == ""
    with pytest.raises(ZeroDivisionError):
        run_notebook.executed({"cells": [{**code, "source": ["1 / 0"]}]})


def test_every_picture_is_made_by_the_script_and_small_and_shown() -> None:
    pictures = sorted((DOCS / "pictures").iterdir())
    assert [each.stem for each in pictures] == sorted(screenshots.SHOTS)
    pages = "".join(page.read_text() for page in DOCS.rglob("*.md"))
    for picture in pictures:
        assert picture.stat().st_size < 100_000
        assert f"pictures/{picture.name}" in pages


@pytest.mark.slow
@pytest.mark.browser
def test_the_script_makes_the_pictures(tmp_path: Path) -> None:
    screenshots.main(tmp_path)
    assert {each.stem for each in tmp_path.iterdir()} == set(screenshots.SHOTS)
    assert min(each.stat().st_size for each in tmp_path.iterdir()) > 10_000
