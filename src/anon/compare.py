# SPDX-License-Identifier: Apache-2.0
"""Utility of a release made by anyone, read back from its published cells."""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from anon.cells import MISSING, OR_MISSING, ROOT, Cell, keys, number, quote, reader, texts
from anon.check import metadata_of, second_table
from anon.classes import Cells, Classes, Counts, group, sensitive_counts
from anon.encode import Codes, Domain, Encoded, available_threads, encode, encode_like
from anon.errors import DataError, UsageError
from anon.hierarchy import CsvFile, Hierarchy, Nested, _rows, lca
from anon.read import Source, read_source, read_table
from anon.release import CLASS_ID, sensitive_path
from anon.schema import Attribute, Schema, check_names
from anon.utility import Published, Utility, measure

_COMPARED = re.compile(r"(<=|>=|<|>|≤|≥)\s*(.+)")
_ASKED_K = re.compile(r"(?:KAnonymity|AlphaK)\(.*\bk=([0-9]+)")
_UNBOUNDED = {"inf": math.inf, "+inf": math.inf, "∞": math.inf, "-inf": -math.inf, "-∞": -math.inf}


def compare(
    original: Any,
    released: Any,
    schema: Schema | None = None,
    *,
    sensitive_table: Any = None,
    r: float = 1.0,
    w_u: float = 0.5,
    w_p: float = 0.5,
    min_support: float = 0.05,
    n_threads: int | None = None,
) -> Utility:
    """Measure what a released table lost of the original, whoever made it.

    Rows are not aligned. Classes are the rows with equal cells in every quasi-identifier; a cell covers
    the values of the original that lie in it. In a table of another tool a cell that equals a value or
    a label of the attribute's hierarchy is that; otherwise it is read as an interval (`[17, 25]`,
    `(17, 25]`, `[17, 25[`, `17-25`, `<25`, `>=65`), a set (`{a, b}`, `a|b`, `a,b`) or `*`; a missing
    cell is a missing value where the original has one in that column, otherwise `*`; an attribute may
    also stand in two columns, `<name>_min` and `<name>_max`. Rows of `*` only count as suppressed, and
    so do the rows that the release lacks. `c_avg` takes the k that a release of this package was asked for.

    Parameters
    ----------
    original, released : as for `anonymize`
    schema : Schema, optional
        The roles, with hierarchies and orders. Without it the release must be a Parquet or Feather
        file of this package without nodes and ordinal attributes, and hierarchies of sensitive
        attributes are not known.
    sensitive_table : as `released`, optional
        The second table of a bucketization; found beside the first where that is a file.
    r, w_u, w_p, min_support
        As for `Release.utility`.
    n_threads : int, optional
        Default: the processors this process may use. The answer does not depend on it.

    Raises
    ------
    DataError
        A cell cannot be read; names its column and row.
    UsageError
        Roles are missing; and later, when a measure that needs cells is asked of a release that shows
        midpoints or means.
    """
    threads = available_threads(n_threads)
    source = read_source(released)
    told = metadata_of(source)
    encoded = encode(read_table(original), _roles(told, schema), n_threads=threads)
    if source.table.num_rows > encoded.n_rows:
        raise DataError(
            f"the release has {source.table.num_rows} rows and the original {encoded.n_rows}; "
            "is the right table compared?"
        )
    if _is_bucketized(source, told, sensitive_table):
        published = _buckets(encoded, source.table, second_table(source, sensitive_table), told, threads)
    else:
        published = _generalized(encoded, source.table, told, threads)
    return measure(published, r=r, w_u=w_u, w_p=w_p, min_support=min_support)


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


def _is_bucketized(source: Source, told: Mapping[str, Any] | None, sensitive_table: Any) -> bool:
    if told is not None:
        return bool(told["publish"] == "bucketization")
    beside = len(source.paths) == 1 and sensitive_path(source.paths[0]).exists()
    return sensitive_table is not None or (beside and CLASS_ID in source.table.column_names)


def _asked_k(told: Mapping[str, Any] | None) -> int | None:
    found = [_ASKED_K.match(text) for text in (told or {"requirements": ()})["requirements"]]
    return max((int(match[1]) for match in found if match), default=None)


