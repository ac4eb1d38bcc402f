# SPDX-License-Identifier: Apache-2.0
"""Two releases laid side by side: candidates, against plain enumeration of the definition."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anon
from anon.command.entry import main

pytestmark = pytest.mark.filterwarnings("ignore::anon.PrivacyWarning")

PEOPLE = pa.table({"q": list("abcd"), "s": list("wxyz")})
SCHEMA = anon.Schema(["q"], ["s"])
FIRST = {"q": ["{a, b}", "{a, b}", "{c, d}", "{c, d}"], "s": list("wxyz")}
SECOND = {"q": ["{a, c}", "{b, d}", "{a, c}", "{b, d}"], "s": list("wxyz")}


def test_the_value_of_the_definition() -> None:
    """{a,b}{c,d} then {a,c}{b,d}: two releases with k = 2 leave one candidate."""
    found = anon.composition(FIRST, SECOND, PEOPLE, SCHEMA)
    assert (found.k, found.alone, found.n_persons, found.below(2), found.below(1)) == (1, (2, 2), 4, 4, 0)
    assert found.candidates.tolist() == [1, 1, 1, 1]
    assert found.to_dict()["below"] == {"2": 4, "5": 4, "10": 4, "20": 4}
    alike = anon.composition(FIRST, FIRST, PEOPLE, SCHEMA)
    assert (alike.k, alike.below(2)) == (2, 0)
    said = " ".join(found.words())
    assert "has 1 (" in said
    assert "4 of 4 people (100.0%) have fewer than 2" in said
    assert "does not say what is told of them" in said
    assert "safe" not in " ".join([*alike.words(), said]).lower()
    assert "least number of candidates" in found._repr_html_()
    assert repr(found) == "Composition(k=1, n_persons=4, alone=(2, 2))"


def test_who_is_in_one_release_alone_is_no_person() -> None:
    later = {"q": ["{c, d}", "{c, d}"], "s": list("yz")}
    found = anon.composition(FIRST, later, PEOPLE, SCHEMA)
    assert found.candidates.tolist() == [0, 0, 2, 2]
    nobody = anon.composition({"q": ["a", "a"]}, {"q": ["b", "b"]}, PEOPLE, SCHEMA)
    assert (nobody.k, nobody.n_persons, nobody.alone) == (0, 0, (0, 0))
    assert "nobody in common" in nobody.words()[0]


def inside(cells: Sequence[Any], row: tuple[int, ...]) -> bool:
    return all(low <= value <= high for (low, high), value in zip(cells, row, strict=True))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32))
def test_candidates_are_those_of_the_definition(seed: int) -> None:
    """Boxes that overlap, touch, and miss some people; people with equal values."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 12))
    rows = rng.integers(0, 5, (n, 2))
    table = pa.table({"x": rows[:, 0], "y": rows[:, 1]})
    shown, boxes = [], []
    for _ in range(2):
        corners = rows[rng.integers(0, n, (int(rng.integers(1, n + 1)), 2))]
        low, high = corners.min(axis=1), corners.max(axis=1)
        boxes.append([list(zip(a, b, strict=True)) for a, b in zip(low.tolist(), high.tolist(), strict=True)])
        columns = {
            name: [f"[{a[i]}, {b[i]}]" for a, b in zip(low.tolist(), high.tolist(), strict=True)]
            for i, name in enumerate("xy")
        }
        shown.append(columns)
    found = anon.composition(*shown, table, anon.Schema(["x", "y"]))
    of = [
        [{i for i, cells in enumerate(side) if inside(cells, row)} for row in rows.tolist()] for side in boxes
    ]
    expected = [
        sum(bool(a & of[0][j]) and bool(b & of[1][j]) for j in range(n)) for a, b in zip(*of, strict=True)
    ]
    assert found.candidates.tolist() == expected
    alone = [
        min((sum(bool(a & b) for b in side) for i, a in enumerate(side) if expected[i]), default=0)
        for side in of
    ]
    assert list(found.alone) == alone


