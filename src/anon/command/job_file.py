# SPDX-License-Identifier: Apache-2.0
"""A job file to be edited: what `anon inspect` guesses of each column, and why."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anon.errors import UsageError
from anon.tables import is_uri, write_file

if TYPE_CHECKING:
    from anon.verbs import Inspection
    from anon.verbs.inspect import Column

ROLES = {
    "quasi": ("quasi-identifying", "Others may know these and find a person by them: they are generalized."),
    "sensitive": ("sensitive", "What nobody may learn about a person."),
    "identifying": ("identifying", "Dropped."),
    "neutral": (
        "neutral",
        "Published as they are. No column is, unless you name it: remove the # before those by which\n"
        "# nobody can find a person, alone or beside the others. What has no role is not published.",
    ),
}

MORE = {
    "unit": "Whose a row is, where somebody has several: requirements count these, not rows. Dropped.",
    "sampling_weight": "How many people a row stands for: of these weights each class shows the mean.",
}


def check_job_file(path: str) -> None:
    """Raise UsageError where no new file can be written to `path`: before the table is read, not after."""
    if os.path.lexists(path):
        raise UsageError(f"{path} exists, and is not written over: name another file, or remove it")
    if not Path(path).parent.is_dir():
        raise UsageError(f"the folder {Path(path).parent} does not exist")


def write_job_file(path: str, source: str, reading: Mapping[str, Any], inspection: Inspection) -> None:
    """Write the guesses as a TOML job file, where there is none.

    `reading` are the keys of a job that tell how the source was read.
    """
    source = source if is_uri(source) else os.path.relpath(source, Path(path).parent)
    text = job_text(source, reading, inspection)
    check_job_file(path)
    write_file(path, text.encode())


def job_text(source: str, reading: Mapping[str, Any], inspection: Inspection) -> str:
    """The job file: every column stands once in a role or as the unit or the weight, and those with measures
    once more with a kind.
    """
    n_rows = f"{inspection.n_rows:,} rows"
    lines = [
        f"# {n_rows}: roles as anon inspect guesses them, which cannot know what others know. Correct them.",
        f"input = {_string(source)}",
        *(f"{key} = {_value(value)}" for key, value in reading.items()),
        '# output = "release.parquet"',
        "# k = 10",
    ]
    for key, (role, meaning) in ROLES.items():
        columns = [column for column in inspection.columns if column.role == role and column.key is None]
        lines += ["", f"# {meaning}", f"{key} = [" + ("" if columns else "]")]
        mark = "# " if key == "neutral" else ""
        lines += [f"    {mark}{_string(column.name)},  # {_words(column)}" for column in columns]
        lines += ["]"] if columns else []
    for key, meaning in MORE.items():
        for column in inspection.columns:
            if column.key == key:
                lines += ["", f"# {meaning}", f"{key} = {_string(column.name)}  # {_words(column)}"]
    kinds = [column for column in inspection.columns if column.role in ("quasi-identifying", "sensitive")]
    lines += [
        "",
        "# Numbers and dates are numeric, labels nominal. Of a column that gets another role, remove",
        "# the line.",
        "[kind]",
    ]
    lines += [f"{_string(column.name)} = {_string(column.kind)}" for column in kinds]
    return "\n".join(lines) + "\n"


def keys_text(keys: Mapping[str, Any]) -> str:
    """Keys of a job as the text of its file; what is by column stands in tables after the others."""
    plain = [f"{key} = {_value(value)}" for key, value in keys.items() if not isinstance(value, Mapping)]
    tables = [
        "\n".join(["", f"[{key}]", *(f"{_string(name)} = {_value(each)}" for name, each in value.items())])
        for key, value in keys.items()
        if isinstance(value, Mapping)
    ]
    return "\n".join([*plain, *tables]) + "\n"


def _words(column: Column) -> str:
    values = "" if column.n_distinct is None else f", {column.n_distinct:,} values"
    return f"{column.type}{values}: {' '.join(column.why.split())}"


def _value(value: Any) -> str:
    if isinstance(value, bool | int | float):
        return str(value).lower()
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_string(key)} = {_string(each)}" for key, each in value.items()) + " }"
    return f"[{', '.join(map(_value, value))}]"


def _string(text: str) -> str:
    """As TOML writes text: JSON's escapes are its own, but for the one character that JSON leaves."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
