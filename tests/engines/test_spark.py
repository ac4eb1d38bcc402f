# SPDX-License-Identifier: Apache-2.0
"""Spark's release is the one of one machine, whatever happens to the tasks."""

from __future__ import annotations

import os
import re
import secrets
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_cuts import METHODS, REQUIRE, nodes, tables
from test_cuts import SCHEMA as SMALL

import anon
from anon.encoding.table import encode
from anon.engines.local import Judged, make
from anon.engines.spark.anonymize import anonymize_spark
from anon.engines.spark.check import check_spark

pytestmark = [
    pytest.mark.java,
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # sockets that py4j leaves to the collector
]

TREE = {"top": {"left": ["a", "b"], "right": {"one": ["c"], "d": ["d1", "d2"]}, "e": ["e"]}}
SCHEMA = anon.Schema(
    [
        anon.numeric("i", hierarchy=anon.intervals(5, 10)),
        "f",
        anon.nominal("t", TREE),
        anon.ordinal("d", ["low", "mid", "high"]),
        "day",
        "x",
    ],
    ["s", "n"],
    ["name"],
    neutral="rest",
)


def session(master: str, folder: Any, **settings: str) -> Any:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(master).appName("anon")
    for key, value in {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(folder),
        "spark.local.dir": str(folder),
        **settings,
    }.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    started = session("local[2]", tmp_path_factory.mktemp("spark"))
    yield started
    started.stop()


def table(n: int, seed: int, nulls: float = 0.05) -> pa.Table:
    """Ties and nulls in attributes of every kind, a neutral column with a number of its own per row."""
    rng = np.random.default_rng(seed)

    def some(values: Any, kind: pa.DataType) -> pa.Array:
        return pa.array(values, kind, mask=rng.random(n) < nulls)

    i = np.minimum(rng.geometric(0.08, n), 60)
    return pa.table(
        {
            "name": [f"person {number}" for number in range(n)],
            "i": some(i, pa.int64()),
            "f": some(rng.choice(list("uvwxyz"), n), pa.string()),
            "t": some(rng.choice(["a", "b", "c", "d1", "d2", "e"], n), pa.string()),
            "d": pa.array(rng.choice(["low", "mid", "high"], n)),
            "day": some(rng.integers(18000, 18060, n).astype(np.int32), pa.date32()),
            "x": some(np.round(rng.normal(size=n), 1), pa.float64()),
            "s": some(
                np.where(rng.random(n) < i / 80, "flu", rng.choice(["flu", "hiv", "cold"], n)), pa.string()
            ),
            "n": pa.array(rng.integers(0, 5, n)),
            "weight": rng.integers(0, 300, n),
        }
    )


def rows(release: pa.Table) -> Counter[tuple[Any, ...]]:
    """The rows of a table as a multiset."""
    plain = [
        column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        for column in release.columns
    ]
    return Counter(zip(*(column.to_pylist() for column in plain), strict=True))


K5 = [anon.KAnonymity(5)]
DIVERSE = [anon.KAnonymity(4), anon.LDiversity(2, "distinct"), anon.TCloseness(0.4, "equal")]
CASES: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "k, l and t": (DIVERSE, {}),
    "median, suppressed": (
        K5,
        {"method": anon.Mondrian(cuts="median"), "numeric": "bounds", "missing": "suppress"},
    ),
    "most-repeated": (
        [anon.AlphaK(0.9, 4)],
        {"method": anon.Mondrian(split="most-repeated"), "numeric": "midpoint"},
    ),
    "names": (K5, {"method": anon.Mondrian(split=["f", "t"]), "numeric": "mean"}),
    "gain": (
        [anon.KAnonymity(3), anon.BetaLikeness(3.0, sensitive="s")],
        {"method": anon.Mondrian(split="information-gain", target="weight")},
    ),
}


def as_local(release: Any, columns: list[str] | None = None) -> Counter[tuple[Any, ...]]:
    """The rows of a Spark release, which is then given up."""
    found = release.toArrow()
    release.unpersist()
    return rows(found if columns is None else found.select(columns))


@pytest.mark.parametrize("case", CASES)
def test_strict_mondrian_is_the_release_of_one_machine(spark: Any, case: str) -> None:
    require, options = CASES[case]
    small = table(700, 1)
    options = {"method": anon.Mondrian(), **options}
    local = anon.anonymize(small, SCHEMA, require=require, **options)
    release = anonymize_spark(spark.createDataFrame(small), SCHEMA, require=require, node_rows=200, **options)
    assert release.columns == local.table.column_names
    assert as_local(release) == rows(local.table)


CODED = [
    anon.numeric("i", least=5, top=40),
    anon.nominal("t", TREE, least=1),
    anon.numeric("day", least="month"),
    "d",
    anon.numeric("x", bottom=-1.0),
]


@pytest.mark.parametrize("numeric", ["interval", "bounds"])
def test_least_levels_and_weights_are_those_of_one_machine(spark: Any, numeric: str) -> None:
    """Which rows of a class have the remainder of its weights is drawn; how many have is not."""
    small = table(600, 21)
    small = small.set_column(9, "weight", pa.compute.add(small["weight"], 1))
    schema = anon.Schema(CODED, ["s"], ["name"], sampling_weight="weight")
    options: dict[str, Any] = {"require": DIVERSE, "method": anon.Mondrian(), "numeric": numeric}
    local = anon.anonymize(small, schema, **options)
    release = anonymize_spark(spark.createDataFrame(small), schema, node_rows=150, **options)
    assert release.columns == local.table.column_names
    shown = [name for name in release.columns if name != "s"]
    assert as_local(release, shown) == rows(local.table.select(shown))


