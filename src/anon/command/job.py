# SPDX-License-Identifier: Apache-2.0
"""A job: everything the command's flags can say, from flags, from a TOML file, or from both."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, ValidationError, create_model

from anon.command.options import (
    ATTACK,
    CHOOSE,
    CODING,
    CSV_GUARD,
    GRID,
    KEYS,
    METHODS,
    MISSING,
    PUBLISHING,
    READING,
    REQUIREMENTS,
    RUNNING,
    SWEEPING,
    Flag,
)
from anon.errors import NAME_QUASI, UsageError, did_you_mean
from anon.methods import BY_NAME, PERTURBATIONS, Method, Mondrian, read_method
from anon.requirements import REQUIREMENTS as REQUIREMENT_CLASSES
from anon.requirements import Requirement, flag, in_toml, merged, read_requirements
from anon.tables import check_no_password

if TYPE_CHECKING:
    from anon.schema import Attribute, Schema

MOST_LEVELS = 200  # of a hierarchy in a job file
MOST_PARTS = 1000  # of a key: `a.b.c` has three
MOST_FAULTS = 20  # told of a job file at once
BEYOND = 2**63  # TOML's integers have 64 bits


class _Job(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


if TYPE_CHECKING:

    class _Keys(_Job):
        def __getattr__(self, key: str) -> Any: ...
else:
    _Keys = create_model(
        "_Keys",
        __base__=_Job,
        **{
            each.key: (each.kind if each.absent is not None else each.kind | None, each.absent)
            for each in KEYS
        },
    )


_OF_PERTURBATIONS = merged(each.options for each in PERTURBATIONS)

if TYPE_CHECKING:

    class Perturbation(_Job):
        method: str
else:
    Perturbation = create_model(
        "Perturbation",
        __base__=_Job,
        method=(Literal[tuple(each.name for each in PERTURBATIONS)], ...),
        **{each.key: (each.kind | None, None) for each in _OF_PERTURBATIONS},
    )


class Job(_Keys):
    """What to read, which roles its columns have, what to require, how, and where to write.

    Its keys are `KEYS`, and `perturb`, which no flag says. `output`, `report` and `report_public` are those
    of `anon anonymize`; the pages of other commands have flags alone, so that a check takes no page's place.
    What is not given is left to the engine's defaults.
    """

    perturb: list[Perturbation] = Field(default=[])
    _query: str | None = PrivateAttr(None)  # no key: who writes a job file does not ask a database at will

    def given(self, flags: Iterable[Flag]) -> dict[str, Any]:
        """What is given of these keys, as keyword arguments of the engine."""
        values = {each.parameter: getattr(self, each.key) for each in flags}
        return {name: value for name, value in values.items() if value is not None}

    def read_options(self) -> dict[str, Any]:
        """Keyword arguments of `anon.read_source`."""
        return self.given(READING) | ({} if self._query is None else {"query": self._query})

    def asking(self, query: str | None) -> Job:
        """The job with a query of its input, in place of its table."""
        asking = self.model_copy(update={} if query is None else {"table": None})
        asking._query = query
        return asking

    def typed(self, schema: Schema) -> set[str] | None:
        """The columns whose values count, where the others go from CSV to CSV as they stand; None: all."""
        method = self.configured_method()
        if self.perturb or (method is not None and method.perturbs) or not str(self.output).endswith(".csv"):
            return None
        return named_by(schema)

    def files(self) -> list[str]:
        """The files of hierarchies and orders."""
        hierarchies = [text for text in self.hierarchy.values() if isinstance(text, str) and _is_file(text)]
        orders = [text for text in self.ordinal.values() if isinstance(text, str) and "<" not in text]
        return hierarchies + orders

    def roles(self) -> Schema | None:
        """The schema, or None where no column is given a role."""
        from anon.schema import Schema

        further = [name for group in self.linked for name in group[1:] if name not in self.quasi]
        named = {*self.quasi, *further, *self.sensitive}
        for key in ("kind", "hierarchy", "ordinal", "weight", *(each.key for each in CODING)):
            for name in getattr(self, key):
                if name not in named:
                    raise UsageError(
                        f"{key} is given for column {name!r}, which is neither quasi nor sensitive; "
                        "name it in one of the two"
                    )
        if not (named or self.identifying):
            for key in ("unit", "household", "sampling_weight"):
                if getattr(self, key):
                    raise UsageError(
                        f"the table is measured by {key} only where its roles are given: ", NAME_QUASI
                    )
            return None
        return Schema(
            [self._attribute(name) for name in (*self.quasi, *further)],
            [self._attribute(name) for name in self.sensitive],
            self.identifying,
            self.neutral,
            self.linked,
            unit=self.unit,
            household=self.household,
            sampling_weight=self.sampling_weight,
        )

    def _attribute(self, name: str) -> Attribute:
        from anon.schema import Attribute

        kind = self.kind.get(name)
        order = _order(name, self.ordinal[name]) if name in self.ordinal else None
        if order is not None and kind not in (None, "ordinal"):
            raise UsageError(f"column {name!r}: an order is given, but its kind is {kind}")
        hierarchy = _hierarchy(name, self.hierarchy[name]) if name in self.hierarchy else None
        coding = {each.key: getattr(self, each.key).get(name) for each in CODING}
        weight = self.weight.get(name, 1.0)
        return Attribute(name, "ordinal" if order else kind, hierarchy, order, weight, **coding)

    @property
    def asked(self) -> dict[str, Any]:
        """What is given of requirements and methods, by key."""
        return {each.key: getattr(self, each.key) for each in (*REQUIREMENTS, *METHODS)}

    @property
    def is_requiring(self) -> bool:
        """Whether it asks for some requirement."""
        return any(getattr(self, each.options[0].key) is not None for each in REQUIREMENT_CLASSES)

    def requirements(self, people: Any = None) -> list[Requirement]:
        """The requirements asked for, in the order of `REQUIREMENTS`; `people` are the population's table."""
        return read_requirements(self.asked | {"population": people})

    def demands(self, people: Any = None) -> list[Requirement]:
        """What the release was made to hold: of local suppression also what its subsets ask for."""
        require, method = self.requirements(people), self.configured_method()
        if method is None or not method.places_nulls:
            return require
        matching = [each for each in require if each.by_matching]
        return [*method.demands(matching), *(each for each in require if not each.by_matching)]

    def configured_method(self) -> Method | None:
        """The method with its settings; None where none is given, and no more than an effort."""
        if all(getattr(self, each.key) is None for each in METHODS if each.key != "effort"):
            return None
        return read_method(self.method or Mondrian.name, self.asked)

    def how(self) -> dict[str, Any]:
        """The method or the effort, where one is given: keyword arguments of `anon.anonymize`."""
        method = self.configured_method()
        if method is not None:
            return {"method": method}
        return {} if self.effort is None else {"effort": self.effort}

    def beside(self) -> dict[str, Any]:
        """The perturbations of `[[perturb]]`, where there are any: a keyword argument of `anon.anonymize`."""
        made = []
        for at, each in enumerate(self.perturb):
            values, method = each.model_dump(exclude={"method"}, exclude_none=True), BY_NAME[each.method]
            keys = [option.key for option in method.options]
            for key in (key for key in values if key not in keys):
                raise UsageError(f"perturb.{at}: {key} is no key of method = {each.method!r}")
            for key in (key for key in method.needs if key not in values):
                raise UsageError(f"perturb.{at}: method = {each.method!r} needs the key {key}")
            made.append(read_method(each.method, values))
        return {"perturb": made} if made else {}

    def write_options(self) -> dict[str, Any]:
        """Keyword arguments of `Release.write`."""
        table = {} if self.release_table is None else {"table": self.release_table}
        return self.given([CSV_GUARD]) | table

    def sweep(self) -> dict[str, Any]:
        """Keyword arguments of `anon.frontier`."""
        from anon.choice import grid
        from anon.methods import LIMITS
        from anon.release import PUBLISHED

        if not self.grid:
            raise UsageError("there is nothing to try: give a grid, such as --grid 'k=10,50,100'")
        if self.perturb:
            raise UsageError(
                "perturb is for `anon anonymize`: a sweep measures classes, which it does not change; leave "
                "it out of the job file of a sweep"
            )
        base = (
            self.asked
            | {"population": self.population}
            | {each.key: getattr(self, each.key) for each in (*PUBLISHED, *LIMITS)}
        )
        configurations = [one for text in self.grid for one in grid(text, base)]
        of_points = [GRID.key, CHOOSE.key, *(each.key for each in LIMITS)]
        further = [each for each in (*SWEEPING, MISSING, *RUNNING) if each.key not in of_points]
        return {"configurations": configurations, **self.given(further)}

    def bound(self) -> dict[str, float] | None:
        """Keyword argument of `Frontier.choose`: `max_prosecutor_mean=0.05`."""
        from anon.choice import PRIVACY_AXIS, UTILITY_AXIS, bounds, check_measures

        if self.choose is None:
            return None
        axes = self.privacy or PRIVACY_AXIS, self.utility or UTILITY_AXIS
        check_measures(axes)
        name, _, limit = self.choose.partition("=")
        try:
            if name in bounds(*axes):
                return {name: float(limit)}
        except ValueError:
            pass
        raise UsageError(f"--choose takes a bound on an axis, such as {next(iter(bounds(*axes)))}=0.05")

    def options(self) -> dict[str, Any]:
        """The other keyword arguments of `anon.anonymize`."""
        given = self.given(each for each in (*PUBLISHING, *RUNNING) if each not in (CSV_GUARD, ATTACK))
        return {"control": 0.2, **given} if self.attack else given


