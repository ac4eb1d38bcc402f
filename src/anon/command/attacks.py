# SPDX-License-Identifier: Apache-2.0
"""The command that attacks a release."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from anon.command.app import command
from anon.command.inputs import cover_of, origin_of, pages_of, reading_options, write_reports
from anon.command.options import (
    BOTH,
    CODING,
    CONFIG,
    COVER,
    PRINTING,
    READING,
    REPORT,
    ROLES,
    SENSITIVE_TABLE,
    Flag,
    Text,
)
from anon.command.parse import names
from anon.command.words import name_of, print_json, report_attacks

if TYPE_CHECKING:
    from anon.command.job import Job


@command(
    *BOTH,
    Flag(
        "control_table",
        Text,
        "Rows of the same population that were never in RELEASE.",
        metavar="FILE",
        spelled=("--control",),
        is_path=True,
    ),
    Flag(
        "attacks",
        list[str],
        "singling_out, linkability, inference, membership, learning (all).",
        metavar="A,B",
        parse=names,
    ),
    Flag("targets", int, "People of each side that are attacked at most.", default=2000, least=1),
    Flag("seed", int, "Which people are attacked (0); hides nothing."),
    *(SENSITIVE_TABLE, CONFIG, *ROLES, *CODING, *READING, REPORT, *COVER, *PRINTING),
)
def attack(
    context: typer.Context,
    job: Job,
    original: str,
    released: str,
    control_table: str | None,
    attacks: list[str] | None,
    targets: int,
    sensitive_table: str | None,
    config: str | None,
    report: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Attack RELEASE as others would: single out, link, infer, tell members; count how often it succeeds.

    A Parquet release of anon knows its own columns; for other files name them as for `anon anonymize`.

    anon attack people.csv release.csv --control others.csv --quasi age,sex,zip --sensitive disease
    """
    import anon
    from anon.tables import reading

    read = [original, released, control_table, sensitive_table, config, *job.files()]
    pages = pages_of(report, None, read)
    first, others = (
        None if path is None else anon.read_source(path, **reading(path, job.read_options()))
        for path in (original, control_table)
    )
    second, third = (
        None if path is None else anon.read_source(path, **reading_options(context, job, path))
        for path in (released, sensitive_table)
    )
    given: dict[str, Any] = {} if not attacks else {"attacks": attacks}
    attacked = anon.attack(
        first,
        second,
        job.roles(),
        control=others,
        targets=targets,
        sensitive_table=third,
        seed=job.seed or 0,
        **given,
    )
    written: dict[str, Any] = {}
    if pages:
        from anon import pages as reports

        origin = origin_of(context, read, [], [released, sensitive_table])
        made = reports.of_attacks(attacked, origin=origin, cover=cover_of(job))
        written = write_reports(pages, lambda audience: made)
    if as_json:
        print_json({**attacked.to_dict(), **written})
    else:
        report_attacks(name_of(released), attacked, quiet)
