# SPDX-License-Identifier: Apache-2.0
"""Small inputs, by the numbers of their list, on which releases or their numbers were once wrong."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import anon
from anon.errors import DataError, UsageError

pytestmark = pytest.mark.filterwarnings("ignore::anon.PrivacyWarning")


@pytest.mark.parametrize(
    "values",
    [
        ["", None, "x", "y"],  # 31
        *(["1", "1.0", "x", "y"], [" 1", "1", "x", "y"], ["+1", "1", "x", "y"], ["-0", "0", "x", "y"]),  # 32
    ],
)
def test_traps_31_and_32_what_csv_makes_one_is_not_written(values: list[str | None], tmp_path: Path) -> None:
    table, roles = pa.table({"q": [1, 1, 2, 2], "s": values}), anon.Schema(["q"], ["s"])
    release = anon.anonymize(table, roles, require=[anon.LDiversity(2, "distinct")])
    with pytest.raises(DataError, match="nothing was written; write Parquet"):
        release.write(tmp_path / "e.csv")
    assert [*tmp_path.iterdir()] == []
    release.write(tmp_path / "e.parquet")
    assert anon.check(tmp_path / "e.parquet", roles).l_distinct == 2


def test_trap_33_labels_are_read_as_they_are_written(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("x\n1\n1.0\n2\n2.0\n")
    assert anon.check(path, anon.Schema([anon.nominal("x")])).k == 1
    measured = anon.check(path, anon.Schema(["x"]))
    assert measured.k == 2
    assert "column 'x': 2 of its 4 texts were read as values that others stand for" in measured.notes[0]


def test_traps_34_and_35_long_headers_and_many_columns(tmp_path: Path) -> None:
    names = [f"{i:03}".ljust(500, "x") for i in range(320)]
    many = [f"c{i}" for i in range(20_000)]
    for listed in (names, many):
        path = tmp_path / "a.csv"
        path.write_text("\n".join([",".join(listed)] + [",".join("0" * len(listed))] * 4) + "\n")
        source = anon.read_source(path)
        assert source.table.column_names == listed
        assert source.table.num_rows == 4


def test_trap_38_classes_do_not_lie_across_intervals() -> None:
    table = {"age": [38, 39, 40, 41, 42, 43]}
    roles = anon.Schema([anon.numeric("age", hierarchy=anon.intervals(5))])
    for method in (anon.Curve(), anon.Mondrian()):
        release = anon.anonymize(
            table, roles, require=[anon.KAnonymity(2)], method=method, numeric="level", order="input"
        )
        assert release.table["age"].to_pylist() == ["[35, 40)"] * 2 + ["[40, 45)"] * 4


@pytest.mark.parametrize("first", ["sep=;", '"sep=;"'])
def test_trap_43_the_first_line_tells_the_delimiter(first: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"{first}\na;b,c\n1;x\n")
    assert anon.read_table(path).to_pydict() == {"a": [1], "b,c": ["x"]}


def test_trap_44_the_encoding_is_known_or_proposed(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("name\nÄnne\n", encoding="utf-16")
    assert anon.read_table(path).to_pydict() == {"name": ["Änne"]}
    for encoding, text in (("cp1252", "“Änne”"), ("latin-1", "Änne")):
        path.write_text(f"name\n{text}\n", encoding=encoding)
        with pytest.raises(DataError, match=f"try --encoding {encoding}, which reads all of it"):
            anon.read_table(path)
        assert anon.read_table(path, encoding=encoding).to_pydict() == {"name": [text]}


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.RData", b"RDX3\nX\n", "R"),
        ("a.json", b'{"a": 1}\n{"a": 2}\n', "JSON"),
        ("a.sqlite", b"SQLite format 3\x00" + b"\0" * 100, "SQLite"),
    ],
)
def test_trap_45_formats_are_named_by_their_first_bytes(
    name: str, content: bytes, said: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises((DataError, UsageError)) as refused:
        anon.read_table(tmp_path / name)
    assert said in str(refused.value)
    assert "utf-8" not in str(refused.value)


def test_trap_46_files_with_columns_in_another_order(tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("age,zip,dx\n1,a,x\n")
    (tmp_path / "2.csv").write_text("zip,age,dx\nb,2,y\n")
    assert anon.read_table(tmp_path).to_pydict() == {"age": [1, 2], "zip": ["a", "b"], "dx": ["x", "y"]}


def test_trap_47_more_columns_than_a_machine_word_has_bits() -> None:
    rng = np.random.default_rng(0)
    table = {f"q{i}": rng.integers(0, 5, 6) for i in range(65)}
    release = anon.anonymize(
        table, anon.Schema([*table]), require=[anon.KAnonymity(2)], method=anon.KMembers()
    )
    assert release.privacy().k >= 2


def test_trap_49_close_points_are_one_class() -> None:
    table = {"x": [1, 2, 3, 20, 21], "y": [2, 1, 2, 19, 20]}
    release = anon.anonymize(
        table, anon.Schema(["x", "y"]), require=[anon.KAnonymity(2)], method=anon.TGC(w_u=1, w_p=0)
    )
    groups = {tuple(sorted(release.classes.rows[a:b].tolist())) for a, b in _bounds(release)}
    assert groups == {(0, 1, 2), (3, 4)}
    assert release.utility().gcp == pytest.approx((3 * (2 / 20 + 1 / 19) + 2 * (1 / 20 + 1 / 19)) / 10)


def _bounds(release: anon.Release) -> list[tuple[int, int]]:
    ends = release.classes.offsets.tolist()
    return [*pairwise(ends)]


def test_trap_52_the_risk_of_a_sample_is_that_of_people() -> None:
    rng = np.random.default_rng(0)
    people = pa.table({f"q{i}": rng.integers(0, 12, 200_000) for i in range(5)})
    sample, roles = people.take(rng.choice(200_000, 2000, replace=False)), anon.Schema(people.column_names)
    by_fraction = anon.check(sample, roles, sampling_fraction=0.01).population
    by_people = anon.check(sample, roles, population=people).population
    assert by_fraction is not None
    assert by_people is not None
    assert by_people.journalist.max == 1
    assert by_fraction.journalist.max > 0.04  # which one over the class and the fraction, 0.01, is not
    assert by_fraction.uniques is not None
    assert by_fraction.uniques.share > 0.5


def test_trap_54_decimal_commas_are_proposed_and_understood(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("bmi;n\n" + "".join(f"2{i % 9},{i % 10};1\n" for i in range(40)))
    [bmi, _] = anon.inspect(path).columns
    assert "--decimal ," in str(bmi.note)
    assert anon.read_table(path, decimal=",").schema.field("bmi").type == pa.float64()


def test_trap_57_what_a_file_says_of_itself_is_a_claim(tmp_path: Path) -> None:
    roles = anon.Schema(["sex", "age"])
    table = {"sex": [*"mf"] * 50, "age": [*range(50)] * 2}
    stored = anon.anonymize(table, roles, require=[anon.KAnonymity(2)]).table
    metadata = json.loads(stored.schema.metadata[b"anon"])
    metadata["cells"] = {"sex": metadata["cells"]["sex"]}
    metadata["roles"]["quasi"] = ["sex"]
    forged = stored.replace_schema_metadata({b"anon": json.dumps(metadata).encode()})
    pq.write_table(forged, tmp_path / "f.parquet")
    assert (anon.check(tmp_path / "f.parquet").k, anon.check(tmp_path / "f.parquet").roles_from) == (
        50,
        "file",
    )
    with pytest.raises(UsageError, match="only the file itself says which columns"):
        anon.check(tmp_path / "f.parquet", require=[anon.KAnonymity(10)])
    assert anon.check(tmp_path / "f.parquet", roles, require=[anon.KAnonymity(60)]).unmet


def test_trap_58_one_great_income_can_be_capped_and_is_counted() -> None:
    table = {"income": [*range(1800, 1899), 9_000_000]}

    def cells(**coding: Any) -> tuple[anon.Release, set[str]]:
        roles = anon.Schema([anon.numeric("income", **coding)])
        release = anon.anonymize(table, roles, require=[anon.KAnonymity(5)])
        return release, set(release.table["income"].to_pylist())

    plain, shown = cells()
    assert any("9000000" in each for each in shown)
    assert plain.ends_of_one["income"] > 0
    assert not any("9000000" in each for each in cells(top=1890)[1])
    assert cells(ends=1000)[0].ends_of_one["income"] == 0


@pytest.mark.parametrize("suffix", ["parquet", "feather"])
def test_trap_59_nested_columns_hold_no_suppressed_value(suffix: str, tmp_path: Path) -> None:
    inner = pa.DictionaryArray.from_arrays(pa.array([0, 0, 1, 1, 2]), pa.array(["a", "b", "secret"]))
    table = pa.table(
        {
            "q": [1, 1, 2, 2, None],
            "n": pa.StructArray.from_arrays([inner], ["f"]),
            "l": pa.array([["x"], ["x"], ["y"], ["y"], ["secret"]], pa.list_view(pa.string())),
        }
    )
    roles = anon.Schema(["q"], neutral=["n", "l"])
    release = anon.anonymize(table, roles, require=[anon.KAnonymity(2)], missing="suppress")
    release.write(tmp_path / f"r.{suffix}")
    assert b"secret" not in (tmp_path / f"r.{suffix}").read_bytes()
    assert anon.read_table(tmp_path / f"r.{suffix}")["n"].to_pylist().count({"f": "a"}) == 2


def test_trap_60_long_sets_propose_a_hierarchy() -> None:
    rng = np.random.default_rng(0)
    table = {f"q{i}": [f"v{j}" for j in rng.integers(0, 500, 600)] for i in range(3)}
    release = anon.anonymize(
        table, anon.Schema([*table]), require=[anon.KAnonymity(200)], method=anon.Mondrian()
    )
    [note] = [each for each in release.notes if "give them a hierarchy" in each]
    assert "--hierarchy q0=prefix:2" in note
    assert "`anon hierarchy` drafts" in note
    few = {"q": [f"a label that is rather long, number {i}" for i in range(40)]}
    short = anon.anonymize(few, anon.Schema(["q"]), require=[anon.KAnonymity(10)], method=anon.Mondrian())
    [note] = [each for each in short.notes if "give them a hierarchy" in each]
    assert re.search("cells of 1 column list labels in up to [0-9,]+ characters", note)
    draft = anon.draft_hierarchy(table, "q0")
    assert len(draft.rows) == len({*table["q0"]})
