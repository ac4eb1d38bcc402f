# SPDX-License-Identifier: Apache-2.0
"""People with equal quasi-identifiers are not dealt out by their sensitive values."""

from __future__ import annotations

from typing import Any

import pytest

import anon
from attacks.ties import METHODS, apart


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_buckets_of_equal_people_are_not_told_apart(method: Any) -> None:
    """Two parts of at least four rows are apart by chance in less than a tenth of the pairs."""
    n_apart, pairs = apart(6_000 if isinstance(method, anon.Curve) else 3000, method)
    assert pairs > 20
    assert n_apart <= 3 + 0.4 * pairs
