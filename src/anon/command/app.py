# SPDX-License-Identifier: Apache-2.0
"""The command, its groups, and how a function becomes one of its commands."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from anon.command.inputs import job_of
from anon.command.options import Flag

Function = Callable[..., None]


class _Command(TyperCommand):
    def get_help_option(self, ctx: Any) -> Any:
        return _without_type(super().get_help_option(ctx))


class _Group(TyperGroup):
    def get_help_option(self, ctx: Any) -> Any:
        for option in self.params:
            if getattr(option, "is_flag", False):
                _without_type(option)
        return _without_type(super().get_help_option(ctx))


def _without_type(option: Any) -> Any:
    if option is not None:
        option.metavar = ""
    return option


app = typer.Typer(
    cls=_Group,
    help="Anonymize tabular microdata, and measure what a release protects and what it costs.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", metavar="", is_eager=True)
    ] = False,
) -> None:
    if version:
        import anon

        print(f"anon {anon.__version__}")
        raise typer.Exit


def _show_all(context: typer.Context, value: bool) -> None:
    """Print the help with every option, and end."""
    if value:
        for parameter in context.command.params:
            parameter.hidden = False  # type: ignore[attr-defined]
        print(context.get_help())
        raise typer.Exit


data_app = typer.Typer(help="Make a synthetic table, or read a known one.", no_args_is_help=True)
app.add_typer(data_app, name="data")


def command(
    *flags: Flag, group: typer.Typer = app, name: str | None = None
) -> Callable[[Function], Function]:
    """Make a function the command of these flags, in their order.

    It is given what its parameters name: flags by their keys, parsed; `context`; `job`, of the job file and
    the flags that are keys of a job. Flags that it does not name are read from the job alone.
    """

    def add(function: Function) -> Function:
        named = inspect.signature(function).parameters

        def run(context: typer.Context, **words: Any) -> None:
            values = {flag.key: flag.parsed(words[flag.key]) for flag in flags}
            values["context"] = context
            if "job" in named:
                values["job"] = job_of(context, values)
            function(**{key: values[key] for key in named})

        parameters = [
            inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context),
            *(flag.as_parameter() for flag in flags),
        ]
        n_rare = sum(flag.is_rare for flag in flags)
        if n_rare:
            shown = typer.Option(
                "--help-all",
                help=f"Show {n_rare} more options and exit.",
                metavar="",
                is_eager=True,
                callback=_show_all,
            )
            parameters.append(
                inspect.Parameter(
                    "help_all",
                    inspect.Parameter.KEYWORD_ONLY,
                    default=False,
                    annotation=Annotated[bool, shown],
                )
            )
        run.__dict__["__signature__"] = inspect.Signature(parameters)
        run.__annotations__ = {each.name: each.annotation for each in parameters}
        run.__doc__ = function.__doc__
        group.command(name or function.__name__, cls=_Command)(run)
        return function

    return add
