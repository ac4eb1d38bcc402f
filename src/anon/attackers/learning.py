# SPDX-License-Identifier: Apache-2.0
"""Learning across the buckets of a bucketization (Kifer 2009, "deFinetti attack").

Buckets tell how often each sensitive value occurs in them, not whose it is. But what all buckets say together
of the people with a value is a model of them, and by it the people inside a bucket are told apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from anon.attackers.nearest import People
from anon.attackers.result import Attack, Bools, tried, worst_of
from anon.attackers.seen import Column, Secret, Seen
from anon.classes import Counts, group, group_numbers, texts
from anon.encoding import Codes, Domain
from anon.errors import UsageError

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

ROUNDS = 100
PARTS = 20  # of a column of numbers, each with as many rows
MOST_LABELS = 100  # of a column; longer ones are told by their first characters
LITTLE = 0.1  # people whom the model has seen of every kind, so that nothing is impossible
MOST_CELLS = 1 << 22  # of members and values of buckets at once
MOST_ROWS = 50_000  # that the model is trained on


@dataclass(frozen=True)
class Learning:
    """One who knows all quasi-identifiers of a person, and how the bucketization was made.

    A naive Bayes is trained on the shares of values in buckets, and then re-trained on what it says of the
    members of each bucket, whose counts are kept (expectation and maximization), until it settles. Of a
    release of more than `most_rows` rows (None: no limit) buckets are drawn to train it on, as many as have
    no more; what is learned is then asked of the buckets of all targets. The rows that equal the person are
    found, and the value with the greatest share is guessed; ties go to the least code. The naive attacker
    guesses the most frequent value of the person's bucket, which requirements bound. People who never were
    in the table have no bucket, so that the risk is what learning adds to the naive attacker's. `sensitive`
    are the secrets that are guessed (all). The facts `n_trained` and `n_rows` are the rows trained on, of
    all that are released.
    """

    sensitive: Sequence[str] | None = None
    most_rows: int | None = MOST_ROWS

    name = "learning"

    def __post_init__(self) -> None:
        most = self.most_rows
        if most is not None and (isinstance(most, bool) or not isinstance(most, int) or most < 1):
            raise UsageError("most_rows must be a whole number of at least 1, or None for all rows")

    def run(self, seen: Seen, people: People, asked: int, seed: int, confidence: float) -> Attack | str:
        """The attack, or why it cannot be tried."""
        known = {each.domain.name: each for each in seen.secrets if each.of_bucket is not None}
        if not known:
            return (
                "learning across buckets is of bucketizations: in a generalization the rows of a class look "
                "alike, and nobody tells them apart by it"
            )
        chosen = known if self.sensitive is None else self.sensitive
        for name in chosen:
            if name not in known:
                raise UsageError(f"learning: the release counts no sensitive attribute {name!r}")
        assert seen.bucket is not None
        released = [_released(column) for column in seen.quasi]
        kinds = [
            _kinds(column.cells.domain, codes) for column, codes in zip(seen.quasi, released, strict=True)
        ]
        both = [
            np.concatenate([codes, column.original[people.targets]]).astype(np.uint32)
            for column, codes in zip(seen.quasi, released, strict=True)
        ]
        equal = group(both, n_threads=seen.n_threads)
        points = group_numbers(equal.rows, equal.offsets).astype(np.int64)
        sizes = np.bincount(seen.bucket)
        drawn = _drawn(sizes, self.most_rows, np.random.default_rng([seed, 4]))
        n_trained = int(sizes[drawn].sum())
        found = worst_of(
            self.name,
            {name: _learned(seen, known[name], kinds, points, drawn, people, confidence) for name in chosen},
            n_trained=n_trained,
            n_rows=seen.n_released,
        )
        if n_trained == seen.n_released:
            return found
        return replace(found, more=f"It was trained on {n_trained:,} of {seen.n_released:,} rows.")


def _drawn(sizes: Ints, most: int | None, rng: np.random.Generator) -> Bools:
    """Which buckets a model is trained on: those drawn first, while they have at most so many rows together,
    and one at least.
    """
    order = rng.permutation(len(sizes))
    drawn = np.zeros(len(sizes), np.bool_)
    drawn[order] = most is None or np.cumsum(sizes[order]) <= most
    drawn[order[:1]] = True
    return drawn


def _learned(
    seen: Seen,
    secret: Secret,
    kinds: Sequence[Ints],
    points: Ints,
    drawn: Bools,
    people: People,
    confidence: float,
) -> Attack:
    """The attack on one secret by a model of the drawn buckets; `points` number what released rows, and then
    targets, have in common.
    """
    assert seen.bucket is not None
    assert secret.of_bucket is not None
    of_row, of_target = np.split(points, [seen.n_released])
    is_there = np.isin(of_target, of_row)
    truth = secret.original[people.targets]
    training = [*_alike(seen.bucket, secret.of_bucket, drawn)]
    models = _trained(kinds, training, secret.domain.n_codes)
    is_asked = np.isin(of_row, of_target)
    asked = np.zeros(len(drawn), np.bool_)
    asked[seen.bucket[is_asked]] = True
    told = [(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0), np.empty(0))]
    for part in _alike(seen.bucket, secret.of_bucket, asked):
        here = is_asked[part.members]
        of_value = np.broadcast_to(part.values[:, None], part.shape)[here]
        of_point = np.broadcast_to(of_row[part.members][here][:, None], of_value.shape)
        learned = _balanced(part.likely(kinds, models), part.counts)[here]
        told.append((of_point.ravel(), of_value.ravel(), learned.ravel(), part.apparent[here].ravel()))
    at, values, *shares = (np.concatenate(each) for each in zip(*told, strict=True))
    n_points = int(points.max()) + 1
    hits = [(_likeliest(at, values, each, n_points)[of_target] == truth)[is_there] for each in shares]
    return tried(secret.domain.name, hits[0], None, hits[1], confidence, over_naive=True)


def _released(column: Column) -> Codes:
    """The code of each released row; that of null where it shows null."""
    cells = column.cells
    codes = np.where(cells.low > cells.high, cells.domain.n_values, cells.low).astype(np.uint32)
    return codes[cells.of_class]


def _kinds(domain: Domain, codes: Codes) -> Ints:
    """A quasi-identifier of the released rows in few kinds: parts of numbers, labels or their beginnings."""
    of_code = np.arange(domain.n_codes)
    if domain.kind != "nominal":
        counted = np.bincount(codes, minlength=domain.n_codes)[: domain.n_values]
        before = np.cumsum(counted) - counted
        of_code[: domain.n_values] = before * PARTS // max(int(counted.sum()), 1)
        of_code[domain.n_values :] = PARTS
    elif domain.n_values > MOST_LABELS:
        words = texts(domain.values)
        longest = max(map(len, words))
        length = next(
            (size for size in range(longest, 0, -1) if len({word[:size] for word in words}) <= MOST_LABELS), 0
        )
        beginnings = np.unique([word[:length] for word in words], return_inverse=True)[1]
        of_code[: domain.n_values] = beginnings
    return np.asarray(of_code[codes], np.int64)


@dataclass(frozen=True, repr=False)
class Part:
    """Buckets of one size and one number of values: `members` (rows of the release), `values`, `counts`."""

    members: Ints
    values: Ints
    counts: Floats

    @property
    def shape(self) -> tuple[int, ...]:
        """Of what is said of each value for each member."""
        return (*self.members.shape, self.values.shape[1])

    @property
    def apparent(self) -> Floats:
        """The share of each value for each member by the bucket alone."""
        share = self.counts / self.counts.sum(axis=1, keepdims=True)
        return np.broadcast_to(share[:, None, :], self.shape)

    def cells(self, codes: Ints, size: int) -> Ints:
        """Where each value of each member stands in a table of values and `size` kinds."""
        cells: Ints = self.values[:, None, :] * size + codes[self.members][:, :, None]
        return cells

    def likely(self, kinds: Sequence[Ints], models: Sequence[Floats]) -> Floats:
        """The logarithm of the likelihood of each value for each member."""
        likely = np.zeros(self.shape)
        for codes, model in zip(kinds, models, strict=True):
            likely += model.ravel()[self.cells(codes, model.shape[1])]
        return likely


def _trained(kinds: Sequence[Ints], parts: Sequence[Part], n_codes: int) -> list[Floats]:
    """Of each column the logarithm of the share of each kind among people of each value (values x kinds)."""
    share = [part.apparent for part in parts]
    sizes = [int(codes.max()) + 1 for codes in kinds]
    models: list[Floats] = []
    for _ in range(ROUNDS):
        models = []
        for codes, size in zip(kinds, sizes, strict=True):
            seen = np.full(n_codes * size, LITTLE)
            for part, one in zip(parts, share, strict=True):
                seen += np.bincount(part.cells(codes, size).ravel(), one.ravel(), n_codes * size)
            by_value = seen.reshape(n_codes, size)
            models.append(np.log(by_value / by_value.sum(axis=1, keepdims=True)))
        after = [_balanced(part.likely(kinds, models), part.counts) for part in parts]
        most = max(float(np.abs(a - b).max(initial=0)) for a, b in zip(after, share, strict=True))
        share = after
        if most < 1e-3:
            break
    return models


def _alike(ids: Codes, counts: Counts, chosen: Bools) -> Iterator[Part]:
    """The chosen buckets, those of one size and one number of values at a time."""
    order = np.argsort(ids, kind="stable")
    numbers, first, sizes = np.unique(ids[order], return_index=True, return_counts=True)
    n_values = np.diff(counts.offsets)
    assert len(numbers) == len(n_values) == len(chosen)
    shapes, of_bucket = np.unique(np.stack([sizes, n_values]), axis=1, return_inverse=True)
    for i, (size, width) in enumerate(shapes.T.tolist()):
        buckets = np.flatnonzero((of_bucket.reshape(-1) == i) & chosen)
        step = max(MOST_CELLS // (size * width), 1)
        for start in range(0, len(buckets), step):
            some = buckets[start : start + step]
            members = order[first[some][:, None] + np.arange(size)]
            at = counts.offsets[some][:, None] + np.arange(width)
            yield Part(members, counts.values[at].astype(np.int64), counts.counts[at].astype(np.float64))


def _balanced(likely: Floats, counted: Floats) -> Floats:
    """Shares of values for the members of buckets, in proportion to their likelihood, that add up to 1 for
    each member and to the bucket's count for each value (Sinkhorn).
    """
    share = np.exp(likely - likely.max(axis=2, keepdims=True)) + 1e-300
    share /= share.sum(axis=2, keepdims=True)
    for _ in range(30):
        sums = share.sum(axis=1)
        if np.abs(sums - counted).max(initial=0) < 1e-4:
            break
        share *= (counted / sums)[:, None, :]
        share /= share.sum(axis=2, keepdims=True)
    return np.asarray(share)


def _likeliest(points: Ints, values: Ints, shares: Floats, n_points: int) -> Ints:
    """The value of greatest summed share for each point, of equal ones the least; -1 where there is none."""
    width = int(values.max(initial=0)) + 1
    keys, where = np.unique(points * width + values, return_inverse=True)
    total = np.round(np.bincount(where, shares), 12)
    order = np.lexsort((keys % width, -total, keys // width))
    of_point = keys[order] // width
    is_first = np.ones(len(order), np.bool_)
    is_first[1:] = of_point[1:] != of_point[:-1]
    guess = np.full(n_points, -1, np.int64)
    guess[of_point[is_first]] = keys[order][is_first] % width
    return guess
