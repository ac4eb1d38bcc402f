# SPDX-License-Identifier: Apache-2.0
"""How the command was started."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Started:
    """`words` tells the command as a report keeps it; `is_process`: this process runs nothing else."""

    words: Callable[[], str]
    is_process: bool = False

    def without_pandas(self) -> None:
        """Arrow shall not import pandas with the first array that it makes, which takes a third of a second.

        Who needs pandas imports it nevertheless, `to_pandas` among them. Without effect where the process has
        it already, or is another's, whose arrays may be made of frames.
        """
        if self.is_process and "pandas" not in sys.modules:
            import pyarrow as pa

            absent = _Absent()
            sys.meta_path.insert(0, absent)
            try:
                pa.array([])
            finally:
                sys.meta_path.remove(absent)


class _Absent:
    """A finder that says of pandas that it is not there."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
