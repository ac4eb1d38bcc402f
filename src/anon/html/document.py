# SPDX-License-Identifier: Apache-2.0
"""A page that stands alone: sections, tables, figures."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib import import_module
from numbers import Integral, Real
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from anon.errors import UsageError
from anon.html.figure import Figure, converter, vega_lite_version
from anon.html.figure import png as png_of_figure
from anon.html.figure import rows as rows_of_figure
from anon.html.figure import spec as spec_of_figure

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
        image = png_of_figure(figure)
        width, height = struct.unpack(">II", image[16:24])  # of PNG's first chunk
        return _Drawn(
            f"chart-{n_drawn}",
            base64.b64encode(image).decode(),
            width // 2,
            height // 2,
            Markup(_json(spec_of_figure(figure))),
            _numbers(figure),
        )

    script = _script() if any(section.figures for section in sections) else ""
    return environment.get_template("page.html.jinja").render(
        title=title,
        first_line=None if audience is None else _FIRST_LINE[audience],
        sections=sections,
        draw=draw,
        as_html=lambda table: Markup(table_html(table)),
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
    return _cell(name) + (f'<br><span class="note">{escape(note)}</span>' if note else "")


def _numbers(figure: Figure) -> Table | None:
    rows = rows_of_figure(figure)
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
    bundle = converter().javascript_bundle(_SCRIPT, vl_version=vega_lite_version())
    return str(bundle).replace("</script", "<\\/script")
