# SPDX-License-Identifier: Apache-2.0
"""The steps from encoded rows to classes, on one machine and on Spark."""

from anon.engines.local import (
    Judged,
    Made,
    balanced_instead,
    check_arguments,
    make,
    notes_on_neutral,
    shared_keys,
)

__all__ = [
    "Judged",
    "Made",
    "balanced_instead",
    "check_arguments",
    "make",
    "notes_on_neutral",
    "shared_keys",
]
