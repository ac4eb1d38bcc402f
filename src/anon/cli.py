# SPDX-License-Identifier: Apache-2.0
"""The `anon` command: nothing but parsing and printing."""

from __future__ import annotations

import glob
import io
import json
import math
import os
import re
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from anon.errors import AnonError, DataError, InfeasibleError, UsageError

if TYPE_CHECKING:
    from rich.table import Table

    from anon.inspection import Inspection
    from anon.job import Job

Progress = Callable[[str, int, int], None]

app = typer.Typer(
    help="Anonymize tabular microdata, and measure what a release protects and what it costs.",
    no_args_is_help=True,
    add_completion=False,
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


ROLES, REQUIRE, METHOD, PUBLISH, READ, OUTPUT = (
    *("Columns", "What the release must satisfy", "How it is made"),
    *("How it is published", "How the input is read", "Output of the command"),
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
Json = Annotated[
    bool, typer.Option("--json", help="One JSON object on stdout, errors too.", rich_help_panel=OUTPUT)
]
ShowValues = Annotated[  # read by `main`, which prints the errors
    bool,
    typer.Option(
        "--show-values", help="Let error messages show the cell they are about.", rich_help_panel=OUTPUT
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.", rich_help_panel=OUTPUT)]


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


@app.command()
def anonymize(
    source: Annotated[
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
            "mondrian (default), kmembers, curve, anatomy, identity, suppress-quasi, suppress-sensitive.",
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
    seed: Annotated[int | None, _option("--seed", "Seed of the methods that draw (0).", METHOD)] = None,
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
    as_json: Json = False,
    show_values: ShowValues = False,
    quiet: Quiet = False,
) -> None:
    """Write a release of IN that satisfies every requirement.

    Columns without a role are neutral: published unchanged.

    anon anonymize people.csv -o release.csv --quasi age,sex,zip --sensitive disease --k 10
    """
    import anon

    job = _job(
        config,
        input=source,
        output=output,
        quasi=_names(quasi),
        sensitive=_names(sensitive),
        identifying=_names(identifying),
        hierarchy=_pairs("--hierarchy", hierarchy),
        ordinal=_pairs("--ordinal", ordinal),
        kind=_pairs("--kind", kind),
        weight=_weights(weight),
        k=k,
        l=l,
        l_kind=l_kind,
        c=c,
        t=t,
        t_distance=t_distance,
        delta=delta,
        alpha=alpha,
        beta=beta,
        enhanced=enhanced,
        s_bound=s_bound,
        r=r,
        method=method,
        split=_names([split] if split is not None else None),
        cuts=cuts,
        relaxed=relaxed,
        objective=objective,
        loss=loss,
        refine=refine,
        ties=ties,
        w_u=w_u,
        w_p=w_p,
        s=s,
        variant=variant,
        target=target,
        seed=seed,
        threads=threads,
        publish=publish,
        numeric=numeric,
        missing=missing,
        order=order,
        on_infeasible=on_infeasible,
        null=null,
        delimiter=delimiter,
        encoding=encoding,
    )
    schema = job.roles()
    if schema is None:
        raise UsageError("no column has a role: name the quasi-identifiers with --quasi")
    require, engine = job.requirements(), job.engine()
    if not require and job.method == "mondrian":
        raise UsageError("nothing is required: give at least one requirement, such as --k 10")
    source, output = _ends(job, config, population)
    with _progress(quiet or as_json) as progress, warnings.catch_warnings():
        warnings.simplefilter("ignore", anon.PrivacyWarning)  # the report shows the release's own
        release = anon.anonymize(
            anon.read_source(source, **job.read_options()),
            schema,
            require=require,
            method=engine,
            progress=progress,
            **job.options(),
        )
        if release.meets_requirements:
            release.write(output)
    files = {"input": source, "output": output if release.meets_requirements else None}
    privacy = None
    if as_json or not quiet:
        privacy = release.privacy(population=population, sampling_fraction=sampling_fraction)
    _report_release(files, release, privacy, as_json)
    if not release.meets_requirements:
        raise typer.Exit(InfeasibleError.exit_code)


@app.command()
def check(
    source: Source,
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
    as_json: Json = False,
    show_values: ShowValues = False,
    quiet: Quiet = False,
) -> None:
    """Measure the privacy of FILE, made by anyone; exit with 1 if it does not meet what is required.

    A Parquet release of anon knows its own columns; for other files name them with --quasi and --sensitive.
    """
    import anon
    from anon import datasets
    from anon.release import sensitive_path

    job = _job(
        config,
        quasi=_names(quasi),
        sensitive=_names(sensitive),
        identifying=_names(identifying),
        hierarchy=_pairs("--hierarchy", hierarchy),
        ordinal=_pairs("--ordinal", ordinal),
        kind=_pairs("--kind", kind),
        k=k,
        l=l,
        l_kind=l_kind,
        c=c,
        t=t,
        t_distance=t_distance,
        delta=delta,
        alpha=alpha,
        beta=beta,
        enhanced=enhanced,
        s_bound=s_bound,
        r=r,
        null=null,
        delimiter=delimiter,
        encoding=encoding,
    )
    schema = job.roles()
    if per_class is not None:
        second = sensitive_table
        if second is None and os.path.isfile(source):
            second = str(sensitive_path(source))
        _keep(per_class, [source, second, config, *job.files()])
    table = anon.read_source(source, **job.read_options())
    privacy = anon.check(
        table,
        schema,
        sensitive_table=None
        if sensitive_table is None
        else anon.read_source(sensitive_table, **_reading(sensitive_table, job.read_options())),
        at_risk=_whole_numbers("--risk-k", risk_k),
        sampling_fraction=sampling_fraction,
        per_class=per_class is not None,
        require=job.requirements(),
    )
    if per_class is not None:
        datasets.write_table(privacy.per_class, per_class)
    if as_json:
        _print_json(privacy.to_dict())
    elif not quiet:
        _print(*_privacy(f"Privacy of {Path(source).name}", privacy.to_dict()))
        for requirement in privacy.unmet or ():
            print(f"not met: {requirement}", file=sys.stderr)
    if privacy.unmet:
        raise typer.Exit(InfeasibleError.exit_code)


@app.command()
def compare(
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
    r: Annotated[float, typer.Option("--r", help="Range r of S-diversity.")] = 1.0,
    min_support: Annotated[
        float, typer.Option("--min-support", help="Support of the populations of u_loss.")
    ] = 0.05,
    null: Null = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    as_json: Json = False,
    show_values: ShowValues = False,
) -> None:
    """Measure what RELEASE lost of ORIGINAL. Rows need not be in the same order.

    A Parquet release of anon knows its own columns; for other files, and where there are hierarchies or
    orders, name them as for `anon anonymize`.
    """
    import anon

    job = _job(
        config,
        quasi=_names(quasi),
        sensitive=_names(sensitive),
        identifying=_names(identifying),
        hierarchy=_pairs("--hierarchy", hierarchy),
        ordinal=_pairs("--ordinal", ordinal),
        kind=_pairs("--kind", kind),
        null=null,
        delimiter=delimiter,
        encoding=encoding,
    )
    first, second, third = (
        None if path is None else anon.read_source(path, **_reading(path, job.read_options()))
        for path in (original, released, sensitive_table)
    )
    compared = anon.compare(first, second, job.roles(), sensitive_table=third, r=r, min_support=min_support)
    utility = compared.to_dict()
    if as_json:
        _print_json(utility)
    else:
        _print(*_utility(f"Utility of {Path(released).name}", utility))


@app.command()
def inspect(
    source: Source,
    null: Null = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    as_json: Json = False,
    show_values: ShowValues = False,
) -> None:
    """Tell what the columns of FILE are like, and guess their roles. No value is shown."""
    from anon import inspection

    job = _job(None, null=null, delimiter=delimiter, encoding=encoding)
    inspected = inspection.inspect(source, **job.read_options())
    if as_json:
        _print_json(inspected.to_dict())
    else:
        _print(_columns(source, inspected))


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
    except (BrokenPipeError, SystemExit):  # typer and rich exit when nobody reads any more
        _drop(sys.stdout)
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
        return int(app(words, standalone_mode=False) or 0)
    except (BrokenPipeError, SystemExit):
        raise
    except usage_error as error:
        if "--json" not in words:
            error.show()
            return int(error.exit_code)
        failure = {"error": error.format_message(), "exit_code": error.exit_code}
    except (Exception, Stopped) as error:
        if os.environ.get("ANON_TRACEBACK") == "1":
            traceback.print_exc()
        failure = _failure(error, "--show-values" in words)
    if "--json" in words:
        _print_json(failure)
    else:
        shown = f" (the value: {failure['value']!r})" if "value" in failure else ""
        print(f"error: {failure['error']}{shown}", file=sys.stderr)
    return int(failure["exit_code"])


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
                details = {"requirement": error.requirement, "tightest": error.tightest}
        case Stopped():
            code, message = 128 + error.args[0], f"stopped by {signal.Signals(error.args[0]).name}"
        case MemoryError() | RuntimeError(args=("can't start new thread",)):
            code, message = (
                2,
                "not enough memory for this table; close other programs, or use a larger machine",
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


def _job(config: str | None, **flags: Any) -> Job:
    from anon.job import load_job

    return load_job(config, {name: value for name, value in flags.items() if value is not None})


def _ends(job: Job, *others: str | None) -> tuple[str, str]:
    """The input and the output, which is not to take the place of anything that is read."""
    if job.input is None:
        raise UsageError("no input: name the file to anonymize")
    if job.output is None:
        raise UsageError("no output: name the release's file with -o")
    if os.path.isdir(job.output):
        raise UsageError(f"the output {job.output} is a folder: name a file")
    folder = Path(job.output).parent
    if not folder.is_dir():
        raise UsageError(f"the folder {folder} of the output does not exist")
    _keep(job.output, [job.input, *job.files(), *others])
    if job.publish == "bucketization":
        from anon.release import sensitive_path

        _keep(str(sensitive_path(job.output)), [job.input, *job.files(), *others])
    return job.input, job.output


def _keep(output: str, read: Iterable[str | None]) -> None:
    """Refuse to write over a file that is read."""
    if not os.path.exists(output):
        return
    for source in read:
        if source is not None and any(os.path.samefile(file, output) for file in _files(source)):
            raise UsageError(f"{output} is also an input, which is never overwritten: name another output")


def _files(source: str) -> list[str]:
    if os.path.isdir(source):
        return [str(path) for path in Path(source).rglob("*") if path.exists()]
    return [source] if os.path.exists(source) else glob.glob(source, recursive=True)


def _reading(path: str, options: dict[str, Any]) -> dict[str, Any]:
    """The options of reading CSV, for a file that is not known to be another."""
    from anon.read import FORMAT_OF_SUFFIX

    return options if FORMAT_OF_SUFFIX.get(Path(path).suffix.lower(), "csv") == "csv" else {}


def _names(texts: list[str] | None) -> list[str] | None:
    if texts is None:
        return None
    return [name.strip() for text in texts for name in text.split(",") if name.strip()]


def _pairs(flag: str, texts: list[str] | None) -> dict[str, str] | None:
    if texts is None:
        return None
    pairs: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name and equals and value):
            raise UsageError(f"{flag} takes COLUMN=VALUE")
        if name in pairs:
            raise UsageError(f"{flag} is given twice for column {name!r}")
        pairs[name] = value
    return pairs


def _weights(texts: list[str] | None) -> dict[str, float] | None:
    pairs = _pairs("--weight", texts)
    try:
        return None if pairs is None else {name: float(value) for name, value in pairs.items()}
    except ValueError:
        raise UsageError("--weight takes COLUMN=NUMBER") from None


def _whole_numbers(flag: str, text: str) -> tuple[int, ...]:
    try:
        return tuple(int(item) for item in text.split(","))
    except ValueError:
        raise UsageError(f"{flag} takes whole numbers with commas between") from None


# --- printing -----------------------------------------------------------------------------------


SPELLINGS = [
    (re.compile(pattern), flag)
    for pattern, flag in (
        (r"name its quasi-identifiers in a schema", "name its quasi-identifiers with --quasi"),
        (r"name one in the schema( \(sensitive=\[\.\.\.\]\))?", "name one with --sensitive"),
        (r"add it to the schema \(sensitive=\[\.\.\.\]\)", "name it with --sensitive"),
        (r"give them in a schema", "give them with --hierarchy or --ordinal"),
        (r"give it as sensitive_table", "give it with --sensitive-table"),
        (r"\bn_threads\b", "--threads"),
        (r"use Mondrian\(\)", "use --method mondrian"),
        (r"ask for KAnonymity\(k\) or AlphaK\(alpha, k\)", "ask for --k"),
        (r"\bdistance=", "--t-distance "),
        (r"\bkind=", "--l-kind "),
        (r"\b(publish|missing|numeric|objective|loss|split|cuts|ties|order)=", r"--\1 "),
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
    ours = [frame for frame in frames if Path(frame.filename).parent.name in ("anon", "methods")]
    frame = (ours or frames)[-1]
    return (
        f"internal error: {type(error).__name__} at {Path(frame.filename).name}:{frame.lineno}; "
        "please report it (ANON_TRACEBACK=1 shows where it came from, and may show values)"
    )


def _report_release(files: dict[str, str | None], release: Any, privacy: Any | None, as_json: bool) -> None:
    if as_json:
        measures = {} if privacy is None else {"privacy": privacy.to_dict()}
        _print_json({**files, "release": release.summary(), **measures, "warnings": release.warnings})
        return
    for warning in release.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    if privacy is not None:
        _print(_facts("Release", {**files, **release.summary()}), *_privacy("Privacy", privacy.to_dict()))


def _report_written(output: str, n_rows: int, as_json: bool, quiet: bool) -> None:
    if as_json:
        _print_json({"output": output, "n_rows": n_rows})
    elif not quiet:
        print(f"{n_rows:,} rows written to {output}")


def _print_json(content: Mapping[str, Any]) -> None:
    text = json.dumps(_plain(content), ensure_ascii=False, allow_nan=False)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(_plain(content), allow_nan=False)
    print(text)


def _plain(value: Any) -> Any:
    """The value in JSON's terms: infinity as "inf", not-a-number as null, unknown objects as text."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None if math.isnan(value) else str(value)
    return value if value is None or isinstance(value, str | int | bool) else str(value)


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
    left_out = {*names, "by_sensitive", "joint", "worst", "worst_sensitive", "worst_cells"}
    shown = {name: value for name, value in measures.items() if name not in left_out}
    if shown.get("unmet") == ():
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
            bars.update(tasks[stage], completed=done, total=total)

        yield update