def test_weights_are_checked_and_kept_with_a_warning(spark: Any) -> None:
    small = pa.table({"a": [1, 1, 2, 2], "w": [1.5, 1.5, 2.0, 3.0]})
    schema = anon.Schema(["a"], sampling_weight="w")
    with pytest.warns(anon.PrivacyWarning, match="'w' keeps its weights, with which 2 of 4 rows are alone"):
        kept = anonymize_spark(
            spark.createDataFrame(small), schema, require=[anon.KAnonymity(2)], weights="keep"
        )
    assert as_local(kept) == Counter({("1", 1.5): 2, ("2", 2.0): 1, ("2", 3.0): 1})
    wrong = small.set_column(1, "w", pa.array([0.0, None, float("inf"), 1.0]))
    with pytest.raises(anon.DataError, match=r"above 0 in 3 rows \(1 missing\)"):
        anonymize_spark(spark.createDataFrame(wrong), schema, require=[anon.KAnonymity(2)])
    texts = small.set_column(1, "w", pa.array(list("abcd")))
    with pytest.raises(anon.DataError, match="has type string"):
        anonymize_spark(spark.createDataFrame(texts), schema, require=[anon.KAnonymity(2)])
    with pytest.raises(anon.UsageError, match="weights must be one of"):
        anonymize_spark(spark.createDataFrame(small), schema, require=K5, weights="mean")  # type: ignore[arg-type]


