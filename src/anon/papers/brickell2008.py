# SPDX-License-Identifier: Apache-2.0
"""Brickell & Shmatikov, "The Cost of Privacy: Destruction of Data-Mining Utility", KDD 2008."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anon.classes import sensitive_counts
from anon.datasets import ADULT_TREES
from anon.html import HEIGHT, Figure, Section, Table
from anon.measures import Privacy
from anon.methods import Identity, Mondrian, Suppress
from anon.papers import Results, Row, Setting, Tested, table_of
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

EQUAL = 0.005  # accuracies that are "equivalent", "just as well" or "≈" differ by half a point at most
LARGE = 0.05  # a "large" breach or a "significant" drop is at least five points
MUCH = 2  # "much more" is at least twice
BARELY = (
    0.8  # what "barely changes" keeps at least four fifths; what is "substantially" limited less than ...
)
LIMITED = 0.6  # ... three fifths


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
class Point:
    """A release and what is learned from it: the sensitive attribute by trees, the workload by all miners."""

    dataset: str
    sanitization: str
    release: Release
    privacy: Privacy
    sensitive: MiningUtility
    workload: MiningUtility

    @property
    def name(self) -> str:
        """Dataset and sanitization."""
        return f"{self.dataset} {self.sanitization}"

    @property
    def a_acc(self) -> float:
        """The attacker's gain in accuracy."""
        return _known(self.privacy.a_acc)

    @property
    def a_know(self) -> float:
        """The attacker's gain in knowledge."""
        return _known(self.privacy.a_know)

    @property
    def gains(self) -> tuple[float, float]:
        """U_san - U_base of the sensitive attribute and of the workload."""
        return _known(self.sensitive.gain), _known(self.workload.gain)


def run(setting: Setting) -> Results:
    """Tables 1 to 3, figures 1 to 4 and the artificial table of section 7."""
    adults = setting.adult_table()
    by_years = pc.unique(adults.sort_by("education-num")["education"]).to_pylist()
    complete = adults.select(COLUMNS)
    table = setting.sample(complete, 2000)
    points = {data.name: _points(setting, table, data, by_years) for data in DATASETS}
    whole = {
        (data.name, method): setting.anonymize(complete, _schema(data, by_years), method=method).privacy()
        for data in DATASETS
        for method in (Identity(), Suppress("quasi"))
    }
    learned = _table_2(setting, table)
    figures = {
        "rows": complete.num_rows,
        **{f"values of {name}": len(pc.unique(complete[name])) for name in COLUMNS},
        **{f"{name}, {way}": value for name, row in learned.items() for way, value in row.items()},
        **{f"{data.name}, adversary": _percent(_most(complete, data.sensitive)) for data in DATASETS},
        **_baselines(points),
        **_of_table_3(points["Occupation"], whole),
    }
    own = {name: [p for p in each if _own(p)] for name, each in points.items()}
    everything = [point for each in own.values() for point in each]
    findings = {
        **_about_definitions(setting, points, complete, by_years),
        **_about_abstract(points, everything),
        **_about_table_2(learned),
        **_about_figures(points, own),
        **_about_table_3(points["Occupation"], whole["Occupation", Identity()], complete.num_rows),
        **_about_section_7(_coins()),
    }
    return Results(figures, findings, _sections(setting, table, by_years, learned, points))


def _schema(data: Dataset, by_years: Sequence[str]) -> Schema:
    return Schema([_attribute(name, by_years) for name in data.quasi], [data.sensitive], neutral="rest")


def _attribute(name: str, by_years: Sequence[str]) -> Attribute:
    """Table 1: age and education are continuous, the others have a hierarchy."""
    match name:
        case "age":
            return numeric(name)
        case "education":
            return ordinal(name, by_years)
        case _:
            return nominal(name, ADULT_TREES.get(name))


