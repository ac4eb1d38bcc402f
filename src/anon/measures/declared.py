# SPDX-License-Identifier: Apache-2.0
"""What is declared of every measure: which of its values is the worst one, what it means, whose it is.

A number that is handed out is rounded to two significant digits, to the side of its worst value: a risk
or a loss up, the rows of a class down. What is declared nowhere is its owner's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from numbers import Integral
from types import MappingProxyType
from typing import Any

DIGITS = 2  # significant ones of a number that is handed out


@dataclass(frozen=True)
class Measure:
    """What is declared of a measure.

    `greatest_is_worst`: is it the greatest value that protects least, or costs most? `meaning` is that of
    the measure, in words without figures, `title` a few of them to stand above numbers. One that is not
    `public` is told to the owner alone, since it tells of the input what the release does not.
    """

    greatest_is_worst: bool
    meaning: str = ""
    public: bool = True
    title: str = ""


# Of one sensitive attribute, set by one class.
BY_CLASS: Mapping[str, Measure] = MappingProxyType(
    {
        "l_distinct": Measure(False, "fewest distinct sensitive values in a class"),
        "l_probabilistic": Measure(False, "one over the greatest share of a sensitive value in a class"),
        "l_entropy": Measure(False, "exponential of the least entropy of a class"),
        "l_recursive": Measure(False, "greatest l of recursive diversity with c of three"),
        "recursive_c2": Measure(True),
        "recursive_c3": Measure(True),
        "recursive_c4": Measure(True),
        "recursive_c5": Measure(True),
        "alpha": Measure(True, "greatest share of a sensitive value in a class"),
        "t_js": Measure(
            True,
            "greatest Jensen-Shannon divergence between a class and the table",
            title="greatest loss of privacy",
        ),
        "t_equal": Measure(True, "greatest total variation between a class and the table"),
        "t_ordered": Measure(True, "greatest earth mover's distance over the order of values"),
        "t_hierarchical": Measure(True, "greatest earth mover's distance over the hierarchy"),
        "delta": Measure(True, "greatest logarithm of a share in a class over that in the table"),
        "delta_present": Measure(True, "the same, of the values that the class has"),
        "beta": Measure(True, "greatest relative gain of a share in a class over that in the table"),
        "beta_enhanced": Measure(True, "the same, bounded for frequent values too"),
    }
)

# Of one sensitive attribute, set by all classes together.
BY_ALL: Mapping[str, Measure] = MappingProxyType(
    {
        "p_loss": Measure(True, "privacy loss: how far the worst class's values lie from the table's"),
        "a_know": Measure(True, "mean change of belief of an attacker who knows the quasi-identifiers"),
        "a_acc": Measure(True, "gain in the accuracy of guessing the sensitive value"),
        "gain": Measure(True, "information about the sensitive value, in nats"),
        "ls_c": Measure(True),
        "ls_l": Measure(False),
    }
)

# Of the classes.
RISKS: Mapping[str, Measure] = MappingProxyType(
    {
        "n_rows": Measure(False),
        "n_suppressed": Measure(True, public=False),
        "n_classes": Measure(True),
        "k": Measure(False, title="rows of the smallest class"),
        "k_matching": Measure(False),
        "k_units": Measure(False),
        "k_unit_bags": Measure(False),
        "units.n_units": Measure(False),
        "units.k": Measure(False),
        "units.k_bags": Measure(False),
        "units.alone": Measure(True),
        "units.risk.max": Measure(True),
        "units.risk.mean": Measure(True),
        "units.risk.at_risk": Measure(True),
        # Of the input's weights, which go with sensitive values row by row: as `u_loss` below.
        "weighted.a_acc": Measure(True, public=False),
        "weighted.a_know": Measure(True, public=False),
        "sizes.min": Measure(False),
        "sizes.mean": Measure(False),
        "sizes.median": Measure(False),
        "sizes.max": Measure(False),
        "prosecutor.max": Measure(True, title="greatest risk of being found"),
        "prosecutor.mean": Measure(True, title="mean risk of being found"),
        "prosecutor.at_risk": Measure(True),
        "sample_uniques": Measure(True),
        "n_starred": Measure(True),
        "k_with_starred": Measure(False),
        "null_matching.k": Measure(False),
        "null_matching.risk": Measure(True),
        "null_matching.l_distinct": Measure(False),
        "null_matching.max_share": Measure(True),
        "population.journalist.max": Measure(True),
        "population.journalist.mean": Measure(True),
        "population.journalist.at_risk": Measure(True),
        "population.marketer": Measure(True),
        "population.uniques.count": Measure(True),
        "population.uniques.share": Measure(True),
    }
)

# Of what was lost. `u_loss`, `kl` and `count_error` are measured from who has which sensitive value: whoever
# knows the quasi-identifiers of everybody can compute them for every way to deal the values to the people.
COSTS: Mapping[str, Measure] = MappingProxyType(
    {
        "gcp": Measure(
            True,
            "mean information loss of a cell: zero for the original, one where nothing is left",
            title="information loss",
        ),
        "u_loss": Measure(
            True,
            "utility loss: mean error about large groups of people",
            public=False,
            title="error about large groups",
        ),
        "kl": Measure(
            True, "divergence of the distribution that the release suggests from the true one", public=False
        ),
        "entropy": Measure(True, "share of the table's entropy that is lost", title="lost entropy"),
        "precision": Measure(
            False, "one minus the mean height of the cells in their hierarchies", title="kept levels"
        ),
        "dm": Measure(True, "discernibility: sum of squared class sizes", title="discernibility"),
        "class_size": Measure(True, "mean rows of a class", title="mean rows of a class"),
        "c_avg": Measure(True, "that over k"),
        "um": Measure(True, "width of the classes, summed over quasi-identifiers"),
        "pm": Measure(True, "closeness of sensitive values inside the classes"),
        "avg_wtd": Measure(True, "both of these, weighted"),
        "ordered_loss": Measure(True, title="loss by order"),
        "um_rows": Measure(True),
        "pm_rows": Measure(True),
        # Of the numbers of rows, who have them: as `u_loss`.
        "numbers.sse_sst": Measure(True, "squared error over all variance", public=False),
        "numbers.il1s": Measure(True, "mean distance of a number, in deviations", public=False),
        "numbers.il1s_sum": Measure(True, public=False),
        "numbers.eigen": Measure(True, "change of the eigenvalues of the correlations", public=False),
        "numbers.il_correl": Measure(True, "change of the inverse correlations", public=False),
        "numbers.correlation_max": Measure(True, "greatest change of a correlation", public=False),
        "numbers.correlation_mean": Measure(True, "mean change of a correlation", public=False),
        "numbers.quantiles": Measure(True, "mean change of a quantile, in deviations", public=False),
        "numbers.d_risk": Measure(True, "share of rows near all of their numbers", public=False),
        "numbers.linkage": Measure(True, "share of rows that record linkage finds", public=False),
        "numbers.linkage_rows": Measure(False, "rows of which that was tried", public=False),
        "numbers.pmse": Measure(True, "how well the rows can be told from the original's", public=False),
        "numbers.pmse_ratio": Measure(
            True, "that over its mean for rows drawn from the original", public=False
        ),
        "numbers.n_rows": Measure(False, public=False),
        "numbers.n_left_out": Measure(True, public=False),
        "n_suppressed": Measure(True, public=False),
        "count_error": Measure(True, public=False),
        "ncp": Measure(True, title="information loss"),
        "qd": Measure(True, title="width of a class"),
        "qd_rows": Measure(True, title="width of a row"),
        "sd": Measure(True, title="closeness in a class"),
        "sd_rows": Measure(True, title="closeness of a row"),
    }
)

# What attackers came to on people who are in the table and on others held out of it.
ATTACKS: Mapping[str, Measure] = MappingProxyType(
    {
        "risk_singling_out": Measure(
            True, "risk that a condition on the release holds for one person, over chance", public=False
        ),
        "risk_linkability": Measure(
            True,
            "risk that two parts of what is known lead to one row, over chance",
            public=False,
            title="risk of linking",
        ),
        "risk_inference": Measure(
            True, "risk that a secret is guessed, over the guess for people not in the table", public=False
        ),
    }
)

OF_PRIVACY: Mapping[str, Measure] = MappingProxyType({**BY_CLASS, **BY_ALL, **RISKS})


def title_of(name: str) -> str:
    """What stands above the numbers of a measure: words, and its name."""
    title = {**OF_PRIVACY, **COSTS, **ATTACKS}.get(name, Measure(True)).title
    return f"{title} ({name})" if title else name


_BY_COLUMN = ("by_sensitive", "by_attribute")


def away(value: Any, measure: Measure) -> Any:
    """A number of a measure, rounded to the side of its worst value; what is no finite number as it is."""
    if value is None or isinstance(value, str):
        return value
    exact = Decimal(int(value)) if isinstance(value, Integral) else Decimal(repr(float(value)))
    if not exact.is_finite() or not exact:
        return value
    step = Decimal(1).scaleb(exact.adjusted() - DIGITS + 1)
    rounded = exact.quantize(step, ROUND_CEILING if measure.greatest_is_worst else ROUND_FLOOR)
    return int(rounded) if isinstance(value, Integral) else float(rounded)


def handed_out(measured: Mapping[str, Any], declared: Mapping[str, Measure]) -> dict[str, Any]:
    """What may be handed out of a `to_dict()`: the public measures, rounded, under their names.

    None, which was not measured, stays, where it is declared or stands for a part.
    """
    intact = {"intact": True} if measured.get("intact") else {}
    return intact | _public_part(measured, declared, "")


def _public_part(measured: Mapping[str, Any], declared: Mapping[str, Measure], above: str) -> dict[str, Any]:
    part: dict[str, Any] = {}
    for name, value in measured.items():
        measure = declared.get(above + name)
        if value is None:
            if measure is not None or not above:
                part[name] = None
        elif measure is not None:
            if not measure.public:
                continue
            several = isinstance(value, Mapping)
            part[name] = (
                {key: away(each, measure) for key, each in value.items()} if several else away(value, measure)
            )
        elif not above and name in _BY_COLUMN:
            part[name] = {column: _public_part(each, declared, "") for column, each in value.items()}
        elif isinstance(value, Mapping):
            inside = _public_part(value, declared, "" if name == "joint" else f"{above}{name}.")
            part |= {name: inside} if inside else {}
    return part