def named_by(schema: Schema) -> set[str]:
    """The columns of a schema whose values count: all that it names but neutral ones."""
    named = {each.name for each in (*schema.quasi, *schema.sensitive)} | {*schema.identifying}
    return named | {name for name in (schema.unit, schema.sampling_weight) if name is not None}


def load_job(path: str | None, flags: Mapping[str, Any], model: type[Job] = Job) -> Job:
    """The job of this model in a TOML file (None: empty), with the given flags in place of its keys.

    Nothing in the file is evaluated. Relative paths in it start at the file's own folder; `hdfs://..` and
    other URIs are left as they are.
    """
    given = {**(_read_toml(path) if path is not None else {}), **flags}
    for each in KEYS:
        if each.is_path and isinstance(given.get(each.key), str):
            check_no_password(given[each.key])
    try:
        return model.model_validate(given)
    except ValidationError as error:
        raise UsageError(_words(error, path, flags, model, given)) from None


_TOML_TOKEN = re.compile(
    r"""[#][^\n]*"""  # a comment
    r"""|\"{3}(?:\\.|[^\\])*?(?:\"{3,5}|\Z)|'{3}.*?(?:'{3,5}|\Z)"""  # strings of several lines
    r"""|(?P<part>"(?:\\.|[^"\\\n])*(?:"|(?=\n)|\Z)|'[^'\n]*'|[A-Za-z0-9_-]+)"""  # of a key, or a value
    r"""|(?P<dot>[.])|(?P<blank>[ \t]+)|.""",
    re.DOTALL,
)
_LONG_INTEGER = re.compile(r"[0-9][0-9_]{999,}")


