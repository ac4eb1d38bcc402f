# SPDX-License-Identifier: Apache-2.0
"""The page and its parts as HTML; all text is shown as text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from html import escape
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

from anon.choice import PRIVACY_AXIS, UTILITY_AXIS
from anon.explore.asked import (
    FURTHER,
    KINDS,
    METHODS,
    OF_COLUMN,
    OF_METHODS,
    ROLES,
    is_fast,
    method_name,
)
from anon.explore.session import SUFFIXES
from anon.figures import frontier as frontier_figure
from anon.html import Figure, First, Section, Table, number, parts_html
from anon.measures import privacy_tables, title_of, utility_tables
from anon.methods import BY_NAME, Effort
from anon.pages import (
    before_and_after,
    class_figures,
    decision_of,
    lattice_figures,
    loss_figures,
    of_attacks,
)
from anon.requirements import REQUIREMENT_OPTIONS, Option
from anon.tables import is_uri

if TYPE_CHECKING:
    from anon.attackers import Attacked
    from anon.choice import Frontier
    from anon.explore.session import Answer, Session
    from anon.verbs.inspect import Column

SLIDERS = {
    "k": ("k-anonymity (k)", "2 3 4 5 7 10 15 20 30 50 70 100 150 200 300 500 1000"),
    "l": ("l-diversity (l)", "1.5 2 2.5 3 3.5 4 5 6 8 10"),
    "t": ("t-closeness (t)", "0.05 0.1 0.15 0.2 0.25 0.3 0.4 0.5 0.6 0.7 0.8 0.9 1"),
    "suppress": ("Rows left out, at most (share)", "0.001 0.002 0.005 0.01 0.02 0.05 0.1 0.2"),
}
"""Numbers that are moved: their names, and the steps after "not asked for"."""

BESIDE = ("l_kind", "t_distance")  # lists that stand beside their sliders
EFFORTS = {f"effort={each}": f"{each}: {method_name({'effort': each})}" for each in get_args(Effort)}
OF_METHOD = {
    "full-domain": "one level for each column",
    "local-suppression": "single cells blanked",
    "microaggregation": "means of near rows",
    "kmembers": "near rows, slow",
    "tgc": "utility against diversity",
    "anatomy": "sensitive values in buckets",
}
"""What a method does, where its name does not stand for an effort too."""

AXES = {
    "privacy": (PRIVACY_AXIS, "prosecutor.max", "k", "t_js", "risk_linkability"),
    "utility": (UTILITY_AXIS, "dm", "class_size", "u_loss"),
}
LABELS = {
    "l_kind": "Kind of l-diversity",
    "t_distance": "Distance of t-closeness",
    "publish": "What is published",
    "numeric": "Numbers are shown by",
}
"""Of options whose help only lists what may be chosen."""

HINTS = {"linked": "age", "perturb": "rank-swap p=0.05"}
SAID = {"true": "yes", "false": "no", "js": "Jensen-Shannon"}
TYPES = {
    "int": "whole numbers", "uint": "whole numbers", "float": "numbers", "double": "numbers",
    "halffloat": "numbers", "decimal": "numbers", "string": "text", "large_string": "text",
    "string_view": "text", "dictionary": "text", "bool": "yes or no", "date": "dates", "timestamp": "moments",
    "time": "times", "duration": "durations", "null": "nothing",
}  # fmt: skip
"""What the values of a column are, by the first letters of their Arrow type."""

SHELL = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>anon explore</title>
<link rel="stylesheet" href="/explore.css">
<script src="/explore.js" defer></script>
</head>
<body{key}>
<a class="skip" href="#result">Skip to the result</a>
<header><p class="audience">For the owner of the data alone, on this machine. The page and its program end
when it is closed.</p><h1>anon explore</h1></header>
<main id="main"><p role="status">{words}</p></main>
<noscript><p>The page needs its own script.</p></noscript>
</body>
</html>
"""


