# SPDX-License-Identifier: Apache-2.0
"""What more effort would have lost, estimated on some of Mondrian's classes."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from anon.classes import Classes, ranges, starts_of_sizes
from anon.encoding import Encoded
from anon.methods import curve
from anon.methods.hilbert import Axes
from anon.methods.repair import class_order, pack, sensitive_of, widths_of
from anon.methods.task import Task
from anoncore import recut

ROWS = 1 << 12  # that are looked at, at least,
SHARE, MOST_ROWS = 16, 1 << 15  # or one of so many, up to so many,
TIMES_K = 64  # or so many times k if that is more
BLOCKS = 4


@dataclass(frozen=True)
class Estimate:
    """Curve("balanced") would lose about `share` of what these classes lose, by `n_rows` of their rows."""

    share: float
    n_rows: int


def estimate_balanced(encoded: Encoded, classes: Classes, task: Task, k: int) -> Estimate | None:
    """What `Curve()` would make of classes that pass, from four blocks of whole classes with all their rows.

    Losses depend on how many rows there are, so that a sample of rows would not tell. The classes of a block
    follow each other along a Hilbert curve. None where nothing is lost.
    """
    n = len(classes.rows)
    least = max(k, task.rules.min_size)
    wanted = max(ROWS, TIMES_K * least, min(n // SHARE, MOST_ROWS))
    order = class_order(classes, encoded)
    sizes = classes.sizes[order]
    if wanted < n:
        middles = np.cumsum(sizes) - sizes / 2
        within = np.full(len(order), False)
        for block in range(BLOCKS):
            start = (n - wanted // BLOCKS) * block / (BLOCKS - 1)
            within |= (middles >= start) & (middles < start + wanted / BLOCKS)
        order = order[within]
    rows = classes.rows[ranges(classes.offsets[order], classes.offsets[order + 1])]
    axes = Axes.of(encoded, "ncp")
    keys = axes.keys([column[rows] for column in encoded.quasi_codes])
    along = np.lexsort(keys.T[::-1])
    place = np.empty(len(rows), np.uint32)
    place[along] = np.arange(len(rows), dtype=np.uint32)
    rows = rows[along]
    table = curve.Table(
        pack([column[rows] for column in encoded.quasi_codes]),
        sensitive_of(encoded, rows),
        widths_of(encoded.quasi),
        least,
        task.rules if task.rules.n_sensitive else None,
    )
    offsets = starts_of_sizes(classes.sizes[order])
    before = recut.divide(table.widths, table.records(place), offsets, max(len(rows), 1))[3]
    if not before:
        return None
    quiet = replace(task, progress=None)
    groups = curve.start(table, place, offsets, k > 1, task.n_threads)
    groups = curve.improve(table, axes, groups, "balanced", quiet, n)
    return Estimate(groups.loss / before, len(rows))
