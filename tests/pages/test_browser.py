# SPDX-License-Identifier: Apache-2.0
"""The reports in a real browser: headless Chromium, through its own driver, with an empty profile."""

from __future__ import annotations

import base64
import json
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import anon
from anon import pages as reports
from anon.scenarios.result import Antiutility, Attack, Decline, Preservation, ScenarioResult

pytestmark = pytest.mark.browser

TAB, ENTER = "\ue004", "\ue007"  # as WebDriver sends them
EVIL = "<script>alert(1)</script>"
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    "--disable-dev-shm-usage",
)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Chromium and its driver are Debian's packages `chromium` and `chromium-driver`."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}", "about:blank"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A report of each kind about a table whose names and values are markup."""
    rng = np.random.default_rng(0)
    n = 600
    table = pa.table(
        {
            "a&b with a rather long label, as people give them": rng.integers(0, 60, n),
            EVIL: rng.choice([EVIL, "x&y", "'\"><img src=x onerror=alert(2)>", "&lt;b&gt;"], n),
            "c": rng.choice(["a", "b", "c"], n),
            "s</style>": rng.choice([EVIL, "c&d", "e"], n),
            "other": rng.integers(0, 5, n),
        }
    )
    schema = anon.Schema(quasi=table.column_names[:3], sensitive=table.column_names[3:])
    release = anon.anonymize(table, schema, require=[anon.KAnonymity(5)])
    swept = anon.frontier(table, schema, "k=5,20,50 method=mondrian,curve")
    target = table.column_names[3]
    declines = tuple(Decline(f"miner {i} {EVIL}", "trees", 0.8, 0.8 - i / 20) for i in range(9))
    gains = tuple(Antiutility(f"miner {i}", "trees", 3.0 * i, i) for i in range(4))
    compared = ScenarioResult(
        tuple(Preservation(name, target, declines) for name in ("k = 5", EVIL)),
        (Attack("k = 5", target, "A", 0.5, gains), Attack(EVIL, target, "A", 0.5, gains[:2])),
    )
    folder = tmp_path_factory.mktemp("pages")
    released = release.table
    made = {
        "release": reports.of_release(release),
        "check": reports.of_check(anon.check(released, schema, per_class=True), released),
        "comparison": reports.of_comparison(release.utility()),
        "frontier": reports.of_frontier(swept, chosen=swept.points[0]),
        "scenario": reports.of_scenario(compared),
    }
    paths = {}
    for name, one in made.items():
        paths[name] = folder / f"{name}.html"
        one.write(paths[name])
    return paths


def visit(browser: Any, page: Path, width: int = 1280, **media: str) -> None:
    """Open a page, logs emptied."""
    for log in ("browser", "performance"):
        browser.get_log(log)
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    features = [{"name": "prefers-color-scheme", "value": media.get("scheme", "light")}]
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"media": media.get("kind", "screen"), "features": features}
    )
    browser.get(page.as_uri())


def ask(browser: Any, expression: str) -> Any:
    """The value of a JavaScript expression; works too where the page may not run any."""
    answer = browser.execute_cdp_cmd("Runtime.evaluate", {"expression": expression, "returnByValue": True})
    return answer["result"].get("value")


def wait_for(browser: Any, expression: str) -> None:
    end = time.monotonic() + 120  # it hangs
    while not ask(browser, expression):
        assert time.monotonic() < end, expression
        time.sleep(0.05)


def requests(browser: Any) -> list[str]:
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    return [
        message["params"]["request"]["url"]
        for message in messages
        if message["method"] == "Network.requestWillBeSent"
    ]


WIDTHS = pytest.mark.parametrize("width", [390, 1280])
SCHEMES = pytest.mark.parametrize("scheme", ["light", "dark"])


@WIDTHS
@SCHEMES
@pytest.mark.parametrize("kind", ["release", "check", "comparison", "frontier", "scenario"])
def test_a_report_is_drawn_without_errors_requests_or_sideways_scrolling(
    browser: Any, pages: dict[str, Path], kind: str, width: int, scheme: str
) -> None:
    visit(browser, pages[kind], width, scheme=scheme)
    assert browser.get_log("browser") == []
    sent = requests(browser)
    assert sent[0] == pages[kind].as_uri()
    assert all(url.startswith("data:") for url in sent[1:]), sent
    assert ask(browser, "document.documentElement.scrollWidth") <= width
    charts = "Array.from(document.querySelectorAll('.panels svg'))"
    assert ask(browser, f"{charts}.every(c => c.clientWidth <= c.parentElement.clientWidth)")
    assert ask(browser, f"{charts}.every(c => c.clientWidth > 180)")
    assert ask(browser, f"{charts}.length") >= 1
    cut = """Array.from(document.querySelectorAll('main *')).filter(
        e => !e.closest('.table, svg, .panels, details') && e.getBoundingClientRect().right > innerWidth + 1
    ).map(e => e.outerHTML.slice(0, 80))"""
    assert ask(browser, cut) == []


