"""The functions of the native core that borrow memory and order work, as launches call them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ... import _core


class Stub(NamedTuple):
    """What the functions do stands in `_core`. Records are told by their addresses."""

    bind: Callable[[int, tuple[Any, ...], int], tuple[Any, ...] | None] = _core.bind_tensors
    exclude: Callable[[int, bytes, str, int], Any] = _core.borrow_exclusive
    claim: Callable[[int, int, int, int], int] = _core.reborrow
    reserve: Callable[[bytes, int, int, int, int], int] = _core.reserve
    address: Callable[[bytes, int, int, int], None] = _core.write_addresses
    put: Callable[[int], None] = _core.note_submitted
    passed: Callable[[int, int], None] = _core.note_passed
    settle: Callable[[int], int] = _core.reap


_STUB = Stub()


def stub() -> Stub:
    """All of them."""
    return _STUB
