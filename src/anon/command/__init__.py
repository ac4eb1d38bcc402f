# SPDX-License-Identifier: Apache-2.0
"""The command line: options, job files, words on the terminal, and `main`."""

from anon.command.entry import main

__all__ = ["main"]
