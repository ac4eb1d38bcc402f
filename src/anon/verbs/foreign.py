# SPDX-License-Identifier: Apache-2.0
"""Cells of releases that other tools made."""

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

from anon.classes import (
    BY_NUMBER,
    MISSING,
    OR_MISSING,
    ROOT,
    Cell,
    Cells,
    Classes,
    Counts,
    Published,
    RowWeights,
    group,
    keys,
    number,
    quote,
    reader,
    sensitive_counts,
    texts,
)
from anon.encoding import Codes, Domain, Encoded, encode_like, encode_weights, label_codes
from anon.errors import DataError, UsageError
from anon.requirements import REQUIREMENTS
from anon.schema import (
    CODING,
    Attribute,
    CsvFile,
    Hierarchy,
    Nested,
    check_names,
    hierarchy_rows,
    is_measurable,
    lca,
    value_type,
)

if TYPE_CHECKING:
    from anon.tables import Scan

_COMPARED = re.compile(r"(<=|>=|<|>|≤|≥)\s*(.+)")
_HAVE_K = [each.__name__ for each in REQUIREMENTS if each.asks_k]
_ASKED_K = re.compile(rf"(?:{'|'.join(_HAVE_K)})\(.*\bk=([0-9]+)")
_UNBOUNDED = {"inf": math.inf, "+inf": math.inf, "∞": math.inf, "-inf": -math.inf, "-∞": -math.inf}


def asked_k(metadata: Mapping[str, Any] | None) -> int | None:
    matches = [_ASKED_K.match(text) for text in (metadata or {"requirements": ()})["requirements"]]
    return max((int(match[1]) for match in matches if match), default=None)


def coding_of_file(metadata: Mapping[str, Any], name: str) -> dict[str, Any]:
    """What a release says of least levels, top and bottom of a column."""
    given = metadata.get("coding")
    one = given.get(name) if isinstance(given, dict) else None
    return {key: one[key] for key in CODING if key in one} if isinstance(one, dict) else {}


def as_coded_in_file(attribute: Attribute, metadata: Mapping[str, Any]) -> Attribute:
    """The attribute, coded as the release says of its numbers or dates, where it says nothing itself."""
    coding = coding_of_file(metadata, attribute.name)
    kind = metadata["kinds"].get(attribute.name)  # a coded sensitive one is published as ordinal labels
    if attribute.is_coded or attribute.kind not in (None, "numeric") or kind not in ("numeric", "ordinal"):
        return attribute
    try:
        return replace(attribute, **coding)
    except UsageError:  # its hierarchy lacks that level, or the file was changed
        return attribute


def generalized(
    encoded: Encoded, table: pa.Table | Scan, metadata: Mapping[str, Any] | None, n_threads: int
) -> tuple[Published, list[Cells] | None]:
    """What the release shows, and the cell of every row per quasi-identifier, None where it hides cells."""
    columns = [_columns_of(domain.name, table, metadata) for domain in encoded.quasi]
    names = [name for each in columns for name in each]
    texts_of = dict(zip(names, label_codes(table, names, n_threads), strict=True))
    written = [[texts_of[name] for name in each] for each in columns]
    starred = np.full(table.num_rows, metadata is None)
    refusal = _refusal(metadata)
    row_cells: list[Cells] = []
    for domain, attribute, codes, names, each in zip(
        encoded.quasi, encoded.schema.quasi, encoded.quasi_codes, columns, written, strict=True
    ):
        if refusal:
            break
        of_row, words = _joined(each, n_threads)
        stars = [word == ROOT or (word is None and not domain.has_null) for word in words]
        starred &= np.array(stars)[of_row]
        reading, null = _reader_of(domain, attribute, metadata)
        reading = _coded_bounds(domain, reading) if len(each) > 1 else reading
        numbers = metadata is None and domain.kind == "numeric" and shows_numbers(table, names)
        try:
            cells = _cells_of(domain, *_read(domain, of_row, words, reading, null))
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
            row_cells.append(cells)
    if refusal:
        starred[:] = False
        classes = group([of_row for each in written for of_row, _ in each], n_threads=n_threads)
    else:
        left_out = np.flatnonzero(starred).astype(np.uint32)
        classes = group([one.of_class for one in row_cells], left_out, n_threads)
    first = classes.rows[classes.offsets[:-1]]
    counts, sensitive_codes = _counts(encoded.sensitive, table, classes, n_threads)
    weight = encoded.schema.sampling_weight
    published = Published(
        encoded,
        classes,
        counts,
        cells=None if refusal else tuple(replace(one, of_class=one.of_class[first]) for one in row_cells),
        by_level=metadata is not None and metadata["numeric"] == "level",
        k_asked=asked_k(metadata),
        n_starred=int(np.count_nonzero(starred)),
        refusal=refusal,
        n_threads=n_threads,
        weights=RowWeights(encode_weights(table, weight), sensitive_codes)
        if weight is not None and encoded.weights is not None and weight in table.column_names
        else None,
    )
    return published, None if refusal else row_cells


