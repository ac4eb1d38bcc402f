# SPDX-License-Identifier: Apache-2.0
"""The process that Spark forks its Python workers from, where they are processes of this machine.

What every worker would import anew is imported here, once, and PySpark from where it was installed: in the
archive beside Spark, which comes first otherwise, Python has to compile it.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.machinery import PathFinder


def main() -> None:
    """Import what workers need, then do what Spark asks for."""
    installed = [each for each in sys.path if not each.endswith(".zip")]
    if PathFinder.find_spec("pyspark", installed):
        sys.path[:] = installed
    for needed in ("pandas", "pyspark.worker"):
        import_module(needed)
    from pyspark.daemon import manager

    manager()


if __name__ == "__main__":
    main()
