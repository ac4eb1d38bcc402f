# SPDX-License-Identifier: Apache-2.0
"""The other tools' names over our engine, asked what the other tools are asked, side by side."""

from __future__ import annotations

import inspect
import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import anon
from anon.compat import anonypy
from anon.compat.pycanon import anonymity, metrics, report
from peer import ask

PYCANON = """
import inspect, json, sys
import pandas as pd
from pycanon import anonymity, metrics, report
table, calls = json.load(sys.stdin)
data = pd.DataFrame(table)
def plain(value):
    if isinstance(value, (tuple, list)):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    return value.item() if hasattr(value, "item") else value
def call(name, *arguments):
    room, _, function = name.partition(".")
    arguments = [data if each == "DATA" else each for each in arguments]
    return plain(getattr(globals()[room], function)(*arguments))
print(json.dumps([call(*each) for each in calls]))
"""

ANONYPY = """
import json, sys
import anonypy
import pandas as pd
table, categorical, features, sensitive, calls = json.load(sys.stdin)
data = pd.DataFrame(table)
for name in categorical:
    data[name] = data[name].astype("category")
asked = anonypy.Preserver(data, features, sensitive)
print(json.dumps([getattr(asked, name)(**arguments) for name, arguments in calls]))
"""

SIGNATURES = """
import inspect, json, sys
from pycanon import anonymity, metrics, report
found = {}
for room in (anonymity, metrics, report):
    for name in room.__all__:
        parameters = inspect.signature(getattr(room, name)).parameters.values()
        found[f"{room.__name__.split('.')[-1]}.{name}"] = [p.name for p in parameters]
print(json.dumps(found))
"""

# The example that anonypy publishes (its README; its tests ask the same table for l = 2 and t = 0.2).
PUBLISHED = pd.DataFrame(
    [
        [6, "1", "test1", "x", 20],
        [6, "1", "test1", "x", 30],
        [8, "2", "test2", "x", 50],
        [8, "2", "test3", "w", 45],
        [8, "1", "test2", "y", 35],
        [4, "2", "test3", "y", 20],
        [4, "1", "test3", "y", 20],
        [2, "1", "test3", "z", 22],
        [2, "2", "test3", "y", 32],
    ],
    columns=["col1", "col2", "col3", "col4", "col5"],
).astype({"col2": "category", "col3": "category", "col4": "category"})


def preserver() -> anonypy.Preserver:
    return anonypy.Preserver(PUBLISHED, ["col1", "col2", "col3"], "col4")


def both(data: pd.DataFrame, *calls: tuple[Any, ...]) -> list[tuple[Any, Any]]:
    """Our answer and pycanon's to each call."""
    theirs = ask(PYCANON, [data.to_dict(orient="list"), calls])
    rooms = {"anonymity": anonymity, "metrics": metrics, "report": report}
    ours = []
    for name, *arguments in calls:
        room, _, function = name.partition(".")
        ours.append(getattr(rooms[room], function)(*(data if each == "DATA" else each for each in arguments)))
    return list(zip(ours, theirs, strict=True))


def close(ours: Any, theirs: Any) -> bool:
    """Equal, numbers within 1e-9, tuples as lists."""
    if isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(close, ours, theirs))
    if isinstance(theirs, dict):
        return list(ours) == list(theirs) and all(close(ours[key], theirs[key]) for key in theirs)
    if isinstance(theirs, float):
        return math.isclose(ours, theirs, rel_tol=1e-9, abs_tol=1e-9) or (
            math.isnan(ours) and math.isnan(theirs)
        )
    return bool(ours == theirs)


@pytest.mark.peers
def test_every_function_of_pycanon_is_here_under_its_own_signature() -> None:
    rooms = {"anonymity": anonymity, "metrics": metrics, "report": report}
    for name, parameters in ask(SIGNATURES, None).items():
        room, _, function = name.partition(".")
        if function.startswith("get_pdf"):
            continue  # a page instead: anon check --report
        assert list(inspect.signature(getattr(rooms[room], function)).parameters) == parameters, name


@pytest.mark.adult
@pytest.mark.peers
def test_the_readme_example_of_pycanon(adult_dir: Path) -> None:
    """Its README: QI and SA of the Adult data, k and the whole report."""
    quasi = ["age", "education", "occupation", "relationship", "sex", "native-country"]
    sensitive = ["salary-class"]
    data = anon.datasets.adult(adult_dir).to_pandas()
    data = data.rename(columns={"income": "salary-class"})[[*quasi, *sensitive]].sample(1500, random_state=0)
    data = data.reset_index(drop=True)
    k, values = both(
        data,
        ("anonymity.k_anonymity", "DATA", quasi),
        ("report.get_report_values", "DATA", quasi, sensitive),
    )
    assert close(*k)
    ours, theirs = values
    k_, alpha, l, entropy_l, recursive, beta, _enhanced, _delta, t = range(9)
    for position in (k_, alpha, l, entropy_l, recursive, beta, t):
        assert close(ours[position], theirs[position]), position
    # Its faults: some class lacks one of the two values, and has a gain above -ln p.
    assert ours[_delta] == math.inf > theirs[_delta]
    assert ours[_enhanced] == math.inf > theirs[_enhanced]


