"""Files on this machine: private directories, files of wheels, the hash of our own sources."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from .system import flag

# -------------------------------------------------------------------------------------------------
# Files of installed wheels that are no Python modules.


def files_in_wheel(wheel: str, name: str) -> Iterator[Path]:
    """Yield the paths of files of a name in a wheel; none if it is not installed."""
    try:
        files = distribution(wheel).files or []
    except PackageNotFoundError:
        return
    for file in files:
        if file.name == name:
            yield Path(str(file.locate()))


# -------------------------------------------------------------------------------------------------
# Private directories: only their owner can read and write them.
#
# Native code is loaded from the cache, so write access to it is the right to run code as this user.

FLAGS = os.O_RDONLY | flag("O_DIRECTORY") | flag("O_CLOEXEC")
WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | flag("O_CLOEXEC")


class RefusedError(Exception):
    """A directory that is not private; says why, and what to do."""


@contextmanager
def opened(path: Path, *, create: bool = False) -> Generator[int, None, None]:
    """Open a directory that has been checked; OSError if there is none.

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


# -------------------------------------------------------------------------------------------------
# The hash of this package's sources, which identifies the version of generated code.

PACKAGE = str(Path(__file__).parent.parent)
IMPORTED = time.time()
"""About when the package was loaded into this process."""
MARGIN_SECONDS = 2.0
"""How much older than that a file must be, to be provably what was loaded."""


@cache
def source_hash(*folders: str) -> str | None:
    """Return the SHA-256 of all source files below some folders of the package.

    None if a file was changed after it was loaded, or cannot be read: then it is unknown what
    this process runs.
    """
    found = sha256()
    try:
        for folder in folders:
            paths = list(_sources(f"{PACKAGE}/{folder}"))
            if not paths:
                return None  # installed without its source
            for path in paths:
                text = _read(path)
                found.update(f"{path.removeprefix(PACKAGE)}\0{len(text)}\0".encode())
                found.update(text)
    except OSError:
        return None
    return found.hexdigest()


def _sources(folder: str) -> Iterator[str]:
    """Yield all source files below a folder, in an order that is always the same."""
    with os.scandir(folder) as found:
        entries = sorted(found, key=lambda entry: entry.name)
    for entry in entries:
        if entry.name.endswith(".py"):
            yield entry.path
        elif entry.is_dir():
            yield from _sources(entry.path)


def _read(path: str) -> bytes:
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        about = os.fstat(file)
        # Not the time of modification: installers and archives set that as they like.
        if about.st_ctime > IMPORTED - MARGIN_SECONDS:
            raise OSError(f"{path} was changed after it was loaded")
        text = os.read(file, about.st_size + 1)
        if len(text) != about.st_size:
            raise OSError(f"{path} is changing")
        return text
    finally:
        os.close(file)
