# SPDX-License-Identifier: Apache-2.0
"""The commands that try, compare and choose."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from anon.command import parse
from anon.command.app import command
from anon.command.inputs import cover_of, csv_options, keep, origin_of, pages_of, write_reports
from anon.command.options import (
    CODING,
    CONFIG,
    COVER,
    CSV,
    INPUT,
    JSON,
    MISSING,
    OUTPUT,
    PRINTING,
    QUERY,
    QUIET,
    REPORT,
    ROLES,
    RUNNING,
    SHOW_VALUES,
    SOURCE,
    SWEEPING,
    WEIGHT,
    Flag,
    Text,
)
from anon.command.progress import progress_line
from anon.command.words import (
    columns,
    frontier_words,
    name_of,
    print_grid,
    print_json,
    print_notes,
    print_tables,
    report_release,
    report_written,
    reproduction,
)
from anon.errors import InfeasibleError, UsageError
from anon.schema import as_word

if TYPE_CHECKING:
    from anon.command.job import Job

TABLE = replace(OUTPUT, help=".parquet, .feather or .csv file.", is_required=True)
ROWS = Flag("rows", int, "Number of rows.", default=200_000, least=0)


@command(
    *(INPUT, replace(OUTPUT, help="The points: .parquet, .feather or .csv."), CONFIG),
    *(*ROLES, WEIGHT, *CODING, *SWEEPING, *RUNNING, MISSING, *CSV, REPORT, *COVER, *PRINTING),
)
def frontier(
    context: typer.Context,
    job: Job,
    output: str | None,
    config: str | None,
    report: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Try many releases of IN and show which are efficient: none other is as private and as useful.

    Nothing is released. What the job file requires holds for every point, the grid varies the rest.

    anon frontier people.csv --quasi age,sex,zip --sensitive disease --grid "k=5,10,50 method=mondrian,curve"
    """
    import anon
    from anon import datasets
    from anon.choice import let_memory_go
    from anon.tables import shown

    schema = job.roles()
    if schema is None:
        raise UsageError("no column has a role: name the quasi-identifiers with --quasi")
    if job.input is None:
        raise UsageError("no input: name the file to try releases of")
    asked, bound = job.sweep(), job.bound()
    read = [job.input, config, *job.files()]
    if output is not None:  # a job file's own output is that of its release
        datasets.check_output(output)
        keep(output, read)
    pages = pages_of(report, None, [*read, output])
    let_memory_go()
    with progress_line(quiet or as_json) as progress:
        table = anon.read_source(job.input, **job.read_options())
        swept = anon.frontier(table, schema, progress=progress, **asked)
    if output is not None:
        datasets.write_table(swept.table, output)
    chosen, unkept = None, None
    if bound is not None:
        try:
            chosen = swept.choose(**bound)
        except InfeasibleError as error:
            unkept = error
    if unkept is not None and as_json:
        raise unkept
    if not any(point.satisfied for point in swept.points if point.configuration is not None):
        print("warning: no point of the grid could be made; each says why", file=sys.stderr)
    reported: dict[str, Any] = {}
    if pages:
        from anon import pages as reports

        made = reports.of_frontier(
            swept, chosen=chosen, origin=origin_of(context, read, [output]), cover=cover_of(job)
        )
        reported = write_reports(pages, lambda audience: made)
    if as_json:
        picked = {} if chosen is None else {"chosen": chosen.to_dict()}
        print_json({"input": shown(job.input), "output": output, **swept.to_dict(), **picked, **reported})
    elif not quiet:
        print_tables(*frontier_words(f"Frontier of {name_of(job.input)}", swept, chosen))
    if unkept is not None:
        raise unkept


