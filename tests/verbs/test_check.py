# SPDX-License-Identifier: Apache-2.0
"""Checks of tables made by anyone: pairs of a bucketization, foreign metadata, requirements."""

from __future__ import annotations

import copy
import datetime
import decimal
import json
from collections.abc import Callable
from math import log
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet
import pytest

import anon
import anon.release.metadata
import anon.release.recoded
from anon.errors import DataError, UsageError

DAY = datetime.date(2020, 2, 29)
NOON = datetime.datetime(2020, 2, 29, 12, 0, 0, 1)


def bucketized(values: Any) -> anon.Release:
    """Rows of four ages in buckets of two or more different values."""
    n = len(values)
    return anon.anonymize(
        pa.table({"age": list(range(n)), "s": values}),
        anon.Schema(["age"], ["s"]),
        require=[anon.LDiversity(2)],
        method=anon.Mondrian(),
        publish="bucketization",
    )


@pytest.mark.parametrize(
    "values",
    [
        pa.array([DAY + datetime.timedelta(n) for n in (0, 1, 2, 400)], pa.date32()),
        pa.array([DAY + datetime.timedelta(n) for n in (0, 1, 2, 400)], pa.date64()),
        pa.array([NOON + datetime.timedelta(n) for n in (0, 1, 2, 400)], pa.timestamp("us")),
        pa.array([0, 1, 2, 10**18 + 1], pa.timestamp("ns")),
        pa.array([0, 1, 2, 10**9], pa.timestamp("s", "Europe/Berlin")),
        pa.array([0, 1, 3600, 86399], pa.time32("s")),
        pa.array([0, 1, 60 * 10**9, 86399 * 10**9], pa.time64("ns")),
        pa.array([-5, 0, 7, 10**15], pa.duration("ms")),
        pa.array([2**53, 2**53 + 1, 2**53 + 2, -(2**63)]),
        pa.array([2**64 - 1, 2**64 - 2, 1, 0], pa.uint64()),
        pa.array([0.1, 1e-300, -2.5, 1e22]),
        pa.array(list(map(decimal.Decimal, ["12345678901234567890.1", "12345678901234567890.2", "0", "-1"]))),
        pa.array(["x", "5s", "2020-01-01", "*"]),
    ],
)
def test_a_sensitive_attribute_of_any_type_keeps_its_values_and_their_order(
    tmp_path: Path, values: pa.Array
) -> None:
    release = bucketized(pa.concat_arrays([values, values[::-1], values[:1]]))
    release.write(tmp_path / "b.parquet")
    ours, theirs = release.privacy(), anon.check(tmp_path / "b.parquet")
    for name in ("k", "l_distinct", "l_probabilistic", "t_js", "t_ordered", "delta", "a_know"):
        assert getattr(theirs, name) == pytest.approx(getattr(ours, name), abs=1e-12), name
    assert (ours.t_ordered is None) == pa.types.is_string(values.type)


def test_the_second_table_of_a_csv_is_found(tmp_path: Path) -> None:
    release = bucketized([1, 2, 3, 1, 2, 3])
    release.write(tmp_path / "b.csv")
    schema = anon.Schema(["age"], ["s"])
    assert anon.check(tmp_path / "b.csv", schema).l_distinct == release.privacy().l_distinct == 3
    # its own columns come first: a table that holds the attribute is a table for itself
    (tmp_path / "t.csv").write_text("age,class_id,s\n1,0,x\n1,0,x\n")
    (tmp_path / "t.sensitive.csv").write_text("attribute,class_id,value,count\ns,0,x,1\ns,0,y,1\n")
    assert anon.check(tmp_path / "t.csv", schema).l_distinct == 1
    assert anon.check(tmp_path / "t.csv", anon.Schema(["age"])).k == 2


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_the_sensitive_half_alone_is_told_from_the_other(tmp_path: Path, suffix: str) -> None:
    bucketized([1, 2, 3, 1, 2, 3]).write(tmp_path / f"b.{suffix}")
    second = tmp_path / f"b.sensitive.{suffix}"
    for schema in (None, anon.Schema(["age"], ["s"])):
        with pytest.raises(DataError, match=rf"sensitive half.*{tmp_path / f'b.{suffix}'}"):
            anon.check(second, schema)
    # but a table may have such columns
    alike = {"attribute": ["s"], "class_id": [0], "value": [1], "count": [1]}
    assert anon.check(alike, anon.Schema(["attribute"])).k == 1


