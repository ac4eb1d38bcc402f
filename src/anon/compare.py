# SPDX-License-Identifier: Apache-2.0
"""Utility of a release made by anyone, read back from its published cells."""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from anon.cells import MISSING, OR_MISSING, ROOT, Cell, keys, measures, number, quote, reader, texts
from anon.check import (
    bucket_ids,
    buckets_of,
    is_bucketized,
    linked,
    metadata_of,
    refuse_sensitive_half,
    second_table,
)
from anon.classes import Cells, Classes, Counts, group, sensitive_counts
from anon.encode import (
    Codes,
    Domain,
    Encoded,
    available_threads,
    encode,
    encode_column,
    encode_like,
    label_codes,
)
from anon.errors import DataError, UsageError
from anon.hierarchy import CsvFile, Hierarchy, Nested, _rows, lca
from anon.populations import reach, single_cells
from anon.read import read_source, read_table
from anon.schema import Attribute, Role, Schema, check_names, is_measurable, kind_of, value_type
from anon.utility import Aligned, Published, Utility, measure

if TYPE_CHECKING:
    from anon.scale.scan import Scan

_COMPARED = re.compile(r"(<=|>=|<|>|≤|≥)\s*(.+)")
_ASKED_K = re.compile(r"(?:KAnonymity|AlphaK)\(.*\bk=([0-9]+)")
_UNBOUNDED = {"inf": math.inf, "+inf": math.inf, "∞": math.inf, "-inf": -math.inf, "-∞": -math.inf}


def compare(
    original: Any,
    released: Any,
    schema: Schema | None = None,
    *,
    sensitive_table: Any = None,
    id: str | None = None,
    r: float = 1.0,
    w_u: float = 0.5,
    w_p: float = 0.5,
    min_support: float = 0.05,
    n_threads: int | None = None,
) -> Utility:
    """Measure what a released table lost of the original, whoever made it.

    Rows are not aligned, unless a column `id` tells them apart. Classes are the rows with equal cells in
    every quasi-identifier; a cell covers the values of the original that lie in it. In a table of another
    tool a cell that equals a value or a label of the attribute's hierarchy is that; otherwise it is read
    as an interval (`[17, 25]`, `(17, 25]`, `[17, 25[`, `17-25`, `<25`, `>=65`), a set (`{a, b}`, `a|b`,
    `a,b`) or `*`; a missing cell is a missing value where the original has one in that column, otherwise
    `*`; an attribute may also stand in two columns, `<name>_min` and `<name>_max`. Rows of `*` only count
    as suppressed, and so do the rows that the release lacks. A column of numbers that the original does
    not have, or not so often, shows midpoints, means or noise: then measures that need cells are refused.
    `c_avg` takes the k that a release of this package was asked for.

    Parameters
    ----------
    original, released : as for `anonymize`
    schema : Schema, optional
        The roles, with hierarchies and orders. Without it the release must be a Parquet or Feather
        file of this package without nodes and ordinal attributes, and hierarchies of sensitive
        attributes are not known.
    sensitive_table : as `released`, optional
        The second table of a bucketization; found beside the first where that is a file.
    id : str, optional
        A neutral column without missing or repeated values in either table, by which rows are matched;
        the answer then has `aligned`: whose value lies outside its cell, and how far. Both tables are then
        held in memory.
    r, w_u, w_p, min_support
        As for `Release.utility`.
    n_threads : int, optional
        Default: the processors this process may use. The answer does not depend on it.

    Raises
    ------
    DataError
        A cell cannot be read, or an id is missing, repeated or unknown; names its column and row.
    UsageError
        Roles are missing; and later, when a measure that needs cells is asked of a release that shows
        midpoints, means or noise.
    """
    threads = available_threads(n_threads)
    source = read_source(released)
    told = metadata_of(source)
    refuse_sensitive_half(source, schema)
    before, after = (
        read_source(each).table if id is None else read_table(each) for each in (original, source)
    )
    encoded = encode(before, _roles(told, schema), n_threads=threads)
    if after.num_rows > encoded.n_rows:
        raise DataError(
            f"the release has {after.num_rows} rows and the original {encoded.n_rows}; "
            "is the right table compared?"
        )
    shown: list[Cells] | None
    if sensitive_table is not None or is_bucketized(source, told, encoded.schema):
        second = second_table(source, sensitive_table)
        published = _buckets(encoded, after, second, told, threads)
        assert published.intact is not None
        shown = [
            replace(single_cells(domain), of_class=codes.astype(np.uint32))
            for domain, codes in zip(encoded.quasi, published.intact, strict=True)
        ]
    else:
        published, shown = _generalized(encoded, after, told, threads)
    measured = measure(published, r=r, w_u=w_u, w_p=w_p, min_support=min_support)
    if id is None:
        return measured
    rows = _matched(encoded, after, id)
    return replace(measured, aligned=_aligned(published, shown, after, rows))


