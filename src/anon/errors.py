# SPDX-License-Identifier: Apache-2.0
"""Every error a user can meet, in one voice.

A message names the column, the first row (counted from 1) and how many rows are concerned, and
ends with the way out. It never holds a cell's value: that is in `value`, shown by the command
only with `--show-values`.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any


class AnonError(Exception):
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
        message: str,
        *,
        column: str | None = None,
        row: int | None = None,
        count: int | None = None,
        value: Any = None,
    ) -> None:
        super().__init__(message)
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

    def __init__(self, message: str, *, requirement: Any = None, tightest: Any = None) -> None:
        super().__init__(message)
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


class PrivacyWarning(UserWarning):
    """The release holds what was asked for, but something about it deserves a look."""
