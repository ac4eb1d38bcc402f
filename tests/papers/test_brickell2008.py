# SPDX-License-Identifier: Apache-2.0
"""Brickell & Shmatikov 2008: the parts by hand, and a whole quick run."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from test_papers import check_document, held
from test_utility import release_of

import anon
from anon import papers
from anon.papers import Setting
from anon.papers.brickell2008.coins import about_coins, information, learned_of_coins, three_coins
from anon.papers.brickell2008.findings import diverse_and_private, merged_delta, on_two_values

COINS = three_coins()


def test_information_by_hand() -> None:
    # t is x in 3 of 4 rows; g = a says x for sure (2 rows), g = b leaves one bit open (2 rows)
    columns = {"t": list("xxxy"), "g": list("aabb")}
    entropy = -(3 / 4 * math.log2(3 / 4) + 1 / 4 * math.log2(1 / 4))
    assert information(columns, "t", "g") == pytest.approx(entropy - 1 / 2)
    assert information(columns, "t", "t") == pytest.approx(entropy)


def test_the_artificial_table() -> None:
    rows = set(zip(*COINS.values(), strict=True))
    assert len(rows) == 8
    for a1, a2, a3, a4, a5 in rows:
        r1, r2, r3 = int(a1), int(a2), int(a3[1])
        assert (a3, int(a4), int(a5)) == (f"{a2}{r3}", r1 ^ r3, r1 ^ r2)


def test_sentences_about_the_artificial_table() -> None:
    findings = about_coins(COINS)
    # a5 = a1 xor a2 from Q alone
    failed = {name for name, (fine, _) in findings.items() if not fine}
    assert failed == {"coins-no-sensitive", "coins-joint"}


def test_zero_closeness_suppresses_what_the_paper_suppresses() -> None:
    table = learned_of_coins(Setting(), COINS)
    rows = {row[0]: dict(zip(table.header, row, strict=True)) for row in table.rows}
    assert {row["suppressed"] for row in rows.values()} == {"a2"}
    assert {row["a2 suppressed"] for row in rows.values()} == {100}
    assert {row["A_acc"] for row in rows.values()} == {0}
    assert rows["a3"]["Q suppressed"] == pytest.approx(50, abs=10)


def test_classes_merged_in_pairs() -> None:
    table = {"q": [0] * 4 + [1] * 4 + [2] * 4, "s": list("xxxyxyyyxxyy")}
    release = release_of(table, ["q"], [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]], ["s"])
    # x has half of the table; of the first class and the last it has 5 of 8, y 3 of 8
    assert merged_delta(release) == pytest.approx(math.log(4 / 3))
    whole = anon.anonymize(table, anon.Schema(["q"], ["s"]), method=anon.Suppress("quasi"))
    assert merged_delta(whole) == 0


def test_diversity_and_disclosure_have_nothing_to_do_with_each_other() -> None:
    fine, numbers = diverse_and_private(Setting())
    assert fine
    # 30 % against 1 %; the class of 30 has 21 < 3 * 9, that of 100 has 99 > 3 * 1
    assert numbers["30 % rare"] == {"l at c = 3": 2, "A_diff": pytest.approx(0.29)}
    assert numbers["1 % rare"] == {"l at c = 3": 1, "A_diff": 0}
    assert on_two_values(Setting()) == (True, {"most diverse": 2, "greatest k": 1000})


@pytest.mark.adult
def test_a_run_on_a_sample(adult_dir: Path) -> None:
    document = papers.reproduce("brickell2008", adult=adult_dir, quick=True).to_dict()
    check_document(document, "brickell2008")
    figures = {entry["name"]: entry for entry in document["figures"]}
    assert len(figures) == 62
    by_data = {name for name, entry in figures.items() if entry["by_data"]}
    assert len(by_data) == 18
    assert {figures[name]["verdict"] for name in by_data} == {"exact"}
    assert figures["Marital, adversary"]["measured"] == pytest.approx(100 * 21_055 / 45_222)
    assert held(document, "lemma-1", "emd", "independence", "acc-underestimates", "monotone", "large-quasi")
    assert len(document["charts"]) == 4  # figures 1 to 4
    names = [
        row["sanitization"]
        for row in document["charts"]["Figure 2: learning the sensitive attribute (occupation)"]
    ]
    assert list(dict.fromkeys(names))[:5] == ["intact", "k = 10", "k = 100", "k = 1000", "l = 2"]
