# SPDX-License-Identifier: Apache-2.0
"""A release: measured, shown, and written; the only way out of the engine.

`recode` makes it of classes and their cells and checks it from its published cells; nothing that fails
is ever written.
"""

from __future__ import annotations

import json
import os
import tempfile
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from anon.classes import (
    BY_NUMBER,
    Cells,
    Classes,
    Column,
    Published,
    RowWeights,
    and_ranges,
    counts_of,
    group,
    is_full,
    looks,
    texts,
    union_of,
)
from anon.encoding import of_published_rows
from anon.errors import DataError, InfeasibleError, UsageError
from anon.measures import (
    Known,
    Privacy,
    Utility,
    cell_loss,
    known,
    measure_utility,
    null_matching,
    of_intact,
    population_risk,
    weighted_disclosure,
)
from anon.measures import measure_privacy as measure
from anon.release.columns import fields_of, in_memory, rows_taken
from anon.release.formulas import Formulas, refuse_guard
from anon.release.metadata import CLASS_ID, METADATA_KEY, sensitive_path
from anon.release.recoded import Recoded
from anon.release.words import levels_in_words, release_html
from anon.release.write import (
    csv,
    is_path,
    labels_of_columns,
    refuse_source,
    to_table,
    unwritable,
    write_release,
    writer_of,
)
from anon.tables import PROGRAM_OF_SUFFIX, Place, new_table, not_written, replacing, target_of
from anon.threads import available_threads

if TYPE_CHECKING:
    from anon.release.rules import Rules

TWO_TABLES = "a bucketization has two tables, which go together: write .parquet, .feather or .csv"


@dataclass(frozen=True, repr=False)
class HeldOut:
    """The `control` rows that were held out, the rows that are left, and the `trial` release of these alone.

    It is the owner's: nothing of it is in the release, or written with it.
    """

    original: pa.Table
    trial: Release
    control: pa.Table

    def __repr__(self) -> str:
        return f"HeldOut({self.control.num_rows} of {self.control.num_rows + self.original.num_rows} rows)"


