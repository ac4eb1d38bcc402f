# SPDX-License-Identifier: Apache-2.0
"""The releases of Brickell & Shmatikov, section 6, and what is learned from each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from anon.datasets import ADULT_TREES
from anon.measures import Privacy
from anon.methods import Identity, Mondrian, Suppress
from anon.papers import Setting
from anon.release import Release
from anon.requirements import DeltaDisclosure, KAnonymity, LDiversity, Requirement, TCloseness
from anon.schema import Attribute, Schema, nominal, numeric, ordinal
from anon.verbs import BRICKELL_SHMATIKOV, MiningUtility, mining_utilities, mining_utility

COLUMNS = (
    *("age", "workclass", "education", "marital-status", "occupation", "race", "sex", "native-country"),
    "salary-class",
)


MARITAL, OCCUPATION, SALARY = "marital-status", "occupation", "salary-class"


QUASI_2 = ("age", "sex", "race")  # of table 2


LEARNED = ("workclass", "education", MARITAL, OCCUPATION, "native-country", SALARY)  # in table 2


TREE, FOREST, BAYES = "C4.5-like tree", "random forest", "naive Bayes"


TREES = tuple(miner for miner in BRICKELL_SHMATIKOV if miner.name == TREE)


INTACT, SUPPRESSED = "intact", "suppressed"


@dataclass(frozen=True)
class Dataset:
    """Quasi-identifiers, the sensitive attribute and the workload of section 6.2, and what is required."""

    name: str
    quasi: tuple[str, ...]
    sensitive: str
    workload: str
    diversities: tuple[int, ...]

    def requirements(self) -> dict[str, Requirement]:
        """By the names that table 3 has."""
        return {
            **{f"k = {k}": KAnonymity(k) for k in (10, 100, 1000)},
            **{f"l = {l}": LDiversity(l, "recursive", 3) for l in self.diversities},
            **{f"t = {t}": TCloseness(t, "equal") for t in (0.4, 0.3, 0.2)},
            **{f"δ = {d}": DeltaDisclosure(d) for d in (1.2, 1.0, 0.8)},
        }


# l = 3 is the greatest that the whole of Marital meets at c = 3
DATASETS = (
    Dataset("Marital", ("age", OCCUPATION, "education"), MARITAL, SALARY, (2, 3)),
    Dataset("Occupation", QUASI_2, OCCUPATION, MARITAL, (2, 5, 10, 15)),
)


@dataclass(frozen=True)
class Sanitized:
    """A release and what it tells an attacker."""

    dataset: str
    sanitization: str
    release: Release
    privacy: Privacy

    @property
    def name(self) -> str:
        """Dataset and sanitization."""
        return f"{self.dataset} {self.sanitization}"

    @property
    def a_acc(self) -> float:
        """The attacker's gain in accuracy."""
        return known(self.privacy.a_acc)

    @property
    def a_know(self) -> float:
        """The attacker's gain in knowledge."""
        return known(self.privacy.a_know)


@dataclass(frozen=True)
class Point(Sanitized):
    """What is learned from a release, too: the sensitive attribute by trees, the workload by all miners."""

    sensitive: MiningUtility
    workload: MiningUtility

    @property
    def gains(self) -> tuple[float, float]:
        """U_san - U_base of the sensitive attribute and of the workload."""
        return known(self.sensitive.gain), known(self.workload.gain)


def schema_of(data: Dataset, by_years: Sequence[str], flat: Sequence[str] = ()) -> Schema:
    """Quasi-identifiers as table 1 has them, but those named in `flat` without a hierarchy."""
    quasi = [nominal(name) if name in flat else attribute_of(name, by_years) for name in data.quasi]
    return Schema(quasi, [data.sensitive], neutral="rest")


TREES_OF_ONE_LEVEL = {
    "race": {"*": ["White", "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other", "Black"]},
    "sex": {"*": ["Female", "Male"]},
}


def attribute_of(name: str, by_years: Sequence[str]) -> Attribute:
    """Table 1: age and education are continuous, the others have a hierarchy."""
    match name:
        case "age":
            return numeric(name)
        case "education":
            return ordinal(name, by_years)
        case _:
            return nominal(name, ADULT_TREES.get(name, TREES_OF_ONE_LEVEL.get(name)))


def points_of(setting: Setting, table: pa.Table, data: Dataset, by_years: Sequence[str]) -> list[Point]:
    schema = schema_of(data, by_years)
    releases = {
        INTACT: setting.anonymize(table, schema, method=Identity()),
        **releases_of(setting, table, data, schema, workload_aware(data)),
        SUPPRESSED: setting.anonymize(table, schema, method=Suppress("quasi")),
    }

    def mined(target: str, **how: Any) -> tuple[MiningUtility, ...]:
        return mining_utilities(
            list(releases.values()),
            target,
            n_folds=n_folds(setting),
            n_threads=setting.n_threads,
            progress=lambda stage, done, total: setting.tell(f"{target}: {stage}", done, total),
            **how,
        )

    both = zip(mined(data.sensitive, miners=TREES), mined(data.workload), strict=True)
    return [
        Point(data.name, name, release, release.privacy(), *utilities)
        for (name, release), utilities in zip(releases.items(), both, strict=True)
    ]


def releases_of(
    setting: Setting, table: pa.Table, data: Dataset, schema: Schema, method: Mondrian
) -> dict[str, Release]:
    """One for each requirement; a single class where it cannot be met."""
    return {
        name: setting.anonymize(table, schema, one, method=method, on_infeasible="trivial")
        for name, one in data.requirements().items()
    }


def workload_aware(data: Dataset) -> Mondrian:
    """Section 6.1: cuts that tell most about what the researcher learns."""
    return Mondrian("information-gain", cuts="medians", target=data.workload)


def other_readings(
    setting: Setting, table: pa.Table, data: Dataset, by_years: Sequence[str]
) -> dict[str, list[Sanitized]]:
    """The releases of a dataset as the paper can be read, too; the intact table is the first."""
    schema, flat, method = (
        schema_of(data, by_years),
        schema_of(data, by_years, ("race", "sex")),
        workload_aware(data),
    )
    ways = {
        "race and sex without a hierarchy": (flat, method),
        "the first median that is allowed": (schema, replace(method, cuts="median")),
    }
    return {
        reading: [
            Sanitized(data.name, name, release, release.privacy(n_threads=setting.n_threads))
            for name, release in {
                INTACT: setting.anonymize(table, schema, method=Identity()),
                **releases_of(setting, table, data, schema, method),
            }.items()
        ]
        for reading, (schema, method) in ways.items()
    }


def n_folds(setting: Setting) -> int:
    return 3 if setting.quick else 10


def accuracy_of_trees(setting: Setting, table: pa.Table) -> dict[str, dict[str, float]]:
    """Accuracy of trees in percent, by what is learned."""
    release = setting.anonymize(table, Schema(list(QUASI_2), neutral="rest"), method=Suppress("quasi"))
    learned = {}
    for done, target in enumerate(LEARNED):
        setting.tell("table 2", done, len(LEARNED))
        utility = mining_utility(
            release, target, miners=TREES, n_folds=n_folds(setting), n_threads=setting.n_threads
        )
        learned[target] = {INTACT: percent(utility.u_max), SUPPRESSED: percent(utility.u_san)}
    return learned


def known(value: float | None) -> float:
    assert value is not None
    return value


def percent(value: float | None) -> float:
    return 100 * known(value)


def is_proper(point: Point) -> bool:
    """Whether it is neither intact nor trivial."""
    return point.sanitization not in (INTACT, SUPPRESSED) and point.release.classes.n_classes > 1
