# SPDX-License-Identifier: Apache-2.0
"""Full-domain recoding of columns that the schema says more of: coded, linked, of households."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anon
from reference import lattice as slow

pytestmark = pytest.mark.filterwarnings("ignore::anon.PrivacyWarning")


def loss(rows: list[tuple[Any, ...]], ladders: list[list[dict[Any, Any]]]) -> Any:
    """The loss of a node by its definition: values of the data below each label."""

    def score(node: tuple[int, ...], classes: list[list[int]], out: set[int]) -> float:
        total = 0.0
        for a, g in enumerate(node):
            below = Counter(ladders[a][g].values())
            many = max(len(ladders[a][g]) - 1, 1)
            total += sum(
                1 if i in out else (below[ladders[a][g][row[a]]] - 1) / many for i, row in enumerate(rows)
            )
        return total / len(rows) / len(ladders)

    return score


# --- least levels, top and bottom codes


@st.composite
def ages(draw: st.DrawFn) -> tuple[list[int], list[str], int | None, int | None, int, float]:
    n = draw(st.integers(1, 25))
    age = draw(st.lists(st.integers(0, 39), min_size=n, max_size=n))
    zips = draw(st.lists(st.sampled_from(["110", "111", "120", "210", "211"]), min_size=n, max_size=n))
    least = draw(st.sampled_from([None, 5, 10]))
    top = draw(st.sampled_from([None, 25, 32]))
    return age, zips, least, top, draw(st.integers(1, 4)), draw(st.sampled_from([0, 0.1, 0.3]))


@settings(max_examples=50, deadline=None)
@given(ages(), st.sampled_from([None, 2, 1]))
def test_the_lattice_starts_at_the_least_level(case: Any, prefix: int | None) -> None:
    age, zips, least, top, k, suppress = case
    rows = list(zip(age, zips, strict=True))

    def label(width: int, value: int) -> Any:
        return "top" if top is not None and value >= top else value // width

    values = sorted(set(age))
    of_age = [{v: label(width, v) for v in values} for width in (1, 5, 10)]
    of_zip: list[dict[Any, Any]] = [{z: z[:length] for z in set(zips)} for length in (3, 2, 1)]
    for steps, plain in ((of_age, {v: v // 10 for v in values}), (of_zip, of_zip[-1])):
        if len(set(plain.values())) > 1:
            steps.append(dict.fromkeys(steps[0], "*"))
        else:
            steps[-1] = dict.fromkeys(steps[0], "*")
    low = ({None: 0, 5: 1, 10: 2}[least], {None: 0, 2: 1, 1: 2}[prefix])
    ladders = [of_age[low[0] :], of_zip[low[1] :]]
    schema = anon.Schema(
        [
            anon.numeric("age", anon.intervals(5, 10), least=least, top=top),
            anon.nominal("zip", anon.prefix(2, 1), least=prefix),
        ]
    )
    table = pa.table({"age": age, "zip": zips})
    most = math.floor(Fraction(str(suppress)) * len(rows))
    expected = slow.best_node(rows, ladders, lambda some, _: len(some) >= k, loss(rows, ladders), most)
    if len(rows) < k:
        with pytest.raises(anon.InfeasibleError):
            anon.anonymize(table, schema, require=[anon.KAnonymity(k)], method=anon.FullDomain())
        return
    assert expected is not None
    release = anon.anonymize(
        table, schema, require=[anon.KAnonymity(k)], method=anon.FullDomain(), suppress=suppress
    )
    assert release.levels == tuple(g + at for g, at in zip(expected, low, strict=True))
    assert release.lattice.lowest == low
    looks = Counter(
        tuple(step[g][v] for step, g, v in zip(ladders, expected, row, strict=True)) for row in rows
    )
    assert sorted(release.classes.sizes.tolist()) == sorted(n for n in looks.values() if n >= k)


def test_what_is_coded_is_published_so_at_every_level(tmp_path: Path) -> None:
    table = pa.table(
        {"age": [21, 22, 28, 36, 41, 77, 83, 90], "zip": ["11", "12", "11", "12", "21", "22", "21", "22"]}
    )
    schema = anon.Schema(
        [
            anon.numeric("age", anon.intervals(5, 10, 20), least=10, top=70),
            anon.nominal("zip", anon.prefix(1)),
        ]
    )
    shown = {}
    for levels in ((2, 0), (3, 1)):
        release = anon.anonymize(
            table, schema, require=[anon.KAnonymity(1)], method=anon.FullDomain(levels=levels)
        )
        shown[levels] = sorted(set(release.table["age"].to_pylist()))
        release.write(tmp_path / "out.csv")
        assert anon.check(tmp_path / "out.csv", anon.Schema(["age", "zip"])).k == release.privacy().k
    assert shown == {
        (2, 0): [">= 70", "[20, 29]", "[30, 39]", "[40, 49]"],
        (3, 1): [">= 70", "[20, 39]", "[40, 59]"],
    }
    with pytest.raises(anon.UsageError, match="'age' has levels 2 to 4, not 1"):
        anon.anonymize(table, schema, require=[anon.KAnonymity(1)], method=anon.FullDomain(levels=(1, 0)))


def test_rounds_start_at_the_least_level() -> None:
    table = pa.table({"age": [21, 22, 36, 37, 38, 41, 83, 90]})
    schema = anon.Schema([anon.numeric("age", anon.intervals(5, 10, 20), least=5, top=70)])
    release = anon.anonymize(
        table, schema, require=[anon.KAnonymity(2)], method=anon.FullDomain(iterate=0.1), suppress=0.2
    )
    assert [each.levels for each in release.lattice.rounds] == [(1,)]
    assert Counter(release.table["age"].to_pylist()) == {"[20, 24]": 2, "[35, 39]": 3, ">= 70": 2}


# --- linked columns


def test_linked_columns_follow_the_classes(tmp_path: Path) -> None:
    table = pa.table(
        {
            "age": [21, 22, 23, 24, 31, 32, 33, 34],
            "born": [2003, 2002, 2001, 2000, 1993, 1992, 1991, 1990],
            "sex": list("mmffmmff"),
        }
    )
    schema = anon.Schema(
        [anon.numeric("age", anon.intervals(10)), "sex"], linked=[["age", anon.numeric("born")]]
    )
    for method in (anon.FullDomain(), anon.FullDomain(iterate=0.5)):
        release = anon.anonymize(table, schema, require=[anon.KAnonymity(2)], method=method)
        assert release.lattice.names == ("age", "sex")
        assert sorted({(row["age"], row["born"], row["sex"]) for row in release.table.to_pylist()}) == [
            ("[20, 29]", "[2000, 2001]", "f"),
            ("[20, 29]", "[2002, 2003]", "m"),
            ("[30, 39]", "[1990, 1991]", "f"),
            ("[30, 39]", "[1992, 1993]", "m"),
        ]
        release.write(tmp_path / "out.csv")
        assert anon.check(tmp_path / "out.csv", anon.Schema(["age", "born", "sex"])).k == 2
    apart = anon.anonymize(table, schema, require=[anon.KAnonymity(4)], method=anon.FullDomain(levels=(2, 0)))
    assert set(apart.table["born"].to_pylist()) == {"*"}  # as the age is


# --- households


@st.composite
def households(draw: st.DrawFn) -> tuple[pa.Table, int, float]:
    n = draw(st.integers(1, 10))
    region = draw(st.lists(st.sampled_from(["a1", "a2", "b1"]), min_size=n, max_size=n))
    rows = [
        (h, region[h], draw(st.sampled_from(["x1", "x2", "y1"])))
        for h in range(n)
        for _ in range(draw(st.integers(1, 3)))
    ]
    hid, regions, job = map(list, zip(*rows, strict=True))
    table = pa.table({"hid": hid, "region": regions, "job": job})
    return table, draw(st.integers(1, 3)), draw(st.sampled_from([0, 0.2]))


@settings(max_examples=50, deadline=None)
@given(households())
def test_households_are_counted_and_their_size_is_an_attribute(case: tuple[pa.Table, int, float]) -> None:
    table, k, suppress = case
    trees = [
        {"*": {first: [v for v in some if v[0] == first] for first in {v[0] for v in some}}}
        for some in (["a1", "a2", "b1"], ["x1", "x2", "y1"])
    ]
    schema = anon.Schema(
        [anon.nominal("region", trees[0]), anon.nominal("job", trees[1])], unit="hid", household=["region"]
    )
    hid = table["hid"].to_pylist()
    size = Counter(hid)
    rows = [
        (region, job, size[h])
        for region, job, h in zip(table["region"].to_pylist(), table["job"].to_pylist(), hid, strict=True)
    ]
    ladders: list[list[dict[Any, Any]]] = []
    for a in range(2):
        values = {row[a] for row in rows}
        ladders.append([{v: v for v in values}, {v: v[0] for v in values}, dict.fromkeys(values, "*")])
    ladders.append([{n: n for n in size.values()}, dict.fromkeys(size.values(), "*")])

    def passes(some: list[int], _: list[int]) -> bool:
        return len({hid[i] for i in some}) >= k

    most = math.floor(Fraction(str(suppress)) * len(rows))
    if len(size) < k:
        return
    expected = slow.best_node(rows, ladders, passes, loss(rows, ladders), most)
    release = anon.anonymize(
        table, schema, require=[anon.KAnonymity(k)], method=anon.FullDomain(), suppress=suppress
    )
    assert release.levels == expected
    assert release.lattice.names[-1] == "size of the household"
    assert len(release.classes.suppressed) <= most
    shown = defaultdict(set)
    column = release.columns[0][0]
    for c, (start, stop) in enumerate(
        zip(release.classes.offsets[:-1], release.classes.offsets[1:], strict=True)
    ):
        members = {hid[i] for i in release.classes.rows[start:stop].tolist()}
        assert len(members) >= k
        for h in members:
            shown[h].add(column.values[int(column.index[c])].as_py())
    assert all(len(cells) == 1 for cells in shown.values())


def test_what_households_refuse() -> None:
    table = pa.table({"hid": [1, 1, 2, 2], "region": list("aabb"), "job": list("xyxy")})
    schema = anon.Schema(["region", "job"], unit="hid", household=["region"])
    with pytest.raises(anon.UsageError, match="leave out iterate, or household="):
        anon.anonymize(table, schema, require=[anon.KAnonymity(2)], method=anon.FullDomain(iterate=0.1))
    with pytest.raises(anon.UsageError, match=r"2 numbers for 3 attributes: .* size of the household"):
        anon.anonymize(table, schema, require=[anon.KAnonymity(2)], method=anon.FullDomain(levels=(1, 1)))


def test_t_of_units_compares_with_the_values_of_all_units() -> None:
    """A unit with rows in two classes has its value once in the table."""
    table = pa.table({"a": [1, 1, 2, 2, 3, 3], "s": list("pqppqp"), "who": [1, 2, 1, 3, 2, 3]})
    schema = anon.Schema([anon.nominal("a")], ["s"], unit="who")
    near = anon.TCloseness(0.17, distance="equal")
    for method in (anon.Mondrian(), anon.FullDomain(), anon.FullDomain(iterate=0.1)):
        release = anon.anonymize(table, schema, require=[anon.KAnonymity(2), near], method=method)
        assert release.n_rows == 6
