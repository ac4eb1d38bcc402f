# SPDX-License-Identifier: Apache-2.0
"""COUNT queries: 1,000 at a time on a census and its release, true counts against polars."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import anon
import anoncore.queries as kernel
from anon.classes.classes import sensitive_counts
from anon.measures.answers import answer
from anon.measures.estimates import Predicates, boxes, overlaps
from anon.measures.populations import large_populations
from anon.measures.queries import Workload
from anon.measures.workload import random_queries

N_THREADS = 2


def census(n_rows: int, publish: Any) -> anon.Release:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", anon.PrivacyWarning)
        return anon.anonymize(
            anon.datasets.census(n_rows),
            anon.datasets.census_schema(),
            require=[anon.KAnonymity(10)],
            publish=publish,
            n_threads=N_THREADS,
        )


@pytest.fixture(scope="module")
def generalized(n_rows: int) -> anon.Release:
    return census(n_rows, "generalization")


@pytest.fixture(scope="module")
def bucketized(n_rows: int) -> anon.Release:
    return census(n_rows, "bucketization")


@pytest.fixture(scope="module")
def workload(generalized: anon.Release) -> Workload:
    return random_queries(generalized.encoded, 4, 0.05, sensitive="occupation")


def listed(predicates: Predicates) -> tuple[np.ndarray, ...]:
    return predicates.offsets, predicates.first, predicates.last


def members(predicates: Predicates) -> np.ndarray:
    member = np.zeros((len(predicates), predicates.domain.n_codes), bool)
    for p in range(len(predicates)):
        for run in range(predicates.offsets[p], predicates.offsets[p + 1]):
            member[p, predicates.first[run] : predicates.last[run] + 1] = True
    return member


def test_overlaps(generalized: anon.Release, workload: Workload, benchmark: Any) -> None:
    estimable = boxes(generalized.published)

    def run() -> list[np.ndarray]:
        return [
            overlaps(*each)[0]
            for each in zip(estimable.quasi_cells, estimable.reaches, workload.quasi, strict=True)
        ]

    for share in benchmark(run):
        assert 0 <= share.min() <= share.max() <= 1


def test_reconstruct(generalized: anon.Release, benchmark: Any) -> None:
    """A hundred populations; none has more rows of a sensitive value than the table."""
    populations = large_populations(generalized.encoded, 0.1, n_threads=N_THREADS)
    estimable = boxes(generalized.published)
    counts = estimable.sensitive_counts[0]
    assert counts is not None
    shares = [
        overlaps(*each)[0]
        for each in zip(estimable.quasi_cells, estimable.reaches, populations.predicates, strict=True)
    ]
    lists = counts.offsets, counts.values, counts.counts, len(counts.table)
    tree = populations.parent, populations.attribute, populations.predicate
    estimates = benchmark(kernel.reconstruct, estimable.cells, shares, None, *lists, *tree, 0, 100)
    assert estimates.min() >= 0
    assert np.all(estimates <= counts.table * (1 + 1e-9))


def test_count(workload: Workload, generalized: anon.Release, versus: Callable[..., float]) -> None:
    """True counts against polars on integer codes, all queries in one collect; building our index counts."""
    import polars as pl

    encoded = generalized.encoded
    columns = [*encoded.quasi_codes, encoded.sensitive_codes[0]]
    sides = [*workload.quasi, workload.sensitive[0]]
    queries = np.concatenate([workload.chosen, workload.asked[:, :1]], axis=1)
    frame = pl.DataFrame({str(a): column for a, column in enumerate(columns)})
    sets = [members(side) for side in sides]

    def condition(a: int, p: int) -> pl.Expr:
        side = sides[a]
        if side.domain.kind != "nominal":
            run = side.offsets[p]
            return pl.col(str(a)).is_between(int(side.first[run]), int(side.last[run]))
        members = pl.Series(np.flatnonzero(sets[a][p]), dtype=frame.schema[str(a)])
        return pl.col(str(a)).is_in(members.implode())

    counts = [
        pl.all_horizontal([condition(a, p) for a, p in enumerate(query) if p >= 0]).sum().alias(str(q))
        for q, query in enumerate(queries.tolist())
    ]
    answers: dict[str, Any] = {}

    def ours() -> None:
        answers["ours"] = kernel.count(columns, list(map(listed, sides)), queries, N_THREADS)

    def theirs() -> None:
        answers["polars"] = frame.lazy().select(counts).collect().row(0)

    versus(
        f"true counts, 1,000 queries, {encoded.n_rows} rows, {N_THREADS} threads",
        ours,
        f"polars {pl.__version__}, {pl.thread_pool_size()} threads",
        theirs,
        bar=0.1,
        rounds=1,
    )
    assert answers["ours"].tolist() == list(answers["polars"])


def test_estimate(generalized: anon.Release, workload: Workload, benchmark: Any) -> None:
    encoded, estimable = generalized.encoded, boxes(generalized.published)
    parts = [
        overlaps(*each) for each in zip(estimable.quasi_cells, estimable.reaches, workload.quasi, strict=True)
    ]
    counts = sensitive_counts(generalized.classes, encoded.sensitive_codes[0], encoded.sensitive[0].n_codes)
    estimated, least, most = benchmark(
        kernel.estimate,
        estimable.cells,
        [share for share, _ in parts],
        [kind for _, kind in parts],
        workload.chosen,
        counts.offsets,
        counts.values,
        counts.counts,
        members(workload.sensitive[0]),
        workload.asked[:, 0],
        N_THREADS,
    )
    assert np.all(least <= estimated + 1e-6)
    assert np.all(estimated <= most + 1e-6)


def test_count_buckets(bucketized: anon.Release, workload: Workload, benchmark: Any) -> None:
    encoded, estimable = bucketized.encoded, boxes(bucketized.published)
    counts = sensitive_counts(bucketized.classes, encoded.sensitive_codes[0], encoded.sensitive[0].n_codes)
    estimated, least, most = benchmark(
        kernel.count_buckets,
        list(estimable.cells),
        list(map(listed, workload.quasi)),
        workload.chosen,
        estimable.groups,
        counts.offsets,
        counts.values,
        counts.counts,
        members(workload.sensitive[0]),
        workload.asked[:, 0],
        N_THREADS,
    )
    assert np.all(least <= estimated + 1e-6)
    assert np.all(estimated <= most + 1e-6)


@pytest.mark.parametrize("publish", ["generalized", "bucketized"])
def test_answers_of_a_thousand_queries(
    publish: str, request: pytest.FixtureRequest, benchmark: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """Bar at 1 M rows, qd = 4: 2 s, true counts and estimates together."""
    release = request.getfixturevalue(publish)
    workload = random_queries(release.encoded, 4, 0.05)
    answers = benchmark.pedantic(lambda: answer(workload, release, n_threads=N_THREADS), rounds=3)
    assert answers.n_counted > 900
    assert np.all(answers.least <= answers.true)
    assert np.all(answers.true <= answers.most)
    with capsys.disabled():
        print(f"\n{publish}: average error {answers.average:.2f} %, median {answers.median:.2f} %")
