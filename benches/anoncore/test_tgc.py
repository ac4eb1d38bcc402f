# SPDX-License-Identifier: Apache-2.0
"""TGC at a million rows, and the orderings of Loukides & Shao 2008 on Adult (figures 6, 7, 10 and 15)."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from anon import Schema, nominal, numeric, ordinal
from anon.classes.classes import Classes, ranked_rows, sensitive_counts
from anon.datasets.people import census, census_schema
from anon.datasets.uci import adult
from anon.encoding.domain import Encoded
from anon.encoding.table import encode
from anon.methods import kmembers, mondrian
from anon.methods.kmembers import KMembers, closeness
from anon.methods.mondrian import Mondrian
from anon.methods.task import Task
from anon.methods.tgc import TGC, partition
from anon.requirements.anonymity import KAnonymity
from anon.requirements.conjunction import compile
from anoncore import diversity, tgc

DATA = Path(os.environ["ANON_DATA"])
K = 10
PRESETS = {"U": (1.0, 0.0), "B": (0.5, 0.5), "P": (0.0, 1.0)}


def task(encoded: Encoded, k: int = K, n_threads: int = 2) -> Task:
    counts = [
        np.bincount(codes, minlength=domain.n_codes).astype(np.int64)
        for domain, codes in zip(encoded.sensitive, encoded.sensitive_codes, strict=True)
    ]
    rules = compile([KAnonymity(k)], encoded.sensitive, counts, encoded.n_rows)
    return Task(rules, np.random.default_rng(0), n_threads)


@pytest.fixture(scope="module")
def people(n_rows: int) -> Encoded:
    return encode(census(n_rows), census_schema())


def matrix(encoded: Encoded) -> Any:
    """Codes of all rows in rank order, sensitive ones last."""
    columns = [*encoded.quasi_codes, *encoded.sensitive_codes]
    rows = ranked_rows(encoded)
    return np.column_stack([column[rows].astype(np.uint16) for column in columns])


def test_split(benchmark: Any, people: Encoded) -> None:
    codes, near = matrix(people), closeness(people.sensitive)
    rows, offsets = benchmark.pedantic(
        tgc.split,
        args=(codes, [domain.attribute for domain in people.quasi], near),
        kwargs={"s": 5 * K, "limit": 1.16, "limited": 20 * K, "n_threads": 2},
        rounds=3,
    )
    assert (np.bincount(rows, minlength=len(codes)) == 1).all()
    assert np.diff(offsets).min() >= 5 * K


def test_grow(benchmark: Any, people: Encoded) -> None:
    codes = matrix(people)
    rows, offsets = tgc.split(codes[:, :-2], [domain.attribute for domain in people.quasi], s=5 * K)
    objective = tgc.Objective(
        [domain.measured("q-diversity") for domain in people.quasi],
        closeness(people.sensitive),
        w_u=0.5,
        w_p=0.5,
    )
    home, n_classes = benchmark.pedantic(
        tgc.grow,
        args=(codes[rows], offsets, objective, K, 0.5),
        kwargs={"most": K, "n_threads": 2},
        rounds=3,
    )
    assert np.bincount(home, minlength=n_classes).min() >= K


def test_improve(benchmark: Any, people: Encoded) -> None:
    """Exchanges of rows inside subspaces, after growth."""
    codes = matrix(people)
    rows, offsets = tgc.split(codes[:, :-2], [domain.attribute for domain in people.quasi], s=20 * K)
    objective = tgc.Objective(
        [domain.measured("q-diversity") for domain in people.quasi],
        closeness(people.sensitive),
        w_u=0.5,
        w_p=0.5,
    )
    codes = codes[rows]
    home, n_classes = tgc.grow(codes, offsets, objective, K, 0.5, most=K, n_threads=2)
    improved = benchmark.pedantic(
        tgc.improve, args=(codes, offsets, home, objective, K), kwargs={"n_threads": 2}, rounds=1
    )
    assert np.bincount(improved, minlength=n_classes).min() >= K


def test_reinsert(benchmark: Any, people: Encoded) -> None:
    """The printed variant's step: rows without a class times classes, so on a hundredth of the rows."""
    codes = np.ascontiguousarray(matrix(people)[::100])
    objective = tgc.Objective(
        [domain.measured("q-diversity") for domain in people.quasi],
        closeness(people.sensitive),
        w_u=0.5,
        w_p=0.5,
    )
    home, n_classes = tgc.grow(codes, np.array([0, len(codes)]), objective, K, 0.45, mend=False)
    placed = benchmark.pedantic(tgc.reinsert, args=(codes, home, objective), rounds=1)
    assert (placed[home >= 0] == home[home >= 0]).all()
    assert placed.min() == 0
    assert placed.max() == max(n_classes - 1, 0)


def test_partition(versus: Callable[..., float], people: Encoded) -> None:
    """The whole method, thresholds included; the bar in seconds is 10 at 1 M rows."""
    versus(
        f"TGC-B, default, s = 5 k, {people.n_rows:,} census rows, k = {K}, 2 threads",
        lambda: partition(people, TGC(), task(people), K),
        "Mondrian(), the same rows and k",
        lambda: mondrian.partition(people, Mondrian(), task(people)),
        bar=60,
    )


