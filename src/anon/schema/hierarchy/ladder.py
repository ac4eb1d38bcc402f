# SPDX-License-Identifier: Apache-2.0
"""The labels of every value of a domain, one level above another: what full-domain recoding chooses from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from anon.errors import DataError
from anon.schema.hierarchy.declared import (
    CsvFile,
    Dates,
    Hierarchy,
    Intervals,
    Listed,
    Nested,
    Prefix,
)
from anon.schema.hierarchy.levels import Levels
from anon.schema.hierarchy.rows import file_rows, hierarchy_rows, placed

ROOT = "*"


@dataclass(frozen=True, repr=False)
class Ladder:
    """Levels 0 (every value as it is) to `height` (all values together, `*`) of one attribute.

    At level g code c of the domain has the label `labels[g][of_code[g][c]]`; `of_code[g]` (uint32) has one
    entry per value. `below[g]` (int64) counts the values under each label, of the domain or of the whole
    hierarchy file, which has `n_below` of them.
    """

    name: str
    labels: tuple[tuple[str, ...], ...]
    of_code: tuple[npt.NDArray[np.uint32], ...]
    below: tuple[npt.NDArray[np.int64], ...]
    n_below: int

    @property
    def height(self) -> int:
        return len(self.labels) - 1

    def __repr__(self) -> str:
        return f"Ladder({self.name!r}, labels by level: {', '.join(str(len(one)) for one in self.labels)})"


def ladder_of(
    hierarchy: Hierarchy | None,
    values: pa.Array,
    levels: Levels | None,
    column: str,
    domain: Literal["data", "file"] = "data",
) -> Ladder:
    """The ladder of an attribute whose domain has these `values`, in the order of their codes.

    `levels` are those of a numeric attribute. Without a hierarchy there are two levels. With
    `domain="file"` the values under a label are those that a CSV file, or a dict, lists. Raises DataError
    where a level is no function of the one below.
    """
    texts = [str(text) for text in values.cast(pa.string()).to_pylist()]
    above: Sequence[Sequence[str]] = []
    listed: list[tuple[str, ...]] = []
    if isinstance(hierarchy, Intervals | Dates):
        assert levels is not None
        above = [[ROOT if one < 0 else levels.labels[one] for one in of_code] for of_code in levels.of_code]
    elif isinstance(hierarchy, Prefix):
        above = [[text[:length] for text in texts] for length in sorted(hierarchy.lengths, reverse=True)]
    elif hierarchy is not None:
        rows = {row[0]: row for row in _rows(hierarchy, column, set(texts))}
        most = max(len(rows[text]) for text in texts)
        listed = [(row[0],) * (most - len(row)) + row[-most:] for row in rows.values()]
        padded = {text: (text,) * (most - len(rows[text])) + rows[text] for text in texts}
        above = list(zip(*(padded[text] for text in texts), strict=True))[1:]
    above = [texts, *above]
    if len(above) == 1 or len(set(above[-1])) > 1:
        above = [*above, [ROOT] * len(texts)]
        listed = [(*row, ROOT) for row in listed]
    _refuse_unnested(above, hierarchy, column)
    counts_file = domain == "file" and bool(listed)
    labels, of_code, below = [], [], []
    for g, level in enumerate(above):
        number = {label: i for i, label in enumerate(dict.fromkeys(level))}
        codes = np.array([number[label] for label in level], np.uint32)
        labels.append(tuple(number))
        of_code.append(codes)
        counted = Counter(row[g] for row in listed) if counts_file else Counter(level)
        below.append(np.array([counted[label] for label in number], np.int64))
    return Ladder(column, tuple(labels), tuple(of_code), tuple(below), len(listed if counts_file else texts))


def _rows(hierarchy: CsvFile | Nested | Listed, column: str, values: set[str]) -> list[tuple[str, ...]]:
    """The rows of a hierarchy from leaf to root; of a file as they stand there."""
    if isinstance(hierarchy, CsvFile):
        return list(file_rows(hierarchy, column, values).values())
    if not isinstance(hierarchy, Listed):
        return hierarchy_rows(hierarchy, column, values)
    above = [hierarchy.labels[p] if p >= 0 else None for p in hierarchy.parent]
    parent = dict(zip(hierarchy.labels, above, strict=True))
    rows = []
    for leaf in set(hierarchy.labels) - set(above):
        row, node = [leaf], parent[leaf]
        while node is not None:
            row.append(node)
            node = parent[node]
        rows.append(tuple(row))
    return sorted(rows)


def _refuse_unnested(above: Sequence[Sequence[str]], hierarchy: Hierarchy | None, column: str) -> None:
    """Every level must be a function of the one below."""
    if isinstance(hierarchy, Intervals):
        names = [str(width) for width in sorted(hierarchy.widths)]
    elif isinstance(hierarchy, Dates):
        names = hierarchy.ordered
    else:
        names = []
    for g in range(1, len(above)):
        over: dict[str, str] = {}
        for low, high in zip(above[g - 1], above[g], strict=True):
            if over.setdefault(low, high) == high:
                continue
            assert hierarchy is not None
            if 1 < g <= len(names):
                what = "intervals" if isinstance(hierarchy, Intervals) else "dates"
                raise DataError(
                    f"{placed(hierarchy, column)}: {what}({names[g - 2]}, {names[g - 1]}) do not nest, "
                    f"{low} lies in {over[low]} and in {high}; full-domain recoding needs widths that divide "
                    "each other, such as intervals(5, 10, 20, 100)",
                    column=column,
                )
            raise DataError(
                f"{placed(hierarchy, column)}: label {low!r} has two parents, {over[low]!r} and {high!r}; "
                "give every label one parent",
                column=column,
            )
