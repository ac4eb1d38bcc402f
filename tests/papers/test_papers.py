# SPDX-License-Identifier: Apache-2.0
"""Papers by name: verdicts, the published entries, the synthetic databases, and whole quick runs."""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections import Counter
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from anon import papers
from anon.command.entry import main
from anon.command.words import print_tables, reproduction
from anon.errors import DataError, UsageError
from anon.html import Section, Table
from anon.papers import (
    Finding,
    PublishedFigure,
    Reproduction,
    Setting,
    li2009,
    sramka2010,
    srivastava2005,
)
from anon.papers.loukides2008.findings import all_agree
from anon.papers.loukides2008.printed import tables_run
from anon.scenarios.result import Antiutility, Attack, Decline, Preservation

ROOT = Path(__file__).parents[2]
PRINTED = {
    name: tomllib.loads((ROOT / "src" / "anon" / "papers" / f"{name}.toml").read_text(), parse_float=Decimal)
    for name in papers.PAPERS
}


def figure(published: int | str, measured: float) -> PublishedFigure:
    number = published if isinstance(published, int) else Decimal(published)
    return PublishedFigure("name", "what", "place", "quote", number, measured, "because", False)


# Verdicts


@pytest.mark.parametrize(
    ("published", "measured", "verdict"),
    [
        ("0.692", 0.6917416, "exact"),  # 0.692 to three digits
        ("0.0052", 0.0051302, "within 5 %"),  # 0.0051; 1.3 % less
        ("0.0003", 0.0003096, "exact"),  # 3 % more, but 0.0003 to the digits that were printed
        (45222, 45222, "exact"),
        (45222, 45221, "within 5 %"),
        (100, 105, "within 5 %"),  # the bounds belong to it
        (100, 95, "within 5 %"),
        (100, 105.01, "within 10 %"),
        ("0.10", 0.11, "within 10 %"),
        ("0.10", 0.09, "within 10 %"),
        ("0.05", 0.0437, "differs"),  # rounds to 0.04
        (0, 0.0, "exact"),
        (0, 1.0, "differs"),
    ],
)
def test_verdicts(published: int | str, measured: float, verdict: str) -> None:
    assert figure(published, measured).verdict == verdict


def test_what_was_drawn_may_lie_anywhere_between_the_draws() -> None:
    def drawn(low: float, high: float) -> str:
        return replace(figure(1341, 1000), drawn=(low, high)).verdict

    assert drawn(900, 1341) == drawn(1341, 2000) == "within draws"
    assert drawn(900, 1340) == drawn(1342, 2000) == "differs"
    assert replace(figure(100, 104), drawn=(104, 105)).verdict == "within 5 %"


def test_findings_are_grouped_by_what_makes_them_fail() -> None:
    def finding(name: str, held: bool, cause: Any = None) -> Finding:
        return Finding(name, "place", name, "test", held, {"n": 1}, "why", cause)

    made = [finding("one", True), finding("two", False, "chance"), finding("three", False)]
    told = Reproduction("li2009", "Title", "Source", (), False, 1.0, (), tuple(made), ())._sentences()
    assert {table.title: [row[0] for row in table.rows] for table in told} == {
        "Sentences that are reproduced": ["“one”"],
        "Sentences that are not: chance": ["“two”"],
        "Sentences that are not": ["“three”"],
    }
    assert [entry.to_dict()["cause"] for entry in made] == [None, "chance", None]


def test_other_readings_stand_beside_each_figure(capsys: pytest.CaptureFixture[str]) -> None:
    read = replace(figure(10, 12), readings={"read otherwise": 11.5})
    plain = replace(figure(10, 20), name="other")
    made = Reproduction("li2009", "Title", "Source", (), False, 1.0, (read, plain), (), ())
    assert made.readings == ("read otherwise",)
    assert [entry["readings"] for entry in made.to_dict()["figures"]] == [{"read otherwise": 11.5}, {}]
    assert "read otherwise" in made.html()
    assert "11.5" in made.html()
    print_tables(*reproduction(made, []))
    shown = capsys.readouterr().out
    assert re.search(r"read otherwise", shown)
    assert re.search(r"what +10 +12 +differs +11\.5", shown)


