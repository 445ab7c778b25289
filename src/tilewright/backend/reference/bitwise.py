"""Bitwise ops on integers and booleans; shifts by the width or more give 0, or the sign."""

from __future__ import annotations

import numpy as np

from .exact import Array
from .machine import Rule, elementwise


def _width(a: Array) -> int:
    return a.dtype.itemsize * 8


def _amount(by: Array) -> Array:
    """The shift amount, read as unsigned."""
    return by.view(np.dtype(f"u{by.dtype.itemsize}"))


def _shli(a: Array, by: Array) -> Array:
    inside = _amount(by) < _width(a)
    return np.where(inside, np.left_shift(a, np.where(inside, by, 0)), np.zeros_like(a))


def _shri(a: Array, by: Array) -> Array:
    inside = _amount(by) < _width(a)
    outside = np.where(a < 0, np.full_like(a, -1), np.zeros_like(a)) if _signed(a) else 0
    return np.where(inside, np.right_shift(a, np.where(inside, by, 0)), outside)


def _signed(a: Array) -> bool:
    return a.dtype.kind == "i"


RULES: dict[str, Rule] = {
    "andi": elementwise(np.bitwise_and),
    "ori": elementwise(np.bitwise_or),
    "xori": elementwise(np.bitwise_xor),
    "noti": elementwise(np.invert),
    "shli": elementwise(_shli),
    "shri": elementwise(_shri),
}
