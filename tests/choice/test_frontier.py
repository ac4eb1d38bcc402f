# SPDX-License-Identifier: Apache-2.0
"""Sweeps: every point against its own release, dominance against brute force, and what is kept and shared."""

from __future__ import annotations

import ctypes
import json
import math
import os
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib.machinery import EXTENSION_SUFFIXES
from itertools import pairwise
from operator import attrgetter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anon
import anon.measures.answers
from anon.choice.configuration import Configuration, grid
from anon.choice.dominance import MEASURES, OF_ATTACKS, OF_PRIVACY, Point, dominates, undominated
from anon.choice.points import Frontier
from anon.classes import with_coded_sensitive
from anon.command.entry import main
from anon.encoding import encode
from anon.engines import make, shared_keys
from anon.entropy import KEY_BYTES, keyed
from anon.errors import DataError, InfeasibleError, RecheckError, UsageError
from anon.measures.query_text import parse_queries
from anon.methods import Common, curve, mondrian

NOT_ATTACKED = [name for name in MEASURES if name not in OF_ATTACKS]
QUASI = ["age", "sex", "education", anon.nominal("postcode", hierarchy=anon.prefix(4, 3, 2))]
SCHEMA = anon.Schema(QUASI, ["occupation"], neutral="rest")
BY_LOSS = {"privacy": "p_loss", "utility": "u_loss"}


@pytest.fixture(scope="module")
def census() -> pa.Table:
    return anon.datasets.census(600, 3)


def released(table: Any, schema: anon.Schema, one: Configuration, **options: Any) -> anon.Release:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", anon.PrivacyWarning)
        return anon.anonymize(
            table,
            schema,
            require=one.require,
            method=one.method,
            publish=one.publish,
            numeric=one.numeric,
            suppress=one.suppress,
            **options,
        )


# --- points


ASKED = [
    Configuration((anon.KAnonymity(5),)),
    Configuration((anon.KAnonymity(5),), numeric="level"),
    Configuration((anon.KAnonymity(5), anon.TCloseness(0.3)), publish="bucketization"),
    Configuration((anon.KAnonymity(8),), anon.Curve()),
    Configuration((anon.KAnonymity(8), anon.LDiversity(2, sensitive="occupation")), anon.KMembers()),
    Configuration((anon.KAnonymity(20),), anon.TGC()),
    Configuration((anon.KAnonymity(6),), anon.Microaggregation(), numeric="mean"),
    Configuration((), anon.Anatomy(3, sensitive="occupation"), publish="bucketization"),
    Configuration((anon.KAnonymity(10),), anon.Mondrian(split="information-gain", target="race")),
    Configuration((anon.KAnonymity(5),), anon.FullDomain(quality="dm"), suppress=0.1),
    Configuration((anon.KAnonymity(5), anon.TCloseness(0.3)), anon.FullDomain(iterate=0.1), suppress=0.5),
]


def measured(results: Any, name: str) -> Any:
    """A measure by its name, None where the release refuses it."""
    try:
        return attrgetter(name)(results)
    except anon.UsageError:
        return None


# what does not depend on which row went into which bucket
OF_ANY_DEAL = {"k", "c_avg", "prosecutor.max", "prosecutor.mean", "sample_uniques"}


@pytest.mark.parametrize("missing", ["category", "suppress"])
def test_every_point_is_what_anonymize_makes(missing: Any) -> None:
    """All measures of all methods, two sensitive attributes, missing values."""
    table = anon.datasets.census(300, 1)
    schema = anon.Schema(
        [anon.numeric("age", hierarchy=anon.intervals(10, 20)), *QUASI[1:]],
        ["occupation", "sex2"],
        neutral="rest",
    )
    sex2 = pa.array([None if i % 31 == 0 else "m" if i % 3 else "f" for i in range(300)])
    ages = table["age"].to_pylist()
    table = table.set_column(
        table.column_names.index("age"),
        "age",
        pa.array([None if i % 17 == 0 else a for i, a in enumerate(ages)]),
    ).append_column("sex2", sex2)
    queries = [f"age in [20, 40] & education = {json.dumps(table['education'][0].as_py())}", "age >= 60"]
    swept = anon.frontier(
        table, schema, ASKED, measures=NOT_ATTACKED, workload=queries, missing=missing, seed=7, n_threads=2
    )
    assert [point.configuration for point in swept.points] == [*ASKED, None, None]
    for point, one in zip(swept.points, ASKED, strict=False):
        if missing == "category" and isinstance(one.method, anon.TGC):  # it has no place for missing values
            with pytest.raises(DataError) as refusal:
                released(table, schema, one, missing=missing, seed=7)
            assert (point.satisfied, point.why) == (False, str(refusal.value))
            continue
        release = released(table, schema, one, missing=missing, seed=7)
        privacy, utility = release.privacy(), release.utility()
        assert point.satisfied
        assert point.why is None
        assert point.classes == release.classes.n_classes
        for name, value in point.measures.items():
            if isinstance(one.method, anon.Anatomy) and name not in OF_ANY_DEAL:
                continue
            if name == "count_error":
                expected = anon.measures.answers.answer(
                    parse_queries(release.encoded, queries), release
                ).average
            else:
                expected = measured(privacy if name in OF_PRIVACY else utility, name)
            expected = math.nan if expected is None else expected
            assert value == pytest.approx(expected, rel=1e-12, abs=1e-15, nan_ok=True), name


def test_the_special_cases_are_the_trivial_releases(census: pa.Table) -> None:
    names = [name for name in NOT_ATTACKED if name != "count_error"]
    swept = anon.frontier(census, SCHEMA, "k=10", measures=names, **BY_LOSS)
    trivial, original = swept.points[-2:]
    assert (trivial.name, original.name) == ("trivial", "original")
    for point, method in ((trivial, anon.Suppress("quasi")), (original, anon.Identity())):
        release = released(census, SCHEMA, Configuration((), method))
        privacy, utility = release.privacy(), release.utility()
        assert point.classes == privacy.n_classes
        for name in names:
            expected = measured(privacy if name in OF_PRIVACY else utility, name)
            expected = math.nan if expected is None else expected
            assert point.measures[name] == pytest.approx(expected, rel=1e-12, abs=1e-12, nan_ok=True), name
    # Li & Li 4.3
    assert (trivial.privacy, original.utility) == (0, 0)
    assert trivial.measures["gcp"] == 1
    assert original.measures["gcp"] == 0


