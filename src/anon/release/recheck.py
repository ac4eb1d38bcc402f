# SPDX-License-Identifier: Apache-2.0
"""The last check of a release: its published cells are read back and everything is tested anew.

Shares no code with the methods or the requirement kernels, only NumPy and the reader of cells.
Requirements are known by the names of their classes and fields, or bring a test of their own. Definitions:
docs/definitions.md; decisions are exact on integers, logarithms pass within 1e-12, S-diversity within 1e-9.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from anon.classes import MISSING, Classes, Column, quote
from anon.encoding import Codes, Domain, Encoded
from anon.errors import RecheckError
from anon.release.recheck_cells import (
    ROWS_AT_ONCE,
    SAFE,
    Bools,
    Facts,
    Ints,
    check_cells,
    check_middles,
    chunks,
    codes_inside,
    facts_of,
    whole,
)
from anon.release.recheck_coding import n_finer, whole_blocks
from anon.release.recheck_nulls import Shown, check_values, is_matching, n_incompatible, shown_of
from anon.release.recheck_people import check_people, on_people
from anon.release.recheck_requirements import OF_ROWS, TESTS, Counts, by_itself, count_values
from anon.release.recheck_units import count_by_units, n_in_rare_bags, units_of_groups
from anon.schema import Attribute

_NOTHING: Mapping[str, Column] = {}


def recheck(
    encoded: Encoded,
    classes: Classes,
    published: Sequence[Sequence[Column]],
    requirements: Sequence[Any],
    *,
    numeric: str = "interval",
    coded: Mapping[str, Column] = _NOTHING,
    nulled: bool = False,
    middles: bool = False,
    n_threads: int | None = None,
    compared: Encoded | None = None,
) -> None:
    """Raise RecheckError unless the release is what it claims to be.

    `published[i]` are the columns shown of the i-th quasi-identifier, none if it is left intact
    (then every class is a bucket). `coded` are what the rows of the table show, one by one, of those whose
    values are coded; with `nulled` cells are values, or null, with `middles` those of labels show one of each
    class. Tested: every row is in exactly one class or suppressed; each class's cells are those of its rows;
    classes that look alike, taken together, meet every requirement. Those that look at the table look at the
    published rows, or at those of `compared`.
    """
    _check_rows(encoded, classes)
    identities = []
    original = encoded.original
    shown: list[Shown] = []
    if nulled:
        for domain, codes, [column] in zip(original.quasi, original.quasi_codes, published, strict=True):
            check_values(domain, codes, classes, column)
            shown.append(shown_of(column))
        published = [()] * len(published)
    facts = facts_of(original, classes, published, n_threads)
    hidden_by = {} if middles else _hidden(encoded, published, numeric, facts)
    for attribute, domain, codes, columns, fact in zip(
        encoded.schema.quasi, encoded.quasi, original.quasi_codes, published, facts, strict=True
    ):
        if columns:
            if middles and domain.kind != "numeric":
                check_middles(domain, codes, classes, columns[0])
            elif domain.name not in encoded.schema.household:
                hidden = hidden_by.get(domain.name)
                by_level = encoded.rounds is not None
                how = hidden, by_level, encoded.by_regions
                _check_column(attribute, domain, codes, classes, columns, numeric, fact, *how)
            identities += [_identities(column) for column in columns]
    _check_rows_shown(encoded, classes, published, coded, n_threads)
    if encoded.schema.household and encoded.units is not None and any(published):
        _check_households(encoded, classes, published, numeric, n_threads)
    group_of, n_groups = _groups([one.identity for one in shown] or identities, classes.n_classes)
    if not n_groups:
        return
    for requirement, n_failing in check_people(requirements, encoded, classes, published, group_of, n_groups):
        raise unmet(requirement, n_failing, n_groups)
    table = encoded if compared is None else compared
    sensitive = zip(table.sensitive, table.sensitive_codes, strict=True)
    known = {domain.name: (domain, codes) for domain, codes in sensitive}
    units = None if encoded.units is None else encoded.units.codes
    rows = None if compared is None else compared.kept
    _check_requirements(requirements, known, classes, group_of, n_groups, units, rows, shown)


def _hidden(
    encoded: Encoded, published: Sequence[Sequence[Column]], numeric: str, facts: Sequence[Facts]
) -> dict[str, Bools]:
    """For each linked column the classes where the one that it follows tells nothing."""
    follows = encoded.schema.follows
    told = {
        attribute.name: _whole(attribute, domain, columns, numeric, fact)
        for attribute, domain, columns, fact in zip(
            encoded.schema.quasi, encoded.quasi, published, facts, strict=True
        )
        if domain.name in follows.values() and columns
    }
    return {name: told[first] for name, first in follows.items() if first in told}


def _whole(
    attribute: Attribute, domain: Domain, columns: Sequence[Column], numeric: str, fact: Facts
) -> Bools:
    """Which classes show `*` of a column of several values, or by numbers hold its least and its greatest."""
    if domain.kind != "numeric" or numeric in ("interval", "level"):
        return whole(domain, columns)
    if domain.coding is not None and domain.coding.is_star:
        return np.full(len(fact.low), domain.n_values > 1)
    low, high = whole_blocks(attribute, domain, fact.low, fact.high)
    return np.asarray((domain.n_values > 1) & (low == 0) & (high == domain.n_values - 1))


def _check_rows_shown(
    encoded: Encoded,
    classes: Classes,
    published: Sequence[Sequence[Column]],
    coded: Mapping[str, Column],
    n_threads: int | None,
) -> None:
    """Rows show of a coded attribute what all rows that show the same are coded as."""
    for attribute, domain in zip(encoded.schema.sensitive, encoded.sensitive, strict=True):
        if attribute.is_coded and domain.n_values:
            raise RecheckError(f"column {attribute.name!r} is to be coded, and is not; nothing was written")
    original = encoded.original
    quasi = zip(encoded.schema.quasi, encoded.quasi, original.quasi_codes, published, strict=True)
    shown = [
        (attribute, domain, codes, False)
        for attribute, domain, codes, columns in quasi
        if attribute.is_coded and domain.n_values and not columns
    ]
    shown += [
        (each.attribute, each.domain, each.codes, each.domain.kind == "nominal")
        for each in encoded.uncoded
        if each.domain.name in coded
    ]
    for attribute, domain, codes, as_labels in shown if len(classes.rows) else ():
        if domain.name not in coded:
            raise RecheckError(f"column {domain.name!r} is to be coded, and is not; nothing was written")
        column = coded[domain.name]
        looks = _identities(replace(column, index=column.index[classes.rows]))
        order = np.argsort(looks, kind="stable")
        starts = np.flatnonzero(np.diff(looks[order], prepend=-1))
        alike = Classes(
            classes.rows[order], np.append(starts, len(order)).astype(np.int64), classes.suppressed
        )
        words = column.values
        if as_labels:
            words = pa.array([None if word is None else quote(word) for word in words.to_pylist()])
        once = Column(column.name, pc.fill_null(words, MISSING), column.index[alike.rows[starts]])
        one = replace(original, quasi=(domain,), quasi_codes=(codes,))
        [fact] = facts_of(one, alike, [(once,)], n_threads)
        _check_column(attribute, domain, codes, alike, (once,), "interval", fact)


def _check_households(
    encoded: Encoded,
    classes: Classes,
    published: Sequence[Sequence[Column]],
    numeric: str,
    n_threads: int | None,
) -> None:
    """In the columns of households each shows one cell, which is that of all rows that show it."""
    assert encoded.units is not None
    names = encoded.schema.household
    places = [i for i, domain in enumerate(encoded.quasi) if domain.name in names]
    identities = [_identities(column) for i in places for column in published[i]]
    group_of, n_groups = _groups(identities, classes.n_classes)
    of_row = np.repeat(group_of, classes.sizes)
    low, high = np.full(encoded.units.n, n_groups), np.full(encoded.units.n, -1)
    whose = encoded.units.codes[classes.rows]
    np.minimum.at(low, whose, of_row)
    np.maximum.at(high, whose, of_row)
    apart = int(np.count_nonzero(low < high))
    if apart:
        raise RecheckError(
            f"{apart} households show several cells in {', '.join(names)}; this is a fault of the tool, "
            "nothing was written"
        )
    order = np.argsort(of_row, kind="stable")
    offsets = np.concatenate([[0], np.cumsum(np.bincount(of_row, minlength=n_groups))]).astype(np.int64)
    together = Classes(classes.rows[order], offsets, classes.suppressed)
    a_class = np.zeros(n_groups, np.int64)
    a_class[group_of] = np.arange(classes.n_classes)
    once = [
        tuple(replace(column, index=column.index[a_class]) for column in columns) if i in places else ()
        for i, columns in enumerate(published)
    ]
    original = encoded.original
    facts = facts_of(original, together, once, n_threads)
    hidden_by = _hidden(encoded, once, numeric, facts)
    for i, fact in enumerate(facts):
        if once[i]:
            attribute, domain = encoded.schema.quasi[i], encoded.quasi[i]
            hidden = hidden_by.get(domain.name)
            _check_column(
                attribute, domain, original.quasi_codes[i], together, once[i], numeric, fact, hidden
            )


def _check_column(
    attribute: Attribute,
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
    """Each class shows the cell of its rows, and nothing finer than the attribute's coding."""
    if domain.kind == "numeric" and numeric == "interval":
        n_wrong = n_finer(attribute, domain, columns[0].values.to_pylist())
        if n_wrong:
            raise RecheckError(
                f"column {domain.name!r}: {n_wrong} cells are finer than its coding "
                "allows; this is a fault of the tool, nothing was written"
            )
    fact.low, fact.high = whole_blocks(attribute, domain, fact.low, fact.high)
    check_cells(domain, codes, classes, columns, numeric, fact, hidden, by_level, wider)


