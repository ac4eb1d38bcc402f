# SPDX-License-Identifier: Apache-2.0
"""The last check of a perturbed table, row by row; it shares no code with the methods."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import log
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from anon.classes import texts
from anon.errors import RecheckError

Numbers = npt.NDArray[np.float64]


def recheck_noise(original: pa.Table, published: pa.Table, metadata: Mapping[str, Any]) -> None:
    """Raise RecheckError unless a perturbed table is what its metadata claims.

    Tested, row by row: other columns are as they were, the same values are missing, and the changed ones
    are what `metadata["kind"]` says. The size of noise that nothing hides is that of its scale: by
    Chernoff's bound a right one fails with probability below 1e-12.
    """
    if original.column_names != published.column_names or original.num_rows != published.num_rows:
        raise _wrong_noise("the perturbed table has other rows or columns", "")
    for name in original.column_names:
        before, after = original.column(name), published.column(name)
        attribute = metadata["attributes"].get(name)
        if attribute is None:
            if not _same_values(before, after):
                raise _wrong_noise("values changed that were to stay", name)
            continue
        if metadata["kind"] == "pram":
            wrong = _wrong_draws(before, after, attribute)
        elif metadata["kind"] == "record-swap":
            wrong = _wrong_places(before, after, attribute)
        else:
            truth, perturbed = _floats(before), _floats(after)
            if not np.array_equal(np.isnan(truth), np.isnan(perturbed)):
                raise _wrong_noise("other values are missing", name)
            truth, perturbed = truth[~np.isnan(truth)], perturbed[~np.isnan(perturbed)]
            wrong = _WRONG[metadata["kind"]](truth, perturbed, attribute)
        if wrong:
            raise _wrong_noise("the perturbation is not what it claims to be", name)


def _wrong_laplace(truth: Numbers, perturbed: Numbers, attribute: Mapping[str, Any]) -> bool:
    """Numbers not finite, outside bounds, not rounded as claimed, or further off than by the scale."""
    lower, upper = attribute["bounds"]
    if not np.isfinite(perturbed).all():
        return True
    if attribute["clamped"]:
        return bool(((perturbed < lower) | (perturbed > upper)).any())
    if attribute["rounding"] is not None:
        return bool((np.round(perturbed, attribute["rounding"]) != perturbed).any())
    noise = np.abs(perturbed - (np.clip(truth, lower, upper) if attribute["clipped"] else truth))
    size = max(float(noise.mean()) / attribute["scale"], 1e-9) if len(noise) else 1.0
    return len(noise) * (size - 1 - log(size)) > 28


def _wrong_normal(truth: Numbers, perturbed: Numbers, attribute: Mapping[str, Any]) -> bool:
    """Numbers that are not finite, or whose distance from the truth has another variance."""
    owner = attribute["owner"]
    if not np.isfinite(perturbed).all():
        return True
    noise = (perturbed - owner["factor"] * truth - owner["shift"]) / owner["scale"]
    size = max(float(np.mean(noise**2)), 1e-18) if len(noise) else 1.0
    return len(noise) / 2 * (size - 1 - log(size)) > 28


def _wrong_shuffle(truth: Numbers, perturbed: Numbers, attribute: Mapping[str, Any]) -> bool:
    """Other values than before, or not as often."""
    return not np.array_equal(np.sort(truth), np.sort(perturbed))


def _wrong_swap(truth: Numbers, perturbed: Numbers, attribute: Mapping[str, Any]) -> bool:
    """The same, or a value further away than the greatest difference of ranks."""
    window, ordered = attribute["owner"]["window"], np.sort(truth)
    rank = np.empty(len(truth), np.int64)
    rank[np.argsort(truth, kind="stable")] = np.arange(len(truth))
    low = ordered[np.maximum(rank - window, 0)]
    high = ordered[np.minimum(rank + window, len(truth) - 1)]
    return _wrong_shuffle(truth, perturbed, attribute) or bool(((perturbed < low) | (perturbed > high)).any())


def _wrong_places(before: pa.ChunkedArray, after: pa.ChunkedArray, attribute: Mapping[str, Any]) -> bool:
    """A household in several places, or other numbers of households in them."""
    household = attribute["owner"]["household"]
    first = np.unique(household, return_index=True)[1]
    old, new = _plain(before), _plain(after)
    if not _same_values(new, new.take(pa.array(first[household]))):
        return True
    counts = [
        {
            repr(each["values"]): each["counts"]
            for each in column.take(pa.array(first)).value_counts().to_pylist()
        }
        for column in (old, new)
    ]
    return counts[0] != counts[1]


def _wrong_draws(before: pa.ChunkedArray, after: pa.ChunkedArray, attribute: Mapping[str, Any]) -> bool:
    """A missing value that was none, or the reverse, or a value that the matrices never draw."""
    pairs = pa.table({"before": _plain(before), "after": _plain(after)}).group_by(["before", "after"])
    code = {value: at for at, value in enumerate(attribute["values"])}
    matrices = [attribute["matrix"]] if "matrix" in attribute else list(attribute["matrices"].values())
    possible = np.max(np.array(matrices, np.float64), axis=0) > 0
    columns = [column.combine_chunks() for column in pairs.aggregate([]).select(["before", "after"]).columns]
    if not np.array_equal(*(column.is_null().to_numpy(zero_copy_only=False) for column in columns)):
        return True
    truth, perturbed = (texts(column.drop_null()) for column in columns)
    return not all(b in code and possible[code[a], code[b]] for a, b in zip(truth, perturbed, strict=True))


_WRONG: dict[str, Callable[[Numbers, Numbers, Mapping[str, Any]], bool]] = {
    "laplace": _wrong_laplace,
    "noise": _wrong_normal,
    "rank-swap": _wrong_swap,
    "shuffle": _wrong_shuffle,
}


def _same_values(before: pa.ChunkedArray, after: pa.ChunkedArray) -> bool:
    """Are the values the same, one not-a-number being another?"""
    if before.equals(after):
        return True
    if pa.types.is_floating(before.type):
        return np.array_equal(before.to_numpy(), after.to_numpy(), equal_nan=True)
    return repr(before.to_pylist()) == repr(after.to_pylist())


def _floats(column: pa.ChunkedArray) -> npt.NDArray[np.float64]:
    """Numbers as float64, missing ones as not-a-number."""
    return np.asarray(_plain(column).cast(pa.float64(), safe=False).to_numpy(), dtype=np.float64)


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The values, no longer by dictionary."""
    return column.cast(column.type.value_type if pa.types.is_dictionary(column.type) else column.type)


def _wrong_noise(what: str, name: str) -> RecheckError:
    where = f"column {name!r}: " if name else ""
    return RecheckError(f"{where}{what}; this is a fault of the tool, nothing was written")
