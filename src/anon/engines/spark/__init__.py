# SPDX-License-Identifier: Apache-2.0
"""The same steps on a Spark data frame of any size: loaded on demand."""

from anon.engines.spark.anonymize import anonymize_spark, check_asked, release_spark, write_release
from anon.engines.spark.check import check_spark, measure_release
from anon.engines.spark.classes import arrow_schema

__all__ = [
    "anonymize_spark",
    "arrow_schema",
    "check_asked",
    "check_spark",
    "measure_release",
    "release_spark",
    "write_release",
]
