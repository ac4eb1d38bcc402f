# SPDX-License-Identifier: Apache-2.0
"""Twin of `anoncore.fields`: rows by a regular expression, each whole."""

from __future__ import annotations

import re
from collections.abc import Sequence


def whole_rows(text: bytes) -> int:
    """How many bytes are rows with their ends: to the last newline behind an even number of quotes."""
    ends = [at + 1 for at in range(len(text)) if text[at : at + 1] == b"\n"]
    return max((end for end in ends if text.count(b'"', 0, end) % 2 == 0), default=0)


def fields(
    text: bytes, n_columns: int, wanted: Sequence[int], delimiter: str, missing: Sequence[bytes]
) -> list[tuple[list[int], list[bytes]]] | None:
    """Of each wanted column a number per row, -1 for missing texts, and its texts; None if not plain."""
    mark = re.escape(delimiter.encode())
    one = rb'(?:"((?:[^"]|"")*)"|([^"\r\n' + mark + rb"]*))"
    row = re.compile(mark.join([one] * n_columns) + rb"(\r?\n|\Z)")
    rows: list[list[bytes]] = []
    at = 0
    while at < len(text):
        if empty := re.compile(rb"\r?\n").match(text, at):
            at = empty.end()
            continue
        found = row.match(text, at)
        if found is None:
            return None
        at = found.end()
        parts = found.groups()[:-1]
        rows.append(
            [
                plain if quoted is None else quoted.replace(b'""', b'"')
                for quoted, plain in zip(parts[::2], parts[1::2], strict=True)
            ]
        )
    columns = []
    for column in wanted:
        texts: list[bytes] = []
        numbers = []
        for cells in rows:
            cell = cells[column]
            if cell not in missing and cell not in texts:
                texts.append(cell)
            numbers.append(-1 if cell in missing else texts.index(cell))
        columns.append((numbers, texts))
    return columns
