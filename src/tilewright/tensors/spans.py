"""Ranges of addresses, and what is known of each, found by the addresses they have in common.

Ranges of about one size stand in one list, ordered by where they begin. What meets a range begins
in it, or before it by less than that size: so few are looked at, however many there are.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Spans(Generic[T]):
    """Ranges, each with something; ranges may overlap, and come more than once."""

    __slots__ = ("_count", "_sizes")

    def __init__(self) -> None:
        self._sizes: dict[int, list[tuple[int, int, int, T]]] = {}
        """By the number of bits of their size: start, end, a number of its own, the thing."""
        self._count = 0

    def add(self, start: int, end: int, thing: T) -> None:
        """Know the addresses from `start` to before `end`, which are some."""
        self._count += 1  # so that things are never compared
        insort(self._of(end - start), (start, end, self._count, thing))

    def meeting(self, start: int, end: int) -> list[T]:
        """What is known of ranges that have an address in common with this one."""
        found: list[T] = []
        for bits, ranges in self._sizes.items():
            first = bisect_left(ranges, (start - (1 << bits) + 1,))
            if first == len(ranges) or ranges[first][0] >= end:
                continue
            for _, its_end, _, thing in ranges[first : bisect_left(ranges, (end,), first)]:
                if its_end > start:
                    found.append(thing)
        return found

    def keep(self, is_kept: Callable[[T], bool]) -> None:
        """Forget the others."""
        kept = {
            bits: [one for one in ranges if is_kept(one[3])]
            for bits, ranges in self._sizes.items()
        }  # fmt: skip
        self._sizes = {bits: ranges for bits, ranges in kept.items() if ranges}

    def _of(self, size: int) -> list[tuple[int, int, int, T]]:
        return self._sizes.setdefault(size.bit_length(), [])
