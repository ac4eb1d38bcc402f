# SPDX-License-Identifier: Apache-2.0
"""The report of attacks: its bars and words, and no value of the table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import anon
from anon import pages
from anon.attackers import Inference
from anon.command.entry import main

SCHEMA = anon.Schema(["age", "town"], ["ill", "wage"])


def people(seed: int) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "age": rng.integers(18, 90, 300),
            "town": rng.choice(["secretville", "elsewhere", "nowhere"], 300),
            "ill": rng.choice(["secretitis", "flu"], 300),
            "wage": rng.integers(1000, 9000, 300),
        }
    )


def test_the_report_has_bars_of_every_attack_and_sensitive_attribute() -> None:
    attacked = anon.attack(
        people(1),
        people(1),
        SCHEMA,
        control=people(2),
        targets=100,
        attacks=["singling-out", "linkability", Inference(miners=[]), "membership"],
    )
    report = pages.of_attacks(attacked)
    bars = report.facts["figures"]["How often attacks succeed"]
    assert [bar["attack"] for bar in bars] == [
        name for name in ("singling out", "linkability", "inference", "membership") for _ in range(3)
    ]
    first = bars[0]
    assert attacked.singling_out is not None
    assert first["rate"] == 100 * attacked.singling_out.target.rate
    assert (first["low"], first["high"]) == (
        100 * attacked.singling_out.target.low,
        100 * attacked.singling_out.target.high,
    )
    of_secrets = report.facts["figures"]["Inference of each sensitive attribute"]
    assert {bar["attack"] for bar in of_secrets} == {"inference of ill", "inference of wage"}
    html = report.html()
    for word in ("secretville", "secretitis"):
        assert word not in html
    assert "It does not say that the release is safe" in html
    assert attacked.words[0].partition(":")[2][:30].strip()[:10] in html


def test_bars_without_a_control_group_stand_beside_the_naive_attacker() -> None:
    release = anon.anonymize(
        people(1), SCHEMA, require=[anon.KAnonymity(5)], method=anon.Mondrian(), publish="bucketization"
    )
    attacked = anon.attack(people(1), release, attacks=["learning"])
    figures = pages.of_attacks(attacked).facts["figures"]
    assert [bar["side"] for bar in figures["How often attacks succeed"]] == [
        "people in the table",
        "naive attacker",
    ]
    assert {bar["attack"] for bar in figures["Learning of each sensitive attribute"]} == {
        "learning of ill",
        "learning of wage",
    }


def test_the_command_writes_it(tmp_path: Path) -> None:
    for name, seed in (("people", 1), ("others", 2)):
        pq.write_table(people(seed), tmp_path / f"{name}.parquet")
    release = anon.anonymize(people(1), SCHEMA, require=[anon.KAnonymity(5)])
    release.write(tmp_path / "release.parquet")
    page = tmp_path / "attacks.html"
    ask = ["attack", str(tmp_path / "people.parquet"), str(tmp_path / "release.parquet")]
    options = ["--control", str(tmp_path / "others.parquet"), "--targets", "50", "--report", str(page), "-q"]
    assert main([*ask, *options]) == 0
    assert "Report of attacks" in page.read_text()
    assert "Every attack was also tried on people who never were in the table" in page.read_text()
    page.unlink()
    cover = ["--title", "Our attacks", "--purpose", "A rehearsal", "--targets", "50", "--report", str(page)]
    assert main([*ask, *cover, "-q"]) == 0
    assert "<h1>Our attacks</h1>" in page.read_text()
    assert "A rehearsal" in page.read_text().partition("In short")[0]
    assert "Every attack was also tried" not in page.read_text()


def test_the_command_says_each_number_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pq.write_table(people(1), tmp_path / "people.parquet")
    release = anon.anonymize(people(1), SCHEMA, require=[anon.KAnonymity(5)])
    release.write(tmp_path / "release.parquet")
    ask = ["attack", str(tmp_path / "people.parquet"), str(tmp_path / "release.parquet"), "--targets", "50"]
    assert main([*ask, "--attacks", "linkability"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("release.parquet: attacks on 50 people in the table\n")
    assert shown.count("people in the table") == 3
