"""sin, cos, tan, atan2 by polynomials; f32 computes in f64 and rounds once."""

from __future__ import annotations

from .reduction import PI_HALF, reduce_pair, reduce_single
from .text import Function, Value, absolute, constant, copysign, fma, horner, signed, where

SIN_F32 = (
    -0.16666666640800357, 0.008333329304492628, -0.00019839311917881062, 2.718116656853282e-06,
)  # fmt: skip
"""(sin(r) / r - 1) / r^2 in r^2, for |r| <= pi / 4."""
SIN_F64 = (
    -0.16666666666666666, 0.008333333333333323, -0.00019841269841254806, 2.7557319214066802e-06,
    -2.5052104881953758e-08, 1.6058363131781953e-10, -7.578536661454357e-13,
)  # fmt: skip
COS_F32 = (
    0.04166666661945242, -0.0013888883496775348, 2.4799459291547432e-05, -2.7205683271667374e-07,
)  # fmt: skip
"""(cos(r) - 1 + r^2 / 2) / r^4 in r^2."""
COS_F64 = (
    0.041666666666666595, -0.0013888888888873043, 2.4801587288842397e-05, -2.755731417637484e-07,
    2.087570041969633e-09, -1.1358513582586064e-11,
)  # fmt: skip
ATAN_F32 = (
    -0.3333333213404608, 0.19999927253471475, -0.1428416733940252, 0.11094504200164325,
    -0.08985440281150353, 0.0725943859920168, -0.054515932182132694, 0.03447579304815564,
    -0.01629936484979457, 0.0049263122321925165, -0.0006979478828211771,
)  # fmt: skip
"""(atan(t) / t - 1) / t^2 in t^2, for |t| <= 1."""
ATAN_F64 = (
    -0.3333333333333333, 0.19999999999999882, -0.1428571428569525, 0.11111111109553044,
    -0.0909090901555083, 0.07692305344581621, -0.06666617094604252, 0.05881622196537685,
    -0.052555282206370534, 0.04705394926015781, -0.040543341628616725, 0.0295950268140804,
    -0.012964614801253514,
)  # fmt: skip
"""The same for |t| <= tan(pi / 8)."""
TAN_PI_EIGHTH = 0.41421356237309503

SinCos = tuple[Value, Value, Value]
"""Sine and cosine of the rest, and the quarter turns to add."""


def sin_cos_f32(x: Value) -> SinCos:
    """From f64 numbers that were f32."""
    r, turns = reduce_single(x)
    square = r * r
    sine = r * fma(square, horner(square, SIN_F32), 1.0)
    cosine = fma(square * square, horner(square, COS_F32), fma(square, -0.5, 1.0))
    return sine, cosine, turns


Pair = tuple[Value, Value]
"""A sum of two floats, the second being what the first had to leave out."""


def sin_cos_pairs(x: Value) -> tuple[Pair, Pair, Value]:
    """Sine and cosine in two parts; the small part of the rest enters by its first derivative."""
    r, low, turns = reduce_pair(x)
    square = r * r
    half = square * 0.5
    sine = joined(r, fma(square * r, horner(square, SIN_F64), low * (1.0 - half)))
    high = 1.0 - half
    tail = fma(square * square, horner(square, COS_F64), -(r * low))
    return sine, joined(high, ((1.0 - high) - half) + tail), turns


def joined(high: Value, low: Value) -> Pair:
    """The sum of a number and a smaller one, and its error."""
    total = high + low
    return total, (high - total) + low


def sin_cos_f64(x: Value) -> SinCos:
    """Sine and cosine, rounded."""
    (sine, _), (cosine, _), turns = sin_cos_pairs(x)
    # Adding up loses the sign of zero.
    return where(x.eq(0.0), x, sine), cosine, turns


def divided(n: Pair, d: Pair) -> Pair:
    """The quotient of two pairs."""
    q = n[0] / d[0]
    rest = fma(-q, d[0], n[0]) + fma(-q, d[1], n[1])
    return q, rest / d[0]


def choose(even: Value, odd: Value, turns: Value) -> Value:
    """The one for an even number of quarter turns or the one for odd, negated after a half turn."""
    chosen = where((turns & 1).eq(0), even, odd)
    return (chosen.bits() ^ ((turns & 2) << 62)).as_float()


def sine_of(sine: Value, cosine: Value, turns: Value) -> Value:
    """Undo the reduction for sin."""
    return choose(sine, cosine, turns)


def cosine_of(sine: Value, cosine: Value, turns: Value) -> Value:
    """Undo the reduction for cos, a quarter turn ahead of sin."""
    return choose(sine, cosine, turns + 1)


def tangent_of(sine: Value, cosine: Value, turns: Value) -> Value:
    """Undo the reduction for tan: it repeats after a half turn."""
    even = (turns & 1).eq(0)
    return where(even, sine, -cosine) / where(even, cosine, sine)


