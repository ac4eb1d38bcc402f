# SPDX-License-Identifier: Apache-2.0
"""How a run ends: errors in words, signals, exit codes."""

from __future__ import annotations

import io
import os
import signal
import sys
import traceback
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any, TextIO

from anon.errors import AnonError, DataError, InfeasibleError

SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


class Stopped(BaseException):
    """One of SIGNALS, as an exception: temporary files are removed on its way out."""


def stopped(error: BaseException) -> Stopped | None:
    """What stopped the command, also where cleaning up after it failed with another error."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, Stopped | KeyboardInterrupt):
        cause = cause.__context__
    return Stopped(signal.SIGINT) if isinstance(cause, KeyboardInterrupt) else cause


def open_streams() -> None:
    """Standard streams that are closed become /dev/null; what they cannot encode is replaced."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode, encoding="utf-8"))
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


def drop(stream: TextIO) -> None:
    """Send what is still to be printed, and is kept in the buffer, nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def failure_of(error: BaseException, show_values: bool) -> dict[str, Any]:
    """What went wrong, in words that hold no cell, with the exit code and what else is known of it."""
    from anon.tables import shown

    details: dict[str, Any] = {}
    match error:
        case AnonError():
            code, message = error.exit_code, shown(error.in_flags)
            if isinstance(error, DataError):
                details = {"column": error.column, "row": error.row, "count": error.count}
                if show_values:
                    details["value"] = error.value
            if isinstance(error, InfeasibleError):
                asked = error.requirement
                details = {"requirement": str(asked) if is_dataclass(asked) else asked}
                details["tightest"] = error.tightest
        case Stopped():
            code, message = 128 + error.args[0], f"stopped by {signal.Signals(error.args[0]).name}"
        case MemoryError() | RuntimeError(args=("can't start new thread",)):
            code, message = (
                2,
                "not enough memory for this table; use --engine stream, or a larger machine",
            )
        case OSError():
            code, message = 2, shown(os_message(error))
        case _:
            code, message = 70, _internal_message(error)
    known = {name: detail for name, detail in details.items() if detail is not None}
    return {"error": message, "exit_code": code, **known}


def raise_stopped(number: int, frame: Any) -> None:
    raise Stopped(number)


# --- messages


def os_message(error: OSError) -> str:
    if error.strerror is None:
        return str(error).partition("\n")[0]
    return f"{error.filename}: {error.strerror}" if error.filename is not None else error.strerror


def _internal_message(error: BaseException) -> str:
    """Where it happened, not what was said there: that may hold a cell."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if Path(__file__).parents[1] in Path(frame.filename).parents]
    frame = (ours or frames)[-1]
    return (
        f"internal error: {type(error).__name__} at {Path(frame.filename).name}:{frame.lineno}; "
        "please report it (ANON_TRACEBACK=1 shows where it came from, and may show values)"
    )