def _points(setting: Setting, table: pa.Table, data: Dataset, by_years: Sequence[str]) -> list[Point]:
    schema = _schema(data, by_years)
    method = _workload_aware(data)
    releases = {
        INTACT: setting.anonymize(table, schema, method=Identity()),
        **{
            name: setting.anonymize(table, schema, one, method=method, on_infeasible="trivial")
            for name, one in data.requirements().items()
        },
        SUPPRESSED: setting.anonymize(table, schema, method=Suppress("quasi")),
    }

    def mined(target: str, **how: Any) -> tuple[MiningUtility, ...]:
        return mining_utilities(
            list(releases.values()),
            target,
            n_folds=_folds(setting),
            n_threads=setting.n_threads,
            progress=lambda stage, done, total: setting.tell(f"{target}: {stage}", done, total),
            **how,
        )

    both = zip(mined(data.sensitive, miners=TREES), mined(data.workload), strict=True)
    return [
        Point(data.name, name, release, release.privacy(), *utilities)
        for (name, release), utilities in zip(releases.items(), both, strict=True)
    ]


def _workload_aware(data: Dataset) -> Mondrian:
    """Section 6.1: cuts that tell most about what the researcher learns."""
    return Mondrian("information-gain", cuts="median", target=data.workload)


def _folds(setting: Setting) -> int:
    return 3 if setting.quick else 10


def _table_2(setting: Setting, table: pa.Table) -> dict[str, dict[str, float]]:
    """Accuracy of trees in percent, by what is learned."""
    release = setting.anonymize(table, Schema(list(QUASI_2), neutral="rest"), method=Suppress("quasi"))
    learned = {}
    for done, target in enumerate(LEARNED):
        setting.tell("table 2", done, len(LEARNED))
        found = mining_utility(
            release, target, miners=TREES, n_folds=_folds(setting), n_threads=setting.n_threads
        )
        learned[target] = {INTACT: _percent(found.u_max), SUPPRESSED: _percent(found.u_san)}
    return learned


# Figures


def _known(value: float | None) -> float:
    assert value is not None
    return value


def _percent(value: float | None) -> float:
    return 100 * _known(value)


def _own(point: Point) -> bool:
    """Whether it is neither intact nor trivial."""
    return point.sanitization not in (INTACT, SUPPRESSED) and point.release.classes.n_classes > 1


def _most(table: pa.Table, name: str) -> float:
    """The share of the most frequent value."""
    return float(pc.max(pc.value_counts(table[name]).field("counts")).as_py() / table.num_rows)


def _baselines(points: Mapping[str, Sequence[Point]]) -> dict[str, float]:
    """Accuracies in the text of section 6.3 and below figures 1 to 4, in percent."""
    marital, occupation = points["Marital"][0], points["Occupation"][0]
    without = {name: one.by_base["sensitive"] for name, one in marital.workload.by_miner.items()}
    return {
        "Marital, researcher": _percent(marital.sensitive.u_base),
        "Marital, J48": _percent(without[TREE]),
        "Marital, random forests": _percent(without[FOREST]),
        "Marital, naive Bayes": _percent(without[BAYES]),
        "Marital, U_base": _percent(marital.workload.u_base),
        "Occupation, researcher": _percent(occupation.sensitive.u_base),
        "Occupation, U_max": _percent(occupation.workload.u_max),
        "Occupation, U_base": _percent(occupation.workload.u_base),
    }


def _of_table_3(points: Sequence[Point], whole: Mapping[Any, Privacy]) -> dict[str, float]:
    measured = {point.sanitization: point.privacy for point in points}
    measured[INTACT] = whole["Occupation", Identity()]
    measured[SUPPRESSED] = whole["Occupation", Suppress("quasi")]
    return {
        f"{name}, {called}": _known(value)
        for name, privacy in measured.items()
        for called, value in (("A_acc", privacy.a_acc), ("A_know", privacy.a_know))
    }


# Findings


def _every(points: Iterable[Point], agrees: Callable[[Point], bool]) -> Tested:
    """Whether all agree, and those that do not."""
    points = list(points)
    against = [point.name for point in points if not agrees(point)]
    return not against, {
        "releases": len(points),
        "agree": len(points) - len(against),
        "exceptions": against or "none",
    }


