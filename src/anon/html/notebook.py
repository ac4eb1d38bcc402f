# SPDX-License-Identifier: Apache-2.0
"""What a result shows of itself in a notebook: words, a small figure, tables."""

from __future__ import annotations

import math
from collections.abc import Mapping
from html import escape

from anon.html.chart import bars
from anon.html.document import Table, table_html
from anon.html.figure import Figure, notebook_html

MOST_BARS = 20

# Colors are the page's own: a notebook may be dark. Where styles are dropped, line breaks part the words.
_STYLE = """<style>
.anon-result { max-width: 60rem; line-height: 1.45; }
.anon-result p { margin: .25rem 0; max-width: 44rem; }
.anon-result .table, .anon-result details { margin: .6rem 0; overflow-x: auto; }
.anon-result summary { cursor: pointer; }
.anon-result .table table { border-collapse: collapse; border: 0; font-size: inherit; margin: 0; }
.anon-result caption { text-align: left; font-weight: 600; color: inherit; caption-side: top; }
.anon-result .table table tr, .anon-result .table tbody tr:nth-child(n) { background: transparent; }
.anon-result .table table th, .anon-result .table table td { text-align: left; vertical-align: top;
  border: 0; border-bottom: 1px solid rgba(128, 128, 128, .4); padding: .2rem .8rem .2rem 0;
  min-width: 0; max-width: 34rem; white-space: normal; color: inherit; }
.anon-result .table table tbody th { font-weight: 500; min-width: 9rem; }
.anon-result .table table tr .number { text-align: right; white-space: nowrap;
  font-variant-numeric: tabular-nums; }
.anon-result .note { font-weight: 400; font-size: .9em; opacity: .8; }
</style>"""


def result_html(words: str, *parts: str | Table | Figure | None) -> str:
    """Sentences (a paragraph per line), then figures and tables, in the colors of the page around them."""
    paragraphs = "".join(f"<p>{escape(line)}</p>" for line in words.splitlines())
    shown = "".join(map(_part_html, parts))
    return f'<div class="anon-result">{_STYLE}{paragraphs}{shown}</div>'


def _part_html(part: str | Table | Figure | None) -> str:
    if isinstance(part, Figure):
        return notebook_html(part)
    return table_html(part) if isinstance(part, Table) else part or ""


def folded(summary: str, *tables: Table) -> str:
    """Tables behind one line that opens them; nothing without any."""
    if not tables:
        return ""
    inside = "".join(map(table_html, tables))
    return f"<details><summary>{escape(summary)}</summary>{inside}</details>"


def bar_figure(title: str, values: Mapping[str, float | None], *, high: float | None = None) -> Figure | None:
    """A bar for each name, the first `MOST_BARS` of those whose value is known; None where none is."""
    known = {name: value for name, value in values.items() if value is not None and math.isfinite(value)}
    rows = tuple({"name": name, "value": value} for name, value in [*known.items()][:MOST_BARS])
    if not rows:
        return None
    caption = "" if len(known) == len(rows) else f"The first {len(rows)} of {len(known):,}."
    return Figure(title, (bars(rows, "name", "value", high=high),), caption, rows)
