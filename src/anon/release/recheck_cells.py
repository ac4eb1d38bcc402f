# SPDX-License-Identifier: Apache-2.0
"""Published cells held against the rows that they stand for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from anon.classes import Cell, Classes, Column, reader
from anon.encoding import Codes, Domain, Encoded
from anon.errors import RecheckError
from anon.threads import available_threads, in_threads

Ints = npt.NDArray[Any]  # int64, or Python integers where those could overflow
Bools = npt.NDArray[np.bool_]

ROWS_AT_ONCE = 1 << 16
CELLS_AT_ONCE = 1 << 12
SHIFT = 32  # bits of a code
SAFE = 2**62


def _fault(domain: Domain, what: str, n_classes: int) -> RecheckError:
    return RecheckError(
        f"column {domain.name!r}: {what} in {n_classes} classes; "
        "this is a fault of the tool, nothing was written"
    )


def chunks(offsets: npt.NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Ranges of whole classes of about `ROWS_AT_ONCE` rows."""
    first, n_classes = 0, len(offsets) - 1
    while first < n_classes:
        last = int(np.searchsorted(offsets, offsets[first] + ROWS_AT_ONCE, side="right")) - 1
        last = min(max(last, first + 1), n_classes)
        yield first, last
        first = last


def codes_inside(
    codes: Codes, classes: Classes, first: int, last: int
) -> tuple[Codes, npt.NDArray[np.int64]]:
    """Codes of the rows of classes first..last-1, class by class, and where each class begins."""
    offsets = classes.offsets
    rows = classes.rows[offsets[first] : offsets[last]].astype(np.intp)  # take is fastest with these
    return codes.take(rows), offsets[first:last] - offsets[first]


@dataclass
class Facts:
    """What the rows of each class hold of one quasi-identifier.

    Whether there is null, and the least and greatest code beside it (1 and 0 where all are null); or
    for up to 64 codes of labels without order the present ones as bits, null the last.
    """

    low: npt.NDArray[np.int64]
    high: npt.NDArray[np.int64]
    null: Bools
    bits: npt.NDArray[np.uint64] | None


def facts_of(
    encoded: Encoded, classes: Classes, published: Sequence[Sequence[Column]], n_threads: int | None
) -> list[Facts]:
    """Gathered chunk by chunk of the rows, for every quasi-identifier that is published as cells."""
    n = classes.n_classes
    facts = []
    none = np.ones(n, np.int64), np.zeros(n, np.int64)
    for domain in encoded.quasi:
        bits = np.zeros(n, dtype=np.uint64) if _is_flat(domain) and domain.n_codes <= 64 else None
        low, high = none if bits is not None else (each.copy() for each in none)
        facts.append(Facts(low, high, np.zeros(n, np.bool_), bits))
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

    in_threads(available_threads(n_threads), gather, list(chunks(classes.offsets)))
    return facts


def _is_flat(domain: Domain) -> bool:
    return domain.kind == "nominal" and domain.tree is None


@dataclass
class _Cells:
    """Distinct cells: the least and the greatest code of each, whether it holds null, and all values; of flat
    attributes all codes, null's last, end to end, and how many each has.
    """

    low: npt.NDArray[np.int64]
    high: npt.NDArray[np.int64]
    null: Bools
    whole: Bools
    members: npt.NDArray[np.uint32]
    sizes: npt.NDArray[np.int64]