def test_attackers_are_axes() -> None:
    table = anon.datasets.census(2000, 3).select(["age", "sex", "education", "occupation"])
    schema = anon.Schema(["age", "sex", "education"], ["occupation"])
    ask = {"configurations": "k=5,400", "privacy": "risk_inference", "measures": OF_ATTACKS}
    one, two = (anon.frontier(table, schema, **ask, n_threads=n) for n in (1, 3))
    assert [point.measures for point in one.points] == [point.measures for point in two.points]
    low, high, trivial, original = (point.measures for point in one.points)
    assert original["risk_singling_out"] > 0.9
    assert trivial["risk_singling_out"] == low["risk_singling_out"] == high["risk_singling_out"] == 0
    assert original["risk_inference"] > low["risk_inference"] > high["risk_inference"]
    assert trivial["risk_inference"] < 0.05
    assert one.points[0].privacy == low["risk_inference"]
    source = anon.frontier(table, schema, "k=2000", measures=["risk_linkability"])
    assert math.isnan(source.points[0].measures["risk_linkability"])  # not of 80 % of the people


def test_what_cannot_be_met_is_a_point_that_says_so(census: pa.Table) -> None:
    swept = anon.frontier(census, SCHEMA, "k=5,601")
    good, bad = swept.points[:2]
    assert good.satisfied
    assert not bad.satisfied
    assert not bad.efficient
    assert bad.why == "601-anonymity cannot be met: the table has 600 rows, so the largest k is 600"
    assert math.isnan(bad.privacy)
    assert not bad.measures
    assert swept.relation(good, bad) == "incomparable"