def visits(n: int, seed: int) -> tuple[pa.Table, anon.Schema]:
    """Rows of persons that have several, and their roles."""
    pid = pa.array([f"p{number}" for number in np.random.default_rng(seed).integers(0, n // 3, n)])
    schema = anon.Schema(SCHEMA.quasi, ["s", "n"], ["name"], unit="pid", neutral="rest")
    return table(n, seed).append_column("pid", pid), schema


@pytest.mark.parametrize(
    ("require", "options"),
    [
        (K5, {"cuts": "median"}),
        (DIVERSE, {}),
        ([anon.KAnonymity(3), anon.AlphaK(0.8, 2, sensitive="s")], {"split": ["t", "f"]}),
    ],
    ids=repr,
)
def test_units_are_counted_as_on_one_machine(
    spark: Any, require: list[Any], options: dict[str, Any], recwarn: pytest.WarningsRecorder
) -> None:
    small, schema = visits(600, 22)
    asked: dict[str, Any] = {"require": require, "method": anon.Mondrian(**options)}
    local = anon.anonymize(small, schema, **asked)
    release = anonymize_spark(spark.createDataFrame(small).repartition(3), schema, node_rows=150, **asked)
    assert release.columns == local.table.column_names
    assert release.storageLevel.useMemory
    assert as_local(release) == rows(local.table)


@pytest.mark.filterwarnings("ignore::anon.PrivacyWarning")
def test_buckets_hold_rows_of_enough_units(spark: Any) -> None:
    small, schema = visits(300, 23)
    small = small.set_column(small.column_names.index("weight"), "weight", pa.array(range(300)))
    pair = anonymize_spark(
        spark.createDataFrame(small), schema, require=K5, publish="bucketization", node_rows=100
    )
    first, second = (one.toArrow() for one in pair)
    assert first.column_names == ["i", "f", "t", "d", "day", "x", "weight", "class_id"]
    whose: dict[int, set[str]] = {}
    for number, row in zip(first["class_id"].to_pylist(), first["weight"].to_pylist(), strict=True):
        whose.setdefault(number, set()).add(small["pid"][row].as_py())
    assert len(whose) > 10
    assert min(map(len, whose.values())) >= 5
    assert pa.compute.sum(second["count"]).as_py() == 600
    for one in pair:
        one.unpersist()


@pytest.mark.filterwarnings("ignore::anon.PrivacyWarning")
def test_what_units_cannot_have_is_told(spark: Any) -> None:
    small, schema = visits(60, 24)
    df = spark.createDataFrame(small)
    n_units = len(small["pid"].unique())
    with pytest.raises(anon.InfeasibleError, match=f"the table has {n_units} units, so the largest k is"):
        anonymize_spark(df, schema, require=[anon.KAnonymity(n_units + 1)])
    anonymize_spark(df, schema, require=[anon.KAnonymity(n_units + 1, count="rows")]).unpersist()
    with pytest.raises(anon.UsageError, match="relaxed cuts do not run on Spark where units"):
        anonymize_spark(df, schema, require=K5, method=anon.Mondrian(relaxed=True))
    with pytest.raises(anon.UsageError, match="no test of one class decides it"):
        anonymize_spark(df, schema, require=[anon.KAnonymity(2, count="unit-bags")])
    lost = small.set_column(small.num_columns - 1, "pid", pa.array([None, *small["pid"].to_pylist()[1:]]))
    with pytest.raises(anon.DataError, match="'pid', the unit, is missing in 1 rows"):
        anonymize_spark(spark.createDataFrame(lost), schema, require=K5)


@pytest.mark.filterwarnings("ignore::anon.PrivacyWarning")
def test_units_are_counted_anew_before_they_are_dropped(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Made for rows, checked for units."""
    from anon.engines.spark import anonymize as module

    check = module._recheck

    def of_units(held: Any, rows: Any, read: Any, plan: Any, *rest: Any) -> int:
        return check(held, rows, read, replace(plan, require=(anon.KAnonymity(5, count="units"),)), *rest)

    monkeypatch.setattr(module, "_recheck", of_units)
    small, schema = visits(300, 25)
    with pytest.raises(
        anon.RecheckError, match=r"\d+ of \d+ classes do not meet KAnonymity\(k=5, count='units'\)"
    ):
        anonymize_spark(spark.createDataFrame(small), schema, require=[anon.KAnonymity(5, count="rows")])


def flat(told: Any, above: str = "") -> dict[str, Any]:
    """Nested measures under names with dots."""
    if not isinstance(told, dict):
        return {above.removeprefix("."): float(told) if told == "inf" else told}
    return {key: value for name, held in told.items() for key, value in flat(held, f"{above}.{name}").items()}


def test_measures_are_those_of_one_machine(spark: Any) -> None:
    small = table(600, 2, nulls=0.0)
    local = anon.anonymize(small, SCHEMA, require=DIVERSE, effort="fast")
    release = anonymize_spark(spark.createDataFrame(small), SCHEMA, require=DIVERSE, node_rows=200)
    found = check_spark(release, SCHEMA, require=[anon.KAnonymity(1000), anon.KAnonymity(4)])
    assert len(flat(found.to_dict())) > 80
    assert found.unmet == ("1000-anonymity",)
    alike(replace(found, unmet=None, roles=None), local.privacy())
    release.unpersist()


def alike(found: anon.Privacy, expected: anon.Privacy) -> None:
    """The same measures, but for the numbers of classes, which Spark does not give; of roles given or not."""
    ours, theirs = (flat(replace(one, roles_from=None).to_dict()) for one in (found, expected))
    for told in (ours, theirs):
        for key in [key for key in told if {"worst", "worst_cells"} & {*key.split(".")}]:
            del told[key]
    numbers = {key: held for key, held in theirs.items() if isinstance(held, int | float)}
    assert {key: ours.pop(key, None) for key in numbers} == pytest.approx(numbers, rel=1e-12)
    assert ours == {key: held for key, held in theirs.items() if key not in numbers}


REQUIRED = [
    anon.KAnonymity(4),
    anon.KAnonymity(5),
    anon.LDiversity(2, "entropy"),
    anon.TCloseness(0.9, "equal"),
    anon.AlphaK(0.9, 2, sensitive="s"),
]


@pytest.mark.parametrize(("missing", "n"), [("category", "n"), ("suppress", anon.numeric("n"))])
def test_measures_of_a_bucketization_are_those_of_one_machine(spark: Any, missing: str, n: Any) -> None:
    """Two sensitive attributes, one of them read back from text as numbers or not; nulls in both tables."""
    df = spark.createDataFrame(table(300, 14))
    schema = anon.Schema(["f", "x", "d"], ["s", "n"], ["name"])
    pair = anonymize_spark(
        df, schema, require=[anon.KAnonymity(4)], publish="bucketization", missing=missing, node_rows=100
    )
    schema = anon.Schema(["f", "x", "d"], ["s", n])
    first, second = (one.toArrow() for one in pair)
    assert (first["x"].null_count > 0) == (missing == "category")
    found = check_spark(pair[0], schema, sensitive_table=pair[1], at_risk=[0.3, 4], require=REQUIRED)
    expected = anon.check(first, schema, sensitive_table=second, at_risk=[0.3, 4], require=REQUIRED)
    alike(found, expected)
    assert (found.unmet, found.roles_from) == (expected.unmet, "given")
    assert "5-anonymity" in (found.unmet or ())
    assert found.sample_uniques > 0
    for one in pair:
        one.unpersist()


FIRST = pa.table({"a": [1, 2, 2, 3], "class_id": [7, 7, 8, 8]})
SECOND = pa.table(
    {"attribute": ["s"] * 3, "class_id": [7, 7, 8], "value": ["p", "q", "q"], "count": [1, 1, 2]}
)


def changed(name: str, values: Any) -> pa.Table:
    """The sensitive table with another column of this name."""
    return SECOND.set_column(SECOND.column_names.index(name), name, pa.array(values))


@pytest.mark.parametrize(
    "second",
    [
        changed("count", [1, 1, 1]),
        changed("count", [2, 1, 1]),
        changed("count", [2**62] * 3),
        changed("class_id", [7, 7, 9]),
        changed("class_id", [7, 7, None]),
        changed("attribute", ["t"] * 3),
        SECOND.slice(1),
        pa.concat_tables([SECOND, changed("class_id", [9, 9, 9])]),
    ],
)
def test_halves_that_do_not_belong_together_are_told(spark: Any, second: pa.Table) -> None:
    schema = anon.Schema(["a"], ["s"])
    words = (
        "column 's': .* do not belong together: .*; give the two that one run wrote"
        "|counts no values of a column 's'; name those that stand in its column 'attribute'"
    )
    with pytest.raises(anon.DataError, match=words):
        anon.check(FIRST, schema, sensitive_table=second)
    with pytest.raises(anon.DataError, match=words) as caught:
        check_spark(spark.createDataFrame(FIRST), schema, sensitive_table=spark.createDataFrame(second))
    assert caught.value.column == "s"


def test_what_is_no_sensitive_table_is_told(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    schema, first = anon.Schema(["a"], ["s"]), spark.createDataFrame(FIRST)

    def check(second: pa.Table) -> anon.Privacy:
        return check_spark(first, schema, sensitive_table=spark.createDataFrame(second))

    for counts in ([1, 1, 0], [1, 1, None], ["1", "1", "two"]):
        with pytest.raises(anon.DataError, match="counted in whole numbers above 0") as caught:
            check(changed("count", counts))
        assert caught.value.count == 1
    with pytest.raises(anon.DataError, match="attribute"):
        check(SECOND.drop_columns("attribute"))
    with pytest.raises(anon.DataError, match="class_id"):
        check_spark(first.drop("class_id"), schema, sensitive_table=first)
    with pytest.raises(anon.UsageError, match="a Spark DataFrame, not Table"):
        check_spark(first, schema, sensitive_table=SECOND)
    texts = changed("count", ["1", "1", "2"]).set_column(1, "class_id", pa.array(["7", "7", "8"]))
    alike(check(texts), anon.check(FIRST, schema, sensitive_table=SECOND))
    monkeypatch.setattr("anon.engines.spark.check.MOST_VALUES", 1)
    with pytest.raises(anon.DataError, match="column 's' has more than 1 values"):
        check(SECOND)


@pytest.mark.parametrize("sensitive", [[], ["s", "n"]])
def test_missing_cells_match_anything_as_on_one_machine(spark: Any, sensitive: list[str]) -> None:
    """Every pattern of missing cells; where a number is missing it is not a number."""
    rng = np.random.default_rng(16)
    x = pa.array(np.where(rng.random(120) < 0.2, np.nan, rng.integers(0, 2, 120) - 0.5))
    small = table(120, 16).select(["s", "n"]).append_column("x", x)
    for name, values in {"a.b": list("uv"), "i": [1, 2]}.items():
        column = pa.array(rng.choice(values, 120), mask=rng.random(120) < 0.3)
        small = small.append_column(name, column)
    schema = anon.Schema(["a.b", "i", "x"], sensitive)
    expected = anon.check(small, schema)
    assert expected.null_matching is not None
    assert expected.null_matching.k > expected.k
    alike(check_spark(spark.createDataFrame(small).repartition(3), schema), expected)


def test_rows_of_stars_are_set_apart_as_on_one_machine(spark: Any) -> None:
    small = pa.table(
        {"a": ["*", "x", None, "x", "*", "*"], "b.c": ["*", "u", "u", "u", "v", "*"], "s": list("pqpqrt")}
    )
    for names in (["a", "b.c"], ["b.c"]):
        schema = anon.Schema(names, ["s"])
        found = check_spark(spark.createDataFrame(small), schema)
        alike(found, anon.check(small, schema))
        assert found.n_starred == 2


def test_an_empty_table_is_refused(spark: Any) -> None:
    empty = spark.createDataFrame([], "a string, s string")
    for schema in (anon.Schema(["a"]), anon.Schema(["a"], ["s"])):
        with pytest.raises(anon.DataError, match="the table has no rows"):
            check_spark(empty, schema)


@pytest.mark.parametrize(
    ("seed", "require"),
    [(3, DIVERSE), (4, K5), (5, [anon.KAnonymity(2), anon.AlphaK(0.8, 2, sensitive="s")])],
)
def test_relaxed_mondrian_has_the_classes_of_one_machine(spark: Any, seed: int, require: list[Any]) -> None:
    """The same multisets of quasi-identifiers and sensitive values; many rows are equal in all of them."""
    small = table(600, seed).drop_columns(["x", "day"])
    schema = anon.Schema(["f", "i", anon.nominal("t", TREE), "d"], ["s"], ["name"])
    small = small.set_column(1, "i", pa.compute.divide(small["i"], 8)).drop_columns(["n"])
    shown = ["f", "i", "t", "d", "s"]
    method = anon.Mondrian(relaxed=True)
    local = anon.anonymize(small, schema, require=require, method=method)
    df = spark.createDataFrame(small).repartition(3, "weight")
    release = anonymize_spark(df, schema, require=require, method=method, node_rows=100)
    assert as_local(release, shown) == rows(local.table.select(shown))


@pytest.mark.parametrize("method", [anon.Curve(), anon.TGC(delta=0.4, delta_split=None)], ids=repr)
def test_growing_methods_work_inside_the_nodes_of_a_strict_tree(spark: Any, method: Any) -> None:
    small = table(500, 6, nulls=0.0)
    shown = [one.name for one in (*SCHEMA.quasi, *SCHEMA.sensitive)]
    encoded = encode(small, SCHEMA)
    whole = Judged.whole(encoded)
    rules = whole.rules(DIVERSE)
    expected: Counter[tuple[Any, ...]] = Counter()
    for held in nodes(encoded, anon.Mondrian(), rules, None, 150):
        part = np.sort(held)
        node = replace(
            encoded,
            table=encoded.table.take(part),
            quasi_codes=tuple(codes[part] for codes in encoded.quasi_codes),
            sensitive_codes=tuple(codes[part] for codes in encoded.sensitive_codes),
        )
        made = make(node, method, DIVERSE, judged=replace(whole, encoded=node))
        expected += rows(made.release(requirements=()).table.select(shown))
    release = anonymize_spark(
        spark.createDataFrame(small), SCHEMA, require=DIVERSE, method=method, node_rows=150
    )
    assert as_local(release, shown) == expected


def test_buckets_are_those_of_one_machine(spark: Any) -> None:
    small = table(400, 7)
    options: dict[str, Any] = {"require": DIVERSE, "publish": "bucketization"}
    options = {"method": anon.Mondrian(), **options}
    local = anon.anonymize(small, SCHEMA, **options)
    whole, second = anonymize_spark(spark.createDataFrame(small), SCHEMA, node_rows=150, **options)

    def buckets(table: pa.Table, other: pa.Table) -> Counter[Any]:
        of: dict[int, list[Any]] = {}
        for found in (table, other):
            for row in found.to_pylist():
                number = row.pop("class_id")
                of.setdefault(number, []).append(tuple(row.items()))
        return Counter(frozenset(Counter(map(repr, some)).items()) for some in of.values())

    assert whole.columns == local.table.column_names
    assert second.columns == local.sensitive_table.column_names
    assert buckets(whole.toArrow(), second.toArrow()) == buckets(local.table, local.sensitive_table)
    for frame in (whole, second):
        assert frame.storageLevel.useMemory
        frame.unpersist()


def test_a_check_of_rows_that_change_is_refused(spark: Any) -> None:
    """Values that are others each time they are read, and rows that are more."""

    def others(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            n = batch.num_rows
            yield pa.RecordBatch.from_pydict({"q": ["x"] * n, "s": [secrets.token_hex(8) for _ in range(n)]})

    df = spark.range(20).mapInArrow(others, "q string, s string")
    with pytest.raises(anon.RecheckError, match="or other values; if the DataFrame gives other rows"):
        check_spark(df, anon.Schema(["q"], ["s"]))

    def more(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            n = 1 + int.from_bytes(os.urandom(6), "big") % (1 << 20)
            yield pa.RecordBatch.from_pydict({"q": ["x"] * n, "s": ["a"] * n})

    df = spark.range(1, numPartitions=1).mapInArrow(more, "q string, s string")
    with pytest.raises(anon.RecheckError, match=r"\d+ rows were to be measured and \d+ are"):
        check_spark(df, anon.Schema(["q"], ["s"]))


def test_what_cannot_be_done_is_refused_before_the_work(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    small = table(60, 8)
    df = spark.createDataFrame(small)
    with pytest.raises(anon.InfeasibleError, match="the largest k is 60") as infeasible:
        anonymize_spark(df, SCHEMA, require=[anon.KAnonymity(61)])
    assert infeasible.value.tightest == 60
    with pytest.raises(anon.DataError, match=r"column 'i' is missing in \d+ rows; fill it"):
        anonymize_spark(df, SCHEMA, require=K5, missing="error")
    with pytest.raises(anon.DataError, match=r"s: \d+ values are missing"):
        anonymize_spark(df, SCHEMA, require=K5, method=anon.TGC())
    order = anon.Schema(["i", anon.ordinal("d", ["low", "mid"])], ["s"], ["name"])
    with pytest.raises(anon.DataError, match="its order does not list, in 1 of its distinct values"):
        anonymize_spark(df, order, require=K5)
    monkeypatch.setattr("anon.engines.spark.read.MOST_VALUES", 30)
    with pytest.raises(anon.DataError, match=r"column 'day' has more than 30 values.*round it"):
        anonymize_spark(df, SCHEMA, require=K5)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"method": anon.KMembers()}, "KMembers does not run on Spark: use Mondrian, Curve or TGC"),
        ({"method": anon.Curve(ties="input")}, 'rows have no order on Spark: use ties="rank"'),
        ({"method": anon.Curve(loss="sse")}, 'squared errors are not lowered on Spark: use loss="ncp"'),
        ({"method": anon.Mondrian(split=["i", "city"])}, "split names 'city'"),
        ({"method": anon.Mondrian(split="information-gain", target="i")}, "target='i' is a quasi-identifier"),
        (
            {"method": anon.Mondrian("information-gain", relaxed=True, target="s")},
            "relaxed cuts by information",
        ),
        (
            {"method": anon.Mondrian(relaxed=True), "publish": "bucketization"},
            "relaxed=False, or publish a generalization",
        ),
        ({"node_rows": 0}, "node_rows must be a whole number"),
        ({"missing": "guess"}, "missing must be one of category, suppress, error"),
        ({"require": []}, "nothing is required"),
    ],
)
def test_wrong_arguments_are_named(spark: Any, options: dict[str, Any], words: str) -> None:
    df = spark.createDataFrame(table(20, 8))
    with pytest.raises(anon.UsageError, match=words):
        anonymize_spark(df, SCHEMA, **{"require": K5, **options})


def test_another_table_is_no_dataframe() -> None:
    with pytest.raises(anon.UsageError, match="a Spark DataFrame, not Table"):
        anonymize_spark(table(20, 8), SCHEMA, require=K5)
    with pytest.raises(anon.UsageError, match="a Spark DataFrame, not Table"):
        check_spark(table(20, 8), SCHEMA)


@pytest.mark.parametrize("publish", ["generalization", "bucketization"])
def test_sensitive_numbers_are_published_as_they_are_counted(spark: Any, publish: Any) -> None:
    """NaN is missing, and -0.0 is 0.0."""
    told = [float("nan"), None, -0.0, 0.0, 1.0]
    small = pa.table({"a": [i % 4 for i in range(80)], "s": [told[i % 5] for i in range(80)]})
    made = anonymize_spark(
        spark.createDataFrame(small), anon.Schema(["a"], ["s"]), require=K5, publish=publish
    )
    frames = made if isinstance(made, tuple) else (made,)
    shown = frames[-1].toArrow()["s" if len(frames) == 1 else "value"].to_pylist()
    assert {repr(value).strip("'") for value in shown} == {"None", "0.0", "1.0"}
    for frame in frames:
        frame.unpersist()


def test_nodes_that_no_cut_divides_stay_whole(spark: Any) -> None:
    """300 equal rows, 40 that a cut divides, and partitions without rows."""
    small = pa.table(
        {"a": [1] * 300 + [2] * 20 + [3] * 20, "s": ["x", "y"] * 170, "b": ["u"] * 320 + ["v"] * 20}
    )
    schema = anon.Schema(["a", "b"], ["s"])
    df = spark.createDataFrame(small).repartition(5, "a")
    assert min(map(len, df.rdd.glom().collect())) == 0
    local = anon.anonymize(small, schema, require=K5, effort="fast")
    release = anonymize_spark(df, schema, require=K5, node_rows=10)
    assert as_local(release) == rows(local.table)
    assert local.classes.n_classes == 3


def test_rows_that_miss_a_value_may_be_all(spark: Any) -> None:
    small = pa.table({"a": [1, None], "s": [None, "x"]})
    with pytest.warns(anon.PrivacyWarning, match="the release is empty"):
        release = anonymize_spark(
            spark.createDataFrame(small), anon.Schema(["a"], ["s"]), require=K5, missing="suppress"
        )
    assert release.columns == ["a", "s"]
    assert release.count() == 0
    release.unpersist()


def test_a_release_that_fails_its_check_is_not_returned(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Made for k = 5 and checked for k = 40."""
    from anon.engines.spark import anonymize as module

    check = module._recheck

    def stricter(held: Any, rows: Any, read: Any, plan: Any, *rest: Any) -> int:
        return check(held, rows, read, replace(plan, require=(anon.KAnonymity(40),)), *rest)

    monkeypatch.setattr(module, "_recheck", stricter)
    persisted = spark.sparkContext._jsc.sc().getPersistentRDDs
    before = persisted().size()
    with pytest.raises(anon.RecheckError, match=r"\d+ of \d+ classes do not meet KAnonymity\(k=40\)"):
        anonymize_spark(spark.createDataFrame(table(80, 9)), SCHEMA, require=K5)
    assert persisted().size() == before


def test_the_order_in_a_class_is_not_the_inputs_nor_the_seeds(spark: Any) -> None:
    """One class of rows numbered in the order of the input: twice shuffled, never alike."""
    n = 200
    small = pa.table({"a": [1] * n, "s": ["x", "y"] * (n // 2), "number": [i // 2 for i in range(n)]})
    df, schema = spark.createDataFrame(small), anon.Schema(["a"], ["s"], neutral=["number"])
    orders = []
    for _ in range(2):
        with pytest.warns(anon.PrivacyWarning, match="only one class"):
            release = anonymize_spark(df, schema, require=K5, seed=1)
        first = release.toArrow()["number"].to_pylist()
        assert release.toArrow()["number"].to_pylist() == first
        release.unpersist()
        again = release.toArrow()["number"].to_pylist()  # computed anew, as a lost task would be
        assert again == first
        orders.append(first)
    assert len({tuple(one) for one in [*orders, small["number"].to_pylist()]}) == 3


@pytest.mark.filterwarnings("ignore::anon.PrivacyWarning")
@settings(max_examples=4)
@given(tables(), st.sampled_from(METHODS[:5]), st.sampled_from(REQUIRE[:4]))
def test_any_small_table(spark: Any, small: pa.Table, method: anon.Mondrian, require: list[Any]) -> None:
    try:
        local = anon.anonymize(small, SMALL, require=require, method=method)
    except anon.InfeasibleError as error:
        with pytest.raises(anon.InfeasibleError, match=re.escape(str(error))):
            anonymize_spark(spark.createDataFrame(small), SMALL, require=require, method=method)
        return
    release = anonymize_spark(
        spark.createDataFrame(small), SMALL, require=require, method=method, node_rows=6
    )
    assert as_local(release) == rows(local.table)


@pytest.mark.parametrize("publish", ["generalization", "bucketization"])
def test_a_job_file_runs_on_one_machine_and_on_spark(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, publish: str
) -> None:
    import anon.command.entry
    from anon.command.job import load_job
    from anon.command.spark import run

    pq.write_table(table(300, 12), tmp_path / "in.parquet")
    (tmp_path / "job.toml").write_text(
        'input = "in.parquet"\noutput = "out.parquet"\nquasi = ["i", "f", "d"]\nsensitive = ["s"]\n'
        f'identifying = ["name"]\nk = 6\neffort = "fast"\npublish = "{publish}"\n'
        'ordinal = {d = "low<mid<high"}\n'
    )
    job = str(tmp_path / "job.toml")
    privacy, unpublished = run(load_job(job, {"output": str(tmp_path / "spark.parquet")}))
    assert unpublished == [
        name for name in table(1, 1).column_names if name not in ("i", "f", "d", "s", "name")
    ]
    assert anon.command.entry.main(["anonymize", "--config", job, "--quiet"]) == 0
    ours, theirs = (pq.read_table(tmp_path / name) for name in ("out.parquet", "spark.parquet"))
    assert ours.column_names == theirs.column_names
    if publish == "generalization":
        assert rows(ours) == rows(theirs)
    else:
        second = pq.read_table(tmp_path / "spark.sensitive.parquet")
        assert second.num_rows == pq.read_table(tmp_path / "out.sensitive.parquet").num_rows
    alike(privacy, replace(anon.check(tmp_path / "out.parquet"), roles=None))
    with pytest.raises(anon.DataError, match="exists: remove it"):
        run(load_job(job, {"output": str(tmp_path / "spark.parquet")}))
    assert not list(tmp_path.glob("*.unfinished"))


@pytest.mark.filterwarnings("ignore::anon.PrivacyWarning")
@pytest.mark.parametrize(
    ("columns", "options", "expected"),
    [
        ({"a": ["x", "y"], "s": ["p", "q"]}, {"sensitive": ["s"]}, (2, 1, 2)),  # `*` only
        ({"a": ["x", "x"]}, {}, (2, 1, 2)),
        ({"a": ["x", None], "s": [None, "q"]}, {"sensitive": ["s"], "missing": "suppress"}, (0, 0, 0)),
        (
            {"a": ["x", None], "s": [None, "q"]},
            {"sensitive": ["s"], "missing": "suppress", "publish": "bucketization"},
            (0, 0, 0),
        ),
    ],
)
def test_what_a_job_tells_of_a_small_release(
    spark: Any, tmp_path: Path, columns: Any, options: dict[str, Any], expected: tuple[int, int, int]
) -> None:
    """One class of cells that say nothing, no sensitive attribute, no row."""
    from anon.command.job import Job
    from anon.command.spark import run

    pq.write_table(pa.table(columns), tmp_path / "in.parquet")
    ends = {"input": str(tmp_path / "in.parquet"), "output": str(tmp_path / "out.parquet")}
    found, _ = run(Job(**ends, quasi=["a"], k=2, **options))
    assert (found.n_rows, found.n_classes, found.k) == expected
    assert found.n_starred == 0
    assert list(found.by_sensitive) == options.get("sensitive", [])


def test_a_job_whose_files_fail_their_check_writes_nothing(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Made for k = 5 and asked for k = 40: the files are what is checked."""
    from anon.command import spark as spark_module
    from anon.command.job import Job

    pq.write_table(table(80, 12), tmp_path / "in.parquet")
    ends = {"input": str(tmp_path / "in.parquet"), "output": str(tmp_path / "out.parquet")}
    made = spark_module.release_spark
    monkeypatch.setattr(
        spark_module, "release_spark", lambda *args, **how: made(*args, **how | {"require": K5})
    )
    persisted = spark.sparkContext._jsc.sc().getPersistentRDDs
    before = persisted().size()
    with pytest.raises(anon.RecheckError, match="the files do not hold what was asked for"):
        spark_module.run(Job(**ends, quasi=["i", "f"], sensitive=["s"], k=40))
    assert [each.name for each in tmp_path.iterdir()] == ["in.parquet"]
    assert persisted().size() == before


def test_a_job_of_buckets_writes_both_tables_or_none_and_leaves_what_others_persisted(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from anon.command import spark as spark_module
    from anon.command.job import Job

    pq.write_table(table(80, 12), tmp_path / "in.parquet")
    job = Job(
        input=str(tmp_path / "in.parquet"),
        output=str(tmp_path / "out.parquet"),
        quasi=["i", "f"],
        sensitive=["s"],
        identifying=["name"],
        k=6,
        publish="bucketization",
    )
    mine = spark.range(5).persist()
    mine.count()
    move = spark_module._move
    persisted = spark.sparkContext._jsc.sc().getPersistentRDDs
    before = persisted().size()

    def one(spark: Any, old: str, new: str) -> None:
        if new.endswith(".sensitive.parquet"):
            raise anon.DataError(f"cannot write {new!r}; nothing was written")
        move(spark, old, new)

    monkeypatch.setattr(spark_module, "_move", one)
    with pytest.raises(anon.DataError, match="nothing was written"):
        spark_module.run(job)
    assert [each.name for each in tmp_path.iterdir() if each.suffix == ".parquet"] == ["in.parquet"]
    monkeypatch.setattr(spark_module, "_move", move)
    spark_module.run(job)
    assert (tmp_path / "out.sensitive.parquet").is_dir()
    assert mine.storageLevel.useMemory
    assert persisted().size() == before
    mine.unpersist()


def test_faults_of_files_are_told_before_the_work(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from anon.command import spark as spark_module
    from anon.command.job import Job

    source = tmp_path / "in.parquet"
    pq.write_table(table(80, 12), source)
    (tmp_path / "file").touch()
    (tmp_path / "junk.parquet").write_text("junk")
    (tmp_path / "mine.unfinished").mkdir()
    (tmp_path / "mine.unfinished" / "kept").touch()
    before = sorted(tmp_path.rglob("*"))
    monkeypatch.delattr(spark_module, "release_spark")
    for path, output, words in [
        (source, "nofs://x/out", r"cannot write .*UnsupportedFileSystemException"),
        (source, tmp_path / "file" / "out", r"cannot write .*ParentNotDirectoryException"),
        (source, tmp_path / "mine", "unfinished' exists: another run writes it"),
        (tmp_path / "junk.parquet", tmp_path / "out", r"cannot be read: .*not Parquet"),
        (tmp_path / "none.parquet", tmp_path / "out", r"cannot be read: .*PATH_NOT_FOUND"),
        ("s3a://nope/in.parquet", tmp_path / "out", r"cannot be read: .*ClassNotFoundException"),
    ]:
        job = Job(input=str(path), output=str(output), quasi=["i"], sensitive=["s"], k=2)
        with pytest.raises(anon.DataError, match=words):
            spark_module.run(job)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_machine_without_java_is_told_what_to_install(tmp_path: Path) -> None:
    pq.write_table(table(20, 1), tmp_path / "in.parquet")
    command = [
        sys.executable,
        "-m",
        "anon",
        "anonymize",
        "in.parquet",
        "-o",
        "out",
        "--quasi",
        "i",
        "--k",
        "2",
    ]
    bare = {key: held for key, held in os.environ.items() if key != "JAVA_HOME"} | {"PATH": str(tmp_path)}
    done = subprocess.run(
        [*command, "--engine", "spark"], cwd=tmp_path, env=bare, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "install Java 17" in done.stderr
    assert [each.name for each in tmp_path.iterdir()] == ["in.parquet"]


def test_signals_wait_until_java_has_started() -> None:
    from anon.command.spark import _signals_later

    came: list[str] = []
    previous = signal.signal(signal.SIGTERM, lambda number, frame: came.append("handled"))
    try:
        with _signals_later():
            signal.raise_signal(signal.SIGTERM)
            came.append("started")
    finally:
        signal.signal(signal.SIGTERM, previous)
    assert came == ["started", "handled"]


@pytest.mark.parametrize("numeric", ["interval", "bounds", "mean"])
def test_moments_in_any_zone_of_the_session(spark: Any, numeric: Any) -> None:
    rng = np.random.default_rng(3)
    hours = [
        pa.array(1_590_000_000 + 3600 * rng.integers(0, n, 200), pa.int64()).cast(pa.timestamp("s", "UTC"))
        for n in (20, 3, 100)
    ]
    moments = pa.table({"q": hours[0], "s": hours[1], "d": rng.choice(list("xyz"), 200), "seen": hours[2]})
    schema = anon.Schema(["q"], ["s", "d"], neutral="rest")
    spark.conf.set("spark.sql.session.timeZone", "Europe/Amsterdam")
    try:
        released = anonymize_spark(
            spark.createDataFrame(moments),
            schema,
            require=[anon.KAnonymity(5)],
            numeric=numeric,
            node_rows=50,
        )
        ours = released.toArrow()
        measured = check_spark(released, anon.Schema(ours.column_names[:-3], ["s", "d"]))
        released.unpersist()
    finally:
        spark.conf.unset("spark.sql.session.timeZone")
    theirs = anon.anonymize(moments, schema, require=[anon.KAnonymity(5)], numeric=numeric, effort="fast")
    expected = theirs.table.replace_schema_metadata(None)
    us = pa.schema(
        [
            field.with_type(pa.timestamp("us", "UTC")) if pa.types.is_timestamp(field.type) else field
            for field in expected.schema
        ]
    )
    assert rows(ours.cast(us)) == rows(expected.cast(us))
    assert measured.k == theirs.privacy().k


def test_a_column_that_a_bucketization_adds_is_refused(spark: Any) -> None:
    people = spark.createDataFrame(pa.table({"q": [1, 1], "s": ["a", "b"], "class_id": [1, 2]}))
    with pytest.raises(anon.UsageError, match="'class_id', which a bucketization adds"):
        anonymize_spark(
            people,
            anon.Schema(["q"], ["s"], neutral="rest"),
            require=[anon.KAnonymity(2)],
            publish="bucketization",
        )


def test_a_job_on_spark_needs_its_file(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from anon.command import submit

    monkeypatch.setattr(sys, "argv", ["submit.py"])
    with pytest.raises(SystemExit, match="2"):
        submit.main()
    assert capsys.readouterr().err == "error: name one job file: spark-submit submit.py job.toml\n"


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ({"input": "people.csv"}, "Spark reads Parquet"),
        ({"order": "input"}, "rows have no order on Spark"),
        ({"on_infeasible": "trivial"}, "a trivial release is for one machine"),
        ({"output": None}, "needs an input, an output and the roles"),
        ({"output": "b.csv"}, "Spark writes a folder of Parquet files"),
        ({"method": "kmembers"}, "does not run on Spark"),
        ({"method": "curve", "ties": "input"}, "rows have no order on Spark"),
    ],
)
def test_jobs_that_do_not_run_on_spark(
    flags: dict[str, Any], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are refused before Spark is started."""
    from pyspark.sql import SparkSession

    from anon.command.job import Job
    from anon.command.spark import run

    job = Job.model_validate(
        {"input": "a.parquet", "output": "b.parquet", "quasi": ["i"], "sensitive": ["s"], "k": 2, **flags}
    )
    monkeypatch.delattr(SparkSession, "builder")
    with pytest.raises(anon.UsageError, match=words):
        run(job)


@pytest.mark.parametrize("alone", [True, False])
def test_spark_draws_no_bar_of_its_own(monkeypatch: pytest.MonkeyPatch, alone: bool) -> None:
    """Under spark-submit its settings count."""
    from pyspark.sql import SparkSession

    from anon.command.job import Job
    from anon.command.spark import run

    class Builder:
        def __init__(self) -> None:
            self.asked: dict[str, str] = {}

        def appName(self, name: str) -> Builder:
            return self

        def config(self, map: dict[str, str]) -> Builder:
            self.asked = map
            return self

        def getOrCreate(self) -> Any:
            raise KeyboardInterrupt

    monkeypatch.setattr(SparkSession, "builder", builder := Builder())
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    if not alone:
        monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    with pytest.raises(KeyboardInterrupt):
        run(Job.model_validate({"input": "a.parquet", "output": "b.parquet", "quasi": ["i"], "k": 2}))
    assert builder.asked.get("spark.ui.showConsoleProgress") == ("false" if alone else None)


@pytest.mark.parametrize(("bound", "expected"), [("max", None), (str(8 << 30), "2048m"), ("4096", "1024m")])
def test_java_gets_a_quarter_of_the_memory_that_there_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, bound: str, expected: str | None
) -> None:
    from anon.command import spark as spark_module

    monkeypatch.setattr(spark_module, "CONTAINER", tmp_path / "memory.max")
    whole = spark_module._of_this_machine()["spark.driver.memory"]
    (tmp_path / "memory.max").write_text(f"{bound}\n")
    monkeypatch.setattr(os, "sysconf", lambda name: {"SC_PHYS_PAGES": 1 << 24}.get(name, 4096))
    assert spark_module._of_this_machine()["spark.driver.memory"] == (expected or "16384m")
    assert whole.endswith("m")


def test_java_that_ends_is_told() -> None:
    from py4j.protocol import Py4JNetworkError

    from anon.command.spark import _plainly

    for error in (Py4JNetworkError("Answer from Java side is empty"), ConnectionRefusedError()):
        with pytest.raises(anon.DataError, match="SPARK_DRIVER_MEMORY=8g"), _plainly("cannot be written"):
            raise error


@pytest.mark.parametrize("large", ["false", "true"])
def test_the_arrow_types_are_those_of_the_rows_and_take_no_job(spark: Any, large: str) -> None:
    from anon.engines.spark.classes import arrow_schema
    from anon.engines.spark.frames import in_utc

    kinds = ["boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal(12,3)", "string"]
    kinds += ["binary", "date", "timestamp", "timestamp_ntz", "interval day to second", "array<timestamp>"]
    kinds += ["map<string,binary>", "struct<a:string,b:array<struct<c:date>>>"]
    df = spark.sql("SELECT " + ", ".join(f"CAST(NULL AS {kind}) AS c{i}" for i, kind in enumerate(kinds)))
    key, jobs = "spark.sql.execution.arrow.useLargeVarTypes", spark.sparkContext.statusTracker()
    spark.conf.set(key, large)
    spark.sparkContext.setJobGroup(f"types, {large}", "")
    try:
        made = arrow_schema(df)
        assert not jobs.getJobIdsForGroup(f"types, {large}")
        assert made.equals(in_utc(df.toArrow().schema), check_metadata=True)
    finally:
        spark.conf.unset(key)
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)


@pytest.mark.parametrize("method", [anon.Mondrian(), anon.Curve()], ids=lambda method: type(method).__name__)
def test_nested_columns_hold_their_values_and_no_metadata(spark: Any, method: Any, tmp_path: Path) -> None:
    from pyspark.sql.types import ArrayType, LongType, MapType, StringType, StructField, StructType

    note = {"note": "MetadataXq7v"}
    inner = StructType(
        [
            StructField("x", StringType(), True, note),
            StructField("m", MapType(StringType(), StructType([StructField("y", LongType(), True, note)]))),
        ]
    )
    columns = [("age", LongType()), ("kept", ArrayType(inner)), ("one", inner)]
    schema = StructType([StructField(name, kind, True, note) for name, kind in columns])
    value = [(f"v{i}", {"k": (i,)}) for i in range(20)]
    rows = [(i // 5, [value[i]] if i % 4 else None, value[i] if i % 3 else None) for i in range(20)]
    df = spark.createDataFrame(rows, schema)
    release = anonymize_spark(
        df, anon.Schema(["age"], neutral="rest"), require=[anon.KAnonymity(5)], method=method
    )
    release.write.option("compression", "none").parquet(str(tmp_path / "out"))
    written = [path.read_bytes() for path in (tmp_path / "out").glob("*.parquet")]
    assert b"v19" in b"".join(written), "a search that finds nothing anywhere would prove nothing"
    assert b"Xq7v" not in b"".join(written)
    found = spark.read.parquet(str(tmp_path / "out")).select("kept", "one").collect()
    assert Counter(map(repr, found)) == Counter(map(repr, df.select("kept", "one").collect()))
