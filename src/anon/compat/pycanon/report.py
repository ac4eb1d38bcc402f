# SPDX-License-Identifier: Apache-2.0
"""`pycanon.report`: every requirement's parameter at once. For a page to read: `anon check --report`."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from anon.compat.pycanon import anonymity
from anon.plain import as_plain
from anon.tables import read_table


def get_report_values(
    data: Any, quasi_ident: Iterable[str], sens_att: Iterable[str], gen: bool = True
) -> tuple[Any, ...]:
    """k, (alpha, k), l, entropy l, (c, l), basic beta, enhanced beta, delta, t."""
    roles = read_table(data), list(quasi_ident), list(sens_att)
    k, tightest = anonymity.k_anonymity(*roles[:2]), anonymity.tightest(*roles, gen)
    l = tightest.l if gen else anonymity.l_diversity(*roles)
    return (
        k,
        (tightest.alpha, k),
        tightest.l,
        tightest.entropy_l,
        (anonymity.least_c(*roles, gen, l), l),
        tightest.beta,
        tightest.beta_enhanced,
        tightest.delta,
        tightest.t,
    )


def get_json_report(data: Any, quasi_ident: Iterable[str], sens_att: Iterable[str], gen: bool = True) -> str:
    """The report as a JSON object under pycanon's keys; what is infinite is "inf", a c at l = 1 null."""
    quasi, sensitive = list(quasi_ident), list(sens_att)
    k, (alpha, _), l, entropy_l, (c, _), beta, enhanced, delta, t = get_report_values(
        data, quasi, sensitive, gen
    )
    return json.dumps(
        as_plain(
            {
                "data": {"quasi-identifiers": quasi, "sensitive attributes": sensitive},
                "k_anonymity": {"k": k},
                "alpha_k_anonymity": {"alpha": alpha, "k": k},
                "l_diversity": {"l": l},
                "entropy_l_diversity": {"l": entropy_l},
                "recursive_c_l_diversity": {"c": None if l == 1 else c, "l": l},
                "basic_beta_likeness": {"beta": beta},
                "enhanced_beta_likeness": {"beta": enhanced},
                "t_closeness": {"t": t},
                "delta_disclosure": {"delta": delta},
            }
        )
    )


def print_report(data: Any, quasi_ident: Iterable[str], sens_att: Iterable[str], gen: bool = True) -> None:
    """Print the report."""
    k, (alpha, _), l, entropy_l, (c, _), beta, enhanced, delta, t = get_report_values(
        data, quasi_ident, sens_att, gen
    )
    print("The dataset verifies:")
    for line in (
        f"k-anonymity with k = {k}",
        f"(alpha,k)-anonymity with alpha = {alpha} and k = {k}",
        f"l-diversity with l = {l}",
        f"entropy l-diversity with l = {entropy_l}",
        f"(c,l)-diversity with c = {c} and l = {l}",
        f"basic beta-likeness with beta = {beta}",
        f"enhanced beta-likeness with beta = {enhanced}",
        f"t-closeness with t = {t}",
        f"delta-disclosure privacy with delta = {delta}",
    ):
        print(f"  - {line}")