def _about_definitions(
    setting: Setting, points: Mapping[str, Sequence[Point]], complete: pa.Table, by_years: Sequence[str]
) -> dict[str, Tested]:
    everything = [point for each in points.values() for point in each]
    private, diverse, of_size_k = (
        [point for point in everything if point.sanitization.startswith(start) and _own(point)]
        for start in ("δ", "l", "k")
    )
    intact = {name: each[0].a_know for name, each in points.items()}
    bound = {point.name: float(point.sanitization.split()[-1]) for point in private}
    syntactic = [point for point in everything if _own(point) and point not in private]
    finite = [
        point.name for point in syntactic if point.privacy.delta is None or math.isfinite(point.privacy.delta)
    ]
    infinite = [point.name for point in private if not math.isfinite(_known(point.privacy.delta))]
    looser = {point.name: _merged_delta(point.release) for point in private}
    _, occupation = DATASETS
    flat = {"*": pc.unique(complete[OCCUPATION]).to_pylist()}
    on_a_tree = setting.anonymize(
        complete,
        Schema([_attribute(name, by_years) for name in occupation.quasi], [nominal(OCCUPATION, flat)]),
        KAnonymity(100),
    ).privacy()
    vanishing = {
        x: {
            "t-closeness": _a_know(setting, complete, occupation, by_years, TCloseness(x, "equal")),
            "δ-disclosure": _a_know(setting, complete, occupation, by_years, DeltaDisclosure(x)),
        }
        for x in (0.2, 0.1, 0.05, 0.02, 0.01)
    }
    others = Dataset(
        "", tuple(name for name in COLUMNS if name != OCCUPATION), OCCUPATION, MARITAL, ()
    )  # every non-sensitive attribute
    sizes = {
        name: {
            "A_know, intact": _known(
                setting.anonymize(complete, _schema(data, by_years), method=Identity()).privacy().a_know
            ),
            "loss of cells (GCP) at k = 100": setting.anonymize(
                complete, _schema(data, by_years), KAnonymity(100)
            )
            .utility()
            .gcp,
        }
        for name, data in (("age, sex, race", occupation), ("all others", others))
    }
    small, large = sizes.values()
    return {
        "lemma-1": (
            all(_known(point.privacy.gain) < bound[point.name] for point in private),
            {f"Gain, {point.name}": _known(point.privacy.gain) for point in private},
        ),
        "k-discloses": (
            max(_known(point.privacy.alpha) for point in of_size_k) >= 0.9,
            {f"greatest share, {point.name}": point.privacy.alpha for point in of_size_k},
        ),
        "diversity-reveals": (
            all(_known(point.privacy.alpha) < 1 for point in diverse)
            and any(point.a_know >= intact[point.dataset] / 2 for point in diverse),
            {
                point.name: {
                    "greatest share": point.privacy.alpha,
                    "share of A_know left": point.a_know / intact[point.dataset],
                }
                for point in diverse
            },
        ),
        "diversity-unrelated": _diverse_and_private(setting),
        "emd": (
            math.isclose(_known(on_a_tree.t_hierarchical), _known(on_a_tree.t_equal)),
            {"earth mover's": on_a_tree.t_hierarchical, "A_diff": on_a_tree.t_equal},
        ),
        "independence": (
            max(vanishing[0.01].values()) <= 0.01,
            {f"A_know at t = δ = {x}": row for x, row in vanishing.items()},
        ),
        "domains": _binary(setting),
        "quotient-finite": (
            not finite and not infinite,
            {"finite without δ": finite or "none", "infinite with δ": infinite or "none"},
        ),
        "acc-underestimates": _every(everything, lambda p: p.a_acc <= p.a_know + 1e-12),
        "monotone": (
            all(looser[point.name] <= _known(point.privacy.delta) + 1e-12 for point in private),
            {
                point.name: {"δ measured": point.privacy.delta, "two classes merged": looser[point.name]}
                for point in private
            },
        ),
        "large-quasi": (all(large[name] > small[name] for name in small), sizes),
    }


def _a_know(
    setting: Setting, table: pa.Table, data: Dataset, by_years: Sequence[str], requirement: Requirement
) -> float:
    release = setting.anonymize(table, _schema(data, by_years), requirement, method=_workload_aware(data))
    return _known(release.privacy().a_know)


