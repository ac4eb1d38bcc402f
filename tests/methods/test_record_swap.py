# SPDX-License-Identifier: Apache-2.0
"""Targeted record swapping: whose place is exchanged with whose, and what stays."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import anon
from anon.command import main
from anon.methods.record_swap import coded, joined, least, swaps, together
from anon.release.recheck_noise import recheck_noise

pytestmark = pytest.mark.filterwarnings("ignore::anon.PrivacyWarning")

SCHEMA = anon.Schema(["age", "sex"], neutral=["region", "district", "size", "n"], unit="hid")
SWAP = anon.RecordSwap(["region", "district"], ["age", "sex"], ["size"], k=3)


def people(n_households: int = 300, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    size = rng.integers(1, 5, n_households)
    household = np.repeat(np.arange(n_households), size)
    region = rng.integers(0, 4, n_households)
    district = region * 3 + rng.integers(0, 3, n_households)
    n = len(household)
    return pa.table(
        {
            "hid": rng.permutation(n_households)[household],
            "region": np.array(["N", "E", "S", "W"])[region][household],
            "district": pa.array(district[household], mask=district[household] == 7),
            "size": size[household],
            "age": rng.integers(20, 60, n),
            "sex": rng.choice(["f", "m"], n),
            "n": np.arange(n),
        }
    )


def released(method: Any, table: pa.Table) -> pa.Table:
    return anon.anonymize(table, SCHEMA, method=method, order="input").table


def test_risks_of_the_definition() -> None:
    """Households 11233, region 11122, district 11233, v abaaa: equal to sdcMicro's."""
    table = pa.table({"h": [1, 1, 2, 3, 3], "r": [1, 1, 1, 2, 2], "d": [1, 1, 2, 3, 3], "v": list("abaaa")})
    household = coded(table["h"])
    risky = joined(table, ["v"])
    risks = [1 / least(together(risky, joined(table, ["r", "d"][:n])), household) for n in (1, 2)]
    assert np.stack(risks)[:, household].T.tolist() == [[1, 1], [1, 1], [0.5, 1], [0.5, 0.5], [0.5, 0.5]]


@pytest.mark.parametrize("rate", [0, 0.1, 0.9])
def test_what_stays_and_who_moves(rate: float) -> None:
    table = people()
    after = released(anon.RecordSwap(["region", "district"], ["age", "sex"], ["size"], 3, rate), table)
    for name in ("size", "age", "sex", "n"):
        assert after[name].equals(table[name])
    rows: dict[int, list[tuple[Any, ...]]] = {}
    places = zip(
        table["hid"], table["region"], table["district"], after["region"], after["district"], strict=True
    )
    for hid, *place in places:
        rows.setdefault(hid.as_py(), []).append(tuple(each.as_py() for each in place))
    assert all(len(set(each)) == 1 for each in rows.values())
    sizes = {hid: len(each) for hid, each in rows.items()}
    before = Counter((sizes[hid], *each[0][:2]) for hid, each in rows.items())
    now = Counter((sizes[hid], *each[0][2:]) for hid, each in rows.items())
    assert before == now  # households per area and profile
    household = coded(table["hid"])
    risky, first = joined(table, ["age", "sex"]), np.unique(household, return_index=True)[1]
    alike = least(together(risky, coded(table["region"])), household)
    moved = np.array([rows[hid.as_py()][0][0] != rows[hid.as_py()][0][2] for hid in table["hid"].take(first)])
    fine = least(together(risky, joined(table, ["region", "district"])), household)
    changed = np.array(
        [rows[hid.as_py()][0][:2] != rows[hid.as_py()][0][2:] for hid in table["hid"].take(first)]
    )
    assert changed.sum() >= math.ceil(math.ceil(rate * len(first) / 2)) * 2 - 2 * (rate > 0.5) * len(first)
    assert moved[alike < 3].mean() > 0.9  # but for those who found nobody
    if rate == 0:
        partner = changed & (fine >= 3)
        assert partner.sum() <= (fine < 3).sum()  # nobody moves but for the sake of someone at risk


def test_every_release_is_drawn_anew() -> None:
    table = people()
    assert len({str(released(SWAP, table)["region"].to_pylist()) for _ in range(4)}) == 4


def test_partners_come_from_the_next_profile_and_are_counted() -> None:
    alike = np.array([[1, 5, 5, 1]])
    places = [np.array([0, 1, 0, 2])]
    first, second = np.array([0, 1, 1, 2]), np.array([0, 0, 0, 1])
    source, n_left = swaps(alike, places, [first], 3, 0)
    assert (source.tolist(), n_left) == ([0, 1, 2, 3], 2)
    source, n_left = swaps(alike, places, [first, second], 3, 0)
    assert (source.tolist(), n_left) == ([1, 0, 2, 3], 1)
    source, n_left = swaps(alike, places, [first, second, np.zeros(4, int)], 3, 0)
    assert (sorted(source.tolist()), n_left) == ([0, 1, 2, 3], 0)
    assert source[3] != 3


@pytest.mark.parametrize(
    "wrong",
    [
        lambda t: t.set_column(1, "region", pa.array(["N"] * t.num_rows)),
        lambda t: t.set_column(1, "region", pa.array(["N", *t["region"].to_pylist()[:-1]])),
        lambda t: t.set_column(4, "age", pa.array(t["age"].to_pylist()[::-1])),
    ],
)
def test_a_wrong_table_is_refused(wrong: Any) -> None:
    table = people()
    release = anon.anonymize(table, SCHEMA, method=SWAP, order="input")
    shown = table.select(release.table.column_names)
    recheck_noise(shown, release.table, release.noise)
    with pytest.raises(anon.RecheckError):
        recheck_noise(shown, wrong(table).select(release.table.column_names), release.noise)


def test_by_the_command(tmp_path: Path) -> None:
    import pyarrow.csv

    source, out = tmp_path / "in.csv", tmp_path / "out.parquet"
    pyarrow.csv.write_csv(people(), source)
    asked = [
        "anonymize",
        str(source),
        "-o",
        str(out),
        "--quasi",
        "age,sex",
        "--neutral",
        "region,district,size",
    ]
    swap = [
        "--method",
        "record-swap",
        "--geography",
        "region,district",
        "--risk",
        "age,sex",
        "--similar",
        "size",
    ]
    assert main([*asked, *swap, "--swap-k", "4", "--rate", "0.2", "--unit", "hid"]) == 0
    assert b'household"' not in out.read_bytes()
    assert main([*asked, *swap]) == 2


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: anon.RecordSwap([], ["a"]), "geography and risk must name columns|columns must be"),
        (lambda: anon.RecordSwap(["g"], ["a"], k=1), "k must be"),
        (lambda: anon.RecordSwap(["g"], ["a"], rate=1.5), "rate must be"),
        (lambda: released(anon.RecordSwap(["region"], ["hid"]), people()), "identifying"),
        (lambda: released(anon.RecordSwap(["region"], ["nosuch"]), people()), "no column 'nosuch'"),
        (lambda: released(anon.RecordSwap(["n"], ["age"]), people()), "column 'n' differs inside"),
        (
            lambda: released(anon.RecordSwap(["region"], ["age"], ["sex"]), people()),
            "column 'sex' differs inside",
        ),
    ],
)
def test_what_is_refused(make: Any, words: str) -> None:
    with pytest.raises(anon.AnonError, match=words):
        make()
