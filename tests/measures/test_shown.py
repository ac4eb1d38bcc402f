# SPDX-License-Identifier: Apache-2.0
"""What a release shows of each attribute, beside the same counted row by row."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import anon
from anon.classes import texts
from anon.measures import (
    answer,
    associations,
    distributions,
    most_frequent,
    random_queries,
    sizes_after,
    sizes_before,
    totals_only,
    widths,
)
from reference import shown as slow

HIERARCHY = {"*": {"x": ["a", "b"], "y": ["c", "d", "e"]}}
COLUMNS = {
    "number": st.one_of(st.none(), st.integers(0, 5)),
    "flat": st.one_of(st.none(), st.sampled_from("pqr")),
    "leaf": st.sampled_from("abcde"),
    "secret": st.sampled_from("stu"),
}
TABLES = st.lists(st.tuples(*COLUMNS.values()), min_size=4, max_size=14)


def released(rows: list[tuple[Any, ...]] | dict[str, Any], **how: Any) -> Any:
    if isinstance(rows, list):
        rows = dict(zip(COLUMNS, map(list, zip(*rows, strict=True)), strict=True))
    schema = anon.Schema(
        [anon.numeric("number"), "flat", anon.nominal("leaf", hierarchy=HIERARCHY)], ["secret"]
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", anon.PrivacyWarning)
        return anon.anonymize(pa.table(rows), schema, **how).published


@settings(max_examples=40, deadline=None)
@given(TABLES, st.sampled_from(["generalization", "bucketization"]))
def test_everything_is_as_counted_row_by_row(rows: list[tuple[Any, ...]], publish: str) -> None:
    assume(any(row[0] is not None for row in rows) and any(row[1] is not None for row in rows))
    published = released(rows, require=[anon.KAnonymity(2)], publish=publish)
    domains = published.original.quasi
    told = distributions(published)
    for i, domain in enumerate(domains):
        names = [*texts(domain.values), "missing"]
        after = slow.distribution(slow.spreads(published, i))
        before = slow.distribution([{int(code): 1.0} for code in published.original.quasi_codes[i]])
        shares = {row["value"]: row for row in told if row["attribute"] == domain.name}
        for code in range(domain.n_codes):
            assert shares[names[code]]["released"] == pytest.approx(after.get(code, 0))
            assert shares[names[code]]["original"] == pytest.approx(before.get(code, 0))
    found = associations(published)
    assert found.names == ("number", "flat", "leaf", "secret")
    after = [*(slow.spreads(published, i) for i in range(3)), slow.sensitive_spreads(published, 0)]
    codes = (*published.original.quasi_codes, *published.original.sensitive_codes)
    before = [[{int(code): 1.0} for code in column] for column in codes]
    for i in range(4):
        for j in range(i):
            for side, expected in ((found.original, before), (found.released, after)):
                assert side[i, j] == pytest.approx(
                    slow.cramers_v(expected[i], expected[j]), abs=1e-5, nan_ok=True
                )
                assert side[i, j] == pytest.approx(side[j, i], nan_ok=True)


@settings(max_examples=30, deadline=None)
@given(TABLES)
def test_shares_of_widths_are_counted(rows: list[tuple[Any, ...]]) -> None:
    assume(any(row[0] is not None for row in rows) and any(row[1] is not None for row in rows))
    published = released(rows, require=[anon.KAnonymity(2)])
    told = widths(published)
    for i, domain in enumerate(published.original.quasi):
        shares = {row["published"]: row["share"] for row in told if row["attribute"] == domain.name}
        assert sum(shares.values()) == pytest.approx(1)
        cells = [row.keys() - {domain.n_values} for row in slow.spreads(published, i)]
        n = len(cells)
        missing = sum(not cell for cell in cells)
        everything = sum(len(cell) == domain.n_values > 1 for cell in cells)
        single = sum(len(cell) == 1 for cell in cells) - (everything if domain.n_values == 1 else 0)
        assert shares.get("missing", 0) == pytest.approx(missing / n)
        assert shares.get("everything", 0) == pytest.approx(everything / n)
        named = "the value itself" if domain.tree is not None else "one value"
        assert shares.get(named, 0) == pytest.approx(single / n)


def test_widths_by_hand() -> None:
    table = {
        "number": [0, 1, 5, 5, 90, 99],
        "flat": list("ppqqrr"),
        "leaf": list("abcccd"),
        "secret": list("ststst"),
    }
    published = released(table, method=anon.Mondrian(), require=[anon.KAnonymity(2)])
    shares = {(row["attribute"], row["published"]): row["share"] for row in widths(published)}
    assert shares == {
        ("number", "2 values"): pytest.approx(1 / 3),
        ("number", "one value"): pytest.approx(1 / 3),
        ("number", "6 to 10 values"): pytest.approx(1 / 3),
        ("flat", "one value"): 1,
        ("leaf", "the value itself"): pytest.approx(1 / 3),
        ("leaf", "level 1"): pytest.approx(2 / 3),
    }


def test_suppressed_rows_and_reals_have_widths_too() -> None:
    table = pa.table({"x": [0.0, 0.5, 10.0, 10.2, 99.0, 100.0, None]})
    made = anon.anonymize(
        table, anon.Schema(["x"]), require=[anon.KAnonymity(2)], missing="suppress", method=anon.Mondrian()
    )
    shares = {row["published"]: row["share"] for row in widths(made.published)}
    assert shares == {
        "up to 10% of the range": pytest.approx(3 / 7),
        "more of the range": pytest.approx(3 / 7),
        "suppressed": pytest.approx(1 / 7),
    }


def test_many_values_are_told_by_ranges_and_the_most_frequent() -> None:
    rng = np.random.default_rng(0)
    table = pa.table({"n": rng.integers(0, 1000, 3000), "t": [f"label {i % 40}" for i in range(3000)]})
    made = anon.anonymize(table, anon.Schema(["n", "t"]), require=[anon.KAnonymity(5)])
    told = distributions(made.published)
    numbers, labels = ([row for row in told if row["attribute"] == name] for name in ("n", "t"))
    assert len(numbers) == len(labels) == 12
    assert labels[-1]["value"] == "29 others"
    assert numbers[0]["value"] == "0 to 83"
    for each in (numbers, labels):
        assert sum(row["original"] for row in each) == pytest.approx(1)
        assert sum(row["released"] for row in each) == pytest.approx(1)


def test_a_release_of_totals_knows_no_quasi_identifier() -> None:
    made = anon.anonymize(
        anon.datasets.census(500, 0), anon.datasets.census_schema(), require=[anon.KAnonymity(5)]
    )
    totals = totals_only(made.published)
    assert totals.classes.n_classes == 1
    workload = random_queries(made.encoded.original, 2, 0.1, 50)
    answered = answer(workload, totals)
    trivial = anon.anonymize(
        anon.datasets.census(500, 0), anon.datasets.census_schema(), method=anon.Suppress("quasi")
    )
    assert answered.estimated == pytest.approx(answer(workload, trivial).estimated)
    assert answered.average > answer(workload, made).average


def test_sizes_before_and_after_are_those_of_rows_that_look_alike() -> None:
    table = {"number": [1, 1, 2, 3], "flat": list("ppqq"), "leaf": list("aabc"), "secret": list("stst")}
    general = released(table, require=[anon.KAnonymity(2)])
    assert sorted(sizes_before(general).tolist()) == [1, 1, 2]
    assert sorted(sizes_after(general).tolist()) == sorted(general.classes.sizes.tolist())
    buckets = released(table, require=[anon.LDiversity(2)], publish="bucketization")
    assert sorted(sizes_after(buckets).tolist()) == [1, 1, 2]


def test_the_most_frequent_values_of_a_class() -> None:
    table = {
        "number": [1] * 5 + [9] * 3,
        "flat": ["p"] * 8,
        "leaf": ["a"] * 8,
        "secret": list("ssstu") + list("ttt"),
    }
    published = released(table, method=anon.Mondrian(), require=[anon.KAnonymity(3)])
    told = most_frequent(published.counts[0], 0, published.original.sensitive[0], most=2)
    assert list(told) == [
        {"value": "s", "class": 0.6, "table": 0.375},
        {"value": "t", "class": 0.2, "table": 0.5},
    ]
