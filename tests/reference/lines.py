# SPDX-License-Identifier: Apache-2.0
"""Twin of `anoncore.lines`: cells joined one by one."""

from __future__ import annotations

from collections.abc import Sequence


def lines(
    codes: Sequence[Sequence[int] | None],
    starts: Sequence[Sequence[int]],
    texts: Sequence[bytes],
    n_rows: int,
) -> bytes:
    """The bytes of all cells, row by row."""
    out = b""
    for row in range(n_rows):
        for of_column, start, text in zip(codes, starts, texts, strict=True):
            code = row if of_column is None else of_column[row]
            out += text[start[code] : start[code + 1]]
    return out
