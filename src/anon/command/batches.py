# SPDX-License-Identifier: Apache-2.0
"""The command that releases a new batch by the rules of an earlier release."""

from __future__ import annotations

import os
import sys
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import typer

from anon.command.app import command
from anon.command.inputs import keep
from anon.command.options import (
    CONFIG,
    FILE,
    OUTPUT,
    PRINTING,
    READING,
    REQUIREMENTS,
    SOURCE,
    WRITE,
    Flag,
    Text,
)
from anon.command.words import name_of, print_json, print_notes
from anon.errors import InfeasibleError, UsageError

if TYPE_CHECKING:
    from anon.command.job import Job


@command(
    Flag(
        "rules",
        Text,
        "The rules of the earlier release, which `anonymize --rules` wrote.",
        metavar="RULES",
        is_path=True,
        is_argument=True,
        is_required=True,
    ),
    replace(SOURCE, key="batch", metavar="BATCH", help=f"The new rows. {FILE}"),
    replace(OUTPUT, help="The release of the batch: .parquet, .feather or .csv."),
    CONFIG,
    *REQUIREMENTS,
    Flag(
        "earlier",
        Text,
        "The owner's earlier table: nobody of the batch may be in it.",
        metavar="FILE",
        is_path=True,
    ),
    Flag("key", str, "The column that tells persons apart (the unit of the rules).", metavar="COLUMN"),
    Flag("new_persons", bool, "Claim, in place of --earlier, that all persons are new.", default=False),
    Flag(
        "with_held",
        Text,
        "Rows that an earlier append held, pooled with the batch.",
        metavar="FILE",
        is_path=True,
    ),
    Flag(
        "held", Text, "Write the rows that are held: the owner's.", metavar="OUT", is_path=True, panel=WRITE
    ),
    *(*READING, *PRINTING),
)
def append(
    job: Job,
    rules: str,
    batch: str,
    config: str | None,
    earlier: str | None,
    key: str | None,
    new_persons: bool,
    with_held: str | None,
    held: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Release BATCH, rows of new persons, by the RULES of an earlier release, as a table of its own.

    A class is released only if it meets every requirement within the batch; the other rows are held.

    Exit with 1 if nothing is released.

    anon append rules.json new.csv -o second.parquet --k 10 --earlier people.csv --key id --held held.parquet
    """
    import anon
    from anon.tables import reading

    if job.output is None:
        raise UsageError("no output: name the release's file with -o")
    read = [rules, batch, config, earlier, with_held]
    written = [path for path in (job.output, held) if path is not None]
    if len({os.path.realpath(path) for path in written}) < len(written):
        raise UsageError("the release and the held rows need files of their own")
    for path in written:
        keep(path, read)
    if held is not None:
        anon.datasets.check_output(held)

    def table(path: str | None) -> Any:
        return None if path is None else anon.read_source(path, **reading(path, job.read_options()))

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", anon.PrivacyWarning)
        made = anon.append(
            rules,
            table(batch),
            require=job.requirements(),
            earlier=table(earlier),
            key=key,
            new_persons=new_persons,
            held=table(with_held),
        )
        if made.release is not None:
            made.release.write(job.output)
    if held is not None and (made.held.num_rows or os.path.exists(held)):  # no earlier rows stay there
        made.write_held(held)
    notes = [one.message.in_flags for one in caught if isinstance(one.message, anon.PrivacyWarning)]
    notes += [f"column {name!r}: {n:,} values are outside of the rules" for name, n in made.outside.items()]
    if made.held.num_rows and held is None:
        notes.append("the held rows are in no file: --held writes them, to be pooled by --with-held")
    told = {
        "released": made.n_released,
        "held": made.held.num_rows,
        "outside": dict(made.outside),
        "output": None if made.release is None else job.output,
        "held_file": held if made.held.num_rows else None,
    }
    if as_json:
        print_json({**told, "notes": notes})
    elif not quiet:
        print(f"{name_of(job.output)}: {made.n_released:,} rows released, {made.held.num_rows:,} held")
    if not as_json:
        print_notes(notes)
    if made.release is None:
        print("no class of the batch meets the requirements by itself: nothing was released", file=sys.stderr)
        raise typer.Exit(InfeasibleError.exit_code)