def _roles(told: Mapping[str, Any] | None, given: Schema | None) -> Schema:
    if given is not None:
        return given
    if told is None:
        raise UsageError("the table does not say its roles: name its quasi-identifiers in a schema")
    for name, cell in told["cells"].items():
        if told["kinds"][name] == "ordinal" or cell["meaning"].startswith("text: a value or a node"):
            raise UsageError(
                f"column {name!r} cannot be read without its order or hierarchy: give them in a schema"
            )
    attributes = [
        [Attribute(name, "numeric" if told["kinds"][name] == "numeric" else "nominal") for name in names]
        for names in (told["roles"]["quasi"], told["roles"]["sensitive"])
    ]
    return Schema(*attributes)


def _asked_k(told: Mapping[str, Any] | None) -> int | None:
    found = [_ASKED_K.match(text) for text in (told or {"requirements": ()})["requirements"]]
    return max((int(match[1]) for match in found if match), default=None)


def _generalized(
    encoded: Encoded, table: pa.Table | Scan, told: Mapping[str, Any] | None, n_threads: int
) -> tuple[Published, list[Cells] | None]:
    """What the release shows, and the cell of every row per quasi-identifier, None where it hides cells."""
    columns = [_columns_of(domain.name, table, told) for domain in encoded.quasi]
    names = [name for each in columns for name in each]
    texts_of = dict(zip(names, label_codes(table, names, n_threads), strict=True))
    written = [[texts_of[name] for name in each] for each in columns]
    starred = np.full(table.num_rows, told is None)
    refusal = _refusal(told)
    shown: list[Cells] = []
    for domain, attribute, codes, names, each in zip(
        encoded.quasi, encoded.schema.quasi, encoded.quasi_codes, columns, written, strict=True
    ):
        if refusal:
            break
        of_row, words = _joined(each, n_threads)
        stars = [word == ROOT or (word is None and not domain.has_null) for word in words]
        starred &= np.array(stars)[of_row]
        reading = reader(domain) if told is not None else _foreign_reader(domain, attribute.hierarchy)
        numbers = told is None and domain.kind == "numeric" and _are_numbers(table, names)
        try:
            cells = _cells_of(domain, *_read(domain, of_row, words, reading))
        except DataError:
            if not numbers:
                raise
            cells = None
        if cells is None or (numbers and _more_than(cells, codes)):
            refusal = (
                f"the release shows column {domain.name!r} by numbers that are not those of the original's "
                "rows (midpoints, means or noise), which hides its cells; this measure needs them: publish "
                "intervals or bounds"
            )
        else:
            shown.append(cells)
    if refusal:
        starred[:] = False
        classes = group([of_row for each in written for of_row, _ in each], n_threads=n_threads)
    else:
        left_out = np.flatnonzero(starred).astype(np.uint32)
        classes = group([one.of_class for one in shown], left_out, n_threads)
    first = classes.rows[classes.offsets[:-1]]
    published = Published(
        encoded,
        classes,
        _counts(encoded.sensitive, table, classes, n_threads),
        cells=None if refusal else tuple(replace(one, of_class=one.of_class[first]) for one in shown),
        by_level=told is not None and told["numeric"] == "level",
        k_asked=_asked_k(told),
        n_starred=int(np.count_nonzero(starred)),
        refusal=refusal,
        n_threads=n_threads,
    )
    return published, None if refusal else shown


def _are_numbers(table: pa.Table, names: Sequence[str]) -> bool:
    """Is an attribute shown by one column of numbers, dates or times?"""
    return len(names) == 1 and is_measurable(value_type(table.schema.field(names[0]).type))


def _more_than(cells: Cells, codes: Codes) -> bool:
    """Do more rows show some value than the original, by its codes, has rows of it?"""
    single = (cells.low == cells.high) & ~cells.null
    shown = np.bincount(cells.of_class, minlength=len(cells.low))[single]
    return bool((shown > np.bincount(codes, minlength=cells.domain.n_codes)[cells.low[single]]).any())


