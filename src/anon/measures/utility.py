# SPDX-License-Identifier: Apache-2.0
"""What a release costs: information loss and utility (spec 3).

Everything but `kl` and `u_loss`, which are computed when they are asked for, is read from the classes
and their distinct cells. Sums are rounded once, so that no measure depends on any order. Suppressed
rows count as fully generalized in losses and DM, and are absent from means over classes.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, Literal

import numpy as np

from anon.classes import Published
from anon.errors import UsageError
from anon.measures.divergence import kl_divergence
from anon.measures.loss import AttributeLoss, CellLoss, SensitiveDiversity, cell_loss, s_diversity_of, sum_of
from anon.measures.numbers import Numbers, numbers_of
from anon.measures.populations import u_loss
from anon.measures.risk import PopulationRisk
from anon.measures.weighted import WeightedLoss, weighted_loss
from anon.plain import as_plain


@dataclass(frozen=True)
class Aligned:
    """What becomes known of a release once its rows are matched with those of the original (`n_rows`).

    `outside`: per quasi-identifier the share of rows whose cell does not hold their value; None where the
    release does not show its cells. `error`: per numeric quasi-identifier the mean distance, in its units
    (dates: days, times: their ticks), between the value and the number shown or the middle of the interval,
    over rows that have both; None where there are none. `changed`: per sensitive attribute the share of
    rows with another value; None where the release leaves it out or separates it from the rows.
    """

    n_rows: int
    outside: Mapping[str, float | None]
    error: Mapping[str, float | None]
    changed: Mapping[str, float | None]


@dataclass(frozen=True, kw_only=True, repr=False)
class Utility:
    """Every measure of information loss of a release.

    `dm` is the discernibility, `class_size` the mean number of rows of a class, `c_avg` that over
    `k`: the k that was asked for, or where none was the one measured (`k_source` says which). `pm` is
    Loukides & Shao's protection (definition 2.5, range `r`), the mean over classes, and `pm_rows` over
    rows; None where a published sensitive value is null. `avg_wtd` weighs UM and PM (definition 3.2)
    by `w_u` and `w_p`. Of the `n_suppressed` rows `n_starred` stand as rows of `*` in a file made by
    another tool. `aligned` is there where `compare` was told to match rows, `population` and
    `population_before` where it was told of the population: the risk of the rows there, of the release and of
    the original.

    `numbers` is what became of the columns that the release shows by numbers; `compared` holds it where two
    tables were compared.

    Measures that need the cells raise UsageError where the release does not show them.
    """

    n_rows: int
    n_suppressed: int
    n_starred: int
    n_classes: int
    class_size: float
    dm: int
    c_avg: float
    k: int
    k_source: Literal["asked", "measured"]
    pm: float | None
    pm_rows: float | None
    by_sensitive: Mapping[str, SensitiveDiversity]
    r: float
    w_u: float
    w_p: float
    min_support: float
    loss: CellLoss | None
    aligned: Aligned | None = None
    population: PopulationRisk | None = None
    population_before: PopulationRisk | None = None
    compared: Numbers | None = None
    published: Published = field(compare=False)

    @property
    def _loss(self) -> CellLoss:
        if self.loss is None:
            raise UsageError(self.published.refusal)
        return self.loss

    @property
    def gcp(self) -> float:
        """Global certainty penalty: the mean NCP of all cells of quasi-identifiers."""
        return self._loss.gcp

    @property
    def ordered_loss(self) -> float:
        """GCP with every attribute taken as ordered codes, to compare methods across tools."""
        return self._loss.ordered_loss

    @property
    def um(self) -> float:
        """Loukides & Shao's utility (definition 2.2): sum of Q-diversities, mean over classes.

        Of a bucketization every row counts as a class of its own.
        """
        return self._loss.um

    @property
    def um_rows(self) -> float:
        """The same, mean over rows: one giant class cannot hide among many small ones."""
        return self._loss.um_rows

    @property
    def entropy(self) -> float:
        """Non-uniform entropy: 0 for the original, 1 where every cell is the whole domain."""
        return self._loss.entropy

    @property
    def precision(self) -> float | None:
        """One minus the mean level of the cells over the height of their tree; None without a tree."""
        return self._loss.precision

    @property
    def by_attribute(self) -> Mapping[str, AttributeLoss]:
        """Per quasi-identifier what it lost."""
        return self._loss.by_attribute

    @property
    def avg_wtd(self) -> float | None:
        """Average weighted tuple diversity; None where `pm` is."""
        n_quasi, n_sensitive = len(self._loss.by_attribute), len(self.by_sensitive)
        if self.pm is None:
            return None
        return self.w_u * self.um / max(n_quasi, 1) + self.w_p * self.pm / max(n_sensitive, 1)

    @cached_property
    def weighted(self) -> WeightedLoss | None:
        """The loss of the people that the rows of a sample stand for; None without sampling weights."""
        weights = self.published.weights
        if weights is None or self.loss is None:
            return None
        return weighted_loss(self.published, weights, self.min_support)

    @cached_property
    def numbers(self) -> Numbers:
        """What became of the quasi-identifiers that are shown by midpoints, means, medians or perturbed."""
        return self.compared or numbers_of(self.published)

    @cached_property
    def kl(self) -> float:
        """KL divergence of the QI-SA distribution reconstructed from the release from the true one.

        The values of a cell are equally likely and attributes independent; integers, dates and
        decimals lie on their lattice, other numbers on the values that the original has in the cell.
        The mean over sensitive attributes; of the QI distribution where there is none. Infinite where
        the release rules out a row of the original, as it does where a suppressed row has no like.
        """
        return kl_divergence(self._estimable())

    @cached_property
    def u_loss(self) -> float:
        """Utility loss of Li & Li (4.2) at `min_support`: mean JS divergence over large populations."""
        published = self._estimable()
        return u_loss(published, self.min_support, n_threads=published.n_threads).u_loss

    def _estimable(self) -> Published:
        if self.loss is None:
            raise UsageError(self.published.refusal)
        if dropped := self.published.dropped:
            raise UsageError(
                f"the release leaves {dropped[0]!r} out, so that nothing can be estimated about it"
            )
        return self.published

    def to_dict(self, *, estimates: bool = True) -> dict[str, Any]:
        """The measures under their names, ready for JSON: an infinite one is "inf", a refused one None.

        Without `estimates` `kl`, `u_loss` and `numbers` are left out, which may take a while.
        """
        plain = {f.name: getattr(self, f.name) for f in fields(self)}
        del plain["loss"], plain["published"], plain["compared"]
        weighted = self.weighted
        plain["weighted"] = None if weighted is None else {"n": weighted.n, "gcp": weighted.gcp}
        if weighted is not None and estimates:
            try:
                plain["weighted"]["u_loss"] = weighted.u_loss
            except UsageError:
                plain["weighted"]["u_loss"] = None
        if estimates:
            with suppress(UsageError):
                plain["numbers"] = self.numbers.to_dict()
        for name in (*_CELL_MEASURES, *(("kl", "u_loss") if estimates else ())):
            try:
                plain[name] = getattr(self, name)
            except UsageError:
                plain[name] = None
        return {name: as_plain(value) for name, value in plain.items()}

    def _repr_html_(self) -> str:
        """Without `kl` and `u_loss`, which may take a while."""
        from anon.measures.notebook import utility_html

        return utility_html(self.to_dict(estimates=False))

    def __repr__(self) -> str:
        gcp = None if self.loss is None else self.loss.gcp
        return f"Utility(n_classes={self.n_classes}, gcp={gcp}, dm={self.dm}, c_avg={self.c_avg})"


_CELL_MEASURES = (
    "gcp",
    "ordered_loss",
    "um",
    "um_rows",
    "avg_wtd",
    "entropy",
    "precision",
    "by_attribute",
)


def measure(
    published: Published,
    *,
    r: float = 1.0,
    w_u: float = 0.5,
    w_p: float = 0.5,
    min_support: float = 0.05,
) -> Utility:
    """Measure what a release lost.

    `r` in [0, 1] is the range of S-diversity, `w_u` + `w_p` = 1 the weights of `avg_wtd`,
    `min_support` in (0, 1] the support of the populations of `u_loss`.
    """
    if not 0 <= r <= 1:
        raise UsageError(f"r lies between 0 and 1, not at {r}")
    if not (0 <= w_u <= 1 and 0 <= w_p <= 1 and abs(w_u + w_p - 1) <= 1e-9):
        raise UsageError("w_u and w_p lie between 0 and 1 and sum to 1")
    if not 0 < min_support <= 1:
        raise UsageError(f"min_support lies above 0 and at most at 1, not at {min_support}")
    classes, n_rows = published.classes, published.original.n_rows
    sizes = classes.sizes
    k = published.k_asked
    if k is None:
        k = int(sizes.min()) if len(sizes) else 0
    class_size = len(classes.rows) / max(classes.n_classes, 1)
    squares = sizes.astype(np.uint64) ** 2  # a square, and the sum, is at most n_rows**2 < 2**64
    by_sensitive = {
        domain.name: s_diversity_of(domain, counts, sizes, r)
        for domain, counts in zip(published.original.sensitive, published.counts, strict=True)
    }
    return Utility(
        n_rows=n_rows,
        n_suppressed=published.n_suppressed,
        n_starred=published.n_starred,
        n_classes=classes.n_classes,
        class_size=class_size,
        dm=int(squares.sum()) + published.n_suppressed * n_rows,
        c_avg=class_size / k if k else 0.0,
        k=k,
        k_source="measured" if published.k_asked is None else "asked",
        pm=sum_of([one.sd for one in by_sensitive.values()]),
        pm_rows=sum_of([one.sd_rows for one in by_sensitive.values()]),
        by_sensitive=by_sensitive,
        r=r,
        w_u=w_u,
        w_p=w_p,
        min_support=min_support,
        loss=cell_loss(published) if published.cells is not None or published.intact else None,
        published=published,
    )
