# SPDX-License-Identifier: Apache-2.0
"""Large populations against other miners, and U_loss: on Adult beside Li & Li's figures, on a census."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import anon
import anoncore.populations as kernel
from anon.encoding.domain import Encoded
from anon.encoding.table import encode
from anon.measures.populations import Populations, large_populations, u_loss

N_THREADS = 2
ADULT = ("age", "workclass", "education", "marital-status", "race", "sex")
DATA = Path(os.environ["ANON_DATA"]) / "adult"


def adult_schema(age: Any = None, trees: bool = True) -> anon.Schema:
    """Li & Li's attributes; `age` None: the hierarchy of the files."""
    files = DATA / "hierarchies"
    ages = str(files / "age.csv") if age is None else age or None
    return anon.Schema(
        [
            anon.numeric("age", hierarchy=ages),
            *(
                anon.nominal(name, hierarchy=str(files / f"{name}.csv") if trees else None)
                for name in ADULT[1:]
            ),
        ],
        ["occupation"],
    )


@pytest.fixture(scope="module")
def adult() -> pa.Table:
    return anon.datasets.adult(DATA)


def released(table: Any, schema: anon.Schema, **how: Any) -> anon.Release:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", anon.PrivacyWarning)
        return anon.anonymize(table, schema, n_threads=N_THREADS, **how)


