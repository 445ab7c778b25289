"""Memory order inside of one block: accesses are ordered by tokens, not as they are written.

An access comes after another if it waits, directly or not, for the token of that. Two accesses of
the same memory, one of which writes and one of which is weak, must be ordered so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from .memory import Piece
from .values import Array, TokenValue, UndefinedError


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
        """Whether two accesses have a byte in common."""
        if self.low >= other.high or other.low >= self.high:
            return False
        return bool(np.isin(self.bytes, other.bytes).any())

    @property
    def bytes(self) -> Array:
        """All bytes of the access, as offsets in their allocation."""
        return (self.offsets[:, None] + np.arange(self.itemsize)).reshape(-1)


@dataclass(slots=True)
class Accesses:
    """The accesses of a block so far, by the number of their allocation."""

    count: int = 0
    reads: dict[int, list[_Access]] = field(default_factory=dict[int, list[_Access]])
    writes: dict[int, list[_Access]] = field(default_factory=dict[int, list[_Access]])

    def note(
        self, pieces: Sequence[Piece], name: str, token: TokenValue, *, writes: bool, weak: bool
    ) -> TokenValue:
        """Note an access that waits for a token; gives the token of those that wait for it."""
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
