# SPDX-License-Identifier: Apache-2.0
"""What the page of `anon explore` takes on a census: the first result, a moved slider, memory.

python benches/explore/explore_speed.py --rows 1000000
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "explore"))

from asking import Asker, Started, memory, part, seconds

import anon
from anon import datasets

QUASI = ["age", "sex", "race", "marital_status", "education", "workclass", "native_country", "postcode"]
SENSITIVE = ["occupation", "salary"]
KS = (20, 50, 10)


def explored(path: str, names: list[str]) -> dict[str, list[float]]:
    """A page about a table: seconds to the first result and of each moved slider, bytes held and at most."""
    roles = {**dict.fromkeys(QUASI, "quasi"), **dict.fromkeys(SENSITIVE, "sensitive")}
    roles["hours_per_week"] = "neutral"
    form = {f"role.{i}": roles.get(name, "") for i, name in enumerate(names)}
    with Started(path, "--folder", str(Path(path).parent)) as page:
        loaded = time.perf_counter()
        asker = Asker(page.port)
        asker.enter(page.token)
        asker.post("/start")
        parts = asker.parts()
        part(parts, "answer")
        first, spent = time.perf_counter() - loaded, -seconds(page.process.pid)
        moved = []
        for k in KS:
            begun = time.perf_counter()
            asker.post("/change", {**form, "k": str(k), "how": "effort=fast"})
            assert f" {k}-anonymity" in part(parts, "answer")
            moved.append(time.perf_counter() - begun)
        spent += seconds(page.process.pid)
        held = [float(memory(page.process.pid, what)) for what in ("VmRSS", "VmHWM")]
    return {"first": [first], "moved": moved, "spent": [spent], "memory": held}


def main() -> None:
    """Print the figures, each beside its bar."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    n_rows = parser.parse_args().rows
    with tempfile.TemporaryDirectory() as folder:
        path, small = str(Path(folder) / "census.parquet"), str(Path(folder) / "small.parquet")
        datasets.write_census(n_rows, 0, path)
        datasets.write_census(1000, 0, small)
        table = anon.read_table(path)
        names, n_bytes = table.column_names, table.nbytes
        schema = anon.Schema(QUASI, SENSITIVE, neutral=["hours_per_week"])
        alone, processor = [], -time.process_time()
        for k in KS:
            start = time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                anon.anonymize(table, schema, require=[anon.KAnonymity(k)], method=anon.Mondrian())
            alone.append(time.perf_counter() - start)
        processor += time.process_time()
        del table
        bare, page = explored(small, names), explored(path, names)
    moved, [first], [spent] = page["moved"], page["first"], page["spent"]
    held, most = (big - little for big, little in zip(page["memory"], bare["memory"], strict=True))
    print(f"{n_rows:,} rows, {n_bytes / 1e6:.0f} MB as Arrow has them, k = {', '.join(map(str, KS))}")
    print(f"first result, after loading: {first:.2f} s (bar <= 4)")
    print(
        f"a moved slider: {min(moved):.2f} to {max(moved):.2f} s (bar <= 1.5), "
        f"{sum(moved) / sum(alone):.2f} of anonymize alone ({min(alone):.2f} to {max(alone):.2f} s); of "
        f"processor time {spent / len(KS):.2f} s, {spent / processor:.2f} of it"
    )
    print(
        f"memory beyond that of a page about 1,000 rows: {held / n_bytes:.2f} of the table's, "
        f"{most / n_bytes:.2f} at most (bar <= 3)"
    )


if __name__ == "__main__":
    main()
