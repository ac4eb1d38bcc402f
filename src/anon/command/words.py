# SPDX-License-Identifier: Apache-2.0
"""What a run says on the terminal."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anon.command import answers
from anon.plain import as_plain
from anon.tables import is_uri

if TYPE_CHECKING:
    from rich.table import Table

    from anon.choice import Frontier, Point
    from anon.verbs import Inspection

MOST_SHOWN = 60  # characters of a cell


def report_release(
    files: dict[str, str | None],
    release: Any,
    privacy: Any | None,
    as_json: bool,
    reported: Mapping[str, Any] | None = None,
    notes: Sequence[str] = (),
    all_measures: bool = False,
) -> None:
    """`reported` is what a report says too, `notes` are about the files."""
    from anon.engines import balanced_instead
    from anon.release import note_on_known

    balanced = None if privacy is None else balanced_instead(release)
    known = None if privacy is None else note_on_known(privacy)
    notes = [*notes, *notes_of(release.publish), *release.notes, *([] if known is None else [known])]
    if as_json:
        measures = {} if privacy is None else {"privacy": privacy.to_dict()}
        said = {"warnings": release.warnings, "notes": notes}
        more = {} if balanced is None else {"balanced": {"share": balanced.share, "rows": balanced.n_rows}}
        summary = {**files, "release": release.summary(), **more, **measures, **said}
        print_json({**summary, **(reported or {})})
        return
    print_notes(release.warnings, "warning")
    print_notes(notes)
    if privacy is None:
        return
    summary, measures = release.summary(), privacy.to_dict()
    if all_measures:
        print_tables(
            _facts("Release", {**files, **summary, **_instead(balanced)}),
            *privacy_words("Privacy", measures),
        )
        return
    print_answers(
        str(files.get("output") or "nothing was written"),
        *answers.on_release(summary, summary.get("requirements", ()), release.meets_requirements),
        *answers.on_privacy(measures),
        *answers.on_loss(release.gcp),
        *(f"{name} {what}" for name, what in _instead(balanced).items()),
    )


def print_notes(notes: Iterable[str], kind: str = "note") -> None:
    """One line each, beside the answer."""
    for note in notes:
        print(f"{kind}: {note}", file=sys.stderr)


def print_answers(title: str, *lines: str) -> None:
    """Sentences under what they are about, and where the rest is."""
    print("\n".join([title, *(f"  {line}" for line in lines), f"  {answers.MORE}"]))


def name_of(source: str, table: str | None = None) -> str:
    """A source, and the table of a database, as a title names it."""
    name = "PostgreSQL" if is_uri(source) else Path(source).name
    return name if table is None else f"{table} of {name}"


def _instead(balanced: Any | None) -> dict[str, str]:
    if balanced is None:
        return {}
    return {
        "effort balanced": f"would lose about {balanced.share:.0%} of this, estimated from "
        f"{balanced.n_rows} rows of whole classes"
    }


def notes_of(publish: str | None) -> list[str]:
    """What is said of every release that is published in this way."""
    from anon.release import NOTES_ON_BUCKETS

    return list(NOTES_ON_BUCKETS) if publish == "bucketization" else []


def report_spark(
    files: Mapping[str, str | None],
    privacy: Any,
    warned: list[str],
    notes: list[str],
    as_json: bool,
    quiet: bool,
    all_measures: bool,
) -> None:
    if as_json:
        print_json({**files, "privacy": privacy.to_dict(), "warnings": warned, "notes": notes})
        return
    print_notes(warned, "warning")
    print_notes(notes)
    measures = privacy.to_dict()
    if quiet:
        return
    if all_measures:
        print_tables(_facts("Release", files), *privacy_words("Privacy", measures))
    else:
        print_answers(str(files["output"]), *answers.on_privacy(measures))


def report_attacks(name: str, attacked: Any, quiet: bool) -> None:
    """Words first, then the numbers; notes on what was not tried."""
    from anon.attackers import attack_tables

    print_notes(attacked.notes)
    if quiet:
        return
    first, *others = attack_tables(attacked.to_dict())  # the sentences say what stands in the first
    print(f"{name}: {first.title[:1].lower()}{first.title[1:]}")
    for sentence in attacked.words:
        print(f"  {sentence}")
    if others:
        print()
        print_tables(*(print_grid(each.title, each.header, each.rows) for each in others))


def report_written(output: str, n_rows: int, as_json: bool, quiet: bool) -> None:
    if as_json:
        print_json({"output": output, "n_rows": n_rows})
    elif not quiet:
        print(f"{n_rows:,} rows written to {output}")


def print_json(content: Mapping[str, Any]) -> None:
    """What JSON has no type for, such as a date, is text."""
    plain = as_plain({"audience": "owner", **content})
    text = json.dumps(plain, ensure_ascii=False, allow_nan=False, default=str)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(plain, allow_nan=False, default=str)
    print(text)


def print_tables(*tables: Table) -> None:
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


def privacy_words(title: str, measures: Mapping[str, Any]) -> list[Table]:
    """Classes and risks, then what is told of each sensitive attribute and of all together."""
    from rich import box
    from rich.table import Table

    by_sensitive: dict[str, Any] = dict(measures["by_sensitive"])
    if len(by_sensitive) > 1 and measures["joint"] is not None:
        by_sensitive["(joint)"] = measures["joint"]
    names = [name for name in next(iter(by_sensitive.values()), {}) if name != "worst"]
    left_out = {*names, "by_sensitive", "joint", "worst", "worst_sensitive", "worst_cells", "notes"}
    facts_of_all = {name: value for name, value in measures.items() if name not in left_out}
    if "t_js" in measures.get("worst_cells", {}):
        facts_of_all["greatest p_loss"] = {
            name: _shortened(cell) for name, cell in measures["worst_cells"]["t_js"].items()
        }
    facts = _facts(title, facts_of_all)
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


def utility_words(title: str, measures: Mapping[str, Any]) -> list[Table]:
    """The measures of the whole, then of every quasi-identifier and sensitive attribute."""
    parts = {"Quasi-identifiers": "by_attribute", "Sensitive attributes": "by_sensitive"}
    facts_of_all = {name: value for name, value in measures.items() if name not in parts.values()}
    tables = [_breakdown(heading, measures[part]) for heading, part in parts.items() if measures[part]]
    return [_facts(title, facts_of_all), *tables]


def frontier_words(title: str, swept: Frontier, chosen: Point | None) -> list[Table]:
    """The points, what privacy costs between neighbors on the frontier, and which points stand out."""
    from rich import box
    from rich.table import Table

    table = Table(title=title, box=box.SIMPLE, title_justify="left")
    table.add_column("point", overflow="fold")
    others = [name for name in swept.points[-1].measures if name not in (swept.privacy, swept.utility)]
    for name in (swept.privacy, swept.utility, *others, "classes", "seconds"):
        table.add_column(name, justify="right")
    table.add_column("", overflow="fold")
    for point in swept.points:
        values = [point.measures.get(name, math.nan) for name in (swept.privacy, swept.utility, *others)]
        numbers_of_point = ["" if math.isnan(value) else _text(value) for value in values]
        verdict = "efficient" if point.efficient else point.why or ""
        table.add_row(point.name, *numbers_of_point, _text(point.classes), f"{point.seconds:.2f}", verdict)
    prices = Table(title="Price of privacy along the frontier", box=box.SIMPLE, title_justify="left")
    for heading in ("from", "to"):
        prices.add_column(heading, overflow="fold")
    for heading in (f"gains {swept.privacy}", f"loses {swept.utility}", "price"):
        prices.add_column(heading, justify="right")
    for each in reversed(swept.prices):
        numbers = (each.privacy_gained, each.utility_lost, each.price)
        numbers_of_point = ["" if math.isnan(number) else _text(number) for number in numbers]
        prices.add_row(each.less_private.name, each.more_private.name, *numbers_of_point)
    knee = swept.knee
    choice = {
        "rows": swept.n_rows,
        "efficient": f"{len(swept.efficient)} of {len(swept.points)} points; none is better than another",
        "knee": "none" if knee is None else knee.name,
        **{f"tie {i + 1}": " = ".join(each.name for each in tie) for i, tie in enumerate(swept.ties)},
        **({} if chosen is None else {"chosen": chosen.name}),
    }
    return [table, prices, _facts("Choice", choice)]


def _breakdown(title: str, by_column: Mapping[str, Mapping[str, Any]]) -> Table:
    """One line per column of the table, one column per measure that any of them has."""
    from rich import box
    from rich.table import Table

    from anon.measures import title_of

    table = Table(title=title, box=box.SIMPLE, title_justify="left")
    table.add_column("column", overflow="fold")
    names = list(next(iter(by_column.values())))
    names = [name for name in names if any(each[name] is not None for each in by_column.values())]
    for name in names:
        table.add_column(title_of(name), justify="right")
    for column, each in by_column.items():
        table.add_row(column, *("" if each[name] is None else _text(each[name]) for name in names))
    return table


def print_grid(title: str, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> Table:
    """A table of text and numbers."""
    from rich import box
    from rich.table import Table

    table = Table(title=title, box=box.SIMPLE, title_justify="left")
    cells = [[*row] for row in rows]
    for i, name in enumerate(header):
        numeric = any(isinstance(row[i], int | float) for row in cells)
        table.add_column(name, justify="right" if numeric else "left", overflow="fold")
    for row in cells:
        table.add_row(*("" if value is None else _text(value) for value in row))
    return table


def reproduction(reproduced: Any, written: Sequence[str]) -> list[Table]:
    """Verdict counts, then the figures that are not exact and the findings that did not hold."""
    from rich import box
    from rich.table import Table

    tables = [_facts(reproduced.title, {**reproduced.verdicts, "files": written})]
    figures = [one for one in reproduced.figures if one.verdict != "exact"]
    if figures:
        table = Table(title="Figures that are not exact", box=box.SIMPLE, title_justify="left")
        for heading in ("figure", "published", "measured", "verdict", *reproduced.readings):
            table.add_column(heading, justify="left" if heading in ("figure", "verdict") else "right")
        for one in figures:
            others = [one.readings.get(reading) for reading in reproduced.readings]
            shown = ["" if value is None else _text(value) for value in others]
            table.add_row(one.what, str(one.published), _text(one.measured), one.verdict, *shown)
        tables.append(table)
    findings = [one for one in reproduced.findings if not one.held]
    if findings:
        table = Table(title="Findings that did not hold", box=box.SIMPLE, title_justify="left")
        table.add_column("sentence")
        table.add_column("where", overflow="fold")
        for finding in findings:
            table.add_row(finding.quote, finding.place)
        tables.append(table)
    return tables


def _lines(above: str, facts: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in facts.items():
        if isinstance(value, Mapping):
            yield from _lines(f"{above}{name}.", value)
        elif value is not None:
            yield f"{above}{name}", value


def _shortened(cell: Any) -> str:
    text = _text(cell)
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]} …"


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list | tuple):
        return ", ".join(map(_text, value)) or "none"
    return str(value)


def columns(source: str, inspection: Inspection) -> list[Table]:
    """What the columns of a table are like, and what roles are guessed by what."""
    from rich import box
    from rich.table import Table

    title = f"{name_of(source)}: {inspection.n_rows:,} rows"
    counts = Table(title=title, box=box.SIMPLE, title_justify="left")
    for heading in ("column", "type", "kind"):
        counts.add_column(heading, overflow="fold")
    for heading in ("distinct", "nulls", "unique rows"):
        counts.add_column(heading, justify="right")
    roles = Table(title="Guessed roles", box=box.SIMPLE, title_justify="left")
    roles.add_column("column", overflow="fold")
    roles.add_column("role", no_wrap=True)
    roles.add_column("why", overflow="fold")
    for column in inspection.columns:
        counted = column.n_distinct is not None and column.unique_share is not None
        counts.add_row(
            column.name,
            column.type,
            column.kind,
            f"{column.n_distinct:,}" if counted else "",
            f"{column.n_null:,}",
            f"{column.unique_share:.1%}" if counted else "",
        )
        key = "" if column.key is None else f", {column.key.replace('_', ' ')}"
        roles.add_row(column.name, column.role + key, column.why)
    return [counts, roles]
