# SPDX-License-Identifier: Apache-2.0
"""From classes to a published table: what it shows, in which order, under which names."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anon.classes.classes import Classes
from anon.classes.generalized import Cells
from anon.classes.reading import parse
from anon.encoding.domain import Domain, Encoded
from anon.errors import RecheckError, UsageError
from anon.methods import Suppress
from anon.release.recoding import recode
from anon.release.release import Release
from anon.requirements.anonymity import KAnonymity
from anon.requirements.similarity import SDiversityBound
from anon.schema.attribute import Attribute
from anon.schema.attribute import numeric as numeric_attribute
from anon.schema.hierarchy.declared import intervals
from anon.schema.hierarchy.tree import Tree
from anon.schema.schema import Schema
from anon.verbs.anonymize import anonymize
from anon.verbs.check import check

KINDS = {"age": "numeric", "sex": "nominal", "grade": "ordinal"}


def encode(
    table: pa.Table,
    quasi: Sequence[str],
    sensitive: Sequence[str] = (),
    kinds: Mapping[str, Any] = KINDS,
    trees: Mapping[str, Tree] | None = None,
    suppressed: Sequence[int] = (),
) -> Encoded:
    """A table encoded value by value; a tree's leaves must be in sorted order."""

    def column(name: str) -> tuple[Domain, Any]:
        values = table.column(name).to_pylist()
        known = sorted({value for value in values if value is not None})
        kind = kinds.get(name, "nominal")
        arrow_type = table.column(name).type
        array = pa.array(known, arrow_type.value_type if pa.types.is_dictionary(arrow_type) else arrow_type)
        line = {"numeric": lambda: np.array([float(v - known[0]) for v in known]), "nominal": lambda: None}
        positions = line.get(kind, lambda: np.arange(len(known), dtype=np.float64))()
        domain = Domain(name, kind, array, None in values, positions, tree=(trees or {}).get(name))
        codes = [len(known) if value is None else known.index(value) for value in values]
        return domain, np.array(codes, dtype=np.uint8)

    quasi_columns = [column(name) for name in quasi]
    sensitive_columns = [column(name) for name in sensitive]
    attributes = [
        Attribute(d.name, d.kind, order=d.values.to_pylist() if d.kind == "ordinal" else None)
        for d, _ in sensitive_columns
    ]
    return Encoded(
        table,
        Schema(list(quasi), attributes),
        tuple(domain for domain, _ in quasi_columns),
        tuple(codes for _, codes in quasi_columns),
        tuple(domain for domain, _ in sensitive_columns),
        tuple(codes for _, codes in sensitive_columns),
        np.array(suppressed, dtype=np.uint32),
    )


def classes_of(groups: Sequence[Sequence[int]], suppressed: Sequence[int] = ()) -> Classes:
    rows = np.array([row for group in groups for row in group], dtype=np.uint32)
    offsets = np.cumsum([0, *map(len, groups)]).astype(np.int64)
    return Classes(rows, offsets, np.array(suppressed, dtype=np.uint32))


def cells_of(encoded: Encoded, classes: Classes) -> list[Cells]:
    """Bounding cells, class by class, made distinct and sorted as the contract says."""
    result = []
    for domain, codes in zip(encoded.quasi, encoded.quasi_codes, strict=True):
        found = []
        for first, last in zip(classes.offsets[:-1], classes.offsets[1:], strict=True):
            inside = set(codes[classes.rows[first:last]].tolist())
            null = domain.has_null and domain.n_values in inside
            present = sorted(inside - ({domain.n_values} if domain.has_null else set()))
            low, high = (present[0], present[-1]) if present else (1, 0)
            if domain.tree is not None and present:
                node = domain.tree.leaf[low]
                while domain.tree.last[node] < high:
                    node = domain.tree.parent[node]
                low, high = int(domain.tree.first[node]), int(domain.tree.last[node])
            found.append((low, high, tuple(present) if domain.kind == "nominal" else (), null))
        distinct = sorted(set(found))
        flat = domain.kind == "nominal" and domain.tree is None
        result.append(
            Cells(
                domain,
                np.array([distinct.index(cell) for cell in found], dtype=np.uint32),
                np.array([cell[0] for cell in distinct], dtype=np.uint32),
                np.array([cell[1] for cell in distinct], dtype=np.uint32),
                np.array([cell[3] for cell in distinct], dtype=np.bool_),
                np.cumsum([0, *(len(cell[2]) for cell in distinct)]) if flat else None,
                np.array([c for cell in distinct for c in cell[2]], dtype=np.uint32) if flat else None,
            )
        )
    return result


