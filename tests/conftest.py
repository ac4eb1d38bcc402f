# SPDX-License-Identifier: Apache-2.0
"""What every test shares: where the data lies, and how hard hypothesis tries."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings

HERE = Path(__file__).parent
# tests share what stands beside them, in whichever storey
sys.path[:0] = [str(each) for each in (HERE, *sorted(HERE.iterdir())) if each.is_dir()]

settings.register_profile(
    "anon", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("anon")
# of a mutant it is enough to know that it fails
settings.register_profile("mutants", settings.get_profile("anon"), phases=[Phase.explicit, Phase.generate])

ROOT = Path(__file__).parent.parent
os.environ.setdefault("ANON_DATA", str(ROOT.parent / "shared" / "data"))
ADULT = Path(os.environ["ANON_DATA"]) / "adult"


def have(*libraries: str) -> bool:
    """Whether these can be imported."""
    return all(importlib.util.find_spec(name) for name in libraries)


NEEDS = {  # marker: whether what its tests need is here, and what to say where it is not
    "adult": (
        (ADULT / "adult.data").exists(),
        "the Adult files are absent: set ANON_DATA to the folder that holds adult/adult.data",
    ),
    "browser": (
        bool(shutil.which("chromium") and shutil.which("chromedriver")) and have("selenium"),
        "no browser: Debian's packages chromium and chromium-driver, and the extra `browser`",
    ),
    "java": (
        bool(shutil.which("java") or os.environ.get("JAVA_HOME")) and have("pyspark"),
        "no Spark: Debian's package openjdk-17-jre-headless, and the extra `spark`",
    ),
    "docs": (have("mkdocs", "material", "mkdocstrings"), "no mkdocs: the extra `docs`"),
    "mlxtend": (have("mlxtend"), "no mlxtend: the extra `peers`"),
    "peers": (
        "ANON_PEERS_PYTHON" in os.environ,
        "other tools are not asked: set ANON_PEERS_PYTHON to an interpreter that has them (tests/peer.py)",
    ),
}


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip, with the reason, a test that needs what is not here; with ANON_REQUIRE=all it fails."""
    for marker, (here, message) in NEEDS.items():
        if item.get_closest_marker(marker) and not here:
            (pytest.fail if os.environ.get("ANON_REQUIRE") == "all" else pytest.skip)(message)


@pytest.fixture(scope="session")
def adult_dir() -> Path:
    """The folder of the raw UCI Adult files, for tests marked `adult`."""
    return ADULT
