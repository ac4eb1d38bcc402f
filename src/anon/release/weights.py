# SPDX-License-Identifier: Apache-2.0
"""Sampling weights as a release shows them: what tells a row apart from its class is taken away."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from anon.classes import Classes
from anon.encoding import Encoded
from anon.errors import RecheckError, UsageError
from anon.schema import value_type

Weights = Literal["class-mean", "keep"]


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
    of_row, sizes = encoded.weights[classes.rows], classes.sizes
    starts = classes.offsets[:-1]
    shown = np.zeros(encoded.n_rows, np.float64)
    if pa.types.is_floating(kind):
        shown[classes.rows] = np.repeat(np.add.reduceat(of_row, starts) / sizes, sizes)
    else:
        units = np.rint(of_row * _per_unit(kind)).astype(np.int64)
        least, more = np.divmod(np.add.reduceat(units, starts), sizes)
        place = np.arange(len(units)) - np.repeat(starts, sizes)
        shown[classes.rows] = np.repeat(least, sizes) + (place < np.repeat(more, sizes))
        if pa.types.is_decimal(kind):
            whole = pa.array(shown.astype(np.int64)).cast(pa.decimal128(38, 0))
            return _scaled(whole, kind)
    missing = np.zeros(encoded.n_rows, np.bool_)
    missing[classes.suppressed] = True
    return pa.array(shown, mask=missing).cast(kind)


def _per_unit(kind: pa.DataType) -> float:
    """Units of the last place in one."""
    return float(10**kind.scale) if pa.types.is_decimal(kind) else 1.0


def _scaled(units: pa.Array, kind: pa.DataType) -> pa.Array:
    """Units of the last place as decimals."""
    return pa.array([value.as_py().scaleb(-kind.scale) for value in units], kind)


def alone_with_weight(classes: Classes, weights: npt.NDArray[np.float64]) -> int:
    """Rows whose weight no other row of their class has."""
    of_row = weights[classes.rows]
    order = np.lexsort((of_row, np.repeat(np.arange(classes.n_classes), classes.sizes)))
    ordered = of_row[order]
    new = np.ones(len(ordered) + 1, np.bool_)
    new[1:-1] = ordered[1:] != ordered[:-1]
    new[classes.offsets] = True
    return int(np.count_nonzero(new[:-1] & new[1:]))


def recheck_weights(encoded: Encoded, classes: Classes, shown: pa.Array) -> None:
    """Raise RecheckError unless the weights of each class differ by one unit at most and keep their sum."""
    assert encoded.weights is not None
    before = np.add.reduceat(encoded.weights[classes.rows], classes.offsets[:-1])
    of_row = np.asarray(shown.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False))[classes.rows]
    after = np.add.reduceat(of_row, classes.offsets[:-1])
    low, high = (each.reduceat(of_row, classes.offsets[:-1]) for each in (np.minimum, np.maximum))
    unit = 0.0 if pa.types.is_floating(shown.type) else 1 / _per_unit(shown.type)
    slack = 1e-9 * np.maximum(before, 1)
    wrong = (np.abs(after - before) > slack) | (high - low > unit + slack)
    if wrong.any():
        raise RecheckError(
            f"{int(wrong.sum())} classes show other weights than the mean of their rows; this is a fault of "
            "the tool, nothing was written"
        )
