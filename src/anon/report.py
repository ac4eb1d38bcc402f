# SPDX-License-Identifier: Apache-2.0
"""One self-contained HTML page: tables, and figures that are interactive where scripts run."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import os
import platform
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from html import escape
from importlib import import_module, metadata
from numbers import Integral, Real
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

import anon
from anon import figures
from anon.check import starred_rows
from anon.classes import group
from anon.encode import Codes, encode
from anon.errors import UsageError
from anon.figures import Figure
from anon.measures import BY_ALL, BY_CLASS, COSTS, OF_PRIVACY, away, handed_out
from anon.plain import as_plain
from anon.populations import boxes
from anon.privacy import ROLES_FROM_FILE
from anon.release import CLASS_ID, NOTES_ON_BUCKETS
from anon.requirements import (
    AlphaK,
    BetaLikeness,
    DeltaDisclosure,
    KAnonymity,
    LDiversity,
    Requirement,
    TCloseness,
)
from anon.scenario import ScenarioResult, sections
from anon.schema import Schema
from anon.utility import as_release
from anon.workload import answer_from, random_queries

if TYPE_CHECKING:
    from anon.frontier import Frontier, Point
    from anon.privacy import Privacy
    from anon.release import Release
    from anon.scale.scan import Scan
    from anon.utility import Utility

MOST_NUMBERS = 200  # rows of a figure's data that are also given as a table

Audience = Literal["owner", "public"]
"""Whose a page or a JSON object is: the owner's of the data, or everybody's."""

_FIRST_LINE: Mapping[Audience, str] = MappingProxyType(
    {
        "owner": "For the owner of the data alone: exact measures, counts, the worst class, and hashes of "
        "the input, which confirm any right guess of it. What may be handed out is the release, and the page "
        "of --report-public.",
        "public": "May be handed out together with the release. Measures are rounded to two digits, away "
        "from the promise: risks and losses up, what protects down.",
    }
)
_SELECTIVITY = (0.01, 0.02, 0.04, 0.06, 0.08, 0.1)
_N_QUERIES = 100
_RISK = (
    "The riskiest attribute is the quasi-identifier without which the mean risk would be lowest. The mean "
    "risk is the share of people that an attacker finds who knows their quasi-identifiers and picks one of "
    "the rows that look like them: classes over rows."
)

# Runs after the libraries; the interpreter (`ast`) needs no right to evaluate text as code.
_SCRIPT = """
for (const box of document.querySelectorAll("[data-chart]")) {
  const spec = JSON.parse(document.getElementById(box.dataset.chart).textContent);
  if (typeof spec.width === "number") spec.width = "container";
  const live = document.createElement("div");
  live.className = "live";
  box.append(live);
  const options = {ast: true, renderer: "svg", logLevel: 1,
    actions: {export: true, source: false, compiled: false, editor: false}};
  vegaEmbed(live, spec, options).then(
    () => { box.querySelector("img").hidden = true; },
    error => { live.remove(); console.error(error); });
}
"""


@dataclass(frozen=True)
class Table:
    """Rows of text and numbers under a header.

    The first cell of a row is its name; what follows a line break in it is a note in small letters.
    """

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True)
class Section:
    """Part of a page: paragraphs of plain text, then tables, then figures."""

    heading: str
    paragraphs: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    figures: tuple[Figure, ...] = ()


@dataclass(frozen=True)
class Origin:
    """How a report came about: the command, the files that it read and those that it wrote.

    `released` are those of them that are the release, whose hash everybody may know.
    """

    command: str = ""
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    released: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """With the versions of what ran, the time, and the SHA-256 of every file."""
        return {
            "command": self.command,
            "made": datetime.now(UTC).isoformat(timespec="seconds"),
            "versions": {
                "anon": anon.__version__,
                "python": platform.python_version(),
                **{name: metadata.version(name) for name in ("numpy", "pyarrow")},
            },
            "inputs": {path: _sha256(path) for path in self.inputs},
            "outputs": {path: _sha256(path) for path in self.outputs},
        }

    def public_dict(self) -> dict[str, Any]:
        """What everybody may know: the version of this package, names and SHA-256 of the released files."""
        above = os.path.commonpath(
            [os.path.dirname(os.path.abspath(path)) for path in self.released] or ["."]
        )
        return {
            "versions": {"anon": anon.__version__},
            "released": {os.path.relpath(path, above): _sha256(path) for path in self.released},
        }


@dataclass(frozen=True)
class Report:
    """A page and what it tells: every number on it is in `told`, which is ready for JSON.

    `told["audience"]` says whose it is, and so does the first line of the page.
    """

    title: str
    told: Mapping[str, Any]
    sections: tuple[Section, ...]

    def html(self) -> str:
        """The page."""
        return page(self.title, self.sections, self.told["audience"])

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file, whole or not at all."""
        figures.write(self.html().encode(), path)


