"""Enums of Tile IR with the codes of the bytecode, and versions of the bytecode."""

from __future__ import annotations

from enum import IntEnum
from typing import TypeAlias

# -------------------------------------------------------------------------------------------------
# The enums of Tile IR: each member is the code that the bytecode holds.


class Signedness(IntEnum):
    """The signedness with which an instruction reads integers, whose types have no sign."""

    UNSIGNED = 0
    SIGNED = 1


class OverflowCode(IntEnum):
    """The promise of an integer instruction about its exact result; a bit for each reading."""

    NONE = 0
    NO_SIGNED_WRAP = 1
    NO_UNSIGNED_WRAP = 2
    NO_WRAP = 3


class RoundingCode(IntEnum):
    """Rounding modes, and permitted approximations."""

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
    """The result of `cmpf` if an operand is NaN: true if unordered, false if ordered."""

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
    """Sets of threads for which a memory order holds."""

    TL_BLK = 0
    DEVICE = 1
    SYS = 2


class AtomicModeCode(IntEnum):
    """The operation of an atomic on the old value and its operand."""

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
    """Return the names of an enum's members, by their codes, as the disassembler writes them."""
    return tuple(member.name.lower() for member in enum)


# -------------------------------------------------------------------------------------------------
# Versions of the bytecode, oldest first; each reads the files of those before it.

Version: TypeAlias = tuple[int, int]

V13_1, V13_2, V13_3, V13_4 = VERSIONS = ((13, 1), (13, 2), (13, 3), (13, 4))
OLDEST, NEWEST = VERSIONS[0], VERSIONS[-1]


def version_text(version: Version) -> str:
    """Return a version as people write it: `13.3`."""
    return f"{version[0]}.{version[1]}"
