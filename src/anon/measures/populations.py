# SPDX-License-Identifier: Apache-2.0
"""Large populations, and how well a release lets their sensitive values be estimated (Li & Li 2009, 4.2)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

import anoncore.populations as populations_kernel
import anoncore.queries as queries_kernel
from anon.classes import Counts, Published, Reach, Showing, published_of, texts
from anon.encoding import Domain, Encoded
from anon.errors import UsageError
from anon.measures.estimates import Predicates, boxes, overlaps
from anon.schema import Levels
from anon.threads import available_threads, in_threads

BLOCK = 64  # populations estimated at a time
MOST_COUNTS = 1 << 29  # 4 GiB of true counts


@dataclass(frozen=True, repr=False)
class Populations:
    """The large populations of a table: conjunctions of at most one predicate per quasi-identifier.

    Population i is the conjunction of population `parent[i]` (int64, -1: nothing) and of predicate
    `predicate[i]` of quasi-identifier `attribute[i]` (int32); `support[i]` rows (int64) meet it, of which
    `counts[s][i, v]` (int64) have code v of sensitive attribute s. Its parent comes before it.
    """

    predicates: tuple[Predicates, ...]
    parent: npt.NDArray[np.int64]
    attribute: npt.NDArray[np.int32]
    predicate: npt.NDArray[np.int32]
    support: npt.NDArray[np.int64]
    counts: tuple[npt.NDArray[np.int64], ...]
    min_support: Fraction

    def __len__(self) -> int:
        return len(self.parent)

    def conjunction(self, i: int) -> dict[str, str]:
        """The predicates of population i: attribute -> value or node, in the order of the schema."""
        chosen: dict[int, str] = {}
        while i >= 0:
            chosen[int(self.attribute[i])] = self.predicates[self.attribute[i]].labels[self.predicate[i]]
            i = int(self.parent[i])
        return {self.predicates[a].domain.name: chosen[a] for a in sorted(chosen)}

    def __repr__(self) -> str:
        return f"Populations({len(self)}, min_support={float(self.min_support)})"


@dataclass(frozen=True)
class PopulationLoss:
    """U_loss (Li & Li 2009, 4.2): the mean over large populations of JS(true, estimated), in nats.

    `by_sensitive` gives it for each sensitive attribute, `u_loss` is their mean.
    """

    u_loss: float
    by_sensitive: Mapping[str, float]
    n_populations: int
    min_support: float


def as_share(min_support: float | Fraction) -> Fraction:
    """The minimum support as the fraction that was written."""
    try:
        share = min_support if isinstance(min_support, Fraction) else Fraction(str(min_support))
    except ValueError:
        share = Fraction(0)  # not a number
    if not 0 < share <= 1:
        raise UsageError("min_support must be above 0 and at most 1")
    return share


def frequent_predicates(domain: Domain, counts: npt.NDArray[Any], min_count: float) -> Predicates:
    """The values and hierarchy nodes of a domain that at least `min_count` rows meet.

    `counts[c]` is the number of rows of code c, or of the people that they stand for. Nodes that hold all
    values are left out; of those that hold the same values the narrowest is kept.
    """
    n = domain.n_values
    labels: list[str] = []
    runs: list[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], Reach | None]] = []
    known: set[bytes] = set()

    def add(
        label: str, first: npt.NDArray[np.int64], last: npt.NDArray[np.int64], reach: Reach | None
    ) -> None:
        key = np.concatenate([first, last]).tobytes()
        if key not in known and last.sum() - first.sum() + len(first) < n:
            known.add(key)
            labels.append(label)
            runs.append((first, last, reach))

    frequent = np.flatnonzero(counts[:n] >= min_count)
    for code, label in zip(frequent, texts(domain.values.take(frequent)), strict=True):
        at = None if domain.positions is None else domain.positions[[code]]
        add(label, np.array([code]), np.array([code]), None if at is None else (at, at))
    sums = np.concatenate([[0], np.cumsum(counts[:n])])
    if domain.tree is not None:
        tree = domain.tree
        support = sums[tree.last + 1] - sums[tree.first]
        nodes = np.flatnonzero((support >= min_count) & (tree.first < tree.last))
        for node in nodes[np.argsort(-tree.depth[nodes], kind="stable")]:
            first, last = tree.first[[node]].astype(np.int64), tree.last[[node]].astype(np.int64)
            add(tree.labels[node], first, last, None)
    if domain.levels is not None:
        for label, first, last, reach in _sets(domain.levels, counts[:n], min_count, domain):
            add(label, first, last, reach)
    lengths = [len(first) for first, _, _ in runs]

    def joined(parts: Sequence[Any], dtype: type) -> npt.NDArray[Any]:
        return np.concatenate([np.empty(0, dtype), *parts]).astype(dtype)

    reaches = [reach for _, _, reach in runs if reach is not None]
    return Predicates(
        domain,
        tuple(labels),
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        joined([first for first, _, _ in runs], np.uint32),
        joined([last for _, last, _ in runs], np.uint32),
        None if domain.positions is None else joined([lower for lower, _ in reaches], np.float64),
        None if domain.positions is None else joined([upper for _, upper in reaches], np.float64),
    )


def _sets(
    levels: Levels, counts: npt.NDArray[Any], min_count: float, domain: Domain
) -> list[tuple[str, npt.NDArray[np.int64], npt.NDArray[np.int64], Reach]]:
    """The frequent sets of levels, narrowest first, with their runs of codes and where these reach."""
    positions = domain.positions
    assert positions is not None
    sets = []
    for of_code in levels.of_code:
        support = np.bincount(of_code[of_code >= 0], counts[of_code >= 0], len(levels.labels))
        starts = np.flatnonzero(np.append(True, of_code[1:] != of_code[:-1]))
        ends = np.append(starts[1:], len(of_code)) - 1
        for s in np.flatnonzero((support >= min_count) & (support > 0)):
            first, last = starts[of_code[starts] == s], ends[of_code[starts] == s]
            reach = (positions[first], positions[last])
            if len(first) == 1:
                reach = (levels.lower[[s]], levels.upper[[s]])
            sets.append((float((reach[1] - reach[0]).sum()), int(s), levels.labels[s], first, last, reach))
    sets.sort(key=lambda each: each[:2])
    return [each[2:] for each in sets]


def large_populations(
    encoded: Encoded, min_support: float | Fraction = 0.05, *, n_threads: int | None = None
) -> Populations:
    """All large populations of a table, with the counts of their sensitive values.

    A population is a conjunction of at most one predicate per quasi-identifier, each a value or a node
    of its hierarchy other than the root, that at least `min_support` of all rows meet (decided exactly).
    Of predicates that hold the same values of an attribute the narrowest is used, one that holds all
    of them not at all.
    """
    share = as_share(min_support)
    threads = available_threads(n_threads)
    min_count = math.ceil(share * encoded.n_rows)
    predicates = tuple(
        frequent_predicates(domain, np.bincount(codes, minlength=domain.n_codes), min_count)
        for domain, codes in zip(encoded.quasi, encoded.quasi_codes, strict=True)
    )
    # many predicates first: each is then tried below few populations
    order = sorted(range(len(predicates)), key=lambda a: -len(predicates[a]))
    columns = [encoded.quasi_codes[a] for a in order]
    listed = [(predicates[a].offsets, predicates[a].first, predicates[a].last) for a in order]
    n_values = [domain.n_codes for domain in encoded.sensitive]
    n_found = len(populations_kernel.mine(columns, listed, min_count, (), (), threads)[0])
    if n_found * sum(n_values) > MOST_COUNTS:
        raise UsageError(
            f"{n_found} large populations with counts of {sum(n_values)} sensitive values take too much "
            "memory; raise min_support, or make an attribute of many values neutral"
        )
    parent, attribute, predicate, support, counts = populations_kernel.mine(
        columns, listed, min_count, encoded.sensitive_codes, n_values, threads
    )
    of_schema = np.array(order, np.int32)[attribute]
    return Populations(predicates, parent, of_schema, predicate, support, tuple(counts), share)


def u_loss(
    release: Published | Showing,
    min_support: float | Fraction = 0.05,
    *,
    populations: Populations | None = None,
    n_threads: int | None = None,
) -> PopulationLoss:
    """U_loss of a release: how far the sensitive values of large populations are from their estimates.

    For every large population the distribution of each sensitive attribute in the original is
    compared by JS divergence with the one estimated from the release under the uniform assumption;
    an empty estimate counts as ln 2. `populations` of the same table can be given to save their search.
    """
    published = published_of(release)
    refuse_without_sensitive(published)
    sensitive = published.original.sensitive
    threads = available_threads(n_threads)
    if populations is None:
        populations = large_populations(published.original, min_support, n_threads=threads)
    estimable = boxes(published)
    counts = [one for one in estimable.sensitive_counts if one is not None]
    n_values = [len(one.table) for one in counts]
    base = np.concatenate([[0], np.cumsum(n_values)])
    lists = _joined(counts, base)
    shares = [
        overlaps(cells, reach, predicates)[0]
        for cells, reach, predicates in zip(
            estimable.quasi_cells, estimable.reaches, populations.predicates, strict=True
        )
    ]

    def losses(start: int) -> npt.NDArray[np.float64]:
        stop = min(start + BLOCK, len(populations))
        estimates = queries_kernel.reconstruct(
            estimable.cells,
            shares,
            estimable.groups,
            *lists,
            int(base[-1]),
            populations.parent,
            populations.attribute,
            populations.predicate,
            start,
            stop,
        )
        return np.stack(
            [
                js_divergence(true[start:stop], estimates[:, base[s] : base[s + 1]])
                for s, true in enumerate(populations.counts)
            ]
        )

    parts = in_threads(threads, losses, range(0, len(populations), BLOCK))
    each = np.concatenate([np.empty((len(n_values), 0)), *parts], axis=1)
    means = [float(one.mean()) if len(one) else 0.0 for one in each]
    return PopulationLoss(
        math.fsum(means) / len(means),
        {domain.name: mean for domain, mean in zip(sensitive, means, strict=True)},
        len(populations),
        float(populations.min_support),
    )


def refuse_without_sensitive(published: Published) -> None:
    """Raise UsageError where a release does not show every sensitive attribute, or there is none."""
    dropped = published.dropped
    if not published.original.sensitive or dropped:
        named = f"; {dropped[0]!r} is not published" if dropped else ""
        raise UsageError(f"U_loss compares sensitive attributes, and the release has none{named}")


def _joined(
    counts: Sequence[Counts], base: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint32], npt.NDArray[np.int64]]:
    """Counts of several sensitive attributes in one CSR; the codes of attribute s start at base[s]."""
    n_classes = len(counts[0].offsets) - 1
    ids = np.concatenate([np.repeat(np.arange(n_classes), np.diff(one.offsets)) for one in counts])
    values = np.concatenate([one.values + np.uint32(start) for one, start in zip(counts, base, strict=False)])
    order = np.argsort(ids, kind="stable")
    offsets = np.concatenate([[0], np.cumsum(np.bincount(ids, minlength=n_classes))]).astype(np.int64)
    return offsets, values[order], np.concatenate([one.counts for one in counts])[order]


def js_divergence(true: npt.NDArray[Any], estimated: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """JS divergence of each row of counts from the same row of estimates, in nats; ln 2 for an empty one.

    Estimates may have more columns than counts: values that do not occur in the original.
    """
    true = np.pad(true, ((0, 0), (0, estimated.shape[1] - true.shape[1])))
    totals, guessed = true.sum(axis=1, keepdims=True), estimated.sum(axis=1, keepdims=True)
    p = true / totals
    q = np.divide(estimated, guessed, out=np.zeros_like(estimated, np.float64), where=guessed > 0)
    middle = 0.5 * (p + q)
    summed = np.zeros(len(true))
    for part in (p, q):
        ratio = np.divide(part, middle, out=np.ones_like(middle), where=part > 0)
        summed += (part * np.log(ratio)).sum(axis=1)
    return np.where(guessed[:, 0] > 0, np.clip(0.5 * summed, 0.0, math.log(2)), math.log(2))
