# SPDX-License-Identifier: Apache-2.0
"""The anonymizers on PyPI beside this one: the same table and k, one process, best of three, interleaved.

    pip install --no-deps anonypy==0.2.1 anonypyx==0.2.11 umbra-k==0.1.0 polarfrost==0.2.1 \
        pycanon==1.3.6 microaggregation==0.1.9
    python benches/peers/side_by_side.py --rows 5000

(`--no-deps`: pycanon and polarfrost pin old versions of pandas and polars, and run with these too.)
The table is the synthetic census with four numeric quasi-identifiers, which all of them take. GCP is
measured by `anon.compare` from the cells that each one publishes.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import platform
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

import anon

QUASI = ["age", "hours_per_week", "education_years", "salary"]
SENSITIVE = "occupation"
SCHEMA = anon.Schema(QUASI, [SENSITIVE])
ROUNDS = 3


def ours(table: pa.Table, k: int, method: Any, **how: Any) -> anon.Release:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", anon.PrivacyWarning)
        return anon.anonymize(table, SCHEMA, require=[anon.KAnonymity(k)], method=method, **how)


def expanded(rows: pd.DataFrame) -> pa.Table:
    """A table of people from rows with a `count`; anonypy 0.2.1 puts each cell into a list of one."""
    cells = rows.map(lambda cell: cell[0] if isinstance(cell, list) else cell)
    people = cells.loc[cells.index.repeat(cells["count"]), [*QUASI, SENSITIVE]]
    return pa.Table.from_pandas(people.astype(str), preserve_index=False)


def anonypy(data: pd.DataFrame, k: int) -> Callable[[], Any]:
    import anonypy as peer

    return lambda: pd.DataFrame(peer.Preserver(data, QUASI, SENSITIVE).anonymize_k_anonymity(k))


def anonypyx(data: pd.DataFrame, k: int, algorithm: str) -> Callable[[], Any]:
    import anonypyx as peer

    return lambda: peer.Anonymiser(
        data,
        k=k,
        algorithm=algorithm,
        feature_columns=QUASI,
        sensitive_column=SENSITIVE,
        generalisation_strategy="human-readable",
    ).anonymise()


def umbra_k(data: pd.DataFrame, k: int) -> Callable[[], Any]:
    from umbra_k import MondrianAnonymizer

    return lambda: MondrianAnonymizer(k=k, quasi_id=QUASI).fit_transform(data)


def polarfrost(data: pd.DataFrame, k: int) -> Callable[[], Any]:
    from polarfrost import mondrian_k_anonymity

    frame = pl.from_pandas(data)
    return lambda: mondrian_k_anonymity(frame, QUASI, SENSITIVE, k)


def timed(ours: Callable[[], Any], theirs: Callable[[], Any], rounds: int) -> tuple[Any, float, Any, float]:
    """What each gives, and its least time of so many interleaved rounds."""
    best = [np.inf, np.inf]
    results: list[Any] = [None, None]
    for _ in range(rounds):
        for i, call in enumerate((ours, theirs)):
            start = time.perf_counter()
            results[i] = call()
            best[i] = min(best[i], time.perf_counter() - start)
    return results[0], best[0], results[1], best[1]


def gcp(table: pa.Table, released: pa.Table | None) -> str:
    if released is None:
        return "-"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", anon.PrivacyWarning)
        return f"{anon.compare(table, released, SCHEMA).gcp:.4f}"


def squared_error(data: np.ndarray, means: np.ndarray) -> float:
    return float(((data - means) ** 2).sum())


def main() -> None:
    asked = argparse.ArgumentParser(description="The anonymizers on PyPI beside this one.")
    asked.add_argument("--rows", type=int, default=5_000)
    asked.add_argument("--k", type=int, default=10)
    asked.add_argument("--rounds", type=int, default=ROUNDS)
    options = asked.parse_args()
    k = options.k

    # People without hours or salary are left out: not all of the peers take a missing number.
    table = anon.datasets.census(3 * options.rows).select([*QUASI, SENSITIVE]).drop_null()
    table = table.slice(0, options.rows)
    data = table.to_pandas()
    data[SENSITIVE] = data[SENSITIVE].astype("category")
    mondrian, curve = anon.Mondrian(), anon.Curve()

    print(f"{options.rows} rows, quasi-identifiers {', '.join(QUASI)}, k = {k}, best of {options.rounds}")
    print(f"Python {platform.python_version()}, pandas {pd.__version__}, polars {pl.__version__}\n")
    print(f"{'peer and call':44} {'seconds':>9} {'ours':>9} {'ratio':>8}  {'GCP':>7} {'ours':>7}")

    def line(
        name: str, call: str, seconds: tuple[float, float], losses: tuple[str, str] = ("-", "-")
    ) -> None:
        title = f"{name} {importlib.metadata.version(name)} {call}"
        ratio = seconds[0] / seconds[1]
        print(f"{title:44} {seconds[0]:9.4f} {seconds[1]:9.4f} {ratio:7.3g}x  {losses[0]:>7} {losses[1]:>7}")

    anonymizers: list[tuple[str, str, Callable[[], Any], Any, Callable[[Any], pa.Table | None]]] = [
        ("anonypy", "Preserver", anonypy(data, k), mondrian, expanded),
        ("anonypyx", "Mondrian", anonypyx(data, k, "Mondrian"), mondrian, expanded),
        (
            "anonypyx",
            "MDAV-generic",
            anonypyx(data.astype(dict.fromkeys(QUASI, float)), k, "MDAV-generic"),
            curve,
            expanded,
        ),
        (
            "umbra-k",
            "MondrianAnonymizer",
            umbra_k(data, k),
            mondrian,
            lambda frame: pa.Table.from_pandas(frame.astype(str), preserve_index=False),
        ),
        # One row for each group, without its size: nothing to measure a loss on.
        ("polarfrost", "mondrian_k_anonymity", polarfrost(data, k), mondrian, lambda frame: None),
    ]
    for name, call, run, method, published in anonymizers:
        try:
            release, our_time, theirs, their_time = timed(
                lambda method=method: ours(table, k, method), run, options.rounds
            )
        except (TypeError, ValueError) as error:
            print(f"{name} {importlib.metadata.version(name)} {call} stops: {type(error).__name__}: {error}")
            continue
        line(
            name,
            call,
            (their_time, our_time),
            (gcp(table, published(theirs)), f"{release.utility().gcp:.4f}"),
        )

    from pycanon import anonymity

    released = ours(table, k, mondrian).table
    frame = released.to_pandas()
    for measure in ("k_anonymity", "t_closeness"):
        arguments = (frame, QUASI) if measure == "k_anonymity" else (frame, QUASI, [SENSITIVE])
        _, our_time, _, their_time = timed(
            lambda: anon.check(released, SCHEMA), lambda m=measure, a=arguments: getattr(anonymity, m)(*a), 1
        )
        line("pycanon", f"{measure} (ours: all measures)", (their_time, our_time))

    from microaggregation import calculate_sse_dynamic

    numbers = data[QUASI].to_numpy(float)
    numbers = (numbers - numbers.mean(0)) / numbers.std(0)
    release, our_time, error, their_time = timed(
        lambda: ours(table, k, curve, numeric="mean", order="input"),
        lambda: calculate_sse_dynamic(numbers[np.lexsort(numbers.T[::-1])], k),
        options.rounds,
    )
    line("microaggregation", "calculate_sse_dynamic", (their_time, our_time))
    raw = data[QUASI].to_numpy(float)
    means = (release.to_pandas()[QUASI].to_numpy(float) - raw.mean(0)) / raw.std(0)
    print(
        f"\nsquared error, share of the total: microaggregation {error / (numbers**2).sum():.4f}, "
        f"ours (Curve, means) {squared_error(numbers, means) / (numbers**2).sum():.4f}"
    )


if __name__ == "__main__":
    main()
