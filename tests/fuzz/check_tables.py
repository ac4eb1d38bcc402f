# SPDX-License-Identifier: Apache-2.0
"""Tables for `check`: columns of any type, values, nulls and chunks, with any roles and requirements."""

from __future__ import annotations

import json
import math
from contextlib import suppress
from typing import Any

import pyarrow as pa

import anon
from anon.errors import AnonError
from fuzz import Bytes

TYPES = [
    *(pa.int8(), pa.uint64(), pa.int64(), pa.float16(), pa.float32(), pa.float64(), pa.bool_(), pa.null()),
    *(
        pa.date32(),
        pa.date64(),
        pa.time32("s"),
        pa.time64("ns"),
        pa.timestamp("s"),
        pa.timestamp("ns", "UTC"),
    ),
    *(pa.duration("ms"), pa.decimal128(5, 2), pa.decimal256(60, -3), pa.string(), pa.large_string()),
    *(pa.string_view(), pa.binary(), pa.list_(pa.int8()), pa.struct([("x", pa.int8())])),
    pa.dictionary(pa.int8(), pa.string()),
]
NAMES = ["a", "b", "c", "class_id", "attribute", "value", "count", "a_min"]
WORDS = ["*", "missing", "[1, 2]", "{a, b}", "a", ""]
ROLES: dict[str, Any] = {"quasi": ["a"], "sensitive": ["b"], "neutral": []}


def column(take: Bytes, n_rows: int) -> pa.ChunkedArray:
    """A column made from raw buffers, so that its values are whatever the bytes say."""
    kind = take.pick(TYPES)
    missing = [take.number(0, 3) == 0 for _ in range(n_rows)]
    if pa.types.is_null(kind):
        array = pa.nulls(n_rows)
    elif pa.types.is_nested(kind):
        array = pa.array(
            [None if none else [1] if pa.types.is_list(kind) else {"x": 1} for none in missing], kind
        )
    elif pa.types.is_decimal(kind) or (pa.types.is_primitive(kind) and not pa.types.is_boolean(kind)):
        size = n_rows * kind.bit_width // 8
        raw = bytes(take.number(0, 255) for _ in range(min(size, 96))).ljust(size, b"\0")
        valid = pa.array([not none for none in missing], pa.bool_()).buffers()[1]
        array = pa.Array.from_buffers(kind, n_rows, [valid, pa.py_buffer(raw)])
    else:
        values: list[Any] = [None if none else take.pick([*WORDS, take.text()]) for none in missing]
        if pa.types.is_boolean(kind):
            values = [None if value is None else value == "*" for value in values]
        elif pa.types.is_binary(kind):
            values = [None if value is None else value.encode() for value in values]
        array = pa.array(values, pa.string() if pa.types.is_dictionary(kind) else kind)
        array = array.dictionary_encode() if pa.types.is_dictionary(kind) else array
    at = take.number(0, n_rows)
    return pa.chunked_array([array[:at], array[at:]])


def table(take: Bytes) -> pa.Table:
    """Up to four columns of up to six rows, now and then with the metadata of a release."""
    n_rows, n_columns = take.number(0, 6), take.number(0, 4)
    names = [take.pick(NAMES) for _ in range(n_columns)]
    made = pa.Table.from_arrays([column(take, n_rows) for _ in names], names=names)
    if take.number(0, 3) == 0:
        cells = {"a": {"columns": take.pick([["a"], ["a", "a_min"], []]), "meaning": take.text()}}
        kinds = {"a": "numeric", "b": take.pick(["numeric", "nominal", "ordinal", "x"])}
        publish = take.pick(["generalization", "bucketization", ""])
        tree = {
            "labels": [
                *take.pick([["root"], ["x", "root"], []]),
                *(take.pick(WORDS) for _ in range(take.number(0, 4))),
            ],
            "parent": [-1, *(take.number(-1, 4) for _ in range(take.number(0, 4)))],
        }
        told: dict[str, Any] = {
            **{"publish": publish, "roles": ROLES, "kinds": kinds, "cells": cells, "requirements": []},
            "hierarchies": take.pick([{}, {"b": tree}, {"b": None}]),
            "orders": take.pick([{}, {"b": tree["labels"]}]),
        }
        if take.number(0, 3) == 0:
            told[take.pick(list(told))] = take.pick([None, 5, [], {}, "x", [{}]])
        made = made.replace_schema_metadata({"anon": json.dumps(told)})
    return made


def requirement(take: Bytes) -> Any:
    """Any of the requirements."""
    x = take.pick([0.5, 1, 2, 3])
    return take.pick(
        [
            anon.KAnonymity(2),
            *(anon.LDiversity(2, kind) for kind in ("probabilistic", "distinct", "entropy", "recursive")),
            *(anon.TCloseness(x, distance) for distance in ("js", "equal", "ordered", "hierarchical")),
            *(anon.DeltaDisclosure(x), anon.AlphaK(0.5, 2), anon.BetaLikeness(x, True)),
            anon.SDiversityBound(x, 0.5),
        ]
    )


def target(data: bytes) -> None:
    """Check a table; what is measured is within its bounds."""
    take = Bytes(data)
    schema = second = None
    with suppress(AnonError):
        if take.number(0, 3):
            names = [take.pick(NAMES) for _ in range(take.number(1, 3))]
            schema = anon.Schema(names[: take.number(1, 3)], names[take.number(1, 3) :])
        require = [requirement(take) for _ in range(take.number(0, 2))]
        first = table(take)
        if take.number(0, 2) == 0:
            second = table(take)
        found = anon.check(
            first,
            schema,
            sensitive_table=second,
            require=require,
            roles_from_file=take.number(0, 1) == 1,
            n_threads=1,
            per_class=take.number(0, 1) == 1,
        )
        assert 0 <= found.k <= first.num_rows
        assert found.p_loss is None or 0 <= found.p_loss <= math.log(2) + 1e-12
        json.dumps(found.to_dict(), default=str)
        repr(found)
