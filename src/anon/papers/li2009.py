# SPDX-License-Identifier: Apache-2.0
"""Li & Li, "On the Tradeoff Between Privacy and Utility in Data Publishing", KDD 2009."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anon.datasets import ADULT_OCCUPATIONS, ADULT_TREES
from anon.html import Section, Table
from anon.measures import answer, js_divergence, random_queries
from anon.methods import Identity, Mondrian, Suppress
from anon.papers import Results, Setting, Tested, curves, rank_correlation, table_of
from anon.release import Release
from anon.requirements import DeltaDisclosure, KAnonymity, LDiversity, Requirement, TCloseness
from anon.schema import Schema, intervals, nominal, numeric

Publish = Literal["generalization", "bucketization"]

QUASI = ("age", "workclass", "education", "marital-status", "race", "sex")
SENSITIVE = "occupation"
REQUIREMENTS: dict[str, tuple[Requirement, ...]] = {
    "k-anonymity": tuple(map(KAnonymity, (10, 50, 100, 200, 500, 1000, 2000, 5000))),
    "l-diversity": tuple(map(LDiversity, (3.0, 3.5, 4.0, 4.25, 4.5, 4.75, 5.0, 5.5))),
    "t-closeness": tuple(map(TCloseness, (0.075, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4))),
    "semantic privacy": tuple(
        DeltaDisclosure(delta, absent="ignore") for delta in (1.0, 1.2, 1.4, 1.5, 1.7, 1.9, 2.0, 2.1)
    ),
}
AGES = intervals(5, 10, 20, 50)
OTHER_AGES = (intervals(5, 10, 20), intervals(20), intervals(10), AGES)
MIN_SUPPORT = 0.05
SUBSTANTIAL = 0.8  # what is "substantially better" has at most four fifths on the average
QUERIES = 1000
QD, QDS = 4, (2, 3, 4, 5, 6)
SEL, SELS = 0.05, (0.02, 0.05, 0.1, 0.15)  # the text has no list of either
WORST_KNOWN, BEST_KNOWN = "Armed-Forces", "Craft-repair"  # least and most frequent


@dataclass(frozen=True)
class Point:
    """A release and what was measured of it; `errors[qd, sel]` are average relative errors in percent."""

    requirement: str
    parameter: float
    publish: Publish
    n_classes: int
    p_loss: float
    u_loss: float
    errors: Mapping[tuple[int, float], float]


def run(setting: Setting) -> Results:
    """Figures 2 and 3, table 1 and the interpretation of section 5.1."""
    everything = setting.adult_table(complete=False)
    complete = setting.adult_table().select([*QUASI, SENSITIVE])
    table = setting.sample(complete, 10_000)
    schema = Schema(
        quasi=[numeric("age", AGES), *(nominal(name, ADULT_TREES.get(name)) for name in QUASI[1:])],
        sensitive=[SENSITIVE],
    )
    points = _points(setting, table, schema)
    generalized = {
        name: [p for p in points if p.requirement == name and p.publish == "generalization"]
        for name in REQUIREMENTS
    }
    buckets = {
        name: [p for p in points if p.requirement == name and p.publish == "bucketization"]
        for name in ("l-diversity", "t-closeness")
    }
    counts = _counts(complete)
    revealed = _revealed(counts)
    trivial = setting.anonymize(table, schema, method=Suppress("quasi"))
    intact = setting.anonymize(table, schema, method=Identity())
    most_k = generalized["k-anonymity"][-1]
    figures = {
        "rows": complete.num_rows,
        **{name: _n_values(everything, name) for name in (*QUASI, SENSITIVE)},
        **{name: float(count / counts.sum()) for name, count in zip(ADULT_OCCUPATIONS, counts, strict=True)},
        "worst-revealed": revealed[WORST_KNOWN],
        "best-revealed": revealed[BEST_KNOWN],
        "trivial-u-loss": trivial.utility(min_support=MIN_SUPPORT).u_loss,
        "k5000-p-loss": most_k.p_loss,
        "k5000-u-loss": most_k.u_loss,
    }
    findings = {
        **_about_requirements(setting, table, schema, generalized),
        **_about_extremes(trivial, intact, revealed),
        **_about_methods(generalized, buckets),
    }
    sections = _sections(everything, counts, generalized, buckets)
    return Results(figures, findings, (*sections, _readings(setting, table, schema, generalized)))


def _points(setting: Setting, table: pa.Table, schema: Schema) -> list[Point]:
    plan: list[tuple[str, Requirement, Publish]] = [
        (name, requirement, "generalization") for name, each in REQUIREMENTS.items() for requirement in each
    ]
    plan += [
        (name, requirement, "bucketization")
        for name in ("l-diversity", "t-closeness")
        for requirement in REQUIREMENTS[name]
    ]
    queries: dict[tuple[int, float], Any] = {}
    points = []
    for done, (name, requirement, publish) in enumerate(plan):
        setting.tell("releases", done, len(plan))
        release = setting.anonymize(
            table, schema, requirement, method=Mondrian(cuts="median"), publish=publish
        )
        asked = {(QD, SEL)}
        if publish == "bucketization" and name == "t-closeness":
            asked |= {(QD, sel) for sel in SELS} | {(qd, SEL) for qd in QDS}
        for one in asked - set(queries):
            queries[one] = random_queries(release.encoded, *one, n=QUERIES // (5 if setting.quick else 1))
        points.append(
            Point(
                name,
                _parameter(requirement),
                publish,
                release.classes.n_classes,
                float(release.privacy().p_loss or 0.0),
                release.utility(min_support=MIN_SUPPORT).u_loss,
                {one: answer(queries[one], release).average for one in sorted(asked)},
            )
        )
    setting.tell("releases", len(plan), len(plan))
    return points


def _parameter(requirement: Requirement) -> float:
    match requirement:
        case KAnonymity():
            return float(requirement.k)
        case LDiversity():
            return float(requirement.l)
        case TCloseness():
            return float(requirement.t)
        case _:
            assert isinstance(requirement, DeltaDisclosure)
            return float(requirement.delta)


def _n_values(table: pa.Table, name: str) -> int:
    return len(pc.unique(table[name].drop_null()))


def _counts(table: pa.Table) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Rows of every occupation, in the order of adult.names."""
    index = pc.index_in(table[SENSITIVE], pa.array(ADULT_OCCUPATIONS)).to_numpy()
    return np.bincount(index, minlength=len(ADULT_OCCUPATIONS)).astype(np.int64)