def with_column(table: pa.Table, name: str, column: Any) -> pa.Table:
    return table.set_column(table.column_names.index(name), name, column)


@pytest.mark.parametrize(
    ("column", "change"),
    [
        ("count", lambda t: with_column(t, "count", pa.array(["many"] * len(t)))),
        ("count", lambda t: with_column(t, "count", pc.multiply(t["count"].cast(pa.float64()), 0.5))),
        ("count", lambda t: with_column(t, "count", pa.nulls(len(t), pa.int64()))),
        ("count", lambda t: with_column(t, "count", pc.negate(t["count"]))),
        ("count", lambda t: with_column(t, "count", pa.array([[1]] * len(t)))),
        (
            "count",
            lambda t: pa.concat_tables([t, t[:1], with_column(t, "count", pc.negate(t["count"]))[:1]]),
        ),
        ("class_id", lambda t: with_column(t, "class_id", pa.array(["first"] * len(t)))),
        ("s", lambda t: with_column(t, "count", pa.array([2**62] * len(t)))),
        ("s", lambda t: with_column(t, "class_id", pa.nulls(len(t), pa.int64()))),
        ("s", lambda t: with_column(t, "attribute", pa.array([1] * len(t)))),
        ("s", lambda t: with_column(t, "value", pa.array(["SECRET"] * len(t)))),
        ("s", lambda t: t[:1]),
        ("s", lambda t: t[:0].cast(t.schema)),
        ("s", lambda t: pa.concat_tables([t, t])),
    ],
)
def test_halves_that_do_not_belong_together_are_told(
    tmp_path: Path, column: str, change: Callable[[pa.Table], pa.Table]
) -> None:
    release = bucketized([1, 2, 3, 1, 2, 3])
    release.write(tmp_path / "b.parquet")
    changed = change(release.sensitive_table)
    with pytest.raises(DataError) as caught:
        anon.check(tmp_path / "b.parquet", sensitive_table=changed)
    assert caught.value.column == column or len(changed) == 0
    assert "SECRET" not in str(caught.value)


@pytest.mark.parametrize("kind", [pa.string(), pa.float64(), pa.int16()])
def test_counts_and_ids_of_another_type_are_read(tmp_path: Path, kind: pa.DataType) -> None:
    release = bucketized([1, 2, 3, 1, 2, 3])
    release.write(tmp_path / "b.parquet")
    second = release.sensitive_table
    for name in ("count", "class_id"):
        second = with_column(second, name, second[name].cast(kind))
    assert anon.check(tmp_path / "b.parquet", sensitive_table=second).l_distinct == 3


def test_metadata_that_is_not_ours_says_nothing(tmp_path: Path) -> None:
    path = tmp_path / "r.parquet"
    table = pa.table({"a": [1, 2, 3, 4], "s": list("xyxy")})
    release = anon.anonymize(table, anon.Schema(["a"], ["s"]), require=[anon.KAnonymity(2)])
    release.write(path)
    told = anon.release.metadata.read_metadata(path)
    assert told is not None
    without = {key: {k: v for k, v in told.items() if k != key} for key in ("cells", "kinds", "roles")}
    odd: list[Any] = [
        *({}, [], 5, None, without["cells"], without["kinds"], without["roles"]),
        *({**told, "cells": [1]}, {**told, "cells": {"a": 5}}, {**told, "cells": {"a": {"columns": [5]}}}),
        *({**told, "roles": None}, {**told, "kinds": []}, {**told, "publish": [1]}),
        {**told, "roles": {"quasi": ["a"], "sensitive": [1]}},
        *({**told, "hierarchies": ["s"]}, {**told, "orders": None}),
    ]
    for text in [*map(json.dumps, odd), "{", b"\xff", "[" * 100_000]:
        held = release.table.replace_schema_metadata({"anon": text})
        pyarrow.parquet.write_table(held, path)
        for source in (path, held):
            with pytest.raises(UsageError, match="does not say its roles"):
                anon.check(source)
            assert anon.check(source, anon.Schema(["a"], ["s"])).k == 2


CLASSES = {"q": list("aaabbb"), "s": list("xxyxyz")}  # of s: 2 + 1 of 3, and 1 + 1 + 1


