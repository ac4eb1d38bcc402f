# SPDX-License-Identifier: Apache-2.0
"""`numeric="level"`: levels that nest are a tree that cuts and cells follow."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anon
from anon.encoding import encode
from anon.schema import lca, nested
from anoncore import recut
from anoncore.attribute import Attribute
from anoncore.curve import Widths, place

METHODS = [
    anon.Mondrian(),
    anon.Mondrian(cuts="median"),
    anon.Curve(),
    anon.KMembers(),
    anon.TGC(w_u=1, w_p=0),
]


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", anon.PrivacyWarning)
        yield


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_ages_are_cut_between_intervals(method: anon.Method) -> None:
    table = pa.table({"age": [38, 39, 40, 41, 42, 43]})
    schema = anon.Schema([anon.numeric("age", anon.intervals(5))])
    release = anon.anonymize(
        *(table, schema), require=[anon.KAnonymity(2)], method=method, numeric="level", order="input"
    )
    assert release.table["age"].to_pylist() == ["[35, 40)"] * 2 + ["[40, 45)"] * 4
    assert release.utility().gcp == pytest.approx((2 * 1 + 4 * 3) / 5 / 6)


NESTED = [(5,), (5, 10, 20), (5, 10, 20, 100), (1, 7, 21), (0.5, 2)]
ages = st.lists(st.one_of(st.integers(-30, 120), st.none()), min_size=1, max_size=25).filter(any)


@given(ages, st.sampled_from(NESTED), st.booleans())
@settings(max_examples=150, deadline=None)
def test_the_common_node_is_the_smallest_interval(values: Any, widths: Any, floating: bool) -> None:
    column = pa.array(values, pa.float64() if floating else pa.int64())
    attribute = anon.numeric("age", anon.intervals(*widths))
    domain = encode(pa.table({"age": column}), anon.Schema([attribute])).quasi[0]
    levels, positions = domain.levels, domain.positions
    assert levels is not None
    assert positions is not None
    found = nested(attribute.hierarchy, levels, positions)
    assert found is not None
    tree, leaf = found.tree, found.leaf_of_code
    reach = float(positions[-1]) or 1.0
    finest = [
        (levels.upper[s] - levels.lower[s]) / reach
        for s in {int(levels.interval_of([c], [c])[0]) for c in range(len(positions))}
        if s >= 0
    ]
    for low in range(len(positions)):
        for high in range(low, len(positions)):
            node = int(lca(tree, leaf[[low]], leaf[[high]])[0])
            smallest = int(levels.interval_of([low], [high])[0])
            assert tree.labels[node] == (levels.labels[smallest] if smallest >= 0 else "*")
            if smallest >= 0 and leaf[low] < leaf[high]:
                wide = (levels.upper[smallest] - levels.lower[smallest]) / reach
                assert found.widths[node] >= max(wide - max(finest), 0) - 1e-12


def test_a_calendar_is_a_tree_too() -> None:
    days = np.array(["2020-01-31", "2020-02-01", "2020-02-20", "2021-03-01", "2021-03-02"], "M8[D]")
    schema = anon.Schema([anon.numeric("day", anon.dates("month", "year"))])
    release = anon.anonymize(
        *(pa.table({"day": days}), schema), require=[anon.KAnonymity(2)], numeric="level", order="input"
    )
    assert release.table["day"].to_pylist() == ["2020"] * 3 + ["2021-03"] * 2


@pytest.mark.parametrize("method", [anon.Mondrian(), anon.Curve()], ids=repr)
def test_no_age_is_lost_that_recoding_beforehand_would_keep(method: anon.Method) -> None:
    """Every interval of 10 holds k rows: cut as numbers, classes lie across intervals; 4 to 6 % are `*`."""
    rng = np.random.default_rng(0)
    table = pa.table({"age": rng.integers(0, 100, 500)})
    schema = anon.Schema([anon.numeric("age", anon.intervals(5, 10, 50))])
    release = anon.anonymize(table, schema, require=[anon.KAnonymity(20)], method=method, numeric="level")
    shown = release.table["age"].unique().to_pylist()
    assert "*" not in shown
    assert len(shown) == release.classes.n_classes >= 10


def test_fewer_ages_are_lost_than_by_levels_after_the_cuts() -> None:
    table, schema = anon.datasets.census(4000, seed=1), anon.datasets.census_schema()
    require = [anon.KAnonymity(10)]
    release = anon.anonymize(table, schema, require=require, numeric="level")
    after = anon.datasets.census_schema()
    crossed = anon.numeric("age", anon.intervals(5, 10, 20, 50))
    after = anon.Schema([crossed, *after.quasi[1:]], after.sensitive)
    with pytest.warns(anon.PrivacyWarning, match="do not nest"):
        before = anon.anonymize(table, after, require=require, numeric="level")
    assert release.utility().gcp < 0.95 * before.utility().gcp


def test_widths_that_do_not_nest_are_named_with_some_that_do() -> None:
    table = pa.table({"age": range(100)})
    how: dict[str, Any] = {"require": [anon.KAnonymity(10)], "numeric": "level"}
    with pytest.warns(anon.PrivacyWarning) as caught:
        anon.anonymize(table, anon.Schema([anon.numeric("age", anon.intervals(5, 10, 20, 50))]), **how)
    [said] = [str(one.message) for one in caught if "nest" in str(one.message)]
    assert "column 'age': intervals of 20 and of 50 do not nest" in said
    assert said.endswith("the nearest that nest are intervals(5, 10, 20, 40)")
    with warnings.catch_warnings():
        warnings.simplefilter("error", anon.PrivacyWarning)
        anon.anonymize(table, anon.Schema([anon.numeric("age", anon.intervals(5, 10, 20, 40))]), **how)


def test_sets_with_gaps_stay_numbers() -> None:
    tree = {"*": {"even": ["0", "2"], "odd": ["1", "3"]}}
    attribute = anon.numeric("x", tree)
    encoded = encode(pa.table({"x": [0, 1, 2, 3]}), anon.Schema([attribute]))
    assert encoded.by_levels().quasi[0] is encoded.quasi[0]


def test_rows_are_left_out_by_what_levels_lose() -> None:
    rng = np.random.default_rng(2)
    table = pa.table({"x": [*rng.integers(0, 40, 60).tolist(), 990]})
    schema = anon.Schema([anon.numeric("x", anon.intervals(10, 100))])
    whole, part = (
        anon.anonymize(table, schema, require=[anon.KAnonymity(8)], numeric="level", suppress=share)
        for share in (0, 0.02)
    )
    assert part.left_out == {"outliers": 1}
    assert part.utility().gcp < whole.utility().gcp


# --- the kernels

TREE = tuple(
    np.array(part, np.int32) for part in ([-1, 0, 1, 1, 0], [0, 0, 0, 1, 2], [2, 1, 0, 1, 2], [2, 3, 4])
)


def test_nodes_may_be_as_wide_as_told() -> None:
    plain = Attribute(3, tree=TREE)
    told = Attribute(3, tree=TREE, widths=[0.9, 0.25, 0, 0, 0], weight=2.0)
    assert plain.node_widths.tolist() == [1.0, 0.5, 0, 0, 0]
    widths = Widths([told])
    codes, rows = np.array([[0], [1], [0], [2]], np.uint8), np.arange(4, dtype=np.uint32)
    records = place(widths, codes, rows)
    _, _, before, after = recut.divide(widths, records, np.array([0, 4]), 1)
    assert (before / 2**28, after) == (pytest.approx(4 * 0.9), 0)
    _, _, before, _ = recut.divide(widths, records, np.array([0, 3, 4]), 4)
    assert before / 2**28 == pytest.approx(3 * 0.25)
    again = pickle.loads(pickle.dumps(told))
    assert again.node_widths.tolist() == told.node_widths.tolist()


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"widths": [1.0]}, "nodes of a tree"),
        ({"tree": TREE, "widths": [1.0, 0.5]}, "5 nodes but 2 widths"),
        ({"tree": TREE, "widths": [0.1, 0.5, 0, 0, 0]}, "at most that of the parent"),
        ({"tree": TREE, "widths": [1, np.nan, 0, 0, 0]}, "from 0 to 1"),
        ({"tree": TREE, "widths": [1, 0.5, -1, 0, 0]}, "from 0 to 1"),
        ({"tree": TREE, "widths": [1e308, 0.5, 0, 0, 0]}, "from 0 to 1"),
    ],
)
def test_widths_that_cannot_be_are_refused(how: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Attribute(3, **how)
