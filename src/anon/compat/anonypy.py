# SPDX-License-Identifier: Apache-2.0
"""anonypy's names over this engine: `from anon.compat import anonypy`.

Signatures and the form of the answers are those of anonypy 0.2.1: a column of pandas' `category` type
is a flat nominal quasi-identifier, any other must hold numbers. The classes come from Mondrian with
`cuts="nearest"`; row order does not matter to them, and a class may be cut where anonypy, which tries
one place per column, gives up. l-diversity is of distinct values. t-closeness is by equal distance:
anonypy compares single shares, and with the share of the last value instead of the bound asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from anon.errors import UsageError
from anon.methods import Mondrian as Method
from anon.requirements import KAnonymity, LDiversity, Requirement, TCloseness
from anon.schema import Attribute, Schema, nominal, numeric
from anon.verbs import anonymize


class Mondrian:
    """Equivalence classes of a pandas DataFrame, as index labels."""

    def __init__(self, df: Any, feature_columns: Sequence[str], sensitive_column: str | None = None) -> None:
        self.df = df
        self.feature_columns = list(feature_columns)
        self.sensitive_column = sensitive_column

    def partition(self, k: int = 3, l: int = 0, p: float = 0.0) -> list[Any]:
        """The classes that satisfy k-anonymity and, where they are above 0, l-diversity and p-closeness."""
        rows, offsets = self.classes(k, l, p)
        return [self.df.index[np.sort(members)] for members in np.split(rows, offsets[1:-1])]

    def classes(
        self, k: int, l: int = 0, p: float = 0.0
    ) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]:
        """Row positions class by class, and where each class starts."""
        if not (l >= 0 and p >= 0):
            raise UsageError("l and p must be at least 0; 0 asks for none")
        sensitive = [] if self.sensitive_column is None else [nominal(self.sensitive_column)]
        require: list[Requirement] = [KAnonymity(k)]
        if sensitive and l > 0:
            require.append(LDiversity(l, "distinct"))
        if sensitive and p > 0:
            require.append(TCloseness(p, "equal"))
        schema = Schema([self._attribute(name) for name in self.feature_columns], sensitive)
        table = self.df[[attribute.name for attribute in (*schema.quasi, *schema.sensitive)]]
        classes = anonymize(table, schema, require=require, method=Method(cuts="nearest")).classes
        return classes.rows, classes.offsets

    def _attribute(self, name: str) -> Attribute:
        return nominal(name) if self.df[name].dtype.name == "category" else numeric(name)


class Preserver:
    """Rows of a release: one for each class and sensitive value, with its `count`."""

    def __init__(self, df: Any, feature_columns: Sequence[str], sensitive_column: str) -> None:
        self.modrian = Mondrian(df, feature_columns, sensitive_column)  # the name anonypy gives it

    def anonymize_k_anonymity(self, k: int) -> list[dict[str, Any]]:
        """k-anonymous rows."""
        return self._rows(k)

    def anonymize_l_diversity(self, k: int, l: int) -> list[dict[str, Any]]:
        """k-anonymous rows with l distinct sensitive values in each class."""
        return self._rows(k, l=l)

    def anonymize_t_closeness(self, k: int, p: float) -> list[dict[str, Any]]:
        """k-anonymous rows whose classes are p-close to the table."""
        return self._rows(k, p=p)

    def count_k_anonymity(self, k: int) -> list[dict[str, Any]]:
        """The k-anonymous classes, with their rows counted."""
        return self._counts(k)

    def count_l_diversity(self, k: int, l: int) -> list[dict[str, Any]]:
        """The l-diverse classes, with their rows counted."""
        return self._counts(k, l=l)

    def count_t_closeness(self, k: int, p: float) -> list[dict[str, Any]]:
        """The p-close classes, with their rows counted."""
        return self._counts(k, p=p)

    def _rows(self, k: int, l: int = 0, p: float = 0.0) -> list[dict[str, Any]]:
        cells, values, class_of = self._shown(k, l, p)
        counted = values.groupby([class_of, values.to_numpy()], observed=True, dropna=False).size()
        return [
            {**cells[number], values.name: value, "count": int(count)}
            for (number, value), count in counted.items()
        ]

    def _counts(self, k: int, l: int = 0, p: float = 0.0) -> list[dict[str, Any]]:
        cells_of_class, values, class_of = self._shown(k, l, p)
        return [
            {**cells, values.name: int(count)}
            for cells, count in zip(cells_of_class, values.groupby(class_of).size(), strict=True)
        ]

    def _shown(self, k: int, l: int, p: float) -> tuple[list[dict[str, Any]], Any, npt.NDArray[np.intp]]:
        """The cells of each class; the sensitive values in class order; the class of each."""
        of = self.modrian
        rows, offsets = of.classes(k, l, p)
        ordered = of.df.iloc[rows]
        class_of = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        columns = {}
        for name in of.feature_columns:
            groups = ordered[name].groupby(class_of)
            if ordered[name].dtype.name == "category":
                columns[name] = [_set(values) for _, values in groups]
            else:
                columns[name] = [_range(values) for _, values in groups]
        cells_of_class = [
            dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)
        ]
        return cells_of_class, ordered[of.sensitive_column], class_of


def _set(values: Any) -> str:
    """The labels in a class, as anonypy writes them; a missing one is `nan`."""
    present = values.cat.categories[np.unique(values.cat.codes[values.notna()])]
    return ",".join([*map(str, present), *(["nan"] if values.hasnans else [])])


def _range(values: Any) -> str:
    """The range of the numbers in a class, with `nan` beside it where one is missing."""
    present = values.dropna()
    low, high = (present.min(), present.max()) if len(present) else ("nan", "nan")
    cell = f"{high}" if low == high else f"{low}-{high}"
    return f"{cell},nan" if values.hasnans and len(present) else cell
