# SPDX-License-Identifier: Apache-2.0
"""The numbers of docs/security.md are those that `limits` measures."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pytest

import anon
from attacks.limits import ROWS, lines

PAGE = (Path(__file__).parents[2] / "docs" / "security.md").read_text()
SLACK = 0.05  # of what depends on Anatomy's deal: its deviation is 0.006 at this size


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


@pytest.mark.filterwarnings("ignore:column .* is neutral:anon.PrivacyWarning")
def test_the_page_tells_what_is_measured() -> None:
    written = {cells(line)[0]: cells(line)[1:] for line in PAGE.splitlines() if line.startswith("| ")}
    measured = {cells(line)[0]: cells(line)[1:] for line in lines(ROWS)}
    assert f"{ROWS:,} people" in PAGE
    for what, (promised, number) in measured.items():
        assert written[what][0] == promised, what
        if what.startswith("learning"):
            printed, share = (float(each.rstrip("%")) / 100 for each in (written[what][1], number))
            assert abs(printed - share) <= SLACK, what
            assert share > 1.5 * float(promised.rstrip("%")) / 100, "an attack that has stopped to work"
        else:
            assert written[what][1] == number, what


def test_the_text_repeats_the_table() -> None:
    """Shares named in the paragraphs under the table are those of the table."""
    of_table = {
        cells(line)[2] for line in PAGE.splitlines() if re.match(r"\| .* \| \d+%? \| \d+%? \|$", line)
    }
    text = PAGE.partition("**Learning across buckets.**")[2].partition("**That nobody learns")[0]
    named = {each.replace(" ", "") for each in re.findall(r"\d+ %", text)}
    assert named
    assert named <= of_table


def test_what_everybody_of_a_class_has_is_not_bounded_over_persons() -> None:
    """The page's words on pairs of person and value: all have both values, and l = 2 holds."""
    table = pa.table({"age": [30] * 4 + [60] * 4, "pid": list("aabbccdd"), "d": ["flu", "hiv"] * 4})
    schema = anon.Schema(["age"], ["d"], unit="pid")
    require = [anon.KAnonymity(2), anon.LDiversity(2)]
    release = anon.anonymize(table, schema, require=require, method=anon.Mondrian())
    privacy = release.privacy()
    assert (privacy.k, privacy.units.k if privacy.units else None, privacy.l_probabilistic) == (4, 2, 2)
    assert "pairs of person and value, not the share of the persons who have s" in " ".join(PAGE.split())
