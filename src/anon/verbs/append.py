# SPDX-License-Identifier: Apache-2.0
"""A new batch of persons, released by the rules of an earlier release as a table of its own."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from anon.classes import Classes, sensitive_counts, with_coded_sensitive
from anon.datasets import write_table
from anon.engines import Judged, Made
from anon.errors import DataError, Parameter, UsageError
from anon.measures import once_per_unit, units_of_classes
from anon.methods import FullDomain, Mondrian, Task, pass_rules
from anon.release import NothingFits, Release, Rules
from anon.requirements import Requirement, check_list, counting
from anon.schema import check_names, is_text, value_type
from anon.tables import read_source, read_table
from anon.threads import available_threads
from anoncore.requirement import Conjunction, passing_classes


@dataclass(frozen=True, repr=False)
class Appended:
    """What became of a batch.

    `release` shows the rows whose classes meet the requirements within the batch; None where none does.
    `held` are the other rows as they came: the owner's, to be pooled with the next batch. `outside` counts by
    column the values for which the rules have no cell; their rows are held too.
    """

    release: Release | None
    held: pa.Table
    outside: Mapping[str, int]

    @property
    def n_released(self) -> int:
        """Rows of the batch that are released."""
        return 0 if self.release is None else self.release.n_rows

    def write_held(self, path: str | os.PathLike[str]) -> None:
        """Write the held rows to a file that its owner alone can read."""
        write_table(self.held, path, most=0o600)

    def __repr__(self) -> str:
        return f"Appended(released={self.n_released}, held={self.held.num_rows})"


def append(
    rules: Rules | str | os.PathLike[str],
    batch: Any,
    *,
    require: Sequence[Requirement],
    earlier: Any = None,
    key: str | None = None,
    new_persons: bool = False,
    held: Any = None,
    n_threads: int | None = None,
) -> Appended:
    """Release a batch of new persons by the rules of an earlier release, as a table of its own.

    Rows that show the same by the rules are a class. One is released only if it meets every requirement
    *within the batch*, whatever the earlier release has of the same cells: a few rows more of an old class
    would be told by the difference. The other rows are held, to be pooled with the next batch. So each batch
    is a release by itself, and nobody is in two. It is checked again like every release.

    Parameters
    ----------
    rules : Rules, or the path of a file that `Rules.write` wrote
    batch : as for `anonymize`
        Rows of persons who are in no earlier batch, with the columns of the first table.
    require : sequence of requirements
        Those on classes of the batch; requirements on people of a population are refused.
    earlier : as `batch`, optional
        The owner's earlier tables: nobody of the batch may be there. Needs `key`.
    key : str, optional
        The column, of both, that tells persons apart. Default: the schema's unit.
    new_persons : bool
        In place of `earlier`: the caller claims it.
    held : as `batch`, optional
        What was held before, pooled with this batch.
    n_threads : int, optional
        Default: the processors this process may use. The answer does not depend on it.

    Raises
    ------
    UsageError
        Nobody says that the persons are new, or a requirement cannot be tested within a batch.
    DataError
        Persons of the batch are in an earlier table; names the column, the first row and their number.
    """
    if not isinstance(rules, Rules):
        rules = Rules.read(rules)
    check_list(require)
    if not require:
        raise UsageError("nothing is required: ask for what the earlier release was asked for")
    for each in require:
        if each.people is not None or each.by_levels or each.by_matching or _of_bags(each):
            raise UsageError(
                f"{each}: no test of one class of the batch decides it: ask for requirements on classes"
            )
    threads = available_threads(n_threads)
    source = read_source(batch)
    table = read_table(source)
    key = rules.schema.unit if key is None else key
    _refuse_known(table, earlier, key, new_persons)
    if held is not None:
        table = _pooled(table, read_table(read_source(held)), key)
    rows = np.arange(table.num_rows)
    outside: dict[str, int] = {}
    made: Made | None = None
    requirements = counting(tuple(require), rules.schema.unit)
    while len(rows):
        try:
            fitted = rules.fit(table.take(pa.array(rows)))
        except NothingFits as error:
            outside = outside or dict(error.outside)
            rows = rows[:0]
            break
        outside = outside or dict(fitted.outside)
        rows = rows[fitted.rows]
        encoded = with_coded_sensitive(fitted.encoded)
        judged = Judged.whole(encoded)
        tests = judged.rules(requirements)
        classes = fitted.classes
        passes = _passing(judged, tests, classes, threads)
        if passes.all():
            method: Any = Mondrian() if rules.levels is None else FullDomain(levels=rules.levels)
            task = Task(tests, np.random.default_rng(0), threads)
            made = Made(encoded, classes, fitted.cells, requirements, method, "generalization", None, task)
            break
        members = classes.rows[np.repeat(passes, classes.sizes)]
        rows = rows[np.sort(members)]
    release = None
    if made is not None:
        release = made.release(
            sources=[*map(str, source.paths), *source.identities], file_schema=None, judge=True
        )
    left = np.ones(table.num_rows, np.bool_)
    left[rows] = False
    return Appended(release, table.filter(pa.array(left)), outside)


def _passing(judged: Judged, tests: Conjunction, classes: Classes, n_threads: int) -> npt.NDArray[np.bool_]:
    """Which of the batch's classes meet every requirement, by its units where these are counted."""
    encoded, units = judged.encoded, judged.encoded.units
    if units is None:
        return pass_rules(encoded, tests, classes.rows, classes.offsets)
    counts = [
        sensitive_counts(
            once_per_unit(classes, [codes], units, n_threads) if tests.by_units else classes,
            codes,
            domain.n_codes,
            n_threads,
        )
        for domain, codes in zip(encoded.sensitive, encoded.sensitive_codes, strict=True)
    ][: tests.n_sensitive]
    return passing_classes(
        tests,
        classes.sizes,
        [each.offsets for each in counts],
        [each.values.astype(np.int64) for each in counts],
        [each.counts for each in counts],
        units_of_classes(classes, units, n_threads),
    ).astype(np.bool_)


