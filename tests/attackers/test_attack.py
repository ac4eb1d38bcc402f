# SPDX-License-Identifier: Apache-2.0
"""Attacks on small releases whose answer is known, and what may be asked of them."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import anon
from anon.attackers import Inference, Linkability, Membership, SinglingOut
from anon.attackers.membership import advantage
from anon.attackers.nearest import People, expected_rows, guesses, nearest_rows
from anon.attackers.seen import see
from anon.attackers.singling_out import scaled
from anon.errors import DataError, UsageError
from anon.tables import read_source

TREE = {"*": {"south": ["a", "b"], "north": ["c", "d"]}}


def ages(*cells: str, **more: list[Any]) -> pa.Table:
    return pa.table({"age": list(cells), **more})


def seen(original: pa.Table, control: pa.Table | None, released: Any, schema: anon.Schema) -> Any:
    return see(original, control, read_source(released), schema)


# Distances, overlaps: the values of the definition


def test_gower_reaches_to_the_edge_of_a_cell_and_sets_are_all_or_nothing() -> None:
    original = pa.table({"age": [20, 25, 29, 60], "town": ["a", "b", "c", "d"], "job": ["x", "y", "z", "x"]})
    released = pa.table({"age": ["[20, 29]", "60"], "town": ["south", "d"], "job": ["{x, y}", "z"]})
    schema = anon.Schema(["age", anon.nominal("town", TREE), "job"])
    release = seen(original, None, released, schema)
    age, town, job = release.quasi
    codes = np.arange(4, dtype=np.uint32)
    assert age.distances(codes).tolist() == [[0, 1], [0, 35 / 40], [0, 31 / 40], [31 / 40, 0]]
    assert town.distances(codes).tolist() == [[0, 1], [0, 1], [1, 1], [1, 0]]
    assert job.distances(codes[:3]).tolist() == [[0, 1], [0, 1], [1, 0]]


def test_null_lies_inside_cells_that_may_be_null() -> None:
    original = pa.table({"age": [20, 30, None]})
    released = ages("[20, 30] or missing", "20", "missing")
    release = seen(original, None, released, anon.Schema(["age"]))
    [age] = release.quasi
    by_row = age.distances(np.array([0, 2], np.uint32))[:, age.cells.of_class]
    assert by_row.tolist() == [[0, 0, 1], [0, 1, 0]]
    shares = age.shares(np.array([0, 2], np.uint32))[:, age.cells.of_class]
    assert shares.tolist() == [[1 / 12, 1, 0], [1 / 12, 0, 1]]


def test_the_membership_score_of_the_definition() -> None:
    original = pa.table({"age": [20, 22, 25, 27, 28, 29], "sex": list("ababab")})
    control = pa.table({"age": [40, 20], "sex": ["a", "c"]})
    released = pa.table({"age": ["[20, 29]"] * 6, "sex": ["{a, b}"] * 6})
    release = seen(original, control, released, anon.Schema(["age", "sex"]))
    people = People(np.array([0]), np.array([0, 1]))
    score = expected_rows(release, release.boxes(release.quasi), people)
    assert score.tolist() == pytest.approx([0.3, 0.0, 0.0])


def test_the_advantage_of_the_definition() -> None:
    gain, threshold = advantage(np.array([0.9, 0.8, 0.3]), np.array([0.7, 0.2, 0.1]))
    assert gain == pytest.approx(2 / 3)
    assert threshold == 0.8
    assert advantage(np.array([1.0, 1.0]), np.array([1.0, 1.0])) == (0.0, np.inf)


def test_the_majority_of_the_nearest_classes_is_guessed_and_the_least_code_of_several() -> None:
    original = pa.table(
        {"age": [20, 25, 30, 40, 50, 60], "ill": ["flu", "flu", "cold", "cold", "none", "none"]}
    )
    released = ages(*["[20, 30]"] * 3, *["[40, 60]"] * 3, ill=["flu", "flu", "cold", "none", "cold", "none"])
    release = seen(original, None, released, anon.Schema(["age"], ["ill"]))
    [secret] = release.secrets
    people = People(np.arange(original.num_rows), np.empty(0, np.int64))
    words = secret.domain.values.to_pylist()
    boxes = release.boxes(release.quasi, by_bucket=True)
    found = guesses(release, boxes, secret, people)
    assert [words[code] for code in found] == ["flu"] * 3 + ["none"] * 3
    even = ages(*["[20, 60]"] * 6, ill=["flu", "flu", "cold", "cold", "none", "none"])
    release = seen(original, None, even, anon.Schema(["age"], ["ill"]))
    boxes = release.boxes(release.quasi, by_bucket=True)
    assert {words[code] for code in guesses(release, boxes, release.secrets[0], people)} == {"cold"}


def test_a_bucketization_is_guessed_from_the_buckets_of_equal_rows() -> None:
    original = pa.table({"age": [20, 20, 30, 40], "ill": ["flu", "cold", "cold", "none"]})
    first = pa.table({"age": [20, 30, 20, 40], "class_id": [0, 0, 1, 1]})
    second = pa.table(
        {
            "class_id": [0, 0, 1, 1],
            "attribute": ["ill"] * 4,
            "value": ["flu", "cold", "cold", "none"],
            "count": [1, 1, 1, 1],
        }
    )
    schema = anon.Schema(["age"], ["ill"])
    release = see(original, None, read_source(first), schema, second)
    boxes = release.boxes(release.quasi, by_bucket=True)
    [secret] = release.secrets
    people = People(np.arange(original.num_rows), np.empty(0, np.int64))
    words = secret.domain.values.to_pylist()
    found = [words[code] for code in guesses(release, boxes, secret, people)]
    assert found == ["cold", "cold", "cold", "cold"]  # 20: cold in both buckets; ties elsewhere


def test_the_nearest_rows_are_those_of_the_release() -> None:
    original = pa.table({"age": [20, 30, 60]})
    release = seen(original, None, ages("[50, 60]", "[20, 25]", "[50, 60]"), anon.Schema(["age"]))
    boxes = release.boxes(release.quasi)
    people, salts = People(np.arange(3), np.empty(0, np.int64)), np.arange(3, dtype=np.uint64)
    found = nearest_rows(release, boxes, people, salts, 3)
    assert [sorted(each) for each in found.tolist()] == [[0, 1, 2]] * 3
    assert found[:2, 0].tolist() == [1, 1]
    assert set(found[2, :2].tolist()) == {0, 2}


# The attacks


def population(n: int, seed: int) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "age": rng.integers(18, 90, n),
            "zip": rng.integers(0, 60, n).astype(str),
            "job": rng.choice([f"j{i}" for i in range(12)], n),
            "height": rng.integers(140, 200, n),
            "ill": rng.choice(["flu", "cold", "none", "cancer", "asthma"], n),
            "income": rng.lognormal(10, 0.8, n).round(2),
        }
    )


ATTACKS = ["singling_out", Linkability(), Inference(miners=["naive Bayes"]), "membership"]
SCHEMA = anon.Schema(["age", "zip", "job", "height"], ["ill", "income"])


def released(table: pa.Table, **how: Any) -> anon.Release:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return anon.anonymize(table, SCHEMA, **how)


@pytest.fixture(scope="module")
def tables() -> tuple[pa.Table, pa.Table]:
    return population(1500, 1), population(1500, 2)


def test_an_unprotected_table_gives_way_to_every_attack(tables: tuple[pa.Table, pa.Table]) -> None:
    attacked = anon.attack(tables[0], tables[0], SCHEMA, control=tables[1], targets=400)
    assert [note.partition(" ")[0] for note in attacked.notes] == ["learning"]
    for name, attack in attacked.attacks.items():
        assert attack.verdict == "attack succeeded", name
        assert attack.risk is not None
        assert attack.risk.low > 0.3, name
    assert [*attacked.attacks] == ["singling_out", "linkability", "inference", "membership"]


def test_under_k_anonymity_nothing_is_singled_out(tables: tuple[pa.Table, pa.Table]) -> None:
    release = released(tables[0], require=[anon.KAnonymity(10)])
    attacked = anon.attack(tables[0], release, control=tables[1], targets=400)
    assert attacked.singling_out is not None
    assert attacked.singling_out.verdict == "attack failed"
    assert attacked.singling_out.target.tries == 0
    assert "nothing to try" in attacked.singling_out.words
    assert attacked.linkability is not None
    assert attacked.linkability.target.high < 0.05


def test_the_answer_does_not_depend_on_threads(tables: tuple[pa.Table, pa.Table]) -> None:
    release = released(tables[0], require=[anon.KAnonymity(3)])
    both = [
        anon.attack(
            tables[0], release, control=tables[1], attacks=ATTACKS, targets=200, n_threads=n
        ).to_dict()
        for n in (1, 3)
    ]
    assert both[0] == both[1]


def test_releases_of_other_tools_and_of_numbers_are_attacked(tables: tuple[pa.Table, pa.Table]) -> None:
    """Noise, means and swapped values are taken at their word."""
    for how in (
        {"require": [anon.KAnonymity(3)], "numeric": "mean"},
        {"method": anon.RankSwap(0.05)},
        {"method": anon.Noise(0.2, columns=["age", "height"])},
        {"require": [anon.KAnonymity(3, nulls="wildcard")], "method": anon.LocalSuppression()},
        {"require": [anon.KAnonymity(3)], "publish": "bucketization"},
    ):
        release = released(tables[0], **how)
        attacked = anon.attack(tables[0], release, control=tables[1], targets=100, attacks=ATTACKS)
        assert len(attacked.attacks) == 4, how
        assert attacked.inference is not None
        assert attacked.inference.target.tries == 100
    release = released(tables[0], require=[anon.KAnonymity(3)])
    foreign, ours = (
        anon.attack(tables[0], each, SCHEMA, control=tables[1], attacks="membership").membership
        for each in (release.to_pandas(), release)
    )
    assert foreign is not None
    assert ours is not None
    assert foreign.facts == ours.facts


def test_neutral_columns_are_known_too(tables: tuple[pa.Table, pa.Table]) -> None:
    schema = anon.Schema(["zip", "job"], ["ill"], neutral=["age", "height"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        release = anon.anonymize(tables[0], schema, require=[anon.KAnonymity(20)])
    attacked = anon.attack(
        tables[0],
        release,
        control=tables[1],
        targets=400,
        attacks=[Inference(miners=["CART"]), Linkability()],
    )
    assert attacked.inference is not None
    parts = attacked.inference.parts["ill"].parts
    assert [*parts] == [
        *("majority of the nearest", "CART"),
        *("majority of the nearest, neutral columns known", "CART, neutral columns known"),
    ]
    alone, known = (
        parts[f"majority of the nearest{also}"].target.rate for also in ("", ", neutral columns known")
    )
    assert alone < 0.5 < known
    assert attacked.linkability is not None
    assert [*attacked.linkability.parts] == ["quasi-identifiers", "neutral columns known"]


def test_numbers_are_guessed_within_a_tolerance() -> None:
    original = pa.table({"age": [20, 30, 40, 50] * 10, "income": [100.0, 200.0, 300.0, 0.0] * 10})
    released = pa.table({"age": [20, 30, 40, 50] * 10, "income": [104.0, 211.0, 300.0, 0.0] * 10})
    schema = anon.Schema(["age"], ["income"])
    found = {
        tolerance: anon.attack(
            original, released, schema, attacks=[Inference(miners=[], tolerance=tolerance)]
        ).inference
        for tolerance in (0.05, 0.06, 0)
    }
    successes = {tolerance: one.target.successes for tolerance, one in found.items() if one is not None}
    assert successes == {0.05: 30, 0.06: 40, 0: 20}


def test_singling_out_takes_cells_bounds_and_conjunctions() -> None:
    original = pa.table({"age": [20, 21, 22, 80], "sex": ["f", "f", "m", "m"]})
    schema = anon.Schema(["age", "sex"])
    attacked = anon.attack(original, original, schema, attacks="singling_out").singling_out
    assert attacked is not None
    assert attacked.parts["univariate"].target.successes == attacked.parts["univariate"].target.tries == 6
    assert attacked.parts["multivariate"].target.successes == attacked.parts["multivariate"].target.tries == 4
    twice = pa.concat_tables([original, original.slice(0, 1)])
    attacked = anon.attack(twice, original, schema, attacks="singling_out").singling_out
    assert attacked is not None
    # age 20, age <= 20 and (20, f) now hold for two
    assert attacked.parts["univariate"].target.successes == 4
    assert attacked.parts["multivariate"].target.successes == 3


def test_the_rate_on_a_smaller_control_table_is_that_of_one_of_the_same_size() -> None:
    rng = np.random.default_rng(3)
    shares = rng.gamma(0.5, 1 / 2000, 20_000)  # of the people that each condition holds for
    small, large = rng.poisson(shares * 1000), rng.poisson(shares * 4000)
    expected = float(np.mean(large == 1))
    assert scaled(small, 1000, 4000, 0.95).rate == pytest.approx(expected, rel=0.1)
    assert scaled(large, 4000, 4000, 0.95).successes == int(np.count_nonzero(large == 1))
    same = rng.poisson(np.full(20_000, 0.3))
    assert scaled(same, 1000, 2000, 0.95).rate == pytest.approx(0.6 * np.exp(-0.6), rel=0.1)
    assert scaled(np.zeros(50, np.int64), 10, 40, 0.95).successes == 0


def test_coded_attributes_are_attacked_as_they_are_shown() -> None:
    original = population(400, 4)
    schema = anon.Schema(
        [anon.numeric("age", least=10, top=80), "job"], [anon.numeric("income", top=20_000), "ill"]
    )
    for publish in ("generalization", "bucketization"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            release = anon.anonymize(
                original, schema, require=[anon.KAnonymity(5)], publish=publish, control=0.3
            )
        found = anon.attack(release, attacks=ATTACKS, targets=100)
        assert found.inference is not None
        assert found.inference.parts["income"].target.tries == 100
        assert found.inference.parts["income"].facts == {}


# What may be asked


def test_a_release_with_rows_held_out_has_all_that_is_needed(tables: tuple[pa.Table, pa.Table]) -> None:
    release = released(tables[0], require=[anon.KAnonymity(5)], control=0.3)
    attacked = anon.attack(release, attacks=ATTACKS, targets=200)
    assert (attacked.n_original, attacked.n_control, attacked.n_released) == (1050, 450, 1050)
    assert json.loads(json.dumps(attacked.to_dict()))["membership"]["verdict"]
    assert "attack failed" in repr(attacked)
    assert "<table" in attacked._repr_html_()
    assert attacked.words[-1].endswith("cleverer.")


def test_without_a_control_group_nothing_is_compared(tables: tuple[pa.Table, pa.Table]) -> None:
    attacked = anon.attack(tables[0], tables[0], SCHEMA, attacks=ATTACKS, targets=100)
    assert attacked.membership is None
    assert attacked.linkability is not None
    assert attacked.linkability.verdict == "not compared"
    assert attacked.linkability.risk is None
    assert any("control group" in note for note in attacked.notes)


def test_what_cannot_be_asked(tables: tuple[pa.Table, pa.Table]) -> None:
    table = tables[0].slice(0, 50)

    def attack(*given: Any, **more: Any) -> Any:
        return anon.attack(table, *(given or (table, SCHEMA)), **more)

    for refused, told in (
        (lambda: attack(attacks=["singlingout"]), "did you mean"),
        (lambda: attack(attacks=[3]), "int"),
        (lambda: attack(attacks=[]), "no attack to try"),
        (lambda: attack(targets=0), "targets"),
        (lambda: attack(confidence=1), "confidence"),
        (lambda: anon.attack(table), "no release to attack"),
        (lambda: attack(attacks=[Linkability(["age"], ["age"])]), "share none"),
        (lambda: attack(attacks=[Linkability(["age"], ["shoe"])]), "shoe"),
        (lambda: attack(attacks=[Inference(["shoe"])]), "shoe"),
        (lambda: attack(attacks=[Inference(miners=["magic"])]), "magic"),
    ):
        with pytest.raises(UsageError, match=told):
            refused()
    with pytest.raises(DataError, match="types"):
        attack(control=table.set_column(0, "age", pa.array(["x"] * 50)))
    with pytest.raises(DataError, match="no rows"):
        attack(control=table.slice(0, 0))
    attacked = attack(table, anon.Schema(["age"]), control=tables[1])
    assert [*attacked.attacks] == ["singling_out", "membership"]
    assert len(attacked.notes) == 3
    assert repr(SinglingOut()) == "SinglingOut(attributes=None)"
    assert Membership().name == "membership"


def test_rows_of_stars_of_other_tools_say_nothing() -> None:
    original = pa.table({"age": [20, 30, 40], "sex": ["f", "m", "f"], "ill": ["a", "b", "b"]})
    released = pa.table({"age": ["20", "*", "40"], "sex": ["f", "*", "f"], "ill": ["a", "b", "b"]})
    assert seen(original, None, released, anon.Schema(["age", "sex"], ["ill"])).n_released == 2


def test_the_command(tmp_path: Path, tables: tuple[pa.Table, pa.Table], capsys: Any) -> None:
    import pyarrow.csv as csv

    from anon.command import main

    for name, table in (("people", tables[0]), ("others", tables[1])):
        csv.write_csv(table, tmp_path / f"{name}.csv")
    people, others, output = (str(tmp_path / name) for name in ("people.csv", "others.csv", "release.csv"))
    roles = ["--quasi", "age,zip", "--sensitive", "ill"]
    assert main(["anonymize", people, "-o", output, *roles, "--k", "5", "-q"]) == 0
    ask = ["attack", people, output, "--control", others, *roles, "--targets", "50"]
    assert main([*ask, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["targets"] == 50
    assert said["inference"]["parts"]["ill"]["parts"]["naive Bayes"]["target"]["tries"] == 50
    assert main([*ask, "--attacks", "linkability"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("release.csv: attacks on 50 people in the table and 50 others\n  Linkability")
    assert "membership" not in shown
    assert main([*ask, "--attacks", "minimality"]) == 2
    assert "release that Python's anonymize() returned" in capsys.readouterr().err
    assert (
        main(["anonymize", people, "-o", output, *roles, "--k", "5", "--publish", "bucketization", "-q"]) == 0
    )
    capsys.readouterr()
    assert main([*ask, "--attacks", "learning"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("release.csv: attacks on 50 people in the table and 50 others\n  Learning (ill)")
    assert "learning: ill" in shown
    both = ["anonymize", people, "-o", output, *roles, "--k", "5", "--attack", "--control", "0.4"]
    assert main(both) == 0
    shown = capsys.readouterr().out
    assert "The release: attacks on 900 people in the table" in shown
    assert "900 people" in shown
    assert main([*both, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["attacks"]["n_control"] == 600


def test_numbers_of_any_size_are_attacked() -> None:
    far = pa.array([0, 1, 2**63, 2**64 - 1] * 5, pa.uint64())
    table = pa.table({"age": [1e300, -1e300] * 10, "far": far})
    schema = anon.Schema(["age"], ["far"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", anon.PrivacyWarning)
        release = anon.anonymize(table, schema, require=[anon.KAnonymity(2)], numeric="mean", control=0.5)
    assert anon.attack(release).to_dict()
    assert anon.attack(table, release.table, schema).to_dict()
