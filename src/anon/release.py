# SPDX-License-Identifier: Apache-2.0
"""A release: the only way out of the engine. Recode, order, verify, write.

`recode` turns classes and their cells into a Release and checks it from its published cells;
nothing that fails is ever written.
"""

from __future__ import annotations

import base64
import json
import os
import secrets
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet as pq

import anon
from anon.cells import Column, Rendering, is_full, render, texts, to_levels
from anon.classes import Cells, Classes, group, merge, population_counts, sensitive_counts
from anon.classes import cells as cells_of
from anon.columns import check_publishable, takeable
from anon.encode import Codes, Encoded, available_threads, encode, narrowed, of_published_rows
from anon.entropy import Entropy, permutation, system
from anon.errors import DataError, InfeasibleError, UsageError
from anon.files import not_written, opened, replacing
from anon.formulas import Formulas, refuse_guard
from anon.hierarchy import hierarchy_to_dict
from anon.measures import Measure, away
from anon.privacy import Privacy, measure, null_matching, of_intact, population_risk
from anon.read import read_table
from anon.recheck import recheck
from anon.requirements import AlphaK, KAnonymity
from anon.scale.scan import Scan, ahead
from anon.schema import Schema, check_names
from anon.utility import Published, Utility
from anon.utility import measure as measure_utility
from anoncore.classes import shuffle

if TYPE_CHECKING:
    from anon.scale.stream import Spilled

Publish = Literal["generalization", "bucketization", "perturbation"]
Order = Literal["class", "input"]

METADATA_KEY = "anon"
CLASS_ID = "class_id"
PAIR = "pair"  # in both files of a bucketization the same, in no others
MOST_NODES = 1 << 17  # of a hierarchy in the metadata, of which readers take some megabytes alone
ROW_GROUP = 1 << 20  # rows held in release order at a time while writing
_ROWS_AT_ONCE = 1 << 17

NOTES_ON_BUCKETS = (
    "the quasi-identifiers are published intact: everybody sees who is in the table, and the neutral "
    "columns belong to that person",
    "the requirements bound what a bucket tells by itself; whoever learns from all buckets together which "
    "quasi-identifiers go with which sensitive values may find most people's own: "
    "docs/security.md, Learning across buckets",
)
"""What a bucketization does not hide; said wherever one is written or measured."""

_MEANING = {
    "interval": "text: a value, a closed interval [low, high], * for the whole domain",
    "level": "text: the smallest listed interval that holds the class, * for the whole domain",
    "bounds": "numbers: least and greatest value of the class",
    "midpoint": "number: midpoint of the least and greatest value of the class",
    "mean": "number: mean of the values of the class",
    "node": "text: a value or a node of the hierarchy, * for its root",
    "set": "text: a value or a set {a, b} of values, * for the whole domain",
    "intact": "the original value",
    "noise": "number: the value with Laplace noise added",
}


