"""sin, cos, tan, atan2, with Cody-Waite and Payne-Hanek argument reduction."""

from __future__ import annotations

from ..llvm.builder import (
    FunctionBody,
    LlvmFunction,
    Vec,
    absolute,
    any_lane,
    branch,
    constant,
    copysign,
    fma,
    horner,
    repeat,
    round_to_integer,
    signed,
    where,
)

# -------------------------------------------------------------------------------------------------
# Argument reduction modulo pi / 2: the number of quarter turns and the rest.
#
# Up to 2^30 (Cody and Waite): the rest is x minus a multiple of pi / 2, which is split into three
# parts so that the products are exact. Above (Payne and Hanek): a scalar routine, called lane by
# lane, multiplies x with the 192 bits of 2 / pi that matter.

PI_HALF = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33)
"""pi / 2 as a sum of three floats."""
TWO_OVER_PI = 0.6366197723675814
TWO_OVER_PI_BITS = (
    0x0000000000000000, 0xA2F9836E4E441529, 0xFC2757D1F534DDC0, 0xDB6295993C439041,
    0xFE5163ABDEBBC561, 0xB7246E3A424DD2E0, 0x06492EEA09D1921C, 0xFE1DEB1CB129A73E,
    0xE88235F52EBB4484, 0xE99C7026B45F7E41, 0x3991D639835339F4, 0x9C845F8BBDF9283B,
    0x1FF897FFDE05980F, 0xEF2F118B5A0A6D1F, 0x6D367ECF27CB09B7, 0x4F463F669E5FEA2D,
    0x7527BAC7EBE5F17B, 0x3D0739F78A5292EA, 0x6BFB5FB11F8D5D08, 0x56033046FC7B6BAB,
)  # fmt: skip
"""The binary digits of 2 / pi behind the point, after 64 zeros."""
LIMIT = 2.0**30

TABLE = "@tw_two_over_pi"
ROUTINE = "@tw_reduce_large"
RESULT = "{ double, double, i64 }"


def reduce_single(x: Vec) -> tuple[Vec, Vec]:
    """Return the rest to about 50 bits and the quarter turns, for numbers that were f32."""
    x = x.frozen()  # a place in the table depends on it
    n, turns = round_to_integer(x * TWO_OVER_PI)
    rest = fma(n, -PI_HALF[1], fma(n, -PI_HALF[0], x))
    large = absolute(x) >= LIMIT

    def slowly() -> tuple[Vec, Vec]:
        high, _, count = reduce_large_lanes(where(large, x, LIMIT))
        return where(large, high, rest), where(large, count, turns)

    rest, turns = branch(any_lane(large), (rest, turns), slowly)
    return rest, turns


def reduce_pair(x: Vec) -> tuple[Vec, Vec, Vec]:
    """Return the rest as a sum of two floats, and the quarter turns."""
    x = x.frozen()  # a place in the table depends on it
    n, turns = round_to_integer(x * TWO_OVER_PI)
    first = fma(n, -PI_HALF[0], x)  # no rounding: x and the product nearly cancel
    product = n * PI_HALF[1]
    product_error = fma(n, PI_HALF[1], -product)
    high = first - product
    back = first - high
    error = (first - (high + back)) + (back - product)
    low = fma(n, -PI_HALF[2], error - product_error)
    total = high + low
    low = low - (total - high)
    large = absolute(x) >= LIMIT

    def slowly() -> tuple[Vec, Vec, Vec]:
        slow = reduce_large_lanes(where(large, x, LIMIT))
        return (
            where(large, slow[0], total), where(large, slow[1], low), where(large, slow[2], turns)
        )  # fmt: skip

    total, low, turns = branch(any_lane(large), (total, low, turns), slowly)
    return total, low, turns


