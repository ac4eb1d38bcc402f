# SPDX-License-Identifier: Apache-2.0
"""Anonymize tabular microdata, and choose the release to publish by measurement."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from anon.version import __version__ as __version__

if TYPE_CHECKING:
    from anon.public import *  # noqa: F403
    from anon.public import __all__ as __all__


def __getattr__(name: str) -> Any:
    """A public name, asked for the first time: the rooms are imported then (PEP 562), once."""
    if name == "__all__" or not name.startswith("__"):
        public = import_module("anon.public")
        for each in ("__all__", *getattr(public, "__all__", ())):  # none yet while it is being imported
            if hasattr(public, each):
                globals().setdefault(each, getattr(public, each))
        if name in globals():
            return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__getattr__("__all__")})