def cells_of_rows(
    domain: Domain, attribute: Attribute, table: pa.Table, told: Mapping[str, Any] | None, n_threads: int = 1
) -> Cells:
    """What each row of a released table shows of one attribute, one entry of `of_class` per row.

    `told` is what the release says about itself; None reads it as made by another tool.
    """
    columns = _columns_of(domain.name, table, told)
    of_row, words = _joined(label_codes(table, columns, n_threads), n_threads)
    reading = reader(domain) if told is not None else _foreign_reader(domain, attribute.hierarchy)
    return _cells_of(domain, *_read(domain, of_row, words, reading))


def _columns_of(name: str, table: pa.Table | Scan, told: Mapping[str, Any] | None) -> list[str]:
    """The columns that show a quasi-identifier: its own, or its bounds and a mark of missing values."""
    if told is not None and name in told["cells"]:
        columns = list(told["cells"][name]["columns"])
    elif name not in table.column_names and f"{name}_min" in table.column_names:
        columns = [f"{name}_min", f"{name}_max"]
        columns += [f"{name}_missing"] if f"{name}_missing" in table.column_names else []
    else:
        columns = [name]
    check_names(columns, table.column_names)
    return columns


def _refusal(told: Mapping[str, Any] | None) -> str:
    """Why the cells cannot be read: numbers stand for them."""
    for name, cell in (told or {"cells": {}})["cells"].items():
        if cell["meaning"].startswith("number: the value with Laplace noise"):
            return f"the release shows column {name!r} with noise, without cells; this measure needs them"
        for rendering in ("midpoint", "mean"):
            if cell["meaning"].startswith(f"number: {rendering}"):
                return (
                    f"the release shows column {name!r} by numeric={rendering!r}, which hides its cells; "
                    "this measure needs them: publish intervals or bounds"
                )
    return ""


def _joined(
    columns: Sequence[tuple[Codes, list[str | None]]], n_threads: int
) -> tuple[Codes, list[str | None]]:
    """The same for the bounds of an attribute: the text of its cell."""
    if len(columns) == 1:
        return columns[0]
    pairs = group([of_row for of_row, _ in columns], n_threads=n_threads)
    first = pairs.rows[pairs.offsets[:-1]]
    of_row = np.empty(len(pairs.rows), np.uint32)
    of_row[pairs.rows] = np.repeat(np.arange(pairs.n_classes, dtype=np.uint32), pairs.sizes)
    parts = [[words[code] for code in codes[first].tolist()] for codes, words in columns]
    return of_row, [_bounds(*part) for part in zip(*parts, strict=True)]


def _bounds(low: str | None, high: str | None, missing: str | None = "false") -> str | None:
    """Two bounds and the mark of missing values as the text of a cell."""
    if low is None or high is None:
        return MISSING if missing == "true" else None
    return f"[{low}, {high}]" + (OR_MISSING if missing == "true" else "")


def _read(
    domain: Domain, of_row: Codes, words: Sequence[str | None], read: Callable[[str], Cell]
) -> tuple[list[Cell], npt.NDArray[np.uint32]]:
    """The distinct cells in the order of `Cells`, and the number of the one that each row shows."""
    missing = Cell(1, 0, null=True) if domain.has_null else Cell(0, domain.n_values - 1)
    found: dict[int, Cell] = {}
    wrong = np.zeros(len(words), np.bool_)
    for code in np.flatnonzero(np.bincount(of_row, minlength=len(words))).tolist():
        word = words[code]
        try:
            found[code] = _canonical(missing if word is None else read(word), domain)
        except DataError:
            wrong[code] = True
    if wrong.any():
        rows = np.flatnonzero(wrong[of_row])
        raise DataError(
            f"column {domain.name!r} of the release has {len(rows)} cells that show no values of the "
            f"original, the first in row {rows[0] + 1}; correct them, or give the schema the hierarchy "
            "that they come from",
            column=domain.name,
            row=int(rows[0]),
            count=len(rows),
            value=words[int(of_row[rows[0]])],
        )
    distinct = sorted(set(found.values()), key=_rank)
    number_of = {cell: i for i, cell in enumerate(distinct)}
    index = np.zeros(len(words), np.uint32)
    for code, cell in found.items():
        index[code] = number_of[cell]
    return distinct, index[of_row]


def _rank(cell: Cell) -> tuple[Any, ...]:
    codes = cell.codes or ()
    return cell.low, cell.high, len(codes), codes, cell.null


