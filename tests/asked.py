# SPDX-License-Identifier: Apache-2.0
"""Databases of tests: SQL run in them, as their owners would."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

KINDS = ("PostgreSQL", "SQLite", "DuckDB")
SUFFIX = {"SQLite": ".sqlite", "DuckDB": ".duckdb"}


class Database:
    """A database with nothing in it; `source` is what users write."""

    def __init__(self, kind: str, source: str) -> None:
        self.kind, self.source = kind, source

    def run(self, *statements: str) -> list[tuple[Any, ...]]:
        """What the last of these statements gives, all committed."""
        if self.kind == "SQLite":
            with closing(sqlite3.connect(self.source)) as connection, connection:
                for statement in statements:
                    found = connection.execute(statement).fetchall()
                return found
        if self.kind == "DuckDB":
            import duckdb

            with duckdb.connect(self.source) as connection:
                for statement in statements:
                    connection.execute(statement)
                return connection.fetchall() if connection.description else []
        import adbc_driver_postgresql.dbapi as postgresql

        with postgresql.connect(self.source) as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            rows = cursor.fetchall() if cursor.description else []
            connection.commit()
            return rows

    def tables(self) -> list[str]:
        """The names of its tables."""
        listed = {
            "SQLite": "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name",
            "DuckDB": "SELECT table_name FROM duckdb_tables() ORDER BY table_name",
            "PostgreSQL": "SELECT tablename::text FROM pg_tables WHERE schemaname = 'public' ORDER BY 1",
        }
        return [name for (name,) in self.run(listed[self.kind])]


def in_file(kind: str, folder: Path) -> Database:
    """One in a file of this folder, which is not there yet."""
    return Database(kind, str(folder / f"asked{SUFFIX[kind]}"))
