# SPDX-License-Identifier: Apache-2.0
"""The text of cells read back."""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from anon.classes.text import ATOM, MISSING, OPEN_END, OR_MISSING, ROOT, keys, number, quote, texts, unquote
from anon.encoding import Coding, Domain
from anon.errors import DataError

if TYPE_CHECKING:
    from anon.schema import Levels


class Cell(NamedTuple):
    """One cell read back: codes `low..high` (none if low > high), only `codes` if given, and null or not."""

    low: int
    high: int
    null: bool = False
    codes: tuple[int, ...] | None = None


def extents(levels: Levels) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """First code, last code and number of codes of each set of the levels."""
    n_sets = len(levels.labels)
    codes = np.arange(levels.of_code.shape[1])
    first, last, size = np.full(n_sets, len(codes)), np.full(n_sets, -1), np.zeros(n_sets, dtype=np.int64)
    for set_of in levels.of_code:
        inside = set_of >= 0
        np.minimum.at(first, set_of[inside], codes[inside])
        np.maximum.at(last, set_of[inside], codes[inside])
        size += np.bincount(set_of[inside], minlength=n_sets)
    return first, last, size


def joined_texts(*parts: pa.Array | pa.Scalar) -> pa.Array:
    """Texts (large_string) end to end, element by element."""
    return pc.binary_join_element_wise(*parts, pa.scalar("", pa.large_string()))


def cell_atoms(domain: Domain, codes: npt.NDArray[np.uint32]) -> pa.Array:
    """The quoted text of each code (large_string); each distinct value is put into words once."""
    used, index = np.unique(codes, return_inverse=True)
    words = texts(domain.values.take(pa.array(used)))
    if domain.kind != "numeric":
        words = [quote(word) for word in words]
    return pa.array(words, pa.large_string()).take(pa.array(index))


def intervals(domain: Domain, low: npt.NDArray[np.uint32], high: npt.NDArray[np.uint32]) -> pa.Array:
    """Each range of codes as a closed interval, or as its only value; as the blocks of a coding tell."""
    if domain.coding is not None and domain.coding.lower is not None:
        return _coded_intervals(domain.coding, low, high)
    ends = cell_atoms(domain, np.concatenate([low, high]))
    first, last = ends[: len(low)], ends[len(low) :]
    opening, comma, closing = (pa.scalar(mark, pa.large_string()) for mark in ("[", ", ", "]"))
    interval = joined_texts(opening, first, comma, last, closing)
    return pc.if_else(pa.array(low == high), first, interval)


def _coded_intervals(coding: Coding, low: npt.NDArray[np.uint32], high: npt.NDArray[np.uint32]) -> pa.Array:
    """Ranges of whole blocks, between the ends of what these are published as."""
    assert coding.lower is not None
    assert coding.upper is not None
    assert coding.closed is not None
    below = coding.has_bottom & (low <= coding.last[0])
    above = coding.has_top & (high >= coding.first[-1])
    first, last = texts(coding.lower.take(pa.array(low))), texts(coding.upper.take(pa.array(high)))
    labels = []
    for one in zip(first, last, coding.closed[high].tolist(), below.tolist(), above.tolist(), strict=True):
        lower, upper, closed, from_bottom, to_top = one
        if from_bottom and to_top:
            labels.append(ROOT)
        elif to_top:
            labels.append(f">= {lower}")
        elif from_bottom:
            labels.append(f"<= {upper}" if closed else f"< {upper}")
        elif closed and lower == upper:
            labels.append(lower)
        else:
            labels.append(f"[{lower}, {upper}" + ("]" if closed else ")"))
    return pa.array(labels, pa.large_string())


def level_names(
    domain: Domain, levels: Levels, low: npt.NDArray[np.uint32], high: npt.NDArray[np.uint32]
) -> pa.Array:
    """Names of the smallest sets that hold these codes; the closed interval where a name would mislead."""
    chosen = levels.interval_of(low, high)
    first, last, _ = extents(levels)
    if domain.coding is not None:  # a cell that is not a set of a level, as it is open at an end
        if domain.coding.labels:  # one block, whose name each of its codes may carry
            return pa.array(domain.coding.labels[:1] * len(low), pa.large_string())
        is_set = (np.append(first, -1)[chosen] == low) & (np.append(last, -1)[chosen] == high)
        chosen = np.where(is_set, chosen, -1)
        chosen = np.where(domain.coding.is_open(low, high), -1, chosen)
    named = _named_levels(levels)
    line = _line_reader(domain)
    labels = []
    for level_set, plain in zip(chosen.tolist(), intervals(domain, low, high).to_pylist(), strict=True):
        name = levels.labels[level_set] if level_set >= 0 else ""
        if level_set < 0 or named.get(name) != (first[level_set], last[level_set]):
            labels.append(plain)
            continue
        try:
            means = line(name)[:2]
        except (ValueError, KeyError):
            labels.append(quote(name))
        else:
            labels.append(name if means == named[name] else json.dumps(name, ensure_ascii=False))
    return pa.array(labels, pa.large_string())


def _named_levels(levels: Levels) -> dict[str, tuple[int, int]]:
    """First and last code behind each name of the levels' sets, for names with one meaning."""
    first, last, _ = extents(levels)
    return _meanings(levels.labels, first.tolist(), last.tolist())


