# SPDX-License-Identifier: Apache-2.0
"""The reports in a real browser: headless Chromium, through its own driver, with an empty profile."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import anon
from anon.pages import report

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
    folder = tmp_path_factory.mktemp("pages")
    released = release.table
    made = {
        "release": report.of_release(release),
        "check": report.of_check(anon.check(released, schema, per_class=True), released),
        "comparison": report.of_comparison(release.utility()),
    }
    paths = {}
    for name, one in made.items():
        paths[name] = folder / f"{name}.html"
        one.write(paths[name])
    return paths


def visit(browser: Any, page: Path, width: int = 1280, **media: str) -> None:
    """Open a page, logs emptied, and wait until its charts are drawn."""
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
    end = time.monotonic() + 20
    while not ask(browser, expression):
        assert time.monotonic() < end, expression
        time.sleep(0.05)


def wait_for_charts(browser: Any) -> None:
    wait_for(
        browser,
        "document.querySelectorAll('.chart img:not([hidden])').length === 0"
        " && document.querySelectorAll('.chart .live svg').length > 0",
    )


def requests(browser: Any) -> list[str]:
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    return [
        message["params"]["request"]["url"]
        for message in messages
        if message["method"] == "Network.requestWillBeSent"
    ]


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("kind", ["release", "check", "comparison"])
def test_a_report_is_drawn_without_errors_requests_or_sideways_scrolling(
    browser: Any, pages: dict[str, Path], kind: str, width: int
) -> None:
    visit(browser, pages[kind], width)
    wait_for_charts(browser)
    assert browser.get_log("browser") == []
    sent = requests(browser)
    assert sent[0] == pages[kind].as_uri()
    assert all(url.startswith("data:") for url in sent[1:]), sent
    assert ask(browser, "document.documentElement.scrollWidth") <= width
    charts = "Array.from(document.querySelectorAll('.chart'))"
    assert ask(browser, f"{charts}.every(c => c.querySelector('svg').clientWidth <= c.clientWidth)")
    assert ask(browser, f"{charts}.every(c => c.querySelector('svg').clientWidth > 200)")
    assert ask(browser, f"{charts}.length") >= 2


@pytest.mark.parametrize("width", [390, 1280])
def test_without_scripts_the_images_show(browser: Any, pages: dict[str, Path], width: int) -> None:
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        visit(browser, pages["release"], width)
        wait_for(browser, "document.readyState === 'complete'")
        images = "Array.from(document.querySelectorAll('.chart img'))"
        assert ask(browser, f"{images}.length") >= 4
        assert ask(browser, f"{images}.every(i => i.complete && i.naturalWidth > 400 && !i.hidden)")
        assert ask(browser, f"{images}.every(i => i.clientWidth > 200 && i.alt.length > 40)")
        assert ask(browser, "document.querySelectorAll('svg').length") == 0
        assert ask(browser, "document.documentElement.scrollWidth") <= width
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def test_names_and_values_show_as_text(browser: Any, pages: dict[str, Path]) -> None:
    visit(browser, pages["release"])
    wait_for_charts(browser)  # an alert would stop the driver here
    text = ask(browser, "document.querySelector('main').innerText")
    assert EVIL in text
    assert "a&b with a rather long label" in text
    assert "s</style>" in text
    assert ask(browser, "document.querySelectorAll('script:not([type]), iframe, object').length") == 1
    assert ask(browser, "document.querySelectorAll('img:not([alt])').length") == 0
    drawn = ask(
        browser, "Array.from(document.querySelectorAll('.live svg text')).map(t => t.textContent).join('\\n')"
    )
    assert EVIL in drawn


def test_evaluating_text_is_forbidden_and_not_needed(browser: Any, pages: dict[str, Path]) -> None:
    visit(browser, pages["check"])
    wait_for_charts(browser)
    added = "document.head.append(Object.assign(document.createElement('script'), {text: 'window.ran = 1'}))"
    ask(browser, added)
    assert ask(browser, "window.ran") is None
    [refused] = browser.get_log("browser")
    assert "Content Security Policy" in refused["message"]


def test_the_first_stop_of_the_keyboard_skips_to_the_content(browser: Any, pages: dict[str, Path]) -> None:
    visit(browser, pages["release"])
    wait_for_charts(browser)
    browser.switch_to.active_element.send_keys(TAB)
    assert ask(browser, "document.activeElement.getAttribute('href')") == "#main"
    assert ask(browser, "document.activeElement.getBoundingClientRect().left") >= 0
    assert ask(browser, "getComputedStyle(document.activeElement).outlineStyle") == "solid"
    stops = set()
    for _ in range(60):
        browser.switch_to.active_element.send_keys(TAB)
        stops.add(ask(browser, "document.activeElement.tagName + '.' + document.activeElement.className"))
    assert {"DIV.table", "SUMMARY."} <= stops


def test_the_numbers_of_a_figure_open_with_the_keyboard(browser: Any, pages: dict[str, Path]) -> None:
    visit(browser, pages["release"])
    wait_for_charts(browser)
    ask(browser, "document.querySelector('figure > details > summary').focus()")
    browser.switch_to.active_element.send_keys(ENTER)
    assert ask(browser, "document.querySelector('figure > details').open")
    assert ask(browser, "document.querySelector('figure > details table').clientHeight") > 50


def test_a_chart_can_be_saved_as_an_image(browser: Any, pages: dict[str, Path]) -> None:
    visit(browser, pages["release"])
    wait_for_charts(browser)
    ask(browser, "document.querySelector('.vega-embed details').open = true")
    links = "document.querySelectorAll('.vega-embed .vega-actions')[0].querySelectorAll('a')"
    assert ask(browser, f"{links}.length") == 2
    for i in range(2):
        ask(browser, f"{links}[{i}].dispatchEvent(new MouseEvent('mousedown'))")
        wait_for(browser, f"/^(data:image|blob:)/.test({links}[{i}].href)")
    assert browser.get_log("browser") == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_as_drawn(browser: Any, pages: dict[str, Path], scheme: str) -> None:
    """What the browser computes, for every element with text outside the charts: WCAG AA, 4.5."""
    visit(browser, pages["release"], scheme=scheme)
    wait_for_charts(browser)
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
            if (!own || e.closest(".chart") || e.matches("script, style")) continue;
            const one = light(parts(getComputedStyle(e).color).slice(0, 3)), other = light(ground(e));
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
    wait_for_charts(browser)
    assert ask(browser, "getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert ask(browser, "getComputedStyle(document.querySelector('nav')).display") == "none"
    assert ask(browser, "document.documentElement.scrollWidth") <= 720
