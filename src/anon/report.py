# SPDX-License-Identifier: Apache-2.0
"""One self-contained HTML page: tables, and figures that are interactive where scripts run."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from anon import figures
from anon.errors import UsageError
from anon.figures import Figure

MOST_NUMBERS = 200  # rows of a figure's data that are also given as a table

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
    """Rows of text and numbers under a header; the first cell of a row is its name."""

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


def page(title: str, sections: Sequence[Section]) -> str:
    """The sections as one HTML page that needs no network, nor scripts but for what is interactive.

    All text is shown as text. The chart libraries are in the page once, if it has a figure.
    """
    try:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
        from markupsafe import Markup
    except ImportError:
        raise UsageError("a report needs jinja2: pip install 'anon[eval]'") from None
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
    return environment.get_template("page.html").render(
        title=title,
        sections=sections,
        draw=draw,
        shown=lambda table: Markup(table_html(table)),
        script=Markup(script),
        script_hash=f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}",
    )


def table_html(table: Table) -> str:
    """The table as HTML; text is escaped, a number carries its whole value."""
    numeric = [
        bool(table.rows) and all(row[i] is None or _is_number(row[i]) for row in table.rows)
        for i in range(len(table.header))
    ]
    mark = [' class="number"' if each else "" for each in numeric]
    head = "".join(
        f'<th scope="col"{m}>{escape(name)}</th>' for name, m in zip(table.header, mark, strict=True)
    )
    body = "".join(
        "<tr>"
        + f'<th scope="row"{mark[0]}>{_cell(row[0])}</th>'
        + "".join(f"<td{m}>{_cell(value)}</td>" for value, m in zip(row[1:], mark[1:], strict=True))
        + "</tr>"
        for row in table.rows
    )
    return (
        f'<div class="table" role="region" tabindex="0" aria-label="{escape(table.title)}"><table>'
        f"<caption>{escape(table.title)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody>"
        "</table></div>"
    )


def number(value: float) -> str:
    """A number for people: whole ones in full, others to four digits."""
    if isinstance(value, int) or not math.isfinite(value):
        return f"{value:,}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return f'<data value="{value!r}">{number(value)}</data>'
    return escape(str(value))


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
    bundle = figures._converter().javascript_bundle(_SCRIPT, vl_version=figures.vega_lite_version())
    return str(bundle).replace("</script", "<\\/script")
