# SPDX-License-Identifier: Apache-2.0
"""Special uniques: rows that few attributes single out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from anon.encoding import Encoded, encode
from anon.errors import UsageError
from anon.measures import (
    MinimalUniques,
    contributions,
    dis_fraction,
    dis_scores,
    find_minimal_uniques,
    refuse_fraction,
    suda_html,
    value_contributions,
    weights,
)
from anon.schema import Schema
from anon.threads import available_threads
from anon.verbs.check import labels_as_written, measured_roles, read_with_roles, refuse_unknown_weight

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class Suda:
    """The special uniques of a table.

    `scores` (float64, one per row) is 0 for a row that is not unique, `dis` the DIS-SUDA score: the chance
    that a match of the row is right; None where no sampling fraction was given. `contributions` is the
    percentage of all scores that comes from minimal sample uniques with each quasi-identifier (they sum to
    more than 100).
    `n_sets[s]` is the number of minimal sample uniques of s + 1 attributes, up to the greatest size sought.
    """

    scores: Floats
    dis: Floats | None
    dis_fraction: float | None
    contributions: Mapping[str, float]
    n_sets: tuple[int, ...]
    scale: Literal["elliot", "ihsn"]
    uniques: MinimalUniques
    weight: Floats
    encoded: Encoded

    @property
    def n_rows(self) -> int:
        """Rows of the table."""
        return len(self.scores)

    @property
    def n_unique(self) -> int:
        """Rows with a minimal sample unique."""
        return len(np.unique(self.uniques.rows))

    def riskiest(self, n: int = 20) -> pa.Table:
        """The n rows of greatest score: `row` (from 1), `score`, `dis`, how many sets single them out
        (`sets`), the size of the smallest (`smallest`), and what each quasi-identifier contributes, in
        percent.

        No value of the table is in it. Rows without a score are not listed; ties go to the first row.
        """
        order = np.argsort(-self.scores, kind="stable")[: max(n, 0)]
        order = order[self.scores[order] > 0]
        place = np.full(self.n_rows, -1)
        place[order] = np.arange(len(order))
        at = place[self.uniques.rows]
        listed = at >= 0
        at = at[listed]
        smallest = np.full(len(order), self.uniques.n_columns)
        np.minimum.at(smallest, at, self.uniques.sizes[listed])
        columns: dict[str, Any] = {
            "row": order + 1,
            "score": self.scores[order],
            **({} if self.dis is None else {"dis": self.dis[order]}),
            "sets": np.bincount(at, minlength=len(order)),
            "smallest": smallest,
        }
        for a, name in enumerate(self.contributions):
            part = np.bincount(at, self.weight[listed] * self.uniques.has(a)[listed], len(order))
            columns[f"{name} %"] = 100 * part / self.scores[order]
        return pa.table(columns)

    def per_row(self) -> pa.Table:
        """`row` (from 1), `score` and, with a sampling fraction, `dis` of every row, in the table's order."""
        dis = {} if self.dis is None else {"dis": self.dis}
        return pa.table({"row": np.arange(1, self.n_rows + 1), "score": self.scores, **dis})

    def of_values(self, column: str) -> pa.Table:
        """For each value of a quasi-identifier: `value`, the summed `score` of its rows, and the percentage
        of it (`contribution`) from minimal sample uniques with the attribute; the greatest score first.

        It shows values, and is the owner's.
        """
        names = list(self.contributions)
        if column not in names:
            known = ", ".join(map(repr, names))
            raise UsageError(f"{column!r} is not a quasi-identifier here; choose one of {known}")
        a = names.index(column)
        domain, codes = self.encoded.quasi[a], self.encoded.quasi_codes[a]
        total, share = value_contributions(self.uniques, self.weight, a, codes, domain.n_codes)
        order = np.argsort(-total, kind="stable")
        values = pa.concat_arrays([domain.values, pa.nulls(int(domain.has_null), domain.values.type)])
        return pa.table(
            {"value": values.take(pa.array(order)), "score": total[order], "contribution": share[order]}
        )

    def to_dict(self) -> dict[str, Any]:
        """The numbers of the whole table, ready for JSON."""
        return {
            "n_rows": self.n_rows,
            "n_unique": self.n_unique,
            "scale": self.scale,
            "total_score": float(self.scores.sum()),
            "greatest_score": float(self.scores.max(initial=0.0)),
            "dis_fraction": self.dis_fraction,
            "greatest_dis": None if self.dis is None else float(self.dis.max(initial=0.0)),
            "sets_by_size": {str(size + 1): count for size, count in enumerate(self.n_sets)},
            "contributions": dict(self.contributions),
        }

    def _repr_html_(self) -> str:
        return suda_html(self.to_dict(), self.riskiest().to_pylist())

    def __repr__(self) -> str:
        return f"Suda(n_rows={self.n_rows}, n_unique={self.n_unique}, sets={sum(self.n_sets)})"


def suda(
    source: Any,
    schema: Schema | None = None,
    *,
    max_size: int | None = None,
    scores: Literal["elliot", "ihsn"] = "elliot",
    sampling_fraction: float | None = None,
    n_threads: int | None = None,
) -> Suda:
    """Find the rows that few attributes single out (SUDA2), and what each attribute contributes.

    Parameters
    ----------
    source : as for `anonymize`
    schema : Schema, optional
        The quasi-identifiers, of which only the names are used; at least two. Without it the table must be a
        release of this package that says its roles itself.
    max_size : int, optional
        Look at sets of so many attributes at most (all).
    scores : "elliot" or "ihsn"
        The weight of a set of s of m attributes: (m - s)!, or (2^(m - s) - 1) s! (m - s)!/m!.
    sampling_fraction : float in (0, 1], optional
        The share of the population that the table holds, for DIS-SUDA.
    n_threads : int, optional
        Default: the processors this process may use. The answer does not depend on it.

    Raises
    ------
    UsageError
        There are fewer than two quasi-identifiers, or so many that their sets must be bounded.
    """
    threads = available_threads(n_threads)
    if sampling_fraction is not None:
        refuse_fraction(sampling_fraction)
    given, metadata = read_with_roles(source, schema)
    if schema is not None and given.format == "csv":
        given = labels_as_written(given, schema)
    refuse_unknown_weight(schema, given.table)
    roles = Schema(measured_roles(metadata, schema).uncoded().quasi)
    encoded = encode(given.table, roles, n_threads=threads)
    uniques = find_minimal_uniques(encoded.quasi, encoded.quasi_codes, max_size, threads)
    weight = weights(uniques, scores)
    score = np.bincount(uniques.rows, weight, encoded.n_rows).astype(np.float64)
    dis = None
    if sampling_fraction is not None:
        dis = dis_scores(score, uniques.classes, uniques.n_columns, sampling_fraction)
        dis.flags.writeable = False
    score.flags.writeable = False
    names = [domain.name for domain in encoded.quasi]
    sizes = np.bincount(uniques.sizes, minlength=uniques.n_columns + 1)[1:][:max_size]
    return Suda(
        score,
        dis,
        None if sampling_fraction is None else dis_fraction(uniques.classes, sampling_fraction),
        dict(zip(names, contributions(uniques, weight).tolist(), strict=True)),
        tuple(sizes.tolist()),
        scores,
        uniques,
        weight,
        encoded,
    )
