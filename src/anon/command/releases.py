# SPDX-License-Identifier: Apache-2.0
"""The commands that make releases and measure them."""

from __future__ import annotations

import os
import sys
import warnings
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from anon.command import answers
from anon.command.app import command
from anon.command.inputs import (
    cover_of,
    ends_of,
    keep,
    origin_of,
    outputs_of,
    pages_of,
    people_of,
    reading_options,
    release_options,
    write_reports,
)
from anon.command.options import (
    ALL,
    BOTH,
    CODING,
    COLUMNS,
    CONFIG,
    COVER,
    FILE,
    INPUT,
    METHODS,
    MIN_SUPPORT,
    OF_POPULATION,
    OUTPUT,
    PRINTING,
    PUBLISHING,
    QUERY,
    READING,
    RELEASE_TABLE,
    REPLACE,
    REPORT,
    REPORT_PUBLIC,
    REQUIREMENTS,
    ROLES,
    RUNNING,
    SENSITIVE_TABLE,
    SOURCE,
    WEIGHT,
    WRITE,
    Flag,
    Text,
)
from anon.command.parse import whole_numbers
from anon.command.progress import progress_line
from anon.command.words import (
    name_of,
    notes_of,
    print_answers,
    print_json,
    print_notes,
    print_tables,
    privacy_words,
    report_attacks,
    report_release,
    report_spark,
    utility_words,
)
from anon.errors import NAME_QUASI, InfeasibleError, UsageError

if TYPE_CHECKING:
    from anon.attackers import Composition
    from anon.command.job import Job
    from anon.html import Audience
    from anon.pages import Report
    from anon.schema import Schema
    from anon.tables import Source


