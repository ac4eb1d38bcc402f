# SPDX-License-Identifier: Apache-2.0
"""What no requirement bounds, measured on the census: the numbers of docs/security.md.

    python tests/attacks/limits.py --rows 10000

prints each as a row of that page's table. Nothing here is a fault of a method: every release holds what was
asked of it.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from itertools import permutations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

import anon

Ints = npt.NDArray[np.int64]

SEED = 1  # of the census
ROWS = 10_000
ROUNDS = 150


# --- learning across buckets (Kifer 2009)


def categories(column: pa.ChunkedArray) -> Ints:
    """A column as categories: numbers in twenty parts of equal size, postcodes by three digits."""
    if pa.types.is_integer(column.type):
        numbers = column.cast(pa.float64()).to_numpy()
        ends = np.unique(np.nanquantile(numbers, np.linspace(0, 1, 21)[1:-1]))
        codes = np.searchsorted(ends, np.nan_to_num(numbers, nan=np.inf), side="right")
    else:
        texts = np.array([(each or "")[:40] for each in column.to_pylist()])
        if np.char.isdigit(texts).all():
            texts = np.array([each[:3] for each in texts.tolist()])
        codes = texts
    return np.unique(codes, return_inverse=True)[1].astype(np.int64)


def learned(quasi: Sequence[Ints], members: Ints, values: Ints, n_values: int) -> Ints:
    """Of each member of each bucket (n_buckets x l) the value that naive Bayes learns from the buckets alone.

    Expectation: the chance of each order of a bucket's values, given what each value's people look
    like. Maximization: what they look like, each person counted for a value by that chance.
    """
    n, l = members.shape
    orders = np.array(list(permutations(range(l))))
    i = np.arange(l)
    share = np.full((n, l, l), 1 / l)  # [bucket, person, value]
    scores = np.zeros((n, len(orders)))
    cells = [values[:, None, :] * (codes.max() + 1) + codes[members][:, :, None] for codes in quasi]
    for _ in range(ROUNDS):
        likely = np.zeros((n, l, l))
        for codes, cell in zip(quasi, cells, strict=True):
            seen = np.bincount(cell.ravel(), share.ravel(), n_values * (codes.max() + 1))
            seen = seen.reshape(n_values, -1) + 0.1
            likely += np.log(seen / seen.sum(axis=1, keepdims=True)).ravel()[cell]
        scores = np.stack([likely[:, i, order].sum(axis=1) for order in orders], axis=1)
        weight = np.exp(scores - scores.max(axis=1, keepdims=True))
        weight /= weight.sum(axis=1, keepdims=True)
        before, share = share, np.zeros_like(share)
        for k, order in enumerate(orders):
            share[:, i, order] += weight[:, k, None]
        if abs(share - before).max() < 1e-3:
            break
    return np.take_along_axis(values, orders[scores.argmax(axis=1)], axis=1)


def across_buckets(n_rows: int, sensitive: str, quasi: Sequence[str], l: int) -> float:
    """The share of people whose sensitive value is learned from a release of Anatomy(l)."""
    table = anon.datasets.census(n_rows, SEED).select([*quasi, sensitive])
    schema = anon.Schema(quasi, [sensitive])
    release = anon.anonymize(table, schema, method=anon.Anatomy(l), publish="bucketization")
    first, second = release.table, release.sensitive_table
    # the two files: buckets of exactly l rows, a value each
    sizes = np.bincount(first["class_id"].to_numpy())
    members = np.argsort(first["class_id"].to_numpy(), kind="stable")
    members = members[np.repeat(sizes == l, sizes)].reshape(-1, l)
    names, codes = np.unique(second["value"].to_pylist(), return_inverse=True)
    values = codes[(sizes == l)[second["class_id"].to_numpy()]].reshape(-1, l)
    guessed = learned([categories(first[name]) for name in quasi], members, values, len(names))
    truth = np.array(table[sensitive].to_pylist())[release.classes.rows]
    return float(np.mean(truth[members] == names[guessed]))


TOLD = ("relationship", ("age", "sex", "race", "marital_status", "education", "workclass", "postcode"))
HARDLY_TOLD = (
    "occupation",
    ("age", "sex", "race", "marital_status", "education", "income", "hours_per_week"),
)


# --- two releases of the same people


def candidates(n_rows: int, k: int) -> tuple[int, float]:
    """How few rows of somebody's class in one release can be theirs after a second, and who is left with one.

    Mondrian and Curve over the census' own quasi-identifiers, k each. Whoever replays the methods
    knows everybody's two classes; a row stays a candidate where its occupation and salary are in both.
    """
    table, schema = anon.datasets.census(n_rows, SEED), anon.datasets.census_schema()
    require = [anon.KAnonymity(k)]
    releases = [
        anon.anonymize(table, schema, require=require, method=method)
        for method in (anon.Mondrian(), anon.Curve())
    ]
    classes = np.empty((2, n_rows), np.int64)
    secrets = list(zip(table["occupation"].to_pylist(), table["salary"].to_pylist(), strict=True))
    of_class: list[list[Counter[tuple[str, int]]]] = []
    for which, release in enumerate(releases):
        rows, offsets = release.classes.rows, release.classes.offsets
        classes[which, rows] = np.repeat(np.arange(release.classes.n_classes), release.classes.sizes)
        parts = np.split(rows, offsets[1:-1])
        of_class.append([Counter(secrets[row] for row in part) for part in parts])
    left = np.array([(of_class[0][a] & of_class[1][b]).total() for a, b in classes.T.tolist()])
    return int(left.min()), float(np.mean(left == 1))


# --- neutral columns


FOUR = ("age", "sex", "race", "postcode")


def unique_rows(n_rows: int, k: int) -> tuple[int, int]:
    """Rows that are the only one of their class with their neutral values, and how many columns are neutral.

    Four quasi-identifiers of thirteen columns; occupation and salary are sensitive.
    """
    table = anon.datasets.census(n_rows, SEED)
    sensitive = ["occupation", "salary"]
    neutral = [name for name in table.column_names if name not in (*FOUR, *sensitive)]
    schema = anon.Schema(FOUR, sensitive, neutral="rest")
    published = anon.anonymize(table, schema, require=[anon.KAnonymity(k)]).table
    columns = [pc.fill_null(published[name].cast(pa.string()), "") for name in (*FOUR, *neutral)]
    counts = pa.table(dict(zip((*FOUR, *neutral), columns, strict=True)))
    groups = counts.group_by([*FOUR, *neutral]).aggregate([([], "count_all")])
    return int(pc.sum(pc.equal(groups["count_all"], 1)).as_py()), len(neutral)


# --- the page's table


def lines(n_rows: int) -> list[str]:
    """The rows of the table in docs/security.md."""
    easy, hard = (across_buckets(n_rows, *of, 3) for of in (TOLD, HARDLY_TOLD))
    least, alone = candidates(n_rows, 10)
    unique, n_neutral = unique_rows(n_rows, 10)
    return [
        f"| learning across buckets, relationship (nearly told by the others) | {1 / 3:.0%} | {easy:.0%} |",
        f"| learning across buckets, occupation (hardly told by the others) | {1 / 3:.0%} | {hard:.0%} |",
        f"| two releases, k = 10 each: least number of candidates | 10 | {least} |",
        f"| two releases, k = 10 each: people left with one candidate | 0% | {alone:.0%} |",
        f"| {n_neutral} neutral columns beside 4 quasi-identifiers: rows alone with their values | 0% "
        f"| {unique / n_rows:.0%} |",
    ]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS)
    print("\n".join(lines(parser.parse_args().rows)))


if __name__ == "__main__":
    main()
