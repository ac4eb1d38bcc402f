# SPDX-License-Identifier: Apache-2.0
"""What is declared of measures, and how a number of one is handed out."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anon
from anon.measures.declared import BY_ALL, BY_CLASS, COSTS, OF_PRIVACY, Measure, away, handed_out
from anon.measures.disclosure import Disclosure

RISK, CROWD = Measure(greatest_is_worst=True), Measure(greatest_is_worst=False)


@pytest.mark.parametrize(
    ("value", "up", "down"),
    [
        (0, 0, 0),
        (0.0, 0.0, 0.0),
        (7, 7, 7),
        (99, 99, 99),
        (101, 110, 100),
        (4987, 5000, 4900),
        (10**20 + 1, 11 * 10**19, 10**20),
        (1.0, 1.0, 1.0),
        (0.1, 0.1, 0.1),
        (0.30000000000000004, 0.31, 0.3),
        (1 / 3, 0.34, 0.33),
        (2 / 3, 0.67, 0.66),
        (0.999, 1.0, 0.99),
        (0.00012345, 0.00013, 0.00012),
        (-0.0234, -0.023, -0.024),
        (5e-324, 5e-324, 5e-324),
        (math.inf, math.inf, math.inf),
        ("inf", "inf", "inf"),
        (None, None, None),
    ],
)
def test_numbers_are_rounded_to_two_digits_to_the_side_that_is_worse(value: Any, up: Any, down: Any) -> None:
    assert (away(value, RISK), away(value, CROWD)) == (up, down)
    assert isinstance(away(value, RISK), type(value))


@given(st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**30), 10**30))
def test_rounding_is_away_and_by_less_than_a_tenth(value: float) -> None:
    up, down = away(value, RISK), away(value, CROWD)
    assert down <= value <= up or math.isinf(up) or math.isinf(down)
    for rounded in (up, down):
        if math.isfinite(rounded):
            assert float(f"{rounded:.1e}") == float(rounded)
            assert abs(rounded - value) <= abs(value) / 10 + 5e-324
            assert away(rounded, RISK) == away(rounded, CROWD) == rounded


TABLE = pa.table(
    {
        "age": [23, None, 31, 34, 45, 47, 58, 61, 66],
        "sex": ["f", "m", "f", "m", "f", "m", "m", "f", None],
        "disease": ["flu", "asthma", "flu", "ulcer", "flu", "ulcer", "asthma", "ulcer", "flu"],
        "visits": [1, 2, 1, 3, 4, 1, 5, 2, 3],
    }
)
SCHEMA = anon.Schema(["age", "sex"], ["disease", "visits"])
OWNERS = {"worst", "worst_sensitive", "worst_cells", "unmet"}


def leaves(document: Mapping[str, Any], above: str = "") -> Iterator[str]:
    """The paths of all numbers; columns and bounds of shares have names that are data."""
    for name, value in document.items():
        if name in OWNERS:
            continue
        if name == "joint":
            yield from leaves(value)
        elif name in ("by_sensitive", "by_attribute") and not above:
            for each in value.values():
                yield from leaves(each)
        elif name == "at_risk":
            yield above + name
        elif isinstance(value, Mapping):
            yield from leaves(value, f"{above}{name}.")
        elif not isinstance(value, str):
            yield above + name


def test_every_number_of_a_result_is_declared_or_known_to_be_the_owners() -> None:
    release = anon.anonymize(TABLE, SCHEMA, method=anon.Identity())
    privacy = release.privacy(sampling_fraction=0.5).to_dict()
    assert {f.name for f in fields(Disclosure)} - OWNERS == set(BY_CLASS) | set(BY_ALL)
    undeclared = {path for path in leaves(privacy) if path not in OF_PRIVACY}
    assert undeclared == {
        *("null_matching.by_sensitive.disease", "null_matching.by_sensitive.visits"),
        *("population.n_below", "population.spread", "roles_from", "notes", "units", "known", "weighted"),
        *(f"population.uniques.{name}" for name in ("population", "boundary")),
        *(f"population.uniques.estimates.{name}" for name in ("snb", "zayatz")),
        *(path for path in undeclared if path.startswith("population_before.")),
    }
    utility = release.utility().to_dict()
    undeclared = {path for path in leaves(utility) if path not in COSTS}
    assert undeclared == {
        *("n_rows", "n_starred", "n_classes", "k", "r", "w_u", "w_p", "min_support", "aligned"),
        *("population", "population_before", "weighted"),
    }


def test_what_is_not_declared_public_is_handed_out_nowhere() -> None:
    release = anon.anonymize(TABLE, SCHEMA, require=[anon.KAnonymity(3)], missing="suppress")
    privacy, utility = release.privacy(), release.utility()
    public = handed_out(privacy.to_dict(), OF_PRIVACY)
    assert privacy.n_suppressed == 2
    assert not {"n_suppressed", *OWNERS} - {"unmet"} & set(public)
    assert all("worst" not in each for each in public["by_sensitive"].values())
    assert (public["n_rows"], public["k"], public["unmet"]) == (7, privacy.k, None)
    assert public["by_sensitive"]["disease"]["a_know"] == away(privacy.by_sensitive["disease"].a_know, RISK)
    assert public["joint"]["t_js"] == away(privacy.joint.t_js, RISK)
    assert set(public["prosecutor"]["at_risk"]) == {"2", "5", "10"}
    lost = handed_out(utility.to_dict(), COSTS)
    assert not {"u_loss", "kl", "n_rows", "n_suppressed", "n_classes", "min_support"} & set(lost)
    assert lost["gcp"] == away(utility.gcp, RISK)
    assert lost["by_attribute"]["age"]["ncp"] == away(utility.by_attribute["age"].ncp, RISK)
    assert set(lost) == set(handed_out(utility.to_dict(estimates=False), COSTS))
