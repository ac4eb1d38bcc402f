# SPDX-License-Identifier: Apache-2.0
"""Random jobs from end to end, each release read back from its file and judged by the slow twins.

    python tests/soak.py --jobs 10000 --seed 0 --processes 2

Job i is drawn from seed + i alone: a table, a schema, requirements, a method, a way to publish. The
release is written and read back by pyarrow; rows, cells, requirements, measures of privacy and utility
are compared with `tests/reference`, which shares nothing with the engine. `--seed N --jobs 1` repeats a
job that failed.
"""

from __future__ import annotations

import argparse
import datetime as dt
import itertools
import math
import random
import sys
import tempfile
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from decimal import ROUND_DOWN, Context, Decimal, InvalidOperation
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet as pq

import anon
from reference import cells as slow_cells
from reference import divergence, requirement, utility

ROOT = "*"
TREE = {ROOT: {"N": {"n1": ["a", "b"], "n2": ["c"]}, "S": ["d", "e"], "Z": {"z1": {"z2": ["f"]}}}}
PATHS = {
    "a": ["n1", "N"],
    "b": ["n1", "N"],
    "c": ["n2", "N"],
    "d": ["S"],
    "e": ["S"],
    "f": ["z2", "z1", "Z"],
}
ORDER = list("fbdaec")
ZIPS = ["", "1", "12", "123", "1234", "1244", "1300", "2", "23"]
NASTY = ["a", "b", "", " ", "*", "missing", "x or missing", "{a, b}", "[1, 2]", '"q"', "a, b", "é", "e\u0301"]
NASTY += ["\n", "\\", "{", "a,b", "10", "\u202e", "A", "None", "nan", "null", "\x00", "Ⅳ", "😀"]
EXTREMES = [2**63 - 1, -(2**63), 0, 2**53, 2**53 + 1, -1]
MISSING = ["", "NA", "N/A", "n/a", "#N/A", "<NA>", "NULL", "null", "None", "NaN", "nan"]
UNSIGNED = [2**64 - 1, 2**64 - 2, 0, 2**53, 2**53 + 1, 1]
FLOATS = [0.0, -0.0, 1.5, 0.1, 1e300, -1e300, 5e-324, math.nan]
EPOCH = dt.datetime(1970, 1, 1)

# Most tables are small and of any kind. The others are made for the paths that those never take: nearly
# unique sensitive values and several of them, flat sets of many labels, 40 to 70 quasi-identifiers (whose
# keys need several words), classes that fail beside each other, and more than 2**15 rows.
SHAPES = [*["plain"] * 160, *["skewed"] * 24, *["runs"] * 22, *["flat"] * 8, *["wide"] * 8, "long"]
SIZES = {
    "plain": [1, 2, 3, 5, 8, 13, 20, 40, 80],
    "skewed": [20, 30, 60],
    "runs": [15, 30, 60],
    "flat": [8, 20, 40],
    "wide": [3, 8, 13],
    "long": [33_000],
}

NUMERIC = ("int", "long", "unsigned", "float", "decimal", "date", "time")
FLAT = ("text", "bool")
QUASI = (*NUMERIC, "int", *FLAT, "text", "tree", "ordinal", "zip")
SENSITIVE = ("int", "long", "float", "decimal", "date", "text", "bool", "tree", "ordinal")


@dataclass
class Column:
    """One attribute: what was drawn (None: missing), the Arrow array, and what the schema says."""

    kind: str
    values: list[Any]
    array: pa.Array
    attribute: Any
    levels: tuple[Any, ...] = ()
    lengths: tuple[int, ...] = ()

    def present(self, rows: Iterable[int]) -> list[Any]:
        """The distinct values of some rows in the order of the domain."""
        found = {self.values[row] for row in rows} - {None}
        if self.kind == "ordinal":
            return sorted(found, key=ORDER.index)
        if self.kind in ("tree", "zip"):
            return sorted(found, key=lambda value: [str(node) for node in reversed(self.path(value))])
        return sorted(found)

    def path(self, value: Any) -> list[Any]:
        """The nodes from a value up to the root; a prefix is a pair, so that it is no value."""
        if self.kind == "tree":
            return [value, *PATHS[value], ROOT]
        labels = {each for each in self.values if each is not None}
        nodes = []
        for length in sorted(self.lengths, reverse=True):
            node = value[:length]
            several = sum(len(each) >= length and each[:length] == node for each in labels) > 1
            if len(value) >= length and (several or node != value):
                nodes.append((node, length))
        return [value, *nodes, ROOT]

    def place(self, value: Any) -> Any:
        """Where a value lies on its line, exactly."""
        if self.kind == "date":
            return value.toordinal()
        if self.kind == "time":
            return (value - EPOCH) // dt.timedelta(microseconds=1)
        return Fraction(value) if self.kind in NUMERIC else value

    def word(self, value: Any) -> str:
        """A value as text."""
        match self.kind:
            case "bool":
                return "true" if value else "false"
            case "decimal":
                return format(value, "f")
            case "date" | "time":
                return str(value.isoformat())
        return str(value)


@dataclass
class Job:
    """Everything that was drawn."""

    seed: int
    rng: random.Random
    columns: dict[str, Column]
    quasi: list[str]
    sensitive: list[str]
    table: pa.Table
    require: list[Any]
    method: Any
    options: dict[str, Any]
    suffix: str
    faults: list[str] = field(default_factory=list)

    @property
    def n_rows(self) -> int:
        return int(self.table.num_rows)

    @property
    def schema(self) -> anon.Schema:
        return self.schema_of(None)

    def schema_of(self, unit: str | None) -> anon.Schema:
        """The schema where a column tells whose a row is."""
        attributes = [
            [self.columns[name].attribute for name in names] for names in (self.quasi, self.sensitive)
        ]
        return anon.Schema(*attributes, ["name"], neutral="rest", unit=unit)

    def expect(self, holds: bool, fault: str) -> None:
        if not holds:
            self.faults.append(fault)

    def __str__(self) -> str:
        kinds = {name: column.kind for name, column in self.columns.items()}
        asked = f"{self.schema}, {self.require}, {self.method}, {self.options}"
        return f"{self.n_rows} rows, {kinds}, {asked}, {self.suffix}"


