# SPDX-License-Identifier: Apache-2.0
"""Measures of a weighted sample: every sum over rows is one over the people that the rows stand for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from anon.classes import Classes, Published
from anon.encoding import Codes, Domain
from anon.measures.loss import ncp_of_rows

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


def weighted_loss(published: Published, weights: Floats) -> WeightedLoss:
    """Of all rows of the original; suppressed ones have lost everything."""
    lost, n_attributes = 0.0, len(published.original.quasi)
    shown = weights[published.classes.rows]
    for ncp in ncp_of_rows(published):
        lost += float(np.sum(shown * ncp))
    n = float(weights.sum())
    lost += (n - float(shown.sum())) * n_attributes
    return WeightedLoss(n, lost / (n * n_attributes))
