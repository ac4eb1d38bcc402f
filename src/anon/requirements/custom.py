# SPDX-License-Identifier: Apache-2.0
"""A requirement of one's own."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from anon.encoding import Domain
from anon.errors import UsageError
from anon.requirements.requirement import Counts, Requirement, set_parameter

SIGNATURE = (
    "int32(CPointer(int64), CPointer(int64), int64, CPointer(int64), int64, int64, int64, CPointer(float64))"
)
"""For `numba.cfunc`: (values, counts, n_present, table_counts, n_values, class_size, n_rows, params)."""

_COUNTS_POINTER = ctypes.POINTER(ctypes.c_int64)
_ARGUMENTS = (
    *(_COUNTS_POINTER, _COUNTS_POINTER, ctypes.c_int64, _COUNTS_POINTER),
    *(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.POINTER(ctypes.c_double)),
)


@dataclass(frozen=True, repr=False)
class Custom(Requirement):
    """A user's own test, a Numba `cfunc` with `SIGNATURE`; non-zero means that the class passes.

    `params` (floats) is handed to it. It is called from several threads at once, without Python. A
    table that fails it as one class is taken as infeasible.
    """

    cacheable: ClassVar[bool] = False
    of_table: ClassVar[bool] = True  # it is handed its counts
    on_spark: ClassVar[bool] = False

    cfunc: Any
    params: tuple[float, ...] = ()
    name: str = "custom requirement"
    sensitive: str | None = None

    def __post_init__(self) -> None:
        try:
            set_parameter(self, "params", tuple(map(float, self.params)))
        except (TypeError, ValueError, OverflowError):
            raise UsageError(f"{self.name}: params must be a list of numbers") from None
        signature = getattr(self.cfunc, "ctypes", None)
        if (
            not isinstance(getattr(self.cfunc, "address", None), int)
            or tuple(getattr(signature, "argtypes", ())) != _ARGUMENTS
            or getattr(signature, "restype", None) is not ctypes.c_int32
        ):
            raise UsageError(f"{self.name}: cfunc must be made by numba.cfunc(anon.requirements.SIGNATURE)")

    @property
    def monotone(self) -> bool:
        return False

    @property
    def family(self) -> str:
        return self.name

    def settings(self) -> dict[str, Any]:
        return {key: value for key, value in super().settings().items() if key != "cfunc"}

    def _rule(self, a: int, domain: Domain, counts: Counts) -> tuple[Any, ...]:
        return "custom", a, self.cfunc, np.array(self.params, dtype=np.float64)

    def __str__(self) -> str:
        return self._describe(self.name)

    def __repr__(self) -> str:
        return f"Custom({self.name!r}, params={self.params!r}, sensitive={self.sensitive!r})"
