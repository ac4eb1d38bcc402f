# SPDX-License-Identifier: Apache-2.0
"""The product end to end, as a user of the Python API meets it."""

from __future__ import annotations

import collections
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anon
import anoncore.partition
from anon.command.entry import main

# Warnings are a release's own notes; the tests of them catch them.
pytestmark = pytest.mark.filterwarnings("ignore::anon.PrivacyWarning")


def classes_of(release: anon.Release, *names: str) -> list[list[tuple[Any, ...]]]:
    """The original values of `names`, as a sorted multiset per class, classes sorted."""
    table = release.encoded.table.select(names).to_pylist()
    found = []
    for first, last in zip(release.classes.offsets[:-1], release.classes.offsets[1:], strict=True):
        rows = release.classes.rows[first:last]
        found.append(sorted((tuple(table[row].values()) for row in rows), key=repr))
    return sorted(found, key=repr)


def k_anonymous(table: Any, k: int, quasi: list[Any], **options: Any) -> anon.Release:
    return anon.anonymize(
        table, anon.Schema(quasi=quasi, neutral="rest"), require=[anon.KAnonymity(k)], **options
    )


# --- traps: inputs on which other tools go wrong ---


def test_trap_1_null_is_a_value_of_its_own() -> None:
    table = pa.table({"age": [30, 30, 30, 30, None], "sex": ["M", "M", "M", "M", "F"]})
    assert anon.check(table, anon.Schema(quasi=["age", "sex"])).k == 1


@pytest.mark.parametrize("column", [[1, 2, 3, 4, None], ["x", "x", None, "y", "y"]])
def test_traps_2_and_3_a_null_row_is_accounted_for(column: list[Any]) -> None:
    release = k_anonymous({"q": pa.array(column)}, 2, ["q"])
    assert release.table.num_rows == 5
    assert anon.check(release.table, anon.Schema(quasi=["q"])).k >= 2


