# SPDX-License-Identifier: Apache-2.0
"""The last check of a release: its published cells are read back and everything is tested anew.

Shares no code with the methods or the requirement kernels, only NumPy and the reader of cells.
Requirements are known by the names of their classes and fields. Definitions: `docs` on
requirements; decisions are exact on integers, logarithms pass within 1e-12, S-diversity within 1e-9.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, log
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from anon.cells import Cell, Column, reader
from anon.classes import Classes
from anon.encode import Codes, Domain, Encoded, available_threads, in_threads
from anon.errors import RecheckError

Ints = npt.NDArray[Any]  # int64, or Python integers where those could overflow
Bools = npt.NDArray[np.bool_]

_ROWS_AT_ONCE = 1 << 18
_SAFE = 2**62


def recheck(
    encoded: Encoded,
    classes: Classes,
    published: Sequence[Sequence[Column]],
    requirements: Sequence[Any],
    *,
    numeric: str = "interval",
    n_threads: int | None = None,
) -> None:
    """Raise RecheckError unless the release is what it claims to be.

    `published[i]` are the columns shown of the i-th quasi-identifier, none if it is left intact
    (then every class is a bucket). Tested: every row is in exactly one class or suppressed; each
    class's cells are those of its rows; classes that look alike, taken together, meet every requirement.
    """
    _check_rows(encoded, classes)
    shown = []
    facts = _facts(encoded, classes, published, n_threads)
    for domain, codes, columns, fact in zip(
        encoded.quasi, encoded.quasi_codes, published, facts, strict=True
    ):
        if columns:
            _check_cells(domain, codes, classes, columns, numeric, fact)
            shown += [_identities(column) for column in columns]
    group_of, n_groups = _groups(shown, classes.n_classes)
    if not n_groups:
        return
    sensitive = zip(encoded.sensitive, encoded.sensitive_codes, strict=True)
    known = {domain.name: (domain, codes) for domain, codes in sensitive}
    _check_requirements(requirements, known, classes, group_of, n_groups)


def misread(
    classes: Classes,
    rows: npt.NDArray[np.uint32],
    of_row: npt.NDArray[np.uint32],
    shown: Mapping[str, tuple[Column, Codes]],
    kept: Mapping[str, tuple[Codes, Codes]],
) -> tuple[str, int] | None:
    """The first column of a file some of whose values were read as others, and its rows that hold them.

    `classes` are the file's rows by what was read of their cells; row i of the file was written from row
    `rows[i]` of the table, in class `of_row[i]`. `shown` gives for each column of cells what was written
    and the code read in each row of the file; `kept` for each other column the codes of the table's rows
    and those read. Two values that are read as one are found, and one that is read as two. Raises
    RecheckError where rows stand in other classes although every column was read as it was written.
    """
    for name, (codes, read) in kept.items():
        if count := _n_unlike(codes[rows], read):
            return name, count
    if not shown:
        return None
    written = {name: _identities(column) for name, (column, _) in shown.items()}
    group_of, n_groups = _groups(list(written.values()), len(next(iter(written.values()))))
    a_row = np.zeros(len(group_of), np.uint32)
    a_row[of_row] = np.arange(len(of_row), dtype=np.uint32)
    alike = n_groups == classes.n_classes
    for name, (_, read) in shown.items():
        alike &= not _n_unlike(written[name], read[a_row])
    for first, last in _chunks(classes.offsets) if alike else ():
        of_file, starts = _inside(of_row, classes, first, last)
        group = group_of[of_file]
        alike &= np.array_equal(np.minimum.reduceat(group, starts), np.maximum.reduceat(group, starts))
    for name, (_, read) in shown.items() if not alike else ():
        if count := _n_unlike(written[name][of_row], read):
            return name, count
    if not alike:
        raise RecheckError("the rows of the file stand in other classes than those of the release")
    return None


def _n_unlike(before: npt.NDArray[Any], after: npt.NDArray[Any]) -> int:
    """Rows of values that do not stand for one another alone, in codes before and after."""
    n_before, n_after = int(before.max(initial=0)) + 1, int(after.max(initial=0)) + 1
    read_as, written_as = np.zeros(n_before, after.dtype), np.zeros(n_after, before.dtype)
    one = True
    parts = [slice(start, start + _ROWS_AT_ONCE) for start in range(0, len(before), _ROWS_AT_ONCE)]
    for part in parts:
        read_as[before[part]] = after[part]
        written_as[after[part]] = before[part]
    for part in parts:
        one &= np.array_equal(read_as[before[part]], after[part])
        one &= np.array_equal(written_as[after[part]], before[part])
    if one:
        return 0
    pairs = np.unique(before.astype(np.int64) * n_after + after)
    n_reads, n_writes = (np.bincount(codes) for codes in np.divmod(pairs, n_after))
    return int(np.count_nonzero((n_reads[before] > 1) | (n_writes[after] > 1)))


def recheck_file(
    classes: Classes, sensitive: Sequence[Domain], codes: Sequence[Codes], requirements: Sequence[Any]
) -> None:
    """Raise RecheckError unless the classes of a file, with sensitive values as read, meet everything.

    A user's own test is of the original's values, which a file may show otherwise; it is left out.
    """
    known = {domain.name: (domain, column) for domain, column in zip(sensitive, codes, strict=True)}
    _check_requirements(
        [each for each in requirements if type(each).__name__ != "Custom"],
        known,
        classes,
        np.arange(classes.n_classes),
        classes.n_classes,
    )


def _check_requirements(
    requirements: Sequence[Any],
    sensitive: Mapping[str, tuple[Domain, Codes]],
    classes: Classes,
    group_of: npt.NDArray[np.int64],
    n_groups: int,
) -> None:
    """Raise RecheckError unless every group of classes meets every requirement."""
    sizes = np.bincount(group_of, weights=classes.sizes, minlength=n_groups).astype(np.int64)
    counts: dict[str, _Counts] = {}
    for requirement in requirements:
        if type(requirement).__name__ != "KAnonymity":
            only = getattr(requirement, "sensitive", None)
            for name, (domain, codes) in sensitive.items():
                if name not in counts and only in (None, name):
                    counts[name] = _count(domain, codes, classes, group_of, n_groups)
        passes = _passing(requirement, sizes, counts)
        if not passes.all():
            raise unmet(requirement, int((~passes).sum()), n_groups)


def _passing(requirement: Any, sizes: npt.NDArray[np.int64], counts: Mapping[str, _Counts]) -> Bools:
    """Which classes meet a requirement: their sizes, and the counts of every attribute that it tests."""
    name = type(requirement).__name__
    passes = np.asarray(sizes >= getattr(requirement, "k", 1))
    test = _TESTS.get(name)
    if test is not None:
        only = getattr(requirement, "sensitive", None)
        asked = [one for attribute, one in counts.items() if only in (None, attribute)]
        if not asked:
            raise RecheckError(f"{requirement!r} was not tested: there is no such sensitive attribute")
        passes &= test(requirement, asked)
    elif name != "KAnonymity":
        raise RecheckError(f"{requirement!r} was not tested: this check does not know it")
    return passes


def failing_groups(
    requirements: Sequence[Any],
    sizes: npt.NDArray[np.int64],
    entries: Mapping[str, tuple[Domain, Ints, Ints, Ints]],
    totals: Mapping[str, npt.NDArray[np.int64]],
) -> list[int]:
    """How many of some groups of rows do not meet each requirement, told by counts alone.

    `sizes` are the rows of each group; `entries` give for each sensitive attribute its domain and the
    group, code and number of rows of each pair that occurs, sorted by group and code; `totals` the
    rows with each code in the whole release, of which these groups may be a part.
    """
    counts = {
        name: _Counts(
            domain, group, value, count, np.searchsorted(group, np.arange(len(sizes))), sizes, totals[name]
        )
        for name, (domain, group, value, count) in entries.items()
    }
    return [int((~_passing(one, sizes, counts)).sum()) for one in requirements]


def unmet(requirement: Any, n_failing: int, n_classes: int) -> RecheckError:
    """The error for a release some of whose classes do not meet a requirement."""
    return RecheckError(
        f"{n_failing} of {n_classes} classes do not meet {requirement!r} as published; "
        "this is a fault of the tool, nothing was written"
    )


# Noise


def recheck_noise(original: pa.Table, published: pa.Table, told: Mapping[str, Any]) -> None:
    """Raise RecheckError unless a table with noise is what its metadata claims.

    Tested, row by row: columns without noise are as they were, the same values are missing, numbers
    are finite, and inside the bounds or rounded where that is claimed. The mean size of the noise
    itself, where neither hides it, is that of its scale: by Chernoff's bound on a sum of exponential
    variables a right one fails with probability below 1e-12.
    """
    if original.column_names != published.column_names or original.num_rows != published.num_rows:
        raise _wrong_noise("the table with noise has other rows or columns", "")
    for name in original.column_names:
        before, after = original.column(name), published.column(name)
        attribute = told["attributes"].get(name)
        if attribute is None:
            if not _same_values(before, after):
                raise _wrong_noise("values changed that were to stay", name)
            continue
        truth, shown = _floats(before), _floats(after)
        if not np.array_equal(np.isnan(truth), np.isnan(shown)):
            raise _wrong_noise("other values are missing", name)
        truth, shown = truth[~np.isnan(truth)], shown[~np.isnan(shown)]
        lower, upper = attribute["bounds"]
        wrong = not np.isfinite(shown).all()
        if attribute["clamped"]:
            wrong |= bool(((shown < lower) | (shown > upper)).any())
        elif attribute["rounding"] is None:
            noise = np.abs(shown - (np.clip(truth, lower, upper) if attribute["clipped"] else truth))
            size = max(float(noise.mean()) / attribute["scale"], 1e-9) if len(noise) else 1.0
            wrong |= len(noise) * (size - 1 - log(size)) > 28
        else:
            wrong |= bool((np.round(shown, attribute["rounding"]) != shown).any())
        if wrong:
            raise _wrong_noise("the noise is not what it claims to be", name)


def _same_values(before: pa.ChunkedArray, after: pa.ChunkedArray) -> bool:
    """Are the values the same, one not-a-number being another?"""
    if before.equals(after):
        return True
    if pa.types.is_floating(before.type):
        return np.array_equal(before.to_numpy(), after.to_numpy(), equal_nan=True)
    return repr(before.to_pylist()) == repr(after.to_pylist())


def _floats(column: pa.ChunkedArray) -> npt.NDArray[np.float64]:
    """Numbers as float64, missing ones as not-a-number."""
    plain = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    values = column.cast(plain).cast(pa.float64(), safe=False)
    return np.asarray(values.to_numpy(), dtype=np.float64)


def _wrong_noise(what: str, name: str) -> RecheckError:
    where = f"column {name!r}: " if name else ""
    return RecheckError(f"{where}{what}; this is a fault of the tool, nothing was written")


# Rows and cells


def _fault(domain: Domain, what: str, n_classes: int) -> RecheckError:
    return RecheckError(
        f"column {domain.name!r}: {what} in {n_classes} classes; "
        "this is a fault of the tool, nothing was written"
    )


def _check_rows(encoded: Encoded, classes: Classes) -> None:
    """Each row is in exactly one class or suppressed, and no class is empty."""
    n_rows, rows, offsets = encoded.n_rows, classes.rows, classes.offsets
    if len(rows) + len(classes.suppressed) != n_rows:
        raise RecheckError(
            f"{n_rows} rows went in, {len(rows)} are published and {len(classes.suppressed)} suppressed; "
            "this is a fault of the tool, nothing was written"
        )
    whole = offsets[0] == 0 and offsets[-1] == len(rows) and bool((np.diff(offsets) > 0).all())
    seen = np.zeros(n_rows, dtype=np.bool_)
    for some in (rows, classes.suppressed):
        whole = whole and (not len(some) or int(some.max()) < n_rows)
        if whole:
            seen[some] = True
    left_out = np.zeros(n_rows, dtype=np.bool_)
    left_out[classes.suppressed if whole else []] = True
    if not (whole and seen.all() and left_out[encoded.suppressed].all()):
        raise RecheckError(
            "the classes do not hold every row exactly once; this is a fault of the tool, nothing was written"
        )


def _chunks(offsets: npt.NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Ranges of whole classes of about `_ROWS_AT_ONCE` rows."""
    first, n_classes = 0, len(offsets) - 1
    while first < n_classes:
        last = int(np.searchsorted(offsets, offsets[first] + _ROWS_AT_ONCE, side="right")) - 1
        last = min(max(last, first + 1), n_classes)
        yield first, last
        first = last


