# SPDX-License-Identifier: Apache-2.0
"""Perturbations beside a method that makes classes of other columns.

What is drawn comes from the operating system: no column here stays as it was but with chance below 1e-12.
"""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import anon
from anon.command.entry import main
from anon.errors import RecheckError, UsageError
from anon.pages import of_release
from anon.release.metadata import read_metadata

pytestmark = pytest.mark.filterwarnings("ignore::anon.PrivacyWarning")

SCHEMA = anon.Schema(["age", "sex"], ["disease", "income"], ["name"], ["hours", "wages", "sector", "town"])
PERTURB = [
    anon.Noise(0.1, columns=["income"]),
    anon.RankSwap(0.2, columns=["hours"]),
    anon.Pram(0.3, columns=["sector"]),
    anon.Shuffle(["age"], columns=["wages"]),
]
KINDS = {"income": "noise", "hours": "rank-swap", "sector": "pram", "wages": "shuffle"}
REQUIRE = [anon.KAnonymity(5), anon.LDiversity(2, sensitive="disease")]


def people(n: int = 400) -> pa.Table:
    rng = np.random.default_rng(5)
    age = rng.integers(17, 90, n)
    return pa.table(
        {
            "name": [f"person {i}" for i in range(n)],
            "age": age,
            "sex": rng.choice(["F", "M"], n),
            "disease": rng.choice(["flu", "asthma", "none"], n),
            "income": pa.array(rng.lognormal(10, 1, n).round(2), mask=np.arange(n) % 50 == 7),
            "hours": rng.integers(1, 60, n),
            "wages": rng.lognormal(8, 1, n) + age,
            "sector": rng.choice(["trade", "care", "farming"], n),
            "town": rng.choice(["Aa", "Bee"], n),
        }
    )


def released(**more: Any) -> anon.Release:
    asked: dict[str, Any] = {"require": REQUIRE, "perturb": PERTURB, "order": "input"}
    return anon.anonymize(people(), SCHEMA, **(asked | more))


# --- what is changed, and what is not


@pytest.mark.parametrize(
    "how",
    [
        {"method": anon.Mondrian()},
        {"method": anon.Curve(), "numeric": "mean"},
        {"method": anon.Microaggregation(), "numeric": "median"},
        {"method": anon.FullDomain()},
        {"method": anon.LocalSuppression(), "require": [anon.KAnonymity(3, nulls="wildcard")]},
        {"effort": "fast", "publish": "bucketization", "perturb": PERTURB[1:]},
    ],
    ids=lambda how: str(how.get("method", how.get("publish"))),
)
def test_only_the_named_columns_change_and_rows_stay(how: dict[str, Any]) -> None:
    table, release = people(), released(**how)
    named = {name for each in how.get("perturb", PERTURB) for name in each.columns}
    rows = np.sort(release.classes.rows)  # those that are published, in the order of the input
    before = table.take(pa.array(rows))
    if how.get("publish") == "bucketization":
        assert {"disease", "income"} <= set(release.sensitive_table["attribute"].to_pylist())
        kept = {"age", "sex", "town"}
    else:
        kept = {"disease", "town", *({"income"} - named)}
    for name in kept:
        assert release.table[name].to_pylist() == before[name].to_pylist()
    for name in named:
        assert release.table[name].is_null().equals(before[name].is_null())
        assert release.table[name].to_pylist() != before[name].to_pylist()
    assert "name" not in release.table.column_names


