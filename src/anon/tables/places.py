# SPDX-License-Identifier: Apache-2.0
"""Databases as users name them: a PostgreSQL URI, an SQLite or DuckDB file, and the tables inside.

A URI says where a database is, and who asks; neither is ever repeated. It holds no password.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import unquote

from anon.errors import Parameter, UsageError
from anon.tables.formats import file_name

Kind = Literal["PostgreSQL", "SQLite", "DuckDB"]

SCHEMES = ("postgresql", "postgres")
KIND_OF_SUFFIX: dict[str, Kind] = {
    ".sqlite": "SQLite",
    ".sqlite3": "SQLite",
    ".db": "SQLite",
    ".duckdb": "DuckDB",
    ".ddb": "DuckDB",
}
TABLE = Parameter("table=", "--table")
RELEASE_TABLE = Parameter("table=", "--release-table")
SECRETS = {"password", "sslpassword"}
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):/")
_URI = re.compile(rf"\b(?:{'|'.join(SCHEMES)}):/\S*", re.IGNORECASE)
_PART = re.compile(r'\s*(?:"((?:[^"]|"")+)"|([^".]+))\s*(\.|$)')


@dataclass(frozen=True, repr=False)
class Place:
    """A database: `where` is the URI of PostgreSQL's, and otherwise the path of the file."""

    kind: Kind
    where: str

    def __str__(self) -> str:
        """What a message may say of it."""
        if self.kind == "PostgreSQL":
            return "the PostgreSQL database"
        return f"{self.kind} {file_name(Path(self.where))}"

    __repr__ = __str__


def place_of(source: Any) -> Place | None:
    """The PostgreSQL database of a URI, or that of a file by its first bytes; None for what is neither.

    Raises UsageError for a URI that holds a password, and for one of something that is not read.
    """
    if not isinstance(source, str | os.PathLike):
        return None
    text = os.fspath(source)
    scheme = _SCHEME.match(text) if isinstance(text, str) else None
    if scheme is None or os.path.exists(text):
        return _of_file(text)
    if scheme[1].lower() in SCHEMES:
        if isinstance(source, os.PathLike):
            raise UsageError("a path cannot hold the URI of a database: give it as text")
        check_no_password(text)
        return Place("PostgreSQL", text)
    if text.startswith(f"{scheme[1]}://"):
        raise UsageError(
            f"{scheme[1].lower()}:// is nothing that is read here: name a file (Parquet, SQLite, DuckDB and "
            "others), or a PostgreSQL database as postgresql://"
        )
    return None


def target_of(output: Any) -> Place | None:
    """As `place_of`, of what is to be written: a file that is not there is told by its suffix."""
    place = place_of(output)
    if place is not None or not isinstance(output, str | os.PathLike) or os.path.exists(output):
        return place
    kind = KIND_OF_SUFFIX.get(Path(os.fsdecode(output)).suffix.lower())
    return None if kind is None else Place(kind, os.fsdecode(output))


def is_uri(source: str) -> bool:
    """Whether it is the URI of a PostgreSQL database."""
    return re.match(f"({'|'.join(SCHEMES)})://", source, re.IGNORECASE) is not None


def shown(text: str) -> str:
    """A source, an output or a message as it may be told and kept: URIs without what they say."""
    return _URI.sub("postgresql://…", text)


def parts_of(name: str) -> tuple[str | None, str]:
    """`table` or `schema.table` as schema and table; a part in double quotes may hold anything."""
    parts, at = [], 0
    while at < len(name) and (match := _PART.match(name, at)) is not None:
        parts.append(match[2].strip() if match[1] is None else match[1].replace('""', '"'))
        at = match.end()
        if not match[3]:
            break
        if at == len(name):
            parts.append("")
    if at < len(name) or not 1 <= len(parts) <= 2 or not all(parts):
        raise UsageError(
            f"{name!r} names no table: write table or schema.table, with double quotes around a part that "
            "holds a dot or a quote"
        )
    return (parts[0], parts[1]) if len(parts) == 2 else (None, parts[0])


def quoted(*parts: str | None) -> str:
    """An identifier of SQL that means these parts, whatever they hold."""
    return ".".join('"' + part.replace('"', '""') + '"' for part in parts if part is not None)


def check_no_password(source: str) -> None:
    """Raise UsageError for a URI that holds a password."""
    if not is_uri(source):
        return
    rest = source.partition("://")[2]
    before, _, query = rest.partition("?")
    keys = {unquote(each.partition("=")[0]).lower() for each in query.partition("#")[0].split("&")}
    user = re.match("[^@/]*@", rest)  # as libpq finds it
    if re.search(":.*@", before) or (user is not None and ":" in user[0]) or SECRETS & keys:
        raise UsageError(
            "the URI holds a password, which others can read in lists of processes and in files: leave it "
            "out, and set PGPASSWORD, name a service (PGSERVICE), or keep it in a password file (~/.pgpass)"
        )


def _of_file(path: str | bytes) -> Place | None:
    if not os.path.isfile(path):  # of a pipe the first bytes would be gone, or waited for
        return None
    try:
        with open(path, "rb") as file:
            first = file.read(16)
    except OSError:
        return None
    if first == b"SQLite format 3\0":
        return Place("SQLite", os.fsdecode(path))
    return Place("DuckDB", os.fsdecode(path)) if first[8:12] == b"DUCK" else None
