# SPDX-License-Identifier: Apache-2.0
"""COUNT workloads: how they are drawn, read and answered, on tables worked by hand."""

from __future__ import annotations

import datetime
import math
import warnings
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anon
from anon.encoding.domain import Encoded
from anon.encoding.table import encode
from anon.measures.answers import answer, normalized_errors
from anon.measures.queries import Workload
from anon.measures.query_text import parse_queries
from anon.measures.workload import n_chosen, preset, random_queries, selections


def released(table: dict[str, Any] | pa.Table, schema: anon.Schema, **how: Any) -> anon.Release:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", anon.PrivacyWarning)
        return anon.anonymize(pa.table(table), schema, **how)


def counted(table: dict[str, Any], schema: anon.Schema, *queries: str) -> list[int]:
    """True counts of queries as text."""
    release = released(table, schema, method=anon.Identity())
    return answer(parse_queries(release.encoded, queries), release).true.tolist()


# Text

PEOPLE = {
    "age": [17, 20, 39, 40, 41, 90, None],
    "sex": ["Male", "Female", "Male", "Male", None, "Female", "Male"],
    "paid per hour": [1.5, 2.0, 2.5, 2.5, 10.0, 0.5, None],
    "s": ["a", "b", "a & b", "b", "x, y", "b", None],
}
SCHEMA = anon.Schema(["age", "sex", "paid per hour"], ["s"])


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("age>=40 & sex=Male", 1),
        ("age >= 40", 3),
        ("age>40", 2),
        ("age<40", 3),
        ("age <= 39.5", 3),
        ("age=40", 1),
        ("age=42", 0),
        ("age!=42", 6),
        ("age!=40", 5),
        ("age in [20, 40]", 3),
        ("age in {17,  40, 42, 43}", 2),
        ("age>17 & age<41 & age!=39", 2),
        ("age>1000", 0),
        ("sex!=Male", 2),
        ("sex in {Male, Female}", 6),
        ("sex=Male & s=b", 1),
        ('s="a & b"', 1),
        ("s=x, y", 1),
        ('s in {"x, y", b}', 4),
        ("paid per hour>2", 3),
        ('"paid per hour">=2', 4),
        ("paid per hour in [2.0, 2.5]", 3),
        ("s!=b", 3),
    ],
)
def test_queries_as_text(query: str, count: int) -> None:
    assert counted(PEOPLE, SCHEMA, query) == [count]


def test_nodes_and_other_types_in_text() -> None:
    days = [datetime.date(2020, 1, 15), datetime.date(2020, 3, 31), datetime.date(2020, 4, 1)]
    table = pa.table(
        {
            "day": days,
            "moment": pa.array([0, 1_500, 86_400_000], pa.timestamp("ms")),
            "price": [Decimal("1.50"), Decimal("2.25"), Decimal("-3.00")],
            "grade": ["low", "high", "mid"],
            "job": ["a1", "a2", "b1"],
            "age": [3, 12, 18],
        }
    )
    schema = anon.Schema(
        [
            anon.numeric("day", hierarchy=anon.dates("quarter")),
            "moment",
            "price",
            anon.ordinal("grade", order=["low", "mid", "high", "top"]),
            anon.nominal("job", hierarchy={"*": {"A": ["a1", "a2"], "B": ["b1"]}}),
            anon.numeric("age", hierarchy=anon.intervals(10)),
        ]
    )
    answers = {
        "day<=2020-03-31": 2,
        "day=2020-Q1": 2,
        "day!=2020-Q1": 1,
        "moment>=1970-01-01T00:00:01.5": 2,
        "price<2.25": 2,
        "price in [1.495, 1.505]": 1,
        "grade>=mid": 2,
        "grade in {low, high}": 2,
        "job=A": 2,
        "job!=A": 1,
        "job in {a2, B}": 2,
        'age="[10, 20)"': 2,
        'age in {"[0, 10)", 18}': 2,
        "age!=[10, 20)": 1,
    }
    assert counted(table, schema, *answers) == list(answers.values())


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("", "joined by"),
        ("age>=40 && sex=Male", "joined by"),
        ("age", "no condition"),
        ("wage=3", "'wage'"),
        ("age=old", "no int64"),
        ("sex>Male", "no order"),
        ("sex=Mail", "'Mail'"),
        ("age in 3", "takes a set"),
        ("age in [1, 2, 3]", "two ends"),
        ("sex in {Male,, Female}", "list"),
        ('sex="Male', "joined by|condition"),
        ('sex="\\x"', "JSON"),
        ("s=b & t=c", "more than one sensitive"),
    ],
)
def test_unreadable_queries_name_themselves(query: str, message: str) -> None:
    encoded = encode(pa.table(PEOPLE | {"t": list("cdcdcdc")}), anon.Schema(SCHEMA.quasi, ["s", "t"]))
    with pytest.raises(anon.UsageError, match=f"query 2: .*({message})"):
        parse_queries(encoded, ["age=40", query])


