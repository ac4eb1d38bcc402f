# SPDX-License-Identifier: Apache-2.0
"""The good utility of a table: what miners tell users of the original."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from anon.miners import CATEGORY_MINERS, NUMBER_MINERS
from anon.scenarios.asked import USERS, USERS_OF_NUMBERS, GoodUtility
from anon.scenarios.interest import ends_of, of_labels, of_numbers, on_lattice, values_of
from anon.scenarios.result import Decline, Preservation
from anon.scenarios.run import Run
from anon.scenarios.views import Predicted, View, chosen_miners


def preservation(run: Run, view: View, utility: GoodUtility) -> Preservation:
    """The good utility of a table, miner by miner, beside that of the original."""
    pairs = zip(_utility(run, run.original, utility), _utility(run, view, utility), strict=True)
    return Preservation(
        view.name,
        utility.target,
        tuple(
            Decline(
                before.miner.name,
                before.miner.family,
                u_orig,
                u_san,
                before.finished and after.finished,
                tuple(dict.fromkeys((*before.limits, *after.limits))),
            )
            for (u_orig, before), (u_san, after) in pairs
        ),
    )


def _utility(run: Run, view: View, utility: GoodUtility) -> list[tuple[float, Predicted]]:
    target = utility.target
    domain, truth = run.truth_of(view, target)
    numeric = domain.kind == "numeric"
    reference, default = (NUMBER_MINERS, USERS_OF_NUMBERS) if numeric else (CATEGORY_MINERS, USERS)
    miners = chosen_miners(utility.miners, reference, default)
    weight = run.weights(utility.weight)[view.at]
    error = utility.error
    assert not isinstance(error, str)
    cells = view.columns.get(target)
    if cells is None:
        limits = ("the column is not published",)
        nothing = np.empty(0, np.int64)
        return [(0.0, Predicted(miner, nothing, nothing, limits=limits)) for miner in miners]
    y: npt.NDArray[Any] = cells.of_class.astype(np.int64)
    if numeric:
        lower, upper = ends_of(cells)
        y = (lower / 2 + upper / 2)[y]
    known = (cells.low <= cells.high)[cells.of_class]
    by_miner = []
    for one in run.predict(view, target, miners, y, known, cross=True):
        scored = truth[one.at] >= 0
        at, values = one.at[scored], one.values[scored]
        if numeric:
            worth = of_numbers(error, on_lattice(values, domain), values_of(domain)[truth[at]], domain)
        else:
            worth = of_labels(error, values, truth[at], cells, domain)
        by_miner.append((float(np.sum(weight[at] * worth)), one))
    return by_miner