@dataclass(frozen=True, repr=False)
class Release:
    """A table made ready for publication, with what it was made from.

    `classes` lists the rows in the order of publication, `cells[i]` what they show of the i-th
    quasi-identifier, `published[i]` its columns. Nothing here is written unless `meets_requirements`.
    `dropped` are sensitive attributes left out. A perturbation was made from a table with noise, of
    which `noise` tells. `sources` are the paths of the input, `file_schema`
    the types that its columns had there.

    Only `recode` makes one that can be written: a copy with other fields can be measured, and its table
    says nothing of itself.
    """

    encoded: Encoded
    classes: Classes
    cells: tuple[Cells, ...]
    published: tuple[tuple[Column, ...], ...]
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
    _seal: tuple[Any, ...] = field(init=False, default=(), repr=False, compare=False)

    @property
    def is_sealed(self) -> bool:
        """Is it as `recode` made and checked it?"""
        return bool(self._seal) and all(a is b for a, b in zip(self._seal, _contents(self), strict=True))

    @property
    def n_rows(self) -> int:
        """Rows published."""
        return len(self.classes.rows)

    @cached_property
    def table(self) -> pa.Table:
        """The published table: quasi-identifiers as cells, neutral and sensitive columns as they were.

        Its schema carries the same `metadata` as the files, unless the release is not sealed.
        """
        if not isinstance(self.encoded.table, pa.Table):
            raise UsageError(
                'the rows are in their files: write() the release, or read the input with engine="local"'
            )
        fields = _fields(self)
        whole = _taken(fields, *self._rows())
        schema = pa.schema([(f.name, _in_memory(f)) for f in fields])
        said = {METADATA_KEY: json.dumps(self.metadata)} if self.is_sealed else None
        return whole.cast(schema).replace_schema_metadata(said)

    @cached_property
    def sensitive_table(self) -> pa.Table:
        """Attribute, class id, value (as text, null for a missing one) and count; of a bucketization only."""
        if self.publish != "bucketization":
            raise UsageError("only a bucketization has a sensitive table; publish='bucketization' makes one")
        return _sensitive_table(self.encoded, self.classes)

    def to_pandas(self) -> Any:
        """The published table as a pandas DataFrame."""
        return self.table.to_pandas()

    def to_polars(self) -> Any:
        """The published table as a polars DataFrame."""
        import polars

        return polars.from_arrow(self.table)

    def write(self, path: str | os.PathLike[str], *, csv_guard: bool = False) -> None:
        """Write the release to a Parquet, Feather or CSV file, chosen by the suffix of `path`.

        A bucketization writes its sensitive table beside it, with `.sensitive` before the suffix.
        The files appear complete, both together, or not at all: first they are read back as `check` reads
        them, and the requirements are tested on what was read. Raises DataError where CSV does not tell
        apart what the release does.

        Spreadsheets run text of a CSV file that begins with `=`, `+`, `-`, `@`, a tab or a carriage return
        and is no number: a PrivacyWarning tells where there is any. `csv_guard` puts an apostrophe before
        each such cell and name of a column; DataError where two values become one by that.
        """
        if not self.meets_requirements:
            raise InfeasibleError(
                "this release does not meet its requirements; it can be measured, not written"
            )
        if not self.is_sealed:
            raise UsageError(
                "this release is not as it was checked: a copy with other fields can be measured, not "
                "written; anonymize the table with what you want of it"
            )
        if not _is_path(path):
            raise UsageError("write takes the path of a file, as a string or a Path")
        from anon.readback import read_back, refuse_merged

        writer = _writer(Path(path))
        if csv_guard:
            refuse_guard(Path(path).suffix)
        paths = [Path(os.path.realpath(path))]
        if self.publish == "bucketization":
            paths.append(sensitive_path(paths[0]))
        for target in paths:
            _refuse_source(target, self.sources)
        if writer is _csv:
            refuse_merged(self)
        formulas = [Formulas(csv_guard) if writer is _csv else None for _ in paths]
        try:
            with replacing(paths) as temporary:
                _write_release(self, writer, temporary, formulas)
                read_back(self, temporary, _FORMAT[writer], csv_guard)
        except OSError as error:
            raise not_written(repr(str(path)), error) from error
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise DataError(
                f"cannot write {str(path)!r}: {_unwritable(self, writer)}; nothing was written"
            ) from error
        for note in (each.note() for each in formulas if each is not None):
            if note is not None:
                warnings.warn(note, anon.PrivacyWarning, stacklevel=2)

    def privacy(
        self,
        *,
        at_risk: Sequence[float] = (2, 5, 10),
        population: Any = None,
        sampling_fraction: float | None = None,
        per_class: bool = False,
        n_threads: int | None = None,
    ) -> Privacy:
        """Every privacy measure of the release (spec 2), from its classes.

        `at_risk`: report the share of rows whose risk is above x, or 1/x where x >= 1. A `population`
        table with the same quasi-identifiers, or a `sampling_fraction` in (0, 1], adds journalist and
        marketer risk. `per_class` adds a table of every measure of every class.
        """
        threads = available_threads(n_threads)
        encoded, classes = of_published_rows(self.encoded), self.classes
        codes = [
            None if domain.name in self.dropped else column
            for domain, column in zip(encoded.sensitive, encoded.sensitive_codes, strict=True)
        ]
        measured = measure(
            classes,
            encoded.sensitive,
            codes,
            at_risk=at_risk,
            joint=self.publish != "bucketization",
            per_class=per_class,
            n_threads=threads,
        )
        groups = classes
        if self.publish == "bucketization":
            groups = group(encoded.quasi_codes, encoded.suppressed, threads)
            measured = of_intact(measured, groups, at_risk)
        else:
            shown = [one.of_class for one in self.cells]
            null = [(one.low > one.high)[one.of_class] for one in self.cells]
            matching = null_matching(shown, null, classes, encoded.sensitive, codes, threads)
            measured = replace(measured, null_matching=matching)
        if population is not None and self.noise is not None:
            raise UsageError(f"journalist and marketer risk of a population: {_no_cells(self)}")
        if population is not None or sampling_fraction is not None:
            inside = None if population is None else _inside(self, groups, read_table(population), threads)
            measured = replace(
                measured, population=population_risk(groups, inside, sampling_fraction, at_risk)
            )
        return replace(
            measured,
            worst_cells={name: self._cells_of(number) for name, number in measured.worst.items()},
        )

    def utility(
        self,
        *,
        r: float = 1.0,
        w_u: float = 0.5,
        w_p: float = 0.5,
        min_support: float = 0.05,
        n_threads: int | None = None,
    ) -> Utility:
        """Every measure of what the release lost (spec 3), from its classes and cells.

        `r` is the range of S-diversity, `w_u` and `w_p` weigh utility and protection in `avg_wtd`,
        `min_support` is the support of the populations of `u_loss`.
        """
        published = self.as_published(n_threads=available_threads(n_threads))
        return measure_utility(published, r=r, w_u=w_u, w_p=w_p, min_support=min_support)

    def as_published(self, *, counted: bool = True, n_threads: int = 1) -> Published:
        """What utility is measured from; not `counted`: without what only sensitive values tell."""
        encoded, classes = self.encoded, self.classes
        generalized, perturbed = self.publish == "generalization", self.noise is not None
        return Published(
            encoded,
            classes,
            tuple(
                sensitive_counts(classes, codes, domain.n_codes, n_threads)
                if counted and domain.name not in self.dropped
                else None
                for domain, codes in zip(encoded.sensitive, encoded.sensitive_codes, strict=True)
            ),
            cells=self.cells if generalized else None,
            intact=None if generalized or perturbed else encoded.quasi_codes,
            refusal=_no_cells(self) if perturbed else "",
            by_level=self.numeric == "level",
            k_asked=max(
                (one.k for one in self.requirements if isinstance(one, KAnonymity | AlphaK)), default=None
            ),
            n_threads=n_threads,
        )

    def _cells_of(self, class_id: int) -> dict[str, Any]:
        """What the release shows of one class, as text; None for null."""
        if self.publish == "bucketization":
            return {CLASS_ID: class_id}
        shown = {}
        if self.noise is not None:
            row = int(self.classes.rows[self.classes.offsets[class_id]])
            for domain, codes in zip(self.encoded.quasi, self.encoded.quasi_codes, strict=True):
                value = domain.values.slice(int(codes[row]), 1)
                shown[domain.name] = texts(value)[0] if len(value) else None
            return shown
        for column in (column for columns in self.published for column in columns):
            value = column.values.slice(int(column.index[class_id]), 1)
            shown[column.name] = None if value.null_count else texts(value)[0]
        return shown

    def summary(self) -> dict[str, Any]:
        """What was made and how, in plain words and numbers."""
        told = self.metadata
        return {
            "rows": told["rows"],
            "suppressed": len(self.classes.suppressed),
            "classes": told["classes"],
            "requirements": [str(requirement) for requirement in self.requirements],
            "published unchanged": told["roles"]["neutral"],
            **{name: told[name] for name in ("method", "publish", "numeric", "missing", "order")},
            **({} if self.noise is None else {name: self.noise[name] for name in ("epsilon", "guarantee")}),
        }

    @property
    def metadata(self) -> dict[str, Any]:
        """What a written file says about itself, to everybody: how it was made, and what its rows tell.

        How many rows were suppressed is the owner's, as are warnings, the seed and the sources.
        """
        encoded = self.encoded
        sensitive = [domain.name for domain in encoded.sensitive if domain.name not in self.dropped]
        quasi = [domain.name for domain in encoded.quasi]
        with_role = {*quasi, *sensitive, *self.dropped}
        return {
            "version": anon.__version__,
            "roles": {
                "quasi": quasi,
                "sensitive": sensitive,
                "neutral": [name for name in encoded.table.column_names if name not in with_role],
            },
            "kinds": {
                domain.name: domain.kind
                for domain in (*encoded.quasi, *encoded.sensitive)
                if domain.name not in self.dropped
            },
            "method": repr(self.method),
            "requirements": [repr(requirement) for requirement in self.requirements],
            "publish": self.publish,
            "numeric": self.numeric,
            "missing": self.missing,
            "order": self.order,
            "cells": {
                cells.domain.name: {
                    "columns": [column.name for column in columns] or [cells.domain.name],
                    "type": str(_value_type(cells.domain.values.type)),
                    "meaning": _MEANING[_rendering(self, cells)],
                }
                for cells, columns in zip(self.cells, self.published, strict=True)
            },
            **self._sensitive_order,
            "rows": self.n_rows,
            "classes": self.classes.n_classes,
            **({} if self.noise is None else {"noise": _noise_for_all(self.noise)}),
        }

    @cached_property
    def _sensitive_order(self) -> dict[str, dict[str, Any]]:
        """The hierarchies of nominal and the orders of ordinal sensitive attributes, for whoever checks the
        file: of published values alone. None in place of one with more than `MOST_NODES` nodes.
        """
        trees: dict[str, Any] = {}
        orders: dict[str, Any] = {}
        for domain, codes in zip(self.encoded.sensitive, self.encoded.sensitive_codes, strict=True):
            if domain.name in self.dropped or (domain.tree is None and domain.kind != "ordinal"):
                continue
            if len(self.classes.suppressed):
                kept = np.bincount(codes[self.classes.rows], minlength=domain.n_codes) > 0
                domain = narrowed(domain, kept)
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

    def _repr_html_(self) -> str:
        from anon.report import html_of, release_table

        return html_of(release_table(self.summary()))

    def __repr__(self) -> str:
        return (
            f"Release(rows={self.n_rows}, classes={self.classes.n_classes}, "
            f"suppressed={len(self.classes.suppressed)}, publish={self.publish!r}, method={self.method!r})"
        )