@pytest.mark.parametrize(
    ("requirement", "met"),
    [
        (anon.KAnonymity(3), True),
        (anon.KAnonymity(4), False),
        (anon.LDiversity(1.5), True),
        (anon.LDiversity(2), False),
        (anon.LDiversity(2, "distinct"), True),
        (anon.LDiversity(3, "distinct"), False),
        (anon.TCloseness(0.17, "equal"), True),  # 1/6
        (anon.TCloseness(0.16, "equal"), False),
        (anon.AlphaK(0.67, 3), True),
        (anon.AlphaK(0.66, 3), False),
        (anon.DeltaDisclosure(9), False),  # the first class lacks z
        (anon.BetaLikeness(1.01), True),  # z: from 1/6 to 1/3
        (anon.BetaLikeness(0.99), False),
    ],
)
def test_unmet_requirements_are_named(requirement: Any, met: bool) -> None:
    schema = anon.Schema(["q"], ["s"])
    measured = anon.check(CLASSES, schema, require=[anon.KAnonymity(1), requirement])
    assert measured.unmet == (() if met else (str(requirement),))
    assert measured.to_dict()["unmet"] == list(measured.unmet)
    assert anon.check(CLASSES, schema).unmet is None
    with pytest.raises(UsageError, match="write require="):
        anon.check(CLASSES, schema, require=requirement)


def test_requirements_hold_in_buckets_and_not_in_suppressed_rows(tmp_path: Path) -> None:
    bucketized([1, 2, 3, 1, 2, 3]).write(tmp_path / "b.parquet")
    require = [anon.LDiversity(2), anon.LDiversity(4, "distinct")]
    measured = anon.check(tmp_path / "b.parquet", require=require, roles_from_file=True)
    assert measured.unmet == ("4-diversity (distinct)",)
    starred = {"q": ["a", "a", "*"], "s": ["x", "y", "x"]}
    schema = anon.Schema(["q"], ["s"])
    assert anon.check(starred, schema, require=[anon.KAnonymity(2)]).unmet == ()
    assert anon.check({"q": ["*"], "s": ["x"]}, schema, require=[anon.KAnonymity(2)]).unmet == ()


def test_the_risk_of_a_bucketization_is_that_of_its_intact_quasi_identifiers(tmp_path: Path) -> None:
    # ages 20, 20, 30, 40, 50, 50: the rows of 30 and 40 are alone, so 4 groups: mean risk 4/6, at most 1
    table = pa.table({"age": [20, 20, 30, 40, 50, 50], "s": list("abcabc")})
    release = anon.anonymize(
        table, anon.Schema(["age"], ["s"]), require=[anon.KAnonymity(3)], publish="bucketization"
    )
    for suffix in ("parquet", "csv"):
        release.write(tmp_path / f"out.{suffix}")
    checked = [
        anon.check(tmp_path / "out.parquet"),
        anon.check(tmp_path / "out.csv", anon.Schema(["age"], ["s"])),
    ]
    for found in (release.privacy(), *checked):
        assert (found.k, found.n_classes) == (3, 2)
        assert (found.prosecutor.max, found.prosecutor.mean) == (1, pytest.approx(4 / 6))
        assert found.sample_uniques == 2
    # half of the population is sampled: f = 1 has the risk ln 2, f = 2 what is left of 1
    found = release.privacy(sampling_fraction=0.5)
    assert found.population is not None
    assert found.population.marketer == pytest.approx((2 * log(2) + 4 * (1 - log(2))) / 6)
    assert found.population == found.population_before
    population = pa.table({"age": [20, 20, 30, 30, 40, 50, 50, 60]})
    found = release.privacy(population=population)
    assert found.population is not None
    # F: 20 twice, 30 twice, 40 once, 50 twice: (1/2 + 1/2 + 1/2 + 1 + 1/2 + 1/2) / 6
    assert found.population.marketer == pytest.approx(3.5 / 6)


def forged(table: pa.Table, path: Path, **other: Any) -> Path:
    """The table in a Parquet file with some of its metadata changed."""
    told = json.loads(table.schema.metadata[b"anon"])
    changed = table.replace_schema_metadata({"anon": json.dumps(told | other)})
    pyarrow.parquet.write_table(changed, path)
    return path