def misread(
    classes: Classes,
    rows: npt.NDArray[np.uint32],
    of_row: npt.NDArray[np.uint32],
    cells: Mapping[str, tuple[Column, Codes]],
    kept: Mapping[str, tuple[Codes, Codes]],
) -> tuple[str, int] | None:
    """The first column of a file some of whose values were read as others, and its rows that hold them.

    `classes` are the file's rows by what was read of their cells; row i of the file was written from row
    `rows[i]` of the table, in class `of_row[i]`. `cells` gives for each column of cells what was written
    and the code read in each row of the file; `kept` for each other column the codes of the table's rows
    and those read. Two values that are read as one are found, and one that is read as two. Raises
    RecheckError where rows stand in other classes although every column was read as it was written.
    """
    for name, (codes, read) in kept.items():
        if count := _n_unlike(codes[rows], read):
            return name, count
    if not cells:
        return None
    written = {name: _identities(column) for name, (column, _) in cells.items()}
    group_of, n_groups = _groups(list(written.values()), len(next(iter(written.values()))))
    a_row = np.zeros(len(group_of), np.uint32)
    a_row[of_row] = np.arange(len(of_row), dtype=np.uint32)
    alike = n_groups == classes.n_classes
    for name, (_, read) in cells.items():
        alike &= not _n_unlike(written[name], read[a_row])
    for first, last in chunks(classes.offsets) if alike else ():
        of_file, starts = codes_inside(of_row, classes, first, last)
        group = group_of[of_file]
        alike &= np.array_equal(np.minimum.reduceat(group, starts), np.maximum.reduceat(group, starts))
    for name, (_, read) in cells.items() if not alike else ():
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
    parts = [slice(start, start + ROWS_AT_ONCE) for start in range(0, len(before), ROWS_AT_ONCE)]
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
    classes: Classes,
    sensitive: Sequence[Domain],
    codes: Sequence[Codes],
    requirements: Sequence[Any],
    units: Codes | None = None,
    shown: Sequence[Shown] = (),
) -> None:
    """Raise RecheckError unless the classes of a file, with sensitive values as read, meet everything.

    `units` are those of the file's rows, which no file shows, where they count; `shown` is what each class
    shows of every quasi-identifier, where null matches anything. A user's own test is of the
    original's values, which a file may show otherwise, and people are counted inside cells, which the
    file was found to show as they are; both are left out.
    """
    known = {domain.name: (domain, column) for domain, column in zip(sensitive, codes, strict=True)}
    _check_requirements(
        [each for each in requirements if type(each).__name__ != "Custom" and not on_people(each)],
        known,
        classes,
        np.arange(classes.n_classes),
        classes.n_classes,
        units,
        shown=shown,
    )


