# SPDX-License-Identifier: Apache-2.0
"""What a node of full-domain recodings loses: the quality models (spec2, section 1). Least is best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from anon.schema import Ladder

QualityName = Literal["loss", "loss_geometric", "precision", "dm", "aecs", "entropy", "entropy_arx"]

Counts = npt.NDArray[np.int64]
Labels = Sequence[npt.NDArray[np.uint32]]


@dataclass(frozen=True, repr=False)
class Facts:
    """What every model reads of a table of `n` rows: per attribute its weight and its height, and by level
    the rows of each label (null's behind the others, at the last level with them) and its loss
    (L - 1)/(|D| - 1); `value_rows` are the rows of each code.
    """

    n: int
    weights: npt.NDArray[np.float64]
    heights: npt.NDArray[np.int64]
    rows: tuple[tuple[Counts, ...], ...]
    losses: tuple[tuple[npt.NDArray[np.float64], ...], ...]
    value_rows: tuple[Counts, ...]


def facts_of(
    ladders: Sequence[Ladder],
    labels: Sequence[Sequence[npt.NDArray[np.uint32]]],
    code_rows: Sequence[Counts],
    weights: Sequence[float],
) -> Facts:
    """`labels[a][g]` has the label of every code of attribute a, null's too; `code_rows[a]` its rows."""
    rows, losses = [], []
    for ladder, levels, counts in zip(ladders, labels, code_rows, strict=True):
        n_labels = [int(of_code.max(initial=0)) + 1 for of_code in levels]
        rows.append(
            tuple(
                np.bincount(of_code, counts, n).astype(np.int64)
                for of_code, n in zip(levels, n_labels, strict=True)
            )
        )
        losses.append(
            tuple(
                np.append(below - 1, 0.0)[:n] / max(ladder.n_below - 1, 1)
                for below, n in zip(ladder.below, n_labels, strict=True)
            )
        )
    n_rows = int(code_rows[0].sum()) if code_rows else 0
    return Facts(
        n_rows,
        np.array(weights, np.float64),
        np.array([ladder.height for ladder in ladders], np.int64),
        tuple(rows),
        tuple(losses),
        tuple(code_rows),
    )


class Quality:
    """One model over one table.

    `score(node, sizes, out, left_out)`: `sizes` are the rows of the node's classes, `out` (bool) which are
    suppressed, `left_out[a]` the labels of these. `least(attribute, level)` is what the attribute adds to a
    bound that no node with that level falls below, where there is one; `combine` makes the bound of the sum.
    """

    def __init__(self, name: QualityName, facts: Facts) -> None:
        self.name = name
        self.facts = facts
        self.additive = name not in ("dm", "aecs")
        self._terms = [
            np.array([self._term(a, g) for g in range(int(height) + 1)])
            for a, height in enumerate(facts.heights)
        ]
        self._root = sum(float(terms[-1]) for terms in self._terms)

    def _term(self, a: int, g: int) -> float:
        """What attribute a at level g adds where no row is suppressed."""
        facts = self.facts
        weight, total = float(facts.weights[a]), float(facts.weights.sum())
        if self.name in ("loss", "loss_geometric"):
            loss = _dot(facts.rows[a][g], facts.losses[a][g]) / max(facts.n, 1)
            if self.name == "loss":
                return weight * loss / total
            return float(np.log1p(weight * loss)) / len(facts.weights)
        if self.name == "precision":
            return weight / total * g / int(facts.heights[a])
        if self.name in ("entropy", "entropy_arx"):
            rows, values = facts.rows[a][g], facts.value_rows[a]
            sums = _xlogx(rows) - _xlogx(values)
            return sums / np.log(2) if self.name == "entropy_arx" else weight * sums
        return 0.0

    def bounds(self, node: Sequence[Any]) -> Any:
        """The lower bound of the nodes with these levels (arrays that broadcast), itself reached by a node
        without suppression; 0 where the model has none.
        """
        if not self.additive:
            return np.zeros(np.broadcast_shapes(*(np.shape(levels) for levels in node)))
        total: Any = 0.0
        for terms, levels in zip(self._terms, node, strict=True):
            total = total + terms[levels]
        if self.name == "loss_geometric":
            return np.expm1(total)
        if self.name == "entropy":
            return total / self._root if self._root > 0 else total * 0.0
        return total

    def bound_of(self, node: Sequence[int], sizes: Counts) -> float:
        """The bound of one node whose classes are known."""
        if self.name == "dm":
            return float((sizes.astype(np.float64) ** 2).sum())
        if self.name == "aecs":
            return self.facts.n / max(len(sizes), 1)
        return float(self.bounds(node))

    def score(
        self, node: Sequence[int], sizes: Counts, out: npt.NDArray[np.bool_], left_out: Labels
    ) -> float:
        facts, n = self.facts, self.facts.n
        n_lost = int(sizes[out].sum())
        lost = sizes[out].astype(np.float64)
        if self.name == "dm":
            kept = sizes[~out].astype(np.float64)
            return float((kept**2).sum()) + n * n_lost
        if self.name == "aecs":
            return n / (int((~out).sum()) + (n_lost > 0))
        if n_lost == 0:
            return float(self.bounds(node))
        if self.name == "precision":
            shares = facts.weights / facts.weights.sum()
            return float((shares * ((n - n_lost) * np.array(node) / facts.heights + n_lost) / n).sum())
        if self.name == "loss_geometric" or self.name == "loss":
            weighted = []
            for a, labels in enumerate(left_out):
                losses = facts.losses[a][node[a]]
                kept_loss = _dot(facts.rows[a][node[a]], losses)
                kept_loss -= _dot(lost, losses[labels])
                weighted.append(float(facts.weights[a]) * (kept_loss + n_lost) / n)
            if self.name == "loss":
                return sum(weighted) / float(facts.weights.sum())
            return float(np.expm1(np.log1p(weighted).sum() / len(weighted)))
        total = 0.0
        for a, labels in enumerate(left_out):
            term = float(self._terms[a][node[a]])
            rows = facts.rows[a][node[a]]
            if self.name == "entropy":
                more = _dot(lost, np.log(n) - np.log(rows[labels]))
                term += float(facts.weights[a]) * more
            else:
                of_label = np.bincount(labels, lost).astype(np.int64)
                term += float((_xlogx(np.array([n_lost])) - _xlogx(of_label)) / np.log(2))
            total += term
        if self.name == "entropy":
            return total / self._root if self._root > 0 else 0.0
        return total


class Generalization(Quality):
    """The loss of the labels of a node, whatever it leaves out."""

    def __init__(self, facts: Facts) -> None:
        super().__init__("loss", facts)

    def score(
        self, node: Sequence[int], sizes: Counts, out: npt.NDArray[np.bool_], left_out: Labels
    ) -> float:
        return float(self.bounds(node))


def _xlogx(counts: Counts) -> float:
    present = counts[counts > 0].astype(np.float64)
    return float((present * np.log(present)).sum())


def _dot(x: npt.NDArray[Any], y: npt.NDArray[Any]) -> float:
    """The sum of products, without the threads that a matrix product starts for it."""
    return float(np.multiply(x, y, dtype=np.float64).sum())