def _canonical(cell: Cell, domain: Domain) -> Cell:
    """A cell as `Cells` holds it: a set on a flat attribute, all below a node in a tree, a range on a line.

    Raises DataError where it holds nothing of the domain.
    """
    flat = domain.kind == "nominal" and domain.tree is None
    if cell.low > cell.high:
        if not cell.null:
            raise DataError("the cell holds no value", column=domain.name)
        return Cell(1, 0, True, () if flat else None)
    if flat:
        return cell._replace(codes=cell.codes or tuple(range(cell.low, cell.high + 1)))
    if domain.tree is None:
        return cell._replace(codes=None)
    node = int(lca(domain.tree, cell.low, cell.high))
    return Cell(int(domain.tree.first[node]), int(domain.tree.last[node]), cell.null)


def _cells_of(domain: Domain, distinct: Sequence[Cell], of_class: npt.NDArray[np.uint32]) -> Cells:
    low = np.array([cell.low for cell in distinct], np.uint32)
    high = np.array([cell.high for cell in distinct], np.uint32)
    null = np.array([cell.null for cell in distinct], np.bool_)
    if domain.kind != "nominal" or domain.tree is not None:
        return Cells(domain, of_class, low, high, null)
    sets = [cell.codes or () for cell in distinct]
    offsets = np.cumsum([0, *map(len, sets)])
    codes = np.array([code for members in sets for code in members], np.uint32)
    return Cells(domain, of_class, low, high, null, offsets, codes)


def _counts(
    domains: Sequence[Domain], table: pa.Table | Scan, classes: Classes, n_threads: int
) -> tuple[Counts | None, ...]:
    """What each class holds of the sensitive attributes; None for those that the release leaves out."""
    published = [domain for domain in domains if domain.name in table.column_names]
    counts: dict[str, Counts] = {}
    for domain, codes in zip(published, encode_like(table, published, n_threads), strict=True):
        _refuse_unknown(domain, codes)
        counts[domain.name] = sensitive_counts(classes, codes, domain.n_codes, n_threads)
    return tuple(counts.get(domain.name) for domain in domains)


def _refuse_unknown(domain: Domain, codes: Codes) -> None:
    unknown = np.flatnonzero(codes == domain.n_codes)
    if len(unknown):
        raise DataError(
            f"column {domain.name!r} of the release has {len(unknown)} values that the original lacks, the "
            f"first in row {unknown[0] + 1}; is the right table compared?",
            column=domain.name,
            row=int(unknown[0]),
            count=len(unknown),
        )


# --- cells as other tools write them


def _foreign_reader(domain: Domain, hierarchy: Hierarchy | None) -> Callable[[str], Cell]:
    """A function from a cell of another tool to its codes; raises DataError where it is none."""
    own = reader(domain)
    everything = _names_of_everything(domain, hierarchy)

    def atom(text: str) -> Cell:
        """A value, or a label of the hierarchy, whatever marks it holds."""
        return own(text if domain.kind == "numeric" and domain.levels is None else quote(text))

    attempts = [atom, own, _set_of(atom)]
    if domain.kind != "nominal":
        attempts.insert(2, _interval_reader(domain))

    def read(text: str) -> Cell:
        text = text.strip()
        if text in everything:
            return Cell(0, domain.n_values - 1)
        for attempt in attempts:
            try:
                cell = attempt(text)
            except (DataError, ValueError, KeyError):
                continue
            if cell.low <= cell.high or cell.null:
                return cell
        raise DataError("no cell of this attribute", column=domain.name, value=text)

    return read


def _names_of_everything(domain: Domain, hierarchy: Hierarchy | None) -> set[str]:
    """Labels of the whole hierarchy that stand above every value; the domain's own tree has been pruned."""
    if not isinstance(hierarchy, CsvFile | Nested):
        return set()
    values = set(texts(domain.values))
    rows = _rows(hierarchy, domain.name, values)
    kept = [set(row[1:]) for row in rows if domain.tree is None or row[0] in values]
    return set.intersection(*kept)


def _set_of(atom: Callable[[str], Cell]) -> Callable[[str], Cell]:
    """`{a, b}`, `a|b` or `a,b`: everything that one of them holds."""

    def read(text: str) -> Cell:
        body = text[1:-1] if text.startswith("{") and text.endswith("}") else text
        listed = body.split("|" if "|" in body else ",")
        cells = [atom(each.strip()) for each in listed]
        codes = sorted({code for cell in cells for code in cell.codes or range(cell.low, cell.high + 1)})
        return Cell(codes[0], codes[-1], codes=tuple(codes)) if codes else Cell(1, 0)

    return read


