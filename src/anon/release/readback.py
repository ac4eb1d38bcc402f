# SPDX-License-Identifier: Apache-2.0
"""What was written is read back, as `check` reads it, before it takes its name.

The file's rows are grouped by the cells that were read. All columns but neutral ones are compared, row by
row, with what the release shows, and every requirement that a file can decide is tested on what was read,
by the code of the re-check. A format that does not carry two values apart is refused with the column and
the count.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from anon.classes import Classes, Column, group
from anon.encoding import Codes, Domain, encode, of_published_rows
from anon.errors import AnonError, DataError, RecheckError
from anon.release.buckets import bucket_ids, in_buckets, values_as_written
from anon.release.formulas import Formulas, guarded_names, is_formula
from anon.release.metadata import CLASS_ID
from anon.release.readers import numbers_one_to_readers, one_to_readers
from anon.release.recheck import misread, recheck_file
from anon.release.recheck_nulls import read_as
from anon.release.recoded import Recoded
from anon.schema import Attribute, Schema, is_text, value_type
from anon.tables import Scan, Source, Target, as_written, read_source, read_table
from anon.threads import available_threads

WHOLE = ("Parquet", "Feather")  # formats that carry everything


def refuse_merged(release: Recoded, format: str) -> None:
    """Raise DataError where a column of a release has values that are one to other readers of a CSV, or as
    pandas reads the texts of an Excel file.
    """
    for name, values, rows_of in _values(release):
        if is_text(values.type):
            merged = one_to_readers(values, len(rows_of) > len(values))
        elif format == "CSV":
            merged = np.zeros(len(rows_of), np.bool_)
            merged[: len(values)] = numbers_one_to_readers(values)
        else:
            continue
        if merged.any():
            raise _one_to_readers(name, int(rows_of[merged].sum()), format)


def read_back(release: Recoded, files: Sequence[Path | Target], format: str, guard: bool = False) -> None:
    """Raise unless the files, under their temporary names, hold the release as it was checked.

    `files` are the table, which may be one of a database, and, of a bucketization, its sensitive table;
    `format` is named in messages. `guard`: formulas have an apostrophe before them in the files.
    DataError where a format does not carry what it should; RecheckError, a fault of the tool, of those
    that carry everything.
    """
    if not release.n_rows:
        return
    try:
        with ExitStack() as stack:
            wrong = _misread(release, [_to_be_opened(path, stack) for path in files], format, guard)
    except AnonError as error:
        if format not in WHOLE:
            raise DataError(
                f"the {format} would not pass its own check: {error}; nothing was written; write Parquet",
                column=getattr(error, "column", None),
            ) from None
        raise RecheckError(f"{format}: {error}; this is a fault of the tool, nothing was written") from None
    if wrong is not None and format == "CSV":
        raise _one_to_readers(*wrong, format)
    if wrong is not None and format not in WHOLE:
        raise DataError(
            f"column {wrong[0]!r} holds in {wrong[1]} rows values that {format} does not tell apart; nothing "
            "was written; write Parquet, or recode them so that they differ",
            column=wrong[0],
            count=wrong[1],
        )
    if wrong is not None:
        raise RecheckError(
            f"column {wrong[0]!r}: {wrong[1]} rows were not read back from {format} as they were written; "
            "this is a fault of the tool, nothing was written"
        )


def _to_be_opened(path: Path | Target, stack: ExitStack) -> Path | Target:
    """The path, or where Arrow cannot take its name, because it is no Unicode, one of the open file."""
    if isinstance(path, Target):
        return path
    try:
        os.fspath(path).encode()
    except UnicodeEncodeError:
        descriptor = os.open(path, os.O_RDONLY)
        stack.callback(os.close, descriptor)
        return Path(f"/dev/fd/{descriptor}")
    return path


def _one_to_readers(name: str, count: int, format: str) -> DataError:
    return DataError(
        f"column {name!r} holds in {count} rows values that are one to readers of {format}, such as an empty "
        "text and a missing value, 1 and 1.0, a text with spaces around it and without, or numbers that "
        "differ in their sixteenth digit; nothing was written; write Parquet, or recode them so that they "
        "differ",
        column=name,
        count=count,
    )


def _misread(
    release: Recoded, files: Sequence[Path | Target], format: str, guard: bool
) -> tuple[str, int] | None:
    """The first column that was not read as it was written; else every requirement is tested."""
    n_threads = available_threads()
    rows, of_row = release._rows()
    cells, kept = _written(release)
    sensitive = _sensitive(release)
    original = {each.name: each.name for each in sensitive}
    if guard:
        cells = dict(zip(guarded_names([*cells]), cells.values(), strict=True))
        kept = dict(zip(guarded_names([*kept]), kept.values(), strict=True))
        sensitive = _guarded(release)
        original = {each.name: name for each, name in zip(sensitive, original, strict=True)}
    names = [*cells, *kept]
    source = _read(release, files[0], names, format)
    if source.table.num_rows != len(rows):
        raise RecheckError(f"{len(rows)} rows were written and {source.table.num_rows} read back")
    labels = [each for each in sensitive if each.name in kept and each.kind in ("nominal", "ordinal")]
    written = as_written(source, [each.name for each in labels])
    if written is not source:  # as they are read where nobody says that they are labels
        typed = [name for name in kept if source.table.schema.field(name) != written.table.schema.field(name)]
        values = encode(source.table.select(typed), Schema(typed), n_threads=n_threads).quasi_codes
        both = {name: (kept[name], codes) for name, codes in zip(typed, values, strict=True)}
        if wrong := misread(_NO_CLASSES, rows, of_row, {}, both):
            return wrong
        source = written
    apart = release.publish == "bucketization"
    attributes = [] if apart else [_as_read(each, source) for each in sensitive]
    not_quasi = {*([CLASS_ID] if apart else []), *(each.name for each in attributes)}
    quasi = [name for name in names if name not in not_quasi]
    encoded = encode(source.table, Schema(quasi, attributes), n_threads=n_threads)
    domains, codes = encoded.sensitive, encoded.sensitive_codes
    read = dict(
        zip((*quasi, *(each.name for each in attributes)), (*encoded.quasi_codes, *codes), strict=True)
    )
    if not apart:
        classes = group([read[name] for name in cells], n_threads=n_threads) if cells else _NO_CLASSES
    else:
        ids = bucket_ids(source.table, n_threads)
        [read[CLASS_ID]] = ids.quasi_codes
        second = read_table(values_as_written(_read(release, files[1], None, format)))
        before = _guarded_texts(release.sensitive_table) if guard else release.sensitive_table
        if wrong := _misread_second(before, second):
            return wrong
        classes, domains, codes = in_buckets(ids, second, sensitive, n_threads)
    wrong = misread(
        classes,
        rows,
        of_row,
        {name: (column, read[name]) for name, column in cells.items()},
        {name: (before, read[name]) for name, before in kept.items()},
    )
    if wrong is None:
        domains = tuple(replace(domain, name=original[domain.name]) for domain in domains)
        _check_order(release, domains)
        units = release.encoded.units
        by_file = release.requirements
        if release.encoded.reference is not None:  # a file does not tell of the whole table
            by_file = tuple(each for each in by_file if not each.of_table)
        if units is None:
            described = dict(zip(quasi, encoded.quasi, strict=True))
            shown = [read_as(read[name], described[name], classes) for name in cells if release.nulled]
            recheck_file(classes, domains, codes, by_file, shown=shown)
        elif not apart:  # of buckets, whose numbers are as they were, a file says nothing that units need
            recheck_file(classes, domains, codes, by_file, units.codes[rows])
    return wrong


_NO_CLASSES = Classes(np.zeros(0, np.uint32), np.zeros(1, np.int64), np.zeros(0, np.uint32))


def _read(release: Recoded, path: Path | Target, columns: Sequence[str] | None, format: str) -> Source:
    """A file as `check` reads it; its rows stay there where those of the input do and the format has them
    one by one. A table of a database is read whole.
    """
    if isinstance(path, Target):
        return read_source(path.read(columns))
    table = release.encoded.table
    if isinstance(table, Scan) and format in (*WHOLE, "CSV"):
        return read_source(path, columns=columns, engine="stream", memory=table.memory, spill=table.folder)
    return read_source(path, columns=columns, engine="local")


def _written(release: Recoded) -> tuple[dict[str, Column], dict[str, Codes]]:
    """The columns of cells, bucket numbers too, and the codes of columns published as they were."""
    encoded = release.encoded
    columns = zip(encoded.quasi, encoded.quasi_codes, release.columns, strict=True)
    cells: dict[str, Column] = {}
    kept: dict[str, Codes] = {}
    for domain, codes, published in columns:
        cells |= {column.name: column for column in published}
        if not published:
            shown = release.coded.get(domain.name)  # rounded ends: two values may show one cell
            kept[domain.name] = codes if shown is None else shown.index
    if release.publish == "bucketization":
        number = np.arange(release.classes.n_classes, dtype=np.uint32)
        cells[CLASS_ID] = Column(CLASS_ID, pa.array(number), number)
    else:
        kept |= {
            domain.name: codes
            for domain, codes in zip(encoded.sensitive, encoded.sensitive_codes, strict=True)
            if domain.name not in release.dropped
        }
    return cells, kept


def _sensitive(release: Recoded) -> list[Attribute]:
    return [each for each in release.encoded.schema.sensitive if each.name not in release.dropped]


def _guarded(release: Recoded) -> list[Attribute]:
    """The sensitive attributes as a guarded file has them; DataError for a formula in a tree."""
    domains = {domain.name: domain for domain in release.encoded.sensitive}
    attributes = _sensitive(release)
    for each in attributes:
        values = domains[each.name].values
        if is_text(values.type) and (each.hierarchy is not None or each.order is not None):
            count = is_formula(values.cast(pa.large_string())).true_count
            if count:
                raise DataError(
                    f"column {each.name!r} has a hierarchy or an order with {count} labels that a guard "
                    "against formulas would change; choose Parquet, or leave the guard out",
                    column=each.name,
                    count=count,
                )
    names = guarded_names([each.name for each in attributes])
    return [replace(each, name=name) for each, name in zip(attributes, names, strict=True)]


def _guarded_texts(table: pa.Table) -> pa.Table:
    """A table as a guarded file has it."""
    formulas = Formulas(guard=True)
    formulas.schema(table.schema)
    return formulas.written(table)


def _as_read(attribute: Attribute, source: Source) -> Attribute:
    """The attribute; one of numbers that a CSV has as text is one of labels."""
    as_text = is_text(value_type(source.table.schema.field(attribute.name).type))
    return Attribute(attribute.name, "nominal") if as_text and attribute.kind == "numeric" else attribute


def _check_order(release: Recoded, read: Sequence[Domain]) -> None:
    """Raise RecheckError where a requirement asks for the order of values that were read as labels."""
    kinds = {domain.name: domain.kind for domain in release.encoded.sensitive}
    for requirement in release.requirements:
        asks = (
            getattr(requirement, "distance", None) == "ordered"
            or type(requirement).__name__ == "SDiversityBound"
        )
        for domain in read if asks else ():
            if (
                getattr(requirement, "sensitive", None) in (None, domain.name)
                and domain.kind != kinds[domain.name]
            ):
                raise RecheckError(f"column {domain.name!r} is read as text, which has no order")


def _misread_second(before: pa.Table, after: pa.Table) -> tuple[str, int] | None:
    """The same for the sensitive table of a bucketization: all but its values must be equal."""
    if after.num_rows != before.num_rows:
        raise RecheckError(f"{before.num_rows} counts were written and {after.num_rows} read back")
    for name in before.column_names:
        if name != "value" and not after[name].cast(before[name].type).equals(before[name]):
            raise RecheckError(f"column {name!r} of the sensitive table was not read back as it was written")
    codes = [_codes(each["value"]) for each in (before, after)]
    rows = np.arange(before.num_rows, dtype=np.uint32)
    return misread(_NO_CLASSES, rows, rows, {}, {"value": (codes[0], codes[1])})


def _codes(column: pa.ChunkedArray) -> Codes:
    plain = column.cast(value_type(column.type)).combine_chunks()
    return np.asarray(plain.dictionary_encode(null_encoding="encode").indices.to_numpy())


# What other readers of CSV make of a text


def _values(release: Recoded) -> Iterator[tuple[str, pa.Array, npt.NDArray[np.int64]]]:
    """Every column with its published texts, and each sensitive one with its numbers; the rows of each, those
    of null last where it has null.
    """
    sizes = release.classes.sizes
    for column in (column for columns in release.columns for column in columns):
        if is_text(column.values.type):
            weights = np.bincount(column.index, sizes, len(column.values)).astype(np.int64)
            null = column.values.is_null().to_numpy(zero_copy_only=False)
            last = np.argsort(null, kind="stable")
            yield column.name, column.values.drop_null(), weights[last]
    for name, column in release.coded.items():
        index = column.index[release.classes.rows]
        yield name, column.values.drop_null(), np.bincount(index, minlength=len(column.values))
    encoded = of_published_rows(release.encoded)
    intact = [
        (domain, codes, False)
        for domain, codes, columns in zip(encoded.quasi, encoded.quasi_codes, release.columns, strict=True)
        if not columns and domain.name not in release.coded
    ]
    sensitive = [
        (domain, codes, not pa.types.is_temporal(domain.values.type))
        for domain, codes in zip(encoded.sensitive, encoded.sensitive_codes, strict=True)
        if domain.name not in release.dropped
    ]
    for domain, codes, has_numbers in (*intact, *sensitive):
        if domain.kind == "numeric" and not has_numbers:
            continue
        rows = np.bincount(codes[release.classes.rows], minlength=domain.n_codes)
        used = rows > 0
        values = domain.values.filter(pa.array(used[: domain.n_values]))
        yield domain.name, values, rows[used]
