# SPDX-License-Identifier: Apache-2.0
"""Laplace noise on numbers: a perturbation, table -> table (Sramka et al. 2010, 4.2; Dwork et al. 2006).

Every value of an attribute is clipped to public bounds and published with noise of density
(epsilon / 2 df) exp(-epsilon |y| / df), df the greatest difference that one row can make. Each value is
then epsilon-differentially private by itself, and a row whose attributes all get noise by the sum of
their epsilons (sequential composition). Columns without noise are published as they are.

The noise is OpenDP's, drawn exactly on a grid that divides df and the scale by 2**29 or more, so that
the low digits of a published float tell nothing (Mironov 2012). It comes from the operating system and
cannot be seeded.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from importlib import import_module
from importlib.metadata import version
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from annotated_types import Len

from anon.errors import Parameter, UsageError
from anon.methods.perturbation import Perturbation, as_numbers, refuse_infinite
from anon.methods.task import Progress
from anon.requirements import Option, exact
from anon.schema import Schema, is_text, value_type
from anon.tables import Source, read_table
from anon.threads import in_threads

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bounds = tuple[float, float]

GRID_BITS = 30
GIVEN_BOUNDS = Parameter('bounds={"age": (17, 99)}', "--bounds age=17..99")
BLOCK = 1 << 16  # values that one call of the noise takes
MOST_STEPS = 1 << 62
LARGEST_SCALE = 2.0**56  # in steps of the grid; noise beyond 2**62 has probability e**-64


class Budget:
    """A privacy budget that several releases of the same people draw on (sequential composition).

    It counts what is drawn in this process, exactly, and refuses what goes beyond `total`; what other
    programs released adds to it and is for the caller to know.
    """

    def __init__(self, epsilon: float | Fraction) -> None:
        self.total = _epsilon("epsilon", epsilon)
        self._spent = Fraction(0)
        self._lock = threading.Lock()

    @property
    def spent(self) -> Fraction:
        """The epsilons of the releases so far, added up."""
        return self._spent

    @property
    def left(self) -> Fraction:
        """What further releases may spend."""
        return self.total - self._spent

    def spend(self, epsilon: float | Fraction) -> None:
        """Take epsilon out of the budget; UsageError where less is left."""
        asked = _epsilon("epsilon", epsilon)
        with self._lock:
            if asked > self.left:
                raise UsageError(
                    f"the budget of epsilon = {words(self.total)} has {words(self.left)} left, "
                    f"and this release would spend {words(asked)}; publish no more of these people"
                )
            self._spent += asked

    def __repr__(self) -> str:
        return f"Budget({words(self.total)}, spent={words(self.spent)})"


@dataclass(frozen=True)
class Laplace(Perturbation):
    """Laplace noise of scale df / epsilon on numeric attributes; enforces nothing, accepts no requirement.

    Noise is added to every column that `bounds` names, among which must be all numeric
    quasi-identifiers; they become floats. `epsilon` (> 0) is that of each attribute, or a mapping by
    name; a release spends their sum. `bounds` maps an attribute to its least and greatest possible
    value, which are public; `"data"` reads those of the numeric quasi-identifiers off the table, and the
    release then says that it guarantees nothing. `sensitivity` (by name too) replaces
    df = upper - lower. `rounding` (by name too) rounds to so many decimals, and integers to whole
    numbers where it is 0 or less; `clamp` puts published values back into the bounds: both work on
    what is already private. `clip=False` adds the noise to values outside the bounds as they are: the
    form of Sramka et al., and no differential-privacy guarantee. `budget` is drawn on by every release.
    """

    name: ClassVar[str] = "laplace"
    needs: ClassVar[tuple[str, ...]] = ("epsilon",)
    kind: ClassVar[str] = "laplace"
    what: ClassVar[str] = "noise"
    options: ClassVar[tuple[Option, ...]] = (
        Option(
            "epsilon",
            float | dict[str, float],
            "Laplace: ε of each attribute, or COLUMN=ε; may be repeated.",
            by_column=True,
        ),
        Option(
            "bounds",
            Literal["data"] | dict[str, Annotated[list[float], Len(2, 2)]],
            "Laplace: public bounds as COLUMN=17..99, or data (no guarantee).",
            by_column=True,
        ),
        Option(
            "sensitivity",
            float | dict[str, float],
            "Laplace: in place of upper - lower, or COLUMN=S.",
            by_column=True,
        ),
        Option(
            "rounding",
            int | dict[str, int],
            "Laplace: round to so many decimals, or COLUMN=N.",
            by_column=True,
        ),
        Option("clip", bool, "Laplace: clip values to the bounds before noise (default)."),
        Option("clamp", bool, "Laplace: put published values into the bounds (default: not)."),
    )

    epsilon: float | Fraction | Mapping[str, float | Fraction]
    bounds: Mapping[str, Sequence[float]] | Literal["data"] | None = None
    sensitivity: float | Mapping[str, float] | None = None
    rounding: int | Mapping[str, int] | None = None
    clip: bool = True
    clamp: bool = False
    budget: Budget | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.bounds is None:
            raise UsageError(
                "Laplace noise needs the public bounds of every attribute, not read off the table: ",
                GIVEN_BOUNDS,
            )
        if isinstance(self.bounds, str):
            if self.bounds != "data":
                raise UsageError('bounds must map names to (lower, upper), or be "data"')
        elif not isinstance(self.bounds, Mapping) or not self.bounds:
            raise UsageError("bounds must map names to (lower, upper): ", GIVEN_BOUNDS)
        else:
            object.__setattr__(
                self, "bounds", {name: _pair(name, each) for name, each in self.bounds.items()}
            )
        for parameter, check in (("epsilon", _epsilon), ("sensitivity", _positive), ("rounding", _decimals)):
            given = getattr(self, parameter)
            if isinstance(given, Mapping):
                object.__setattr__(self, parameter, dict(given))
                for name, value in given.items():
                    check(f"{parameter} of column {name!r}", value)
                    if not isinstance(self.bounds, str) and name not in self.bounds:
                        raise UsageError(f"{parameter} is given for column {name!r}, which has no bounds")
            elif given is not None or parameter == "epsilon":
                check(parameter, given)
        if isinstance(self.epsilon, Mapping) and not isinstance(self.bounds, str):
            without = [name for name in self.bounds if name not in self.epsilon]
            if without:
                raise UsageError(f"column {without[0]!r} has bounds and no epsilon; give it one")
        for flag in ("clip", "clamp"):
            if not isinstance(getattr(self, flag), bool):
                raise UsageError(f"{flag} must be True or False")
        if self.budget is not None and not isinstance(self.budget, Budget):
            raise UsageError("budget must be an anon.Budget")

    def perturb(
        self, source: Source, schema: Schema, n_threads: int, progress: Progress | None
    ) -> tuple[Source, Schema, dict[str, Any], list[str]]:
        return perturb(source, schema, self, n_threads, progress)

    def value_of(self, parameter: str, name: str) -> Any:
        """A parameter's value for one attribute."""
        given = getattr(self, parameter)
        return given.get(name) if isinstance(given, Mapping) else given


