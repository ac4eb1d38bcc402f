# SPDX-License-Identifier: Apache-2.0
"""The options that several commands share."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer

from anon.choice import PUBLISHED
from anon.requirements import REQUIREMENT_OPTIONS, Option

ROLES, REQUIRE, METHOD, PUBLISH, READ, OUTPUT, SWEEP = (
    *("Columns", "What the release must satisfy", "How it is made"),
    *("How it is published", "How the input is read", "Output of the command", "What to try"),
)


def path_option(path: str | None) -> str | None:
    """An empty path would mean the current directory; Arrow opens UTF-8 paths alone."""
    if path == "":
        raise typer.BadParameter("the path is empty")
    if path is not None and path != path.encode(errors="replace").decode():
        raise typer.BadParameter("the path is not UTF-8: rename the file")
    return path


INPUT = "Parquet, Feather/IPC or CSV file, a directory or a glob."
Source = Annotated[str, typer.Argument(metavar="FILE", help=INPUT, callback=path_option)]
Output = Annotated[
    str, typer.Option("-o", "--output", help=".parquet, .feather or .csv file.", callback=path_option)
]
Quasi = Annotated[
    list[str] | None,
    typer.Option("--quasi", metavar="A,B,C", help="Quasi-identifiers.", rich_help_panel=ROLES),
]
Sensitive = Annotated[
    list[str] | None,
    typer.Option("--sensitive", metavar="A,B,C", help="Sensitive attributes.", rich_help_panel=ROLES),
]
Identifying = Annotated[
    list[str] | None,
    typer.Option(
        "--identifying", metavar="A,B,C", help="Identifiers; they are dropped.", rich_help_panel=ROLES
    ),
]
Hierarchy = Annotated[
    list[str] | None,
    typer.Option(
        "--hierarchy",
        metavar="COLUMN=FILE",
        help="ARX CSV file, intervals:5,10,20, prefix:4,3,2, or dates:UNITS of month, quarter, year, decade. "
        "Those of numbers and dates are used as predicates and by --numeric level only.",
        rich_help_panel=ROLES,
    ),
]
Ordinal = Annotated[
    list[str] | None,
    typer.Option(
        "--ordinal",
        metavar="COLUMN=A<B<C",
        help="The order of an ordinal column, or a file with one value per line, lowest first.",
        rich_help_panel=ROLES,
    ),
]
Kind = Annotated[
    list[str] | None,
    typer.Option(
        "--kind",
        metavar="COLUMN=KIND",
        help="Read a column as numeric or nominal, whatever its type.",
        rich_help_panel=ROLES,
    ),
]
Weight = Annotated[
    list[str] | None,
    typer.Option(
        "--weight", metavar="COLUMN=W", help="Weight of a quasi-identifier (1).", rich_help_panel=ROLES
    ),
]
Config = Annotated[
    str | None,
    typer.Option(
        "--config",
        metavar="JOB.TOML",
        help="Job file with any of these settings; flags override it.",
        callback=path_option,
    ),
]
Null = Annotated[
    list[str] | None,
    typer.Option(
        "--null", help="CSV text that means a missing value; may be repeated.", rich_help_panel=READ
    ),
]
Delimiter = Annotated[str | None, typer.Option("--delimiter", help="CSV delimiter.", rich_help_panel=READ)]
Encoding = Annotated[str | None, typer.Option("--encoding", help="CSV encoding.", rich_help_panel=READ)]
Engine = Annotated[
    str | None,
    typer.Option(
        "--engine",
        help="local: the table in memory; stream: the rows stay in the files (default: as --memory allows); "
        "spark (anonymize only): Parquet to a folder of Parquet, by many workers.",
        rich_help_panel=READ,
    ),
]
Memory = Annotated[
    str | None,
    typer.Option(
        "--memory",
        metavar="SIZE",
        help="Memory to use, such as 4G (half the machine's).",
        rich_help_panel=READ,
    ),
]
Spill = Annotated[
    str | None,
    typer.Option(
        "--spill",
        metavar="FOLDER",
        help="Folder for temporary files of --engine stream (codes in memory, rows beside the output).",
        rich_help_panel=READ,
        callback=path_option,
    ),
]
SensitiveTable = Annotated[
    str | None,
    typer.Option(
        "--sensitive-table",
        metavar="FILE",
        help="The second table of a bucketization, where it is not beside the first.",
        callback=path_option,
    ),
]
Population = Annotated[
    str | None,
    typer.Option(
        "--population",
        metavar="FILE",
        help="Table of the population, for the risk of the rows there.",
        callback=path_option,
    ),
]
SamplingWeight = Annotated[
    str | None,
    typer.Option(
        "--sampling-weight",
        metavar="COLUMN",
        help="Column with the number of people of the population that each row stands for.",
    ),
]
SamplingFraction = Annotated[
    float | None,
    typer.Option(
        "--sampling-fraction",
        metavar="SHARE",
        help="Share of a population that the table holds: risk of its rows there, and estimated uniques.",
    ),
]
ReportFile = Annotated[
    str | None,
    typer.Option(
        "--report",
        metavar="HTML",
        help="Write a report with figures, for the owner of the data alone: one page that needs no network "
        "(extra eval).",
        callback=path_option,
        rich_help_panel=OUTPUT,
    ),
]
PublicReport = Annotated[
    str | None,
    typer.Option(
        "--report-public",
        metavar="HTML",
        help="Write a page that may be handed out with the release: measures rounded away from the promise, "
        "nothing of the input.",
        callback=path_option,
        rich_help_panel=OUTPUT,
    ),
]
Json = Annotated[
    bool,
    typer.Option(
        "--json",
        help="One JSON object on stdout, errors too; for the owner of the data alone.",
        rich_help_panel=OUTPUT,
    ),
]
ShowValues = Annotated[  # read by `main`, which prints the errors
    bool,
    typer.Option(
        "--show-values", help="Let error messages show the cell they are about.", rich_help_panel=OUTPUT
    ),
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print errors and warnings only.", rich_help_panel=OUTPUT)
]


def option(flag: str, help: str, panel: str) -> Any:
    return typer.Option(flag, help=help, rich_help_panel=panel)


FLAG_TYPES = (int, float, bool)  # others are words, which a job makes its own of


def declared(**after: Sequence[Option]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command, behind the parameters named, the flags of what requirements and methods declare.

    The command takes them as `**asked`, and reads them from its context as a job.
    """

    def give(command: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(command, eval_str=True)
        parameters: list[inspect.Parameter] = []
        for parameter in signature.parameters.values():
            if parameter.kind is inspect.Parameter.VAR_KEYWORD:
                continue
            parameters.append(parameter)
            for each in after.get(parameter.name, ()):
                parameters.append(_parameter(each))
        command.__annotations__ = {each.name: each.annotation for each in parameters}
        command.__dict__["__signature__"] = signature.replace(parameters=parameters)
        return command

    return give


def _parameter(declared: Option) -> inspect.Parameter:
    text = declared.flag
    if declared.kind is bool:
        text += f"/--{declared.off or f'no-{text[2:]}'}"
    kind: Any = declared.kind if declared.kind in FLAG_TYPES else list[str] if declared.by_column else str
    panel = REQUIRE if declared in REQUIREMENT_OPTIONS else PUBLISH if declared in PUBLISHED else METHOD
    return inspect.Parameter(
        declared.key,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
        default=None,
        annotation=Annotated[kind | None, option(text, declared.help, panel)],
    )