def release_of(
    encoded: Encoded,
    groups: Sequence[Sequence[int]],
    requirements: Sequence[Any] = (),
    suppressed: Sequence[int] = (),
    **how: Any,
) -> Release:
    classes = classes_of(groups, suppressed)
    return recode(encoded, classes, cells_of(encoded, classes), requirements, **how)


@pytest.fixture
def people() -> pa.Table:
    return pa.table(
        {
            "id": [10, 11, 12, 13, 14, 15],
            "age": [30, 40, 31, 42, None, 90],
            "sex": ["M", "F", "M", "M", "F", "F"],
            "illness": ["flu", "flu", "cold", None, "cold", "flu"],
        }
    )


def rows(table: pa.Table) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row.values()) for row in table.to_pylist())


@pytest.mark.polars
def test_a_release_is_a_frame_of_polars(people: pa.Table) -> None:
    assert (
        release_of(encode(people, ["age", "sex"], ["illness"]), [[0, 2], [1, 3], [4, 5]]).to_polars().height
        == 6
    )


def test_what_is_published(people: pa.Table) -> None:
    encoded = encode(people, ["age", "sex"], ["illness"])
    release = release_of(encoded, [[0, 2], [1, 3], [4, 5]])
    assert release.table.column_names == people.column_names
    assert rows(release.table) == Counter(
        [
            (10, "[30, 31]", "M", "flu"),
            (12, "[30, 31]", "M", "cold"),
            (11, "[40, 42]", "*", "flu"),
            (13, "[40, 42]", "*", None),
            (14, "90 or missing", "F", "cold"),
            (15, "90 or missing", "F", "flu"),
        ]
    )
    assert release.table.schema.field("id").type == pa.int64()
    assert release.table.schema.field("illness").type == pa.string()
    assert release.table is release.table
    assert len(release.to_pandas()) == 6
    assert repr(release) == (
        "Release(rows=6, classes=3, suppressed=0, publish='generalization', method=None)"
    )


def test_suppressed_rows_and_their_values_are_gone(people: pa.Table) -> None:
    table = people.set_column(
        3, "illness", pa.array(["flu", "flu", "cold", None, "cold", "RARE"]).dictionary_encode()
    )
    release = release_of(encode(table, ["age"]), [[0, 2], [1, 3]], suppressed=[4, 5])
    assert release.table.num_rows == 4
    assert release.table.column("illness").combine_chunks().dictionary.to_pylist() == ["cold", "flu"]
    assert "*" not in release.table.column("age").to_pylist()


def test_an_order_of_categories_is_kept() -> None:
    grades = pa.DictionaryArray.from_arrays([2, 0, 0, 2], ["low", "middle", "high"], ordered=True)
    table = pa.table({"age": [1, 1, 2, 2], "grade": grades})
    published = release_of(encode(table, ["age"]), [[0, 1], [2, 3]]).table.column("grade").combine_chunks()
    assert published.dictionary.to_pylist() == ["low", "high"]
    assert published.type.ordered


def test_classes_that_look_alike_are_one() -> None:
    encoded = encode(pa.table({"sex": ["M", "F", "M", "F"], "s": ["a"] * 4}), ["sex"], ["s"])
    release = release_of(encoded, [[0, 1], [2, 3]])
    assert release.classes.n_classes == 1
    assert release_of(encoded, [[0, 1], [2, 3]], publish="bucketization").classes.n_classes == 2