def test_a_workload_reads_back_from_its_text() -> None:
    rng = np.random.default_rng(0)
    table = {
        "age": rng.integers(0, 50, 200),
        "hours worked": rng.normal(size=200).round(2),
        "q": rng.choice(['a"b', "c, d", "x & y", "é", "in"], 200).tolist(),
        "s": rng.choice(["u", "v=1", "w"], 200).tolist(),
    }
    release = released(table, anon.Schema(["age", "hours worked", "q"], ["s"]), require=[anon.KAnonymity(5)])
    workload = random_queries(release.encoded, 2, 0.2, 50)
    texts = [workload.text(i) for i in range(50)]
    again = parse_queries(release.encoded, texts)
    assert [again.text(i) for i in range(50)] == texts
    one, other = answer(workload, release), answer(again, release)
    assert np.array_equal(one.true, other.true)
    assert one.estimated == pytest.approx(other.estimated, rel=1e-12)
    assert np.array_equal(one.least, other.least)
    assert np.array_equal(one.most, other.most)


# Drawing


def test_the_number_of_values_is_decided_exactly() -> None:
    """It is ceil(|D| sel^(1/power)): 0.001^(1/3) is a tenth, however floats round."""
    assert n_chosen(10, Fraction(1, 1000), 3) == 1
    assert n_chosen(20, Fraction(1, 1000), 3) == 2
    assert n_chosen(21, Fraction(1, 1000), 3) == 3
    assert n_chosen(7, Fraction(1), 4) == 7
    assert n_chosen(1, Fraction(1, 100), 4) == 1
    for n_values in range(1, 40):
        assert n_chosen(n_values, Fraction("0.05"), 5) == math.ceil(n_values * 0.05**0.2)
        assert n_chosen(n_values, Fraction("0.3"), 1) == math.ceil(Fraction(3, 10) * n_values)


def some_table(n: int = 300, seed: int = 0) -> tuple[pa.Table, anon.Schema]:
    rng = np.random.default_rng(seed)
    table = pa.table(
        {
            "age": pa.array(rng.integers(0, 30, n) * 3, mask=rng.random(n) < 0.05),
            "sex": rng.choice(["F", "M"], n).tolist(),
            "job": rng.choice(list("abcdefg"), n).tolist(),
            "s": rng.choice(list("uvwxyz"), n).tolist(),
            "t": rng.integers(0, 9, n),
        }
    )
    return table, anon.Schema(["age", "sex", anon.ordinal("job", order=list("gfedcba"))], ["s", "t"])


def widths(workload: Workload, encoded: Encoded) -> set[tuple[int, ...]]:
    """Values per condition, 0 where there is none."""
    lengths = set()
    for i in range(len(workload)):
        row = []
        for predicates, chosen in zip(
            (*workload.quasi, *workload.sensitive), (*workload.chosen[i], *workload.asked[i]), strict=True
        ):
            if chosen < 0:
                row.append(0)
                continue
            runs = slice(predicates.offsets[chosen], predicates.offsets[chosen + 1])
            n_codes = int((predicates.last[runs].astype(int) - predicates.first[runs] + 1).sum())
            if predicates.domain.kind != "nominal":
                assert len(predicates.first[runs]) == 1
            assert int(predicates.last[runs].max()) < predicates.domain.n_values
            row.append(n_codes)
        lengths.add(tuple(row))
    return lengths


def test_random_queries() -> None:
    """30 ages, 2 sexes, 7 jobs, 6 and 9 sensitive values: b by hand for qd = 2 and sel = 0.064."""
    encoded = encode(*some_table())
    workload = random_queries(encoded, 2, 0.064, 200, seed=1)
    assert len(workload) == 200
    # 0.064^(1/3) = 0.4: 12, 1, 3 and 3, 4 values
    assert widths(workload, encoded) == {
        (*quasi, *secret) for quasi in ((12, 1, 0), (12, 0, 3), (0, 1, 3)) for secret in ((3, 0), (0, 4))
    }
    literal = random_queries(encoded, 2, 0.064, 200, reading="literal", sensitive="t")
    assert widths(literal, encoded) == {(2, 1, 0, 0, 1), (2, 0, 1, 0, 1), (0, 1, 1, 0, 1)}
    only = random_queries(encoded, 1, 1, 20, attributes=["job"], sensitive="s")
    assert widths(only, encoded) == {(0, 0, 7, 6, 0)}
    assert widths(preset(encoded, "li", qd=1, sel=1), encoded) == widths(
        random_queries(encoded, 1, 1), encoded
    )