def recode(
    encoded: Encoded,
    classes: Classes,
    cells: Sequence[Cells],
    requirements: Sequence[Any] = (),
    *,
    method: Any = None,
    publish: Publish = "generalization",
    numeric: Rendering = "interval",
    order: Order = "class",
    missing: str = "category",
    seed: int | None = None,
    warnings: Sequence[str] = (),
    meets_requirements: bool = True,
    sources: Sequence[str] = (),
    file_schema: pa.Schema | None = None,
    dropped: Sequence[str] = (),
    noise: Mapping[str, Any] | None = None,
    n_threads: int | None = None,
    entropy: Entropy = system,
) -> Release:
    """The release that shows `cells` (one per quasi-identifier) for the classes, verified.

    Generalized classes that look alike become one and are ordered by their cells, buckets at
    random; rows inside a class are in an order drawn from `entropy`, by default the operating system's,
    whatever the seed. With `numeric="level"` numeric cells are widened to the attribute's levels.
    Raises UsageError where a derived column has the name of another, RecheckError where the release
    fails its own check; `meets_requirements=False` checks all but the requirements.
    """
    if numeric not in get_args(Rendering):
        raise UsageError(f"numeric must be one of {', '.join(get_args(Rendering))}")
    n_threads = available_threads(n_threads)
    check_publishable(encoded.table.schema)
    rendered: Sequence[tuple[Column, ...]] = ()
    if publish == "bucketization":
        if not encoded.sensitive:
            raise UsageError("a bucketization needs a sensitive attribute: name one in the schema")
        position = permutation(classes.n_classes, entropy).astype(np.int64)
        numeric = "interval"
    elif publish == "perturbation":
        position = _rank_by_cells(cells, classes.n_classes)
    else:
        if numeric == "level":
            cells = [to_levels(one) if one.domain.kind == "numeric" else one for one in cells]
        if len(classes.suppressed):
            cells = [
                _without_hidden_null(one, codes, classes.rows)
                for one, codes in zip(cells, encoded.quasi_codes, strict=True)
            ]
        classes, cells = merge(classes, cells, n_threads)
        classes, cells, rendered = _merge_alike(encoded, classes, cells, numeric, n_threads)
        position = _rank_by_cells(cells, classes.n_classes)
    order_of_classes = np.argsort(position, kind="stable")
    classes = _arranged(classes, order_of_classes, entropy, n_threads)
    cells = tuple(replace(one, of_class=_frozen(one.of_class[order_of_classes])) for one in cells)
    published = [
        tuple(_only_shown(replace(column, index=column.index[order_of_classes])) for column in columns)
        for columns in rendered or [()] * len(cells)
    ]
    derived = [
        (column.name, domain.name)
        for domain, columns in zip(encoded.quasi, published, strict=True)
        for column in columns
    ]
    refuse_clashes(encoded.table.column_names, derived, publish)
    if file_schema is not None:
        file_schema = file_schema.remove_metadata()
    release = Release(
        encoded,
        classes,
        cells,
        tuple(published),
        tuple(requirements),
        method,
        publish,
        numeric,
        order,
        missing,
        seed,
        tuple(warnings),
        meets_requirements,
        tuple(sources),
        file_schema,
        tuple(dropped),
        noise,
    )
    tested = requirements if meets_requirements else ()
    recheck(of_published_rows(encoded), classes, published, tested, numeric=numeric, n_threads=n_threads)
    object.__setattr__(release, "_seal", _contents(release))
    return release


