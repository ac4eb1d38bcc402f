# SPDX-License-Identifier: Apache-2.0
"""Lines of text against their twin."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import reference.lines as twin
from anoncore import lines


@st.composite
def columns(draw: st.DrawFn) -> tuple[list[list[int] | None], list[list[int]], list[bytes], int]:
    n_rows = draw(st.integers(0, 20))
    codes, starts, texts = [], [], []
    for _ in range(draw(st.integers(0, 4))):
        is_coded = draw(st.booleans())
        n_texts = draw(st.integers(1, 5)) if is_coded else n_rows
        cells = draw(st.lists(st.binary(max_size=40), min_size=n_texts, max_size=n_texts))
        numbers = st.lists(st.integers(0, n_texts - 1), min_size=n_rows, max_size=n_rows)
        codes.append(draw(numbers) if is_coded else None)
        starts.append(np.cumsum([0, *map(len, cells)]).tolist())
        texts.append(b"".join(cells))
    return codes, starts, texts, n_rows


@given(columns())
def test_lines_is_its_twin(drawn: tuple[list[list[int] | None], list[list[int]], list[bytes], int]) -> None:
    codes, starts, texts, n_rows = drawn
    made = lines.lines(
        [None if each is None else np.array(each, np.uint32) for each in codes],
        [np.array(each, np.int64) for each in starts],
        [np.frombuffer(each, np.uint8) for each in texts],
        n_rows,
    )
    assert made.tobytes() == twin.lines(codes, starts, texts, n_rows)


def test_two_rows() -> None:
    text = np.frombuffer(b"a,bc,", np.uint8), np.frombuffer(b"1\n22\n", np.uint8)
    starts = np.array([0, 2, 5]), np.array([0, 2, 5])
    made = lines.lines([np.array([1, 0], np.uint32), None], starts, text, 2)
    assert made.tobytes() == b"bc,1\na,22\n"


def test_a_column_of_nothing() -> None:
    nothing, starts = np.empty(0, np.uint8), np.zeros(2, np.int64)
    text = np.frombuffer(b"a\n", np.uint8)
    made = lines.lines([np.zeros(2, np.uint32)] * 2, [starts, np.array([0, 2])], [nothing, text], 2)
    assert made.tobytes() == b"a\na\n"
