# SPDX-License-Identifier: Apache-2.0
"""Every error a user can meet, in one voice.

A message names the column, the first row (counted from 1) and how many rows are concerned, and
ends with the way out. It never holds a cell's value: that is in `value`, shown by the command
only with `--show-values`.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Parameter:
    """Part of a message: a parameter as a program writes it, and as the command does.

    `Parameter('ties="rank"', "--ties rank")`, or words around it: `Parameter("in a schema", "with --quasi")`.
    """

    written: str
    flag: str


class Said(Exception):
    """What is said to a user, who called a function or, in the words of `in_flags`, the command."""

    def __init__(self, *message: str | Parameter) -> None:
        super().__init__("".join(part if isinstance(part, str) else part.written for part in message))
        self.in_flags = "".join(part if isinstance(part, str) else part.flag for part in message)


class AnonError(Said):
    """Base of all errors raised on purpose; `exit_code` is what the `anon` command returns."""

    exit_code = 2


class UsageError(AnonError, ValueError):
    """A parameter or a combination of parameters makes no sense."""


class DataError(AnonError, ValueError):
    """The table or a hierarchy cannot be used as asked.

    `column` is the attribute's name, `row` the zero-based number of the first row concerned,
    `count` how many rows are, `value` the offending cell (never part of the message).
    """

    def __init__(
        self,
        *message: str | Parameter,
        column: str | None = None,
        row: int | None = None,
        count: int | None = None,
        value: Any = None,
    ) -> None:
        super().__init__(*message)
        self.column = column
        self.row = row
        self.count = count
        self.value = value


class InfeasibleError(AnonError):
    """No release of this table can meet the requirement.

    `requirement` is the demand, `tightest` the tightest value of its parameter that can be met
    (None when there is none).
    """

    exit_code = 1

    def __init__(self, *message: str | Parameter, requirement: Any = None, tightest: Any = None) -> None:
        super().__init__(*message)
        self.requirement = requirement
        self.tightest = tightest


class RecheckError(AnonError):
    """A finished release failed its own check and was not written. This is a fault of the tool."""

    exit_code = 1


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`did you mean 'k' or 'l'? ` where names that are known come close, and nothing where none does."""
    folded = {each.casefold(): each for each in known}
    close = [folded[each] for each in difflib.get_close_matches(name.casefold(), folded, n=3)]
    return f"did you mean {' or '.join(map(repr, close))}? " if close else ""


NAME_SENSITIVE = Parameter("name one in the schema", "name one with --sensitive")
NAME_QUASI = Parameter("name its quasi-identifiers in a schema", "name its quasi-identifiers with --quasi")
SUPPRESS = Parameter('missing="suppress"', "--missing suppress")
CATEGORY = Parameter("missing='category'", "--missing category")
CSV_GUARD = Parameter("csv_guard=True", "--csv-guard")
ORDER_OF_INPUT = Parameter('order="input"', "--order input")


class PrivacyWarning(Said, UserWarning):
    """The release holds what was asked for, but something about it deserves a look."""
