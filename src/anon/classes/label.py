# SPDX-License-Identifier: Apache-2.0
"""Each cell as one text."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from anon.classes.generalized import Cells
from anon.classes.reading import (
    cell_atoms,
    extents,
    intervals,
    joined_texts,
    level_names,
    named_leaves,
    reader,
)
from anon.classes.text import MISSING, OR_MISSING, ROOT, Rendering, quote, texts
from anon.encoding import Domain
from anon.errors import DataError, UsageError


def to_levels(cells: Cells) -> Cells:
    """The cells widened to the smallest of the attribute's levels that holds them; else to all values.

    Cells that become equal are one. Raises UsageError where the attribute has no levels, or where
    the values of a level's set do not follow each other in the domain.
    """
    domain = cells.domain
    levels = domain.levels
    if levels is None:
        raise UsageError(
            f"column {domain.name!r} has no levels to publish; give it intervals(), dates() or a CSV "
            "hierarchy, or choose another rendering of numbers"
        )
    low, high = cells.low.copy(), cells.high.copy()
    is_present = low <= high
    chosen = levels.interval_of(low[is_present], high[is_present])
    first, last, size = extents(levels)
    if domain.coding is not None:  # what is open at one end, or would become so, is no level's
        wider = np.append(first, 0)[chosen], np.append(last, domain.n_values - 1)[chosen]
        stays = domain.coding.is_open(low, high)[is_present] | (domain.coding.is_open(*wider) & (chosen >= 0))
        is_present[is_present] = ~stays
        chosen = chosen[~stays]
    gaps = np.flatnonzero(np.append(size != last - first + 1, False)[chosen])
    if len(gaps):
        raise UsageError(
            f"column {domain.name!r}: the values under {levels.labels[chosen[gaps[0]]]!r} do not follow each "
            "other, so that it cannot be published as an interval; choose another rendering of numbers"
        )
    low[is_present] = np.append(first, 0)[chosen]
    high[is_present] = np.append(last, domain.n_values - 1)[chosen]
    order = np.lexsort((cells.null, high, low))
    low, high, null = low[order], high[order], cells.null[order]
    new = np.ones(len(low), dtype=np.bool_)
    new[1:] = (low[1:] != low[:-1]) | (high[1:] != high[:-1]) | (null[1:] != null[:-1])
    merged = np.empty(len(order), dtype=np.uint32)
    merged[order] = np.cumsum(new) - 1
    return Cells(domain, merged[cells.of_class], low[new], high[new], null[new])


def is_full(cells: Cells) -> npt.NDArray[np.bool_]:
    """Which cells cover every value of their domain, null aside."""
    last = cells.domain.n_values - 1
    if cells.set_offsets is not None:
        return np.asarray(np.diff(cells.set_offsets) == last + 1)
    return np.asarray((cells.low == 0) & (cells.high == last))


def labels(cells: Cells, numeric: Rendering = "interval") -> pa.Array:
    """The text of each distinct cell (string, no nulls), in the order of the cells.

    `numeric="level"` names the smallest level that holds a cell of a numeric attribute; every other
    rendering gives its interval. A cell of a round is written as its level has it, where that reads as the
    values that it holds.
    """
    if cells.level is None:
        return _labels(cells, numeric)
    written = _labels(cells, numeric).to_pylist()
    read = reader(cells.domain)
    for level, domain in enumerate(cells.shown_as):
        here = np.flatnonzero(cells.level == level)
        some = Cells(domain, here.astype(np.uint32), cells.low[here], cells.high[here], cells.null[here])
        for i, text in zip(here.tolist(), _labels(some, numeric).to_pylist(), strict=True):
            try:
                low, high, null, _ = read(text)
            except DataError:
                continue
            if (low, high, null) == (cells.low[i], cells.high[i], cells.null[i]):
                written[i] = text
    return pa.array(written, pa.string() if sum(map(len, written)) < 2**29 else pa.large_string())


def _labels(cells: Cells, numeric: Rendering) -> pa.Array:
    domain = cells.domain
    empty = cells.low > cells.high
    low, high = (np.where(empty, 0, codes) for codes in (cells.low, cells.high))
    if domain.n_values == 0:
        body = pa.array([ROOT] * len(low), pa.large_string())
    elif cells.set_codes is not None and cells.set_offsets is not None:
        body = _sets(domain, cells.set_offsets, cells.set_codes)
    elif domain.tree is not None and domain.kind == "nominal":
        body = _nodes(domain, low, high)
    elif numeric == "level" and domain.levels is not None:
        body = level_names(domain, domain.levels, low, high)
    else:
        body = intervals(domain, low, high)
    coding = domain.coding
    several = domain.n_values > 1 if coding is None else coding.n_blocks > 1 or coding.labels[:1] == (ROOT,)
    if several:
        body = pc.if_else(pa.array(is_full(cells)), pa.scalar(ROOT, pa.large_string()), body)
    if cells.null.any():
        either = joined_texts(body, pa.scalar(OR_MISSING, pa.large_string()))
        body = pc.if_else(pa.array(cells.null), either, body)
        body = pc.if_else(pa.array(empty), pa.scalar(MISSING, pa.large_string()), body)
    return body.cast(pa.string()) if body.nbytes < 2**31 else body


def _sets(domain: Domain, offsets: npt.NDArray[np.int64], codes: npt.NDArray[np.uint32]) -> pa.Array:
    atoms = cell_atoms(domain, codes)
    sizes = np.diff(offsets)
    joined = pc.binary_join(
        pa.LargeListArray.from_arrays(pa.array(offsets), atoms), pa.scalar(", ", pa.large_string())
    )
    opening, closing = (pa.scalar(mark, pa.large_string()) for mark in "{}")
    return pc.if_else(pa.array(sizes == 1), joined, joined_texts(opening, joined, closing))


def _nodes(domain: Domain, low: npt.NDArray[np.uint32], high: npt.NDArray[np.uint32]) -> pa.Array:
    """Labels of the lowest nodes that hold exactly these leaves; their set where a label means two things."""
    tree = domain.tree
    assert tree is not None
    meaning = named_leaves(domain)
    node_of = {}
    for first, last, label in zip(tree.first.tolist(), tree.last.tolist(), tree.labels, strict=True):
        node_of[first, last] = label  # preorder: the lowest of a chain comes last
    words = texts(domain.values)
    coding, blocks = domain.coding, {}
    if coding is not None:
        ends = zip(coding.first.tolist(), coding.last.tolist(), strict=True)
        blocks = dict(zip(ends, coding.labels, strict=True))
    labels = []
    for first, last in zip(low.tolist(), high.tolist(), strict=True):
        if (first, last) in blocks:
            labels.append(quote(blocks[first, last]))
        elif first == last:
            labels.append(quote(words[first]))
        elif meaning.get(node_of[first, last]) == (first, last):
            labels.append(quote(node_of[first, last]))
        else:
            labels.append("{" + ", ".join(quote(word) for word in words[first : last + 1]) + "}")
    return pa.array(labels, pa.large_string())
