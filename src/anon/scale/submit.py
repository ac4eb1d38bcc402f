# SPDX-License-Identifier: Apache-2.0
"""A job file on Spark: `spark-submit submit.py job.toml`, or the command with `--engine spark`."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from anon.errors import AnonError, DataError, UsageError
from anon.job import Job, load_job
from anon.privacy import Privacy
from anon.scale.spark import anonymize_spark, check_asked, measure_release

if TYPE_CHECKING:
    from anon.methods import Progress


def run(job: Job, progress: Progress | None = None) -> Privacy:
    """Anonymize the Parquet table of a job into a folder of Parquet files; what was measured of the release.

    A bucketization writes its sensitive table beside it, as on one machine. The folders get their names
    when they are complete; one that exists is refused.
    """
    try:
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession
    except ImportError:
        raise UsageError("Spark is not installed: pip install 'anon[spark]'") from None
    if "PYSPARK_GATEWAY_PORT" not in os.environ:  # not under spark-submit: workers of this machine
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    schema, options = job.roles(), job.options()
    if job.input is None or job.output is None or schema is None:
        raise UsageError("a job on Spark needs an input, an output and the roles of the columns")
    if options.pop("order", "class") != "class":
        raise UsageError("rows have no order on Spark: leave out order = 'input'")
    if options.pop("on_infeasible", "error") != "error":
        raise UsageError("a trivial release is for one machine: leave out on_infeasible = 'trivial'")
    if PurePosixPath(job.input).suffix.lower() not in ("", ".parquet", ".pq"):
        raise UsageError("Spark reads Parquet, a file, a folder or a glob: convert the input first")
    options.pop("n_threads", None)
    require, method = job.requirements(), job.configured_method()
    check_asked(
        *(schema, method, require), **{name: given for name, given in options.items() if name != "missing"}
    )
    spark = SparkSession.builder.appName("anon").getOrCreate()
    path = PurePosixPath(job.output)
    beside = job.output.removesuffix(path.suffix) + ".sensitive" + path.suffix
    outputs = [job.output, beside] if job.publish == "bucketization" else [job.output]
    for output in outputs:
        if _exists(spark, output):
            raise DataError(f"{output!r} exists: remove it, or write elsewhere")
    try:
        df = spark.read.parquet(job.input)
    except PySparkException:
        raise DataError(f"{job.input!r} is not there, or is not Parquet that Spark can read") from None
    made = anonymize_spark(df, schema, require=require, method=method, progress=progress, **options)
    releases = made if isinstance(made, tuple) else (made,)
    try:
        for release, output in zip(releases, outputs, strict=True):
            release.write.mode("overwrite").parquet(output + ".unfinished")
        _move_all(spark, outputs)
        shown = {attribute.name for attribute in schema.quasi}
        if not isinstance(made, tuple):
            shown = {*made.columns} - ({*df.columns} - shown)
        sensitive = schema.bind(df.limit(0).toArrow().schema).sensitive
        return measure_release(made, [name for name in releases[0].columns if name in shown], sensitive)
    finally:
        for release in releases:
            release.unpersist()
        for output in outputs:
            _remove(spark, output + ".unfinished")


def _files(spark: Any, path: str) -> tuple[Any, Any]:
    """Hadoop's file system of a path, and the path in it."""
    place = spark._jvm.org.apache.hadoop.fs.Path(path)
    return place.getFileSystem(spark._jsc.hadoopConfiguration()), place


def _exists(spark: Any, path: str) -> bool:
    files, place = _files(spark, path)
    return bool(files.exists(place))


def _move_all(spark: Any, outputs: Sequence[str]) -> None:
    """Give the finished folders their names, all or none."""
    moved: list[str] = []
    try:
        for output in outputs:
            _move(spark, output + ".unfinished", output)
            moved.append(output)
    except BaseException:
        for output in moved:
            _remove(spark, output)
        raise


def _move(spark: Any, old: str, new: str) -> None:
    files, place = _files(spark, old)
    if not files.rename(place, _files(spark, new)[1]):
        raise DataError(f"cannot write {new!r}; nothing was written")


def _remove(spark: Any, path: str) -> None:
    files, place = _files(spark, path)
    files.delete(place, True)


def main() -> None:
    """Run the job file named on the command line and print what was measured, as JSON."""
    try:
        if len(sys.argv) != 2:
            raise UsageError("name one job file: spark-submit submit.py job.toml")
        privacy = run(load_job(sys.argv[1], {}))
    except AnonError as error:
        sys.stderr.write(f"error: {error}\n")
        sys.exit(error.exit_code)
    print(json.dumps(privacy.to_dict()))


if __name__ == "__main__":
    main()
