# SPDX-License-Identifier: Apache-2.0
"""A report, and what it says of where it came from."""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import metadata
from typing import Any

from anon.html import First, Section, Table, Term, page
from anon.pages.terms import TERMS
from anon.tables import write_file
from anon.version import __version__

MOST_SHOWN = 200  # characters of a cell


@dataclass(frozen=True)
class Origin:
    """How a report came about: the command, the files that it read and those that it wrote.

    `released` are those of them that are the release, whose hash everybody may know.
    """

    command: str = ""
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    released: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """With the versions of what ran, the time, and the SHA-256 of every file."""
        return {
            "command": self.command,
            "made": datetime.now(UTC).isoformat(timespec="seconds"),
            "versions": {
                "anon": __version__,
                "python": platform.python_version(),
                **{name: metadata.version(name) for name in ("numpy", "pyarrow")},
            },
            "inputs": {path: _sha256(path) for path in self.inputs},
            "outputs": {path: _sha256(path) for path in self.outputs},
        }

    def public_dict(self) -> dict[str, Any]:
        """What everybody may know: the version of this package, names and SHA-256 of the released files."""
        above = os.path.commonpath(
            [os.path.dirname(os.path.abspath(path)) for path in self.released] or ["."]
        )
        return {
            "versions": {"anon": __version__},
            "released": {os.path.relpath(path, above): _sha256(path) for path in self.released},
        }


@dataclass(frozen=True)
class Report:
    """A page and what it tells: every number on it is in `facts`, which is ready for JSON.

    `facts["audience"]` says whose it is, and so does the first line of the page. `first` is its first screen,
    `terms` are the names that it explains.
    """

    title: str
    facts: Mapping[str, Any]
    sections: tuple[Section, ...]
    first: First | None = None
    terms: Mapping[str, Term] = field(default_factory=lambda: TERMS)

    def html(self) -> str:
        """The page."""
        audience = self.facts["audience"]
        return page(self.title, self.sections, audience, first=self.first, terms=self.terms)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file, whole or not at all."""
        write_file(path, self.html().encode())


def origin_section(facts: Mapping[str, Any]) -> Section:
    origin = facts["origin"]
    rows = [
        ("command", origin["command"] or None),
        ("made", origin["made"]),
        *((f"version of {name}", version) for name, version in origin["versions"].items()),
    ]
    files = [
        (path, kind, digest)
        for kind, part in (("read", "inputs"), ("written", "outputs"))
        for path, digest in origin[part].items()
    ]
    required = ", ".join(one["requirement"] for one in facts.get("asked", ()))
    certificate = [*([("required", required)] if required else []), *_verdict(facts)]
    tables = [
        Table("Certificate", ("what", "finding"), tuple(certificate)),
        Table("To repeat it", ("what", "value"), tuple(rows)),
    ]
    if files:
        tables.insert(1, Table("Files", ("file", "use", "sha256"), tuple(files)))
    return Section("Certificate, and how to repeat this", (), tuple(tables))


def released_section(facts: Mapping[str, Any]) -> Section:
    """What of a certificate may be handed out: the release's own hashes, and none of its input."""
    required = ", ".join(one["requirement"] for one in facts.get("asked", ()))
    rows = [
        *([("required", required)] if required else []),
        *_verdict(facts),
        ("version of anon", facts["origin"]["versions"]["anon"]),
    ]
    tables = [Table("Certificate", ("what", "finding"), tuple(rows))]
    if facts["origin"]["released"]:
        released = tuple(facts["origin"]["released"].items())
        tables.append(Table("Files of the release", ("file", "sha256"), released))
    return Section("Certificate", (), tuple(tables))


def _verdict(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The verdict, and each fact that qualifies it."""
    qualified = facts.get("decision", {}).get("facts", ())
    return [("verdict", facts["verdict"]), *(("but", fact) for fact in qualified)]


def shortened(cell: Any) -> Any:
    text = cell if cell is None else str(cell)
    return text if text is None or len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]} …"


def _sha256(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
