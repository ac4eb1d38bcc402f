# SPDX-License-Identifier: Apache-2.0
"""The reports: a page that is safe, whole and accessible, whose every number is in the command's JSON."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import shlex
import sys
import warnings
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_figures import contrast

import anon
from anon import datasets, figures, pages
from anon.choice import tables
from anon.command.entry import main
from anon.html import First, Section, Table, Term, number, page, svg
from anon.html.document import _DARK, _LIGHT, table_html
from anon.pages.decision import facts_of
from anon.pages.origin import Origin
from anon.pages.terms import SCENARIO_TERMS, terms_of
from anon.release.columns import NOTES_ON_BUCKETS

EVIL = "<script>alert(1)</script>"
DOCS = Path(__file__).parents[2] / "docs"
STYLE = (Path(anon.html.__file__).parent / "page.css").read_text()


class Page(HTMLParser):
    """The elements of a page, its text, and what its `data` elements say."""

    VOID = ("meta", "link", "img", "br")

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.open: list[str] = []
        self.text: list[str] = []
        self.tips: list[str] = []
        self.numbers: list[tuple[str, str]] = []
        self.words: dict[str, list[str]] = {}
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attributes}))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, text: str) -> None:
        attributes = self.elements[-1][1] if self.elements else {}
        if "svg" in self.open:  # of its words the numbers on marks are told; on axes they are round ones
            if self.open[-1] == "title":
                self.tips.append(text)
        elif self.open and self.open[-1] == "data":
            self.numbers.append((attributes["value"], text))
        elif self.open and self.open[-1] != "style" and text.strip():
            self.text.append(text)
            self.words.setdefault(self.open[-1], []).append(text)

    def all(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.elements if name == tag]


def inside(document: Any) -> Iterator[Any]:
    """Every key and every value of JSON."""
    if isinstance(document, dict):
        for name, value in document.items():
            yield name
            yield from inside(value)
    elif isinstance(document, list):
        for value in document:
            yield from inside(value)
    else:
        yield document


NUMBER = re.compile(r"(?<![\w.])(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:e[+-]?\d+)?")


def assert_every_number_is_told(html: str, document: Any) -> int:
    """Of the page's text and of its figures; returns how many numbers there were."""
    parsed = Page(html)
    known = list(inside(document))
    numbers = [value for value in known if isinstance(value, int | float) and not isinstance(value, bool)]
    words = " ".join(value for value in known if isinstance(value, str))
    tokens = set(NUMBER.findall(words)) | {number(abs(value)) for value in numbers}
    values = {repr(value) for value in numbers}
    for value, text in parsed.numbers:
        assert value in values, value
        assert text == number(json.loads(value))
    for text in (*parsed.text, *parsed.tips):
        for token in NUMBER.findall(text):
            assert token in tokens, (token, text)
    return len(parsed.numbers)


def run(capsys: pytest.CaptureFixture[str], *words: object, code: int = 0) -> Any:
    assert main([*map(str, words), "--json"]) == code
    return json.loads(capsys.readouterr().out)


