# SPDX-License-Identifier: Apache-2.0
"""Attackers who have nothing to go by: how often the interval of the risk covers 0.

    python tests/attacks/luck.py --runs 200

prints the share for each attack. The release is made of other people, each of its columns permuted by
itself; what is guessed of a secret is guessed from the table's own rows with the secrets permuted.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

import anon
from anon.attackers import Attack, Inference, Linkability, Membership, SinglingOut

SCHEMA = anon.Schema(["age", "zip", "job"], ["ill"])
ROWS = 300


def people(rng: np.random.Generator, n: int = ROWS) -> pa.Table:
    """A sample of one population."""
    age = rng.integers(18, 90, n)
    return pa.table(
        {
            "age": age,
            "zip": [str(each) for each in rng.integers(0, 12, n)],
            "job": [f"j{each}" for each in (age // 12 + rng.integers(0, 5, n)) % 9],
            "ill": rng.choice(["flu", "cold", "none", "asthma"], n, p=[0.4, 0.3, 0.2, 0.1]),
        }
    )


def permuted(table: pa.Table, rng: np.random.Generator, *names: str) -> pa.Table:
    """The table with these columns in an order of their own each."""
    for name in names:
        at = table.column_names.index(name)
        table = table.set_column(at, name, table[name].take(pa.array(rng.permutation(table.num_rows))))
    return table


def blind(seed: int) -> Iterator[tuple[str, Attack]]:
    """Every attack by attackers who know nothing."""
    rng = np.random.default_rng([20261129, seed])
    ours, control, others = (people(rng) for _ in range(3))
    others = permuted(others, rng, "age", "zip", "job")
    found = anon.attack(
        ours,
        others,
        SCHEMA,
        control=control,
        attacks=[SinglingOut(2), Linkability(), Membership()],
        seed=seed,
        n_threads=1,
    )
    assert found.singling_out is not None
    yield from ((f"singling out, {name}", part) for name, part in found.singling_out.parts.items())
    assert found.linkability is not None
    assert found.membership is not None
    yield from (("linkability", found.linkability), ("membership", found.membership))
    mixed = permuted(ours, rng, "ill")
    guessed = anon.attack(
        ours, mixed, SCHEMA, control=control, attacks=[Inference(miners=["OneR"])], seed=seed, n_threads=1
    ).inference
    assert guessed is not None
    yield from ((f"inference, {name}", part) for name, part in guessed.parts["ill"].parts.items())


def shares(runs: int) -> dict[str, float]:
    """How often the interval of the risk, uncut, covers 0, by attack."""
    covered: dict[str, list[bool]] = {}
    for seed in range(runs):
        for name, attack in blind(seed):
            assert attack.risk is not None
            covered.setdefault(name, []).append(attack.risk.low <= 0 <= attack.risk.high)
    return {name: float(np.mean(each)) for name, each in covered.items()}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    for name, share in shares(parser.parse_args().runs).items():
        print(f"{name:40}{share:.1%}")