def shell(key: str | None = None) -> str:
    """The page without anything of the table; `key` is what its script keeps, and goes on to the page."""
    return SHELL.format(key="" if key is None else f' data-key="{escape(key)}"', words="Loading …")


def content(session: Session) -> str:
    """All that the page holds."""
    name = "PostgreSQL" if is_uri(session.path) else session.path.rpartition("/")[2]
    n_rows = number(session.inspected.n_rows)
    return f"""
<p class="about"><strong>{escape(name)}</strong>: {n_rows} rows, {number(len(session.names))} columns.
Releases are written into <code>{escape(str(session.folder))}</code>.</p>
<form id="asked" class="work" autocomplete="off">
{_columns(session)}
<div class="beside">
{_requirements(session)}
{_method(session.form)}
<section id="result" tabindex="-1" aria-label="What comes of it">
<div id="progress" role="status"></div>
<div id="answer" aria-live="polite"></div>
<div class="buttons" role="group" aria-label="Show more">
{_button("make", "Make it by the method asked for")}{_button("rows", "Rows before and after")}
{_button("losses", "What it cost")}{_button("risk", "Risk")}{_button("lattice", "Lattice")}
{_button("attack", "Attack it")}</div>
<div id="more" aria-live="polite"></div>
</section>
</div>
</form>
{_frontier(session.form)}
{_export()}
"""


def _button(act: str, words: str) -> str:
    return f'<button type="button" data-do="{act}">{escape(words)}</button>'


# --- controls


def _options(values: Mapping[str, str], chosen: str) -> str:
    return "".join(
        f'<option value="{escape(value)}"{" selected" if value == chosen else ""}>{escape(words)}</option>'
        for value, words in values.items()
    )


def _select(name: str, label: str, values: Mapping[str, str], form: Mapping[str, str], more: str = "") -> str:
    return (
        f'<label{more}>{escape(label)}<select name="{name}">'
        f"{_options(values, form.get(name, ''))}</select></label>"
    )


def _text(name: str, label: str, form: Mapping[str, str], hint: str = "", more: str = "") -> str:
    return (
        f'<label{more}>{escape(label)}<input name="{name}" value="{escape(form.get(name, ""))}" '
        f'placeholder="{escape(hint)}"></label>'
    )


def _control(option: Option, form: Mapping[str, str], of: Iterable[str] = ()) -> str:
    """The control of an option; `of` are the methods that have it, where not all do."""
    label = LABELS.get(option.key) or option.help.rstrip(".").replace("--", "")
    more = f' data-of="{" ".join(of)}"' if of else ""
    words = get_args(option.kind) if get_origin(option.kind) is Literal else ()
    if option.kind is bool:
        words = ("true", "false")
    if words:
        default = next((word for word in words if f"{word} (default)" in option.help), "default")
        others = {word: SAID.get(word, word) for word in words if word != default}
        return _select(option.key, label, {"": SAID.get(default, default), **others}, form, more)
    return _text(option.key, label, form, "not asked for" if not of else "default", more)


def _slider(key: str, form: Mapping[str, str], beside: Option | None = None) -> str:
    """A number, moved by steps or written; `beside` it what kind is meant."""
    label, steps = SLIDERS[key]
    kind = "" if beside is None else _control(beside, form)
    return (
        f'<div class="slider"><label for="at-{key}">{label}</label>'
        f'<input type="range" data-steps="{steps}" data-for="at-{key}" aria-label="{label}, by steps">'
        f'<input id="at-{key}" name="{key}" inputmode="decimal" size="6" value="{escape(form.get(key, ""))}" '
        f'placeholder="none">{kind}</div>'
    )


