# SPDX-License-Identifier: Apache-2.0
"""A page that stands alone: what decides first, then sections, tables, figures, and what the words mean."""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from numbers import Integral, Real
from types import MappingProxyType
from typing import Any, Literal

from anon.html import chart
from anon.html.chart import Panel
from anon.html.figure import Figure
from anon.html.figure import rows as rows_of_figure
from anon.html.figure import svg as svg_of_figure
from anon.html.text import number

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

State = Literal["met", "but", "not met", "open"]
"""Whether what was required holds: it does; it does, but something qualifies it; no; nothing was required."""

_STATES: Mapping[State, tuple[str, str]] = MappingProxyType(
    {
        "met": ("met", "Met"),
        "but": ("but", "Met, but …"),
        "not met": ("unmet", "Not met"),
        "open": ("open", "Nothing was required"),
    }
)

# Colors by mode: of text at a contrast of 4.5 against the ground, of lines and marks at 3.
_LIGHT = {
    "ground": chart.GROUND, "ink": chart.INK, "quiet": chart.QUIET, "link": "#0b57d0", "line": chart.LINES,
    "good": "#1a6b33", "care": "#8a4b00", "bad": "#b3261e", "shade": "#1b1f2433",
}  # fmt: skip
_DARK = {
    "ground": chart.GROUND_ON_DARK, "ink": chart.INK_ON_DARK, "quiet": chart.QUIET_ON_DARK, "link": "#8ab4f8",
    "line": chart.LINES_ON_DARK, "good": "#6fd08c", "care": "#f0b45a", "bad": "#ff8f85", "shade": "#e6e9ec44",
}  # fmt: skip


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
class First:
    """The first screen of a page, by which people decide.

    `cover` are names with what was given, None for a blank to fill by hand; `verdict` and the `facts` that
    qualify it stand in a box, where there is a `state`. `numbers` are (name, value), or (name, before,
    after); `roles` (role, columns). Lines to sign follow where it is `signed`, then the `limits`.
    """

    state: State | None = None
    verdict: str = ""
    facts: tuple[str, ...] = ()
    cover: tuple[tuple[str, str | None], ...] = ()
    numbers: tuple[tuple[Any, ...], ...] = ()
    roles: tuple[tuple[str, str], ...] = ()
    limits: tuple[str, ...] = ()
    signed: bool = False


@dataclass(frozen=True)
class Term:
    """What a name on a page means, and the section of docs/definitions.md that defines it."""

    meaning: str
    section: str


def page(
    title: str,
    sections: Sequence[Section],
    audience: Audience | None = None,
    *,
    first: First | None = None,
    terms: Mapping[str, Term] = MappingProxyType({}),
) -> str:
    """The sections as one HTML page that needs no network and runs no script.

    Its first line says whose it is, where that is given. All text is shown as text. Names in tables that
    are `terms` tell their meaning when the mouse rests on them, and lead to the list of them at the end.
    """
    used: dict[str, Term] = {}
    words = _Terms(terms, used)
    body = [_first(first, words)] if first is not None else []
    body += [_section(section, f"section-{i}", words) for i, section in enumerate(sections, 1)]
    headings = [section.heading for section in sections]
    if used:
        headings.append("What the words mean")
        body.append(_glossary(used, len(headings)))
    links = "".join(
        f'<li><a href="#section-{i}">{escape(heading)}</a></li>' for i, heading in enumerate(headings, 1)
    )
    whose = f'<p class="audience">{escape(_FIRST_LINE[audience])}</p>\n' if audience is not None else ""
    navigation = f'<nav aria-label="Sections"><ul>{links}</ul></nav>\n' if len(headings) > 1 else ""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; img-src data:; style-src 'unsafe-inline'\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n<link rel="icon" href="data:,">\n'
        f"<title>{escape(title)}</title>\n<style>\n{style_sheet()}</style>\n</head>\n<body>\n"
        '<a class="skip" href="#main">Skip to the content</a>\n'
        f'<header>{whose}<h1>{escape(title)}</h1></header>\n<main id="main">\n'
        f"{body[0] if first is not None else ''}{navigation}"
        f"{''.join(body[1:] if first is not None else body)}</main>\n</body>\n</html>\n"
    )


