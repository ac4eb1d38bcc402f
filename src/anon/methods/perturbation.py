# SPDX-License-Identifier: Apache-2.0
"""The second door: methods that change values, table -> table, and enforce nothing.

Rows stay where they are and missing values stay missing; whatever is drawn comes from the operating system
and cannot be seeded. The functions that change the numbers take what is drawn as an argument.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from anon.classes import Classes
from anon.encoding import Encoded
from anon.entropy import uniform
from anon.errors import DataError, Parameter, UsageError
from anon.methods.task import Method, Progress, Task
from anon.methods.trivial import identity
from anon.requirements import Option
from anon.schema import Attribute, Schema, value_type
from anon.tables import Source, read_table
from anoncore.curve import sort_rows

Floats = npt.NDArray[np.float64]

COLUMNS = Option(
    "columns",
    list[str],
    "Perturbations: the columns to change (default: the quasi-identifiers of their kind).",
    read=tuple,
)
_HIGHEST = np.uint64(1 << 63)
NO_GUARANTEE = "none: no requirement holds of perturbed values, and no cell of them holds the original"


@dataclass(frozen=True)
class Change:
    """New columns by name, what the metadata says of each, and warnings for the owner.

    Under the key "owner" stands what only the re-check of the release may know.
    """

    columns: Mapping[str, pa.Array]
    attributes: Mapping[str, dict[str, Any]]
    warnings: Sequence[str] = ()


class Perturbation(Method):
    """A method that changes values and leaves rows where they are.

    `kind` names what was done in the metadata, `what` in messages.
    """

    kind: ClassVar[str]
    what: ClassVar[str]
    enforces: ClassVar[bool] = False
    perturbs: ClassVar[bool] = True

    def check_published(self, publish: str, numeric: str) -> None:
        if publish != "generalization" or numeric != "interval":
            raise UsageError(
                f"{type(self).__name__} publishes changed values, not cells: leave publish and numeric out"
            )

    def classes(self, encoded: Encoded, task: Task, k: int) -> Classes:
        return identity(encoded, task)


class ColumnPerturbation(Perturbation):
    """A perturbation of the columns that `columns` names, without one of the quasi-identifiers of its kind:
    the numeric ones (`of_numbers`), or the nominal and ordinal ones.
    """

    of_numbers: ClassVar[bool] = True
    columns: Sequence[str] | None

    def change(self, table: pa.Table, names: Sequence[str]) -> Change:
        """New values for the named columns of `table`, whose types are plain, row by row."""
        raise NotImplementedError

    def schema_of(self, schema: Schema, names: Sequence[str]) -> Schema:
        """The roles and kinds of the changed table."""
        return schema

    def needed(self) -> tuple[str, ...]:
        """Further columns that it reads and leaves as they are."""
        return ()

    def hidden(self, schema: Schema) -> tuple[str, ...]:
        """Identifying columns that it reads, which are dropped afterwards."""
        return ()

    def perturb(
        self, source: Source, schema: Schema, n_threads: int, progress: Progress | None
    ) -> tuple[Source, Schema, dict[str, Any], list[str]]:
        bound = schema.bind(source.table.schema)
        changed, facts, warnings = self.changed(source, bound, progress)
        names = facts["attributes"]
        kept = [each.name for each in bound.quasi if each.name not in names]
        if kept:
            listed = ", ".join(map(repr, kept))
            warnings.append(f"published as they are, though they are quasi-identifiers: {listed}")
        return changed, self.schema_of(bound, list(names)), facts, warnings

    def changed(
        self, source: Source, bound: Schema, progress: Progress | None
    ) -> tuple[Source, dict[str, Any], list[str]]:
        """The changed table, what its metadata says of that, and warnings for the owner."""
        whole = read_table(source)
        names = self._chosen(whole, bound)
        for name in self.needed():
            published(whole, bound, name)
            if name in names:
                raise UsageError(f"column {name!r} is to stay and to be changed: choose one of the two")
        if progress is not None:
            progress("perturb", 0, 1)
        table, stored = whole, source.schema
        plain = {
            name: pa.chunked_array([plain_values(whole.column(name))])
            for name in (*names, *self.needed(), *self.hidden(bound))
        }
        made = self.change(pa.table(plain), names)
        for name, column in made.columns.items():
            at = table.column_names.index(name)
            table = table.set_column(at, name, pa.chunked_array([column]))
            stored = stored.set(at, pa.field(name, column.type))
        facts = {
            "kind": self.kind,
            "reproducible": False,
            "attributes": dict(made.attributes),
            "guarantee": NO_GUARANTEE,
        }
        return replace(source, table=table, schema=stored), facts, [*made.warnings]

    def _chosen(self, table: pa.Table, schema: Schema) -> list[str]:
        """The columns to change, in the order of the table."""
        kinds = {each.name: each.kind for each in (*schema.quasi, *schema.sensitive)}
        named = self.columns
        if named is None:
            of_kind = [each.name for each in schema.quasi if (each.kind == "numeric") == self.of_numbers]
            if not of_kind:
                which = "numeric" if self.of_numbers else "nominal or ordinal"
                raise UsageError(
                    f"no quasi-identifier is {which}: name the columns that {self.what} is to change, ",
                    Parameter('columns=["income"]', "--columns income"),
                )
            named = of_kind
        for name in named:
            published(table, schema, name)
            field = value_type(table.schema.field(name).type)
            number = pa.types.is_integer(field) or pa.types.is_floating(field) or pa.types.is_decimal(field)
            if self.of_numbers and (kinds.get(name) in ("nominal", "ordinal") or not number):
                fault = f"is {kinds[name]}" if number else f"holds {field}"
                raise UsageError(
                    f"column {name!r} {fault}: {self.what} changes numbers alone; convert it to numbers, "
                    "or leave it out of ",
                    Parameter("columns", "--columns"),
                )
        return [name for name in table.column_names if name in named]


def column_names(given: Any) -> tuple[str, ...] | None:
    """Names of columns as given; UsageError where they are none, or one twice."""
    if given is None:
        return None
    names = (given,) if isinstance(given, str) else tuple(given)
    if not names or not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise UsageError("columns must be a list of different names of columns")
    return names


def published(table: pa.Table, schema: Schema, name: str) -> None:
    """Raise UsageError unless the column is there and will be published."""
    if name not in table.column_names:
        raise UsageError(f"the table has no column {name!r}, which is to be changed or read")
    if name in schema.dropped:
        raise UsageError(f"column {name!r} is identifying and is dropped: leave it out")
    if schema.role(name) is None:
        raise UsageError(f"column {name!r} has no role and is not published: leave it out, or give it one")


def plain_values(column: pa.ChunkedArray) -> pa.Array:
    """The values in one piece, no longer by dictionary."""
    return column.cast(value_type(column.type)).combine_chunks()


def as_numbers(schema: Schema, names: Sequence[str]) -> Schema:
    """The roles, with the named attributes as plain numbers, whatever hierarchy they had."""

    def plain(attribute: Attribute) -> Attribute:
        if attribute.name not in names:
            return attribute
        return Attribute(attribute.name, "numeric", weight=attribute.weight)

    return replace(
        schema, quasi=tuple(map(plain, schema.quasi)), sensitive=tuple(map(plain, schema.sensitive))
    )


def floats(column: pa.Array | pa.ChunkedArray, name: str) -> Floats:
    """The numbers as float64, missing ones as not-a-number. DataError where a value is infinite."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    values = np.asarray(array.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), np.float64)
    refuse_infinite(np.isinf(values), name)
    return values