def _requirements(session: Session) -> str:
    form, options = session.form, {option.key: option for option in REQUIREMENT_OPTIONS}
    shown = {*SLIDERS, *BESIDE, *(() if session.people else ("presence", "presence_low"))}
    further = "".join(_control(each, form) for each in REQUIREMENT_OPTIONS if each.key not in shown)
    return (
        "<fieldset><legend>What the release must satisfy</legend>"
        "<p>k: at least so many people look alike. l: no sensitive value is more frequent among them than "
        "one in l, or as the list beside it says. t: shares of sensitive values among them differ by no more "
        "than this from those in the whole table.</p>"
        f"{_slider('k', form)}{_slider('l', form, options['l_kind'])}"
        f"{_slider('t', form, options['t_distance'])}"
        f'<details><summary>More requirements</summary><div class="controls">{further}</div></details>'
        "</fieldset>"
    )


def _method(form: Mapping[str, str]) -> str:
    line = ' class="line"'
    named = {name: f"{name}: {OF_METHOD[name]}" if name in OF_METHOD else name for name in METHODS}
    methods = {**EFFORTS, **{f"method={name}": words for name, words in named.items()}}
    of_methods = "".join(
        _control(each, form, [name for name in METHODS if each in BY_NAME[name].options])
        for each in OF_METHODS
    )
    further = "".join(_control(each, form) for each in FURTHER if each.key not in SLIDERS)
    return (
        "<fieldset><legend>How it is made and published</legend>"
        f"{_select('how', 'Method', methods, form, line)}{_slider('suppress', form)}"
        f'<details><summary>More settings</summary><div class="controls">{of_methods}{further}</div>'
        "</details>"
        "</fieldset>"
    )


def _columns(session: Session) -> str:
    rows = "".join(
        f'<tbody id="column-{i}">{column_row(session, i)}</tbody>'
        for i in range(len(session.inspected.columns))
    )
    return (
        '<fieldset class="roles-of"><legend>The columns</legend><p>The roles are guesses, which cannot know '
        "what others know. A quasi-identifier may be known to others, and helps to find a person; what is "
        "sensitive must not be learned. What has no role is not published.</p>"
        '<table class="columns"><thead><tr><th scope="col">Column</th><th scope="col">Role</th></tr></thead>'
        f"{rows}</table></fieldset>"
    )


def column_row(session: Session, i: int, fault: str = "") -> str:
    """One column: what it is like, its role, and behind a line its hierarchy and levels."""
    column, form = session.inspected.columns[i], session.form
    return (
        f'<tr><th scope="row">{escape(column.name)}<span class="note">{escape(_like(column))}</span></th>'
        f'<td><label><span class="unseen">Role of {escape(column.name)}</span>'
        f'<select name="role.{i}">{_options(ROLES, form.get(f"role.{i}", ""))}</select></label></td></tr>'
        '<tr><td colspan="2">'
        f"<details{' open' if fault or i in session.trees else ''}><summary>Hierarchy and levels"
        f'<span class="unseen"> of {escape(column.name)}</span></summary><div class="controls">'
        f"{_select(f'kind.{i}', 'Kind', KINDS, form)}"
        f"{_text(f'ordinal.{i}', 'Order', form, 'low<middle<high')}"
        f"{_tree(session, i)}"
        f"{''.join(_text(f'{k}.{i}', label, form, HINTS.get(k, '')) for k, label in OF_COLUMN.items())}</div>"
        f'<p class="fault" role="alert">{escape(fault)}</p></details></td></tr>'
    )


def _like(column: Column) -> str:
    type = TYPES.get(re.split(r"[\d\[(<]", column.type)[0], column.type)
    many = "" if column.n_distinct is None else f", {column.n_distinct:,} values"
    missing = f", {column.n_null:,} missing" if column.n_null else ""
    note = f". {column.note}" if column.note else ""
    return f"{type}{many}{missing}. {column.role}: {column.why}{note}"


