# SPDX-License-Identifier: Apache-2.0
"""Temporary files: nobody else can open them, and what others put in their place is left alone."""

from __future__ import annotations

import fcntl
import os
import secrets
import signal
import socket
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import anon
import anon.tables.files
from anon.errors import DataError
from anon.release.metadata import sensitive_path
from anon.tables.files import content_of, opened, remove_leftovers, replacing
from anon.tables.scan import nameless


@pytest.fixture(autouse=True)
def _ends() -> Iterator[None]:
    """What waits for ever, on a pipe or a lock, is a failure and not the end of the tests."""

    def late(number: int, frame: Any) -> None:
        raise AssertionError("it waits for something")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(120)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def pipe(path: Path, victim: Path) -> None:
    os.mkfifo(path, 0o666)


def link(path: Path, victim: Path) -> None:
    path.symlink_to(victim)


def link_to_nothing(path: Path, victim: Path) -> None:
    path.symlink_to(victim.with_name("nothing"))


def folder(path: Path, victim: Path) -> None:
    path.mkdir()
    (path / "inside").write_text("kept")


def link_to_a_folder(path: Path, victim: Path) -> None:
    path.symlink_to(victim.parent)


def link_to_a_device(path: Path, victim: Path) -> None:
    path.symlink_to("/dev/full")


def device(path: Path, victim: Path) -> None:
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 7))
    except PermissionError:
        pytest.skip("only root makes devices")


def door(path: Path, victim: Path) -> None:
    here = os.getcwd()
    os.chdir(path.parent)  # the name of a socket is short
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(here)


Plant = Callable[[Path, Path], None]
PLANTS = [pipe, link, link_to_nothing, folder, link_to_a_folder, link_to_a_device, device, door]
planted_with = pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.__name__)


def seen(path: Path) -> tuple[int, ...]:
    """What a thing is, and when it was last changed."""
    status = os.lstat(path)
    return status.st_mode, status.st_ino, status.st_mtime_ns, status.st_ctime_ns


@pytest.fixture
def victim(tmp_path: Path) -> Iterator[Path]:
    """A file of somebody's, in another folder, that is as it was in the end."""
    place = tmp_path / "theirs"
    place.mkdir()
    path = place / "victim"
    path.write_text("theirs")
    path.chmod(0o644)
    yield path
    assert path.read_text() == "theirs"
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert os.listdir(place) == ["victim"]


@pytest.fixture
def target(tmp_path: Path) -> Path:
    (tmp_path / "ours").mkdir()
    return tmp_path / "ours" / "out.parquet"


def write(target: Path, content: bytes = b"new") -> None:
    with replacing([target]) as [temporary], opened(temporary) as file:
        file.write(content)


@planted_with
@pytest.mark.parametrize("end", [".tmp", ".tmp.old"])
def test_what_has_the_name_of_a_leftover(plant: Plant, end: str, target: Path, victim: Path) -> None:
    target.write_text("old")
    left = target.with_name(f".{target.name}.{'0123456789abcdef'}{end}")
    plant(left, victim)
    before = seen(left)
    remove_leftovers(target)
    write(target)
    assert target.read_bytes() == b"new"
    assert seen(left) == before
    assert set(os.listdir(target.parent)) == {target.name, left.name}