def _contents(release: Release) -> tuple[Any, ...]:
    """What a release was made with, by identity its seal."""
    return tuple(getattr(release, each.name) for each in fields(release) if each.init)


def _without_hidden_null(cells: Cells, codes: Codes, published: npt.NDArray[np.uint32]) -> Cells:
    """The cells without null, where only suppressed rows have it; other cells are as they were."""
    domain = cells.domain
    if not domain.has_null or (codes[published] == domain.n_values).any():
        return cells
    return replace(cells, null=np.zeros_like(cells.null))


def _merge_alike(
    encoded: Encoded, classes: Classes, cells: Sequence[Cells], numeric: Rendering, n_threads: int
) -> tuple[Classes, tuple[Cells, ...], list[tuple[Column, ...]]]:
    """Classes with equal published columns become one; also returns these columns.

    Different cells can have one midpoint or mean, which the union of their rows has too.
    """
    while True:
        published = [
            render(one, numeric, codes, classes)
            for one, codes in zip(cells, encoded.quasi_codes, strict=True)
        ]
        if numeric not in ("midpoint", "mean"):
            return classes, tuple(cells), published
        looks = [
            replace(one, of_class=_looks(column))
            for one, columns in zip(cells, published, strict=True)
            for column in columns
        ]
        merged, _ = merge(classes, looks, n_threads)
        if merged.n_classes == classes.n_classes:
            return classes, tuple(cells), published
        classes, cells = merged, cells_of(encoded, merged, n_threads)


