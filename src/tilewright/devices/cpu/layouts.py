"""Where objects of Python keep what the native core reads besides their slots."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

_CLASS = 1
"""The word of an object that is its class, behind the count of its references."""


def _word(address: int, index: int) -> int:
    return ctypes.c_int64.from_address(address + 8 * index).value


@cache
def _are_known() -> bool:
    """Return whether objects of this interpreter begin as expected."""
    probe = object()
    return _word(id(probe), _CLASS) == id(object)


def holds_of(lock: Any) -> int:
    """Return where a reentrant lock counts its owners' acquisitions; 0: not found."""
    probe = type(lock)()
    size = probe.__sizeof__() // 8
    seen = [_words_of(probe, size)]
    for _ in range(2):
        probe.acquire()
        seen.append(_words_of(probe, size))
    probe.release()
    probe.release()
    counted = [i for i, counts in enumerate(zip(*seen, strict=True)) if counts == (0, 1, 2)]
    return id(lock) + 8 * counted[0] if len(counted) == 1 and _are_known() else 0


def slot_holding(thing: object, value: object) -> int:
    """Return the address of the slot in which an object keeps a value; 0: not found, or not the
    only.
    """
    words = _words_of(thing, thing.__sizeof__() // 8) if _are_known() else []
    found = [i for i, word in enumerate(words) if i and word == id(value)]
    return id(thing) + 8 * found[0] if len(found) == 1 else 0


def _words_of(thing: object, count: int) -> list[int]:
    return [_word(id(thing), i) for i in range(count)]