def test_roles_of_the_file_are_its_own_claim(tmp_path: Path) -> None:
    path, schema = tmp_path / "r.parquet", anon.Schema(["sex", "age"], ["s"])
    table = pa.table({"sex": list("ffffmmmm"), "age": [1, 1, 2, 2, 1, 1, 2, 2], "s": list("xyxyxyxy")})
    release = anon.anonymize(table, schema, require=[anon.KAnonymity(2)])
    release.write(path)
    claimed, given = anon.check(path), anon.check(path, schema)
    assert (claimed.roles_from, given.roles_from, release.privacy().roles_from) == ("file", "given", None)
    assert claimed.to_dict() | {"roles_from": "given"} == given.to_dict()
    assert anon.check(release.table).roles_from == "file"
    # metadata that name sex alone: k = 4 by their word, and 2 in truth
    told = release.metadata
    cells = {"sex": told["cells"]["sex"]}
    roles = {**told["roles"], "quasi": ["sex"]}
    path = forged(release.table, tmp_path / "forged.parquet", cells=cells, roles=roles)
    assert (anon.check(path).k, anon.check(path).roles_from) == (4, "file")
    three = [anon.KAnonymity(3)]
    for source in (path, pyarrow.parquet.read_table(path)):
        with pytest.raises(UsageError, match=r"only the file itself says .* roles_from_file=True"):
            anon.check(source, require=three)
    assert anon.check(path, require=three, roles_from_file=True).unmet == ()
    assert anon.check(path, schema, require=three).unmet == ("3-anonymity",)
    with pytest.raises(UsageError, match=r"roles are given, and to be taken from the file .*: choose one"):
        anon.check(path, schema, require=three, roles_from_file=True)
    with pytest.raises(UsageError, match="does not say its roles"):
        anon.check(table, require=three, roles_from_file=True)


ILLS = {"any": {"lungs": ["flu", "cold", "asthma"], "gut": {"stomach": ["ulcer"], "bowel": ["colitis"]}}}


def ill(suppressed: bool = False) -> pa.Table:
    """12 rows with six ages and five illnesses; the one of a row without an age is like no other."""
    ages = [1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6]
    ills = [
        "flu",
        "cold",
        "flu",
        "ulcer",
        "cold",
        "colitis",
        "asthma",
        "flu",
        "ulcer",
        "colitis",
        "cold",
        "flu",
    ]
    if suppressed:
        ages, ills = [*ages, None], [*ills, "SUPPRESSED"]
    return pa.table({"age": ages, "ill": ills})


def with_tree() -> anon.Schema:
    tree: Any = {
        "any": {**ILLS["any"], "SECRETBRANCH": ["SUPPRESSED"], "UNUSEDBRANCH": {"UNUSED": ["unused"]}}
    }
    return anon.Schema(["age"], [anon.nominal("ill", tree)])


@pytest.mark.parametrize("publish", ["generalization", "bucketization"])
@pytest.mark.parametrize("suffix", ["parquet", "feather"])
@pytest.mark.parametrize("suppressed", [False, True])
def test_hierarchical_closeness_is_checked_from_the_file(
    tmp_path: Path, suffix: str, publish: Any, suppressed: bool
) -> None:
    path = tmp_path / f"r.{suffix}"
    t = anon.TCloseness(0.4, "hierarchical")
    release = anon.anonymize(
        *(ill(suppressed), with_tree()),
        require=[anon.KAnonymity(2), t],
        missing="suppress",
        publish=publish,
    )
    release.write(path)
    holds = release.privacy().t_hierarchical
    assert holds is not None
    assert release.n_rows == 12
    measured = anon.check(path, require=[t], roles_from_file=True)
    assert (measured.t_hierarchical, measured.unmet) == (holds, ())
    just = anon.TCloseness(holds, "hierarchical")
    less = anon.TCloseness(holds - 1e-6, "hierarchical")
    assert anon.check(path, require=[just, less], roles_from_file=True).unmet == (str(less),)
    for each in tmp_path.iterdir():
        said = anon.release.metadata.read_metadata(each)
        assert said is not None
        assert said["hierarchies"]["ill"] == {
            "labels": [
                "any",
                "lungs",
                "flu",
                "cold",
                "asthma",
                "gut",
                "stomach",
                "ulcer",
                "bowel",
                "colitis",
            ],
            "parent": [-1, 0, 1, 1, 1, 0, 5, 6, 5, 8],
        }
        content = each.read_bytes() if suffix == "parquet" else json.dumps(said).encode()
        for word in (b"SUPPRESSED", b"SECRETBRANCH", b"UNUSED", b"unused"):
            assert word not in content


