# SPDX-License-Identifier: Apache-2.0
"""Where randomness that hides something comes from, and that seeds drive searches alone."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from anon.entropy import keyed, new_key, permutation, system

SOURCES = Path(__file__).parents[2] / "src" / "anon"

# NumPy's generators may draw these: where a search starts, tables, queries and folds, what papers drew.
SEARCHES = {
    "attackers/minimality.py": "deals that an attacker counts, of classes too large to count all",
    "attackers/attack.py": "which people are attacked",
    "attackers/inference.py": "the rows that a miner is fitted on",
    "attackers/learning.py": "the buckets that an attacker learns from",
    "attackers/linkability.py": "which of equally near rows an attacker takes",
    "attackers/membership.py": "the half of the people on which a threshold is found",
    "attackers/singling_out.py": "which conditions are tried",
    "choice/sweep.py": "Task.rng",
    "engines/local.py": "Task.rng",
    "engines/spark/solve.py": "Task.rng",
    "verbs/anonymize.py": "Task.rng",
    "verbs/append.py": "Task.rng, of which nothing is drawn",
    "methods/task.py": "its type",
    "methods/kmembers.py": "the first row",
    "methods/tgc.py": "the sample of algorithm 3",
    "datasets/people.py": "synthetic tables",
    "miners/cross.py": "folds of the owner's measurements",
    "scenarios/attack.py": "rows of a workload",
    "measures/known.py": "which neutral columns are looked at",
    "measures/numbers.py": "permutations that a measured score is compared with",
    "measures/workload.py": "queries",
    "papers/": "what the papers drew",
}


def test_numpys_generators_drive_searches_and_measurements_alone() -> None:
    """A new use of a generator that is no secret has to be looked at, and named above."""
    for path in sorted(SOURCES.rglob("*.py")):
        name = path.relative_to(SOURCES).as_posix()
        if re.search(r"np\.random|\brng\b|^import random|PCG64", path.read_text(), re.MULTILINE):
            assert name in SEARCHES or name.startswith("papers/"), name


def test_an_unseeded_generator_of_numpy_is_nowhere() -> None:
    """It is seeded by the operating system, but whoever finds its state knows all that it drew."""
    for path in SOURCES.rglob("*.py"):
        assert not re.search(r"default_rng\(\)", path.read_text()), path


def test_the_systems_numbers_fill_all_bits_and_never_repeat() -> None:
    drawn = system(4096)
    assert (drawn.dtype, drawn.shape) == (np.dtype(np.uint64), (4096,))
    bits = np.unpackbits(drawn.view(np.uint8)).reshape(4096, 64).sum(axis=0)
    assert (abs(bits.astype(int) - 2048) < 6.5 * 32).all()  # 64 binomials: beyond once in 10**8 runs
    assert len(np.unique(np.concatenate([drawn, system(4096)]))) == 8192


def test_a_keyed_stream_is_told_by_the_key_the_number_and_the_call() -> None:
    key = new_key()

    def drawn(key: bytes, number: int) -> list[list[int]]:
        entropy = keyed(key, number)
        return [entropy(5).tolist(), entropy(5).tolist()]

    first = drawn(key, 3)
    assert drawn(key, 3) == first
    calls = [*first, *drawn(key, 4), *drawn(new_key(), 3)]
    assert len({number for call in calls for number in call}) == 30
    with pytest.raises(ValueError, match="32 bytes"):
        keyed(b"short")


@pytest.mark.parametrize("n", [0, 1, 2, 1000])
def test_a_permutation_holds_every_number_once(n: int) -> None:
    assert sorted(permutation(n, system).tolist()) == list(range(n))


def test_every_order_is_as_likely() -> None:
    drawn = Counter(tuple(permutation(4, system).tolist()) for _ in range(9600))
    assert len(drawn) == 24
    statistic = sum((count - 400) ** 2 / 400 for count in drawn.values())
    assert statistic < 80  # chi-squared, 23 degrees of freedom: beyond it once in 3 * 10**7 runs
