# SPDX-License-Identifier: Apache-2.0
"""From flags to a job: what is read, what is written."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from anon.command.options import KEYS, UNSAID
from anon.errors import UsageError

if TYPE_CHECKING:
    from anon.command.job import Job
    from anon.html import Audience
    from anon.pages import Cover, Origin, Report
    from anon.tables import Source


def job_of(context: typer.Context, values: Mapping[str, Any]) -> Job:
    """The command's job file, and over it the values of its flags that are keys of a job."""
    from anon.command.job import load_job

    keys = {each.key for each in KEYS}
    given = {key: value for key, value in values.items() if key in keys and value not in UNSAID}
    job = load_job(values.get("config"), given)
    if job.engine == "spark" and "engine" not in given and context.command.name != "anonymize":
        job = job.model_copy(update={"engine": None})  # it tells how a release is made, and nothing else
    return job


def reading_options(context: typer.Context, job: Job, path: str) -> dict[str, Any]:
    """How a file that may be a release is read.

    What a job file says of CSV is said of its input: a release has commas, is UTF-8, and no text in it
    stands for a missing value. Flags are about the file itself.
    """
    from anon.tables import reading

    options = job.read_options()
    if job.input is None or os.path.realpath(path) != os.path.realpath(job.input):
        said = {name for name, value in context.params.items() if value not in UNSAID}
        of_input = {"null", "delimiter", "encoding", "decimal", "header", "sheet", "date"} - said
        options = {name: value for name, value in options.items() if name not in of_input}
    return reading(path, options)


def people_of(context: typer.Context, job: Job) -> Source | None:
    """The table of the population, where the job names one."""
    from anon.tables import read_source

    if job.population is None:
        return None
    return read_source(job.population, **reading_options(context, job, job.population))


def ends_of(job: Job, *others: str | None) -> tuple[str, str]:
    """The input and the output, which is not to take the place of anything that is read."""
    if job.input is None:
        raise UsageError("no input: name the file to anonymize")
    if job.output is None:
        raise UsageError("no output: name the release's file with -o")
    if job.engine == "spark":  # URIs and folders, which it looks at itself
        return job.input, job.output
    if os.path.isdir(job.output):
        raise UsageError(f"the output {job.output} is a folder: name a file")
    folder = Path(job.output).parent
    if not folder.is_dir():
        raise UsageError(f"the folder {folder} of the output does not exist")
    from anon.tables import remove_leftovers

    for output in outputs_of(job):
        keep(output, [job.input, *job.files(), *others])
    remove_leftovers(Path(os.path.realpath(job.output)))
    return job.input, job.output


def outputs_of(job: Job) -> list[str]:
    """The files that the job writes."""
    from anon.release import sensitive_path

    assert job.output is not None
    both = job.publish == "bucketization"
    return [job.output, *([str(sensitive_path(job.output))] if both else [])]


def keep(output: str, read: Iterable[str | None]) -> None:
    """Refuse to write over a file that is read."""
    if not os.path.exists(output):
        return
    for source in read:
        if source is not None and any(os.path.samefile(file, output) for file in _files(source)):
            raise UsageError(f"{output} is also an input, which is never overwritten: name another output")


def pages_of(report: str | None, public: str | None, others: Sequence[str | None]) -> dict[Audience, str]:
    """Where the pages of a command go, by their audience.

    Refuses one that cannot be made, or that would take the place of another file of the command.
    """
    pages: dict[Audience, str] = {}
    asked: list[tuple[Audience, str | None]] = [("owner", report), ("public", public)]
    for audience, page in asked:
        if page is None:
            continue
        if os.path.isdir(page) or not Path(page).parent.is_dir():
            raise UsageError(f"the report {page} must be a file in a folder that exists")
        taken = {os.path.realpath(other) for other in (*others, *pages.values()) if other is not None}
        if os.path.realpath(page) in taken:
            raise UsageError(f"{page} is also another file of this command: name another report")
        keep(page, others)
        pages[audience] = page
    return pages


def origin_of(
    context: typer.Context,
    read: Sequence[str | None],
    written: Sequence[str | None],
    released: Sequence[str | None] = (),
) -> Origin:
    from anon.pages import Origin

    def files(sources: Sequence[str | None]) -> tuple[str, ...]:
        inside = [file for source in sources if source is not None for file in _files(source)]
        return tuple(dict.fromkeys(file for file in inside if os.path.isfile(file)))

    outputs = tuple(path for path in written if path is not None)
    return Origin(context.obj, files(read), outputs, files(released))


def cover_of(job: Job) -> Cover:
    """What the flags and the job say for the first lines of a report."""
    from anon.pages import Cover

    return Cover(job.title, job.purpose, job.recipient, job.responsible, job.report_date)


def write_reports(pages: Mapping[Audience, str], about: Callable[[Audience], Report]) -> dict[str, Any]:
    """Write them; what the owner's tells, and where they are, for --json."""
    reported: dict[str, Any] = {}
    for audience, path in pages.items():
        made = about(audience)
        made.write(path)
        if audience == "owner":
            reported |= {"report": path, **made.facts}
        else:
            reported["report_public"] = path
    return reported


def _files(source: str) -> list[str]:
    if os.path.isdir(source):
        return [str(path) for path in Path(source).rglob("*") if path.exists()]
    return [source] if os.path.exists(source) else glob.glob(source, recursive=True)