def reduce_large_lanes(x: Vec) -> tuple[Vec, Vec, Vec]:
    """Run the scalar routine on every lane."""
    body = x.body
    require_routine(body)
    if x.lanes == 1:
        return call_routine(x)
    zero, zeros = constant(x, 0.0), body.constant("i64", x.lanes, 0)
    first = body.constant("i64", 1, 0)

    def step(lane: Vec, *results: Vec) -> tuple[Vec, tuple[Vec, ...]]:
        element = body.emit(f"extractelement {x}, {lane}", x.elem, 1)
        filled = tuple(
            body.emit(f"insertelement {vector}, {part}, {lane}", vector.elem, vector.lanes)
            for vector, part in zip(results, call_routine(element), strict=True)
        )
        following = lane + 1
        return following < x.lanes, (following, *filled)

    _, high, low, turns = repeat((first, zero, zero, zeros), step)
    return high, low, turns


def call_routine(x: Vec) -> tuple[Vec, Vec, Vec]:
    """Return the rest, in two parts, and the quarter turns of one number."""
    body = x.body
    packed = body.emit(f"call {RESULT} {ROUTINE}({x})", RESULT, 1)
    parts = [
        body.emit(f"extractvalue {packed}, {i}", elem, 1)
        for i, elem in enumerate(("double", "double", "i64"))
    ]
    return parts[0], parts[1], parts[2]


def require_routine(body: FunctionBody) -> None:
    """Remember that the function needs the routine and its table."""
    words = ", ".join(f"i64 {word}" for word in TWO_OVER_PI_BITS)
    size = len(TWO_OVER_PI_BITS)
    body.helpers[TABLE] = f"{TABLE} = private unnamed_addr constant [{size} x i64] [{words}]\n"
    routine = FunctionBody()
    x = Vec(routine, "%x", "double", 1)
    high, low, turns = reduce_large(x)
    packed = Vec(routine, "poison", RESULT, 1)
    for i, part in enumerate((high, low, turns)):
        packed = routine.emit(f"insertvalue {packed}, {part}, {i}", RESULT, 1)
    head = f"define internal {RESULT} {ROUTINE}({x}) noinline nounwind {{"
    lines = [head, "entry:", *routine.lines, f"  ret {packed}", "}"]
    body.helpers[ROUTINE] = "\n".join(lines) + "\n"
    body.declarations |= routine.declarations


def reduce_large(x: Vec) -> tuple[Vec, Vec, Vec]:
    """Return the scalar routine, for |x| >= LIMIT, where the table begins; NaN for infinity."""
    bits = x.bits()
    exponent = bits.lshr(52) & 0x7FF
    significand = (bits & ((1 << 52) - 1)) | (1 << 52)
    # x is significand * 2^(exponent - 1075). Digits of 2 / pi whose product with it is a multiple
    # of 4 are left out; the table's 64 zeros make the number of digits to skip positive.
    top, middle, bottom = table_window(exponent - (1075 + 2 - 64))
    product = wide(significand) * wide(bottom)
    product_bottom = narrow(product)
    product = wide(significand) * wide(middle) + product.lshr(64)
    product_middle = narrow(product)
    product_top = significand * top + narrow(product.lshr(64))
    # Two bits of quarter turns, then a fraction of one; above a half, count one more.
    fraction_top = funnel(product_top, product_middle, 2)
    fraction_bottom = funnel(product_middle, product_bottom, 2)
    negative = fraction_top.ashr(63)
    turns = product_top.lshr(62) - negative
    fraction = wide(fraction_top ^ negative) << 64 | wide(fraction_bottom ^ negative)
    sign = (negative ^ bits) & (1 << 63)
    high, low = times_pi_half(fraction)
    high = (high.bits() ^ sign).as_float()
    low = (low.bits() ^ sign).as_float()
    turns = where(x < 0.0, -turns, turns)
    return where(absolute(x).eq(float("inf")), x - x, high), low, turns


def table_window(skip: Vec) -> tuple[Vec, Vec, Vec]:
    """Return the 192 bits of the table after the first `skip`."""
    body = skip.body
    index, shift = skip.lshr(6), skip & 63
    words: list[Vec] = []
    for i in range(4):
        address = body.emit(f"getelementptr i64, ptr {TABLE}, {index + i}", "ptr", 1)
        words.append(body.emit(f"load i64, {address}, align 8", "i64", 1))
    return (
        funnel(words[0], words[1], shift),
        funnel(words[1], words[2], shift),
        funnel(words[2], words[3], shift),
    )