def _interval_reader(domain: Domain) -> Callable[[str], Cell]:
    """Intervals with open or closed ends, two values with a dash between, and comparisons."""
    ordinal = domain.kind == "ordinal"
    line = list(range(domain.n_values)) if ordinal else keys(domain.values)
    rank = {label: code for code, label in enumerate(texts(domain.values))} if ordinal else {}

    def place(text: str) -> Any:
        text = text.strip()
        if text in _UNBOUNDED:
            return _UNBOUNDED[text]
        return rank[text] if ordinal else number(text, domain.values.type)

    def split(body: str, marks: Sequence[str]) -> tuple[Any, Any]:
        for mark in marks:
            for found in re.finditer(re.escape(mark), body):
                try:
                    lower, upper = place(body[: found.start()]), place(body[found.end() :])
                except (ValueError, KeyError):
                    continue
                if lower <= upper:
                    return lower, upper
        raise ValueError("no interval")

    def read(text: str) -> Cell:
        if compared := _COMPARED.fullmatch(text):
            at, sign = place(compared[2]), compared[1]
            if sign in ("<", "<=", "≤"):
                return Cell(0, (bisect_left if sign == "<" else bisect_right)(line, at) - 1)
            return Cell((bisect_right if sign == ">" else bisect_left)(line, at), len(line) - 1)
        above = below = False
        if text.startswith(("[", "(", "]")) and text.endswith(("]", ")", "[")):
            above, below = text[0] != "[", text[-1] != "]"
            lower, upper = split(text[1:-1], (",", ";", "-", "–"))
        else:
            lower, upper = split(text, ("-", "–"))
        return Cell(
            (bisect_right if above else bisect_left)(line, lower),
            (bisect_left if below else bisect_right)(line, upper) - 1,
        )

    return read


# --- bucketization: two tables linked by class id


def _buckets(
    encoded: Encoded,
    table: pa.Table | Scan,
    second: pa.Table,
    told: Mapping[str, Any] | None,
    n_threads: int,
) -> Published:
    check_names([domain.name for domain in encoded.quasi], table.column_names)
    classes, known, second = linked(bucket_ids(table, n_threads), second, n_threads)
    intact = encode_like(table, encoded.quasi, n_threads)
    for domain, codes in zip(encoded.quasi, intact, strict=True):
        _refuse_unknown(domain, codes)
    counts = []
    for domain in encoded.sensitive:
        part = second.filter(pc.equal(second["attribute"], domain.name))
        counts.append(_bucket_counts(domain, part, known, classes))
    return Published(
        encoded, classes, tuple(counts), intact=intact, k_asked=_asked_k(told), n_threads=n_threads
    )


def _bucket_counts(domain: Domain, part: pa.Table, known: pa.Array, classes: Classes) -> Counts | None:
    if part.num_rows == 0:
        return None
    bucket = buckets_of(part, domain.name, known, classes)
    words = part["value"].cast(pa.large_string()).to_pylist()
    read = reader(domain)
    code_of: dict[str | None, int] = {None: domain.n_values if domain.has_null else domain.n_codes}
    for word in {word for word in words if word is not None}:
        try:
            cell = read(word if domain.kind == "numeric" else quote(word))
        except DataError:
            cell = Cell(1, 0)
        code_of[word] = cell.low if cell.low == cell.high else domain.n_codes
    codes = np.array([code_of[word] for word in words], np.int64)
    _refuse_unknown(domain, codes)
    keys_of, where = np.unique(bucket * domain.n_codes + codes, return_inverse=True)
    # whole numbers below 2**53, so the sums in float64 are exact
    counts = np.bincount(where, part["count"].to_numpy(), len(keys_of)).astype(np.int64)
    class_id, values = np.divmod(keys_of, domain.n_codes)
    offsets = np.searchsorted(class_id, np.arange(classes.n_classes + 1))
    table = np.bincount(values, counts, domain.n_codes).astype(np.int64)
    return Counts(offsets, values.astype(np.uint32), counts, table)


# --- rows matched by an id


