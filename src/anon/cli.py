# SPDX-License-Identifier: Apache-2.0
"""The `anon` command: nothing but parsing and printing."""

from __future__ import annotations

import glob
import io
import json
import math
import os
import re
import shlex
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import is_dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from anon.errors import AnonError, DataError, InfeasibleError, UsageError
from anon.plain import as_plain

if TYPE_CHECKING:
    from rich.table import Table

    from anon.frontier import Frontier, Point
    from anon.inspection import Inspection
    from anon.job import Job
    from anon.report import Audience, Origin, Report

Progress = Callable[[str, int, int], None]

app = typer.Typer(
    help="Anonymize tabular microdata, and measure what a release protects and what it costs.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version.", is_eager=True)] = False,
) -> None:
    if version:
        import anon

        print(f"anon {anon.__version__}")
        raise typer.Exit


data_app = typer.Typer(help="Make a synthetic table, or read a known one.", no_args_is_help=True)
app.add_typer(data_app, name="data")


SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


class Stopped(BaseException):
    """One of SIGNALS, as an exception: temporary files are removed on its way out."""


ROLES, REQUIRE, METHOD, PUBLISH, READ, OUTPUT, SWEEP = (
    *("Columns", "What the release must satisfy", "How it is made"),
    *("How it is published", "How the input is read", "Output of the command", "What to try"),
)


def _path(path: str | None) -> str | None:
    """An empty path would mean the current directory; Arrow opens UTF-8 paths alone."""
    if path == "":
        raise typer.BadParameter("the path is empty")
    if path is not None and path != path.encode(errors="replace").decode():
        raise typer.BadParameter("the path is not UTF-8: rename the file")
    return path


