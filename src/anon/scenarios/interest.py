# SPDX-License-Identifier: Apache-2.0
"""What users and adversaries want of a prediction: error functions, distances, nearness, and weights.

Sramka et al. 2010: E and w (2.3), Delta, c %-nearer and v (2.4). A user's own functions are compiled by
Numba (extra `eval`) and called without Python; nothing written as text is evaluated.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from anon.classes import Cells, labels, measures, reach, texts
from anon.encoding import Domain, Encoded
from anon.errors import UsageError
from anon.measures import matching_rows, parse_queries
from anon.schema import lca

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_RULE = re.compile(
    r"\s*(?P<inside>[-+.\dEe]+)(?:\s+where\s+(?P<query>.+?)(?:\s+else\s+(?P<outside>[-+.\dEe]+))?)?\s*",
    re.DOTALL,
)


# --- error functions: the utility of one prediction


@dataclass(frozen=True)
class Accuracy:
    """1 where the prediction is right, else 0."""


@dataclass(frozen=True)
class AbsoluteError:
    """1 - |predicted - true| / scale, of numbers; `scale` is the range of the original if None."""

    scale: float | None = None

    def __post_init__(self) -> None:
        if self.scale is not None and not self.scale > 0:
            raise UsageError("the scale of an absolute error must be above 0")


@dataclass(frozen=True)
class NoFalseNegatives:
    """1 where the prediction is right or errs on the safe side, else `penalty` (Sramka et al. 2.3).

    A number is on the safe side where it is not below the truth, a label where it is `positive`.
    """

    positive: str | None = None
    penalty: float = 0.0

    def __post_init__(self) -> None:
        if not math.isfinite(self.penalty):
            raise UsageError("penalty must be a finite number")


@dataclass(frozen=True)
class CostMatrix:
    """`values[true][predicted]`, of labels; pairs that are not listed are worth 0."""

    values: Mapping[str, Mapping[str, float]]

    def __post_init__(self) -> None:
        rows = self.values.values() if isinstance(self.values, Mapping) else [None]
        worths = [each for row in rows for each in (row.values() if isinstance(row, Mapping) else [None])]
        if not all(isinstance(each, int | float) and math.isfinite(each) for each in worths):
            raise UsageError("a cost matrix maps true labels to predicted labels to finite numbers")


ErrorFunction = Accuracy | AbsoluteError | NoFalseNegatives | CostMatrix | Callable[[Any, Any], float]
ERRORS: dict[str, type[Any]] = {
    "accuracy": Accuracy,
    "absolute-error": AbsoluteError,
    "no-false-negatives": NoFalseNegatives,
    "cost-matrix": CostMatrix,
}
"""The error functions that have names."""


def of_numbers(error: ErrorFunction, predicted: Floats, true: Floats, domain: Domain) -> Floats:
    """E(predicted, true) of numbers, in the units of the column."""
    match error:
        case Accuracy():
            return np.asarray(predicted == true, np.float64)
        case AbsoluteError(scale):
            values = values_of(domain)
            width = float(values[-1] - values[0]) if scale is None else scale
            return 1 - np.abs(predicted - true) / (width or 1.0)
        case NoFalseNegatives(None, penalty):
            return np.where(predicted >= true, 1.0, penalty)
        case NoFalseNegatives():
            raise UsageError(f"column {domain.name!r} is numeric: no label of it is positive")
        case CostMatrix():
            raise UsageError(f"column {domain.name!r} is numeric: a cost matrix is for labels")
    return applied(error, predicted, true)


def of_labels(error: ErrorFunction, predicted: Ints, true: Ints, cells: Cells, domain: Domain) -> Floats:
    """E(predicted, true) of labels: the numbers of cells, and codes of the original's domain.

    A cell that is no single value is never right; a function of the user's is told its text.
    """
    single = np.where(single_values(cells), cells.low.astype(np.int64), -1)
    codes = single[predicted]
    match error:
        case Accuracy():
            return np.asarray(codes == true, np.float64)
        case AbsoluteError():
            raise UsageError(f"column {domain.name!r} holds labels: an absolute error is for numbers")
        case NoFalseNegatives(None, penalty) if domain.kind == "ordinal":
            return np.where(codes >= true, 1.0, penalty)
        case NoFalseNegatives(None):
            raise UsageError(f"column {domain.name!r} holds labels: name the one that is positive")
        case NoFalseNegatives(positive, penalty):
            right = (codes == true) | (codes == _code_of(domain, str(positive)))
            return np.where(right, 1.0, penalty)
        case CostMatrix(values):
            worth = np.zeros((domain.n_values, domain.n_values + 1))  # the last column: no single value
            for truth, row in values.items():
                for label, value in row.items():
                    worth[_code_of(domain, truth), _code_of(domain, label)] = value
            return worth[true, codes]
    words = texts(domain.values)
    published = [words[code] if code >= 0 else text for code, text in zip(single, _texts(cells), strict=True)]
    pairs, of_row = np.unique(np.stack([predicted, true]), axis=1, return_inverse=True)
    worth = applied(error, np.array(published)[pairs[0]], np.array(words)[pairs[1]])
    return np.asarray(worth[of_row.reshape(-1)])


def _code_of(domain: Domain, label: str) -> int:
    words = texts(domain.values)
    if label not in words:
        raise UsageError(f"column {domain.name!r} has no value {label!r}, which the error function names")
    return words.index(label)


def _texts(cells: Cells) -> list[str]:
    levelled = cells.domain.kind == "numeric" and cells.domain.levels is not None
    return list(labels(cells, "level" if levelled else "interval").to_pylist())


# --- distances


def single_values(cells: Cells) -> Bools:
    """Which distinct cells are one value, and cannot be missing; an interval that holds others is none.

    What decides is how an interval is published, not which of its values the table has: [90, 95) is no
    single age where nobody is older than 90.
    """
    single = (cells.low == cells.high) & ~cells.null
    domain = cells.domain
    if domain.kind == "numeric" and domain.levels is not None and domain.n_values:
        low, high = (np.minimum(codes, domain.n_values - 1) for codes in (cells.low, cells.high))
        # -1 (no level holds the cell) picks the whole domain
        single &= np.append(domain.levels.single, domain.n_values == 1)[domain.levels.interval_of(low, high)]
    return np.asarray(single)


def values_of(domain: Domain) -> Floats:
    """The values of a numeric domain in the units of the column; dates and times in ticks of their type."""
    numbers, per_unit = measures(domain.values)
    return np.asarray(numbers, dtype=np.float64) / per_unit


def ends_of(cells: Cells) -> tuple[Floats, Floats]:
    """Where each distinct cell of a numeric attribute begins and ends, in the units of the column."""
    values, empty = values_of(cells.domain), cells.low > cells.high
    reached = reach(cells, by_level=True)
    assert reached is not None
    if not len(values):
        return reached
    low, high = (values[np.where(empty, 0, codes)] for codes in (cells.low, cells.high))
    positions = cells.domain.positions
    if cells.domain.levels is None or positions is None or not positions[-1] > 0:
        return low, high
    unit = (values[-1] - values[0]) / positions[-1]
    return values[0] + reached[0] * unit, values[0] + reached[1] * unit


def on_lattice(numbers: Floats, domain: Domain) -> Floats:
    """Predictions as values that the attribute can have: whole numbers, days, or of its scale."""
    if not domain.unit_lattice:
        return numbers
    kind = domain.values.type
    return np.round(numbers, max(kind.scale, 0) if pa.types.is_decimal(kind) else 0)


def distances(cells: Cells, cell_of_row: Ints, true: Ints, distance: Any = None) -> Floats:
    """Delta(cell, truth) per row, of the numbers of cells and codes of the domain (spec 5).

    On a line the length of the cell, infinite where it does not hold the truth; of labels the NCP of the
    lowest common ancestor, or of the set with the truth added. `distance` is a function of both ends of
    the cell and the true number.
    """
    domain = cells.domain
    pairs, of_row = np.unique(np.stack([cell_of_row, true]), axis=1, return_inverse=True)
    number, code = pairs
    low, high = cells.low[number].astype(np.int64), cells.high[number].astype(np.int64)
    if distance is not None and domain.kind != "numeric":
        raise UsageError(f"column {domain.name!r} holds labels: a distance of one's own is for numbers")
    if domain.kind == "nominal":
        apart = (_n_values(cells, number, code) - 1) / max(domain.n_values - 1, 1)
    elif distance is not None:
        lower, upper = ends_of(cells)
        apart = applied(distance, lower[number], upper[number], values_of(domain)[code])
    else:
        reached = reach(cells, by_level=True)
        assert reached is not None
        apart = np.where((low <= code) & (code <= high), (reached[1] - reached[0])[number], np.inf)
    apart = np.where(low > high, np.inf, apart)
    return np.asarray(apart[of_row.reshape(-1)], dtype=np.float64)


def _n_values(cells: Cells, number: Ints, code: Ints) -> Ints:
    """Values of a cell with one more value added: leaves below the common ancestor, or of the union."""
    tree = cells.domain.tree
    if tree is None:
        assert cells.set_offsets is not None
        assert cells.set_codes is not None
        sizes = np.diff(cells.set_offsets)
        n_codes = max(cells.domain.n_values, 1)
        members = np.repeat(np.arange(len(sizes)), sizes) * n_codes + cells.set_codes
        return np.asarray(sizes[number] + ~np.isin(number * n_codes + code, members))
    low, high = cells.low[number].astype(np.int64), cells.high[number].astype(np.int64)
    empty = low > high
    low, high = np.where(empty, code, low), np.where(empty, code, high)
    above = lca(tree, np.minimum(low, code), np.maximum(high, code))
    return np.asarray(tree.last[above].astype(np.int64) - tree.first[above] + 1)


def nearer(predicted: Floats, published: Floats, exact: Bools, nearness: float) -> Bools:
    """Which predictions are c %-nearer to the truth than what is shown (Sramka et al. 2.4).

    c = 100 asks for the truth itself, c = 0 for a strictly smaller distance.
    """
    if nearness == 100:
        return exact
    known = np.isfinite(predicted)
    if nearness == 0:
        return known & (predicted < published)
    return known & (100 * predicted <= (100 - nearness) * published)


# --- weights


Weight = None | str | Callable[[Any], float] | npt.NDArray[Any]


def weights(weight: Weight, encoded: Encoded) -> Floats:
    """The weight of every row of the original: 1, a rule, an array, or a function of a row's record.

    A rule is `10`, `10 where sex=Female & age>=55`, or with `else 0` behind it; without, other rows
    weigh 1. A record has a field per column, as `x.age` or `x["age"]`: a number (not-a-number where it is
    missing), or text (empty where it is). `encoded` has every column as a quasi-identifier.
    """
    n_rows = encoded.n_rows
    if weight is None:
        return np.ones(n_rows)
    if isinstance(weight, str):
        by_row = _rule(weight, encoded)
    elif callable(weight):
        by_row = applied(weight, _records(encoded))
    else:
        try:
            by_row = np.asarray(weight, dtype=np.float64)
        except (TypeError, ValueError):
            raise UsageError("a weight is a rule, a function of a row, or one number per row") from None
        if by_row.shape != (n_rows,):
            raise UsageError(f"weights must be one number for each of the {n_rows} rows")
    if not np.isfinite(by_row).all():
        raise UsageError("weights must be finite numbers")
    return by_row


def _rule(text: str, encoded: Encoded) -> Floats:
    match = _RULE.fullmatch(text)
    try:
        if match is None:
            raise ValueError
        inside, outside = float(match["inside"]), float(match["outside"] or 1)
    except ValueError:
        raise UsageError(
            f"the weight {text!r} is no rule such as 10 where sex=Female & age>=55 else 0"
        ) from None
    if match["query"] is None:
        return np.full(encoded.n_rows, inside)
    chosen = matching_rows(parse_queries(encoded, [match["query"]]), 0, encoded)
    return np.where(chosen, inside, outside)


def _records(encoded: Encoded) -> npt.NDArray[Any]:
    columns: dict[str, npt.NDArray[Any]] = {}
    for domain, codes in zip(encoded.quasi, encoded.quasi_codes, strict=True):
        measurable = domain.kind == "numeric" and not pa.types.is_temporal(domain.values.type)
        values = np.append(values_of(domain), np.nan) if measurable else np.array([*texts(domain.values), ""])
        columns[domain.name] = values[codes]
    records = np.empty(encoded.n_rows, [(name, values.dtype) for name, values in columns.items()])
    for name, values in columns.items():
        records[name] = values
    return records


# --- compiled functions


def applied(function: Any, *columns: npt.NDArray[Any]) -> Floats:
    """A user's function of one to three arguments on every row (float64), compiled by Numba.

    Raises UsageError where it cannot be compiled, or gives something that is no number.
    """
    name = getattr(function, "__name__", type(function).__name__)
    out = np.empty(len(columns[0]))
    try:
        numba = import_module("numba")
    except ImportError:
        raise UsageError("functions of one's own need Numba: pip install 'anon[eval]'") from None
    try:
        _loop(function, len(columns))(out, *columns)
    except numba.core.errors.NumbaError:
        raise UsageError(
            f"Numba cannot compile the function {name!r} for {len(columns)} arguments and a number as result"
        ) from None
    except Exception as error:
        raise UsageError(f"the function {name!r} failed: {type(error).__name__}") from None
    if np.isnan(out).any():
        raise UsageError(f"the function {name!r} gives something that is no number")
    return out


@lru_cache(32)
def _loop(function: Any, n_arguments: int) -> Any:
    """A compiled loop over rows."""
    numba = import_module("numba")
    called = function if hasattr(function, "py_func") else numba.njit(function)

    def one(out: Any, a: Any) -> None:
        for i in range(len(out)):
            out[i] = called(a[i])

    def two(out: Any, a: Any, b: Any) -> None:
        for i in range(len(out)):
            out[i] = called(a[i], b[i])

    def three(out: Any, a: Any, b: Any, c: Any) -> None:
        for i in range(len(out)):
            out[i] = called(a[i], b[i], c[i])

    return numba.njit({1: one, 2: two, 3: three}[n_arguments], nogil=True)
