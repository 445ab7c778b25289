"""Enums of Tile IR by the codes that the bytecode holds, and versions of the bytecode."""

from __future__ import annotations

from enum import IntEnum
from typing import TypeAlias

# -------------------------------------------------------------------------------------------------
# The enums of Tile IR: each member is the code that the bytecode holds.


class Signedness(IntEnum):
    """How an instruction reads integers, which have no sign of their own."""

    UNSIGNED = 0
    SIGNED = 1


class OverflowCode(IntEnum):
    """What an integer instruction promises about its exact result; a bit for each reading."""

    NONE = 0
    NO_SIGNED_WRAP = 1
    NO_UNSIGNED_WRAP = 2
    NO_WRAP = 3


class RoundingCode(IntEnum):
    """How results are rounded, or how roughly they may be computed."""

    NEAREST_EVEN = 0
    ZERO = 1
    NEGATIVE_INF = 2
    POSITIVE_INF = 3
    APPROX = 4
    FULL = 5
    NEAREST_INT_TO_ZERO = 6
    NEAREST_AWAY = 7


class ComparisonCode(IntEnum):
    """The predicate of `cmpi` and `cmpf`."""

    EQUAL = 0
    NOT_EQUAL = 1
    LESS_THAN = 2
    LESS_THAN_OR_EQUAL = 3
    GREATER_THAN = 4
    GREATER_THAN_OR_EQUAL = 5


class NanOrdering(IntEnum):
    """What `cmpf` gives where an operand is NaN: true if unordered, false if ordered."""

    UNORDERED = 0
    ORDERED = 1


class MemoryOrdering(IntEnum):
    """The memory order of an access."""

    WEAK = 0
    RELAXED = 1
    ACQUIRE = 2
    RELEASE = 3
    ACQ_REL = 4


class MemoryScope(IntEnum):
    """Among whom a memory order holds."""

    TL_BLK = 0
    DEVICE = 1
    SYS = 2


class AtomicModeCode(IntEnum):
    """What an atomic does with the old value and its operand."""

    AND = 0
    OR = 1
    XOR = 2
    ADD = 3
    ADDF = 4
    MAX = 5
    MIN = 6
    UMAX = 7
    UMIN = 8
    XCHG = 9


def words_of(enum: type[IntEnum]) -> tuple[str, ...]:
    """The names of an enum's members, by their codes, as the disassembler writes them."""
    return tuple(member.name.lower() for member in enum)


# -------------------------------------------------------------------------------------------------
# Versions of the bytecode, oldest first; each reads the files of those before it.

Version: TypeAlias = tuple[int, int]

V13_1, V13_2, V13_3, V13_4 = VERSIONS = ((13, 1), (13, 2), (13, 3), (13, 4))
OLDEST, NEWEST = VERSIONS[0], VERSIONS[-1]


def version_text(version: Version) -> str:
    """A version as people write it: `13.3`."""
    return f"{version[0]}.{version[1]}"