@pytest.mark.parametrize("publish", ["generalization", "bucketization"])
def test_classes_are_those_of_the_table_as_it_was(publish: Any) -> None:
    """By the same seed the same rows are together, and each class has its own values of what is unchanged."""
    roles = anon.Schema(SCHEMA.quasi, ["disease"], ["name"], [*SCHEMA.neutral, "income"])
    how: dict[str, Any] = {"require": REQUIRE, "method": anon.Mondrian(), "publish": publish}
    plain = anon.anonymize(people(), roles, **how)
    changed = anon.anonymize(people(), roles, perturb=PERTURB, **how)

    def together(release: anon.Release) -> set[frozenset[int]]:
        ends = release.classes.offsets
        return {frozenset(release.classes.rows[a:b].tolist()) for a, b in pairwise(ends)}

    def per_class(release: anon.Release) -> list[Any]:
        by = ["class_id"] if publish == "bucketization" else ["age", "sex"]
        groups: dict[Any, list[str]] = {}
        for row in release.table.to_pylist():
            groups.setdefault(tuple(row[name] for name in by), []).append(row["town"])
        return sorted(map(sorted, groups.values()))

    if publish == "generalization":  # which of equal people goes into which bucket is drawn
        assert together(plain) == together(changed)
        assert per_class(plain) == per_class(changed)
    else:
        assert sorted(plain.classes.sizes) == sorted(changed.classes.sizes)
        assert sorted(map(len, per_class(plain))) == sorted(map(len, per_class(changed)))
    assert plain.privacy().k == changed.privacy().k