@dataclass(frozen=True)
class _Drawn:
    """A figure in the forms that a page holds."""

    id: str
    png: str
    width: int
    height: int
    spec: str
    numbers: Table | None


def check_libraries() -> None:
    """Raise UsageError where a library of the reports is missing, before any work is done."""
    try:
        for name in ("jinja2", "altair", "vl_convert"):
            import_module(name)
    except ImportError as error:
        raise UsageError(f"a report needs {error.name}: pip install 'anon[eval]'") from None


def page(title: str, sections: Sequence[Section], audience: Audience | None = None) -> str:
    """The sections as one HTML page that needs no network, nor scripts but for what is interactive.

    Its first line says whose it is, where that is given. All text is shown as text. The chart libraries are
    in the page once, if it has a figure.
    """
    check_libraries()
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
    )
    n_drawn = 0

    def draw(figure: Figure) -> _Drawn:
        nonlocal n_drawn
        n_drawn += 1
        image = figures.png(figure)
        width, height = struct.unpack(">II", image[16:24])  # of PNG's first chunk
        return _Drawn(
            f"chart-{n_drawn}",
            base64.b64encode(image).decode(),
            width // 2,
            height // 2,
            Markup(_json(figures.spec(figure))),
            _numbers(figure),
        )

    script = _script() if any(section.figures for section in sections) else ""
    return environment.get_template("page.html.jinja").render(
        title=title,
        first_line=None if audience is None else _FIRST_LINE[audience],
        sections=sections,
        draw=draw,
        shown=lambda table: Markup(table_html(table)),
        script=Markup(script),
        script_hash=f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}",
    )


