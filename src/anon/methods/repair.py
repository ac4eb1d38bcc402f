# SPDX-License-Identifier: Apache-2.0
"""Repair: classes that fail a requirement are merged with neighbors; shared by all growing methods."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from anon.encode import Domain
from anoncore import curve


def widths_of(domains: Sequence[Domain], loss: str = "ncp") -> curve.Widths:
    """Widths of the cells of these attributes; with `loss="ordered"` every one is a line of ranks."""
    ranks = loss == "ordered"
    return curve.Widths(
        [domain.n_values for domain in domains],
        [domain.weight for domain in domains],
        [np.arange(domain.n_values, dtype=np.float64) if ranks else domain.positions for domain in domains],
        [
            None
            if domain.tree is None or ranks
            else (domain.tree.parent, domain.tree.first, domain.tree.last, domain.tree.leaf)
            for domain in domains
        ],
    )


def repair() -> None: ...
