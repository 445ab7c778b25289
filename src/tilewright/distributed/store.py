"""The store of keys in which the ranks of a group meet, and how long they wait there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

BEAT = 1.0
"""Seconds between two beats of a rank's pulse, and between two looks at the other pulses."""
GONE = 10.0
"""Seconds after which a rank whose pulse stands still counts as gone."""


class Store(Protocol):
    """Keys and values that all ranks reach: the part of torch's stores that is used here.

    All raise a RuntimeError where the process that holds the values does not answer.
    """

    def set(self, key: str, value: str, /) -> None:
        """Write a value."""
        ...

    def get(self, key: str, /) -> bytes:
        """Return the value of a key that is there."""
        ...

    def check(self, keys: list[str], /) -> bool:
        """Return whether all these keys are there."""
        ...

    def add(self, key: str, amount: int, /) -> int:
        """Add to a number, which begins with 0, and return it."""
        ...

    def compare_set(self, key: str, expected: str, desired: str, /) -> bytes:
        """Write a value if the key has the expected one, or none; return the value it has now."""
        ...

    def delete_key(self, key: str, /) -> bool:
        """Delete a key."""
        ...


Connect: TypeAlias = Callable[[str], Store]
"""Returns a new connection to the part of a store that has a name: a thread that waits must not
keep others from it."""


@dataclass(slots=True)
class Patience:
    """How long a rank waits for others, in seconds."""

    late: float
    """Until one that is not there counts as late."""
    gone: float = GONE
    beat: float = BEAT

    @property
    def broken(self) -> float:
        """Until an engine shall give up by itself: after others would have found who is missing."""
        return 2 * self.late + 4 * self.gone