def _check_requirements(
    requirements: Sequence[Any],
    sensitive: Mapping[str, tuple[Domain, Codes]],
    classes: Classes,
    group_of: npt.NDArray[np.int64],
    n_groups: int,
    units: Codes | None = None,
    rows: npt.NDArray[np.uint32] | None = None,
    shown: Sequence[Shown] = (),
) -> None:
    """Raise RecheckError unless every group of classes meets every requirement.

    `rows` are those of the table that they are compared with, by default theirs.
    """
    sizes = np.bincount(group_of, weights=classes.sizes, minlength=n_groups).astype(np.int64)
    n_units = None if units is None else units_of_groups(units, classes, group_of, n_groups)
    counts: dict[str, Counts] = {}
    for requirement in requirements:
        if on_people(requirement):
            continue
        if is_matching(requirement):
            if not shown or units is not None:
                raise RecheckError(f"{requirement!r} was not tested: nothing says which cells are null here")
            n_failing = n_incompatible(requirement, shown, classes.sizes)
            if n_failing:
                raise unmet(requirement, n_failing, classes.n_classes)
            continue
        if getattr(requirement, "count", None) == "unit-bags" and units is not None:
            n_rare, n_all = n_in_rare_bags(units, classes, group_of, requirement.k)
            if n_rare:
                raise unmet(requirement, n_rare, n_all)
            continue
        if type(requirement).__name__ not in ("KAnonymity", *OF_ROWS):
            only = getattr(requirement, "sensitive", None)
            for name, (domain, codes) in sensitive.items():
                if name not in counts and only in (None, name):
                    counts[name] = (
                        count_values(domain, codes, classes, group_of, n_groups)
                        if units is None
                        else count_by_units(domain, codes, units, classes, group_of, n_groups)
                    )
                    if rows is not None:
                        total = np.bincount(codes[rows], minlength=domain.n_codes).astype(np.int64)
                        counts[name] = replace(counts[name], total=total)
        passes = _passing(requirement, sizes, counts, n_units)
        if not passes.all():
            raise unmet(requirement, int((~passes).sum()), n_groups)


