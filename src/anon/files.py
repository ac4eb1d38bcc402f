# SPDX-License-Identifier: Apache-2.0
"""Files that are whole or not there, whatever ends the process."""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from anon.errors import DataError, UsageError


@contextmanager
def replacing(targets: Sequence[Path], most: int = 0o666) -> Iterator[list[Path]]:
    """Temporary files beside the targets, which they replace, all or none, when the block succeeds.

    They get the mode `most`, less what the umask takes. Until they are complete their owner alone can read
    them; any exception removes them. Those of a killed process, and what it had put aside, are removed by
    the next one that writes to the same target.
    """
    for target in targets:
        if target.exists() and not target.is_file():  # a folder, a device, a pipe
            raise UsageError(f"{str(target)!r} exists and is not a file; write to another path")
    temporary: list[Path] = []
    with ExitStack() as locks:
        try:
            modes = []
            for target in targets:
                remove_leftovers(target)
                modes.append(_create(target, temporary, locks, most))
            yield temporary
            for path, mode in zip(temporary, modes, strict=True):
                _sync(path)
                os.chmod(path, mode)
            if len(targets) == 1:
                os.replace(temporary[0], targets[0])
            else:
                with _alone(targets[0].parent):
                    _replace_all(targets, temporary)
            with suppress(OSError):
                _sync(targets[0].parent)
            for target in targets:
                _remove_old(target)
        except BaseException:
            for path in temporary:
                with suppress(OSError):
                    path.unlink(missing_ok=True)
            raise


def open_own(path: Path) -> BinaryIO:
    """Open a file of ours to read it; OSError where a link, a pipe or anything but a file has its name."""
    file = open(path, "rb", opener=_without_following)  # noqa: SIM115
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "it is no file", str(path))
    return file


def write_new(path: Path, content: bytes) -> bool:
    """Write a file that its owner alone can read, whole or not at all; False where there is one already."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
    with open(temporary, "xb", opener=_without_following) as file:
        try:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            os.link(temporary, path)
            return True
        except FileExistsError:
            return False
        finally:
            temporary.unlink()


def _without_following(path: str, flags: int) -> int:
    """Open no link, wait for no pipe; a new file is its owner's alone."""
    never = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    return os.open(path, flags | never, 0o600)


def not_written(where: str, error: OSError) -> DataError:
    """The error for files that could not be written; `where` is the place, as the message names it."""
    reason = os.strerror(error.errno) if error.errno else "input or output failed"
    return DataError(f"cannot write {where}: {reason}; nothing was written")


def remove_leftovers(target: Path) -> None:
    """Remove the temporary files of writers of this target that are no more: theirs have no lock."""
    name = re.compile(re.escape(f".{target.name}.") + r"[0-9a-f]{16}\.tmp")
    with suppress(OSError):
        for path in [each for each in target.parent.iterdir() if name.fullmatch(each.name)]:
            with suppress(OSError), open(path, "ab") as file:
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
        found = [each for each in target.parent.iterdir() if name.fullmatch(each.name)]
        if found:
            _lock(descriptor, wait=False)
        for path in found if target.exists() else []:
            path.unlink()


def _create(target: Path, temporary: list[Path], locks: ExitStack, most: int) -> int:
    """Add a temporary file to `temporary`, locked until `locks` end; what the umask leaves of `most`."""
    while True:
        path = target.with_name(f".{target.name}.{secrets.token_hex(8)}.tmp")
        temporary.append(path)
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, most)
        mode = os.fstat(descriptor).st_mode & 0o777
        os.chmod(descriptor if os.chmod in os.supports_fd else path, 0o600)
        try:
            _lock(descriptor)
            locks.callback(os.close, descriptor)
        except OSError:  # nobody removes leftovers where there are no locks
            os.close(descriptor)
        if path.exists():
            return mode
        temporary.pop()  # taken for a leftover before it was locked


def _replace_all(targets: Sequence[Path], temporary: Sequence[Path]) -> None:
    """Put several files in place, all or none.

    The first target is away until the others are there: a process that is killed leaves no mixed files.
    """
    backups: list[tuple[Path, Path | None]] = []
    try:
        for target, path in zip(targets, temporary, strict=True):
            old = target.with_name(f"{path.name}.old") if target.exists() else None
            backups.append((target, old))
            if old is not None:
                os.link(target, old)
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
    """One process at a time replaces several files in a folder, where the file system has locks."""
    with ExitStack() as stack:
        with suppress(OSError):
            descriptor = os.open(folder, os.O_RDONLY)
            stack.callback(os.close, descriptor)
            _lock(descriptor)
        yield


def _lock(descriptor: int, *, wait: bool = True) -> None:
    """Lock an open file or folder until it is closed; OSError where that cannot be had."""
    try:
        import fcntl
    except ImportError:
        raise OSError("this system has no such locks") from None
    fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