def _revealed(counts: np.ndarray[Any, np.dtype[np.int64]]) -> dict[str, float]:
    """P_loss of a row whose occupation is known for certain, by occupation."""
    n = len(counts)
    losses = js_divergence(np.tile(counts, (n, 1)), np.eye(n))
    return dict(zip(ADULT_OCCUPATIONS, losses.tolist(), strict=True))


# Findings


def _advantage(ours: Sequence[Point], theirs: Sequence[Point]) -> tuple[float, float]:
    """How much lower our curve lies over the P_loss that both have: mean U_loss, share of the range."""
    curve = [sorted({p.p_loss: p.u_loss for p in points}.items()) for points in (ours, theirs)]
    low, high = max(one[0][0] for one in curve), min(one[-1][0] for one in curve)
    at = np.linspace(low, high, 201)
    below, above = (np.interp(at, *np.transpose(one)) for one in curve)
    return float((above - below).mean()), float((below < above).mean())


def _about_requirements(
    setting: Setting, table: pa.Table, schema: Schema, curves_of: Mapping[str, Sequence[Point]]
) -> dict[str, Tested]:
    t_points = curves_of["t-closeness"]
    advantages = {
        name: _advantage(t_points, points) for name, points in curves_of.items() if points != t_points
    }
    everything = [point for points in curves_of.values() for point in points]
    dominated = {
        point.parameter: sum(
            other.p_loss <= point.p_loss
            and other.u_loss <= point.u_loss
            and (other.p_loss, other.u_loss) != (point.p_loss, point.u_loss)
            for other in everything
        )
        for point in t_points[:3]
    }
    strict_l = {p.parameter: p.p_loss for p in curves_of["l-diversity"]}
    n_classes = {name: [p.n_classes for p in points] for name, points in curves_of.items()}
    tight = {
        delta: setting.anonymize(
            table, schema, DeltaDisclosure(delta, absent="ignore"), method=Mondrian(cuts="median")
        ).classes.n_classes
        for delta in (0.5, 0.9, 0.99)
    }
    ranges = {name: [min(p.p_loss for p in ps), max(p.p_loss for p in ps)] for name, ps in curves_of.items()}

    def advantage(name: str) -> dict[str, float]:
        return {"mean U_loss saved": advantages[name][0], "share of the common range": advantages[name][1]}

    return {
        "t-best": (
            all(mean > 0 for mean, _ in advantages.values()),
            {name: advantage(name) for name in advantages},
        ),
        "t-choice": (
            not any(dominated.values()),
            {f"t = {t:g} is dominated by": n for t, n in dominated.items()},
        ),
        "l-poor": (advantages["l-diversity"][0] > 0, advantage("l-diversity")),
        "delta-poor": (advantages["semantic privacy"][0] > 0, advantage("semantic privacy")),
        "delta-few-classes": (
            max(n_classes["semantic privacy"]) < max(n_classes["t-closeness"]),
            {name: n_classes[name] for name in ("semantic privacy", "t-closeness")},
        ),
        "delta-one-class": (all(n == 1 for n in tight.values()), {f"δ = {d}": n for d, n in tight.items()}),
        "range": (
            all(0.3 <= high <= 0.6 for _, high in ranges.values()),
            {f"P_loss of {name}": span for name, span in ranges.items()},
        ),
        "l-armed-forces": (
            min(strict_l[3.0], strict_l[3.5]) > 0.488,
            {f"P_loss at l = {l:g}": loss for l, loss in strict_l.items()},
        ),
    }