@WIDTHS
def test_the_first_screen_decides(browser: Any, pages: dict[str, Path], width: int) -> None:
    visit(browser, pages["release"], width)
    assert ask(browser, "document.querySelector('.verdict').getBoundingClientRect().bottom") <= 900
    if width > 1000:
        for part in (".cover", ".numbers", ".roles"):
            assert ask(browser, f"document.querySelector('{part}').getBoundingClientRect().bottom") <= 900
    assert ask(browser, "document.querySelector('.verdict h2').innerText") == "Met, but …"
    assert EVIL in ask(browser, "document.querySelector('.roles').innerText")


def test_no_words_of_a_figure_are_cut_off(browser: Any, pages: dict[str, Path]) -> None:
    """Every text of every chart lies inside its picture, as the browser measures it."""
    for kind in ("release", "frontier", "scenario"):
        visit(browser, pages[kind])
        outside = ask(
            browser,
            """Array.from(document.querySelectorAll('svg text')).filter(t => {
              const a = t.getBoundingClientRect(), b = t.closest('svg').getBoundingClientRect();
              return a.left < b.left - 3 || a.right > b.right + 3 || a.top < b.top - 3
                || a.bottom > b.bottom + 3;
            }).map(t => {
              const a = t.getBoundingClientRect(), b = t.closest('svg').getBoundingClientRect();
              return [t.textContent, a.left - b.left, b.right - a.right, a.top - b.top, b.bottom - a.bottom];
            })""",
        )
        assert outside == []


def test_what_is_beside_a_number_explains_it(browser: Any, pages: dict[str, Path]) -> None:
    """Each measure of the tables tells its meaning on hover, and leads to the list of meanings."""
    visit(browser, pages["release"])
    without = ask(
        browser,
        """Array.from(document.querySelectorAll('section:not(.first) td data')).filter(
          d => !d.closest('details') && !d.title && !d.closest('table').querySelector('thead .term')
        ).map(d => d.closest('table').caption.innerText + ': ' + d.closest('tr').cells[0].innerText)""",
    )
    assert [each for each in without if not each.startswith(("Requirements", "The release"))] == [
        "Classes and risks: rows"
    ]
    broken = """Array.from(document.querySelectorAll('a.term')).filter(
        a => !document.getElementById(a.hash.slice(1))).length"""
    assert ask(browser, broken) == 0
    assert ask(browser, "document.querySelectorAll('a.term').length") > 30


def test_names_and_values_show_as_text(browser: Any, pages: dict[str, Path]) -> None:
    visit(browser, pages["release"])
    text = ask(browser, "document.querySelector('main').innerText")
    assert EVIL in text
    assert "a&b with a rather long label" in text
    assert "s</style>" in text
    assert ask(browser, "document.querySelectorAll('script, iframe, object').length") == 0
    assert ask(browser, "document.querySelectorAll('img:not([alt])').length") == 0
    drawn = ask(
        browser, "Array.from(document.querySelectorAll('svg text')).map(t => t.textContent).join('\\n')"
    )
    assert EVIL in drawn


def test_scripts_are_forbidden_and_not_needed(browser: Any, pages: dict[str, Path]) -> None:
    visit(browser, pages["check"])
    added = "document.head.append(Object.assign(document.createElement('script'), {text: 'window.ran = 1'}))"
    ask(browser, added)
    assert ask(browser, "window.ran") is None
    [refused] = browser.get_log("browser")
    assert "Content Security Policy" in refused["message"]


@SCHEMES
def test_the_first_stop_of_the_keyboard_skips_to_the_content(
    browser: Any, pages: dict[str, Path], scheme: str
) -> None:
    visit(browser, pages["release"], scheme=scheme)
    browser.switch_to.active_element.send_keys(TAB)
    assert ask(browser, "document.activeElement.getAttribute('href')") == "#main"
    assert ask(browser, "document.activeElement.getBoundingClientRect().left") >= 0
    assert ask(browser, "getComputedStyle(document.activeElement).outlineStyle") == "solid"
    stops = set()
    for _ in range(90):
        browser.switch_to.active_element.send_keys(TAB)
        stops.add(ask(browser, "document.activeElement.tagName + '.' + document.activeElement.className"))
    assert {"DIV.table", "SUMMARY.", "A.term", "A.save"} <= stops


