"""Reads numbers and lists from bytes that nobody has vouched for."""

from __future__ import annotations

import struct

from ....base.errors import Error

MOST_BYTES = 10
"""The longest a 64-bit number may be."""


class BytecodeError(Error, ValueError):
    """Bytes that are no bytecode."""


class Bytes:
    """A stretch of a file, read from its start; whatever does not fit is a BytecodeError."""

    def __init__(self, data: bytes, at: int = 0, end: int | None = None) -> None:
        self.data = data
        self.at = at
        self.end = len(data) if end is None else end

    @property
    def left(self) -> int:
        """Bytes not yet read."""
        return self.end - self.at

    def wrong(self, what: str) -> BytecodeError:
        """An error that says where it happened."""
        return BytecodeError("this is not Tile IR bytecode", got=f"{what}, at byte {self.at}")

    def take(self, count: int) -> bytes:
        """The next bytes."""
        if count > self.left:
            raise self.wrong(f"{count} bytes expected where {self.left} are left")
        start = self.at
        self.at += count
        return self.data[start : self.at]

    def part(self, length: int) -> Bytes:
        """The next bytes as a stretch of their own."""
        start = self.at
        self.take(length)
        return Bytes(self.data, start, self.at)

    def byte(self) -> int:
        """One byte."""
        return self.take(1)[0]

    def varint(self) -> int:
        """An unsigned number."""
        value = 0
        for shift in range(0, 7 * MOST_BYTES, 7):
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                if value >> 64:
                    break
                return value
        raise self.wrong("a number of more than 64 bits")

    def signed_varint(self) -> int:
        """A signed number."""
        value = self.varint()
        return value >> 1 ^ -(value & 1)

    def count(self, width: int = 1) -> int:
        """The length of a list whose elements take at least so many bytes each."""
        n = self.varint()
        if n * width > self.left:
            raise self.wrong(f"a list of {n} where {self.left} bytes are left")
        return n

    def i32s(self) -> tuple[int, ...]:
        """A list of 32-bit numbers."""
        n = self.count(4)
        return struct.unpack(f"<{n}i", self.take(4 * n))

    def i64s(self) -> tuple[int, ...]:
        """A list of 64-bit numbers."""
        n = self.count(8)
        return struct.unpack(f"<{n}q", self.take(8 * n))

    def fixed(self, count: int, width: int) -> list[int]:
        """Numbers of a fixed width."""
        data = self.take(count * width)
        return [int.from_bytes(data[i : i + width], "little") for i in range(0, len(data), width)]

    def align(self, alignment: int, base: int) -> None:
        """Skip what fills up to a multiple of some length, counted from `base`."""
        self.take(-(self.at - base) % alignment)
