# SPDX-License-Identifier: Apache-2.0
"""What makes classes of encoded rows, for every verb and engine."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import anon
from anon.classes import Classes
from anon.encoding import Encoded, encode
from anon.engines import Judged, make
from anon.errors import InfeasibleError

REQUIRE = [anon.KAnonymity(2), anon.TCloseness(0.6, "equal")]


def part_and_whole() -> tuple[Encoded, Encoded]:
    """Of 40 rows, 36 with p, the first 8: four with p, then four with q."""
    table = pa.table({"age": range(40), "s": [*"ppppqqqq", *"p" * 32]})
    whole = encode(table, anon.Schema(["age"], ["s"]))
    part = replace(
        whole,
        table=table.slice(0, 8),
        quasi_codes=tuple(codes[:8] for codes in whole.quasi_codes),
        sensitive_codes=tuple(codes[:8] for codes in whole.sensitive_codes),
    )
    return part, whole


def test_a_part_of_a_table_is_judged_by_the_whole() -> None:
    """A class of q only is half a table away from the part, but nine tenths from the whole."""
    part, whole = part_and_whole()
    alone = make(part, anon.Mondrian(), REQUIRE)
    judged = make(part, anon.Mondrian(), REQUIRE, judged=replace(Judged.whole(whole), encoded=part))
    codes = part.sensitive_codes[0]

    def of_q_only(classes: Classes) -> bool:
        return any(codes[rows].all() for rows in np.split(classes.rows, classes.offsets[1:-1]))

    assert of_q_only(alone.classes)
    assert not of_q_only(judged.classes)
    assert judged.classes.n_classes > 1
    assert judged.release(requirements=()).table.num_rows == 8


def test_what_a_method_implies_is_required_and_what_cannot_be_is_one_class() -> None:
    part, _ = part_and_whole()
    made = make(part, anon.Anatomy(2), (), publish="bucketization")
    assert made.require == (anon.LDiversity(2, "probabilistic"),)
    assert made.release().requirements == made.require
    with pytest.raises(InfeasibleError, match="9-anonymity"):
        make(part, anon.Mondrian(), [anon.KAnonymity(9)])
    made = make(part, anon.Mondrian(), [anon.KAnonymity(9)], trivial=True)
    assert (made.classes.n_classes, made.method) == (1, anon.Suppress("quasi"))
    assert made.impossible is not None
    assert made.impossible.tightest == 8
    assert not made.release().meets_requirements