def _parsed(path: str, text: str) -> dict[str, Any]:
    """A TOML text as tables; UsageError before the work where it would take for ever, or holds no number."""
    if text.count(".") >= MOST_PARTS and (line := _long_key(text)) is not None:
        raise UsageError(f"{path}, line {line}: a key has more than {MOST_PARTS} parts; shorten it")
    try:
        job, is_whole = tomllib.loads(text), True
    except tomllib.TOMLDecodeError:
        raise
    except ValueError:  # Python turns no text of so many digits into a number
        job, is_whole = tomllib.loads(_LONG_INTEGER.sub(str(2 * BEYOND), text)), False
    key = _long_integer(job)
    if key is not None or not is_whole:
        raise UsageError(f"{path}: {key or 'a key'}: the integer has more than 64 bits; give a smaller one")
    return job


def _long_key(text: str) -> int | None:
    """The line of the first key, outside of strings and comments, of more than `MOST_PARTS` parts."""
    n_dots = 0
    after_dot = True
    for token in _TOML_TOKEN.finditer(text):
        kind = token.lastgroup
        if kind == "dot":
            n_dots += 1
        elif kind == "part":
            n_dots = n_dots if after_dot else 0
        elif kind != "blank":
            n_dots = 0
        after_dot = kind == "dot" or (after_dot and kind == "blank")
        if n_dots >= MOST_PARTS:
            return text.count("\n", 0, token.start()) + 1
    return None


def _long_integer(job: dict[str, Any]) -> str | None:
    """The key of an integer that TOML has no room for, with those above it."""
    level: list[tuple[tuple[str, ...], Any]] = [((), job)]
    while level:
        below: list[tuple[tuple[str, ...], Any]] = []
        for keys, value in level:
            if isinstance(value, dict):
                below += [((*keys, key), each) for key, each in value.items()]
            elif isinstance(value, list):
                below += [((*keys, str(i)), each) for i, each in enumerate(value)]
            elif isinstance(value, int) and not -BEYOND <= value < BEYOND:
                return ".".join(keys)
        level = below
    return None


