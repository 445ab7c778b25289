"""The functions of the native core that borrow memory and order work, as launches call them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..._core import (
    bind_tensors,
    note_passed,
    note_submitted,
    reap,
    reborrow,
    reserve,
    write_addresses,
)


class Stub(NamedTuple):
    """What the functions do stands in `_core`. Records are told by their addresses."""

    bind: Callable[[int, tuple[Any, ...], int], tuple[Any, ...] | None] = bind_tensors
    claim: Callable[[int, int, int, int], int] = reborrow
    reserve: Callable[[bytes, int, int, int, int], int] = reserve
    address: Callable[[bytes, int, int, int], None] = write_addresses
    put: Callable[[int], None] = note_submitted
    passed: Callable[[int, int], None] = note_passed
    settle: Callable[[int], int] = reap


_STUB = Stub()


def stub() -> Stub:
    """All of them."""
    return _STUB
