# SPDX-License-Identifier: Apache-2.0
"""How near the estimators of risk come to the truth: samples of the synthetic census of a million people.

    python benches/measures/population_risk.py [--people 1000000] [--draws 50]

For each set of quasi-identifiers and each sampling fraction simple random samples are drawn; printed is, per
estimator, the mean of estimate over truth, and its standard deviation over the draws. The truth is counted in
the census: people alone there, and for the mean risk of a sample's rows the mean of 1/F.
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np

from anon.classes import group, group_numbers, individual_risk
from anon.classes.uniques import pitman, snb, thinned, zayatz
from anon.datasets import census
from anon.encoding import encode
from anon.measures import histogram, population_uniques
from anon.schema import Schema

SETS = {
    "small": ("age", "sex", "race", "education"),
    "medium": ("age", "sex", "race", "education", "marital_status", "workclass"),
    "large": (
        "age",
        "sex",
        "race",
        "education",
        "marital_status",
        "workclass",
        "occupation",
        "native_country",
    ),
    "place": ("age", "sex", "race", "postcode"),
}
FRACTIONS = (0.01, 0.05, 0.2)
ESTIMATORS = ("rule", "pitman", "zayatz", "snb", "thinned", "mean risk")


def drawn(
    numbers: np.ndarray, truth: np.ndarray, fraction: float, rng: np.random.Generator
) -> dict[str, float]:
    """Every estimate over its truth, of one sample; `numbers` is each person's class, `truth` its people."""
    n = round(len(numbers) * fraction)
    rows = numbers[rng.choice(len(numbers), n, replace=False)]
    sizes = np.bincount(rows, minlength=len(truth))
    sample = histogram(sizes[sizes > 0])
    alone = int(np.count_nonzero(truth == 1))
    people = n / fraction
    fitted = pitman(sample)
    risk = individual_risk(sample.sizes, sample.sizes / fraction)
    seen = sizes > 0
    return {
        "rule": population_uniques(sample, fraction).count / alone,
        "pitman": np.nan if fitted is None else fitted.uniques(people) / alone,
        "zayatz": zayatz(sample, fraction) / alone,
        "snb": (snb(sample, fraction) or np.nan) / alone,
        "thinned": thinned(sample, fraction) / alone,
        "mean risk": float(risk @ (sample.sizes * sample.counts)) / float(np.sum(sizes[seen] / truth[seen])),
    }


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--people", type=int, default=1_000_000)
    parser.add_argument("--draws", type=int, default=50)
    parser.add_argument("--sets", nargs="*", default=list(SETS))
    asked = parser.parse_args(arguments)
    encoded = encode(census(asked.people), Schema(sorted({name for each in SETS.values() for name in each})))
    codes = dict(zip((domain.name for domain in encoded.quasi), encoded.quasi_codes, strict=True))
    print(f"| quasi-identifiers | alone | π | {' | '.join(ESTIMATORS)} |")
    print(f"| --- | --- | --- |{' --- |' * len(ESTIMATORS)}")
    for name in asked.sets:
        classes = group([codes[each] for each in SETS[name]])
        numbers = group_numbers(classes.rows, classes.offsets)
        truth = classes.sizes
        for fraction in FRACTIONS:
            started = time.process_time()
            rng = np.random.default_rng(0)
            found = [drawn(numbers, truth, fraction, rng) for _ in range(asked.draws)]
            cells = []
            for each in ESTIMATORS:
                values = np.array([one[each] for one in found])
                has = values[~np.isnan(values)]
                cells.append("none" if not len(has) else f"{has.mean():.3f} ± {has.std():.3f}")
            alone = int(np.count_nonzero(truth == 1))
            print(f"| {name} | {alone:,} | {fraction:g} | {' | '.join(cells)} |", flush=True)
            print(f"{name} {fraction}: {time.process_time() - started:.1f} s", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1:])
