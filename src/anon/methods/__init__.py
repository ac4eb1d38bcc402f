# SPDX-License-Identifier: Apache-2.0
"""One file per method: encoded table -> classes.

A method is a frozen dataclass of its parameters. `ENFORCING` names the methods that build classes
under requirements; `TRIVIAL` those that accept none. Adding a method is one function
`partition(encoded, method, task) -> Classes` and one line in a table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from anon.classes import Classes
from anon.encode import Encoded
from anon.methods import anatomy, mondrian, trivial
from anon.methods.anatomy import Anatomy
from anon.methods.mondrian import Mondrian
from anon.methods.task import Progress, Task
from anon.methods.trivial import Identity, Suppress

__all__ = [
    "ENFORCING",
    "TRIVIAL",
    "Anatomy",
    "Identity",
    "Method",
    "Mondrian",
    "Progress",
    "Suppress",
    "Task",
]

Method = Mondrian | Anatomy | Identity | Suppress
Partition = Callable[[Encoded, Any, Task], Classes]

ENFORCING: dict[type[Any], Partition] = {Mondrian: mondrian.partition, Anatomy: anatomy.partition}
TRIVIAL: dict[type[Any], Partition] = {Identity: trivial.identity, Suppress: trivial.suppress}
