# SPDX-License-Identifier: Apache-2.0
"""`pycanon.metrics`: class sizes, what was lost, risk, and the values of a column."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from anon.classes import group, sensitive_counts
from anon.compat.pycanon.anonymity import measured
from anon.encoding import encode
from anon.errors import UsageError
from anon.schema import Schema
from anon.tables import read_table


def average_ecsize(data_raw: Any, data_anon: Any, quasi_ident: Iterable[str], sup: bool = True) -> float:
    """C_avg: rows per class over k. `sup=False` counts the rows of the raw table."""
    privacy = measured(data_anon, quasi_ident)
    n_rows = privacy.n_rows if sup else read_table(data_raw).num_rows
    return n_rows / (privacy.n_classes * privacy.k)


def classification_metric(
    data_raw: Any, data_anon: Any, quasi_ident: Iterable[str], sens_att: Iterable[str]
) -> float:
    """Share of the raw rows that are suppressed or whose sensitive value is not their class's most frequent.

    Several sensitive attributes are taken as one, their combination. pycanon counts no row of a class
    whose most frequent values tie, and pools the values of several attributes.
    """
    encoded = encode(read_table(data_anon), Schema(list(quasi_ident), list(sens_att)))
    classes = group(encoded.quasi_codes)
    values = group(encoded.sensitive_codes)
    of_row = np.empty(encoded.n_rows, np.uint32)
    of_row[values.rows] = np.repeat(np.arange(values.n_classes, dtype=np.uint32), values.sizes)
    counts = sensitive_counts(classes, of_row, values.n_classes)
    n_raw = read_table(data_raw).num_rows
    most_frequent = np.maximum.reduceat(counts.counts, counts.offsets[:-1]).sum()
    return float((n_raw - most_frequent) / n_raw)


def discernability_metric(data_raw: Any, data_anon: Any, quasi_ident: Iterable[str]) -> int:
    """Sum of squared class sizes, and for each suppressed row the rows of the raw table."""
    sizes = _sizes(data_anon, quasi_ident)
    n_raw: int = read_table(data_raw).num_rows
    return int((sizes**2).sum()) + (n_raw - int(sizes.sum())) * n_raw


def sizes_ec(data: Any, quasi_ident: Iterable[str]) -> dict[str, float]:
    """Number of classes, and the least, greatest, mean and median of their sizes."""
    privacy = measured(data, quasi_ident)
    return {
        "n_ec": privacy.n_classes,
        "min_ec": privacy.sizes.min,
        "max_ec": privacy.sizes.max,
        "mean_ec": privacy.sizes.mean,
        "median_ec": privacy.sizes.median,
    }


def stats_quasi_ident(data: Any, quasi_ident: str) -> dict[str, Any]:
    """The most and the least frequent value of a column (ties: the lowest); of numbers, their moments too."""
    table = read_table(data)
    if quasi_ident not in table.column_names:
        raise UsageError(f"{quasi_ident!r} is not a column of the table")
    column = table[quasi_ident].drop_null().to_numpy()
    if len(column) == 0:
        return {}
    values, counts = np.unique(column, return_counts=True)
    stats: dict[str, Any] = {
        "max_freq_value": values[counts.argmax()],
        "max_freq": counts.max(),
        "min_freq_value": values[counts.argmin()],
        "min_freq": counts.min(),
    }
    if np.issubdtype(column.dtype, np.number):
        stats |= {
            "mean": column.mean(),
            "median": np.median(column),
            "std": column.std(),
            "var": column.var(),
        }
    return stats


def average_rir(data_anon: Any, quasi_ident: Iterable[str]) -> float:
    """Mean over classes of 1/size. (`anon.check` gives the mean over rows: classes / rows.)"""
    return float((1 / _sizes(data_anon, quasi_ident)).mean())


def max_rir(data_anon: Any, quasi_ident: Iterable[str]) -> float:
    """Greatest re-identification risk: 1/k."""
    return 1 / measured(data_anon, quasi_ident).k


def sa_entropy(data_anon: Any, sens_attr: str) -> float:
    """Entropy of a sensitive attribute's values in the table, in nats."""
    table = read_table(data_anon)
    if sens_attr not in table.column_names:
        raise UsageError(f"Values not defined: {[sens_attr]}. Cannot be sensitive attributes")
    counts = np.asarray(table[sens_attr].value_counts().field("counts"))
    shares = counts / counts.sum()
    return float(-(shares * np.log(shares)).sum())


def _sizes(data: Any, quasi_ident: Iterable[str]) -> npt.NDArray[np.int64]:
    per_class = measured(data, quasi_ident, per_class=True).per_class
    assert per_class is not None
    return np.asarray(per_class["size"])
