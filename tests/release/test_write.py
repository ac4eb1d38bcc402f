# SPDX-License-Identifier: Apache-2.0
"""Files: whole or not at all, and nothing in them but what is published."""

from __future__ import annotations

import datetime as dt
import os
import resource
import stat
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest
from test_release import encode, release_of, rows

import anon.release.write
from anon.errors import AnonError, DataError, InfeasibleError, UsageError
from anon.release.metadata import read_metadata, sensitive_path
from anon.release.release import Release
from anon.tables.files import replacing

SUFFIXES = ("parquet", "feather", "csv")


@pytest.fixture
def people() -> pa.Table:
    table = pa.table(
        {
            "id": [10, 11, 12, 13],
            "age": pa.array([30, 40, 31, 42], pa.int16()),
            "town": pa.array(["Here", "There", "Here", "Elsewhere"]).dictionary_encode(),
            "illness": ["flu", "~", 'a "b", c', None],
            "born": [dt.date(1990, 1, 1), dt.date(1980, 1, 1), None, dt.date(1978, 1, 1)],
            "paid": [Decimal("1.50"), Decimal("2.00"), None, Decimal("3.25")],
        }
    )
    return table.replace_schema_metadata({"pandas": '{"columns": ["DROPPEDCOLUMN"]}'})


@pytest.fixture
def release(people: pa.Table) -> Release:
    return release_of(encode(people, ["age"], ["illness"]), [[0, 2], [1, 3]])


def bucketed(people: pa.Table) -> Release:
    return release_of(encode(people, ["age"], ["illness"]), [[0, 2], [1, 3]], publish="bucketization")


