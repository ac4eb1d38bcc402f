# SPDX-License-Identifier: Apache-2.0
"""Fuzzers of every reader: whatever the bytes, the end is success or an AnonError, and it comes soon.

    PYTHONPATH=src:tests python -m fuzz query_text -runs=1000000     one of them, with atheris
    PYTHONPATH=src:tests python -m fuzz -runs=1000000                all of them, one after the other

Each module has one function `target(data: bytes)`; `corpus/NAME` holds its first inputs and what was
found. `tests/house/test_fuzz.py` replays these without atheris.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

NAMES = ("job_file", "hierarchy_csv", "release_cells", "query_text", "check_tables")
CORPUS = Path(__file__).parent / "corpus"
SECONDS = 20  # an input that takes longer is a finding


class Bytes:
    """Choices made by bytes, the first of which decide first; when they end, every choice is the first."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def number(self, least: int, most: int) -> int:
        """A whole number from `least` to `most`."""
        n_bytes = ((most - least).bit_length() + 7) // 8
        taken = self.data[self.at : self.at + n_bytes]
        self.at += n_bytes
        return least + int.from_bytes(taken, "little") % (most - least + 1)

    def pick(self, choices: Any) -> Any:
        """One of a sequence."""
        return choices[self.number(0, len(choices) - 1)]

    def text(self) -> str:
        """Up to twelve bytes, which need not be ASCII."""
        length = self.number(0, 12)
        taken = self.data[self.at : self.at + length]
        self.at += length
        return taken.decode("utf-8", "replace")

    def rest(self) -> str:
        """All that is left, as text."""
        return self.data[self.at :].decode("utf-8", "replace")
