"""The disk cache itself: a keeper of compiled code in one directory."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from ...base.private_directory import WRITE, RefusedError, opened, remove, write
from ...base.stage import Saved
from .entry import InvalidEntryError, check, decode, encode, parts
from .evict import LOW, File, evict, files, path_of
from .keeper import LARGEST, Keeper
from .lock import Lock, acquire
from .record import Record, differences, facts_of

T = TypeVar("T")

PATIENCE = 60.0
"""Seconds to wait for another process that compiles the same; then both do."""
READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
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
        """What was kept, compared with its checksums; noted as used."""
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
        """All entries, the longest unused first."""
        found = self._soft(lambda directory: [f for f in files(directory) if f.is_entry])
        return tuple(sorted(found or (), key=lambda f: (f.used, f.path)))

    def facts(self, name: str) -> dict[str, object] | None:
        """What an entry was made from; None where there is no such entry, or not a whole one."""
        return self.look(name)[0]

    def look(self, name: str) -> tuple[dict[str, object] | None, str]:
        """What an entry was made from, or None and what is wrong with it."""
        path = path_of(name)
        try:
            data = self._soft(lambda directory: _read(directory, path))
            return (check(data, name), "") if data is not None else (None, "it cannot be read")
        except InvalidEntryError as error:
            return None, str(error)

    def contents(self, name: str) -> tuple[Record, Saved] | None:
        """An entry's record and what is kept under it; None where there is no whole one."""
        path = path_of(name)
        try:
            data = self._soft(lambda directory: _read(directory, path))
            return None if data is None else parts(data, name)
        except InvalidEntryError:
            return None

    def verify(self) -> dict[str, str]:
        """What is wrong with entries, by name; those that are damaged are removed."""
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
        """Why there is no entry for a record: what differs from the nearest of the same kernel."""
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
        """Look at all files at the first put, and then whenever much has been written."""
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
        """Do something in the directory; None where the file system does not let us."""
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
    """The bytes of an entry; InvalidEntryError for what is no plain file of our own."""
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
