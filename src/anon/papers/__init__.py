# SPDX-License-Identifier: Apache-2.0
"""The experiments of papers, run by name: what was published and what is measured, side by side.

Each paper is a module with `run` and a TOML file with what it printed: figures (numbers) and findings
(sentences), each quoted with its place. Values that stand only in a chart are not read off it.
"""

from __future__ import annotations

import importlib
import json
import math
import os
import time
import tomllib
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa

from anon.datasets import adult
from anon.errors import Parameter, PrivacyWarning, UsageError
from anon.html import Axis, Figure, Section, Table, lines, log_axis, page
from anon.html import rows as rows_of
from anon.plain import as_plain
from anon.release import Release
from anon.requirements import Requirement
from anon.schema import Schema
from anon.tables import not_written, opened, replacing
from anon.verbs import anonymize

PAPERS = ("li2009", "brickell2008", "loukides2008", "sramka2010", "srivastava2005")

SAMPLED = "a quick run on a sample"

Verdict = Literal["exact", "within 5 %", "within 10 %", "within draws", "differs"]
Cause = Literal[
    "data not printed",
    "other code",
    "chance",
    "the paper contradicts itself",
    "the data say otherwise",
    "ours",
]
Row = Mapping[str, Any]
Tested = tuple[bool, Mapping[str, Any]]  # whether a finding held, and the numbers that say so