# --- what is drawn


def draw_column(
    rng: random.Random, name: str, kind: str, n: int, spread: str = "few", whole: bool = False
) -> Column:
    """A column of `n` rows, not all of them missing, none if it is `whole`; `spread` says how it is dealt.

    "few": a few values; "many": about as many as rows; "skewed": one value in 55 of 100 rows, the others
    nearly unique. A kind that has few values keeps them.
    """
    share_missing = 0 if whole else rng.choice([0, 0, 0.1, 0.5, 0.9] if spread == "few" else [0, 0, 0, 0.02])
    few = rng.choice([1, 2, 3, 5, 50]) if spread == "few" else 10 * n
    pool = rng.sample(NASTY, min(few, len(NASTY)))
    if spread != "few":
        pool = [f"v{i}" for i in range(min(few, 10_000))]
    draws: dict[str, Callable[[], Any]] = {
        "int": lambda: rng.randint(-few, few),
        "long": lambda: rng.choice(EXTREMES),
        "unsigned": lambda: rng.choice(UNSIGNED),
        "float": lambda: rng.choice([*FLOATS, rng.random(), float(rng.randint(-few, few))]),
        "decimal": lambda: Decimal(rng.randint(-few, few)).scaleb(-2),
        "date": lambda: dt.date(2020, 1, 1) + dt.timedelta(rng.randint(-few, few) * rng.choice([1, 40])),
        "time": lambda: dt.datetime(2020, 1, 1) + dt.timedelta(seconds=rng.randint(-few, few)),
        "bool": lambda: rng.random() < 0.5,
        "text": lambda: rng.choice(pool),
        "tree": lambda: rng.choice("abcdef"[: max(few, 2)]),
        "ordinal": lambda: rng.choice("abcdef"[: max(few, 2)]),
        "zip": lambda: rng.choice(ZIPS[: max(1, min(few, 9))]),
    }
    values = [None if rng.random() < share_missing else draws[kind]() for _ in range(n)]
    if spread == "skewed":
        values = [values[0] if rng.random() < 0.55 else value for value in values]
    if all(value is None or value != value for value in values):
        values[rng.randrange(n)] = "a" if kind == "tree" or kind == "ordinal" else draws[kind]()
        values = [0.5 if value is not None and value != value else value for value in values]
    types = {
        "int": rng.choice([pa.int8(), pa.int32(), pa.int64()] if few < 100 else [pa.int32(), pa.int64()]),
        "long": pa.int64(),
        "unsigned": pa.uint64(),
        "float": pa.float64(),
        "decimal": pa.decimal128(10, 2),
        "date": rng.choice([pa.date32(), pa.date64()]),
        "time": pa.timestamp(rng.choice(["s", "ms", "us", "ns"])),
        "bool": pa.bool_(),
    }
    array = pa.array(values, types.get(kind, pa.string()), from_pandas=False)
    if kind in ("text", "tree"):
        stored = rng.choice([pa.string(), pa.string(), pa.large_string(), pa.string_view(), None])
        array = array.dictionary_encode() if stored is None else array.cast(stored)
    if kind == "float":  # NaN is missing, and -0.0 is 0.0
        values = [None if value is None or value != value else value + 0.0 for value in values]
    column = Column(kind, values, array, name)
    return _with_attribute(column, name, rng)


def _with_attribute(column: Column, name: str, rng: random.Random) -> Column:
    match column.kind:
        case "tree":
            column.attribute = anon.nominal(name, TREE)
        case "ordinal":
            column.attribute = anon.ordinal(name, ORDER)
        case "zip":
            column.lengths = rng.choice([(1,), (2, 1), (3, 2, 1), (1, 3)])
            column.attribute = anon.nominal(name, anon.prefix(*column.lengths))
        case "int" if rng.random() < 0.5:
            column.levels = rng.choice([(2, 5), (3,), (1, 10, 100)])
            column.attribute = anon.numeric(name, anon.intervals(*column.levels))
        case "date" if rng.random() < 0.5:
            column.levels = ("month", "year")
            column.attribute = anon.numeric(name, anon.dates(*column.levels))
        case "decimal" | "float" if rng.random() < 0.3:
            column.attribute = anon.numeric(name, anon.intervals(0.05, 1))
        case _ if column.kind in NUMERIC:
            column.attribute = anon.numeric(name)
    return column


def draw_requirement(rng: random.Random, sensitive: Sequence[str]) -> Any:
    """One requirement, weak enough to be met now and then."""
    one = rng.choice([None, None, rng.choice(sensitive)]) if sensitive else None
    kind = rng.choice(["probabilistic", "distinct", "entropy", "recursive"])
    l = rng.choice([1, 2, 3] if kind == "recursive" else [1, 1.1, 1.5, 2, 3])
    distance = rng.choice(["js", "equal", "ordered", "hierarchical"])
    made = [anon.KAnonymity(rng.choice([1, 2, 2, 3, 5, 10]))] * 4
    if sensitive:
        made += [
            *[anon.LDiversity(l, kind, c=rng.choice([0.5, 1, 3, 2.5]), sensitive=one)] * 2,
            anon.TCloseness(rng.choice([0, 0.1, 0.2, 0.3, 0.5, 1]), distance, sensitive=one),
            anon.DeltaDisclosure(
                rng.choice([0.1, 0.5, math.log(2), 1, 2]), rng.choice(["fail", "ignore"]), sensitive=one
            ),
            anon.AlphaK(rng.choice([0.3, 0.5, 0.7, 1]), rng.choice([1, 2, 3]), sensitive=one),
            anon.BetaLikeness(rng.choice([0.3, 1, 3]), rng.random() < 0.5, sensitive=one),
            anon.SDiversityBound(
                rng.choice([0.3, 0.5, 0.8, 1, 2]), rng.choice([0, 0.4, 0.7, 1]), sensitive=one
            ),
        ]
    return rng.choice(made)


