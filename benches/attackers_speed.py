# SPDX-License-Identifier: Apache-2.0
"""Seconds of every attack, 1,000 targets and 1,000 others, on a census table and its releases, and of two
releases laid side by side.

python benches/attackers_speed.py --rows 45222
python benches/attackers_speed.py --rows 1000000
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np

import anon
from anon.attackers import Inference, Learning, Linkability, Membership, SinglingOut

RELEASES = {
    "no protection": {"method": anon.Identity()},
    "k = 10": {"require": [anon.KAnonymity(10)], "effort": "fast"},
    "k = 10, buckets": {
        "require": [anon.KAnonymity(10)],
        "publish": "bucketization",
        "effort": "fast",
    },
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=45_222)
    parser.add_argument("--targets", type=int, default=1000)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    table, schema = anon.read_table(anon.datasets.census(asked.rows)), anon.datasets.census_schema()
    drawn = np.random.default_rng(0).permutation(asked.rows)
    n_control = asked.rows // 5
    control, trial = (table.take(np.sort(part)) for part in np.split(drawn, [n_control]))
    print(f"{asked.rows:,} rows, {asked.targets:,} targets; wall and processor seconds, reading included")
    for name, how in RELEASES.items():
        release = anon.anonymize(trial, schema, **how)
        shown = release.table
        print(f"{name}: {release.classes.n_classes:,} classes, {shown.num_rows:,} rows")
        of_buckets = [Learning()] if release.publish == "bucketization" else []
        for attacker in (SinglingOut(), Linkability(), Inference(), Membership(), *of_buckets):
            start, begun = time.perf_counter(), time.process_time()
            found = anon.attack(trial, release, control=control, targets=asked.targets, attacks=[attacker])
            wall, spent = time.perf_counter() - start, time.process_time() - begun
            [attack] = found.attacks.values()
            print(f"  {attacker.name:14}{wall:7.1f}{spent:7.1f}  {attack.verdict}: {attack.risk}", flush=True)
    require = [anon.KAnonymity(10)]
    curve, mondrian = (
        anon.anonymize(trial, schema, require=require, method=method).table
        for method in (anon.Curve(), anon.Mondrian())
    )
    start, begun = time.perf_counter(), time.process_time()
    both = anon.composition(curve, mondrian, trial, schema)
    wall, spent = time.perf_counter() - start, time.process_time() - begun
    print(f"Curve beside Mondrian, k = 10\n  composition   {wall:7.1f}{spent:7.1f}  {both.words()[0]}")


if __name__ == "__main__":
    main()
