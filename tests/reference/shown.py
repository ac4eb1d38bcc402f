# SPDX-License-Identifier: Apache-2.0
"""What a release shows of each attribute, row by row: every row is spread over the codes of its cell."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from scipy.stats.contingency import association

Spread = Mapping[int, float]  # the shares of a row by code


def covered(cells: Any, cell: int) -> list[int]:
    """The codes that a cell covers, null's after the others."""
    if cells.set_offsets is not None:
        codes = cells.set_codes[cells.set_offsets[cell] : cells.set_offsets[cell + 1]].tolist()
    else:
        codes = list(range(int(cells.low[cell]), int(cells.high[cell]) + 1))
    return codes + [cells.domain.n_values] * bool(cells.null[cell])


def spreads(published: Any, i: int) -> list[Spread]:
    """Of each published row, class by class, what its cell of quasi-identifier i says of its code."""
    rows = []
    for class_id, size in enumerate(published.classes.sizes.tolist()):
        if published.cells is None:
            start = published.classes.offsets[class_id]
            rows += [
                {int(published.intact[i][row]): 1.0} for row in published.classes.rows[start : start + size]
            ]
            continue
        codes = covered(published.cells[i], int(published.cells[i].of_class[class_id]))
        rows += [dict.fromkeys(codes, 1 / len(codes))] * size
    return rows


def sensitive_spreads(published: Any, s: int) -> list[Spread]:
    """Of each published row what its class says of the code of its s-th sensitive attribute."""
    rows: list[Spread] = []
    counts = published.counts[s]
    for start, stop in itertools.pairwise(counts.offsets.tolist()):
        held = dict(zip(counts.values[start:stop].tolist(), counts.counts[start:stop].tolist(), strict=True))
        total = sum(held.values())
        rows += [{code: count / total for code, count in held.items()}] * total
    return rows


def distribution(rows: Sequence[Spread]) -> dict[int, float]:
    """The share of each code."""
    summed: Counter[int] = Counter()
    for row in rows:
        for code, share in row.items():
            summed[code] += share  # type: ignore[assignment]
    return {code: total / len(rows) for code, total in summed.items()}


def cramers_v(one: Sequence[Spread], other: Sequence[Spread]) -> float:
    """Cramér's V of the expected joint table, by SciPy; NaN where a side has one value."""
    joint: defaultdict[tuple[int, int], float] = defaultdict(float)
    for a, b in zip(one, other, strict=True):
        for (code, share), (other_code, other_share) in itertools.product(a.items(), b.items()):
            joint[code, other_code] += share * other_share
    lines, columns = (sorted({pair[i] for pair in joint}) for i in (0, 1))
    if len(lines) < 2 or len(columns) < 2:
        return math.nan
    # whole numbers, which SciPy asks for: counts of a millionth of a row
    table = [[round(joint[a, b] * 10**6) for b in columns] for a in lines]
    return float(association(table, method="cramer"))
