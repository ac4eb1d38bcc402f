# SPDX-License-Identifier: Apache-2.0
"""Makes the pictures of reports and of `anon explore` that the documentation shows, with Chromium and its
driver (extra `browser`); Pillow, where it is installed, makes them smaller.

python docs/screenshots.py
"""

from __future__ import annotations

import base64
import contextlib
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
CENSUS = ["--config", str(HERE / "screenshots.toml")]
# name: which page, how wide and high, dark
SHOTS = {
    "report-light": ("release.html", 1000, 760, False),
    "report-dark": ("release.html", 1000, 760, True),
    "frontier": ("frontier.html", 1000, 1500, False),
    "explore": ("census.parquet", 1200, 900, False),  # which a page of its own is about
}


def make(folder: Path) -> None:
    """Write the reports to a folder."""

    def anon(*words: str) -> None:
        subprocess.run(
            [sys.executable, "-m", "anon", *words], cwd=folder, check=True, stdout=subprocess.DEVNULL
        )

    anon("data", "census", "--rows", "3000", "-o", "census.parquet", "--quiet")
    about = ["--title", "Census of a town", "--purpose", "Research on work and education"]
    about += ["--recipient", "Members of the institute"]
    anon(
        "anonymize",
        "census.parquet",
        "-o",
        "release.csv",
        *CENSUS,
        *about,
        "--report",
        "release.html",
        "--quiet",
    )
    grid = "method=mondrian,curve k=5,10,25,50,100"
    anon("frontier", "census.parquet", *CENSUS, "--grid", grid, "--report", "frontier.html", "--quiet")


@contextlib.contextmanager
def opened(table: Path) -> Iterator[Path]:
    """The file that opens the page of `anon explore` about a table, while that runs."""
    command = [sys.executable, "-m", "anon", "explore", table.name, "--no-browser"]
    with subprocess.Popen(command, cwd=table.parent, stderr=subprocess.PIPE, text=True) as explored:
        assert explored.stderr is not None
        try:
            yield Path(explored.stderr.readline().rpartition("file://")[2].strip())
        finally:
            explored.send_signal(signal.SIGINT)


def shoot(browser: Any, page: Path, picture: Path, width: int, height: int, dark: bool) -> None:
    """Write what a window of that size shows of a page, once it answers what it asks to begin with."""
    from selenium.webdriver.support.ui import WebDriverWait

    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
    browser.get(page.as_uri())
    asked = "return document.title != 'anon explore' || !!document.querySelector('#answer .by')"
    WebDriverWait(browser, 120).until(lambda browser: browser.execute_script(asked))
    picture.write_bytes(base64.b64decode(browser.get_screenshot_as_base64()))


def shrink(picture: Path) -> None:
    """Leave 128 colors: text and plain marks need no more."""
    with contextlib.suppress(ImportError):
        from PIL import Image

        whole = Image.open(picture).convert("RGB")
        fewer = whole.quantize(128, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
        fewer.save(picture, optimize=True)


def main(pictures: Path = HERE / "pictures") -> None:
    """Make the reports and write the pictures."""
    from selenium import webdriver

    pictures.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        make(Path(folder))
        options = webdriver.ChromeOptions()
        for flag in ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
            options.add_argument(flag)
        with webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver"))) as browser:
            for name, (page, width, height, dark) in SHOTS.items():
                picture = pictures / f"{name}.png"
                source = Path(folder) / page
                with opened(source) if page.endswith(".parquet") else contextlib.nullcontext(source) as shown:
                    shoot(browser, shown, picture, width, height, dark)
                shrink(picture)


if __name__ == "__main__":
    main()
