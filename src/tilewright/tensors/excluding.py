"""Borrows of whole tensors for writing in native code: as `BorrowState.exclude`, in one call."""

from __future__ import annotations

from collections.abc import Callable
from ctypes import addressof
from functools import partial
from typing import TypeAlias

from .._core import slot_offset
from ..base.forking import made_once
from ..devices.stub.calls import stub
from ..devices.stub.words import EXCLUSIVE_WORDS, Words, new_words
from .borrow import BorrowState, Ticket, borrow_words

Exclude: TypeAlias = Callable[[bytes, str, int], "Ticket | None"]
"""Is given the record of a tensor that may be written, what is done to it, and how many calls up
the stack the program may stand. None: that needs a closer look, and nothing was done."""

SLOTS = ("state", "use", "extent", "parent", "exclusive", "by_epoch", "ended", "epoch")
"""What a ticket has, in the order of `ExclusiveWord`."""


@made_once
def excluder() -> Exclude:
    """The function, which knows where tickets and states keep their slots."""
    return partial(stub().exclude, addressof(exclusive_words()))


@made_once
def exclusive_words() -> Words:
    """What native code needs to begin and end exclusive borrows, as `ExclusiveWord` says."""
    words = new_words(EXCLUSIVE_WORDS)
    words[:] = [
        addressof(borrow_words()), id(Ticket), slot_offset(BorrowState, "_exclusive"),
        *[slot_offset(Ticket, name) for name in SLOTS],
    ]  # fmt: skip
    return words