@pytest.fixture(scope="module")
def evil(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table whose columns and values are markup."""
    rng = np.random.default_rng(0)
    n = 400
    table = pa.table(
        {
            EVIL: rng.integers(0, 60, n),
            "a&b": rng.choice([EVIL, "x&y", "'\"><img src=x onerror=alert(2)>", "&lt;b&gt;"], n),
            "s\n</style>": rng.choice([EVIL, "c&d", "e"], n),
        }
    )
    path = tmp_path_factory.mktemp("evil") / "evil.parquet"
    pq.write_table(table, path)
    return path


ROLES = ["--quasi", f"{EVIL},a&b", "--sensitive", "s\n</style>"]


@pytest.fixture(scope="module")
def released(evil: Path) -> Path:
    path = evil.with_name("released.parquet")
    assert main(["anonymize", str(evil), "-o", str(path), *ROLES, "--k", "5", "-q"]) == 0
    return path


# The page


def test_a_page_holds_what_it_is_given_as_text() -> None:
    table = Table("T & <t>", ("name", "n"), ((EVIL, 1234567), ("a&b\n<i>note</i>", 0.123456)))
    parsed = Page(page("<h1>", [Section("<h2>", ("<p> & co",), (table,))]))
    assert parsed.words["h1"] == ["<h1>"]
    assert parsed.words["title"] == ["<h1>"]
    assert parsed.words["h2"] == ["<h2>"]
    assert parsed.words["p"] == ["<p> & co"]
    assert parsed.words["caption"] == ["T & <t>"]
    assert parsed.words["th"] == ["name", "n", EVIL, "a&b"]
    assert parsed.words["span"] == ["<i>note</i>"]
    assert parsed.numbers == [("1234567", "1,234,567"), ("0.123456", "0.1235")]
    assert parsed.all("script") == []


def policy(html: str) -> str:
    [meta] = [each for each in Page(html).all("meta") if each.get("http-equiv") == "Content-Security-Policy"]
    return meta["content"]


def test_a_page_runs_no_script_and_asks_nobody() -> None:
    figure = figures.attribute_losses({"</svg></script ><!--<script >&": 0.5})
    html = page("Title", [Section("One", figures=(figure, figure)), Section("Two", figures=(figure,))])
    assert policy(html) == "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
    parsed = Page(html)
    assert parsed.all("script") == []
    assert len(parsed.all("svg")) == 3
    for image in parsed.all("svg"):
        assert image["role"] == "img"
        assert image["aria-label"] == f"{figure.title}. {figure.caption}"
    assert "<!--" not in html


def test_a_figure_of_a_page_can_be_saved_as_it_is() -> None:
    figure = figures.attribute_losses({"a": 0.5})
    [link] = [
        each for each in Page(page("T", [Section("One", figures=(figure,))])).all("a") if "download" in each
    ]
    assert link["download"] == "loss-of-each-quasi-identifier.svg"
    kind, _, content = link["href"].partition(",")
    assert kind == "data:image/svg+xml;base64"
    assert base64.b64decode(content).decode() == svg(figure)


def test_a_term_leads_to_its_meaning_and_tells_it_on_hover() -> None:
    table = Table("T", ("measure", "k"), (("loss\nnote", 0.25), ("share above one in 5", 1), ("other", 2)))
    terms = {name: Term(f"meaning of {name}", "Section") for name in ("loss", "share above …", "k", "unused")}
    parsed = Page(page("Title", [Section("One", tables=(table,))], terms=terms))
    links = {each["href"]: each["title"] for each in parsed.all("a") if each.get("class") == "term"}
    assert links == {
        "#term-k": "meaning of k",
        "#term-loss": "meaning of loss",
        "#term-share-above": "meaning of share above …",
    }
    assert [each.get("title") for each in parsed.all("data")] == [
        "meaning of loss",
        "meaning of share above …",
        None,
    ]
    assert [each["id"] for each in parsed.all("dt")] == ["term-k", "term-loss", "term-share-above"]


def test_the_delta_of_a_scenario_is_not_that_of_disclosure() -> None:
    assert "decline" in SCENARIO_TERMS["delta"].meaning
    assert "share" in terms_of()["delta"].meaning


def test_every_term_is_defined_in_the_section_it_names() -> None:
    """The list of meanings sends to docs/definitions.md, which has such a heading."""
    headings = re.findall(r"^## (.+)$", (DOCS / "definitions.md").read_text(), re.MULTILINE)
    require = [anon.KAnonymity(2), anon.LDiversity(2), anon.TCloseness(0.2), anon.BetaLikeness(2)]
    terms = terms_of(require)
    assert {term.section for term in (*terms.values(), *SCENARIO_TERMS.values())} <= set(headings)
    assert {str(each) for each in require} <= set(terms)
    assert all(term.meaning and not term.meaning.endswith(".") for term in terms.values())


@pytest.mark.parametrize(
    ("state", "words"),
    [("met", "Met"), ("but", "Met, but …"), ("not met", "Not met"), ("open", "Nothing was required")],
)
def test_the_first_screen_says_what_was_decided(state: Any, words: str) -> None:
    first = First(
        state,
        "The <verdict>.",
        ("One & fact",),
        (("Purpose", "<b>"), ("Date", None)),
        (("rows", 12), ("risk", 1.0, 0.25)),
        (("quasi-identifiers", "a, <i>"),),
        ("A limit.",),
        signed=True,
    )
    parsed = Page(page("Title", [Section("One")], "owner", first=first))
    assert words in parsed.words["h2"]
    assert parsed.words["p"][1:] == [
        "The <verdict>.",
        "Made by: name, date, signature",
        "Released by: name, date, signature",
    ]
    assert parsed.words["li"][:2] == ["One & fact", "A limit."]
    assert {"<b>", "a, <i>"} <= set(parsed.words["dd"])
    assert len([each for each in parsed.all("span") if each.get("class") == "blank"]) == 1
    assert [text for _, text in parsed.numbers] == ["12", "1", "0.25"]


def test_nothing_on_a_page_leads_away() -> None:
    html = page("Title", [Section("One", figures=(figures.attribute_losses({"a": 0.5}),)), Section("Two")])
    parsed = Page(html)
    ids = {attributes["id"] for _, attributes in parsed.elements if "id" in attributes}
    for _, attributes in parsed.elements:
        for name in ("src", "href", "action", "data"):
            target = attributes.get(name, "data:")
            assert target.startswith("data:") or target[1:] in ids, target
    assert "url(" not in STYLE
    assert "@import" not in STYLE


def test_a_page_can_be_read_without_eyes_and_without_a_mouse() -> None:
    table = Table("Table", ("name", "value"), (("a", 1), ("b", None)))
    html = page("Title", [Section("One", (), (table,), (figures.attribute_losses({"a": 0.5}),))])
    parsed = Page(html)
    assert parsed.all("html") == [{"lang": "en"}]
    levels = [int(tag[1]) for tag, _ in parsed.elements if re.fullmatch("h[1-6]", tag)]
    assert levels == [1, 2, 3]
    assert all(each["scope"] in ("col", "row") for each in parsed.all("th"))
    assert len(parsed.all("caption")) == len(parsed.all("table")) == 2
    links = parsed.all("a")
    assert links[0] == {"class": "skip", "href": "#main"}
    for box in parsed.all("div"):
        if box["class"] == "table":  # what scrolls sideways can be reached and is named
            assert box["tabindex"] == "0"
            assert box["role"] == "region"
            assert box["aria-label"]
    assert ":focus-visible" in STYLE
    assert "outline: none" not in STYLE
    assert {"name": "viewport", "content": "width=device-width, initial-scale=1"} in parsed.all("meta")


@pytest.mark.parametrize("mode", [0, 1], ids=["light", "dark"])
def test_every_text_stands_out(mode: int) -> None:
    """WCAG AA: at least 4.5 between every color of text and every ground it stands on; 3 for outlines."""
    color = (_LIGHT, _DARK)[mode]
    for text in ("ink", "quiet", "link", "good", "care", "bad"):
        assert contrast(color[text], color["ground"]) >= 4.5
    used = set(re.findall(r"[^-]color: ([^;]+);", STYLE))
    assert used == {"var(--ink)", "var(--quiet)", "var(--link)", "var(--state)", "inherit"}
    states = set(re.findall(r"--state: var\(--(\w+)\)", STYLE))
    assert states == {"good", "care", "bad", "quiet"}


def test_numbers_for_people() -> None:
    assert [number(x) for x in (0, 12, 1234567, 0.5, 0.123456, 1234.5, 1e-7, 0.0, 20.0)] == [
        *("0", "12", "1,234,567", "0.5", "0.1235", "1,234", "1e-07", "0", "20"),
    ]
    assert number(float("inf")) == "inf"


def test_cells_of_tables() -> None:
    parsed = Page(table_html(Table("t", ("a", "b"), (("x", 1.5), ("y", "inf"), ("w", "-inf"), ("z", None)))))
    assert parsed.words["td"] == ["∞", "-∞", "–"]
    assert [each.get("class") for each in parsed.all("td")] == ["number"] * 4
    mixed = Page(table_html(Table("t", ("a", "b"), (("x", 1.5), ("y", "inf"), ("z", "text"), (True, False)))))
    assert mixed.words["td"] == ["inf", "text", "no"]
    assert Page(table_html(Table("t", ("a", "b"), ()))).words["th"] == ["a", "b"]
    numpy = Page(table_html(Table("t", ("a", "b"), (("x", np.float64(0.1)), ("y", np.int64(1200))))))
    assert numpy.numbers == [("0.1", "0.1"), ("1200", "1,200")]


@pytest.mark.parametrize("library", ["altair", "vl_convert", "jinja2"])
def test_a_report_needs_no_further_library(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    assert "<svg" in pages.of_release(release(require=[anon.KAnonymity(2)])).html()


# The commands


def test_every_number_of_a_release_report_is_in_the_json(
    evil: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, page = tmp_path / "out.parquet", tmp_path / "r.html"
    words = ["anonymize", evil, "-o", out, *ROLES, "--k", 7, "--t", 0.35, "--report", page]
    document = run(capsys, *words)
    assert document["report"] == str(page)
    html = page.read_text()
    assert assert_every_number_is_told(html, document) > 100
    parsed = Page(html)
    assert parsed.words["title"] == ["Report of a release"]
    assert [each for each in parsed.elements if each[0] == "img" and "onerror" in each[1]] == []
    everything = "\n".join(parsed.text)
    assert EVIL in everything
    assert "a&b" in everything


def test_every_number_of_a_check_is_in_the_json(
    released: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "r.html"
    document = run(
        capsys,
        "check",
        released,
        "--roles-from-file",
        "--k",
        5,
        "--l",
        3,
        "--risk-k",
        "3,40",
        "--report",
        page,
        code=1,
    )
    html = page.read_text()
    assert assert_every_number_is_told(html, document) > 50
    assert document["unmet"] == ["3-diversity (probabilistic)"]
    claim = "The roles of the columns are the file's own claim."
    assert {"Not met: 3-diversity (probabilistic).", claim} <= set(Page(html).text)
    assert document["decision"]["state"] == "not met"
    assert document["decision"]["facts"][0] == claim
    assert document["roles"]["quasi"] == [EVIL, "a&b"]
    assert f"{EVIL}, a&b" in Page(html).words["dd"]
    assert document["k"] >= 5


def test_every_number_of_a_comparison_is_in_the_json(
    evil: Path, released: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "r.html"
    document = run(capsys, "compare", evil, released, *ROLES, "--report", page)
    assert assert_every_number_is_told(page.read_text(), document) > 50


def test_every_number_of_a_sweep_is_in_the_json(
    evil: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "r.html"
    grid = ["--grid", "k=5,20,9999 method=mondrian,curve", "--choose", "max_p_loss=0.4"]
    grid += ["--privacy", "p_loss", "--utility", "u_loss"]
    document = run(capsys, "frontier", evil, *ROLES, *grid, "--report", page)
    assert assert_every_number_is_told(page.read_text(), document) > 30
    assert f"{document['chosen']['name']} is best." in page.read_text()
    assert {point["name"] for point in document["points"] if not point["satisfied"]} != set()


@pytest.mark.parametrize("made", [False, True], ids=["other name", "same table"])
def test_a_number_that_is_not_in_the_json_would_be_found(made: bool) -> None:
    html = table_html(Table("t", ("a", "b"), (("x", 1.25),)))
    if made:
        assert_every_number_is_told(html, {"a": [1.25]})
    else:
        with pytest.raises(AssertionError):
            assert_every_number_is_told(html, {"a": [1.26]})
        with pytest.raises(AssertionError):
            assert_every_number_is_told("<p>12 rows</p>", {"a": [13], "b": "1 2"})


def test_the_certificate_repeats(evil: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The hashes are those of the files, and the command as shown makes the same release again."""
    config = tmp_path / "job.toml"
    config.write_text("k = 6\n")
    out, page = tmp_path / "o u t.parquet", tmp_path / "r.html"
    words = ["anonymize", evil, "-o", out, *ROLES, "--config", config, "--report", page]
    document = run(capsys, *words)
    origin = document["origin"]
    assert set(origin["inputs"]) == {str(evil), str(config)}
    assert set(origin["outputs"]) == {str(out)}
    for path, digest in (origin["inputs"] | origin["outputs"]).items():
        assert digest == hashlib.sha256(Path(path).read_bytes()).hexdigest()
        assert digest in page.read_text()
    assert origin["versions"]["anon"] == anon.__version__
    again = shlex.split(origin["command"])
    assert again[0] == "anon"
    before = pq.read_table(out)
    out.unlink()
    assert main(again[1:]) == 0
    after = pq.read_table(out)
    assert sorted(map(str, before.to_pylist())) == sorted(map(str, after.to_pylist()))


def test_a_report_never_takes_the_place_of_another_file(
    evil: Path, released: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = evil.read_bytes(), released.read_bytes()
    link = tmp_path / "link.html"
    link.symlink_to(evil)
    for words in (
        ["anonymize", evil, "-o", tmp_path / "o.parquet", *ROLES, "--k", 5, "--report", evil],
        ["anonymize", evil, "-o", tmp_path / "o.parquet", *ROLES, "--k", 5, "--report", link],
        ["anonymize", evil, "-o", tmp_path / "o.html", *ROLES, "--k", 5, "--report", tmp_path / "o.html"],
        ["check", released, "--report", released],
        ["check", released, "--per-class", tmp_path / "c.csv", "--report", tmp_path / "c.csv"],
        ["compare", evil, released, *ROLES, "--report", released],
        ["compare", evil, released, *ROLES, "--report", tmp_path],
        ["compare", evil, released, *ROLES, "--report", tmp_path / "absent" / "r.html"],
    ):
        assert "report" in run(capsys, *words, code=2)["error"]
    assert (evil.read_bytes(), released.read_bytes()) == before
    assert os.listdir(tmp_path) == ["link.html"]


def test_a_report_is_written_whole_or_not_at_all(
    released: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "r.html"
    target.write_text("old")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    document = run(capsys, "check", released, "--report", target, code=2)
    assert "No space left on device; nothing was written" in document["error"]
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["r.html"]


def test_a_release_that_cannot_be_made_is_reported_too(
    evil: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, page = tmp_path / "o.parquet", tmp_path / "r.html"
    words = ["anonymize", evil, "-o", out, *ROLES, "--l", 50, "--on-infeasible", "trivial"]
    document = run(capsys, *words, "--report", page, code=1)
    assert not out.exists()
    assert document["origin"]["outputs"] == {}
    assert "cannot be met" in document["verdict"]
    assert any(text.startswith("Warning: ") for text in Page(page.read_text()).text)
    assert_every_number_is_told(page.read_text(), document)


def test_both_files_of_a_bucketization_are_certified(
    evil: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, page = tmp_path / "o.parquet", tmp_path / "r.html"
    words = ["anonymize", evil, "-o", out, *ROLES, "--k", 5, "--publish", "bucketization", "--report", page]
    document = run(capsys, *words)
    both = {str(out), str(tmp_path / "o.sensitive.parquet")}
    assert set(document["origin"]["outputs"]) == both
    assert document["notes"] == list(NOTES_ON_BUCKETS)
    assert_every_number_is_told(page.read_text(), document)
    assert {f"Note: {note}." for note in NOTES_ON_BUCKETS} <= set(Page(page.read_text()).text)
    document = run(capsys, "check", out, "--report", page)
    assert {f"Note: {note}." for note in NOTES_ON_BUCKETS} <= set(Page(page.read_text()).text)
    assert set(document["origin"]["inputs"]) == both
    assert document["mean_risk"] is None
    assert_every_number_is_told(page.read_text(), document)
    document = run(capsys, "compare", evil, out, *ROLES, "--report", page)
    assert_every_number_is_told(page.read_text(), document)


# Whose a page is


def first_line(html: str) -> str:
    parsed = Page(html)
    assert [tag for tag, _ in parsed.elements if tag in ("p", "h1")][:2] == ["p", "h1"]
    return parsed.words["p"][0]


def test_both_pages_of_a_command_say_whose_they_are(
    evil: Path, released: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine, everybodys = tmp_path / "mine.html", tmp_path / "everybodys.html"
    pages = ["--report", mine, "--report-public", everybodys]
    out = tmp_path / "out.parquet"
    for words, hashed in (
        (["anonymize", evil, "-o", out, *ROLES, "--k", 7, "--t", 0.35], out),
        (["check", released, "--k", 5, "--roles-from-file"], released),
        (["compare", evil, released, *ROLES], released),
    ):
        document = run(capsys, *words, *pages)
        assert (document["report"], document["report_public"]) == (str(mine), str(everybodys))
        assert next(iter(document.items())) == ("audience", "owner")
        assert_every_number_is_told(mine.read_text(), document)
        html = everybodys.read_text()
        assert first_line(mine.read_text()).startswith("For the owner of the data alone")
        assert first_line(html).startswith("May be handed out together with the release.")
        digest = hashlib.sha256(hashed.read_bytes()).hexdigest()
        assert re.findall(r"\b[0-9a-f]{64}\b", html) == [digest]
        assert "evil.parquet" not in html
        assert "--report" not in html
        for value, _ in Page(html).numbers:
            assert float(value) == float(f"{float(value):.1e}") or float(value) in (0.35,)
    only = run(capsys, "check", released, "--report-public", everybodys)
    assert "report" not in only
    assert "origin" not in only


def test_a_public_page_rounds_away_from_the_promise_and_tells_what_was_asked() -> None:
    made = anon.anonymize(
        datasets.census(3000, 1),
        datasets.census_schema(),
        require=[anon.KAnonymity(123), anon.TCloseness(0.4)],
        effort="fast",
    )
    privacy, utility = made.privacy(), made.utility()
    page = pages.of_release(made, audience="public")
    facts = page.facts
    assert privacy.k > 123
    assert (facts["privacy"]["k"], facts["privacy"]["n_rows"]) == (privacy.k // 10 * 10, 3000)
    assert facts["privacy"]["n_classes"] >= privacy.n_classes
    for name in ("t_js", "p_loss", "alpha"):
        exact, rounded = getattr(privacy, name), facts["privacy"][name]
        assert exact < rounded < exact * 1.1
    assert utility.gcp < facts["utility"]["gcp"] < utility.gcp * 1.1
    asked = {name: each for one in facts["asked"] for name, each in one["parameters"].items()}
    assert asked["k"] == {"asked": 123, "holds": max(123, privacy.k // 10 * 10)}
    assert asked["t"]["asked"] == 0.4
    assert privacy.t_js <= asked["t"]["holds"] <= 0.4
    html = page.html()
    assert_every_number_is_told(html, json.loads(json.dumps(facts)))
    assert Page(html).all("img") == []
    # a demand that is not met is told as it is
    checked = anon.check(made.table, require=[anon.KAnonymity(1234)], roles_from_file=True)
    [one] = pages.of_check(checked, made.table, require=[anon.KAnonymity(1234)], audience="public").facts[
        "asked"
    ]
    assert one["parameters"]["k"] == {"asked": 1234, "holds": privacy.k // 10 * 10}


def test_a_public_page_of_a_weighted_sample_tells_nothing_of_the_input() -> None:
    """The risk of the input's rows is its owner's, and so is what their own weights go with."""
    rng = np.random.default_rng(0)
    table = pa.table(
        {"age": rng.integers(0, 100, 60), "d": rng.choice(["a", "b"], 60), "w": rng.random(60) + 0.5}
    )
    schema = anon.Schema(["age"], ["d"], sampling_weight="w")
    made = anon.anonymize(table, schema, require=[anon.KAnonymity(3)])
    privacy = made.privacy(neutral=True)
    assert privacy.population_before is not None
    assert privacy.weighted is not None
    page = pages.of_release(made, audience="public")
    assert page.facts["privacy"]["population"]["marketer"] >= privacy.population.marketer
    assert {"population_before", "weighted"}.isdisjoint(page.facts["privacy"])
    assert "Risk in the population" in page.html()


def test_a_column_that_is_left_out_has_its_name_on_no_public_page() -> None:
    made = release(method=anon.Suppress("sensitive"))
    assert "disease" in pages.of_release(made).html()
    assert "disease" not in pages.of_release(made, audience="public").html()


def test_without_a_release_there_is_no_page_to_hand_out(
    evil: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, page = tmp_path / "o.parquet", tmp_path / "r.html"
    words = ["anonymize", evil, "-o", out, *ROLES, "--l", 50, "--on-infeasible", "trivial"]
    assert main([*map(str, words), "--report-public", str(page), "-q"]) == 1
    assert "note: no release was written, and so no page that may be handed out" in capsys.readouterr().err
    assert os.listdir(tmp_path) == []


def test_pages_of_a_job_file_are_those_of_anonymize(
    evil: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job = tmp_path / "job.toml"
    job.write_text('output = "o.parquet"\nk = 6\nreport = "mine.html"\nreport_public = "all.html"\n')
    document = run(capsys, "anonymize", evil, *ROLES, "--config", job, "--report", tmp_path / "flag.html")
    assert (document["report"], document["report_public"]) == (
        str(tmp_path / "flag.html"),
        str(tmp_path / "all.html"),
    )
    pages = sorted(path.name for path in tmp_path.glob("*.html"))
    assert pages == ["all.html", "flag.html"]
    before = (tmp_path / "all.html").read_text()
    assert "report" not in run(capsys, "check", "--config", job, "--roles-from-file")
    assert (tmp_path / "all.html").read_text() == before
    same = ["--report", tmp_path / "x.html", "--report-public", tmp_path / "x.html"]
    document = run(capsys, "anonymize", evil, *ROLES, "--config", job, *same, code=2)
    assert "is also another file of this command" in document["error"]
    document = run(capsys, "anonymize", evil, *ROLES, "--config", job, "--engine", "spark", code=2)
    assert "on Spark there is no report" in document["error"]


# What is told


PATIENTS = pa.table(
    {
        "age": [23, 27, 31, 34, 45, 47, 58, 61],
        "sex": ["f", "m", "f", "m", "f", "m", "m", "f"],
        "disease": ["flu", "asthma", "flu", "ulcer", "flu", "ulcer", "asthma", "ulcer"],
    }
)
SCHEMA = anon.Schema(quasi=["age", "sex"], sensitive=["disease"])


def release(**options: Any) -> anon.Release:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", anon.PrivacyWarning)  # of one class
        return anon.anonymize(PATIENTS, options.pop("schema", SCHEMA), **options)


def test_requirements_stand_beside_the_tightest_parameters_that_hold() -> None:
    require = [
        anon.KAnonymity(2),
        anon.LDiversity(2, kind="distinct"),
        anon.LDiversity(1.5),
        anon.LDiversity(1.5, kind="entropy"),
        anon.LDiversity(2, kind="recursive", c=4),
        anon.TCloseness(0.6),
        anon.TCloseness(0.7, distance="equal"),
        anon.TCloseness(0.7, distance="hierarchical"),
        anon.AlphaK(0.8, 2),
        anon.BetaLikeness(5),
        anon.BetaLikeness(5, enhanced=True),
        anon.SDiversityBound(1),
    ]
    made = release(require=require[:1])
    privacy = made.privacy()
    facts = pages.of_release(replace(made, requirements=tuple(require))).facts["asked"]
    assert [one["requirement"] for one in facts] == [str(one) for one in require]
    assert [one["parameters"] for one in facts] == [
        {"k": {"asked": 2, "holds": privacy.k}},
        {"l": {"asked": 2, "holds": privacy.l_distinct}},
        {"l": {"asked": 1.5, "holds": privacy.l_probabilistic}},
        {"l": {"asked": 1.5, "holds": privacy.l_entropy}},
        {"c, exclusive": {"asked": 4, "holds": "inf"}},
        {"t": {"asked": 0.6, "holds": privacy.t_js}},
        {"t": {"asked": 0.7, "holds": privacy.t_equal}},
        {"t": {"asked": 0.7, "holds": privacy.t_equal}},
        {"alpha": {"asked": 0.8, "holds": privacy.alpha}, "k": {"asked": 2, "holds": privacy.k}},
        {"beta": {"asked": 5, "holds": privacy.beta}},
        {"beta": {"asked": 5, "holds": "inf"}},
        {},
    ]


def decided(**options: Any) -> Any:
    """What the page of a release of PATIENTS decides."""
    return pages.of_release(release(**options)).facts["decision"]


def test_what_holds_without_reservation_is_met() -> None:
    made = release(require=[anon.KAnonymity(2), anon.LDiversity(2)])
    written = pages.of_release(made)
    assert written.facts["decision"] == {"state": "met", "facts": []}
    assert written.facts["verdict"].startswith("Every requirement is met: before it was written")
    assert "What was required holds" not in written.html()


def test_a_class_of_one_sensitive_value_qualifies_what_holds() -> None:
    """The headline must not say that all is well where whole classes tell their secret."""
    table = pa.table({"age": [1, 1, 1, 2, 2, 2], "disease": ["flu", "flu", "flu", "flu", "ulcer", "asthma"]})
    made = anon.anonymize(table, anon.Schema(["age"], ["disease"]), require=[anon.KAnonymity(3)])
    for audience, fact in (
        ("owner", "Everybody has the same disease in 1 class: it is known of 3 people."),
        ("public", "In a class everybody has the same disease: whoever is in it has no secret there."),
    ):
        written = pages.of_release(made, audience=audience)
        assert written.facts["decision"] == {"state": "but", "facts": [fact]}
        assert "Every requirement is met" not in written.html()
        assert "Nothing that was required bounds what a class tells of disease." in written.html()
    checked = anon.check(made.table, require=[anon.KAnonymity(3)], roles_from_file=True, per_class=True)
    facts = pages.of_check(checked, made.table, require=[anon.KAnonymity(3)]).facts["decision"]["facts"]
    assert "Everybody has the same disease in 1 class: it is known of 3 people." in facts


def test_a_class_that_nearly_tells_its_secret_qualifies_what_holds() -> None:
    """As was asked for by (α, k)-anonymity with α = 0.999: met, but of no use."""
    n = 2000
    table = pa.table(
        {"age": [1] * n + [2] * n, "disease": ["flu"] * (n - 1) + ["ulcer"] + ["flu", "ulcer"] * (n // 2)}
    )
    made = anon.anonymize(table, anon.Schema(["age"], ["disease"]), require=[anon.AlphaK(0.9995, 100)])
    assert made.classes.n_classes == 2
    facts = pages.of_release(made).facts["decision"]
    share = number((n - 1) / n)
    assert facts["state"] == "but"
    assert facts["facts"][0].startswith(f"In one class the share of one disease is {share}")


def test_one_class_and_buckets_and_a_release_that_fails_are_told() -> None:
    assert decided(require=[anon.KAnonymity(8)])["facts"][0].startswith("All rows are in one class")
    [bucket] = decided(require=[anon.LDiversity(2)], publish="bucketization")["facts"]
    assert "everybody sees who is in the table, and 8 rows are alone with theirs" in bucket
    failed = release(require=[anon.LDiversity(50)], on_infeasible="trivial")
    facts = pages.of_release(failed)
    assert facts.facts["decision"]["state"] == "not met"
    assert "cannot be met" in facts.facts["decision"]["facts"][0]
    assert "date, signature" not in facts.html()
    assert decided(method=anon.Identity())["state"] == "open"


def test_neutral_columns_qualify_what_holds() -> None:
    table = PATIENTS.append_column("shoe", pa.array([36.5, 37, 38, 39, 40, 41, 42, 43]))
    schema = anon.Schema(["age", "sex"], ["disease"], neutral=["shoe"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", anon.PrivacyWarning)
        made = anon.anonymize(table, schema, require=[anon.KAnonymity(4), anon.LDiversity(2)])
    written = pages.of_release(made)
    assert written.facts["decision"]["facts"] == [
        "For whoever knows the neutral columns too (shoe) k is 1, and 8 rows are alone."
    ]
    # it is told from the original's values, and so its owner's
    assert pages.of_release(made, audience="public").facts["decision"] == {"state": "met", "facts": []}


def test_the_risk_in_the_population_qualifies_what_holds() -> None:
    measured = {
        "n_classes": 2,
        "n_rows": 8,
        "k": 4,
        "by_sensitive": {},
        "population": {"journalist": {"max": 0.5}, "uniques": {"count": 3.2}},
    }
    assert facts_of(measured, intact=False) == [
        "About 3.2 people may be alone in the population with what is published of them (estimated).",
        "In the population the greatest risk of one person is 0.5.",
    ]
    safe = measured | {"population": {"journalist": {"max": 0.1}, "uniques": None}}
    assert facts_of(safe, intact=False) == []


def test_the_risk_before_is_that_of_the_original() -> None:
    made = release(require=[anon.KAnonymity(4)])
    facts = pages.of_release(made).facts
    assert facts["before"]["prosecutor"]["mean"] == 1  # all ages differ
    assert facts["before"]["sample_uniques"] == 8
    curve = facts["figures"]["Risk of re-identification, before and after"]
    shares = {row["table"]: row["share"] for row in curve if row["risk at least"] == 0.5}
    assert shares == {"before": 1.0, "after": 0.0}


def test_the_most_frequent_value_of_the_worst_class_is_told() -> None:
    table = pa.table({"age": [1, 1, 1, 1, 2, 2, 2, 2], "disease": list("aaab") + list("abcd")})
    schema = anon.Schema(["age"], ["disease"])
    made = anon.anonymize(table, schema, require=[anon.KAnonymity(4)])
    checked = anon.check(made.table, schema, per_class=True)
    for written in (pages.of_release(made), pages.of_check(checked, made.table)):
        top = written.facts["worst_class"]["values"][0]
        assert top == {"value": "a", "class": 0.75, "table": 0.5}
        assert "Its most frequent disease is a, with a share of 0.75" in written.html()
        assert written.facts["figures"]["disease in the worst class"][0] == top


def test_what_people_write_on_a_report_stands_first_and_is_a_blank_otherwise(
    evil: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job, mine, everybodys = tmp_path / "job.toml", tmp_path / "mine.html", tmp_path / "all.html"
    job.write_text('k = 5\ntitle = "<Wages>"\npurpose = "Research"\nresponsible = "from the job"\n')
    words = ["anonymize", evil, "-o", tmp_path / "o.parquet", *ROLES, "--config", job]
    words += ["--responsible", "A. Nobody", "--report-date", "2026-11-29"]
    document = run(capsys, *words, "--report", mine, "--report-public", everybodys)
    assert document["cover"] == {
        "title": "<Wages>",
        "purpose": "Research",
        "recipient": None,
        "responsible": "A. Nobody",
        "date": "2026-11-29",
    }
    for path in (mine, everybodys):
        parsed = Page(path.read_text())
        assert parsed.words["h1"] == parsed.words["title"] == ["<Wages>"]
        assert {"Research", "A. Nobody", "2026-11-29"} <= set(parsed.words["dd"])
        assert len([each for each in parsed.all("span") if each.get("class") == "blank"]) == 1
    document = run(capsys, "check", tmp_path / "o.parquet", "--title", "Checked", "--report", mine)
    assert Page(mine.read_text()).words["h1"] == ["Checked"]


def test_the_worst_class_is_the_one_with_the_greatest_loss() -> None:
    made = release(require=[anon.KAnonymity(2)])
    privacy = made.privacy(per_class=True)
    table = privacy.per_class
    assert table is not None
    losses = table["disease.t_js"].to_pylist()
    worst = pages.of_release(made).facts["worst_class"]
    at = losses.index(max(losses))
    assert worst["p_loss"] == max(losses)
    assert worst["size"] == table["size"][at].as_py()
    published = made.table.to_pylist()
    alike = [row for row in published if {name: row[name] for name in ("age", "sex")} == worst["cells"]]
    assert len(alike) == worst["size"]


def test_without_a_sensitive_attribute_the_worst_class_is_the_smallest() -> None:
    made = release(schema=anon.Schema(quasi=["age", "sex"]), require=[anon.KAnonymity(3)])
    facts = pages.of_release(made).facts
    assert facts["worst_class"]["why"] == "fewest rows"
    assert facts["worst_class"]["size"] == made.privacy().k
    assert list(facts["figures"]) == [
        "Risk of re-identification, before and after",
        "People by class size",
        "Loss of each quasi-identifier",
        "What was published of each quasi-identifier",
        "Distribution of each quasi-identifier, original and released",
        "What goes together, original and released",
    ]


def test_the_riskiest_attribute_by_hand() -> None:
    """Rows (1,a), (2,a), (3,b), (3,b): three classes. Without the first column two are left, a and b;
    without the second three, so that the first adds a quarter to the mean risk of three quarters.
    """
    table = pa.table({"number": [1, 2, 3, 3], "letter": ["a", "a", "b", "b"]})
    privacy = anon.check(table, anon.Schema(quasi=["number", "letter"]), per_class=True)
    written = pages.of_check(privacy, table)
    assert written.facts["prosecutor"]["mean"] == 0.75
    assert written.facts["mean_risk"] == {"all": 0.75, "without": {"number": 0.5, "letter": 0.75}}
    [section] = [each for each in written.sections if each.heading == "The riskiest attribute"]
    assert section.paragraphs[1].startswith("It is number.")


@settings(max_examples=40)
@given(st.lists(st.tuples(*[st.integers(0, 2)] * 3), min_size=1, max_size=20))
def test_mean_risks_are_counted(rows: list[tuple[int, int, int]]) -> None:
    names = ("a", "b", "c")
    table = pa.table({name: [str(row[i]) for row in rows] for i, name in enumerate(names)})
    schema = anon.Schema(quasi=list(names))
    facts = pages.of_check(anon.check(table, schema, per_class=True), table).facts["mean_risk"]
    counted = {
        name: len({tuple(v for j, v in enumerate(row) if j != i) for row in rows}) / len(rows)
        for i, name in enumerate(names)
    }
    assert facts == {"all": len(set(rows)) / len(rows), "without": counted}
    assert list(facts["without"].values()) == sorted(facts["without"].values())


def test_mean_risks_of_a_release_are_those_of_its_table() -> None:
    for publish in ("generalization", "bucketization"):
        made = release(require=[anon.KAnonymity(2)], publish=publish)
        rows = [(row["age"], row["sex"]) for row in made.table.to_pylist()]
        without = {"age": len({sex for _, sex in rows}) / 8, "sex": len({age for age, _ in rows}) / 8}
        assert pages.of_release(made).facts["mean_risk"] == {"all": len(set(rows)) / 8, "without": without}


def test_rows_of_stars_take_no_part_in_the_risk() -> None:
    table = pa.table({"a": ["*", "*", "1", "1", "2"], "b": ["*", "*", "x", "y", "*"]})
    privacy = anon.check(table, anon.Schema(quasi=["a", "b"]), per_class=True)
    assert privacy.n_starred == 2
    # (1,x) (1,y) (2,*) are left; without a they are x, y, *, without b 1 and 2
    assert pages.of_check(privacy, table).facts["mean_risk"] == {
        "all": 3 / 3,
        "without": {"b": 2 / 3, "a": 1.0},
    }


@pytest.mark.parametrize(
    "options",
    [
        {"require": [anon.KAnonymity(2)], "numeric": "mean"},
        {"method": anon.Suppress("sensitive")},
        {"method": anon.Suppress("quasi")},
        {"method": anon.Identity()},
        {"require": [anon.KAnonymity(2)], "schema": anon.Schema(quasi=["age"], sensitive=["disease", "sex"])},
        {
            "method": anon.Anatomy(2),
            "publish": "bucketization",
        },
        pytest.param({"method": anon.Laplace(1, {"age": (0, 99)})}, marks=pytest.mark.opendp),
    ],
    ids=["mean", "no sensitive", "one class", "original", "two sensitive", "anatomy", "noise"],
)
def test_every_kind_of_release_has_a_report(options: dict[str, Any], tmp_path: Path) -> None:
    public = pages.of_release(release(**options), audience="public")
    assert_every_number_is_told(public.html(), json.loads(json.dumps(public.facts)))
    made = pages.of_release(release(**options))
    assert_every_number_is_told(made.html(), json.loads(json.dumps(made.facts)))
    made.write(tmp_path / "r.html")
    assert (tmp_path / "r.html").read_text().startswith("<!doctype html>")


def test_an_empty_release_has_a_report() -> None:
    table = pa.table({"a": ["v", None], "b": [None, "w"], "s": ["x", "y"]})
    with pytest.warns(anon.PrivacyWarning, match="the release is empty"):
        made = anon.anonymize(
            table,
            anon.Schema(quasi=["a", "b"], sensitive=["s"]),
            method=anon.Identity(),
            missing="suppress",
        )
    public = pages.of_release(made, audience="public")
    assert_every_number_is_told(public.html(), json.loads(json.dumps(public.facts)))
    written = pages.of_release(made)
    assert written.facts["worst_class"] is None
    assert_every_number_is_told(written.html(), json.loads(json.dumps(written.facts)))


def test_a_long_cell_is_shortened() -> None:
    table = pa.table({"a": [f"value {i % 100:03}" for i in range(120)], "b": ["x", "y"] * 60})
    made = anon.anonymize(
        table, anon.Schema(quasi=["a", "b"]), require=[anon.KAnonymity(60)], method=anon.Mondrian(["b"])
    )
    [cell] = [text for text in Page(pages.of_release(made).html()).words["td"] if text.startswith("{value")]
    assert len(cell) == 202
    assert cell.endswith(" …")


def test_the_commands_of_the_documentation_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text = (Path(__file__).parents[2] / "docs" / "report.md").read_text()
    commands = [
        line for body in re.findall(r"```sh\n(.*?)```", text, re.DOTALL) for line in body.splitlines()
    ]
    for command in commands:
        program, *words = shlex.split(command)
        assert program == "anon"
        assert main(words) == 0, capsys.readouterr().err
    pages = sorted(path.name for path in tmp_path.glob("*.html"))
    assert pages == ["check.html", "loss.html", "public.html", "report.html"]


def test_a_report_without_a_command_says_so() -> None:
    utility = pages.of_comparison(release(require=[anon.KAnonymity(2)]).utility())
    assert utility.facts["origin"]["command"] == ""
    assert utility.facts["origin"]["inputs"] == {}
    html = pages.of_check(
        anon.check(PATIENTS, SCHEMA, per_class=True), PATIENTS, origin=Origin("anon check x")
    ).html()
    assert "anon check x" in html


def test_a_frontier_has_a_report() -> None:
    names = ("trivial", "<k> & l", "original")
    points = [
        {"name": name, "requirement": name, "privacy": p, "utility": u, "efficient": True}
        | {"classes": 3, "seconds": 0.25, "satisfied": True, "why": None}
        | {"measures": {"p_loss": p, "u_loss": u, "gcp": u / 2, "dm": "inf", "kl": None}}
        for name, p, u in zip(names, (0.0, 0.125, 0.5), (0.75, 0.25, 0.0), strict=True)
    ]
    missed = points[0] | {"name": "no", "satisfied": False, "why": "too strict", "efficient": False}
    missed["measures"] = {}
    facts = {
        "privacy": "p_loss",
        "utility": "u_loss",
        "n_rows": 77,
        "points": [*points, missed],
        "efficient": list(names),
        "knee": names[1],
        "prices": [
            {"more_private": names[0], "less_private": names[1], "price": 4.0}
            | {"privacy_gained": 0.125, "utility_lost": 0.5}
        ],
    }
    frontier = SimpleNamespace(
        to_dict=lambda: facts,
        points=[SimpleNamespace(**point, parameters={"method": "m"}) for point in facts["points"]],
        knee=SimpleNamespace(name=names[1]),
        efficient=points,
        privacy="p_loss",
        utility="u_loss",
    )
    chosen = SimpleNamespace(name=names[2], to_dict=lambda: points[2])
    made = pages.of_frontier(frontier, chosen=chosen)
    html = made.html()
    assert_every_number_is_told(html, json.loads(json.dumps(made.facts)))
    text = " ".join(Page(html).text)
    assert "Of 4 releases 3 are efficient" in text
    assert "The knee is <k> & l" in text
    assert "original is best" in text
    assert "too strict" in text
    efficient, measured, missed_ones = tables.frontier_tables(facts)
    assert efficient.header == ("release", "p_loss", "u_loss", "gcp", "dm", "kl", "classes", "seconds")
    assert efficient.rows[1] == (names[1], 0.125, 0.25, 0.125, "inf", None, 3, 0.25)
    assert measured.rows == efficient.rows
    assert missed_ones.header == ("release", "why")
    assert text.count("gcp") == 3  # in two tables, and once with its meaning


# Notebooks


def test_releases_and_measures_show_themselves_in_a_notebook() -> None:
    table = PATIENTS.rename_columns(["age", EVIL, "disease"])
    made = anon.anonymize(
        table, anon.Schema(quasi=["age", EVIL], sensitive=["disease"]), require=[anon.KAnonymity(2)]
    )
    for thing, title in (
        (made, made.summary()),
        (made.privacy(), made.privacy().to_dict()),
        (made.utility(), made.utility().to_dict()),
    ):
        html = re.sub("<svg.*?</svg>", "", thing._repr_html_())
        assert "<script" not in html
        assert_every_number_is_told(html, json.loads(json.dumps(title)))
    assert "&lt;script&gt;" in made.utility()._repr_html_()
    assert "u_loss" not in made.utility()._repr_html_()


def by_level(levels: tuple[int, ...] | None = None, iterate: float | None = None) -> anon.Release:
    """Ages in decades; their column's name is markup."""
    ages = [str(age) for age in (23, 27, 31, 34, 45, 47, 58, 51)]
    decades: dict[str, list[str]] = {}
    for age in ages:
        decades.setdefault(f"{age[0]}x", []).append(age)
    return anon.anonymize(
        {EVIL: ages, "disease": PATIENTS["disease"]},
        anon.Schema([anon.nominal(EVIL, {"*": decades})], ["disease"]),
        require=[anon.KAnonymity(2)],
        method=anon.FullDomain(levels, iterate=iterate),
    )


def test_full_domain_recoding_shows_its_lattice_and_the_level_of_each_column() -> None:
    for release, is_searched in ((by_level(), True), (by_level((1,)), False)):
        written = pages.of_release(release)
        html = written.html()
        assert_every_number_is_told(html, json.loads(json.dumps(written.facts)))
        assert "How the columns were recoded" in Page(html).words["h2"]
        [row] = written.facts["levels"]
        assert (row["column"], row["level"], row["highest"], row["labels"]) == (EVIL, 1, 2, 4)
        assert ("The lattice of recodings" in written.facts["figures"]) == is_searched
        assert ("The levels were given" in html) != is_searched
        shown = release._repr_html_()
        assert ("The lattice of recodings" in shown) == is_searched
        assert "<script" not in shown
        assert release.lattice.judged[(1,)].score == pytest.approx(1 / 7)
        assert "lattice" not in pages.of_release(release, audience="public").facts


def test_local_recoding_shows_its_rounds() -> None:
    release = by_level(iterate=0.5)
    written = pages.of_release(release)
    html = written.html()
    assert_every_number_is_told(html, json.loads(json.dumps(written.facts)))
    assert written.facts["lattice"]["rounds"] == [
        {"levels": {EVIL: 0}, "rows": 0},
        {"levels": {EVIL: 1}, "rows": 8},
    ]
    assert "Rows were recoded in 2 rounds" in html
    assert "The lattice of recodings" not in written.facts["figures"]
    shown = release._repr_html_()
    assert "1: 8 rows" in shown
    assert "The lattice of recodings" not in shown
    assert "rounds" not in pages.of_release(release, audience="public").facts["release"]


def test_a_census_has_a_report() -> None:
    made = anon.anonymize(datasets.census(2000, 0), datasets.census_schema(), require=[anon.KAnonymity(5)])
    written = pages.of_release(made)
    assert assert_every_number_is_told(written.html(), json.loads(json.dumps(written.facts))) > 200


def test_a_streamed_table_with_rows_of_stars_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "made.csv"
    path.write_text("age,sex,job\n<30,f,cook\n<30,f,nurse\n*,*,cook\n*,*,nurse\n")
    words = ["check", path, "--quasi", "age,sex", "--sensitive", "job", "--engine", "stream", "--json"]
    document = run(capsys, *words, "--report", tmp_path / "report.html")
    assert (document["n_starred"], document["k"]) == (2, 2)


def test_a_page_on_a_table_of_one_class(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("age,ill\n1,flu\n1,cold\n")
    path = tmp_path / "page.html"
    words = ["check", str(tmp_path / "people.csv"), "--quasi", "age", "--sensitive", "ill", "--quiet"]
    assert main([*words, "--report", str(path)]) == 0
    assert "cold" in path.read_text()
