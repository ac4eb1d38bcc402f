# SPDX-License-Identifier: Apache-2.0
"""Spark's process that starts Python workers (`spark.python.daemon.module`), with what their tasks import:
each worker is a copy of it, which then need not import it again.
"""

from __future__ import annotations

from pyspark.daemon import manager

from anon.engines.spark import solve  # and so all that a task uses

__all__ = ["manager", "solve"]

if __name__ == "__main__":
    manager()
