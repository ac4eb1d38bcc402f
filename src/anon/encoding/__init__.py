# SPDX-License-Identifier: Apache-2.0
"""Arrow to `Encoded`: per attribute a `Domain` and a column of dense codes.

Missing values end here: null is a code of its own, or its rows are suppressed.
"""

from anon.encoding.columns import coded_columns, encode_column, equal_codes, label_codes
from anon.encoding.domain import Codes, Domain, Encoded, Missing, code_type, narrowed, of_published_rows
from anon.encoding.table import encode, encode_like

__all__ = [
    "Codes",
    "Domain",
    "Encoded",
    "Missing",
    "code_type",
    "coded_columns",
    "encode",
    "encode_column",
    "encode_like",
    "equal_codes",
    "label_codes",
    "narrowed",
    "of_published_rows",
]
