# SPDX-License-Identifier: Apache-2.0
"""What results show of themselves in a notebook: words, figures, tables; safe, cheap, and no cell."""

from __future__ import annotations

import re
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
from anon.html import Table, bar_figure, folded, number, result_html
from anon.html.inline import COLORS
from anon.html.notebook import MOST_BARS
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
    found = scenario.run()
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
        "scenario": found,
        "preservation": found.good[0],
        "attack": found.bad[0],
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
    *("frontier", "point", "point not made", "scenario", "preservation", "attack"),
    *("risk", "suda", "inspection", "discovery", "mining", "answers", "figure"),
)
WITHOUT_FIGURE = ("point", "point not made")


def test_every_result_is_among_them(shown: Mapping[str, Any]) -> None:
    assert tuple(shown) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_result_shows_itself_by_words_and_a_figure(shown: Mapping[str, Any], name: str) -> None:
    html = shown[name]._repr_html_()
    page = Page(html)  # every element is closed
    assert page.words.get("p") or page.words.get("figcaption")
    assert bool(page.all("svg")) == (name not in WITHOUT_FIGURE)
    assert all(attributes["aria-label"] for attributes in page.all("svg"))
    assert "<script" not in html
    assert "http" not in re.sub(r'xmlns(:xlink)?="[^"]*"', "", html)  # nothing is loaded
    assert len(html) < 60_000


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


def test_a_measure_and_its_meaning_are_apart_where_styles_are_dropped(shown: Mapping[str, Any]) -> None:
    html = shown["privacy"]._repr_html_()
    assert 'l_distinct<br><span class="note">fewest distinct sensitive values in a class' in html


@pytest.mark.parametrize("name", NAMES)
def test_figures_need_no_style_sheet_and_follow_the_page(shown: Mapping[str, Any], name: str) -> None:
    for drawn in re.findall("<svg.*?</svg>", shown[name]._repr_html_(), re.DOTALL):
        assert " class=" not in drawn
        known = {*COLORS, "none", "currentColor"}
        assert {color for _, color in re.findall(r' (fill|stroke)="([^"]*)"', drawn)} <= known


@pytest.mark.parametrize("ground", GROUNDS.values(), ids=GROUNDS)
def test_marks_can_be_told_from_every_ground(ground: str) -> None:
    assert min(contrast(color, ground) for color in COLORS if color != "currentColor") >= 3


# By hand


@given(st.lists(st.floats(0, 1) | st.none() | st.just(float("nan")), max_size=30))
def test_bars_are_as_long_as_their_values(values: list[float | None]) -> None:
    figure = bar_figure("<b>", {f"name {i:02}": value for i, value in enumerate(values)}, high=1)
    known = [value for value in values if value is not None and value == value]
    if figure is None:
        assert not known
        return
    html = figure._repr_html_()
    drawn = ElementTree.fromstring(html[html.index("<svg") : html.index("</svg>") + 6])
    widths = [float(rect.attrib["width"]) for rect in drawn.iter(f"{SVG}rect")]
    assert len(widths) == min(len(known), MOST_BARS) == len(figure.rows)
    whole = widths[0] / known[0] if known[0] > 0.1 else None
    for width, value in zip(widths, known, strict=False):
        assert whole is None or width == pytest.approx(max(value * whole, 0.5), abs=1.5)
    assert (f"of {len(known)}" in figure.caption) == (len(known) > MOST_BARS)
    assert "&lt;b&gt;" in html


def test_words_are_paragraphs_and_tables_fold() -> None:
    table = Table("T", ("a", "b"), (("x\nnote", 1),))
    page = Page(result_html("one <\ntwo", "", None, table, folded("more", table), folded("none")))
    assert "".join(page.words["p"]) == "one <two"
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
        assert column.why in page.words["span"]
        assert column.role in page.words["td"]


def test_a_frontier_says_its_knee() -> None:
    swept = anon.frontier(datasets.census(800, 0), datasets.census_schema(), "method=mondrian k=2,5,20,100")
    html = swept._repr_html_()
    page = Page(html)
    assert swept.knee is not None
    assert swept.knee.name in page.words["p"][0]
    assert f"{len(swept.efficient)} of {len(swept.points)} releases" in page.words["p"][0]
    assert f">knee: {swept.knee.name}<" in html
    for point in swept.points:
        assert any(point.name in each and number(point.utility) in each for each in page.tips)


def test_the_lattice_is_drawn_node_by_node(shown: Mapping[str, Any]) -> None:
    tips = Page(shown["full-domain"]._repr_html_()).tips
    states = [each for each in tips if each.startswith("levels: ")]
    best = " ".join(map(str, shown["full-domain"].levels))
    assert {each.split(",")[0] for each in states if "state: best" in each} == {f"levels: {best}"}
    assert len({each.split(",")[0] for each in states}) == shown["full-domain"].lattice.n_nodes
