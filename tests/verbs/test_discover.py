# SPDX-License-Identifier: Apache-2.0
"""`anon.discover`: distinction and separation of sets of columns, against counting pairs."""

from __future__ import annotations

import json
from collections import Counter
from itertools import combinations
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anon
from anon.command.entry import main
from anon.errors import DataError, UsageError


@given(st.data())
@settings(max_examples=50, deadline=None)
def test_figures_are_those_of_counting_pairs(data: st.DataObject) -> None:
    n, m = data.draw(st.integers(1, 8)), data.draw(st.integers(1, 4))
    column = st.lists(st.sampled_from(["x", "y", None]), min_size=n, max_size=n)
    table = pa.table({f"q{i}": pa.array(data.draw(column), pa.string()) for i in range(m)})
    max_size = data.draw(st.integers(1, m))
    found = anon.discover(table, max_size=max_size, n_threads=data.draw(st.integers(1, 2)))
    names = table.column_names
    assert [each.columns for each in found.sets] == [
        each for size in range(1, max_size + 1) for each in combinations(names, size)
    ]
    for each in found.sets:
        rows = list(zip(*(table[name].to_pylist() for name in each.columns), strict=True))
        assert each.distinction == pytest.approx(len(set(rows)) / n)
        pairs = list(combinations(rows, 2))
        assert each.separation == pytest.approx(sum(a != b for a, b in pairs) / len(pairs) if pairs else 1)
        assert each.unique == pytest.approx(sum(count == 1 for count in Counter(rows).values()) / n)


def test_the_sets_that_tell_most() -> None:
    table = {"a": list("1122"), "b": list("1212"), "c": list("1111")}
    found = anon.discover(table, max_size=3)
    assert [each.columns for each in found.most(2)] == [("a", "b"), ("a", "b", "c")]
    assert [each.columns for each in found.most(9, size=1)] == [("a",), ("b",), ("c",)]
    assert found.most(1)[0].unique == 1
    assert anon.discover(table, ["b", "c"]).sets[-1].columns == ("b", "c")


def test_what_cannot_be_counted() -> None:
    table = pa.table({"a": [1, 2], "l": [[1], [2]]})
    found = anon.discover(table)
    assert found.not_counted == ("l",)
    assert [each.columns for each in found.sets] == [("a",)]
    with pytest.raises(DataError, match="'l'"):
        anon.discover(table, ["l"])
    with pytest.raises(DataError, match="no column 'z'"):
        anon.discover(table, ["z"])
    with pytest.raises(UsageError, match="at least one column"):
        anon.discover(table, max_size=0)
    wide = pa.table({f"c{i}": [1] for i in range(100)})
    with pytest.raises(UsageError, match=r"bound their size \(max_size=2\)"):
        anon.discover(wide, max_size=3)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = tmp_path / "in.parquet", tmp_path / "sets.csv"
    pq.write_table(pa.table({"a": list("1122"), "b": list("1212"), "c": list("1111")}), path)
    assert main(["discover", str(path), "-o", str(out), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [each["columns"] for each in told["sets"]][:2] == [["a"], ["b"]]
    assert len(out.read_text().splitlines()) == 7
    assert main(["discover", str(path), "--columns", "a,b", "--max-size", "1"]) == 0
    shown = capsys.readouterr().out
    assert "distinction" in shown
    assert "a, b" not in shown
    assert main(["discover", str(path), "-o", str(path)]) == 2