def style_sheet() -> str:
    """The style of pages, light and dark: colors as variables, then the rules of page.css and of figures."""

    def variables(colors: Mapping[str, str], series: Sequence[str]) -> str:
        named = {**colors, **{f"c{i}": color for i, color in enumerate(series)}}
        return " ".join(f"--{name}: {color};" for name, color in named.items())

    drawn = chart.style(
        *("var(--ground)", "var(--ink)", "var(--quiet)", "var(--line)"),
        [f"var(--c{i})" for i in range(len(chart.COLORS))],
    )
    sheet = files("anon.html").joinpath("page.css").read_text("utf-8")
    return (
        f":root {{ color-scheme: light dark; {variables(_LIGHT, chart.COLORS)} }}\n"
        "@media screen and (prefers-color-scheme: dark) {\n"
        f"  :root {{ {variables(_DARK, chart.COLORS_ON_DARK)} }}\n}}\n{sheet}{drawn}\n"
    )


class _Terms:
    """Names that are explained, and which of them a page uses."""

    def __init__(self, terms: Mapping[str, Term], used: dict[str, Term]) -> None:
        self.terms, self.used = terms, used

    def key(self, name: str) -> str:
        """The term that a name is; one that ends in an ellipsis is that of all names that begin so."""
        if name in self.terms:
            return name
        begins = (key for key in self.terms if key.endswith("…") and name.startswith(key[:-1]))
        return next(begins, "")

    def meaning(self, name: str) -> str:
        term = self.terms.get(self.key(name))
        return "" if term is None else term.meaning

    def link(self, name: str, html: str) -> str:
        """The name as HTML, as a link to its meaning where it has one."""
        key = self.key(name)
        if not key:
            return html
        term = self.used[key] = self.terms[key]
        return f'<a class="term" href="#{_anchor(key)}" title="{escape(term.meaning)}">{html}</a>'


def _anchor(name: str) -> str:
    return f"term-{re.sub(r'[^a-z0-9]+', '-', name.lower()).strip('-')}"


def parts_html(first: First | None = None, sections: Sequence[Section] = (), *, prefix: str = "part") -> str:
    """What stands between the headings of a page, for one that is put together elsewhere.

    Names are not explained there; `prefix` begins the names of its anchors.
    """
    words = _Terms({}, {})
    drawn = [] if first is None else [_first(first, words)]
    drawn += [_section(section, f"{prefix}-{i}", words) for i, section in enumerate(sections, 1)]
    return "".join(drawn)


def _first(first: First, words: _Terms) -> str:
    blank = '<span class="blank"></span>'
    cover = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(value) if value else blank}</dd></div>"
        for name, value in first.cover
    )
    numbers = "".join(
        f"<div><dt>{words.link(name, escape(name))}</dt><dd>"
        f"{' → '.join(_cell(value, hint=words.meaning(name)) for value in values)}</dd></div>"
        for name, *values in first.numbers
    )
    roles = "".join(f"<dt>{escape(role)}</dt><dd>{escape(columns)}</dd>" for role, columns in first.roles)
    parts = [
        f'<dl class="cover">{cover}</dl>' if cover else "",
        '<div class="decision"><div>',
        _box(first),
        f'<dl class="numbers">{numbers}</dl>' if numbers else "",
        "</div>",
        f'<div class="columns"><h3>The columns</h3><dl class="roles">{roles}</dl></div>' if roles else "",
        "</div>",
    ]
    if first.signed:
        signed = "".join(f"<p>{who}: name, date, signature</p>" for who in ("Made by", "Released by"))
        parts.append(f'<div class="signatures">{signed}</div>')
    if first.limits:
        told = "".join(f"<li>{escape(limit)}</li>" for limit in first.limits)
        parts.append(f'<h3>What this does not promise</h3><ul class="limits">{told}</ul>')
    return f'<section class="first" aria-label="Decision">\n{"".join(parts)}</section>\n'


def _box(first: First) -> str:
    if first.state is None:
        return ""
    kind, headline = _STATES[first.state]
    facts = "".join(f"<li>{escape(fact)}</li>" for fact in first.facts)
    return (
        f'<div class="verdict {kind}"><h2>{headline}</h2><p>{escape(first.verdict)}</p>'
        f"{f'<ul>{facts}</ul>' if facts else ''}</div>"
    )


def _section(section: Section, anchor: str, words: _Terms) -> str:
    parts = [f'<h2 id="{anchor}">{escape(section.heading)}</h2>\n']
    parts += [f"<p>{escape(paragraph)}</p>\n" for paragraph in section.paragraphs]
    parts += [table_html(table, words) + "\n" for table in section.tables]
    parts += [figure_html(figure, words) + "\n" for figure in section.figures]
    return f'<section aria-labelledby="{anchor}">\n{"".join(parts)}</section>\n'