def test_a_reason_is_given_where_something_differs_only() -> None:
    exact, differs = figure(10, 10).to_dict(), figure(10, 20).to_dict()
    assert (exact["ratio"], exact["why"]) == (1.0, "")
    assert (differs["ratio"], differs["why"]) == (2.0, "because")
    assert figure(0, 1.0).to_dict()["ratio"] is None
    agreeing, failed = (
        Finding("n", "p", "q", "t", h, {"x": float("inf")}, "because").to_dict() for h in (True, False)
    )
    assert (agreeing["why"], failed["why"]) == ("", "because")
    assert agreeing["numbers"] == {"x": "inf"}


# What the papers printed


@pytest.mark.parametrize("paper", papers.PAPERS)
def test_every_entry_is_quoted_with_its_place(paper: str) -> None:
    printed = PRINTED[paper]
    assert set(printed) == {"title", "source", "adult", "notes", "figures", "findings"}
    assert all(isinstance(note, str) for note in printed["notes"])
    wanted = {
        "figures": {"what", "published", "by_data", "place", "quote"},
        "findings": {"place", "quote", "test"},
    }
    for kind, keys in wanted.items():
        more = {"why"} if kind == "figures" else {"why", "cause"}
        for name, entry in printed[kind].items():
            assert keys <= set(entry) <= keys | more, name
            assert all(entry[key] != "" for key in entry), name
            assert kind == "figures" or ("why" in entry) == ("cause" in entry), name
            assert entry.get("cause", papers.Cause.__args__[0]) in papers.Cause.__args__, name


@pytest.mark.parametrize("paper", papers.PAPERS)
def test_a_published_number_stands_in_its_quote(paper: str) -> None:
    for name, entry in PRINTED[paper]["figures"].items():
        words = entry["quote"].replace(",", "")
        assert re.search(rf"(?<![\d.]){re.escape(str(entry['published']))}(?!\d)", words), name


def test_li_and_li_printed_fourteen_shares_that_sum_to_one() -> None:
    figures = PRINTED["li2009"]["figures"]
    assert sum(figures[name]["published"] for name in li2009.ADULT_OCCUPATIONS) == 1


# The parts


def test_a_curve_is_better_by_its_mean_height_over_the_common_range() -> None:
    def points(*pairs: tuple[float, float]) -> list[li2009.Point]:
        return [li2009.Point("", 0.0, "generalization", 1, p, u, {}) for p, u in pairs]

    # over P_loss 0.2 .. 0.6 the first is flat at 1, the other falls from 3 to 1
    ours, theirs = points((0.0, 1.0), (0.6, 1.0)), points((0.2, 3.0), (0.6, 1.0), (0.8, 0.0))
    mean, share = li2009._advantage(ours, theirs)
    assert mean == pytest.approx(1.0)
    assert share == pytest.approx(200 / 201)  # they meet at the last of 201 places
    assert li2009._advantage(theirs, ours)[0] == pytest.approx(-1.0)


def test_the_micro_tables_of_loukides_and_shao() -> None:
    figures, findings, tables = tables_run(Setting())
    assert figures["q1-tuples"] == 3
    assert figures["sd-g1"] == pytest.approx(1 / 3)
    assert figures["sd-g2"] == pytest.approx(11 / 15)
    assert all(agrees for agrees, _ in findings.values())
    # Q1 on [10, 30] x [20, 30]: 5 of 21 ages, 6 of 11 postcodes, 3 rows
    (asked,) = next(table.rows for table in tables if table.title.startswith("Query"))
    assert asked == (pytest.approx(3 * 5 / 21 * 6 / 11), 0, 3)


def test_a_finding_is_told_of_both_variants_of_tgc() -> None:
    rows = [
        {"method": name, "k": k, "UM": um}
        for k in (2, 5)
        for name, um in (("Mondrian", 2.0), ("TGCB", 1.0 + k / 10), ("TGCB as printed", 1.0 + k / 4))
    ]
    agrees, numbers = all_agree(rows, (2, 5), "UM", ["TGCB", "Mondrian"], lambda v: v["TGCB"] < v["Mondrian"])
    assert agrees
    assert numbers == {
        "k = 2": {"TGCB": 1.2, "Mondrian": 2.0},
        "k = 5": {"TGCB": 1.5, "Mondrian": 2.0},
        "held by the algorithm as printed": False,  # 2.25 at k = 5
    }


def test_rank_correlation() -> None:
    assert papers.rank_correlation([1, 2, 3], [10, 100, 1000]) == pytest.approx(1)
    assert papers.rank_correlation([1, 2, 3], [3, 2, 1]) == pytest.approx(-1)
    # ranks 1 2 3 4 and 2 1 4 3: 1 - 6 * 4 / (4 * 15)
    assert papers.rank_correlation([1, 2, 3, 4], [5, 4, 9, 6]) == pytest.approx(0.6)


