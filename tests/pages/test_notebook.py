# SPDX-License-Identifier: Apache-2.0
"""What results show of themselves in a notebook: words, figures, tables; safe, cheap, and no cell."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_figures import contrast
from test_report import EVIL, Page

import anon
from anon import datasets, figures, workload
from anon.html import Dot, Table, bars, by_size, dots, folded, histogram, number, result_html
from anon.html.figure import INK, LINES
from anon.html.small import FIRST, MOST_BARS, MOST_RANGES, SECOND
from anon.miners import CATEGORY_MINERS

SVG = "{http://www.w3.org/2000/svg}"
GROUNDS = {
    "white": "#ffffff",
    "Jupyter, dark": "#111111",
    "VS Code, dark": "#1e1e1e",
    "docs, dark": "#1f2129",
}
BAYES = [miner for miner in CATEGORY_MINERS if miner.name == "naive Bayes"]


def people(n: int = 300) -> dict[str, Any]:
    """Every value begins with a word that nothing else says; a column is called as markup is."""
    rng = np.random.default_rng(0)

    def drawn(name: str, n_values: int) -> list[str]:
        return [f"zzsecret{name}{i}" for i in rng.integers(0, n_values, n)]

    return {
        "age": rng.integers(1_717_000, 1_717_060, n),
        EVIL: drawn("a", 6),
        "town": drawn("b", 12),
        "disease": drawn("c", 4),
    }


def results() -> dict[str, Any]:
    """One of every public result."""
    table = people()
    schema = anon.Schema(["age", EVIL, "town"], ["disease"])
    require = [anon.KAnonymity(3)]
    release = anon.anonymize(table, schema, require=require, seed=1)
    means = anon.anonymize(table, schema, require=require, numeric="mean", seed=1)
    levels = {"*": {f"zzsecretnode{i}": [f"zzsecretb{j}" for j in range(12) if j % 3 == i] for i in range(3)}}
    lattice = anon.anonymize(
        table,
        anon.Schema([anon.nominal(EVIL), anon.nominal("town", levels)], ["disease"]),
        require=require,
        method=anon.FullDomain(),
    )
    queries = workload.random_queries(release.encoded, 2, 0.1, 50)
    swept = anon.frontier(table, schema, "method=mondrian k=2,5,20,400")
    scenario = anon.Scenario(
        table,
        schema,
        [anon.Sanitization("k = 5", anon.Mondrian(), [anon.KAnonymity(5)]), anon.Suppress("quasi")],
        anon.GoodUtility("disease", miners=BAYES),
        anon.BadUtility.preset("A", "disease", miners=["naive Bayes"]),
        n_folds=3,
    )
    return {
        "release": release,
        "bucketization": anon.anonymize(table, schema, method=anon.Anatomy(2), publish="bucketization"),
        "full-domain": lattice,
        "privacy": release.privacy(),
        "check": anon.check(release.table, schema, require=[anon.KAnonymity(50)], population=table),
        "utility": release.utility(),
        "comparison": anon.compare(table, release.table, schema),
        "numbers": means.utility().numbers,
        "frontier": swept,
        "point": swept.points[0],
        "point not made": swept.points[3],
        "scenario": scenario.run(),
        "risk": anon.risk(table, schema, sampling_fraction=0.1),
        "suda": anon.suda(table, schema, sampling_fraction=0.1),
        "inspection": anon.inspect(table),
        "discovery": anon.discover(table),
        "mining": anon.mining_utility(release, "disease", miners=BAYES, n_folds=3),
        "answers": workload.answer(queries, release),
        "figure": figures.class_sizes(release.classes.sizes),
    }


@pytest.fixture(scope="module")
def shown() -> Mapping[str, Any]:
    return results()


NAMES = (
    *("release", "bucketization", "full-domain", "privacy", "check", "utility", "comparison", "numbers"),
    *("frontier", "point", "point not made", "scenario", "risk", "suda", "inspection", "discovery"),
    *("mining", "answers", "figure"),
)
WITHOUT_FIGURE = ("point", "point not made")


def test_every_result_is_among_them(shown: Mapping[str, Any]) -> None:
    assert tuple(shown) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_result_shows_itself_by_words_and_a_figure(shown: Mapping[str, Any], name: str) -> None:
    html = shown[name]._repr_html_()
    page = Page(html)  # every element is closed
    assert page.words.get("p") or page.words.get("figcaption")
    drawn = [attributes for attributes in page.all("svg") if attributes.get("aria-label")]
    assert bool(page.all("svg")) == (name not in WITHOUT_FIGURE)
    assert drawn or name in (*WITHOUT_FIGURE, "figure")
    assert "<script" not in html
    assert "http" not in re.sub(r'xmlns(:xlink)?="[^"]*"', "", html)  # nothing is loaded
    assert len(html) < 40_000


@pytest.mark.parametrize("name", NAMES)
def test_no_value_of_a_table_is_shown(shown: Mapping[str, Any], name: str) -> None:
    for text in (shown[name]._repr_html_(), repr(shown[name])):
        assert "zzsecret" not in text
        assert "17170" not in text.replace(",", "")


@pytest.mark.parametrize("name", NAMES)
def test_a_result_is_a_line_of_text_in_a_console(shown: Mapping[str, Any], name: str) -> None:
    assert "\n" not in repr(shown[name])
    assert repr(shown[name]).startswith(f"{type(shown[name]).__name__}(")
    assert len(repr(shown[name])) < 250


def test_nothing_but_a_figure_needs_the_library_that_draws_them(
    shown: Mapping[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for library in ("altair", "vl_convert"):
        monkeypatch.setitem(sys.modules, library, None)
    for name in set(NAMES) - {"figure"}:
        shown[name]._repr_html_()
    html = shown["figure"]._repr_html_()
    assert "pip install" in html
    assert "<svg" not in html
    assert "Class sizes" in html


def test_a_release_is_shown_without_loading_them() -> None:
    program = (
        "import sys, anon; r = anon.anonymize({'a': [1, 2, 3, 4]}, anon.Schema(['a']), "
        "require=[anon.KAnonymity(2)]); [x._repr_html_() for x in (r, r.privacy(), r.utility())]; "
        "print('altair' in sys.modules, 'vl_convert' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


def test_a_measure_and_its_meaning_are_apart_where_styles_are_dropped(shown: Mapping[str, Any]) -> None:
    html = shown["privacy"]._repr_html_()
    assert 'l_distinct<br><span class="note">fewest distinct sensitive values in a class' in html


def test_figures_take_the_colors_of_the_page(shown: Mapping[str, Any]) -> None:
    html = shown["figure"]._repr_html_()
    assert "currentColor" in html
    assert 'fill="white"' not in html
    assert INK not in html
    assert LINES not in html


@pytest.mark.parametrize("ground", GROUNDS.values(), ids=GROUNDS)
def test_marks_can_be_told_from_every_ground(ground: str) -> None:
    assert contrast(FIRST, ground) >= 3
    assert contrast(SECOND, ground) >= 3


# By hand


def svg(html: str) -> ElementTree.Element:
    return ElementTree.fromstring(html[html.index("<svg") : html.index("</svg>") + 6])


def rects(html: str) -> list[dict[str, str]]:
    return [each.attrib for each in svg(html).iter(f"{SVG}rect")]


def words(html: str) -> list[str]:
    return [each.text or "" for each in svg(html).iter(f"{SVG}text")]


@given(st.dictionaries(st.text(min_size=1, max_size=50), st.floats(0, 1), min_size=1, max_size=30))
def test_bars_are_as_long_as_their_values(values: dict[str, float]) -> None:
    safe = {
        "".join(c for c in name if c.isprintable()) + str(i): v for i, (name, v) in enumerate(values.items())
    }
    html = bars("<b>", safe, 1)
    drawn = list(safe.values())[:MOST_BARS]
    widths = [float(rect["width"]) for rect in rects(html)]
    assert len(widths) == len(drawn)
    full = max(float(rects(bars("", {max(safe, key=len): 1.0}, 1))[0]["width"]), 1)
    longest = max(map(len, list(safe)[:MOST_BARS]))
    if longest == max(map(len, safe)) or longest >= 30:
        assert widths == pytest.approx([max(value * full, 1) for value in drawn], abs=0.1)
    assert f"… and {len(safe) - MOST_BARS} more" in words(html) or len(safe) <= MOST_BARS
    assert "&lt;b&gt;" in html


def test_bars_leave_out_what_is_not_known() -> None:
    html = bars("t", {"a": None, "b": float("nan"), "c": float("inf"), "d": 2.0, "e": 1.0}, second=["e"])
    first, second = rects(html)
    assert float(first["width"]) == pytest.approx(2 * float(second["width"]), abs=0.1)
    assert (first["fill"], second["fill"]) == (FIRST, SECOND)
    assert words(html) == ["d", "2", "e", "1"]
    assert bars("t", {"a": None}) == bars("t", {}) == histogram("t", {}, "x") == ""


@given(st.dictionaries(st.integers(1, 10**7), st.integers(1, 10**6), min_size=1, max_size=40))
def test_ranges_of_sizes_hold_every_one_once(counts: dict[int, int]) -> None:
    ranges = by_size(counts)
    assert sum(ranges.values()) == sum(counts.values())
    assert len(ranges) <= MOST_RANGES
    if max(counts) - min(counts) < MOST_RANGES:
        assert list(ranges) == [f"{size:,}" for size in range(min(counts), max(counts) + 1)]


def test_ranges_grow_with_the_sizes() -> None:
    assert by_size({}) == {}
    assert by_size({5: 10, 7: 14}) == {"5": 10, "6": 0, "7": 14}
    ranges = by_size({1: 1, 2: 4, 100: 7})
    assert list(ranges)[:4] == ["1", "2", "3", "4 (4 to 5)"]
    assert list(ranges.values())[:2] == [1, 4]
    assert list(ranges.values())[-1] == 7


def test_columns_are_as_high_as_their_counts() -> None:
    html = histogram("t", {"1": 10, "2 (2 to 3)": 5, "4": 0}, "size", ["1"])
    first, second, third = rects(html)
    assert float(first["height"]) == 2 * float(second["height"]) > 0 == float(third["height"])
    assert [each["fill"] for each in (first, second, third)] == [SECOND, FIRST, FIRST]
    assert words(html) == ["10", "1", "5", "2", "", "4", "size"]
    assert "2 (2 to 3): 5" in html


def test_dots_lie_where_their_numbers_say() -> None:
    marks = [
        Dot(0, 0, "low", joined=True),
        Dot(2, 1, "high", "knee", True),
        Dot(1, 0.5, "<i>"),
        Dot(np.inf, 1, "no"),
    ]
    html = dots("t", marks, "privacy", "utility")
    circles = [each.attrib for each in svg(html).iter(f"{SVG}circle")]
    assert len(circles) == 4  # the labelled one has a ring
    low, high, _, middle = ((float(each["cx"]), float(each["cy"])) for each in circles)
    assert middle == pytest.approx(((low[0] + high[0]) / 2, (low[1] + high[1]) / 2))
    assert low[0] < high[0]
    assert low[1] > high[1]
    [line] = svg(html).iter(f"{SVG}polyline")
    assert line.attrib["points"] == f"{low[0]},{low[1]} {high[0]},{high[1]}"
    assert [each.text for each in svg(html).iter(f"{SVG}title")] == ["low", "high", "<i>"]
    assert dots("t", marks[3:], "x", "y") == ""


def test_words_are_paragraphs_and_tables_fold() -> None:
    table = Table("T", ("a", "b"), (("x\nnote", 1),))
    page = Page(result_html("one <\ntwo", "", table, folded("more", table), folded("none")))
    assert page.words["p"] == ["one <", "two"]
    assert page.words["summary"] == ["more"]
    assert len(page.all("table")) == 2
    assert page.numbers == [("1", "1")] * 2


# What they say


def test_a_check_says_what_is_not_met(shown: Mapping[str, Any]) -> None:
    said = Page(shown["check"]._repr_html_()).words["p"]
    assert said[0] == "Not met: 50-anonymity."
    assert shown["check"].unmet == ("50-anonymity",)
    table = people(20)
    met = anon.check(table, anon.Schema(["age"]), require=[anon.KAnonymity(1)])
    assert "All that was required is met." in met._repr_html_()


def test_an_inspection_is_a_table_of_its_columns(shown: Mapping[str, Any]) -> None:
    page = Page(shown["inspection"]._repr_html_())
    assert [each for each in page.words["th"] if each in people()] == list(people())
    for column in shown["inspection"].columns:
        assert column.why in page.words["td"]
        assert column.role in page.words["td"]


def test_a_frontier_says_its_knee() -> None:
    swept = anon.frontier(datasets.census(800, 0), datasets.census_schema(), "method=mondrian k=2,5,20,100")
    html = swept._repr_html_()
    page = Page(html)
    assert swept.knee is not None
    assert swept.knee.name in page.words["p"][0]
    assert f"{len(swept.efficient)} of {len(swept.points)} releases" in page.words["p"][0]
    assert "knee" in page.words["text"]
    marks = [each.text or "" for each in svg(html).iter(f"{SVG}title")]
    for point in swept.points:
        assert any(each.startswith(f"{point.name}: ") and number(point.utility) in each for each in marks)


def test_the_risks_of_all_rows_are_drawn(shown: Mapping[str, Any]) -> None:
    html = shown["risk"]._repr_html_()
    counts = [
        float((each.text or "").rpartition(": ")[2].replace(",", ""))
        for each in svg(html).iter(f"{SVG}title")
    ]
    assert sum(counts) == 300


def test_the_lattice_is_drawn_node_by_node(shown: Mapping[str, Any]) -> None:
    lattice = shown["full-domain"].lattice
    html = shown["full-domain"]._repr_html_()
    titles = re.findall(r"<title>([^<]*)</title>", html)
    assert sum(EVIL.replace("<", "&lt;").replace(">", "&gt;") in each for each in titles) == lattice.n_nodes
    assert sum(": best" in each for each in titles) == 1