def draw_method(rng: random.Random, quasi: Sequence[str], sensitive: Sequence[str]) -> Any:
    """Any of the methods, Mondrian most often."""
    target = sensitive[0] if sensitive else "id"
    methods = [
        *[anon.Mondrian()] * 3,
        anon.Mondrian(split="most-repeated"),
        anon.Mondrian(split="least-repeated", cuts="median"),
        anon.Mondrian(relaxed=True),
        anon.Mondrian(split=[quasi[0]]),
        anon.Mondrian(split="information-gain", target=target),
        *[anon.Curve(rng.choice(["balanced", "best"]), loss=rng.choice(["ncp", "ordered"]))] * 2,
        anon.KMembers(loss=rng.choice(["ncp", "byun"])),
        anon.Suppress("quasi"),
        anon.Identity(),
    ]
    if sensitive:
        methods += [
            anon.KMembers(objective="protection"),
            anon.TGC(variant=rng.choice(["default", "printed"])),
            anon.TGC(w_u=1.0, w_p=0.0),
            anon.Anatomy(rng.choice([2, 3])),
            anon.Suppress("sensitive"),
        ]
    else:
        methods.append(anon.TGC(w_u=1.0, w_p=0.0))
    return rng.choice(methods)


def draw_columns(rng: random.Random, shape: str, n: int) -> tuple[list[str], list[str], dict[str, Column]]:
    """Quasi-identifiers, sensitive attributes and all their columns, of one of `SHAPES`."""
    n_quasi = rng.choice({"long": [1, 2], "wide": range(40, 71)}.get(shape, [1, 1, 2, 3, 4]))
    kinds = {"flat": FLAT, "skewed": ("float", *QUASI), "long": ("int", "date", "text", "tree", "zip")}
    quasi = {f"q{i}": rng.choice(kinds.get(shape, QUASI)) for i in range(n_quasi)}
    n_sensitive = rng.choice([1, 2, 2, 3] if shape in ("skewed", "runs") else [0, 0, 1, 1, 2])
    sensitive = {f"s{i}": rng.choice(SENSITIVE) for i in range(n_sensitive)}
    of_quasi = {"flat": "many", "skewed": "many", "wide": rng.choice(["few", "many"])}.get(shape, "few")
    of_sensitive = "skewed" if shape == "skewed" else "few"
    columns = {name: draw_column(rng, name, kind, n, of_quasi) for name, kind in quasi.items()}
    for name, kind in sensitive.items():
        whole = shape != "plain" and rng.random() < 0.8  # many requirements have no place for what is missing
        columns[name] = draw_column(rng, name, kind, n, of_sensitive, whole)
    if shape == "runs":
        order = sorted(range(n), key=lambda row: repr(columns["q0"].values[row]))
        for name in sensitive:
            column = columns[name]
            by_value = sorted(range(n), key=lambda row: repr(column.values[row]))
            given = [row for _, row in sorted(zip(order, by_value, strict=True))]
            column.values = [column.values[row] for row in given]
            column.array = pa.concat_arrays([column.array.slice(row, 1) for row in given])
    return list(quasi), list(sensitive), columns


def draw(seed: int) -> Job:
    """The job of a seed."""
    rng = random.Random(seed)
    shape = rng.choice(SHAPES)
    n = rng.choice(SIZES[shape])
    quasi, sensitive, columns = draw_columns(rng, shape, n)
    arrays = {name: column.array for name, column in columns.items()}
    arrays |= {"name": pa.array([f"person {i}" for i in range(n)]), "id": pa.array(range(n), pa.int64())}
    table = pa.table(arrays)
    if n > 3 and rng.random() < 0.3:
        at = rng.randint(1, n - 1)
        table = pa.concat_tables([table.slice(0, at), table.slice(at)])
    method = draw_method(rng, quasi, sensitive)
    if shape in ("skewed", "runs", "wide") and rng.random() < 0.7:  # those that repair what fails
        method = rng.choice([anon.Curve(), anon.Curve(loss="ordered"), anon.KMembers(), anon.TGC(s=4)])
    require = [draw_requirement(rng, sensitive) for _ in range(rng.choice([1, 1, 2, 3]))]
    publish = rng.choice(["generalization"] * 3 + ["bucketization"])
    if isinstance(method, anon.KMembers | anon.TGC | anon.Curve):
        require.append(anon.KAnonymity(rng.choice([2, 3, 5])))
    elif isinstance(method, anon.Anatomy):
        publish = "bucketization"
    elif not isinstance(method, anon.Mondrian):
        require = []
    if not sensitive:
        publish = "generalization"
    numeric = rng.choice(["interval", "interval", "bounds", "midpoint", "mean", "level"])
    if any(columns[name].kind in NUMERIC and columns[name].attribute.hierarchy is None for name in quasi):
        numeric = "interval" if numeric == "level" else numeric
    options = {
        "publish": publish,
        "numeric": numeric,
        "missing": rng.choice([*["category"] * 4, *["suppress"] * 3, "error"]),
        "order": rng.choice(["class", "input"]),
        "on_infeasible": rng.choice(["error", "error", "trivial"]),
        "n_threads": rng.choice([1, 2, 3]),
        "seed": rng.randint(0, 9),
    }
    suffix = rng.choice(["parquet", "feather", "csv"])
    if shape != "plain":
        options["missing"] = rng.choice(["category", "category", "suppress"])
    if shape == "long":  # the slow twins count each class and compare all pairs of its rows
        require = [one for one in require if not isinstance(one, anon.SDiversityBound)]
        require.append(anon.KAnonymity(rng.choice([300, 1000])))
        method = rng.choice([anon.Mondrian(), anon.Mondrian(cuts="median"), anon.Curve()])
        options |= {"missing": "category", "on_infeasible": "trivial"}
        options["publish"] = "generalization"
    return Job(seed, rng, columns, quasi, sensitive, table, require, method, options, suffix)


# --- a job is run


