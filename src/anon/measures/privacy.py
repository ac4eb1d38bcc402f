# SPDX-License-Identifier: Apache-2.0
"""What can be learned from a release: re-identification risk and sensitive disclosure (spec 2).

T is the published rows: suppressed rows count nowhere but in `n_suppressed`. Logarithms are
natural. A release without rows scores 0 throughout.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from anon.classes import Classes, group, sensitive_counts
from anon.encoding import Codes, Domain, Units
from anon.errors import UsageError
from anon.measures.disclosure import (
    OF_CLASSES,
    Column,
    Disclosure,
    disclosure,
    joint_disclosure,
    measured_columns,
    worst_of,
    zero,
)
from anon.measures.known import Known
from anon.measures.risk import (
    NullMatching,
    PopulationRisk,
    Risk,
    Sizes,
    class_sizes,
    null_matching,
    prosecutor_risk,
)
from anon.measures.units import UnitRisk, once_per_unit, unit_risk
from anon.measures.weighted import WeightedDisclosure
from anon.plain import as_plain


@dataclass(frozen=True, kw_only=True, repr=False)
class Privacy(Disclosure):
    """Every privacy measure of a release.

    The inherited fields are the worst over sensitive attributes (None without one),
    `worst_sensitive` names the attribute that sets each, `by_sensitive` holds each attribute's own.
    `n_suppressed` rows belong to no class. Of them `n_starred` have `*` in every quasi-identifier, in
    a file made by another tool; `k_with_starred` is k with those as one more class.
    `units` tells of the units (persons with several rows) where the schema names them: measures of sensitive
    attributes then count each unit once for every value that it has in a class.
    `weighted` is what is learned of the people that the rows of a sample stand for, where it has weights.
    `null_matching` is None where no quasi-identifier holds null. `per_class` is an Arrow table with
    `class`, `size` and `<attribute>.<measure>`, where it was asked for. `worst_cells` shows, for every
    measure in `worst`, the published cells of its class. `unmet` names the requirements that some class
    does not meet, None where none was asked about. `roles_from` says of a table that was checked whether
    its roles were "given", or are the claim of the "file" itself.
    `intact` says of a bucketization that everybody sees its quasi-identifiers: `prosecutor` and
    `sample_uniques` are then of rows that are equal in them, and stand first.
    `known` says what they are to who knows the neutral columns too, where that was asked.
    `population` is the risk in the population, where that was said something of, and `population_before` that
    of the original's rows before they were made a release.
    `roles` are the columns of a table that was checked, by role ("others" have none).
    `notes` tell of columns whose values were not read as they are written.
    """

    n_rows: int
    n_suppressed: int
    n_classes: int
    k: int
    sizes: Sizes
    prosecutor: Risk
    sample_uniques: int
    by_sensitive: Mapping[str, Disclosure]
    worst_sensitive: Mapping[str, str]
    combined: Disclosure | None = None
    n_starred: int = 0
    k_with_starred: int | None = None
    units: UnitRisk | None = None
    weighted: WeightedDisclosure | None = None
    null_matching: NullMatching | None = None
    population: PopulationRisk | None = None
    population_before: PopulationRisk | None = None
    per_class: pa.Table | None = None
    worst_cells: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    unmet: tuple[str, ...] | None = None
    roles_from: Literal["given", "file"] | None = None
    intact: bool = False
    known: Known | None = None
    roles: Mapping[str, tuple[str, ...]] | None = None
    notes: tuple[str, ...] = ()

    @property
    def k_units(self) -> int | None:
        """The fewest units of a class; None where the schema names none."""
        return None if self.units is None else self.units.k

    @property
    def k_unit_bags(self) -> int | None:
        """The fewest units with the same bag of cells; None where the schema names none."""
        return None if self.units is None else self.units.k_bags

    @property
    def k_matching(self) -> int:
        """The fewest rows that match a row where a missing value matches anything."""
        return self.k if self.null_matching is None else self.null_matching.k

    @property
    def joint(self) -> Disclosure:
        """The combination of the sensitive attributes taken as one attribute."""
        if self.combined is None:
            raise UsageError(
                "There are no joint measures: the release has no sensitive attribute, or publishes each "
                "one apart (bucketization). Use by_sensitive instead."
            )
        return self.combined

    def to_dict(self) -> dict[str, Any]:
        """The measures under their names, ready for JSON."""
        plain = dict(as_plain(self))
        plain["joint"] = plain.pop("combined")
        del plain["per_class"]
        if self.roles is None:
            del plain["roles"]
        if not self.intact:
            del plain["intact"]
            return plain
        return {name: plain[name] for name in ("intact", "sample_uniques", "prosecutor")} | plain

    def _repr_html_(self) -> str:
        from anon.measures.notebook import privacy_html

        return privacy_html(self.to_dict())

    def __repr__(self) -> str:
        return (
            f"Privacy(n_rows={self.n_rows}, n_classes={self.n_classes}, k={self.k}, "
            f"l_distinct={self.l_distinct}, p_loss={self.p_loss})"
        )


def measure(
    classes: Classes,
    sensitive: Sequence[Domain],
    sensitive_codes: Sequence[Codes | None],
    *,
    at_risk: Sequence[float] = (2, 5, 10),
    joint: bool = True,
    per_class: bool = False,
    units: Units | None = None,
    n_threads: int = 1,
) -> Privacy:
    """Measure a release from its classes.

    `sensitive[i]` describes `sensitive_codes[i]`, one code per row of the table; None in place of the
    codes says that the release leaves the attribute out, and all its measures are 0. `joint=False` is
    for a release that publishes every sensitive attribute apart.
    """
    by_sensitive: dict[str, Disclosure | None] = {}
    table: dict[str, Column] = {"class": np.arange(classes.n_classes), "size": classes.sizes}
    measured: list[Disclosure] = []
    for domain, codes in zip(sensitive, sensitive_codes, strict=True):
        by_sensitive[domain.name] = None
        if codes is None or classes.n_classes == 0:
            continue
        counted = classes if units is None else once_per_unit(classes, [codes], units, n_threads)
        counts = sensitive_counts(counted, codes, domain.n_codes, n_threads)
        measured.append(disclosure(counts, domain, n_threads))
        by_sensitive[domain.name] = measured[-1]
        if per_class:
            columns = measured_columns(counts, domain, n_threads)
            table |= {f"{domain.name}.{name}": columns[name] for name in OF_CLASSES if name in columns}
    combined = None
    if joint and by_sensitive:
        combined = measured[0] if measured else zero()
        if len(measured) > 1:
            known = [codes for codes in sensitive_codes if codes is not None]
            counted = classes if units is None else once_per_unit(classes, known, units, n_threads)
            combined = joint_disclosure(counted, known, n_threads)
    sizes = classes.sizes
    privacy = put_together(by_sensitive, combined, *np.unique(sizes, return_counts=True), at_risk)
    return replace(
        privacy,
        n_suppressed=len(classes.suppressed),
        worst={**privacy.worst, "k": int(sizes.argmin())} if len(sizes) else privacy.worst,
        per_class=pa.table(table) if per_class else None,
        units=None if units is None else unit_risk(classes, units, at_risk, n_threads),
    )


def put_together(
    by_sensitive: Mapping[str, Disclosure | None],
    combined: Disclosure | None,
    size: npt.NDArray[np.int64],
    n_of_size: npt.NDArray[np.int64],
    at_risk: Sequence[float],
) -> Privacy:
    """The measures of a release of `n_of_size[i]` classes of `size[i]` rows (ascending).

    `by_sensitive` is None for an attribute of which nothing is published, `combined` is of all together.
    """
    every = {name: zero() if one is None else one for name, one in by_sensitive.items()}
    known = {name: one for name, one in by_sensitive.items() if one is not None}
    worst, worst_sensitive = worst_of(known or every)
    sizes = class_sizes(size, n_of_size)
    return Privacy(
        **worst,
        **risk_of_sizes(size, n_of_size, at_risk),
        n_rows=int(np.sum(size * n_of_size)),
        n_suppressed=0,
        n_classes=int(n_of_size.sum()),
        k=sizes.min,
        sizes=sizes,
        by_sensitive=every,
        worst_sensitive=worst_sensitive,
        combined=combined,
    )


def risk_of_sizes(
    size: npt.NDArray[np.int64], n_of_size: npt.NDArray[np.int64], at_risk: Sequence[float]
) -> dict[str, Any]:
    """The prosecutor's risk and the sample uniques, from how many classes have each size."""
    return {
        "prosecutor": prosecutor_risk(size * n_of_size, size, at_risk),
        "sample_uniques": int(n_of_size[size == 1].sum()),
    }