def times_pi_half(fraction: Vec) -> tuple[Vec, Vec]:
    """Return a 128-bit fraction times pi / 2, as a sum of two floats."""
    # Each piece is short enough to become a float exactly; i128 has no conversion instruction.
    pieces = [
        (narrow(fraction.lshr(shift)) & ((1 << 43) - 1)).cast("sitofp", "double")
        * 2.0 ** (shift - 128)
        for shift in (86, 43, 0)
    ]
    high = pieces[0] + pieces[1]
    low = (pieces[1] - (high - pieces[0])) + pieces[2]
    total = high + low
    low = low - (total - high)
    product = total * PI_HALF[0]
    error = fma(total, PI_HALF[0], -product)
    return product, fma(low, PI_HALF[0], fma(total, PI_HALF[1], error))


def wide(x: Vec) -> Vec:
    """Extend to 128 bits."""
    return x.cast("zext", "i128")


def narrow(x: Vec) -> Vec:
    """Return the low 64 bits."""
    return x.cast("trunc", "i64")


def funnel(high: Vec, low: Vec, shift: Vec | int) -> Vec:
    """Shift two words left as one, and return the upper half."""
    return high.intrinsic("fshl", low, shift)


# -------------------------------------------------------------------------------------------------
# sin, cos, tan, atan2 by polynomials; f32 computes in f64 and rounds once.

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

SinCos = tuple[Vec, Vec, Vec]
"""Sine and cosine of the rest, and the quarter turns to add."""


def sin_cos_f32(x: Vec) -> SinCos:
    """Compute sine and cosine of f64 numbers that were f32."""
    r, turns = reduce_single(x)
    square = r * r
    sine = r * fma(square, horner(square, SIN_F32), 1.0)
    cosine = fma(square * square, horner(square, COS_F32), fma(square, -0.5, 1.0))
    return sine, cosine, turns


Pair = tuple[Vec, Vec]
"""A sum of two floats, the second being what the first had to leave out."""


def sin_cos_pairs(x: Vec) -> tuple[Pair, Pair, Vec]:
    """Compute sine and cosine in two parts; the low part enters by the first derivative."""
    r, low, turns = reduce_pair(x)
    square = r * r
    half = square * 0.5
    sine = joined(r, fma(square * r, horner(square, SIN_F64), low * (1.0 - half)))
    high = 1.0 - half
    tail = fma(square * square, horner(square, COS_F64), -(r * low))
    return sine, joined(high, ((1.0 - high) - half) + tail), turns


def joined(high: Vec, low: Vec) -> Pair:
    """Return the sum of a number and a smaller one, and its error."""
    total = high + low
    return total, (high - total) + low


def sin_cos_f64(x: Vec) -> SinCos:
    """Compute sine and cosine, rounded."""
    (sine, _), (cosine, _), turns = sin_cos_pairs(x)
    # Adding up loses the sign of zero.
    return where(x.eq(0.0), x, sine), cosine, turns


def divided(n: Pair, d: Pair) -> Pair:
    """Return the quotient of two pairs."""
    q = n[0] / d[0]
    rest = fma(-q, d[0], n[0]) + fma(-q, d[1], n[1])
    return q, rest / d[0]


def choose(even: Vec, odd: Vec, turns: Vec) -> Vec:
    """Select by the number of quarter turns: even or odd, negated after a half turn."""
    chosen = where((turns & 1).eq(0), even, odd)
    return (chosen.bits() ^ ((turns & 2) << 62)).as_float()


def sine_of(sine: Vec, cosine: Vec, turns: Vec) -> Vec:
    """Undo the reduction for sin."""
    return choose(sine, cosine, turns)


def cosine_of(sine: Vec, cosine: Vec, turns: Vec) -> Vec:
    """Undo the reduction for cos, a quarter turn ahead of sin."""
    return choose(sine, cosine, turns + 1)


