"""What the core knows of memory and tensors, word by word, as `native/core/records.hpp` has it."""

from __future__ import annotations

import ctypes
from enum import IntEnum

from tilewright.devices.stub.words import Words

READERS = 4
"""Streams that may read a piece of memory at once before Python must keep the account."""


class TensorWord(IntEnum):
    """A tensor, as launches read it."""

    KIND = 0
    ADDRESS = 1
    STORAGE = 2
    STATE = 3


class StorageWord(IntEnum):
    """A piece of memory: who borrowed it, and the work under way that uses it."""

    EPOCH = 0
    LOOK = 1
    OWNER = 2
    WRITE = 3
    READ = 5


TENSOR_WORDS = len(TensorWord)
STORAGE_WORDS = int(StorageWord.READ) + 2 * READERS


def words_at(address: int, count: int) -> Words:
    """The words of a record, to be read and written."""
    return (ctypes.c_int64 * count).from_address(address)


def storage_words(state: object) -> Words:
    """The record of a borrow state, which must be kept meanwhile."""
    return words_at(state.record, STORAGE_WORDS)
