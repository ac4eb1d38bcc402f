# SPDX-License-Identifier: Apache-2.0
"""What the site makes of the code while it is built: the commands, the keys of a job, names as users write
them, and notebooks with their output. `mkdocs.yml` names this file; marks in pages say where each part goes.
"""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from types import ModuleType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

HERE = Path(__file__).parent
DIRECTIVE = re.compile(r"^::: (anon\.\S+)\n((?:    .*\n)*)", re.MULTILINE)
NOTEBOOK = re.compile(r"<!-- notebook: (\S+) -->")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Called by mkdocs with the text of each page."""
    for mark, made in (("<!-- commands -->", commands), ("<!-- job keys -->", job_keys)):
        if mark in markdown:
            markdown = markdown.replace(mark, made())
    markdown = NOTEBOOK.sub(lambda match: notebook(HERE / match[1]), markdown)
    return DIRECTIVE.sub(lambda match: directive(match[1], match[2]), markdown)


# --- names


def directive(name: str, options: str) -> str:
    """The directive of mkdocstrings for a name as users write it, which finds where it is defined; without
    options it shows no members.
    """
    import yaml

    told: dict[str, Any] = (yaml.safe_load(options) or {}).get("options", {})
    told = {"heading": name, "toc_label": name, "members": False, **told}
    lines = "".join(f"      {key}: {json.dumps(value)}\n" for key, value in told.items())
    return f"::: {defined(name)}\n    options:\n{lines}"


def defined(name: str) -> str:
    """The full name of what users call `anon.NAME`."""
    thing: Any = importlib.import_module("anon")
    path = "anon"
    for part in name.split(".")[1:]:
        if isinstance(thing, ModuleType) and not hasattr(thing, part):
            importlib.import_module(f"{path}.{part}")
        thing, path = getattr(thing, part), f"{path}.{part}"
    if isinstance(thing, ModuleType):
        return thing.__name__
    return f"{thing.__module__}.{thing.__qualname__}" if callable(thing) else path


# --- the command


def commands() -> str:
    """Every command with its arguments and flags, as the command's own help has them."""
    from typer.main import get_command

    from anon.command.entry import app

    return "\n".join(_command_parts("anon", get_command(app)))


def _command_parts(name: str, command: Any) -> Iterator[str]:
    if hasattr(command, "commands"):
        for part, inner in command.commands.items():
            yield from _command_parts(f"{name} {part}", inner)
        return
    about, *more = (command.help or "").split("\n\n")
    yield f"## {name}\n\n{_words(about)}\n"
    for paragraph in more:
        is_example = all(line.startswith("anon ") for line in paragraph.splitlines())
        yield f"```sh\n{paragraph}\n```\n" if is_example else f"{_words(paragraph)}\n"
    arguments = [each for each in command.params if not each.opts[0].startswith("-")]
    flags = [each for each in command.params if each.opts[0].startswith("-")]
    if arguments:
        yield "| argument | |\n| --- | --- |"
        for each in arguments:
            yield f"| `{each.metavar or each.name.upper()}` | {_words(each.help)} |"
        yield ""
    flags.sort(key=lambda each: each.rich_help_panel or "")
    for panel, some in groupby(flags, lambda each: each.rich_help_panel or ""):
        yield f"**{panel or 'Options'}**\n\n| flag | |\n| --- | --- |"
        for each in some:
            spelled = ", ".join(f"`{option}`" for option in (*each.opts, *each.secondary_opts))
            yield f"| {spelled}{_taken(each)} | {_words(each.help)} |"
        yield ""


def _taken(flag: Any) -> str:
    if flag.is_flag:
        return ""
    return f" `{flag.metavar}`" if flag.metavar else ""


# --- the keys of a job


