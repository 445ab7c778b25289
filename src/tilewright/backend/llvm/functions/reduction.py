"""The argument of sin, cos, tan modulo pi / 2: a quarter-turn count and the rest, for any number.

Up to 2^30 the rest is x minus a multiple of pi / 2 in three parts. Above, a scalar routine, called
lane by lane, multiplies x with those 192 bits of 2 / pi that decide (Payne and Hanek's way).
"""

from __future__ import annotations

from .text import (
    Body,
    Value,
    absolute,
    any_lane,
    branch,
    constant,
    fma,
    repeat,
    round_to_integer,
    where,
)

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


def reduce_single(x: Value) -> tuple[Value, Value]:
    """The rest to about 50 bits and the quarter turns, for numbers that were f32."""
    x = x.frozen()  # a place in the table depends on it
    n, turns = round_to_integer(x * TWO_OVER_PI)
    rest = fma(n, -PI_HALF[1], fma(n, -PI_HALF[0], x))
    large = absolute(x) >= LIMIT

    def slowly() -> tuple[Value, Value]:
        high, _, count = reduce_large_lanes(where(large, x, LIMIT))
        return where(large, high, rest), where(large, count, turns)

    rest, turns = branch(any_lane(large), (rest, turns), slowly)
    return rest, turns


def reduce_pair(x: Value) -> tuple[Value, Value, Value]:
    """The rest as a sum of two floats, and the quarter turns."""
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

    def slowly() -> tuple[Value, Value, Value]:
        slow = reduce_large_lanes(where(large, x, LIMIT))
        return (
            where(large, slow[0], total), where(large, slow[1], low), where(large, slow[2], turns)
        )  # fmt: skip

    total, low, turns = branch(any_lane(large), (total, low, turns), slowly)
    return total, low, turns


def reduce_large_lanes(x: Value) -> tuple[Value, Value, Value]:
    """Run the scalar routine on every lane."""
    body = x.body
    require_routine(body)
    if x.lanes == 1:
        return call_routine(x)
    zero, zeros = constant(x, 0.0), body.constant("i64", x.lanes, 0)
    first = body.constant("i64", 1, 0)

    def step(lane: Value, *results: Value) -> tuple[Value, tuple[Value, ...]]:
        element = body.emit(f"extractelement {x}, {lane}", x.elem, 1)
        filled = tuple(
            body.emit(f"insertelement {vector}, {part}, {lane}", vector.elem, vector.lanes)
            for vector, part in zip(results, call_routine(element), strict=True)
        )
        following = lane + 1
        return following < x.lanes, (following, *filled)

    _, high, low, turns = repeat((first, zero, zero, zeros), step)
    return high, low, turns


def call_routine(x: Value) -> tuple[Value, Value, Value]:
    """The rest, in two parts, and the quarter turns of one number."""
    body = x.body
    packed = body.emit(f"call {RESULT} {ROUTINE}({x})", RESULT, 1)
    parts = [
        body.emit(f"extractvalue {packed}, {i}", elem, 1)
        for i, elem in enumerate(("double", "double", "i64"))
    ]
    return parts[0], parts[1], parts[2]


def require_routine(body: Body) -> None:
    """Remember that the function needs the routine and its table."""
    words = ", ".join(f"i64 {word}" for word in TWO_OVER_PI_BITS)
    size = len(TWO_OVER_PI_BITS)
    body.helpers[TABLE] = f"{TABLE} = private unnamed_addr constant [{size} x i64] [{words}]\n"
    routine = Body()
    x = Value(routine, "%x", "double", 1)
    high, low, turns = reduce_large(x)
    packed = Value(routine, "poison", RESULT, 1)
    for i, part in enumerate((high, low, turns)):
        packed = routine.emit(f"insertvalue {packed}, {part}, {i}", RESULT, 1)
    head = f"define internal {RESULT} {ROUTINE}({x}) noinline nounwind {{"
    lines = [head, "entry:", *routine.lines, f"  ret {packed}", "}"]
    body.helpers[ROUTINE] = "\n".join(lines) + "\n"
    body.declarations |= routine.declarations


def reduce_large(x: Value) -> tuple[Value, Value, Value]:
    """The scalar routine, for |x| >= LIMIT, where the table begins; NaN for infinity."""
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


def table_window(skip: Value) -> tuple[Value, Value, Value]:
    """The 192 bits of the table after the first `skip`."""
    body = skip.body
    index, shift = skip.lshr(6), skip & 63
    words: list[Value] = []
    for i in range(4):
        address = body.emit(f"getelementptr i64, ptr {TABLE}, {index + i}", "ptr", 1)
        words.append(body.emit(f"load i64, {address}, align 8", "i64", 1))
    return (
        funnel(words[0], words[1], shift),
        funnel(words[1], words[2], shift),
        funnel(words[2], words[3], shift),
    )


def times_pi_half(fraction: Value) -> tuple[Value, Value]:
    """A 128-bit fraction times pi / 2, as a sum of two floats."""
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


def wide(x: Value) -> Value:
    """To 128 bits."""
    return x.cast("zext", "i128")


def narrow(x: Value) -> Value:
    """The low 64 bits."""
    return x.cast("trunc", "i64")


def funnel(high: Value, low: Value, shift: Value | int) -> Value:
    """The upper half of two words shifted left."""
    return high.intrinsic("fshl", low, shift)
