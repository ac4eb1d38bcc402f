# SPDX-License-Identifier: Apache-2.0
"""What every method is handed beside the table and its own parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from anon.entropy import Entropy, system
from anoncore.requirement import Conjunction

Progress = Callable[[str, int, int], None]
"""Called as progress(stage, done, total), from the calling thread."""


@dataclass(frozen=True)
class Task:
    """The requirements to enforce, and the means to do so.

    `rules` is the compiled conjunction, `rng` draws where a search starts, `entropy` whatever hides
    something, `n_threads` is the number of worker threads (>= 1), `progress` is told how far the work has
    come.
    """

    rules: Conjunction
    rng: np.random.Generator
    n_threads: int = 1
    progress: Progress | None = None
    entropy: Entropy = system
