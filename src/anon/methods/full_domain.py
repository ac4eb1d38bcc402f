# SPDX-License-Identifier: Apache-2.0
"""Full-domain recoding: every value of a column at one level (Samarati 2001; LeFevre et al. 2005).

What is published of a value depends on the value alone, and rows of classes that fail may be left out, up to
a limit. The node of the lattice that loses least is found exactly (`lattice`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from types import MappingProxyType
from typing import Any, ClassVar, Literal, get_args

import numpy as np
import numpy.typing as npt

from anon.classes import Classes, group
from anon.encoding import Encoded, Rounds, at_level, code_type
from anon.errors import InfeasibleError, Parameter, UsageError
from anon.methods.axes import Axis, Reach, axes_of
from anon.methods.households import sizes_of
from anon.methods.lattice import Base, Judge, Judged, Node, base_of, search
from anon.methods.people import Crowd
from anon.methods.quality import Generalization, Quality, QualityName, facts_of
from anon.methods.task import Limits, Method, Task
from anon.methods.trivial import identity
from anon.requirements import Option, Requirement, exact, real

Reference = Literal["published", "table"]


@dataclass(frozen=True)
class Round:
    """A round of local recoding: its levels, and the rows that were published at them."""

    levels: Node
    n_rows: int


@dataclass(frozen=True)
class Lattice:
    """What the search saw: the levels of each attribute by name, the judged nodes, the one that was taken.

    Levels begin with the `lowest`, those that the schema asks for at least. Nodes that are not in `judged`
    were ruled out unseen. Where the levels were given, nothing was searched: `optimal` is None and `judged`
    has that node alone. Scores are of the model `quality`; least is best. Local recoding takes a node in each
    of its `rounds`; then `best` is that of the first one, and its score that of all rows.
    """

    names: tuple[str, ...]
    heights: Node
    best: Node
    optimal: bool | None
    judged: Mapping[Node, Judged]
    quality: QualityName
    lowest: Node
    rounds: tuple[Round, ...] = ()

    @property
    def n_nodes(self) -> int:
        """Nodes of the whole lattice."""
        return math.prod(high - low + 1 for low, high in zip(self.lowest, self.heights, strict=True))

    @property
    def searched(self) -> bool:
        """Whether one node was sought, so that the judged ones are what it was chosen from."""
        return self.optimal is not None and not self.rounds

    def to_dict(self) -> dict[str, Any]:
        """The size of the lattice, how many nodes were judged, and the node that was taken, or those of the
        rounds.
        """
        taken = self.judged[self.best]
        rounds = [
            {"levels": dict(zip(self.names, each.levels, strict=True)), "rows": each.n_rows}
            for each in self.rounds
        ]
        return {
            "quality": self.quality,
            **({"rounds": rounds} if rounds else {"levels": dict(zip(self.names, self.best, strict=True))}),
            "heights": dict(zip(self.names, self.heights, strict=True)),
            "nodes": self.n_nodes,
            "judged": len(self.judged),
            "feasible": sum(one.feasible for one in self.judged.values()),
            "score": taken.score,
            "suppressed": taken.n_suppressed,
            "optimal": self.optimal,
        }


@dataclass(frozen=True)
class FullDomain(Method):
    """One level of its hierarchy for every column, and classes that still fail suppressed.

    The best node is the one of least `quality` ("loss", "loss_geometric", "precision", "dm", "aecs",
    "entropy", "entropy_arx") whose suppressed rows stay within `anonymize(suppress=)`; ties: least sum of
    levels, then the levels in schema order. `levels` applies one node instead: a level for each
    quasi-identifier, 0 as it is. `domain` is what a label stands for in the loss: the values in the "data",
    or those listed in the "file". `reference` is what t-closeness and the like compare a class with: the rows
    "published", or the whole "table".

    `iterate` recodes locally, as ARX does: classes that pass at the least levels are published so, the others
    at coarser ones, round by round. Each round takes the levels that lose least of those that publish this
    share of all rows at least, and what no levels publish is suppressed, up to the limit. Requirements that
    compare a class with the table are tested at the end, and classes that fail are merged with neighbors.
    """

    name: ClassVar[str] = "full-domain"
    counts_units: ClassVar[bool] = True
    counts_bags: ClassVar[bool] = True
    keeps_households: ClassVar[bool] = True
    recodes: ClassVar[bool] = True
    searches: ClassVar[bool] = True
    options: ClassVar[tuple[Option, ...]] = (
        Option(
            "levels",
            list[int],
            "Full-domain: one level per quasi-identifier, instead of the best.",
            read=tuple,
        ),
        Option(
            "quality",
            QualityName,
            "Full-domain: loss (default), precision, dm, aecs, entropy, ….",
        ),
        Option("domain", Reach, "Full-domain: a label stands for values in the data (default) or the file."),
        Option(
            "reference", Reference, "Full-domain: t compares with the published rows (default) or the table."
        ),
        Option(
            "iterate",
            float,
            "Full-domain: local recoding in rounds, each of this share of the rows at least, such as 0.01.",
        ),
    )

    levels: tuple[int, ...] | None = None
    quality: QualityName = "loss"
    domain: Reach = "data"
    reference: Reference = "published"
    iterate: float | Fraction | None = None

    def __post_init__(self) -> None:
        if self.iterate is not None:
            object.__setattr__(self, "iterate", real("iterate", self.iterate, above=0, most=1))
            for name, plain in (("levels", None), ("quality", "loss"), ("reference", "published")):
                if getattr(self, name) != plain:
                    raise UsageError(
                        f"iterate takes the levels of least loss in every round: leave out {name}"
                    )
        for name, kinds in (("quality", QualityName), ("domain", Reach), ("reference", Reference)):
            if getattr(self, name) not in get_args(kinds):
                raise UsageError(f"{name} must be one of {', '.join(get_args(kinds))}")
        if self.levels is not None:
            levels = tuple(self.levels)
            if not all(isinstance(g, int) and not isinstance(g, bool) and g >= 0 for g in levels):
                raise UsageError("levels must be whole numbers of at least 0, one for each quasi-identifier")
            object.__setattr__(self, "levels", levels)

    def check_published(self, publish: str, numeric: str) -> None:
        if publish == "bucketization":
            raise UsageError("FullDomain generalizes columns: it cannot be published as a bucketization")
        if self.iterate is not None and numeric != "interval":
            raise UsageError(
                f"numeric={numeric!r} is of classes, and FullDomain(iterate=...) publishes labels of levels: "
                "leave it out"
            )

    def classes(self, encoded: Encoded, task: Task, k: int) -> Classes:
        """The rows that show the same; in rounds, those of a round that do."""
        if encoded.rounds is not None:
            return _of_rounds(encoded, encoded.rounds, task)
        if encoded.schema.household and encoded.units is not None and self.levels is not None:
            return _of_households(encoded, self.levels[-1], task)
        return identity(encoded, task)

    def recoded(
        self,
        encoded: Encoded,
        judged: Encoded,
        require: Sequence[Requirement],
        limits: Limits,
        crowd: Crowd | None = None,
    ) -> tuple[Encoded, FullDomain, Lattice]:
        """The table with the chosen level as every column's least one, without the rows that fail there."""
        axes = axes_of(judged, self.domain)
        _refuse(self, judged, axes, require)
        _refuse_crowd(self, encoded, crowd)
        base = base_of([axis.codes for axis in axes], judged, 1)
        if not base.n_rows:
            node = tuple(axis.lowest for axis in axes)
            nothing = _lattice(axes, node, None, {node: Judged(0, 0.0, True, False)}, self.quality)
            return _at(encoded, axes, node), self, nothing
        if self.iterate is not None:
            return self._iterated(encoded, judged, axes, base, require, limits)
        judge = _judge(judged, axes, base, require, limits.suppress, self, crowd)
        best = None
        if self.levels is not None:
            node = self.levels
        else:
            best = search(judge, limits.time_limit)
            if best is None:
                raise _infeasible(judge)
            node = best.node
        left_out = _left_out(judge, node)
        n_out = int(np.count_nonzero(left_out))
        if n_out > judge.most_suppressed or n_out == base.n_rows:
            what = f"levels {list(node)} leave {n_out} of {base.n_rows} rows in classes that fail: "
            raise _too_many(what, n_out, base.n_rows, "choose coarser levels")
        if best is None and crowd is not None and not judge.judge(node).feasible:
            asked = next(each for each in crowd.require if each.by_levels)
            raise InfeasibleError(
                f"levels {list(node)} do not meet {asked}: choose coarser levels", requirement=asked
            )
        optimal, seen = (None, {node: judge.judge(node)}) if best is None else (best.optimal, best.visited)
        lattice = _lattice(axes, node, optimal, seen, self.quality)
        made = _suppressed(_at(encoded, axes, node), base.rows[left_out])
        if self.reference == "table":
            made = replace(made, reference=encoded.suppressed)
        return made, replace(self, levels=node), lattice

    def _iterated(
        self,
        encoded: Encoded,
        judged: Encoded,
        axes: Sequence[Axis],
        base: Base,
        require: Sequence[Requirement],
        limits: Limits,
    ) -> tuple[Encoded, FullDomain, Lattice]:
        tested = [each for each in require if not each.of_table]
        assert self.iterate is not None
        least = max(1, math.ceil(exact(self.iterate) * base.n_rows))

        def judge_of(part: Base, most: int) -> Judge:
            share = Fraction(most, max(part.n_rows, 1))
            return _judge(judged, axes, part, tested, share, self)

        rounds, of_combination, optimal = _rounds(base, judge_of, least, limits.time_limit)
        of_row = np.repeat(of_combination, np.diff(base.offsets))
        n_out = int(np.count_nonzero(of_row < 0))
        if n_out > int(limits.suppress * base.n_rows) or n_out == base.n_rows:
            what = f"the rounds leave {n_out} of {base.n_rows} rows in classes that fail: "
            raise _too_many(what, n_out, base.n_rows, "let rounds publish fewer rows by a smaller iterate")
        in_round = np.zeros(encoded.n_rows, code_type(len(rounds)))
        in_round[base.rows] = np.maximum(of_row, 0)
        columns = []
        for each in rounds:
            at = {axis.attribute.name: axis.column(g) for axis, g in zip(axes, each.levels, strict=True)}
            columns.append(tuple(at.get(attribute.name, attribute) for attribute in encoded.schema.quasi))
        fine = encoded.original.quasi_codes
        made = replace(encoded, quasi_codes=fine, fine_codes=fine, rounds=Rounds(in_round, tuple(columns)))
        score = _mean_loss(axes, base, rounds, of_combination)
        seen = {rounds[0].levels: Judged(n_out, score, True, False)}
        lattice = replace(_lattice(axes, rounds[0].levels, optimal, seen, self.quality), rounds=tuple(rounds))
        return _suppressed(made, base.rows[of_row < 0]), self, lattice