def test_households_exchange_places_beside_classes_of_persons() -> None:
    rng = np.random.default_rng(2)
    n = 300
    household = np.repeat(np.arange(n // 3), 3)
    table = pa.table(
        {
            "household": household,
            "age": rng.integers(0, 90, n),
            "origin": rng.choice(["a", "b", "c", "d"], n),
            "region": (household % 4),
        }
    )
    schema = anon.Schema(["age"], unit="household", neutral=["origin", "region"])
    swap = anon.RecordSwap(["region"], ["origin"], k=40, rate=0.5)
    release = anon.anonymize(
        table, schema, require=[anon.KAnonymity(3)], method=anon.Mondrian(), perturb=[swap], order="input"
    )
    assert release.table["origin"].equals(table["origin"])
    assert release.table["region"].to_pylist() != table["region"].to_pylist()
    assert sorted(release.table["region"].to_pylist()) == sorted(table["region"].to_pylist())
    assert "owner" not in json.dumps(release.metadata)


def test_each_perturbation_is_checked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def idle(self: Any, table: pa.Table, names: Any) -> Any:
        return type(made)({name: table.column(name).combine_chunks() for name in names}, made.attributes)

    made = PERTURB[0].change(people().select(["income"]), ["income"])
    monkeypatch.setattr(anon.Noise, "change", idle)
    with pytest.raises(RecheckError, match="column 'income': the perturbation is not what it claims"):
        released()


# --- what is said of it


def test_the_release_says_which_columns_and_how(tmp_path: Path) -> None:
    release = released()
    assert release.perturbed_by == KINDS
    assert release.summary()["perturbed"] == [f"{name} ({kind})" for name, kind in KINDS.items()]
    assert release.summary()["published unchanged"] == ["town"]
    [note] = [each for each in release.notes if each.startswith("perturbed: ")]
    assert "'income' (noise), 'hours' (rank-swap)" in note
    assert "the requirements and the re-check say nothing of these values" in note
    told = [each for each in release.warnings if "'age'" in each and "shuffling of 'wages'" in each]
    assert len(told) == 1
    for audience in ("owner", "public"):
        page = of_release(release, audience=audience)
        assert page.first is not None
        said = [text for section in page.sections for text in section.paragraphs]
        assert f"{note.capitalize()}." in [*page.first.facts, *said]
        assert page.facts["roles"]["perturbed"] == list(KINDS)
    release.write(tmp_path / "out.parquet")
    metadata = read_metadata(tmp_path / "out.parquet")
    assert metadata is not None
    assert metadata["roles"] == {
        "quasi": ["age", "sex"],
        "sensitive": ["disease"],
        "neutral": ["town"],
        "perturbed": list(KINDS),
    }
    assert {name: each["kind"] for each in metadata["perturbed"] for name in each["attributes"]} == KINDS
    assert "noise" not in metadata
    assert "owner" not in json.dumps(metadata)
    assert "owner" in release.perturbed[0]["attributes"]["income"]
    assert np.shape(metadata["perturbed"][2]["attributes"]["sector"]["matrix"]) == (3, 3)


def test_a_release_without_says_nothing() -> None:
    release = released(perturb=[])
    assert release.perturbed == ()
    assert not [each for each in release.notes if "perturbed" in each]
    assert "perturbed" not in {**release.metadata, **release.metadata["roles"], **release.summary()}


def test_what_is_measured_leaves_the_columns_out() -> None:
    release = released()
    privacy = release.privacy(neutral=True)
    assert list(privacy.by_sensitive) == ["disease"]
    assert privacy.known is not None
    alone = released(perturb=[*PERTURB, anon.Pram(0.3, columns=["town"])]).privacy(neutral=True)
    assert alone.known is None
    assert privacy.known.k <= privacy.k
    assert list(release.utility().by_sensitive) == ["disease"]
    with pytest.raises(UsageError, match="with perturbed columns does not hold its original"):
        anon.mining_utility(release, "disease")


def test_a_copy_of_a_sensitive_column_is_not_judged_once_it_is_perturbed() -> None:
    table = people().append_column("again", people()["disease"])
    schema = anon.Schema(["age", "sex"], ["disease"], neutral=["again"])
    pram = anon.Pram(0.3, columns=["again"])
    for perturb, n in (([], 1), ([pram], 0)):
        release = anon.anonymize(table, schema, require=[anon.KAnonymity(5)], perturb=perturb)
        assert len([each for each in release.warnings if "goes with the sensitive" in each]) == n


@pytest.mark.parametrize("publish", ["generalization", "bucketization"])
def test_files_are_checked_and_compared(tmp_path: Path, publish: Any) -> None:
    perturb = PERTURB if publish == "generalization" else PERTURB[1:]
    release = released(publish=publish, perturb=perturb, order="class")
    release.write(tmp_path / "out.parquet")
    checked = anon.check(tmp_path / "out.parquet", require=REQUIRE, roles_from_file=True)
    assert checked.unmet == ()
    assert "'hours' (rank-swap)" in checked.notes[0]
    compared = anon.compare(people(), tmp_path / "out.parquet", SCHEMA)
    numbers = set(compared.numbers.names)
    assert numbers == {"hours", "wages", *(["income"] if publish == "generalization" else [])}
    assert ("income" in compared.by_sensitive) == (publish == "bucketization")
    with_schema = anon.check(tmp_path / "out.parquet", SCHEMA)
    assert with_schema.notes == ()
    assert "income" in with_schema.by_sensitive


# --- a job file


def test_a_job_file_perturbs_beside_its_method(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pq.write_table(people(), tmp_path / "people.parquet")
    job = tmp_path / "job.toml"
    job.write_text(
        """
        input = "people.parquet"
        output = "out.parquet"
        quasi = ["age", "sex"]
        sensitive = ["disease"]
        neutral = ["income", "sector", "town"]
        k = 5
        order = "input"
        [[perturb]]
        method = "noise"
        amount = 0.1
        columns = ["income"]
        [[perturb]]
        method = "pram"
        pd = 0.3
        columns = ["sector"]
        """
    )
    assert main(["anonymize", "--config", str(job), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["release"]["perturbed"] == ["income (noise)", "sector (pram)"]
    assert any("'income' (noise)" in note for note in said["notes"])
    out = pq.read_table(tmp_path / "out.parquet")
    assert out["town"].equals(people()["town"])
    assert out["sector"].to_pylist() != people()["sector"].to_pylist()
    assert main(["check", str(tmp_path / "out.parquet")]) == 0
    assert "perturbed: 'income' (noise), 'sector' (pram)" in capsys.readouterr().err
    for engine, way_out in (("stream", "--engine local"), ("spark", "--engine local")):
        assert main(["anonymize", "--config", str(job), "--engine", engine]) == 2
        assert way_out in capsys.readouterr().err
    assert main(["anonymize", "--config", str(job), "--engine", "local", "--quiet"]) == 0
    grid = ["frontier", "--config", str(job), "--grid", "k=5,10"]
    assert main(grid) == 2
    assert "leave it out of the job file of a sweep" in capsys.readouterr().err


# --- refusals


@pytest.mark.parametrize(
    ("perturb", "message"),
    [
        (anon.Noise(0.1, columns=["hours"]), "must be a list of perturbations"),
        (["noise"], "not str"),
        ([anon.Mondrian()], "perturb takes Noise, .* not Mondrian"),
        ([anon.Laplace(1.0, bounds={"income": (0, 9)})], "perturb takes Noise, .* not Laplace"),
        ([anon.Noise(0.1)], "name the columns that noise is to change"),
        ([anon.Noise(0.1, columns=["age"])], "column 'age' is a quasi-identifier"),
        ([anon.Pram(columns=["disease"])], r"column 'disease' is perturbed, and 2-diversity .* required"),
        ([anon.RankSwap(0.1, columns=["hours"]), anon.Noise(1, columns=["hours"])], "in two perturbations"),
        ([anon.Noise(0.1, columns=["nothing"])], "no column 'nothing'"),
        ([anon.Pram(columns=["name"])], "column 'name' is dropped"),
        ([anon.Noise(0.1, columns=["sector"])], "column 'sector' holds string"),
        ([anon.Pram(strata="age", columns=["sector"])], "matrices of its values would tell them"),
        ([anon.Pram(strata="disease", columns=["sector"])], "'disease' steers PRAM"),
        (
            [anon.Shuffle(["hours"], columns=["wages"]), anon.RankSwap(0.1, columns=["hours"])],
            "column 'hours' is read by shuffling and perturbed",
        ),
    ],
)
def test_what_cannot_be_perturbed_is_refused(perturb: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        released(perturb=perturb)


NOISE = [anon.Noise(0.1, columns=["income"])]


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"require": [anon.LDiversity(2)]}, "'income' is perturbed, and 2-diversity"),
        ({"require": [anon.AlphaK(0.9, 3)]}, "'income' is perturbed"),
        ({"method": anon.Identity(), "require": []}, "Identity makes no classes"),
        ({"method": anon.RankSwap(0.1), "require": []}, "RankSwap makes no classes"),
        ({"publish": "bucketization"}, "it would stand beside intact quasi-identifiers"),
        ({"method": anon.Anatomy(2), "require": [], "publish": "bucketization"}, "beside intact"),
        (
            {"method": anon.Mondrian(split="information-gain", target="income")},
            "'income' steers Mondrian",
        ),
        (
            {
                "method": anon.LocalSuppression(strata=["income"]),
                "require": [anon.KAnonymity(2, nulls="wildcard")],
            },
            "'income' steers LocalSuppression",
        ),
    ],
)
def test_what_does_not_go_with_a_perturbation_is_refused(how: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        released(perturb=NOISE, **how)


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (anon.Schema(["age"], linked=[["age", "income"]]), "'income' is linked to a quasi-identifier"),
        (anon.Schema(["age"], sampling_weight="income"), "'income' holds the sampling weights"),
        (anon.Schema(["age"], unit="income"), "'income' is dropped"),
        (anon.Schema(["age"]), "'income' has no role"),
        (anon.Schema(["age"], [anon.Attribute("income", top=50_000)]), "'income' has a least level, top"),
    ],
)
def test_a_column_of_another_role_is_refused(schema: anon.Schema, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        anon.anonymize(people(), schema, require=[anon.KAnonymity(5)], perturb=NOISE)


def test_a_table_in_its_files_is_refused(tmp_path: Path) -> None:
    pq.write_table(people(), tmp_path / "people.parquet")
    source = anon.read_source(tmp_path / "people.parquet", engine="stream")
    with pytest.raises(UsageError, match=r'read_source\(path, engine="local"\)'):
        anon.anonymize(source, SCHEMA, require=REQUIRE, perturb=PERTURB)
