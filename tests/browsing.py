# SPDX-License-Identifier: Apache-2.0
"""A browser for tests marked `browser`: headless Chromium, through its own driver, with an empty profile."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path
from typing import Any

TAB, ENTER = "\ue004", "\ue007"  # as WebDriver sends them
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    "--disable-dev-shm-usage",
)

CONTRAST = """(() => {
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
})()"""
"""The least contrast of any text of the page and of its charts with what is behind it."""


def driver(profile: Path) -> Any:
    """Chromium and its driver are Debian's packages `chromium` and `chromium-driver`."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for flag in (*FLAGS, f"--user-data-dir={profile}", "about:blank"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))


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
    end = time.monotonic() + 60
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
