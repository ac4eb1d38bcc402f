# SPDX-License-Identifier: Apache-2.0
"""What neutral columns add to what is known, against counting by hand; and the numbers of the census."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anon
from anon.command.entry import main

QUASI = ["age", "sex", "education", anon.nominal("postcode", hierarchy=anon.prefix(4, 3, 2))]
NEUTRAL = ["race", "marital_status", "education_years", "workclass", "relationship", "native_country"]
NEUTRAL += ["state", "hours_per_week"]
REQUIRE = [anon.KAnonymity(10), anon.LDiversity(2)]

columns = st.integers(1, 60).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(0, 3), min_size=n, max_size=n),
        st.lists(st.lists(st.none() | st.integers(0, 4), min_size=n, max_size=n), min_size=1, max_size=5),
    )
)


@given(columns, st.booleans())
@settings(deadline=None, max_examples=60)
@pytest.mark.filterwarnings("ignore::anon.PrivacyWarning")
def test_rows_known_with_their_neutral_columns(drawn: tuple[Any, Any], encoded: bool) -> None:
    quasi, neutral = drawn
    arrays = [pa.array([None if v is None else f"v{v}" for v in column]) for column in neutral]
    arrays = [each.dictionary_encode() if encoded else each for each in arrays]
    table = pa.table({"q": quasi, **{f"n{i}": each for i, each in enumerate(arrays)}})
    release = anon.anonymize(table, anon.Schema(["q"], neutral="rest"), method=anon.Identity())
    found = release.privacy(neutral=True).known
    assert found is not None
    counts = Counter(zip(quasi, *neutral, strict=True))
    sizes = [counts[row] for row in zip(quasi, *neutral, strict=True)]
    assert (found.k, found.sample_uniques) == (min(sizes), sizes.count(1))
    assert found.prosecutor.mean == pytest.approx(sum(1 / size for size in sizes) / len(sizes))
    assert found.prosecutor.max == 1 / min(sizes)


@pytest.fixture(scope="module")
def census() -> pa.Table:
    return anon.datasets.census(50_000, seed=0)


@pytest.fixture(scope="module")
def release(census: pa.Table) -> Any:
    schema = anon.Schema(QUASI, ["occupation"], neutral=NEUTRAL)
    with pytest.warns(anon.PrivacyWarning) as caught:
        made = anon.anonymize(census, schema, require=REQUIRE, effort="fast")
    assert tuple(str(one.message) for one in caught) == made.warnings
    return made


def test_four_of_thirteen_columns_hide_nobody(release: Any) -> None:
    measured = release.privacy(neutral=True)
    assert measured.k == 10
    assert (measured.known.k, measured.known.sample_uniques) == (1, 45_344)


def candidates(release: Any, pairs: list[tuple[str, str]]) -> Any:
    """Of each person the rows of the class whose neutral values go with what is known of the person."""
    table = release.encoded.table
    values = {
        name: np.unique(table[name].to_pylist(), return_inverse=True)[1] for pair in pairs for name in pair
    }
    goes = {}
    for quasi, neutral in pairs:
        goes[quasi, neutral] = np.zeros((values[quasi].max() + 1, values[neutral].max() + 1), bool)
        goes[quasi, neutral][values[quasi], values[neutral]] = True
    found = []
    for rows in np.split(release.classes.rows, release.classes.offsets[1:-1]):
        fits = np.ones((len(rows), len(rows)), bool)
        for quasi, neutral in pairs:
            fits &= goes[quasi, neutral][values[quasi][rows][:, None], values[neutral][rows][None, :]]
        found.append(fits.sum(axis=1))
    return np.concatenate(found)


def test_whoever_knows_the_four_narrows_them(release: Any) -> None:
    years, state = ("education", "education_years"), ("postcode", "state")
    assert np.mean(candidates(release, [years, state]) < 10) == pytest.approx(0.28, abs=0.005)
    told = release.privacy(neutral=True).known.columns
    assert {name: one.narrows for name, one in told.items()} == {
        "education_years": ("education",),
        "state": ("postcode",),
    }
    for quasi, neutral in (years, state):
        assert told[neutral].n_narrowed == np.count_nonzero(candidates(release, [(quasi, neutral)]) < 10)
    years_warned, state_warned = release.warnings
    assert "'education_years' is neutral and narrows 'education'" in years_warned
    assert f"for {told['education_years'].n_narrowed:,} of 50,000 people" in years_warned
    assert "linked=[['postcode', 'state']] or --linked postcode=state" in state_warned


def test_the_way_out_works(census: pa.Table, recwarn: pytest.WarningsRecorder) -> None:
    linked = [["education", "education_years"], ["postcode", "state"]]
    schema = anon.Schema(QUASI, ["occupation"], linked=linked)
    measured = anon.anonymize(census, schema, require=REQUIRE).privacy(neutral=True)
    assert (measured.k, measured.known) == (10, None)
    assert not recwarn


def test_the_readmes_command_keeps_its_k_with_all_that_it_publishes(
    census: pa.Table, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text()
    [words] = [
        line.split() for line in readme.splitlines() if line.startswith("anon anonymize people.parquet")
    ]
    source, out = str(tmp_path / "people.parquet"), str(tmp_path / "release.parquet")
    pq.write_table(census, source)
    words = [{"people.parquet": source, "release.parquet": out}.get(word, word) for word in words[1:]]
    assert main([*words, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["privacy"]["known"] is None
    assert told["privacy"]["k"] == 10
    shown = pq.read_table(out)
    names = [name for name in shown.column_names if name != "occupation"]
    assert shown.group_by(names).aggregate([([], "count_all")])["count_all"].to_pylist().count(1) == 0
    assert anon.check(shown, anon.Schema(names)).k == 10


def test_a_copy_of_a_sensitive_column_is_named() -> None:
    rng = np.random.default_rng(4)
    score = rng.integers(1, 11, 600)
    text = np.where(score <= 4, "Low", np.where(score <= 7, "Medium", "High"))
    other = rng.integers(0, 5, 600)
    table = pa.table({"age": rng.integers(20, 60, 600), "score": score, "score_text": text, "other": other})
    with pytest.warns(anon.PrivacyWarning, match="'score_text' .* sensitive 'score' in 600 of 600 rows"):
        release = anon.anonymize(
            table, anon.Schema(["age"], ["score"], neutral="rest"), require=[anon.KAnonymity(5)]
        )
    assert set(release.known().columns) == {"score_text"}
    assert release.known().columns["score_text"].copies == ("score",)


def test_columns_that_tell_nothing_are_not_named() -> None:
    rng = np.random.default_rng(5)
    table = pa.table({name: rng.integers(0, 30, 4000) for name in ("q", "r", "a", "b")})
    table = table.append_column("serial_of_form", pa.array([i // 2 for i in range(4000)])).append_column(
        "nested", pa.array([[1]] * 4000)
    )
    schema = anon.Schema(["q", "r"], neutral="rest")
    release = anon.anonymize(table, schema, require=[anon.KAnonymity(10)], effort="fast")
    assert release.warnings == ()
    assert (release.known().columns, release.known().not_counted) == ({}, ("nested",))


@pytest.mark.parametrize("publish", ["generalization", "bucketization"])
def test_streamed_rows_and_buckets(census: pa.Table, tmp_path: Path, publish: Any) -> None:
    pq.write_table(census.slice(0, 2000), tmp_path / "in.parquet")
    schema = anon.Schema(["age", "sex"], ["occupation"], neutral=["race", "hours_per_week"])
    options: dict[str, Any] = {"require": [anon.KAnonymity(10)], "publish": publish, "effort": "fast"}
    streamed, whole = (
        anon.anonymize(anon.read_source(tmp_path / "in.parquet", engine=engine), schema, **options)
        for engine in ("stream", "local")
    )
    known = whole.privacy(neutral=True).known
    assert known is not None
    if publish == "generalization":
        assert streamed.privacy(neutral=True).known == known
    else:
        shown = (whole.table[name].to_pylist() for name in ("age", "sex", "race", "hours_per_week"))
        counts = Counter(zip(*shown, strict=True))
        assert (known.k, known.sample_uniques) == (min(counts.values()), list(counts.values()).count(1))
