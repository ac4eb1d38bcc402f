# SPDX-License-Identifier: Apache-2.0
"""What the names and Arrow types of columns allow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import pyarrow as pa

from anon.errors import DataError, UsageError, did_you_mean

Kind = Literal["numeric", "ordinal", "nominal"]


def kind_of(name: str, arrow_type: pa.DataType) -> Kind:
    """The kind that a column of this Arrow type has when the schema gives only its name."""
    plain = value_type(arrow_type)
    if is_measurable(plain):
        return "numeric"
    if is_text(plain) or pa.types.is_boolean(plain) or pa.types.is_null(plain):
        return "nominal"
    raise DataError(
        f"column {name!r} has type {arrow_type}, which cannot be a quasi-identifier or a sensitive "
        "attribute; cast it to numbers or strings, or leave it neutral",
        column=name,
    )


def value_type(arrow_type: pa.DataType) -> pa.DataType:
    """The type of a column's values, whether or not they are stored as a dictionary."""
    return arrow_type.value_type if pa.types.is_dictionary(arrow_type) else arrow_type


def is_measurable(arrow_type: pa.DataType) -> bool:
    """Numbers, dates and times: values with a distance."""
    types = pa.types
    return bool(
        types.is_integer(arrow_type)
        or types.is_floating(arrow_type)
        or types.is_decimal(arrow_type)
        or types.is_date(arrow_type)
        or types.is_timestamp(arrow_type)
        or types.is_time(arrow_type)
        or types.is_duration(arrow_type)
    )


def is_text(arrow_type: pa.DataType) -> bool:
    """Strings, whatever their layout."""
    types = pa.types
    return bool(
        types.is_string(arrow_type) or types.is_large_string(arrow_type) or types.is_string_view(arrow_type)
    )


def check_unique(names: Sequence[str], where: str = "the table") -> None:
    """Raise DataError where a table has two columns of one name."""
    before: set[str] = set()
    for name in names:
        if name in before:
            raise DataError(
                f"{where} has {names.count(name)} columns named {name!r}; rename all but one", column=name
            )
        before.add(name)


MOST_NAMED = 100  # columns, in one message


def check_names(names: Iterable[str], columns: Sequence[str]) -> None:
    """Raise DataError where a table has no column of a name that the user gave."""
    known = set(columns)
    for name in names:
        if name not in known:
            raise DataError(
                f"the table has no column {name!r}; {did_you_mean(name, columns)}"
                f"its columns are {names_listed(columns)}",
                column=name,
            )


def names_listed(names: Sequence[str]) -> str:
    """Names of columns as a message lists them, many of them cut short."""
    listed = ", ".join(map(repr, names[:MOST_NAMED]))
    return listed + (f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else "")


def listed_in(data: Mapping[str, Any], key: str) -> list[Any]:
    items = data.get(key, [])
    if not isinstance(items, list | tuple):
        raise UsageError(f"{key} must be a list of names or attributes")
    return list(items)
