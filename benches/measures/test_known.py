# SPDX-License-Identifier: Apache-2.0
"""Judging neutral columns beside the re-check of the same release."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import anon
from anon.encoding import of_published_rows
from anon.release.recheck import recheck

QUASI = ["age", "sex", "education", anon.nominal("postcode", hierarchy=anon.prefix(4, 3, 2))]


@pytest.mark.filterwarnings("ignore::anon.PrivacyWarning")
def test_known(versus: Callable[..., float], n_rows: int) -> None:
    table = anon.datasets.census(n_rows, seed=0)
    schema = anon.Schema(QUASI, ["occupation"], neutral="rest")
    release = anon.anonymize(table, schema, require=[anon.KAnonymity(10), anon.LDiversity(2)])
    judged = of_published_rows(release.encoded)
    assert len(release.neutral) == 10
    versus(
        f"known: 10 neutral columns, {n_rows:,} rows",
        lambda: release.known(n_threads=2),
        "the re-check",
        lambda: recheck(
            judged, release.classes, release.columns, release.requirements, numeric="interval", n_threads=2
        ),
        bar=0.5,
    )
