# SPDX-License-Identifier: Apache-2.0
"""The command that opens a page on this machine."""

from __future__ import annotations

import sys
import webbrowser
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anon.command.app import command
from anon.command.options import CSV, OF_POPULATION, QUIET, SOURCE, Flag, Text
from anon.command.progress import progress_line
from anon.errors import UsageError

if TYPE_CHECKING:
    import typer

    from anon.command.job import Job


@command(
    SOURCE,
    Flag(
        "folder",
        Text,
        "The only folder that releases are written into.",
        metavar="FOLDER",
        is_path=True,
        default=".",
    ),
    Flag("browser", bool, "Open the page in the browser (default), or say which file opens it."),
    *(OF_POPULATION[0], *CSV, QUIET),
)
def explore(
    context: typer.Context, job: Job, source: str, folder: str, browser: bool | None, quiet: bool
) -> None:
    """Open a page on this machine on which the whole job is done without code.

    Roles, hierarchies, requirements and the method are chosen there, the release is looked at, and written
    with the job file that makes it again. The page is for its user alone, and ends when it is closed.

    anon explore people.csv
    """
    if not all(map(find_spec, ("starlette", "uvicorn"))):
        raise UsageError("the page needs a web library: pip install 'anon[app]'")
    import pyarrow as pa

    import anon
    from anon.choice import let_memory_go
    from anon.command.ends import failure_of
    from anon.command.inputs import people_of
    from anon.command.job import load_job
    from anon.command.job_file import keys_text
    from anon.explore import Language, Session, serve

    if not Path(folder).is_dir():
        raise UsageError(f"the folder {folder} does not exist")
    reading = job.read_options()
    let_memory_go(1 << 20, arenas=1)  # smaller arrays come too often: a move took half a second longer
    with progress_line(quiet) as progress:
        table = anon.read_source(source, **reading, engine="local", progress=progress)
        people = people_of(context, job)
    pa.default_memory_pool().release_unused()  # what reading took
    language = Language(
        job=lambda keys: load_job(None, keys),
        text=keys_text,
        words=lambda error: str(failure_of(error, False)["error"]),
    )
    reading |= {} if people is None else {"population": job.population}
    session = Session(source, table, anon.inspect(table), Path(folder).resolve(), language, reading, people)

    def opened(address: str) -> Any:
        if browser is not False and webbrowser.open(address):
            told = "the page is open in the browser; close it there, or press Ctrl-C here"
        else:
            told = f"open this file in a browser, as the user who runs this: {address}"
        if not quiet or browser is False:
            print(told, file=sys.stderr)

    serve(session, opened=opened)
