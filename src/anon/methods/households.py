# SPDX-License-Identifier: Apache-2.0
"""The size of households, which is a quasi-identifier where the schema names any."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from anon.encoding import Codes, Domain, Units, code_type


def sizes_of(units: Units) -> tuple[Domain, Codes]:
    """The number of rows of each row's household, as an attribute and its code of every row."""
    sizes, code = np.unique(np.bincount(units.codes, minlength=units.n), return_inverse=True)
    positions = (sizes - sizes[0]).astype(np.float64)
    domain = Domain("size of the household", "numeric", pa.array(sizes), False, positions, True)
    return domain, code.astype(code_type(len(sizes)))[units.codes]