def test_trap_4_na_is_namibia(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("country\nNA\nNA\nFR\nFR\nFR\n")
    measured = anon.check(path, anon.Schema(quasi=["country"]))
    assert (measured.k, measured.n_classes) == (2, 2)


def test_trap_5_a_leading_zero_is_part_of_the_value(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("zip\n02139\n02139\n2139\n")
    measured = anon.check(path, anon.Schema(quasi=["zip"]))
    assert (measured.k, measured.n_classes) == (1, 2)


def test_trap_7_a_value_without_a_place_in_the_hierarchy() -> None:
    schema = anon.Schema(quasi=[anon.nominal("zip", hierarchy={"*": {"816**": ["81667"]}})])
    with pytest.raises(anon.DataError, match=r"'zip'.*row 2") as caught:
        anon.anonymize({"zip": ["81667", "81675", "81675"]}, schema, require=[anon.KAnonymity(1)])
    assert (caught.value.column, caught.value.row, caught.value.count) == ("zip", 1, 2)
    assert caught.value.value == "81675"
    assert "81675" not in str(caught.value)


def test_trap_12_more_rows_asked_for_than_there_are() -> None:
    with pytest.raises(anon.InfeasibleError, match=r"largest k is 2") as caught:
        k_anonymous({"age": [1, 2]}, 5, ["age"])
    assert caught.value.tightest == 2


def test_trap_13_one_sensitive_value_is_never_diverse() -> None:
    schema = anon.Schema(quasi=["q"], sensitive=["s"])
    with pytest.raises(anon.InfeasibleError) as caught:
        anon.anonymize(
            {"q": [1, 2, 3], "s": ["a", "a", "a"]}, schema, require=[anon.LDiversity(2, "distinct")]
        )
    assert caught.value.tightest == 1


def test_trap_14_closeness_joins_pure_classes() -> None:
    schema = anon.Schema(quasi=["age"], sensitive=["s"])
    require = [anon.KAnonymity(2), anon.TCloseness(0.1, distance="equal")]
    table = {"age": [1, 2, 3, 4], "s": ["a", "a", "b", "b"]}
    with pytest.warns(anon.PrivacyWarning, match="only one class"):
        release = anon.anonymize(table, schema, require=require, method=anon.Mondrian())
    assert release.classes.n_classes == 1


def test_trap_15_ties_do_not_hide_a_cut() -> None:
    release = k_anonymous({"age": [1, 1, 1, 2, 3, 1]}, 2, ["age"])
    assert classes_of(release, "age") == [[(1,), (1,), (1,), (1,)], [(2,), (3,)]]


def test_trap_16_cells_are_those_of_the_part_after_every_cut() -> None:
    table = {"x": [0, 1, 10, 11, 0, 1, 10, 11], "y": [0, 1, 0, 1, 50, 51, 52, 53]}
    release = k_anonymous(table, 2, ["x", "y"])
    shown = collections.Counter(zip(*(release.table[name].to_pylist() for name in ("x", "y")), strict=True))
    assert shown == {
        ("[0, 1]", "[0, 1]"): 2,
        ("[10, 11]", "[0, 1]"): 2,
        ("[0, 1]", "[50, 51]"): 2,
        ("[10, 11]", "[52, 53]"): 2,
    }


def test_traps_22_and_23_a_data_frame_index_is_not_a_position() -> None:
    for index in ([0, 2, 1, 3], list("abcd"), [0, 0, 1, 1]):
        frame = pd.DataFrame({"q": ["x", "x", "y", "y"], "s": ["a", "a", "b", "c"]}, index=index)
        measured = anon.check(frame, anon.Schema(quasi=["q"], sensitive=["s"]))
        assert (measured.n_rows, measured.k, measured.l_distinct) == (4, 2, 1)


def test_trap_24_a_category_that_never_occurs_is_not_counted() -> None:
    frame = pd.DataFrame({"q": pd.Categorical(["x", "x", "y", "y"], categories=["x", "y", "z"])})
    assert anon.check(frame, anon.Schema(quasi=["q"])).k == 2
    assert k_anonymous(frame, 2, ["q"]).classes.n_classes == 2


def test_trap_25_risk_is_an_average_over_people() -> None:
    measured = anon.check({"q": ["x"] * 9 + ["y"]}, anon.Schema(quasi=["q"]))
    assert measured.prosecutor.mean == pytest.approx(0.2)
    assert measured.prosecutor.max == 1


def test_trap_26_suppressed_rows_are_reported_apart() -> None:
    table = {"a": ["x", "x", "y", "y", "*"], "b": ["1", "1", "2", "2", "*"]}
    measured = anon.check(table, anon.Schema(quasi=["a", "b"]))
    assert (measured.k, measured.n_rows, measured.n_starred) == (2, 4, 1)
    assert measured.k_with_starred == 1


def test_trap_27_labels_read_back() -> None:
    places = ["Paris", "Paris, TX", "{x}", "*", ""]
    release = k_anonymous({"place": places, "t": [-5, -4, -3, 7, 8]}, 2, ["place", "t"])
    assert release.table.num_rows == 5
    assert "[-5, -4]" in release.table["t"].to_pylist() or "[-5, -3]" in release.table["t"].to_pylist()


def test_trap_28_a_table_without_rows_is_one_clear_error() -> None:
    with pytest.raises(anon.DataError, match="no rows"):
        k_anonymous({"age": pa.array([], pa.int64())}, 2, ["age"])


def test_trap_30_a_constant_column_is_no_obstacle() -> None:
    release = k_anonymous({"c": [7, 7, 7, 7], "age": [1, 2, 3, 4]}, 2, ["c", "age"])
    assert release.classes.n_classes == 2


# --- what a release promises ---


@pytest.mark.parametrize("numeric", ["interval", "bounds", "midpoint", "mean"])
def test_no_rendering_loses_a_row_or_a_neutral_value(numeric: str) -> None:
    table = anon.datasets.census(500, seed=3)
    release = k_anonymous(table, 5, ["age", "sex", "postcode"], numeric=numeric)
    assert release.table.num_rows == 500
    assert sorted(release.table["salary"].to_pylist()) == sorted(table["salary"].to_pylist())


def test_identifying_columns_are_dropped_and_neutral_ones_kept() -> None:
    table = {"name": list("abcd"), "age": [1, 2, 3, 4], "note": ["n", "n", "m", "m"]}
    schema = anon.Schema(quasi=["age"], identifying=["name"], neutral="rest")
    release = anon.anonymize(table, schema, require=[anon.KAnonymity(2)])
    assert release.table.column_names == ["age", "note"]


def test_a_neutral_column_that_identifies_is_warned_of_by_name() -> None:
    table = {"age": [1, 2] * 20, "email": [f"p{i}@x" for i in range(40)]}
    with pytest.warns(anon.PrivacyWarning, match="'email'"):
        k_anonymous(table, 2, ["age"])


def test_rows_inside_a_class_come_in_an_order_that_the_seed_does_not_fix() -> None:
    table = {"age": [30] * 200, "position": list(range(200))}
    orders = {tuple(k_anonymous(table, 200, ["age"], seed=1).table["position"].to_pylist()) for _ in range(3)}
    assert len(orders) == 3
    kept = k_anonymous(table, 200, ["age"], order="input").table["position"].to_pylist()
    assert kept == list(range(200))


@pytest.mark.parametrize("n_threads", [2, 3, 8])
def test_threads_do_not_change_the_classes(n_threads: int) -> None:
    table = anon.datasets.census(3000, seed=1)
    one = k_anonymous(table, 7, ["age", "sex", "education", "postcode"], n_threads=1)
    many = k_anonymous(table, 7, ["age", "sex", "education", "postcode"], n_threads=n_threads)
    assert classes_of(one, "age", "salary") == classes_of(many, "age", "salary")


CENSUS = anon.datasets.census(5000, seed=0)


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.sampled_from([2, 3, 10]), st.booleans())
def test_shuffling_the_input_does_not_change_the_classes(seed: int, k: int, relaxed: bool) -> None:
    table = CENSUS.slice(seed % 4800, 200)
    names = ["age", "sex", "education", "occupation"]
    schema = anon.Schema(quasi=names[:3], sensitive=names[3:])
    shuffled = table.take(np.random.default_rng(seed).permutation(200))
    found = [
        classes_of(
            anon.anonymize(t, schema, require=[anon.KAnonymity(k)], method=anon.Mondrian(relaxed=relaxed)),
            *names,
        )
        for t in (table, shuffled)
    ]
    assert found[0] == found[1]


@pytest.mark.polars
def test_pandas_and_polars_go_in_and_out() -> None:
    import polars as pl

    frame = pd.DataFrame({"age": [1, 2, 3, 4]})
    assert k_anonymous(frame, 2, ["age"]).to_pandas()["age"].tolist() == ["[1, 2]"] * 2 + ["[3, 4]"] * 2
    assert k_anonymous(pl.from_pandas(frame), 2, ["age"]).to_polars()["age"].to_list() == (
        ["[1, 2]"] * 2 + ["[3, 4]"] * 2
    )


@pytest.mark.parametrize("suffix", ["parquet", "feather", "csv"])
def test_a_file_goes_in_and_a_file_comes_out(tmp_path: Path, suffix: str) -> None:
    source, target = tmp_path / f"in.{suffix}", tmp_path / f"out.{suffix}"
    anon.datasets.write_census(300, 5, source)
    k_anonymous(source, 5, ["age", "sex", "postcode"]).write(target)
    measured = anon.check(target, anon.Schema(quasi=["age", "sex", "postcode"]))
    assert measured.n_rows == 300
    assert measured.k >= 5


def test_a_parquet_release_says_what_it_is(tmp_path: Path) -> None:
    k_anonymous(anon.datasets.census(300, seed=5), 5, ["age", "sex"]).write(tmp_path / "out.parquet")
    measured = anon.check(tmp_path / "out.parquet")
    assert measured.k >= 5


# --- requirements ---


GROWING = [anon.KMembers(), anon.KMembers("protection"), anon.TGC(), anon.TGC(0, 1), anon.Curve()]


@pytest.mark.parametrize("method", GROWING, ids=repr)
@pytest.mark.parametrize("publish", ["generalization", "bucketization"])
def test_growing_methods_meet_every_requirement_through_repair(method: Any, publish: str) -> None:
    schema = anon.Schema(quasi=["age", "sex", "education"], sensitive=["relationship"])
    require = [anon.KAnonymity(5), anon.LDiversity(3, "distinct"), anon.TCloseness(0.3)]
    release = anon.anonymize(CENSUS.slice(0, 900), schema, require=require, method=method, publish=publish)
    measured = release.privacy()
    assert measured.n_classes > 1
    assert (measured.n_rows, measured.k >= 5, measured.l_distinct >= 3) == (900, True, True)
    assert measured.t_js <= 0.3


BATTERY = [anon.Mondrian(), anon.Mondrian(relaxed=True), anon.Curve("best"), anon.Anatomy(2), *GROWING]


@pytest.mark.parametrize("method", BATTERY, ids=repr)
@pytest.mark.parametrize("missing", ["category", "suppress"])
def test_every_method_passes_the_same_battery(method: Any, missing: str) -> None:
    """The k holds, no row is lost, and neither threads nor the order of the rows change a class.

    Anatomy draws its classes anew each time; what stays the same of them is tested below.
    """
    names = ["age", "sex", "workclass", "hours_per_week", "relationship"]
    schema = anon.Schema(quasi=names[:4], sensitive=names[4:])
    publish = "bucketization" if isinstance(method, anon.Anatomy) else "generalization"
    table = CENSUS.slice(0, 700).select(names)

    def made(source: pa.Table, n_threads: int) -> anon.Release:
        require = [anon.KAnonymity(5)]
        return anon.anonymize(
            source,
            schema,
            require=require,
            method=method,
            missing=missing,
            publish=publish,
            n_threads=n_threads,
        )

    release = made(table, 1)
    assert release.classes.sizes.min() >= 5
    assert release.n_rows + len(release.classes.suppressed) == 700
    assert (len(release.classes.suppressed) > 0) == (missing == "suppress")
    if isinstance(method, anon.Anatomy):
        return
    assert classes_of(made(table, 3), *names) == classes_of(release, *names)
    shuffled = table.take(np.random.default_rng(5).permutation(700))
    assert classes_of(made(shuffled, 2), *names) == classes_of(release, *names)


def test_growing_methods_need_a_k() -> None:
    schema = anon.Schema(quasi=["age"], sensitive=["relationship"])
    with pytest.raises(anon.UsageError, match="KAnonymity"):
        anon.anonymize(CENSUS, schema, require=[anon.LDiversity(2)], method=anon.KMembers())


def test_curve_needs_no_k() -> None:
    schema = anon.Schema(quasi=["age", "sex"], sensitive=["relationship"])
    require = [anon.LDiversity(2), anon.TCloseness(0.3)]
    ours = anon.anonymize(CENSUS, schema, require=require, method=anon.Curve())
    simple = anon.anonymize(CENSUS, schema, require=require, method=anon.Mondrian())
    assert ours.privacy().l_probabilistic >= 2
    assert ours.privacy().t_js <= 0.3
    assert ours.utility().gcp < simple.utility().gcp


REQUIREMENTS = [
    anon.LDiversity(3),
    anon.LDiversity(3, "distinct"),
    anon.LDiversity(2.5, "entropy"),
    anon.LDiversity(3, "recursive", c=3.0),
    anon.TCloseness(0.2),
    anon.TCloseness(0.29, "equal"),
    anon.AlphaK(0.4, 5),
    anon.BetaLikeness(2.0),
    anon.BetaLikeness(2.0, enhanced=True),
    anon.SDiversityBound(0.4),
    anon.DeltaDisclosure(1.5),
    anon.DeltaDisclosure(0.5, absent="ignore"),
]


@pytest.mark.parametrize("requirement", REQUIREMENTS, ids=str)
@pytest.mark.parametrize("publish", ["generalization", "bucketization"])
def test_every_requirement_is_enforced_alone_and_with_k(requirement: anon.Requirement, publish: str) -> None:
    table = anon.datasets.census(4000, seed=2)
    schema = anon.Schema(quasi=["age", "sex", "education"], sensitive=["relationship"])
    for require in ([requirement], [anon.KAnonymity(20), requirement]):
        release = anon.anonymize(table, schema, require=require, publish=publish)
        measured = release.privacy()
        assert release.classes.n_classes > 1
        assert measured.n_rows == 4000
        if len(require) == 2:
            assert measured.k >= 20
        achieved = {
            "3-diversity (probabilistic)": measured.l_probabilistic >= 3 - 1e-12,
            "0.2-closeness (js)": measured.t_js <= 0.2 + 1e-12,
            "1.5-disclosure privacy": measured.delta < 1.5,
            "0.5-disclosure privacy of the values present": measured.delta_present < 0.5,
        }
        assert achieved.get(str(requirement), True)


def test_two_sensitive_attributes_each_hold() -> None:
    table = anon.datasets.census(3000, seed=2)
    schema = anon.Schema(quasi=["age", "sex"], sensitive=["occupation", "relationship"])
    release = anon.anonymize(table, schema, require=[anon.LDiversity(2.5)])
    for measured in release.privacy().by_sensitive.values():
        assert measured.l_probabilistic >= 2.5 - 1e-12


def test_nothing_that_holds_is_infeasible_at_the_boundary() -> None:
    table = {"q": [1, 2, 3, 4], "s": ["a", "b", "c", "c"]}
    schema = anon.Schema(quasi=["q"], sensitive=["s"])
    with pytest.warns(anon.PrivacyWarning):
        anon.anonymize(table, schema, require=[anon.LDiversity(2)], effort="fast")
    entropy = -(2 * 0.25 * math.log(0.25) + 0.5 * math.log(0.5))
    require = [anon.LDiversity(math.exp(entropy), "entropy")]
    with pytest.warns(anon.PrivacyWarning):
        anon.anonymize(table, schema, require=require, effort="fast")


def test_anatomy_gives_buckets_of_distinct_values() -> None:
    table = anon.datasets.census(1001, seed=4)
    schema = anon.Schema(quasi=["age", "sex"], sensitive=["occupation"])
    release = anon.anonymize(table, schema, method=anon.Anatomy(3), publish="bucketization")
    assert release.privacy().l_probabilistic >= 3
    assert release.classes.sizes.max() <= 5
    assert int(release.classes.sizes.sum()) == 1001


def test_anatomy_deals_as_many_rows_of_each_value_and_other_rows_each_time() -> None:
    """Neither the seed nor the order of the input has a part in which row goes into which bucket."""
    table = anon.datasets.census(900, seed=4).select(["age", "sex", "occupation"])
    table = table.append_column("id", [list(range(900))])
    schema = anon.Schema(quasi=["age", "sex"], sensitive=["occupation"], neutral="rest")

    def dealt(source: pa.Table) -> tuple[list[int], set[frozenset[int]]]:
        release = anon.anonymize(source, schema, method=anon.Anatomy(3), publish="bucketization", seed=1)
        buckets = np.split(release.table["id"].to_numpy(), release.classes.offsets[1:-1])
        for bucket in buckets:
            assert len(set(table["occupation"].take(pa.array(bucket)).to_pylist())) == len(bucket)
        return sorted(release.classes.sizes.tolist()), {frozenset(bucket.tolist()) for bucket in buckets}

    sizes, buckets = dealt(table)
    for source in (table, table.take(np.random.default_rng(5).permutation(900))):
        again, others = dealt(source)
        assert again == sizes
        assert len(others & buckets) < 10


def test_anatomy_meets_other_requirements_by_joining_buckets() -> None:
    schema = anon.Schema(quasi=["age", "sex"], sensitive=["occupation"])
    require = [anon.KAnonymity(5), anon.TCloseness(0.4, "equal")]
    release = anon.anonymize(
        CENSUS.slice(0, 600), schema, require=require, method=anon.Anatomy(3), publish="bucketization"
    )
    measured = release.privacy()
    assert (measured.k >= 5, measured.l_probabilistic >= 3, measured.t_equal <= 0.4) == (True, True, True)
    assert measured.n_classes > 10


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_a_bucketization_is_checked_from_its_two_files(tmp_path: Path, suffix: str) -> None:
    schema = anon.Schema(quasi=["age", "sex"], sensitive=["occupation"])
    release = anon.anonymize(
        CENSUS.slice(0, 600), schema, require=[anon.KAnonymity(10)], publish="bucketization"
    )
    release.write(tmp_path / f"b.{suffix}")
    second = tmp_path / f"b.sensitive.{suffix}" if suffix == "csv" else None
    measured = anon.check(tmp_path / f"b.{suffix}", schema, sensitive_table=second)
    ours = release.privacy()
    for name in ("k", "l_distinct", "l_probabilistic", "t_js", "a_know", "a_acc"):
        assert getattr(measured, name) == pytest.approx(getattr(ours, name), abs=1e-12), name


def test_missing_cells_match_anything_in_the_release_and_in_its_file(tmp_path: Path) -> None:
    table = {"age": [30, 30, 31, 31, None, None], "sex": list("MMFFMF")}
    release = k_anonymous({"age": pa.array(table["age"]), "sex": table["sex"]}, 1, ["age", "sex"])
    release.write(tmp_path / "out.parquet")
    ours, theirs = release.privacy().null_matching, anon.check(tmp_path / "out.parquet").null_matching
    assert ours is not None
    assert ours == theirs
    assert ours.k == 3  # each row of 30 M meets its twin and the missing M


def test_a_population_gives_journalist_and_marketer_risk() -> None:
    # Classes [1, 2] and [3, 4]; the population has 1, 2, 2, 3, 4, 9: F = 3 and 2, and 9 is in neither.
    release = k_anonymous({"age": [1, 2, 3, 4]}, 2, ["age"])
    risk = release.privacy(population={"age": [1, 2, 2, 3, 4, 9]}).population
    assert risk is not None
    assert risk.journalist.max == pytest.approx(1 / 2)
    assert risk.marketer == pytest.approx((2 / 3 + 2 / 2) / 4)
    # a value between two values of the sample lies inside the cell
    assert k_anonymous({"age": [1, 3]}, 2, ["age"]).privacy(population={"age": [2, 2]}).population is not None
    whole = k_anonymous({"age": [1, 3]}, 2, ["age"]).privacy(population={"age": [1, 2, 3, 50]}).population
    assert whole is not None
    assert whole.marketer == pytest.approx(1 / 4)  # the one cell is `*`: everybody is inside


def test_values_only_suppressed_rows_have_are_no_part_of_the_table() -> None:
    # Of the tree {a1, a2}, {b1, b2} only a1 and a2 are published: two leaves under one root, so that
    # classes a1 a1 | a2 a2 are at distance 1/2 from their table.
    tree = {"*": {"A": ["a1", "a2"], "B": ["b1", "b2"]}}
    table = {"q": pa.array([1, 1, 2, 2, None, None]), "s": ["a1", "a1", "a2", "a2", "b1", "b2"]}
    schema = anon.Schema(quasi=["q"], sensitive=[anon.nominal("s", hierarchy=tree)])
    intact = anon.anonymize(table, schema, method=anon.Identity(), missing="suppress")
    assert intact.privacy().t_hierarchical == 0.5
    require = [anon.TCloseness(0.3, "hierarchical")]
    release = anon.anonymize(table, schema, require=require, missing="suppress")
    assert release.classes.n_classes == 1


def test_every_row_may_be_suppressed() -> None:
    table = {"a": pa.array([1, None]), "b": pa.array([None, 2])}
    schema = anon.Schema(quasi=["a", "b"])
    growing = [anon.KMembers(), anon.Curve(), anon.TGC(w_u=1.0, w_p=0.0)]
    asking = [(method, [anon.KAnonymity(2)]) for method in (anon.Mondrian(), *growing)]
    for method, require in ((anon.Suppress("quasi"), []), *asking):
        with pytest.warns(anon.PrivacyWarning, match="every row"):
            release = anon.anonymize(table, schema, require=require, method=method, missing="suppress")
        assert (release.n_rows, release.privacy().n_suppressed) == (0, 2)


@pytest.mark.parametrize(
    "options", [{"seed": -1}, {"seed": 1.5}, {"progress": 5}, {"publish": "x"}, {"order": "x"}]
)
def test_wrong_options_are_explained(options: dict[str, Any]) -> None:
    with pytest.raises(anon.UsageError, match=next(iter(options))):
        k_anonymous({"age": [1, 2]}, 2, ["age"], **options)


def test_wrong_arguments_are_explained() -> None:
    age = anon.Schema(["age"])
    for schema, require in ((["age"], [anon.KAnonymity(2)]), (age, anon.KAnonymity(2)), (age, None)):
        with pytest.raises(anon.UsageError, match=r"anon\.Schema|require"):
            anon.anonymize({"age": [1, 2]}, schema, require=require)


def test_trivial_releases_can_be_measured() -> None:
    table = anon.datasets.census(300, seed=4)
    schema = anon.Schema(quasi=["age", "sex"], sensitive=["occupation"])
    gone = anon.anonymize(table, schema, method=anon.Suppress("quasi"))
    assert (gone.privacy().p_loss, gone.privacy().a_know) == (0, 0)
    assert set(gone.table["age"].to_pylist()) == {"*"}
    intact = anon.anonymize(table, schema, method=anon.Identity())
    assert intact.privacy().p_loss > 0.4
    silent = anon.anonymize(table, schema, method=anon.Suppress("sensitive"))
    assert "occupation" not in silent.table.column_names
    assert silent.privacy().p_loss == 0


def test_an_infeasible_demand_can_be_measured_but_not_written(tmp_path: Path) -> None:
    with pytest.warns(anon.PrivacyWarning, match="largest k is 3"):
        release = k_anonymous({"age": [1, 2, 3]}, 5, ["age"], on_infeasible="trivial")
    assert release.privacy().k == 3
    with pytest.raises(anon.InfeasibleError):
        release.write(tmp_path / "out.csv")
    assert not list(tmp_path.iterdir())


# --- the real thing: Adult's 45,222 complete rows through the command ---

ADULT_QUASI = ["age", "workclass", "education", "marital-status", "race", "sex"]


@pytest.mark.adult
def test_adult_goes_through_the_command(
    adult_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, target = tmp_path / "adult.parquet", tmp_path / "release.parquet"
    assert main(["data", "adult", str(adult_dir), "-o", str(source)]) == 0
    hierarchies = [
        word
        for name in ("workclass", "education", "marital-status", "race", "sex")
        for word in ("--hierarchy", f"{name}={adult_dir / 'hierarchies' / name}.csv")
    ]
    quasi = ",".join(ADULT_QUASI)
    arguments = ["anonymize", str(source), "-o", str(target), "--quasi", quasi, "--k", "10", *hierarchies]
    assert main(arguments) == 0
    capsys.readouterr()
    assert main(["check", str(target), "--json"]) == 0
    measured = json.loads(capsys.readouterr().out)
    assert measured["k"] >= 10
    assert measured["n_rows"] == 45_222
    assert measured["n_classes"] > 500


@pytest.mark.adult
def test_adult_classes_depend_neither_on_threads_nor_on_row_order(
    adult_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(anoncore.partition, "SUBTREE_ROWS", 1)
    table = anon.datasets.adult(adult_dir).select([*ADULT_QUASI, "occupation"])
    schema = anon.Schema(quasi=ADULT_QUASI, sensitive=["occupation"])
    shuffled = table.take(np.random.default_rng(7).permutation(table.num_rows))

    def shown(source: pa.Table, n_threads: int) -> collections.Counter[tuple[Any, ...]]:
        release = anon.anonymize(source, schema, require=[anon.KAnonymity(10)], n_threads=n_threads)
        columns = [release.table[name].cast(pa.string()).to_pylist() for name in table.column_names]
        return collections.Counter(zip(*columns, strict=True))

    expected = shown(table, 1)
    assert all(shown(table, n_threads) == expected for n_threads in (2, 3, 8))
    assert shown(shuffled, 2) == expected


def test_means_of_floats_far_apart_warn_of_nothing() -> None:
    table = {"a": [-1e300, -1e300, 5e-324, 5e-324, None]}
    found = anon.anonymize(table, anon.Schema(quasi=["a"]), require=[anon.KAnonymity(2)], numeric="mean")
    assert collections.Counter(map(tuple, found.table.to_pandas().values.tolist())) == {
        (-1e300, False): 2,
        (5e-324, True): 3,
    }
