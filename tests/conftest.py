# SPDX-License-Identifier: Apache-2.0
"""What every test shares: where the data lies, and how hard hypothesis tries."""

from __future__ import annotations

import os
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


def pytest_runtest_setup(item: pytest.Item) -> None:
    """A test of the Adult data says so when the files are absent; where they must be there, it fails."""
    if item.get_closest_marker("adult") and not (ADULT / "adult.data").exists():
        message = "the Adult files are absent: set ANON_DATA to the folder that holds adult/adult.data"
        if os.environ.get("ANON_REQUIRE_DATA") == "1":
            pytest.fail(message)
        pytest.skip(message)


@pytest.fixture(scope="session")
def adult_dir() -> Path:
    """The folder of the raw UCI Adult files, for tests marked `adult`."""
    return ADULT
