"""What plain launches of one kernel over one grid have in common, as the core reads it: words."""

from __future__ import annotations

from enum import IntEnum


class ShotWord(IntEnum):
    """What all plain launches of one kernel over one grid have in common."""

    RECORD = 0
    """The address of a record, with the parameters that are always the same; 0: each launch has
    one of its own."""
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
    that gives the value now, 0 and the value; or the address of a slot of an object, `IN_SLOT` and
    the value."""
    WATCHES = 8
    DRIVER = 9
    """Where native code finds the functions of the device's driver; 0: it has none, or needs none.
    """


SHOT_WORDS = len(ShotWord)
IN_SLOT = 1
"""In place of a key: the value is in a slot of an object. No object lies at this address."""
