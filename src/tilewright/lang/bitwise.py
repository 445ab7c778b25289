"""Bits of integers and the logic of booleans, by name; the operators do the same."""

from __future__ import annotations

from .enums import Overflow
from .marker import declared
from .tile import N


@declared
def andi(a: N, b: N | int) -> N:
    """Take the bits that are set in both; of booleans: and."""
    ...


@declared
def ori(a: N, b: N | int) -> N:
    """Take the bits that are set in either; of booleans: or."""
    ...


@declared
def xori(a: N, b: N | int) -> N:
    """Take the bits that differ; of booleans: unequal."""
    ...


@declared
def noti(x: N) -> N:
    """Invert all bits; of booleans: not."""
    ...


@declared
def shli(a: N, b: N | int, *, overflow: Overflow = Overflow.NONE) -> N:
    """Shift left by `b`, read as unsigned; by the width or more it gives 0."""
    ...


@declared
def shri(a: N, b: N | int) -> N:
    """Shift right by `b`, read as unsigned; signed numbers keep their sign."""
    ...
