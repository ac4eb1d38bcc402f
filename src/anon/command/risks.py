# SPDX-License-Identifier: Apache-2.0
"""The commands that tell how likely the people of a table are found."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import typer

from anon.command.app import command
from anon.command.inputs import (
    cover_of,
    keep,
    origin_of,
    pages_of,
    people_of,
    reading_options,
    write_reports,
)
from anon.command.options import (
    CONFIG,
    COVER,
    CSV,
    FILE,
    OF_POPULATION,
    OUTPUT,
    PRINTING,
    QUERY,
    REPORT,
    ROLES,
    SOURCE,
    Flag,
    Text,
)
from anon.command.parse import names, whole_numbers
from anon.command.words import name_of, print_grid, print_json, print_notes, print_tables
from anon.errors import UsageError

if TYPE_CHECKING:
    from anon.command.job import Job
    from anon.html import Table

TABLE = replace(SOURCE, help=f"{FILE} Default: the input of the job.", is_required=False)
PER_ROW = Flag(
    "per_row",
    Text,
    "Write the risk of every row, in the order of the table: .parquet, .feather or .csv.",
    metavar="OUT",
    is_path=True,
)
RISK_K = Flag(
    "risk_k",
    str,
    "Count rows with a risk above 1/k, for each of these k.",
    default="2,5,10,20",
    parse=partial(whole_numbers, "--risk-k"),
)


@command(
    *(TABLE, CONFIG, *ROLES, *OF_POPULATION),
    Flag(
        "model",
        str,
        "Of population uniques: dankar (a rule), zayatz, pitman, snb or thinned.",
        default="dankar",
    ),
    Flag("nulls", str, "A missing value is one more (own), or matches any (wildcard).", default="own"),
    Flag("approximate", bool, "The approximation that sdcMicro takes by default.", default=False),
    *(RISK_K, PER_ROW, *CSV, QUERY, REPORT, *COVER, *PRINTING),
)
def risk(
    context: typer.Context,
    job: Job,
    source: str | None,
    config: str | None,
    model: str,
    nulls: str,
    approximate: bool,
    risk_k: tuple[int, ...],
    per_row: str | None,
    report: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Tell how likely the person of each row of FILE is found in the population it was drawn from.

    anon risk sample.csv --quasi age,sex,zip --sampling-fraction 0.05
    """
    import anon
    from anon import datasets
    from anon.measures import risk_table

    source = _source(source, job)
    read = [source, job.population, config, *job.files()]
    if per_row is not None:
        datasets.check_output(per_row)
        keep(per_row, read)
    pages = pages_of(report, None, [*read, per_row])
    options: dict[str, Any] = {"model": model, "nulls": nulls}
    result = anon.risk(
        anon.read_source(source, **reading_options(context, job, source)),
        job.roles(),
        population=people_of(context, job),
        sampling_fraction=job.sampling_fraction,
        method="approx" if approximate else "exact",
        at_risk=risk_k,
        **options,
    )
    if per_row is not None:
        datasets.write_table(result.per_row(), per_row)
    written: dict[str, Any] = {}
    if pages:
        from anon import pages as reports

        made = reports.of_risk(result, origin=origin_of(context, read, [per_row]), cover=cover_of(job))
        written = write_reports(pages, lambda audience: made)
    if as_json:
        print_json({**result.to_dict(), **written})
    elif not quiet:
        _print(source, risk_table(result.to_dict()))


