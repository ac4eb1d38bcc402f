# SPDX-License-Identifier: Apache-2.0
"""Arrow to `Encoded`: per attribute a `Domain` and a column of dense codes.

Missing values end here: null is a code of its own, or its rows are suppressed.
"""

from anon.encoding.coding import Coding, coding_of
from anon.encoding.columns import coded_columns, encode_column, equal_codes, label_codes
from anon.encoding.domain import (
    Codes,
    Domain,
    Encoded,
    Missing,
    Rounds,
    Uncoded,
    Units,
    at_level,
    code_type,
    narrowed,
    of_published_rows,
)
from anon.encoding.table import encode, encode_like
from anon.encoding.units import encode_units, encode_weights, number_units

__all__ = [
    "Codes",
    "Coding",
    "Domain",
    "Encoded",
    "Missing",
    "Rounds",
    "Uncoded",
    "Units",
    "at_level",
    "code_type",
    "coded_columns",
    "coding_of",
    "encode",
    "encode_column",
    "encode_like",
    "encode_units",
    "encode_weights",
    "equal_codes",
    "label_codes",
    "narrowed",
    "number_units",
    "of_published_rows",
]
