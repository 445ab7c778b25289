"""Directed rounding: round to nearest, find on which side the exact result lies, step by one ulp.

f32 products, quotients and roots are compared exactly in f64. In f64 the operands are first scaled
by powers of two, so that the remainder, which an fma gives exactly, neither over- nor underflows.
"""

from __future__ import annotations

from ....ir.attrs import Rounding
from ..functions.text import Value as Vec
from ..functions.text import absolute, constant, fma, where

LARGEST = {
    "float": float.fromhex("0x1.fffffep127"),
    "double": float.fromhex("0x1.fffffffffffffp1023"),
}
SMALLEST_BITS = 1
FAR, STEP = 300, 600
"""Operands beyond 2^FAR (or below 2^-FAR) are scaled by 2^-STEP (or 2^STEP)."""

UP, DOWN = Rounding.POS_INF, Rounding.NEG_INF
DIRECTED = (Rounding.ZERO, UP, DOWN)


def add(mode: Rounding, a: Vec, b: Vec) -> Vec:
    """a + b; the error of a sum is itself a float."""
    total = a + b
    a_larger = absolute(a) > absolute(b)
    large, small = where(a_larger, a, b), where(a_larger, b, a)
    error = small - (total - large)
    result = adjust(mode, total, error > 0.0, error < 0.0, finite(a) & finite(b))
    if mode is not DOWN:
        return result
    # An exact zero is -0 when rounding down, unless both operands are +0.
    bits = a.bits() | b.bits()
    negative = total.eq(0.0) & bits.ne(0)
    return where(negative, constant(result, -0.0), result)


def subtract(mode: Rounding, a: Vec, b: Vec) -> Vec:
    """a - b."""
    return add(mode, a, -b)


def multiply(mode: Rounding, a: Vec, b: Vec) -> Vec:
    """a * b."""
    product = a * b
    ok = finite(a) & finite(b)
    if a.elem == "float":
        exact, rounded = a.extend() * b.extend(), product.extend()
        return adjust(mode, product, exact > rounded, exact < rounded, ok)
    (near_a, power_a), (near_b, power_b) = centred(a), centred(b)
    error = fma(near_a, near_b, -shifted(product, power_a + power_b))
    return adjust(mode, product, error > 0.0, error < 0.0, ok)


def divide(mode: Rounding, a: Vec, b: Vec) -> Vec:
    """a / b."""
    quotient = a / b
    ok = finite(a) & finite(b) & b.ne(0.0)
    if a.elem == "float":
        wide_a, back = a.extend(), quotient.extend() * b.extend()
        above, below = wide_a > back, wide_a < back
    else:
        (near_a, power_a), (near_b, power_b) = centred(a), centred(b)
        error = fma(-shifted(quotient, power_a - power_b), near_b, near_a)
        above, below = error > 0.0, error < 0.0
    negative = b < 0.0
    return adjust(mode, quotient, where(negative, below, above), where(negative, above, below), ok)


def square_root(mode: Rounding, a: Vec) -> Vec:
    """The square root of a."""
    root = a.intrinsic("sqrt")
    if a.elem == "float":
        wide, back = a.extend(), root.extend() * root.extend()
        return adjust(mode, root, wide > back, wide < back, finite(a))
    tiny = absolute(a) < 2.0**-FAR
    near = where(tiny, a * 2.0**STEP, a)
    near_root = where(tiny, root * 2.0 ** (STEP // 2), root)
    error = fma(-near_root, near_root, near)
    return adjust(mode, root, error > 0.0, error < 0.0, finite(a))


def adjust(mode: Rounding, nearest: Vec, above: Vec, below: Vec, finite_operands: Vec) -> Vec:
    """Move a rounded result to the neighbour where the exact one lies beyond it.

    `above` and `below` say on which side of `nearest` the exact result lies. An infinity from
    finite operands is an overflow, which the modes that round towards zero there must not give.
    """
    up, down = next_up(nearest), next_down(nearest)
    largest = LARGEST[nearest.elem]
    overflow = absolute(nearest).eq(float("inf")) & finite_operands
    positive, negative = nearest > 0.0, nearest < 0.0
    if mode is UP:
        moved = where(above, up, nearest)
        return where(overflow & negative, constant(nearest, -largest), moved)
    if mode is DOWN:
        moved = where(below, down, nearest)
        return where(overflow & positive, constant(nearest, largest), moved)
    moved = where(positive & below, down, where(negative & above, up, nearest))
    bound = where(positive, constant(nearest, largest), -largest)
    return where(overflow, bound, moved)


def next_up(x: Vec) -> Vec:
    """The next greater float (of finite ones)."""
    bits = x.bits()
    stepped = where(x > 0.0, bits + 1, bits - 1)
    return where(x.eq(0.0), constant(bits, SMALLEST_BITS), stepped).as_float()


def next_down(x: Vec) -> Vec:
    """The next lesser float."""
    return -next_up(-x)


def finite(x: Vec) -> Vec:
    """Neither infinite nor NaN."""
    return absolute(x) < float("inf")


def centred(x: Vec) -> tuple[Vec, Vec]:
    """x scaled towards 1, and by how many STEPs: -1, 0 or 1."""
    size = absolute(x)
    small, large = size < 2.0**-FAR, size > 2.0**FAR
    scaled = where(small, x * 2.0**STEP, where(large, x * 2.0**-STEP, x))
    bits = x.bits()
    power = where(small, constant(bits, 1), where(large, constant(bits, -1), constant(bits, 0)))
    return scaled, power


def shifted(x: Vec, power: Vec) -> Vec:
    """x times 2^(STEP * power), for powers from -2 to 2."""
    once = where(power > 0, constant(x, 2.0**STEP), constant(x, 2.0**-STEP))
    x = where(power.eq(0), x, x * once)
    twice = (power > 1) | (power < -1)
    return where(twice, x * once, x)