def _tree(session: Session, i: int) -> str:
    name = escape(session.names[i])
    acts = (
        '<label class="file">Import a file, as ARX has it<input type="file" accept=".csv,text/csv" '
        f'data-tree="import" data-column="{i}" aria-label="Import a hierarchy of {name}"></label>'
        f'<button type="button" data-tree="draft" data-column="{i}">Draft one</button>'
    )
    if i not in session.trees:
        return _text(f"hierarchy.{i}", "Hierarchy", session.form, "prefix:4,3,2") + acts
    text = session.tree_text(i)
    area = (
        "<p>It is too long to be edited here.</p>"
        if text is None
        else '<label class="wide">Hierarchy, a value and its labels per line<textarea rows="6" '
        f'data-text="{i}" spellcheck="false">{escape(text)}</textarea></label>'
        f'<button type="button" data-tree="plant" data-column="{i}">Use as edited</button>'
    )
    return f'{area}{acts}<button type="button" data-tree="fell" data-column="{i}">Remove it</button>'


def _frontier(form: Mapping[str, str]) -> str:
    axes = "".join(
        _select(axis, f"Axis of {axis}", {name: title_of(name) for name in names}, form)
        for axis, names in AXES.items()
    )
    wide = ' class="wide"'
    return (
        '<section aria-labelledby="of-frontier"><h2 id="of-frontier">The frontier</h2>'
        "<p>Many releases at once: which are efficient, none other being as private and as useful. "
        "Take one, on the figure or in the "
        f'list.</p><form id="sweep" class="controls" autocomplete="off">'
        f"{_text('grid', 'What to try', form, 'k=5,10,50 method=mondrian,curve', wide)}{axes}"
        '<button type="submit">Try them</button></form><div id="frontier" aria-live="polite"></div></section>'
    )


def _export() -> str:
    names = "".join(f"<option>release{each}</option>" for each in SUFFIXES)
    return (
        '<section aria-labelledby="of-export"><h2 id="of-export">Export</h2>'
        "<p>The release by the method that is asked for, read back and checked, with its job file and "
        "hierarchies, and the command that makes it "
        'again.</p><form id="export" class="controls" autocomplete="off">'
        '<label>Name of the release<input name="name" value="release.parquet" list="suffixes"></label>'
        f'<datalist id="suffixes">{names}</datalist>'
        '<label class="box"><input type="checkbox" name="report"> with a report for the owner</label>'
        '<label class="box"><input type="checkbox" name="replace"> replace what is there</label>'
        '<button type="submit">Export</button></form><div id="exported" aria-live="polite"></div></section>'
    )


# --- answers


def answer(made: Answer, asked: Mapping[str, Any]) -> str:
    """What holds of a release; `asked` is the job that the page asks for, where that is another."""
    release, privacy = made.release, made.privacy
    measured = privacy.to_dict()
    decision = decision_of(release, measured, privacy)
    risk, known = measured["prosecutor"], privacy.known
    summary = release.summary()
    told: list[tuple[str, Any]] = [
        ("rows published", summary["rows"]),
        ("rows left out", summary["suppressed"]),
        ("classes", summary["classes"]),
        ("k, rows of the smallest class", measured["k"]),
        ("greatest risk of being found", risk["max"]),
        ("mean risk", risk["mean"]),
    ]
    if known is not None:
        told += [
            ("k to who knows the neutral columns too", known.k),
            ("greatest risk, neutral columns known", known.prosecutor.max),
            ("mean risk, neutral columns known", known.prosecutor.mean),
        ]
    for name, each in measured["by_sensitive"].items():
        if each.get("l_distinct") is not None:
            told.append((f"values of {name} in a class, at least (l)", each["l_distinct"]))
        if each.get("t_js") is not None:
            told.append((f"greatest loss of privacy, {name} (t, js)", each["t_js"]))
    told.append(("information loss (gcp)", made.gcp))
    first = First(
        decision.state,
        decision.verdict,
        decision.facts,
        numbers=tuple((name, value) for name, value in told if value is not None),
    )
    asked_for = ", ".join(map(str, release.requirements))
    by = f"By {escape(method_name(made.keys))}, for {escape(asked_for)}"
    if is_fast(made.keys) and not is_fast(asked):
        by += f", as a fast look: {escape(method_name(asked))} is asked for, and has not been run yet"
    notes = "".join(f"<li>{escape(note)}</li>" for note in release.notes)
    warned = "".join(f"<li>{escape(warning)}</li>" for warning in release.warnings)
    return (
        f'<p class="by">{by}.</p>{parts_html(first)}'
        + (f'<h3>Warnings</h3><ul class="warnings">{warned}</ul>' if warned else "")
        + (f'<h3>Notes</h3><ul class="notes">{notes}</ul>' if notes else "")
    )


