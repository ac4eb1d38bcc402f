# SPDX-License-Identifier: Apache-2.0
"""Which of two people with equal quasi-identifiers, in different buckets, has the lesser sensitive value.

    python tests/attacks/ties.py --rows 20000

A method that ranks such people by their sensitive values tells it to whoever knows the method.
"""

from __future__ import annotations

import argparse
from itertools import pairwise
from typing import Any

import numpy as np

import anon

LEAST = 4  # people of a group in a bucket: fewer are apart by chance
METHODS = (anon.Mondrian(relaxed=True), anon.KMembers(), anon.TGC(), anon.Curve())


def apart(n_rows: int, method: Any) -> tuple[int, int]:
    """Of the pairs of buckets that share people of equal quasi-identifiers: told apart, and all.


    Told apart: in one of the two all these people have lesser sensitive values (by the order of
    values) than in the other, or the same.
    """
    table = anon.datasets.census(n_rows, 1).select(["age", "sex", "occupation"])
    schema = anon.Schema(["age", "sex"], ["occupation"])
    require = [anon.KAnonymity(10), anon.LDiversity(3)]
    release = anon.anonymize(table, schema, require=require, method=method, publish="bucketization")
    encoded, classes = release.encoded, release.classes
    codes = encoded.sensitive_codes[0].astype(np.int64)
    quasi = np.stack([column.astype(np.int64) for column in encoded.quasi_codes], axis=1)
    group = np.unique(quasi, axis=0, return_inverse=True)[1].ravel()
    bucket = np.empty(n_rows, np.int64)
    bucket[classes.rows] = np.repeat(np.arange(classes.n_classes), classes.sizes)
    n_apart = pairs = 0
    for number in range(int(group.max()) + 1):
        rows = np.flatnonzero(group == number)
        parts = [codes[rows[bucket[rows] == each]] for each in np.unique(bucket[rows])]
        parts = sorted((part for part in parts if len(part) >= LEAST), key=lambda part: float(part.mean()))
        for low, high in pairwise(parts):
            pairs += 1
            n_apart += int(low.max() <= high.min())
    return n_apart, pairs


def main() -> None:
    """Print what each method tells."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=4000)
    asked = parser.parse_args()
    for method in METHODS:
        n_apart, pairs = apart(asked.rows, method)
        print(f"{type(method).__name__}: {n_apart} of {pairs} pairs of buckets are told apart")


if __name__ == "__main__":
    main()