def test_partition_is_linear(benchmark: Any, people: Encoded, capsys: pytest.CaptureFixture[str]) -> None:
    """Ten times the rows in at most twelve times the time."""
    tables = [encode(census(people.n_rows // 10), census_schema()), people]
    seconds: list[float] = []

    def run() -> None:
        for table in tables:
            start = time.perf_counter()
            partition(table, TGC(), task(table), K)
            seconds.append(time.perf_counter() - start)

    benchmark.pedantic(run, rounds=3)
    ratio = min(seconds[1::2]) / min(seconds[::2])
    benchmark.extra_info |= {"ratio": ratio, "bar": 12}
    with capsys.disabled():
        print(f"\nTGC-B, {people.n_rows:,} against a tenth of the rows: {ratio:.1f} times (bar <= 12)")


# ---- the paper's orderings


def adults() -> Encoded:
    """The 30,162 complete rows of adult.data, six quasi-identifiers with ARX's hierarchies, two sensitive
    attributes: marital-status with its hierarchy, occupation as rank in the order of adult.names.
    """
    table = adult(DATA / "adult", part="train")
    trees = {
        name: nominal(name, hierarchy=str(DATA / "adult" / "hierarchies" / f"{name}.csv"))
        for name in ("workclass", "race", "sex", "native-country", "salary-class", "marital-status")
    }
    marital_status = trees.pop("marital-status")
    return encode(
        table,
        Schema(
            quasi=[numeric("age"), *trees.values()],
            sensitive=[marital_status, ordinal("occupation", occupations())],
        ),
    )


def occupations() -> list[str]:
    lines = (DATA / "adult" / "adult.names").read_text().splitlines()
    listed = next(line for line in lines if line.startswith("occupation:"))
    return [value.strip(" .") for value in listed.removeprefix("occupation:").split(",")]


def measures(encoded: Encoded, classes: Classes) -> dict[str, float]:
    um, pm = np.zeros(classes.n_classes), np.zeros(classes.n_classes)
    for domain, codes in zip(encoded.quasi, encoded.quasi_codes, strict=True):
        one = replace(domain, weight=1.0).measured("q-diversity")
        counts = sensitive_counts(classes, codes, domain.n_codes)
        um += diversity.q_diversity(one, counts.offsets, counts.values.astype(np.int64))
    for near, domain, codes in zip(
        closeness(encoded.sensitive), encoded.sensitive, encoded.sensitive_codes, strict=True
    ):
        counts = sensitive_counts(classes, codes, domain.n_codes)
        pm += diversity.s_diversity(near, counts.offsets, counts.values.astype(np.int64), counts.counts)
    share = classes.sizes / classes.sizes.sum()
    return {
        "um": um.mean(),
        "um_rows": um @ share,
        "pm": pm.mean(),
        "pm_rows": pm @ share,
        "dm": float(classes.sizes @ classes.sizes),
        "largest": int(classes.sizes.max()),
    }


@pytest.mark.slow
@pytest.mark.adult
def test_orderings_on_adult(benchmark: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """Printed: UM, PM, row-weighted and DM of every method and both variants, for k = 2, 5, 10, 25, 50."""
    table = adults()
    assert table.n_rows == 30162
    methods: dict[str, Callable[[int], Classes]] = {
        "Mondrian": lambda k: mondrian.partition(table, Mondrian(), task(table, k)),
        "Mondrian median": lambda k: mondrian.partition(table, Mondrian(cuts="median"), task(table, k)),
        "K-Members": lambda k: kmembers.partition(table, KMembers(), task(table, k), k),
        "K-Members-p": lambda k: kmembers.partition(table, KMembers("protection"), task(table, k), k),
    }
    for variant in ("default", "printed"):
        for name, (w_u, w_p) in PRESETS.items():
            method = TGC(w_u, w_p, variant=variant)
            methods[f"TGC-{name} {variant}"] = lambda k, method=method: partition(
                table, method, task(table, k), k
            )

    def run() -> dict[int, dict[str, dict[str, float]]]:
        return {
            k: {name: measures(table, make(k)) for name, make in methods.items()} for k in (2, 5, 10, 25, 50)
        }

    measured = benchmark.pedantic(run, rounds=1)
    with capsys.disabled():
        for k, rows in measured.items():
            print(f"\nk = {k:<16}UM  by rows      PM  by rows        DM  largest class")
            for name, m in rows.items():
                print(
                    f"{name:<16}{m['um']:7.4f} {m['um_rows']:8.4f} {m['pm']:7.4f} {m['pm_rows']:8.4f} "
                    f"{m['dm']:9.3g} {m['largest']:14.0f}"
                )
    for k, m in measured.items():
        mean, dm, protection = (
            {name: one[key] for name, one in m.items()} for key in ("um_rows", "dm", "pm")
        )
        assert mean["TGC-U default"] < mean["TGC-B default"] < mean["Mondrian median"]
        assert max(dm["TGC-U default"], dm["TGC-B default"]) < dm["Mondrian"]
        assert max(protection["TGC-P default"], protection["K-Members-p"]) < protection["TGC-B default"]
        assert protection["TGC-B default"] < min(protection["TGC-U default"], protection["K-Members"])
        assert m["K-Members"]["um"] < m["Mondrian"]["um"]
        if k > 2:
            assert m["TGC-U default"]["um"] <= m["K-Members"]["um"]


@pytest.mark.slow
@pytest.mark.adult
def test_quality_by_s(benchmark: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """Figure 15: TGC-B, k = 5, subspaces of at least s rows."""
    table = adults()

    def run() -> dict[int, dict[str, float]]:
        return {s: measures(table, partition(table, TGC(s=s), task(table, 5), 5)) for s in SIZES}

    measured = benchmark.pedantic(run, rounds=1)
    with capsys.disabled():
        for s, m in measured.items():
            score = m["um"] / 6 + m["pm"] / 2
            print(f"\ns = {s:<6} UM {m['um']:.4f}  PM {m['pm']:.4f}  UM/6 + PM/2 {score:.4f}")


SIZES = (5, 10, 15, 25, 50, 100, 250, 500)
