# SPDX-License-Identifier: Apache-2.0
"""Columns that are published as they are: their values, and nothing that the input's layout held beside."""

from __future__ import annotations

import base64
import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_release import encode, release_of

import anon
import anon.release.release
from anon.errors import DataError
from anon.tables.columns import MOST_LEVELS, published_type, takeable

MARK = b"Xq7v"  # in all that is not to be published
WORDS = ["ant", "SuppressedXq7v", "bee", "UnderNullXq7v", "cow", "dog"]  # row 1 is suppressed, row 3 null
NULL = [False, False, False, True, False, False]
PUBLISHED = ["ant", "bee", None, "cow", "dog"]  # row by row, as `release` orders them


def is_view(kind: pa.DataType) -> bool:
    """Lists as places in a buffer, in any order."""
    return bool(pa.types.is_list_view(kind) or pa.types.is_large_list_view(kind))


def masked(array: pa.Array) -> pa.Array:
    """The array with row 3 null, its buffers as they were: what is under the null is still there."""
    bits = pa.py_buffer(np.packbits(~np.array(NULL), bitorder="little"))
    layout = array.type
    children = []
    buffers = array.buffers()
    if pa.types.is_struct(layout):
        children, buffers = [array.field(i) for i in range(layout.num_fields)], [None]
    elif pa.types.is_fixed_size_list(layout):
        children, buffers = [array.values], [None]
    elif pa.types.is_nested(layout):
        children, buffers = [array.values], buffers[: 2 + is_view(layout)]
    elif pa.types.is_dictionary(layout):
        indices = pa.Array.from_buffers(layout.index_type, len(array), [bits, *array.indices.buffers()[1:]])
        return pa.DictionaryArray.from_arrays(indices, array.dictionary)
    return pa.Array.from_buffers(layout, len(array), [bits, *buffers[1:]], children=children)


class Labelled(pa.ExtensionType):
    """An extension type that tells something of the input."""

    def __init__(self, storage: pa.DataType) -> None:
        super().__init__(storage, "anon.test")

    def __arrow_ext_serialize__(self) -> bytes:
        return b"ExtensionXq7v"

    @classmethod
    def __arrow_ext_deserialize__(cls, storage: pa.DataType, serialized: bytes) -> Labelled:
        return cls(storage)


@pytest.fixture(autouse=True, scope="module")
def _registered() -> Iterator[None]:
    pa.register_extension_type(Labelled(pa.string()))
    yield
    pa.unregister_extension_type("anon.test")


def field(name: str, kind: pa.DataType) -> pa.Field:
    return pa.field(name, kind, metadata={"note": "MetadataXq7v"})


TEXT = pa.array(WORDS)
FLAT = masked(TEXT)
WITH_UNUSED = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 3, 4, 5], pa.int8()), [*WORDS, "UnusedXq7v"])
RUNS = pa.RunEndEncodedArray.from_arrays(pa.array(range(1, 7), pa.int32()), FLAT)


def in_struct(child: pa.Array) -> pa.Array:
    return pa.StructArray.from_arrays([child], fields=[field("a", child.type)])


def in_list(child: pa.Array, kind: Any = pa.list_) -> pa.Array:
    """One value in each list; lists of 32 and 64 bits, views of them, and fixed ones."""
    item = field("item", child.type)
    if kind is None:
        return pa.Array.from_buffers(pa.list_(item, 1), 6, [None], children=[child])
    made = kind(item)
    width = np.int64 if str(made).startswith("large") else np.int32
    buffers = [None, pa.py_buffer(np.arange(7, dtype=width))]
    if is_view(made):
        buffers = [None, pa.py_buffer(np.arange(6, dtype=width)), pa.py_buffer(np.ones(6, width))]
    return pa.Array.from_buffers(made, 6, buffers, children=[child])