def test_a_release_that_fails_its_own_check_is_a_point_that_says_so(
    census: pa.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = sys.modules["anon.engines.local"]
    recode = module.recode

    def failing(encoded: Any, classes: Any, cells: Any, **options: Any) -> Any:
        if anon.KAnonymity(7) in options["requirements"]:
            raise RecheckError("a fault of the tool")
        return recode(encoded, classes, cells, **options)

    monkeypatch.setattr(module, "recode", failing)
    swept = anon.frontier(census, SCHEMA, "k=5,7")
    assert [point.satisfied for point in swept.points] == [True, False, True, True]
    assert swept.points[1].why == "a fault of the tool"


def test_a_method_that_fails_is_a_point_that_says_so_and_is_not_kept(
    census: pa.Table, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    module = sys.modules["anon.choice.sweep"]
    honest = module.make

    def failing(encoded: Any, method: Any, *rest: Any, **options: Any) -> Any:
        if isinstance(method, anon.KMembers):
            raise MemoryError
        return honest(encoded, method, *rest, **options)

    monkeypatch.setattr(module, "make", failing)
    asked = "k=5 method=mondrian,kmembers,curve"
    swept = anon.frontier(census, SCHEMA, asked, cache=tmp_path)
    assert [point.satisfied for point in swept.points] == [True, False, True, True, True]
    assert swept.points[1].why == "the method failed (MemoryError): run this configuration alone to see why"
    monkeypatch.setattr(module, "make", honest)
    assert all(point.satisfied for point in anon.frontier(census, SCHEMA, asked, cache=tmp_path).points)


def test_a_release_that_is_not_what_it_claims_is_found_out(
    census: pa.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The whole re-check is made for every point: classes of 2 rows do not pass for k = 5."""
    module = sys.modules["anon.choice.sweep"]
    honest = module.make

    def lying(encoded: Any, method: Any, require: Any, **options: Any) -> Any:
        weak = honest(encoded, method, [anon.KAnonymity(2)], **options)
        return replace(weak, require=tuple(require))

    monkeypatch.setattr(module, "make", lying)
    point = anon.frontier(census, SCHEMA, "k=5").points[0]
    assert not point.satisfied
    assert point.why is not None
    assert "do not meet KAnonymity(k=5)" in point.why


@pytest.mark.parametrize("n_threads", [1, 3])
def test_threads_and_the_order_of_rows_do_not_matter(census: pa.Table, n_threads: int) -> None:
    asked = [
        "k=5,20 method=mondrian,curve",
        "l=2,3 publish=bucketization",
        "k=700",
        "k=9 method=kmembers,tgc",
    ]
    shuffled = census.take(pa.array(np.random.default_rng(1).permutation(600)))
    first = anon.frontier(census, SCHEMA, asked, measures=["gcp", "count_error", "pm"], n_threads=2)
    second = anon.frontier(
        shuffled, SCHEMA, asked, measures=["gcp", "count_error", "pm"], n_threads=n_threads
    )
    for one, other in zip(first.points, second.points, strict=True):
        assert (one.name, one.classes, one.efficient) == (other.name, other.classes, other.efficient)
        assert one.measures == pytest.approx(other.measures, rel=1e-9)
    again = anon.frontier(census, SCHEMA, asked, measures=["gcp", "count_error", "pm"], n_threads=n_threads)
    assert again.points == first.points


def test_points_are_made_side_by_side(census: pa.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    import threading

    module = sys.modules["anon.choice.sweep"]
    made, both = module._made, threading.Barrier(2, timeout=120)
    special = tuple(module.SPECIAL.values())

    def meeting(sweep: Any, one: Configuration) -> Any:
        if one not in special:
            both.wait()
        return made(sweep, one)

    monkeypatch.setattr(module, "_made", meeting)
    anon.frontier(census, SCHEMA, "k=5,10", n_threads=2)


def test_progress_is_told_from_the_calling_thread(census: pa.Table) -> None:
    import threading

    calls = []
    anon.frontier(
        census,
        SCHEMA,
        "k=5,10",
        progress=lambda *step: calls.append((step, threading.current_thread())),
        n_threads=2,
    )
    steps = [step for step, _ in calls]
    assert steps == [("read", 0, 1), ("encode", 0, 1), *(("points", done, 4) for done in range(5))]
    assert {thread for _, thread in calls} == {threading.main_thread()}


def test_what_is_shared_is_computed_once(census: pa.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    module = sys.modules["anon.choice.sweep"]
    calls: dict[str, int] = {}
    for name in ("read_source", "encode", "large_populations", "true_counts", "preset"):
        thing = getattr(module, name)

        def counted(*args: Any, _name: str = name, _thing: Any = thing, **options: Any) -> Any:
            calls[_name] = calls.get(_name, 0) + 1
            return _thing(*args, **options)

        monkeypatch.setattr(module, name, counted)
    for name in ("large_populations", "true_counts"):  # nobody below computes them again
        monkeypatch.setattr(f"anon.measures.{'populations' if 'pop' in name else 'answers'}.{name}", None)
    anon.frontier(census, SCHEMA, "k=5,10,20", measures=["count_error"], **BY_LOSS)
    assert calls == dict.fromkeys(["read_source", "encode", "large_populations", "true_counts", "preset"], 1)


def test_what_points_have_in_common_is_computed_once_and_changes_no_class(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Orders along the curve and Mondrian's classes: by threads that share them as by each call alone."""
    encoded = with_coded_sensitive(encode(anon.datasets.census(900, 4), SCHEMA))
    asked = grid(
        "k=3,12 l=2 method=mondrian,curve publish=generalization,bucketization numeric=interval,level"
    )
    asked += grid("k=3,12 method=mondrian,curve")
    alone = [made_with(encoded, one) for one in asked]
    calls: list[str] = []
    for module, name in ((mondrian, "partition"), (curve, "curve_order")):
        before = getattr(module, name)

        def counted(*args: Any, _name: str = name, _before: Any = before) -> Any:
            calls.append(_name)
            return _before(*args)

        monkeypatch.setattr(module, name, counted)
    common = Common(key for one in asked for key in keys_of(one))
    with ThreadPoolExecutor(3) as pool:
        together = list(pool.map(lambda one: made_with(encoded, one, common), asked))
    for one, other in zip(alone, together, strict=True):
        assert np.array_equal(one.rows, other.rows)
        assert np.array_equal(one.offsets, other.offsets)
    # Of each k, with l also by level; one order, one by level, and those of ties that points draw anew.
    assert calls.count("partition") == 2 + 4
    assert calls.count("curve_order") == 1 + 1 + 4


def keys_of(one: Configuration) -> Any:
    return shared_keys(one.method, one.require, one.publish, one.numeric)


def made_with(encoded: Any, one: Configuration, common: Common | None = None) -> Any:
    options: Any = {"publish": one.publish, "numeric": one.numeric, "entropy": keyed(bytes(KEY_BYTES))}
    return make(encoded, one.method, one.require, **options, common=common).classes


def test_split_trees_of_nested_requirements_cross() -> None:
    """Why the split tree is not shared: the classes of k = 3 need not be unions of those of k = 2.

    x is tried first. k = 2 cuts {x=0 | x=1}; k = 3 does not allow that, and cuts {y=0 | y=1}.
    """
    table = {"x": [0, 0, 0, 0, 1, 1], "y": [0, 0, 0, 1, 1, 1]}
    places = []
    for k in (2, 3):
        classes = released(table, anon.Schema(["x", "y"]), Configuration((anon.KAnonymity(k),))).classes
        places.append({frozenset(classes.rows[a:b].tolist()) for a, b in pairwise(classes.offsets)})
    assert places == [
        {frozenset({0, 1, 2, 3}), frozenset({4, 5})},
        {frozenset({0, 1, 2}), frozenset({3, 4, 5})},
    ]


@pytest.mark.parametrize(
    ("asked", "options", "words"),
    [
        ([], {}, "no configuration"),
        (3, {}, "must be a grid"),
        ([3], {}, "not int"),
        ("k=5", {"privacy": "risk"}, "no measure 'risk'"),
        ("k=5", {"measures": ["gcp", "gpc"]}, "no measure 'gpc'"),
        ("k=5", {"privacy": "gcp", "utility": "gcp"}, "both axes"),
        ("method=kmembers", {}, "at least k rows"),
        ("t=0.1 t_distance=ordered", {}, "has no order"),
        ("k=5", {"seed": -1}, "seed"),
        ("k=5", {"cache": __file__}, "cannot be used"),
        ("k=5", {"measures": ["count_error"], "workload": ["age >"]}, "query 1"),
        ("k=5", {"min_support": 0, "utility": "u_loss"}, "min_support"),
    ],
)
def test_what_makes_no_sense_is_refused(census: pa.Table, asked: Any, options: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        anon.frontier(census, SCHEMA, asked, **options)


def test_measures_of_sensitive_attributes_need_one(census: pa.Table) -> None:
    schema = anon.Schema(QUASI)
    for privacy, utility in (("p_loss", "gcp"), ("k", "u_loss")):
        with pytest.raises(UsageError, match="sensitive"):
            anon.frontier(census, schema, "k=5", privacy=privacy, utility=utility)
    with pytest.raises(UsageError, match="bucketization"):
        anon.frontier(census, schema, "k=5 publish=bucketization", privacy="k", utility="gcp")
    swept = anon.frontier(census, schema, "k=5,50", privacy="k", utility="gcp")
    assert [point.privacy for point in swept.points[-2:]] == [600, 1]
    with pytest.raises(DataError, match="agee"):
        anon.frontier(census, anon.Schema(["agee"]), "k=5")


# --- grids


def test_a_grid_is_all_combinations_the_last_name_fastest() -> None:
    configurations = grid("k=10,50 t=0.05:0.4:8 method=mondrian,curve publish=generalization,bucketization")
    assert len(configurations) == 2 * 8 * 2 * 2
    assert configurations[0] == Configuration((anon.KAnonymity(10), anon.TCloseness(0.05)))
    assert configurations[1] == Configuration(
        (anon.KAnonymity(10), anon.TCloseness(0.05)), publish="bucketization"
    )
    assert configurations[2].method == anon.Curve()
    assert configurations[4].require[1] == anon.TCloseness(0.1)
    assert configurations[-1].require == (anon.KAnonymity(50), anon.TCloseness(0.4))
    assert configurations[0].name == "mondrian k=10 t=0.05 generalization"
    assert configurations[0].requirement == "k-anonymity + t-closeness"
    assert len({one.name for one in configurations}) == len(configurations)


def test_ranges_are_exact_decimals_with_both_ends() -> None:
    values = [one.require[0].t for one in grid("t=0.05:0.4:8")]
    assert values == [0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4]
    assert [one.require[0].k for one in grid("k=10:30:3")] == [10, 20, 30]
    assert [one.require[0].l for one in grid("l=3:1:3")] == [3, 2, 1]
    assert [one.require[0].l for one in grid("l=3:1:1")] == [3]


def test_everything_a_flag_can_say_a_grid_can() -> None:
    [one] = grid(
        "l=2 l_kind=recursive c=4 k=3 alpha=0.5 delta=2 beta=1 enhanced=true s_bound=0.9 r=0.5 numeric=level"
    )
    assert one.require == (
        anon.KAnonymity(3),
        anon.LDiversity(2, "recursive", 4),
        anon.DeltaDisclosure(2),
        anon.AlphaK(0.5, 3),
        anon.BetaLikeness(1, enhanced=True),
        anon.SDiversityBound(0.9, 0.5),
    )
    assert one.numeric == "level"
    assert one.parameters == {
        "method": "mondrian",
        **{
            "k": 3,
            "l": 2,
            "l_kind": "recursive",
            "c": 4,
            "delta": 2,
            "alpha": 0.5,
            "beta": 1,
            "enhanced": True,
        },
        **{"s_bound": 0.9, "r": 0.5, "publish": "generalization", "numeric": "level"},
    }
    assert [each.method for each in grid("k=2 split=most-repeated,least-repeated cuts=median")] == [
        anon.Mondrian(split="most-repeated", cuts="median"),
        anon.Mondrian(split="least-repeated", cuts="median"),
    ]
    assert grid("method=suppress-quasi")[0].method == anon.Suppress("quasi")
    assert grid("l=3 method=anatomy publish=bucketization")[0].method == anon.Anatomy(3)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "empty"),
        ("k", "name=value"),
        ("k=", "name=value"),
        ("x=1", "no 'x'"),
        ("seed=1", "no 'seed'"),
        ("k=1 k=2", "once"),
        ("k=ten", "valid integer"),
        ("k=1:2:4", "valid integer"),
        ("k=1:2", "start:stop:count"),
        ("k=1:2:3:4", "start:stop:count"),
        ("t=1:x:3", "start:stop:count"),
        ("t=1/0:2:3", "start:stop:count"),
        ("t=0:1:0", "start:stop:count"),
        ("t=0:1:999999999", "start:stop:count"),
        ("t=0:1:1000 delta=1:2:1000", "combinations"),
        ("k=5 method=mondrain", "mondrian"),
        ("alpha=0.5", "--alpha needs --k"),
        ("k=0", "at least 1"),
    ],
)
def test_a_grid_that_makes_no_sense_is_refused(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        grid(text)


def test_the_name_of_a_configuration_tells_it_from_others() -> None:
    require = (
        anon.LDiversity(2, sensitive="a"),
        anon.LDiversity(3, sensitive="b"),
        anon.LDiversity(2, "distinct"),
    )
    one = Configuration(require, anon.Mondrian(split=["age", "sex"]), "bucketization")
    assert one.name == "mondrian l[a]=2 l[b]=3 l=2 l_kind=distinct split=age+sex bucketization"
    assert one.requirement == "l-diversity + distinct l-diversity"
    twice = Configuration((anon.KAnonymity(2), anon.KAnonymity(3)))
    assert twice.parameters == {"method": "mondrian", "k": 2, "k#2": 3, "publish": "generalization"}
    clash = Configuration((anon.KAnonymity(2), anon.SDiversityBound(0.5, 0.3)), anon.TGC(r=0.2))
    assert clash.name == "tgc k=2 s_bound=0.5 r=0.3 tgc.r=0.2 generalization"
    assert Configuration((), anon.Anatomy(3, sensitive="a"), "bucketization").name == (
        "anatomy l=3 sensitive=a bucketization"
    )
    assert Configuration((), anon.Identity()).requirement == "none"


def test_limits_of_suppression_and_qualities_are_swept(census: pa.Table) -> None:
    tree = anon.intervals(10, 20)
    schema = anon.Schema([anon.numeric("age", tree), "sex", "education"], ["occupation"])
    swept = anon.frontier(
        census,
        schema,
        "k=5 method=full-domain quality=loss,dm suppress=0,0.05,0.3",
        measures=["n_suppressed", "precision"],
        utility="gcp",
    )
    names = [point.name for point in swept.points[:6]]
    assert names[:2] == ["full-domain k=5 generalization", "full-domain k=5 suppress=0.05 generalization"]
    assert names[5] == "full-domain k=5 quality=dm suppress=0.3 generalization"
    left_out = [point.measures["n_suppressed"] for point in swept.points[:6]]
    assert left_out[0] == left_out[3] == 0
    assert all(n <= share * 600 for n, share in zip(left_out, [0, 0.05, 0.3] * 2, strict=True))
    assert max(left_out) > 0
    fewer = anon.frontier(census, schema, "k=5 suppress=0,0.05", measures=["n_suppressed"], utility="gcp")
    assert fewer.points[1].measures["n_suppressed"] <= 0.05 * 600
    assert fewer.points[1].utility <= fewer.points[0].utility
    with pytest.raises(UsageError, match="at least 0 and below 1"):
        anon.frontier(census, schema, "k=5 method=full-domain suppress=2", utility="gcp")


def test_what_is_asked_twice_is_tried_once(census: pa.Table) -> None:
    asked = ["k=5,10", "k=10,20", Configuration((anon.KAnonymity(5),))]
    swept = anon.frontier(census, SCHEMA, asked, utility="gcp")
    assert [point.parameters.get("k") for point in swept.points] == [5, 10, 20, None, None]


# --- dominance

numbers = st.sampled_from([-math.inf, 0.0, 1.0, 2.0, 3.0, math.inf])
costs = st.tuples(numbers, numbers)
measured_or_not = st.tuples(*[st.one_of(numbers, st.just(math.nan))] * 2)


@given(costs, costs, costs)
def test_dominance_is_a_strict_partial_order(a: Any, b: Any, c: Any) -> None:
    assert not dominates(a, a)
    assert not (dominates(a, b) and dominates(b, a))
    if dominates(a, b) and dominates(b, c):
        assert dominates(a, c)
    # as good on both axes and better on one (Li & Li 4)
    assert dominates(a, b) == (a[0] <= b[0] and a[1] <= b[1] and (a[0] < b[0] or a[1] < b[1]))


@given(st.lists(measured_or_not, max_size=12))
def test_the_frontier_is_what_brute_force_says(points: list[tuple[float, float]]) -> None:
    whole = [not any(map(math.isnan, one)) for one in points]
    expected = [
        whole[i] and not any(whole[j] and dominates(other, one) for j, other in enumerate(points))
        for i, one in enumerate(points)
    ]
    assert undominated(points) == expected


def swept_of(
    places: Sequence[tuple[float, float]], privacy: str = "p_loss", utility: str = "u_loss"
) -> Frontier:
    """A frontier of made-up points called a, b, c, ..."""
    turned = [
        tuple(x if MEASURES[n] else -x for x, n in zip(place, (privacy, utility), strict=True))
        for place in places
    ]
    return Frontier(
        tuple(
            Point(
                configuration=Configuration(),
                name="abcdefgh"[i],
                requirement="none",
                parameters={},
                measures={privacy: place[0], utility: place[1]},
                privacy=place[0],
                utility=place[1],
                classes=1,
                seconds=0.0,
                satisfied=True,
                why=None,
                efficient=best,
            )
            for i, (place, best) in enumerate(zip(places, undominated(turned), strict=True))
        ),
        privacy,
        utility,
        10,
    )


def test_relations_ties_knee_and_prices_by_hand() -> None:
    #   u
    # 4 a            the chord from a (0, 4) to e (4, 0); b (1, 1) lies 2 below it, c (2, 1) 1 and is
    # 3              dominated by b, d (1, 1) ties with b
    # 2
    # 1   bd c
    # 0             e
    swept = swept_of([(0, 4), (1, 1), (2, 1), (1, 1), (4, 0)])
    a, b, c, d, e = swept.points
    assert [point.name for point in swept.efficient] == ["a", "b", "d", "e"]
    assert (swept.relation(b, c), swept.relation(c, b)) == ("better", "worse")
    assert (swept.relation(b, d), swept.relation(a, e), swept.relation(c, e)) == (
        "tie",
        *["incomparable"] * 2,
    )
    assert swept.ties == ((b, d),)
    assert swept.knee == b
    assert [(p.less_private.name, p.more_private.name, p.price) for p in swept.prices] == [
        ("b", "a", 3.0),  # 1 of privacy gained, 3 of utility lost
        ("e", "b", 1 / 3),
    ]
    assert swept.table.select(["n_better", "n_worse", "n_tie", "n_incomparable"]).to_pylist()[1] == {
        "n_better": 0,
        "n_worse": 1,
        "n_tie": 1,
        "n_incomparable": 2,
    }
    assert json.loads(json.dumps(swept.to_dict(), allow_nan=False))["ties"] == [["b", "d"]]
    assert repr(swept) == "Frontier(5 points, 4 efficient, 'p_loss' against 'u_loss')"


@given(st.lists(measured_or_not, min_size=1, max_size=8))
def test_the_table_counts_relations(places: list[tuple[float, float]]) -> None:
    swept = swept_of(places)
    lines = swept.table.to_pylist()
    for point, line in zip(swept.points, lines, strict=True):
        relations = [swept.relation(other, point) for other in swept.points if other is not point]
        for relation in ("better", "worse", "tie", "incomparable"):
            assert line[f"n_{relation}"] == relations.count(relation)


def test_axes_on_which_more_is_better() -> None:
    swept = swept_of([(10, 1.0), (5, 0.5), (2, 0.2), (4, 0.6)], "k", "gcp")
    assert [point.name for point in swept.efficient] == ["a", "b", "c"]
    assert swept.choose(min_k=5).name == "b"
    assert swept.choose(max_gcp=0.5).name == "b"
    assert [price.price for price in swept.prices] == pytest.approx([0.1, 0.1])
    with pytest.raises(InfeasibleError, match="greatest k is 10") as raised:
        swept.choose(min_k=11)
    assert raised.value.tightest == 10
    with pytest.raises(UsageError, match="min_k or max_gcp"):
        swept.choose(max_k=5)


@pytest.mark.parametrize(
    ("places", "knee"),
    [
        ([(0, 4), (4, 0)], None),  # nothing between
        ([(0, 4), (2, 2), (4, 0)], None),  # on the chord
        ([(0, 4), (3, 3), (4, 0)], None),  # above it
        ([(0, 4), (2, 1), (math.inf, 0)], None),  # two finite points
        ([(0, 400), (1, 100), (3, 50), (4, 0)], "b"),  # depths 1/2 and 1/8: whatever the scale
        ([(0, math.nan), (0, 4), (1, 2), (4, 0)], "c"),
    ],
)
def test_the_knee(places: Any, knee: str | None) -> None:
    found = swept_of(places).knee
    assert (None if found is None else found.name) == knee


def test_infinite_steps_have_no_price() -> None:
    [price] = swept_of([(1, 2), (math.inf, 0)]).prices
    assert math.isinf(price.privacy_gained)
    assert math.isnan(price.price)
    [told] = swept_of([(1, 2), (math.inf, 0)]).to_dict()["prices"]
    assert told == {
        **{"less_private": "b", "more_private": "a"},
        **{"privacy_gained": "inf", "utility_lost": 2, "price": None},
    }


def test_who_is_found_comes_first(census: pa.Table) -> None:
    """The axes of a sweep that names none are who is found, and what a cell loses."""
    swept = anon.frontier(census, anon.Schema(QUASI), "k=5,50")
    assert (swept.privacy, swept.utility) == ("prosecutor.mean", "gcp")
    five, fifty = swept.points[:2]
    assert five.privacy == released(census, anon.Schema(QUASI), five.configuration).privacy().prosecutor.mean
    assert swept.choose(max_prosecutor_mean=five.privacy) == five
    assert swept.choose(max_gcp=fifty.utility) == fifty


def test_choose(census: pa.Table) -> None:
    swept = anon.frontier(census, SCHEMA, ["k=5,20,80", "t=0.1,0.2,0.3"], **BY_LOSS)
    chosen = swept.choose(max_p_loss=0.25)
    within = [point for point in swept.points if point.privacy <= 0.25]
    assert len(within) > 2
    assert chosen.utility == min(point.utility for point in within)
    assert chosen.efficient
    assert swept.choose(max_p_loss=0).name == "trivial"
    other = swept.choose(max_u_loss=chosen.utility)
    assert other.privacy <= chosen.privacy
    # nothing but the original itself has no utility loss, and it is never chosen
    with pytest.raises(InfeasibleError, match="no point keeps max_u_loss = 0"):
        swept.choose(max_u_loss=0)
    for bound in ({}, {"max_gcp": 1}, {"min_p_loss": 1}, {"max_p_loss": 1, "max_u_loss": 1}):
        with pytest.raises(UsageError, match="max_p_loss or max_u_loss"):
            swept.choose(**bound)


# --- the cache


def test_a_cached_point_is_not_made_again(
    census: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def sweep(
        table: Any = census, schema: anon.Schema = SCHEMA, asked: Any = "k=5,20,700", **options: Any
    ) -> Any:
        options = BY_LOSS | options
        return anon.frontier(table, schema, asked, cache=tmp_path / "deep" / "cache", **options)

    first = sweep(measures=["delta", "t_ordered"])
    assert len(list((tmp_path / "deep" / "cache").glob("*.json"))) == 5
    module = sys.modules["anon.choice.sweep"]
    made, tried = module._made, []
    monkeypatch.setattr(module, "_made", lambda sweep, one: tried.append(one) or made(sweep, one))
    assert sweep(measures=["delta", "t_ordered"]) == first
    assert any(math.isinf(point.measures["delta"]) for point in first.points[:-2] if point.satisfied)
    assert any(math.isnan(point.measures["t_ordered"]) for point in first.points[:-2] if point.satisfied)
    assert not tried
    # one more configuration, and nothing else
    sweep(asked="k=5,20,30", measures=["delta", "t_ordered"])
    assert [one.name for one in tried] == ["mondrian k=30 generalization"]
    age = census.column_names.index("age")
    changed = pa.array([age + (i == 0) for i, age in enumerate(census["age"].to_pylist())])
    weighted = anon.Schema([anon.numeric("age", weight=2.0), *QUASI[1:]], ["occupation"])
    leveled = anon.Schema([anon.numeric("age", hierarchy=anon.intervals(10)), *QUASI[1:]], ["occupation"])
    for other in (
        {"table": census.set_column(age, "age", changed)},
        {"schema": weighted},
        {"schema": leveled},
        {"seed": 1},
        {"min_support": 0.1},
        {"measures": ["gcp"]},
        {"missing": "error"},  # the same rows: nothing is made
    ):
        tried.clear()
        sweep(**({"measures": ["delta", "t_ordered"]} | other))
        assert len(tried) == (0 if "missing" in other else 5), other


def test_the_target_of_a_split_and_the_queries_are_part_of_the_key(
    census: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = sys.modules["anon.choice.sweep"]
    made, tried = module._made, []
    monkeypatch.setattr(module, "_made", lambda sweep, one: tried.append(one) or made(sweep, one))
    one = Configuration((anon.KAnonymity(10),), anon.Mondrian(split="information-gain", target="race"))

    def sweep(table: pa.Table, queries: list[str]) -> int:
        tried.clear()
        anon.frontier(
            table, SCHEMA, [one], utility="count_error", workload=queries, cache=tmp_path, privacy="k"
        )
        return len(tried)

    assert sweep(census, ["age < 30"]) == 3
    assert sweep(census, ["age < 30"]) == 0
    assert sweep(census, ["age < 31"]) == 3
    race = census.column_names.index("race")
    other = census.set_column(race, "race", pa.array([f"r{i % 3}" for i in range(600)]))
    assert sweep(other, ["age < 30"]) == 1  # a neutral column, read by this configuration alone


@pytest.mark.parametrize("target", ["nowhere", "name", "empty"])
def test_a_target_that_cannot_be_learned_is_a_point_that_tells_why(target: str, tmp_path: Path) -> None:
    table = {"q": [1, 2] * 4, "s": list("ab") * 4, "name": list("abcdefgh"), "empty": [None] * 8}
    schema = anon.Schema(["q"], ["s"], ["name"])
    method = anon.Mondrian(split="information-gain", target=target)
    asked = [Configuration((anon.KAnonymity(2),), method)]
    swept = anon.frontier(table, schema, asked, utility="gcp")
    assert (swept.points[0].satisfied, bool(swept.points[0].why)) == (False, True)
    assert anon.frontier(table, schema, asked, utility="gcp", cache=tmp_path) == swept


def test_a_sweep_leaves_the_memory_of_its_process_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(ctypes, "CDLL", lambda name: asked.append(name))
    anon.frontier({"q": [1, 2] * 4}, anon.Schema(["q"]), "k=2", privacy="k", utility="gcp")
    assert not asked


def test_cache_files_hold_no_cell_and_broken_ones_count_as_absent(
    census: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def sweep() -> Frontier:
        return anon.frontier(census, SCHEMA, "k=5 method=mondrian,curve", cache=tmp_path)

    first = sweep()
    words = {str(value) for name in ("education", "occupation") for value in census[name].to_pylist()}
    kept = sorted(tmp_path.glob("*.json"))
    contents = [path.read_bytes() for path in kept]
    assert len(kept) == 4
    for path, content in zip(kept, contents, strict=True):
        assert len(path.stem) == 64
        assert set(path.stem) <= set("0123456789abcdef")
        code, text = content.decode().splitlines()
        assert len(code) == 64
        assert set(json.loads(text)) == {"measures", "classes", "seconds", "satisfied", "why"}
        assert not any(word in text for word in words)
    tried = counted(monkeypatch)
    damages: list[Callable[[int], bytes]] = [
        lambda i: b"",
        lambda i: contents[i][:-1],
        lambda i: contents[i].replace(b'"classes": ', b'"classes": 1'),  # whole JSON, another number
        lambda i: contents[i - 1],  # another point's
        lambda i: contents[i][64:],
        lambda i: b"0" * 64 + b"\n{}",
    ]
    for damage in damages:
        for i, path in enumerate(kept):
            path.write_bytes(damage(i))
        tried.clear()
        assert sweep() == first
        assert len(tried) == 4
        assert sorted(tmp_path.glob("*.json")) == kept
    tried.clear()
    assert sweep() == first
    assert not tried


def counted(monkeypatch: pytest.MonkeyPatch) -> list[Configuration]:
    """The configurations that are made from now on, and not taken from a cache."""
    module = sys.modules["anon.choice.sweep"]
    made, tried = module._made, []
    monkeypatch.setattr(module, "_made", lambda sweep, one: tried.append(one) or made(sweep, one))
    return tried


SMALL = {"q": [1, 2, 1, 2, 3, 3], "s": list("ababab")}


def small(cache: Path) -> Frontier:
    """A sweep of three points that is over at once."""
    return anon.frontier(SMALL, anon.Schema(["q"], ["s"]), "k=2", privacy="k", utility="gcp", cache=cache)


def modes(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()}


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_a_cache_is_its_owners_alone_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        small(tmp_path / "cache")
    finally:
        os.umask(before)
    assert (tmp_path / "cache").stat().st_mode & 0o777 == 0o700
    assert len(modes(tmp_path / "cache")) == 4
    assert set(modes(tmp_path / "cache").values()) == {0o600}
    assert len((tmp_path / "cache" / "key").read_bytes()) == 32


@pytest.mark.parametrize("mode", [0o755, 0o701, 0o770])
def test_a_cache_that_others_may_enter_is_refused_and_left_as_it_is(tmp_path: Path, mode: int) -> None:
    folder = tmp_path / "cache"
    folder.mkdir()
    folder.chmod(mode)
    with pytest.raises(UsageError, match=r"cache '.*' is open to others than you.*\(chmod 700\)"):
        small(folder)
    assert folder.stat().st_mode & 0o777 == mode
    assert list(folder.iterdir()) == []
    folder.chmod(0o700)  # the way out
    small(folder)
    assert len(list(folder.iterdir())) == 4


def test_names_in_a_cache_are_keyed_with_the_secret_of_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    tried = counted(monkeypatch)
    first = small(one)
    assert small(other) == first
    assert len(tried) == 6
    names, others = ({path.name for path in folder.glob("*.json")} for folder in (one, other))
    assert not names & others
    # with the secret goes what it named
    (other / "key").write_bytes((one / "key").read_bytes())
    for path in one.glob("*.json"):
        (other / path.name).write_bytes(path.read_bytes())
    tried.clear()
    assert small(other) == first
    assert not tried


def broken_keys() -> dict[str, Callable[[Path], object]]:
    def linked(key: Path) -> None:
        (key.parent.parent / "known").write_bytes(b"k" * 32)
        key.symlink_to(key.parent.parent / "known")

    def readable(key: Path) -> None:
        key.write_bytes(b"k" * 32)
        key.chmod(0o644)

    return {
        "absent": lambda key: None,
        "short": lambda key: key.write_bytes(b"k" * 31),
        "long": lambda key: key.write_bytes(b"k" * 33),
        "a link": linked,
        "a dangling link": lambda key: key.symlink_to(key.parent / "nowhere"),
        "a pipe": os.mkfifo,
        "open to others": readable,
    }


@pytest.mark.parametrize("kind", broken_keys())
def test_a_key_that_is_no_secret_is_drawn_again(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = small(tmp_path)
    key = tmp_path / "key"
    key.unlink()
    broken_keys()[kind](key)
    tried = counted(monkeypatch)
    assert small(tmp_path) == first
    assert len(tried) == 3
    assert (key.is_symlink(), key.stat().st_mode & 0o777) == (False, 0o600)
    assert b"kkk" not in key.read_bytes()
    assert len(key.read_bytes()) == 32
    tried.clear()
    assert small(tmp_path) == first
    assert not tried
    if kind == "a link":
        assert (tmp_path.parent / "known").read_bytes() == b"k" * 32


def test_two_processes_that_open_a_new_cache_agree_on_its_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = sys.modules["anon.choice.cache"]
    write_new, theirs = module.write_new, []

    def beaten(path: Path, drawn: bytes) -> bool:
        if not theirs:
            theirs.append(b"t" * 32)
            assert write_new(path, theirs[0])
        return bool(write_new(path, drawn))

    monkeypatch.setattr(module, "write_new", beaten)
    assert module.open_cache(tmp_path).secret == theirs[0]
    assert modes(tmp_path) == {"key": 0o600}


def test_a_cache_of_another_build_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = small(tmp_path)
    tried = counted(monkeypatch)
    monkeypatch.setattr(sys.modules["anon.choice.sweep"], "build_id", lambda: "another")
    assert small(tmp_path) == first
    assert len(tried) == 3


def test_a_build_is_told_by_the_bytes_of_its_kernels_and_its_modules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernels, modules = tmp_path / "anoncore", tmp_path / "anon"
    suffix = EXTENSION_SUFFIXES[0]
    for path, content in (
        (kernels / f"a{suffix}", b"one"),
        (kernels / "a.pyx", b"source"),
        (modules / "deep" / "b.py", b"two"),
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    module = sys.modules["anon.choice.cache"]
    monkeypatch.setattr(module, "anoncore", SimpleNamespace(__path__=[str(kernels)]))
    monkeypatch.setattr(module, "HOUSE", modules)
    build_id = module.build_id.__wrapped__
    ids = [build_id()]
    (kernels / f"a{suffix}").write_bytes(b"other")
    ids.append(build_id())
    (modules / "deep" / "b.py").write_bytes(b"three")
    ids.append(build_id())
    (modules / "deep" / "b.py").rename(modules / "b.py")
    ids.append(build_id())
    (kernels / "a.pyx").write_bytes(b"not what runs")
    assert len(set(ids)) == 4
    assert build_id() == ids[-1]


def test_something_else_with_the_name_of_a_cached_point_is_left_alone(tmp_path: Path) -> None:
    first = small(tmp_path)
    one, other, third = sorted(tmp_path.glob("*.json"))
    elsewhere = tmp_path.parent / "elsewhere.json"
    elsewhere.write_bytes(other.read_bytes())
    for path in (one, other, third):
        path.unlink()
    os.mkfifo(one)
    other.symlink_to(elsewhere)
    third.mkdir()
    before = elsewhere.read_bytes()
    assert small(tmp_path) == first
    assert one.is_fifo()
    assert third.is_dir()
    assert not other.is_symlink()
    assert elsewhere.read_bytes() == before


@pytest.mark.numba
def test_requirements_of_the_users_own_are_tried_and_not_kept(census: pa.Table, tmp_path: Path) -> None:
    import numba

    @numba.cfunc(anon.requirements.SIGNATURE)
    def even(values, counts, n_present, table_counts, n_values, class_size, n_rows, params):
        return class_size >= params[0]

    asked = [Configuration((anon.Custom(even, (k,)),)) for k in (5.0, 50.0)]
    swept = anon.frontier(census, SCHEMA, asked, privacy="k", cache=tmp_path)
    assert [point.satisfied for point in swept.points[:2]] == [True, True]
    assert len({point.name for point in swept.points}) == 4
    assert len(list(tmp_path.glob("*.json"))) == 2  # the special cases
    assert swept.points[0].requirement == "custom requirement"


SWEEP = """
import sys, anon
table, cache = sys.argv[1:]
schema = anon.Schema(["age", "sex", "education", "marital_status"], ["occupation"])
asked = ["k=5:60:12 method=curve", "k=5,9,13 publish=bucketization method=kmembers"]
swept = anon.frontier(table, schema, asked, cache=cache or None, measures=["gcp"], n_threads=2)
for point in swept.points:
    print(point.name, sorted(point.measures.items()), point.classes, point.efficient)
"""


def test_a_killed_sweep_resumes_with_the_same_result(tmp_path: Path) -> None:
    table, cache = tmp_path / "census.parquet", tmp_path / "cache"
    pq.write_table(anon.datasets.census(1500, 5), table)
    command = [sys.executable, "-c", SWEEP, str(table)]
    with subprocess.Popen([*command, str(cache)], stdout=subprocess.DEVNULL) as killed:
        deadline = time.monotonic() + 600  # it hangs
        while len(list(cache.glob("*.json"))) < 4:
            assert killed.poll() is None, "the sweep was over before it could be killed"
            assert time.monotonic() < deadline
            time.sleep(0.002)
        os.kill(killed.pid, signal.SIGKILL)
    assert killed.returncode == -signal.SIGKILL
    kept = {path: path.stat().st_mtime_ns for path in cache.glob("*.json")}
    assert 4 <= len(kept) < 17
    resumed = subprocess.run([*command, str(cache)], capture_output=True, text=True, check=True).stdout
    whole = subprocess.run([*command, ""], capture_output=True, text=True, check=True).stdout
    assert resumed == whole
    assert len(whole.splitlines()) == 17
    assert all(path.stat().st_mtime_ns == written for path, written in kept.items())
    assert len(list(cache.glob("*.json"))) == 17


# --- the command


@pytest.fixture
def people(tmp_path: Path, census: pa.Table) -> str:
    pq.write_table(census, tmp_path / "people.parquet")
    return str(tmp_path / "people.parquet")


COLUMNS = ["--quasi", "age,sex,education", "--sensitive", "occupation"]
LOSSES = ["--privacy", "p_loss", "--utility", "u_loss"]


def test_the_command(people: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "points.csv"
    asked = ["--grid", "k=5,50 method=mondrian,curve", "--grid", "k=601", "--choose", "max_p_loss=0.3"]
    asked += [*LOSSES, "--measures", "gcp,dm", "-o", str(out), "--cache", str(tmp_path / "cache")]
    assert main(["frontier", people, *COLUMNS, *asked]) == 0
    printed = capsys.readouterr().out
    for words in (
        "curve k=50 generalization",
        "trivial",
        "original",
        "efficient",
        "p_loss",
        "u_loss",
        "gcp",
        "knee",
    ):
        assert words in printed
    assert "601-anonymity cannot be met" in printed
    assert out.read_text().count("\n") == 8  # a heading, five points and two special cases
    assert main(["frontier", people, *COLUMNS, *asked, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    swept = anon.frontier(
        people,
        anon.Schema(["age", "sex", "education"], ["occupation"]),
        ["k=5,50 method=mondrian,curve", "k=601"],
        measures=["gcp", "dm"],
        cache=tmp_path / "cache",
        **BY_LOSS,
    )
    assert {name: document[name] for name in swept.to_dict()} == json.loads(json.dumps(swept.to_dict()))
    assert document["chosen"]["name"] == swept.choose(max_p_loss=0.3).name
    assert len(list((tmp_path / "cache").glob("*.json"))) == 7


def test_a_job_file_holds_everything_and_its_requirements_hold_for_every_point(
    people: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job = tmp_path / "job.toml"
    job.write_text(
        'input = "people.parquet"\noutput = "release.parquet"\nquasi = ["age", "sex"]\n'
        'sensitive = ["occupation"]\nk = 10\nmethod = "curve"\nprivacy = "t_js"\nutility = "gcp"\n'
        'grid = ["t=0.2,0.4", "l=2 method=mondrian"]\n'
        'measures = ["count_error"]\nqueries = ["age >= 50"]\nchoose = "max_gcp=0.9"\ncache = "kept"\n'
    )
    assert main(["frontier", "--config", str(job), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [point["name"] for point in document["points"]] == [
        "curve k=10 t=0.2 generalization",
        "curve k=10 t=0.4 generalization",
        "mondrian k=10 l=2 generalization",
        "trivial",
        "original",
    ]
    assert document["privacy"] == "t_js"
    assert document["chosen"]["utility"] <= 0.9
    assert not (tmp_path / "release.parquet").exists()  # that is the release's, of `anon anonymize`
    assert len(list((tmp_path / "kept").glob("*.json"))) == 5


@pytest.mark.parametrize(
    ("asked", "code", "words"),
    [
        ([], 2, "give a grid, such as --grid"),
        (["--grid", "k=5 x=2"], 2, "a grid has no 'x'"),
        (["--grid", "l-kind=entropy"], 2, "did you mean 'l_kind'? its names are k, k_count, k_nulls, l"),
        (["--grid", "k=5", "--measures", "p_los"], 2, "did you mean 'p_loss'"),
        (["--grid", "method=kmembers"], 2, "ask for --k"),
        (["--grid", "k=5", "--privacy", "loss"], 2, "no measure 'loss'"),
        (["--grid", "k=5", "--privacy", "loss", "--choose", "max_loss=1"], 2, "no measure 'loss'"),
        (
            ["--grid", "k=5", "--choose", "max_p_loss=1"],
            2,
            "--choose takes a bound on an axis, such as max_prosecutor_mean",
        ),
        (["--grid", "k=5", "--choose", "max_gcp=low"], 2, "--choose takes a bound"),
        (["--grid", "k=5", *LOSSES, "--choose", "max_p_loss=-1"], 1, "the least p_loss is 0"),
        (["--grid", "k=5", "-o", "points.txt"], 2, "cannot tell the format"),
        (["--grid", "k=5", "-o", "no/points.csv"], 2, "does not exist"),
        (["--grid", "k=5", "--cache", ""], 2, "empty"),
    ],
)
def test_every_failure_of_the_command_is_one_message(
    people: str, asked: list[str], code: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["frontier", people, *COLUMNS, *asked]) == code
    failed = capsys.readouterr().err
    assert words in failed
    assert "Traceback" not in failed
    assert main(["frontier", people, *COLUMNS, *asked, "--json"]) == code
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["exit_code"] == code


def test_the_input_is_not_overwritten_by_the_points(people: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = Path(people).read_bytes()
    assert main(["frontier", people, *COLUMNS, "--grid", "k=5", "-o", people]) == 2
    assert "also an input" in capsys.readouterr().err
    assert Path(people).read_bytes() == before
    assert main(["frontier", people, "--grid", "k=5"]) == 2
    assert main(["frontier", *COLUMNS, "--grid", "k=5"]) == 2


# --- Li & Li 2009, figure 2(a)


@pytest.mark.adult
def test_figure_2a_of_li_and_li(adult_dir: Path) -> None:
    """What 5.1 tells of it: t-closeness is best; l-diversity and semantic privacy do not perform well."""
    quasi = ["age", "workclass", "education", "marital-status", "race", "sex"]
    files = adult_dir / "hierarchies"
    schema = anon.Schema(
        [anon.numeric("age", hierarchy=str(files / "age.csv"))]
        + [anon.nominal(name, hierarchy=str(files / f"{name}.csv")) for name in quasi[1:]],
        ["occupation"],
    )
    swept = anon.frontier(
        anon.datasets.adult(adult_dir),
        schema,
        [
            "k=10,50,100,200,500,1000,2000,5000",
            "l=3.0,3.5,4.0,4.25,4.5,4.75,5.0,5.5",
            "t=0.075,0.1,0.15,0.2,0.25,0.3,0.35,0.4",
            "delta=1.0,1.2,1.4,1.5,1.7,1.9,2.0,2.1",
        ],
        **BY_LOSS,
    )
    assert len(swept.points) == 34
    by_kind: dict[str, list[Point]] = {}
    for point in swept.points:
        assert point.satisfied
        by_kind.setdefault(point.requirement, []).append(point)
    assert all(point.efficient for point in by_kind["t-closeness"])
    assert not any(point.efficient for point in by_kind["l-diversity"])
    for poor in by_kind["l-diversity"]:
        assert any(swept.relation(point, poor) == "better" for point in by_kind["t-closeness"])
    # "one would probably choose one of the three left-most points for t-closeness"
    assert swept.knee in by_kind["t-closeness"][:3]
    [trivial], [original] = by_kind["trivial"], by_kind["original"]
    # "when all quasi-identifiers are removed, the utility loss is 0.05"; P_loss is at most 0.692
    assert (trivial.privacy, original.utility) == (0, 0)
    assert trivial.utility == pytest.approx(0.05, abs=0.01)
    assert original.privacy == pytest.approx(0.692, abs=0.001)


def test_a_bound_that_nothing_keeps_hides_no_point(people: str, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["--grid", "k=601,602", *LOSSES, "--choose", "max_u_loss=-1"]
    assert main(["frontier", people, *COLUMNS, *asked]) == 1
    printed = capsys.readouterr()
    assert "601-anonymity cannot be met" in printed.out
    assert "warning: no point of the grid could be made" in printed.err
    assert "error: no point keeps max_u_loss = -1" in printed.err
    assert main(["frontier", people, *COLUMNS, *asked, "--json"]) == 1
    assert "no point keeps" in json.loads(capsys.readouterr().out)["error"]
