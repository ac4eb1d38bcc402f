# SPDX-License-Identifier: Apache-2.0
"""The options that several commands share."""

from __future__ import annotations

from typing import Annotated, Any

import typer

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
SamplingFraction = Annotated[
    float | None,
    typer.Option(
        "--sampling-fraction",
        metavar="SHARE",
        help="Share of a population that the table holds, for journalist and marketer risk.",
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


K = Annotated[int | None, option("--k", "k-anonymity: rows of a class.", REQUIRE)]
L = Annotated[float | None, option("--l", "l-diversity.", REQUIRE)]
LKind = Annotated[
    str | None,
    option("--l-kind", "probabilistic (default), distinct, entropy or recursive.", REQUIRE),
]
C = Annotated[float | None, option("--c", "c of recursive (c,l)-diversity (3).", REQUIRE)]
T = Annotated[float | None, option("--t", "t-closeness.", REQUIRE)]
TDistance = Annotated[
    str | None, option("--t-distance", "js (default), equal, ordered or hierarchical.", REQUIRE)
]
Delta = Annotated[float | None, option("--delta", "δ-disclosure privacy.", REQUIRE)]
Alpha = Annotated[float | None, option("--alpha", "(α,k)-anonymity, with --k.", REQUIRE)]
Beta = Annotated[float | None, option("--beta", "β-likeness.", REQUIRE)]
Enhanced = Annotated[
    bool | None, option("--enhanced/--basic", "Enhanced β-likeness (default: basic).", REQUIRE)
]
SBound = Annotated[float | None, option("--s-bound", "Bound of S-diversity.", REQUIRE)]
R = Annotated[float | None, option("--r", "Range r of S-diversity (1).", REQUIRE)]

Epsilon = Annotated[
    list[str] | None,
    option("--epsilon", "Laplace: ε of each attribute, or COLUMN=ε; may be repeated.", METHOD),
]
Bounds = Annotated[
    list[str] | None,
    option("--bounds", "Laplace: public bounds as COLUMN=17..99, or data (no guarantee).", METHOD),
]
Sensitivity = Annotated[
    list[str] | None, option("--sensitivity", "Laplace: in place of upper - lower, or COLUMN=S.", METHOD)
]
Rounding = Annotated[
    list[str] | None, option("--rounding", "Laplace: round to so many decimals, or COLUMN=N.", METHOD)
]
Clip = Annotated[
    bool | None,
    option("--clip/--no-clip", "Laplace: clip values to the bounds before noise (default).", METHOD),
]
Clamp = Annotated[
    bool | None,
    option("--clamp/--no-clamp", "Laplace: put published values into the bounds (default: not).", METHOD),
]
