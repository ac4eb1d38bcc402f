# SPDX-License-Identifier: Apache-2.0
"""Bytes to Arrow and back: Parquet, Feather, CSV, data frames, streams of batches, whole files, databases.

`read_source` gives a `Source`, a table in memory or a `Scan` of files; `replacing` writes files whole or not
at all, `new_table` a table of a database. Knows nothing of privacy.
"""

from anon.tables.columns import check_publishable, takeable
from anon.tables.databases import Target, check_target, identities, new_table
from anon.tables.durations import duration_texts, ticks_of_duration
from anon.tables.files import (
    content_of,
    not_written,
    opened,
    remove_leftovers,
    replacing,
    write_file,
    write_new,
)
from anon.tables.formats import files_of
from anon.tables.lines import CsvWriter
from anon.tables.places import Place, check_no_password, is_uri, place_of, shown, target_of
from anon.tables.programs import (
    PROGRAM_OF_SUFFIX,
    Labels,
    Program,
    check_held,
    labels_of,
    write_program,
)
from anon.tables.read import OF_CSV, as_written, read_local, read_source, read_table, reading
from anon.tables.scan import BATCH_ROWS, Scan, ahead, nameless
from anon.tables.source import Source
from anon.tables.sql_types import written
from anon.tables.written import thousands_pattern

__all__ = [
    "BATCH_ROWS",
    "OF_CSV",
    "PROGRAM_OF_SUFFIX",
    "CsvWriter",
    "Labels",
    "Place",
    "Program",
    "Scan",
    "Source",
    "Target",
    "ahead",
    "as_written",
    "check_held",
    "check_no_password",
    "check_publishable",
    "check_target",
    "content_of",
    "duration_texts",
    "files_of",
    "identities",
    "is_uri",
    "labels_of",
    "nameless",
    "new_table",
    "not_written",
    "opened",
    "place_of",
    "read_local",
    "read_source",
    "read_table",
    "reading",
    "remove_leftovers",
    "replacing",
    "shown",
    "takeable",
    "target_of",
    "thousands_pattern",
    "ticks_of_duration",
    "write_file",
    "write_new",
    "write_program",
    "written",
]
