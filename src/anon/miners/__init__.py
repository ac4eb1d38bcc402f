# SPDX-License-Identifier: Apache-2.0
"""Learners that try what a release is good for, and what it gives away.

`CATEGORY_MINERS` and `NUMBER_MINERS` are the reference sets; `cross_predict` lets one predict from cells.
"""

from anon.miners.cross import cross_predict, fitted_predict, folds
from anon.miners.matrix import cells_of_values, features, numbers, shown
from anon.miners.miner import Miner, Prediction
from anon.miners.sets import CATEGORY_MINERS, NUMBER_MINERS

__all__ = [
    "CATEGORY_MINERS",
    "NUMBER_MINERS",
    "Miner",
    "Prediction",
    "cells_of_values",
    "cross_predict",
    "features",
    "fitted_predict",
    "folds",
    "numbers",
    "shown",
]