def test_row_order_does_not_follow_the_input() -> None:
    n = 4000
    encoded = encode(pa.table({"age": [row // 2000 for row in range(n)], "id": list(range(n))}), ["age"])
    groups = [list(range(2000)), list(range(2000, n))]
    first, second = (release_of(encoded, groups, seed=0).table.column("id").to_pylist() for _ in range(2))
    assert first != second, "the order must not come from the seed"
    for published in (first, second):
        ahead = np.corrcoef(published[:2000], np.arange(2000))[0, 1]
        assert abs(ahead) < 0.15
        assert sorted(published[:2000]) == list(range(2000))
    kept = release_of(encoded, groups[::-1], order="input")
    assert kept.table.column("id").to_pylist() == list(range(n))
    assert kept.table.column("age").to_pylist() == ["0"] * 2000 + ["1"] * 2000


@pytest.mark.parametrize("size", [1, 2, 70_000])
def test_every_row_once_whatever_the_class_size(size: int) -> None:
    n = 140_000
    encoded = encode(pa.table({"age": [0, 1], "id": [0, 1]}), ["age"])
    labels = np.arange(n) // size % 2
    table = pa.table({"age": labels, "id": np.arange(n)})
    encoded = Encoded(
        table, encoded.schema, encoded.quasi, (labels.astype(np.uint8),), (), (), encoded.suppressed
    )
    order = np.argsort(labels, kind="stable").astype(np.uint32)
    classes = Classes(order, np.array([0, int((labels == 0).sum()), n]), encoded.suppressed)
    release = recode(encoded, classes, cells_of(encoded, classes))
    assert sorted(release.table.column("id").to_pylist()) == list(range(n))
    assert release.table.column("age").to_pylist() == [str(age) for age in sorted(labels.tolist())]


def test_class_order_does_not_follow_the_method() -> None:
    encoded = encode(pa.table({"age": [3, 1, 2, 3, 1, 2]}), ["age"])
    for groups in ([[0, 3], [1, 4], [2, 5]], [[2, 5], [0, 3], [1, 4]]):
        assert release_of(encoded, groups).table.column("age").to_pylist() == ["1", "1", "2", "2", "3", "3"]


def test_numbers_as_numbers(people: pa.Table) -> None:
    encoded = encode(people, ["age", "sex"])
    groups = [[0, 2], [1, 3], [4], [5]]
    bounds = release_of(encoded, groups, numeric="bounds").table
    assert bounds.column_names == ["id", "age_min", "age_max", "age_missing", "sex", "illness"]
    assert bounds.schema.field("age_min").type == pa.int64()
    shown = set(
        zip(*(bounds.column(f"age_{end}").to_pylist() for end in ("min", "max", "missing")), strict=True)
    )
    assert shown == {(30, 31, False), (40, 42, False), (None, None, True), (90, 90, False)}
    for numeric in ("midpoint", "mean"):
        table = release_of(encoded, groups, numeric=numeric).table
        assert set(table.column("age").to_pylist()) == {30.5, 41.0, None, 90.0}


def test_names_that_clash(people: pa.Table) -> None:
    clashing = people.append_column("age_max", pa.array(range(6)))
    with pytest.raises(UsageError, match="column 'age_max', which would also be made from 'age'"):
        release_of(encode(clashing, ["age"]), [[0, 1, 2, 3, 4, 5]], numeric="bounds")
    bucketed = people.append_column("class_id", pa.array(range(6)))
    with pytest.raises(UsageError, match="'class_id'"):
        release_of(encode(bucketed, ["age"], ["illness"]), [[0, 1, 2, 3, 4, 5]], publish="bucketization")


def test_levels_must_exist(people: pa.Table) -> None:
    with pytest.raises(UsageError, match="'age' has no levels"):
        release_of(encode(people, ["age"]), [[0, 1, 2, 3, 4, 5]], numeric="level")


def test_bucketization(people: pa.Table) -> None:
    encoded = encode(people, ["age", "sex"], ["illness"])
    release = release_of(encoded, [[0, 2], [1, 3, 4, 5]], publish="bucketization")
    table, sensitive = release.table, release.sensitive_table
    assert table.column_names == ["id", "age", "sex", "class_id"]
    assert sensitive.column_names == ["attribute", "class_id", "value", "count"]
    bucket = dict(zip(table.column("id").to_pylist(), table.column("class_id").to_pylist(), strict=True))
    assert bucket[10] == bucket[12] != bucket[11] == bucket[13] == bucket[14] == bucket[15]
    assert rows(sensitive) == Counter(
        [
            ("illness", bucket[10], "cold", 1),
            ("illness", bucket[10], "flu", 1),
            ("illness", bucket[11], "cold", 1),
            ("illness", bucket[11], "flu", 2),
            ("illness", bucket[11], None, 1),
        ]
    )
    assert sensitive.column("class_id").to_pylist() == sorted(sensitive.column("class_id").to_pylist())
    assert {row["id"]: (row["age"], row["sex"]) for row in table.to_pylist()} == {
        row["id"]: (row["age"], row["sex"]) for row in people.to_pylist()
    }
    with pytest.raises(UsageError, match="only a bucketization"):
        _ = release_of(encoded, [[0, 1, 2, 3, 4, 5]]).sensitive_table


def test_a_sensitive_attribute_left_out(people: pa.Table) -> None:
    release = release_of(encode(people, ["age"], ["illness"]), [[0, 1, 2, 3, 4, 5]], dropped=["illness"])
    assert release.table.column_names == ["id", "age", "sex"]
    assert "illness" not in str(release.metadata)


def test_a_bucketization_needs_a_sensitive_attribute(people: pa.Table) -> None:
    with pytest.raises(UsageError, match="needs a sensitive attribute"):
        release_of(encode(people, ["age"]), [[0, 1, 2, 3, 4, 5]], publish="bucketization")


def test_bucket_numbers_are_drawn() -> None:
    encoded = encode(pa.table({"age": list(range(64)), "s": ["a"] * 64}), ["age"], ["s"])
    release = release_of(encoded, [[row] for row in range(64)], publish="bucketization")
    assert release.table.column("age").to_pylist() != list(range(64))
    assert release.table.column("class_id").to_pylist() == list(range(64))


def test_every_row_suppressed(people: pa.Table) -> None:
    release = release_of(encode(people, ["age", "sex"]), [], suppressed=range(6))
    assert release.table.num_rows == 0
    assert release.table.column_names == people.column_names


def test_chunks_and_types_are_kept() -> None:
    table = pa.table(
        {
            "age": pa.chunked_array([[1, 1], [2, 2]]),
            "large": pa.chunked_array([["a", "b"], ["c", None]], pa.large_string()),
            "list": pa.chunked_array([[[1], []], [None, [2, 3]]]),
            "words": pa.chunked_array(
                [pa.array(["x", "y"]).dictionary_encode(), pa.array(["z", "x"]).dictionary_encode()]
            ),
        }
    )
    published = release_of(encode(table, ["age"]), [[0, 1], [2, 3]]).table
    assert [published.schema.field(name).type for name in ("large", "list", "words")] == [
        table.schema.field(name).type for name in ("large", "list", "words")
    ]
    wanted = Counter(
        (str(row["age"]), row["large"], str(row["list"]), row["words"]) for row in table.to_pylist()
    )
    assert wanted == Counter(
        (r["age"], r["large"], str(r["list"]), r["words"]) for r in published.to_pylist()
    )


def test_a_wrong_cell_is_never_released(people: pa.Table) -> None:
    encoded = encode(people, ["age"])
    classes = classes_of([[0, 2], [1, 3], [4, 5]])
    cells = cells_of(encoded, classes_of([[0, 2], [1, 5], [4, 3]]))
    with pytest.raises(RecheckError, match="'age'"):
        recode(encoded, classes, cells)


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_a_release_holds_the_rows_of_its_table(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 12))
    ages = data.draw(st.lists(st.none() | st.integers(-3, 3), min_size=n, max_size=n).filter(any_value))
    words = data.draw(
        st.lists(st.none() | st.sampled_from(["a", "b, c", "*", "missing"]), min_size=n, max_size=n)
    )
    words = words if any_value(words) else ["a"] * n
    table = pa.table(
        {"age": pa.array(ages, pa.int64()), "word": pa.array(words, pa.string()), "id": list(range(n))}
    )
    encoded = encode(table, ["age", "word"])
    label = data.draw(st.lists(st.integers(-1, 3), min_size=n, max_size=n))
    groups = [[row for row in range(n) if label[row] == group] for group in range(4)]
    left_out = [row for row in range(n) if label[row] == -1]
    release = release_of(encoded, [group for group in groups if group], suppressed=left_out)
    published = {row["id"]: row for row in release.table.to_pylist()}
    assert sorted([*published, *left_out]) == list(range(n))
    for row, shown in published.items():
        for domain, codes in zip(encoded.quasi, encoded.quasi_codes, strict=True):
            cell = parse(shown[domain.name], domain)
            inside = range(cell.low, cell.high + 1) if cell.codes is None else cell.codes
            assert codes[row] in inside or (cell.null and codes[row] == domain.n_values)


def any_value(values: list[Any]) -> bool:
    return any(value is not None for value in values)


@pytest.mark.parametrize("how", ["midpoint", "mean"])
def test_numbers_that_are_alike_are_one_class(how: Any) -> None:
    """Different cells with one published number are one class, in the measures too."""
    table = {"x": [2**53] * 2 + [2**53 + 1] * 2}
    release = anonymize(table, Schema(["x"]), require=[KAnonymity(2)], numeric=how)
    assert release.table.column("x").to_pylist() == [float(2**53)] * 4
    assert release.classes.n_classes == 1
    assert release.privacy().k == check(release.table).k == 4
    assert (release.cells[0].low.tolist(), release.cells[0].high.tolist()) == ([0], [1])
    assert release.utility().dm == 16


def test_alike_in_one_column_is_not_alike() -> None:
    encoded = encode(pa.table({"age": [1, 5, 2, 4, 3, 3], "sex": list("MMMMFF")}), ["age", "sex"])
    release = release_of(encoded, [[0, 1], [2, 3], [4, 5]], numeric="midpoint")
    assert (
        sorted(zip(*release.table.to_pydict().values(), strict=True)) == [(3.0, "F")] * 2 + [(3.0, "M")] * 4
    )
    assert release.classes.sizes.tolist() in ([2, 4], [4, 2])


@pytest.mark.parametrize("how", ["interval", "bounds", "midpoint", "mean", "level"])
def test_null_is_not_shown_where_only_suppressed_rows_have_it(how: Any) -> None:
    table = {"x": [1, 2, None, 9], "y": ["a", "b", "c", "d"]}
    schema = Schema([numeric_attribute("x", intervals(2)), "y"])
    release = anonymize(table, schema, method=Suppress("quasi"), missing="suppress", numeric=how)
    shown = {
        "interval": {"x": ["*"] * 3},
        "level": {"x": ["*"] * 3},
        "bounds": {"x_min": [1] * 3, "x_max": [9] * 3, "x_missing": [False] * 3},
        "midpoint": {"x": [5.0] * 3, "x_missing": [False] * 3},
        "mean": {"x": [4.0] * 3, "x_missing": [False] * 3},
    }
    assert release.table.to_pydict() == shown[how] | {"y": ["*"] * 3}


@pytest.mark.filterwarnings("ignore:every row")
def test_a_release_without_rows() -> None:
    table = {"x": [None, 2], "s": [1, None]}
    for require in ([KAnonymity(1)], [SDiversityBound(1, 1)]):
        release = anonymize(
            table, Schema(["x"], ["s"]), require=require, missing="suppress", on_infeasible="trivial"
        )
        assert (release.n_rows, release.classes.n_classes, release.table.num_rows) == (0, 0, 0)


def test_a_table_says_what_it_is(people: pa.Table) -> None:
    """`check` measures the table in memory as it does a file."""
    release = release_of(encode(people, ["age", "sex"], ["illness"]), [[0, 1, 2, 3, 4, 5]])
    assert set(release.table.column("sex").to_pylist()) == {"*"}
    assert json.loads(release.table.schema.metadata[b"anon"]) == release.metadata
    assert check(release.table).k == 6


def test_worst_cells_are_text() -> None:
    days = pa.array([18_262, 18_262, 20_000, 20_000], pa.int32()).view(pa.date32())
    table = pa.table({"day": days, "n": [1, 1, None, None]})
    release = anonymize(table, Schema(["day", "n"]), require=[KAnonymity(2)], numeric="bounds")
    assert release.privacy().worst_cells["k"] == {
        "day_min": "2020-01-01",
        "day_max": "2020-01-01",
        "n_min": "1",
        "n_max": "1",
        "n_missing": "false",
    }


def test_numeric_is_one_of_the_renderings(people: pa.Table) -> None:
    for wrong in ("x", None, ["mean"]):
        with pytest.raises(UsageError, match="numeric must be one of interval, bounds"):
            release_of(encode(people, ["age"]), [[0, 1, 2, 3, 4, 5]], numeric=wrong)


NEUTRAL = {
    "bytes": pa.array([b"a", None, b"a", b"b"], pa.binary_view()),
    "runs": pa.RunEndEncodedArray.from_arrays(pa.array([3, 4], pa.int32()), pa.array(["x", "y"])),
    "lists": pa.DictionaryArray.from_arrays(pa.array([1, 0, None, 1]), pa.array([[1], [2]])),
    "halves": pa.DictionaryArray.from_arrays(
        pa.array([1, 0, None, 1]), pa.array(np.array([1, 2], np.float16))
    ),
}


@pytest.mark.parametrize("name", NEUTRAL)
def test_neutral_columns_of_rare_types(name: str, tmp_path: Path) -> None:
    table = pa.table({"age": [1, 1, 2, 2], "kept": NEUTRAL[name]})
    release = release_of(encode(table, ["age"]), [[2, 3], [0, 1]], order="input")
    assert release.table.column("kept").to_pylist() == NEUTRAL[name].to_pylist()
    release.write(tmp_path / "out.parquet")
    assert pq.read_table(tmp_path / "out.parquet").column("kept").to_pylist() == NEUTRAL[name].to_pylist()
