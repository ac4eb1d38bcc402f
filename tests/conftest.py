# SPDX-License-Identifier: Apache-2.0
"""What every test shares: where the data lies, and how hard hypothesis tries."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

sys.path.insert(0, str(Path(__file__).parent))

settings.register_profile(
    "anon", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("anon")

ROOT = Path(__file__).parent.parent
DATA = Path(os.environ.get("ANON_DATA", ROOT.parent / "shared" / "data"))


@pytest.fixture(scope="session")
def adult_dir() -> Path:
    """The folder of the raw UCI Adult files; a test that needs it says so when it is absent."""
    folder = DATA / "adult"
    if not (folder / "adult.data").exists():
        message = "the Adult files are absent: set ANON_DATA to the folder that holds adult/adult.data"
        if os.environ.get("ANON_REQUIRE_DATA") == "1":
            pytest.fail(message)
        pytest.skip(message)
    return folder
