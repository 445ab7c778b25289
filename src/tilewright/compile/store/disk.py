"""The disk cache: a store of compiled code in one directory, bounded in size."""

from __future__ import annotations

import errno
import os
import re
import stat
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from ...base.files import FLAGS as DIRECTORY
from ...base.files import WRITE, RefusedError, opened, remove, write
from ...base.stage import Saved
from ...base.system import fcntl, flag
from .entry import (
    LARGEST,
    InvalidEntryError,
    Keeper,
    Record,
    check,
    decode,
    differences,
    encode,
    facts_of,
    is_name,
    parts,
)

# -------------------------------------------------------------------------------------------------
# Lock files: one process at a time, released when the holder dies, awaited for a limited time.

FIRST_PAUSE, LONGEST_PAUSE = 0.001, 0.05
FLAGS = os.O_RDWR | os.O_CREAT | flag("O_CLOEXEC") | flag("O_NOFOLLOW")


@dataclass(frozen=True, slots=True)
class Lock:
    """A lock that is held until `release`, or until this process ends."""

    directory: int
    name: str
    file: int

    def release(self) -> None:
        """Remove the file and release the lock."""
        try:
            with suppress(FileNotFoundError):
                if _is_at(self.file, self.directory, self.name):
                    os.unlink(self.name, dir_fd=self.directory)
        finally:
            # Said aloud: a child forked meanwhile has the file open too, and would keep the lock.
            fcntl.flock(self.file, fcntl.LOCK_UN)
            os.close(self.file)
            os.close(self.directory)


def acquire(directory: int, name: str, patience: float) -> Lock | None:
    """Lock the file `name` in an open directory; None where that took more than `patience` seconds.

    Raises OSError where files cannot be made or locked.
    """
    deadline = time.monotonic() + patience
    pause = FIRST_PAUSE
    while (lock := _try(directory, name)) is None:
        left = deadline - time.monotonic()
        if left <= 0:
            return None
        time.sleep(min(pause, left))
        pause = min(2 * pause, LONGEST_PAUSE)
    return lock


def _try(directory: int, name: str) -> Lock | None:
    file = os.open(name, FLAGS, 0o600, dir_fd=directory)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # The previous holder removed its file: a lock on a removed file excludes no process.
        if _is_at(file, directory, name):
            return Lock(os.dup(directory), name, file)
    except BlockingIOError:
        pass  # somebody holds it
    except BaseException:
        os.close(file)
        raise
    os.close(file)
    return None


def _is_at(file: int, directory: int, name: str) -> bool:
    try:
        there = os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return os.path.samestat(there, os.fstat(file))


# -------------------------------------------------------------------------------------------------
# Eviction: the least recently used files are removed while the cache exceeds its size.

SUFFIX = ".tw"
LOW = 0.8
"""How full the cache is left; removing a little at a time would look at all files too often."""
ABANDONED_SECONDS = 3600.0
"""A temporary or lock file this old is abandoned."""
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
    """Return the path of the entry of this name; ValueError for an invalid name."""
    if not is_name(name):
        raise ValueError(f"not the name of an entry: {name!r}")
    return f"{name[:2]}/{name}{SUFFIX}"


def files(directory: int) -> Iterator[File]:
    """Yield all files of the cache: entries, and what writers left behind."""
    yield from _files_in(directory, "")
    for folder in _folders(directory):
        with suppress(FileNotFoundError):
            inner = os.open(folder, DIRECTORY, dir_fd=directory)
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
    """Remove abandoned files, and least recently used entries beyond the capacity; count these."""
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
    """Return whether a name is a temporary or lock file of ours: the directory may be shared."""
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


# -------------------------------------------------------------------------------------------------
# The store in a directory.

T = TypeVar("T")

PATIENCE = 60.0
"""Seconds to wait for another process that compiles the same; then both do."""
READ = os.O_RDONLY | flag("O_CLOEXEC") | flag("O_NOFOLLOW") | flag("O_NONBLOCK")
"""Not through links, and not waiting for somebody to write into a pipe."""
TRIED = 1 << 16
"""Bytes written to see whether a directory can be written to: about a kernel."""
LOOKS = 16
"""Eviction looks at all files when this process has written that part of the capacity."""