@command(
    *(INPUT, OUTPUT, RELEASE_TABLE, REPLACE, CONFIG),
    *(*ROLES, WEIGHT, *CODING, *REQUIREMENTS, *METHODS, *RUNNING, *PUBLISHING),
    Flag(
        "rules",
        Text,
        "Write the rules of the release, for `anon append`: the owner's.",
        panel=WRITE,
        metavar="OUT",
        is_path=True,
    ),
    *(*OF_POPULATION, *READING, QUERY, REPORT, REPORT_PUBLIC, *COVER, ALL, *PRINTING),
)
def anonymize(
    context: typer.Context,
    job: Job,
    replace: bool,
    config: str | None,
    rules: str | None,
    all_measures: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Write a release of IN that satisfies every requirement.

    Columns without a role are not published: --neutral keeps them as they are.

    anon anonymize people.csv -o release.csv --quasi age,sex,zip --sensitive disease --k 10
    """
    import anon
    from anon.release import check_output, note_on_unpublished, refuse_guard
    from anon.tables import shown

    schema = job.roles()
    if schema is None:
        raise UsageError("no column has a role: name the quasi-identifiers with --quasi")
    if not job.is_requiring and job.method in (None, "mondrian"):
        raise UsageError("nothing is required: give at least one requirement, such as --k 10")
    source, output = ends_of(job, config, job.population, *job.files(), replace=replace)
    people = None if job.engine == "spark" else people_of(context, job)
    require, how = job.requirements(people), {**job.how(), **job.beside()}
    replacing: dict[str, Any] = {"replace": True} if replace else {}
    read = [source, config, job.population, *job.files()]
    written = outputs_of(job)
    pages = pages_of(job.report, job.report_public, [*read, *written, output])
    if rules is not None:
        if os.path.realpath(rules) in {os.path.realpath(path) for path in (*written, *pages.values())}:
            raise UsageError(f"{rules} is also another file of this command: name another for the rules")
        keep(rules, read)
    if job.csv_guard:
        refuse_guard("" if job.engine == "spark" else Path(output).suffix)
    if job.engine == "spark":
        if job.perturb:
            raise UsageError("perturb is for one machine: leave it out, or use --engine local")
        if job.attack or job.control is not None:
            raise UsageError(
                "--control and --attack are for one machine: hold rows out before, write the release of the "
                "others without these two, and attack it: anon attack OTHERS RELEASE --control ROWS"
            )
        if pages or job.population or job.sampling_fraction or rules is not None:
            raise UsageError(
                "on Spark there is no report, no rules and no population: check the release afterwards"
            )
        from anon.command.spark import run

        with progress_line(quiet or as_json) as progress, warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", anon.PrivacyWarning)
            measured, unpublished = run(job, progress, quiet=quiet)
        warned = [one.message.in_flags for one in caught if isinstance(one.message, anon.PrivacyWarning)]
        ends = {"input": source, "output": output}
        note = note_on_unpublished(unpublished)
        notes = [*notes_of(job.publish), *([] if note is None else [note])]
        if "method" not in how and not quiet:
            notes.append("Spark made it by Mondrian alone (effort fast)")
        if schema.unit is not None:
            notes.append(
                f"what counts units was checked before column {schema.unit!r} was dropped; no file decides it"
            )
        report_spark(ends, measured, warned, notes, as_json, quiet, all_measures)
        return
    with progress_line(quiet or as_json) as progress, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", anon.PrivacyWarning)
        table = anon.read_source(source, **job.read_options(), typed=job.typed(schema), progress=progress)
        check_output(output, table, schema)
        if rules is not None:
            _refuse_rules(job, how, schema, table)
        release = anon.anonymize(
            table,
            schema,
            require=require,
            **how,
            progress=progress,
            **job.options(),
        )
        caught.clear()  # the report shows the release's own
        kept = release.rules if rules is not None and release.meets_requirements else None
        if release.meets_requirements:
            release.write(output, **job.write_options(), **replacing)
        if rules is not None and kept is not None:
            kept.write(rules)
    notes = [one.message.in_flags for one in caught if isinstance(one.message, anon.PrivacyWarning)]
    made_at = shown(output) if release.meets_requirements else None
    files: dict[str, str | None] = {"input": shown(source), "output": made_at}
    privacy = None
    if as_json or pages or not quiet:
        privacy = release.privacy(
            population=people,
            sampling_fraction=job.sampling_fraction,
            per_class="owner" in pages,
            neutral=True,
        )
    reported: dict[str, Any] = {}
    if "public" in pages and not release.meets_requirements:
        print("note: no release was written, and so no page that may be handed out", file=sys.stderr)
        del pages["public"]
    if pages:
        from anon import pages as reports

        made = written if release.meets_requirements else []
        utility, origin = release.utility(), origin_of(context, read, made, made)

        def about(audience: Audience) -> Report:
            return reports.of_release(
                release,
                privacy=privacy,
                utility=utility,
                origin=origin,
                audience=audience,
                cover=cover_of(job),
            )

        reported = write_reports(pages, about)
    attacked = anon.attack(release) if job.attack and release.meets_requirements else None
    if attacked is not None and as_json:
        reported |= {"attacks": attacked.to_dict()}
    report_release(
        files, release, None if quiet and not as_json else privacy, as_json, reported, notes, all_measures
    )
    if attacked is not None and not as_json:
        report_attacks("The release", attacked, quiet)
    if not release.meets_requirements:
        raise typer.Exit(InfeasibleError.exit_code)


def _refuse_rules(job: Job, how: dict[str, Any], schema: Schema, source: Source) -> None:
    """Raise UsageError where the release will have no rules."""
    import pyarrow as pa

    from anon.methods import chosen
    from anon.release import refuse_rules

    makes_all = schema.unit is None and isinstance(source.table, pa.Table)
    method = chosen(how.get("method"), how.get("effort"), None if makes_all else "here")
    types = {field.name: field.type for field in source.schema}
    given = {"publish": "generalization", "numeric": "interval", **job.options()}
    refuse_rules(method, schema.bind(source.schema), types, given["publish"], given["numeric"])


@command(
    *(replace(SOURCE, help=f"{FILE} Default: the output of the job.", is_required=False), CONFIG),
    *(*ROLES, *CODING, *REQUIREMENTS),
    Flag(
        "roles_from_file",
        bool,
        "Believe the roles that the file claims, and its hierarchies.",
        panel=COLUMNS,
        default=False,
    ),
    Flag(
        "risk_k",
        str,
        "Share of rows at risk above 1/k, for each of these k.",
        default="2,5,10,20",
        parse=partial(whole_numbers, "--risk-k"),
    ),
    *(SENSITIVE_TABLE, *OF_POPULATION),
    Flag("per_class", Text, "Write the measures of every class.", metavar="OUT", is_path=True),
    Flag(
        "against",
        Text,
        "Another release: count who is left as a candidate for whom, for whoever has both.",
        metavar="FILE",
        is_path=True,
    ),
    Flag(
        "original", Text, "With --against: the owner's table, with all people.", metavar="FILE", is_path=True
    ),
    *(*READING, QUERY, REPORT, REPORT_PUBLIC, *COVER, ALL, *PRINTING),
)
def check(
    context: typer.Context,
    job: Job,
    source: str | None,
    config: str | None,
    roles_from_file: bool,
    risk_k: tuple[int, ...],
    sensitive_table: str | None,
    per_class: str | None,
    against: str | None,
    original: str | None,
    report: str | None,
    report_public: str | None,
    all_measures: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Measure the privacy of FILE, made by anyone; exit with 1 if it does not meet what is required.

    A Parquet or Feather release of anon claims roles for its columns; for other files, and to trust no such
    claim, name them with --quasi and --sensitive.
    """
    import anon
    from anon import datasets
    from anon.command.job import named_by
    from anon.measures import ROLES_FROM_FILE
    from anon.release import CLASS_ID, sensitive_path

    source = job.output if source is None else source
    if source is None:
        raise UsageError("no file: name the one to check")
    schema = job.roles()
    second = sensitive_table
    if second is None and os.path.isfile(source) and sensitive_path(source).exists():
        second = str(sensitive_path(source))
    read = [source, second, config, job.population, against, original, *job.files()]
    if per_class is not None:
        keep(per_class, read)
    pages = pages_of(report, report_public, [*read, per_class])
    plain = context.params["table"] is None and context.params["query"] is None
    options = release_options if source == job.output and plain else reading_options
    typed: dict[str, Any] = {} if schema is None else {"typed": {CLASS_ID, *named_by(schema)}}
    reading = options(context, job, source)
    table = anon.read_source(source, **reading, **typed)
    people = people_of(context, job)
    require = job.demands(people)
    both = _beside(context, job, schema, table, against, original)
    privacy = anon.check(
        table,
        schema,
        sensitive_table=None
        if sensitive_table is None
        else anon.read_source(sensitive_table, **reading_options(context, job, sensitive_table)),
        at_risk=risk_k,
        population=people,
        sampling_fraction=job.sampling_fraction,
        per_class=per_class is not None or "owner" in pages,
        require=require,
        roles_from_file=roles_from_file,
    )
    if per_class is not None:
        datasets.write_table(privacy.per_class, per_class, most=0o600)
    reported: dict[str, Any] = {}
    if pages:
        from anon import pages as reports
        from anon.verbs import labels_as_written

        table = table if schema is None else labels_as_written(table, schema)
        origin = origin_of(context, read, [per_class], [source, second])
        reported = write_reports(
            pages,
            lambda audience: reports.of_check(
                privacy,
                table.table,
                require=require,
                origin=origin,
                audience=audience,
                cover=cover_of(job),
            ),
        )
    if as_json:
        beside = {} if both is None else {"composition": both.to_dict()}
        print_json({"roles_from": privacy.roles_from, **privacy.to_dict(), **beside, **reported})
    elif not quiet:
        if privacy.roles_from == "file":
            print(ROLES_FROM_FILE)
        measures, name = privacy.to_dict(), name_of(source, reading.get("table"))
        title = f"Privacy of {name}"
        if all_measures:
            print_tables(*privacy_words(title, measures))
        else:
            met = answers.on_unmet(None if privacy.unmet else privacy.unmet)
            print_answers(title, *met, *answers.on_privacy(measures))
        print_notes(privacy.notes)
    asked = max((each.least_rows for each in require if each.least_rows), default=None)
    n_below = 0 if both is None or asked is None else both.below(asked)
    if both is not None and not as_json and not quiet:
        print("\n".join(f"Two releases: {line}" for line in both.words(asked)))
    if privacy.unmet and not as_json:
        print(*answers.on_unmet(privacy.unmet), file=sys.stderr)
    if n_below:
        print(
            f"not met: {asked}-anonymity after both releases: {n_below:,} people have fewer candidates",
            file=sys.stderr,
        )
    if privacy.unmet or n_below:
        raise typer.Exit(InfeasibleError.exit_code)


def _beside(
    context: typer.Context,
    job: Job,
    schema: Schema | None,
    table: Any,
    against: str | None,
    original: str | None,
) -> Composition | None:
    """The table laid beside another release, where one is named."""
    import anon
    from anon.tables import reading

    if (against is None) != (original is None):
        raise UsageError(
            "two releases are laid side by side over the rows of the original: give both --against and "
            "--original, or neither"
        )
    if against is None or original is None:
        return None
    if schema is None:
        raise UsageError("--against needs the roles of the original's columns: ", NAME_QUASI)
    other = anon.read_source(against, **reading_options(context, job, against))
    people = anon.read_source(original, **reading(original, job.read_options()))
    return anon.composition(table, other, people, schema)


@command(
    *(*BOTH, RELEASE_TABLE, SENSITIVE_TABLE, CONFIG, *ROLES, *CODING),
    Flag(
        "id_column",
        str,
        "Match rows by this column, neutral and unique in both.",
        metavar="COLUMN",
        spelled=("--id",),
    ),
    Flag("r", float, "Range r of S-diversity (1)."),
    replace(MIN_SUPPORT, panel=None),
    *(*OF_POPULATION, *READING, QUERY, REPORT, REPORT_PUBLIC, *COVER, ALL, *PRINTING),
)
def compare(
    context: typer.Context,
    job: Job,
    original: str,
    released: str,
    sensitive_table: str | None,
    config: str | None,
    id_column: str | None,
    report: str | None,
    report_public: str | None,
    all_measures: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Measure what RELEASE lost of ORIGINAL. Rows need not be in the same order.

    A Parquet release of anon knows its own columns; for other files, and where there are hierarchies or
    orders, name them as for `anon anonymize`.
    """
    import anon
    from anon.tables import reading

    read = [original, released, sensitive_table, config, job.population, *job.files()]
    pages = pages_of(report, report_public, read)
    first = anon.read_source(original, **reading(original, job.read_options()))
    second, third = (
        None if path is None else anon.read_source(path, **release_options(context, job, path))
        for path in (released, sensitive_table)
    )
    settings = {"r": job.r, "min_support": job.min_support}
    given: dict[str, Any] = {name: value for name, value in settings.items() if value is not None}
    people = people_of(context, job)
    given |= {"population": people, "sampling_fraction": job.sampling_fraction}
    compared = anon.compare(first, second, job.roles(), sensitive_table=third, id=id_column, **given)
    utility = compared.to_dict()
    reported: dict[str, Any] = {}
    if pages:
        from anon import pages as reports

        origin = origin_of(context, read, [], [released, sensitive_table])
        reported = write_reports(
            pages,
            lambda audience: reports.of_comparison(
                compared, origin=origin, audience=audience, cover=cover_of(job)
            ),
        )
    if as_json:
        print_json({**utility, **reported})
    elif not quiet:
        name = name_of(released, release_options(context, job, released).get("table"))
        if all_measures:
            print_tables(*utility_words(f"Utility of {name}", utility))
        else:
            print_answers(f"Utility of {name}", *answers.on_compared(utility))