def _merged_delta(release: Release) -> float:
    """The greatest |ln(p/q)| of a class made of two; 0 for one class."""
    (domain,), (codes,) = release.encoded.sensitive, release.encoded.sensitive_codes
    counts = sensitive_counts(release.classes, codes, domain.n_codes)
    matrix = np.zeros((release.classes.n_classes, domain.n_codes))
    of_class = np.repeat(np.arange(len(matrix)), np.diff(counts.offsets))
    matrix[of_class, counts.values] = counts.counts
    matrix = matrix[:, counts.table > 0]
    share = matrix.sum(axis=0) / matrix.sum()
    pairs = [matrix[i] + matrix[j] for i, j in combinations(range(len(matrix)), 2)]
    return max((float(abs(np.log(pair / pair.sum() / share)).max()) for pair in pairs), default=0.0)


def _diverse_and_private(setting: Setting) -> Tested:
    """1 % have a rare disease: 30 % of class a, which is diverse, and 1 % of class b, which is not."""
    table = pa.table(
        {
            "class": ["a"] * 30 + ["b"] * 100 + ["c"] * 870,
            "disease": ["rare"] * 9 + ["none"] * 21 + ["rare"] + ["none"] * 969,
        }
    )
    release = setting.anonymize(table, Schema(["class"], ["disease"]), method=Identity())
    per_class = release.privacy(per_class=True).per_class
    assert per_class is not None
    diverse, shift = (per_class[f"disease.{name}"].to_pylist() for name in ("l_recursive", "t_equal"))
    return (
        diverse[0] >= 2 and shift[0] > 0.25 and diverse[1] < 2 and shift[1] == 0,
        {
            name: {"l at c = 3": diverse[i], "A_diff": shift[i]}
            for i, name in enumerate(("30 % rare", "1 % rare"))
        },
    )


def _binary(setting: Setting) -> Tested:
    table = pa.table({"q": range(1000), "s": [0, 1] * 500})
    release = setting.anonymize(table, Schema(["q"], ["s"]), method=Suppress("quasi"))
    found = release.privacy()
    return (found.l_distinct, found.k) == (2, 1000), {"most diverse": found.l_distinct, "greatest k": found.k}


def _about_abstract(points: Mapping[str, Sequence[Point]], everything: Sequence[Point]) -> dict[str, Tested]:
    def modest(point: Point) -> bool:
        return point.a_acc <= 0.75 * points[point.dataset][0].a_acc

    def destroyed(point: Point) -> bool:
        found = point.workload
        return point.gains[1] <= 0.1 * (_known(found.u_max) - _known(found.u_base))

    equivalent = [point for point in everything if point.gains[1] <= EQUAL and point.a_know > 0]
    return {
        "destruction": _every(filter(modest, everything), destroyed),
        "most-cases": (
            2 * len(equivalent) > len(everything),
            {"equivalent utility, less privacy": len(equivalent), "releases": len(everything)},
        ),
        "trivial-as-good": _every(everything, lambda p: max(p.gains) <= EQUAL),
        "breach-or-little": _every(everything, lambda p: p.a_acc >= LARGE or max(p.gains) <= 0.01),
        "conclusion": _every(
            everything, lambda p: all(gain <= EQUAL or p.a_acc >= MUCH * gain for gain in p.gains)
        ),
    }


def _about_table_2(learned: Mapping[str, Mapping[str, float]]) -> dict[str, Tested]:
    drops = {name: row[INTACT] - row[SUPPRESSED] for name, row in learned.items()}
    return {
        "only-marital": (
            all((drop >= 100 * LARGE) == (name == MARITAL) for name, drop in drops.items()),
            {f"drop of {name} (points)": drop for name, drop in drops.items()},
        ),
        "salary-equal": (abs(drops[SALARY]) <= 100 * EQUAL, {"drop (points)": drops[SALARY]}),
    }


