# SPDX-License-Identifier: Apache-2.0
"""Estimates of population uniques on tables that no estimator was chosen on: Adult, other columns, formulas.

    python benches/measures/uniques_elsewhere.py ADULT_FOLDER [--draws 10]

As `population_risk.py`, with Adult's rows, another census and populations of a known form as populations.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from anon.classes import group, histogram, model_estimates, population_uniques
from anon.datasets import census
from anon.encoding import encode
from anon.schema import Schema

NAMES = (
    *("age", "workclass", "fnlwgt", "education", "education_years", "marital", "occupation", "relationship"),
    *("race", "sex", "gain", "loss", "hours", "country", "income"),
)
OF_ADULT = (
    ("age", "sex", "race", "education"),
    ("age", "marital", "race", "sex", "country"),
    ("age", "workclass", "hours", "sex", "occupation"),
    ("age", "education", "marital", "occupation", "race", "sex", "country", "workclass"),
)
OF_CENSUS = (
    ("age", "hours_per_week", "sex", "occupation"),
    ("native_country", "occupation", "education", "marital_status", "age"),
    ("hours_per_week", "income", "age", "race", "workclass"),
)
FRACTIONS = (0.01, 0.05, 0.2)
MODELS = ("pitman", "zayatz", "snb", "thinned")


def populations(adult: Path) -> Iterator[tuple[str, np.ndarray]]:
    """A name and the number of people of each class."""
    rows = []
    for name in ("adult.data", "adult.test"):
        with (adult / name).open() as file:
            read = csv.reader(file, skipinitialspace=True)
            rows += [row for row in read if len(row) == len(NAMES) and "?" not in row]
    for columns in OF_ADULT:
        keys = ["|".join(row[NAMES.index(name)] for name in columns) for row in rows]
        yield f"Adult: {', '.join(columns)}", np.unique(keys, return_counts=True)[1]
    people = census(300_000, seed=11)
    for columns in OF_CENSUS:
        yield f"census: {', '.join(columns)}", group(encode(people, Schema(list(columns))).quasi_codes).sizes
    random = np.random.default_rng(5)
    margins = np.array([1.0])
    for size in (60, 7, 14, 5, 9, 30):
        margins = np.outer(margins, random.dirichlet(np.full(size, 0.5))).ravel()
    for name, chances in (
        ("Zipf, exponent 1.1", np.arange(1.0, 200_001) ** -1.1),
        ("lognormal, sigma 2", random.lognormal(0, 2, 200_000)),
        ("lognormal, sigma 3", random.lognormal(0, 3, 2_000_000)),
        ("uniform", np.ones(300_000)),
        ("gamma, shape 0.2", random.gamma(0.2, 1, 500_000)),
        ("product of six margins", margins),
    ):
        sizes = random.multinomial(300_000, chances / chances.sum())
        yield name, sizes[sizes > 0]


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("adult", type=Path)
    parser.add_argument("--draws", type=int, default=10)
    asked = parser.parse_args(arguments)
    print(f"| population | alone | π | rule | {' | '.join(MODELS)} |")
    print(f"| --- | --- | --- | --- |{' --- |' * len(MODELS)}")
    distances: dict[float, list[np.ndarray]] = {fraction: [] for fraction in FRACTIONS}
    for name, people in populations(asked.adult):
        alone = int(np.count_nonzero(people == 1))
        for fraction in FRACTIONS:
            found = []
            for seed in range(asked.draws):
                random = np.random.default_rng(seed)
                sizes = random.multivariate_hypergeometric(
                    people, round(people.sum() * fraction), method="marginals"
                )
                sample = histogram(sizes)
                estimates = model_estimates(sample, fraction)
                rule = population_uniques(sample, fraction).count
                found.append([rule, *(estimates[each] or np.nan for each in MODELS)])
            ratios = np.nanmean(np.array(found, float), axis=0) / alone
            distances[fraction].append(np.abs(np.log(ratios)))
            print(
                f"| {name} | {alone:,} | {fraction:g} | {' | '.join(f'{x:.3f}' for x in ratios)} |",
                flush=True,
            )
    for fraction, each in distances.items():
        means = np.exp(np.nanmean(np.array(each), axis=0))
        print(f"| mean factor off | | {fraction:g} | {' | '.join(f'{x:.2f}' for x in means)} |")


if __name__ == "__main__":
    main(sys.argv[1:])
