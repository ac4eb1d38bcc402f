# SPDX-License-Identifier: Apache-2.0
"""The artificial table of Brickell & Shmatikov, section 7: three coins."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

import pyarrow as pa

from anon.html import Table
from anon.papers import Setting, Tested, table_of
from anon.papers.brickell2008.releases import TREE, TREES, percent
from anon.requirements import TCloseness
from anon.schema import Schema
from anon.verbs import mining_utility


def three_coins() -> dict[str, list[str]]:
    """The artificial table: every outcome of three coins once."""
    flips = [tuple(map(int, f"{i:03b}")) for i in range(8)]
    return {
        "a1": [str(r1) for r1, _, _ in flips],
        "a2": [str(r2) for _, r2, _ in flips],
        "a3": [f"{r2}{r3}" for _, r2, r3 in flips],
        "a4": [str(r1 ^ r3) for r1, _, r3 in flips],
        "a5": [str(r1 ^ r2) for r1, r2, _ in flips],
    }


def information(columns: Mapping[str, Sequence[str]], target: str, given: str) -> float:
    """Bits that the columns named in `given` tell about `target`, by the rows' frequencies."""

    def entropy(names: Sequence[str]) -> float:
        counts = Counter(zip(*(columns[name] for name in names), strict=True)).values()
        return -math.fsum(n / sum(counts) * math.log2(n / sum(counts)) for n in counts)

    known = given.split()
    return entropy([target]) + entropy(known) - entropy([target, *known])


def bits(coins: Mapping[str, Sequence[str]], *pairs: tuple[str, str]) -> dict[str, float]:
    """Bits of each first in its second."""
    return {f"bits of {t} in {', '.join(given.split())}": information(coins, t, given) for t, given in pairs}


def about_coins(coins: Mapping[str, Sequence[str]]) -> dict[str, Tested]:
    parts = {**coins, "r2": [v[0] for v in coins["a3"]], "r3": [v[1] for v in coins["a3"]]}
    half = bits(coins, ("a3", "a1 a2"), ("a3", "a3"))
    private = bits(coins, ("a3", "a1"))
    useful = bits(coins, ("a4", "a1 a3"), ("a5", "a1 a3"), ("a3", "a1 a4 a5"))
    no_quasi = bits(coins, ("a4", "a3"), ("a5", "a3"), ("a3", "a4 a5"), ("a4", "a3 a5"), ("a5", "a3 a4"))
    no_sensitive = bits(
        coins, ("a4", "a1 a2 a5"), ("a5", "a1 a2 a4"), ("a4", "a1 a5"), ("a5", "a1 a4"), ("a5", "a1 a2")
    )
    joint = bits(coins, ("a4", "a1 a2 a3"), ("a5", "a1 a2 a3"))
    single = bits(coins, ("a4", "a1 a2"), ("a4", "a3"), ("a5", "a1 a2"), ("a5", "a3"))
    split = bits(parts, ("r2", "a1 a2"), ("r3", "a1 a2"))
    return {
        "coins-half": (list(half.values()) == [1, 2], half),
        "coins-private": (list(private.values()) == [0], private),
        "coins-useful": (list(useful.values()) == [1, 1, 2], useful),
        "coins-no-quasi": (list(no_quasi.values())[:3] == [0, 0, 1], no_quasi),
        "coins-no-sensitive": (list(no_sensitive.values())[:2] == [0, 0.5], no_sensitive),
        "coins-joint": (
            list(joint.values()) == [1, 1] and not any(single.values()),
            {**joint, **single},
        ),
        "coins-parts": (list(split.values()) == [1, 0], split),
    }


def learned_of_coins(setting: Setting, coins: Mapping[str, Sequence[str]]) -> Table:
    """What trees learn of it when 0-closeness is asked for, which suppresses a2."""
    table = pa.table({name: list(values) * 50 for name, values in coins.items()})
    release = setting.anonymize(table, Schema(["a1", "a2"], ["a3"], neutral="rest"), TCloseness(0, "equal"))
    is_one_cell = [len(cells.low) == 1 for cells in release.cells]
    rows = []
    for target in ("a3", "a4", "a5"):
        utility = mining_utility(release, target, miners=TREES, n_folds=5, n_threads=setting.n_threads)
        by_base = utility.by_miner[TREE].by_base
        rows.append(
            {
                "learned": target,
                "intact": percent(utility.u_max),
                "a2 suppressed": percent(utility.u_san),
                "Q suppressed": percent(by_base["quasi"]),
                "S removed": None if target == "a3" else percent(by_base["sensitive"]),
                "A_acc": utility.a_acc,
                "suppressed": ", ".join(
                    name for name, all_of_it in zip(("a1", "a2"), is_one_cell, strict=True) if all_of_it
                ),
            }
        )
    return table_of("Accuracy of trees on 400 rows of the artificial table (percent)", rows)