def test_the_same_seed_draws_the_same_queries_whatever_the_row_order() -> None:
    table, schema = some_table()
    rows = np.random.default_rng(5).permutation(table.num_rows)
    one = random_queries(encode(table, schema), 2, 0.05, 50, seed=7)
    other = random_queries(encode(table.take(pa.array(rows)), schema), 2, 0.05, 50, seed=7)
    assert [one.text(i) for i in range(50)] == [other.text(i) for i in range(50)]
    different = random_queries(encode(table, schema), 2, 0.05, 50, seed=8)
    assert [one.text(i) for i in range(50)] != [different.text(i) for i in range(50)]


def test_starts_of_ranges_are_uniform() -> None:
    """Ranges of 12 of 30 ages: 19 starts, each drawn."""
    encoded = encode(*some_table())
    workload = random_queries(encoded, 1, 0.16, 2000, attributes=["age"])
    starts = np.bincount(workload.quasi[0].first[workload.chosen[:, 0]], minlength=19)
    assert len(starts) == 19
    assert starts.min() > 60


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"qd": 0, "sel": 0.1}, "qd"),
        ({"qd": 4, "sel": 0.1}, "qd"),
        ({"qd": 1, "sel": 0}, "sel"),
        ({"qd": 1, "sel": 1.1}, "sel"),
        ({"qd": 1, "sel": 0.1, "attributes": ["jobb"]}, "jobb"),
        ({"qd": 1, "sel": 0.1, "sensitive": "age"}, "age"),
        ({"qd": 1, "sel": 0.1, "reading": "mine"}, "reading"),
    ],
)
def test_impossible_workloads_are_refused(how: dict[str, Any], message: str) -> None:
    with pytest.raises(anon.UsageError, match=message):
        random_queries(encode(*some_table()), **how)
    with pytest.raises(anon.UsageError, match="sensitive"):
        random_queries(encode(some_table()[0], anon.Schema(["age"])), 1, 0.1)
    with pytest.raises(anon.UsageError, match="presets"):
        preset(encode(*some_table()), "anatomy")


def test_attributes_without_a_value_are_not_asked_for() -> None:
    table, schema = some_table()
    empty = table.set_column(0, table.column_names[0], pa.nulls(table.num_rows, pa.int64()))
    encoded, n = encode(empty, schema), len(schema.quasi)
    assert len(random_queries(encoded, n - 1, 0.1, 5)) == 5
    with pytest.raises(anon.UsageError, match=f"qd must be from 1 to {n - 1}"):
        random_queries(encoded, n, 0.1)
    with pytest.raises(anon.UsageError, match=f"{table.column_names[0]!r} is null in every row"):
        random_queries(encoded, 1, 0.1, attributes=[table.column_names[0]])


def test_ranges_of_loukides_and_shao() -> None:
    """Each query holds its share, and without its last step would not."""
    rng = np.random.default_rng(3)
    n = 4000
    table = {
        "years": np.clip(rng.normal(40, 12, n), 17, 90).astype(int),
        "sex": rng.choice(["F", "M"], n).tolist(),
        "income": rng.choice(["low", "high", "giant"], n, p=[0.7, 0.29, 0.01]).tolist(),
    }
    encoded = encode(pa.table(table), anon.Schema(["years", "sex", "income"]))
    names = ["years", "sex", "income"]
    workload = preset(encoded, "loukides-1", n=300, attributes=names)
    assert len(workload) == 300
    release = released(table, anon.Schema(names), method=anon.Identity())
    true = answer(workload, release).true
    assert true.min() >= 60  # 1.5 % of 4,000
    assert not any("giant" in workload.text(i) for i in range(300))  # unreachable, drawn again
    ages = encoded.quasi_codes[0]
    for i in range(300):
        runs = workload.quasi[0]
        p = workload.chosen[i, 0]
        low, high = int(runs.first[runs.offsets[p]]), int(runs.last[runs.offsets[p]])
        inside = np.ones(n, bool)
        for a in (1, 2):
            inside &= encoded.quasi_codes[a] == workload.quasi[a].first[workload.chosen[i, a]]
        narrower = [np.sum(inside & (ages >= a) & (ages <= b)) for a, b in ((low + 1, high), (low, high - 1))]
        assert low == high or min(narrower) < 60
    unique = encode(pa.table(table | {"income": list(map(str, range(n)))}), anon.Schema(names))
    with pytest.raises(anon.UsageError, match="60 rows"):
        preset(unique, "loukides-1", attributes=names)
    with pytest.raises(anon.UsageError, match="names"):
        preset(encoded, "loukides-2", attributes=names)
    with pytest.raises(anon.UsageError, match="'age'"):
        preset(encoded, "loukides-1")


