# SPDX-License-Identifier: Apache-2.0
"""All measures of a release with one sensitive attribute, against polars' group_by, two threads."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from anon.classes.classes import Classes, group
from anon.encoding.domain import Domain
from anon.measures.privacy import measure

N_THREADS = 2
SIZES = (10, 7, 7, 7, 6, 2, 6, 7)


@pytest.fixture(scope="module")
def columns(n_rows: int) -> list[np.ndarray]:
    """Eight skewed QI columns (at 10 M rows about 600,000 classes) and a 14-value SA."""
    rng = np.random.default_rng(0)
    quasi = [np.minimum(rng.geometric(min(0.55, 3.2 / d), n_rows) - 1, d - 1) for d in SIZES]
    sensitive = np.minimum(rng.geometric(0.2, n_rows) - 1, 13)
    return [column.astype(np.uint8) for column in (*quasi, sensitive)]


@pytest.fixture(scope="module")
def classes(columns: list[np.ndarray]) -> Classes:
    return group(columns[:8], None, N_THREADS)


def test_measure(columns: list[np.ndarray], classes: Classes, versus: Callable[..., float]) -> None:
    frame = pl.DataFrame({f"c{i}": column for i, column in enumerate(columns)})
    domain = Domain("s", "nominal", pa.array([f"v{i:02}" for i in range(14)]), False)
    privacy = measure(classes, [domain], [columns[8]], n_threads=N_THREADS)
    assert privacy.p_loss is not None
    assert 0 < privacy.p_loss < 0.7
    versus(
        f"all privacy measures, {len(frame):,} rows in {classes.n_classes:,} classes, {N_THREADS} threads",
        lambda: measure(classes, [domain], [columns[8]], n_threads=N_THREADS),
        f"polars {pl.__version__} group_by(8 + SA).len(), {pl.thread_pool_size()} threads",
        lambda: frame.group_by(frame.columns).len(),
        bar=0.5,
    )
