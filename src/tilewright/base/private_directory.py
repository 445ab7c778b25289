"""Directories that nobody but their owner can write or read: opened as such, and written to.

Native code is loaded from the cache, so whoever can write there can run code as this user.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


class RefusedError(Exception):
    """A directory that is not private; says why, and what to do."""


@contextmanager
def opened(path: Path, *, create: bool = False) -> Generator[int, None, None]:
    """A file descriptor of the directory, which has been checked; OSError where there is none.

    What is then done relative to the descriptor happens in the directory that was checked, whatever
    becomes of its path.
    """
    if create:
        _make(path)
    descriptor = os.open(path, FLAGS)
    try:
        _check(os.fstat(descriptor), path)
        yield descriptor
    finally:
        os.close(descriptor)


def write(directory: int, path: str, data: bytes) -> None:
    """Write a file under another name first: readers see all of it or nothing."""
    temporary = f"{path}.{os.urandom(8).hex()}.tmp"
    descriptor = os.open(temporary, WRITE, 0o600, dir_fd=directory)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        os.replace(temporary, path, src_dir_fd=directory, dst_dir_fd=directory)
    except BaseException:
        remove(directory, temporary)
        raise


def remove(directory: int, path: str) -> bool:
    """Remove a file; it may be gone already, and is afterwards."""
    with suppress(FileNotFoundError):
        os.unlink(path, dir_fd=directory)
    return True


def _make(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        path.mkdir(0o700)


def _check(found: os.stat_result, path: Path) -> None:
    if found.st_uid != os.geteuid():
        raise RefusedError(f"{path} belongs to another user")
    mode = stat.S_IMODE(found.st_mode)
    if mode & 0o077:
        raise RefusedError(
            f"{path} is open to other users (mode {mode:04o}); `chmod 700 {path}` closes it"
        )
