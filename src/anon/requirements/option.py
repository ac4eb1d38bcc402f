# SPDX-License-Identifier: Apache-2.0
"""How parameters are asked for: by the keys of a job, the names of a grid, the flags of a command."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from math import isfinite
from typing import Any, ClassVar, Literal, Self, get_args, get_origin

from anon.errors import UsageError

IN_TOML = (
    *(("valid dictionary", "valid table"), ("valid list", "valid array"), ("List should", "Array should")),
    (" after validation", ""),
)
"""How faults are worded by the library that finds them, and in the words of TOML."""


@dataclass(frozen=True)
class Option:
    """One parameter: its key in a job and a grid, what a job file may hold there, and its help.

    `field` is the parameter of the dataclass, where it is not named as the key; `off` the flag that says
    no, `by_column` whether the flag may be repeated as COLUMN=VALUE; `read` makes the parameter of what
    was written.
    """

    key: str
    kind: Any
    help: str
    field: str = ""
    off: str = ""
    by_column: bool = False
    read: Callable[[Any], Any] = lambda value: value

    @property
    def flag(self) -> str:
        return flag(self.key)

    @property
    def parameter(self) -> str:
        return self.field or self.key

    def of_text(self, text: str) -> Any:
        """What a job holds where a control holds this text; UsageError where no number is meant by it."""
        kinds = get_args(self.kind) if get_origin(self.kind) is not Literal else ()
        if self.kind is bool:
            return text == "true"
        if get_origin(self.kind) is list or any(get_origin(each) is list for each in kinds):
            items = [item.strip() for item in text.split(",")]
            return [int(item) if item.isdecimal() else item for item in items]
        if self.kind in (int, float) or {int, float} & {*kinds}:
            number = number_of(text)
            if number is None:
                raise UsageError(f"{self.key.replace('_', ' ')}: give a number")
            return float(number) if self.kind is float else number
        return text

    def check(self, value: Any) -> Any:
        """The value, if a job file might hold it; UsageError otherwise."""
        from pydantic import TypeAdapter, ValidationError

        try:
            return TypeAdapter(self.kind).validate_python(value, strict=True)
        except ValidationError as error:
            first, *others = error.errors(include_input=False, include_url=False)
            words = [in_toml(first["msg"])]
            words += [in_toml(fault["msg"]).removeprefix("input should be ") for fault in others]
            raise UsageError(f"{self.flag}: {' or '.join(words)}") from None


def number_of(text: str) -> int | float | None:
    """The number that a text is; None where it is none."""
    for kind in (int, float):
        with suppress(ValueError, OverflowError):
            if isfinite(number := kind(text)):
                return number
    return None


class Declared:
    """A frozen dataclass that says itself by which options it is asked for.

    `needs` are keys of others' options that it takes too, as parameters of that name.
    """

    options: ClassVar[tuple[Option, ...]] = ()
    needs: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def of(cls, values: Mapping[str, Any], **fixed: Any) -> Self:
        """The one that values by key ask for; those that are None are left to the defaults."""
        for option in cls.options:
            if values.get(option.key) is not None:
                fixed[option.parameter] = option.read(values[option.key])
        return cls(**{key: values[key] for key in cls.needs} | fixed)

    def settings(self) -> dict[str, Any]:
        """The parameters that are not defaults, by key, as plain numbers and text."""
        keys = {option.parameter: option.key for option in self.options}
        return {
            keys.get(each.name, each.name): plain(getattr(self, each.name))
            for each in fields(self)  # type: ignore[arg-type]  # every subclass is a dataclass
            if getattr(self, each.name) != each.default
        }


def flag(key: str) -> str:
    """How the command calls a key."""
    return f"--{key.replace('_', '-')}"


def in_toml(message: str) -> str:
    """What the library finds wrong with a value, in the words of TOML."""
    for word, other in IN_TOML:
        message = message.replace(word, other)
    return message[:1].lower() + message[1:]


def plain(value: Any) -> Any:
    """A parameter as a number or text."""
    if isinstance(value, tuple):
        return "+".join(map(str, value))
    return value if isinstance(value, int | float | str) else str(value)


def whole_if(value: float) -> int | float:
    """A number without decimals as an integer."""
    return int(value) if float(value).is_integer() else value


def merged(lists: Iterable[tuple[Option, ...]]) -> tuple[Option, ...]:
    """The options of several, each once and each list in its order."""
    options: list[Option] = []
    for each in lists:
        at = len(options)
        for option in reversed(each):
            if option in options:
                at = options.index(option)
            else:
                options.insert(at, option)
    return tuple(options)