def sin_f32(x: Value) -> Value:
    """Sine."""
    return sine_of(*sin_cos_f32(x.extend())).truncate()


def cos_f32(x: Value) -> Value:
    """Cosine."""
    return cosine_of(*sin_cos_f32(x.extend())).truncate()


def tan_f32(x: Value) -> Value:
    """Tangent."""
    return tangent_of(*sin_cos_f32(x.extend())).truncate()


def sin_f64(x: Value) -> Value:
    """Sine."""
    return sine_of(*sin_cos_f64(x))


def cos_f64(x: Value) -> Value:
    """Cosine."""
    return cosine_of(*sin_cos_f64(x))


def tan_f64(x: Value) -> Value:
    """Tangent, of parts: two roundings, and that of a quotient, would be too many."""
    sine, cosine, turns = sin_cos_pairs(x)
    even = (turns & 1).eq(0)
    above = tuple(where(even, s, -c) for s, c in zip(sine, cosine, strict=True))
    below = tuple(where(even, c, s) for s, c in zip(sine, cosine, strict=True))
    high, low = divided((above[0], above[1]), (below[0], below[1]))
    return where(x.eq(0.0), x, high + low)


def quotient(low: Value, high: Value) -> Value:
    """low / high in [0, 1]: 0 / 0 is 0 and infinity / infinity is 1 here."""
    result = where(high.eq(0.0), high, low / high)
    return where(low.eq(float("inf")), constant(low, 1.0), result)


def arc(t: Value, coefficients: tuple[float, ...]) -> Value:
    """The arc tangent by its polynomial."""
    square = t * t
    return fma(square * t, horner(square, coefficients), t)


def atan_quotient_f64(low: Value, high: Value) -> Value:
    """atan(low / high), 0 <= low <= high: above pi / 8 as pi / 4 - atan((high - low) / sum)."""
    # Away from overflow of the sum and from subnormal products; the quotient stays the same.
    factor = where(high > 2.0**1022, constant(high, 0.25), 1.0)
    factor = where(high < 2.0**-960, constant(high, 2.0**60), factor)
    low, high = low * factor, high * factor
    steep = low > high * TAN_PI_EIGHTH
    zero, inf = constant(low, 0.0), float("inf")
    difference, total = joined(high, -low), joined(high, low)
    above = where(steep, difference[0], low), where(steep, difference[1], zero)
    below = where(steep, total[0], high), where(steep, total[1], zero)
    t = where(low.eq(inf), zero, quotient(above[0], below[0]))
    finite = (high > 0.0) & (high < inf)
    t_low = where(finite, divided(above, below)[1], zero)
    square = t * t
    angle = joined(t, fma(square * t, horner(square, ATAN_F64), t_low * (1.0 - square)))
    eighth = joined(constant(low, PI_HALF[0] * 0.5), -angle[0])
    quarter = eighth[0] + (eighth[1] - (angle[1] - PI_HALF[1] * 0.5))
    return where(steep | low.eq(inf), quarter, angle[0])


def unfold(x: Value, y: Value, angle: Value, swapped: Value) -> Value:
    """From the angle in the first octant to the whole circle, by the order and signs of x, y."""
    angle = where(swapped, PI_HALF[0] - (angle - PI_HALF[1]), angle)
    left = x.bits() < 0
    angle = where(left, 2.0 * PI_HALF[0] - (angle - 2.0 * PI_HALF[1]), angle)
    angle = where(x.is_nan() | y.is_nan(), x + y, angle)
    return copysign(angle, y)


def atan2_f64(y: Value, x: Value) -> Value:
    """The angle of the point (x, y)."""
    across, up = absolute(x), absolute(y)
    swapped = up > across
    low, high = where(swapped, across, up), where(swapped, up, across)
    return unfold(x, y, atan_quotient_f64(low, high), swapped)


def atan2_f32(y: Value, x: Value) -> Value:
    """The angle of the point (x, y), computed in f64."""
    sign, y, x = y, y.extend(), x.extend()
    across, up = absolute(x), absolute(y)
    swapped = up > across
    ratio = quotient(where(swapped, across, up), where(swapped, up, across))
    return signed(unfold(x, y, arc(ratio, ATAN_F32), swapped), sign)


FUNCTIONS = {
    "sin": Function(1, {"f32": sin_f32, "f64": sin_f64}, {"f32": 0.51, "f64": 0.9}),
    "cos": Function(1, {"f32": cos_f32, "f64": cos_f64}, {"f32": 0.51, "f64": 0.9}),
    "tan": Function(1, {"f32": tan_f32, "f64": tan_f64}, {"f32": 0.51, "f64": 1.1}),
    "atan2": Function(2, {"f32": atan2_f32, "f64": atan2_f64}, {"f32": 0.51, "f64": 1.3}),
}
