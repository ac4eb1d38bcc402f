# SPDX-License-Identifier: Apache-2.0
"""What a written release says of itself."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
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
        metadata = None if text is None else json.loads(text)
    except (OSError, ValueError) as error:
        raise DataError(f"cannot read the metadata of {os.fspath(path)!r}; is it a whole file?") from error
    return metadata if isinstance(metadata, dict) else None


PARQUET = (".parquet", ".pq")
FEATHER = (".feather", ".arrow", ".ipc")
CSV = (".csv",)


def metadata_of(source: Source) -> dict[str, Any] | None:
    """What a release says about itself; None for a table that this package did not make."""
    try:
        if len(source.paths) == 1:
            metadata = read_metadata(source.paths[0])
        else:
            metadata = json.loads((source.table.schema.metadata or {}).get(METADATA_KEY.encode(), b"null"))
    except (ValueError, RecursionError):  # another's text under our key
        return None
    return metadata if _is_ours(metadata) else None


def perturbed_by(metadata: Mapping[str, Any] | None) -> dict[str, str]:
    """The columns that a release perturbed beside its classes, and by which kind of perturbation."""
    listed = (metadata or {}).get("perturbed")
    found: dict[str, str] = {}
    for each in listed if isinstance(listed, list) else ():
        if isinstance(each, dict) and isinstance(each.get("attributes"), dict):
            found |= dict.fromkeys(each["attributes"], str(each.get("kind")))
    return found


def note_on_perturbed(columns: Mapping[str, str]) -> str | None:
    """What is said of columns that were perturbed beside the classes; None where there are none."""
    if not columns:
        return None
    listed = ", ".join(f"{name!r} ({kind})" for name, kind in columns.items())
    return f"perturbed: {listed}; the requirements and the re-check say nothing of these values"


def _is_ours(metadata: Any) -> bool:
    try:
        cells, kinds, roles = metadata["cells"], metadata["kinds"], metadata["roles"]
        texts = [text for cell in cells.values() for text in (cell["meaning"], *cell["columns"])]
        words = [*kinds.values(), *roles["quasi"], *roles["sensitive"], *metadata["requirements"], *texts]
        words += [name for key in ("hierarchies", "orders") for name, _ in metadata.get(key, {}).items()]
        return set(cells) <= set(kinds) and all(
            isinstance(word, str) for word in [metadata["publish"], *words]
        )
    except (AttributeError, KeyError, TypeError):
        return False
