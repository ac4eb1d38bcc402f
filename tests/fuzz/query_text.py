# SPDX-License-Identifier: Apache-2.0
"""Queries: any text, read, written again and answered."""

from __future__ import annotations

from contextlib import suppress

import pyarrow as pa

import anon
from anon.encoding.table import encode
from anon.errors import AnonError
from anon.measures.answers import answer
from anon.measures.query_text import parse_queries
from fuzz.release_cells import COLUMNS

TABLE = pa.table(
    {name: pa.array([values[i % len(values)] for i in range(6)]) for name, (values, _) in COLUMNS.items()}
)
SCHEMA = anon.Schema([attribute for name, (_, attribute) in COLUMNS.items() if name != "text"], ["text"])
ENCODED = encode(TABLE, SCHEMA, n_threads=1)
RELEASE = anon.anonymize(TABLE, SCHEMA, require=[anon.KAnonymity(3)], n_threads=1)


def target(data: bytes) -> None:
    """Read a query and answer it; what is written of it is the same query."""
    with suppress(AnonError):
        workload = parse_queries(ENCODED, [data.decode("utf-8", "replace")])
        again = parse_queries(ENCODED, [workload.text(0)])
        first, second = (answer(each, RELEASE, n_threads=1) for each in (workload, again))
        assert first.to_dict() == second.to_dict()