@dataclass(frozen=True)
class Noise:
    """What was done to one attribute: every number of it is public, or the release says that it is not."""

    name: str
    epsilon: Fraction
    lower: float
    upper: float
    sensitivity: float
    scale: float
    grid: float
    rounding: int | None


def perturb(
    source: Source,
    schema: Schema,
    method: Laplace,
    n_threads: int = 1,
    progress: Progress | None = None,
) -> tuple[Source, Schema, dict[str, Any], list[str]]:
    """The table with noise, its schema, what its metadata says of the noise, and warnings for the owner.

    Missing values stay missing. Raises UsageError where a numeric quasi-identifier has no bounds or an
    attribute with bounds is none of numbers, DataError where a value is infinite.
    """
    library = _opendp()
    whole = read_table(source)
    bound = schema.bind(whole.schema)
    names = _attributes(whole, bound, method)
    original = {name: _numbers(whole.column(name), name) for name in names}
    plan = [_noise(name, original[name], method) for name in names]
    steps = [_steps(original[noise.name], noise, method) for noise in plan]
    added = [measurement(library, noise) for noise in plan]
    total = sum((noise.epsilon for noise in plan), Fraction(0))
    if method.budget is not None:
        method.budget.spend(total)
    table, stored = whole, source.schema
    for done, noise in enumerate(plan):
        if progress is not None:
            progress("noise", done, len(plan))
        at = table.column_names.index(noise.name)
        whole = pa.types.is_integer(value_type(table.schema.field(at).type))
        drawn = _drawn(added[done], steps[done], n_threads)
        column = _published(drawn, original[noise.name].is_null(), noise, method, whole)
        table = table.set_column(at, noise.name, pa.chunked_array([column]))
        stored = stored.set(at, pa.field(noise.name, column.type))
    n_outside = {noise.name: _n_outside(original[noise.name], noise) for noise in plan}
    facts = _told(plan, total, method)
    return (
        replace(source, table=table, schema=stored),
        as_numbers(bound, names),
        facts,
        _warnings(facts, n_outside, method),
    )


