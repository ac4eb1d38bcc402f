# SPDX-License-Identifier: Apache-2.0
"""What databases refuse, in words of ours: no host, no user, no password, no value."""

from __future__ import annotations

import re
from typing import Any

from anon.errors import DataError
from anon.tables.places import Place

_CONNECTING = (  # what libpq says, and what is said here
    (
        "password|authentication failed",
        "refuses the user or the password: set PGUSER and PGPASSWORD, name a service (PGSERVICE), or keep "
        "the password in a password file (~/.pgpass)",
    ),
    ('database ".*" does not exist', "does not exist on that server; name one that does"),
    ('role ".*" does not exist', "does not know that user; name one in the URI or PGUSER"),
    ("translate host name", "is on a host that is not known; look at the URI or PGHOST"),
    (
        "refused|No such file|unreachable|timeout|timed out",
        "does not answer; look at the host and the port in the URI, PGHOST and PGPORT",
    ),
    ("pg_hba", "does not admit this user from this machine; ask who runs it"),
    ("SSL|certificate|TLS", "refuses the encryption asked for; look at sslmode in the URI or PGSSLMODE"),
    ("service", "is named by a service that is not known; look at PGSERVICE and ~/.pg_service.conf"),
    (
        "URI|option|port number",
        "has a URI that libpq does not read; write postgresql://USER@HOST:PORT/DATABASE",
    ),
    ("too many", "has no connection left; try again later"),
)
_STATES = (  # PostgreSQL's SQLSTATE, by how it begins
    ("25006", "a query may only read"),
    ("0A", "the query asks for what cannot be done there, such as changing a table; correct it"),
    ("42501", "no right to do that; ask the owner of the table or the schema for it"),
    ("42P07", "another program made a table of that name meanwhile; name another, or replace it"),
    ("2BP01", "views or other tables need the table that would be replaced; drop them, or name another"),
    ("3F", "there is no such schema; name one that is there"),
    ("21", "a subquery gives more than one row where one is needed; correct the query"),
    ("22021", "a text holds a zero byte, which PostgreSQL does not take; recode it, or write Parquet"),
    ("22", "a value does not fit what the query makes of it; correct the query"),
    ("40", "another transaction was in the way; start again"),
    ("53", "the server has no room left (disk, memory or connections)"),
    ("54", "too many columns, or a query that is too long, for PostgreSQL"),
    ("55P03", "the table is locked by another program; try again later"),
    ("57", "the server ended the query; try again, or ask who runs it"),
)
_IN_FILES = (  # what SQLite and DuckDB say
    ("not a database|not a valid DuckDB|malformed|corrupt", "is damaged, encrypted, or no {kind} file"),
    ("newer version|storage version", "was written by another version of {kind}; upgrade it"),
    ("locked|busy|lock on file|Conflicting lock", "is in use by another program; close it there"),
    ("different configuration", "is open in this program; close that connection"),
    ("is full|out of disk|No space", "has no room left on its disk"),
    (
        "read-?only mode|readonly|read-only",
        "may only be read: a query changes nothing, and a release needs a file that can be written",
    ),
    ("disabled by configuration|Permission Error", "is read alone: no other files and no network"),
    ("unable to open|failed to open|Permission denied|Cannot open", "cannot be opened; look at its rights"),
    ("Could not decode", "holds text that is not UTF-8; cast it to BLOB in a query, or recode it"),
    ("Conversion Error|Out of Range|datatype mismatch", "holds a value that does not fit; correct the query"),
    ("Dependency Error|depend", "has views or tables that need the one to be replaced; drop them"),
    ("already (exists|another)", "got a table of that name from another program meanwhile"),
)
_OF_THE_QUERY = (  # these speak of the words of a query alone
    r'^(?P<said>near ".*": syntax error|incomplete input|no such .*|ambiguous column .*|unknown .*)$',
    r"(?P<said>[Yy]ou can only execute one statement at a time)",
    r"(?P<said>(Parser|Binder|Catalog) Error: .+)",
)


def refusal(error: Any, place: Place) -> DataError:
    """The error of a driver as one of ours."""
    state = getattr(error, "sqlstate", None)
    if place.kind == "PostgreSQL":
        return _of_postgresql(error, place, state)
    text = str(error)
    for pattern, words in _IN_FILES:
        if re.search(pattern, text, re.IGNORECASE):
            return DataError(f"{place} {words.format(kind=place.kind)}")
    for pattern in _OF_THE_QUERY:
        if match := re.search(pattern, text):
            return DataError(f"{place} does not take the query: {match['said']}; correct it")
    return DataError(f"{place} cannot be read or written; look at it with a program of {place.kind}")


def _of_postgresql(error: Any, place: Place, state: str | None) -> DataError:
    if not state:
        for pattern, words in _CONNECTING:
            if re.search(pattern, str(error)):
                return DataError(f"{place} {words}")
        return DataError(f"{place} cannot be reached; look at the URI, and at PGHOST and PGPORT")
    for start, words in _STATES:
        if state.startswith(start):
            return DataError(f"{place}: {words} (SQLSTATE {state})")
    if state.startswith("42"):  # of the words of the query, never of values
        said = dict(getattr(error, "details", ())).get(b"PG_DIAG_MESSAGE_PRIMARY", b"it is no query")
        said = said.decode(errors="replace")
        return DataError(f"{place} does not take the query: {said}; correct it (SQLSTATE {state})")
    return DataError(f"{place} ended with SQLSTATE {state}; try again, or ask who runs it")