def _looks(column: Column) -> npt.NDArray[np.uint32]:
    """For each class a number that is equal for equal published values, null one of them."""
    same = column.values.dictionary_encode(null_encoding="encode").indices
    return np.asarray(same.to_numpy(zero_copy_only=False), dtype=np.uint32)[column.index]


def _inside(release: Release, groups: Classes, population: pa.Table, n_threads: int) -> npt.NDArray[np.int64]:
    """Rows of a population inside the cells of each group of the release's rows that look alike.

    Both tables get the codes of their union.
    """
    quasi = release.encoded.schema.quasi
    names = [attribute.name for attribute in quasi]
    check_names(names, population.column_names)
    ours = release.encoded.table.select(names)
    ours = ours if isinstance(ours, pa.Table) else ours.whole()
    try:
        both = pa.concat_tables([ours, population.select(names).cast(ours.schema)])
    except pa.ArrowException:
        raise DataError(
            "the population's quasi-identifiers have other types than the table's; convert them first"
        ) from None
    union = encode(both, Schema(quasi), n_threads=n_threads)
    shown = cells_of(union, groups, n_threads)
    if release.publish == "generalization":
        if release.numeric == "level":
            shown = tuple(to_levels(one) if one.domain.kind == "numeric" else one for one in shown)
        shown = tuple(_as_full_as(ours, one) for ours, one in zip(release.cells, shown, strict=True))
    inside = [codes[release.encoded.n_rows :] for codes in union.quasi_codes]
    return population_counts(shown, inside, n_threads)


def _as_full_as(ours: Cells, wider: Cells) -> Cells:
    """`wider`, over a domain that includes that of `ours`, with `*` wherever `ours` shows it."""
    last = wider.domain.n_values - 1
    low, high = np.array([0, 0], np.uint32), np.array([last, last], np.uint32)
    full = is_full(ours)[ours.of_class]
    of_class = np.where(full, len(wider.low) + ours.null[ours.of_class], wider.of_class).astype(np.uint32)
    set_offsets, set_codes = wider.set_offsets, wider.set_codes
    if set_offsets is not None and set_codes is not None:
        every = np.arange(last + 1, dtype=np.uint32)
        ends = set_offsets[-1] + np.array([1, 2], np.int64) * len(every)
        set_offsets = np.concatenate([set_offsets, ends])
        set_codes = np.concatenate([set_codes, every, every])
    return replace(
        wider,
        of_class=of_class,
        low=np.concatenate([wider.low, low]),
        high=np.concatenate([wider.high, high]),
        null=np.concatenate([wider.null, [False, True]]),
        set_offsets=set_offsets,
        set_codes=set_codes,
    )


def sensitive_path(path: str | os.PathLike[str]) -> Path:
    """Where the sensitive table of a bucketization written to `path` lies."""
    path = Path(path)
    return path.with_name(f"{path.stem}.sensitive{path.suffix}")


def read_metadata(path: str | os.PathLike[str]) -> dict[str, Any] | None:
    """What a file written by `Release.write` says about itself; None where it says nothing (CSV too)."""
    suffix = Path(path).suffix.lower()
    try:
        if suffix in _PARQUET:
            with open(path, "rb") as source:
                stored = pq.read_metadata(source).metadata
        elif suffix in _FEATHER:
            with open(path, "rb") as source, pa.ipc.open_file(source) as reader:
                stored = reader.schema.metadata
        else:
            return None
        text = (stored or {}).get(METADATA_KEY.encode())
        found = None if text is None else json.loads(text)
    except (OSError, ValueError) as error:
        raise DataError(f"cannot read the metadata of {os.fspath(path)!r}; is it a whole file?") from error
    return found if isinstance(found, dict) else None


# Order


def _rank_by_cells(cells: Sequence[Cells], n_classes: int) -> npt.NDArray[np.int64]:
    """For each class the rank of its cells, quasi-identifiers in schema order; equal cells share a rank."""
    rank = np.zeros(n_classes, dtype=np.int64)
    n_ranks = 1
    for one in cells:
        if n_ranks * len(one.low) >= 2**62:
            values, rank = np.unique(rank, return_inverse=True)
            n_ranks = len(values)
        rank = rank * len(one.low) + one.of_class
        n_ranks *= max(len(one.low), 1)
    return rank


