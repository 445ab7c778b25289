"""Enumerations of the attribute values that ops take."""

from __future__ import annotations

import operator
from collections.abc import Callable
from enum import StrEnum
from typing import Any


class Rounding(StrEnum):
    """Rounding modes of results that their type cannot represent."""

    NEAREST_EVEN = "nearest_even"
    ZERO = "zero"
    NEG_INF = "neg_inf"
    POS_INF = "pos_inf"
    APPROX = "approx"
    FULL = "full"


class Overflow(StrEnum):
    """Promises of an integer op about overflow; the result wraps in any case."""

    NONE = "none"
    NO_SIGNED_WRAP = "no_signed_wrap"
    NO_UNSIGNED_WRAP = "no_unsigned_wrap"
    NO_WRAP = "no_wrap"


class Predicate(StrEnum):
    """Predicates of comparisons."""

    EQ = "eq"
    NE = "ne"
    LT = "lt"
    LE = "le"
    GT = "gt"
    GE = "ge"

    @property
    def negated(self) -> Predicate:
        """The predicate that holds where this one does not; no number may be a NaN."""
        return _NEGATED[self]

    @property
    def swapped(self) -> Predicate:
        """The predicate that says the same of b and a as this one of a and b."""
        return _SWAPPED.get(self, self)

    def apply(self, a: Any, b: Any) -> Any:
        """Return whether two Python numbers compare so, or the elements of two arrays."""
        return _APPLY[self](a, b)


_NEGATED = {
    Predicate.EQ: Predicate.NE, Predicate.LT: Predicate.GE, Predicate.LE: Predicate.GT,
    Predicate.NE: Predicate.EQ, Predicate.GE: Predicate.LT, Predicate.GT: Predicate.LE,
}  # fmt: skip
_SWAPPED = {
    Predicate.LT: Predicate.GT, Predicate.LE: Predicate.GE,
    Predicate.GT: Predicate.LT, Predicate.GE: Predicate.LE,
}  # fmt: skip
_APPLY: dict[Predicate, Callable[[Any, Any], Any]] = {
    Predicate.EQ: operator.eq, Predicate.NE: operator.ne, Predicate.LT: operator.lt,
    Predicate.LE: operator.le, Predicate.GT: operator.gt, Predicate.GE: operator.ge,
}  # fmt: skip


class Ordering(StrEnum):
    """Memory order of an atomic, a load or a store."""

    WEAK = "weak"
    RELAXED = "relaxed"
    ACQUIRE = "acquire"
    RELEASE = "release"
    ACQ_REL = "acq_rel"


class Scope(StrEnum):
    """Sets of threads for which a memory order holds."""

    TILE_BLOCK = "tile_block"
    DEVICE = "device"
    SYSTEM = "system"


class AtomicMode(StrEnum):
    """Operations of an atomic read-modify-write; add, max and min follow the element type."""

    ADD = "add"
    AND = "and"
    OR = "or"
    XOR = "xor"
    MAX = "max"
    MIN = "min"
    XCHG = "xchg"


class ThreadCoordinate(StrEnum):
    """Kinds of coordinates and sizes that a SIMT thread can read."""

    THREAD = "thread"
    BLOCK = "block"
    BLOCK_SIZE = "block_size"
    GRID_SIZE = "grid_size"
    LANE = "lane"
    """Of the thread in its warp of 32; axis 0 alone, as for WARP."""
    WARP = "warp"
    """Of the warp in its block."""


class ShuffleMode(StrEnum):
    """Source lanes of a shuffle: by index, by a distance down or up, or by XOR of the index."""

    IDX = "idx"
    UP = "up"
    DOWN = "down"
    XOR = "xor"


class VoteMode(StrEnum):
    """Questions of a warp vote."""

    ALL = "all"
    ANY = "any"


WARP_SIZE = 32
"""Lanes of a warp: neighbouring threads of a block, x fastest."""