def _read_toml(path: str) -> dict[str, Any]:
    try:
        job = _parsed(path, Path(path).read_bytes().decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is not a TOML file: {error}") from None
    except RecursionError:
        raise UsageError(f"{path} is nested too deeply for a job file") from None
    folder = Path(path).parent

    def rebased(text: Any, is_path: Callable[[str], bool]) -> Any:
        is_relative = isinstance(text, str) and text and "://" not in text and is_path(text)
        return str(folder / text) if is_relative else text

    for key in (each.key for each in KEYS if each.is_path):
        if key in job:
            job[key] = rebased(job[key], lambda text: True)
    for key, is_path in (("hierarchy", _is_file), ("ordinal", lambda text: "<" not in text)):
        if isinstance(job.get(key), dict):
            job[key] = {name: rebased(text, is_path) for name, text in job[key].items()}
    for each in job.get("sanitization", []) if isinstance(job.get("sanitization"), list) else []:
        if isinstance(each, dict) and "table" in each:
            each["table"] = rebased(each["table"], lambda text: True)
    return job


def _words(
    error: ValidationError,
    path: str | None,
    flags: Mapping[str, Any],
    model: type[Job],
    given: Mapping[str, Any],
) -> str:
    """Every fault with the path of its key, in TOML's words, without the value that was given."""
    faults: dict[str, str] = {}
    for fault in error.errors(include_input=False, include_url=False):
        key = str(fault["loc"][0])
        place = fault["loc"] if fault["type"] == "missing" else _keys(fault["loc"], given)
        where = flag(key) if key in flags else f"{path}: {'.'.join(map(str, place))}"
        if fault["type"] == "extra_forbidden":
            *above, wrong = fault["loc"]
            known = _inside(model, above).model_fields
            hint = did_you_mean(str(wrong), known) if len(faults) < MOST_FAULTS else ""
            listed = "" if above else f"the keys are {', '.join(known)}"
            faults[where] = f"no such key; {hint}{listed}".rstrip("; ")
            continue
        message = in_toml(fault["msg"])
        if where in faults:  # of a value that may have several types, each type has a fault
            message = f"{faults[where]} or {message.removeprefix('input should be ')}"
        faults[where] = message
    above_others = {where[: dot.start()] for where in faults for dot in re.finditer("[.]", where)}
    deepest = [one for one in faults if one not in above_others]
    more = f"; and {len(deepest) - MOST_FAULTS} more" if len(deepest) > MOST_FAULTS else ""
    return "; ".join(f"{where}: {faults[where]}" for where in deepest[:MOST_FAULTS]) + more


def _keys(location: Sequence[int | str], given: Any) -> list[str]:
    """The keys of a place in what was given, without the names of types that stand between or after them."""
    keys = []
    for key in location:
        with suppress(LookupError, TypeError):
            given = given[key]
            keys.append(str(key))
    return keys


def _inside(model: type[BaseModel], above: Sequence[int | str]) -> type[BaseModel]:
    """The model of a table in a list of tables, such as `[[sanitization]]`; the model itself at the top."""
    inner: type[BaseModel] = get_args(model.model_fields[str(above[0])].annotation)[0] if above else model
    return inner


def _hierarchy(name: str, written: str | dict[str, Any]) -> Any:
    """`intervals:5,10`, `prefix:4,3`, `dates:month,year`, a CSV file's path, or a table of a job file."""
    from anon.schema import dates, hierarchy_from_dict, intervals, prefix

    if isinstance(written, dict) and _is_deeper(written, MOST_LEVELS):
        raise UsageError(f"the hierarchy of column {name!r} has more than {MOST_LEVELS} levels")
    if isinstance(written, dict) or _is_file(written):
        return hierarchy_from_dict(written, name)
    form, _, rest = written.partition(":")
    items = [item.strip() for item in rest.split(",")]
    if form == "dates":
        return dates(*items)
    try:
        numbers: list[Any] = [_number(float(item)) for item in items]
    except ValueError:
        raise UsageError(
            f"the hierarchy of column {name!r}: {form} takes numbers, as in {form}:4,2"
        ) from None
    return intervals(*numbers) if form == "intervals" else prefix(*numbers)


def _is_deeper(tree: Any, levels: int) -> bool:
    level = [tree]
    for _ in range(levels):
        level = [below for each in level if isinstance(each, dict) for below in each.values()]
    return bool(level)


def _is_file(text: str) -> bool:
    return text.partition(":")[0] not in ("intervals", "prefix", "dates")


def _order(name: str, text: str | list[Any]) -> tuple[Any, ...]:
    """`low<middle<high`, a list, or a file with one value per line, lowest first."""
    if isinstance(text, list):
        return tuple(text)
    if "<" in text:
        return tuple(value.strip() for value in text.split("<"))
    path = Path(text)
    if path.is_file():  # a device might never end
        with suppress(OSError, UnicodeDecodeError):
            return tuple(line for line in path.read_text(encoding="utf-8-sig").splitlines() if line)
    raise UsageError(
        f"the order of column {name!r} must be values with < between them, lowest first, "
        "or a UTF-8 file with one value per line"
    )


def _number(value: float) -> int | float:
    return int(value) if float(value).is_integer() else value