def _about_figures(
    points: Mapping[str, Sequence[Point]], own: Mapping[str, Sequence[Point]]
) -> dict[str, Tested]:
    everything = [point for each in own.values() for point in each]
    intact = {name: each[0] for name, each in points.items()}
    by_tree = {
        name: one.workload.best["u_base"] == TREE and one.workload.base == "sensitive"
        for name, one in intact.items()
    }
    gap = {name: _percent(one.workload.u_max) - _percent(one.workload.u_base) for name, one in intact.items()}

    def uncorrelated(point: Point) -> bool:
        return point.a_know <= intact[point.dataset].a_know / 2

    return {
        **{
            f"{name.lower()}-much-more": _every(own[name], lambda p: p.a_acc >= MUCH * p.gains[0])
            for name in own
        },
        "without-quasi": _every(everything, lambda p: p.gains[0] <= EQUAL),
        "correlations-together": _every(filter(uncorrelated, everything), lambda p: p.gains[1] <= EQUAL),
        "best-is-j48": (
            all(by_tree.values()),
            {
                name: {
                    miner: _percent(found.by_base["sensitive"])
                    for miner, found in one.workload.by_miner.items()
                }
                for name, one in intact.items()
            },
        ),
        "small-gap": (
            gap["Occupation"] <= 100 * EQUAL,
            {f"U_max - U_base of {name} (points)": value for name, value in gap.items()},
        ),
        "below-trivial": _every(own["Occupation"], lambda p: p.gains[1] < 0),
    }


def _about_table_3(points: Sequence[Point], intact: Privacy, n_rows: int) -> dict[str, Tested]:
    by_k = {p.sanitization: p for p in points if p.sanitization.startswith("k")}
    kept = {name: p.a_know / _known(points[0].privacy.a_know) for name, p in by_k.items()}
    diverse = {
        p.sanitization: p.a_know / _known(points[0].privacy.a_know)
        for p in points
        if p.sanitization.startswith("l") and p.release.classes.n_classes > 1
    }
    alone = intact.sample_uniques / n_rows
    return {
        "not-unique": (
            alone < 0.01 and _known(intact.a_acc) < 0.25,
            {
                "share of rows alone in their class": alone,
                "mean rows of a class": intact.sizes.mean,
                "A_acc": intact.a_acc,
            },
        ),
        "k-barely": (
            min(kept.values()) >= BARELY,
            {f"share of A_know left at {name}": value for name, value in kept.items()},
        ),
        "k-none": (
            all(p.a_acc >= points[0].a_acc and p.a_know >= points[0].a_know for p in by_k.values()),
            {name: {"A_acc": p.a_acc, "A_know": p.a_know} for name, p in {INTACT: points[0], **by_k}.items()},
        ),
        "l-trivial": (
            all(value >= LIMITED for value in diverse.values()),
            {f"share of A_know left at {name}": value for name, value in diverse.items()},
        ),
    }


# Section 7


def _coins() -> dict[str, list[str]]:
    """The artificial table: every outcome of three coins once."""
    flips = [tuple(map(int, f"{i:03b}")) for i in range(8)]
    return {
        "a1": [str(r1) for r1, _, _ in flips],
        "a2": [str(r2) for _, r2, _ in flips],
        "a3": [f"{r2}{r3}" for _, r2, r3 in flips],
        "a4": [str(r1 ^ r3) for r1, _, r3 in flips],
        "a5": [str(r1 ^ r2) for r1, r2, _ in flips],
    }


def information(columns: Mapping[str, Sequence[str]], target: str, given: str) -> float:
    """Bits that the columns named in `given` tell about `target`, by the rows' frequencies."""

    def entropy(names: Sequence[str]) -> float:
        counts = Counter(zip(*(columns[name] for name in names), strict=True)).values()
        return -math.fsum(n / sum(counts) * math.log2(n / sum(counts)) for n in counts)

    known = given.split()
    return entropy([target]) + entropy(known) - entropy([target, *known])


def _told(coins: Mapping[str, Sequence[str]], *pairs: tuple[str, str]) -> dict[str, float]:
    """Bits of each first in its second."""
    return {f"bits of {t} in {', '.join(given.split())}": information(coins, t, given) for t, given in pairs}


