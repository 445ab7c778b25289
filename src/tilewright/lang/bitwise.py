"""Named bitwise and logical operations; the operators do the same."""

from __future__ import annotations

from .enums import Overflow
from .marker import declared
from .tile import N


@declared
def andi(a: N, b: N | int) -> N:
    """Return the bitwise and; of booleans, the logical and."""
    ...


@declared
def ori(a: N, b: N | int) -> N:
    """Return the bitwise or; of booleans, the logical or."""
    ...


@declared
def xori(a: N, b: N | int) -> N:
    """Return the bitwise exclusive or; of booleans, inequality."""
    ...


@declared
def noti(x: N) -> N:
    """Invert all bits; of booleans, the logical not."""
    ...


@declared
def shli(a: N, b: N | int, *, overflow: Overflow = Overflow.NONE) -> N:
    """Shift left by `b`, read as unsigned; a shift by the width or more is 0."""
    ...


@declared
def shri(a: N, b: N | int) -> N:
    """Shift right by `b`, read as unsigned; signed numbers keep their sign."""
    ...
