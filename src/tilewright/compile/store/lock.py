"""A lock file: one process at a time, released when its holder dies, awaited for a limited time."""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import suppress
from dataclasses import dataclass

FIRST_PAUSE, LONGEST_PAUSE = 0.001, 0.05
FLAGS = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW


@dataclass(frozen=True, slots=True)
class Lock:
    """A lock that is held until `release`, or until this process ends."""

    directory: int
    name: str
    file: int

    def release(self) -> None:
        """Remove the file and let the next one in."""
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
        # The holder before removed its file: a lock on a removed file keeps nobody out.
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