def run(seed: int, folder: Path) -> tuple[str, list[str]]:
    """What became of a job in one word, and its faults."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", anon.PrivacyWarning)
        return _run(draw(seed), folder)


def _run(job: Job, folder: Path) -> tuple[str, list[str]]:
    before = job.table.to_pydict()
    try:
        release = anon.anonymize(job.table, job.schema, require=job.require, method=job.method, **job.options)
    except anon.InfeasibleError:
        judge_refusal(job)
        return "infeasible", _told(job)
    except anon.RecheckError as error:
        return "failed", [f"seed {job.seed}: {error}; {job}"]
    except anon.AnonError:
        return "refused", []
    except Exception as error:
        return "failed", [f"seed {job.seed}: {type(error).__name__}: {error}; {job}"]
    try:
        published = through_a_file(job, release, folder)
        if published is not None:
            judge(job, release, *published)
        if job.n_rows <= 20 or job.rng.random() < 0.5:
            shuffled(job, release)
        if job.n_rows <= 100:
            by_units(job)
        job.expect(repr(before) == repr(job.table.to_pydict()), "the input was changed")
    except Exception as error:
        job.faults.append(f"{type(error).__name__}: {error}")
    return type(job.method).__name__, _told(job)


def _told(job: Job) -> list[str]:
    return [f"seed {job.seed}: {'; '.join(job.faults)}; {job}"] if job.faults else []


def through_a_file(job: Job, release: Any, folder: Path) -> tuple[pa.Table, pa.Table | None, Path] | None:
    """The table and, of a bucketization, the sensitive one, as pyarrow reads them; None if not written."""
    path = folder / f"{job.seed}.{job.suffix}"
    if not release.meets_requirements:
        with _raises(anon.InfeasibleError):
            release.write(path)
        job.expect(not path.exists(), "a release that meets no requirement was written")
        return None
    try:
        release.write(path)
    except anon.DataError as error:
        reason = job.suffix == "csv" and merges(job, release) == error.column is not None
        job.expect(reason, f"not written without a reason: {error}")
        job.expect(not path.exists(), "a refused file was written")
        return None
    job.expect(job.suffix != "csv" or merges(job, release) is None, "values that CSV merges were written")
    check_file(job, release, path)
    second = None
    if job.options["publish"] == "bucketization":
        second = read(path.with_name(f"{job.seed}.sensitive.{job.suffix}"))
    return read(path), second, path


def check_file(job: Job, release: Any, path: Path) -> None:
    """`anon check FILE` with the same roles and demands passes."""
    if not release.n_rows:
        return
    buckets = job.options["publish"] == "bucketization"
    shown = job.quasi if buckets else _shown_columns(job, release.table)
    dropped = job.method == anon.Suppress("sensitive")
    attributes = [] if dropped else [job.columns[name].attribute for name in job.sensitive]
    found = anon.check(path, anon.Schema(shown, attributes), require=_demands(job))
    job.expect(not found.unmet, f"the file does not meet {found.unmet}")
    job.expect(found.n_rows + found.n_starred == release.n_rows, "the file has other rows")


def merges(job: Job, release: Any) -> str | None:
    """The first column of cells or sensitive values in which two texts are one to some reader of CSV."""
    columns = {column.name: column.values.to_pylist() for columns in release.columns for column in columns}
    rows = release.classes.rows.tolist()
    intact = job.quasi if job.options["publish"] == "bucketization" else []
    for name in [*intact, *(job.sensitive if job.method != anon.Suppress("sensitive") else [])]:
        if job.columns[name].kind not in NUMERIC:
            columns[name] = [job.columns[name].values[row] for row in rows]
        elif name in job.sensitive and job.columns[name].kind not in ("date", "time"):
            columns[name] = [
                None if value is None else str(value)
                for value in map(job.columns[name].values.__getitem__, rows)
            ]
    for name, values in columns.items():
        words = [str(value).lower() if isinstance(value, bool) else value for value in set(values)]
        if any(isinstance(word, str) for word in words):
            read = Counter(reading for word in words for reading in read_as(word))
            if max(read.values()) > 1:
                return name
    return None


def read_as(text: str | None) -> set[Any]:
    """What readers of CSV may take a text for: a number, of which a spreadsheet keeps 15 digits, a truth
    value, a missing one, or a trimmed text.
    """
    trimmed = "" if text is None else text.strip()
    if trimmed in MISSING:
        return {None}
    if trimmed.lower() in ("true", "false"):
        return {float(trimmed.lower() == "true")}
    try:
        number = Decimal(trimmed)
        return {float(trimmed), f"{number:.14e}", str(+number.normalize(Context(15, ROUND_DOWN)))}
    except (ValueError, InvalidOperation):
        return {trimmed}


class _raises:
    """Fails unless its block raises the error."""

    def __init__(self, error: type[Exception]) -> None:
        self.error = error

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, *rest: Any) -> bool:
        if kind is None or not issubclass(kind, self.error):
            raise AssertionError(f"{self.error.__name__} was not raised")
        return True


def read(path: Path) -> pa.Table:
    """The file without the engine; CSV as text, with the numbers of rows and buckets as numbers."""
    if path.suffix == ".parquet":
        return pq.read_table(path)
    if path.suffix == ".feather":
        with pa.ipc.open_file(path) as reader:
            return reader.read_all()
    names = next(iter(path.read_text().splitlines())).replace('"', "").split(",")
    types = {name: pa.int64() if name in ("id", "class_id", "count") else pa.string() for name in names}
    return pa.csv.read_csv(
        path,
        parse_options=pa.csv.ParseOptions(newlines_in_values=True),
        convert_options=pa.csv.ConvertOptions(
            column_types=types, strings_can_be_null=True, quoted_strings_can_be_null=False, null_values=[""]
        ),
    )


# --- a release is judged


def judge_refusal(job: Job) -> None:
    """A demand is infeasible exactly when all published rows as one class fail it (spec 1)."""
    suppressed = _with_missing(job) if job.options["missing"] == "suppress" else set()
    rows = [row for row in range(job.n_rows) if row not in suppressed]
    met = not rows or all(passes(job, one, rows, rows) for one in _demands(job))
    job.expect(not met, "infeasible without a reason")


def judge(job: Job, release: Any, table: pa.Table, second: pa.Table | None, path: Path) -> None:
    """Rows, values, requirements, cells and measures of a release that was read back."""
    ids = table["id"].to_pylist()
    left_out = _with_missing(job) if job.options["missing"] == "suppress" else set()
    if sorted(ids) != sorted(set(range(job.n_rows)) - left_out):
        job.faults.append("rows are lost or made up")
        return
    refused = job.options["missing"] == "error" and _with_missing(job)
    job.expect(not refused, "missing values were not refused")
    if job.options["order"] == "input":
        job.expect(ids == sorted(ids), "the order of the input is lost")
    job.expect("name" not in table.column_names, "an identifier is published")
    shown = _shown_columns(job, table)
    groups: dict[Any, list[int]] = defaultdict(list)
    for row, *cells in zip(ids, *(table[name].to_pylist() for name in shown), strict=True):
        groups[tuple(map(repr, cells))].append(row)
    classes = list(groups.values())
    if second is None:
        judge_values(job, table, ids, [] if job.method == anon.Suppress("sensitive") else job.sensitive)
        if not isinstance(job.method, anon.Suppress):
            judge_cells(job, table, ids, classes)
    else:
        judge_values(job, table, ids, job.quasi)
        judge_buckets(job, second, dict(zip(table["class_id"].to_pylist(), ids, strict=True)), classes)
    for one in _demands(job):
        failing = sum(not passes(job, one, rows, ids) for rows in classes)
        job.expect(not failing, f"{failing} of {len(classes)} classes fail {one}")
    judge_privacy(job, release, classes, path, shown)
    if second is None and not isinstance(job.method, anon.Suppress):
        judge_utility(job, release, classes, path)


def _with_missing(job: Job) -> set[int]:
    return {
        row for column in job.columns.values() for row, value in enumerate(column.values) if value is None
    }


def _demands(job: Job) -> list[Any]:
    more = [anon.LDiversity(job.method.l)] if isinstance(job.method, anon.Anatomy) else []
    if isinstance(job.method, anon.Anatomy) and job.method.sensitive is None:
        more = (
            [anon.LDiversity(job.method.l, sensitive=job.sensitive[0])] if len(job.sensitive) == 1 else more
        )
    return [*job.require, *more]


def _shown_columns(job: Job, table: pa.Table) -> list[str]:
    """The columns that tell classes apart."""
    if job.options["publish"] == "bucketization":
        return ["class_id"]
    return [
        name
        for name in table.column_names
        if any(name == q or name in (f"{q}_min", f"{q}_max", f"{q}_missing") for q in job.quasi)
    ]


def judge_values(job: Job, table: pa.Table, ids: list[int], names: Iterable[str]) -> None:
    """Columns that are published as they are."""
    for name in names:
        original = job.table[name]
        if name in job.sensitive and job.columns[name].kind == "float":  # NaN is missing, and -0.0 is 0.0
            original = pa.array(job.columns[name].values, original.type)
        values = (original.cast(pa.string()) if job.suffix == "csv" else original).to_pylist()
        same = repr([values[row] for row in ids]) == repr(table[name].to_pylist())
        job.expect(same, f"values of {name} were changed")


def judge_buckets(job: Job, second: pa.Table, row_of: dict[int, int], classes: list[list[int]]) -> None:
    """Counts of sensitive values per bucket, as text."""
    counted: dict[Any, Counter[Any]] = defaultdict(Counter)
    for line in second.to_pylist():
        counted[line["attribute"], line["class_id"]][line["value"]] += line["count"]
    bucket_of = {row: bucket for bucket, row in row_of.items()}
    for rows in classes:
        [bucket] = [bucket_of[row] for row in rows if row in bucket_of]
        for name in job.sensitive:
            column = job.columns[name]
            held = Counter(column.values[row] for row in rows)
            words = {None if value is None else column.word(value): n for value, n in held.items()}
            job.expect(counted[name, bucket] == Counter(words), f"a bucket's counts of {name} are wrong")


def judge_cells(job: Job, table: pa.Table, ids: list[int], classes: list[list[int]]) -> None:
    """The text or numbers of every class's cells."""
    at = {row: position for position, row in enumerate(ids)}
    numeric = job.options["numeric"]
    for name in job.quasi:
        column = job.columns[name]
        for rows in classes:
            here = at[rows[0]]
            if column.kind in NUMERIC and numeric not in ("interval", "level"):
                found = {
                    each: table[each][here].as_py()
                    for each in (name, f"{name}_min", f"{name}_max", f"{name}_missing")
                    if each in table.column_names
                }
                ok = job.suffix == "csv" or _numbers_fit(column, name, rows, found, numeric)
            else:
                ok = cell(column, rows, numeric == "level") in (None, table[name][here].as_py())
            if not ok:
                job.faults.append(f"a cell of {name} is not that of its rows")
                break


