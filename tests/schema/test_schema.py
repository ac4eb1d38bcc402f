# SPDX-License-Identifier: Apache-2.0
"""Roles, kinds and what is refused before any data are touched."""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa
import pytest

from anon.errors import DataError, UsageError
from anon.schema.attribute import Attribute, Role, nominal, numeric, ordinal
from anon.schema.columns import check_names, kind_of
from anon.schema.hierarchy.declared import dates, intervals, prefix
from anon.schema.schema import Schema

FULL = Schema(
    quasi=[
        numeric("age", hierarchy=intervals(5, 10, 0.5), weight=2.0),
        numeric("born", dates("month", "year")),
        numeric("hours", {"*": {"few": [1, 2], "many": [3]}}),
        nominal("zip", prefix(4, 3)),
        nominal("work", "work.csv"),
        nominal("it's", {"*": {"a": ["b", "c"]}}),
        ordinal("grade", ["low", "mid", "high"], weight=0.5),
        Attribute("wage", weight=3),
        "sex",
    ],
    sensitive=["job", ordinal("level", [3, 2, 1])],
    identifying=["name", nominal("ssn")],
)


def test_repr_evaluates_back() -> None:
    names = dict(
        Schema=Schema,
        Attribute=Attribute,
        numeric=numeric,
        ordinal=ordinal,
        nominal=nominal,
        intervals=intervals,
        prefix=prefix,
        dates=dates,
    )
    assert eval(repr(FULL), names) == FULL
    assert repr(Schema(["age"])) == "Schema(quasi=['age'])"
    assert repr(numeric("age", weight=2)) == "numeric('age', weight=2)"
    assert repr(nominal("zip", prefix(4))) == "nominal('zip', hierarchy=prefix(4))"


def test_dict_round_trip() -> None:
    data = FULL.to_dict()
    assert Schema.from_dict(data) == FULL
    assert data["quasi"][0] == {
        "name": "age",
        "kind": "numeric",
        "hierarchy": {"intervals": [5, 10, 0.5]},
        "weight": 2.0,
    }
    assert data["quasi"][-1] == "sex"
    assert data["identifying"] == ["name", "ssn"]


def test_a_schema_keeps_what_it_was_given() -> None:
    tree = {"*": {"a": ["b"]}}
    schema = Schema([nominal("q", tree)])
    tree["*"]["a"].append("c")
    assert schema.to_dict()["quasi"][0]["hierarchy"] == {"tree": {"*": {"a": ["b"]}}}


def test_roles() -> None:
    schema = Schema(["q"], ["s"], ["i"], ["n"])
    assert [schema.role(name) for name in "qsinx"] == [
        Role.QUASI,
        Role.SENSITIVE,
        Role.IDENTIFYING,
        Role.NEUTRAL,
        None,
    ]
    assert schema.published("xinsq") == ["n", "s", "q"]
    assert schema.unpublished("xinsqy") == ["x", "y"]


def test_the_rest_is_neutral_where_this_is_said() -> None:
    schema = Schema(["age"], identifying=["workclass"], neutral="rest")
    assert schema.role("workclass") is Role.IDENTIFYING
    assert schema.role("zip") is Role.NEUTRAL
    bound = schema.bind(COLUMNS)
    assert bound.neutral == ("tags", "raw")
    assert bound.unpublished(COLUMNS.names) == []
    for one in (schema, bound, Schema(["age"])):
        assert Schema.from_dict(one.to_dict()) == one
        assert eval(repr(one)) == one


