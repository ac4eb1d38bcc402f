# SPDX-License-Identifier: Apache-2.0
"""What every test shares: where the data lies, and how hard hypothesis tries."""

from __future__ import annotations

import glob
import importlib.util
import math
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

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
# Java in its first minutes: what compiles at length is not waited for, and neither code nor memory is tidied
JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
os.environ.setdefault("SPARK_LAUNCHER_OPTS", JAVA)
os.environ.setdefault(
    "SPARK_SUBMIT_OPTS", f"{JAVA} -XX:-UseCodeCacheFlushing -XX:ReservedCodeCacheSize=160m -XX:NewSize=300m"
)
POSTGRES = max(glob.glob("/usr/lib/postgresql/*/bin"), default=os.path.dirname(shutil.which("initdb") or ""))
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
    "postgres": (
        bool(POSTGRES) and have("adbc_driver_postgresql"),
        "no PostgreSQL: Debian's package postgresql, and the extra `db`",
    ),
    "docs": (have("mkdocs", "material", "mkdocstrings"), "no mkdocs: the extra `docs`"),
    "lint": (have("mypy"), "no mypy: the extra `lint`"),
    "mlxtend": (have("mlxtend"), "no mlxtend: the extra `peers`"),
    "numba": (have("numba"), "no Numba: the extra `eval`"),
    "opendp": (have("opendp"), "no OpenDP: the extra `eval`"),
    "png": (have("vl_convert"), "no vl-convert: the extra `eval`"),
    "polars": (have("polars"), "no polars: the extra `polars`"),
    "peers": (
        "ANON_PEERS_PYTHON" in os.environ,
        "other tools are not asked: set ANON_PEERS_PYTHON to an interpreter that has them (tests/peer.py)",
    ),
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Where ANON_EXAMPLES is a share, hypothesis makes but that share of each test's examples."""
    share, key = float(os.environ.get("ANON_EXAMPLES", 1)), "_hypothesis_internal_use_settings"
    tests = {getattr(item, "function", None) for item in items}
    for test in {each for each in tests if share < 1 and hasattr(each, key)}:
        whole = getattr(test, key)
        setattr(test, key, settings(whole, max_examples=math.ceil(share * whole.max_examples)))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip, with the reason, a test that needs what is not here; with ANON_REQUIRE=all it fails."""
    for marker, (here, message) in NEEDS.items():
        if item.get_closest_marker(marker) and not here:
            (pytest.fail if os.environ.get("ANON_REQUIRE") == "all" else pytest.skip)(message)


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The URI of a PostgreSQL of our own, for tests marked `postgres`; user `asked` has a password there."""
    with tempfile.TemporaryDirectory(prefix="anon-") as folder:
        who: dict[str, Any] = {}
        if os.getuid() == 0:  # as whom PostgreSQL does not run
            import pwd

            nobody = pwd.getpwnam("nobody")
            who = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
            os.chown(folder, nobody.pw_uid, nobody.pw_gid)

        def run(program: str, *words: str) -> None:
            subprocess.run(
                [f"{POSTGRES}/{program}", "-D", f"{folder}/data", *words],
                **who,
                cwd=folder,
                check=True,
                stdout=subprocess.DEVNULL,
            )

        run("initdb", "-U", "anon", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync")
        rules = Path(folder, "data", "pg_hba.conf")
        rules.write_text(f"local all asked scram-sha-256\n{rules.read_text()}")
        run("pg_ctl", "-l", f"{folder}/log", "-w", "-o", f"-k {folder} -h '' -F", "start")
        try:
            yield f"postgresql://anon@/postgres?host={folder}"
        finally:
            run("pg_ctl", "-m", "immediate", "-w", "stop")


@pytest.fixture(scope="session")
def adult_dir() -> Path:
    """The folder of the raw UCI Adult files, for tests marked `adult`."""
    return ADULT


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A headless browser, for tests marked `browser`."""
    from browsing import driver

    driven = driver(tmp_path_factory.mktemp("profile"))
    yield driven
    driven.quit()