def cell(column: Column, rows: list[int], by_level: bool) -> str | None:
    """The text that a class shows of an attribute; None where only the engine's own check knows it."""
    domain, present = column.present(range(len(column.values))), column.present(rows)
    null = None in (column.values[row] for row in rows)
    end = " or missing" if null else ""
    if not present:
        return "missing"
    if len(present) == len(domain) > 1:
        return ROOT + end
    if column.kind in ("tree", "zip"):
        if len(present) == 1:
            return slow_cells.quote(present[0]) + end
        node = common(column, present)
        if node == common(column, domain):
            return ROOT + end
        label = node if isinstance(node, str) else node[0]
        while not isinstance(node, str) and label in domain:
            label += "…"
        return slow_cells.quote(label) + end
    if by_level and column.levels and len(domain) > 1:
        return _level(column, present, domain) + end
    if by_level and column.kind in ("decimal", "float"):
        return None
    kind = "numeric" if column.kind in NUMERIC else "ordinal" if column.kind == "ordinal" else "nominal"
    words = [column.word(value) for value in domain]
    return slow_cells.text(kind, words, {domain.index(value) for value in present}, null)


def common(column: Column, values: list[Any]) -> Any:
    """The lowest node above all values."""
    paths = [column.path(value) for value in values]
    return next(node for node in paths[0] if all(node in path for path in paths))