def _about_section_7(coins: Mapping[str, Sequence[str]]) -> dict[str, Tested]:
    parts = {**coins, "r2": [v[0] for v in coins["a3"]], "r3": [v[1] for v in coins["a3"]]}
    half = _told(coins, ("a3", "a1 a2"), ("a3", "a3"))
    private = _told(coins, ("a3", "a1"))
    useful = _told(coins, ("a4", "a1 a3"), ("a5", "a1 a3"), ("a3", "a1 a4 a5"))
    no_quasi = _told(coins, ("a3", "a4 a5"), ("a4", "a3"), ("a5", "a3"), ("a4", "a3 a5"), ("a5", "a3 a4"))
    no_sensitive = _told(
        coins, ("a4", "a1 a2 a5"), ("a5", "a1 a2 a4"), ("a4", "a1 a5"), ("a5", "a1 a4"), ("a5", "a1 a2")
    )
    joint = _told(coins, ("a4", "a1 a2 a3"), ("a5", "a1 a2 a3"))
    single = _told(coins, ("a4", "a1 a2"), ("a4", "a3"), ("a5", "a1 a2"), ("a5", "a3"))
    split = _told(parts, ("r2", "a1 a2"), ("r3", "a1 a2"))
    return {
        "coins-half": (list(half.values()) == [1, 2], half),
        "coins-private": (list(private.values()) == [0], private),
        "coins-useful": (list(useful.values()) == [1, 1, 2], useful),
        "coins-no-quasi": (list(no_quasi.values()) == [1, 0, 0, 0, 0], no_quasi),
        "coins-no-sensitive": (list(no_sensitive.values())[:2] == [0, 0.5], no_sensitive),
        "coins-joint": (
            list(joint.values()) == [1, 1] and not any(single.values()),
            {**joint, **single},
        ),
        "coins-parts": (list(split.values()) == [1, 0], split),
    }


def _learned_of_coins(setting: Setting, coins: Mapping[str, Sequence[str]]) -> Table:
    """What trees learn of it when 0-closeness is asked for, which suppresses a2."""
    table = pa.table({name: list(values) * 50 for name, values in coins.items()})
    release = setting.anonymize(table, Schema(["a1", "a2"], ["a3"], neutral="rest"), TCloseness(0, "equal"))
    shown = [len(cells.low) == 1 for cells in release.cells]
    rows = []
    for target in ("a3", "a4", "a5"):
        found = mining_utility(release, target, miners=TREES, n_folds=5, n_threads=setting.n_threads)
        by_base = found.by_miner[TREE].by_base
        rows.append(
            {
                "learned": target,
                "intact": _percent(found.u_max),
                "a2 suppressed": _percent(found.u_san),
                "Q suppressed": _percent(by_base["quasi"]),
                "S removed": None if target == "a3" else _percent(by_base["sensitive"]),
                "A_acc": found.a_acc,
                "suppressed": ", ".join(
                    name for name, all_of_it in zip(("a1", "a2"), shown, strict=True) if all_of_it
                ),
            }
        )
    return table_of("Accuracy of trees on 400 rows of the artificial table (percent)", rows)


# The page


def _sections(
    setting: Setting,
    table: pa.Table,
    by_years: Sequence[str],
    learned: Mapping[str, Mapping[str, float]],
    points: Mapping[str, Sequence[Point]],
) -> tuple[Section, ...]:
    coins = _coins()
    artificial = Table(
        "The artificial table: every outcome of the three coins",
        tuple(coins),
        tuple(zip(*coins.values(), strict=True)),
    )
    table_2 = [{"learned": name, **{f"{w} (%)": v for w, v in row.items()}} for name, row in learned.items()]
    return (
        Section(
            "Table 2: what age, sex and race are worth to a tree",
            ("Accuracy by cross-validation, all other attributes of table 1 given.",),
            (table_of("Table 2", table_2),),
        ),
        *(
            Section(
                f"Figures {first} and {first + 2}: the {data.name} dataset",
                (
                    f"Quasi-identifiers {', '.join(data.quasi)}; sensitive {data.sensitive}; "
                    f"the workload is learning {data.workload}.",
                    "Gains in points of percent: the adversary's is A_acc, a researcher's U_san - U_base; "
                    "S is the sensitive attribute, w the workload.",
                ),
                (table_of(f"Releases of {data.name}", [_row(point) for point in points[data.name]]),),
                _charts(data, first, points[data.name]),
            )
            for first, data in enumerate(DATASETS, 1)
        ),
        Section(
            "Table 3, and what it hangs on",
            (
                "The paper names neither the target that cuts are to tell most about, nor how they are "
                "placed; A_acc and A_know by these choices. The first is the one used everywhere else.",
            ),
            (
                table_of(
                    "Table 3: A_acc and A_know of the Occupation dataset",
                    [
                        {
                            "sanitization": p.sanitization,
                            "A_acc": p.a_acc,
                            "A_know": p.a_know,
                            "classes": p.release.classes.n_classes,
                        }
                        for p in points["Occupation"]
                    ],
                ),
                table_of("Table 3 by target and cuts: A_know", _variants(setting, table, by_years)),
            ),
        ),
        Section(
            "Section 7: an artificial table with privacy and utility",
            ("Q = {a1, a2}, S = a3; r1, r2, r3 are fair coins.",),
            (artificial, _learned_of_coins(setting, coins)),
        ),
    )