def shows_numbers(table: pa.Table, names: Sequence[str]) -> bool:
    """Is an attribute shown by one column of numbers, dates or times?"""
    return len(names) == 1 and is_measurable(value_type(table.schema.field(names[0]).type))


def _more_than(cells: Cells, codes: Codes) -> bool:
    """Do more rows show some value than the original, by its codes, has rows of it?"""
    single = (cells.low == cells.high) & ~cells.null
    n_rows = np.bincount(cells.of_class, minlength=len(cells.low))[single]
    return bool((n_rows > np.bincount(codes, minlength=cells.domain.n_codes)[cells.low[single]]).any())


def cells_of_rows(
    domain: Domain,
    attribute: Attribute,
    table: pa.Table | Scan,
    metadata: Mapping[str, Any] | None,
    n_threads: int = 1,
) -> Cells:
    """What each row of a released table shows of one attribute, one entry of `of_class` per row.

    `metadata` is what the release says about itself; None reads it as made by another tool.
    """
    columns = _columns_of(domain.name, table, metadata)
    of_row, words = _joined(label_codes(table, columns, n_threads), n_threads)
    read, null = _reader_of(domain, attribute, metadata)
    read = _coded_bounds(domain, read) if len(columns) > 1 else read
    return _cells_of(domain, *_read(domain, of_row, words, read, null))


def _reader_of(
    domain: Domain, attribute: Attribute, metadata: Mapping[str, Any] | None
) -> tuple[Callable[[str], Cell], Cell]:
    """How the texts of an attribute are read, and what null shows.

    Null is a missing value where the original has one, and else the whole domain; where single cells were
    suppressed it may be either.
    """
    whole = Cell(0, domain.n_values - 1, null=domain.has_null)
    null = Cell(1, 0, null=True) if domain.has_null else whole
    if metadata is None:
        return _foreign_reader(domain, attribute.hierarchy), null
    if "nulls" not in metadata or domain.kind == "numeric":
        return reader(domain), null if "nulls" not in metadata else whole
    code_of = {text: code for code, text in enumerate(texts(domain.values))}

    def value(text: str) -> Cell:
        if text not in code_of:
            raise DataError(f"column {domain.name!r}: no value of the original", column=domain.name)
        return Cell(code_of[text], code_of[text])

    return value, whole


def _columns_of(name: str, table: pa.Table | Scan, metadata: Mapping[str, Any] | None) -> list[str]:
    """The columns that show a quasi-identifier: its own, or its bounds and a mark of missing values."""
    if metadata is not None and name in metadata["cells"]:
        columns = list(metadata["cells"][name]["columns"])
    elif name not in table.column_names and f"{name}_min" in table.column_names:
        columns = [f"{name}_min", f"{name}_max"]
        columns += [f"{name}_missing"] if f"{name}_missing" in table.column_names else []
    else:
        columns = [name]
    check_names(columns, table.column_names)
    return columns