class Store(Keeper):
    """Compiled code in one private directory, limited to `capacity` bytes."""

    def __init__(self, root: Path, capacity: int, patience: float = PATIENCE) -> None:
        super().__init__()
        self.root = root
        self.capacity = capacity
        self._patience = patience
        self._written = -1
        """Bytes written since eviction last looked; -1 before the first look."""

    def __repr__(self) -> str:
        return f"Store({str(self.root)!r}, {self.capacity})"

    @property
    def place(self) -> str:
        """The directory."""
        return str(self.root)

    # What a compilation wants.

    def read(self, record: Record, restore: Callable[[Saved], T]) -> T | None:
        """Read an entry, compare its checksums, and note its use."""
        return self._soft(lambda directory: self._read(directory, record, restore))

    def put(self, record: Record, saved: Saved) -> bool:
        """Keep something under a record; whether it is kept now."""
        data = encode(record, saved)
        if len(data) > min(self.capacity * LOW, LARGEST):
            return False  # it would push out everything else
        done = self._soft(lambda directory: _write(directory, record.name, data), create=True)
        if done:
            self.count(puts=1, bytes_written=len(data))
            self._limit(len(data))
        return bool(done)

    @contextmanager
    def alone(self, record: Record) -> Generator[None, None, None]:
        """Keep other processes from making the same; goes on without that where it cannot be."""
        lock = self._soft(
            lambda directory: acquire(directory, f"{record.name}.lock", self._patience),
            create=True,
        )
        try:
            yield
        finally:
            if lock is not None:
                self._release(lock)

    # Looking after it.

    def entries(self) -> tuple[File, ...]:
        """Return all entries, the longest unused first."""
        found = self._soft(lambda directory: [f for f in files(directory) if f.is_entry])
        return tuple(sorted(found or (), key=lambda f: (f.used, f.path)))

    def facts(self, name: str) -> dict[str, object] | None:
        """Return the record of an entry; None if there is no such entry or it is damaged."""
        return self.look(name)[0]

    def look(self, name: str) -> tuple[dict[str, object] | None, str]:
        """Return the record of an entry, or None and the reason why it is invalid."""
        path = path_of(name)
        try:
            data = self._soft(lambda directory: _read(directory, path))
            return (check(data, name), "") if data is not None else (None, "it cannot be read")
        except InvalidEntryError as error:
            return None, str(error)

    def contents(self, name: str) -> tuple[Record, Saved] | None:
        """Return the record and the content of an entry; None if there is no intact one."""
        path = path_of(name)
        try:
            data = self._soft(lambda directory: _read(directory, path))
            return None if data is None else parts(data, name)
        except InvalidEntryError:
            return None

    def verify(self) -> dict[str, str]:
        """Return the defects of entries, by name; damaged entries are removed."""
        looked = [(file.name, self.look(file.name)[1]) for file in self.entries()]
        damaged = {name: problem for name, problem in looked if problem}
        for name in damaged:
            self.remove(name)
        self.count(invalid=len(damaged))
        return damaged

    def remove(self, name: str) -> bool:
        """Remove one entry, which need not be there; whether it is gone."""
        path = path_of(name)
        return bool(self._soft(lambda directory: remove(directory, path)))

    def clear(self) -> tuple[File, ...]:
        """Remove all entries; those that are gone."""
        return tuple(file for file in self.entries() if self.remove(file.name))

    def explain(self, record: Record) -> str:
        """Return why a record has no entry: its difference from the nearest of the same kernel."""
        wanted = facts_of(record.text)
        known = [facts for file in self.entries() if (facts := self.facts(file.name)) is not None]
        if wanted in known:
            return "there is an entry"
        same = [f for f in known if f.get("kernel") == wanted.get("kernel")]
        if not same:
            return f"there is no entry of `{wanted.get('kernel')}`"
        nearest: list[str] = min([differences(old, wanted) for old in same], key=len)
        return "; ".join(nearest)

    # How it is done.

    def _read(self, directory: int, record: Record, restore: Callable[[Saved], T]) -> T | None:
        path = path_of(record.name)
        try:
            data = _read(directory, path)
            found = None if data is None else restore(decode(data, record))
        except (InvalidEntryError, ValueError):
            self.count(invalid=1)
            remove(directory, path)
            return None
        if found is not None:
            with suppress(OSError):  # a disk that cannot be written can still be read
                os.utime(path, dir_fd=directory, follow_symlinks=False)
        return found

    def _limit(self, written: int) -> None:
        """Enforce the size limit at the first put, and whenever much has been written."""
        with self._lock:
            first = self._written < 0
            self._written = max(self._written, 0) + written
            if not first and self._written * LOOKS < self.capacity:
                return
            self._written = 0
        removed = self._soft(lambda directory: evict(directory, self.capacity))
        self.count(evicted=removed or 0)

    def _release(self, lock: Lock) -> None:
        try:
            lock.release()
        except OSError:
            self.count(io_errors=1)

    def _soft(self, action: Callable[[int], T], *, create: bool = False) -> T | None:
        """Run an operation on the directory; return None where the file system denies it."""
        try:
            with opened(self.root, create=create) as directory:
                return action(directory)
        except OSError as error:
            if isinstance(error, FileNotFoundError) and not create:
                return None  # no directory yet
            self.count(io_errors=1)
            if create:
                self._tell(f"{self.root} cannot be written: {error.strerror}")
        except RefusedError as refused:
            self._tell(str(refused))
        return None

    def _tell(self, reason: str) -> None:
        self.warn(
            f"compiled code is not cached on disk: {reason}; set TILEWRIGHT_CACHE_DIR to another"
            " directory, or to `off`"
        )


def _read(directory: int, path: str) -> bytes | None:
    """Return the bytes of an entry; raise InvalidEntryError for anything but our own plain file."""
    try:
        file = os.open(path, READ, dir_fd=directory)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise InvalidEntryError("it is a link") from None
        raise
    with os.fdopen(file, "rb", buffering=0) as opened_file:
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
            raise InvalidEntryError("it is not a plain file of this user")
        if found.st_size > LARGEST:
            raise InvalidEntryError("it is too large")
        return opened_file.read()


def try_to_write(directory: int) -> None:
    """Write something and remove it; OSError where that cannot be."""
    temporary = f"{os.urandom(8).hex()}.tmp"
    descriptor = os.open(temporary, WRITE, 0o600, dir_fd=directory)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(bytes(TRIED))
            file.flush()
            os.fsync(descriptor)
    finally:
        remove(directory, temporary)


def _write(directory: int, name: str, data: bytes) -> bool:
    """Write an entry, all of it or nothing."""
    with suppress(FileExistsError):
        os.mkdir(name[:2], 0o700, dir_fd=directory)
    write(directory, path_of(name), data)
    return True
