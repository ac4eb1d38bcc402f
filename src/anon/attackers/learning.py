# SPDX-License-Identifier: Apache-2.0
"""Learning across the buckets of a bucketization (Kifer 2009, "deFinetti attack").

Buckets tell how often each sensitive value occurs in them, not whose it is. But what all buckets say together
of the people with a value is a model of them, and by it the people inside a bucket are told apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from anon.attackers.rates import CONFIDENCE, Rate, Risk, Verdict, residual, verdict, wilson
from anon.classes import Counts, group, group_numbers, texts, with_coded_sensitive
from anon.encoding import Codes, Domain, encode
from anon.errors import DataError, UsageError
from anon.release import bucket_ids, is_bucketized, metadata_of, refuse_sensitive_half, second_table
from anon.schema import Schema
from anon.tables import read_source
from anon.threads import available_threads
from anon.verbs import bucketized, coded_as_released

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

ROUNDS = 100
PARTS = 20  # of a column of numbers, each with as many rows
MOST_LABELS = 100  # of a column; longer ones are told by their first characters
LITTLE = 0.1  # people whom the model has seen of every kind, so that nothing is impossible
MOST_CELLS = 1 << 22  # of members and values of buckets at once


@dataclass(frozen=True)
class Learning:
    """How often a sensitive value is guessed from what all buckets say together.

    `target` is the rate of the attack on the people of the table, `naive` that of guessing the most frequent
    value of the person's bucket, which requirements bound; `risk` what learning adds to it. None of it is a
    promise: another learner may do better.
    """

    sensitive: str
    target: Rate
    naive: Rate

    @property
    def risk(self) -> Risk | None:
        """What is left of the rate once that of the naive attacker is taken off."""
        return residual(self.target, self.naive)

    @property
    def verdict(self) -> Verdict:
        """Whether the attack beats the naive attacker; nobody is compared who was never in the table."""
        return verdict(self.target, self.naive, None)

    @property
    def words(self) -> str:
        """What came of the attack, and what it does not mean."""
        return (
            f"{self.sensitive}: guessed for {self.target} of the people, by the buckets alone for "
            f"{self.naive}: "
            + (
                "this attack failed, which is not to say that the release is safe"
                if self.verdict == "attack failed"
                else "the buckets together tell more than each does; requirements do not bound it"
            )
        )


def learning(
    original: Any,
    released: Any,
    schema: Schema,
    *,
    sensitive_table: Any = None,
    confidence: float = CONFIDENCE,
    n_threads: int | None = None,
) -> Mapping[str, Learning]:
    """Guess sensitive values from a bucketization as an attacker does who knows how it was made.

    A naive Bayes is trained on the shares of values in buckets, and then re-trained on what it says of the
    members of each bucket, whose counts are kept (expectation and maximization), until it settles. Whoever
    knows a person's quasi-identifiers finds the rows that equal them, and guesses the value with the greatest
    share; ties go to the least code. The answer has a result for each sensitive attribute that is published.

    Parameters
    ----------
    original, released, sensitive_table : as for `compare`
    schema : Schema
    confidence : float
        Two-sided level of the intervals of Wilson.
    n_threads : int, optional
        Default: the processors this process may use. The answer does not depend on it.

    Raises
    ------
    UsageError
        The release is no bucketization: in a generalization all rows of a class look alike.
    """
    threads = available_threads(n_threads)
    if not isinstance(schema, Schema):
        raise UsageError(f"schema must be an anon.Schema, not {type(schema).__name__}")
    source, people = read_source(released), read_source(original).table
    metadata = metadata_of(source)
    refuse_sensitive_half(source, schema)
    if sensitive_table is None and not is_bucketized(source, metadata, schema):
        raise UsageError(
            "learning across buckets attacks bucketizations: in a generalization the rows of a class look "
            "alike, and nobody tells them apart by it"
        )
    roles = coded_as_released(Schema(schema.quasi, schema.sensitive), metadata, people.schema)
    encoded = with_coded_sensitive(encode(people, roles, n_threads=threads)).original
    shown = bucketized(encoded, source.table, second_table(source, sensitive_table), metadata, threads)
    assert shown.intact is not None
    [ids] = bucket_ids(source.table, threads).quasi_codes
    n = len(ids)
    kinds = [_kinds(domain, codes) for domain, codes in zip(encoded.quasi, shown.intact, strict=True)]
    both = [
        np.concatenate([one, other]).astype(np.uint32)
        for one, other in zip(shown.intact, encoded.quasi_codes, strict=True)
    ]
    equal = group(both, n_threads=threads)
    numbers = group_numbers(equal.rows, equal.offsets).astype(np.int64)
    found = {}
    for domain, truth, counts in zip(encoded.sensitive, encoded.sensitive_codes, shown.counts, strict=True):
        if counts is None:
            continue
        learned, apparent = _shares(kinds, ids, counts, domain.n_codes)
        of_target = numbers[n:]
        hits = []
        for rows, values, shares in (learned, apparent):
            guess = _likeliest(numbers[rows], values, shares, equal.n_classes)
            hits.append(int(np.count_nonzero(guess[of_target] == truth)))
        here = np.zeros(equal.n_classes, np.bool_)
        here[numbers[:n]] = True
        tries = int(np.count_nonzero(here[of_target]))
        target, naive = (wilson(each, tries, confidence) for each in hits)
        found[domain.name] = Learning(domain.name, target, naive)
    if not found:
        raise DataError("the release publishes none of the sensitive attributes; name those that it counts")
    return MappingProxyType(found)


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


Shares = tuple[Ints, Ints, Floats]  # rows of the release, values, and the share of each


def _shares(kinds: Sequence[Ints], ids: Codes, counts: Counts, n_codes: int) -> tuple[Shares, Shares]:
    """What an attacker believes of the value of every released row: by the model, and by its bucket alone."""
    parts = list(_alike(ids, counts))
    share = [
        np.broadcast_to((c / c.sum(axis=1, keepdims=True))[:, None, :], (*m.shape, c.shape[1]))
        for m, _, c in parts
    ]
    apparent = _flat(parts, share)
    sizes = [int(codes.max()) + 1 for codes in kinds]
    for _ in range(ROUNDS):
        models = []
        for codes, size in zip(kinds, sizes, strict=True):
            seen = np.full(n_codes * size, LITTLE)
            for (members, values, _), one in zip(parts, share, strict=True):
                cell = values[:, None, :] * size + codes[members][:, :, None]
                seen += np.bincount(cell.ravel(), one.ravel(), n_codes * size)
            by_value = seen.reshape(n_codes, size)
            models.append(np.log(by_value / by_value.sum(axis=1, keepdims=True)).ravel())
        most, after = 0.0, []
        for (members, values, counted), one in zip(parts, share, strict=True):
            likely = np.zeros(one.shape)
            for codes, size, model in zip(kinds, sizes, models, strict=True):
                likely += model[values[:, None, :] * size + codes[members][:, :, None]]
            made = _balanced(likely, counted)
            most = max(most, float(np.abs(made - one).max(initial=0)))
            after.append(made)
        share = after
        if most < 1e-3:
            break
    return _flat(parts, share), apparent


def _alike(ids: Codes, counts: Counts) -> Iterator[tuple[Ints, Ints, Floats]]:
    """The buckets of one size and one number of values at a time: members, values, and their counts."""
    order = np.argsort(ids, kind="stable")
    numbers, first, sizes = np.unique(ids[order], return_index=True, return_counts=True)
    n_values = np.diff(counts.offsets)
    assert len(numbers) == len(n_values)
    shapes, of_bucket = np.unique(np.stack([sizes, n_values]), axis=1, return_inverse=True)
    for i, (size, width) in enumerate(shapes.T.tolist()):
        buckets = np.flatnonzero(of_bucket.reshape(-1) == i)
        step = max(MOST_CELLS // (size * width), 1)
        for start in range(0, len(buckets), step):
            some = buckets[start : start + step]
            members = order[first[some][:, None] + np.arange(size)]
            at = counts.offsets[some][:, None] + np.arange(width)
            yield members, counts.values[at].astype(np.int64), counts.counts[at].astype(np.float64)


def _balanced(likely: Floats, counted: Floats) -> Floats:
    """Shares of values for the members of buckets, in proportion to their likelihood, that add up to 1 for
    each member and to the bucket's count for each value (Sinkhorn).
    """
    share = np.exp(likely - likely.max(axis=(1, 2), keepdims=True)) + 1e-300
    for _ in range(30):
        share *= (counted / share.sum(axis=1))[:, None, :]
        share /= share.sum(axis=2, keepdims=True)
    return np.asarray(share)


def _flat(parts: Sequence[tuple[Ints, Ints, Floats]], shares: Sequence[Floats]) -> Shares:
    rows, values, found = [], [], []
    for (members, held, _), share in zip(parts, shares, strict=True):
        shape = (*members.shape, held.shape[1])
        rows.append(np.broadcast_to(members[:, :, None], shape).ravel())
        values.append(np.broadcast_to(held[:, None, :], shape).ravel())
        found.append(np.asarray(share).ravel())
    return np.concatenate(rows), np.concatenate(values), np.concatenate(found)


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