def _lattice(
    axes: Sequence[Axis], node: Node, optimal: bool | None, seen: Mapping[Node, Judged], quality: QualityName
) -> Lattice:
    return Lattice(
        tuple(axis.ladder.name for axis in axes),
        tuple(axis.ladder.height for axis in axes),
        node,
        optimal,
        MappingProxyType(dict(seen)),
        quality,
        tuple(axis.lowest for axis in axes),
    )


def _infeasible(judge: Judge) -> InfeasibleError:
    """No node is feasible: what the last one would need, below which no other suppresses fewer rows."""
    top = tuple(ladder.height for ladder in judge.ladders)
    n_out = judge.judge(top).n_suppressed
    n_rows = judge.base.n_rows
    what = f"all levels leave at least {n_out} of {n_rows} rows in classes that fail: "
    return _too_many(what, n_out, n_rows, "ask for less")


def _too_many(what: str, n_out: int, n_rows: int, otherwise: str) -> InfeasibleError:
    """So many rows would have to be suppressed; the share that does is rounded up."""
    share = -(-10_000 * n_out // n_rows) / 10_000
    way_out: tuple[str | Parameter, ...] = ()
    if share < 1:
        way_out = ("allow ", Parameter(f"suppress={share:g}", f"--suppress {share:g}"), ", or ")
    return InfeasibleError(what, *way_out, otherwise, requirement=None, tightest=n_out / n_rows)


def _refuse(
    method: FullDomain, encoded: Encoded, axes: Sequence[Axis], require: Sequence[Requirement]
) -> None:
    counts_bags = any(getattr(each, "count", None) == "unit-bags" for each in require)
    if method.reference == "table" and encoded.units is not None:
        raise UsageError('reference="table" counts rows, and requirements count units: leave it out')
    if counts_bags and len(require) > 1:
        raise UsageError("k of unit-bags is enforced alone: leave out the other requirements")
    if method.iterate is not None:
        if counts_bags:
            raise UsageError("k of unit-bags is of all rows of a unit at one level: leave out iterate")
        if encoded.schema.household:
            raise UsageError(
                "rounds publish the rows of a household at different levels: leave out iterate, or ",
                Parameter("household=", "--household"),
            )
    if method.levels is None:
        return
    if len(method.levels) != len(axes):
        names = ", ".join(axis.ladder.name for axis in axes)
        raise UsageError(f"levels has {len(method.levels)} numbers for {len(axes)} attributes: {names}")
    for g, axis in zip(method.levels, axes, strict=True):
        if not axis.lowest <= g <= axis.ladder.height:
            raise UsageError(
                f"column {axis.ladder.name!r} has levels {axis.lowest} to {axis.ladder.height}, not {g}: "
                "choose one of them"
            )


def _refuse_crowd(method: FullDomain, encoded: Encoded, crowd: Crowd | None) -> None:
    """Raise UsageError where people are not counted at nodes."""
    if crowd is None:
        return
    if method.iterate is not None:
        raise UsageError(f"{crowd.require[0]} is of one level for every column: leave out iterate")
    counted = [each for each, union in zip(crowd.require, crowd.unions, strict=True) if union is not None]
    names = [*encoded.schema.coded, *encoded.schema.follows]
    if counted and names:
        raise UsageError(
            f"{counted[0]}: a population is recoded by plain columns, and {names[0]!r} is linked or has a "
            "least level, top or bottom: leave that out"
        )


def _judge(
    judged: Encoded,
    axes: Sequence[Axis],
    base: Base,
    require: Sequence[Requirement],
    share: Fraction,
    method: FullDomain,
    crowd: Crowd | None = None,
) -> Judge:
    reference = None
    if method.reference == "table":
        reference = tuple(
            np.bincount(values, rows, domain.n_codes).astype(np.int64)
            for (_, values, rows), domain in zip(base.values, judged.sensitive, strict=True)
        )
    ladders, domains = [axis.ladder for axis in axes], [axis.domain for axis in axes]
    judge = Judge(
        base,
        ladders,
        tuple(axis.lowest for axis in axes),
        domains,
        judged.sensitive,
        require,
        int(share * base.n_rows),
        reference=reference,
        crowd=None if crowd is None else crowd.at_nodes(base, ladders, domains, method.domain),
    )
    weights = [domain.weight for domain in domains]
    of_codes = [
        np.bincount(base.codes[:, a], base.counts, axis.domain.n_codes)
        if axis.fine is axis.codes or method.iterate is not None
        else np.bincount(axis.fine[base.rows], minlength=axis.domain.n_codes)
        for a, axis in enumerate(axes)
    ]
    facts = facts_of(ladders, judge.labels, [each.astype(np.int64) for each in of_codes], weights)
    judge.quality = Generalization(facts) if method.iterate is not None else Quality(method.quality, facts)
    return judge


def _rounds(
    base: Base, judge_of: Callable[[Base, int], Judge], least: int, time_limit: float | None
) -> tuple[list[Round], npt.NDArray[np.int64], bool]:
    """The rounds, that of each combination (-1: none), and whether all of them had the time to be the best.

    The first takes the lowest node. Each other takes, of the nodes that publish at least `least` of the rows
    that are left (or all of them), the one whose labels lose least; it ends when there is none.
    """
    ends = None if time_limit is None else time.monotonic() + time_limit
    left, optimal = np.arange(len(base.counts)), True
    rounds: list[Round] = []
    of_combination = np.full(len(left), -1, np.int64)
    while len(left):
        part = base.part(left)
        judge = judge_of(part, part.n_rows - min(part.n_rows, least))
        node = judge.lowest
        if rounds:
            found = search(judge, None if ends is None else max(ends - time.monotonic(), 1e-9))
            if found is None:
                break
            node, optimal = found.node, optimal and found.optimal
        out, _ = judge.suppressed(judge.table(node), everything=True)
        passes = ~out[judge.classes_of(node)]
        of_combination[left[passes]] = len(rounds)
        rounds.append(Round(node, int(part.counts[passes].sum())))
        left = left[~passes]
    return rounds, of_combination, optimal


def _mean_loss(
    axes: Sequence[Axis], base: Base, rounds: Sequence[Round], of_combination: npt.NDArray[np.int64]
) -> float:
    """The weighted mean over attributes of (L - 1)/(|D| - 1), 1 in suppressed rows."""
    total = 0.0
    for a, axis in enumerate(axes):
        ladder = axis.ladder
        losses = np.ones((len(rounds) + 1, axis.domain.n_codes))  # the last row is that of suppressed ones
        for r, each in enumerate(rounds):
            g = each.levels[a]
            of_value = (ladder.below[g][ladder.of_code[g]] - 1) / max(ladder.n_below - 1, 1)
            losses[r, : axis.domain.n_values] = of_value
            losses[r, axis.domain.n_values :] = of_value.max(initial=0) if g == ladder.height else 0
        total += axis.domain.weight * float((losses[of_combination, base.codes[:, a]] * base.counts).sum())
    return total / base.n_rows / sum(axis.domain.weight for axis in axes)


def _left_out(judge: Judge, node: Node) -> npt.NDArray[np.bool_]:
    """Which of the base's rows are suppressed at a node."""
    if judge.k_bags:
        return judge.rows_of_rare_bags(node)
    out, _ = judge.suppressed(judge.table(node), everything=True)
    return np.asarray(np.repeat(out[judge.classes_of(node)], np.diff(judge.base.offsets)), np.bool_)


def _suppressed(encoded: Encoded, rows: npt.NDArray[np.uint32]) -> Encoded:
    """The table, these rows suppressed too."""
    suppressed = np.sort(np.concatenate([encoded.suppressed, rows])).astype(np.uint32)
    suppressed.flags.writeable = False
    return replace(encoded, suppressed=suppressed)


def _at(encoded: Encoded, axes: Sequence[Axis], node: Node) -> Encoded:
    """The table with these levels as the least ones."""
    at = {axis.attribute.name: axis.column(g) for axis, g in zip(axes, node, strict=True)}
    fine = encoded.original.quasi_codes
    attributes, domains, columns = [], [], []
    for attribute, domain, coded, codes in zip(
        encoded.schema.quasi, encoded.quasi, encoded.quasi_codes, fine, strict=True
    ):
        column = at.get(attribute.name, attribute)
        if column != attribute:
            domain = at_level(domain, column)
            coded = codes if domain.coding is None else domain.coding.coded(codes)
        attributes.append(attribute if column is None else column)
        domains.append(domain)
        columns.append(coded)
    return replace(
        encoded,
        schema=replace(encoded.schema, quasi=tuple(attributes)),
        quasi=tuple(domains),
        quasi_codes=tuple(columns),
        fine_codes=fine,
    )


def at_levels(encoded: Encoded, levels: Node) -> Encoded:
    """A table, coded by none, with these levels as the least ones."""
    return _at(encoded, axes_of(encoded, "data"), levels)


def _of_rounds(encoded: Encoded, rounds: Rounds, task: Task) -> Classes:
    """The rows of one round whose values are published as the same."""
    columns = [
        rounds.ends(by_round, codes)[0]
        for by_round, codes in zip(rounds.domains(encoded.quasi), encoded.quasi_codes, strict=True)
    ]
    return group((*columns, rounds.of_row), encoded.suppressed, task.n_threads)


def _of_households(encoded: Encoded, level_of_size: int, task: Task) -> Classes:
    """The rows that show the same, those of households of one size apart where the level of the size is 0."""
    assert encoded.units is not None
    names = encoded.schema.household
    known = dict(zip((domain.name for domain in encoded.quasi), encoded.quasi_codes, strict=True))
    shared = [known.pop(name) for name in names]
    if level_of_size == 0:
        shared.append(sizes_of(encoded.units)[1])
    together = group(shared, encoded.suppressed, task.n_threads).offsets
    classes = group((*shared, *known.values()), encoded.suppressed, task.n_threads)
    return replace(classes, together=together)
