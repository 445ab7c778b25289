"""The memory of a device: allocations, and pointers that know which of them they may reach."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..program.types import F4E2M1FN, I1, I4, Scalar
from .values import ELEMENTS, POINTER, Array, DType, UndefinedError

ANY = 0
"""The origin of a pointer that was made of an integer: it may reach every allocation."""
WORD = 4
"""Bytes up to which an allocation is filled: atomics on small elements use whole words."""


@dataclass(frozen=True, slots=True)
class Allocation:
    """Memory in one piece: where it starts, its bytes, which of them were ever written."""

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
    """What a pointer may reach: part of an allocation, or nothing."""

    name: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Piece:
    """Elements in one allocation: which lanes of a tile they are, and their numbers there."""

    allocation: Allocation
    number: int
    lanes: Array
    index: Array
    itemsize: int

    @property
    def offsets(self) -> Array:
        """Where the elements start, in bytes from the start of the allocation."""
        return self.index * self.itemsize


class Memory:
    """All allocations that a launch may reach."""

    def __init__(self, allocations: Sequence[Allocation]) -> None:
        self._allocations = sorted(allocations, key=lambda each: each.start)
        self._starts = np.array([each.start for each in self._allocations], np.int64)
        self._origins = [_Origin("an integer", 0, 0)]

    def pointer(self, name: str, address: int, span: tuple[int, int] | None = None) -> Array:
        """A pointer that may reach a span of addresses; all of its allocation unless one is given.

        Where there is no allocation the pointer may be made, but not be used.
        """
        number = int(self._number_of(np.array([address]))[0])
        found = self._allocations[number] if number >= 0 else None
        if span is None:
            span = (0, 0) if found is None else (found.start, found.end)
        self._origins.append(_Origin(name, *span))
        return np.array((address, len(self._origins) - 1), POINTER)

    def _number_of(self, addresses: Array) -> Array:
        """The number of the allocation around each address, or -1."""
        if not self._allocations:
            return np.full(addresses.shape, -1)
        found = np.searchsorted(self._starts, addresses, side="right") - 1
        ends = np.array([each.end for each in self._allocations], np.int64)
        return np.where((found >= 0) & (addresses < ends[found]), found, -1)

    # --- accesses ------------------------------------------------------------------------------

    def pieces(self, pointers: Array, mask: Array | None, kind: Scalar) -> list[Piece]:
        """Where the elements are that a tile of pointers refers to; only those under the mask."""
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


def load(pieces: Sequence[Piece], kind: Scalar, into: Array) -> None:
    """Read elements into the lanes of a tile."""
    flat = into.reshape(-1)
    for piece in pieces:
        _check_written(piece)
        raw = _elements(piece, kind)[piece.index]
        flat[piece.lanes] = raw != 0 if kind is I1 else raw


def store(pieces: Sequence[Piece], kind: Scalar, values: Array) -> None:
    """Write the lanes of a tile to memory."""
    flat = values.reshape(-1)
    for piece in pieces:
        _elements(piece, kind)[piece.index] = flat[piece.lanes]
        if piece.allocation.written is not None:
            for byte in range(piece.itemsize):
                at = piece.offsets + byte
                piece.allocation.written[at[at < len(piece.allocation.written)]] = True


def stored(kind: Scalar) -> DType:
    """The NumPy type of an element in memory; any byte but 0 is true."""
    if kind in (F4E2M1FN, I4):
        raise UndefinedError(f"{kind} has no separate address")
    return np.dtype(np.uint8) if kind is I1 else ELEMENTS[kind]


def _elements(piece: Piece, kind: Scalar) -> Array:
    """An allocation as an array of elements, the last word filled up."""
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
