# SPDX-License-Identifier: Apache-2.0
"""Whether the sentences of Brickell & Shmatikov hold."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anon.classes import sensitive_counts
from anon.measures import Privacy
from anon.methods import Identity, Suppress
from anon.papers import Setting, Tested
from anon.papers.brickell2008.releases import (
    COLUMNS,
    DATASETS,
    INTACT,
    MARITAL,
    OCCUPATION,
    SALARY,
    SUPPRESSED,
    TREE,
    Dataset,
    Point,
    Sanitized,
    attribute_of,
    is_proper,
    known,
    percent,
    schema_of,
    workload_aware,
)
from anon.release import Release
from anon.requirements import DeltaDisclosure, KAnonymity, Requirement, TCloseness
from anon.schema import Schema, nominal

EQUAL = 0.005  # accuracies that are "equivalent", "just as well" or "≈" differ by half a point at most


LARGE = 0.05  # a "large" breach or a "significant" drop is at least five points


MUCH = 2  # "much more" is at least twice


BARELY = (
    0.8  # what "barely changes" keeps at least four fifths; what is "substantially" limited less than ...
)


LIMITED = 0.4  # ... two fifths: half, as at l = 10 in the paper's own table 3, is not that to it


def _every(points: Iterable[Point], agrees: Callable[[Point], bool]) -> Tested:
    """Whether all agree, and those that do not."""
    points = list(points)
    against = [point.name for point in points if not agrees(point)]
    return not against, {
        "releases": len(points),
        "agree": len(points) - len(against),
        "exceptions": against or "none",
    }


def about_definitions(
    setting: Setting, points: Mapping[str, Sequence[Point]], complete: pa.Table, by_years: Sequence[str]
) -> dict[str, Tested]:
    everything = [point for each in points.values() for point in each]
    private, diverse, of_size_k = (
        [point for point in everything if point.sanitization.startswith(start) and is_proper(point)]
        for start in ("δ", "l", "k")
    )
    intact = {name: each[0].a_know for name, each in points.items()}
    bound = {point.name: float(point.sanitization.split()[-1]) for point in private}
    syntactic = [point for point in everything if is_proper(point) and point not in private]
    finite = [
        point.name for point in syntactic if point.privacy.delta is None or math.isfinite(point.privacy.delta)
    ]
    infinite = [point.name for point in private if not math.isfinite(known(point.privacy.delta))]
    looser = {point.name: merged_delta(point.release) for point in private}
    _, occupation = DATASETS
    flat = {"*": pc.unique(complete[OCCUPATION]).to_pylist()}
    on_a_tree = setting.anonymize(
        complete,
        Schema([attribute_of(name, by_years) for name in occupation.quasi], [nominal(OCCUPATION, flat)]),
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
            "A_know, intact": known(
                setting.anonymize(complete, schema_of(data, by_years), method=Identity()).privacy().a_know
            ),
            "loss of cells (GCP) at k = 100": setting.anonymize(
                complete, schema_of(data, by_years), KAnonymity(100)
            )
            .utility()
            .gcp,
        }
        for name, data in (("age, sex, race", occupation), ("all others", others))
    }
    small, large = sizes.values()
    return {
        "lemma-1": (
            all(known(point.privacy.gain) < bound[point.name] for point in private),
            {f"Gain, {point.name}": known(point.privacy.gain) for point in private},
        ),
        "k-discloses": (
            max(known(point.privacy.alpha) for point in of_size_k) >= 0.9,
            {f"greatest share, {point.name}": point.privacy.alpha for point in of_size_k},
        ),
        "diversity-reveals": (
            all(known(point.privacy.alpha) < 1 for point in diverse)
            and any(point.a_know >= intact[point.dataset] / 2 for point in diverse),
            {
                point.name: {
                    "greatest share": point.privacy.alpha,
                    "share of A_know left": point.a_know / intact[point.dataset],
                }
                for point in diverse
            },
        ),
        "diversity-unrelated": diverse_and_private(setting),
        "emd": (
            math.isclose(known(on_a_tree.t_hierarchical), known(on_a_tree.t_equal)),
            {"earth mover's": on_a_tree.t_hierarchical, "A_diff": on_a_tree.t_equal},
        ),
        "independence": (
            max(vanishing[0.01].values()) <= 0.01,
            {f"A_know at t = δ = {x}": row for x, row in vanishing.items()},
        ),
        "domains": on_two_values(setting),
        "quotient-finite": (
            not finite and not infinite,
            {"finite without δ": finite or "none", "infinite with δ": infinite or "none"},
        ),
        "acc-underestimates": _every(everything, lambda p: p.a_acc <= p.a_know + 1e-12),
        "monotone": (
            all(looser[point.name] <= known(point.privacy.delta) + 1e-12 for point in private),
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
    release = setting.anonymize(table, schema_of(data, by_years), requirement, method=workload_aware(data))
    return known(release.privacy().a_know)


def merged_delta(release: Release) -> float:
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


def diverse_and_private(setting: Setting) -> Tested:
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


def on_two_values(setting: Setting) -> Tested:
    table = pa.table({"q": range(1000), "s": [0, 1] * 500})
    release = setting.anonymize(table, Schema(["q"], ["s"]), method=Suppress("quasi"))
    privacy = release.privacy()
    return (privacy.l_distinct, privacy.k) == (2, 1000), {
        "most diverse": privacy.l_distinct,
        "greatest k": privacy.k,
    }


def about_abstract(points: Mapping[str, Sequence[Point]], everything: Sequence[Point]) -> dict[str, Tested]:
    def modest(point: Point) -> bool:
        return point.a_acc <= 0.75 * points[point.dataset][0].a_acc

    def destroyed(point: Point) -> bool:
        workload = point.workload
        return point.gains[1] <= 0.1 * (known(workload.u_max) - known(workload.u_base))

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


def about_table_2(learned: Mapping[str, Mapping[str, float]]) -> dict[str, Tested]:
    drops = {name: row[INTACT] - row[SUPPRESSED] for name, row in learned.items()}
    return {
        "only-marital": (
            all((drop >= 100 * LARGE) == (name == MARITAL) for name, drop in drops.items()),
            {f"drop of {name} (points)": drop for name, drop in drops.items()},
        ),
        "salary-equal": (abs(drops[SALARY]) <= 100 * EQUAL, {"drop (points)": drops[SALARY]}),
    }


def about_figures(
    points: Mapping[str, Sequence[Point]], own: Mapping[str, Sequence[Point]]
) -> dict[str, Tested]:
    everything = [point for each in own.values() for point in each]
    intact = {name: each[0] for name, each in points.items()}
    by_tree = {
        name: one.workload.best["u_base"] == TREE and one.workload.base == "sensitive"
        for name, one in intact.items()
    }
    gap = {name: percent(one.workload.u_max) - percent(one.workload.u_base) for name, one in intact.items()}

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
                    miner: percent(utility.by_base["sensitive"])
                    for miner, utility in one.workload.by_miner.items()
                }
                for name, one in intact.items()
            },
        ),
        "small-gap": (
            gap["Occupation"] <= 100 * EQUAL,
            {f"U_max - U_base of {name} (points)": value for name, value in gap.items()},
        ),
        "below-trivial": _every(own["Occupation"], lambda p: p.gains[1] <= _noise(p)),
    }


def _noise(point: Point) -> float:
    """Half the 95 % interval of U_san - U_base, two accuracies over the same number of rows."""
    n_rows = point.release.encoded.n_rows
    shares = [known(point.workload.u_san), known(point.workload.u_base)]
    return 1.96 * math.sqrt(sum(share * (1 - share) for share in shares) / n_rows)


def about_table_3(points: Sequence[Sanitized], intact: Privacy, n_rows: int) -> dict[str, Tested]:
    by_k = {p.sanitization: p for p in points if p.sanitization.startswith("k")}
    kept = {name: p.a_know / known(points[0].privacy.a_know) for name, p in by_k.items()}
    diverse = {
        p.sanitization: p.a_know / known(points[0].privacy.a_know)
        for p in points
        if p.sanitization.startswith("l") and p.release.classes.n_classes > 1
    }
    alone = intact.sample_uniques / n_rows
    return {
        "not-unique": (
            alone < 0.01 and known(intact.a_acc) < 0.25,
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
            all(
                p.a_acc >= BARELY * points[0].a_acc and p.a_know >= BARELY * points[0].a_know
                for p in by_k.values()
            ),
            {name: {"A_acc": p.a_acc, "A_know": p.a_know} for name, p in {INTACT: points[0], **by_k}.items()},
        ),
        "l-trivial": (
            all(value >= LIMITED for value in diverse.values()),
            {f"share of A_know left at {name}": value for name, value in diverse.items()},
        ),
    }