def mining(encoded: Encoded, populations: Populations) -> tuple[Any, ...]:
    """The arguments of `mine` that find these populations, without sensitive columns."""
    order = sorted(range(len(populations.predicates)), key=lambda a: -len(populations.predicates[a]))
    listed = [
        (predicates.offsets, predicates.first, predicates.last)
        for predicates in (populations.predicates[a] for a in order)
    ]
    least = -(-populations.min_support.numerator * encoded.n_rows // populations.min_support.denominator)
    return [encoded.quasi_codes[a] for a in order], listed, least, (), (), N_THREADS


def one_hot(encoded: Encoded, populations: Populations) -> tuple[np.ndarray, list[int]]:
    """Rows x predicates (bool), and the attribute of every predicate."""
    columns, attributes = [], []
    for a, (predicates, codes) in enumerate(zip(populations.predicates, encoded.quasi_codes, strict=True)):
        for start, stop in zip(predicates.offsets, predicates.offsets[1:], strict=False):
            inside = np.zeros(len(codes), bool)
            for run in range(start, stop):
                inside |= (codes >= predicates.first[run]) & (codes <= predicates.last[run])
            columns.append(inside)
            attributes.append(a)
    return np.stack(columns, axis=1), attributes


@pytest.mark.slow
@pytest.mark.adult
@pytest.mark.parametrize("min_support", ["0.05", "0.001"])
def test_mine(
    adult: pa.Table, min_support: str, versus: Callable[..., float], capsys: pytest.CaptureFixture[str]
) -> None:
    """Adult, six attributes with hierarchies; the sets of others may hold several items of one."""
    import pandas as pd

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from mlxtend.frequent_patterns import fpgrowth
    encoded = encode(adult, adult_schema())
    populations = large_populations(encoded, Fraction(min_support))
    arguments = mining(encoded, populations)
    parent, *_ = kernel.mine(*arguments)
    items, attributes = one_hot(encoded, populations)
    frame = pd.DataFrame(items)
    calls: list[Any] = []

    def with_mlxtend() -> None:
        calls[:] = fpgrowth(frame, min_support=float(min_support))["itemsets"].tolist()

    def one_each(sets: list[Any]) -> int:
        return sum(len({attributes[i] for i in chosen}) == len(chosen) for chosen in sets)

    versus(
        f"mine, {len(parent)} populations of Adult, minSup {min_support}",
        lambda: kernel.mine(*arguments),
        "mlxtend fpgrowth, one-hot items",
        with_mlxtend,
        bar=1 / 50,
        rounds=1 if min_support == "0.001" else 3,
    )
    assert one_each(calls) == len(parent)
    try:
        import fim  # pyfim
    except ImportError:
        return
    rows = [np.flatnonzero(row).tolist() for row in items]
    share = 100 * arguments[2] / encoded.n_rows
    theirs, ours = [], []
    for _ in range(3):
        start = time.perf_counter()
        sets = fim.fpgrowth(rows, supp=share * (1 - 1e-9), report="a")
        theirs.append(time.perf_counter() - start)
        start = time.perf_counter()
        kernel.mine(*arguments)
        ours.append(time.perf_counter() - start)
    assert one_each([chosen for chosen, *_ in sets]) == len(parent)
    with capsys.disabled():
        print(
            f"ours {min(ours):.4f} s | pyfim fpgrowth {min(theirs):.4f} s, {len(sets)} sets | "
            f"ratio {min(ours) / min(theirs):.3f} (bar <= 0.333)"
        )


@pytest.mark.adult
def test_u_loss_of_adult(adult: pa.Table, benchmark: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """Bar: 0.2 s. Li & Li 5.1 print 0.05 for the trivial release and 0.0288 at k = 5000."""
    schema = adult_schema()
    release = released(adult, schema, require=[anon.KAnonymity(10)])
    loss = benchmark.pedantic(lambda: u_loss(release, n_threads=N_THREADS), rounds=3)
    assert 0 < loss.u_loss < 0.04
    coarse = released(adult, schema, require=[anon.KAnonymity(5000)], method=anon.Mondrian(cuts="median"))
    with capsys.disabled():
        print(f"\nk = 10: U_loss {loss.u_loss:.6f}; k = 5000: {u_loss(coarse).u_loss:.4f} (paper 0.0288)")
        for what, tried in (
            ("hierarchies of the files", adult_schema()),
            ("values only", adult_schema(age=False, trees=False)),
            ("no intervals of age", adult_schema(age=False)),
            ("ages by 10", adult_schema(age=anon.intervals(10))),
            ("intervals of age, no trees", adult_schema(trees=False)),
        ):
            trivial = u_loss(released(adult, tried, method=anon.Suppress("quasi")))
            print(f"trivial, {what}: {trivial.u_loss:.4f} over {trivial.n_populations} (paper 0.05)")


AGES = (5, 10, 15, 20, 25, 30, 40, 50)


def census_schema() -> anon.Schema:
    """The census with more widths of ages, so that there are enough populations."""
    known = anon.datasets.census_schema()
    quasi = [anon.numeric("age", anon.intervals(*AGES)), *known.quasi[1:]]
    return anon.Schema(quasi, known.sensitive, known.identifying)


def memory(what: str) -> float:
    """`VmRSS` or its peak `VmHWM` of this process, in GiB (Linux)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(what)) / 2**20


@pytest.mark.parametrize("publish", ["generalization", "bucketization"])
def test_u_loss_of_a_census(
    n_rows: int, publish: Any, benchmark: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """Bar at 1 M rows, k = 10, minSup 0.05, at least 5,000 populations: 10 s, 1 GiB more than before."""
    schema = census_schema()
    release = released(anon.datasets.census(n_rows), schema, require=[anon.KAnonymity(10)], publish=publish)
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
    before = memory("VmRSS")
    loss = benchmark.pedantic(lambda: u_loss(release, 0.05, n_threads=N_THREADS), rounds=1)
    peak = memory("VmHWM") - before
    assert 0 < loss.u_loss < 0.05
    assert loss.n_populations >= 5000
    with capsys.disabled():
        print(
            f"\n{publish}: {n_rows} rows, {release.classes.n_classes} classes, {loss.n_populations} "
            f"populations at minSup 0.05 (ages by {', '.join(map(str, AGES))} years; trees of marital "
            f"status, education, work and country; postcodes by prefix), U_loss {loss.u_loss:.6f}; "
            f"{benchmark.stats['min']:.2f} s (bar 10); peak rise {peak:.2f} GiB (bar 1)"
        )
