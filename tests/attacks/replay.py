# SPDX-License-Identifier: Apache-2.0
"""Replaying a method with its own seed, against the files that it published.

    python tests/attacks/replay.py --rows 20000

prints what share of people get their own sensitive value. Whoever replays Anatomy knows the method, its
code, the seed and the two files, and nothing else: the deal follows from the published counts, and a
guess of the order in which people were dealt gives each person a place in the deal for each value of the
bucket; the values are matched so that these places agree best, and the places are read off again from
the matches.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from itertools import permutations
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import anon

ROUNDS = 12

Order = Callable[[pa.Table, list[str], int], np.ndarray]
"""Where each row of a published table stood when the rows were dealt: the attacker's guess."""


def by_rank(first: pa.Table, quasi: list[str], seed: int) -> np.ndarray:
    """By the rank of their quasi-identifiers, as if nothing had been drawn."""
    order = pc.sort_indices(first, sort_keys=[(name, "ascending") for name in quasi]).to_numpy()
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return place


def by_seed(first: pa.Table, quasi: list[str], seed: int) -> np.ndarray:
    """As `numpy.random.default_rng(seed)` shuffles the rows that are ranked by their quasi-identifiers."""
    n = first.num_rows
    place = np.empty(n, np.int64)
    place[np.random.default_rng(seed).permutation(n)] = np.arange(n)
    return place[by_rank(first, quasi, seed)]


def as_published(first: pa.Table, quasi: list[str], seed: int) -> np.ndarray:
    """As they stand in the file."""
    return np.arange(first.num_rows)


ORDERS: Mapping[str, Order] = {"rank": by_rank, "seed": by_seed, "file": as_published}


def dealt(counts: np.ndarray, l: int) -> list[np.ndarray]:
    """Of each value (by frequency, descending) the rounds of the deal in which a row of it is dealt."""
    left = counts.astype(np.int64).copy()
    rounds: list[list[int]] = [[] for _ in left]
    turn = 0
    while np.count_nonzero(left) >= l:
        # of the values tied with the l-th most frequent the last ones
        for value in np.lexsort((-np.arange(len(left)), -left))[:l]:
            left[value] -= 1
            rounds[value].append(turn)
        turn += 1
    return [np.array(each, np.int64) for each in rounds]


def replay(
    first: pa.Table, second: pa.Table, quasi: list[str], l: int, seed: int, order: Order
) -> tuple[np.ndarray, np.ndarray]:
    """The rows of `first` in buckets of l, and the sensitive value that each is given (as text)."""
    value = np.array(second["value"].to_pylist(), object)
    names = sorted(set(value))
    code = {name: i for i, name in enumerate(names)}
    codes = np.array([code[each] for each in value])
    totals = np.bincount(codes, second["count"].to_numpy(), len(names)).astype(np.int64)
    ranked = np.argsort(-totals, kind="stable")
    rank = np.empty_like(ranked)
    rank[ranked] = np.arange(len(ranked))
    totals, codes = totals[ranked], rank[codes]
    rounds = dealt(totals, l)

    n = first.num_rows
    place = order(first, quasi, seed)
    rows = np.argsort(first["class_id"].to_numpy(), kind="stable")
    sizes = np.bincount(first["class_id"].to_numpy())
    bucket = np.repeat(np.arange(len(sizes)), sizes)
    members = rows[np.isin(bucket, np.flatnonzero(sizes == l))].reshape(-1, l)
    of_bucket = np.argsort(second["class_id"].to_numpy(), kind="stable")
    held = codes[of_bucket]
    n_values = np.bincount(second["class_id"].to_numpy(), minlength=len(sizes))
    values = held[np.repeat(sizes == l, n_values)].reshape(-1, l)

    positions = place[members]
    # where each value's rows stand, at first as if they were spread evenly
    standing = [np.linspace(0, n, len(each), endpoint=False) + n / (2 * max(len(each), 1)) for each in rounds]
    orders = np.array(list(permutations(range(l))))
    best = np.zeros(len(members), np.int64)
    for _ in range(ROUNDS):
        turn = np.empty((len(members), l, l))  # of each value, were it each person's
        for v, (at, turns) in enumerate(zip(standing, rounds, strict=True)):
            where = np.nonzero(values == v)
            near = np.searchsorted(at, positions[where[0]]).clip(0, max(len(turns) - 1, 0))
            turn[where] = turns[near]
        i = np.arange(l)
        spread = np.stack([turn[:, i, one].var(axis=1) for one in orders], axis=1)
        best = spread.argmin(axis=1)
        chosen = np.take_along_axis(positions, orders[best], axis=1)
        for v, turns in enumerate(rounds):
            at = np.sort(chosen[values == v])
            if len(turns) and len(at):
                standing[v] = np.interp(np.linspace(0, len(at) - 1, len(turns)), np.arange(len(at)), at)
    matched = np.take_along_axis(members, orders[best], axis=1)
    return matched.ravel(), np.array(names, object)[ranked][values].ravel()