def test_a_tree_of_any_depth_is_told(tmp_path: Path) -> None:
    values = ["x" * n + end for n in (200, 1) for end in "ab"] * 3
    schema = anon.Schema(["q"], [anon.nominal("s", anon.prefix(*range(1, 200)))])
    table = pa.table({"q": list(range(12)), "s": values})
    t = anon.TCloseness(0.01, "hierarchical")
    release = anon.anonymize(table, schema, require=[t])
    release.write(tmp_path / "r.parquet")
    measured = anon.check(tmp_path / "r.parquet", require=[t], roles_from_file=True)
    assert (measured.unmet, measured.t_hierarchical) == ((), release.privacy().t_hierarchical)


def test_one_published_value_and_none_have_trees(tmp_path: Path) -> None:
    tree = {"any": {"some": ["x"], "other": ["y"]}}
    table = pa.table({"q": pa.array([1, 1, 2, 2, None], pa.int64()), "s": ["x", "x", "x", "x", "y"]})
    schema = anon.Schema(["q"], [anon.nominal("s", tree)])
    release = anon.anonymize(table, schema, require=[anon.KAnonymity(2)], missing="suppress")
    assert release.metadata["hierarchies"] == {"s": {"labels": ["x"], "parent": [-1]}}
    release.write(tmp_path / "r.parquet")
    assert anon.check(tmp_path / "r.parquet").t_hierarchical == 0
    nobody = table.set_column(1, "s", pa.array([None, None, None, None, "y"]))
    with pytest.warns(anon.PrivacyWarning, match="the release is empty"):
        release = anon.anonymize(nobody, schema, require=[anon.KAnonymity(2)], missing="suppress")
    assert (release.n_rows, release.metadata["hierarchies"]) == (0, {})


def test_metadata_are_copies_and_files_tell_the_trees_and_orders_of_the_release(tmp_path: Path) -> None:
    tree = {"any": {"some": ["x"], "other": ["y"]}}
    table = pa.table({"q": [1, 1, 2, 2], "s": ["x", "y", "x", "y"], "o": ["low", "high", "low", "high"]})
    schema = anon.Schema(["q"], [anon.nominal("s", tree), anon.ordinal("o", ["low", "high"])])
    release = anon.anonymize(table, schema, require=[anon.KAnonymity(2)])
    before = copy.deepcopy(release.metadata)
    changed = release.metadata
    changed["hierarchies"]["s"]["labels"].reverse()
    changed["hierarchies"]["more"] = None
    changed["orders"]["o"].reverse()
    assert release.metadata == before
    release.write(tmp_path / "r.parquet")
    said = anon.release.metadata.read_metadata(tmp_path / "r.parquet")
    assert said is not None
    assert {key: said[key] for key in ("hierarchies", "orders")} == {
        key: before[key] for key in ("hierarchies", "orders")
    }


def test_a_tree_that_is_too_large_is_not_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(anon.release.recoded, "MOST_NODES", 9)
    t = anon.TCloseness(0.4, "hierarchical")
    path = tmp_path / "r.parquet"
    release = anon.anonymize(ill(), with_tree(), require=[t])
    release.write(path)
    assert release.metadata["hierarchies"] == {"ill": None}
    with pytest.raises(UsageError, match=r"the table alone cannot decide it.*give it in the schema"):
        anon.check(path, require=[t], roles_from_file=True)
    assert anon.check(path, with_tree(), require=[t]).unmet == ()


def test_without_the_hierarchy_closeness_is_decided_where_any_would_do(tmp_path: Path) -> None:
    csv, parquet = tmp_path / "r.csv", tmp_path / "r.parquet"
    t = anon.TCloseness(0.4, "hierarchical")
    release = anon.anonymize(ill(), with_tree(), require=[t])
    for path in (csv, parquet):
        release.write(path)
    flat = anon.Schema(["age"], ["ill"])
    greatest = release.privacy().t_equal
    assert greatest is not None
    assert greatest > 0.4
    for path in (csv, parquet):
        with pytest.raises(UsageError, match="it depends on the hierarchy of column 'ill'") as caught:
            anon.check(path, flat, require=[t])
        assert ("roles_from_file=True" in str(caught.value)) == (path == parquet)
        assert anon.check(path, flat, require=[anon.TCloseness(greatest, "hierarchical")]).unmet == ()
        assert anon.check(path, with_tree(), require=[t]).unmet == ()
    flat_release = anon.anonymize(ill(), flat, require=[t])  # one level, told as such
    flat_release.write(parquet)
    assert flat_release.metadata["hierarchies"] == {}
    tight = anon.TCloseness(1e-6, "hierarchical")
    assert anon.check(parquet, require=[t], roles_from_file=True).unmet == ()
    if flat_release.privacy().t_equal:
        assert anon.check(parquet, require=[tight], roles_from_file=True).unmet == (str(tight),)