def _glossary(used: Mapping[str, Term], i: int) -> str:
    parts = []
    for section in dict.fromkeys(term.section for term in used.values()):
        told = "".join(
            f'<dt id="{_anchor(name)}">{escape(name)}</dt><dd>{escape(term.meaning)}.</dd>'
            for name, term in used.items()
            if term.section == section
        )
        parts.append(f'<h3>{escape(section)}</h3><dl class="terms">{told}</dl>')
    return (
        f'<section aria-labelledby="section-{i}">\n<h2 id="section-{i}">What the words mean</h2>\n'
        "<p>The definitions, with their sources, are in docs/definitions.md under the same headings.</p>"
        f"{''.join(parts)}</section>\n"
    )


def figure_html(figure: Figure, words: _Terms | None = None) -> str:
    """The figure for a page: its panels as SVG, its caption, its numbers, and itself as a file to save."""
    panels = "".join(_panel(panel, figure) for panel in figure.panels)
    width = sum(panel.width for panel in figure.panels if not panel.is_legend)
    small = ' class="small"' if width <= chart.WIDTH else ""
    numbers = _numbers(figure)
    told = (
        f"<details><summary>The numbers of this figure</summary>{table_html(numbers, words)}</details>"
        if numbers
        else ""
    )
    file = base64.b64encode(svg_of_figure(figure).encode()).decode()
    name = re.sub(r"\W+", "-", figure.title.lower()).strip("-")
    return (
        f'<figure{small}>\n<h3>{escape(figure.title)}</h3>\n<div class="panels">{panels}</div>\n'
        f"<figcaption>{escape(figure.caption)} "
        f'<a class="save" download="{escape(name)}.svg" href="data:image/svg+xml;base64,{file}">'
        f"Save as SVG</a></figcaption>\n{told}</figure>"
    )


def _panel(panel: Panel, figure: Figure) -> str:
    label = f"{figure.title}. {'Legend' if panel.is_legend else panel.title or figure.caption}"
    after = '<div class="break"></div>' if panel.is_legend else ""
    return (
        f'<svg class="chart" role="img" aria-label="{escape(label)}" width="{panel.width:.0f}" '
        f'height="{panel.height:.0f}" viewBox="0 0 {panel.width:.0f} {panel.height:.0f}">'
        f"{panel.marks}</svg>{after}"
    )


def table_html(table: Table, words: _Terms | None = None) -> str:
    """The table as HTML; text is escaped, a number carries its whole value."""
    words = words or _Terms({}, {})
    columns = list(zip(*table.rows, strict=True)) or [()] * len(table.header)
    mark = [' class="number"' if _is_numeric(column) else "" for column in columns]
    head = "".join(
        f'<th scope="col"{numeric}>{words.link(name, escape(name))}</th>'
        for name, numeric in zip(table.header, mark, strict=True)
    )
    body = "".join(
        f'<tr><th scope="row"{mark[0]}>{_with_note(row[0], words)}</th>'
        + "".join(
            f"<td{m}>{_cell(value, bool(m), hint)}</td>" for value, m in zip(row[1:], mark[1:], strict=True)
        )
        + "</tr>"
        for row, hint in zip(table.rows, _hints(table, words), strict=True)
    )
    title = escape(table.title)
    return (
        f'<div class="table" role="region" tabindex="0" aria-label="{title}"><table>'
        f"<caption>{title}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _hints(table: Table, words: _Terms) -> Iterator[str]:
    """What the numbers of each row mean."""
    for row in table.rows:
        name, _, note = str(row[0]).partition("\n")
        yield words.meaning(name) or note


_INFINITE = {"inf": "∞", "-inf": "-∞"}  # as `as_plain` has them, and people


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _is_numeric(column: Sequence[Any]) -> bool:
    """Numbers, missing ones and infinite ones as JSON has them."""
    known = [value for value in column if value is not None and value not in _INFINITE]
    return bool(known) and all(map(_is_number, known))


def _cell(value: Any, numeric: bool = False, hint: str = "") -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if _is_number(value):
        plain = int(value) if isinstance(value, Integral) else float(value)  # NumPy's have other names
        explained = f' title="{escape(hint)}"' if hint else ""
        return f'<data value="{plain!r}"{explained}>{number(plain)}</data>'
    return _INFINITE[value] if numeric and value in _INFINITE else escape(str(value))


def _with_note(value: Any, words: _Terms) -> str:
    name, _, note = str(value).partition("\n") if isinstance(value, str) else (value, "", "")
    linked = words.link(name, _cell(name)) if isinstance(name, str) else _cell(name)
    return linked + (f'<br><span class="note">{escape(note)}</span>' if note else "")


def _numbers(figure: Figure) -> Table | None:
    rows = rows_of_figure(figure)
    if not 0 < len(rows) <= MOST_NUMBERS:
        return None
    header = tuple(dict.fromkeys(name for row in rows for name in row))
    return Table(figure.title, header, tuple(tuple(row.get(name) for name in header) for row in rows))
