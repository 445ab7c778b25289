"""What the core knows of memory and tensors, word by word, as `native/core/records.hpp` has it."""

from __future__ import annotations

import ctypes
from enum import IntEnum

from tilewright.devices.native_records import Words

MARKS = 8
"""Pieces of work beside each other that use a piece of memory before Python keeps the account."""
MARK_WORDS = 5
"""A timeline, a number, the first byte, the one behind the last, whether they are written."""
ALL_BYTES = 0, 1 << 62


class TensorWord(IntEnum):
    """A tensor, as launches read it."""

    KIND = 0
    ADDRESS = 1
    STORAGE = 2
    STATE = 3
    START = 4
    END = 5


class StorageWord(IntEnum):
    """A piece of memory: who borrowed it, and the work under way that uses it."""

    EPOCH = 0
    LOOK = 1
    OWNER = 2
    MARKED = 3
    MARKS = 4


TENSOR_WORDS = len(TensorWord)
STORAGE_WORDS = int(StorageWord.MARKS) + MARK_WORDS * MARKS


def words_at(address: int, count: int) -> Words:
    """The words of a record, to be read and written."""
    return (ctypes.c_int64 * count).from_address(address)


def storage_words(state: object) -> Words:
    """The record of a borrow state, which must be kept meanwhile."""
    return words_at(state.record, STORAGE_WORDS)
