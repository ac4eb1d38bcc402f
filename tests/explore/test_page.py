# SPDX-License-Identifier: Apache-2.0
"""The whole job on the page, as people do it in a browser with the Adult data, by mouse and by keys alone."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from asking import Started

import anon
from anon.command import main
from browsing import CONTRAST, ENTER, TAB, ask, requests, visit, wait_for

pytestmark = [pytest.mark.browser, pytest.mark.adult]

DOWN, RIGHT, LEFT = "\ue015", "\ue014", "\ue012"
QUASI, SENSITIVE = ("age", "education", "marital-status", "sex"), ("occupation",)
WORDS = {"quasi": "quasi-identifier", "sensitive": "sensitive", "neutral": "neutral (as it is)"}
LEVELS = {
    "Divorced": "was married", "Separated": "was married", "Widowed": "was married",
    "Married-AF-spouse": "married", "Married-civ-spouse": "married", "Married-spouse-absent": "married",
    "Never-married": "never married",
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, adult_dir: Path) -> Path:
    """Adult with a number of each person, two hierarchies, and what will be written."""
    folder = tmp_path_factory.mktemp("adult")
    table = anon.datasets.adult(adult_dir)
    table = table.append_column("number", [[*range(table.num_rows)]])
    pq.write_table(table, folder / "adult.parquet")
    (folder / "status.csv").write_text("".join(f"{value};{above};*\n" for value, above in LEVELS.items()))
    (folder / "bad.csv").write_text("Divorced;was married;*\n")
    (folder / "latin.csv").write_text("Divorced;séparé;*\n", "latin-1")
    (folder / "out").mkdir()
    return folder


@pytest.fixture(scope="module")
def page(folder: Path, browser: Any) -> Iterator[Started]:
    """The page, open in the browser; tests go on in their order."""
    with Started(folder / "adult.parquet", "--folder", folder / "out") as started:
        visit(browser, started.door)
        wait_for(browser, "document.querySelector('#answer .verdict') !== null")
        yield started


def columns(browser: Any) -> list[str]:
    """The columns as they are listed."""
    names = "Array.from(document.querySelectorAll('.columns tbody th'), e => e.firstChild.data)"
    return list(ask(browser, names))


def number(browser: Any, column: str) -> int:
    """Which row of the list a column is."""
    return columns(browser).index(column)


def control(browser: Any, name: str) -> Any:
    from selenium.webdriver.common.by import By

    return browser.find_element(By.CSS_SELECTOR, f"[name='{name}']")


def choose(browser: Any, name: str, words: str) -> None:
    from selenium.webdriver.support.select import Select

    Select(control(browser, name)).select_by_visible_text(words)


def click(browser: Any, selector: str) -> None:
    from selenium.webdriver.common.by import By

    found = browser.find_element(By.CSS_SELECTOR, selector)
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", found)
    found.click()


def shows(browser: Any, selector: str, words: str) -> None:
    """Wait until a part of the page shows these words."""
    wait_for(browser, f"(document.querySelector('{selector}')?.innerText || '').includes({words!r})")


def test_the_roles_are_guessed_and_chosen(page: Started, browser: Any) -> None:
    assert browser.current_url == f"http://127.0.0.1:{page.port}/"
    assert ask(browser, "document.cookie") == ""  # no script reads it
    guessed = ask(browser, "Array.from(document.querySelectorAll('[name^=role]'), e => e.value)")
    assert guessed.count("quasi") > 5
    shows(browser, ".columns", "age, sex, origin or a date of life")
    for i, name in enumerate(columns(browser)):
        role = "quasi" if name in QUASI else "sensitive" if name in SENSITIVE else ""
        choose(browser, f"role.{i}", WORDS.get(role, "not published"))
    shows(browser, "#answer", "values of occupation in a class")
    shows(browser, "#answer", "By Mondrian, for 10-anonymity")
    assert "11 columns have no role" not in ask(browser, "document.querySelector('.verdict').innerText")


def test_a_hierarchy_is_imported_and_a_bad_one_refused(page: Started, browser: Any, folder: Path) -> None:
    i = number(browser, "marital-status")
    click(browser, f"#column-{i} summary")
    upload = f"#column-{i} input[type=file]"
    from selenium.webdriver.common.by import By

    browser.find_element(By.CSS_SELECTOR, upload).send_keys(str(folder / "latin.csv"))
    shows(browser, f"#column-{i} .fault", "not in UTF-8")
    browser.find_element(By.CSS_SELECTOR, upload).send_keys(str(folder / "bad.csv"))
    shows(browser, f"#column-{i} .fault", "its hierarchy does not list")
    assert "marital-status" in ask(browser, f"document.querySelector('#column-{i} .fault').innerText")
    assert ask(browser, f"document.querySelector('#column-{i} textarea')") is None
    browser.find_element(By.CSS_SELECTOR, upload).send_keys(str(folder / "status.csv"))
    wait_for(browser, f"document.querySelector('#column-{i} textarea') !== null")
    assert "Widowed;was married;*" in ask(browser, f"document.querySelector('#column-{i} textarea').value")
    assert ask(browser, f"document.querySelector('#column-{i} .fault').innerText") == ""


def test_k_and_l_are_asked_for(page: Started, browser: Any) -> None:
    """One by its number, the other by its slider."""
    k = control(browser, "k")
    k.clear()
    k.send_keys("25")
    slider = "document.querySelector('[data-for=at-l]')"
    ask(browser, f"{slider}.focus()")
    browser.switch_to.active_element.send_keys(RIGHT, RIGHT)
    assert ask(browser, "document.getElementsByName('l')[0].value") == "2"
    shows(browser, "#answer", "for 25-anonymity, 2-diversity (probabilistic)")
    assert ask(browser, "document.querySelector('.verdict h2').innerText") == "Met"
    choose(browser, "l_kind", "distinct")
    shows(browser, "#answer", "2-diversity (distinct)")


def test_neutral_columns_are_warned_of(page: Started, browser: Any) -> None:
    choose(browser, f"role.{number(browser, 'number')}", WORDS["neutral"])
    shows(browser, "#answer .warnings", "is neutral but more than 90 % of its values are distinct")
    shows(browser, "#answer .verdict", "For whoever knows the neutral columns too (number) k is 1")
    shows(browser, "#answer .numbers", "greatest risk, neutral columns known\n1")
    choose(browser, f"role.{number(browser, 'number')}", "not published")
    wait_for(browser, "!document.querySelector('#answer').innerText.includes('neutral columns')")


def test_figures_are_shown_where_they_are_asked_for(page: Started, browser: Any) -> None:
    for act, words in (("rows", "As they are published"), ("losses", "What it cost"), ("risk", "People by")):
        click(browser, f"[data-do={act}]")
        shows(browser, "#more", words)
    assert ask(browser, "document.querySelectorAll('#more .panels svg').length") >= 2
    click(browser, "[data-do=lattice]")
    shows(browser, "#more .fault", "full-domain")


def test_a_point_of_the_frontier_is_picked(page: Started, browser: Any) -> None:
    """By its mark in the figure, and another by its button."""
    grid = control(browser, "grid")
    grid.clear()
    grid.send_keys("k=10,50 method=mondrian,curve")
    click(browser, "#sweep button")
    wait_for(browser, "document.querySelectorAll('[data-take]').length === 4")
    mark = """Array.from(document.querySelectorAll('#frontier svg [transform]')).find(
        e => e.querySelector('title')?.textContent.startsWith('name: mondrian k=50'))"""
    ask(browser, f"{mark}.dispatchEvent(new MouseEvent('click', {{bubbles: true}}))")
    wait_for(browser, "document.querySelector('[aria-current]')?.dataset.take.startsWith('mondrian k=50')")
    assert ask(browser, "document.getElementsByName('k')[0].value") == "50"
    assert ask(browser, "document.getElementsByName('l_kind')[0].value") == "distinct"
    click(browser, "[data-take^='curve k=10']")
    shows(browser, "#answer", "as a fast look: Curve (balanced) is asked for")
    assert ask(browser, "document.getElementsByName('how')[0].value") == "effort=balanced"
    click(browser, "[data-do=make]")
    shows(browser, "#answer", "By Curve (balanced), for 10-anonymity, 2-diversity (distinct).")


def test_the_export_is_made_again_by_its_command(
    page: Started, browser: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    click(browser, "#export button")
    shows(browser, "#exported", "anon anonymize --config release.job.toml")
    out = folder / "out"
    assert sorted(each.name for each in out.iterdir()) == [
        *("release.job.toml", "release.marital-status.csv", "release.parquet")
    ]
    first = pq.read_table(out / "release.parquet")
    assert first.column_names == [*QUASI[:3], "occupation", "sex"]
    assert {*first["marital-status"].to_pylist()} & {"married", "was married", "*"}
    assert anon.check(out / "release.parquet").k >= 10
    click(browser, "#export button")
    shows(browser, "#exported", "there already; choose another name, or ask to replace")
    monkeypatch.chdir(out)
    assert main(["anonymize", "--config", "release.job.toml", "--quiet"]) == 0
    again = pq.read_table(out / "release.parquet")
    by = [(name, "ascending") for name in first.column_names]
    assert again.sort_by(by).equals(first.sort_by(by))  # rows of a class come in an order that is drawn


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_and_fits(page: Started, browser: Any, scheme: str) -> None:
    """With all that was shown so far on it; as the tests of reports measure it."""
    for width in (390, 1280):
        metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "screen", "features": features})
        ask(browser, "document.querySelectorAll('details').forEach(e => { e.open = true; })")
        assert ask(browser, "document.documentElement.scrollWidth") <= width
        cut = """Array.from(document.querySelectorAll('main *')).filter(
            e => !e.closest('.table, svg, .panels, figure details, .unseen')
              && e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 80))"""
        assert ask(browser, cut) == []
        assert 4.5 <= ask(browser, CONTRAST) < 21
    dark = ask(browser, "getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
    assert dark == (scheme == "dark")


def test_every_control_has_a_name(page: Started, browser: Any) -> None:
    """As a screen reader is told it."""
    browser.execute_cdp_cmd("Accessibility.enable", {})
    nodes = browser.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    kinds = {"textbox", "combobox", "button", "slider", "checkbox", "DisclosureTriangle"}
    found = [node for node in nodes if node.get("role", {}).get("value") in kinds and not node["ignored"]]
    assert len(found) > 50
    assert [node["nodeId"] for node in found if not node.get("name", {}).get("value", "").strip()] == []


def test_keys_alone_do_the_job(page: Started, browser: Any, folder: Path) -> None:
    """Loaded again, from the first stop on: skip, a role, k, the frontier, export; nothing is clicked."""
    from selenium.webdriver.common.action_chains import ActionChains

    def press(*keys: str) -> None:
        ActionChains(browser).send_keys(*keys).perform()

    def go_to(name: str) -> None:
        for _ in range(400):
            press(TAB)
            if ask(browser, f"document.activeElement.matches({name!r})"):
                shown = "document.activeElement.getBoundingClientRect()"
                assert ask(browser, f"{shown}.top < innerHeight && {shown}.bottom > 0")
                assert ask(browser, "getComputedStyle(document.activeElement).outlineStyle") != "none"
                return
        raise AssertionError(f"no stop at {name}")

    browser.refresh()
    wait_for(browser, "document.querySelector('#answer .verdict') !== null")
    press(TAB)
    assert ask(browser, "document.activeElement.getAttribute('href')") == "#result"
    go_to(f"[name='role.{number(browser, 'race')}']")
    press("q")
    assert ask(browser, "document.activeElement.value") == "quasi"
    go_to("[data-for=at-k]")
    before = ask(browser, "document.getElementsByName('k')[0].value")
    press(LEFT)
    k = ask(browser, "document.getElementsByName('k')[0].value")
    assert int(k) < int(before)
    shows(browser, "#answer", f"for {k}-anonymity")
    go_to("[data-do=rows]")
    press(ENTER)
    shows(browser, "#more", "race")
    go_to("[name=grid]")
    press(ENTER)
    wait_for(browser, "document.querySelector('[data-take]') !== null")
    go_to("[data-take]")
    taken = ask(browser, "document.activeElement.dataset.take")
    press(ENTER)
    wait_for(browser, "document.querySelector('[aria-current]') !== null")
    assert ask(browser, "document.activeElement.dataset.take") == taken  # where one was, one stays
    go_to("#export [name=name]")
    press("keys.csv", ENTER)  # what is there is selected where keys come to it
    shows(browser, "#exported", "--config keys.job.toml")
    assert (folder / "out" / "keys.job.toml").exists()


def test_nothing_went_wrong_and_nobody_else_was_asked(page: Started, browser: Any) -> None:
    told = [each for each in browser.get_log("browser") if each["level"] != "INFO"]
    assert told == []
    own = (f"http://127.0.0.1:{page.port}/", "data:", page.door.as_uri())
    assert [url for url in requests(browser) if not url.startswith(own)] == []


def test_it_ends_with_its_page(page: Started, browser: Any) -> None:
    assert page.process.poll() is None
    browser.get("about:blank")
    assert page.process.wait(60) == 0
    assert page.process.stderr is not None
    assert page.process.stderr.read() == ""
    assert not os.path.exists(page.door)
