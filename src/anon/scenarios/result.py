# SPDX-License-Identifier: Apache-2.0
"""What a scenario found."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from anon.plain import as_plain
from anon.tables import not_written, opened, replacing

if TYPE_CHECKING:
    from anon.html import Section


# --- results


@dataclass(frozen=True)
class Decline:
    """One miner's utility on the original and on a sanitized table.

    `decline` = 1 - u_san/u_orig, at least 0; None where u_orig <= 0, or the miner's time was spent before
    it had predicted all rows of a table. `limits` tells what kept it from all rows or folds.
    """

    miner: str
    family: str
    u_orig: float
    u_san: float
    finished: bool = True
    limits: tuple[str, ...] = ()

    @property
    def decline(self) -> float | None:
        """How much of the utility is lost (Sramka et al. 2.3)."""
        if self.u_orig <= 0 or not self.finished:
            return None
        return max(1 - self.u_san / self.u_orig, 0.0)


@dataclass(frozen=True, repr=False)
class Preservation:
    """Good utility of one sanitized table: (1 - delta, L)-utility-preserving, L being `by_miner`."""

    sanitization: str
    target: str
    by_miner: tuple[Decline, ...]

    @property
    def delta(self) -> float | None:
        """The greatest decline; None where that of no miner is defined."""
        return max((one.decline for one in self.by_miner if one.decline is not None), default=None)

    @property
    def worst_miner(self) -> str | None:
        """The miner whose utility declines most; the first of several."""
        return next((one.miner for one in self.by_miner if one.decline == self.delta is not None), None)

    @property
    def statement(self) -> str:
        """The (1 - delta, L) statement in words."""
        counted = [one.miner for one in self.by_miner if one.decline is not None]
        left_out = [one.miner for one in self.by_miner if one.decline is None]
        without = f"; undefined for {', '.join(left_out)}" if left_out else ""
        if self.delta is None:
            return f"{self.sanitization}: the decline of utility for {self.target!r} is undefined{without}"
        return (
            f"{self.sanitization} is ({1 - self.delta:.2%}, L)-utility-preserving for {self.target!r}, "
            f"L = {{{', '.join(counted)}}}: the utility of none of these miners declines by more than "
            f"{self.delta:.2%}{without}"
        )

    def _repr_html_(self) -> str:
        from anon.html import Table, bar_figure, result_html

        rows = tuple((one.miner, one.u_orig, one.u_san, one.decline) for one in self.by_miner)
        return result_html(
            f"{self.statement}.",
            bar_figure("Decline of each miner's utility", {row[0]: row[3] for row in rows}, high=1),
            Table("Miner by miner", ("miner", "original", "release", "decline"), rows),
        )

    def __repr__(self) -> str:
        return (
            f"Preservation({self.sanitization!r}, {self.target!r}, delta={self.delta}, "
            f"worst_miner={self.worst_miner!r})"
        )


@dataclass(frozen=True)
class Antiutility:
    """One miner's bad utility, and how many of its predictions (of any weight) are nearer."""

    miner: str
    family: str
    u_bad: float
    n_nearer: int
    limits: tuple[str, ...] = ()