def _row(point: Point) -> Row:
    u_base = _percent(point.workload.u_base)
    return {
        "sanitization": point.sanitization,
        "classes": point.release.classes.n_classes,
        "A_know": point.a_know,
        "A_acc": _percent(point.a_acc),
        "S: tree": _percent(point.gains[0]),
        **{
            f"w: {miner.split()[-1]}": _percent(one.u_san) - u_base
            for miner, one in point.workload.by_miner.items()
        },
    }


def _charts(data: Dataset, first: int, points: Sequence[Point]) -> tuple[Figure, ...]:
    rows = [_row(point) for point in points if point.sanitization != SUPPRESSED]

    def bars_of(learned: str) -> list[Row]:
        return [
            {
                "sanitization": row["sanitization"],
                "who": "adversary (A_acc)"
                if name == "A_acc"
                else f"researcher, {name.removeprefix(learned)}",
                "gain (points)": gain,
            }
            for row in rows
            for name, gain in row.items()
            if name == "A_acc" or name.startswith(learned)
        ]

    return (
        _bars(
            f"Figure {first}: learning the sensitive attribute ({data.sensitive})",
            bars_of("S: "),
            "A tree learns from quasi-identifiers as published and from neutral attributes; "
            "at zero it learns no more than without quasi-identifiers.",
        ),
        _bars(
            f"Figure {first + 2}: learning a neutral attribute ({data.workload})",
            bars_of("w: "),
            "Below zero a miner learns less than the best one does from a trivial release.",
        ),
    )


def _bars(title: str, rows: Sequence[Row], caption: str) -> Figure:
    """Bars side by side for each sanitization, one for the adversary and one for each miner."""
    import altair

    order = [list(dict.fromkeys(row[name] for row in rows)) for name in ("sanitization", "who")]
    chart = (
        altair.Chart(altair.InlineData(values=[dict(row) for row in rows]))
        .mark_bar()
        .encode(
            x=altair.X("sanitization:N", sort=order[0], title=None, axis=altair.Axis(labelAngle=-45)),
            xOffset=altair.XOffset("who:N", sort=order[1]),
            y=altair.Y("gain (points):Q", title="gain (points of percent)"),
            color=altair.Color("who:N", title=None, scale=altair.Scale(domain=order[1])),
            tooltip=["sanitization:N", "who:N", "gain (points):Q"],
        )
        .properties(width=620, height=HEIGHT)
    )
    return Figure(title, chart, caption)


def _variants(setting: Setting, table: pa.Table, by_years: Sequence[str]) -> list[Row]:
    _, data = DATASETS
    methods = {
        f"{target}, {cuts}": Mondrian("information-gain", cuts=cuts, target=target)
        for cuts in ("median", "nearest")
        for target in (MARITAL, OCCUPATION)
    } | {"widest, median": Mondrian(cuts="median")}
    return [
        {
            "sanitization": name,
            **{
                called: setting.anonymize(
                    table, _schema(data, by_years), one, method=method, on_infeasible="trivial"
                )
                .privacy()
                .a_know
                for called, method in methods.items()
            },
        }
        for name, one in data.requirements().items()
    ]
