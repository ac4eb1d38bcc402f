# SPDX-License-Identifier: Apache-2.0
"""Where cells begin and end on the line of an attribute."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from anon.classes.generalized import Cells
from anon.encoding import Domain

Reach = tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]  # from and to, on the domain's line


def single_cells(domain: Domain) -> Cells:
    """One cell per code: the value itself, or null."""
    codes = np.arange(domain.n_codes, dtype=np.uint32)
    null = codes >= domain.n_values
    low, high = codes + null, codes.copy()
    if domain.kind != "nominal" or domain.tree is not None:
        return Cells(domain, codes, low, high, null)
    offsets = np.append(np.arange(domain.n_values + 1), [domain.n_values] * domain.has_null).astype(np.int64)
    return Cells(domain, codes, low, high, null, offsets, codes[: domain.n_values])


def intact_cells(domain: Domain) -> Cells:
    """What a bucketization shows of each code: the value itself or all that is coded as it, or null."""
    single = single_cells(domain)
    coding = domain.coding
    if coding is None or not domain.n_values:
        return single
    low, high = single.low.copy(), single.high.copy()
    low[: domain.n_values], high[: domain.n_values] = coding.first, coding.last
    return replace(single, low=low, high=high)


def reach(cells: Cells, by_level: bool = False) -> Reach | None:
    """Where each cell begins and ends on the attribute's line; in a tree that is the line of leaves.

    None for sets. A coded value is all that is coded as it, within the domain. `by_level`: cells of numeric
    attributes are the intervals of their levels.
    """
    if cells.set_codes is not None:
        return None
    domain = cells.domain
    empty = cells.low > cells.high
    low, high = np.where(empty, 0, cells.low), np.where(empty, 0, cells.high)
    if domain.positions is None or not domain.n_values:
        return low.astype(np.float64), high.astype(np.float64)
    lower, upper = (ends[codes] for ends, codes in zip(domain.ends, (low, high), strict=True))
    if by_level and domain.levels is not None:
        chosen = domain.levels.interval_of(low, high)
        is_open = domain.coding is not None and domain.coding.is_open(low, high)
        # -1 (no level holds the cell) picks the whole domain
        at_level = np.append(domain.levels.lower, domain.positions[0])[chosen]
        lower = np.where(is_open, lower, at_level)
        at_level = np.append(domain.levels.upper, domain.positions[-1])[chosen]
        upper = np.where(is_open, upper, at_level)
    return lower, upper