def _about_extremes(trivial: Release, intact: Release, revealed: Mapping[str, float]) -> dict[str, Tested]:
    nothing, everything = trivial.privacy().p_loss, intact.utility(min_support=MIN_SUPPORT).u_loss
    worst = intact.privacy().p_loss
    return {
        "trivial-p-loss": (nothing == 0, {"P_loss": nothing}),
        "intact-u-loss": (everything == 0, {"U_loss": everything, "P_loss": worst}),
        "revealed-range": (
            min(revealed, key=revealed.__getitem__) == BEST_KNOWN
            and max(revealed, key=revealed.__getitem__) == WORST_KNOWN,
            {"least": min(revealed.values()), "greatest": max(revealed.values())},
        ),
    }


def _about_methods(
    generalized: Mapping[str, Sequence[Point]], buckets: Mapping[str, Sequence[Point]]
) -> dict[str, Tested]:
    saved = {
        name: {p.parameter: [p.u_loss, b.u_loss] for p, b in zip(generalized[name], points, strict=True)}
        for name, points in buckets.items()
    }
    everything = [point for points in generalized.values() for point in points]
    drawn = [*everything, *(point for points in buckets.values() for point in points)]
    u_losses = np.array([point.u_loss for point in drawn])
    n_low = int((u_losses < 0.02).sum())
    agreement = rank_correlation([p.u_loss for p in everything], [p.errors[QD, SEL] for p in everything])
    by_sel = {p.parameter: [p.errors[QD, sel] for sel in SELS] for p in buckets["t-closeness"]}
    by_qd = {p.parameter: [p.errors[qd, SEL] for qd in QDS] for p in buckets["t-closeness"]}
    return {
        "u-loss-low": (
            u_losses.max() < 0.04,
            {"greatest U_loss": float(u_losses.max()), "releases": len(drawn)},
        ),
        "u-loss-often-lower": (
            2 * n_low > len(drawn),
            {"releases below 0.02": n_low, "releases": len(drawn)},
        ),
        "buckets-better": _substantially(saved),
        "similar-pattern": (agreement >= 0.8, {"rank correlation of U_loss and error": agreement}),
        "sel-helps": (
            all(np.diff(errors).max() < 0 for errors in by_sel.values()),
            {f"t = {t:g}": dict(zip(map(str, SELS), errors, strict=True)) for t, errors in by_sel.items()},
        ),
        "qd-helps": (
            all(np.diff(errors).max() < 0 for errors in by_qd.values()),
            {f"t = {t:g}": dict(zip(map(str, QDS), errors, strict=True)) for t, errors in by_qd.items()},
        ),
    }


def _substantially(saved: Mapping[str, Mapping[float, Sequence[float]]]) -> Tested:
    """Whether the second U_loss of each pair is less, and on the average by a fifth at least."""
    ratios = np.array([bucket / cells for pairs in saved.values() for cells, bucket in pairs.values()])
    drawn = np.random.default_rng(0).choice(np.log(ratios), (2000, len(ratios))).mean(axis=1)
    low, high = np.exp(np.quantile(drawn, (0.025, 0.975)))
    return bool(ratios.max() < 1 and high <= SUBSTANTIAL), {
        "ratio of U_loss, geometric mean": float(np.exp(np.log(ratios).mean())),
        "its 95 % interval": [float(low), float(high)],
        "greatest ratio": float(ratios.max()),
        **{f"{name}, generalized and bucketized": pairs for name, pairs in saved.items()},
    }