def test_a_table_that_goes_on_beyond_the_screen_says_so(browser: Any, pages: dict[str, Path]) -> None:
    """It scrolls by itself, and has a shadow at the end that is cut."""
    visit(browser, pages["comparison"], 390)
    wide = "Array.from(document.querySelectorAll('.table')).find(t => t.scrollWidth > t.clientWidth + 5)"
    assert ask(browser, f"getComputedStyle({wide}).overflowX") == "auto"
    assert ask(browser, f"getComputedStyle({wide}).backgroundImage").count("linear-gradient") == 4


def test_the_numbers_of_a_figure_open_with_the_keyboard(browser: Any, pages: dict[str, Path]) -> None:
    visit(browser, pages["release"])
    ask(browser, "document.querySelector('figure > details > summary').focus()")
    browser.switch_to.active_element.send_keys(ENTER)
    assert ask(browser, "document.querySelector('figure > details').open")
    assert ask(browser, "document.querySelector('figure > details table').clientHeight") > 50


def test_a_figure_can_be_saved(browser: Any, pages: dict[str, Path]) -> None:
    """What its link holds is the picture, which the browser shows."""
    visit(browser, pages["release"])
    link = "document.querySelector('a.save')"
    assert ask(browser, f"{link}.download").endswith(".svg")
    image = ask(browser, f"{link}.href")
    browser.get(image)
    assert ask(browser, "document.documentElement.tagName") == "svg"
    assert ask(browser, "document.documentElement.clientWidth") > 200


def test_a_screen_reader_is_told_what_each_figure_shows(browser: Any, pages: dict[str, Path]) -> None:
    """In the browser's own accessibility tree every picture has a name, and its numbers are a table."""
    visit(browser, pages["release"])
    browser.execute_cdp_cmd("Accessibility.enable", {})
    nodes = browser.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    names = [
        node.get("name", {}).get("value", "")
        for node in nodes
        if node.get("role", {}).get("value") == "image" and not node["ignored"]
    ]
    assert len(names) == ask(browser, "document.querySelectorAll('.panels svg').length")
    assert all(len(name) > 15 for name in names)
    assert any(name.startswith("People by class size. The height of a bar") for name in names)
    assert ask(
        browser,
        "Array.from(document.querySelectorAll('figure')).every(f => f.querySelector('details table'))",
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_as_drawn(browser: Any, pages: dict[str, Path], scheme: str) -> None:
    """What the browser computes, for every element with text of the page and of its charts: WCAG AA, 4.5."""
    visit(browser, pages["release"], scheme=scheme)
    least = ask(
        browser,
        """(() => {
          const light = c => c.map(v => v / 255)
            .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
            .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
          const parts = c => c.match(/[\\d.]+/g).map(Number);
          const ground = e => {
            for (; e; e = e.parentElement) {
              const c = parts(getComputedStyle(e).backgroundColor);
              if (c.length < 4 || c[3] > 0) return c.slice(0, 3);
            }
            return [255, 255, 255];
          };
          let least = 21;
          for (const e of document.querySelectorAll("header *, nav *, main *")) {
            const own = Array.from(e.childNodes).some(n => n.nodeType === 3 && n.data.trim());
            if (!own || e.matches("title")) continue;
            const words = getComputedStyle(e)[e.closest("svg") ? "fill" : "color"];
            const one = light(parts(words).slice(0, 3)), other = light(ground(e));
            least = Math.min(least, (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05));
          }
          return least;
        })()""",
    )
    assert 4.5 <= least < 21
    dark = ask(browser, "getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
    assert dark == (scheme == "dark")


def test_on_paper_it_is_black_on_white_and_fits(browser: Any, pages: dict[str, Path]) -> None:
    visit(browser, pages["release"], 720, kind="print", scheme="dark")
    assert ask(browser, "getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert ask(browser, "getComputedStyle(document.querySelector('nav')).display") == "none"
    assert ask(browser, "document.documentElement.scrollWidth") <= 720
    ink = "getComputedStyle(document.querySelector('svg text')).fill"
    assert ask(browser, ink) == "rgb(27, 31, 36)"


def test_a_pdf_is_made_by_printing(browser: Any, pages: dict[str, Path]) -> None:
    """Its first sheet is the decision with its lines to sign, the rest follows on others."""
    visit(browser, pages["release"])
    printed = browser.execute_cdp_cmd(
        "Page.printToPDF", {"preferCSSPageSize": True, "printBackground": False}
    )
    document = base64.b64decode(printed["data"])
    assert document.startswith(b"%PDF")
    sheets = len(re.findall(rb"/Type\s*/Page\b", document))
    assert 4 <= sheets <= 40
    ask(browser, "document.querySelectorAll('main > :not(.first)').forEach(e => e.remove())")
    first = browser.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True})
    assert len(re.findall(rb"/Type\s*/Page\b", base64.b64decode(first["data"]))) == 1