def _inside(codes: Codes, classes: Classes, first: int, last: int) -> tuple[Codes, npt.NDArray[np.int64]]:
    """Codes of the rows of classes first..last-1, class by class, and where each class begins."""
    offsets = classes.offsets
    rows = classes.rows[offsets[first] : offsets[last]].astype(np.intp)  # take is fastest with these
    return codes.take(rows), offsets[first:last] - offsets[first]


@dataclass
class _Facts:
    """What the rows of each class hold of one quasi-identifier.

    Whether there is null, and the least and greatest code beside it (1 and 0 where all are null); or
    for up to 64 codes of labels without order the present ones as bits, null the last.
    """

    low: npt.NDArray[np.int64]
    high: npt.NDArray[np.int64]
    null: Bools
    bits: npt.NDArray[np.uint64] | None


def _facts(
    encoded: Encoded, classes: Classes, published: Sequence[Sequence[Column]], n_threads: int | None
) -> list[_Facts]:
    """Gathered chunk by chunk of the rows, for every quasi-identifier that is published as cells."""
    n = classes.n_classes
    facts = []
    for domain in encoded.quasi:
        bits = np.zeros(n, dtype=np.uint64) if _is_flat(domain) and domain.n_codes <= 64 else None
        facts.append(_Facts(np.ones(n, np.int64), np.zeros(n, np.int64), np.zeros(n, np.bool_), bits))
    power = np.left_shift(np.uint64(1), np.arange(64, dtype=np.uint64))
    null_bit = {
        domain.name: np.uint64(domain.has_null << min(domain.n_values, 63)) for domain in encoded.quasi
    }

    def gather(chunk: tuple[int, int]) -> None:
        first, last = chunk
        start, stop = classes.offsets[first], classes.offsets[last]
        rows = classes.rows[start:stop].astype(np.intp)
        starts = classes.offsets[first:last] - start
        for domain, codes, columns, fact in zip(
            encoded.quasi, encoded.quasi_codes, published, facts, strict=True
        ):
            if not columns:
                continue
            inside = codes.take(rows)
            if fact.bits is not None:
                present = np.bitwise_or.reduceat(power.take(inside), starts)
                fact.bits[first:last] = present
                fact.null[first:last] = (present & null_bit[domain.name]) != 0
                continue
            low, high = np.minimum.reduceat(inside, starts), np.maximum.reduceat(inside, starts)
            if domain.has_null:
                fact.null[first:last] = high == domain.n_values
                if fact.null[first:last].any():
                    high = np.maximum.reduceat(np.where(inside == domain.n_values, 0, inside), starts)
            only_null = low == domain.n_values
            fact.low[first:last] = np.where(only_null, 1, low)
            fact.high[first:last] = np.where(only_null, 0, high)

    in_threads(available_threads(n_threads), gather, list(_chunks(classes.offsets)))
    return facts


