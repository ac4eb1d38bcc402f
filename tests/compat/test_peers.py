# SPDX-License-Identifier: Apache-2.0
"""The same tables measured by pycanon."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import anon
from peer import ask

pytestmark = pytest.mark.peers

PROGRAM = """
import json, sys
import pandas as pd
from pycanon import anonymity
table, quasi, sensitive = json.load(sys.stdin)
data = pd.DataFrame(table)
names = ["l_diversity", "entropy_l_diversity", "recursive_c_l_diversity", "t_closeness",
         "delta_disclosure", "alpha_k_anonymity", "basic_beta_likeness", "enhanced_beta_likeness"]
found = {"k": int(anonymity.k_anonymity(data, quasi))}
for name in names:
    value = getattr(anonymity, name)(data, quasi, [sensitive])
    found[name] = [float(v) for v in value] if isinstance(value, tuple) else float(value)
print(json.dumps(found))
"""


def pycanon(table: pa.Table, quasi: list[str], sensitive: str) -> dict[str, Any]:
    """What pycanon finds, from a process of its own."""
    answers: dict[str, Any] = ask(PROGRAM, [table.to_pydict(), quasi, sensitive])
    return answers


def agrees(ours: anon.Privacy, theirs: dict[str, Any]) -> None:
    """Where its definitions are ours: k, distinct l, t (equal), alpha, basic beta."""
    assert ours.k == theirs["k"]
    assert ours.l_distinct == theirs["l_diversity"]
    assert ours.t_equal == pytest.approx(theirs["t_closeness"], abs=1e-12)
    assert ours.alpha == pytest.approx(theirs["alpha_k_anonymity"][0], abs=1e-12)
    assert ours.beta == pytest.approx(theirs["basic_beta_likeness"], abs=1e-9)
    # It truncates exp(entropy) to an integer (trap 17); ours is the exact one.
    assert theirs["entropy_l_diversity"] == math.floor(ours.l_entropy or 0)


@pytest.mark.adult
def test_adult_agrees_where_the_definitions_do(adult_dir: Path) -> None:
    table = anon.datasets.adult(adult_dir).select(["sex", "race", "marital-status"])
    theirs = pycanon(table, ["sex", "race"], "marital-status")
    ours = anon.check(table, anon.Schema(["sex", "race"], ["marital-status"]))
    agrees(ours, theirs)
    # It skips values that a class lacks (trap 20): finite where the definition gives infinity.
    assert theirs["delta_disclosure"] == pytest.approx(2.0276, abs=5e-5)
    assert ours.delta == math.inf
    # It takes the smallest count of a class for r_1 (trap 18).
    assert theirs["recursive_c_l_diversity"][0] == 1
    assert ours.recursive_c2 == pytest.approx(1.7237903225806452, rel=1e-12)


def test_delta_agrees_where_no_class_lacks_a_value() -> None:
    # classes a a a b | a b b b against the table's halves: |ln(3/4 / 1/2)| = ln 1.5, |ln(1/4 / 1/2)| = ln 2
    table = pa.table({"q": list("xxxxyyyy"), "s": list("aaababbb")})
    theirs = pycanon(table, ["q"], "s")
    ours = anon.check(table, anon.Schema(["q"], ["s"]))
    agrees(ours, theirs)
    assert ours.delta == pytest.approx(math.log(2), abs=1e-12)
    assert theirs["delta_disclosure"] == pytest.approx(math.log(2), abs=1e-12)
    # gain (3/4 - 1/2)/(1/2) = 1/2, below -ln 1/2: the enhanced one is the same
    assert ours.beta_enhanced == pytest.approx(0.5, abs=1e-12)
    assert theirs["enhanced_beta_likeness"] == pytest.approx(0.5, abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_random_tables_agree(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = pa.table(
        {
            "a": rng.choice(list("xyz"), 200).tolist(),
            "b": rng.choice(list("uv"), 200).tolist(),
            "s": rng.choice(list("klmno"), 200, p=[0.4, 0.3, 0.15, 0.1, 0.05]).tolist(),
        }
    )
    agrees(anon.check(table, anon.Schema(["a", "b"], ["s"])), pycanon(table, ["a", "b"], "s"))