def in_map(key: pa.Array, item: pa.Array) -> pa.Array:
    kind = pa.map_(field("key", key.type).with_nullable(False), field("value", item.type))
    entries = pa.StructArray.from_arrays([key, item], fields=[kind.key_field, kind.item_field])
    return pa.Array.from_buffers(
        kind, 6, [None, pa.py_buffer(np.arange(7, dtype=np.int32))], children=[entries]
    )


def labelled(storage: pa.Array) -> pa.Array:
    return pa.ExtensionArray.from_storage(Labelled(storage.type), storage)


def lists(values: list[Any]) -> list[Any]:
    return [None if value is None else [value] for value in values]


def structs(values: list[Any]) -> list[Any]:
    return [None if value is None else {"a": value} for value in values]


ONE_KEY = [None if value is None else [("k", value)] for value in PUBLISHED]
LARGE = pa.large_string()
COLUMNS: dict[str, tuple[pa.Array, list[Any], pa.DataType]] = {
    "text": (FLAT, PUBLISHED, pa.string()),
    "bytes of a size": (
        masked(pa.array([word.encode().ljust(16) for word in WORDS], pa.binary(16))),
        [None if value is None else value.encode().ljust(16) for value in PUBLISHED],
        pa.binary(16),
    ),
    "text view": (FLAT.cast(pa.string_view()), PUBLISHED, LARGE),
    "runs": (RUNS, PUBLISHED, pa.string()),
    "dictionary": (masked(WITH_UNUSED), PUBLISHED, pa.dictionary(pa.int8(), pa.string())),
    "dictionary of views": (
        masked(
            pa.DictionaryArray.from_arrays(WITH_UNUSED.indices, WITH_UNUSED.dictionary.cast(pa.string_view()))
        ),
        PUBLISHED,
        LARGE,
    ),
    "dictionary of structs": (
        masked(
            pa.DictionaryArray.from_arrays(
                WITH_UNUSED.indices, pa.StructArray.from_arrays([WITH_UNUSED.dictionary], ["a"])
            )
        ),
        structs(PUBLISHED),
        pa.struct({"a": pa.string()}),
    ),
    "extension": (labelled(FLAT), PUBLISHED, pa.string()),
    "struct": (masked(in_struct(TEXT)), structs(PUBLISHED), pa.struct({"a": pa.string()})),
    "struct of null": (
        in_struct(FLAT),
        [{"a": value} for value in PUBLISHED],
        pa.struct({"a": pa.string()}),
    ),
    "struct of dictionary": (masked(in_struct(WITH_UNUSED)), structs(PUBLISHED), pa.struct({"a": LARGE})),
    "struct of runs": (masked(in_struct(RUNS)), structs(PUBLISHED), pa.struct({"a": LARGE})),
    "struct of view": (
        masked(in_struct(TEXT.cast(pa.string_view()))),
        structs(PUBLISHED),
        pa.struct({"a": LARGE}),
    ),
    "struct of extension": (
        masked(in_struct(labelled(TEXT))),
        structs(PUBLISHED),
        pa.struct({"a": pa.string()}),
    ),
    "struct of struct": (
        in_struct(masked(in_struct(TEXT))),
        [{"a": value} for value in structs(PUBLISHED)],
        pa.struct({"a": pa.struct({"a": pa.string()})}),
    ),
    "list": (masked(in_list(TEXT)), lists(PUBLISHED), pa.list_(pa.string())),
    "list of null": (in_list(FLAT), [[value] for value in PUBLISHED], pa.list_(pa.string())),
    "list of dictionary": (masked(in_list(WITH_UNUSED)), lists(PUBLISHED), pa.list_(LARGE)),
    "list of struct": (
        in_list(masked(in_struct(TEXT))),
        [[value] for value in structs(PUBLISHED)],
        pa.list_(pa.struct({"a": pa.string()})),
    ),
    "large list": (masked(in_list(TEXT, pa.large_list)), lists(PUBLISHED), pa.large_list(pa.string())),
    "list of a size": (masked(in_list(WITH_UNUSED, None)), lists(PUBLISHED), pa.list_(LARGE, 1)),
    "list view": (masked(in_list(TEXT, pa.list_view)), lists(PUBLISHED), pa.large_list(pa.string())),
    "large list view": (
        masked(in_list(WITH_UNUSED, pa.large_list_view)),
        lists(PUBLISHED),
        pa.large_list(LARGE),
    ),
    "list of list view": (
        in_list(masked(in_list(TEXT, pa.list_view))),
        [[value] for value in lists(PUBLISHED)],
        pa.list_(pa.large_list(pa.string())),
    ),
    "map": (
        masked(in_map(pa.array(["k"] * 6), WITH_UNUSED)),
        ONE_KEY,
        pa.map_(pa.string(), LARGE),
    ),
    "map of struct": (
        in_map(pa.array(["k"] * 6), masked(in_struct(TEXT))),
        [[("k", value)] for value in structs(PUBLISHED)],
        pa.map_(pa.string(), pa.struct({"a": pa.string()})),
    ),
}


