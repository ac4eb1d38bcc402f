# SPDX-License-Identifier: Apache-2.0
"""A job file on Spark: `spark-submit submit.py job.toml`, or the command with `--engine spark`."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from threading import current_thread, main_thread
from typing import TYPE_CHECKING, Any

from anon.command.job import Job
from anon.engines.spark import arrow_schema, check_asked, measure_release, release_spark, write_release
from anon.errors import DataError, PrivacyWarning, UsageError
from anon.measures import Privacy
from anon.methods import chosen
from anon.release import counts_rows, note_on_one_class
from anon.requirements import flag

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from anon.methods import Progress

SUFFIXES = (".parquet", ".pq")
PARTITIONS = "spark.sql.shuffle.partitions"
ALONE: dict[str, Any] = {
    "spark.ui.showConsoleProgress": "false",
    "spark.ui.enabled": "false",
}
LEAST_MEMORY = 1 << 30  # of Java, in bytes; a quarter of the machine's where that is more
CONTAINER = Path("/sys/fs/cgroup/memory.max")  # what this process may take, where that is bounded
# Java compiles twice what runs often, the second time at length, which one job seldom earns back; and it
# tidies its memory when it must, not beside the work
STARTER = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
LATER = (
    "-XX:Tier4InvocationThreshold=100000 -XX:Tier4MinInvocationThreshold=12000 "
    "-XX:Tier4CompileThreshold=300000 -XX:Tier4BackEdgeThreshold=800000 -XX:+UseParallelGC"
)
ERRORS = Path(__file__).with_name("log4j2.properties")  # a log of errors only


def run(job: Job, progress: Progress | None = None, *, quiet: bool = False) -> tuple[Privacy, list[str]]:
    """Anonymize the Parquet table of a job into a folder of Parquet files.

    Returns what was measured of the release, and the columns that have no role and are not published. With
    `quiet`, Spark that is started here logs its errors only.

    A bucketization writes its sensitive table beside it, as on one machine. The folders get their names
    when they are complete; one that exists is refused.
    """
    try:
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkRuntimeError
        from pyspark.sql import SparkSession
    except ImportError:
        raise UsageError("Spark is not installed: pip install 'anon[spark]'") from None
    alone = "PYSPARK_GATEWAY_PORT" not in os.environ  # not under spark-submit: workers of this machine
    if alone:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        os.environ.setdefault("SPARK_LAUNCHER_OPTS", STARTER)
        flags = os.environ.setdefault("SPARK_SUBMIT_OPTS", LATER)
        if quiet and "log4j2.configurationFile" not in flags:
            os.environ["SPARK_SUBMIT_OPTS"] = f"{flags} -Dlog4j2.configurationFile={ERRORS.as_uri()}"
    schema, options = job.roles(), job.options()
    if job.input is None or job.output is None or schema is None:
        raise UsageError("a job on Spark needs an input, an output and the roles of the columns")
    if options.pop("order", "class") != "class":
        raise UsageError("rows have no order on Spark: leave out order = 'input'")
    for key in ("suppress", "time_limit"):
        if options.pop(key, None):
            raise UsageError(f"{flag(key)} is for one machine: leave it out")
    if options.pop("on_infeasible", "error") != "error":
        raise UsageError("a trivial release is for one machine: leave out on_infeasible = 'trivial'")
    if PurePosixPath(job.input).suffix.lower() not in ("", *SUFFIXES):
        raise UsageError("Spark reads Parquet, a file, a folder or a glob: convert the input first")
    path = PurePosixPath(job.output)
    if path.suffix.lower() not in ("", *SUFFIXES):
        raise UsageError("Spark writes a folder of Parquet files: give the output no ending, or .parquet")
    options.pop("n_threads", None)
    require, by = job.requirements(), job.how()
    check_asked(
        *(schema, chosen(**by, only_fast="on Spark"), require),
        **{name: given for name, given in options.items() if name != "missing"},
    )
    builder = SparkSession.builder.appName("anon")
    if alone:  # nobody looks at a page, and the command has a bar of its own
        given = {"SPARK_HOME", "SPARK_CONF_DIR", "SPARK_DRIVER_MEMORY"} & {*os.environ}
        builder = builder.config(map=ALONE if given else ALONE | _of_this_machine())
    with _plainly("Spark did not start; its log tells why"), _signals_later(), _only_its_log(quiet and alone):
        try:
            spark = builder.getOrCreate()
        except PySparkRuntimeError as error:
            if error.getCondition() != "JAVA_GATEWAY_EXITED":
                raise
            raise UsageError(
                "Java did not start, which Spark runs on: install Java 17 or later "
                "(Debian: openjdk-17-jre-headless), or let JAVA_HOME name its folder"
            ) from None
    if alone and spark.conf.get(PARTITIONS) == "200":  # its default, for a cluster
        spark.conf.set(PARTITIONS, str(2 * spark.sparkContext.defaultParallelism))
    beside = job.output.removesuffix(path.suffix) + ".sensitive" + path.suffix
    outputs = [job.output, beside] if job.publish == "bucketization" else [job.output]
    begun: list[str] = []
    held: list[DataFrame] = []
    try:
        for output in outputs:
            _begin(spark, output, begun)
        with _plainly(f"{job.input!r} cannot be read: it is not there, or not Parquet that Spark can read"):
            df = spark.read.parquet(job.input)
        with _plainly("Spark could not do the work; its log tells more, and nothing was written"):
            how = {**by, **options, "progress": progress, "recheck": False}
            made = release_spark(df, schema, require=require, **how)
            held.append(made.held)
        published = {attribute.name for attribute in schema.quasi}
        if job.publish != "bucketization":
            published = {*made.frames[0].columns} - ({*df.columns} - published)
        names = [name for name in made.frames[0].columns if name in published]
        sensitive = schema.bind(arrow_schema(df)).sensitive
        with _plainly(f"cannot write {job.output!r}; nothing was written"):
            write_release(made, begun)
            made.held.unpersist()
            files = [spark.read.parquet(folder) for folder in begun]
            decided = require if schema.unit is None else [each for each in require if counts_rows(each)]
            measured = measure_release(files, names, sensitive, made.totals, decided, made.n_rows)
            _move_all(spark, outputs)
        notes = [*made.notes, *([note_on_one_class(job.publish)] if measured.n_classes == 1 else [])]
        for note in dict.fromkeys(notes):
            warnings.warn(note, PrivacyWarning, stacklevel=2)
        return measured, schema.unpublished(df.columns)
    finally:
        try:
            for frame in held:
                frame.unpersist()
            for folder in begun:
                _remove(spark, folder)
        except (Py4JError, ConnectionError):  # Java has ended
            for folder in begun:
                shutil.rmtree(folder, ignore_errors=True)


def _of_this_machine() -> dict[str, Any]:
    """Settings of the Spark that pip installs: what its workers are forked from, and Java's memory."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    of_container = CONTAINER.read_text().strip() if CONTAINER.exists() else "max"
    if of_container.isdigit():
        memory = min(memory, int(of_container))
    return {
        "spark.python.daemon.module": "anon.engines.spark.daemon",
        "spark.driver.memory": f"{max(LEAST_MEMORY, memory // 4) >> 20}m",
    }


