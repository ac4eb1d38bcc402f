# SPDX-License-Identifier: Apache-2.0
"""Every flag of the commands, and every key of a job: each declared once, in the group that commands name.

A flag of a group is one of all commands that name the group, and a key of a job where `KEYS` has the group.
What `READING` holds is passed to `anon.read_source`, what `PUBLISHING` and `RUNNING` hold to
`anon.anonymize`, under the keyword `field`, or the key; `ROLES` are read by `Job.roles`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Annotated, Any, Literal, get_origin

import typer
from annotated_types import MinLen

from anon.command import parse
from anon.methods import LIMITS, METHOD_OPTIONS
from anon.methods import METHOD as METHOD_OPTION
from anon.release import PUBLISHED
from anon.requirements import REQUIREMENT_OPTIONS, Option

Text = Annotated[str, MinLen(1)]  # an empty one would mean the current directory

COLUMNS, REQUIRE, MAKE, PUBLISH, READ, WRITE, TRY = (
    *("Columns", "What the release must satisfy", "How it is made"),
    *("How it is published", "How the input is read", "Output of the command", "What to try"),
)
"""Panels of the help."""

COMMON = frozenset(
    (
        *("quasi", "sensitive", "identifying", "neutral", "unit", "hierarchy", "kind"),
        *("k", "l", "t", "method", "effort", "suppress", "publish", "numeric", "missing"),
        *("null", "delimiter", "encoding", "decimal", "date", "sheet", "grid", "choose"),
        *("report", "as_json", "quiet", "all_measures"),
    )
)
"""Flags of panels that the short help shows; `--help-all` shows all."""

UNSAID: tuple[Any, ...] = (None, (), [])  # a flag that was not given


@dataclass(frozen=True)
class Flag(Option):
    """A flag of commands, and the key of a job that says the same.

    `kind` is what a job file may hold there; the words of a flag are `words` (None: a number, yes or no, a
    list or text, as `kind` says), of which `parse` makes what a job holds, or a command is given. A key that
    is said nowhere is `absent` in a job; a flag that is left out is `default`. `spelled` is how the flag is
    written, where it is not the key, and `least` the smallest number it takes. `field` is the keyword of the
    engine, where that is not the key.
    """

    panel: str | None = None
    metavar: str | None = None
    words: Any = None
    parse: Callable[[Any], Any] | None = None
    default: Any = None
    absent: Any = None
    spelled: tuple[str, ...] = ()
    least: int | None = None
    is_path: bool = False
    is_argument: bool = False
    is_required: bool = False

    @property
    def is_rare(self) -> bool:
        """Does the short help leave it out?"""
        return self.panel is not None and self.key not in COMMON

    def parsed(self, words: Any) -> Any:
        """What a job holds, or a command is given, of the words of the flag."""
        return words if self.parse is None or words in UNSAID else self.parse(words)

    def as_parameter(self) -> inspect.Parameter:
        """The parameter of a function that typer makes the flag of."""
        words = self.words or _words(self.kind)
        plain = {bool: "", int: "N", float: "NUMBER", list[str]: "TEXT", str: "TEXT"}
        metavar = plain.get(words) if self.metavar is None else self.metavar
        described: dict[str, Any] = {"metavar": metavar, "help": self.help}
        if self.is_path:
            described["callback"] = checked_path
        if self.is_argument:
            made = typer.Argument(**described)
        else:
            spelled = self.spelled or (self.flag,)
            if words is bool and self.default is None:
                spelled = (f"{self.flag}/--{self.off or f'no-{self.flag[2:]}'}",)
            made = typer.Option(
                *spelled, min=self.least, rich_help_panel=self.panel, hidden=self.is_rare, **described
            )
        is_optional = self.default is None and not self.is_required
        return inspect.Parameter(
            self.key,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if self.is_required else self.default,
            annotation=Annotated[words | None if is_optional else words, made],
        )


def _words(kind: Any) -> Any:
    if kind in (int, float, bool):
        return kind
    return list[str] if get_origin(kind) in (list, dict) else str


def checked_path(path: str | None) -> str | None:
    """An empty path would mean the current directory; Arrow opens UTF-8 paths alone."""
    if path == "":
        raise typer.BadParameter("the path is empty")
    if path is not None and path != path.encode(errors="replace").decode():
        raise typer.BadParameter("the path is not UTF-8: rename the file")
    return path


def _declared(option: Option, panel: str) -> Flag:
    """The flag of what a requirement, a method or a grid declares."""
    said = {each.name: getattr(option, each.name) for each in fields(Option)}
    if option.key == "bounds":
        return Flag(**said, panel=panel, words=list[str], parse=parse.bounds)
    if option.key == "importance":
        return Flag(**said, panel=panel, words=str, parse=parse.importance)
    if option.by_column:
        return Flag(**said, panel=panel, words=list[str], parse=partial(parse.by_column, option.flag))
    if option.kind == list[int]:
        return Flag(
            **said, panel=panel, words=str, parse=lambda text: list(parse.whole_numbers(option.flag, text))
        )
    if get_origin(option.kind) is list:
        return Flag(**said, panel=panel, words=str, parse=lambda text: parse.names([text]))
    return Flag(**said, panel=panel)


# --- what is read and written

FILE = (
    "Parquet, Feather/IPC, CSV, Excel, SPSS, Stata or SAS file, a directory, a glob, an SQLite or DuckDB "
    "file, or postgresql://."
)
SOURCE = Flag("source", Text, FILE, metavar="FILE", is_path=True, is_argument=True, is_required=True)
BOTH = (
    replace(SOURCE, key="original", metavar="ORIGINAL"),
    replace(
        SOURCE, key="released", metavar="RELEASE", help="A release of ORIGINAL, likewise, made by anyone."
    ),
)
INPUT = Flag("input", Text, FILE, metavar="IN", is_path=True, is_argument=True)
OUTPUT = Flag(
    "output",
    Text,
    "The release: .parquet, .feather, .csv, .sav, .dta or .xlsx, or a database.",
    spelled=("-o", "--output"),
    is_path=True,
)
RELEASE_TABLE = Flag(
    "release_table",
    Text,
    "The table of a release in a database.",
    metavar="NAME",
)
REPLACE = Flag("replace", bool, "Replace the release's table where there is one.", default=False)
REPORT = Flag(
    "report",
    Text,
    "Write a report with figures, for the owner of the data alone: one page that needs no network, "
    "nor other file.",
    panel=WRITE,
    metavar="HTML",
    is_path=True,
)
REPORT_PUBLIC = Flag(
    "report_public",
    Text,
    "Write a page that may be handed out with the release: measures rounded away from the promise, "
    "nothing of the input.",
    panel=WRITE,
    metavar="HTML",
    is_path=True,
)


def _cover(key: str, what: str, metavar: str) -> Flag:
    return Flag(key, Text, f"{what} on the report; a blank without it.", panel=WRITE, metavar=metavar)


COVER = (
    Flag("title", Text, "Title of the report.", panel=WRITE, metavar="TEXT"),
    _cover("purpose", "What the data are released for,", "TEXT"),
    _cover("recipient", "Who receives them,", "NAME"),
    _cover("responsible", "The responsible person,", "NAME"),
    _cover("report_date", "The date", "DATE"),
)
CONFIG = Flag(
    "config",
    Text,
    "Job file with any of these settings; flags override it.",
    metavar="JOB.TOML",
    is_path=True,
)
CSV = (
    Flag(
        "null",
        list[str],
        "A text that is a missing value: NA in all columns of a CSV file, age=97 in one of any file; "
        "may be repeated.",
        panel=READ,
        parse=list,
    ),
    Flag("delimiter", str, "CSV delimiter.", panel=READ),
    Flag("encoding", str, "CSV encoding (utf-8, or utf-16 by its mark).", panel=READ),
    Flag("decimal", Literal[".", ","], "Decimal mark of CSV numbers (.).", panel=READ),
    Flag("thousands", str, "Mark that groups digits of CSV numbers: 1,006 (none).", panel=READ),
    Flag("header", bool, "A CSV file's first line names its columns (default), or not.", panel=READ),
    Flag(
        "date",
        dict[str, str],
        "The format of days in a column of text: born=%d.%m.%Y.",
        panel=READ,
        metavar="COLUMN=FORMAT",
        parse=partial(parse.pairs, "--date"),
    ),
    Flag("trim", bool, "Drop blanks at the ends of texts and names of columns (default: not).", panel=READ),
    Flag("sheet", str, "Sheet of an Excel file that has several.", panel=READ),
    Flag("table", Text, "Table or view of a database: visits, or clinic.visits.", panel=READ),
)
QUERY = Flag(
    "query",
    Text,
    "A SELECT of a database instead of a table.",
    panel=READ,
    metavar="SQL",
)
READING = (
    *CSV,
    Flag(
        "engine",
        Literal["local", "stream", "spark"],
        "local: the table in memory; stream: the rows stay in the files (default: as --memory allows); "
        "spark (anonymize only): Parquet to a folder of Parquet, by many workers.",
        panel=READ,
    ),
    Flag(
        "memory",
        int | str,
        "Memory to use, such as 4G (half the machine's).",
        panel=READ,
        metavar="SIZE",
    ),
    Flag(
        "spill",
        Text,
        "Folder for temporary files of --engine stream (codes in memory, rows beside the output).",
        panel=READ,
        metavar="FOLDER",
        is_path=True,
    ),
)
JSON = Flag(
    "as_json",
    bool,
    "One JSON object on stdout, errors too; for the owner of the data alone.",
    panel=WRITE,
    spelled=("--json",),
    default=False,
)
SHOW_VALUES = Flag(  # read by `main`, which prints the errors
    "show_values",
    bool,
    "Let error messages show the cell they are about.",
    panel=WRITE,
    default=False,
)
QUIET = Flag(
    "quiet",
    bool,
    "Print errors and warnings only.",
    panel=WRITE,
    spelled=("--quiet", "-q"),
    default=False,
)
ALL = Flag(
    "all_measures",
    bool,
    "Print every measure, by its name.",
    panel=WRITE,
    spelled=("--all",),
    default=False,
)
PRINTING = (JSON, SHOW_VALUES, QUIET)

# --- roles


def _columns(key: str, what: str) -> Flag:
    """The flag that names columns."""
    return Flag(key, list[str], what, panel=COLUMNS, metavar="A,B,C", parse=parse.names, absent=[])


ROLES = (
    _columns("quasi", "Quasi-identifiers."),
    _columns("sensitive", "Sensitive attributes."),
    _columns("identifying", "Identifiers; they are dropped."),
    Flag(
        "neutral",
        list[str] | Literal["rest"],
        "Columns that are published as they are; '*': all without another role.",
        panel=COLUMNS,
        metavar="A,B,C",
        words=list[str],
        parse=parse.neutral,
        absent=[],
    ),
    Flag(
        "linked",
        list[list[str]],
        "A column that goes with a quasi-identifier, such as birth_year with age: published by class, never "
        "cut. May be repeated.",
        panel=COLUMNS,
        metavar="QUASI=COLUMN",
        words=list[str],
        parse=parse.linked,
        absent=[],
    ),
    Flag(
        "unit",
        Text,
        "Whose a row is (a person's number): requirements count these, not rows; the column is dropped.",
        panel=COLUMNS,
        metavar="COLUMN",
    ),
    _columns("household", "Quasi-identifiers that all rows of a unit share, and show alike."),
    Flag(
        "sampling_weight",
        Text,
        "How many people a row of a sample stands for.",
        panel=COLUMNS,
        metavar="COLUMN",
    ),
    Flag(
        "hierarchy",
        dict[str, Text | dict[str, Any]],
        "ARX CSV file, intervals:5,10,20, prefix:4,3,2, or dates:UNITS of month, quarter, year, decade. "
        "Those of numbers and dates are used as predicates and by --numeric level only.",
        panel=COLUMNS,
        metavar="COLUMN=FILE",
        parse=partial(parse.pairs, "--hierarchy"),
        absent={},
    ),
    Flag(
        "ordinal",
        dict[str, Text | list[str | int | float | bool]],
        "The order of an ordinal column, or a file with one value per line, lowest first.",
        panel=COLUMNS,
        metavar="COLUMN=A<B<C",
        parse=partial(parse.pairs, "--ordinal"),
        absent={},
    ),
    Flag(
        "kind",
        dict[str, Literal["numeric", "ordinal", "nominal"]],
        "Read a column as numeric or nominal, whatever its type.",
        panel=COLUMNS,
        metavar="COLUMN=KIND",
        parse=partial(parse.pairs, "--kind"),
        absent={},
    ),
)
WEIGHT = Flag(
    "weight",
    dict[str, float],
    "Weight of a quasi-identifier (1).",
    panel=COLUMNS,
    metavar="COLUMN=W",
    parse=parse.weights,
    absent={},
)

CODING = (
    Flag(
        "least",
        dict[str, int | float | Text],
        "The finest level that is published: a width, a prefix length, month, quarter, year or decade, or "
        "the column of a hierarchy file (1: the one after the values).",
        panel=COLUMNS,
        metavar="COLUMN=LEVEL",
        parse=partial(parse.ends, "--least"),
        absent={},
    ),
    Flag(
        "top",
        dict[str, int | float | Text],
        "Everything from this number or date on is published as one value, such as >= 90.",
        panel=COLUMNS,
        metavar="COLUMN=END",
        parse=partial(parse.ends, "--top"),
        absent={},
    ),
    Flag(
        "bottom",
        dict[str, int | float | Text],
        "Everything up to this number or date is published as one value, such as <= 18.",
        panel=COLUMNS,
        metavar="COLUMN=END",
        parse=partial(parse.ends, "--bottom"),
        absent={},
    ),
    Flag(
        "ends",
        dict[str, int | float | Text],
        "The ends of published intervals are rounded outward to multiples of this number, or to '2 digits'.",
        panel=COLUMNS,
        metavar="COLUMN=STEP",
        parse=partial(parse.ends, "--ends"),
        absent={},
    ),
)

# --- what a release must satisfy, how it is made and published

REQUIREMENTS = tuple(_declared(each, REQUIRE) for each in REQUIREMENT_OPTIONS)
METHOD = _declared(METHOD_OPTION, MAKE)
METHODS = (METHOD, *(_declared(each, MAKE) for each in METHOD_OPTIONS))
RUNNING = (
    *(_declared(each, MAKE) for each in LIMITS),
    Flag("seed", int, "Where searches start (0); hides nothing.", panel=MAKE),
    Flag("threads", int, "Threads (all cores).", field="n_threads", panel=MAKE),
)
MISSING = Flag(
    "missing",
    Literal["category", "suppress", "error"],
    "Missing values: category (default), suppress or error.",
    panel=PUBLISH,
)
CSV_GUARD = Flag(
    "csv_guard",
    bool,
    "An apostrophe before CSV cells that spreadsheets would run as formulas (default: not).",
    panel=PUBLISH,
)
ATTACK = Flag(
    "attack",
    bool,
    "Attack the release as others would, and say what came of it (with --control 0.2, if none is given).",
    panel=PUBLISH,
)
PUBLISHING = (
    *(_declared(each, PUBLISH) for each in PUBLISHED),
    MISSING,
    Flag("order", Literal["class", "input"], "Rows by class (default), or as in the input.", panel=PUBLISH),
    Flag(
        "weights",
        Literal["class-mean", "keep"],
        "Sampling weights: the mean of each class (default), or as they are.",
        panel=PUBLISH,
    ),
    CSV_GUARD,
    Flag(
        "control",
        float,
        "Share of people to hold out of a second release, which attackers try beside these people.",
        panel=PUBLISH,
        metavar="SHARE",
    ),
    ATTACK,
    Flag(
        "on_infeasible",
        Literal["error", "trivial"],
        "What no release can meet: error (default) or trivial.",
        panel=PUBLISH,
    ),
)

# --- what a sweep tries and measures

GRID = Flag(
    "grid",
    list[str],
    "What to try, all combinations: k=10,50 t=0.05:0.4:8 method=mondrian,curve "
    "publish=generalization,bucketization (start:stop:count). May be repeated.",
    panel=TRY,
    parse=list,
)
MIN_SUPPORT = Flag("min_support", float, "Support of the populations of u_loss (0.05).", panel=TRY)
CHOOSE = Flag(
    "choose", str, "Name the best point within a bound: max_prosecutor_mean=0.05, max_gcp=0.2.", panel=TRY
)
SWEEPING = (
    GRID,
    Flag("privacy", str, "Measure on the axis of privacy (prosecutor.mean).", panel=TRY),
    Flag("utility", str, "Measure on the axis of utility (gcp).", panel=TRY),
    Flag(
        "measures",
        list[str],
        "Measures to record beside these: gcp,dm,t_equal.",
        panel=TRY,
        parse=parse.names,
    ),
    MIN_SUPPORT,
    Flag(
        "queries",
        list[str],
        "A COUNT query of count_error; may be repeated (1,000 drawn ones).",
        field="workload",
        panel=TRY,
        spelled=("--query",),
        parse=list,
    ),
    CHOOSE,
    Flag(
        "cache",
        Text,
        "Keep points here as they are measured; an interrupted sweep goes on from them.",
        panel=TRY,
        metavar="FOLDER",
        is_path=True,
    ),
)

OF_POPULATION = (
    Flag(
        "population",
        Text,
        "Table of the population, for --k-map and the like, and for the risk of the rows there.",
        metavar="FILE",
        is_path=True,
    ),
    Flag(
        "sampling_fraction",
        float,
        "Share of a population that the table holds: risk of its rows there, and estimated uniques.",
        metavar="SHARE",
    ),
)

KEYS = (
    *(INPUT, OUTPUT, RELEASE_TABLE, REPORT, REPORT_PUBLIC),
    *COVER,
    *READING,
    *ROLES,
    WEIGHT,
    *CODING,
    *REQUIREMENTS,
    *METHODS,
    *SWEEPING,
    *PUBLISHING,
    *RUNNING,
    *OF_POPULATION,
)
"""The keys of a job. Keys are the flags' names with `_` for `-`."""

# --- what is measured

SENSITIVE_TABLE = Flag(
    "sensitive_table",
    Text,
    "The second table of a bucketization, where it is not beside the first.",
    metavar="FILE",
    is_path=True,
)
