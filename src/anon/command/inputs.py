# SPDX-License-Identifier: Apache-2.0
"""From flags to a job: what is read, what is written."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from anon.command.options import CSV, KEYS, UNSAID
from anon.errors import UsageError

TWO_TABLES = "a bucketization has two tables, which go together: end -o in .parquet, .feather or .csv"

if TYPE_CHECKING:
    from anon.command.job import Job
    from anon.html import Audience
    from anon.pages import Cover, Origin, Report
    from anon.tables import Place, Source


def job_of(context: typer.Context, values: Mapping[str, Any]) -> Job:
    """The command's job file, and over it the values of its flags that are keys of a job."""
    from anon.command.job import load_job

    keys = {each.key for each in KEYS}
    given = {key: value for key, value in values.items() if key in keys and value not in UNSAID}
    if "table" in given and values.get("query") is not None:
        raise UsageError("--table and --query are given: name one of them")
    job = load_job(values.get("config"), given).asking(values.get("query"))
    if job.engine == "spark" and "engine" not in given and context.command.name != "anonymize":
        job = job.model_copy(update={"engine": None})  # it tells how a release is made, and nothing else
    return job


def reading_options(context: typer.Context, job: Job, path: str) -> dict[str, Any]:
    """How a file that may be a release is read.

    What a job file says of CSV is said of its input: a release has commas, is UTF-8, and no text in it
    stands for a missing value. Flags are about the file itself.
    """
    from anon.tables import OF_CSV, reading

    options = job.read_options()
    if job.input is None or os.path.realpath(path) != os.path.realpath(job.input):
        said = {name for name, value in context.params.items() if value not in UNSAID}
        of_input = {*OF_CSV, "trim", "date", "table"} - said
        options = {name: value for name, value in options.items() if name not in of_input}
    return reading(path, options)


def release_options(context: typer.Context, job: Job, path: str) -> dict[str, Any]:
    """How a release is read beside its original: in a database it is the job's `release_table`."""
    from anon.tables import reading

    options = reading_options(context, job, path)
    return reading(path, {**options, "table": job.release_table, "query": None})


def csv_options(context: typer.Context) -> dict[str, Any]:
    """What the flags of a command say of how its file is read."""
    words = {each: context.params.get(each.key) for each in CSV}
    return {each.key: each.parsed(said) for each, said in words.items() if said not in UNSAID}


def people_of(context: typer.Context, job: Job) -> Source | None:
    """The table of the population, where the job names one."""
    from anon.tables import read_source, reading

    if job.population is None:
        return None
    options = reading_options(context, job, job.population)
    return read_source(job.population, **reading(job.population, {**options, "table": None, "query": None}))


def ends_of(job: Job, *others: str | None, replace: bool = False) -> tuple[str, str]:
    """The input and the output, which is not to take the place of anything that is read.

    A table of a database is one that is not there, or that is to be `replace`d.
    """
    if job.input is None:
        raise UsageError("no input: name the file to anonymize")
    if job.output is None:
        raise UsageError("no output: name the release's file with -o")
    from anon.tables import is_uri, place_of, remove_leftovers, target_of

    if job.engine == "spark":  # URIs and folders, which it looks at itself
        if is_uri(job.input) or is_uri(job.output):
            raise UsageError(
                "Spark reads Parquet and writes it, and asks no database: leave out --engine spark"
            )
        return job.input, job.output
    target, place = target_of(job.output), place_of(job.input)
    if target is None and (job.release_table is not None or replace):
        raise UsageError(
            "--release-table and --replace are for a release in a database: name one with -o, such as "
            "release.sqlite"
        )
    if target is not None and job.publish == "bucketization":
        raise UsageError(TWO_TABLES)
    if target is not None and target.kind == "PostgreSQL":
        _check_target(target, place, job, replace)
        return job.input, job.output
    if os.path.isdir(job.output):
        raise UsageError(f"the output {job.output} is a folder: name a file")
    folder = Path(job.output).parent
    if not folder.is_dir():
        raise UsageError(f"the folder {folder} of the output does not exist")
    if target is not None:
        for source in others:
            keep(job.output, [source])
        if place is None:
            keep(job.output, [job.input])
        _check_target(target, place, job, replace)
        return job.input, job.output
    for output in outputs_of(job):
        keep(output, [job.input, *job.files(), *others])
    remove_leftovers(Path(os.path.realpath(job.output)))
    return job.input, job.output


def _check_target(target: Place, place: Place | None, job: Job, replace: bool) -> None:
    """Raise where the table of a release could not be made; `place` is the database of the input."""
    from anon.tables import check_target, identities

    sources = () if place is None else identities(place, job.table, job.read_options().get("query"))
    check_target(target, job.release_table, replace, sources)


def outputs_of(job: Job) -> list[str]:
    """The files that the job writes: none of a database, which may hold more than the release."""
    from anon.release import sensitive_path
    from anon.tables import target_of

    assert job.output is not None
    if job.engine != "spark" and target_of(job.output) is not None:
        return []
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
    return Origin(context.obj(), files(read), outputs, files(released))


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