def refuse_infinite(infinite: npt.NDArray[np.bool_], name: str) -> None:
    """Raise DataError where a value of the column is infinite."""
    if infinite.any():
        row, count = int(np.argmax(infinite)), int(np.count_nonzero(infinite))
        raise DataError(
            f"column {name!r} is infinite in {count} rows, the first of them row {row + 1}; "
            "correct them or make them missing",
            column=name,
            row=row,
            count=count,
        )


def ordered(column: pa.ChunkedArray, name: str) -> npt.NDArray[np.int64]:
    """The rows that have a value, by (value, row number)."""
    values = floats(column, name)
    missing = np.isnan(values)
    array = column.combine_chunks()
    if pa.types.is_floating(array.type):
        return by_value(values, np.flatnonzero(~missing))
    if pa.types.is_integer(array.type):
        return by_value(array.fill_null(0).to_numpy(), np.flatnonzero(~missing))
    order: npt.NDArray[np.int64] = pc.sort_indices(array).to_numpy().astype(np.int64)
    return order[~missing[order]]


def by_value(values: npt.NDArray[Any], rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Some rows by (value, place among them), of integers or of float64 that are numbers."""
    if values.dtype.kind == "f":  # the bits of floats, negative ones turned around, lie as they do
        bits = (values + 0.0).view(np.uint64)  # no zero is negative
        keys = np.where(bits >> np.uint64(63), ~bits, bits | _HIGHEST)
    elif values.dtype.kind == "i":
        keys = values.astype(np.int64).view(np.uint64) ^ _HIGHEST
    else:
        keys = values.astype(np.uint64)
    return sort_rows(keys, rows.astype(np.uint32)).astype(np.int64)


def not_constant(values: Floats, name: str) -> None:
    """Raise DataError where the values that are not missing are fewer than two, or all the same."""
    present = values[~np.isnan(values)]
    if len(present) < 2 or present.min() == present.max():
        raise DataError(
            f"column {name!r} has less than two different values: there is nothing to hide in; leave it out",
            column=name,
        )


def normal(n: int) -> Floats:
    """N draws from the standard normal distribution, by the operating system."""
    return quantile(uniform(n))


def quantile(p: Floats) -> Floats:
    """Quantiles of the standard normal distribution at 0 < p < 1 (Wichura 1988, AS 241)."""
    p = np.asarray(p, np.float64)
    q = p - 0.5
    r = 0.180625 - q * q
    x = q * np.polyval(_MIDDLE[0], r) / np.polyval(_MIDDLE[1], r)
    tail = np.abs(q) > 0.425
    beyond = np.sqrt(-np.log(np.minimum(p[tail], 1 - p[tail])))
    near = np.polyval(_NEAR[0], beyond - 1.6) / np.polyval(_NEAR[1], beyond - 1.6)
    far = np.polyval(_FAR[0], beyond - 5.0) / np.polyval(_FAR[1], beyond - 5.0)
    x[tail] = np.copysign(np.where(beyond <= 5.0, near, far), q[tail])
    return np.asarray(x)


_MIDDLE = (
    (
        *(2.5090809287301226727e3, 3.3430575583588128105e4, 6.7265770927008700853e4),
        *(4.5921953931549871457e4, 1.3731693765509461125e4, 1.9715909503065514427e3),
        *(1.3314166789178437745e2, 3.3871328727963666080e0),
    ),
    (
        *(5.2264952788528545610e3, 2.8729085735721942674e4, 3.9307895800092710610e4),
        *(2.1213794301586595867e4, 5.3941960214247511077e3, 6.8718700749205790830e2),
        *(4.2313330701600911252e1, 1.0),
    ),
)
_NEAR = (
    (
        *(7.74545014278341407640e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1),
        *(1.27045825245236838258e0, 3.64784832476320460504e0, 5.76949722146069140550e0),
        *(4.63033784615654529590e0, 1.42343711074968357734e0),
    ),
    (
        *(1.05075007164441684324e-9, 5.47593808499534494600e-4, 1.51986665636164571966e-2),
        *(1.48103976427480074590e-1, 6.89767334985100004550e-1, 1.67638483018380384940e0),
        *(2.05319162663775882187e0, 1.0),
    ),
)
_FAR = (
    (
        *(2.01033439929228813265e-7, 2.71155556874348757815e-5, 1.24266094738807843860e-3),
        *(2.65321895265761230930e-2, 2.96560571828504891230e-1, 1.78482653991729133580e0),
        *(5.46378491116411436990e0, 6.65790464350110377720e0),
    ),
    (
        *(2.04426310338993978564e-15, 1.42151175831644588870e-7, 1.84631831751005468180e-5),
        *(7.86869131145613259100e-4, 1.48753612908506148525e-2, 1.36929880922735805310e-1),
        *(5.99832206555887937690e-1, 1.0),
    ),
)