@planted_with
def test_what_has_the_name_that_would_be_next(
    plant: Plant, target: Path, victim: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = iter(["0" * 16, "1" * 16, "0" * 16, "1" * 16, "2" * 16])
    monkeypatch.setattr(secrets, "token_hex", lambda n: next(names))
    planted = target.with_name(f".{target.name}.{'0' * 16}.tmp")
    plant(planted, victim)
    before = seen(planted)
    write(target)
    assert target.read_bytes() == b"new"
    assert seen(planted) == before


def test_no_name_is_free(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secrets, "token_hex", lambda n: "0" * 16)
    planted = target.with_name(f".{target.name}.{'0' * 16}.tmp")
    planted.symlink_to("anywhere")
    table = pa.table({"age": [1, 1, 2, 2]})
    release = anon.anonymize(table, anon.Schema(["age"]), require=[anon.KAnonymity(2)])
    with pytest.raises(DataError, match="File exists; nothing was written"):
        release.write(target)
    assert os.listdir(target.parent) == [planted.name]


def regular(path: Path, victim: Path) -> None:
    path.write_text("forged")


def hard_link(path: Path, victim: Path) -> None:
    os.link(victim, path)


@pytest.mark.parametrize("plant", [*PLANTS, regular, hard_link], ids=lambda plant: plant.__name__)
@pytest.mark.parametrize("when", ["before it is opened", "before it is complete"])
@pytest.mark.parametrize("n_targets", [1, 2])
def test_what_takes_the_place_of_a_temporary_file(
    plant: Plant, when: str, n_targets: int, target: Path, victim: Path
) -> None:
    if when == "before it is opened" and plant in (regular, hard_link):
        pytest.skip("that it is another file is seen when it is complete")
    targets = [target, sensitive_path(target)][:n_targets]
    for each in targets:
        each.write_text("old")

    def attacked() -> None:
        with replacing(targets) as temporary:
            if when == "before it is complete":
                for path in temporary:
                    with opened(path) as file:
                        file.write(b"new")
            temporary[-1].unlink()
            plant(temporary[-1], victim)
            if when == "before it is opened":
                opened(temporary[-1]).write(b"new")

    with pytest.raises(DataError, match=r"another program removed or replaced .* nothing was written"):
        attacked()
    assert [each.read_text() for each in targets] == ["old"] * n_targets


@pytest.mark.parametrize(
    ("old", "umask", "new"),
    [
        (0o600, 0o022, 0o600),
        (0o640, 0o022, 0o640),
        (0o666, 0o027, 0o640),
        (0o400, 0, 0o400),
        (None, 0o027, 0o640),
    ],
)
def test_a_mode_that_is_stricter_is_kept(old: int | None, umask: int, new: int, target: Path) -> None:
    table = pa.table({"age": [1, 1, 2, 2], "dx": ["a", "b", "a", "b"]})
    release = anon.anonymize(
        table,
        anon.Schema(["age"], ["dx"]),
        require=[anon.LDiversity(2)],
        publish="bucketization",
    )
    targets = [target, sensitive_path(target)]
    if old is not None:
        for each in targets:
            each.write_text("old")
            each.chmod(old)
    before = os.umask(umask)
    try:
        release.write(target)
    finally:
        os.umask(before)
    assert [stat.S_IMODE(each.stat().st_mode) for each in targets] == [new, new]


def test_nobody_else_can_have_opened_a_file_that_is_written(
    target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is never there with a wider mode, however short: who has opened a file can read it for ever."""
    made: list[tuple[int, int]] = []  # inode and mode
    plain = os.open

    def spied(path: Any, flags: int, mode: int = 0o777, **options: Any) -> int:
        descriptor = plain(path, flags, mode, **options)
        if flags & os.O_CREAT:
            assert flags & os.O_EXCL
            assert flags & os.O_NOFOLLOW
            status = os.fstat(descriptor)
            made.append((status.st_ino, stat.S_IMODE(status.st_mode)))
        return descriptor

    monkeypatch.setattr(os, "open", spied)
    target.write_text("old")
    with replacing([target]) as [temporary]:
        assert made[-1] == (temporary.stat().st_ino, 0o600)
        with opened(temporary) as file:
            file.write(b"new")


def test_a_link_that_is_replaced_is_not_followed(target: Path, victim: Path) -> None:
    """The second file of a pair is beside the first; a link of its name is replaced, or put back."""
    second = sensitive_path(target)
    second.symlink_to(victim)
    target.write_text("old")
    before = seen(second)
    with suppress(DataError), replacing([target, second]) as temporary:
        temporary[1].unlink()
    assert seen(second)[:3] == before[:3]
    with replacing([target, second]) as temporary:
        for path in temporary:
            with opened(path) as file:
                file.write(b"new")
    assert not second.is_symlink()
    assert [target.read_bytes(), second.read_bytes()] == [b"new", b"new"]


def test_a_folder_that_another_program_keeps_locked(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(anon.tables.files, "LONGEST_WAIT", 0.0)
    targets = [target, sensitive_path(target)]
    held = os.open(target.parent, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    try:
        with pytest.raises(DataError, match=r"keeps the folder .* locked"), replacing(targets) as temporary:
            pass
        assert os.listdir(target.parent) == []
    finally:
        os.close(held)
    with replacing(targets) as temporary:
        assert len(temporary) == 2
    assert len(os.listdir(target.parent)) == 2


@planted_with
def test_a_spill_has_no_name(plant: Plant, tmp_path: Path, victim: Path) -> None:
    (tmp_path / "spill").mkdir()
    plant(tmp_path / "spill" / "tmp", victim)
    with nameless(tmp_path / "spill") as file:
        status = os.fstat(file.fileno())
        assert stat.S_ISREG(status.st_mode)
        assert (stat.S_IMODE(status.st_mode), status.st_nlink) == (0o600, 0)
        assert os.listdir(tmp_path / "spill") == ["tmp"]


@planted_with
def test_what_is_in_the_place_of_a_cached_point(plant: Plant, tmp_path: Path, victim: Path) -> None:
    table = pa.table({"age": [1, 1, 2, 2], "dx": ["a", "b", "a", "b"]})
    cache = tmp_path / "cache"

    def sweep() -> Any:
        grid = [anon.Configuration([anon.KAnonymity(2)], anon.Mondrian())]
        return anon.frontier(table, anon.Schema(["age"], ["dx"]), grid, cache=cache, seed=0)

    first = sweep()
    for point in cache.glob("*.json"):
        assert content_of(point) == point.read_bytes()
        point.unlink()
        plant(point, victim)
    again = sweep()
    assert [each.privacy for each in again.points] == [each.privacy for each in first.points]
