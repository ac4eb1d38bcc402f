# SPDX-License-Identifier: Apache-2.0
"""A differentially private synthetic table by OpenDP's AIM or MST, for benches/yardstick.py.

Run by an interpreter that has `opendp[mbi]` (0.16 or later), and nothing of this package:

    python benches/peers/synthesize.py table.parquet out.parquet --algorithm aim --epsilon 1

All columns are whole numbers or labels of a declared domain, those of `--keys`, a JSON file, which are taken
as public. (epsilon, delta) with delta one over ten times the rows is had by zero-concentrated privacy: with
L = ln(1/delta), rho = (sqrt(L + epsilon) - sqrt(L))^2.
"""

from __future__ import annotations

import argparse
import json
import math

import opendp.prelude as dp
import polars as pl


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("table")
    parser.add_argument("out")
    parser.add_argument("--keys", required=True)
    parser.add_argument("--algorithm", choices=["aim", "mst"], default="aim")
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--rounds", type=int, help="Of AIM: marginals that it measures at most.")
    asked = parser.parse_args()
    dp.enable_features("contrib")
    with open(asked.keys) as file:
        keys = json.load(file)
    n_rows = pl.scan_parquet(asked.table).select(pl.len()).collect().item()
    logarithm = math.log(10 * n_rows)
    rho = (math.sqrt(logarithm + asked.epsilon) - math.sqrt(logarithm)) ** 2
    rho = math.floor(rho * 2**12) / 2**12  # parts of an odd number do not add up to it
    context = dp.Context.compositor(
        data=pl.scan_parquet(asked.table),
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(rho=rho),
        split_evenly_over=1,
    )
    algorithm = dp.mbi.AIM(max_size=8.0, rounds=asked.rounds) if asked.algorithm == "aim" else dp.mbi.MST()
    table = context.query().select(*keys).contingency_table(keys=keys, algorithm=algorithm).release()
    table.synthesize().select(*keys).write_parquet(asked.out)


if __name__ == "__main__":
    main()