def measure_columns(
    quasi: Sequence[Domain],
    quasi_codes: Sequence[Codes],
    sensitive: Sequence[Domain],
    sensitive_codes: Sequence[Codes | None],
    *,
    suppressed: npt.NDArray[np.uint32] | None = None,
    starred: npt.NDArray[np.bool_] | None = None,
    at_risk: Sequence[float] = (2, 5, 10),
    joint: bool = True,
    per_class: bool = False,
    units: Units | None = None,
    n_threads: int = 1,
) -> tuple[Privacy, Classes]:
    """Measure a table made by anyone: its classes are the rows with equal codes in every `quasi`.

    `suppressed` (uint32) rows are left out, and so are `starred` ones (one bool per row: `*` in every
    quasi-identifier), which are reported apart. Where quasi-identifiers hold null, the ordinary
    reading (null is a value of its own) is joined by `null_matching`.
    """
    if not quasi_codes:
        raise UsageError("Name at least one quasi-identifier: without one there are no classes to measure.")
    left_out = np.empty(0, np.uint32) if suppressed is None else suppressed
    n_starred = 0
    if starred is not None:
        n_starred = int(np.count_nonzero(starred))
        left_out = np.union1d(left_out, np.flatnonzero(starred).astype(np.uint32))
    classes = group(quasi_codes, left_out, n_threads)
    privacy = measure(
        classes,
        sensitive,
        sensitive_codes,
        at_risk=at_risk,
        joint=joint,
        per_class=per_class,
        units=units,
        n_threads=n_threads,
    )
    first = classes.rows[classes.offsets[:-1]]
    class_codes = [codes[first] for codes in quasi_codes]
    missing = [column == domain.n_values for domain, column in zip(quasi, class_codes, strict=True)]
    return replace(
        privacy,
        n_starred=n_starred,
        k_with_starred=min(privacy.k or n_starred, n_starred) if n_starred else None,
        null_matching=null_matching(class_codes, missing, classes, sensitive, sensitive_codes, n_threads),
    ), classes


def of_intact(privacy: Privacy, intact: Classes, at_risk: Sequence[float] = (2, 5, 10)) -> Privacy:
    """The measures of a bucketization with the risk of its quasi-identifiers, which it publishes intact.

    `intact` are the rows that are equal in them: the prosecutor's risk and sample uniques are of these, not
    of buckets (spec 2).
    """
    size, n_of_size = np.unique(intact.sizes, return_counts=True)
    return replace(privacy, intact=True, **risk_of_sizes(size, n_of_size, at_risk))