@pytest.mark.adult
@pytest.mark.parametrize("k", [3, 10, 20])
@pytest.mark.peers
def test_the_adult_examples_of_pycanon(adult_dir: Path, k: int) -> None:
    """Its Examples/check_adult_anonymity.py: three k-anonymous releases (ours here) and their parameters."""
    quasi, sensitive = ["age", "education", "sex"], ["occupation"]
    table = anon.datasets.adult(adult_dir).select([*quasi, *sensitive]).slice(0, 3000)
    released = anon.anonymize(table, anon.Schema(quasi, sensitive), require=[anon.KAnonymity(k)])
    data = released.to_pandas()
    roles = ("DATA", quasi, sensitive)
    answers = both(
        data,
        ("anonymity.k_anonymity", "DATA", quasi),
        ("anonymity.alpha_k_anonymity", *roles),
        ("anonymity.l_diversity", *roles),
        ("anonymity.entropy_l_diversity", *roles),
        ("anonymity.basic_beta_likeness", *roles),
        ("anonymity.t_closeness", *roles),
        ("metrics.average_ecsize", "DATA", "DATA", quasi),
        ("metrics.discernability_metric", "DATA", "DATA", quasi),
        ("metrics.sizes_ec", "DATA", quasi),
        ("metrics.average_rir", "DATA", quasi),
        ("metrics.max_rir", "DATA", quasi),
        ("metrics.sa_entropy", "DATA", "occupation"),
        ("metrics.stats_quasi_ident", "DATA", "education"),
    )
    for position, (ours, theirs) in enumerate(answers):
        assert close(ours, theirs), position
    assert answers[0][0] >= k


@pytest.mark.parametrize("gen", [True, False])
@pytest.mark.peers
def test_several_sensitive_attributes_one_of_numbers(gen: bool) -> None:
    """Its Examples with several attributes: `gen` as pycanon means it; numbers by ordered EMD."""
    rng = np.random.default_rng(4)
    data = pd.DataFrame(
        {"a": rng.choice(list("xy"), 300), "s": rng.choice(list("klm"), 300), "n": rng.integers(0, 4, 300)}
    )
    roles = ("DATA", ["a"], ["s", "n"], gen)
    names = [
        "alpha_k_anonymity",
        "l_diversity",
        "entropy_l_diversity",
        "basic_beta_likeness",
        "t_closeness",
        "delta_disclosure",
    ]
    for ours, theirs in both(data, *((f"anonymity.{name}", *roles) for name in names)):
        assert close(ours, theirs)


def test_where_pycanon_is_wrong() -> None:
    # classes a a a b and a b b c of SA shares 4/8, 3/8, 1/8
    data = pd.DataFrame({"q": list("xxxxyyyy"), "s": list("aaababbc")})
    roles = data, ["q"], ["s"]
    # l = 2; r_1/(r_2 + ...): 3/1 and 2/2, so c > 3
    assert anonymity.recursive_c_l_diversity(*roles) == (4, 2)
    assert anonymity.delta_disclosure(*roles) == math.inf  # c is absent from x
    # gains: a in x (3/4 - 1/2)/(1/2) = 1/2 <= ln 2; c in y (1/4 - 1/8)/(1/8) = 1 <= ln 8; b in y 1/3
    assert anonymity.enhanced_beta_likeness(*roles) == pytest.approx(1.0)
    # not the most frequent of their class: b of x; a and c of y
    assert metrics.classification_metric(data, data, ["q"], ["s"]) == 3 / 8
    # a tie: one of the two values is the most frequent, the other is counted
    tie = pd.DataFrame({"q": list("xx"), "s": list("ab")})
    assert metrics.classification_metric(tie, tie, ["q"], ["s"]) == 1 / 2
    # three equal shares: exp(H) = 3 exactly
    assert (
        anonymity.entropy_l_diversity(pd.DataFrame({"q": list("xxx"), "s": list("abc")}), ["q"], ["s"]) == 3
    )


