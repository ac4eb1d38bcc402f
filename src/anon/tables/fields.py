# SPDX-License-Identifier: Apache-2.0
"""Plain CSV in UTF-8, read by `anoncore.fields`: what Arrow's reader reads, in half of its time.

Plain is what nearly all files are: quotes around whole fields, and as many fields in every row. All else is
left to Arrow's reader.
"""

from __future__ import annotations

import codecs
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Lock

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from anon.tables.inferred import AS_WRITTEN
from anon.threads import available_threads
from anoncore.fields import fields, whole_rows
from anoncore.threads import until_done

PIECE = 1 << 23  # bytes that are read at a time, by each thread
MOST_HEADER = 1 << 20  # bytes
MOST_READERS = 8  # threads, as all wait for the file
MOST_COLUMNS = 1000  # of more, with few rows in a piece, Arrow's reader is faster
_Bytes = npt.NDArray[np.uint8]
_Texts = tuple[npt.NDArray[np.int64], _Bytes]  # where each starts, and all


def plain_columns(
    file: pa.NativeFile,
    header: Sequence[str],
    wanted: Sequence[int],
    delimiter: str,
    null: Sequence[str],
    *,
    named: bool,
) -> list[pa.ChunkedArray] | None:
    """The `wanted` columns `AS_WRITTEN`, their numbers ascending; None where a file is not plain.

    `header` are the names of all columns, which stand in the first line if `named`. `null` are the texts that
    are missing values.
    """
    if len(wanted) > MOST_COLUMNS:
        return None
    reader = _Reader(file, len(header), np.array(wanted, np.int64), ord(delimiter), _texts_of(null))
    if not reader.starts_with(header if named else None):
        return None
    n_threads = min(available_threads(), MOST_READERS)
    until_done(
        reader.read, [(np.empty(PIECE, np.uint8),) for _ in range(n_threads)], n_threads, stop=reader.stop
    )
    if reader.failed:
        return None
    parts = [reader.parts[number] for number in range(len(reader.parts))]
    return [pa.chunked_array([part[at] for part in parts], AS_WRITTEN) for at in range(len(wanted))]


@dataclass
class _Reader:
    """Reads the rows of a file piece by piece, by several threads; none reads on once one has `failed`."""

    file: pa.NativeFile
    n_columns: int
    wanted: npt.NDArray[np.int64]
    delimiter: int
    null: _Texts
    failed: bool = False
    parts: dict[int, list[pa.Array]] = field(default_factory=dict)
    _rest: _Bytes = field(default_factory=lambda: np.empty(0, np.uint8))  # read, but of no piece yet
    _n_pieces: int = 0
    _ended: bool = False
    _seed: int = field(default_factory=lambda: secrets.randbits(64))
    _lock: Lock = field(default_factory=Lock)

    def starts_with(self, names: Sequence[str] | None) -> bool:
        """Is the first line, which is read, of these names?"""
        start = self.file.read(MOST_HEADER)
        start = start.removeprefix(codecs.BOM_UTF8)
        end = 0
        if names is not None:
            end = _first_row(start)
            line = np.frombuffer(start[:end], np.uint8)
            every, nothing = np.arange(self.n_columns), _texts_of([])
            read = fields(line, self.n_columns, every, self.delimiter, *nothing, self._seed) if end else None
            if read is None or [words.tobytes() for _, _, words in read] != [each.encode() for each in names]:
                return False
        self._rest = np.frombuffer(start[end:], np.uint8)
        return True

    def read(self, buffer: _Bytes) -> tuple[list[tuple[_Bytes]], int]:
        """Read the next piece into the buffer; the call to be made thereafter, and that one was."""
        with self._lock:
            if self._ended:
                return [], 1
            number, n_bytes = self._n_pieces, self._fill(buffer)
            self._n_pieces += 1
        piece = self._coded(buffer[:n_bytes])
        if piece is None:
            self.failed = self._ended = True
            return [], 1
        self.parts[number] = piece
        return [(buffer,)], 1

    def stop(self) -> None:
        self._ended = True

    def _fill(self, buffer: _Bytes) -> int:
        """How many bytes of whole rows are put there."""
        n_bytes = len(self._rest)
        buffer[:n_bytes] = self._rest
        into = buffer.data
        while n_bytes < len(buffer) and (more := self.file.readinto(into[n_bytes:])):
            n_bytes += more
        if n_bytes < len(buffer):
            self._ended = True
            return n_bytes
        end = whole_rows(buffer)
        if end == 0:  # a row that is longer
            self.failed = self._ended = True
        self._rest = buffer[end:].copy()
        return end

    def _coded(self, text: _Bytes) -> list[pa.Array] | None:
        """The columns of a piece; None where it is not plain."""
        read = fields(text, self.n_columns, self.wanted, self.delimiter, *self.null, self._seed)
        try:
            return None if read is None else [_dictionary(*each) for each in read]
        except pa.ArrowInvalid:  # no UTF-8
            return None


def _first_row(text: bytes) -> int:
    """How many bytes are the first row with its end: a newline outside of quotes; 0 if none is."""
    end = n_quotes = 0
    while newline := text.find(b"\n", end) + 1:
        n_quotes += text.count(b'"', end, newline)
        end = newline
        if n_quotes % 2 == 0:
            return end
    return 0


def _texts_of(texts: Sequence[str]) -> _Texts:
    """Texts as they stand within quotes."""
    each = [text.replace('"', '""').encode() for text in texts]
    return np.cumsum([0, *map(len, each)]), np.frombuffer(b"".join(each), np.uint8)


def _dictionary(codes: npt.NDArray[np.int32], starts: npt.NDArray[np.int64], words: _Bytes) -> pa.Array:
    """Numbers of texts, -1 for no value, `AS_WRITTEN`; ArrowInvalid where a text is no UTF-8."""
    offsets = pa.py_buffer(starts.astype(np.int32))
    texts = pa.Array.from_buffers(pa.string(), len(starts) - 1, [None, offsets, pa.py_buffer(words)])
    texts.validate(full=True)
    is_valid = None
    if len(codes) and codes.min() < 0:
        is_valid = pa.py_buffer(np.packbits(codes >= 0, bitorder="little"))
    numbers = pa.Array.from_buffers(pa.int32(), len(codes), [is_valid, pa.py_buffer(codes)])
    return pa.DictionaryArray.from_arrays(numbers, texts, safe=False)
