"""remf: x - trunc(x / y) * y exactly, as C's fmod.

Where the quotient has few bits, trunc(x / y) is right or one too large, and a fused multiply-add
gives the remainder without error. A larger quotient is taken off in such pieces, from the top.
"""

from __future__ import annotations

from .text import (
    FRACTION_BITS,
    Function,
    Value,
    absolute,
    any_lane,
    copysign,
    floor,
    fma,
    power_of_two,
    repeat,
    where,
)


def exponent_field(x: Value) -> Value:
    """The biased exponent of a number that is not negative."""
    return x.bits().lshr(FRACTION_BITS[x.elem])


def exponent_of(y: Value) -> Value:
    """The same, going on below 1 for subnormal numbers."""
    fraction = FRACTION_BITS[y.elem]
    field = exponent_field(y)
    return where(field.eq(0), exponent_field(y * 2.0**fraction) - fraction, field)


def at_least_zero(n: Value) -> Value:
    """The integer, or 0 if it is negative."""
    return where(n > 0, n, 0)


def reduce_once(r: Value, divisor: Value) -> Value:
    """r modulo the divisor, both not negative, where the quotient is exact in a float."""
    rest = fma(-floor(r / divisor), divisor, r)
    rest = where(rest < 0.0, rest + divisor, rest)
    return where(r < divisor, r, rest)


def remf(x: Value, y: Value) -> Value:
    """The remainder with the sign of x; NaN if x is infinite or y is 0."""
    piece = FRACTION_BITS[x.elem]
    magnitude, divisor = absolute(x), absolute(y)
    excess = exponent_field(magnitude) - exponent_of(divisor) - piece

    def step(r: Value, shift: Value) -> tuple[Value, tuple[Value, Value]]:
        half = shift.lshr(1)
        scaled = divisor * power_of_two(half) * power_of_two(shift - half)
        more = any_lane(shift > 0)
        return more, (reduce_once(r, scaled), at_least_zero(shift - piece))

    rest, _ = repeat((magnitude, at_least_zero(excess)), step)
    return copysign(where(magnitude < divisor, magnitude, rest), x)


FUNCTIONS = {"remf": Function(2, {"f32": remf, "f64": remf}, {"f32": 0.0, "f64": 0.0})}
