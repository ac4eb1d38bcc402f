# SPDX-License-Identifier: Apache-2.0
"""What a process of the command alone leaves out."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest


@pytest.fixture
def people(tmp_path: Path) -> Path:
    path = tmp_path / "in.csv"
    table = pa.table({"age": [i % 10 for i in range(100)], "sex": ["f", "m"] * 50, "ill": ["no"] * 100})
    pa_csv.write_csv(table, path)
    return path


def test_frames_are_read_as_before_by_a_program_that_calls_the_command(people: Path) -> None:
    program = (
        "import sys\nfrom anon.command import main\n"
        f"assert main(['check', {str(people)!r}, '--quasi', 'age,sex', '-q']) == 0\n"
        "import pandas, pyarrow\n"
        "assert pyarrow.array(pandas.Series([1, None])).null_count == 1\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_what_needs_pandas_has_it_nevertheless() -> None:
    program = (
        "import sys, pyarrow\nfrom anon.command.entry import _without_pandas\n_without_pandas()\n"
        "assert 'pandas' not in sys.modules\n"
        "assert pyarrow.array([1, 2]).to_pandas().tolist() == [1, 2]\n"
        "assert pyarrow.array(sys.modules['pandas'].Series([1, None])).null_count == 1\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
