# SPDX-License-Identifier: Apache-2.0
"""Sampling weights as a release shows them: what tells a row apart from its class is taken away."""

from __future__ import annotations

import decimal
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from anon.classes import Classes
from anon.encoding import Encoded
from anon.errors import RecheckError, UsageError
from anon.schema import value_type

Weights = Literal["class-mean", "keep"]
MOST_EXACT = 2.0**53  # below it every whole number is a float64
DIGITS = 100  # more than a sum of Arrow's longest decimals has


def check_weights(weights: Any) -> None:
    """Raise UsageError unless this is a way to publish sampling weights."""
    if weights not in get_args(Weights):
        raise UsageError(f"weights must be one of {', '.join(get_args(Weights))}")


def class_means(encoded: Encoded, classes: Classes) -> pa.Array:
    """For every row of the table the mean weight of its class, in the type of the column (null: suppressed).

    Whole numbers and decimals keep the sum of each class: its first rows, in the order of publication, which
    is drawn at random, get one unit of the last place more.
    """
    assert encoded.weights is not None
    assert encoded.schema.sampling_weight is not None
    kind = value_type(encoded.table.schema.field(encoded.schema.sampling_weight).type)
    sizes, starts = classes.sizes, classes.offsets[:-1]
    if pa.types.is_floating(kind):
        of_class = _means(encoded.weights, classes)
        means = np.zeros(encoded.n_rows, np.float64)
        means[classes.rows] = np.repeat(of_class, sizes)
        return pa.array(means, mask=_suppressed(encoded, classes)).cast(kind, safe=False)
    units = _units(encoded, encoded.schema.sampling_weight, kind)
    totals = np.add.reduceat(units[classes.rows], starts)
    place = np.arange(len(classes.rows)) - np.repeat(starts, sizes)
    of_row = np.zeros(encoded.n_rows, units.dtype)
    of_row[classes.rows] = np.repeat(totals // sizes, sizes) + (place < np.repeat(totals % sizes, sizes))
    missing = _suppressed(encoded, classes)
    if pa.types.is_decimal(kind):
        return _scaled(of_row, missing, kind)
    return pa.array(of_row, kind, mask=missing)


def _suppressed(encoded: Encoded, classes: Classes) -> npt.NDArray[np.bool_]:
    missing = np.zeros(encoded.n_rows, np.bool_)
    missing[classes.suppressed] = True
    return missing


def _means(of_row: npt.NDArray[np.float64], classes: Classes) -> npt.NDArray[np.float64]:
    """The mean of each class, whose sum may overflow; `of_row` is in the order of the table, in which it is
    added up: that of `classes.rows` is drawn at random, and would show in the last digits.
    """
    n, sizes, starts = classes.n_classes, np.append(classes.sizes, 1), classes.offsets[:-1]
    class_of = np.full(len(of_row), n)
    class_of[classes.rows] = np.repeat(np.arange(n), classes.sizes)
    means = np.bincount(class_of, of_row / sizes[class_of], n + 1)[:n]
    inside = of_row[classes.rows]
    return np.clip(means, np.minimum.reduceat(inside, starts), np.maximum.reduceat(inside, starts))


def _units(encoded: Encoded, name: str, kind: pa.DataType) -> npt.NDArray[Any]:
    """The weight of every row in units of the last place: int64, or ints of Python where sums need more."""
    assert encoded.weights is not None
    scale = kind.scale if pa.types.is_decimal(kind) else 0
    if encoded.weights.sum() * 10.0**scale < MOST_EXACT:
        return np.rint(encoded.weights * 10.0**scale).astype(np.int64)
    whole = encoded.table.select([name])
    column = (whole if isinstance(whole, pa.Table) else whole.whole()).column(name).cast(kind)
    with decimal.localcontext(prec=DIGITS):
        return np.array([int(decimal.Decimal(each).scaleb(scale)) for each in column.to_pylist()], object)


def _scaled(units: npt.NDArray[Any], missing: npt.NDArray[np.bool_], kind: pa.DataType) -> pa.Array:
    """Units of the last place as decimals."""
    with decimal.localcontext(prec=DIGITS):
        return pa.array(
            [
                None if gone else decimal.Decimal(int(each)).scaleb(-kind.scale)
                for each, gone in zip(units, missing, strict=True)
            ],
            kind,
        )


def alone_with_weight(classes: Classes, weights: npt.NDArray[np.float64]) -> int:
    """Rows whose weight no other row of their class has."""
    of_row = weights[classes.rows]
    order = np.lexsort((of_row, np.repeat(np.arange(classes.n_classes), classes.sizes)))
    ordered = of_row[order]
    new = np.ones(len(ordered) + 1, np.bool_)
    new[1:-1] = ordered[1:] != ordered[:-1]
    new[classes.offsets] = True
    return int(np.count_nonzero(new[:-1] & new[1:]))


def note_on_kept_weights(name: str | None, alone: int, n_rows: int) -> str:
    """The warning of weights that are published as they are."""
    return (
        f"column {name!r} keeps its weights, with which {alone} of {n_rows} "
        'rows are alone in their class; weights="class-mean" shows the mean of each class'
    )


def recheck_weights(encoded: Encoded, classes: Classes, published: pa.Array) -> None:
    """Raise RecheckError unless the weights of each class differ by one unit at most and keep their mean."""
    assert encoded.weights is not None
    of_class = np.repeat(np.arange(classes.n_classes), classes.sizes)
    of_row = np.asarray(published.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False))[classes.rows]
    before, after = (
        np.bincount(of_class, each / classes.sizes[of_class], classes.n_classes)
        for each in (encoded.weights[classes.rows], of_row)
    )
    low, high = (each.reduceat(of_row, classes.offsets[:-1]) for each in (np.minimum, np.maximum))
    unit, slack = 0.0, 1e-9 * before
    if pa.types.is_floating(published.type):
        of_type = np.finfo(published.type.to_pandas_dtype())
        slack = np.maximum(slack, float(of_type.eps) * before) + float(of_type.smallest_subnormal)
    elif pa.types.is_decimal(published.type):
        unit = 10.0**-published.type.scale
    else:
        unit = 1.0
    right = (np.abs(after - before) <= slack) & (low > 0) & (high - low <= unit + slack)
    wrong = ~right
    if wrong.any():
        raise RecheckError(
            f"{int(wrong.sum())} classes show other weights than the mean of their rows; this is a fault of "
            "the tool, nothing was written"
        )
