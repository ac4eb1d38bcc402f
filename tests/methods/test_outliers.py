# SPDX-License-Identifier: Apache-2.0
"""Rows left out by any method: never more than allowed, never for a greater loss, and the best at that."""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import anon
from anon.encoding import Encoded, encode
from anon.engines import Judged, make
from anon.methods import leave_out

METHODS = [anon.Mondrian(), anon.Mondrian(relaxed=True), anon.Curve(), anon.KMembers(), anon.TGC()]
TREE = {"*": {"P": {"p": ["a", "b"], "q": ["c", "d"]}, "Q": ["e", "f", "g"]}}


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", anon.PrivacyWarning)
        yield


def a_case(rng: random.Random, n: int) -> tuple[pa.Table, anon.Schema]:
    """Numbers with a long tail, a tree, a set, an order; some with nulls."""
    missing = rng.choice([0.0, 0.0, 0.05])

    def drawn(one: Any) -> list[Any]:
        return [None if rng.random() < missing else one() for _ in range(n)]

    table = pa.table(
        {
            "pay": pa.array(drawn(lambda: int(10 * rng.paretovariate(1))), pa.int64()),
            "tree": pa.array(drawn(lambda: "abcdefg"[int(7 * rng.random() ** 3)]), pa.string()),
            "set": pa.array(drawn(lambda: "vwxyz"[int(5 * rng.random() ** 4)]), pa.string()),
            "rank": pa.array(drawn(lambda: "lmno"[int(4 * rng.random() ** 2)]), pa.string()),
            "ill": rng.choices(["flu", "cold", "gout", "ague"], [4, 3, 2, 2], k=n),
        }
    )
    quasi = ["pay", anon.nominal("tree", TREE), "set", anon.ordinal("rank", list("lmno"))]
    return table, anon.Schema(quasi=quasi[: rng.randint(1, 4)], sensitive=["ill"])


DEMANDS = [
    [anon.KAnonymity(4)],
    [anon.KAnonymity(12)],
    [anon.KAnonymity(3), anon.LDiversity(2)],
    [anon.KAnonymity(3), anon.TCloseness(0.3, distance="equal")],
    [anon.KAnonymity(2), anon.DeltaDisclosure(3.0)],
    [anon.KAnonymity(2), anon.SDiversityBound(0.95, r=0.5)],
]


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_some_rows_may_be_left_out_where_the_others_lose_less(method: anon.Method) -> None:
    n_left_out = 0
    for seed in range(6):
        rng = random.Random(seed)
        table, schema = a_case(rng, 60)
        require = DEMANDS[seed % len(DEMANDS)]
        try:
            whole, part = (
                anon.anonymize(table, schema, require=require, method=method, suppress=share, n_threads=1)
                for share in (0, 0.1)
            )
        except anon.InfeasibleError:
            continue
        n_out = len(part.classes.suppressed)
        assert n_out <= 6
        assert part.utility().gcp <= whole.utility().gcp + 1e-12
        assert n_out == 0 or part.utility().gcp < whole.utility().gcp
        assert part.summary().get("suppressed for", {}) == ({"outliers": n_out} if n_out else {})
        assert part.privacy().k >= require[0].k
        n_left_out += n_out
    assert n_left_out > 0


def loss_of(encoded: Encoded, rows: list[int]) -> float:
    """Of one class of these rows, slowly: its rows times the widths of its cells."""
    total = 0.0
    for domain, column in zip(encoded.quasi, encoded.quasi_codes, strict=True):
        codes = {int(column[row]) for row in rows}
        present = sorted(codes - {domain.n_values})
        if not present:
            continue
        if len(present) < len(codes):
            total += 1
        elif domain.positions is not None:
            total += (domain.positions[present[-1]] - domain.positions[present[0]]) / domain.positions[-1]
        elif domain.tree is not None:
            holds = (domain.tree.first <= present[0]) & (domain.tree.last >= present[-1])
            n_below = (domain.tree.last - domain.tree.first)[holds].min()
            total += n_below / (domain.n_values - 1)
        else:
            total += (len(present) - 1) / (domain.n_values - 1)
    return len(rows) * total


@pytest.mark.parametrize("seed", range(25))
def test_the_one_row_that_is_left_out_is_the_best(seed: int) -> None:
    rng = random.Random(seed)
    encoded = encode(*a_case(rng, 30))
    made = make(encoded, anon.Mondrian(), [anon.KAnonymity(4)])
    classes = [made.classes.rows[a:b].tolist() for a, b in pairwise(made.classes.offsets)]
    gains = [
        loss_of(encoded, rows) - loss_of(encoded, [other for other in rows if other != row])
        for rows in classes
        if len(rows) > 4
        for row in rows
    ]
    best = max(gains, default=0) - len(encoded.quasi)
    rest = leave_out(made.classes, encoded, made.task.rules, 1)
    after = [rest.rows[a:b].tolist() for a, b in pairwise(rest.offsets)]
    gain = sum(loss_of(encoded, rows) for rows in classes) - sum(loss_of(encoded, rows) for rows in after)
    assert len(rest.suppressed) == (best > 1e-9)
    assert gain - len(encoded.quasi) * len(rest.suppressed) == pytest.approx(max(best, 0))