# The page


def _readings(
    setting: Setting, table: pa.Table, schema: Schema, generalized: Mapping[str, Sequence[Point]]
) -> Section:
    """What the other readings of the paper would give."""
    others = []
    for point in generalized["semantic privacy"]:
        strict = setting.anonymize(
            table, schema, DeltaDisclosure(point.parameter), method=Mondrian(cuts="median")
        )
        others.append(
            {
                "δ": point.parameter,
                "P_loss, absent values ignored": point.p_loss,
                "P_loss, absent values fail": strict.privacy().p_loss,
                "classes, ignored": point.n_classes,
                "classes, fail": strict.classes.n_classes,
            }
        )
    by_ages = [
        {
            "ages by": ", ".join(f"{width:g}" for width in ages.widths),
            "U_loss of the trivial release": setting.anonymize(
                table,
                Schema([numeric("age", ages), *schema.quasi[1:]], [SENSITIVE]),
                method=Suppress("quasi"),
            )
            .utility(min_support=MIN_SUPPORT)
            .u_loss,
        }
        for ages in OTHER_AGES
    ]
    return Section(
        "Other readings",
        (
            "Whether a value that a class lacks fails semantic privacy: as it is defined it does. The "
            "findings are tested with absent values ignored, since only so can the curve reach a P_loss of "
            "0.3 or more.",
            "Levels of age are not printed; the findings are tested with those of 5, 10, 20 and 50 years.",
        ),
        (table_of("Semantic privacy", others), table_of("Levels of age", by_ages)),
    )


def _sections(
    everything: pa.Table,
    counts: np.ndarray[Any, np.dtype[np.int64]],
    generalized: Mapping[str, Sequence[Point]],
    buckets: Mapping[str, Sequence[Point]],
) -> tuple[Section, ...]:
    complete = everything.drop_null()
    attributes = Table(
        "Table 1: values of the attributes",
        ("attribute", "all rows", "complete rows"),
        tuple((n, _n_values(everything, n), _n_values(complete, n)) for n in (*QUASI, SENSITIVE)),
    )
    occupations = Table(
        "Occupations of the complete rows",
        ("occupation", "rows", "share"),
        tuple((n, int(c), float(c / counts.sum())) for n, c in zip(ADULT_OCCUPATIONS, counts, strict=True)),
    )
    by_requirement = [_row(p) for points in generalized.values() for p in points]
    by_method = [
        {"curve": f"{p.requirement}, {p.publish}"} | _row(p)
        for name in buckets
        for p in (*generalized[name], *buckets[name])
    ]
    t_buckets = buckets["t-closeness"]
    by_sel = [
        {"sel": f"{sel:g}", "t": p.parameter, "P_loss": p.p_loss, "error (%)": p.errors[QD, sel]}
        for sel in SELS
        for p in t_buckets
    ]
    by_qd = [
        {"qd": str(qd), "t": p.parameter, "P_loss": p.p_loss, "error (%)": p.errors[qd, SEL]}
        for qd in QDS
        for p in t_buckets
    ]
    low_left = "Each point is a release; the lower and the further left, the better."
    return (
        Section("The data", (), (attributes, occupations)),
        Section(
            "Figure 2: utility loss and privacy loss",
            ("Mondrian with median cuts; populations of at least 5 % of the rows.",),
            (table_of("Releases", by_method),),
            (
                curves("Figure 2(a)", by_requirement, "P_loss", "U_loss", "requirement", low_left),
                curves("Figure 2(b)", by_method, "P_loss", "U_loss", "curve", low_left),
            ),
        ),
        Section(
            "Figure 3: relative error of COUNT queries and privacy loss",
            (f"Averages over {QUERIES} queries; (a) with qd = {QD} and sel = {SEL}.",),
            (),
            (
                curves("Figure 3(a)", by_requirement, "P_loss", "error (%)", "requirement", low_left),
                curves(
                    "Figure 3(b)", by_sel, "P_loss", "error (%)", "sel", f"t-closeness, buckets. {low_left}"
                ),
                curves(
                    "Figure 3(c)", by_qd, "P_loss", "error (%)", "qd", f"t-closeness, buckets. {low_left}"
                ),
            ),
        ),
    )


def _row(point: Point) -> dict[str, Any]:
    return {
        "requirement": point.requirement,
        "parameter": point.parameter,
        "P_loss": point.p_loss,
        "U_loss": point.u_loss,
        "error (%)": point.errors[QD, SEL],
        "classes": point.n_classes,
    }