def named_leaves(domain: Domain) -> dict[str, tuple[int, int]]:
    """First and last leaf behind each label of the tree that has one meaning; a value means itself."""
    tree = domain.tree
    assert tree is not None
    meanings = _meanings(tree.labels, tree.first.tolist(), tree.last.tolist())
    return meanings | {word: (code, code) for code, word in enumerate(texts(domain.values))}


def _meanings(names: Sequence[str], first: Sequence[int], last: Sequence[int]) -> dict[str, tuple[int, int]]:
    """The range of codes that each name stands for; names that stand for two are left out."""
    meaning: dict[str, tuple[int, int] | None] = {}
    for name, *codes in zip(names, first, last, strict=True):
        span = (codes[0], codes[1])
        meaning[name] = span if meaning.get(name, span) == span else None
    return {name: span for name, span in meaning.items() if span is not None}


def parse(text: str, domain: Domain) -> Cell:
    """The cell that `text` shows; see `reader`."""
    return reader(domain)(text)


def reader(domain: Domain) -> Callable[[str], Cell]:
    """A function from the text of a cell of this attribute to its codes.

    It raises DataError, without the text in its message, where the text is no cell of the attribute.
    """
    read = _label_reader(domain) if domain.kind == "nominal" else _named_line_reader(domain)
    everything = Cell(0, domain.n_values - 1)

    def cell(text: str) -> Cell:
        if text == MISSING:
            return Cell(1, 0, null=True)
        null = text.endswith(OR_MISSING)
        body = text[: -len(OR_MISSING)] if null else text
        try:
            read_back = everything if body == ROOT else read(body)
        except (ValueError, KeyError):
            raise DataError(
                f"column {domain.name!r} has a cell that is no cell of this attribute",
                column=domain.name,
                value=text,
            ) from None
        return read_back._replace(null=True) if null else read_back

    return cell


class _Atoms(dict[str, int]):
    """The codes of labels as atoms write them, each read once."""

    def __init__(self, code_of: Mapping[str, int]) -> None:
        self.code_of = code_of

    def __missing__(self, atom: str) -> int:
        code = self[atom] = self.code_of[unquote(atom)]
        return code


def _label_reader(domain: Domain) -> Callable[[str], Cell]:
    code_of = {word: code for code, word in enumerate(texts(domain.values))}
    atoms = _Atoms(code_of)
    nodes = named_leaves(domain) if domain.tree is not None else {}
    if domain.coding is not None:
        ends = zip(domain.coding.first.tolist(), domain.coding.last.tolist(), strict=True)
        nodes |= dict(zip(domain.coding.labels, ends, strict=True))

    def read(body: str) -> Cell:
        if body.startswith("{") and body.endswith("}"):
            members = tuple(sorted(map(atoms.__getitem__, _split(body[1:-1]))))
            if len(set(members)) < len(members):
                raise ValueError("a label twice")
            return Cell(members[0], members[-1], codes=members)
        label = unquote(body)
        if label in code_of and (domain.coding is None or label not in nodes):
            code = code_of[label]
            return Cell(code, code, codes=(code,))
        return Cell(*nodes[label])

    return read


def _named_line_reader(domain: Domain) -> Callable[[str], Cell]:
    """As `_line_reader`, and the names of the attribute's levels."""
    line = _line_reader(domain)
    levels = domain.levels
    if levels is None:
        return line
    named = _named_levels(levels)
    if domain.coding is not None:
        named |= dict.fromkeys(domain.coding.labels, (0, domain.n_values - 1))

    def read(body: str) -> Cell:
        try:
            return line(body)
        except ValueError:
            return Cell(*named[unquote(body)])

    return read


def _line_reader(domain: Domain) -> Callable[[str], Cell]:
    """Intervals with both ends, half-open intervals and single values of an ordered attribute."""
    ordinal = domain.kind == "ordinal"
    line = list(range(domain.n_values)) if ordinal else keys(domain.values)
    rank = {word: code for code, word in enumerate(texts(domain.values))} if ordinal else {}
    known: dict[str, Any] = {}

    def place(atom: str) -> Any:
        if atom not in known:
            known[atom] = rank[unquote(atom)] if ordinal else number(atom, domain.values.type)
        return known[atom]

    def read(body: str) -> Cell:
        if opened := OPEN_END.fullmatch(body):
            at = place(opened[2])
            if opened[1] == ">=":
                return Cell(bisect_left(line, at), len(line) - 1)
            return Cell(0, (bisect_left if opened[1] == "<" else bisect_right)(line, at) - 1)
        if not body.startswith("["):
            first = last = place(body)
        elif body.endswith(("]", ")")):
            lower, upper = _split(body[1:-1])
            first, last = place(lower), place(upper)
        else:
            raise ValueError("an interval without an end")
        if body.endswith(")"):
            return Cell(bisect_left(line, first), bisect_left(line, last) - 1)
        return Cell(bisect_left(line, first), bisect_right(line, last) - 1)

    return read


def _split(listed: str) -> list[str]:
    """The atoms of a list `a, b, "c, d"`."""
    if '"' not in listed:
        return listed.split(", ")
    atoms = []
    end = -2
    while end < len(listed):
        match = ATOM.match(listed, end + 2)
        if match is None or listed[match.end() : match.end() + 2] not in ("", ", "):
            raise ValueError("not a list of labels")
        atoms.append(match.group())
        end = match.end()
    return atoms