def table_html(table: Table) -> str:
    """The table as HTML; text is escaped, a number carries its whole value."""
    columns = list(zip(*table.rows, strict=True)) or [()] * len(table.header)
    mark = [' class="number"' if _is_numeric(column) else "" for column in columns]
    head = "".join(
        f'<th scope="col"{numeric}>{escape(name)}</th>'
        for name, numeric in zip(table.header, mark, strict=True)
    )
    body = "".join(
        f'<tr><th scope="row"{mark[0]}>{_with_note(row[0])}</th>'
        + "".join(f"<td{m}>{_cell(value, bool(m))}</td>" for value, m in zip(row[1:], mark[1:], strict=True))
        + "</tr>"
        for row in table.rows
    )
    title = escape(table.title)
    return (
        f'<div class="table" role="region" tabindex="0" aria-label="{title}"><table>'
        f"<caption>{title}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def html_of(*tables: Table) -> str:
    """Tables for a notebook."""
    return "".join(map(table_html, tables))


def number(value: float) -> str:
    """A number for people: whole ones in full, others to four digits."""
    if isinstance(value, int) or not math.isfinite(value):
        return f"{value:,}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


_INFINITE = {"inf": "∞", "-inf": "-∞"}  # as `as_plain` has them, and people


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _is_numeric(column: Sequence[Any]) -> bool:
    """Numbers, missing ones and infinite ones as JSON has them."""
    known = [value for value in column if value is not None and value not in _INFINITE]
    return bool(known) and all(map(_is_number, known))


def _cell(value: Any, numeric: bool = False) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if _is_number(value):
        plain = int(value) if isinstance(value, Integral) else float(value)  # NumPy's have other names
        return f'<data value="{plain!r}">{number(plain)}</data>'
    return _INFINITE[value] if numeric and value in _INFINITE else escape(str(value))


def _with_note(value: Any) -> str:
    name, _, note = str(value).partition("\n") if isinstance(value, str) else (value, "", "")
    return _cell(name) + (f'<span class="note">{escape(note)}</span>' if note else "")


def _numbers(figure: Figure) -> Table | None:
    rows = figures.rows(figure)
    if not 0 < len(rows) <= MOST_NUMBERS:
        return None
    header = tuple(dict.fromkeys(name for row in rows for name in row))
    return Table(figure.title, header, tuple(tuple(row.get(name) for name in header) for row in rows))


def _json(content: Any) -> str:
    """JSON that cannot end the element it stands in."""
    text = json.dumps(content)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


@cache
def _script() -> str:
    """The chart libraries and what draws the page's figures with them."""
    bundle = figures.converter().javascript_bundle(_SCRIPT, vl_version=figures.vega_lite_version())
    return str(bundle).replace("</script", "<\\/script")


# The reports of the commands


def of_release(
    release: Release,
    *,
    privacy: Privacy | None = None,
    utility: Utility | None = None,
    origin: Origin | None = None,
    audience: Audience = "owner",
) -> Report:
    """What was asked of a release, what holds, what it cost, and how to make it again.

    `privacy` is that of the release, with `per_class` where the page is the owner's, and `utility` what it
    lost; they are measured where they are not given. What is for the `public` is rounded, and tells
    neither how the release came about nor of its worst class.
    """
    privacy = privacy or release.privacy(per_class=True)
    utility = utility or release.utility()
    if audience == "public":
        return _handed_out_release(release, privacy, utility, origin or Origin())
    encoded = release.encoded
    generalized = release.publish == "generalization"
    codes = {
        domain.name: release.cells[i].of_class
        if generalized
        else encoded.quasi_codes[i][release.classes.rows]
        for i, domain in enumerate(encoded.quasi)
    }
    of_classes, of_loss = _class_figures(privacy), _loss_figures(utility)
    asked = [_asked(requirement, privacy) for requirement in release.requirements]
    told: dict[str, Any] = {
        "audience": audience,
        "release": release.summary(),
        "roles": {name: list(names) for name, names in release.metadata["roles"].items()},
        "asked": asked,
        "privacy": privacy.to_dict(),
        "utility": utility.to_dict(),
        "worst_class": _worst_class(privacy),
        "mean_risk": _mean_risk(codes, release.n_rows),
        "figures": {figure.title: figures.rows(figure) for figure in (*of_classes, *of_loss)},
        "warnings": list(release.warnings),
        "origin": (origin or Origin()).to_dict(),
        "verdict": _verdict(release),
    }
    summary = told["release"]
    sections = [
        Section(
            "In short",
            (
                f"{number(summary['rows'])} rows are published in {number(summary['classes'])} "
                f"{_groups(release.publish == 'bucketization')}; "
                f"{number(summary['suppressed'])} rows are suppressed.",
                told["verdict"],
                *(f"Warning: {warning}" for warning in release.warnings),
                *_notes(release.publish == "bucketization"),
            ),
            (_at_a_glance(told["privacy"], told["utility"]),),
        ),
        Section("What was asked", tables=(*_asked_tables(asked), *_made_tables(told))),
        *_privacy_sections(told["privacy"], told, of_classes),
        Section("What it cost", (), utility_tables(told["utility"]), of_loss),
        _origin_section(told),
    ]
    return Report("Report of a release", told, tuple(sections))


def _handed_out_release(release: Release, privacy: Privacy, utility: Utility, origin: Origin) -> Report:
    roles = {name: list(names) for name, names in release.metadata["roles"].items()}
    measured = handed_out(privacy.to_dict(), OF_PRIVACY)
    lost = handed_out(utility.to_dict(estimates=False), COSTS)
    for part in (measured, lost):  # a column that was left out has its name nowhere
        part["by_sensitive"] = {
            name: each for name, each in part["by_sensitive"].items() if name in roles["sensitive"]
        }
    told: dict[str, Any] = {
        "audience": "public",
        "release": {
            name: value
            for name, value in release.summary().items()
            if name not in ("rows", "suppressed", "classes")
        },
        "roles": roles,
        "asked": [_asked(requirement, privacy, "public") for requirement in release.requirements],
        "privacy": measured,
        "utility": lost,
        "origin": origin.public_dict(),
        "verdict": _verdict(release),
    }
    bucketized = release.publish == "bucketization"
    sections = [
        Section(
            "In short",
            (_about(measured, bucketized), told["verdict"], *_notes(bucketized)),
            (_at_a_glance(told["privacy"], told["utility"]),),
        ),
        Section("What was asked", tables=(*_asked_tables(told["asked"]), *_made_tables(told))),
        Section("What holds", (), privacy_tables(measured)),
        Section("What it cost", (), utility_tables(lost)),
        _released_section(told),
    ]
    return Report("About a release", told, tuple(sections))


def _about(measured: Mapping[str, Any], bucketized: bool) -> str:
    return (
        f"At least {number(measured['n_rows'])} rows are in at most {number(measured['n_classes'])} "
        f"{_groups(bucketized)}."
    )


def _made_tables(told: Mapping[str, Any]) -> tuple[Table, Table]:
    roles = tuple((role, ", ".join(names) or None) for role, names in told["roles"].items())
    return Table("Roles of the columns", ("role", "columns"), roles), release_table(told["release"])


def release_table(summary: Mapping[str, Any]) -> Table:
    """The table of `Release.summary()`."""
    rows = tuple(
        (name, ", ".join(value) or "none" if isinstance(value, list) else value)
        for name, value in summary.items()
    )
    return Table("The release", ("what", "value"), rows)


def of_check(
    privacy: Privacy,
    table: pa.Table | Scan,
    *,
    require: Sequence[Requirement] = (),
    origin: Origin | None = None,
    audience: Audience = "owner",
) -> Report:
    """What holds of a table that somebody released.

    `privacy` was measured of the `table`, with `per_class` where the page is the owner's; `require` is what
    its `unmet` was asked about. What is for the `public` is rounded.
    """
    origin = origin or Origin()
    asked = [_asked(requirement, privacy, audience) for requirement in require]
    bucketized = CLASS_ID in privacy.worst_cells.get("k", {})
    if privacy.unmet is None:
        verdict = "Nothing was required."
    elif privacy.unmet:
        verdict = f"Not met: {', '.join(privacy.unmet)}."
    else:
        verdict = "Every requirement is met."
    claim = []
    if privacy.roles_from == "file":
        claim = [ROLES_FROM_FILE]
        verdict += " The roles of the columns are the file's own claim."
    if audience == "public":
        told: dict[str, Any] = {
            "audience": audience,
            **handed_out(privacy.to_dict(), OF_PRIVACY),
            "asked": asked,
            "origin": origin.public_dict(),
            "verdict": verdict,
        }
        handed = (
            Section(
                "In short",
                (*claim, _about(told, bucketized), verdict, *_notes(bucketized)),
                _asked_tables(asked),
            ),
            Section("What holds", (), privacy_tables(told)),
            _released_section(told),
        )
        return Report("About a release, checked", told, handed)
    drawn = _class_figures(privacy)
    told = {
        "audience": audience,
        **privacy.to_dict(),
        "asked": asked,
        "worst_class": _worst_class(privacy),
        "mean_risk": _mean_risk(_shown_codes(table, privacy), privacy.n_rows),
        "figures": {figure.title: figures.rows(figure) for figure in drawn},
        "origin": origin.to_dict(),
        "verdict": verdict,
    }
    sections = [
        Section(
            "In short",
            (
                *claim,
                f"The table has {number(privacy.n_rows)} rows in {number(privacy.n_classes)} "
                f"{_groups(bucketized)}.",
                verdict,
                *_notes(bucketized),
            ),
            _asked_tables(asked),
        ),
        *_privacy_sections(told, told, drawn),
        _origin_section(told),
    ]
    return Report("Report of a check", told, tuple(sections))


def _groups(bucketized: bool) -> str:
    if not bucketized:
        return "classes of rows that look alike"
    return "buckets, each of which tells its sensitive values together"


def _notes(bucketized: bool) -> tuple[str, ...]:
    return tuple(f"Note: {note}." for note in NOTES_ON_BUCKETS) if bucketized else ()


def of_comparison(utility: Utility, *, origin: Origin | None = None, audience: Audience = "owner") -> Report:
    """What a release, made by anyone, lost of the original. What is for the `public` is rounded."""
    origin = origin or Origin()
    verdict = "Measured from the published cells; rows need not be in the same order."
    if audience == "public":
        told: dict[str, Any] = {
            "audience": audience,
            **handed_out(utility.to_dict(estimates=False), COSTS),
            "origin": origin.public_dict(),
            "verdict": verdict,
        }
        handed = (Section("What it cost", (), utility_tables(told)), _released_section(told))
        return Report("About a release, compared with its original", told, handed)
    drawn = _loss_figures(utility)
    told = {
        "audience": audience,
        **utility.to_dict(),
        "figures": {figure.title: figures.rows(figure) for figure in drawn},
        "origin": origin.to_dict(),
        "verdict": verdict,
    }
    short = (
        f"Of {number(told['n_rows'])} rows {number(told['n_suppressed'])} are suppressed; the others "
        f"are in {number(told['n_classes'])} classes of rows that look alike."
    )
    sections = [
        Section("In short", (short,)),
        Section("What it cost", (), utility_tables(told), drawn),
        _origin_section(told),
    ]
    return Report("Report of a comparison", told, tuple(sections))


def of_frontier(frontier: Frontier, *, chosen: Point | None = None, origin: Origin | None = None) -> Report:
    """What a `Frontier` found: its points, the efficient ones, the price of privacy, the point `chosen`."""
    drawn = figures.frontier(frontier)
    told: dict[str, Any] = {
        "audience": "owner",
        **frontier.to_dict(),
        "n_points": len(frontier.points),
        "n_efficient": len(frontier.efficient),
        "chosen": None if chosen is None else chosen.to_dict(),
        "figures": {drawn.title: figures.rows(drawn)},
        "origin": (origin or Origin()).to_dict(),
        "verdict": "Every point that counts was checked by the independent re-check of its release, in this "
        "run or, where it comes from the cache, in the run that put it there.",
    }
    knee = "" if told["knee"] is None else f" The knee is {told['knee']}: beyond it one axis costs most."
    best = "" if chosen is None else f" Within the bound that was given {chosen.name} is best."
    efficient, measured, missed = frontier_tables(told)
    prices = tuple(
        (f"{price['more_private']}\nin place of {price['less_private']}", *(price[name] for name in _PRICE))
        for price in told["prices"]
    )
    sections = [
        Section(
            "In short",
            (
                f"Of {number(told['n_points'])} releases {number(told['n_efficient'])} are efficient: "
                f"no other is as good on both axes and better on one.{knee}{best}",
            ),
            (efficient,),
            (drawn,),
        ),
        Section(
            "The price of privacy",
            ("What one step along the frontier gains of privacy, and what it loses of utility.",),
            (Table("Between neighbors", ("step", "privacy gained", "utility lost", "price"), prices),),
        ),
        Section("All releases", (), (measured, missed) if missed.rows else (measured,)),
        _origin_section(told),
    ]
    return Report("Report of a frontier", told, tuple(sections))


def of_scenario(result: ScenarioResult, *, origin: Origin | None = None) -> Report:
    """What sanitizations keep for users and give away to adversaries."""
    told: dict[str, Any] = {
        "audience": "owner",
        **result.to_dict(),
        "origin": (origin or Origin()).to_dict(),
        "verdict": "Every release that was made here was checked by its independent re-check; tables that "
        "were given are taken as they are.",
    }
    warned = (Section("Warnings", result.warnings),) if result.warnings else ()
    return Report("Report of a scenario", told, (*sections(result), *warned, _origin_section(told)))


_PRICE = ("privacy_gained", "utility_lost", "price")


def frontier_tables(told: Mapping[str, Any]) -> tuple[Table, Table, Table]:
    """The tables of `Frontier.to_dict()`: the efficient points, all that were measured, and the others."""
    recorded = (name for point in told["points"] for name in point["measures"])
    measures = tuple(dict.fromkeys((told["privacy"], told["utility"], *recorded)))

    def table(title: str, points: Sequence[Mapping[str, Any]]) -> Table:
        rows = (
            (point["name"], *map(point["measures"].get, measures), point["classes"], point["seconds"])
            for point in points
        )
        return Table(title, ("release", *measures, "classes", "seconds"), tuple(rows))

    by_name = {point["name"]: point for point in told["points"]}
    missed = [(point["name"], point["why"]) for point in told["points"] if not point["satisfied"]]
    return (
        table("The efficient releases", [by_name[name] for name in told["efficient"]]),
        table("Measured", [point for point in told["points"] if point["satisfied"]]),
        Table("Not satisfied", ("release", "why"), tuple(missed)),
    )


def privacy_tables(measures: Mapping[str, Any]) -> tuple[Table, ...]:
    """The tables of `Privacy.to_dict()`: of the classes, and of the sensitive attributes."""
    sizes, risk = measures["sizes"], measures["prosecutor"]
    rows: list[tuple[Any, ...]] = [
        ("rows", measures["n_rows"]),
        *([("suppressed rows", measures["n_suppressed"])] if "n_suppressed" in measures else []),
        ("classes", measures["n_classes"]),
        ("rows of the smallest class (k)", measures["k"]),
        ("rows of a class, mean", sizes["mean"]),
        ("rows of a class, median", sizes["median"]),
        ("rows of the largest class", sizes["max"]),
        ("rows alone in their class", measures["sample_uniques"]),
        ("greatest risk of re-identification", risk["max"]),
        ("mean risk of re-identification", risk["mean"]),
        *_at_risk("share of rows", risk["at_risk"]),
    ]
    if measures["n_starred"]:
        rows.append(("rows of * only, set apart", measures["n_starred"]))
        rows.append(("k with those as a class", measures["k_with_starred"]))
    if measures["population"]:
        journalist = measures["population"]["journalist"]
        rows.append(("greatest risk in the population (journalist)", journalist["max"]))
        rows.append(("mean risk in the population (marketer)", measures["population"]["marketer"]))
        rows.extend(_at_risk("share of rows, in the population,", journalist["at_risk"]))
    if measures["null_matching"]:
        rows.append(("k where a missing cell matches anything", measures["null_matching"]["k"]))
    tables = [Table("Classes and risks", ("measure", "value"), tuple(rows))]
    by_sensitive = dict(measures["by_sensitive"])
    if len(by_sensitive) > 1 and measures["joint"] is not None:
        by_sensitive["(joint)"] = measures["joint"]
    known = [
        (f"{name}\n{measure.meaning}", *(each[name] for each in by_sensitive.values()))
        for name, measure in {**BY_CLASS, **BY_ALL}.items()
        if measure.meaning and any(each[name] is not None for each in by_sensitive.values())
    ]
    if known:
        header = ("measure", *by_sensitive)
        tables.append(Table("What is told of the sensitive attributes", header, tuple(known)))
    return tuple(tables)


def utility_tables(measures: Mapping[str, Any]) -> tuple[Table, ...]:
    """The tables of `Utility.to_dict()`: of the whole, and of every column."""
    rows = tuple(
        (f"{name}\n{measure.meaning}", measures[name])
        for name, measure in COSTS.items()
        if measure.meaning and measures.get(name) is not None
    )
    tables = [Table("What was lost", ("measure", "value"), rows)]
    for title, part in (("Quasi-identifiers", "by_attribute"), ("Sensitive attributes", "by_sensitive")):
        by_column = measures[part] or {}
        names = [
            name
            for name in next(iter(by_column.values()), {})
            if any(each[name] is not None for each in by_column.values())
        ]
        if names:
            body = tuple((column, *(each[name] for name in names)) for column, each in by_column.items())
            tables.append(Table(title, ("column", *names), body))
    return tuple(tables)


def _at_risk(what: str, shares: Mapping[Any, float]) -> list[tuple[str, float]]:
    return [
        (f"{what} with a risk above {'one in ' if float(x) >= 1 else ''}{x}", share)
        for x, share in shares.items()
    ]


def _asked(requirement: Requirement, privacy: Privacy, audience: Audience = "owner") -> dict[str, Any]:
    """A requirement in words, its parameters, and the tightest ones that the release meets.

    For the `public` these are rounded, but not beyond what was asked for where that is met.
    """
    of = privacy if requirement.sensitive is None else privacy.by_sensitive[requirement.sensitive]
    parameters: dict[str, tuple[Any, str]] = {}  # what was asked for, and the measure that tells what holds
    match requirement:
        case KAnonymity(k=k):
            parameters = {"k": (k, "k")}
        case LDiversity(l=l, kind="recursive", c=c):
            parameters = {"c, exclusive": (c, f"recursive_c{l}")}
        case LDiversity(l=l, kind=kind):
            parameters = {"l": (l, f"l_{kind}")}
        case TCloseness(t=t, distance=distance):
            parameters = {"t": (t, f"t_{distance}")}
            if distance == "hierarchical" and of.t_hierarchical is None:
                parameters = {"t": (t, "t_equal")}  # without a tree the two are one
        case DeltaDisclosure(delta=delta):
            parameters = {"delta, exclusive": (delta, "delta")}
        case AlphaK(alpha=alpha, k=k):
            parameters = {"alpha": (alpha, "alpha"), "k": (k, "k")}
        case BetaLikeness(beta=beta, enhanced=enhanced):
            parameters = {"beta": (beta, "beta_enhanced" if enhanced else "beta")}

    def holds(wanted: int | float, name: str) -> Any:
        tightest = getattr(privacy if name == "k" else of, name, None)
        if audience == "owner" or tightest is None:
            return as_plain(tightest)
        measure = OF_PRIVACY[name]
        worst = max if measure.greatest_is_worst else min
        rounded = away(tightest, measure)
        met, passed = worst(tightest, wanted) == wanted, worst(rounded, wanted) == rounded
        return as_plain(wanted if met and passed else rounded)

    plain = {name: (_plain_number(wanted), measure) for name, (wanted, measure) in parameters.items()}
    return {
        "requirement": str(requirement),
        "parameters": {
            name: {"asked": as_plain(wanted), "holds": holds(wanted, measure)}
            for name, (wanted, measure) in plain.items()
        },
    }


def _plain_number(value: Any) -> int | float:
    return value if isinstance(value, int | float) else float(value)


def _asked_tables(asked: Sequence[Mapping[str, Any]]) -> tuple[Table, ...]:
    rows = [
        (one["requirement"], name, each["asked"], each["holds"])
        for one in asked
        for name, each in (one["parameters"] or {None: {"asked": None, "holds": None}}).items()
    ]
    if not rows:
        return ()
    header = ("requirement", "parameter", "asked", "holds")
    return (Table("Requirements, and the tightest parameters that hold", header, tuple(rows)),)


def _at_a_glance(privacy: Mapping[str, Any], utility: Mapping[str, Any]) -> Table:
    facts = [
        ("rows of the smallest class (k)", privacy["k"]),
        ("greatest privacy loss of a class (p_loss)", privacy["p_loss"]),
        ("mean risk of re-identification", privacy["prosecutor"]["mean"]),
        ("mean information loss of a cell (gcp)", utility["gcp"]),
        ("utility loss (u_loss)", utility.get("u_loss")),
    ]
    known = tuple((name, value) for name, value in facts if value is not None)
    return Table("At a glance", ("measure", "value"), known)


def _verdict(release: Release) -> str:
    if not release.meets_requirements:
        return "The requirements cannot be met: this release can be measured, and was not written."
    if not release.requirements:
        return "Nothing was required. The independent check of the rows and of the published cells passed."
    return (
        "Every requirement is met: before it was written the release was read back from its published cells, "
        "grouped again, and tested by code that shares nothing with the method."
    )


def _worst_class(privacy: Privacy) -> dict[str, Any] | None:
    """The class with the greatest privacy loss, or without sensitive attributes the smallest one."""
    name = "t_js" if "t_js" in privacy.worst else "k"
    if name not in privacy.worst or privacy.per_class is None:
        return None
    return {
        "why": "greatest privacy loss" if name == "t_js" else "fewest rows",
        "size": privacy.per_class["size"][privacy.worst[name]].as_py(),
        "sensitive": privacy.worst_sensitive.get(name),
        "p_loss": privacy.t_js,
        "cells": dict(privacy.worst_cells[name]),
    }


def _shown_codes(table: pa.Table | Scan, privacy: Privacy) -> dict[str, Codes]:
    """Codes of the quasi-identifiers that a table shows; none for a bucketization."""
    names = [name for name in privacy.worst_cells.get("k", {}) if name != CLASS_ID]
    if not names:
        return {}
    encoded = encode(table.select(names), Schema(names))
    starred = starred_rows(encoded) if privacy.n_starred else None
    codes = encoded.quasi_codes
    return dict(zip(names, codes if starred is None else (column[~starred] for column in codes), strict=True))


def _mean_risk(columns: Mapping[str, Codes], n_rows: int) -> dict[str, Any] | None:
    """Classes over rows, of all quasi-identifiers and without each of them, the lowest first; see `_RISK`.

    `columns` hold one code per row, or per class.
    """
    if not (columns and n_rows):
        return None

    def risk(names: Sequence[str]) -> float:
        return (group([columns[name] for name in names]).n_classes if names else 1) / n_rows

    without = {name: risk([other for other in columns if other != name]) for name in columns}
    return {"all": risk(list(columns)), "without": dict(sorted(without.items(), key=lambda item: item[1]))}


def _class_figures(privacy: Privacy) -> tuple[Figure, ...]:
    table = privacy.per_class
    if table is None or not table.num_rows:
        return ()
    losses = {
        name: table[f"{name}.t_js"].to_numpy()
        for name in privacy.by_sensitive
        if f"{name}.t_js" in table.column_names
    }
    sizes = figures.class_sizes(table["size"].to_numpy())
    return (sizes, figures.class_losses(losses)) if losses else (sizes,)


def _loss_figures(utility: Utility) -> tuple[Figure, ...]:
    """What each attribute lost; and the errors of random queries, where the release can answer them."""
    if utility.loss is None:
        return ()
    lost = figures.attribute_losses({name: each.ncp for name, each in utility.by_attribute.items()})
    published = utility.published
    original = published.original
    unknown = any(counts is None for counts in published.counts)
    if unknown or not (original.quasi and original.sensitive and published.classes.n_classes):
        return (lost,)
    shown = boxes(as_release(published), n_threads=published.n_threads)

    def error(qd: int, selectivity: float) -> dict[str, float]:
        workload = random_queries(original, qd, selectivity, _N_QUERIES)
        answers = answer_from(workload, original, shown, published.n_threads)
        return {"average": answers.average, "median": answers.median}

    n_quasi = len(original.quasi)
    by_selectivity = [{"selectivity": sel, **error(min(4, n_quasi), sel)} for sel in _SELECTIVITY]
    by_number = [
        {"number of quasi-identifiers": qd, **error(qd, 0.05)} for qd in range(1, min(6, n_quasi) + 1)
    ]
    return (
        lost,
        figures.query_errors(by_selectivity, "selectivity"),
        figures.query_errors(by_number, "number of quasi-identifiers"),
    )


def _privacy_sections(
    measures: Mapping[str, Any], told: Mapping[str, Any], drawn: tuple[Figure, ...]
) -> list[Section]:
    sections = [Section("What holds", (), privacy_tables(measures), drawn)]
    worst = told["worst_class"]
    if worst is not None:
        cells = tuple((name, _shortened(cell)) for name, cell in worst["cells"].items())
        paragraphs = [f"It has {number(worst['size'])} rows, and was chosen for its {worst['why']}"]
        if worst["p_loss"] is not None and worst["sensitive"] is not None:
            paragraphs[0] += f" ({number(worst['p_loss'])}, of {worst['sensitive']})"
        paragraphs[0] += "."
        shown = Table("What the release shows of it", ("column", "cell"), cells)
        sections.append(Section("The worst class", tuple(paragraphs), (shown,)))
    risk = told["mean_risk"]
    if risk is not None:
        least, value = next(iter(risk["without"].items()))
        found = f"It is {least}." if value < risk["all"] else "Without any single one it stays as it is."
        table = Table(
            "Mean risk without each quasi-identifier",
            ("quasi-identifier", "mean risk without it"),
            tuple(risk["without"].items()),
        )
        all_known = f"{found} With all quasi-identifiers the mean risk is {number(risk['all'])}."
        sections.append(Section("The riskiest attribute", (_RISK, all_known), (table,)))
    return sections


def _origin_section(told: Mapping[str, Any]) -> Section:
    origin = told["origin"]
    facts = [
        ("command", origin["command"] or None),
        ("made", origin["made"]),
        *((f"version of {name}", version) for name, version in origin["versions"].items()),
    ]
    files = [
        (path, kind, digest)
        for kind, part in (("read", "inputs"), ("written", "outputs"))
        for path, digest in origin[part].items()
    ]
    required = ", ".join(one["requirement"] for one in told.get("asked", ()))
    certificate = [*([("required", required)] if required else []), ("verdict", told["verdict"])]
    tables = [
        Table("Certificate", ("what", "finding"), tuple(certificate)),
        Table("To repeat it", ("what", "value"), tuple(facts)),
    ]
    if files:
        tables.insert(1, Table("Files", ("file", "use", "sha256"), tuple(files)))
    return Section("Certificate, and how to repeat this", (), tuple(tables))


def _released_section(told: Mapping[str, Any]) -> Section:
    """What of a certificate may be handed out: the release's own hashes, and none of its input."""
    required = ", ".join(one["requirement"] for one in told.get("asked", ()))
    facts = [
        *([("required", required)] if required else []),
        ("verdict", told["verdict"]),
        ("version of anon", told["origin"]["versions"]["anon"]),
    ]
    tables = [Table("Certificate", ("what", "finding"), tuple(facts))]
    if told["origin"]["released"]:
        released = tuple(told["origin"]["released"].items())
        tables.append(Table("Files of the release", ("file", "sha256"), released))
    return Section("Certificate", (), tuple(tables))


def _shortened(cell: Any, most: int = 200) -> Any:
    text = cell if cell is None else str(cell)
    return text if text is None or len(text) <= most else f"{text[:most]} …"


def _sha256(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
