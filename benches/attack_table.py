# SPDX-License-Identifier: Apache-2.0
"""Methods and attacks on the census: the table of docs/attacks.md.

    python benches/attack_table.py ADULT_FOLDER

45,222 complete rows of UCI Adult, 80 % of them released, the others the control group. Perturbations
and deals are drawn anew by each run. Learning is of bucketizations, its risk that over the naive attacker.
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

import anon
from anon.attackers import Attacked, Inference
from anon.encoding import encode_like
from anon.measures import true_counts

QUASI = ["age", "sex", "race", "education", "marital-status"]
SECRET = "occupation"
SCHEMA = anon.Schema(QUASI, [SECRET])
COLUMNS = ["singling_out", "linkability", "inference", "membership", "learning"]
ATTACKS = [Inference(miners=["naive Bayes", "C4.5-like tree"]) if c == "inference" else c for c in COLUMNS]


def k(k: int, *more: Any) -> list[Any]:
    return [anon.KAnonymity(k), *more]


RELEASES: dict[str, dict[str, Any]] = {
    "as it is": {"method": anon.Identity()},
    "Mondrian, k = 5": {"require": k(5), "method": anon.Mondrian()},
    "Curve, k = 5": {"require": k(5)},
    "Curve, k = 10": {"require": k(10)},
    "Curve, k = 50": {"require": k(50)},
    "Curve, k = 10, l = 3": {"require": k(10, anon.LDiversity(3))},
    "Curve, k = 10, t = 0.2": {"require": k(10, anon.TCloseness(0.2))},
    "full domain, k = 10": {"require": k(10), "method": anon.FullDomain(), "suppress": 0.05},
    "local suppression, k = 10": {
        "require": [anon.KAnonymity(10, nulls="wildcard")],
        "method": anon.LocalSuppression(),
    },
    "buckets, k = 10, l = 3": {"require": k(10, anon.LDiversity(3)), "publish": "bucketization"},
    "Anatomy, l = 3": {"method": anon.Anatomy(3), "publish": "bucketization"},
    "rank swapping, 10 %": {"method": anon.RankSwap(0.1, columns=["age"])},
    "PRAM, pd = 0.8": {"method": anon.Pram(0.8, columns=[*QUASI[1:], SECRET])},
    "noise on age, 50 %": {"method": anon.Noise(0.5, columns=["age"])},
    "no quasi-identifiers": {"method": anon.Suppress("quasi")},
}


def variation(original: pa.Table, released: pa.Table, names: list[str]) -> float:
    """The mean total variation distance of all pairs of columns."""
    apart = []
    for i, one in enumerate(names):
        for other in names[:i]:
            shares = []
            for table in (original, released):
                counted = table.group_by([one, other]).aggregate([([], "count_all")]).to_pylist()
                shares.append({(r[one], r[other]): r["count_all"] / table.num_rows for r in counted})
            first, second = shares
            keys = first.keys() | second.keys()
            apart.append(sum(abs(first.get(key, 0) - second.get(key, 0)) for key in keys) / 2)
    return float(np.mean(apart))


def queries(trial: pa.Table, release: Any) -> float | None:
    """Average relative error of 1,000 COUNT queries in percent, of a release with cells."""
    try:
        workload = anon.workload.random_queries(release.encoded, 3, 0.1, sensitive=SECRET, seed=1)
        return float(anon.workload.answer(workload, release).average)
    except anon.UsageError:
        return None


def counted_error(trial: pa.Table, released: pa.Table) -> float:
    """The same of a table that shows values: queries are counted on it."""
    release = anon.anonymize(trial, SCHEMA, method=anon.Identity())
    workload = anon.workload.random_queries(release.encoded, 3, 0.1, sensitive=SECRET, seed=1)
    encoded = release.encoded
    codes = encode_like(released, (*encoded.quasi, *encoded.sensitive))
    other = replace(encoded, quasi_codes=codes[: len(QUASI)], sensitive_codes=codes[len(QUASI) :])
    truth, found = true_counts(workload, encoded), true_counts(workload, other)
    found = found * (trial.num_rows / released.num_rows)
    asked = truth > 0
    return float(np.mean(100 * np.abs(found - truth)[asked] / truth[asked]))


def line(name: str, found: Attacked, gcp: float | None, error: float | None, tvd: float | None) -> str:
    risks = []
    for column in COLUMNS:
        attack = found.attacks.get(column)
        if attack is None or not attack.target.tries:
            risks.append("–")
            continue
        assert attack.risk is not None
        rate, low, high = (
            100 * max(each, 0.0) for each in (attack.risk.rate, attack.risk.low, attack.risk.high)
        )
        risks.append(f"{rate:.1f} ({low:.1f}–{high:.1f})")
    told = [
        "–" if each is None else form.format(each)
        for each, form in ((gcp, "{:.3f}"), (error, "{:.1f}"), (tvd, "{:.3f}"))
    ]
    return "| " + " | ".join([name, *risks, *told]) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("adult")
    parser.add_argument("--targets", type=int, default=2000)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    table = anon.datasets.adult(asked.adult).select([*QUASI, SECRET])
    drawn = np.random.default_rng(0).permutation(table.num_rows)
    control, trial = (table.take(np.sort(part)) for part in np.split(drawn, [table.num_rows // 5]))
    heads = ["release", *(c.replace("_", " ") for c in COLUMNS), "GCP", "COUNT error %", "2-way TVD"]
    print(f"| {' | '.join(heads)} |")
    print("| --- " * len(heads) + "|")
    for name, how in RELEASES.items():
        release = anon.anonymize(trial, SCHEMA, **how)
        found = anon.attack(trial, release, control=control, targets=asked.targets, attacks=ATTACKS)
        shown = release.table
        with_values = how.get("method") is not None and how["method"].perturbs
        gcp = None if with_values else release.utility().gcp
        error = counted_error(trial, _rounded(shown, trial)) if with_values else queries(trial, release)
        tvd = variation(trial, _rounded(shown, trial), [*QUASI, SECRET]) if with_values else None
        print(line(name, found, gcp, error, tvd), flush=True)


def _rounded(table: pa.Table, like: pa.Table) -> pa.Table:
    """Perturbed numbers as whole ones, which the original's are."""
    columns = {}
    for name in [*QUASI, SECRET]:
        column = table[name]
        if pa.types.is_floating(column.type):
            column = pa.chunked_array([np.round(column.to_numpy()).astype(np.int64)])
        columns[name] = column.cast(like.schema.field(name).type)
    return pa.table(columns)


if __name__ == "__main__":
    main()