@pytest.mark.parametrize("method", [anon.Mondrian(), anon.Curve()], ids=repr)
def test_neither_threads_nor_the_order_of_rows_say_which(method: anon.Method) -> None:
    rng = random.Random(19)
    table, schema = a_case(rng, 300)
    require = [anon.KAnonymity(8), anon.LDiversity(2)]
    made = anon.anonymize(table, schema, require=require, method=method, suppress=0.05, n_threads=1)
    assert len(made.classes.suppressed)
    order = np.random.default_rng(1).permutation(300)
    other = table.take(pa.array(order))
    again = anon.anonymize(other, schema, require=require, method=method, suppress=0.05, n_threads=3)

    def published(release: anon.Release) -> list[Any]:
        return sorted(map(repr, release.table.to_pylist()))

    assert published(made) == published(again)


def test_an_extreme_value_does_not_widen_the_cells_of_others() -> None:
    table, schema = pa.table({"x": [*range(1, 11), 1000]}), anon.Schema(["x"])
    whole, part = (
        anon.anonymize(table, schema, require=[anon.KAnonymity(5)], suppress=share) for share in (0, 0.1)
    )
    assert whole.utility().gcp == pytest.approx((6 * 5 + 5 * 993) / 999 / 11)
    assert part.utility().gcp == pytest.approx((10 * 4 / 999 + 1) / 11)
    assert part.table["x"].unique().to_pylist() == ["[1, 5]", "[6, 10]"]
    assert part.left_out == {"outliers": 1}


def test_what_requirements_compare_with_is_what_is_published() -> None:
    rng = random.Random(3)
    table, schema = a_case(rng, 200)
    require = [anon.KAnonymity(5), anon.TCloseness(0.35, distance="equal")]
    part = anon.anonymize(table, schema, require=require, method=anon.Mondrian(), suppress=0.05)
    assert part.left_out["outliers"] > 0
    kept = encode(table.take(pa.array(part.classes.rows)), schema)
    counts = np.bincount(kept.sensitive_codes[0])
    assert Judged.whole(part.encoded).counts[0].tolist() == counts.tolist()
    shares = counts / counts.sum()
    for start, end in pairwise(part.classes.offsets):
        of_class = np.bincount(kept.sensitive_codes[0][start:end], minlength=len(counts)) / (end - start)
        assert np.abs(of_class - shares).sum() / 2 <= 0.35


def test_reasons_are_counted_one_by_one() -> None:
    table = pa.table({"x": pa.array([*range(1, 11), 1000, None], pa.int64())})
    part = anon.anonymize(
        table, anon.Schema(["x"]), require=[anon.KAnonymity(5)], missing="suppress", suppress=0.1
    )
    assert part.left_out == {"missing values": 1, "outliers": 1}
    assert part.summary()["suppressed for"] == part.left_out
    assert part.summary()["suppressed"] == 2


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"publish": "bucketization", "method": anon.Mondrian()}, "cells of a bucketization lose nothing"),
        ({"publish": "bucketization", "method": anon.Anatomy(2)}, "cells of a bucketization lose nothing"),
        ({"method": anon.Suppress("quasi"), "require": []}, "Suppress makes no classes"),
        ({"schema": anon.Schema(["pay"], sensitive=["ill"], unit="set")}, "units are counted"),
        ({"time_limit": 60, "method": anon.Mondrian()}, "Mondrian does not search"),
    ],
)
def test_where_no_row_can_be_left_out_it_is_said(how: dict[str, Any], words: str) -> None:
    table, schema = a_case(random.Random(1), 40)
    asked = {"schema": schema, "require": [anon.LDiversity(2)], "suppress": 0.1} | how
    with pytest.raises(anon.UsageError, match=words):
        anon.anonymize(table, **asked)


def test_a_time_limit_ends_the_search_and_is_said() -> None:
    table, schema = anon.datasets.census(3000, seed=3), anon.datasets.census_schema()
    steps: list[str] = []
    with pytest.warns(anon.PrivacyWarning, match="the time limit ended the search"):
        anon.anonymize(
            *(table, schema),
            require=[anon.KAnonymity(5)],
            effort="best",
            time_limit=1e-6,
            progress=lambda stage, done, total: steps.append(stage),
        )
    assert "recut" not in steps
    quick = anon.anonymize(table, schema, require=[anon.KAnonymity(5)], time_limit=600)
    slow = anon.anonymize(table, schema, require=[anon.KAnonymity(5)])
    assert quick.table.num_rows == 3000
    assert quick.utility().gcp == slow.utility().gcp


@pytest.mark.parametrize("method", [*METHODS[:4], anon.Microaggregation()])
@pytest.mark.parametrize("population", [{"a": [1, 2, 3, 4, 90]}, None])
def test_rows_stay_that_people_alike_are_wanted_of(method: Any, population: Any) -> None:
    table = {"a": [1, 2, 3, 4, 90], "w": [1, 1, 1, 1, 3]}
    k_map = anon.KMap(7) if population is None else anon.KMap(5, population=population)
    schema = anon.Schema(["a"], sampling_weight="w")
    release = anon.anonymize(table, schema, require=[anon.KAnonymity(2), k_map], method=method, suppress=0.4)
    assert release.n_rows == 5
    assert release.privacy().k == 5
