# SPDX-License-Identifier: Apache-2.0
"""The commands that try, compare and choose."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from anon.command.app import app, data_app
from anon.command.inputs import job_of, keep, origin_of, pages_of, write_reports
from anon.command.options import (
    INPUT,
    METHOD,
    PUBLISH,
    SWEEP,
    Config,
    Delimiter,
    Encoding,
    Hierarchy,
    Identifying,
    Json,
    Kind,
    Neutral,
    Null,
    Ordinal,
    Output,
    Quasi,
    Quiet,
    ReportFile,
    Sensitive,
    ShowValues,
    Source,
    Weight,
    option,
    path_option,
)
from anon.command.progress import progress_line
from anon.command.words import (
    columns,
    frontier_words,
    print_grid,
    print_json,
    print_tables,
    report_release,
    report_written,
    reproduction,
)
from anon.errors import InfeasibleError, UsageError


@app.command()
def frontier(
    context: typer.Context,
    input: Annotated[str | None, typer.Argument(metavar="IN", help=INPUT, callback=path_option)] = None,
    output: Annotated[
        str | None,
        typer.Option("-o", "--output", help="The points: .parquet, .feather or .csv.", callback=path_option),
    ] = None,
    config: Config = None,
    quasi: Quasi = None,
    sensitive: Sensitive = None,
    identifying: Identifying = None,
    neutral: Neutral = None,
    hierarchy: Hierarchy = None,
    ordinal: Ordinal = None,
    kind: Kind = None,
    weight: Weight = None,
    grid: Annotated[
        list[str] | None,
        option(
            "--grid",
            "What to try, all combinations: k=10,50 t=0.05:0.4:8 method=mondrian,curve "
            "publish=generalization,bucketization (start:stop:count). May be repeated.",
            SWEEP,
        ),
    ] = None,
    privacy: Annotated[
        str | None, option("--privacy", "Measure on the axis of privacy (prosecutor.mean).", SWEEP)
    ] = None,
    utility: Annotated[
        str | None, option("--utility", "Measure on the axis of utility (gcp).", SWEEP)
    ] = None,
    measures: Annotated[
        list[str] | None, option("--measures", "Measures to record beside these: gcp,dm,t_equal.", SWEEP)
    ] = None,
    min_support: Annotated[
        float | None, option("--min-support", "Support of the populations of u_loss (0.05).", SWEEP)
    ] = None,
    queries: Annotated[
        list[str] | None,
        option("--query", "A COUNT query of count_error; may be repeated (1,000 drawn ones).", SWEEP),
    ] = None,
    choose: Annotated[
        str | None,
        option(
            "--choose",
            "Name the best point within a bound: max_prosecutor_mean=0.05, max_gcp=0.2.",
            SWEEP,
        ),
    ] = None,
    cache: Annotated[
        str | None,
        typer.Option(
            "--cache",
            metavar="FOLDER",
            help="Keep points here as they are measured; an interrupted sweep goes on from them.",
            callback=path_option,
            rich_help_panel=SWEEP,
        ),
    ] = None,
    seed: Annotated[int | None, option("--seed", "Where searches start (0); hides nothing.", METHOD)] = None,
    threads: Annotated[int | None, option("--threads", "Threads (all cores).", METHOD)] = None,
    missing: Annotated[
        str | None,
        option("--missing", "Missing values: category (default), suppress or error.", PUBLISH),
    ] = None,
    null: Null = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    report: ReportFile = None,
    as_json: Json = False,
    show_values: ShowValues = False,
    quiet: Quiet = False,
) -> None:
    """Try many releases of IN and show which are efficient: none other is as private and as useful.

    Nothing is released. What the job file requires holds for every point, the grid varies the rest.

    anon frontier people.csv --quasi age,sex,zip --sensitive disease --grid "k=5,10,50 method=mondrian,curve"
    """
    import anon
    from anon import datasets
    from anon.choice import let_memory_go

    job = job_of(context)
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
    told: dict[str, Any] = {}
    if pages:
        from anon import pages as reports

        made = reports.of_frontier(swept, chosen=chosen, origin=origin_of(context, read, [output]))
        told = write_reports(pages, lambda audience: made)
    if as_json:
        picked = {} if chosen is None else {"chosen": chosen.to_dict()}
        print_json({"input": job.input, "output": output, **swept.to_dict(), **picked, **told})
    elif not quiet:
        print_tables(*frontier_words(f"Frontier of {Path(job.input).name}", swept, chosen))
    if unkept is not None:
        raise unkept


@app.command()
def inspect(
    context: typer.Context,
    source: Source,
    job_file: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--output",
            metavar="JOB.TOML",
            help="Write the guesses as a job file, to be edited.",
            callback=path_option,
        ),
    ] = None,
    null: Null = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    as_json: Json = False,
    show_values: ShowValues = False,
) -> None:
    """Tell what the columns of FILE are like, and guess their roles. No value is shown."""
    from anon import verbs
    from anon.command.job_file import check_job_file, write_job_file

    job = job_of(context)
    if job_file is not None:
        check_job_file(job_file)
    inspected = verbs.inspect(source, **job.read_options())
    if job_file is not None:
        write_job_file(job_file, source, job.read_options(), inspected)
    if as_json:
        print_json(inspected.to_dict())
    else:
        print_tables(*columns(source, inspected))
        for column in inspected.columns:
            if column.note is not None:
                print(f"note: {column.note}", file=sys.stderr)


@app.command()
def scenario(
    context: typer.Context,
    config: Annotated[str, typer.Argument(metavar="JOB.TOML", help="What to compare.", callback=path_option)],
    folder: Annotated[
        str | None,
        typer.Option(
            "-o", "--output", metavar="FOLDER", help="Write the tables, as Parquet.", callback=path_option
        ),
    ] = None,
    report: ReportFile = None,
    as_json: Json = False,
    show_values: ShowValues = False,
    quiet: Quiet = False,
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
    told: dict[str, Any] = {}
    if pages:
        from anon import pages as reports

        made = reports.of_scenario(result, origin=origin_of(context, read, names))
        told = write_reports(pages, lambda audience: made)
    if as_json:
        print_json({**result.to_dict(), **told})
        return
    for warning in result.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    if not quiet:
        print_tables(*(print_grid(*each) for each in result.shown()))
        for statement in (
            *(each.statement for each in result.good),
            *(each.statement for each in result.bad),
        ):
            print(statement)


@app.command()
def reproduce(
    paper: Annotated[
        str,
        typer.Argument(
            metavar="PAPER",
            help="li2009, brickell2008, loukides2008, sramka2010, srivastava2005, or all.",
        ),
    ],
    adult: Annotated[
        str | None,
        typer.Option(
            "--adult",
            metavar="DIR",
            help="Folder with UCI's adult.data and adult.test.",
            callback=path_option,
        ),
    ] = None,
    folder: Annotated[
        str,
        typer.Option("-o", "--output", help="Folder for PAPER.json and PAPER.html.", callback=path_option),
    ] = "anon-papers",
    quick: Annotated[bool, typer.Option("--quick", help="Run on samples.")] = False,
    threads: Annotated[int | None, typer.Option("--threads", help="Threads (all cores).")] = None,
    as_json: Json = False,
    quiet: Quiet = False,
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
            found = papers.reproduce(name, adult=adult, quick=quick, n_threads=threads, progress=progress)
            written = [str(path) for path in found.write(folder)]
        done.append({"files": written, **found.to_dict()})
        if not (quiet or as_json):
            print_tables(*reproduction(found, written))
    if as_json:
        print_json({"papers": {one["paper"]: one for one in done}})


@app.command()
def demo(
    rows: Annotated[int, typer.Option("--rows", min=1, help="Rows of the census.")] = 200_000,
    folder: Annotated[
        str, typer.Option("-o", "--output", help="Folder for both files.", callback=path_option)
    ] = "anon-demo",
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
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


@data_app.command("census")
def data_census(
    output: Output,
    rows: Annotated[int, typer.Option("--rows", min=0, help="Number of rows.")] = 200_000,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Same seed, same table.")] = 0,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write a synthetic census."""
    from anon import datasets

    with progress_line(quiet or as_json) as progress:
        datasets.write_census(rows, seed, output, progress)
    report_written(output, rows, as_json, quiet)


@data_app.command("adult")
def data_adult(
    folder: Annotated[
        str, typer.Argument(help="Folder with adult.data and adult.test.", callback=path_option)
    ],
    output: Output,
    incomplete: Annotated[bool, typer.Option("--incomplete", help="Keep rows with missing values.")] = False,
    part: Annotated[str, typer.Option("--part", help="all, train or test.")] = "all",
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write the UCI Adult table, its files verified."""
    from anon import datasets

    table = datasets.adult(folder, complete=not incomplete, part=part)
    datasets.write_table(table, output)
    report_written(output, table.num_rows, as_json, quiet)
