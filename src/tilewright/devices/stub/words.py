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

READERS = 4
"""Streams that may read a piece of memory at once before Python must keep the account."""


class TensorWord(IntEnum):
    """A tensor, as launches read it. It never changes."""

    KIND = 0
    """Equal for tensors of one layout on one device, aligned alike, and for no others."""
    ADDRESS = 1
    """Of its first element."""
    STORAGE = 2
    """Where the record of its memory is."""
    STATE = 3
    """Who may use that, as an object."""


TENSOR_WORDS = len(TensorWord)


class StampWord(IntEnum):
    """What a partition says beside its tensor. It never changes."""

    TILING = 0
    """Equal for those of one layout cut alike, and for no others."""
    OWNER = 1
    """Its exclusive borrow, as the record of the memory names it."""


class StorageWord(IntEnum):
    """A piece of memory: who borrowed it, and the work under way that uses it."""

    EPOCH = 0
    """How often it was borrowed exclusively: shared borrows stand while it is the same."""
    LOOK = 1
    """Why Python must look closer, as `Look` says; 0: it need not."""
    OWNER = 2
    """The exclusive borrow of all of it that stands, as a number; 0: none."""
    WRITE = 3
    """The last write by a plain launch: a lane, and its number there."""
    READ = 5
    """Reads by plain launches: as many pairs of a lane and a number as there are `READERS`."""


STORAGE_WORDS = int(StorageWord.READ) + 2 * READERS


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


class BorrowWord(IntEnum):
    """What borrowing takes anywhere, as objects of Python; but for the main thread's number."""

    ACQUIRE = 0
    """Takes the lock of all borrow state."""
    RELEASE = 1
    """Gives it back."""
    USE = 2
    """The class of what is noted with memory."""
    MAIN = 3
    """The number of the main thread, which makes most launches."""
    MAIN_NAME = 4
    """Its name."""
    THREAD = 5
    """Gives the name of the thread that calls it, where that is another one."""
    HOLDS = 6
    """Where the lock counts how often it is held; 0: that is not known."""
    LAST_WRITE = 7
    """The offset of the slot of `TensorWord.STATE` that says who wrote last."""


BORROW_WORDS = len(BorrowWord)


class ExclusiveWord(IntEnum):
    """What borrowing a whole tensor for writing takes: addresses, then offsets of slots."""

    BORROWS = 0
    """The words that `BorrowWord` names."""
    TICKET = 1
    """The class of borrows, as an object."""
    LATEST_AT = 2
    """Where `TensorWord.STATE` has the latest exclusive borrow;"""
    STATE_AT = 3
    """where a borrow has that state;"""
    USE_AT = 4
    """who took it;"""
    EXTENT_AT = 5
    """what it is of;"""
    PARENT_AT = 6
    """which one it came out of;"""
    SOLE_AT = 7
    """whether it is exclusive;"""
    BY_EPOCH_AT = 8
    """whether it stands by the epoch;"""
    ENDED_AT = 9
    """what ended it;"""
    EPOCH_AT = 10
    """in which epoch it was taken."""


EXCLUSIVE_WORDS = len(ExclusiveWord)


class MemoryWord(IntEnum):
    """What work uses that is started again and again, each piece all of its memory."""

    ROW = 0
    """The address of a row."""
    COUNT = 1
    """Pieces in it."""
    WRITTEN = 2
    """The first of which are written."""
    BORROWS = 3
    """The words that `BorrowWord` names."""
    WHAT = 4
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
    RECORD = 9
    """of the records of tensors."""
    ARITY = 10
    """How many arguments there are."""
    BORROWS = 11
    """The words that `BorrowWord` names."""
    WHAT = 12
    """What is done to memory that is written, in words, as an object."""
    PLAIN_AT = 13
    """Offsets of slots: where a tensor has its record;"""
    CORE_AT = 14
    """where a shared one has what its owners share;"""
    INNER_AT = 15
    """where that has the tensor;"""
    STAMP_AT = 16
    """where a partition has its stamp;"""
    TENSOR_AT = 17
    """where it has its tensor."""
    MAPPED = 18
    """Another class of partitions, as an object: those whose tiles a row of blocks visits."""
    EXCLUSIVE = 19
    """The words that `ExclusiveWord` names."""
    READING = 20
    """What is done to memory that is read, in words, as an object."""


CALL_WORDS = len(CallWord)


def new_words(count: int) -> Words:
    """So many words, all zero."""
    return (ctypes.c_int64 * count)()
