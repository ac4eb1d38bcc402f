# SPDX-License-Identifier: Apache-2.0
"""Perturbations of some columns beside a method that makes classes of others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

from anon.errors import Parameter, UsageError
from anon.methods.perturbation import ColumnPerturbation
from anon.methods.shuffle import Shuffle
from anon.methods.task import Method
from anon.requirements import Requirement
from anon.schema import Role, Schema


def check_beside(
    perturb: Sequence[ColumnPerturbation],
    schema: Schema,
    method: Method,
    require: Sequence[Requirement],
    publish: str,
) -> tuple[str, ...]:
    """The columns that are changed; UsageError where one takes part in classes or in what is required."""
    if isinstance(perturb, ColumnPerturbation | str) or not isinstance(perturb, Sequence):
        raise UsageError(
            "perturb must be a list of perturbations, such as [anon.RankSwap(0.05, columns=...)]"
        )
    for each in perturb:
        if not isinstance(each, ColumnPerturbation):
            raise UsageError(
                "perturb takes Noise, RankSwap, RecordSwap, Pram and Shuffle, not " + type(each).__name__
            )
        if each.columns is None:
            raise UsageError(f"perturb: name the columns that {each.what} is to change, columns=[...]")
    names = [name for each in perturb for name in each.columns or ()]
    if not names:
        return ()
    if not method.enforces:
        raise UsageError(
            f"{type(method).__name__} makes no classes that others could be perturbed beside: leave out "
            "perturb, or use ",
            Parameter("Mondrian()", "--method mondrian"),
        )
    required = (*require, *method.implied())
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"column {name!r} is in two perturbations: leave it out of one")
        _refuse_role(name, schema, publish)
        _refuse_required(name, schema, required, "is perturbed")
    strata = getattr(method, "strata", None) or ()
    for name in (getattr(method, "target", None), *strata):
        if name in names:
            raise UsageError(
                f"column {name!r} steers {type(method).__name__}, which would follow changed values: leave "
                "it out of perturb"
            )
    for each in perturb:
        for name in each.needed():
            if name == getattr(each, "strata", None) and schema.role(name) is Role.QUASI:
                raise UsageError(
                    f"column {name!r} is a quasi-identifier, and the matrices of its values would tell them: "
                    "leave strata out, or name a neutral column"
                )
            if name in names:
                raise UsageError(
                    f"column {name!r} is read by {each.what} and perturbed: leave it out of one of the two"
                )
            _refuse_required(name, schema, required, f"steers {each.what}, and would show in what it changes")
    return tuple(names)


def notes_beside(perturb: Sequence[ColumnPerturbation], schema: Schema) -> list[str]:
    """Warnings of quasi-identifiers whose exact values show in columns that are shuffled by them."""
    return [
        f"column {name!r} is a quasi-identifier and steers the shuffling of "
        f"{', '.join(map(repr, each.columns or ()))}, whose order tells of its values inside classes"
        for each in perturb
        if isinstance(each, Shuffle)
        for name in each.needed()
        if schema.role(name) is Role.QUASI
    ]


def _refuse_role(name: str, schema: Schema, publish: str) -> None:
    role = schema.role(name)
    if role is Role.QUASI:
        as_what = "linked to a quasi-identifier" if name in schema.follows else "a quasi-identifier"
        raise UsageError(
            f"column {name!r} is {as_what}, and its cells are what classes show: leave it out of perturb, "
            "or make it neutral"
        )
    if name == schema.sampling_weight:
        raise UsageError(f"column {name!r} holds the sampling weights: leave it out of perturb")
    if name in schema.dropped:
        raise UsageError(f"column {name!r} is dropped, as it tells who a row is: leave it out of perturb")
    if role is Role.SENSITIVE and publish == "bucketization":
        raise UsageError(
            f"column {name!r} is sensitive, and perturbed it would stand beside intact quasi-identifiers: "
            "leave it out of perturb, or use ",
            Parameter('publish="generalization"', "--publish generalization"),
        )
    for attribute in schema.sensitive:
        if attribute.name == name and attribute.is_coded:
            raise UsageError(
                f"column {name!r} has a least level, top or bottom, which no perturbed value shows: leave "
                "it out of perturb, or recode the column before"
            )


def _refuse_required(name: str, schema: Schema, require: Sequence[Requirement], how: str) -> None:
    """Raise UsageError where the column is sensitive and a requirement speaks of it."""
    if schema.role(name) is not Role.SENSITIVE:
        return
    for each in require:
        if _speaks_of_values(each) and each.sensitive in (None, name):
            raise UsageError(
                f"column {name!r} {how}, and {each} is required of it: leave it out of perturb, or say of "
                'which column that is required, with sensitive="..."'
            )


def _speaks_of_values(requirement: Requirement) -> bool:
    """Is it about sensitive values, not about rows alone?"""
    is_named = "sensitive" in {each.name for each in fields(requirement)}  # type: ignore[arg-type]
    return is_named or type(requirement).rules is Requirement.rules