@pytest.mark.peers
def test_rows_of_stars_are_a_class_like_any_other() -> None:
    """As for pycanon: `anon.check` sets them apart, and so takes k = 3 and l = 2 from class x alone."""
    data = pd.DataFrame({"q": list("xxx**"), "s": list("aabcc")})
    roles = ("DATA", ["q"], ["s"])
    answers = both(
        data,
        ("anonymity.k_anonymity", "DATA", ["q"]),
        ("anonymity.alpha_k_anonymity", *roles),
        ("anonymity.l_diversity", *roles),
        ("anonymity.entropy_l_diversity", *roles),
        ("anonymity.basic_beta_likeness", *roles),
        ("anonymity.t_closeness", *roles),
        ("metrics.average_ecsize", "DATA", "DATA", ["q"]),
        ("metrics.discernability_metric", "DATA", "DATA", ["q"]),
        ("metrics.sizes_ec", "DATA", ["q"]),
        ("metrics.average_rir", "DATA", ["q"]),
        ("metrics.max_rir", "DATA", ["q"]),
    )
    for position, (ours, theirs) in enumerate(answers):
        assert close(ours, theirs), position
    c, l = anonymity.recursive_c_l_diversity(data, ["q"], ["s"])
    assert (math.isnan(c), l) == (True, 1)


def test_an_infinite_c_is_told() -> None:
    """L = 2 in the one class of q, but in those of (q, s1) s2 has one value."""
    data = pd.DataFrame({"q": list("xxxx"), "s1": list("aabb"), "s2": list("ccdd")})
    roles = data, ["q"], ["s1", "s2"]
    assert anonymity.recursive_c_l_diversity(*roles, gen=False) == (math.inf, 2)
    assert report.get_report_values(*roles, gen=False)[2:5] == (1, 1, (math.inf, 2))


@pytest.mark.parametrize("gen", [True, False])
def test_a_report_holds_what_each_function_says_measured_once(
    monkeypatch: pytest.MonkeyPatch, gen: bool
) -> None:
    data = pd.DataFrame({"q": list("xxxxyyyy"), "s": list("aaababbc"), "n": [1, 2, 1, 2, 1, 1, 2, 2]})
    roles = data, ["q"], ["s", "n"]
    each = (
        anonymity.k_anonymity(*roles[:2]),
        anonymity.alpha_k_anonymity(*roles, gen),
        anonymity.l_diversity(*roles, gen),
        anonymity.entropy_l_diversity(*roles, gen),
        anonymity.recursive_c_l_diversity(*roles, gen=gen),
        anonymity.basic_beta_likeness(*roles, gen),
        anonymity.enhanced_beta_likeness(*roles, gen),
        anonymity.delta_disclosure(*roles, gen),
        anonymity.t_closeness(*roles, gen),
    )
    asked: list[Any] = []
    measured = anonymity.measured

    def counted(data: Any, *names: Any, **how: Any) -> Any:
        asked.append(names)
        return measured(data, *names, **how)

    monkeypatch.setattr(anonymity, "measured", counted)
    assert report.get_report_values(*roles, gen) == each
    assert len(asked) == (2 if gen else 4)  # k; (q), or (q, n) and (q, s), and (q) for the l of (c, l)


def test_suppressed_rows_count_the_whole_table() -> None:
    raw = pd.DataFrame({"q": list("xxyyz"), "s": list("ababa")})
    kept = raw.iloc[:4]
    assert metrics.discernability_metric(raw, kept, ["q"]) == 4 + 4 + 5
    assert metrics.classification_metric(raw, kept, ["q"], ["s"]) == (1 + 1 + 1) / 5
    assert metrics.average_ecsize(raw, kept, ["q"]) == 4 / (2 * 2)
    assert metrics.average_ecsize(raw, kept, ["q"], sup=False) == 5 / (2 * 2)


def test_the_reports_say_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    data = pd.DataFrame({"q": list("xxyy"), "s": list("aabb")})
    report.print_report(data, ["q"], ["s"])
    assert "k-anonymity with k = 2\n" in capsys.readouterr().out
    document = json.loads(report.get_json_report(data, ["q"], ["s"]))
    assert document["k_anonymity"] == {"k": 2}
    assert document["recursive_c_l_diversity"] == {"c": None, "l": 1}
    assert document["delta_disclosure"] == {"delta": "inf"}


def test_unknown_columns_are_named() -> None:
    data = pd.DataFrame({"q": ["x"], "s": ["a"]})
    with pytest.raises(ValueError, match=r"Values not defined: \['p'\]. Cannot be quasi-identifiers"):
        anonymity.k_anonymity(data, ["p"])
    with pytest.raises(ValueError, match=r"Values not defined: \['t'\]. Cannot be sensitive attributes"):
        anonymity.l_diversity(data, ["q"], ["t"])


def test_recursive_prints_where_c_cannot_be_told(capsys: pytest.CaptureFixture[str]) -> None:
    data = pd.DataFrame({"q": ["x", "x"], "s": ["a", "a"]})
    c, l = anonymity.recursive_c_l_diversity(data, ["q"], ["s"], imp=True)
    assert (math.isnan(c), l) == (True, 1)
    assert capsys.readouterr().out == "c for (c,l)-diversity cannot be calculated as l=1\n"


