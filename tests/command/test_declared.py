# SPDX-License-Identifier: Apache-2.0
"""What requirements and methods declare is what jobs, grids and flags know."""

from __future__ import annotations

import ast
import importlib
import pickle
import re
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import anon
from anon.choice import GRID_OPTIONS, grid
from anon.command.app import COMMANDS, _made, load
from anon.command.job import Job
from anon.errors import ORDER_OF_INPUT, DataError
from anon.methods import METHOD_OPTIONS, METHODS, Method, read_method
from anon.requirements import (
    REQUIREMENT_OPTIONS,
    REQUIREMENTS,
    Declared,
    Option,
    Requirement,
    merged,
    read_requirements,
)

DECLARED: tuple[type[Declared], ...] = (*REQUIREMENTS, *METHODS)


@pytest.mark.parametrize("declared", DECLARED, ids=lambda each: each.__name__)
def test_options_are_parameters(declared: Any) -> None:
    parameters = {each.name for each in fields(declared)}
    assert {each.parameter for each in declared.options} | set(declared.needs) <= parameters


def test_a_key_has_one_meaning() -> None:
    for options in (REQUIREMENT_OPTIONS, METHOD_OPTIONS):
        assert len({each.key for each in options}) == len(options)
    assert not {each.key for each in REQUIREMENT_OPTIONS} & {each.key for each in METHOD_OPTIONS}
    names = [name for each in METHODS for name in each.names()]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("option", [*REQUIREMENT_OPTIONS, *METHOD_OPTIONS], ids=lambda each: each.key)
def test_an_option_is_a_key_a_name_and_a_flag(option: Option) -> None:
    of_requirements = ("anonymize", "check") if option in REQUIREMENT_OPTIONS else ("anonymize",)
    for name in of_requirements:
        [flag] = [each for each in load(name).params if each.name == option.key]
        assert (flag.opts, flag.help) == ([option.flag], option.help)
    assert option.key in Job.model_fields
    assert GRID_OPTIONS[option.key] is option


@pytest.mark.parametrize(
    "requirement",
    [
        anon.KAnonymity(7),
        anon.KAnonymity(7, nulls="wildcard"),
        *(anon.LDiversity(3, kind) for kind in ("probabilistic", "distinct", "entropy")),
        anon.LDiversity(2, "recursive", 4.0),
        *(anon.TCloseness(0.25, distance) for distance in ("js", "equal", "ordered", "hierarchical")),
        anon.DeltaDisclosure(1.5),
        anon.DeltaDisclosure(1.5, absent="ignore"),
        anon.BetaLikeness(2.0, enhanced=True),
        anon.SDiversityBound(0.5, 0.25),
        anon.KMap(5, 0.1),
        anon.KMap(5, 0.1, significance=0.01),
        anon.MaxRisk(0.05, 0.1),
        anon.KMap(5),
        anon.MaxRisk(0.05),
        anon.PopulationUniqueness(0.01, 0.1, model="zayatz"),
        anon.PopulationUniqueness(0.01),
    ],
    ids=str,
)
def test_a_requirement_is_read_from_its_settings(requirement: Requirement) -> None:
    assert read_requirements(requirement.settings()) == [requirement]
    text = " ".join(f"{key}={value}" for key, value in requirement.settings().items())
    assert grid(text.replace("True", "true"))[0].require == (requirement,)


@pytest.mark.parametrize(
    "method",
    [
        *(anon.Mondrian(), anon.Mondrian(split="most-repeated", relaxed=True), anon.KMembers("protection")),
        *(
            anon.Curve(loss="ordered", ties="input"),
            anon.Curve(loss="sse"),
            anon.TGC(0.25, 0.75, s=30),
            anon.Anatomy(3),
        ),
        *(anon.LocalSuppression(), anon.LocalSuppression(subsets=2, strata="zip")),
        *(anon.Microaggregation(), anon.Microaggregation("optimal", "input")),
        *(anon.Identity(), anon.Suppress("quasi"), anon.Suppress("sensitive")),
    ],
    ids=repr,
)
def test_a_method_is_read_from_its_settings(method: Method) -> None:
    settings = method.settings()
    if "split" in settings:
        settings["split"] = [settings["split"]]
    assert read_method(method.word, settings) == method


def test_what_messages_say_to_the_command_are_its_flags() -> None:
    flags = {
        flag
        for name in COMMANDS
        for parameter in load(name).params
        for flag in (*parameter.opts, *parameter.secondary_opts)
    }
    said = []
    for path in Path(anon.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Parameter":
                said += re.findall("--[a-z-]+", ast.unparse(node.args[-1]))
    assert len(said) > 20
    assert set(said) <= flags


@pytest.mark.parametrize("name", COMMANDS)
def test_the_short_help_of_a_command_begins_its_help(name: str) -> None:
    """The help of all commands tells it without importing any."""
    command = load(name)
    first = command.help.split("\n\n")[0].replace("\n", " ")
    assert (command.name, first) == (name.split()[-1], COMMANDS[name][1])


def test_every_command_is_in_the_list() -> None:
    for module, _ in COMMANDS.values():
        importlib.import_module(f"anon.command.{module}")
    assert set(_made) == set(COMMANDS)


def test_an_error_keeps_both_wordings_where_it_is_copied() -> None:
    error = DataError("the rows ", ORDER_OF_INPUT, " and more", column="age")
    for each in (error, pickle.loads(pickle.dumps(error))):
        assert str(each) == 'the rows order="input" and more'
        assert (each.in_flags, each.column) == ("the rows --order input and more", "age")


def test_options_of_several_keep_the_order_of_each() -> None:
    a, b, c, d, e = (Option(key, int, "") for key in "abcde")
    assert merged([(a, b, e), (b, c, e), (e, d)]) == (a, b, c, e, d)


@dataclass(frozen=True)
class FewOnes(Requirement):
    """At most a share of the rows of a class have one value; `rechecked` is its share in the re-check."""

    cacheable: ClassVar[bool] = False
    rechecked: float

    def _rule(self, a: int, domain: Any, counts: Any) -> tuple[Any, ...]:
        return "distinct", a, 1

    def recheck(self, counts: Any) -> Any:
        return np.maximum.reduceat(counts.count, counts.start) <= self.rechecked * counts.size


def test_a_requirement_brings_the_test_of_its_recheck() -> None:
    table = {"age": [1, 1, 2, 2], "ill": ["a", "b", "a", "b"]}
    schema = anon.Schema(["age"], ["ill"])
    release = anon.anonymize(table, schema, require=[anon.KAnonymity(2), FewOnes(0.5)])
    assert release.classes.n_classes == 2
    with pytest.raises(anon.RecheckError, match="2 of 2 classes do not meet"):
        anon.anonymize(table, schema, require=[anon.KAnonymity(2), FewOnes(0.4)])