def _passing(
    requirement: Any,
    sizes: npt.NDArray[np.int64],
    counts: Mapping[str, Counts],
    n_units: npt.NDArray[np.int64] | None = None,
) -> Bools:
    """Which classes meet a requirement: their sizes or units, and the counts of every attribute tested."""
    name = type(requirement).__name__
    if name in OF_ROWS:
        return OF_ROWS[name](requirement, sizes)
    count = getattr(requirement, "count", None) or "rows"
    people = {"rows": sizes, "units": n_units}.get(count)
    if people is None:
        raise RecheckError(f"{requirement!r} was not tested: this check cannot count {count} here")
    passes = np.asarray(people >= getattr(requirement, "k", 1))
    test = TESTS.get(name) or (by_itself if hasattr(requirement, "recheck") else None)
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
    n_units: npt.NDArray[np.int64] | None = None,
) -> list[int]:
    """How many of some groups of rows do not meet each requirement, told by counts alone.

    `sizes` are the rows of each group; `entries` give for each sensitive attribute its domain and the
    group, code and number of rows of each pair that occurs, sorted by group and code; `totals` the
    rows with each code in the whole release, of which these groups may be a part. With the `n_units` of each
    group, entries and totals are of units.
    """
    counts = {}
    for name, (domain, group, value, count) in entries.items():
        size = sizes
        if n_units is not None:
            size = np.zeros(len(sizes), np.int64)
            np.add.at(size, group, count)
        start = np.searchsorted(group, np.arange(len(sizes)))
        counts[name] = Counts(domain, group, value, count, start, size, totals[name])
    return [int((~_passing(one, sizes, counts, n_units)).sum()) for one in requirements]


def unmet(requirement: Any, n_failing: int, n_classes: int) -> RecheckError:
    """The error for a release some of whose classes do not meet a requirement."""
    return RecheckError(
        f"{n_failing} of {n_classes} classes do not meet {requirement!r} as published; "
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


def _identities(column: Column) -> npt.NDArray[np.int64]:
    """For each class a number that is equal for equal published values, null one of them."""
    same = column.values.dictionary_encode(null_encoding="encode").indices
    return np.asarray(same.to_numpy(zero_copy_only=False), dtype=np.int64)[column.index]


def _groups(identities: Sequence[npt.NDArray[np.int64]], n_classes: int) -> tuple[npt.NDArray[np.int64], int]:
    """Number the distinct combinations of published values; buckets stay what they are."""
    if not identities or not n_classes:
        return np.arange(n_classes), n_classes
    group_of = np.zeros(n_classes, dtype=np.int64)
    n_groups = 1
    for identity in identities:
        n_values = int(identity.max()) + 1
        if n_groups * n_values >= SAFE:
            values, group_of = np.unique(group_of, return_inverse=True)
            n_groups = len(values)
        group_of = group_of * n_values + identity
        n_groups *= n_values
    values, group_of = np.unique(group_of, return_inverse=True)
    return group_of, len(values)


def alike(columns: Sequence[pa.Array | pa.ChunkedArray]) -> tuple[npt.NDArray[np.int64], int]:
    """For each row the number of its combination of values, and how many combinations there are."""
    identities = []
    for column in columns:
        whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        identity = whole.dictionary_encode(null_encoding="encode").indices
        identities.append(np.asarray(identity.to_numpy(zero_copy_only=False), dtype=np.int64))
    return _groups(identities, len(columns[0]))
