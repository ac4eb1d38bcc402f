# SPDX-License-Identifier: Apache-2.0
"""Full-domain recoding: every value of a column at one level (Samarati 2001; LeFevre et al. 2005).

What is published of a value depends on the value alone, and rows of classes that fail may be left out, up to
a limit. The node of the lattice that loses least is found exactly (`lattice`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from types import MappingProxyType
from typing import Any, ClassVar, Literal, get_args

import numpy as np
import numpy.typing as npt

from anon.classes import Classes
from anon.encoding import Coding, Encoded, coding_of
from anon.errors import InfeasibleError, Parameter, UsageError
from anon.methods.lattice import Judge, Judged, Node, base_of, search
from anon.methods.people import Crowd
from anon.methods.quality import Quality, QualityName, facts_of
from anon.methods.task import Limits, Method, Task
from anon.methods.trivial import identity
from anon.requirements import Option, Requirement
from anon.schema import Attribute, Dates, Intervals, Ladder, Prefix, ladder_of

Reach = Literal["data", "file"]
Reference = Literal["published", "table"]


@dataclass(frozen=True)
class Lattice:
    """What the search saw: the levels of each attribute by name, the judged nodes, the one that was taken.

    Nodes that are not in `judged` were ruled out unseen. Where the levels were given, nothing was searched:
    `optimal` is None and `judged` has that node alone. Scores are of the model `quality`; least is best.
    """

    names: tuple[str, ...]
    heights: Node
    best: Node
    optimal: bool | None
    judged: Mapping[Node, Judged]
    quality: QualityName

    @property
    def n_nodes(self) -> int:
        """Nodes of the whole lattice."""
        return math.prod(height + 1 for height in self.heights)

    def to_dict(self) -> dict[str, Any]:
        """The size of the lattice, how many nodes were judged, and the node that was taken."""
        taken = self.judged[self.best]
        return {
            "quality": self.quality,
            "levels": dict(zip(self.names, self.best, strict=True)),
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
    """

    name: ClassVar[str] = "full-domain"
    counts_units: ClassVar[bool] = True
    counts_bags: ClassVar[bool] = True
    recodes: ClassVar[bool] = True
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
    )

    levels: tuple[int, ...] | None = None
    quality: QualityName = "loss"
    domain: Reach = "data"
    reference: Reference = "published"

    def __post_init__(self) -> None:
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

    def classes(self, encoded: Encoded, task: Task, k: int) -> Classes:
        """The rows that show the same."""
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
        _refuse(encoded, self.levels, require)
        ladders = [
            ladder_of(attribute.hierarchy, domain.values, domain.levels, domain.name, self.domain)
            for attribute, domain in zip(encoded.schema.quasi, encoded.quasi, strict=True)
        ]
        judge = _judge(judged, ladders, require, self, limits.suppress, crowd)
        best = None
        if self.levels is not None:
            node = self.levels
            for g, ladder in zip(node, ladders, strict=True):
                if g > ladder.height:
                    raise UsageError(
                        f"column {ladder.name!r} has levels 0 to {ladder.height}, not {g}: choose one of them"
                    )
        else:
            best = search(judge, limits.time_limit)
            if best is None:
                raise InfeasibleError("no level of the columns meets the requirements", requirement=None)
            node = best.node
        left_out = _left_out(judge, node)
        n_out = int(np.count_nonzero(left_out))
        if n_out > judge.most_suppressed or n_out == judge.base.n_rows:
            n_rows = judge.base.n_rows
            share = -(-10_000 * n_out // n_rows) / 10_000  # rounded up, so that it does
            way_out: tuple[str | Parameter, ...] = ()
            if share < 1:
                way_out = ("allow ", Parameter(f"suppress={share:g}", f"--suppress {share:g}"), ", or ")
            raise InfeasibleError(
                f"levels {list(node)} leave {n_out} of {n_rows} rows in classes that fail: ",
                *way_out,
                "choose coarser levels",
                requirement=None,
                tightest=n_out / n_rows,
            )
        if best is None and crowd is not None and not judge.judge(node).feasible:
            asked = next(each for each in crowd.require if each.by_levels)
            raise InfeasibleError(
                f"levels {list(node)} do not meet {asked}: choose coarser levels", requirement=asked
            )
        optimal, seen = (None, {node: judge.judge(node)}) if best is None else (best.optimal, best.visited)
        lattice = Lattice(
            tuple(ladder.name for ladder in ladders),
            tuple(ladder.height for ladder in ladders),
            node,
            optimal,
            MappingProxyType(seen),
            self.quality,
        )
        rows = judge.base.rows[left_out]
        suppressed = np.sort(np.concatenate([encoded.suppressed, rows])).astype(np.uint32)
        suppressed.flags.writeable = False
        made = _at(encoded, ladders, node)
        return replace(made, suppressed=suppressed), replace(self, levels=node), lattice


def _refuse(encoded: Encoded, levels: Sequence[int] | None, require: Sequence[Requirement]) -> None:
    schema = encoded.schema
    if schema.coded:
        raise UsageError(
            f"column {schema.coded[0]!r} has a least level, top or bottom: FullDomain chooses the levels "
            "itself; leave these out, or use FullDomain(levels=[...])"
        )
    if schema.linked:
        raise UsageError("FullDomain recodes every column by itself: leave out linked, or use Mondrian()")
    for attribute in schema.quasi:
        if attribute.kind == "numeric" and not isinstance(attribute.hierarchy, Intervals | Dates | None):
            raise UsageError(
                f"column {attribute.name!r} is numeric with labels of a file or dict: declare it nominal to "
                "recode it to these labels, or give it intervals()"
            )
    if any(getattr(each, "count", None) == "unit-bags" for each in require) and len(require) > 1:
        raise UsageError("k of unit-bags is enforced alone: leave out the other requirements")
    if levels is not None and len(levels) != len(schema.quasi):
        raise UsageError(f"levels has {len(levels)} numbers for {len(schema.quasi)} quasi-identifiers")


def _judge(
    judged: Encoded,
    ladders: Sequence[Ladder],
    require: Sequence[Requirement],
    method: FullDomain,
    share: Fraction,
    crowd: Crowd | None,
) -> Judge:
    base = base_of(judged, 1)
    code_rows = [
        np.bincount(base.codes[:, a], base.counts, domain.n_codes).astype(np.int64)
        for a, domain in enumerate(judged.quasi)
    ]
    reference = None
    if method.reference == "table" and judged.units is None:
        reference = tuple(
            np.bincount(values, rows, domain.n_codes).astype(np.int64)
            for (_, values, rows), domain in zip(base.values, judged.sensitive, strict=True)
        )
    judge = Judge(
        base,
        ladders,
        judged.quasi,
        judged.sensitive,
        require,
        int(share * base.n_rows),
        reference=reference,
        crowd=None if crowd is None else crowd.at_nodes(base, ladders, judged.quasi, method.domain),
    )
    weights = [domain.weight for domain in judged.quasi]
    judge.quality = Quality(method.quality, facts_of(ladders, judge.labels, code_rows, weights))
    return judge


def _left_out(judge: Judge, node: Node) -> npt.NDArray[np.bool_]:
    """Which of the base's rows are suppressed at a node."""
    if judge.k_bags:
        return judge.rows_of_rare_bags(node)
    out, _ = judge.suppressed(judge.table(node), everything=True)
    return np.asarray(np.repeat(out[judge.classes_of(node)], np.diff(judge.base.offsets)), np.bool_)


def _at(encoded: Encoded, ladders: Sequence[Ladder], node: Node) -> Encoded:
    """The table with these levels as the least ones."""
    attributes, domains, columns = [], [], []
    for attribute, domain, codes, ladder, g in zip(
        encoded.schema.quasi, encoded.quasi, encoded.quasi_codes, ladders, node, strict=True
    ):
        coded, described = attribute, domain
        if g == ladder.height:
            described = replace(domain, coding=Coding.star(domain.n_values))
        elif g > 0:
            coded = replace(attribute, least=_least(attribute, g))
            described = replace(
                domain, coding=coding_of(coded, domain.values, domain.unit_lattice, domain.tree)
            )
        attributes.append(coded)
        domains.append(described)
        columns.append(codes if described.coding is None else described.coding.coded(codes))
    return replace(
        encoded,
        schema=replace(encoded.schema, quasi=tuple(attributes)),
        quasi=tuple(domains),
        quasi_codes=tuple(columns),
        fine_codes=encoded.quasi_codes,
    )


def _least(attribute: Attribute, g: int) -> Any:
    """The level as an attribute's `least` names it."""
    match attribute.hierarchy:
        case Intervals(widths):
            return sorted(widths)[g - 1]
        case Dates():
            return attribute.hierarchy.ordered[g - 1]
        case Prefix(lengths):
            return sorted(lengths, reverse=True)[g - 1]
    return g
