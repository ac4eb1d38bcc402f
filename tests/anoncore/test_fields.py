# SPDX-License-Identifier: Apache-2.0
"""Fields of CSV against their twin."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

import reference.fields as twin
from anoncore import fields

ODD = st.sampled_from([*'ab,;\n\r"\0 ', '""', "\r\n", "é", "a long text of more than eight bytes"])
ANYTHING = st.lists(ODD, max_size=40).map("".join)


def read(
    text: bytes,
    n_columns: int,
    wanted: Sequence[int],
    delimiter: str,
    missing: Sequence[bytes],
    seed: int = 0,
) -> list[tuple[list[int], list[bytes]]] | None:
    """What the kernel reads, as its twin tells it."""
    raw = [each.replace(b'"', b'""') for each in missing]
    found = fields.fields(
        np.frombuffer(text, np.uint8),
        n_columns,
        np.array(wanted, np.int64),
        ord(delimiter),
        np.cumsum([0, *map(len, raw)]),
        np.frombuffer(b"".join(raw), np.uint8),
        seed,
    )
    if found is None:
        return None
    return [
        (codes.tolist(), [words[a:b].tobytes() for a, b in pairwise(starts)])
        for codes, starts, words in found
    ]


@st.composite
def tables(draw: st.DrawFn) -> tuple[bytes, int]:
    """Plain CSV, written in every way that is plain, and its number of columns."""
    n_columns = draw(st.integers(2, 4))
    cells = st.one_of(
        st.text("ab é\0", max_size=20), ANYTHING.map(lambda text: '"' + text.replace('"', '""') + '"')
    )
    rows = draw(st.lists(st.lists(cells, min_size=n_columns, max_size=n_columns), max_size=10))
    ends = st.sampled_from(["\n", "\r\n", "\n\n", "\r\n\r\n"])
    text = "".join(",".join(row) + draw(ends) for row in rows)
    return (text.rstrip("\r\n") if draw(st.booleans()) else text).encode(), n_columns


@given(tables(), st.integers(0, 2**64 - 1), st.data())
def test_plain_text_is_read_as_by_the_twin(drawn: tuple[bytes, int], seed: int, data: st.DataObject) -> None:
    text, n_columns = drawn
    wanted = sorted(data.draw(st.sets(st.integers(0, n_columns - 1))))
    missing = data.draw(st.lists(st.sampled_from([b"", b"a", b'"', b'a"', b"ab"]), max_size=3))
    expected = twin.fields(text, n_columns, wanted, ",", missing)
    assert expected is not None
    assert read(text, n_columns, wanted, ",", missing, seed) == expected


@given(ANYTHING, st.integers(2, 4), st.sampled_from(",;"))
@example('a,b"', 2, ",")
@example('a,"b', 2, ",")
@example('"a"b,c', 2, ",")
@example("a", 3, ",")
@example(",", 2, ",")
@example("a,b\r", 2, ",")
@example("a,b\rc,d\n", 2, ",")
@example('"a,b\n', 2, ",")
def test_any_text_is_read_as_by_the_twin_or_refused(text: str, n_columns: int, delimiter: str) -> None:
    every = range(n_columns)
    expected = twin.fields(text.encode(), n_columns, every, delimiter, [b""])
    assert read(text.encode(), n_columns, every, delimiter, [b""]) == expected


@given(ANYTHING)
def test_whole_rows_are_those_of_the_twin(text: str) -> None:
    assert fields.whole_rows(np.frombuffer(text.encode(), np.uint8)) == twin.whole_rows(text.encode())


def test_many_texts_of_a_column_keep_their_numbers() -> None:
    texts = [f"text {i * 7919 % 3001}".encode() for i in range(5000)]
    text = b"".join(b'"%b",x\n' % each for each in texts)
    assert read(text, 2, [0], ",", []) == twin.fields(text, 2, [0], ",", [])


def test_quotes_in_texts_are_single() -> None:
    assert read(b'"a ""b""",""""\r\n,x\r\n', 2, [0, 1], ",", [b'"']) == [
        ([0, 1], [b'a "b"', b""]),
        ([-1, 0], [b"x"]),
    ]