def right(release: anon.Release, l: int, seed: int, order: Order) -> tuple[float, int]:
    """The share of people who are given their own sensitive value, and how many buckets were tried."""
    [domain] = release.encoded.sensitive
    quasi = [domain.name for domain in release.encoded.quasi]
    members, guessed = replay(release.table, release.sensitive_table, quasi, l, seed, order)
    truth = np.array(release.encoded.table[domain.name].to_pylist(), object)[release.classes.rows]
    return float(np.mean(truth[members] == guessed)), len(members) // l


def people(n: int, seed: int = 7) -> tuple[pa.Table, anon.Schema]:
    """People whose quasi-identifiers tell most of them apart, and an occupation that they do not tell.

    Occupations are dealt out anew, so that nothing can be learned of them across buckets.
    """
    quasi = ["age", "sex", "education", "marital_status", "postcode"]
    table = anon.datasets.census(n, seed).select([*quasi, "occupation"])
    occupation = table["occupation"].take(pa.array(np.random.default_rng(seed).permutation(n)))
    return table.set_column(len(quasi), "occupation", occupation), anon.Schema(quasi, ["occupation"])


def told_by_a_seed(
    table: pa.Table, quasi: list[str], l: int, seed: int
) -> tuple[pa.Table, pa.Table, np.ndarray]:
    """The two tables of an Anatomy as it once was, and the true values of the rows of the first.

    Rows ranked by their quasi-identifiers are shuffled by the seed and dealt in a fixed order.
    """
    order = np.argsort(by_seed(table, quasi, seed))
    values = np.array(table["occupation"].to_pylist(), object)[order]
    names, codes, counts = np.unique(values.astype(str), return_inverse=True, return_counts=True)
    ranked = np.argsort(-counts, kind="stable")
    bucket = np.full(table.num_rows, -1)
    for value, rounds in zip(ranked, dealt(counts[ranked], l), strict=True):
        bucket[order[np.flatnonzero(codes == value)[: len(rounds)]]] = rounds
    left = np.flatnonzero(bucket < 0)
    bucket[left] = bucket.max() + 1  # a bucket that the attack leaves out
    first = table.select(quasi).append_column("class_id", pa.array(bucket))
    ones = np.ones(table.num_rows, np.int64)
    second = pa.table({"class_id": bucket[order], "value": names[codes], "count": ones})
    truth = np.empty(table.num_rows, object)
    truth[order] = names[codes]
    return first, second, truth


def main() -> None:
    """Print what the attacker gets, by l, seed and guessed order."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000)
    asked = parser.parse_args()
    table, schema = people(asked.rows)
    for l in (2, 3):
        for seed in (0, 1):
            release: Any = anon.anonymize(
                table, schema, method=anon.Anatomy(l), publish="bucketization", seed=seed
            )
            shares = {name: right(release, l, seed, order)[0] for name, order in ORDERS.items()}
            words = ", ".join(f"{share:.1%} by {name}" for name, share in shares.items())
            print(f"Anatomy(l={l}), seed {seed}: promised {1 / l:.1%}; {words}")


if __name__ == "__main__":
    main()