def job_keys() -> str:
    """Every key of a job file, group by group, and the keys of its tables."""
    from anon.command.job import Perturbation
    from anon.command.options import KEYS
    from anon.command.scenario_job import Bad, Good, Made, ScenarioJob

    parts = []
    for panel, keys in groupby(sorted(KEYS, key=lambda key: key.panel or ""), lambda key: key.panel):
        rows = [(key.key, key.kind, key.help, f"`{(*key.spelled, key.flag)[0]}`") for key in keys]
        parts.append(f"## {panel or 'Files'}\n\n{_keys(rows, 'flag')}")
    helps = {key.key: key.help for key in KEYS}
    for heading, words, model in (
        ("[[perturb]]", "Perturbations of columns beside the classes, one table each.", Perturbation),
        (
            "[[sanitization]]",
            "A job of `anon scenario`: what is compared, a table or what the keys of methods above make.",
            Made,
        ),
        ("[[good]]", "A job of `anon scenario`: what users do with the release.", Good),
        ("[[bad]]", "A job of `anon scenario`: what an adversary does with it.", Bad),
    ):
        own = set(model.model_fields) - (set(helps) if model is Made else set()) - {"perturb"}
        rows = [
            (name, field.annotation, helps[name] if model is Perturbation and name != "method" else "")
            for name, field in model.model_fields.items()
            if name in own
        ]
        parts.append(f"## {heading}\n\n{words}\n\n{_keys(rows)}")
    own = set(ScenarioJob.model_fields) - set(helps) - {"perturb", "sanitization", "good", "bad"}
    rows = [(name, ScenarioJob.model_fields[name].annotation, "") for name in sorted(own)]
    return "\n\n".join([*parts, f"## Other keys of a scenario\n\n{_keys(rows)}"])


def _keys(rows: Sequence[tuple[Any, ...]], *more: str) -> str:
    told = any(row[2] for row in rows)
    header = ("key", "holds", *(["meaning"] if told else []), *more)
    lines = [f"| {' | '.join(header)} |", f"|{' --- |' * len(header)}"]
    for key, kind, meaning, *others in rows:
        cells = [f"`{key}`", kind_in_words(kind), *([_words(meaning)] if told else []), *others]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def kind_in_words(kind: Any) -> str:
    """What TOML may hold there."""
    origin, inside = get_origin(kind), get_args(kind)
    if origin is Literal:
        return " ".join(f'`"{value}"`' if isinstance(value, str) else f"`{value}`" for value in inside)
    if origin in (Union, UnionType):
        return " or ".join(dict.fromkeys(kind_in_words(each) for each in inside if each is not type(None)))
    if origin is list:
        return f"list of {kind_in_words(inside[0])}"
    if origin is dict:
        return f"table: name = {kind_in_words(inside[1])}"
    if hasattr(kind, "__metadata__"):
        return kind_in_words(inside[0])
    named = {int: "whole number", float: "number", bool: "true or false", str: "text", Any: "anything"}
    return named[kind]


def _words(text: str | None) -> str:
    """Words of a help in a table of Markdown."""
    escaped = re.sub(r"([\\|\[\]*_`])", r"\\\1", (text or "").replace("&", "&amp;").replace("<", "&lt;"))
    return " ".join(escaped.split())


# --- notebooks


def notebook(path: Path) -> str:
    """A notebook as a page: its words, its code, and what each cell showed."""
    return "\n\n".join(part for cell in json.loads(path.read_text())["cells"] for part in _cell_parts(cell))


def _cell_parts(cell: Mapping[str, Any]) -> Iterator[str]:
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        yield source
        return
    yield f"```python\n{source}\n```"
    for output in cell["outputs"]:
        if output["output_type"] == "stream":
            yield f"```text\n{''.join(output['text']).rstrip()}\n```"
        elif "text/html" in output["data"]:
            html = re.sub(r"\n\s*", " ", "".join(output["data"]["text/html"]))
            yield f'<div class="shown">{html}</div>'
        else:
            yield f"```text\n{''.join(output['data']['text/plain'])}\n```"