@functools.cache
def released(name: str) -> anon.release.release.Release:
    table = pa.Table.from_arrays(
        [pa.array([1, 1, 2, 1, 2, 2]), COLUMNS[name][0]],
        schema=pa.schema([field("age", pa.int64()), field("kept", COLUMNS[name][0].type)]),
    )
    encoded = encode(table, ["age"])
    return release_of(encoded, [[0, 3], [2, 4, 5]], suppressed=[1], order="input", file_schema=table.schema)


def buffers_of(array: pa.Array) -> bytes:
    """All bytes that an array holds on to, those of its dictionaries too."""
    array = array.storage if isinstance(array, pa.ExtensionArray) else array
    own = b"".join(buffer.to_pybytes() for buffer in array.buffers() if buffer is not None)
    if pa.types.is_dictionary(array.type):
        return own + buffers_of(array.dictionary)
    return own + b"".join(buffers_of(child) for child in children_of(array))


def children_of(array: pa.Array) -> list[pa.Array]:
    if pa.types.is_struct(array.type):
        return [array.field(i) for i in range(array.type.num_fields)]
    return (
        [array.values] if pa.types.is_nested(array.type) or isinstance(array, pa.RunEndEncodedArray) else []
    )


def assert_only_values(array: pa.Array, inside: bool = False) -> None:
    """A layout that is a function of the values: no place in a buffer, no order, no metadata is told."""
    kind = array.type
    assert array.offset == 0
    assert not isinstance(array, pa.ExtensionArray | pa.RunEndEncodedArray)
    assert "view" not in str(kind)
    if pa.types.is_dictionary(kind):
        assert not inside
        words = array.dictionary.to_pylist()
        assert words == sorted(set(array.drop_null().to_pylist()))
        return
    for each in [kind.field(i) for i in range(kind.num_fields)]:
        assert not each.metadata
    children = children_of(array)
    if pa.types.is_struct(kind):
        for child in children:
            assert len(child) == len(array)
            assert not pc.any(pc.and_(array.is_null(), child.is_valid())).as_py(), "a value under a null"
    elif pa.types.is_fixed_size_list(kind):
        assert len(array.values) == len(array) * kind.list_size
        assert array.values.drop_null().to_pylist() == array.drop_null().flatten().drop_null().to_pylist()
    elif pa.types.is_nested(kind):
        lengths = [0 if value is None else len(value) for value in array.to_pylist()]
        assert array.offsets.to_pylist() == np.cumsum([0, *lengths]).tolist()
        assert len(array.values) == sum(lengths)
    for child in children:
        assert_only_values(child, inside=True)


