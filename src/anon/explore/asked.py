# SPDX-License-Identifier: Apache-2.0
"""What is asked for on the page, as text of its controls, and the keys of a job that say the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from anon.errors import UsageError
from anon.methods import BY_NAME, LIMITS, METHOD_OPTIONS, PERTURBATIONS
from anon.release import PUBLISHED
from anon.requirements import REQUIREMENT_OPTIONS, Option, number_of

if TYPE_CHECKING:
    from anon.requirements import Requirement
    from anon.schema import Schema
    from anon.verbs import Inspection

Form = Mapping[str, str]
"""What the controls hold, by their names: a key of a job, or a key, a dot and the number of a column."""

Keys = dict[str, Any]
"""A job as its file has it."""

OF_LISTS = {
    "quasi": "quasi-identifier",
    "household": "quasi-identifier that a household shares",
    "sensitive": "sensitive",
    "identifying": "identifying (dropped)",
    "neutral": "neutral (as it is)",
}
OF_ONE = {"unit": "person or household of a row", "sampling_weight": "sampling weight"}
ROLES = {"": "not published", **OF_LISTS, **OF_ONE}
"""What a column may be, by the key of a job, and what the page calls it."""

KINDS = {"": "as its values are", "numeric": "numbers", "nominal": "categories"}
CODED = {
    "least": "Least level that is shown",
    "top": "Top code: from here on as one",
    "bottom": "Bottom code: up to here as one",
    "ends": "Ends of intervals rounded to",
}
OF_COLUMN = {
    **CODED,
    "linked": "Goes with this quasi-identifier",
    "perturb": "Perturbed by (no quasi-identifier)",
}
METHODS = (
    *("mondrian", "curve", "full-domain", "local-suppression", "microaggregation"),
    *("kmembers", "tgc", "anatomy"),
)
"""The methods that make classes under what is required; an effort stands for Mondrian and Curve too."""

OF_METHODS = tuple(each for each in METHOD_OPTIONS if any(each in BY_NAME[name].options for name in METHODS))
MISSING = Option(
    "missing",
    Literal["category", "suppress", "error"],
    "Missing values: category (default), suppress or error.",
)
ORDER = Option("order", Literal["class", "input"], "Rows by class (default), or as in the input.")
FURTHER = (*PUBLISHED, *LIMITS, MISSING, ORDER)
MADE = frozenset(each.key for each in (*REQUIREMENT_OPTIONS, *METHOD_OPTIONS, *PUBLISHED, *LIMITS))
"""Keys that a point of a frontier sets or leaves alone, but for the method."""

PERTURBED = tuple(each.name for each in PERTURBATIONS)
FAST = "effort=fast"


class Job(Protocol):
    """A job as the command reads it: what its keys mean is said nowhere else."""

    def roles(self) -> Schema | None: ...
    def requirements(self, people: Any) -> list[Requirement]: ...
    def how(self) -> dict[str, Any]: ...
    def beside(self) -> dict[str, Any]: ...
    def options(self) -> dict[str, Any]: ...
    def sweep(self) -> dict[str, Any]: ...
    def read_options(self) -> dict[str, Any]: ...
    def write_options(self) -> dict[str, Any]: ...
    def typed(self, schema: Schema) -> set[str] | None: ...


@dataclass(frozen=True)
class Language:
    """How the command speaks, which starts the page: it reads `job`s of keys, writes them as the text of a
    file, and has `words` for an error that hold no cell.
    """

    job: Callable[[Keys], Job]
    text: Callable[[Keys], str]
    words: Callable[[BaseException], str]


def first_form(inspected: Inspection) -> dict[str, str]:
    """The guesses, and a k to begin with; what seems neutral is not published until somebody says so."""
    tried = "mondrian,curve" if inspected.n_rows <= 100_000 else "mondrian"
    form = {"k": "10", "how": FAST, "grid": f"k=2,5,10,25,50,100 method={tried}"}
    for i, column in enumerate(inspected.columns):
        guessed = column.role.removesuffix("-identifying")
        form[f"role.{i}"] = column.key or ("" if guessed == "neutral" else guessed)
    return form


def keys_of(form: Form, names: Sequence[str], trees: Mapping[int, Path]) -> Keys:
    """The job that a form asks for; `trees` are hierarchy files by the numbers of their columns.

    Settings of columns that have no use for them are left out, so that a role can be tried and taken back.
    """
    keys: Keys = {key: [] for key in OF_LISTS}
    linked: dict[str, list[str]] = {}
    perturbed: dict[str, list[str]] = {}
    for i, name in enumerate(names):
        role = form.get(f"role.{i}", "")
        if role in OF_LISTS:
            keys[role].append(name)
        elif role in OF_ONE:
            if role in keys:
                raise UsageError(f"two columns are {OF_ONE[role]}: {keys[role]!r} and {name!r}; keep one")
            keys[role] = name
        if role == "household":
            keys["quasi"].append(name)
        if role in ("quasi", "household", "sensitive"):
            _of_column(keys, form, i, name, trees)
        what, groups = ("linked", linked) if name in keys["quasi"] else ("perturb", perturbed)
        if role in OF_LISTS and (text := form.get(f"{what}.{i}", "").strip()):
            groups.setdefault(text, [text] if what == "linked" else []).append(name)
    keys |= {"linked": [*linked.values()], "perturb": [_perturbation(*each) for each in perturbed.items()]}
    key, _, value = form.get("how", FAST).partition("=")
    is_named = key == "method" and value in METHODS
    of_method = BY_NAME[value].options if is_named else ()
    for option in (*REQUIREMENT_OPTIONS, *(each for each in OF_METHODS if each in of_method), *FURTHER):
        text = form.get(option.key, "").strip()
        if text:
            keys[option.key] = option.of_text(text)
    keys["method" if is_named else "effort"] = value
    return {key: value for key, value in keys.items() if value not in ([], {})}


def _of_column(keys: Keys, form: Form, i: int, name: str, trees: Mapping[int, Path]) -> None:
    def say(key: str, value: Any) -> None:
        keys.setdefault(key, {})[name] = value

    for key in ("kind", "ordinal"):
        if text := form.get(f"{key}.{i}", "").strip():
            if key == "ordinal" and "<" not in text:  # a job would take it for a file
                raise UsageError(
                    f"column {name!r}: an order is written low<middle<high, the lowest value first"
                )
            say(key, text)
    tree = trees.get(i) or form.get(f"hierarchy.{i}", "").strip()
    if tree:
        if not isinstance(tree, Path) and tree.partition(":")[0] not in ("intervals", "prefix", "dates"):
            raise UsageError(
                f"column {name!r}: a hierarchy is written intervals:5,10 or prefix:4,3 or dates:month,year; "
                "a file is imported"
            )
        say("hierarchy", str(tree))
    for key in CODED if name in keys["quasi"] else ():
        if text := form.get(f"{key}.{i}", "").strip():
            say(key, text if (number := number_of(text)) is None else number)


def _perturbation(text: str, columns: list[str]) -> Keys:
    """What a job holds of a method and its settings, which perturbs these columns."""
    method, *settings = text.split()
    known = {each.key: each for each in BY_NAME[method].options} if method in PERTURBED else {}
    given = dict(each.partition("=")[::2] for each in settings)
    if not known or not {*given} <= {*known}:
        among = ", ".join(known or PERTURBED)
        raise UsageError(
            f"column {columns[0]!r}: a perturbation is written rank-swap p=0.05; these are {among}"
        )
    made = {"columns": columns} if "columns" in known else {}
    return {"method": method, **made, **{key: known[key].of_text(value) for key, value in given.items()}}


def form_of_point(parameters: Mapping[str, Any]) -> dict[str, str]:
    """What the controls hold once a point of a frontier is taken: all that a sweep varies, the rest empty."""
    known = {key: value for key, value in parameters.items() if key in MADE}
    others = [key for key in parameters if key not in MADE and key != "method"]
    if others:
        raise UsageError(f"this point has settings that no control has: {', '.join(others)}")
    form = {key: "" for key in MADE}
    form |= {
        key: str(value).lower() if value in (True, False) else str(value) for key, value in known.items()
    }
    method = str(parameters["method"])
    settings = {each.key for each in BY_NAME[method].options} & {*known}
    if method == "curve" and settings <= {"effort"}:
        return form | {"how": f"effort={form['effort'] or 'balanced'}"}
    return form | {"how": FAST if method == "mondrian" and not settings else f"method={method}"}


def fast(keys: Keys) -> Keys:
    """The same job by the fast method, for which a missing value is one more."""
    of_methods = {each.key for each in METHOD_OPTIONS} | {"method", "time_limit", "k_nulls"}
    return {key: value for key, value in keys.items() if key not in of_methods} | {"effort": "fast"}


def is_fast(keys: Mapping[str, Any]) -> bool:
    return keys.get("effort") == "fast"


def method_name(keys: Mapping[str, Any]) -> str:
    """What makes the release, for people."""
    effort = keys.get("effort", "balanced")
    return str(keys.get("method") or ("Mondrian" if effort == "fast" else f"Curve ({effort})"))