@dataclass(frozen=True, repr=False)
class Release(Recoded):
    """A table made ready for publication, with what it was made from.

    `classes` lists the rows in the order of publication, `cells[i]` what they show of the i-th
    quasi-identifier, `columns[i]` its columns. Nothing here is written unless `meets_requirements`.
    `dropped` are sensitive attributes left out. A perturbation was made from a table with noise, of
    which `noise` tells. `lattice` is what full-domain recoding saw of other levels, `left_out` counts
    by reason the rows that are not published, `perturbed` holds what is known of each perturbation beside
    the classes (with its owner's keys, which no file has). `sources` are the paths of the input,
    `file_schema` the types that its columns had there.

    `held` has what attackers need, where rows were held out; no file has it. `is_trial` is a release made
    without these rows, which is written by that word alone.

    Only `recode` makes one that can be written: a copy with other fields can be measured, and its table
    says nothing of itself.
    """

    _seal: tuple[Any, ...] = field(init=False, default=(), repr=False, compare=False)
    held: HeldOut | None = field(init=False, default=None, repr=False, compare=False)
    is_trial: bool = field(init=False, default=False, repr=False, compare=False)
    _known: Known | None = field(init=False, default=None, repr=False, compare=False)

    @property
    def trial(self) -> Release | None:
        """The release of the rows that were not held out, for attackers; None without `control=`."""
        return None if self.held is None else self.held.trial

    @property
    def control(self) -> pa.Table | None:
        """The rows that were held out of the trial; None without `control=`. The release has them."""
        return None if self.held is None else self.held.control

    @property
    def is_sealed(self) -> bool:
        """Is it as `recode` made and checked it?"""
        return bool(self._seal) and all(a is b for a, b in zip(self._seal, contents(self), strict=True))

    @cached_property
    def table(self) -> pa.Table:
        """The published table: quasi-identifiers as cells, neutral and sensitive columns as they were.

        Its schema carries the same `metadata` as the files, unless the release is not sealed.
        """
        if not isinstance(self.encoded.table, pa.Table):
            raise UsageError(
                'the rows are in their files: write() the release, or read the input with engine="local"'
            )
        fields = fields_of(self)
        whole = rows_taken(fields, *self._rows())
        schema = pa.schema([(f.name, in_memory(f)) for f in fields])
        said = {METADATA_KEY: json.dumps(self.metadata)} if self.is_sealed else None
        return whole.cast(schema).replace_schema_metadata(said)

    def to_pandas(self) -> Any:
        """The published table as a pandas DataFrame."""
        return self.table.to_pandas()

    def to_polars(self) -> Any:
        """The published table as a polars DataFrame."""
        import polars

        return polars.from_arrow(self.table)

    def write(
        self,
        path: str | os.PathLike[str],
        *,
        csv_guard: bool = False,
        table: str | None = None,
        replace: bool = False,
        trial: bool = False,
    ) -> None:
        """Write the release to a file, in the format of the suffix of `path`, or to a table of a database.

        Parquet and Feather carry everything; CSV, SPSS (`.sav`), Stata (`.dta`) and Excel (`.xlsx`, extra
        `files` for these three) what they can: DataError, by the name of the column, for what one cannot.
        Columns that are published as they were keep the labels that an SPSS or Stata input had for them.

        A bucketization writes its sensitive table beside it, with `.sensitive` before the suffix.
        The files appear complete, both together, or not at all: first they are read back as `check` reads
        them, and the requirements are tested on what was read. Raises DataError where CSV does not tell
        apart what the release does.

        Spreadsheets run text of a CSV file that begins with `=`, `+`, `-`, `@`, a tab or a carriage return
        and is no number: a PrivacyWarning tells where there is any. `csv_guard` puts an apostrophe before
        each such cell and name of a column; DataError where two values become one by that.

        Where `path` is a database (extra `db`: a PostgreSQL URI without a password, an SQLite or DuckDB
        file) the release becomes its `table`, in one transaction that is committed when all was read back
        and tested. A table that is there is refused unless `replace`; one that was an input always is.

        The `trial` of a release with `control=` is written with `trial=True` alone, to a file for its owner
        (mode 0600): whoever has both is told who was held out.
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
        if not is_path(path):
            raise UsageError("write takes the path of a file, as a string or a Path")
        if self.is_trial and not trial:
            raise UsageError(
                "this is a trial, made without the rows of the control group: beside the release it tells "
                "who was held out; publish the release itself, or keep this one for yourself: "
                "write(..., trial=True)"
            )
        if trial and not self.is_trial:
            raise UsageError("this is no trial, which `release.trial` of anonymize(..., control=) is")
        place = target_of(path)
        if place is not None and trial:
            raise UsageError("a trial is for its owner alone: write it to a file, such as trial.parquet")
        if place is not None:
            self._write_table(place, table, replace, csv_guard)
            return
        if table is not None or replace:
            raise UsageError("a release is a table of a database alone: PostgreSQL, SQLite or DuckDB")
        from anon.release.readback import read_back, refuse_merged

        writer, format = writer_of(Path(path), labels_of_columns(self))
        if self.publish == "bucketization" and format in PROGRAM_OF_SUFFIX.values():
            raise UsageError(TWO_TABLES)
        if csv_guard:
            refuse_guard(Path(path).suffix)
        paths = [Path(os.path.realpath(path))]
        if self.publish == "bucketization":
            paths.append(sensitive_path(paths[0]))
        for target in paths:
            refuse_source(target, self.sources)
        if format in ("CSV", "Excel"):
            refuse_merged(self, format)
        formulas = [Formulas(csv_guard) if writer is csv else None for _ in paths]
        try:
            with replacing(paths, 0o600 if self.is_trial else 0o666) as temporary:
                write_release(self, writer, temporary, formulas, temporary[0].parent)
                read_back(self, temporary, format, csv_guard)
        except OSError as error:
            raise not_written(repr(str(path)), error) from error
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise DataError(
                f"cannot write {str(path)!r}: {unwritable(self, writer)}; nothing was written"
            ) from error
        for note in (each.note() for each in formulas if each is not None):
            if note is not None:
                warnings.warn(note, stacklevel=2)

    def _write_table(self, place: Place, table: str | None, replace: bool, csv_guard: bool) -> None:
        """As `write`, to a table of a database."""
        from anon.release.readback import read_back

        if csv_guard:
            refuse_guard("")
        if self.publish == "bucketization":
            raise UsageError(TWO_TABLES)
        rows = self.encoded.table
        beside = None if isinstance(rows, pa.Table) else rows.folder
        folder = Path(tempfile.gettempdir() if beside is None else beside)
        try:
            with new_table(place, table, replace, self.sources) as target:
                write_release(self, to_table, [target], [None], folder)
                read_back(self, [target], place.kind)
        except OSError as error:
            raise not_written(str(place), error) from error
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            raise DataError(
                f"cannot write {place}: a column holds values that its type there does not; write Parquet, "
                "or make them text; nothing was written"
            ) from None

    def privacy(
        self,
        *,
        at_risk: Sequence[float] = (2, 5, 10),
        population: Any = None,
        sampling_fraction: float | None = None,
        per_class: bool = False,
        neutral: bool = False,
        n_threads: int | None = None,
    ) -> Privacy:
        """Every privacy measure of the release (spec 2), from its classes.

        `at_risk`: report the share of rows whose risk is above x, or 1/x where x >= 1. A `population`
        table with the same quasi-identifiers, a `sampling_fraction` in (0, 1], or without either the
        schema's sampling weights add journalist and marketer risk, of the original too
        (`population_before`). `per_class` adds a table of every measure of every class, `neutral` what the
        classes are to who knows the neutral columns too (`known`; None where there are none).
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
            units=encoded.units,
            n_threads=threads,
        )
        if encoded.weights is not None:
            weighted = weighted_disclosure(classes, encoded.sensitive, codes, encoded.weights)
            measured = replace(measured, weighted=weighted)
        groups = classes
        if self.publish == "bucketization":
            groups = group(encoded.quasi_codes, encoded.suppressed, threads)
            measured = of_intact(measured, groups, at_risk)
        else:
            cells = [
                _shown(columns) if columns and self.numeric in BY_NUMBER else one.of_class
                for one, columns in zip(self.cells, self.columns, strict=True)
            ]
            null = [
                (one.low > one.high if one.blank is None else one.blank)[one.of_class] for one in self.cells
            ]
            matching = null_matching(cells, null, classes, encoded.sensitive, codes, threads)
            measured = replace(measured, null_matching=matching)
        if population is not None and self.noise is not None:
            raise UsageError(f"journalist and marketer risk of a population: {_no_cells(self)}")
        of_row = encoded.weights if population is None and sampling_fraction is None else None
        if any(each is not None for each in (population, sampling_fraction, of_row)):
            before = group(encoded.original.quasi_codes, encoded.suppressed, threads)
            inside: tuple[Any, Any] = None, None
            if population is not None:
                inside = _inside(self, groups, before, population, threads)
            after, first = (
                population_risk(each, of_class, sampling_fraction, at_risk, weights=of_row)
                for each, of_class in zip((groups, before), inside, strict=True)
            )
            measured = replace(measured, population=after, population_before=first)
        if neutral and not all(map(self.is_mean, self.neutral)):
            measured = replace(measured, known=self.known(at_risk, groups, threads))
        return replace(
            measured,
            worst_cells={name: self._cells_of(number) for name, number in measured.worst.items()},
        )

    def known(
        self, at_risk: Sequence[float] = (2, 5, 10), classes: Classes | None = None, n_threads: int = 1
    ) -> Known:
        """What the neutral columns add to the release's classes, or to these rows that look alike.

        Sampling weights that are shown as the mean of each class add nothing.
        """
        is_own = classes is None or classes is self.classes
        if self._known is not None and is_own and [*self._known.prosecutor.at_risk] == [*at_risk]:
            return self._known  # as `recode` judged it
        names = [name for name in self.neutral if not self.is_mean(name)]
        return known(
            self.encoded,
            self.classes if classes is None else classes,
            names,
            intact=self.publish != "generalization",
            at_risk=at_risk,
            k=max((one.least_rows for one in self.requirements if one.least_rows), default=None),
            cells=self.cells if is_own else (),
            n_threads=n_threads,
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
        published = replace(self.published, n_threads=available_threads(n_threads))
        return measure_utility(published, r=r, w_u=w_u, w_p=w_p, min_support=min_support)

    @property
    def gcp(self) -> float | None:
        """The share of the detail of the quasi-identifiers that was lost, as `utility` has it, or None."""
        published = self.published
        return cell_loss(published).gcp if published.cells is not None or published.intact else None

    @cached_property
    def published(self) -> Published:
        """What every measure reads of the release: its classes, cells and counts, and what is intact."""
        generalized, perturbed = self.publish == "generalization", self.noise is not None
        by_numbers = generalized and self.numeric in BY_NUMBER
        return Published(
            self.encoded.original,
            self.classes,
            counts_of(self.encoded, self.classes, self.dropped),
            cells=self.cells if generalized else None,
            intact=None if generalized or perturbed else self.encoded.quasi_codes,
            refusal=_no_cells(self) if perturbed else "",
            by_level=self.numeric == "level",
            numbers=tuple(
                columns[0] if by_numbers and cells.domain.kind == "numeric" else None
                for cells, columns in zip(self.cells, self.columns, strict=True)
            ),
            k_asked=max((one.least_rows or 0 for one in self.requirements if one.asks_k), default=None),
            weights=None
            if self.encoded.weights is None
            else RowWeights(self.encoded.weights, self.encoded.sensitive_codes),
        )

    @property
    def rules(self) -> Rules:
        """What the release does with any row, of its own or another table: levels, or regions between cuts.

        FullDomain and Mondrian only; UsageError for others. `rules.transform(rows)` shows hold-out rows as
        the release would, `anon.append` releases a new batch by them, `rules.write(path)` keeps them. They
        hold no row and no count, but ends of regions are values of the table: they are the owner's.
        """
        from anon.release.rules_of import rules_of

        if not self.is_sealed or not self.meets_requirements:
            raise UsageError("rules are of a release that was checked; this copy of one can be measured")
        return rules_of(self)

    def _cells_of(self, class_id: int) -> dict[str, Any]:
        """What the release shows of one class, as text; None for null."""
        if self.publish == "bucketization":
            return {CLASS_ID: class_id}
        cells = {}
        if self.noise is not None:
            row = int(self.classes.rows[self.classes.offsets[class_id]])
            for domain, codes in zip(self.encoded.quasi, self.encoded.quasi_codes, strict=True):
                value = domain.values.slice(int(codes[row]), 1)
                cells[domain.name] = texts(value)[0] if len(value) else None
            return cells
        for column in (column for columns in self.columns for column in columns):
            value = column.values.slice(int(column.index[class_id]), 1)
            cells[column.name] = None if value.null_count else texts(value)[0]
        return cells

    @cached_property
    def ends_of_one(self) -> dict[str, int]:
        """Of each quasi-identifier that is shown as intervals of numbers how many cells end at the value of
        one person: whoever knows who has the most learns how much it is.
        """
        encoded, classes, counted = self.encoded, self.classes, {}
        if self.publish != "generalization" or self.numeric not in ("interval", "bounds", "level"):
            return {}
        if self.nulled or encoded.rounds is not None:  # values, and cells that end where levels do
            return {}
        for attribute, cells, codes in zip(
            encoded.schema.quasi, self.cells, encoded.quasi_codes, strict=True
        ):
            domain, coding = cells.domain, cells.domain.coding
            of_levels = self.numeric == "level" and domain.levels is not None
            if domain.kind != "numeric" or of_levels or not domain.n_values:
                continue
            held = codes[classes.rows]
            if encoded.units is not None:
                held = np.unique(np.stack([held, encoded.units.codes[classes.rows]]), axis=1)[0]
            is_of_one = np.bincount(held, minlength=domain.n_codes)[: domain.n_values] == 1
            code = np.arange(domain.n_values)
            if coding is not None:
                is_of_one &= ~coding.is_open(code, code)
            if attribute.least is not None or attribute.ends is not None:
                is_of_one[:] = False
            present = cells.low <= cells.high
            low, high = (np.where(present, ends, 0) for ends in (cells.low, cells.high))
            tells = present & ~is_full(cells) & (is_of_one[low] | is_of_one[high])
            counted[domain.name] = int(np.count_nonzero(tells[cells.of_class]))
        return counted

    @property
    def effort(self) -> str | None:
        """How long classes were sought: "fast" by Mondrian, "balanced" or "best" by Curve; else None."""
        effort: str | None = getattr(self.method, "effort", None)
        return effort

    def summary(self) -> dict[str, Any]:
        """What was made and how, in plain words and numbers."""
        metadata = self.metadata
        return {
            "rows": metadata["rows"],
            "suppressed": len(self.classes.suppressed),
            **({"suppressed for": dict(self.left_out)} if self.left_out else {}),
            "classes": metadata["classes"],
            "requirements": [str(requirement) for requirement in self.requirements],
            "published unchanged": [name for name in metadata["roles"]["neutral"] if not self.is_mean(name)],
            **(
                {"quasi-identifiers of households": metadata["household"]["quasi"]}
                if "household" in metadata
                else {}
            ),
            **(
                {"perturbed": [f"{name} ({kind})" for name, kind in self.perturbed_by.items()]}
                if self.perturbed
                else {}
            ),
            "not published": list(self.encoded.unpublished),
            **{name: metadata[name] for name in ("method", "publish", "numeric", "missing", "order")},
            **({} if self.effort is None else {"effort": self.effort}),
            **({} if self.lattice is None else levels_in_words(self.lattice)),
            **{
                name: self.noise[name]
                for name in ("epsilon", "guarantee")
                if self.noise and name in self.noise
            },
        }

    def _repr_html_(self) -> str:
        return release_html(self, self.summary())

    def __repr__(self) -> str:
        return (
            f"Release(rows={self.n_rows}, classes={self.classes.n_classes}, "
            f"suppressed={len(self.classes.suppressed)}, publish={self.publish!r}, method={self.method!r})"
        )


def _shown(columns: Sequence[Column]) -> npt.NDArray[np.uint32]:
    """For each class a number that is equal where the number and the mark of missing values are."""
    both = looks(columns[0]).astype(np.int64) * (len(columns[-1].values) + 1) + looks(columns[-1])
    _, numbers = np.unique(both, return_inverse=True)
    return np.asarray(numbers, np.uint32)


def with_held(release: Release, held: HeldOut) -> Release:
    """The release, which now has what was held out for attackers; what it shows is as it was."""
    object.__setattr__(release, "held", held)
    object.__setattr__(held.trial, "is_trial", True)
    return release


def contents(release: Release) -> tuple[Any, ...]:
    """What a release was made with, by identity its seal."""
    return tuple(getattr(release, each.name) for each in fields(release) if each.init)


def _inside(
    release: Release, groups: Classes, before: Classes, population: Any, n_threads: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Rows of a population inside the cells of each group of the release's rows that look alike, and those
    equal to each group of the original's (`before`).

    Both tables get the codes of their union.
    """
    union = union_of(release.encoded, population, n_threads)
    generalizes = release.publish == "generalization"
    cells = union.cells(groups, generalizes and release.numeric == "level", n_threads)
    if generalizes:
        cells = tuple(_as_full_as(ours, one) for ours, one in zip(release.cells, cells, strict=True))
    return union.inside(cells, n_threads), union.equal(before, n_threads)


def _as_full_as(ours: Cells, wider: Cells) -> Cells:
    """`wider`, over a domain that includes that of `ours`, with `*` wherever `ours` shows it."""
    last = wider.domain.n_values - 1
    full = is_full(ours)[ours.of_class]
    of_class = np.where(full, len(wider.low) + ours.null[ours.of_class], wider.of_class).astype(np.uint32)
    stars = and_ranges(wider, np.array([0, 0]), np.array([last, last]), np.array([False, True]))
    return replace(stars, of_class=of_class)


def _no_cells(release: Release) -> str:
    return (
        f"{type(release.method).__name__} publishes changed values, which are no cells that hold the "
        "original values; this measure needs cells: measure such a release by what miners learn from it"
    )