# Answers by hand


def test_estimates_of_a_generalized_release() -> None:
    """Cells [1, 4] and [10, 13] of two rows; half of the lattice points of the first are 3 or more."""
    table = {"age": [1, 4, 10, 13], "s": ["x", "y", "x", "x"]}
    release = released(table, anon.Schema(["age"], ["s"]), require=[anon.KAnonymity(2)])
    queries = ["age>=3", "age>=3 & s=x", "age=12", "age in [4, 11] & s=x", "s=x", "age<=13 & s in {x, y}"]
    answers = answer(parse_queries(release.encoded, queries), release)
    assert answers.true.tolist() == [3, 2, 0, 1, 3, 4]
    assert answers.estimated.tolist() == [3.0, 2.5, 0.5, 1.25, 3.0, 4.0]
    assert answers.least.tolist() == [2, 2, 0, 0, 3, 4]
    assert answers.most.tolist() == [4, 3, 2, 3, 3, 4]
    assert answers.n_counted == 5
    assert answers.errors.tolist() == [0.0, 25.0, 25.0, 0.0, 0.0]
    assert answers.average == 10.0
    assert answers.median == 0.0
    assert answers.widths.tolist() == [2 / 3, 1 / 2, 3.0, 0.0, 0.0]
    assert answers.average_width == pytest.approx((2 / 3 + 1 / 2 + 3) / 5)
    assert answers.by_attribute() == {"age": 12.5, "s": 12.5}
    assert answers.to_dict()["n_counted"] == 5


def test_estimates_of_buckets() -> None:
    """Buckets {p, q; x, y} and {p, p, q; x, x, y}: q c / |b| and Srivastava & Weis's bounds."""
    table = {"q": ["p", "q", "p", "p", "q"], "r": [1, 1, 2, 2, 2], "s": ["x", "y", "x", "y", "x"]}
    schema = anon.Schema(["q", anon.numeric("r")], ["s"])
    how = {"require": [anon.KAnonymity(2)], "method": anon.Mondrian(split=["r"]), "publish": "bucketization"}
    release = released(table, schema, **how)
    assert sorted(release.classes.sizes.tolist()) == [2, 3]
    answers = answer(parse_queries(release.encoded, ["q=p & s=x", "r=2 & s=y", "q=q", "s=x"]), release)
    assert answers.true.tolist() == [2, 1, 2, 3]
    assert answers.estimated == pytest.approx([1 / 2 + 4 / 3, 1.0, 2.0, 3.0], rel=1e-15)
    assert answers.least.tolist() == [0 + 1, 1, 2, 3]
    assert answers.most.tolist() == [1 + 2, 1, 2, 3]


def test_floats_are_measured_by_length() -> None:
    table = {"q": [0.0, 8.0, 20.0, 20.0], "s": ["x", "x", "x", "x"]}
    release = released(table, anon.Schema(["q"], ["s"]), require=[anon.KAnonymity(2)])
    answers = answer(parse_queries(release.encoded, ["q<=2", "q=8", "q>=20", "q>20", "q<0"]), release)
    assert answers.true.tolist() == [1, 1, 2, 0, 0]
    assert answers.estimated.tolist() == [0.5, 0.0, 2.0, 0.0, 0.0]
    assert answers.most.tolist() == [2, 2, 2, 0, 0]
    assert answers.least.tolist() == [0, 0, 2, 0, 0]


def test_suppressed_rows_are_missing_from_estimates() -> None:
    table = {"age": [1, 1, 9], "b": ["u", "u", None], "s": ["x", "y", "x"]}
    how = {"require": [anon.KAnonymity(2)], "missing": "suppress"}
    release = released(table, anon.Schema(["age", "b"], ["s"]), **how)
    answers = answer(parse_queries(release.encoded, ["age=9", "s=x"]), release)
    assert answers.true.tolist() == [1, 2]
    assert answers.estimated.tolist() == [0.0, 1.0]
    assert answers.average == 75.0