def _of_bags(requirement: Requirement) -> bool:
    return getattr(requirement, "count", None) == "unit-bags"


def _refuse_known(table: pa.Table, earlier: Any, key: str | None, new_persons: bool) -> None:
    """Raise where persons of the batch are in an earlier table, or nobody says that they are new."""
    if earlier is None:
        if not new_persons:
            raise UsageError(
                "a batch is released beside an earlier one only if its persons are new: give the earlier "
                "table ",
                Parameter("as earlier=", "with --earlier"),
                ", or claim it yourself ",
                Parameter("with new_persons=True", "with --new-persons"),
            )
        return
    if key is None:
        raise UsageError(
            "persons are compared by the column that tells them apart: name it ",
            Parameter("as key=", "with --key"),
        )
    before = read_table(read_source(earlier))
    for side, one in (("batch", table), ("earlier table", before)):
        if key not in one.column_names:
            raise DataError(f"the {side} has no column {key!r}, which tells persons apart", column=key)
    there = _among(table[key], before[key])
    unknown = np.asarray(table[key].is_null())
    for wrong, what in (
        (unknown, "nobody knows whose rows they are"),
        (there, "they are in the earlier table"),
    ):
        if wrong.any():
            row, count = int(np.argmax(wrong)), int(np.count_nonzero(wrong))
            raise DataError(
                f"column {key!r}: of {count} rows of the batch, the first of them row {row + 1}, {what}; "
                "append new persons only, and release changed rows of known ones anew, with a check of both "
                "releases (anon check --against)",
                column=key,
                row=row,
                count=count,
            )


def _among(keys: pa.ChunkedArray, others: pa.ChunkedArray) -> npt.NDArray[np.bool_]:
    """Which keys are among the others, as values: 7 is 7.0, and where one of the two is text, "07" is 7."""
    ours, theirs = (each.cast(value_type(each.type)) for each in (keys, others))
    there = _equal_to_some(ours, theirs)
    if is_text(ours.type) and _is_number(theirs.type):
        there |= _equal_to_some(_numbers_in(ours), theirs)
    elif is_text(theirs.type) and _is_number(ours.type):
        there |= _equal_to_some(ours, _numbers_in(theirs))
    return there


def _equal_to_some(keys: pa.ChunkedArray, others: pa.ChunkedArray) -> npt.NDArray[np.bool_]:
    kind = _common(keys.type, others.type)
    ours, theirs = (each.cast(kind, safe=False) for each in (keys, others.drop_null()))
    return np.array(pc.is_in(ours, value_set=theirs))


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _numbers_in(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """What texts write, where that is a number; null elsewhere."""
    trimmed = pc.utf8_trim_whitespace(texts)
    is_number = pc.match_substring_regex(trimmed, r"^[+-]?\d{1,18}(\.\d*)?$")
    plain = pc.replace_substring_regex(pc.if_else(is_number, trimmed, None), r"^\+|\.0*$", "")
    if pc.any(pc.match_substring(plain, ".")).as_py():
        return plain.cast(pa.float64())
    return plain.cast(pa.int64())


def _common(ours: pa.DataType, theirs: pa.DataType) -> pa.DataType:
    """The type in which values of two types are compared: their own, or else text."""
    kinds, types = (ours, theirs), pa.types
    if ours == theirs:
        return ours
    if all(types.is_integer(kind) or types.is_decimal(kind) for kind in kinds):  # as exact as they are
        scales = [getattr(kind, "scale", 0) for kind in kinds]
        whole = max(getattr(kind, "precision", 20) - at for kind, at in zip(kinds, scales, strict=True))
        if whole + max(*scales, 0) <= 38:
            return pa.decimal128(whole + max(*scales, 0), max(*scales, 0))
    if all(map(_is_number, kinds)):
        return pa.float64()
    if all(types.is_date(kind) or types.is_timestamp(kind) for kind in kinds):
        zone = next((kind.tz for kind in kinds if types.is_timestamp(kind) and kind.tz), None)
        return pa.timestamp("us", zone)
    return pa.large_string()


def _pooled(table: pa.Table, held: pa.Table, key: str | None) -> pa.Table:
    """The batch and the rows that were held before; nobody may be in both."""
    check_names(table.column_names, held.column_names)
    if key is not None and key in table.column_names:
        again = _among(table[key], held[key])
        if again.any():
            row, count = int(np.argmax(again)), int(np.count_nonzero(again))
            raise DataError(
                f"column {key!r}: {count} rows of the batch, the first of them row {row + 1}, are of "
                "persons whose rows are held already; leave them out of one of the two",
                column=key,
                row=row,
                count=count,
            )
    try:
        return pa.concat_tables([table, held.select(table.column_names).cast(table.schema)])
    except (pa.ArrowException, ValueError):
        raise DataError(
            "the held rows have other types than the batch: keep them in Parquet, or read both the same way"
        ) from None
