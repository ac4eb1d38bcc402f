# SPDX-License-Identifier: Apache-2.0
"""The bad utility of a table: what miners tell adversaries that the table does not show."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from anon.classes import group
from anon.encoding import Codes
from anon.measures import measure_privacy as measure
from anon.miners import CATEGORY_MINERS, NUMBER_MINERS
from anon.scenarios.asked import BadUtility
from anon.scenarios.interest import distances, ends_of, nearer, on_lattice, single_values, values_of
from anon.scenarios.result import Antiutility, Attack
from anon.scenarios.run import Run
from anon.scenarios.views import (
    Filled,
    Predicted,
    View,
    chosen_miners,
    distance_between,
    refuse_other_times,
    shows_values,
    values_shown,
)
from anon.schema import Role


def attack(run: Run, view: View, threat: BadUtility) -> Attack:
    """The bad utility of a table, miner by miner, and the gains with and without predictions."""
    target, chosen = threat.target, _chosen(run, threat.chosen)
    weight = run.weights(threat.weight)
    if chosen is not None:
        weight = np.where(np.isin(run.ranked, chosen), weight, 0.0)
    results: list[Antiutility] = []
    worst: tuple[float, Filled] | None = None
    for one, filled in _nearer(run, view, threat):
        u_bad = float(np.sum(weight[view.at[filled.at]]))
        results.append(Antiutility(one.miner.name, one.miner.family, u_bad, len(filled.at), one.limits))
        if len(filled.at) and (worst is None or u_bad > worst[0]):
            worst = u_bad, filled
    if not view.gains:
        view.gains.append(_gains(run, view))
    [before] = view.gains
    after = before if worst is None else _gains(run, view, target, worst[1])
    if run.encoded.schema.role(target) is not Role.QUASI:
        after = (None, None)
    return Attack(
        view.name,
        target,
        threat.name,
        threat.nearness,
        tuple(results),
        chosen,
        *before,
        *after,
    )


def _chosen(run: Run, share: float | None) -> npt.NDArray[np.uint32] | None:
    """The rows that an adversary is after: drawn by rank, so that the order of rows does not matter."""
    if share is None:
        return None
    n_chosen = max(math.floor(Fraction(str(share)) * len(run.ranked)), 1)
    picked = np.random.default_rng(run.seed).choice(len(run.ranked), n_chosen, replace=False)
    return np.sort(run.ranked[picked]).astype(np.uint32)


def _nearer(run: Run, view: View, threat: BadUtility) -> list[tuple[Predicted, Filled]]:
    """What each miner predicts nearer to the truth than the table shows."""
    target = threat.target
    cells = view.columns.get(target)
    if cells is None:
        return []
    domain, truth = run.truth_of(view, target)
    known = (cells.low <= cells.high)[cells.of_class]
    shown_as_numbers = domain.kind == "numeric" and shows_values(cells)
    if shown_as_numbers:
        refuse_other_times(domain, cells.domain, view.name)
        miners = chosen_miners(threat.number_miners, NUMBER_MINERS)
        y: npt.NDArray[Any] = ends_of(cells)[0][cells.of_class]
    else:
        miners = chosen_miners(threat.miners, CATEGORY_MINERS)
        y = cells.of_class.astype(np.int64)
    by_miner = []
    for one in run.predict(view, target, miners, y, known, threat.cross_fit):
        scored = truth[one.at] >= 0
        at, values = one.at[scored], one.values[scored]
        true = truth[at]
        if shown_as_numbers:
            values, numbers = on_lattice(values, domain), values_of(domain)[true]
            apart = [distance_between(threat.distance, each, numbers) for each in (values, y[at])]
            same = values == numbers
        else:
            apart = [distances(cells, each, true, threat.distance) for each in (values, y[at])]
            same = single_values(cells)[values] & (cells.low[values] == true)
        near = nearer(apart[0], apart[1], same, threat.nearness)
        by_miner.append((one, Filled(at[near], values[near])))
    return by_miner


def _gains(
    run: Run, view: View, target: str = "", filled: Filled | None = None
) -> tuple[float | None, float | None]:
    """A_know and A_acc of a table, with predictions of `target` filled in.

    None where the table shows noise, or something else than single values of a sensitive attribute.
    """
    if not view.comparable or not run.encoded.sensitive:
        return None, None
    domains = list(run.encoded.sensitive)
    sensitive: list[Codes | None] = []
    for i, domain in enumerate(domains):
        cells = view.columns.get(domain.name)
        if cells is not None and not shows_values(cells):
            return None, None
        if cells is None:
            sensitive.append(None)
        else:
            domains[i], codes = values_shown(cells)
            sensitive.append(codes)
    quasi: list[Codes] = [np.zeros(len(view.at), np.uint32)]
    for domain in run.encoded.quasi:
        cells = view.columns.get(domain.name)
        if cells is None:
            continue
        codes = cells.of_class
        if filled is not None and domain.name == target:
            if filled.values.dtype == np.float64:
                shown_values = ends_of(cells)[0][codes]
                shown_values[(cells.low > cells.high)[codes]] = np.nan
                shown_values[filled.at] = filled.values
                codes = np.unique(shown_values, return_inverse=True)[1].astype(np.uint32)
            else:
                codes = codes.copy()
                codes[filled.at] = filled.values
        quasi.append(codes)
    measured = measure(
        group(quasi, n_threads=run.n_threads),
        domains,
        sensitive,
        at_risk=(),
        joint=False,
        n_threads=run.n_threads,
    )
    return measured.a_know, measured.a_acc