def _is_flat(domain: Domain) -> bool:
    return domain.kind == "nominal" and domain.tree is None


def _check_cells(
    domain: Domain, codes: Codes, classes: Classes, columns: Sequence[Column], numeric: str, fact: _Facts
) -> None:
    """Each class shows the cell of its rows: no row outside, nothing wider than the rows ask for."""
    low, high, null = fact.low, fact.high, fact.null
    if domain.kind == "numeric" and numeric in ("bounds", "midpoint", "mean"):
        _check_numbers(domain, codes, classes, columns, numeric, fact)
        return
    [column] = columns
    read = reader(domain)
    cells = [read(text) for text in column.values.to_pylist()]
    shown_null = np.array([cell.null for cell in cells], dtype=np.bool_)[column.index]
    if (shown_null != null).any():
        raise _fault(domain, "missing values outside their cell", int((shown_null != null).sum()))
    if all(cell.low == 0 and cell.high == domain.n_values - 1 for cell in cells):
        return  # a suppressed column
    if _is_flat(domain):
        unlike = _unlike_sets(domain, codes, classes, cells, column.index, fact.bits)
        if unlike.any():
            raise _fault(domain, "a set that is not the set of its rows", int(unlike.sum()))
        return
    shown_low = np.array([cell.low for cell in cells], dtype=np.int64)[column.index]
    shown_high = np.array([cell.high for cell in cells], dtype=np.int64)[column.index]
    empty = low > high
    outside = (shown_low > shown_high) != empty
    outside |= ~empty & ((shown_low > low) | (shown_high < high))
    if outside.any():
        raise _fault(domain, "rows outside their cell", int(outside.sum()))
    if domain.kind == "numeric" and numeric == "level":
        return
    if domain.tree is not None and domain.kind == "nominal":
        tree = domain.tree
        node = tree.leaf[np.where(empty, 0, low)]
        for _ in range(tree.height):
            node = np.where(tree.last[node] < np.where(empty, 0, high), tree.parent[node], node)
        low, high = tree.first[node].astype(np.int64), tree.last[node].astype(np.int64)
    wide = ~empty & ((shown_low != low) | (shown_high != high))
    if wide.any():
        raise _fault(domain, "a cell wider than its rows", int(wide.sum()))