def _refusal(metadata: Mapping[str, Any] | None) -> str:
    """Why the cells cannot be read: numbers stand for them."""
    for name, cell in (metadata or {"cells": {}})["cells"].items():
        if cell["meaning"].startswith(("number: the value with Laplace noise", "perturbed:")):
            return f"the release shows column {name!r} perturbed, without cells; this measure needs them"
        if cell["meaning"].startswith("label:"):
            return (
                f"the release shows column {name!r} by one label of each class, which hides its cells; "
                "this measure needs them: publish intervals or bounds"
            )
        for rendering in BY_NUMBER:
            if cell["meaning"].startswith(f"number: {rendering}"):
                return (
                    f"the release shows column {name!r} by {rendering}s, which hide its cells; "
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
    """Two bounds and the mark of missing values as the text of a cell; all three are null in a blank one."""
    if low is missing is None:
        return ROOT + OR_MISSING
    if low is None or high is None:
        return MISSING if missing == "true" else None
    return f"[{low}, {high}]" + (OR_MISSING if missing == "true" else "")


def _coded_bounds(domain: Domain, otherwise: Callable[[str], Cell]) -> Callable[[str], Cell]:
    """The reader of `_bounds` that are ends of coded values, a top or a bottom among them."""
    coding = domain.coding
    if coding is None or coding.lower is None or coding.upper is None:
        return otherwise
    lower, upper = (each.cast(pa.string()).to_pylist() for each in (coding.lower, coding.upper))
    first, last = (ends.tolist() for ends in coding.cell_ends)
    low_of = dict(zip(reversed(lower), reversed(first), strict=True))
    high_of = dict(zip(upper, last, strict=True))

    def read(text: str) -> Cell:
        body = text.removesuffix(OR_MISSING)
        low, _, high = body[1:-1].partition(", ")
        if low in low_of and high in high_of:
            return Cell(low_of[low], high_of[high], null=body != text)
        return otherwise(text)

    return read


def _read(
    domain: Domain,
    of_row: Codes,
    words: Sequence[str | None],
    read: Callable[[str], Cell],
    null: Cell,
) -> tuple[list[Cell], npt.NDArray[np.uint32]]:
    """The distinct cells in the order of `Cells`, and the number of the one that each row shows."""
    cell_of: dict[int, Cell] = {}
    wrong = np.zeros(len(words), np.bool_)
    for code in np.flatnonzero(np.bincount(of_row, minlength=len(words))).tolist():
        word = words[code]
        try:
            cell_of[code] = _canonical(null if word is None else read(word), domain)
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
    distinct = sorted(set(cell_of.values()), key=_rank)
    number_of = {cell: i for i, cell in enumerate(distinct)}
    index = np.zeros(len(words), np.uint32)
    for code, cell in cell_of.items():
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
) -> tuple[tuple[Counts | None, ...], tuple[Codes | None, ...]]:
    """What each class and each row holds of the sensitive attributes; None for those that are left out."""
    published = [domain for domain in domains if domain.name in table.column_names]
    counts: dict[str, Counts] = {}
    of_row: dict[str, Codes] = {}
    for domain, codes in zip(published, encode_like(table, published, n_threads), strict=True):
        refuse_unknown(domain, codes)
        counts[domain.name] = sensitive_counts(classes, codes, domain.n_codes, n_threads)
        of_row[domain.name] = codes
    names = [domain.name for domain in domains]
    return tuple(map(counts.get, names)), tuple(map(of_row.get, names))


def refuse_unknown(domain: Domain, codes: Codes) -> None:
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
    rows = hierarchy_rows(hierarchy, domain.name, values)
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
            for match in re.finditer(re.escape(mark), body):
                try:
                    lower, upper = place(body[: match.start()]), place(body[match.end() :])
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