INPUT = "Parquet, Feather/IPC or CSV file, a directory or a glob."
Source = Annotated[str, typer.Argument(metavar="FILE", help=INPUT, callback=_path)]
Output = Annotated[
    str, typer.Option("-o", "--output", help=".parquet, .feather or .csv file.", callback=_path)
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
        callback=_path,
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
        callback=_path,
    ),
]
SensitiveTable = Annotated[
    str | None,
    typer.Option(
        "--sensitive-table",
        metavar="FILE",
        help="The second table of a bucketization, where it is not beside the first.",
        callback=_path,
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
        callback=_path,
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
        callback=_path,
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


def _option(flag: str, help: str, panel: str) -> Any:
    return typer.Option(flag, help=help, rich_help_panel=panel)


K = Annotated[int | None, _option("--k", "k-anonymity: rows of a class.", REQUIRE)]
L = Annotated[float | None, _option("--l", "l-diversity.", REQUIRE)]
LKind = Annotated[
    str | None,
    _option("--l-kind", "probabilistic (default), distinct, entropy or recursive.", REQUIRE),
]
C = Annotated[float | None, _option("--c", "c of recursive (c,l)-diversity (3).", REQUIRE)]
T = Annotated[float | None, _option("--t", "t-closeness.", REQUIRE)]
TDistance = Annotated[
    str | None, _option("--t-distance", "js (default), equal, ordered or hierarchical.", REQUIRE)
]
Delta = Annotated[float | None, _option("--delta", "δ-disclosure privacy.", REQUIRE)]
Alpha = Annotated[float | None, _option("--alpha", "(α,k)-anonymity, with --k.", REQUIRE)]
Beta = Annotated[float | None, _option("--beta", "β-likeness.", REQUIRE)]
Enhanced = Annotated[
    bool | None, _option("--enhanced/--basic", "Enhanced β-likeness (default: basic).", REQUIRE)
]
SBound = Annotated[float | None, _option("--s-bound", "Bound of S-diversity.", REQUIRE)]
R = Annotated[float | None, _option("--r", "Range r of S-diversity (1).", REQUIRE)]

Epsilon = Annotated[
    list[str] | None,
    _option("--epsilon", "Laplace: ε of each attribute, or COLUMN=ε; may be repeated.", METHOD),
]
Bounds = Annotated[
    list[str] | None,
    _option("--bounds", "Laplace: public bounds as COLUMN=17..99, or data (no guarantee).", METHOD),
]
Sensitivity = Annotated[
    list[str] | None, _option("--sensitivity", "Laplace: in place of upper - lower, or COLUMN=S.", METHOD)
]
Rounding = Annotated[
    list[str] | None, _option("--rounding", "Laplace: round to so many decimals, or COLUMN=N.", METHOD)
]
Clip = Annotated[
    bool | None,
    _option("--clip/--no-clip", "Laplace: clip values to the bounds before noise (default).", METHOD),
]
Clamp = Annotated[
    bool | None,
    _option("--clamp/--no-clamp", "Laplace: put published values into the bounds (default: not).", METHOD),
]


@app.command()
def anonymize(
    context: typer.Context,
    input: Annotated[
        str | None,
        typer.Argument(metavar="IN", help=INPUT, callback=_path),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option("-o", "--output", help="The release: .parquet, .feather or .csv.", callback=_path),
    ] = None,
    config: Config = None,
    quasi: Quasi = None,
    sensitive: Sensitive = None,
    identifying: Identifying = None,
    hierarchy: Hierarchy = None,
    ordinal: Ordinal = None,
    kind: Kind = None,
    weight: Weight = None,
    k: K = None,
    l: L = None,
    l_kind: LKind = None,
    c: C = None,
    t: T = None,
    t_distance: TDistance = None,
    delta: Delta = None,
    alpha: Alpha = None,
    beta: Beta = None,
    enhanced: Enhanced = None,
    s_bound: SBound = None,
    r: R = None,
    method: Annotated[
        str | None,
        _option(
            "--method",
            "mondrian (default), kmembers, curve, tgc, anatomy, laplace, identity, suppress-quasi, "
            "suppress-sensitive.",
            METHOD,
        ),
    ] = None,
    split: Annotated[
        str | None,
        _option(
            "--split",
            "widest (default), most-repeated, least-repeated, information-gain, or columns by priority.",
            METHOD,
        ),
    ] = None,
    cuts: Annotated[str | None, _option("--cuts", "nearest (default) or median.", METHOD)] = None,
    relaxed: Annotated[
        bool | None,
        _option("--relaxed/--strict", "Share out the rows equal to the median (default: strict).", METHOD),
    ] = None,
    target: Annotated[str | None, _option("--target", "Target of --split information-gain.", METHOD)] = None,
    objective: Annotated[
        str | None, _option("--objective", "K-Members grows for utility (default) or protection.", METHOD)
    ] = None,
    loss: Annotated[
        str | None, _option("--loss", "ncp (default); byun for K-Members; ordered for Curve.", METHOD)
    ] = None,
    refine: Annotated[
        bool | None,
        _option("--refine/--no-refine", "Curve improves its first classes (default: refine).", METHOD),
    ] = None,
    ties: Annotated[
        str | None,
        _option("--ties", "K-Members, TGC and Curve break ties by rank (default) or input.", METHOD),
    ] = None,
    w_u: Annotated[
        float | None, _option("--w-u", "TGC: weight of utility (0.5); --w-p is the rest.", METHOD)
    ] = None,
    w_p: Annotated[float | None, _option("--w-p", "TGC: weight of protection (0.5).", METHOD)] = None,
    s: Annotated[int | None, _option("--s", "TGC: least rows of a subspace (5 k).", METHOD)] = None,
    variant: Annotated[
        str | None, _option("--variant", "TGC: default, or printed as in the paper.", METHOD)
    ] = None,
    epsilon: Epsilon = None,
    bounds: Bounds = None,
    sensitivity: Sensitivity = None,
    rounding: Rounding = None,
    clip: Clip = None,
    clamp: Clamp = None,
    seed: Annotated[int | None, _option("--seed", "Where searches start (0); hides nothing.", METHOD)] = None,
    threads: Annotated[int | None, _option("--threads", "Threads (all cores).", METHOD)] = None,
    publish: Annotated[
        str | None, _option("--publish", "generalization (default) or bucketization.", PUBLISH)
    ] = None,
    numeric: Annotated[
        str | None, _option("--numeric", "interval (default), bounds, midpoint, mean or level.", PUBLISH)
    ] = None,
    missing: Annotated[
        str | None,
        _option("--missing", "Missing values: category (default), suppress or error.", PUBLISH),
    ] = None,
    order: Annotated[
        str | None, _option("--order", "Rows by class (default), or as in the input.", PUBLISH)
    ] = None,
    csv_guard: Annotated[
        bool | None,
        _option(
            "--csv-guard/--no-csv-guard",
            "An apostrophe before CSV cells that spreadsheets would run as formulas (default: not).",
            PUBLISH,
        ),
    ] = None,
    on_infeasible: Annotated[
        str | None,
        _option("--on-infeasible", "What no release can meet: error (default) or trivial.", PUBLISH),
    ] = None,
    population: Annotated[
        str | None,
        typer.Option(
            "--population",
            metavar="FILE",
            help="Table of the population, for journalist and marketer risk.",
            callback=_path,
        ),
    ] = None,
    sampling_fraction: SamplingFraction = None,
    null: Null = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    report: ReportFile = None,
    report_public: PublicReport = None,
    engine: Engine = None,
    memory: Memory = None,
    spill: Spill = None,
    as_json: Json = False,
    show_values: ShowValues = False,
    quiet: Quiet = False,
) -> None:
    """Write a release of IN that satisfies every requirement.

    Columns without a role are neutral: published unchanged.

    anon anonymize people.csv -o release.csv --quasi age,sex,zip --sensitive disease --k 10
    """
    import anon
    from anon.formulas import refuse_guard

    job = _job(context)
    schema = job.roles()
    if schema is None:
        raise UsageError("no column has a role: name the quasi-identifiers with --quasi")
    require, configured = job.requirements(), job.configured_method()
    if not require and job.method == "mondrian":
        raise UsageError("nothing is required: give at least one requirement, such as --k 10")
    source, output = _ends(job, config, population)
    read = [source, config, population, *job.files()]
    written = _outputs(job)
    pages = _pages(job.report, job.report_public, [*read, *written])
    if job.csv_guard:
        refuse_guard("" if job.engine == "spark" else Path(output).suffix)
    if job.engine == "spark":
        if pages or population or sampling_fraction:
            raise UsageError("on Spark there is no report and no population: check the release afterwards")
        from anon.scale.submit import run

        with _progress(quiet or as_json) as progress, warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", anon.PrivacyWarning)
            measured = run(job, progress)
        warned = [str(one.message) for one in caught if issubclass(one.category, anon.PrivacyWarning)]
        ends = {"input": source, "output": output}
        _report_spark(ends, measured, warned, _notes_of(job.publish), as_json, quiet)
        return
    with _progress(quiet or as_json) as progress, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", anon.PrivacyWarning)
        release = anon.anonymize(
            anon.read_source(source, **job.read_options()),
            schema,
            require=require,
            method=configured,
            progress=progress,
            **job.options(),
        )
        caught.clear()  # the report shows the release's own
        if release.meets_requirements:
            release.write(output, **job.write_options())
    notes = [str(one.message) for one in caught if issubclass(one.category, anon.PrivacyWarning)]
    files = {"input": source, "output": output if release.meets_requirements else None}
    privacy = None
    if as_json or pages or not quiet:
        privacy = release.privacy(
            population=population, sampling_fraction=sampling_fraction, per_class="owner" in pages
        )
    told: dict[str, Any] = {}
    if "public" in pages and not release.meets_requirements:
        print("note: no release was written, and so no page that may be handed out", file=sys.stderr)
        del pages["public"]
    if pages:
        from anon import report as reports

        made = written if release.meets_requirements else []
        utility, origin = release.utility(), _origin(context, read, made, made)

        def about(audience: Audience) -> Report:
            return reports.of_release(
                release, privacy=privacy, utility=utility, origin=origin, audience=audience
            )

        told = _write_reports(pages, about)
    _report_release(files, release, None if quiet and not as_json else privacy, as_json, told, notes)
    if not release.meets_requirements:
        raise typer.Exit(InfeasibleError.exit_code)


@app.command()
def check(
    context: typer.Context,
    source: Annotated[
        str | None,
        typer.Argument(metavar="FILE", help=f"{INPUT} Default: the output of the job.", callback=_path),
    ] = None,
    config: Config = None,
    quasi: Quasi = None,
    sensitive: Sensitive = None,
    identifying: Identifying = None,
    hierarchy: Hierarchy = None,
    ordinal: Ordinal = None,
    kind: Kind = None,
    k: K = None,
    l: L = None,
    l_kind: LKind = None,
    c: C = None,
    t: T = None,
    t_distance: TDistance = None,
    delta: Delta = None,
    alpha: Alpha = None,
    beta: Beta = None,
    enhanced: Enhanced = None,
    s_bound: SBound = None,
    r: R = None,
    roles_from_file: Annotated[
        bool,
        _option("--roles-from-file", "Believe the roles that the file claims, and its hierarchies.", ROLES),
    ] = False,
    risk_k: Annotated[
        str, typer.Option("--risk-k", help="Share of rows at risk above 1/k, for each of these k.")
    ] = "2,5,10,20",
    sensitive_table: SensitiveTable = None,
    sampling_fraction: SamplingFraction = None,
    per_class: Annotated[
        str | None,
        typer.Option(
            "--per-class",
            metavar="OUT",
            help="Write the measures of every class.",
            callback=_path,
        ),
    ] = None,
    null: Null = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    report: ReportFile = None,
    report_public: PublicReport = None,
    engine: Engine = None,
    memory: Memory = None,
    spill: Spill = None,
    as_json: Json = False,
    show_values: ShowValues = False,
    quiet: Quiet = False,
) -> None:
    """Measure the privacy of FILE, made by anyone; exit with 1 if it does not meet what is required.

    A Parquet or Feather release of anon claims roles for its columns; for other files, and to trust no such
    claim, name them with --quasi and --sensitive.
    """
    import anon
    from anon import datasets
    from anon.privacy import ROLES_FROM_FILE
    from anon.release import sensitive_path

    job = _job(context)
    source = job.output if source is None else source
    if source is None:
        raise UsageError("no file: name the one to check")
    schema = job.roles()
    second = sensitive_table
    if second is None and os.path.isfile(source) and sensitive_path(source).exists():
        second = str(sensitive_path(source))
    read = [source, second, config, *job.files()]
    if per_class is not None:
        _keep(per_class, read)
    pages = _pages(report, report_public, [*read, per_class])
    table, require = anon.read_source(source, **_reading(context, job, source)), job.requirements()
    privacy = anon.check(
        table,
        schema,
        sensitive_table=None
        if sensitive_table is None
        else anon.read_source(sensitive_table, **_reading(context, job, sensitive_table)),
        at_risk=_whole_numbers("--risk-k", risk_k),
        sampling_fraction=sampling_fraction,
        per_class=per_class is not None or "owner" in pages,
        require=require,
        roles_from_file=roles_from_file,
    )
    if per_class is not None:
        datasets.write_table(privacy.per_class, per_class)
    told: dict[str, Any] = {}
    if pages:
        from anon import report as reports
        from anon.check import labels_as_written

        table = table if schema is None else labels_as_written(table, schema)
        origin = _origin(context, read, [per_class], [source, second])
        told = _write_reports(
            pages,
            lambda audience: reports.of_check(
                privacy, table.table, require=require, origin=origin, audience=audience
            ),
        )
    if as_json:
        _print_json({"roles_from": privacy.roles_from, **privacy.to_dict(), **told})
    elif not quiet:
        if privacy.roles_from == "file":
            print(ROLES_FROM_FILE)
        _print(*_privacy(f"Privacy of {Path(source).name}", privacy.to_dict()))
        for note in privacy.notes:
            print(f"note: {note}", file=sys.stderr)
        for requirement in privacy.unmet or ():
            print(f"not met: {requirement}", file=sys.stderr)
    if privacy.unmet:
        raise typer.Exit(InfeasibleError.exit_code)


@app.command()
def compare(
    context: typer.Context,
    original: Annotated[str, typer.Argument(metavar="ORIGINAL", help=INPUT, callback=_path)],
    released: Annotated[
        str,
        typer.Argument(
            metavar="RELEASE", help="A release of ORIGINAL, likewise, made by anyone.", callback=_path
        ),
    ],
    sensitive_table: SensitiveTable = None,
    config: Config = None,
    quasi: Quasi = None,
    sensitive: Sensitive = None,
    identifying: Identifying = None,
    hierarchy: Hierarchy = None,
    ordinal: Ordinal = None,
    kind: Kind = None,
    id_column: Annotated[
        str | None,
        typer.Option("--id", metavar="COLUMN", help="Match rows by this column, neutral and unique in both."),
    ] = None,
    r: Annotated[float | None, typer.Option("--r", help="Range r of S-diversity (1).")] = None,
    min_support: Annotated[
        float | None, typer.Option("--min-support", help="Support of the populations of u_loss (0.05).")
    ] = None,
    null: Null = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    report: ReportFile = None,
    report_public: PublicReport = None,
    engine: Engine = None,
    memory: Memory = None,
    spill: Spill = None,
    as_json: Json = False,
    show_values: ShowValues = False,
    quiet: Quiet = False,
) -> None:
    """Measure what RELEASE lost of ORIGINAL. Rows need not be in the same order.

    A Parquet release of anon knows its own columns; for other files, and where there are hierarchies or
    orders, name them as for `anon anonymize`.
    """
    import anon
    from anon.read import reading

    job = _job(context)
    read = [original, released, sensitive_table, config, *job.files()]
    pages = _pages(report, report_public, read)
    first = anon.read_source(original, **reading(original, job.read_options()))
    second, third = (
        None if path is None else anon.read_source(path, **_reading(context, job, path))
        for path in (released, sensitive_table)
    )
    settings = {"r": job.r, "min_support": job.min_support}
    given: dict[str, Any] = {name: value for name, value in settings.items() if value is not None}
    compared = anon.compare(first, second, job.roles(), sensitive_table=third, id=id_column, **given)
    utility = compared.to_dict()
    told: dict[str, Any] = {}
    if pages:
        from anon import report as reports

        origin = _origin(context, read, [], [released, sensitive_table])
        told = _write_reports(
            pages, lambda audience: reports.of_comparison(compared, origin=origin, audience=audience)
        )
    if as_json:
        _print_json({**utility, **told})
    elif not quiet:
        _print(*_utility(f"Utility of {Path(released).name}", utility))


@app.command()
def frontier(
    context: typer.Context,
    input: Annotated[str | None, typer.Argument(metavar="IN", help=INPUT, callback=_path)] = None,
    output: Annotated[
        str | None,
        typer.Option("-o", "--output", help="The points: .parquet, .feather or .csv.", callback=_path),
    ] = None,
    config: Config = None,
    quasi: Quasi = None,
    sensitive: Sensitive = None,
    identifying: Identifying = None,
    hierarchy: Hierarchy = None,
    ordinal: Ordinal = None,
    kind: Kind = None,
    weight: Weight = None,
    grid: Annotated[
        list[str] | None,
        _option(
            "--grid",
            "What to try, all combinations: k=10,50 t=0.05:0.4:8 method=mondrian,curve "
            "publish=generalization,bucketization (start:stop:count). May be repeated.",
            SWEEP,
        ),
    ] = None,
    privacy: Annotated[
        str | None, _option("--privacy", "Measure on the axis of privacy (p_loss).", SWEEP)
    ] = None,
    utility: Annotated[
        str | None, _option("--utility", "Measure on the axis of utility (u_loss).", SWEEP)
    ] = None,
    measures: Annotated[
        list[str] | None, _option("--measures", "Measures to record beside these: gcp,dm,t_equal.", SWEEP)
    ] = None,
    min_support: Annotated[
        float | None, _option("--min-support", "Support of the populations of u_loss (0.05).", SWEEP)
    ] = None,
    queries: Annotated[
        list[str] | None,
        _option("--query", "A COUNT query of count_error; may be repeated (1,000 drawn ones).", SWEEP),
    ] = None,
    choose: Annotated[
        str | None,
        _option(
            "--choose",
            "Name the best point within a bound: max_p_loss=0.2, max_u_loss=0.03.",
            SWEEP,
        ),
    ] = None,
    cache: Annotated[
        str | None,
        typer.Option(
            "--cache",
            metavar="FOLDER",
            help="Keep points here as they are measured; an interrupted sweep goes on from them.",
            callback=_path,
            rich_help_panel=SWEEP,
        ),
    ] = None,
    seed: Annotated[int | None, _option("--seed", "Where searches start (0); hides nothing.", METHOD)] = None,
    threads: Annotated[int | None, _option("--threads", "Threads (all cores).", METHOD)] = None,
    missing: Annotated[
        str | None,
        _option("--missing", "Missing values: category (default), suppress or error.", PUBLISH),
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
    from anon.frontier import let_memory_go

    job = _job(context)
    schema = job.roles()
    if schema is None:
        raise UsageError("no column has a role: name the quasi-identifiers with --quasi")
    if job.input is None:
        raise UsageError("no input: name the file to try releases of")
    asked, bound = job.sweep(), job.bound()
    read = [job.input, config, *job.files()]
    if output is not None:  # a job file's own output is that of its release
        datasets.check_output(output)
        _keep(output, read)
    pages = _pages(report, None, [*read, output])
    let_memory_go()
    with _progress(quiet or as_json) as progress:
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
        from anon import report as reports

        made = reports.of_frontier(swept, chosen=chosen, origin=_origin(context, read, [output]))
        told = _write_reports(pages, lambda audience: made)
    if as_json:
        picked = {} if chosen is None else {"chosen": chosen.to_dict()}
        _print_json({"input": job.input, "output": output, **swept.to_dict(), **picked, **told})
    elif not quiet:
        _print(*_frontier(f"Frontier of {Path(job.input).name}", swept, chosen))
    if unkept is not None:
        raise unkept


@app.command()
def inspect(
    context: typer.Context,
    source: Source,
    null: Null = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    as_json: Json = False,
    show_values: ShowValues = False,
) -> None:
    """Tell what the columns of FILE are like, and guess their roles. No value is shown."""
    from anon import inspection

    job = _job(context)
    inspected = inspection.inspect(source, **job.read_options())
    if as_json:
        _print_json(inspected.to_dict())
    else:
        _print(_columns(source, inspected))
        for column in inspected.columns:
            if column.note is not None:
                print(f"note: {column.note}", file=sys.stderr)


@app.command()
def scenario(
    context: typer.Context,
    config: Annotated[str, typer.Argument(metavar="JOB.TOML", help="What to compare.", callback=_path)],
    folder: Annotated[
        str | None,
        typer.Option(
            "-o", "--output", metavar="FOLDER", help="Write the tables, as Parquet.", callback=_path
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
    from anon.scenario import NAMES
    from anon.scenario_job import load_scenario

    job = load_scenario(config)
    read = [config, *job.read()]
    names = [] if folder is None else [str(Path(folder) / f"{name}.parquet") for name in NAMES]
    for output in names:
        _keep(output, read)
    pages = _pages(report, None, [*read, *names])
    compared = job.scenario()
    with _progress(quiet or as_json) as progress:
        result = compared.run(n_threads=job.threads, progress=progress)
    if folder is not None:
        result.write(folder)
    told: dict[str, Any] = {}
    if pages:
        from anon import report as reports

        made = reports.of_scenario(result, origin=_origin(context, read, names))
        told = _write_reports(pages, lambda audience: made)
    if as_json:
        _print_json({**result.to_dict(), **told})
        return
    for warning in result.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    if not quiet:
        _print(*(_grid(*each) for each in result.shown()))
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
            "--adult", metavar="DIR", help="Folder with UCI's adult.data and adult.test.", callback=_path
        ),
    ] = None,
    folder: Annotated[
        str, typer.Option("-o", "--output", help="Folder for PAPER.json and PAPER.html.", callback=_path)
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
        with _progress(quiet or as_json) as progress:
            found = papers.reproduce(name, adult=adult, quick=quick, n_threads=threads, progress=progress)
            written = [str(path) for path in found.write(folder)]
        done.append({"files": written, **found.to_dict()})
        if not (quiet or as_json):
            _print(*_reproduction(found, written))
    if as_json:
        _print_json({"papers": {one["paper"]: one for one in done}})


@app.command()
def demo(
    rows: Annotated[int, typer.Option("--rows", min=1, help="Rows of the census.")] = 200_000,
    folder: Annotated[
        str, typer.Option("-o", "--output", help="Folder for both files.", callback=_path)
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
    with _progress(quiet or as_json) as progress:
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
    _report_release({"input": original, "output": released}, release, privacy, as_json)


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

    with _progress(quiet or as_json) as progress:
        datasets.write_census(rows, seed, output, progress)
    _report_written(output, rows, as_json, quiet)


@data_app.command("adult")
def data_adult(
    folder: Annotated[str, typer.Argument(help="Folder with adult.data and adult.test.", callback=_path)],
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
    _report_written(output, table.num_rows, as_json, quiet)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code; every error becomes one message, never a traceback."""
    words = sys.argv[1:] if arguments is None else arguments
    _open_streams()
    numbers = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    previous = {number: signal.signal(number, _stop) for number in numbers}
    try:
        code = _run(words)
        sys.stdout.flush()
        return code
    except (BrokenPipeError, SystemExit) as stop:
        if isinstance(stop, SystemExit) and not stop.code:  # a shell has its completions
            return 0
        _drop(sys.stdout)  # typer and rich exit when nobody reads any more
        return 141  # what a shell reports for SIGPIPE
    except OSError as error:
        _drop(sys.stdout)
        with suppress(OSError):
            print(f"error: the output cannot be printed: {_os_message(error)}", file=sys.stderr)
        return 2
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def _run(words: Sequence[str]) -> int:
    """The command's exit code; what went wrong is printed."""
    usage_error: Any = typer.BadParameter.__mro__[2]  # ClickException, which typer does not export
    try:
        code = app(words, prog_name="anon", standalone_mode=False, obj=shlex.join(["anon", *words])) or 0
        if code == 128 + signal.SIGINT:  # what typer makes of KeyboardInterrupt
            raise Stopped(signal.SIGINT)
        return int(code)
    except (BrokenPipeError, SystemExit):
        raise
    except usage_error as error:
        if "--json" not in words:
            error.show()
            return int(error.exit_code)
        failure = {"error": error.format_message(), "exit_code": error.exit_code}
    except (Exception, Stopped, KeyboardInterrupt) as error:
        if os.environ.get("ANON_TRACEBACK") == "1":
            traceback.print_exc()
        failure = _failure(_stopped(error) or error, "--show-values" in words)
    if "--json" in words:
        _print_json(failure)
    else:
        shown = f" (the value: {failure['value']!r})" if "value" in failure else ""
        print(f"error: {failure['error']}{shown}", file=sys.stderr)
    return int(failure["exit_code"])


def _stopped(error: BaseException) -> Stopped | None:
    """What stopped the command, also where cleaning up after it failed with another error."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, Stopped | KeyboardInterrupt):
        cause = cause.__context__
    return Stopped(signal.SIGINT) if isinstance(cause, KeyboardInterrupt) else cause


def _open_streams() -> None:
    """Standard streams that are closed become /dev/null; what they cannot encode is replaced."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode, encoding="utf-8"))
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


def _drop(stream: TextIO) -> None:
    """Send what is still to be printed, and is kept in the buffer, nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _failure(error: BaseException, show_values: bool) -> dict[str, Any]:
    """What went wrong, in words that hold no cell, with the exit code and what else is known of it."""
    details: dict[str, Any] = {}
    match error:
        case AnonError():
            code, message = error.exit_code, _in_flags(str(error))
            if isinstance(error, DataError):
                details = {"column": error.column, "row": error.row, "count": error.count}
                if show_values:
                    details["value"] = error.value
            if isinstance(error, InfeasibleError):
                asked = error.requirement
                details = {"requirement": str(asked) if is_dataclass(asked) else asked}
                details["tightest"] = error.tightest
        case Stopped():
            code, message = 128 + error.args[0], f"stopped by {signal.Signals(error.args[0]).name}"
        case MemoryError() | RuntimeError(args=("can't start new thread",)):
            code, message = (
                2,
                "not enough memory for this table; use --engine stream, or a larger machine",
            )
        case OSError():
            code, message = 2, _os_message(error)
        case _:
            code, message = 70, _internal_message(error)
    known = {name: detail for name, detail in details.items() if detail is not None}
    return {"error": message, "exit_code": code, **known}


def _stop(number: int, frame: Any) -> None:
    raise Stopped(number)


# --- parsing ------------------------------------------------------------------------------------


def _job(context: typer.Context) -> Job:
    """The command's job file, and over it the parameters of the command that are named as keys of a job."""
    from anon.job import Job, load_job

    given = {
        name: PARSERS[name](value) if name in PARSERS else value
        for name, value in context.params.items()
        if name in Job.model_fields and value not in (None, (), [])  # an empty list was not given
    }
    job = load_job(context.params.get("config"), given)
    if job.engine == "spark" and "engine" not in given and context.command.name != "anonymize":
        job = job.model_copy(update={"engine": None})  # it tells how a release is made, and nothing else
    return job


def _reading(context: typer.Context, job: Job, path: str) -> dict[str, Any]:
    """How a file that may be a release is read.

    What a job file says of CSV is said of its input: a release has commas, is UTF-8, and no text in it
    stands for a missing value. Flags are about the file itself.
    """
    from anon.read import reading

    options = job.read_options()
    if job.input is None or os.path.realpath(path) != os.path.realpath(job.input):
        said = {name for name, value in context.params.items() if value not in (None, (), [])}
        of_input = {"null", "delimiter", "encoding"} - said
        options = {name: value for name, value in options.items() if name not in of_input}
    return reading(path, options)


def _ends(job: Job, *others: str | None) -> tuple[str, str]:
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
    from anon.files import remove_leftovers

    for output in _outputs(job):
        _keep(output, [job.input, *job.files(), *others])
    remove_leftovers(Path(os.path.realpath(job.output)))
    return job.input, job.output


def _outputs(job: Job) -> list[str]:
    """The files that the job writes."""
    from anon.release import sensitive_path

    assert job.output is not None
    both = job.publish == "bucketization"
    return [job.output, *([str(sensitive_path(job.output))] if both else [])]


def _keep(output: str, read: Iterable[str | None]) -> None:
    """Refuse to write over a file that is read."""
    if not os.path.exists(output):
        return
    for source in read:
        if source is not None and any(os.path.samefile(file, output) for file in _files(source)):
            raise UsageError(f"{output} is also an input, which is never overwritten: name another output")


def _pages(report: str | None, public: str | None, others: Sequence[str | None]) -> dict[Audience, str]:
    """Where the pages of a command go, by their audience.

    Refuses one that cannot be made, or that would take the place of another file of the command.
    """
    pages: dict[Audience, str] = {}
    asked: list[tuple[Audience, str | None]] = [("owner", report), ("public", public)]
    for audience, page in asked:
        if page is None:
            continue
        from anon.report import check_libraries

        check_libraries()
        if os.path.isdir(page) or not Path(page).parent.is_dir():
            raise UsageError(f"the report {page} must be a file in a folder that exists")
        taken = {os.path.realpath(other) for other in (*others, *pages.values()) if other is not None}
        if os.path.realpath(page) in taken:
            raise UsageError(f"{page} is also another file of this command: name another report")
        _keep(page, others)
        pages[audience] = page
    return pages


def _origin(
    context: typer.Context,
    read: Sequence[str | None],
    written: Sequence[str | None],
    released: Sequence[str | None] = (),
) -> Origin:
    from anon.report import Origin

    def files(sources: Sequence[str | None]) -> tuple[str, ...]:
        inside = [file for source in sources if source is not None for file in _files(source)]
        return tuple(dict.fromkeys(file for file in inside if os.path.isfile(file)))

    outputs = tuple(path for path in written if path is not None)
    return Origin(context.obj, files(read), outputs, files(released))


def _write_reports(pages: Mapping[Audience, str], about: Callable[[Audience], Report]) -> dict[str, Any]:
    """Write them; what the owner's tells, and where they are, for --json."""
    told: dict[str, Any] = {}
    for audience, path in pages.items():
        made = about(audience)
        made.write(path)
        if audience == "owner":
            told |= {"report": path, **made.told}
        else:
            told["report_public"] = path
    return told


def _files(source: str) -> list[str]:
    if os.path.isdir(source):
        return [str(path) for path in Path(source).rglob("*") if path.exists()]
    return [source] if os.path.exists(source) else glob.glob(source, recursive=True)


def _names(texts: Iterable[str]) -> list[str]:
    return [name.strip() for text in texts for name in text.split(",") if name.strip()]


def _pairs(flag: str, texts: Iterable[str]) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name and equals and value):
            raise UsageError(f"{flag} takes COLUMN=VALUE")
        if name in pairs:
            raise UsageError(f"{flag} is given twice for column {name!r}")
        pairs[name] = value
    return pairs


def _weights(texts: Iterable[str]) -> dict[str, float]:
    pairs = _pairs("--weight", texts)
    try:
        return {name: float(value) for name, value in pairs.items()}
    except ValueError:
        raise UsageError("--weight takes COLUMN=NUMBER") from None


def _by_column(flag: str, texts: Sequence[str]) -> Any:
    """A number, or numbers by column: `0.1`, or `age=0.1` and more."""
    try:
        if len(texts) == 1 and "=" not in texts[0]:
            return _number(texts[0])
        return {name: _number(value) for name, value in _pairs(flag, texts).items()}
    except ValueError:
        raise UsageError(f"{flag} takes a number, or COLUMN=NUMBER once or more") from None


def _number(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        return float(text)


def _bounds(texts: Sequence[str]) -> Any:
    """`data`, or two numbers by column: `age=17..99`."""
    if list(texts) == ["data"]:
        return "data"
    try:
        pairs = _pairs("--bounds", texts)
        ends = {name: [float(end) for end in value.split("..")] for name, value in pairs.items()}
    except ValueError:
        ends = {"": []}
    if any(len(each) != 2 for each in ends.values()):
        raise UsageError("--bounds takes COLUMN=LOWER..UPPER in numbers, once or more, or data")
    return ends


def _whole_numbers(flag: str, text: str) -> tuple[int, ...]:
    try:
        return tuple(int(item) for item in text.split(","))
    except ValueError:
        raise UsageError(f"{flag} takes whole numbers with commas between") from None


PARSERS: Mapping[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("quasi", "sensitive", "identifying", "measures"), _names),
    **{name: partial(_pairs, f"--{name}") for name in ("hierarchy", "ordinal", "kind")},
    **{name: partial(_by_column, f"--{name}") for name in ("epsilon", "sensitivity", "rounding")},
    **dict.fromkeys(("null", "grid", "queries"), list),
    "weight": _weights,
    "bounds": _bounds,
    "split": lambda text: _names([text]),
}
"""What a job makes of the words of a flag; other flags are taken as they are."""


# --- printing -----------------------------------------------------------------------------------


SPELLINGS = [
    (re.compile(pattern), flag)
    for pattern, flag in (
        (r"name its quasi-identifiers in a schema", "name its quasi-identifiers with --quasi"),
        (r"name one in the schema( \(sensitive=\[\.\.\.\]\))?", "name one with --sensitive"),
        (r"add it to the schema \(sensitive=\[\.\.\.\]\)", "name it with --sensitive"),
        (r"give them in a schema", "name --quasi and --sensitive, and give it with --hierarchy or --ordinal"),
        (r"\bcsv_guard=True", "--csv-guard"),
        (r"with roles_from_file=True", "with --roles-from-file"),
        (
            r"give it in the schema \(nominal\('(.*)', hierarchy=\.\.\.\)\)",
            r"give it with --hierarchy \1=FILE",
        ),
        (r"give it as sensitive_table", "give it with --sensitive-table"),
        (r"\(adult=\)", "with --adult"),
        (r"\bn_threads\b", "--threads"),
        (r"\bas spill\b", "with --spill"),
        (r"use Mondrian\(\)", "use --method mondrian"),
        (r'bounds=\{"age": \(17, 99\)\}', "--bounds age=17..99"),
        (r"leave clip as it is", "leave --no-clip out"),
        (r"ask for KAnonymity\(k\) or AlphaK\(alpha, k\)", "ask for --k"),
        (r"\bdistance=", "--t-distance "),
        (r"\bkind=", "--l-kind "),
        (r"\b(publish|missing|numeric|objective|loss|split|cuts|ties|order|bounds)=", r"--\1 "),
        (r"(--[a-z-]+) [\"']([a-z]+)[\"']", r"\1 \2"),
    )
]
"""How the engine spells its parameters in messages, and what the command calls them."""


def _in_flags(message: str) -> str:
    for pattern, flag in SPELLINGS:
        message = pattern.sub(flag, message)
    return message


def _os_message(error: OSError) -> str:
    if error.strerror is None:
        return str(error).partition("\n")[0]
    return f"{error.filename}: {error.strerror}" if error.filename is not None else error.strerror


def _internal_message(error: BaseException) -> str:
    """Where it happened, not what was said there: that may hold a cell."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if Path(__file__).parent in Path(frame.filename).parents]
    frame = (ours or frames)[-1]
    return (
        f"internal error: {type(error).__name__} at {Path(frame.filename).name}:{frame.lineno}; "
        "please report it (ANON_TRACEBACK=1 shows where it came from, and may show values)"
    )


def _report_release(
    files: dict[str, str | None],
    release: Any,
    privacy: Any | None,
    as_json: bool,
    told: Mapping[str, Any] | None = None,
    notes: Sequence[str] = (),
) -> None:
    """`told` is what a report told too, `notes` are about the files."""
    notes = [*map(_in_flags, notes), *_notes_of(release.publish)]
    if as_json:
        measures = {} if privacy is None else {"privacy": privacy.to_dict()}
        said = {"warnings": release.warnings, "notes": notes}
        summary = {**files, "release": release.summary(), **measures, **said}
        _print_json({**summary, **(told or {})})
        return
    for warning in release.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    for note in notes:
        print(f"note: {note}", file=sys.stderr)
    if privacy is not None:
        _print(_facts("Release", {**files, **release.summary()}), *_privacy("Privacy", privacy.to_dict()))


def _notes_of(publish: str | None) -> list[str]:
    """What is said of every release that is published in this way."""
    from anon.release import NOTES_ON_BUCKETS

    return list(NOTES_ON_BUCKETS) if publish == "bucketization" else []


def _report_spark(
    files: Mapping[str, str | None],
    privacy: Any,
    warned: list[str],
    notes: list[str],
    as_json: bool,
    quiet: bool,
) -> None:
    if as_json:
        _print_json({**files, "privacy": privacy.to_dict(), "warnings": warned, "notes": notes})
        return
    for kind, lines in (("warning", warned), ("note", notes)):
        for line in lines:
            print(f"{kind}: {line}", file=sys.stderr)
    if not quiet:
        _print(_facts("release", files), *_privacy("privacy", privacy.to_dict()))


def _report_written(output: str, n_rows: int, as_json: bool, quiet: bool) -> None:
    if as_json:
        _print_json({"output": output, "n_rows": n_rows})
    elif not quiet:
        print(f"{n_rows:,} rows written to {output}")


def _print_json(content: Mapping[str, Any]) -> None:
    """What JSON has no type for, such as a date, is text."""
    plain = as_plain({"audience": "owner", **content})
    text = json.dumps(plain, ensure_ascii=False, allow_nan=False, default=str)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(plain, allow_nan=False, default=str)
    print(text)


def _print(*tables: Table) -> None:
    from rich.console import Console

    if sys.stdout.isatty():
        for table in tables:
            Console(highlight=False, markup=False).print(table)
        return
    console = Console(highlight=False, markup=False, width=160)
    with console.capture() as capture:
        for table in tables:
            console.print(table)
    print("\n".join(line.rstrip() for line in capture.get().splitlines()))


def _facts(title: str, facts: Mapping[str, Any]) -> Table:
    """Two columns; a mapping inside becomes lines named `outer.inner`."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, box=box.SIMPLE, title_justify="left", show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in _lines("", facts):
        table.add_row(name, Text(_text(value)))
    return table


def _privacy(title: str, measures: Mapping[str, Any]) -> list[Table]:
    """Classes and risks, then what is told of each sensitive attribute and of all together."""
    from rich import box
    from rich.table import Table

    by_sensitive: dict[str, Any] = dict(measures["by_sensitive"])
    if len(by_sensitive) > 1 and measures["joint"] is not None:
        by_sensitive["(joint)"] = measures["joint"]
    names = [name for name in next(iter(by_sensitive.values()), {}) if name != "worst"]
    left_out = {*names, "by_sensitive", "joint", "worst", "worst_sensitive", "worst_cells", "notes"}
    shown = {name: value for name, value in measures.items() if name not in left_out}
    if shown.get("unmet") == []:
        shown["unmet"] = "none"
    if "t_js" in measures.get("worst_cells", {}):
        shown["greatest p_loss"] = {
            name: _shortened(cell) for name, cell in measures["worst_cells"]["t_js"].items()
        }
    facts = _facts(title, shown)
    if not by_sensitive:
        return [facts]
    table = Table(title="Sensitive attributes", box=box.SIMPLE, title_justify="left")
    table.add_column("measure")
    for attribute in by_sensitive:
        table.add_column(attribute, justify="right")
    for name in names:
        values = [disclosure[name] for disclosure in by_sensitive.values()]
        if any(value is not None for value in values):
            table.add_row(name, *("" if value is None else _text(value) for value in values))
    return [facts, table]


def _utility(title: str, measures: Mapping[str, Any]) -> list[Table]:
    """The measures of the whole, then of every quasi-identifier and sensitive attribute."""
    parts = {"Quasi-identifiers": "by_attribute", "Sensitive attributes": "by_sensitive"}
    shown = {name: value for name, value in measures.items() if name not in parts.values()}
    tables = [_breakdown(heading, measures[part]) for heading, part in parts.items() if measures[part]]
    return [_facts(title, shown), *tables]


def _frontier(title: str, swept: Frontier, chosen: Point | None) -> list[Table]:
    """The points, what privacy costs between neighbors on the frontier, and which points stand out."""
    from rich import box
    from rich.table import Table

    table = Table(title=title, box=box.SIMPLE, title_justify="left")
    table.add_column("point", overflow="fold")
    others = [name for name in swept.points[-1].measures if name not in (swept.privacy, swept.utility)]
    for name in (swept.privacy, swept.utility, *others, "classes", "seconds"):
        table.add_column(name, justify="right")
    table.add_column("", overflow="fold")
    for point in swept.points:
        values = [point.measures.get(name, math.nan) for name in (swept.privacy, swept.utility, *others)]
        shown = ["" if math.isnan(value) else _text(value) for value in values]
        verdict = "efficient" if point.efficient else point.why or ""
        table.add_row(point.name, *shown, _text(point.classes), f"{point.seconds:.2f}", verdict)
    prices = Table(title="Price of privacy along the frontier", box=box.SIMPLE, title_justify="left")
    for heading in ("from", "to"):
        prices.add_column(heading, overflow="fold")
    for heading in (f"gains {swept.privacy}", f"loses {swept.utility}", "price"):
        prices.add_column(heading, justify="right")
    for each in reversed(swept.prices):
        numbers = (each.privacy_gained, each.utility_lost, each.price)
        shown = ["" if math.isnan(number) else _text(number) for number in numbers]
        prices.add_row(each.less_private.name, each.more_private.name, *shown)
    knee = swept.knee
    told = {
        "rows": swept.n_rows,
        "efficient": f"{len(swept.efficient)} of {len(swept.points)} points; none is better than another",
        "knee": "none" if knee is None else knee.name,
        **{f"tie {i + 1}": " = ".join(each.name for each in tie) for i, tie in enumerate(swept.ties)},
        **({} if chosen is None else {"chosen": chosen.name}),
    }
    return [table, prices, _facts("Choice", told)]


def _breakdown(title: str, by_column: Mapping[str, Mapping[str, Any]]) -> Table:
    """One line per column of the table, one column per measure that any of them has."""
    from rich import box
    from rich.table import Table

    table = Table(title=title, box=box.SIMPLE, title_justify="left")
    table.add_column("column", overflow="fold")
    names = list(next(iter(by_column.values())))
    names = [name for name in names if any(each[name] is not None for each in by_column.values())]
    for name in names:
        table.add_column(name, justify="right")
    for column, each in by_column.items():
        table.add_row(column, *("" if each[name] is None else _text(each[name]) for name in names))
    return table


def _grid(title: str, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> Table:
    """A table of text and numbers."""
    from rich import box
    from rich.table import Table

    table = Table(title=title, box=box.SIMPLE, title_justify="left")
    cells = [[*row] for row in rows]
    for i, name in enumerate(header):
        numeric = any(isinstance(row[i], int | float) for row in cells)
        table.add_column(name, justify="right" if numeric else "left", overflow="fold")
    for row in cells:
        table.add_row(*("" if value is None else _text(value) for value in row))
    return table


def _reproduction(found: Any, written: Sequence[str]) -> list[Table]:
    """Verdict counts, then the figures that are not exact and the findings that did not hold."""
    from rich import box
    from rich.table import Table

    tables = [_facts(found.title, {**found.verdicts, "files": written})]
    figures = [one for one in found.figures if one.verdict != "exact"]
    if figures:
        table = Table(title="Figures that are not exact", box=box.SIMPLE, title_justify="left")
        for heading in ("figure", "published", "measured", "verdict"):
            table.add_column(heading, justify="right" if heading in ("published", "measured") else "left")
        for one in figures:
            table.add_row(one.what, str(one.published), _text(one.measured), one.verdict)
        tables.append(table)
    findings = [one for one in found.findings if not one.held]
    if findings:
        table = Table(title="Findings that did not hold", box=box.SIMPLE, title_justify="left")
        table.add_column("sentence")
        table.add_column("where", overflow="fold")
        for finding in findings:
            table.add_row(finding.quote, finding.place)
        tables.append(table)
    return tables


def _lines(above: str, facts: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in facts.items():
        if isinstance(value, Mapping):
            yield from _lines(f"{above}{name}.", value)
        elif value is not None:
            yield f"{above}{name}", value


def _shortened(cell: Any, most: int = 60) -> str:
    text = _text(cell)
    return text if len(text) <= most else f"{text[:most]} …"


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list | tuple):
        return ", ".join(map(_text, value))
    return str(value)


def _columns(source: str, inspection: Inspection) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(
        title=f"{Path(source).name}: {inspection.n_rows:,} rows", box=box.SIMPLE, title_justify="left"
    )
    for heading in ("column", "type", "kind"):
        table.add_column(heading, overflow="fold")
    for heading in ("distinct", "nulls", "unique rows"):
        table.add_column(heading, justify="right")
    table.add_column("role (a guess)", no_wrap=True)
    for column in inspection.columns:
        counted = column.n_distinct is not None and column.unique_share is not None
        table.add_row(
            column.name,
            column.type,
            column.kind,
            f"{column.n_distinct:,}" if counted else "",
            f"{column.n_null:,}",
            f"{column.unique_share:.1%}" if counted else "",
            column.role,
        )
    return table


@contextmanager
def _progress(quiet: bool) -> Iterator[Progress | None]:
    """A bar per stage on a terminal's stderr; None in a pipe."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress as Bars

    with Bars(console=Console(stderr=True), transient=True) as bars:
        tasks: dict[str, Any] = {}

        def update(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(stage, total=total)
            bars.update(tasks[stage], completed=done, total=total, visible=done < total)

        yield update