def test_numbers_of_a_finding_become_a_table() -> None:
    numbers = {"k = 2": {"a": 1.0, "b": 2.0}, "k = 5": {"b": 3.0, "c": [1, 2]}, "spread": 4.0}
    finding = Finding("n", "p", "quote", "t", True, numbers, "")
    table = papers._numbers(finding)
    assert finding.detailed
    assert table.header == ("quote", "a", "b", "c")
    assert table.rows == (
        ("k = 2", 1.0, 2.0, None),
        ("k = 5", None, 3.0, "1, 2"),
        ("spread", 4.0, None, None),
    )


def test_a_reason_is_told_once_where_rows_share_it() -> None:
    assert papers._once(["", "a", "a", "", "a", "b", "a"]) == ["", "a", "as above", "", "as above", "b", "a"]


# The synthetic databases


def test_donations_have_the_shape_of_the_slides() -> None:
    table = srivastava2005.donations(20_000)
    assert table.equals(srivastava2005.donations(20_000))
    assert table.num_rows == 20_000
    assert not table.equals(srivastava2005.donations(20_000, seed=1))
    pairs = set(zip(table["zip"].to_pylist(), table["state"].to_pylist(), strict=True))
    assert max(Counter(code for code, _ in pairs).values()) == 1  # ZIP -> state
    employed = [
        (company, state)
        for company, state in zip(table["company"].to_pylist(), table["state"].to_pylist(), strict=True)
        if company not in srivastava2005.OCCUPATIONS
    ]
    by_company = Counter(company for company, _ in employed)
    main_state = Counter[str]()
    for (company, _), n in Counter(employed).items():
        main_state[company] = max(main_state[company], n)
    often = [company for company, n in by_company.items() if n >= 5]
    assert sum(main_state[c] for c in often) > 0.8 * sum(by_company[c] for c in often)  # company -> state
    assert 0.3 < 1 - len(employed) / 20_000 < 0.4


def test_visits_have_the_shape_of_the_slides() -> None:
    table = srivastava2005.visits(srivastava2005.N_VISITS)
    assert table.num_rows == 29_102
    assert srivastava2005._n_distinct(table, srivastava2005.VISIT_QUASI) == 9_678
    assert pc.min_max(table["month"]).as_py() == {"min": 1, "max": 12}
    assert pc.max(table["year"]).as_py() == 1973
    assert set(pc.unique(table["region"]).to_pylist()) == {"NC", "NE", "S", "W"}


def test_rows_alone_in_their_combination_take_that_of_others() -> None:
    # a b c d e are 5 combinations, of which b and d have two rows; a and c, the first alone, take those
    table = pa.table({"q": list("abbcdde"), "s": range(7)})
    repeating = srivastava2005._repeating(table, ["q"], 3)
    assert repeating["q"].to_pylist() == list("bbbddde")
    assert repeating["s"].to_pylist() == list(range(7))
    assert srivastava2005._repeating(table, ["q"], 9).equals(table)


# Whole runs


def check_document(document: dict[str, Any], paper: str) -> None:
    assert document["paper"] == paper
    assert document["quick"] is True
    verdicts = Counter(entry["verdict"] for entry in document["figures"])
    counted = {name: n for name, n in document["verdicts"].items() if name not in ("held", "not held")}
    assert counted == {name: verdicts[name] for name in counted}
    n_held = sum(entry["held"] for entry in document["findings"])
    assert (document["verdicts"]["held"], document["verdicts"]["not held"]) == (
        n_held,
        len(document["findings"]) - n_held,
    )
    assert {entry["name"] for entry in document["figures"]} == set(PRINTED[paper]["figures"])
    assert [entry["quote"] for entry in document["findings"]] == [
        entry["quote"] for entry in PRINTED[paper]["findings"].values()
    ]
    assert all(entry["why"] for entry in document["figures"] if entry["verdict"] != "exact")
    assert all(bool(entry["why"]) != entry["held"] for entry in document["findings"])
    assert all(rows for rows in document["charts"].values())


def held(document: dict[str, Any], *names: str) -> bool:
    by_name = {entry["name"]: entry["held"] for entry in document["findings"]}
    return all(by_name[name] for name in names)


