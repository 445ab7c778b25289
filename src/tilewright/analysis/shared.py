"""Where the shared arrays of a kernel are in the memory of its block."""

from __future__ import annotations

from dataclasses import dataclass

from ..base.shapes import ceil_div
from ..ir.core import Func
from ..ir.types import SharedType

ALIGNMENT = 16


@dataclass(frozen=True, slots=True)
class SharedLayout:
    """Byte offsets of the arrays by number, of the dynamic part, and all bytes."""

    offsets: dict[int, int]
    dynamic: int
    total: int


def shared_layout(func: Func) -> SharedLayout:
    """Find the layout of a kernel's shared memory."""
    offsets: dict[int, int] = {}
    at = 0
    for op in func.walk():
        if op.name == "shared" and op.attrs["number"] not in offsets:
            kind = op.result.type
            assert isinstance(kind, SharedType)
            offsets[op.attrs["number"]] = at
            at += ceil_div(kind.nbytes, ALIGNMENT) * ALIGNMENT
    return SharedLayout(offsets, at, at + func.signature.shared_bytes)