@dataclass(frozen=True, repr=False)
class Attack:
    """Bad utility of one sanitized table: (average, worst, worst_miner)-privacy-losing.

    `a_know` and `a_acc` are the gains of Brickell & Shmatikov on the table, the worst over sensitive
    attributes, `a_know_filled` and `a_acc_filled` those on the table with the nearer predictions of the
    worst miner filled in (Sramka et al. 3); None where the table shows noise, something else than single
    sensitive values, or no sensitive attribute beside the target. `chosen` are the rows of the original
    that the adversary is after (uint32, ascending), None for all.
    """

    sanitization: str
    target: str
    scenario: str
    nearness: float
    by_miner: tuple[Antiutility, ...]
    chosen: npt.NDArray[np.uint32] | None = None
    a_know: float | None = None
    a_acc: float | None = None
    a_know_filled: float | None = None
    a_acc_filled: float | None = None

    @property
    def average(self) -> float:
        """Mean bad utility over the miners; 0 where the target is not published."""
        return math.fsum(one.u_bad for one in self.by_miner) / max(len(self.by_miner), 1)

    @property
    def worst(self) -> float:
        """The greatest bad utility of a miner."""
        return max((one.u_bad for one in self.by_miner), default=0.0)

    @property
    def worst_miner(self) -> str | None:
        """The miner that attains it, the first of several; None where none predicts anything nearer."""
        return next((one.miner for one in self.by_miner if one.u_bad == self.worst and one.n_nearer), None)

    @property
    def statement(self) -> str:
        """The privacy-losing statement in words."""
        return (
            f"{self.sanitization} is ({self.average:.1f}, {self.worst:g}, {self.worst_miner or 'no miner'})-"
            f"privacy-losing for {self.target!r} in scenario {self.scenario}"
        )

    def _repr_html_(self) -> str:
        from anon.html import Table, bar_figure, result_html

        rows = tuple((one.miner, one.u_bad, one.n_nearer) for one in self.by_miner)
        return result_html(
            f"{self.statement}.",
            bar_figure("Bad utility of each miner: what it learns", {row[0]: row[1] for row in rows}),
            Table("Miner by miner", ("miner", "bad utility", "nearer predictions"), rows),
        )

    def __repr__(self) -> str:
        return (
            f"Attack({self.sanitization!r}, {self.target!r}, {self.scenario!r}, average={self.average}, "
            f"worst={self.worst}, worst_miner={self.worst_miner!r})"
        )


@dataclass(frozen=True, repr=False)
class ScenarioResult:
    """What every sanitization preserves for users and gives away to adversaries.

    `left_out` are the columns that no miner can use, `warnings` what was told of the releases.
    """

    good: tuple[Preservation, ...]
    bad: tuple[Attack, ...]
    left_out: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def tables(self) -> dict[str, pa.Table]:
        """Arrow tables: utility and privacy; declines and antiutility by miner; chosen rows."""
        good, bad = self.good, self.bad
        declines = [(each, one) for each in good for one in each.by_miner]
        attacks = [(each, one) for each in bad for one in each.by_miner]
        text, real, whole = pa.string(), pa.float64(), pa.int64()
        chosen = [(each, each.chosen.tolist()) for each in bad if each.chosen is not None]
        return {
            "utility": _table(
                good,
                ("sanitization", text, lambda each: each.sanitization),
                ("target", text, lambda each: each.target),
                ("delta", real, lambda each: each.delta),
                ("worst_miner", text, lambda each: each.worst_miner),
                ("statement", text, lambda each: each.statement),
            ),
            "declines": _table(
                declines,
                ("sanitization", text, lambda pair: pair[0].sanitization),
                ("target", text, lambda pair: pair[0].target),
                ("miner", text, lambda pair: pair[1].miner),
                ("family", text, lambda pair: pair[1].family),
                ("u_orig", real, lambda pair: pair[1].u_orig),
                ("u_san", real, lambda pair: pair[1].u_san),
                ("decline", real, lambda pair: pair[1].decline),
                ("limits", text, lambda pair: "; ".join(pair[1].limits)),
            ),
            "privacy": _table(
                bad,
                ("sanitization", text, lambda each: each.sanitization),
                ("target", text, lambda each: each.target),
                ("scenario", text, lambda each: each.scenario),
                ("nearness", real, lambda each: each.nearness),
                ("average", real, lambda each: each.average),
                ("worst", real, lambda each: each.worst),
                ("worst_miner", text, lambda each: each.worst_miner),
                *((name, real, lambda each, name=name: getattr(each, name)) for name in _GAINS),
            ),
            "antiutility": _table(
                attacks,
                ("sanitization", text, lambda pair: pair[0].sanitization),
                ("target", text, lambda pair: pair[0].target),
                ("scenario", text, lambda pair: pair[0].scenario),
                ("miner", text, lambda pair: pair[1].miner),
                ("family", text, lambda pair: pair[1].family),
                ("u_bad", real, lambda pair: pair[1].u_bad),
                ("n_nearer", whole, lambda pair: pair[1].n_nearer),
                ("limits", text, lambda pair: "; ".join(pair[1].limits)),
            ),
            "chosen": _table(
                [(each, row) for each, rows in chosen for row in rows],
                ("sanitization", text, lambda pair: pair[0].sanitization),
                ("target", text, lambda pair: pair[0].target),
                ("scenario", text, lambda pair: pair[0].scenario),
                ("row", whole, lambda pair: pair[1]),
            ),
        }

    def shown(self) -> list[tuple[str, tuple[str, ...], tuple[tuple[Any, ...], ...]]]:
        """Title, header and rows of the tables as people read them."""
        return list(_shown(self).values())

    def to_dict(self) -> dict[str, Any]:
        """The tables as lists of rows, ready for JSON; `row` counts from 0."""
        plain: dict[str, Any] = {name: table.to_pylist() for name, table in self.tables().items()}
        return dict(as_plain(plain | {"left_out": self.left_out, "warnings": self.warnings}))

    def write(self, folder: str | os.PathLike[str]) -> None:
        """Write the tables to Parquet files in a folder, all or none; it is made where it is not there."""
        tables = self.tables()
        try:
            Path(folder).mkdir(parents=True, exist_ok=True)
            with replacing([Path(folder) / f"{name}.parquet" for name in tables]) as temporary:
                for path, table in zip(temporary, tables.values(), strict=True):
                    with opened(path) as file:
                        pq.write_table(table, file)
        except OSError as error:
            raise not_written(f"to {str(folder)!r}", error) from error

    def _repr_html_(self) -> str:
        from anon.html import Table, bar_figure, folded, result_html

        statements = [each.statement for each in self.good] + [each.statement for each in self.bad]
        tables = [Table(title, header, rows) for title, header, rows in self.shown()]
        declines = {f"{each.sanitization}: {each.target}": each.delta for each in self.good}
        gains = {f"{each.sanitization}: {each.target}": each.average for each in self.bad}
        return result_html(
            "\n".join([f"{each}." for each in statements] + list(self.warnings)),
            bar_figure("Greatest decline of a miner's utility: what users lose", declines, high=1),
            bar_figure("Mean bad utility: what adversaries gain", gains),
            *(table for table in tables if "by miner" not in table.title),
            folded("Miner by miner", *(table for table in tables if "by miner" in table.title)),
        )

    def __repr__(self) -> str:
        return f"ScenarioResult(good={len(self.good)}, bad={len(self.bad)})"