@pytest.fixture(scope="module")
def slides(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a quick run of the paper that needs no data."""
    folder = tmp_path_factory.mktemp("papers") / "made"
    assert main(["reproduce", "srivastava2005", "--quick", "-o", str(folder)]) == 0
    assert sorted(path.name for path in folder.iterdir()) == ["srivastava2005.html", "srivastava2005.json"]
    return folder


def test_the_slides_run_from_the_command(slides: Path) -> None:
    document = json.loads((slides / "srivastava2005.json").read_text())
    check_document(document, "srivastava2005")
    assert document["verdicts"]["exact"] == 4
    assert held(document, "company-first", "company-disaster", "size-misleads", "state-benefit")
    rows = document["charts"]["Donations (synthetic): selection, state"]
    assert {row["heuristic"] for row in rows} == set(srivastava2005.HEURISTICS)
    page = (slides / "srivastava2005.html").read_text()
    assert "SYNTHETIC DATA" in page
    assert "A quick run on samples" in page
    assert "Eight classes of a release" in page


def test_a_run_depends_on_nothing_but_its_seed(slides: Path) -> None:
    again = papers.reproduce("srivastava2005", quick=True, n_threads=1).to_dict()
    first = json.loads((slides / "srivastava2005.json").read_text())
    assert json.loads(json.dumps(again)) | {"seconds": 0} == first | {"seconds": 0}


def test_progress_is_told_stage_by_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[str, int, int]] = []
    setting = Setting(progress=lambda *call: calls.append(call))
    table = srivastava2005.visits(500)
    srivastava2005._sweep(
        setting, "visits", table, srivastava2005._visit_roles(), {"years": ("year",)}, (5, 10), {}
    )
    assert calls == [("visits", 0, 2), ("visits", 1, 2), ("visits", 2, 2)]


@pytest.mark.adult
def test_li_and_li_run_by_the_command_of_the_page(adult_dir: Path, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "papers.md").read_text()
    (first,) = (command.split() for command in re.findall(r"```sh\n(.*?)\n```", page))
    (second,) = (command.split() for command in re.findall(r"`(anon reproduce li2009 [^`]*)`", page))
    assert first == ["anon", "reproduce", "srivastava2005", "--quick", "-o", "papers"]  # as in the fixture
    words = [{"DIR": str(adult_dir), "papers": str(tmp_path)}.get(word, word) for word in second]
    assert main([*words[1:], "--quick"]) == 0
    document = json.loads((tmp_path / "li2009.json").read_text())
    check_document(document, "li2009")
    figures = {entry["name"]: entry for entry in document["figures"]}
    differ = {name for name, entry in figures.items() if entry["by_data"] and entry["verdict"] != "exact"}
    assert differ == {"Priv-house-serv"}  # printed 0.0052; 232 / 45,222 = 0.00513
    assert figures["Priv-house-serv"]["measured"] == 232 / 45_222
    assert figures["best-revealed"]["verdict"] == figures["worst-revealed"]["verdict"] == "exact"
    assert held(document, "trivial-p-loss", "intact-u-loss", "revealed-range", "t-best")


@pytest.mark.adult
def test_loukides_and_shao_run_on_a_sample(adult_dir: Path) -> None:
    document = papers.reproduce("loukides2008", adult=adult_dir, quick=True).to_dict()
    check_document(document, "loukides2008")
    assert document["verdicts"]["exact"] == len(document["figures"]) == 6
    assert held(document, "table-3", "table-4", "um-p-poor", "dm-low", "pm-p")
    assert len(document["charts"]) == 16  # figures 5 to 20


# Sramka et al. 2010


def attacks_of(worst: dict[str, tuple[float, ...]]) -> dict[tuple[str, str], Attack]:
    """One miner for each scenario and way; `worst[scenario]` in the order of the ways."""
    return {
        (scenario, way): Attack(way, "age", scenario, 0.0, (Antiutility("ZeroR", "baseline", u, int(u)),))
        for scenario, values in worst.items()
        for way, u in zip(sramka2010.WAYS, values, strict=True)
    }


def users_of(*deltas: float) -> dict[str, Preservation]:
    """Three miners that were right 1,000 times; the first loses the share of them that is given."""
    return {
        way: Preservation(
            way,
            "salary-class",
            tuple(
                Decline(miner, "family", 1000.0, 1000.0 * (1 - delta if i == 0 else 1.01))
                for i, miner in enumerate(sramka2010.USERS.values())
            ),
        )
        for way, delta in zip(sramka2010.WAYS, deltas, strict=True)
    }


def test_sramka_and_others_printed_declines_that_follow_from_their_counts() -> None:
    figures = PRINTED["sramka2010"]["figures"]
    for way in sramka2010.WAYS:
        kept = [
            figures[f"{miner}, {way}"]["published"] / Decimal(figures[f"{miner}, original"]["published"])
            for miner in sramka2010.USERS
        ]
        assert round(100 * (1 - min(kept)), 2) == figures[f"decline, {way}"]["published"]
    assert len(figures) == 4 + 27 + 8 + 8 + 3 + 48 + 16


def test_what_users_keep_is_told_by_the_greatest_decline() -> None:
    findings = sramka2010._about_users(users_of(0.01, 0.02, 0.03, 0.0468, 0.0187, 0.01, 0.01, 0.012))
    assert all(agrees for agrees, _ in findings.values())
    assert findings["some-higher"][1]["random forest, k = 2"] == pytest.approx(10)
    findings = sramka2010._about_users(users_of(0.01, 0.01, 0.03, 0.05, 0.02, 0.03, 0.04, 0.06))
    assert [name for name, (agrees, _) in findings.items() if agrees] == ["some-higher"]


def test_what_adversaries_gain_is_told_scenario_by_scenario() -> None:
    users = users_of(0.01, 0.02, 0.03, 0.04, 0.01, 0.01, 0.01, 0.01)
    as_printed = {
        "A": (630, 322, 185, 77, 44383, 44729, 44741, 44729),
        "B": (0, 0, 0, 0, 1341, 943, 780, 608),
        "C": (389, 199, 121, 57, 2242, 2261, 2261, 2261),
    }
    attacks = attacks_of(as_printed)
    findings = sramka2010._about_adversaries(attacks, attacks, users, 45_222)
    assert all(agrees for agrees, _ in findings.values())
    # of 45,222 rows 44,383 and 44,729 have at least 43,890 in common
    assert findings["same-population"][1]["ε = 0.5 and ε = 0.1"] == pytest.approx(43_890 / 45_222)
    # ε = 0.5 is the best of the four in A and C and the worst in B
    turned = findings["no-general-statement"][1]
    assert turned["ε = 0.5 and ε = 0.1"] == [44383, 44729, 1341, 943, 2242, 2261]
    assert "k = 2 and k = 10" not in turned  # equal in B
    other = {
        "A": (10, 20, 30, 40, 25, 50, 60, 70),
        "B": (1, 2, 3, 4, 5, 6, 7, 8),
        "C": (10, 20, 30, 40, 41, 50, 60, 70),
    }
    attacks = attacks_of(other)
    findings = sramka2010._about_adversaries(attacks, attacks, users, 100)
    assert {name: agrees for name, (agrees, _) in findings.items() if agrees} == {
        "no-general-statement": True
    }


def test_gains_must_rise_at_every_k() -> None:
    def gains(*filled: float) -> dict[tuple[str, str], Attack]:
        return {
            ("A", way): Attack(way, "age", "A", 0.0, (), None, 0.2, 0.1, 0.3, acc)
            for way, acc in zip(sramka2010.BY_K, filled, strict=True)
        }

    assert sramka2010._about_gains(gains(0.2, 0.2, 0.2, 0.11))["gains-higher"][0]
    assert not sramka2010._about_gains(gains(0.2, 0.2, 0.2, 0.1))["gains-higher"][0]


@pytest.mark.adult
def test_sramka_and_others_run_on_a_sample(adult_dir: Path) -> None:
    document = papers.reproduce("sramka2010", adult=adult_dir, quick=True).to_dict()
    check_document(document, "sramka2010")
    figures = {entry["name"]: entry for entry in document["figures"]}
    assert all(entry["verdict"] == "exact" for entry in figures.values() if entry["by_data"])
    assert sum(entry["by_data"] for entry in figures.values()) == 9  # rows, eight declines
    assert figures["chosen rows"]["measured"] == 100  # 5 % of 2,000
    assert figures["decline in the text, k-anonymity"]["measured"] == pytest.approx(4.68, abs=0.005)
    assert held(document, "binary", "at-least-k", "nothing-suppressed", "maximal", "k-never-exact")
    # always the more frequent salary is right in 1,512 of the 2,000 rows drawn, or near it
    (most, _) = document["tables"]["Salary"]["rows"]
    assert most[0] == "<=50K"
    assert all(figures[f"J48, {way}"]["measured"] > 0.9 * most[1] for way in sramka2010.WAYS)
    assert all(figures[f"A worst, {way}"]["measured"] > 1_500 for way in sramka2010.BY_EPSILON)
    assert len(document["charts"]) == 6


@pytest.mark.slow
@pytest.mark.adult
@pytest.mark.parametrize("paper", papers.PAPERS)
def test_whatever_differs_in_a_full_run_has_a_reason(paper: str, adult_dir: Path) -> None:
    reproduced = papers.reproduce(paper, adult=adult_dir)
    assert not [one.name for one in reproduced.figures if one.verdict != "exact" and not one.why]
    assert not [one.name for one in reproduced.findings if not one.held and not one.why]


# The command


def test_json_on_stdout_holds_each_paper(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = []

    def fake(paper: str, **options: Any) -> Reproduction:
        made.append((paper, options["adult"], options["quick"]))
        return Reproduction(paper, "Title", "Source", (), True, 1.0, (figure(10, 20),), (), ())

    monkeypatch.setattr(papers, "reproduce", fake)
    words = ["reproduce", "all", "--quick", "--adult", str(tmp_path), "-o", str(tmp_path / "out"), "--json"]
    assert main(words) == 0
    document = json.loads(capsys.readouterr().out)
    assert tuple(document) == ("audience", "papers")
    printed = document["papers"]
    assert tuple(printed) == papers.PAPERS
    assert printed["li2009"]["files"] == [
        str(tmp_path / "out" / f"li2009.{kind}") for kind in ("json", "html")
    ]
    assert printed["li2009"]["verdicts"]["differs"] == 1
    assert made == [(paper, str(tmp_path), True) for paper in papers.PAPERS]


def test_what_differs_is_printed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    failed = Finding("n", "section 1", "All swans are white", "one black", False, {}, "Australia")
    whole = Reproduction("li2009", "Title", "Source", (), False, 1.0, (figure(10, 20),), (failed,), ())
    monkeypatch.setattr(papers, "reproduce", lambda paper, **options: whole)
    assert main(["reproduce", "li2009", "--adult", str(tmp_path), "-o", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert re.search(r"what +10 +20 +differs", out)
    assert "All swans are white" in out
    assert "Australia" in (tmp_path / "li2009.html").read_text()


def test_a_paper_that_cannot_run_is_refused_before_any_work(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "out"
    assert main(["reproduce", "brickell1999", "-o", str(folder)]) == 2
    assert "the papers are li2009, brickell2008" in capsys.readouterr().err
    assert main(["reproduce", "all", "-o", str(folder)]) == 2
    assert "--adult" in capsys.readouterr().err
    assert main(["reproduce", "li2009", "--adult", str(tmp_path), "-o", str(folder)]) == 2
    assert "adult.data not found" in capsys.readouterr().err
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "sklearn", None)
        assert main(["reproduce", "srivastava2005", "-o", str(folder)]) == 2
    assert "pip install 'anon[eval]'" in capsys.readouterr().err
    assert not folder.exists()
    folder.write_text("mine")
    assert main(["reproduce", "srivastava2005", "-o", str(folder)]) == 2
    assert "is a file" in capsys.readouterr().err
    assert folder.read_text() == "mine"


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    taken = tmp_path / "file"
    taken.write_text("mine")
    whole = Reproduction("li2009", "Title", "Source", (), False, 1.0, (), (), ())
    with pytest.raises(DataError, match="cannot write to"):
        whole.write(taken)
    assert taken.read_text() == "mine"


def test_names_that_do_not_match_are_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(srivastava2005, "run", lambda setting: papers.Results({}, {}, ()))
    with pytest.raises(AssertionError, match="different names"):
        papers.reproduce("srivastava2005")
    with pytest.raises(UsageError, match="no paper"):
        papers.reproduce("nobody")


def test_a_sample_is_the_same_each_time() -> None:
    table = pa.table({"x": np.arange(100)})
    quick, full = Setting(quick=True), Setting()
    assert full.sample(table, 10).num_rows == 100
    assert quick.sample(table, 100).num_rows == 100
    drawn = quick.sample(table, 10)["x"].to_pylist()
    assert drawn == sorted(set(drawn)) == quick.sample(table, 10)["x"].to_pylist()
    assert len(drawn) == 10


def test_numbers_that_json_lacks_are_written(tmp_path: Path) -> None:
    table = Table("Ratios", ("of", "ratio"), (("a", float("nan")), ("b", float("inf"))))
    sections = (Section("s", (), (table,)),)
    path, _ = Reproduction("paper", "A paper", "its source", (), False, 0.0, (), (), sections).write(tmp_path)
    assert json.loads(path.read_text())["tables"]["Ratios"]["rows"] == [["a", None], ["b", "inf"]]
