# SPDX-License-Identifier: Apache-2.0
"""The second door: noise, rank swapping, PRAM and shuffling.

What is drawn comes from the operating system; tests of its size state how often they fail by chance.
"""

from __future__ import annotations

from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anon
from anon.command.entry import main
from anon.errors import DataError, RecheckError, UsageError
from anon.methods.noise import with_noise
from anon.methods.perturbation import ordered, quantile
from anon.methods.pram import invariant, redrawn, with_diagonal
from anon.methods.shuffle import ranks, scores
from anon.release.metadata import read_metadata
from anon.release.recheck_noise import recheck_noise

pytestmark = pytest.mark.filterwarnings("ignore::anon.PrivacyWarning")

SCHEMA = anon.Schema(["age", "income", "sex"], ["disease"], neutral=["region"])


def people(n: int = 400) -> pa.Table:
    rng = np.random.default_rng(3)
    age = rng.integers(17, 90, n)
    income = np.round(rng.lognormal(10, 1, n) + 100 * age, 2)
    return pa.table(
        {
            "age": age,
            "income": pa.array(income, mask=np.arange(n) % 50 == 7),
            "sex": pa.array(rng.choice(["F", "M", "X"], n, p=[0.5, 0.3, 0.2]), mask=np.arange(n) % 90 == 3),
            "disease": rng.choice(["flu", "asthma"], n),
            "region": rng.integers(0, 3, n),
        }
    )


METHODS = [
    anon.Noise(0.1),
    anon.Noise(0.1, "correlated"),
    anon.Noise(0.5, "correlated2", columns=["income"]),
    anon.RankSwap(0.05),
    anon.Pram(0.7),
    anon.Pram(0.7, invariant=True, strata="region", columns=["sex", "disease"]),
    anon.Pram(matrix={"sex": {"F": {"F": 0.9, "M": 0.1}, "M": {"M": 1}, "X": {"X": 0.5, "F": 0.5}}}),
    anon.Shuffle(["region"]),
]


# --- values of the definitions


def test_quantiles_of_the_normal_distribution() -> None:
    p = np.array([1e-300, 1e-12, 0.01, 0.075, 0.3, 0.5, 0.9, 0.925, 0.99999, 1 - 2.0**-53])
    assert quantile(p) == pytest.approx([NormalDist().inv_cdf(each) for each in p.tolist()], rel=1e-12)


def test_noise_is_what_its_definition_says() -> None:
    x = np.array([[1.0, 10], [2, 30], [4, 20], [9, 40]])
    z = np.array([[0.5, -1], [0, 2], [-1, 0], [1, 1]])
    s = x.std(axis=0, ddof=1)
    assert with_noise(x, z, 0.2, "additive") == pytest.approx(x + 0.2 * s * z)
    d = np.sqrt(1 - 0.36)
    expected = d * x + 0.6 * ((1 - d) / 0.6 * x.mean(axis=0) + s * z)
    assert with_noise(x, z, 0.6, "correlated2") == pytest.approx(expected)
    noise = with_noise(x, np.eye(4)[:, :2], 0.2, "correlated") - x
    assert noise.T @ noise == pytest.approx(0.2 * np.cov(x.T))  # draws whose covariance is I


def test_invariant_matrices() -> None:
    even = with_diagonal(np.full(3, 0.8))
    assert invariant(even, [50, 30, 20], 1.0)[0] == pytest.approx([0.748073, 0.143253, 0.108674], abs=1e-6)
    drawn = invariant(with_diagonal(np.array([0.853102, 0.874425, 0.914571])), [50, 30, 20], 0.5)
    assert drawn[0] == pytest.approx([0.910863, 0.051921, 0.037216], abs=1e-6)
    assert np.array([50, 30, 20]) @ drawn == pytest.approx([50, 30, 20])
    with_none = invariant(even, [5, 0, 5], 1.0)
    assert with_none.sum(axis=1) == pytest.approx(1)


