# SPDX-License-Identifier: Apache-2.0
"""What the names and Arrow types of columns allow."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import pyarrow as pa

from anon.errors import DataError, Parameter, UsageError, did_you_mean

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


def check_unique(names: Sequence[str], where: str = "the table", *way_out: str | Parameter) -> None:
    """Raise DataError where a table has columns of one name, or one without; `way_out` ends the message."""
    counts = Counter(names)
    again = [name for name, n in counts.items() if n > 1 and name]
    if again:
        others = "".join(f", {counts[name]} named {name!r}" for name in again[1:MOST_NAMED])
        raise DataError(
            f"{where} has {counts[again[0]]} columns named {again[0]!r}{others}; rename all but one of each",
            *way_out,
            column=again[0],
        )
    if "" in counts:
        places = [str(i) for i, name in enumerate(names, 1) if not name]
        which = ", ".join(places[:MOST_NAMED]) + (", ..." if len(places) > MOST_NAMED else "")
        raise DataError(
            f"{where}: of its {len(names)} columns these have no name, so that no role can be given: number "
            f"{which}; name them",
            *way_out,
            column="",
        )


MOST_NAMED = 100  # columns, in one message


def check_names(names: Iterable[str], columns: Sequence[str]) -> None:
    """Raise DataError where a table has no column of a name that the user gave."""
    known = set(columns)
    for name in names:
        if name not in known:
            alike = [each for each in columns if "".join(each.split()) == "".join(name.split())]
            hint: list[str | Parameter] = [did_you_mean(name, columns)]
            if alike:
                in_list = shlex.quote(quoted(alike[0], always=True))
                hint = [f"{alike[0]!r} differs from it by white space alone (in a list of names: {in_list}"]
                if [each.strip() for each in columns].count(name) == 1:
                    trim = Parameter("trim=True", "--trim")
                    hint += ["; of CSV, Excel, SPSS, Stata and SAS files ", trim, " drops the blanks"]
                hint.append("); ")
            raise DataError(
                f"the table has no column {name!r}; ",
                *hint,
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


# --- names in the words of a flag

_QUOTED = r'"(?:[^"]|"")*"'
_ITEM = re.compile(rf"\s*({_QUOTED}[^,]*|[^,]*)(?:,|$)")
_NAME_AND_REST = re.compile(rf"\s*({_QUOTED})\s*=(.*)", re.DOTALL)


def names_in(text: str) -> list[str]:
    """The names of a list `A,B`, as CSV quotes them: `"age, in years",zip`.

    Of several, blanks around names without quotes are dropped; a name alone is taken as it stands.
    """
    items = _items(text)
    if len(items) == 1:
        return [unquoted(text)]
    return [unquoted(each.strip()) for each in items]


def pairs_in(text: str) -> list[str]:
    """The parts of a list `A=2,B=1` whose names may have quotes, each as it stands."""
    return [each.strip() for each in _items(text)]


def name_and_value(text: str) -> tuple[str, str] | None:
    """`COLUMN=VALUE`, or `"a name with = in it"=VALUE`; None where there is no `=` after a name."""
    found = _NAME_AND_REST.fullmatch(text)
    name, equals, value = text.partition("=")
    if found is not None:
        name, value = unquoted(found[1]), found[2]
    return (name, value) if name and equals else None


def unquoted(text: str) -> str:
    """A name without the quotes around it."""
    inner = text.strip()
    return inner[1:-1].replace('""', '"') if re.fullmatch(_QUOTED, inner) else text


def quoted(name: str, *, always: bool = False) -> str:
    """A name as a flag takes it in a list or before `=`: in quotes where it needs them."""
    needs = always or not name or name != name.strip() or any(mark in name for mark in ',="')
    return '"' + name.replace('"', '""') + '"' if needs else name


def as_word(name: str, value: str) -> str:
    """`NAME=VALUE` as a shell hands it to a flag."""
    return shlex.quote(f"{quoted(name)}={value}")


def _items(text: str) -> list[str]:
    items, at = [], 0
    while True:
        found = _ITEM.match(text, at)
        assert found is not None  # the empty text matches
        items.append(found[1])
        if found.end() == len(text) and not found[0].endswith(","):
            return items
        at = found.end()