@contextmanager
def _signals_later() -> Iterator[None]:
    """Signals with a handler wait until Java has started, which would otherwise stay behind."""
    came: list[int] = []
    handlers = {}
    if current_thread() is main_thread():
        handlers = {n: signal.getsignal(n) for n in signal.valid_signals() if callable(signal.getsignal(n))}
    try:
        for number in handlers:
            signal.signal(number, lambda number, frame: came.append(number))
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for came_now in came:
            signal.raise_signal(came_now)


@contextmanager
def _only_its_log(asked: bool) -> Iterator[None]:
    """Java that starts inside says nothing but what its log does, which goes to its output: our stderr."""
    if not asked:
        yield
        return
    sys.stdout.flush()
    before = os.dup(1), os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(2, 1)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        for number, kept in zip((1, 2), before, strict=True):
            os.dup2(kept, number)
        for kept in (*before, nowhere):
            os.close(kept)


@contextmanager
def _plainly(what: str) -> Iterator[None]:
    """An error of Spark's or Java's as one of ours: what failed, and its kind, but none of its words."""
    from py4j.protocol import Py4JJavaError, Py4JNetworkError
    from pyspark.errors import PySparkException

    try:
        yield
    except PySparkException as error:
        kind = error.getCondition() or type(error).__name__
        raise DataError(f"{what} ({kind})") from None
    except Py4JJavaError as error:
        cause = error.java_exception
        while cause.getCause() is not None:
            cause = cause.getCause()
        raise DataError(f"{what} ({cause.getClass().getSimpleName()})") from None
    except (Py4JNetworkError, ConnectionError):
        raise DataError(
            "Java ended before the work was done, most often for want of memory, of which "
            "SPARK_DRIVER_MEMORY=8g gives it more (its log tells why); nothing was written"
        ) from None


def _begin(spark: Any, output: str, begun: list[str]) -> None:
    """Make the folder in which an output is written until it is complete, and add it to `begun`."""
    folder = output + ".unfinished"
    with _plainly(f"cannot write {output!r}; nothing was written"):
        if _exists(spark, output):
            raise DataError(f"{output!r} exists: remove it, or write elsewhere")
        if _exists(spark, folder):
            raise DataError(f"{folder!r} exists: another run writes it, or was killed; then remove it")
        files, place = _files(spark, folder)
        files.mkdirs(place)
    begun.append(folder)


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
    if _exists(spark, new) or not files.rename(place, _files(spark, new)[1]):
        raise DataError(f"cannot write {new!r}; nothing was written")


def _remove(spark: Any, path: str) -> None:
    files, place = _files(spark, path)
    files.delete(place, True)
