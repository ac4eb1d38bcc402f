# SPDX-License-Identifier: Apache-2.0
"""A table as read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pyarrow as pa

from anon.tables.csv import Csv
from anon.tables.formats import Format

if TYPE_CHECKING:
    from anon.tables.scan import Scan
Engine = Literal["local", "stream"]


@dataclass(frozen=True, repr=False)
class Source:
    """A table as read, and what a writer needs to give it back in the same form.

    `schema` holds the columns' own types: `table` may hold strings as dictionaries where that is
    how the file stores them. `format` is None and `paths` empty for a table that was in memory.
    `table` is a Scan where the rows stay in the files. `csv` is how CSV files are read, `notes`
    what its reader should look at before the table is used. `identities` tell tables of a database
    from all others.
    """

    table: pa.Table | Scan
    schema: pa.Schema
    format: Format | None = None
    paths: tuple[Path, ...] = ()
    csv: Csv | None = None
    identities: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        where = "memory" if self.format is None else f"{len(self.paths)} {self.format}"
        return f"Source({where}, n_rows={self.table.num_rows}, n_columns={self.table.num_columns})"
