# SPDX-License-Identifier: Apache-2.0
"""A page on the user's own machine, on which a whole job is done: roles, requirements, release, export.

`serve` shows a `Session` to the user alone until the page is closed; `Language` is how the command that
starts it reads and writes jobs. Nothing is computed here: every answer comes from the verbs of programs.
"""

from anon.explore.asked import Language
from anon.explore.server import serve
from anon.explore.session import Session

__all__ = ["Language", "Session", "serve"]
