# SPDX-License-Identifier: Apache-2.0
"""The commands that tell how likely the people of a table are found."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anon.command.app import app
from anon.command.inputs import job_of, keep, people_of, reading_options, whole_numbers
from anon.command.options import (
    INPUT,
    Config,
    Delimiter,
    Encoding,
    Hierarchy,
    Json,
    Kind,
    Null,
    Ordinal,
    Population,
    Quasi,
    Quiet,
    SamplingFraction,
    SamplingWeight,
    ShowValues,
    path_option,
)
from anon.command.words import print_grid, print_json, print_tables
from anon.errors import UsageError

if TYPE_CHECKING:
    from anon.command.job import Job

File = Annotated[
    str | None,
    typer.Argument(metavar="FILE", help=f"{INPUT} Default: the input of the job.", callback=path_option),
]
PerRow = Annotated[
    str | None,
    typer.Option(
        "--per-row",
        metavar="OUT",
        help="Write the risk of every row, in the order of the table: .parquet, .feather or .csv.",
        callback=path_option,
    ),
]


@app.command()
def risk(
    context: typer.Context,
    source: File = None,
    config: Config = None,
    quasi: Quasi = None,
    hierarchy: Hierarchy = None,
    ordinal: Ordinal = None,
    kind: Kind = None,
    population: Population = None,
    sampling_fraction: SamplingFraction = None,
    sampling_weight: SamplingWeight = None,
    household: Annotated[
        str | None,
        typer.Option(
            "--household", metavar="COLUMN", help="Rows with equal values are one household: its risk too."
        ),
    ] = None,
    model: Annotated[
        str, typer.Option("--model", help="Of population uniques: dankar (a rule), zayatz, pitman or snb.")
    ] = "dankar",
    nulls: Annotated[
        str, typer.Option("--nulls", help="A missing value is one more (own), or matches any (wildcard).")
    ] = "own",
    approximate: Annotated[
        bool, typer.Option("--approximate", help="The approximation that sdcMicro takes by default.")
    ] = False,
    risk_k: Annotated[
        str, typer.Option("--risk-k", help="Count rows with a risk above 1/k, for each of these k.")
    ] = "2,5,10,20",
    per_row: PerRow = None,
    null: Null = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    as_json: Json = False,
    show_values: ShowValues = False,
    quiet: Quiet = False,
) -> None:
    """Tell how likely the person of each row of FILE is found in the population it was drawn from.

    anon risk sample.csv --quasi age,sex,zip --sampling-fraction 0.05
    """
    import anon
    from anon.measures import risk_table

    job = job_of(context)
    source = _source(source, job)
    if per_row is not None:
        keep(per_row, [source, population, config, *job.files()])
    options: dict[str, Any] = {"model": model, "nulls": nulls}
    found = anon.risk(
        anon.read_source(source, **reading_options(context, job, source)),
        job.roles(),
        population=people_of(context, job, population),
        sampling_fraction=sampling_fraction,
        weights=sampling_weight,
        household=household,
        method="approx" if approximate else "exact",
        at_risk=whole_numbers("--risk-k", risk_k),
        **options,
    )
    if per_row is not None:
        from anon.datasets import write_table

        write_table(found.per_row(), per_row)
    told = found.to_dict()
    if as_json:
        print_json(told)
    elif not quiet:
        table = risk_table(told)
        title = f"{Path(source).name}: {table.title[:1].lower()}{table.title[1:]}"
        print_tables(print_grid(title, table.header, [_one_line(row) for row in table.rows]))


def _source(source: str | None, job: Job) -> str:
    path = job.input if source is None else source
    if path is None:
        raise UsageError("no file: name the one to look at")
    return path


def _one_line(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """A row whose name has no note below it."""
    return (str(row[0]).replace("\n", ": "), *row[1:])
