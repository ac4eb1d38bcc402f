# SPDX-License-Identifier: Apache-2.0
"""Curve: classes cut from a Hilbert order of the rows, then improved by moves and swaps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal, Protocol, get_args

import numpy as np
import numpy.typing as npt

from anon.classes import Classes
from anon.encode import Codes, Domain, Encoded
from anon.errors import UsageError
from anoncore import curve

BLOCK = 1 << 16  # rows cut by one call, whatever the number of threads
RowNumbers = npt.NDArray[np.uint32]


@dataclass(frozen=True)
class Curve:
    """Rows in the order of a Hilbert curve, cut into classes of k..2k-1 rows with the least loss.

    `refine` improves the classes by moves and swaps of rows. `loss="ncp"` minimizes NCP (spans of
    values, trees, sets), `"ordered"` the same with every attribute taken as ordered codes.
    """

    refine: bool = True
    loss: Literal["ncp", "ordered"] = "ncp"
    ties: Literal["rank", "input"] = "rank"

    def __post_init__(self) -> None:
        if self.loss not in get_args(Literal["ncp", "ordered"]):
            raise UsageError("loss must be 'ncp' or 'ordered'")
        if self.ties not in get_args(Literal["rank", "input"]):
            raise UsageError("ties must be 'rank' or 'input'")


class Task(Protocol):
    """What a method is given beside the table."""

    rules: Any
    n_threads: int
    progress: Callable[[str, int, int], None] | None


def partition(encoded: Encoded, method: Curve, task: Task, k: int) -> Classes:
    """Classes of at least k rows that satisfy `task.rules`."""
    domains = encoded.quasi
    kept = np.setdiff1d(np.arange(encoded.n_rows, dtype=np.uint32), encoded.suppressed, assume_unique=True)
    with ThreadPoolExecutor(task.n_threads) as pool:
        codes = pack(encoded.quasi_codes)
        rows = curve_order(encoded, codes, kept, method, pool)
        widths = widths_of(domains, method.loss)

        def cut(start: int) -> npt.NDArray[np.int64]:
            return start + curve.cut(widths, curve.place(widths, codes, rows[start : start + BLOCK]), k)[1:]

        starts = range(0, max(len(rows) - k + 1, 1), BLOCK)
        offsets = np.concatenate([[0], *pool.map(cut, starts)])
    return Classes(rows=rows, offsets=offsets, suppressed=encoded.suppressed)


def curve_order(
    encoded: Encoded, codes: npt.NDArray[Any], kept: RowNumbers, method: Curve, pool: ThreadPoolExecutor
) -> RowNumbers:
    """The rows `kept` along a Hilbert curve; ties by (codes, sensitive codes, input position)."""
    m = codes.shape[1]
    bits = max(min(max(int(domain.n_values).bit_length() for domain in encoded.quasi), 64 // m), 4)
    grids = [
        _grid(domain, np.bincount(column[kept], minlength=domain.n_values + 1), method.loss, bits)
        for domain, column in zip(encoded.quasi, encoded.quasi_codes, strict=True)
    ]
    axes = sorted(range(m), key=lambda a: (-encoded.quasi[a].n_values, a))
    starts = np.concatenate([[0], np.cumsum([len(grids[a]) for a in axes])]).astype(np.int64)
    grid = np.concatenate([grids[a] for a in axes])
    columns = np.ascontiguousarray(codes[:, axes])
    keys = np.concatenate(
        list(
            pool.map(
                lambda start: curve.hilbert(columns[start : start + BLOCK], grid, starts, bits),
                range(0, len(columns), BLOCK),
            )
        )
    )
    rows = kept
    if method.ties == "rank":
        blurred = [
            encoded.quasi_codes[a] for a in range(m) if len(np.unique(grids[a])) < encoded.quasi[a].n_codes
        ]
        for column in reversed((*blurred, *encoded.sensitive_codes)):
            rows = curve.sort_rows(column.astype(np.uint64), rows)
    for word in reversed(range(keys.shape[1])):
        rows = curve.sort_rows(np.ascontiguousarray(keys[:, word]), rows)
    return rows


def _grid(domain: Domain, counts: npt.NDArray[np.int64], loss: str, bits: int) -> npt.NDArray[np.uint32]:
    """Where each code lies on the curve's axis: flat values by falling frequency, null at the end."""
    places = np.arange(domain.n_values, dtype=np.float64)
    if loss == "ncp" and domain.positions is not None:
        places = domain.positions
    elif loss == "ncp" and domain.tree is None:
        places[np.argsort(-counts[:-1], kind="stable")] = np.arange(domain.n_values)
    end = 2**bits - 1
    return np.append(np.rint(places * (end / max(places.max(), 1.0))), end).astype(np.uint32)


def pack(columns: Sequence[Codes]) -> npt.NDArray[Any]:
    """One row-major matrix of the codes, as wide as the widest column."""
    codes = np.empty((len(columns[0]), len(columns)), np.result_type(*columns))
    for a, column in enumerate(columns):
        codes[:, a] = column
    return codes


def widths_of(domains: Sequence[Domain], loss: str = "ncp") -> curve.Widths:
    """Widths of the cells of these attributes; with `loss="ordered"` every one is a line of ranks."""
    ranks = loss == "ordered"
    return curve.Widths(
        [domain.n_values for domain in domains],
        [domain.weight for domain in domains],
        [np.arange(domain.n_values, dtype=np.float64) if ranks else domain.positions for domain in domains],
        [
            None if domain.tree is None or ranks else (domain.tree.parent, domain.tree.first, domain.tree.last, domain.tree.leaf)
            for domain in domains
        ],
    )
