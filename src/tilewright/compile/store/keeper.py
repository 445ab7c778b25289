"""The interface of a store of compiled code to a compilation: look up, and store.

A keeper never raises: an entry that it cannot read is a miss, one that it cannot write is not
stored. It counts both, and warns once if nothing can be stored.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import TypeVar

from ...base.messages import tell
from ...base.stage import Saved
from .entry import Record

T = TypeVar("T")

LARGEST = 256 << 20
"""An entry of more bytes is not ours."""


@dataclass(frozen=True, slots=True)
class Stats:
    """Statistics of a store in this process."""

    hits: int = 0
    misses: int = 0
    puts: int = 0
    bytes_written: int = 0
    io_errors: int = 0
    invalid: int = 0
    """Entries that were damaged or not what they should be, and were removed."""
    evicted: int = 0


class Keeper(ABC):
    """A store of compiled code by records. Any number of threads may use it."""

    def __init__(self) -> None:
        self._stats = Stats()
        self._warned = False
        self._lock = threading.Lock()

    @property
    def stats(self) -> Stats:
        """The counts so far."""
        return self._stats

    @property
    @abstractmethod
    def place(self) -> str:
        """The text of its location."""

    def get(self, record: Record, restore: Callable[[Saved], T]) -> T | None:
        """Return the entry of a record, rebuilt by `restore`; count a hit or a miss."""
        found = self.find(record, restore)
        self.count(misses=found is None)
        return found

    def find(self, record: Record, restore: Callable[[Saved], T]) -> T | None:
        """Return an entry as `get` does, but do not count a miss."""
        found = self.read(record, restore)
        self.count(hits=found is not None)
        return found

    @abstractmethod
    def read(self, record: Record, restore: Callable[[Saved], T]) -> T | None:
        """Return a stored result; count and remove an invalid one."""

    @abstractmethod
    def put(self, record: Record, saved: Saved) -> bool:
        """Keep something under a record; whether it is kept now."""

    @abstractmethod
    def alone(self, record: Record) -> AbstractContextManager[None]:
        """Keep others from making the same, as far as that can be."""

    @abstractmethod
    def remove(self, name: str) -> bool:
        """Remove one entry, which need not be there; whether it is gone."""

    @abstractmethod
    def clear(self) -> object:
        """Remove all entries."""

    def count(self, **more: int) -> None:
        """Add to the counts."""
        with self._lock:
            counts = {name: getattr(self._stats, name) + n for name, n in more.items()}
            self._stats = replace(self._stats, **counts)

    def warn(self, text: str) -> None:
        """Warn of something, if this is the first time."""
        with self._lock:
            warned, self._warned = self._warned, True
        if not warned:
            tell(text, stacklevel=2)