@command(
    *(TABLE, CONFIG, *ROLES),
    Flag("max_size", int, "Look at sets of so many attributes at most (all).", least=1),
    Flag("scores", str, "Weight of a set of s of m attributes: elliot, (m - s)!, or ihsn.", default="elliot"),
    Flag(
        "sampling_fraction",
        float,
        "Share of a population that the table holds, for DIS-SUDA.",
        metavar="SHARE",
    ),
    Flag("riskiest", int, "How many of the riskiest rows to list, by number.", default=10, least=0),
    replace(
        PER_ROW, help="Write the score of every row, in the order of the table: .parquet, .feather or .csv."
    ),
    *(*CSV, QUERY, REPORT, *COVER, *PRINTING),
)
def suda(
    context: typer.Context,
    job: Job,
    source: str | None,
    config: str | None,
    max_size: int | None,
    scores: str,
    riskiest: int,
    per_row: str | None,
    report: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Find the rows of FILE that few attributes single out (SUDA2), and what each attribute contributes.

    anon suda sample.csv --quasi age,sex,zip,occupation --max-size 3
    """
    import anon
    from anon import datasets
    from anon.measures import suda_tables

    source = _source(source, job)
    read = [source, config, *job.files()]
    if per_row is not None:
        datasets.check_output(per_row)
        keep(per_row, read)
    pages = pages_of(report, None, [*read, per_row])
    options: dict[str, Any] = {"scores": scores}
    result = anon.suda(
        anon.read_source(source, **reading_options(context, job, source)),
        job.roles(),
        max_size=max_size,
        sampling_fraction=job.sampling_fraction,
        **options,
    )
    if per_row is not None:
        datasets.write_table(result.per_row(), per_row)
    listed = result.riskiest(riskiest).to_pylist()
    written: dict[str, Any] = {}
    if pages:
        from anon import pages as reports

        made = reports.of_suda(
            result, riskiest=riskiest, origin=origin_of(context, read, [per_row]), cover=cover_of(job)
        )
        written = write_reports(pages, lambda audience: made)
    if as_json:
        print_json({**result.to_dict(), "riskiest": listed, **written})
    elif not quiet:
        _print(source, *suda_tables(result.to_dict(), listed))


@command(
    replace(SOURCE, help=FILE),
    Flag("columns", list[str], "Columns to look at (all).", metavar="A,B,C", parse=names),
    Flag("max_size", int, "Sets of so many columns at most.", default=2, least=1),
    Flag("most", int, "How many of the sets that tell most to list.", default=20, least=0),
    replace(OUTPUT, help="Every set: .parquet, .feather or .csv."),
    *(*CSV, QUERY, *PRINTING),
)
def discover(
    job: Job,
    source: str,
    columns: list[str] | None,
    max_size: int,
    most: int,
    output: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Show which sets of columns tell the rows of FILE apart: what to take as quasi-identifiers.

    anon discover people.csv --max-size 3
    """
    import anon
    from anon import datasets
    from anon.tables import reading
    from anon.verbs import as_table

    if output is not None:
        datasets.check_output(output)
        keep(output, [source])
    table = anon.read_source(source, **reading(source, job.read_options()))
    result = anon.discover(table, columns, max_size=max_size)
    if output is not None:
        datasets.write_table(as_table(result.sets), output)
    if as_json:
        print_json(result.to_dict())
    elif not quiet:
        table = as_table(result.most(most))
        rows = [tuple(row.values()) for row in table.to_pylist()]
        print_tables(print_grid(f"{name_of(source)}: sets that tell most", table.column_names, rows))
        print_notes(f"column {name!r} has no values to count" for name in result.not_counted)


def _source(source: str | None, job: Job) -> str:
    path = job.input if source is None else source
    if path is None:
        raise UsageError("no file: name the one to look at")
    return path


def _print(source: str, *tables: Table) -> None:
    """Tables of a page on the terminal; the first is titled with the file's name."""
    titles = [tables[0].title, *(table.title for table in tables[1:])]
    titles[0] = f"{name_of(source)}: {titles[0][:1].lower()}{titles[0][1:]}"
    print_tables(
        *(
            print_grid(
                title, table.header, [(str(row[0]).replace("\n", ": "), *row[1:]) for row in table.rows]
            )
            for title, table in zip(titles, tables, strict=True)
        )
    )
