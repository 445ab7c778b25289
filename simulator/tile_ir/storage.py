"""Memory of a device: allocations, pointers, and memory order by tokens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from tilewright.backend.tileir.bytecode.types import F4E2M1FN, I1, I4, ScalarType

from .values import ELEMENTS, POINTER, Array, DType, TokenValue, UndefinedError

# -------------------------------------------------------------------------------------------------
# Allocations, and pointers with provenance: each may reach its own allocation only.

ANY = 0
"""The origin of a pointer that was made of an integer: it may reach every allocation."""
WORD = 4
"""Bytes up to which an allocation is filled: atomics on small elements use whole words."""


@dataclass(frozen=True, slots=True)
class Allocation:
    """An allocation: its start, its bytes, which of them were written."""

    start: int
    data: Array
    written: Array | None = None
    """One flag per byte; None where all of it counts as written."""

    @property
    def end(self) -> int:
        """The address behind the last byte."""
        return self.start + len(self.data)


@dataclass(frozen=True, slots=True)
class _Origin:
    """The memory that a pointer may reach: part of an allocation, or nothing."""

    name: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Piece:
    """Elements in one allocation: their lanes in a tile, and their numbers there."""

    allocation: Allocation
    number: int
    lanes: Array
    index: Array
    itemsize: int

    @property
    def offsets(self) -> Array:
        """Where the elements start, in bytes from the start of the allocation."""
        return self.index * self.itemsize


class DeviceMemory:
    """All allocations that a launch may reach."""

    def __init__(self, allocations: Sequence[Allocation]) -> None:
        self._allocations = sorted(allocations, key=lambda each: each.start)
        self._starts = np.array([each.start for each in self._allocations], np.int64)
        self._origins = [_Origin("an integer", 0, 0)]

    def pointer(self, name: str, address: int, span: tuple[int, int] | None = None) -> Array:
        """Return a pointer that may reach a span of addresses, by default its allocation.

        Where there is no allocation the pointer may be made, but not be used.
        """
        number = int(self._number_of(np.array([address]))[0])
        found = self._allocations[number] if number >= 0 else None
        if span is None:
            span = (0, 0) if found is None else (found.start, found.end)
        self._origins.append(_Origin(name, *span))
        return np.array((address, len(self._origins) - 1), POINTER)

    def _number_of(self, addresses: Array) -> Array:
        """Return the number of the allocation around each address, or -1."""
        if not self._allocations:
            return np.full(addresses.shape, -1)
        found = np.searchsorted(self._starts, addresses, side="right") - 1
        ends = np.array([each.end for each in self._allocations], np.int64)
        return np.where((found >= 0) & (addresses < ends[found]), found, -1)

    # --- accesses ------------------------------------------------------------------------------

    def pieces(self, pointers: Array, mask: Array | None, kind: ScalarType) -> list[Piece]:
        """Return the elements that a tile of pointers refers to, where the mask holds."""
        lanes = np.arange(pointers.size) if mask is None else np.flatnonzero(mask)
        chosen = pointers.reshape(-1)[lanes]
        itemsize = stored(kind).itemsize
        addresses, origins = chosen["address"], chosen["origin"]
        if np.any(addresses % itemsize):
            wrong = addresses[np.flatnonzero(addresses % itemsize)[0]]
            raise UndefinedError(f"the address {wrong:#x} is not a multiple of {itemsize}")
        return list(self._pieces(lanes, addresses, origins, itemsize))

    def _pieces(
        self, lanes: Array, addresses: Array, origins: Array, itemsize: int
    ) -> Iterator[Piece]:
        known: list[int] = np.unique(origins).tolist()
        for number in known:
            if number != ANY:
                mine = addresses[origins == number]
                self._check_span(self._origins[number], mine, itemsize)
        numbers = self._number_of(addresses)
        there: list[int] = np.unique(numbers).tolist()
        for number in there:
            chosen = numbers == number
            if number < 0:
                raise UndefinedError(f"there is no memory at {addresses[chosen][0]:#x}")
            allocation = self._allocations[number]
            offsets = addresses[chosen] - allocation.start
            room = -(-len(allocation.data) // WORD) * WORD
            if offsets.max() + itemsize > room:
                raise UndefinedError(f"an access of {itemsize} bytes ends behind the allocation")
            yield Piece(allocation, number, lanes[chosen], offsets // itemsize, itemsize)

    def _check_span(self, origin: _Origin, addresses: Array, itemsize: int) -> None:
        low, high = int(addresses.min()), int(addresses.max()) + itemsize
        if low < origin.start or high > origin.end:
            distance = low - origin.start if low < origin.start else high - origin.start
            raise UndefinedError(
                f"an access at byte {distance} from the start of {origin.name}, "
                f"which has {origin.end - origin.start} bytes"
            )


def load(pieces: Sequence[Piece], kind: ScalarType, into: Array) -> None:
    """Read elements into the lanes of a tile."""
    flat = into.reshape(-1)
    for piece in pieces:
        _check_written(piece)
        raw = _elements(piece, kind)[piece.index]
        flat[piece.lanes] = raw != 0 if kind is I1 else raw


def store(pieces: Sequence[Piece], kind: ScalarType, values: Array) -> None:
    """Write the lanes of a tile to memory."""
    flat = values.reshape(-1)
    for piece in pieces:
        _elements(piece, kind)[piece.index] = flat[piece.lanes]
        if piece.allocation.written is not None:
            for byte in range(piece.itemsize):
                at = piece.offsets + byte
                piece.allocation.written[at[at < len(piece.allocation.written)]] = True


def stored(kind: ScalarType) -> DType:
    """Return the NumPy type of an element in memory; any byte but 0 is true."""
    if kind in (F4E2M1FN, I4):
        raise UndefinedError(f"{kind} has no separate address")
    return np.dtype(np.uint8) if kind is I1 else ELEMENTS[kind]


def _elements(piece: Piece, kind: ScalarType) -> Array:
    """Return an allocation as an array of elements, padded to a complete last word."""
    data, dtype = piece.allocation.data, stored(kind)
    count = -(-len(data) // dtype.itemsize)
    if count * dtype.itemsize == len(data):
        return data.view(dtype)
    whole = np.lib.stride_tricks.as_strided(data, (count * dtype.itemsize,), (1,))
    return np.asarray(whole.view(dtype))


def _check_written(piece: Piece) -> None:
    written = piece.allocation.written
    if written is None:
        return
    ends = np.minimum(piece.offsets + piece.itemsize - 1, len(written) - 1)
    known = written[piece.offsets] | written[ends]
    if not known.all():
        at = piece.offsets[np.flatnonzero(~known)[0]]
        raise UndefinedError(f"byte {at} of an allocation is read, but was never written")


# -------------------------------------------------------------------------------------------------
# Memory order inside of one block: tokens order accesses, not program order.
#
# Each token has the set of accesses that happen before it (a vector clock, as a bit set). Two
# accesses of the same memory, one of which writes and one of which is weak, must be ordered.


@dataclass(frozen=True, slots=True)
class _Access:
    number: int
    name: str
    weak: bool
    low: int
    high: int
    offsets: Array
    itemsize: int

    def meets(self, other: _Access) -> bool:
        """Return whether two accesses have a byte in common."""
        if self.low >= other.high or other.low >= self.high:
            return False
        return bool(np.isin(self.bytes, other.bytes).any())

    @property
    def bytes(self) -> Array:
        """All bytes of the access, as offsets in their allocation."""
        return (self.offsets[:, None] + np.arange(self.itemsize)).reshape(-1)


@dataclass(slots=True)
class OrderedAccesses:
    """The accesses of a block so far, by the number of their allocation."""

    count: int = 0
    reads: dict[int, list[_Access]] = field(default_factory=dict[int, list[_Access]])
    writes: dict[int, list[_Access]] = field(default_factory=dict[int, list[_Access]])

    def note(
        self, pieces: Sequence[Piece], name: str, token: TokenValue, *, writes: bool, weak: bool
    ) -> TokenValue:
        """Note an access that waits for a token; return the token of those that wait for it."""
        number = self.count
        self.count += 1
        for piece in pieces:
            offsets = piece.offsets
            low, high = int(offsets.min()), int(offsets.max()) + piece.itemsize
            access = _Access(number, name, weak, low, high, offsets, piece.itemsize)
            self._check(access, piece.number, token, writes=writes)
            (self.writes if writes else self.reads).setdefault(piece.number, []).append(access)
        return TokenValue(token.before | 1 << number)

    def _check(self, access: _Access, where: int, token: TokenValue, *, writes: bool) -> None:
        others = [*self.writes.get(where, ()), *(self.reads.get(where, ()) if writes else ())]
        for other in others:
            ordered = token.before >> other.number & 1
            if not ordered and (access.weak or other.weak) and access.meets(other):
                raise UndefinedError(
                    f"no token orders it after access {other.number} (`{other.name}`) "
                    f"of the same memory"
                )