@command(
    SOURCE,
    Flag(
        "job_file",
        Text,
        "Write the guesses as a job file, to be edited.",
        metavar="JOB.TOML",
        spelled=("-o", "--output"),
        is_path=True,
    ),
    *(*CSV, QUERY, JSON, SHOW_VALUES),
)
def inspect(job: Job, source: str, job_file: str | None, as_json: bool) -> None:
    """Tell what the columns of FILE are like, and guess their roles. No value is shown."""
    from anon import verbs
    from anon.command.job_file import check_job_file, write_job_file

    if job_file is not None:
        check_job_file(job_file)
    inspected = verbs.inspect(source, **job.read_options())
    if job_file is not None:
        keys = {key: value for key, value in job.read_options().items() if key != "query"}
        write_job_file(job_file, source, keys, inspected)
    if as_json:
        print_json(inspected.to_dict())
    else:
        print_tables(*columns(source, inspected))
        print_notes(column.note for column in inspected.columns if column.note is not None)
        print_notes(inspected.notes)


@command(
    SOURCE,
    Flag("column", str, "The column.", metavar="COLUMN", is_argument=True, is_required=True),
    Flag(
        "output",
        Text,
        "The hierarchy, a CSV file as ARX has them.",
        spelled=("-o", "--output"),
        is_path=True,
        is_required=True,
    ),
    Flag(
        "by",
        Literal["intervals", "dates", "prefix", "suffix", "frequency"],
        "intervals, dates, prefix (0213*), suffix (*2139) or frequency (default: as the values are).",
    ),
    Flag(
        "levels",
        list[str],
        "Widths, calendar units, characters kept, or shares of the rows: 5,10,20.",
        metavar="A,B,C",
        parse=parse.levels,
    ),
    *(*CSV, *PRINTING),
)
def hierarchy(
    context: typer.Context,
    source: str,
    column: str,
    output: str,
    by: Any,
    levels: list[int | float | str] | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Draft a hierarchy of one column of FILE from its values, to be edited before it is used.

    anon hierarchy people.csv zip -o zip.csv && anon anonymize people.csv --hierarchy zip=zip.csv …
    """
    from anon import verbs
    from anon.tables import reading

    keep(output, [source])
    drafted = verbs.draft_hierarchy(
        source, column, by=by, levels=levels or (), **reading(source, csv_options(context))
    )
    drafted.write(output)
    facts = {"output": output, "by": drafted.by, "values": len(drafted.rows), "levels": len(drafted.rows[0])}
    if as_json:
        print_json(facts)
    elif not quiet:
        as_labels = f" --kind {as_word(column, 'nominal')}" if drafted.by in ("intervals", "dates") else ""
        print(
            f"{facts['values']:,} values on {facts['levels']} levels by {drafted.by} written to {output}: "
            f"look through it, then --hierarchy {as_word(column, output)}{as_labels}"
        )


@command(
    Flag(
        "config",
        Text,
        "What to compare.",
        metavar="JOB.TOML",
        is_path=True,
        is_argument=True,
        is_required=True,
    ),
    replace(OUTPUT, key="folder", metavar="FOLDER", help="Write the tables, as Parquet."),
    *(REPORT, *COVER, *PRINTING),
)
def scenario(
    context: typer.Context,
    config: str,
    folder: str | None,
    report: str | None,
    title: str | None,
    purpose: str | None,
    recipient: str | None,
    responsible: str | None,
    report_date: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Compare sanitizations by what miners tell users and adversaries.

    The job names the table and its roles, and lists its sanitization, good and bad tables.
    """
    from anon.command.scenario_job import load_scenario
    from anon.scenarios import NAMES

    job = load_scenario(config)
    read = [config, *job.read()]
    names = [] if folder is None else [str(Path(folder) / f"{name}.parquet") for name in NAMES]
    for output in names:
        keep(output, read)
    pages = pages_of(report, None, [*read, *names])
    compared = job.scenario()
    with progress_line(quiet or as_json) as progress:
        result = compared.run(n_threads=job.threads, progress=progress)
    if folder is not None:
        result.write(folder)
    reported: dict[str, Any] = {}
    if pages:
        from anon import pages as reports

        cover = reports.Cover(title, purpose, recipient, responsible, report_date)
        made = reports.of_scenario(result, origin=origin_of(context, read, names), cover=cover)
        reported = write_reports(pages, lambda audience: made)
    if as_json:
        print_json({**result.to_dict(), **reported})
        return
    print_notes(result.warnings, "warning")
    if not quiet:
        print_tables(*(print_grid(*each) for each in result.shown()))
        for statement in (
            *(each.statement for each in result.good),
            *(each.statement for each in result.bad),
        ):
            print(statement)


@command(
    Flag(
        "paper",
        str,
        "li2009, brickell2008, loukides2008, sramka2010, srivastava2005, or all.",
        metavar="PAPER",
        is_argument=True,
        is_required=True,
    ),
    Flag(
        "adult",
        Text,
        "Folder with UCI's adult.data and adult.test.",
        metavar="DIR",
        is_path=True,
    ),
    replace(OUTPUT, key="folder", help="Folder for PAPER.json and PAPER.html.", default="anon-papers"),
    Flag("quick", bool, "Run on samples.", default=False),
    Flag("threads", int, "Threads (all cores)."),
    *(JSON, QUIET),
)
def reproduce(
    paper: str, adult: str | None, folder: str, quick: bool, threads: int | None, as_json: bool, quiet: bool
) -> None:
    """Run a paper's experiments: what was published beside what is measured.

    anon reproduce li2009 --adult DIR -o papers
    """
    from anon import papers

    names = papers.PAPERS if paper == "all" else (paper,)
    papers.check_papers(names, adult)
    if os.path.exists(folder) and not os.path.isdir(folder):
        raise UsageError(f"the output {folder} is a file: name a folder")
    done = []
    for name in names:
        with progress_line(quiet or as_json) as progress:
            reproduced = papers.reproduce(
                name, adult=adult, quick=quick, n_threads=threads, progress=progress
            )
            written = [str(path) for path in reproduced.write(folder)]
        done.append({"files": written, **reproduced.to_dict()})
        if not (quiet or as_json):
            print_tables(*reproduction(reproduced, written))
    if as_json:
        print_json({"papers": {one["paper"]: one for one in done}})


@command(
    replace(ROWS, help="Rows of the census.", least=1),
    replace(OUTPUT, key="folder", help="Folder for both files.", default="anon-demo"),
    *(JSON, QUIET),
)
def demo(rows: int, folder: str, as_json: bool, quiet: bool) -> None:
    """Make a synthetic census, anonymize it, check the release, and write both files."""
    import anon
    from anon import datasets

    Path(folder).mkdir(parents=True, exist_ok=True)
    original, released = str(Path(folder) / "census.parquet"), str(Path(folder) / "release.parquet")
    require = [anon.KAnonymity(10), anon.LDiversity(3, kind="distinct")]
    with progress_line(quiet or as_json) as progress:
        datasets.write_census(rows, 0, original, progress)
        release = anon.anonymize(
            original,
            datasets.census_schema(),
            require=require,
            method=anon.Mondrian(),
            progress=progress,
        )
        release.write(released)
    privacy = None if quiet and not as_json else anon.check(released)
    report_release({"input": original, "output": released}, release, privacy, as_json)


@command(
    *(TABLE, ROWS),
    Flag("seed", int, "Same seed, same table.", default=0, least=0),
    *(JSON, QUIET),
    name="data census",
)
def data_census(output: str, rows: int, seed: int, as_json: bool, quiet: bool) -> None:
    """Write a synthetic census."""
    from anon import datasets

    with progress_line(quiet or as_json) as progress:
        datasets.write_census(rows, seed, output, progress)
    report_written(output, rows, as_json, quiet)


@command(
    Flag(
        "folder",
        Text,
        "Folder with adult.data and adult.test.",
        metavar="FOLDER",
        is_path=True,
        is_argument=True,
        is_required=True,
    ),
    TABLE,
    Flag("incomplete", bool, "Keep rows with missing values.", default=False),
    Flag("part", str, "all, train or test.", default="all"),
    *(JSON, QUIET),
    name="data adult",
)
def data_adult(folder: str, output: str, incomplete: bool, part: str, as_json: bool, quiet: bool) -> None:
    """Write the UCI Adult table, its files verified."""
    from anon import datasets

    table = datasets.adult(folder, complete=not incomplete, part=part)
    datasets.write_table(table, output)
    report_written(output, table.num_rows, as_json, quiet)
