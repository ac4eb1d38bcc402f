# SPDX-License-Identifier: Apache-2.0
"""The re-check of suppressed cells finds what a faulty method would publish."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anon
from anon.classes import Classes, group, value_cells
from anon.encoding import Encoded, encode
from anon.errors import RecheckError
from anon.release import recode
from anon.release.recheck import recheck_file
from anon.release.recheck_nulls import Shown, n_incompatible
from reference import nulling as twin

WILDCARD = anon.KAnonymity(2, nulls="wildcard")


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_rows_are_counted_as_by_the_twin(data: st.DataObject) -> None:
    m, n = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 8))
    value = st.sampled_from([0, 1, 2, None])
    rows = data.draw(st.lists(st.tuples(*[value] * m), min_size=n, max_size=n))
    k, size = data.draw(st.integers(1, 4)), data.draw(st.integers(1, m))
    shown = [
        Shown(
            np.array([3 if row[a] is None else row[a] for row in rows]),
            np.array([row[a] is None for row in rows]),
        )
        for a in range(m)
    ]
    cells = [list(row) for row in rows]
    below = {i for i, count in enumerate(twin.counts(cells, range(m))) if count is not None and count < k}
    one = np.ones(n, np.int64)
    assert n_incompatible(anon.KAnonymity(k, nulls="wildcard"), shown, one) == len(below)
    failing = {
        i
        for some in twin.sets_of(m, size)
        for i, count in enumerate(twin.counts(cells, some))
        if count is not None and count < k
    }
    assert n_incompatible(anon.SubsetAnonymity(k, size), shown, one) == len(failing)


def encoded(a: list[str | None], b: list[str | None]) -> Encoded:
    return encode(pa.table({"a": a, "b": b}), anon.Schema(["a", "b"]))


def shown_with(table: Encoded, masks: list[int]) -> tuple[Classes, tuple]:
    codes = [
        np.where(np.array(masks) >> a & 1, domain.n_values, column).astype(np.uint32)
        for a, (domain, column) in enumerate(zip(table.quasi, table.quasi_codes, strict=True))
    ]
    classes = group(codes)
    first = classes.rows[classes.offsets[:-1]]
    return classes, tuple(
        value_cells(domain, column[first]) for domain, column in zip(table.quasi, codes, strict=True)
    )


def test_a_row_below_k_is_found() -> None:
    table = encoded(list("112"), list("xxy"))
    recode(table, *shown_with(table, [0, 0, 1 | 2]), [WILDCARD])  # which no method publishes
    with pytest.raises(RecheckError, match="1 of 2 classes do not meet"):
        recode(table, *shown_with(table, [0, 0, 1]), [WILDCARD])
    with pytest.raises(RecheckError, match="1 of 2 classes do not meet"):
        recode(table, *shown_with(table, [0, 0, 0]), [anon.SubsetAnonymity(2, 1)])


def test_a_value_that_is_not_that_of_its_rows_is_found() -> None:
    table = encoded(list("1122"), list("xxxx"))
    classes, cells = shown_with(table, [0, 0, 0, 0])
    wrong = replace(cells[0], of_class=cells[0].of_class[::-1].copy())
    with pytest.raises(RecheckError, match="'a': a value that is not that of its rows in 2 classes"):
        recode(table, classes, (wrong, cells[1]), [WILDCARD])
    whole = Classes(np.arange(4, dtype=np.uint32), np.array([0, 4]), classes.suppressed)
    one = tuple(replace(each, of_class=each.of_class[:1]) for each in cells)
    with pytest.raises(RecheckError, match="'a': a value"):
        recode(table, whole, one, [WILDCARD])


def test_a_file_without_its_cells_is_not_said_to_pass() -> None:
    table = encoded(list("1122"), list("xxxx"))
    classes, _ = shown_with(table, [0, 0, 0, 0])
    with pytest.raises(RecheckError, match="was not tested"):
        recheck_file(classes, [], [], [WILDCARD])
