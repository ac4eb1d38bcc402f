# SPDX-License-Identifier: Apache-2.0
"""pycanon's functions over this engine: `from anon.compat.pycanon import anonymity, metrics, report`.

Names, signatures and types are those of pycanon 1.3.6. Where its answer is not what the definition
says, ours is, and the function's docstring names the difference. Everywhere: a missing
quasi-identifier is a value (pandas' groupby, and so pycanon, leaves such rows out), and a table need
not be a pandas DataFrame.
"""

from anon.compat.pycanon import anonymity, metrics, report

__all__ = ["anonymity", "metrics", "report"]
