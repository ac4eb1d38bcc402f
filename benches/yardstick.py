# SPDX-License-Identifier: Apache-2.0
"""Differentially private synthetic tables beside our releases: the second table of docs/attacks.md.

    python benches/yardstick.py ADULT_FOLDER [--python PYTHON]

12,500 rows of UCI Adult in five columns (age in decades), 10,000 of them released, the others the control
group. PYTHON is an interpreter with the extra `synth` (`opendp[mbi]`), by default this one; MST and AIM take
the columns' values as public (benches/peers/synthesize.py). Deals, noise and synthetic tables are drawn anew
by each run.

All releases are measured as one who reads them would: a cell is each of its values with the same chance, the
values of a bucket go with each of its rows by their share. Measures: the mean total variation distance of
single columns and of pairs; the average relative error of 1,000 COUNT queries on two columns and the secret,
half of the values of each; the propensity score MSE of CART with leaves of 50 rows on one draw of values from
cells, over its mean where labels are permuted (1: nothing tells the tables apart).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import warnings
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

import anon
from anon.attackers import Inference
from anon.attackers.seen import Seen, see
from anon.measures import Numbers
from anon.tables import read_source

Floats = npt.NDArray[np.float64]

QUASI = ["age", "sex", "race", "marital-status"]
SECRET = "occupation"
SCHEMA = anon.Schema(QUASI, [SECRET])
ATTACKS = ["singling_out", "linkability", Inference(miners=["naive Bayes", "C4.5-like tree"]), "membership"]
K10 = [anon.KAnonymity(10)]
RELEASES: dict[str, dict[str, Any]] = {
    "as it is": {"method": anon.Identity()},
    "Curve, k = 10": {"require": K10},
    "Curve, k = 10, t = 0.2": {"require": [*K10, anon.TCloseness(0.2)]},
    "full domain, k = 10": {"require": K10, "method": anon.FullDomain(), "suppress": 0.05},
    "buckets, k = 10, l = 3": {"require": [*K10, anon.LDiversity(3)], "publish": "bucketization"},
    "PRAM, pd = 0.8": {"method": anon.Pram(0.8, columns=[*QUASI[1:], SECRET])},
}


def people(folder: str) -> tuple[pa.Table, pa.Table]:
    """The rows released, and the control group."""
    table = anon.datasets.adult(folder).select([*QUASI, SECRET])
    decades = pa.array(table["age"].to_numpy() // 10)
    columns = [decades, *(table[name].cast(pa.string()) for name in table.column_names[1:])]
    table = pa.table(dict(zip(table.column_names, columns, strict=True)))
    drawn = np.random.default_rng(0).permutation(table.num_rows)
    return table.take(np.sort(drawn[:10_000])), table.take(np.sort(drawn[10_000:12_500]))


def synthetic(table: pa.Table, python: str, algorithm: str, epsilon: float) -> pa.Table:
    """A synthetic table by an interpreter with `opendp[mbi]`."""
    with tempfile.TemporaryDirectory() as folder:
        here, made, keys = (
            str(Path(folder) / name) for name in ("table.parquet", "made.parquet", "keys.json")
        )
        pq.write_table(table, here)
        values = {name: sorted(table[name].unique().to_pylist()) for name in table.column_names}
        Path(keys).write_text(json.dumps(values))
        script = str(Path(__file__).parent / "peers" / "synthesize.py")
        asked = ["--keys", keys, "--algorithm", algorithm, "--epsilon", str(epsilon), "--rounds", "6"]
        subprocess.run([python, script, here, made, *asked], check=True)
        return pq.read_table(made).cast(table.schema)


def chances(seen: Seen) -> list[tuple[Floats, Floats]]:
    """Of every column the chance of each value in each row (rows x values), before and after."""
    found = []
    for column in seen.quasi:
        n_codes = column.cells.domain.n_codes
        each = column.shares(np.arange(n_codes, dtype=np.uint32)).T
        found.append((np.eye(n_codes)[column.original], each[column.cells.of_class]))
    for secret in seen.secrets:
        of_value = np.eye(secret.domain.n_codes + 1)  # the last is of a value that nobody has
        if secret.of_bucket is None:
            assert secret.of_row is not None
            shown = of_value[secret.of_row]
        else:
            counts = secret.of_bucket
            held = np.zeros((len(counts.offsets) - 1, len(of_value)))
            held[np.repeat(np.arange(len(held)), np.diff(counts.offsets)), counts.values] = counts.counts
            assert seen.bucket is not None
            shown = (held / held.sum(axis=1, keepdims=True))[seen.bucket]
        found.append((of_value[secret.original], shown))
    return found


def utility(seen: Seen) -> tuple[float, float, float, float]:
    """Total variation of columns and of pairs, COUNT error in percent, and the ratio of pMSE."""
    both = chances(seen)
    one_way = [np.abs(a.mean(axis=0) - b.mean(axis=0)).sum() / 2 for a, b in both]
    two_way = [
        np.abs(a.T @ c / len(a) - b.T @ d / len(b)).sum() / 2 for (a, b), (c, d) in combinations(both, 2)
    ]
    rng = np.random.default_rng(1)
    errors = []
    while len(errors) < 1000:
        counted = [np.ones(seen.n_original), np.ones(seen.n_released)]
        for i in (*rng.choice(len(both) - 1, 2, replace=False), len(both) - 1):
            width = both[i][0].shape[1]
            asked = rng.choice(width, max(width // 2, 1), replace=False)
            counted = [c * part[:, asked].sum(axis=1) for c, part in zip(counted, both[i], strict=True)]
        truth, estimate = counted[0].sum(), counted[1].sum() * seen.n_original / seen.n_released
        if truth:
            errors.append(abs(estimate - truth) / truth)
    drawn = [np.column_stack([_draw(part[side], rng) for part in both]).astype(np.float64) for side in (0, 1)]
    names = tuple(map(str, range(len(both))))
    ratio = Numbers(names, *drawn).pmse_by_tree(5, min_rows=50)[1]
    return float(np.mean(one_way)), float(np.mean(two_way)), 100 * float(np.mean(errors)), ratio


def _draw(chance: Floats, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    ends = np.cumsum(chance, axis=1)
    return np.minimum((rng.random(len(ends))[:, None] * ends[:, -1:] >= ends).sum(axis=1), ends.shape[1] - 1)


def line(name: str, original: pa.Table, control: pa.Table, released: Any, targets: int) -> str:
    """A row of the table: risks with their intervals in percent, and utility."""
    found = anon.attack(original, released, SCHEMA, control=control, targets=targets, attacks=ATTACKS)
    told = [name]
    for attack in found.attacks.values():
        assert attack.risk is not None
        risk = [100 * max(each, 0.0) for each in (attack.risk.rate, attack.risk.low, attack.risk.high)]
        told.append("{:.1f} ({:.1f}–{:.1f})".format(*risk) if attack.target.tries else "–")
    is_release = isinstance(released, anon.Release)
    second = released.sensitive_table if is_release and released.publish == "bucketization" else None
    table = released.table if is_release else released
    seen = see(original, None, read_source(table), SCHEMA, second)
    one, two, error, ratio = utility(seen)
    told += [f"{one:.3f}", f"{two:.3f}", f"{error:.1f}", f"{ratio:.1f}"]
    return "| " + " | ".join(told) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("adult")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--targets", type=int, default=2000)
    parser.add_argument("--epsilon", type=float, nargs="*", default=[1.0])
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    original, control = people(asked.adult)
    heads = ["singling out", "linkability", "inference", "membership"]
    heads += ["1-way TVD", "2-way TVD", "COUNT error %", "pMSE ratio"]
    print("| release | " + " | ".join(heads) + " |")
    print("| --- " * (len(heads) + 1) + "|")
    for name, how in RELEASES.items():
        release = anon.anonymize(original, SCHEMA, **how)
        print(line(name, original, control, release, asked.targets), flush=True)
    for epsilon in asked.epsilon:
        for algorithm in ("mst", "aim"):
            made = synthetic(original, asked.python, algorithm, epsilon)
            name = f"{algorithm.upper()}, ε = {epsilon:g}"
            print(line(name, original, control, made, asked.targets), flush=True)


if __name__ == "__main__":
    main()
