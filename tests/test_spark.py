# SPDX-License-Identifier: Apache-2.0
"""Spark's release is the one of one machine, whatever happens to the tasks."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import anon
from anon.scale.spark import anonymize_spark

pytestmark = [
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
            "s": some(np.where(rng.random(n) < i / 80, "flu", rng.choice(["flu", "hiv", "cold"], n)), pa.string()),
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
CASES: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "k": (K5, {}),
    "l and t": ([anon.KAnonymity(4), anon.LDiversity(2, "distinct"), anon.TCloseness(0.4, "equal")], {}),
    "median": (K5, {"method": anon.Mondrian(cuts="median"), "numeric": "bounds"}),
    "most-repeated": ([anon.AlphaK(0.9, 4)], {"method": anon.Mondrian(split="most-repeated"), "missing": "suppress"}),
    "names": (K5, {"method": anon.Mondrian(split=["f", "t"]), "numeric": "midpoint"}),
    "gain": (
        [anon.KAnonymity(3), anon.BetaLikeness(3.0, sensitive="s")],
        {"method": anon.Mondrian(split="information-gain", target="weight"), "numeric": "level"},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_strict_mondrian_is_the_same_release(spark: Any, case: str) -> None:
    require, options = CASES[case]
    small = table(700, 1)
    if options.get("numeric") == "level":
        small = small.drop_columns(["x", "day"])
    schema = SCHEMA
    if options.get("numeric") == "level":
        schema = anon.Schema([one for one in SCHEMA.quasi if one.name not in ("x", "day")], SCHEMA.sensitive, ["name"])
    local = anon.anonymize(small, schema, require=require, **options)
    release = anonymize_spark(spark.createDataFrame(small), schema, require=require, node_rows=100, **options)
    assert release.columns == local.table.column_names
    assert rows(release.toArrow()) == rows(local.table)
    release.unpersist()