@dataclass(frozen=True)
class Setting:
    """What the experiments run on: the folder of the raw Adult files, samples (`quick`) or all rows."""

    adult: str | os.PathLike[str] | None = None
    quick: bool = False
    n_threads: int | None = None
    progress: Callable[[str, int, int], None] | None = None

    def adult_table(self, part: str = "all", complete: bool = True) -> pa.Table:
        """The Adult table; see `anon.datasets.adult`."""
        assert self.adult is not None
        return adult(self.adult, complete, part)

    def sample(self, table: pa.Table, n: int) -> pa.Table:
        """The whole table, or with `quick` `n` of its rows, drawn by a fixed seed."""
        if not self.quick or n >= table.num_rows:
            return table
        rows = np.random.default_rng(0).choice(table.num_rows, n, replace=False)
        return table.take(pa.array(np.sort(rows)))

    def tell(self, stage: str, done: int, total: int) -> None:
        """Report how far an experiment has come."""
        if self.progress is not None:
            self.progress(stage, done, total)

    def anonymize(self, table: pa.Table, schema: Schema, *require: Requirement, **how: Any) -> Release:
        """`anon.anonymize` without its warnings."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrivacyWarning)
            return anonymize(table, schema, require=require, n_threads=self.n_threads, **how)


@dataclass(frozen=True)
class Results:
    """What a paper's experiments gave.

    `figures[name]` is the number measured for a published figure, `findings[name]` whether a sentence held
    and the numbers that say so; `sections` show every table and figure. Of a figure that was drawn several
    times `figures` has the mean, and `drawn` the least and the greatest. `readings[words][name]` is the
    number where the paper is read otherwise.
    """

    figures: Mapping[str, float]
    findings: Mapping[str, Tested]
    sections: tuple[Section, ...]
    drawn: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    readings: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


@dataclass(frozen=True)
class PublishedFigure:
    """A number printed in a paper's text or tables, quoted with its place, and the one measured here.

    `by_data`: the data alone determine it, no method, draw or hierarchy. `drawn` are the least and the
    greatest of several draws, of which `measured` is the mean; None where nothing was drawn. `readings` has
    what is measured where the paper is read otherwise, by words for how.
    """

    name: str
    what: str
    place: str
    quote: str
    published: int | Decimal
    measured: float
    why: str
    by_data: bool
    drawn: tuple[float, float] | None = None
    readings: Mapping[str, float] = field(default_factory=dict)

    @property
    def ratio(self) -> float | None:
        """Measured over published; None where 0 was published."""
        return self.measured / float(self.published) if self.published else None

    @property
    def verdict(self) -> Verdict:
        """Exact: equal when rounded to the digits that were printed; within draws: between their ends."""
        published, measured = Decimal(self.published), Decimal(repr(self.measured))
        digits = max(0, -int(published.as_tuple().exponent))
        if round(measured, digits) == published:
            return "exact"
        off, size = abs(measured - published), abs(published)
        if off * 20 <= size:
            return "within 5 %"
        if off * 10 <= size:
            return "within 10 %"
        low, high = self.drawn or (0, -1)
        return "within draws" if low <= published <= high else "differs"

    def to_dict(self) -> dict[str, Any]:
        """The entry, ready for JSON; `why` only where the verdict is not exact."""
        published = self.published
        return {
            "name": self.name,
            "what": self.what,
            "place": self.place,
            "quote": self.quote,
            "published": published if isinstance(published, int) else float(published),
            "measured": self.measured,
            "ratio": self.ratio,
            "verdict": self.verdict,
            "by_data": self.by_data,
            "drawn": None if self.drawn is None else list(self.drawn),
            "readings": dict(self.readings),
            "why": self.why if self.verdict != "exact" else "",
        }


@dataclass(frozen=True)
class Finding:
    """A sentence of a paper, quoted with its place; how it was tested, whether it held, and our numbers.

    `cause` is what makes it fail where it does, and `why` tells it.
    """

    name: str
    place: str
    quote: str
    test: str
    held: bool
    numbers: Mapping[str, Any]
    why: str
    cause: Cause | None = None

    @property
    def detailed(self) -> bool:
        """Whether its numbers need a table of their own."""
        return any(isinstance(value, Mapping) for value in self.numbers.values())

    def to_dict(self) -> dict[str, Any]:
        """The entry, ready for JSON; `why` only where it did not hold."""
        return {
            "name": self.name,
            "place": self.place,
            "quote": self.quote,
            "test": self.test,
            "held": self.held,
            "numbers": as_plain(self.numbers),
            "cause": None if self.held else self.cause,
            "why": "" if self.held else self.why,
        }


@dataclass(frozen=True, repr=False)
class Reproduction:
    """A paper's figures and findings beside what was measured, and its tables and charts."""

    paper: str
    title: str
    source: str
    notes: tuple[str, ...]
    quick: bool
    seconds: float
    figures: tuple[PublishedFigure, ...]
    findings: tuple[Finding, ...]
    sections: tuple[Section, ...]

    @property
    def verdicts(self) -> dict[str, int]:
        """How many figures have each verdict, and how many findings held or did not."""
        figures = Counter(one.verdict for one in self.figures)
        n_held = sum(one.held for one in self.findings)
        return {
            **{verdict: figures[verdict] for verdict in get_args(Verdict)},
            "held": n_held,
            "not held": len(self.findings) - n_held,
        }

    @property
    def readings(self) -> tuple[str, ...]:
        """The other ways in which the paper can be read, by which figures were measured too."""
        return tuple(dict.fromkeys(reading for one in self.figures for reading in one.readings))

    def to_dict(self) -> dict[str, Any]:
        """All entries, tables and the numbers of all charts, ready for JSON."""
        plain: dict[str, Any] = as_plain(
            {
                "paper": self.paper,
                "title": self.title,
                "source": self.source,
                "notes": list(self.notes),
                "quick": self.quick,
                "seconds": round(self.seconds, 1),
                "verdicts": self.verdicts,
                "figures": [one.to_dict() for one in self.figures],
                "findings": [one.to_dict() for one in self.findings],
                "tables": {
                    table.title: {"header": list(table.header), "rows": table.rows}
                    for section in self.sections
                    for table in section.tables
                },
                "charts": {
                    chart.title: rows_of(chart) for section in self.sections for chart in section.figures
                },
            }
        )
        return plain

    def html(self) -> str:
        """One self-contained page."""
        counts = self.verdicts
        summary = (
            f"{self.source}.",
            f"{len(self.figures)} published figures: {counts['exact']} exact, "
            f"{counts['within 5 %']} within 5 %, {counts['within 10 %']} within 10 %, "
            f"{counts['within draws']} between the ends of several draws, {counts['differs']} differ. "
            f"{counts['held']} of {len(self.findings)} findings held.",
            *(
                ("A quick run on samples: its numbers are not those of the paper's data.",)
                if self.quick
                else ()
            ),
            *self.notes,
        )
        figures = Table(
            "Figures printed in the paper",
            ("what", "published", "measured", "ratio", "verdict", *self.readings, "where", "why"),
            tuple(
                (
                    one.what,
                    str(one.published) if isinstance(one.published, Decimal) else one.published,
                    one.measured,
                    one.ratio,
                    one.verdict,
                    *(one.readings.get(reading) for reading in self.readings),
                    one.place,
                    why,
                )
                for one, why in zip(
                    self.figures, _once([one.to_dict()["why"] for one in self.figures]), strict=True
                )
            ),
        )
        first = Section("Published and measured", summary, (figures, *self._sentences()))
        detailed = tuple(_numbers(one) for one in self.findings if one.detailed)
        last = (Section("Numbers behind the sentences", (), detailed),) if detailed else ()
        return page(self.title, (first, *self.sections, *last))

    def _sentences(self) -> tuple[Table, ...]:
        """The findings: those that held, those that did not by what makes them fail."""
        groups: dict[str, list[Finding]] = {"Sentences that are reproduced": []}
        groups |= {f"Sentences that are not: {cause}": [] for cause in get_args(Cause)}
        groups["Sentences that are not"] = []
        for one in self.findings:
            if one.held:
                groups["Sentences that are reproduced"].append(one)
            else:
                cause = f": {one.cause}" if one.cause else ""
                groups[f"Sentences that are not{cause}"].append(one)
        return tuple(
            Table(title, ("sentence", "where", "tested by", "numbers", "why"), tuple(map(_sentence, group)))
            for title, group in groups.items()
            if group
        )

    def write(self, folder: str | os.PathLike[str]) -> tuple[Path, Path]:
        """Write `<paper>.json` and `<paper>.html` to a folder, which is made; both or neither."""
        paths = [Path(folder) / f"{self.paper}.{suffix}" for suffix in ("json", "html")]
        texts = (
            json.dumps(self.to_dict(), ensure_ascii=False, indent=1, allow_nan=False) + "\n",
            self.html(),
        )
        try:
            paths[0].parent.mkdir(parents=True, exist_ok=True)
            with replacing(paths) as temporary:
                for path, text in zip(temporary, texts, strict=True):
                    with opened(path) as file:
                        file.write(text.encode())
        except OSError as error:
            raise not_written(f"to {os.fspath(folder)!r}", error) from error
        return paths[0], paths[1]

    def __repr__(self) -> str:
        return f"Reproduction({self.paper}, {self.verdicts})"


