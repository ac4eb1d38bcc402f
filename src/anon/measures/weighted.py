# SPDX-License-Identifier: Apache-2.0
"""Measures of a weighted sample: every sum over rows is one over the people that the rows stand for."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from anon.classes import Classes, Published, RowWeights, group
from anon.encoding import Codes, Domain
from anon.errors import UsageError
from anon.measures.estimates import boxes, members_of, overlaps
from anon.measures.loss import ncp_of_rows
from anon.measures.populations import (
    as_share,
    frequent_predicates,
    js_divergence,
    refuse_without_sensitive,
)

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class WeightedDisclosure:
    """Gain of knowledge, with weights: `a_acc` and `a_know` of each sensitive attribute, and the greatest."""

    a_acc: float
    a_know: float
    by_sensitive: Mapping[str, tuple[float, float]]


@dataclass(frozen=True)
class WeightedLoss:
    """Information loss, with weights: `n` people that all rows stand for, and the `gcp` of their cells."""

    n: float
    gcp: float
    min_support: float = field(compare=False, repr=False)
    published: Published = field(compare=False, repr=False)

    @cached_property
    def u_loss(self) -> float:
        """Utility loss (Li & Li 4.2) with people for rows; computed when it is asked for.

        Raises UsageError where the release does not tell sensitive values and weights row by row.
        """
        assert self.published.weights is not None
        return weighted_u_loss(self.published, self.published.weights, self.min_support)


def weighted_disclosure(
    classes: Classes, sensitive: Sequence[Domain], codes: Sequence[Codes | None], weights: Floats
) -> WeightedDisclosure | None:
    """Of the published rows; None without a sensitive attribute that is published."""
    of_row = weights[classes.rows]
    if not classes.n_classes:
        return None
    by_class = np.add.reduceat(of_row, classes.offsets[:-1])
    total = float(by_class.sum())
    class_of_row = np.repeat(np.arange(classes.n_classes), classes.sizes)
    measured: dict[str, tuple[float, float]] = {}
    for domain, column in zip(sensitive, codes, strict=True):
        if column is None:
            continue
        value = column[classes.rows].astype(np.int64)
        key, where = np.unique(class_of_row * domain.n_codes + value, return_inverse=True)
        of_class, of_value = np.divmod(key, domain.n_codes)
        here = np.bincount(where, of_row, len(key))
        table = np.bincount(of_value, here, domain.n_codes) / total
        starts = np.searchsorted(of_class, np.arange(classes.n_classes))
        largest = float(np.maximum.reduceat(here, starts).sum())
        share, expected = here / by_class[of_class], table[of_value]
        gains = np.add.reduceat(np.maximum(share - expected, 0), starts)
        measured[domain.name] = largest / total - float(table.max()), float((by_class * gains).sum()) / total
    if not measured:
        return None
    acc, know = (max(pair[i] for pair in measured.values()) for i in (0, 1))
    return WeightedDisclosure(acc, know, measured)


def weighted_loss(published: Published, weights: RowWeights, min_support: float) -> WeightedLoss:
    """Of all rows of the original; suppressed ones have lost everything."""
    total = published.original.weights
    assert total is not None
    lost, n_attributes = 0.0, len(published.original.quasi)
    row_weights = weights.of_row[published.classes.rows]
    for ncp in ncp_of_rows(published):
        lost += float(np.sum(row_weights * ncp))
    n = float(total.sum())
    lost += (n - float(row_weights.sum())) * n_attributes
    return WeightedLoss(n, lost / (n * n_attributes), min_support, published)


def weighted_counts(published: Published, weights: RowWeights) -> tuple[Floats | None, ...]:
    """For every entry of the release's counts of sensitive values the people that its rows stand for.

    None for an attribute that is not published, or whose values are not told row by row.
    """
    classes = published.classes
    class_of_row = np.repeat(np.arange(classes.n_classes), classes.sizes)
    of_row = weights.of_row[classes.rows]
    people: list[Floats | None] = []
    for counts, codes in zip(published.counts, weights.sensitive, strict=True):
        if counts is None or codes is None:
            people.append(None)
            continue
        key = class_of_row * len(counts.table) + codes[classes.rows].astype(np.int64)
        listed = np.repeat(np.arange(classes.n_classes), np.diff(counts.offsets)) * len(counts.table)
        where = np.searchsorted(listed + counts.values, key)
        people.append(np.bincount(where, of_row, len(counts.values)).astype(np.float64))
    return tuple(people)


def weighted_u_loss(published: Published, weights: RowWeights, min_support: float) -> float:
    """U_loss of the people: a population is large if the rows that meet it stand for `min_support` of all.

    Sums of whole weights are exact, of others a support counts as large within 1e-9 of it. Populations are
    searched and estimated one by one, in time of their rows and of the release's classes.
    """
    refuse_without_sensitive(published)
    original, estimable = published.original, boxes(published)
    listed = weighted_counts(published, weights)
    entry_people = [one for one in listed if one is not None]
    if original.weights is None or len(entry_people) < len(listed):
        raise UsageError("weighted measures need the sensitive values and the weights row by row")
    n_secrets = len(original.sensitive)
    columns = (*original.quasi_codes, *original.sensitive_codes)
    alike = group(columns, n_threads=published.n_threads)
    first = alike.rows[alike.offsets[:-1]]
    people = np.add.reduceat(original.weights[alike.rows], alike.offsets[:-1])
    quasi = [codes[first].astype(np.int64) for codes in columns[: len(original.quasi)]]
    secrets = [codes[first].astype(np.int64) for codes in columns[len(original.quasi) :]]
    least = float(as_share(min_support) * Fraction(float(people.sum()))) * (1 - 1e-9)
    predicates = [
        frequent_predicates(domain, np.bincount(codes, people, domain.n_codes), least)
        for domain, codes in zip(original.quasi, quasi, strict=True)
    ]
    members = [members_of(one, one.domain.n_codes) for one in predicates]
    shares = [
        overlaps(cells, reach, asked)[0]
        for cells, reach, asked in zip(estimable.quasi_cells, estimable.reaches, predicates, strict=True)
    ]
    counts = [one for one in estimable.sensitive_counts if one is not None]
    class_of_entry = [np.repeat(np.arange(len(estimable.sizes)), np.diff(one.offsets)) for one in counts]
    groups, n_classes = estimable.groups, len(estimable.sizes)
    whole = np.ones(n_classes)
    if groups is not None:
        of_row = weights.of_row[published.classes.rows]
        whole = of_row / np.bincount(groups, of_row, n_classes)[groups]
    losses: list[list[float]] = [[] for _ in range(n_secrets)]

    def measure(inside: npt.NDArray[np.int64], part: Floats) -> None:
        of_class = part if groups is None else np.bincount(groups, part, n_classes)
        for s, (one, entries) in enumerate(zip(counts, class_of_entry, strict=True)):
            true = np.bincount(secrets[s][inside], people[inside], original.sensitive[s].n_codes)
            guess = np.bincount(one.values, of_class[entries] * entry_people[s], len(one.table))
            losses[s].append(float(js_divergence(true[None], guess[None])[0]))

    def search(attribute: int, inside: npt.NDArray[np.int64], part: Floats) -> None:
        """Every large population that adds predicates of `attribute` and later ones to one of these rows."""
        for a in range(attribute, len(quasi)):
            codes = quasi[a][inside]
            support = members[a] @ np.bincount(codes, people[inside], original.quasi[a].n_codes)
            for p in np.flatnonzero(support >= least).tolist():
                rows = inside[members[a][p][codes]]
                smaller = part * shares[a][p][estimable.cells[a]]
                measure(rows, smaller)
                search(a + 1, rows, smaller)

    search(0, np.arange(len(first)), whole)
    means = [math.fsum(one) / len(one) if one else 0.0 for one in losses]
    return math.fsum(means) / len(means)