def test_counts_are_estimated_with_their_variance() -> None:
    matrix = [[0.9, 0.1], [0.2, 0.8]]
    counts, spread = anon.pram_estimate([62, 38], matrix)
    assert counts == pytest.approx([60, 40])
    r = np.array(matrix)
    inside = sum(t * (np.diag(row) - np.outer(row, row)) for t, row in zip(counts, r, strict=True))
    assert spread == pytest.approx(np.linalg.inv(r.T) @ inside @ np.linalg.inv(r))
    with pytest.raises(UsageError, match="singular"):
        anon.pram_estimate([1, 2], [[0.5, 0.5], [0.5, 0.5]])
    with pytest.raises(UsageError, match="sum to 1"):
        anon.pram_estimate([1, 2], [[0.5, 0.4], [0.5, 0.5]])


def test_cells_are_drawn_from_the_row_of_their_value() -> None:
    matrix = np.array([[0.25, 0.75, 0], [0, 0, 1], [0.5, 0, 0.5]])
    codes = np.array([0, 0, 1, 2, 2, 2])
    draws = np.array([0.24, 0.25, 0.1, 0.49, 0.5, 0.999])
    assert redrawn(codes, matrix, draws).tolist() == [0, 1, 2, 0, 2, 2]


def test_ranks_share_their_mean() -> None:
    assert ranks(np.array([3.0, 1, 3, 2])).tolist() == [3.5, 1, 3.5, 2]


def test_shuffled_ranks_follow_the_columns_that_stay() -> None:
    """Without chance the order is that of the steering column, as far as it tells anything."""
    x = np.arange(50.0)
    moved = np.column_stack([x**3, -x])
    up, down = scores(x[:, None], moved, np.zeros((50, 2)))
    assert np.argsort(up).tolist() == list(range(50))
    assert np.argsort(down).tolist() == list(range(49, -1, -1))


