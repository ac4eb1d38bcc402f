# SPDX-License-Identifier: Apache-2.0
"""The command, its groups, and how a function becomes one of its commands."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

if TYPE_CHECKING:
    from anon.command.options import Flag

Function = Callable[..., None]

COMMANDS = {
    "inspect": (
        "trials",
        "Tell what the columns of FILE are like, and guess their roles. No value is shown.",
    ),
    "hierarchy": (
        "trials",
        "Draft a hierarchy of one column of FILE from its values, to be edited before it is used.",
    ),
    "discover": (
        "risks",
        "Show which sets of columns tell the rows of FILE apart: what to take as quasi-identifiers.",
    ),
    "explore": ("explore", "Open a page on this machine on which the whole job is done without code."),
    "frontier": (
        "trials",
        "Try many releases of IN and show which are efficient: none other is as private and as useful.",
    ),
    "anonymize": ("releases", "Write a release of IN that satisfies every requirement."),
    "append": (
        "batches",
        "Release BATCH, rows of new persons, by the RULES of an earlier release, as a table of its own.",
    ),
    "check": (
        "releases",
        "Measure the privacy of FILE, made by anyone; exit with 1 if it does not meet what is required.",
    ),
    "compare": ("releases", "Measure what RELEASE lost of ORIGINAL. Rows need not be in the same order."),
    "risk": (
        "risks",
        "Tell how likely the person of each row of FILE is found in the population it was drawn from.",
    ),
    "suda": (
        "risks",
        "Find the rows of FILE that few attributes single out (SUDA2), and what each attribute contributes.",
    ),
    "attack": (
        "attacks",
        "Attack RELEASE as others would: single out, link, infer, tell members; count how often it succeeds.",
    ),
    "scenario": ("trials", "Compare sanitizations by what miners tell users and adversaries."),
    "reproduce": ("trials", "Run a paper's experiments: what was published beside what is measured."),
    "demo": ("trials", "Make a synthetic census, anonymize it, check the release, and write both files."),
    "data census": ("trials", "Write a synthetic census."),
    "data adult": ("trials", "Write the UCI Adult table, its files verified."),
}
"""Of every command the module that holds it and the first paragraph of its help, in the order of the help:
that of the work.

Nothing of a command is imported before it is run.
"""

_made: dict[str, typer.Typer] = {}


def load(name: str) -> Any:
    """The command of this name (`data census`: of the group `data`), with its parameters."""
    import_module(f"anon.command.{COMMANDS[name][0]}")
    return typer.main.get_command(_made[name])


class _Command(TyperCommand):
    def get_help_option(self, ctx: Any) -> Any:
        return _without_type(super().get_help_option(ctx))


class _Group(TyperGroup):
    """Commands of which only the names and short helps are known, until one of them is run."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.prefix = f"{self.name} " if self.name else ""
        known = {
            name.removeprefix(self.prefix): short
            for name, (_, short) in COMMANDS.items()
            if name.startswith(self.prefix) and " " not in name.removeprefix(self.prefix)
        }
        self.commands = {name: TyperCommand(name, help=short) for name, short in known.items()} | {
            **self.commands
        }

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, found, rest = super().resolve_command(ctx, args)
        return name, load(f"{self.prefix}{name}") if f"{self.prefix}{name}" in COMMANDS else found, rest

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


data_app = typer.Typer(cls=_Group, help="Make a synthetic table, or read a known one.", no_args_is_help=True)
app.add_typer(data_app, name="data")


def command(*flags: Flag, name: str | None = None) -> Callable[[Function], Function]:
    """Make a function the command of these flags, in their order; COMMANDS has its name.

    It is given what its parameters name: flags by their keys, parsed; `context`; `job`, of the job file and
    the flags that are keys of a job. Flags that it does not name are read from the job alone.
    """

    def add(function: Function) -> Function:
        named = inspect.signature(function).parameters

        def run(context: typer.Context, **words: Any) -> None:
            values = {flag.key: flag.parsed(words[flag.key]) for flag in flags}
            values["context"] = context
            if "job" in named:
                from anon.command.inputs import job_of

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
        word = name or function.__name__
        alone = typer.Typer(add_completion=False)
        alone.command(word.rpartition(" ")[2], cls=_Command)(run)
        _made[word] = alone
        return function

    return add
