"""A table that remembers what was found lately."""

from __future__ import annotations

from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Recent(dict[K, V], Generic[K, V]):
    """What was found for each key. There is room for so many; then the oldest goes."""

    def __init__(self, room: int) -> None:
        super().__init__()
        self._room = room

    def keep(self, key: K, value: V) -> None:
        """Remember what was found. Other threads may do so at the same time."""
        self[key] = value
        while len(self) > self._room:
            self.pop(next(iter(self.copy())), None)  # a copy, as others may change this one

    def keep_latest(self, key: K, value: V) -> None:
        """Do as `keep`, and make the previous value of the key the latest."""
        self.pop(key, None)
        self.keep(key, value)
