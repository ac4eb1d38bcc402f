# SPDX-License-Identifier: Apache-2.0
"""Bytes to Arrow and back: Parquet, Feather, CSV, data frames, streams of batches, whole files.

`read_source` gives a `Source`, a table in memory or a `Scan` of files; `replacing` writes files whole or not
at all. Knows nothing of privacy.
"""

from anon.tables.columns import check_publishable, takeable
from anon.tables.files import content_of, not_written, opened, remove_leftovers, replacing, write_new
from anon.tables.read import as_written, read_local, read_source, read_table, reading
from anon.tables.scan import BATCH_ROWS, Scan, ahead, nameless
from anon.tables.source import Source
from anon.tables.written import thousands_pattern

__all__ = [
    "BATCH_ROWS",
    "Scan",
    "Source",
    "ahead",
    "as_written",
    "check_publishable",
    "content_of",
    "nameless",
    "not_written",
    "opened",
    "read_local",
    "read_source",
    "read_table",
    "reading",
    "remove_leftovers",
    "replacing",
    "takeable",
    "thousands_pattern",
    "write_new",
]