def test_releases_of_ours_of_every_kind() -> None:
    """Of two releases with disjoint cells the candidates are the rows that share both classes."""
    table, schema = anon.datasets.census(600, 1), anon.datasets.census_schema()
    require = [anon.KAnonymity(10)]
    made = [
        anon.anonymize(table, schema, require=require, method=method)
        for method in (anon.FullDomain(), anon.FullDomain(quality="dm"))
    ]
    of_row = np.empty((2, table.num_rows), np.int64)
    for i, release in enumerate(made):
        of_row[i, release.classes.rows] = np.repeat(
            np.arange(release.classes.n_classes), release.classes.sizes
        )
    _, number, sizes = np.unique(of_row, axis=1, return_inverse=True, return_counts=True)
    found = anon.composition(*(one.table for one in made), table, schema)
    assert np.array_equal(found.candidates, sizes[number])
    curve = anon.anonymize(table, schema, require=require, method=anon.Curve())
    mondrian = anon.anonymize(table, schema, require=require, method=anon.Mondrian())
    both = anon.composition(curve.table, mondrian.table, table, schema)
    assert min(both.alone) >= 10 > both.k >= 1
    assert both.n_persons == table.num_rows
    same = anon.composition(curve.table, curve.table, table, schema)
    assert same.k == min(same.alone) >= 10


def test_a_bucketization_beside_a_generalization() -> None:
    """A person's bucket and class: whose sensitive values can be theirs."""
    n = 40
    table = pa.table({"age": list(range(n)), "s": [f"v{i % 5}" for i in range(n)]})
    schema = anon.Schema(["age"], ["s"])
    buckets = anon.anonymize(table, schema, method=anon.Anatomy(5), publish="bucketization")
    cells = anon.anonymize(table, schema, require=[anon.KAnonymity(10)], method=anon.Mondrian())
    found = anon.composition(buckets.table, cells.table, table, schema)
    of_bucket, of_class = np.empty(n, int), np.empty(n, int)
    for release, of_row in ((buckets, of_bucket), (cells, of_class)):
        of_row[release.classes.rows] = np.repeat(np.arange(release.classes.n_classes), release.classes.sizes)
    expected = [int(np.sum((of_bucket == of_bucket[i]) & (of_class == of_class[i]))) for i in range(n)]
    assert found.candidates.tolist() == expected
    assert found.alone[0] == 5


def test_what_cannot_be_laid_side_by_side_is_refused() -> None:
    with pytest.raises(anon.DataError, match=r"the second release: column 'q' .* 1 cells .* row 2") as caught:
        anon.composition(FIRST, {"q": ["a", "nobody"]}, PEOPLE, SCHEMA)
    assert (caught.value.column, caught.value.row, caught.value.count) == ("q", 1, 1)
    with pytest.raises(anon.DataError, match=r"the first release: .*q"):
        anon.composition({"z": ["a"]}, SECOND, PEOPLE, SCHEMA)
    with pytest.raises(anon.UsageError, match=r"schema must be an anon\.Schema"):
        anon.composition(FIRST, SECOND, PEOPLE, ["q"])  # type: ignore[arg-type]
    ages = pa.table({"age": [1, 2, 3, 4, 50, 60], "s": list("xyxyxy")})
    schema = anon.Schema(["age"], ["s"])
    means = anon.anonymize(ages, schema, require=[anon.KAnonymity(2)], numeric="mean").table
    with pytest.raises(anon.UsageError, match=r"the second release cannot be laid .* means"):
        anon.composition(ages, means, ages, schema)
    for wrong in (0, True, 2.5):
        with pytest.raises(anon.UsageError, match="k must be a whole number"):
            anon.composition(FIRST, SECOND, PEOPLE, SCHEMA).below(wrong)  # type: ignore[arg-type]


def test_too_much_overlap_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["anon.attackers.composition"], "MOST_INSIDE", 3)
    with pytest.raises(anon.UsageError, match="2 classes hold more than 3 people"):
        anon.composition(FIRST, SECOND, PEOPLE, SCHEMA)


# --- anon check --against


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    for name, table in (("a", FIRST), ("b", SECOND), ("t", PEOPLE)):
        anon.datasets.write_table(pa.table(table), tmp_path / f"{name}.csv")
    paths = {name: str(tmp_path / f"{name}.csv") for name in "abt"}
    return ["check", paths["a"], "--against", paths["b"], "--original", paths["t"], "--quasi", "q"]


def test_check_against(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(files) == 0
    printed = capsys.readouterr().out
    assert "fewest candidates has 1" in printed.replace("\n", " ")
    assert main([*files, "--k", "2"]) == 1
    said = capsys.readouterr()
    assert "not met: 2-anonymity after both releases: 4 people have fewer candidates" in said.err
    assert main([*files, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["composition"]["k"] == 1
    assert told["composition"]["n_persons"] == 4


def test_check_against_needs_the_original_and_roles(
    files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    for without, why in (
        ("--original", "--original"),
        ("--against", "--against"),
        ("--quasi", "--quasi"),
    ):
        at = files.index(without)
        assert main(files[:at] + files[at + 2 :]) == 2
        assert why in capsys.readouterr().err
