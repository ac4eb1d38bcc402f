# SPDX-License-Identifier: Apache-2.0
"""The `anon` command: nothing but parsing and printing."""

from __future__ import annotations

import os
import re
import shlex
import signal
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import typer

from anon.command.app import COMMANDS, app
from anon.command.ends import (
    SIGNALS,
    Stopped,
    drop,
    failure_of,
    open_streams,
    os_message,
    raise_stopped,
    stopped,
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code; every error becomes one message, never a traceback."""
    words = sys.argv[1:] if arguments is None else arguments
    open_streams()
    numbers = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    previous = {number: signal.signal(number, raise_stopped) for number in numbers}
    try:
        code = _run(words, alone=arguments is None)
        sys.stdout.flush()
        return code
    except (BrokenPipeError, SystemExit) as stop:
        if isinstance(stop, SystemExit) and not stop.code:  # a shell has its completions
            return 0
        drop(sys.stdout)  # typer and rich exit when nobody reads any more
        return 141  # what a shell reports for SIGPIPE
    except OSError as error:
        drop(sys.stdout)
        with suppress(OSError):
            print(f"error: the output cannot be printed: {os_message(error)}", file=sys.stderr)
        return 2
    finally:
        try:
            sys.stderr.flush()
        except OSError:
            drop(sys.stderr)
        for number, handler in previous.items():
            signal.signal(number, handler)


def _kept(words: Sequence[str]) -> str:
    """The command as a report keeps it: where a database is, and what it was asked, is left out."""
    from anon.tables import shown

    kept, is_query = ["anon"], False
    asks = words[:1] != ["frontier"]  # whose queries are counted on the releases
    for word in words:
        kept.append("…" if is_query else re.sub("(?s)^--query=.*", "--query=…", word) if asks else word)
        is_query = asks and word == "--query"
    return shlex.join(map(shown, kept))


class _Absent:
    """Finds pandas nowhere, as the first on `sys.meta_path`."""

    @staticmethod
    def find_spec(name: str, path: Any, target: Any = None) -> None:
        if name == "pandas":
            raise ImportError


def _without_pandas() -> None:
    """Let Arrow not import pandas at the first list that it is given: a quarter of the time of a small job.

    It does that to know frames, of which a process that runs the command alone has none. What needs pandas
    still imports it, and Arrow does then.
    """
    import pyarrow as pa

    sys.meta_path.insert(0, _Absent)
    pa.array([None])
    sys.meta_path.remove(_Absent)


def _run(words: Sequence[str], alone: bool) -> int:
    """The command's exit code; what went wrong is printed. `alone`: the process does nothing else."""
    usage_error: Any = typer.BadParameter.__mro__[2]  # ClickException, which typer does not export
    try:
        if alone and words[:1] and words[0] in COMMANDS:
            _without_pandas()
        code = app(words, prog_name="anon", standalone_mode=False, obj=partial(_kept, words)) or 0
        if code == 128 + signal.SIGINT:  # what typer makes of KeyboardInterrupt
            raise Stopped(signal.SIGINT)
        return int(code)
    except (BrokenPipeError, SystemExit):
        raise
    except usage_error as error:
        from anon.tables import shown

        error.message = shown(error.message)
        if "--json" not in words:
            error.show()
            return int(error.exit_code)
        failure = {"error": error.format_message(), "exit_code": error.exit_code}
    except (Exception, Stopped, KeyboardInterrupt) as error:
        if os.environ.get("ANON_TRACEBACK") == "1":
            traceback.print_exc()
        failure = failure_of(stopped(error) or error, "--show-values" in words)
    if "--json" in words:
        from anon.command.words import print_json

        print_json(failure)
    else:
        value = f" (the value: {failure['value']!r})" if "value" in failure else ""
        print(f"error: {failure['error']}{value}", file=sys.stderr)
    return int(failure["exit_code"])