def _arranged(classes: Classes, order: npt.NDArray[np.int64], entropy: Entropy, n_threads: int) -> Classes:
    """The classes in this order, the rows of each in random order."""
    sizes = classes.sizes[order]
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    source = np.empty(len(classes.rows), dtype=classes.rows.dtype)
    shift = np.repeat(classes.offsets[:-1][order] - offsets[:-1], sizes)
    for start in range(0, len(source), _ROWS_AT_ONCE):
        stop = min(start + _ROWS_AT_ONCE, len(source))
        source[start:stop] = classes.rows[np.arange(start, stop) + shift[start:stop]]
    del shift
    source = shuffle(source, offsets, entropy(len(source)), n_threads)
    return Classes(_frozen(source), _frozen(offsets), classes.suppressed)


def _only_shown(column: Column) -> Column:
    """The column without values that no class shows."""
    used = np.flatnonzero(np.bincount(column.index, minlength=len(column.values)))
    new_index = np.zeros(len(column.values), dtype=np.uint32)
    new_index[used] = np.arange(len(used))
    return Column(column.name, column.values.take(pa.array(used)), _frozen(new_index[column.index]))


def _frozen(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    array.flags.writeable = False
    return array


def refuse_clashes(taken: Iterable[str], derived: Sequence[tuple[str, str]], publish: Publish) -> None:
    """Raise UsageError where a derived column, named with what it is made from, has another's name."""
    taken = set(taken)
    if publish == "bucketization":
        if CLASS_ID in taken:
            raise UsageError(f"the table has a column {CLASS_ID!r}, which a bucketization adds; rename it")
        return
    derived = [(name, source) for name, source in derived if name != source]
    n_of = Counter(name for name, _ in derived)
    for name, source in derived:
        if name in taken or n_of[name] > 1:
            raise UsageError(
                f"the table has a column {name!r}, which would also be made from {source!r}; "
                "rename it, or choose another rendering of numbers"
            )


# The published columns


@dataclass(frozen=True)
class _Field:
    """A published column: `take(rows, of_row)` makes it for some rows; `written` is its type in a file."""

    name: str
    written: pa.DataType
    take: Callable[[npt.NDArray[np.uint32], npt.NDArray[np.uint32]], pa.Array | pa.ChunkedArray]
    nullable: bool = True
    cells: bool = False


def _in_memory(column: _Field) -> pa.DataType:
    """Cells of text stay dictionaries in memory."""
    if column.cells and _is_text(column.written):
        return pa.dictionary(pa.int32(), column.written)
    return column.written


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _value_type(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _fields(release: Release, spill: Spilled | None = None) -> list[_Field]:
    """The published columns in the order of the input; neutral and sensitive ones from `spill` if given."""
    table = release.encoded.table
    known = release.file_schema
    published = _columns_of(release)
    hidden = _hidden(release)
    fields = []
    for described in table.schema:
        name = described.name
        if name in hidden:
            continue
        if published.get(name):
            fields += [_Field(one.name, one.values.type, _shown(one), cells=True) for one in published[name]]
            continue
        column = takeable(_column(table, name), name)
        written = column.type
        as_read = written == described.type and not pa.types.is_nested(written)
        if as_read and known is not None and known.get_field_index(name) >= 0:
            written = known.field(name).type
        if spill is not None:
            kept = spill.take(name)
        else:
            kept = _kept(column, release.classes.rows, complete=not len(release.classes.suppressed))
        fields.append(_Field(name, written, kept, described.nullable))
    if release.publish == "bucketization":
        fields.append(_Field(CLASS_ID, pa.int64(), lambda rows, of_row: pa.array(of_row.astype(np.int64))))
    return fields


def _columns_of(release: Release) -> dict[str, tuple[Column, ...]]:
    """What is shown of each quasi-identifier; nothing of one that is left intact."""
    return {
        cells.domain.name: columns for cells, columns in zip(release.cells, release.published, strict=True)
    }


def _hidden(release: Release) -> set[str]:
    """Columns that the release leaves out, or puts in its second table."""
    apart = release.encoded.sensitive if release.publish == "bucketization" else ()
    return {*release.dropped, *(domain.name for domain in apart)}


def _column(table: pa.Table | Scan, name: str) -> pa.ChunkedArray:
    """The column of a table; of a Scan, an empty one of its type."""
    if isinstance(table, pa.Table):
        return table.column(name)
    return pa.chunked_array([], table.schema.field(name).type)


def _shown(column: Column) -> Callable[[npt.NDArray[np.uint32], npt.NDArray[np.uint32]], pa.Array]:
    """A quasi-identifier's column: text as dictionary indices, numbers and marks as such."""
    if not _is_text(column.values.type):
        return lambda rows, of_row: column.values.take(pa.array(column.index[of_row]))
    index = column.index.astype(np.int32)
    return lambda rows, of_row: pa.DictionaryArray.from_arrays(pa.array(index[of_row]), column.values)


def _kept(
    column: pa.ChunkedArray, published: npt.NDArray[np.uint32], complete: bool
) -> Callable[[npt.NDArray[np.uint32], npt.NDArray[np.uint32]], pa.Array | pa.ChunkedArray]:
    """A neutral or sensitive column; a dictionary holds just the published values.

    Unordered dictionaries are sorted: their order of first appearance would tell of the input's order.
    """
    whole = column.combine_chunks()
    if not pa.types.is_dictionary(column.type):
        return lambda rows, of_row: whole.take(pa.array(rows))
    if isinstance(whole, pa.ChunkedArray):  # more than fits one dictionary
        return lambda rows, of_row: whole.take(pa.array(rows)).cast(column.type.value_type)
    indices = whole.indices
    used = indices if complete else indices.take(pa.array(published))
    present = np.zeros(len(whole.dictionary), dtype=np.bool_)
    present[used.drop_null().to_numpy(zero_copy_only=False)] = True
    values = np.flatnonzero(present)
    dictionary = whole.dictionary.take(pa.array(values))
    if not column.type.ordered:
        ascending = pc.array_sort_indices(dictionary).to_numpy()
        values, dictionary = values[ascending], dictionary.take(pa.array(ascending))
    new_index = np.zeros(len(present), dtype=np.int64)
    new_index[values] = np.arange(len(values))
    renumbered = pa.array(new_index, type=column.type.index_type).take(indices)
    return lambda rows, of_row: pa.DictionaryArray.from_arrays(
        renumbered.take(pa.array(rows)), dictionary, ordered=column.type.ordered
    )


def _taken(
    fields: Sequence[_Field], rows: npt.NDArray[np.uint32], of_row: npt.NDArray[np.uint32]
) -> pa.Table:
    arrays = [column.take(rows, of_row) for column in fields]
    return pa.Table.from_arrays(
        arrays,
        schema=pa.schema(
            [pa.field(f.name, a.type, f.nullable) for f, a in zip(fields, arrays, strict=True)],
        ),
    )


def _sensitive_table(encoded: Encoded, classes: Classes) -> pa.Table:
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


# Files


class _Sink(Protocol):
    def write_table(self, table: pa.Table) -> None: ...


_Open = Callable[[Path, pa.Schema, pa.Schema, Mapping[str, Any]], Any]


@contextmanager
def _parquet(path: Path, held: pa.Schema, written: pa.Schema, metadata: Mapping[str, Any]) -> Iterator[_Sink]:
    """Dictionaries are written as they are; the Arrow schema in the file names the original types."""
    schema = base64.b64encode(written.serialize().to_pybytes()).decode()
    with opened(path) as file, pq.ParquetWriter(file, held, store_schema=False) as writer:
        writer.add_key_value_metadata({"ARROW:schema": schema, METADATA_KEY: json.dumps(metadata)})
        yield writer


@contextmanager
def _feather(path: Path, held: pa.Schema, written: pa.Schema, metadata: Mapping[str, Any]) -> Iterator[_Sink]:
    schema = written.with_metadata({METADATA_KEY: json.dumps(metadata)})
    options = pa.ipc.IpcWriteOptions(compression="lz4" if pa.Codec.is_available("lz4") else None)
    with opened(path) as file, pa.ipc.new_file(file, schema, options=options) as writer:
        yield _Casting(writer, written)


@contextmanager
def _csv(path: Path, held: pa.Schema, written: pa.Schema, metadata: Mapping[str, Any]) -> Iterator[_Sink]:
    """Every string is quoted, null is an empty field without quotes."""
    plain = pa.schema([pa.field(f.name, _value_type(f.type)) for f in written])
    with opened(path) as file, pa.csv.CSVWriter(file, plain) as writer:
        yield _Casting(writer, plain)


@dataclass(frozen=True)
class _Casting:
    """A sink that gives its tables the types of the file first."""

    sink: Any
    schema: pa.Schema

    def write_table(self, table: pa.Table) -> None:
        self.sink.write_table(table.cast(self.schema).combine_chunks())


_FORMAT: Mapping[_Open, str] = {_parquet: "Parquet", _feather: "Feather", _csv: "CSV"}
_PARQUET = (".parquet", ".pq")
_FEATHER = (".feather", ".arrow", ".ipc")
_CSV = (".csv",)


def _is_path(path: Any) -> bool:
    """Text that the system can take as a file name, or a Path of it."""
    try:
        name = os.fspath(path)
        return isinstance(name, str) and b"\0" not in os.fsencode(name)
    except (TypeError, UnicodeEncodeError):
        return False


def _writer(path: Path) -> _Open:
    suffix = path.suffix.lower()
    for suffixes, opener in ((_PARQUET, _parquet), (_FEATHER, _feather), (_CSV, _csv)):
        if suffix in suffixes:
            return opener
    raise UsageError(
        f"{str(path)!r} does not tell its format; end it in {', '.join((*_PARQUET, *_FEATHER, *_CSV))}"
    )


def _write_release(
    release: Release, opener: _Open, temporary: Sequence[Path], formulas: Sequence[Formulas | None]
) -> None:
    """Row group by row group; the next one is gathered while one is written.

    `formulas` are those of each file of CSV, None for other formats.
    """
    rows, of_row = release._rows()
    metadata = release.metadata
    if len(temporary) > 1:
        metadata[PAIR] = secrets.token_hex(16)
    with _spill(release, rows, temporary[0].parent) as spill:
        fields = _fields(release, spill)
        piece = ROW_GROUP if spill is None else spill.piece

        def part(start: int) -> pa.Table:
            if spill is not None:
                spill.load(start)
            return _taken(fields, rows[start : start + piece], of_row[start : start + piece])

        held = part(-(-len(rows) // piece) * piece).schema
        written = pa.schema([pa.field(f.name, f.written, f.nullable) for f in fields])
        parts = ahead(part(start) for start in range(0, len(rows), piece))
        _write_tables(opener, temporary[0], held, written, metadata, parts, formulas[0])
    if len(temporary) > 1:
        table = release.sensitive_table
        _write_tables(opener, temporary[1], table.schema, table.schema, metadata, [table], formulas[1])


def _write_tables(
    opener: _Open,
    path: Path,
    held: pa.Schema,
    written: pa.Schema,
    metadata: Mapping[str, Any],
    tables: Iterable[pa.Table],
    formulas: Formulas | None,
) -> None:
    """One file; the formulas in one of CSV are counted or guarded."""
    with opener(path, held, written if formulas is None else formulas.schema(written), metadata) as sink:
        for table in tables:
            sink.write_table(table if formulas is None else formulas.written(table))
    if formulas is not None:
        formulas.refuse_clashes()


def _spill(
    release: Release, rows: npt.NDArray[np.uint32], folder: Path
) -> AbstractContextManager[Spilled | None]:
    """The neutral, sensitive and intact columns of a table in files, to be had in the order of `rows`."""
    encoded = release.encoded
    if isinstance(encoded.table, pa.Table):
        return nullcontext()
    from anon.scale.stream import spilled

    shown, hidden = _columns_of(release), _hidden(release)
    names = [name for name in encoded.table.column_names if name not in hidden and not shown.get(name)]
    return spilled(encoded, names, takeable, rows, folder)


def _unwritable(release: Release, opener: _Open) -> str:
    """Why a file format does not take the table, by column."""
    if opener is _csv:
        for column in _fields(release):
            kind = _value_type(column.written)
            if pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
                return f"CSV cannot hold column {column.name!r} of type {kind}; choose Parquet"
    return "its format does not hold a column of this table; choose Parquet"


def _refuse_source(target: Path, sources: Sequence[str]) -> None:
    """Raise UsageError where the output would replace an input."""
    for source in sources:
        with suppress(OSError):
            if os.path.samefile(source, target):
                raise UsageError(f"{str(target)!r} is also an input; write the release to another file")


def _no_cells(release: Release) -> str:
    return (
        f"{type(release.method).__name__} publishes numbers with noise, which are no cells that hold the "
        "original values; this measure needs cells: measure such a release by what miners learn from it"
    )


def _noise_for_all(noise: Mapping[str, Any]) -> dict[str, Any]:
    """What everybody may know of noise: bounds that were read off the table are two of its values."""

    def without_values(attribute: Mapping[str, Any]) -> dict[str, Any]:
        if attribute["bounds_from"] != "data":
            return dict(attribute)
        size = Measure(greatest_is_worst=True)
        spread = {name: away(attribute[name], size) for name in ("sensitivity", "scale")}
        return {**attribute, "bounds": None, **spread}

    return {**noise, "attributes": {name: without_values(each) for name, each in noise["attributes"].items()}}


def _rendering(release: Release, cells: Cells) -> str:
    if release.noise is not None:
        return "noise" if cells.domain.name in release.noise["attributes"] else "intact"
    if release.publish == "bucketization":
        return "intact"
    if cells.domain.kind == "numeric":
        return release.numeric
    if cells.domain.kind == "ordinal":
        return "interval"
    return "set" if cells.domain.tree is None else "node"
