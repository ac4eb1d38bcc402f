# SPDX-License-Identifier: Apache-2.0
"""Files that are whole or not there, whatever ends the process, and whatever others put beside them.

A temporary file is made anew, for its owner alone, and opened only as the regular file that it is: a link,
a pipe, a device or a folder of such a name is none of ours and is neither opened nor removed.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from anon.errors import DataError, UsageError

_AS_IT_IS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
MOST_NAMES = 100  # tried for a temporary file
LONGEST_WAIT = 60.0  # seconds for others, who replace several files in the same folder


@dataclass(frozen=True)
class _Made:
    """Which file was made (device and inode), and the mode that it is to have when it is complete."""

    identity: tuple[int, int]
    mode: int


@contextmanager
def replacing(targets: Sequence[Path], most: int = 0o666) -> Iterator[list[Path]]:
    """Temporary files beside the targets, which they replace, all or none, when the block succeeds.

    They can be read by their owner only until they are complete, and then by those whom `most`, the umask
    and the mode of the file that is replaced all allow it; `opened` opens them. Any exception removes them.
    Those of a killed process, and what it had put aside, are removed by the next one that writes to the
    same target.
    """
    for target in targets:
        if target.exists() and not target.is_file():  # a folder, a device, a pipe
            raise UsageError(f"{str(target)!r} exists and is not a file; write to another path")
    temporary: list[Path] = []
    with ExitStack() as locks:
        try:
            made = []
            for target in targets:
                remove_leftovers(target)
                made.append(_create(target, temporary, locks, most))
            yield temporary
            for path, one in zip(temporary, made, strict=True):
                _complete(path, one)
            if len(targets) == 1:
                os.replace(temporary[0], targets[0])
            else:
                with _alone(targets[0].parent):
                    _replace_all(targets, temporary)
            with suppress(OSError):
                _sync_folder(targets[0].parent)
            for target in targets:
                _remove_old(target)
        except BaseException:
            for path in temporary:
                with suppress(OSError):
                    path.unlink(missing_ok=True)
            raise


def opened(path: Path) -> BinaryIO:
    """A file that `replacing` made, open for writing; DataError where it is no more, or another is there."""
    try:
        return os.fdopen(_open_regular(path, os.O_WRONLY | os.O_TRUNC), "wb")
    except FileNotFoundError:
        raise _taken_away(path) from None


def write_file(path: str | os.PathLike[str], content: bytes, most: int = 0o666) -> None:
    """Write a file, whole or not at all, to be read by those whom `most` allows it; else DataError."""
    try:
        with replacing([Path(os.path.realpath(path))], most) as [temporary], opened(temporary) as file:
            file.write(content)
    except OSError as error:
        raise not_written(repr(os.fspath(path)), error) from error


def content_of(path: Path, *, private: bool = False) -> bytes:
    """What is in a file whose name others can know; OSError where it is no regular file.

    `private`: PermissionError where others than its owner may read or write it.
    """
    with os.fdopen(_open_regular(path, os.O_RDONLY), "rb") as file:
        if private and stat.S_IMODE(os.fstat(file.fileno()).st_mode) & 0o077:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return file.read()


def write_new(path: Path, content: bytes) -> bool:
    """Write a file that its owner alone can read, whole or not at all; False where there is one already."""
    temporary, descriptor = _new(path, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.link(temporary, path)
        return True
    except FileExistsError:
        return False
    finally:
        temporary.unlink()


def not_written(where: str, error: OSError) -> DataError:
    """The error for files that could not be written; `where` is the place, as the message names it."""
    reason = os.strerror(error.errno) if error.errno else "input or output failed"
    return DataError(f"cannot write {where}: {reason}; nothing was written")


def remove_leftovers(target: Path) -> None:
    """Remove the temporary files of writers of this target that are no more: theirs have no lock."""
    name = re.compile(re.escape(f".{target.name}.") + r"[0-9a-f]{16}\.tmp")
    with suppress(OSError):
        for path in [each for each in target.parent.iterdir() if name.fullmatch(each.name)]:
            with suppress(OSError), os.fdopen(_open_regular(path, os.O_WRONLY), "wb") as file:
                _lock(file.fileno(), wait=False)
                path.unlink()
    _remove_old(target)


def _remove_old(target: Path) -> None:
    """Remove earlier versions of a target that a killed process had put aside.

    They are kept where the target is not there, and while others are replaced in the folder.
    """
    name = re.compile(re.escape(f".{target.name}.") + r"[0-9a-f]{16}\.tmp\.old")
    with suppress(OSError), ExitStack() as stack:
        descriptor = os.open(target.parent, os.O_RDONLY)
        stack.callback(os.close, descriptor)
        leftovers = [each for each in target.parent.iterdir() if name.fullmatch(each.name)]
        if leftovers:
            _lock(descriptor, wait=False)
        for path in leftovers if target.exists() else []:
            with suppress(OSError):
                if stat.S_ISREG(path.lstat().st_mode):
                    path.unlink()


def _create(target: Path, temporary: list[Path], locks: ExitStack, most: int) -> _Made:
    """Add a temporary file to `temporary`, locked until `locks` end."""
    mode = _mode(target) & most
    while True:
        path, descriptor = _new(target, 0o600)
        temporary.append(path)
        identity = _identity(os.fstat(descriptor))
        try:
            _lock(descriptor)
            locks.callback(os.close, descriptor)
        except OSError:  # nobody removes leftovers where there are no locks
            os.close(descriptor)
        if path.exists():
            return _Made(identity, mode)
        temporary.pop()  # taken for a leftover before it was locked


def _new(target: Path, mode: int) -> tuple[Path, int]:
    """An empty file beside a target, of a name that nothing had, and its descriptor."""
    for _ in range(MOST_NAMES):
        path = target.with_name(f".{target.name}.{secrets.token_hex(8)}.tmp")
        with suppress(FileExistsError):
            return path, os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | _AS_IT_IS, mode)
    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))


def _mode(target: Path) -> int:
    """The mode that a new file gets in this folder, without what a file that is replaced withholds.

    It is that of an empty file, which is made for it and removed: nobody can have opened the one that
    will be written.
    """
    path, descriptor = _new(target, 0o666)
    try:
        mode = os.fstat(descriptor).st_mode & 0o777
    finally:
        os.close(descriptor)
        path.unlink(missing_ok=True)
    with suppress(FileNotFoundError):
        mode &= target.stat().st_mode
    return mode


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def _open_regular(path: Path, flags: int) -> int:
    """A descriptor of a regular file, never of what a link leads to; FileNotFoundError where it is none.

    Nothing else is opened at all, so that no pipe waits and no device notices.
    """
    before = os.lstat(path)
    if not stat.S_ISREG(before.st_mode):
        raise FileNotFoundError
    descriptor = os.open(path, (flags & ~os.O_TRUNC) | _AS_IT_IS)
    try:
        if _identity(os.fstat(descriptor)) != _identity(before):
            raise FileNotFoundError
        if flags & os.O_TRUNC:
            os.ftruncate(descriptor, 0)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _complete(path: Path, made: _Made) -> None:
    """The file is on the disk and has its mode; DataError where another took its place."""
    try:
        descriptor = _open_regular(path, os.O_RDONLY)
    except FileNotFoundError:
        raise _taken_away(path) from None
    try:
        if _identity(os.fstat(descriptor)) != made.identity:
            raise _taken_away(path)
        os.fsync(descriptor)
        os.chmod(descriptor if os.chmod in os.supports_fd else path, made.mode)
    finally:
        os.close(descriptor)


def _taken_away(path: Path) -> DataError:
    return DataError(
        f"another program removed or replaced a file that was being written in {str(path.parent)!r}; "
        "write to a folder that only you can change; nothing was written"
    )


def _replace_all(targets: Sequence[Path], temporary: Sequence[Path]) -> None:
    """Put several files in place, all or none.

    The first target is away until the others are there: a process that is killed leaves no mixed files.
    """
    backups: list[tuple[Path, Path | None]] = []
    try:
        for target, path in zip(targets, temporary, strict=True):
            old = target.with_name(f"{path.name}.old") if os.path.lexists(target) else None
            backups.append((target, old))
            if old is not None:
                os.link(target, old, follow_symlinks=os.link not in os.supports_follow_symlinks)
        targets[0].unlink(missing_ok=True)
        for target, path in reversed(list(zip(targets, temporary, strict=True))):
            os.replace(path, target)
    except BaseException:
        for target, old in reversed(backups):
            with suppress(OSError):
                if old is None:
                    target.unlink(missing_ok=True)
                else:
                    os.replace(old, target)
                    old.unlink(missing_ok=True)  # still there where target and old are one file
        raise
    for _, old in backups:
        if old is not None:
            old.unlink(missing_ok=True)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One process at a time replaces several files in a folder, where the file system has locks.

    That takes no time: one that holds the lock for long is no such process, and is not waited for.
    """
    with ExitStack() as stack:
        with suppress(OSError):
            descriptor = os.open(folder, os.O_RDONLY)
            stack.callback(os.close, descriptor)
            last = time.monotonic() + LONGEST_WAIT
            while True:
                try:
                    _lock(descriptor, wait=False)
                    break
                except BlockingIOError:
                    if time.monotonic() > last:
                        raise DataError(
                            f"another program keeps the folder {str(folder)!r} locked; write to a folder "
                            "that only you can change; nothing was written"
                        ) from None
                    time.sleep(0.01)
        yield


def _lock(descriptor: int, *, wait: bool = True) -> None:
    """Lock an open file or folder until it is closed; OSError where that cannot be had."""
    try:
        import fcntl
    except ImportError:
        raise OSError("this system has no such locks") from None
    fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