def test_an_unpublished_sensitive_attribute_is_refused_by_name() -> None:
    release = released(
        {"q": [1, 2], "s": ["x", "y"]}, anon.Schema(["q"], ["s"]), method=anon.Suppress("sensitive")
    )
    assert answer(selections(release.encoded, "q"), release).true.tolist() == [1, 1]
    with pytest.raises(anon.UsageError, match="'s'"):
        answer(parse_queries(release.encoded, ["q=1 & s=x"]), release)
    other = encode(pa.table({"q": [1], "r": [2]}), anon.Schema(["q", "r"]))
    with pytest.raises(anon.UsageError, match="other attributes"):
        answer(selections(other, "r"), release)


def test_normalized_errors() -> None:
    assert normalized_errors({"a": 3.0, "b": 1.0, "c": 2.0}) == {"a": 1.0, "b": 0.0, "c": 0.5}
    assert normalized_errors({"a": 3.0}) == {"a": 0.0}


@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, 2**32),
    st.sampled_from(["generalization", "bucketization"]),
    st.sampled_from(["interval", "level"]),
)
def test_estimates_add_up_to_n_and_bounds_hold(seed: int, publish: Any, numeric: Any) -> None:
    """Over a partition of every domain without nulls; true counts lie between least and most."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 80))
    table = {
        "age": rng.integers(0, 40, n),
        "length": rng.random(n).round(1),
        "job": rng.choice(list("abcd"), n).tolist(),
        "s": rng.choice(list("xyz"), n).tolist(),
    }
    tree = {"*": {"A": ["a", "b"], "B": ["c", "d"]}}
    schema = anon.Schema(
        [
            anon.numeric("age", hierarchy=anon.intervals(5, 13)),
            anon.numeric("length", hierarchy=anon.intervals(0.25)),
            anon.nominal("job", hierarchy=tree) if rng.random() < 0.5 else "job",
        ],
        ["s"],
    )
    how: dict[str, Any] = {"require": [anon.KAnonymity(3)], "publish": publish}
    release = released(table, schema, numeric=numeric if publish == "generalization" else "interval", **how)
    sides = {
        "age": ["age<7", "age in [7, 21]", "age>21"],
        "length": ["length<0.35", "length>=0.35"],
        "job": [f"job={job}" for job in sorted(set(table["job"]))],
        "s": [f"s={value}" for value in sorted(set(table["s"]))],
    }
    for names in (("age",), ("length", "s"), ("age", "job", "s"), ("age", "length", "job", "s")):
        texts = [""]
        for name in names:
            texts = [f"{text} & {each}" for text in texts for each in sides[name]]
        answers = answer(parse_queries(release.encoded, [text[3:] for text in texts]), release)
        assert answers.true.sum() == n
        assert answers.estimated.sum() == pytest.approx(n, rel=1e-9)
        assert (answers.least <= answers.true).all()
        assert (answers.true <= answers.most).all()
        assert (answers.least <= answers.estimated + 1e-9).all()
        assert (answers.estimated <= answers.most + 1e-9).all()


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(["generalization", "bucketization"]))
def test_the_original_answers_exactly_and_threads_do_not_matter(seed: int, publish: Any) -> None:
    table, schema = some_table(120, seed)
    original = released(table, schema, method=anon.Identity(), publish=publish)
    workload = random_queries(original.encoded, 2, 0.1, 40, seed=seed)
    answers = answer(workload, original)
    assert answers.errors.tolist() == [0.0] * answers.n_counted
    assert np.array_equal(answers.estimated, answers.true)
    release = released(table, schema, require=[anon.KAnonymity(4)], publish=publish)
    one, two = answer(workload, release, n_threads=1), answer(workload, release, n_threads=3)
    assert np.array_equal(one.estimated, two.estimated)
    assert np.array_equal(one.true, two.true)
    assert np.array_equal(one.most, two.most)


@pytest.mark.adult
def test_larger_selectivity_is_answered_better_on_adult(adult_dir: Path) -> None:
    """Li & Li's figure 3(b) and (c): the error falls with sel and, in Anatomy's reading, with qd."""
    table = anon.datasets.adult(adult_dir)
    names = ["age", "workclass", "education", "marital-status", "race", "sex"]
    schema = anon.Schema(names, ["occupation"])
    require = [anon.TCloseness(0.15, distance="js")]
    release = released(
        table, schema, require=require, publish="bucketization", method=anon.Mondrian(cuts="median")
    )

    def error(qd: int, sel: float, reading: Any = "anatomy") -> float:
        return answer(random_queries(release.encoded, qd, sel, 300, reading=reading), release).average

    assert error(4, 0.01) > error(4, 0.05) > error(4, 0.1)
    assert error(2, 0.05) > error(6, 0.05)
    assert error(2, 0.3, "literal") < error(4, 0.3, "literal")