def _cells(domain: Domain, values: pa.Array) -> _Cells:
    """The texts of cells read back; most sets by Arrow, all of their labels by the reader."""
    read, is_flat = reader(domain), _is_flat(domain)
    low, high, null, n_codes = (np.zeros(len(values), np.int64) for _ in range(4))
    members, no_keys = [np.empty(0, np.uint32)], np.empty(0, np.int64)
    for start in range(0, len(values), CELLS_AT_ONCE):
        texts = values.slice(start, CELLS_AT_ONCE)
        keys, rest = _listed(texts, read) if is_flat else (no_keys, range(len(texts)))
        further: list[int] = []
        for i, text in zip(rest, texts.take(pa.array(rest, pa.int64())).to_pylist(), strict=True):
            cell = read(text)
            codes = range(cell.low, cell.high + 1) if cell.codes is None else cell.codes
            low[start + i], high[start + i], null[start + i] = cell.low, cell.high, cell.null
            n_codes[start + i] = len(codes)
            if is_flat:
                further += [i << SHIFT | code for code in (*codes, *[domain.n_values][: cell.null])]
        keys = np.sort(np.concatenate([keys, np.array(further, np.int64)]))
        members.append((keys & (1 << SHIFT) - 1).astype(np.uint32))
        if is_flat:
            sizes = np.bincount(keys >> SHIFT, minlength=len(texts))
            n_codes[start : start + len(texts)] = sizes - null[start : start + len(texts)]
    is_whole = (low == 0) & (n_codes == domain.n_values)
    return _Cells(low, high, null > 0, is_whole, np.concatenate(members), n_codes + null)


def _listed(texts: pa.Array, read: Callable[[str], Cell]) -> tuple[npt.NDArray[np.int64], list[int]]:
    """Of sets of labels without quotes the number of each with each of its codes; which cells are others."""
    bare = pc.and_(pc.starts_with(texts, "{"), pc.ends_with(texts, "}"))
    bare = pc.and_(bare, pc.invert(pc.match_substring(texts, '"'))).to_numpy(zero_copy_only=False)
    at = np.flatnonzero(bare)
    lists = pc.split_pattern(pc.utf8_slice_codeunits(texts.take(pa.array(at)), 1, -1), ", ")
    atoms = lists.flatten().dictionary_encode()
    of_atom = np.array([read(f"{{{atom}}}").low for atom in atoms.dictionary.to_pylist()], np.int64)
    keys = np.repeat(at, pc.list_value_length(lists).to_numpy()) << SHIFT | of_atom[atoms.indices.to_numpy()]
    keys.sort()
    if (np.diff(keys) == 0).any():  # a label twice, which the reader refuses
        return np.empty(0, np.int64), list(range(len(texts)))
    return keys, np.flatnonzero(~bare).tolist()


def whole(domain: Domain, columns: Sequence[Column]) -> Bools:
    """Which classes show `*` for a column of several values."""
    [column] = columns
    if domain.n_values < 2:
        return np.zeros(len(column.index), np.bool_)
    return _cells(domain, column.values).whole[column.index]


def check_cells(
    domain: Domain,
    codes: Codes,
    classes: Classes,
    columns: Sequence[Column],
    numeric: str,
    fact: Facts,
    hidden: Bools | None = None,
    by_level: bool = False,
    wider: bool = False,
) -> None:
    """Each class shows the cell of its rows: no row outside, nothing wider than the rows ask for (unless
    `wider` is allowed).

    In the classes `hidden`, where the column that it is linked to is `*`, it shows `*` and nothing else; by
    numbers nothing, there and where it holds all of the domain itself. Where rows are recoded `by_level` a
    cell may be wider, all values or (of a tree) those below one node.
    """
    low, high, null = fact.low, fact.high, fact.null
    if domain.kind == "numeric" and numeric in ("bounds", "midpoint", "mean", "median"):
        blank = np.zeros(classes.n_classes, np.bool_)
        if hidden is not None and domain.n_values > 1:
            blank = hidden | ((fact.low == 0) & (fact.high == domain.n_values - 1))
        if domain.coding is not None and domain.coding.is_star:
            blank = np.ones(classes.n_classes, np.bool_)
        _check_numbers(domain, codes, classes, columns, numeric, fact, blank)
        return
    [column] = columns
    shown, index = _cells(domain, column.values), column.index
    cell_null = shown.null[index]
    hidden = np.zeros(classes.n_classes, np.bool_) if hidden is None else hidden
    seen = hidden & ~shown.whole[index]
    if seen.any():
        raise _fault(domain, "a cell beside `*` of the column that it is linked to", int(seen.sum()))
    is_whole = bool(shown.whole.all())
    if is_whole and len(shown.whole) == 1 and (cell_null | ~null).all():
        return  # a suppressed column
    if by_level:
        hidden = hidden | shown.whole[index]
    unlike_null = np.where(hidden | wider, null & ~cell_null, cell_null != null)
    if unlike_null.any():
        raise _fault(domain, "missing values outside their cell", int(unlike_null.sum()))
    if is_whole:
        return
    if _is_flat(domain):
        unlike = _unlike_sets(domain, codes, classes, shown, index, fact.bits, wider) & ~hidden
        if unlike.any():
            raise _fault(domain, "a set that is not the set of its rows", int(unlike.sum()))
        return
    cell_low, cell_high = shown.low[index], shown.high[index]
    empty = low > high
    outside = ((cell_low > cell_high) & ~empty if wider else (cell_low > cell_high) != empty) & ~hidden
    outside |= ~empty & ((cell_low > low) | (cell_high < high))
    if outside.any():
        raise _fault(domain, "rows outside their cell", int(outside.sum()))
    if wider or (domain.kind == "numeric" and (numeric == "level" or by_level)):
        return
    if domain.tree is not None and domain.kind == "nominal":
        if by_level:
            low, high = cell_low, cell_high
        tree = domain.tree
        node = tree.leaf[np.where(empty, 0, low)]
        for _ in range(tree.height):
            node = np.where(tree.last[node] < np.where(empty, 0, high), tree.parent[node], node)
        low, high = tree.first[node].astype(np.int64), tree.last[node].astype(np.int64)
    wide = ~empty & ~hidden & ((cell_low != low) | (cell_high != high))
    if wide.any():
        raise _fault(domain, "a cell wider than its rows", int(wide.sum()))


