# SPDX-License-Identifier: Apache-2.0
"""Anonymize and check Spark data frames."""

from anon.engines.spark import anonymize_spark, check_spark

__all__ = ["anonymize_spark", "check_spark"]