NAMES = ("utility", "declines", "privacy", "antiutility", "chosen")  # of the tables of a result
_GAINS = ("a_know", "a_know_filled", "a_acc", "a_acc_filled")
_TITLES = {
    "utility": ("Utility decline", ("sanitization", "target", "delta", "worst_miner")),
    "declines": (
        "Utility by miner",
        ("sanitization", "target", "miner", "u_orig", "u_san", "decline", "limits"),
    ),
    "privacy": (
        "Bad utility",
        ("sanitization", "target", "scenario", "average", "worst", "worst_miner", *_GAINS),
    ),
    "antiutility": (
        "Bad utility by miner",
        ("sanitization", "target", "scenario", "miner", "u_bad", "n_nearer", "limits"),
    ),
}


def _table(items: Sequence[Any], *columns: tuple[str, pa.DataType, Callable[[Any], Any]]) -> pa.Table:
    return pa.table({name: pa.array(map(value, items), kind) for name, kind, value in columns})


# --- the section of a report


def sections(result: ScenarioResult) -> list[Section]:
    """What a report shows of a scenario."""
    from anon.html import Section, Table

    parts = (
        ("What users keep", result.good, ("utility", "declines")),
        ("What adversaries gain", result.bad, ("privacy", "antiutility")),
    )
    tables = {name: Table(title, header, rows) for name, (title, header, rows) in _shown(result).items()}
    return [
        Section(heading, tuple(each.statement for each in statements), tuple(tables[name] for name in names))
        for heading, statements, names in parts
        if statements
    ]


def _shown(result: ScenarioResult) -> dict[str, tuple[str, tuple[str, ...], tuple[tuple[Any, ...], ...]]]:
    """Title, header and rows of the tables that people are shown; those without rows are left out."""
    tables = result.tables()
    with_rows = {}
    for name, (title, columns) in _TITLES.items():
        rows = tuple(tuple(row.values()) for row in tables[name].select(list(columns)).to_pylist())
        if rows:
            with_rows[name] = title, tuple(column.replace("_", " ") for column in columns), rows
    return with_rows