def _unlike_sets(
    domain: Domain,
    codes: Codes,
    classes: Classes,
    cells: Sequence[Cell],
    index: npt.NDArray[np.uint32],
    bits: npt.NDArray[np.uint64] | None,
) -> Bools:
    """Classes whose rows do not hold exactly the codes of their set, null included."""
    null = [domain.n_values]
    sets = [
        [*(range(cell.low, cell.high + 1) if cell.codes is None else cell.codes), *null[: cell.null]]
        for cell in cells
    ]
    if bits is not None:
        masks = np.array([sum(1 << code for code in members) for members in sets], dtype=np.uint64)
        return np.asarray(bits != masks[index])
    unlike = np.zeros(classes.n_classes, dtype=np.bool_)
    n_codes = domain.n_values + 1
    sizes = np.array([len(members) for members in sets], dtype=np.int64)
    begins = np.cumsum(sizes) - sizes
    members = np.fromiter((code for some in sets for code in some), dtype=np.int64, count=int(sizes.sum()))
    for first, last in _chunks(classes.offsets):
        inside, _ = _inside(codes, classes, first, last)
        number = np.arange(last - first)
        present = np.unique(np.repeat(number * n_codes, classes.sizes[first:last]) + inside)
        size = sizes[index[first:last]]
        begin = np.repeat(begins[index[first:last]] - (np.cumsum(size) - size), size)
        listed = members[begin + np.arange(len(begin))] + np.repeat(number * n_codes, size)
        unlike[first + np.setxor1d(present, listed, assume_unique=True) // n_codes] = True
    return unlike


def _check_numbers(
    domain: Domain,
    codes: Codes,
    classes: Classes,
    columns: Sequence[Column],
    numeric: str,
    fact: _Facts,
) -> None:
    """The same for cells that are numbers, and for the mark of missing values beside them."""
    low, high, null = fact.low, fact.high, fact.null
    empty = low > high
    if domain.has_null:
        *columns, mark = columns
        marked = mark.values.to_numpy(zero_copy_only=False)[mark.index]
        if (marked != null).any():
            raise _fault(domain, "missing values not marked as they are", int((marked != null).sum()))
    elif null.any():
        raise _fault(domain, "missing values", int(null.sum()))
    for column in columns:
        blank = column.values.is_null().to_numpy(zero_copy_only=False)[column.index]
        if (blank != empty).any():
            raise _fault(domain, "a cell that should be missing, or should not", int((blank != empty).sum()))
    if empty.all():
        return
    rows_ends = np.where(empty, low[~empty][0], low), np.where(empty, high[~empty][0], high)
    all_ends = np.zeros_like(low), np.full_like(high, domain.n_values - 1)
    if numeric == "bounds":
        wrong, wrong_if_full = (
            _unlike_bounds(domain, columns, ends) & ~empty for ends in (rows_ends, all_ends)
        )
    elif numeric == "midpoint":
        wrong, wrong_if_full = (
            _unlike_means(domain, columns[0], ends, np.column_stack(ends).ravel(), 2 * np.arange(len(low)))
            & ~empty
            for ends in (rows_ends, all_ends)
        )
    else:
        wrong = np.zeros(classes.n_classes, dtype=np.bool_)
        for first, last in _chunks(classes.offsets):
            inside, starts = _inside(codes, classes, first, last)
            part = slice(first, last)
            shown = Column(columns[0].name, columns[0].values, columns[0].index[part])
            ends = rows_ends[0][part], rows_ends[1][part]
            wrong[part] = _unlike_means(domain, shown, ends, inside, starts) & ~empty[part]
        wrong_if_full = wrong
    if wrong.any() and wrong_if_full.any():  # none if full: a suppressed column
        raise _fault(domain, "a number that is not the one of its rows", int(wrong.sum()))


def _unlike_bounds(domain: Domain, columns: Sequence[Column], ends: Sequence[Ints]) -> Bools:
    """Classes that do not show these ends (codes)."""
    wrong = np.zeros(len(ends[0]), dtype=np.bool_)
    for column, code in zip(columns, ends, strict=True):
        known, values = domain.values, column.values
        if pa.types.is_float16(known.type):  # index_in does not take them
            known, values = known.cast(pa.float32()), values.cast(pa.float32())
        found = pc.index_in(values, value_set=known).fill_null(-1).to_numpy()
        wrong |= found[column.index] != code
    return wrong


def _unlike_means(
    domain: Domain, column: Column, ends: Sequence[Ints], codes: Ints, starts: npt.NDArray[np.int64]
) -> Bools:
    """Classes that do not show the mean of their codes, which lie between the ends; null is left out.

    Whole numbers are compared exactly. Floats, in units of the class's greatest, may differ by what
    adding them one by one can lose, and by the last bit of the smallest floats.
    """
    present = codes < domain.n_values
    count = np.maximum(np.add.reduceat(present.astype(np.int64), starts), 1)
    codes = np.where(present, codes, 0)
    values = column.values.fill_null(column.values.drop_null()[0])
    if not pa.types.is_floating(domain.values.type):
        known, per_unit = _whole_numbers(domain.values)
        if max(-int(known.min()), int(known.max())) * int(count.max()) >= _SAFE:
            known = known.astype(object)
        total = np.add.reduceat(np.where(present, known[codes], 0), starts).astype(object)
        if pa.types.is_temporal(domain.values.type):
            shown, _ = _whole_numbers(values)
            return np.asarray(shown[column.index] != total // count, dtype=np.bool_)
        right = [part / (n * per_unit) for part, n in zip(total.tolist(), count.tolist(), strict=True)]
        return np.asarray(values.to_numpy()[column.index] != np.array(right))
    numbers = domain.values.cast(pa.float64()).to_numpy()
    shown = values.to_numpy()[column.index]
    _, exponent = np.frexp(np.maximum(np.abs(numbers[ends[0]]), np.abs(numbers[ends[1]])))
    of_row = np.repeat(exponent, np.diff(np.append(starts, len(codes))))
    scaled = np.ldexp(np.where(present, numbers[codes], 0.0), -of_row)
    mean, size = (np.add.reduceat(part, starts) / count for part in (scaled, np.abs(scaled)))
    slack = (count + 8) * 2.0**-52 * size + np.ldexp(5e-324, -exponent)
    with np.errstate(over="ignore"):
        off = np.abs(np.ldexp(shown, -exponent) - mean)
    return np.asarray(~(off <= slack), dtype=np.bool_)


def _whole_numbers(values: pa.Array) -> tuple[Ints, int]:
    """Integers, dates, times and the digits of decimals (int64 or Python integers), and how many make one."""
    kind = values.type
    if pa.types.is_decimal(kind):
        digits = [Fraction(value) * Fraction(10) ** kind.scale for value in values.to_pylist()]
        return np.array([int(number) for number in digits], dtype=object), 10**kind.scale
    if pa.types.is_temporal(kind):
        values = values.cast(pa.date32()) if pa.types.is_date(kind) else values
        values = values.cast(pa.int64() if values.type.bit_width == 64 else pa.int32())
    wide = pa.types.is_uint64(values.type)
    return np.array(values.to_pylist(), dtype=object if wide else np.int64), 1


def _identities(column: Column) -> npt.NDArray[np.int64]:
    """For each class a number that is equal for equal published values, null one of them."""
    same = column.values.dictionary_encode(null_encoding="encode").indices
    return np.asarray(same.to_numpy(zero_copy_only=False), dtype=np.int64)[column.index]


def _groups(shown: Sequence[npt.NDArray[np.int64]], n_classes: int) -> tuple[npt.NDArray[np.int64], int]:
    """Number the distinct combinations of published values; buckets stay what they are."""
    if not shown or not n_classes:
        return np.arange(n_classes), n_classes
    group_of = np.zeros(n_classes, dtype=np.int64)
    n_groups = 1
    for identity in shown:
        n_values = int(identity.max()) + 1
        if n_groups * n_values >= _SAFE:
            values, group_of = np.unique(group_of, return_inverse=True)
            n_groups = len(values)
        group_of = group_of * n_values + identity
        n_groups *= n_values
    values, group_of = np.unique(group_of, return_inverse=True)
    return group_of, len(values)


def alike(columns: Sequence[pa.Array | pa.ChunkedArray]) -> tuple[npt.NDArray[np.int64], int]:
    """For each row the number of its combination of values, and how many combinations there are."""
    shown = []
    for column in columns:
        whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        identity = whole.dictionary_encode(null_encoding="encode").indices
        shown.append(np.asarray(identity.to_numpy(zero_copy_only=False), dtype=np.int64))
    return _groups(shown, len(columns[0]))


# Requirements


@dataclass(frozen=True)
class _Counts:
    """Counts of one sensitive attribute: group g has `count[i]` rows with `value[i]`, i from `start[g]`.

    Sorted by group and value, counts > 0. `group[i]` is the group of entry i, `size[g]` its rows,
    `total[v]` the rows with value v in the whole release.
    """

    domain: Domain
    group: npt.NDArray[np.int64]
    value: npt.NDArray[np.int64]
    count: npt.NDArray[np.int64]
    start: npt.NDArray[np.int64]
    size: npt.NDArray[np.int64]
    total: npt.NDArray[np.int64]

    @property
    def n_rows(self) -> int:
        return int(self.total.sum())

    def per_group(self, entries: Ints) -> Ints:
        """Sums of entries by group, added in pairs: the error grows with the logarithm of their number."""
        return np.asarray(np.add.reduceat(entries, self.start))


def _count(
    domain: Domain, codes: Codes, classes: Classes, group_of: npt.NDArray[np.int64], n_groups: int
) -> _Counts:
    n_codes = domain.n_codes
    keys, counts = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    for first, last in _chunks(classes.offsets):
        inside, _ = _inside(codes, classes, first, last)
        key, count = np.unique(
            np.repeat(group_of[first:last] * n_codes, classes.sizes[first:last]) + inside, return_counts=True
        )
        keys.append(key)
        counts.append(count)
    key, where = np.unique(np.concatenate(keys), return_inverse=True)
    count = np.zeros(len(key), dtype=np.int64)
    np.add.at(count, where, np.concatenate(counts))
    group, value = np.divmod(key, n_codes)
    size = np.zeros(n_groups, dtype=np.int64)
    np.add.at(size, group, count)
    total = np.zeros(n_codes, dtype=np.int64)
    np.add.at(total, value, count)
    return _Counts(domain, group, value, count, np.searchsorted(group, np.arange(n_groups)), size, total)


def _wide(bound: int, *arrays: npt.NDArray[np.int64]) -> list[Ints]:
    """The arrays as Python integers where a result up to `bound` would not fit 62 bits."""
    return [array.astype(object) if bound >= _SAFE else array for array in arrays]


def _exact(parameter: Any) -> Fraction:
    return Fraction(str(parameter))


def _at_most(left: Ints, right: Ints, share: Fraction) -> Bools:
    """Left <= share * right, exactly; both not negative."""
    bound = max(
        int(left.max(initial=0)) * share.denominator, int(right.max(initial=0)) * abs(share.numerator)
    )
    left, right = _wide(bound, left, right)
    return np.asarray(left * share.denominator <= right * share.numerator, dtype=np.bool_)


def _l_diversity(requirement: Any, attribute: _Counts) -> Bools:
    count, size = attribute.count, attribute.size
    present = attribute.per_group(np.ones_like(count))
    if requirement.kind == "distinct":
        return np.asarray(present >= ceil(_exact(requirement.l)), dtype=np.bool_)
    if requirement.kind == "probabilistic":
        return _at_most(np.maximum.reduceat(count, attribute.start), size, 1 / _exact(requirement.l))
    if requirement.kind == "entropy":
        entropy = np.log(size) - attribute.per_group(count * np.log(count)) / size
        return np.asarray(entropy >= log(requirement.l) - 1e-12, dtype=np.bool_)
    if requirement.l == 1:
        return np.ones(len(size), dtype=np.bool_)
    c = _exact(requirement.c)
    falling = count[np.lexsort((-count, attribute.group))]
    rank = np.arange(len(count)) - attribute.start[attribute.group]
    tail = attribute.per_group(np.where(rank >= requirement.l - 1, falling, 0))
    return ~_at_most(tail, falling[attribute.start], 1 / c)


def _alpha(requirement: Any, attribute: _Counts) -> Bools:
    return _at_most(
        np.maximum.reduceat(attribute.count, attribute.start), attribute.size, _exact(requirement.alpha)
    )


def _t_closeness(requirement: Any, attribute: _Counts) -> Bools:
    if requirement.distance == "js":
        return np.asarray(_jensen_shannon(attribute) <= requirement.t + 1e-12, dtype=np.bool_)
    n_rows, t = attribute.n_rows, _exact(requirement.t)
    flat = requirement.distance == "hierarchical" and attribute.domain.tree is None
    if requirement.distance == "equal" or flat:
        gain, whole = _gains(attribute)
        return _at_most(attribute.per_group(np.maximum(gain, 0)), whole, t)
    _refuse_null(requirement, attribute)
    if requirement.distance == "ordered":
        moved, steps = _ordered_moves(attribute)
    else:
        moved, steps = _tree_moves(attribute)
    [size] = _wide(n_rows * n_rows * steps, attribute.size)
    return _at_most(moved, size * (n_rows * steps), t)


def _refuse_null(requirement: Any, attribute: _Counts) -> None:
    if attribute.domain.has_null and attribute.total[-1]:
        raise RecheckError(
            f"{requirement!r} was not tested: column {attribute.domain.name!r} has missing values, "
            "for which it has no meaning"
        )


def _gains(attribute: _Counts) -> tuple[Ints, Ints]:
    """Per entry n·count − total·size, and per group n·size: p − q is their quotient."""
    n_rows = attribute.n_rows
    count, total, size = _wide(2 * n_rows * n_rows, attribute.count, attribute.total, attribute.size)
    return count * n_rows - total[attribute.value] * size[attribute.group], size * n_rows


def _jensen_shannon(attribute: _Counts) -> npt.NDArray[np.float64]:
    """½[KL(Q‖M)+KL(P‖M)] per group; values that a group lacks add ½ q ln 2 each."""
    q = attribute.total[attribute.value] / attribute.n_rows
    p = attribute.count / attribute.size[attribute.group]
    middle = (p + q) / 2
    present = attribute.per_group(q * np.log(q / middle) + p * np.log(p / middle)) / 2
    absent = attribute.n_rows - attribute.per_group(attribute.total[attribute.value])
    return np.asarray(present + absent / attribute.n_rows / 2 * log(2))


def _ordered_moves(attribute: _Counts) -> tuple[Ints, int]:
    """Σ over ranks of |n·(rows of the group up to the rank) − size·(rows of the release up to it)|.

    Ranks are those of the published values; also returns their number less one, which divides the sum.
    """
    published = np.flatnonzero(attribute.total)
    n_values, n_rows = len(published), attribute.n_rows
    bound = 4 * n_values * n_rows * n_rows
    up_to = np.cumsum(attribute.total[published])
    sums = np.concatenate([[0], np.cumsum(up_to)])
    running = np.cumsum(attribute.count)
    before = running[attribute.start] - attribute.count[attribute.start]
    held = running - before[attribute.group]
    begin = np.searchsorted(published, attribute.value)
    end = np.append(begin[1:], n_values)
    end[np.append(attribute.start[1:], len(begin)) - 1] = n_values
    held_, size, sums_ = _wide(bound, held, attribute.size, sums)
    of_entry = size[attribute.group]
    level = (held_ * n_rows // of_entry).astype(np.int64)
    turn = np.clip(np.searchsorted(up_to, level, side="right"), begin, end)
    above = (turn - begin) * (held_ * n_rows) - of_entry * (sums_[turn] - sums_[begin])
    below = of_entry * (sums_[end] - sums_[turn]) - (end - turn) * (held_ * n_rows)
    ahead = size * sums_[begin[attribute.start]]
    return np.asarray(attribute.per_group(above + below) + ahead), max(n_values - 1, 1)


def _levels_up(
    attribute: _Counts,
) -> Iterator[tuple[int, npt.NDArray[np.int64], npt.NDArray[np.int64], Ints]]:
    """From the deepest level of the tree up: (depth, group, node, rows of the group under the node).

    Sorted by group and node; nodes that hold no rows are left out.
    """
    tree = attribute.domain.tree
    assert tree is not None
    leaf = tree.leaf[attribute.value].astype(np.int64)
    n_nodes = len(tree.labels)
    group, node, rows = (np.empty(0, dtype=np.int64) for _ in range(3))
    for depth in range(tree.height, -1, -1):
        here = tree.depth[leaf] == depth
        key = np.concatenate([group, attribute.group[here]]) * n_nodes
        key += np.concatenate([tree.parent[node], leaf[here]])
        key, where = np.unique(key, return_inverse=True)
        total = np.zeros(len(key), dtype=np.int64)
        np.add.at(total, where, np.concatenate([rows, attribute.count[here]]))
        group, node = np.divmod(key, n_nodes)
        rows = total
        yield depth, group, node, rows


def _tree_moves(attribute: _Counts) -> tuple[Ints, int]:
    """Σ over inner nodes of level · min(pos, neg), times n·size, and the height H that divides it."""
    tree, n_rows = attribute.domain.tree, attribute.n_rows
    assert tree is not None
    bound = 2 * max(tree.height, 1) * n_rows * n_rows
    under = np.concatenate([[0], np.cumsum(attribute.total)])
    total, size = _wide(bound, under[tree.last + 1] - under[tree.first], attribute.size)
    moved = np.zeros(len(size), dtype=size.dtype)
    lower: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]] | None = None
    gain: Ints = np.empty(0, dtype=np.int64)
    for depth, group, node, rows in _levels_up(attribute):
        [held] = _wide(bound, rows)
        own = held * n_rows - total[node] * size[group]
        if lower is not None:
            place = np.searchsorted(
                group * len(tree.labels) + node, lower[0] * len(tree.labels) + tree.parent[lower[1]]
            )
            up = np.zeros(len(own), dtype=own.dtype)
            np.add.at(up, place, np.maximum(gain, 0))
            inner = np.minimum(up, up - own)
            inner[tree.first[node] == tree.last[node]] = 0
            np.add.at(moved, group, inner * (tree.height - depth))
        lower, gain = (group, node), own
    return moved, max(tree.height, 1)


def _delta(requirement: Any, attribute: _Counts) -> Bools:
    ratio = (attribute.count / attribute.size[attribute.group]) / (
        attribute.total[attribute.value] / attribute.n_rows
    )
    worst = np.maximum.reduceat(np.abs(np.log(ratio)), attribute.start)
    complete = attribute.per_group(np.ones_like(attribute.count)) == np.count_nonzero(attribute.total)
    return np.asarray(complete & (worst < requirement.delta - 1e-12), dtype=np.bool_)


def _beta(requirement: Any, attribute: _Counts) -> Bools:
    gain, _ = _gains(attribute)
    total, size = _wide(2 * attribute.n_rows**2, attribute.total, attribute.size)
    base = total[attribute.value] * size[attribute.group]
    passes = _at_most(np.maximum(gain, 0), base, _exact(requirement.beta))
    if requirement.enhanced:
        q = attribute.total[attribute.value] / attribute.n_rows
        passes &= (gain <= 0) | ((gain / base).astype(np.float64) <= -np.log(q) + 1e-12)
    return np.asarray(np.logical_and.reduceat(passes, attribute.start), dtype=np.bool_)


def _s_diversity(requirement: Any, attributes: Sequence[_Counts]) -> Bools:
    """Σ over attributes of the mean proximity of ordered pairs, proximities below 1 − r left out."""
    total = np.zeros(len(attributes[0].size))
    for attribute in attributes:
        _refuse_null(requirement, attribute)
        near = _near_on_a_line if attribute.domain.positions is not None else _near_in_a_tree
        total += near(attribute, requirement.r) / attribute.size.astype(np.float64) ** 2
    return np.asarray(total <= requirement.bound + 1e-9, dtype=np.bool_)


def _near_on_a_line(attribute: _Counts, r: float) -> npt.NDArray[np.float64]:
    """Σ over ordered pairs of rows of 1 − |a − b| / range, where that is at least 1 − r."""
    positions = attribute.domain.positions
    assert positions is not None
    span = float(positions[-1] - positions[0]) or 1.0
    place = (positions - positions[0]) / span
    reach = np.searchsorted(place, place - (r + 1e-9), side="left")
    n_values = attribute.domain.n_codes
    near = np.zeros(len(attribute.size))
    bounds = np.append(attribute.start, len(attribute.group))
    for first, last in _chunks(bounds):
        entries = slice(bounds[first], bounds[last])
        group, value = attribute.group[entries], attribute.value[entries]
        count = attribute.count[entries].astype(np.float64)
        x = place[value]
        since = np.searchsorted(group * n_values + value, group * n_values + reach[value])
        rows = np.concatenate([[0.0], np.cumsum(count)])
        moment = np.concatenate([[0.0], np.cumsum(count * x)])
        here = np.arange(len(count))
        pairs = (1 - x) * (rows[here] - rows[since]) + (moment[here] - moment[since])
        near[first:last] = np.add.reduceat(count * (count + 2 * pairs), bounds[first:last] - bounds[first])
    return near


def _near_in_a_tree(attribute: _Counts, r: float) -> npt.NDArray[np.float64]:
    """Σ over ordered pairs of 1 − (leaves under their LCA − 1) / |D|, where that is at least 1 − r.

    Equal values add 1. An attribute without a tree is one level of leaves.
    """
    tree, n_values = attribute.domain.tree, attribute.domain.n_values
    same = attribute.per_group(attribute.count.astype(np.float64) ** 2)
    if tree is None:
        proximity = 1 / n_values
        everyone = attribute.size.astype(np.float64) ** 2
        return np.asarray(same + (everyone - same) * proximity * (proximity >= 1 - r - 1e-9))
    near = np.array(same)
    lower: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.float64]] | None = None
    proximity_of = 1 - (tree.last - tree.first) / n_values
    proximity_of[(proximity_of < 1 - r - 1e-9) | (tree.first == tree.last)] = 0
    for _, group, node, rows in _levels_up(attribute):
        squares = rows.astype(np.float64) ** 2
        if lower is not None:
            below_group, below, below_squares = lower
            np.add.at(near, below_group, -below_squares * proximity_of[tree.parent[below]])
        np.add.at(near, group, squares * proximity_of[node])
        lower = group, node, squares
    return near


