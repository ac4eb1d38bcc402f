# SPDX-License-Identifier: Apache-2.0
"""The command and its groups."""

from __future__ import annotations

from typing import Annotated

import typer

app = typer.Typer(
    help="Anonymize tabular microdata, and measure what a release protects and what it costs.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version.", is_eager=True)] = False,
) -> None:
    if version:
        import anon

        print(f"anon {anon.__version__}")
        raise typer.Exit


data_app = typer.Typer(help="Make a synthetic table, or read a known one.", no_args_is_help=True)
app.add_typer(data_app, name="data")