def _level(column: Column, present: list[Any], domain: list[Any]) -> str:
    """The smallest level that holds the values, `*` where none does or it holds the whole domain."""
    for level in sorted(column.levels, key=lambda level: level if isinstance(level, int) else len(level) < 5):
        if column.kind == "int":
            bins = [value // level for value in (present[0], present[-1], domain[0], domain[-1])]
            label = f"[{bins[0] * level}, {(bins[0] + 1) * level})"
        else:
            length = 7 if level == "month" else 4
            bins = [str(value)[:length] for value in (present[0], present[-1], domain[0], domain[-1])]
            label = bins[0]
        if bins[0] == bins[1]:
            return ROOT if bins[2] == bins[3] else label
    return ROOT


def _numbers_fit(column: Column, name: str, rows: list[int], found: dict[str, Any], numeric: str) -> bool:
    held = [column.values[row] for row in rows if column.values[row] is not None]
    if None in column.values and found.get(f"{name}_missing") != (len(held) < len(rows)):
        return False
    if not held:
        return all(value is None for each, value in found.items() if each != f"{name}_missing")
    if numeric == "bounds":
        return (found[f"{name}_min"], found[f"{name}_max"]) == (min(held), max(held))
    ends = [min(held), max(held)] if numeric == "midpoint" else held
    mean = Fraction(sum(map(column.place, ends)), len(ends))
    value = found[name]
    if column.kind == "date":
        return bool(value.toordinal() == math.floor(mean))
    if column.kind == "time":
        # rounded down to the unit of the column
        return 0 <= mean - column.place(_plain_time(value)) < 10**6
    return math.isclose(value, mean, rel_tol=1e-12, abs_tol=1e-320)


def _plain_time(value: Any) -> dt.datetime:
    return dt.datetime.fromisoformat(value.isoformat()[:26])


# --- requirements by the twins


def passes(job: Job, demand: Any, rows: Sequence[int], published: Sequence[int]) -> bool:
    """Does a class meet a requirement against the published rows?"""
    names = [demand.sensitive] if getattr(demand, "sensitive", None) else job.sensitive
    domains = {name: [*job.columns[name].present(published), None] for name in names}

    def counts(name: str, some: Sequence[int]) -> list[int]:
        held = Counter(job.columns[name].values[row] for row in some)
        return [held[value] for value in domains[name]]

    table = [counts(name, published) for name in names]
    here = [counts(name, rows) for name in names]
    if not names:
        table, here = [[len(published)]], [[len(rows)]]
    rules = _rules(job, demand, names, published)
    return all(requirement.passes(table, len(published), rule, here) for rule in rules)


def _rules(job: Job, demand: Any, names: Sequence[str], published: Sequence[int]) -> list[tuple[Any, ...]]:
    """A requirement as the twin takes it."""

    def exact(x: Any) -> Fraction:
        return Fraction(str(x))

    if isinstance(demand, anon.KAnonymity):
        return [("size", demand.k)]
    if isinstance(demand, anon.SDiversityBound):
        lines = [(a, _line(job, name, published)) for a, name in enumerate(names)]
        return [("s_diversity", demand.bound, demand.r, lines)]
    rules: list[tuple[Any, ...]] = [("size", demand.k)] if isinstance(demand, anon.AlphaK) else []
    for a, name in enumerate(names):
        match demand:
            case anon.AlphaK():
                rules.append(("share", a, exact(demand.alpha)))
            case anon.LDiversity(kind="probabilistic"):
                rules.append(("share", a, 1 / exact(demand.l)))
            case anon.LDiversity(kind="distinct"):
                rules.append(("distinct", a, demand.l))
            case anon.LDiversity(kind="entropy"):
                rules.append(("entropy", a, demand.l))
            case anon.LDiversity():
                rules.append(("recursive", a, exact(demand.c), int(demand.l)))
            case anon.TCloseness(distance="js"):
                rules.append(("js", a, demand.t))
            case anon.TCloseness(distance="hierarchical") if job.columns[name].kind == "tree":
                rules.append(("hierarchical", a, exact(demand.t), _nodes(job.columns[name], published)))
            case anon.TCloseness(distance="ordered"):
                rules.append(("ordered", a, exact(demand.t)))
            case anon.TCloseness():
                rules.append(("equal", a, exact(demand.t)))
            case anon.DeltaDisclosure():
                rules.append(("delta" if demand.absent == "fail" else "delta_present", a, demand.delta))
            case anon.BetaLikeness():
                rules.append(("enhanced_beta" if demand.enhanced else "beta", a, exact(demand.beta)))
    return rules


def _line(job: Job, name: str, published: Sequence[int]) -> Any:
    """How near two values are: places on a line, a tree, or None for labels without one."""
    column = job.columns[name]
    known = column.present(published)
    if column.kind == "tree":
        return _nodes(column, published)
    if column.kind in FLAT:
        return None
    return list(range(len(known))) if column.kind == "ordinal" else [column.place(value) for value in known]


def _nodes(column: Column, published: Sequence[int]) -> tuple[list[int], ...]:
    """A tree as (parent, first, last, depth, leaf) over the published values."""
    leaves = column.present(published)
    paths = [list(reversed(column.path(leaf))) for leaf in leaves]
    nodes = list(dict.fromkeys(node for path in paths for node in path))
    number = {node: i for i, node in enumerate(nodes)}
    parent, depth = [-1] * len(nodes), [0] * len(nodes)
    first, last = [len(leaves)] * len(nodes), [-1] * len(nodes)
    for code, path in enumerate(paths):
        for at, node in enumerate(path):
            i = number[node]
            parent[i] = number[path[at - 1]] if at else -1
            depth[i] = at
            first[i], last[i] = min(first[i], code), max(last[i], code)
    return parent, first, last, depth, [number[leaf] for leaf in leaves]


# --- measures by the twins


def judge_privacy(job: Job, release: Any, classes: list[list[int]], path: Path, shown: list[str]) -> None:
    """Measures of the release, and of the file by `check`."""
    dropped = job.method == anon.Suppress("sensitive")
    expected = privacy(job, classes, [] if dropped else job.sensitive)
    _compare_measures(job, "privacy", release.privacy(), expected)
    attributes = [] if dropped else [job.columns[name].attribute for name in job.sensitive]
    starred = job.suffix == "csv" and any(
        all(
            column.kind not in NUMERIC or job.options["numeric"] in ("interval", "level")
            for column in [job.columns[q]]
        )
        for q in job.quasi
    )
    if not classes or starred or (job.suffix == "csv" and attributes):
        return  # CSV has no types, and rows of `*` are told apart in a file that does not say whose it is
    _compare_measures(job, "check", anon.check(path, anon.Schema(shown, attributes)), expected)


def _compare_measures(job: Job, where: str, found: Any, expected: dict[str, Any]) -> None:
    for name, value in expected.items():
        ours = getattr(found, name)
        if value is None or ours is None:
            job.expect(value is ours, f"{where}: {name} is {ours}, not {value}")
        else:
            job.expect(
                math.isclose(ours, value, rel_tol=1e-9, abs_tol=1e-9),
                f"{where}: {name} is {ours}, not {value}",
            )


def privacy(job: Job, classes: list[list[int]], names: Sequence[str]) -> dict[str, Any]:
    """Every measure that the twins know; the worst of the sensitive attributes."""
    expected: dict[str, Any] = {"k": min(map(len, classes), default=0), "n_classes": len(classes)}
    if not classes or not names:
        return expected
    each = [_disclosure(job.columns[name], classes) for name in names]
    for measure in each[0]:
        values = [one[measure] for one in each if one[measure] is not None]
        worst = min if measure.startswith("l_") else max
        expected[measure] = worst(values) if values else None
    return expected


def _disclosure(column: Column, classes: list[list[int]]) -> dict[str, Any]:
    published = [row for rows in classes for row in rows]
    n = len(published)
    domain = column.present(published)
    null = any(column.values[row] is None for row in published)
    codes = [*domain, *[None] * null]
    held = [Counter(column.values[row] for row in rows) for rows in classes]
    lists = [[(code, one[value]) for code, value in enumerate(codes) if one[value]] for one in held]
    offsets = [0, *itertools.accumulate(map(len, lists))]
    values = [code for each in lists for code, _ in each]
    counts = [count for each in lists for _, count in each]
    table = [sum(one[value] for one in held) for value in codes]
    sizes = list(map(len, classes))
    shapes = divergence.concentration(offsets, counts)
    gaps = divergence.distances(offsets, values, counts, table)
    ordered = hierarchical = None
    if not null and column.kind not in (*FLAT, "tree", "zip"):
        ordered = max(divergence.ordered(offsets, values, counts, table))
    if not null and column.kind == "tree":
        parent, _, _, depth, leaf = _pruned(column, published)
        hierarchical = max(divergence.hierarchical(offsets, values, counts, table, parent, depth, leaf))
    found = {
        "l_distinct": min(map(len, lists)),
        "l_probabilistic": min(size / largest for size, largest, *_ in shapes),
        "l_entropy": math.exp(min(entropy for _, _, entropy, *_ in shapes)),
        "l_recursive": min(shape[4] for shape in shapes),
        "alpha": max(largest / size for size, largest, *_ in shapes),
        "t_js": max(gap[0] for gap in gaps),
        "t_equal": max(gap[1] for gap in gaps),
        "t_ordered": ordered,
        "t_hierarchical": hierarchical,
        "delta": max(gap[2] for gap in gaps),
        "delta_present": max(gap[3] for gap in gaps),
        "beta": max(gap[4] for gap in gaps),
        "beta_enhanced": max(gap[5] for gap in gaps),
        "p_loss": max(gap[0] for gap in gaps),
        "a_know": sum(size / n * gap[1] for size, gap in zip(sizes, gaps, strict=True)),
        "a_acc": sum(shape[1] for shape in shapes) / n - max(table) / n,
    }
    return found | {f"recursive_c{l}": max(shape[3][l - 2] for shape in shapes) for l in (2, 3, 4, 5)}


def _pruned(column: Column, published: Sequence[int]) -> tuple[list[int], ...]:
    """`_nodes` below the lowest common ancestor of the published values."""
    parent, first, last, depth, leaf = _nodes(column, published)
    top = common(column, column.present(published))
    names = list(
        dict.fromkeys(node for value in column.present(published) for node in reversed(column.path(value)))
    )
    root = names.index(top)
    kept = [i for i in range(len(names)) if depth[i] >= depth[root]]
    number = {old: new for new, old in enumerate(kept)}
    return (
        [number.get(parent[i], -1) for i in kept],
        [first[i] for i in kept],
        [last[i] for i in kept],
        [depth[i] - depth[root] for i in kept],
        [number[i] for i in leaf],
    )


def judge_utility(job: Job, release: Any, classes: list[list[int]], path: Path) -> None:
    """Losses of the release, and of the file by `compare`."""
    if job.options["numeric"] == "level" or job.n_rows > 40 or job.n_rows * len(job.quasi) > 160:
        return
    attributes = [_as_twin(job.columns[name]) for name in job.quasi]
    joined = classes
    shown = [
        tuple(
            utility.cell_of(attribute, [attribute["values"][row] for row in rows]) for attribute in attributes
        )
        for rows in joined
    ]
    expected = {
        "dm": utility.discernibility(joined, job.n_rows),
        "gcp": utility.gcp(attributes, joined, shown),
        "ordered_loss": utility.ordered_loss(attributes, joined, shown),
        "um": utility.um(attributes, shown),
        "um_rows": utility.um_rows(attributes, joined, shown),
        "precision": utility.precision(attributes, joined, shown),
        "entropy": utility.entropy(attributes, joined, shown),
    }
    _compare_measures(job, "utility", release.utility(), expected)
    numbers = job.options["numeric"] in ("midpoint", "mean") and any(
        job.columns[name].kind in NUMERIC for name in job.quasi
    )
    if classes and job.suffix != "csv" and not numbers:
        _compare_measures(job, "compare", anon.compare(job.table, path, job.schema), expected)


def _as_twin(column: Column) -> dict[str, Any]:
    values = [None if value is None else column.place(value) for value in column.values]
    match column.kind:
        case "tree" | "zip":
            parents: dict[Any, Any] = {}
            for value in column.present(range(len(values))):
                path = column.path(value)
                parents |= dict(itertools.pairwise([*path, None]))
            return {"kind": "tree", "values": values, "parents": parents}
        case "ordinal":
            return {"kind": "ordinal", "values": values, "order": ORDER}
        case "text" | "bool":
            return {"kind": "flat", "values": values}
    return {"kind": "numeric", "values": values, "lattice": column.kind not in ("float", "time")}


def by_units(job: Job) -> None:
    """The table once more, its rows those of fewer units: who counts in a class, and with what values."""
    rng = random.Random(f"units of {job.seed}")
    n_units = max(1, job.n_rows // rng.choice([1, 2, 5]))
    unit = [rng.choice([0, rng.randrange(n_units)]) for _ in range(job.n_rows)]
    k, secret = rng.choice([1, 2, 3]), rng.choice([None, *job.sensitive])
    require: list[Any] = [anon.KAnonymity(k)]
    if secret is not None:
        require.append(anon.LDiversity(1.5, sensitive=secret))
    methods = [anon.Mondrian(), anon.Mondrian(cuts="median"), anon.Mondrian(relaxed=True)]
    method = rng.choice([*methods, anon.Mondrian(split="information-gain", target="id"), anon.Curve()])

    def met(rows: Sequence[int]) -> bool:
        pairs = {(unit[row], None if secret is None else job.columns[secret].values[row]) for row in rows}
        most = max(Counter(value for _, value in pairs).values())
        return len({unit[row] for row in rows}) >= k and (secret is None or 3 * most <= 2 * len(pairs))

    table = job.table.append_column("unit", pa.array(unit))
    try:
        release = anon.anonymize(table, job.schema_of("unit"), require=require, method=method)
    except anon.InfeasibleError:
        job.expect(not met(range(job.n_rows)), f"by units {require} is infeasible without a reason")
        return
    ids = release.encoded.table["id"].to_pylist()
    rows, offsets = release.classes.rows.tolist(), release.classes.offsets.tolist()
    classes = [[ids[row] for row in rows[start:end]] for start, end in itertools.pairwise(offsets)]
    job.expect(sorted(itertools.chain(*classes)) == list(range(job.n_rows)), "by units rows are lost")
    failing = sum(not met(rows) for rows in classes)
    job.expect(not failing, f"{failing} of {len(classes)} classes fail {require} by units, {method}")


# --- what must not matter


def shuffled(job: Job, release: Any) -> None:
    """Neither the order of the rows nor the number of threads changes the classes (spec 0).

    Where people with equal quasi-identifiers are dealt into buckets by chance, it is the rows alone that
    stay the same.
    """
    size = -(-job.n_rows // 200)  # rows of a long table move a few at a time
    order = list(range(0, job.n_rows, size))
    job.rng.shuffle(order)
    options = job.options | {"n_threads": job.rng.choice([1, 2, 4])}
    table = pa.concat_tables([job.table.slice(row, size) for row in order])
    again = anon.anonymize(table, job.schema, require=job.require, method=job.method, **options)
    before, after = _multiset(job, release), _multiset(job, again)
    strict = isinstance(job.method, anon.Mondrian) and not job.method.relaxed
    trivial = isinstance(job.method, anon.Identity | anon.Suppress)
    if job.options["publish"] == "bucketization" and not (strict or trivial):
        before, after = (Counter(row for rows in one.elements() for row in rows) for one in (before, after))
    job.expect(before == after, "the order of the rows changes the classes")


def _multiset(job: Job, release: Any) -> Counter[Any]:
    ids = release.encoded.table["id"].to_pylist()
    rows, offsets = release.classes.rows.tolist(), release.classes.offsets.tolist()
    values = [tuple(repr(column.values[row]) for column in job.columns.values()) for row in range(job.n_rows)]
    return Counter(
        tuple(sorted(values[ids[row]] for row in rows[start:end]))
        for start, end in itertools.pairwise(offsets)
    )


# --- the command


def _block(seeds: range) -> tuple[Counter[str], list[str]]:
    tally: Counter[str] = Counter()
    faults: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        for seed in seeds:
            word, found = run(seed, Path(folder))
            tally[word] += 1
            for fault in found:
                print(fault, flush=True)
            faults += found
            for path in Path(folder).iterdir():
                path.unlink()
    return tally, faults


def soak(jobs: int, seed: int, processes: int = 1) -> tuple[Counter[str], list[str]]:
    """The number of jobs that ended each way, and the faults."""
    blocks = [range(start, min(start + 50, seed + jobs)) for start in range(seed, seed + jobs, 50)]
    tally: Counter[str] = Counter()
    faults: list[str] = []
    if processes == 1:
        done: Iterable[tuple[Counter[str], list[str]]] = map(_block, blocks)
    else:
        done = ProcessPoolExecutor(processes).map(_block, blocks)
    for counted, found in done:
        tally += counted
        faults += found
    return tally, faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=1)
    asked = parser.parse_args()
    start = time.monotonic()
    tally, faults = soak(asked.jobs, asked.seed, asked.processes)
    ends = ", ".join(f"{word} {count}" for word, count in sorted(tally.items()))
    print(
        f"soak: {asked.jobs} jobs from seed {asked.seed}, {len(faults)} failed, "
        f"{time.monotonic() - start:.0f} s ({ends})"
    )
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
