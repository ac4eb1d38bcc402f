# SPDX-License-Identifier: Apache-2.0
"""A folder that keeps what was computed once, for its owner alone.

Whoever can read a file there learns what it holds; whoever can only list the folder, or sees the name of
a file elsewhere, learns nothing: names are keyed with a secret of the folder, and so is a code of every
file's content, by which a file that is damaged, or is not of this folder, counts as absent.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import math
import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import anoncore
from anon.classes import texts
from anon.errors import UsageError
from anon.tables import content_of, opened, replacing, write_new

HOUSE = Path(__file__).parents[1]
SECRET = "key"
SECRET_BYTES = 32
CODE_CHARACTERS = 64  # of a content's code, in hexadecimal

_CONSTANTS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


@dataclass(frozen=True)
class Cache:
    """An open cache."""

    folder: Path
    secret: bytes = field(repr=False)

    def path(self, key: bytes) -> Path:
        """The file of what `key`, all that it depends on, names."""
        return self.folder / f"{self._code(key).hex()}.json"

    def read(self, path: Path) -> Any:
        """What a file holds; None where it is not there, or not as it was written."""
        try:
            content = content_of(path)
            code, text = content[:CODE_CHARACTERS], content[CODE_CHARACTERS:]
            if not hmac.compare_digest(code, self._code(path.name.encode() + text).hex().encode()):
                return None
            return json.loads(text, parse_constant=_CONSTANTS.__getitem__)
        except (OSError, ValueError, KeyError, RecursionError):
            return None

    def write(self, path: Path, entry: Mapping[str, Any]) -> None:
        """Keep it, in a file that appears when it is complete; not where something else has its name."""
        if path.exists() and not path.is_file():
            return
        text = b"\n" + json.dumps(entry).encode()
        with replacing([path], most=0o600) as [temporary], opened(temporary) as file:
            file.write(self._code(path.name.encode() + text).hex().encode() + text)

    def _code(self, content: bytes) -> bytes:
        return hmac.digest(self.secret, content, "sha256")


def open_cache(folder: str | os.PathLike[str]) -> Cache:
    """The cache in a folder, which is made where it is not there.

    Raises UsageError where the folder cannot be had, or others than its owner may enter it. It is not
    closed to them here: it may be one that they share for other things, and what they could write into
    it before would still be there.
    """
    path = Path(folder)
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = path.stat()
        if hasattr(os, "geteuid") and (status.st_mode & 0o077 or status.st_uid != os.geteuid()):
            raise UsageError(
                f"the cache {str(folder)!r} is open to others than you, and holds what is for the owner of "
                "the data alone: name a new folder, or close this one (chmod 700)"
            )
        return Cache(path, _secret(path / SECRET))
    except OSError as error:
        raise UsageError(
            f"the cache {str(folder)!r} cannot be used: {os.strerror(error.errno or 0)}; name a folder"
        ) from None


def _secret(path: Path) -> bytes:
    """The folder's secret, drawn where there is none that only its owner can have read."""
    for _ in range(2):
        with suppress(OSError):
            secret = content_of(path, private=True)
            if len(secret) == SECRET_BYTES:
                return secret
        if os.path.lexists(path):
            path.unlink()
        drawn = secrets.token_bytes(SECRET_BYTES)
        if write_new(path, drawn):
            return drawn
    raise OSError(None, "its key changes while it is read")


@cache
def build_id() -> str:
    """SHA-256 of the code that computes: the compiled kernels, and the modules around them, as they lie here.

    Two builds of one version can differ in what they compute.
    """
    digest = hashlib.sha256()
    for roots, suffixes in ((anoncore.__path__, tuple(EXTENSION_SUFFIXES)), ([str(HOUSE)], (".py",))):
        for root in roots:
            for path in sorted(Path(root).rglob("*")):
                if path.name.endswith(suffixes):
                    content = path.read_bytes()
                    digest.update(f"{path.relative_to(root)}:{len(content)}:".encode())
                    digest.update(content)
    return digest.hexdigest()


@dataclass(frozen=True)
class Outcome:
    """What is learned from one release, and kept in the cache: numbers, and why there are none."""

    measures: Mapping[str, float]
    classes: int
    seconds: float
    satisfied: bool
    why: str | None


def digest_of(*things: Any) -> bytes:
    """SHA-256 of the content of arrays, texts, numbers and dataclasses of these."""
    digest = hashlib.sha256()

    def feed(thing: Any) -> None:
        digest.update(f"{type(thing).__name__}:".encode())
        if isinstance(thing, np.ndarray):
            digest.update(f"{thing.dtype}{thing.shape}".encode())
            digest.update(np.ascontiguousarray(thing).data)
        elif isinstance(thing, pa.Array):
            digest.update(str(thing.type).encode())
            feed(texts(thing))
        elif is_dataclass(thing):
            for each in fields(thing):
                feed(getattr(thing, each.name))
        elif isinstance(thing, list | tuple):
            digest.update(f"{len(thing)}".encode())
            for item in thing:
                feed(item)
        else:
            text = repr(thing).encode()
            digest.update(f"{len(text)}:".encode() + text)

    feed(things)
    return digest.digest()