def _unlike_sets(
    domain: Domain,
    codes: Codes,
    classes: Classes,
    shown: _Cells,
    index: npt.NDArray[np.uint32],
    bits: npt.NDArray[np.uint64] | None,
    wider: bool,
) -> Bools:
    """Classes whose rows do not hold exactly the codes of their set, null included; or, where it may be
    `wider`, others than these.
    """
    members, sizes = shown.members, shown.sizes
    if bits is not None:
        masks = np.zeros(len(sizes), np.uint64)
        power = np.uint64(1) << members.astype(np.uint64)
        np.bitwise_or.at(masks, np.repeat(np.arange(len(sizes)), sizes), power)
        return np.asarray(bits & ~masks[index] != 0 if wider else bits != masks[index])
    unlike = np.zeros(classes.n_classes, dtype=np.bool_)
    n_codes = domain.n_values + 1
    begins = np.cumsum(sizes) - sizes
    for first, last in chunks(classes.offsets):
        inside, _ = codes_inside(codes, classes, first, last)
        number = np.arange(last - first)
        present = np.repeat(number * n_codes, classes.sizes[first:last]) + inside
        size = sizes[index[first:last]]
        begin = np.repeat(begins[index[first:last]] - (np.cumsum(size) - size), size)
        listed = members[begin + np.arange(len(begin))] + np.repeat(number * n_codes, size)  # ascending
        at = np.minimum(np.searchsorted(listed, present), len(listed) - 1)
        is_listed, is_present = listed[at] == present, np.zeros(len(listed), np.bool_)
        is_present[at[is_listed]] = True
        unlike[first + present[~is_listed] // n_codes] = True
        if not wider:
            unlike[first + listed[~is_present] // n_codes] = True
    return unlike


def _check_numbers(
    domain: Domain,
    codes: Codes,
    classes: Classes,
    columns: Sequence[Column],
    numeric: str,
    fact: Facts,
    hidden: Bools,
) -> None:
    """The same for cells that are numbers, and for the mark of missing values beside them."""
    low, high, null = fact.low, fact.high, fact.null
    empty = (low > high) | hidden
    if domain.has_null:
        *columns, mark = columns
        marked = mark.values.cast(pa.int8()).fill_null(-1).to_numpy()[mark.index]
        unlike = marked != np.where(hidden, -1, null)
        if unlike.any():
            raise _fault(domain, "missing values not marked as they are", int(unlike.sum()))
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
            _unlike_midpoints(domain, columns[0], ends) & ~empty for ends in (rows_ends, all_ends)
        )
    elif numeric == "median":
        wrong = wrong_if_full = _unlike_medians(domain, columns[0], codes, classes) & ~empty
    else:
        wrong = np.zeros(classes.n_classes, dtype=np.bool_)
        for first, last in chunks(classes.offsets):
            inside, starts = codes_inside(codes, classes, first, last)
            part = slice(first, last)
            numbers = Column(columns[0].name, columns[0].values, columns[0].index[part])
            ends = rows_ends[0][part], rows_ends[1][part]
            known = _published_ends(domain)[: 1 if domain.coding is None else 2]
            wrong[part] = _unlike_means(known, numbers, ends, inside, starts) & ~empty[part]
        wrong_if_full = wrong
    if wrong.any() and wrong_if_full.any():  # none if full: a suppressed column
        raise _fault(domain, "a number that is not the one of its rows", int(wrong.sum()))


def _unlike_bounds(domain: Domain, columns: Sequence[Column], ends: Sequence[Ints]) -> Bools:
    """Classes that do not show these ends (codes)."""
    wrong = np.zeros(len(ends[0]), dtype=np.bool_)
    for column, code, known in zip(columns, ends, _published_ends(domain), strict=True):
        values = column.values
        if domain.coding is not None:  # ends may repeat
            both = pa.concat_arrays([known, values.cast(known.type)])
            numbers = both.dictionary_encode(null_encoding="encode").indices.to_numpy()
            wrong |= numbers[len(known) :][column.index] != numbers[code]
            continue
        if pa.types.is_float16(known.type):  # index_in does not take them
            known, values = known.cast(pa.float32()), values.cast(pa.float32())
        codes = pc.index_in(values, value_set=known).fill_null(-1).to_numpy()
        wrong |= codes[column.index] != code
    return wrong


def _published_ends(domain: Domain) -> tuple[pa.Array, pa.Array]:
    """What each code is published as: itself, or the two ends of what it was recoded to."""
    coding = domain.coding
    if coding is None or coding.lower is None or coding.upper is None:
        return domain.values, domain.values
    return coding.lower, coding.upper


def _unlike_medians(domain: Domain, column: Column, codes: Codes, classes: Classes) -> Bools:
    """Classes that do not show the value which half of the others lie at most at, and half at least."""
    known, values = domain.values, column.values
    if pa.types.is_float16(known.type):  # index_in does not take them
        known, values = known.cast(pa.float32()), values.cast(pa.float32())
    shown = pc.index_in(values, value_set=known).fill_null(-1).to_numpy()[column.index]
    return _not_in_the_middle(domain, shown, codes, classes)


def check_middles(domain: Domain, codes: Codes, classes: Classes, column: Column) -> None:
    """Each class shows one label: that in the middle of its rows, or the most frequent, null as it is."""
    read = reader(domain)
    codes_of = []
    for cell in (read(text) for text in column.values.to_pylist()):
        only_null = cell.null and cell.low > cell.high
        single = cell.low == cell.high and not cell.null
        codes_of.append(domain.n_values if only_null else cell.low if single else -1)
    shown = np.array(codes_of, np.int64)[column.index]
    test = _not_in_the_middle if domain.kind == "ordinal" else _not_most_frequent
    wrong = test(domain, shown, codes, classes)
    if wrong.any():
        raise _fault(domain, "a label that does not stand for its rows", int(wrong.sum()))


def _not_most_frequent(domain: Domain, shown: Ints, codes: Codes, classes: Classes) -> Bools:
    """Classes in which another label, null among them, is more frequent, or as frequent and lower."""
    wrong = np.zeros(classes.n_classes, np.bool_)
    n_codes = domain.n_values + 1
    for first, last in chunks(classes.offsets):
        inside, _ = codes_inside(codes, classes, first, last)
        class_of = np.repeat(np.arange(last - first), classes.sizes[first:last])
        pairs, counts = np.unique(class_of * n_codes + inside, return_counts=True)
        class_of, code = np.divmod(pairs, n_codes)
        own = np.zeros(last - first, np.int64)
        is_own = code == shown[first:last][class_of]
        own[class_of[is_own]] = counts[is_own]
        beaten = (counts > own[class_of]) | ((counts == own[class_of]) & (code < shown[first:last][class_of]))
        wrong[first:last] = own == 0
        wrong[first + class_of[beaten]] = True
    return wrong


def _not_in_the_middle(domain: Domain, shown: Ints, codes: Codes, classes: Classes) -> Bools:
    """Classes whose code is not the one in the middle, of two the lower; null's only where all are null."""
    wrong = np.asarray(shown < 0)
    for first, last in chunks(classes.offsets):
        inside, starts = codes_inside(codes, classes, first, last)
        of_row = np.repeat(shown[first:last], classes.sizes[first:last])
        present = inside < domain.n_values
        below, up_to, count = (
            np.add.reduceat(each.astype(np.int64), starts)
            for each in (present & (inside < of_row), present & (inside <= of_row), present)
        )
        middle = (count + 1) // 2  # the number of the lower one, counted from 1
        off = np.where(count == 0, shown[first:last] != domain.n_values, (below >= middle) | (up_to < middle))
        wrong[first:last] |= off
    return np.asarray(wrong)


def _unlike_midpoints(domain: Domain, column: Column, ends: Sequence[Ints]) -> Bools:
    """Classes that do not show the middle of these ends (codes)."""
    both = ends[0], domain.n_values + ends[1]
    known = pa.concat_arrays(_published_ends(domain))
    return _unlike_means([known], column, both, np.column_stack(both).ravel(), 2 * np.arange(len(ends[0])))


def _unlike_means(
    known_values: Sequence[pa.Array],
    column: Column,
    ends: Sequence[Ints],
    codes: Ints,
    starts: npt.NDArray[np.int64],
) -> Bools:
    """Classes that do not show the mean of their codes, which lie between the ends; null is left out.

    A code stands for the mean of what it is in all of `known_values`, and is null above them.

    Whole numbers are compared exactly. Floats, in units of the class's greatest, may differ by what
    adding them one by one can lose, and by the last bit of the smallest floats.
    """
    present = codes < len(known_values[0])
    count = np.maximum(np.add.reduceat(present.astype(np.int64), starts), 1)
    codes = np.where(present, codes, 0)
    values = column.values.fill_null(column.values.drop_null()[0])
    kind = known_values[0].type
    if not pa.types.is_floating(kind):
        known, per_unit = _whole_numbers(known_values[0])
        if len(known_values) == 2:
            known, count = known.astype(object) + _whole_numbers(known_values[1])[0], 2 * count
        if max(-int(known.min()), int(known.max())) * int(count.max()) >= SAFE:
            known = known.astype(object)
        total = np.add.reduceat(np.where(present, known[codes], 0), starts).astype(object)
        if pa.types.is_temporal(kind):
            published, _ = _whole_numbers(values)
            return np.asarray(published[column.index] != total // count, dtype=np.bool_)
        right = [part / (n * per_unit) for part, n in zip(total.tolist(), count.tolist(), strict=True)]
        return np.asarray(values.to_numpy()[column.index] != np.array(right))
    numbers = known_values[0].cast(pa.float64()).to_numpy()
    if len(known_values) == 2:
        numbers = numbers / 2 + known_values[1].cast(pa.float64()).to_numpy() / 2
    published = values.to_numpy()[column.index]
    _, exponent = np.frexp(np.maximum(np.abs(numbers[ends[0]]), np.abs(numbers[ends[1]])))
    of_row = np.repeat(exponent, np.diff(np.append(starts, len(codes))))
    scaled = np.ldexp(np.where(present, numbers[codes], 0.0), -of_row)
    mean, size = (np.add.reduceat(part, starts) / count for part in (scaled, np.abs(scaled)))
    slack = (count + 8) * 2.0**-52 * size + np.ldexp(5e-324, -exponent)
    with np.errstate(over="ignore"):
        off = np.abs(np.ldexp(published, -exponent) - mean)
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
