"""Numbers and lists as bytes, and tables whose rows are numbered in order of first use."""

from __future__ import annotations

import struct
from collections.abc import Hashable, Sequence
from typing import Generic, TypeVar

WORD = (1 << 64) - 1
MAGIC = b"\x7fTileIR\0"
FILLER = b"\xcb"
DYNAMIC = -(1 << 63)
"""Stands for an extent or a stride that is known at run time only."""


def varint(n: int) -> bytes:
    """An unsigned number, seven bits a byte, low bits first."""
    assert 0 <= n <= WORD, f"{n} does not fit 64 bits"
    out = bytearray()
    while n > 0x7F:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


def signed_varint(n: int) -> bytes:
    """A signed number, its sign moved to the lowest bit."""
    return varint((n << 1 ^ n >> 63) & WORD)


def i32s(numbers: Sequence[int]) -> bytes:
    """A list of 32-bit numbers."""
    return varint(len(numbers)) + struct.pack(f"<{len(numbers)}i", *numbers)


def i64s(numbers: Sequence[int]) -> bytes:
    """A list of 64-bit numbers."""
    return varint(len(numbers)) + struct.pack(f"<{len(numbers)}q", *numbers)


def filled(data: bytes, alignment: int) -> bytes:
    """Data brought to a multiple of some length."""
    return data + FILLER * (-len(data) % alignment)


T = TypeVar("T", bound=Hashable)


class Numbering(Generic[T]):
    """Things numbered from 0 in the order in which they are first asked for."""

    def __init__(self) -> None:
        self.rows: dict[T, int] = {}

    def __getitem__(self, thing: T) -> int:
        return self.rows.setdefault(thing, len(self.rows))


def table(rows: Sequence[bytes], width: int) -> bytes:
    """A section of rows: their number, where each starts, their bytes."""
    starts: list[int] = []
    at = 0
    for row in rows:
        starts.append(at)
        at += len(row)
    if not rows:
        return varint(0)
    offsets = b"".join(start.to_bytes(width, "little") for start in starts)
    return filled(varint(len(rows)), width) + offsets + b"".join(rows)