def listed(rows: list[dict[str, Any]]) -> Counter[tuple[Any, ...]]:
    """Rows as a multiset, the labels of a set in one order; 0.2.1 puts cells into lists of one."""

    def cell(value: Any) -> Any:
        value = value[0] if isinstance(value, list) else value
        return ",".join(sorted(value.split(","))) if isinstance(value, str) else value

    return Counter(tuple(cell(value) for value in row.values()) for row in rows)


def test_the_readme_example_of_anonypy() -> None:
    """Its README prints these seven rows for k = 2."""
    printed = [
        ("2-4", "2", "test3", "y", 2),
        ("2-4", "1", "test3", "y", 1),
        ("2-4", "1", "test3", "z", 1),
        ("6-8", "1", "test1,test2", "x", 2),
        ("6-8", "1", "test1,test2", "y", 1),
        ("8", "2", "test2,test3", "w", 1),
        ("8", "2", "test2,test3", "x", 1),
    ]
    rows = preserver().anonymize_k_anonymity(k=2)
    assert list(rows[0]) == ["col1", "col2", "col3", "col4", "count"]
    assert listed(rows) == Counter(printed)


@pytest.mark.peers
def test_the_examples_of_anonypy_side_by_side() -> None:
    """tests/preserver_test.py: k = 2 and l = 2 give the same rows; its t-closeness does not hold."""
    calls: list[tuple[str, dict[str, Any]]] = [
        ("anonymize_k_anonymity", {"k": 2}),
        ("anonymize_l_diversity", {"k": 2, "l": 2}),
        ("count_k_anonymity", {"k": 2}),
        ("count_l_diversity", {"k": 2, "l": 2}),
        ("anonymize_t_closeness", {"k": 2, "p": 0.2}),
    ]
    job = [
        PUBLISHED.astype(object).to_dict(orient="list"),
        ["col2", "col3", "col4"],
        ["col1", "col2", "col3"],
        "col4",
        calls,
    ]
    *same, theirs = ask(ANONYPY, job)
    for (name, arguments), rows in zip(calls, same, strict=False):
        assert listed(getattr(preserver(), name)(**arguments)) == listed(rows), name
    # Its test of t = 0.2 compares with the share of the last value: the class (2-4, 2, test3) holds two
    # y, which are 4 of 9 in the table: 5/9 away.
    assert listed(theirs)[("2-4", "2", "test3", "y", 2)] == 1
    ours = preserver().anonymize_t_closeness(k=2, p=0.2)
    assert listed(ours) != listed(theirs)
    shares = PUBLISHED["col4"].value_counts(normalize=True)
    for members in preserver().modrian.partition(k=2, p=0.2):
        inside = PUBLISHED.loc[members, "col4"].value_counts(normalize=True)
        assert 0.5 * (inside.reindex(shares.index).fillna(0) - shares).abs().sum() <= 0.2


def test_partitions_of_anonypy_hold_every_index_label_once() -> None:
    data = PUBLISHED.set_index(pd.Index(list("abcdefghi")))
    parts = anonypy.Mondrian(data, ["col1", "col2"]).partition(k=2)
    assert sorted(label for members in parts for label in members) == list("abcdefghi")
    assert all(len(members) >= 2 for members in parts)


def test_missing_values_are_shown_and_counted() -> None:
    data = pd.DataFrame(
        {
            "age": [20.0, None, 40.0, 41.0],
            "sex": pd.Categorical(["f", None, "m", "m"], categories=["f", "m", "x"]),
            "job": pd.Categorical(["cook", None, "cook", None]),
        }
    )
    rows = anonypy.Preserver(data, ["age", "sex"], "job").anonymize_k_anonymity(k=2)
    assert sum(row["count"] for row in rows) == 4
    cells = {(row["age"], row["sex"]) for row in rows}
    assert cells == {("20.0-40.0", "f,m"), ("41.0,nan", "m,nan")}  # a missing value lies beyond the last
    with pytest.warns(anon.PrivacyWarning, match="only one class"):
        counts = anonypy.Preserver(data, ["age", "sex"], "job").count_k_anonymity(k=4)
    assert [row["job"] for row in counts] == [4]


@pytest.mark.parametrize(("l", "p"), [(-1, 0.0), (0, -1.0), (0, math.nan)])
def test_a_bound_that_is_none_is_refused(l: int, p: float) -> None:
    with pytest.raises(anon.UsageError, match="at least 0"):
        anonypy.Mondrian(PUBLISHED, ["col1"], "col4").partition(k=2, l=l, p=p)