def tangent_of(sine: Vec, cosine: Vec, turns: Vec) -> Vec:
    """Undo the reduction for tan: it repeats after a half turn."""
    even = (turns & 1).eq(0)
    return where(even, sine, -cosine) / where(even, cosine, sine)


def sin_f32(x: Vec) -> Vec:
    """Compute the sine."""
    return sine_of(*sin_cos_f32(x.extend())).truncate()


def cos_f32(x: Vec) -> Vec:
    """Compute the cosine."""
    return cosine_of(*sin_cos_f32(x.extend())).truncate()


def tan_f32(x: Vec) -> Vec:
    """Compute the tangent."""
    return tangent_of(*sin_cos_f32(x.extend())).truncate()


def sin_f64(x: Vec) -> Vec:
    """Compute the sine."""
    return sine_of(*sin_cos_f64(x))


def cos_f64(x: Vec) -> Vec:
    """Compute the cosine."""
    return cosine_of(*sin_cos_f64(x))


def tan_f64(x: Vec) -> Vec:
    """Compute the tangent from unrounded parts: three roundings would be too many."""
    sine, cosine, turns = sin_cos_pairs(x)
    even = (turns & 1).eq(0)
    above = tuple(where(even, s, -c) for s, c in zip(sine, cosine, strict=True))
    below = tuple(where(even, c, s) for s, c in zip(sine, cosine, strict=True))
    high, low = divided((above[0], above[1]), (below[0], below[1]))
    return where(x.eq(0.0), x, high + low)


def quotient(low: Vec, high: Vec) -> Vec:
    """Compute low / high in [0, 1]; 0 / 0 is 0 and infinity / infinity is 1 here."""
    result = where(high.eq(0.0), high, low / high)
    return where(low.eq(float("inf")), constant(low, 1.0), result)


def arc(t: Vec, coefficients: tuple[float, ...]) -> Vec:
    """Return the arc tangent by its polynomial."""
    square = t * t
    return fma(square * t, horner(square, coefficients), t)


def atan_quotient_f64(low: Vec, high: Vec) -> Vec:
    """Compute atan(low / high), 0 <= low <= high: above pi / 8 as pi / 4 - atan(...)."""
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


def unfold(x: Vec, y: Vec, angle: Vec, swapped: Vec) -> Vec:
    """Return the angle on the circle from that in the first octant, by order and signs."""
    angle = where(swapped, PI_HALF[0] - (angle - PI_HALF[1]), angle)
    left = x.bits() < 0
    angle = where(left, 2.0 * PI_HALF[0] - (angle - 2.0 * PI_HALF[1]), angle)
    angle = where(x.is_nan() | y.is_nan(), x + y, angle)
    return copysign(angle, y)


def atan2_f64(y: Vec, x: Vec) -> Vec:
    """Return the angle of the point (x, y)."""
    across, up = absolute(x), absolute(y)
    swapped = up > across
    low, high = where(swapped, across, up), where(swapped, up, across)
    return unfold(x, y, atan_quotient_f64(low, high), swapped)


def atan2_f32(y: Vec, x: Vec) -> Vec:
    """Return the angle of the point (x, y), computed in f64."""
    sign, y, x = y, y.extend(), x.extend()
    across, up = absolute(x), absolute(y)
    swapped = up > across
    ratio = quotient(where(swapped, across, up), where(swapped, up, across))
    return signed(unfold(x, y, arc(ratio, ATAN_F32), swapped), sign)


FUNCTIONS = {
    "sin": LlvmFunction(1, {"f32": sin_f32, "f64": sin_f64}, {"f32": 0.51, "f64": 0.9}),
    "cos": LlvmFunction(1, {"f32": cos_f32, "f64": cos_f64}, {"f32": 0.51, "f64": 0.9}),
    "tan": LlvmFunction(1, {"f32": tan_f32, "f64": tan_f64}, {"f32": 0.51, "f64": 1.1}),
    "atan2": LlvmFunction(2, {"f32": atan2_f32, "f64": atan2_f64}, {"f32": 0.51, "f64": 1.3}),
}
