# SPDX-License-Identifier: Apache-2.0
"""A recoded table, and what it says of itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from anon.classes import Cells, Classes, Column, Rendering, coded_column, is_full, sensitive_counts, texts
from anon.encoding import Domain, Encoded, narrowed
from anon.errors import Parameter, UsageError
from anon.measures import Measure, away
from anon.release.metadata import CLASS_ID, note_on_perturbed
from anon.release.weights import Weights, class_means
from anon.requirements import Option
from anon.schema import CODING, as_word, hierarchy_to_dict, names_listed, value_type
from anon.version import __version__

Publish = Literal["generalization", "bucketization", "perturbation"]
OfClasses = Literal["generalization", "bucketization"]
Numeric = Literal["interval", "bounds", "midpoint", "mean", "median", "level"]
PUBLISHED = (
    Option("publish", OfClasses, "generalization (default) or bucketization."),
    Option("numeric", Numeric, "interval (default), bounds, midpoint, mean, median or level."),
)
"""How classes are shown, as a user says it."""
Order = Literal["class", "input"]
MOST_NODES = 1 << 17  # of a hierarchy in the metadata, of which readers take some megabytes alone

_MEANING = {
    "interval": "text: a value, a closed interval [low, high], * for the whole domain",
    "level": "text: the smallest listed interval that holds the class, * for the whole domain",
    "bounds": "numbers: least and greatest value of the class",
    "midpoint": "number: midpoint of the least and greatest value of the class",
    "mean": "number: mean of the values of the class",
    "median": "number: median of the values of the class, of two middle ones the lower",
    "node": "text: a value or a node of the hierarchy, * for its root",
    "set": "text: a value or a set {a, b} of values, * for the whole domain",
    "mode": "label: the most frequent one of the class",
    "middle": "label: the one in the middle of the class, of two the lower",
    "intact": "the original value",
    "value": "the original value, or null where it is missing or was suppressed",
    "laplace": "number: the value with Laplace noise added",
    "noise": "perturbed: the value with normal noise added",
    "rank-swap": "perturbed: the value of a row of near rank",
    "record-swap": "perturbed: the value of a household elsewhere",
    "pram": "perturbed: a value drawn from the row of a matrix that the metadata holds",
    "shuffle": "perturbed: a value of the column, re-dealt by a model of ranks",
}
LONG_SET = 50  # labels of a cell, in the mean of its column, from which a hierarchy is proposed
LONG_CELL = 200  # characters of a cell, likewise
_CODED = (
    "; nothing finer than the least level of its coding, >= top and <= bottom one value each, ends rounded "
    "outward"
)


def counts_rows(requirement: Any) -> bool:
    """Is it of rows also where the schema names a unit, so that a file decides it?"""
    return type(requirement).__name__ == "KAnonymity" and getattr(requirement, "count", None) == "rows"


@dataclass(frozen=True, repr=False)
class Recoded:
    """The fields of a `Release`, which says what they mean, and what everybody may know of them."""

    encoded: Encoded
    classes: Classes
    cells: tuple[Cells, ...]
    columns: tuple[tuple[Column, ...], ...]
    requirements: tuple[Any, ...] = ()
    method: Any = None
    publish: Publish = "generalization"
    numeric: Rendering = "interval"
    order: Order = "class"
    missing: str = "category"
    seed: int | None = None
    warnings: tuple[str, ...] = ()
    meets_requirements: bool = True
    sources: tuple[str, ...] = ()
    file_schema: pa.Schema | None = None
    dropped: tuple[str, ...] = ()
    noise: Mapping[str, Any] | None = None
    weights: Weights = "class-mean"
    lattice: Any = None
    left_out: Mapping[str, int] = field(default_factory=dict)
    perturbed: tuple[Mapping[str, Any], ...] = ()

    @property
    def nulled(self) -> bool:
        """Were single cells suppressed, so that null matches anything?"""
        return any(one.blank is not None for one in self.cells)

    @property
    def shows_middles(self) -> bool:
        """Do labels stand for those of their class, as means or medians do for numbers?"""
        return self.publish == "generalization" and shows_middles(self.method, self.numeric)

    @property
    def levels(self) -> tuple[int, ...] | None:
        """The level of each quasi-identifier in schema order; None unless the recoding is full-domain."""
        return getattr(self.method, "levels", None)

    @property
    def n_rows(self) -> int:
        """Rows published."""
        return len(self.classes.rows)

    @property
    def neutral(self) -> tuple[str, ...]:
        """The columns that are published as they are, and are neither quasi-identifiers nor sensitive."""
        encoded, noise = self.encoded, self.noise or {"attributes": ()}
        named = {domain.name for domain in (*encoded.quasi, *encoded.sensitive)} | set(noise["attributes"])
        named |= {*self.perturbed_by}
        return tuple(name for name in encoded.table.column_names if name not in named)

    @property
    def perturbed_by(self) -> dict[str, str]:
        """The columns that were perturbed beside the classes, and by which kind of perturbation."""
        return {name: facts["kind"] for facts in self.perturbed for name in facts["attributes"]}

    def is_mean(self, name: str) -> bool:
        """Is this the column of the sampling weights, of which each class shows the mean?"""
        return name == self.encoded.schema.sampling_weight and self.weights == "class-mean"

    @property
    def notes(self) -> tuple[str, ...]:
        """What the owner of the data is told beside the warnings: which columns are not published, whose
        cells are long lists, and which were perturbed.
        """
        notes = (
            note_on_unpublished(self.encoded.unpublished),
            self._note_on_sets(),
            note_on_perturbed(self.perturbed_by),
        )
        return tuple(note for note in notes if note is not None)

    def _note_on_sets(self) -> str | None:
        """Which columns show sets of many labels, on average over the rows, and what makes them short."""
        if self.publish != "generalization" or not self.n_rows:
            return None
        long, sizes = {}, self.classes.sizes
        n_characters = 0
        for cells, columns in zip(self.cells, self.columns, strict=True):
            if cells.set_offsets is None or not columns:
                continue
            n_labels = np.where(is_full(cells), 1, np.diff(cells.set_offsets))
            mean = float(n_labels[cells.of_class] @ sizes) / self.n_rows
            longest = pc.max(pc.utf8_length(columns[0].values)).as_py() or 0
            if mean >= LONG_SET or (longest > LONG_CELL and n_labels.max() > 1):
                long[cells.domain.name] = mean
                n_characters = max(n_characters, longest)
        if not long:
            return None
        first = next(iter(long))
        if min(long.values()) >= LONG_SET:
            which = "1 column lists" if len(long) == 1 else f"{len(long)} columns list"
            what = f"each cell of {which} {min(long.values()):,.0f} labels or more on average"
        else:
            which = "1 column list" if len(long) == 1 else f"{len(long)} columns list"
            what = f"cells of {which} labels in up to {n_characters:,} characters"
        return (
            f"{what}, which nobody reads and makes a large file: {names_listed(list(long))}; give them a "
            f"hierarchy, hierarchy=prefix(2) or --hierarchy {as_word(first, 'prefix:2')}, or a dict or file "
            "of their own, such as `anon hierarchy` drafts"
        )

    @cached_property
    def coded(self) -> dict[str, Column]:
        """What rows show, not classes, of coded attributes: an index for every row of the table."""
        encoded, rows = self.encoded, self.classes.rows
        quasi = zip(encoded.quasi, encoded.quasi_codes, strict=True)
        sensitive = zip(encoded.sensitive, encoded.sensitive_codes, strict=True)
        coded = {each.domain.name for each in encoded.uncoded} - {*self.dropped}
        shown = [each for each in sensitive if each[0].name in coded]
        if self.publish == "bucketization":
            shown += [each for each in quasi if each[0].coding is not None]
        return {domain.name: coded_column(domain, codes, rows) for domain, codes in shown}

    @cached_property
    def sensitive_table(self) -> pa.Table:
        """Attribute, class id, value (as text, null for a missing one) and count; of a bucketization only."""
        if self.publish != "bucketization":
            raise UsageError(
                "only a bucketization has a sensitive table; ",
                Parameter("publish='bucketization'", "--publish bucketization"),
                " makes one",
            )
        return _sensitive_counts(self.encoded, self.classes)

    def _households(self) -> dict[str, Any]:
        """What households show alike, and what else of them is a quasi-identifier."""
        names = self.encoded.schema.household
        return {"household": {"columns": list(names), "quasi": [*names, "size"]}} if names else {}

    @property
    def claimed(self) -> list[str]:
        """The requirements that no file decides: they count units, which are not published, or compare with
        rows that are not.
        """
        if self.encoded.units is None:
            of_table = self.encoded.reference is not None
            return [repr(each) for each in self.requirements if of_table and each.of_table]
        return [repr(each) for each in self.requirements if not counts_rows(each)]

    @property
    def metadata(self) -> dict[str, Any]:
        """What a written file says about itself, to everybody: how it was made, and what its rows tell.

        How many rows were suppressed is the owner's, as are warnings, the seed and the sources.
        """
        encoded = self.encoded
        sensitive = [domain.name for domain in encoded.sensitive if domain.name not in self.dropped]
        quasi = [domain.name for domain in encoded.quasi]
        perturbed = self.perturbed_by
        with_role = {*quasi, *sensitive, *self.dropped, *perturbed}
        return {
            "version": __version__,
            "roles": {
                "quasi": quasi,
                "sensitive": sensitive,
                "neutral": [name for name in encoded.table.column_names if name not in with_role],
                **({"perturbed": [*perturbed]} if perturbed else {}),
            },
            "kinds": {
                domain.name: domain.kind
                for domain in (*encoded.quasi, *encoded.sensitive)
                if domain.name not in self.dropped
            },
            "method": repr(self.method),
            "requirements": [repr(requirement) for requirement in self.requirements],
            **({"claimed": self.claimed} if self.claimed else {}),
            **self._households(),
            **({} if self.encoded.weights is None else {"weights": self.weights}),
            "publish": self.publish,
            "numeric": self.numeric,
            "missing": self.missing,
            **({"nulls": "wildcard"} if self.nulled else {}),
            "order": self.order,
            "cells": {
                cells.domain.name: {
                    "columns": [column.name for column in columns] or [cells.domain.name],
                    "type": str(value_type(cells.domain.values.type)),
                    "meaning": _MEANING[_rendering(self, cells)]
                    + (_CODED if cells.domain.coding is not None else ""),
                }
                for cells, columns in zip(self.cells, self.columns, strict=True)
            },
            **self._coding(),
            **self._sensitive_order(),
            "rows": self.n_rows,
            "classes": self.classes.n_classes,
            **({} if self.noise is None else {"noise": _noise_for_all(self.noise)}),
            **({"perturbed": [_noise_for_all(each) for each in self.perturbed]} if perturbed else {}),
        }

    def _coding(self) -> dict[str, Any]:
        """Least levels, top and bottom codes by column, where there are any."""
        given = {
            each.name: {key: getattr(each, key) for key in CODING if getattr(each, key) is not None}
            for each in (
                *self.encoded.schema.quasi,
                *(one.attribute for one in self.encoded.uncoded if one.attribute.name not in self.dropped),
            )
            if each.is_coded
        }
        return {"coding": given} if given else {}

    @cached_property
    def mean_weights(self) -> pa.Array | None:
        """For every row of the original the sampling weight that is shown; None where they are kept."""
        if self.encoded.weights is None or self.weights == "keep" or not self.n_rows:
            return None
        return class_means(self.encoded, self.classes)

    @cached_property
    def _ordered_domains(self) -> tuple[Domain, ...]:
        """The sensitive attributes with a hierarchy or an order, of published values alone."""
        domains = []
        for domain, codes in zip(self.encoded.sensitive, self.encoded.sensitive_codes, strict=True):
            if domain.name in self.dropped or (domain.tree is None and domain.kind != "ordinal"):
                continue
            if len(self.classes.suppressed):
                kept = np.bincount(codes[self.classes.rows], minlength=domain.n_codes) > 0
                domain = narrowed(domain, kept)
            domains.append(domain)
        return tuple(domains)

    def _sensitive_order(self) -> dict[str, dict[str, Any]]:
        """The hierarchies of nominal and the orders of ordinal sensitive attributes, for whoever checks the
        file. None in place of one with more than `MOST_NODES` nodes.
        """
        trees: dict[str, Any] = {}
        orders: dict[str, Any] = {}
        for domain in self._ordered_domains:
            if domain.kind == "ordinal":
                orders[domain.name] = domain.values.to_pylist() if domain.n_values <= MOST_NODES else None
            elif domain.tree is not None:
                small = len(domain.tree.labels) <= MOST_NODES
                trees[domain.name] = hierarchy_to_dict(domain.tree.listed) if small else None
        return {"hierarchies": trees, "orders": orders}

    def _rows(self) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
        """Row numbers of the original table in the order of publication, and the class of each."""
        classes = self.classes
        of_row = np.repeat(np.arange(classes.n_classes, dtype=np.uint32), classes.sizes)
        if self.order == "class":
            return classes.rows, of_row
        order = np.argsort(classes.rows)
        return classes.rows[order], of_row[order]


def shows_middles(method: Any, numeric: str) -> bool:
    """Whether classes of this method show one label in place of a set, node or interval of them."""
    return getattr(method, "keeps_groups", False) and numeric in ("mean", "median")


def note_on_unpublished(names: Sequence[str]) -> str | None:
    """Which columns have no role, and how they are published; None where all have one."""
    if not names:
        return None
    what = "1 column has no role and is" if len(names) == 1 else f"{len(names)} columns have no role and are"
    return (
        f"{what} not published: {names_listed(names)}; to publish columns as they are name them, "
        "neutral=[...] or --neutral A,B, or all of them, neutral=\"rest\" or --neutral '*'"
    )


def _sensitive_counts(encoded: Encoded, classes: Classes) -> pa.Table:
    """Counts of every sensitive value in every class, ordered by class, attribute and value."""
    parts = []
    for attribute, (domain, codes) in enumerate(zip(encoded.sensitive, encoded.sensitive_codes, strict=True)):
        counts = sensitive_counts(classes, codes, domain.n_codes)
        class_id = np.repeat(np.arange(classes.n_classes), np.diff(counts.offsets))
        parts.append((class_id, np.full(len(class_id), attribute), counts.values, counts.counts))
    class_id, attribute_of, code, count = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    value = pa.concat_arrays(
        [
            pa.array([*texts(domain.values), None], pa.string()).take(pa.array(part[2]))
            for domain, part in zip(encoded.sensitive, parts, strict=True)
        ]
    )
    order = np.lexsort((code, attribute_of, class_id))
    names = pa.array([domain.name for domain in encoded.sensitive], pa.string())
    return pa.table(
        {
            "attribute": names.take(pa.array(attribute_of[order])),
            CLASS_ID: class_id[order],
            "value": value.take(pa.array(order)),
            "count": count[order],
        }
    )


def _noise_for_all(noise: Mapping[str, Any]) -> dict[str, Any]:
    """What everybody may know of a perturbation: not what the owner's key holds, and of bounds that were
    read off the table, which are two of its values, only the size.
    """

    def without_values(attribute: Mapping[str, Any]) -> dict[str, Any]:
        if attribute.get("bounds_from") != "data":
            return {name: value for name, value in attribute.items() if name != "owner"}
        size = Measure(greatest_is_worst=True)
        spread = {name: away(attribute[name], size) for name in ("sensitivity", "scale")}
        return {**attribute, "bounds": None, **spread}

    return {**noise, "attributes": {name: without_values(each) for name, each in noise["attributes"].items()}}


def _rendering(release: Recoded, cells: Cells) -> str:
    if release.noise is not None:
        return release.noise["kind"] if cells.domain.name in release.noise["attributes"] else "intact"
    if release.publish == "bucketization" and cells.domain.coding is None:
        return "intact"
    if release.publish == "bucketization" and cells.domain.kind == "numeric":
        return "interval"
    if cells.blank is not None:
        return "value"
    if cells.domain.kind == "numeric":
        return release.numeric
    if release.shows_middles:
        return "middle" if cells.domain.kind == "ordinal" else "mode"
    if cells.domain.kind == "ordinal":
        return "interval"
    return "set" if cells.domain.tree is None else "node"


def note_on_one_class(publish: Publish) -> str:
    """The warning of a release of one class."""
    told = (
        "every quasi-identifier is fully generalized"
        if publish == "generalization"
        else "the sensitive values of all rows are told together"
    )
    return f"only one class satisfies the requirements: {told}"
