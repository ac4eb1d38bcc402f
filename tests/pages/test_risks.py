# SPDX-License-Identifier: Apache-2.0
"""Reports of risk and of special uniques: numbers, figures, and no value of the table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import anon
from anon import figures, pages
from anon.command.entry import main
from anon.html import rows as rows_of

TABLE = pa.table(
    {
        "age": [20, 20, 31, 32, 33, 41, 41, 77],
        "town": ["secretville"] + ["elsewhere"] * 7,
        "job": list("aabbcccd"),
    }
)
SCHEMA = anon.Schema(["age", "town", "job"])


def test_the_report_of_risk_has_its_numbers_and_no_values() -> None:
    found = anon.risk(TABLE, SCHEMA, sampling_fraction=0.1)
    report = pages.of_risk(found)
    html = report.html()
    assert "people alone in the population" in html
    assert "secretville" not in html
    assert set(report.facts["figures"]) == {
        "Individual risk of the rows",
        "Population uniques by sampling fraction",
    }
    lines = report.facts["figures"]["Population uniques by sampling fraction"]
    assert found.population_uniques is not None
    own = [
        row
        for row in lines
        if row["model"] == found.population_uniques.model and abs(row["fraction"] - 0.1) < 1e-9
    ]
    assert [row["uniques"] for row in own] == [found.population_uniques.count]
    assert {row["uniques"] for row in lines if row["fraction"] == 1} == {float(found.sample_uniques)}
    counted = pages.of_risk(anon.risk(TABLE, SCHEMA, population=TABLE))
    assert set(counted.facts["figures"]) == {"Individual risk of the rows"}


def test_the_report_of_special_uniques_tells_rows_by_number() -> None:
    found = anon.suda(TABLE, SCHEMA, sampling_fraction=0.1)
    report = pages.of_suda(found, riskiest=3)
    html = report.html()
    assert "secretville" not in html
    assert [row["row"] for row in report.facts["riskiest"]] == (found.riskiest(3)["row"].to_pylist())
    bars = report.facts["figures"]["Contribution of each quasi-identifier"]
    assert {row["attribute"]: row["percent"] for row in bars} == found.contributions


def test_risks_before_and_after_stand_in_one_figure() -> None:
    before = anon.risk(TABLE, SCHEMA, sampling_fraction=0.1)
    release = anon.anonymize(TABLE, SCHEMA, require=[anon.KAnonymity(2)])
    after = anon.risk(release.table, SCHEMA, sampling_fraction=0.1)
    rows = rows_of(figures.individual_risks({"before": before.individual, "after": after.individual}))
    for name, risk in (("before", before), ("after", after)):
        assert sum(row["rows"] for row in rows if row["table"] == name) == risk.n_rows
    assert max(row["to"] for row in rows if row["table"] == "after") < before.max


def test_the_commands_write_them(tmp_path: Path) -> None:
    path, page = tmp_path / "in.parquet", tmp_path / "page.html"
    pq.write_table(TABLE, path)
    for words in (["risk", "--sampling-fraction", "0.1"], ["suda"]):
        command, *options = words
        asked = [command, str(path), "--quasi", "age,town,job", *options, "--report", str(page), "--quiet"]
        assert main(asked) == 0
        assert "For the owner of the data alone" in page.read_text()
        page.unlink()


def test_reports_draw_the_risk_before_and_after() -> None:
    people = anon.datasets.census(3000)
    sample = people.take(np.arange(0, 3000, 10))
    schema = anon.Schema(["age", "sex", "race"])
    release = anon.anonymize(sample, schema, require=[anon.KMap(20, population=people)])
    privacy = release.privacy(population=people)
    compared = anon.compare(sample, release.table, schema, population=people)
    title = "Risk of the rows in the population"
    for page in (pages.of_release(release, privacy=privacy), pages.of_comparison(compared)):
        [*marks] = page.facts["figures"][title]
        for side in ("before", "after"):
            of_side = [mark for mark in marks if mark["table"] == side]
            assert sum(mark["rows"] for mark in of_side) == 300
            risk = anon.risk(sample if side == "before" else release.table, schema, population=people)
            for mark in of_side:
                high = risk.individual <= mark["up to"]
                assert mark["rows"] == np.count_nonzero(high & (risk.individual > mark["up to"] / 2))
        assert max(mark["up to"] for mark in marks if mark["table"] == "after") <= 1 / 16
    [*marks] = pages.of_check(anon.check(release.table, schema, population=people), release.table).facts[
        "figures"
    ][title]
    assert {mark["table"] for mark in marks} == {"after"}