@pytest.mark.parametrize(
    "tree",
    [
        {"labels": ["any", "flu", "flu"], "parent": [-1, 0, 0]},
        {"labels": ["any", "flu"], "parent": [-1]},
        {"labels": ["any", "flu"], "parent": [0, -1]},
        {"labels": ["any", "flu"], "parent": [-1, 1]},
        {"labels": ["any", "flu"], "parent": [-1, -1]},
        {"labels": ["any", "flu"], "parent": [-1, 0.0]},
        {"labels": ["any", 5], "parent": [-1, 0]},
        {"labels": [], "parent": []},
        {"labels": 5, "parent": 5},
        *({"tree": {"any": ["flu"]}}, "hierarchy.csv", [], 5),
        {"labels": ["any", "flu"], "parent": [-1, 0]},  # labels are missing
    ],
)
def test_forged_hierarchies_are_one_error(tmp_path: Path, tree: Any) -> None:
    release = anon.anonymize(ill(), with_tree(), require=[anon.KAnonymity(2)])
    path = forged(release.table, tmp_path / "r.parquet", hierarchies={"ill": tree})
    with pytest.raises(DataError, match=r"column 'ill'.* in the file's metadata.* yourself") as caught:
        anon.check(path)
    assert caught.value.column == "ill"
    assert anon.check(path, with_tree()).k == release.privacy().k


def test_ordinal_attributes_keep_their_order_in_the_file(tmp_path: Path) -> None:
    table = pa.table(
        {"q": [1, 1, 1, 2, 2, 2, None], "s": ["low", "middle", "high", "low", "middle", "high", "UNSEEN"]}
    )
    schema = anon.Schema(["q"], [anon.ordinal("s", ["UNUSED", "low", "middle", "UNSEEN", "high"])])
    t = anon.TCloseness(0.2, "ordered")
    release = anon.anonymize(table, schema, require=[t], missing="suppress")
    assert release.metadata["orders"] == {"s": ["low", "middle", "high"]}
    for suffix in ("parquet", "feather"):
        path = tmp_path / f"r.{suffix}"
        release.write(path)
        measured = anon.check(path, require=[t], roles_from_file=True)
        assert (measured.unmet, measured.t_ordered) == ((), release.privacy().t_ordered)
        assert b"UNSEEN" not in path.read_bytes()
    for order in (["low"], ["low", "low"], "low", []):
        path = forged(release.table, tmp_path / "forged.parquet", orders={"s": order})
        with pytest.raises(DataError, match="column 's'"):
            anon.check(path)


def test_labels_that_are_numbers_stay_labels(tmp_path: Path) -> None:
    tree = {"any": {"few": [1, 2], "many": [10, 20]}}
    table = pa.table({"q": list(range(8)), "s": [1, 2, 10, 20] * 2})
    t = anon.TCloseness(0.3, "hierarchical")
    release = anon.anonymize(table, anon.Schema(["q"], [anon.nominal("s", tree)]), require=[t])
    release.write(tmp_path / "r.parquet")
    measured = anon.check(tmp_path / "r.parquet", require=[t], roles_from_file=True)
    assert (measured.unmet, measured.t_ordered) == ((), None)
    assert measured.t_hierarchical == release.privacy().t_hierarchical


def test_the_half_of_a_bucketization_holds_no_sensitive_attribute(tmp_path: Path) -> None:
    release = bucketized([1, 2, 3, 1, 2, 3])
    release.write(tmp_path / "b.parquet")
    told = anon.release.metadata.read_metadata(tmp_path / "b.parquet")
    open_ = release.table.append_column("s", pa.array([1, 2, 3, 1, 2, 3]))
    path = forged(open_.replace_schema_metadata({"anon": json.dumps(told)}), tmp_path / "b.parquet")
    for schema in (None, anon.Schema(["age"], ["s"])):
        with pytest.raises(DataError, match="column 's' is sensitive and stands in"):
            anon.check(path, schema)