@pytest.mark.parametrize(
    ("neutral", "message"),
    [
        (["age"], "'age' is named both as quasi-identifying and as neutral; name it once"),
        (["a", "a"], "'a' is named twice as neutral"),
        ("*", 'neutral must be a list of names, or "rest"'),
        (3, "neutral must be a list of names"),
        ([3], "neutral must hold names"),
    ],
)
def test_neutral_columns_that_cannot_be(neutral: Any, message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        Schema(["age"], neutral=neutral)


def test_neutral_columns_must_exist() -> None:
    with pytest.raises(DataError, match="no column 'tag'; did you mean 'tags'"):
        Schema(["age"], neutral=["tag"]).bind(COLUMNS)


@pytest.mark.parametrize(
    ("arrow", "kind"),
    [
        *(
            (t, "numeric")
            for t in (
                pa.int8(),
                pa.uint64(),
                pa.float16(),
                pa.float64(),
                pa.decimal128(5, 2),
                pa.date32(),
                pa.date64(),
            )
        ),
        *(
            (t, "numeric")
            for t in (
                pa.timestamp("ns", "UTC"),
                pa.time64("us"),
                pa.duration("s"),
                pa.dictionary(pa.int8(), pa.int64()),
            )
        ),
        *(
            (t, "nominal")
            for t in (
                pa.string(),
                pa.large_string(),
                pa.string_view(),
                pa.bool_(),
                pa.dictionary(pa.int8(), pa.string()),
            )
        ),
    ],
    ids=str,
)
def test_the_kind_of_a_bare_name_comes_from_its_type(arrow: pa.DataType, kind: str) -> None:
    assert kind_of("a", arrow) == kind
    bound = Schema(["a"]).bind(pa.schema([("a", arrow)]))
    assert bound.quasi[0].kind == kind


def test_bind_keeps_what_was_declared() -> None:
    bound = Schema([nominal("a", prefix(2), weight=2)], [ordinal("b", [1, 2])], ["c"]).bind(
        pa.schema([("c", pa.int64()), ("b", pa.int64()), ("a", pa.int64())])
    )
    assert bound == Schema([nominal("a", prefix(2), weight=2)], [ordinal("b", [1, 2])], ["c"])


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (lambda: Schema([]), "at least one quasi-identifier"),
        (lambda: Schema(["a", "a"]), "'a' is named twice as quasi-identifying"),
        (lambda: Schema(["a"], ["a"]), "'a' is named both as quasi-identifying and as sensitive"),
        (
            lambda: Schema(["a"], (), [numeric("a")]),
            "'a' is named both as quasi-identifying and as identifying",
        ),
        (lambda: Schema(["a"], ["s"], ["s"]), "'s' is named both as sensitive and as identifying"),
        (lambda: Schema("age"), "quasi must be a list"),
        (lambda: Schema(["a"], "s"), "sensitive must be a list"),
        (lambda: Schema(["a"], ["s"], "name"), "identifying must be a list"),
        (lambda: Schema([3]), "names or attributes, not int"),
        (lambda: Attribute(3), "must be a string"),
        (lambda: Attribute("a", "number"), "kind must be one of numeric, ordinal, nominal"),
        (lambda: numeric("a", weight=0), "above 0"),
        (lambda: numeric("a", weight=-1.0), "above 0"),
        (lambda: numeric("a", weight=float("inf")), "finite"),
        (lambda: numeric("a", weight=10**400), "finite"),
        (lambda: ordinal("a", None), "must be a list"),
        (lambda: numeric("a", weight=float("nan")), "finite"),
        (lambda: numeric("a", weight=True), "finite"),
        (lambda: numeric("a", weight="2"), "finite"),
        (lambda: ordinal("a", []), "order is empty"),
        (lambda: ordinal("a", "abc"), "list of values"),
        (lambda: ordinal("a", ["x", "y", "x"]), "lists a value twice"),
        (lambda: ordinal("a", [1, "1"]), "lists a value twice"),
        (lambda: Attribute("a", "ordinal"), "an order is needed"),
        (lambda: Attribute("a", "nominal", order=("x",)), "an order is needed"),
        (lambda: numeric("a", prefix(2)), "not for a numeric attribute"),
        (lambda: nominal("a", intervals(2)), "not for a nominal attribute"),
        (lambda: nominal("a", dates("year")), "not for a nominal attribute"),
        (lambda: nominal("a", 5), "a hierarchy is intervals"),
        (
            lambda: Schema.from_dict({"quasi": ["a"], "sensible": []}),
            "no key 'sensible'; did you mean 'sensitive'",
        ),
        (lambda: Schema.from_dict({"quasi": "a"}), "quasi must be a list"),
        (lambda: Schema.from_dict({"quasi": [{"kind": "numeric"}]}), "table with a name"),
        (lambda: Schema.from_dict({"quasi": [{"name": "a", "wieght": 2}]}), "did you mean 'weight'"),
        (
            lambda: Schema.from_dict({"quasi": [{"name": "a", "kind": "ordinal", "order": "abc"}]}),
            "list of values",
        ),
        (
            lambda: Schema.from_dict({"quasi": [{"name": "a", "hierarchy": {"interval": [5]}}]}),
            "intervals, prefix, dates",
        ),
        (lambda: Schema.from_dict({}), "at least one quasi-identifier"),
    ],
)
def test_what_makes_no_sense_is_refused(schema: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        schema()


COLUMNS = pa.schema(
    [("age", pa.int64()), ("workclass", pa.string()), ("tags", pa.list_(pa.string())), ("raw", pa.binary())]
)


@pytest.mark.parametrize(
    ("schema", "column", "message"),
    [
        (
            Schema(["ages"]),
            "ages",
            "no column 'ages'; did you mean 'age' or 'tags'\\? its columns are 'age', 'workclass'",
        ),
        (Schema(["age"], ["x"]), "x", "no column 'x'; its columns are"),
        (Schema(["age"], [], ["work_class"]), "work_class", "did you mean 'workclass'"),
        (Schema([numeric("workclass")]), "workclass", "holds string, not numbers or dates"),
        (Schema(["tags"]), "tags", "cannot be a quasi-identifier or a sensitive attribute; cast it"),
        (Schema(["age"], ["raw"]), "raw", "cannot be a quasi-identifier or a sensitive attribute; cast it"),
        (Schema([nominal("tags")]), "tags", "cast it"),
    ],
)
def test_what_does_not_fit_the_table_is_refused(schema: Schema, column: str, message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        schema.bind(COLUMNS)
    assert caught.value.column == column


def test_a_column_twice_in_the_table_is_refused() -> None:
    with pytest.raises(DataError, match="2 columns named 'b'; rename"):
        Schema(["a"]).bind(pa.schema([("a", pa.int8()), ("b", pa.int8()), ("b", pa.int8())]))


def test_nested_columns_may_be_neutral() -> None:
    assert Schema(["age"], neutral=["tags"]).bind(COLUMNS).role("tags") is Role.NEUTRAL


def test_a_hierarchy_without_a_kind_fits_the_columns_own() -> None:
    bare = Schema([Attribute("age", hierarchy=intervals(5)), Attribute("workclass", hierarchy="file.csv")])
    assert [attribute.kind for attribute in bare.bind(COLUMNS).quasi] == ["numeric", "nominal"]
    with pytest.raises(UsageError, match="not for a numeric attribute"):
        Schema([Attribute("age", hierarchy=prefix(2))]).bind(COLUMNS)


def test_a_column_is_found_whatever_its_case() -> None:
    with pytest.raises(DataError, match="no column 'AGE'; did you mean 'age'"):
        check_names(["AGE"], ["sex", "age"])


def test_a_prefix_of_numbers_names_the_way_out() -> None:
    way_out = re.escape("declare it nominal, by anon.nominal('zip', prefix(...)) or --kind zip=nominal")
    with pytest.raises(UsageError, match=way_out):
        Schema([Attribute("zip", hierarchy=prefix(2))]).bind(pa.schema([("zip", pa.int64())]))
    with pytest.raises(UsageError) as caught:
        nominal("zip", intervals(2))
    assert "--kind" not in str(caught.value)
