# SPDX-License-Identifier: Apache-2.0
"""Nobody who knows the seed does better than the promise."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.stats import poisson

import anon
from anon.entropy import keyed
from anon.release.recoding import recode
from attacks.replay import ORDERS, by_seed, people, replay, right, told_by_a_seed

PER_RUN = 1e-8  # how often a test may fail by chance
SEED = 3


@pytest.fixture(autouse=True)
def _warned() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", anon.PrivacyWarning)
        yield


def most_by_chance(n_buckets: int, l: int) -> float:
    """The share of people in buckets of l that chance gives right less than once in 10**8 runs.

    A guess that knows nothing gives each bucket a random order of its values, which is right for one
    person on average, with variance 1; six standard deviations.
    """
    return (n_buckets + 6 * math.sqrt(n_buckets)) / (n_buckets * l)


# --- which sensitive value is whose


@pytest.mark.parametrize("l", [2, 3])
def test_replaying_anatomy_is_no_better_than_guessing(l: int) -> None:
    table, schema = people(6000)
    release = anon.anonymize(table, schema, method=anon.Anatomy(l), publish="bucketization", seed=SEED)
    for name, order in ORDERS.items():
        share, n_buckets = right(release, l, SEED, order)
        assert n_buckets > 0.99 * 6000 // l - 1
        assert share < most_by_chance(n_buckets, l), name


@pytest.mark.parametrize("l", [2, 3])
def test_the_attack_finds_most_people_of_a_deal_that_a_seed_tells(l: int) -> None:
    """Rows ranked by their quasi-identifiers, shuffled by the seed, dealt in a fixed order."""
    table, schema = people(6000)
    quasi = [attribute.name for attribute in schema.quasi]
    first, second, truth = told_by_a_seed(table, quasi, l, SEED)
    members, guessed = replay(first, second, quasi, l, SEED, by_seed)
    assert len(members) > 5900
    assert np.mean(truth[members] == guessed) > 0.65


# --- which row stands where


def table(n: int) -> tuple[pa.Table, anon.Schema]:
    """People with an id that is published, so that it can be seen who stands where."""
    drawn = anon.datasets.census(n, 5).select(["age", "sex", "education", "hours_per_week", "occupation"])
    filled = drawn.set_column(3, "hours_per_week", drawn["hours_per_week"].fill_null(40))
    return filled.append_column("id", pa.array(range(n))), anon.Schema(
        ["age", "sex", "education", "hours_per_week"], ["occupation"], neutral="rest"
    )


K = [anon.KAnonymity(5)]
BOTH = [anon.KAnonymity(5), anon.LDiversity(2)]
METHODS: list[tuple[Any, list[Any]]] = [
    (anon.Mondrian(), K),
    (anon.Mondrian(relaxed=True), BOTH),
    (anon.Mondrian(cuts="median"), BOTH),
    (anon.KMembers(), BOTH),
    (anon.KMembers("protection"), K),
    (anon.TGC(), K),
    (anon.Curve(), BOTH),
    (anon.Anatomy(3), []),
    (anon.Identity(), []),
    (anon.Suppress("quasi"), []),
]
WAYS = [
    (method, require, publish, engine)
    for method, require in METHODS
    for publish in ("generalization", "bucketization")
    for engine in ("local", "stream")
    if not (isinstance(method, anon.Anatomy) and publish == "generalization")
    and (engine == "local" or isinstance(method, anon.Curve | anon.Anatomy))
]


def written(
    source: Any, schema: anon.Schema, path: Path, engine: str, **options: Any
) -> tuple[list[list[int]], np.ndarray]:
    """The ids of a file's rows by class, in the file's order, and all of them."""
    if engine == "stream":
        source = anon.read_source(source, engine="stream")
    anon.anonymize(source, schema, seed=SEED, **options).write(path)
    read = anon.read_table(path)
    names = [name for name in read.column_names if name not in ("id", "occupation")]
    names = ["class_id"] if "class_id" in names else names
    classes: dict[tuple[Any, ...], list[int]] = {}
    for *cells, number in zip(*(read[name].to_pylist() for name in [*names, "id"]), strict=True):
        classes.setdefault(tuple(cells), []).append(number)
    return list(classes.values()), read["id"].to_numpy()


@pytest.mark.parametrize(("method", "require", "publish", "engine"), WAYS, ids=str)
def test_a_method_run_again_with_its_seed_puts_no_row_where_it_was(
    method: Any, require: list[Any], publish: Any, engine: str, tmp_path: Path
) -> None:
    """The adversary has the very input, sensitive values and all, and runs the same command.

    Buckets share out people with equal quasi-identifiers anew each time. In classes that come back, the
    row of the replay at a place of the class is the row of the release no more often than by chance:
    once a class. So it is for the input's own order of a class.
    """
    drawn, schema = table(600)
    source: Any = drawn
    if engine == "stream":
        source = tmp_path / "in.parquet"
        pq.write_table(drawn, source)
    options = {"require": require, "method": method, "publish": publish}
    released, in_file = written(source, schema, tmp_path / "out.parquet", engine, **options)
    replayed, in_replay = written(source, schema, tmp_path / "again.parquet", engine, **options)

    of_class = {frozenset(rows): rows for rows in replayed}
    common = [(rows, of_class[frozenset(rows)]) for rows in released if frozenset(rows) in of_class]
    if isinstance(method, anon.Anatomy):
        assert len(common) <= poisson.isf(PER_RUN, 1)  # which rows are together is a secret too
    elif publish == "generalization" or method in (anon.Mondrian(), anon.Mondrian(cuts="median")):
        assert len(common) == len(released) == len(replayed)
    several = [pair for pair in common if len(pair[0]) > 1]
    most = poisson.isf(PER_RUN, max(len(several), 1))  # fixed points of permutations: their tail is less
    assert sum(a == b for pair in several for a, b in zip(*pair, strict=True)) <= most
    several = [(rows, sorted(rows)) for rows in released if len(rows) > 1]
    most = poisson.isf(PER_RUN, max(len(several), 1))
    assert sum(a == b for pair in several for a, b in zip(*pair, strict=True)) <= most
    if publish == "bucketization":  # the buckets come in an order of their own
        assert sum(a == b for a, b in zip(released, replayed, strict=False)) <= poisson.isf(PER_RUN, 1)
        assert np.mean(in_file == in_replay) < 0.2


def test_the_same_search_by_a_known_key_comes_back_whole(tmp_path: Path, monkeypatch: Any) -> None:
    """The attack above sees it: with entropy that can be drawn again every row is where it was."""
    drawn, schema = table(600)

    def known(*arguments: Any, **options: Any) -> anon.Release:
        return recode(*arguments, **(options | {"entropy": keyed(bytes(32))}))

    monkeypatch.setattr(import_module("anon.engines.local"), "recode", known)
    options = {"require": K, "method": anon.Mondrian(), "publish": "generalization"}
    released, _ = written(drawn, schema, tmp_path / "out.parquet", "local", **options)
    replayed, _ = written(drawn, schema, tmp_path / "again.parquet", "local", **options)
    assert released == replayed


# --- noise


@pytest.mark.opendp
def test_noise_drawn_again_with_the_seed_is_other_noise() -> None:
    """Subtracting the noise of a replay from the published numbers gives nobody's number back."""
    drawn, _ = table(600)
    schema = anon.Schema(["age", "hours_per_week"], ["occupation"], neutral="rest")
    method = anon.Laplace(1.0, bounds={"age": (0, 120), "hours_per_week": (0, 100)}, clamp=False)
    first, second = (anon.anonymize(drawn, schema, method=method, seed=SEED).table for _ in range(2))
    for name in ("age", "hours_per_week"):
        columns = [[one[column].to_pylist() for column in ("id", name)] for one in (first, second)]
        noisy = [dict(zip(*pair, strict=True)) for pair in columns]
        assert sum(noisy[0][i] == noisy[1][i] for i in range(600)) <= 2  # of 2**30 steps