@pytest.mark.parametrize("engine", ["local", "stream"])
def test_labels_of_a_csv_are_what_is_written(tmp_path: Path, engine: Any) -> None:
    path = tmp_path / "x.csv"
    path.write_text("q,s\n1,01\n1.0,1\n2,1.0\n2.0,2\n")
    source = anon.read_source(path, engine=engine)
    require = [anon.KAnonymity(2), anon.LDiversity(2, "distinct")]
    labels = anon.check(source, anon.Schema([anon.nominal("q")], [anon.nominal("s")]), require=require)
    assert (labels.k, labels.n_classes, labels.notes) == (1, 4, ())
    assert labels.unmet == tuple(map(str, require))
    ordered = anon.check(source, anon.Schema([anon.ordinal("q", ["1", "1.0", "2", "2.0"])], ["s"]))
    assert (ordered.k, ordered.notes) == (1, ())  # 01 keeps s a text
    merged = anon.check(source, anon.Schema(["q"], ["s"]), require=require)
    assert (merged.k, merged.n_classes, merged.unmet) == (2, 2, ())
    [note] = merged.notes
    assert note.startswith("column 'q': 2 of its 4 texts were read as")
    assert anon.check(source, anon.Schema([anon.numeric("q")])).notes == ()  # numbers, as was said


def test_words_and_dates_of_a_csv_that_were_merged_are_told(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("a,b,c\ntrue,2020-01-01,1\nTrue,2020-01-01 00:00:00,2\nfalse,2020-01-02,3\n")
    notes = anon.check(path, anon.Schema(["a", "b", "c"])).notes
    assert [note.split(":")[0] for note in notes] == ["column 'a'", "column 'b'"]


def test_rows_of_stars_meet_a_requirement_apart_or_as_a_class(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    values = ["a", "b", "a", "b", "a", "b", "c", "c"]
    pa.csv.write_csv(pa.table({"q": [*"xxyy", *"****"], "s": values}), path)
    schema, t = anon.Schema(["q"], ["s"]), anon.TCloseness(0.25, "equal")
    assert anon.check(path, schema, require=[t, anon.KAnonymity(2)]).unmet == ()
    assert anon.check(path, schema, require=[anon.KAnonymity(3)]).unmet == ("3-anonymity",)
    pa.csv.write_csv(pa.table({"q": [*"xxyy*"], "s": values[:5]}), path)
    assert anon.check(path, schema, require=[anon.KAnonymity(2)]).unmet == ()  # suppressed ones of others
    pa.csv.write_csv(pa.table({"q": [*"xxxx****"], "s": [*"abcdabab"]}), path)
    assert anon.check(path, schema, require=[anon.LDiversity(3, "distinct")]).unmet == ()


def test_a_column_of_nulls_only_is_one_value() -> None:
    table = pa.table({"age": pa.nulls(4, pa.int64()), "sex": [*"mmff"], "s": pa.nulls(4, pa.string())})
    require = [anon.KAnonymity(2), anon.LDiversity(2)]
    found = anon.check(table, anon.Schema(["age", "sex"], ["s"]), require=require)
    assert (found.k, found.n_classes, found.l_distinct, found.unmet) == (2, 2, 1, (str(require[1]),))
    assert found.null_matching is not None
    assert found.null_matching.k == 2


def test_a_csv_file_cannot_say_its_roles(tmp_path: Path) -> None:
    path = tmp_path / "release.csv"
    path.write_text("a,s\n1,x\n")
    with pytest.raises(UsageError, match=r"a CSV file cannot say its roles: name its quasi-identifiers"):
        anon.check(path, roles_from_file=True)


@pytest.mark.parametrize(
    "measure",
    [
        anon.check,
        anon.suda,
        lambda table, schema: anon.risk(table, schema, sampling_fraction=0.1),
        lambda table, schema: anon.compare(table, table, schema),
    ],
    ids=["check", "suda", "risk", "compare"],
)
def test_names_in_the_place_of_a_schema_are_told(measure: Callable[..., Any]) -> None:
    with pytest.raises(UsageError, match=r"schema must be an anon\.Schema, not list: write anon\.Schema"):
        measure(pa.table({"a": [1, 1]}), ["a"])
