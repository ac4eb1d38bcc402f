# SPDX-License-Identifier: Apache-2.0
"""People held out of a release, so that attackers have some to compare with who were never in it."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from anon.encoding import encode_units
from anon.entropy import Entropy, permutation, system
from anon.errors import Parameter, PrivacyWarning, UsageError
from anon.release import HeldOut, Release
from anon.schema import Schema
from anon.tables import Source

CONTROL = Parameter("control", "--control")


def refuse_share(control: float | None, in_files: str | None) -> None:
    """Raise UsageError where this share of a table cannot be held out."""
    if control is None:
        return
    is_number = isinstance(control, int | float) and not isinstance(control, bool)
    if not is_number or not math.isfinite(control) or not 0 < control < 1:
        raise UsageError(CONTROL, " must be the share of rows to hold out, between 0 and 1, such as 0.2")
    if in_files is not None:
        raise UsageError(
            CONTROL,
            " holds rows out of a table in memory, and this one stays in its files: hold it in memory, ",
            Parameter('read_source(path, engine="local")', "--engine local"),
            ", or leave it out",
        )


def split(
    table: pa.Table, schema: Schema, control: float, entropy: Entropy = system
) -> tuple[pa.Table, pa.Table]:
    """The rows that stay and those held out, drawn by the operating system.

    With a unit all rows of a person are drawn together. UsageError where nobody would be left on one side.
    """
    rows: npt.NDArray[np.int64] = np.arange(table.num_rows)
    of_row, n = (rows, len(rows))
    if schema.unit is not None:
        units = encode_units(table, schema.unit)
        of_row, n = units.codes.astype(np.int64), units.n
    n_out = round(control * n)
    if not 0 < n_out < n:
        raise UsageError(CONTROL, f": {control:g} of {n} leaves nobody on one side; hold out another share")
    is_out = np.zeros(n, np.bool_)
    is_out[permutation(n, entropy)[:n_out]] = True
    out = is_out[of_row]
    return table.filter(pa.array(~out)), table.filter(pa.array(out))


def held_out(source: Source, schema: Schema, control: float, make: Callable[[Source], Release]) -> HeldOut:
    """People held out, and the release that `make` makes of the others."""
    assert isinstance(source.table, pa.Table)
    kept, out = split(source.table, schema, control)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)  # the release of all rows has said it
        trial = make(replace(source, table=kept))
    return HeldOut(kept, trial, out)