def reproduce(
    paper: str,
    *,
    adult: str | os.PathLike[str] | None = None,
    quick: bool = False,
    n_threads: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> Reproduction:
    """Run a paper's experiments.

    `adult` is the folder of the raw UCI files, for the papers that use them; `quick` runs on samples.
    """
    check_papers([paper], adult)
    printed = printed_in(paper)
    begin = time.perf_counter()
    results: Results = importlib.import_module(f"anon.papers.{paper}").run(
        Setting(adult, quick, n_threads, progress)
    )
    seconds = time.perf_counter() - begin
    if set(results.figures) != set(printed["figures"]) or set(results.findings) != set(printed["findings"]):
        raise AssertionError(f"{paper}: what was published and what was measured have different names")
    return Reproduction(
        paper,
        printed["title"],
        printed["source"],
        tuple(printed["notes"]),
        quick,
        seconds,
        tuple(
            PublishedFigure(
                name,
                entry["what"],
                entry["place"],
                entry["quote"],
                entry["published"],
                results.figures[name],
                SAMPLED if quick and not entry["by_data"] else entry.get("why", ""),
                entry["by_data"],
                results.drawn.get(name),
                {reading: of[name] for reading, of in results.readings.items() if name in of},
            )
            for name, entry in printed["figures"].items()
        ),
        tuple(
            Finding(
                name,
                entry["place"],
                entry["quote"],
                entry["test"],
                bool(results.findings[name][0]),
                results.findings[name][1],
                SAMPLED if quick else entry.get("why", ""),
                None if quick else entry.get("cause"),
            )
            for name, entry in printed["findings"].items()
        ),
        results.sections,
    )


def check_papers(papers: Sequence[str], adult: str | os.PathLike[str] | None) -> None:
    """Raise UsageError for a paper that is not known, data that is not given or a library that is absent."""
    for paper in papers:
        if paper not in PAPERS:
            raise UsageError(f"no paper {paper!r}; the papers are {', '.join(PAPERS)}")
        if adult is None and printed_in(paper)["adult"]:
            raise UsageError(
                f"{paper} uses the UCI Adult data: give the folder of its raw files ",
                Parameter("(adult=)", "with --adult"),
            )
    try:
        importlib.import_module("sklearn")
    except ImportError:
        raise UsageError("reproducing a paper needs scikit-learn: pip install 'anon[eval]'") from None


def printed_in(paper: str) -> dict[str, Any]:
    """What the paper printed; decimals keep their digits."""
    return tomllib.loads(
        files("anon.papers").joinpath(f"{paper}.toml").read_text("utf-8"), parse_float=Decimal
    )


# What the papers' modules share


def curves(
    title: str,
    rows: Sequence[Row],
    x: str,
    y: str,
    by: str,
    caption: str,
    *,
    log_x: bool = False,
    log_y: bool = False,
) -> Figure:
    """A line with points for each value of `by`, through the rows in their order; 0 may be on `log_y`."""
    xs, ys = ([float(row[name]) for row in rows if math.isfinite(row[name])] or [1.0] for name in (x, y))
    across = log_axis(x, xs) if log_x else Axis(x, min(0.0, *xs), max(xs) * 1.02)
    up = log_axis(y, ys, zero=True) if log_y else Axis(y, min(0.0, *ys), max(ys) * 1.05)
    return Figure(title, lines(rows, x, y, by, across, up), caption, tuple(rows))


def rank_correlation(x: Sequence[float], y: Sequence[float]) -> float:
    """Spearman's, of numbers that are all different."""
    return float(np.corrcoef(np.argsort(np.argsort([x, y]))).flat[1])


def table_of(title: str, rows: Sequence[Row]) -> Table:
    """Rows that all have the same names, as a table."""
    return Table(title, tuple(rows[0]), tuple(tuple(row.values()) for row in rows))


def _once(texts: Sequence[str]) -> list[str]:
    """The texts of a column; one that is that of the last row with a text becomes "as above"."""
    column, last = [], ""
    for text in texts:
        column.append("as above" if text and text == last else text)
        last = text or last
    return column


def _numbers(finding: Finding) -> Table:
    """The numbers of a finding: one row for each, what is inside in columns."""
    inside = [value for value in finding.numbers.values() if isinstance(value, Mapping)]
    columns = list(dict.fromkeys(name for value in inside for name in value))
    rows = []
    for name, value in finding.numbers.items():
        cells = [value.get(column) for column in columns] if isinstance(value, Mapping) else [value]
        texts = [_text(cell) if isinstance(cell, list | tuple) else cell for cell in cells]
        rows.append((name, *texts, *[None] * (len(columns) - len(texts))))
    return Table(finding.name, (finding.quote, *map(str, columns)), tuple(rows))


def _sentence(one: Finding) -> tuple[str, ...]:
    """The row of a finding."""
    numbers = "; ".join(f"{name}: {_text(value)}" for name, value in one.numbers.items())
    told = f"table “{one.name}” at the end" if one.detailed else numbers
    return f"“{one.quote}”", one.place, one.test, told, "" if one.held else one.why


def _text(value: Any) -> str:
    match value:
        case list() | tuple():
            return ", ".join(map(_text, value))
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:.4g}"
        case _:
            return str(value)
