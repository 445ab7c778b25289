"""Keeps the disk cache within its size: looks at all files, removes the longest unused."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from ...base.private_directory import remove
from .lock import acquire
from .record import is_name

SUFFIX = ".tw"
LOW = 0.8
"""How full the cache is left; removing a little at a time would look at all files too often."""
ABANDONED_SECONDS = 3600.0
"""A temporary or lock file this old belongs to nobody."""
LOCK = "tilewright-evict.lock"
OURS = [
    re.compile(form)
    for form in (
        r"[0-9a-f]{64}\.lock",
        r"[0-9a-f]{16}\.tmp",
        r"([0-9a-f]{2})/\1[0-9a-f]{62}\.tw\.[0-9a-f]{16}\.tmp",
    )
]
"""What writers may leave behind: locks of entries, a file to try the disk, unfinished entries."""


@dataclass(frozen=True, slots=True)
class File:
    """A file of the cache; `path` is relative to its directory."""

    path: str
    size: int
    used: float
    """When it was last written or read, as seconds of the clock."""

    @property
    def name(self) -> str:
        """The name of the entry."""
        return self.path.rpartition("/")[2].removesuffix(SUFFIX)

    @property
    def is_entry(self) -> bool:
        """Whether this is an entry, where entries belong."""
        return is_name(self.name) and self.path == path_of(self.name)


def path_of(name: str) -> str:
    """Where the entry of this name stands; ValueError for what cannot be a name."""
    if not is_name(name):
        raise ValueError(f"not the name of an entry: {name!r}")
    return f"{name[:2]}/{name}{SUFFIX}"


def files(directory: int) -> Iterator[File]:
    """All files of the cache: entries, and what writers left behind."""
    yield from _files_in(directory, "")
    for folder in _folders(directory):
        with suppress(FileNotFoundError):
            inner = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=directory)
            try:
                yield from _files_in(inner, f"{folder}/")
            finally:
                os.close(inner)


def _folders(directory: int) -> list[str]:
    with os.scandir(directory) as found:
        return sorted(e.name for e in found if len(e.name) == 2 and e.is_dir(follow_symlinks=False))


def _files_in(directory: int, prefix: str) -> Iterator[File]:
    with os.scandir(directory) as found:
        for entry in found:
            with suppress(FileNotFoundError):
                if entry.is_file(follow_symlinks=False):
                    about = entry.stat(follow_symlinks=False)
                    yield File(prefix + entry.name, about.st_size, about.st_mtime)


def evict(directory: int, capacity: int) -> int:
    """Remove what is too much, the longest unused first, and what was abandoned; count entries."""
    lock = acquire(directory, LOCK, 0.0)
    if lock is None:
        return 0  # another process is at it
    try:
        every = list(files(directory))
        _remove_abandoned(directory, every)
        return _remove_oldest(directory, [f for f in every if f.is_entry], capacity)
    finally:
        lock.release()


def _remove_abandoned(directory: int, every: list[File]) -> None:
    long_ago = time.time() - ABANDONED_SECONDS
    for file in every:
        if _may_be_abandoned(file.path) and file.used < long_ago:
            remove(directory, file.path)


def _may_be_abandoned(path: str) -> bool:
    """Whether that is a name of a temporary or lock file of ours: a cache may share a directory."""
    return any(form.fullmatch(path) for form in OURS)


def _remove_oldest(directory: int, entries: list[File], capacity: int) -> int:
    total = sum(file.size for file in entries)
    if total <= capacity:
        return 0
    removed = 0
    for file in sorted(entries, key=lambda f: (f.used, f.path)):
        if total <= capacity * LOW:
            break
        remove(directory, file.path)
        total -= file.size
        removed += 1
    return removed