def _custom(requirement: Any, attribute: _Counts) -> Bools:
    """The user's function itself, called class by class."""
    value, count, total = (
        np.ascontiguousarray(array, dtype=np.int64)
        for array in (attribute.value, attribute.count, attribute.total)
    )
    params = np.array(requirement.params, dtype=np.float64)
    call = requirement.cfunc.ctypes
    integers, reals = (ctypes.POINTER(kind) for kind in (ctypes.c_int64, ctypes.c_double))
    ends = np.append(attribute.start[1:], len(value))
    passes = np.empty(len(attribute.size), dtype=np.bool_)
    for group, (start, end) in enumerate(zip(attribute.start.tolist(), ends.tolist(), strict=True)):
        passes[group] = call(
            value[start:end].ctypes.data_as(integers),
            count[start:end].ctypes.data_as(integers),
            end - start,
            total.ctypes.data_as(integers),
            len(total),
            int(attribute.size[group]),
            attribute.n_rows,
            params.ctypes.data_as(reals),
        )
    return passes


def _each(test: Callable[[Any, _Counts], Bools]) -> Callable[[Any, Sequence[_Counts]], Bools]:
    """The requirement must hold for each attribute."""

    def every(requirement: Any, attributes: Sequence[_Counts]) -> Bools:
        verdicts = [test(requirement, attribute) for attribute in attributes]
        return np.asarray(np.logical_and.reduce(verdicts), dtype=np.bool_)

    return every


_TESTS: dict[str, Callable[[Any, Sequence[_Counts]], Bools]] = {
    "LDiversity": _each(_l_diversity),
    "TCloseness": _each(_t_closeness),
    "DeltaDisclosure": _each(_delta),
    "AlphaK": _each(_alpha),
    "BetaLikeness": _each(_beta),
    "SDiversityBound": _s_diversity,
    "Custom": _each(_custom),
}
