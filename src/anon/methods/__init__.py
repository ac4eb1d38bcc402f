# SPDX-License-Identifier: Apache-2.0
"""One file per method: encoded table -> classes; a perturbation is table -> table.

A method is a frozen dataclass of its parameters. `ENFORCING` names the methods that build classes
under requirements; `GROWING` those that build classes of at least k rows and leave every other
requirement to repair; `TRIVIAL` those that accept no requirement, which `PERTURBING` change the
table first. Adding a method is one function and one line in a table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from anon.classes import Classes
from anon.encoding import Encoded
from anon.methods import anatomy, curve, kmembers, laplace, mondrian, tgc, trivial
from anon.methods.anatomy import Anatomy
from anon.methods.curve import Curve
from anon.methods.kmembers import KMembers
from anon.methods.laplace import Budget, Laplace
from anon.methods.mondrian import Mondrian
from anon.methods.repair import repair
from anon.methods.task import Progress, Task
from anon.methods.tgc import TGC
from anon.methods.trivial import Identity, Suppress
from anon.schema import Schema
from anon.tables import Source

__all__ = [
    "ENFORCING",
    "GROWING",
    "PERTURBING",
    "TGC",
    "TRIVIAL",
    "Anatomy",
    "Budget",
    "Curve",
    "Growing",
    "Identity",
    "KMembers",
    "Laplace",
    "Method",
    "Mondrian",
    "Progress",
    "Suppress",
    "Task",
    "repair",
]

Growing = KMembers | TGC | Curve
Method = Mondrian | Growing | Anatomy | Identity | Suppress | Laplace

ENFORCING: dict[type[Any], Callable[[Encoded, Any, Task], Classes]] = {
    Mondrian: mondrian.partition,
    Anatomy: anatomy.partition,
}
GROWING: dict[type[Any], Callable[[Encoded, Any, Task, int], Classes]] = {
    KMembers: kmembers.partition,
    TGC: tgc.partition,
    Curve: curve.partition,
}
TRIVIAL: dict[type[Any], Callable[[Encoded, Any, Task], Classes]] = {
    Identity: trivial.identity,
    Suppress: trivial.suppress,
    Laplace: trivial.identity,
}
PERTURBING: dict[type[Any], Callable[..., tuple[Source, Schema, dict[str, Any], list[str]]]] = {
    Laplace: laplace.perturb,
}