def read(path: Path) -> pa.Table:
    if path.suffix == ".parquet":
        return pq.read_table(path)
    if path.suffix == ".feather":
        with pa.ipc.open_file(path) as reader:
            return reader.read_all()
    convert = pa.csv.ConvertOptions(
        strings_can_be_null=True, quoted_strings_can_be_null=False, null_values=[""]
    )
    return pa.csv.read_csv(path, convert_options=convert)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_reads_back(release: Release, people: pa.Table, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"out.{suffix}"
    release.write(path)
    found = read(path)
    assert (
        rows(found) == rows(release.table)
        if suffix != "csv"
        else Counter(found.column("illness").to_pylist())
    )
    assert Counter(found.column("illness").to_pylist()) == Counter(["flu", "~", 'a "b", c', None])
    assert os.listdir(tmp_path) == [path.name]
    if suffix != "csv":
        for name in people.column_names:
            expected = pa.string() if name == "age" else people.schema.field(name).type
            assert found.schema.field(name).type == expected


def test_types_of_the_input_file_are_kept(people: pa.Table, tmp_path: Path) -> None:
    plain = people.set_column(2, "town", people.column("town").cast(pa.large_string()))
    release = release_of(encode(people, ["age"]), [[0, 2], [1, 3]], file_schema=plain.schema)
    for suffix in ("parquet", "feather"):
        release.write(tmp_path / f"out.{suffix}")
        assert read(tmp_path / f"out.{suffix}").schema.field("town").type == pa.large_string()
    assert release.table.schema.field("town").type == pa.large_string()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_several_row_groups(
    release: Release, tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(anon.release.write, "ROW_GROUP", 3)
    path = tmp_path / f"out.{suffix}"
    release.write(path)
    assert sorted(read(path).column("id").to_pylist()) == [10, 11, 12, 13]
    if suffix == "parquet":
        assert pq.read_metadata(path).num_row_groups == 2


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("text", ["SUPPRESSEDVALUE", "DROPPEDCOLUMN", "UNUSEDVALUE", "Elsewhere"])
def test_nothing_else_is_in_the_bytes(people: pa.Table, tmp_path: Path, suffix: str, text: str) -> None:
    towns = pa.DictionaryArray.from_arrays([0, 1, 0, 2], ["Here", "There", "Elsewhere", "UNUSEDVALUE"])
    table = people.set_column(2, "town", towns).set_column(
        3, "illness", pa.array(["flu", "", "cold", "SUPPRESSEDVALUE"])
    )
    for publish in ("generalization", "bucketization"):
        encoded = encode(table, ["age"], ["illness"])
        release = release_of(encoded, [[0, 2], [1]], suppressed=[3], publish=publish)
        release.write(tmp_path / f"out.{suffix}")
        assert "UNUSEDVALUE" not in str(release.table.column("town").chunk(0).dictionary)
    for path in tmp_path.iterdir():
        if path.suffix == ".feather":
            with pa.ipc.open_file(path) as reader:
                content = (
                    str(reader.schema) + str(reader.read_all().column(0).chunk(0)) + str(reader.read_all())
                )
        else:
            content = path.read_bytes().decode(errors="replace")
        assert text not in content, path


def test_what_a_file_says_about_itself(release: Release, people: pa.Table, tmp_path: Path) -> None:
    for suffix in ("parquet", "feather"):
        path = tmp_path / f"out.{suffix}"
        release.write(path)
        said = read_metadata(path)
        assert said == release.metadata
        assert said is not None
        assert said["roles"] == {
            "quasi": ["age"],
            "sensitive": ["illness"],
            "neutral": ["id", "town", "born", "paid"],
        }
        assert said["cells"]["age"]["columns"] == ["age"]
        assert said["cells"]["age"]["type"] == "int16"
        assert (said["rows"], said["classes"]) == (4, 2)
        assert not {"suppressed", "warnings", "seed", "sources"} & set(said)
        assert "seed" not in said
    release.write(tmp_path / "out.csv")
    assert read_metadata(tmp_path / "out.csv") is None
    pq.write_table(people, tmp_path / "other.parquet")
    assert read_metadata(tmp_path / "other.parquet") is None
    (tmp_path / "broken.parquet").write_bytes(b"PAR1")
    with pytest.raises(DataError, match=r"broken\.parquet"):
        read_metadata(tmp_path / "broken.parquet")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_two_files_of_a_bucketization(people: pa.Table, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"out.{suffix}"
    bucketed(people).write(path)
    assert set(os.listdir(tmp_path)) == {f"out.{suffix}", f"out.sensitive.{suffix}"}
    sensitive = read(sensitive_path(path))
    assert sensitive.column_names == ["attribute", "class_id", "value", "count"]
    assert Counter(sensitive.column("value").to_pylist()) == Counter(["flu", "~", 'a "b", c', None])
    assert "illness" not in read(path).column_names


def test_the_mode_is_the_umasks(release: Release, tmp_path: Path) -> None:
    path = tmp_path / "out.parquet"
    old = os.umask(0o027)
    try:
        release.write(path)
    finally:
        os.umask(old)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


class Failure:
    """A sink that fails after its first table, and notes the mode of the file it was writing."""

    def __init__(self, error: BaseException, directory: Path, modes: list[int]) -> None:
        self.error, self.directory, self.modes = error, directory, modes

    def write_table(self, table: pa.Table) -> None:
        self.modes += [stat.S_IMODE(p.stat().st_mode) for p in self.directory.iterdir() if p.suffix == ".tmp"]
        raise self.error


@pytest.mark.parametrize(
    "error", [OSError(28, "No space left on device"), KeyboardInterrupt(), MemoryError()]
)
@pytest.mark.parametrize("old", [None, b"old"])
def test_a_failure_leaves_the_old_file_or_none(
    release: Release,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException,
    old: bytes | None,
) -> None:
    path = tmp_path / "out.parquet"
    if old is not None:
        path.write_bytes(old)
    modes: list[int] = []
    monkeypatch.setattr(pq.ParquetWriter, "write_table", Failure(error, tmp_path, modes).write_table)
    wanted = DataError if isinstance(error, OSError) else type(error)
    with pytest.raises(wanted) as caught:
        release.write(path)
    assert modes == [0o600]
    assert [p.read_bytes() for p in tmp_path.iterdir()] == ([] if old is None else [old])
    if wanted is DataError:
        assert "No space left on device" in str(caught.value)
        assert str(path) in str(caught.value)


@pytest.mark.parametrize("fails_at", [0, 1])
@pytest.mark.parametrize("old", [None, b"old"])
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_two_files_or_none(
    people: pa.Table,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    fails_at: int,
    old: bytes | None,
    error: BaseException,
) -> None:
    path = tmp_path / "out.csv"
    if old is not None:
        path.write_bytes(old)
        sensitive_path(path).write_bytes(old)
    replaced = 0
    replace = os.replace

    def failing(source: Any, target: Any) -> None:
        nonlocal replaced
        if Path(source).suffix == ".tmp":
            if replaced == fails_at:
                raise error
            replaced += 1
        replace(source, target)

    monkeypatch.setattr(os, "replace", failing)
    with pytest.raises(AnonError if isinstance(error, OSError) else type(error)):
        bucketed(people).write(path)
    assert [p.read_bytes() for p in tmp_path.iterdir()] == ([] if old is None else [old, old])
    monkeypatch.setattr(os, "replace", replace)
    bucketed(people).write(path)
    assert len(os.listdir(tmp_path)) == 2


def test_places_that_cannot_be_written(release: Release, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="No such file or directory"):
        release.write(tmp_path / "nowhere" / "out.parquet")
    (tmp_path / "folder.parquet").mkdir()
    with pytest.raises(UsageError, match="not a file"):
        release.write(tmp_path / "folder.parquet")
    for name in ("out.txt", "out"):
        with pytest.raises(UsageError, match=r"end it in \.parquet"):
            release.write(tmp_path / name)
    assert os.listdir(tmp_path) == ["folder.parquet"]


def test_a_full_device(release: Release) -> None:
    """/dev/full takes no bytes; the temporary file beside it cannot be made either way."""
    with pytest.raises(AnonError):
        release.write("/dev/full")
    assert Path("/dev/full").is_char_device()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_no_room(release: Release, tmp_path: Path, suffix: str) -> None:
    """The system itself refuses bytes beyond the first hundred of a file."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        with pytest.raises(DataError, match=r"cannot write .*nothing was written") as caught:
            release.write(tmp_path / f"out.{suffix}")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert "File too large" in str(caught.value)
    assert not os.listdir(tmp_path)


def test_the_input_is_not_overwritten(people: pa.Table, tmp_path: Path) -> None:
    source = tmp_path / "in.parquet"
    pq.write_table(people, source)
    before = source.read_bytes()
    link = tmp_path / "link.parquet"
    link.symlink_to(source)
    release = release_of(encode(people, ["age"]), [[0, 1, 2, 3]], sources=[str(source)])
    for path in (source, link, tmp_path / "." / "in.parquet"):
        with pytest.raises(UsageError, match="also an input"):
            release.write(path)
    assert source.read_bytes() == before


def test_a_link_is_followed(release: Release, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    link = tmp_path / "out.parquet"
    link.symlink_to(tmp_path / "real" / "there.parquet")
    release.write(link)
    assert link.is_symlink()
    assert os.listdir(tmp_path / "real") == ["there.parquet"]


def test_a_release_that_fails_its_requirements_is_not_written(people: pa.Table, tmp_path: Path) -> None:
    release = release_of(encode(people, ["age"]), [[0, 1, 2, 3]], meets_requirements=False)
    with pytest.raises(InfeasibleError):
        release.write(tmp_path / "out.parquet")
    assert not os.listdir(tmp_path)


def test_what_csv_cannot_hold(tmp_path: Path) -> None:
    table = pa.table({"age": [1, 1], "parts": [[1], [2]]})
    release = release_of(encode(table, ["age"]), [[0, 1]])
    with pytest.raises(DataError, match=r"column 'parts' of type list.*Parquet"):
        release.write(tmp_path / "out.csv")
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_no_rows(people: pa.Table, tmp_path: Path, suffix: str) -> None:
    release = release_of(encode(people, ["age"]), [], suppressed=range(4))
    release.write(tmp_path / f"out.{suffix}")
    found = read(tmp_path / f"out.{suffix}")
    assert found.num_rows == 0
    assert found.column_names == people.column_names


@pytest.mark.parametrize("path", [None, 5, b"out.csv", "out\0.csv", Path("out\0.csv"), "\ud800.csv"])
def test_what_is_no_path(release: Release, path: Any) -> None:
    with pytest.raises(UsageError, match="write takes the path of a file"):
        release.write(path)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_names_that_are_not_utf_8(release: Release, tmp_path: Path, suffix: str) -> None:
    name = b"out\xff." + suffix.encode()
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name))
    release.write(path)
    assert os.listdir(os.fsencode(tmp_path)) == [name]
    plain = tmp_path / f"plain.{suffix}"
    path.rename(plain)
    assert read(plain).num_rows == release.n_rows


def test_what_is_no_file_is_never_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(UsageError, match="is not a file"), replacing([pipe]):
        raise AssertionError("nothing is to be written")
    assert pipe.is_fifo()
    assert os.listdir(tmp_path) == ["pipe"]
