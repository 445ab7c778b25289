"""Approximations of the hardware, with the greatest errors that NVIDIA documents for them.

The interpreter computes functions exactly and rounds once. A test that wants to know what a kernel
makes of the errors of a GPU asks for them: `with errors(+1):` makes each approximate result as much
larger as it can be, `errors(-1)` smaller, and `errors(0)` one or the other by its bits.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np

from ..bytecode.enums import RoundingCode
from ..bytecode.program import Instr
from ..bytecode.types import F32
from .machine import number_of
from .values import Array, tile_kind

ULPS_2 = 2.0**-22
"""Two ulp of f32, relative to numbers just above a power of two."""
LARGEST_DIVISOR = 2.0**126
"""Beyond it an approximate reciprocal is 0."""
RELATIVE: Mapping[str, float] = {
    "exp": ULPS_2,
    "exp2": ULPS_2,
    "tanh": ULPS_2,
    "rsqrt": 2.0**-22.4,
    "log": ULPS_2, "log2": ULPS_2, "sin": ULPS_2, "cos": ULPS_2,
    "tan": 2.0**-21.4, "sinh": 2.0**-21.4, "cosh": 2.0**-21.7,
    "pow": 2.0**-21.7, "atan2": ULPS_2,
}  # fmt: skip
"""The greatest relative errors of functions that are no single instruction, or exact."""
BY_MODE: Mapping[tuple[str, RoundingCode], float] = {
    ("tanh", RoundingCode.APPROX): 2.0**-11,
    ("exp", RoundingCode.APPROX): 2.0**-17,
    ("sqrt", RoundingCode.APPROX): 2.0**-23,
    ("divf", RoundingCode.APPROX): ULPS_2,
    ("divf", RoundingCode.FULL): ULPS_2,
}
"""Those of modes that a function can be asked for."""


class _Direction:
    """Where errors go; None leaves results as exact as they can be."""

    now: int | None = None


@contextmanager
def errors(direction: int) -> Generator[None]:
    """Set the errors of approximations to their bounds: up (1), down (-1), or by their bits (0)."""
    before, _Direction.now = _Direction.now, direction
    try:
        yield
    finally:
        _Direction.now = before


def worst(instr: Instr, made: Array, arrays: Sequence[Array]) -> Array:
    """Return a result of f32 as inexact as a GPU may compute it, if that is asked for."""
    direction = _Direction.now
    if direction is None or tile_kind(instr.result.kind).scalar is not F32:
        return made
    mode = _mode(instr)
    error = BY_MODE.get((instr.op.name, mode), RELATIVE.get(instr.op.name, 0.0))
    signs = _by_bits(made) if direction == 0 else direction
    wide = made.astype(np.float64)
    with np.errstate(all="ignore"):
        moved = np.where(np.isfinite(wide), wide * (1 + signs * error), wide)
        if instr.op.name == "divf" and mode is RoundingCode.APPROX:
            moved = np.where(np.abs(arrays[1]) > LARGEST_DIVISOR, arrays[0] * 0.0, moved)
        return moved.astype(made.dtype)


def _mode(instr: Instr) -> RoundingCode:
    has_mode = any(f.name == "rounding_mode" for f in instr.op.fields)
    return RoundingCode(number_of(instr, "rounding_mode")) if has_mode else RoundingCode.FULL


def _by_bits(made: Array) -> Array:
    """Return 1 or -1 for each number, as good as drawn (Fibonacci hashing)."""
    hashed = np.ascontiguousarray(made).view(np.uint32) * np.uint32(2654435769)
    return np.where(hashed >> np.uint32(31), 1, -1)
