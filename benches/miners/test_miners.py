# SPDX-License-Identifier: Apache-2.0
"""The reference sets of miners on Adult, ten folds."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import anon
from anon.encoding.table import encode
from anon.miners.cross import cross_predict, folds
from anon.miners.matrix import cells_of_values, features
from anon.miners.sets import CATEGORY_MINERS, NUMBER_MINERS

N_THREADS = 2


@pytest.mark.slow
@pytest.mark.adult
@pytest.mark.parametrize("target", ["salary-class", "age"])
def test_miners_of_adult(target: str, benchmark: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """Bar: 3 minutes on two cores for all miners of one kind."""
    table = anon.datasets.adult(Path(os.environ["ANON_DATA"]) / "adult")
    names = [name for name in table.column_names if name != target]
    encoded = encode(table, anon.Schema(names, [target]))
    X = features([cells_of_values(*pair) for pair in zip(encoded.quasi, encoded.quasi_codes, strict=True)])
    domain, codes = encoded.sensitive[0], encoded.sensitive_codes[0]
    miners = CATEGORY_MINERS if domain.positions is None else NUMBER_MINERS
    y = codes.astype(np.int64) if domain.positions is None else domain.positions[codes]
    fold = folds(len(y), 10, 0)
    start = time.process_time()
    predictions = benchmark.pedantic(
        lambda: cross_predict(miners, X, y, fold, 0, n_threads=N_THREADS), rounds=1
    )
    with capsys.disabled():
        print(
            f"\n{len(miners)} miners of {target}, {len(y)} rows, {X.shape[1]} features, 10 folds: "
            f"{benchmark.stats['min']:.0f} s (bar 180), {time.process_time() - start:.0f} s of processor time"
        )
        for one in predictions:
            print(f"  {one.miner}: {one.seconds:.1f} s {'; '.join(one.limits)}")