@given(
    st.sampled_from(
        [
            (pa.float64(), st.one_of(st.floats(-1e300, 1e300), st.sampled_from([0.0, -0.0, 5e-324]))),
            (pa.float32(), st.floats(-10, 10, width=32)),
            (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
            (pa.int8(), st.integers(-2, 2)),
            (pa.uint64(), st.integers(0, 2**64 - 1)),
            (pa.decimal128(5, 2), st.decimals(-9, 9, places=2)),
        ]
    ),
    st.data(),
)
def test_rows_are_ordered_by_value_and_number(kind: Any, data: st.DataObject) -> None:
    values = data.draw(st.lists(st.one_of(st.none(), kind[1]), max_size=30))
    rows = [row for row, value in enumerate(values) if value is not None]
    column = pa.chunked_array([pa.array(values, kind[0])])
    assert ordered(column, "x").tolist() == sorted(rows, key=lambda row: (values[row], row))


# --- releases


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_rows_and_missing_values_stay(method: Any) -> None:
    table = people()
    release = anon.anonymize(table, SCHEMA, method=method, order="input")
    assert release.noise is not None
    changed = release.noise["attributes"]
    for name in table.column_names:
        before, after = table[name], release.table[name]
        assert before.is_null().equals(after.is_null())
        assert before.equals(after) == (name not in changed)
        if isinstance(method, anon.RankSwap | anon.Shuffle):
            assert sorted(before.drop_null().to_pylist()) == sorted(after.drop_null().to_pylist())
    assert not any("owner" in each for each in release.metadata["noise"]["attributes"].values())


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_every_release_is_drawn_anew(method: Any) -> None:
    first, second = (anon.anonymize(people(), SCHEMA, method=method, order="input", seed=1) for _ in "ab")
    assert not first.table.equals(second.table)


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_no_requirement_no_cell(method: Any, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="enforces nothing"):
        anon.anonymize(people(), SCHEMA, method=method, require=[anon.KAnonymity(2)])
    with pytest.raises(UsageError, match="leave publish"):
        anon.anonymize(people(), SCHEMA, method=method, numeric="bounds")
    release = anon.anonymize(people(), SCHEMA, method=method)
    with pytest.raises(UsageError, match="changed values"):
        release.utility().gcp  # noqa: B018
    release.write(tmp_path / "out.parquet")
    told = read_metadata(tmp_path / "out.parquet")
    assert told is not None
    assert told["noise"]["guarantee"].startswith("none")
    assert any(cell["meaning"].startswith("perturbed:") for cell in told["cells"].values())
    compared = anon.compare(people(), tmp_path / "out.parquet", SCHEMA)
    with pytest.raises(UsageError, match="perturbed"):
        compared.gcp  # noqa: B018


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_a_wrong_table_is_refused(method: Any) -> None:
    table = people()
    release = anon.anonymize(table, SCHEMA, method=method, order="input")
    told = release.noise
    assert told is not None
    shown = release.table
    recheck_noise(table, shown, told)
    with pytest.raises(RecheckError, match="were to stay"):
        recheck_noise(table, shown.set_column(4, "region", pa.array([9] * 400)), told)
    name = next(iter(told["attributes"]))
    at, column = shown.column_names.index(name), shown[name]
    with pytest.raises(RecheckError):
        recheck_noise(table, shown.set_column(at, name, pa.nulls(400, column.type)), told)
    wrong: Any = pa.array(["Q"] * 400) if pa.types.is_string(column.type) else pa.array([1e9] * 400)
    with pytest.raises(RecheckError):
        recheck_noise(table, shown.set_column(at, name, wrong), told)


def test_pram_draws_by_its_matrix() -> None:
    """Chance fails this less than once in 1e9 runs: six standard deviations."""
    n = 40_000
    table = pa.table({"sex": ["F"] * (n // 2) + ["M"] * (n // 2)})
    matrix = {"sex": {"F": {"F": 0.9, "M": 0.1}, "M": {"F": 0.3, "M": 0.7}}}
    release = anon.anonymize(table, anon.Schema(["sex"]), method=anon.Pram(matrix=matrix), order="input")
    told = release.noise["attributes"]["sex"]
    assert (told["values"], told["matrix"]) == (["F", "M"], [[0.9, 0.1], [0.3, 0.7]])
    shown = np.array(release.table["sex"].to_pylist())
    for half, share in ((shown[: n // 2], 0.9), (shown[n // 2 :], 0.3)):
        assert abs(np.mean(half == "F") - share) < 6 * np.sqrt(share * (1 - share) / (n // 2))
    counts, spread = anon.pram_estimate([np.sum(shown == "F"), np.sum(shown == "M")], told["matrix"])
    assert abs(counts[0] - n / 2) < 6 * np.sqrt(spread[0, 0])


def test_shuffling_keeps_rank_correlations() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(20_000, 3))
    x[:, 1:] += x[:, :1]
    table = pa.table(dict(zip("abc", np.exp(x).T, strict=True)))
    schema = anon.Schema(["b", "c"], neutral=["a"])
    shown = anon.anonymize(table, schema, method=anon.Shuffle(["a"]), order="input").table
    assert not shown["b"].equals(table["b"])

    def correlations(one: pa.Table) -> Any:
        return np.corrcoef([ranks(one[name].to_numpy()) for name in "abc"])

    assert correlations(shown) == pytest.approx(correlations(table), abs=0.05)  # seven standard deviations


def test_correlated_noise_keeps_correlations_and_the_second_kind_the_variance() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(20_000, 2)) @ [[3, 1], [0, 2]] + 50
    table = pa.table(dict(zip("ab", x.T, strict=True)))
    for method, variance, shrunk in (
        (anon.Noise(0.5, "correlated"), 1.5, 1),
        (anon.Noise(0.5, "correlated2"), 1, 0.75),
    ):
        shown = anon.anonymize(table, anon.Schema(["a", "b"]), method=method, order="input").table
        y = np.array([shown["a"], shown["b"]])
        assert y.var(axis=1) == pytest.approx(variance * x.var(axis=0), rel=0.08)
        assert np.corrcoef(y)[0, 1] == pytest.approx(shrunk * np.corrcoef(x.T)[0, 1], abs=0.05)


@pytest.mark.parametrize(
    "flags",
    [
        "--method noise --amount 0.2 --noise correlated",
        "--method rank-swap --p 0.1",
        "--method pram --pd 0.6 --invariant --pram-alpha 0.7 --strata z",
        "--method shuffle --by z --columns age",
    ],
)
def test_by_the_command(flags: str, tmp_path: Path) -> None:
    source, out = tmp_path / "in.csv", tmp_path / "out.csv"
    lines = [f"{20 + i},{'FM'[i % 2]},{i % 7}" for i in range(40)]
    source.write_text("\n".join(["age,sex,z", *lines, ""]), encoding="utf-8")
    roles = ["--quasi", "age,sex", "--neutral", "z", "--order", "input"]
    assert main(["anonymize", str(source), "-o", str(out), *roles, *flags.split()]) == 0
    changed = out.read_text(encoding="utf-8").splitlines()
    assert len(changed) == 41
    assert changed[1:] != lines


# --- what is refused


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: anon.Noise(0), "above 0"),
        (lambda: anon.Noise(1, "correlated2"), "below 1"),
        (lambda: anon.Noise(1, "uniform"), "noise must be"),
        (lambda: anon.RankSwap(0), "p must be"),
        (lambda: anon.RankSwap(True), "p must be"),
        (lambda: anon.Pram(1.0), "changes nothing"),
        (lambda: anon.Pram(1.5), "from 0 to 1"),
        (lambda: anon.Shuffle([]), "columns"),
        (lambda: anon.Noise(1, columns=["a", "a"]), "different"),
    ],
)
def test_parameters_are_checked(make: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        make()


@pytest.mark.parametrize(
    ("method", "words"),
    [
        (anon.Noise(0.1, columns=["sex"]), "'sex' is nominal|'sex' holds"),
        (anon.Noise(0.1, columns=["nowhere"]), "no column 'nowhere'"),
        (anon.RankSwap(0.001), "p must be at least 1/"),
        (anon.Shuffle(["income"], columns=["age"]), "misses 8 values, the first in row 8"),
        (anon.Shuffle(["sex"]), "steered by numbers"),
        (anon.Shuffle(["age"]), "to stay and to be changed"),
        (anon.Noise(0.1, columns=["same"]), "less than two different values"),
        (anon.Pram(matrix={"sex": {"F": {"F": 1}}}), "no row for 2 of its values"),
        (anon.Pram(matrix={"sex": {"F": {"F": 0.5}, "M": {"M": 1}, "X": {"X": 1}}}), "row 1 of the matrix"),
        (anon.Pram(matrix={"sex": {"F": {"F": 1}}}, columns=["disease"]), "has no matrix"),
    ],
)
def test_tables_are_refused(method: Any, words: str) -> None:
    table = people().append_column("same", pa.array([1] * 400))
    schema = anon.Schema(["age", "income", "sex"], ["disease"], neutral=["region", "same"])
    with pytest.raises((UsageError, DataError), match=words):
        anon.anonymize(table, schema, method=method)


@pytest.mark.parametrize("noise", ["additive", "correlated", "correlated2"])
def test_noise_of_numbers_that_are_too_far_apart_is_refused(noise: Any) -> None:
    """Its scale was infinite, and so was what it published."""
    table = {"q": [1, 1, 2, 2], "v": [1.7e308, -1.7e308, 0.0, 1.0]}
    with pytest.raises(anon.DataError, match="'v' has values too far apart for noise"):
        anon.anonymize(
            table,
            anon.Schema(["q"], neutral=["v"]),
            require=[anon.KAnonymity(2)],
            perturb=[anon.Noise(0.5, noise, columns=["v"])],
        )
