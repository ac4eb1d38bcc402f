# SPDX-License-Identifier: Apache-2.0
"""Queries answered: counted on the table, estimated from a release."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

import anoncore.queries as kernel
from anon.classes import Published, Showing, published_of
from anon.encoding import Encoded
from anon.errors import UsageError
from anon.measures.estimates import Boxes, Predicates, boxes, members_of, overlaps
from anon.measures.queries import NOWHERE, Bounds, Held, Indices, Workload
from anon.measures.weighted import weighted_counts
from anon.plain import as_plain
from anon.threads import available_threads

QUANTILES = (0.25, 0.5, 0.75, 0.9, 0.95, 0.99)


@dataclass(frozen=True, repr=False)
class Answers:
    """True and estimated counts of a workload, and the least and most that the release allows.

    `estimated` (float64) is under the uniform assumption, `true`, `least` and `most` are int64. Errors are
    relative, in percent, over the queries whose true count is above 0 (Li & Li 2009, 5.2); widths are
    (most - least)/true (Srivastava & Weis 2005). Without such a query they are 0. Where rows stand for
    different numbers of people, `weighted` are the answers in people, all of them float64.
    """

    workload: Workload
    true: npt.NDArray[Any]
    estimated: npt.NDArray[np.float64]
    least: npt.NDArray[Any]
    most: npt.NDArray[Any]
    published: Published | None = field(default=None, compare=False)

    @cached_property
    def weighted(self) -> Answers | None:
        """True and estimated numbers of people, and the bounds; None without sampling weights.

        Raises UsageError where the release does not tell sensitive values row by row.
        """
        if self.published is None or self.published.weights is None:
            return None
        return _weighted(self.workload, self.published)

    @property
    def n_counted(self) -> int:
        """Queries whose true count is above 0."""
        return int(np.count_nonzero(self.true))

    @cached_property
    def errors(self) -> npt.NDArray[np.float64]:
        """|estimated - true| / true in percent, of the counted queries in their order."""
        counted = self.true > 0
        return np.asarray(100.0 * np.abs(self.estimated - self.true)[counted] / self.true[counted])

    @cached_property
    def widths(self) -> npt.NDArray[np.float64]:
        """(most - least) / true, of the counted queries in their order."""
        counted = self.true > 0
        return np.asarray((self.most - self.least)[counted] / self.true[counted])

    @property
    def average(self) -> float:
        """Average relative error in percent."""
        return _mean(self.errors)

    @property
    def median(self) -> float:
        """Median relative error in percent."""
        return self.quantiles()[0.5]

    @property
    def average_width(self) -> float:
        """Average of (most - least) / true."""
        return _mean(self.widths)

    def quantiles(self, at: Sequence[float] = QUANTILES) -> dict[float, float]:
        """Quantiles of the relative error in percent."""
        values = np.quantile(self.errors, at) if len(self.errors) else np.zeros(len(at))
        return dict(zip(at, values.tolist(), strict=True))

    def by_attribute(self) -> dict[str, float]:
        """Average relative error over the queries with a condition on each attribute."""
        counted = self.true > 0
        sides = (
            *zip(self.workload.quasi, self.workload.chosen.T, strict=True),
            *zip(self.workload.sensitive, self.workload.asked.T, strict=True),
        )
        return {
            predicates.domain.name: _mean(self.errors[chosen[counted] >= 0])
            for predicates, chosen in sides
            if (chosen >= 0).any()
        }

    def to_dict(self) -> dict[str, Any]:
        """The measures under their names, ready for JSON."""
        summary = {
            "n_queries": len(self.true),
            "n_counted": self.n_counted,
            "average": self.average,
            "median": self.median,
            "quantiles": {str(at): value for at, value in self.quantiles().items()},
            "average_width": self.average_width,
            "by_attribute": self.by_attribute(),
        }
        if self.published is not None and self.published.weights is not None:
            summary["weighted"] = None if self.weighted is None else self.weighted.to_dict()
        return dict(as_plain(summary))

    def _repr_html_(self) -> str:
        from anon.measures.notebook import answers_html

        return answers_html(self.to_dict())

    def __repr__(self) -> str:
        return f"Answers({len(self.true)} queries, average={self.average}, median={self.median})"


def _mean(values: npt.NDArray[np.float64]) -> float:
    return float(values.mean()) if len(values) else 0.0


def normalized_errors(errors: Mapping[str, float]) -> dict[str, float]:
    """(x - best)/(worst - best) of each error: 0 is the best, 1 the worst (Loukides & Shao 2008, 4.1)."""
    best, worst = min(errors.values()), max(errors.values())
    return {name: (error - best) / (worst - best) if worst > best else 0.0 for name, error in errors.items()}


# Answers


def matching_rows(workload: Workload, i: int, encoded: Encoded) -> npt.NDArray[np.bool_]:
    """Which rows of an original meet query i."""
    meets = np.ones(encoded.n_rows, np.bool_)
    for predicates, codes, p in zip(
        (*workload.quasi, *workload.sensitive),
        (*encoded.quasi_codes, *encoded.sensitive_codes),
        np.concatenate([workload.chosen[i], workload.asked[i]]).tolist(),
        strict=True,
    ):
        if p >= 0:
            meets &= members_of(predicates, predicates.domain.n_codes)[p][codes]
    return meets


def answer(
    workload: Workload,
    release: Published | Showing,
    *,
    true: npt.NDArray[np.int64] | None = None,
    n_threads: int | None = None,
) -> Answers:
    """The true counts of a workload in the original and what a release of it makes of them.

    Estimates assume that every value of a cell is equally likely and attributes independent; in a
    bucket every row may have every sensitive value of it. `true` are the `true_counts`, where known.
    """
    threads = available_threads(n_threads)
    published = published_of(release)
    estimable = boxes(published)
    if true is None:
        true = true_counts(workload, published.original, threads)
    for predicates, counts, asked in zip(
        workload.sensitive, estimable.sensitive_counts, workload.asked.T, strict=True
    ):
        if counts is None and (asked >= 0).any():
            raise UsageError(f"the queries ask for {predicates.domain.name!r}, which is not published")
    estimate = _estimator(workload, estimable, threads)
    estimated = np.zeros(len(workload))
    least, most = np.zeros(len(workload), np.int64), np.zeros(len(workload), np.int64)
    secret = np.full(len(workload), -1)
    at, secret_of = np.nonzero(workload.asked >= 0)
    secret[at] = secret_of
    for s in np.unique(secret).tolist():
        alike = np.flatnonzero(secret == s)
        counts = estimable.sensitive_counts[s] if s >= 0 else None
        if counts is None:  # every row of a class counts
            n_classes = len(estimable.sizes)
            lists = (np.arange(n_classes + 1), np.zeros(n_classes, np.uint32), estimable.sizes)
            asked, asks = np.ones((1, 1), np.bool_), np.zeros(len(alike), np.int32)
        else:
            lists = (counts.offsets, counts.values, counts.counts)
            asked, asks = members_of(workload.sensitive[s], len(counts.table)), workload.asked[alike, s]
        estimated[alike], least[alike], most[alike] = estimate(workload.chosen[alike], lists, asked, asks)
    return Answers(workload, true, estimated, least, most, published)


def _weighted(workload: Workload, published: Published) -> Answers:
    """Answers with the people that rows stand for in place of rows, query by query."""
    original, weights, estimable = published.original, published.weights, boxes(published)
    assert weights is not None
    assert original.weights is not None
    entry_people, n_classes = weighted_counts(published, weights), len(estimable.sizes)
    of_row = weights.of_row[published.classes.rows]
    class_of_row = np.repeat(np.arange(n_classes), estimable.sizes)
    people, groups = np.bincount(class_of_row, of_row, n_classes), estimable.groups
    parts = _overlaps(workload, estimable)
    of_query: list[tuple[float, float, float, float]] = []
    for q in range(len(workload)):
        asked = people
        for s in np.flatnonzero(workload.asked[q] >= 0).tolist():
            counts, entries = estimable.sensitive_counts[s], entry_people[s]
            if counts is None or entries is None:
                name = original.sensitive[s].name
                raise UsageError(f"the release does not tell {name!r} row by row, which weights need")
            member = members_of(workload.sensitive[s], len(counts.table))[workload.asked[q, s]]
            class_of_entry = np.repeat(np.arange(n_classes), np.diff(counts.offsets))
            asked = np.bincount(class_of_entry, entries * member[counts.values], n_classes)
        share, kind = _inside(estimable, parts, workload.chosen[q])
        if groups is None:
            estimated, least, most = share * asked, asked * (kind == 2), asked * (kind > 0)
        else:
            estimated, least, most = _of_buckets(groups, of_row, share, kind, asked, people)
        true = original.weights[matching_rows(workload, q, original)].sum()
        of_query.append((float(true), float(estimated.sum()), float(least.sum()), float(most.sum())))
    return Answers(workload, *np.array(of_query).reshape(-1, 4).T)


def _overlaps(workload: Workload, published: Boxes) -> list[tuple[npt.NDArray[np.float64], Any]]:
    """Of every quasi-identifier the share of each cell inside each predicate, and if it can and must be."""
    sides = zip(published.quasi_cells, published.reaches, workload.quasi, strict=True)
    return [overlaps(cells, reach, predicates) for cells, reach, predicates in sides]


def _inside(
    published: Boxes, parts: Sequence[tuple[npt.NDArray[np.float64], Any]], chosen: npt.NDArray[Any]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.uint8]]:
    """The share of each box that meets a query, and whether it can (1) or must (2)."""
    n_boxes = published.cells.shape[1]
    share, kind = np.ones(n_boxes), np.full(n_boxes, 2, np.uint8)
    for a, p in enumerate(chosen.tolist()):
        if p >= 0:
            share = share * parts[a][0][p][published.cells[a]]
            kind = np.minimum(kind, parts[a][1][p][published.cells[a]])
    return share, kind


def _of_buckets(
    groups: npt.NDArray[np.uint32],
    of_row: npt.NDArray[np.float64],
    share: npt.NDArray[np.float64],
    kind: npt.NDArray[np.uint8],
    asked: npt.NDArray[Any],
    people: npt.NDArray[Any],
) -> Bounds:
    """Of each bucket the estimate, the least and the most: rows that meet the query, and values asked for.

    `of_row` are the people that each row stands for, `asked` those with the value and `people` all of each
    bucket.
    """
    inside, must, can = (
        np.bincount(groups, of_row * part, len(people)) for part in (share, kind == 2, kind > 0)
    )
    return inside * asked / people, np.maximum(must + asked - people, 0), np.minimum(can, asked)


def true_counts(workload: Workload, original: Encoded, n_threads: int = 1) -> npt.NDArray[np.int64]:
    """Rows of the original that meet each query (int64)."""
    if len(workload.quasi) != len(original.quasi) or len(workload.sensitive) != len(original.sensitive):
        raise UsageError("the workload was made for a table with other attributes")
    return kernel.count(
        (*original.quasi_codes, *original.sensitive_codes),
        [_listed(predicates) for predicates in (*workload.quasi, *workload.sensitive)],
        np.concatenate([workload.chosen, workload.asked], axis=1),
        n_threads,
    )


def _listed(
    predicates: Predicates,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
    """The runs of codes of each predicate, without those in which no value lies."""
    somewhere = predicates.first != NOWHERE
    offsets = np.concatenate([[0], np.cumsum(somewhere)])[predicates.offsets].astype(np.int64)
    return offsets, predicates.first[somewhere], predicates.last[somewhere]


def _estimator(workload: Workload, published: Boxes, n_threads: int) -> Callable[..., Bounds]:
    """Estimate, least and most of queries (as `chosen`) for given counts of sensitive values.

    Those are the counts per class in CSR form, the sets of values asked for (sets x codes) and the set
    that each query asks for.
    """
    groups = published.groups
    if groups is None:
        parts = _overlaps(workload, published)
        shares, kinds = [share for share, _ in parts], [kind for _, kind in parts]

        def of_classes(chosen: Indices, counts: Held, asked: npt.NDArray[np.bool_], asks: Indices) -> Bounds:
            return kernel.estimate(published.cells, shares, kinds, chosen, *counts, asked, asks, n_threads)

        return of_classes
    if any(cells.domain.coding is not None for cells in published.quasi_cells):
        return _coded_estimator(workload, published)
    predicates = [_listed(each) for each in workload.quasi]
    # a query without a condition on a quasi-identifier asks for any value of the first
    offsets, first, last = predicates[0]
    predicates[0] = (
        np.append(offsets, offsets[-1] + 1),
        np.append(first, np.uint32(0)),
        np.append(last, np.uint32(NOWHERE)),
    )

    def of_buckets(chosen: Indices, counts: Held, asked: npt.NDArray[np.bool_], asks: Indices) -> Bounds:
        chosen = chosen.copy()
        chosen[(chosen < 0).all(axis=1), 0] = len(offsets) - 1
        return kernel.count_buckets(
            list(published.cells), predicates, chosen, groups, *counts, asked, asks, n_threads
        )

    return of_buckets


def _coded_estimator(workload: Workload, published: Boxes) -> Callable[..., Bounds]:
    """The same for buckets whose rows show coded values, of which a part may meet a query."""
    parts, groups, sizes = _overlaps(workload, published), published.groups, published.sizes
    assert groups is not None
    one_each = np.ones(len(groups))

    def of_rows(chosen: Indices, counts: Held, asked: npt.NDArray[np.bool_], asks: Indices) -> Bounds:
        offsets, values, numbers = counts
        bucket = np.repeat(np.arange(len(sizes)), np.diff(offsets))
        bounds = np.zeros((3, len(chosen)))
        for q, of_query in enumerate(chosen):
            held = np.bincount(bucket, numbers * asked[asks[q]][values], len(sizes))
            share, kind = _inside(published, parts, of_query)
            each = _of_buckets(groups, one_each, share, kind, held, sizes)
            bounds[:, q] = [part.sum() for part in each]
        return bounds[0], np.rint(bounds[1]).astype(np.int64), np.rint(bounds[2]).astype(np.int64)

    return of_rows
