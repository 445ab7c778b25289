"""How the records of tensors, of their memory and of streams are laid out: 64-bit words."""

from __future__ import annotations

import ctypes
from enum import IntEnum
from typing import TypeAlias

from ..._core import PENDING_WORK, SLOW_PATH

Words: TypeAlias = "ctypes.Array[ctypes.c_int64]"

CLOSER, ACCOUNT = SLOW_PATH, PENDING_WORK
"""What is given in place of a number where Python must look closer; or where it keeps an account of
work that may be over: let it look through that, and ask again."""


class Look(IntEnum):
    """What a launch cannot judge by numbers alone; bits, and plain ints once they are combined."""

    EXCLUSIVE = 1
    """All of it is borrowed exclusively."""
    WRITERS = 2
    """Parts of it are."""
    NEIGHBOURS = 4
    """It overlaps memory that is known by another name."""
    LEASES = 8
    """Others see it."""
    UNWRITTEN = 16
    """Not all of it has been written."""
    META = 32
    """There is no memory."""
    FLIGHTS = 64
    """Python keeps an account of work that uses it."""
    READERS = 128
    """Parts of it are borrowed for reading."""


ALL = sum(Look)
"""Every reason there is."""


class LaneWord(IntEnum):
    """The plain launches of one stream, which it passes in the order of their numbers."""

    ISSUED = 0
    """The number of the last one."""
    OVER = 1
    """Up to which number nobody needs to know of them any more."""
    UNPUT = 2
    """How many are about to be put on the stream."""
    PUT = 3
    """How many were put there of which Python keeps no list."""
    LISTED = 4
    """The first one that Python lists; 0: none."""
    UNLISTED = 5
    """The first one that is not listed, and not known to be over; 0: none."""
    LATEST = 6
    """The last one that was given out to be listed, which takes the lock of borrow state."""
    QUEUE = 7
    """Where native code finds the stream itself."""
    DOMAIN = 8
    """Streams of one domain can wait for each other natively; 0: Python must see to it."""
    LAST_UNLISTED = 9
    """The last one that was given out and is not listed."""


LANE_WORDS = len(LaneWord)


class MemoryWord(IntEnum):
    """What work uses that is started again and again, each piece all of its memory."""

    ROW = 0
    """The address of a row."""
    COUNT = 1
    """Pieces in it."""
    WRITTEN = 2
    """The first of which are written."""
    WHAT = 3
    """What is done to memory that is written, in words, as an object."""


MEMORY_WORDS = len(MemoryWord)


class CallWord(IntEnum):
    """What binding the arguments of a kernel takes: addresses, but for the first two."""

    COUNT = 0
    """Tensors."""
    WRITTEN = 1
    """The first of which are written."""
    PLACES = 2
    """Which arguments they are."""
    FOUND = 3
    """Where their kinds are written: those of all of them, then the tilings of partitions."""
    KINDS = 4
    """The kinds of the last launch."""
    KNOWN = 5
    """The object for launches of these kinds; 0: there is none."""
    TENSOR = 6
    """The class of tensors, as an object;"""
    SHARED = 7
    """of tensors with several owners;"""
    PARTITION = 8
    """of partitions;"""
    MAPPED = 9
    """and of partitions whose tiles a row of blocks visits."""
    ARITY = 10
    """How many arguments there are."""
    WHAT = 11
    """What is done to memory that is written, in words, as an object;"""
    READING = 12
    """and to memory that is read."""
    CORE_AT = 13
    """Offsets of slots: where a shared tensor has what its owners share;"""
    INNER_AT = 14
    """where that has the tensor."""
    ARRAY = 15
    """The class of NumPy's arrays, as an object."""


CALL_WORDS = len(CallWord)


def new_words(count: int) -> Words:
    """So many words, all zero."""
    return (ctypes.c_int64 * count)()
