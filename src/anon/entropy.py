# SPDX-License-Identifier: Apache-2.0
"""Random numbers that hide something: from the operating system, never from a seed.

Which row stands where in a class, which sensitive value meets which row and which number a bucket has
are drawn here. A seed that is published with the command would undo them, and so might whoever finds the
state of a generator that is not made for secrets.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from anoncore.classes import shuffle

Entropy = Callable[[int], npt.NDArray[np.uint64]]
"""entropy(n): the next n random numbers, each of 64 bits."""

KEY_BYTES = 32


def system(n: int) -> npt.NDArray[np.uint64]:
    """Random numbers (uint64, n) of the operating system; nobody can draw them again."""
    return np.frombuffer(os.urandom(8 * n), np.uint64)


def new_key() -> bytes:
    """A key for `keyed`, of the operating system."""
    return os.urandom(KEY_BYTES)


def keyed(key: bytes, number: int = 0) -> Entropy:
    """A stream of random numbers that only the key and the number tell: SHAKE-256 of both and of the call.

    For work that may be run again and must then draw the same. It hides as much as the key is secret.
    """
    if len(key) != KEY_BYTES:
        raise ValueError(f"a key has {KEY_BYTES} bytes")
    calls = 0

    def entropy(n: int) -> npt.NDArray[np.uint64]:
        nonlocal calls
        label = number.to_bytes(8, "little") + calls.to_bytes(8, "little")
        calls += 1
        drawn = np.frombuffer(hashlib.shake_256(key + label).digest(8 * n), "<u8")
        return drawn.astype(np.uint64, copy=False)

    return entropy


def permutation(n: int, entropy: Entropy) -> npt.NDArray[np.uint32]:
    """The numbers 0..n-1 (uint32) in random order, every order with equal chance up to n / 2**64."""
    return shuffle(np.arange(n, dtype=np.uint32), np.unique([0, n]).astype(np.int64), entropy(n))


def uniform(n: int, entropy: Entropy = system) -> npt.NDArray[np.float64]:
    """Random numbers (float64, n) strictly between 0 and 1, each the middle of one of 2**53 equal parts."""
    return ((entropy(n) >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
