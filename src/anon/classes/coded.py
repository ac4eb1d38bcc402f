# SPDX-License-Identifier: Apache-2.0
"""What rows show, one by one, of attributes with least levels, top and bottom codes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from anon.classes.label import labels
from anon.classes.reaches import intact_cells
from anon.classes.rendering import Column
from anon.encoding import Codes, Domain, Encoded, Uncoded, code_type
from anon.schema import Attribute, Listed, Prefix, tree_of

_LABEL = re.compile(r"(?P<below><=? )?(?P<above>>= )?\[?(?P<first>[^,\])]*).*")


def coded_column(domain: Domain, codes: Codes, rows: npt.NDArray[np.uint32]) -> Column:
    """What each row of a table shows of an attribute whose values are coded, where rows show values.

    `codes` are those of all rows, of blocks the first, or of labels; `rows` are the published ones: no value
    of others is in it, and what others show means nothing. Null stays null, and is the last value.
    """
    words = domain.values if domain.coding is None else labels(intact_cells(domain))[: domain.n_values]
    words = pa.concat_arrays([words, pa.nulls(int(domain.has_null), words.type)])
    used = np.bincount(codes[rows], minlength=domain.n_codes) > 0
    new = (np.cumsum(used) - 1).clip(0).astype(np.uint32)
    shown = words.filter(pa.array(used)).dictionary_encode(null_encoding="encode")  # rounded ends: one of two
    index = shown.indices.to_numpy(zero_copy_only=False).astype(np.uint32)
    return Column(domain.name, shown.dictionary, (index[new] if len(index) else new)[codes])


def with_coded_sensitive(encoded: Encoded) -> Encoded:
    """The table as everything sees it where sensitive attributes have least levels, top or bottom codes.

    Their values are the labels that they are published as: those of numbers and dates are ordinal, those of
    a tree the leaves of what is left of it. The schema says so, too; `uncoded` keeps what they were.
    """
    if all(domain.coding is None for domain in encoded.sensitive):
        return encoded
    attributes, domains, columns, uncoded = [], [], [], []
    for attribute, domain, codes in zip(
        encoded.schema.sensitive, encoded.sensitive, encoded.sensitive_codes, strict=True
    ):
        if domain.coding is not None:
            uncoded.append(Uncoded(attribute, domain, codes))
            attribute, domain, codes = _recoded(domain, codes)
        attributes.append(attribute)
        domains.append(domain)
        columns.append(codes)
    return replace(
        encoded,
        schema=replace(encoded.schema, sensitive=tuple(attributes)),
        sensitive=tuple(domains),
        sensitive_codes=tuple(columns),
        uncoded=tuple(uncoded),
    )


def _recoded(domain: Domain, codes: Codes) -> tuple[Attribute, Domain, Codes]:
    """A coded attribute as one of labels, its domain and the codes of its rows."""
    coding = domain.coding
    assert coding is not None
    starts = np.unique(coding.first)
    block = np.searchsorted(starts, coding.first)
    code_of = np.append(block, len(starts)).astype(code_type(len(starts) + domain.has_null))
    made = replace(domain, coding=None, levels=None, weight=1.0)
    if domain.kind == "nominal":
        words = [coding.labels[start] for start in starts.tolist()]
        left = _cut(domain, words, starts)
        tree, _ = tree_of(left, words, domain.name)
        made = replace(made, values=pa.array(words, pa.string()), tree=tree)
        return Attribute(domain.name, "nominal", left), made, code_of[codes]
    words = labels(intact_cells(domain)).take(pa.array(starts)).to_pylist()
    places = np.arange(len(words), dtype=np.float64)
    made = replace(
        made, kind="ordinal", values=pa.array(words, pa.string()), positions=places, unit_lattice=True
    )
    return Attribute(domain.name, "ordinal", order=tuple(words)), made, code_of[codes]


def _cut(domain: Domain, words: Sequence[str], starts: npt.NDArray[Any]) -> Listed:
    """What is left of the tree above the blocks that begin with these codes."""
    tree, coding = domain.tree, domain.coding
    assert tree is not None
    assert coding is not None
    if len(words) == 1:
        return Listed((words[0],), (-1,))
    known = {label: node for node, label in enumerate(tree.labels)}
    nodes = [known[word] for word in words]
    kept = set(nodes)
    for node in nodes:
        while (node := int(tree.parent[node])) >= 0:
            kept.add(node)
    order = sorted(kept)
    place = {node: i for i, node in enumerate(order)} | {-1: -1}
    return Listed(
        tuple(tree.labels[node] for node in order), tuple(place[int(tree.parent[node])] for node in order)
    )


def as_told(attribute: Attribute, words: Sequence[str]) -> Attribute:
    """A coded sensitive attribute as the labels of a released table tell it: ordinal where it was numeric.

    What is left of a hierarchy is not told by labels.
    """
    if attribute.kind == "nominal" or isinstance(attribute.hierarchy, Prefix) or not words:
        return Attribute(attribute.name, "nominal")
    return Attribute(attribute.name, "ordinal", order=tuple(sorted(words, key=_place)))


def _place(label: str) -> tuple[int, int, Decimal, str]:
    """Where the label of a coded number or date stands on their line."""
    match = _LABEL.fullmatch(label)
    assert match is not None
    side = 0 if match["below"] else 2 if match["above"] else 1
    text = re.sub(r"(?<=\d)(s|ms|us|ns)$", "", (match["first"] or "") or label.split(" ")[-1])
    try:
        return side, 0, Decimal(text), ""
    except InvalidOperation:
        return side, 1, Decimal(0), text