def _matched(encoded: Encoded, table: pa.Table, name: str) -> npt.NDArray[np.int64]:
    """The row of the original that each row of the release is, by a column that tells rows apart."""
    if encoded.schema.role(name) is not Role.NEUTRAL:
        role = encoded.schema.role(name).value
        raise UsageError(f"column {name!r} is {role}; rows are matched by a neutral column of both tables")
    check_names([name], encoded.table.column_names)
    check_names([name], table.column_names)
    column = encoded.column(name)
    kind_of(name, column.type)
    _refuse_ids(name, np.asarray(column.is_null()), "no id", "original")
    _refuse_ids(name, np.asarray(table[name].is_null()), "no id", "release")
    domain, codes = encode_column(column, Attribute(name, "nominal"))
    [there] = encode_like(table.select([name]), [domain])
    _refuse_ids(name, codes == domain.n_values, "no id", "original")
    _refuse_ids(name, np.bincount(codes)[codes] > 1, "an id that is repeated", "original")
    _refuse_ids(name, there >= domain.n_values, "an id that the original lacks", "release")
    _refuse_ids(name, np.bincount(there)[there] > 1, "an id that is repeated", "release")
    return np.argsort(codes)[there]


def _refuse_ids(name: str, wrong: npt.NDArray[np.bool_], what: str, where: str) -> None:
    rows = np.flatnonzero(wrong)
    if len(rows):
        raise DataError(
            f"column {name!r} of the {where} has {what} in {len(rows)} rows, the first in row "
            f"{rows[0] + 1}; rows are matched by ids that each stand once",
            column=name,
            row=int(rows[0]),
            count=len(rows),
        )


def _aligned(
    published: Published, shown: Sequence[Cells] | None, table: pa.Table, rows: npt.NDArray[np.int64]
) -> Aligned:
    """What the matched rows tell: those of `table`, with cells `shown`, are `rows` of the original."""
    original = published.original
    outside: dict[str, float | None] = {}
    error: dict[str, float | None] = {}
    for i, (domain, codes) in enumerate(zip(original.quasi, original.quasi_codes, strict=True)):
        cells = None if shown is None else shown[i]
        outside[domain.name] = None if cells is None else 1 - _share(_inside(cells, codes[rows]))
        if domain.kind == "numeric":
            error[domain.name] = _error(domain, codes[rows], cells, published.by_level, table)
    changed: dict[str, float | None] = {}
    for domain, codes in zip(original.sensitive, original.sensitive_codes, strict=True):
        changed[domain.name] = None
        if published.intact is None and domain.name in table.column_names:
            [there] = encode_like(table, [domain])
            changed[domain.name] = _share(there != codes[rows])
    return Aligned(len(rows), outside, error, changed)


def _share(marked: npt.NDArray[np.bool_]) -> float:
    return int(np.count_nonzero(marked)) / max(len(marked), 1)


def _inside(cells: Cells, codes: Codes) -> npt.NDArray[np.bool_]:
    """Does the cell of each row (`of_class`) hold the row's code?"""
    domain, cell = cells.domain, cells.of_class.astype(np.int64)
    held = (cells.low[cell] <= codes) & (codes <= cells.high[cell])
    if cells.set_offsets is not None and cells.set_codes is not None:
        of_set = np.repeat(np.arange(len(cells.low)), np.diff(cells.set_offsets))
        held = np.isin(cell * domain.n_codes + codes, of_set * domain.n_codes + cells.set_codes)
    return np.where(codes == domain.n_values, cells.null[cell], held)


def _error(
    domain: Domain, codes: Codes, cells: Cells | None, by_level: bool, table: pa.Table
) -> float | None:
    """Mean distance between the values of rows and the middles of their cells, or the numbers they show."""
    assert domain.positions is not None
    per_unit = measures(domain.values)[1]
    if cells is not None:
        lower, upper = reach(cells, by_level) or (np.empty(0), np.empty(0))
        shown = ((lower + upper) / 2 / per_unit)[cells.of_class]
        known = (cells.low <= cells.high)[cells.of_class]
    elif domain.name in table.column_names and _are_numbers(table, [domain.name]):
        column, first = table[domain.name], domain.values.slice(0, 1)
        known = ~np.asarray(column.is_null())
        shown = _as_floats(column, first.type) - _as_floats(first, first.type)
    else:
        return None
    known = known & (codes < domain.n_values)
    away = np.abs(shown[known] - domain.positions[codes[known]] / per_unit)
    return math.fsum(away) / len(away) if len(away) else None


def _as_floats(values: Any, kind: pa.DataType) -> npt.NDArray[np.float64]:
    """Numbers as they are, dates and times of type `kind` as ticks; 0 for null."""
    values = values.cast(value_type(values.type))
    if pa.types.is_temporal(kind):
        values = values.cast(kind, safe=False).cast(pa.int64() if kind.bit_width == 64 else pa.int32())
    return np.asarray(values.cast(pa.float64(), safe=False).fill_null(0.0).to_numpy())
