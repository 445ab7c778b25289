"""Layouts of the records that Python fills and the native core reads: 64-bit words.

`native/core/records.hpp` declares the same records as structs.
"""

from __future__ import annotations

import ctypes
from enum import IntEnum
from typing import TypeAlias

Words: TypeAlias = "ctypes.Array[ctypes.c_int64]"


class SlowPath(IntEnum):
    """Why a launch takes the slow path; bits, and plain ints once they are combined."""

    EXCLUSIVE = 1
    """All of it is borrowed exclusively."""
    WRITERS = 2
    """Parts of it are."""
    NEIGHBOURS = 4
    """It overlaps memory that is known by another name."""
    LEASES = 8
    """Others see it, so it must not be written."""
    UNWRITTEN = 16
    """Not all of it has been written."""
    META = 32
    """There is no memory."""
    PENDING = 64
    """Python keeps an account of work that uses it."""
    READERS = 128
    """Parts of it are borrowed for reading."""
    WRITE_LEASES = 256
    """Others may write it, so it must not be read."""


class TimelineWord(IntEnum):
    """The plain launches of one stream, which it passes in the order of their numbers."""

    ISSUED = 0
    """The number of the last one."""
    OVER = 1
    """The number up to which no other object needs to know of them."""
    UNSUBMITTED = 2
    """How many are about to be enqueued."""
    SUBMITTED = 3
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


TIMELINE_WORDS = len(TimelineWord)


class ReplayWord(IntEnum):
    """What work uses that is started again and again, each piece all of its memory."""

    ROW = 0
    """The address of a row."""
    COUNT = 1
    """Pieces in it."""
    WRITTEN = 2
    """The first of which are written."""
    WHAT = 3
    """The description of what is done to written memory, as an object."""


REPLAY_WORDS = len(ReplayWord)


class BindWord(IntEnum):
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
    """of partitions whose tiles a row of blocks visits;"""
    ACCESS = 10
    """and of exclusive borrows of whole tensors."""
    ARITY = 11
    """How many arguments there are."""
    WHAT = 12
    """The description of what is done to written memory, as an object;"""
    READING = 13
    """and to memory that is read."""
    CORE_AT = 14
    """Offsets of slots: where a shared tensor has what its owners share;"""
    INNER_AT = 15
    """where that has the tensor."""
    WHOLE = 16
    """The address of words: for each tensor that is written, whether it is borrowed as a whole."""
    POINTERS = 17
    """How many of those that are written, the last, are so by raw pointers."""
    POINTER = 18
    """The class of these, as an object."""
    POINTED_AT = 19
    """The offset of the slot where they have their memory."""


BIND_WORDS = len(BindWord)


class PlanWord(IntEnum):
    """What all plain launches of one kernel over one grid have in common."""

    RECORD = 0
    """The address of a record with the constant parameters; 0: each launch has a separate record.
    """
    SLOTS = 1
    """How many parameters there are."""
    TENSORS = 2
    """How many of them are addresses of tensors, and which."""
    TENSOR_PLACES = 3
    NUMBERS = 4
    """How many are other numbers that differ, and which."""
    NUMBER_PLACES = 5
    WRITTEN = 6
    """How many of the tensors are written: the first of them."""
    WATCHED = 7
    """How many values the code was made for that may have changed, and where these are said, by
    three words: a dictionary, the key and the value as it was, or 0 if there was none; a function
    that gives the value now, 0 and the value; or a function that the kernel calls, one of
    `FUNCTION_KEYS` and the value."""
    WATCHES = 8
    DRIVER = 9
    """Where native code finds the functions of the device's driver; 0: it has none, or needs none.
    """
    CHECKS_NUMBERS = 10
    """Not 0: the code may refuse numbers that it was not launched with yet."""
    REPORT = 11
    """Which parameter says where the kernel reports, on CUDA; 0: it reports nothing."""


PLAN_WORDS = len(PlanWord)
FUNCTION_KEYS = {"__code__": 1, "__defaults__": 2, "__kwdefaults__": 3}
"""In place of a key: attributes of functions, by name. No object lies at these addresses."""


def new_words(count: int) -> Words:
    """Allocate `count` words of zeros."""
    return (ctypes.c_int64 * count)()