def words(epsilon: Fraction) -> str:
    """A fraction as people write it: 0.1, or 1/3 where that never ends."""
    rest = epsilon.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    if rest > 1:
        return str(epsilon)
    places = 0
    while (epsilon * 10**places).denominator > 1:
        places += 1
    digits = str(int(epsilon * 10**places)).zfill(places + 1)
    return f"{digits[:-places]}.{digits[-places:]}" if places else digits


# Parameters


def _epsilon(name: str, value: Any) -> Fraction:
    _positive(name, value)
    return exact(value)


def _positive(name: str, value: Any) -> None:
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | Fraction):
        raise UsageError(f"{name} must be a number above 0")
    if not 0 < value < math.inf:
        raise UsageError(f"{name} must be a finite number above 0")


def _decimals(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > 15:
        raise UsageError(f"{name} must be a whole number of decimals, from -15 to 15")


def _pair(name: str, given: Any) -> Bounds:
    try:
        lower, upper = (float(end) for end in given)
    except (TypeError, ValueError, OverflowError):
        raise UsageError(
            f"the bounds of column {name!r} must be two numbers, (lower, upper): noise is for numbers"
        ) from None
    if not -math.inf < lower < upper < math.inf or not upper - lower < math.inf:
        raise UsageError(f"the bounds of column {name!r} must be finite, the lower below the upper")
    return lower, upper


def _attributes(table: pa.Table, schema: Schema, method: Laplace) -> list[str]:
    """The columns that get noise, in schema order; the numeric quasi-identifiers must be among them."""
    numeric = [attribute.name for attribute in schema.quasi if attribute.kind == "numeric"]
    names = numeric if isinstance(method.bounds, str) else list(method.bounds or ())
    for name in dict.fromkeys((*numeric, *names)):
        if name in schema.dropped:
            raise UsageError(f"column {name!r} is identifying and is dropped: it takes no noise")
        if name not in table.column_names:
            raise UsageError(f"bounds are given for column {name!r}, which the table does not have")
        if schema.role(name) is None:
            raise UsageError(f"column {name!r} has no role and is not published: it takes no noise")
        kind = {attribute.name: attribute.kind for attribute in (*schema.quasi, *schema.sensitive)}.get(name)
        plain = value_type(table.schema.field(name).type)
        number = pa.types.is_integer(plain) or pa.types.is_floating(plain) or pa.types.is_decimal(plain)
        if kind in ("nominal", "ordinal") or not number:
            what = f"is {kind}" if number else f"holds {plain}"
            way_out = "convert it to numbers, or declare it nominal to publish it unchanged"
            raise UsageError(f"column {name!r} {what}: noise is added to numbers alone; {way_out}")
    for name in dict.fromkeys((*numeric, *names)):
        if name not in names:
            raise UsageError(
                f"the numeric quasi-identifier {name!r} has no bounds: give them, "
                "or declare it nominal to publish it unchanged"
            )
        if isinstance(method.epsilon, Mapping) and name not in method.epsilon:
            raise UsageError(f"column {name!r} is to get noise and has no epsilon; give it one")
    if not names:
        raise UsageError("no quasi-identifier is numeric: there is nothing to add noise to")
    return [name for name in table.column_names if name in names]


def _numbers(column: pa.ChunkedArray, name: str) -> pa.Array:
    """The column as float64; not-a-number is missing. Raises DataError where a value is infinite."""
    plain = value_type(column.type)
    assert not is_text(plain)
    values = column.cast(plain).combine_chunks().cast(pa.float64(), safe=False)
    values = pc.if_else(pc.is_nan(values), pa.scalar(None, pa.float64()), values)
    refuse_infinite(pc.fill_null(pc.is_inf(values), False).to_numpy(zero_copy_only=False), name)
    return values


def _noise(name: str, values: pa.Array, method: Laplace) -> Noise:
    if isinstance(method.bounds, str):
        ends = pc.min_max(values).as_py()
        if ends["min"] is None or ends["min"] == ends["max"]:
            raise UsageError(f"column {name!r} has less than two values: no bounds can be read off it")
        lower, upper = _pair(name, (ends["min"], ends["max"]))
    else:
        assert method.bounds is not None
        lower, upper = method.bounds[name]
    given = method.value_of("sensitivity", name)
    sensitivity = upper - lower if given is None else float(given)
    epsilon = exact(method.value_of("epsilon", name))
    scale = float(exact(sensitivity) / epsilon)
    grid = _grid(sensitivity, scale)
    if not 0 < grid <= scale / 2 or not scale < LARGEST_SCALE * grid or sensitivity / grid >= MOST_STEPS:
        raise UsageError(f"epsilon of column {name!r} must lie between 1e-7 and 1e9")
    return Noise(name, epsilon, lower, upper, sensitivity, scale, grid, method.value_of("rounding", name))


# Noise


def _opendp() -> Any:
    try:
        library = import_module("opendp.prelude")
    except ImportError:
        raise UsageError(
            "Laplace noise is drawn by OpenDP, which is not installed: pip install 'anon[eval]'"
        ) from None
    library.enable_features("contrib")
    return library


def _grid(sensitivity: float, scale: float) -> float:
    """The power of two that goes 2**29 to 2**30 times into the sensitivity or the scale, the lesser one."""
    return math.ldexp(1.0, math.frexp(min(sensitivity, scale))[1] - GRID_BITS)


def measurement(library: Any, noise: Noise) -> Any:
    """OpenDP's measurement on steps of the grid, whose privacy map is at most epsilon."""
    steps = math.ceil(Fraction(noise.sensitivity) / Fraction(noise.grid))
    most = float(noise.epsilon)
    if Fraction(most) > noise.epsilon:
        most = math.nextafter(most, 0.0)
    scale = float(steps / noise.epsilon)
    space = library.vector_domain(library.atom_domain(T="i64")), library.l1_distance(T="i64")
    made = library.m.make_laplace(*space, scale=scale)
    while made.map(steps) > most:  # by rounding errors of the last bit
        scale = math.nextafter(scale, math.inf)
        made = library.m.make_laplace(*space, scale=scale)
    return made


def _steps(values: pa.Array, noise: Noise, method: Laplace) -> Floats:
    """The steps of the grid from the lower bound to each value (whole numbers); 0 where it is missing."""
    present = values.fill_null(noise.lower).to_numpy(zero_copy_only=False)
    if method.clip:
        present = np.clip(present, noise.lower, noise.upper)
    steps = np.rint((present - noise.lower) / noise.grid)
    if not (np.abs(steps) < MOST_STEPS).all():
        raise UsageError(
            f"column {noise.name!r} has values too far outside its bounds to add noise to: ",
            Parameter("leave clip as it is", "leave --no-clip out"),
            ", or widen the bounds",
        )
    return np.asarray(steps)


def _drawn(add: Any, steps: Floats, n_threads: int) -> Ints:
    """The steps with noise."""
    blocks = [steps[start : start + BLOCK].astype(np.int64) for start in range(0, len(steps), BLOCK)]
    drawn: list[Ints] = in_threads(n_threads, lambda block: np.array(add(block.tolist()), np.int64), blocks)
    return np.concatenate(drawn)


def _published(steps: Ints, missing: pa.Array, noise: Noise, method: Laplace, whole: bool) -> pa.Array:
    """The numbers that are published for these steps."""
    published = noise.lower + noise.grid * steps.astype(np.float64)
    if noise.rounding is not None:
        published = np.round(published, noise.rounding)
    if method.clamp:
        published = np.clip(published, noise.lower, noise.upper)
    mask = missing.to_numpy(zero_copy_only=False)
    if whole and noise.rounding is not None and noise.rounding <= 0 and (np.abs(published) < 2.0**62).all():
        return pa.array(np.rint(published).astype(np.int64), mask=mask)
    return pa.array(published, mask=mask)


# What is told


def _n_outside(values: pa.Array, noise: Noise) -> int:
    outside = pc.or_(pc.less(values, noise.lower), pc.greater(values, noise.upper))
    return int(pc.sum(outside).as_py() or 0)


def _told(plan: Sequence[Noise], total: Fraction, method: Laplace) -> dict[str, Any]:
    """What the metadata says: nothing that was read off the table, except bounds="data", which says so."""
    short = [noise.name for noise in plan if noise.sensitivity < noise.upper - noise.lower]
    faults = []
    if method.bounds == "data":
        faults.append("the bounds were read off the table")
    if not method.clip:
        faults.append("values outside the bounds were not clipped")
    if short:
        faults.append(f"the sensitivity given for {', '.join(short)} is less than upper - lower")
    return {
        "kind": "laplace",
        "distribution": "Laplace",
        "library": f"OpenDP {version('opendp')}",
        "reproducible": False,
        "attributes": {
            noise.name: {
                "epsilon": words(noise.epsilon),
                "bounds": [noise.lower, noise.upper],
                "bounds_from": "data" if method.bounds == "data" else "given",
                "sensitivity": noise.sensitivity,
                "scale": noise.scale,
                "clipped": method.clip,
                "clamped": method.clamp,
                "rounding": noise.rounding,
            }
            for noise in plan
        },
        "epsilon": words(total),
        "composition": "sequential: epsilons of attributes add up, and so do those of releases",
        "neighbors": "tables that differ in the values of one row",
        "guarantee": (
            f"not a differential-privacy guarantee: {'; '.join(faults)}"
            if faults
            else f"{words(total)}-differential privacy of the values of {', '.join(n.name for n in plan)}"
            " in one row; other columns, and which values are missing, are published as they are"
        ),
    } | (
        {}
        if method.budget is None
        else {"budget": {"epsilon": words(method.budget.total), "spent": words(method.budget.spent)}}
    )


def _warnings(facts: Mapping[str, Any], n_outside: Mapping[str, int], method: Laplace) -> list[str]:
    """For the owner alone: how many values lie outside the bounds is not for the release to tell."""
    warnings = [facts["guarantee"]] if facts["guarantee"].startswith("not") else []
    done = "were clipped" if method.clip else "got noise as they are"
    return warnings + [
        f"column {name!r}: {count} values lie outside the bounds and {done}"
        for name, count in n_outside.items()
        if count
    ]