def fault(words: str) -> str:
    """Why there is no answer."""
    return f'<p class="fault">{escape(words)}</p>'


def rows(before: Any, after: Any) -> str:
    """Rows of two tables, one above the other."""
    tables = []
    for title, table in (("As they were", before), ("As they are published", after)):
        cells = tuple(tuple(map(_shown, row.values())) for row in table.to_pylist())
        tables.append(Table(title, tuple(table.column_names), cells))
    return _part("Rows before and after", tuple(tables))


def _part(
    heading: str, tables: tuple[Table, ...], figures: tuple[Figure, ...] = (), place: str = "more"
) -> str:
    return parts_html(sections=[Section(heading, (), tables, figures)], prefix=place)


def _shown(value: Any) -> Any:
    return value if isinstance(value, int | float | None) else str(value)


def losses(made: Answer) -> str:
    """What it cost: tables and figures of before and after."""
    utility = made.release.utility()
    return _part("What it cost", utility_tables(utility.to_dict()), loss_figures(utility))


def risk(made: Answer) -> str:
    """The risk of the people before and after, and the measures of what holds."""
    privacy = made.release.privacy(per_class=True)
    drawn = (*before_and_after(made.release.published), *class_figures(privacy))
    return _part("Risk", privacy_tables(made.privacy.to_dict()), drawn)


def lattice(made: Answer) -> str:
    """What full-domain recoding chose from."""
    drawn = lattice_figures(made.release)
    if not drawn:
        return fault("There is a lattice where the method is full-domain: choose it, and make the release.")
    return _part("Lattice", (), drawn)


def attacked(found: Attacked) -> str:
    """What attackers came to."""
    *sections, _ = of_attacks(found).sections  # the last is about files
    return parts_html(sections=sections, prefix="attack")


def frontier(swept: Frontier, chosen: Any = None) -> str:
    """The figure, and the points to be taken."""
    figure = _part("Efficient releases", (), (frontier_figure(swept, chosen),), "frontier")
    header = ("release", title_of(swept.privacy), title_of(swept.utility), "", "")
    lines = "".join(_point(each, chosen is not None and each.name == chosen.name) for each in swept.points)
    head = "".join(f'<th scope="col">{escape(each)}</th>' for each in header)
    return (
        f'{figure}<div class="table" role="region" tabindex="0" aria-label="Releases that were tried"><table>'
        f"<caption>Releases that were tried</caption><thead><tr>{head}</tr></thead><tbody>{lines}</tbody>"
        "</table></div>"
    )


def _point(point: Any, is_chosen: bool) -> str:
    if point.configuration is None or not point.parameters.get("method"):
        return ""
    words = "efficient" if point.efficient else point.why or ""
    name, current = escape(point.name), " aria-current=true" if is_chosen else ""
    take = (
        f'<button type="button" data-take="{name}"{current}>Take<span class="unseen"> {name}</span></button>'
        if point.satisfied
        else ""
    )
    return (
        f'<tr><th scope="row">{escape(point.name)}</th><td class="number">{_cell(point.privacy)}</td>'
        f'<td class="number">{_cell(point.utility)}</td><td>{escape(words)}</td><td>{take}</td></tr>'
    )


def _cell(value: float) -> str:
    return "–" if value != value else number(value)


def exported(done: Mapping[str, str], folder: str) -> str:
    """What was written, and how to do it again."""
    files = "".join(f"<li><code>{escape(each)}</code></li>" for each in done["files"].splitlines())
    return (
        f"<p>Written into <code>{escape(folder)}</code>, read back and checked:</p><ul>{files}</ul>"
        f"<p>Again, in that folder: <code>{escape(done['command'])}</code></p>"
    )
