# SPDX-License-Identifier: Apache-2.0
"""What a job makes of the words of a flag."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from anon.errors import UsageError
from anon.schema import name_and_value, names_in, pairs_in


def names(texts: Iterable[str]) -> list[str]:
    """`A,B` and `C`, each a flag's word, as three names; `"A, in years",B` has two."""
    listed = [name for text in texts for name in names_in(text)]
    if "" in listed:
        raise UsageError("a list of columns has an empty name in it: leave out the comma, or name the column")
    return listed


def levels(texts: Iterable[str]) -> list[int | float | str]:
    """Numbers where they are some, else words."""
    listed: list[int | float | str] = []
    for text in names(texts):
        try:
            listed.append(_number(text))
        except ValueError:
            listed.append(text)
    return listed


def neutral(texts: Iterable[str]) -> list[str] | str:
    """Names, or `*` for all the rest."""
    given = names(texts)
    return "rest" if given == ["*"] else given


def linked(texts: Iterable[str]) -> list[list[str]]:
    """QUASI=COLUMN, or QUASI=COLUMN,COLUMN."""
    groups = []
    for text in texts:
        pair = name_and_value(text)
        if pair is None or not pair[1]:
            raise UsageError("--linked takes QUASI=COLUMN, such as age=birth_year")
        groups.append([pair[0], *names([pair[1]])])
    return groups


def pairs(flag: str, texts: Iterable[str]) -> dict[str, str]:
    """COLUMN=VALUE, each column once."""
    values: dict[str, str] = {}
    for text in texts:
        pair = name_and_value(text)
        if pair is None or not pair[1]:
            raise UsageError(f"{flag} takes COLUMN=VALUE")
        name, value = pair
        if name in values:
            raise UsageError(f"{flag} is given twice for column {name!r}")
        values[name] = value
    return values


def weights(texts: Iterable[str]) -> dict[str, float]:
    """COLUMN=NUMBER, each column once."""
    by_column = pairs("--weight", texts)
    try:
        return {name: float(value) for name, value in by_column.items()}
    except ValueError:
        raise UsageError("--weight takes COLUMN=NUMBER") from None


def ends(flag: str, texts: Iterable[str]) -> dict[str, int | float | str]:
    """COLUMN=NUMBER or COLUMN=TEXT, each column once."""
    values: dict[str, int | float | str] = {}
    for name, text in pairs(flag, texts).items():
        try:
            values[name] = _number(text)
        except ValueError:
            values[name] = text
    return values


def by_column(flag: str, texts: Sequence[str]) -> Any:
    """A number, or numbers by column: `0.1`, or `age=0.1` and more."""
    try:
        if len(texts) == 1 and "=" not in texts[0]:
            return _number(texts[0])
        return {name: _number(value) for name, value in pairs(flag, texts).items()}
    except ValueError:
        raise UsageError(f"{flag} takes a number, or COLUMN=NUMBER once or more") from None


def importance(text: str) -> dict[str, float] | list[str]:
    """`A=2,B=1` as weights, or `A,B` as an order."""
    if all(name_and_value(each) is None for each in pairs_in(text)):
        return names([text])
    try:
        return {name: float(value) for name, value in pairs("--importance", pairs_in(text)).items()}
    except ValueError:
        raise UsageError("--importance takes COLUMN=W,COLUMN=W or COLUMN,COLUMN") from None


def _number(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        return float(text)


def bounds(texts: Sequence[str]) -> Any:
    """`data`, or two numbers by column: `age=17..99`."""
    if list(texts) == ["data"]:
        return "data"
    try:
        ends = {
            name: [float(end) for end in value.split("..")]
            for name, value in pairs("--bounds", texts).items()
        }
    except ValueError:
        ends = {"": []}
    if any(len(each) != 2 for each in ends.values()):
        raise UsageError("--bounds takes COLUMN=LOWER..UPPER in numbers, once or more, or data")
    return ends


def whole_numbers(flag: str, text: str) -> tuple[int, ...]:
    """`2,5,10` as numbers."""
    try:
        return tuple(int(item) for item in text.split(","))
    except ValueError:
        raise UsageError(f"{flag} takes whole numbers with commas between") from None
