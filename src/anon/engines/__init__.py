# SPDX-License-Identifier: Apache-2.0
"""The steps from encoded rows to classes, on one machine and on Spark."""

from anon.engines.local import check_arguments, compiled, partitioned, table_counts

__all__ = ["check_arguments", "compiled", "partitioned", "table_counts"]