@pytest.mark.parametrize("name", COLUMNS)
def test_a_table_in_memory_holds_the_published_values_only(name: str) -> None:
    column, values, kind = COLUMNS[name]
    assert (
        MARK
        in buffers_of(column)
        + str(column.type.__arrow_ext_serialize__() if name == "extension" else "").encode()
    )
    published = released(name).table.column("kept")
    assert published.to_pylist() == values
    assert published.type == kind
    published.validate(full=True)
    for chunk in published.chunks:
        assert_only_values(chunk)
        assert MARK not in buffers_of(chunk)
    assert MARK not in released(name).table.schema.serialize().to_pybytes()


@pytest.mark.parametrize("suffix", ["parquet", "feather"])
@pytest.mark.parametrize("name", COLUMNS)
def test_a_file_holds_the_published_values_only(
    name: str, suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, values, kind = COLUMNS[name]
    monkeypatch.setattr(pq, "ParquetWriter", functools.partial(pq.ParquetWriter, compression="none"))
    new_file = pa.ipc.new_file
    monkeypatch.setattr(pa.ipc, "new_file", lambda file, schema, options: new_file(file, schema))
    path = tmp_path / f"out.{suffix}"
    released(name).write(path)
    content = path.read_bytes()
    assert b"ant" in content, "a search that finds nothing anywhere would prove nothing"
    if suffix == "parquet":
        content += base64.b64decode(pq.read_metadata(path).metadata[b"ARROW:schema"])
        table = pq.read_table(path)
    else:
        with pa.ipc.open_file(path) as reader:
            table = reader.read_all()
        for chunk in table.column("kept").chunks:
            assert_only_values(chunk)
    assert MARK not in content
    assert table.column("kept").to_pylist() == values
    assert table.schema.field("kept").type == kind
    assert not table.schema.field("kept").metadata or suffix == "parquet"


@pytest.mark.filterwarnings("ignore::anon.PrivacyWarning")
@pytest.mark.parametrize("name", COLUMNS)
def test_a_streamed_table_is_as_clean(name: str, tmp_path: Path) -> None:
    """The same rows from a Feather file that is never whole in memory."""
    column, values, _ = COLUMNS[name]
    table = pa.table({"age": pa.array([1, 1, 2, 1, 2, 2]), "hidden": [0, None, 0, 0, 0, 0], "kept": column})
    with pa.ipc.new_file(tmp_path / "in.feather", table.schema) as writer:
        writer.write_table(table)
    release = anon.anonymize(
        anon.read_source(tmp_path / "in.feather", engine="stream"),
        anon.Schema(["age", "hidden"], neutral=["kept"]),
        require=[anon.KAnonymity(2)],
        missing="suppress",
        order="input",
    )
    release.write(tmp_path / "out.feather")
    with pa.ipc.open_file(tmp_path / "out.feather") as reader:
        published = reader.read_all().column("kept")
    assert published.to_pylist() == values
    for chunk in published.chunks:
        assert_only_values(chunk)
        assert MARK not in buffers_of(chunk) + str(chunk.type).encode()


@pytest.mark.filterwarnings("ignore::anon.PrivacyWarning")
@pytest.mark.parametrize(
    "column",
    [
        pa.UnionArray.from_sparse(pa.array([0, 1], pa.int8()), [pa.array(["a", "b"]), pa.array([1, 2])]),
        in_struct(
            pa.UnionArray.from_dense(
                pa.array([0, 1], pa.int8()), pa.array([0, 0], pa.int32()), [pa.array(["a"]), pa.array([1])]
            )
        ),
        functools.reduce(lambda inner, _: in_struct(inner), range(MOST_LEVELS + 1), TEXT[:2]),
    ],
    ids=["union", "union in a struct", "too deep"],
)
def test_what_cannot_be_rebuilt_is_refused_before_the_work(column: pa.Array) -> None:
    table = pa.table({"age": [1, 1], "kept": column})
    stages: list[str] = []
    schema = anon.Schema(["age"], neutral=["kept"])
    told = dict(require=[anon.KAnonymity(2)], progress=lambda stage, done, total: stages.append(stage))
    with pytest.raises(
        DataError, match=r"column 'kept' of type .* cannot be published.*identifying to drop it"
    ):
        anon.anonymize(table, schema, **told)
    assert "partition" not in stages
    assert anon.anonymize(table, anon.Schema(["age"], identifying=["kept"]), **told).n_rows == 2


# Any layout gives the values that it had

FLAT_TYPES = st.sampled_from(
    [
        *(pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.binary_view(), pa.binary(2)),
        *(pa.int8(), pa.int64(), pa.float64(), pa.bool_(), pa.date32(), pa.null(), pa.decimal128(9, 2)),
        *(pa.dictionary(pa.int8(), pa.string()), pa.dictionary(pa.uint32(), pa.int64())),
    ]
)


def _nested(inner: st.SearchStrategy[pa.DataType]) -> st.SearchStrategy[pa.DataType]:
    return st.one_of(
        inner.map(pa.list_),
        inner.map(pa.large_list),
        inner.map(pa.list_view),
        inner.map(pa.large_list_view),
        inner.map(lambda kind: pa.list_(kind, 2)),
        inner.map(lambda kind: pa.map_(pa.string(), kind)),
        st.lists(inner, min_size=1, max_size=2).map(
            lambda kinds: pa.struct(list(zip("ab", kinds, strict=False)))
        ),
    )


TYPES = st.recursive(FLAT_TYPES, _nested, max_leaves=4)


def value_of(kind: pa.DataType) -> st.SearchStrategy[Any]:
    types = pa.types
    if types.is_dictionary(kind):
        return value_of(kind.value_type)
    some: st.SearchStrategy[Any]
    if types.is_struct(kind):
        some = st.fixed_dictionaries({each.name: value_of(each.type) for each in kind})
    elif types.is_map(kind):
        some = st.dictionaries(st.sampled_from("xyz"), value_of(kind.item_type), max_size=2).map(
            lambda made: list(made.items())
        )
    elif types.is_fixed_size_list(kind):
        some = st.lists(value_of(kind.value_type), min_size=2, max_size=2)
    elif types.is_nested(kind):
        some = st.lists(value_of(kind.value_type), max_size=3)
    elif types.is_null(kind):
        return st.none()
    elif types.is_boolean(kind):
        some = st.booleans()
    elif types.is_date(kind):
        some = st.dates()
    elif types.is_decimal(kind):
        some = st.decimals(min_value=0, max_value=9, places=2)
    elif types.is_floating(kind):
        some = st.floats(allow_nan=False)
    elif types.is_integer(kind):
        some = st.integers(-9, 9)
    elif types.is_fixed_size_binary(kind):
        some = st.binary(min_size=2, max_size=2)
    elif "binary" in str(kind):
        some = st.binary(max_size=20)
    else:
        some = st.text("aé", max_size=20)
    return st.none() | some


@given(st.data())
def test_any_layout_keeps_its_values(data: st.DataObject) -> None:
    kind = data.draw(TYPES)
    rows = data.draw(st.lists(value_of(kind), max_size=8))
    whole = pa.array(rows, kind)
    first, last = sorted(data.draw(st.tuples(*[st.integers(0, len(rows))] * 2)))
    between = data.draw(st.integers(first, last))
    column = pa.chunked_array([whole[first:between], whole[between:last]], kind)
    clean = takeable(column, "x")
    clean.validate(full=True)
    assert clean.type == published_type(kind, "x")
    assert clean.to_pylist() == column.to_pylist()
    order = data.draw(st.permutations(range(len(column))))
    taken = clean.combine_chunks().take(pa.array(order, pa.uint32()))
    assert taken.to_pylist() == [column[i].as_py() for i in order]
    if not pa.types.is_dictionary(kind):
        assert_only_values(taken)
