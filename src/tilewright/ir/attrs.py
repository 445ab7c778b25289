"""Enumerations of the attribute values that ops take."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Any, NamedTuple

from ..base.shapes import Shape


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

# -------------------------------------------------------------------------------------------------
# What a debugger sees of a running kernel: functions, and names with their values.
#
# These are attributes of `breakpoint`. They are of one compilation, without a text that tells them
# apart: code that has them is not cached on disk.


class DebugEvent(Enum):
    """Events of a kernel."""

    STOP = "stop"
    """Its program says `breakpoint()`."""
    CALL = "call"
    """A function begins; the names are its arguments."""
    LINE = "line"
    """A statement is about to run."""
    RETURN = "return"
    """The function ends; the only name is its result."""


class OperandRef(NamedTuple):
    """Stands for an operand of the op, which has the value while the kernel runs."""

    number: int
    tile: Shape | None = None
    """Of an output: the shape of the part that a block owns, and is shown."""


@dataclass(frozen=True, eq=False, slots=True)
class DebuggedFunction:
    """A function of the program, as a debugger shows it."""

    file: str
    name: str
    first_line: int
    lines: tuple[int, ...]
    """Those at which a statement begins."""
    globals: Mapping[str, Any]


@dataclass(frozen=True, eq=False, slots=True)
class Scene:
    """The names of a function at an event, and their values: trees with operands as leaves."""

    function: DebuggedFunction
    names: tuple[str, ...]
    trees: tuple[Any, ...]

    def __repr__(self) -> str:
        return ", ".join(self.names)
