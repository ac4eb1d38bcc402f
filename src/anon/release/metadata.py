# SPDX-License-Identifier: Apache-2.0
"""What a written release says of itself."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from anon.errors import DataError
from anon.tables import Source

METADATA_KEY = "anon"
CLASS_ID = "class_id"
PAIR = "pair"  # in both files of a bucketization the same, in no others


def sensitive_path(path: str | os.PathLike[str]) -> Path:
    """Where the sensitive table of a bucketization written to `path` lies."""
    path = Path(path)
    return path.with_name(f"{path.stem}.sensitive{path.suffix}")


def read_metadata(path: str | os.PathLike[str]) -> dict[str, Any] | None:
    """What a file written by `Release.write` says about itself; None where it says nothing (CSV too)."""
    suffix = Path(path).suffix.lower()
    try:
        if suffix in PARQUET:
            with open(path, "rb") as source:
                stored = pq.read_metadata(source).metadata
        elif suffix in FEATHER:
            with open(path, "rb") as source, pa.ipc.open_file(source) as reader:
                stored = reader.schema.metadata
        else:
            return None
        text = (stored or {}).get(METADATA_KEY.encode())
        found = None if text is None else json.loads(text)
    except (OSError, ValueError) as error:
        raise DataError(f"cannot read the metadata of {os.fspath(path)!r}; is it a whole file?") from error
    return found if isinstance(found, dict) else None


PARQUET = (".parquet", ".pq")
FEATHER = (".feather", ".arrow", ".ipc")
CSV = (".csv",)


def metadata_of(source: Source) -> dict[str, Any] | None:
    """What a release says about itself; None for a table that this package did not make."""
    try:
        if len(source.paths) == 1:
            told = read_metadata(source.paths[0])
        else:
            told = json.loads((source.table.schema.metadata or {}).get(METADATA_KEY.encode(), b"null"))
    except (ValueError, RecursionError):  # another's text under our key
        return None
    return told if _is_ours(told) else None


def _is_ours(told: Any) -> bool:
    try:
        cells, kinds, roles = told["cells"], told["kinds"], told["roles"]
        shown = [text for cell in cells.values() for text in (cell["meaning"], *cell["columns"])]
        words = [*kinds.values(), *roles["quasi"], *roles["sensitive"], *told["requirements"], *shown]
        words += [name for key in ("hierarchies", "orders") for name, _ in told.get(key, {}).items()]
        return set(cells) <= set(kinds) and all(isinstance(word, str) for word in [told["publish"], *words])
    except (AttributeError, KeyError, TypeError):
        return False