def _generalized(
    encoded: Encoded, table: pa.Table, told: Mapping[str, Any] | None, n_threads: int
) -> Published:
    columns = [_columns_of(domain.name, table, told) for domain in encoded.quasi]
    with ThreadPoolExecutor(n_threads) as pool:
        shown = [list(pool.map(lambda name: _texts_of(table[name], name), each)) for each in columns]
    starred = np.zeros(table.num_rows, np.bool_)
    refusal = _refusal(told)
    cells: tuple[Cells, ...] | None = None
    if refusal:
        classes = group([of_row for each in shown for of_row, _ in each], n_threads=n_threads)
    else:
        read = []
        starred[:] = told is None
        for domain, attribute, each in zip(encoded.quasi, encoded.schema.quasi, shown, strict=True):
            of_row, words = _joined(each, n_threads)
            stars = [word == ROOT or (word is None and not domain.has_null) for word in words]
            starred &= np.array(stars)[of_row]
            reading = reader(domain) if told is not None else _foreign_reader(domain, attribute.hierarchy)
            read.append((domain, *_read(domain, of_row, words, reading)))
        left_out = np.flatnonzero(starred).astype(np.uint32)
        classes = group([of_row for _, _, of_row in read], left_out, n_threads)
        first = classes.rows[classes.offsets[:-1]]
        cells = tuple(_cells_of(domain, distinct, of_row[first]) for domain, distinct, of_row in read)
    return Published(
        encoded,
        classes,
        tuple(_counts(domain, table, classes, n_threads) for domain in encoded.sensitive),
        cells=cells,
        by_level=told is not None and told["numeric"] == "level",
        k_asked=_asked_k(told),
        n_starred=int(np.count_nonzero(starred)),
        refusal=refusal,
        n_threads=n_threads,
    )


def _columns_of(name: str, table: pa.Table, told: Mapping[str, Any] | None) -> list[str]:
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
        for rendering in ("midpoint", "mean"):
            if cell["meaning"].startswith(f"number: {rendering}"):
                return (
                    f"the release shows column {name!r} by numeric={rendering!r}, which hides its cells; "
                    "this measure needs them: publish intervals or bounds"
                )
    return ""


def _texts_of(column: pa.ChunkedArray, name: str) -> tuple[Codes, list[str | None]]:
    """What each row shows as one number, and the text behind each number; None is a missing cell."""
    if column.null_count == len(column):
        return np.zeros(len(column), np.uint8), [None]
    if pa.types.is_duration(column.type):  # which Arrow does not cast to text
        ticks = column.cast(pa.int64()).cast(pa.string())
        column = pc.binary_join_element_wise(ticks, column.type.unit, "")
    encoded = encode(pa.table({name: column}), Schema([Attribute(name, "nominal")]), n_threads=1)
    return encoded.quasi_codes[0], [*encoded.quasi[0].values.to_pylist(), None]


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


def _counts(domain: Domain, table: pa.Table, classes: Classes, n_threads: int) -> Counts | None:
    """What each class holds of a sensitive attribute; None where the release leaves it out."""
    if domain.name not in table.column_names:
        return None
    [codes] = encode_like(table, [domain])
    _refuse_unknown(domain, codes)
    return sensitive_counts(classes, codes, domain.n_codes, n_threads)


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
    encoded: Encoded, table: pa.Table, second: pa.Table, told: Mapping[str, Any] | None, n_threads: int
) -> Published:
    check_names([CLASS_ID, *(domain.name for domain in encoded.quasi)], table.column_names)
    check_names(["attribute", CLASS_ID, "value", "count"], second.column_names)
    ids = encode(table.select([CLASS_ID]), Schema([CLASS_ID]), n_threads=n_threads)
    classes = group(ids.quasi_codes, n_threads=n_threads)
    intact = encode_like(table, encoded.quasi)
    for domain, codes in zip(encoded.quasi, intact, strict=True):
        _refuse_unknown(domain, codes)
    counts = []
    for domain in encoded.sensitive:
        part = second.filter(pc.equal(second["attribute"], domain.name))
        counts.append(_bucket_counts(domain, part, ids.quasi[0].values, classes))
    return Published(
        encoded, classes, tuple(counts), intact=intact, k_asked=_asked_k(told), n_threads=n_threads
    )


def _bucket_counts(domain: Domain, part: pa.Table, known: pa.Array, classes: Classes) -> Counts | None:
    if part.num_rows == 0:
        return None
    bucket = pc.index_in(part[CLASS_ID], value_set=known)
    if bucket.null_count:
        raise _unlike_pair(domain)
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
    keys_of, where = np.unique(bucket.to_numpy() * domain.n_codes + codes, return_inverse=True)
    # whole numbers below 2**53, so the sums in float64 are exact
    counts = np.bincount(where, part["count"].to_numpy(), len(keys_of)).astype(np.int64)
    class_id, values = np.divmod(keys_of, domain.n_codes)
    if not np.array_equal(np.bincount(class_id, counts, classes.n_classes), classes.sizes):
        raise _unlike_pair(domain)
    offsets = np.searchsorted(class_id, np.arange(classes.n_classes + 1))
    table = np.bincount(values, counts, domain.n_codes).astype(np.int64)
    return Counts(offsets, values.astype(np.uint32), counts, table)


def _unlike_pair(domain: Domain) -> DataError:
    return DataError(
        f"column {domain.name!r}: the two tables of the bucketization do not belong together: "
        "their buckets differ in size",
        column=domain.name,
    )
